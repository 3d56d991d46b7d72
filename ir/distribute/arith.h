/* arith.h - arithmetic on one accumulator's values: between distribute_apply.c,
 * distribute_formula.c and distribute_f64.c. */
#ifndef KN_ARITH_H
#define KN_ARITH_H

#include "distribute.h"

/* The expression and what its names stand for, of type t, at the accumulator
 * whose turn it is. */
enum { DIST_WIDE_NUMBERS = 20 };

struct dist_arith {
    struct dist *d;
    const struct kn_formula *x;
    struct kn_type t;
    kn_ref value[KN_FX_OPERAND], operand[KN_FORMULA_DECLARED];
    double number[DIST_WIDE_NUMBERS]; /* of f64: those in scalar registers */
    uint32_t nnumbers;
};

/* Node n of the expression: operations that compute it. */
kn_ref dist_formula(struct dist_arith *a, uint32_t n);

/* distribute_f64.c: of f64 2^x, 1 / (1 + exp(-slope x)), tanh and erf. */
kn_ref dist_wide_exp2(struct dist_arith *a, kn_ref x);
kn_ref dist_wide_logistic(struct dist_arith *a, kn_ref x, double slope);
kn_ref dist_wide_tanh(struct dist_arith *a, kn_ref x);
kn_ref dist_wide_erf(struct dist_arith *a, kn_ref x);

/* distribute_f64.c: a number of f64. */
kn_ref dist_wide_number(struct dist_arith *a, double v);

static inline kn_ref
num(struct dist_arith *a, double v)
{
    return a->x->wide ? dist_wide_number(a, v) : kn_flt(a->d->out, v);
}

/* A constant is the second. */
static inline kn_ref
op2(struct dist_arith *a, enum kn_op op, kn_ref x, kn_ref y)
{
    return KN_REF_TAG(x) == KN_R_CONST ? dist_op(a->d, op, a->t, y, x)
                                       : dist_op(a->d, op, a->t, x, y);
}

static inline kn_ref
mul(struct dist_arith *a, kn_ref x, kn_ref y)
{
    return op2(a, KN_OP_fmul, x, y);
}

/* x * y + z */
static inline kn_ref
fused(struct dist_arith *a, kn_ref x, kn_ref y, kn_ref z)
{
    return dist_op3(a->d, KN_OP_fma, a->t, (kn_ref[3]){ x, y, z });
}

/* c[0] + c[1] * x + ... */
static inline kn_ref
polynomial(struct dist_arith *a, kn_ref x, const double *c, int n)
{
    kn_ref y = fused(a, x, num(a, c[n - 1]), num(a, c[n - 2]));

    for (int i = n - 3; i >= 0; i--)
        y = fused(a, y, x, num(a, c[i]));
    return y;
}

#endif
