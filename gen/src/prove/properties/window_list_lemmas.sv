// How the registers of window_list say what window_properties sees: what an induction needs, nothing that a user would ask for.
module window_list_lemmas #(
  parameter N = 8,
  parameter LN = 3,
  parameter R = 2,
  parameter LATE = 0,
  parameter FIXED = 1,
  parameter READY = 8,
  parameter CLOSE = 2,
  parameter E = 7          // entries of a list
) (
  // properties:
  input on,
  input [7:0] count,
  input [N-1:0] waiting,
  input [N-1:0] running,
  input a, input b,
  input a_done, input b_done,
  input a_gone, input b_gone,
  input b_waits_for_a,
  input [N-1:0] a_slot, input [N-1:0] b_slot,
  input [N-1:0] a_place, input [N-1:0] b_place,
  input [N-1:0] a_up, input [N-1:0] b_up,
  input [7:0] a_id,
  input [8*N-1:0] ids,
  input [N-1:0] older,
  input [N-1:0] ahead,
  input a_is_ready,
  input [9:0] a_ready,
  input [9:0] a_open,
  input held,
  input [7:0] held_id,
  input [LN-1:0] held_slot,
  input [9:0] busy,
  // design:
  input inserting_q,
  input updating_q,
  input [LN-1:0] step_q,
  input [N-1:0] target_q,
  input [N-1:0] upstream_q,
  input [LN-1:0] append_at_q,
  input [7:0] retired_q,
  // design u_slots:
  input [N-1:0] valid_q,
  input [N-1:0] dispatched_q,
  input [N-1:0] held_q,
  input [7:0] count_q,
  // design u_slots, each of N:
  input [N*8-1:0] ids_q,
  // design u_slots.u_age, each of N:
  input [N*N-1:0] row_q,
  // design u_lists_%, each of N:
  input [N*N-1:0] used_q,
  // design u_lists_%.u_entries, each of N, words of E:
  input [N*E*8-1:0] words
);
  wire [N-1:0] one = 1;
  wire a_waits = a & ~a_done & |(a_slot & waiting);
  wire b_waits = b & ~b_done & |(b_slot & waiting);
  // Positions that the walk has behind it.
  wire [N-1:0] walked = (one << step_q) - one;

  reg [7:0] in_use;
  integer n;
  always @* begin
    in_use = 0;
    for (n = 0; n < N; n = n + 1) in_use = in_use + valid_q[n];
  end

  always @* if (on) begin
    counts: assert (count_q == count & count == in_use);
    waits_or_runs: assert (waiting == (valid_q & ~dispatched_q) & running == (valid_q & dispatched_q));
    runs_in_use: assert (~|(dispatched_q & ~valid_q));
    held_waits: assert (~|(held_q & ~waiting) & ~|(held_q & (held_q - one)));
    held_is_offered: assert (held == |held_q & (!held | one << held_slot == held_q));
    one_walk: assert (!(inserting_q & updating_q));
    walk_has_begun: assert (!(inserting_q | updating_q) | step_q != 0 & step_q <= N - 1 - updating_q);
    busy_since_it_began: assert (!(inserting_q | updating_q) | busy + 1 == step_q);
    writes_one: assert (!inserting_q | |target_q & ~|(target_q & (target_q - one)) & ~|(target_q & ~waiting) & ~|(target_q & held_q));
    // No list is longer than its memory: a kernel does not wait for itself.
    writes_no_more_than_fits: assert (!inserting_q | {1'b0, append_at_q} + |(target_q & walked) <= step_q);
    waits_not_for_itself: assert (!inserting_q | ~|(target_q & upstream_q));
    knows_a_first: assert (!b | a);
    nothing_before_a: assert (a | ~a_done & ~a_gone);
    nothing_before_b: assert (b | ~b_done & ~b_gone & ~b_waits_for_a);
    a_goes_when_done: assert (a_gone == a_done & a_open == 0);
    b_goes_when_done: assert (b_gone == b_done);
    a_is_one: assert (!a | |a_slot & ~|(a_slot & (a_slot - one)) & a_place == a_slot);
    b_is_one: assert (!b | |b_slot & ~|(b_slot & (b_slot - one)) & b_place == b_slot);
    a_waits_or_runs: assert (!(a & ~a_done) | |(a_slot & valid_q));
    b_waits_or_runs: assert (!(b & ~b_done) | |(b_slot & valid_q));
    a_waits_for_older: assert (!(a & ~a_done) | ~|(a_up & ~older) & ~|(a_up & a_slot));
    b_waits_for_live: assert (!(b & ~b_done) | ~|(b_up & ~valid_q) & ~|(b_up & b_slot));
    older_are_unfinished: assert (!a | ~|(older & ~valid_q));
    older_are_ahead: assert (!a_is_ready | ~|(older & waiting & ~ahead) & ~|(held_q & ~ahead & ~a_slot));
    b_waits_as_it_said: assert (!(b_waits & b_waits_for_a & ~a_done) | |(b_up & a_slot));
  end

  genvar p, q, k;
  generate
    for (p = 0; p < N; p = p + 1) begin : slot
      wire [7:0] id = ids_q[p*8 +: 8];
      wire [N-1:0] used = used_q[p*N +: N];
      wire mine_a = a & ~a_done & a_slot[p];
      wire mine_b = b & ~b_done & b_slot[p];
      wire written = inserting_q & target_q[p];
      lemma has_its_id (on & valid_q[p], ids[p*8 +: 8] == id);
      lemma a_has_its_id (on & mine_a, id == a_id);
      lemma is_held_with_its_id (on & held_q[p], held_id == id);
      lemma waits_with_a_list (on & |used, waiting[p] & ~held_q[p] & ~|(used >> E));
      lemma is_written_in_order (on & written, used == (one << append_at_q) - one);
      lemma a_is_written (on & mine_a & written, upstream_q == a_up & a_ready < step_q);
      lemma b_is_written (on & mine_b & written, upstream_q == b_up);
      lemma a_is_cleared_in_time (on & mine_a & |used & ~|a_up, updating_q & a_ready < step_q);
      lemma retired_is_gone (on & updating_q & valid_q[p], id != retired_q);
      // Slots that came before this one.
      wire [N-1:0] before;
      for (q = 0; q < N; q = q + 1) begin : other
        if (q == p) begin : itself
          assign before[q] = 0;
        end
        else begin : another
          assign before[q] = q < p ? row_q[p*N + q] : ~row_q[q*N + p];
          // The entries that hold the other's id.
          wire [E-1:0] holds;
          for (k = 0; k < E; k = k + 1) begin : entry
            assign holds[k] = used[k] & words[(p*E + k)*8 +: 8] == ids_q[q*8 +: 8];
          end
          lemma ids_differ (on & valid_q[p] & valid_q[q] & q < p, id != ids_q[q*8 +: 8]);
          lemma a_has_its_list (on & mine_a & waiting[p] & a_up[q], |holds | written & ~walked[q]);
          lemma b_has_its_list (on & mine_b & waiting[p] & b_up[q], |holds | written & ~walked[q]);
        end
      end
      // No three slots in a circle: one of any set is the oldest.
      for (q = 0; q < p; q = q + 1) begin : second
        for (k = 0; k < q; k = k + 1) begin : third
          wire q_first = row_q[p*N + q], k_before_p = row_q[p*N + k], k_before_q = row_q[q*N + k];
          lemma no_circle (on & valid_q[p] & valid_q[q] & valid_q[k], !(q_first & k_before_q & ~k_before_p) & !(~q_first & ~k_before_q & k_before_p));
        end
      end
      lemma order_is_kept (on & mine_a, (before & valid_q) == older);
      lemma a_before_b (on & mine_b & ~a_done, |(before & a_slot));
      // What A still waits for is all that its list holds, but for what the walk has yet to clear.
      for (k = 0; k < E; k = k + 1) begin : position
        wire [7:0] word = words[(p*E + k)*8 +: 8];
        reg is_upstream;
        integer u;
        always @* begin
          is_upstream = 0;
          for (u = 0; u < N; u = u + 1) if (a_up[u] & word == ids_q[u*8 +: 8]) is_upstream = 1;
        end
        lemma a_waits_for_no_other (on & mine_a & used[k], is_upstream | updating_q & ~walked[k] & word == retired_q);
      end
    end
  endgenerate
endmodule
