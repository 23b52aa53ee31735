// What sm_partitions promises. One SM, s, and one partition, k, are watched: which ones is free. Its page: rtl/src/sm_partitions/README.md.
module sm_partitions_properties #(
  parameter S = 8,         // SMs
  parameter Q = 2,         // requesters
  parameter G = 1,         // groups of up to 8 lanes
  parameter HOLDS = 0      // 1: the ring stands still at times
) (
  input clk_i,
  input rst_ni,
  input run_i,
  input [Q*3-1:0] part_i,
  input [8*G-1:0] allow_a_o,
  input [8*G-1:0] allow_b_o,
  input write_valid_i,
  input write_ready_o,
  input [2:0] write_part_i,
  input [2:0] write_word_i,
  input [31:0] write_mask_i
);
  reg reset_seen = 0;
  always @(posedge clk_i) if (!rst_ni) reset_seen <= 1;
  wire on = reset_seen & rst_ni;

  // Where s is: its lane and its slice.
  (* anyconst *) wire [7:0] s;
  (* anyconst *) wire [2:0] k;
  wire [7:0] lane = 4 * (s / 12) + s % 4;
  wire [1:0] slice = s % 3;

  reg [1:0] phase;
  reg [2:0] age;
  reg [Q*3-1:0] part;
  reg [1:0] waited;        // cycles in a row in which the write was offered
  reg member;              // s is in k
  reg changes;             // a write to the bit of s in k is under way
  wire steps = !HOLDS | run_i; // the ring goes on at the end of this cycle
  wire mine = write_valid_i & write_part_i == k & write_word_i == s / 32;
  always @(posedge clk_i) begin
    phase <= !rst_ni ? 0 : !steps ? phase : phase == 2 ? 0 : phase + 1;
    age <= !rst_ni ? 0 : age + (steps & age < 7);
    part <= part_i;
    waited <= !rst_ni | !write_valid_i | write_ready_o | !steps | age < 3 ? 0 : waited + 1;
    if (!rst_ni) member <= 1;
    else if (mine & write_ready_o) member <= write_mask_i[s % 32];
    changes <= rst_ni & mine & ~write_ready_o;
  end
  // A write stays until it is taken; once it has begun the ring goes on.
  reg [38:0] written;
  reg waits;
  always @(posedge clk_i) begin
    waits <= rst_ni & write_valid_i & ~write_ready_o;
    written <= {write_part_i, write_word_i, write_mask_i};
  end
  always @* if (on) begin
    assume (s < S); // a choice
    assume (steps | waited == 0);
    assume (!waits | write_valid_i & written == {write_part_i, write_word_i, write_mask_i});
  end

  wire at_c = phase == slice & age >= 3;
  wire settled = at_c & ~changes;
  wire [1:0] allows = {Q == 2 & allow_b_o[lane], allow_a_o[lane]};
  wire [1:0] asks = {Q == 2 & part[Q*3-1 -: 3] == k, part[2:0] == k};

  always @* if (on) begin
    // A CTA would be placed outside its kernel's partition, or an SM of it stay empty.
    allows_the_members: assert (!(settled & asks[0]) | allows[0] == member);
    allows_the_members_to_tensor: assert (!(settled & asks[1]) | allows[1] == member);
    // Something would be placed before the masks are there.
    nothing_is_allowed_at_first: assert (age >= 3 | ~|allow_a_o & ~|allow_b_o);
    // A write would be lost, or half done.
    a_write_takes_three_cycles: assert (write_ready_o == (write_valid_i & steps & age >= 3 & waited == 2));
  end
  always @* if (on) begin
    // States without which a proof would say little.
    reaches_outside: cover (settled & asks[0] & ~member);
    reaches_back_inside: cover (settled & (Q == 1 ? asks[0] : &asks) & member & age == 7 & waited == 0 & ~mine);
    reaches_write: cover (mine & write_ready_o & member);
  end
endmodule
