/* order_cases.c - registers that hold one of a few values, nobody knows which: behind a lane
 * mask that is not known, and where a few bits are taken of what is not known (where in its
 * 16 bytes a row begins whose pitch an argument gives).
 *
 * Values of one cause go together: a lane that has the k-th of one has the k-th of all that
 * came of what that instruction gave the lane last. Where the instruction gives anew, what
 * came of it before is of no cause any longer: still one of its values, but apart. */
#include "order_step.h"

static bool
has_cases(const struct kn_held *v)
{
    return v->kind == KN_V_CASES;
}

static bool
is_open_mask(const struct kn_source *s)
{
    return s->mask && !s->is_imm &&
           (s->lo->kind < KN_V_KNOWN || s->hi->kind < KN_V_KNOWN);
}

/* Counts the cases of v beside those that were; false: they do not go together. */
static bool
count_one(const struct kn_held *v, struct kn_cases *x)
{
    bool first = !x->n;

    if (!has_cases(v))
        return true;
    if (first)
        x->n = v->is.n, x->cause = v->is.cause;
    return first || (x->cause && v->is.cause == x->cause);
}

/* The halves of a mask are of different lanes: those of no cause go together too. */
static bool
count_source(const struct kn_source *s, struct kn_cases *x)
{
    bool first = !x->n;

    if (s->is_imm)
        return true;
    if (is_open_mask(s)) {
        x->n = 2, x->cause = 0;
        return first;
    }
    if (s->mask && first && has_cases(s->lo) && has_cases(s->hi))
        return count_one(s->lo, x) && s->hi->is.n == x->n && s->hi->is.cause == x->cause;
    return count_one(s->lo, x) && (!(s->wide || s->mask) || count_one(s->hi, x));
}

/* Of a mask that is not known none of the lanes, or all. */
static void
take_case(struct kn_source *s, unsigned k)
{
    if (s->is_imm)
        return;
    if (is_open_mask(s)) {
        s->is_imm = true;
        s->imm = k ? ~0ull : 0;
        return;
    }
    s->lo = has_cases(s->lo) ? s->lo->is.of[k] : s->lo;
    s->hi = has_cases(s->hi) ? s->hi->is.of[k] : s->hi;
}

static struct kn_sources
sources_in(const struct kn_sources *s, unsigned k)
{
    struct kn_sources one = *s;

    for (unsigned a = 0; a < s->n; a++)
        take_case(&one.s[a], k);
    return one;
}

static bool
count_sources(const struct kn_machine *m, const struct kn_sources *s, struct kn_cases *x)
{
    for (unsigned a = 0; a < s->n; a++)
        if (!count_source(&s->s[a], x))
            return false;
    x->alike = kn_sources_alike(m, s) && kn_exec_is_alike(m);
    return x->n > 0;
}

/* ---- bits taken of what is not known ------------------------------------- */

/* The source that nothing is known of, beside a constant of one or two bits; -1: none. */
static int
bits_of(const struct kn_inst *i, const struct kn_sources *s, uint32_t *bits)
{
    if (i->op != KN_I_v_and_b32 || s->n != 2 || s->s[0].is_imm == s->s[1].is_imm)
        return -1;
    for (int a = 0; a < 2; a++)
        if (s->s[a].is_imm)
            *bits = (uint32_t)s->s[a].imm;
        else if (s->s[a].lo->kind >= KN_V_KNOWN)
            return -1;
    if (!*bits || __builtin_popcount(*bits) > 2)
        return -1;
    return s->s[0].is_imm;
}

/* The k-th of the numbers that `bits` may leave. */
static uint32_t
subset(uint32_t bits, unsigned k)
{
    uint32_t low = bits & -bits;

    return (k & 1 ? low : 0) | (k & 2 ? bits & ~low : 0);
}

static void
part(struct kn_machine *m, uint32_t cause)
{
    for (unsigned r = 0; r < KN_NREG; r++) {
        struct kn_cases x = m->now[r]->is;

        if (!has_cases(m->now[r]) || x.cause != cause)
            continue;
        x.cause = 0;
        m->now[r] = kn_held_cases(m, &x);
    }
}

/* ---- an instruction ------------------------------------------------------ */

static bool
has_one_result(const struct kn_inst *i, const struct kn_sources *s)
{
    return kn_reg_of(&i->o[0], 0) < KN_NREG && i->o[0].width <= 1 && i->ndst == 1 &&
           (s->carry < 0 || i->op == KN_I_v_cndmask_b32);
}

bool
kn_cases_vector(struct kn_machine *m, const struct kn_inst *i, const struct kn_sources *s)
{
    struct kn_cases x = { 0 };
    const struct kn_held *v;
    uint32_t bits = 0;
    int open = bits_of(i, s, &bits);

    if (!has_one_result(i, s) || (!count_sources(m, s, &x) && open < 0))
        return false;
    if (open >= 0) {
        x.n = 1u << __builtin_popcount(bits);
        x.cause = (uint32_t)(i - m->p->inst) + 1;
        part(m, x.cause);
    }
    for (unsigned k = 0; k < x.n; k++) {
        struct kn_sources one = sources_in(s, k);

        if (open >= 0)
            one.s[open] = (struct kn_source){ .is_imm = true, .imm = subset(bits, k),
                                              .sel = 6 };
        x.of[k] = kn_step_result(m, i, &one);
    }
    v = kn_held_cases(m, &x);
    if (v->kind == KN_V_UNKNOWN)
        return false;
    m->now[kn_reg_of(&i->o[0], 0)] = v;
    return true;
}

bool
kn_cases_compare(struct kn_machine *m, const struct kn_inst *i, const struct kn_sources *s)
{
    struct kn_cases half[2] = { 0 };
    const struct kn_held *pair[2];

    if (kn_isa[i->op].flags & KN_IF_WEXEC || !count_sources(m, s, &half[0]))
        return false;
    half[1] = half[0];
    for (unsigned k = 0; k < half[0].n; k++) {
        struct kn_sources one = sources_in(s, k);

        kn_step_mask(m, i, &one, pair);
        half[0].of[k] = pair[0];
        half[1].of[k] = pair[1];
    }
    for (unsigned h = 0; h < 2; h++)
        pair[h] = kn_held_cases(m, &half[h]);
    if (pair[0]->kind == KN_V_UNKNOWN || pair[1]->kind == KN_V_UNKNOWN)
        return false;
    for (unsigned h = 0; h < 2; h++)
        kn_set_reg(m, kn_reg_of(&i->o[0], h), pair[h]);
    return true;
}
