/* machine.h - the state the simulator executes on: wave, workgroup, and the
 * hooks by which an exec function reports. Internal to runtime/sim.
 *
 * exec_*.c files implement `void kn_exec_<x>(struct kn_wave *, const struct
 * kn_inst *)`, bound to rows of isa.def by exec.def. An exec function reads
 * all sources before it writes anything (a load may overwrite its own
 * address), obeys EXEC except where the ISA says not (MFMA, readlane, ...),
 * and never checks waits itself: kn_use_* do. */
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

/* Why a register must not be touched yet. */
struct kn_pending {
    uint32_t seq;            /* position in the counter's queue; 0 = free */
    uint8_t counter;         /* enum kn_counter bits */
    uint64_t pc;             /* the asynchronous instruction */
};

struct kn_wave {
    struct kn_group *group;
    uint32_t id;             /* wave number in the workgroup */
    uint32_t pc;             /* index into program->inst */
    bool done, at_barrier;
    bool scc;
    uint8_t prio;
    uint32_t mode;           /* MODE register */
    uint32_t accum_offset;
    uint32_t s[KN_NSREG];
    uint32_t (*v)[KN_LANES]; /* [KN_NVREG][64] */
    /* Fast flags: nonzero sends an operand to the slow path. */
    uint8_t vflag[KN_NVREG]; /* KN_VF_* */
    uint8_t sflag[KN_NSREG];
    uint64_t vinit[KN_NVREG];/* lanes ever written */
    struct kn_pending vpend[KN_NVREG], spend[KN_NSREG];
    uint64_t steps, instructions, macs;
    struct kn_async *async;  /* outstanding operations, owned by async.c */
    struct kn_hazard *hazard;/* wait-state history, owned by hazard.c */
    kiln_status status;      /* UNSUPPORTED etc.: stops the run */
};

enum { KN_VF_PENDING = 1, KN_VF_UNINIT = 2, KN_VF_HAZARD = 4 };

struct kn_group {
    struct kn_run *run;      /* launch-wide: program, sim, options */
    uint64_t linear;         /* workgroup number */
    uint32_t wg[3];
    uint32_t nwaves;
    struct kn_wave *wave;
    uint8_t *lds;
    uint32_t lds_size;
    struct kn_lds_shadow *shadow;
    uint32_t epoch;          /* barrier count */
    kiln_target target;
};

static inline uint64_t
kn_exec_mask(const struct kn_wave *w)
{
    return (uint64_t)w->s[KN_S_EXEC + 1] << 32 | w->s[KN_S_EXEC];
}

/* Slow paths of operand access (async.c): check pending and uninitialised
 * state, report, and keep going. Called only when the flag is nonzero. */
void kn_use_vgpr(struct kn_wave *w, const struct kn_inst *i, unsigned reg,
                 unsigned n, bool write);
void kn_use_sgpr(struct kn_wave *w, const struct kn_inst *i, unsigned reg,
                 unsigned n, bool write);

/* Unified register number of operand o (AGPRs shifted by accum_offset). */
static inline unsigned
kn_vreg(const struct kn_wave *w, const struct kn_opnd *o)
{
    return o->reg + (o->kind == KN_O_AGPR ? w->accum_offset : 0);
}

/* Adds a finding (findings.c); lane < 0: none in particular. */
void kn_report(struct kn_wave *w, const struct kn_inst *i,
               enum kn_finding_kind kind, int lane, uint64_t address,
               const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Stops the run: this instruction or modifier is not implemented. */
void kn_unsupported(struct kn_wave *w, const struct kn_inst *i,
                    const char *what);

#endif
