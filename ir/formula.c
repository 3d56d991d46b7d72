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
    const char *text;
    uint8_t kind, nargs;
} functions[] = {
#define FN(id, text, nargs) { text, KN_FX_##id, nargs },
#include "formula.def"
#undef FN
};
enum { NFUNCTIONS = sizeof functions / sizeof *functions };

static kiln_status
fail(struct parser *p, const char *at, const char *what)
{
    int line = 1, column = 1;

    for (const char *s = p->text; s < at; s++) {
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
    p->s += strspn(p->s, " \t\n");
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
    *n = (struct kn_formula_node){ .kind = KN_FX_NUMBER,
                                   .value = (double)(float)v };
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
    if (!(fabs(v) <= (double)FLT_MAX))
        return fail(p, at, "the number is beyond f32");
    p->s = end;
    return add(p, at, (struct kn_formula_node){ .kind = KN_FX_NUMBER,
                                             .value = (double)(float)v }, out);
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

static kiln_status
parse_name(struct parser *p, uint8_t *out)
{
    static const char *const names[] = {
#define X(id, text) text,
        KN_FORMULA_NAMES(X)
#undef X
    };
    const char *at = p->s;
    size_t n = 0;

    while (isalnum((unsigned char)at[n]) || at[n] == '_')
        n++;
    p->s += n;
    for (int i = 0; i < NFUNCTIONS; i++)
        if (strlen(functions[i].text) == n && !memcmp(functions[i].text, at, n))
            return parse_call(p, at, i, out);
    for (uint8_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && !memcmp(names[i], at, n)) {
            p->x->names |= 1u << (KN_FX_ACC + i);
            return add(p, at, (struct kn_formula_node){
                .kind = (uint8_t)(KN_FX_ACC + i) }, out);
        }
    return fail(p, at, "there is no value and no function of this name");
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

/* `gelu` to `gelu(acc)`. */
static const char *
in_full(struct kn_ctx *c, const char *text)
{
    struct kn_buf b = { .c = c };

    for (int i = 0; i < NFUNCTIONS; i++)
        if (functions[i].nargs == 1 && !strcmp(functions[i].text, text)) {
            kn_putf(&b, "%s(acc)", text);
            return b.s;
        }
    return text;
}

kiln_status
kn_formula_parse(struct kn_ctx *c, const struct kn_loc *at, const char *text,
                 struct kn_formula *out)
{
    struct parser p = { .c = c, .at = at, .x = out };
    uint8_t root;

    p.text = p.s = in_full(c, text);
    *out = (struct kn_formula){ 0 };
    KN_TRY(parse_sum(&p, &root));
    if (next(&p))
        return fail(&p, p.s, "expected an operator");
    if (!kn_formula_has(out, KN_FX_ACC))
        return fail(&p, p.text, "the expression does not name acc");
    return KILN_OK;
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

bool
kn_formula_names(const char *text, const char *name)
{
    size_t n = strlen(name);

    while (*text) {
        size_t word = 0;

        while (isalnum((unsigned char)text[word]) || text[word] == '_')
            word++;
        if (word == n && !memcmp(text, name, n))
            return true;
        text += word ? word : 1;
    }
    return false;
}
