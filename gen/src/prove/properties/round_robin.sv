// What round_robin promises: a grant a cycle, in turn.
module round_robin_properties #(
  parameter N = 8
) (
  input clk_i,
  input rst_ni,
  input [N-1:0] req_i,
  input ack_i,
  input [N-1:0] gnt_o
);
  wire [N-1:0] one = 1;
  reg reset_seen = 0;
  always @(posedge clk_i) if (!rst_ni) reset_seen <= 1;
  wire on = reset_seen & rst_ni;

  // The requests after the one that was served last; all after a reset.
  reg [N-1:0] after;
  always @(posedge clk_i)
    if (!rst_ni) after <= {N{1'b1}};
    else if (ack_i & |gnt_o) after <= ~(gnt_o | (gnt_o - one));
  wire [N-1:0] front = |(req_i & after) ? req_i & after : req_i;

  // One request w that does not go away, and who was served since it came.
  (* anyconst *) wire [N-1:0] w;
  reg [N-1:0] served;
  always @(posedge clk_i)
    if (!rst_ni | ~|(req_i & w) | ack_i & |(gnt_o & w)) served <= 0;
    else if (ack_i) served <= served | gnt_o;

  always @* begin
    assume (|w & ~|(w & (w - one)));
    if (on) begin
      // Two would be served at once, or one that did not ask.
      grants_one_request: assert (~|(gnt_o & ~req_i) & ~|(gnt_o & (gnt_o - one)));
      // A request would wait while nobody is served.
      grants_if_asked: assert (|gnt_o == |req_i);
      // The turn would not be kept.
      keeps_the_turn: assert (gnt_o == (front & (~front + one)));
      // A request would starve: none is served twice while another waits, so that N - 1 are served before it at most.
      nobody_twice: assert (~|(req_i & w) | |(gnt_o & w) | ~|(gnt_o & served));
    end
  end
  always @* if (on) begin
    // States without which a proof would say little.
    reaches_wrap: cover (|(after & ~req_i) & after != {N{1'b1}} & |req_i & ~|(req_i & after));
    reaches_the_last_turn: cover ((served | w) == {N{1'b1}} & |(gnt_o & w));
  end
endmodule
