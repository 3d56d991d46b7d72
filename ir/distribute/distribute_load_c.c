/* distribute_load_c.c - what the output, or a tensor of its shape, holds where an accumulator
 * will be stored (distribute_store.c, distribute_apply.c).
 *
 * Rows at any byte (any=1 of vec=1) are read as they are stored: four columns at once where
 * the last of them is one of the output, zeros elsewhere. Of a tile whose last four are not
 * all of the output, those that are come one by one, under a branch of the column block
 * that has them: nothing is read behind a row. */
#include "split.h"

bool
dist_out_loose(const struct dist_out *o)
{
    return o->any && o->vec == 1 && o->size <= 4 && o->store == KN_OP_stg;
}

/* Columns of a load. */
static uint32_t
run_of(const struct dist_out *o)
{
    return dist_out_loose(o) ? 4 : o->vec;
}

struct dist_old
dist_out_places(struct dist *d, const struct dist_out *o, kn_ref row_off,
                kn_ref col)
{
    struct dist_old at = { { 0 } };
    uint32_t run = run_of(o), last = dist_out_loose(o) ? 3 : 0;

    for (uint32_t x = 0; x < 4; x += run) {
        kn_ref c = dist_ic(d, KN_OP_add, col, x), end = dist_ic(d, KN_OP_add, c, last);
        kn_ref there = dist_op(d, KN_OP_slt, kn_vb1, end, o->ncols);

        at.part[x / run] = dist_out_where(d, o, (kn_ref[]){ row_off, c }, there);
    }
    return at;
}

static kn_ref
load(struct dist *d, const struct dist_out *o, kn_ref from, kn_ref at, uint32_t n)
{
    kn_ref v = dist_temp(d, dist_vec(o->elem, n));
    struct kn_ins *l = dist_add(d, KN_OP_ldg, v);

    l->arg[0] = from;
    l->arg[1] = at;
    l->attr[KN_A_elem] = o->elem;
    return v;
}

struct dist_old
dist_out_load(struct dist *d, const struct dist_out *o, kn_ref from,
              const struct dist_old *at)
{
    struct dist_old old = { { 0 } };
    uint32_t run = run_of(o);

    for (uint32_t x = 0; x < 4 / run; x++)
        old.part[x] = load(d, o, from, at->part[x], run);
    return old;
}

kn_ref
dist_out_old(struct dist *d, const struct dist_out *o,
             const struct dist_old *old, uint8_t elem)
{
    kn_ref part[4] = { 0 }, v;
    uint32_t run = run_of(o);

    for (uint32_t x = 0; x < 4 / run; x++)
        part[x] = dist_as_type(d, old->part[x], elem);
    v = part[0];
    if (run < 4) {
        v = dist_temp(d, dist_vec(elem, 4));
        dist_cat_to(d, v, part, 4 / run);
    }
    return v;
}

/* Four columns of which three at most are there: those, where `part` holds, else zeros.
 * Values of 16 bits are joined as f32, which is exact. */
static kn_ref
rest_of(struct dist *d, const struct dist_out *o, const struct dist_rest *of, kn_ref col)
{
    kn_ref part = dist_op(d, KN_OP_sge, kn_vb1, dist_ic(d, KN_OP_add, col, 3), o->ncols);
    uint8_t elem = o->size < 4 ? KN_T_f32 : o->elem;
    kn_ref one[4], v = dist_temp(d, dist_vec(elem, 4));

    for (uint32_t n = 0; n < 3; n++) {
        kn_ref at[] = { of->row, dist_ic(d, KN_OP_add, col, n) };
        kn_ref there = dist_op(d, KN_OP_slt, kn_vb1, at[1], o->ncols);

        there = dist_op(d, KN_OP_band, kn_vb1, part, there);
        one[n] = load(d, o, of->from, dist_out_where(d, o, at, there), 1);
    }
    for (uint32_t n = 0; n < 3; n++)
        one[n] = dist_as_type(d, one[n], elem);
    one[3] = dist_op(d, KN_OP_bits, dist_vec(elem, 1),
                     dist_op(d, KN_OP_mov, kn_v32, dist_int(d, 0), 0), 0);
    dist_cat_to(d, v, one, 4);
    return elem == o->elem ? v : dist_op(d, KN_OP_cvt, dist_vec(o->elem, 4), v, 0);
}

/* The bits of x or y, of which one is zeros in every lane. */
static kn_ref
either(struct dist *d, const struct dist_out *o, kn_ref x, kn_ref y)
{
    kn_ref v[2], part[4];

    v[0] = dist_op(d, KN_OP_bits, dist_vec(KN_T_i32, o->size), x, 0);
    v[1] = dist_op(d, KN_OP_bits, dist_vec(KN_T_i32, o->size), y, 0);
    for (uint32_t n = 0; n < o->size; n++)
        part[n] = dist_op(d, KN_OP_or, kn_v32, dist_slice(d, v[0], n),
                          dist_slice(d, v[1], n));
    return dist_op(d, KN_OP_bits, dist_vec(o->elem, 4), dist_cat(d, part, o->size), 0);
}

/* Where the last four of the output are not all: the column block of the tile that has
 * them, else -1. */
static kn_ref
broken_block(struct dist *d, const struct dist_out *o)
{
    kn_ref none = dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_and, o->ncols, 3), -1);

    return dist_i2(d, KN_OP_or, dist_ic(d, KN_OP_shr, o->ncols, 4),
                   dist_ic(d, KN_OP_sar, none, 31));
}

void
dist_out_rest(struct dist *d, const struct dist_out *o, const struct dist_epilogue *e,
              const struct dist_rest *of)
{
    kn_ref block, col, here;

    if (!dist_out_loose(o))
        return;
    block = dist_block_column(d, e, of->y);
    col = dist_ic(d, KN_OP_add, e->col0, of->y * 16);
    here = dist_op(d, KN_OP_eq, kn_sb1, broken_block(d, o), block);
    dist_add(d, KN_OP_if, 0)->arg[0] = here;
    dist_move(d, of->old->part[0],
              either(d, o, of->old->part[0], rest_of(d, o, of, col)));
    dist_add(d, KN_OP_end, 0);
}
