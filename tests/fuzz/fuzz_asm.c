/* fuzz_asm.c - any bytes as assembly, and as tile IR. */
#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    fuzz_write("x.s", p, n);
    fuzz_run((const char *[]){ "kilnc", "info", "x.s", NULL });
    return 0;
}
