/* instantiate.c - a problem and a configuration become tile IR: their facts, and
 * the templates that read them. */
#include "instantiate.h"

#include <string.h>

#include "../templates/templates.h"
#include "aiter.h"
#include "facts.h"
#include "forms.h"

/* What a kernel has in LDS, and nothing else of it. */
static const struct kn_template lds_alone = { "lds.tir",
    ".use operands\n"
    ".if own_lds: .use $loop\n"
    "kernel @$NAME tile $TARGET\n"
    "shape bm=$BM bn=$BN bk=$BK wm=$WM wn=$WN\n"
    "lds_tiles()\n" };

static bool
is_called(const struct kn_template *t, const char *name)
{
    size_t n = strlen(name);

    return !strncmp(t->name, name, n) && !strcmp(t->name + n, ".tir");
}

/* The text of a template of this project. */
static kiln_status
open_template(struct kn_ctx *c, const void *user, const char *name,
              const char **file, const char **text)
{
    const struct kn_template *t = kn_templates;
    const struct kn_facts *f = user;

    if (!strcmp(name, "aiter")) {
        *file = "aiter.def";
        *text = kn_loader_template(c, (enum kn_loader)f->loader);
        return KILN_OK;
    }
    if (is_called(&lds_alone, name))
        t = &lds_alone;
    while (t->name && !is_called(t, name))
        t++;
    if (t->name) {
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

    return kn_template_read(c, &lib, root, out);
}

static kiln_status
expand(struct kn_ctx *c, const char *root, const kiln_problem *p,
       const struct kn_config *g, struct kn_fn **out)
{
    struct kn_facts f = kn_facts_of(c, p, g);

    return kn_expand_facts(c, root, &f, out);
}

uint32_t
kn_tile_lds(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    struct kn_fn *f;

    return expand(c, "lds", p, g, &f) ? UINT32_MAX : (uint32_t)kn_lds_bytes(f);
}

kiln_status
kn_instantiate(struct kn_ctx *c, const kiln_problem *p,
               const struct kn_config *g, struct kn_fn **out)
{
    if (p->stage == KILN_MOE_REDUCE)
        return expand(c, "moe_reduce", p, g, out);
    if (kn_family_of(p)->unary)
        return expand(c, "quant", p, g, out);
    KN_TRY(kn_form_check(c, p, g));
    return expand(c, kn_reads_of(g) == KN_READS_RUNS ? kn_loop_file(p, g) : "gemm", p, g, out);
}
