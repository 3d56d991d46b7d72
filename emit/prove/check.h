/* check.h - the static checker of final bytes: every wait a register or an LDS
 * slot needs, proven on the disassembled kernel alone.
 *
 * Without a certificate: register waits, wait states after matrix
 * instructions, wait-counter encodings, declared LDS and scratch. With one
 * (cert.h): which LDS slot each access touches, so that publication and refill
 * of slots are proven too. Works on anyone's kernel; never clean where it
 * could not follow the control flow. */
#ifndef KN_CHECK_H
#define KN_CHECK_H

#include "../isa/cfg.h"

enum kn_slot_access {
    KN_ACC_NONE, KN_ACC_DMA, KN_ACC_READ, KN_ACC_WRITE,
    KN_ACC_STAGGER, KN_ACC_REJOIN, KN_ACC_KINDS
};

/* What an instruction does to an LDS slot. own: it touches only chunks this
 * lane wrote itself, so no barrier lies between. Of an s_barrier: one that the
 * later half of the waves executes alone, to run a barrier behind, or the
 * first half, to be caught up with. */
struct kn_access {
    uint8_t kind, own;
    uint16_t slot;
    uint8_t more;            /* a read may be of the slot so much further on too */
};

struct kn_check_finding {
    uint32_t inst;           /* index into the program */
    enum kn_severity severity;
    char text[200];
};

/* Every instruction's access, and how many slots there are. */
struct kn_slots {
    struct kn_access *access;
    uint32_t n;
};

enum { KN_CHECK_KEPT = 16 };

struct kn_check_result {
    uint32_t nfindings;      /* all of them */
    uint32_t nadvice;        /* in a kernel that is not kiln's: more, weak */
    uint32_t nkept;
    struct kn_check_finding finding[KN_CHECK_KEPT];
    bool own;                /* kiln made it */
    bool undecided;          /* part of the kernel could not be followed */
    char why[160];
    uint32_t waits, accesses;
    uint32_t wait_states;    /* of the findings: too few after a matrix op */
    uint64_t work;           /* instructions looked at until all was settled */
};

/* enum kn_slot_access that the instruction itself tells: NONE, DMA, READ or
 * WRITE (an atomic too). */
uint8_t kn_lds_kind(const struct kn_inst *i);

/* slots: NULL without a certificate. Findings come before advice. */
kiln_status kn_check_program(struct kn_ctx *c, const struct kn_program *p,
                             const struct kn_slots *slots,
                             struct kn_check_result *out);

/* A report of instruction `inst`; NULL: no room, but counted. A finding takes
 * the place of the last advice. */
struct kn_check_finding *kn_check_add(struct kn_check_result *r, uint32_t inst,
                                      enum kn_severity severity);

/* Parts of it, by files: wait states after matrix instructions; what the
 * kernel declares against what its instructions do. */
kiln_status kn_check_mfma(struct kn_ctx *c, const struct kn_program *p,
                          struct kn_check_result *out);
kiln_status kn_check_facts(const struct kn_program *p,
                           struct kn_check_result *out);

/* order.c - the order of a workgroup's LDS accesses, decided on the bytes
 * alone: which bytes each access touches, followed from the work-item id
 * through the registers of all waves, and whether a barrier with the right
 * waits separates any two accesses of different waves to one byte.
 *
 * Assumes a launch of max_workgroup work-items along x. */

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

/* verdict.c - all of the static check of one kernel: registers and facts,
 * LDS order, both from the bytes alone; then what a certificate says, which can
 * only add to what is found. */

struct kn_verdict {
    struct kn_check_result bytes;
    struct kn_order order;
    const char *claim;       /* of the certificate that the bytes refute */
};

/* cert: the certificate's text, NULL: none. BAD_INPUT if it is no certificate
 * or of another kernel. */
kiln_status kn_verdict_find(struct kn_ctx *c, const struct kn_program *p,
                            const char *cert, size_t size,
                            struct kn_verdict *out);

static inline bool
kn_verdict_finds(const struct kn_verdict *v)
{
    return v->bytes.nfindings || v->order.nfindings || v->claim;
}

/* Nothing found and nothing left open. */
static inline bool
kn_verdict_clean(const struct kn_verdict *v)
{
    return !kn_verdict_finds(v) && !v->bytes.undecided &&
           kn_order_decided(&v->order);
}

#endif
