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
    uint8_t more;            /* a read reaches into so many slots behind it */
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

#endif
