/* source_map.h - which template line and operation each instruction of a kernel
 * of kiln comes from ("loop_simple.tir:7 mfma", "compiler" for what LLVM
 * added), by its certificate. Nothing is known of other kernels. */
#ifndef KN_PLACES_H
#define KN_PLACES_H

#include "../../../emit/isa/isa.h"
#include "../../../runtime/sim/sim.h"
#include "../../gen.h"

struct kn_places {
    struct kn_program p;
    const char **at;         /* per instruction, NULL where nobody says */
};

/* The text of PATH.cert beside a code object; NULL if there is no such file. */
kiln_status kn_cert_beside(struct kn_ctx *c, const char *path,
                           const char **text);

/* cert may be NULL, or of another kernel: then no instruction has a place. */
kiln_status kn_places_find(struct kn_ctx *c, const struct kn_object *o,
                           const struct kn_object_kernel *k, const char *cert,
                           struct kn_places *out);
kiln_status kn_places_generated(struct kn_ctx *c, const struct kn_generated *g,
                                struct kn_places *out);

/* Fills in the kept findings' places. */
void kn_places_put(const struct kn_places *w, struct kn_sim_result *r);

#endif
