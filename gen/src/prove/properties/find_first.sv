// What find_first promises: the lowest request, alone.
module find_first_properties #(
  parameter N = 8
) (
  input [N-1:0] req_i,
  input [N-1:0] gnt_o
);
  wire [N-1:0] one = 1;
  always @* begin
    // A part that asks for one would get none, or another one.
    grants_the_lowest: assert (gnt_o == (req_i & (~req_i + one)));
  end
  always @* begin
    // States without which a proof would say little.
    reaches_the_last: cover (gnt_o[N-1]);
    reaches_a_choice: cover (&req_i);
  end
endmodule
