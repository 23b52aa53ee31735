/* Launches kernels in program order. Each kernel runs as soon as its hazards (RAW, WAR and WAW, exact to the byte)
 * allow it.
 *
 * Threads: one thread at a time uses a runtime. If several threads launch, protect the runtime by a lock. To wait
 * without the runtime, use a windlass_waiter; any thread may use that. Kernel bodies run on other threads, several
 * CTAs of a kernel at once.
 *
 * GPUs: with `cuda_streams` in windlass_options, kernels of windlass_register_cuda() run on an NVIDIA GPU. CUDA is
 * loaded then, and is not needed otherwise.
 *
 * Return values: a function that can fail returns 0 (WINDLASS_OK) or another windlass_status. After a failure,
 * windlass_error_text() says what is wrong and what to do. What the call was to give through a pointer is then NULL,
 * all zero, or WINDLASS_NO_TICKET.
 *
 * Link with -lwindlass_c; without the shared library, on Linux, with libwindlass_c.a -lgcc_s -lpthread -lm -ldl */
#ifndef WINDLASS_H
#define WINDLASS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts up when programs must be compiled again. New functions, and new fields at the end of windlass_options and
 * windlass_cuda_kernel, do not count. */
#define WINDLASS_ABI 1

/* Returns the library's WINDLASS_ABI. A program that was compiled with another number must not go on. */
uint32_t windlass_abi(void);

typedef enum windlass_status {
    WINDLASS_OK = 0,
    /* An argument of the call is wrong; nothing has happened. */
    WINDLASS_INVALID = 1,
    /* Kernels failed since the last synchronisation; or a failed kernel, or a failed windlass_write(), should have
     * written the bytes that are to be read. */
    WINDLASS_KERNEL_FAILED = 2,
    /* No memory, no room for more buffers, no thread, a file that was not written, or the device failed. */
    WINDLASS_RESOURCES = 3,
    /* A defect of the library. */
    WINDLASS_INTERNAL = 4
} windlass_status;

typedef struct windlass_runtime windlass_runtime;

/* Waits for one launch or copy, on any thread, while other threads use the runtime. */
typedef struct windlass_waiter windlass_waiter;

/* What a kernel does with an argument. The size of a number matters on a GPU: it is that of the CUDA function's
 * parameter, as 64 bits of `double` and `size_t`, 32 of `int` and `float`. A launch whose number has more bits is
 * refused. */
typedef enum windlass_mode {
    WINDLASS_VALUE = 0,      /* a number of 64 bits, no buffer */
    WINDLASS_READ = 1,       /* reads all or some of it */
    WINDLASS_WRITE = 2,      /* writes every byte, and reads nothing of what was there */
    WINDLASS_READ_WRITE = 3, /* anything else */
    WINDLASS_VALUE_32 = 4,   /* a number of 32 bits */
    WINDLASS_VALUE_16 = 5,   /* of 16 */
    WINDLASS_VALUE_8 = 6     /* of 8 */
} windlass_mode;

/* Memory of a runtime: a handle. It may be copied freely, but not changed. All zero, it belongs to no runtime. */
typedef struct windlass_buffer {
    uint64_t id;
    uint64_t bytes;
} windlass_buffer;

/* A kernel that a runtime knows. All zero, it belongs to no runtime. */
typedef struct windlass_kernel {
    uint64_t id;
} windlass_kernel;

/* An argument of a launch. For a buffer: `bytes` bytes from `offset`, at least 1. For a number: `value`. It is best
 * made by windlass_whole(), windlass_part(), windlass_u64() and the functions below. */
typedef struct windlass_arg {
    windlass_buffer buffer;
    uint64_t offset;
    uint64_t bytes;
    uint64_t value;
} windlass_arg;

/* Some bytes of a buffer. Bytes past its end are refused when the argument is used. */
static inline windlass_arg windlass_part(windlass_buffer buffer, uint64_t offset, uint64_t bytes) {
    windlass_arg arg;
    arg.buffer = buffer;
    arg.offset = offset;
    arg.bytes = bytes;
    arg.value = 0;
    return arg;
}

/* All of a buffer. */
static inline windlass_arg windlass_whole(windlass_buffer buffer) {
    return windlass_part(buffer, 0, buffer.bytes);
}

/* A number of 64 bits. In the body it is `cta->values[n]`. */
static inline windlass_arg windlass_u64(uint64_t value) {
    windlass_buffer none = {0, 0};
    windlass_arg arg = windlass_part(none, 0, 0);
    arg.value = value;
    return arg;
}

/* A signed number. In the body it is `(int64_t)cta->values[n]`; as WINDLASS_VALUE_32, `(int32_t)cta->values[n]`. */
static inline windlass_arg windlass_i64(int64_t value) {
    return windlass_u64((uint64_t)value);
}

/* Floating-point numbers, by their bits. In the body, windlass_value_f32() and windlass_value_f64() return them. */
static inline windlass_arg windlass_f32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return windlass_u64(bits);
}

static inline windlass_arg windlass_f64(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return windlass_u64(bits);
}

/* One CTA of a running kernel. It is valid during the call.
 *
 * `pointers` has the first byte of each argument; NULL for a number. The pointer is aligned to 16 if the offset is and
 * the buffer is not imported. `values` has the size in bytes of each argument, or the number. */
typedef struct windlass_cta {
    uint32_t id[3];    /* its place in the grid */
    uint32_t grid[3];  /* CTAs */
    uint32_t block[3]; /* threads of a CTA */
    uint64_t index;    /* its number in the grid, x first */
    size_t args;
    void *const *pointers;   /* of each argument */
    const uint64_t *values;  /* of each argument */
} windlass_cta;

/* Returns the number that windlass_f32() made, of its bits: `call->values[n]`. */
static inline float windlass_f32_of(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

/* The same for windlass_f64(). */
static inline double windlass_f64_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Returns argument n, which windlass_f32() made. */
static inline float windlass_value_f32(const windlass_cta *cta, size_t n) {
    return windlass_f32_of(cta->values[n]);
}

/* Returns argument n, which windlass_f64() made. */
static inline double windlass_value_f64(const windlass_cta *cta, size_t n) {
    return windlass_f64_of(cta->values[n]);
}

/* Does the work of one CTA. Returns 0 for success, anything else for failure: the kernel has then failed, and kernels
 * that read its results do not run.
 *
 * A call that would wait there for the body's own runtime returns WINDLASS_INVALID. As in a windlass_done, a body must
 * not call a function of this header for its runtime while another thread does. Neither a C++ exception nor a longjmp
 * may leave the body. */
typedef int (*windlass_body)(const windlass_cta *cta, void *user);

/* Called when a launch has retired, with WINDLASS_OK and NULL, or has failed, with WINDLASS_KERNEL_FAILED and the
 * reason. The text is valid during the call. If the launch is refused, it is never called: whoever gave `user` frees
 * it then.
 *
 * It runs on a thread of the runtime, and nothing starts before it returns. It must not call a function of this header
 * for its runtime while another thread does; best, it calls none at all. A call that would wait there for the runtime
 * returns WINDLASS_INVALID. Neither a C++ exception nor a longjmp may leave it. With `cuda_streams` it leaves the thread's
 * current CUDA context as it was. */
typedef void (*windlass_done)(windlass_status status, const char *text, void *user);

/* 0 stands for the default, except in `size`. The library reads no field past `size`. Fields that the library does not
 * know must be 0. */
typedef struct windlass_options {
    uint32_t size;    /* sizeof(windlass_options) */
    uint32_t window;  /* kernels in flight, 4 to 4096; default 32 */
    uint32_t threads; /* that run CTAs, at most 1024; default one per processor */
    uint32_t queue;   /* launches on their way to the scheduler, 1 to 2^20; default 1024 */
    uint32_t serial;  /* not 0: one kernel after another, in program order */
    uint32_t check;   /* not 0: as serial, and compares what kernels write with what they declare: windlass_next_finding() */
    uint32_t record;  /* not 0: keeps what is launched and when it runs: windlass_write_recording() */
    uint32_t rename;  /* MiB beyond the buffers' own; default none. A value that overwrites a whole buffer in use
                       * gets memory of its own there, and need not wait */
    uint32_t cuda_streams; /* not 0: kernels run on an NVIDIA GPU, so many at once, at most 1024; 16 are plenty. Then
                            * `threads` has no meaning, and `check` is refused */
    uint32_t cuda_device;  /* with cuda_streams: the GPU's number */
} windlass_options;

/* Makes a runtime. NULL for `options` takes all defaults. Give the runtime back to windlass_destroy().
 *
 * With `cuda_streams`, and without a driver (550 or newer) or such a GPU (compute capability 7.0 or newer), it returns
 * WINDLASS_RESOURCES, and the text begins with "no CUDA device". The runtime is in the GPU's primary context: that of
 * the CUDA runtime, so that memory of cudaMalloc() can be imported. Its streams are its own. */
int windlass_create(const windlass_options *options, windlass_runtime **runtime);

/* Makes a runtime as windlass_create() does. Kernels start and retire in the order of `schedule`, a file that
 * windlass_write_recording() wrote. If the program does something else, the next windlass_synchronize() returns
 * WINDLASS_INVALID and says what; the program goes on without the schedule. */
int windlass_create_replay(const windlass_options *options, const char *schedule, windlass_runtime **runtime);

/* Waits for everything that was launched and ends the runtime. After that, no body and no windlass_done runs.
 *
 * In a body or a windlass_done of its own runtime it cannot wait: it returns at once. The runtime then ends by itself
 * when everything is done, and nothing tells when. NULL does nothing. */
void windlass_destroy(windlass_runtime *runtime);

/* Registers a kernel of `count` parameters. `user` goes to each CTA. It must stay valid until the runtime is
 * destroyed; if that happens in a body or a windlass_done, until the process ends. */
int windlass_register(windlass_runtime *runtime, const char *name, const windlass_mode *parameters, size_t count,
                      windlass_body body, void *user, windlass_kernel *kernel);

/* A launch whose accesses are to be declared. It is valid during the call. */
typedef struct windlass_call {
    uint32_t grid[3];  /* CTAs */
    uint32_t block[3]; /* threads of a CTA */
    size_t args;
    const uint64_t *values; /* of each argument the size in bytes, or the number */
} windlass_call;

typedef struct windlass_accesses windlass_accesses;

/* Declares for one launch which bytes it accesses, with the three functions below: the `get_addresses` of ACE, section
 * 4. Each launch of the kernel calls it, on the launching thread, with the kernel's `user`. It must not call any other
 * function of this header for its runtime. Neither a C++ exception nor a longjmp may leave it. */
typedef void (*windlass_access)(const windlass_call *call, windlass_accesses *accesses, void *user);

/* Declare bytes of an argument, counted from its first byte, as read; as all overwritten; as accessed in any other
 * way. windlass_launch() refuses the launch, and says so, if the argument's windlass_mode does not allow the access,
 * or if bytes are past the argument's end. */
void windlass_reads(windlass_accesses *accesses, size_t arg, uint64_t offset, uint64_t bytes);
void windlass_writes(windlass_accesses *accesses, size_t arg, uint64_t offset, uint64_t bytes);
void windlass_reads_and_writes(windlass_accesses *accesses, size_t arg, uint64_t offset, uint64_t bytes);

/* Registers a kernel as windlass_register() does. The kernel need not access all of each argument: what `access`
 * declares counts, and nothing else. If `access` is NULL, this is windlass_register(). */
int windlass_register_with_access(windlass_runtime *runtime, const char *name, const windlass_mode *parameters, size_t count,
                                  windlass_access access, windlass_body body, void *user, windlass_kernel *kernel);

/* A launch on an NVIDIA GPU whose work a windlass_enqueue gives to a stream. It is valid during the call; the stream is the
 * library's. */
typedef struct windlass_cuda_call {
    void *stream;      /* a cudaStream_t, which is a CUstream */
    uint32_t grid[3];  /* as windlass_launch() was given them; what they mean is the function's */
    uint32_t block[3];
    size_t args;
    void *const *pointers;  /* of each argument, on the GPU; NULL for a number, and where there are no bytes */
    const uint64_t *values; /* of each argument the size in bytes, or the number */
} windlass_cuda_call;

/* Gives a launch's work to its stream: calls of cuBLAS, cuDNN and other libraries, copies, kernels that nvcc launches
 * with <<<...>>>, a wait for an event of the program's. Returns 0 for success, anything else for failure: the kernel
 * fails then, once the stream has done what it was given.
 *
 * It runs on a thread of the runtime, with the GPU's primary context current, once per launch. The stream has been told
 * to wait for all that the launch waits for, and the launch has ended when the stream has done what it was given. The
 * work touches what the launch's arguments declare, and nothing else. The function does not wait, for nothing else
 * starts meanwhile; it gives nothing to other streams, unless it has this one wait for that; it does not capture the
 * stream. It calls no function of this header for its runtime. Neither a C++ exception nor a longjmp may leave it. */
typedef int (*windlass_enqueue)(const windlass_cuda_call *call, void *user);

/* What a kernel is on an NVIDIA GPU. Exactly one of `source`, `image`, `function` and `enqueue` is not NULL. A function on
 * the GPU takes the launch's arguments in their order: for a buffer a pointer to its first byte, for a number the
 * number. */
typedef struct windlass_cuda_kernel {
    uint32_t size;         /* sizeof(windlass_cuda_kernel) */
    uint32_t shared_bytes; /* dynamic shared memory of a CTA */
    const char *source;    /* CUDA C++, which NVRTC compiles when the kernel is first launched; the next process finds
                            * it in the cache */
    const void *image;     /* a cubin, a fatbin or PTX, the whole file */
    size_t image_bytes;
    const char *entry;     /* the function's name in `source` or `image`; there it is best `extern "C"` */
    void *function;        /* a CUfunction, as cudaGetFuncBySymbol() gives it of a kernel that nvcc has compiled into
                            * the program; it stays loaded until the runtime is destroyed */
    windlass_enqueue enqueue; /* gives work to a stream, with the kernel's `user`; `shared_bytes` has no meaning then */
} windlass_cuda_kernel;

/* Registers a kernel as windlass_register_with_access() does, for a runtime with `cuda_streams`. `access` and `body` may
 * be NULL; without a body, the kernel cannot run on the CPU. What `cuda` points to is copied. A kernel that cannot be
 * compiled or loaded fails when it is launched. */
int windlass_register_cuda(windlass_runtime *runtime, const char *name, const windlass_mode *parameters, size_t count,
                           windlass_access access, windlass_body body, const windlass_cuda_kernel *cuda, void *user,
                           windlass_kernel *kernel);

/* Allocates memory, all zero. Give it back by windlass_release(). */
int windlass_allocate(windlass_runtime *runtime, uint64_t bytes, windlass_buffer *buffer);

/* Called when nothing of the runtime uses imported memory any more. It runs on a thread of the runtime, or on one that
 * calls the runtime. It must not call a function of this header for that runtime. Neither a C++ exception nor a
 * longjmp may leave it. With `cuda_streams` it leaves the thread's current CUDA context as it was. */
typedef void (*windlass_gone)(void *user);

/* Makes a buffer of memory of the program, without a copy and with what is in it: `bytes` bytes from `memory`. None of
 * them may belong to another buffer. Pointers in bodies are aligned as `memory` is.
 *
 * With `cuda_streams`, `memory` is an address that the GPU's kernels reach: of cudaMalloc(), cudaMallocManaged() or
 * cudaMallocHost(). No order holds between the program's streams and the runtime: what the program does with the memory
 * has ended when a kernel that uses it is launched.
 *
 * What kernels write is in the memory once a wait for them has returned, with `rename`, too. While kernels that use it
 * may run, the program uses it as their declarations allow: it writes nothing that a kernel reads, and reads nothing
 * that a kernel writes.
 *
 * The memory must stay valid until one of these:
 * - the buffer was released, a windlass_synchronize() has returned since, and copies that were started are made;
 * - the runtime was destroyed;
 * - `gone`, if not NULL, was called with `user`.
 *
 * If this returns anything but WINDLASS_OK, `gone` is never called. */
int windlass_import(windlass_runtime *runtime, void *memory, uint64_t bytes, windlass_gone gone, void *user,
                    windlass_buffer *buffer);

/* Releases a buffer. Its memory goes when the kernels that use it are done. */
int windlass_release(windlass_runtime *runtime, windlass_buffer buffer);

/* No launch has this number. */
#define WINDLASS_NO_TICKET UINT64_MAX

/* Launches a kernel, next in program order. `ticket`, if not NULL, gets its number, from 0. Of the kernels that wait
 * for nothing, the highest `priority` starts first, then the oldest. */
int windlass_launch(windlass_runtime *runtime, windlass_kernel kernel, const uint32_t grid[3], const uint32_t block[3],
                    const windlass_arg *args, size_t count, int32_t priority, uint64_t *ticket);

/* Launches as windlass_launch() does, and calls `done` with `user` at the end. If this returns anything but
 * WINDLASS_OK, `done` is never called. */
int windlass_launch_then(windlass_runtime *runtime, windlass_kernel kernel, const uint32_t grid[3], const uint32_t block[3],
                         const windlass_arg *args, size_t count, int32_t priority, windlass_done done, void *user,
                         uint64_t *ticket);

/* Launches as windlass_launch() does. `waiter` gets an object that waits for the launch without the runtime. Give it
 * back to windlass_waiter_free(). */
int windlass_launch_with_waiter(windlass_runtime *runtime, windlass_kernel kernel, const uint32_t grid[3],
                                const uint32_t block[3], const windlass_arg *args, size_t count, int32_t priority,
                                windlass_waiter **waiter, uint64_t *ticket);

/* Gives an object that waits, without the runtime, for everything that was launched so far and for copies that were
 * started. Others may launch meanwhile; what they launch is not waited for. Its outcome is WINDLASS_KERNEL_FAILED if
 * kernels have failed since the last synchronisation, which the next one reports too. Give it back to
 * windlass_waiter_free(). */
int windlass_fence(windlass_runtime *runtime, windlass_waiter **waiter);

/* Waits until the launch has retired or failed (WINDLASS_KERNEL_FAILED), until the copy is made or cannot be made, or
 * until everything before the fence has ended.
 *
 * It needs no lock of the runtime: others may launch, wait and destroy it meanwhile. Any number of threads may wait,
 * each as often as it likes, and all get the same result. In a body or a windlass_done of that runtime it would wait
 * for ever; it returns WINDLASS_INVALID there. */
int windlass_waiter_wait(const windlass_waiter *waiter);

/* The same, for at most `nanoseconds`. `done` gets 1 if it has retired, and 0 if it has not ended by then. */
int windlass_waiter_wait_for(const windlass_waiter *waiter, uint64_t nanoseconds, int *done);

/* Frees a waiter, at any time. No thread may use it then or later. The launch, or the copy, goes on. NULL does
 * nothing. */
void windlass_waiter_free(windlass_waiter *waiter);

/* Waits until one launch has retired or failed (WINDLASS_KERNEL_FAILED). The status is given even if a synchronisation
 * has reported the failure already; WINDLASS_RESOURCES where very many have failed since, and it is not known any
 * more. Other kernels run on. The call uses the runtime meanwhile: if other threads are to
 * launch, see windlass_launch_with_waiter(). */
int windlass_wait(windlass_runtime *runtime, uint64_t ticket);

/* The same, for at most `nanoseconds`. `done` gets 1 if it has retired, and 0 if it has not ended by then. */
int windlass_wait_for(windlass_runtime *runtime, uint64_t ticket, uint64_t nanoseconds, int *done);

/* Says whether one launch has retired or failed, and its windlass_done has returned. `done` gets 1 or 0. Does not
 * wait. */
int windlass_is_done(windlass_runtime *runtime, uint64_t ticket, int *done);

/* Copies bytes from a buffer to `to`. Waits until the kernels launched before that write these bytes are done, and
 * until all kernels launched before are in the window or have been. After an error, the contents of `to` are
 * undefined. */
int windlass_read(windlass_runtime *runtime, windlass_buffer buffer, uint64_t offset, void *to, uint64_t bytes);

/* Copies bytes from `from` to a buffer. Waits until the kernels launched before that use these bytes are done, and
 * until all kernels launched before are in the window or have been. If the device does not take the bytes, they count
 * as those of a failed kernel. */
int windlass_write(windlass_runtime *runtime, windlass_buffer buffer, uint64_t offset, const void *from, uint64_t bytes);

/* Copies as windlass_read() does, without waiting: the program goes on. A kernel that is launched later and overwrites
 * these bytes runs after the copy.
 *
 * `to` belongs to the runtime until `waiter`, if not NULL, says that the copy has ended, or until a
 * windlass_synchronize() after this has returned. Give the waiter back to windlass_waiter_free(). The waiter reports
 * what prevents the copy, such as a failed kernel; no synchronisation does. One thread makes such copies, one after
 * another. */
int windlass_start_read(windlass_runtime *runtime, windlass_buffer buffer, uint64_t offset, void *to, uint64_t bytes,
                        windlass_waiter **waiter);

/* Copies as windlass_write() does, without waiting: kernels that are launched later read what was written. Do not
 * change `from` before the copy has ended, as above. With `rename`, a whole buffer is written while kernels still use
 * what was in it. */
int windlass_start_write(windlass_runtime *runtime, windlass_buffer buffer, uint64_t offset, const void *from,
                         uint64_t bytes, windlass_waiter **waiter);

/* Waits for everything that was launched, and for copies that were started. If kernels failed since the last
 * synchronisation, it returns WINDLASS_KERNEL_FAILED. The text then has the first five failures, and
 * windlass_next_failure() the first 1000. */
int windlass_synchronize(windlass_runtime *runtime);

/* Returns what the synchronisations so far have reported: one failure per call, the oldest first; NULL if there are no
 * more. `ticket`, if not NULL, gets the launch's number, or WINDLASS_NO_TICKET. 1000 failures are kept. The text is
 * valid until the next call of this function for this runtime. */
const char *windlass_next_failure(windlass_runtime *runtime, uint64_t *ticket);

/* With `check`: returns what is wrong with the declaration of a kernel that has ended. One finding per call, the
 * oldest first; NULL if there are no more. A finding is about bytes of an argument's buffer that have changed and are
 * not declared as written. The text is valid until the next call of this function for this runtime. */
const char *windlass_next_finding(windlass_runtime *runtime);

/* With `record`: writes what was launched so far as a ktrace to the file `trace`, for `windlass trace`. Writes when it
 * ran to the file `schedule`, for windlass_create_replay(). Each may be NULL. Existing files are overwritten, and
 * missing folders are made. */
int windlass_write_recording(windlass_runtime *runtime, const char *trace, const char *schedule);

/* With `record`: returns why a launch waited, for which others, by which hazard and on which bytes, as `windlass trace
 * explain` says it. Returns NULL on failure; windlass_error_text() says why. It goes through everything that was
 * recorded. The text is valid until the next call of this function for this runtime. */
const char *windlass_explain(windlass_runtime *runtime, uint64_t ticket);

/* With `rename`: gives how many values got memory of their own, how many would have with more memory, and the most
 * bytes at a time beyond the buffers' own. Pointers may be NULL. */
int windlass_renamed(windlass_runtime *runtime, uint64_t *versions, uint64_t *refused, uint64_t *peak_bytes);

/* With `rename`: gives memory back that nobody uses now. Without this call, it is kept for the next value of its size. */
int windlass_trim(windlass_runtime *runtime);

/* Returns what the last failed call on this thread has to say. Never NULL. The text is valid until the next failed
 * call on this thread. */
const char *windlass_error_text(void);

#ifdef __cplusplus
}
#endif

#endif
