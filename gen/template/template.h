/* template.h - the template language (docs/ir.md): a text of tile IR whose lines
 * that begin with a dot run while the kernel is made. */
#ifndef KN_TEMPLATE_H
#define KN_TEMPLATE_H

#include "../../ir/ir.h"

/* A number, or a word such as a type's name: words can be compared and
 * substituted, and nothing else. */
struct kn_fact_value {
    const char *word;        /* NULL: the number */
    int64_t n;
};

/* Where texts and names come from. */
struct kn_library {
    const void *user;
    kiln_status fault;       /* status of an error in the texts */
    /* The text called `name`, and what places in it print as; *text NULL:
     * there is none. */
    kiln_status (*open)(struct kn_ctx *c, const void *user, const char *name,
                        const char **file, const char **text);
    /* What a name means that no definition or loop binds; false: nothing. */
    bool (*fact)(struct kn_ctx *c, const void *user, const char *name,
                 struct kn_fact_value *out);
};

/* The lines that are left of `root` and what it uses, each with its place and
 * the calls that led to it. */
kiln_status kn_template_expand(struct kn_ctx *c, const struct kn_library *lib,
                               const char *root, struct kn_line **lines,
                               size_t *n);

/* The program that those lines are. */
kiln_status kn_template_read(struct kn_ctx *c, const struct kn_library *lib,
                             const char *root, struct kn_fn **out);

/* The `fact` of a text that has no problem. */
bool kn_no_fact(struct kn_ctx *c, const void *user, const char *name,
                struct kn_fact_value *out);

#endif
