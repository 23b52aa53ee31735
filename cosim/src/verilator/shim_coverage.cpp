
#include "verilated_cov.h"

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
