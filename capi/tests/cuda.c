/* Kernels for a GPU: what is refused everywhere, and what they do where there is a GPU. Ends with 0 where all is as it
 * should be. */
#include "expect.h"

static const char *const text =
    "extern \"C\" __global__ void mix(unsigned char a, unsigned short b, int c, unsigned long long d, double *out) {\n"
    "    out[blockIdx.x] = a + b + c + (double)d + blockIdx.x;\n"
    "}\n";

/* The same on the CPU. */
static int mix(const windlass_cta *cta, void *user) {
    double *out = cta->pointers[4];
    (void)user;
    out[cta->index] = (double)(uint8_t)cta->values[0] + (double)(uint16_t)cta->values[1] +
                      (double)(int32_t)cta->values[2] + (double)cta->values[3] + (double)cta->index;
    return cta->values[0] > 255 || cta->values[1] > 65535 || cta->values[2] > UINT32_MAX;
}

/* Numbers reach the access function, too. */
static void access(const windlass_call *call, windlass_accesses *accesses, void *user) {
    uint64_t *seen = user;
    memcpy(seen, call->values, 4 * sizeof *seen);
    windlass_writes(accesses, 4, 0, call->values[4]);
}

static const windlass_mode modes[] = {WINDLASS_VALUE_8, WINDLASS_VALUE_16, WINDLASS_VALUE_32, WINDLASS_VALUE,
                                      WINDLASS_READ_WRITE};

static void numbers(windlass_runtime *rt, windlass_kernel kernel, const uint64_t *seen) {
    uint32_t grid[3] = {4, 1, 1}, block[3] = {1, 1, 1};
    windlass_buffer out;
    double values[4];

    OK(windlass_allocate(rt, sizeof values, &out));
    windlass_arg args[] = {windlass_u64(200), windlass_u64(60000), windlass_i64(-7), windlass_u64(UINT64_C(1) << 40),
                           windlass_whole(out)};
    OK(windlass_launch(rt, kernel, grid, block, args, 5, 0, NULL));
    OK(windlass_read(rt, out, 0, values, sizeof values));
    for (int i = 0; i < 4; i++) {
        TRUE(values[i] == 200 + 60000 - 7 + 1099511627776.0 + i);
    }
    TRUE(seen[0] == 200 && seen[1] == 60000 && seen[2] == UINT32_C(0xFFFFFFF9) && seen[3] == UINT64_C(1) << 40);
    args[0] = windlass_i64(-129);
    FAILS(WINDLASS_INVALID, "argument 0 is 0xffffffffffffff7f, which has more than the 8 bits of its parameter",
          windlass_launch(rt, kernel, grid, block, args, 5, 0, NULL));
    args[0] = windlass_i64(-128);
    args[1] = windlass_u64(65536);
    FAILS(WINDLASS_INVALID, "more than the 16 bits", windlass_launch(rt, kernel, grid, block, args, 5, 0, NULL));
    args[1] = windlass_u64(0);
    args[2] = windlass_f64(0.1);
    FAILS(WINDLASS_INVALID, "more than the 32 bits", windlass_launch(rt, kernel, grid, block, args, 5, 0, NULL));
    args[2] = windlass_u64(UINT32_MAX);
    OK(windlass_launch(rt, kernel, grid, block, args, 5, 0, NULL));
    OK(windlass_release(rt, out));
    OK(windlass_synchronize(rt));
}

static int never(const windlass_cuda_call *call, void *user) {
    (void)call;
    (void)user;
    return 1;
}

static void refused(windlass_runtime *rt) {
    windlass_cuda_kernel cuda = {.size = sizeof cuda, .source = text, .entry = "mix"};
    struct {
        windlass_cuda_kernel known;
        uint64_t more;
    } newer = {{.size = sizeof newer, .source = text, .entry = "mix"}, 0};
    windlass_kernel kernel = {7};
    FAILS(WINDLASS_INVALID, "`cuda` is NULL", windlass_register_cuda(rt, "mix", modes, 5, NULL, mix, NULL, NULL, &kernel));
    TRUE(kernel.id == 0);
    OK(windlass_register_cuda(rt, "mix", modes, 5, NULL, mix, &newer.known, NULL, &kernel));
    newer.more = 1;
    FAILS(WINDLASS_INVALID, "`cuda` sets what this library does not know",
          windlass_register_cuda(rt, "mix", modes, 5, NULL, mix, &newer.known, NULL, &kernel));
    cuda.size = 0;
    FAILS(WINDLASS_INVALID, "`cuda.size` is 0; set it to sizeof(windlass_cuda_kernel)",
          windlass_register_cuda(rt, "mix", modes, 5, NULL, mix, &cuda, NULL, &kernel));
    cuda.size = sizeof cuda - 4;
    FAILS(WINDLASS_INVALID, "; set it to sizeof(windlass_cuda_kernel)",
          windlass_register_cuda(rt, "mix", modes, 5, NULL, mix, &cuda, NULL, &kernel));
    /* An older header has no `enqueue`; what is there is not read. */
    cuda.size = offsetof(windlass_cuda_kernel, enqueue);
    cuda.enqueue = never;
    OK(windlass_register_cuda(rt, "mix", modes, 5, NULL, mix, &cuda, NULL, &kernel));
    cuda.size = sizeof cuda;
    FAILS(WINDLASS_INVALID, "exactly one of", windlass_register_cuda(rt, "mix", modes, 5, NULL, mix, &cuda, NULL, &kernel));
    cuda.enqueue = NULL;
    cuda.entry = NULL;
    FAILS(WINDLASS_INVALID, "`cuda.entry` is NULL", windlass_register_cuda(rt, "mix", modes, 5, NULL, mix, &cuda, NULL, &kernel));
    cuda.entry = "mix";
    cuda.image = text;
    FAILS(WINDLASS_INVALID, "exactly one of", windlass_register_cuda(rt, "mix", modes, 5, NULL, mix, &cuda, NULL, &kernel));
    cuda.source = NULL;
    FAILS(WINDLASS_INVALID, "`cuda.image_bytes` is 0", windlass_register_cuda(rt, "mix", modes, 5, NULL, mix, &cuda, NULL, &kernel));
    cuda.image_bytes = SIZE_MAX;
    FAILS(WINDLASS_INVALID, "`cuda.image` cannot have",
          windlass_register_cuda(rt, "mix", modes, 5, NULL, mix, &cuda, NULL, &kernel));
    cuda.image = NULL;
    FAILS(WINDLASS_INVALID, "exactly one of", windlass_register_cuda(rt, "mix", modes, 5, NULL, mix, &cuda, NULL, &kernel));
}

/* Without a body it does not run on the CPU, and its dependents do not. */
static void without_a_body(windlass_runtime *rt) {
    windlass_cuda_kernel cuda = {.size = sizeof cuda, .source = text, .entry = "mix"};
    windlass_kernel kernel;
    windlass_buffer out;
    uint32_t one[3] = {1, 1, 1};
    OK(windlass_register_cuda(rt, "mix", modes, 5, NULL, NULL, &cuda, NULL, &kernel));
    OK(windlass_allocate(rt, 8, &out));
    windlass_arg args[] = {windlass_u64(0), windlass_u64(0), windlass_u64(0), windlass_u64(0), windlass_whole(out)};
    OK(windlass_launch(rt, kernel, one, one, args, 5, 0, NULL));
    FAILS(WINDLASS_KERNEL_FAILED, "its definition has no body for the CPU", windlass_synchronize(rt));
    windlass_destroy(rt);
}

static void on_the_gpu(windlass_runtime *rt) {
    windlass_kernel kernel;
    windlass_buffer out;
    uint32_t one[3] = {1, 1, 1};
    windlass_cuda_kernel broken = {.size = sizeof broken, .source = "nonsense", .entry = "mix"};
    windlass_mode read[] = {WINDLASS_READ};
    unsigned char byte = 0;
    OK(windlass_register_cuda(rt, "broken", read, 1, NULL, NULL, &broken, NULL, &kernel));
    OK(windlass_allocate(rt, 8, &out));
    windlass_arg args[] = {windlass_whole(out)};
    OK(windlass_launch(rt, kernel, one, one, args, 1, 0, NULL));
    FAILS(WINDLASS_KERNEL_FAILED, "nonsense", windlass_synchronize(rt));
    /* A CPU's memory is no GPU's. */
    FAILS(WINDLASS_INVALID, "reaches the address", windlass_import(rt, &byte, 1, NULL, NULL, &out));
}

int main(void) {
    windlass_options options = {.size = sizeof options, .threads = 2}, checked = {.size = sizeof options, .check = 1};
    windlass_cuda_kernel cuda = {.size = sizeof cuda, .source = text, .entry = "mix"};
    windlass_runtime *rt;
    windlass_kernel kernel;
    uint64_t seen[4] = {0};

    OK(windlass_create(&options, &rt));
    refused(rt);
    OK(windlass_register_cuda(rt, "mix", modes, 5, access, mix, &cuda, seen, &kernel));
    numbers(rt, kernel, seen);
    windlass_destroy(rt);
    OK(windlass_create(&options, &rt));
    without_a_body(rt);
    checked.cuda_streams = 1;
    FAILS(WINDLASS_INVALID, "leave it or `cuda_streams` 0", windlass_create(&checked, &rt));
    options.cuda_streams = 4;
    options.cuda_device = 1000;
    FAILS(WINDLASS_RESOURCES, "no CUDA device: ", windlass_create(&options, &rt));
    TRUE(rt == NULL);
    options.cuda_device = 0;
    if (windlass_create(&options, &rt) == WINDLASS_OK) {
        OK(windlass_register_cuda(rt, "mix", modes, 5, access, NULL, &cuda, seen, &kernel));
        numbers(rt, kernel, seen);
        on_the_gpu(rt);
        windlass_destroy(rt);
        fprintf(stderr, "on the GPU, too\n");
    } else {
        fprintf(stderr, "SKIPPED, nothing is tried on a GPU: %s\n", windlass_error_text());
        TRUE(strstr(windlass_error_text(), "no CUDA device: ") != NULL);
    }
    return wrong != 0;
}
