// What a front end promises, from the host's beats to CTAs and back. Two kernels are watched, A and a newer one, B, that may wait for it:
// which ones is free. Its page: rtl/src/front_end/README.md.
module front_end_properties #(
  parameter LN = 3,        // bits of a slot's number
  parameter S = 8,         // SMs
  parameter C = 2,         // CTA channels
  parameter R = 2,         // retire ports
  parameter K = 1,         // upstream ids per beat; 0: a mask
  parameter M = 128        // kernels in the host's list
) (
  input clk_i,
  input rst_ni,
  input host_valid_i,
  input host_ready_o,
  input [7:0] host_id_i,
  input host_last_i,
  input [(K ? K : 1)-1:0] host_up_valid_i,
  input [8*(K ? K : 1)-1:0] host_up_id_i,
  input [M-1:0] host_up_i,
  input [31:0] host_grid_i,
  input host_type_i,
  input [6:0] host_warps_i,
  input [8:0] host_regs_i,
  input [10:0] host_smem_i,
  input [C-1:0] cta_valid_o,
  input [C-1:0] cta_ready_i,
  input [C*8-1:0] cta_sm_o,
  input [C*LN-1:0] cta_slot_o,
  input [C*8-1:0] cta_id_o,
  input [C*32-1:0] cta_index_o,
  input [C-1:0] cta_type_o,
  input [3:0] done_valid_i,
  input [3:0] done_ready_o,
  input [4*8-1:0] done_sm_i,
  input [4*LN-1:0] done_slot_i,
  input done_err_o,
  input [R-1:0] ret_valid_o,
  input [R*LN-1:0] ret_slot_o
);
  reg reset_seen = 0;
  always @(posedge clk_i) if (!rst_ni) reset_seen <= 1;
  wire on = reset_seen & rst_ni;

  // The host: ids count up; a kernel may have several beats; it names kernels of its list.
  wire last = K == 0 | host_last_i;
  wire sends = host_valid_i & host_ready_o & last;
  reg [7:0] next_id;
  always @(posedge clk_i) next_id <= !rst_ni ? 0 : next_id + sends;

  (* anyseq *) wire pick_a, pick_b;
  reg a, b, a_done, b_waits_for_a, named;
  reg [7:0] a_id, b_id;
  reg [31:0] grid, placed, ended;
  reg type;
  reg [LN-1:0] slot;
  reg has_slot;
  wire [7:0] distance = host_id_i - a_id - 8'd1;
  reg names_a;
  integer k, c, p, r;
  always @* begin
    names_a = 0;
    if (K == 0) names_a = distance < M ? host_up_i[distance % M] : 1'b0;
    else for (k = 0; k < K; k = k + 1) if (host_up_valid_i[k] & host_up_id_i[8*k +: 8] == a_id) names_a = 1;
  end

  // CTAs of A that go to an SM, by SM; those that have ended; its retirement.
  reg [C-1:0] goes;
  reg [3:0] ends;
  reg [R-1:0] retires;
  reg [2:0] on_sm [0:S-1];
  reg b_goes;
  reg in_order, right_type, legal, twice;
  always @* begin
    goes = 0;
    b_goes = 0;
    in_order = 1;
    right_type = 1;
    for (c = 0; c < C; c = c + 1) begin
      goes[c] = cta_valid_o[c] & a & ~a_done & cta_id_o[c*8 +: 8] == a_id;
      if (goes[c] & cta_index_o[c*32 +: 32] != placed) in_order = 0;
      if (goes[c] & (cta_type_o[c] != type | has_slot & cta_slot_o[c*LN +: LN] != slot)) right_type = 0;
      if (cta_valid_o[c] & b & cta_id_o[c*8 +: 8] == b_id) b_goes = 1;
    end
    twice = C == 2 & &goes;
    legal = 1;
    for (p = 0; p < 4; p = p + 1) begin
      ends[p] = done_valid_i[p] & done_ready_o[p] & has_slot & ~a_done & done_slot_i[p*LN +: LN] == slot;
      if (done_valid_i[p] & (~has_slot | done_slot_i[p*LN +: LN] == slot)) begin
        if (done_sm_i[p*8 +: 8] >= S | done_sm_i[p*8 +: 8] % 4 != p | ~has_slot | a_done) legal = 0;
        else if (on_sm[done_sm_i[p*8 +: 8]] == 0) legal = 0;
      end
    end
    for (r = 0; r < R; r = r + 1) retires[r] = ret_valid_o[r] & has_slot & ~a_done & ret_slot_o[r*LN +: LN] == slot;
  end
  reg [2:0] late;
  integer m;
  always @(posedge clk_i)
    if (!rst_ni) begin
      a <= 0;
      b <= 0;
      a_done <= 0;
      has_slot <= 0;
      named <= 0;
      b_waits_for_a <= 0;
      late <= 0;
      for (m = 0; m < S; m = m + 1) on_sm[m] <= 0;
    end else begin
      named <= (host_valid_i & host_ready_o) ? ~last & (named | names_a & a & ~a_done) : named;
      if (sends & pick_a & ~a) begin
        a <= 1;
        a_id <= host_id_i;
        grid <= host_grid_i;
        type <= host_type_i;
        placed <= 0;
        ended <= 0;
      end
      if (sends & pick_b & a & ~b) begin
        b <= 1;
        b_id <= host_id_i;
        b_waits_for_a <= (names_a | named) & ~a_done;
      end
      for (c = 0; c < C; c = c + 1) if (goes[c]) begin
        has_slot <= 1;
        slot <= cta_slot_o[c*LN +: LN];
        if (cta_ready_i[c]) placed <= placed + 1;
      end
      for (m = 0; m < S; m = m + 1)
        on_sm[m] <= on_sm[m] + (|(goes & cta_ready_i) & cta_sm_o[(goes[0] ? 0 : C-1)*8 +: 8] == m) - (ends[m % 4] & done_sm_i[(m % 4)*8 +: 8] == m);
      if (a) ended <= ended + ends[0] + ends[1] + ends[2] + ends[3];
      if (|retires) a_done <= 1;
      late <= a & ~a_done & ended == grid ? late + 1 : 0;
    end

  always @* if (on) begin
    assume (!host_valid_i | host_id_i == next_id);
    assume (host_grid_i != 0 & host_warps_i != 0 & host_regs_i != 0);
    // CTAs of A end where they run, once. Those of others are not watched, and do not use A's slot before A's own do.
    assume (legal);
  end

  always @* if (on) begin
    // A CTA would read what is not written yet.
    waits_for_upstream: assert (!(b_waits_for_a & ~a_done & b_goes));
    // A CTA would run twice, or not at all.
    ctas_in_order: assert (in_order & ~twice);
    never_more_than_the_grid: assert (!(|goes) | placed < grid);
    // A CTA would run as another kernel's.
    ctas_are_its_own: assert (right_type);
    // A kernel would retire while its CTAs run.
    retires_when_all_have_ended: assert (!(|retires) | ended == grid);
    // A kernel that has ended would hold up those that wait for it.
    retires_soon: assert (late <= 2);
    // A kernel would retire twice.
    retires_once: assert (~|(retires & (retires - 1'b1)));
    // A right completion would be called wrong.
    no_false_alarm: assert (!done_err_o | |(done_valid_i & ~ends));
  end
  always @* if (on) begin
    // States without which a proof would say little.
    reaches_cta: cover (|(goes & cta_ready_i));
    reaches_retirement: cover (|retires & grid == 2);
    reaches_freed: cover (b_waits_for_a & a_done & b_goes);
    reaches_both_types: cover (C == 1 | &cta_valid_o);
    reaches_out_of_order: cover (a & ~a_done & b & b_goes & placed == 0 & ~|goes);
  end
endmodule
