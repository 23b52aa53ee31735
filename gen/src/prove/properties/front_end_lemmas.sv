// How the parts of a front end see the same kernels.
module front_end_lemmas #(
  parameter N = 8,
  parameter LN = 3,
  parameter LIST = 0,
  parameter R = 2,
  parameter LANES = 1,
  parameter M = 128,
  parameter C = 2,
  parameter K = 1,
  parameter P = 1,         // CTA ports of each channel
  parameter S = 8,
  parameter CTAS = 32, parameter WARPS = 64, parameter REGS = 256, parameter SMEM = 1824,
  parameter LATE = 0,      // 1: PIPELINED
  parameter HOLDS = 0
) (
  // properties:
  input on,
  input [7:0] w,
  input [N*32-1:0] out, input [N*32-1:0] on_w,
  input [N-1:0] busy,
  input [7:0] next_id,
  input pick_a, input pick_b,
  input a, input b, input a_done, input b_waits_for_a, input named,
  input [7:0] a_id, input [7:0] b_id,
  input [31:0] grid, input [31:0] placed, input [31:0] ended,
  input [P-1:0] early,
  input type,
  input [2:0] part,
  input [2:0] watched__k,
  input member, input changes, input outside,
  input [C*P-1:0] stands,
  input other, input [3:0] since,
  input [LN-1:0] slot,
  input has_slot,
  // beside kernel_scheduler:
  input [7:0] scheduler__next_id,
  input scheduler__pick_a,
  input scheduler__a, input scheduler__a_done, input scheduler__a_runs,
  input [N-1:0] scheduler__a_slot,
  input [7:0] scheduler__a_id,
  input scheduler__disp_valid_o, input scheduler__disp_ready_i,
  input [R-1:0] scheduler__ret_valid_i, input [R-1:0] scheduler__ret_ready_o,
  // beside window:
  input [N-1:0] waiting, input [N-1:0] window__running,
  input window__pick_a, input window__pick_b,
  input window__a, input window__b, input window__a_done, input b_done,
  input window__b_waits_for_a,
  input [N-1:0] a_slot, input [N-1:0] b_slot,
  input [N-1:0] a_place,
  input [7:0] window__a_id,
  input wrong_before,
  // beside kernel_table:
  input [N-1:0] held, input [N-1:0] queued, input [N-1:0] running, input [N-1:0] table__type, input [N-1:0] markers,
  input table__disp_valid_i,
  input [C-1:0] next_valid_o, input [C-1:0] next_ready_i,
  input [R-1:0] table__ret_valid_o, input [R-1:0] table__ret_ready_i,
  // beside cta_arbiter:
  input [C-1:0] kern_valid_i, input [C-1:0] kern_ready_o,
  input [C-1:0] need_valid_o, input [C*3-1:0] need_part_o,
  input [8*((S+23)/24)-1:0] fit_a_i, input [8*((S+23)/24)-1:0] fit_b_i,
  input [8*((S+23)/24)-1:0] place_a_o, input [8*((S+23)/24)-1:0] place_b_o,
  // beside sm_occupancy:
  input [C-1:0] need_valid_i,
  input [8*((S+23)/24)-1:0] allow_a_i, input [8*((S+23)/24)-1:0] allow_b_i,
  input [8*((S+23)/24)-1:0] fit_a_o, input [8*((S+23)/24)-1:0] fit_b_o,
  input [8*((S+23)/24)-1:0] place_a_i, input [8*((S+23)/24)-1:0] place_b_i,
  input occupancy__other, input [3:0] occupancy__since,
  input [7:0] s,
  input [1:0] phase,
  input [3:0] age,
  input woken,
  input [C-1:0] valid_1,
  input [5:0] ctas, input [7:0] warps, input [9:0] regs, input [12:0] smem,
  input [C*7-1:0] warps_1, input [C*7-1:0] warps_2,
  input [C*9-1:0] regs_1, input [C*9-1:0] regs_2,
  input [C*11-1:0] smem_1, input [C*11-1:0] smem_2,
  input [7:0] lane,
  input [8*((S+23)/24)-1:0] allow_a_1, input [8*((S+23)/24)-1:0] allow_b_1,
  // beside sm_partitions:
  input [7:0] partitions__s,
  input [2:0] partitions__k,
  input [1:0] partitions__phase,
  input [C*3-1:0] part_i, input [C*3-1:0] partitions__part,
  input [8*((S+23)/24)-1:0] allow_a_o, input [8*((S+23)/24)-1:0] allow_b_o,
  input partitions__member, input partitions__changes,
  input [1:0] waited,
  input [2:0] partitions__age,
  // design u_scheduler.u_upstream:
  input [N-1:0] gathered_q,
  // design u_scheduler.u_window:
  input [N-1:0] used_q, input [N-1:0] gone_q,
  // design u_scheduler.u_window, each of N:
  input [N*LN-1:0] slots_q,
  input [N*8-1:0] matrix__ids_q,
  // design u_scheduler.u_window, each of R:
  input [R*N-1:0] named_q_q,
  // design u_scheduler.u_window.u_slots, each of N:
  input [N*8-1:0] list__ids_q,
  // design u_table, each of R:
  input [R*1-1:0] ret_valid_o, input [R*LN-1:0] ret_slot_o,
  // design u_table.u_entry_%, each of N:
  input [N*8-1:0] id_q,
  input [N*3-1:0] table__part_q,
  input [N*7-1:0] warps_q, input [N*9-1:0] regs_q, input [N*11-1:0] smem_q,
  // design u_table.u_entry_%.u_left, each of N:
  input [N*3-1:0] low_q, input [N*13-1:0] mid_q, input [N*16-1:0] high_q,
  input [N*1-1:0] mid_owes_q, input [N*1-1:0] high_owes_q, input [N*1-1:0] few_q, input [N*1-1:0] fresh_q,
  // design u_dispatch.u_arbiter.u_channel_0.u_kernels:
  input [3:0] c0__active_q,
  input [3:0] c0__sel_c_q, input [3:0] c0__sel_p_q,
  // design u_dispatch.u_arbiter.u_channel_0:
  input [3:0] c0__held_q,
  input [2:0] c0__held_count_0_q,
  // design u_dispatch.u_arbiter.u_channel_0, each of P:
  input [P*8-1:0] c0__held_sm_q, input [P*1-1:0] c0__held_on_q, input [P*2-1:0] c0__held_rank_q,
  // design u_dispatch.u_arbiter.u_channel_0.u_phase:
  input [2:0] c0__slice_q,
  // design u_dispatch.u_arbiter.u_channel_0.u_kernels.u_entry_%, each of K:
  input [K*LN-1:0] c0__slot_q, input [K*8-1:0] c0__id_q, input [K*1-1:0] c0__kind_q,
  input [K*3-1:0] c0__part_q,
  input [K*7-1:0] c0__warps_q, input [K*9-1:0] c0__regs_q, input [K*11-1:0] c0__smem_q,
  // design u_dispatch.u_arbiter.u_channel_0.u_count_%, each of K:
  input [K*3-1:0] c0__index_low_q, input [K*29-1:0] c0__index_high_q,
  // design u_dispatch.u_arbiter.u_channel_0.u_count_%.u_left, each of K:
  input [K*3-1:0] c0__low_q, input [K*13-1:0] c0__mid_q, input [K*16-1:0] c0__high_q,
  input [K*1-1:0] c0__mid_owes_q, input [K*1-1:0] c0__high_owes_q, input [K*1-1:0] c0__few_q, input [K*1-1:0] c0__fresh_q,
  // design u_dispatch.u_arbiter.u_channel_1.u_kernels:
  input [3:0] c1__active_q,
  input [3:0] c1__sel_c_q, input [3:0] c1__sel_p_q,
  // design u_dispatch.u_arbiter.u_channel_1:
  input [3:0] c1__held_q,
  input [2:0] c1__held_count_0_q,
  // design u_dispatch.u_arbiter.u_channel_1, each of P:
  input [P*8-1:0] c1__held_sm_q, input [P*1-1:0] c1__held_on_q, input [P*2-1:0] c1__held_rank_q,
  // design u_dispatch.u_arbiter.u_channel_1.u_phase:
  input [2:0] c1__slice_q,
  // design u_dispatch.u_arbiter.u_channel_1.u_kernels.u_entry_%, each of K:
  input [K*LN-1:0] c1__slot_q, input [K*8-1:0] c1__id_q, input [K*1-1:0] c1__kind_q,
  input [K*3-1:0] c1__part_q,
  input [K*7-1:0] c1__warps_q, input [K*9-1:0] c1__regs_q, input [K*11-1:0] c1__smem_q,
  // design u_dispatch.u_arbiter.u_channel_1.u_count_%, each of K:
  input [K*3-1:0] c1__index_low_q, input [K*29-1:0] c1__index_high_q,
  // design u_dispatch.u_arbiter.u_channel_1.u_count_%.u_left, each of K:
  input [K*3-1:0] c1__low_q, input [K*13-1:0] c1__mid_q, input [K*16-1:0] c1__high_q,
  input [K*1-1:0] c1__mid_owes_q, input [K*1-1:0] c1__high_owes_q, input [K*1-1:0] c1__few_q, input [K*1-1:0] c1__fresh_q
);
  // The same kernels and the same SM are watched by all.
  always @* assume (w == s & w == partitions__s & watched__k == partitions__k & pick_a == window__pick_a & pick_b == window__pick_b & pick_a == scheduler__pick_a);

  // SM w is picked from.
  wire at_p = phase == (s % 3 + 1) % 3;

  // Every active kernel of the arbiters: those of channel 0, then those of channel 1.
  localparam E = 2 * K;
  wire [E-1:0] active, compares, picks, holds, mid_owes, high_owes, few, fresh, kind;
  wire [E*3-1:0] low;
  wire [E*13-1:0] mid;
  wire [E*16-1:0] high;
  wire [E*8-1:0] id;
  // CTAs that are held: their ports, SMs, and numbers among those that were placed together; of those, how many were taken, and which.
  wire [E*P-1:0] ports, took;
  wire [E*P*8-1:0] sms;
  wire [E*P*2-1:0] ranks;
  wire [E*3-1:0] size, taken;
  wire [E*LN-1:0] slots;
  wire [E*3-1:0] parts, compared_part;
  wire [E*27-1:0] needs, compared, picked;
  wire [E*32-1:0] left, index;
  genvar i, j, k;
  generate
    for (k = 0; k < E; k = k + 1) begin : entry
      localparam O = k % K;
      if (k < K) begin : of_0
        assign active[k] = c0__active_q[O], compares[k] = c0__sel_c_q[O], picks[k] = c0__sel_p_q[O], holds[k] = c0__held_q[O];
        assign mid_owes[k] = c0__mid_owes_q[O], high_owes[k] = c0__high_owes_q[O], few[k] = c0__few_q[O], fresh[k] = c0__fresh_q[O], kind[k] = c0__kind_q[O];
        assign sms[k*P*8 +: P*8] = c0__held_sm_q, ports[k*P +: P] = {P{holds[k]}} & (P == 1 ? {P{1'b1}} : c0__held_on_q);
        assign ranks[k*P*2 +: P*2] = c0__held_rank_q, size[k*3 +: 3] = c0__held_count_0_q;
        assign id[k*8 +: 8] = c0__id_q[O*8 +: 8], slots[k*LN +: LN] = c0__slot_q[O*LN +: LN];
        assign parts[k*3 +: 3] = c0__part_q[O*3 +: 3], compared_part[k*3 +: 3] = partitions__part[2:0];
        assign needs[k*27 +: 27] = {c0__warps_q[O*7 +: 7], c0__regs_q[O*9 +: 9], c0__smem_q[O*11 +: 11]};
        assign compared[k*27 +: 27] = {warps_1[6:0], regs_1[8:0], smem_1[10:0]};
        assign picked[k*27 +: 27] = {warps_2[6:0], regs_2[8:0], smem_2[10:0]};
        assign low[k*3 +: 3] = c0__low_q[O*3 +: 3], mid[k*13 +: 13] = c0__mid_q[O*13 +: 13], high[k*16 +: 16] = c0__high_q[O*16 +: 16];
        assign index[k*32 +: 32] = {c0__index_high_q[O*29 +: 29], c0__index_low_q[O*3 +: 3]};
      end else begin : of_1
        // With a single arbiter there is no channel 1.
        assign active[k] = C == 2 & c1__active_q[O], compares[k] = c1__sel_c_q[O], picks[k] = c1__sel_p_q[O], holds[k] = C == 2 & c1__held_q[O];
        assign mid_owes[k] = c1__mid_owes_q[O], high_owes[k] = c1__high_owes_q[O], few[k] = c1__few_q[O], fresh[k] = c1__fresh_q[O], kind[k] = c1__kind_q[O];
        assign sms[k*P*8 +: P*8] = c1__held_sm_q, ports[k*P +: P] = {P{holds[k]}} & (P == 1 ? {P{1'b1}} : c1__held_on_q);
        assign ranks[k*P*2 +: P*2] = c1__held_rank_q, size[k*3 +: 3] = c1__held_count_0_q;
        assign id[k*8 +: 8] = c1__id_q[O*8 +: 8], slots[k*LN +: LN] = c1__slot_q[O*LN +: LN];
        assign parts[k*3 +: 3] = c1__part_q[O*3 +: 3], compared_part[k*3 +: 3] = partitions__part[C*3-1 -: 3];
        assign needs[k*27 +: 27] = {c1__warps_q[O*7 +: 7], c1__regs_q[O*9 +: 9], c1__smem_q[O*11 +: 11]};
        assign compared[k*27 +: 27] = {warps_1[C*7-1 -: 7], regs_1[C*9-1 -: 9], smem_1[C*11-1 -: 11]};
        assign picked[k*27 +: 27] = {warps_2[C*7-1 -: 7], regs_2[C*9-1 -: 9], smem_2[C*11-1 -: 11]};
        assign low[k*3 +: 3] = c1__low_q[O*3 +: 3], mid[k*13 +: 13] = c1__mid_q[O*13 +: 13], high[k*16 +: 16] = c1__high_q[O*16 +: 16];
        assign index[k*32 +: 32] = {c1__index_high_q[O*29 +: 29], c1__index_low_q[O*3 +: 3]};
      end
      // An eight that was taken in the cycle before is still owed.
      wire [12:0] mid_k = mid[k*13 +: 13];
      wire [28:0] eights_k = {high[k*16 +: 16] - high_owes[k], mid_k - mid_owes[k]};
      wire [31:0] left_k = {eights_k, low[k*3 +: 3]};
      assign left[k*32 +: 32] = left_k;
      reg [P-1:0] took_k;
      reg [2:0] taken_k;
      integer q;
      always @* begin
        taken_k = 0;
        for (q = 0; q < P; q = q + 1) took_k[q] = P > 1 & holds[k] & q < size[k*3 +: 3];
        for (q = 0; q < P; q = q + 1) if (ports[k*P + q]) took_k[ranks[(k*P + q)*2 +: 2] % P] = 0;
        for (q = 0; q < P; q = q + 1) taken_k = taken_k + took_k[q];
      end
      assign took[k*P +: P] = took_k, taken[k*3 +: 3] = taken_k;
      lemma counts_rightly (on & active[k], left_k != 0 & (fresh[k] ? !few[k] & !picks[k] & !holds[k] & !mid_owes[k] : few[k] == (eights_k == 0))
        & (!mid_owes[k] ? !high_owes[k] : high_owes[k] == (mid_k == 0) & low[k*3+2]));
      // What an arbiter compares is what its kernel needs.
      lemma compares_its_needs (on & active[k] & compares[k], compared[k*27 +: 27] == needs[k*27 +: 27]);
      lemma compares_what_it_asked_for (on & compares[k], k < K ? valid_1[0] : valid_1[C-1]);
      lemma compares_its_part (on & active[k] & compares[k], compared_part[k*3 +: 3] == parts[k*3 +: 3]);
      lemma picks_by_its_part (on & active[k] & picks[k] & parts[k*3 +: 3] == watched__k & outside & at_p, k < K ? ~allow_a_1[lane] : ~allow_b_1[lane]);
      lemma picks_by_its_needs (on & active[k] & picks[k], picked[k*27 +: 27] == needs[k*27 +: 27]);
    end
  endgenerate

  // What stands on w, and what is on its way there, held on a channel, as the table and the arbiters know it.
  reg [15:0] all_ctas, all_warps, all_regs, all_smem;
  integer n, m, o;
  always @* begin
    all_ctas = 0;
    all_warps = 0;
    all_regs = 0;
    all_smem = 0;
    for (n = 0; n < N; n = n + 1)
      for (m = 0; m < CTAS; m = m + 1) if (on_w[n*32 +: 32] > m) begin
        all_ctas = all_ctas + 1;
        all_warps = all_warps + warps_q[n*7 +: 7];
        all_regs = all_regs + regs_q[n*9 +: 9];
        all_smem = all_smem + smem_q[n*11 +: 11];
      end
    for (n = 0; n < E; n = n + 1) for (o = 0; o < P; o = o + 1) if (ports[n*P + o] & sms[(n*P + o)*8 +: 8] == w) begin
      all_ctas = all_ctas + 1;
      all_warps = all_warps + needs[n*27+20 +: 7];
      all_regs = all_regs + needs[n*27+11 +: 9];
      all_smem = all_smem + needs[n*27 +: 11];
    end
  end

  wire [2:0] first = 1;
  wire a_lives = a & ~a_done, b_lives = b & ~b_done;
  // PIPELINED: places named by a retirement of the cycle before.
  reg [N-1:0] late;
  always @* begin
    late = 0;
    if (LATE) for (n = 0; n < R; n = n + 1) late = late | named_q_q[n*N +: N];
  end
  always @* if (on) begin
    in_step: assert ((c0__slice_q ^ first) == (first << phase) & (C == 1 | (c1__slice_q ^ first) == (first << phase)));
    // What a part gives is what the next one gets: else both would keep their promises, and nothing go from one to the other.
    dispatch_is_joined: assert (scheduler__disp_ready_i & table__disp_valid_i == scheduler__disp_valid_o);
    queues_are_joined: assert (kern_valid_i == next_valid_o & next_ready_i == kern_ready_o);
    needs_are_joined: assert (need_valid_i == need_valid_o & part_i == need_part_o);
    lanes_are_joined: assert ({allow_a_i, allow_b_i} == {allow_a_o, allow_b_o} & {fit_a_i, fit_b_i} == {fit_a_o, fit_b_o}
      & {place_a_i, place_b_i} == {place_a_o, place_b_o});
    retirement_is_joined: assert (scheduler__ret_valid_i == table__ret_valid_o & table__ret_ready_i == scheduler__ret_ready_o);
    completions_alike: assert (other == occupancy__other & since == occupancy__since);
    partitions_in_step: assert (partitions__phase == phase);
    woken_while_it_writes: assert (waited == 0 | woken | !HOLDS);
    ages_in_step: assert (partitions__age == age | partitions__age >= 3 & age >= 3);
    member_alike: assert (partitions__member == member & partitions__changes == changes);
    ctas_add_up: assert (ctas == all_ctas);
    warps_add_up: assert (warps == all_warps);
    registers_add_up: assert (regs == all_regs);
    shared_memory_adds_up: assert (smem == all_smem);
    waits_in_both: assert (waiting == (held & ~running));
    runs_in_both: assert (window__running == running & busy == running);
    what_waits_runs: assert (~|(queued & ~running));
    retired_rightly: assert (~wrong_before);
    next_id_alike: assert (scheduler__next_id == next_id);
    a_alike: assert (window__a == a & scheduler__a == a & window__a_done == a_done & scheduler__a_done == a_done & window__b == b);
    a_has_its_id: assert (!a | window__a_id == a_id & scheduler__a_id == a_id);
    a_has_its_slot: assert (!a | a_slot == scheduler__a_slot);
    a_runs_alike: assert (!a_lives | scheduler__a_runs == |(a_slot & running));
    none_is_early_at_first: assert (!a_lives | has_slot | ~|early);
    nothing_before_a: assert (a | ~a_done & ~has_slot & ~named);
    nothing_before_b: assert (b | ~b_waits_for_a);
    a_has_shown_its_slot: assert (!a_lives | has_slot == |(a_slot & running) & (has_slot ? a_slot == 1 << slot : placed == 0));
    gathers_a: assert (!a_lives | (LANES == 0 ? ~named : |(gathered_q & a_place) == named));
    b_waits_in_the_window: assert (!(b_waits_for_a & a_lives) | window__b_waits_for_a & b_lives & |(b_slot & waiting));
  end
  generate
    for (i = 0; i < C; i = i + 1) begin : channel
      for (j = 0; j < P; j = j + 1) begin : port
        reg stands_here;
        integer e;
        always @* begin
          stands_here = 0;
          for (e = i * K; e < i * K + K; e = e + 1) stands_here = stands_here | ports[e*P + j];
        end
        lemma stands_alike (on, stands[i*P + j] == stands_here);
      end
    end
    for (i = 0; i < N; i = i + 1) begin : slot_
      // CTAs of the kernel in slot i that are still to be placed, and whether an arbiter, the right one, has it.
      wire [7:0] id_i = id_q[i*8 +: 8];
      wire [12:0] mid_i = mid_q[i*13 +: 13];
      wire [28:0] eights_i = {high_q[i*16 +: 16] - high_owes_q[i], mid_i - mid_owes_q[i]};
      wire [31:0] left_i = {eights_i, low_q[i*3 +: 3]}, out_i = out[i*32 +: 32], on_w_i = on_w[i*32 +: 32];
      wire [26:0] needs_i = {warps_q[i*7 +: 7], regs_q[i*9 +: 9], smem_q[i*11 +: 11]};
      reg [31:0] rest, next;
      reg [P-1:0] took_i, early_i;
      integer f;
      reg [E-1:0] has, wrong, unlike;
      reg [R-1:0] retiring;
      integer e, r;
      wire at = C == 2 & table__type[i];
      always @* begin
        rest = 0;
        next = 0;
        took_i = 0;
        for (e = 0; e < E; e = e + 1) begin
          has[e] = active[e] & slots[e*LN +: LN] == i;
          wrong[e] = has[e] & (e >= K) != at;
          unlike[e] = has[e] & (needs_i != needs[e*27 +: 27] | table__part_q[i*3 +: 3] != parts[e*3 +: 3] | id_i != id[e*8 +: 8] | table__type[i] != kind[e]);
          if (has[e]) rest = rest | left[e*32 +: 32] - taken[e*3 +: 3];
          if (has[e]) next = next | index[e*32 +: 32] + taken[e*3 +: 3];
          if (has[e]) took_i = took_i | took[e*P +: P];
        end
        for (r = 0; r < R; r = r + 1) retiring[r] = ret_valid_o[r] & ret_slot_o[r*LN +: LN] == i;
      end
      // Of those that were placed together, the first that was not taken comes first.
      always @* begin
        early_i = took_i;
        for (f = 0; f < P; f = f + 1) if (early_i[0]) early_i = early_i >> 1;
      end
      wire handed = running[i] & ~queued[i];
      wire mine_a = a_lives & a_slot[i];
      lemma few_is_known (on & held[i], fresh_q[i] ? !few_q[i] : few_q[i] == (eights_i == 0));
      lemma owes_what_is_there (on & held[i], !mid_owes_q[i] ? !high_owes_q[i] : handed & high_owes_q[i] == (mid_i == 0) & low_q[i*3+2]);
      lemma fresh_before_it_runs (on & held[i] & fresh_q[i], !running[i]);
      lemma only_where_it_belongs (on, ~|wrong & ~|(has & (has - 1'b1)) & (handed | ~|has));
      lemma fields_alike (on, ~|unlike);
      lemma needs_fit_an_empty_sm (on & held[i] & ~markers[i], warps_q[i*7 +: 7] != 0 & warps_q[i*7 +: 7] <= WARPS
        & regs_q[i*9 +: 9] != 0 & regs_q[i*9 +: 9] <= REGS & smem_q[i*11 +: 11] <= SMEM);
      lemma those_on_w_are_out (on, on_w_i <= out_i & on_w_i <= CTAS);
      lemma none_is_out_before (on, handed | out_i == 0);
      lemma left_is_to_come_or_out (on & handed, {1'b0, left_i} == {1'b0, rest} + {1'b0, out_i});
      lemma a_is_held (on & mine_a, held[i] & id_i == a_id & table__type[i] == type & table__part_q[i*3 +: 3] == part);
      lemma a_has_ended_but_for_the_rest (on & mine_a, {1'b0, left_i} + {1'b0, ended} == {1'b0, grid});
      lemma a_is_placed_but_for_the_rest (on & mine_a, handed ? {1'b0, placed} + {1'b0, rest} == {1'b0, grid} & (~|has | next == placed) : placed == 0 & left_i == grid);
      lemma a_is_early (on & mine_a, early == early_i);
      lemma a_has_ended (on & mine_a & has_slot & ended == grid, running[i] & left_i == 0);
      lemma retires_what_has_ended (on & running[i] & left_i == 0, |retiring | &ret_valid_o);
      lemma b_is_held (on & b_lives & b_slot[i], held[i] & id_i == b_id);
      for (j = 0; j < i; j = j + 1) begin : other
        lemma ids_differ (on & held[i] & held[j], id_i != id_q[j*8 +: 8]);
      end
      if (LIST) begin : list
        lemma id_alike (on & held[i], id_i == list__ids_q[i*8 +: 8]);
      end else for (j = 0; j < N; j = j + 1) begin : place
        wire here = used_q[j] & ~gone_q[j] & ~late[j] & slots_q[j*LN +: LN] == i;
        lemma id_alike (on & here, held[i] & id_i == matrix__ids_q[j*8 +: 8]);
      end
    end
  endgenerate
endmodule
