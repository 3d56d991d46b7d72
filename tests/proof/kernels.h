/* kernels.h - every kernel the generator makes, as wave IR after the passes:
 * all of `kilnc list` (family, types, layout, scales, target) with every tile,
 * stage count and alignment class, one tile a workgroup and persistent. */
#ifndef KERNELS_H
#define KERNELS_H

#include "gen/gen.h"

/* One in `of` kernels, the `shard`-th; 1 and 0: all. */
struct kernels {
    unsigned of, shard;
    unsigned made, refused;          /* by the proof: printed */
    uint8_t split_k;                 /* while it runs */
    void (*kernel)(void *user, const struct kn_fn *f);
    void *user;
};

void each_kernel(struct kernels *k);

#endif
