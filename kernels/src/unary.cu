// RESULT is an expression of x, put before this text.
extern "C" __global__ void __launch_bounds__(256) unary(const float *xs, float *ys, unsigned n) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const float x = xs[i];
  ys[i] = RESULT;
}
