/* distribute_formula.c - an expression (../formula.h) on one accumulator: its
 * operators, and functions that are made of several operations. */
#include <math.h>

#include "arith.h"

static kn_ref
op1(struct dist_arith *a, enum kn_op op, kn_ref x)
{
    return dist_op(a->d, op, a->t, x, 0);
}

/* Within +-most; a NaN stays. */
static kn_ref
bounded(struct dist_arith *a, kn_ref x, double most)
{
    x = op2(a, KN_OP_maximum, x, num(a, -most));
    return op2(a, KN_OP_minimum, x, num(a, most));
}

/* The same of a number, by one instruction: v_med3_f32. */
static kn_ref
between(struct dist_arith *a, kn_ref x, double most)
{
    x = op2(a, KN_OP_fmax, x, num(a, -most));
    return op2(a, KN_OP_fmin, x, num(a, most));
}

/* An odd function that is +-1 beyond `most`: y * p(y^2) / q(y^2), of a y within it. */
struct odd {
    double most, p[7], q[5];
    int np, nq;
};

static kn_ref
odd(struct dist_arith *a, kn_ref y, const struct odd *f)
{
    kn_ref t, p, q;

    t = mul(a, y, y);
    p = mul(a, polynomial(a, t, f->p, f->np), y);
    q = op1(a, KN_OP_rcp, polynomial(a, t, f->q, f->nq));
    return mul(a, p, q);
}

static kn_ref
expr_max(struct dist_arith *a, const kn_ref *x)
{
    return op2(a, KN_OP_fmax, x[0], x[1]);
}

static kn_ref
expr_min(struct dist_arith *a, const kn_ref *x)
{
    return op2(a, KN_OP_fmin, x[0], x[1]);
}

static kn_ref
expr_fma(struct dist_arith *a, const kn_ref *x)
{
    return fused(a, x[0], x[1], x[2]);
}

static kn_ref
expr_exp2(struct dist_arith *a, const kn_ref *x)
{
    return a->x->wide ? dist_wide_exp2(a, x[0]) : op1(a, KN_OP_exp2, x[0]);
}

static kn_ref
expr_rcp(struct dist_arith *a, const kn_ref *x)
{
    return a->x->wide ? dist_op(a->d, KN_OP_fdiv, a->t, num(a, 1), x[0])
                      : op1(a, KN_OP_rcp, x[0]);
}

static kn_ref
expr_rsqrt(struct dist_arith *a, const kn_ref *x)
{
    return op1(a, KN_OP_rsq, x[0]);
}

/* 1 / (1 + exp(-slope * x)) */
static kn_ref
logistic(struct dist_arith *a, kn_ref x, double slope)
{
    kn_ref e;

    if (a->x->wide)
        return dist_wide_logistic(a, x, slope);
    e = mul(a, x, num(a, -1.4426950408889634 * slope));
    e = op2(a, KN_OP_fadd, op1(a, KN_OP_exp2, e), num(a, 1));
    return op1(a, KN_OP_rcp, e);
}

static kn_ref
expr_sigmoid(struct dist_arith *a, const kn_ref *x)
{
    return logistic(a, x[0], 1);
}

static kn_ref
expr_silu(struct dist_arith *a, const kn_ref *x)
{
    return mul(a, x[0], logistic(a, x[0], 1));
}

static kn_ref
expr_relu(struct dist_arith *a, const kn_ref *x)
{
    return op1(a, KN_OP_fpos, x[0]);
}

/* y where x > 0, else z */
static kn_ref
above(struct dist_arith *a, kn_ref x, kn_ref y, kn_ref z)
{
    return dist_above(a->d, a->t, (kn_ref[4]){ x, num(a, 0), y, z });
}

static kn_ref
expr_select(struct dist_arith *a, const kn_ref *x)
{
    return above(a, x[0], x[1], x[2]);
}

static kn_ref
expr_drelu(struct dist_arith *a, const kn_ref *x)
{
    return above(a, x[0], num(a, 1), num(a, 0));
}

/* Fitted for the least relative error: 1.2e-8, in f32 5 units of the last
 * place. */
static const struct odd tanhs = { 8.5,
    { 1, 0.134132475, 0.00353402668, 2.12510422e-05, 1.42692267e-08 },
    { 1, 0.467465699, 0.0260227509, 0.000334886456, 8.14512248e-07 }, 5, 5 };

/* The same: 4.9e-8, 6 units. */
static const struct odd erfs = { 3.9,
    { 1.12837911, 0.198179379, 0.0503445491, 0.00363217248, 0.00014059704,
      -1.96321025e-06, 2.01485033e-08 },
    { 1, 0.508963645, 0.11427971, 0.0142076286, 0.000940555939 }, 7, 5 };

static kn_ref
expr_tanh(struct dist_arith *a, const kn_ref *x)
{
    return a->x->wide ? dist_wide_tanh(a, x[0]) : odd(a, bounded(a, x[0], tanhs.most), &tanhs);
}

static kn_ref
expr_erf(struct dist_arith *a, const kn_ref *x)
{
    return a->x->wide ? dist_wide_erf(a, x[0]) : odd(a, bounded(a, x[0], erfs.most), &erfs);
}

/* Beside an x that makes a NaN of it anyway. */
static kn_ref
erf_of_number(struct dist_arith *a, kn_ref x)
{
    return a->x->wide ? dist_wide_erf(a, x) : odd(a, between(a, x, erfs.most), &erfs);
}

/* x * (1 + erf(x / sqrt 2)) / 2 */
static kn_ref
expr_gelu(struct dist_arith *a, const kn_ref *x)
{
    kn_ref z = erf_of_number(a, mul(a, x[0], num(a, 0.70710678118654752)));
    kn_ref half = mul(a, x[0], num(a, 0.5));

    return fused(a, half, z, half);
}

/* x * (1 + tanh y) / 2 is x / (1 + exp(-2y)), y = sqrt(2 / pi) * (x +
 * 0.044715 * x^3). */
static kn_ref
expr_gelu_tanh(struct dist_arith *a, const kn_ref *x)
{
    const double root = 0.79788456080286536;
    kn_ref y = mul(a, x[0], x[0]);

    y = fused(a, y, num(a, 0.044715 * root), num(a, root));
    return mul(a, x[0], logistic(a, mul(a, x[0], y), 2));
}

/* What s(y) * x grows by, y = f(x) of slope f'(x): s + x * s * (1 - s) * slope. In
 * f64 1 - s is s(-y): slope and x may make much of its last places. */
static kn_ref
grown(struct dist_arith *a, kn_ref x, kn_ref y, kn_ref s, kn_ref slope)
{
    kn_ref rest = a->x->wide ? mul(a, s, logistic(a, mul(a, y, num(a, -1)), 1))
                             : fused(a, mul(a, s, num(a, -1)), s, s);

    rest = mul(a, slope ? mul(a, rest, slope) : rest, x);
    return op2(a, KN_OP_fadd, rest, s);
}

static kn_ref
expr_dsilu(struct dist_arith *a, const kn_ref *x)
{
    return grown(a, x[0], x[0], logistic(a, x[0], 1), 0);
}

/* From |x| = 10 on the rest of s is zero; its factor stays finite. */
static kn_ref
expr_dgelu_tanh(struct dist_arith *a, const kn_ref *x)
{
    const double twice = 2 * 0.79788456080286536, cube = 0.044715 * twice;
    kn_ref t = mul(a, x[0], x[0]), y, slope;

    y = mul(a, x[0], fused(a, t, num(a, cube), num(a, twice)));
    slope = op2(a, KN_OP_fmin, t, num(a, 100));
    slope = fused(a, slope, num(a, 3 * cube), num(a, twice));
    return grown(a, x[0], y, logistic(a, y, 1), slope);
}

/* (1 + erf(x / sqrt 2)) / 2 + x * exp(-x^2 / 2) / sqrt(2 pi) */
static kn_ref
expr_dgelu(struct dist_arith *a, const kn_ref *x)
{
    kn_ref z = mul(a, x[0], num(a, 0.70710678118654752)), e;

    e = mul(a, mul(a, x[0], x[0]), num(a, -0.72134752044448170));
    e = mul(a, expr_exp2(a, &e), num(a, 0.39894228040143268));
    e = fused(a, e, x[0], num(a, 0.5));
    return fused(a, erf_of_number(a, z), num(a, 0.5), e);
}

static kn_ref
expr_clamp(struct dist_arith *a, const kn_ref *x)
{
    return op2(a, KN_OP_fmin, op2(a, KN_OP_fmax, x[0], x[1]), x[2]);
}

static kn_ref
gated(struct dist_arith *a, int act, const kn_ref *x)
{
    kn_ref v[2] = { x[0], x[1] };
    double slope;

    if (!a->x->wide)
        return dist_gated(a->d, act, x[0], x[1]);
    slope = dist_limit_gated(a->d, act, v);
    return mul(a, mul(a, v[0], logistic(a, v[0], slope)), v[1]);
}

static kn_ref
expr_swiglu(struct dist_arith *a, const kn_ref *x)
{
    return gated(a, KILN_SILU, x);
}

static kn_ref
expr_swiglu_oss(struct dist_arith *a, const kn_ref *x)
{
    return gated(a, KILN_SWIGLU, x);
}

static kn_ref
expr_swiglu_limited(struct dist_arith *a, const kn_ref *x)
{
    return gated(a, KILN_LIMITED, x);
}

/* most * tanh(x / most) */
static kn_ref
capped(struct dist_arith *a, kn_ref x, double most)
{
    kn_ref y = mul(a, x, num(a, 1 / most));

    return mul(a, expr_tanh(a, &y), num(a, most));
}

/* The same of a gate, of whose NaN the sigmoid makes one. */
static kn_ref
capped_gate(struct dist_arith *a, kn_ref x, double most)
{
    kn_ref y = mul(a, x, num(a, 1 / most));

    y = a->x->wide ? dist_wide_tanh(a, y) : odd(a, between(a, y, tanhs.most), &tanhs);
    return mul(a, y, num(a, most));
}

static kn_ref
expr_situ(struct dist_arith *a, const kn_ref *x)
{
    kn_ref g = mul(a, capped_gate(a, x[0], 4), logistic(a, x[0], 1));

    return mul(a, g, capped(a, x[1], 25));
}

/* A sum; one of a product is rounded once. */
static kn_ref
sum(struct dist_arith *a, const struct kn_formula_node *n, bool minus)
{
    const struct kn_formula_node *l = &a->x->node[n->arg[0]];
    kn_ref y;

    if (l->kind == KN_FX_MUL && !minus)
        return fused(a, dist_formula(a, l->arg[0]), dist_formula(a, l->arg[1]),
                   dist_formula(a, n->arg[1]));
    y = dist_formula(a, n->arg[0]);
    return minus ? fused(a, dist_formula(a, n->arg[1]), num(a, -1), y)
                 : op2(a, KN_OP_fadd, y, dist_formula(a, n->arg[1]));
}

static kn_ref
arithmetic(struct dist_arith *a, const struct kn_formula_node *n)
{
    const struct kn_formula_node *r = &a->x->node[n->arg[1]];
    kn_ref y;

    switch (n->kind) {
    case KN_FX_ADD: case KN_FX_SUB:
        return sum(a, n, n->kind == KN_FX_SUB);
    case KN_FX_NEG:
        return mul(a, dist_formula(a, n->arg[0]), num(a, -1));
    case KN_FX_MUL:
        return mul(a, dist_formula(a, n->arg[0]), dist_formula(a, n->arg[1]));
    default:
        if (a->x->wide && !(r->kind == KN_FX_NUMBER && isnormal(1 / r->value)))
            return dist_op(a->d, KN_OP_fdiv, a->t, dist_formula(a, n->arg[0]),
                           dist_formula(a, n->arg[1]));
        y = r->kind == KN_FX_NUMBER
          ? num(a, 1 / r->value) : op1(a, KN_OP_rcp, dist_formula(a, n->arg[1]));
        return mul(a, dist_formula(a, n->arg[0]), y);
    }
}

kn_ref
dist_formula(struct dist_arith *a, uint32_t n)
{
    static const struct {
        int nargs;
        kn_ref (*expand)(struct dist_arith *a, const kn_ref *x);
    } row[KN_NFORMULA] = {
#define FN(id, text, nargs, alone) [KN_FX_##id] = { nargs, expr_##id },
#include "../formula.def"
#undef FN
    };
    const struct kn_formula_node *x = &a->x->node[n];
    kn_ref arg[3];

    if (x->kind == KN_FX_NUMBER)
        return num(a, x->value);
    if (x->kind == KN_FX_OPERAND)
        return a->operand[x->arg[0]];
    if (x->kind < KN_FX_OPERAND)
        return a->value[x->kind];
    if (!row[x->kind].expand)
        return arithmetic(a, x);
    for (int i = 0; i < row[x->kind].nargs; i++)
        arg[i] = dist_formula(a, x->arg[i]);
    return row[x->kind].expand(a, arg);
}
