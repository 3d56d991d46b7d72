/* diff_impl.h - what the files of the comparison share. Internal to diff. */
#ifndef KN_DIFF_IMPL_H
#define KN_DIFF_IMPL_H

#include "diff.h"

/* Vector, accumulator and scalar registers in one numbering. */
enum { KN_DIFF_AGPR = 512, KN_DIFF_SGPR = 1024, KN_DIFF_REGS = 1152 };

/* Register 0.. of an operand, -1 if it is none. */
int kn_diff_register(const struct kn_opnd *o);

/* What an instruction is without its registers. `soft` also leaves out what
 * may differ between two versions of it: wait counts, width, constants. */
uint64_t kn_diff_key(const struct kn_inst *i, bool soft);

/* Matrix, memory, LDS instructions and barriers hold an alignment. */
bool kn_diff_anchor(const struct kn_inst *i);
bool kn_diff_copy(const struct kn_inst *i); /* register to register */

struct kn_diff_keys {
    uint32_t n;
    const uint64_t *key;
};

/* Longest common subsequence: pair[i] = j for each key of a, -1 unpaired. */
kiln_status kn_diff_lcs(struct kn_ctx *c, struct kn_diff_keys a,
                        struct kn_diff_keys b, int32_t *pair);

/* One side of a comparison. */
struct kn_diff_side {
    const struct kn_cfg *g;
    const struct kn_program *p;
    uint64_t *key;           /* per instruction */
    int32_t *pair;           /* on the other side, -1: none */
    bool *mono;              /* its pair keeps the order of the others */
    uint32_t *region;        /* matched part it lies in */
    uint32_t *src, *nsrc;    /* first source value and their number */
    uint32_t *dst;           /* first value it defines */
    uint32_t *value;         /* the values of all sources */
    uint32_t nvalues;
    uint32_t *map;           /* value -> value of the other side + 1 */
};

/* Settles which paired instructions are the same by the values they work on,
 * and finds partners elsewhere for those that are not. bad[i] is set where
 * A's instruction keeps a partner with other registers. */
kiln_status kn_diff_values(struct kn_ctx *c, struct kn_diff_side *a,
                           struct kn_diff_side *b, bool *bad);

/* For programs whose instructions are paired one to one in order: the first
 * whose registers differ on some path, -1 if there is none. */
int32_t kn_diff_exact(struct kn_ctx *c, const struct kn_cfg *a,
                      const struct kn_cfg *b);

#endif
