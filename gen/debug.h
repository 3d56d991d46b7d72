/* debug.h - debug information of a generated kernel (debug.c). */
#ifndef KN_GEN_DEBUG_H
#define KN_GEN_DEBUG_H

#include "../emit/isa/debug.h"

struct kn_generated;

/* The text of a file that places name. */
typedef kiln_status kn_source_fn(struct kn_ctx *c, const char *file,
                                 struct kn_debug_file *out);

/* A template of this project; a text it made itself has none. */
kn_source_fn kn_own_source;

/* The lines of g, whose lines, tile and wave are there. */
kiln_status kn_debug_of(struct kn_ctx *c, const struct kn_generated *g,
                        kn_source_fn *find, const struct kn_debug **out);

#endif
