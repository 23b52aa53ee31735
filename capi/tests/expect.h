/* What the tests say of a call that does not do what it should. */
#include "windlass.h"
#include <stdio.h>
#include <string.h>

static int wrong;

static void expect(int line, int found, int status, const char *text) {
    const char *said = windlass_error_text();
    if (found != status || (status != WINDLASS_OK && strstr(said, text) == NULL)) {
        printf("line %d: status %d, not %d; \"%s\" without \"%s\"\n", line, found, status, said, text);
        wrong++;
    }
}
#define OK(call) expect(__LINE__, (call), WINDLASS_OK, "")
#define FAILS(status, text, call) expect(__LINE__, (call), (status), (text))
#define TRUE(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("line %d: not %s\n", __LINE__, #condition);                                                         \
            wrong++;                                                                                                   \
        }                                                                                                              \
    } while (0)
