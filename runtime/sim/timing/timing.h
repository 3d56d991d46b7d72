/* timing.h - predicted time of a launch.
 *
 * Three steps, each a file: timing_record.c runs a workgroup on the functional
 * simulator and keeps, for each wave, the instructions in order and what its
 * memory accesses cost; timing_cu.c replays the waves of the workgroups that
 * share a compute unit, clock by clock; timing_launch.c adds rounds, caches,
 * memory and the clock the chip holds. The model sees the code object, the
 * launch and the sizes of the buffers and nothing else. Its constants are in
 * timing.def, its errors in docs/timing.md. Whatever it says is predicted. */
#ifndef KN_TIMING_H
#define KN_TIMING_H

#include "../sim.h"

/* X(id, text): what a wave waits for, as the breakdown names it. */
#define KN_STALLS(X) \
    X(MFMA, "matrix pipe busy") \
    X(VALU, "vector pipe busy") \
    X(SHADOW, "vector op in the shadow of a matrix op") \
    X(ISSUE, "issue slot taken by another wave") \
    X(NOP, "s_nop") \
    X(LDS_DATA, "wait for LDS data") \
    X(LDS_QUEUE, "LDS queue full") \
    X(VM_DATA, "wait for memory data") \
    X(VM_QUEUE, "memory queue full") \
    X(SMEM, "wait for scalar data") \
    X(BARRIER, "barrier") \
    X(BRANCH, "branch") \
    X(FETCH, "instruction fetch")

enum kn_stall {
#define X(id, text) KN_W_##id,
    KN_STALLS(X)
#undef X
    KN_NSTALLS
};

/* X(id, text): what bounds the launch. */
#define KN_BOUNDS(X) \
    X(MFMA, "MFMA") \
    X(LDS, "LDS") \
    X(VMEM, "VMEM") \
    X(LATENCY, "latency") \
    X(ISSUE, "issue") \
    X(HBM, "HBM") \
    X(LAUNCH, "launch")

enum kn_time_bound {
#define X(id, text) KN_B_##id,
    KN_BOUNDS(X)
#undef X
    KN_NBOUNDS
};

/* X(id, text): what most of the matrix instructions multiply; of two types the
 * wider. MX: with scales as operands. */
#define KN_TIME_TYPES(X) \
    X(NONE, "no matrix operation") \
    X(F64, "f64") \
    X(F32, "f32") \
    X(F16, "f16 or bf16") \
    X(I8, "i8") \
    X(F8, "8-bit floats") \
    X(MX8, "MX, 8 bits") \
    X(MX6, "MX, 6 bits") \
    X(MX4, "MX, 4 bits")

enum kn_time_type {
#define X(id, text) KN_TT_##id,
    KN_TIME_TYPES(X)
#undef X
    KN_NTIMETYPES
};

enum { KN_TIME_HOT = 8 };

struct kn_time_hot {         /* where the loop waits, costliest first */
    uint32_t inst;           /* index into the program */
    uint64_t pc;
    enum kn_stall cause;
    double share;            /* of the wave time in the loop */
    const char *place;       /* of the query, NULL: not known */
};

struct kn_time_result {
    double us, tflops;       /* of the whole launch */
    double low, high;        /* measured objects like this one are between
                                these shares of their predicted time more,
                                low <= 0 <= high (timing_error.h) */
    uint32_t validated;      /* so many of them; 0: the error is not known */
    enum kn_time_type type;
    enum kn_time_bound bound;
    double clock_ghz;        /* what the chip is expected to hold */
    double loop_cycles;      /* one iteration of the main loop, 0: no loop */
    double mfma_efficiency;  /* share of the loop its matrix pipes run */
    double mfma_duty;        /* of the whole launch */
    double group_cycles;     /* one workgroup, dispatch to last store */
    double prologue_cycles, epilogue_cycles;
    uint64_t workgroups, loop_iterations;
    uint32_t resident;       /* workgroups that share a compute unit */
    double rounds;
    double l2_miss;          /* share of the bytes read that leave the L2 */
    double hbm_share;        /* and that leave the last-level cache */
    bool warm;               /* a launch before left the buffers in it */
    double read_bytes, write_bytes; /* of the launch, at the L1's door */
    double hbm_bytes;
    double busy_lds, busy_vmem; /* share of the loop */
    double stall[KN_NSTALLS];   /* shares of the wave time in the loop */
    uint32_t nhot;
    struct kn_time_hot hot[KN_TIME_HOT];
    double peak_tflops;      /* of the matrix operations in use, at fmax */
    double ceiling_tflops;   /* of them with all pipes always busy, at the
                                clock the chip would hold then */
    double hbm_tbs;          /* bandwidth the model gives the memory */
    double seconds;          /* this prediction took */
};

struct kn_trace;

/* A split-K workspace, whose counters get what makes each of the workgroups of
 * a tile the last to come, the longest way. */
struct kn_time_shares {
    uint64_t workspace;
    uint32_t n;              /* of K; 0 or 1: undivided */
    uint32_t first, strips;  /* from counter number first on they are of so many waves that
                              * share a scale; 0: none are */
    uint32_t each, edge;     /* the last of so many in turn of `edge` waves; 0: of all */
};

/* The launch runs on `sim`, partly and more than once, so its memory is not
 * worth anything afterwards: give a device of its own. `flops`: what the
 * caller counts as work; 0: what the executed matrix operations do. */
struct kn_time_query {
    struct kn_sim *sim;
    const struct kn_sim_launch *launch;
    double flops;
    double bytes;            /* of memory that it touches at least once, if the
                                caller knows: a prediction faster than they
                                are is refused */
    bool warm;               /* the same launch ran just before: where all
                                buffers of `sim` fit into the last-level cache
                                they are still there */
    bool whole;              /* leave nothing out: data is moved and every
                                period recorded and replayed. Slow, and what
                                the short way is compared with */
    const char *constants;   /* of the model, in place of its own:
                                "NAME=V,NAME=V"; NULL: none */
    const uint32_t *work;    /* by workgroup: turns of its loop, 0 where it
                                ends at once; NULL: found by probing */
    struct kn_time_shares shares; /* of K, each run anew as the last to come */
    const char *const *place; /* where each instruction comes from; an entry
                                or all may be NULL */
    struct kn_buf *trace;    /* receives a Chrome trace, may be NULL */
    struct kn_buf *svg;      /* receives a picture, may be NULL */
};

/* INTERNAL: the model came out below what the chip's peaks allow, see
 * docs/timing.md, "Laws". BAD_INPUT: constants it does not have, or that are not
 * within KN_CONSTANT_REACH times its own (none of 1 or more falls below), or such
 * a time with them. */
enum { KN_CONSTANT_REACH = 16 };
kiln_status kn_time_predict(struct kn_ctx *c, const struct kn_time_query *q,
                            struct kn_time_result *out);

/* Microseconds the launch would take, on a shadow of `sim`. */
kiln_status kn_time_launch(struct kn_ctx *c, struct kn_sim *sim,
                           const struct kn_sim_launch *l,
                           const struct kn_time_shares *shares, double *us);

const char *kn_stall_name(enum kn_stall s);
const char *kn_bound_name(enum kn_time_bound b);
const char *kn_time_type_name(enum kn_time_type t);

#endif
