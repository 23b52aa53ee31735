// Two kernel schedulers that differ in their windows, side by side: `m_` with the matrix, `l_` with the list. One host sends to both; each has a
// device of its own, which takes offers and ends kernels when it likes. Seen from outside they are the same scheduler, but for latency.
module both_windows_properties #(
  parameter N = 8,         // slots
  parameter LN = 3,        // bits of a slot's number
  parameter R = 2,         // retire ports
  parameter MASK = 0,      // 1: a kernel has one beat
  parameter KERNELS = 16,  // kernels that are sent from a reset on
  parameter READY = 8      // cycles after which every kernel that is ready has been offered, if nothing comes and offers are taken
) (
  input clk_i,
  input rst_ni,
  input host_valid_i,
  input [7:0] host_id_i,
  input host_last_i,
  input m_host_ready_o,
  input m_disp_valid_o,
  input m_disp_ready_i,
  input [7:0] m_disp_id_o,
  input [LN-1:0] m_disp_slot_o,
  input [R-1:0] m_ret_valid_i,
  input [R-1:0] m_ret_ready_o,
  input [R*LN-1:0] m_ret_slot_i,
  input l_host_ready_o,
  input l_disp_valid_o,
  input l_disp_ready_i,
  input [7:0] l_disp_id_o,
  input [LN-1:0] l_disp_slot_o,
  input [R-1:0] l_ret_valid_i,
  input [R-1:0] l_ret_ready_o,
  input [R*LN-1:0] l_ret_slot_i
);
  reg reset_seen = 0;
  always @(posedge clk_i) if (!rst_ni) reset_seen <= 1;
  wire on = reset_seen & rst_ni;

  // The host: ids count up from 0, one per kernel, for they number the kernels below; a beat goes to both in the same cycle.
  wire sends = host_valid_i & (MASK | host_last_i);
  reg [7:0] next_id;
  always @(posedge clk_i) next_id <= !rst_ni ? 0 : next_id + sends;
  always @* if (on) begin
    assume (!host_valid_i | host_id_i == next_id & next_id < KERNELS);
    assume (!host_valid_i | m_host_ready_o & l_host_ready_o);
  end

  wire [KERNELS-1:0] m_ran, m_ended, l_ran, l_ended;
  both_windows_device #(.N(N), .LN(LN), .R(R), .KERNELS(KERNELS)) m_device (
    clk_i, rst_ni, on, m_disp_valid_o & m_disp_ready_i, m_disp_id_o, m_disp_slot_o, m_ret_valid_i, m_ret_ready_o, m_ret_slot_i, m_ran, m_ended
  );
  both_windows_device #(.N(N), .LN(LN), .R(R), .KERNELS(KERNELS)) l_device (
    clk_i, rst_ni, on, l_disp_valid_o & l_disp_ready_i, l_disp_id_o, l_disp_slot_o, l_ret_valid_i, l_ret_ready_o, l_ret_slot_i, l_ran, l_ended
  );

  // Latency is over: nothing came for a while, offers were taken, none is left, and the same kernels have ended.
  wire calm = ~host_valid_i & ~|m_ret_valid_i & ~|l_ret_valid_i & m_disp_ready_i & l_disp_ready_i;
  reg [9:0] quiet;
  always @(posedge clk_i) quiet <= !rst_ni | !calm ? 0 : quiet + (quiet < READY + N);
  wire silent = ~m_disp_valid_o & ~l_disp_valid_o;
  wire settled = quiet >= READY & silent & m_ended == l_ended;

  always @* if (on) begin
    // Which kernels run would depend on the window.
    same_kernels_run: assert (!settled | m_ran == l_ran);
    // A window would hold back a kernel for longer than it says: at most N are offered, one in each cycle.
    nothing_is_left: assert (quiet < READY + N | silent);
  end
  always @* if (on) begin
    // Both windows settled with: a kernel that waits, one that was freed, one that overtook another. Else a proof would say little.
    reaches_waiting: cover (settled & m_ran == 1 & next_id == 2);
    reaches_overtaken: cover (settled & m_ran == 5 & next_id == 3 & ~|m_ended);
    reaches_freed: cover (settled & m_ran == 3 & next_id == 3 & m_ended == 1);
  end
endmodule

// A device that runs what it takes, and ends only what runs.
module both_windows_device #(parameter N = 8, parameter LN = 3, parameter R = 2, parameter KERNELS = 16) (
  input clk_i,
  input rst_ni,
  input on,
  input takes,
  input [7:0] id,
  input [LN-1:0] slot,
  input [R-1:0] ret_valid,
  input [R-1:0] ret_ready,
  input [R*LN-1:0] ret_slot,
  output reg [KERNELS-1:0] ran,     // by id
  output reg [KERNELS-1:0] ended
);
  reg [N-1:0] running;
  reg [N*KERNELS-1:0] kernels;      // of each slot, one-hot
  reg [N-1:0] offered, ends;
  reg [KERNELS-1:0] ending;
  reg wrong;
  wire [N-1:0] one = 1;
  wire [KERNELS-1:0] kernel = takes ? {{KERNELS-1{1'b0}}, 1'b1} << id : {KERNELS{1'b0}};
  integer r, s;
  always @* begin
    offered = 0;
    ends = 0;
    wrong = 0;
    ending = 0;
    for (r = 0; r < R; r = r + 1)
      if (ret_valid[r]) begin
        if (~|((one << ret_slot[r*LN +: LN]) & running & ~offered)) wrong = 1;
        offered = offered | (one << ret_slot[r*LN +: LN]);
        if (ret_ready[r]) ends = ends | (one << ret_slot[r*LN +: LN]);
      end
    for (s = 0; s < N; s = s + 1) if (ends[s]) ending = ending | kernels[s*KERNELS +: KERNELS];
  end
  always @* if (on) assume (!wrong);
  always @(posedge clk_i) begin
    running <= !rst_ni ? 0 : (running & ~ends) | (takes ? one << slot : {N{1'b0}});
    for (s = 0; s < N; s = s + 1) if (takes & slot == s) kernels[s*KERNELS +: KERNELS] <= kernel;
    ran <= !rst_ni ? 0 : ran | kernel;
    ended <= !rst_ni ? 0 : ended | ending;
  end
endmodule
