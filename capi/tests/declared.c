/* Kernels that say which bytes they access, and a schedule that is replayed. Ends with 0 where all is as it should be. */
#include "expect.h"
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static uint32_t two[3] = {2, 1, 1}, one[3] = {1, 1, 1};

/* A row of values[1] bytes, number values[2], of a picture; waits at the gate where values[3] says so. */
static int row(const windlass_cta *cta, void *user) {
    unsigned char *picture = cta->pointers[0];
    (void)user;
    if (cta->values[3] != 0 && cta->index == 0) {
        pthread_mutex_lock(&gate);
        pthread_mutex_unlock(&gate);
    }
    if (cta->index == 0) {
        memset(picture + cta->values[1] * cta->values[2], (int)cta->values[2] + 1, cta->values[1]);
    }
    return 0;
}

static int calls;

static void of_row(const windlass_call *call, windlass_accesses *accesses, void *user) {
    calls++;
    TRUE(call->args == 4 && call->values[0] == 64 && call->grid[0] == 2 && call->block[0] == 1);
    TRUE(user == &calls);
    windlass_writes(accesses, 0, call->values[1] * call->values[2], call->values[1]);
}

/* One that uses the ways to declare wrongly, by `user`. */
static void wrong_one(const windlass_call *call, windlass_accesses *accesses, void *user) {
    (void)call;
    switch (*(int *)user) {
    case 0: windlass_reads(accesses, 0, 0, 4); break;
    case 1: windlass_reads(accesses, 1, 60, 5); break;
    case 2: windlass_reads_and_writes(accesses, 2, 0, 1); break;
    case 3: windlass_writes(accesses, 9, 0, 1); break;
    case 4: windlass_reads(accesses, 1, UINT64_MAX, UINT64_MAX); break;
    case 5: windlass_reads(NULL, 0, 0, 4); break; /* is nothing */
    default: windlass_reads_and_writes(accesses, 3, 0, 64);
    }
}

static int nothing(const windlass_cta *cta, void *user) {
    (void)cta;
    (void)user;
    return 0;
}

/* Rows of one picture, of which the first is held up. */
static void rows(windlass_runtime *rt, unsigned char *picture) {
    windlass_mode modes[] = {WINDLASS_WRITE, WINDLASS_VALUE, WINDLASS_VALUE, WINDLASS_VALUE};
    windlass_kernel kernel;
    windlass_buffer buffer;

    OK(windlass_register_with_access(rt, "row", modes, 4, of_row, row, &calls, &kernel));
    OK(windlass_allocate(rt, 64, &buffer));
    for (uint64_t n = 0; n < 4; n++) {
        windlass_arg args[] = {windlass_whole(buffer), windlass_u64(16), windlass_u64(n), windlass_u64(n == 0)};
        OK(windlass_launch(rt, kernel, two, one, args, 4, 0, NULL));
    }
    /* The others do not wait for the first. */
    OK(windlass_read(rt, buffer, 16, picture + 16, 48));
    TRUE(picture[16] == 2 && picture[63] == 4);
    pthread_mutex_unlock(&gate);
    OK(windlass_read(rt, buffer, 0, picture, 64));
    TRUE(picture[0] == 1 && picture[15] == 1);
    OK(windlass_synchronize(rt));
    TRUE(calls == 4);
}

int main(int argc, char **argv) {
    windlass_options options = {.size = sizeof options, .threads = 2, .record = 1};
    windlass_runtime *rt;
    windlass_kernel kernel;
    windlass_buffer a, b;
    unsigned char picture[64];
    char schedule[1024], other[1024];
    int way;

    snprintf(schedule, sizeof schedule, "%s/run.schedule.jsonl", argc > 1 ? argv[1] : ".");
    snprintf(other, sizeof other, "%s/other.jsonl", argc > 1 ? argv[1] : ".");
    pthread_mutex_lock(&gate);
    OK(windlass_create(&options, &rt));
    rows(rt, picture);
    OK(windlass_write_recording(rt, NULL, schedule));

    /* What cannot be declared refuses the launch. */
    windlass_mode modes[] = {WINDLASS_WRITE, WINDLASS_READ, WINDLASS_VALUE, WINDLASS_READ_WRITE};
    OK(windlass_register_with_access(rt, "wrong", modes, 4, wrong_one, nothing, &way, &kernel));
    OK(windlass_allocate(rt, 64, &a));
    OK(windlass_allocate(rt, 64, &b));
    windlass_arg args[] = {windlass_whole(a), windlass_whole(b), windlass_u64(1), windlass_whole(b)};
    const char *said[] = {
        "declares a read of argument 0, and its parameter there is a write buffer",
        "5 bytes from offset 60 are past the end of a buffer of 64 bytes (argument 1 of kernel wrong",
        "declares a read-write of argument 2, and its parameter there is a value",
        "argument 9, and its parameter there is not there",
        "are past the end of a buffer of 64 bytes",
    };
    for (way = 0; way < 5; way++) {
        FAILS(WINDLASS_INVALID, said[way], windlass_launch(rt, kernel, one, one, args, 4, 0, NULL));
    }
    for (; way < 7; way++) {
        OK(windlass_launch(rt, kernel, one, one, args, 4, 0, NULL));
    }
    FAILS(WINDLASS_INVALID, "`body` is NULL",
          windlass_register_with_access(rt, "k", modes, 4, wrong_one, NULL, NULL, &kernel));
    OK(windlass_synchronize(rt));
    windlass_destroy(rt);

    /* The same again, in the order in which it went. */
    calls = 0;
    options.record = 0;
    FAILS(WINDLASS_INVALID, "`schedule` is NULL", windlass_create_replay(&options, NULL, &rt));
    TRUE(rt == NULL);
    FAILS(WINDLASS_INVALID, "other.jsonl: No such file", windlass_create_replay(&options, other, &rt));
    FILE *file = fopen(other, "w");
    TRUE(file != NULL && fputs("{\"schedule\":1,\"executor\":\"x\"}\n{\"e\":\"end\",\"k\":0,\"ns\":1}\n", file) > 0);
    fclose(file);
    FAILS(WINDLASS_INVALID, "other.jsonl: line 2 of the schedule: kernel 0 ends and does not run",
          windlass_create_replay(&options, other, &rt));
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    OK(windlass_create_replay(&options, schedule, &rt));
    pthread_mutex_lock(&gate);
    rows(rt, picture);
    windlass_destroy(rt);

    /* Another program: here the second waits for the first, and in the schedule it starts before that ends. */
    OK(windlass_create_replay(&options, schedule, &rt));
    modes[1] = modes[3] = WINDLASS_VALUE;
    OK(windlass_register_with_access(rt, "row", modes, 4, of_row, row, &calls, &kernel));
    OK(windlass_allocate(rt, 64, &a));
    windlass_arg same[] = {windlass_whole(a), windlass_u64(16), windlass_u64(0), windlass_u64(0)};
    OK(windlass_launch(rt, kernel, two, one, same, 4, 0, NULL));
    OK(windlass_launch(rt, kernel, two, one, same, 4, 0, NULL));
    FAILS(WINDLASS_INVALID, "the schedule does not fit this program", windlass_synchronize(rt));
    windlass_destroy(rt);
    return wrong != 0;
}
