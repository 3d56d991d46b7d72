/* facts.h - what is known of a kernel before its text is made: of a problem and
 * a configuration, each fact of facts.def once. */
#ifndef KN_FACTS_H
#define KN_FACTS_H

#include "gen.h"
#include "template/template.h"

/* Words of a list of kiln.h, as W has them, behind a space. */
#define KN_SPACED(id, text) " " text

/* W: the index of its word. */
struct kn_facts {
#define N(name, value, text) int64_t name;
#define T(name, value, text) const char *name;
#define W(name, value, words, text) int name;
#include "facts.def"
#undef N
#undef T
#undef W
};

struct kn_facts kn_facts_of(struct kn_ctx *c, const kiln_problem *p,
                            const struct kn_config *g);

/* kn_library.fact of a struct kn_facts: a fact's value, or a word that some
 * fact may be. */
bool kn_fact(struct kn_ctx *c, const void *facts, const char *name,
             struct kn_fact_value *out);

/* `name = value  ; meaning`, a line each. */
void kn_facts_print(const struct kn_facts *f, struct kn_buf *out);

/* The kernel that the template `root` makes of the facts. */
kiln_status kn_expand_facts(struct kn_ctx *c, const char *root,
                            const struct kn_facts *f, struct kn_fn **out);

#endif
