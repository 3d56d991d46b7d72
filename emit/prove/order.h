/* order.h - the order of a workgroup's LDS accesses, decided on the bytes
 * alone: which bytes each access touches, followed from the work-item id
 * through the registers of all waves, and whether a barrier with the right
 * waits separates any two accesses of different waves to one byte.
 *
 * Assumes a launch of max_workgroup work-items along x. */
#ifndef KN_ORDER_H
#define KN_ORDER_H

#include "check.h"

/* What was found of the barrier at an instruction: all waves execute it, or
 * only some do, so that these run a barrier behind the others. */
enum kn_order_barrier { KN_BAR_NONE, KN_BAR_ALL, KN_BAR_SOME };

/* One access as derived. */
struct kn_order_site {
    uint32_t inst;
    uint32_t foot;           /* equal bytes of equal waves: equal numbers */
    uint8_t kind;            /* KN_ACC_DMA, KN_ACC_READ or KN_ACC_WRITE */
};

/* What one kernel is worth: some seconds. */
#define KN_ORDER_WORK ((uint64_t)1 << 31)

struct kn_order {
    uint32_t naccesses;      /* instructions that touch LDS */
    uint32_t nopen;          /* of them: address not derived */
    uint32_t *open;          /* their indices, ascending */
    bool undecided;          /* control flow that cannot be followed */
    char why[160];
    uint32_t why_inst;
    uint32_t contexts;       /* blocks times what their registers hold */
    uint64_t work;           /* lanes computed and states of accesses compared,
                              * about: what bounds the time */
    uint32_t nsites;         /* those told apart */
    struct kn_order_site *site;
    uint8_t *barrier;        /* by instruction: enum kn_order_barrier; NULL:
                              * none is reached, or nothing is accessed */
    uint32_t nfindings;
    struct kn_check_finding finding[KN_CHECK_KEPT];
    struct kn_orderer *inside;
};

kiln_status kn_order_check(struct kn_ctx *c, const struct kn_program *p,
                           struct kn_order *out);

/* Whether LDS order is decided, whatever the answer is. */
static inline bool
kn_order_decided(const struct kn_order *o)
{
    return !o->undecided && !o->nopen;
}

/* Whether two sites touch a byte in common: of different waves, or at all. */
bool kn_order_crosses(const struct kn_order *o, uint32_t a, uint32_t b);
bool kn_order_meets(const struct kn_order *o, uint32_t a, uint32_t b);

#endif
