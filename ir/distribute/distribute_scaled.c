/* distribute_scaled.c - store.quant: accumulators to codes under scales that are
 * made and written here, a scale for some columns of a row. All of a scale's
 * columns are one wave's: of a row they are in the four lanes l, l ^ 16, l ^ 32
 * and l ^ 48 (distribute_epilogue.c). */
#include "distribute.h"

static bool
is_mx(const struct dist_scaled *s)
{
    return s->i->attr[KN_A_cols] == 32;
}

/* Bytes of n columns of codes. */
static kn_ref
code_bytes(struct dist *d, const struct dist_scaled *s, kn_ref n)
{
    return s->elem != KN_T_fp4 ? n
           : dist_ic(d, KN_OP_shr, dist_ic(d, KN_OP_add, n, 1), 1);
}

/* Bytes of the scales of n columns. */
static kn_ref
scale_bytes(struct dist *d, const struct dist_scaled *s, kn_ref n)
{
    int32_t cols = s->i->attr[KN_A_cols];

    if (!cols)
        return dist_int(d, s->size);
    n = dist_ic(d, KN_OP_udiv, dist_ic(d, KN_OP_add, n, cols - 1), cols);
    return dist_ic(d, KN_OP_mul, n, s->size);
}

static kn_ref
resource(struct dist *d, kn_ref base, kn_ref rows, const kn_ref row[2])
{
    kn_ref n = dist_i2(d, KN_OP_mul, dist_ic(d, KN_OP_add, rows, -1), row[0]);

    n = dist_i2(d, KN_OP_add, n, row[1]);
    return dist_rsrc(d, base, dist_clamp(d, n, 0, DIST_NEVER));
}

/* Of all rows that ids may name, with one scale each; columns from n0 on. */
static void
open_named(struct dist *d, struct dist_scaled *s, kn_ref n0)
{
    kn_ref n = dist_i2(d, KN_OP_mul, d->named.tokens, d->named.topk);
    kn_ref c = dist_operand(d, s->i->arg[1]);

    s->rows = d->named;
    s->rows.pitch = s->pitch;
    n = dist_assume(d, dist_i2(d, KN_OP_mul, n, s->pitch), DIST_NEVER);
    n = dist_i2(d, KN_OP_add, dist_i2(d, KN_OP_sub, n, s->pitch), s->ncols);
    s->codes = dist_rsrc(d, dist_address(d, c, 0, 0, n0),
                         dist_clamp(d, n, 0, DIST_NEVER));
    s->scales = dist_rows_f32(d, &d->named, dist_operand(d, s->i->arg[7]));
}

struct dist_scaled
dist_scaled(struct dist *d, const struct kn_ins *i, const struct dist_tile *t,
            bool whole)
{
    struct dist_scaled s = { .i = i, .e = dist_epilogue(d, t),
                        .elem = (uint8_t)i->attr[KN_A_elem],
                        .vec = (uint8_t)i->attr[KN_A_vec],
                        .size = i->attr[KN_A_cols] == 32 ? 1 : 4 };
    kn_ref m0 = dist_operand(d, i->arg[2]), n = dist_operand(d, i->arg[5]);
    kn_ref n0 = whole ? dist_int(d, 0) : dist_operand(d, i->arg[3]), rows, row[2];

    s.per = i->attr[KN_A_cols] ? (uint32_t)i->attr[KN_A_cols] / 16 : s.e.b.count;
    s.pitch = dist_operand(d, i->arg[6]);
    s.spitch = scale_bytes(d, &s, n);
    s.ncols = dist_clamp(d, dist_i2(d, KN_OP_sub, n, n0), 0,
                         whole ? DIST_NEVER : d->in->shape.bn);
    s.quad0 = dist_op(d, KN_OP_eq, kn_vb1, d->q, dist_int(d, 0));
    s.ids = i->attr[KN_A_cols] ? NULL : d->ids;
    if (s.ids) {
        open_named(d, &s, n0);
        return s;
    }
    rows = dist_i2(d, KN_OP_sub, dist_operand(d, i->arg[4]), m0);
    rows = dist_clamp(d, rows, 0, d->in->shape.bm);
    row[0] = s.pitch;
    row[1] = code_bytes(d, &s, s.ncols);
    s.codes = resource(d, dist_address(d, dist_operand(d, i->arg[1]), m0,
                                       s.pitch, code_bytes(d, &s, n0)),
                       rows, row);
    row[0] = s.spitch;
    row[1] = scale_bytes(d, &s, s.ncols);
    s.scales = resource(d, dist_address(d, dist_operand(d, i->arg[7]), m0,
                                        s.spitch, i->attr[KN_A_cols]
                                        ? scale_bytes(d, &s, n0)
                                        : dist_int(d, 0)), rows, row);
    return s;
}

void
dist_scaled_row(struct dist *d, struct dist_scaled *s, kn_ref from, kn_ref id,
                kn_ref at[2])
{
    kn_ref row;

    if (id) {
        at[0] = dist_row_offset(d, &s->rows, id);
        at[1] = dist_row_offset(d, &d->named, id);
        dist_dice_named(d, &s->dice, &s->rows, id);
        return;
    }
    row = dist_i2(d, KN_OP_add, s->e.row0, from);
    at[0] = dist_i2(d, KN_OP_mul, row, s->pitch);
    at[1] = dist_i2(d, KN_OP_mul, row, s->spitch);
    dist_dice_at(d, &s->dice, from);
}

void
dist_clear_beyond(struct dist *d, const struct dist_scaled *s,
                  const struct dist_tile *t)
{
    kn_ref part = dist_op(d, KN_OP_slt, kn_sb1, s->ncols,
                          dist_int(d, d->in->shape.bn));
    kn_ref zero = kn_flt(d->out, 0);

    dist_add(d, KN_OP_if, 0)->arg[0] = part;
    for (uint32_t y = 0; y < s->e.b.count; y++) {
        kn_ref in = dist_temp(d, dist_vec(KN_T_f32, 4));
        kn_ref one[4];

        for (int k = 0; k < 4; k++) {
            kn_ref col = dist_ic(d, KN_OP_add, s->e.col0, y * 16 + k), arg[3];

            arg[0] = dist_op(d, KN_OP_slt, kn_vb1, col, s->ncols);
            arg[1] = dist_int(d, 0x3f800000);
            arg[2] = dist_int(d, 0);
            one[k] = dist_op(d, KN_OP_bits, kn_vf32,
                             dist_op3(d, KN_OP_select, kn_v32, arg), 0);
        }
        dist_cat_to(d, in, one, 4);
        for (uint32_t x = 0; x < s->e.a.count; x++) {
            kn_ref acc = t->reg[x * s->e.b.count + y];
            struct kn_ins *sel = dist_add(d, KN_OP_fsel, acc);

            sel->arg[0] = in;
            sel->arg[1] = sel->arg[3] = zero;
            sel->arg[2] = acc;
        }
    }
    dist_add(d, KN_OP_end, 0);
}

struct dist_made_scale
dist_plain_scale(struct dist *d, const struct dist_scaled *s, kn_ref most)
{
    double limit = dist_limit(d, s->elem);
    struct dist_made_scale x;

    most = dist_op(d, KN_OP_qmax, kn_vf32, most, 0);
    most = dist_op(d, KN_OP_fmax, kn_vf32, most, kn_flt(d->out, 1e-10));
    x.written = dist_op(d, KN_OP_fmul, kn_vf32, most, kn_flt(d->out, 1 / limit));
    x.by = dist_op(d, KN_OP_rcp, kn_vf32, x.written, 0);
    x.by = dist_op(d, KN_OP_fmul, kn_vf32, x.by,
                   kn_flt(d->out, 1 - 0x1p-21));
    return x;
}

/* Each lane's E8M0 byte of its own largest, as the exponent of a float: the
 * largest of these is that of all, infinity where one has a NaN. */
static struct dist_made_scale
mx_scale(struct dist *d, const struct dist_scaled *s, kn_ref most)
{
    kn_ref u = dist_op(d, KN_OP_bits, kn_v32, most, 0), arg[3];
    struct dist_made_scale x;

    arg[0] = dist_op(d, KN_OP_ult, kn_vb1, u, dist_int(d, 0x7f800000));
    arg[1] = dist_scale_byte(d, s->elem, s->i->attr[KN_A_mode], u);
    arg[2] = dist_int(d, 255);
    u = dist_ic(d, KN_OP_shl, dist_op3(d, KN_OP_select, kn_v32, arg), 23);
    x.by = dist_op(d, KN_OP_qmax, kn_vf32,
                   dist_op(d, KN_OP_bits, kn_vf32, u, 0), 0);
    u = dist_op(d, KN_OP_bits, kn_v32, x.by, 0);
    x.written = dist_ic(d, KN_OP_shr, u, 23);
    return x;
}

kn_ref
dist_scaled_codes(struct dist *d, struct dist_scaled *s, uint32_t y, kn_ref acc,
                  kn_ref by)
{
    struct kn_type four = dist_acc_type(d, acc);
    bool sat = s->i->attr[KN_A_sat] && s->i->attr[KN_A_mode] % 2 == 0;

    if (is_mx(s)) {          /* of odd modes none is beyond the limit */
        kn_ref x[2] = { acc, by };

        dist_move_scaled(d, &s->dice, y, x);
        acc = dist_mx_codes(d, s->elem, sat, x);
        d->out->ins[d->out->nins - 1].attr[KN_A_parts] = 2;
        return acc;
    }
    by = dist_op(d, KN_OP_splat, four, by, 0);
    acc = dist_op(d, KN_OP_fmul, four, acc, by);
    return dist_codes_within(d, s->elem, dist_moved(d, &s->dice, y, acc));
}

kn_ref
dist_only_if(struct dist *d, kn_ref in, kn_ref off)
{
    return dist_op3(d, KN_OP_select, kn_v32,
                    (kn_ref[3]){ in, off, dist_int(d, DIST_NEVER) });
}

void
dist_put_codes(struct dist *d, const struct dist_scaled *s, kn_ref v, kn_ref row,
               kn_ref col)
{
    bool fp4 = s->elem == KN_T_fp4;
    uint32_t step = s->vec == 4 ? 4 : fp4 ? 2 : 1;
    uint32_t bits = fp4 ? 4 : 8;

    for (uint32_t n = 0; n < 4; n += step) {
        kn_ref c = dist_ic(d, KN_OP_add, col, n);
        kn_ref at = fp4 ? dist_ic(d, KN_OP_shr, c, 1) : c;
        kn_ref in = dist_op(d, KN_OP_slt, kn_vb1, c, s->ncols);

        dist_stg(d, s->codes, dist_only_if(d, in, dist_i2(d, KN_OP_add, row, at)),
                 n ? dist_ic(d, KN_OP_shr, v, bits * n) : v,
                 s->vec == 1 ? KN_T_i8 : fp4 ? KN_T_i16 : KN_T_i32);
    }
}

/* The columns of one scale: accumulators from number y of a row on. */
static void
put_block(struct dist *d, struct dist_scaled *s, const kn_ref *acc,
          const kn_ref at[2], uint32_t y)
{
    kn_ref most = kn_flt(d->out, 0), first, off;
    struct dist_made_scale x;

    for (uint32_t k = 0; k < s->per; k++) {
        most = dist_op(d, KN_OP_amax, kn_vf32, acc[y + k], most);
        d->out->ins[d->out->nins - 1].attr[KN_A_mode] = is_mx(s);
    }
    x = is_mx(s) ? mx_scale(d, s, most) : dist_plain_scale(d, s, most);
    for (uint32_t k = 0; k < s->per; k++)
        dist_put_codes(d, s, dist_scaled_codes(d, s, y + k, acc[y + k], x.by), at[0],
                       dist_ic(d, KN_OP_add, s->e.col0, (y + k) * 16));
    first = dist_ic(d, KN_OP_add, s->e.col0, y * 16);
    off = dist_i2(d, KN_OP_add, at[1], dist_ic(d, KN_OP_mul,
                  dist_ic(d, KN_OP_udiv, first, s->per * 16), s->size));
    first = dist_op(d, KN_OP_band, kn_vb1, s->quad0,
                    dist_op(d, KN_OP_slt, kn_vb1, first, s->ncols));
    dist_stg(d, s->scales, dist_only_if(d, first, off), x.written,
             s->size == 1 ? KN_T_i8 : KN_T_f32);
}

kiln_status
expand_storeq(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]);
    struct dist_scaled s = dist_scaled(d, i, t, false);
    uint32_t n = s.e.b.count, part = (uint32_t)i->attr[KN_A_part];
    uint32_t parts = (uint32_t)i->attr[KN_A_parts];
    kn_ref at[2];

    if (n % s.per || (!i->attr[KN_A_cols] && d->in->shape.wn != 1))
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "store.quant needs waves "
                          "of whole scales: of %u columns, or as wide as the "
                          "tile", s.per * 16);
    KN_TRY(dist_dice(d, i, &s.dice));
    if (!part)
        dist_clear_beyond(d, &s, t);
    for (uint32_t x = part * s.e.a.count / parts;
         x < (part + 1) * s.e.a.count / parts; x++) {
        dist_scaled_row(d, &s, dist_int(d, x * 16), s.ids ? s.ids[x] : 0, at);
        for (uint32_t y = 0; y < n; y += s.per)
            put_block(d, &s, t->reg + x * n, at, y);
        dist_add(d, KN_OP_sched, 0);
    }
    return KILN_OK;
}
