/* formula.h - the expression of an epilogue: what becomes of each sum before it
 * is stored. Numbers, names of values, + - * / and the functions of formula.def,
 * as C writes them; all is f32, or of sums of f64 f64.
 *
 *   acc    alpha times the scaled product; beta * C is in it where the
 *          expression does not name c
 *   bias   f32 by column
 *   c      what the output holds
 *
 * or, of a B of 2 N columns, N of gate and then N of up, instead of acc and bias
 *
 *   gate, up             alpha times the scaled products, one of each an element
 *   gate_bias, up_bias   f32 by column
 *
 * In front of it the operands that it names besides, each with a comma behind:
 *
 *   row:x,     f32, one for each row of the output
 *   col:x,     f32, one for each column
 *   tensor:x,  of the output's shape, type and pitch
 *   scalar:x,  f32, an argument of the launch
 *
 * and behind these what a second output holds, of which the expression then is, and
 * no more of acc; of gate and up one behind the other:
 *
 *   aux:acc + bias, gelu(aux)
 *   aux:gate + gate_bias, up + up_bias, swiglu(aux_gate, aux_up)
 *
 * A function alone, such as `gelu`, stands for `gelu(acc)`, of gate and up such
 * as `swiglu` for `swiglu(gate,up)`. */
#ifndef KN_FORMULA_H
#define KN_FORMULA_H

#include "base.h"

/* X(id, text): values that an expression may name. */
#define KN_FORMULA_NAMES(X) \
    X(ACC, "acc") X(BIAS, "bias") X(C, "c") X(GATE, "gate") X(UP, "up") \
    X(GATE_BIAS, "gate_bias") X(UP_BIAS, "up_bias") X(AUX, "aux") \
    X(AUX_GATE, "aux_gate") X(AUX_UP, "aux_up")

/* X(id, text): kinds of declared operands; all but SCALAR are arrays. */
#define KN_FORMULA_OPERANDS(X) \
    X(ROW, "row") X(COL, "col") X(TENSOR, "tensor") X(SCALAR, "scalar")

enum kn_formula_operand_kind {
#define X(id, text) KN_FO_##id,
    KN_FORMULA_OPERANDS(X)
#undef X
    KN_NFO
};

enum {
    KN_FORMULA_ARRAYS = 4, KN_FORMULA_SCALARS = 4,
    KN_FORMULA_DECLARED = KN_FORMULA_ARRAYS + KN_FORMULA_SCALARS,
    KN_FORMULA_NAME = 15     /* most characters of a name */
};

/* The declared operands in order. */
struct kn_formula_operands {
    struct kn_formula_operand {
        const char *name;    /* in the text, n characters */
        uint8_t n, kind;     /* enum kn_formula_operand_kind */
        uint8_t slot;        /* among the arrays, or among the scalars */
    } of[KN_FORMULA_DECLARED];
    uint32_t n, arrays, scalars;
    const char *rest;        /* of the text: the expression itself */
};

enum kn_formula_kind {
    KN_FX_NUMBER,
#define X(id, text) KN_FX_##id,
    KN_FORMULA_NAMES(X)
#undef X
    KN_FX_OPERAND,           /* arg[0]: which of the declared */
    KN_FX_ADD, KN_FX_SUB, KN_FX_MUL, KN_FX_DIV, KN_FX_NEG,
#define FN(id, text, nargs, alone) KN_FX_##id,
#include "formula.def"
#undef FN
    KN_NFORMULA
};

enum { KN_FORMULA_NODES = 96 };

struct kn_formula_node {
    uint8_t kind;            /* enum kn_formula_kind */
    uint8_t arg[3];          /* nodes before this one */
    double value;            /* NUMBER: that of an f32, or of the sums' f64 */
};

/* The last node is the whole. */
struct kn_formula {
    struct kn_formula_node node[KN_FORMULA_NODES];
    uint32_t n;
    uint32_t aux;            /* nodes of what aux: says, in front; 0: nothing */
    uint32_t aux_up;         /* those of gate among them, in front of up's; 0: acc's */
    uint32_t names;          /* bit set of enum kn_formula_kind */
    bool wide;               /* all of it is f64 */
    struct kn_formula_operands operands;
};

static inline bool
kn_formula_has(const struct kn_formula *x, enum kn_formula_kind name)
{
    return x->names >> name & 1;
}

/* BAD_INPUT, with line and column (of the expression itself, without what it
 * declares), for what is no expression or names neither acc nor gate and up. at:
 * where the text stands in a file, or NULL. wide: it is of sums of f64. */
kiln_status kn_formula_parse(struct kn_ctx *c, const struct kn_loc *at,
                             const char *text, bool wide, struct kn_formula *out);

/* Whether it is of gate and up. */
static inline bool
kn_formula_gated(const struct kn_formula *x)
{
    return kn_formula_has(x, KN_FX_GATE);
}

/* Whether nodes [from, to) name the value. */
static inline bool
kn_formula_uses(const struct kn_formula *x, uint32_t from, uint32_t to,
                enum kn_formula_kind name)
{
    for (uint32_t i = from; i < to; i++)
        if (x->node[i].kind == (uint8_t)name)
            return true;
    return false;
}

/* Whether a text that parses says what aux is. */
bool kn_formula_aux(const char *text);

/* formula_operands.c: a text in words. Letters, digits and _ that it begins with;
 * whether n characters are the word; what is behind its blanks. */
size_t kn_formula_word(const char *s);
bool kn_formula_is(const char *word, const char *s, size_t n);
const char *kn_formula_skip(const char *s);

/* KIND:NAME, at s; returns what is behind it, NULL: it is none. */
const char *kn_formula_read_operand(const char *s, struct kn_formula_operand *out);
/* Takes the next one; false: there is no room. */
bool kn_formula_declare(struct kn_formula_operands *x, struct kn_formula_operand *o);
/* Whether a word and a colon stand at s, and whether the word is aux. */
bool kn_formula_declares(const char *s);
bool kn_formula_is_aux(const char *s);

/* The declarations of a text that parses; of another, those up to the first
 * that is none. */
struct kn_formula_operands kn_formula_declared(const char *text);

/* The array in slot `i`, NULL: there are fewer. */
const struct kn_formula_operand *
kn_formula_array(const struct kn_formula_operands *x, uint32_t i);

extern const char *const kn_formula_operand_names[KN_NFO];

/* A text that parses, as it stands in a key: without spaces, in full. */
const char *kn_formula_text(struct kn_ctx *c, const char *text);

/* Whether text, which parses, names the value. */
bool kn_formula_names(const char *text, const char *name);

#endif
