/* debug.c - debug information of a generated kernel: each instruction's line is
 * that of the template, or of the user's tile IR, its operation is from. */
#include "gen.h"

#include <string.h>

#include "../templates/templates.h"

kiln_status
kn_own_source(struct kn_ctx *c, const char *file, struct kn_debug_file *out)
{
    const struct kn_template *t = kn_templates;

    (void)c;
    while (t->name && strcmp(t->name, file))
        t++;
    *out = (struct kn_debug_file){ file, t->name ? t->text : "", true };
    return KILN_OK;
}

struct sources {
    struct kn_ctx *c;
    struct kn_debug_file *source;
    size_t cap;
    struct kn_debug *d;
    kn_source_fn *find;
};

/* The number of a file, which is read when it is met first. */
static kiln_status
number_of(struct sources *s, const char *file, uint32_t *out)
{
    uint32_t i = 0;

    while (i < s->d->nsource && strcmp(s->source[i].file, file))
        i++;
    *out = i;
    if (i < s->d->nsource)
        return KILN_OK;
    s->source = kn_grow(s->c, s->source, &s->cap, i + 1, sizeof *s->source);
    s->d->source = s->source;
    s->d->nsource++;
    return s->find(s->c, file, &s->source[i]);
}

/* An operation's place, or none: of what LLVM added, or a pass. */
static struct kn_loc
place(const struct kn_generated *g, uint32_t ins)
{
    struct kn_loc none = { 0 };

    return ins < g->wave->nins ? g->wave->ins[ins].at : none;
}

kiln_status
kn_debug_of(struct kn_ctx *c, const struct kn_generated *g, kn_source_fn *find,
            const struct kn_debug **out)
{
    struct kn_debug_row *row = KN_NEW(c, struct kn_debug_row, g->lines.n + 1);
    struct kn_debug *d = KN_NEW(c, struct kn_debug, 1);
    struct sources s = { .c = c, .d = d, .find = find };
    const char *root = g->tile->nins ? g->tile->ins[0].at.file : NULL;

    *d = (struct kn_debug){ .kernel = g->name, .row = row };
    *out = d;
    KN_TRY(number_of(&s, root ? root : "kernel", &row->file));
    for (size_t i = 0; i < g->lines.n; i++) {
        struct kn_loc at = place(g, g->lines.row[i].ins);
        struct kn_debug_row *r = &row[d->nrow];

        if (r != row)
            r->file = r[-1].file;
        if (at.file)
            KN_TRY(number_of(&s, at.file, &r->file));
        r->offset = g->lines.row[i].offset;
        r->line = at.file ? (uint32_t)at.line : 0;
        d->nrow += r == row || r->line != r[-1].line || r->file != r[-1].file;
    }
    return KILN_OK;
}
