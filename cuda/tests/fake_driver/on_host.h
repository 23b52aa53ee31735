// `footprint.cu` for the host's compiler: what CUDA C++ has and C++ has not, and a kernel's threads one after another. Who includes it says what
// time it is and how a kernel that was launched early waits.
static unsigned long long host_nanoseconds();
static void host_wait_for_upstream();

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
struct Dim {
  unsigned x, y, z;
};
// Kernels run on several threads of the host.
static thread_local Dim threadIdx, blockIdx, blockDim, gridDim;
static float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static void __syncthreads() {}
static void __threadfence_system() { __sync_synchronize(); }
static unsigned long long atomicAdd(unsigned long long *at, unsigned long long value) { return __sync_fetch_and_add(at, value); }
static void atomicMax(unsigned long long *at, unsigned long long value) {
  if (value > *at) *at = value;
}

#include "../../src/footprint.cu"

template <typename Kernel> static void each_thread(Dim grid, Dim block, Kernel kernel) {
  gridDim = grid;
  blockDim = block;
  for (blockIdx.z = 0; blockIdx.z < grid.z; blockIdx.z++)
    for (blockIdx.y = 0; blockIdx.y < grid.y; blockIdx.y++)
      for (blockIdx.x = 0; blockIdx.x < grid.x; blockIdx.x++)
        for (threadIdx.z = 0; threadIdx.z < block.z; threadIdx.z++)
          for (threadIdx.y = 0; threadIdx.y < block.y; threadIdx.y++)
            for (threadIdx.x = 0; threadIdx.x < block.x; threadIdx.x++) kernel();
}
