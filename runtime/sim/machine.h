/* machine.h - the state the simulator executes on: wave, workgroup, and the
 * hooks by which an exec function reports. Internal to runtime/sim.
 *
 * exec_*.c files implement `void kn_exec_<x>(struct kn_wave *, const struct
 * kn_inst *)`, bound to rows of isa.def by exec.def. Before it calls one, the
 * run loop (wave.c) has checked every explicit operand and the implicit ones
 * its row names for pending, uninitialised and hazardous state, counted the
 * instruction and set w->pc to the next one; afterwards it marks the explicit
 * destinations initialised. So an exec function
 *  - only computes: it never checks waits, hazards or initialisation;
 *  - reads all sources before it writes anything (a load may overwrite its
 *    own address);
 *  - obeys EXEC except where the ISA says not (MFMA, readlane, ...);
 *  - branches by kn_jump_inst / kn_jump_addr;
 *  - calls kn_unsupported for a modifier it does not implement. */
#ifndef KN_MACHINE_H
#define KN_MACHINE_H

#include "sim.h"

enum {
    KN_LANES = 64,
    KN_NVREG = 512,          /* unified file; AGPR n is v[accum_offset + n] */
    KN_NSREG = 128,          /* s0..s101, 106/107 vcc, 124 m0, 126/127 exec */
    KN_S_VCC = 106, KN_S_M0 = 124, KN_S_EXEC = 126,
    KN_POISON = 0x7fc0dead   /* pattern of a register nobody wrote */
};

/* High dwords of the flat apertures (src_shared_base, src_private_base). */
#define KN_SHARED_BASE_HI 0x00010000u
#define KN_PRIVATE_BASE_HI 0x00020000u

/* Lanes of a register that hold no defined value, and where that began. */
struct kn_undef {
    uint64_t lanes;
    uint32_t inst;           /* the load that brought it, or UINT32_MAX */
    uint8_t kind;            /* KN_F_UNINIT_REG, _LDS or _MEM */
};

/* Bits of vflag and sflag; nonzero sends an operand to the slow path. */
enum { KN_VF_PENDING = 1, KN_VF_UNINIT = 2 };

struct kn_wave {
    struct kn_group *group;
    uint32_t id;             /* wave number in the workgroup */
    uint32_t pc;             /* index into program->inst */
    uint32_t barrier_inst;   /* where it waits, if at_barrier */
    bool done, at_barrier;
    bool stop;               /* leave the run loop: done, barrier or status */
    bool scc;
    bool vskip;              /* s_setvskip: vector instructions do nothing */
    bool scc_undef;          /* SCC came from an uninitialised register */
    uint8_t prio;
    uint32_t mode;           /* MODE register */
    uint32_t accum_offset;
    uint32_t nvreg;          /* registers the kernel allocated */
    uint32_t s[KN_NSREG];
    uint32_t (*v)[KN_LANES]; /* [KN_NVREG][64] */
    uint8_t vflag[KN_NVREG + 16]; /* KN_VF_*; padded for wide reads */
    uint8_t sflag[KN_NSREG + 16];
    struct kn_undef vundef[KN_NVREG], sundef[KN_NSREG];
    uint64_t steps;          /* wait states: instructions, s_nop N is N+1 */
    uint64_t instructions, macs;
    uint32_t gpr_idx;        /* s_set_gpr_idx_on: mode bits 3:0; 0 = off */
    struct kn_async *async;  /* outstanding operations, owned by async.c */
    struct kn_hazard *hazard;/* wait-state history, owned by hazard.c */
    uint8_t *scratch;        /* [64][scratch_size] */
    uint8_t *scratch_init;   /* per byte: written */
    kiln_status status;      /* UNSUPPORTED etc.: stops the run */
};

struct kn_group {
    struct kn_run *run;      /* launch-wide; fields below and in core.h */
    struct kn_worker *worker;/* the host thread's caches, core.h */
    uint64_t linear;         /* workgroup number */
    uint32_t wg[3];
    uint32_t nwaves;
    struct kn_wave *wave;
    uint8_t *lds;
    uint32_t lds_size;
    struct kn_lds_shadow *shadow;
    uint32_t epoch;          /* barrier count */
    bool stalled;            /* the last turn ended without barrier or end */
    kiln_target target;
    enum kn_mfma_model mfma;
    struct kn_mfma_side *sides; /* decoded operands, mfma/mfma.h */
    const struct kn_program *program;
    uint64_t code_base;      /* device address of code object address 0 */
    uint32_t scratch_size;   /* bytes per lane */
};

typedef void kn_exec_fn(struct kn_wave *w, const struct kn_inst *i);

/* exec.c: the function of row `op`, NULL if nobody implements it. */
kn_exec_fn *kn_exec_lookup(unsigned op);
/* The same for an instruction: a shorter way where it has one. */
kn_exec_fn *kn_exec_of(const struct kn_inst *i);

/* Memory and synchronisation, to be named in exec.def. */
kn_exec_fn kn_exec_smem;     /* s_load*, s_store*, s_atomic*, s_memtime */
kn_exec_fn kn_exec_buffer;   /* MUBUF: buffer_* */
kn_exec_fn kn_exec_flat;     /* flat_*, global_*, scratch_* */
kn_exec_fn kn_exec_ds;       /* ds_* */
kn_exec_fn kn_exec_waitcnt;  /* s_waitcnt */
kn_exec_fn kn_exec_barrier;  /* s_barrier */
kn_exec_fn kn_exec_endpgm;   /* s_endpgm */
kn_exec_fn kn_exec_nop;      /* s_nop, s_sleep, s_setprio, cache control */
kn_exec_fn kn_exec_trap;     /* s_trap, s_sethalt: stops the run */

static inline uint64_t
kn_exec_mask(const struct kn_wave *w)
{
    return (uint64_t)w->s[KN_S_EXEC + 1] << 32 | w->s[KN_S_EXEC];
}

/* Unified register number of operand o (AGPRs shifted by accum_offset). */
static inline unsigned
kn_vreg(const struct kn_wave *w, const struct kn_opnd *o)
{
    return o->reg + (o->kind == KN_O_AGPR ? w->accum_offset : 0);
}

/* Continues at the branch target of i, or at a device address (s_setpc). */
void kn_jump_inst(struct kn_wave *w, const struct kn_inst *i);
void kn_jump_addr(struct kn_wave *w, const struct kn_inst *i, uint64_t addr);

/* Where a finding is: lane < 0: none in particular; other_inst: index of the
 * conflicting access, or KN_NO_INST. */
#define KN_NO_INST UINT32_MAX
struct kn_at {
    int lane;
    uint64_t address;
    uint32_t other_inst, other_wave;
};
#define KN_AT(lane, address) \
    ((struct kn_at){ (lane), (address), KN_NO_INST, 0 })
#define KN_PAIR(lane, address, inst, wave) \
    ((struct kn_at){ (lane), (address), (inst), (wave) })

/* Adds a finding (findings.c). */
void kn_report(struct kn_wave *w, const struct kn_inst *i,
               enum kn_finding_kind kind, struct kn_at at, const char *fmt,
               ...) __attribute__((format(printf, 5, 6)));
/* Missing wait states by a rule of this severity, which is advice at most for
 * an object kiln did not make. */
void kn_report_states(struct kn_wave *w, const struct kn_inst *i,
                      enum kn_severity rule, struct kn_at at, const char *fmt,
                      ...) __attribute__((format(printf, 5, 6)));
/* Stops the run: this instruction or modifier is not implemented. */
void kn_unsupported(struct kn_wave *w, const struct kn_inst *i,
                    const char *what);

/* exec_mfma.c: how far the arithmetic of this instruction can be trusted. */
enum kn_quality kn_mfma_quality(kiln_target t, enum kn_mfma_model model,
                                const struct kn_inst *i);

#endif
