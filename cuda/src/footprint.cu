// What a footprint kernel computes, for GPUs; footprint.rs defines it, and the two agree in every bit. Compiled by NVRTC, which has no
// headers, and in tests by the host's compiler, which has no __CUDA_ARCH__ (tests/fake_driver/on_host.h).

typedef unsigned int u32;
typedef unsigned long long u64;

// Words that a kernel touches side by side: the number of the first, and where it is. Top bit of `start`: updated in place. After a kernel's
// last piece comes one whose number is the number of its words.
struct Piece {
    u64 number;
    u64 start;
};

// A launch. Passed by value, for constant memory is where every thread finds it without a load from the table first.
struct Footprint {
    u32 *image;
    const Piece *write_pieces;
    const Piece *read_pieces;
    // Complement of the start, and the end, of the kernel on the device's clock: both are maxima, from 0. Null where they are not wanted.
    u64 *times;
    // Never written; there to make the compiler believe that it might be.
    u32 *sink;
    u64 write_words;
    u64 read_words;
    u64 least_ns;
    // The first pieces, which often are the only ones: where they start, and the number at which they end.
    u64 first_write;
    u64 first_write_end;
    u64 first_read;
    u64 first_read_end;
    u32 writes;
    u32 reads;
    u32 fma;
    u32 kernel;
    // -1, which a sum of positive numbers is never; given here so that the compiler does not know.
    float never;
    // Threads that share the reading for one written word, and the groups in which they add up; 1 where each thread has words of its own.
    u32 slices;
    u32 groups;
    u32 unused;
    // Where they add up: for each written word, the groups' sums and the sum of those. All zero between two runs of the kernel.
    u64 *sums;
};
static_assert(sizeof(Footprint) == 12 * 8 + 8 * 4 + 8, "as Arguments in device.rs");

#ifdef __CUDA_ARCH__
static __device__ __forceinline__ u64 nanoseconds() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now) : : "memory");
    return now;
}

// Launched early, a kernel may run while the one before it in its stream does. `wait` returns when that one has ended and what it wrote
// is visible; without an early launch, at once. `launch_dependents` then lets the next one's CTAs be set up as soon as every CTA of this one
// has come here, which is safe although this one has done nothing yet: the next one waits in the same place, for the end and not for the
// trigger. And that kernels end in order follows: none ends before its own wait has returned.
static __device__ __forceinline__ void wait_for_upstream() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" : : : "memory");
    asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
#endif
}
#else
static u64 nanoseconds() { return host_nanoseconds(); }
static void wait_for_upstream() { host_wait_for_upstream(); }
#endif

static __device__ __forceinline__ u32 step(u32 digest, u32 value) {
    u32 x = (digest ^ value) * 0x9E3779B1u;
    return x ^ (x >> 15);
}

static __device__ __forceinline__ u32 last(u32 digest) {
    u32 x = (digest ^ (digest >> 16)) * 0x85EBCA6Bu;
    x = (x ^ (x >> 13)) * 0xC2B2AE35u;
    return x ^ (x >> 16);
}

static const u32 SEED = 0x811C9DC5u;
static const u64 IN_PLACE = 1ull << 63;

// Where numbered words are. Remembers a piece, the first one to begin with, and searches only outside of it.
template <typename Index> struct Cursor {
    const Piece *pieces;
    u32 count;
    Index number, end, start;
    bool in_place;

    __device__ __forceinline__ Cursor(const Piece *pieces, u32 count, u64 first, u64 first_end)
        : pieces(pieces), count(count), number(0), end((Index)first_end), start((Index)(first & ~IN_PLACE)),
          in_place((first & IN_PLACE) != 0) {}

    __device__ __forceinline__ Index find(Index n) {
        if (n < number || n >= end) {
            u32 low = 0, high = count; // the piece is at low or after it, and before high
            while (high - low > 1) {
                u32 middle = (low + high) / 2;
                if ((Index)pieces[middle].number <= n)
                    low = middle;
                else
                    high = middle;
            }
            u64 at = pieces[low].start;
            number = (Index)pieces[low].number;
            end = (Index)pieces[low + 1].number;
            start = (Index)(at & ~IN_PLACE);
            in_place = (at & IN_PLACE) != 0;
        }
        return start + (n - number);
    }
};

static __device__ __forceinline__ u32 term(u32 place, u32 value) { return step(step(SEED, place), value); }

// The sum of the terms of the read words r, r + stride, ..; at most 2^30 words where `Index` is 32 bits wide: then three strides do not overflow.
template <typename Index>
static __device__ __forceinline__ u32 sum_of(const Footprint &f, Cursor<Index> &reads, Index r, Index stride) {
    const Index read_words = (Index)f.read_words;
    u32 sum = 0;
    while (r < read_words) {
        // Inside a piece, four loads at a time are on their way; eight were slower on an H100.
        const Index shift = reads.find(r) - r, end = reads.end;
        for (; r < end && end - r > 3 * stride; r += 4 * stride) {
            const u32 a = f.image[(Index)(shift + r)];
            const u32 b = f.image[(Index)(shift + r + stride)];
            const u32 c = f.image[(Index)(shift + r + 2 * stride)];
            const u32 d = f.image[(Index)(shift + r + 3 * stride)];
            sum += term((u32)r, a) + term((u32)(r + stride), b);
            sum += term((u32)(r + 2 * stride), c) + term((u32)(r + 3 * stride), d);
        }
        for (; r < end; r += stride) sum += term((u32)r, f.image[(Index)(shift + r)]);
    }
    return sum;
}

// Written word j, from the sum of what it reads elsewhere.
template <typename Index>
static __device__ __forceinline__ void write(const Footprint &f, Cursor<Index> &writes, Index j, u32 sum) {
    u32 *word = f.image + writes.find(j);
    u32 digest = SEED + sum;
    if (writes.in_place) digest += term(0xFFFFFFFFu, *word);
    *word = last(step(term(f.kernel, (u32)j), digest));
}

// Adds to a sum to which `count` threads add. True for the last, which then has all of it, and leaves zero behind. The number of those
// that came is in the low half, so that a sum is never seen without them; what overflows from the high half is of no interest.
static __device__ __forceinline__ bool add(u64 *sum, u32 count, u32 &mine) {
    const u64 before = atomicAdd(sum, ((u64)mine << 32) + 1);
    if ((u32)before != count - 1) return false;
    mine += (u32)(before >> 32);
    *sum = 0;
    return true;
}

template <typename Index> static __device__ __forceinline__ void touch(const Footprint &f, u64 id, u64 threads) {
    const Index write_words = (Index)f.write_words, read_words = (Index)f.read_words;
    Cursor<Index> writes(f.write_pieces, f.writes, f.first_write, f.first_write_end);
    Cursor<Index> reads(f.read_pieces, f.reads, f.first_read, f.first_read_end);
    if (f.slices > 1) {
        // Few words are written and many are read: neighbouring threads read neighbouring words, each always for the same written word.
        const u64 sharing = f.write_words * f.slices;
        if (id >= sharing) return;
        const Index j = (Index)(id % f.write_words);
        const u32 slice = (u32)(id / f.write_words), group = slice % f.groups;
        u32 sum = sum_of<Index>(f, reads, (Index)id, (Index)sharing);
        u64 *sums = f.sums + (u64)j * (f.groups + 1);
        if (add(sums + group, (f.slices - group + f.groups - 1) / f.groups, sum) && add(sums + f.groups, f.groups, sum))
            write<Index>(f, writes, j, sum);
        return;
    }
    if (id >= f.write_words) return;
    // A stride past the end is as good as any longer one, and j + stride fits.
    const Index stride = (Index)(threads < f.write_words ? threads : f.write_words);
    for (Index j = (Index)id; j < write_words; j += stride) {
        u32 sum = 0;
        if (read_words > 0) sum = sum_of<Index>(f, reads, j < read_words ? j : j % read_words, write_words);
        write<Index>(f, writes, j, sum);
    }
}

// Multiply-adds, really executed: four chains, so that latency does not hide the pipe.
static __device__ __forceinline__ void work(const Footprint &f, u32 id) {
    float a = (float)id, b = a + 1.0f, c = a + 2.0f, d = a + 3.0f;
    u32 left = f.fma;
    for (; left >= 4; left -= 4) {
        a = __fmaf_rn(a, 0.5f, 1.0f);
        b = __fmaf_rn(b, 0.5f, 1.0f);
        c = __fmaf_rn(c, 0.5f, 1.0f);
        d = __fmaf_rn(d, 0.5f, 1.0f);
    }
    for (; left > 0; left -= 1) a = __fmaf_rn(a, 0.5f, 1.0f);
    if (a + b + c + d == f.never) *f.sink = left;
}

template <typename Index> static __device__ __forceinline__ void run(const Footprint &f) {
    wait_for_upstream();
    const u32 thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const u32 cta_threads = blockDim.x * blockDim.y * blockDim.z;
    const u64 cta = blockIdx.x + (u64)gridDim.x * (blockIdx.y + (u64)gridDim.y * blockIdx.z);
    const u64 ctas = (u64)gridDim.x * gridDim.y * gridDim.z;
    const bool timed = f.times != 0 || f.least_ns != 0;
    const u64 start = timed && thread == 0 ? nanoseconds() : 0;
    touch<Index>(f, cta * cta_threads + thread, ctas * cta_threads);
    work(f, (u32)cta * cta_threads + thread);
    if (timed) {
        __syncthreads();
        if (thread == 0) {
            u64 end = nanoseconds();
            while (end - start < f.least_ns) end = nanoseconds();
            if (f.times != 0) {
                atomicMax(&f.times[0], ~start);
                atomicMax(&f.times[1], end);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(1024) footprint(const __grid_constant__ Footprint f) { run<u32>(f); }

// For images of more than 2^30 words.
extern "C" __global__ void __launch_bounds__(1024, 1) footprint_large(const __grid_constant__ Footprint f) { run<u64>(f); }

// What the image holds before the first kernel.
extern "C" __global__ void __launch_bounds__(1024) initial(u32 *image, u64 words) {
    for (u64 word = blockIdx.x * (u64)blockDim.x + threadIdx.x; word < words; word += (u64)gridDim.x * blockDim.x)
        image[word] = last(step(SEED, (u32)word));
}

// For devices whose streams cannot write to memory by themselves.
extern "C" __global__ void mark(volatile u32 *slot, u32 value) {
    __threadfence_system();
    *slot = value;
}

// The sum of what each word and its place are mixed to: `digest_of` in device.rs. Each thread adds its own words up, and once to the sum.
extern "C" __global__ void digest(const u32 *image, u64 words, u64 *sum) {
    u64 mine = 0;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += (u64)gridDim.x * blockDim.x) {
        u64 z = i << 32 | image[i];
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        mine += z ^ (z >> 31);
    }
    atomicAdd(sum, mine);
}
