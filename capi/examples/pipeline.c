/* Two frames through three stages: stages of one frame wait for each other, frames do not. */
#include "windlass.h"
#include <stdio.h>
#include <stdlib.h>

enum { PIXELS = 1000, CTAS = 7, PART = (PIXELS + CTAS - 1) / CTAS };

static void check(int status) {
    if (status != WINDLASS_OK) {
        fprintf(stderr, "%s\n", windlass_error_text());
        exit(1);
    }
}

/* Adds values[2] to each pixel of its part; the last part may be shorter. */
static int brighten(const windlass_cta *cta, void *user) {
    const unsigned char *from = cta->pointers[0];
    unsigned char *to = cta->pointers[1];
    size_t part = (cta->values[0] + cta->grid[0] - 1) / cta->grid[0];
    (void)user;
    for (size_t i = cta->index * part; i < (cta->index + 1) * part && i < cta->values[0]; i++) {
        to[i] = (unsigned char)(from[i] + cta->values[2]);
    }
    return 0;
}

int main(void) {
    windlass_runtime *rt;
    windlass_options options = {.size = sizeof options, .window = 16, .threads = 2};
    windlass_mode modes[] = {WINDLASS_READ, WINDLASS_WRITE, WINDLASS_VALUE};
    windlass_kernel kernel;
    uint32_t grid[3] = {CTAS, 1, 1}, block[3] = {PART, 1, 1};
    unsigned char image[PIXELS];

    check(windlass_create(&options, &rt));
    check(windlass_register(rt, "brighten", modes, 3, brighten, NULL, &kernel));
    for (int frame = 0; frame < 2; frame++) {
        windlass_buffer stage[4];
        for (int s = 0; s < 4; s++) {
            check(windlass_allocate(rt, PIXELS, &stage[s]));
        }
        for (uint64_t s = 0; s < 3; s++) {
            windlass_arg args[3] = {
                windlass_whole(stage[s]),
                windlass_whole(stage[s + 1]),
                windlass_u64(10 * (s + 1) + (uint64_t)frame),
            };
            check(windlass_launch(rt, kernel, grid, block, args, 3, 0, NULL));
        }
        check(windlass_read(rt, stage[3], 0, image, PIXELS));
        printf("frame %d: %d\n", frame, image[PIXELS - 1]);
        for (int s = 0; s < 4; s++) {
            check(windlass_release(rt, stage[s]));
        }
    }
    check(windlass_synchronize(rt));
    windlass_destroy(rt);
    return 0;
}
