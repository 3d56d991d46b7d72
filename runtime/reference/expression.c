/* expression.c - an epilogue's expression by the shunting-yard. Shares nothing
 * with the generator's reading (ir/formula.c). */
#include "expression.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACK = 40 };

static const struct {
    const char *text;
    int binds;
} rows[] = {
#define R(id, text, nargs, binds, ulps, exponential, of) { text, binds },
#include "expression.def"
#undef R
};
enum {
#define R(id, text, nargs, binds, ulps, exponential, of) id,
#include "expression.def"
#undef R
    NROWS
};

static const char *const names[KN_REF_NAMES] = {
    "acc", "bias", "c", "gate", "up", "gate_bias", "up_bias",
    "aux", "aux_gate", "aux_up"
};

/* ---- reading ---- */

struct reader {
    struct kn_ref_expression *x;
    uint8_t stack[STACK];    /* operators and functions that wait */
    int n;
    bool bad;
};

static void
emit(struct reader *r, struct kn_ref_step s)
{
    if (r->x->n == KN_REF_STEPS)
        r->bad = true;
    else
        r->x->step[r->x->n++] = s;
}

static void
push(struct reader *r, int row)
{
    if (r->n == STACK)
        r->bad = true;
    else
        r->stack[r->n++] = (uint8_t)row;
}

/* What waits and binds at least so, down to a parenthesis. */
static void
pop(struct reader *r, int binds)
{
    while (r->n && r->stack[r->n - 1] != OPEN &&
           rows[r->stack[r->n - 1]].binds >= binds)
        emit(r, (struct kn_ref_step){ .code = r->stack[--r->n] });
}

static void
close_call(struct reader *r)
{
    pop(r, 0);
    if (!r->n) {
        r->bad = true;
        return;
    }
    r->n--;
    if (r->n && r->stack[r->n - 1] >= MAX)
        emit(r, (struct kn_ref_step){ .code = r->stack[--r->n] });
}

static int
find(const char *s, size_t n, const char *const *list, int count)
{
    for (int i = 0; i < count; i++)
        if (strlen(list[i]) == n && !memcmp(list[i], s, n))
            return i;
    return -1;
}

static void
read_word(struct reader *r, const char *s, size_t n)
{
    int name = find(s, n, names, KN_REF_NAMES);

    for (uint32_t i = 0; i < r->x->ndeclared; i++)
        if (strlen(r->x->declared[i].name) == n &&
            !memcmp(r->x->declared[i].name, s, n))
            name = KN_REF_NAMES + (int)i;
    if (name >= 0) {
        emit(r, (struct kn_ref_step){ .code = NAME, .name = (uint8_t)name });
        return;
    }
    for (int i = MAX; i < NROWS; i++)
        if (strlen(rows[i].text) == n && !memcmp(rows[i].text, s, n)) {
            push(r, i);
            return;
        }
    r->bad = true;
}

static void
read_operator(struct reader *r, char ch, bool operand)
{
    int row = ch == '+' ? ADD : ch == '*' ? MUL : ch == '/' ? DIV
            : operand ? SUB : NEG;

    if (row != NEG)
        pop(r, rows[row].binds);
    push(r, row);
}

/* One token; returns whether an operand ends with it. */
static bool
read_token(struct reader *r, const char **s, bool operand)
{
    const char *at = *s;
    char *end = (char *)at + 1;

    if (isdigit((unsigned char)*at) || *at == '.') {
        double v = r->x->wide ? strtod(at, &end) : (double)strtof(at, &end);

        emit(r, (struct kn_ref_step){ .code = NUMBER, .number = v });
        operand = true;
    } else if (isalpha((unsigned char)*at)) {
        while (isalnum((unsigned char)*end) || *end == '_')
            end++;
        read_word(r, at, (size_t)(end - at));
        operand = true;
    } else if (*at == '(') {
        push(r, OPEN);
        operand = false;
    } else if (*at == ')') {
        close_call(r);
        operand = true;
    } else if (*at == ',') {
        pop(r, 0);
        operand = false;
    } else {
        read_operator(r, *at, operand);
        operand = false;
    }
    *s = end;
    return operand;
}

/* KIND : NAME , and so on; returns what is behind them. */
static const char *
read_declared(struct kn_ref_expression *x, const char *s)
{
    uint8_t slots[2] = { 0, 0 };

    while (x->ndeclared < KN_REF_DECLARED) {
        struct kn_ref_declared *d = &x->declared[x->ndeclared];
        char kind[8];
        int n = 0;

        if (sscanf(s, " %7[a-z] : %15[A-Za-z0-9_] ,%n", kind, d->name,
                   &n) != 2 || !n || !strcmp(kind, "aux"))
            break;
        d->kind = *kind;
        d->slot = slots[*kind == 's']++;
        x->ndeclared++;
        s += n;
    }
    return s;
}

/* EXPRESSION , up to the comma; returns what is behind it. */
static const char *
read_part(struct reader *r, const char *s)
{
    bool operand = false;

    while (*s && !r->bad) {
        bool inside = false;

        for (int i = 0; i < r->n; i++)
            inside |= r->stack[i] == OPEN;
        if (*s == ',' && !inside)
            break;
        if (isspace((unsigned char)*s))
            s++;
        else
            operand = read_token(r, &s, operand);
    }
    pop(r, 0);
    r->bad |= *s != ',';
    return *s ? s + 1 : s;
}

/* aux : EXPRESSION , or of gate and up EXPRESSION , EXPRESSION , as steps of their
 * own; returns what is behind them. */
static const char *
read_aux(struct reader *r, const char *s)
{
    int n = 0;

    if (sscanf(s, "aux :%n", &n) == EOF || !n)
        return s;
    s = read_part(r, s + n);
    if (kn_ref_expression_names(r->x, KN_REF_GATE)) {
        r->x->aux_up = r->x->n;
        s = read_part(r, s);
    }
    r->x->aux = r->x->n;
    return s;
}

kiln_status
kn_ref_expression_read(struct kn_ctx *c, const char *text, bool wide,
                       struct kn_ref_expression *out)
{
    struct reader r = { .x = out };
    bool operand = false;
    const char *s;

    *out = (struct kn_ref_expression){ .wide = wide };
    s = read_declared(out, text);
    s = read_aux(&r, s + strspn(s, " \t\n"));
    while (*s && !r.bad)
        if (isspace((unsigned char)*s))
            s++;
        else
            operand = read_token(&r, &s, operand);
    pop(&r, 0);
    if (r.bad || r.n || !out->n)
        return kn_fail(c, KILN_INTERNAL, "the reference cannot read the "
                       "expression '%s'", text);
    return KILN_OK;
}

bool
kn_ref_expression_names(const struct kn_ref_expression *x,
                        enum kn_ref_name name)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (x->step[i].code == NAME && x->step[i].name == name)
            return true;
    return false;
}

struct kn_ref_inexact
kn_ref_evaluate_aux(const struct kn_ref_expression *x,
                    const struct kn_ref_inexact *named, bool up)
{
    enum kn_ref_part part = up ? KN_REF_PART_AUX_UP : KN_REF_PART_AUX;

    return x->wide ? kn_ref_steps_f64(x, part, named) : kn_ref_steps_f32(x, part, named);
}

struct kn_ref_inexact
kn_ref_evaluate(const struct kn_ref_expression *x,
                const struct kn_ref_inexact *named)
{
    return x->wide ? kn_ref_steps_f64(x, KN_REF_PART_ALL, named)
                   : kn_ref_steps_f32(x, KN_REF_PART_ALL, named);
}
