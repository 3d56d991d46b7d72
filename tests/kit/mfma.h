/* mfma.h - an independent statement of the matrix instructions for tests:
 * layouts written out from the tables of the CDNA3 ISA chapter 7, sums from
 * the published rules in f64 arithmetic (where the simulator uses integers).
 * Nothing here may call the simulator's own layout, decode or sum code. */
#ifndef KN_KIT_MFMA_H
#define KN_KIT_MFMA_H

#include "../../runtime/sim/mfma/mfma.h"

struct kit_rng {
    uint64_t s;
};
uint64_t kit_next(struct kit_rng *r);
unsigned kit_below(struct kit_rng *r, unsigned n);

/* How operand bits are drawn. */
enum kit_fill {
    KIT_BITS,                /* any bit pattern, NaN and Inf included */
    KIT_NEAR,                /* finite, exponents close together */
    KIT_WIDE,                /* finite, full range of exponents, zeros */
    KIT_INTS,                /* small integers: exact in any order */
    KIT_NFILLS
};

/* A job on its own registers. */
struct kit {
    struct kn_mfma_job job;
    kn_vreg_row a[16], b[16], c[32], d[32], sa, sb, index;
};

void kit_init(struct kit *t, kiln_target target, const struct kn_mfma *row);
void kit_fill(struct kit *t, struct kit_rng *r, enum kit_fill how);
void kit_put(kn_vreg_row *regs, unsigned lane, unsigned element, unsigned bits,
             uint64_t x);
uint64_t kit_get(const kn_vreg_row *regs, unsigned lane, unsigned element,
                 unsigned bits);

/* Expected bits of D[i][col] of a block from the registers (CDNA3 model);
 * every NaN is the canonical one. */
uint64_t kit_expect(const struct kit *t, unsigned block, unsigned i,
                    unsigned col);
/* Bits of D[i][col] as the registers hold them. */
uint64_t kit_result(const struct kit *t, unsigned block, unsigned i,
                    unsigned col);

/* Lane and element of A(row, k) / B(k, col), and of D. */
struct kit_at {
    unsigned lane, element;
};
struct kit_at kit_where(const struct kit *t, bool b, unsigned block,
                        unsigned row, unsigned k);
struct kit_at kit_where_d(const struct kit *t, unsigned block, unsigned i,
                          unsigned col);
unsigned kit_bits(const struct kit *t, bool b);
/* Code of the value 1 in the format of an operand. */
uint64_t kit_one(const struct kit *t, bool b);

#endif
