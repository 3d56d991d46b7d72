/* distribute_random_codes.c - codes that are rounded at random (docs/quant.md): what lies
 * between two numbers of a type becomes the upper one where its place there, in 256ths,
 * and a byte of row, column and seed have a carry.
 *
 * random.codes: magnitudes as f16, moved to exponents where its smallest normal number is
 * the type's, have the code above their lower 10 less so many bits as the type's mantissa
 * has, so that the byte is added as an integer, to two at once.
 *
 * random.step: what f16 has no room for. Up to half a step is added to two values,
 * which are rounded where the steps of their own power of two are, by a sum with what has
 * such a step as its last bit. */
#include "distribute.h"

/* Mantissa bits, exponent of the smallest normal number, largest code, and that of a NaN
 * where it matters: the target's own types. */
struct drawn {
    int bits, least, most, nan;
};

static struct drawn
drawn_of(const struct dist *d, int32_t elem)
{
    static const struct drawn own = { 3, -7, 0x7f, 0x80 }, drawn[KN_NELEM] = {
        [KN_T_e4m3] = { 3, -6, 0x7e, 0 }, [KN_T_e5m2] = { 2, -14, 0x7b, 0 },
        [KN_T_fp8] = { 3, -6, 0x7e, 0x7f }, [KN_T_bf8] = { 2, -14, 0x7b, 0x7e },
        [KN_T_fp6] = { 3, 0, 0x1f, 0 }, [KN_T_bf6] = { 2, -2, 0x1f, 0 },
        [KN_T_fp4] = { 1, 0, 7, 0 } };

    return elem == KN_T_fp8 && kn_targets[d->in->target].fnuz ? own : drawn[elem];
}

/* Eight values as pairs of f16; those of the target's own types are not moved yet. */
static void
pairs_of_numbers(struct dist *d, const struct kn_ins *i, const struct drawn *t, kn_ref pair[4])
{
    kn_ref all = dist_as(d, KN_T_i32, 8, i->arg[0]), less = 0;

    if (t->nan && t->least > -14)
        less = dist_two(d, 1.0 / (1 << (14 + t->least)));
    for (uint32_t h = 0; h < 4; h++) {
        kn_ref two[2] = { dist_slice(d, all, 2 * h), dist_slice(d, all, 2 * h + 1) };
        kn_ref v = dist_as(d, KN_T_f32, 2, dist_cat(d, two, 2));

        if (less)
            v = dist_op(d, KN_OP_fmul, dist_vec(KN_T_f32, 2), v, less);
        v = dist_op(d, KN_OP_cvt, dist_vec(KN_T_f16, 2), v, 0);
        pair[h] = dist_as(d, KN_T_i32, 1, v);
    }
}

/* What f16 has below it is reached by a product, before which 11 exponents more are. */
enum { BELOW = 11 };

/* Pairs that have the signs, and magnitudes. */
static void
operands(struct dist *d, const struct kn_ins *i, const struct drawn *t, kn_ref pair[4],
         kn_ref mag[4])
{
    struct dist_halves x = { i->arg[0], i->arg[4], i->arg[5], t->least, BELOW };

    if (i->arg[4]) {
        dist_halves(d, &x, mag);
        for (uint32_t h = 0; h < 4; h++)
            pair[h] = dist_slice(d, i->arg[0], h);
        return;
    }
    pairs_of_numbers(d, i, t, pair);
    for (int h = 0; h < 4; h++)
        mag[h] = dist_ic(d, KN_OP_and, pair[h], 0x7fff7fff);
}

/* The upper bytes of both halves end with the code, but of fp4 with another bit. */
static kn_ref
carried(struct dist *d, const struct drawn *t, kn_ref mag, kn_ref byte)
{
    if (t->bits == 1)
        return dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_shl, byte, 1), mag);
    return dist_i2(d, KN_OP_add, t->bits == 3 ? dist_ic(d, KN_OP_shl, mag, 1) : mag, byte);
}

/* Bytes of columns 2h and 2h + 1. */
static kn_ref
halves_of(struct dist *d, const kn_ref word[2], int h)
{
    return dist_perm(d, word[h / 2], word[h / 2], h % 2 ? 0x0c030c02 : 0x0c010c00);
}

/* Upper bytes of four halves. */
static kn_ref
uppers(struct dist *d, const kn_ref pair[2])
{
    return dist_perm(d, pair[1], pair[0], 0x07050301);
}

/* Four codes of 8 bits, or of 6 that begin their bytes. FNUZ has no zero with a sign. */
static kn_ref
four_bytes(struct dist *d, int32_t elem, kn_ref code, kn_ref sign)
{
    if (elem == KN_T_fp6 || elem == KN_T_bf6)
        return dist_i2(d, KN_OP_or, code,
                       dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, sign, 2), 0x20202020));
    if (elem == KN_T_fp8 && kn_targets[d->in->target].fnuz)
        sign = dist_i2(d, KN_OP_and, sign, dist_ic(d, KN_OP_add, code, 0x7f7f7f7f));
    return dist_i2(d, KN_OP_or, code, dist_ic(d, KN_OP_and, sign, 0x80808080));
}

/* fp4 of bf16 by the target's conversion. */
static void
converted(struct dist *d, const struct kn_ins *i, const kn_ref word[2])
{
    kn_ref scale = dist_ic(d, KN_OP_shl, i->arg[4], 23), out[2];
    const kn_ref arg[3] = { dist_as(d, KN_T_bf16, 8, i->arg[0]), dist_as(d, KN_T_f32, 1, scale),
                            dist_cat(d, word, 2) };

    out[0] = out[1] = dist_op3(d, KN_OP_cvtsr, kn_v32, arg);
    dist_cat_to(d, i->dst, out, 2);
}

/* The number of a code of 6 bits, with its sign: what is below its last bit, 7 bits or 8,
 * and as many of a byte have a carry. */
static kn_ref
number(struct dist *d, const struct drawn *t, kn_ref mag, kn_ref pair, kn_ref byte)
{
    int64_t upper = 0xffff & -(1 << (10 - t->bits));

    mag = dist_i2(d, KN_OP_or, dist_ic(d, KN_OP_and, pair, 0x80008000), mag);
    mag = dist_ic(d, KN_OP_and, dist_i2(d, KN_OP_add, mag, byte), upper << 16 | upper);
    mag = dist_op(d, KN_OP_held, kn_vf32, dist_as(d, KN_T_f32, 1, mag), 0);
    return dist_as(d, KN_T_i32, 1, mag);
}

static void
to_numbers(struct dist *d, const struct kn_ins *i, const struct drawn *t, kn_ref word[2])
{
    kn_ref pair[4], mag[4];

    operands(d, i, t, pair, mag);
    for (int h = 0; h < 2 && t->bits == 3; h++)
        word[h] = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, word[h], 1), 0x7f7f7f7f);
    for (int h = 0; h < 4; h++)
        mag[h] = number(d, t, mag[h], pair[h], halves_of(d, word, h));
    dist_move(d, i->dst, dist_as(d, KN_T_f16, 8, dist_cat(d, mag, 4)));
}

kiln_status
expand_drawn(struct dist *d, const struct kn_ins *i)
{
    int32_t elem = i->attr[KN_A_elem];
    struct drawn t = drawn_of(d, elem);
    int64_t most = (int64_t)(t.nan ? t.nan : t.most) << (10 - t.bits);
    kn_ref word[2], pair[4], mag[4], out[2];

    dist_bytes(d, i->arg + 1, word);
    if (elem == KN_T_fp4 && i->arg[4] && kn_targets[d->in->target].scaled) {
        converted(d, i, word);
        return KILN_OK;
    }
    if (kn_val(d->in, i->dst)->type.elem == KN_T_f16) {
        to_numbers(d, i, &t, word);
        return KILN_OK;
    }
    operands(d, i, &t, pair, mag);
    for (int h = 0; h < 4; h++) {
        if (t.nan || i->attr[KN_A_sat])
            mag[h] = dist_pair_op(d, KN_OP_umin, mag[h], dist_number(d, most << 16 | most));
        mag[h] = carried(d, &t, mag[h], halves_of(d, word, h));
    }
    for (int h = 0; h < 4; h += 2)
        out[h / 2] = elem == KN_T_fp4 ? dist_four_codes(d, mag + h, pair + h)
                   : four_bytes(d, elem, uppers(d, mag + h), uppers(d, pair + h));
    if (elem == KN_T_fp4)
        out[0] = out[1] = dist_perm(d, out[1], out[0], 0x07050301);
    dist_cat_to(d, i->dst, out, 2);
    return KILN_OK;
}

/* ---- f32 ---- */

static int
mantissa_of(int32_t elem)
{
    return elem == KN_T_bf8 ? 2 : 0;
}

/* -1/2 to 1/2 of a step of a value from 1 to 2: of two columns, whose bytes are word's
 * from `byte` on. */
static kn_ref
parts_of_step(struct dist *d, kn_ref word, uint32_t byte, int mantissa)
{
    kn_ref one = dist_held(d, ((int64_t)(134 - mantissa) << 23) | 0x80), x[2];
    double middle = -128.5 / (1 << mantissa);

    for (uint32_t e = 0; e < 2; e++)
        x[e] = dist_perm(d, one, word, 0x07060004 + ((byte + e) << 8));
    return dist_op(d, KN_OP_fadd, dist_vec(KN_T_f32, 2),
                   dist_as(d, KN_T_f32, 2, dist_cat(d, x, 2)), dist_two(d, middle));
}

/* The powers of two below, from the smallest normal number of FNUZ bf8 on; an infinity
 * stays one. */
static kn_ref
powers(struct dist *d, const struct kn_ins *i, const kn_ref bits[2])
{
    kn_ref size[2];

    for (int e = 0; e < 2; e++) {
        size[e] = dist_ic(d, KN_OP_and, bits[e], 0x7f800000);
        size[e] = dist_ic(d, KN_OP_umax, size[e], (127 - 15) << 23);
        if (!i->attr[KN_A_sat])
            size[e] = dist_ic(d, KN_OP_umin, size[e], 0x71800000);
    }
    return dist_as(d, KN_T_f32, 2, dist_cat(d, size, 2));
}

/* Signs are the values', of a zero too. */
static kn_ref
to_steps(struct dist *d, const struct kn_ins *i, const kn_ref bits[2], kn_ref v, kn_ref by)
{
    kn_ref steps = powers(d, i, bits), x[2];
    double lift = 12582912 >> mantissa_of(i->attr[KN_A_elem]);

    v = dist_fma_two(d, by, steps, v);
    v = dist_fma_two(d, steps, dist_two(d, lift), v);
    v = dist_as(d, KN_T_i32, 2, dist_fma_two(d, steps, dist_two(d, -lift), v));
    for (uint32_t e = 0; e < 2; e++) {
        x[e] = dist_slice(d, v, e);
        x[e] = dist_i2(d, KN_OP_or, x[e], dist_ic(d, KN_OP_and, bits[e], 0x80000000));
    }
    return dist_cat(d, x, 2);
}

kiln_status
expand_stepped(struct dist *d, const struct kn_ins *i)
{
    int32_t elem = i->attr[KN_A_elem], at = i->attr[KN_A_first];
    kn_ref all = dist_as(d, KN_T_i32, 2, i->arg[0]), word[2], bits[2], by, v = i->arg[0];

    dist_bytes(d, i->arg + 1, word);
    by = parts_of_step(d, word[at / 4 & 1], (uint32_t)at % 4, mantissa_of(elem));
    for (uint32_t e = 0; e < 2; e++)
        bits[e] = dist_slice(d, all, e);
    v = elem == KN_T_i8 ? dist_op(d, KN_OP_fadd, dist_vec(KN_T_f32, 2), v, by)
      : dist_as(d, KN_T_f32, 2, to_steps(d, i, bits, v, by));
    dist_move(d, i->dst, v);
    return KILN_OK;
}
