/* distribute_factors.c - codes that LDS has as memory does, with a scale for each 16 or 32 K of
 * a row: scales of four K steps are read at once and become f32, and each wave multiplies by
 * them what it widens in registers. */
#include "widen.h"

enum { STEPS = KN_SCALED_STEPS };

/* A byte for each of four K steps of 32 K, of which a lane has 8: of 16 K those of lanes below
 * 32 are the even ones, else the odd. */
static kn_ref
own_bytes(struct dist *d, const struct kn_lds *l, kn_ref v)
{
    kn_ref arg[3];

    if (l->kdiv != 16)
        return v;
    arg[0] = dist_slice(d, v, 1);
    arg[1] = dist_slice(d, v, 0);
    arg[2] = dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_shr, d->q, 1), 0x01010101);
    arg[2] = dist_ic(d, KN_OP_add, arg[2], 0x06040200);
    return dist_op3(d, KN_OP_perm, kn_v32, arg);
}

kiln_status
expand_factors(struct dist *d, const struct kn_ins *i)
{
    const struct dist_tile *from = dist_tile(d, i->arg[0]);
    struct dist_tile *t = dist_tile(d, i->dst);
    const struct kn_lds *l = &d->in->lds[from->lds];

    if (t->kind == DT_NONE)
        *t = (struct dist_tile){ .kind = DT_FRAG, .lds = from->lds, .nreg = STEPS * from->nreg,
                                 .reg = KN_NEW(d->c, kn_ref, STEPS * from->nreg) };
    for (uint32_t f = 0; f < from->nreg; f++) {
        kn_ref byte = own_bytes(d, l, from->reg[f]), one[STEPS];

        if (l->elem == KN_T_e4m3)
            dist_four_e4m3(d, byte, one);
        for (uint32_t s = 0; s < STEPS; s++) {
            kn_ref *to = &t->reg[f * STEPS + s];

            if (!*to)
                *to = dist_named(d, kn_vf32, "%s.%u", kn_val(d->in, i->dst)->name,
                                 f * STEPS + s);
            if (l->elem == KN_T_e8m0)
                one[s] = dist_op(d, KN_OP_bits, kn_vf32, dist_scale(d, l->elem, &byte, s), 0);
            dist_move(d, *to, one[s]);
        }
    }
    return KILN_OK;
}

/* Dwords of a fragment's codes; returns how many. */
static uint32_t
words_of(struct dist *d, kn_ref v, kn_ref *w)
{
    uint32_t n = kn_val(d->out, v)->type.n;

    for (uint32_t i = 0; i < n; i++)
        w[i] = n > 1 ? dist_slice(d, v, i) : v;
    return n;
}

kiln_status
expand_scaled(struct dist *d, const struct kn_ins *i)
{
    const struct dist_tile *raw = dist_tile(d, i->arg[0]), *by = dist_tile(d, i->arg[1]);
    struct dist_tile *t = dist_tile(d, i->dst);
    struct kn_lds l = d->in->lds[raw->lds];
    uint32_t kk = (uint32_t)i->attr[KN_A_kk];

    l.mem = l.elem;
    l.elem = d->in->shape.tb;
    if (t->kind == DT_NONE)
        *t = (struct dist_tile){ .kind = DT_FRAG, .lds = raw->lds, .nreg = raw->nreg,
                                 .reg = KN_NEW(d->c, kn_ref, raw->nreg) };
    for (uint32_t f = 0; f < raw->nreg; f++) {
        kn_ref w[DIST_RUN / 4], out[DIST_RUN / 4];
        struct dist_words in = { .w = w };
        struct dist_factor x = { by->reg[f * STEPS + kk],
                                 d->in->lds[by->lds].elem == KN_T_e4m3 };
        uint32_t n;

        in.n = words_of(d, raw->reg[f], w);
        n = dist_convert(d, &l, in, x, out);
        if (!t->reg[f])
            t->reg[f] = dist_named(d, dist_vec(KN_T_i32, n), "%s.%u",
                                   kn_val(d->in, i->dst)->name, f);
        dist_cat_to(d, t->reg[f], out, n);
    }
    return KILN_OK;
}
