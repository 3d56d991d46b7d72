/* instantiate.c - the template engine: text in, text out, then the parser.
 *
 * Four constructs and no more (docs/ir.md): `$NAME` parameters and sums of
 * them such as `$(kk+1%2)`, from left to right; `region SLOT` (the template
 * the variant names for that slot), `repeat VAR N` ... `endrepeat`, and
 * `include TEMPLATE`. region and include bind parameters for the included
 * text: `include step use=0 next=1`. Every line keeps its template file and
 * line, so errors and findings point there. */
#include "instantiate.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../templates/templates.h"

void
kn_set(struct kn_params *q, const char *name, const char *value)
{
    q->name[q->n] = name;
    q->value[q->n++] = value;
}

void
kn_set_int(struct kn_ctx *c, struct kn_params *q, const char *name, int64_t v)
{
    char text[24];

    snprintf(text, sizeof text, "%lld", (long long)v);
    kn_set(q, name, kn_strdup(c, text));
}

void
kn_region(struct kn_params *q, const char *slot, const char *name)
{
    q->slot[q->nregions] = slot;
    q->region[q->nregions++] = name;
}

enum { MAX_DEPTH = 16, MAX_PARAM = 8, MAX_REPEAT = 64 };

/* Parameters bound by the including lines; the innermost is looked up first. */
struct scope {
    const struct scope *outer;
    const char *name[MAX_PARAM], *value[MAX_PARAM];
    int n;
};

struct engine {
    struct kn_ctx *c;
    const struct kn_params *params;
    struct kn_line *out;
    size_t n, cap;
    int depth;
};

struct source {              /* one template being expanded */
    const char *name;
    struct kn_line *line;
    size_t n;
};

static const char *
param(const struct engine *e, const struct scope *s, const char *name)
{
    for (; s; s = s->outer)
        for (int i = 0; i < s->n; i++)
            if (!strcmp(s->name[i], name))
                return s->value[i];
    for (size_t i = 0; i < e->params->n; i++)
        if (!strcmp(e->params->name[i], name))
            return e->params->value[i];
    return NULL;
}

/* A number or a parameter that is one, at *p; advances it. */
static bool
read_term(struct engine *e, const struct scope *s, const char **p, long *out)
{
    size_t n = 0;
    const char *v = *p;
    char *end;

    while (isalnum((unsigned char)v[n]) || v[n] == '_')
        n++;
    if (n && !isdigit((unsigned char)*v))
        v = param(e, s, kn_strndup(e->c, v, n));
    if (!n || !v)
        return false;
    *out = strtol(v, &end, 10);
    *p += n;
    return end != v;
}

/* `(a+b*c)`, from left to right without precedence. */
static const char *
evaluate(struct engine *e, const struct scope *s, const char *p, size_t *len)
{
    const char *from = p++;
    struct kn_buf b = { .c = e->c };
    long v, x;

    if (!read_term(e, s, &p, &v))
        return NULL;
    while (*p && *p != ')') {
        char op = *p++;

        if (!read_term(e, s, &p, &x) || ((op == '/' || op == '%') && !x))
            return NULL;
        v = op == '+' ? v + x : op == '-' ? v - x : op == '*' ? v * x
          : op == '/' ? v / x : v % x;
    }
    *len = (size_t)(p - from) + 1;
    kn_putf(&b, "%ld", v);
    return *p ? b.s : NULL;
}

/* The value of what `$` introduces at p[0]; *len: the text it spans. */
static const char *
parameter_value(struct engine *e, const struct scope *s, const char *p,
                size_t *len)
{
    const char *v;

    *len = 1;
    if (p[1] == '(') {
        v = evaluate(e, s, p + 1, len);
        *len += v != NULL;
        return v;
    }
    while (isalnum((unsigned char)p[*len]) || p[*len] == '_')
        ++*len;
    return param(e, s, kn_strndup(e->c, p + 1, *len - 1));
}

static kiln_status
substitute(struct engine *e, const struct scope *s, const struct kn_line *l,
           const char **out)
{
    struct kn_buf b = { .c = e->c };
    const char *p = l->text;

    kn_put(&b, "");
    while (*p) {
        size_t n = strcspn(p, "$");
        const char *v;

        kn_put(&b, kn_strndup(e->c, p, n));
        p += n;
        if (!*p)
            break;
        v = parameter_value(e, s, p, &n);
        if (!v)
            return kn_fail_at(e->c, KILN_INTERNAL, l->at,
                              "parameter %.*s has no value", (int)n, p);
        kn_put(&b, v);
        p += n;
    }
    *out = b.s;
    return KILN_OK;
}

static const struct kn_template *
find_template(const char *name)
{
    for (const struct kn_template *t = kn_old_templates; t->name; t++)
        if (!strncmp(t->name, name, strlen(name)) &&
            !strcmp(t->name + strlen(name), ".tir"))
            return t;
    return NULL;
}

static void
split(struct engine *e, const struct kn_template *t, struct source *s)
{
    const char *p = t->text;
    size_t cap = 0;

    *s = (struct source){ .name = t->name };
    while (*p) {
        size_t len = strcspn(p, "\n");

        s->line = kn_grow(e->c, s->line, &cap, s->n + 1, sizeof *s->line);
        s->line[s->n] = (struct kn_line){ kn_strndup(e->c, p, len),
                                          { t->name, (int)s->n + 1, 0, NULL } };
        s->n++;
        p += len + (p[len] == '\n');
    }
}

static kiln_status expand_lines(struct engine *e, const struct source *s,
                                size_t from, size_t to,
                                const struct scope *scope);

static kiln_status
expand_template(struct engine *e, const char *name, const struct scope *scope,
                struct kn_loc at)
{
    const struct kn_template *t = find_template(name);
    struct source s;

    if (!t)
        return kn_fail_at(e->c, KILN_INTERNAL, at, "no template '%s'", name);
    if (e->depth == MAX_DEPTH)
        return kn_fail_at(e->c, KILN_INTERNAL, at, "templates include each "
                          "other deeper than %d", MAX_DEPTH);
    e->depth++;
    split(e, t, &s);
    KN_TRY(expand_lines(e, &s, 0, s.n, scope));
    e->depth--;
    return KILN_OK;
}

/* `include NAME a=1 b=2` or `region SLOT a=1`; text is already substituted. */
static kiln_status
expand_reference(struct engine *e, const char *text, bool region,
                 const struct scope *outer, struct kn_loc at)
{
    char *copy = kn_strdup(e->c, text), *save = NULL;
    struct scope s = { .outer = outer };
    const char *name;

    strtok_r(copy, " ", &save);
    name = strtok_r(NULL, " ", &save);
    for (char *w; (w = strtok_r(NULL, " ", &save)) && s.n < MAX_PARAM; s.n++) {
        char *eq = strchr(w, '=');

        if (!eq)
            return kn_fail_at(e->c, KILN_INTERNAL, at, "expected NAME=VALUE");
        *eq = '\0';
        s.name[s.n] = w;
        s.value[s.n] = eq + 1;
    }
    if (region) {
        const char *slot = name;

        name = NULL;
        for (size_t i = 0; i < e->params->nregions; i++)
            if (!strcmp(e->params->slot[i], slot))
                name = e->params->region[i];
        if (!name)
            return kn_fail_at(e->c, KILN_INTERNAL, at,
                              "the variant names no region '%s'", slot);
        if (!*name)
            return KILN_OK;
    }
    return expand_template(e, name, &s, at);
}

static bool
starts(const char *text, const char *word)
{
    size_t n = strlen(word);

    text += strspn(text, " ");
    return !strncmp(text, word, n) && (text[n] == ' ' || !text[n]);
}

/* Index of the `endrepeat` that closes the `repeat` at `from`. */
static size_t
find_endrepeat(const struct source *s, size_t from, size_t to)
{
    int nest = 0;

    for (size_t i = from; i < to; i++) {
        nest += starts(s->line[i].text, "repeat");
        nest -= starts(s->line[i].text, "endrepeat");
        if (!nest)
            return i;
    }
    return to;
}

/* `repeat VAR COUNT` at line `at`, whose text is already substituted. */
static kiln_status
expand_repeat(struct engine *e, const struct source *s, size_t at,
              const struct scope *outer, const char *text)
{
    size_t end = find_endrepeat(s, at, s->n);
    struct scope scope = { .outer = outer, .n = 1 };
    char var[32], number[16];
    int count;

    if (end == s->n || sscanf(text, " repeat %31s %d", var, &count) != 2 ||
        count < 0 || count > MAX_REPEAT)
        return kn_fail_at(e->c, KILN_INTERNAL, s->line[at].at,
                          "expected 'repeat VAR COUNT' and 'endrepeat'");
    scope.name[0] = var;
    scope.value[0] = number;
    for (int i = 0; i < count; i++) {
        snprintf(number, sizeof number, "%d", i);
        KN_TRY(expand_lines(e, s, at + 1, end, &scope));
    }
    return KILN_OK;
}

static kiln_status
expand_lines(struct engine *e, const struct source *s, size_t from, size_t to,
             const struct scope *scope)
{
    for (size_t i = from; i < to; i++) {
        const char *text = NULL;

        if (starts(s->line[i].text, ";"))
            continue;
        KN_TRY(substitute(e, scope, &s->line[i], &text));
        if (starts(text, "include") || starts(text, "region")) {
            KN_TRY(expand_reference(e, text, starts(text, "region"), scope,
                                    s->line[i].at));
        } else if (starts(text, "repeat")) {
            KN_TRY(expand_repeat(e, s, i, scope, text));
            i = find_endrepeat(s, i, s->n);
        } else {
            e->out = kn_grow(e->c, e->out, &e->cap, e->n + 1, sizeof *e->out);
            e->out[e->n++] = (struct kn_line){ text, s->line[i].at };
        }
    }
    return KILN_OK;
}

kiln_status
kn_expand(struct kn_ctx *c, const char *root, const struct kn_params *params,
          struct kn_fn **out)
{
    struct engine e = { .c = c, .params = params };

    KN_TRY(expand_template(&e, root, NULL, (struct kn_loc){ .file = root, .line = 1 }));
    return kn_parse(c, e.out, e.n, out);
}
