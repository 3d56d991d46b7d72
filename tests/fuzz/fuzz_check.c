/* fuzz_check.c - any bytes as a code object: `check`, `info` and, within
 * limits, `exec` take it. */
#include "fuzz.h"
#include "gen/gen.h"

bool
fuzz_seed(unsigned i, const uint8_t **p, size_t *n)
{
    if (i > 1)
        return false;
    *p = fuzz_kernel(i)->co;
    *n = fuzz_kernel(i)->size;
    return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    const char *path = fuzz_write("x.co", p, n);

    fuzz_run((const char *[]){ "kilnc", "check", path, NULL });
    fuzz_run((const char *[]){ "kilnc", "info", path, NULL });
    fuzz_run((const char *[]){ "kilnc", "exec", path, "--grid", "2", "--block",
                          "256", "--ptr", "0=out:b:4096", "--ptr",
                          "8=out:c:4096", "--max-steps", "20000", NULL });
    return 0;
}
