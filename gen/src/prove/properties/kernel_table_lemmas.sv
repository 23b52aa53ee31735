// How the registers of kernel_table say what kernel_table_properties sees.
module kernel_table_lemmas #(
  parameter N = 8,
  parameter LN = 3,
  parameter R = 2,
  parameter Q = 2
) (
  // properties:
  input on,
  input [N-1:0] held, input [N-1:0] queued, input [N-1:0] running, input [N-1:0] type, input [N-1:0] markers,
  input [LN-1:0] s, input [LN-1:0] t,
  input [7:0] id,
  input [31:0] left, input [31:0] left_t,
  input [2:0] part,
  input [6:0] warps,
  input [8:0] regs,
  input [10:0] smem,
  input s_first,
  input [Q-1:0] stays, input [Q*LN-1:0] stayed,
  input [R-1:0] kept, input [R*LN-1:0] kept_slot,
  input [4*LN-1:0] done_slot_i, input [4*7-1:0] done_warps_o, input [4*9-1:0] done_regs_o, input [4*11-1:0] done_smem_o,
  // design:
  input [N-1:0] running_q,
  input [N-1:0] waiting_q,
  // design, each of R:
  input [R*N-1:0] held_q,
  // design, each of Q:
  input [Q*1-1:0] stays_q,
  input [Q*LN-1:0] stayed_q,
  // design u_entry_%, each of N:
  input [N*1-1:0] no_ctas_q,
  input [N*8-1:0] id_q,
  input [N*1-1:0] kind_q,
  input [N*3-1:0] part_q,
  input [N*7-1:0] warps_q,
  input [N*9-1:0] regs_q,
  input [N*11-1:0] smem_q,
  // design u_entry_%.u_left, each of N:
  input [N*3-1:0] low_q, input [N*13-1:0] mid_q, input [N*16-1:0] high_q,
  input [N*1-1:0] mid_owes_q, input [N*1-1:0] high_owes_q, input [N*1-1:0] few_q, input [N*1-1:0] fresh_q,
  // design u_order, each of N:
  input [N*N-1:0] row_q
);
  wire [N-1:0] one = 1;
  always @* if (on) begin
    runs: assert (running_q == running);
    waits: assert (waiting_q == queued);
    what_runs_or_waits_is_held: assert (~|(running & ~held) & ~|(queued & ~held));
    markers_wait_for_nobody: assert (~|(queued & markers));
    stays_alike: assert (stays_q == stays);
  end
  genvar i, j, k, p, q, r;
  generate
    for (q = 0; q < Q; q = q + 1) begin : queue
      lemma stayed_alike (on & stays[q], stayed_q[q*LN +: LN] == stayed[q*LN +: LN]);
      lemma stayed_waits (on & stays[q], stayed[q*LN +: LN] < N & queued[stayed[q*LN +: LN]] & (Q == 1 | type[stayed[q*LN +: LN]] == q));
    end
    for (r = 0; r < R; r = r + 1) begin : port
      lemma kept_alike (on, held_q[r*N +: N] == (kept[r] ? one << kept_slot[r*LN +: LN] : {N{1'b0}}));
      lemma kept_has_ended (on & kept[r], kept_slot[r*LN +: LN] < N & running[kept_slot[r*LN +: LN]] & few_q[kept_slot[r*LN +: LN]] & low_q[kept_slot[r*LN +: LN]*3 +: 3] == 0);
      for (k = 0; k < r; k = k + 1) begin : other
        lemma kept_once (on & kept[r] & kept[k], kept_slot[r*LN +: LN] != kept_slot[k*LN +: LN]);
      end
    end
    for (i = 0; i < N; i = i + 1) begin : slot
      // What the entry has left: an eight that was taken in the cycle before is still owed.
      wire [12:0] mid_i = mid_q[i*13 +: 13];
      wire [28:0] eights_i = {high_q[i*16 +: 16] - high_owes_q[i], mid_i - mid_owes_q[i]};
      wire [31:0] left_i = {eights_i, low_q[i*3 +: 3]};
      lemma few_is_known (on & held[i], fresh_q[i] ? !few_q[i] : few_q[i] == (eights_i == 0));
      lemma owes_what_is_there (on & held[i], !mid_owes_q[i] ? !high_owes_q[i] : high_owes_q[i] == (mid_i == 0) & low_q[i*3+2]);
      lemma owes_nothing_before (on & held[i] & ~(running[i] & ~queued[i]), !mid_owes_q[i]);
      lemma fresh_before_it_runs (on & held[i] & fresh_q[i], !running[i]);
      lemma type_alike (on & held[i], kind_q[i] == type[i]);
      lemma marker_alike (on & held[i], no_ctas_q[i] == markers[i]);
      lemma ends_after_it_began (on & held[i] & (~running[i] | queued[i]), (left_i == 0) == markers[i]);
      lemma marker_has_none (on & held[i] & markers[i], left_i == 0);
      lemma fields_alike (on & held[i] & s == i, id_q[i*8 +: 8] == id & left_i == left & part_q[i*3 +: 3] == part);
      lemma left_alike (on & held[i] & t == i, left_i == left_t);
      lemma needs_alike (on & held[i] & s == i, warps_q[i*7 +: 7] == warps & regs_q[i*9 +: 9] == regs & smem_q[i*11 +: 11] == smem);
      for (p = 0; p < 4; p = p + 1) begin : port
        wire asked = on & done_slot_i[p*LN +: LN] == i;
        lemma warps_out (asked, done_warps_o[p*7 +: 7] == warps_q[i*7 +: 7]);
        lemma regs_out (asked, done_regs_o[p*9 +: 9] == regs_q[i*9 +: 9]);
        lemma smem_out (asked, done_smem_o[p*11 +: 11] == smem_q[i*11 +: 11]);
      end
      for (j = 0; j < i; j = j + 1) begin : other
        wire j_first = row_q[i*N + j];
        lemma order_upwards (on & held[i] & held[j] & s == j & t == i, j_first == s_first);
        lemma order_downwards (on & held[i] & held[j] & s == i & t == j, j_first == ~s_first);
        for (k = 0; k < j; k = k + 1) begin : third
          wire k_before_i = row_q[i*N + k], k_before_j = row_q[j*N + k];
          lemma no_circle (on & held[i] & held[j] & held[k], !(j_first & k_before_j & ~k_before_i) & !(~j_first & ~k_before_j & k_before_i));
        end
      end
    end
  endgenerate
endmodule
