// What the CTA arbiters promise, single and typed. In each channel the kernels of one slot are watched: which one is free. Their page:
// rtl/src/cta_arbiter_typed/README.md.
module cta_arbiter_properties #(
  parameter LN = 3,        // bits of a slot's number
  parameter S = 8,         // SMs
  parameter C = 2,         // channels
  parameter K = 1,         // active kernels per channel
  parameter P = 1,         // CTA ports per channel: port p has the bank of the lanes l with l mod P = p
  parameter L = 4,         // lanes
  parameter G = 1,         // groups of up to 8 lanes
  parameter HOLDS = 0      // 1: the ring stands still at times
) (
  input clk_i,
  input rst_ni,
  input run_i,
  input [C-1:0] kern_valid_i,
  input [C-1:0] kern_ready_o,
  input [C*LN-1:0] kern_slot_i,
  input [C*8-1:0] kern_id_i,
  input [C*32-1:0] kern_grid_i,
  input [C-1:0] kern_type_i,
  input [C*3-1:0] kern_part_i,
  input [C*7-1:0] kern_warps_i,
  input [C*9-1:0] kern_regs_i,
  input [C*11-1:0] kern_smem_i,
  input [C-1:0] need_valid_o,
  input [C*7-1:0] need_warps_o,
  input [C*9-1:0] need_regs_o,
  input [C*11-1:0] need_smem_o,
  input [C*3-1:0] need_part_o,
  input [8*G-1:0] fit_a_i, input [8*G-1:0] fit_b_i,
  input [8*G-1:0] place_a_o, input [8*G-1:0] place_b_o,
  input [C*P-1:0] cta_valid_o,
  input [C*P-1:0] cta_ready_i,
  input [C*P*8-1:0] cta_sm_o,
  input [C*P*LN-1:0] cta_slot_o,
  input [C*P*8-1:0] cta_id_o,
  input [C*P*32-1:0] cta_index_o,
  input [C*P-1:0] cta_type_o,
  input [C-1:0] no_room_o
);
  genvar c;
  generate
    for (c = 0; c < C; c = c + 1) begin : channel
      channel_properties #(.LN(LN), .S(S), .K(K), .P(P), .L(L), .G(G)) is (
        clk_i, rst_ni, !HOLDS | run_i, kern_valid_i[c], kern_ready_o[c], kern_slot_i[c*LN +: LN], kern_id_i[c*8 +: 8], kern_grid_i[c*32 +: 32],
        kern_type_i[c], kern_part_i[c*3 +: 3], kern_warps_i[c*7 +: 7], kern_regs_i[c*9 +: 9], kern_smem_i[c*11 +: 11],
        need_valid_o[c], need_warps_o[c*7 +: 7], need_regs_o[c*9 +: 9], need_smem_o[c*11 +: 11], need_part_o[c*3 +: 3],
        c ? fit_b_i : fit_a_i, c ? place_b_o : place_a_o, cta_valid_o[c*P +: P], cta_ready_i[c*P +: P], cta_sm_o[c*P*8 +: P*8],
        cta_slot_o[c*P*LN +: P*LN], cta_id_o[c*P*8 +: P*8], cta_index_o[c*P*32 +: P*32], cta_type_o[c*P +: P], no_room_o[c]
      );
    end
  endgenerate
endmodule

module channel_properties #(
  parameter LN = 3, parameter S = 8, parameter K = 1, parameter P = 1, parameter L = 4, parameter G = 1
) (
  input clk_i, input rst_ni, input steps, input kern_valid, input kern_ready, input [LN-1:0] kern_slot, input [7:0] kern_id, input [31:0] kern_grid,
  input kern_type, input [2:0] kern_part, input [6:0] kern_warps, input [8:0] kern_regs, input [10:0] kern_smem,
  input need_valid, input [6:0] need_warps, input [8:0] need_regs, input [10:0] need_smem, input [2:0] need_part,
  input [8*G-1:0] fit, input [8*G-1:0] place, input [P-1:0] cta_valid, input [P-1:0] cta_ready, input [P*8-1:0] cta_sm,
  input [P*LN-1:0] cta_slot, input [P*8-1:0] cta_id, input [P*32-1:0] cta_index, input [P-1:0] cta_type, input no_room
);
  reg reset_seen = 0;
  always @(posedge clk_i) if (!rst_ni) reset_seen <= 1;
  wire on = reset_seen & rst_ni;
  wire [8*G-1:0] one = 1;

  // A: the kernel of one slot, whichever that is, until its last CTA is taken; then the next that comes with that slot.
  (* anyconst *) wire [LN-1:0] slot;
  wire pick = kern_slot == slot;
  reg a;
  reg [7:0] id;
  reg [31:0] grid, index;
  reg type;
  reg [2:0] part;
  reg [6:0] warps;
  reg [8:0] regs;
  reg [10:0] smem;
  wire comes = kern_valid & kern_ready;
  // The CTAs on the ports are of one kernel, and were placed together; how many were: those that are left, or more. It goes on with the next
  // ones when all are taken.
  reg [P-1:0] stands;
  wire held = |stands;
  reg [2:0] size;
  reg [2:0] number;
  reg of_a;
  integer n;
  always @* begin
    number = 0;
    of_a = 0;
    for (n = 0; n < P; n = n + 1) begin
      number = number + cta_valid[n];
      if (cta_valid[n] & a & cta_slot[n*LN +: LN] == slot) of_a = 1;
    end
    if (held) number = size;
    if (P == 1) number = 1;
  end
  wire taken = |cta_valid & ~|(cta_valid & ~cta_ready);
  always @(posedge clk_i)
    if (!rst_ni) begin
      a <= 0;
    end else begin
      if (comes & pick & ~a) begin
        a <= 1;
        id <= kern_id;
        grid <= kern_grid;
        index <= 0;
        type <= kern_type;
        part <= kern_part;
        warps <= kern_warps;
        regs <= kern_regs;
        smem <= kern_smem;
      end else if (taken & of_a) begin
        index <= index + number;
        if (index + number == grid) a <= 0;
      end
    end
  // A is there, and a CTA with its needs was looked for one and two cycles ago; the channel took another kernel's CTA then; for how many
  // cycles none with A's needs was looked for.
  reg [1:0] looked_for_a, other_taken;
  reg [5:0] unasked;

  // What was asked two cycles ago; what is held; where the ring is.
  reg [1:0] asked_a;
  reg [P*8-1:0] held_sm;
  reg [P*LN-1:0] held_slot;
  reg [P*32-1:0] held_index;
  reg [1:0] phase;
  wire asks_a = need_valid & need_warps == warps & need_regs == regs & need_smem == smem & need_part == part;
  // In the cycle in which A comes, its needs are those beside it.
  wire asks_at_once = comes & pick & need_valid & need_warps == kern_warps & need_regs == kern_regs & need_smem == kern_smem & need_part == kern_part;
  always @(posedge clk_i) begin
    looked_for_a <= rst_ni & a ? {looked_for_a[0], asks_a} : 2'b0;
    other_taken <= {other_taken[0], |(cta_valid & cta_ready) & ~of_a};
    unasked <= !rst_ni | !a | asks_a ? 0 : unasked + (unasked < 63);
    asked_a <= {asked_a[0], a ? asks_a : asks_at_once};
    stands <= rst_ni ? cta_valid & ~cta_ready : {P{1'b0}};
    size <= number;
    held_sm <= cta_sm;
    held_slot <= cta_slot;
    held_index <= cta_index;
    phase <= !rst_ni ? 0 : !steps ? phase : phase == 2 ? 0 : phase + 1;
  end

  // The slice that is picked from, and its lanes that have an SM.
  wire [1:0] slice = phase == 0 ? 2 : phase - 1;
  reg [8*G-1:0] there;
  integer m;
  always @* begin
    there = 0;
    for (m = 0; m < S; m = m + 1) if (slice == m % 3) there[4 * (m / 12) + m % 4] = 1;
  end

  // The neighbours' promises: a slot holds one kernel; a grid has a CTA; nothing fits where there is no SM; the ring goes on where something
  // fits, and after a reset.
  reg began;               // there was a cycle since the reset
  always @* if (on) begin
    assume (!kern_valid | kern_grid != 0);
    assume (!(kern_valid & a) | kern_slot != slot);
    assume (~|(fit & ~there));
    assume (steps | began & ~|fit);
  end

  // Of each port: the lane of its bank that gets the CTA; whether its SM is right, and whether that is an SM of the port.
  reg [8*G-1:0] bank [0:P-1], gets [0:P-1];
  reg [P-1:0] right_sm, its_sm;
  integer l, q, x;
  always @* begin
    right_sm = 0;
    for (q = 0; q < P; q = q + 1) begin
      for (l = 0; l < 8 * G; l = l + 1) bank[q][l] = l % P == q;
      gets[q] = place & bank[q];
      for (m = 0; m < S; m = m + 1) if (cta_sm[q*8 +: 8] == m & gets[q][4 * (m / 12) + m % 4] & slice == m % 3) right_sm[q] = 1;
      its_sm[q] = cta_sm[q*8 +: 8] < S & cta_sm[q*8 +: 8] % P == q;
    end
  end

  // A CTA of A was looked for, and nothing stands in its way: A is unfinished, and so is any kernel with the same needs.
  wire looked_at = a & looked_for_a[1] & ~held & ~|other_taken;
  // Of the slices at P, U and C: lanes after the one that got the bank's last CTA; it was seen to let a turn pass since. Whether anything
  // fitted in the bank one cycle ago, and two.
  reg [8*G-1:0] after_p, after_u, after_c, after_next;
  reg [P-1:0] passed_p, passed_u, passed_c;
  reg [2*P-1:0] fitted;
  // The bank whose turn it is: it gets the first of the CTAs that are placed next.
  reg [1:0] first, next;
  // Of each bank: it fits, and nothing is placed; it may let a turn pass. How many CTAs come before its own.
  reg [P-1:0] fits, idle, may_pass, passes, in_turn;
  reg [2:0] rank [0:P-1], ranks;
  reg all_left, out_of_turn, waits, one_each, ranked, numbered;
  reg [8*G-1:0] later, candidates;
  always @* begin
    // As many are placed as A has left.
    all_left = |place & of_a & number == grid - index;
    in_turn = {P{1'b1}};
    one_each = 1;
    after_next = 0;
    for (q = 0; q < P; q = q + 1) begin
      later = fit & after_p & bank[q];
      candidates = |later ? later : fit & bank[q];
      fits[q] = |(fit & bank[q]);
      if (|(gets[q] & (gets[q] - one))) one_each = 0;
      if (|gets[q] & gets[q] != (candidates & ~(candidates - one))) in_turn[q] = 0;
      idle[q] = looked_at & fits[q] & ~|gets[q];
      may_pass[q] = 0;
      // The slice has one SM less than another slice of any bank.
      for (x = 0; x < 3 * P; x = x + 1)
        if (x % P == q & x % 3 == slice & S % (3 * P) != 0 & x >= S % (3 * P)) may_pass[q] = ~|later & (fitted[q] | fitted[P + q]) & ~passed_p[q];
      after_next = after_next | bank[q] & (|gets[q] ? ~((gets[q] - one) | gets[q]) : after_p);
    end
    // Of a kernel other than A it is not known how many are left.
    passes = |place & (~of_a | all_left) ? {P{1'b0}} : idle;
    // In turn from `first` on: how many come before, and none after one that would have had room.
    ranks = 0;
    next = first;
    waits = 0;
    out_of_turn = 0;
    for (q = 0; q < P; q = q + 1) rank[q] = 0;
    for (x = 0; x < P; x = x + 1) begin
      q = (first + x) % P;
      if (|gets[q]) begin
        rank[q] = ranks;
        ranks = ranks + 1;
        next = (q + 1) % P;
        if (waits) out_of_turn = 1;
      end
      if (idle[q] & ~may_pass[q] & all_left) waits = 1;
    end
    ranked = 1;
    numbered = 1;
    for (q = 0; q < P; q = q + 1) if (cta_valid[q] & of_a) begin
      if (|place & cta_index[q*32 +: 32] != index + rank[q]) ranked = 0;
      if (cta_index[q*32 +: 32] - index >= number | cta_index[q*32 +: 32] >= grid) numbered = 0;
      for (x = 0; x < q; x = x + 1) if (cta_valid[x] & cta_index[q*32 +: 32] == cta_index[x*32 +: 32]) numbered = 0;
    end
  end
  always @(posedge clk_i) began <= rst_ni;
  always @(posedge clk_i)
    if (!rst_ni) begin
      {after_p, after_u, after_c} <= 0;
      {passed_p, passed_u, passed_c} <= 0;
      fitted <= 0;
      first <= 0;
    end else begin
      if (steps) begin
        after_u <= after_next;
        after_c <= after_u;
        after_p <= after_c;
        for (q = 0; q < P; q = q + 1) passed_u[q] <= ~|gets[q] & (passed_p[q] | passes[q]);
        passed_c <= passed_u;
        passed_p <= passed_c;
      end
      fitted <= {fitted[P-1:0], fits};
      first <= next;
    end

  // Of each port, what is on it.
  reg goes_out, to_placed_sm, to_an_sm, held_stays, its_own, idle_is_nothing;
  always @* begin
    {goes_out, to_placed_sm, to_an_sm, held_stays, its_own, idle_is_nothing} = ~6'd0;
    for (q = 0; q < P; q = q + 1) begin
      if (|gets[q] != (cta_valid[q] & ~held)) goes_out = 0;
      if (|gets[q] & ~right_sm[q]) to_placed_sm = 0;
      if (cta_valid[q] & ~its_sm[q]) to_an_sm = 0;
      if (stands[q] & ~(cta_valid[q] & cta_sm[q*8 +: 8] == held_sm[q*8 +: 8] & cta_slot[q*LN +: LN] == held_slot[q*LN +: LN]
        & cta_index[q*32 +: 32] == held_index[q*32 +: 32])) held_stays = 0;
      if (held & ~stands[q] & cta_valid[q]) held_stays = 0;
      if (cta_valid[q] & of_a & (cta_slot[q*LN +: LN] != slot | cta_id[q*8 +: 8] != id | cta_type[q] != type)) its_own = 0;
      if (~cta_valid[q] & (cta_sm[q*8 +: 8] != 0 | cta_slot[q*LN +: LN] != 0 | cta_id[q*8 +: 8] != 0 | cta_index[q*32 +: 32] != 0 | cta_type[q]))
        idle_is_nothing = 0;
    end
  end

  always @* if (on) begin
    // A CTA would be placed where it does not fit, or a port's on two SMs.
    places_one_that_fits: assert (~|(place & ~fit) & one_each);
    // An SM would be charged for a CTA that it does not get, or get one that it is not charged for.
    a_placed_cta_goes_out: assert (goes_out);
    // The wrong SM would be charged.
    goes_to_the_placed_sm: assert (to_placed_sm);
    // A CTA would be sent to an SM that is not there, or by another's port.
    goes_to_an_sm: assert (to_an_sm);
    // An SM would get one CTA after the other while those beside it stay empty.
    lanes_in_turn: assert (&in_turn);
    // A kernel's first CTAs would always go to the same SMs.
    banks_in_turn: assert (ranked & ~out_of_turn);
    // A CTA would wait though there is room for it.
    places_what_fits: assert (~|(passes & ~may_pass));
    // A kernel would wait while others have the channel to themselves.
    asked_for_in_its_turn: assert (!a | unasked + !asks_a <= 6 * (K - 1));
    // A held CTA would change on its way.
    held_cta_stays: assert (held_stays & (!held | ~|place));
    // A CTA would run twice, or not at all.
    indices_in_order: assert (numbered);
    // The SM would be told another kernel.
    carries_its_kernel: assert (its_own);
    // The answer for one kernel's needs would be used for another's.
    was_asked_for: assert (!(|place & of_a) | asked_a[1]);
    // A payload that nobody may look at would be looked at.
    idle_is_zero: assert (idle_is_nothing);
    // A lack of room would be counted where there was room.
    no_room_is_said_rightly: assert (!no_room | ~|fit & ~|cta_valid);
    // A lack of room would not be counted.
    no_room_is_said: assert (!(looked_at & ~|fit) | no_room);
  end
  always @* if (on) begin
    // States without which a proof would say little.
    reaches_last: cover (taken & of_a & index + number == grid & grid == 3);
    reaches_held: cover (held & of_a);
    reaches_next: cover (a & index != 0 & |cta_valid & ~of_a & K > 1 | K == 1 & |cta_valid & of_a & index != 0);
    reaches_no_room: cover (no_room & a);
  end
  generate
    if (K > 1) begin : a_second_turn
      always @* if (on) begin
        // States that there are at such sizes only.
        reaches_a_second_turn: cover (a & unasked == 3 * (K - 1) + 1);
      end
    end
    if (S % (3 * P) != 0 && S >= 4 * P) begin : a_turn_that_passes
      always @* if (on) begin
        // States that there are at such sizes only.
        reaches_a_turn_that_passes: cover (|passes);
      end
    end
    if (P > 1 && S >= 3 * P) begin : a_bank_that_gets_none
      always @* if (on) begin
        // States that there are at such sizes only.
        reaches_a_bank_that_gets_none: cover (waits);
      end
    end
    if (S >= 3 * P) begin : all_ports
      always @* if (on) begin
        // States that there are at such sizes only.
        reaches_all_ports: cover (&cta_valid);
      end
    end
  endgenerate
endmodule
