/* proof_interval.h - intervals of integers, for the shape-domain proof. */
#ifndef KN_PROOF_INTERVAL_H
#define KN_PROOF_INTERVAL_H

#include "../ir.h"

/* The integer that a value's formula means. */
struct interval {
    int64_t lo, hi;
    uint32_t bad;            /* 1 + instruction that may wrap; 0: exact */
};

/* An instruction and its operands; of a select the two that it chooses from. */
struct interval_calc {
    const struct kn_fn *f;
    const struct kn_ins *i;
    struct interval a, b;
    bool wide;               /* 64 bits */
    uint32_t *guards;        /* counts the clamps that end a mark, or NULL */
};

struct interval interval_result(const struct interval_calc *c);

/* All that the bits can be; `bad` as in struct interval. */
struct interval interval_all(bool wide, uint32_t bad);
struct interval interval_of(int64_t lo, int64_t hi);
struct interval interval_either(struct interval a, struct interval b,
                                bool wide);
/* Whether the 32 bits, read so, are the integer. */
bool interval_signed(struct interval a);
bool interval_unsigned(struct interval a);

#endif
