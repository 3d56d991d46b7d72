/* distribute_apply.c - acc.apply: the expression of the kernel (../formula.h)
 * on each accumulator, one after the other, so that what lies between lives
 * briefly. */
#include "../formula.h"
#include "distribute.h"

/* One accumulator, and what its columns and rows have. */
struct apply {
    struct dist *d;
    const struct kn_formula *x;
    kn_ref value[KN_NFORMULA];  /* by name */
    struct kn_type t;
};

static kn_ref
num(struct apply *a, double v)
{
    return kn_flt(a->d->out, v);
}

static kn_ref
op1(struct apply *a, enum kn_op op, kn_ref x)
{
    return dist_op(a->d, op, a->t, x, 0);
}

static kn_ref
op2(struct apply *a, enum kn_op op, kn_ref x, kn_ref y)
{
    return KN_REF_TAG(x) == KN_R_CONST ? dist_op(a->d, op, a->t, y, x)
                                       : dist_op(a->d, op, a->t, x, y);
}

static kn_ref
mul(struct apply *a, kn_ref x, kn_ref y)
{
    return op2(a, KN_OP_fmul, x, y);
}

static kn_ref
fused(struct apply *a, kn_ref x, kn_ref y, kn_ref z)
{
    kn_ref arg[3] = { x, y, z };

    return dist_op3(a->d, KN_OP_fma, a->t, arg);
}

/* c[0] + c[1] * x + ... */
static kn_ref
polynomial(struct apply *a, kn_ref x, const double *c, int n)
{
    kn_ref y = fused(a, x, num(a, c[n - 1]), num(a, c[n - 2]));

    for (int i = n - 3; i >= 0; i--)
        y = fused(a, y, x, num(a, c[i]));
    return y;
}

/* An odd function that is +-1 beyond `most`: x * p(x^2) / q(x^2). */
struct odd {
    double most, p[7], q[5];
    int np, nq;
};

static kn_ref
odd(struct apply *a, kn_ref x, const struct odd *f)
{
    kn_ref y, t, p, q;

    y = op2(a, KN_OP_fmin, x, num(a, f->most));
    y = op2(a, KN_OP_fmax, y, num(a, -f->most));
    t = mul(a, y, y);
    p = mul(a, polynomial(a, t, f->p, f->np), y);
    q = op1(a, KN_OP_rcp, polynomial(a, t, f->q, f->nq));
    return mul(a, p, q);
}

static kn_ref
expr_max(struct apply *a, const kn_ref *x)
{
    return op2(a, KN_OP_fmax, x[0], x[1]);
}

static kn_ref
expr_min(struct apply *a, const kn_ref *x)
{
    return op2(a, KN_OP_fmin, x[0], x[1]);
}

static kn_ref
expr_fma(struct apply *a, const kn_ref *x)
{
    return fused(a, x[0], x[1], x[2]);
}

static kn_ref
expr_exp2(struct apply *a, const kn_ref *x)
{
    return op1(a, KN_OP_exp2, x[0]);
}

static kn_ref
expr_rcp(struct apply *a, const kn_ref *x)
{
    return op1(a, KN_OP_rcp, x[0]);
}

static kn_ref
expr_rsqrt(struct apply *a, const kn_ref *x)
{
    return op1(a, KN_OP_rsq, x[0]);
}

/* 1 / (1 + exp(-slope * x)) */
static kn_ref
logistic(struct apply *a, kn_ref x, double slope)
{
    kn_ref e = mul(a, x, num(a, -1.4426950408889634 * slope));

    e = op2(a, KN_OP_fadd, op1(a, KN_OP_exp2, e), num(a, 1));
    return op1(a, KN_OP_rcp, e);
}

static kn_ref
expr_sigmoid(struct apply *a, const kn_ref *x)
{
    return logistic(a, x[0], 1);
}

static kn_ref
expr_silu(struct apply *a, const kn_ref *x)
{
    return mul(a, x[0], logistic(a, x[0], 1));
}

static kn_ref
expr_relu(struct apply *a, const kn_ref *x)
{
    return op1(a, KN_OP_fpos, x[0]);
}

/* y where x > 0, else z */
static kn_ref
above(struct apply *a, kn_ref x, kn_ref y, kn_ref z)
{
    kn_ref dst = dist_temp(a->d, a->t);
    struct kn_ins *n = dist_add(a->d, KN_OP_fsel, dst);

    n->arg[0] = x;
    n->arg[1] = num(a, 0);
    n->arg[2] = y;
    n->arg[3] = z;
    return dst;
}

static kn_ref
expr_select(struct apply *a, const kn_ref *x)
{
    return above(a, x[0], x[1], x[2]);
}

static kn_ref
expr_drelu(struct apply *a, const kn_ref *x)
{
    return above(a, x[0], num(a, 1), num(a, 0));
}

/* Fitted for the least relative error: 1.2e-8, in f32 5 units of the last
 * place. */
static kn_ref
expr_tanh(struct apply *a, const kn_ref *x)
{
    static const struct odd f = { 8.5,
        { 1, 0.134132475, 0.00353402668, 2.12510422e-05, 1.42692267e-08 },
        { 1, 0.467465699, 0.0260227509, 0.000334886456, 8.14512248e-07 }, 5, 5 };

    return odd(a, x[0], &f);
}

/* The same: 4.9e-8, 6 units. */
static kn_ref
expr_erf(struct apply *a, const kn_ref *x)
{
    static const struct odd f = { 3.9,
        { 1.12837911, 0.198179379, 0.0503445491, 0.00363217248, 0.00014059704,
          -1.96321025e-06, 2.01485033e-08 },
        { 1, 0.508963645, 0.11427971, 0.0142076286, 0.000940555939 }, 7, 5 };

    return odd(a, x[0], &f);
}

/* x * (1 + erf(x / sqrt 2)) / 2 */
static kn_ref
expr_gelu(struct apply *a, const kn_ref *x)
{
    kn_ref z = mul(a, x[0], num(a, 0.70710678118654752)), half;

    z = expr_erf(a, &z);
    half = mul(a, x[0], num(a, 0.5));
    return fused(a, half, z, half);
}

/* x * (1 + tanh y) / 2 is x / (1 + exp(-2y)), y = sqrt(2 / pi) * (x +
 * 0.044715 * x^3). */
static kn_ref
expr_gelu_tanh(struct apply *a, const kn_ref *x)
{
    const double root = 0.79788456080286536;
    kn_ref y = mul(a, x[0], x[0]);

    y = fused(a, y, num(a, 0.044715 * root), num(a, root));
    return mul(a, x[0], logistic(a, mul(a, x[0], y), 2));
}

/* What s(f(x)) * x grows by, of slope f'(x): s + x * s * (1 - s) * slope. */
static kn_ref
grown(struct apply *a, kn_ref x, kn_ref s, kn_ref slope)
{
    kn_ref rest = fused(a, mul(a, s, num(a, -1)), s, s);

    rest = mul(a, slope ? mul(a, rest, slope) : rest, x);
    return op2(a, KN_OP_fadd, rest, s);
}

static kn_ref
expr_dsilu(struct apply *a, const kn_ref *x)
{
    return grown(a, x[0], logistic(a, x[0], 1), 0);
}

/* From |x| = 10 on the rest of s is zero; its factor stays finite. */
static kn_ref
expr_dgelu_tanh(struct apply *a, const kn_ref *x)
{
    const double twice = 2 * 0.79788456080286536, cube = 0.044715 * twice;
    kn_ref t = mul(a, x[0], x[0]), y, slope;

    y = mul(a, x[0], fused(a, t, num(a, cube), num(a, twice)));
    slope = op2(a, KN_OP_fmin, t, num(a, 100));
    slope = fused(a, slope, num(a, 3 * cube), num(a, twice));
    return grown(a, x[0], logistic(a, y, 1), slope);
}

/* (1 + erf(x / sqrt 2)) / 2 + x * exp(-x^2 / 2) / sqrt(2 pi) */
static kn_ref
expr_dgelu(struct apply *a, const kn_ref *x)
{
    kn_ref z = mul(a, x[0], num(a, 0.70710678118654752)), e;

    e = mul(a, mul(a, x[0], x[0]), num(a, -0.72134752044448170));
    e = mul(a, op1(a, KN_OP_exp2, e), num(a, 0.39894228040143268));
    e = fused(a, e, x[0], num(a, 0.5));
    return fused(a, expr_erf(a, &z), num(a, 0.5), e);
}

static kn_ref
expr_clamp(struct apply *a, const kn_ref *x)
{
    return op2(a, KN_OP_fmin, op2(a, KN_OP_fmax, x[0], x[1]), x[2]);
}

static kn_ref value(struct apply *a, uint32_t n);

/* A sum; one of a product is rounded once. */
static kn_ref
sum(struct apply *a, const struct kn_formula_node *n, bool minus)
{
    const struct kn_formula_node *l = &a->x->node[n->arg[0]];
    kn_ref y;

    if (l->kind == KN_FX_MUL && !minus)
        return fused(a, value(a, l->arg[0]), value(a, l->arg[1]),
                   value(a, n->arg[1]));
    y = value(a, n->arg[0]);
    return minus ? fused(a, value(a, n->arg[1]), num(a, -1), y)
                 : op2(a, KN_OP_fadd, y, value(a, n->arg[1]));
}

static kn_ref
arithmetic(struct apply *a, const struct kn_formula_node *n)
{
    const struct kn_formula_node *r = &a->x->node[n->arg[1]];
    kn_ref y;

    switch (n->kind) {
    case KN_FX_ADD: case KN_FX_SUB:
        return sum(a, n, n->kind == KN_FX_SUB);
    case KN_FX_NEG:
        return mul(a, value(a, n->arg[0]), num(a, -1));
    case KN_FX_MUL:
        return mul(a, value(a, n->arg[0]), value(a, n->arg[1]));
    default:
        y = r->kind == KN_FX_NUMBER
          ? num(a, 1 / r->value) : op1(a, KN_OP_rcp, value(a, n->arg[1]));
        return mul(a, value(a, n->arg[0]), y);
    }
}

static kn_ref
value(struct apply *a, uint32_t n)
{
    static const struct {
        int nargs;
        kn_ref (*expand)(struct apply *a, const kn_ref *x);
    } row[KN_NFORMULA] = {
#define FN(id, text, nargs) [KN_FX_##id] = { nargs, expr_##id },
#include "../formula.def"
#undef FN
    };
    const struct kn_formula_node *x = &a->x->node[n];
    kn_ref arg[3];

    if (x->kind == KN_FX_NUMBER)
        return num(a, x->value);
    if (x->kind <= KN_FX_C)
        return a->value[x->kind];
    if (!row[x->kind].expand)
        return arithmetic(a, x);
    for (int i = 0; i < row[x->kind].nargs; i++)
        arg[i] = value(a, x->arg[i]);
    return row[x->kind].expand(a, arg);
}

/* One accumulator: (x, y) of the wave's; c is its part of C or 0. */
static void
apply(struct apply *a, kn_ref acc, kn_ref c)
{
    a->value[KN_FX_ACC] = acc;
    a->value[KN_FX_C] = c;
    if (c && !kn_formula_has(a->x, KN_FX_C))
        dist_apply(a->d, KN_OP_fadd, acc, c, 0);
    dist_move(a->d, acc, value(a, a->x->n - 1));
}

kiln_status
expand_apply(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]);
    struct dist_epilogue e = dist_epilogue(d, t);
    struct kn_ins out = { .at = i->at, .arg = { i->arg[0], i->arg[2], i->arg[3],
                          i->arg[4], i->arg[5], i->arg[6], i->arg[7] } };
    struct kn_ins cols = { .arg = { 0, i->arg[1], i->arg[4], i->arg[6] } };
    struct kn_formula *x = KN_NEW(d->c, struct kn_formula, 1);
    struct apply a = { .d = d, .x = x, .t = dist_acc_type(d, t->reg[0]) };
    struct dist_out o;
    kn_ref *bias = NULL;

    if (!d->in->expr)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "acc.apply needs the "
                          "line `expr` in front");
    KN_TRY(kn_formula_parse(d->c, &i->at, d->in->expr, x));
    if (kn_formula_has(x, KN_FX_C) && !i->attr[KN_A_add])
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "the expression names "
                          "c, which add=1 reads");
    out.attr[KN_A_elem] = i->attr[KN_A_elem];
    out.attr[KN_A_vec] = i->attr[KN_A_vec];
    o = dist_out(d, &out);
    if (kn_formula_has(x, KN_FX_BIAS))
        bias = dist_load_columns(d, &e, dist_f32_vector(d, &cols));
    for (uint32_t y = 0; y < e.b.count; y++) {
        kn_ref col = dist_ic(d, KN_OP_add, e.col0, y * 16);

        if (bias)
            a.value[KN_FX_BIAS] = bias[y];
        for (uint32_t r = 0; r < e.a.count; r++) {
            kn_ref row = dist_ic(d, KN_OP_add, e.row0, r * 16), c = 0;

            if (i->attr[KN_A_add])
                c = dist_out_old(d, &o, dist_i2(d, KN_OP_mul, row, o.pitch),
                                 col);
            apply(&a, t->reg[r * e.b.count + y], c);
        }
        dist_add(d, KN_OP_sched, 0);
    }
    return KILN_OK;
}
