// C = A B, row-major. A CTA of 256 threads computes 64 x 64 elements, a thread 4 x 4 of them, 16 apart so that neighbours in a warp
// read and write side by side.
#define TILE 64
#define STEP 16

extern "C" __global__ void __launch_bounds__(256)
gemm(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k) {
  __shared__ float as[STEP][TILE + 1]; // one more column: else the transposed stores meet in one bank
  __shared__ float bs[STEP][TILE];
  const unsigned across = (n + TILE - 1) / TILE;
  const unsigned top = blockIdx.x / across * TILE, left = blockIdx.x % across * TILE;
  const unsigned t = threadIdx.x, x = t % 16, y = t / 16;
  float sums[4][4] = {};
  for (unsigned first = 0; first < k; first += STEP) {
    for (unsigned e = t; e < TILE * STEP; e += 256) {
      unsigned row = top + e / STEP, col = first + e % STEP;
      as[e % STEP][e / STEP] = row < m && col < k ? a[row * k + col] : 0.0f;
      row = first + e / TILE, col = left + e % TILE;
      bs[e / TILE][e % TILE] = row < k && col < n ? b[row * n + col] : 0.0f;
    }
    __syncthreads();
    for (unsigned p = 0; p < STEP; ++p)
      for (unsigned i = 0; i < 4; ++i)
        for (unsigned j = 0; j < 4; ++j)
          sums[i][j] += as[p][y + 16 * i] * bs[p][x + 16 * j];
    __syncthreads();
  }
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned j = 0; j < 4; ++j) {
      const unsigned row = top + y + 16 * i, col = left + x + 16 * j;
      if (row < m && col < n) c[row * n + col] = sums[i][j];
    }
}
