// What the shim is in two parts for: `shim_model.cpp`, after functions of the ports, is compiled with a model; `shim.cpp` is the same
// for all models and compiled once.
#ifndef WINDLASS_SHIM_H
#define WINDLASS_SHIM_H

#include "verilated.h"
#if VM_TRACE_VCD
#include "verilated_vcd_c.h"
using Trace = VerilatedVcdC;
#elif VM_TRACE_FST
#include "verilated_fst_c.h"
using Trace = VerilatedFstC;
#endif

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>

#if VM_TRACE_VCD
// Keeps the first error of a write: Verilator would throw one into the simulation, and another while it destroys the trace.
struct VcdFile : VerilatedVcdFile {
    int* error = nullptr;
    ssize_t write(const char* bytes, ssize_t size) override {
        if (*error) return size;
        const ssize_t done = VerilatedVcdFile::write(bytes, size);
        if (done >= 0 || errno == EAGAIN || errno == EINTR) return done;
        *error = errno;
        return size;
    }
};
#endif

struct Instance {
    VerilatedContext context;  // before the model: destroyed after it
    void* model = nullptr;
#if VM_TRACE
#if VM_TRACE_VCD
    VcdFile vcd;  // before the trace: destroyed after it
#endif
    std::unique_ptr<Trace> trace;
    bool dumped = false;
    int wave_error = 0;  // an errno
    std::string wave_path;
    uint64_t wave_from = 0;
    uint64_t wave_to = 0;
#endif
    uint64_t cycle = 0;
    bool at_edge = false;  // the clock rises, where inputs come with it
    std::string output;
    std::string error;
};

// The model's part. It throws what the simulation throws; `at_edge` and `cycle` then say where it was.
void* windlass_model(VerilatedContext* context);
void windlass_end(void* model);
// As many cycles: the inputs of each in `in`, its outputs to `out`.
void windlass_cycles(Instance& i, uint64_t n, const uint32_t* in, uint32_t* out);
// There is a module around the design, in which inputs come with the clock's edge.
extern const bool windlass_around;

#if VM_TRACE
void windlass_trace(void* model, Trace* trace);
// The common part's: what a waveform shows at this time, and its end.
void dump(Instance& i, uint64_t time);
void close_wave(Instance& i);
#else
inline void dump(Instance&, uint64_t) {}
inline void close_wave(Instance&) {}
#endif

#endif
