/* asm_names.c - a value that is assigned anew wherever it is used, like what a
 * definition of a template computes on the way, gets a name for each of its
 * assignments: then it is assigned once, and tidy can tell what it is. */
#include "asm.h"

#include <string.h>

struct names {
    const struct kn_fn *f;
    bool *keeps;             /* by value: a register that is added to */
    bool *outlives;          /* by value: is used in another straight run */
    bool *again;             /* by operation: assigned again in its run */
    kn_ref *now;             /* by value: the name it has here, or 0 */
};

/* Sums, four or more to a value, stay in the registers they are in: for those
 * of a tile there is no room twice. */
static bool
is_update(const struct kn_fn *f, const struct kn_ins *i)
{
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        if (i->arg[a] == i->dst)
            return kn_val(f, i->dst)->type.n >= 4;
    return false;
}

static bool
ends_run(const struct kn_ins *i)
{
    return kn_op_info((enum kn_op)i->op).kind == KN_CTL;
}

static void
find_uses(struct names *s, uint32_t *run)
{
    uint32_t here = 1;

    for (size_t n = 0; n < s->f->nins; n++) {
        const struct kn_ins *i = &s->f->ins[n];

        for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
            if (KN_REF_TAG(i->arg[a]) == KN_R_VAL &&
                run[KN_REF_INDEX(i->arg[a])] != here)
                s->outlives[KN_REF_INDEX(i->arg[a])] = true;
        here += ends_run(i);
        if (i->dst) {
            run[KN_REF_INDEX(i->dst)] = here;
            s->keeps[KN_REF_INDEX(i->dst)] |= is_update(s->f, i);
        }
    }
}

static void
find_again(struct names *s, uint32_t *run)
{
    uint32_t here = 1;

    for (size_t n = s->f->nins; n-- > 0;) {
        const struct kn_ins *i = &s->f->ins[n];
        uint32_t v = KN_REF_INDEX(i->dst);

        here += ends_run(i);
        s->again[n] = i->dst && run[v] == here;
        if (i->dst)
            run[v] = here;
    }
}

static void
rename_values(struct names *s, struct kn_fn *out, size_t n)
{
    struct kn_ins *i = &out->ins[n];
    uint32_t v = KN_REF_INDEX(i->dst);

    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        if (KN_REF_TAG(i->arg[a]) == KN_R_VAL &&
            s->now[KN_REF_INDEX(i->arg[a])])
            i->arg[a] = s->now[KN_REF_INDEX(i->arg[a])];
    if (!i->dst || s->keeps[v])
        return;
    s->now[v] = 0;
    if (s->outlives[v] && !s->again[n])
        return;
    i->dst = s->now[v] = kn_new_val(out, s->f->val[v].name, s->f->val[v].type);
}

const struct kn_fn *
kn_asm_names(struct kn_ctx *c, const struct kn_fn *f)
{
    struct kn_fn *out = KN_NEW(c, struct kn_fn, 1);
    struct names s = { f, KN_NEW(c, bool, f->nval), KN_NEW(c, bool, f->nval),
                       KN_NEW(c, bool, f->nins + 1), KN_NEW(c, kn_ref, f->nval) };

    find_uses(&s, KN_NEW(c, uint32_t, f->nval));
    find_again(&s, KN_NEW(c, uint32_t, f->nval));
    *out = *f;
    out->capval = f->nval;
    out->val = memcpy(KN_NEW(c, struct kn_val, f->nval), f->val,
                      f->nval * sizeof *f->val);
    out->ins = memcpy(KN_NEW(c, struct kn_ins, f->nins + 1), f->ins,
                      f->nins * sizeof *f->ins);
    for (size_t n = 0; n < f->nins; n++)
        rename_values(&s, out, n);
    return out;
}
