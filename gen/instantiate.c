/* instantiate.c - a problem and a configuration become tile IR: their facts, and
 * the templates that read them. */
#include "instantiate.h"

#include <string.h>

#include "../templates/templates.h"
#include "facts.h"
#include "forms.h"

/* The text of a template of this project. */
static kiln_status
open_template(struct kn_ctx *c, const void *user, const char *name,
              const char **file, const char **text)
{
    size_t n = strlen(name);

    (void)c;
    (void)user;
    for (const struct kn_template *t = kn_templates; t->name; t++)
        if (!strncmp(t->name, name, n) && !strcmp(t->name + n, ".tir")) {
            *file = t->name;
            *text = t->text;
        }
    return KILN_OK;
}

kiln_status
kn_expand_facts(struct kn_ctx *c, const char *root, const struct kn_facts *f,
                struct kn_fn **out)
{
    struct kn_library lib = { f, KILN_INTERNAL, open_template, kn_fact };
    struct kn_line *lines;
    size_t n;

    KN_TRY(kn_template_expand(c, &lib, root, &lines, &n));
    return kn_parse(c, lines, n, out);
}

static kiln_status
expand(struct kn_ctx *c, const char *root, const kiln_problem *p,
       const struct kn_config *g, struct kn_fn **out)
{
    struct kn_facts f = kn_facts_of(c, p, g);

    return kn_expand_facts(c, root, &f, out);
}

kiln_status
kn_instantiate(struct kn_ctx *c, const kiln_problem *p,
               const struct kn_config *g, struct kn_fn **out)
{
    if (p->stage == KILN_MOE_REDUCE)
        return expand(c, "moe_reduce", p, g, out);
    KN_TRY(kn_form_check(c, p, g));
    return expand(c, kn_reads_of(g) == KN_READS_RUNS ? "gemv" : "gemm", p, g,
                  out);
}
