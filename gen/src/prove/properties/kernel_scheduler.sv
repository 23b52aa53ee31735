// What a kernel_scheduler promises beyond what upstream_load and the window each promise: that ids of 8 bits are enough. Kernel A is watched:
// which one is free. Its page: rtl/src/kernel_scheduler/README.md.
module kernel_scheduler_properties #(
  parameter N = 8,         // slots
  parameter LN = 3,        // bits of a slot's number
  parameter R = 2,         // retire ports
  parameter M = 128,       // kernels in the host's list
  parameter MASK = 0,      // 1: a kernel has one beat
  parameter WALK = 0       // cycles in a row for which the window may be busy
) (
  input clk_i,
  input rst_ni,
  input host_valid_i,
  input host_ready_o,
  input [7:0] host_id_i,
  input host_last_i,
  input [N-1:0] ins_slot_o,
  input disp_valid_o,
  input disp_ready_i,
  input [LN-1:0] disp_slot_o,
  input [7:0] disp_id_o,
  input [R-1:0] ret_valid_i,
  input [R-1:0] ret_ready_o,
  input [R*LN-1:0] ret_slot_i,
  input [7:0] occupancy_o,
  input oldest_valid_o,
  input [7:0] oldest_id_o,
  input stall_limit_o,
  input stall_full_o,
  input stall_busy_o
);
  reg reset_seen = 0;
  always @(posedge clk_i) if (!rst_ni) reset_seen <= 1;
  wire on = reset_seen & rst_ni;

  // The host: ids count up, one per kernel, from any: what stands there in reset.
  wire sends = host_valid_i & host_ready_o & (MASK | host_last_i);
  reg [7:0] next_id;
  always @(posedge clk_i) next_id <= !rst_ni ? host_id_i : next_id + sends;
  always @* if (on) assume (!host_valid_i | host_id_i == next_id);

  // A, from its send to its retirement.
  wire [N-1:0] one = 1;
  (* anyseq *) wire pick_a;
  reg a, a_runs, a_done;
  reg [N-1:0] a_slot;
  reg [7:0] a_id;
  wire take_a = sends & pick_a & ~a;
  reg retires;
  integer r;
  always @* begin
    retires = 0;
    for (r = 0; r < R; r = r + 1)
      if (ret_valid_i[r] & ret_ready_o[r] & |(a_slot & (one << ret_slot_i[r*LN +: LN]))) retires = 1;
  end
  always @(posedge clk_i) begin
    a <= rst_ni & (a | take_a);
    a_runs <= rst_ni & (a_runs | a & disp_valid_o & disp_ready_i & |(a_slot & (one << disp_slot_o)));
    a_done <= rst_ni & (a_done | a_runs & retires);
    if (take_a) begin
      a_slot <= ins_slot_o;
      a_id <= host_id_i;
    end
  end

  // How many kernels were sent after the oldest one that has a place.
  wire [7:0] newer = next_id - oldest_id_o - 8'd1;
  wire [7:0] newer_than_a = next_id - a_id - 8'd1;

  // Cycles in a row in which no port that retires a kernel was served, and in which the host was stopped though none did.
  wire refuses = |ret_valid_i & ~|(ret_valid_i & ret_ready_o);
  wire stops = stall_busy_o & ~|ret_valid_i;
  reg [9:0] refused, stopped;
  always @(posedge clk_i) begin
    refused <= !rst_ni | !refuses ? 0 : refused + (refused < N);
    stopped <= !rst_ni | !stops ? 0 : stopped + (stopped < N);
  end

  always @* if (on) begin
    // The host would be let so far ahead that an id means two kernels.
    never_beyond_the_limit: assert (!oldest_valid_o | newer <= M);
    // An id would name two unfinished kernels.
    id_is_not_sent_again: assert (!(a & ~a_done & sends & host_id_i == a_id));
    // A host that counts kernels up to the oldest one would take A for finished.
    oldest_is_no_later: assert (!(a & ~a_done) | oldest_valid_o & newer_than_a <= newer);
    // The host would be stopped without reason, or let go on without one.
    stopped_exactly_at_the_limit: assert (stall_limit_o == (host_valid_i & oldest_valid_o & newer >= M));
    // A counter of stalls would count two reasons, or none.
    one_reason_at_a_time: assert (stall_limit_o + stall_full_o + stall_busy_o <= 1);
    taken_unless_stopped: assert (!host_valid_i | host_ready_o == ~(stall_limit_o | stall_full_o | stall_busy_o));
    // A kernel would be lost between host and window, or be there twice.
    a_sent_kernel_comes_in: assert (sends == |ins_slot_o);
    // The host would be stopped for ever: nobody is there whose retirement it waits for.
    stopped_only_for_somebody: assert (!(stall_limit_o | stall_full_o) | occupancy_o != 0);
    // The host would be stopped for ever by a window that works on nothing.
    stopped_for_one_walk: assert (!stops | stopped < WALK);
    // A finished kernel would never retire, and what waits for it would wait for ever.
    takes_a_retirement_in_time: assert (!refuses | refused < WALK);
  end
  always @* if (on) begin
    // States without which a proof would say little.
    reaches_retired: cover (a_done & sends);
    reaches_gap: cover (oldest_valid_o & newer > occupancy_o);
  end
  generate
    if (M + 1 >= N) begin : full
      always @* if (on) begin
        // States that there are at such sizes only.
        reaches_full: cover (stall_full_o);
      end
    end
    if (!MASK) begin : several_beats
      always @* if (on) begin
        // States that there are at such sizes only.
        reaches_several_beats: cover (host_valid_i & host_ready_o & ~host_last_i);
      end
    end
  endgenerate
endmodule
