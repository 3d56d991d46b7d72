/* gen.h - problem -> configuration -> tile IR -> code object.
 *
 *   kn_problem_normalise   defaults filled in, impossible ones refused
 *   kn_domain_of           alignment and tail classes of a launch
 *   kn_choose              configuration where the user left it open
 *   kn_instantiate         the text of its templates and facts, as tile IR
 *   kn_generate            all of it, passes, LLVM, gates: the pipeline
 *   kn_plan_*              what a launch needs: grid, kernarg bytes */
#ifndef KN_GEN_H
#define KN_GEN_H

#include "../emit/emit.h"
#include "../emit/isa/object.h"
#include "../ir/formula.h"
#include "weights.h"

#include "families.def"
struct kn_family {
    KN_FAMILY_COLUMNS
};
extern const struct kn_family kn_families[KILN_NFAMILIES];

static inline const struct kn_family *
kn_family_of(const kiln_problem *p)
{
    return &kn_families[p->family];
}

/* One product whose operands begin where the caller says. */
static inline bool
kn_one_product(const kiln_problem *p)
{
    const struct kn_family *f = kn_family_of(p);

    return !f->batch && !f->ragged && !f->routed;
}

/* K is the contiguous axis of an operand: of A in nt and nn, of B in nt and tt. */
static inline bool
kn_along_k(const kiln_problem *p, char operand)
{
    return (p->layout == KILN_NT && !(operand == 'b' && kn_in_words(p))) ||
           p->layout == (operand == 'a' ? KILN_NN : KILN_TT);
}

/* Of the device that is planned for. */
enum { KN_CUS_MOST = 4096, KN_XCDS_MOST = 64 };

static inline uint32_t
kn_cus(const kiln_problem *p)
{
    return p->cus ? p->cus : kn_targets[p->target].cus;
}

static inline uint32_t
kn_xcds(const kiln_problem *p)
{
    return p->xcds ? p->xcds : kn_targets[p->target].xcds;
}

/* What tables and the timing model know. */
static inline bool
kn_full_chip(const kiln_problem *p)
{
    return kn_cus(p) == kn_targets[p->target].cus &&
           kn_xcds(p) == kn_targets[p->target].xcds;
}

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

/* moe, what is issued early: the output rows' ids and weights before the main
 * loop; A's first copies before the test that the tile counts at all. */
#define KN_EARLIES(X) \
    X(ANY, "any") X(NONE, "none") X(IDS, "ids") X(COPY, "copy") X(BOTH, "both")
#define X(id, text) KN_EARLY_##id,
enum kn_early { KN_EARLIES(X) KN_NEARLIES };
#undef X

/* How grouped finds the group of a tile: FEW by scalar loads, for at most
 * KN_FEW_GROUPS groups; MANY by prefix sum and ballot, for any number. */
#define KN_LOOKUPS(X) X(OPEN, "") X(MANY, "many") X(FEW, "few")
#define X(id, text) KN_LOOKUP_##id,
enum kn_lookup { KN_LOOKUPS(X) KN_NLOOKUPS };
#undef X

enum { KN_FEW_GROUPS = 8 };

/* How the output is stored: by accumulator, or turned around in LDS so that a
 * wave stores runs of whole rows. */
#define KN_STORES(X) X(OPEN, "") X(DIRECT, "direct") X(LDS, "lds")
#define X(id, text) KN_STORE_##id,
enum kn_store { KN_STORES(X) KN_NSTORES };
#undef X

/* What is copied to LDS at a time: a K tile of each row, the cache lines that it lies
 * in, each once (ir/distribute/distribute_lines.c), or a K tile as far as K goes, of which
 * LDS has zeros beyond. */
#define KN_COPIES(X) X(OPEN, "") X(TILES, "tiles") X(LINES, "lines") X(ENDS, "ends")
#define X(id, text) KN_COPIES_##id,
enum kn_copies { KN_COPIES(X) KN_NCOPIES };
#undef X

/* Who adds up the shares of a tile: the last of them to come, or all, a slice each. */
#define KN_JOINS(X) X(OPEN, "") X(LAST, "last") X(ALL, "all")
#define X(id, text) KN_JOIN_##id,
enum kn_join { KN_JOINS(X) KN_NJOINS };
#undef X

/* Who lowers the wave-level program: LLVM, or our own register assignment,
 * waits and schedule (emit/asm/asm.h). */
#define KN_LOWERINGS(X) X(OPEN, "") X(LLVM, "llvm") X(ASM, "asm")
#define X(id, text) KN_LOWERING_##id,
enum kn_lowering { KN_LOWERINGS(X) KN_NLOWERINGS };
#undef X

/* Whose arguments a kernel takes: kiln's, or those of aiter's loader of such
 * kernels (aiter.h). */
#define KN_ABIS(X) X(OPEN, "") X(KILN, "kiln") X(AITER, "aiter")
#define X(id, text) KN_ABI_##id,
enum kn_abi { KN_ABIS(X) KN_NABIS };
#undef X

/* What was decided. Prints to and parses from one line such as
 * "tile=256x256x128 waves=2x4 schedule=simple stages=2 split-k=1 group-m=4
 * xcd=8 cus=0 align=16,16,16,16 vec=4 ktail=1". Zero = not decided yet. */
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
    uint32_t scale_turns;    /* enum kn_scale_turns (choose.h) */
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

/* Whether sums are f64: what is of f32 alone asks this. */
static inline bool
kn_wide_sums(const kiln_problem *p)
{
    return kn_type_bits[p->a] > 32;
}

/* What the largest magnitude is: as the sums. */
static inline kiln_type
kn_amax_type(const kiln_problem *p)
{
    return kn_wide_sums(p) ? KILN_F64 : KILN_F32;
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

/* Fills in defaults (dense leading dimensions, natural scale) and refuses
 * what cannot work: BAD_INPUT for contradictions, UNSUPPORTED for what no
 * variant does yet. One sentence either way. */
kiln_status kn_problem_normalise(struct kn_ctx *c, kiln_problem *p);

/* Bytes from row to row (a..sb) and from one group or batch to the next
 * (ta..tbias) of a normalised problem. */
struct kn_pitches {
    int64_t a, b, c, sa, sb, c2, sa2;
    int64_t ta, tb, tc, tsa, tsb, tbias;
    int64_t one_sa, one_sb, one_sa2; /* bytes that one problem's scales span */
    int64_t window;          /* moe: tokens whose rows of A and of the output
                                are within 31 bits */
};
struct kn_pitches kn_pitches_of(const kiln_problem *p);
/* Bytes each operand occupies (0 if unused). */
struct kn_extents {
    uint64_t a, b, c, sa, sb, sc, bias, offs, tight, amax, out2, sc2,
             x[KN_FORMULA_ARRAYS];
};
struct kn_extents kn_extents_of(const kiln_problem *p);

/* The domain a launch of p falls into with bases aligned to `base` bytes. */
struct kn_domain kn_domain_of(const kiln_problem *p, uint32_t base, uint32_t bk);

/* Bytes the address of an operand must be a multiple of in the domain. */
uint8_t kn_operand_align(const kiln_problem *p, const struct kn_domain *d,
                         kiln_operand operand);

/* Decides what cfg leaves open. UNSUPPORTED/BAD_INPUT with the reason when a
 * given part is impossible. `why`, if set, receives the reasons. */
kiln_status kn_choose(struct kn_ctx *c, const kiln_problem *p,
                      struct kn_config *cfg, struct kn_buf *why);

/* A configuration that did not get along with the registers there are, although
 * the rules thought so; choices in a context that lists it take others. */
struct kn_refused {
    struct kn_config config;
    const char *text;        /* of the refusal */
    const struct kn_refused *before;
};

/* After a refusal of g, chosen from `given`, for want of registers (c->crowded):
 * the next best choice, and no error; g is listed. False: it is another error,
 * or there is no other choice; the error stays, or says UNSUPPORTED why. */
bool kn_choose_next(struct kn_ctx *c, const kiln_problem *p,
                    const struct kn_config *given, struct kn_config *g);

/* A of 16 bits times an 8-bit B: A is quantised in the kernel, 128 K of a row
 * at a time, and B alone has scales. */
static inline bool
kn_prequant(const kiln_problem *p)
{
    return (p->a == KILN_BF16 || p->a == KILN_F16) &&
           (p->b == KILN_FP8 || p->b == KILN_BF8 || p->b == KILN_I8);
}

static inline bool
kn_shuffled(const kiln_problem *p)
{
    return p->scale_layout == KILN_SCALE_SHUFFLED;
}

/* An operand's scales are stored K-outer: of 128-blocks A's, wgrad's B's too; of
 * groups B's. */
static inline bool
kn_scales_down(const kiln_problem *p, char operand)
{
    if (p->scale_layout != KILN_SCALE_TRANSPOSED)
        return false;
    return kn_scale_groups(p)
         ? operand == 'b' : operand == 'a' || kn_family_of(p)->ragged == 'k';
}

/* Bytes of the table of groups. */
static inline uint64_t
kn_group_table(const kiln_problem *p)
{
    uint64_t n = (uint64_t)p->groups;

    return !n ? 0 : p->group_flags & KILN_GROUP_ENDS32 ? 4 * n
         : p->group_flags & KILN_GROUP_LENS ? 8 * n : 8 * (n + 1);
}

/* Of the host's copy of the groups, [groups + 1] where each begins and the total:
 * those of what is read, which with KILN_GROUP_TIGHT are behind those of what is
 * written; NULL without groups. */
static inline const int64_t *
kn_read_offsets(const kiln_problem *p, const int64_t *offs)
{
    return offs && p->group_flags & KILN_GROUP_TIGHT ? offs + p->groups + 1
                                                     : offs;
}

/* Groups start at multiples of so many rows: scales are of several. Before the
 * problem is complete too: MX types alone say their scale. */
static inline int64_t
kn_group_unit(const kiln_problem *p)
{
    if (kn_family_of(p)->ragged == 'm')
        return kn_shuffled(p) ? 32 : 1;
    return p->scale == KILN_SCALE_BLOCK128 ? 128
         : p->scale == KILN_SCALE_MX32 || kn_type_mx[p->a] ? 32 : 1;
}

/* Bytes of an operand's scale in memory; a quantiser's are those it writes. */
static inline int64_t
kn_scale_size(const kiln_problem *p)
{
    bool written = kn_family_of(p)->unary && kn_output_scale_size(p) == 1;

    return p->scale == KILN_SCALE_MX32 || kn_powers(p) || p->scale == KILN_SCALE_NV16 || written ? 1
         : kn_scale_groups(p) && p->scale_type != KILN_SCALE_TYPE_F32 ? 2 : 4;
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

static inline bool
kn_has_bias(const kiln_problem *p)
{
    return p->epilogue == KILN_EPILOGUE_BIAS ||
           kn_formula_names(p->expression, "bias") ||
           kn_formula_names(p->expression, "gate_bias") ||
           kn_formula_names(p->expression, "up_bias");
}

/* B has 2 n columns, n of gate and n of up, which make n. */
static inline bool
kn_gated(const kiln_problem *p)
{
    return p->stage == KILN_MOE_GATE_UP ||
           kn_formula_names(p->expression, "gate");
}

static inline int64_t
kn_b_columns(const kiln_problem *p)
{
    return kn_gated(p) ? 2 * p->n : p->n;
}

/* Of the i-th array that the expression declares: its kind, KN_NFO if there is
 * none; what it is, for headers. */
enum kn_formula_operand_kind kn_array_kind(const kiln_problem *p, uint32_t i);
const char *kn_array_text(const kiln_problem *p, uint32_t i);

/* The output has blocks with E8M0 scales, which the kernel makes. */
static inline bool
kn_quantises(const kiln_problem *p)
{
    return p->out == KILN_MXFP4 || p->out == KILN_MXFP8;
}

/* The output is of 8 bits, each element rounded by itself. */
static inline bool
kn_codes(const kiln_problem *p)
{
    return p->out == KILN_FP8 || p->out == KILN_BF8 || p->out == KILN_I8;
}

/* A product's scales are made by the kernel, and written to an operand of their own. */
static inline bool
kn_writes_scales(const kiln_problem *p)
{
    return p->out_scale >= KILN_OUT_ROW && !kn_family_of(p)->unary;
}

/* output.c - columns that a written scale is for; of rows, all or those of the widest tile. */
uint32_t kn_output_block(const kiln_problem *p);
/* Bytes from row to row of written scales, and of all scales. */
int64_t kn_output_scale_row(const kiln_problem *p);
uint64_t kn_output_scales(const kiln_problem *p);

/* B's gate and up columns are stored 16 by 16 in turn (gen/layout.h). */
static inline bool
kn_gate_stored(const kiln_problem *p)
{
    return kn_gated(p) &&
           (p->b_layout == KILN_B_PRESHUFFLED || kn_shuffled(p));
}

/* Output columns of one tile: a gate and an up column make one. */
static inline uint32_t
kn_tile_columns(const kiln_problem *p, const struct kn_config *g)
{
    return kn_gated(p) ? g->bn / 2 : g->bn;
}

kiln_status kn_instantiate(struct kn_ctx *c, const kiln_problem *p,
                           const struct kn_config *cfg, struct kn_fn **out);

/* identity.c - the kernel part as a line, without trailing newline. */
const char *kn_problem_text(struct kn_ctx *c, const kiln_problem *p);
/* Symbol: what the kernel computes, its tile, and a digest of the kernel part and
 * the whole configuration, such as
 * kiln_gemm_nt_mxfp8_mxfp8_bf16_256x256x128_0123456789; for aiter mangled, as a
 * name in its namespace. */
const char *kn_kernel_name(struct kn_ctx *c, const kiln_problem *p,
                           const struct kn_config *g);
/* What a code object says of itself (kn_object_stamp). */
struct kn_stamp {
    const char *by, *problem, *config;
};
const char *kn_stamp_write(struct kn_ctx *c, const kiln_problem *p,
                           const struct kn_config *g);
bool kn_stamp_read(struct kn_ctx *c, const char *text, struct kn_stamp *out);

/* debug.c - debug information of a generated kernel. */

struct kn_generated;

/* The text of a file that places name. */
typedef kiln_status kn_source_fn(struct kn_ctx *c, const char *file,
                                 struct kn_debug_file *out);

/* A template of this project; a text it made itself has none. */
kn_source_fn kn_own_source;

/* The lines of g, whose lines, tile and wave are there. */
kiln_status kn_debug_of(struct kn_ctx *c, const struct kn_generated *g,
                        kn_source_fn *find, const struct kn_debug **out);

/* What a caller wants besides the code object: texts (KN_WANT_*), and to see
 * the program after each pass as complete text. */
struct kn_watch {
    unsigned want;
    void (*stage)(void *user, char letter, const char *text);
    void *user;
    /* instead of kn_object_link, its contract; NULL: that */
    kiln_status (*link)(struct kn_ctx *c, const void *rel, size_t n,
                        uint8_t **out, size_t *size);
    enum kn_lowering lowering;       /* of a program that is there */
    kn_source_fn *source;    /* debug information, with these texts; NULL: none */
};

struct kn_generated {
    struct kn_config cfg;
    const char *name;        /* kernel symbol */
    const char *stamp;       /* for the code object, NULL: none */
    struct kn_fn *tile, *wave;
    struct kn_line_map lines;        /* code offset -> operation of wave */
    const struct kn_debug *debug;    /* what co has of it, NULL: nothing */
    const char *llvm, *assembly;     /* only if asked for */
    const uint8_t *co;
    size_t size;
    const char *certificate; /* emit/prove/cert.h */
    const char *const *waived;       /* gates this variant does not pass */
    uint32_t nwaived;
    const struct kn_refused *refused; /* choices before cfg, the last one first */
    uint32_t early;          /* reads of matrix results that LLVM let through */
    double ms;               /* wall time of the whole call */
    double emit_ms, prove_ms; /* of it: LLVM; linking, gates and checks */
    uint64_t compilations;   /* 1, or 0 when served from a cache */
};

enum kn_want { KN_WANT_CO = 0, KN_WANT_LLVM = 1, KN_WANT_ASM = 2, KN_WANT_TIR = 4 };

/* p normalised or not; cfg may be partly decided; watch may be NULL. want
 * KN_WANT_TIR alone stops after the passes. */
kiln_status kn_generate(struct kn_ctx *c, const kiln_problem *p,
                        const struct kn_config *cfg,
                        const struct kn_watch *watch,
                        struct kn_generated *out);

/* The same for a program that is there: of either level, not verified yet. */
kiln_status kn_generate_program(struct kn_ctx *c, struct kn_fn *f,
                                const struct kn_watch *watch,
                                struct kn_generated *out);

/* The same for the text of one. */
kiln_status kn_generate_text(struct kn_ctx *c, const char *text,
                             struct kn_generated *out);

/* A launch of a generated kernel (or a foreign build of the same one). */
struct kn_operands {
    uint64_t a, b, c, sa, sb, bias;  /* device addresses, 0 if unused */
    uint64_t x[KN_FORMULA_ARRAYS];   /* arrays that the expression declares */
    uint64_t sc;             /* scales of the output */
    uint64_t amax;           /* its largest magnitude, f32, zero before */
    uint64_t out2, sc2;      /* the second output, its scales */
    uint64_t offs;           /* int64 offs[groups + 1] on the device;
                                moe: int32 sorted ids[m] */
    uint64_t tight;          /* the same of what is written, KILN_GROUP_TIGHT */
    uint64_t experts;        /* moe: int32, an expert per block_m sorted rows */
    uint64_t padded;         /* moe: int32, how many sorted rows count */
    uint64_t weights;        /* moe down: f32, a weight per sorted row */
    uint64_t workspace;      /* kn_plan.workspace bytes; the counters must be
                                zero, and are again after every launch */
};
struct kn_plan {
    uint32_t grid[3], block[3];
    uint64_t workspace;      /* bytes; 0: none */
    uint32_t kernarg_size;
    uint32_t cus_at;         /* where kernarg has a persistent grid's size, or 0 */
    uint8_t kernarg[512];    /* as templates/args.tir or aiter.def has it */
};
/* Refuses, with a sentence, a problem outside cfg's domain. */
kiln_status kn_plan_launch(struct kn_ctx *c, const kiln_problem *p,
                           const struct kn_config *cfg,
                           const struct kn_operands *o, struct kn_plan *plan);

/* The same for a launch whose host knows the groups: no workgroup more than there
 * are tiles. */
void kn_plan_exactly(const kiln_problem *p, const struct kn_config *g,
                     const int64_t *offs, struct kn_plan *plan);

/* Proves the order of the sums of a launch of the tile IR f (ir.h,
 * kn_prove_sums) in the first and last wave of its first, middle and last
 * workgroup, of a persistent one the first eight sums. What it allocates and says
 * is c's. table: what the launch reads of groups, empty without. */
struct kn_sums_table {
    const void *data;
    const void *tight;       /* the second, of as many bytes, or NULL */
    size_t size;
    bool staggered;          /* K may come round, as --stagger has it */
};
kiln_status kn_launch_sums(struct kn_ctx *c, const struct kn_fn *f,
                           const struct kn_plan *plan,
                           const struct kn_sums_table *table,
                           struct kn_sums_facts *out);

/* The tiles of a launch (with split-K: the shares of tiles, split_k a tile),
 * computed apart from the templates' own maps: number `pid` is computed by
 * workgroup pid, or pid % its size of a persistent grid. offs: as
 * kn_read_offsets takes them. */
struct kn_rect {
    uint32_t share, shares;  /* split-K: which one, of how many; 0, 1 */
    uint64_t first;          /* place of the tile's share 0 in the order */
    int64_t group;           /* group or batch, else 0 */
    int64_t m0, n0;          /* in the group's own output */
    int64_t rows, cols;
};
uint64_t kn_tile_count(const kiln_problem *p, const struct kn_config *cfg,
                       const int64_t *offs);
/* Of split_after: of so many tiles those behind the last whole round, that are
 * divided; 0 where their shares would take as long as they do. */
uint64_t kn_last_round(const struct kn_config *g, uint64_t tiles);
/* Tiles of zeros (KILN_TAIL_ZERO); numbered after the others, with
 * kn_rect.group = groups. */
uint64_t kn_spare_count(const kiln_problem *p, const struct kn_config *cfg,
                        const int64_t *offs);
struct kn_rect kn_tile_rect(const kiln_problem *p, const struct kn_config *cfg,
                            const int64_t *offs, uint64_t pid);
/* The workgroup at place t of the order. */
uint64_t kn_tile_workgroup(const kiln_problem *p, const struct kn_config *cfg,
                           const int64_t *offs, uint64_t t);

#endif
