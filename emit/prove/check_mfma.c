/* check_mfma.c - wait states after matrix instructions. The hardware does not
 * interlock them: what comes too early silently reads stale data. From every
 * matrix instruction the ways through the code are followed as far as its
 * result may be unsafe; the numbers are kn_mfma_waits's. */
#include "check.h"
#include "../isa/hazard.h"

#include <stdio.h>
#include <string.h>

/* Vector registers as one file: v0-v255, then a0-a255. */
struct range {
    uint16_t reg, n;
};

struct search {
    const struct kn_program *p;
    struct kn_check_result *out;
    uint32_t from;           /* the matrix instruction */
    struct kn_mfma_waits after;
    struct range d, c;
    uint8_t *best;           /* by instruction: fewest wait states so far */
    uint32_t *touched, ntouched;
    uint32_t reported;       /* instruction reported last, plus one */
};

static struct range
range_of(const struct kn_opnd *o)
{
    if (o->kind != KN_O_VGPR && o->kind != KN_O_AGPR)
        return (struct range){ 0, 0 };
    return (struct range){ (uint16_t)(o->reg + (o->kind == KN_O_AGPR) * 256u),
                           o->width ? o->width : 1 };
}

static bool
overlap(struct range a, struct range b)
{
    return a.reg < b.reg + b.n && b.reg < a.reg + a.n;
}

static bool
is_mfma(const struct kn_inst *i)
{
    return kn_isa[i->op].unit == KN_U_MFMA;
}

/* The operand a matrix instruction accumulates on, D itself if sparse. */
static unsigned
accumulated(const struct kn_inst *i)
{
    return kn_isa[i->op].flags & KN_IF_SMFMAC ? 0 : i->ndst + 2u;
}

/* What an instruction does to the search's one by its operand o. */
static enum kn_hz_matrix
relation(const struct search *s, const struct kn_inst *i, unsigned o)
{
    const struct kn_inst *m = &s->p->inst[s->from];
    const struct kn_isa_row *row = &kn_isa[i->op];
    struct range r = range_of(&i->o[o]);
    bool d = overlap(r, s->d);

    if (is_mfma(i) && o == accumulated(i)) {
        if (!d)
            return KN_HM_NONE;
        return r.reg == s->d.reg && r.n == s->d.n && i->op == m->op
               ? KN_HM_SAME : KN_HM_ACCUMULATE;
    }
    if (o < i->ndst) {       /* the matrix unit keeps its own order */
        if (is_mfma(i))
            return KN_HM_NONE;
        return d ? KN_HM_OVERWRITE : overlap(r, s->c) ? KN_HM_OVERWRITE_C
                                                      : KN_HM_NONE;
    }
    if (!d)
        return KN_HM_NONE;
    return row->mem != KN_M_NONE ? KN_HM_MEM_READ
         : row->unit == KN_U_VALU ? KN_HM_VALU_READ : KN_HM_MFMA_READ;
}

static void
report(struct search *s, uint32_t n, enum kn_hz_matrix what, unsigned got)
{
    const struct kn_inst *i = &s->p->inst[n];
    unsigned need = kn_hz_need(&s->after, what);
    struct kn_check_finding *f;
    char text[96];

    s->out->wait_states++;
    f = kn_check_add(s->out, n,
                     kn_hz_severity(kn_hz_matrix_severity(what, need),
                                    s->out->own));
    if (!f)
        return;
    kn_inst_text(s->p->target, i, text, sizeof text);
    snprintf(f->text, sizeof f->text, "%s: %s the matrix result of 0x%llx "
             "after %u wait states, needs %u", text, kn_hz_matrix[what].verb,
             (unsigned long long)s->p->inst[s->from].pc, got, need);
}

/* One report for an instruction, the gravest. */
static void
look(struct search *s, uint32_t n, unsigned got)
{
    const struct kn_inst *i = &s->p->inst[n];
    enum kn_hz_matrix worst = KN_HM_NONE;

    for (unsigned o = 0; o < i->nopnd; o++) {
        enum kn_hz_matrix what = relation(s, i, o);
        unsigned need = kn_hz_need(&s->after, what);

        if (got < need && (!worst || kn_hz_matrix_severity(what, need) ==
                                     KN_SEV_FINDING))
            worst = what;
    }
    if (!worst || s->reported == n + 1)
        return;
    s->reported = n + 1;
    report(s, n, worst, got);
}

static unsigned
states_of(const struct kn_inst *i)
{
    return i->op == KN_I_s_nop && i->nopnd
           ? (unsigned)(i->o[0].imm & 15) + 1 : 1;
}

/* What comes at n after `got` wait states, and everything behind it: a way
 * with more of them cannot be worse. */
static void
follow(struct search *s, int32_t n, unsigned got)
{
    while (n >= 0 && (uint32_t)n < s->p->n && got < KN_MFMA_WAITS_MOST &&
           got < s->best[n]) {
        const struct kn_inst *i = &s->p->inst[n];

        if (s->best[n] == UINT8_MAX)
            s->touched[s->ntouched++] = (uint32_t)n;
        s->best[n] = (uint8_t)got;
        look(s, (uint32_t)n, got);
        got += states_of(i);
        if (i->target >= 0)
            follow(s, i->target, got);
        n = kn_isa[i->op].flags & (KN_IF_JUMP | KN_IF_END) ? -1 : i->next;
    }
}

static void
forget(struct search *s)
{
    while (s->ntouched)
        s->best[s->touched[--s->ntouched]] = UINT8_MAX;
    s->reported = 0;
}

kiln_status
kn_check_mfma(struct kn_ctx *c, const struct kn_program *p,
              struct kn_check_result *out)
{
    struct search s = { .p = p, .out = out };

    s.best = KN_NEW(c, uint8_t, p->n + 1);
    s.touched = KN_NEW(c, uint32_t, p->n + 1);
    memset(s.best, UINT8_MAX, p->n + 1);
    for (uint32_t n = 0; n < p->n; n++) {
        const struct kn_inst *i = &p->inst[n];

        if (!is_mfma(i) || !i->ndst)
            continue;
        s.from = n;
        s.after = kn_mfma_waits(p->target, i);
        s.d = range_of(&i->o[0]);
        s.c = accumulated(i) < i->nopnd ? range_of(&i->o[accumulated(i)])
                                        : (struct range){ 0, 0 };
        follow(&s, i->next, 0);
        forget(&s);
    }
    return KILN_OK;
}
