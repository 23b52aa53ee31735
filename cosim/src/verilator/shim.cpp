#include "windlass_shim.h"
#if VM_COVERAGE
#include "verilated_cov.h"
#endif

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <mutex>
#include <stdexcept>

namespace {

// Where the design's $display goes while one of our functions runs; a thread runs one instance at a time.
thread_local std::string* t_output = nullptr;

// Thrown through the Verilated code by $stop, $finish, a failed assertion or a loop that does not settle.
struct Stopped : std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::string place(const char* file, int line) {
    if (!file || !file[0]) return "";
    return std::string(" at ") + file + ":" + std::to_string(line);
}

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
    // The design is the top, whatever is around it.
    static const char kAround[] = ".windlass_inputs.";
    const size_t around = windlass_around ? said.find(kAround) : std::string::npos;
    if (around != std::string::npos) said.erase(around, sizeof kAround - 2);
    const size_t line = i.output.rfind('\n', at);
    i.output.erase(line == std::string::npos ? 0 : line + 1);
    return said;
}

}  // namespace

#if VM_TRACE
void dump(Instance& i, uint64_t time) {
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
#endif

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
#if VM_TRACE
        i->context.traceEverOn(wave != nullptr);
#endif
        i->model = windlass_model(&i->context);
#if VM_TRACE
        if (wave) {
            i->wave_path = wave;
            i->wave_from = from;
            i->wave_to = to;
#if VM_TRACE_VCD
            i->vcd.error = &i->wave_error;
            i->trace.reset(new Trace(&i->vcd));
#else
            i->trace.reset(new Trace);
#endif
            windlass_trace(i->model, i->trace.get());
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
        windlass_cycles(i, n, in, out);
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
#if VM_TRACE
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
            if (i->model) windlass_end(i->model);
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

#if VM_COVERAGE
// Whether the file could be written.
WINDLASS_EXPORT int windlass_coverage(void* handle, const char* path) noexcept {
    Instance& i = *static_cast<Instance*>(handle);
    Running running(i);
    try {
        i.context.coveragep()->write(path);
        return 1;
    } catch (...) {
        return 0;
    }
}
#endif
