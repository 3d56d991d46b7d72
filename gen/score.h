/* score.h - what a launch is expected to take with a main loop and tile of
 * scores.def: the timing model's clocks of a K tile, measured ahead of time,
 * put together as runtime/sim/timing does for a whole launch. Predicted, and
 * good for comparing tiles, not for being told. */
#ifndef KN_SCORE_H
#define KN_SCORE_H

#include "gen.h"

/* X(id, text): operands whose K tiles take alike. */
#define KN_CLASSES(X) \
    X(H, "16 bits") X(B8, "8-bit floats") X(I8, "i8") \
    X(K, "8 bits, 128-blocks") X(MX88, "MX 8 x 8 bits") \
    X(MX84, "MX 8 x 4 bits") X(MX66, "MX with 6 bits") \
    X(MX44, "MX 4 x 4 bits") X(W4, "16 bits x MX") \
    X(Q4, "16 bits quantised x MX") X(P8, "16 bits quantised x 8 bits") \
    X(S44, "MX 4 x 4 bits, shuffled scales") \
    X(S88, "MX 8 x 8 bits, shuffled scales")

enum kn_class {
#define X(id, text) KN_CLASS_##id,
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
    bool walks;
    uint32_t stages, residents;
    double near, far, full, before, after, fixed, mfma;
};

extern const struct kn_score kn_scores[];
extern const size_t kn_nscores;
const char *kn_class_name(enum kn_class c);

enum kn_class kn_class_of(const kiln_problem *p);

/* Rows of the class and layout of p's operands; of rows that are not aligned
 * too, whose K tiles take longer. */
size_t kn_scores_of(const kiln_problem *p, const struct kn_score **first);

/* Microseconds of p by g, whose tile, loop and shares are decided, with the
 * clocks of s. An open M or N counts as a stated few sizes (score.c). */
double kn_score_of(const kiln_problem *p, const struct kn_config *g,
                   const struct kn_score *s);

#endif
