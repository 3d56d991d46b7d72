/* distribute_fp4_codes.c - codes.4: eight codes of fp4 where no conversion makes them.
 *
 * Of pairs of bf16 under a scale: a magnitude moved to exponents where fp4's smallest
 * normal number, 1, is that of f16 has fp4's code in its upper bits, and below them
 * what is rounded. The move is exact: bf16 has 8 significant bits, and what is lost of
 * those of numbers below 1/4 leaves them below 1/4, which is the smallest half.
 *
 * Of f32, times a factor if there is one: the code of a magnitude is the least of three
 * lines, each rounded once. */
#include "widen.h"

kn_ref
dist_as(struct dist *d, uint8_t elem, uint32_t n, kn_ref v)
{
    return dist_op(d, KN_OP_bits, dist_vec(elem, n), v, 0);
}

kn_ref
dist_number(struct dist *d, int64_t v)
{
    return dist_op(d, KN_OP_mov, kn_v32, dist_int(d, v), 0);
}

kn_ref
dist_pair_op(struct dist *d, enum kn_op op, kn_ref x, kn_ref y)
{
    struct kn_type t = dist_vec(KN_T_i16, 2);

    x = dist_op(d, op, t, dist_as(d, KN_T_i16, 2, x), dist_as(d, KN_T_i16, 2, y));
    return dist_as(d, KN_T_i32, 1, x);
}

kn_ref
dist_merged(struct dist *d, int64_t mask, kn_ref x, kn_ref y)
{
    return dist_op3(d, KN_OP_bfi, kn_v32, (kn_ref[3]){ dist_int(d, mask), x, y });
}

/* Blocks whose largest is below this, but for zeros, are made larger: none of a larger one
 * is under a scale beside which some are not normal. */
enum { LARGER = 64, SMALL = 47 << 23 };

/* Two magnitudes times a power of two each lane has. */
static kn_ref
two_times(struct dist *d, kn_ref mag, kn_ref by)
{
    struct kn_type two = dist_vec(KN_T_f32, 2);
    kn_ref v = dist_op(d, KN_OP_cvt, two, dist_as(d, KN_T_bf16, 2, mag), 0);

    v = dist_as(d, KN_T_i32, 2, dist_op(d, KN_OP_fmul, two, v,
                                   dist_op(d, KN_OP_splat, two, by, 0)));
    return dist_perm(d, dist_slice(d, v, 1), dist_slice(d, v, 0), 0x07060302);
}

/* Small blocks, 2^64 times as large, and so is the scale. */
static void
enlarge(struct dist *d, kn_ref amax, kn_ref byte, kn_ref mag[4])
{
    kn_ref any = dist_op(d, KN_OP_ult, kn_vb1, dist_ic(d, KN_OP_sub, amax, 1),
                         dist_int(d, SMALL)), by, more, some;
    struct kn_ins *rare;

    by = dist_op(d, KN_OP_count, kn_s32, any, 0);
    some = dist_op(d, KN_OP_ne, kn_sb1, by, dist_int(d, 0));
    rare = dist_add(d, KN_OP_if, 0);
    rare->arg[0] = some;
    rare->attr[KN_A_likely] = 2;
    more = dist_op3(d, KN_OP_select, kn_v32,
                    (kn_ref[3]){ any, dist_int(d, LARGER), dist_int(d, 0) });
    by = dist_ic(d, KN_OP_shl, dist_ic(d, KN_OP_add, more, 127), 23);
    by = dist_as(d, KN_T_f32, 1, by);
    for (int h = 0; h < 4; h++)
        dist_move(d, mag[h], two_times(d, mag[h], by));
    dist_move(d, byte, dist_i2(d, KN_OP_add, byte, more));
    dist_add(d, KN_OP_end, 0);
}

/* Saturating differences need no third operand, of which memory has the time where little
 * of it is spare: what only streams would be promised more than its peak (docs/quant.md). */
static kn_ref
lowered(struct dist *d, kn_ref mag, kn_ref base, kn_ref minus)
{
    mag = dist_pair_op(d, KN_OP_umax, mag, base);
    if (minus)
        return dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_shl, mag, 3), minus);
    return dist_ic(d, KN_OP_shl, dist_pair_op(d, KN_OP_sub, mag, base), 3);
}

static kn_ref
minus_of(struct dist *d, kn_ref byte, int64_t near)
{
    kn_ref minus = dist_ic(d, KN_OP_shl, byte, 10);

    if (kn_targets[d->in->target].memory_spare >= 20)
        return 0;
    minus = dist_op(d, KN_OP_sub, kn_v32, dist_int(d, near << 10), minus);
    return dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_shl, minus, 16), minus);
}

/* The exponents are taken from both halves at once, of which the lower borrows nothing. */
void
dist_halves(struct dist *d, const struct dist_halves *x, kn_ref mag[4])
{
    int64_t near = 1 + x->below - x->least;
    kn_ref less = dist_number(d, (15 - x->below) * 0x04000400), byte = dist_temp(d, kn_v32);
    kn_ref base, minus;

    dist_move(d, byte, x->byte);
    for (uint32_t h = 0; h < 4; h++)
        mag[h] = dist_ic(d, KN_OP_and, dist_slice(d, x->pairs, h), 0x7fff7fff);
    enlarge(d, x->amax, byte, mag);
    base = dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_shl, byte, 7), -(near << 7));
    base = dist_as(d, KN_T_f16, 2, base); /* whose lower half operations of two take twice */
    base = dist_op(d, KN_OP_slice, dist_vec(KN_T_f16, 1), base, 0);
    base = dist_op(d, KN_OP_splat, dist_vec(KN_T_f16, 2), base, 0);
    base = dist_as(d, KN_T_i32, 1, base);
    minus = minus_of(d, byte, near);
    for (int h = 0; h < 4; h++) {
        mag[h] = lowered(d, mag[h], base, minus);
        mag[h] = dist_op(d, KN_OP_fmul, dist_vec(KN_T_f16, 2), dist_as(d, KN_T_f16, 2, mag[h]),
                         dist_as(d, KN_T_f16, 2, less));
        mag[h] = dist_as(d, KN_T_i32, 1, mag[h]);
    }
}

/* Codes in bits 9 to 11 of both halves, nearest even; what is below them is left. */
static kn_ref
rounded(struct dist *d, kn_ref mag, bool sat)
{
    kn_ref odd = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, mag, 9), 0x00010001);

    mag = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_add, mag, 0x00ff00ff), odd);
    return sat ? dist_pair_op(d, KN_OP_umin, mag, dist_number(d, 0x0fff0fff)) : mag;
}

kn_ref
dist_four_codes(struct dist *d, const kn_ref code[2], const kn_ref pair[2])
{
    kn_ref sign = dist_perm(d, pair[1], pair[0], 0x07050301);
    kn_ref v = dist_perm(d, code[1], code[0], 0x07050301);

    v = dist_ic(d, KN_OP_and, v, 0x0e0e0e0e);
    v = dist_i2(d, KN_OP_or, dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, sign, 3), 0x10101010), v);
    return dist_pair_op(d, KN_OP_mul, v, dist_number(d, 0x00880088)); /* v << 7 | v << 3 */
}

static kn_ref
of_pairs(struct dist *d, const struct kn_ins *i)
{
    struct dist_halves x = { i->arg[0], i->arg[1], i->arg[2], 0, 2 };
    kn_ref pair[4], mag[4], low;

    dist_halves(d, &x, mag);
    for (uint32_t h = 0; h < 4; h++) {
        pair[h] = dist_slice(d, i->arg[0], h);
        mag[h] = rounded(d, mag[h], i->attr[KN_A_sat]);
    }
    low = dist_four_codes(d, mag, pair);
    return dist_perm(d, dist_four_codes(d, mag + 2, pair + 2), low, 0x07050301);
}

/* ---- f32 ---- */

kn_ref
dist_two(struct dist *d, double v)
{
    kn_ref one = dist_op(d, KN_OP_mov, kn_vf32, kn_flt(d->out, v), 0);

    return dist_op(d, KN_OP_splat, dist_vec(KN_T_f32, 2), one, 0);
}

kn_ref
dist_fma_two(struct dist *d, kn_ref x, kn_ref y, kn_ref z)
{
    return dist_op3(d, KN_OP_fma, dist_vec(KN_T_f32, 2), (kn_ref[3]){ x, y, z });
}

kn_ref
dist_held(struct dist *d, int64_t v)
{
    return dist_as(d, KN_T_i32, 1, dist_as(d, KN_T_f32, 1, dist_number(d, v)));
}

/* A code grows by one a half up to 2, a one up to 4 and two beyond: it is the least of
 * three lines, each rounded to a whole number as 2^23 is added to it. */
static void
two_sizes(struct dist *d, const kn_ref mag[2], kn_ref by, kn_ref to[2])
{
    const double slope[3] = { 2, 1, 0.5 }, from[3] = { 0, 2, 4 };
    kn_ref v = dist_as(d, KN_T_f32, 2, dist_cat(d, mag, 2)), least[2] = { 0, 0 };

    for (int n = 0; n < 3; n++) {
        kn_ref k = dist_two(d, slope[n]), line;

        if (by)
            k = dist_op(d, KN_OP_fmul, dist_vec(KN_T_f32, 2), k,
                        dist_op(d, KN_OP_splat, dist_vec(KN_T_f32, 2), by, 0));
        line = dist_fma_two(d, v, k, dist_two(d, 8388608 + from[n]));
        line = dist_as(d, KN_T_i32, 2, line);
        for (uint32_t e = 0; e < 2; e++) {
            kn_ref one = dist_slice(d, line, e);

            least[e] = n ? dist_i2(d, KN_OP_umin, least[e], one) : one;
        }
    }
    to[0] = least[0];
    to[1] = least[1];
}

/* Bit 3 of each nibble: of every second number, then of those between. */
static kn_ref
signs_of(struct dist *d, const kn_ref bits[8])
{
    kn_ref s[2];

    for (int odd = 0; odd < 2; odd++)
        s[odd] = dist_i2(d, KN_OP_or, dist_perm(d, bits[odd + 2], bits[odd], 0x0c0c0703),
                         dist_perm(d, bits[odd + 6], bits[odd + 4], 0x07030c0c));
    return dist_merged(d, 0x08080808, dist_ic(d, KN_OP_shr, s[0], 4), s[1]);
}

/* One beyond the largest code, 8, is it less one. */
static kn_ref
of_numbers(struct dist *d, const struct kn_ins *i)
{
    kn_ref all = dist_as(d, KN_T_i32, 8, i->arg[0]), bits[8], to[2], byte[4], q;

    for (uint32_t e = 0; e < 8; e++)
        bits[e] = dist_slice(d, all, e);
    for (uint32_t h = 0; h < 4; h++) {
        const kn_ref mag[2] = { dist_ic(d, KN_OP_and, bits[2 * h], 0x7fffffff),
                                dist_ic(d, KN_OP_and, bits[2 * h + 1], 0x7fffffff) };

        two_sizes(d, mag, i->arg[1], to);
        byte[h] = dist_i2(d, KN_OP_or, dist_ic(d, KN_OP_shl, to[1], 4), to[0]);
    }
    for (uint32_t h = 0; h < 4; h += 2)
        byte[h] = dist_i2(d, KN_OP_or, dist_ic(d, KN_OP_shl, byte[h + 1], 8), byte[h]);
    q = dist_perm(d, byte[2], byte[0], 0x05040100);
    if (i->attr[KN_A_sat])
        q = dist_i2(d, KN_OP_sub, q,
                    dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, q, 3), 0x11111111));
    return dist_merged(d, 0x88888888, signs_of(d, bits), q);
}

kiln_status
expand_fours(struct dist *d, const struct kn_ins *i)
{
    bool pairs = kn_val(d->out, i->arg[0])->type.elem == KN_T_i32;

    dist_move(d, i->dst, pairs ? of_pairs(d, i) : of_numbers(d, i));
    return KILN_OK;
}

static kn_ref
column_flip(struct dist *d, kn_ref outer)
{
    return dist_i2(d, KN_OP_or, dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, outer, 1), 1),
                   dist_ic(d, KN_OP_and, outer, 4));
}

kn_ref
dist_column_flip(struct dist *d, const struct kn_lds *l, uint32_t step)
{
    kn_ref k, outer;

    if (!kn_flips_columns(d->in, l))
        return 0;
    dist_block_place(d, l, dist_chunk_id(d, step), &k, &outer);
    return column_flip(d, outer);
}

kn_ref
dist_column(struct dist *d, const struct kn_lds *l, kn_ref outer, uint32_t p)
{
    return kn_flips_columns(d->in, l) ? dist_ic(d, KN_OP_xor, column_flip(d, outer), p)
                                      : dist_int(d, p);
}

/* Bytes 2 and 3 in the place of 0 and 1, and these of those, where a bit of flip is set. */
static kn_ref
selector(struct dist *d, kn_ref flip, uint32_t bit, uint32_t pick)
{
    kn_ref set;

    if (!flip)
        return dist_int(d, pick);
    set = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, flip, bit), 1);
    return dist_ic(d, KN_OP_xor, dist_ic(d, KN_OP_mul, set, 0x02020202), pick);
}

enum { NIBBLES = 0x0f0f0f0f };

/* Byte b of eight dwords, of the even ones and of the odd. Column c is in byte c % 2 * 2 + c / 4 of
 * a dword (kn_awq_place), so 1 of its number flips which half that is in, 4 which byte of it. */
static void
turned_bytes(struct dist *d, kn_ref flip, const kn_ref *row, uint32_t b, kn_ref out[2])
{
    kn_ref half = selector(d, flip, 0, b < 2 ? 0x05010400 : 0x07030602);
    kn_ref byte = selector(d, flip, 2, b % 2 ? 0x07060302 : 0x05040100);

    for (uint32_t odd = 0; odd < 2; odd++)
        out[odd] = dist_perm_by(d, dist_perm_by(d, row[6 + odd], row[4 + odd], half),
                                dist_perm_by(d, row[2 + odd], row[odd], half), byte);
}

void
dist_turn_codes(struct dist *d, kn_ref flip, const kn_ref *row, kn_ref *out)
{
    for (uint32_t b = 0; b < 4; b++) {
        kn_ref x[2];

        turned_bytes(d, flip, row, b, x);
        for (uint32_t odd = 0; odd < 2; odd++) {
            out[4 * b + odd] = dist_ic(d, KN_OP_and, x[odd], NIBBLES);
            out[4 * b + 2 + odd] = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, x[odd], 4),
                                           NIBBLES);
        }
    }
}

void
dist_turn_words(struct dist *d, kn_ref flip, const kn_ref *row, kn_ref *out)
{
    for (uint32_t b = 0; b < 4; b++) {
        kn_ref x[2];

        turned_bytes(d, flip, row, b, x);
        out[2 * b] = dist_merged(d, NIBBLES, x[0], dist_ic(d, KN_OP_shl, x[1], 4));
        out[2 * b + 1] = dist_merged(d, NIBBLES, dist_ic(d, KN_OP_shr, x[0], 4), x[1]);
    }
}

