// How the registers of round_robin say what round_robin_properties sees: G groups of W requests.
module round_robin_lemmas #(
  parameter N = 8,
  parameter W = 4,
  parameter G = 2
) (
  // properties:
  input on,
  input [N-1:0] after,
  input [N-1:0] served,
  input [N-1:0] w,
  // design:
  input [G-1:0] last_q,
  // design u_group_%, each of G:
  input [G*W-1:0] served_q
);
  // Which group served last; the register holds it with the first bit turned round.
  wire [G-1:0] one = 1;
  wire [G-1:0] here = last_q ^ one;
  always @* if (on) one_group_was_last: assert (|here & ~|(here & (here - one)));
  genvar i;
  generate
    for (i = 0; i < N; i = i + 1) begin : request
      localparam g = i / W;
      lemma last_group_knows_its_last (on & here[g], after[i] == ~served_q[i]);
      lemma groups_after_it_are_after (on & here < (one << g), after[i]);
      lemma groups_before_it_are_not (on & here > (one << g), ~after[i]);
      lemma after_is_all_above (on & i > 0, after[i] | ~after[i ? i-1 : 0]);
      // Nobody between the pointer and w, in turn, was served while w waits.
      wire up_to_w = (w >> i) != 0;
      lemma the_served_lie_behind (on & served[i], |(after & w) ? ~(after[i] & up_to_w) : ~after[i] & ~up_to_w);
    end
  endgenerate
endmodule
