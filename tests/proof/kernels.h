/* kernels.h - every kernel the generator makes, as wave IR after the passes:
 * all of `kilnc list` (family, types, layout, scales, target) with every tile,
 * stage count and alignment class, one tile a workgroup and persistent, by
 * either lowering. */
#ifndef KERNELS_H
#define KERNELS_H

#include "gen/gen.h"

/* Kernels met before: what tells two of one order apart is no operation,
 * register or LDS byte (types of one width, say). All zeros: none. */
enum { ORDERS = 1 << 19 };
struct orders {
    uint64_t hash[ORDERS];
    unsigned n;
};

struct made {
    const struct kn_fn *f;           /* after the passes */
    const kiln_problem *problem;
    const struct kn_config *config;
};

/* One in `of` kernels, the `shard`-th; 1 and 0: all. */
struct kernels {
    unsigned of, shard;
    unsigned made, refused;          /* by the proof: printed */
    uint8_t split_k;                 /* while it runs */
    enum kn_lowering lowering;       /* of the kernel being told */
    bool mains;
    struct orders *tiles;            /* met, before the passes */
    void (*kernel)(void *user, const struct made *m);
    void *user;
};

/* Arguments `all [OF SHARD]`; whether there are any. Without: what *k has. */
bool take_share(struct kernels *k, int argc, char **argv);

void each_kernel(struct kernels *k);

/* Every main of `kilnc list`: family, types, layout, scales and target as the
 * generator configures them when nothing is asked for, for a large aligned
 * problem and one of odd sizes, and the former by each lowering. */
void each_main(struct kernels *k);

bool order_is_new(struct orders *s, const struct made *m);

/* The final bytes of a kernel; false: printed, or, if only its lowering has no
 * row for an operation, counted. */
bool generate_made(const struct made *m, struct kn_generated *g,
                   unsigned *lacks_row);

#endif
