/* quant.h - family quant: no product, but rows that become codes (quant.c). */
#ifndef KN_QUANT_H
#define KN_QUANT_H

#include "gen.h"
#include "instantiate.h"

/* How a type is made: elem is the 8-bit format of the conversion, whose codes of
 * v * 2^-fold hold those of v; drawn names codes that are rounded at random. */
struct kn_narrow {
    uint8_t elem, drawn, fold, top;
    uint32_t most;
    uint8_t bits;
    int8_t least;
};
const struct kn_narrow *kn_narrow_of(kiln_type t);

/* The fold on the problem's target, the largest value of the output's type, and
 * what is added to the bits of a block's largest magnitude so that its exponent
 * is the scale's, by the scale mode. */
int kn_narrow_fold(const kiln_problem *p);
double kn_narrow_limit(const kiln_problem *p);
int64_t kn_scale_rounding(const kiln_problem *p);

/* The exponent below which the output's type has no more bits. */
int kn_narrow_least(const kiln_problem *p);

/* Of the family quant: the outputs that there are, of what (kiln_quant_flags). */
static inline bool
kn_quant_gated(const kiln_problem *p)
{
    return p->quant_flags & KILN_QUANT_GATED;
}

static inline bool
kn_quant_turned(const kiln_problem *p)
{
    return p->quant_flags & KILN_QUANT_TURNED;
}

static inline bool
kn_quant_dual(const kiln_problem *p)
{
    return p->quant_flags & KILN_QUANT_DUAL;
}

/* Each of its outputs has scales of rows, so workgroups make one or the other. */
static inline bool
kn_quant_apart(const kiln_problem *p)
{
    return kn_quant_dual(p) && p->out_scale == KILN_OUT_ROW;
}

/* Waves of a row of the output that is not transposed, beside such a one: the K of the
 * configuration is theirs, and its stages are their steps. */
static inline uint32_t
kn_quant_row_waves(const struct kn_config *g)
{
    return g->bk / 512;
}

/* Columns of A are rows of an output. */
static inline bool
kn_quant_has_turned(const kiln_problem *p)
{
    return kn_quant_turned(p) || kn_quant_dual(p);
}

/* A row with one scale is in registers; rows of A that pass LDS at once, where its
 * columns are rows of an output. */
enum { KN_QUANT_ROW_MOST = 16384, KN_QUANT_PANEL = 128 };

/* Both outputs are made of panels one after another, down one strip of columns and the next: a
 * workgroup's are any so many, so that all have as many. */
bool kn_quant_flat(const kiln_problem *p, const struct kn_config *g);

/* Columns of quant that its tiles side by side make whole: those of a block of
 * shuffled scales, where a tile has fewer. */
static inline uint32_t
kn_quant_across(const kiln_problem *p, const struct kn_config *g)
{
    if (kn_quant_flat(p, g))
        return KN_QUANT_PANEL;
    return kn_shuffled(p) && kn_quant_has_turned(p) && g->bn < 256 ? 256 : g->bn;
}

/* Rows of A are of whole runs where vec is 2 or 4, and so are those of the output that is
 * transposed where it is 4: what rows of the output, or of the first, are multiples of. */
static inline int
kn_quant_align(const kiln_problem *p, const struct kn_domain *d)
{
    return d->vec == 4 || (d->vec > 1 && !kn_quant_turned(p)) ? 8 : 1;
}

/* Columns of A with one scale each are shared by workgroups, which tell each other what
 * they found in the workspace: a dword for each column of a tile, then two counts. */
static inline bool
kn_quant_shared(const kiln_problem *p, const struct kn_config *g)
{
    return kn_quant_has_turned(p) && p->out_scale == KILN_OUT_ROW && g->bn > KN_QUANT_PANEL;
}

/* Columns of A of a panel where an output has scales of its columns, and how many such
 * strips a tile has one after another. */
static inline uint32_t
kn_quant_strip(const kiln_problem *p, const struct kn_config *g)
{
    bool columns = kn_quant_has_turned(p) && p->out_scale == KILN_OUT_ROW;

    return !columns ? g->bm : p->a == KILN_F32 ? 32 : 64;
}

static inline uint32_t
kn_quant_strips(const kiln_problem *p, const struct kn_config *g)
{
    return g->bm / kn_quant_strip(p, g);
}

/* What passes LDS is read so that matrix products transform it: lanes of a block are 16
 * apart. Of 16-bit elements as they are; two transforms of 16 share a product, which
 * makes NaNs of both where one has an infinity, as their common scale would. */
static inline bool
kn_quant_matrix(const kiln_problem *p)
{
    bool apart = p->hadamard == 16 && (p->out_scale == KILN_OUT_STATIC || p->amax);

    return p->hadamard && kn_quant_has_turned(p) && p->a != KILN_F32 && !kn_quant_gated(p) &&
           !apart;
}

/* Panels that a workgroup keeps in registers until it knows the scales, or 0: 16 a lane
 * each, of both halves where A is gated; silu and its loads have those of two more,
 * a transform too, and a hash beside it that of one; rows that begin and end anywhere
 * have a register more for four, and masks. What is made of A has registers that rows of
 * the other output would have waves for. */
static inline uint32_t
kn_quant_panel_registers(const kiln_problem *p)
{
    return kn_quant_gated(p) ? 32 : 16;
}

static inline uint32_t
kn_quant_kept_most(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t most = kn_quant_gated(p) ? 3 : !p->hadamard ? 8 : p->round ? 5 : 6;

    if (kn_quant_apart(p) && (kn_quant_gated(p) || p->hadamard))
        return 2;
    if (g->domain.vec == 1)
        return kn_quant_gated(p) && p->hadamard && p->round ? 0 : most * 3 / 4;
    return most;
}

static inline uint32_t
kn_quant_kept(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t n = g->bn / KN_QUANT_PANEL;

    return kn_quant_shared(p, g) && n <= kn_quant_kept_most(p, g) ? n : 0;
}

/* Steps of rows whose loads are under way: where vector work takes longer than memory
 * one, so that they become codes as they come. */
uint32_t kn_quant_ahead(const kiln_problem *p);

/* Rounded at random, codes are those of f16, whose exponents FNUZ bf8 has one more than. */
static inline bool
kn_quant_drawn(const kiln_problem *p)
{
    return p->round && p->out != KILN_I8 &&
           !(p->out == KILN_BF8 && kn_targets[p->target].fnuz);
}

/* Codes can be made of pairs of A's elements as they are: by conversions that take the
 * scale, or of bf16, whose bits f16 has all, fp4's and what is rounded at random but for
 * mxbf8, of whose exponents f16 has no more. */
static inline bool
kn_quant_direct(const kiln_problem *p)
{
    uint32_t bits = kn_type_bits[p->out];

    if (p->out_scale != KILN_OUT_MX32 || kn_quant_gated(p) || p->hadamard)
        return false;
    if (p->round)
        return p->a == KILN_BF16 && p->out != KILN_MXBF8;
    return kn_targets[p->target].scaled ? bits < 8 && p->a != KILN_F32
                                        : bits == 4 && p->a == KILN_BF16;
}

/* The target has a conversion of 32 numbers of f32, or of halves, which are rounded at random, to
 * codes of 6 bits: four runs of a panel. */
static inline bool
kn_quant_sixes(const kiln_problem *p, const struct kn_config *g)
{
    return kn_targets[p->target].scaled && p->out_scale == KILN_OUT_MX32 &&
           kn_type_bits[p->out] == 6 && kn_quant_has_turned(p) &&
           g->stages % 4 == 0 && (p->round || !kn_quant_direct(p));
}

/* kn_problem_normalise, kn_domain_of, kn_choose and kn_limits_of of the family. */
kiln_status kn_quant_normalise(struct kn_ctx *c, kiln_problem *p);
struct kn_domain kn_quant_domain(const kiln_problem *p, uint32_t base);
struct kn_config kn_quant_config(const kiln_problem *p);
kiln_status kn_quant_choose(struct kn_ctx *c, const kiln_problem *p,
                            struct kn_config *g);
struct kn_limits kn_quant_limits(const kiln_problem *p,
                                 const struct kn_config *g);

#endif
