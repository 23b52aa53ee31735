// What the CTA arbiters promise, single and typed. In each channel the kernels of one slot are watched: which one is free. Their page:
// rtl/src/cta_arbiter_typed/README.md.
module cta_arbiter_properties #(
  parameter LN = 3,        // bits of a slot's number
  parameter S = 8,         // SMs
  parameter C = 2,         // channels
  parameter K = 1,         // active kernels per channel
  parameter L = 4,         // lanes
  parameter G = 1          // groups of up to 8 lanes
) (
  input clk_i,
  input rst_ni,
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
  input [C-1:0] cta_valid_o,
  input [C-1:0] cta_ready_i,
  input [C*8-1:0] cta_sm_o,
  input [C*LN-1:0] cta_slot_o,
  input [C*8-1:0] cta_id_o,
  input [C*32-1:0] cta_index_o,
  input [C-1:0] cta_type_o,
  input [C-1:0] no_room_o
);
  genvar c;
  generate
    for (c = 0; c < C; c = c + 1) begin : channel
      channel_properties #(.LN(LN), .S(S), .K(K), .L(L), .G(G)) is (
        clk_i, rst_ni, kern_valid_i[c], kern_ready_o[c], kern_slot_i[c*LN +: LN], kern_id_i[c*8 +: 8], kern_grid_i[c*32 +: 32],
        kern_type_i[c], kern_part_i[c*3 +: 3], kern_warps_i[c*7 +: 7], kern_regs_i[c*9 +: 9], kern_smem_i[c*11 +: 11],
        need_valid_o[c], need_warps_o[c*7 +: 7], need_regs_o[c*9 +: 9], need_smem_o[c*11 +: 11], need_part_o[c*3 +: 3],
        c ? fit_b_i : fit_a_i, c ? place_b_o : place_a_o, cta_valid_o[c], cta_ready_i[c], cta_sm_o[c*8 +: 8],
        cta_slot_o[c*LN +: LN], cta_id_o[c*8 +: 8], cta_index_o[c*32 +: 32], cta_type_o[c], no_room_o[c]
      );
    end
  endgenerate
endmodule

module channel_properties #(
  parameter LN = 3, parameter S = 8, parameter K = 1, parameter L = 4, parameter G = 1
) (
  input clk_i, input rst_ni, input kern_valid, input kern_ready, input [LN-1:0] kern_slot, input [7:0] kern_id, input [31:0] kern_grid,
  input kern_type, input [2:0] kern_part, input [6:0] kern_warps, input [8:0] kern_regs, input [10:0] kern_smem,
  input need_valid, input [6:0] need_warps, input [8:0] need_regs, input [10:0] need_smem, input [2:0] need_part,
  input [8*G-1:0] fit, input [8*G-1:0] place, input cta_valid, input cta_ready, input [7:0] cta_sm,
  input [LN-1:0] cta_slot, input [7:0] cta_id, input [31:0] cta_index, input cta_type, input no_room
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
  wire taken = cta_valid & cta_ready;
  wire of_a = a & cta_slot == slot;
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
        index <= index + 1;
        if (index + 1 == grid) a <= 0;
      end
    end
  // A is there, and a CTA with its needs was looked for one and two cycles ago; the channel took another kernel's CTA then; for how many
  // cycles none with A's needs was looked for.
  reg [1:0] looked_for_a, other_taken;
  reg [5:0] unasked;

  // What was asked two cycles ago; what is held; where the ring is.
  reg [1:0] asked_a;
  reg held;
  reg [7:0] held_sm;
  reg [LN-1:0] held_slot;
  reg [31:0] held_index;
  reg [1:0] phase;
  wire asks_a = need_valid & need_warps == warps & need_regs == regs & need_smem == smem & need_part == part;
  // In the cycle in which A comes, its needs are those beside it.
  wire asks_at_once = comes & pick & need_valid & need_warps == kern_warps & need_regs == kern_regs & need_smem == kern_smem & need_part == kern_part;
  always @(posedge clk_i) begin
    looked_for_a <= rst_ni & a ? {looked_for_a[0], asks_a} : 2'b0;
    other_taken <= {other_taken[0], taken & ~of_a};
    unasked <= !rst_ni | !a | asks_a ? 0 : unasked + (unasked < 63);
    asked_a <= {asked_a[0], a ? asks_a : asks_at_once};
    held <= rst_ni & cta_valid & ~cta_ready;
    held_sm <= cta_sm;
    held_slot <= cta_slot;
    held_index <= cta_index;
    phase <= !rst_ni | phase == 2 ? 0 : phase + 1;
  end

  // The slice that is picked from, and its lanes that have an SM.
  wire [1:0] slice = phase == 0 ? 2 : phase - 1;
  reg [8*G-1:0] there;
  integer m;
  always @* begin
    there = 0;
    for (m = 0; m < S; m = m + 1) if (slice == m % 3) there[4 * (m / 12) + m % 4] = 1;
  end

  // The neighbours' promises: a slot holds one kernel; a grid has a CTA; nothing fits where there is no SM.
  always @* if (on) begin
    assume (!kern_valid | kern_grid != 0);
    assume (!(kern_valid & a) | kern_slot != slot);
    assume (~|(fit & ~there));
  end

  // The SM of the lane that gets the CTA, in the slice that is picked from.
  reg right_sm;
  always @* begin
    right_sm = 0;
    for (m = 0; m < S; m = m + 1) if (cta_sm == m & place[4 * (m / 12) + m % 4] & slice == m % 3) right_sm = 1;
  end

  // A CTA of A was looked for, and nothing stands in its way: A is unfinished, and so is any kernel with the same needs.
  wire looked_at = a & looked_for_a[1] & ~held & ~|other_taken;
  wire passes = looked_at & |fit & ~|place;
  // Of the slices at P, U and C: lanes after the one that got the last CTA; it was seen to let a turn pass since. Whether anything fitted one
  // cycle ago, and two.
  reg [8*G-1:0] after_p, after_u, after_c;
  reg passed_p, passed_u, passed_c;
  reg [1:0] fitted;
  reg began;               // there was a cycle since the reset
  wire [8*G-1:0] later = fit & after_p;
  wire [8*G-1:0] candidates = |later ? later : fit;
  always @(posedge clk_i) began <= rst_ni;
  always @(posedge clk_i)
    if (!rst_ni) begin
      {after_p, after_u, after_c} <= 0;
      {passed_p, passed_u, passed_c} <= 0;
      fitted <= 0;
    end else begin
      after_u <= |place ? ~((place - one) | place) : after_p;
      after_c <= after_u;
      after_p <= after_c;
      passed_u <= ~|place & (passed_p | passes);
      passed_c <= passed_u;
      passed_p <= passed_c;
      fitted <= {fitted[0], |fit};
    end

  always @* if (on) begin
    // A CTA would be placed where it does not fit, or on two SMs.
    places_one_that_fits: assert (~|(place & ~fit) & ~|(place & (place - one)));
    // An SM would be charged for a CTA that it does not get, or get one that it is not charged for.
    a_placed_cta_goes_out: assert (|place == (cta_valid & ~held));
    // The wrong SM would be charged.
    goes_to_the_placed_sm: assert (~|place | right_sm);
    // A CTA would be sent to an SM that is not there.
    goes_to_an_sm: assert (!cta_valid | cta_sm < S);
    // An SM would get one CTA after the other while those beside it stay empty.
    lanes_in_turn: assert (~|place | place == (candidates & ~(candidates - one)));
    // A CTA would wait though there is room for it.
    places_what_fits: assert (!passes | S % 3 != 0 & slice >= S % 3 & ~|later & |fitted & ~passed_p);
    // A kernel would wait while others have the channel to themselves.
    asked_for_in_its_turn: assert (!a | unasked + !asks_a <= 6 * (K - 1));
    // A held CTA would change on its way.
    held_cta_stays: assert (!held | cta_valid & cta_sm == held_sm & cta_slot == held_slot & cta_index == held_index & ~|place);
    // A CTA would run twice, or not at all.
    indices_in_order: assert (!(cta_valid & of_a) | cta_index == index & index < grid);
    // The SM would be told another kernel.
    carries_its_kernel: assert (!(cta_valid & of_a) | cta_id == id & cta_type == type);
    // The answer for one kernel's needs would be used for another's.
    was_asked_for: assert (!(|place & of_a) | asked_a[1]);
    // A payload that nobody may look at would be looked at.
    idle_is_zero: assert (cta_valid | cta_sm == 0 & cta_slot == 0 & cta_id == 0 & cta_index == 0 & ~cta_type);
    // A lack of room would be counted where there was room.
    no_room_is_said_rightly: assert (!no_room | ~|fit & ~cta_valid);
    // A lack of room would not be counted.
    no_room_is_said: assert (!(looked_at & ~|fit) | no_room);
  end
  always @* if (on) begin
    // States without which a proof would say little.
    reaches_last: cover (taken & of_a & index + 1 == grid & grid == 3);
    reaches_held: cover (held & of_a);
    reaches_next: cover (a & index == 1 & cta_valid & ~of_a & K > 1 | K == 1 & cta_valid & of_a & index == 1);
    reaches_no_room: cover (no_room & a);
    reaches_a_second_turn: cover (K == 1 | a & unasked == 3 * (K - 1) + 1);
    reaches_a_turn_that_passes: cover (S % 3 == 0 | S < 4 | passes);
  end
endmodule
