// C = A B, row-major, on tensor cores. A CTA of 4 warps computes 64 x 64 elements, a warp 32 x 32 of them as 2 x 4 products of
// 16 x 8 x 8. Which lane holds which element: PTX ISA, "Matrix Fragments for mma.m16n8k8". Before 8.0 tensor cores take no TF32; there
// each thread computes the same elements by itself.
#define TILE 64
#define STEP 16

#if __CUDA_ARCH__ >= 800
__device__ unsigned round_to_tf32(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}

__device__ void multiply_add(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#else
__device__ unsigned round_to_tf32(float x) {
  const unsigned bits = __float_as_uint(x);
  return x == x ? (bits + 0x1000) & ~0x1fffu : bits;
}
#endif

extern "C" __global__ void __launch_bounds__(128)
gemm_tf32(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k) {
  __shared__ unsigned as[TILE][STEP + 4]; // so many more columns that a warp's 32 reads are of 32 banks
  __shared__ unsigned bs[STEP][TILE + 8];
  const unsigned across = (n + TILE - 1) / TILE;
  const unsigned top = blockIdx.x / across * TILE, left = blockIdx.x % across * TILE;
  const unsigned t = threadIdx.x, warp = t / 32, group = t % 32 / 4, lane = t % 4;
  const unsigned down = warp / 2 * 32, right = warp % 2 * 32;
  float sums[2][4][4] = {};
  for (unsigned first = 0; first < k; first += STEP) {
    for (unsigned e = t; e < TILE * STEP; e += 128) {
      unsigned row = top + e / STEP, col = first + e % STEP;
      as[e / STEP][e % STEP] = round_to_tf32(row < m && col < k ? a[row * k + col] : 0.0f);
      row = first + e / TILE, col = left + e % TILE;
      bs[e / TILE][e % TILE] = round_to_tf32(row < k && col < n ? b[row * n + col] : 0.0f);
    }
    __syncthreads();
#if __CUDA_ARCH__ >= 800
    for (unsigned p = 0; p < STEP; p += 8) {
      unsigned fa[2][4], fb[4][2];
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned row = down + 16 * i + group;
        fa[i][0] = as[row][p + lane];
        fa[i][1] = as[row + 8][p + lane];
        fa[i][2] = as[row][p + lane + 4];
        fa[i][3] = as[row + 8][p + lane + 4];
      }
      for (unsigned j = 0; j < 4; ++j) {
        const unsigned col = right + 8 * j + group;
        fb[j][0] = bs[p + lane][col];
        fb[j][1] = bs[p + lane + 4][col];
      }
      for (unsigned i = 0; i < 2; ++i)
        for (unsigned j = 0; j < 4; ++j) multiply_add(sums[i][j], fa[i], fb[j]);
    }
#else
    for (unsigned p = 0; p < STEP; ++p)
      for (unsigned i = 0; i < 2; ++i)
        for (unsigned j = 0; j < 4; ++j)
          for (unsigned e = 0; e < 4; ++e) {
            const unsigned row = down + 16 * i + group + e / 2 * 8, col = right + 8 * j + 2 * lane + e % 2;
            sums[i][j][e] += __uint_as_float(as[row][p]) * __uint_as_float(bs[p][col]);
          }
#endif
    __syncthreads();
  }
  for (unsigned i = 0; i < 2; ++i)
    for (unsigned j = 0; j < 4; ++j)
      for (unsigned e = 0; e < 4; ++e) {
        const unsigned row = top + down + 16 * i + group + e / 2 * 8, col = left + right + 8 * j + 2 * lane + e % 2;
        if (row < m && col < n) c[row * n + col] = sums[i][j][e];
      }
}
