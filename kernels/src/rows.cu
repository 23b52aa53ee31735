// A CTA per row. A thread takes every 256th element, from the first on; then the threads' results go together in halves.
#define LANES 256
#define NOTHING (-__int_as_float(0x7f800000))

__device__ float add(float a, float b) { return a + b; }
__device__ float larger(float a, float b) { return fmaxf(a, b); }

// The same in every thread. All threads of the CTA must call it.
template <typename Join> __device__ float together(float mine, Join join) {
  __shared__ float lanes[LANES];
  lanes[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned half = LANES / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) lanes[threadIdx.x] = join(lanes[threadIdx.x], lanes[threadIdx.x + half]);
    __syncthreads();
  }
  const float all = lanes[0];
  __syncthreads(); // before the next one writes there
  return all;
}

__device__ float largest(const float *x, unsigned cols) {
  float mine = NOTHING;
  for (unsigned col = threadIdx.x; col < cols; col += LANES) mine = fmaxf(mine, x[col]);
  return together(mine, larger);
}

extern "C" __global__ void __launch_bounds__(256) sum_rows(const float *x, float *y, unsigned cols) {
  x += (size_t)blockIdx.x * cols;
  float mine = 0.0f;
  for (unsigned col = threadIdx.x; col < cols; col += LANES) mine += x[col];
  const float all = together(mine, add);
  if (threadIdx.x == 0) y[blockIdx.x] = all;
}

extern "C" __global__ void __launch_bounds__(256) max_rows(const float *x, float *y, unsigned cols) {
  const float all = largest(x + (size_t)blockIdx.x * cols, cols);
  if (threadIdx.x == 0) y[blockIdx.x] = all;
}

extern "C" __global__ void __launch_bounds__(256) softmax_rows(const float *x, float *y, unsigned cols) {
  x += (size_t)blockIdx.x * cols, y += (size_t)blockIdx.x * cols;
  const float top = largest(x, cols);
  float mine = 0.0f;
  for (unsigned col = threadIdx.x; col < cols; col += LANES) mine += expf(x[col] - top);
  const float all = together(mine, add);
  for (unsigned col = threadIdx.x; col < cols; col += LANES) y[col] = expf(x[col] - top) / all;
}

extern "C" __global__ void __launch_bounds__(256)
layer_norm_rows(const float *x, const float *gain, const float *bias, float *y, unsigned cols, float epsilon) {
  x += (size_t)blockIdx.x * cols, y += (size_t)blockIdx.x * cols;
  float mine = 0.0f;
  for (unsigned col = threadIdx.x; col < cols; col += LANES) mine += x[col];
  const float mean = together(mine, add) / cols;
  mine = 0.0f;
  for (unsigned col = threadIdx.x; col < cols; col += LANES) mine += (x[col] - mean) * (x[col] - mean);
  const float scale = 1.0f / sqrtf(together(mine, add) / cols + epsilon);
  for (unsigned col = threadIdx.x; col < cols; col += LANES) y[col] = (x[col] - mean) * scale * gain[col] + bias[col];
}
