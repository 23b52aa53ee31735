// A command processor beside a small front end, for formal tools. docs/integration.md says how to run it: each of the two is checked while the
// other is cut out, and its rules are assumed. The SMs are inputs, so they do what they like within their rules.
module command_processor (
  input             clk_i,
  input             rst_ni,
  // A kernel that software asks for, and whether it waits for the one before.
  input             asked_i,
  input             ordered_i,
  input      [15:0] grid_i,
  input      [6:0]  warps_i,
  // The host's channel.
  output reg        host_valid,
  input             host_ready,
  output reg [7:0]  host_id,
  output            host_last,
  output reg [1:0]  host_up_valid,
  output     [15:0] host_up_id,
  output reg [31:0] host_grid,
  output            host_type,
  output     [2:0]  host_part,
  output reg [6:0]  host_warps,
  output     [8:0]  host_regs,
  output     [10:0] host_smem
);
  wire taken = host_valid & host_ready;
  assign host_last = 1'b1;
  assign host_up_id = {8'd0, host_id - 8'd1};
  assign host_type = 1'b0;
  assign host_part = 3'd7;
  assign host_regs = 9'd1;
  assign host_smem = 11'd0;
  always @(posedge clk_i)
    if (!rst_ni) begin
      host_valid <= 1'b0;
      host_id <= 8'd0;
    end else begin
      if (taken) host_id <= host_id + 8'd1;
      if (!host_valid | host_ready) begin
        host_valid <= asked_i;
        host_up_valid <= {1'b0, ordered_i};
        host_grid <= {16'd0, grid_i};
        host_warps <= warps_i > 4 ? 7'd4 : warps_i == 0 ? 7'd1 : warps_i; // an SM has 4
      end
    end
endmodule

module chip #(
  parameter ASSUME_HOST = 0, // 1: where the command processor is cut out
  parameter ASSUME_FRONT_END = 0 // 1: where the front end is
) (
  input        clk_i, rst_ni, asked_i, ordered_i,
  input [15:0] grid_i,
  input [6:0]  warps_i,
  // The SMs.
  input        cta_ready_0_i, cta_ready_1_i,
  input        done_valid_0_i, done_valid_1_i, done_valid_2_i, done_valid_3_i,
  input [7:0]  done_sm_0_i, done_sm_1_i, done_sm_2_i, done_sm_3_i,
  input [1:0]  done_slot_0_i, done_slot_1_i, done_slot_2_i, done_slot_3_i,
  // Who writes partitions.
  input        part_valid_i,
  input [2:0]  part_id_i, part_word_i,
  input [31:0] part_mask_i
);
  wire host_valid_i, host_ready_o, host_last_i, host_up_valid_0_i, host_up_valid_1_i, host_type_i, host_err_o;
  wire [7:0] host_id_i, host_up_id_0_i, host_up_id_1_i;
  wire [31:0] host_grid_i;
  wire [2:0] host_part_i;
  wire [6:0] host_warps_i;
  wire [8:0] host_regs_i;
  wire [10:0] host_smem_i;
  wire cta_valid_0_o, cta_valid_1_o, cta_type_0_o, cta_type_1_o;
  wire [7:0] cta_sm_0_o, cta_sm_1_o, cta_id_0_o, cta_id_1_o;
  wire [1:0] cta_slot_0_o, cta_slot_1_o;
  wire [31:0] cta_index_0_o, cta_index_1_o;
  wire done_ready_0_o, done_ready_1_o, done_ready_2_o, done_ready_3_o, done_err_o, part_ready_o;
  wire disp_valid_o, ret_valid_0_o, ret_valid_1_o, ret_err_o;
  wire [7:0] disp_id_o;
  wire [1:0] disp_slot_o, ret_slot_0_o, ret_slot_1_o;

  command_processor u_host (
    .clk_i, .rst_ni, .asked_i, .ordered_i, .grid_i, .warps_i,
    .host_valid(host_valid_i), .host_ready(host_ready_o), .host_id(host_id_i), .host_last(host_last_i),
    .host_up_valid({host_up_valid_1_i, host_up_valid_0_i}), .host_up_id({host_up_id_1_i, host_up_id_0_i}),
    .host_grid(host_grid_i), .host_type(host_type_i), .host_part(host_part_i),
    .host_warps(host_warps_i), .host_regs(host_regs_i), .host_smem(host_smem_i)
  );
  `FRONT_END u_front_end (
    .count_sel_i(4'd0), .count_o(), .occupancy_o(), .oldest_valid_o(), .oldest_id_o(),
    .stall_limit_o(), .stall_full_o(), .stall_busy_o(), .busy_o(), .*
  );
  `RULES #(.ASSUME_HOST(ASSUME_HOST), .ASSUME_FRONT_END(ASSUME_FRONT_END)) u_formal (.*);

  // What must be possible, or nothing was checked: after a reset, kernel 1 starts, for which kernel 0 was not done when it was sent.
  reg reset_seen = 0, retired, waits;
  always @(posedge clk_i) begin
    reset_seen <= reset_seen | !rst_ni;
    retired <= rst_ni & (retired | ret_valid_0_o | ret_valid_1_o);
    waits <= rst_ni & (waits | host_valid_i & host_ready_o & host_id_i == 8'd1 & host_up_valid_0_i & ~retired);
  end
  always @* if (reset_seen & rst_ni) a_kernel_is_freed: cover (waits & disp_valid_o & disp_id_o == 8'd1);
endmodule
