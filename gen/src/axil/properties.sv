// SPDX-License-Identifier: MIT OR Apache-2.0
// What the registers promise to the bus, to the front end and to software: the text of module front_end_registers goes on with this in a formal
// tool. It is beside any bus that keeps to AXI4-Lite, and any front end. Each property says what would go wrong without it.

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

  // A beat of any number, from its doorbell to the front end.
  (* anyconst *) reg [7:0] chosen;
  reg [7:0] rung, left;
  reg [32*WORDS:0] rang_with;
  always @(posedge aclk)
    if (!aresetn) {rung, left} <= 16'd0;
    else begin
      rung <= rung + beat_comes;
      left <= left + (host_valid_o && host_ready_i);
      if (beat_comes && rung == chosen) rang_with <= {data[0], packet_q};
    end
  wire [7:0] on_their_way = rung - left;
  wire [7:0] ahead_of_chosen = chosen - left;
  wire is_in_queue = ahead_of_chosen < on_their_way;
  wire [7:0] place = ahead_of_chosen - host_valid_o;
  wire [QUEUE_BITS-1:0] at = out_q + place;

  // A counter that was read: its halves.
  reg [47:0] named;
  reg [3:0] named_is;
  reg is_named;
  always @(posedge aclk)
    if (!aresetn) is_named <= 1'b0;
    else if (reading_q && waited_q == 2 && is_count && !ar_q[0]) {is_named, named, named_is} <= {1'b1, count_i, count_sel_o};

  always @(posedge aclk) if (began && aresetn) begin
    if ($past(aresetn)) begin
      // The bus: what it has begun stays (AXI4, A3.2.1).
      if ($past(s_axi_awvalid && !s_axi_awready)) assume (s_axi_awvalid && $stable(s_axi_awaddr));
      if ($past(s_axi_wvalid && !s_axi_wready)) assume (s_axi_wvalid && $stable({s_axi_wdata, s_axi_wstrb}));
      if ($past(s_axi_arvalid && !s_axi_arready)) assume (s_axi_arvalid && $stable(s_axi_araddr));

      // An answer that goes away, or changes, is lost.
      if ($past(s_axi_bvalid && !s_axi_bready)) write_answer_stays: assert (s_axi_bvalid && $stable(s_axi_bresp));
      if ($past(s_axi_rvalid && !s_axi_rready)) read_answer_stays: assert (s_axi_rvalid && $stable({s_axi_rdata, s_axi_rresp}));
      // A beat that changes before it is taken is another kernel.
      if ($past(host_valid_o && !host_ready_i)) beat_stays: assert (host_valid_o && $stable({host_last_o, host_data_o}));
      if ($past(part_valid_o && !part_ready_i)) partition_stays: assert (part_valid_o && $stable({part_id_o, part_word_o, part_mask_o}));
      // An error that goes away by itself is never seen.
      if ($past(host_err_i)) error_is_kept: assert (errors_q[0]);
      if ($past(beat_lost)) refusal_is_kept: assert (errors_q[3]);
      // An interrupt without a reason is never cleared.
      irq_has_a_reason: assert (irq == ($past(pending) != 0));
      // Software that waits is told too early, or never.
      done_is_counted: assert (done_q == $past(taken_q - (oldest_valid_i ? {24'd0, next_id_q - oldest_id_i} : 32'd0)));
    end
    // An answer to nothing.
    if (s_axi_bvalid) write_was_asked: assert (addresses != 0 && datas != 0);
    if (s_axi_rvalid) read_was_asked: assert (reads != 0);
    writes_are_few: assert (addresses <= 2 && datas <= 2 && addresses == aw_full_q + s_axi_bvalid && datas == w_full_q + s_axi_bvalid);
    reads_are_few: assert (reads == reading_q + s_axi_rvalid && !(reading_q && s_axi_rvalid) && (!reading_q || waited_q <= 2));
    // Beats are lost, or come twice.
    beats_are_counted: assert (on_their_way == used + host_valid_o && used <= (1 << QUEUE_BITS));
    // Kernels are mixed up.
    if (is_in_queue && ahead_of_chosen == 0 && host_valid_o) beats_come_in_order: assert ({host_last_o, host_data_o} == rang_with);
    if (is_in_queue && (ahead_of_chosen != 0 || !host_valid_o)) beats_wait_in_order: assert (queue_q[at] == rang_with);
    // Halves of two moments.
    if (is_named) halves_are_of_one_moment: assert (count_high_q == named[47:32]);
    // The counter that is named is another when its value comes.
    if (reading_q && is_count) counter_stays_named: assert (count_sel_o == ar_q[4:1]);
  end

  // Every access is answered: in so many cycles at most, from when the bus has given all of it and takes answers.
  reg [2:0] patience_write, patience_read;
  always @(posedge aclk)
    if (!aresetn) {patience_write, patience_read} <= 6'd0;
    else begin
      patience_write <= addresses != 0 && datas != 0 && !(s_axi_bvalid && s_axi_bready) && s_axi_bready ? patience_write + 1 : 0;
      patience_read <= reads != 0 && !(s_axi_rvalid && s_axi_rready) && s_axi_rready ? patience_read + 1 : 0;
    end
  always @(posedge aclk) if (began && aresetn) begin
    writes_are_answered: assert (patience_write <= 1);
    reads_are_answered: assert (patience_read <= 3 && (!reading_q || patience_read <= waited_q));
  end

  always @(posedge aclk) if (began && aresetn) begin
    cover (s_axi_bvalid && s_axi_bresp == 2'b10 && errors_q[3]);
    cover (s_axi_rvalid && is_named && s_axi_rdata == 32'h00001234 && is_count && ar_q[0]);
    cover (left == 3);
    cover (irq && reached_enabled_q && errors_q == 0);
    cover (errors_q[4]);
  end
