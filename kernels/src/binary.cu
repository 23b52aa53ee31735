// RESULT is an expression of x and y, put before this text.
extern "C" __global__ void __launch_bounds__(256) binary(const float *xs, const float *ys, float *zs, unsigned n) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const float x = xs[i], y = ys[i];
  zs[i] = RESULT;
}
