/* asm.c - the assembly lowering from end to end. */
#include "asm.h"

#include <string.h>

#include "../../ir/lock.h"
#include "../emit.h"

kiln_status
kn_asm_text(struct kn_ctx *c, const struct kn_fn *f, struct kn_buf *out)
{
    struct kn_asm a = { .c = c };
    uint32_t *from;

    a.f = kn_asm_tidy(c, f, &from);
    a.from = from;
    KN_TRY(kn_asm_select(&a));
    kn_asm_join(&a);
    kn_asm_schedule(&a);
    KN_TRY(kn_asm_allocate(&a));
    kn_asm_drop_moves(&a);
    kn_asm_wait(&a);
    kn_asm_print(&a, out);
    return KILN_OK;
}

kiln_status
kn_asm_assemble(struct kn_ctx *c, const struct kn_fn *f, const char *text,
                struct kn_buf *out)
{
    kiln_status st;

    kn_llvm_enter();
    st = kn_assemble(c, f->name, text, f->target, out);
    kn_llvm_leave();
    return st;
}

kiln_status
kn_emit_asm(struct kn_ctx *c, const struct kn_fn *f, unsigned want,
            struct kn_emitted *out)
{
    struct kn_buf text = { .c = c }, rel = { .c = c };
    const char *words = NULL;
    kiln_status st;

    if (want & KN_EMIT_LLVM)
        return kn_fail(c, KILN_UNSUPPORTED, "the assembly lowering makes no "
                       "LLVM IR");
    KN_TRY(kn_asm_text(c, f, &text));
    st = kn_asm_words(c, f, text.s, &words);
    if (!st)
        st = kn_asm_assemble(c, f, words, &rel);
    if (st == KILN_BAD_INPUT)
        st = c->err.status = KILN_INTERNAL;      /* the text is ours */
    KN_TRY(st);
    *out = (struct kn_emitted){ (uint8_t *)rel.s, rel.n, NULL, text.s };
    return KILN_OK;
}
