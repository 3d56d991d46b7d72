/* distribute_scaled.c - store.quant: accumulators to codes under scales that are
 * made and written here, a scale for some columns of a row. Of a wave's they are
 * in the four lanes l, l ^ 16, l ^ 32 and l ^ 48 (distribute_epilogue.c); waves along N
 * that share a scale pass LDS with them (rows.share), and the first writes it. */
#include "distribute.h"

static bool
is_mx(const struct dist_scaled *s)
{
    return s->i->attr[KN_A_cols] == 32;
}

/* Of 8-bit codes scales that are powers of two, bytes. */
static bool
is_power(const struct kn_ins *i)
{
    return i->attr[KN_A_cols] != 32 && i->attr[KN_A_mode];
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
                        .size = i->attr[KN_A_cols] == 32 || is_power(i) ? 1 : 4 };
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
dist_scale_of(struct dist *d, uint8_t elem, bool power, kn_ref most)
{
    double limit = dist_limit(d, elem);
    struct dist_made_scale x;
    kn_ref u;

    most = dist_op(d, KN_OP_fmax, kn_vf32, most, kn_flt(d->out, 1e-10));
    x.written = dist_op(d, KN_OP_fmul, kn_vf32, most, kn_flt(d->out, 1 / limit));
    if (power) {
        u = dist_op(d, KN_OP_bits, kn_v32, x.written, 0);
        u = dist_ic(d, KN_OP_shr, dist_ic(d, KN_OP_add, u, 0x7fffff), 23);
        x.written = u;
        u = dist_ic(d, KN_OP_smax, dist_i2(d, KN_OP_sub, dist_int(d, 254), u), 0);
        x.by = dist_op(d, KN_OP_bits, kn_vf32, dist_ic(d, KN_OP_shl, u, 23), 0);
        return x;
    }
    x.by = dist_op(d, KN_OP_rcp, kn_vf32, x.written, 0);
    x.by = dist_op(d, KN_OP_fmul, kn_vf32, x.by,
                   kn_flt(d->out, 1 - 0x1p-21));
    return x;
}

/* Of the largest that all four lanes know. */
static struct dist_made_scale
scale_of(struct dist *d, const struct dist_scaled *s, kn_ref most)
{
    return dist_scale_of(d, s->elem, is_power(s->i), most);
}

struct dist_made_scale
dist_plain_scale(struct dist *d, const struct dist_scaled *s, kn_ref most)
{
    return scale_of(d, s, dist_op(d, KN_OP_qmax, kn_vf32, most, 0));
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

/* Four codes in the low bits of a dword, of column block y. */
static kn_ref
scaled_codes(struct dist *d, struct dist_scaled *s, uint32_t y, kn_ref acc,
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

/* Of the four codes in v, of columns from col on, those from n on if `there`. */
static void
put_some(struct dist *d, const struct dist_scaled *s, kn_ref v, kn_ref at, uint32_t n)
{
    bool fp4 = s->elem == KN_T_fp4;

    dist_stg(d, s->codes, at, n % 4 ? dist_ic(d, KN_OP_shr, v, (fp4 ? 4 : 8) * n) : v,
             n < 4 ? KN_T_i8 : fp4 ? KN_T_i16 : KN_T_i32);
}

static kn_ref
code_at(struct dist *d, const struct dist_scaled *s, kn_ref row, kn_ref col)
{
    return dist_i2(d, KN_OP_add, row, s->elem == KN_T_fp4 ? dist_ic(d, KN_OP_shr, col, 1) : col);
}

/* Those of four that are there where the last is not. */
static void
put_rest(struct dist *d, const struct dist_scaled *s, kn_ref v, kn_ref row, kn_ref col)
{
    kn_ref part = dist_op(d, KN_OP_sge, kn_vb1, dist_ic(d, KN_OP_add, col, 3), s->ncols);

    for (uint32_t n = 0; n < 3; n += s->elem == KN_T_fp4 ? 2 : 1) {
        kn_ref c = dist_ic(d, KN_OP_add, col, n);
        kn_ref in = dist_op(d, KN_OP_slt, kn_vb1, c, s->ncols);

        in = dist_op(d, KN_OP_band, kn_vb1, part, in);
        put_some(d, s, v, dist_only_if(d, in, code_at(d, s, row, c)), n);
    }
}

void
dist_put_codes(struct dist *d, struct dist_scaled *s, const struct dist_sums *x,
               const kn_ref at[2])
{
    kn_ref odd, edge = s->vec > 1 ? s->ncols : dist_ic(d, KN_OP_add, s->ncols, -3);
    kn_ref *v = KN_NEW(d->c, kn_ref, x->many);

    for (uint32_t y = 0; y < x->many; y++) {
        kn_ref col = dist_ic(d, KN_OP_add, at[1], y * 16), in;

        v[y] = scaled_codes(d, s, x->y + y, x->acc[y], x->by);
        in = dist_op(d, KN_OP_slt, kn_vb1, col, edge);
        put_some(d, s, v[y], dist_only_if(d, in, code_at(d, s, at[0], col)), 4);
    }
    if (s->vec > 1)
        return;
    odd = dist_op(d, KN_OP_ne, kn_sb1, dist_ic(d, KN_OP_and, s->ncols, 3), dist_int(d, 0));
    dist_add(d, KN_OP_if, 0)->arg[0] = odd;
    for (uint32_t y = 0; y < x->many; y++)
        put_rest(d, s, v[y], at[0], dist_ic(d, KN_OP_add, at[1], y * 16));
    dist_add(d, KN_OP_end, 0);
}

/* What is written of the columns of one scale: from the wave's column `first` on. */
static void
put_scale(struct dist *d, struct dist_scaled *s, kn_ref first, kn_ref at, kn_ref scale)
{
    int32_t cols = s->i->attr[KN_A_cols];
    kn_ref n = cols ? dist_ic(d, KN_OP_udiv, first, cols) : dist_int(d, 0), in;

    in = dist_op(d, KN_OP_band, kn_vb1, s->quad0, dist_op(d, KN_OP_slt, kn_vb1, first, s->ncols));
    if (s->waves > 1)
        in = dist_op(d, KN_OP_band, kn_vb1, in, dist_op(
            d, KN_OP_eq, kn_vb1, first, dist_ic(d, KN_OP_mul, n, cols)));
    at = dist_i2(d, KN_OP_add, at, dist_ic(d, KN_OP_mul, n, s->size));
    dist_stg(d, s->scales, dist_only_if(d, in, at), scale, s->size == 1 ? KN_T_i8 : KN_T_f32);
}

static kn_ref
largest_of(struct dist *d, const struct dist_scaled *s, const kn_ref *acc)
{
    kn_ref most = kn_flt(d->out, 0);

    for (uint32_t k = 0; k < s->per; k++) {
        most = dist_op(d, KN_OP_amax, kn_vf32, acc[k], most);
        d->out->ins[d->out->nins - 1].attr[KN_A_mode] = is_mx(s);
    }
    return most;
}

/* The columns of one scale: accumulators from number y of a row on, with the largest
 * of the row, if waves share that. */
static void
put_block(struct dist *d, struct dist_scaled *s, const kn_ref *acc,
          const kn_ref at[3], uint32_t y)
{
    kn_ref most = at[2] ? at[2] : largest_of(d, s, acc + y);
    struct dist_made_scale x = at[2] ? scale_of(d, s, most) : is_mx(s) ? mx_scale(d, s, most)
                                     : dist_plain_scale(d, s, most);

    dist_put_codes(d, s, &(struct dist_sums){ acc + y, y, s->per, x.by },
                   (kn_ref[]){ at[0], dist_ic(d, KN_OP_add, s->e.col0, y * 16) });
    put_scale(d, s, dist_ic(d, KN_OP_add, s->e.col0, y * 16), at[1], x.written);
}

/* Waves that share a scale, and then each has some of its columns. */
static kiln_status
share_scales(struct dist *d, const struct kn_ins *i, struct dist_scaled *s)
{
    uint32_t n = s->e.b.count, wn = d->in->shape.wn;

    s->waves = !i->attr[KN_A_cols] ? wn : s->per > n && s->per % n == 0 ? s->per / n : 1;
    if (s->waves > 1)
        s->per = n;
    if (n % s->per || s->waves > wn || wn % s->waves ||
        (s->waves > 1 && (!d->beside || i->attr[KN_A_parts] > 1)))
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "store.quant needs waves "
                          "of whole scales: of %u columns, or as wide as the "
                          "tile, or rows.share in front", s->per * 16);
    return KILN_OK;
}

/* The largest of all rows, of the waves that share a scale. */
static kn_ref *
shared_rows(struct dist *d, const struct dist_scaled *s, const struct dist_tile *t)
{
    uint32_t rows = s->e.a.count;
    kn_ref *most = KN_NEW(d->c, kn_ref, rows);

    for (uint32_t x = 0; s->waves > 1 && x < rows; x++) {
        most[x] = dist_temp(d, kn_vf32);
        dist_move(d, most[x], dist_op(d, KN_OP_qmax, kn_vf32,
                                      largest_of(d, s, t->reg + x * s->e.b.count), 0));
    }
    if (s->waves > 1)
        dist_meet_rows(d, d->beside, most, rows, s->waves);
    return most;
}

kiln_status
expand_storeq(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]);
    struct dist_scaled s = dist_scaled(d, i, t, false);
    uint32_t n = s.e.b.count, part = (uint32_t)i->attr[KN_A_part];
    uint32_t parts = (uint32_t)i->attr[KN_A_parts];
    kn_ref at[3], *most;

    KN_TRY(share_scales(d, i, &s));
    KN_TRY(dist_dice(d, i, &s.dice));
    if (!part)
        dist_clear_beyond(d, &s, t);
    most = shared_rows(d, &s, t);
    for (uint32_t x = part * s.e.a.count / parts;
         x < (part + 1) * s.e.a.count / parts; x++) {
        dist_scaled_row(d, &s, dist_int(d, x * 16), s.ids ? s.ids[x] : 0, at);
        at[2] = most[x];
        for (uint32_t y = 0; y < n; y += s.per)
            put_block(d, &s, t->reg + x * n, at, y);
        dist_add(d, KN_OP_sched, 0);
    }
    return KILN_OK;
}
