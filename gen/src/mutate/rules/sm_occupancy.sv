// What sm_occupancy's neighbours keep: lanes that fit are placed on; a CTA needs a warp and a register unit, and no more than an SM has;
// a completion's SM is there, and is one of its port's. Where there is no completion, the number is anyone's.
module sm_occupancy_rules #(
  parameter S = 8, parameter Q = 2, parameter G = 1,
  parameter CTAS = 32, parameter WARPS = 64, parameter REGS = 256, parameter SMEM = 1824
) (
  input clk_i,
  input rst_ni,
  input [Q-1:0] need_valid_i,
  input [Q*7-1:0] need_warps_i, output [Q*7-1:0] legal_need_warps_i,
  input [Q*9-1:0] need_regs_i, output [Q*9-1:0] legal_need_regs_i,
  input [Q*11-1:0] need_smem_i, output [Q*11-1:0] legal_need_smem_i,
  input [8*G-1:0] fit_a_o, input [8*G-1:0] fit_b_o,
  input [8*G-1:0] place_a_i, output [8*G-1:0] legal_place_a_i,
  input [8*G-1:0] place_b_i, output [8*G-1:0] legal_place_b_i,
  input [3:0] free_valid_i,
  input [4*8-1:0] free_sm_i, output [4*8-1:0] legal_free_sm_i,
  input [4*7-1:0] free_warps_i, output [4*7-1:0] legal_free_warps_i,
  input [4*9-1:0] free_regs_i, output [4*9-1:0] legal_free_regs_i,
  input [4*11-1:0] free_smem_i, output [4*11-1:0] legal_free_smem_i
);
  assign legal_place_a_i = place_a_i & fit_a_o;
  assign legal_place_b_i = place_b_i & fit_b_o;
  genvar r, p;
  generate
    for (r = 0; r < Q; r = r + 1) begin : requester
      needs_rules #(WARPS, REGS, SMEM) legal (
        need_valid_i[r], need_warps_i[r*7 +: 7], need_regs_i[r*9 +: 9], need_smem_i[r*11 +: 11],
        legal_need_warps_i[r*7 +: 7], legal_need_regs_i[r*9 +: 9], legal_need_smem_i[r*11 +: 11]
      );
    end
    for (p = 0; p < 4; p = p + 1) begin : port
      wire [7:0] sm = {free_sm_i[p*8+2 +: 6], 2'd0} + p;
      assign legal_free_sm_i[p*8 +: 8] = !free_valid_i[p] ? free_sm_i[p*8 +: 8] : sm < S ? sm : p;
      needs_rules #(WARPS, REGS, SMEM) legal (
        free_valid_i[p], free_warps_i[p*7 +: 7], free_regs_i[p*9 +: 9], free_smem_i[p*11 +: 11],
        legal_free_warps_i[p*7 +: 7], legal_free_regs_i[p*9 +: 9], legal_free_smem_i[p*11 +: 11]
      );
    end
  endgenerate
endmodule

// What a CTA may need.
module needs_rules #(
  parameter WARPS = 64, parameter REGS = 256, parameter SMEM = 1824
) (
  input valid, input [6:0] warps, input [8:0] regs, input [10:0] smem,
  output [6:0] legal_warps, output [8:0] legal_regs, output [10:0] legal_smem
);
  assign legal_warps = !valid ? warps : warps == 0 ? 1 : warps > WARPS ? WARPS : warps;
  assign legal_regs = !valid ? regs : regs == 0 ? 1 : regs > REGS ? REGS : regs;
  assign legal_smem = valid & smem > SMEM ? SMEM : smem;
endmodule
