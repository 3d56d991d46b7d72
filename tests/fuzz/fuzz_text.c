/* fuzz_text.c - libFuzzer target: the parser of LLVM's text takes any text
 * and any instruction words, and what it accepts stays inside the tables. */
#include <stdlib.h>
#include <string.h>

#include "emit/isa/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void
need(bool ok)
{
    if (!ok)
        abort();
}

static void
check_inst(const struct kn_inst *i)
{
    need(i->nopnd <= KN_MAXOPND && i->ndst <= i->nopnd);
    for (unsigned k = 0; k < i->nopnd; k++) {
        const struct kn_opnd *o = &i->o[k];

        if (o->kind == KN_O_VGPR || o->kind == KN_O_AGPR)
            need(o->reg + o->width <= 256);
        if (o->kind == KN_O_SGPR)
            need(o->reg + o->width <= 128);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static struct kn_isa_index index;
    static bool ready;
    struct kn_text_error e = { 0 };
    struct kn_inst i = { 0 };
    char text[256];

    if (!ready)
        kn_isa_index_init(&index);
    ready = true;
    if (n < sizeof i.raw + 1)
        return 0;
    memcpy(i.raw, p, sizeof i.raw);
    i.size = p[sizeof i.raw] & 1 ? 8 : 4;
    p += sizeof i.raw + 1;
    n -= sizeof i.raw + 1;
    n = n < sizeof text - 1 ? n : sizeof text - 1;
    memcpy(text, p, n);
    text[n] = 0;
    if (!kn_text_parse(&index, text, &i, &e)) {
        need(e.what && memchr(e.token, 0, sizeof e.token));
        return 0;
    }
    check_inst(&i);
    kn_raw_apply(&i);
    check_inst(&i);
    return 0;
}
