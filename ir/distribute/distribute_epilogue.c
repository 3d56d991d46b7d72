/* distribute_epilogue.c - what happens to accumulators before they are stored:
 * scales, bias, gate, factors of rows. Accumulator (i, j) of a wave holds, per
 * lane, row i*16 + lane%16 and columns j*16 + 4*(lane/16) + 0..3 of the wave's
 * part of the tile. */
#include "split.h"

#include <string.h>

uint32_t
dist_block_rows(const struct dist *d)
{
    return d->turn ? d->turn->rows : kn_fragment(d->in, 'a').count;
}

static uint32_t
block_columns(const struct dist *d)
{
    return d->turn ? d->turn->cols : kn_fragment(d->in, 'b').count;
}

kn_ref
dist_block_column(struct dist *d, const struct dist_epilogue *e, uint32_t y)
{
    uint32_t count = d->turn ? d->turn->x.across : e->b.count;
    kn_ref block = dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, d->wave_n, count), y);

    return d->turn ? dist_i2(d, KN_OP_add, block, dist_ic(d, KN_OP_shr, d->turn->col, 4))
                   : block;
}

kn_ref
dist_first_row(struct dist *d)
{
    uint32_t rows = kn_fragment(d->in, 'a').count * 16;
    kn_ref row = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, d->wave_m, rows), d->t);

    if (!d->turn)
        return row;
    return dist_i2(d, KN_OP_add, row, dist_assume(d, d->turn->row, d->in->shape.bm));
}

/* The turn's slice in place of all that the wave has. */
static void
take_turn(struct dist *d, struct dist_epilogue *e)
{
    if (!d->turn)
        return;
    e->a.count = d->turn->rows;
    e->b.count = d->turn->cols;
    e->col0 = dist_i2(d, KN_OP_add, e->col0, dist_assume(d, d->turn->col, d->in->shape.bn));
}

struct dist_epilogue
dist_epilogue(struct dist *d, const struct dist_tile *t)
{
    struct dist_epilogue e = { .a = kn_fragment(d->in, 'a'),
                               .b = kn_fragment(d->in, 'b') };

    e.b.count = d->turn ? d->turn->x.across : t->nreg / e.a.count;
    e.row0 = dist_first_row(d);
    e.col0 = dist_i2(d, KN_OP_add,
                     dist_ic(d, KN_OP_mul, d->wave_n, e.b.count * 16),
                     dist_ic(d, KN_OP_mul, d->q, 4));
    take_turn(d, &e);
    return e;
}

struct kn_type
dist_acc_type(struct dist *d, kn_ref acc)
{
    return kn_val(d->out, acc)->type;
}

kn_ref
dist_as_type(struct dist *d, kn_ref v, uint8_t elem)
{
    struct kn_type t = dist_acc_type(d, v);

    if (t.elem == elem)
        return v;
    return dist_op(d, t.elem == KN_T_i32 ? KN_OP_bits : KN_OP_cvt,
                   dist_vec(elem, t.n), v, 0);
}

void
dist_apply(struct dist *d, enum kn_op op, kn_ref acc, kn_ref x, kn_ref y)
{
    struct kn_ins *n = dist_add(d, op, acc);

    n->arg[0] = acc;
    n->arg[1] = x;
    n->arg[2] = y;
}

kn_ref
dist_above(struct dist *d, struct kn_type t, const kn_ref x[4])
{
    kn_ref dst = dist_temp(d, t);
    struct kn_ins *n = dist_add(d, KN_OP_fsel, dst);

    for (int k = 0; k < 4; k++)
        n->arg[k] = x[k];
    return dst;
}

void
dist_replace(struct dist *d, struct dist_tile *t, uint32_t n, kn_ref v)
{
    if (!t->home) {
        t->home = KN_NEW(d->c, kn_ref, t->nreg);
        memcpy(t->home, t->reg, t->nreg * sizeof *t->reg);
    }
    t->reg[n] = v;
}

static kn_ref
splat(struct dist *d, kn_ref acc, kn_ref x)
{
    return dist_op(d, KN_OP_splat, dist_acc_type(d, acc), x, 0);
}

/* The accumulators of this part, whole row blocks of so many. */
struct band {
    struct dist_tile *t;
    uint32_t each, first, end;
    bool all;
};

static struct band
band_of(struct dist *d, const struct kn_ins *i)
{
    struct band x = { .t = dist_tile(d, i->arg[0]) };
    uint32_t rows = dist_block_rows(d);
    uint32_t part = (uint32_t)i->attr[KN_A_part];
    uint32_t parts = (uint32_t)i->attr[KN_A_parts];

    x.all = parts == 1;
    x.each = x.t->nreg / rows;
    x.first = part * rows / parts * x.each;
    x.end = (part + 1) * rows / parts * x.each;
    return x;
}

static void
change(struct dist *d, const struct band *x, uint32_t n, enum kn_op op, kn_ref f)
{
    kn_ref sum = x->t->reg[n];

    if (x->all)
        dist_apply(d, op, sum, f, 0);
    else
        dist_replace(d, x->t, n, dist_op(d, op, dist_acc_type(d, sum), sum, f));
}

static kiln_status
times(struct dist *d, const struct band *x, kn_ref f)
{
    for (uint32_t n = x->first; n < x->end; n++)
        change(d, x, n, KN_OP_fmul, f);
    return KILN_OK;
}

kiln_status
expand_mulall(struct dist *d, const struct kn_ins *i)
{
    struct band x = band_of(d, i);
    kn_ref f = dist_operand(d, i->arg[1]);

    if (KN_REF_TAG(f) == KN_R_VAL)
        f = dist_as_type(d, f, dist_acc_type(d, x.t->reg[0]).elem);
    return times(d, &x, splat(d, x.t->reg[0], f));
}

kiln_status
expand_divall(struct dist *d, const struct kn_ins *i)
{
    struct band x = band_of(d, i);
    kn_ref f = splat(d, x.t->reg[0], dist_operand(d, i->arg[1]));

    return times(d, &x, dist_op(d, KN_OP_rcp, dist_acc_type(d, x.t->reg[0]), f, 0));
}

/* Resource over `p[first .. total)` of f32, starting at the tile; `up`: over
 * the vector of as many behind that one. */
kn_ref
dist_f32_half(struct dist *d, const struct kn_ins *i, bool up)
{
    kn_ref first = dist_operand(d, i->arg[2]), n = dist_operand(d, i->arg[3]);
    kn_ref base = dist_address(d, dist_operand(d, i->arg[1]), first,
                               dist_int(d, 4), 0);

    if (up)
        base = dist_op(d, KN_OP_add, kn_s64, base,
                       dist_op(d, KN_OP_mul, kn_s64,
                               dist_op(d, KN_OP_sext, kn_s64, n, 0),
                               dist_int(d, 4)));
    n = dist_clamp(d, dist_i2(d, KN_OP_sub, n, first), 0, 4096);
    return dist_rsrc(d, base, dist_ic(d, KN_OP_mul, n, 4));
}

kn_ref
dist_f32_vector(struct dist *d, const struct kn_ins *i)
{
    return dist_f32_half(d, i, false);
}

kn_ref
dist_load_at(struct dist *d, kn_ref r, kn_ref off, uint32_t n)
{
    kn_ref dst = dist_temp(d, dist_vec(KN_T_f32, n));
    struct kn_ins *l = dist_add(d, KN_OP_ldg, dst);

    l->arg[0] = r;
    l->arg[1] = off;
    l->attr[KN_A_elem] = KN_T_f32;
    return dst;
}

kn_ref
dist_load_f32(struct dist *d, kn_ref r, kn_ref index, uint32_t n)
{
    return dist_load_at(d, r, dist_ic(d, KN_OP_mul, index, 4), n);
}

kn_ref *
dist_load_columns(struct dist *d, const struct dist_epilogue *e, kn_ref r)
{
    kn_ref *s = KN_NEW(d->c, kn_ref, e->b.count);

    for (uint32_t y = 0; y < e->b.count; y++)
        s[y] = dist_load_f32(d, r, dist_ic(d, KN_OP_add, e->col0, y * 16), 4);
    return s;
}

/* 16 gate columns and 16 up columns in turn, those of a pair in one wave. */
static kn_ref *
load_pairs(struct dist *d, const struct kn_ins *of, uint32_t count)
{
    kn_ref half[2] = { dist_f32_half(d, of, false), dist_f32_half(d, of, true) };
    kn_ref *s = KN_NEW(d->c, kn_ref, count);
    kn_ref col = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, d->wave_n, count * 8),
                         dist_ic(d, KN_OP_mul, d->q, 4));

    for (uint32_t y = 0; y < count; y++)
        s[y] = dist_load_f32(d, half[y % 2], dist_ic(d, KN_OP_add, col, y / 2 * 16), 4);
    return s;
}

kiln_status
expand_colf32(struct dist *d, const struct kn_ins *i)
{
    struct kn_ins of = { .arg = { 0, i->arg[0], i->arg[1], i->arg[2] } };
    struct dist_tile *t = dist_tile(d, i->dst);
    uint32_t n = block_columns(d);
    uint8_t elem = kn_sum_dwords(d->in) == 2 ? KN_T_f64 : KN_T_f32;
    struct dist_tile sums = { .nreg = n * dist_block_rows(d) };
    struct dist_epilogue e = dist_epilogue(d, &sums);
    kn_ref *s = i->attr[KN_A_pairs] ? load_pairs(d, &of, n)
                                   : dist_load_columns(d, &e, dist_f32_vector(d, &of));

    *t = (struct dist_tile){ .kind = DT_COLUMNS, .nreg = n, .reg = s };
    for (uint32_t y = 0; y < n; y++)
        s[y] = dist_as_type(d, s[y], elem);
    return KILN_OK;
}

static kiln_status
by_column(struct dist *d, const struct kn_ins *i, enum kn_op op)
{
    struct band x = band_of(d, i);
    const struct dist_tile *s = dist_tile(d, i->arg[1]);

    for (uint32_t n = x.first; n < x.end; n++)
        change(d, &x, n, op, s->reg[n % x.each]);
    return KILN_OK;
}

kiln_status
expand_mulcols(struct dist *d, const struct kn_ins *i)
{
    return by_column(d, i, KN_OP_fmul);
}

kiln_status
expand_addcols(struct dist *d, const struct kn_ins *i)
{
    return by_column(d, i, KN_OP_fadd);
}

kiln_status
expand_tofloat(struct dist *d, const struct kn_ins *i)
{
    struct band x = band_of(d, i);
    struct dist_tile *t = dist_tile(d, i->dst);

    if (!x.first)
        *t = (struct dist_tile){ .kind = DT_ACC, .nreg = x.t->nreg,
                                 .reg = KN_NEW(d->c, kn_ref, x.t->nreg) };
    for (uint32_t n = x.first; n < x.end; n++) {
        t->reg[n] = dist_named(d, dist_vec(KN_T_f32, dist_acc_type(d, x.t->reg[n]).n),
                               "%s.%u", kn_val(d->in, i->dst)->name, n);
        dist_add(d, KN_OP_i2f, t->reg[n])->arg[0] = x.t->reg[n];
    }
    return KILN_OK;
}

kiln_status
expand_mulrows(struct dist *d, const struct kn_ins *i)
{
    struct band x = band_of(d, i);
    const struct dist_tile *r = dist_tile(d, i->arg[1]);

    for (uint32_t n = x.first; n < x.end; n++)
        change(d, &x, n, KN_OP_fmul, splat(d, x.t->reg[0], r->reg[n / x.each]));
    return KILN_OK;
}

/* swish(g) * (u + add), both limited by `most`, g from above only; by act=. */
static const struct gated {
    double most, slope, cube, add;
} acts[KN_GATED] = {
    { 0, 1, 0, 0 }, { 7, 1.702, 0, 1 }, { 10, 1, 0, 0 },
    { 0, 2 * 0.79788456080286536, 0.044715, 0 },
};

/* x * sigmoid(slope * (x + cube * x^3)); v_exp_f32 is a power of two. */
static kn_ref
swish(struct dist *d, kn_ref x, const struct gated *of)
{
    const double log2e = 1.4426950408889634;
    struct kn_type t = dist_acc_type(d, x);
    kn_ref y = x, rise[3] = { 0, kn_flt(d->out, of->slope * of->cube),
                              kn_flt(d->out, of->slope) };

    if (of->cube > 0) {
        rise[0] = dist_op(d, KN_OP_fmul, t, x, x);
        y = dist_op(d, KN_OP_fmul, t, x, dist_op3(d, KN_OP_fma, t, rise));
    }
    y = dist_op(d, KN_OP_fmul, t, y,
                kn_flt(d->out, of->cube > 0 ? -log2e : -log2e * of->slope));
    y = dist_op(d, KN_OP_exp2, t, y, 0);
    y = dist_op(d, KN_OP_fadd, t, y, kn_flt(d->out, 1));
    return dist_op(d, KN_OP_fmul, t, x, dist_op(d, KN_OP_rcp, t, y, 0));
}

/* v, and no more than `most`, or no less than -most. A NaN stays. */
static kn_ref
limited(struct dist *d, kn_ref v, double most, bool below)
{
    struct kn_type t = dist_acc_type(d, v);
    kn_ref end = kn_flt(d->out, most), minus = kn_flt(d->out, -1);

    if (t.elem != KN_T_f64)
        return dist_op(d, below ? KN_OP_maximum : KN_OP_minimum, t, v,
                       below ? kn_flt(d->out, -most) : end);
    v = below ? dist_op(d, KN_OP_fmul, t, v, minus) : v;
    v = dist_above(d, t, (kn_ref[4]){ v, end, end, v });
    return below ? dist_op(d, KN_OP_fmul, t, v, minus) : v;
}

double
dist_limit_gated(struct dist *d, int act, kn_ref v[2])
{
    const struct gated *x = &acts[act];
    struct kn_type t = dist_acc_type(d, v[0]);

    if (x->most > 0) {
        v[0] = limited(d, v[0], x->most, false);
        v[1] = limited(d, v[1], x->most, false);
        v[1] = limited(d, v[1], x->most, true);
    }
    if (x->add > 0)
        v[1] = dist_op(d, KN_OP_fadd, t, v[1], kn_flt(d->out, x->add));
    return x->slope;
}

kn_ref
dist_gated(struct dist *d, int act, kn_ref g, kn_ref u)
{
    kn_ref v[2] = { g, u };

    dist_limit_gated(d, act, v);
    return dist_op(d, KN_OP_fmul, dist_acc_type(d, g), swish(d, v[0], &acts[act]), v[1]);
}

struct gating {
    const struct dist_tile *s, *t;
    int act;
};

/* Of t's blocks the ones that a wave has a slice of, in the registers of their gates. */
static void
gate_slice(struct dist *d, void *of, struct dist_span blocks)
{
    const struct gating *x = of;

    for (uint32_t n = blocks.from; n < blocks.to; n++)
        dist_move(d, x->t->reg[n], dist_gated(d, x->act, x->s->reg[2 * n], x->s->reg[2 * n + 1]));
}

/* acc.gate: column blocks 2j (gate) and 2j + 1 (up) become block j. */
kiln_status
expand_gate(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *s = dist_tile(d, i->arg[0]), *t = dist_tile(d, i->dst);
    int32_t act = (int32_t)i->attr[KN_A_act];

    if (kn_fragment(d->in, 'b').count % 2)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "acc.gate needs an even "
                          "number of 16-column blocks in a wave");
    *t = (struct dist_tile){ .kind = DT_ACC, .nreg = s->nreg / 2,
                             .reg = KN_NEW(d->c, kn_ref, s->nreg / 2) };
    for (uint32_t n = 0; n < t->nreg; n++)
        t->reg[n] = act < KN_GATED && !d->mine
                    ? dist_gated(d, act, s->reg[2 * n], s->reg[2 * n + 1])
                    : s->reg[2 * n + (act == KN_UP_ALONE)];
    if (act < KN_GATED && d->mine)
        dist_each_slice(d, &(struct dist_sliced){ gate_slice, &(struct gating){ s, t, act },
                                                  t, d->mine, d->splits });
    return KILN_OK;
}
