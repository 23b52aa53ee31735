namespace {

std::string place(const char* file, int line) {
    if (!file || !file[0]) return "";
    return std::string(" at ") + file + ":" + std::to_string(line);
}

#if WINDLASS_TRACE == 1
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
    std::unique_ptr<Model> model;
#if WINDLASS_TRACE
#if WINDLASS_TRACE == 1
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
    bool at_edge = false;  // WINDLASS_AROUND: the clock rises
    std::string output;
    std::string error;
};

// What Verilator keeps for all threads without a lock: the context that was set last, and that there is a new seed, of which each
// thread takes notice by itself. A construction sets both, more than once.
std::recursive_mutex g_verilated;

// The instance whose context is this thread's.
thread_local Instance* t_instance = nullptr;

// While it lives, this thread runs `instance`.
struct Running {
    Instance& instance;
    explicit Running(Instance& i) : instance(i) {
        // Only where it changes: threads would fight over the lock.
        if (t_instance != &i) {
            std::lock_guard<std::recursive_mutex> lock(g_verilated);
            Verilated::threadContextp(&i.context);
            t_instance = &i;
        }
        t_output = &i.output;
    }
    ~Running() {
        t_output = nullptr;
        if (!instance.output.empty()) {
            std::fwrite(instance.output.data(), 1, instance.output.size(), stderr);
            instance.output.clear();
        }
    }
};

// The design's own last words are a better message than "$stop": "%Error: a.v:3: Assertion failed in top: full".
std::string message(Instance& i, const char* what) {
    // Newer Verilators call what $fatal says by its name.
    static const char kError[] = "%Error: ", kFatal[] = "%Fatal: ";
    size_t at = i.output.rfind(kError);
    const size_t fatal = i.output.rfind(kFatal);
    if (at == std::string::npos || (fatal != std::string::npos && fatal > at)) at = fatal;
    if (at == std::string::npos) return what;
    const size_t from = at + sizeof kError - 1;
    const size_t end = i.output.find('\n', from);
    std::string said = i.output.substr(from, end == std::string::npos ? end : end - from);
#if WINDLASS_AROUND
    // The design is the top, whatever is around it.
    static const char kAround[] = ".windlass_inputs.";
    const size_t around = said.find(kAround);
    if (around != std::string::npos) said.erase(around, sizeof kAround - 2);
#endif
    const size_t line = i.output.rfind('\n', at);
    i.output.erase(line == std::string::npos ? 0 : line + 1);
    return said;
}

#if WINDLASS_TRACE
inline void dump(Instance& i, uint64_t time) {
    if (!i.trace || i.cycle < i.wave_from || i.cycle >= i.wave_to) return;
    if (!i.trace->isOpen()) {
        errno = 0;
        i.trace->open(i.wave_path.c_str());
        if (!i.trace->isOpen()) {
            i.wave_error = errno ? errno : EIO;
            i.trace.reset();
            return;
        }
    }
    i.trace->dump(time);
    i.dumped = true;
    if (i.wave_error) i.trace.reset();
}

void close_wave(Instance& i) {
    if (i.trace) i.trace->close();
    i.trace.reset();
}
#else
inline void dump(Instance&, uint64_t) {}
void close_wave(Instance&) {}
#endif

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
#if WINDLASS_TRACE
    if (i.cycle == i.wave_to) close_wave(i);
#endif
}
#endif

}  // namespace

extern "C" int windlass_print(const char* format, ...) {
    char small[512];
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    const int size = std::vsnprintf(small, sizeof small, format, args);
    va_end(args);
    std::string text(small, size < 0 ? 0 : std::min<size_t>(size, sizeof small - 1));
    if (size >= static_cast<int>(sizeof small)) {
        text.resize(size + 1);
        std::vsnprintf(&text[0], text.size(), format, again);
        text.resize(size);
    }
    va_end(again);
    if (!t_output || t_output->size() > 65536) {
        if (t_output) {
            std::fwrite(t_output->data(), 1, t_output->size(), stderr);
            t_output->clear();
        }
        std::fwrite(text.data(), 1, text.size(), stderr);
    } else {
        *t_output += text;
    }
    return size;
}

void vl_finish(const char* file, int line, const char*) { throw Stopped("$finish" + place(file, line)); }
void vl_stop(const char* file, int line, const char*) { throw Stopped("$stop" + place(file, line)); }
void vl_fatal(const char* file, int line, const char*, const char* what) {
    throw Stopped(std::string(what ? what : "fatal error") + place(file, line));
}

#define WINDLASS_EXPORT extern "C" __attribute__((visibility("default")))

// Never null but for a lack of memory; `windlass_error` tells whether the instance can be used.
WINDLASS_EXPORT void* windlass_create(int seed, const char* wave, uint64_t from, uint64_t to) noexcept {
    std::lock_guard<std::recursive_mutex> lock(g_verilated);
    t_instance = nullptr;  // a new context makes itself the thread's
    std::unique_ptr<Instance> i;
    try {
        i.reset(new Instance);
    } catch (...) {
        return nullptr;
    }
    Running running(*i);
    try {
        // Else each instance has a thread for every other processor, which has nothing to do but to set the last context without a lock.
        i->context.threads(1);
        i->context.randReset(2);
        i->context.randSeed(seed);
#if WINDLASS_TRACE
        i->context.traceEverOn(wave != nullptr);
#endif
        i->model.reset(new Model(&i->context));
#if WINDLASS_TRACE
        if (wave) {
            i->wave_path = wave;
            i->wave_from = from;
            i->wave_to = to;
#if WINDLASS_TRACE == 1
            i->vcd.error = &i->wave_error;
            i->trace.reset(new Trace(&i->vcd));
#else
            i->trace.reset(new Trace);
#endif
            i->model->trace(i->trace.get(), 99);
        }
#else
        (void)wave;
        (void)from;
        (void)to;
#endif
    } catch (const std::exception& e) {
        i->error = message(*i, e.what());
        if (i->error.empty()) i->error = "the model cannot be made";
    } catch (...) {
        i->error = "the model cannot be made";
    }
    return i.release();
}

// Returns the number of cycles done in all; fewer than `n` more if the simulation stopped in the next one, and then `windlass_error`
// says why.
WINDLASS_EXPORT uint64_t windlass_run(void* handle, uint64_t n, const uint32_t* in, uint32_t* out) noexcept {
    Instance& i = *static_cast<Instance*>(handle);
    if (!i.error.empty()) return i.cycle;
    Running running(i);
    try {
        Model& m = *i.model;
        for (uint64_t k = 0; k < n; ++k, in += kInputWords, out += kOutputWords) cycle(i, m, in, out);
    } catch (const std::exception& e) {
        i.error = message(i, e.what());
        if (i.error.empty()) i.error = "the simulation stopped";
    } catch (...) {
        i.error = "the simulation stopped";
    }
    if (!i.error.empty()) {
        if (i.at_edge) --i.cycle;
        try {
            close_wave(i);
        } catch (...) {
        }
    }
    return i.cycle;
}

WINDLASS_EXPORT const char* windlass_error(void* handle) noexcept {
    return static_cast<Instance*>(handle)->error.c_str();
}

// 0, or the error number of what was not written, or -1 if there was nothing to write.
WINDLASS_EXPORT int windlass_close_wave(void* handle) noexcept {
    Instance& i = *static_cast<Instance*>(handle);
    Running running(i);
    try {
        close_wave(i);
    } catch (...) {
        return EIO;
    }
#if WINDLASS_TRACE
    if (i.wave_error || i.dumped) return i.wave_error;
#endif
    return -1;
}

WINDLASS_EXPORT void windlass_destroy(void* handle) noexcept {
    Instance* i = static_cast<Instance*>(handle);
    {
        Running running(*i);
        try {
            close_wave(*i);
            i->model.reset();
        } catch (...) {
        }
    }
    {
        std::lock_guard<std::recursive_mutex> lock(g_verilated);
        Verilated::threadContextp(nullptr);
        t_instance = nullptr;
    }
    delete i;
}
