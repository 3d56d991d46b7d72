/* expr.c - expressions of the template language. */
#include "expr.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const struct kn_operator kn_operators[KN_NMATHS] = {
    [KN_MATH_OR] = { "||", 1 },          [KN_MATH_AND] = { "&&", 2 },
    [KN_MATH_BOR] = { "|", 3 },          [KN_MATH_XOR] = { "^", 4 },
    [KN_MATH_BAND] = { "&", 5 },         [KN_MATH_EQ] = { "==", 6 },
    [KN_MATH_NE] = { "!=", 6 },          [KN_MATH_LE] = { "<=", 7 },
    [KN_MATH_GE] = { ">=", 7 },          [KN_MATH_SHL] = { "<<", 8 },
    [KN_MATH_SHR] = { ">>", 8 },         [KN_MATH_LT] = { "<", 7 },
    [KN_MATH_GT] = { ">", 7 },           [KN_MATH_ADD] = { "+", 9 },
    [KN_MATH_SUB] = { "-", 9 },          [KN_MATH_MUL] = { "*", 10 },
    [KN_MATH_DIV] = { "/", 10 },         [KN_MATH_MOD] = { "%", 10 },
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

enum kn_math
kn_math_at(const char *p)
{
    enum kn_math o = 0;

    while (o < KN_NMATHS && strncmp(p, kn_operators[o].text,
                               strlen(kn_operators[o].text)))
        o++;
    return o;
}

static bool
same(const struct kn_fact_value *a, const struct kn_fact_value *b)
{
    return a->word ? !strcmp(a->word, b->word) : a->n == b->n;
}

void
kn_math_apply(enum kn_math o, int64_t *a, int64_t b)
{
    uint64_t x = (uint64_t)*a, y = (uint64_t)b;

    switch (o) {
    case KN_MATH_OR: *a = *a || b; break;
    case KN_MATH_AND: *a = *a && b; break;
    case KN_MATH_BOR: *a = (int64_t)(x | y); break;
    case KN_MATH_XOR: *a = (int64_t)(x ^ y); break;
    case KN_MATH_BAND: *a = (int64_t)(x & y); break;
    case KN_MATH_EQ: *a = *a == b; break;
    case KN_MATH_NE: *a = *a != b; break;
    case KN_MATH_LE: *a = *a <= b; break;
    case KN_MATH_GE: *a = *a >= b; break;
    case KN_MATH_LT: *a = *a < b; break;
    case KN_MATH_GT: *a = *a > b; break;
    case KN_MATH_SHL: *a = (int64_t)(x << (y & 63)); break;
    case KN_MATH_SHR: *a = *a >> (y & 63); break;
    case KN_MATH_ADD: *a = (int64_t)(x + y); break;
    case KN_MATH_SUB: *a = (int64_t)(x - y); break;
    case KN_MATH_MUL: *a = (int64_t)(x * y); break;
    case KN_MATH_DIV: *a = b == -1 ? (int64_t)(0 - x) : *a / b; break;
    case KN_MATH_MOD: *a = b == -1 ? 0 : *a % b; break;
    default: break;
    }
}

static kiln_status
apply(struct kn_expr *x, enum kn_math o, struct kn_fact_value *a,
      const struct kn_fact_value *b)
{
    if (o == KN_MATH_EQ || o == KN_MATH_NE) {
        if (!a->word != !b->word)
            return KN_BAD(x, "the word '%s' is compared with a number",
                       a->word ? a->word : b->word);
        *a = (struct kn_fact_value){ NULL, same(a, b) == (o == KN_MATH_EQ) };
        return KILN_OK;
    }
    KN_TRY(number(x, a));
    KN_TRY(number(x, b));
    if ((o == KN_MATH_DIV || o == KN_MATH_MOD) && !b->n) {
        if (!x->dead)
            return KN_BAD(x, "division by zero");
        return KILN_OK;
    }
    kn_math_apply(o, &a->n, b->n);
    return KILN_OK;
}

static kiln_status
binary(struct kn_expr *x, int level, struct kn_fact_value *v)
{
    enum kn_math o;

    KN_TRY(primary(x, v));
    for (skip(x); (o = kn_math_at(x->p)) < KN_NMATHS &&
                  kn_operators[o].level >= level; skip(x)) {
        bool dead = x->dead;
        struct kn_fact_value b;

        x->p += strlen(kn_operators[o].text);
        x->dead |= !v->word && (o == KN_MATH_AND ? !v->n : o == KN_MATH_OR && v->n);
        KN_TRY(binary(x, kn_operators[o].level + 1, &b));
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
