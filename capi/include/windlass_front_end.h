/* The generated front end's golden model, for simulators of GPUs in C and C++: kernels go in, CTAs come out on SMs,
 * completions go back, clock by clock. In every cycle it does what the Verilog of `windlass gen --block front_end` does.
 *
 * Around it are the host's list, which finds what a kernel waits for from the memory that it touches, and a queue for each
 * completion port. It knows no SM: how long a CTA runs is the simulator's.
 *
 * A front end is used by one thread at a time. Return values and error texts are those of windlass.h. */
#ifndef WINDLASS_FRONT_END_H
#define WINDLASS_FRONT_END_H

#include "windlass.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct windlass_front_end windlass_front_end;

/* 0 stands for the default, except in `size`. They are the parameters of `windlass gen --block front_end`. */
typedef struct windlass_front_end_options {
    uint32_t size;         /* sizeof(windlass_front_end_options) */
    uint32_t slots;        /* of the window: 4, 8, 16, 24, 32, 48, 64, 96 or 128; default 32 */
    uint32_t list;         /* not 0: ACE's list window; default the matrix window */
    uint32_t pipelined;    /* not 0: one pipeline stage more in the matrix window */
    uint32_t retire_ports; /* 1 to 4; default 2 */
    uint32_t scheduled;    /* kernels in the host's list, 8 to 255, with masks 32 or 128; default 128 */
    uint32_t lanes;        /* ids that a beat has room for, 1 to 8; default 4 */
    uint32_t masks;        /* not 0: the host sends masks in the place of ids, and a kernel has one beat */
    uint32_t sms;          /* 1 to 192; default 132 */
    uint32_t single;       /* not 0: one arbiter for all CTAs; default one for each type */
    uint32_t active;       /* kernels that an arbiter of one type places CTAs of at a time: 1, 2 or 4; default 2 */
    uint32_t places;       /* CTAs of one kernel in a cycle: 1, 2 or 4; default 1 */
    uint32_t hold_idle;    /* not 0: the SM array stands still while nothing is asked of it */
    uint32_t sm_ctas;      /* of an SM: 1 to 32; default 32 */
    uint32_t sm_warps;     /* 1 to 64; default 64 */
    uint32_t sm_registers; /* units, 1 to 256; default 256 */
    uint32_t sm_smem;      /* units of shared memory, 1 to 2047; default 1824 */
} windlass_front_end_options;

/* Makes a front end that was just reset. NULL for `options` takes all defaults, which are an H100's. Give it back to
 * windlass_front_end_destroy(). */
int windlass_front_end_create(const windlass_front_end_options *options, windlass_front_end **front_end);

/* NULL does nothing. */
void windlass_front_end_destroy(windlass_front_end *front_end);

/* Bytes of memory; none overlap nothing. */
typedef struct windlass_segment {
    uint64_t address;
    uint64_t bytes;
} windlass_segment;

/* A kernel to be launched. */
typedef struct windlass_front_end_kernel {
    uint32_t size;      /* sizeof(windlass_front_end_kernel) */
    uint32_t grid;      /* CTAs; a kernel without any only keeps an order */
    uint32_t tensor;    /* not 0: its CTAs are of type TENSOR; else SIMT */
    uint32_t partition; /* 0 to 7: which SMs it may use */
    uint32_t warps;     /* of a CTA, at least 1 */
    uint32_t registers; /* units of registers of a CTA, at least 1 */
    uint32_t smem;      /* units of shared memory of a CTA */
    uint32_t explicit_upstream; /* not 0: it waits for `upstream`, and its memory is compared with nobody's */
    uint64_t tag;       /* the simulator's own name for it */
    const windlass_segment *reads; /* what it reads and writes, for hazards exact to the byte */
    size_t read_count;
    const windlass_segment *writes;
    size_t write_count;
    const uint64_t *upstream; /* numbers of earlier kernels, if `explicit_upstream` is set */
    size_t upstream_count;
} windlass_front_end_kernel;

/* Launches a kernel, next in program order. `number`, if not NULL, gets its number, from 0. Packets queue up without end;
 * the front end takes one beat in a cycle. What `kernel` points to is copied. */
int windlass_front_end_launch(windlass_front_end *front_end, const windlass_front_end_kernel *kernel, uint64_t *number);

/* Says which SMs are in a partition: bit b of masks[w] is SM 32 * w + b; `count` is the number of SMs by 32, rounded up. It
 * is written once all that was launched before has been taken. CTAs that run stay where they are. At first, all SMs are
 * in every partition. */
int windlass_front_end_partition(windlass_front_end *front_end, uint32_t partition, const uint32_t *masks, size_t count);

/* Says that a CTA has ended, before the step of the cycle in which it has. In a cycle, one completion of the SMs with the
 * same `sm % 4` is taken; others wait. */
int windlass_front_end_ended(windlass_front_end *front_end, uint32_t sm, uint32_t slot);

typedef struct windlass_launched {
    uint64_t number; /* as windlass_front_end_launch() gave it */
    uint64_t tag;    /* as the kernel has it */
} windlass_launched;

/* A CTA that begins on an SM. */
typedef struct windlass_front_end_cta {
    windlass_launched kernel;
    uint32_t index; /* its number in the grid, from 0 */
    uint8_t sm;
    uint8_t slot;   /* for windlass_front_end_ended() */
    uint8_t port;   /* that it came on */
    uint8_t reserved;
} windlass_front_end_cta;

/* Why a packet of the host's was not taken in a cycle. */
typedef enum windlass_stall {
    WINDLASS_NO_STALL = 0,
    WINDLASS_STALL_LIMIT = 1, /* as many newer kernels than the oldest in the window were sent as the list has */
    WINDLASS_STALL_FULL = 2,  /* the window is full */
    WINDLASS_STALL_BUSY = 3   /* the window walks its lists */
} windlass_stall;

/* What happened in a cycle. It is valid until the next call for the same front end. */
typedef struct windlass_front_end_cycle {
    uint64_t cycle; /* from 0 */
    const windlass_front_end_cta *ctas; /* that begin */
    size_t cta_count;
    const windlass_launched *retired; /* kernels all of whose CTAs have ended */
    size_t retired_count;
    const windlass_launched *entered;    /* the kernel that came into the window; NULL if none did */
    const windlass_launched *dispatched; /* the one that went on to the CTA arbiters, for all that it waits for has retired */
    uint32_t window; /* kernels in the window */
    uint32_t stall;  /* a windlass_stall */
    uint32_t idle;   /* not 0: everything that was launched has retired, and all partitions are written */
} windlass_front_end_cycle;

/* Goes on by one clock. Bit p of `ready`: the SMs take what is on CTA port p; a CTA that is not taken stays there. With
 * UINT32_MAX, they take whatever comes; the front end knows what is free on each SM. Returns NULL if `front_end` is.
 *
 * Ports: of SIMT CTAs the first `places`, of TENSOR CTAs the next; with `single`, both come on the first. Of the `places`
 * ports, the one of number q has the SMs with `sm % places == q`. */
const windlass_front_end_cycle *windlass_front_end_step(windlass_front_end *front_end, uint32_t ready);

/* Forgets the memory of all kernels, for the host has waited for them. Until everything has retired it returns
 * WINDLASS_INVALID. */
int windlass_front_end_synchronize(windlass_front_end *front_end);

#ifdef __cplusplus
}
#endif

#endif
