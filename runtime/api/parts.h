/* parts.h - the two libraries that libkiln opens on first need. Each shows
 * one function that returns a table; both sides must be of one build. */
#ifndef KN_PARTS_H
#define KN_PARTS_H

#include "../../gen/gen.h"

struct kn_codegen {
    const char *generator;   /* of its build */
    void (*llvm_version)(char *buf, size_t n);
    kiln_status (*generate)(struct kn_ctx *c, const kiln_problem *problem,
                            const struct kn_config *cfg,
                            const struct kn_watch *watch,
                            struct kn_generated *out);
};
const struct kn_codegen *kiln_cg_interface(void);

struct kn_sim;
struct kn_sim_code;
struct kn_sim_launch;
struct kn_sim_result;
struct kn_time_shares;

struct kn_simulator {
    const char *generator;
    kiln_status (*open)(struct kn_ctx *c, kiln_target target,
                        struct kn_sim **out);
    void (*close)(struct kn_sim *s);
    kiln_status (*alloc)(struct kn_sim *s, uint64_t size, unsigned flags,
                         void (*fill)(void *user, uint64_t offset, void *dst,
                                      size_t size),
                         void *user, uint64_t *addr);
    kiln_status (*free)(struct kn_sim *s, uint64_t addr);
    kiln_status (*write)(struct kn_sim *s, uint64_t addr, const void *src,
                         size_t n);
    kiln_status (*read)(struct kn_sim *s, uint64_t addr, void *dst, size_t n);
    kiln_status (*load)(struct kn_sim *s, const char *name, const void *bytes,
                        size_t size, struct kn_sim_code **out);
    void (*unload)(struct kn_sim *s, struct kn_sim_code *code);
    kiln_status (*run)(struct kn_sim *s, const struct kn_sim_launch *l,
                       struct kn_sim_result *r);
    kiln_status (*time)(struct kn_ctx *c, struct kn_sim *s,
                        const struct kn_sim_launch *l,
                        const struct kn_time_shares *shares, double *us);
};
const struct kn_simulator *kiln_sim_interface(void);

/* Beside the library this code is in, else where the loader looks. `entry`
 * is one of the two functions above; NULL with an error. */
void *kn_part_open(struct kn_ctx *c, const char *library, const char *entry);

kiln_status kn_codegen_open(struct kn_ctx *c, const struct kn_codegen **out);
kiln_status kn_simulator_open(struct kn_ctx *c,
                              const struct kn_simulator **out);

#endif
