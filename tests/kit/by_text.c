/* by_text.c - see by_text.h. */
#include "by_text.h"

#include <llvm-c/Disassembler.h>
#include <string.h>

#include "emit/isa/decode.h"

bool
by_text_read(void *by_text, const uint32_t w[4], struct kn_inst *out)
{
    struct by_text *x = by_text;
    struct kn_text_error e = { 0 };
    char text[256] = "";

    if (kn_guard_words(w))
        return false;
    out->size = (uint8_t)LLVMDisasmInstruction(x->llvm, (uint8_t *)w, 16,
                                               out->pc, text, sizeof text);
    return out->size && kn_text_parse(&x->index, text, out, &e);
}

static bool
alike(struct by_text *x, const struct kn_inst *got)
{
    struct kn_inst want = { .pc = got->pc };

    if (!by_text_read(x, got->raw, &want))
        return false;
    memcpy(want.raw, got->raw, want.size);
    if (kn_raw_apply(&want))
        return false;
    want.next = got->next;
    want.target = got->target;
    return !memcmp(&want, got, sizeof want);
}

uint32_t
by_text_differs(const struct kn_program *p)
{
    struct by_text x = { .llvm = kn_disasm_open(p->target) };
    uint32_t n = 0;

    kn_isa_index_init(&x.index);
    while (n < p->n && alike(&x, &p->inst[n]))
        n++;
    kn_disasm_close(x.llvm);
    return n;
}
