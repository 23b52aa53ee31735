// What a front end promises, from the host's beats to CTAs and back. Two kernels are watched, A and a newer one, B, that may wait for it:
// which ones is free. Its page: rtl/src/front_end/README.md. What its parts assume of each other is asserted beside them.
module front_end_properties #(
  parameter N = 8,         // slots
  parameter LN = 3,        // bits of a slot's number
  parameter LIST = 0,      // 1: the list window, which takes one retirement at a time
  parameter R = 2,         // retire ports
  parameter LANES = 1,     // upstream ids per beat; 0: a mask
  parameter M = 128,       // kernels in the host's list
  parameter C = 2,         // CTA channels
  parameter K = 1,         // active kernels per channel
  parameter P = 1,         // CTA ports of each: port p is that of the SMs s with s mod P = p
  parameter S = 8,         // SMs
  parameter CTAS = 32, parameter WARPS = 64, parameter REGS = 256, parameter SMEM = 1824
) (
  input clk_i,
  input rst_ni,
  input host_valid_i,
  input host_ready_o,
  input [7:0] host_id_i,
  input host_last_i,
  input [(LANES ? LANES : 1)-1:0] host_up_valid_i,
  input [8*(LANES ? LANES : 1)-1:0] host_up_id_i,
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
  input ret_err_o,
  input oldest_valid_o,
  input [7:0] oldest_id_o,
  input busy_o
);
  reg reset_seen = 0;
  always @(posedge clk_i) if (!rst_ni) reset_seen <= 1;
  wire on = reset_seen & rst_ni;

  // Slots with a kernel, from its dispatch to its retirement. A completion of another, of an SM that is not there or on another's port is wrong.
  reg [N-1:0] busy, comes, leaves;
  reg [3:0] wrong_done;
  integer v;
  always @* begin
    comes = 0;
    if (disp_valid_o) comes[disp_slot_o] = 1;
    leaves = 0;
    for (v = 0; v < R; v = v + 1) if (ret_valid_o[v]) leaves[ret_slot_o[v*LN +: LN]] = 1;
    for (v = 0; v < 4; v = v + 1)
      wrong_done[v] = done_sm_i[v*8 +: 8] % 4 != v | done_sm_i[v*8 +: 8] >= S | ~busy[done_slot_i[v*LN +: LN]];
  end
  always @(posedge clk_i) busy <= rst_ni ? (busy | comes) & ~leaves : {N{1'b0}};
  wire [3:0] ending = done_valid_i & ~wrong_done;

  // CTAs on SMs, by their kernel's slot, and of these the ones on one SM, w, whichever that is; those that end are some of them.
  (* anyconst *) wire [7:0] w;
  wire [N*32-1:0] out, on_w;
  wire [N-1:0] legal;
  genvar i;
  generate
    for (i = 0; i < N; i = i + 1) begin : of_slot
      reg [31:0] here, here_w;
      reg [2:0] finish, offered, finish_w, offered_w;
      reg [3:0] comes, comes_w;
      integer c, p;
      always @* begin
        comes = 0;
        comes_w = 0;
        for (c = 0; c < C * P; c = c + 1) if (cta_valid_o[c] & cta_ready_i[c] & cta_slot_o[c*LN +: LN] == i) begin
          comes = comes + 1;
          comes_w = comes_w + (cta_sm_o[c*8 +: 8] == w);
        end
        finish = 0;
        offered = 0;
        finish_w = 0;
        offered_w = 0;
        for (p = 0; p < 4; p = p + 1) if (ending[p] & done_slot_i[p*LN +: LN] == i) begin
          offered = offered + 1;
          offered_w = offered_w + (done_sm_i[p*8 +: 8] == w);
          finish = finish + done_ready_o[p];
          finish_w = finish_w + (done_ready_o[p] & done_sm_i[p*8 +: 8] == w);
        end
      end
      always @(posedge clk_i) begin
        here <= !rst_ni ? 0 : here + comes - finish;
        here_w <= !rst_ni ? 0 : here_w + comes_w - finish_w;
      end
      assign out[i*32 +: 32] = here;
      assign on_w[i*32 +: 32] = here_w;
      assign legal[i] = offered_w <= here_w & offered - offered_w <= here - here_w;
    end
  endgenerate

  // The host: ids count up, from any, what stands there in reset; a kernel may have several beats. A write of a partition stays until it is taken.
  wire last = LANES == 0 | host_last_i;
  wire sends = host_valid_i & host_ready_o & last;
  reg [7:0] next_id;
  reg waits;
  reg [37:0] written;
  always @(posedge clk_i) begin
    next_id <= !rst_ni ? host_id_i : next_id + sends;
    waits <= rst_ni & part_valid_i & ~part_ready_o;
    written <= {part_id_i, part_word_i, part_mask_i};
  end
  always @* if (on) begin
    assume (!host_valid_i | host_id_i == next_id);
    assume (!waits | part_valid_i & written == {part_id_i, part_word_i, part_mask_i});
    assume (&legal);
  end

  // What is not about order is read with the last beat. A kernel that no SM can run has no CTAs.
  wire wrong_needs = host_grid_i != 0 & ~(host_warps_i != 0 & host_warps_i <= WARPS & host_regs_i != 0 & host_regs_i <= REGS & host_smem_i <= SMEM);

  // Whether w is in one partition, k, whichever that is; it was not, in the cycle before, nor was that being changed. A CTA that was on a
  // channel then stays there.
  (* anyconst *) wire [2:0] k;
  reg member, changes, outside;
  reg [C*P-1:0] stands;
  wire rewrites = part_valid_i & part_id_i == k & part_word_i == w / 32;
  always @(posedge clk_i) begin
    if (!rst_ni) member <= 1;
    else if (rewrites & part_ready_o) member <= part_mask_i[w % 32];
    changes <= rst_ni & rewrites & ~part_ready_o;
    outside <= rst_ni & ~member & ~changes;
    stands <= rst_ni ? cta_valid_o & ~cta_ready_i : {C*P{1'b0}};
  end

  // Completions of one slice wait for each other on their port: whether the last that was taken there was one of another SM than w, and how
  // long ago one of w was.
  wire shares = ending[w % 4] & done_sm_i[8 * (w % 4) +: 8] % 3 == w % 3;
  wire finishes = shares & done_ready_o[w % 4] & done_sm_i[8 * (w % 4) +: 8] == w;
  reg other;
  reg [3:0] since;
  always @(posedge clk_i) begin
    other <= rst_ni & (shares & done_ready_o[w % 4] ? ~finishes : other);
    since <= !rst_ni ? 15 : finishes ? 0 : since + (since < 15);
  end

  // A, from its send to its retirement, and B, which names it or not.
  (* anyseq *) wire pick_a, pick_b;
  reg a, b, a_done, b_waits_for_a, named;
  reg [7:0] a_id, b_id;
  reg [31:0] grid, placed, ended;
  reg [P-1:0] early;       // CTAs of A that were taken, by their number after the first that was not
  reg type;
  reg [2:0] part;
  reg [LN-1:0] slot;
  reg has_slot;
  wire [7:0] distance = host_id_i - a_id - 8'd1;
  // How many kernels were sent after it, and after the oldest one that has a place.
  wire [7:0] newer_than_a = next_id - a_id - 8'd1, newer = next_id - oldest_id_o - 8'd1;
  reg names_a;
  reg [C*P-1:0] goes;
  reg [P-1:0] takes;
  reg [31:0] first, ahead;
  reg [2:0] taken, ones;
  reg [3:0] ends;
  reg [R-1:0] retires;
  reg b_goes;
  reg in_order, its_own, on_an_sm, in_its_partition;
  integer l, c, d, e, r;
  always @* begin
    names_a = 0;
    if (LANES == 0) names_a = distance < M ? host_up_i[distance % M] : 1'b0;
    else for (l = 0; l < LANES; l = l + 1) if (host_up_valid_i[l] & host_up_id_i[8*l +: 8] == a_id) names_a = 1;
    goes = 0;
    b_goes = 0;
    in_order = 1;
    its_own = 1;
    on_an_sm = 1;
    in_its_partition = 1;
    first = placed;
    for (c = 0; c < P; c = c + 1) first = first - early[c];
    takes = early;
    taken = 0;
    for (c = 0; c < C * P; c = c + 1) begin
      goes[c] = cta_valid_o[c] & a & ~a_done & cta_id_o[c*8 +: 8] == a_id;
      ahead = cta_index_o[c*32 +: 32] - first;
      if (goes[c] & (ahead >= P | early[ahead % P] | cta_index_o[c*32 +: 32] >= grid)) in_order = 0;
      // On one channel alone, and each a number of its own.
      for (d = 0; d < c; d = d + 1)
        if (goes[c] & goes[d] & (c / P != d / P | cta_index_o[c*32 +: 32] == cta_index_o[d*32 +: 32])) in_order = 0;
      if (goes[c] & cta_ready_i[c]) begin
        takes[ahead % P] = 1;
        taken = taken + 1;
      end
      if (cta_valid_o[c] & cta_sm_o[c*8 +: 8] % P != c % P) on_an_sm = 0;
      if (goes[c] & (cta_type_o[c] != type | C == 2 & type != c / P | ~has_slot | cta_slot_o[c*LN +: LN] != slot)) its_own = 0;
      if (goes[c] & ~stands[c] & outside & part == k & cta_sm_o[c*8 +: 8] == w) in_its_partition = 0;
      if (cta_valid_o[c] & cta_sm_o[c*8 +: 8] >= S) on_an_sm = 0;
      if (cta_valid_o[c] & b & cta_id_o[c*8 +: 8] == b_id) b_goes = 1;
    end
    ones = 0;
    for (c = P; c > 0; c = c - 1) ones = takes[c-1] ? ones + 1 : 0;
    for (e = 0; e < 4; e = e + 1)
      ends[e] = ending[e] & done_ready_o[e] & has_slot & ~a_done & done_slot_i[e*LN +: LN] == slot;
    for (r = 0; r < R; r = r + 1) retires[r] = ret_valid_o[r] & has_slot & ~a_done & ret_slot_o[r*LN +: LN] == slot;
  end
  always @(posedge clk_i)
    if (!rst_ni) begin
      a <= 0;
      b <= 0;
      a_done <= 0;
      has_slot <= 0;
      named <= 0;
      b_waits_for_a <= 0;
    end else begin
      if (host_valid_i & host_ready_o) named <= ~last & (named | names_a & a & ~a_done);
      if (sends & pick_a & ~a) begin
        a <= 1;
        a_id <= host_id_i;
        grid <= wrong_needs ? 0 : host_grid_i;
        type <= host_type_i;
        part <= host_part_i;
        placed <= 0;
        early <= 0;
        ended <= 0;
      end
      if (sends & pick_b & a & ~b) begin
        b <= 1;
        b_id <= host_id_i;
        b_waits_for_a <= (names_a | named) & ~a_done;
      end
      if (disp_valid_o & a & ~a_done & disp_id_o == a_id) begin
        has_slot <= 1;
        slot <= disp_slot_o;
      end
      if (a & ~(sends & pick_a & ~a)) begin
        placed <= placed + taken;
        early <= takes >> ones;
      end
      if (a) ended <= ended + ends[0] + ends[1] + ends[2] + ends[3];
      if (|retires) a_done <= 1;
    end

  always @* if (on) begin
    // A CTA would read what is not written yet.
    waits_for_upstream: assert (!(b_waits_for_a & ~a_done & b_goes));
    // A CTA would run twice, or not at all.
    ctas_in_order: assert (in_order);
    never_more_than_the_grid: assert (!a | placed + taken <= grid);
    // A CTA would run as another kernel's, or come on the other type's channel.
    ctas_are_its_own: assert (its_own);
    // A CTA would be sent to an SM that is not there, or by another's port.
    ctas_go_to_an_sm: assert (on_an_sm);
    // A CTA would be placed outside its kernel's partition.
    ctas_stay_in_their_partition: assert (in_its_partition);
    // A completion would never be taken, and its kernel never retire.
    completion_makes_way: assert (w >= S | !(shares & ~done_ready_o[w % 4]) | other | since < 4);
    // A kernel would retire while its CTAs run.
    retires_when_all_have_ended: assert (!(|retires) | ended == grid);
    // A kernel that has ended would hold up those that wait for it.
    retires_as_soon_as_it_may: assert (!(a & ~a_done & has_slot & ended == grid) | |retires | &ret_valid_o | LIST & (busy_o | |ret_valid_o));
    // A host that counts kernels up to the oldest one would take A for finished.
    oldest_is_no_later: assert (!(a & ~a_done) | oldest_valid_o & newer_than_a <= newer);
    // A kernel would retire twice.
    retires_once: assert (~|(retires & (retires - 1'b1)));
    // A kernel that no SM can run would go unnoticed, or a right one be called wrong.
    wrong_needs_are_said: assert (host_err_o == (sends & wrong_needs));
    // A wrong completion would go unnoticed, or a right one be called wrong.
    wrong_completions_are_said: assert (done_err_o == |(done_valid_i & done_ready_o & wrong_done));
    // A right retirement would be called wrong.
    no_false_alarm: assert (~ret_err_o);
  end
  always @* if (on) begin
    // States without which a proof would say little.
    reaches_cta: cover (|(goes & cta_ready_i));
    reaches_retirement: cover (|retires & grid == 2);
    reaches_marker: cover (|retires & grid == 0);
    reaches_freed: cover (b_waits_for_a & a_done & b_goes);
    reaches_out_of_order: cover (a & ~a_done & b & b_goes & placed == 0 & ~|goes);
  end
  generate
    if (S > 1) begin : a_partition
      always @* if (on) begin
        // States that there are at such sizes only.
        reaches_a_partition: cover (|(goes & ~stands) & outside & part == k & w < S);
      end
    end
    if (C > 1 && (S > 1 || CTAS > 1 && WARPS > 1 && REGS > 1)) begin : both_types
      always @* if (on) begin
        // States that there are at such sizes only.
        reaches_both_types: cover (cta_valid_o[0] & cta_valid_o[P*(C-1)]);
      end
    end
  endgenerate
endmodule
