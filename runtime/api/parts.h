/* parts.h - the two libraries that libkiln opens on first need. Each shows
 * one function that returns a table; both sides must be of one build. */
#ifndef KN_PARTS_H
#define KN_PARTS_H

#include "../../gen/gen.h"
#include "../backend.h"

struct kn_code;              /* emit/emit.h */

struct kn_codegen {
    const char *generator;   /* of its build */
    void (*llvm_version)(char *buf, size_t n);
    kiln_status (*generate)(struct kn_ctx *c, const kiln_problem *problem,
                            const struct kn_config *cfg,
                            const struct kn_watch *watch,
                            struct kn_generated *out);
    kiln_status (*program)(struct kn_ctx *c, const char *text,
                           struct kn_generated *out);
    kiln_status (*replay)(struct kn_ctx *c, const struct kn_code *code);
};
const struct kn_codegen *kiln_cg_interface(void);

const struct kn_simulator *kiln_sim_interface(void);

/* Beside the library this code is in, else where the loader looks. `entry`
 * is one of the two functions above; NULL with an error. */
void *kn_part_open(struct kn_ctx *c, const char *library, const char *entry);

kiln_status kn_codegen_open(struct kn_ctx *c, const struct kn_codegen **out);
kiln_status kn_simulator_open(struct kn_ctx *c,
                              const struct kn_simulator **out);

#endif
