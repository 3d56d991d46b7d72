/* distribute_block_scales.c - products of the K that a factor holds for: they are added up
 * first, multiplied by it and added to the accumulators as f32. */
#include "distribute.h"

/* Sums of integers begin at 1.5 * 2^23 as an f32 has it: up to 2^22 either way, more
 * than so many products of 8 bits come to, their bits are those of the f32 that is so
 * much more. */
enum { BLOCK_START = 0x4b400000, BLOCK_MOST = 128 };

kn_ref
dist_block_start(struct dist *d)
{
    struct kn_type t = dist_sum_type(d);

    return t.elem == KN_T_f32 ? kn_flt(d->out, 0)
                              : dist_op(d, KN_OP_splat, t, dist_int(d, BLOCK_START), 0);
}

/* Whether acc.addblock takes the sums of this tile, by factors of so little K. */
static bool
adds_block(struct dist *d, const struct kn_ins *i, kn_ref tile)
{
    const struct dist_tile *f;

    if (i->op != KN_OP_addblock || i->arg[1] != tile || i->arg[0] == tile)
        return false;
    f = dist_tile(d, i->arg[2]);
    return f->kind == DT_FRAG && d->in->lds[f->lds].kdiv <= BLOCK_MOST;
}

bool
dist_is_block(struct dist *d, kn_ref tile)
{
    bool any = false;

    if (dist_sum_type(d).elem == KN_T_f32)
        return false;
    for (size_t n = 0; n < d->in->nins; n++) {
        const struct kn_ins *i = &d->in->ins[n];
        bool adds = adds_block(d, i, tile);

        any |= adds;
        for (int a = i->op == KN_OP_mma; a < KN_MAXARG && !adds; a++)
            if (i->arg[a] == tile)
                return false;
    }
    return any;
}

/* A sum of a block as f32, exactly. */
static kn_ref
block_float(struct dist *d, kn_ref sum, bool block)
{
    struct kn_type t = dist_vec(KN_T_f32, dist_sum_type(d).n);

    if (dist_sum_type(d).elem == KN_T_f32)
        return sum;
    if (!block)
        return dist_op(d, KN_OP_i2f, t, sum, 0);
    sum = dist_op(d, KN_OP_bits, t, sum, 0);
    return dist_op(d, KN_OP_fadd, t, sum, kn_flt(d->out, -0x1.8p23));
}

/* What the product of one K block is scaled by: the factor of the lane's row
 * of A times those of its columns of B, one for all four in a 128-block; or
 * one of the two. */
static kn_ref
block_factor(struct dist *d, const kn_ref scales[2], uint32_t x, uint32_t y)
{
    struct kn_type t = dist_vec(KN_T_f32, dist_sum_type(d).n);
    const struct dist_tile *f = dist_tile(d, scales[0]);
    bool rows = d->in->lds[f->lds].side == 'a', one;
    kn_ref a = rows ? f->reg[x]
             : scales[1] ? dist_tile(d, scales[1])->reg[x] : 0, b;

    if (rows)
        return dist_op(d, KN_OP_splat, t, a, 0);
    b = f->reg[y];
    one = kn_val(d->out, b)->type.n == 1;
    if (a && one)
        b = dist_op(d, KN_OP_fmul, kn_vf32, a, b);
    if (one)
        return dist_op(d, KN_OP_splat, t, b, 0);
    if (!a)
        return b;
    return dist_op(d, KN_OP_fmul, t, dist_op(d, KN_OP_splat, t, a, 0), b);
}

/* i: acc += sum * factor, of fragments n / columns and n % columns. */
static void
add_block(struct dist *d, const struct kn_ins *i, kn_ref sum, const kn_ref scales[2],
          uint32_t n)
{
    kn_ref acc = dist_tile(d, i->arg[0])->reg[n];
    uint32_t columns = kn_fragment(d->in, 'b').count;
    struct kn_ins *add;
    kn_ref s;

    s = block_factor(d, scales, n / columns, n % columns);
    add = dist_add(d, KN_OP_fma, acc);
    add->arg[0] = sum;
    add->arg[1] = s;
    add->arg[2] = acc;
    add->attr[KN_A_single] = i->attr[KN_A_single];
}

/* Accumulators [first, end) of this part. */
struct sums {
    uint32_t first, end;
};

static struct sums
sums_of_part(const struct dist *d, const struct kn_ins *i)
{
    uint32_t rows = kn_fragment(d->in, 'a').count;
    uint32_t columns = kn_fragment(d->in, 'b').count;
    uint32_t part = (uint32_t)i->attr[KN_A_part];
    uint32_t parts = (uint32_t)i->attr[KN_A_parts];

    return (struct sums){ part * rows / parts * columns,
                          (part + 1) * rows / parts * columns };
}

/* mma.block: the product of this K block alone is scaled, then added. */
kiln_status
expand_mmab(struct dist *d, const struct kn_ins *i)
{
    uint32_t columns = kn_fragment(d->in, 'b').count;
    struct kn_type t = dist_sum_type(d);
    struct sums s = sums_of_part(d, i);

    for (uint32_t n = s.first; n < s.end; n++) {
        kn_ref sum = dist_temp(d, t);

        dist_move(d, sum, dist_block_start(d));
        dist_multiply(d, sum, i, n / columns, n % columns);
        add_block(d, i, block_float(d, sum, true), &i->arg[3], n);
    }
    return KILN_OK;
}

/* acc.addblock: the same of products that are another tile's sums. */
kiln_status
expand_addblock(struct dist *d, const struct kn_ins *i)
{
    struct sums s = sums_of_part(d, i);

    for (uint32_t n = s.first; n < s.end; n++) {
        const struct dist_tile *t = dist_tile(d, i->arg[1]);

        add_block(d, i, block_float(d, t->reg[n], t->block), &i->arg[2], n);
    }
    return KILN_OK;
}
