// What CUDA C++ has and C++ has not. A CTA's threads are contexts of one thread of the host, which runs each until it waits for the others;
// CTAs run last to first, and threads from another one on each time: what relies on an order shows.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __global__
#define __device__ static
#define __shared__ static
#define __launch_bounds__(threads)

struct Place { unsigned x; };
static Place blockIdx, threadIdx;

static const unsigned MOST = 1024, STACK = 1 << 16;
static ucontext_t host, contexts[MOST];
static bool ended[MOST];
static int votes, voted;

struct Body {
  virtual void run() = 0;
};
static Body *body;

static void wait() { swapcontext(&contexts[threadIdx.x], &host); }

static void __syncthreads() { wait(); }

static int __syncthreads_or(int vote) {
  votes |= vote != 0;
  wait();
  return voted;
}

static float __int_as_float(int bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}

static float __uint_as_float(unsigned bits) { return __int_as_float((int)bits); }

static unsigned __float_as_uint(float x) {
  unsigned bits;
  memcpy(&bits, &x, 4);
  return bits;
}

static void thread() {
  body->run();
  ended[threadIdx.x] = true;
  wait();
}

static void run(unsigned ctas, unsigned threads) {
  alignas(16) static char stacks[(size_t)MOST * STACK];
  unsigned random = 1;
  for (blockIdx.x = ctas; blockIdx.x-- > 0;) {
    for (unsigned t = 0; t < threads; ++t) {
      getcontext(&contexts[t]);
      contexts[t].uc_stack.ss_sp = stacks + (size_t)t * STACK;
      contexts[t].uc_stack.ss_size = STACK;
      makecontext(&contexts[t], thread, 0);
      ended[t] = false;
    }
    for (bool more = true; more;) {
      more = false;
      random = random * 1664525u + 1013904223u;
      for (unsigned i = 0; i < threads; ++i) {
        threadIdx.x = (i + (random >> 8)) % threads;
        if (ended[threadIdx.x]) continue;
        const unsigned t = threadIdx.x;
        swapcontext(&host, &contexts[t]);
        more |= !ended[t];
      }
      voted = votes, votes = 0;
    }
  }
}

// Calls an entry with arguments as a launch has them: where each lies.
template <typename... T> struct Call : Body {
  void (*entry)(T...);
  void **args;
  Call(void (*entry)(T...), void **args) : entry(entry), args(args) {}
  template <unsigned... I> struct Indices {};
  template <unsigned N, unsigned... I> struct Count : Count<N - 1, N - 1, I...> {};
  template <unsigned... I> struct Count<0, I...> { typedef Indices<I...> All; };
  template <unsigned... I> void with(Indices<I...>) { entry(*(T *)args[I]...); }
  void run() override { with(typename Count<sizeof...(T)>::All()); }
};

template <typename... T> static void launch(void (*entry)(T...), void **args, unsigned ctas, unsigned threads) {
  Call<T...> call(entry, args);
  body = &call;
  run(ctas, threads);
}

// In place of the PTX of gemm_tf32: the lanes of a warp show each other what they hold.
namespace ptx {
struct Lane {
  unsigned a[4], b[2];
};
static Lane lanes[MOST];

static unsigned round_to_tf32(float x) { return (__float_as_uint(x) + 0x1000) & ~0x1fffu; }

static void multiply_add(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  memcpy(lanes[threadIdx.x].a, a, sizeof a);
  memcpy(lanes[threadIdx.x].b, b, sizeof b);
  wait();
  const Lane *warp = lanes + threadIdx.x / 32 * 32;
  const unsigned lane = threadIdx.x % 32;
  for (unsigned e = 0; e < 4; ++e) {
    const unsigned row = lane / 4 + e / 2 * 8, col = lane % 4 * 2 + e % 2;
    for (unsigned k = 0; k < 8; ++k)
      d[e] += __int_as_float(warp[row % 8 * 4 + k % 4].a[row / 8 + k / 4 * 2]) *
              __int_as_float(warp[col * 4 + k % 4].b[k / 4]);
  }
  wait();
}
} // namespace ptx
