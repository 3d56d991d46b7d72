/* fold.c - computes what is known of a formula and leaves the rest as text. */
#include <assert.h>
#include "launch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../template/expr.h"

enum { LOOSE, TIGHT = 11 };  /* about the levels of kn_operators */

static struct kn_folded conditional(struct kn_fold *f);

static struct kn_folded
number(int64_t n)
{
    return (struct kn_folded){ .known = true, .n = n, .level = TIGHT };
}

static bool
is(const struct kn_folded *v, int64_t n)
{
    return v->known && v->n == n;
}

/* Text of a value beside something that binds as `level` does. */
static const char *
text_at(struct kn_fold *f, const struct kn_folded *v, int level)
{
    struct kn_buf b = { .c = f->c };

    if (v->known)
        kn_putf(&b, "%lld", (long long)v->n);
    else
        kn_putf(&b, v->level < level ? "(%s)" : "%s", v->text);
    return b.s;
}

static struct kn_folded
join(struct kn_fold *f, enum kn_math o, struct kn_folded a, struct kn_folded b)
{
    int level = kn_operators[o].level, left = level, right = level + 1;
    struct kn_buf text = { .c = f->c };

    if (a.known && b.known && (b.n || (o != KN_MATH_DIV && o != KN_MATH_MOD))) {
        kn_math_apply(o, &a.n, b.n);
        return a;
    }
    if (o == KN_MATH_OR)     /* compilers warn of a && beside it */
        right = kn_operators[KN_MATH_AND].level + 1;
    if (o == KN_MATH_OR && a.level > level)
        left = right;
    kn_putf(&text, "%s %s %s", text_at(f, &a, left), kn_operators[o].text,
            text_at(f, &b, right));
    return (struct kn_folded){ .text = text.s, .level = level };
}

/* a op b, where one that is known may decide or leave the other. */
static struct kn_folded
binary_of(struct kn_fold *f, enum kn_math o, struct kn_folded a,
          struct kn_folded b)
{
    bool both = o == KN_MATH_MUL || o == KN_MATH_AND;
    int64_t neutral = o == KN_MATH_MUL || o == KN_MATH_DIV || o == KN_MATH_AND;

    if (o == KN_MATH_AND || o == KN_MATH_OR) {
        a.n = a.known && a.n;
        b.n = b.known && b.n;
    }
    if (both && (is(&a, 0) || is(&b, 0)))
        return number(0);
    if (o == KN_MATH_OR && (is(&a, 1) || is(&b, 1)))
        return number(1);
    if (o == KN_MATH_MOD && is(&b, 1))
        return number(0);
    if ((both || o == KN_MATH_ADD || o == KN_MATH_OR) && is(&a, neutral))
        return b;
    if ((both || o == KN_MATH_ADD || o == KN_MATH_OR || o == KN_MATH_SUB ||
         o == KN_MATH_DIV) && is(&b, neutral))
        return a;
    return join(f, o, a, b);
}

static void
skip(struct kn_fold *f)
{
    f->p += strspn(f->p, " ");
}

static bool
take(struct kn_fold *f, char c)
{
    skip(f);
    if (*f->p != c)
        return false;
    f->p++;
    return true;
}

static struct kn_folded
call(struct kn_fold *f, const char *name, struct kn_folded a,
     struct kn_folded b)
{
    struct kn_buf text = { .c = f->c };

    if (!strcmp(name, "product"))
        return binary_of(f, KN_MATH_MUL, a, b);
    if (!strcmp(name, "run") && a.n % 8 == 0)
        return binary_of(f, KN_MATH_MUL, number(a.n / 8), b);
    if (!strcmp(name, "run"))
        return call(f, "up", binary_of(f, KN_MATH_MUL, a, b), number(8));
    if (!strcmp(name, "when") && (a.known || is(&b, 0)))
        return a.known && a.n ? b : number(0);
    if ((!strcmp(name, "up") && is(&b, 1)) ||
        (!strcmp(name, "most") && is(&b, 0)))
        return a;
    kn_putf(&text, "%s(%s, %s)", name, text_at(f, &a, LOOSE),
            text_at(f, &b, LOOSE));
    return (struct kn_folded){ .text = text.s, .level = TIGHT };
}

static struct kn_folded
word(struct kn_fold *f, size_t n)
{
    const char *name = kn_strndup(f->c, f->p, n);
    struct kn_folded a, b;

    f->p += n;
    if (take(f, '(')) {
        a = conditional(f);
        take(f, ',');
        b = conditional(f);
        take(f, ')');
        return call(f, name, a, b);
    }
    for (uint32_t i = 0; i < f->n; i++)
        if (!strcmp(f->name[i].name, name))
            return f->name[i].is;
    return (struct kn_folded){ .text = name, .level = TIGHT };
}

static struct kn_folded
primary(struct kn_fold *f)
{
    struct kn_folded v;
    char *end;

    skip(f);
    if (kn_name_length(f->p))
        return word(f, kn_name_length(f->p));
    if (take(f, '!')) {
        v = primary(f);
        return v.known ? number(!v.n) : join(f, KN_MATH_EQ, v, number(0));
    }
    if (take(f, '-'))
        return join(f, KN_MATH_SUB, number(0), primary(f));
    if (take(f, '(')) {
        v = conditional(f);
        take(f, ')');
        return v;
    }
    v = number(strtoll(f->p, &end, 10));
    f->p = end;
    return v;
}

static struct kn_folded
binary(struct kn_fold *f, int level)
{
    struct kn_folded v = primary(f);
    enum kn_math o;

    for (skip(f); (o = kn_math_at(f->p)) < KN_NMATHS &&
                  kn_operators[o].level >= level; skip(f)) {
        f->p += strlen(kn_operators[o].text);
        v = binary_of(f, o, v, binary(f, kn_operators[o].level + 1));
    }
    return v;
}

/* What decides is known (launch.def). */
static struct kn_folded
conditional(struct kn_fold *f)
{
    struct kn_folded which = binary(f, LOOSE + 1), arm[2];

    if (!take(f, '?'))
        return which;
    arm[0] = conditional(f);
    take(f, ':');
    arm[1] = conditional(f);
    return arm[!which.n];
}

struct kn_folded
kn_fold(struct kn_fold *f, const char *formula)
{
    f->p = formula;
    return conditional(f);
}

const char *
kn_fold_text(struct kn_fold *f, const char *formula)
{
    struct kn_folded v = kn_fold(f, formula);

    return text_at(f, &v, LOOSE);
}

static void
bind(struct kn_fold *f, const char *name, struct kn_folded v)
{
    assert(f->n < KN_FOLD_NAMES);
    f->name[f->n].name = name;
    f->name[f->n++].is = v;
}

void
kn_fold_know(struct kn_fold *f, const char *name, int64_t n)
{
    bind(f, name, number(n));
}

const char *
kn_fold_let(struct kn_fold *f, const char *name, const char *formula)
{
    struct kn_folded v = kn_fold(f, formula);

    if (!v.known && kn_name_length(v.text) < strlen(v.text))
        return v.text;
    bind(f, name, v);
    return NULL;
}
