// The hand-written window and the generated one side by side, random but legal inputs: the same kernels go in, and the same must come
// out in the same cycle. Slots and places are each window's own business and are translated; the generated window, when full, can be
// filled two cycles later, so that kernels go in where both are ready.
`timescale 1ns / 1ps
module check_window;
  localparam N = 8, LN = 3;
  reg clk = 0, rst_n = 0, offers = 0, disp_ready = 0, want_0 = 0, want_1 = 0;
  reg [7:0] ins_id = 0; reg [N-1:0] mask = 0; reg [LN-1:0] rs0 = 0, rs1 = 0;
  wire [N-1:0] live_a, live_b, slot_a, slot_b;
  wire [8*N-1:0] ids_a, ids_b;
  wire [7:0] did_a, did_b;
  wire [LN-1:0] ds_a, ds_b;
  wire ir_a, ir_b, dv_a, dv_b, e_a, e_b;
  integer cycle = 0, wrong = 0, inserted = 0, dispatched = 0, retired = 0, errors = 0, filled = 0;

  // By slot of the hand-written window: it holds a kernel, and that kernel's slot in the generated one.
  reg [N-1:0] present = 0;
  reg [LN-1:0] other [0:N-1];
  wire rv0 = want_0 & present[rs0], rv1 = want_1 & present[rs1];
  wire ins_valid = offers & ir_a & ir_b;
  wire [N-1:0] up_a = mask & live_a;
  reg [N-1:0] up_b;
  integer p, s;
  always @(*) begin
    up_b = 0;
    for (p = 0; p < N; p = p + 1)
      for (s = 0; s < N; s = s + 1)
        if (up_a[s] && live_b[p] && ids_a[8*s +: 8] == ids_b[8*p +: 8]) up_b[p] = 1;
  end

  handwritten_window #(.N(N), .LN(LN)) a (
    .clk_i(clk), .rst_ni(rst_n), .ins_valid_i(ins_valid), .ins_ready_o(ir_a), .ins_id_i(ins_id), .ins_up_i(up_a),
    .ins_slot_o(slot_a), .disp_valid_o(dv_a), .disp_ready_i(disp_ready), .disp_id_o(did_a), .disp_slot_o(ds_a),
    .ret_valid_0_i(rv0), .ret_valid_1_i(rv1), .ret_ready_0_o(), .ret_ready_1_o(), .ret_slot_0_i(rs0),
    .ret_slot_1_i(rs1), .ret_err_o(e_a), .slot_live_o(live_a), .slot_id_o(ids_a), .occupancy_o(),
    .oldest_valid_o(), .oldest_id_o(), .full_o(), .busy_o());
  window_matrix_n8_r2 b (
    .clk_i(clk), .rst_ni(rst_n), .ins_valid_i(ins_valid), .ins_ready_o(ir_b), .ins_id_i(ins_id), .ins_up_i(up_b),
    .ins_slot_o(slot_b), .disp_valid_o(dv_b), .disp_ready_i(disp_ready), .disp_id_o(did_b), .disp_slot_o(ds_b),
    .ret_valid_0_i(rv0), .ret_valid_1_i(rv1), .ret_ready_0_o(), .ret_ready_1_o(), .ret_slot_0_i(other[rs0]),
    .ret_slot_1_i(other[rs1]), .ret_err_o(e_b), .place_live_o(live_b), .place_shift_o(),
    .place_id_0_o(ids_b[7:0]), .place_id_1_o(ids_b[15:8]), .place_id_2_o(ids_b[23:16]), .place_id_3_o(ids_b[31:24]),
    .place_id_4_o(ids_b[39:32]), .place_id_5_o(ids_b[47:40]), .place_id_6_o(ids_b[55:48]), .place_id_7_o(ids_b[63:56]),
    .occupancy_o(), .oldest_valid_o(), .oldest_id_o(), .full_o(), .busy_o());

  wire [9:0] all_a = {dv_a, did_a, e_a};
  wire [9:0] all_b = {dv_b, did_b, e_b};

  always #5 clk = ~clk;
  always @(negedge clk) begin  // new inputs well before the edge
    cycle = cycle + 1;
    rst_n <= (cycle > 3) && (cycle % 5000 != 0);
    // Slow and fast phases, so that the window is empty, full, and in between.
    offers <= ($random & 3) < ((cycle / 500) % 4) + 1;
    disp_ready <= ($random & 3) != 0;
    mask <= $random & $random;
    want_0 <= ($random & 3) < ((cycle / 700) % 3) + 1; want_1 <= ($random & 7) == 0;
    rs0 <= $random; rs1 <= $random;
  end
  always @(posedge clk) begin
    for (s = 0; s < N; s = s + 1) if (slot_a[s]) for (p = 0; p < N; p = p + 1) if (slot_b[p]) other[s] <= p[LN-1:0];
    // A kernel that one of two ports retires is gone, whether the other was an error or not.
    if (!rst_n) present <= 0;
    else present <= (present & live_a) | slot_a;
    if (ins_valid) ins_id <= ins_id + 1;
    if (cycle > 5) begin
      if (all_a !== all_b) begin
        if (wrong == 0) $display("cycle %0d: hand-written %h, generated %h", cycle, all_a, all_b);
        wrong = wrong + 1;
      end
      if (rst_n) begin
        inserted = inserted + ins_valid; dispatched = dispatched + (dv_a & disp_ready);
        retired = retired + (rv0 & ~e_a); errors = errors + e_a; filled = filled + !ir_a;
      end
      if (cycle == 20000) begin
        $display("inserted %0d dispatched %0d retired %0d errors %0d full %0d wrong %0d",
                 inserted, dispatched, retired, errors, filled, wrong);
        if (wrong == 0 && inserted > 1000 && dispatched > 1000 && errors > 100 && filled > 100) $display("SAME");
        $finish;
      end
    end
  end
endmodule
