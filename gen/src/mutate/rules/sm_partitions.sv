// What sm_partitions' neighbours keep: a write stays until it is taken.
module sm_partitions_rules (
  input clk_i,
  input rst_ni,
  input write_ready_o,
  input write_valid_i, output legal_write_valid_i,
  input [2:0] write_part_i, output [2:0] legal_write_part_i,
  input [2:0] write_word_i, output [2:0] legal_write_word_i,
  input [31:0] write_mask_i, output [31:0] legal_write_mask_i
);
  reg waits;
  reg [37:0] offer;
  wire [37:0] now = rst_ni & waits ? offer : {write_part_i, write_word_i, write_mask_i};
  always @(posedge clk_i) begin
    waits <= rst_ni & legal_write_valid_i & ~write_ready_o;
    offer <= now;
  end
  assign legal_write_valid_i = rst_ni & waits | write_valid_i;
  assign {legal_write_part_i, legal_write_word_i, legal_write_mask_i} = now;
endmodule
