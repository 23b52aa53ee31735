/* Kernels whose work a function gives to a stream, and order between the runtime and a stream of the program's. Wants a
 * CUDA driver, with a GPU or without. Ends with 0 where all is as it should be. */
#include "expect.h"
#include <dlfcn.h>

typedef int (*function)();

static function driver(const char *name) {
    static void *library;
    function found;
    if (library == NULL) {
        library = dlopen("libcuda.so.1", RTLD_NOW);
    }
    TRUE(library != NULL);
    *(void **)&found = dlsym(library, name);
    TRUE(found != NULL);
    return found;
}

static int put_value(void *stream, void *at, uint32_t value) {
    static int (*write)(void *, uint64_t, uint32_t, unsigned);
    if (write == NULL) {
        *(function *)&write = driver("cuStreamWriteValue32_v2");
    }
    return write(stream, (uint64_t)(uintptr_t)at, value, 0);
}

/* Writes a number to the beginning of a buffer, and counts its calls. */
static int put(const windlass_cuda_call *call, void *user) {
    ++*(int *)user;
    TRUE(call->args == 2 && call->pointers[0] == NULL && call->values[1] >= 4);
    TRUE(call->grid[0] == 2 && call->grid[1] == 1 && call->block[0] == 3 && call->block[2] == 1);
    return put_value(call->stream, call->pointers[1], (uint32_t)call->values[0]);
}

static int refuse(const windlass_cuda_call *call, void *user) {
    (void)user;
    put_value(call->stream, call->pointers[1], 1);
    return 3;
}

/* What comes after it, and uses the buffer, comes after an event of the program's. */
static int arrive(const windlass_cuda_call *call, void *user) {
    int (*wait)(void *, void *, unsigned);
    (void)user;
    *(function *)&wait = driver("cuStreamWaitEvent");
    return wait(call->stream, (void *)(uintptr_t)call->values[0], 0);
}

static const uint32_t grid[3] = {2, 1, 1}, block[3] = {3, 1, 1};

static windlass_kernel kernel_of(windlass_runtime *rt, const char *name, windlass_mode number, windlass_enqueue enqueue,
                                 void *user) {
    windlass_mode modes[] = {number, WINDLASS_READ_WRITE};
    windlass_cuda_kernel cuda = {.size = sizeof cuda, .enqueue = enqueue};
    windlass_kernel kernel;
    OK(windlass_register_cuda(rt, name, modes, 2, NULL, NULL, &cuda, user, &kernel));
    return kernel;
}

static void launch(windlass_runtime *rt, windlass_kernel kernel, uint64_t number, windlass_buffer buffer) {
    windlass_arg args[] = {windlass_u64(number), windlass_whole(buffer)};
    OK(windlass_launch(rt, kernel, grid, block, args, 2, 0, NULL));
}

static void with_a_stream_of_the_program(windlass_runtime *rt, windlass_kernel put) {
    enum { ROUNDS = 50 };
    windlass_kernel after = kernel_of(rt, "arrive", WINDLASS_VALUE, arrive, NULL);
    windlass_buffer buffer;
    uint32_t value;
    uint64_t address;
    void *context, *stream, *events[ROUNDS];

    /* The runtime is in the primary context, as the CUDA runtime is. */
    TRUE(driver("cuDevicePrimaryCtxRetain")(&context, 0) == 0);
    TRUE(driver("cuCtxPushCurrent_v2")(context) == 0);
    TRUE(driver("cuMemAlloc_v2")(&address, (size_t)4) == 0);
    TRUE(driver("cuStreamCreate")(&stream, 1u) == 0);
    OK(windlass_import(rt, (void *)(uintptr_t)address, 4, NULL, NULL, &buffer));
    for (uint32_t n = 0; n < ROUNDS; n++) {
        TRUE(driver("cuEventCreate")(&events[n], 2u) == 0);
        /* The host has waited for what the runtime wrote. The stream takes a while. */
        for (uint32_t late = 300; late-- > 0;) {
            TRUE(put_value(stream, (void *)(uintptr_t)address, 100 + n + late) == 0);
        }
        TRUE(driver("cuEventRecord")(events[n], stream) == 0);
        launch(rt, after, (uint64_t)(uintptr_t)events[n], buffer);
        if (n % 2 == 0) {
            launch(rt, put, 1000 + n, buffer);
        }
        OK(windlass_read(rt, buffer, 0, &value, sizeof value));
        TRUE(value == (n % 2 == 0 ? 1000 : 100) + n);
    }
    OK(windlass_release(rt, buffer));
    OK(windlass_synchronize(rt));
    for (uint32_t n = 0; n < ROUNDS; n++) {
        TRUE(driver("cuEventDestroy_v2")(events[n]) == 0);
    }
    TRUE(driver("cuStreamDestroy_v2")(stream) == 0);
    TRUE(driver("cuMemFree_v2")(address) == 0);
}

int main(void) {
    windlass_options options = {.size = sizeof options, .cuda_streams = 4};
    windlass_runtime *rt;
    windlass_buffer x, y;
    uint32_t value;
    int calls = 0;

    OK(windlass_create(&options, &rt));
    windlass_kernel write = kernel_of(rt, "put", WINDLASS_VALUE_32, put, &calls);
    windlass_kernel refused = kernel_of(rt, "refuse", WINDLASS_VALUE_32, refuse, NULL);
    OK(windlass_allocate(rt, 64, &x));
    OK(windlass_allocate(rt, 64, &y));
    for (uint32_t n = 0; n < 100; n++) {
        launch(rt, write, n, x);
        launch(rt, write, 2 * n, y);
    }
    OK(windlass_read(rt, x, 0, &value, sizeof value));
    TRUE(value == 99);
    OK(windlass_read(rt, y, 0, &value, sizeof value));
    TRUE(value == 198 && calls == 200);
    launch(rt, refused, 1, x);
    launch(rt, write, 5, x);
    FAILS(WINDLASS_KERNEL_FAILED, "its enqueue function gave 3", windlass_synchronize(rt));
    TRUE(calls == 200);
    with_a_stream_of_the_program(rt, write);
    windlass_destroy(rt);
    return wrong != 0;
}
