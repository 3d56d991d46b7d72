/* distribute_store.c - accumulators to memory: by fragment, by pairs of
 * fragments, at any byte, or to the rows that ids name (through LDS:
 * distribute_store_lds.c); added to what is there if C is asked for. Where a lane's
 * accumulators are: distribute_epilogue.c. */
#include "split.h"

struct dist_out
dist_out(struct dist *d, const struct kn_ins *i)
{
    struct dist_out o = { .elem = (uint8_t)i->attr[KN_A_elem],
                          .vec = (uint32_t)i->attr[KN_A_vec],
                          .sat = i->attr[KN_A_sat] != 0,
                          .any = i->attr[KN_A_any] != 0,
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

kn_ref
dist_out_where(struct dist *d, const struct dist_out *o, const kn_ref at[2], kn_ref there)
{
    kn_ref pick[] = { there,
                      dist_i2(d, KN_OP_add, at[0], dist_ic(d, KN_OP_mul, at[1], o->size)),
                      dist_int(d, DIST_NEVER) };

    return dist_op3(d, KN_OP_select, kn_v32, pick);
}

static kn_ref
out_offset(struct dist *d, const struct dist_out *o, kn_ref row_off, kn_ref col)
{
    return dist_out_where(d, o, (kn_ref[]){ row_off, col },
                          dist_op(d, KN_OP_slt, kn_vb1, col, o->ncols));
}

kn_ref
dist_elements(struct dist *d, kn_ref v, uint32_t first, uint32_t n)
{
    kn_ref x = dist_op(d, KN_OP_slice, dist_vec(dist_acc_type(d, v).elem, n), v, 0);

    d->out->ins[d->out->nins - 1].attr[KN_A_first] = (int32_t)first;
    return x;
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

/* Not of codes. */
static kn_ref
as_stored(struct dist *d, const struct dist_out *o, kn_ref acc)
{
    struct kn_type t = dist_acc_type(d, acc);

    if (o->elem == KN_T_i32)  /* LLVM splits integer vectors it sees taken
                                 apart into scalars all through the loop */
        return dist_op(d, KN_OP_bits, dist_vec(KN_T_f32, t.n), acc, 0);
    return o->elem == t.elem ? acc : dist_op(d, KN_OP_cvt, dist_vec(o->elem, t.n), acc, 0);
}

static void
store_fragment(struct dist *d, const struct dist_out *o, kn_ref acc,
               kn_ref row_off, kn_ref col)
{
    struct kn_type t = dist_acc_type(d, acc);
    kn_ref v;

    if (dist_is_code(o->elem)) {
        store_codes(d, o, acc, row_off, col);
        return;
    }
    v = as_stored(d, o, acc);
    for (uint32_t n = 0; n < t.n; n += o->vec) {
        kn_ref c = dist_ic(d, KN_OP_add, col, n), x = v, off;
        struct kn_ins *s;

        off = out_offset(d, o, row_off, c);
        if (o->vec < t.n)
            x = dist_elements(d, v, n, o->vec);
        s = dist_add(d, o->store, 0);
        s->arg[0] = o->r;
        s->arg[1] = off;
        s->arg[2] = x;
        s->attr[KN_A_elem] = o->elem;
        s->attr[KN_A_coh] = o->coh;
    }
}

/* ---- rows at any byte ----
 *
 * Where N or C's rows are no whole runs (vec=1), four columns are stored at once all the
 * same (any=1), since memory takes them at any byte (docs/hardware.md); of a tile whose last four
 * are not all of the output those that are, one by one. */
/* at: the row's offset, the column of four. */
static void
store_four(struct dist *d, const struct dist_out *o, kn_ref acc, const kn_ref at[2])
{
    struct dist_out four = *o;
    kn_ref last = dist_ic(d, KN_OP_add, at[1], 3), off;

    four.vec = 4;
    off = dist_out_where(d, o, at, dist_op(d, KN_OP_slt, kn_vb1, last, o->ncols));
    if (dist_is_code(o->elem))
        dist_store_codes(d, &four, off, dist_codes(d, o->elem, o->sat, acc));
    else
        dist_stg(d, o->r, off, as_stored(d, o, acc), o->elem);
}

/* Those of four that are there where the last is not. */
static void
store_rest(struct dist *d, const struct dist_out *o, kn_ref acc, const kn_ref at[2])
{
    kn_ref part = dist_op(d, KN_OP_sge, kn_vb1, dist_ic(d, KN_OP_add, at[1], 3), o->ncols);
    bool code = dist_is_code(o->elem);
    kn_ref v = code ? dist_codes(d, o->elem, o->sat, acc) : as_stored(d, o, acc);

    for (uint32_t n = 0; n < 3; n++) {
        kn_ref one[] = { at[0], dist_ic(d, KN_OP_add, at[1], n) };
        kn_ref there = dist_op(d, KN_OP_slt, kn_vb1, one[1], o->ncols), off;

        off = dist_out_where(d, o, one, dist_op(d, KN_OP_band, kn_vb1, part, there));
        if (code)
            dist_store_codes(d, o, off, n ? dist_ic(d, KN_OP_shr, v, 8 * n) : v);
        else
            dist_stg(d, o->r, off, dist_elements(d, v, n, 1), o->elem);
    }
}

/* The n fragments of a row of blocks, the first at column at[1]. */
static void
store_loose(struct dist *d, const struct dist_out *o, const kn_ref *acc, uint32_t n,
            const kn_ref at[2])
{
    kn_ref odd = dist_ic(d, KN_OP_and, o->ncols, 3);

    odd = dist_op(d, KN_OP_ne, kn_sb1, odd, dist_int(d, 0));
    for (uint32_t y = 0; y < n; y++)
        store_four(d, o, acc[y], (kn_ref[]){ at[0], dist_ic(d, KN_OP_add, at[1], y * 16) });
    dist_add(d, KN_OP_if, 0)->arg[0] = odd;
    for (uint32_t y = 0; y < n; y++)
        store_rest(d, o, acc[y], (kn_ref[]){ at[0], dist_ic(d, KN_OP_add, at[1], y * 16) });
    dist_add(d, KN_OP_end, 0);
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
        store_run8(d, o, dist_out_where(d, o, (kn_ref[]){ off, cols[y / 2] }, pick[0]),
                   dist_elements(d, v[y / 2], 0, 4));
    }
    dist_add(d, KN_OP_end, 0);
}

enum { OLD_RUN = 2 };        /* fragments whose old values are on their way at once */
struct old_run {
    kn_ref row;              /* the row's offset */
    uint32_t y, n;           /* column blocks */
};

/* C's old values are added to acc, n fragments of a row, the first of column block y. */
static void
add_old(struct dist *d, const struct dist_out *o, const struct dist_epilogue *e,
        const kn_ref *acc, struct old_run of)
{
    struct dist_old old[OLD_RUN];

    for (uint32_t k = 0; k < of.n; k++) {
        old[k] = dist_out_places(d, o, of.row, dist_ic(d, KN_OP_add, e->col0,
                                                       (of.y + k) * 16));
        old[k] = dist_out_load(d, o, o->r, &old[k]);
    }
    for (uint32_t k = 0; k < of.n; k++) {
        dist_out_rest(d, o, e, &(struct dist_rest){ o->r, of.row, of.y + k, &old[k] });
        dist_apply(d, KN_OP_fadd, acc[k],
                   dist_out_old(d, o, &old[k], dist_acc_type(d, acc[k]).elem), 0);
    }
}

/* Column blocks from .. to - 1 of row block x. */
static void
store_row(struct dist *d, const struct kn_ins *i, const struct dist_out *o,
          const struct dist_epilogue *e, struct dist_span of)
{
    uint32_t x = of.from / e->b.count, step = dist_out_loose(o) ? OLD_RUN : 1;
    kn_ref row = dist_ic(d, KN_OP_add, e->row0, x * 16);
    const kn_ref *reg = dist_tile(d, i->arg[0])->reg;

    dist_dice_row(d, o->dice, x);
    row = dist_i2(d, KN_OP_mul, row, o->pitch);
    if (o->vec == 8)
        store_wide(d, o, e, reg + x * e->b.count, row);
    for (uint32_t n = of.from; o->vec < 8 && n < of.to; n += step) {
        uint32_t y = n % e->b.count, left = of.to - n;

        if (i->attr[KN_A_add])
            add_old(d, o, e, reg + n,
                    (struct old_run){ row, y, left < step ? left : step });
        if (!dist_out_loose(o))
            store_fragment(d, o, dist_moved(d, o->dice, y, reg[n]), row,
                           dist_ic(d, KN_OP_add, e->col0, y * 16));
    }
    if (dist_out_loose(o)) {
        kn_ref first = dist_ic(d, KN_OP_add, e->col0, of.from % e->b.count * 16);

        store_loose(d, o, reg + of.from, of.to - of.from, (kn_ref[]){ row, first });
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

struct stored {
    const struct kn_ins *i;
    const struct dist_out *o;
    const struct dist_epilogue *e;
};

static void
store_slice(struct dist *d, void *of, struct dist_span blocks)
{
    const struct stored *x = of;

    store_span(d, x->i, x->o, x->e, blocks);
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
        return dist_store_runs(d, i, &o);
    if (o.vec == 8 && (e.b.count % 2 || e.b.count > 16))
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "store vec=8 needs "
                          "waves of 32 to 256 columns, by 32");
    if (i->arg[7])
        dist_each_slice(d, &(struct dist_sliced){
            store_slice, &(struct stored){ i, &o, &e }, dist_tile(d, i->arg[0]),
            dist_operand(d, i->arg[7]), (uint32_t)i->attr[KN_A_splits] });
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
