// A CTA per row of x's rows that move. A row that is not there is not touched.
extern "C" __global__ void __launch_bounds__(256)
gather_rows(const float *x, const unsigned *index, float *y, unsigned from_rows, unsigned cols) {
  const unsigned from = index[blockIdx.x];
  for (unsigned col = threadIdx.x; col < cols; col += 256)
    y[(size_t)blockIdx.x * cols + col] = from < from_rows ? x[(size_t)from * cols + col] : 0.0f;
}

extern "C" __global__ void __launch_bounds__(256)
scatter_rows(const float *x, const unsigned *index, float *y, unsigned rows, unsigned to_rows, unsigned cols) {
  const unsigned to = index[blockIdx.x];
  int later = 0; // CTAs run in any order: of equal numbers only the last one may write
  for (unsigned row = blockIdx.x + 1 + threadIdx.x; row < rows; row += 256) later |= index[row] == to;
  if (__syncthreads_or(later) || to >= to_rows) return;
  for (unsigned col = threadIdx.x; col < cols; col += 256) y[(size_t)to * cols + col] = x[(size_t)blockIdx.x * cols + col];
}
