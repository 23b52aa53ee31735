// How the registers of sm_partitions say what sm_partitions_properties sees.
module sm_partitions_lemmas #(
  parameter S = 8,
  parameter Q = 2,
  parameter G = 1,
  parameter HOLDS = 0,
  parameter L = 4
) (
  // properties:
  input on,
  input [1:0] phase,
  input [1:0] slice,
  input [2:0] age,
  input [7:0] s,
  input [7:0] lane,
  input [2:0] k,
  input [Q*3-1:0] part,
  input [1:0] waited,
  input member,
  input changes,
  input mine,
  input [31:0] write_mask_i,
  // design:
  input [1:0] step_q,
  // design u_phase:
  input [2:0] slice_q,
  input running_q,
  // design, each of Q:
  input [Q*8-1:0] hot_q,
  // design u_group_#, each of L:
  input [L*8-1:0] at_c_q,
  input [L*8-1:0] at_p_q,
  input [L*8-1:0] at_u_q
);
  wire [2:0] first = 1;
  wire [7:0] one = 1;
  // The mask bit of s in k goes round with s: from C to P to U, where a write meets it, and back.
  wire bit_now = phase == slice ? at_c_q[lane*8 + k] : phase == (slice + 1) % 3 ? at_p_q[lane*8 + k] : at_u_q[lane*8 + k];
  wire known = age >= 3 | age > (slice + 2) % 3;
  wire passed = waited >= 1 & phase == slice | waited >= 2 & phase == (slice + 1) % 3;
  always @* if (on) begin
    phases_alike: assert (phase < 3 & (slice_q ^ first) == (first << phase));
    ages_alike: assert (running_q == (age >= 3) & (age >= 3 | age == phase));
    steps_alike: assert (step_q == waited & waited <= 2);
    nothing_waits_at_first: assert (age >= 3 | waited == 0);
    waits_while_it_changes: assert (waited == 0 | ~mine | changes);
    asked_alike: assert (hot_q[0 +: 8] == (one << part[0 +: 3]) & hot_q[Q*8-1 -: 8] == (one << part[Q*3-1 -: 3]));
    bit_goes_round: assert (~known | bit_now == (mine & passed ? write_mask_i[s % 32] : member));
    member_at_first: assert (age >= 3 | member);
  end
endmodule
