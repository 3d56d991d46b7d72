/* kernels.h - every kernel the generator makes, as wave IR after the passes:
 * all of `kilnc list` (family, types, layout, scales, target) with every tile,
 * stage count and alignment class, one tile a workgroup and persistent. */
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

/* One in `of` kernels, the `shard`-th; 1 and 0: all. */
struct kernels {
    unsigned of, shard;
    unsigned made, refused;          /* by the proof: printed */
    uint8_t split_k;                 /* while it runs */
    enum kn_lowering lowering;       /* of the kernel being told */
    bool mains;
    struct orders *tiles;            /* met, before the passes */
    void (*kernel)(void *user, const struct kn_fn *f);
    void *user;
};

void each_kernel(struct kernels *k);

/* Every main of `kilnc list`: family, types, layout, scales and target as the
 * generator configures them when nothing is asked for, for a large aligned
 * problem and one of odd sizes. */
void each_main(struct kernels *k);

bool order_is_new(struct orders *s, const struct kn_fn *f);

#endif
