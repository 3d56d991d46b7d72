/* choose.h - between the files that decide what the user left open: candidates
 * and few_rows know the tiles, fit says which can be, choose puts together. */
#ifndef KN_CHOOSE_H
#define KN_CHOOSE_H

#include "forms.h"
#include "gen.h"
#include "routed.h"

/* Products of a launch. */
static inline int64_t
kn_products(const kiln_problem *p)
{
    return p->groups ? p->groups : p->batch > 1 ? p->batch : 1;
}

/* Rows of a product's output; of ragged groups their average, rounded up. */
static inline int64_t
kn_mean_rows(const kiln_problem *p)
{
    int64_t many = kn_family_of(p)->ragged == 'm' ? kn_products(p) : 1;

    return (p->m + many - 1) / many;
}

/* Whether nothing about the kernel's form was asked for. */
static inline bool
kn_form_open(const struct kn_config *g)
{
    return !g->bm && !g->bk && !g->wm && !g->stages && !g->cus;
}

/* Whether runs of rows out of LDS take fewer stores than columns of accumulators:
 * where those would be single. The sum of a small tile, or of few columns, with beta 1
 * waits for C either way (docs/families.md, Stores). */
static inline bool
kn_runs_pay(const kiln_problem *p, const struct kn_config *g)
{
    bool large = g->bm * g->bn >= 64 * 64 && (!p->n || p->n >= g->bn);

    return kn_stores_singly(p, g) && !g->cus && (!p->beta || large);
}

/* What follows the choice of a tile. */
struct kn_openings {
    bool bk, domain;
};

/* ---- fit.c -------------------------------------------------------------- */

/* The K of a tile that nobody asked for; and less of it, where a given tile
 * does not fit. */
uint32_t kn_natural_bk(struct kn_ctx *c, const kiln_problem *p);
void kn_shorten_bk(struct kn_ctx *c, const kiln_problem *p,
                   struct kn_config *g);

/* Rows or columns of a tile, beside 256, whose sums fill AGPRs and 96 VGPRs. */
enum { KN_WIDEST = 352 };
/* Whether a third K tile has registers on its way to LDS: of tiles up to 128x128, which do not
 * walk, of the assembly lowering. */
bool kn_third_slot_fits(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g);
/* Each wave gets whole 16x16 blocks of the tile. */
bool kn_shareable(const struct kn_config *g);

/* A wave that quantises has blocks of 32 output columns, hence 64 of B. */
void kn_quantising_waves(const kiln_problem *p, struct kn_config *g);
void kn_default_waves(const kiln_problem *p, struct kn_config *g);

/* Registers for what a loop of g's schedule has beside its fragments. */
bool kn_has_registers(struct kn_ctx *c, const kiln_problem *p,
                      const struct kn_config *g);

/* Slots a loop needs: a direct copy's target is not read meanwhile. */
uint32_t kn_least_stages(const kiln_problem *p, const struct kn_config *g);

/* Of n slots those that a K of few tiles fills, two at least: more would take LDS that
 * stores or another workgroup have a use for. Of a K to come all of them. */
uint32_t kn_filled_stages(const kiln_problem *p, const struct kn_config *g, uint32_t n);

/* Whether one slot is better than two, of a K that one K tile has all of. */
bool kn_one_slot(const kiln_problem *p, const struct kn_config *g);

/* Slots of LDS of a 4-wave loop that fills them through registers. */
uint32_t kn_register_slots(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g);

/* Fills schedule and stages so that the tile fits; false if it does not. */
bool kn_tile_fit(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g);

/* Why the types cannot have this K of a tile; NULL: they can. */
const char *kn_bk_lacks(struct kn_ctx *c, const kiln_problem *p,
                        const struct kn_config *g);

/* Waves of moe's tile where they are open; why its blocks or waves do not fit
 * the problem, NULL: they do. */
const char *kn_moe_lacks(struct kn_ctx *c, const kiln_problem *p,
                         struct kn_config *g);

/* kn_choose() for rows that begin where they do. */
kiln_status kn_choose_as_it_is(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
                               struct kn_buf *why);

/* ---- candidates.c ------------------------------------------------------- */

/* Tiles of the launch; ragged rows are taken as balanced. */
uint64_t kn_tiles_of(const kiln_problem *p, uint32_t bm, uint32_t bn);

/* More of them, or of shares of K, than compute units: some have two at once or in turn. */
bool kn_fills_rounds(const kiln_problem *p, const struct kn_config *g);

/* Persistent grids that the schedule 4-wave was measured with. */
bool kn_walks(const kiln_problem *p);

bool kn_walks_stored(const kiln_problem *p);

/* Whether such a grid waits for a group that is longer than the others. */
bool kn_deals_unevenly(const kiln_problem *p, const struct kn_config *g);

/* Of kn_walks_stored whether groups are short enough. */
bool kn_walk_pays(const kiln_problem *p, const struct kn_config *g);

/* Makes g `4-wave` where that can be built, pays and nothing else was asked. */
void kn_prefer_4wave(struct kn_ctx *c, const kiln_problem *p,
                    struct kn_config *g, const struct kn_openings *open);

/* The best tile of the tables, with its schedule; false: none fits. */
bool kn_pick_tile(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
                  const struct kn_openings *open);

/* moe's tiles that are read straight from memory; false: others. */
bool kn_pick_direct(struct kn_ctx *c, const kiln_problem *p,
                    struct kn_config *g, struct kn_buf *why);

/* MX weights whose widening takes no longer than products beside it. */
bool kn_widens_soon(const kiln_problem *p);

/* Copies lines where rows begin inside them and g can, of some K tiles: slots may
 * be more by one, a walk over tiles is none. False: g is as it was. fit.c */
bool kn_prefer_lines(struct kn_ctx *c, const kiln_problem *p,
                     const struct kn_config *given, struct kn_config *g);

/* ---- scored.c ----------------------------------------------------------- */

/* Whether a row of scores.def is clearly better than g, which the rules made of
 * what was given; it is put in g's place. */
bool kn_prefer_scored(struct kn_ctx *c, const kiln_problem *p,
                      const struct kn_config *given, struct kn_config *g);

/* ---- refine.c ----------------------------------------------------------- */

/* What was not asked for of a chosen tile: waves and slots. */
void kn_refine(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *asked,
               struct kn_config *g);
/* Elements of A that a lane quantises at once where that is not as many as it may, or 0. Two
 * loads side by side each ask for all lines of their rows: where rows begin inside half lines
 * that takes longer than the steps of a maximum which it saves. Not so of small tiles and of
 * the largest beside B by lines, where arithmetic takes longer: codes of i8, and f16 (measured,
 * gfx950). */
uint32_t kn_quantised_run(const kiln_problem *p, const struct kn_config *g);
/* Whether K, or a share of it, is so short that folding scales takes longer than it saves. */
bool kn_stays_unfolded(const kiln_problem *p, const struct kn_config *g);
/* Whether scales of a row of B that is widened had better come for several K tiles at once, and the
 * 4-bit floats that they are of stay in LDS as in memory. */
enum kn_scale_turns { KN_NO_TURNS, KN_TURNS, KN_TURNS_OF_CODES };
enum kn_scale_turns kn_scales_in_turns(const kiln_problem *p, const struct kn_config *g);
/* Workgroups that LDS has room for beside codes and scales of several K tiles: scores were measured
 * with scales of f16, of f32 they are twice as long. */
uint32_t kn_room_beside_scales(const kiln_problem *p, const struct kn_config *g, uint32_t stages);
/* domain.ktail of a configuration that is decided. */
uint8_t kn_tail_of(const kiln_problem *p, const struct kn_config *g);

/* ---- few_rows.c --------------------------------------------------------- */

/* Decides for M of 1 to 64 of dense products; false: others do. */
bool kn_pick_small(struct kn_ctx *c, const kiln_problem *p,
                   struct kn_config *g, struct kn_buf *why);

/* Few rows of bf16 by weights that the target widens: tiles of 64 columns and a
 * K of 256 read them in whole lines (docs/smallm.md). */
bool kn_few_widened(const kiln_problem *p);

/* Shares of K of a tile in g that the rules chose, whose rows are unaligned. */
void kn_share_unaligned(const kiln_problem *p, const struct kn_config *given,
                        struct kn_config *g);

/* Fills what g leaves open of its schedule, gemv or skinny, where forms.def lets it; else,
 * or if what is given is no tile of this schedule, a sentence. kn_gemv_choose: of gemv,
 * whatever g has. */
const char *kn_runs_choose(const kiln_problem *p, struct kn_config *g);
const char *kn_gemv_choose(const kiln_problem *p, struct kn_config *g);

/* ---- skinny.c ----------------------------------------------------------- */

/* The same of the schedule skinny; whether it takes less than other kernels, where
 * kn_skinny_types() has it. */
const char *kn_skinny_choose(const kiln_problem *p, struct kn_config *g);
bool kn_skinny_wins(const kiln_problem *p);
/* Where it takes less than g, which has a score: in its place, with the reason for `why`
 * (NULL: none). */
bool kn_prefer_skinny(const kiln_problem *p, const struct kn_config *asked, struct kn_config *g,
                      struct kn_buf *why);
void kn_skinny_explain(const struct kn_config *g, struct kn_buf *why);

/* score.c - what a launch is expected to take with a main loop and tile of
 * scores.def: the timing model's clocks of a K tile, measured ahead of time,
 * put together as runtime/sim/timing does for a whole launch. Predicted, and
 * good for comparing tiles, not for being told. */

/* X(id, text, power, odd): operands whose K tiles take alike; the clock line of
 * their products, 0 of 16 bits, 1 of 8, 2 of 4; the class of the same with rows
 * that do not begin at 16 bytes, NONE where they are chosen by the same scores. */
#define KN_CLASSES(X) \
    X(NONE, "none", 0, NONE) \
    X(H, "16 bits", 0, UH) X(B8, "8-bit floats", 1, U8) X(I8, "i8", 1, U8) \
    X(K, "8 bits, 128-blocks", 1, UK) X(MX88, "MX 8 x 8 bits", 1, UM88) \
    X(MX84, "MX 8 x 4 bits", 1, UM88) X(MX66, "MX with 6 bits", 1, UM66) \
    X(MX44, "MX 4 x 4 bits", 2, UM44) \
    X(N66, "MX with 6 bits, not folded", 1, UN66) \
    X(N44, "MX 4 x 4 bits, not folded", 2, UN44) X(E5, "MX with e5m2, as f16", 0, NONE) \
    X(W4, "16 bits x MX", 0, NONE) \
    X(WB, "bf16 x MX along K", 0, UWB) X(WS, "bf16 x MX of 6 bits along K", 0, UWB) \
    X(NV, "16 bits x nvfp4", 0, UNV) \
    X(I4, "16 bits x i4", 0, NONE) X(IT, "16 bits x i4, transposed scales", 0, NONE) \
    X(IR, "16 bits x i4, several products", 0, NONE) \
    X(AW, "16 bits x i4, AWQ", 0, NONE) X(GQ, "16 bits x i4, GPTQ", 0, NONE) \
    X(Q4, "16 bits quantised x MX", 1, NONE) \
    X(P8, "16 bits quantised x 8 bits", 1, UP8) \
    X(S44, "MX 4 x 4 bits, shuffled scales", 2, NONE) \
    X(S84, "MX 8 x 4 bits, shuffled scales", 1, NONE) \
    X(S66, "MX with 6 bits, shuffled scales", 1, NONE) \
    X(S88, "MX 8 x 8 bits, shuffled scales", 1, NONE) X(F, "f32", 0, NONE) \
    X(X, "f32 as xf32", 0, NONE) X(T, "f32 as two bf16", 0, NONE) \
    X(D, "f64", 0, NONE) \
    X(UH, "16 bits, rows at any byte", 0, UH) \
    X(U8, "8 bits, rows at any byte", 1, U8) \
    X(UK, "8 bits, 128-blocks, rows at any byte", 1, UK) \
    X(UM88, "MX 8 x 8 bits, rows at any byte", 1, UM88) \
    X(UM84, "MX 8 x 4 bits, rows at any byte", 1, UM84) \
    X(UM66, "MX with 6 bits, rows at any byte", 1, UM66) \
    X(UD66, "MX with 6 bits, rows at dwords", 1, UD66) \
    X(UN66, "MX with 6 bits, not folded, rows at any byte", 1, UN66) \
    X(UM44, "MX 4 x 4 bits, rows at any byte", 2, UM44) \
    X(UN44, "MX 4 x 4 bits, not folded, rows at any byte", 2, UN44) \
    X(UWB, "bf16 x MX along K, rows at any byte", 0, UWB) \
    X(UNV, "16 bits x nvfp4, rows at any byte", 0, UNV) \
    X(UP8, "16 bits quantised x 8 bits, rows at any byte", 1, UP8)

enum kn_class {
#define X(id, ...) KN_CLASS_##id,
    KN_CLASSES(X)
#undef X
    KN_NCLASSES
};

struct kn_score {            /* the columns of scores.def */
    kiln_target target;
    enum kn_class class;
    kiln_layout layout;
    enum kn_schedule schedule;
    uint32_t bm, bn, bk, wm, wn;
    bool walks, lines;       /* lines: through registers, one by one */
    uint32_t stages, residents;
    double near, far, full, before, after, fixed, mfma;
};

extern const struct kn_score kn_scores[];
extern const size_t kn_nscores;
const char *kn_class_name(enum kn_class c);
int kn_class_power(enum kn_class c);

/* Whether it was measured with rows that do not begin at 16 bytes. */
static inline bool
kn_class_is_odd(enum kn_class c)
{
    static const uint8_t odd[] = {
#define X(id, text, power, odd) KN_CLASS_##odd,
        KN_CLASSES(X)
#undef X
    };

    return odd[c] == c;
}

enum kn_class kn_class_of(const kiln_problem *p);

/* The layout that rows for p are of. */
kiln_layout kn_score_layout(const kiln_problem *p);

/* Whether rows at any byte along K have rows that were measured by lines. */
bool kn_scored_by_lines(const kiln_problem *p);

/* Rows of the class and layout of p's operands; none of class NONE. */
size_t kn_scores_of(const kiln_problem *p, const struct kn_score **first);
/* And those of another class, by lines. */
size_t kn_scores_beside(const kiln_problem *p, const struct kn_score **first);

/* Microseconds of p by g, whose tile, loop and shares are decided, with the
 * clocks of s. An open M or N counts as a stated few sizes (score.c). */
double kn_score_of(const kiln_problem *p, const struct kn_config *g,
                   const struct kn_score *s);

/* Of groups of rows that differ, as few tiles or as many as they mostly have. */
double kn_score_uneven(const kiln_problem *p, const struct kn_config *g,
                       const struct kn_score *s, bool many);

/* uneven.c: rows of tiles of a group of those, on average; of all groups a whole number. */
double kn_uneven_rows(const kiln_problem *p, const struct kn_config *g, bool many);

/* Clocks in which a workgroup finds which of groups of rows its tile is of. */
double kn_lookup_clocks(const kiln_problem *p);

/* K tiles from which one operand's rows are loaded by lines, beside another's along M or N. */
enum { KN_HALF_LINES = 6 };

/* score_rows.c: how many times an operand's bytes are in the lines of 128 bytes that
 * the copies of a tile of s take, on average; s NULL: if rows began at lines. */
double kn_row_lines(const kiln_problem *p, char operand,
                    const struct kn_config *g, const struct kn_score *s);
/* score_scales.c: bytes of lines of scales that a K tile asks for, of MX types and A's of
 * 128-blocks, where so many workgroups share an L1. */
double kn_scale_lines(const kiln_problem *p, const struct kn_config *g,
                      const struct kn_score *s, uint32_t beside);
/* What the score of a tile whose lines go through registers one by one must be better by. */
double kn_lines_lead(const kiln_problem *p, const struct kn_config *g);
/* How many times as long a K tile takes for what that does not count. */
double kn_rows_slower(const kiln_problem *p, const struct kn_config *g,
                      const struct kn_score *s);

/* Workgroups that a compute unit has at once. */
uint32_t kn_score_beside(const kiln_problem *p, const struct kn_config *g,
                         const struct kn_score *s);

/* The row that g is, if need be one with other slots, or as many waves that stand
 * otherwise; NULL: none. */
const struct kn_score *kn_score_row(const kiln_problem *p,
                                    const struct kn_config *g);
/* The row that counts for g in place of `row`, of its form, where g does not fold scales. */
const struct kn_score *kn_score_apart(const kiln_problem *p, const struct kn_config *g,
                                      const struct kn_score *row);

/* The score by that row; 0: none. */
double kn_score_known(const kiln_problem *p, const struct kn_config *g);

/* unscored.c: what scores of walks, of narrow tiles and of waves that lie otherwise than those
 * of the row must be better by than others; MX types of several products. */
double kn_walk_lead(const kiln_problem *p, const struct kn_config *g);
double kn_narrow_lead(const kiln_problem *p, const struct kn_config *g);
double kn_turned_lead(const kiln_problem *p, const struct kn_score *s, const struct kn_config *g);
bool kn_scaled_batch(const kiln_problem *p);

/* Of MX types that are converted and multiplied product by product rows of one slot with
 * room for several workgroups (tests/timing/scores.c). */
bool kn_converts_in_one_slot(const kiln_problem *p, uint32_t stages, uint32_t bk);
/* Whether scores say nothing of a row in the place of g, of its other rows alone, of g; and
 * whether a row is taken for its score alone where g has none. */
bool kn_score_unknown(const kiln_problem *p, const struct kn_score *s,
                      const struct kn_config *g);
bool kn_other_rows_unknown(const kiln_problem *p, const struct kn_score *s);
bool kn_waits_for_scales(const kiln_problem *p, const struct kn_config *g);
bool kn_beats_unscored(const kiln_problem *p, const struct kn_score *s,
                       const struct kn_config *g);
/* Whether waves of rows wider than a tile had better meet than leave codes to the last. */
bool kn_score_meets(const kiln_problem *p, const struct kn_config *g,
                    const struct kn_score *s);

#endif
