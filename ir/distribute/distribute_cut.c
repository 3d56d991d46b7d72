/* distribute_cut.c - what of a K tile that is quantised on its way lies behind K: rows of A in
 * registers, which are zeroed there (cut) or were loaded as zeros (fetch up to K). The code
 * of zero is zero, and a scale is the largest magnitude of what is left. */
#include "tail.h"

/* Zeroes what registers of this lane's run in step s have at and beyond K element
 * `klen`. Those of rows at any byte begin at a dword, before the run. */
static void
cut_run(struct dist *d, const struct dist_tile *t, uint32_t s, kn_ref klen)
{
    const struct kn_lds *l = &d->in->lds[t->lds];
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t per = t->nreg / g.steps;
    kn_ref valid = dist_i2(d, KN_OP_sub, klen, dist_run_k(d, l, s, 0)), w[4];

    valid = dist_ic(d, KN_OP_mul, valid, 2);
    if (g.own)
        valid = dist_i2(d, KN_OP_add, valid, dist_ic(d, KN_OP_and, t->own[s], 3));
    valid = dist_ic(d, KN_OP_mul, valid, 8);
    for (uint32_t j = 0; j < per; j++) {
        struct dist_load load = dist_load(l, &g, j);
        uint32_t n = load.bytes < 4 ? 1 : load.bytes / 4;
        kn_ref reg = t->reg[s * per + j];

        for (uint32_t k = 0; k < n; k++) {
            kn_ref left = dist_ic(d, KN_OP_add, valid, -8 * (int64_t)(load.at + 4 * k));

            w[k] = dist_i2(d, KN_OP_and, n == 1 ? reg : dist_slice(d, reg, k),
                           dist_keep_mask(d, left));
        }
        if (n == 1)
            dist_move(d, reg, w[0]);
        else
            dist_cat_to(d, reg, w, n);
    }
}

kn_ref
dist_cut_offset(struct dist *d, const struct dist_tile *v, uint32_t step,
                const struct dist_load *load, const kn_ref x[2])
{
    const struct kn_lds *l = &d->in->lds[v->lds];
    struct kn_geom g = kn_geometry(d->in, l);
    bool alike = kn_waves(d->in) * 64 % (4 * g.per) == 0;
    kn_ref k = dist_run_k(d, l, !alike ? step : g.halves ? step % 2 : 0, 0);

    k = dist_ic(d, KN_OP_add, k, load->at / 2);
    return dist_pick(d, dist_op(d, KN_OP_slt, kn_vb1, k, dist_operand(d, x[1])), x[0],
                     dist_int(d, DIST_NEVER));
}

void
dist_cut_tail(struct dist *d, const struct dist_put *put, kn_ref klen, bool awaited)
{
    kn_ref last;

    if (KN_REF_TAG(klen) == KN_R_CONST)
        return;
    last = dist_op(d, KN_OP_slt, kn_sb1, klen, dist_int(d, d->in->shape.bk));
    dist_add(d, KN_OP_if, 0)->arg[0] = last;
    for (uint32_t n = put->t->nreg; awaited && n-- > 0;)
        dist_add(d, KN_OP_landed, 0)->arg[0] = put->t->reg[n];
    for (uint32_t s = put->from; s < put->to; s++)
        cut_run(d, put->t, s, klen);
    dist_add(d, KN_OP_end, 0);
}

/* cut: of a fetched tile that put.quant takes whole. */
kiln_status
expand_cut(struct dist *d, const struct kn_ins *i)
{
    struct dist_put put;

    KN_TRY(dist_share_fetched(d, i, (kn_ref[2]){ i->arg[0], 0 }, &put));
    dist_cut_tail(d, &put, dist_operand(d, i->arg[1]), true);
    return KILN_OK;
}
