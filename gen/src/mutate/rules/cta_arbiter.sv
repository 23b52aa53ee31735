// What the CTA arbiters' neighbours keep: a kernel that is offered stays until it is taken, has a CTA and is of the channel's type; lanes fit
// that are there, and only where a CTA was looked at two cycles before.
module cta_arbiter_rules #(
  parameter LN = 3, parameter C = 2, parameter K = 1, parameter L = 4, parameter G = 1
) (
  input clk_i,
  input rst_ni,
  input [C-1:0] kern_ready_o,
  input [C-1:0] kern_valid_i, output [C-1:0] legal_kern_valid_i,
  input [C*LN-1:0] kern_slot_i, output [C*LN-1:0] legal_kern_slot_i,
  input [C*8-1:0] kern_id_i, output [C*8-1:0] legal_kern_id_i,
  input [C*32-1:0] kern_grid_i, output [C*32-1:0] legal_kern_grid_i,
  input [C-1:0] kern_type_i, output [C-1:0] legal_kern_type_i,
  input [C*3-1:0] kern_part_i, output [C*3-1:0] legal_kern_part_i,
  input [C*7-1:0] kern_warps_i, output [C*7-1:0] legal_kern_warps_i,
  input [C*9-1:0] kern_regs_i, output [C*9-1:0] legal_kern_regs_i,
  input [C*11-1:0] kern_smem_i, output [C*11-1:0] legal_kern_smem_i,
  input [C-1:0] need_valid_o,
  input [8*G-1:0] fit_a_i, output [8*G-1:0] legal_fit_a_i,
  input [8*G-1:0] fit_b_i, output [8*G-1:0] legal_fit_b_i,
  // design u_channel_0.u_count_%, each of K:
  input [K*29-1:0] a__index_high_q,
  // design u_channel_0.u_count_%.u_left, each of K:
  input [K*1-1:0] a__load_i,
  input [K*13-1:0] a__mid_q,
  input [K*1-1:0] a__high_owes_q,
  // design u_channel_1.u_count_%, each of K:
  input [K*29-1:0] b__index_high_q,
  // design u_channel_1.u_count_%.u_left, each of K:
  input [K*1-1:0] b__load_i,
  input [K*13-1:0] b__mid_q,
  input [K*1-1:0] b__high_owes_q,
  output near_o
);
  // A channel that is not there has no kernel.
  wire [1:0] near;
  kernels_near #(K) a (clk_i, a__load_i, a__mid_q, a__high_owes_q, a__index_high_q, near[0]);
  kernels_near #(K) b (clk_i, b__load_i, b__mid_q, b__high_owes_q, b__index_high_q, near[1]);
  assign near_o = near[0] & (C == 1 | near[1]);

  localparam W = LN + 8 + 32 + 1 + 3 + 7 + 9 + 11;
  wire [8*G-1:0] lanes = {8*G{1'b1}} >> (8*G - L);
  reg [C-1:0] looked_1, looked_2;
  always @(posedge clk_i) {looked_2, looked_1} <= rst_ni ? {looked_1, need_valid_o} : {2*C{1'b0}};
  assign legal_fit_a_i = looked_2[0] ? fit_a_i & lanes : {8*G{1'b0}};
  assign legal_fit_b_i = looked_2[C-1] ? fit_b_i & lanes : {8*G{1'b0}};
  genvar c;
  generate
    for (c = 0; c < C; c = c + 1) begin : channel
      reg waits;
      reg [W-1:0] offer;
      wire valid = kern_valid_i[c];
      wire [31:0] grid = valid & kern_grid_i[c*32 +: 32] == 0 ? 1 : kern_grid_i[c*32 +: 32];
      wire type = valid & C == 2 ? c : kern_type_i[c];
      wire [W-1:0] now = rst_ni & waits ? offer : {
        kern_slot_i[c*LN +: LN], kern_id_i[c*8 +: 8], grid, type, kern_part_i[c*3 +: 3], kern_warps_i[c*7 +: 7],
        kern_regs_i[c*9 +: 9], kern_smem_i[c*11 +: 11]};
      always @(posedge clk_i) begin
        waits <= rst_ni & legal_kern_valid_i[c] & ~kern_ready_o[c];
        offer <= now;
      end
      assign legal_kern_valid_i[c] = rst_ni & waits | valid;
      assign {
        legal_kern_slot_i[c*LN +: LN], legal_kern_id_i[c*8 +: 8], legal_kern_grid_i[c*32 +: 32], legal_kern_type_i[c],
        legal_kern_part_i[c*3 +: 3], legal_kern_warps_i[c*7 +: 7], legal_kern_regs_i[c*9 +: 9], legal_kern_smem_i[c*11 +: 11]} = now;
    end
  endgenerate
endmodule

// No kernel has come to its CTA 1024: so if the middle part of what it has left has borrowed, fewer have gone since.
module kernels_near #(
  parameter K = 1
) (
  input clk_i, input [K-1:0] load, input [K*13-1:0] mid, input [K-1:0] borrows, input [K*29-1:0] index_high,
  output near
);
  reg [K-1:0] borrowed, is_near;
  integer k;
  always @(posedge clk_i)
    for (k = 0; k < K; k = k + 1) borrowed[k] <= ~load[k] & (borrowed[k] | borrows[k]);
  always @*
    for (k = 0; k < K; k = k + 1)
      is_near[k] = index_high[k*29 +: 29] < 1024 / 8 & (~borrowed[k] | mid[k*13 +: 13] >= 8192 - 1024 / 8);
  assign near = &is_near;
endmodule
