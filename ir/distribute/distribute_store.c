/* distribute_store.c - accumulators to memory: by fragment, by pairs of
 * fragments, through LDS, or to the rows that ids name; added to what is there
 * if C is asked for. Where a lane's accumulators are: distribute_epilogue.c. */
#include "distribute.h"

struct dist_out
dist_out(struct dist *d, const struct kn_ins *i)
{
    struct dist_out o = { .elem = (uint8_t)i->attr[KN_A_elem],
                          .vec = (uint32_t)i->attr[KN_A_vec],
                          .sat = i->attr[KN_A_sat] != 0,
                          .store = KN_OP_stg };
    kn_ref m0 = dist_operand(d, i->arg[2]), n0 = dist_operand(d, i->arg[3]);
    kn_ref rows = dist_i2(d, KN_OP_sub, dist_operand(d, i->arg[4]), m0);
    kn_ref base, n;

    if (i->attr[KN_A_atomic]) {
        o.store = KN_OP_atom;
        o.vec = o.elem == KN_T_bf16 ? 2 : 1;
    }
    o.coh = i->op == KN_OP_zero;
    o.size = kn_elems[o.elem].bits / 8;
    o.pitch = dist_operand(d, i->arg[6]);
    o.ncols = dist_i2(d, KN_OP_sub, dist_operand(d, i->arg[5]), n0);
    o.ncols = dist_clamp(d, o.ncols, 0, d->in->shape.bn);
    rows = dist_clamp(d, rows, 0, d->in->shape.bm);
    base = dist_address(d, dist_operand(d, i->arg[1]), m0, o.pitch,
                        dist_ic(d, KN_OP_mul, n0, o.size));
    n = dist_i2(d, KN_OP_mul, dist_ic(d, KN_OP_add, rows, -1), o.pitch);
    n = dist_i2(d, KN_OP_add, n, dist_ic(d, KN_OP_mul, o.ncols, o.size));
    o.r = dist_rsrc(d, base, dist_clamp(d, n, 0, DIST_NEVER));
    return o;
}

/* Byte offset of column `col` of a row that starts at `row_off`; DIST_NEVER when
 * the column is beyond the output. */
static kn_ref
out_offset(struct dist *d, const struct dist_out *o, kn_ref row_off, kn_ref col)
{
    kn_ref arg[3];

    arg[0] = dist_op(d, KN_OP_slt, kn_vb1, col, o->ncols);
    arg[1] = dist_i2(d, KN_OP_add, row_off,
                     dist_ic(d, KN_OP_mul, col, o->size));
    arg[2] = dist_int(d, DIST_NEVER);
    return dist_op3(d, KN_OP_select, kn_v32, arg);
}

static kn_ref
elements(struct dist *d, kn_ref v, uint32_t first, uint32_t n)
{
    kn_ref x = dist_op(d, KN_OP_slice, dist_vec(dist_acc_type(d, v).elem, n), v, 0);

    d->out->ins[d->out->nins - 1].attr[KN_A_first] = (int32_t)first;
    return x;
}

struct dist_old
dist_out_places(struct dist *d, const struct dist_out *o, kn_ref row_off,
                kn_ref col)
{
    struct dist_old at = { { 0 } };

    for (uint32_t x = 0; x < 4; x += o->vec)
        at.part[x / o->vec] = out_offset(d, o, row_off,
                                         dist_ic(d, KN_OP_add, col, x));
    return at;
}

struct dist_old
dist_out_load(struct dist *d, const struct dist_out *o, kn_ref from,
              const struct dist_old *at)
{
    struct dist_old old = { { 0 } };

    for (uint32_t x = 0; x < 4 / o->vec; x++) {
        struct kn_ins *l;

        old.part[x] = dist_temp(d, dist_vec(o->elem, o->vec));
        l = dist_add(d, KN_OP_ldg, old.part[x]);
        l->arg[0] = from;
        l->arg[1] = at->part[x];
        l->attr[KN_A_elem] = o->elem;
    }
    return old;
}

kn_ref
dist_out_old(struct dist *d, const struct dist_out *o,
             const struct dist_old *old, uint8_t elem)
{
    kn_ref part[4] = { 0 }, v;

    for (uint32_t x = 0; x < 4 / o->vec; x++)
        part[x] = dist_as_type(d, old->part[x], elem);
    v = part[0];
    if (o->vec < 4) {
        v = dist_temp(d, dist_vec(elem, 4));
        dist_cat_to(d, v, part, 4 / o->vec);
    }
    return v;
}

/* Four codes: a dword, or byte by byte. */
static void
store_codes(struct dist *d, const struct dist_out *o, kn_ref acc,
            kn_ref row_off, kn_ref col)
{
    kn_ref v = dist_codes(d, o->elem, o->sat, acc);

    for (uint32_t n = 0; n < 4; n += o->vec) {
        kn_ref off = out_offset(d, o, row_off, dist_ic(d, KN_OP_add, col, n));

        dist_store_codes(d, o, off, n ? dist_ic(d, KN_OP_shr, v, 8 * n) : v);
    }
}

static void
store_fragment(struct dist *d, const struct dist_out *o, kn_ref acc,
               kn_ref row_off, kn_ref col)
{
    struct kn_type t = dist_acc_type(d, acc);
    kn_ref v = acc;

    if (dist_is_code(o->elem)) {
        store_codes(d, o, acc, row_off, col);
        return;
    }
    if (o->elem == KN_T_i32)  /* LLVM splits integer vectors it sees taken
                                 apart into scalars all through the loop */
        v = dist_op(d, KN_OP_bits, dist_vec(KN_T_f32, t.n), acc, 0);
    else if (o->elem != t.elem)
        v = dist_op(d, KN_OP_cvt, dist_vec(o->elem, t.n), acc, 0);
    for (uint32_t n = 0; n < t.n; n += o->vec) {
        kn_ref c = dist_ic(d, KN_OP_add, col, n), x = v, off;
        struct kn_ins *s;

        off = out_offset(d, o, row_off, c);
        if (o->vec < t.n)
            x = elements(d, v, n, o->vec);
        s = dist_add(d, o->store, 0);
        s->arg[0] = o->r;
        s->arg[1] = off;
        s->arg[2] = x;
        s->attr[KN_A_elem] = o->elem;
        s->attr[KN_A_coh] = o->coh;
    }
}

/* ---- the store through LDS ----
 *
 * A wave writes 16 rows of its part of the tile to rows of LDS of its own, by
 * accumulator, and reads them by row: lanes next to each other store columns
 * next to each other. Nobody else touches its bytes and LDS operations of one
 * wave keep their order: no barrier, no wait beyond that for the values. */
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
                elements(d, v, 0, s->o->vec));
    dist_add(d, KN_OP_sched, 0); /* each read stays an instruction */
}

static kiln_status
store_shuffled(struct dist *d, const struct kn_ins *i, const struct dist_out *o)
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

/* Two fragments next to each other, y of a row and the next, as 8 columns a lane:
 * rows of 16 lanes that hold columns 4 to 7 of a group of 8 give them to the ones
 * before. */
static kn_ref
paired(struct dist *d, const struct dist_out *o, const kn_ref *row, uint32_t y)
{
    kn_ref v = dist_temp(d, dist_vec(o->elem, 8));
    kn_ref half[2];

    for (uint32_t k = 0; k < 2; k++)
        half[k] = dist_op(d, KN_OP_cvt, dist_vec(o->elem, 4),
                          dist_moved(d, o->dice, y + k, row[y + k]), 0);
    dist_cat_to(d, v, half, 2);
    v = dist_op(d, KN_OP_bits, dist_vec(KN_T_i32, 4), v, 0);
    v = dist_op(d, KN_OP_turn, dist_vec(KN_T_i32, 4), v, 0);
    return dist_op(d, KN_OP_bits, dist_vec(o->elem, 8), v, 0);
}

static void
store_run8(struct dist *d, const struct dist_out *o, kn_ref off, kn_ref v)
{
    dist_stg(d, o->r, off, v, o->elem);
}

/* Of `paired`: rows of lanes 1 and 3 have the second fragment's columns. */
static kn_ref
wide_column(struct dist *d, const struct dist_epilogue *e)
{
    kn_ref col = dist_ic(d, KN_OP_mul, d->wave_n, e->b.count * 16);

    col = dist_i2(d, KN_OP_add, col,
                  dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_and, d->q, 1), 16));
    return dist_i2(d, KN_OP_add, col,
                   dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_shr, d->q, 1), 8));
}

/* The fragments of 16 rows, 8 columns at a time; of a tile whose last run of 8
 * is half outside, that half apart. off: of the lane's row. */
static void
store_wide(struct dist *d, const struct dist_out *o, const struct dist_epilogue *e,
           const kn_ref *row, kn_ref off)
{
    kn_ref v[8], cols[8], odd = dist_ic(d, KN_OP_and, o->ncols, 4), all, pick[3];
    kn_ref col = wide_column(d, e);
    uint32_t n = e->b.count;

    for (uint32_t y = 0; y < n; y += 2) {
        kn_ref at;

        cols[y / 2] = dist_ic(d, KN_OP_add, col, y * 16);
        at = dist_i2(d, KN_OP_add, off,
                     dist_ic(d, KN_OP_mul, cols[y / 2], o->size));
        pick[0] = dist_op(d, KN_OP_slt, kn_vb1,
                          dist_ic(d, KN_OP_add, cols[y / 2], 7), o->ncols);
        pick[1] = at;
        pick[2] = dist_int(d, DIST_NEVER);
        v[y / 2] = paired(d, o, row, y);
        store_run8(d, o, dist_op3(d, KN_OP_select, kn_v32, pick), v[y / 2]);
    }
    all = dist_op(d, KN_OP_ne, kn_sb1, odd, dist_int(d, 0));
    dist_add(d, KN_OP_if, 0)->arg[0] = all;
    for (uint32_t y = 0; y < n; y += 2) {
        kn_ref first = dist_op(d, KN_OP_slt, kn_vb1, cols[y / 2], o->ncols);

        pick[0] = dist_op(d, KN_OP_sge, kn_vb1,
                          dist_ic(d, KN_OP_add, cols[y / 2], 7), o->ncols);
        pick[0] = dist_op(d, KN_OP_band, kn_vb1, pick[0], first);
        pick[1] = dist_i2(d, KN_OP_add, off,
                          dist_ic(d, KN_OP_mul, cols[y / 2], o->size));
        pick[2] = dist_int(d, DIST_NEVER);
        store_run8(d, o, dist_op3(d, KN_OP_select, kn_v32, pick),
                   elements(d, v[y / 2], 0, 4));
    }
    dist_add(d, KN_OP_end, 0);
}

/* Column blocks from .. to - 1 of row block x. */
static void
store_row(struct dist *d, const struct kn_ins *i, const struct dist_out *o,
          const struct dist_epilogue *e, struct dist_span of)
{
    uint32_t x = of.from / e->b.count;
    kn_ref row = dist_ic(d, KN_OP_add, e->row0, x * 16);
    const kn_ref *reg = dist_tile(d, i->arg[0])->reg;

    dist_dice_row(d, o->dice, x);
    row = dist_i2(d, KN_OP_mul, row, o->pitch);
    if (o->vec == 8)
        store_wide(d, o, e, reg + x * e->b.count, row);
    for (uint32_t n = of.from; o->vec < 8 && n < of.to; n++) {
        uint32_t y = n % e->b.count;
        kn_ref col = dist_ic(d, KN_OP_add, e->col0, y * 16);

        if (i->attr[KN_A_add]) {
            struct dist_old old = dist_out_places(d, o, row, col);

            old = dist_out_load(d, o, o->r, &old);
            dist_apply(d, KN_OP_fadd, reg[n],
                       dist_out_old(d, o, &old, dist_acc_type(d, reg[n]).elem), 0);
        }
        store_fragment(d, o, dist_moved(d, o->dice, y, reg[n]), row, col);
    }
    dist_add(d, KN_OP_sched, 0); /* keeps later rows' loads from piling up */
}

static void
store_span(struct dist *d, const struct kn_ins *i, const struct dist_out *o,
           const struct dist_epilogue *e, struct dist_span of)
{
    while (of.from < of.to) {
        uint32_t end = (of.from / e->b.count + 1) * e->b.count;

        end = end < of.to ? end : of.to;
        store_row(d, i, o, e, (struct dist_span){ of.from, end });
        of.from = end;
    }
}

/* The slices `of` that acc.share says are this wave's, most often one of all: of more
 * than three halves by turns, since all that is jumped over waits for its instructions. */
static void
store_slices(struct dist *d, const struct kn_ins *i, const struct dist_out *o,
             const struct dist_epilogue *e, struct dist_span of)
{
    uint32_t splits = (uint32_t)i->attr[KN_A_splits], half = (of.to - of.from + 1) / 2;
    uint32_t step = of.to - of.from > 3 ? half : 1;

    for (uint32_t s = of.from; s < of.to; s += step) {
        uint32_t end = s + step < of.to ? s + step : of.to;
        kn_ref here = dist_is_mine(d, dist_operand(d, i->arg[7]), s, end);

        dist_add(d, KN_OP_if, 0)->arg[0] = here;
        if (step == 1)
            store_span(d, i, o, e, dist_slice_of(dist_tile(d, i->arg[0]), s, splits));
        else
            store_slices(d, i, o, e, (struct dist_span){ s, end });
        dist_add(d, KN_OP_end, 0);
    }
}

/* store: converts and writes every fragment, or those of a share of A's; add=1
 * adds C's old value first, fragment by fragment, so that offsets and values
 * live briefly. */
kiln_status
expand_store(struct dist *d, const struct kn_ins *i)
{
    struct dist_epilogue e = dist_epilogue(d, dist_tile(d, i->arg[0]));
    struct dist_out o = dist_out(d, i);
    uint32_t part = (uint32_t)i->attr[KN_A_part], rows = e.a.count;
    uint32_t parts = (uint32_t)i->attr[KN_A_parts];
    struct dist_dice dice;

    KN_TRY(dist_dice(d, i, &dice));
    o.dice = &dice;
    if (KN_REF_TAG(i->arg[7]) == KN_R_LDS)
        return store_shuffled(d, i, &o);
    if (o.vec == 8 && (e.b.count % 2 || e.b.count > 16))
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "store vec=8 needs "
                          "waves of 32 to 256 columns, by 32");
    if (i->arg[7])
        store_slices(d, i, &o, &e, (struct dist_span){ 0, (uint32_t)i->attr[KN_A_splits] });
    else
        store_span(d, i, &o, &e, (struct dist_span){ part * rows / parts * e.b.count,
                                                     (part + 1) * rows / parts * e.b.count });
    return KILN_OK;
}

/* store.zero: where `store` will add. */
kiln_status
expand_zero(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]);
    struct dist_epilogue e = dist_epilogue(d, t);
    struct dist_out o = dist_out(d, i);
    kn_ref zero = dist_op(d, KN_OP_mov, dist_vec(KN_T_f32, 4),
                          kn_flt(d->out, 0), 0);

    for (uint32_t x = 0; x < e.a.count; x++) {
        kn_ref row = dist_i2(d, KN_OP_mul, dist_ic(d, KN_OP_add, e.row0, x * 16),
                             o.pitch);

        for (uint32_t y = 0; y < e.b.count; y++)
            store_fragment(d, &o, zero, row,
                           dist_ic(d, KN_OP_add, e.col0, y * 16));
    }
    return KILN_OK;
}

/* o over the rows that ids may name, from base on; its pitch and columns are known. */
static void
reach(struct dist *d, const struct dist_rows *rows, kn_ref base, struct dist_out *o)
{
    kn_ref n = rows->tokens;

    if (rows->slots)
        n = dist_i2(d, KN_OP_mul, n, rows->topk);
    n = dist_assume(d, dist_i2(d, KN_OP_mul, n, o->pitch), DIST_NEVER);
    n = dist_i2(d, KN_OP_add, dist_i2(d, KN_OP_sub, n, o->pitch),
                dist_ic(d, KN_OP_mul, o->ncols, o->size));
    o->r = dist_rsrc(d, base, dist_clamp(d, n, 0, DIST_NEVER));
}

struct dist_out
dist_out_named(struct dist *d, const struct kn_ins *i, struct dist_rows *r)
{
    struct dist_out o = { .elem = (uint8_t)i->attr[KN_A_elem],
                          .vec = (uint32_t)i->attr[KN_A_vec],
                          .store = KN_OP_stg };
    kn_ref n0 = dist_operand(d, i->arg[3]);

    o.size = kn_elems[o.elem].bits / 8;
    r->pitch = o.pitch = dist_operand(d, i->arg[6]);
    o.ncols = dist_i2(d, KN_OP_sub, dist_operand(d, i->arg[5]), n0);
    o.ncols = dist_clamp(d, o.ncols, 0, d->in->shape.bn);
    reach(d, r, dist_address(d, dist_operand(d, i->arg[1]), 0, 0,
                             dist_ic(d, KN_OP_mul, n0, o.size)), &o);
    return o;
}

/* store.rows: the rows the sorted ids name; padding is stored nowhere. C
 * starts at the tile's first column; the fifth operand is the columns left. */
static struct dist_out
out_rows(struct dist *d, const struct kn_ins *i, struct dist_rows *rows)
{
    struct dist_out o = { .elem = (uint8_t)i->attr[KN_A_elem],
                          .vec = (uint32_t)i->attr[KN_A_vec],
                          .store = KN_OP_stg };

    *rows = (struct dist_rows){
        0, dist_operand(d, i->arg[3]),
        dist_operand(d, i->arg[4]), dist_operand(d, i->arg[6]),
        i->attr[KN_A_slots] != 0, i->attr[KN_A_plain] != 0 };
    if (i->attr[KN_A_atomic]) {
        o.store = KN_OP_atom;
        o.vec = o.elem == KN_T_bf16 ? 2 : 1;
    }
    o.size = kn_elems[o.elem].bits / 8;
    o.pitch = rows->pitch;
    o.ncols = dist_clamp(d, dist_operand(d, i->arg[5]), 0, d->in->shape.bn);
    reach(d, rows, dist_address(d, dist_operand(d, i->arg[1]), 0, 0, 0), &o);
    return o;
}

kiln_status
expand_scatter(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]);
    struct dist_epilogue e = dist_epilogue(d, t);
    struct dist_rows rows;
    struct dist_out o = out_rows(d, i, &rows);
    kn_ref *at = KN_NEW(d->c, kn_ref, e.a.count), *ids;
    struct dist_dice dice;

    KN_TRY(dist_dice(d, i, &dice));
    ids = dist_tile(d, i->arg[2])->reg;
    for (uint32_t x = 0; x < e.a.count; x++)
        at[x] = dist_row_offset(d, &rows, ids[x]);
    for (uint32_t x = 0; x < e.a.count; x++) {
        dist_dice_named(d, &dice, &rows, ids[x]);
        for (uint32_t y = 0; y < e.b.count; y++)
            store_fragment(d, &o, dist_moved(d, &dice, y, t->reg[x * e.b.count + y]),
                           at[x], dist_ic(d, KN_OP_add, e.col0, y * 16));
    }
    return KILN_OK;
}
