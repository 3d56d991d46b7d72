/* distribute_quant.c - blocks of 32 with one E8M0 scale each. store.mx:
 * accumulators; a block is two 16-column accumulators of the four lanes that
 * share a row (distribute_epilogue.c). put.quant: rows of A on their way to
 * LDS; a block is four lanes side by side. */
#include "distribute.h"

/* Largest power of two, largest mantissa (of 23 bits) and mantissa bits of
 * the element (OCP MX v1.0, table 1). */
struct format {
    int top;
    uint32_t most, bits;
    double limit;
};

static struct format
format_of(int elem)
{
    return elem == KN_T_fp4 ? (struct format){ 2, 0x400000, 1, 6 }
                            : (struct format){ 8, 0x600000, 3, 448 };
}

/* What is added to the bits of the largest magnitude, so that its exponent is
 * the scale's: modes of gen/tool/run/moe.h in their order. */
static int64_t
rounding(const struct format *f, int mode)
{
    const int64_t add[] = { 0, 0x7fffff - (int64_t)f->most,
                            (int64_t)1 << (22 - f->bits), 0x7fffff };

    return add[mode & 3];
}

static kn_ref
largest(struct dist *d, kn_ref x, kn_ref y)
{
    struct kn_type t = kn_val(d->out, x)->type;
    kn_ref hi = dist_op(d, KN_OP_fmax, t, x, y), m = 0;
    kn_ref lo = dist_op(d, KN_OP_fmin, t, x, y);

    lo = dist_op(d, KN_OP_fmul, t, lo, kn_flt(d->out, -1));
    hi = dist_op(d, KN_OP_fmax, t, hi, lo);
    for (int e = 0; e < 4; e++) {
        kn_ref s = dist_float(d, hi, (uint32_t)e);

        m = m ? dist_op(d, KN_OP_fmax, kn_vf32, m, s) : s;
    }
    return dist_op(d, KN_OP_qmax, kn_vf32, m, 0);
}

/* The E8M0 byte of the f32 bits of the largest: at least 1, since the
 * conversions take normal scales. */
kn_ref
dist_scale_byte(struct dist *d, int elem, int mode, kn_ref u)
{
    struct format f = format_of(elem);

    u = dist_ic(d, KN_OP_add, u, rounding(&f, mode));
    u = dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_shr, u, 23), -f.top);
    return dist_ic(d, KN_OP_smin, dist_ic(d, KN_OP_smax, u, 1), 254);
}

/* Four codes in the low bits; fp8 has NaN beyond its limit, fp4 saturates. */
kn_ref
dist_mx_codes(struct dist *d, int elem, bool sat, const kn_ref v[2])
{
    kn_ref x = v[0], scale = v[1], q, lim;
    struct kn_type t = kn_val(d->out, x)->type;
    struct format f = format_of(elem);

    if (elem == KN_T_fp8 && sat) {
        lim = dist_op(d, KN_OP_fmul, kn_vf32, scale, kn_flt(d->out, f.limit));
        lim = dist_op(d, KN_OP_splat, t, lim, 0);
        x = dist_op(d, KN_OP_fmin, t, x, lim);
        lim = dist_op(d, KN_OP_fmul, t, lim, kn_flt(d->out, -1));
        x = dist_op(d, KN_OP_fmax, t, x, lim);
    }
    q = dist_op(d, KN_OP_cvtmx, kn_v32, x, scale);
    d->out->ins[d->out->nins - 1].attr[KN_A_elem] = elem;
    return q;
}

struct target {              /* payload or scales */
    kn_ref r;
    struct dist_rows rows;
    kn_ref off;              /* of the current row */
};

/* Records from the tile's first column to the end of the last row. */
static void
open_target(struct dist *d, struct target *t, kn_ref base, kn_ref bytes)
{
    kn_ref n = dist_i2(d, KN_OP_mul, t->rows.tokens, t->rows.topk);

    n = dist_i2(d, KN_OP_mul, dist_ic(d, KN_OP_add, n, -1), t->rows.pitch);
    n = dist_ic(d, KN_OP_smax, dist_i2(d, KN_OP_add, n, bytes), 0);
    t->r = dist_rsrc(d, dist_address(d, base, 0, 0, 0), n);
}

struct place {
    kn_ref col, in;          /* of the lane; is it to be stored */
    uint8_t elem;
};

static void
put(struct dist *d, const struct target *t, struct place at, kn_ref v)
{
    kn_ref arg[3] = { at.in, dist_i2(d, KN_OP_add, t->off, at.col),
                      dist_int(d, DIST_NEVER) };

    dist_stg(d, t->r, dist_op3(d, KN_OP_select, kn_v32, arg), v, at.elem);
}

/* One block: the row's accumulators y and y + 1, the first at column `col` of the
 * lane. */
struct block {
    const kn_ref *row;
    uint32_t y;
    kn_ref col;
    struct dist_dice *dice;
};

static void
store_block(struct dist *d, const struct kn_ins *i, struct target t[2],
            const struct block *b)
{
    const kn_ref *acc = b->row + b->y, col = b->col;
    bool fp4 = i->attr[KN_A_elem] == KN_T_fp4;
    kn_ref cols = dist_operand(d, i->arg[6]);
    kn_ref in = dist_op(d, KN_OP_slt, kn_vb1, col, cols);
    kn_ref amax = dist_op(d, KN_OP_bits, kn_v32, largest(d, acc[0], acc[1]), 0);
    kn_ref byte = dist_scale_byte(d, i->attr[KN_A_elem], i->attr[KN_A_mode], amax);
    kn_ref scale;
    kn_ref first = dist_op(d, KN_OP_eq, kn_vb1, d->q, dist_int(d, 0));

    scale = dist_op(d, KN_OP_bits, kn_vf32, dist_ic(d, KN_OP_shl, byte, 23),
                    0);
    for (int x = 0; x < 2; x++) {
        kn_ref at = dist_ic(d, KN_OP_add, col, 16 * x);
        kn_ref v[2] = { acc[x], scale };

        dist_move_scaled(d, b->dice, b->y + (uint32_t)x, v);
        put(d, &t[0], (struct place){ fp4 ? dist_ic(d, KN_OP_shr, at, 1) : at,
                                      in, fp4 ? KN_T_i16 : KN_T_i32 },
            dist_mx_codes(d, i->attr[KN_A_elem], true, v));
    }
    in = dist_op(d, KN_OP_band, kn_vb1, in, first);
    put(d, &t[1], (struct place){ dist_ic(d, KN_OP_shr, col, 5), in, KN_T_i8 },
        byte);
}

kiln_status
expand_storemx(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]), *ids = dist_tile(d, i->arg[3]);
    uint32_t count = t->nreg / ids->nreg;
    bool fp4 = i->attr[KN_A_elem] == KN_T_fp4;
    kn_ref cols = dist_operand(d, i->arg[6]), col0;
    struct dist_dice dice;
    struct target to[2] = { { .rows = {
        0, dist_operand(d, i->arg[4]), dist_operand(d, i->arg[5]),
        dist_operand(d, i->arg[7]), true, i->attr[KN_A_plain] != 0 } } };

    if (count % 2)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "store.mx needs an even "
                          "number of 16-column blocks in a wave");
    KN_TRY(dist_dice(d, i, &dice));
    to[1] = to[0];
    to[1].rows.pitch = dist_ic(d, KN_OP_udiv, to[0].rows.pitch, fp4 ? 16 : 32);
    open_target(d, &to[0], dist_operand(d, i->arg[1]),
                fp4 ? dist_ic(d, KN_OP_shr, cols, 1) : cols);
    open_target(d, &to[1], dist_operand(d, i->arg[2]),
                dist_ic(d, KN_OP_shr, cols, 5));
    col0 = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, d->wave_n, count * 16),
                   dist_ic(d, KN_OP_mul, d->q, 4));
    for (uint32_t x = 0; x < ids->nreg; x++) {
        for (int k = 0; k < 2; k++)
            to[k].off = dist_row_offset(d, &to[k].rows, ids->reg[x]);
        dist_dice_named(d, &dice, &to[0].rows, ids->reg[x]);
        for (uint32_t y = 0; y < count; y += 2)
            store_block(d, i, to, &(struct block){
                &t->reg[x * count], y, dist_ic(d, KN_OP_add, col0, y * 16), &dice });
    }
    return KILN_OK;
}

/* ---- put.quant ---- */

/* A block with a NaN or an infinity has the scale NaN. */
static kn_ref
block_byte(struct dist *d, const struct kn_ins *i, const struct dist_run *r)
{
    kn_ref amax = dist_largest(d, r, 32 / DIST_QUANT), arg[3];

    arg[0] = dist_op(d, KN_OP_ult, kn_vb1, amax, dist_int(d, 0x7f800000));
    arg[1] = dist_scale_byte(d, KN_T_fp4, i->attr[KN_A_mode], amax);
    arg[2] = dist_int(d, 255);
    return dist_op3(d, KN_OP_select, kn_v32, arg);
}

/* Codes of a run, 4 bits each. */
static void
put_codes(struct dist *d, const struct kn_ins *i, const struct dist_run *r,
          kn_ref scale)
{
    kn_ref half[2];

    for (int h = 0; h < 2; h++) {
        kn_ref v = dist_cat(d, r->word + 2 * h, 2);

        v = dist_op(d, KN_OP_bits, dist_vec(r->from, 4), v, 0);
        half[h] = dist_mx_codes(d, KN_T_fp4, true, (kn_ref[2]){ v, scale });
    }
    half[1] = dist_ic(d, KN_OP_shl, half[1], 16);
    dist_store_lds(d, (struct dist_place){ i->arg[0], r->at[0], 0 },
                   dist_i2(d, KN_OP_or, half[0], half[1]), 4);
}

/* x * inverse rounded to a value of fp4, as gfx942 has no such conversion: a
 * sum with 1.5 * 2^22 times the power of two below it (at least 1) leaves one
 * bit behind the leading one, nearest even; 6 is the largest. */
static kn_ref
fp4_value(struct dist *d, kn_ref bits, kn_ref inverse)
{
    kn_ref x = dist_op(d, KN_OP_bits, kn_vf32, bits, 0), big, sum;

    x = dist_op(d, KN_OP_fmul, kn_vf32, x, inverse);
    x = dist_op(d, KN_OP_fmin, kn_vf32, x, kn_flt(d->out, 6));
    x = dist_op(d, KN_OP_fmax, kn_vf32, x, kn_flt(d->out, -6));
    big = dist_op(d, KN_OP_bits, kn_v32, x, 0);
    big = dist_ic(d, KN_OP_and, big, 0x7f800000);
    big = dist_ic(d, KN_OP_umax, big, 0x3f800000);
    big = dist_op(d, KN_OP_bits, kn_vf32, big, 0);
    big = dist_op(d, KN_OP_fmul, kn_vf32, big, kn_flt(d->out, 6291456));
    sum = dist_op(d, KN_OP_fadd, kn_vf32, x, big);
    big = dist_op(d, KN_OP_fmul, kn_vf32, big, kn_flt(d->out, -1));
    return dist_op(d, KN_OP_fadd, kn_vf32, sum, big);
}

/* Values of a run as fp8, which has all of fp4's. */
static void
put_values(struct dist *d, const struct kn_ins *i, const struct dist_run *r,
           kn_ref byte)
{
    kn_ref word[2], inverse;

    inverse = dist_ic(d, KN_OP_smax, dist_i2(d, KN_OP_sub, dist_int(d, 254),
                                             byte), 0);
    inverse = dist_op(d, KN_OP_bits, kn_vf32,
                      dist_ic(d, KN_OP_shl, inverse, 23), 0);
    for (int x = 0; x < 2; x++) {
        kn_ref v[4];

        for (int k = 0; k < 4; k++)
            v[k] = fp4_value(d, dist_element(d, r, (uint32_t)(4 * x + k)), inverse);
        word[x] = dist_op(d, KN_OP_cvt8, kn_v32, dist_floats(d, v, 4), 0);
        d->out->ins[d->out->nins - 1].attr[KN_A_elem] = KN_T_fp8;
    }
    dist_store_lds(d, (struct dist_place){ i->arg[0], r->at[0], 0 },
                   dist_cat(d, word, 2), 8);
}

/* Where the scale of a block beside others of its row goes; of a block beyond
 * the tile, behind it. */
static kn_ref
scale_at(struct dist *d, const struct kn_ins *i, const struct dist_run *r)
{
    const struct kn_lds *l = &d->in->lds[KN_REF_LDS(i->arg[0])];
    const struct kn_lds *s = &d->in->lds[KN_REF_LDS(i->arg[1])];
    uint32_t pitch = kn_geometry(d->in, s).pitch;
    uint32_t n = kn_geometry(d->in, l).nchunks;
    kn_ref id = dist_chunk_id(d, r->step), arg[3];
    kn_ref block = dist_ic(d, KN_OP_udiv, r->run, 32 / DIST_QUANT);

    if (s->lk)
        return dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, r->row, pitch),
                       block);
    arg[1] = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, block, pitch),
                     dist_ic(d, KN_OP_mul, r->row, 4));
    if ((r->step + 1) * kn_waves(d->in) * 64 <= n)
        return arg[1];
    arg[0] = dist_op(d, KN_OP_ult, kn_vb1, id, dist_int(d, n));
    arg[2] = dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_udiv, id, 32 / DIST_QUANT),
                     4);
    return dist_op3(d, KN_OP_select, kn_v32, arg);
}

void
dist_put_block(struct dist *d, const struct kn_ins *i, const struct dist_run *r)
{
    const struct kn_lds *s = &d->in->lds[KN_REF_LDS(i->arg[1])];
    kn_ref byte = block_byte(d, i, r), factor = dist_ic(d, KN_OP_shl, byte, 23);
    kn_ref arg[3];

    if (s->elem == KN_T_e8m0) {
        put_codes(d, i, r, dist_op(d, KN_OP_bits, kn_vf32, factor, 0));
        dist_store_lds(d, (struct dist_place){ i->arg[1], scale_at(d, i, r),
                                               0 }, byte, 1);
        return;
    }
    put_values(d, i, r, byte);
    arg[0] = dist_op(d, KN_OP_ult, kn_vb1, byte, dist_int(d, 255));
    arg[1] = factor;
    arg[2] = dist_int(d, 0x7fc00000);
    factor = dist_op3(d, KN_OP_select, kn_v32, arg);
    dist_store_lds(d, (struct dist_place){ i->arg[1], scale_at(d, i, r), 0 },
                   dist_op(d, KN_OP_bits, kn_vf32, factor, 0), 4);
}
