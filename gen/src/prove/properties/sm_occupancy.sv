// What sm_occupancy promises. One SM, s, is watched: which one is free. Its page: rtl/src/sm_occupancy/README.md.
module sm_occupancy_properties #(
  parameter S = 8,         // SMs
  parameter Q = 2,         // requesters
  parameter G = 1,         // groups of up to 8 lanes
  parameter CTAS = 32, parameter WARPS = 64, parameter REGS = 256, parameter SMEM = 1824,
  parameter HOLDS = 0      // 1: the ring stands still while nothing is asked
) (
  input clk_i,
  input rst_ni,
  input wake_i,
  input run_o,
  input [Q-1:0] need_valid_i,
  input [Q*7-1:0] need_warps_i,
  input [Q*9-1:0] need_regs_i,
  input [Q*11-1:0] need_smem_i,
  input [8*G-1:0] allow_a_i, input [8*G-1:0] allow_b_i,
  input [8*G-1:0] fit_a_o, input [8*G-1:0] fit_b_o,
  input [8*G-1:0] place_a_i, input [8*G-1:0] place_b_i,
  input [3:0] free_valid_i,
  input [3:0] free_ready_o,
  input [4*8-1:0] free_sm_i,
  input [4*7-1:0] free_warps_i,
  input [4*9-1:0] free_regs_i,
  input [4*11-1:0] free_smem_i
);
  reg reset_seen = 0;
  always @(posedge clk_i) if (!rst_ni) reset_seen <= 1;
  wire on = reset_seen & rst_ni;

  // Where s is: its lane, its slice, its port of completions.
  (* anyconst *) wire [7:0] s;
  wire [7:0] lane = 4 * (s / 12) + s % 4;
  wire [1:0] slice = s % 3;
  wire [1:0] port = s % 4;

  // The ring goes on at the end of this cycle.
  wire steps = !HOLDS | run_o;

  // The ring's place, from the reset on; the needs and permissions that an answer is for.
  reg [1:0] phase;
  reg turn, turn_before, woken;
  reg [3:0] age;
  reg [Q-1:0] valid_1, valid_2, valid_3;
  reg [Q*7-1:0] warps_1, warps_2;
  reg [Q*9-1:0] regs_1, regs_2;
  reg [Q*11-1:0] smem_1, smem_2;
  reg [8*G-1:0] allow_a_1, allow_b_1;
  always @(posedge clk_i) begin
    phase <= !rst_ni ? 0 : !steps ? phase : phase == 2 ? 0 : phase + 1;
    turn <= rst_ni & (turn ^ (steps & phase == 2));
    woken <= rst_ni & wake_i;
    turn_before <= turn;
    age <= !rst_ni ? 0 : age + (age < 15);
    valid_1 <= rst_ni ? need_valid_i : {Q{1'b0}};
    warps_1 <= need_warps_i;
    regs_1 <= need_regs_i;
    smem_1 <= need_smem_i;
    valid_2 <= rst_ni ? valid_1 : {Q{1'b0}};
    valid_3 <= rst_ni ? valid_2 : {Q{1'b0}};
    warps_2 <= warps_1;
    regs_2 <= regs_1;
    smem_2 <= smem_1;
    allow_a_1 <= allow_a_i;
    allow_b_1 <= allow_b_i;
  end
  wire at_p = phase == (slice + 1) % 3;
  wire [1:0] fits = at_p ? {Q == 2 & fit_b_o[lane], fit_a_o[lane]} : 2'b0;
  wire [1:0] placed = at_p ? {Q == 2 & place_b_i[lane], place_a_i[lane]} : 2'b0;
  wire ends = free_valid_i[port] & free_ready_o[port] & free_sm_i[port*8 +: 8] == s;

  // What the CTAs on s have.
  reg [5:0] ctas;
  reg [7:0] warps;
  reg [9:0] regs;
  reg [12:0] smem;
  reg [3:0] quiet;         // cycles since s was last given a CTA or got one back
  always @(posedge clk_i)
    if (!rst_ni) begin
      ctas <= 0;
      warps <= 0;
      regs <= 0;
      smem <= 0;
      quiet <= 15;
    end else begin
      ctas <= ctas + placed[0] + placed[1] - ends;
      warps <= warps + (placed[0] ? warps_2[6:0] : 0) + (placed[1] ? warps_2[Q*7-1 -: 7] : 0) - (ends ? free_warps_i[port*7 +: 7] : 0);
      regs <= regs + (placed[0] ? regs_2[8:0] : 0) + (placed[1] ? regs_2[Q*9-1 -: 9] : 0) - (ends ? free_regs_i[port*9 +: 9] : 0);
      smem <= smem + (placed[0] ? smem_2[10:0] : 0) + (placed[1] ? smem_2[Q*11-1 -: 11] : 0) - (ends ? free_smem_i[port*11 +: 11] : 0);
      quiet <= |placed | ends ? 0 : quiet + (quiet < 15);
    end

  // Lanes that have an SM at P. A port keeps one completion of each slice: whether the last that it took was one of another SM than s, and how
  // long ago it took one of s.
  reg [8*G-1:0] there;
  integer m;
  always @* begin
    there = 0;
    for (m = 0; m < S; m = m + 1) if (phase == (m % 3 + 1) % 3) there[4 * (m / 12) + m % 4] = 1;
  end
  wire shares = free_valid_i[port] & free_sm_i[port*8 +: 8] % 3 == slice;
  reg other;
  reg [3:0] since;
  always @(posedge clk_i) begin
    other <= rst_ni & (shares & free_ready_o[port] ? ~ends : other);
    since <= !rst_ni ? 15 : ends ? 0 : since + (since < 15);
  end

  // Cycles in which nothing was asked and no CTA ended.
  reg [2:0] idle;
  always @(posedge clk_i) idle <= !rst_ni | |need_valid_i | |free_valid_i ? 0 : idle + (idle < 7);

  // The neighbours' promises, and a CTA of s that ends: what it had, once, a warp and a register at
  // least; the last one gives back the rest.
  integer q, p;
  always @* if (on) begin
    assume (s < S); // a choice
    assume (~|(place_a_i & ~fit_a_o));
    if (Q == 2) assume (~|(place_b_i & ~fit_b_o));
    for (q = 0; q < Q; q = q + 1)
      assume (!need_valid_i[q] | need_warps_i[q*7 +: 7] >= 1 & need_warps_i[q*7 +: 7] <= WARPS & need_regs_i[q*9 +: 9] >= 1
              & need_regs_i[q*9 +: 9] <= REGS & need_smem_i[q*11 +: 11] <= SMEM);
    for (p = 0; p < 4; p = p + 1) assume (!free_valid_i[p] | free_sm_i[p*8 +: 8] % 4 == p & free_sm_i[p*8 +: 8] < S);
    if (free_valid_i[port] & free_sm_i[port*8 +: 8] == s)
      assume (ctas != 0 & (ctas == 1 ? free_warps_i[port*7 +: 7] == warps & free_regs_i[port*9 +: 9] == regs & free_smem_i[port*11 +: 11] == smem
              : free_warps_i[port*7 +: 7] >= 1 & free_warps_i[port*7 +: 7] + ctas <= warps + 1 & free_regs_i[port*9 +: 9] >= 1
                & free_regs_i[port*9 +: 9] + ctas <= regs + 1 & free_smem_i[port*11 +: 11] <= smem));
  end

  // Where a CTA of each requester could go, by what is free now.
  wire [1:0] could;
  assign could[0] = valid_2[0] & allow_a_1[lane] & ctas < CTAS & warps + warps_2[6:0] <= WARPS & regs + regs_2[8:0] <= REGS & smem + smem_2[10:0] <= SMEM;
  assign could[1] = Q == 2 & valid_2[Q-1] & allow_b_1[lane] & ctas < CTAS & warps + warps_2[Q*7-1 -: 7] <= WARPS
                    & regs + regs_2[Q*9-1 -: 9] <= REGS & smem + smem_2[Q*11-1 -: 11] <= SMEM;
  wire both = ctas + 1 < CTAS & warps + warps_2[6:0] + warps_2[Q*7-1 -: 7] <= WARPS & regs + regs_2[8:0] + regs_2[Q*9-1 -: 9] <= REGS
              & smem + smem_2[10:0] + smem_2[Q*11-1 -: 11] <= SMEM;
  wire contested = &could & ~both;
  // Nothing is on its way to or from s, and the needs came after the array was ready.
  wire settled = at_p & quiet >= 6 & age >= 6;

  always @* if (on) begin
    // An SM would be given more than it has.
    ctas_within_limit: assert (ctas <= CTAS);
    warps_within_limit: assert (warps <= WARPS);
    registers_within_limit: assert (regs <= REGS);
    shared_memory_within_limit: assert (smem <= SMEM);
    // A CTA would be placed where it does not fit, or may not go.
    fits_only_where_it_could: assert (~|(fits & ~could));
    // A CTA would be placed on an SM that is not there.
    fits_only_on_an_sm: assert (~|(fit_a_o & ~there) & (Q == 1 | ~|(fit_b_o & ~there)));
    // Two CTAs would be placed where there is room for one.
    both_only_where_both_fit: assert (!(&fits) | both);
    // An SM with room would stay empty.
    fits_wherever_it_could: assert (!settled | contested | fits == could);
    // One type would starve on an SM where both want the last room.
    contested_goes_in_turn: assert (!(settled & contested) | fits == (lane[0] ^ turn_before ? 2'b10 : 2'b01));
    // A completion would never be taken, and its kernel never retire.
    completion_makes_way: assert (!(shares & ~free_ready_o[port]) | other | since < 4);
    // A CTA would be charged to another SM than it was placed on, or one that waits never be placed.
    goes_on_while_asked: assert (steps | ~|{valid_1, valid_2, valid_3} & ~woken & age >= 3);
    // Energy would be spent on nothing.
    stands_still_at_last: assert (!HOLDS | !steps | woken | idle < 6 | age < 6);
    // Something would be placed before the array knows what is free.
    nothing_fits_after_reset: assert (age >= 4 | ~|fits);
  end
  // An SM may have room for one CTA only.
  localparam SEVERAL = CTAS > 1 && WARPS > 1 && REGS > 1;
  always @* if (on) begin
    // States without which a proof would say little.
    reaches_again: cover (ctas == 0 & quiet < 4 & |fits);
  end
  generate
    if (SEVERAL) begin : several_on_one
      always @* if (on) begin
        // States that there are at such sizes only.
        reaches_full: cover (warps == WARPS & ctas > 1);
        reaches_end: cover (ends & ctas > 1);
      end
    end
    if (HOLDS) begin : an_end_while_it_stands
      always @* if (on) begin
        // States that there are at such sizes only.
        reaches_an_end_while_it_stands: cover (!steps & ends);
      end
    end
    if (Q > 1 && SEVERAL) begin : both_on_one
      always @* if (on) begin
        // States that there are at such sizes only.
        reaches_both_on_one: cover (&placed);
      end
    end
    if (Q > 1) begin : both_want_one
      always @* if (on) begin
        // States that there are at such sizes only.
        reaches_contested: cover (settled & contested);
      end
    end
  endgenerate
endmodule
