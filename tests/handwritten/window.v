// A scheduling window as one would plainly write it by hand, to compare the generated one with: N slots, a dependency matrix, an
// age matrix, the channels of rtl/src/window_matrix/README.md. Verilog-2005, one module, two processes.
module handwritten_window #(
  parameter N = 32,
  parameter LN = 5
) (
  input  wire            clk_i,
  input  wire            rst_ni,
  input  wire            ins_valid_i,
  output wire            ins_ready_o,
  input  wire [7:0]      ins_id_i,
  input  wire [N-1:0]    ins_up_i,
  output wire [N-1:0]    ins_slot_o,
  output wire            disp_valid_o,
  input  wire            disp_ready_i,
  output reg  [7:0]      disp_id_o,
  output reg  [LN-1:0]   disp_slot_o,
  input  wire            ret_valid_0_i,
  input  wire            ret_valid_1_i,
  output wire            ret_ready_0_o,
  output wire            ret_ready_1_o,
  input  wire [LN-1:0]   ret_slot_0_i,
  input  wire [LN-1:0]   ret_slot_1_i,
  output wire            ret_err_o,
  output wire [N-1:0]    slot_live_o,
  output wire [8*N-1:0]  slot_id_o,
  output reg  [7:0]      occupancy_o,
  output wire            oldest_valid_o,
  output reg  [7:0]      oldest_id_o,
  output wire            full_o,
  output wire            busy_o
);

  reg [N-1:0] valid, dispatched, held;
  reg [N-1:0] waits [0:N-1];  // bit j of row i: slot i waits for slot j
  reg [N-1:0] older [0:N-1];  // bit j of row i: slot j was filled before slot i
  reg [7:0]   id [0:N-1];

  // Retirement: a dispatched kernel, and not the same slot twice.
  wire [N-1:0] named_0 = ret_valid_0_i ? ({{N-1{1'b0}}, 1'b1} << ret_slot_0_i) : {N{1'b0}};
  wire [N-1:0] named_1 = ret_valid_1_i ? ({{N-1{1'b0}}, 1'b1} << ret_slot_1_i) : {N{1'b0}};
  wire [N-1:0] gone_0  = named_0 & dispatched;
  wire [N-1:0] gone_1  = named_1 & dispatched & ~gone_0;
  wire [N-1:0] gone    = gone_0 | gone_1;
  assign ret_err_o = (ret_valid_0_i & ~|gone_0) | (ret_valid_1_i & ~|gone_1);
  assign ret_ready_0_o = 1'b1;
  assign ret_ready_1_o = 1'b1;
  assign slot_live_o = valid & ~gone;

  // Insertion into the lowest free slot.
  wire [N-1:0] free = ~valid;
  wire         ins  = ins_valid_i & ins_ready_o;
  assign full_o      = &valid;
  assign ins_ready_o = ~full_o;
  assign ins_slot_o  = ins ? (free & (~free + 1'b1)) : {N{1'b0}};

  // The oldest slot that waits for nothing; once offered it stays.
  reg  [N-1:0] first, oldest;
  wire [N-1:0] offer = |held ? held : first;
  assign disp_valid_o   = |offer;
  assign oldest_valid_o = |valid;
  assign busy_o         = 1'b0;

  reg [N-1:0] ready;
  integer i;
  always @(*) begin
    for (i = 0; i < N; i = i + 1) ready[i] = valid[i] & ~dispatched[i] & ~|waits[i];
    disp_id_o = 8'd0; disp_slot_o = {LN{1'b0}}; oldest_id_o = 8'd0;
    for (i = 0; i < N; i = i + 1) begin
      first[i]  = ready[i] & ~|(older[i] & ready);
      oldest[i] = valid[i] & ~|(older[i] & valid);
    end
    for (i = 0; i < N; i = i + 1) begin
      if (offer[i]) begin
        disp_id_o   = disp_id_o | id[i];
        disp_slot_o = disp_slot_o | i[LN-1:0];
      end
      if (oldest[i]) oldest_id_o = oldest_id_o | id[i];
    end
  end

  genvar g;
  generate
    for (g = 0; g < N; g = g + 1) begin : ids
      assign slot_id_o[8*g +: 8] = id[g];
    end
  endgenerate

  wire [N-1:0] taken = disp_ready_i ? offer : {N{1'b0}};
  integer k;
  always @(posedge clk_i) begin
    if (!rst_ni) begin
      valid <= {N{1'b0}}; dispatched <= {N{1'b0}}; held <= {N{1'b0}}; occupancy_o <= 8'd0;
      for (k = 0; k < N; k = k + 1) id[k] <= 8'd0;
    end else begin
      valid       <= slot_live_o | ins_slot_o;
      dispatched  <= (dispatched & ~gone) | taken;
      held        <= disp_ready_i ? {N{1'b0}} : offer;
      occupancy_o <= occupancy_o + {7'd0, ins} - {7'd0, |gone_0} - {7'd0, |gone_1};
      for (k = 0; k < N; k = k + 1) if (ins_slot_o[k]) id[k] <= ins_id_i;
    end
    for (k = 0; k < N; k = k + 1) begin
      waits[k] <= ins_slot_o[k] ? ins_up_i : waits[k] & ~gone;
      older[k] <= ins_slot_o[k] ? valid : older[k] & ~ins_slot_o;
    end
  end
endmodule
