// How the registers of sm_occupancy say what sm_occupancy_properties sees of SM s.
module sm_occupancy_lemmas #(
  parameter S = 8,
  parameter Q = 2,
  parameter G = 1,
  parameter CTAS = 32, parameter WARPS = 64, parameter REGS = 256, parameter SMEM = 1824,
  parameter HOLDS = 0,
  parameter L = 4,         // lanes
  parameter D = 4          // ports of completions
) (
  // properties:
  input clk_i,
  input on,
  input rst_ni,
  input [7:0] s, input [7:0] lane,
  input [1:0] slice, input [1:0] port,
  input [1:0] phase,
  input turn, input woken, input steps,
  input [2:0] idle,
  input [3:0] age,
  input [Q-1:0] valid_1, input [Q-1:0] valid_2, input [Q-1:0] valid_3,
  input [Q*7-1:0] warps_1, input [Q*7-1:0] warps_2,
  input [Q*9-1:0] regs_1, input [Q*9-1:0] regs_2,
  input [Q*11-1:0] smem_1, input [Q*11-1:0] smem_2,
  input turn_before,
  input ends,
  input [5:0] ctas, input [7:0] warps, input [9:0] regs, input [12:0] smem,
  input [3:0] quiet,
  input other, input [3:0] since,
  input [8*G-1:0] allow_a_1, input [8*G-1:0] allow_b_1,
  input [4*7-1:0] free_warps_i, input [4*9-1:0] free_regs_i, input [4*11-1:0] free_smem_i,
  // design:
  input woken_0_q, input asked_p_0_q, input asked_u_0_q,
  // design u_phase:
  input [2:0] slice_q,
  input turn_q,
  input running_q,
  // design u_need_%, each of Q:
  input [Q*1-1:0] valid_q,
  input [Q*7-1:0] warps_c_q, input [Q*9-1:0] regs_c_q, input [Q*11-1:0] smem_c_q,
  input [Q*6-1:0] warps_p_q, input [Q*8-1:0] regs_p_q, input [Q*11-1:0] smem_p_q,
  input [Q*6-1:0] warps_u_q, input [Q*8-1:0] regs_u_q, input [Q*11-1:0] smem_u_q,
  // design u_sum_0:
  input [7:0] sum__warps_c_q, input [9:0] sum__regs_c_q, input [11:0] sum__smem_c_q,
  input [5:0] sum__warps_p_q, input [7:0] sum__regs_p_q, input [10:0] sum__smem_p_q,
  input [5:0] sum__warps_u_q, input [7:0] sum__regs_u_q, input [10:0] sum__smem_u_q,
  // design u_port_%, each of D:
  input [D*3-1:0] kept_q,
  input [D*1-1:0] kept_u_q,
  input [D*4-1:0] quad_u_q,
  input [D*4-1:0] quad_0_q, input [D*4-1:0] quad_1_q, input [D*4-1:0] quad_2_q,
  input [D*6-1:0] warps_0_q, input [D*6-1:0] warps_1_q, input [D*6-1:0] warps_2_q,
  input [D*8-1:0] regs_0_q, input [D*8-1:0] regs_1_q, input [D*8-1:0] regs_2_q,
  input [D*11-1:0] smem_0_q, input [D*11-1:0] smem_1_q, input [D*11-1:0] smem_2_q,
  // design u_port_%.u_phase, each of D:
  input [D*3-1:0] port__slice_q,
  // design u_group_#.u_lane_%, each of L:
  input [L*1-1:0] empty_c_q, input [L*1-1:0] empty_p_q, input [L*1-1:0] empty_u_q,
  input [L*1-1:0] fit_0_q, input [L*1-1:0] fit_1_q,
  input [L*1-1:0] placed_0_q, input [L*1-1:0] placed_1_q,
  // design u_group_#.u_lane_%.u_ctas, each of L:
  input [L*5-1:0] ctas__at_c_q, input [L*5-1:0] ctas__at_p_q, input [L*5-1:0] ctas__at_u_q,
  // design u_group_#.u_lane_%.u_warps, each of L:
  input [L*6-1:0] warps__at_c_q, input [L*6-1:0] warps__at_p_q, input [L*6-1:0] warps__at_u_q,
  // design u_group_#.u_lane_%.u_regs, each of L:
  input [L*8-1:0] regs__at_c_q, input [L*8-1:0] regs__at_p_q, input [L*8-1:0] regs__at_u_q,
  // design u_group_#.u_lane_%.u_smem, each of L:
  input [L*11-1:0] smem__at_c_q, input [L*11-1:0] smem__at_p_q, input [L*11-1:0] smem__at_u_q
);
  wire [2:0] first = 1;
  wire at_c = phase == slice;
  wire at_p = phase == (slice + 1) % 3;
  wire at_u = phase == (slice + 2) % 3;
  // In the first three cycles SMs become empty at C.
  wire known = age >= 3 | age > slice;

  // Needs of three cycles ago: those of a CTA that is charged now.
  reg [Q*7-1:0] warps_3;
  reg [Q*9-1:0] regs_3;
  reg [Q*11-1:0] smem_3;
  always @(posedge clk_i) begin
    warps_3 <= warps_2;
    regs_3 <= regs_2;
    smem_3 <= smem_2;
  end

  // A completion of s that is kept, exactly.
  wire p0 = at_u & placed_0_q[lane], p1 = Q == 2 & at_u & placed_1_q[lane];
  reg kept;
  reg [6:0] kept_warps;
  reg [8:0] kept_regs;
  reg [10:0] kept_smem;
  always @(posedge clk_i) begin
    kept <= rst_ni & (kept | ends) & ~(at_u & steps & ~p0 & ~p1);
    if (ends) begin
      kept_warps <= free_warps_i[port*7 +: 7];
      kept_regs <= free_regs_i[port*9 +: 9];
      kept_smem <= free_smem_i[port*11 +: 11];
    end
  end

  // What s is charged for, as its registers have it: what is on it, less what will be charged now, and what is kept.
  wire [7:0] has_ctas = ctas - p0 - p1 + kept;
  wire [9:0] has_warps = warps - (p0 ? warps_3[6:0] : 0) - (p1 ? warps_3[Q*7-1 -: 7] : 0) + (kept ? kept_warps : 0);
  wire [11:0] has_regs = regs - (p0 ? regs_3[8:0] : 0) - (p1 ? regs_3[Q*9-1 -: 9] : 0) + (kept ? kept_regs : 0);
  wire [13:0] has_smem = smem - (p0 ? smem_3[10:0] : 0) - (p1 ? smem_3[Q*11-1 -: 11] : 0) + (kept ? kept_smem : 0);

  // What fits by that.
  wire [1:0] could;
  assign could[0] = valid_2[0] & allow_a_1[lane] & has_ctas < CTAS & has_warps + warps_2[6:0] <= WARPS & has_regs + regs_2[8:0] <= REGS & has_smem + smem_2[10:0] <= SMEM;
  assign could[1] = Q == 2 & valid_2[Q-1] & allow_b_1[lane] & has_ctas < CTAS & has_warps + warps_2[Q*7-1 -: 7] <= WARPS
                    & has_regs + regs_2[Q*9-1 -: 9] <= REGS & has_smem + smem_2[Q*11-1 -: 11] <= SMEM;
  wire both = has_ctas + 1 < CTAS & has_warps + warps_2[6:0] + warps_2[Q*7-1 -: 7] <= WARPS & has_regs + regs_2[8:0] + regs_2[Q*9-1 -: 9] <= REGS
              & has_smem + smem_2[10:0] + smem_2[Q*11-1 -: 11] <= SMEM;
  wire [1:0] favoured = lane[0] ^ turn_before ? 2'b10 : 2'b01;
  wire [1:0] fits = kept | age < 4 ? 2'b00 : could & (&could & ~both ? favoured : 2'b11);

  wire [3:0] quad = slice == 0 ? quad_0_q[port*4 +: 4] : slice == 1 ? quad_1_q[port*4 +: 4] : quad_2_q[port*4 +: 4];
  wire [5:0] stored_warps = slice == 0 ? warps_0_q[port*6 +: 6] : slice == 1 ? warps_1_q[port*6 +: 6] : warps_2_q[port*6 +: 6];
  wire [7:0] stored_regs = slice == 0 ? regs_0_q[port*8 +: 8] : slice == 1 ? regs_1_q[port*8 +: 8] : regs_2_q[port*8 +: 8];
  wire [10:0] stored_smem = slice == 0 ? smem_0_q[port*11 +: 11] : slice == 1 ? smem_1_q[port*11 +: 11] : smem_2_q[port*11 +: 11];
  wire [1:0] u = phase == 0 ? 1 : phase == 1 ? 2 : 0;
  wire [3:0] quad_at_u = u == 0 ? quad_0_q[port*4 +: 4] : u == 1 ? quad_1_q[port*4 +: 4] : quad_2_q[port*4 +: 4];

  always @* if (on) begin
    where_it_is: assert (lane < L & slice < 3);
    phases_alike: assert (phase < 3 & (slice_q ^ first) == (first << phase) & (port__slice_q[port*3 +: 3] ^ first) == (first << phase));
    ages_alike: assert (running_q == (age >= 3) & (age >= 3 | age == phase));
    turns_alike: assert (turn_q == turn);
    asked_alike: assert (!HOLDS | woken_0_q == woken & asked_p_0_q == |valid_2 & asked_u_0_q == |valid_3);
    runs_for_a_reason: assert (!HOLDS | steps == (|valid_1 | |valid_2 | |valid_3 | |kept_q | woken | age < 3));
    idle_since_the_reset: assert (idle <= age);
    idle_is_unasked: assert (!HOLDS | (idle < 1 | ~|valid_1) & (idle < 2 | ~|valid_2) & (idle < 3 | ~|valid_3));
    needs_within_limits: assert ((~valid_1[0] | warps_1[6:0] >= 1 & warps_1[6:0] <= WARPS & regs_1[8:0] >= 1 & regs_1[8:0] <= REGS & smem_1[10:0] <= SMEM)
      & (~valid_2[0] | warps_2[6:0] >= 1 & warps_2[6:0] <= WARPS & regs_2[8:0] >= 1 & regs_2[8:0] <= REGS & smem_2[10:0] <= SMEM));
    needs_of_the_other_too: assert ((~valid_1[Q-1] | warps_1[Q*7-1 -: 7] >= 1 & warps_1[Q*7-1 -: 7] <= WARPS & regs_1[Q*9-1 -: 9] >= 1 & regs_1[Q*9-1 -: 9] <= REGS & smem_1[Q*11-1 -: 11] <= SMEM)
      & (~valid_2[Q-1] | warps_2[Q*7-1 -: 7] >= 1 & warps_2[Q*7-1 -: 7] <= WARPS & regs_2[Q*9-1 -: 9] >= 1 & regs_2[Q*9-1 -: 9] <= REGS & smem_2[Q*11-1 -: 11] <= SMEM));
    valid_alike: assert (valid_q == valid_1);
    sums_alike: assert (Q == 1 | ~sum__warps_c_q == {1'b0, warps_1[6:0]} + warps_1[Q*7-1 -: 7] & ~sum__regs_c_q == {1'b0, regs_1[8:0]} + regs_1[Q*9-1 -: 9]
      & ~sum__smem_c_q == {1'b0, smem_1[10:0]} + smem_1[Q*11-1 -: 11]);
    sums_go_on: assert (Q == 1 | age < 1 | ~sum__warps_p_q == warps_2[5:0] + warps_2[Q*7-2 -: 6] & ~sum__regs_p_q == regs_2[7:0] + regs_2[Q*9-2 -: 8]
      & ~sum__smem_p_q == smem_2[10:0] + smem_2[Q*11-1 -: 11]);
    sums_are_charged: assert (Q == 1 | age < 2 | ~sum__warps_u_q == warps_3[5:0] + warps_3[Q*7-2 -: 6] & ~sum__regs_u_q == regs_3[7:0] + regs_3[Q*9-2 -: 8]
      & ~sum__smem_u_q == smem_3[10:0] + smem_3[Q*11-1 -: 11]);
    kept_alike: assert (kept == (kept_q[port*3 + slice] & quad == s / 12));
    kept_amounts_alike: assert (~kept | stored_warps == kept_warps[5:0] & stored_regs == kept_regs[7:0] & stored_smem == kept_smem);
    kept_amounts_are_right: assert (~kept | kept_warps >= 1 & kept_regs >= 1 & kept_warps <= WARPS & kept_regs <= REGS & kept_smem <= SMEM);
    kept_at_u: assert (kept_u_q[port] == kept_q[port*3 + u] & (~kept_u_q[port] | quad_u_q[port*4 +: 4] == quad_at_u));
    kept_not_for_long: assert (~kept | quiet <= (at_c ? 1 : at_p ? 2 : 3));
    kept_since_it_came: assert (kept == (kept_q[port*3 + slice] & ~other) & (~kept | since <= (at_c ? 1 : at_p ? 2 : 3)));
    not_charged_while_kept: assert (~(kept & at_u & since != 0) | ~p0 & ~p1);
    charged_at_once: assert (~(p0 | p1) | ~known | quiet == 0);
    nothing_at_first: assert (age >= 4 | ctas == 0 & ~kept & (~known | ~p0 & ~p1));
    nothing_on_an_empty_sm: assert (ctas == 0 ? warps == 0 & regs == 0 & smem == 0 : warps >= ctas & regs >= ctas);
    has_no_more_than_all: assert (~known | has_ctas <= CTAS & has_warps <= WARPS & has_regs <= REGS & has_smem <= SMEM);
    will_have_no_more_than_all: assert (ctas + kept <= CTAS & warps + (kept ? kept_warps : 0) <= WARPS & regs + (kept ? kept_regs : 0) <= REGS
      & smem + (kept ? kept_smem : 0) <= SMEM);
    has_nothing_or_something: assert (~known | (has_ctas == 0 ? has_warps == 0 & has_regs == 0 & has_smem == 0 : has_warps != 0 & has_regs != 0));
    ctas_alike: assert (~known | (at_c ? ctas__at_c_q[lane*5 +: 5] : at_p ? ctas__at_p_q[lane*5 +: 5] : ctas__at_u_q[lane*5 +: 5]) == ((CTAS - has_ctas) & 31));
    warps_alike: assert (~known | (at_c ? warps__at_c_q[lane*6 +: 6] : at_p ? warps__at_p_q[lane*6 +: 6] : warps__at_u_q[lane*6 +: 6]) == ((WARPS - has_warps) & 63));
    regs_alike: assert (~known | (at_c ? regs__at_c_q[lane*8 +: 8] : at_p ? regs__at_p_q[lane*8 +: 8] : regs__at_u_q[lane*8 +: 8]) == ((REGS - has_regs) & 255));
    smem_alike: assert (~known | (at_c ? smem__at_c_q[lane*11 +: 11] : at_p ? smem__at_p_q[lane*11 +: 11] : smem__at_u_q[lane*11 +: 11]) == ((SMEM - has_smem) & 2047));
    empty_alike: assert (~known | (at_c ? empty_c_q[lane] : at_p ? empty_p_q[lane] : empty_u_q[lane]) == (has_ctas == 0));
    fit_is_what_could: assert (~at_p | {Q == 2 & fit_1_q[lane], fit_0_q[lane]} == fits);
  end
  // Of each port, whichever SM is watched: mutants are compared with that.
  genvar r, p, k;
  generate
    for (p = 0; p < D; p = p + 1) begin : completions
      wire [3:0] at_u_q = u == 0 ? quad_0_q[p*4 +: 4] : u == 1 ? quad_1_q[p*4 +: 4] : quad_2_q[p*4 +: 4];
      lemma phase_of_each (on, (port__slice_q[p*3 +: 3] ^ first) == (first << phase));
      lemma kept_at_u_of_each (on, kept_u_q[p] == kept_q[p*3 + u] & (~kept_u_q[p] | quad_u_q[p*4 +: 4] == at_u_q));
      for (k = 0; k < 3; k = k + 1) begin : of_slice
        // The one SM of its twelve that is of this port and slice is there.
        wire [7:0] twelve = k == 0 ? quad_0_q[p*4 +: 4] : k == 1 ? quad_1_q[p*4 +: 4] : quad_2_q[p*4 +: 4];
        lemma gives_back_in_time (on & HOLDS & idle >= 3 & kept_q[p*3 + k], idle <= (phase == k ? 3 : phase == (k + 1) % 3 ? 4 : 5));
        lemma keeps_what_can_end (on & kept_q[p*3 + k], 12 * twelve + (9 * p + 4 * k) % 12 < S);
      end
    end
    for (p = 0; p < L; p = p + 1) begin : lane_
      lemma fits_what_was_asked (on, (~fit_0_q[p] | valid_2[0]) & (Q == 1 | ~fit_1_q[p] | valid_2[Q-1]));
      lemma charges_what_was_asked (on & age >= 1, (~placed_0_q[p] | valid_3[0]) & (Q == 1 | ~placed_1_q[p] | valid_3[Q-1]));
    end
    for (r = 0; r < Q; r = r + 1) begin : requester
      lemma needs_alike (on, ~warps_c_q[r*7 +: 7] == warps_1[r*7 +: 7] & ~regs_c_q[r*9 +: 9] == regs_1[r*9 +: 9] & ~smem_c_q[r*11 +: 11] == smem_1[r*11 +: 11]);
      lemma needs_go_on (on & age >= 1, ~warps_p_q[r*6 +: 6] == warps_2[r*7 +: 6] & ~regs_p_q[r*8 +: 8] == regs_2[r*9 +: 8] & ~smem_p_q[r*11 +: 11] == smem_2[r*11 +: 11]);
      lemma needs_are_charged (on & age >= 2, ~warps_u_q[r*6 +: 6] == warps_3[r*7 +: 6] & ~regs_u_q[r*8 +: 8] == regs_3[r*9 +: 8] & ~smem_u_q[r*11 +: 11] == smem_3[r*11 +: 11]);
    end
  endgenerate
endmodule
