// SPDX-License-Identifier: MIT OR Apache-2.0
// The checker's rules as named properties, for formal tools: those of each side are assumed or asserted, as its parameter says.
// docs/integration.md lists them. Unknown values are no part of it.
//
// No rule watches a free choice of kernel or SM, as those of `windlass prove` do: as an assumption, such a rule would hold for that choice alone.
// So there are books of all of them. A kernel is in one of N entries from its last beat to its retirement, for the front end has N slots.
// Books are wrong after a rule was broken.
`ifndef WINDLASS_FRONT_END_FORMAL
`define WINDLASS_FRONT_END_FORMAL
// verilator lint_off DECLFILENAME
// verilator lint_off WIDTH
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off UNSIGNED
// verilator lint_off CMPCONST
// verilator lint_off SYNCASYNCNET

// One rule. Yosys looks at a clocked assumption a cycle late, after that cycle's assertions; in a simulation signals settle between clock edges.
module front_end_formal_rule #(parameter ASSUMED = 0) (
  input clk_i,
  input on,
  input holds
);
  generate
    if (ASSUMED != 0) begin : side
`ifdef YOSYS
      always @* if (on) assumed: assume (holds);
`elsif __ICARUS__
      always @(posedge clk_i) if (on) assume (holds) else $error("%m"); // version 11 has no labels
`else
      always @(posedge clk_i) if (on) assumed: assume (holds) else $error("%m");
`endif
    end else begin : side
`ifdef YOSYS
      always @* if (on) asserted: assert (holds);
`elsif __ICARUS__
      always @(posedge clk_i) if (on) assert (holds) else $error("%m");
`else
      always @(posedge clk_i) if (on) asserted: assert (holds) else $error("%m");
`endif
    end
  endgenerate
endmodule

module front_end_formal #(
  parameter N = 8,         // slots
  parameter LN = 3,        // bits of a slot's number
  parameter R = 2,         // retire ports
  parameter LANES = 1,     // upstream ids per beat; 0: a mask
  parameter M = 128,       // kernels in the host's list
  parameter C = 2,         // CTA channels
  parameter P = 1,         // CTA ports of each: port p is that of the SMs s with s mod P = p
  parameter S = 8,         // SMs
  parameter CTAS = 32, parameter WARPS = 64, parameter REGS = 256, parameter SMEM = 1824, // of an SM
  parameter WAIT = 16,     // cycles in which a completion or a write of a partition is taken
  parameter QUIET = 32 + 2 * N, // cycles in which nothing moves, though something could
  // 1: the rules of this side are assumed, 0: they are asserted.
  parameter ASSUME_HOST = 1, parameter ASSUME_SMS = 1, parameter ASSUME_PARTITIONS = 1, parameter ASSUME_FRONT_END = 0
) (
  input clk_i,
  input rst_ni,
  input host_valid_i,
  input host_ready_o,
  input [7:0] host_id_i,
  input host_last_i,
  input [(LANES != 0 ? LANES : 1)-1:0] host_up_valid_i,
  input [8*(LANES != 0 ? LANES : 1)-1:0] host_up_id_i,
  input [M-1:0] host_up_i,
  input [31:0] host_grid_i,
  input host_type_i,
  input [2:0] host_part_i,
  input [6:0] host_warps_i,
  input [8:0] host_regs_i,
  input [10:0] host_smem_i,
  input [C*P-1:0] cta_valid_o,
  input [C*P-1:0] cta_ready_i,
  input [C*P*8-1:0] cta_sm_o,
  input [C*P*LN-1:0] cta_slot_o,
  input [C*P*8-1:0] cta_id_o,
  input [C*P*32-1:0] cta_index_o,
  input [C*P-1:0] cta_type_o,
  input [3:0] done_valid_i,
  input [3:0] done_ready_o,
  input [4*8-1:0] done_sm_i,
  input [4*LN-1:0] done_slot_i,
  input done_err_o,
  input host_err_o,
  input part_valid_i,
  input part_ready_o,
  input [2:0] part_id_i,
  input [2:0] part_word_i,
  input [31:0] part_mask_i,
  input disp_valid_o,
  input [7:0] disp_id_o,
  input [LN-1:0] disp_slot_o,
  input [R-1:0] ret_valid_o,
  input [R*LN-1:0] ret_slot_o,
  input ret_err_o
);
  localparam WIDTH = LANES != 0 ? LANES : 1;
  localparam Q = C * P;            // CTA ports
  localparam NEEDS = 7 + 9 + 11;   // of a CTA
  localparam COUNT = 6;            // bits of a count of CTAs on an SM

  reg reset_seen = 0;
  always @(posedge clk_i) if (!rst_ni) reset_seen <= 1;
  wire on = reset_seen & rst_ni;

  // The host's beats. What is not about order is read with the last one.
  wire last = LANES == 0 | host_last_i;
  wire beat_taken = host_valid_i & host_ready_o;
  wire sends = beat_taken & last;
  wire unfit = host_grid_i != 0 & (host_warps_i == 0 | host_warps_i > WARPS | host_regs_i == 0 | host_regs_i > REGS | host_smem_i > SMEM);
  wire [8+1+9*WIDTH+M-1:0] beat = {host_id_i, last, host_up_valid_i, host_up_id_i, host_up_i};
  wire [NEEDS+36-1:0] packet = {host_grid_i, host_type_i, host_part_i, host_warps_i, host_regs_i, host_smem_i};
  reg [8+1+9*WIDTH+M-1:0] beat_before;
  reg [NEEDS+36-1:0] packet_before;
  reg host_waits, begun;
  reg [7:0] due;
  always @(posedge clk_i) begin
    host_waits <= rst_ni & host_valid_i & ~host_ready_o;
    begun <= rst_ni & (begun | beat_taken);
    if (beat_taken) due <= host_id_i + last;
    beat_before <= beat;
    packet_before <= packet;
  end

  // Channels of CTAs and completions, and what stands on them from the cycle before.
  reg [Q-1:0] cta_waits;
  reg [Q*(8+LN+8+32+1)-1:0] cta_before;
  reg [3:0] done_waits;
  reg [4*(8+LN)-1:0] done_before;
  reg part_waits;
  reg [37:0] part_before;
  always @(posedge clk_i) begin
    cta_waits <= rst_ni ? cta_valid_o & ~cta_ready_i : {Q{1'b0}};
    cta_before <= {cta_sm_o, cta_slot_o, cta_id_o, cta_index_o, cta_type_o};
    done_waits <= rst_ni ? done_valid_i & ~done_ready_o : 4'd0;
    done_before <= {done_sm_i, done_slot_i};
    part_waits <= rst_ni & part_valid_i & ~part_ready_o;
    part_before <= {part_id_i, part_word_i, part_mask_i};
  end
  wire [Q*(8+LN+8+32+1)-1:0] cta_now = {cta_sm_o, cta_slot_o, cta_id_o, cta_index_o, cta_type_o};
  wire [Q-1:0] cta_taken = cta_valid_o & cta_ready_i;

  // SMs of each partition, now and a cycle ago, for a CTA that is offered was picked before. A write that waited then, since the cycle before,
  // may have been seen.
  reg [8*S-1:0] mask, mask_before;
  reg [7:0] changes, changes_before;
  integer i;
  always @(posedge clk_i) begin
    for (i = 0; i < 8 * S; i = i + 1)
      if (!rst_ni) mask[i] <= 1;
      else if (part_valid_i & part_ready_o & part_id_i == i / S & part_word_i == i % S / 32) mask[i] <= part_mask_i[i % S % 32];
    mask_before <= rst_ni ? mask : {8*S{1'b1}};
    changes <= rst_ni & part_valid_i & ~part_ready_o ? 8'd1 << part_id_i : 8'd0;
    changes_before <= rst_ni ? changes : 8'd0;
  end

  // Of each entry, bit e of the vectors is that of entry e.
  wire [N-1:0] live;               // holds a kernel
  wire [N-1:0] dispatched;         // that has a slot
  wire [N-1:0] has_id;             // whose id is the host's
  wire [N-1:0] named;              // that the host's beats name
  wire [N-1:0] waits;              // that waits for another
  wire [N-1:0] starts, in_slot;    // that is dispatched; whose slot the dispatched one gets
  wire [N-1:0] has_sms;            // whose partition has an SM
  wire [N-1:0] retires, all_ended, retires_twice;
  // Of each CTA port or completion port and entry: the kernel is the one that is named there; rules that it keeps there.
  wire [Q*N-1:0] cta_of, of_its_type, in_order, in_its_partition;
  wire [4*N-1:0] done_of;
  wire [R*N-1:0] ret_of;
  // Of each entry and SM: whether CTAs run there, and one of them ends.
  wire [N*S-1:0] runs, ending;
  wire [N-1:0] entry = ~live & -(~live); // the first that is free
  wire [N*NEEDS-1:0] needs;

  genvar e, o, s, q, p, r, l, c;
  generate
    for (e = 0; e < N; e = e + 1) begin : kernel
      reg here, has_slot, kind;
      reg [7:0] id;
      reg [LN-1:0] slot;
      reg [N-1:0] up;              // entries of those that it waits for
      reg [31:0] grid, placed, ended; // placed: all before this one
      reg [P-1:0] early;           // CTAs that were placed, by their number after the first that was not
      reg [2:0] part;
      reg [NEEDS-1:0] need;
      reg was_named;               // by an earlier beat of the kernel that the host sends
      wire gone = |retires & retires[e];
      assign live[e] = here;
      assign dispatched[e] = here & has_slot;
      assign has_id[e] = here & id == host_id_i;
      assign waits[e] = |up;
      assign needs[e*NEEDS +: NEEDS] = need;
      assign starts[e] = disp_valid_o & here & id == disp_id_o;
      assign in_slot[e] = disp_valid_o & here & has_slot & slot == disp_slot_o;

      // Named by this beat.
      wire [7:0] distance = host_id_i - id - 8'd1;
      wire [WIDTH-1:0] by_lane;
      if (LANES == 0) begin : by_mask
        assign by_lane = distance < M & host_up_i[distance % M];
      end else begin : by_id
        for (l = 0; l < WIDTH; l = l + 1) assign by_lane[l] = host_up_valid_i[l] & host_up_id_i[8*l +: 8] == id;
      end
      assign named[e] = here & (was_named | |by_lane);

      // CTAs, by port.
      wire [S-1:0] its_sms = mask_before[part*S +: S];
      wire [Q-1:0] goes;
      wire [Q*P-1:0] takes;
      for (q = 0; q < Q; q = q + 1) begin : port
        wire [7:0] sm = cta_sm_o[8*q +: 8];
        wire [31:0] ahead = cta_index_o[32*q +: 32] - placed;
        wire its = here & has_slot & slot == cta_slot_o[q*LN +: LN] & id == cta_id_o[8*q +: 8];
        wire [Q-1:0] same;         // another port has the same CTA
        assign cta_of[q*N + e] = its;
        assign of_its_type[q*N + e] = !its | cta_type_o[q] == kind;
        for (o = 0; o < Q; o = o + 1) begin : other
          assign same[o] = o < q & cta_valid_o[o] & cta_id_o[8*o +: 8] == id & cta_index_o[32*o +: 32] == cta_index_o[32*q +: 32];
        end
        assign in_order[q*N + e] = !its | ahead < P & !early[ahead % P] & cta_index_o[32*q +: 32] < grid & ~|same;
        assign in_its_partition[q*N + e] = !its | cta_waits[q] | sm >= S | its_sms[sm % S] | changes_before[part];
        assign goes[q] = cta_taken[q] & its;
        for (o = 0; o < P; o = o + 1) begin : place
          assign takes[q*P + o] = goes[q] & ahead == o;
        end
      end

      // Completions, by port, and retirements.
      wire [3:0] done;
      for (p = 0; p < 4; p = p + 1) begin : completion
        assign done_of[p*N + e] = here & has_slot & slot == done_slot_i[p*LN +: LN];
      end
      for (r = 0; r < R; r = r + 1) begin : retirement
        assign ret_of[r*N + e] = here & has_slot & ret_valid_o[r] & slot == ret_slot_o[r*LN +: LN];
      end
      integer k;
      reg [P-1:0] now_early;
      reg [31:0] now_placed, now_ended;
      reg [R-1:0] ret;
      always @* begin
        now_early = early;
        for (k = 0; k < Q * P; k = k + 1) if (takes[k]) now_early[k % P] = 1;
        now_placed = placed;
        for (k = 0; k < P; k = k + 1) if (now_early[0]) begin
          now_placed = now_placed + 1;
          now_early = now_early >> 1;
        end
        now_ended = ended;
        for (k = 0; k < S; k = k + 1) now_ended = now_ended + (ending[e*S + k] & done_ready_o[k % 4]);
        for (k = 0; k < R; k = k + 1) ret[k] = ret_of[k*N + e];
      end
      assign retires[e] = |ret;
      assign retires_twice[e] = |(ret & (ret - 1'b1));
      assign all_ended[e] = now_ended == grid & now_placed == grid;

      // SMs, by number.
      for (s = 0; s < S; s = s + 1) begin : on_sm
        reg [COUNT-1:0] ctas;
        wire [C-1:0] comes;
        for (c = 0; c < C; c = c + 1) assign comes[c] = goes[c*P + s % P] & cta_sm_o[8*(c*P + s % P) +: 8] == s;
        assign runs[e*S + s] = ctas != 0;
        assign ending[e*S + s] = ctas != 0 & done_valid_i[s % 4] & done_sm_i[8*(s % 4) +: 8] == s & done_of[(s % 4)*N + e];
        always @(posedge clk_i)
          ctas <= !rst_ni | gone ? 0 : ctas + comes[0] + comes[C-1] * (C == 2) - (ending[e*S + s] & done_ready_o[s % 4]);
      end

      wire [S-1:0] part_now = mask[part*S +: S];
      assign has_sms[e] = |part_now;
      always @(posedge clk_i) begin
        here <= rst_ni & (sends & entry[e] | here & ~gone);
        was_named <= rst_ni & here & ~gone & (beat_taken ? ~last & named[e] : was_named);
        if (sends & entry[e]) begin
          id <= host_id_i;
          kind <= host_type_i;
          part <= host_part_i;
          need <= {host_warps_i, host_regs_i, host_smem_i};
          grid <= unfit ? 0 : host_grid_i;
          placed <= 0;
          early <= 0;
          ended <= 0;
          has_slot <= 0;
          up <= named & ~retires;
        end else begin
          placed <= now_placed;
          early <= now_early;
          ended <= now_ended;
          if (starts[e]) begin
            has_slot <= 1;
            slot <= disp_slot_o;
          end
          up <= rst_ni ? up & ~retires : {N{1'b0}};
        end
      end
    end
  endgenerate

  // What CTAs and completions need or had.
  reg [Q*NEEDS-1:0] cta_needs;
  reg [4*NEEDS-1:0] done_needs;
  integer j, n;
  always @* begin
    cta_needs = 0;
    done_needs = 0;
    for (n = 0; n < N; n = n + 1) begin
      for (j = 0; j < Q; j = j + 1) if (cta_of[j*N + n]) cta_needs[j*NEEDS +: NEEDS] = needs[n*NEEDS +: NEEDS];
      for (j = 0; j < 4; j = j + 1) if (done_of[j*N + n]) done_needs[j*NEEDS +: NEEDS] = needs[n*NEEDS +: NEEDS];
    end
  end
  wire [S-1:0] fits;
  wire [3:0] done_legal, done_its_port;
  wire [Q-1:0] cta_is_one, cta_type_is_right, cta_order_is_right, cta_part_is_right, cta_stood, cta_sm_is_right, cta_channel_is_right;
  wire [3:0] done_stood;
  generate
    for (s = 0; s < S; s = s + 1) begin : sm
      // Of two channels only, and of one port of each.
      localparam A = s % P, B = (C - 1) * P + s % P;
      reg [COUNT:0] ctas;
      reg [8:0] warps;
      reg [10:0] regs;
      reg [12:0] smem;
      wire a = cta_taken[A] & cta_sm_o[8*A +: 8] == s & |cta_of[A*N +: N];
      wire b = C == 2 & cta_taken[B] & cta_sm_o[8*B +: 8] == s & |cta_of[B*N +: N];
      wire [N-1:0] of_kernel;
      for (e = 0; e < N; e = e + 1) begin : of
        assign of_kernel[e] = ending[e*S + s];
      end
      wire ends = |of_kernel & done_ready_o[s % 4];
      wire [NEEDS-1:0] a_needs = a ? cta_needs[A*NEEDS +: NEEDS] : {NEEDS{1'b0}};
      wire [NEEDS-1:0] b_needs = b ? cta_needs[B*NEEDS +: NEEDS] : {NEEDS{1'b0}};
      wire [NEEDS-1:0] had = ends ? done_needs[(s % 4)*NEEDS +: NEEDS] : {NEEDS{1'b0}};
      wire [COUNT:0] now_ctas = ctas + a + b - ends;
      wire [8:0] now_warps = warps + a_needs[26:20] + b_needs[26:20] - had[26:20];
      wire [10:0] now_regs = regs + a_needs[19:11] + b_needs[19:11] - had[19:11];
      wire [12:0] now_smem = smem + a_needs[10:0] + b_needs[10:0] - had[10:0];
      assign fits[s] = !(a | b) | now_ctas <= CTAS & now_warps <= WARPS & now_regs <= REGS & now_smem <= SMEM;
      always @(posedge clk_i) begin
        ctas <= rst_ni ? now_ctas : 0;
        warps <= rst_ni ? now_warps : 0;
        regs <= rst_ni ? now_regs : 0;
        smem <= rst_ni ? now_smem : 0;
      end
    end
    for (p = 0; p < 4; p = p + 1) begin : done_port
      wire [7:0] at = done_sm_i[8*p +: 8];
      wire [N*S-1:0] here;
      for (s = 0; s < N * S; s = s + 1) begin : on
        assign here[s] = s % S % 4 == p & ending[s];
      end
      assign done_legal[p] = |here;
      assign done_its_port[p] = at < S & at % 4 == p;
      assign done_stood[p] = !done_waits[p] | done_valid_i[p] & at == done_before[4*LN + 8*p +: 8] & done_slot_i[p*LN +: LN] == done_before[p*LN +: LN];
    end
    for (q = 0; q < Q; q = q + 1) begin : cta_port
      wire [7:0] to = cta_sm_o[8*q +: 8];
      wire is_one = |cta_of[q*N +: N];
      assign cta_is_one[q] = !cta_valid_o[q] | is_one & &of_its_type[q*N +: N];
      assign cta_channel_is_right[q] = !cta_valid_o[q] | C == 1 | cta_type_o[q] == q / P;
      assign cta_order_is_right[q] = !cta_valid_o[q] | &in_order[q*N +: N];
      assign cta_part_is_right[q] = !cta_valid_o[q] | &in_its_partition[q*N +: N];
      assign cta_sm_is_right[q] = !cta_valid_o[q] | to < S & to % P == q % P;
      // In the order of the ports of this module: SMs, slots, ids, indices and types.
      assign cta_stood[q] = !cta_waits[q] | cta_valid_o[q]
        & to == cta_before[Q*(LN+8+32+1) + 8*q +: 8] & cta_slot_o[q*LN +: LN] == cta_before[Q*(8+32+1) + q*LN +: LN]
        & cta_id_o[8*q +: 8] == cta_before[Q*(32+1) + 8*q +: 8] & cta_index_o[32*q +: 32] == cta_before[Q + 32*q +: 32]
        & cta_type_o[q] == cta_before[q];
    end
  endgenerate

  // How long a completion and a write have waited, and how long nothing has moved that could.
  wire [3:0] done_in_time;
  reg [15:0] part_waited, quiet;
  generate
    for (p = 0; p < 4; p = p + 1) begin : patience
      reg [15:0] waited;
      wire [15:0] now = done_valid_i[p] & ~done_ready_o[p] ? waited + 1 : 0;
      assign done_in_time[p] = now < WAIT;
      always @(posedge clk_i) waited <= rst_ni ? now : 0;
    end
  endgenerate
  wire [15:0] part_waits_for = part_valid_i & ~part_ready_o ? part_waited + 1 : 0;
  wire moves = |(done_valid_i & done_ready_o & done_legal) | |cta_taken | disp_valid_o | beat_taken | |ret_valid_o | part_valid_i & part_ready_o;
  wire could = |live & ~|cta_valid_o & ~|runs & &(has_sms | ~live);
  wire [15:0] quiet_for = moves | ~could ? 0 : quiet + 1;
  always @(posedge clk_i) begin
    part_waited <= rst_ni ? part_waits_for : 0;
    quiet <= rst_ni ? quiet_for : 0;
  end

  // Wrong completions that are taken, as far as the front end can tell: the others break a rule of the SMs alone.
  wire [3:0] done_wrong = done_valid_i & done_ready_o & ~(done_legal & done_its_port);
  wire [3:0] done_of_none;
  generate
    for (p = 0; p < 4; p = p + 1) begin : nobody
      assign done_of_none[p] = ~|done_of[p*N +: N];
    end
  endgenerate
  wire [3:0] done_must_be_said = done_valid_i & done_ready_o & (~done_its_port | done_of_none);
  wire [R-1:0] ret_is_one;
  generate
    for (r = 0; r < R; r = r + 1) begin : retired
      assign ret_is_one[r] = ~ret_valid_o[r] | |ret_of[r*N +: N];
    end
  endgenerate
  wire [WIDTH-1:0] lane_is_right;
  generate
    for (l = 0; l < WIDTH; l = l + 1) begin : lane
      wire [7:0] back = host_id_i - host_up_id_i[8*l +: 8] - 8'd1;
      assign lane_is_right[l] = LANES == 0 | ~host_up_valid_i[l] | back < M;
    end
  endgenerate

  // The sides. Host:
  front_end_formal_rule #(ASSUME_HOST) host_holds_a_beat (clk_i, on, !host_waits | host_valid_i & beat == beat_before & (!last | packet == packet_before));
  front_end_formal_rule #(ASSUME_HOST) host_ids_count_up (clk_i, on, !host_valid_i | !begun | host_id_i == due);
  front_end_formal_rule #(ASSUME_HOST) host_names_the_last (clk_i, on, !host_valid_i | &lane_is_right);
  front_end_formal_rule #(ASSUME_HOST) host_kernel_fits (clk_i, on, !(sends & unfit));
  // SMs:
  front_end_formal_rule #(ASSUME_SMS) sms_hold_a_completion (clk_i, on, &done_stood);
  front_end_formal_rule #(ASSUME_SMS) sms_use_their_port (clk_i, on, &(~done_valid_i | done_its_port));
  front_end_formal_rule #(ASSUME_SMS) sms_name_a_cta_that_runs (clk_i, on, &(~done_valid_i | ~done_its_port | done_legal));
  // Who writes partitions:
  front_end_formal_rule #(ASSUME_PARTITIONS) partitions_hold_a_write (clk_i, on, !part_waits | part_valid_i & {part_id_i, part_word_i, part_mask_i} == part_before);
  // The front end:
  front_end_formal_rule #(ASSUME_FRONT_END) waits_for_upstream (clk_i, on, ~|(starts & waits));
  front_end_formal_rule #(ASSUME_FRONT_END) kernel_was_sent (clk_i, on, !disp_valid_o | |starts);
  front_end_formal_rule #(ASSUME_FRONT_END) dispatched_once (clk_i, on, ~|(starts & dispatched));
  front_end_formal_rule #(ASSUME_FRONT_END) slot_is_free (clk_i, on, !disp_valid_o | disp_slot_o < N & ~|in_slot);
  front_end_formal_rule #(ASSUME_FRONT_END) id_is_free (clk_i, on, !sends | ~|has_id);
  front_end_formal_rule #(ASSUME_FRONT_END) kernel_has_a_slot (clk_i, on, !sends | ~&live);
  front_end_formal_rule #(ASSUME_FRONT_END) ctas_in_order (clk_i, on, &cta_order_is_right);
  front_end_formal_rule #(ASSUME_FRONT_END) cta_is_of_its_kernel (clk_i, on, &cta_is_one);
  front_end_formal_rule #(ASSUME_FRONT_END) cta_comes_on_its_channel (clk_i, on, &cta_channel_is_right);
  front_end_formal_rule #(ASSUME_FRONT_END) cta_goes_to_an_sm (clk_i, on, &cta_sm_is_right);
  front_end_formal_rule #(ASSUME_FRONT_END) cta_stays (clk_i, on, &cta_stood);
  front_end_formal_rule #(ASSUME_FRONT_END) cta_fits (clk_i, on, &fits);
  front_end_formal_rule #(ASSUME_FRONT_END) cta_stays_in_its_partition (clk_i, on, &cta_part_is_right);
  front_end_formal_rule #(ASSUME_FRONT_END) retires_when_all_have_ended (clk_i, on, ~|(retires & ~all_ended));
  front_end_formal_rule #(ASSUME_FRONT_END) retires_once (clk_i, on, &ret_is_one & ~|retires_twice);
  front_end_formal_rule #(ASSUME_FRONT_END) no_false_alarm (clk_i, on, !(host_err_o & ~(sends & unfit)) & !(done_err_o & ~|done_wrong) & !ret_err_o);
  front_end_formal_rule #(ASSUME_FRONT_END) alarm_is_raised (clk_i, on, !(sends & unfit & ~host_err_o) & !(|done_must_be_said & ~done_err_o));
  front_end_formal_rule #(ASSUME_FRONT_END) completion_is_taken (clk_i, on, &done_in_time);
  front_end_formal_rule #(ASSUME_FRONT_END) write_is_taken (clk_i, on, part_waits_for < WAIT);
  front_end_formal_rule #(ASSUME_FRONT_END) goes_on (clk_i, on, quiet_for < QUIET);
endmodule
// verilator lint_on SYNCASYNCNET
// verilator lint_on CMPCONST
// verilator lint_on UNSIGNED
// verilator lint_on UNUSEDSIGNAL
// verilator lint_on WIDTH
// verilator lint_on DECLFILENAME
`endif
