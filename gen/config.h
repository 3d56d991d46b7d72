/* config.h - a configuration: tile, waves, main loop and everything else that is decided of
 * a kernel; and its text form (config.c). */
#ifndef KN_GEN_CONFIG_H
#define KN_GEN_CONFIG_H

#include "problem.h"

/* The classes of shapes one code object serves; checked at launch. Alignment
 * is of base pointer and row pitch: 16, 4, or 1 = only the element's own. */
struct kn_domain {
    uint8_t align_a, align_b;        /* 16, 4, 2, 1 bytes */
    uint8_t align_sa, align_sb;      /* scales: 16, 4, 1 */
    uint8_t vec;                     /* 4: N % 4 == 0 and C aligned to it; 1 */
    uint8_t ktail;                   /* 1: K may be 0 or no multiple of bk, or
                                        fewer tiles than shares; or KN_TAIL_RUNS */
    uint8_t windows;                 /* 1: moe, rows named by ids are beyond 31
                                        bits of each other */
    uint8_t panels;                  /* 1: waves of several tiles share a scale; or
                                        KN_PANELS_BESIDE */
};

/* Main loops: KN_SCHEDULES(X), X(id, text). */
#include "forms.def"

/* What kiln said before: X(then, now). */
#define KN_OLD_SCHEDULES(X) \
    X("pingpong", "8-wave") X("deep", "4-wave") X("stream", "direct") \
    X("whole", "unrolled")

enum { KN_MAX_STAGES = 8, KN_TAIL_RUNS = 2 /* ktail: K is whole 16 bytes of A */ };

enum kn_schedule {
#define X(id, text) KN_SCHED_##id,
    KN_SCHEDULES(X)
#undef X
    KN_NSCHEDULES
};
extern const char *const kn_schedule_names[KN_NSCHEDULES];

/* Lists of words, X(id, text): KN_id is the number of `text`. */
#define KN_NAME(id, ...) KN_##id,

/* moe, what is issued early: the output rows' ids and weights before the main
 * loop; A's first copies before the test that the tile counts at all. */
#define KN_EARLIES(X) \
    X(EARLY_ANY, "any") X(EARLY_NONE, "none") X(EARLY_IDS, "ids") \
    X(EARLY_COPY, "copy") X(EARLY_BOTH, "both")
enum kn_early { KN_EARLIES(KN_NAME) KN_NEARLIES };

/* How grouped finds the group of a tile: FEW by scalar loads, for at most
 * KN_FEW_GROUPS groups; MANY by prefix sum and ballot, for any number. */
#define KN_LOOKUPS(X) X(LOOKUP_OPEN, "") X(LOOKUP_MANY, "many") X(LOOKUP_FEW, "few")
enum kn_lookup { KN_LOOKUPS(KN_NAME) KN_NLOOKUPS };

enum { KN_FEW_GROUPS = 8 };

/* How the output is stored: by accumulator, or turned around in LDS so that a
 * wave stores runs of whole rows. */
#define KN_STORES(X) X(STORE_OPEN, "") X(STORE_DIRECT, "direct") X(STORE_LDS, "lds")
enum kn_store { KN_STORES(KN_NAME) KN_NSTORES };

/* What is copied to LDS at a time: a K tile of each row, the cache lines that it lies
 * in, each once (ir/distribute/distribute_lines.c), or a K tile as far as K goes, of which
 * LDS has zeros beyond. */
#define KN_COPIES(X) \
    X(COPIES_OPEN, "") X(COPIES_TILES, "tiles") X(COPIES_LINES, "lines") X(COPIES_ENDS, "ends")
enum kn_copies { KN_COPIES(KN_NAME) KN_NCOPIES };

/* Who adds up the shares of a tile: the last of them to come, or all, a slice each. */
#define KN_JOINS(X) X(JOIN_OPEN, "") X(JOIN_LAST, "last") X(JOIN_ALL, "all")
enum kn_join { KN_JOINS(KN_NAME) KN_NJOINS };

/* Who lowers the wave-level program: LLVM, or our own register assignment,
 * waits and schedule (emit/asm/asm.h). */
#define KN_LOWERINGS(X) X(LOWERING_OPEN, "") X(LOWERING_LLVM, "llvm") X(LOWERING_ASM, "asm")
enum kn_lowering { KN_LOWERINGS(KN_NAME) KN_NLOWERINGS };

/* Whose arguments a kernel takes: kiln's, or those of aiter's loader of such
 * kernels (aiter.h). */
#define KN_ABIS(X) X(ABI_OPEN, "") X(ABI_KILN, "kiln") X(ABI_AITER, "aiter")
enum kn_abi { KN_ABIS(KN_NAME) KN_NABIS };

/* What was decided. Prints to and parses from one line such as
 * "tile=256x256x128 waves=2x4 schedule=simple stages=2 split-k=1 group-m=4
 * xcd=8 cus=0 align=16,16,16,16 vec=4 ktail=1". Zero = not decided yet. */
enum { KN_ONE_BAND = 1024 }; /* group_m: all tile rows are one */
struct kn_config {
    uint32_t bm, bn, bk, wm, wn;
    enum kn_schedule schedule;
    uint32_t stages, split_k, group_m, xcd, cus;
    uint32_t split_after;    /* > 0: split-K of the tiles behind the last whole
                                round of so many workgroups alone */
    uint32_t loader_split;   /* abi=aiter, > 1: shares of K the launch asks of
                                a kernel that divides it as the loader says */
    uint32_t early;          /* enum kn_early, moe only */
    uint32_t nt_b;           /* 1: B is loaded with the non-temporal hint */
    enum kn_lookup lookup;   /* of grouped */
    uint32_t group_n;        /* > 0: bands of so many tile columns too */
    uint32_t xcd_run;        /* > 0: tiles at a time that dies take in turn; 0: one run each */
    uint32_t stagger;        /* > 1: K tiles that a tile may begin at, by its
                                number; behind the last K tile it goes on with
                                the first */
    enum kn_join join;       /* of split_k > 1, and of panels */
    enum kn_copies copies;
    uint32_t run;            /* 8: elements of A that a lane quantises at once; 0: two such */
    uint32_t unfolded;       /* 1: scales that could be folded into codes multiply products */
    uint32_t scale_turns;    /* enum kn_scale_turns (choose/choose.h) */
    enum kn_store store;
    enum kn_lowering lowering;
    enum kn_abi abi;
    struct kn_domain domain;
};

/* split-K: a wave counts its shares in one of KN_COUNTERS dwords at the start
 * of the workspace; behind them each tile has an area (kn_split_area). */
enum { KN_COUNTERS = KILN_WORKSPACE_ZEROS / 4, KN_SPLIT_MOST = 16, KN_PANELS_BESIDE = 2 };
/* Shares of a tile to the timing model; of quant so many that all workgroups have met. */
uint32_t kn_counted_shares(const kiln_problem *p, const struct kn_config *g);

/* Whether workgroups count themselves in the workspace. */
static inline bool
kn_counts(const kiln_problem *p, const struct kn_config *g)
{
    return kn_counted_shares(p, g) > 1 || g->domain.panels;
}

/* Output columns of one tile: a gate and an up column make one. */
static inline uint32_t
kn_tile_columns(const kiln_problem *p, const struct kn_config *g)
{
    return kn_gated(p) ? g->bn / 2 : g->bn;
}

static inline bool
kn_early_copy(const struct kn_config *g)
{
    return g->early == KN_EARLY_COPY || g->early == KN_EARLY_BOTH;
}

static inline bool
kn_early_ids(const struct kn_config *g)
{
    return g->early == KN_EARLY_IDS || g->early == KN_EARLY_BOTH;
}

/* Fragments come straight from memory. */
bool kn_direct_to_reg(const struct kn_config *g);

/* moe: ids and weights are on their way before it is known whether a tile has
 * any (templates/moe.tir). */
static inline bool
kn_ids_first(const struct kn_config *g)
{
    return kn_direct_to_reg(g) && !g->cus;
}

/* moe: tiles are places among the rows there is room for, which the launch
 * knows, not among the padded rows that the device counts. */
static inline bool
kn_places_room(const struct kn_config *g)
{
    return kn_early_copy(g) || kn_ids_first(g);
}

/* Reads a line into cfg; the first part that is none, NULL: all are. */
const char *kn_config_read(struct kn_ctx *c, const char *text,
                           struct kn_config *cfg);
/* The same as a refusal. */
kiln_status kn_config_parse(struct kn_ctx *c, const char *text,
                            struct kn_config *cfg);
/* The same for text of strangers: BAD_INPUT unless it is complete, exactly as
 * kn_config_print writes it, with nothing zero that is divided by. */
kiln_status kn_config_take(struct kn_ctx *c, const char *text,
                           struct kn_config *cfg);
void kn_config_print(const struct kn_config *cfg, struct kn_buf *out);
/* What was given besides tile, waves and domain replaces the row's
 * (config.def). */
void kn_config_over(struct kn_config *row, const struct kn_config *given);

/* The domain a launch of p falls into with bases aligned to `base` bytes. */
struct kn_domain kn_domain_of(const kiln_problem *p, uint32_t base, uint32_t bk);

/* Bytes the address of an operand must be a multiple of in the domain. */
uint8_t kn_operand_align(const kiln_problem *p, const struct kn_domain *d,
                         kiln_operand operand);

#endif
