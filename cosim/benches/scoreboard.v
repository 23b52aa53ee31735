// A scoreboard of 32 entries, for the benchmark: an entry waits for others (a matrix of dependency bits), the oldest that
// waits for nothing is offered, and a retirement frees its entry and all that waited for it.
module scoreboard (
  input             clk_i,
  input             rst_ni,
  input             ins_valid_i,
  output            ins_ready_o,
  input      [31:0] ins_mask_i,
  input       [7:0] ins_id_i,
  output      [4:0] ins_slot_o,
  output            dis_valid_o,
  input             dis_ready_i,
  output      [4:0] dis_slot_o,
  output      [7:0] dis_id_o,
  input             ret_valid_i,
  input       [4:0] ret_slot_i,
  output     [31:0] busy_o,
  output     [31:0] blocked_o,
  output reg  [5:0] count_o,
  output reg [47:0] cycles_o
);
  reg  [31:0] busy;
  reg  [31:0] sent;
  reg  [31:0] waits [0:31];
  reg  [31:0] younger_than [0:31];
  reg   [7:0] id [0:31];

  wire [31:0] retire = (ret_valid_i ? 32'd1 << ret_slot_i : 32'd0) & busy & sent;
  wire [31:0] ready;
  wire [31:0] oldest;
  genvar g;
  generate
    for (g = 0; g < 32; g = g + 1) begin : g_entry
      assign blocked_o[g] = busy[g] & (|waits[g]);
      assign ready[g] = busy[g] & ~sent[g] & ~(|waits[g]);
      assign oldest[g] = ready[g] & ~(|(younger_than[g] & ready));
    end
  endgenerate

  wire [31:0] free = ~busy & (busy + 32'd1);
  reg   [4:0] free_index;
  reg   [4:0] oldest_index;
  integer i;
  always @* begin
    free_index = 5'd0;
    oldest_index = 5'd0;
    for (i = 0; i < 32; i = i + 1) begin
      if (free[i]) free_index = free_index | i[4:0];
      if (oldest[i]) oldest_index = oldest_index | i[4:0];
    end
  end

  assign ins_ready_o = |free;
  assign ins_slot_o = free_index;
  assign dis_valid_o = |oldest;
  assign dis_slot_o = oldest_index;
  assign dis_id_o = dis_valid_o ? id[oldest_index] : 8'd0;
  assign busy_o = busy;

  wire insert = ins_valid_i & ins_ready_o;
  wire dispatch = dis_valid_o & dis_ready_i;
  integer k;
  always @(posedge clk_i) begin
    if (!rst_ni) begin
      busy <= 32'd0;
      sent <= 32'd0;
      count_o <= 6'd0;
      cycles_o <= 48'd0;
      for (k = 0; k < 32; k = k + 1) begin
        waits[k] <= 32'd0;
        younger_than[k] <= 32'd0;
        id[k] <= 8'd0;
      end
    end else begin
      busy <= (busy & ~retire) | (insert ? free : 32'd0);
      sent <= (sent & ~retire) | (dispatch ? oldest : 32'd0);
      count_o <= count_o + {5'd0, insert} - {5'd0, |retire};
      cycles_o <= cycles_o + 48'd1;
      for (k = 0; k < 32; k = k + 1) begin
        if (insert && free[k]) begin
          waits[k] <= ins_mask_i & busy & ~retire;
          younger_than[k] <= busy & ~retire;
          id[k] <= ins_id_i;
        end else begin
          waits[k] <= waits[k] & ~retire;
          younger_than[k] <= younger_than[k] & ~retire;
        end
      end
    end
  end
endmodule
