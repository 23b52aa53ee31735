// How the registers of the matrix window in a kernel_scheduler keep ids in order: what its properties need.
module kernel_scheduler_lemmas #(
  parameter N = 8,
  parameter LN = 3,
  parameter R = 2,
  parameter M = 128,
  parameter MASK = 0
) (
  // properties:
  input on,
  input [7:0] next_id,
  // design u_window:
  input [N-1:0] used_q,
  input [N-1:0] shift_q,
  input [N-1:0] running_q,
  input [N-1:0] gone_q,
  input [7:0] count_q,
  // design u_window, each of N:
  input [N*8-1:0] ids_q
);
  wire [N-1:0] one = 1;
  always @* if (on) begin
    uses_from_below: assert (used_q == (one << count_q) - one & count_q <= N);
    shift_is_upward: assert (~|((shift_q << 1) & ~shift_q));
    running_has_place: assert (~|(running_q & (~used_q | gone_q)));
    gone_has_place: assert (~|(gone_q & ~used_q));
    closes_what_is_gone: assert (~|(shift_q & ~(shift_q << 1) & ~gone_q));
  end
  genvar p;
  generate
    for (p = 0; p < N; p = p + 1) begin : place
      // Counted from the oldest kernel, ids rise from place to place, and the next one is beyond them all.
      wire [7:0] since = ids_q[p*8 +: 8] - ids_q[0 +: 8];
      wire [7:0] newer = next_id - ids_q[0 +: 8] - 8'd1;
      lemma sent_before_the_next (on & used_q[p], since <= newer & newer <= M);
      wire [7:0] since_below = ids_q[(p ? p-1 : 0)*8 +: 8] - ids_q[0 +: 8];
      lemma ids_rise (on & used_q[p] & p > 0, since_below < since);
      // An id would name two unfinished kernels.
      lemma id_is_new (on & used_q[p] & newer < M, ids_q[p*8 +: 8] != next_id);
    end
  endgenerate
endmodule
