// What oldest_first promises. Two slots, s and t, are watched: which ones is free. Its page: rtl/src/parts/oldest_first.rs.
module oldest_first_properties #(
  parameter N = 8
) (
  input clk_i,
  input [N-1:0] push_i,
  input [N-1:0] req_i,
  input [N-1:0] gnt_o,
  input [N-1:0] occ_i,
  input [N-1:0] head_o
);
  wire [N-1:0] one = 1;
  (* anyconst *) wire [N-1:0] s, t;
  // The slots that were ever pushed, and whether s was pushed last before t was pushed last.
  reg began = 0;
  reg [N-1:0] known_q;
  reg s_first_q;
  wire [N-1:0] known = began ? known_q : {N{1'b0}};
  wire s_first = began & s_first_q;
  always @(posedge clk_i) begin
    began <= 1;
    known_q <= known | push_i;
    s_first_q <= |(push_i & t) ? |(known & s) : s_first & ~|(push_i & s);
  end

  always @* begin
    assume (|s & ~|(s & (s - one)) & |t & ~|(t & (t - one)) & s != t);
    // The page's rules: one slot at a time, and questions about slots that were pushed.
    assume (~|(push_i & (push_i - one)));
    assume (~|((req_i | occ_i) & ~known));
    // Nobody, or two, would be picked.
    picks_one: assert (|req_i == |gnt_o & ~|(gnt_o & (gnt_o - one)) & ~|(gnt_o & ~req_i));
    finds_one: assert (|occ_i == |head_o & ~|(head_o & (head_o - one)) & ~|(head_o & ~occ_i));
    // A newer slot would go first.
    picks_the_older: assert (!(s_first & |(req_i & s)) | ~|(gnt_o & t));
    finds_the_older: assert (!(s_first & |(occ_i & s)) | ~|(head_o & t));
  end
  always @* begin
    // States without which a proof would say little.
    reaches_all_known: cover (&known & &req_i);
    reaches_order: cover (s_first & s > t & |(gnt_o & s) & |(req_i & t));
  end
endmodule
