/* fuzz_object.c - libFuzzer target: the object reader takes any bytes and
 * keeps its promises about what it accepts. */
#include <stdlib.h>

#include "emit/isa/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void
need(bool ok)
{
    if (!ok)
        abort();
}

static void
check_object(const struct kn_object *o)
{
    for (uint32_t i = 0; i < o->nsegments; i++) {
        const struct kn_segment *s = &o->segments[i];

        need(s->filesz <= s->size);
        need(!i || s[-1].addr + s[-1].size <= s->addr);
    }
    for (uint32_t i = 0; i < o->nkernels; i++) {
        const struct kn_object_kernel *k = &o->kernels[i];

        need(kn_object_bytes(o, k->kd_addr, 64));
        need(k->code_size >= 4);
        need(kn_object_bytes(o, k->entry, k->code_size));
        for (uint32_t a = 0; a < k->nargs; a++)
            need((uint64_t)k->args[a].offset + k->args[a].size <=
                 k->kernarg_size);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct kn_object o;
    struct kn_ctx c;

    kn_ctx_init(&c, NULL, NULL);
    if (kn_object_read(&c, "fuzz", p, n, &o))
        need(c.err.status && c.err.text[0]);
    else
        check_object(&o);
    kn_ctx_free(&c);
    return 0;
}
