/* Launches kernels in program order, runs each as soon as its memory allows it: RAW, WAR and WAW, exact to the byte.
 *
 * A runtime belongs to one thread at a time: lock it where several launch, and wait without it by a windlass_waiter, which belongs to all
 * threads. Kernel bodies run on other threads, several CTAs of a kernel at once. Functions that can fail give 0, or a windlass_status;
 * windlass_error_text() then says what is wrong and what to do, and what they were to give through a pointer is NULL, all zero, or
 * WINDLASS_NO_TICKET.
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

/* Counts up where programs must be compiled again. New functions, and new fields at the end of windlass_options, are no such change. */
#define WINDLASS_ABI 1

/* The library's; a program that was compiled with another number must not go on. */
uint32_t windlass_abi(void);

typedef enum windlass_status {
    WINDLASS_OK = 0,
    /* An argument of the call is wrong; nothing has happened. */
    WINDLASS_INVALID = 1,
    /* Kernels failed since the last synchronisation, or the bytes to be read are those that one, or a windlass_write() that failed,
     * should have written. */
    WINDLASS_KERNEL_FAILED = 2,
    /* No memory, no room for more buffers, no thread, or the device failed. */
    WINDLASS_RESOURCES = 3,
    /* A defect of the library. */
    WINDLASS_INTERNAL = 4
} windlass_status;

typedef struct windlass_runtime windlass_runtime;

/* What waits for one launch or copy, on any thread, while others use the runtime. */
typedef struct windlass_waiter windlass_waiter;

/* What a kernel does with an argument. */
typedef enum windlass_mode {
    WINDLASS_VALUE = 0,      /* a number, no buffer */
    WINDLASS_READ = 1,       /* reads, all or some of it */
    WINDLASS_WRITE = 2,      /* writes every byte, and does not read what was there */
    WINDLASS_READ_WRITE = 3  /* anything else */
} windlass_mode;

/* Memory of a runtime. A handle, to be copied at will and not to be changed; all zero, it is of no runtime. */
typedef struct windlass_buffer {
    uint64_t id;
    uint64_t bytes;
} windlass_buffer;

/* A kernel that a runtime knows; all zero, it is of no runtime. */
typedef struct windlass_kernel {
    uint64_t id;
} windlass_kernel;

/* An argument of a launch: for a buffer, `bytes` bytes from `offset`, at least 1; for a number, `value`. Best made by windlass_whole(),
 * windlass_part(), windlass_u64() and the others below. */
typedef struct windlass_arg {
    windlass_buffer buffer;
    uint64_t offset;
    uint64_t bytes;
    uint64_t value;
} windlass_arg;

/* Some bytes of a buffer; those past its end are refused where the argument is used. */
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

/* A number of 64 bits; in the body it is `cta->values[n]`. */
static inline windlass_arg windlass_u64(uint64_t value) {
    windlass_buffer none = {0, 0};
    windlass_arg arg = windlass_part(none, 0, 0);
    arg.value = value;
    return arg;
}

/* A number with a sign; in the body it is `(int64_t)cta->values[n]`. */
static inline windlass_arg windlass_i64(int64_t value) {
    return windlass_u64((uint64_t)value);
}

/* Others by their bits; in the body windlass_value_f32() and windlass_value_f64() have them again. */
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

/* One CTA of a running kernel. Valid during the call. */
typedef struct windlass_cta {
    uint32_t id[3];    /* its place in the grid */
    uint32_t grid[3];  /* CTAs */
    uint32_t block[3]; /* threads of a CTA */
    uint64_t index;    /* its number in the grid, x first */
    size_t args;
    void *const *pointers;   /* of each argument the first byte, aligned to 16 where the offset is and the buffer is not imported; NULL for a number */
    const uint64_t *values;  /* of each argument the size in bytes, or the number */
} windlass_cta;

/* Argument n, which windlass_f32() made. */
static inline float windlass_value_f32(const windlass_cta *cta, size_t n) {
    uint32_t bits = (uint32_t)cta->values[n];
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Argument n, which windlass_f64() made. */
static inline double windlass_value_f64(const windlass_cta *cta, size_t n) {
    double value;
    memcpy(&value, &cta->values[n], sizeof value);
    return value;
}

/* What one CTA does; 0, or anything else where it fails: the kernel has then failed, and what reads its results does not run.
 * What would wait there for its own runtime is WINDLASS_INVALID, as in a windlass_done, with the same care for other threads.
 * Neither a C++ exception nor a longjmp may leave it. */
typedef int (*windlass_body)(const windlass_cta *cta, void *user);

/* Called once a launch has retired, with WINDLASS_OK and NULL, or has failed, with WINDLASS_KERNEL_FAILED and why; the text is valid
 * during the call. Where the launch is refused, it is never called: whoever gave it `user` frees that then. It runs on a thread of the
 * runtime; nothing starts before it returns. It must not call a function of this header for its runtime while another thread does, and so
 * best not at all; what would wait there for the runtime is WINDLASS_INVALID. Neither a C++ exception nor a longjmp may leave it. */
typedef void (*windlass_done)(windlass_status status, const char *text, void *user);

/* 0 stands for the default, but in `size`. Fields past `size` are not read. */
typedef struct windlass_options {
    uint32_t size;    /* sizeof(windlass_options) */
    uint32_t window;  /* kernels in flight, 4 to 4096; 32 */
    uint32_t threads; /* that run CTAs; one per processor */
    uint32_t queue;   /* launches on their way, 1 to 2^20; 1024 */
    uint32_t serial;  /* not 0: one kernel after another, in program order */
    uint32_t check;   /* not 0: as serial, and what kernels write is compared with what they declare: windlass_next_finding() */
    uint32_t record;  /* not 0: what is launched, and when it runs, is kept: windlass_write_recording() */
    uint32_t rename;  /* MiB beyond the buffers' own for values that overwrite a whole buffer which is in use, so that they need not wait; none */
} windlass_options;

/* NULL for `options` takes all defaults. */
int windlass_create(const windlass_options *options, windlass_runtime **runtime);

/* As windlass_create(); kernels start and retire in the order of a schedule that windlass_write_recording() has written. Where the program
 * does something else, the next windlass_synchronize() is WINDLASS_INVALID and says what, and the program goes on without the schedule. */
int windlass_create_replay(const windlass_options *options, const char *schedule, windlass_runtime **runtime);

/* Waits for all that was launched; then no body and no windlass_done runs any more. In a body or a windlass_done of its own runtime it
 * cannot wait: it returns at once, the runtime ends by itself when all is done, and nothing tells when. NULL is nothing. */
void windlass_destroy(windlass_runtime *runtime);

/* Makes a kernel known. `user` goes to each CTA, and must stay valid until the runtime is destroyed; where that is done in a body or a
 * windlass_done, until the process ends. */
int windlass_register(windlass_runtime *runtime, const char *name, const windlass_mode *parameters, size_t count,
                      windlass_body body, void *user, windlass_kernel *kernel);

/* A launch whose accesses are to be declared. Valid during the call. */
typedef struct windlass_call {
    uint32_t grid[3];  /* CTAs */
    uint32_t block[3]; /* threads of a CTA */
    size_t args;
    const uint64_t *values; /* of each argument the size in bytes, or the number */
} windlass_call;

typedef struct windlass_accesses windlass_accesses;

/* Says for one launch which bytes it accesses, by the three functions below: the `get_addresses` of ACE, section 4. Called by each launch
 * of its kernel, on that thread, with the kernel's `user`. It must not call any other function of this header for its runtime. Neither a C++
 * exception nor a longjmp may leave it. */
typedef void (*windlass_access)(const windlass_call *call, windlass_accesses *accesses, void *user);

/* These bytes of an argument, counted from its first one, are read; are all overwritten; are accessed in any other way. What the
 * argument's windlass_mode does not allow, or what is past its end, lets windlass_launch() refuse the launch, and say so. */
void windlass_reads(windlass_accesses *accesses, size_t arg, uint64_t offset, uint64_t bytes);
void windlass_writes(windlass_accesses *accesses, size_t arg, uint64_t offset, uint64_t bytes);
void windlass_reads_and_writes(windlass_accesses *accesses, size_t arg, uint64_t offset, uint64_t bytes);

/* As windlass_register(), of a kernel that does not access all of each argument: what `access` says counts, and nothing else. NULL for
 * `access` is windlass_register(). */
int windlass_register_with_access(windlass_runtime *runtime, const char *name, const windlass_mode *parameters, size_t count,
                                  windlass_access access, windlass_body body, void *user, windlass_kernel *kernel);

/* Memory, all zero. */
int windlass_allocate(windlass_runtime *runtime, uint64_t bytes, windlass_buffer *buffer);

/* Called once nothing of the runtime uses imported memory any more. It runs on a thread of the runtime or on one that calls it, and must
 * not call a function of this header for that runtime. Neither a C++ exception nor a longjmp may leave it. */
typedef void (*windlass_gone)(void *user);

/* Memory of the program's own as a buffer, without a copy, with what is in it: `bytes` bytes from `memory`, none of which are another
 * buffer's. What kernels write is there once a wait for them has returned; with `rename`, too. While kernels that use it may run, the
 * program uses it as their declarations allow: it writes nothing that one reads, and reads nothing that one writes. It stays valid until
 * the buffer is released, a windlass_synchronize() has returned since, and copies that were started are made; or until the runtime is
 * destroyed; or until `gone`, where it is not NULL, is called with `user`. Where this gives anything but WINDLASS_OK, it is never called.
 * Pointers in bodies are aligned as `memory` is. */
int windlass_import(windlass_runtime *runtime, void *memory, uint64_t bytes, windlass_gone gone, void *user,
                    windlass_buffer *buffer);

/* The memory goes when the kernels that use it are done. */
int windlass_release(windlass_runtime *runtime, windlass_buffer buffer);

/* No launch has this number. */
#define WINDLASS_NO_TICKET UINT64_MAX

/* Launches the next kernel in program order. `ticket`, where it is not NULL, gets its number, from 0. Of the kernels that wait for
 * nothing the highest `priority` starts first, then the oldest. */
int windlass_launch(windlass_runtime *runtime, windlass_kernel kernel, const uint32_t grid[3], const uint32_t block[3],
                    const windlass_arg *args, size_t count, int32_t priority, uint64_t *ticket);

/* As windlass_launch(); `done` is called with `user` at the end, unless this gives anything but WINDLASS_OK. */
int windlass_launch_then(windlass_runtime *runtime, windlass_kernel kernel, const uint32_t grid[3], const uint32_t block[3],
                         const windlass_arg *args, size_t count, int32_t priority, windlass_done done, void *user,
                         uint64_t *ticket);

/* As windlass_launch(); `waiter` gets what waits for it without the runtime, to be given back to windlass_waiter_free(). */
int windlass_launch_with_waiter(windlass_runtime *runtime, windlass_kernel kernel, const uint32_t grid[3],
                                const uint32_t block[3], const windlass_arg *args, size_t count, int32_t priority,
                                windlass_waiter **waiter, uint64_t *ticket);

/* Waits until its launch has retired, or failed: WINDLASS_KERNEL_FAILED; or until its copy is made, or cannot be. Needs no lock of the runtime: others may launch, wait and destroy
 * it meanwhile. Any number of threads wait, each as often as it likes, and all are told the same. In a body or a windlass_done of that
 * runtime it would wait for ever, and is WINDLASS_INVALID. */
int windlass_waiter_wait(const windlass_waiter *waiter);

/* The same, for so long at most; `done` gets 1 where it has retired, and 0 where it has not ended by then. */
int windlass_waiter_wait_for(const windlass_waiter *waiter, uint64_t nanoseconds, int *done);

/* At any time, but no thread may use it then or later. The launch, or the copy, goes on. NULL is nothing. */
void windlass_waiter_free(windlass_waiter *waiter);

/* Waits until one launch has retired, or failed: WINDLASS_KERNEL_FAILED, also where a synchronisation has told that already. Others run
 * on. Takes the runtime meanwhile: where other threads are to launch, see windlass_launch_with_waiter(). */
int windlass_wait(windlass_runtime *runtime, uint64_t ticket);

/* The same, for so long at most; `done` gets 1 where it has retired, and 0 where it has not ended by then. */
int windlass_wait_for(windlass_runtime *runtime, uint64_t ticket, uint64_t nanoseconds, int *done);

/* Whether one launch has retired, or failed, and its windlass_done has returned; `done` gets 1 or 0. Does not wait. */
int windlass_is_done(windlass_runtime *runtime, uint64_t ticket, int *done);

/* Copies from a buffer, once the kernels launched before that write these bytes are done, and all launched before are in the window or
 * have been. After an error, what `to` holds is not said. */
int windlass_read(windlass_runtime *runtime, windlass_buffer buffer, uint64_t offset, void *to, uint64_t bytes);

/* Copies to a buffer, once the kernels launched before that use these bytes are done, and all launched before are in the window or have
 * been. Where the device does not take it, these bytes are as those of a failed kernel. */
int windlass_write(windlass_runtime *runtime, windlass_buffer buffer, uint64_t offset, const void *from, uint64_t bytes);

/* As windlass_read(), without waiting: the program goes on, and what is launched later and overwrites these bytes does so after the copy.
 * `to` is the runtime's until `waiter`, where it is not NULL, says that the copy has ended, or a windlass_synchronize() after this has
 * returned; the waiter is given back to windlass_waiter_free(). What keeps the copy from being made, such as a kernel that failed, is told
 * by the waiter, and by no synchronisation. Copies are made one after another, on a thread for them. */
int windlass_start_read(windlass_runtime *runtime, windlass_buffer buffer, uint64_t offset, void *to, uint64_t bytes,
                        windlass_waiter **waiter);

/* As windlass_write(), without waiting: what is launched later reads what was written. `from` is not to be changed before the copy has
 * ended, as above; with `rename` a whole buffer is written while kernels still use what was in it. */
int windlass_start_write(windlass_runtime *runtime, windlass_buffer buffer, uint64_t offset, const void *from,
                         uint64_t bytes, windlass_waiter **waiter);

/* Waits for all that was launched, and for copies that were started; where kernels failed since the last time, the text has the first five of them, and
 * windlass_next_failure() the first 1000. */
int windlass_synchronize(windlass_runtime *runtime);

/* What the synchronisations so far have told, one failure for each call, the oldest first; NULL where there are no more. `ticket`, where
 * it is not NULL, gets the launch's number, or WINDLASS_NO_TICKET. 1000 are kept. Valid until the next call of this function for this runtime. */
const char *windlass_next_failure(windlass_runtime *runtime, uint64_t *ticket);

/* With `check`: what is wrong with the declaration of a kernel that has ended, one finding for each call, the oldest first; NULL where
 * there are no more. Seen are bytes of an argument's buffer that have changed and are not declared as written. Valid until the next
 * call of this function for this runtime. */
const char *windlass_next_finding(windlass_runtime *runtime);

/* With `record`: writes what was launched so far as a ktrace to one file, to be looked at with `windlass trace`, and when it ran to
 * another, each of which may be NULL; existing files are overwritten, and folders that are not there are made. */
int windlass_write_recording(windlass_runtime *runtime, const char *trace, const char *schedule);

/* With `record`: why a launch waited, for which others, by which hazard and on which bytes, as `windlass trace explain` says it; NULL where
 * windlass_error_text() says why not. Goes through all that was recorded. Valid until the next call of this function for this runtime. */
const char *windlass_explain(windlass_runtime *runtime, uint64_t ticket);

/* With `rename`: how many values got memory of their own, how many would have, had there been any, and the most bytes at a time beyond the
 * buffers' own. Pointers may be NULL. */
int windlass_renamed(windlass_runtime *runtime, uint64_t *versions, uint64_t *refused, uint64_t *peak_bytes);

/* With `rename`: gives memory back that nobody uses now; else it is kept for the next value of its size. */
int windlass_trim(windlass_runtime *runtime);

/* What the last call on this thread that failed has to say; never NULL, valid until the next call that fails on this thread. */
const char *windlass_error_text(void);

#ifdef __cplusplus
}
#endif

#endif
