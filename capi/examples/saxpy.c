/* y = a * x + y, three times in a chain: on an NVIDIA GPU where there is one, on the CPU elsewhere. */
#include "windlass.h"
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000, THREADS = 128 };

static void check(int status) {
    if (status != WINDLASS_OK) {
        fprintf(stderr, "%s\n", windlass_error_text());
        exit(1);
    }
}

/* For the GPU. */
static const char *const text =
    "extern \"C\" __global__ void saxpy(float a, const float *x, float *y, unsigned n) {\n"
    "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n";

/* For the CPU, one CTA at a time. */
static int saxpy(const windlass_cta *cta, void *user) {
    float a = windlass_value_f32(cta, 0);
    const float *x = cta->pointers[1];
    float *y = cta->pointers[2];
    (void)user;
    for (uint64_t i = cta->index * THREADS; i < (cta->index + 1) * THREADS && i < cta->values[3]; i++) {
        y[i] = a * x[i] + y[i];
    }
    return 0;
}

int main(void) {
    windlass_runtime *rt;
    windlass_options options = {.size = sizeof options, .cuda_streams = 16};
    windlass_mode modes[] = {WINDLASS_VALUE_32, WINDLASS_READ, WINDLASS_READ_WRITE, WINDLASS_VALUE_32};
    windlass_cuda_kernel cuda = {.size = sizeof cuda, .source = text, .entry = "saxpy"};
    windlass_kernel kernel;
    windlass_buffer x, y;
    uint32_t grid[3] = {(COUNT + THREADS - 1) / THREADS, 1, 1}, block[3] = {THREADS, 1, 1};
    float values[COUNT];

    if (windlass_create(&options, &rt) != WINDLASS_OK) {
        printf("on the CPU; %s\n", windlass_error_text());
        options.cuda_streams = 0;
        check(windlass_create(&options, &rt));
    }
    check(windlass_register_cuda(rt, "saxpy", modes, 4, NULL, saxpy, &cuda, NULL, &kernel));
    check(windlass_allocate(rt, sizeof values, &x));
    check(windlass_allocate(rt, sizeof values, &y));
    for (int i = 0; i < COUNT; i++) {
        values[i] = (float)i;
    }
    check(windlass_write(rt, x, 0, values, sizeof values));
    for (int step = 1; step <= 3; step++) {
        windlass_arg args[] = {windlass_f32((float)step), windlass_whole(x), windlass_whole(y), windlass_u64(COUNT)};
        check(windlass_launch(rt, kernel, grid, block, args, 4, 0, NULL));
    }
    check(windlass_read(rt, y, 0, values, sizeof values));
    printf("y[999] = %g\n", (double)values[COUNT - 1]);
    check(windlass_synchronize(rt));
    windlass_destroy(rt);
    return 0;
}
