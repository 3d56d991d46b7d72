/* distribute_steps.c - random.step: two values go to the numbers of a type beside
 * them, more often to the nearer, by 16 bits each of row, column and seed
 * (docs/quant.md). Up to half a step is added to each, which is rounded where the steps
 * of its own power of two are, by a sum with what has such a step as its last bit. */
#include "distribute.h"

static int
mantissa_of(int32_t elem)
{
    return elem == KN_T_fp8 ? 3 : elem == KN_T_bf8 ? 2 : elem == KN_T_fp4 ? 1 : 0;
}

/* -1/2 to 1/2 of a step of a value from 1 to 2: of two columns. */
static kn_ref
parts_of_step(struct dist *d, kn_ref word, int mantissa)
{
    kn_ref one = dist_held(d, ((int64_t)(134 - mantissa) << 23) | 1), x[2];
    double middle = -128.5 / (1 << mantissa);

    x[0] = dist_i2(d, KN_OP_or, dist_ic(d, KN_OP_and, word, 65535), one);
    x[1] = dist_i2(d, KN_OP_or, dist_ic(d, KN_OP_shr, word, 16), one);
    return dist_op(d, KN_OP_fadd, dist_vec(KN_T_f32, 2),
                   dist_as(d, KN_T_f32, 2, dist_cat(d, x, 2)), dist_two(d, middle));
}

/* The powers of two below, from the smallest normal number on; an infinity stays one. */
static kn_ref
powers(struct dist *d, const struct kn_ins *i, const kn_ref bits[2])
{
    kn_ref size[2];

    for (int e = 0; e < 2; e++) {
        size[e] = dist_ic(d, KN_OP_and, bits[e], 0x7f800000);
        size[e] = dist_i2(d, KN_OP_umax, size[e], i->arg[4]);
        if (!i->attr[KN_A_sat])
            size[e] = dist_ic(d, KN_OP_umin, size[e], 0x71800000);
    }
    return dist_as(d, KN_T_f32, 2, dist_cat(d, size, 2));
}

/* Signs are the values', of a zero too, but with mode=1. */
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
        if (!i->attr[KN_A_mode])
            x[e] = dist_i2(d, KN_OP_or, x[e], dist_ic(d, KN_OP_and, bits[e], 0x80000000));
    }
    return dist_cat(d, x, 2);
}

kiln_status
expand_stepped(struct dist *d, const struct kn_ins *i)
{
    int32_t elem = i->attr[KN_A_elem];
    kn_ref all = dist_as(d, KN_T_i32, 2, i->arg[0]), word[4], bits[2], by, v = i->arg[0];

    dist_words(d, i->arg + 1, word);
    by = parts_of_step(d, word[i->attr[KN_A_first] / 2 & 3], mantissa_of(elem));
    for (uint32_t e = 0; e < 2; e++)
        bits[e] = dist_slice(d, all, e);
    v = elem == KN_T_i8 ? dist_op(d, KN_OP_fadd, dist_vec(KN_T_f32, 2), v, by)
      : dist_as(d, KN_T_f32, 2, to_steps(d, i, bits, v, by));
    dist_move(d, i->dst, v);
    return KILN_OK;
}
