// How the registers of one channel of a CTA arbiter say what channel_properties sees.
module cta_arbiter_lemmas #(
  parameter LN = 3,
  parameter S = 8,
  parameter C = 2,
  parameter K = 1,
  parameter P = 1,         // there are lemmas for one CTA port per channel
  parameter L = 4,
  parameter G = 1
) (
  // properties channel[@].is:
  input on,
  input a,
  input [LN-1:0] slot,
  input [7:0] id,
  input [31:0] grid, input [31:0] index,
  input type,
  input [2:0] part,
  input [6:0] warps,
  input [8:0] regs,
  input [10:0] smem,
  input [1:0] asked_a,
  input [1:0] looked_for_a, input [1:0] other_taken,
  input [5:0] unasked,
  input kern_ready,
  input [8*G-1:0] after_p, input [8*G-1:0] after_u, input [8*G-1:0] after_c,
  input passed_p, input passed_u, input passed_c,
  input [1:0] fitted,
  input began,
  input held,
  input [7:0] held_sm,
  input [LN-1:0] held_slot,
  input [31:0] held_index,
  input [1:0] phase,
  // design u_channel_@.u_kernels:
  input [3:0] active_q,
  input [3:0] at_q,
  input [1:0] stay_q,
  input second_0_q,
  input [3:0] sel_c_q,
  input [3:0] sel_p_q,
  // design u_channel_@:
  input [3:0] held_q,
  input [7:0] held_sm_0_q,
  // design u_channel_@.u_phase:
  input [2:0] slice_q,
  // design u_channel_@.u_picker_0:
  input [7:0] low_p_q, input [7:0] low_u_q, input [7:0] low_c_q,
  input [7:0] high_p_q, input [7:0] high_u_q, input [7:0] high_c_q,
  input [7:0] past_low_q, input [7:0] past_high_q,
  input [3:0] after_p_q, input [3:0] after_u_q, input [3:0] after_c_q,
  input due_p_0_q, input due_u_0_q, input due_c_0_q,
  input room_1_0_q, input room_2_0_q,
  // design u_channel_@.u_kernels.u_entry_%, each of K:
  input [K*LN-1:0] slot_q,
  input [K*8-1:0] id_q,
  input [K*1-1:0] kind_q,
  input [K*3-1:0] part_q,
  input [K*7-1:0] warps_q,
  input [K*9-1:0] regs_q,
  input [K*11-1:0] smem_q,
  // design u_channel_@.u_count_%, each of K:
  input [K*16-1:0] left_low_q,
  input [K*16-1:0] left_high_q,
  input [K*1-1:0] left_borrows_q,
  input [K*1-1:0] last_q,
  input [K*16-1:0] index_low_q,
  input [K*16-1:0] index_high_q,
  input [K*1-1:0] index_carries_q
);
  wire [3:0] one = 1;
  wire [3:0] all = (5'd1 << K) - 1;
  wire [2:0] first = 1;
  reg [3:0] has_slot;
  integer e;
  always @* begin
    has_slot = 0;
    for (e = 0; e < K; e = e + 1) has_slot[e] = active_q[e] & slot_q[e*LN +: LN] == slot;
  end
  // Of a slice: the fours behind the one that its last CTA went to, low ones and high ones; all lanes behind that CTA's.
  reg [7:0] low_past_p, high_past_p;
  reg [8*G-1:0] beyond_p, beyond_u, beyond_c;
  integer g;
  always @* begin
    {low_past_p, high_past_p} = 0;
    for (g = 0; g < G; g = g + 1) begin
      low_past_p[g] = |((low_p_q | high_p_q) & ((1 << g) - 1));
      high_past_p[g] = low_past_p[g] | low_p_q[g];
      beyond_p[8*g +: 4] = {4{low_past_p[g]}} | {4{low_p_q[g]}} & after_p_q;
      beyond_p[8*g+4 +: 4] = {4{high_past_p[g]}} | {4{high_p_q[g]}} & after_p_q;
      beyond_u[8*g +: 4] = {4{|((low_u_q | high_u_q) & ((1 << g) - 1))}} | {4{low_u_q[g]}} & after_u_q;
      beyond_u[8*g+4 +: 4] = {4{|(low_u_q & ((2 << g) - 1) | high_u_q & ((1 << g) - 1))}} | {4{high_u_q[g]}} & after_u_q;
      beyond_c[8*g +: 4] = {4{|((low_c_q | high_c_q) & ((1 << g) - 1))}} | {4{low_c_q[g]}} & after_c_q;
      beyond_c[8*g+4 +: 4] = {4{|(low_c_q & ((2 << g) - 1) | high_c_q & ((1 << g) - 1))}} | {4{high_c_q[g]}} & after_c_q;
    end
  end
  wire [15:0] last_p = {high_p_q, low_p_q}, last_u = {high_u_q, low_u_q}, last_c = {high_c_q, low_c_q};
  localparam UNEVEN = S % 3 != 0;
  always @* if (on) begin
    entries_that_are_there: assert (~|((active_q | at_q | sel_c_q | sel_p_q | held_q) & ~all));
    at_one: assert (~|(at_q & (at_q - one)));
    selects_one: assert (~|(sel_c_q & (sel_c_q - one)) & ~|(sel_p_q & (sel_p_q - one)));
    holds_one: assert (~|(held_q & (held_q - one)) & ~|(held_q & ~active_q));
    stays_a_turn: assert (stay_q <= 2);
    phases_alike: assert (phase < 3 & (slice_q ^ first) == (first << phase));
    a_is_in_one_entry: assert (a == |has_slot & ~|(has_slot & (has_slot - one)));
    held_alike: assert (held == |held_q & (~held | held_sm == held_sm_0_q));
    selected_was_asked: assert (~|(sel_c_q & has_slot) | asked_a[0]);
    takes_while_an_entry_is_free: assert (kern_ready == |(all & ~active_q));
    what_was_asked_is_selected: assert (!(a & looked_for_a[0]) | |(sel_c_q & active_q) | other_taken[0]);
    what_was_asked_is_looked_at: assert (!(a & looked_for_a[1]) | |(sel_p_q & active_q) | |other_taken);
    begins_with_a_selection: assert (began | ~|sel_p_q);
    is_at_one: assert (!a | |at_q);
    picked_one_that_is_there: assert (~|((low_p_q | low_u_q | low_c_q) >> G) & ~|((high_p_q | high_u_q | high_c_q) >> ((L + 3) / 8)));
    picked_one: assert (~|(last_p & (last_p - 1'b1)) & ~|(last_u & (last_u - 1'b1)) & ~|(last_c & (last_c - 1'b1)));
    after_none_is_nothing: assert (!(last_p == 0 & |after_p_q) & !(last_u == 0 & |after_u_q) & !(last_c == 0 & |after_c_q));
    past_it: assert (!began | past_low_q == low_past_p & past_high_q == high_past_p);
    after_it_at_p: assert (after_p == beyond_p);
    after_it_at_u: assert (after_u == beyond_u);
    after_it_at_c: assert (after_c == beyond_c);
    passes_no_more: assert (!UNEVEN | ~|({passed_p, passed_u, passed_c} & {due_p_0_q, due_u_0_q, due_c_0_q}));
    room_is_where_it_fits: assert (!UNEVEN | ~|({room_2_0_q, room_1_0_q} & ~fitted));
    looked_at_was_asked: assert (~|(sel_p_q & has_slot) | asked_a[1]);
  end
  genvar i, j;
  generate
    for (i = 0; i < K; i = i + 1) begin : entry
      wire mine = on & has_slot[i];
      wire [31:0] left_i = {left_high_q[i*16 +: 16], left_low_q[i*16 +: 16]};
      wire [31:0] index_i = {index_high_q[i*16 +: 16], index_low_q[i*16 +: 16]};
      for (j = 0; j < K; j = j + 1) begin : at
        // Kernels between the one that was asked for last and A have one turn of three cycles each, or two.
        lemma waits_for_those_between (mine & at_q[j], unasked <= (i == j ? 0 : 6 * (K - 1 - (i + K - j) % K) + 3 * second_0_q + stay_q + 1));
      end
      lemma fields_alike (mine, id_q[i*8 +: 8] == id & kind_q[i] == type & part_q[i*3 +: 3] == part);
      lemma needs_alike (mine, warps_q[i*7 +: 7] == warps & regs_q[i*9 +: 9] == regs & smem_q[i*11 +: 11] == smem);
      lemma index_alike (mine, index_i == index);
      lemma left_is_the_rest (mine, {1'b0, index} + {1'b0, left_i} == {1'b0, grid} & left_i != 0);
      lemma borrow_is_known (mine, left_borrows_q[i] == (left_low_q[i*16 +: 16] == 0));
      lemma carry_is_known (mine, index_carries_q[i] == (index_low_q[i*16 +: 16] == 16'hffff));
      lemma last_is_known (mine, last_q[i] == (left_i == 1));
      // Of each entry, whichever kernel is watched: mutants are compared with that.
      lemma counts_of_each (on & active_q[i], left_borrows_q[i] == (left_low_q[i*16 +: 16] == 0)
        & index_carries_q[i] == (index_low_q[i*16 +: 16] == 16'hffff) & last_q[i] == (left_i == 1) & left_i != 0);
      lemma held_is_this (on & held_q[i], held_slot == slot_q[i*LN +: LN] & held_index == index_i);
    end
  endgenerate
endmodule
