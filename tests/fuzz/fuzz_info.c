/* fuzz_info.c - libFuzzer target: reading, decoding, control flow, census and
 * both forms of `kilnc info` take any bytes. */
#include <stdlib.h>
#include <string.h>

#include "gen/tool/inspect/inspect.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct kn_ctx c;
    struct kn_buf b = { .c = &c };
    kiln_status s;

    kn_ctx_init(&c, NULL, NULL);
    s = kn_info_print("fuzz", p, n, n & 1, &b);
    if (s != c.err.status || (s && !c.err.text[0]) || (!s && !b.n))
        abort();
    kn_ctx_free(&c);
    return 0;
}
