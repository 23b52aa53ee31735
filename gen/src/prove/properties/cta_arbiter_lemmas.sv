// How the registers of one channel of a CTA arbiter say what channel_properties sees.
module cta_arbiter_lemmas #(
  parameter LN = 3,
  parameter S = 8,
  parameter C = 2,
  parameter K = 1,
  parameter P = 1,
  parameter L = 4,
  parameter G = 1,
  parameter HOLDS = 0
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
  input [P-1:0] passed_p, input [P-1:0] passed_u, input [P-1:0] passed_c,
  input [2*P-1:0] fitted,
  input began,
  input held,
  input [P-1:0] stands,
  input [2:0] size,
  input [1:0] first,
  input [P*8-1:0] held_sm,
  input [P*LN-1:0] held_slot,
  input [P*32-1:0] held_index,
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
  input [2:0] held_count_0_q,
  // design u_channel_@, each of P:
  input [P*8-1:0] held_sm_q,
  input [P*1-1:0] held_on_q,
  input [P*2-1:0] held_rank_q,
  // design u_channel_@.u_turns_0:
  input [3:0] first_q,
  // design u_channel_@.u_phase:
  input [2:0] slice_q,
  // design u_channel_@.u_picker_%, each of P:
  input [P*8-1:0] low_p_q, input [P*8-1:0] low_u_q, input [P*8-1:0] low_c_q,
  input [P*8-1:0] high_p_q, input [P*8-1:0] high_u_q, input [P*8-1:0] high_c_q,
  input [P*8-1:0] past_low_q, input [P*8-1:0] past_high_q,
  input [P*4-1:0] after_p_q, input [P*4-1:0] after_u_q, input [P*4-1:0] after_c_q,
  input [P*1-1:0] due_p_0_q, input [P*1-1:0] due_u_0_q, input [P*1-1:0] due_c_0_q,
  input [P*1-1:0] room_1_0_q, input [P*1-1:0] room_2_0_q,
  // design u_channel_@.u_kernels.u_entry_%, each of K:
  input [K*LN-1:0] slot_q,
  input [K*8-1:0] id_q,
  input [K*1-1:0] kind_q,
  input [K*3-1:0] part_q,
  input [K*7-1:0] warps_q,
  input [K*9-1:0] regs_q,
  input [K*11-1:0] smem_q,
  // design u_channel_@.u_count_%, each of K:
  input [K*3-1:0] index_low_q,
  input [K*29-1:0] index_high_q,
  // design u_channel_@.u_count_%.u_left, each of K:
  input [K*3-1:0] low_q,
  input [K*13-1:0] mid_q,
  input [K*16-1:0] high_q,
  input [K*1-1:0] mid_owes_q,
  input [K*1-1:0] high_owes_q,
  input [K*1-1:0] few_q,
  input [K*1-1:0] fresh_q
);
  wire [3:0] one = 1;
  wire [3:0] all = (5'd1 << K) - 1;
  wire [2:0] slice_0 = 1;
  reg [3:0] has_slot;
  integer e;
  always @* begin
    has_slot = 0;
    for (e = 0; e < K; e = e + 1) has_slot[e] = active_q[e] & slot_q[e*LN +: LN] == slot;
  end
  localparam UNEVEN = S % (3 * P) != 0;
  always @* if (on) begin
    entries_that_are_there: assert (~|((active_q | at_q | sel_c_q | sel_p_q | held_q) & ~all));
    at_one: assert (~|(at_q & (at_q - one)));
    selects_one: assert (~|(sel_c_q & (sel_c_q - one)) & ~|(sel_p_q & (sel_p_q - one)));
    holds_one: assert (~|(held_q & (held_q - one)) & ~|(held_q & ~active_q));
    stays_a_turn: assert (stay_q <= 2);
    phases_alike: assert (phase < 3 & (slice_q ^ slice_0) == (slice_0 << phase));
    a_is_in_one_entry: assert (a == |has_slot & ~|(has_slot & (has_slot - one)));
    held_alike: assert (held == |held_q);
    held_together: assert (P == 1 | !held | size == held_count_0_q & size <= P);
    first_alike: assert (P == 1 | first < P & (first_q ^ one) == one << first);
    selected_was_asked: assert (~|(sel_c_q & has_slot) | asked_a[0]);
    takes_while_an_entry_is_free: assert (kern_ready == |(all & ~active_q));
    what_was_asked_is_selected: assert (!(a & looked_for_a[0]) | |(sel_c_q & active_q) | other_taken[0]);
    what_was_asked_is_looked_at: assert (!(a & looked_for_a[1]) | |(sel_p_q & active_q) | |other_taken);
    begins_with_a_selection: assert (began | ~|sel_p_q);
    is_at_one: assert (!a | |at_q);
    looked_at_was_asked: assert (~|(sel_p_q & has_slot) | asked_a[1]);
  end
  genvar i, j, q, g;
  generate
    // Each port, its bank and its picker.
    for (q = 0; q < P; q = q + 1) begin : bank
      wire [7:0] low_p = low_p_q[q*8 +: 8], low_u = low_u_q[q*8 +: 8], low_c = low_c_q[q*8 +: 8];
      wire [7:0] high_p = high_p_q[q*8 +: 8], high_u = high_u_q[q*8 +: 8], high_c = high_c_q[q*8 +: 8];
      wire [3:0] past_p = after_p_q[q*4 +: 4], past_u = after_u_q[q*4 +: 4], past_c = after_c_q[q*4 +: 4];
      // Of a slice: the fours behind the one that its last CTA went to, low ones and high ones; all lanes behind that CTA's.
      wire [7:0] low_past_p, high_past_p;
      wire [8*G-1:0] lanes, beyond_p, beyond_u, beyond_c;
      for (g = 0; g < 8; g = g + 1) begin : group
        assign low_past_p[g] = g < G & |((low_p | high_p) & ((1 << g) - 1));
        assign high_past_p[g] = g < G & (low_past_p[g] | low_p[g]);
      end
      for (g = 0; g < 8 * G; g = g + 1) begin : lane
        assign lanes[g] = g % P == q;
      end
      for (g = 0; g < G; g = g + 1) begin : four
        assign beyond_p[8*g +: 4] = {4{low_past_p[g]}} | {4{low_p[g]}} & past_p;
        assign beyond_p[8*g+4 +: 4] = {4{high_past_p[g]}} | {4{high_p[g]}} & past_p;
        assign beyond_u[8*g +: 4] = {4{|((low_u | high_u) & ((1 << g) - 1))}} | {4{low_u[g]}} & past_u;
        assign beyond_u[8*g+4 +: 4] = {4{|(low_u & ((2 << g) - 1) | high_u & ((1 << g) - 1))}} | {4{high_u[g]}} & past_u;
        assign beyond_c[8*g +: 4] = {4{|((low_c | high_c) & ((1 << g) - 1))}} | {4{low_c[g]}} & past_c;
        assign beyond_c[8*g+4 +: 4] = {4{|(low_c & ((2 << g) - 1) | high_c & ((1 << g) - 1))}} | {4{high_c[g]}} & past_c;
      end
      wire [15:0] last_p = {high_p, low_p}, last_u = {high_u, low_u}, last_c = {high_c, low_c};
      lemma picked_one_that_is_there (on, ~|((low_p | low_u | low_c) >> G) & ~|((high_p | high_u | high_c) >> ((L + 3) / 8)));
      lemma picked_one (on, ~|(last_p & (last_p - 1'b1)) & ~|(last_u & (last_u - 1'b1)) & ~|(last_c & (last_c - 1'b1)));
      lemma after_none_is_nothing (on, !(last_p == 0 & |past_p) & !(last_u == 0 & |past_u) & !(last_c == 0 & |past_c));
      lemma past_it (on & began, past_low_q[q*8 +: 8] == low_past_p & past_high_q[q*8 +: 8] == high_past_p);
      lemma after_it_at_p (on, ~|((after_p ^ beyond_p) & lanes));
      lemma after_it_at_u (on, ~|((after_u ^ beyond_u) & lanes));
      lemma after_it_at_c (on, ~|((after_c ^ beyond_c) & lanes));
      lemma passes_no_more (on & UNEVEN, ~|({passed_p[q], passed_u[q], passed_c[q]} & {due_p_0_q[q], due_u_0_q[q], due_c_0_q[q]}));
      lemma room_is_where_it_fits (on & UNEVEN, ~|({room_2_0_q[q], room_1_0_q[q]} & ~{fitted[P+q], fitted[q]}));
      lemma stands_alike (on, stands[q] == (P == 1 ? |held_q : held_on_q[q]));
      lemma same_sm_stands (on & stands[q], held_sm[q*8 +: 8] == held_sm_q[q*8 +: 8]);
      lemma one_of_those_placed (on & stands[q] & P > 1, held_rank_q[q*2 +: 2] < size);
      for (i = 0; i < q; i = i + 1) begin : other
        lemma another_of_those_placed (on & stands[q] & stands[i] & P > 1, held_rank_q[q*2 +: 2] != held_rank_q[i*2 +: 2]);
      end
    end
  endgenerate
  generate
    for (i = 0; i < K; i = i + 1) begin : entry
      wire mine = on & has_slot[i];
      // What the entry has left: an eight that was taken in the cycle before is still owed.
      wire [12:0] mid_i = mid_q[i*13 +: 13];
      wire [28:0] eights_i = {high_q[i*16 +: 16] - high_owes_q[i], mid_i - mid_owes_q[i]};
      wire [31:0] left_i = {eights_i, low_q[i*3 +: 3]};
      wire [31:0] index_i = {index_high_q[i*29 +: 29], index_low_q[i*3 +: 3]};
      for (j = 0; j < K; j = j + 1) begin : at
        // Kernels between the one that was asked for last and A have one turn of three cycles each, or two.
        lemma waits_for_those_between (mine & at_q[j], unasked <= (i == j ? 0 : 6 * (K - 1 - (i + K - j) % K) + 3 * second_0_q + stay_q + 1));
      end
      lemma fields_alike (mine, id_q[i*8 +: 8] == id & kind_q[i] == type & part_q[i*3 +: 3] == part);
      lemma needs_alike (mine, warps_q[i*7 +: 7] == warps & regs_q[i*9 +: 9] == regs & smem_q[i*11 +: 11] == smem);
      lemma index_alike (mine, index_i == index);
      lemma left_is_the_rest (mine, {1'b0, index} + {1'b0, left_i} == {1'b0, grid} & left_i != 0);
      // Of each entry, whichever kernel is watched: mutants are compared with that.
      lemma some_are_left (on & active_q[i], left_i != 0);
      lemma few_is_known (on & active_q[i], fresh_q[i] ? !few_q[i] : few_q[i] == (eights_i == 0));
      lemma fresh_is_not_looked_at (on & active_q[i] & fresh_q[i], !sel_p_q[i] & !held_q[i] & !mid_owes_q[i]);
      lemma owes_what_is_there (on & active_q[i], !mid_owes_q[i] ? !high_owes_q[i] : high_owes_q[i] == (mid_i == 0) & low_q[i*3+2]);
      lemma no_more_held_than_left (on & held_q[i] & P > 1, size <= left_i);
      for (q = 0; q < P; q = q + 1) begin : port
        lemma held_is_this (on & held_q[i] & stands[q],
          held_slot[q*LN +: LN] == slot_q[i*LN +: LN] & held_index[q*32 +: 32] == index_i + (P > 1 ? held_rank_q[q*2 +: 2] : 0));
      end
    end
  endgenerate
endmodule
