// How the register of upstream_load says what upstream_load_properties sees.
module upstream_load_lemmas #(
  parameter N = 8,
  parameter M = 8,
  parameter K = 4
) (
  // properties:
  input on,
  input named_a,
  input [N-1:0] a_place,
  // design:
  input [N-1:0] gathered_q
);
  always @* if (on) gathered_has_a: assert (|(gathered_q & a_place) == (named_a & |a_place));
endmodule
