/* formula_operands.c - what the text of an epilogue's expression declares in front of
 * it, and which words it has. */
#include "formula.h"

#include <ctype.h>
#include <string.h>

const char *const kn_formula_operand_names[KN_NFO] = {
#define X(id, text) text,
    KN_FORMULA_OPERANDS(X)
#undef X
};

bool
kn_formula_is(const char *word, const char *s, size_t n)
{
    return strlen(word) == n && !memcmp(word, s, n);
}

size_t
kn_formula_word(const char *s)
{
    size_t n = 0;

    while (isalnum((unsigned char)s[n]) || s[n] == '_')
        n++;
    return n;
}

const char *
kn_formula_skip(const char *s)
{
    return s + strspn(s, " \t\n");
}

const char *
kn_formula_read_operand(const char *s, struct kn_formula_operand *out)
{
    size_t n = kn_formula_word(s = kn_formula_skip(s));

    out->kind = KN_NFO;
    for (uint8_t k = 0; k < KN_NFO; k++)
        if (kn_formula_is(kn_formula_operand_names[k], s, n))
            out->kind = k;
    s = kn_formula_skip(s + n);
    if (out->kind == KN_NFO || *s != ':')
        return NULL;
    out->name = kn_formula_skip(s + 1);
    n = kn_formula_word(out->name);
    out->n = n > UINT8_MAX ? UINT8_MAX : (uint8_t)n;
    s = kn_formula_skip(out->name + n);
    return *s == ',' ? s + 1 : NULL;
}

bool
kn_formula_declare(struct kn_formula_operands *x, struct kn_formula_operand *o)
{
    bool scalar = o->kind == KN_FO_SCALAR;
    uint32_t *count = scalar ? &x->scalars : &x->arrays;

    if (*count == (scalar ? KN_FORMULA_SCALARS : KN_FORMULA_ARRAYS))
        return false;
    o->slot = (uint8_t)(*count)++;
    x->of[x->n++] = *o;
    return true;
}

struct kn_formula_operands
kn_formula_declared(const char *text)
{
    struct kn_formula_operands x = { .rest = text };
    struct kn_formula_operand o;
    const char *s;

    while ((s = kn_formula_read_operand(x.rest, &o)) != NULL && kn_formula_declare(&x, &o))
        x.rest = s;
    return x;
}

const struct kn_formula_operand *
kn_formula_array(const struct kn_formula_operands *x, uint32_t i)
{
    for (uint32_t k = 0; k < x->n; k++)
        if (x->of[k].kind != KN_FO_SCALAR && x->of[k].slot == i)
            return &x->of[k];
    return NULL;
}

bool
kn_formula_declares(const char *s)
{
    size_t n = kn_formula_word(s = kn_formula_skip(s));

    return n && *kn_formula_skip(s + n) == ':';
}

bool
kn_formula_is_aux(const char *s)
{
    s = kn_formula_skip(s);
    return kn_formula_declares(s) && kn_formula_is("aux", s, kn_formula_word(s));
}

bool
kn_formula_aux(const char *text)
{
    return kn_formula_is_aux(kn_formula_declared(text).rest);
}

bool
kn_formula_names(const char *text, const char *name)
{
    size_t n = strlen(name);

    while (*text) {
        size_t word = kn_formula_word(text);

        if (word == n && !memcmp(text, name, n))
            return true;
        text += word ? word : 1;
    }
    return false;
}
