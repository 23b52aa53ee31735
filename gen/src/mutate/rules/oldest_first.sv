// What oldest_first's neighbours keep: slots are pushed one at a time, and only those that were are asked for.
module oldest_first_rules #(
  parameter N = 8
) (
  input clk_i,
  input [N-1:0] push_i, output [N-1:0] legal_push_i,
  input [N-1:0] req_i, output [N-1:0] legal_req_i,
  input [N-1:0] occ_i, output [N-1:0] legal_occ_i
);
  reg [N-1:0] known = 0;
  always @(posedge clk_i) known <= known | legal_push_i;
  assign legal_push_i = push_i & -push_i;
  assign legal_req_i = req_i & known;
  assign legal_occ_i = occ_i & known;
endmodule
