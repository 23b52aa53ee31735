// A host and four SMs around a small front end: kernels 0 to 2, of which kernel 1 waits for kernel 0.
// docs/integration.md says how to run it. Of the front end it uses every channel but that for partitions.
`timescale 1ns / 1ps

module tb;
  localparam CTA_CYCLES = 20; // how long a CTA runs here
  localparam PLACES = 2;      // CTAs that an SM holds: --sm-ctas

  reg clk = 1'b0;
  reg rst_n = 1'b0;
  always #5 clk = ~clk;

  // The host's channel: a beat is transferred at a rising edge at which valid and ready are high, and stays as it is until then.
  reg         host_valid = 1'b0;
  wire        host_ready;
  reg  [7:0]  host_id = 8'd0;
  reg         host_up_valid = 1'b0;
  reg  [7:0]  host_up_id = 8'd0;
  reg  [31:0] host_grid = 32'd1;
  reg         host_type = 1'b0;

  // CTAs to SMs: channel 0 has SIMT CTAs, channel 1 TENSOR CTAs. These SMs take every CTA at once.
  wire [1:0]  cta_valid;
  wire [15:0] cta_sm;
  wire [3:0]  cta_slot;
  wire [15:0] cta_id;
  wire [63:0] cta_index;

  // CTAs that have ended, from SM s on port s mod 4.
  reg  [3:0]  done_valid = 4'd0;
  wire [3:0]  done_ready;
  reg  [7:0]  done_slot = 8'd0;
  wire        host_err, done_err;

  wire        disp_valid;
  wire [7:0]  disp_id;
  wire [1:0]  disp_slot;
  wire [1:0]  ret_valid;
  wire [3:0]  ret_slot;
  reg  [3:0]  count_sel = 4'd0;
  wire [47:0] count;

  `FRONT_END front_end (
    .clk_i(clk), .rst_ni(rst_n),
    .host_valid_i(host_valid), .host_ready_o(host_ready), .host_id_i(host_id), .host_last_i(1'b1),
    .host_up_valid_0_i(host_up_valid), .host_up_id_0_i(host_up_id),
    .host_up_valid_1_i(1'b0), .host_up_id_1_i(8'd0),
    .host_grid_i(host_grid), .host_type_i(host_type), .host_part_i(3'd7),
    .host_warps_i(7'd1), .host_regs_i(9'd1), .host_smem_i(11'd0), .host_err_o(host_err),
    .cta_valid_0_o(cta_valid[0]), .cta_ready_0_i(1'b1), .cta_sm_0_o(cta_sm[7:0]), .cta_slot_0_o(cta_slot[1:0]),
    .cta_id_0_o(cta_id[7:0]), .cta_index_0_o(cta_index[31:0]), .cta_type_0_o(),
    .cta_valid_1_o(cta_valid[1]), .cta_ready_1_i(1'b1), .cta_sm_1_o(cta_sm[15:8]), .cta_slot_1_o(cta_slot[3:2]),
    .cta_id_1_o(cta_id[15:8]), .cta_index_1_o(cta_index[63:32]), .cta_type_1_o(),
    .done_valid_0_i(done_valid[0]), .done_ready_0_o(done_ready[0]), .done_sm_0_i(8'd0), .done_slot_0_i(done_slot[1:0]),
    .done_valid_1_i(done_valid[1]), .done_ready_1_o(done_ready[1]), .done_sm_1_i(8'd1), .done_slot_1_i(done_slot[3:2]),
    .done_valid_2_i(done_valid[2]), .done_ready_2_o(done_ready[2]), .done_sm_2_i(8'd2), .done_slot_2_i(done_slot[5:4]),
    .done_valid_3_i(done_valid[3]), .done_ready_3_o(done_ready[3]), .done_sm_3_i(8'd3), .done_slot_3_i(done_slot[7:6]),
    .done_err_o(done_err),
    .part_valid_i(1'b0), .part_ready_o(), .part_id_i(3'd0), .part_word_i(3'd0), .part_mask_i(32'd0),
    .disp_valid_o(disp_valid), .disp_id_o(disp_id), .disp_slot_o(disp_slot),
    .ret_valid_0_o(ret_valid[0]), .ret_slot_0_o(ret_slot[1:0]),
    .ret_valid_1_o(ret_valid[1]), .ret_slot_1_o(ret_slot[3:2]), .ret_err_o(),
    .occupancy_o(), .oldest_valid_o(), .oldest_id_o(),
    .stall_limit_o(), .stall_full_o(), .stall_busy_o(), .busy_o(),
    .count_sel_i(count_sel), .count_o(count)
  );

  // Sends a kernel and waits until it is taken. Between falling edges, so that no simulator's order of processes matters.
  reg host_taken = 1'b0;
  always @(posedge clk) host_taken <= host_valid && host_ready;
  task launch(input [7:0] id, input [31:0] grid, input is_tensor, input waits, input [7:0] upstream);
    begin
      host_valid = 1'b1;
      host_id = id;
      host_grid = grid;
      host_type = is_tensor;
      host_up_valid = waits;
      host_up_id = upstream;
      @(negedge clk);
      while (!host_taken) @(negedge clk);
      host_valid = 1'b0;
    end
  endtask

  integer cycle = 0;
  integer errors = 0;
  integer placed [0:2];
  integer place, c, p, found;
  reg [2:0] retired = 3'd0;
  reg [7:0] id_in_slot [0:3];
  // The SMs: place PLACES * s + k is the k-th of SM s.
  reg       taken [0:4*PLACES-1];
  integer   left [0:4*PLACES-1];
  reg [1:0] slot [0:4*PLACES-1];

  initial begin
    for (place = 0; place < 4 * PLACES; place = place + 1) taken[place] = 1'b0;
    for (p = 0; p < 3; p = p + 1) placed[p] = 0;
  end

  always @(posedge clk) if (rst_n) begin
    cycle = cycle + 1;
    if (disp_valid) begin
      id_in_slot[disp_slot] = disp_id;
      $display("cycle %3d: kernel %0d is dispatched", cycle, disp_id);
    end
    for (c = 0; c < 2; c = c + 1) if (cta_valid[c]) begin
      $display("cycle %3d: kernel %0d, CTA %0d on SM %0d", cycle, cta_id[8*c +: 8], cta_index[32*c +: 32], cta_sm[8*c +: 8]);
      if (cta_id[8*c +: 8] == 8'd1 && !retired[0]) begin
        $display("ERROR: kernel 1 runs before kernel 0 has retired");
        errors = errors + 1;
      end
      placed[cta_id[8*c +: 8]] = placed[cta_id[8*c +: 8]] + 1;
      found = 0;
      for (p = 0; p < PLACES; p = p + 1) begin
        place = PLACES * cta_sm[8*c +: 8] + p;
        if (!found && !taken[place]) begin
          found = 1;
          taken[place] = 1'b1;
          left[place] = CTA_CYCLES;
          slot[place] = cta_slot[2*c +: 2];
        end
      end
      if (!found) begin
        $display("ERROR: SM %0d has no room", cta_sm[8*c +: 8]);
        errors = errors + 1;
      end
    end
    for (c = 0; c < 2; c = c + 1) if (ret_valid[c]) begin
      retired[id_in_slot[ret_slot[2*c +: 2]]] = 1'b1;
      $display("cycle %3d: kernel %0d retires", cycle, id_in_slot[ret_slot[2*c +: 2]]);
    end
    if (host_err) begin
      $display("ERROR: a kernel that no SM can run");
      errors = errors + 1;
    end
    if (done_err) begin
      $display("ERROR: a completion of nothing");
      errors = errors + 1;
    end
    // One completion per SM and cycle; it is held until it is taken.
    for (p = 0; p < 4; p = p + 1) begin
      if (done_valid[p] && done_ready[p]) done_valid[p] <= 1'b0;
      found = done_valid[p] && !done_ready[p];
      for (place = PLACES * p; place < PLACES * (p + 1); place = place + 1) if (taken[place]) begin
        if (left[place] > 0) left[place] = left[place] - 1;
        else if (!found) begin
          found = 1;
          taken[place] = 1'b0;
          done_valid[p] <= 1'b1;
          done_slot[2*p +: 2] <= slot[place];
        end
      end
    end
    if (cycle > 2000) begin
      $display("ERROR: not done after 2000 cycles");
      $fatal;
    end
  end

  initial begin
    repeat (2) @(negedge clk);
    rst_n = 1'b1;
    launch(8'd0, 32'd10, 1'b0, 1'b0, 8'd0); // ten SIMT CTAs
    launch(8'd1, 32'd2, 1'b1, 1'b1, 8'd0);  // two TENSOR CTAs, once kernel 0 has retired
    launch(8'd2, 32'd3, 1'b1, 1'b0, 8'd0);  // three TENSOR CTAs, at once: beside kernel 0, before kernel 1
    while (retired != 3'b111) @(negedge clk);
    count_sel = 4'd12;                      // kernels that retired
    repeat (5) @(negedge clk);
    if (placed[0] != 10 || placed[1] != 2 || placed[2] != 3 || count != 48'd3) begin
      $display("ERROR: %0d, %0d and %0d CTAs, %0d kernels retired", placed[0], placed[1], placed[2], count);
      errors = errors + 1;
    end
    $display("%0s: 3 kernels, 15 CTAs, %0d cycles", errors == 0 ? "PASSED" : "FAILED", cycle);
    // So that the simulator's exit status says it, too.
    if (errors != 0) $fatal;
    $finish;
  end
endmodule
