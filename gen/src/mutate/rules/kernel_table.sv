// What kernel_table's neighbours keep: a kernel comes into a slot that is free, and is dispatched once.
module kernel_table_rules #(
  parameter N = 8, parameter LN = 3, parameter R = 2, parameter Q = 2
) (
  input clk_i,
  input rst_ni,
  input [N-1:0] ins_slot_i, output [N-1:0] legal_ins_slot_i,
  input [31:0] ins_grid_i,
  input disp_valid_i, output legal_disp_valid_i,
  input [LN-1:0] disp_slot_i,
  input [Q-1:0] next_valid_o,
  input [Q-1:0] next_ready_i,
  input [Q*LN-1:0] next_slot_o,
  input [R-1:0] ret_valid_o,
  input [R-1:0] ret_ready_i,
  input [R*LN-1:0] ret_slot_o
);
  wire [N-1:0] one = 1;
  reg [N-1:0] held, queued, running;
  reg [N-1:0] markers; // without CTAs: they do not wait for an arbiter
  reg [N-1:0] taken, retires;
  integer q, r;
  always @* begin
    taken = 0;
    for (q = 0; q < Q; q = q + 1) if (next_valid_o[q] & next_ready_i[q]) taken = taken | one << next_slot_o[q*LN +: LN];
    retires = 0;
    for (r = 0; r < R; r = r + 1) if (ret_valid_o[r] & ret_ready_i[r]) retires = retires | one << ret_slot_o[r*LN +: LN];
  end
  wire [N-1:0] dispatched = legal_disp_valid_i ? one << disp_slot_i : {N{1'b0}};
  always @(posedge clk_i) begin
    held <= rst_ni ? (held | legal_ins_slot_i) & ~retires : {N{1'b0}};
    queued <= rst_ni ? (queued | dispatched & ~markers) & ~taken : {N{1'b0}};
    markers <= markers & ~legal_ins_slot_i | (ins_grid_i == 0 ? legal_ins_slot_i : {N{1'b0}});
    running <= rst_ni ? (running | dispatched) & ~retires : {N{1'b0}};
  end
  wire [N-1:0] free = rst_ni ? ins_slot_i & ~held : ins_slot_i;
  assign legal_ins_slot_i = free & -free;
  wire [N-1:0] may = held & ~queued & ~running;
  assign legal_disp_valid_i = disp_valid_i & may[disp_slot_i];
endmodule
