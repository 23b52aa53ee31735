/* What the C interface refuses, and what it says. Ends with 0 where all is as it should be. */
#include "expect.h"

/* Copies; fails where the first byte is what `user` points to. */
static int copy(const windlass_cta *cta, void *user) {
    if (*(const unsigned char *)cta->pointers[0] == *(const unsigned char *)user) {
        return 7;
    }
    memcpy(cta->pointers[1], cta->pointers[0], cta->values[0]);
    return 0;
}

static void note(windlass_status status, const char *text, void *user) {
    char *said = user;
    snprintf(said, 80, "%d %s", status, text == NULL ? "done" : text);
}

static int place(const windlass_cta *cta, void *user) {
    uint32_t *out = cta->pointers[0];
    (void)user;
    if (cta->args != 2 || cta->pointers[1] != NULL || cta->values[1] != UINT64_C(1) << 40) {
        return 1;
    }
    out[cta->index] = cta->id[0] * 100 + cta->id[1] * 10 + cta->id[2] + cta->block[1] * 1000;
    return 0;
}

/* Options of programs that were compiled with an older header, a newer one, or that do not say with which. */
static void sizes(void) {
    union {
        uint32_t words[12];
        windlass_options options;
    } older = {{12, 16, 1, UINT32_MAX, UINT32_MAX}}, newer = {{44, 16, 1}}, none = {{0, 16}}, wild = {{0}};
    windlass_runtime *rt = (windlass_runtime *)&older;

    TRUE(windlass_abi() == WINDLASS_ABI);
    OK(windlass_create(&older.options, &rt));
    windlass_destroy(rt);
    OK(windlass_create(&newer.options, &rt));
    windlass_destroy(rt);
    newer.words[10] = 1;
    FAILS(WINDLASS_INVALID, "`options` sets what this library does not know", windlass_create(&newer.options, &rt));
    TRUE(rt == NULL);
    FAILS(WINDLASS_INVALID, "`options.size` is 0; set it to sizeof(windlass_options)", windlass_create(&none.options, &rt));
    wild.words[0] = 4096;
    FAILS(WINDLASS_INVALID, "`options.size` is 4096", windlass_create(&wild.options, &rt));
}

/* Writes one byte more than it is given. */
static int past(const windlass_cta *cta, void *user) {
    (void)user;
    memset(cta->pointers[0], 1, cta->values[0] + 1);
    return 0;
}

/* Writes to what it is to read. */
static int liar(const windlass_cta *cta, void *user) {
    (void)user;
    *(unsigned char *)cta->pointers[0] = 7;
    return 0;
}

static void findings(void) {
    windlass_runtime *rt;
    windlass_options options = {.size = sizeof(windlass_options), .check = 1};
    windlass_mode modes[] = {WINDLASS_WRITE};
    windlass_kernel kernel;
    windlass_buffer a;
    uint32_t one[3] = {1, 1, 1};

    OK(windlass_create(&options, &rt));
    OK(windlass_register(rt, "past", modes, 1, past, NULL, &kernel));
    OK(windlass_allocate(rt, 64, &a));
    windlass_arg args[] = {{.buffer = a, .offset = 8, .bytes = 16}};
    TRUE(windlass_next_finding(rt) == NULL);
    OK(windlass_launch(rt, kernel, one, one, args, 1, 0, NULL));
    OK(windlass_synchronize(rt));
    const char *finding = windlass_next_finding(rt);
    TRUE(finding != NULL && strcmp(finding, "launch 0 (past), argument 0 (argument 0): 1 bytes from offset 24 of the buffer "
                                            "are written and not declared as written") == 0);
    TRUE(windlass_next_finding(rt) == NULL);
    TRUE(windlass_next_finding(NULL) == NULL);
    windlass_mode read[] = {WINDLASS_READ};
    OK(windlass_register(rt, "liar", read, 1, liar, NULL, &kernel));
    OK(windlass_launch(rt, kernel, one, one, args, 1, 0, NULL));
    OK(windlass_synchronize(rt));
    finding = windlass_next_finding(rt);
    TRUE(finding != NULL && strcmp(finding, "launch 1 (liar), argument 0 (argument 0): 1 bytes from offset 8 of the buffer "
                                            "are written and not declared as written") == 0);
    TRUE(windlass_next_finding(rt) == NULL);
    windlass_destroy(rt);
}

/* More than a text has room for. */
static void failures(void) {
    windlass_runtime *rt;
    windlass_mode modes[] = {WINDLASS_READ, WINDLASS_WRITE};
    windlass_kernel kernel;
    windlass_buffer a, b;
    unsigned char bad = 0;
    uint32_t one[3] = {1, 1, 1};
    uint64_t ticket = 99, launches = 0;
    char text[80];

    OK(windlass_create(NULL, &rt));
    OK(windlass_register(rt, "copy", modes, 2, copy, &bad, &kernel));
    OK(windlass_allocate(rt, 16, &a));
    OK(windlass_allocate(rt, 16, &b));
    windlass_arg args[] = {{.buffer = a, .bytes = 16}, {.buffer = b, .bytes = 16}};
    for (; launches < 7; launches++) {
        OK(windlass_launch(rt, kernel, one, one, args, 2, 0, NULL));
    }
    TRUE(windlass_next_failure(rt, &ticket) == NULL && ticket == WINDLASS_NO_TICKET);
    FAILS(WINDLASS_KERNEL_FAILED, "7 kernels failed", windlass_synchronize(rt));
    TRUE(windlass_next_failure(rt, NULL) != NULL);
    OK(windlass_launch(rt, kernel, one, one, args, 2, 0, NULL));
    FAILS(WINDLASS_KERNEL_FAILED, "1 kernel failed", windlass_synchronize(rt));
    for (uint64_t n = 1; n <= launches; n++) {
        const char *said = windlass_next_failure(rt, &ticket);
        snprintf(text, sizeof text, "launch %d (copy): its body gave 7 for CTA 0", (int)n);
        TRUE(said != NULL && strcmp(said, text) == 0 && ticket == n);
    }
    TRUE(windlass_next_failure(rt, &ticket) == NULL && ticket == WINDLASS_NO_TICKET);
    TRUE(windlass_next_failure(NULL, NULL) == NULL);
    /* Told, and still so. */
    FAILS(WINDLASS_KERNEL_FAILED, "launch 3 failed; its cause was told", windlass_wait(rt, 3));
    windlass_destroy(rt);
}

/* Each frame overwrites a buffer that the one before may still read. */
static void renaming(void) {
    windlass_runtime *rt;
    windlass_options options = {.size = sizeof(windlass_options), .rename = 1};
    windlass_mode modes[] = {WINDLASS_READ, WINDLASS_WRITE, WINDLASS_VALUE};
    windlass_kernel kernel;
    windlass_buffer a, b[8];
    unsigned char bad = 255, bytes[1000];
    uint32_t one[3] = {1, 1, 1};

    OK(windlass_create(&options, &rt));
    OK(windlass_register(rt, "copy", modes, 3, copy, &bad, &kernel));
    OK(windlass_allocate(rt, sizeof bytes, &a));
    for (int n = 0; n < 8; n++) {
        OK(windlass_allocate(rt, sizeof bytes, &b[n]));
        memset(bytes, n, sizeof bytes);
        OK(windlass_write(rt, a, 0, bytes, sizeof bytes));
        windlass_arg args[] = {
            {.buffer = a, .bytes = sizeof bytes}, {.buffer = b[n], .bytes = sizeof bytes}, {.value = sizeof bytes}};
        OK(windlass_launch(rt, kernel, one, one, args, 3, 0, NULL));
    }
    for (int n = 0; n < 8; n++) {
        OK(windlass_read(rt, b[n], 0, bytes, sizeof bytes));
        TRUE(bytes[0] == n && bytes[sizeof bytes - 1] == n);
    }
    OK(windlass_synchronize(rt));
    uint64_t versions = 99, refused = 99, peak = 99;
    OK(windlass_trim(rt));
    OK(windlass_renamed(rt, &versions, &refused, &peak));
    TRUE(versions < 9 && refused == 0 && peak <= (1 << 20) && (peak > 0) == (versions > 0));
    OK(windlass_renamed(rt, NULL, NULL, NULL));
    FAILS(WINDLASS_INVALID, "`runtime` is NULL", windlass_renamed(NULL, &versions, &refused, &peak));
    TRUE(versions == 0 && refused == 0 && peak == 0);
    FAILS(WINDLASS_INVALID, "`runtime` is NULL", windlass_trim(NULL));
    windlass_destroy(rt);
}

/* Recorded, waited for one by one, and with callbacks. */
static void tickets(const char *folder) {
    windlass_runtime *rt;
    windlass_options options = {.size = sizeof(windlass_options), .record = 1};
    windlass_mode modes[] = {WINDLASS_READ, WINDLASS_WRITE};
    windlass_kernel kernel;
    windlass_buffer a, b;
    unsigned char bad = 9, bytes[16];
    uint32_t one[3] = {1, 1, 1};
    uint64_t good, failed, ticket = 5;
    char said[2][80], trace[512], schedule[512], line[512];
    int done = 7;

    OK(windlass_create(&options, &rt));
    OK(windlass_register(rt, "copy", modes, 2, copy, &bad, &kernel));
    OK(windlass_allocate(rt, 16, &a));
    OK(windlass_allocate(rt, 16, &b));
    windlass_arg args[] = {{.buffer = a, .bytes = 16}, {.buffer = b, .bytes = 16}};
    FAILS(WINDLASS_INVALID, "`done` is NULL", windlass_launch_then(rt, kernel, one, one, args, 2, 0, NULL, NULL, &ticket));
    FAILS(WINDLASS_INVALID, "launch 0 is not one of the 0", windlass_wait(rt, 0));
    FAILS(WINDLASS_INVALID, "a ticket that windlass_launch() gave", windlass_is_done(rt, 0, &done));
    TRUE(done == 0);
    TRUE(ticket == WINDLASS_NO_TICKET);
    FAILS(WINDLASS_INVALID, "launch 18446744073709551615 is not one of the 0", windlass_wait(rt, ticket));
    OK(windlass_launch_then(rt, kernel, one, one, args, 2, 0, note, said[0], &good));
    memset(bytes, 9, sizeof bytes);
    OK(windlass_write(rt, a, 0, bytes, 16));
    OK(windlass_launch_then(rt, kernel, one, one, args, 2, 0, note, said[1], &failed));
    FAILS(WINDLASS_KERNEL_FAILED, "1 kernel failed: launch 1 (copy): its body gave 7", windlass_wait(rt, failed));
    OK(windlass_wait(rt, good));
    OK(windlass_is_done(rt, good, &done));
    TRUE(done == 1);
    FAILS(WINDLASS_INVALID, "`done` is NULL", windlass_is_done(rt, good, NULL));
    done = 0;
    OK(windlass_wait_for(rt, good, 0, &done));
    TRUE(done == 1);
    FAILS(WINDLASS_KERNEL_FAILED, "launch 1 (copy)", windlass_wait_for(rt, failed, UINT64_MAX, &done));
    TRUE(done == 0);
    FAILS(WINDLASS_INVALID, "`done` is NULL", windlass_wait_for(rt, good, 0, NULL));
    FAILS(WINDLASS_INVALID, "is not one of the 2", windlass_wait_for(rt, 2, 0, &done));
    TRUE(strcmp(said[0], "0 done") == 0);
    TRUE(strcmp(said[1], "2 launch 1 (copy): its body gave 7 for CTA 0") == 0);
    FAILS(WINDLASS_KERNEL_FAILED, "launch 1", windlass_synchronize(rt));

    const char *why = windlass_explain(rt, failed);
    TRUE(why != NULL && strstr(why, "kernel 1: copy") != NULL && strstr(why, "WAW") != NULL);
    TRUE(windlass_explain(rt, 2) == NULL && strstr(windlass_error_text(), "launch 2 is not one of the 2") != NULL);
    TRUE(windlass_explain(NULL, 0) == NULL && strstr(windlass_error_text(), "`runtime` is NULL") != NULL);

    snprintf(trace, sizeof trace, "%s/run.ktrace.jsonl", folder);
    snprintf(schedule, sizeof schedule, "%s/run.schedule.jsonl", folder);
    OK(windlass_write_recording(rt, NULL, NULL));
    OK(windlass_write_recording(rt, trace, schedule));
    FILE *file = fopen(schedule, "r");
    TRUE(file != NULL && fgets(line, sizeof line, file) != NULL && strstr(line, "\"schedule\":1") != NULL);
    TRUE(file != NULL && fgets(line, sizeof line, file) != NULL && strstr(line, "\"start\"") != NULL);
    TRUE(file != NULL && fclose(file) == 0);
    FAILS(WINDLASS_RESOURCES, folder, windlass_write_recording(rt, folder, NULL));
    FAILS(WINDLASS_RESOURCES, folder, windlass_write_recording(rt, NULL, folder));
    windlass_destroy(rt);

    OK(windlass_create(NULL, &rt));
    FAILS(WINDLASS_INVALID, "set `record` in windlass_options", windlass_write_recording(rt, trace, NULL));
    TRUE(windlass_explain(rt, 0) == NULL && strstr(windlass_error_text(), "set `record`") != NULL);
    windlass_destroy(rt);
}

/* As long as `windlass trace explain` has it. */
static void explained(void) {
    windlass_runtime *rt;
    windlass_options options = {.size = sizeof(windlass_options), .record = 1};
    windlass_mode modes[] = {WINDLASS_READ, WINDLASS_WRITE};
    windlass_kernel kernel;
    windlass_buffer a, b;
    unsigned char bad = 9;
    uint32_t one[3] = {1, 1, 1};
    uint64_t last = 0;

    OK(windlass_create(&options, &rt));
    OK(windlass_register(rt, "copy", modes, 2, copy, &bad, &kernel));
    OK(windlass_allocate(rt, 16, &a));
    OK(windlass_allocate(rt, 16, &b));
    windlass_arg args[] = {{.buffer = a, .bytes = 16}, {.buffer = b, .bytes = 16}};
    for (int n = 0; n < 12; n++) {
        OK(windlass_launch(rt, kernel, one, one, args, 2, 0, &last));
    }
    OK(windlass_synchronize(rt));
    const char *why = windlass_explain(rt, last);
    TRUE(why != NULL && strstr(why, "chain of 12 kernels") != NULL && strstr(why, "... 2 more") != NULL);
    windlass_destroy(rt);
}

/* y = by * x + to, and what it is told of the sizes. */
static int scale(const windlass_cta *cta, void *user) {
    const float *x = cta->pointers[0];
    float *y = cta->pointers[1];
    (void)user;
    if ((int64_t)cta->values[4] != -5 || cta->values[0] != 16 || cta->values[1] != 8) {
        return 1;
    }
    for (size_t i = 0; i < 2; i++) {
        y[i] = (float)(windlass_value_f32(cta, 2) * x[i] + windlass_value_f64(cta, 3));
    }
    return 0;
}

/* Arguments as the helpers make them, without sizes, and with those of another buffer. */
static void arguments(void) {
    windlass_runtime *rt;
    windlass_mode modes[] = {WINDLASS_READ, WINDLASS_WRITE, WINDLASS_VALUE, WINDLASS_VALUE, WINDLASS_VALUE};
    windlass_kernel kernel;
    windlass_buffer x, y, forged;
    uint32_t one[3] = {1, 1, 1};
    float numbers[4] = {1, 2, 3, 4};
    char said[80] = "";
    uint64_t ticket;

    OK(windlass_create(NULL, &rt));
    OK(windlass_register(rt, "scale", modes, 5, scale, NULL, &kernel));
    OK(windlass_allocate(rt, sizeof numbers, &x));
    OK(windlass_allocate(rt, sizeof numbers, &y));
    OK(windlass_write(rt, x, 0, numbers, sizeof numbers));
    windlass_arg args[] = {windlass_whole(x), windlass_part(y, 8, 8), windlass_f32(1.5f), windlass_f64(-0.25),
                           windlass_i64(-5)};
    OK(windlass_launch(rt, kernel, one, one, args, 5, 0, NULL));
    OK(windlass_read(rt, y, 0, numbers, sizeof numbers));
    TRUE(numbers[0] == 0 && numbers[2] == 1.25f && numbers[3] == 2.75f);

    windlass_arg swapped[] = {args[0], args[1], windlass_whole(x), args[3], args[4]};
    FAILS(WINDLASS_INVALID, "argument 2 is a buffer, and is to be a number; take windlass_u64()",
          windlass_launch(rt, kernel, one, one, swapped, 5, 0, NULL));
    windlass_arg forgotten[] = {{.buffer = x}, args[1], args[2], args[3], args[4]};
    FAILS(WINDLASS_INVALID, "argument 0 is 0 bytes of a buffer; set `bytes`, or take windlass_whole()",
          windlass_launch_then(rt, kernel, one, one, forgotten, 5, 0, note, said, &ticket));
    TRUE(ticket == WINDLASS_NO_TICKET);
    forged = x;
    forged.bytes = 8;
    args[0] = windlass_whole(forged);
    FAILS(WINDLASS_INVALID, "a windlass_buffer of 8 bytes, and its buffer has 16",
          windlass_launch(rt, kernel, one, one, args, 5, 0, NULL));
    FAILS(WINDLASS_INVALID, "and its buffer has 16", windlass_read(rt, forged, 0, numbers, 4));
    FAILS(WINDLASS_INVALID, "and its buffer has 16", windlass_write(rt, forged, 0, numbers, 4));
    FAILS(WINDLASS_INVALID, "and its buffer has 16", windlass_release(rt, forged));
    OK(windlass_synchronize(rt));
    windlass_destroy(rt);
    TRUE(said[0] == '\0');
}

int main(int argc, char **argv) {
    if (argc != 2) {
        printf("usage: errors FOLDER\n");
        return 2;
    }
    windlass_runtime *rt = NULL;
    unsigned char bad = 99;
    unsigned char bytes[64];
    windlass_mode modes[] = {WINDLASS_READ, WINDLASS_WRITE};
    windlass_mode place_modes[] = {WINDLASS_WRITE, WINDLASS_VALUE};
    windlass_mode strange[] = {(windlass_mode)9};
    windlass_kernel kernel, placed, nowhere = {12345}, zero = {0};
    windlass_buffer a, b, c, gone;
    uint32_t one[3] = {1, 1, 1}, none[3] = {1, 0, 1}, grid[3] = {2, 3, 2}, block[3] = {1, 5, 1}, out[12];
    uint64_t ticket = 77;
    windlass_options small = {.size = sizeof(windlass_options), .window = 2};

    FAILS(WINDLASS_INVALID, "`runtime` is NULL", windlass_create(NULL, NULL));
    FAILS(WINDLASS_INVALID, "a window of 2 kernels; choose 4 to 4096", windlass_create(&small, &rt));
    TRUE(rt == NULL);
    sizes();
    renaming();
    windlass_destroy(NULL);
    OK(windlass_create(NULL, &rt));
    FAILS(WINDLASS_INVALID, "`runtime` is NULL", windlass_synchronize(NULL));
    FAILS(WINDLASS_INVALID, "`body` is NULL", windlass_register(rt, "copy", modes, 2, NULL, NULL, &kernel));
    FAILS(WINDLASS_INVALID, "`name` is NULL", windlass_register(rt, NULL, modes, 2, copy, &bad, &kernel));
    FAILS(WINDLASS_INVALID, "`parameters` is NULL", windlass_register(rt, "copy", NULL, 2, copy, &bad, &kernel));
    kernel.id = 77;
    FAILS(WINDLASS_INVALID, "parameter 0 is 9", windlass_register(rt, "copy", strange, 1, copy, &bad, &kernel));
    TRUE(kernel.id == 0);
    OK(windlass_register(rt, "copy", modes, 2, copy, &bad, &kernel));
    OK(windlass_register(rt, "place", place_modes, 2, place, NULL, &placed));

    a.id = a.bytes = 77;
    FAILS(WINDLASS_INVALID, "a buffer of 0 bytes; choose 1 to 9007199253692160", windlass_allocate(rt, 0, &a));
    TRUE(a.id == 0 && a.bytes == 0);
    FAILS(WINDLASS_RESOURCES, "no memory for", windlass_allocate(rt, UINT64_C(1) << 52, &a));
    OK(windlass_allocate(rt, 64, &a));
    OK(windlass_allocate(rt, 64, &b));
    OK(windlass_allocate(rt, 64, &c));
    OK(windlass_allocate(rt, 64, &gone));
    OK(windlass_release(rt, gone));
    FAILS(WINDLASS_INVALID, "was released; make it with windlass_allocate()", windlass_release(rt, gone));

    memset(bytes, 5, sizeof bytes);
    OK(windlass_write(rt, a, 0, bytes, 64));
    FAILS(WINDLASS_INVALID, "past the end", windlass_write(rt, a, 1, bytes, 64));
    FAILS(WINDLASS_INVALID, "2 bytes from offset 18446744073709551615 are past the end of a buffer of 64 bytes",
          windlass_read(rt, a, UINT64_MAX, bytes, 2));
    FAILS(WINDLASS_INVALID, "2 bytes from offset 18446744073709551615 are past the end of a buffer of 64 bytes",
          windlass_write(rt, a, UINT64_MAX, bytes, 2));
    FAILS(WINDLASS_INVALID, "`from` is NULL", windlass_write(rt, a, 0, NULL, 64));
    FAILS(WINDLASS_INVALID, "`from` cannot have", windlass_write(rt, a, 0, bytes, UINT64_MAX));
    FAILS(WINDLASS_INVALID, "past the end", windlass_write(rt, a, 0, bytes, UINT64_C(1) << 62));
    {
        windlass_options many = {.size = sizeof(windlass_options), .threads = UINT32_MAX};
        windlass_runtime *none = NULL;
        FAILS(WINDLASS_INVALID, "`threads` is 4294967295; give at most 1024", windlass_create(&many, &none));
        TRUE(none == NULL);
    }
    FAILS(WINDLASS_INVALID, "`to` is NULL", windlass_read(rt, a, 0, NULL, 64));

    windlass_arg ab[] = {{.buffer = a, .bytes = 64}, {.buffer = b, .bytes = 64}};
    windlass_arg bc[] = {{.buffer = b, .bytes = 64}, {.buffer = c, .bytes = 64}};
    windlass_arg far[] = {{.buffer = a, .offset = 60, .bytes = 5}, {.buffer = b, .bytes = 64}};
    windlass_arg endless[] = {{.buffer = a, .bytes = 64}, windlass_part(b, 5, UINT64_MAX)};
    windlass_arg lost[] = {{.buffer = gone, .bytes = 64}, {.buffer = b, .bytes = 64}};
    FAILS(WINDLASS_INVALID, "give it to windlass_register() first", windlass_launch(rt, nowhere, one, one, ab, 2, 0, &ticket));
    FAILS(WINDLASS_INVALID, "not registered", windlass_launch(rt, zero, one, one, ab, 2, 0, &ticket));
    FAILS(WINDLASS_INVALID, "takes 2 arguments, and was given 1", windlass_launch(rt, kernel, one, one, ab, 1, 0, NULL));
    FAILS(WINDLASS_INVALID, "a grid of [1, 0, 1]", windlass_launch(rt, kernel, none, one, ab, 2, 0, NULL));
    FAILS(WINDLASS_INVALID, "`grid` is NULL", windlass_launch(rt, kernel, NULL, one, ab, 2, 0, NULL));
    FAILS(WINDLASS_INVALID, "5 bytes from offset 60", windlass_launch(rt, kernel, one, one, far, 2, 0, NULL));
    FAILS(WINDLASS_INVALID, "18446744073709551615 bytes from offset 5 are past the end of a buffer of 64 bytes (argument 1)",
          windlass_launch(rt, kernel, one, one, endless, 2, 0, &ticket));
    FAILS(WINDLASS_INVALID, "was released", windlass_launch(rt, kernel, one, one, lost, 2, 0, NULL));
    TRUE(ticket == WINDLASS_NO_TICKET);
    OK(windlass_launch(rt, kernel, one, one, ab, 2, 0, &ticket));
    TRUE(ticket == 0);
    OK(windlass_launch(rt, kernel, one, one, bc, 2, 3, &ticket));
    TRUE(ticket == 1);
    OK(windlass_read(rt, c, 0, bytes, 64));
    TRUE(bytes[0] == 5 && bytes[63] == 5);

    memset(bytes, 99, sizeof bytes);
    OK(windlass_write(rt, a, 0, bytes, 64));
    OK(windlass_launch(rt, kernel, one, one, ab, 2, 0, NULL));
    OK(windlass_launch(rt, kernel, one, one, bc, 2, 0, NULL));
    FAILS(WINDLASS_KERNEL_FAILED, "launch 2 (copy): its body gave 7 for CTA 0", windlass_synchronize(rt));
    TRUE(strstr(windlass_error_text(), "launch 3 (copy): not run") != NULL);
    FAILS(WINDLASS_KERNEL_FAILED, "launch 2 (copy)", windlass_read(rt, c, 0, bytes, 64));
    OK(windlass_synchronize(rt));
    TRUE(windlass_error_text()[0] != '\0');

    windlass_arg at[] = {{.buffer = a, .bytes = 48}, {.value = UINT64_C(1) << 40}};
    OK(windlass_launch(rt, placed, grid, block, at, 2, 0, NULL));
    OK(windlass_read(rt, a, 0, out, 48));
    for (uint32_t i = 0; i < 12; i++) {
        TRUE(out[i] == i % 2 * 100 + i / 2 % 3 * 10 + i / 6 + 5000);
    }
    windlass_destroy(rt);
    findings();
    failures();
    arguments();
    tickets(argv[1]);
    explained();
    return wrong != 0;
}
