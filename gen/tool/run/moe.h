/* moe.h - the host's part of moe: routing, sort and align, problems, and the
 * reference of every stage.
 *
 * Sorted ids are int32 token | slot << 24. Rows of one expert are together,
 * ascending by token and then slot, padded to whole blocks of block_m rows
 * with the id `tokens` and weight 0; experts ascend; an expert without rows
 * has no block. experts[] names the expert of each block. */
#ifndef KN_MOE_H
#define KN_MOE_H

#include "operands.h"

/* How tokens fall to experts: each set of them alike; every expert as many rows, as far
 * as that goes; expert e by a weight of 0.2 to 1, drawn for it, as groups have (run.h). */
enum kn_moe_pattern { KN_MOE_DRAWN, KN_MOE_BALANCED, KN_MOE_MILD };

/* expert[tokens][topk] and weight[tokens][topk] of a routing. */
struct kn_moe_routing {
    int64_t tokens, topk, experts;
    enum kn_moe_pattern pattern;
    int32_t *expert;
    float *weight;
};

struct kn_moe_sorted {
    int64_t room;            /* rows allocated: no routing needs more */
    int32_t padded;          /* rows that count */
    int32_t *ids, *experts;
    float *weights;
};

/* Most rows any routing can need, in whole blocks. */
int64_t kn_moe_room(int64_t tokens, int64_t topk, int64_t experts,
                    uint32_t block_m);
kiln_status kn_moe_sort(struct kn_ctx *c, const struct kn_moe_routing *r,
                        uint32_t block_m, struct kn_moe_sorted *out);
/* Each token gets topk different experts of the first `among`, by r->pattern. */
kiln_status kn_moe_route(struct kn_ctx *c, uint64_t seed, int64_t among,
                         bool exact, struct kn_moe_routing *r);

/* Scale of 32 numbers of magnitude up to amax, in a type of largest value
 * `max`, largest power of two 2^top and m mantissa bits (aiter's names, and
 * formulas of csrc/include/mx_quant_utils.h). X(id, text):
 *   FLOOR     floor(log2 amax) - top (OCP MX v1.0 6.3); may saturate
 *   ROUND_UP  ceil(log2(amax / max)): the smallest that never saturates
 *   EVEN      floor(log2 of amax rounded to m mantissa bits, half up) - top
 *   CEIL      ceil(log2 amax) - top
 * amax 0 takes the smallest scale. Clamped to 2^-127 .. 2^127. */
#define KN_MX_MODES(X) \
    X(FLOOR, "floor") X(ROUND_UP, "round-up") X(EVEN, "even") X(CEIL, "ceil")

enum kn_mx_mode {
#define X(id, text) KN_MX_##id,
    KN_MX_MODES(X)
#undef X
    KN_NMXMODES
};

/* The E8M0 byte of the scale. */
uint8_t kn_mx_scale(enum kn_mx_mode mode, kiln_type type, kiln_target target,
                    double amax);

/* Quantises a row of n numbers to a type with one E8M0 scale per 32 (the last
 * block may be short); elements round to nearest even and saturate. Codes are
 * packed little-endian (fp4: low nibble first); bits beyond n are zero. */
struct kn_moe_row {          /* values of one row, and what to make of them */
    kiln_type type;
    kiln_target target;
    const double *value;
    int64_t n;
    enum kn_mx_mode mode;
};
void kn_moe_quantise(const struct kn_moe_row *row, uint8_t *payload,
                     uint8_t *scales);

/* One stage as the reference sees it. Rows of A are by token (gate_up) or by
 * token * topk + slot (down). */
struct kn_moe_stage {
    const kiln_problem *p;
    const struct kn_moe_routing *r;
    struct kn_operand *a, *b, *sa, *sb;
    const int32_t *ids;      /* of the rectangle's rows, all of one expert */
    struct kn_operand *bias; /* f32, a row an expert: gate's, then up's */
    struct kn_operand *x;    /* arrays that the expression declares: columns the same */
    struct kn_operand *c;    /* what the output holds, if that is read */
    uint8_t aux;             /* as of kn_ref_problem: 0: D is wanted */
};

/* Columns [n0, n0 + cols) of the rows ids[0 .. rows), twice rows * cols of room
 * in each of out's; down: times the routing weight. The tolerance that
 * kn_ref_compare makes of abssum covers the activation too. */
kiln_status kn_moe_reference(struct kn_ctx *c, const struct kn_moe_stage *s,
                             struct kn_ref_rect rect,
                             const struct kn_ref_sums *out);

/* Whether the flags name a file of this stage's biases: of gate, of up; of down. */
bool kn_moe_bias_given(const struct kn_value *v, int stage);

/* Problem of a stage from the flags; BAD_INPUT if one is missing. */
kiln_status kn_moe_problem(struct kn_ctx *c, const struct kn_cli *cli,
                           kiln_target target, int stage, kiln_problem *p);

/* `kilnc run moe`, and `kilnc time moe`. */
kiln_status kn_run_moe(struct kn_tool *t);
kiln_status kn_time_moe(struct kn_tool *t, kiln_target target);

#endif
