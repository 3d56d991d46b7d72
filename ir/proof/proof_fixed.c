/* proof_fixed.c - values that depend on lane, wave and constants only, and those
 * that anything chooses between two such. */
#include "proof.h"

static bool
evaluable(const struct kn_ins *i)
{
    switch (i->op) {
    case KN_OP_mov: case KN_OP_add: case KN_OP_sub: case KN_OP_mul:
    case KN_OP_udiv: case KN_OP_urem: case KN_OP_and: case KN_OP_or:
    case KN_OP_xor: case KN_OP_shl: case KN_OP_shr: case KN_OP_sar:
    case KN_OP_smin: case KN_OP_smax: case KN_OP_umin: case KN_OP_umax:
    case KN_OP_eq: case KN_OP_ne: case KN_OP_slt: case KN_OP_sge:
    case KN_OP_ult: case KN_OP_band: case KN_OP_select: case KN_OP_wave:
    case KN_OP_lane:
        return true;
    }
    return false;
}

static bool
small_int(const struct kn_fn *f, kn_ref r)
{
    const struct kn_type *t = &kn_val(f, r)->type;

    return t->n == 1 && (t->elem == KN_T_i32 || t->elem == KN_T_b1);
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
        m->fixed[v] = (defs[v] < 2 || !nested[v]) && evaluable(ins) &&
                      small_int(f, ins->dst) && (defs[v] < 2 || m->fixed[v]);
    }
}

/* Of two fixed values one, by a value that is not; or a copy of that. */
static bool
chooses(const struct proof_fixed *m, const struct kn_ins *i)
{
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
                             KN_NEW(f->c, bool, f->nval) };
    bool changed = true;

    find_steady(f, &m);
    while (changed) {
        changed = false;
        for (size_t i = 0; i < f->nins; i++) {
            const struct kn_ins *ins = &f->ins[i];
            uint32_t v = KN_REF_INDEX(ins->dst);

            if (!ins->dst || !m.fixed[v] || operands_fixed(&m, ins))
                continue;
            m.fixed[v] = chooses(&m, ins);
            changed |= !m.fixed[v] || !m.chosen[v];
            m.chosen[v] = m.fixed[v];
        }
    }
    return m;
}
