/* code_facts.h - what the bytes alone say about a kernel beyond counting: bank
 * conflicts of LDS accesses, work and bound of loops. */
#ifndef KN_CODE_FACTS_H
#define KN_CODE_FACTS_H

#include "../../../emit/isa/cfg.h"

/* The LDS address of each lane of the first wave, where the kernel computes
 * it from the lane number alone; a part that is the same for all lanes may be
 * missing, which turns the banks but makes no conflict. */
struct kn_bank_access {
    uint32_t inst;
    uint32_t bytes;          /* of each lane */
    uint32_t clocks, best;   /* of the banks; without conflicts */
    const uint32_t *address; /* [64] */
};

struct kn_bank_facts {
    uint32_t naccess;        /* decided ones, by instruction */
    struct kn_bank_access *access;
    uint32_t undecided;      /* LDS accesses whose addresses are not known */
};

/* Follows the registers of the first wave, all lanes active, along every
 * path. */
kiln_status kn_banks_find(struct kn_ctx *c, const struct kn_cfg *g,
                          struct kn_bank_facts *out);

/* Multiplications and additions of one matrix instruction, all of a wave; 0
 * if it is none. */
uint64_t kn_inst_flops(const struct kn_inst *i);

/* How often a loop runs, if its counter starts, steps and ends at constants:
 * that count; else 0, and *end names the register it ends at (-1: unknown). */
uint64_t kn_loop_bound(const struct kn_cfg *g, uint32_t loop, int *end);

#endif
