/* What a front end refuses, and what it says of its cycles. Ends with 0 where all is as it should be. */
#include "windlass_front_end.h"
#include "expect.h"

static windlass_front_end_kernel kernel_of(uint32_t grid) {
    windlass_front_end_kernel kernel = {.size = sizeof kernel, .grid = grid, .warps = 4, .registers = 16, .tag = 70};
    return kernel;
}

static void refused(windlass_front_end *front_end) {
    windlass_front_end_options options = {.size = sizeof options, .slots = 5};
    windlass_front_end_kernel kernel = kernel_of(1);
    windlass_front_end *none;
    uint64_t number, first = 0;
    uint32_t masks[2] = {0xFF, 0};

    FAILS(WINDLASS_INVALID, "5", windlass_front_end_create(&options, &none));
    TRUE(none == NULL);
    options = (windlass_front_end_options){.size = sizeof options, .masks = 1, .scheduled = 64};
    FAILS(WINDLASS_INVALID, "32, 128", windlass_front_end_create(&options, &none));
    options.size = 3;
    FAILS(WINDLASS_INVALID, "`options.size` is 3", windlass_front_end_create(&options, &none));
    FAILS(WINDLASS_INVALID, "`front_end` is NULL", windlass_front_end_create(NULL, NULL));
    FAILS(WINDLASS_INVALID, "`front_end` is NULL", windlass_front_end_launch(NULL, &kernel, &number));
    FAILS(WINDLASS_INVALID, "`kernel` is NULL", windlass_front_end_launch(front_end, NULL, &number));
    kernel.warps = 65536;
    FAILS(WINDLASS_INVALID, "`kernel.warps` is 65536", windlass_front_end_launch(front_end, &kernel, &number));
    kernel.warps = 65;
    FAILS(WINDLASS_INVALID, "an SM has 64", windlass_front_end_launch(front_end, &kernel, &number));
    TRUE(number == UINT64_MAX);
    kernel.warps = 4;
    kernel.partition = 264;
    FAILS(WINDLASS_INVALID, "`kernel.partition` is 264", windlass_front_end_launch(front_end, &kernel, &number));
    kernel.partition = 8;
    FAILS(WINDLASS_INVALID, "they are 0 to 7", windlass_front_end_launch(front_end, &kernel, &number));
    kernel.partition = 0;
    kernel.read_count = 1;
    FAILS(WINDLASS_INVALID, "`kernel.reads` is NULL", windlass_front_end_launch(front_end, &kernel, &number));
    kernel.read_count = 0;
    kernel.explicit_upstream = 1;
    kernel.upstream = &first;
    kernel.upstream_count = 1;
    FAILS(WINDLASS_INVALID, "kernel 0 is to be waited for, and 0 were launched",
          windlass_front_end_launch(front_end, &kernel, &number));
    FAILS(WINDLASS_INVALID, "`masks` has 2 words, and 8 SMs take 1", windlass_front_end_partition(front_end, 1, masks, 2));
    FAILS(WINDLASS_INVALID, "they are 0 to 7", windlass_front_end_partition(front_end, 8, masks, 1));
    FAILS(WINDLASS_INVALID, "no CTA of slot 0 runs on SM 7", windlass_front_end_ended(front_end, 7, 0));
    FAILS(WINDLASS_INVALID, "`sm` is 256", windlass_front_end_ended(front_end, 256, 256));
    TRUE(windlass_front_end_step(NULL, 0) == NULL);
    windlass_front_end_destroy(NULL);
}

int main(void) {
    windlass_front_end_options options = {.size = sizeof options, .slots = 8, .sms = 8, .lanes = 1};
    windlass_front_end *front_end;
    const windlass_front_end_cycle *cycle;
    windlass_front_end_kernel kernel = kernel_of(1);
    windlass_segment x = {4096, 64};
    uint64_t number, upstream[] = {0, 1}, entered = 0, retired = 0, ctas = 0;
    uint32_t mask = 1 << 5;

    OK(windlass_front_end_create(NULL, &front_end));
    windlass_front_end_destroy(front_end);
    OK(windlass_front_end_create(&options, &front_end));
    refused(front_end);
    /* Two that touch the same memory, and one that says that it comes after both; on SM 5 alone. */
    OK(windlass_front_end_partition(front_end, 3, &mask, 1));
    kernel.partition = 3;
    kernel.writes = &x;
    kernel.write_count = 1;
    OK(windlass_front_end_launch(front_end, &kernel, &number));
    TRUE(number == 0);
    kernel.tag++;
    OK(windlass_front_end_launch(front_end, &kernel, &number));
    kernel = kernel_of(2);
    kernel.partition = 3;
    kernel.tag = 72;
    kernel.explicit_upstream = 1;
    kernel.upstream = upstream;
    kernel.upstream_count = 2;
    OK(windlass_front_end_launch(front_end, &kernel, &number));
    TRUE(number == 2);
    FAILS(WINDLASS_INVALID, "3 kernels have not retired", windlass_front_end_synchronize(front_end));
    do {
        cycle = windlass_front_end_step(front_end, UINT32_MAX);
        TRUE(cycle != NULL && cycle->cycle < 1000);
        if (cycle->entered != NULL) {
            TRUE(cycle->entered->number == entered && cycle->entered->tag == 70 + entered);
            entered++;
        }
        if (cycle->dispatched != NULL) {
            TRUE(cycle->dispatched->number == retired);
        }
        for (size_t n = 0; n < cycle->retired_count; n++) {
            TRUE(cycle->retired[n].number == retired);
            retired++;
        }
        for (size_t n = 0; n < cycle->cta_count; n++) {
            const windlass_front_end_cta *cta = &cycle->ctas[n];
            TRUE(cta->sm == 5 && cta->kernel.number == retired && cta->kernel.tag == 70 + retired);
            TRUE(cta->index == (ctas == 3));
            ctas++;
            OK(windlass_front_end_ended(front_end, cta->sm, cta->slot));
        }
        TRUE(cycle->stall == WINDLASS_NO_STALL && cycle->window <= 3);
    } while (!cycle->idle && cycle->cycle < 1000);
    TRUE(entered == 3 && retired == 3 && ctas == 4);
    OK(windlass_front_end_synchronize(front_end));
    windlass_front_end_destroy(front_end);
    return wrong != 0;
}
