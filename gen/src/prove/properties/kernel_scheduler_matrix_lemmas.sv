// How the registers of the matrix window in a kernel_scheduler keep ids in order: what its properties need.
module kernel_scheduler_matrix_lemmas #(
  parameter N = 8,
  parameter LN = 3,
  parameter R = 2,
  parameter M = 128,
  parameter MASK = 0,
  parameter WALK = 0,
  parameter LATE = 0       // 1: PIPELINED
) (
  // properties:
  input on,
  input [7:0] next_id,
  input a,
  input a_runs,
  input a_done,
  input [N-1:0] a_slot,
  input [7:0] a_id,
  // design u_window:
  input [N-1:0] used_q,
  input [N-1:0] shift_q,
  input [N-1:0] running_q,
  input [N-1:0] gone_q,
  input [7:0] count_q,
  input held_q,
  input [LN-1:0] held_slot_q,
  input [LN-1:0] free_slot_q,
  input [N-1:0] found_0_q,
  // design u_window, each of N:
  input [N*8-1:0] ids_q,
  input [N*LN-1:0] slots_q,
  // design u_window, each of R:
  input [R*N-1:0] named_q_q
);
  wire [N-1:0] one = 1;
  wire [N-1:0] held_slot = held_q ? one << held_slot_q : {N{1'b0}};
  // PIPELINED: places named by a retirement of the cycle before.
  reg [N-1:0] named;
  integer n;
  always @* begin
    named = 0;
    if (LATE) for (n = 0; n < R; n = n + 1) named = named | named_q_q[n*N +: N];
  end
  always @* if (on) begin
    uses_from_below: assert (used_q == (one << count_q) - one & count_q <= N);
    shift_is_upward: assert (~|((shift_q << 1) & ~shift_q));
    running_has_place: assert (~|(running_q & (~used_q | gone_q)));
    gone_has_place: assert (~|(gone_q & ~used_q));
    closes_what_is_gone: assert (~|(shift_q & ~(shift_q << 1) & ~gone_q));
    named_runs: assert (~|(named & ~running_q));
    found_waits: assert (!LATE | ~|(found_0_q & (~used_q | gone_q | running_q)));
    held_is_a_slot: assert (!held_q | held_slot_q < N);
    a_is_one: assert (!a | |a_slot & ~|(a_slot & (a_slot - one)));
    nothing_before_a: assert (a | ~a_runs & ~a_done);
  end
  genvar p, s;
  generate
    for (s = 0; s < N; s = s + 1) begin : of_slot
      wire [N-1:0] here;
      for (p = 0; p < N; p = p + 1) begin : at
        assign here[p] = slots_q[p*LN +: LN] == s;
      end
      lemma is_in_one_place (on, |here & ~|(here & (here - one)));
    end
    for (p = 0; p < N; p = p + 1) begin : place
      wire [N-1:0] slot = one << slots_q[p*LN +: LN];
      // In use by a kernel that has not retired.
      wire live = used_q[p] & ~gone_q[p] & ~named[p];
      wire mine = a & ~a_done & |(slot & a_slot);
      lemma holds_a_slot (on, slots_q[p*LN +: LN] < N);
      lemma next_slot (on & count_q == p, free_slot_q == slots_q[p*LN +: LN]);
      lemma held_runs (on & |(slot & held_slot), live & running_q[p]);
      lemma a_is_here (on & mine, live & ids_q[p*8 +: 8] == a_id & running_q[p] == (a_runs | |(slot & held_slot)));
      // The next id is beyond them all, and ids rise from place to place: kernels that were sent after the one here, and after the one below.
      wire [7:0] newer = next_id - ids_q[p*8 +: 8] - 8'd1;
      wire [7:0] newer_below = next_id - ids_q[(p ? p-1 : 0)*8 +: 8] - 8'd1;
      lemma sent_before_the_next (on & used_q[p], newer <= M);
      lemma ids_rise (on & used_q[p] & p > 0, newer < newer_below);
    end
  endgenerate
endmodule
