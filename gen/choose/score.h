/* score.h - what a launch is expected to take with a main loop and tile of
 * scores.def: the timing model's clocks of a K tile, measured ahead of time,
 * put together as runtime/sim/timing does for a whole launch. Predicted, and
 * good for comparing tiles, not for being told. */
#ifndef KN_SCORE_H
#define KN_SCORE_H

#include "../forms.h"

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
    X(WE, "bf16 x MX of 8 bits along K", 0, UWB) \
    X(WR, "bf16 x MX of 4 bits, several products", 0, UWB) \
    X(NV, "16 bits x nvfp4", 0, UNV) X(NR, "16 bits x nvfp4, several products", 0, UNV) \
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
/* Clocks that a K tile adds that ends behind K, of an operand's ('a' or 'b') rows along K. */
double kn_rows_clipped(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s,
                       char operand);
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

/* leads.c: what the score of g by `s` must be better by than that of the choice, `from`, for how
 * well scores know such a launch; for what g is; for waves that lie otherwise than those of s. */
double kn_lead_for(const kiln_problem *p, const struct kn_score *s, const struct kn_config *from,
                   const struct kn_config *g);
double kn_better_by(const kiln_problem *p, const struct kn_config *from, const struct kn_config *g);
double kn_turned_lead(const kiln_problem *p, const struct kn_score *s, const struct kn_config *g);
/* One loop, tile and waves. */
bool kn_same_tile(const struct kn_config *a, const struct kn_config *b);

/* unscored.c: MX types of several products. */
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
