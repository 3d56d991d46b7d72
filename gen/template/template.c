/* template.c - the template language: definitions, conditions, loops and
 * expressions in, lines of tile IR out. No strings, no recursion, no side
 * effects; a name means what its definition, loop or the library says, never
 * what a caller had bound. */
#include "expr.h"

#include <string.h>

enum { MAX_NEST = 32, MAX_TURNS = 64, MAX_LINES = 1000000,
       MAX_FILES = 64, MAX_DEFS = 1000, MAX_TEXT = 1 << 26 };

enum kind { TEXT, BLANK, CALL, USE, DEF, IF, ELIF, ELSE, FOR, END };

struct line {
    const char *text;        /* without its comment */
    const char *rest;        /* behind the dot word; CALL: the name */
    enum kind kind;
    int number;
    bool one;                /* its block is what stands behind its ':' */
    bool behind;             /* stands behind one */
    bool joined;             /* an arm right behind a one-line .if */
    size_t next;             /* DEF, FOR: the end; IF, ELIF, ELSE: next arm */
};

struct source {
    const char *name, *file;
    struct line *line;
    size_t n, cap;
};

struct definition {
    const char *name, *param[KN_TEMPLATE_ARGS];
    int nparams;
    const struct source *in;
    size_t from, to;
    bool running;
};

struct engine {
    struct kn_ctx *c;
    const struct kn_library *lib;
    struct source **source;
    struct definition **def;
    struct kn_line *out;
    size_t nsources, capsources, ndefs, capdefs, n, cap, turns, room;
    const struct kn_via *via;
};

/* Line i of a text, to be read from p on. */
static struct kn_expr
reader(struct engine *e, const struct source *s, size_t i, const char *p)
{
    return (struct kn_expr){ .c = e->c, .lib = e->lib, .p = p,
                             .at = { s->file, s->line[i].number, 1, e->via },
                             .room = &e->room };
}

/* ---- reading a text ---- */

static enum kind
classify(struct line *l)
{
    static const char *const words[] = { [USE] = ".use", [DEF] = ".def",
        [IF] = ".if", [ELIF] = ".elif", [ELSE] = ".else", [FOR] = ".for",
        [END] = ".end" };
    const char *t = l->text + strspn(l->text, " ");
    size_t word = strcspn(t, " :"), n = kn_name_length(t);

    l->rest = t + word + strspn(t + word, " ");
    if (!*t)
        return BLANK;
    for (enum kind k = USE; *t == '.' && k <= END; k++)
        if (strlen(words[k]) == word && !strncmp(t, words[k], word))
            return k;
    l->rest = t;
    return n && t[n] == '(' ? CALL : TEXT;
}

/* Line `at` opens a block, goes on with or ends the innermost open one. */
static kiln_status
nest(struct engine *e, struct source *s, size_t at, size_t *open, int *depth)
{
    struct line *l = &s->line[at], *o = *depth ? &s->line[open[*depth - 1]] : NULL;
    struct kn_expr x = reader(e, s, at, l->rest);
    bool arm = l->kind == ELIF || l->kind == ELSE;
    bool opens = l->kind == IF || l->kind == FOR;

    if (l->behind && (l->kind == BLANK || l->kind == END || arm ||
                      (opens && !l->one)))
        return KN_BAD(&x, "behind ':' stands one line, not a block or "
                      "nothing");
    if (arm && l->one && !l->joined)
        return KN_BAD(&x, "no one-line .if ends here");
    if (l->kind == TEXT && *l->rest == '.')
        return KN_BAD(&x, "expected .use, .def, .if, .elif, .else, .for or "
                      ".end, not '%.12s'", l->rest);
    if (arm && (!o || (o->kind != IF && o->kind != ELIF)))
        return KN_BAD(&x, "no .if is open here");
    if (l->kind == END && !o)
        return KN_BAD(&x, "nothing is open here");
    if (l->kind == DEF && o)
        return KN_BAD(&x, "a definition stands inside of nothing");
    if (arm || l->kind == END) {
        o->next = at;
        --*depth;
    }
    if (arm || l->kind == DEF || opens) {
        if (*depth == MAX_NEST)
            return KN_BAD(&x, "more than %d blocks in each other", MAX_NEST);
        open[(*depth)++] = at;
    }
    return KILN_OK;
}

static struct definition *
find_def(const struct engine *e, const char *name, size_t n)
{
    for (size_t i = 0; i < e->ndefs; i++)
        if (strlen(e->def[i]->name) == n && !strncmp(e->def[i]->name, name, n))
            return e->def[i];
    return NULL;
}

/* (a, b) of a .def line. */
static kiln_status
parameters(struct kn_expr *x, struct definition *d)
{
    KN_TRY(kn_expr_expect(x, "("));
    while (x->p += strspn(x->p, " "), *x->p != ')') {
        size_t n;

        if (d->nparams)
            KN_TRY(kn_expr_expect(x, ","));
        x->p += strspn(x->p, " ");
        n = kn_name_length(x->p);
        if (!n || d->nparams == KN_TEMPLATE_ARGS)
            return KN_BAD(x, "expected the name of a parameter, of at most %d",
                          KN_TEMPLATE_ARGS);
        d->param[d->nparams++] = kn_strndup(x->c, x->p, n);
        x->p += n;
    }
    x->p++;
    return kn_expr_end(x);
}

static kiln_status
define(struct engine *e, struct source *s, size_t at)
{
    struct definition *d = KN_NEW(e->c, struct definition, 1);
    struct kn_expr x = reader(e, s, at, s->line[at].rest);
    size_t n = kn_name_length(x.p);
    const struct definition *old = find_def(e, x.p, n);

    if (!n)
        return KN_BAD(&x, "expected a name behind .def");
    if (e->ndefs == MAX_DEFS)
        return KN_BAD(&x, "more than %d definitions", MAX_DEFS);
    if (old)
        return KN_BAD(&x, "'%s' is defined at %s:%d already", old->name,
                      old->in->file, old->in->line[old->from - 1].number);
    *d = (struct definition){ .name = kn_strndup(e->c, x.p, n), .in = s,
                              .from = at + 1, .to = s->line[at].next };
    x.p += n;
    KN_TRY(parameters(&x, d));
    e->def = kn_grow(e->c, e->def, &e->capdefs, e->ndefs + 1, sizeof *e->def);
    e->def[e->ndefs++] = d;
    return KILN_OK;
}

/* The ':' behind the expression of a one-line block; NULL: it has none. */
static const char *
colon(const char *p)
{
    int choices = 0;

    for (; *p; p++) {
        if (*p == '\'')
            p += 1 + strcspn(p + 1, "'");
        if (*p == '?')
            choices++;
        if (*p == ':' && !choices--)
            return p;
        if (!*p)
            break;
    }
    return NULL;
}

static void
push(struct engine *e, struct source *s, const struct line *l)
{
    s->line = kn_grow(e->c, s->line, &s->cap, s->n + 1, sizeof *s->line);
    s->line[s->n++] = *l;
}

/* A line; of a one-line block, also what it holds and its end. */
static void
add(struct engine *e, struct source *s, const char *text, int number,
    bool behind)
{
    struct line l = { .text = text, .number = number, .behind = behind };
    const struct line *last = s->n ? &s->line[s->n - 1] : NULL;
    const char *at = NULL;

    l.kind = classify(&l);
    if (l.kind == BLANK && !behind)
        return;
    if (l.kind >= IF && l.kind <= FOR)
        at = colon(l.rest);
    if (!at) {
        push(e, s, &l);
        return;
    }
    l.one = true;
    if ((l.kind == ELIF || l.kind == ELSE) && last && last->joined) {
        l.joined = true;
        s->n--;
    }
    l.rest = kn_strndup(e->c, l.rest, (size_t)(at - l.rest));
    push(e, s, &l);
    add(e, s, at + 1 + strspn(at + 1, " "), number, true);
    push(e, s, &(struct line){ .text = "", .rest = "", .kind = END,
                               .number = number,
                               .joined = l.kind == IF || l.kind == ELIF });
}

static void
split(struct engine *e, struct source *s, const char *text)
{
    char *p = kn_strdup(e->c, text), *end;

    for (int number = 1; *p; number++, p = end) {
        size_t n = strcspn(p, "\n");

        end = p + n + (p[n] == '\n');
        p[n] = '\0';
        n = strcspn(p, ";\r");
        while (n && p[n - 1] == ' ')
            n--;
        p[n] = '\0';
        add(e, s, p, number, false);
    }
}

static kiln_status
read_source(struct engine *e, struct source *s, const char *text)
{
    size_t open[MAX_NEST];
    int depth = 0;

    split(e, s, text);
    for (size_t i = 0; i < s->n; i++)
        KN_TRY(nest(e, s, i, open, &depth));
    if (depth) {
        struct kn_expr x = reader(e, s, open[depth - 1], "");

        return KN_BAD(&x, "no .end closes this");
    }
    for (size_t i = 0; i < s->n; i++)
        if (s->line[i].kind == DEF)
            KN_TRY(define(e, s, i));
    return KILN_OK;
}

/* ---- running it ---- */

static kiln_status run(struct engine *e, const struct source *s, size_t from,
                       size_t to, const struct kn_scope *scope);

/* A text is read once, whoever uses it. */
static kiln_status
use(struct engine *e, const char *name, struct kn_expr *from)
{
    struct source *s = KN_NEW(e->c, struct source, 1);
    const char *text = NULL;

    for (size_t i = 0; i < e->nsources; i++)
        if (!strcmp(e->source[i]->name, name))
            return KILN_OK;
    if (e->nsources == MAX_FILES)
        return KN_BAD(from, "more than %d files", MAX_FILES);
    s->name = s->file = name;
    KN_TRY(e->lib->open(e->c, e->lib->user, name, &s->file, &text));
    if (!text)
        return KN_BAD(from, "there is no template '%s'", name);
    e->source = kn_grow(e->c, e->source, &e->capsources, e->nsources + 1,
                        sizeof *e->source);
    e->source[e->nsources++] = s;
    KN_TRY(read_source(e, s, text));
    return run(e, s, 0, s->n, NULL);
}

static kiln_status
use_all(struct engine *e, struct kn_expr *x)
{
    const char *p = NULL;

    KN_TRY(kn_expr_substitute(x, x->p, &p));
    while (*p) {
        size_t n = strcspn(p, " ");

        KN_TRY(use(e, kn_strndup(e->c, p, n), x));
        p += n + strspn(p + n, " ");
    }
    return KILN_OK;
}

/* (EXPR, EXPR) of a call: what the definition's parameters are. */
static kiln_status
arguments(struct kn_expr *x, const struct definition *d, struct kn_scope *out)
{
    bool more;

    KN_TRY(kn_expr_expect(x, "("));
    x->p += strspn(x->p, " ");
    for (more = *x->p != ')'; more; more = *x->p == ',', x->p += more) {
        if (out->n == d->nparams)
            return KN_BAD(x, "'%s' has %d parameters", d->name, d->nparams);
        out->name[out->n] = d->param[out->n];
        KN_TRY(kn_expr(x, &out->value[out->n++]));
        x->p += strspn(x->p, " ");
    }
    KN_TRY(kn_expr_expect(x, ")"));
    if (out->n < d->nparams)
        return KN_BAD(x, "'%s' has %d parameters", d->name, d->nparams);
    return kn_expr_end(x);
}

/* The definition's text, its parameters bound. */
static kiln_status
call(struct engine *e, struct kn_expr *x)
{
    size_t n = kn_name_length(x->p);
    struct definition *d = find_def(e, x->p, n);
    struct kn_scope inner = { 0 };
    struct kn_via *via = KN_NEW(e->c, struct kn_via, 1);

    if (!d)
        return KN_BAD(x, "'%.*s' is not defined", (int)n, x->p);
    if (d->running)
        return KN_BAD(x, "'%s' runs itself", d->name);
    x->p += n;
    KN_TRY(arguments(x, d, &inner));
    *via = (struct kn_via){ x->at, d->name };
    e->via = via;
    d->running = true;
    KN_TRY(run(e, d->in, d->from, d->to, &inner));
    d->running = false;
    e->via = x->at.via;
    return KILN_OK;
}

/* The first arm whose condition holds; *at: the end. */
static kiln_status
run_if(struct engine *e, struct kn_expr *x, const struct source *s, size_t *at)
{
    bool done = false;

    while (s->line[*at].kind != END) {
        const struct line *l = &s->line[*at];
        int64_t holds = 1;

        x->at.line = l->number;
        x->p = l->rest;
        if (l->kind != ELSE && !done)
            KN_TRY(kn_expr_number(x, &holds));
        if (l->kind == ELSE || !done)
            KN_TRY(kn_expr_end(x));
        if (holds && !done)
            KN_TRY(run(e, s, *at + 1, l->next, x->scope));
        done |= holds != 0;
        *at = l->next;
    }
    return KILN_OK;
}

/* The turns of a list whose first value is bound: v in VALUE, VALUE. */
static kiln_status
run_list(struct engine *e, struct kn_expr *x, const struct source *s, size_t at,
         struct kn_scope *inner)
{
    for (; *x->p == ','; x->p += strspn(x->p, " ")) {
        KN_TRY(run(e, s, at + 1, s->line[at].next, inner));
        x->p++;
        KN_TRY(kn_expr(x, &inner->value[0]));
    }
    KN_TRY(kn_expr_end(x));
    return run(e, s, at + 1, s->line[at].next, inner);
}

/* v in LOW..HIGH, or in a list, of the .for of line `at`, and its turns. */
static kiln_status
run_for(struct engine *e, struct kn_expr *x, const struct source *s, size_t at)
{
    size_t n = kn_name_length(x->p);
    struct kn_scope inner = { .outer = x->scope, .n = 1 };
    const char *first;
    int64_t low, high;

    if (!n)
        return KN_BAD(x, "expected .for NAME in LOW..HIGH");
    inner.name[0] = kn_strndup(e->c, x->p, n);
    x->p += n;
    KN_TRY(kn_expr_expect(x, "in "));
    first = x->p;
    KN_TRY(kn_expr(x, &inner.value[0]));
    x->p += strspn(x->p, " ");
    if (*x->p == ',')
        return run_list(e, x, s, at, &inner);
    x->p = first;
    KN_TRY(kn_expr_number(x, &low));
    KN_TRY(kn_expr_expect(x, ".."));
    KN_TRY(kn_expr_number(x, &high));
    KN_TRY(kn_expr_end(x));
    if (high > low && (uint64_t)high - (uint64_t)low > MAX_TURNS)
        return KN_BAD(x, "a .for has at most %d turns", MAX_TURNS);
    for (; low < high; low++) {
        inner.value[0] = (struct kn_fact_value){ NULL, low };
        KN_TRY(run(e, s, at + 1, s->line[at].next, &inner));
    }
    return KILN_OK;
}

static kiln_status
emit(struct engine *e, struct kn_expr *x, const char *line)
{
    e->out = kn_grow(e->c, e->out, &e->cap, e->n + 1, sizeof *e->out);
    e->out[e->n].at = x->at;
    e->out[e->n].text = line;
    if (strchr(line, '$'))
        KN_TRY(kn_expr_substitute(x, line, &e->out[e->n].text));
    e->n++;
    return KILN_OK;
}

static kiln_status
run(struct engine *e, const struct source *s, size_t from, size_t to,
    const struct kn_scope *scope)
{
    for (size_t i = from; i < to; i++) {
        const struct line *l = &s->line[i];
        struct kn_expr x = reader(e, s, i, l->rest);

        x.scope = scope;
        if (e->turns++ == MAX_LINES)
            return KN_BAD(&x, "more than %d lines are run", MAX_LINES);
        switch (l->kind) {
        case USE: KN_TRY(use_all(e, &x)); break;
        case CALL: KN_TRY(call(e, &x)); break;
        case IF: KN_TRY(run_if(e, &x, s, &i)); break;
        case FOR: KN_TRY(run_for(e, &x, s, i)); break;
        case TEXT: KN_TRY(emit(e, &x, l->text)); break;
        default: break;
        }
        if (l->kind == FOR || l->kind == DEF)
            i = l->next;
    }
    return KILN_OK;
}

kiln_status
kn_template_expand(struct kn_ctx *c, const struct kn_library *lib,
                   const char *root, struct kn_line **lines, size_t *n)
{
    struct engine e = { .c = c, .lib = lib, .room = MAX_TEXT };
    struct kn_expr none = { .c = c, .lib = lib, .at = { .file = root },
                            .room = &e.room };

    KN_TRY(use(&e, root, &none));
    *lines = e.out;
    *n = e.n;
    return KILN_OK;
}

kiln_status
kn_template_read(struct kn_ctx *c, const struct kn_library *lib, const char *root,
                 struct kn_fn **out)
{
    struct kn_line *lines;
    size_t n;

    KN_TRY(kn_template_expand(c, lib, root, &lines, &n));
    return kn_parse(c, lines, n, out);
}

bool
kn_no_fact(struct kn_ctx *c, const void *user, const char *name,
           struct kn_fact_value *out)
{
    (void)c;
    (void)user;
    (void)name;
    (void)out;
    return false;
}
