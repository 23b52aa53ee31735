// How the registers of window_matrix say what window_properties sees: what an induction needs, nothing that a user would ask for.
module window_matrix_lemmas #(
  parameter N = 8,
  parameter LN = 3,
  parameter R = 2,
  parameter LATE = 0,
  parameter FIXED = 0,
  parameter READY = 0,
  parameter CLOSE = 2
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
  input [N-1:0] older,
  input [N-1:0] ahead,
  input a_is_ready,
  input a_settled,
  input [9:0] a_open,
  // design:
  input [N-1:0] used_q,
  input [N-1:0] running_q,
  input [N-1:0] gone_q,
  input [N-1:0] shift_q,
  input [7:0] count_q,
  input held_q,
  input [LN-1:0] held_slot_q,
  input [7:0] held_id_q,
  input [LN-1:0] free_slot_q,
  input [N-1:0] found_0_q,
  // design, each of N:
  input [N*LN-1:0] slots_q,
  input [N*8-1:0] ids_q,
  input [N*N-1:0] up_q,
  // design, each of R:
  input [R*N-1:0] named_q_q
);
  wire [N-1:0] one = 1;
  wire [N-1:0] held_slot = held_q ? one << held_slot_q : {N{1'b0}};
  wire [N-1:0] tail = one << count;
  // PIPELINED: places named by a retirement of the cycle before, and places found to be ready then.
  reg [N-1:0] named;
  wire [N-1:0] found = found_0_q;
  integer n;
  always @* begin
    named = 0;
    if (LATE) for (n = 0; n < R; n = n + 1) named = named | named_q_q[n*N +: N];
  end
  wire b_waits = b & ~b_done & |(b_slot & waiting);
  wire a_waits = a & ~a_done & |(a_slot & waiting);

  always @* if (on) begin
    counts: assert (count_q == count & count <= N);
    uses_from_below: assert (used_q == tail - one);
    named_runs: assert (~|(named & ~running_q));
    gone_has_place: assert (~|(gone_q & ~used_q));
    running_has_place: assert (~|(running_q & (~used_q | gone_q)));
    shift_is_upward: assert (~|((shift_q << 1) & ~shift_q));
    closes_what_is_gone: assert (~|(shift_q & ~(shift_q << 1) & ~gone_q));
    waits_or_runs: assert (~|(waiting & running));
    knows_a_first: assert (!b | a);
    nothing_before_a: assert (a | ~a_done & ~a_gone);
    nothing_before_b: assert (b | ~b_done & ~b_gone & ~b_waits_for_a);
    a_goes_when_done: assert (!a_gone | a_done);
    b_goes_when_done: assert (!b_gone | b_done);
    a_is_one: assert (!a | |a_slot & ~|(a_slot & (a_slot - one)));
    b_is_one: assert (!b | |b_slot & ~|(b_slot & (b_slot - one)));
    a_has_one_place: assert (!(a & ~a_gone) | |a_place & ~|(a_place & (a_place - one)));
    b_has_one_place: assert (!(b & ~b_gone) | |b_place & ~|(b_place & (b_place - one)));
    a_waits_or_runs: assert (!(a & ~a_done) | |(a_slot & (waiting | running)));
    b_waits_or_runs: assert (!(b & ~b_done) | |(b_slot & (waiting | running)));
    a_is_there: assert (!(a & ~a_done) | ~a_gone);
    b_is_there: assert (!(b & ~b_done) | ~b_gone);
    a_before_b: assert (!(a & b & ~a_gone & ~b_gone) | a_place < b_place);
    a_waits_for_live: assert (!a_waits | ~|(a_up & (gone_q | ~used_q | ~(a_place - one))));
    b_waits_for_live: assert (!(b & ~b_done) | ~|(b_up & (gone_q | ~used_q | ~(b_place - one))));
  end

  // Where each slot is: asked slot by slot, for one question about all of them is a hard one.
  genvar p, s;
  generate
    for (s = 0; s < N; s = s + 1) begin : of_slot
      wire [N-1:0] here;
      for (p = 0; p < N; p = p + 1) begin : at
        assign here[p] = slots_q[p*LN +: LN] == s;
      end
      lemma is_in_one_place (on, |here & ~|(here & (here - one)));
      lemma runs_there (on, (running[s] | held_slot[s]) == |(here & running_q & ~named));
      lemma waits_there (on, (waiting[s] & ~held_slot[s]) == |(here & used_q & ~gone_q & ~named & ~running_q));
    end
  endgenerate
  generate
    for (p = 0; p < N; p = p + 1) begin : place
      wire [N-1:0] slot = one << slots_q[p*LN +: LN];
      wire mine_a = a & ~a_gone & a_place[p];
      wire mine_b = b & ~b_gone & b_place[p];
      wire stale = ~used_q[p] | gone_q[p] | named[p];
      wire before_a = (one << p) < a_place;
      lemma holds_a_slot (on, slots_q[p*LN +: LN] < N);
      lemma next_slot (on, ~tail[p] | free_slot_q == slots_q[p*LN +: LN]);
      lemma a_has_its_id (on, ~mine_a | used_q[p] & ids_q[p*8 +: 8] == a_id);
      lemma a_is_held_with_its_id (on, ~mine_a | ~|(slot & held_slot) | held_id_q == a_id);
      lemma a_is_gone_when_done (on, ~mine_a | a_done == (gone_q[p] | named[p]));
      lemma a_has_its_slot (on, ~mine_a | a_done | slot == a_slot);
      lemma a_has_its_row (on, ~mine_a | ~a_waits | (up_q[p*N +: N] & ~gone_q & ((one << p) - one)) == a_up);
      lemma b_has_its_place (on, ~mine_b | used_q[p] & b_done == (gone_q[p] | named[p]));
      lemma b_has_its_slot (on, ~mine_b | b_done | slot == b_slot);
      lemma b_has_its_row (on, ~mine_b | ~b_waits | (up_q[p*N +: N] & ~gone_q & ((one << p) - one)) == b_up);
      lemma order_is_kept (on, stale | ~a | a_gone | |(older & slot) == before_a);
      lemma a_is_named_once (on, ~mine_a | ~a_done | a_open == 0 | ~named[p]);
      lemma a_is_found (on, !LATE | ~mine_a | found[p] == (a_waits & ~|a_up & a_settled & ~|(slot & held_slot)));
      lemma found_is_ready (on, !LATE | ~found[p] | used_q[p] & ~gone_q[p] & ~running_q[p] & ~|(up_q[p*N +: N] & ~gone_q & ((one << p) - one)));
      lemma a_closes_in_time (on, ~mine_a | ~a_done | a_open + p < N + CLOSE);
    end
  endgenerate
  always @* if (on) begin
    held_is_a_slot: assert (!held_q | held_slot_q < N);
    held_is_offered: assert (~|(held_slot & ~waiting));
    b_waits_as_it_said: assert (!(b_waits & b_waits_for_a & ~a_done) | |(b_up & a_place));
    older_are_unfinished: assert (!a | ~|(older & ~(waiting | running)));
    older_are_ahead: assert (!a_is_ready | ~|(older & waiting & ~ahead) & ~|(held_slot & ~ahead & ~a_slot));
    closing_has_begun: assert (!(a & a_done & ~a_gone) | a_open <= LATE | |(shift_q & (a_place | (a_place - one))));
  end
endmodule
