/* asm_join.c - scalar values that are only copied have one register with what
 * they are copied to or from.
 *
 * Select writes `x = x + 1` as a sum in a register of its own and a copy, since
 * it sees an operation at a time. In a straight run a temporary takes the place
 * of the value it is copied to when nobody asks for that value's old dwords
 * meanwhile, or of the one it is a copy of while that one stays as it is. */
#include "asm.h"

struct join {
    struct kn_asm *a;
    uint32_t *run;           /* by operation: straight run it is in */
    uint32_t *first, *last;  /* by register: operations that mention it */
    bool *gone;              /* by operation */
};

static bool
is_move(const struct kn_asm_op *x)
{
    return x->what == KN_ASM_INST && x->isa == KN_I_s_mov_b32 &&
           x->o[0].kind == KN_ASM_REG && x->o[1].kind == KN_ASM_REG;
}

static bool
ends_run(const struct kn_asm_op *x)
{
    return x->what == KN_ASM_AT || (x->what == KN_ASM_INST &&
                                    kn_isa[x->isa].unit == KN_U_BRANCH);
}

static void
find_mentions(struct join *j)
{
    struct kn_asm *a = j->a;
    uint32_t run = 1;

    j->run = KN_NEW(a->c, uint32_t, a->nop + 1);
    j->first = KN_NEW(a->c, uint32_t, a->nreg + 1);
    j->last = KN_NEW(a->c, uint32_t, a->nreg + 1);
    j->gone = KN_NEW(a->c, bool, a->nop + 1);
    for (size_t v = 0; v < a->nreg; v++)
        j->first[v] = UINT32_MAX;
    for (uint32_t n = 0; n < a->nop; n++) {
        const struct kn_asm_op *x = &a->op[n];

        run += ends_run(x);
        j->run[n] = run;
        for (int k = 0; k < x->nopnd; k++) {
            if (x->o[k].kind != KN_ASM_REG)
                continue;
            if (j->first[x->o[k].v] == UINT32_MAX)
                j->first[x->o[k].v] = n;
            j->last[x->o[k].v] = n;
        }
    }
}

/* A scalar without a place of its own that lives within a straight run. */
static bool
is_temporary(const struct join *j, int32_t t)
{
    const struct kn_asm_reg *r = &j->a->reg[t];

    return r->cls == KN_ASM_S && r->at < 0 && j->first[t] != UINT32_MAX &&
           j->run[j->first[t]] == j->run[j->last[t]];
}

static void
rename_all(struct join *j, int32_t t, const struct kn_asm_opnd *to)
{
    for (uint32_t n = j->first[t]; n <= j->last[t]; n++)
        for (int k = 0; k < j->a->op[n].nopnd; k++) {
            struct kn_asm_opnd *o = &j->a->op[n].o[k];

            if (o->kind != KN_ASM_REG || o->v != t)
                continue;
            o->v = to->v;
            o->sub = (uint8_t)(o->sub + to->sub);
        }
    if (j->first[to->v] > j->first[t])
        j->first[to->v] = j->first[t];
    if (j->last[to->v] < j->last[t])
        j->last[to->v] = j->last[t];
    j->last[t] = 0;
    j->first[t] = UINT32_MAX;
}

/* Where the dwords of temporary t are on their way to value v. */
struct way {
    int32_t t, v;
    uint8_t phase[4];        /* by dword: 0 not yet written, 1 in t, 2 in v */
    bool fresh;              /* a copy begins the value */
    bool old;                /* dwords it had are read after t's first write */
};

static bool
read_dwords(struct way *w, const struct kn_asm_op *x, bool started)
{
    for (int k = x->ndst; k < x->nopnd; k++) {
        const struct kn_asm_opnd *o = &x->o[k];

        for (int d = o->sub; d < o->sub + o->n && o->kind == KN_ASM_REG; d++) {
            if (o->v == w->t && !w->phase[d])
                return false;
            if (o->v != w->v)
                continue;
            if (w->phase[d] == 1 || x->early)
                return false;
            w->old |= started && !w->phase[d];
        }
    }
    return true;
}

static bool
write_dwords(struct way *w, const struct kn_asm_op *x)
{
    bool move = is_move(x) && x->o[0].v == w->v && x->o[1].v == w->t;

    for (int k = 0; k < x->ndst; k++) {
        const struct kn_asm_opnd *o = &x->o[k];

        for (int d = o->sub; d < o->sub + o->n && o->kind == KN_ASM_REG; d++) {
            if (o->v == w->t) {
                if (w->phase[d] == 2)
                    return false;
                w->phase[d] = 1;
            } else if (o->v == w->v && move) {
                if (w->phase[d] != 1 || x->o[1].sub != o->sub)
                    return false;
                w->phase[d] = 2;
                w->fresh |= o->fresh;
            } else if (o->v == w->v && w->phase[d]) {
                return false;
            }
        }
    }
    return true;
}

static bool
can_lead(const struct join *j, struct way *w)
{
    uint32_t first = j->first[w->t], last = j->last[w->t];

    for (uint32_t n = first; n <= last; n++) {
        const struct kn_asm_op *x = &j->a->op[n];

        if (j->gone[n] || x->what != KN_ASM_INST)
            continue;
        if (!read_dwords(w, x, n > first) || !write_dwords(w, x))
            return false;
    }
    for (int d = 0; d < j->a->reg[w->t].n; d++)
        if (w->phase[d] != 2)
            return false;
    return true;
}

/* v = copy of t: t is written to v's place from the start. */
static bool
lead(struct join *j, uint32_t n)
{
    const struct kn_asm_opnd *o = j->a->op[n].o;
    const struct kn_asm_reg *t = &j->a->reg[o[1].v], *v = &j->a->reg[o[0].v];
    struct way w = { .t = o[1].v, .v = o[0].v };
    struct kn_asm_opnd to = { .v = w.v };
    uint32_t from, last;
    bool fresh;

    if (w.t == w.v || !is_temporary(j, w.t) || v->cls != KN_ASM_S ||
        v->at >= 0 || t->n != v->n || t->n > 4 || !can_lead(j, &w))
        return false;
    from = j->first[w.t];
    last = j->last[w.t];
    fresh = w.fresh && !w.old;
    rename_all(j, w.t, &to);
    for (; from <= last; from++) {
        struct kn_asm_op *x = &j->a->op[from];

        if (x->what != KN_ASM_INST || j->gone[from])
            continue;
        j->gone[from] = is_move(x) && x->o[0].v == w.v && x->o[1].v == w.v;
        for (int k = 0; k < x->ndst && !j->gone[from]; k++)
            if (x->o[k].kind == KN_ASM_REG && x->o[k].v == w.v) {
                x->o[k].fresh = fresh;
                fresh = false;
            }
    }
    return true;
}

/* t = copy of v, which stays as it is as long as t is read. */
static bool
follow(struct join *j, uint32_t n)
{
    const struct kn_asm_opnd to = j->a->op[n].o[1];
    int32_t t = j->a->op[n].o[0].v;

    if (t == to.v || !is_temporary(j, t) || j->a->reg[t].n != 1 ||
        j->first[t] != n || j->a->reg[to.v].cls != KN_ASM_S)
        return false;
    for (uint32_t k = n + 1; k <= j->last[t]; k++)
        for (int d = 0; d < j->a->op[k].ndst && !j->gone[k]; d++) {
            const struct kn_asm_opnd *o = &j->a->op[k].o[d];

            if (o->kind == KN_ASM_REG &&
                (o->v == t || (o->v == to.v && o->sub <= to.sub &&
                               to.sub < o->sub + o->n &&
                               (k < j->last[t] || j->a->op[k].early))))
                return false;
        }
    j->gone[n] = true;
    rename_all(j, t, &to);
    return true;
}

static uint64_t
dwords(const struct kn_asm_opnd *o)
{
    return ((1ull << o->n) - 1) << o->sub;
}

/* Copies and extensions whose result nobody reads. */
static void
drop_unread(struct join *j)
{
    struct kn_asm *a = j->a;
    uint64_t *read = KN_NEW(a->c, uint64_t, a->nreg + 1);

    for (uint32_t n = 0; n < a->nop; n++)
        for (int k = a->op[n].ndst; k < a->op[n].nopnd && !j->gone[n]; k++)
            if (a->op[n].o[k].kind == KN_ASM_REG)
                read[a->op[n].o[k].v] |= dwords(&a->op[n].o[k]);
    for (uint32_t n = 0; n < a->nop; n++) {
        const struct kn_asm_op *x = &a->op[n];

        if (x->what == KN_ASM_INST && x->o[0].kind == KN_ASM_REG &&
            (x->isa == KN_I_s_mov_b32 || x->isa == KN_I_s_ashr_i32) &&
            !(read[x->o[0].v] & dwords(&x->o[0])) && a->reg[x->o[0].v].at < 0)
            j->gone[n] = true;
    }
}

static void
sweep(struct join *j)
{
    size_t to = 0;

    for (size_t n = 0; n < j->a->nop; n++)
        if (!j->gone[n])
            j->a->op[to++] = j->a->op[n];
    j->a->nop = to;
}

void
kn_asm_join(struct kn_asm *a)
{
    struct join j = { .a = a };

    find_mentions(&j);
    drop_unread(&j);
    for (uint32_t n = 0; n < a->nop; n++)
        if (!j.gone[n] && is_move(&a->op[n]) && !lead(&j, n))
            follow(&j, n);
    sweep(&j);
}

void
kn_asm_drop_moves(struct kn_asm *a)
{
    struct join j = { .a = a, .gone = KN_NEW(a->c, bool, a->nop + 1) };

    for (size_t n = 0; n < a->nop; n++) {
        const struct kn_asm_op *x = &a->op[n];

        j.gone[n] = is_move(x) && a->reg[x->o[0].v].at + x->o[0].sub ==
                                  a->reg[x->o[1].v].at + x->o[1].sub;
    }
    sweep(&j);
}
