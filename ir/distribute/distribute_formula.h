/* distribute_formula.h - what an expression is evaluated with. */
#ifndef KN_DISTRIBUTE_FORMULA_H
#define KN_DISTRIBUTE_FORMULA_H

#include "distribute.h"

/* The expression and what its names stand for, of type t, at the accumulator
 * whose turn it is. */
struct dist_arith {
    struct dist *d;
    const struct kn_formula *x;
    struct kn_type t;
    kn_ref value[KN_FX_OPERAND], operand[KN_FORMULA_DECLARED];
};

/* Node n of the expression: operations that compute it. */
kn_ref dist_formula(struct dist_arith *a, uint32_t n);

#endif
