/* fuzz_launch.c - any bytes as a launch file. */
#include <stdlib.h>

#include "fuzz.h"
#include "gen/tool/inspect/inspect.h"

static kiln_status
read_it(struct kn_ctx *c, const char *path)
{
    const kiln_problem p = fuzz_problem(0);
    const struct kn_launch_data d = { .p = &p, .o = { .a = 4096, .b = 8192,
                                                      .c = 12288 } };
    struct kn_launch_text l;

    KN_ENTER(c);
    KN_TRY(kn_launch_read(c, path, &d, &l));
    if (l.size > sizeof l.kernarg || !l.block[0])
        abort();
    return KILN_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct kn_ctx c;

    kn_ctx_init(&c, NULL, NULL);
    fuzz_judge(&c, read_it(&c, fuzz_write("x.launch", p, n)));
    kn_ctx_free(&c);
    return 0;
}
