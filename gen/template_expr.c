/* template_expr.c - expressions of the template language. */
#include "template_expr.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum op { OR, AND, BOR, XOR, BAND, EQ, NE, LE, GE, SHL, SHR, LT, GT, ADD, SUB,
          MUL, DIV, MOD, NOPS };

/* C's, the longer ones first where one begins another. */
static const struct {
    const char *text;
    int level;
} ops[NOPS] = {
    [OR] = { "||", 1 },  [AND] = { "&&", 2 }, [BOR] = { "|", 3 },
    [XOR] = { "^", 4 },  [BAND] = { "&", 5 }, [EQ] = { "==", 6 },
    [NE] = { "!=", 6 },  [LE] = { "<=", 7 },  [GE] = { ">=", 7 },
    [SHL] = { "<<", 8 }, [SHR] = { ">>", 8 }, [LT] = { "<", 7 },
    [GT] = { ">", 7 },   [ADD] = { "+", 9 },  [SUB] = { "-", 9 },
    [MUL] = { "*", 10 }, [DIV] = { "/", 10 }, [MOD] = { "%", 10 },
};

static void
skip(struct kn_expr *x)
{
    x->p += strspn(x->p, " ");
}

size_t
kn_name_length(const char *p)
{
    size_t n = 0;

    while (isalnum((unsigned char)p[n]) || p[n] == '_')
        n++;
    return isdigit((unsigned char)*p) ? 0 : n;
}

static kiln_status
look_up(struct kn_expr *x, size_t n, struct kn_fact_value *v)
{
    const char *name = kn_strndup(x->c, x->p, n);

    x->p += n;
    for (const struct kn_scope *s = x->scope; s; s = s->outer)
        for (int i = 0; i < s->n; i++)
            if (!strcmp(s->name[i], name)) {
                *v = s->value[i];
                return KILN_OK;
            }
    if (x->lib->fact(x->c, x->lib->user, name, v))
        return KILN_OK;
    return KN_BAD(x, "unknown name '%s'", name);
}

static kiln_status
number(struct kn_expr *x, const struct kn_fact_value *v)
{
    if (v->word)
        return KN_BAD(x, "the word '%s' is no number", v->word);
    return KILN_OK;
}

kiln_status
kn_expr_expect(struct kn_expr *x, const char *text)
{
    skip(x);
    if (strncmp(x->p, text, strlen(text)))
        return KN_BAD(x, *x->p ? "expected '%s', not '%.12s'"
                            : "expected '%s' at the end of the line", text, x->p);
    x->p += strlen(text);
    return KILN_OK;
}

/* 'a word', with what $ introduces in it. */
static kiln_status
quoted(struct kn_expr *x, struct kn_fact_value *v)
{
    size_t n = strcspn(++x->p, "'");
    const char *behind = x->p + n;

    KN_TRY(kn_expr_substitute(x, kn_strndup(x->c, x->p, n), &v->word));
    x->p = behind;
    return kn_expr_expect(x, "'");
}

static kiln_status
primary(struct kn_expr *x, struct kn_fact_value *v)
{
    char first, *end;
    size_t n;

    skip(x);
    first = *x->p;
    n = kn_name_length(x->p);
    *v = (struct kn_fact_value){ 0 };
    if (n)
        return look_up(x, n, v);
    if (isdigit((unsigned char)first)) {
        v->n = strtoll(x->p, &end, 0);
        x->p = end;
        return KILN_OK;
    }
    if (first == '\'')
        return quoted(x, v);
    if (!first || !strchr("(!-", first))
        return KN_BAD(x, *x->p ? "expected a number or a name, not '%.12s'"
                            : "expected a number or a name at the end", x->p);
    x->p++;
    if (++x->nested > KN_TEMPLATE_NESTED)
        return KN_BAD(x, "more than %d parentheses and signs in a line",
                      KN_TEMPLATE_NESTED);
    if (first == '(') {
        KN_TRY(kn_expr(x, v));
        return kn_expr_expect(x, ")");
    }
    KN_TRY(primary(x, v));
    KN_TRY(number(x, v));
    v->n = first == '!' ? !v->n : (int64_t)(0 - (uint64_t)v->n);
    return KILN_OK;
}

static enum op
next_op(struct kn_expr *x)
{
    enum op o = 0;

    skip(x);
    while (o < NOPS && strncmp(x->p, ops[o].text, strlen(ops[o].text)))
        o++;
    return o;
}

static bool
same(const struct kn_fact_value *a, const struct kn_fact_value *b)
{
    return a->word ? !strcmp(a->word, b->word) : a->n == b->n;
}

/* a = a op b, both numbers, wrapping as two's complement does. */
static void
compute(enum op o, int64_t *a, int64_t b)
{
    uint64_t x = (uint64_t)*a, y = (uint64_t)b;

    switch (o) {
    case OR: *a = *a || b; break;
    case AND: *a = *a && b; break;
    case BOR: *a = (int64_t)(x | y); break;
    case XOR: *a = (int64_t)(x ^ y); break;
    case BAND: *a = (int64_t)(x & y); break;
    case LE: *a = *a <= b; break;
    case GE: *a = *a >= b; break;
    case LT: *a = *a < b; break;
    case GT: *a = *a > b; break;
    case SHL: *a = (int64_t)(x << (y & 63)); break;
    case SHR: *a = *a >> (y & 63); break;
    case ADD: *a = (int64_t)(x + y); break;
    case SUB: *a = (int64_t)(x - y); break;
    case MUL: *a = (int64_t)(x * y); break;
    case DIV: *a = b == -1 ? (int64_t)(0 - x) : *a / b; break;
    case MOD: *a = b == -1 ? 0 : *a % b; break;
    default: break;
    }
}

static kiln_status
apply(struct kn_expr *x, enum op o, struct kn_fact_value *a, const struct kn_fact_value *b)
{
    if (o == EQ || o == NE) {
        if (!a->word != !b->word)
            return KN_BAD(x, "the word '%s' is compared with a number",
                       a->word ? a->word : b->word);
        *a = (struct kn_fact_value){ NULL, same(a, b) == (o == EQ) };
        return KILN_OK;
    }
    KN_TRY(number(x, a));
    KN_TRY(number(x, b));
    if ((o == DIV || o == MOD) && !b->n) {
        if (!x->dead)
            return KN_BAD(x, "division by zero");
        return KILN_OK;
    }
    compute(o, &a->n, b->n);
    return KILN_OK;
}

static kiln_status
binary(struct kn_expr *x, int level, struct kn_fact_value *v)
{
    enum op o;

    KN_TRY(primary(x, v));
    while ((o = next_op(x)) < NOPS && ops[o].level >= level) {
        bool dead = x->dead;
        struct kn_fact_value b;

        x->p += strlen(ops[o].text);
        x->dead |= !v->word && (o == AND ? !v->n : o == OR && v->n);
        KN_TRY(binary(x, ops[o].level + 1, &b));
        KN_TRY(apply(x, o, v, &b));
        x->dead = dead;
    }
    return KILN_OK;
}

kiln_status
kn_expr(struct kn_expr *x, struct kn_fact_value *v)
{
    struct kn_fact_value arm[2], which;
    bool dead = x->dead;

    KN_TRY(binary(x, 1, v));
    skip(x);
    if (*x->p != '?')
        return KILN_OK;
    which = *v;
    KN_TRY(number(x, &which));
    x->p++;
    if (++x->nested > KN_TEMPLATE_NESTED)
        return KN_BAD(x, "more than %d parentheses and signs in a line",
                      KN_TEMPLATE_NESTED);
    x->dead = dead || !which.n;
    KN_TRY(kn_expr(x, &arm[0]));
    KN_TRY(kn_expr_expect(x, ":"));
    x->dead = dead || which.n;
    KN_TRY(kn_expr(x, &arm[1]));
    x->dead = dead;
    *v = arm[!which.n];
    return KILN_OK;
}

kiln_status
kn_expr_number(struct kn_expr *x, int64_t *out)
{
    struct kn_fact_value v;

    KN_TRY(kn_expr(x, &v));
    KN_TRY(number(x, &v));
    *out = v.n;
    return KILN_OK;
}

kiln_status
kn_expr_end(struct kn_expr *x)
{
    skip(x);
    if (*x->p)
        return KN_BAD(x, "unexpected '%.12s'", x->p);
    return KILN_OK;
}

kiln_status
kn_expr_substitute(struct kn_expr *x, const char *text, const char **out)
{
    struct kn_buf b = { .c = x->c };
    struct kn_fact_value v;

    kn_put(&b, "");
    for (;;) {
        size_t n = strcspn(text, "$");

        kn_put(&b, kn_strndup(x->c, text, n));
        x->p = text + n;
        if (!*x->p++)
            break;
        if (*x->p == '(') {
            x->p++;
            KN_TRY(kn_expr(x, &v));
            KN_TRY(kn_expr_expect(x, ")"));
        } else if (kn_name_length(x->p)) {
            KN_TRY(look_up(x, kn_name_length(x->p), &v));
        } else {
            return KN_BAD(x, "expected a name or '(' behind '$'");
        }
        if (b.n + strlen(v.word ? v.word : "") + strlen(x->p) > *x->room)
            return KN_BAD(x, "the text that is made is too long");
        if (v.word)
            kn_put(&b, v.word);
        else
            kn_putf(&b, "%lld", (long long)v.n);
        text = x->p;
    }
    *x->room -= b.n;
    *out = b.s;
    return KILN_OK;
}
