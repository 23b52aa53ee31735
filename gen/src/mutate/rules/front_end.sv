// What a front end's neighbours keep: a beat and a partition write stay until they are taken; ids count up; where there is no completion, or no
// beat, its number is 0: what is ready then says nothing.
module front_end_rules #(
  parameter LN = 3, parameter S = 8, parameter C = 2, parameter LANES = 1, parameter M = 128, parameter K = 1, parameter COUNTERS = 11
) (
  input clk_i,
  input rst_ni,
  input host_ready_o,
  input host_valid_i, output legal_host_valid_i,
  input [7:0] host_id_i, output [7:0] legal_host_id_i,
  input host_last_i, output legal_host_last_i,
  input [(LANES ? LANES : 1)-1:0] host_up_valid_i, output [(LANES ? LANES : 1)-1:0] legal_host_up_valid_i,
  input [8*(LANES ? LANES : 1)-1:0] host_up_id_i, output [8*(LANES ? LANES : 1)-1:0] legal_host_up_id_i,
  input [31:0] host_grid_i, output [31:0] legal_host_grid_i,
  input host_type_i, output legal_host_type_i,
  input [2:0] host_part_i, output [2:0] legal_host_part_i,
  input [6:0] host_warps_i, output [6:0] legal_host_warps_i,
  input [8:0] host_regs_i, output [8:0] legal_host_regs_i,
  input [10:0] host_smem_i, output [10:0] legal_host_smem_i,
  input part_ready_o,
  input part_valid_i, output legal_part_valid_i,
  input [2:0] part_id_i, output [2:0] legal_part_id_i,
  input [2:0] part_word_i, output [2:0] legal_part_word_i,
  input [31:0] part_mask_i, output [31:0] legal_part_mask_i,
  input [3:0] done_valid_i,
  input [4*8-1:0] done_sm_i, output [4*8-1:0] legal_done_sm_i,
  // design u_dispatch.u_arbiter.u_channel_0.u_count_%, each of K:
  input [K*29-1:0] a__index_high_q,
  // design u_dispatch.u_arbiter.u_channel_0.u_count_%.u_left, each of K:
  input [K*1-1:0] a__load_i,
  input [K*13-1:0] a__mid_q,
  input [K*1-1:0] a__high_owes_q,
  // design u_dispatch.u_arbiter.u_channel_1.u_count_%, each of K:
  input [K*29-1:0] b__index_high_q,
  // design u_dispatch.u_arbiter.u_channel_1.u_count_%.u_left, each of K:
  input [K*1-1:0] b__load_i,
  input [K*13-1:0] b__mid_q,
  input [K*1-1:0] b__high_owes_q,
  // design u_counters.u_event_%, each of COUNTERS:
  input [COUNTERS*16-1:0] event__low_q,
  input [COUNTERS*1-1:0] event__low_carry_q,
  input [COUNTERS*16-1:0] event__mid_q,
  // design u_counters.u_window_sum:
  input window__low_carry_q,
  input [15:0] window__mid_q,
  // design u_counters.u_cta_sum:
  input cta__low_carry_q,
  input [15:0] cta__mid_q,
  output near_o
);
  // No event was counted 1024 times, no sum has come to 65536, and no kernel to its CTA 1024. A channel that is not there has no kernel.
  wire [1:0] near;
  kernels_near #(K) a (clk_i, a__load_i, a__mid_q, a__high_owes_q, a__index_high_q, near[0]);
  kernels_near #(K) b (clk_i, b__load_i, b__mid_q, b__high_owes_q, b__index_high_q, near[1]);
  reg counters_near;
  integer i;
  always @* begin
    counters_near = ~window__low_carry_q & window__mid_q == 0 & ~cta__low_carry_q & cta__mid_q == 0
      & event__low_carry_q == 0 & event__mid_q == 0;
    for (i = 0; i < COUNTERS; i = i + 1) counters_near = counters_near & event__low_q[i*16 +: 16] < 1024;
  end
  assign near_o = near[0] & (C == 1 | near[1]) & counters_near;

  localparam W = 8 + 1 + 9 * (LANES ? LANES : 1) + 32 + 1 + 3 + 7 + 9 + 11;
  reg waits, begun;
  reg [7:0] next_id;
  reg [W-1:0] beat;
  wire valid = host_valid_i;
  wire [7:0] id = !valid ? 0 : begun ? next_id : host_id_i;
  wire [W-1:0] now = rst_ni & waits ? beat
    : {id, host_last_i, host_up_valid_i, host_up_id_i, host_grid_i, host_type_i, host_part_i, host_warps_i, host_regs_i, host_smem_i};
  wire taken = legal_host_valid_i & host_ready_o;
  always @(posedge clk_i) begin
    waits <= rst_ni & legal_host_valid_i & ~host_ready_o;
    beat <= now;
    begun <= rst_ni & (begun | taken);
    if (taken) next_id <= legal_host_id_i + (LANES == 0 | legal_host_last_i);
  end
  assign legal_host_valid_i = rst_ni & waits | valid;
  assign {legal_host_id_i, legal_host_last_i, legal_host_up_valid_i, legal_host_up_id_i, legal_host_grid_i, legal_host_type_i,
          legal_host_part_i, legal_host_warps_i, legal_host_regs_i, legal_host_smem_i} = now;

  sm_partitions_rules write (
    clk_i, rst_ni, part_ready_o, part_valid_i, legal_part_valid_i, part_id_i, legal_part_id_i, part_word_i, legal_part_word_i,
    part_mask_i, legal_part_mask_i
  );

  genvar p;
  generate
    for (p = 0; p < 4; p = p + 1) begin : port
      assign legal_done_sm_i[p*8 +: 8] = done_valid_i[p] ? done_sm_i[p*8 +: 8] : 8'd0;
    end
  endgenerate
endmodule
