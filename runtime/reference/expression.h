/* expression.h - the reference's own reading of an epilogue's expression, with a
 * bound of what f32 may make of it, or f64. */
#ifndef KN_REFERENCE_EXPRESSION_H
#define KN_REFERENCE_EXPRESSION_H

#include "reference.h"

/* Values that an expression may name; those that it declares are behind. */
enum kn_ref_name {
    KN_REF_ACC, KN_REF_BIAS, KN_REF_C, KN_REF_GATE, KN_REF_UP,
    KN_REF_GATE_BIAS, KN_REF_UP_BIAS, KN_REF_AUX, KN_REF_AUX_GATE, KN_REF_AUX_UP,
    KN_REF_NAMES
};

enum {
    KN_REF_STEPS = 96,
    KN_REF_DECLARED = KN_REF_ARRAYS + KN_REF_SCALARS,
    KN_REF_VALUES = KN_REF_NAMES + KN_REF_DECLARED
};

/* Steps of a stack machine. */
struct kn_ref_expression {
    struct kn_ref_step {
        uint8_t code;        /* a row of expression.def */
        uint8_t name;        /* of a value */
        double number;
    } step[KN_REF_STEPS];
    uint32_t n;
    uint32_t aux;            /* steps of what aux is, in front; 0: it is not */
    uint32_t aux_up;         /* those of gate, in front of up's; 0: of one sum */
    struct kn_ref_declared {
        char name[16];
        char kind;           /* r, c, t, s: row, column, tensor, scalar */
        uint8_t slot;        /* in kn_ref_problem.array or scalar */
    } declared[KN_REF_DECLARED];
    uint32_t ndeclared;
    bool wide;               /* the kernel computes in f64 */
};

/* A value, and how far a right result may be from it. */
struct kn_ref_inexact {
    double value, error;
};

/* The text is one that the generator took. */
kiln_status kn_ref_expression_read(struct kn_ctx *c, const char *text, bool wide,
                                   struct kn_ref_expression *out);
bool kn_ref_expression_names(const struct kn_ref_expression *x,
                             enum kn_ref_name name);
/* named: KN_REF_NAMES and those declared, in order. Of an expression that is not
 * wide in f64, of another in long double. */
struct kn_ref_inexact kn_ref_evaluate(const struct kn_ref_expression *x,
                                      const struct kn_ref_inexact *named);

/* The same of what aux is alone; up: of up, where it is of two. */
struct kn_ref_inexact kn_ref_evaluate_aux(const struct kn_ref_expression *x,
                                          const struct kn_ref_inexact *named, bool up);

/* evaluate.c: either of these two, of all, of what aux is, or of what it is of up. */
enum kn_ref_part { KN_REF_PART_ALL, KN_REF_PART_AUX, KN_REF_PART_AUX_UP };
struct kn_ref_inexact kn_ref_steps_f32(const struct kn_ref_expression *x,
                                       enum kn_ref_part part,
                                       const struct kn_ref_inexact *named);
struct kn_ref_inexact kn_ref_steps_f64(const struct kn_ref_expression *x,
                                       enum kn_ref_part part,
                                       const struct kn_ref_inexact *named);

#endif
