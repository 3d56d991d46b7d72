/* distribute_rows.c - a value for each row of a wave's accumulators
 * (distribute_epilogue.c): ids and factors that are loaded, the largest
 * magnitude of a row over all of the tile's columns, and the scale that is made
 * of it and written where the row's id says. */
#include "split.h"

/* A register for each of this lane's accumulator rows. */
static struct dist_tile *
row_tile(struct dist *d, const struct kn_ins *i, struct kn_type t)
{
    struct dist_tile *r = dist_tile(d, i->dst);
    uint32_t n = dist_block_rows(d);

    if (r->kind == DT_NONE) {
        *r = (struct dist_tile){ .kind = DT_ROWS, .nreg = n,
                                 .reg = KN_NEW(d->c, kn_ref, n) };
        for (uint32_t x = 0; x < n; x++)
            r->reg[x] = dist_named(d, t, "%s.%u", kn_val(d->in, i->dst)->name,
                                   x);
    }
    return r;
}

static void
load_rows(struct dist *d, const struct dist_tile *r, kn_ref from, uint8_t elem)
{
    kn_ref row = dist_first_row(d);

    for (uint32_t x = 0; x < r->nreg; x++) {
        kn_ref at = dist_ic(d, KN_OP_add, row, x * 16);
        struct kn_ins *n;

        at = dist_ic(d, KN_OP_mul, at, 4);
        n = dist_add(d, KN_OP_ldg, r->reg[x]);
        n->arg[0] = from;
        n->arg[1] = at;
        n->attr[KN_A_elem] = elem;
    }
}

kiln_status
expand_rowids(struct dist *d, const struct kn_ins *i)
{
    load_rows(d, row_tile(d, i, kn_v32), dist_operand(d, i->arg[0]), KN_T_i32);
    return KILN_OK;
}

kiln_status
expand_rowf32(struct dist *d, const struct kn_ins *i)
{
    struct kn_ins of = { .arg = { 0, i->arg[0], i->arg[1], i->arg[2] } };

    load_rows(d, row_tile(d, i, kn_vf32), dist_f32_vector(d, &of), KN_T_f32);
    return KILN_OK;
}

kn_ref
dist_rows_f32(struct dist *d, const struct dist_rows *r, kn_ref p)
{
    kn_ref n = r->tokens;

    if (r->slots)
        n = dist_i2(d, KN_OP_mul, n, r->topk);
    n = dist_assume(d, dist_ic(d, KN_OP_mul, n, 4), DIST_NEVER); /* kn_routed_check */
    return dist_rsrc(d, dist_address(d, p, 0, 0, 0), n);
}

/* f32 of the rows that ids name. */
kiln_status
expand_rownamed(struct dist *d, const struct kn_ins *i)
{
    const struct dist_tile *ids = dist_tile(d, i->arg[1]);
    struct dist_tile *t = row_tile(d, i, kn_vf32);
    struct dist_rows rows = {
        0, dist_operand(d, i->arg[2]), dist_operand(d, i->arg[3]),
        dist_int(d, 4), i->attr[KN_A_slots] != 0, i->attr[KN_A_plain] != 0 };
    kn_ref r = dist_rows_f32(d, &rows, dist_operand(d, i->arg[0]));

    for (uint32_t x = 0; x < t->nreg; x++) {
        kn_ref at = dist_row_offset(d, &rows, ids->reg[x]);
        struct kn_ins *l = dist_add(d, KN_OP_ldg, t->reg[x]);

        l->arg[0] = r;
        l->arg[1] = at;
        l->attr[KN_A_elem] = KN_T_f32;
    }
    return KILN_OK;
}

/* ---- scales that are made of the rows ---- */

static kn_ref
lds_row(struct dist *d, const struct kn_lds *l, kn_ref wave)
{
    kn_ref at = dist_ic(d, KN_OP_mul, wave, kn_geometry(d->in, l).pitch);

    return dist_i2(d, KN_OP_add, at, dist_ic(d, KN_OP_mul, dist_first_row(d), 4));
}

static kn_ref
lds_f32(struct dist *d, kn_ref slot, kn_ref at, uint32_t offset)
{
    kn_ref v = dist_temp(d, kn_vf32);
    struct kn_ins *s = dist_add(d, KN_OP_lds_ld, v);

    s->arg[0] = slot;
    s->arg[1] = at;
    s->attr[KN_A_offset] = (int32_t)offset;
    s->attr[KN_A_elem] = KN_T_f32;
    return v;
}

enum { AT_ONCE = 16 };       /* reads of LDS */

void
dist_meet_rows(struct dist *d, kn_ref slot, const kn_ref *most, uint32_t n, uint32_t waves)
{
    const struct kn_lds *l = &d->in->lds[KN_REF_LDS(slot)];
    kn_ref at = lds_row(d, l, d->wave_n), first = dist_int(d, 0), v[AT_ONCE];

    for (uint32_t x = 0; x < n; x++) {
        struct kn_ins *s = dist_add(d, KN_OP_lds_st, 0);

        s->arg[0] = slot;
        s->arg[1] = at;
        s->arg[2] = most[x];
        s->attr[KN_A_offset] = (int32_t)(x * 64);
        s->attr[KN_A_elem] = KN_T_f32;
    }
    dist_add(d, KN_OP_fence, 0)->attr[KN_A_lgkm] = 0;
    dist_add(d, KN_OP_barrier, 0);
    if (waves < d->in->shape.wn)
        first = dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_udiv, d->wave_n, waves), waves);
    at = lds_row(d, l, first);
    for (uint32_t x = 0; x < n; x += AT_ONCE / waves)
        for (uint32_t w = 0; w < 2 * waves; w++)
            for (uint32_t k = x; k < n && k < x + AT_ONCE / waves; k++) {
                kn_ref *one = &v[(k - x) * waves + w % waves];

                if (w < waves)
                    *one = lds_f32(d, slot, at, k * 64 + w * kn_geometry(d->in, l).pitch);
                else
                    dist_apply(d, KN_OP_fmax, most[k], *one, 0);
            }
}

/* rows.share: for the store that comes next. */
kiln_status
expand_rowshare(struct dist *d, const struct kn_ins *i)
{
    d->beside = i->arg[0];
    return KILN_OK;
}

/* rows.max: a NaN counts for nothing. */
kiln_status
expand_rowmax(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]), *r = row_tile(d, i, kn_vf32);
    uint32_t n = t->nreg / r->nreg;

    if (!i->arg[1] && d->in->shape.wn > 1)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "rows.max of several "
                          "waves along N needs an LDS tile with a row for each");
    for (uint32_t x = 0; x < r->nreg; x++) {
        kn_ref most = kn_flt(d->out, 0);

        for (uint32_t y = 0; y < n; y++)
            most = dist_op(d, KN_OP_amax, kn_vf32, t->reg[x * n + y], most);
        dist_move(d, r->reg[x], dist_op(d, KN_OP_qmax, kn_vf32, most, 0));
    }
    if (i->arg[1])
        dist_meet_rows(d, i->arg[1], r->reg, r->nreg, d->in->shape.wn);
    return KILN_OK;
}

/* acc.quant: largest magnitudes become scales, max(largest, 1e-10) / limit, the
 * accumulators are divided by them; the inverse is a hair less, so that nothing
 * is beyond the limit. */
kiln_status
expand_quantrows(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]), *r = dist_tile(d, i->arg[1]);
    uint32_t n = t->nreg / r->nreg;
    bool power = i->attr[KN_A_mode];

    for (uint32_t x = 0; x < r->nreg; x++) {
        struct dist_made_scale made = dist_scale_of(d, (uint8_t)i->attr[KN_A_elem], power,
                                                    r->reg[x]);
        kn_ref s = dist_op(d, KN_OP_splat, dist_acc_type(d, t->reg[0]), made.by, 0);

        dist_move(d, r->reg[x], power ? dist_op(d, KN_OP_bits, kn_vf32, made.written, 0)
                                      : made.written);
        for (uint32_t y = 0; y < n; y++)
            dist_apply(d, KN_OP_fmul, t->reg[x * n + y], s, 0);
    }
    return KILN_OK;
}

/* rows.put: f32 of the rows, or of what acc.quant made bytes the lowest, each once, where
 * its id says. */
kiln_status
expand_rowput(struct dist *d, const struct kn_ins *i)
{
    const struct dist_tile *r = dist_tile(d, i->arg[0]);
    const struct dist_tile *ids = dist_tile(d, i->arg[2]);
    struct dist_rows rows = {
        0, dist_operand(d, i->arg[3]), dist_operand(d, i->arg[4]),
        dist_operand(d, i->arg[5]), i->attr[KN_A_slots] != 0,
        i->attr[KN_A_plain] != 0 };
    kn_ref n = rows.tokens, once[3];
    bool byte = i->attr[KN_A_mode];
    kn_ref to;

    if (rows.slots)
        n = dist_i2(d, KN_OP_mul, n, rows.topk);
    n = dist_assume(d, dist_i2(d, KN_OP_mul, n, rows.pitch), DIST_NEVER);
    n = dist_i2(d, KN_OP_sub, n, dist_ic(d, KN_OP_add, rows.pitch, byte ? -1 : -4));
    to = dist_rsrc(d, dist_address(d, dist_operand(d, i->arg[1]), 0, 0, 0),
                   dist_clamp(d, n, 0, DIST_NEVER));
    once[0] = dist_op(d, KN_OP_eq, kn_vb1,
                      dist_i2(d, KN_OP_or, d->q, d->wave_n), dist_int(d, 0));
    once[2] = dist_int(d, DIST_NEVER);
    for (uint32_t x = 0; x < r->nreg; x++) {
        once[1] = dist_row_offset(d, &rows, ids->reg[x]);
        dist_stg(d, to, dist_op3(d, KN_OP_select, kn_v32, once),
                 byte ? dist_op(d, KN_OP_bits, kn_v32, r->reg[x], 0) : r->reg[x],
                 byte ? KN_T_i8 : KN_T_f32);
    }
    return KILN_OK;
}
