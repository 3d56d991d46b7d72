/* formula.c - the text of an epilogue's expression to nodes. */
#include "formula.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 32 };         /* of parentheses and functions */

struct parser {
    struct kn_ctx *c;
    const struct kn_loc *at; /* of the text, or NULL */
    const char *text, *s;
    struct kn_formula *x;
    int depth;
};

static const struct {
    const char *text, *alone;
    uint8_t kind, nargs;
} functions[] = {
#define FN(id, text, nargs, alone) { text, alone, KN_FX_##id, nargs },
#include "formula.def"
#undef FN
};
enum { NFUNCTIONS = sizeof functions / sizeof *functions };

static const char *const names[] = {
#define X(id, text) text,
    KN_FORMULA_NAMES(X)
#undef X
};
enum { NNAMES = sizeof names / sizeof *names };

static kiln_status
fail(struct parser *p, const char *at, const char *what)
{
    const char *from = p->x->operands.rest;
    int line = 1, column = 1;

    from = from && from <= at && !p->at ? from : p->text;
    for (const char *s = from; s < at; s++) {
        line += *s == '\n';
        column = *s == '\n' ? 1 : column + 1;
    }
    if (p->at) {
        struct kn_loc here = *p->at;

        here.col += column - 1;
        return kn_fail_at(p->c, KILN_BAD_INPUT, here, "%s", what);
    }
    return kn_fail_at(p->c, KILN_BAD_INPUT,
                      (struct kn_loc){ .line = line, .col = column },
                      "epilogue, line %d, column %d: %s", line, column, what);
}

static char
next(struct parser *p)
{
    p->s = kn_formula_skip(p->s);
    return *p->s;
}

static bool
accept(struct parser *p, char ch)
{
    if (next(p) != ch)
        return false;
    p->s++;
    return true;
}

static kiln_status
add(struct parser *p, const char *at, struct kn_formula_node node, uint8_t *out)
{
    if (p->x->n == KN_FORMULA_NODES)
        return fail(p, at, "the expression is too long");
    *out = (uint8_t)p->x->n;
    p->x->node[p->x->n++] = node;
    return KILN_OK;
}

/* A number as the kernel has it. */
static struct kn_formula_node
number(const struct kn_formula *x, double v)
{
    return (struct kn_formula_node){ .kind = KN_FX_NUMBER,
                                     .value = x->wide ? v : (double)(float)v };
}

/* Operations on numbers alone are done here; rounded as the kernel would. */
static bool
fold(struct kn_formula *x, struct kn_formula_node *n)
{
    const struct kn_formula_node *a = &x->node[n->arg[0]];
    const struct kn_formula_node *b = &x->node[n->arg[1]];
    double v;

    if (a->kind != KN_FX_NUMBER ||
        (n->kind != KN_FX_NEG && b->kind != KN_FX_NUMBER))
        return false;
    v = n->kind == KN_FX_NEG ? -a->value
      : n->kind == KN_FX_ADD ? a->value + b->value
      : n->kind == KN_FX_SUB ? a->value - b->value
      : n->kind == KN_FX_MUL ? a->value * b->value : a->value / b->value;
    *n = number(x, v);
    return true;
}

static kiln_status
operation(struct parser *p, const char *at, struct kn_formula_node n,
          uint8_t *out)
{
    if (fold(p->x, &n) && !isfinite(n.value))
        return fail(p, at, "this is no finite number");
    return add(p, at, n, out);
}

static bool
is_number(const struct kn_formula *x, uint8_t node)
{
    return x->node[node].kind == KN_FX_NUMBER;
}

static kiln_status parse_sum(struct parser *p, uint8_t *out);

static kiln_status
parse_number(struct parser *p, uint8_t *out)
{
    const char *at = p->s;
    char *end;
    double v = strtod(at, &end);

    if (end == at || isalnum((unsigned char)*end))
        return fail(p, at, "this is no number");
    if (!(fabs(v) <= (p->x->wide ? DBL_MAX : (double)FLT_MAX)))
        return fail(p, at, p->x->wide ? "the number is beyond f64"
                                      : "the number is beyond f32");
    p->s = end;
    return add(p, at, number(p->x, v), out);
}

static kiln_status
parse_call(struct parser *p, const char *at, int f, uint8_t *out)
{
    struct kn_formula_node n = { .kind = functions[f].kind };
    bool number = true;

    if (!accept(p, '('))
        return fail(p, at, "a function is followed by its values in parentheses");
    for (int i = 0; i < functions[f].nargs; i++) {
        if (i && !accept(p, ','))
            return fail(p, p->s, "the function takes more values than this");
        KN_TRY(parse_sum(p, &n.arg[i]));
        number &= is_number(p->x, n.arg[i]);
    }
    if (!accept(p, ')'))
        return fail(p, p->s, *p->s == ',' ? "the function takes no more values"
                                          : "expected ')'");
    number |= (n.kind == KN_FX_clamp || n.kind == KN_FX_select) &&
              is_number(p->x, n.arg[0]);
    if (number)
        return fail(p, at, "this function of numbers has a value: write that");
    return add(p, at, n, out);
}

/* Which of the declared operands a word names, -1: none. */
static int
find_operand(const struct kn_formula_operands *x, const char *s, size_t n)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (x->of[i].n == n && !memcmp(x->of[i].name, s, n))
            return (int)i;
    return -1;
}

static int
find_function(const char *s, size_t n)
{
    for (int i = 0; i < NFUNCTIONS; i++)
        if (kn_formula_is(functions[i].text, s, n))
            return i;
    return -1;
}

static int
find_name(const char *s, size_t n)
{
    for (int i = 0; i < NNAMES; i++)
        if (kn_formula_is(names[i], s, n))
            return i;
    return -1;
}

static kiln_status
parse_name(struct parser *p, uint8_t *out)
{
    const char *at = p->s;
    size_t n = kn_formula_word(at);
    struct kn_formula_node node = { .kind = KN_FX_OPERAND };
    int i = find_function(at, n);

    p->s += n;
    if (i >= 0)
        return parse_call(p, at, i, out);
    i = find_operand(&p->x->operands, at, n);
    node.arg[0] = (uint8_t)i;
    if (i < 0) {
        i = find_name(at, n);
        node = (struct kn_formula_node){ .kind = (uint8_t)(KN_FX_ACC + i) };
        p->x->names |= i < 0 ? 0 : 1u << (KN_FX_ACC + i);
    }
    if (i < 0)
        return fail(p, at, "there is no value and no function of this name");
    return add(p, at, node, out);
}

static kiln_status
parse_value(struct parser *p, uint8_t *out)
{
    char ch = next(p);
    kiln_status s;

    if (ch != '(')
        return isdigit((unsigned char)ch) || ch == '.' ? parse_number(p, out)
             : isalpha((unsigned char)ch) ? parse_name(p, out)
             : fail(p, p->s, ch ? "expected a value" : "a value is missing");
    p->s++;
    s = parse_sum(p, out);
    if (s || accept(p, ')'))
        return s;
    return fail(p, p->s, "expected ')'");
}

static kiln_status
parse_unary(struct parser *p, uint8_t *out)
{
    struct kn_formula_node n = { .kind = KN_FX_NEG };
    const char *at;
    bool minus = false;

    while (next(p) == '-') {
        p->s++;
        minus = !minus;
    }
    at = p->s;
    KN_TRY(parse_value(p, &n.arg[0]));
    *out = n.arg[0];
    return minus ? operation(p, at, n, out) : KILN_OK;
}

static kiln_status
parse_product(struct parser *p, uint8_t *out)
{
    KN_TRY(parse_unary(p, out));
    while (next(p) == '*' || *p->s == '/') {
        struct kn_formula_node n = { .kind = *p->s == '*' ? KN_FX_MUL : KN_FX_DIV,
                                  .arg = { *out } };
        const char *at = p->s++;

        KN_TRY(parse_unary(p, &n.arg[1]));
        KN_TRY(operation(p, at, n, out));
    }
    return KILN_OK;
}

static kiln_status
parse_sum(struct parser *p, uint8_t *out)
{
    if (++p->depth > DEPTH)
        return fail(p, p->s, "parentheses are nested too deeply");
    KN_TRY(parse_product(p, out));
    while (next(p) == '+' || *p->s == '-') {
        struct kn_formula_node n = { .kind = *p->s == '+' ? KN_FX_ADD : KN_FX_SUB,
                                  .arg = { *out } };
        const char *at = p->s++;

        KN_TRY(parse_product(p, &n.arg[1]));
        KN_TRY(operation(p, at, n, out));
    }
    p->depth--;
    return KILN_OK;
}

/* ---- what is declared in front ---- */

static kiln_status
check_name(struct parser *p, const struct kn_formula_operand *o)
{
    const struct kn_formula_operands *x = &p->x->operands;

    if (!o->n || !isalpha((unsigned char)*o->name))
        return fail(p, o->name, "an operand needs a name");
    if (o->n > KN_FORMULA_NAME)
        return fail(p, o->name, "the name of an operand has at most 15 "
                    "characters");
    if (find_function(o->name, o->n) >= 0 || find_name(o->name, o->n) >= 0)
        return fail(p, o->name, "this name has a meaning of its own");
    if (find_operand(x, o->name, o->n) >= 0)
        return fail(p, o->name, "this operand is declared twice");
    return KILN_OK;
}

static kiln_status
parse_declarations(struct parser *p)
{
    struct kn_formula_operands *x = &p->x->operands;

    while (kn_formula_declares(p->s)) {
        struct kn_formula_operand o = { .name = NULL };
        const char *end = kn_formula_read_operand(p->s, &o), *at = kn_formula_skip(p->s);

        if (kn_formula_is_aux(at))
            break;
        if (o.kind == KN_NFO)
            return fail(p, at, "operands are of the kinds row, col, tensor "
                        "and scalar");
        KN_TRY(check_name(p, &o));
        if (!end)
            return fail(p, kn_formula_skip(o.name + o.n), "expected ',' behind an operand");
        if (!kn_formula_declare(x, &o))
            return fail(p, at, "there are at most 4 rows, columns and tensors, "
                        "and at most 4 scalars");
        p->s = end;
    }
    x->rest = p->s;
    return KILN_OK;
}

enum { SUMS = 1 << KN_FX_ACC | 1 << KN_FX_GATE | 1 << KN_FX_UP,
       PAIR = 1 << KN_FX_AUX_GATE | 1 << KN_FX_AUX_UP, ALL_AUX = PAIR | 1 << KN_FX_AUX };

/* Bit set of enum kn_formula_kind. */
static uint32_t
named_in(const struct kn_formula *x, uint32_t from, uint32_t to)
{
    uint32_t set = 0;

    for (uint32_t i = from; i < to; i++)
        set |= x->node[i].kind < KN_FX_OPERAND ? 1u << x->node[i].kind : 0;
    return set;
}

static kiln_status
parse_part(struct parser *p, const char *lacks)
{
    uint8_t root;

    KN_TRY(parse_sum(p, &root));
    return accept(p, ',') ? KILN_OK : fail(p, p->s, lacks);
}

/* What aux: says; the names that the rest has are not seen yet. */
static kiln_status
parse_aux(struct parser *p)
{
    const char *at = kn_formula_skip(p->s);

    if (!kn_formula_is_aux(at))
        return KILN_OK;
    p->s = strchr(at, ':') + 1;
    KN_TRY(parse_part(p, "expected ',' behind what aux is"));
    if (p->x->names & SUMS & ~(1u << KN_FX_ACC)) {
        p->x->aux_up = p->x->n;
        KN_TRY(parse_part(p, "expected ',' behind what aux is of up, which is behind "
                          "that of gate"));
    }
    p->x->aux = p->x->n;
    if (p->x->names & ALL_AUX || (!p->x->aux_up && !kn_formula_has(p->x, KN_FX_ACC)))
        return fail(p, at, "what aux is names acc, and not itself");
    if (p->x->aux_up &&      /* each is made in the place of its sum */
        ((named_in(p->x, 0, p->x->aux_up) & SUMS) != 1 << KN_FX_GATE ||
         (named_in(p->x, p->x->aux_up, p->x->n) & SUMS) != 1 << KN_FX_UP))
        return fail(p, at, "what aux is of gate names gate and not up, and what it is of up "
                    "names up and not gate");
    return KILN_OK;
}

static kiln_status
check_aux(struct parser *p)
{
    const struct kn_formula *x = p->x;
    const char *at = kn_formula_skip(x->operands.rest);
    uint32_t rest = named_in(x, x->aux, x->n);

    if (!x->aux)
        return !(rest & ALL_AUX) ? KILN_OK
             : fail(p, at, "the expression names aux, which aux:EXPRESSION, in "
                    "front says");
    if (!x->aux_up && rest & SUMS & ~(1u << KN_FX_ACC))
        return fail(p, at, "aux is of one sum an element, gate and up are two");
    if (!(rest & SUMS) && (rest & ALL_AUX) == (x->aux_up ? PAIR : 1 << KN_FX_AUX))
        return KILN_OK;
    return fail(p, at, x->aux_up ? "behind aux: the expression is of aux_gate and aux_up, "
                                   "not of gate and up"
                                 : "behind aux: the expression is of aux, not of acc");
}

static const char *
unnamed(struct parser *p, const struct kn_formula_operand *o)
{
    struct kn_buf b = { .c = p->c };

    kn_putf(&b, "the expression does not name %.*s", o->n, o->name);
    return b.s;
}

static kiln_status
check_used(struct parser *p)
{
    const struct kn_formula *x = p->x;

    for (uint32_t i = 0; i < x->operands.n; i++) {
        bool used = false;

        for (uint32_t k = 0; k < x->n; k++)
            used |= x->node[k].kind == KN_FX_OPERAND && x->node[k].arg[0] == i;
        if (!used)
            return fail(p, x->operands.rest, unnamed(p, &x->operands.of[i]));
    }
    return KILN_OK;
}

/* Of one sum, or of two. */
static kiln_status
check_sums(struct parser *p)
{
    enum { ONE = 1 << KN_FX_ACC | 1 << KN_FX_BIAS,
           BOTH = 1 << KN_FX_GATE | 1 << KN_FX_UP,
           TWO = BOTH | 1 << KN_FX_GATE_BIAS | 1 << KN_FX_UP_BIAS };
    uint32_t has = p->x->names;
    const char *what =
        !(has & TWO) ? has & 1 << KN_FX_ACC ? NULL
                                  : "the expression does not name acc"
        : has & ONE ? "acc and bias are of one sum an element, gate and up "
                        "of two"
        : (has & BOTH) != BOTH ? "the expression names not both of gate and up"
                                 : NULL;

    return what ? fail(p, kn_formula_skip(p->x->operands.rest), what) : KILN_OK;
}

/* `gelu` to `gelu(acc)`, `swiglu` to `swiglu(gate,up)`. */
static const char *
in_full(struct kn_ctx *c, const char *text)
{
    struct kn_buf b = { .c = c };

    for (int i = 0; i < NFUNCTIONS; i++)
        if (*functions[i].alone && !strcmp(functions[i].text, text)) {
            kn_putf(&b, "%s(%s)", text, functions[i].alone);
            return b.s;
        }
    return text;
}

kiln_status
kn_formula_parse(struct kn_ctx *c, const struct kn_loc *at, const char *text,
                 bool wide, struct kn_formula *out)
{
    struct parser p = { .c = c, .at = at, .x = out };
    uint8_t root;

    p.text = p.s = in_full(c, text);
    *out = (struct kn_formula){ .wide = wide };
    KN_TRY(parse_declarations(&p));
    KN_TRY(parse_aux(&p));
    KN_TRY(parse_sum(&p, &root));
    if (next(&p))
        return fail(&p, p.s, "expected an operator");
    KN_TRY(check_aux(&p));
    KN_TRY(check_sums(&p));
    return check_used(&p);
}

const char *
kn_formula_text(struct kn_ctx *c, const char *text)
{
    char *out = kn_strdup(c, in_full(c, text)), *to = out;

    for (const char *s = out; *s; s++)
        if (!strchr(" \t\n", *s))
            *to++ = *s;
    *to = '\0';
    return out;
}
