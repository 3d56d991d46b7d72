/* proof_fixed.c - values that depend on lane, wave and constants only, and those
 * that anything chooses between two such; and what they are, for all threads of a
 * workgroup at once. */
#include "proof.h"

#include <string.h>

/* What address arithmetic gives thread t, a row an operation; X, Y and Z: its operands. */
#define ARITHMETIC(EACH) \
    EACH(wave, t / 64) \
    EACH(lane, t % 64) \
    EACH(mov, X) \
    EACH(add, X + Y) \
    EACH(sub, X - Y) \
    EACH(mul, X * Y) \
    EACH(udiv, Y ? X / Y : 0) \
    EACH(urem, Y ? X % Y : 0) \
    EACH(and, X & Y) \
    EACH(or, X | Y) \
    EACH(xor, X ^ Y) \
    EACH(shl, X << (Y & 31)) \
    EACH(shr, X >> (Y & 31)) \
    EACH(sar, shift_right_signed(X, Y & 31)) \
    EACH(smin, (int32_t)X < (int32_t)Y ? X : Y) \
    EACH(smax, (int32_t)X > (int32_t)Y ? X : Y) \
    EACH(umin, X < Y ? X : Y) \
    EACH(umax, X > Y ? X : Y) \
    EACH(eq, X == Y) \
    EACH(ne, X != Y) \
    EACH(slt, (int32_t)X < (int32_t)Y) \
    EACH(sge, (int32_t)X >= (int32_t)Y) \
    EACH(ult, X < Y) \
    EACH(band, X & Y) \
    EACH(select, X ? Y : Z)

static uint32_t
shift_right_signed(uint32_t x, uint32_t n)
{
    uint32_t y = x >> n;

    return x >> 31 && n ? y | ~(UINT32_MAX >> n) : y;
}

void
proof_evaluate(const struct kn_ins *i, const struct proof_operand *o,
               uint32_t threads, uint32_t *out)
{
#define X proof_of_thread(o[0], t)
#define Y proof_of_thread(o[1], t)
#define Z proof_of_thread(o[2], t)
#define EACH(id, value)                                                       \
    case KN_OP_##id:                                                          \
        for (uint32_t t = 0; t < threads; t++)                                \
            out[t] = (uint32_t)(value);                                       \
        return;
    switch (i->op) {
        ARITHMETIC(EACH)
    }
#undef EACH
#undef Z
#undef Y
#undef X
    memset(out, 0, threads * sizeof *out);
}

static bool
evaluable(const struct kn_ins *i)
{
#define EACH(id, value) i->op == KN_OP_##id ||
    return ARITHMETIC(EACH) false;
#undef EACH
}

static bool
small_int(const struct kn_fn *f, kn_ref r)
{
    const struct kn_type *t = &kn_val(f, r)->type;

    return t->n == 1 && (t->elem == KN_T_i32 || t->elem == KN_T_b1);
}

static bool
is_const(const struct kn_fn *f, kn_ref r, int64_t x)
{
    return r && KN_REF_TAG(r) == KN_R_CONST && f->konst[KN_REF_INDEX(r)].i == x;
}

/* Values assigned once, or only outside loops and branches, hold the same at
 * every execution of a line. */
static void
find_steady(const struct kn_fn *f, struct proof_fixed *m)
{
    bool *nested = KN_NEW(f->c, bool, f->nval);
    uint8_t *defs = KN_NEW(f->c, uint8_t, f->nval);
    int depth = 0;

    for (size_t i = 0; i < f->nins; i++) {
        const struct kn_ins *ins = &f->ins[i];
        uint32_t v = KN_REF_INDEX(ins->dst);

        depth += ins->op == KN_OP_loop || ins->op == KN_OP_if;
        depth -= ins->op == KN_OP_end;
        if (!ins->dst)
            continue;
        if (defs[v] < 2)
            defs[v]++;
        nested[v] |= depth > 0;
        m->begin[v] = defs[v] < 2 && !nested[v] && ins->op == KN_OP_and &&
                      small_int(f, ins->dst) && is_const(f, ins->arg[1], 12);
        m->fixed[v] = (defs[v] < 2 || !nested[v]) && evaluable(ins) &&
                      small_int(f, ins->dst) && (defs[v] < 2 || m->fixed[v]);
    }
}

static bool
is_turned(const struct proof_fixed *m, kn_ref r)
{
    return proof_is_value(r) && m->turned[KN_REF_INDEX(r)];
}

/* Whether it is what rows begin at, or is made of that; it begins nowhere if all of it
 * is known. */
static bool
turns(const struct proof_fixed *m, const struct kn_ins *i)
{
    if (m->begin[KN_REF_INDEX(i->dst)])
        return !proof_is_fixed(m, i->arg[0]);
    return is_turned(m, i->arg[0]) || is_turned(m, i->arg[1]) || is_turned(m, i->arg[2]);
}

/* Of two fixed values one, by a value that is not; or a copy of that. */
static bool
chooses(const struct proof_fixed *m, const struct kn_ins *i)
{
    if (is_turned(m, i->arg[0]) || is_turned(m, i->arg[1]) || is_turned(m, i->arg[2]))
        return false;
    if (i->op == KN_OP_mov)
        return m->fixed[KN_REF_INDEX(i->arg[0])];
    return i->op == KN_OP_select && !proof_is_fixed(m, i->arg[0]) &&
           proof_is_fixed(m, i->arg[1]) && proof_is_fixed(m, i->arg[2]);
}

static bool
operands_fixed(const struct proof_fixed *m, const struct kn_ins *i)
{
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        if (!proof_is_fixed(m, i->arg[a]))
            return false;
    return true;
}

struct proof_fixed
proof_fixed_values(const struct kn_fn *f)
{
    struct proof_fixed m = { KN_NEW(f->c, bool, f->nval),
                             KN_NEW(f->c, bool, f->nval), KN_NEW(f->c, bool, f->nval),
                             KN_NEW(f->c, bool, f->nval) };
    bool changed = true;

    find_steady(f, &m);
    while (changed) {
        changed = false;
        for (size_t i = 0; i < f->nins; i++) {
            const struct kn_ins *ins = &f->ins[i];
            uint32_t v = KN_REF_INDEX(ins->dst);

            if (!ins->dst || !m.fixed[v])
                continue;
            changed |= turns(&m, ins) && !m.turned[v];
            m.turned[v] |= turns(&m, ins);
            if (operands_fixed(&m, ins) || (m.begin[v] && m.turned[v]))
                continue;
            m.fixed[v] = chooses(&m, ins);
            changed |= !m.fixed[v] || !m.chosen[v];
            m.chosen[v] = m.fixed[v];
        }
    }
    return m;
}

/* What alone gives x its value. */
static const struct kn_ins *
definition(const struct kn_fn *f, kn_ref x)
{
    const struct kn_ins *r = NULL;

    for (size_t i = 0; i < f->nins; i++) {
        if (f->ins[i].dst != x)
            continue;
        if (r)
            return NULL;
        r = &f->ins[i];
    }
    return r;
}

static bool
same_in_groups(const uint32_t *value, uint32_t threads, uint32_t group)
{
    for (uint32_t t = 0; value && t < threads; t++)
        if (value[t] != value[t - t % group])
            return false;
    return value;
}

bool
proof_groups_agree(const struct kn_fn *f, const struct proof_fixed *m,
                   uint32_t *const *value, kn_ref x, uint32_t group)
{
    const struct kn_ins *i;

    if (!proof_is_value(x) || !kn_val(f, x)->type.lane)
        return true;
    if (proof_is_fixed(m, x) && !is_turned(m, x))
        return same_in_groups(value[KN_REF_INDEX(x)], kn_waves(f) * 64, group);
    i = definition(f, x);
    if (!i || !evaluable(i))
        return false;
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        if (!proof_groups_agree(f, m, value, i->arg[a], group))
            return false;
    return true;
}
