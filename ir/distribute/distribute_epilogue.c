/* distribute_epilogue.c - what happens to accumulators before they are stored:
 * scales, bias, gate, factors of rows. Accumulator (i, j) of a wave holds, per
 * lane, row i*16 + lane%16 and columns j*16 + 4*(lane/16) + 0..3 of the wave's
 * part of the tile. */
#include "distribute.h"

struct dist_epilogue
dist_epilogue(struct dist *d, const struct dist_tile *t)
{
    struct dist_epilogue e = { .a = kn_fragment(d->in, 'a'),
                               .b = kn_fragment(d->in, 'b') };

    e.b.count = t->nreg / e.a.count;
    e.row0 = dist_i2(d, KN_OP_add,
                     dist_ic(d, KN_OP_mul, d->wave_m, e.a.count * 16), d->t);
    e.col0 = dist_i2(d, KN_OP_add,
                     dist_ic(d, KN_OP_mul, d->wave_n, e.b.count * 16),
                     dist_ic(d, KN_OP_mul, d->q, 4));
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

static kn_ref
splat(struct dist *d, kn_ref acc, kn_ref x)
{
    return dist_op(d, KN_OP_splat, dist_acc_type(d, acc), x, 0);
}

kiln_status
expand_mulall(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]);
    kn_ref f = dist_operand(d, i->arg[1]);

    if (KN_REF_TAG(f) == KN_R_VAL)
        f = dist_as_type(d, f, dist_acc_type(d, t->reg[0]).elem);
    for (uint32_t n = 0; n < t->nreg; n++)
        dist_apply(d, KN_OP_fmul, t->reg[n], splat(d, t->reg[n], f), 0);
    return KILN_OK;
}

kiln_status
expand_divall(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]);
    kn_ref f = splat(d, t->reg[0], dist_operand(d, i->arg[1]));
    uint32_t rows = kn_fragment(d->in, 'a').count, each = t->nreg / rows;
    uint32_t part = (uint32_t)i->attr[KN_A_part];
    uint32_t parts = (uint32_t)i->attr[KN_A_parts];

    f = dist_op(d, KN_OP_rcp, dist_acc_type(d, t->reg[0]), f, 0);
    for (uint32_t n = part * rows / parts * each;
         n < (part + 1) * rows / parts * each; n++)
        dist_apply(d, KN_OP_fmul, t->reg[n], f, 0);
    return KILN_OK;
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

kiln_status
expand_mulrow(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]);
    struct dist_epilogue e = dist_epilogue(d, t);
    kn_ref r = dist_f32_vector(d, i);

    for (uint32_t x = 0; x < e.a.count; x++) {
        kn_ref s = dist_load_f32(d, r, dist_ic(d, KN_OP_add, e.row0, x * 16), 1);

        s = splat(d, t->reg[0], s);
        for (uint32_t y = 0; y < e.b.count; y++)
            dist_apply(d, KN_OP_fmul, t->reg[x * e.b.count + y], s, 0);
    }
    return KILN_OK;
}

kn_ref *
dist_load_columns(struct dist *d, const struct dist_epilogue *e, kn_ref r)
{
    kn_ref *s = KN_NEW(d->c, kn_ref, e->b.count);

    for (uint32_t y = 0; y < e->b.count; y++)
        s[y] = dist_load_f32(d, r, dist_ic(d, KN_OP_add, e->col0, y * 16), 4);
    return s;
}

static kiln_status
by_column(struct dist *d, const struct kn_ins *i, enum kn_op op)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]);
    struct dist_epilogue e = dist_epilogue(d, t);
    kn_ref *s = dist_load_columns(d, &e, dist_f32_vector(d, i));

    for (uint32_t y = 0; y < e.b.count; y++)
        s[y] = dist_as_type(d, s[y], dist_acc_type(d, t->reg[0]).elem);
    for (uint32_t y = 0; y < e.b.count; y++)
        for (uint32_t x = 0; x < e.a.count; x++)
            dist_apply(d, op, t->reg[x * e.b.count + y], s[y], 0);
    return KILN_OK;
}

kiln_status
expand_mulcol(struct dist *d, const struct kn_ins *i)
{
    return by_column(d, i, KN_OP_fmul);
}

/* 16 gate columns and 16 up columns in turn, those of a pair in one wave. */
static kiln_status
by_pair(struct dist *d, const struct kn_ins *i, enum kn_op op)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]);
    struct dist_epilogue e = dist_epilogue(d, t);
    kn_ref half[2] = { dist_f32_half(d, i, false), dist_f32_half(d, i, true) };
    kn_ref col = dist_i2(d, KN_OP_add,
                         dist_ic(d, KN_OP_mul, d->wave_n, e.b.count * 8),
                         dist_ic(d, KN_OP_mul, d->q, 4));

    for (uint32_t y = 0; y < e.b.count; y++) {
        kn_ref s = dist_load_f32(d, half[y % 2],
                            dist_ic(d, KN_OP_add, col, y / 2 * 16), 4);

        for (uint32_t x = 0; x < e.a.count; x++)
            dist_apply(d, op, t->reg[x * e.b.count + y], s, 0);
    }
    return KILN_OK;
}

kiln_status
expand_mulgate(struct dist *d, const struct kn_ins *i)
{
    return by_pair(d, i, KN_OP_fmul);
}

kiln_status
expand_addgate(struct dist *d, const struct kn_ins *i)
{
    return by_pair(d, i, KN_OP_fadd);
}

kiln_status
expand_addcol(struct dist *d, const struct kn_ins *i)
{
    return by_column(d, i, KN_OP_fadd);
}

kiln_status
expand_tofloat(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *s = dist_tile(d, i->arg[0]), *t = dist_tile(d, i->dst);

    *t = (struct dist_tile){ .kind = DT_ACC, .nreg = s->nreg,
                             .reg = KN_NEW(d->c, kn_ref, s->nreg) };
    for (uint32_t n = 0; n < s->nreg; n++) {
        t->reg[n] = dist_named(d, dist_vec(KN_T_f32, dist_acc_type(d, s->reg[n]).n),
                               "%s.%u", kn_val(d->in, i->dst)->name, n);
        dist_add(d, KN_OP_i2f, t->reg[n])->arg[0] = s->reg[n];
    }
    return KILN_OK;
}

kiln_status
expand_mulrows(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]), *r = dist_tile(d, i->arg[1]);
    uint32_t n = t->nreg / r->nreg;

    for (uint32_t x = 0; x < r->nreg; x++) {
        kn_ref s = splat(d, t->reg[0], r->reg[x]);

        for (uint32_t y = 0; y < n; y++)
            dist_apply(d, KN_OP_fmul, t->reg[x * n + y], s, 0);
    }
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

double
dist_limit_gated(struct dist *d, int act, kn_ref v[2])
{
    const struct gated *x = &acts[act];
    struct kn_type t = dist_acc_type(d, v[0]);

    if (x->most > 0) {
        v[0] = dist_op(d, KN_OP_fmin, t, v[0], kn_flt(d->out, x->most));
        v[1] = dist_op(d, KN_OP_fmin, t, v[1], kn_flt(d->out, x->most));
        v[1] = dist_op(d, KN_OP_fmax, t, v[1], kn_flt(d->out, -x->most));
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
        t->reg[n] = act < KN_GATED
                    ? dist_gated(d, act, s->reg[2 * n], s->reg[2 * n + 1])
                    : s->reg[2 * n + (act == KN_UP_ALONE)];
    return KILN_OK;
}
