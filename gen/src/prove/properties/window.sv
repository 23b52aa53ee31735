// What a scheduling window promises, for every size, kind and number of retire ports. Its page: rtl/src/window_matrix/README.md.
//
// Two kernels are watched, A and a newer one, B: which ones is free, so that what holds for them holds for all. Each is followed by what
// is seen at the ports alone: its slot, the place it was put in, the moves of places, its dispatch, its retirement.
module window_properties #(
  parameter N = 8,         // slots
  parameter LN = 3,        // bits of a slot's number
  parameter R = 2,         // retire ports
  parameter LATE = 0,      // 1: PIPELINED, answers come a cycle later
  parameter FIXED = 0,     // 1: a kernel's place is its slot, and never moves (window_list)
  parameter READY = 0,     // cycles that a kernel whose upstream has retired may wait before it must be offered
  parameter CLOSE = 2      // cycles from a retirement to the closing of its place, if no other is to be closed
) (
  input clk_i,
  input rst_ni,
  input ins_valid_i,
  input ins_ready_o,
  input [7:0] ins_id_i,
  input [N-1:0] ins_up_i,
  input [N-1:0] ins_slot_o,
  input disp_valid_o,
  input disp_ready_i,
  input [7:0] disp_id_o,
  input [LN-1:0] disp_slot_o,
  input [R-1:0] ret_valid_i,
  input [R-1:0] ret_ready_o,
  input [R*LN-1:0] ret_slot_i,
  input ret_err_o,
  input [N-1:0] place_live_o,
  input [8*N-1:0] place_id_o,
  input [N-1:0] place_shift_o,
  input [7:0] occupancy_o,
  input oldest_valid_o,
  input [7:0] oldest_id_o,
  input full_o,
  input busy_o
);
  reg reset_seen = 0;
  always @(posedge clk_i) if (!rst_ni) reset_seen <= 1;
  wire on = reset_seen & rst_ni;

  wire inserts = ins_valid_i & ins_ready_o;
  wire takes = disp_valid_o & disp_ready_i;
  wire [N-1:0] one = 1;
  wire [N-1:0] offered = disp_valid_o ? one << disp_slot_o : {N{1'b0}};
  wire [N-1:0] offered_and_taken = takes ? offered : {N{1'b0}};

  // Every slot: free, waiting or running.
  reg [N-1:0] waiting, running;
  reg [N-1:0] retires;
  reg wrong;
  integer r;
  always @* begin
    retires = 0;
    wrong = 0;
    for (r = 0; r < R; r = r + 1)
      if (ret_valid_i[r] & ret_ready_o[r]) begin
        if (|((one << ret_slot_i[r*LN +: LN]) & running & ~retires)) retires = retires | (one << ret_slot_i[r*LN +: LN]);
        else wrong = 1;
      end
  end
  always @(posedge clk_i)
    if (!rst_ni) begin
      waiting <= 0;
      running <= 0;
    end else begin
      waiting <= (waiting | ins_slot_o) & ~offered_and_taken;
      running <= (running | offered_and_taken) & ~retires;
    end

  // Places in use; those whose kernels stay, and where they go.
  reg [7:0] count;
  wire closes = |place_shift_o;
  wire [N-1:0] tail = FIXED ? ins_slot_o : one << count;
  always @(posedge clk_i) count <= !rst_ni ? 0 : count + inserts - (FIXED ? |retires : closes);

  // A and B.
  (* anyseq *) wire pick_a;
  (* anyseq *) wire pick_b;
  reg a, b, b_waits_for_a;               // was inserted; B was inserted to wait for A
  reg a_done, b_done;                    // has retired
  reg a_gone;                            // and has no place any more
  reg [N-1:0] a_slot, b_slot;            // one-hot
  reg b_gone;
  reg [N-1:0] a_place, b_place;          // one-hot
  reg [N-1:0] a_up, b_up;                // places of what it waits for
  reg [7:0] a_id;
  wire take_a = inserts & pick_a & ~a;
  wire take_b = inserts & pick_b & a & ~b;
  wire [N-1:0] a_place_now = take_a ? tail : a_place;
  wire [N-1:0] b_place_now = take_b ? tail : b_place;
  wire [N-1:0] a_up_now = (take_a ? ins_up_i : a_up) & place_live_o;
  wire [N-1:0] b_up_now = (take_b ? ins_up_i : b_up) & place_live_o;
  wire a_waits = a & |(a_slot & waiting) & ~a_done;
  wire b_waits = b & |(b_slot & waiting) & ~b_done;
  wire a_runs = a & |(a_slot & running) & ~a_done;
  wire a_retires = a_runs & |(a_slot & retires);
  wire b_retires = b & ~b_done & |(b_slot & running & retires);
  always @(posedge clk_i) begin
    if (!rst_ni) begin
      a <= 0;
      b <= 0;
      a_done <= 0;
      b_done <= 0;
      a_gone <= 0;
      b_gone <= 0;
      b_waits_for_a <= 0;
    end else begin
      if (take_a) begin
        a <= 1;
        a_slot <= ins_slot_o;
        a_id <= ins_id_i;
      end
      if (take_b) begin
        b <= 1;
        b_slot <= ins_slot_o;
        b_waits_for_a <= |(ins_up_i & a_place) & ~a_gone;
      end
      if (a_retires) a_done <= 1;
      if (b_retires) b_done <= 1;
      if (FIXED ? a_retires : a & |(a_place & place_shift_o) & ~|((a_place >> 1) & place_shift_o)) a_gone <= 1;
      if (FIXED ? b_retires : b & |(b_place & place_shift_o) & ~|((b_place >> 1) & place_shift_o)) b_gone <= 1;
    end
    a_place <= (a_place_now & ~place_shift_o) | ((a_place_now >> 1) & place_shift_o);
    b_place <= (b_place_now & ~place_shift_o) | ((b_place_now >> 1) & place_shift_o);
    a_up <= (a_up_now & ~place_shift_o) | ((a_up_now >> 1) & place_shift_o);
    b_up <= (b_up_now & ~place_shift_o) | ((b_up_now >> 1) & place_shift_o);
  end

  reg [7:0] a_place_id;
  integer p;
  always @* begin
    a_place_id = 0;
    for (p = 0; p < N; p = p + 1) if (a_place[p]) a_place_id = a_place_id | place_id_o[8*p +: 8];
  end

  // How long A has been ready; which kernels may still go before it; how long its place is open after its retirement.
  reg [9:0] a_ready, a_open;
  reg [N-1:0] older;                     // slots of unfinished kernels that came before A
  reg [N-1:0] ahead;                     // of these, once A is ready, those not taken, and the one that was on offer then
  wire [N-1:0] older_now = (take_a ? waiting | running : older) & ~retires;
  // A pipelined window looks at a kernel one cycle after its insertion.
  reg a_settled, none_was_older;
  wire a_is_ready = a_waits & ~|a_up & a_ready >= READY & (!LATE | a_settled);
  always @(posedge clk_i) begin
    a_ready <= !rst_ni | !a_waits | |a_up ? 0 : a_ready + (a_ready < READY);
    a_settled <= a;
    none_was_older <= a & ~|older;
    older <= older_now;
    ahead <= a_is_ready ? ahead & ~offered_and_taken : (older_now & waiting | offered) & ~offered_and_taken;
    a_open <= !rst_ni | !a_done | a_gone ? 0 : a_open + (a_open <= N + CLOSE);
  end

  reg held;
  reg [7:0] held_id;
  reg [LN-1:0] held_slot;
  reg wrong_before;
  always @(posedge clk_i) begin
    held <= rst_ni & disp_valid_o & ~disp_ready_i;
    held_id <= disp_id_o;
    held_slot <= disp_slot_o;
    wrong_before <= rst_ni & wrong;
  end

  // The lowest port that retires a kernel; for how many cycles the window has been busy.
  wire [R-1:0] first_to_retire = ret_valid_i & ~(ret_valid_i - 1'b1);
  reg [9:0] busy;
  always @(posedge clk_i) busy <= !rst_ni | !busy_o ? 0 : busy + (busy < N);

  // The environment keeps the page's rules.
  always @* if (on & inserts) assume (~|(ins_up_i & ~place_live_o));
  // A list finds upstream by id: no two kernels of the window have the same.
  reg [8*N-1:0] ids;
  integer i;
  always @(posedge clk_i) for (i = 0; i < N; i = i + 1) if (ins_slot_o[i]) ids[8*i +: 8] <= ins_id_i;
  generate if (FIXED)
    always @* for (i = 0; i < N; i = i + 1)
      if (on & inserts & (waiting[i] | running[i])) assume (ins_id_i != ids[8*i +: 8]);
  endgenerate

  always @* if (on) begin
    // A kernel would read what is not written yet.
    waits_for_upstream: assert (!(b_waits_for_a & ~a_done & b & ~b_done & |(b_slot & offered)));
    // The device would run a kernel in a slot that is not there.
    offers_a_slot: assert (!disp_valid_o | |offered);
    // A kernel would run twice, or one would run that was never sent.
    offers_what_waits: assert (~|(offered & ~waiting));
    // The device would run another kernel than the one that is ready.
    offers_its_id: assert (!(a_waits & |(a_slot & offered)) | disp_id_o == a_id);
    // The offer would change under the device's eyes.
    offer_stays: assert (!held | disp_valid_o & disp_id_o == held_id & disp_slot_o == held_slot);
    // A device that looks too early would see a kernel.
    idle_is_zero: assert (disp_valid_o | disp_id_o == 0 & disp_slot_o == 0);
    // An insertion would get no slot, or two.
    slot_is_one: assert (inserts ? |ins_slot_o & ~|(ins_slot_o & (ins_slot_o - one)) : ~|ins_slot_o);
    // Two unfinished kernels would share a slot.
    slot_was_free: assert (~|(ins_slot_o & (waiting | running)));
    // A finished kernel would never retire, and what waits for it would wait for ever.
    takes_retirements: assert (FIXED ? busy_o | ~|(first_to_retire & ~ret_ready_o) : &ret_ready_o & ~busy_o);
    // The window would take neither kernels nor retirements any more.
    busy_for_one_walk: assert (!busy_o | busy < N - 1);
    // A wrong retirement would pass, or a right one be called wrong.
    retirement_error_is_exact: assert (ret_err_o == (LATE ? wrong_before : wrong));
    // A kernel would be lost, or be there twice.
    unfinished_has_a_place: assert (!a | a_done | a_gone | |a_place & ~|(a_place & (a_place - one)));
    // A kernel would be lost before it ran.
    unfinished_is_not_closed: assert (!(a & ~a_done & a_gone));
    // A kernel inserted now would not wait for one that it must wait for.
    unfinished_is_live: assert (!(a & ~a_done & (LATE | ~a_retires)) | |(a_place & place_live_o));
    // A kernel inserted now would wait for one that will never retire again.
    finished_is_not_live: assert (!(a & (LATE ? a_done : a_done | a_retires) & ~a_gone) | ~|(a_place & place_live_o));
    // A kernel inserted now would wait for nothing, for ever.
    empty_is_not_live: assert (~|(FIXED ? place_live_o & ~(waiting | running) : place_live_o >> count));
    // Upstream ids would be found in the wrong place.
    place_keeps_id: assert (!(a & ~a_gone) | a_place_id == a_id);
    // The host would be let too far ahead, or stopped without reason.
    oldest_is_first: assert (oldest_valid_o == (count != 0) & (oldest_valid_o | oldest_id_o == 0));
    // The host would be let so far ahead that an id means two kernels.
    oldest_is_named: assert (!(a & ~a_gone & (FIXED ? ~|older : a_place[0])) | oldest_id_o == a_id);
    // A kernel would be lost or invented.
    occupancy_is_exact: assert (occupancy_o == count & count <= N);
    // A full window would take a kernel, or one with room refuse it.
    full_is_exact: assert (full_o == (count == N));
    // A window with room would refuse a kernel.
    takes_while_room: assert (FIXED & |ret_valid_i ? !ins_ready_o | ~full_o & ~busy_o : ins_ready_o == (~full_o & ~busy_o));
    // A kernel would be lost while it runs.
    closes_a_finished_place: assert (!(a & ~a_done & ~a_gone) | !(|(a_place & place_shift_o) & ~|((a_place >> 1) & place_shift_o)));
    // Places of finished kernels would fill the window.
    closes_in_time: assert (a_open <= N + CLOSE);
    // A ready kernel would wait while nothing is on offer.
    offers_what_is_ready: assert (!a_is_ready | disp_valid_o);
    // The window would stand still for ever.
    oldest_waits_for_nobody: assert (!(a_waits & ~|older & (!LATE | none_was_older)) | ~|a_up);
    // A newer kernel would go before an older one that is ready too.
    oldest_first: assert (!(a_is_ready & b_waits & ~held & |(b_slot & offered)));
    // A ready kernel would starve: what goes before it is from a set of at most N that only shrinks.
    goes_after_few: assert (!(a_is_ready & disp_valid_o) | |(offered & (ahead | a_slot)));
  end

  // A list takes no insertion in a cycle with a retirement, and one retirement at a time.
  always @* if (on) begin
    // States without which a proof would say little.
    reaches_full: cover (full_o);
    reaches_waiting: cover (b_waits_for_a & b_waits & a_waits);
    reaches_freed: cover (b_waits_for_a & a_done & |(b_slot & offered));
    reaches_slot_again: cover (a_done & inserts & |(ins_slot_o & a_slot));
    reaches_error: cover (ret_err_o);
    reaches_held: cover (held & a_is_ready & b_waits & |(b_slot & offered));
    reaches_empty_again: cover (a_gone & count == 0);
  end
  generate
    if (!FIXED) begin : insert_and_retire
      always @* if (on) begin
        // States that there are at such sizes only.
        reaches_insert_and_retire: cover (inserts & a_retires);
        reaches_insert_that_waits_as_another_retires: cover (take_b & |(ins_up_i) & |retires);
      end
    end
    if (!FIXED && R > 1) begin : two_retirements
      always @* if (on) begin
        // States that there are at such sizes only.
        reaches_two_retirements: cover (|(retires & (retires - one)));
      end
    end
  endgenerate
endmodule
