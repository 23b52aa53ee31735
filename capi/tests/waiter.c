/* Threads that wait for launches without the runtime, which others lock meanwhile. Ends with 0 where all is as it should be. */
#include "expect.h"
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, LAUNCHES = 200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static windlass_runtime *rt;
static uint32_t one[3] = {1, 1, 1};

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

/* Ends once the gate is open. */
static int held(const windlass_cta *cta, void *user) {
    (void)cta;
    (void)user;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return 0;
}

/* Fails at `user`. */
static int add(const windlass_cta *cta, void *user) {
    uint64_t *sum = cta->pointers[0];
    *sum += cta->values[1];
    return *sum == *(const uint64_t *)user ? 7 : 0;
}

static void *waits(void *waiter) {
    FAILS(WINDLASS_KERNEL_FAILED, "its body gave 7 for CTA 0", windlass_waiter_wait(waiter));
    return NULL;
}

/* Launches under the lock, and waits without it. */
static void *launches(void *kernel) {
    windlass_buffer sum;
    windlass_waiter *waiter;
    uint64_t found = 0, ticket;
    int done;

    pthread_mutex_lock(&lock);
    OK(windlass_allocate(rt, sizeof found, &sum));
    pthread_mutex_unlock(&lock);
    windlass_arg args[] = {windlass_whole(sum), windlass_u64(3)};
    for (int n = 0; n < LAUNCHES; n++) {
        pthread_mutex_lock(&lock);
        OK(windlass_launch_with_waiter(rt, *(windlass_kernel *)kernel, one, one, args, 2, n % 3, &waiter, &ticket));
        pthread_mutex_unlock(&lock);
        OK(windlass_waiter_wait(waiter));
        OK(windlass_waiter_wait_for(waiter, 0, &done));
        TRUE(done == 1);
        windlass_waiter_free(waiter);
        pthread_mutex_lock(&lock);
        OK(windlass_is_done(rt, ticket, &done));
        TRUE(done == 1);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    OK(windlass_read(rt, sum, 0, &found, sizeof found));
    pthread_mutex_unlock(&lock);
    TRUE(found == 3 * LAUNCHES);
    return NULL;
}

static windlass_waiter *own;

/* Would wait for itself. */
static int body(const windlass_cta *cta, void *user) {
    int done = 1;
    (void)cta;
    (void)user;
    FAILS(WINDLASS_INVALID, "a callback or a body of this runtime would wait", windlass_waiter_wait(own));
    FAILS(WINDLASS_INVALID, "would wait", windlass_waiter_wait_for(own, 1000000000, &done));
    TRUE(done == 0);
    return 0;
}

int main(void) {
    windlass_options options = {.size = sizeof options, .threads = 3};
    windlass_mode modes[] = {WINDLASS_READ_WRITE, WINDLASS_VALUE};
    windlass_kernel holds, adds, inside;
    windlass_waiter *waiter, *fence, *fails, *refused = (windlass_waiter *)&options;
    windlass_buffer sum;
    pthread_t threads[THREADS];
    uint64_t bad = 7, ticket = 5;
    int done = 1;

    OK(windlass_create(&options, &rt));
    OK(windlass_register(rt, "held", NULL, 0, held, NULL, &holds));
    OK(windlass_register(rt, "add", modes, 2, add, &bad, &adds));
    OK(windlass_register(rt, "body", NULL, 0, body, NULL, &inside));
    OK(windlass_allocate(rt, sizeof(uint64_t), &sum));
    windlass_arg args[] = {windlass_whole(sum), windlass_u64(bad)};

    pthread_mutex_lock(&gate);
    OK(windlass_launch_with_waiter(rt, holds, one, one, NULL, 0, 0, &waiter, NULL));
    OK(windlass_waiter_wait_for(waiter, 1000000, &done));
    TRUE(done == 0);
    OK(windlass_fence(rt, &fence));
    FAILS(WINDLASS_INVALID, "`waiter` is NULL", windlass_fence(rt, NULL));
    FAILS(WINDLASS_INVALID, "`runtime` is NULL", windlass_fence(NULL, &refused));
    TRUE(refused == NULL);
    for (int t = 0; t < THREADS; t++) {
        TRUE(pthread_create(&threads[t], NULL, launches, &adds) == 0);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
    }
    /* One that fails: all who wait are told, and again. */
    OK(windlass_launch_with_waiter(rt, adds, one, one, args, 2, 0, &fails, &ticket));
    for (int t = 0; t < THREADS; t++) {
        TRUE(pthread_create(&threads[t], NULL, waits, fails) == 0);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
    }
    FAILS(WINDLASS_KERNEL_FAILED, "(add): its body gave 7", windlass_waiter_wait_for(fails, 0, &done));
    OK(windlass_waiter_wait_for(waiter, 0, &done));
    TRUE(done == 0);
    OK(windlass_waiter_wait_for(fence, 0, &done));
    TRUE(done == 0);

    FAILS(WINDLASS_INVALID, "takes 2 arguments, and was given 1",
          windlass_launch_with_waiter(rt, adds, one, one, args, 1, 0, &refused, &ticket));
    TRUE(refused == NULL && ticket == WINDLASS_NO_TICKET);
    FAILS(WINDLASS_INVALID, "`waiter` is NULL", windlass_launch_with_waiter(rt, adds, one, one, args, 2, 0, NULL, &ticket));
    FAILS(WINDLASS_INVALID, "`waiter` is NULL", windlass_waiter_wait(NULL));
    FAILS(WINDLASS_INVALID, "`waiter` is NULL", windlass_waiter_wait_for(NULL, 0, &done));
    FAILS(WINDLASS_INVALID, "`done` is NULL", windlass_waiter_wait_for(waiter, 0, NULL));
    windlass_waiter_free(NULL);

    pthread_mutex_unlock(&gate);
    OK(windlass_waiter_wait(waiter));
    windlass_waiter_free(waiter);
    /* One has failed since, and everything before the fence has ended. */
    FAILS(WINDLASS_KERNEL_FAILED, "(add): its body gave 7", windlass_waiter_wait(fence));
    windlass_waiter_free(fence);
    /* Freed before its end. */
    OK(windlass_launch_with_waiter(rt, holds, one, one, NULL, 0, 0, &waiter, NULL));
    windlass_waiter_free(waiter);
    FAILS(WINDLASS_KERNEL_FAILED, "1 kernel failed", windlass_synchronize(rt));

    /* It waits for one that comes after it, in program order. */
    pthread_mutex_lock(&gate);
    OK(windlass_launch_with_waiter(rt, holds, one, one, NULL, 0, 0, &own, NULL));
    OK(windlass_launch_with_waiter(rt, inside, one, one, NULL, 0, 0, &waiter, NULL));
    OK(windlass_waiter_wait(waiter));
    pthread_mutex_unlock(&gate);
    windlass_destroy(rt);
    /* The runtime is gone, and they are not. */
    OK(windlass_waiter_wait(own));
    FAILS(WINDLASS_KERNEL_FAILED, "(add): its body gave 7", windlass_waiter_wait(fails));
    windlass_waiter_free(own);
    windlass_waiter_free(waiter);
    windlass_waiter_free(fails);
    return wrong != 0;
}
