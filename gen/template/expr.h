/* expr.h - expressions of the template language: C's operators and
 * precedence over numbers and names. */
#ifndef KN_TEMPLATE_EXPR_H
#define KN_TEMPLATE_EXPR_H

#include "template.h"

enum { KN_TEMPLATE_ARGS = 8, KN_TEMPLATE_NESTED = 500 };

/* C's binary operators, the longer ones first where one begins another. */
enum kn_math {
    KN_MATH_OR, KN_MATH_AND, KN_MATH_BOR, KN_MATH_XOR, KN_MATH_BAND, KN_MATH_EQ, KN_MATH_NE,
    KN_MATH_LE, KN_MATH_GE, KN_MATH_SHL, KN_MATH_SHR, KN_MATH_LT, KN_MATH_GT, KN_MATH_ADD,
    KN_MATH_SUB, KN_MATH_MUL, KN_MATH_DIV, KN_MATH_MOD, KN_NMATHS
};

struct kn_operator {
    const char *text;
    int level;               /* the higher binds first */
};
extern const struct kn_operator kn_operators[KN_NMATHS];

/* The operator that p begins with; KN_NMATHS: none. */
enum kn_math kn_math_at(const char *p);

/* a = a op b, wrapping as two's complement does; b is not 0 of a division. */
void kn_math_apply(enum kn_math o, int64_t *a, int64_t b);

/* Names bound around a line, innermost first, up to its definition. */
struct kn_scope {
    const struct kn_scope *outer;
    const char *name[KN_TEMPLATE_ARGS];
    struct kn_fact_value value[KN_TEMPLATE_ARGS];
    int n;
};

/* The text that is read at p, and what its names mean. */
struct kn_expr {
    struct kn_ctx *c;
    const struct kn_library *lib;
    const char *p;
    const struct kn_scope *scope;
    struct kn_loc at;
    bool dead;               /* an arm that is not taken: names still count */
    int nested;              /* parentheses and signs of this line so far */
    size_t *room;            /* characters that texts may still be made of */
};

/* Characters of the name at p, 0: there is none. */
size_t kn_name_length(const char *p);

/* An error of the text that is read. */
#define KN_BAD(x, ...) kn_fail_at((x)->c, (x)->lib->fault, (x)->at, __VA_ARGS__)

/* The expression at x->p, which it moves behind it. */
kiln_status kn_expr(struct kn_expr *x, struct kn_fact_value *v);
kiln_status kn_expr_number(struct kn_expr *x, int64_t *out);

/* Steps over blanks and `text`, which has to be there; the end of the line has
 * to be here. */
kiln_status kn_expr_expect(struct kn_expr *x, const char *text);
kiln_status kn_expr_end(struct kn_expr *x);

/* `text` with the value of each $name and $(EXPR). */
kiln_status kn_expr_substitute(struct kn_expr *x, const char *text,
                               const char **out);

#endif
