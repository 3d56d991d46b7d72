/* proof_prepare.c - what the proof needs to know once per kernel: that every
 * swizzle permutes, the numbers of the LDS slots, and which values can be
 * outstanding at all. */
#include "proof.h"

/* chunk ^= f(row) permutes the chunks of every row: tried for each. */
static bool
permutes(const struct kn_lds *l, const struct kn_geom *g, uint32_t row)
{
    uint32_t x = ((row >> l->swz_s) & ((1u << l->swz_n) - 1)) << l->swz_t;

    for (uint32_t c = 0; c < g->cpr; c++)
        if ((c ^ x) >= g->cpr)
            return false;    /* x ^ is one to one: only leaving can fail */
    return true;
}

static kiln_status
check_swizzle(const struct proof *p, const struct kn_lds *l)
{
    struct kn_geom g = kn_geometry(p->f, l);
    bool ok = !l->swz_n || g.chunk == 16;

    for (uint32_t row = 0; ok && l->swz_n && row < g.lrows; row++)
        ok = permutes(l, &g, row);
    if (!ok)
        return PROOF_FAIL(p, l->at, "the swizzle of %%%s does not permute the "
                          "%u chunks of a row", l->name, g.cpr);
    return KILN_OK;
}

static bool
is_tracked(const struct proof *p, const struct kn_ins *i)
{
    if (i->op == KN_OP_ldg || i->op == KN_OP_arrive || i->op == KN_OP_lds_ld)
        return true;
    for (int a = 0; proof_renames((enum kn_op)i->op) && a < KN_MAXARG && i->arg[a];
         a++)
        if (proof_is_value(i->arg[a]) && proof_place(p, i->arg[a]))
            return true;
    return false;
}

/* Only what is loaded, or renamed from such, can be outstanding. */
static void
track_values(struct proof *p)
{
    const struct kn_fn *f = p->f;
    uint32_t *renames = KN_NEW(p->c, uint32_t, f->nins + 1);
    size_t nrename = 0;
    bool changed = true;

    p->place = KN_NEW(p->c, uint32_t, f->nval);
    p->nplace = 1;
    for (size_t n = 0; n < f->nins; n++) {
        const struct kn_ins *i = &f->ins[n];

        if (i->dst && !proof_place(p, i->dst) && is_tracked(p, i))
            p->place[KN_REF_INDEX(i->dst)] = p->nplace++;
        else if (i->dst && proof_renames((enum kn_op)i->op))
            renames[nrename++] = (uint32_t)n;
    }
    while (changed) {
        changed = false;
        for (size_t n = 0; n < nrename; n++) {
            const struct kn_ins *i = &f->ins[renames[n]];

            if (proof_place(p, i->dst) || !is_tracked(p, i))
                continue;
            p->place[KN_REF_INDEX(i->dst)] = p->nplace++;
            changed = true;
        }
    }
}

kiln_status
proof_prepare(const struct kn_fn *f, struct proof **out)
{
    struct proof *p = KN_NEW(f->c, struct proof, 1);

    *out = p;
    p->c = f->c;
    p->f = f;
    p->first = KN_NEW(p->c, uint32_t, f->nlds + 1);
    for (size_t t = 0; t < f->nlds; t++) {
        KN_TRY(check_swizzle(p, &f->lds[t]));
        p->first[t] = p->nslots;
        p->nslots += f->lds[t].slots;
    }
    p->tile = KN_NEW(p->c, uint16_t, p->nslots + 1);
    for (size_t t = 0; t < f->nlds; t++)
        for (uint32_t n = 0; n < f->lds[t].slots; n++)
            p->tile[p->first[t] + n] = (uint16_t)t;
    track_values(p);
    KN_TRY(proof_accesses(p));
    return proof_uniform(p);
}
