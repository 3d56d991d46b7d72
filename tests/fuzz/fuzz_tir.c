/* fuzz_tir.c - any bytes as tile IR: checked, and what passes is lowered. */
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
    fuzz_write("x.tir", p, n);
    one((const char *[]){ "kilnc", "check", "x.tir", NULL });
    one((const char *[]){ "kilnc", "generate", "x.tir", "-o", "x.co", NULL });
    return 0;
}
