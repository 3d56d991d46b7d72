/* distribute_random.c - stochastic rounding of what is stored (docs/epilogues.md): an
 * accumulator is moved by up to half a step of its type, by 16 bits an element that
 * are a function of the seed and of the element's row and column in the output, and
 * then rounded to nearest as ever.
 *
 * A step is that of the value's own power of two, so that what was moved below this
 * power must go back to it: nearest of the finer steps there would not. Above the
 * next one the coarser steps round as the definition's do. */
#include "widen.h"

/* Mantissa bits, exponent of the smallest normal number (of FNUZ one less). */
struct steps {
    int bits, least;
};

static bool
steps_of(const struct dist *d, uint8_t elem, struct steps *s)
{
    int fnuz = kn_targets[d->in->target].fnuz;

    switch (elem) {
    case KN_T_bf16: *s = (struct steps){ 7, -126 }; return true;
    case KN_T_f16: *s = (struct steps){ 10, -14 }; return true;
    case KN_T_fp8: *s = (struct steps){ 3, -6 - fnuz }; return true;
    case KN_T_bf8: *s = (struct steps){ 2, -14 - fnuz }; return true;
    case KN_T_fp4: *s = (struct steps){ 1, 0 }; return true;
    case KN_T_i8: *s = (struct steps){ 0, 0 }; return true;
    default: return false;
    }
}

/* ---- the bits ----
 *
 * pcg4d of Jarzynski and Olano, Hash Functions for GPU Rendering, JCGT 9(3), 2020:
 * a word for two columns of eight. */
enum { PCG_BY = 1664525, PCG_PLUS = 1013904223 };

static kn_ref
stirred(struct dist *d, kn_ref x)
{
    return dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, x, PCG_BY), PCG_PLUS);
}

static void
take_seed(struct dist *d, kn_ref seed)
{
    kn_ref high = dist_op(d, KN_OP_shr, kn_s64, seed, dist_int(d, 32));

    d->seed[0] = stirred(d, dist_op(d, KN_OP_trunc, kn_s32, seed, 0));
    d->seed[1] = stirred(d, dist_op(d, KN_OP_trunc, kn_s32, high, 0));
}

kiln_status
expand_seed(struct dist *d, const struct kn_ins *i)
{
    take_seed(d, dist_operand(d, i->arg[0]));
    d->seed_at[0] = dist_operand(d, i->arg[1]);
    d->seed_at[1] = dist_operand(d, i->arg[2]);
    return KILN_OK;
}

void
dist_dice_column(struct dist *d, struct dist_dice *z, kn_ref col)
{
    if (!z->rolls)
        return;
    z->col = dist_ic(d, KN_OP_shr, col, 3);
    if (z->shared)           /* odd rows of lanes have the next 16 columns */
        z->col = dist_i2(d, KN_OP_add, z->col, dist_ic(d, KN_OP_shl, z->beside, 1));
    z->col = stirred(d, z->col);
}

kiln_status
dist_dice(struct dist *d, const struct kn_ins *i, struct dist_dice *z)
{
    struct dist_epilogue e = dist_epilogue(d, dist_tile(d, i->arg[0]));
    struct steps s;

    *z = (struct dist_dice){ .elem = (uint8_t)i->attr[KN_A_elem] };
    if (!i->attr[KN_A_random])
        return KILN_OK;
    if (!d->seed[0])
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "random=1 needs acc.seed "
                          "in front");
    if (!steps_of(d, z->elem, &s) || i->attr[KN_A_add] || i->attr[KN_A_atomic])
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "random=1 is for stores of "
                          "bf16, f16 or codes, to which nothing is added");
    z->rolls = true;
    z->beside = dist_ic(d, KN_OP_and, d->q, 1);
    z->shared = kn_targets[d->in->target].swaps && e.b.count % 2 == 0;
    dist_dice_column(d, z, dist_i2(d, KN_OP_add, e.col0, d->seed_at[1]));
    z->row0 = dist_i2(d, KN_OP_add, e.row0, d->seed_at[0]);
    z->odd = dist_op(d, KN_OP_eq, kn_vb1, z->beside, dist_int(d, 1));
    z->one = dist_op(d, KN_OP_mov, kn_s32, dist_int(d, (134 - s.bits) << 23), 0);
    return KILN_OK;
}

static void
take_row(struct dist *d, struct dist_dice *z, kn_ref row)
{
    z->row = stirred(d, row);
    z->by_seed = dist_i2(d, KN_OP_mul, z->row, d->seed[1]);
}

void
dist_dice_row(struct dist *d, struct dist_dice *z, uint32_t x)
{
    if (z->rolls)
        take_row(d, z, dist_ic(d, KN_OP_add, z->row0, x * 16));
}

void
dist_dice_at(struct dist *d, struct dist_dice *z, kn_ref from)
{
    if (z->rolls)
        take_row(d, z, dist_i2(d, KN_OP_add, z->row0, from));
}

void
dist_dice_named(struct dist *d, struct dist_dice *z, const struct dist_rows *r,
                kn_ref id)
{
    kn_ref row = id;

    if (!z->rolls)
        return;
    if (!r->plain)
        row = dist_slot_row(d, r, dist_ic(d, KN_OP_and, id, 0xffffff), id);
    take_row(d, z, row);
}

static kn_ref
plus_product(struct dist *d, kn_ref to, kn_ref x, kn_ref y)
{
    return dist_i2(d, KN_OP_add, dist_i2(d, KN_OP_mul, x, y), to);
}

static kn_ref
mixed(struct dist *d, kn_ref x)
{
    return dist_i2(d, KN_OP_xor, x, dist_ic(d, KN_OP_shr, x, 16));
}

/* The four words of the lane's row and of column block y's eight. */
static void
roll(struct dist *d, const struct dist_dice *z, uint32_t y, kn_ref v[4])
{
    v[0] = dist_ic(d, KN_OP_add, z->col, 2 * (int64_t)y * PCG_BY);
    v[0] = dist_i2(d, KN_OP_add, v[0], z->by_seed);
    v[1] = plus_product(d, z->row, v[0], d->seed[0]);
    v[2] = plus_product(d, d->seed[0], v[0], v[1]);
    v[3] = plus_product(d, d->seed[1], v[1], v[2]);
    for (int w = 0; w < 4; w++)
        v[w] = mixed(d, v[w]);
    v[0] = plus_product(d, v[0], v[1], v[3]);
    v[1] = plus_product(d, v[1], v[2], v[0]);
    v[2] = plus_product(d, v[2], v[0], v[1]);
    v[3] = plus_product(d, v[3], v[1], v[2]);
}

/* A lane has four columns of eight, whose other four have the row of lanes beside
 * it: each computes the words of one of two column blocks and they exchange halves. */
static void
roll_pair(struct dist *d, struct dist_dice *z, uint32_t y)
{
    kn_ref v[4], all;

    roll(d, z, y, v);
    all = dist_op(d, KN_OP_turn, dist_vec(KN_T_i32, 4), dist_cat(d, v, 4), 0);
    for (uint32_t w = 0; w < 4; w++)
        z->word[w] = dist_slice(d, all, w);
}

static const kn_ref *
words(struct dist *d, struct dist_dice *z, uint32_t y)
{
    kn_ref v[4], *of = z->word + (z->shared ? y % 2 * 2 : 0);

    if (z->shared && y % 2 == 0)
        roll_pair(d, z, y);
    else if (!z->shared)
        roll(d, z, y, v);
    for (int w = 0; w < 2; w++) {
        if (!z->shared)
            of[w] = dist_op3(d, KN_OP_select, kn_v32,
                             (kn_ref[3]){ z->odd, v[w + 2], v[w] });
        of[w] = dist_ic(d, KN_OP_or, of[w], 0x00010001);
    }
    return of;
}

/* ---- the move ---- */

static kn_ref
four(struct dist *d, const kn_ref x[4])
{
    return dist_op(d, KN_OP_bits, dist_vec(KN_T_f32, 4), dist_cat(d, x, 4), 0);
}

static kn_ref
element(struct dist *d, kn_ref v, uint32_t e)
{
    return dist_op(d, KN_OP_bits, kn_v32, dist_float(d, v, e), 0);
}

/* -1/2 to 1/2 of a step, of a value from 1 to 2. */
static kn_ref
parts_of_step(struct dist *d, const struct dist_dice *z, const struct steps *s,
              const kn_ref *word)
{
    const double step = 1.0 / (double)(1 << s->bits);
    kn_ref x[4], v;

    for (uint32_t e = 0; e < 4; e++)
        x[e] = dist_perm(d, z->one, word[e / 2], e % 2 ? 0x07060302 : 0x07060100);
    v = four(d, x);
    return dist_op(d, KN_OP_fadd, dist_acc_type(d, v), v,
                   kn_flt(d->out, -128.5 * step));
}

/* x moved, and not below its power of two; the sign is x's. An infinity, of which
 * a step has a size too, stays one. */
static kn_ref
moved(struct dist *d, const struct steps *s, kn_ref acc, kn_ref by)
{
    kn_ref x[4], own[4], size[4], arg[3];

    for (uint32_t e = 0; e < 4; e++) {
        x[e] = element(d, acc, e);
        own[e] = dist_ic(d, KN_OP_and, x[e], 0x7f800000);
        size[e] = dist_ic(d, KN_OP_umax, own[e], (127 + s->least) << 23);
        size[e] = dist_ic(d, KN_OP_umin, size[e], 0x7f000000);
    }
    arg[0] = by;
    arg[1] = four(d, size);
    arg[2] = acc;
    acc = dist_op3(d, KN_OP_fma, dist_acc_type(d, acc), arg);
    for (uint32_t e = 0; e < 4; e++) {
        kn_ref to = dist_ic(d, KN_OP_and, element(d, acc, e), 0x7fffffff);

        to = dist_i2(d, KN_OP_umax, to, own[e]);
        x[e] = dist_ic(d, KN_OP_and, x[e], 0x80000000);
        x[e] = dist_i2(d, KN_OP_or, to, x[e]);
    }
    return four(d, x);
}

kn_ref
dist_moved(struct dist *d, struct dist_dice *z, uint32_t y, kn_ref acc)
{
    struct steps s;
    kn_ref by;

    if (!z->rolls || !steps_of(d, z->elem, &s))
        return acc;
    by = parts_of_step(d, z, &s, words(d, z, y));
    if (z->elem == KN_T_i8)
        return dist_op(d, KN_OP_fadd, dist_acc_type(d, acc), acc, by);
    return moved(d, &s, acc, by);
}

void
dist_move_scaled(struct dist *d, struct dist_dice *z, uint32_t y, kn_ref x[2])
{
    struct kn_type t = dist_acc_type(d, x[0]);
    kn_ref inverse;

    if (!z->rolls)
        return;
    inverse = dist_op(d, KN_OP_bits, kn_v32, x[1], 0);
    inverse = dist_i2(d, KN_OP_sub, dist_int(d, 254 << 23), inverse);
    inverse = dist_op(d, KN_OP_bits, kn_vf32, inverse, 0);
    inverse = dist_op(d, KN_OP_splat, t, inverse, 0);
    x[0] = dist_moved(d, z, y, dist_op(d, KN_OP_fmul, t, x[0], inverse));
    x[1] = dist_op(d, KN_OP_mov, kn_vf32, kn_flt(d->out, 1), 0);
}

/* ---- operations of a wave ---- */

/* Words of a row and of the eight columns that col is one of. */
void
dist_words(struct dist *d, const kn_ref at[3], kn_ref v[4])
{
    struct dist_dice z = { .col = stirred(d, dist_ic(d, KN_OP_shr, at[1], 3)) };

    take_seed(d, at[2]);
    take_row(d, &z, at[0]);
    roll(d, &z, 0, v);
}

/* pcg3d of the same, the seed's upper word in the place of a constant; its third word is
 * not wanted. */
void
dist_bytes(struct dist *d, const kn_ref at[3], kn_ref v[2])
{
    kn_ref x = dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_shr, at[1], 3), PCG_BY);
    kn_ref y = stirred(d, at[0]), z;

    take_seed(d, at[2]);
    x = dist_i2(d, KN_OP_add, x, d->seed[1]);
    x = plus_product(d, x, y, d->seed[0]);
    y = plus_product(d, y, d->seed[0], x);
    z = mixed(d, plus_product(d, d->seed[0], x, y));
    x = mixed(d, x);
    y = mixed(d, y);
    x = plus_product(d, x, y, z);
    v[0] = mixed(d, x);
    v[1] = mixed(d, plus_product(d, y, z, x));
}

kiln_status
expand_random(struct dist *d, const struct kn_ins *i)
{
    kn_ref v[4];

    dist_words(d, i->arg, v);
    dist_move(d, i->dst, dist_cat(d, v, 4));
    return KILN_OK;
}

/* Whether bit n of col is set. */
static kn_ref
has_bit(struct dist *d, kn_ref col, int n)
{
    return dist_op(d, KN_OP_ne, kn_vb1, dist_ic(d, KN_OP_and, col, 1 << n),
                   dist_int(d, 0));
}

/* at.random: four columns from a multiple of four on, or one, whose bits come to the
 * low half of a word. */
kiln_status
expand_atrandom(struct dist *d, const struct kn_ins *i)
{
    struct dist_dice z = { .elem = (uint8_t)i->attr[KN_A_elem] };
    kn_ref x = i->arg[0], col = i->arg[2], v[4], word[2], half = has_bit(d, col, 2);
    bool one = dist_acc_type(d, x).n == 1;
    struct steps s;

    if (!steps_of(d, z.elem, &s))
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "at.random is for bf16, f16 or "
                          "codes");
    dist_words(d, i->arg + 1, v);
    for (int w = 0; w < 4; w++) /* odd ones */
        v[w] = dist_ic(d, KN_OP_or, v[w], 0x00010001);
    word[0] = dist_pick(d, half, v[2], v[0]);
    word[1] = dist_pick(d, half, v[3], v[1]);
    if (one) {
        word[0] = dist_pick(d, has_bit(d, col, 1), word[1], word[0]);
        word[0] = dist_pick(d, has_bit(d, col, 0), dist_ic(d, KN_OP_shr, word[0], 16),
                            word[0]);
        x = dist_op(d, KN_OP_splat, dist_vec(KN_T_f32, 4), x, 0);
    }
    z.one = dist_op(d, KN_OP_mov, kn_s32, dist_int(d, (134 - s.bits) << 23), 0);
    x = moved(d, &s, x, parts_of_step(d, &z, &s, word));
    if (one)
        x = dist_op(d, KN_OP_slice, kn_vf32, x, 0);
    dist_move(d, i->dst, x);
    return KILN_OK;
}
