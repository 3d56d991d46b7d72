/* formula.h - the expression of an epilogue: what becomes of each sum before it
 * is stored. Numbers, names of values, + - * / and the functions of formula.def,
 * as C writes them; all is f32.
 *
 *   acc    alpha times the scaled product; beta * C is in it where the
 *          expression does not name c
 *   bias   f32 by column
 *   c      what the output holds
 *
 * A function of one value alone, such as `gelu`, stands for `gelu(acc)`. */
#ifndef KN_FORMULA_H
#define KN_FORMULA_H

#include "base.h"

/* X(id, text): values that an expression may name. */
#define KN_FORMULA_NAMES(X) X(ACC, "acc") X(BIAS, "bias") X(C, "c")

enum kn_formula_kind {
    KN_FX_NUMBER,
#define X(id, text) KN_FX_##id,
    KN_FORMULA_NAMES(X)
#undef X
    KN_FX_ADD, KN_FX_SUB, KN_FX_MUL, KN_FX_DIV, KN_FX_NEG,
#define FN(id, text, nargs) KN_FX_##id,
#include "formula.def"
#undef FN
    KN_NFORMULA
};

enum { KN_FORMULA_NODES = 96 };

struct kn_formula_node {
    uint8_t kind;            /* enum kn_formula_kind */
    uint8_t arg[3];          /* nodes before this one */
    double value;            /* NUMBER: that of an f32 */
};

/* The last node is the whole. */
struct kn_formula {
    struct kn_formula_node node[KN_FORMULA_NODES];
    uint32_t n;
    uint32_t names;          /* bit set of enum kn_formula_kind */
};

static inline bool
kn_formula_has(const struct kn_formula *x, enum kn_formula_kind name)
{
    return x->names >> name & 1;
}

/* BAD_INPUT, with line and column, for what is no expression or does not name
 * acc. at: where the text stands in a file, or NULL. */
kiln_status kn_formula_parse(struct kn_ctx *c, const struct kn_loc *at,
                             const char *text, struct kn_formula *out);

/* A text that parses, as it stands in a key: without spaces, in full. */
const char *kn_formula_text(struct kn_ctx *c, const char *text);

/* Whether text, which parses, names the value. */
bool kn_formula_names(const char *text, const char *name);

#endif
