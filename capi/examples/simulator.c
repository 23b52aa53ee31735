/* A simulator of a GPU, as small as one can be, around the front end: what does its window gain on four frames that share
 * nothing, each a chain of matrix products and elementwise kernels? */
#include "windlass_front_end.h"
#include <stdio.h>
#include <stdlib.h>

enum { SMS = 16, FRAMES = 4, LAYERS = 6, MOST = SMS * 32, BYTES = 1 << 20 };

/* A CTA on an SM, until the cycle in which it ends. */
typedef struct {
    uint64_t end;
    uint8_t sm, slot;
} running;

static void check(int status) {
    if (status != WINDLASS_OK) {
        fprintf(stderr, "%s\n", windlass_error_text());
        exit(1);
    }
}

/* Frame after frame: each kernel reads what the one before it has written. */
static void launch(windlass_front_end *front_end) {
    for (uint64_t frame = 0; frame < FRAMES; frame++) {
        for (uint64_t layer = 0; layer < LAYERS; layer++) {
            windlass_segment read = {(frame * (LAYERS + 1) + layer) * BYTES, BYTES};
            windlass_segment written = {read.address + BYTES, BYTES};
            int tensor = layer % 2 == 0;
            windlass_front_end_kernel kernel = {.size = sizeof kernel, .grid = tensor ? 12 : 40, .tensor = tensor,
                                                .warps = tensor ? 16 : 8, .registers = tensor ? 128 : 32,
                                                .smem = tensor ? 512 : 0, .tag = layer, .reads = &read,
                                                .read_count = 1, .writes = &written, .write_count = 1};
            check(windlass_front_end_launch(front_end, &kernel, NULL));
        }
    }
}

static void simulate(uint32_t slots) {
    windlass_front_end_options options = {.size = sizeof options, .slots = slots, .sms = SMS};
    windlass_front_end *front_end;
    const windlass_front_end_cycle *cycle;
    static running ctas[MOST];
    size_t count = 0;
    uint64_t busy = 0;

    check(windlass_front_end_create(&options, &front_end));
    launch(front_end);
    do {
        cycle = windlass_front_end_step(front_end, UINT32_MAX);
        for (size_t n = 0; n < cycle->cta_count; n++) {
            const windlass_front_end_cta *cta = &cycle->ctas[n];
            /* Layers of even numbers are matrix products. */
            uint64_t lasts = cta->kernel.tag % 2 == 0 ? 900 : 300;
            ctas[count++] = (running){cycle->cycle + lasts, cta->sm, cta->slot};
        }
        busy += count;
        for (size_t n = 0; n < count;) {
            if (ctas[n].end <= cycle->cycle + 1) {
                check(windlass_front_end_ended(front_end, ctas[n].sm, ctas[n].slot));
                ctas[n] = ctas[--count];
            } else {
                n++;
            }
        }
    } while (!cycle->idle);
    printf("window of %2u: %5llu cycles, %4.1f CTAs at a time\n", slots, (unsigned long long)cycle->cycle + 1,
           (double)busy / (double)(cycle->cycle + 1));
    windlass_front_end_destroy(front_end);
}

int main(void) {
    for (uint32_t slots = 4; slots <= 32; slots *= 2) {
        simulate(slots);
    }
    return 0;
}
