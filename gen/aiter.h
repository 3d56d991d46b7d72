/* aiter.h - kernels that ROCm/aiter's loaders of assembly objects launch: with
 * their arguments, their grid, and a row of their tables (aiter.def). */
#ifndef KN_AITER_H
#define KN_AITER_H

#include "instantiate.h"

enum kn_loader {
    KN_LOADER_none,
#define LOADER(id, ...) KN_LOADER_##id,
#include "aiter.def"
    KN_NLOADERS
};

/* Whose arguments a kernel of the configuration takes: none, kiln's own. */
enum kn_loader kn_loader_of(const kiln_problem *p, const struct kn_config *g);

/* The template `aiter`: aiter_args(), the loader's arguments in place of args(). */
const char *kn_loader_template(struct kn_ctx *c, enum kn_loader l);

/* Whether the loader gives the products a factor. */
bool kn_loader_alpha(enum kn_loader l);

/* Largest values of a loader's strides, in whichever unit it counts them, that are
 * within a kernel's limits; the same of scales. */
int64_t kn_loader_stride(const struct kn_limits *most);
int64_t kn_loader_scales(const kiln_problem *p, const struct kn_limits *most);

/* With abi=aiter: UNSUPPORTED, aiter launches no such product. */
kiln_status kn_aiter_serves(struct kn_ctx *c, const kiln_problem *p,
                            const struct kn_config *g);
/* What the loader asks of a configuration that is still open: four waves, the
 * domain of everything it launches. bk: the K of a tile that leaves it open. */
void kn_aiter_open(const kiln_problem *p, uint32_t bk, struct kn_config *g);
/* And of one that is decided. */
kiln_status kn_aiter_settle(struct kn_ctx *c, const kiln_problem *p,
                            struct kn_config *g);

/* Grid and arguments of a plan as the loader makes them. UNSUPPORTED: a stride is
 * larger than the kernel is proven for. */
kiln_status kn_aiter_plan(struct kn_ctx *c, const kiln_problem *p,
                          const struct kn_config *g,
                          const struct kn_operands *o, struct kn_plan *plan);

/* Where the object goes, below aiter's folder hsa: "gfx950/f4gemm", and its
 * table there, without .csv. */
const char *kn_loader_folder(struct kn_ctx *c, const kiln_problem *p,
                            const struct kn_config *g);
const char *kn_loader_table(const kiln_problem *p, const struct kn_config *g);
/* The value of column `name` of the object's row in that table; NULL: the loader
 * has no such column. `file`: the object's name. */
const char *kn_loader_column(struct kn_ctx *c, const kiln_problem *p,
                            const struct kn_config *g, const char *name,
                            const char *file);
/* The columns' names in their order, the last NULL. */
const char **kn_loader_columns(struct kn_ctx *c, const kiln_problem *p,
                              const struct kn_config *g);

#endif
