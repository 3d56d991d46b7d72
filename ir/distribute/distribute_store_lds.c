/* distribute_store_lds.c - accumulators to memory through LDS, in runs of rows.
 *
 * A wave writes 16 rows of its part of the tile to rows of LDS of its own, by
 * accumulator, and reads them by row: lanes next to each other store columns
 * next to each other. Nobody else touches its bytes and LDS operations of one
 * wave keep their order: no barrier, no wait beyond that for the values. */
#include "distribute.h"

struct shuffle {
    const struct dist_out *o;
    kn_ref slot, base;       /* LDS, and the wave's first byte in it */
    kn_ref row0, col0;       /* the wave's first row and column in the tile */
    uint32_t pitch, cols;    /* bytes of a row of LDS; columns of the wave */
    uint32_t size, run;      /* bytes a column; columns a lane stores */
    uint8_t elem;            /* type in LDS */
};

static struct shuffle
shuffle(struct dist *d, const struct kn_ins *i, const struct dist_out *o)
{
    const struct kn_lds *l = &d->in->lds[KN_REF_LDS(i->arg[7])];
    struct dist_epilogue e = dist_epilogue(d, dist_tile(d, i->arg[0]));
    struct shuffle s = { .o = o, .slot = i->arg[7], .cols = e.b.count * 16,
                         .pitch = kn_geometry(d->in, l).pitch,
                         .size = kn_elems[l->elem].bits / 8,
                         .elem = l->elem };

    s.run = o->vec == 1 ? 1 : 16 / s.size;
    s.base = dist_ic(d, KN_OP_mul, d->wave, 16 * s.pitch);
    s.row0 = dist_ic(d, KN_OP_mul, d->wave_m, e.a.count * 16);
    s.col0 = dist_ic(d, KN_OP_mul, d->wave_n, s.cols);
    return s;
}

static void
write_rows(struct dist *d, const struct shuffle *s, const kn_ref *acc)
{
    kn_ref at = dist_i2(d, KN_OP_add, s->base,
                        dist_ic(d, KN_OP_mul, d->t, s->pitch));

    at = dist_i2(d, KN_OP_add, at, dist_ic(d, KN_OP_mul, d->q, 4 * s->size));
    for (uint32_t y = 0; y < s->cols / 16; y++) {
        kn_ref v = dist_as_type(d, dist_moved(d, s->o->dice, y, acc[y]), s->elem);
        struct kn_ins *n = dist_add(d, KN_OP_lds_st, 0);

        n->arg[0] = s->slot;
        n->arg[1] = at;
        n->arg[2] = v;
        n->attr[KN_A_offset] = (int32_t)(y * 16 * s->size);
        n->attr[KN_A_elem] = s->elem;
    }
}

/* off where all of `n` columns from col on exist, or with `part` where not all
 * of `n` do but `part` of them; else DIST_NEVER. vec=4: N is a multiple of 4. */
static kn_ref
run_offset(struct dist *d, const struct shuffle *s, kn_ref off, kn_ref col,
           bool part)
{
    kn_ref last = dist_ic(d, KN_OP_add, col, s->run - 1), arg[3];

    arg[0] = dist_op(d, part ? KN_OP_sge : KN_OP_slt, kn_vb1, last,
                     s->o->ncols);
    if (part)
        arg[0] = dist_op(d, KN_OP_band, kn_vb1, arg[0],
                         dist_op(d, KN_OP_slt, kn_vb1, col, s->o->ncols));
    arg[1] = off;
    arg[2] = dist_int(d, DIST_NEVER);
    return dist_op3(d, KN_OP_select, kn_v32, arg);
}

static void
put_run(struct dist *d, const struct shuffle *s, kn_ref off, kn_ref v)
{
    dist_stg(d, s->o->r, off, v, s->o->elem);
}

/* v += what the output holds there. */
static void
add_run(struct dist *d, const struct shuffle *s, kn_ref off, kn_ref v)
{
    kn_ref c = dist_temp(d, dist_vec(s->o->elem, s->run));
    struct kn_ins *l = dist_add(d, KN_OP_ldg, c);

    l->arg[0] = s->o->r;
    l->arg[1] = off;
    l->attr[KN_A_elem] = s->o->elem;
    dist_apply(d, KN_OP_fadd, v, dist_as_type(d, c, KN_T_f32), 0);
}

/* Run `step` * 64 + lane of the 16 rows from row x * 16 on; surplus lanes
 * repeat the last one. */
static void
store_run(struct dist *d, const struct shuffle *s, uint32_t x, uint32_t step,
          bool add)
{
    uint32_t per = s->cols / s->run;
    kn_ref c = dist_ic(d, KN_OP_add, d->lane, step * 64), row, col, at, v, off;
    struct kn_ins *l;

    if ((step + 1) * 64 > 16 * per)
        c = dist_ic(d, KN_OP_umin, c, 16 * per - 1);
    row = dist_ic(d, KN_OP_udiv, c, per);
    col = dist_ic(d, KN_OP_urem, c, per);
    col = dist_ic(d, KN_OP_mul, col, s->run);
    at = dist_i2(d, KN_OP_add, s->base, dist_ic(d, KN_OP_mul, row, s->pitch));
    at = dist_i2(d, KN_OP_add, at, dist_ic(d, KN_OP_mul, col, s->size));
    v = dist_temp(d, dist_vec(s->elem, s->run));
    l = dist_add(d, KN_OP_lds_ld, v);
    l->arg[0] = s->slot;
    l->arg[1] = at;
    l->attr[KN_A_elem] = s->elem;
    l->attr[KN_A_own] = 1;
    row = dist_i2(d, KN_OP_add, row, dist_ic(d, KN_OP_add, s->row0, x * 16));
    col = dist_i2(d, KN_OP_add, col, s->col0);
    off = dist_i2(d, KN_OP_add, dist_i2(d, KN_OP_mul, row, s->o->pitch),
                  dist_ic(d, KN_OP_mul, col, s->o->size));
    at = run_offset(d, s, off, col, false);
    if (add)
        add_run(d, s, at, v);
    if (dist_is_code(s->o->elem)) {
        dist_store_codes(d, s->o, at, dist_codes(d, s->o->elem, s->o->sat, v));
        dist_add(d, KN_OP_sched, 0);
        return;
    }
    v = s->elem == KN_T_f32 && s->o->size == 2 ? dist_as_type(d, v, s->o->elem) : v;
    put_run(d, s, at, v);
    if (s->run > s->o->vec)
        put_run(d, s, run_offset(d, s, off, col, true),
                dist_elements(d, v, 0, s->o->vec));
    dist_add(d, KN_OP_sched, 0); /* each read stays an instruction */
}

kiln_status
dist_store_runs(struct dist *d, const struct kn_ins *i, const struct dist_out *o)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]);
    struct shuffle s = shuffle(d, i, o);
    uint32_t nrow = t->nreg / (s.cols / 16), per = s.cols / s.run;
    uint32_t part = (uint32_t)i->attr[KN_A_part];
    uint32_t parts = (uint32_t)i->attr[KN_A_parts];

    if (s.pitch < s.cols * s.size)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "a row of the LDS tile "
                          "has %u bytes, a wave's row %u", s.pitch,
                          s.cols * s.size);
    if (i->attr[KN_A_add] && s.elem != KN_T_f32)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "a sum that is added "
                          "to the output passes LDS as f32, to be rounded "
                          "once");
    for (uint32_t x = part * nrow / parts; x < (part + 1) * nrow / parts; x++) {
        dist_dice_row(d, o->dice, x);
        write_rows(d, &s, t->reg + x * (s.cols / 16));
        for (uint32_t step = 0; step * 64 < 16 * per; step++)
            store_run(d, &s, x, step, i->attr[KN_A_add] != 0);
    }
    return KILN_OK;
}
