/* distribute_bf16x3.c - f32 multiplied as two bf16: hi, the one nearest to it, and lo,
 * the one nearest to what that leaves (docs/families.md). A fragment is split where
 * it is multiplied first, or LDS has it split (elem=bf16s): on its way there each
 * lane splits its four of a row, so that each element is once a workgroup. The two
 * chunks that a fragment is read from, 64 bytes apart (kn_readplan), are then the hi
 * of both, and their lo. */
#include "widen.h"

/* Bits whose upper half is the bf16 nearest to a number, ties away from zero; of one
 * whose upper half is all ones, a NaN, it is another number. */
static kn_ref
nearest(struct dist *d, kn_ref x)
{
    return dist_ic(d, KN_OP_add, x, 0x8000);
}

/* The same, and of a NaN one: but for that the sum is no less than x, with x as a number
 * of either sign. */
static kn_ref
nearest_or_nan(struct dist *d, kn_ref x)
{
    return dist_i2(d, KN_OP_umax, dist_i2(d, KN_OP_smax, nearest(d, x), x), x);
}

/* Bits x as f32 less those of hi. */
static kn_ref
rest(struct dist *d, kn_ref x, kn_ref hi)
{
    kn_ref arg[] = { dist_op(d, KN_OP_bits, kn_vf32, hi, 0), kn_flt(d->out, -1),
                     dist_op(d, KN_OP_bits, kn_vf32, x, 0) };

    return dist_op(d, KN_OP_bits, kn_v32, dist_op3(d, KN_OP_fma, kn_vf32, arg), 0);
}

/* hi and lo of two f32 where no instruction rounds to bf16. */
static struct dist_terms
split_by_bits(struct dist *d, const kn_ref w[2])
{
    kn_ref up[2], low[2];

    for (uint32_t i = 0; i < 2; i++) {
        up[i] = nearest_or_nan(d, w[i]);
        low[i] = nearest(d, rest(d, w[i], dist_ic(d, KN_OP_and, up[i], 0xffff0000)));
    }
    return (struct dist_terms){ dist_perm(d, up[1], up[0], 0x07060302),
                                dist_perm(d, low[1], low[0], 0x07060302) };
}

/* Two f32 as the nearest bf16, in a dword. */
static kn_ref
rounded(struct dist *d, kn_ref x)
{
    x = dist_op(d, KN_OP_cvt, dist_vec(KN_T_bf16, 2), x, 0);
    return dist_op(d, KN_OP_bits, kn_v32, x, 0);
}

/* The same by one, in packed arithmetic. */
static struct dist_terms
split_packed(struct dist *d, kn_ref pair)
{
    const struct kn_type f2 = dist_vec(KN_T_f32, 2);
    kn_ref x = dist_op(d, KN_OP_bits, f2, pair, 0);
    kn_ref two = dist_op(d, KN_OP_cvt, dist_vec(KN_T_bf16, 2), x, 0);
    kn_ref hi = dist_op(d, KN_OP_bits, kn_v32, two, 0), arg[3] = { [2] = x };

    arg[0] = dist_op(d, KN_OP_cvt, f2, two, 0);
    arg[1] = dist_op(d, KN_OP_splat, f2, kn_flt(d->out, -1), 0);
    return (struct dist_terms){ hi, rounded(d, dist_op3(d, KN_OP_fma, f2, arg)) };
}

/* One by one: beside matrix instructions packed arithmetic would wait for the end of a
 * run of them. */
static struct dist_terms
split_beside(struct dist *d, const kn_ref w[2], kn_ref pair)
{
    const struct kn_type f2 = dist_vec(KN_T_f32, 2);
    kn_ref hi = rounded(d, dist_op(d, KN_OP_bits, f2, pair, 0)), low[2];

    low[0] = rest(d, w[0], dist_ic(d, KN_OP_shl, hi, 16));
    low[1] = rest(d, w[1], dist_ic(d, KN_OP_and, hi, 0xffff0000));
    pair = dist_op(d, KN_OP_bits, f2, dist_cat(d, low, 2), 0);
    return (struct dist_terms){ hi, rounded(d, pair) };
}

/* n dwords from `first` of a fragment. */
static kn_ref
dwords(struct dist *d, kn_ref frag, uint32_t first, uint32_t n)
{
    kn_ref r = dist_op(d, KN_OP_slice, dist_vec(KN_T_i32, n), frag, 0);

    d->out->ins[d->out->nins - 1].attr[KN_A_first] = (int32_t)first;
    return r;
}

static struct dist_terms
split(struct dist *d, kn_ref frag)
{
    uint32_t n = kn_val(d->out, frag)->type.n / 2;
    kn_ref hi[8], lo[8];

    if (d->in->shape.ta == KN_T_bf16s)
        return (struct dist_terms){ dwords(d, frag, 0, n), dwords(d, frag, n, n) };
    for (uint32_t x = 0; x < n; x++) {
        kn_ref pair = dwords(d, frag, 2 * x, 2);
        struct dist_terms two = kn_targets[d->in->target].cvt_bf16
            ? split_packed(d, pair)
            : split_by_bits(d, (kn_ref[2]){ dist_slice(d, pair, 0), dist_slice(d, pair, 1) });

        hi[x] = two.hi;
        lo[x] = two.lo;
    }
    return (struct dist_terms){ dist_cat(d, hi, n), dist_cat(d, lo, n) };
}

const struct dist_terms *
dist_terms(struct dist *d, kn_ref tile, uint32_t n)
{
    struct dist_tile *t = dist_tile(d, tile);

    if (!t->terms[n].hi)
        t->terms[n] = split(d, t->reg[n]);
    return &t->terms[n];
}

void
dist_split_run(struct dist *d, const kn_ref w[4], kn_ref four, kn_ref out[4])
{
    for (uint32_t i = 0; i < 2; i++) {
        struct dist_terms two = !kn_targets[d->in->target].cvt_bf16
            ? split_by_bits(d, w + 2 * i)
            : split_beside(d, w + 2 * i, four ? dwords(d, four, 2 * i, 2)
                                              : dist_cat(d, w + 2 * i, 2));

        out[i] = two.hi;
        out[2 + i] = two.lo;
    }
}

kn_ref
dist_term_place(struct dist *d, kn_ref chunk, uint32_t lo)
{
    kn_ref second = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, chunk, 2), 1);

    chunk = dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_and, chunk, -5), 2);
    return dist_ic(d, KN_OP_add, dist_i2(d, KN_OP_add, chunk, second), 8 * (int64_t)lo);
}
