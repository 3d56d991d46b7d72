/* text.c - a kernel of somebody's own: one text of tile IR, in the template
 * language (docs/ir.md), that uses no other file. */
#include <string.h>

#include "gen.h"
#include "template.h"

static kiln_status
open_text(struct kn_ctx *c, const void *user, const char *name,
          const char **file, const char **text)
{
    *file = "tile IR";
    *text = user;
    return !*name ? KILN_OK
                  : kn_fail(c, KILN_BAD_INPUT, "tile IR that is no file uses "
                            "no template beside it, such as '%s'", name);
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

kiln_status
kn_generate_text(struct kn_ctx *c, const char *text, struct kn_generated *out)
{
    struct kn_library lib = { text, KILN_BAD_INPUT, open_text, kn_no_fact };
    struct kn_watch watch = { 0 };
    struct kn_line *lines;
    struct kn_fn *f;
    size_t n;

    KN_TRY(kn_template_expand(c, &lib, "", &lines, &n));
    KN_TRY(kn_parse(c, lines, n, &f));
    return kn_generate_program(c, f, &watch, out);
}
