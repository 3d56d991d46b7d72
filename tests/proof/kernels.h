/* kernels.h - every kernel the generator makes, as wave IR after the passes:
 * all of `kilnc list` (family, types, layout, scales, target) with every tile,
 * stage count and alignment class, one tile a workgroup and persistent, by
 * either lowering. */
#ifndef KERNELS_H
#define KERNELS_H

#include "gen/gen.h"
#include "order.h"

struct made {
    const struct kn_fn *f;           /* after the passes */
    const kiln_problem *problem;
    const struct kn_config *config;
    unsigned *number;                /* to be set: given to `again` */
};

/* One in `of` kernels, the `shard`-th; 1 and 0: all. */
struct kernels {
    unsigned of, shard;
    unsigned made, refused;          /* by passes or proof: printed */
    unsigned distinct;               /* of those made, before the passes */
    uint8_t split_k;                 /* while it runs */
    enum kn_lowering lowering;       /* of the kernel being told */
    bool mains;
    struct digests tiles;            /* met, before the passes */
    /* A kernel; once more one that differs in its name only; a family for a
     * target is through. `again` and `part` may be NULL. */
    void (*kernel)(void *user, const struct made *m);
    void (*again)(void *user, unsigned number);
    void (*part)(void *user, const struct kernels *k, const char *name);
    void *user;
};

/* Arguments `all [OF SHARD]`; whether there are any. Without: what *k has. */
bool take_share(struct kernels *k, int argc, char **argv);

void each_kernel(struct kernels *k);

/* Every main of `kilnc list`: family, types, layout, scales and target as the
 * generator configures them when nothing is asked for, for a large aligned
 * problem and one of odd sizes, and the former by each lowering. */
void each_main(struct kernels *k);

/* What tells two emitted loops apart is no operation, register or LDS byte
 * (types of one width, say): false if one like it was met. */
bool order_is_new(struct digests *s, const struct made *m);

/* The final bytes of a kernel; false: printed, or, if only its lowering has no
 * row for an operation, counted. */
bool generate_made(const struct made *m, struct kn_generated *g,
                   unsigned *lacks_row);

#endif
