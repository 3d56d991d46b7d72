/* fuzz_asm.c - any bytes as assembly, and as tile IR. */
#include "fuzz.h"

static void
one(const char *const *words)
{
    struct kn_ctx c;

    kn_ctx_init(&c, NULL, NULL);
    fuzz_judge(&c, fuzz_command(&c, words));
    kn_ctx_free(&c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    fuzz_write("x.s", p, n);
    one((const char *[]){ "kilnc", "info", "x.s", NULL });
    return 0;
}
