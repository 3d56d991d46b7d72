/* limits.h - the largest value of each integer argument of args.tir that a
 * kernel of this problem's kernel part and this configuration is proven for.
 * Zero is the smallest of each. */
#ifndef KN_LIMITS_H
#define KN_LIMITS_H

#include "gen.h"

enum {
    KN_REACH = 0x7fffffff,   /* bytes one tile may span of an operand */
    KN_TILES = 0x7fff0000    /* tiles of a launch: a persistent workgroup adds
                                its stride once more behind the last */
};

/* X(argument) */
#define KN_LIMITED(X)                                                         \
    X(ta) X(tb) X(tc) X(tsa) X(tsb) X(tbias)                                  \
    X(m) X(n) X(k) X(G) X(pa) X(pb) X(pc) X(psa) X(psb)

struct kn_limits {
#define X(name) int64_t name;
    KN_LIMITED(X)
#undef X
};
struct kn_limits kn_limits_of(const kiln_problem *p, const struct kn_config *g);

#endif
