// SPDX-License-Identifier: MIT OR Apache-2.0
// What the registers promise to the bus, to the front end and to software: the text of module front_end_registers goes on with this in a formal
// tool. It is beside any bus that keeps to AXI4-Lite, and any front end. The first half is a second description of the map of docs/integration.md,
// of which it has the addresses; the second says in which way hardware and description agree, and what would go wrong otherwise.

  reg began = 1'b0;
  always @(posedge aclk) began <= 1'b1;
  always @* if (!began) assume (!aresetn);

  // Accesses that were begun and not answered.
  reg [2:0] addresses, datas, reads;
  always @(posedge aclk)
    if (!aresetn) {addresses, datas, reads} <= 9'd0;
    else begin
      addresses <= addresses + (s_axi_awvalid && s_axi_awready) - (s_axi_bvalid && s_axi_bready);
      datas <= datas + (s_axi_wvalid && s_axi_wready) - (s_axi_bvalid && s_axi_bready);
      reads <= reads + (s_axi_arvalid && s_axi_arready) - (s_axi_rvalid && s_axi_rready);
    end

  // The write that is next, and the cycle in which it happens: once it is whole and the answer before it is taken.
  reg [11:0] at;
  reg [31:0] with;
  reg [3:0] lanes;
  wire happens = addresses > s_axi_bvalid && datas > s_axi_bvalid && (!s_axi_bvalid || s_axi_bready);
  always @(posedge aclk) begin
    if (s_axi_awvalid && s_axi_awready) at <= {s_axi_awaddr[11:2], 2'b00};
    if (s_axi_wvalid && s_axi_wready) {with, lanes} <= {s_axi_wdata, s_axi_wstrb};
  end
  function [31:0] merged(input [31:0] old);
    merged = {lanes[3] ? with[31:24] : old[31:24], lanes[2] ? with[23:16] : old[23:16], lanes[1] ? with[15:8] : old[15:8],
      lanes[0] ? with[7:0] : old[7:0]};
  endfunction
  wire [31:0] alone = merged(32'd0);

  // Beats: how many doorbells put one into the queue, and how many the front end took.
  reg [7:0] rung, left;
  wire [7:0] on_their_way = rung - left;
  wire full = on_their_way - host_valid_o == 1 << QUEUE_BITS;
  wire a_bell = happens && at == 12'h030 && lanes[0];
  wire rings_well = a_bell && !full;
  wire a_partition = happens && at == 12'h02c && lanes[0] && lanes[1];
  wire writes_well = a_partition && !part_valid_o;

  // The map.
  reg [32*WORDS-1:0] next_packet;
  reg [31:0] mask, awaited, kernels, finished;
  reg [8:0] enabled;
  reg [4:0] happened;
  reg [7:0] last_id;
  wire goes = host_valid_o && host_ready_i;
  wire [7:0] running = last_id + 8'd1 - oldest_id_i;
  wire [31:0] past_awaited = finished - awaited;
  wire [8:0] reasons = enabled & {past_awaited < 32'h80000000, 3'd0, happened};
  integer w4;
  always @(posedge aclk)
    if (!aresetn) begin
      {rung, left} <= 16'd0;
      {next_packet, mask, awaited, kernels, finished, enabled, happened} <= 0;
      last_id <= 8'hff;
    end else begin
      rung <= rung + rings_well;
      left <= left + goes;
      if (happens)
        case (at)
          12'h014: enabled <= merged({23'd0, enabled}) & 32'h11f;
          12'h024: awaited <= merged(awaited);
          12'h028: mask <= merged(mask);
          default:
            for (w4 = 0; w4 < WORDS; w4 = w4 + 1)
              if (at == 12'h040 + 4 * w4) next_packet[32*w4 +: 32] <= merged(next_packet[32*w4 +: 32]);
        endcase
      happened[4] <= a_partition && part_valid_o || happened[4] && !(happens && at == 12'h010 && alone[4]);
      happened[3] <= a_bell && full || happened[3] && !(happens && at == 12'h010 && alone[3]);
      happened[2] <= ret_err_i || happened[2] && !(happens && at == 12'h010 && alone[2]);
      happened[1] <= done_err_i || happened[1] && !(happens && at == 12'h010 && alone[1]);
      happened[0] <= host_err_i || happened[0] && !(happens && at == 12'h010 && alone[0]);
      if (goes && host_last_o) {kernels, last_id} <= {kernels + 32'd1, host_data_o[7:0]};
      finished <= oldest_valid_i ? kernels - running : kernels;
    end

  // What a read gives, and whether there is such a register.
  reg [11:0] from;
  reg [15:0] upper;
  reg [31:0] said;
  reg exists;
  integer w5;
  always @(posedge aclk) begin
    if (s_axi_arvalid && s_axi_arready) from <= {s_axi_araddr[11:2], 2'b00};
    if (!aresetn) upper <= 16'd0;
    else if (s_axi_rvalid && !$past(s_axi_rvalid) && from[11:7] == 5'h04 && !from[2]) upper <= $past(count_i[47:32]);
  end
  always @* begin
    exists = 1'b1;
    said = 32'd0;
    if (from == 12'h000) said = 32'h574e444c;
    else if (from == 12'h004) said = 32'd1;
    else if (from == 12'h008) said = SMS * 65536 + SLOTS;
    else if (from == 12'h00c) begin
      said[7:0] = (1 << QUEUE_BITS) - (on_their_way - host_valid_o);
      said[15:8] = occupancy_i;
      said[23:16] = oldest_id_i;
      said[26:24] = {on_their_way == 0 && !oldest_valid_i, part_valid_o, oldest_valid_i};
    end else if (from == 12'h010) said = happened;
    else if (from == 12'h014) said = enabled;
    else if (from == 12'h018) said = reasons;
    else if (from == 12'h01c) said = kernels;
    else if (from == 12'h020) said = finished;
    else if (from == 12'h024) said = awaited;
    else if (from == 12'h028) said = mask;
    else if (from[11:7] == 5'h04) said = from[2] ? upper : count_i[31:0];
    else begin
      exists = 1'b0;
      for (w5 = 0; w5 < WORDS; w5 = w5 + 1)
        if (from == 12'h040 + 4 * w5) {exists, said} = {1'b1, next_packet[32*w5 +: 32]};
    end
  end
  wire is_for_software = at == 12'h010 || at == 12'h014 || at == 12'h024 || at == 12'h028 || at == 12'h02c || at == 12'h030
    || (at >= 12'h040 && at < 12'h040 + 4 * WORDS);

  // A beat of any number, from its doorbell to the front end.
  (* anyconst *) reg [7:0] chosen;
  reg [32*WORDS:0] rang_with;
  always @(posedge aclk) if (rings_well && rung == chosen) rang_with <= {alone[0] || ONE_BEAT != 0, next_packet};
  wire [7:0] ahead_of_chosen = chosen - left;
  wire is_in_queue = ahead_of_chosen < on_their_way;
  wire [7:0] place = ahead_of_chosen - host_valid_o;
  wire [QUEUE_BITS-1:0] where = out_q + place;

  // How long the bus waits for an answer that it would take.
  reg [2:0] patience_write, patience_read;
  always @(posedge aclk)
    if (!aresetn) {patience_write, patience_read} <= 6'd0;
    else begin
      patience_write <= addresses != 0 && datas != 0 && !(s_axi_bvalid && s_axi_bready) && s_axi_bready ? patience_write + 1 : 0;
      patience_read <= reads != 0 && !(s_axi_rvalid && s_axi_rready) && s_axi_rready ? patience_read + 1 : 0;
    end

  always @(posedge aclk) if (began && aresetn) begin
    if ($past(aresetn)) begin
      // The bus: what it has begun stays (AXI4, A3.2.1).
      if ($past(s_axi_awvalid && !s_axi_awready)) assume (s_axi_awvalid && $stable(s_axi_awaddr));
      if ($past(s_axi_wvalid && !s_axi_wready)) assume (s_axi_wvalid && $stable({s_axi_wdata, s_axi_wstrb}));
      if ($past(s_axi_arvalid && !s_axi_arready)) assume (s_axi_arvalid && $stable(s_axi_araddr));

      // An answer that goes away, or changes, is lost.
      if ($past(s_axi_bvalid && !s_axi_bready)) write_answer_stays: assert (s_axi_bvalid && $stable(s_axi_bresp));
      if ($past(s_axi_rvalid && !s_axi_rready)) read_answer_stays: assert (s_axi_rvalid && $stable({s_axi_rdata, s_axi_rresp}));
      // Software takes a write for done that is not, or one for refused that is done.
      if ($past(happens)) write_is_answered_truly: assert (s_axi_bvalid
        && s_axi_bresp == ($past(is_for_software && !(a_bell && full) && !(a_partition && part_valid_o)
          && !(at == 12'h02c && ^lanes[1:0])) ? 2'b00 : 2'b10));
      // Software reads something else than there is.
      if (s_axi_rvalid && !$past(s_axi_rvalid)) read_is_answered_truly: assert (s_axi_rdata == $past(said)
        && s_axi_rresp == ($past(exists) ? 2'b00 : 2'b10));
      // A counter that was named too late is another one's value.
      if (s_axi_rvalid && !$past(s_axi_rvalid) && began_long_ago) counter_was_named: assert ($past(count_sel_o, 3) == from[6:3]);
      // A beat that changes before it is taken is another kernel.
      if ($past(host_valid_o && !host_ready_i)) beat_stays: assert (host_valid_o && $stable({host_last_o, host_data_o}));
      // The front end idles while kernels wait.
      if ($past((!host_valid_o || host_ready_i) && on_their_way != host_valid_o)) beats_go_on: assert (host_valid_o);
      // Kernels run on other SMs than was said.
      if ($past(writes_well)) partition_is_written: assert (part_valid_o && part_id_o == $past(alone[2:0]) && part_word_o == $past(alone[10:8])
        && part_mask_o == $past(mask));
      else partition_stays: assert (part_valid_o == $past(part_valid_o && !part_ready_i) && $stable({part_id_o, part_word_o, part_mask_o}));
      // An interrupt comes without a reason, or does not come.
      irq_has_a_reason: assert (irq == ($past(reasons) != 0));
    end else begin
      // A reset leaves something behind.
      nothing_is_left: assert (!s_axi_bvalid && !s_axi_rvalid && !host_valid_o && !part_valid_o && !irq && host_data_o == 0 && !host_last_o);
    end
    // The bus waits for ever.
    always_ready: assert (s_axi_awready == (addresses == s_axi_bvalid) && s_axi_wready == (datas == s_axi_bvalid) && s_axi_arready == (reads == 0));
    // An answer to nothing, or none.
    if (s_axi_bvalid) write_was_asked: assert (addresses != 0 && datas != 0);
    if (s_axi_rvalid) read_was_asked: assert (reads != 0);
    writes_are_answered: assert (patience_write <= 1);
    reads_are_answered: assert (patience_read <= 3 && (!reading_q || patience_read <= waited_q));
    // Beats are lost, or come twice.
    beats_are_counted: assert (on_their_way == used + host_valid_o && used <= (1 << QUEUE_BITS));
    // Kernels are mixed up.
    if (is_in_queue && ahead_of_chosen == 0 && host_valid_o) beats_come_in_order: assert ({host_last_o, host_data_o} == rang_with);
    if (is_in_queue && (ahead_of_chosen != 0 || !host_valid_o)) beats_wait_in_order: assert (queue_q[where] == rang_with);

    // That hardware and description agree: what induction needs.
    writes_are_few: assert (addresses == aw_full_q + s_axi_bvalid && datas == w_full_q + s_axi_bvalid);
    reads_are_few: assert (reads == reading_q + s_axi_rvalid && !(reading_q && s_axi_rvalid) && (!reading_q || waited_q <= 2));
    if (aw_full_q) address_is_kept: assert ({aw_q, 2'b00} == at);
    if (w_full_q) data_is_kept: assert ({w_q, strobe_q} == {with, lanes});
    if (reading_q || s_axi_rvalid) place_is_kept: assert ({ar_q, 2'b00} == from);
    state_is_described: assert ({packet_q, part_mask_q, wait_for_q, taken_q, done_q, reached_enabled_q, enabled_q, errors_q}
      == {next_packet, mask, awaited, kernels, finished, enabled[8], enabled[4:0], happened} && enabled[7:5] == 0 && next_id_q == last_id + 8'd1);
    // A cycle later than in the hardware.
    if ($past(aresetn) && s_axi_rvalid && !$past(s_axi_rvalid) && from[11:7] == 5'h04 && !from[2]) upper_comes: assert (count_high_q == $past(count_i[47:32]));
    else upper_is_kept: assert (count_high_q == upper);
    if (reading_q && began_long_ago && waited_q != 0) counter_stays_named: assert ($past(count_sel_o) == from[6:3]);
    if (reading_q && began_long_ago && waited_q == 2) counter_was_named_before: assert ($past(count_sel_o, 2) == from[6:3]);
  end
  reg [1:0] since = 2'd0;
  always @(posedge aclk) if (since != 3) since <= since + 1;
  wire began_long_ago = since == 3;

  always @(posedge aclk) if (began && aresetn) begin
    cover (s_axi_bvalid && s_axi_bresp == 2'b10 && happened[3]);
    cover (s_axi_rvalid && s_axi_rdata == 32'h00001234 && from[11:7] == 5'h04 && from[2]);
    cover (left == 3);
    cover (irq && reasons == 9'h100);
    cover (happened[4]);
    cover (part_valid_o && part_mask_o == 32'hcafe0123);
  end
