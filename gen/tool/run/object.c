/* object.c - `run --object`: the user's build of a kernel in the place of one that is
 * generated. */
#include <string.h>

#include "../../../runtime/file.h"
#include "../inspect/inspect.h"
#include "session.h"

/* BAD_INPUT with the first words that differ, if lines of such words do. */
static kiln_status
same_line(struct kn_ctx *c, const char *path, const char *made, const char *asked)
{
    size_t word = 0, i = 0;

    for (; made[i] && made[i] == asked[i]; i++)
        if (made[i] == ' ')
            word = i + 1;
    if (made[i] == asked[i])
        return KILN_OK;
    return kn_fail(c, KILN_BAD_INPUT, "'%s' was made with %s, not with %s", path,
                   kn_strndup(c, made + word, strcspn(made + word, " ")),
                   kn_strndup(c, asked + word, strcspn(asked + word, " ")));
}

/* The configuration that an object says it was made with, which is the one to
 * launch it by, as *g; what the flags give of one must not be another. */
static kiln_status
take_config(struct kn_ctx *c, const char *path, const struct kn_stamp *made,
            const struct kn_config *given, struct kn_config *g)
{
    struct kn_config over;
    struct kn_buf asked = { .c = c };

    KN_TRY(kn_config_take(c, made->config, g));
    over = *g;
    kn_config_over(&over, given);
    over.bm = given->bm ? given->bm : g->bm;
    over.bn = given->bm ? given->bn : g->bn;
    over.bk = given->bk ? given->bk : g->bk;
    over.wm = given->wm ? given->wm : g->wm;
    over.wn = given->wm ? given->wn : g->wn;
    kn_config_print(&over, &asked);
    return same_line(c, path, made->config, asked.s);
}

/* Of one that says nothing, the configuration of the kernel that would be
 * generated. */
static kiln_status
configure(struct kn_tool *t, const kiln_problem *p, const struct kn_bytes *file,
          struct kn_generated *g)
{
    const char *path = t->cli->v[KN_FLAG_object].s;
    struct kn_config cfg = { 0 };
    struct kn_stamp made;
    const char *text;

    KN_TRY(kn_config_parse(t->c, t->cli->config, &cfg));
    KN_TRY(kn_object_stamped(t->c, file->p, file->n, &text));
    if (!text || !kn_stamp_read(t->c, text, &made))
        return kn_generate(t->c, p, &cfg, NULL, g);
    KN_TRY(same_line(t->c, path, made.problem, kn_problem_text(t->c, p)));
    return take_config(t->c, path, &made, &cfg, &g->cfg);
}

kiln_status
kn_object_take(struct kn_tool *t, struct kn_json *j, const kiln_problem *p,
               struct kn_generated *g)
{
    const char *path = t->cli->v[KN_FLAG_object].s;
    const struct kn_object_kernel *k;
    struct kn_object o;
    struct kn_bytes file;

    KN_TRY(kn_code_read(t->c, path, p->target, &file));
    KN_TRY(kn_object_read(t->c, path, file.p, file.n, &o));
    KN_TRY(kn_object_kernel(t->c, &o, NULL, &k));
    if (o.target != p->target)
        return kn_fail(t->c, KILN_BAD_INPUT, "'%s' is for %s, the device is %s", path,
                       kiln_target_name(o.target), kiln_target_name(p->target));
    if (!t->cli->v[KN_FLAG_as].seen)
        KN_TRY(configure(t, p, &file, g));
    g->co = file.p;
    g->size = file.n;
    g->name = k->name;
    return kn_report_made(t, j, p, g);
}

kiln_status
kn_kernel_take(struct kn_tool *t, struct kn_json *j, const kiln_problem *p,
               struct kn_generated *g)
{
    return t->cli->v[KN_FLAG_object].seen ? kn_object_take(t, j, p, g)
                                          : kn_job_make(t, j, p, g);
}

/* What --object is a build of: its lines are those of a kernel of the same
 * name and size, whatever a patch made of single instructions. */
static const struct kn_generated *
lines_of(struct kn_ctx *c, const kiln_problem *p, const struct kn_generated *g,
         struct kn_generated *again)
{
    struct kn_config cfg = g->cfg;

    if (g->wave)
        return g;
    if (kn_generate(c, p, &cfg, NULL, again)) {
        memset(&c->err, 0, sizeof c->err);
        return NULL;
    }
    return again->size == g->size && !strcmp(again->name, g->name) ? again : NULL;
}

kiln_status
kn_job_places(struct kn_ctx *c, struct kn_job *j)
{
    struct kn_generated again;
    const struct kn_generated *g = j->result.nkept ? lines_of(c, j->p, j->g, &again) : NULL;
    struct kn_places from;

    if (!g)
        return KILN_OK;
    KN_TRY(kn_places_generated(c, g, &from));
    kn_places_put(&from, &j->result);
    return KILN_OK;
}
