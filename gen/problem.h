/* problem.h - what a problem says: its family, its rows, its scales, what it writes; made
 * complete and checked by problem.c, measured by launch/extents.c. */
#ifndef KN_PROBLEM_H
#define KN_PROBLEM_H

#include "../ir/base.h"
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

/* Sorted rows of a block of moe, of block_m as a problem has it. */
static inline uint32_t
kn_rows_of_block(uint8_t block_m)
{
    return block_m == KILN_BLOCK_256 ? 256 : block_m;
}

static inline uint32_t
kn_block_rows(const kiln_problem *p)
{
    return kn_rows_of_block(p->block_m);
}

/* bf16, f16 and f32: what sums become that nothing narrows. */
static inline bool
kn_is_plain(kiln_type t)
{
    return kn_type_bits[t] == 16 || t == KILN_F32;
}

/* fp8, bf8 and i8: a byte each, without scales that are their part. */
static inline bool
kn_is_byte(kiln_type t)
{
    return kn_type_bits[t] == 8 && !kn_type_mx[t];
}

/* A of 16 bits times an 8-bit B: A is quantised in the kernel, 128 K of a row
 * at a time, and B alone has scales. */
static inline bool
kn_prequant(const kiln_problem *p)
{
    return kn_type_bits[p->a] == 16 && kn_is_byte(p->b);
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
    return kn_is_byte(p->out);
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

/* Fills in defaults (dense leading dimensions, natural scale) and refuses
 * what cannot work: BAD_INPUT for contradictions, UNSUPPORTED for what no
 * variant does yet. One sentence either way. */
kiln_status kn_problem_normalise(struct kn_ctx *c, kiln_problem *p);

/* routed.c - whether there can be such a stage of moe. */
kiln_status kn_routed_check(struct kn_ctx *c, const kiln_problem *p);

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

#endif
