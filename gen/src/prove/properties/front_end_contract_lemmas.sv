// How the parts of a front end see the same kernels.
module front_end_contract_lemmas #(
  parameter N = 8,
  parameter LN = 3,
  parameter C = 2,
  parameter K = 1
) (
  // properties:
  input on,
  input [N*32-1:0] out,
  // beside window:
  input [N-1:0] waiting, input [N-1:0] window__running,
  // beside kernel_table:
  input [N-1:0] held, input [N-1:0] queued, input [N-1:0] running, input [N-1:0] type,
  // design u_table.u_entry_%, each of N:
  input [N*32-1:0] left_q,
  // design u_dispatch.u_arbiter.u_channel_0:
  input [3:0] c0__active_q,
  // design u_dispatch.u_arbiter.u_channel_0.u_entry_%, each of K:
  input [K*LN-1:0] c0__slot_q,
  input [K*16-1:0] c0__left_low_q, input [K*16-1:0] c0__left_high_q,
  input [K*1-1:0] c0__left_borrows_q, input [K*1-1:0] c0__last_q,
  // design u_dispatch.u_arbiter.u_channel_1:
  input [3:0] c1__active_q,
  // design u_dispatch.u_arbiter.u_channel_1.u_entry_%, each of K:
  input [K*LN-1:0] c1__slot_q,
  input [K*16-1:0] c1__left_low_q, input [K*16-1:0] c1__left_high_q,
  input [K*1-1:0] c1__left_borrows_q, input [K*1-1:0] c1__last_q
);
  always @* if (on) begin
    waits_in_both: assert (waiting == (held & ~running));
    runs_in_both: assert (window__running == running);
    what_waits_runs: assert (~|(queued & ~running));
  end
  genvar i, k;
  generate
    for (k = 0; k < K; k = k + 1) begin : entry
      wire [31:0] left_0 = {c0__left_high_q[k*16 +: 16], c0__left_low_q[k*16 +: 16]};
      wire [31:0] left_1 = {c1__left_high_q[k*16 +: 16], c1__left_low_q[k*16 +: 16]};
      lemma counts_rightly_0 (on & c0__active_q[k], left_0 != 0 & c0__left_borrows_q[k] == (left_0[15:0] == 0) & c0__last_q[k] == (left_0 == 1));
      lemma counts_rightly_1 (on & C == 2 & c1__active_q[k], left_1 != 0 & c1__left_borrows_q[k] == (left_1[15:0] == 0) & c1__last_q[k] == (left_1 == 1));
    end
    for (i = 0; i < N; i = i + 1) begin : slot
      // CTAs of the kernel in slot i that are still to be placed, and whether an arbiter, the right one, has it.
      reg [31:0] rest;
      reg [K-1:0] has, wrong;
      integer e;
      wire at = C == 2 & type[i];
      always @* begin
        rest = 0;
        for (e = 0; e < K; e = e + 1) begin
          has[e] = at ? c1__active_q[e] & c1__slot_q[e*LN +: LN] == i : c0__active_q[e] & c0__slot_q[e*LN +: LN] == i;
          wrong[e] = C == 2 & (at ? c0__active_q[e] & c0__slot_q[e*LN +: LN] == i : c1__active_q[e] & c1__slot_q[e*LN +: LN] == i);
          if (has[e]) rest = rest | (at ? {c1__left_high_q[e*16 +: 16], c1__left_low_q[e*16 +: 16]} : {c0__left_high_q[e*16 +: 16], c0__left_low_q[e*16 +: 16]});
        end
      end
      wire handed = running[i] & ~queued[i];
      lemma only_where_it_belongs (on, ~|wrong & ~|(has & (has - 1'b1)) & (handed | ~|has));
      lemma none_is_out_before (on, handed | out[i*32 +: 32] == 0);
      lemma left_is_to_come_or_out (on & handed, {1'b0, left_q[i*32 +: 32]} == {1'b0, rest} + {1'b0, out[i*32 +: 32]});
    end
  endgenerate
endmodule
