/* distribute_quant_pairs.c - of quant's runs in registers: the largest of 16-bit pairs (pairs.max),
 * pairs under a power of two (pairs.lower), and codes as bytes of a dword: of 6 bits side by
 * side (pack.6), of i8 by a sum (sum.8). */
#include "distribute.h"

enum { MAGNITUDES = 0x7fff7fff, PAIRS = 4 };

static kn_ref
halves_max(struct dist *d, kn_ref most)
{
    struct kn_type two = dist_vec(KN_T_i16, 2);
    kn_ref v = dist_as(d, KN_T_i16, 2, most), half[2], turned = dist_temp(d, two);

    for (int e = 0; e < 2; e++) {
        half[e] = dist_op(d, KN_OP_slice, dist_vec(KN_T_i16, 1), v, 0);
        d->out->ins[d->out->nins - 1].attr[KN_A_first] = !e;
    }
    dist_cat_to(d, turned, half, 2);
    return dist_as(d, KN_T_i32, 1, dist_op(d, KN_OP_umax, two, v, turned));
}

/* bf16's larger half is the bits of an f32 already, mode=1 without the other half. */
kiln_status
expand_pairsmax(struct dist *d, const struct kn_ins *i)
{
    kn_ref most = 0, v;

    for (int h = 0; h < PAIRS; h++) {
        v = dist_ic(d, KN_OP_and, i->arg[h], MAGNITUDES);
        most = h ? dist_pair_op(d, KN_OP_umax, most, v) : v;
    }
    if (i->attr[KN_A_elem] == KN_T_bf16) {
        most = halves_max(d, most);
        if (i->attr[KN_A_mode])
            most = dist_ic(d, KN_OP_and, most, 0xffff0000);
    } else {
        v = dist_op(d, KN_OP_cvt, dist_vec(KN_T_f32, 2), dist_as(d, KN_T_f16, 2, most), 0);
        v = dist_as(d, KN_T_i32, 2, v);
        most = dist_i2(d, KN_OP_umax, dist_slice(d, v, 1), dist_slice(d, v, 0));
    }
    dist_move(d, i->dst, most);
    return KILN_OK;
}

/* Exponents are taken off, down to zero; signs stay. */
kiln_status
expand_lower(struct dist *d, const struct kn_ins *i)
{
    kn_ref mag = dist_ic(d, KN_OP_and, i->arg[0], MAGNITUDES);
    kn_ref sign = dist_i2(d, KN_OP_xor, i->arg[0], mag);

    mag = dist_pair_op(d, KN_OP_umax, mag, i->arg[1]);
    mag = dist_pair_op(d, KN_OP_sub, mag, i->arg[1]);
    dist_move(d, i->dst, dist_i2(d, KN_OP_or, mag, sign));
    return KILN_OK;
}

/* Fields of an 8-bit float under the sign of the second, of which one too large is one less;
 * products of bytes by 1 and 64 are added. */
kiln_status
expand_pack6(struct dist *d, const struct kn_ins *i)
{
    kn_ref q = i->arg[0], v = q, sum;

    if (i->attr[KN_A_sat])
        v = dist_i2(d, KN_OP_sub, q,
                    dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, q, 5), 0x01010101));
    if (i->arg[1])
        v = dist_i2(d, KN_OP_or, dist_ic(d, KN_OP_and, v, 0x1f1f1f1f),
                    dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, i->arg[1], 2), 0x20202020));
    sum = dist_op3(d, KN_OP_dot4, kn_v32,
                   (kn_ref[]){ v, dist_int(d, 0x40010000), dist_int(d, 0) });
    sum = dist_ic(d, KN_OP_shl, sum, 12);
    dist_move(d, i->dst, dist_op3(d, KN_OP_dot4, kn_v32,
                                  (kn_ref[]){ v, dist_int(d, 0x00004001), sum }));
    return KILN_OK;
}

/* Nearest even: the low byte of a sum with 1.5 * 2^23. */
kiln_status
expand_sum8(struct dist *d, const struct kn_ins *i)
{
    struct kn_type two = dist_vec(KN_T_f32, 2);
    kn_ref b[4], low, high;

    for (uint32_t h = 0; h < 4; h += 2) {
        kn_ref sum = dist_temp(d, two);

        dist_cat_to(d, sum, &i->arg[h], 2);
        sum = dist_op(d, KN_OP_fadd, two, sum, kn_flt(d->out, 12582912));
        for (uint32_t e = 0; e < 2; e++)
            b[h + e] = dist_as(d, KN_T_i32, 1, dist_float(d, sum, e));
    }
    low = dist_perm(d, b[1], b[0], 0x0c0c0400);
    high = dist_perm(d, b[3], b[2], 0x04000c0c);
    dist_move(d, i->dst, dist_i2(d, KN_OP_or, low, high));
    return KILN_OK;
}
