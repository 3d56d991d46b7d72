/* order_impl.h - parts of the LDS order check. order_value.c: what registers
 * hold; order_need.c: which of them matter where; order_walk.c: the ways
 * through the kernel; order_widen.c: values told apart on them; order_foot.c:
 * bytes of an access; order.c: the order. */
#ifndef KN_ORDER_IMPL_H
#define KN_ORDER_IMPL_H

#include "check.h"

enum {
    KN_LANE = 64, KN_WAVES = 16,
    KN_RA = 256, KN_RS = 512,          /* first AGPR, first SGPR */
    KN_VCC = KN_RS + 106, KN_M0 = KN_RS + 124, KN_EXEC = KN_RS + 126,
    KN_SCC = KN_RS + 128, KN_NREG = KN_SCC + 1,
    KN_SETW = (KN_NREG + 63) / 64
};

struct kn_set {
    uint64_t w[KN_SETW];
};

static inline bool
kn_has(const struct kn_set *s, unsigned r)
{
    return s->w[r / 64] >> r % 64 & 1;
}

static inline void
kn_put_in(struct kn_set *s, unsigned r)
{
    s->w[r / 64] |= 1ull << r % 64;
}

/* Register number of dword k of an operand, KN_NREG if it is none. */
static inline unsigned
kn_reg_of(const struct kn_opnd *o, unsigned k)
{
    unsigned r = o->reg + k;

    if (o->kind == KN_O_VGPR && r < 256)
        return r;
    if (o->kind == KN_O_AGPR && r < 256)
        return KN_RA + r;
    return o->kind == KN_O_SGPR && r < 128 ? KN_RS + r : KN_NREG;
}

/* What a register holds: UNKNOWN; ALIKE: not known, but the same in all waves
 * that are here, lane by lane; KNOWN where `known` says; CASES: in each lane one of a
 * few that are KNOWN (of a lane mask in its lane's bit). A vector has 64 lanes
 * a wave, a scalar one. Values are unique: equal ones are one pointer. */
enum { KN_V_UNKNOWN, KN_V_ALIKE, KN_V_KNOWN, KN_V_CASES };

enum { KN_CASES_MOST = 4 };
struct kn_held;
/* cause: the instruction, + 1, whose result decides which of them a lane has; 0: none that
 * decides others' too. alike: which of them, too, is the same in all waves. */
struct kn_cases {
    unsigned n;
    uint32_t cause;
    bool alike;
    const struct kn_held *of[KN_CASES_MOST];
};
struct kn_held {
    uint8_t kind, per;       /* per: 64 or 1 */
    bool alike;              /* not UNKNOWN, and the same in all waves */
    uint64_t *known;         /* [waves], a bit a lane */
    uint32_t *x;             /* [waves * per] */
    struct kn_cases is;      /* CASES */
    uint64_t hash;
    const struct kn_held *chain;
};

struct kn_draft {
    uint64_t known[KN_WAVES];
    uint32_t x[KN_WAVES * KN_LANE];
};

enum { KN_HELD_HASH = 4096 };

/* The registers of all waves at one place. */
struct kn_machine {
    struct kn_ctx *c;
    const struct kn_program *p;
    unsigned nwaves;
    uint16_t all, active;    /* waves of the kernel; those that are here */
    const struct kn_held *now[KN_NREG];
    const struct kn_held *bucket[KN_HELD_HASH];
    uint64_t kept;           /* lanes of all values */
    struct kn_draft draft, carry;
};

extern const struct kn_held kn_held_unknown, kn_held_alike;

/* Registers at the entry; one instruction; one that is not followed, by what it reads,
 * and with unknown results; what a scalar pair (lo) or single register says of each
 * wave: bit set in *yes: not zero, in *no: zero; in neither: not known; whether all
 * lanes are active. */
void kn_machine_enter(struct kn_machine *m);
void kn_machine_step(struct kn_machine *m, const struct kn_inst *i);
void kn_machine_other(struct kn_machine *m, const struct kn_inst *i);
void kn_machine_forget(struct kn_machine *m, const struct kn_inst *i);
bool kn_exec_is_full(const struct kn_machine *m);
void kn_machine_test(const struct kn_machine *m, unsigned reg, bool pair,
                     uint16_t *yes, uint16_t *no);
/* `draft` as a value; that of a where the wave is in `mask`, else b. */
const struct kn_held *kn_held_intern(struct kn_machine *m, unsigned per);
const struct kn_held *kn_held_select(struct kn_machine *m, uint16_t mask,
                                   const struct kn_held *a,
                                   const struct kn_held *b);
/* In each lane one of x's values; unknown where one of these is. */
const struct kn_held *kn_held_cases(struct kn_machine *m, const struct kn_cases *x);
/* Lane k of the draft from v. */
void kn_draft_lane(struct kn_machine *m, unsigned per, unsigned k,
                   const struct kn_held *v);
/* The same in all waves that are here. */
bool kn_held_alike_in(const struct kn_machine *m, const struct kn_held *v);
bool kn_machine_lane(const struct kn_held *v, unsigned wave, unsigned lane,
                     uint32_t *x);

/* Sources of one lane, and which are known: bit k the k-th, KN_L_OLD what the
 * result held (d), KN_L_FLAG SCC or the carry (s). */
struct kn_lane {
    uint64_t a, b, c, d, s;
    unsigned known;
};
enum { KN_L_OLD = 8, KN_L_FLAG = 16 };

/* Which step an opcode takes; its result, false: not one of that step. */
enum kn_step { KN_ST_NONE, KN_ST_SCALAR, KN_ST_SAVEEXEC, KN_ST_VECTOR,
               KN_ST_COMPARE };
enum kn_step kn_eval_step(uint16_t op);
/* What must be known of n sources: less where one of them decides, which may
 * set another that is not known. */
unsigned kn_eval_wants(const struct kn_inst *i, unsigned n, struct kn_lane *x);
bool kn_eval_scalar(const struct kn_inst *i, const struct kn_lane *x,
                    uint64_t *out, uint64_t *scc);
bool kn_eval_exec(uint16_t op, uint64_t a, uint64_t e, uint64_t *out);
bool kn_eval_vector(const struct kn_inst *i, const struct kn_lane *x,
                    unsigned lane, uint64_t *out);
bool kn_eval_carry(uint16_t op, const struct kn_lane *x, uint64_t *out,
                   bool *carry);
bool kn_eval_compare(uint16_t op, const struct kn_lane *x, bool *out);

/* Reads and writes of an instruction, registers it names and implied ones. */
void kn_reads_of(const struct kn_inst *i, struct kn_set *s);
void kn_writes_of(const struct kn_inst *i, struct kn_set *s);
/* What an LDS access takes its address from. */
void kn_address_of(const struct kn_inst *i, struct kn_set *s);

struct kn_needs {
    struct kn_set *in;       /* by block: what matters from there on */
    struct kn_set *address;  /* of them: what LDS addresses come from */
    uint8_t *step;           /* by instruction: its result matters */
};
void kn_needs_find(struct kn_ctx *c, const struct kn_cfg *g,
                   struct kn_needs *out);

/* Leaves the machine, where a block is entered, the values that are told apart
 * there; *seen is the block's. `drop`: registers that waves may differ in.
 * True: one is followed no longer, and the ways found with it are void. */
struct kn_seen;
bool kn_widen(struct kn_machine *m, const struct kn_needs *need, uint32_t block,
              const struct kn_set *drop, struct kn_seen **seen);

/* ---- bytes of an access ---- */

/* Runs of bytes and the waves that touch them, ascending, apart. */
struct kn_run_of { uint32_t from, to; uint16_t waves; };
struct kn_foot {
    uint32_t nrun;
    struct kn_run_of *run;
    uint32_t from, to;
    uint64_t hash;
};

struct kn_feet {
    struct kn_ctx *c;
    uint32_t n;
    struct kn_foot *foot;
    size_t cap;
    uint16_t *owner;         /* scratch, by byte of LDS */
    uint8_t *meets;          /* n * n lazily: KN_MEET_*; NULL until frozen */
};
enum { KN_MEET_KNOWN = 1, KN_MEET_SAME = 2, KN_MEET_CROSS = 4 };

/* The number of the bytes an instruction touches in the machine's state, -1
 * if an address is not known, -2 if it touches none. */
int32_t kn_foot_of(struct kn_feet *f, const struct kn_machine *m,
                   const struct kn_inst *i);
/* Whether a wave meets itself (SAME), or another (CROSS). */
unsigned kn_feet_meet(struct kn_feet *f, uint32_t a, uint32_t b);
/* Whether a wave of waves[0] in a meets another of waves[1] in b; the byte in
 * *at. */
bool kn_feet_between(const struct kn_feet *f, const uint32_t ab[2],
                     const uint16_t waves[2], uint32_t *at);

/* ---- regions of the control flow ---- */

struct kn_regions {
    struct kn_ctx *c;
    const struct kn_cfg *g;
    uint64_t **pdom;         /* by block: blocks on every way from it */
};
/* The first block that every way from b's end comes through; -1: none. */
int32_t kn_join_of(struct kn_regions *x, uint32_t b);
/* Marks by block: what is reached from `from` before `join`. */
uint8_t *kn_reach(struct kn_regions *x, int32_t from, int32_t join);
/* An s_barrier, or an LDS access; in a block, in any that is marked. */
bool kn_block_has(const struct kn_regions *x, uint32_t b, bool barrier);
bool kn_touches(struct kn_regions *x, const uint8_t *mark, bool barrier);
void kn_add_written(struct kn_regions *x, const uint8_t *mark,
                    struct kn_set *s);

/* ---- the ways ---- */

struct kn_edge { uint32_t to; bool side; uint32_t next; };
#define KN_NO_EDGE UINT32_MAX

/* A block with what its registers hold. */
struct kn_way {
    uint32_t block;
    uint16_t waves;          /* that are here */
    uint16_t behind;         /* waves that run a barrier behind */
    bool apart;              /* some do */
    bool empty;              /* joins waves and executes nothing */
    bool half;               /* its barriers are those of some waves only */
    int32_t fork;            /* the branch that parted the waves, -1: none */
    const struct kn_held **r; /* of the registers needed at its block */
    int8_t lag[KN_WAVES];
    uint32_t site;           /* first of its accesses, in order */
    uint32_t edge;           /* list in kn_ways.edge */
    bool done;
    uint32_t chain;          /* in its hash bucket; +1 */
};

/* Waves parted by a branch. lockstep: both sides have LDS accesses and
 * barriers, so that each barrier of the one is met by one of the other. */
struct kn_fork {
    int32_t outer, join;     /* fork around it; block, -1: the end */
    uint16_t side[2], waves;
    uint32_t entry[2];       /* ways; `way` if that side is empty */
    uint32_t arrived[2];     /* lists of arrivals, +1 */
    uint32_t way;            /* ends with the branch */
    bool lockstep;
    struct kn_set written;   /* on either side */
};

struct kn_ways {
    uint32_t n;
    struct kn_way *way;
    uint32_t nforks;
    struct kn_fork *fork;
    uint32_t nedges;
    struct kn_edge *edge;
    uint32_t nsites;
    struct kn_order_site *site;   /* foot: -1 not derived, -2 none */
    uint8_t *barrier;
};

kiln_status kn_ways_find(struct kn_machine *m, const struct kn_cfg *g,
                         struct kn_feet *feet, struct kn_order *out,
                         struct kn_ways *ways);

/* ---- the order ---- */

/* State of an access: operations issued since; that its wave has waited for
 * it; the same, and the next barrier ends it for everybody though some waves
 * came to run behind; a barrier ago, while some run behind; over for all. */
enum { KN_LANDED = 64, KN_EARLY = 65, KN_LATE = 66, KN_OVER = 67 };

/* Accesses of one instruction to the same bytes. */
struct kn_lds_access {
    uint32_t inst, foot;
    uint8_t kind;
    bool atomic;
};

struct kn_orderer {
    struct kn_ctx *c;
    const struct kn_program *p;
    struct kn_cfg g;
    struct kn_feet feet;
    struct kn_ways ways;
    struct kn_order *out;
    uint32_t n;              /* accesses told apart */
    struct kn_lds_access *access;
    uint32_t *number;        /* by site: access, UINT32_MAX: none */
    uint8_t **in;            /* by way: state of each access; [n]: a scalar
                              * load may be outstanding */
    uint8_t *now;
    uint8_t *work;           /* by way: its state is new */
    bool report;
};

/* A finding: x, and y that it is not ordered against; LDS byte `at`. */
struct kn_order_pair {
    uint32_t x, y, at;
    const char *why;
};
/* Where the text of a finding at an instruction goes; NULL: not reported, that
 * instruction has one, or no more are kept. */
struct kn_check_finding *kn_order_finding(struct kn_orderer *o, uint32_t inst);
void kn_order_tell(struct kn_orderer *o, const struct kn_order_pair *q);
void kn_order_open(struct kn_order *out, uint32_t inst, const char *why);
/* Counts work; beyond KN_ORDER_WORK the kernel is left undecided. False: it is
 * undecided. */
bool kn_order_spend(struct kn_order *out, uint32_t inst, uint64_t work);
/* One instruction on the state `now`; *site: the next of the way. */
void kn_order_step(struct kn_orderer *o, const struct kn_way *w, uint32_t n,
                   uint32_t *site);

/* The accesses of one side of each fork in lockstep against the other's. */
void kn_pairs_check(struct kn_orderer *o);

#endif
