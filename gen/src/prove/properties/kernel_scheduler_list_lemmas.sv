// How the registers of the list window in a kernel_scheduler keep ids in order: what its properties need. Its lists are not looked at.
module kernel_scheduler_list_lemmas #(
  parameter N = 8,
  parameter LN = 3,
  parameter R = 2,
  parameter M = 128,
  parameter MASK = 0,
  parameter WALK = 0,
  parameter LATE = 0
) (
  // properties:
  input on,
  input [7:0] next_id,
  input a,
  input a_runs,
  input a_done,
  input [N-1:0] a_slot,
  input [7:0] a_id,
  input [9:0] refused, input [9:0] stopped,
  // design u_window:
  input inserting_q,
  input updating_q,
  input [LN-1:0] step_q,
  // design u_window.u_slots:
  input [N-1:0] valid_q,
  input [N-1:0] dispatched_q,
  input [N-1:0] held_q,
  input [7:0] count_q,
  // design u_window.u_slots, each of N:
  input [N*8-1:0] ids_q,
  // design u_window.u_slots.u_age, each of N:
  input [N*N-1:0] row_q
);
  wire [N-1:0] one = 1;
  reg [7:0] in_use;
  integer n;
  always @* begin
    in_use = 0;
    for (n = 0; n < N; n = n + 1) in_use = in_use + valid_q[n];
  end
  always @* if (on) begin
    counts: assert (count_q == in_use);
    runs_in_use: assert (~|(dispatched_q & ~valid_q));
    held_waits: assert (~|(held_q & ~(valid_q & ~dispatched_q)) & ~|(held_q & (held_q - one)));
    walk_has_begun: assert (!(inserting_q | updating_q) | step_q != 0 & step_q <= N - 1 - updating_q);
    refused_since_it_began: assert (inserting_q | updating_q ? refused < step_q & stopped < step_q : refused <= WALK & stopped <= WALK);
    a_is_one: assert (!a | |a_slot & ~|(a_slot & (a_slot - one)));
    a_is_there: assert (!(a & ~a_done) | |(a_slot & valid_q) & |(a_slot & dispatched_q) == a_runs);
    nothing_before_a: assert (a | ~a_runs & ~a_done);
  end
  genvar p, q;
  generate
    for (p = 0; p < N; p = p + 1) begin : slot
      // How many kernels were sent after this one.
      wire [7:0] newer = next_id - ids_q[p*8 +: 8] - 8'd1;
      lemma sent_before_the_next (on & valid_q[p], newer <= M);
      lemma a_has_its_id (on & a & ~a_done & a_slot[p], ids_q[p*8 +: 8] == a_id);
      for (q = 0; q < p; q = q + 1) begin : other
        wire [7:0] newer_than_q = next_id - ids_q[q*8 +: 8] - 8'd1;
        lemma ids_rise (on & valid_q[p] & valid_q[q], row_q[p*N + q] ? newer < newer_than_q : newer_than_q < newer);
      end
    end
  endgenerate
endmodule
