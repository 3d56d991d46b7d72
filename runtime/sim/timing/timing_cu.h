/* timing_cu.h - the state of the compute unit that timing_cu.c replays, also
 * seen by the trace. Times are clocks since the workgroups were dispatched. */
#ifndef KN_TIMING_CU_H
#define KN_TIMING_CU_H

#include "timing_impl.h"

enum {
    KN_VM_OUT = 63, KN_LGKM_OUT = 15, /* counter widths, CDNA3 ISA 4.4 */
    KN_LDS_FIFO = 8, KN_QUEUE = 64, KN_FLIGHTS = 4096, KN_ARRIVALS = 4096,
    KN_Q_VMEM = 2,
    KN_L1_SETS = 64, KN_L1_WAYS = 4 /* 32 KB of 128 B lines */
};

/* X(id, process, thread, many): what the trace shows; many: of one thread more
 * than one at a time, which a trace has as asynchronous events. */
#define KN_TRACKS(X) \
    X(WAVE, "waves", "wave", 0) \
    X(MFMA, "matrix pipes", "SIMD", 0) \
    X(LDS, "LDS", "SIMD pair", 0) \
    X(VMEM, "vector memory: L1", "TCP", 0) \
    X(FLIGHT, "vector memory: until data is back", "wave", 1)

enum kn_track {
#define X(id, process, thread, many) KN_TR_##id,
    KN_TRACKS(X)
#undef X
    KN_NTRACKS
};

enum { KN_TRACE_EVENTS = 40000 };

struct kn_time_trace {
    struct kn_buf *out;
    const struct kn_program *program;
    const char *const *place; /* of its instructions, may be NULL */
    uint64_t events;
    uint64_t named[KN_NTRACKS];
};

struct kn_span {
    uint64_t from, to;
    uint32_t inst;           /* what is executed, or waits */
};

void kn_trace_open(struct kn_time_trace *t, const struct kn_time_model *m,
                   struct kn_buf *out);
void kn_trace_close(struct kn_time_trace *t);
/* Names the span after its instruction unless `name` says otherwise. t may be
 * NULL: nobody looks. */
void kn_trace_span(struct kn_time_trace *t, enum kn_track track, unsigned n,
                   const char *name, const struct kn_span *s);

struct done_ring {           /* completion times, in order */
    uint64_t n;
    uint64_t at[64];
};

static inline void
push_done(struct done_ring *r, uint64_t t)
{
    if (r->n && r->at[(r->n - 1) % 64] > t)
        t = r->at[(r->n - 1) % 64];
    r->at[r->n++ % 64] = t;
}

/* When at most `left` of the operations are still outstanding. */
static inline uint64_t
done_below(const struct done_ring *r, unsigned left)
{
    return r->n > left ? r->at[(r->n - left - 1) % 64] : 0;
}

struct wave {
    const struct kn_time_event *event;
    const uint64_t *line;    /* of its record */
    uint64_t own;            /* added to each line: a copy's are its own */
    size_t n, at;
    uint64_t ready;          /* when it may try to issue */
    uint64_t turn;           /* slot it had its turn in, plus one */
    uint64_t ticket;         /* its place among those a full queue stopped */
    uint8_t queue;           /* which: SIMD pair, or KN_Q_VMEM */
    bool done, blocked;      /* blocked: at a barrier */
    uint8_t simd, prio;
    uint32_t group;
    struct done_ring vm, ds;
    uint64_t smem;           /* when the last scalar load is there */
    uint64_t stored;         /* when its last store is out */
};

struct group {
    uint32_t alive, arrived;
};

struct simd {
    uint64_t valu;           /* vector port free */
    uint64_t xdl;            /* matrix pipe free */
    uint64_t shadow;         /* vector ops may issue beside a matrix op */
    bool run;                /* a matrix op ran */
    double mfma;
};

struct lds_pair {
    uint64_t issue, free;
    uint64_t n, dma_seen;
    uint64_t start[KN_LDS_FIFO]; /* when each of the queue was served */
};

struct arrival {             /* direct-to-LDS data */
    uint64_t at, clk;
};

struct flight {
    uint64_t back, bytes;
};

struct fetch {
    uint32_t line;           /* plus one; 0: none */
    uint64_t at;
};

struct head {                /* the first wave meets the loop head */
    uint64_t at;
    double mfma, lds, vmem;
    double weight;           /* turns that the one before stands for */
    bool again;              /* from a turn, not from outside */
};

struct cu {
    struct kn_ctx *c;
    const struct kn_time_chip *chip;
    const struct kn_time_env *env;
    const struct kn_time_inst *inst;
    const struct kn_program *program;
    struct kn_time_trace *trace;
    uint64_t now, end, tickets;
    uint32_t nwaves;
    struct wave *wave;
    struct group *group;
    struct simd simd[4];
    struct lds_pair pair[2];
    uint64_t ndma;
    struct arrival dma[KN_ARRIVALS];
    uint64_t tcp_n, tcp_free, tcp_start[KN_QUEUE];
    uint64_t fly_head, fly_n, fly_bytes;
    struct flight fly[KN_FLIGHTS];
    uint64_t back;           /* the last load is back */
    uint64_t left;           /* the first wave was last in the loop */
    bool inside;             /* it has not left it since the last head */
    double data, wrote;      /* bandwidth is spent until */
    uint64_t l1[KN_L1_SETS][KN_L1_WAYS]; /* most recent first */
    uint32_t nfetch;
    struct fetch *fetch;
    const struct kn_time_periods *periods; /* of the only workgroup, or NULL */
    double weight;           /* how often what happens counts */
    uint32_t windows;        /* behind the first wave */
    uint64_t opened;         /* when the one it is in began */
    double left_out;         /* clocks that were not replayed */
    size_t nhead, headcap;
    struct head *head;
    double lds_busy, vmem_busy, read_lines;
    double waiting[KN_NSTALLS];
    double *inst_wait;
};

/* Time in the main loop that a wave did not issue. */
static inline void
note_wait(struct cu *u, const struct wave *w, enum kn_stall why, uint64_t clk)
{
    uint32_t inst = w->event[w->at].inst;

    if (!u->inst[inst].in_loop)
        return;
    u->waiting[why] += (double)clk * u->weight;
    u->inst_wait[(size_t)inst * KN_NSTALLS + why] += (double)clk * u->weight;
}

/* The instruction a wave is at. */
static inline uint32_t
inst_of(const struct wave *w)
{
    return w->event[w->at].inst;
}

static inline uint64_t
later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* timing_mem.c: when a wave's instruction could be taken, and taking it. */
uint64_t kn_time_lds_earliest(const struct cu *u, const struct wave *w,
                              enum kn_stall *why);
void kn_time_issue_lds(struct cu *u, struct wave *w,
                       const struct kn_time_inst *i, uint32_t fact);
uint64_t kn_time_vmem_earliest(const struct cu *u, enum kn_stall *why);
void kn_time_issue_vmem(struct cu *u, struct wave *w,
                        const struct kn_time_inst *i, uint32_t fact);
void kn_time_issue_smem(const struct cu *u, struct wave *w,
                        const struct kn_time_inst *i);

#endif
