/* distribute_widen.c - elements of 4, 6 and 8 bits to those that matrix
 * instructions take. All arithmetic is on packed bytes and exact. */
#include <string.h>

#include "widen.h"

static const uint32_t SIGNS = 0x80808080, LOW7 = 0x7f7f7f7f, ONES = 0x01010101,
                      NIBBLES = 0x0f0f0f0f;

static kn_ref
and_bits(struct dist *d, kn_ref x, uint32_t mask)
{
    return dist_ic(d, KN_OP_and, x, mask);
}

static kn_ref
add_bits(struct dist *d, kn_ref x, uint32_t y)
{
    return dist_ic(d, KN_OP_add, x, y);
}

static kn_ref
or_bits(struct dist *d, kn_ref x, kn_ref y)
{
    return dist_i2(d, KN_OP_or, x, y);
}

/* ---- any format to the fields of e4m3, four bytes a dword ---- */

/* Sign and magnitude of four numbers, one a byte, as s eeee mmm. */
static kn_ref
place_fields(struct dist *d, uint8_t from, kn_ref x)
{
    kn_ref sign, mag;

    switch (from) {
    case KN_T_fp4:           /* s ee m */
        sign = dist_ic(d, KN_OP_shl, and_bits(d, x, 0x08080808), 4);
        mag = dist_ic(d, KN_OP_shl, and_bits(d, x, 0x07070707), 2);
        break;
    case KN_T_bf6:           /* s eee mm */
        sign = dist_ic(d, KN_OP_shl, and_bits(d, x, 0x20202020), 2);
        mag = dist_ic(d, KN_OP_shl, and_bits(d, x, 0x1f1f1f1f), 1);
        break;
    case KN_T_fp6:           /* s ee mmm */
        sign = dist_ic(d, KN_OP_shl, and_bits(d, x, 0x20202020), 2);
        mag = and_bits(d, x, 0x1f1f1f1f);
        break;
    default:
        return x;
    }
    return or_bits(d, sign, mag);
}

/* Eight numbers of 4 bits to two dwords of one a byte: the even ones and the odd. */
void
dist_part_nibbles(struct dist *d, kn_ref x, kn_ref out[2])
{
    out[0] = and_bits(d, x, NIBBLES);
    out[1] = and_bits(d, dist_ic(d, KN_OP_shr, x, 4), NIBBLES);
}

/* Such dwords to those of the first and of the last four. */
void
dist_order_bytes(struct dist *d, const kn_ref part[2], kn_ref out[2])
{
    out[0] = dist_perm(d, part[1], part[0], 0x05010400);
    out[1] = dist_perm(d, part[1], part[0], 0x07030602);
}

static void
split_nibbles(struct dist *d, kn_ref x, kn_ref out[2])
{
    kn_ref part[2];

    dist_part_nibbles(d, x, part);
    dist_order_bytes(d, part, out);
}

/* Bits of x in their place, those of `mask` further up. */
static kn_ref
move_up(struct dist *d, kn_ref x, uint32_t stay, uint32_t by, uint32_t mask)
{
    return or_bits(d, and_bits(d, dist_ic(d, KN_OP_shl, x, by), mask),
                   and_bits(d, x, stay));
}

/* Four numbers of 6 bits in the low 24 to one a byte: two by two first. */
static kn_ref
spread_six(struct dist *d, kn_ref x)
{
    x = move_up(d, x, 0xfff, 4, 0x0fff0000);
    return move_up(d, x, 0x003f003f, 2, 0x3f003f00);
}

/* Sixteen numbers of 6 bits to four dwords of one a byte. */
static void
split_sixes(struct dist *d, const kn_ref w[3], kn_ref out[4])
{
    out[0] = w[0];
    out[1] = dist_perm(d, w[1], w[0], 0x06050403);
    out[2] = dist_perm(d, w[2], w[1], 0x05040302);
    out[3] = dist_ic(d, KN_OP_shr, w[2], 8);
    for (int i = 0; i < 4; i++)
        out[i] = spread_six(d, out[i]);
}

/* n dwords of memory to dwords of one number a byte; returns how many. */
static uint32_t
split(struct dist *d, uint8_t from, const kn_ref *in, uint32_t n, kn_ref *out)
{
    uint32_t many = 0;

    if (kn_elems[from].bits == 6) {
        for (uint32_t i = 0; i + 3 <= n; i += 3, many += 4)
            split_sixes(d, in + i, out + many);
        return many;
    }
    if (kn_elems[from].bits == 4) {
        for (uint32_t i = 0; i < n; i++, many += 2)
            split_nibbles(d, in[i], out + many);
        return many;
    }
    for (; many < n; many++)
        out[many] = in[many];
    return n;
}

/* ---- to what the matrix instructions take ---- */

/* 0x80 in every byte that is the NaN of OCP e4m3. */
static kn_ref
nan_bytes(struct dist *d, kn_ref x)
{
    x = add_bits(d, and_bits(d, x, LOW7), ONES);
    return and_bits(d, x, SIGNS);
}

/* Bytes of this sign, but zeros without one: half of a byte and 0x7f has 0x80 from
 * 0x81 on. FNUZ has no -0: its code is the NaN. */
static kn_ref
with_sign(struct dist *d, kn_ref x, kn_ref mag)
{
    kn_ref arg[] = { x, dist_int(d, LOW7), dist_int(d, 0) };

    return or_bits(d, and_bits(d, dist_op3(d, KN_OP_lerp, kn_v32, arg), SIGNS), mag);
}

/* Sign and magnitude of four numbers of 6 bits, one a byte, as s eeee mmm of FNUZ. */
static kn_ref
six_to_fnuz(struct dist *d, uint8_t from, kn_ref x)
{
    kn_ref mag = and_bits(d, x, 0x1f1f1f1f);

    return with_sign(d, dist_ic(d, KN_OP_shl, x, 2),
                     from == KN_T_bf6 ? dist_ic(d, KN_OP_shl, mag, 1) : mag);
}

/* OCP has NaN at 0x7f and 0xff: one more than the former is FNUZ's code. */
static kn_ref
nan_up(struct dist *d, kn_ref x)
{
    kn_ref mag = and_bits(d, x, LOW7);
    kn_ref nan = dist_ic(d, KN_OP_shr, add_bits(d, mag, ONES), 7);

    return dist_i2(d, KN_OP_add, mag, and_bits(d, nan, ONES));
}

kn_ref
dist_fnuz_nans(struct dist *d, kn_ref x)
{
    return or_bits(d, and_bits(d, x, SIGNS), nan_up(d, x));
}

static kn_ref
to_fnuz(struct dist *d, kn_ref x)
{
    return with_sign(d, x, nan_up(d, x));
}

/* The same of n dwords of one row of e4m3. A NaN anywhere in it makes all that the row
 * is multiplied to NaN, so one of all n stands for any: the last dword, or, where K may cut
 * them, its last byte. */
static void
row_to_fnuz(struct dist *d, struct dist_words in, kn_ref *out)
{
    kn_ref nan[DIST_RUN / 4], arg[3] = { 0, dist_int(d, SIGNS), 0 }, *last = &out[in.n - 1];

    for (uint32_t i = 0; i < in.n; i++) {
        kn_ref mag = and_bits(d, in.w[i], LOW7);

        out[i] = with_sign(d, in.w[i], mag);
        nan[i] = add_bits(d, mag, ONES);
        if (i)
            nan[i] = or_bits(d, nan[i - 1], nan[i]);
    }
    arg[0] = dist_op(d, KN_OP_ne, kn_vb1, and_bits(d, nan[in.n - 1], SIGNS), dist_int(d, 0));
    if (in.cut)
        arg[1] = dist_ic(d, KN_OP_or, and_bits(d, *last, 0x00ffffff), 0x80000000);
    arg[2] = *last;
    *last = dist_op3(d, KN_OP_select, kn_v32, arg);
}

/* Magnitudes of fp4 as FNUZ: their fields in those of e4m3. */
static const uint32_t fp4_fields[2] = { 0x0c080400, 0x1c181410 };

/* n dwords of memory to FNUZ that misses a factor (shift_of); returns how many. */
static uint32_t
fnuz_bytes(struct dist *d, uint8_t from, struct dist_words in, kn_ref *out)
{
    uint32_t many;

    if (from == KN_T_fp4) {
        kn_ref fields[2] = { dist_int(d, fp4_fields[0]), dist_int(d, fp4_fields[1]) };

        for (uint32_t i = 0; i < in.n; i++) {
            kn_ref part[2];

            dist_part_fp4(d, in.w[i], fields, part);
            dist_order_bytes(d, part, out + 2 * i);
        }
        return 2 * in.n;
    }
    if (from == KN_T_e4m3 && in.one_row && in.n > 1) {
        row_to_fnuz(d, in, out);
        return in.n;
    }
    many = split(d, from, in.w, in.n, out);
    for (uint32_t i = 0; i < many; i++)
        out[i] = kn_elems[from].bits == 6 ? six_to_fnuz(d, from, out[i])
                                          : to_fnuz(d, out[i]);
    return many;
}

/* Numbers 2h and 2h + 1 of a dword, each in the high byte of a half. */
static kn_ref
spread(struct dist *d, kn_ref x, uint32_t h)
{
    return dist_perm(d, x, x, h ? 0x030c020c : 0x010c000c);
}

/* Two f16 of e5m2 bytes, which are their high halves, or of e4m3 fields. */
static kn_ref
to_f16(struct dist *d, uint8_t from, kn_ref x, uint32_t h)
{
    kn_ref r = spread(d, x, h), nan;

    if (from == KN_T_e5m2)
        return r;
    r = or_bits(d, and_bits(d, r, 0x80008000),
                and_bits(d, dist_ic(d, KN_OP_shr, r, 1), 0x3f803f80));
    if (from != KN_T_e4m3)
        return r;
    nan = spread(d, nan_bytes(d, x), h);
    nan = dist_i2(d, KN_OP_sub, nan, dist_ic(d, KN_OP_shr, nan, 6));
    return or_bits(d, r, nan);
}

static int
shift_of(uint8_t from, uint8_t to)
{
    for (size_t i = 0; i < kn_nconverts; i++)
        if (kn_converts[i].from == from && kn_converts[i].to == to)
            return kn_converts[i].up;
    return -1;
}

/* The high halves of two f32. */
static kn_ref
high_halves(struct dist *d, kn_ref x)
{
    kn_ref low;

    x = dist_op(d, KN_OP_bits, dist_vec(KN_T_i32, 2), x, 0);
    low = dist_slice(d, x, 0);
    return dist_perm(d, dist_slice(d, x, 1), low, 0x07060302);
}

/* Two bf16 of two f16 that miss a factor of 2^up: the high halves of f32. Times
 * a power of two, or 0. */
static kn_ref
to_bf16(struct dist *d, uint8_t from, kn_ref x, kn_ref factor)
{
    kn_ref up = kn_flt(d->out, (double)(1 << shift_of(from, KN_T_f16)));

    x = dist_op(d, KN_OP_bits, dist_vec(KN_T_f16, 2), x, 0);
    x = dist_op(d, KN_OP_cvt, dist_vec(KN_T_f32, 2), x, 0);
    if (shift_of(from, KN_T_f16))
        x = dist_op(d, KN_OP_fmul, dist_vec(KN_T_f32, 2), x, up);
    if (factor)
        x = dist_op(d, KN_OP_fmul, dist_vec(KN_T_f32, 2), x,
                    dist_op(d, KN_OP_splat, dist_vec(KN_T_f32, 2), factor, 0));
    return high_halves(d, x);
}

/* By the target's own conversion. */
static uint32_t
widen(struct dist *d, uint8_t from, struct dist_words in, kn_ref factor,
      kn_ref *out)
{
    uint32_t each = 32 / kn_elems[from].bits, many = 0;

    from = from == KN_T_e4m3 ? KN_T_fp8 : from == KN_T_e5m2 ? KN_T_bf8 : from;
    for (uint32_t i = 0; i < in.n; i++)
        for (uint32_t e = 0; e < each; e += 2, many++) {
            struct kn_ins *w;

            out[many] = dist_op(d, KN_OP_widen, kn_v32, in.w[i], factor);
            w = &d->out->ins[d->out->nins - 1];
            w->attr[KN_A_elem] = from;
            w->attr[KN_A_first] = (int32_t)e;
        }
    return many;
}

/* Two elements of a dword as f32x2. */
static kn_ref
unpack(struct dist *d, uint8_t from, kn_ref x, uint32_t first)
{
    struct kn_ins *u;

    x = dist_op(d, KN_OP_unpack, dist_vec(KN_T_f32, 2), x, 0);
    u = &d->out->ins[d->out->nins - 1];
    u->attr[KN_A_elem] = from;
    u->attr[KN_A_first] = (int32_t)first;
    return x;
}

/* Bytes first and first + 1 of a dword. */
kn_ref
dist_affine_pair(struct dist *d, kn_ref x, uint32_t first, struct dist_affine l)
{
    kn_ref arg[] = { unpack(d, KN_T_fp8, x, first), l.up, l.base };

    x = dist_op3(d, KN_OP_fma, dist_vec(KN_T_f32, 2), arg);
    d->out->ins[d->out->nins - 1].attr[KN_A_single] = l.single;
    return x;
}

/* The high halves of number i of two pairs. */
static kn_ref
high_of_pairs(struct dist *d, const kn_ref pair[2], uint32_t i)
{
    kn_ref one[2];

    for (int k = 0; k < 2; k++)
        one[k] = dist_slice(d, dist_op(d, KN_OP_bits, dist_vec(KN_T_i32, 2), pair[k], 0), i);
    return dist_perm(d, one[1], one[0], 0x07060302);
}

/* Eight bytes; even and odd ones become f32 apart, and bf16 together. */
void
dist_affine_bf16(struct dist *d, const kn_ref part[2], struct dist_affine l, kn_ref out[4])
{
    for (uint32_t h = 0; h < 2; h++) {
        kn_ref pair[2];

        for (uint32_t odd = 0; odd < 2; odd++)
            pair[odd] = dist_affine_pair(d, part[odd], 2 * h, l);
        for (uint32_t i = 0; i < 2; i++)
            *out++ = high_of_pairs(d, pair, i);
    }
}

/* Two fields of e4m3 in a dword times 2^up and a factor, as bf16: one product
 * after the other, as both together may be beyond f32. */
static kn_ref
scale_pair(struct dist *d, kn_ref x, uint32_t first, int up, kn_ref factor)
{
    const struct kn_type two = dist_vec(KN_T_f32, 2);

    x = unpack(d, KN_T_fp8, x, first);
    x = dist_op(d, KN_OP_fmul, two, x, kn_flt(d->out, (double)(1 << up)));
    factor = dist_op(d, KN_OP_splat, two, factor, 0);
    return high_halves(d, dist_op(d, KN_OP_fmul, two, x, factor));
}

static uint32_t
scaled_fp4(struct dist *d, struct dist_words in, kn_ref factor, kn_ref *out)
{
    struct dist_affine l = { dist_op(d, KN_OP_splat, dist_vec(KN_T_f32, 2), factor, 0),
                         kn_flt(d->out, 0), in.single };
    kn_ref part[2], values[2];

    dist_fp4_values(d, 0, values);
    for (uint32_t i = 0; i < in.n; i++) {
        dist_part_fp4(d, in.w[i], values, part);
        dist_affine_bf16(d, part, l, out + 4 * i);
    }
    return 4 * in.n;
}

/* To bf16, times a power of two: by the target's own conversion, which has no
 * packed 6 bits, or as e4m3 by way of f32. The difference of the exponents'
 * biases is FNUZ's; OCP's is one less. */
static uint32_t
scaled(struct dist *d, uint8_t from, struct dist_words in, kn_ref factor,
       kn_ref *out)
{
    bool ocp = kn_targets[d->in->target].scaled;
    int up = shift_of(from, KN_T_fp8) - ocp;
    kn_ref byte[DIST_RUN / 4];
    uint32_t many = 0, n;

    if (ocp && kn_elems[from].bits != 6)
        return widen(d, from, in, factor, out);
    if (from == KN_T_fp4)
        return scaled_fp4(d, in, factor, out);
    n = ocp ? split(d, from, in.w, in.n, byte) : fnuz_bytes(d, from, in, byte);
    for (uint32_t i = 0; i < n; i++) {
        if (ocp)
            byte[i] = place_fields(d, from, byte[i]);
        for (uint32_t first = 0; first < 4; first += 2)
            out[many++] = scale_pair(d, byte[i], first, up, factor);
    }
    return many;
}

/* What FNUZ bytes of OCP e4m3 miss. */
static kn_ref
fnuz_factor(struct dist *d)
{
    return kn_flt(d->out, (double)(1 << shift_of(KN_T_e4m3, KN_T_fp8)));
}

kn_ref
dist_e4m3(struct dist *d, kn_ref x, uint32_t b)
{
    bool fnuz = kn_targets[d->in->target].fnuz;

    x = unpack(d, KN_T_fp8, fnuz ? to_fnuz(d, x) : x, b & 2);
    x = dist_float(d, x, b & 1);
    return !fnuz ? x : dist_op(d, KN_OP_fmul, kn_vf32, x, fnuz_factor(d));
}

void
dist_four_e4m3(struct dist *d, kn_ref x, kn_ref out[4])
{
    bool fnuz = kn_targets[d->in->target].fnuz;

    if (fnuz)
        x = to_fnuz(d, x);
    for (uint32_t b = 0; b < 4; b += 2) {
        kn_ref two = unpack(d, KN_T_fp8, x, b);

        if (fnuz)
            two = dist_op(d, KN_OP_fmul, dist_vec(KN_T_f32, 2), two, fnuz_factor(d));
        for (uint32_t e = 0; e < 2; e++)
            out[b + e] = dist_float(d, two, e);
    }
}

/* Two bits of a code times four of a factor: six, which both types have. */
static kn_ref
product(struct dist *d, uint8_t to, kn_ref x, kn_ref factor)
{
    x = dist_op(d, KN_OP_fmul, dist_vec(KN_T_f32, 2), x, factor);
    if (to == KN_T_bf16)
        return high_halves(d, x);
    x = dist_op(d, KN_OP_cvt, dist_vec(to, 2), x, 0);
    return dist_op(d, KN_OP_bits, kn_v32, x, 0);
}

/* Codes of fp4 times a factor of E4M3, exactly: by the target's own conversion to
 * f32, or as FNUZ e4m3. */
static uint32_t
multiplied(struct dist *d, uint8_t to, struct dist_words in, kn_ref factor,
           kn_ref *out)
{
    kn_ref two = dist_op(d, KN_OP_splat, dist_vec(KN_T_f32, 2), factor, 0), values[2];
    uint32_t many = 0;

    if (kn_targets[d->in->target].scaled) {
        for (uint32_t i = 0; i < in.n; i++)
            for (uint32_t e = 0; e < 8; e += 2)
                out[many++] = product(d, to, unpack(d, KN_T_fp4, in.w[i], e), two);
        return many;
    }
    if (to == KN_T_bf16)
        return scaled_fp4(d, in, factor, out);
    dist_fp4_values(d, 0, values);
    for (uint32_t i = 0; i < in.n; i++) {
        kn_ref part[2], byte[2];

        dist_part_fp4(d, in.w[i], values, part);
        dist_order_bytes(d, part, byte);
        for (uint32_t h = 0; h < 4; h++)
            out[many++] = product(d, to, unpack(d, KN_T_fp8, byte[h / 2], h % 2 * 2),
                                  two);
    }
    return many;
}

uint32_t
dist_convert(struct dist *d, const struct kn_lds *l, struct dist_words in,
             struct dist_factor by, kn_ref *out)
{
    kn_ref byte[DIST_RUN / 4], factor = by.v;
    uint32_t many = 0, n;

    if (l->mem == KN_T_i4)
        return dist_widen_integers(d, l, in, factor, out);
    if (by.e4m3)
        return multiplied(d, l->elem, in, factor, out);
    if (factor && (l->mem != KN_T_e5m2 || kn_targets[d->in->target].scaled))
        return scaled(d, l->mem, in, factor, out);

    if (l->elem == KN_T_fp8)
        return fnuz_bytes(d, l->mem, in, out);
    n = split(d, l->mem, in.w, in.n, byte);
    for (uint32_t i = 0; i < n; i++) {
        kn_ref x = place_fields(d, l->mem, byte[i]);

        for (uint32_t h = 0; h < 2; h++) {
            kn_ref y = to_f16(d, l->mem, x, h);

            out[many++] = l->elem == KN_T_f16
                            ? y : to_bf16(d, l->mem, y, factor);
        }
    }
    return many;
}
