/* timing_impl.h - what the files of the timing model share. */
#ifndef KN_TIMING_IMPL_H
#define KN_TIMING_IMPL_H

#include <string.h>

#include "../../../emit/isa/cfg.h"
#include "../machine.h"
#include "timing.h"

/* ---- constants ---------------------------------------------------------- */

struct kn_time_chip {
#define X(name, gfx942, gfx950, unit, source) double name;
#include "timing.def"
#undef X
};

void kn_time_chip_of(kiln_target t, struct kn_time_chip *out);
/* Puts the constants of a query in place of the chip's. */
kiln_status kn_time_chip_with(struct kn_ctx *c, const char *constants,
                              struct kn_time_chip *chip);

/* ---- instructions ------------------------------------------------------- */

enum kn_time_class {
    KN_TC_SALU, KN_TC_VALU, KN_TC_PACKED, KN_TC_MFMA, KN_TC_LDS, KN_TC_VMEM,
    KN_TC_SMEM, KN_TC_BRANCH, KN_TC_WAIT, KN_TC_BARRIER, KN_TC_NOP,
    KN_TC_PRIO, KN_TC_END, KN_TC_INTERNAL
};

/* Static costs of an instruction, in clocks where nothing else is said. */
struct kn_time_inst {
    uint8_t cls;             /* enum kn_time_class */
    uint8_t port;            /* issue category, one a slot: enum kn_unit */
    uint8_t vm, lgkm;        /* s_waitcnt */
    uint8_t counters;        /* KN_C_*: what it makes outstanding */
    uint8_t arg;             /* s_setprio: priority */
    uint8_t width;           /* MFMA: bits of the widest operand type */
    bool store, dma, head;   /* head: first of the main loop */
    bool shared;             /* in memory that all chiplets see: an atomic, a
                                scalar load past the caches */
    bool in_loop;
    uint16_t busy;           /* of its unit */
    uint16_t next;           /* until the wave may issue again */
    uint32_t line;           /* of the instruction cache, 64 B */
};

/* ---- recorded execution ------------------------------------------------- */

struct kn_time_event {
    uint32_t inst;
    uint32_t fact;           /* LDS: clocks of the banks; VMEM: index into
                                lines[]: their number, then the lines */
};

struct kn_time_wave {
    struct kn_time_event *event;
    size_t n, cap;
    uint64_t seen;           /* instructions, recorded or not */
    uint64_t progress;       /* of them up to the last that did some work */
    uint32_t fact;           /* of the instruction that is executing */
};

/* A wave that does nothing but this many scalar instructions and loads waits
 * for another workgroup, which is not there: its end. */
enum { KN_TIME_IDLE = 20000 };

static inline bool
kn_time_works(const struct kn_time_inst *i)
{
    return i->cls == KN_TC_MFMA || i->cls == KN_TC_LDS || i->store || i->dma;
}

/* Equal turns of a workgroup: of the outermost loop that each of its waves
 * spends most instructions in, tiles of a persistent one. Some are not
 * recorded; those in the window before them count `more` times more. */
struct kn_time_window {
    size_t from, to;         /* events of the first wave */
    double more;
};

struct kn_time_periods {
    struct kn_time_window *window;
    uint32_t n;              /* 0: everything is recorded */
};

/* Instructions of neighbours that are recorded beside the longest workgroup. */
enum { KN_TIME_NEIGHBOURS = 4 << 20 };

struct kn_time_record {      /* of one workgroup */
    struct kn_ctx *c;
    const struct kn_time_inst *inst;
    const struct kn_program *program;
    kiln_target target;
    uint32_t nwaves;
    struct kn_time_wave *wave;
    uint64_t *line;          /* of 128 B: address / 128 */
    size_t nline, cap;
    uint64_t nevents;
    double read, written;    /* bytes */
    struct kn_time_periods periods;
    struct kn_time_gaps *gaps; /* of each wave; NULL: none */
    bool *blind;             /* of each wave: in a gap of its */
    struct kn_time_lds_memo *memo;
    double macs;
    double mfma[3];          /* clk of a SIMD by width: 16 and up, 8, 4 */
    double mfma_flops;
};

/* What the device runs, prepared once. */
struct kn_time_model {
    struct kn_ctx *c;
    const struct kn_time_query *q;
    struct kn_time_chip chip;
    const struct kn_object_kernel *kernel;
    struct kn_program program;
    struct kn_cfg cfg;
    struct kn_time_inst *inst;
    uint32_t nwaves, lds;
    uint64_t groups;
    uint32_t *last;          /* counters of the query's shares; NULL: none */
    bool *blind;             /* [nwaves], true: of no wave are addresses wanted */
    double length;           /* instructions of the first wave of the longest
                                workgroup */
};

kiln_status kn_time_classify(struct kn_time_model *m);
/* Marks the main loop of each wave, from what was executed. */
void kn_time_find_loops(struct kn_time_model *m,
                        const struct kn_time_record *r);
/* alone: nobody shares its compute unit, so equal periods may be left out. */
kiln_status kn_time_record_group(struct kn_time_model *m, uint64_t group,
                                 bool alone, struct kn_time_record *out);

/* ---- equal periods (timing_periods.c) ----------------------------------- */

struct kn_time_gap {         /* instructions of a wave, from its first on: */
    uint64_t from, to;       /* the window, */
    uint64_t until;          /* and where what it stands for ends */
};

struct kn_time_gaps {        /* of a wave, in order */
    struct kn_time_gap *gap;
    uint32_t at;             /* the one it comes to next or is in */
};
/* gaps: of each wave, or NULL where nothing is to be left out. */
kiln_status kn_time_find_periods(struct kn_time_model *m, uint64_t group,
                                 struct kn_time_periods *out,
                                 struct kn_time_gaps **gaps);
/* Clocks the LDS banks need for an access. */
uint32_t kn_time_lds_clocks(kiln_target t, const struct kn_sim_access *a);
/* The pass of the banks that serves a lane of it. */
unsigned kn_time_lds_pass(kiln_target t, const struct kn_sim_access *a,
                          unsigned lane);

/* ---- who runs with whom (timing_plan.c) --------------------------------- */

/* Compute units of a chiplet that the launch has. */
uint64_t kn_time_cus_of_xcd(const struct kn_time_model *m);

struct kn_time_level {       /* of a launch, by workgroups on a CU */
    double turns;            /* how long, in the longest workgroup's times */
    double cus;              /* that its workgroups would fill */
};

struct kn_time_plan {
    uint32_t resident;       /* most workgroups that share a CU */
    double rounds;           /* turns of all levels */
    bool uniform;            /* all workgroups are alike */
    double *len;             /* of each, instructions of its first wave */
    uint64_t longest;
    double total;            /* sum of lengths, in the longest's */
    uint64_t *ids, active;   /* workgroups that do not end at once, in order */
    struct kn_time_level *level; /* [resident + 1] */
};

kiln_status kn_time_make_plan(struct kn_time_model *m, struct kn_time_plan *p);
/* The longest and those that share its CU in the first round, as long as it:
 * id[resident]. Returns how many there are. */
uint32_t kn_time_neighbours(const struct kn_time_model *m,
                            const struct kn_time_plan *p, uint64_t *id);

/* ---- caches (timing_cache.c) -------------------------------------------- */

/* How the workgroups that run at the same time share what they read. */
struct kn_time_reuse {
    double l2_miss;          /* distinct lines of a chiplet / of the CUs */
    double hbm;              /* distinct lines of the chip / of the CUs */
    double bytes;            /* of distinct lines of the chip that were seen */
};
kiln_status kn_time_find_reuse(struct kn_time_model *m,
                               const struct kn_time_plan *p,
                               struct kn_time_reuse *out);
/* Length of each workgroup in instructions of its first wave: len[groups],
 * zero on entry. uniform: all that were probed are alike. */
kiln_status kn_time_find_lengths(struct kn_time_model *m, double *len,
                                 bool *uniform);
/* kn_sim_run on the query's device, its findings ignored; the workgroups find
 * the counters of split-K as those do that come last. */
kiln_status kn_time_run(struct kn_time_model *m,
                        const struct kn_sim_launch *l);

/* ---- compute unit ------------------------------------------------------- */

/* Recorded workgroups that share the CU; where it holds more than were
 * recorded they come again, each time with lines of their own. */
struct kn_time_cast {
    const struct kn_time_record *group;
    uint32_t n;
};

struct kn_time_env {         /* what the rest of the chip lets a CU have */
    double ghz;
    double latency;          /* clk of a load that misses the L1 */
    double read, write;      /* bytes a clk */
    double add;              /* of what atomics add to */
    uint32_t resident;       /* workgroups on the CU */
};

struct kn_time_cu {          /* a replay */
    double cycles;           /* until the last store is out */
    uint64_t heads;          /* how often the first wave met the loop head */
    double steady;           /* turns that count */
    double entered, left;    /* clk of its first meeting; of its last
                                instruction there */
    double span;             /* clk of the turns that count */
    double read;             /* bytes the L1 did not have */
    double mfma;             /* clk, mean of the SIMDs, whole replay */
    double loop_mfma, loop_lds, loop_vmem; /* in them */
    double waiting[KN_NSTALLS];            /* clk of all waves there */
    double *inst_wait;       /* [program][KN_NSTALLS], the same */
    double waves;
};

struct kn_time_trace;

/* trace: receives what happens, may be NULL. */
kiln_status kn_time_replay(struct kn_time_model *m,
                           const struct kn_time_cast *who,
                           const struct kn_time_env *env,
                           struct kn_time_trace *trace,
                           struct kn_time_cu *out);

/* ---- laws (timing_law.c) ------------------------------------------------ */

struct kn_time_work {        /* of a launch */
    double bytes;            /* of memory it touches at least once */
    double left_l2;          /* and that its L2s read */
    double mfma;             /* matrix clocks of a SIMD, of all workgroups */
    uint64_t longest;        /* instructions of the longest wave */
    double groups;           /* workgroups, in the longest's work */
    double slots;            /* of the chip, for workgroups */
};

/* INTERNAL where a prediction says what no chip can do. No figure of it is an
 * input of a prediction. */
kiln_status kn_time_check(struct kn_ctx *c, const struct kn_time_chip *chip,
                          const struct kn_time_work *w,
                          const struct kn_time_result *r);

/* timing_svg.c */
void kn_time_draw(const struct kn_time_result *r, const char *kernel,
                  struct kn_buf *out);

#endif
