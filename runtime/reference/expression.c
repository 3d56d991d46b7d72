/* expression.c - an epilogue's expression by the shunting-yard, evaluated in
 * f64. Shares nothing with the generator's reading (ir/formula.c).
 *
 * A right result may be off by what its values may be off, and by `ulps` units
 * in the last place of f32. What a function makes of its values' errors is
 * taken from the function itself at both ends, so steep and flat places count
 * as they are. */
#include "expression.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACK = 40 };

static double
sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double
silu(double x)
{
    return isinf(x) && x < 0 ? NAN : x * sigmoid(x);
}

static double
gelu(double x)
{
    return 0.5 * x * erfc(-x * sqrt(0.5));
}

static double
gelu_tanh(double x)
{
    double y = sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x);

    return isinf(y) && y < 0 ? NAN : x * sigmoid(2 * y);
}

static double
relu(double x)
{
    return x < 0 ? 0 : x;
}

static double
drelu(double x)
{
    return x > 0;
}

static double
dsilu(double x)
{
    return sigmoid(x) + x * sigmoid(x) * sigmoid(-x);
}

static double
dgelu(double x)
{
    double density = exp(-x * x / 2) / sqrt(2 * acos(-1.0));

    return 0.5 * erfc(-x * sqrt(0.5)) + x * density;
}

static double
dgelu_tanh(double x)
{
    double root = sqrt(2 / acos(-1.0)), s;

    s = sigmoid(2 * root * (x + 0.044715 * x * x * x));
    return isinf(x) ? NAN
         : fabs(x) > 100 ? x > 0
         : s + x * s * (1 - s) * 2 * root * (1 + 3 * 0.044715 * x * x);
}

static double
reciprocal(double x)
{
    return 1 / x;
}

static double
reciprocal_root(double x)
{
    return 1 / sqrt(x);
}

static const struct row {
    const char *text;
    int nargs, binds;        /* binds: precedence of an operator */
    double ulps;
    bool exponential;        /* its argument is rounded once more */
    double (*of)(double x);
} rows[] = {
    { "", 0, 0, 0, false, NULL },            /* a number */
    { "", 0, 0, 0, false, NULL },            /* a named value */
    { "(", 0, 0, 0, false, NULL },
    { "neg", 1, 3, 0, false, NULL },
    { "+", 2, 1, 1, false, NULL },
    { "-", 2, 1, 1, false, NULL },
    { "*", 2, 2, 1, false, NULL },
    { "/", 2, 2, 4, false, NULL },
    { "max", 2, 0, 0, false, NULL },
    { "min", 2, 0, 0, false, NULL },
    { "clamp", 3, 0, 0, false, NULL },
    { "fma", 3, 0, 1, false, NULL },
    { "select", 3, 0, 0, false, NULL },
    { "swiglu", 2, 0, 6, true, NULL },
    { "swiglu_oss", 2, 0, 6, true, NULL },
    { "swiglu_limited", 2, 0, 6, true, NULL },
    { "situ", 2, 0, 24, true, NULL },        /* two tanh of 8 */
    { "relu", 1, 0, 0, false, relu },
    { "drelu", 1, 0, 0, false, drelu },
    { "dsilu", 1, 0, 4, true, dsilu },       /* and of its argument */
    { "dgelu", 1, 0, 8, true, dgelu },       /* and 4 of 1's */
    { "dgelu_tanh", 1, 0, 4, true, dgelu_tanh },
    { "rcp", 1, 0, 2, false, reciprocal },
    { "rsqrt", 1, 0, 2, false, reciprocal_root },
    { "exp2", 1, 0, 2, true, exp2 },
    { "sigmoid", 1, 0, 4, true, sigmoid },
    { "silu", 1, 0, 4, true, silu },
    { "tanh", 1, 0, 8, false, tanh },
    { "erf", 1, 0, 8, false, erf },
    { "gelu", 1, 0, 4, false, gelu },        /* and 2 of its argument */
    { "gelu_tanh", 1, 0, 4, true, gelu_tanh },
};
enum { NUMBER, NAME, OPEN, NEG, ADD, SUB, MUL, DIV, MAX, MIN, CLAMP, FMA, SELECT,
       SWIGLU, OSS, LIMITED, SITU,
       FIRST, NROWS = sizeof rows / sizeof *rows };

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
    for (int i = MAX; i < (int)NROWS; i++)
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
        double v = (double)strtof(at, &end);

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
kn_ref_expression_read(struct kn_ctx *c, const char *text,
                       struct kn_ref_expression *out)
{
    struct reader r = { .x = out };
    bool operand = false;
    const char *s;

    *out = (struct kn_ref_expression){ 0 };
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

/* ---- evaluating ---- */

static double
as_f32(double x)
{
    return fabs(x) > (double)FLT_MAX ? copysign(INFINITY, x) : x;
}

/* x * sigmoid(slope * x) of x[0], at most `most`. */
static double
gated(const double *x, double most, double slope)
{
    double g = fmin(x[0], most);

    return isinf(g) ? NAN : g * sigmoid(slope * g);
}

static double
apply(int row, const double *x)
{
    switch (row) {
    case NEG: return -x[0];
    case ADD: return x[0] + x[1];
    case SUB: return x[0] - x[1];
    case MUL: return x[0] * x[1];
    case DIV: return x[0] / x[1];
    case MAX: return fmax(x[0], x[1]);
    case MIN: return fmin(x[0], x[1]);
    case CLAMP: return fmin(fmax(x[0], x[1]), x[2]);
    case FMA: return x[0] * x[1] + x[2];
    case SELECT: return x[0] > 0 ? x[1] : x[2];
    case SWIGLU: return silu(x[0]) * x[1];
    case OSS: return gated(x, 7, 1.702) * (fmax(fmin(x[1], 7), -7) + 1);
    case LIMITED: return gated(x, 10, 1) * fmax(fmin(x[1], 10), -10);
    case SITU: return 4 * tanh(x[0] / 4) * sigmoid(x[0]) * 25 * tanh(x[1] / 25);
    default: return rows[row].of(x[0]);
    }
}

/* The function where its values are wrong one way and the other, together. */
static double
spread(int row, const struct kn_ref_inexact *v, double at)
{
    double most = 0, x[3] = { 0 };

    for (unsigned ends = 0; ends < 1u << rows[row].nargs; ends++) {
        for (int i = 0; i < rows[row].nargs; i++)
            x[i] = v[i].value + (ends >> i & 1 ? v[i].error : -v[i].error);
        most = fmax(most, fabs(apply(row, x) - at));
    }
    return most;
}

static struct kn_ref_inexact
step(int row, struct kn_ref_inexact *v)
{
    const struct row *r = &rows[row];
    double x[3] = { 0 }, y, e;

    if (r->exponential)
        v[0].error += fabs(v[0].value) * 0x1p-22;
    for (int i = 0; i < r->nargs; i++)
        x[i] = v[i].value;
    y = as_f32(apply(row, x));
    if (!isfinite(y))
        return (struct kn_ref_inexact){ y, 0 };
    e = spread(row, v, y) + r->ulps * fabs(y) * 0x1p-23;
    if (r->ulps > 0)         /* denormal factors may be zero */
        e += (double)FLT_MIN * (1 + fabs(x[0])) *
             (row >= SWIGLU && row <= SITU ? 1 + fabs(x[1]) : 1);
    if (r->of == gelu)       /* 1 + erf is of 1's last places */
        e += fabs(x[0]) * 0x1p-22;
    if (r->of == dsilu || r->of == dgelu_tanh || r->of == dgelu)
        e += fmin(fabs(x[0]) + 1, 18) * 0x1p-21;     /* so are 1 - s, erf */
    return (struct kn_ref_inexact){ y, e };
}

/* Steps [from, to). */
static struct kn_ref_inexact
evaluate(const struct kn_ref_expression *x, uint32_t from, uint32_t to,
         const struct kn_ref_inexact *named)
{
    struct kn_ref_inexact v[KN_REF_STEPS + 1] = { { 0, 0 } };
    int n = 0;

    for (uint32_t i = from; i < to; i++) {
        const struct kn_ref_step *s = &x->step[i];

        if (s->code == NUMBER) {
            v[n++] = (struct kn_ref_inexact){ s->number, 0 };
        } else if (s->code == NAME) {
            v[n++] = named[s->name];
        } else {
            n -= rows[s->code].nargs;
            v[n] = step(s->code, &v[n]);
            n++;
        }
    }
    return v[0];
}

struct kn_ref_inexact
kn_ref_evaluate_aux(const struct kn_ref_expression *x,
                    const struct kn_ref_inexact *named, bool up)
{
    bool pair = x->aux_up != 0;

    return evaluate(x, up ? x->aux_up : 0, pair && !up ? x->aux_up : x->aux, named);
}

struct kn_ref_inexact
kn_ref_evaluate(const struct kn_ref_expression *x,
                const struct kn_ref_inexact *named)
{
    struct kn_ref_inexact v[KN_REF_VALUES];

    if (!x->aux)
        return evaluate(x, 0, x->n, named);
    memcpy(v, named, sizeof v);
    v[KN_REF_AUX] = v[KN_REF_AUX_GATE] = kn_ref_evaluate_aux(x, named, false);
    if (x->aux_up)
        v[KN_REF_AUX_UP] = kn_ref_evaluate_aux(x, named, true);
    return evaluate(x, x->aux, x->n, v);
}
