// What kernel_table promises. The kernels of one slot, s, are watched, and what it shares with another slot, t: which ones is free.
// Its page: rtl/src/kernel_table/README.md.
module kernel_table_properties #(
  parameter N = 8,         // slots
  parameter LN = 3,        // bits of a slot's number
  parameter R = 2,         // retire ports
  parameter Q = 2          // queues
) (
  input clk_i,
  input rst_ni,
  input [N-1:0] ins_slot_i,
  input [7:0] ins_id_i,
  input [31:0] ins_grid_i,
  input ins_type_i,
  input [2:0] ins_part_i,
  input [6:0] ins_warps_i,
  input [8:0] ins_regs_i,
  input [10:0] ins_smem_i,
  input disp_valid_i,
  input [LN-1:0] disp_slot_i,
  input [Q-1:0] next_valid_o,
  input [Q-1:0] next_ready_i,
  input [Q*LN-1:0] next_slot_o,
  input [Q*8-1:0] next_id_o,
  input [Q*32-1:0] next_grid_o,
  input [Q-1:0] next_type_o,
  input [Q*3-1:0] next_part_o,
  input [Q*7-1:0] next_warps_o,
  input [Q*9-1:0] next_regs_o,
  input [Q*11-1:0] next_smem_o,
  input [3:0] done_valid_i,
  input [4*LN-1:0] done_slot_i,
  input [4*7-1:0] done_warps_o,
  input [4*9-1:0] done_regs_o,
  input [4*11-1:0] done_smem_o,
  input [3:0] done_runs_o,
  input done_err_o,
  input [R-1:0] ret_valid_o,
  input [R-1:0] ret_ready_i,
  input [R*LN-1:0] ret_slot_o
);
  reg reset_seen = 0;
  always @(posedge clk_i) if (!rst_ni) reset_seen <= 1;
  wire on = reset_seen & rst_ni;
  wire [N-1:0] one = 1;

  // Every slot: holds a kernel, which waits for its dispatch; then for an arbiter; runs, from its dispatch to its retirement.
  reg [N-1:0] held, queued, running, type;
  reg [N-1:0] markers;     // whose kernels have no CTAs: no arbiter gets them
  wire [N-1:0] handed = running & ~queued; // an arbiter has it, or has had it
  wire [N-1:0] dispatched = disp_valid_i ? one << disp_slot_i : {N{1'b0}};
  wire [N-1:0] placeable = dispatched & ~markers;
  reg [N-1:0] offered, taken, retires, retiring;
  reg twice;
  integer r, q;
  always @* begin
    offered = 0;
    taken = 0;
    for (q = 0; q < Q; q = q + 1) if (next_valid_o[q]) begin
      offered = offered | (one << next_slot_o[q*LN +: LN]);
      if (next_ready_i[q]) taken = taken | (one << next_slot_o[q*LN +: LN]);
    end
    retires = 0;
    retiring = 0;
    twice = 0;
    for (r = 0; r < R; r = r + 1) if (ret_valid_o[r]) begin
      twice = twice | |(retiring & (one << ret_slot_o[r*LN +: LN]));
      retiring = retiring | (one << ret_slot_o[r*LN +: LN]);
      if (ret_ready_i[r]) retires = retires | (one << ret_slot_o[r*LN +: LN]);
    end
  end
  always @(posedge clk_i)
    if (!rst_ni) begin
      held <= 0;
      queued <= 0;
      running <= 0;
    end else begin
      held <= (held | ins_slot_i) & ~retires;
      queued <= (queued | placeable) & ~taken;
      running <= (running | dispatched) & ~retires;
      markers <= (markers & ~ins_slot_i) | (ins_grid_i == 0 ? ins_slot_i : {N{1'b0}});
      type <= (type & ~ins_slot_i) | (ins_type_i ? ins_slot_i : {N{1'b0}});
    end

  // What slot s holds.
  (* anyconst *) wire [LN-1:0] s, t;
  reg [7:0] id;
  reg [31:0] left;
  reg [2:0] part;
  reg [6:0] warps;
  reg [8:0] regs;
  reg [10:0] smem;
  reg s_first;             // s and t hold kernels, and that of s came first
  reg [2:0] ends, ends_t;
  reg [31:0] left_t;       // of the kernel in slot t
  reg [3:0] names_s, names_t, names_none;
  reg says_who_runs;
  integer p;
  always @* begin
    says_who_runs = 1;
    ends = 0;
    ends_t = 0;
    for (p = 0; p < 4; p = p + 1) begin
      names_s[p] = done_valid_i[p] & done_slot_i[p*LN +: LN] == s;
      names_t[p] = done_valid_i[p] & done_slot_i[p*LN +: LN] == t;
      names_none[p] = done_valid_i[p] & done_slot_i[p*LN +: LN] >= N;
      if (done_slot_i[p*LN +: LN] == s & done_runs_o[p] != (handed[s] & left != 0)) says_who_runs = 0;
      if (done_slot_i[p*LN +: LN] >= N & done_runs_o[p]) says_who_runs = 0;
      if (names_s[p] & handed[s]) ends = ends + 1;
      if (names_t[p] & handed[t]) ends_t = ends_t + 1;
    end
  end
  // Completions of s, and of t, of which at least one is too many.
  wire wrong_s = |names_s & (~handed[s] | left < ends), wrong_t = |names_t & (~handed[t] | left_t < ends_t);
  always @(posedge clk_i) begin
    if (ins_slot_i[s]) begin
      id <= ins_id_i;
      left <= ins_grid_i;
      part <= ins_part_i;
      warps <= ins_warps_i;
      regs <= ins_regs_i;
      smem <= ins_smem_i;
    end else left <= left < ends ? 0 : left - ends;
    left_t <= ins_slot_i[t] ? ins_grid_i : left_t < ends_t ? 0 : left_t - ends_t;
    if (!rst_ni | ins_slot_i[s]) s_first <= 0;
    else if (ins_slot_i[t]) s_first <= held[s] & ~retires[s];
  end
  wire ended = running[s] & left == 0;

  // What each queue, and each port, did in the cycle before.
  reg [Q-1:0] stays;
  reg [Q*LN-1:0] stayed;
  reg [R-1:0] kept;
  reg [R*LN-1:0] kept_slot;
  always @(posedge clk_i) begin
    stays <= rst_ni ? next_valid_o & ~next_ready_i : {Q{1'b0}};
    stayed <= next_slot_o;
    kept <= rst_ni ? ret_valid_o & ~ret_ready_i : {R{1'b0}};
    kept_slot <= ret_slot_o;
  end

  // The neighbours' promises: a slot that is filled was free; a kernel is dispatched once, after it came.
  always @* if (on) begin
    assume (s < N & t < N & s != t); // a choice
    assume (~|(ins_slot_i & (ins_slot_i - one)) & ~|(ins_slot_i & held));
    assume (!disp_valid_i | |dispatched & ~|(dispatched & (~held | queued | running)));
  end

  reg right_queue, payload_right, stable, retire_stays, in_a_slot;
  always @* begin
    in_a_slot = 1;
    right_queue = 1;
    payload_right = 1;
    stable = 1;
    retire_stays = 1;
    for (q = 0; q < Q; q = q + 1) begin
      if (next_valid_o[q] & next_slot_o[q*LN +: LN] >= N) in_a_slot = 0;
      if (next_valid_o[q] & next_slot_o[q*LN +: LN] == s) begin
        if (Q == 2 & type[s] != q) right_queue = 0;
        if (next_id_o[q*8 +: 8] != id | next_grid_o[q*32 +: 32] != left | next_type_o[q] != type[s] | next_part_o[q*3 +: 3] != part) payload_right = 0;
        if (next_warps_o[q*7 +: 7] != warps | next_regs_o[q*9 +: 9] != regs | next_smem_o[q*11 +: 11] != smem) payload_right = 0;
      end
      if (stays[q] & (!next_valid_o[q] | next_slot_o[q*LN +: LN] != stayed[q*LN +: LN])) stable = 0;
    end
    for (r = 0; r < R; r = r + 1) if (ret_valid_o[r] & ret_slot_o[r*LN +: LN] >= N) in_a_slot = 0;
    for (r = 0; r < R; r = r + 1)
      if (kept[r] & (!ret_valid_o[r] | ret_slot_o[r*LN +: LN] != kept_slot[r*LN +: LN])) retire_stays = 0;
  end
  // The queue that s is in; whether it made a new offer, and s waits in it since the cycle before.
  wire at = Q == 2 & type[s];
  wire fresh = ~stays[at] & next_valid_o[at];

  always @* if (on) begin
    // A kernel would start, or retire, in a slot that is not there.
    names_a_slot: assert (in_a_slot);
    // A kernel's CTAs would be placed before it may start, or twice, or of a kernel that has none.
    offers_what_waits: assert (~|(offered & ~(queued | placeable)));
    // An arbiter would count down from no CTA.
    offers_ctas: assert (!offered[s] | left != 0);
    // SIMT CTAs would be placed as TENSOR ones.
    offers_in_its_queue: assert (right_queue);
    // CTAs would be placed with another kernel's needs, or too many of them.
    offers_its_fields: assert (payload_right);
    // The offer would change under the arbiter's eyes.
    offer_stays: assert (stable);
    // A kernel would wait while its arbiter has nothing.
    offers_if_any_waits: assert (!(queued[s] | placeable[s]) | next_valid_o[at]);
    // A newer kernel of the same type would go first.
    oldest_first: assert (!(fresh & queued[s] & queued[t] & s_first & (Q == 1 | type[t] == type[s])) | next_slot_o[at*LN +: LN] != t);
    // A kernel that waits would be overtaken by one that comes.
    who_waits_goes_first: assert (!(fresh & queued[s]) | |(queued & (one << next_slot_o[at*LN +: LN])));
    // A completion of no kernel, or one too many, would pass.
    false_completion_is_said: assert (!(wrong_s | |names_none) | done_err_o);
    // A completion of a kernel of which no CTA runs would give an SM's room back, or a right one none.
    who_runs_is_said: assert (says_who_runs);
    // A right completion would be called wrong.
    right_completion_is_not: assert (!(done_err_o & ~|(done_valid_i & ~names_s & ~names_t)) | wrong_s | wrong_t);
    // A kernel would retire while its CTAs run.
    retires_what_has_ended: assert (!retiring[s] | ended);
    // A kernel would retire twice.
    retires_once: assert (!twice);
    // The window would see another retirement than the one that it was offered.
    retirement_stays: assert (retire_stays);
    // A kernel that has ended would hold up those behind it.
    retires_as_soon_as_it_may: assert (!ended | retiring[s] | &ret_valid_o);
  end
  genvar i, j;
  generate
    for (i = 0; i < N; i = i + 1) begin : slot
      for (j = 0; j < 4; j = j + 1) begin : port
        wire asked = on & held[i] & s == i & done_slot_i[j*LN +: LN] == i;
        // Resources would be given back that were never taken.
        lemma completion_finds_its_needs (asked, done_warps_o[j*7 +: 7] == warps & done_regs_o[j*9 +: 9] == regs & done_smem_o[j*11 +: 11] == smem);
      end
    end
  endgenerate
  always @* if (on) begin
    // States without which a proof would say little.
    reaches_order: cover (queued[s] & queued[t] & s_first & s > t & |(taken & (one << s)) & type[s] == type[t]);
    reaches_four_ends: cover (ends == 4 & left == 4);
    reaches_grid_of_one: cover (ended & retires[s] & kept == 0 & ~markers[s]);
    reaches_marker: cover (retires[s] & markers[s] & |queued);
    reaches_excess: cover (done_err_o & ends > left);
    reaches_early_end: cover (|names_s & queued[s]);
    reaches_slot_again: cover (ins_slot_i[s] & id != ins_id_i & left == 0 & |running);
  end
  generate
    if (Q > 1) begin : two_offers
      always @* if (on) begin
        // States that there are at such sizes only.
        reaches_two_offers: cover (&next_valid_o);
      end
    end
    if (R < N) begin : all_ports_busy
      always @* if (on) begin
        // States that there are at such sizes only.
        reaches_all_ports_busy: cover (ended & ~retiring[s]);
      end
    end
  endgenerate
endmodule
