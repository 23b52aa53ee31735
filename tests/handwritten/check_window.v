// The hand-written window and the generated one in lockstep: every port, every cycle, random but legal inputs.
`timescale 1ns / 1ps
module check_window;
  localparam N = 8, LN = 3;
  reg clk = 0, rst_n = 0, ins_valid = 0, disp_ready = 0, rv0 = 0, rv1 = 0;
  reg [7:0] ins_id = 0; reg [N-1:0] mask = 0; reg [LN-1:0] rs0 = 0, rs1 = 0;
  wire [N-1:0] live_a, live_b, slot_a, slot_b;
  wire [8*N-1:0] ids_a, ids_b;
  wire [7:0] did_a, did_b, occ_a, occ_b, old_a, old_b;
  wire [LN-1:0] ds_a, ds_b;
  wire ir_a, ir_b, dv_a, dv_b, r0_a, r0_b, r1_a, r1_b, e_a, e_b, ov_a, ov_b, f_a, f_b, b_a, b_b;
  wire [N-1:0] up = mask & live_a;
  integer cycle = 0, wrong = 0, inserted = 0, dispatched = 0, retired = 0, errors = 0, filled = 0;

  handwritten_window #(.N(N), .LN(LN)) a (
    .clk_i(clk), .rst_ni(rst_n), .ins_valid_i(ins_valid), .ins_ready_o(ir_a), .ins_id_i(ins_id), .ins_up_i(up),
    .ins_slot_o(slot_a), .disp_valid_o(dv_a), .disp_ready_i(disp_ready), .disp_id_o(did_a), .disp_slot_o(ds_a),
    .ret_valid_0_i(rv0), .ret_valid_1_i(rv1), .ret_ready_0_o(r0_a), .ret_ready_1_o(r1_a), .ret_slot_0_i(rs0),
    .ret_slot_1_i(rs1), .ret_err_o(e_a), .slot_live_o(live_a), .slot_id_o(ids_a), .occupancy_o(occ_a),
    .oldest_valid_o(ov_a), .oldest_id_o(old_a), .full_o(f_a), .busy_o(b_a));
  window_matrix_n8_r2 b (
    .clk_i(clk), .rst_ni(rst_n), .ins_valid_i(ins_valid), .ins_ready_o(ir_b), .ins_id_i(ins_id), .ins_up_i(up),
    .ins_slot_o(slot_b), .disp_valid_o(dv_b), .disp_ready_i(disp_ready), .disp_id_o(did_b), .disp_slot_o(ds_b),
    .ret_valid_0_i(rv0), .ret_valid_1_i(rv1), .ret_ready_0_o(r0_b), .ret_ready_1_o(r1_b), .ret_slot_0_i(rs0),
    .ret_slot_1_i(rs1), .ret_err_o(e_b), .slot_live_o(live_b),
    .slot_id_0_o(ids_b[7:0]), .slot_id_1_o(ids_b[15:8]), .slot_id_2_o(ids_b[23:16]), .slot_id_3_o(ids_b[31:24]),
    .slot_id_4_o(ids_b[39:32]), .slot_id_5_o(ids_b[47:40]), .slot_id_6_o(ids_b[55:48]), .slot_id_7_o(ids_b[63:56]),
    .occupancy_o(occ_b), .oldest_valid_o(ov_b), .oldest_id_o(old_b), .full_o(f_b), .busy_o(b_b));

  wire [177:0] all_a = {live_a, slot_a, ids_a, did_a, occ_a, old_a, ds_a, ir_a, dv_a, r0_a, r1_a, e_a, ov_a, f_a, b_a};
  wire [177:0] all_b = {live_b, slot_b, ids_b, did_b, occ_b, old_b, ds_b, ir_b, dv_b, r0_b, r1_b, e_b, ov_b, f_b, b_b};

  always #5 clk = ~clk;
  always @(negedge clk) begin  // new inputs well before the edge
    cycle = cycle + 1;
    rst_n <= (cycle > 3) && (cycle % 5000 != 0);
    // Slow and fast phases, so that the window is empty, full, and in between.
    ins_valid <= ($random & 3) < ((cycle / 500) % 4) + 1;
    disp_ready <= ($random & 3) != 0;
    ins_id <= $random; mask <= $random & $random;
    rv0 <= ($random & 3) < ((cycle / 700) % 3) + 1; rv1 <= ($random & 7) == 0;
    rs0 <= $random; rs1 <= $random;
  end
  always @(posedge clk) if (cycle > 5) begin
    if (all_a !== all_b) begin
      if (wrong == 0) $display("cycle %0d: hand-written %h, generated %h", cycle, all_a, all_b);
      wrong = wrong + 1;
    end
    if (rst_n) begin
      inserted = inserted + (ins_valid & ir_a); dispatched = dispatched + (dv_a & disp_ready);
      retired = retired + (rv0 & ~e_a); errors = errors + e_a; filled = filled + f_a;
    end
    if (cycle == 20000) begin
      $display("inserted %0d dispatched %0d retired %0d errors %0d full %0d wrong %0d",
               inserted, dispatched, retired, errors, filled, wrong);
      if (wrong == 0 && inserted > 1000 && dispatched > 1000 && errors > 100 && filled > 100) $display("SAME");
      $finish;
    end
  end
endmodule
