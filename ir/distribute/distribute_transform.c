/* distribute_transform.c - transform: Hadamard transforms of 32 or 16 numbers, 8 a lane.
 *
 * Of 16-bit numbers by matrix products. Of lane 16 q + n the operand is elements 8 q to
 * 8 q + 7 of vector n, and so is what comes back: rows of the matrix are in the order in
 * which two products have them, 8 q + 4 t + i in register i of product t (ir/mfma.def).
 *
 * Entry (o, d) is (-1)^popcount(o & d), or of 16 zero where bit 4 of both differs. With
 * o = 8 a + 4 t + b and d = 8 q + j its sign is the sum of those of a & q, t & j / 4 and
 * b & j % 4: the lane has the first and the last, and a dword those of two j.
 *
 * Of f32 by butterflies, neighbours first: of a lane, two sums at a time, of two lanes
 * side by side, of four. */
#include "distribute.h"

struct matrix {
    kn_ref even[2], odd[2];  /* of j / 2 % 2: where t & j / 4 is 0, and where it is 1 */
    uint8_t elem;
    bool whole;              /* an instruction takes all 32 elements */
};

/* Bit n of x as the sign of both halves of a dword. */
static kn_ref
signs(struct dist *d, kn_ref x, int n)
{
    x = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shl, x, 31 - n), 0x80000000);
    return dist_i2(d, KN_OP_or, x, dist_ic(d, KN_OP_shr, x, 16));
}

static struct matrix
matrix_of(struct dist *d, const struct kn_ins *i)
{
    struct matrix m = { .elem = (uint8_t)i->attr[KN_A_elem] };
    kn_ref lane = dist_op(d, KN_OP_lane, kn_v32, 0, 0), both, far;

    m.whole = kn_targets[d->in->target].scaled;
    both = dist_i2(d, KN_OP_and, dist_ic(d, KN_OP_shr, lane, 4),
                   dist_ic(d, KN_OP_shr, lane, 2));
    m.even[0] = signs(d, both, 0);
    if (i->attr[KN_A_cols] == 32)
        m.even[0] = dist_i2(d, KN_OP_xor, m.even[0], signs(d, both, 1));
    m.even[0] = dist_ic(d, KN_OP_xor, m.even[0], m.elem == KN_T_bf16 ? 0x3f803f80
                                                                     : 0x3c003c00);
    m.even[0] = dist_i2(d, KN_OP_xor, m.even[0], dist_ic(d, KN_OP_shl, lane, 31));
    m.even[1] = dist_i2(d, KN_OP_xor, m.even[0], signs(d, lane, 1));
    far = dist_ic(d, KN_OP_and,
                  dist_i2(d, KN_OP_xor, lane, dist_ic(d, KN_OP_shr, lane, 2)), 8);
    far = dist_op(d, KN_OP_eq, kn_vb1, far, dist_int(d, 0));
    for (int w = 0; w < 2; w++) {
        m.odd[w] = dist_ic(d, KN_OP_xor, m.even[w], 0x80008000);
        for (int t = 0; t < 2 && i->attr[KN_A_cols] == 16; t++) {
            kn_ref *x = t ? &m.odd[w] : &m.even[w];

            *x = dist_op3(d, KN_OP_select, kn_v32,
                          (kn_ref[3]){ far, *x, dist_number(d, 0) });
        }
    }
    return m;
}

static kn_ref
product(struct dist *d, const struct matrix *m, kn_ref rows, kn_ref values, kn_ref sum)
{
    kn_ref arg[3] = { rows, values, sum };
    bool bf16 = m->elem == KN_T_bf16;
    int shape = m->whole ? bf16 ? KN_MFMA_bf16_16x16x32 : KN_MFMA_f16_16x16x32
              : bf16 ? KN_MFMA_bf16_16x16x16 : KN_MFMA_f16_16x16x16;
    kn_ref r = dist_op3(d, KN_OP_mfma, dist_vec(KN_T_f32, 4), arg);
    struct kn_ins *n = &d->out->ins[d->out->nins - 1];

    n->attr[KN_A_shape] = shape;
    n->attr[KN_A_ta] = n->attr[KN_A_tb] = m->elem;
    return r;
}

/* Outputs 8 q to 8 q + 3, and 8 q + 4 to 8 q + 7: what the first halves of runs have of
 * them is the same. */
static void
products(struct dist *d, const struct matrix *m, const kn_ref pair[4], kn_ref four[2])
{
    kn_ref sum = dist_op(d, KN_OP_mov, kn_vf32, kn_flt(d->out, 0), 0);

    sum = dist_op(d, KN_OP_splat, dist_vec(KN_T_f32, 4), sum, 0);
    if (!m->whole)
        sum = product(d, m, dist_cat(d, m->even, 2), dist_cat(d, pair, 2), sum);
    for (int t = 0; t < 2; t++) {
        const kn_ref *rear = t ? m->odd : m->even;
        const kn_ref all[4] = { m->even[0], m->even[1], rear[0], rear[1] };

        four[t] = m->whole ? product(d, m, dist_cat(d, all, 4), dist_cat(d, pair, 4), sum)
                : product(d, m, dist_cat(d, rear, 2), dist_cat(d, pair + 2, 2), sum);
    }
}

static void
by_products(struct dist *d, const struct kn_ins *i)
{
    struct matrix m = matrix_of(d, i);
    kn_ref pair[4], four[2];

    for (uint32_t h = 0; h < 4; h++)
        pair[h] = dist_slice(d, i->arg[0], h);
    products(d, &m, pair, four);
    dist_cat_to(d, i->dst, four, 2);
}

/* ---- f32 ---- */

static kn_ref
two_of(struct dist *d, kn_ref x, kn_ref y)
{
    return dist_floats(d, (kn_ref[2]){ x, y }, 2);
}

static kn_ref
number(struct dist *d, double x)
{
    return dist_op(d, KN_OP_mov, kn_vf32, kn_flt(d->out, x), 0);
}

/* Of a lane: elements e and e + 4 are beside each other. */
static void
in_lane(struct dist *d, kn_ref h[4])
{
    const struct kn_type two = dist_vec(KN_T_f32, 2);
    kn_ref signs = two_of(d, number(d, 1), number(d, -1));

    for (int s = 0; s < 2; s++)
        for (int e = 0; e < 4; e++) {
            int o = e | 1 << s;
            kn_ref sum;

            if (o == e)
                continue;
            sum = dist_op(d, KN_OP_fadd, two, h[e], h[o]);
            h[o] = dist_fma_two(d, h[o], kn_flt(d->out, -1), h[e]);
            h[e] = sum;
        }
    for (int e = 0; e < 4; e++) {
        kn_ref fore = dist_float(d, h[e], 0), rear = dist_float(d, h[e], 1);

        h[e] = dist_fma_two(d, two_of(d, rear, rear), signs, two_of(d, fore, fore));
    }
}

/* Of lanes l and l ^ (1 << s). */
static void
across_lanes(struct dist *d, kn_ref h[4], int s)
{
    kn_ref lane = dist_op(d, KN_OP_lane, kn_v32, 0, 0);
    kn_ref sign = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shl, lane, 31 - s), 0x80000000);

    sign = dist_as(d, KN_T_f32, 1, dist_ic(d, KN_OP_or, sign, 0x3f800000));
    sign = two_of(d, sign, sign);
    for (int e = 0; e < 4; e++) {
        kn_ref twin = dist_op(d, KN_OP_fmul, dist_vec(KN_T_f32, 2), h[e], sign), half[2];

        for (uint32_t n = 0; n < 2; n++) {
            half[n] = dist_op(d, KN_OP_fold, kn_vf32, dist_float(d, h[e], n),
                              dist_float(d, twin, n));
            d->out->ins[d->out->nins - 1].attr[KN_A_first] = s;
            d->out->ins[d->out->nins - 1].attr[KN_A_swap] = 1;
        }
        h[e] = two_of(d, half[0], half[1]);
    }
}

static void
by_butterflies(struct dist *d, const struct kn_ins *i)
{
    kn_ref h[4], v[8], four[2];

    for (uint32_t e = 0; e < 4; e++)
        h[e] = two_of(d, dist_float(d, i->arg[0], e), dist_float(d, i->arg[0], e + 4));
    in_lane(d, h);
    for (int s = 0; s < i->attr[KN_A_cols] / 16; s++)
        across_lanes(d, h, s);
    for (uint32_t e = 0; e < 8; e++)
        v[e] = dist_float(d, h[e % 4], e / 4);
    for (int n = 0; n < 2; n++)
        four[n] = dist_floats(d, v + 4 * n, 4);
    dist_cat_to(d, i->dst, four, 2);
}

kiln_status
expand_transform(struct dist *d, const struct kn_ins *i)
{
    if (i->attr[KN_A_elem] == KN_T_f32)
        by_butterflies(d, i);
    else
        by_products(d, i);
    return KILN_OK;
}
