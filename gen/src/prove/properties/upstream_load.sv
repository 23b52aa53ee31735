// What upstream_load promises, both encodings, against a window that keeps its own promises. Its page: rtl/src/upstream_load/README.md.
module upstream_load_properties #(
  parameter N = 8,         // places
  parameter M = 8,         // kernels in the host's list
  parameter K = 4          // upstream ids per beat; 0: a mask
) (
  input clk_i,
  input rst_ni,
  input host_valid_i,
  input host_ready_o,
  input [7:0] host_id_i,
  input host_last_i,
  input [(K ? K : 1)-1:0] host_up_valid_i,
  input [8*(K ? K : 1)-1:0] host_up_id_i,
  input [M-1:0] host_up_i,
  input ins_valid_o,
  input ins_ready_i,
  input [7:0] ins_id_o,
  input [N-1:0] ins_up_o,
  input [N-1:0] place_live_i,
  input [8*N-1:0] place_id_i,
  input [N-1:0] place_shift_i,
  input oldest_valid_i,
  input [7:0] oldest_id_i,
  input stall_limit_o
);
  wire [N-1:0] one = 1;
  wire last = K == 0 | host_last_i;
  reg reset_seen = K == 0;
  always @(posedge clk_i) if (!rst_ni) reset_seen <= 1;
  wire on = reset_seen & (K == 0 | rst_ni);

  // Kernel A: any kernel of the window. Its place moves as the window says, and its id stays.
  (* anyconst *) wire [7:0] a_id;
  (* anyseq *) wire [N-1:0] a_first;
  reg a_began = 0;
  reg [N-1:0] a_place_q;
  wire [N-1:0] a_place = a_began ? a_place_q : a_first;
  reg [7:0] id_at_a;
  integer p, k;
  always @* begin
    id_at_a = 0;
    for (p = 0; p < N; p = p + 1) if (a_place[p]) id_at_a = id_at_a | place_id_i[8*p +: 8];
  end
  always @(posedge clk_i) begin
    a_began <= rst_ni | K == 0;
    a_place_q <= (a_place & ~place_shift_i) | ((a_place >> 1) & place_shift_i);
  end
  wire a_live = |(a_place & place_live_i);

  // Whether this beat names A, and whether an earlier beat of this kernel did while A was live.
  wire [7:0] distance = host_id_i - a_id - 8'd1;
  reg names_a;
  always @* begin
    names_a = 0;
    if (K == 0) names_a = distance < M ? host_up_i[distance % M] : 1'b0;
    else for (k = 0; k < K; k = k + 1) if (host_up_valid_i[k] & host_up_id_i[8*k +: 8] == a_id) names_a = 1;
  end
  reg named_q;
  wire named_a = K != 0 & named_q;
  always @(posedge clk_i)
    if (!rst_ni) named_q <= 0;
    else if (host_valid_i & host_ready_o) named_q <= ~last & (named_q | names_a) & a_live;
    else named_q <= named_q & a_live;
  wire [7:0] newer = host_id_i - oldest_id_i - 8'd1;
  wire blocked = oldest_valid_i & newer >= M;

  always @* if (on) begin
    // The window: one place for A, where its id is; a suffix of places moves; what has retired stays so.
    assume (~|(a_place & (a_place - one)));
    assume (~|a_place | id_at_a == a_id);
    assume (~|((place_shift_i << 1) & ~place_shift_i));
    // Its promise that ids differ: no other live place has A's.
    for (p = 0; p < N; p = p + 1)
      assume (~place_live_i[p] | a_place[p] | ~|a_place | place_id_i[8*p +: 8] != a_id);
  end

  always @* if (on) begin
    // A kernel would start before one that it waits for.
    a_live_one_is_never_dropped: assert (!(ins_valid_o & a_live & (names_a | named_a)) | |(ins_up_o & a_place));
    // A kernel would wait for one that nobody named.
    nothing_is_invented: assert (!(ins_valid_o & |(ins_up_o & a_place)) | names_a | named_a);
    // A kernel would wait for ever for one that has retired.
    a_stale_one_is_dropped: assert (~|(ins_up_o & ~place_live_i));
    // An id would name two unfinished kernels, or the host be stopped without reason.
    blocked_exactly_at_the_limit: assert (stall_limit_o == (host_valid_i & blocked));
    // A kernel would be lost between host and window, or sent twice.
    last_beat_inserts: assert (ins_valid_o == (host_valid_i & last & ~blocked));
    taken_when_inserted: assert (host_ready_o == (~blocked & (ins_ready_i | ~last)));
    // The window would keep another kernel's name.
    id_goes_through: assert (!ins_valid_o | ins_id_o == host_id_i);
  end
  always @* if (on) begin
    // States without which a proof would say little.
    reaches_named: cover (ins_valid_o & ins_ready_i & |(ins_up_o & a_place));
    reaches_stale: cover (ins_valid_o & (K == 0 | named_a | names_a) & |a_place & ~a_live & names_a);
    reaches_limit: cover (stall_limit_o & last);
  end
  generate
    if (K > 0) begin : named_earlier
      always @* if (on) begin
        // States that there are at such sizes only.
        reaches_named_earlier: cover (ins_valid_o & named_a & ~names_a & |(ins_up_o & a_place));
        reaches_moved: cover (named_a & |(a_place & place_shift_i) & |((a_place >> 1) & place_shift_i));
      end
    end
  endgenerate
endmodule
