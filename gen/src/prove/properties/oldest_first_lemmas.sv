// How the registers of oldest_first say what oldest_first_properties sees.
module oldest_first_lemmas #(
  parameter N = 8
) (
  // properties:
  input [N-1:0] known,
  input [N-1:0] s, input [N-1:0] t,
  input s_first,
  // design, each of N:
  input [N*N-1:0] row_q
);
  // older[i][j]: slot j came before slot i.
  genvar i, j, k;
  generate
    for (i = 0; i < N; i = i + 1) begin : slot
      for (j = 0; j < i; j = j + 1) begin : other
        wire j_first = row_q[i*N + j];
        lemma pair_holds (1'b1, !(s_first & s[j] & t[i]) | j_first);
        lemma pair_holds_downwards (1'b1, !(s_first & s[i] & t[j]) | ~j_first);
        for (k = 0; k < j; k = k + 1) begin : third
          wire k_before_i = row_q[i*N + k], k_before_j = row_q[j*N + k];
          // No three slots in a circle: one of any set is the oldest.
          lemma no_circle (known[i] & known[j] & known[k], !(j_first & k_before_j & ~k_before_i) & !(~j_first & ~k_before_j & k_before_i));
        end
      end
    end
  endgenerate
  always @* both_are_known: assert (!s_first | |(known & s) & |(known & t));
endmodule
