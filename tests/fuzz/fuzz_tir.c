/* fuzz_tir.c - any bytes as tile IR: checked, and what passes is lowered. */
#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    fuzz_write("x.tir", p, n);
    fuzz_run((const char *[]){ "kilnc", "check", "x.tir", NULL });
    fuzz_run((const char *[]){ "kilnc", "generate", "x.tir", "-o", "x.co", NULL });
    return 0;
}
