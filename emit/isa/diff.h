/* diff.h - two kernels compared instruction by instruction.
 *
 * Loops are matched by what they compute; between them instructions are
 * aligned on matrix, memory and barrier instructions first, then on the rest.
 * Registers count by the value they hold, not by number: a consistent
 * renaming is no difference. */
#ifndef KN_DIFF_H
#define KN_DIFF_H

#include "cfg.h"

/* X(id, text). A is the reference. */
#define KN_DIFFS(X) \
    X(SAME, "same") \
    X(MOVED, "moved") \
    X(REORDERED, "reordered") \
    X(STRONGER, "wait stronger") \
    X(WEAKER, "wait weaker") \
    X(COPY, "extra copy") \
    X(SPILL, "spill") \
    X(WIDTH, "other width") \
    X(CACHE, "other cache policy") \
    X(CONSTANT, "other constant") \
    X(REGISTER, "other register") \
    X(TARGET, "other branch target") \
    X(MISSING, "missing") \
    X(EXTRA, "extra")

enum kn_diff_kind {
#define X(id, text) KN_D_##id,
    KN_DIFFS(X)
#undef X
    KN_NDIFFS
};

/* One line side by side. An instruction that moved has a line where it is in
 * A and one where it is in B, each with the other's index in `peer`. */
struct kn_diff_row {
    int32_t a, b;            /* instruction; -1: none on this side */
    int32_t peer;            /* of a moved one; else -1 */
    uint8_t kind;            /* enum kn_diff_kind */
};

struct kn_diff_loop {        /* two loops that were matched */
    uint32_t a, b;
    uint32_t mfma_a, mfma_b; /* matrix instructions of their own blocks */
};

struct kn_diff {
    uint32_t n;
    struct kn_diff_row *row; /* in the order of both sides */
    uint32_t count[KN_NDIFFS]; /* a moved instruction counts once */
    uint32_t nloops;
    struct kn_diff_loop *loop;
    bool equal;              /* nothing but registers renamed */
};

/* UNSUPPORTED for kernels too large to align (product of the sizes of two
 * matched parts above 2^31). */
kiln_status kn_diff_take(struct kn_ctx *c, const struct kn_cfg *a,
                         const struct kn_cfg *b, struct kn_diff *out);

const char *kn_diff_name(enum kn_diff_kind k);

#endif
