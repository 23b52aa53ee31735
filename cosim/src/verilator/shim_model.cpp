
namespace {

#if WINDLASS_AROUND
// The edge that ends a cycle is the one at which the next cycle's inputs come: what it stops, it stops in the cycle before.
inline void cycle(Instance& i, Model& m, const uint32_t* in, uint32_t* out) {
    apply(m, in);
    if (i.cycle) {
        i.context.time(2 * i.cycle - 1);
        set_clock(m, 1);
        i.at_edge = true;
        m.eval();
        i.at_edge = false;
    }
    i.context.time(2 * i.cycle);
    set_clock(m, 0);
    m.eval();
    read(m, out);
    ++i.cycle;
}
#else
inline void cycle(Instance& i, Model& m, const uint32_t* in, uint32_t* out) {
    const uint64_t time = 2 * i.cycle;
    i.context.time(time);
    apply(m, in);
    set_clock(m, 0);
    m.eval();
    dump(i, time);
    read(m, out);
    if (kClocked) {
        i.context.time(time + 1);
        set_clock(m, 1);
        m.eval();
        dump(i, time + 1);
    }
    ++i.cycle;
#if VM_TRACE
    if (i.cycle == i.wave_to) close_wave(i);
#endif
}
#endif

}  // namespace

void* windlass_model(VerilatedContext* context) { return new Model(context); }
void windlass_end(void* model) { delete static_cast<Model*>(model); }

void windlass_cycles(Instance& i, uint64_t n, const uint32_t* in, uint32_t* out) {
    Model& m = *static_cast<Model*>(i.model);
    for (uint64_t k = 0; k < n; ++k, in += kInputWords, out += kOutputWords) cycle(i, m, in, out);
}

extern const bool windlass_around = WINDLASS_AROUND;

#if VM_TRACE
void windlass_trace(void* model, Trace* trace) { static_cast<Model*>(model)->trace(trace, 99); }
#endif
