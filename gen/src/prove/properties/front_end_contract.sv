// What the parts of a front end assume of each other, for all time: its device and host keep the page, rtl/src/front_end/README.md; what the
// parts' own properties assume is asserted beside them.
module front_end_contract_properties #(
  parameter N = 8,         // slots
  parameter LN = 3,        // bits of a slot's number
  parameter C = 2,         // CTA channels
  parameter K = 1          // active kernels per channel
) (
  input clk_i,
  input rst_ni,
  input host_valid_i,
  input [31:0] host_grid_i,
  input [6:0] host_warps_i,
  input [8:0] host_regs_i,
  input [C-1:0] cta_valid_o,
  input [C-1:0] cta_ready_i,
  input [C*LN-1:0] cta_slot_o,
  input [3:0] done_valid_i,
  input [3:0] done_ready_o,
  input [4*LN-1:0] done_slot_i
);
  reg reset_seen = 0;
  always @(posedge clk_i) if (!rst_ni) reset_seen <= 1;
  wire on = reset_seen & rst_ni;

  // CTAs on SMs, by their kernel's slot; those that end are some of them.
  wire [N*32-1:0] out;
  wire [N-1:0] legal;
  genvar i;
  generate
    for (i = 0; i < N; i = i + 1) begin : slot
      reg [31:0] here;
      reg [2:0] ends, offered;
      reg [1:0] comes;
      integer c, p;
      always @* begin
        comes = 0;
        for (c = 0; c < C; c = c + 1) if (cta_valid_o[c] & cta_ready_i[c] & cta_slot_o[c*LN +: LN] == i) comes = comes + 1;
        ends = 0;
        offered = 0;
        for (p = 0; p < 4; p = p + 1) if (done_valid_i[p] & done_slot_i[p*LN +: LN] == i) begin
          offered = offered + 1;
          ends = ends + done_ready_o[p];
        end
      end
      always @(posedge clk_i) here <= !rst_ni ? 0 : here + comes - ends;
      assign out[i*32 +: 32] = here;
      assign legal[i] = offered <= here;
    end
  endgenerate
  always @* if (on) begin
    assume (host_grid_i != 0 & host_warps_i != 0 & host_regs_i != 0);
    assume (&legal);
  end
endmodule
