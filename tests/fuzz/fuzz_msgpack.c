/* fuzz_msgpack.c - libFuzzer target: reading token by token and skipping
 * whole values agree on where a value ends, and stay inside the data. */
#include <stdlib.h>

#include "emit/isa/msgpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* Passes one value over by recursion, the obvious way. */
static bool
walk(struct kn_mp *m, int depth)
{
    struct kn_mp_item it;
    uint64_t parts;

    if (depth > 2000 || !kn_mp_next(m, &it))
        return false;
    if (it.s && (const uint8_t *)it.s + it.n > m->end)
        abort();
    parts = it.kind == KN_MP_ARRAY ? it.n
            : it.kind == KN_MP_MAP ? 2 * (uint64_t)it.n
                                   : 0;
    while (parts--)
        if (!walk(m, depth + 1))
            return false;
    return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct kn_mp a = { p, p + n }, b = a;
    bool walked = walk(&a, 0), skipped = kn_mp_skip(&b);

    if (walked && (!skipped || a.p != b.p))
        abort();
    return 0;
}
