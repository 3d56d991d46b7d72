/* asm.c - the assembly lowering from end to end. */
#include "asm.h"

#include "../emit.h"

/* What costs registers, dearest first. */
static const struct attempt {
    bool names;
    uint32_t order, few;
    bool chains;
} attempts[] = {
    { true, KN_ASM_FAR, KN_ASM_FEW, true },
    { true, KN_ASM_FAR, KN_ASM_FEW, false }, { true, KN_ASM_NEAR, KN_ASM_FEW, false },
    { false, KN_ASM_FAR, KN_ASM_FEW, false }, { true, 0, KN_ASM_FEW, false },
    { true, 0, 0, false }, { false, 0, 0, false },
};

/* From operations to registers; *lack as kn_asm_allocate. */
static kiln_status
place(struct kn_ctx *c, const struct kn_fn *f, const struct attempt *how,
      struct kn_asm *a, enum kn_asm_class *lack)
{
    struct kn_asm_reads reads;
    struct kn_fn *tidy;
    uint32_t *from;

    f = how->names ? kn_asm_names(c, f) : f;
    *a = (struct kn_asm){ .c = c, .few = how->few, .order = how->order,
                           .chains = how->chains };
    tidy = kn_asm_tidy(c, f, &from);
    kn_asm_sink(c, tidy, from);
    kn_asm_begin_sums(tidy, from);
    a->f = tidy;
    a->from = from;
    KN_TRY(kn_asm_select(a));
    kn_asm_join(a);
    if (a->accumulators <= KN_ASM_FEW)
        kn_asm_quads(a);
    if (a->order == KN_ASM_FAR && !kn_targets[tidy->target].packed_waits)
        kn_asm_part_packed(a);
    reads = kn_asm_note_reads(a);
    kn_asm_schedule(a);
    KN_TRY(kn_asm_same_reads(a, &reads));
    *lack = kn_asm_allocate(a);
    return KILN_OK;
}

/* Whether attempt n is another than those before it, and pays. */
static bool
is_worth(const struct kn_fn *f, bool filled, size_t n)
{
    if (n && attempts[n - 1].chains && !filled)
        return false;
    return attempts[n].order != KN_ASM_NEAR || !kn_targets[f->target].packed_waits;
}

/* Few accumulators are where every operation reads them. What is known to be the
 * same is computed once and lives long. Where there are too few registers for
 * the one or the other, the kernel does without it; a shorter look ahead pays only
 * where packed operations issue beside products. */
kiln_status
kn_asm_text(struct kn_ctx *c, const struct kn_fn *f, struct kn_buf *out)
{
    static const char *const names[] = { "scalar", "vector", "accumulator" };
    enum kn_asm_class lack = KN_ASM_V;
    bool filled = false;
    struct kn_asm a;

    for (size_t n = 0; n < sizeof attempts / sizeof *attempts &&
                       lack != KN_ASM_CLASSES; n++) {
        if (!is_worth(f, filled, n))
            continue;
        KN_TRY(place(c, f, &attempts[n], &a, &lack));
        filled |= a.filled;
    }
    if (lack != KN_ASM_CLASSES)
        return kn_crowded(c, kn_fail(
            c, KILN_UNSUPPORTED, "gate vgpr: kernel %s: the assembly lowering "
            "needs more than the %u %s registers a wave has", f->name,
            a.limit[lack], names[lack]));
    kn_asm_drop_moves(&a);
    kn_asm_wait(&a);
    kn_asm_away(&a);
    kn_asm_print(&a, out);
    return KILN_OK;
}

kiln_status
kn_emit_asm(struct kn_ctx *c, const struct kn_fn *f, unsigned want,
            struct kn_emitted *out)
{
    struct kn_buf text = { .c = c }, rel = { .c = c };
    const char *words = NULL;

    if (want & KN_EMIT_LLVM)
        return kn_fail(c, KILN_UNSUPPORTED, "the assembly lowering makes no "
                       "LLVM IR");
    KN_TRY(kn_asm_text(c, f, &text));
    KN_TRY(kn_asm_words(c, f, text.s, &words));
    KN_TRY(kn_assemble_own(c, f->name, words, f->target, &rel));
    *out = (struct kn_emitted){ (uint8_t *)rel.s, rel.n, NULL, text.s };
    return KILN_OK;
}
