// SPDX-License-Identifier: MIT OR Apache-2.0
// Watches the ports of a front end in a simulation, and says which rule is broken, by whom: names that begin with `host`, `sms`, `partitions`
// or `inputs` are duties of the design around the front end, the others promises of the front end. It drives nothing.
// The rules are those of docs/integration.md and of rtl/src/front_end/README.md; the same promises are proved by `windlass prove`.
//
// It keeps books of every kernel and every CTA, and knows nothing of the inside. It samples at the rising edge: drive inputs with nonblocking
// assignments. After a broken rule later ones may be its consequences.
`ifndef WINDLASS_FRONT_END_CHECKER
`define WINDLASS_FRONT_END_CHECKER
// verilator lint_off WIDTH
// verilator lint_off BLKSEQ
// verilator lint_off UNUSEDSIGNAL
// An SM may have all that a need can say; a reset is looked at with the clock, also where it is none of it.
// verilator lint_off CMPCONST
// verilator lint_off SYNCASYNCNET
module front_end_checker #(
  parameter N = 8,         // slots
  parameter LN = 3,        // bits of a slot's number
  parameter R = 2,         // retire ports
  parameter LANES = 1,     // upstream ids per beat; 0: a mask
  parameter M = 128,       // kernels in the host's list
  parameter C = 2,         // CTA channels
  parameter P = 1,         // CTA ports of each: port p is that of the SMs s with s mod P = p
  parameter S = 8,         // SMs
  parameter CTAS = 32, parameter WARPS = 64, parameter REGS = 256, parameter SMEM = 1824, // of an SM
  parameter QUIET = 1024,  // cycles in which nothing moves, though something could
  parameter REPORTS = 20   // broken rules that are reported; all are counted
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
  // For the testbench: rules broken, kernels sent and retired, CTAs placed and ended.
  integer broken = 0, sent = 0, retired = 0, placed_ctas = 0, ended_ctas = 0;
  integer cycle = 0;

  task broke(input string rule, input string how);
    begin
      broken = broken + 1;
      if (broken <= REPORTS) $error("%0s in cycle %0d: %0s", rule, cycle, how);
    end
  endtask

  // Unknown bits, which in an `if` pass for 0; simulators of two states have none. Each is said in the first of the cycles in which it is there:
  // `unknown` has a bit for each place where one may be. The front end's count where all inputs have been known since the reset.
  localparam PLACES = 16 + C * P + R;
  reg [PLACES-1:0] unknown = 0, unknown_before = 0;
  reg inputs_known = 1;

  task input_unknown(input integer place, input string what);
    begin
      if (!unknown_before[place]) broke("inputs_are_known", {what, " is unknown"});
      unknown[place] = 1;
      inputs_known = 0;
    end
  endtask

  task output_unknown(input integer place, input string what);
    begin
      if (inputs_known & !unknown_before[place]) broke("outputs_are_known", {what, " is unknown"});
      unknown[place] = 1;
    end
  endtask

  // Kernels by id. An id names one unfinished kernel.
  reg [255:0] live;
  reg [255:0] up [0:255];              // unfinished kernels that it waits for
  reg [31:0] grid [0:255], placed [0:255], ended [0:255]; // placed: all before this one
  reg [P-1:0] early [0:255];           // CTAs that were placed, by their number after the first that was not
  reg kind [0:255];
  reg [2:0] part [0:255];
  reg [6:0] warps [0:255];
  reg [8:0] regs [0:255];
  reg [10:0] smem [0:255];
  // Slots, from dispatch to retirement.
  reg [N-1:0] dispatched;
  reg [7:0] id_in [0:N-1];
  // CTAs by slot and SM, and what they take of each SM.
  integer out [0:N*S-1];
  integer out_ctas;                    // all of them since the last reset
  integer sm_ctas [0:S-1], sm_warps [0:S-1], sm_regs [0:S-1], sm_smem [0:S-1];

  // What was there in the cycle before, for what has to stay.
  localparam BEAT = 8 + 1 + 9 * (LANES != 0 ? LANES : 1) + M;
  localparam NEEDS = 32 + 1 + 3 + 7 + 9 + 11;
  wire last = LANES == 0 | host_last_i;
  wire unfit = host_grid_i != 0 & (host_warps_i == 0 | host_warps_i > WARPS | host_regs_i == 0 | host_regs_i > REGS | host_smem_i > SMEM);
  wire [BEAT-1:0] beat = {host_id_i, last, host_up_valid_i, host_up_id_i, host_up_i};
  wire [NEEDS-1:0] needs = {host_grid_i, host_type_i, host_part_i, host_warps_i, host_regs_i, host_smem_i};
  reg on = 0;
  reg host_waits, part_waits;
  reg [C*P-1:0] cta_waits;
  reg [3:0] done_waits;
  reg [BEAT-1:0] beat_before;
  reg [NEEDS-1:0] needs_before;
  reg [37:0] part_before;
  reg [8+LN+8+32+1-1:0] cta, cta_before [0:C*P-1];
  reg [8+LN-1:0] done_before [0:3];

  // The host's next id, once there was one; ids named in earlier beats.
  reg begun, between;
  reg [7:0] due;
  reg [255:0] named;

  // SMs of each partition: now and a cycle ago, for a CTA that is offered was picked before. A write that waits may have been seen.
  reg [S-1:0] mask [0:7], mask_before [0:7];
  reg [7:0] changes, changes_before;

  // A completion waits for the one before to be given back, at most two turns of the SMs, and a write for them to go round.
  localparam WAIT = 16;
  integer done_waited [0:3], part_waited;

  integer i, c, p, r, at, quiet;
  reg moved, stuck;
  reg wrong_done; // a completion that is taken breaks a rule
  reg said_done;  // one that the front end can tell from a right one: it has to say so
  reg again; // what is offered waits unchanged, and is wrong or right as before
  reg [7:0] id, sm, distance;
  reg [31:0] index, ahead;
  reg [LN-1:0] slot;
  always @(posedge clk_i) begin
    cycle = cycle + 1;
    unknown_before = unknown;
    unknown = 0;
    if (^{rst_ni, host_valid_i, cta_ready_i, done_valid_i, part_valid_i} === 1'bx & on)
      input_unknown(0, "a valid, a ready or the reset");
    if (!rst_ni) begin
      on = 1;
      inputs_known = 1;
      live = 0;
      dispatched = 0;
      named = 0;
      {begun, between, host_waits, part_waits, cta_waits, done_waits, changes, changes_before} = 0;
      quiet = 0;
      out_ctas = 0;
      part_waited = 0;
      for (p = 0; p < 4; p = p + 1) done_waited[p] = 0;
      for (i = 0; i < 256; i = i + 1) up[i] = 0;
      for (i = 0; i < N * S; i = i + 1) out[i] = 0;
      for (i = 0; i < S; i = i + 1) begin
        sm_ctas[i] = 0;
        sm_warps[i] = 0;
        sm_regs[i] = 0;
        sm_smem[i] = 0;
      end
      for (i = 0; i < 8; i = i + 1) begin
        mask[i] = {S{1'b1}};
        mask_before[i] = {S{1'b1}};
      end
    end else if (on) begin
      moved = 0;

      // What a ready depends on is to be known in every cycle, other payload where it is valid.
      if (^{host_id_i, last} === 1'bx) input_unknown(1, "host_id_i or host_last_i");
      if (host_valid_i) begin
        if (^{host_up_valid_i, host_up_i} === 1'bx) input_unknown(2, "what a kernel waits for");
        for (i = 0; i < LANES; i = i + 1)
          if (host_up_valid_i[i]) if (^host_up_id_i[8*i +: 8] === 1'bx) input_unknown(3, "an id that a kernel waits for");
        if (last) if (^needs === 1'bx) input_unknown(4, "grid, type, partition or need of a kernel");
      end
      for (p = 0; p < 4; p = p + 1) begin
        if (^done_sm_i[p*8 +: 8] === 1'bx) input_unknown(5 + p, $sformatf("done_sm_%0d_i", p));
        if (done_valid_i[p]) if (^done_slot_i[p*LN +: LN] === 1'bx) input_unknown(9 + p, $sformatf("done_slot_%0d_i", p));
      end
      if (part_valid_i) if (^{part_id_i, part_word_i, part_mask_i} === 1'bx) input_unknown(13, "the write of a partition");
      if (^{host_ready_o, cta_valid_o, done_ready_o, host_err_o, done_err_o, part_ready_o, disp_valid_o, ret_valid_o, ret_err_o} === 1'bx)
        output_unknown(14, "a valid, a ready or an error");
      if (disp_valid_o) if (^{disp_id_o, disp_slot_o} === 1'bx) output_unknown(15, "the kernel that is dispatched");
      for (c = 0; c < C * P; c = c + 1)
        if (cta_valid_o[c])
          if (^{cta_sm_o[c*8 +: 8], cta_slot_o[c*LN +: LN], cta_id_o[c*8 +: 8], cta_index_o[c*32 +: 32], cta_type_o[c]} === 1'bx)
            output_unknown(16 + c, $sformatf("the CTA on port %0d", c));
      for (r = 0; r < R; r = r + 1)
        if (ret_valid_o[r]) if (^ret_slot_o[r*LN +: LN] === 1'bx) output_unknown(16 + C * P + r, $sformatf("ret_slot_%0d_o", r));

      // CTAs that end: first, for what comes in this cycle cannot have known of them, and what goes out cannot have ended.
      wrong_done = 0;
      said_done = 0;
      for (p = 0; p < 4; p = p + 1) begin
        sm = done_sm_i[p*8 +: 8];
        slot = done_slot_i[p*LN +: LN];
        at = slot * S + sm;
        if (done_waits[p] & ~(done_valid_i[p] & {sm, slot} == done_before[p]))
          broke("sms_hold_a_completion", $sformatf("that on port %0d changed before it was taken", p));
        again = done_waits[p] & {sm, slot} == done_before[p];
        if (done_valid_i[p]) begin
          if (sm >= S | sm % 4 != p | slot >= N || out[at] == 0) begin
            wrong_done = wrong_done | done_ready_o[p];
            said_done = said_done | done_ready_o[p] & (sm >= S | sm % 4 != p | slot >= N || !dispatched[slot]);
            if (~again) begin
              if (sm >= S | sm % 4 != p)
                broke("sms_use_their_port", $sformatf("SM %0d on port %0d; there are %0d, and SM s is on port s mod 4", sm, p, S));
              else if (slot >= N) broke("sms_name_a_cta_that_runs", $sformatf("slot %0d on port %0d: there is none", slot, p));
              else broke("sms_name_a_cta_that_runs", $sformatf("no CTA of slot %0d is on SM %0d (port %0d)", slot, sm, p));
            end
          end else if (done_ready_o[p]) begin
            moved = 1;
            id = id_in[slot];
            ended_ctas = ended_ctas + 1;
            out_ctas = out_ctas - 1;
            out[at] = out[at] - 1;
            ended[id] = ended[id] + 1;
            sm_ctas[sm] = sm_ctas[sm] - 1;
            sm_warps[sm] = sm_warps[sm] - warps[id];
            sm_regs[sm] = sm_regs[sm] - regs[id];
            sm_smem[sm] = sm_smem[sm] - smem[id];
          end
        end
        done_before[p] = {sm, slot};
        done_waited[p] = done_valid_i[p] & ~done_ready_o[p] ? done_waited[p] + 1 : 0;
        if (done_waited[p] == WAIT) broke("completion_is_taken", $sformatf("that on port %0d has waited for %0d cycles", p, WAIT));
      end
      if (host_err_o & ~(host_valid_i & host_ready_o & last & unfit)) broke("no_false_alarm", "host_err_o is high");
      if (done_err_o & ~wrong_done) broke("no_false_alarm", "done_err_o is high");
      if (ret_err_o) broke("no_false_alarm", "ret_err_o is high");
      if (said_done & ~done_err_o) broke("alarm_is_raised", "a wrong completion is taken, and done_err_o is low");
      if (host_valid_i & host_ready_o & last & unfit & ~host_err_o)
        broke("alarm_is_raised", $sformatf("kernel %0d fits on no SM, and host_err_o is low", host_id_i));

      // CTAs that go out.
      for (c = 0; c < C * P; c = c + 1) begin
        sm = cta_sm_o[c*8 +: 8];
        slot = cta_slot_o[c*LN +: LN];
        id = cta_id_o[c*8 +: 8];
        index = cta_index_o[c*32 +: 32];
        cta = {sm, slot, id, index, cta_type_o[c]};
        if (cta_waits[c] & ~(cta_valid_o[c] & cta == cta_before[c]))
          broke("cta_stays", $sformatf("that on port %0d changed before it was taken", c));
        cta_before[c] = cta;
        if (cta_valid_o[c]) begin
          if (sm >= S) broke("cta_goes_to_an_sm", $sformatf("SM %0d of %0d", sm, S));
          else if (sm % P != c % P) broke("cta_goes_to_an_sm", $sformatf("SM %0d on port %0d; SM s is on a port p with p mod %0d = s mod %0d", sm, c, P, P));
          else if (slot >= N || !dispatched[slot] || id_in[slot] != id)
            broke("cta_is_of_its_kernel", $sformatf("kernel %0d is not in slot %0d", id, slot));
          else begin
            if (cta_type_o[c] != kind[id]) broke("cta_is_of_its_kernel", $sformatf("type %0d of kernel %0d", cta_type_o[c], id));
            if (C == 2 & cta_type_o[c] != c / P) broke("cta_comes_on_its_channel", $sformatf("type %0d on port %0d", cta_type_o[c], c));
            // Those that are placed together may be taken in any order.
            ahead = index - placed[id];
            if (ahead >= P || early[id][ahead % P] || index >= grid[id])
              broke("ctas_in_order", $sformatf("CTA %0d of kernel %0d, of %0d CTAs %0d was due", index, id, grid[id], placed[id]));
            if (!cta_waits[c] & !mask_before[part[id]][sm] & !changes_before[part[id]])
              broke("cta_stays_in_its_partition", $sformatf("SM %0d is not in partition %0d of kernel %0d", sm, part[id], id));
            if (cta_ready_i[c]) begin
              moved = 1;
              placed_ctas = placed_ctas + 1;
              out_ctas = out_ctas + 1;
              if (ahead < P) early[id][ahead] = 1;
              while (early[id][0]) begin
                placed[id] = placed[id] + 1;
                early[id] = early[id] >> 1;
              end
              out[slot*S + sm] = out[slot*S + sm] + 1;
              sm_ctas[sm] = sm_ctas[sm] + 1;
              sm_warps[sm] = sm_warps[sm] + warps[id];
              sm_regs[sm] = sm_regs[sm] + regs[id];
              sm_smem[sm] = sm_smem[sm] + smem[id];
              if (sm_ctas[sm] > CTAS | sm_warps[sm] > WARPS | sm_regs[sm] > REGS | sm_smem[sm] > SMEM)
                broke("cta_fits", $sformatf("SM %0d has %0d CTAs, %0d warps, %0d registers, %0d shared memory", sm, sm_ctas[sm], sm_warps[sm], sm_regs[sm], sm_smem[sm]));
            end
          end
        end
      end

      // Kernels that start.
      if (disp_valid_o) begin
        moved = 1;
        id = disp_id_o;
        if (disp_slot_o >= N || dispatched[disp_slot_o]) broke("slot_is_free", $sformatf("kernel %0d comes to slot %0d", id, disp_slot_o));
        else if (!live[id]) broke("kernel_was_sent", $sformatf("kernel %0d is dispatched", id));
        else begin
          for (i = 0; i < N; i = i + 1) if (dispatched[i] & id_in[i] == id) broke("dispatched_once", $sformatf("kernel %0d", id));
          for (i = 0; i < 256; i = i + 1)
            if (up[id][i]) broke("waits_for_upstream", $sformatf("kernel %0d starts, and kernel %0d has not retired", id, i));
          dispatched[disp_slot_o] = 1;
          id_in[disp_slot_o] = id;
        end
      end

      // Beats of the host. What is not about order is read with the last one.
      if (host_waits) begin
        if (~host_valid_i | beat != beat_before | last & needs != needs_before)
          broke("host_holds_a_beat", "it changed before it was taken");
      end
      if (host_valid_i) begin
        again = host_waits & beat == beat_before;
        if (~again & (begun | between) & host_id_i != due) broke("host_ids_count_up", $sformatf("host_id_i is %0d, %0d was due", host_id_i, due));
        for (i = 0; i < LANES; i = i + 1) if (~again & host_up_valid_i[i]) begin
          distance = host_id_i - host_up_id_i[8*i +: 8] - 8'd1;
          if (distance >= M)
            broke("host_names_the_last", $sformatf("kernel %0d names %0d, which is none of the %0d before it", host_id_i, host_up_id_i[8*i +: 8], M));
        end
        if (host_ready_o) begin
          moved = 1;
          for (i = 0; i < LANES; i = i + 1) if (host_up_valid_i[i]) named[host_up_id_i[8*i +: 8]] = 1;
          if (LANES == 0) for (i = 0; i < M; i = i + 1) if (host_up_i[i]) begin
            id = host_id_i - 8'd1 - i[7:0];
            named[id] = 1;
          end
          due = host_id_i + last;
          begun = 1;
          between = ~last;
          if (last) begin
            id = host_id_i;
            if (unfit)
              broke("host_kernel_fits", $sformatf("CTAs of kernel %0d need %0d warps, %0d registers, %0d shared memory; an empty SM has %0d, %0d and %0d", id, host_warps_i, host_regs_i, host_smem_i, WARPS, REGS, SMEM));
            if (live[id]) broke("id_is_free", $sformatf("kernel %0d is taken while another of that id is not finished", id));
            up[id] = named & live;
            up[id][id] = 0;
            named = 0;
            live[id] = 1;
            sent = sent + 1;
            grid[id] = unfit ? 0 : host_grid_i;
            placed[id] = 0;
            early[id] = 0;
            ended[id] = 0;
            kind[id] = host_type_i;
            part[id] = host_part_i;
            warps[id] = host_warps_i;
            regs[id] = host_regs_i;
            smem[id] = host_smem_i;
          end
        end
      end

      // Kernels that retire, at the end of this cycle.
      for (r = 0; r < R; r = r + 1) if (ret_valid_o[r]) begin
        moved = 1;
        slot = ret_slot_o[r*LN +: LN];
        if (slot >= N || !dispatched[slot]) broke("retires_once", $sformatf("slot %0d has no kernel", slot));
        else begin
          id = id_in[slot];
          if (ended[id] != grid[id] | placed[id] != grid[id])
            broke("retires_when_all_have_ended", $sformatf("kernel %0d: %0d of %0d CTAs have ended", id, ended[id], grid[id]));
          dispatched[slot] = 0;
          live[id] = 0;
          retired = retired + 1;
          for (i = 0; i < 256; i = i + 1) up[i][id] = 0;
        end
      end

      // Writes of partitions.
      if (part_waits & ~(part_valid_i & {part_id_i, part_word_i, part_mask_i} == part_before))
        broke("partitions_hold_a_write", "it changed before it was taken");
      for (i = 0; i < 8; i = i + 1) mask_before[i] = mask[i];
      changes_before = changes;
      changes = 0;
      part_waited = part_valid_i & ~part_ready_o ? part_waited + 1 : 0;
      if (part_waited == WAIT) broke("write_is_taken", $sformatf("that of partition %0d has waited for %0d cycles", part_id_i, WAIT));
      if (part_valid_i & ~part_ready_o) changes[part_id_i] = 1;
      if (part_valid_i & part_ready_o) begin
        moved = 1;
        for (i = 0; i < S; i = i + 1) if (i / 32 == part_word_i) mask[part_id_i][i] = part_mask_i[i % 32];
      end

      // Kernels wait, no CTA is out, and none is offered; each has an SM in its partition.
      quiet = moved | ~|live | |cta_valid_o | out_ctas != 0 ? 0 : quiet + 1;
      if (quiet == QUIET) begin
        stuck = 1;
        for (i = 0; i < 256; i = i + 1) if (live[i] && mask[part[i]] == 0) stuck = 0;
        if (stuck) broke("goes_on", $sformatf("nothing moved for %0d cycles", QUIET));
      end

      beat_before = beat;
      needs_before = needs;
      part_before = {part_id_i, part_word_i, part_mask_i};
      host_waits = host_valid_i & ~host_ready_o;
      part_waits = part_valid_i & ~part_ready_o;
      cta_waits = cta_valid_o & ~cta_ready_i;
      done_waits = done_valid_i & ~done_ready_o;
    end
  end
endmodule
// verilator lint_on UNUSEDSIGNAL
// verilator lint_on BLKSEQ
// verilator lint_on WIDTH
`endif
