/* Copies that are started and not waited for at once, and memory of the program's own as a buffer. Ends with 0 where all is as it should be. */
#include "expect.h"
#include <pthread.h>
#include <stdlib.h>

enum { FRAMES = 50, VALUES = 1000 };

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static uint32_t one[3] = {1, 1, 1};

/* y = x + 1, once the gate is open. */
static int add(const windlass_cta *cta, void *user) {
    const uint32_t *x = cta->pointers[0];
    uint32_t *y = cta->pointers[1];
    (void)user;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    for (uint64_t i = 0; i < cta->values[0] / sizeof *x; i++) {
        y[i] = x[i] + 1;
    }
    return 0;
}

static int fails(const windlass_cta *cta, void *user) {
    (void)cta;
    (void)user;
    return 9;
}

static void gone(void *user) {
    __atomic_fetch_add((int *)user, 1, __ATOMIC_SEQ_CST);
}

int main(void) {
    windlass_options options = {.size = sizeof options, .threads = 2, .rename = 1};
    windlass_mode modes[] = {WINDLASS_READ, WINDLASS_WRITE};
    windlass_runtime *rt;
    windlass_kernel adds, failing;
    windlass_buffer x, y, own, other = {1, 1};
    windlass_waiter *waiter, *refused = (windlass_waiter *)&options;
    static uint32_t in[FRAMES][VALUES], out[FRAMES][VALUES], mine[VALUES + 2];
    uint64_t size = sizeof in[0];
    int done = 1, told = 0;

    OK(windlass_create(&options, &rt));
    OK(windlass_register(rt, "add", modes, 2, add, NULL, &adds));
    OK(windlass_register(rt, "fails", modes + 1, 1, fails, NULL, &failing));
    OK(windlass_allocate(rt, size, &x));
    OK(windlass_allocate(rt, size, &y));
    windlass_arg args[] = {windlass_whole(x), windlass_whole(y)};

    /* All frames are on their way before the first kernel ends. */
    pthread_mutex_lock(&gate);
    for (uint32_t n = 0; n < FRAMES; n++) {
        for (uint32_t i = 0; i < VALUES; i++) {
            in[n][i] = n * i;
        }
        OK(windlass_start_write(rt, x, 0, in[n], size, NULL));
        OK(windlass_launch(rt, adds, one, one, args, 2, 0, NULL));
        OK(windlass_start_read(rt, y, 0, out[n], size, n + 1 < FRAMES ? NULL : &waiter));
    }
    OK(windlass_waiter_wait_for(waiter, 1000000, &done));
    TRUE(done == 0);
    pthread_mutex_unlock(&gate);
    OK(windlass_waiter_wait(waiter));
    windlass_waiter_free(waiter);
    OK(windlass_synchronize(rt));
    for (uint32_t n = 0; n < FRAMES; n++) {
        for (uint32_t i = 0; i < VALUES; i++) {
            TRUE(out[n][i] == n * i + 1);
        }
    }

    /* Its own memory, but for the first and the last value. */
    mine[0] = mine[VALUES + 1] = 77;
    OK(windlass_import(rt, mine + 1, size, gone, &told, &own));
    FAILS(WINDLASS_INVALID, "some of them are another buffer's", windlass_import(rt, mine, 5, gone, &told, &other));
    TRUE(other.id == 0 && other.bytes == 0);
    FAILS(WINDLASS_INVALID, "`memory` is NULL", windlass_import(rt, NULL, 5, gone, &told, &other));
    FAILS(WINDLASS_INVALID, "`buffer` is NULL", windlass_import(rt, mine, 4, gone, &told, NULL));
    FAILS(WINDLASS_INVALID, "a buffer of 0 bytes", windlass_import(rt, mine, 0, gone, &told, &other));
    OK(windlass_import(rt, mine, sizeof mine[0], NULL, NULL, &other));
    args[1] = windlass_whole(own);
    OK(windlass_launch(rt, adds, one, one, args, 2, 0, NULL));
    OK(windlass_release(rt, own));
    OK(windlass_synchronize(rt));
    for (uint32_t i = 0; i < VALUES; i++) {
        TRUE(mine[i + 1] == (FRAMES - 1) * i + 1);
    }
    TRUE(mine[0] == 77 && mine[VALUES + 1] == 77);

    /* What cannot be started, and what cannot be made. */
    FAILS(WINDLASS_INVALID, "past the end", windlass_start_read(rt, x, 4, out, size, &refused));
    TRUE(refused == NULL);
    FAILS(WINDLASS_INVALID, "past the end", windlass_start_write(rt, x, 4, in, size, NULL));
    FAILS(WINDLASS_INVALID, "`to` is NULL", windlass_start_read(rt, x, 0, NULL, size, &refused));
    FAILS(WINDLASS_INVALID, "`from` is NULL", windlass_start_write(rt, x, 0, NULL, size, &refused));
    FAILS(WINDLASS_INVALID, "`from` cannot have", windlass_start_write(rt, x, 0, in, UINT64_MAX, &refused));
    FAILS(WINDLASS_INVALID, "`runtime` is NULL", windlass_start_write(NULL, x, 0, in, size, &refused));
    FAILS(WINDLASS_INVALID, "make it with windlass_allocate() or windlass_import()", windlass_start_read(rt, own, 0, out, size, NULL));
    OK(windlass_start_read(rt, x, 0, NULL, 0, NULL));
    OK(windlass_start_write(rt, x, 0, NULL, 0, &waiter));
    OK(windlass_waiter_wait(waiter));
    windlass_waiter_free(waiter);
    OK(windlass_launch(rt, failing, one, one, args, 1, 0, NULL));
    OK(windlass_start_read(rt, x, 0, out, size, &waiter));
    FAILS(WINDLASS_KERNEL_FAILED, "(fails): its body gave 9", windlass_waiter_wait(waiter));
    windlass_waiter_free(waiter);
    FAILS(WINDLASS_KERNEL_FAILED, "1 kernel failed", windlass_synchronize(rt));
    windlass_destroy(rt);
    TRUE(__atomic_load_n(&told, __ATOMIC_SEQ_CST) == 1);
    return wrong != 0;
}
