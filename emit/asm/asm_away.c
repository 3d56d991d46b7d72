/* asm_away.c - what hardly ever runs is behind the end of the kernel: a branch that is not
 * taken costs an issue slot, one that is taken a wait for another line of instructions. */
#include "asm.h"

struct range {
    size_t from, to;
    int32_t at, back;        /* labels: of its new place, where it goes on; -1: none */
};

struct away {
    struct kn_asm *a;
    struct kn_asm_op *out;
    size_t nout, cap;
    struct range *later;
    size_t nlater, caplater;
};

static void
append(struct away *w, const struct kn_asm_op *x)
{
    w->out = kn_grow(w->a->c, w->out, &w->cap, w->nout + 1, sizeof *w->out);
    w->out[w->nout++] = *x;
}

static void
append_label(struct away *w, enum kn_asm_what what, uint16_t isa, int32_t label, uint32_t from)
{
    struct kn_asm_op x = { .what = (uint8_t)what, .nopnd = 1, .isa = isa, .vm = 63,
                           .lgkm = 15, .from = from,
                           .o = { { .kind = KN_ASM_LABEL, .v = label } } };

    append(w, &x);
}

/* Where the block behind branch n ends. */
static size_t
end_of(const struct kn_asm *a, size_t n)
{
    size_t k = n + 1;

    while (a->op[k].what != KN_ASM_AT || a->op[k].o[0].v != a->op[n].o[0].v)
        k++;
    return k;
}

/* The branch around a block becomes one to its new place. */
static size_t
put_off(struct away *w, size_t n)
{
    struct kn_asm_op x = w->a->op[n];
    struct range r = { .from = n + 1, .to = end_of(w->a, n), .at = (int32_t)w->a->nlabel++,
                       .back = x.o[0].v };

    x.isa = KN_I_s_cbranch_scc1;
    x.o[0].v = r.at;
    append(w, &x);
    w->later = kn_grow(w->a->c, w->later, &w->caplater, w->nlater + 1, sizeof *w->later);
    w->later[w->nlater++] = r;
    return r.to;
}

static void
append_range(struct away *w, const struct range *r)
{
    const struct kn_asm_op *op = w->a->op;
    size_t n = r->from;

    if (r->at >= 0)
        append_label(w, KN_ASM_AT, KN_I_unknown, r->at, op[n].from);
    while (n < r->to) {
        if (op[n].rare) {
            n = put_off(w, n);
            continue;
        }
        append(w, &op[n++]);
    }
    if (r->back >= 0 && op[r->to - 1].isa != KN_I_s_branch)
        append_label(w, KN_ASM_INST, KN_I_s_branch, r->back, op[r->to - 1].from);
}

void
kn_asm_away(struct kn_asm *a)
{
    struct away w = { .a = a };
    struct range all = { 0, a->nop, -1, -1 };

    append_range(&w, &all);
    for (size_t k = 0; k < w.nlater; k++) {
        struct range r = w.later[k];

        append_range(&w, &r);
    }
    a->op = w.out;
    a->nop = w.nout;
    a->capop = w.cap;
}
