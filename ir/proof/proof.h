/* proof.h - shared by the files of the fence proof (docs/ir.md, "The proof").
 *
 *   proof.c         the walk over loops and branches, one rule per operation
 *   proof_prepare.c what is found once per kernel: slots, tracked values
 *   proof_state.c   the abstract state: joins, waits, barriers
 *   proof_fixed.c   values that depend on the thread only, and what they are
 *   proof_access.c  which bytes of its LDS tile each access touches, by thread
 *   proof_range.c   offsets and record counts over the declared shape domain
 *   proof_interval.c arithmetic of intervals, for those
 *   proof_number.c  the values whose ranges matter
 *   proof_flow.c    which values may differ between the waves of a workgroup
 *
 * Nothing here is shared with the pass that places fences. */
#ifndef KN_PROOF_H
#define KN_PROOF_H

#include "../ir.h"

enum { PROOF_DEPTH = 33, PROOF_WRITES = 256 };

/* A set of the distinct writes of one LDS tile. */
struct proof_set {
    uint64_t w[PROOF_WRITES / 64];
};

/* What one LDS instruction touches. */
struct proof_access {
    int32_t slot;            /* number over all tiles, -1: not LDS */
    bool own;                /* only bytes that this wave alone writes */
    uint16_t id;             /* write: its number among the tile's writes */
    uint8_t span;            /* read: of so many slots from this one on, */
    uint8_t next;            /* ... the second so many slots further */
    uint32_t nneed[2];       /* read: for each set, one write of it must */
    const struct proof_set *need[2]; /* have filled the slot before */
};

/* Two in-order queues. Every operation gets a stamp when it is issued; the
 * ones up to `done` have completed on every path. */
enum { PROOF_VM, PROOF_LGKM, PROOF_QUEUES };
enum { PROOF_DONE = INT32_MIN / 2 }; /* stamp: nothing outstanding */

struct proof_queue {
    int32_t now, done;
};

/* One LDS slot as all waves together leave it. The waves of a workgroup run
 * the same path in step between barriers, so one wave's program order covers
 * every pair of their accesses. Between `stagger` and `rejoin` the later half
 * runs one barrier behind: while the first half executes what follows its
 * barrier n, the later half executes what follows barrier n - 1. The worst
 * pair is then the later half's access and the first half's next one, which
 * two barriers of the program keep apart, not one. */
struct proof_slot {
    int32_t fill[PROOF_QUEUES]; /* youngest write: copies, stores */
    int32_t read, own;       /* youngest read: of other waves' bytes, of own */
    uint8_t dirty;           /* barriers until what was written and has
                              * completed is published; 0: it is */
    bool shared;             /* ... by other waves than the owner's */
    uint8_t busy;            /* barriers until the reads are over */
    bool consumed;           /* read since it was filled */
    struct proof_set filled; /* writes since it was consumed */
    /* where it went wrong, for the sentence */
    struct kn_loc write_at, read_at;
    struct kn_loc barrier_at;   /* first barrier passed while in flight */
    int queue;                  /* which queue it was in there */
    int32_t behind, allowed;    /* its counts there */
};

struct proof_state {
    bool live;
    bool apart;              /* the later half runs a barrier behind */
    struct proof_queue q[PROOF_QUEUES];
    struct proof_slot *slot;
    int32_t *load;           /* by place: youngest load into it */
    int32_t *lds;            /* by place: youngest LDS read it holds */
    int32_t share;           /* youngest coherent store */
    int32_t arrival;         /* youngest `arrive` */
    bool arrived;            /* one was issued since the last such store */
};

struct proof {
    struct kn_ctx *c;
    const struct kn_fn *f;
    uint32_t nslots;
    uint32_t *first;         /* LDS tile -> number of its first slot */
    uint16_t *tile;          /* slot number -> LDS tile */
    struct proof_access *access; /* by instruction */
    uint32_t *place;         /* value -> its stamps; 0: is never outstanding */
    uint32_t nplace;
    struct proof_state exits[PROOF_DEPTH];
    int depth;
    /* Told of each instruction in front of it, if set. */
    void (*visit)(void *user, const struct proof *p, size_t at,
                  const struct proof_state *s);
    void *user;
};

/* ---- proof_prepare.c ---- */
/* What does not depend on fences, barriers and slots: once per kernel. */
kiln_status proof_prepare(const struct kn_fn *f, struct proof **out);

/* ---- proof.c ---- */
/* The order of everything; p->f may have other waits and slots since. */
kiln_status proof_order(struct proof *p);
/* On from ins[at], where a proof of p->f met *s, to the end of the loop or
 * branch it is in: a failure is one of proof_order. *p and *s are used up. */
kiln_status proof_onwards(struct proof *p, size_t at, struct proof_state *s);

/* ---- proof_access.c ---- */
kiln_status proof_accesses(struct proof *p);

/* ---- proof_fixed.c ---- */
struct proof_fixed {
    bool *fixed;             /* by value: the same at every execution of a line, by
                              * thread; or */
    bool *chosen;            /* ... one of two such, by a value that is none */
    bool *begin;             /* where a row begins in 16 bytes: 0, 4, 8 or 12, once in a
                              * kernel */
    bool *turned;            /* fixed but for that */
};
enum { PROOF_BEGINS = 4 };   /* values of `begin`: multiples of four */
/* Whether lanes of aligned groups have the same of x; value: of fixed values, by thread. */
bool proof_groups_agree(const struct kn_fn *f, const struct proof_fixed *m,
                        uint32_t *const *value, kn_ref x, uint32_t group);
struct proof_fixed proof_fixed_values(const struct kn_fn *f);

/* An operand: by thread, or the same for all. */
struct proof_operand {
    const uint32_t *each;
    uint32_t all;
};

static inline uint32_t
proof_of_thread(struct proof_operand o, uint32_t thread)
{
    return o.each ? o.each[thread] : o.all;
}

/* The result, by thread; zeros of an operation that is no such arithmetic. */
void proof_evaluate(const struct kn_ins *i, const struct proof_operand *o,
                    uint32_t threads, uint32_t *out);

/* ---- proof_flow.c ---- */
kiln_status proof_uniform(const struct proof *p);

/* ---- proof_number.c ---- */
struct proof_numbers {
    uint32_t *place;         /* by value, from 1; 0: nothing depends on it */
    uint32_t nplace, nkept;  /* places; those below nkept outlive a block */
    uint32_t *next;          /* by instruction: the first at it or behind it
                              * that sets or uses one of them */
};
void proof_numbers(const struct proof *p, struct proof_numbers *out);

/* ---- proof_range.c ---- */
kiln_status proof_ranges(const struct proof *p, struct kn_range_facts *facts);

/* ---- proof_state.c ---- */
struct proof_state proof_state_new(const struct proof *p);
struct proof_state proof_state_copy(const struct proof *p,
                                    const struct proof_state *from);
/* a becomes what holds in both; returns whether it changed. */
bool proof_join(const struct proof *p, struct proof_state *a,
                struct proof_state *b);
bool proof_pending(const struct proof_state *s, int queue, int32_t stamp);
int32_t proof_issue(struct proof_state *s, int queue);
/* At most `left` operations stay outstanding. */
void proof_wait(struct proof_state *s, int queue, int32_t left);
void proof_wait_for(struct proof_state *s, int queue, int32_t stamp);
void proof_barrier(const struct proof *p, struct proof_state *s,
                   struct kn_loc at);
/* The later half waits a barrier more; the first half does, which is a barrier
 * of the later half's that both pass. */
void proof_stagger(const struct proof *p, struct proof_state *s);
void proof_rejoin(const struct proof *p, struct proof_state *s,
                  struct kn_loc at);
/* Barriers that keep two waves' accesses apart. */
static inline uint8_t
proof_apart(const struct proof_state *s)
{
    return s->apart ? 2 : 1;
}

static inline bool
proof_is_value(kn_ref r)
{
    return r && KN_REF_TAG(r) == KN_R_VAL;
}

static inline bool
proof_is_fixed(const struct proof_fixed *m, kn_ref r)
{
    return !proof_is_value(r) || (m->fixed[KN_REF_INDEX(r)] &&
                                  !m->chosen[KN_REF_INDEX(r)]);
}

static inline uint32_t
proof_place(const struct proof *p, kn_ref r)
{
    return p->place[KN_REF_INDEX(r)];
}

/* Operations that emit no instruction by themselves. */
static inline bool
proof_renames(enum kn_op op)
{
    return op == KN_OP_mov || op == KN_OP_cat || op == KN_OP_slice ||
           op == KN_OP_bits || op == KN_OP_used || op == KN_OP_assume;
}

#define PROOF_FAIL(p, at, ...)                                                \
    kn_fail_at((p)->c, KILN_FINDING, at, __VA_ARGS__)

/* proof_interval.c - intervals of integers, for the shape-domain proof. */

/* The integer that a value's formula means. */
struct interval {
    int64_t lo, hi;
    uint32_t bad;            /* 1 + instruction that may wrap; 0: exact */
};

/* An instruction and its operands; of a select the two that it chooses from. */
struct interval_calc {
    const struct kn_fn *f;
    const struct kn_ins *i;
    struct interval a, b;
    bool wide;               /* 64 bits */
    uint32_t *guards;        /* counts the clamps that end a mark, or NULL */
};

struct interval interval_result(const struct interval_calc *c);

/* All that the bits can be; `bad` as in struct interval. */
struct interval interval_all(bool wide, uint32_t bad);
struct interval interval_of(int64_t lo, int64_t hi);
struct interval interval_either(struct interval a, struct interval b,
                                bool wide);
/* Whether the 32 bits, read so, are the integer. */
bool interval_signed(struct interval a);
bool interval_unsigned(struct interval a);

#endif
