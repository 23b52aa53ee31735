// SPDX-License-Identifier: MIT OR Apache-2.0
// Registers of a front end on an AXI4-Lite bus, for all sizes; docs/integration.md has the map.
// Software writes a packet into the registers PACKET and rings DOORBELL: the packet goes to the end of a queue in front of the front end. It
// rewrites partitions, reads counters, and is told of errors and of kernels that have ended, also by an interrupt.
//
// No access waits for the front end. What cannot be done at once is refused (SLVERR), and what is lost by that is noted in ERRORS.
// A write is answered two cycles after its address and data, and a read four after its address.
`ifndef WINDLASS_FRONT_END_REGISTERS
`define WINDLASS_FRONT_END_REGISTERS
`default_nettype none

module front_end_registers #(
  parameter SLOTS = 8,      // of the window
  parameter SMS = 8,
  parameter WORDS = 5,      // of a packet, of 32 bits; at most 48
  parameter ONE_BEAT = 0,   // 1: every beat is a kernel's last, whatever software says
  parameter QUEUE_BITS = 4  // log2 of the queue's places, 1 to 6
) (
  input  wire aclk,
  input  wire aresetn,
  input  wire s_axi_awvalid,
  output wire s_axi_awready,
  input  wire [11:0] s_axi_awaddr,
  input  wire [2:0] s_axi_awprot,
  input  wire s_axi_wvalid,
  output wire s_axi_wready,
  input  wire [31:0] s_axi_wdata,
  input  wire [3:0] s_axi_wstrb,
  output reg  s_axi_bvalid,
  input  wire s_axi_bready,
  output reg  [1:0] s_axi_bresp,
  input  wire s_axi_arvalid,
  output wire s_axi_arready,
  input  wire [11:0] s_axi_araddr,
  input  wire [2:0] s_axi_arprot,
  output reg  s_axi_rvalid,
  input  wire s_axi_rready,
  output reg  [31:0] s_axi_rdata,
  output reg  [1:0] s_axi_rresp,
  output reg  irq,
  // to the front end
  output reg  host_valid_o,
  input  wire host_ready_i,
  output reg  [32*WORDS-1:0] host_data_o,
  output reg  host_last_o,
  output reg  part_valid_o,
  input  wire part_ready_i,
  output reg  [2:0] part_id_o,
  output reg  [2:0] part_word_o,
  output reg  [31:0] part_mask_o,
  output wire [3:0] count_sel_o,
  input  wire [47:0] count_i,
  input  wire host_err_i,
  input  wire done_err_i,
  input  wire ret_err_i,
  input  wire [7:0] occupancy_i,
  input  wire oldest_valid_i,
  input  wire [7:0] oldest_id_i
);
  localparam [1:0] OKAY = 2'b00, SLVERR = 2'b10;

  // Words, not bytes.
  localparam [9:0] ID = 10'h000, VERSION = 10'h001, SHAPE = 10'h002, STATUS = 10'h003, ERRORS = 10'h004, IRQ_ENABLE = 10'h005,
    IRQ = 10'h006, TAKEN = 10'h007, DONE = 10'h008, WAIT_FOR = 10'h009, PART_MASK = 10'h00a, PART_WRITE = 10'h00b, DOORBELL = 10'h00c;
  localparam [9:0] PACKET = 10'h010;
  localparam [31:0] PACKET_END = 16 + WORDS;
  localparam [9:0] COUNTERS = 10'h080;  // of 32 words: bits 9 to 5 say so

  // A write: address and data come in any order, and wait here for each other and for the answer before.
  reg aw_full_q, w_full_q;
  reg [9:0] aw_q;
  reg [31:0] w_q;
  reg [3:0] strobe_q;
  wire write = aw_full_q && w_full_q && (!s_axi_bvalid || s_axi_bready);
  wire [31:0] strobes = {{8{strobe_q[3]}}, {8{strobe_q[2]}}, {8{strobe_q[1]}}, {8{strobe_q[0]}}};
  wire [31:0] data = w_q & strobes;
  assign s_axi_awready = !aw_full_q;
  assign s_axi_wready = !w_full_q;

  // Beats on their way, the oldest in host_data_o.
  reg [32*WORDS:0] queue_q [0:(1<<QUEUE_BITS)-1];
  reg [QUEUE_BITS:0] in_q, out_q;
  wire [QUEUE_BITS:0] used = in_q - out_q;
  wire [QUEUE_BITS:0] places = 1 << QUEUE_BITS;
  wire [QUEUE_BITS:0] free = places - used;
  wire [7:0] free_places = {{7-QUEUE_BITS{1'b0}}, free};
  reg [32*WORDS-1:0] packet_q;

  wire is_packet = aw_q >= PACKET && {22'd0, aw_q} < PACKET_END;
  wire is_writable = is_packet || aw_q == ERRORS || aw_q == IRQ_ENABLE || aw_q == WAIT_FOR || aw_q == PART_MASK || aw_q == PART_WRITE
    || aw_q == DOORBELL;
  // Bytes without a strobe are not written: what is rung, or which partition is meant, must be.
  wire rings = write && aw_q == DOORBELL && strobe_q[0];
  wire beat_lost = rings && free == 0;
  wire beat_comes = rings && free != 0;
  wire partitions = write && aw_q == PART_WRITE && strobe_q[1:0] == 2'b11;
  wire partition_half = aw_q == PART_WRITE && strobe_q[0] != strobe_q[1];
  wire partition_lost = partitions && part_valid_o;

  // What software is told.
  reg [31:0] taken_q, done_q, wait_for_q, part_mask_q;
  reg [7:0] next_id_q;
  reg [4:0] errors_q, enabled_q;
  reg reached_enabled_q;
  wire taken = host_valid_o && host_ready_i && host_last_o;
  // Kernels from the oldest that has a place in the window to the last that was taken.
  wire [7:0] unfinished = oldest_valid_i ? next_id_q - oldest_id_i : 8'd0;
  wire [4:0] errors = {partition_lost, beat_lost, ret_err_i, done_err_i, host_err_i};
  wire [4:0] cleared = write && aw_q == ERRORS ? data[4:0] : 5'd0;
  wire [31:0] ahead = done_q - wait_for_q;
  wire [8:0] pending = {reached_enabled_q && !ahead[31], 3'd0, errors_q & enabled_q};
  wire idle = used == 0 && !host_valid_o && !oldest_valid_i;

  always @(posedge aclk) begin
    if (!aresetn) begin
      aw_full_q <= 1'b0;
      w_full_q <= 1'b0;
      s_axi_bvalid <= 1'b0;
      s_axi_bresp <= OKAY;
      in_q <= 0;
      out_q <= 0;
      host_valid_o <= 1'b0;
      host_data_o <= 0;
      host_last_o <= 1'b0;
      part_valid_o <= 1'b0;
      part_id_o <= 3'd0;
      part_word_o <= 3'd0;
      part_mask_o <= 32'd0;
      part_mask_q <= 32'd0;
      taken_q <= 32'd0;
      done_q <= 32'd0;
      next_id_q <= 8'd0;
      wait_for_q <= 32'd0;
      errors_q <= 5'd0;
      enabled_q <= 5'd0;
      reached_enabled_q <= 1'b0;
      irq <= 1'b0;
    end else begin
      if (s_axi_awvalid && s_axi_awready) aw_full_q <= 1'b1;
      if (s_axi_wvalid && s_axi_wready) w_full_q <= 1'b1;
      if (s_axi_bready) s_axi_bvalid <= 1'b0;
      if (write) begin
        aw_full_q <= 1'b0;
        w_full_q <= 1'b0;
        s_axi_bvalid <= 1'b1;
        s_axi_bresp <= is_writable && !beat_lost && !partition_lost && !partition_half ? OKAY : SLVERR;
        if (aw_q == IRQ_ENABLE && strobe_q[0]) enabled_q <= w_q[4:0];
        if (aw_q == IRQ_ENABLE && strobe_q[1]) reached_enabled_q <= w_q[8];
        if (aw_q == WAIT_FOR) wait_for_q <= (wait_for_q & ~strobes) | data;
        if (aw_q == PART_MASK) part_mask_q <= (part_mask_q & ~strobes) | data;
      end
      if (beat_comes) in_q <= in_q + 1'b1;
      if (!host_valid_o || host_ready_i) begin
        host_valid_o <= used != 0;
        if (used != 0) begin
          {host_last_o, host_data_o} <= queue_q[out_q[QUEUE_BITS-1:0]];
          out_q <= out_q + 1'b1;
        end
      end
      if (part_ready_i) part_valid_o <= 1'b0;
      if (partitions && !part_valid_o) begin
        part_valid_o <= 1'b1;
        part_id_o <= data[2:0];
        part_word_o <= data[10:8];
        part_mask_o <= part_mask_q;
      end
      if (taken) begin
        taken_q <= taken_q + 32'd1;
        next_id_q <= host_data_o[7:0] + 8'd1;
      end
      done_q <= taken_q - {24'd0, unfinished};
      errors_q <= (errors_q & ~cleared) | errors;
      irq <= pending != 9'd0;
    end
  end

  genvar w;
  generate
    for (w = 0; w < WORDS; w = w + 1) begin : g_packet
      localparam [31:0] HERE = 16 + w;
      always @(posedge aclk) begin
        if (!aresetn) packet_q[32*w +: 32] <= 32'd0;
        else if (write && {22'd0, aw_q} == HERE) packet_q[32*w +: 32] <= (packet_q[32*w +: 32] & ~strobes) | data;
      end
    end
  endgenerate

  always @(posedge aclk) begin
    if (s_axi_awvalid && s_axi_awready) aw_q <= s_axi_awaddr[11:2];
    if (s_axi_wvalid && s_axi_wready) {w_q, strobe_q} <= {s_axi_wdata, s_axi_wstrb};
    if (beat_comes) queue_q[in_q[QUEUE_BITS-1:0]] <= {data[0] || ONE_BEAT != 0, packet_q};
  end

  // A read: every one takes as long as a counter.
  reg reading_q;
  reg [1:0] waited_q;
  reg [9:0] ar_q;
  reg [15:0] count_high_q;
  reg [31:0] value;
  reg is_readable;
  wire [9:0] ar_word = ar_q - PACKET;
  wire is_count = ar_q[9:5] == COUNTERS[9:5];
  assign s_axi_arready = !reading_q && !s_axi_rvalid;
  assign count_sel_o = ar_q[4:1];

  always @* begin
    is_readable = 1'b1;
    case (ar_q)
      ID: value = 32'h574e444c;
      VERSION: value = 32'd1;
      SHAPE: value = {SMS[15:0], SLOTS[15:0]};
      STATUS: value = {5'd0, idle, part_valid_o, oldest_valid_i, oldest_id_i, occupancy_i, free_places};
      ERRORS: value = {27'd0, errors_q};
      IRQ_ENABLE: value = {23'd0, reached_enabled_q, 3'd0, enabled_q};
      IRQ: value = {23'd0, pending};
      TAKEN: value = taken_q;
      DONE: value = done_q;
      WAIT_FOR: value = wait_for_q;
      PART_MASK: value = part_mask_q;
      default: begin
        is_readable = is_count || (ar_q >= PACKET && {22'd0, ar_q} < PACKET_END);
        if (is_count) value = ar_q[0] ? {16'd0, count_high_q} : count_i[31:0];
        else if (is_readable) value = packet_q[32*ar_word +: 32];
        else value = 32'd0;
      end
    endcase
  end

  always @(posedge aclk) begin
    if (!aresetn) begin
      reading_q <= 1'b0;
      waited_q <= 2'd0;
      ar_q <= 10'd0;
      count_high_q <= 16'd0;
      s_axi_rvalid <= 1'b0;
      s_axi_rdata <= 32'd0;
      s_axi_rresp <= OKAY;
    end else begin
      if (s_axi_arvalid && s_axi_arready) begin
        reading_q <= 1'b1;
        waited_q <= 2'd0;
        ar_q <= s_axi_araddr[11:2];
      end
      if (s_axi_rready) s_axi_rvalid <= 1'b0;
      if (reading_q) begin
        waited_q <= waited_q + 2'd1;
        // The counter that was named in the first cycle is there in the third.
        if (waited_q == 2'd2) begin
          reading_q <= 1'b0;
          s_axi_rvalid <= 1'b1;
          s_axi_rdata <= value;
          s_axi_rresp <= is_readable ? OKAY : SLVERR;
          // Both halves are of one moment.
          if (is_count && !ar_q[0]) count_high_q <= count_i[47:32];
        end
      end
    end
  end

  wire unused = &{1'b0, s_axi_awprot, s_axi_arprot, s_axi_awaddr[1:0], s_axi_araddr[1:0], SLOTS[31:16], SMS[31:16], COUNTERS[4:0], ahead[30:0]};
endmodule

`default_nettype wire
`endif
