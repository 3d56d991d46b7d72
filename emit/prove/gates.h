/* gates.h - demands on the final bytes of every generated kernel. A repaired
 * or reordered program is refused rather than shipped: LLVM adds a wait where
 * ours was too weak, spills where our registers were too many. */
#ifndef KN_GATES_H
#define KN_GATES_H

#include "../../ir/ir.h"
#include "../isa/isa.h"

enum kn_gate {
#define GATE(id, name, registers, text) KN_GATE_##id,
#include "gates.def"
#undef GATE
    KN_NGATES
};

/* What the generator planned. Zero numbers are not checked. */
struct kn_gate_plan {
    uint32_t max_regs;       /* allocated per lane, unified file */
    uint32_t max_lds;        /* static bytes */
    uint32_t mfma;           /* matrix instructions of one turn of the main
                                loop; 0: the kernel has no main loop */
    const uint8_t *vm;       /* the vm=N fences of one turn, any order */
    uint32_t nvm;
    bool walks;              /* the main loop walks output tiles, its K loops
                                are unrolled: its waits are not compared, as
                                LLVM repeats those of the lookup of a tile */
    const char *const *waived;  /* names of gates that may fail */
    uint32_t nwaived;
};

/* Read off the kernel's wave-level program. */
struct kn_gate_plan kn_gate_demand(struct kn_ctx *c, const struct kn_fn *f);

const char *kn_gate_name(enum kn_gate g);

/* FINDING with a sentence that begins "gate NAME: " and has the address of
 * the instruction, for the first gate that fails and is not waived;
 * BAD_INPUT for a waiver that names no gate. The main loop is
 * kn_cfg_main_loop. */
kiln_status kn_gates_check(struct kn_ctx *c, const struct kn_program *p,
                           const struct kn_gate_plan *plan);

#endif
