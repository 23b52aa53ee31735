// Kernels that measure what CUDA's primitives cost.

typedef unsigned int u32;
typedef unsigned long long u64;

static __device__ __forceinline__ u64 nanoseconds() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now) : : "memory");
    return now;
}

static __device__ __forceinline__ void wait_for_upstream() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" : : : "memory");
    asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
#endif
}

extern "C" __global__ void empty() {}

// Start and end of itself, at least `ns` apart.
extern "C" __global__ void stamp(u64 *times, u64 ns) {
    wait_for_upstream();
    u64 start = nanoseconds(), end = start;
    do end = nanoseconds();
    while (end - start < ns);
    times[0] = start;
    times[1] = end;
}

// Values that the clock takes one after another.
extern "C" __global__ void ticks(u64 *values, u32 count) {
    u64 before = nanoseconds();
    for (u32 n = 0; n < count;) {
        u64 now = nanoseconds();
        if (now != before) {
            values[n++] = now;
            before = now;
        }
    }
}

// Ends when the host has written `value`, or after a second: the host may be gone.
extern "C" __global__ void hold(volatile u32 *flag, u32 value) {
    u64 start = nanoseconds();
    while (*flag != value && nanoseconds() - start < 1000000000ull) {}
}

// Answers `count` numbers that the host writes one after another.
extern "C" __global__ void echo(volatile u32 *flag, volatile u32 *answer, u32 count) {
    u64 start = nanoseconds();
    for (u32 n = 1; n <= count; n++) {
        while (*flag != n)
            if (nanoseconds() - start > 1000000000ull) return;
        *answer = n;
    }
}

// For devices whose streams cannot write to memory by themselves.
extern "C" __global__ void mark(volatile u32 *slot, u32 value) {
    __threadfence_system();
    *slot = value;
}

// Tells the host that it has begun.
extern "C" __global__ void hail(volatile u32 *answer) { *answer = 1; }
