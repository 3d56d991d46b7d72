/* routed.c - what is asked of moe: its stages, blocks and ids, and what their
 * epilogues may name. */
#include "forms.h"
#include "instantiate.h"

/* A slot's row has an f32 of a row's array, and lies in a tensor as in the output. */
static kiln_status
check_moe_arrays(struct kn_ctx *c, const kiln_problem *p)
{
    for (uint32_t i = 0; i < KN_FORMULA_ARRAYS; i++) {
        enum kn_formula_operand_kind kind = kn_array_kind(p, i);

        if (kind == KN_FO_ROW && 4 * p->tokens * p->topk > KN_REACH)
            return kn_fail(c, KILN_UNSUPPORTED, "moe has arrays by row within "
                           "2 GiB");
        if (kind == KN_FO_TENSOR && kn_quantises(p))
            return kn_fail(c, KILN_UNSUPPORTED, "a tensor has the output's type, "
                           "and that of %s is not available yet",
                           kiln_type_name(p->out));
        if (kind == KN_FO_TENSOR && p->atomic)
            return kn_fail(c, KILN_UNSUPPORTED, "a tensor has a row for each slot, "
                           "and what is added to a token's row has none: --reduce "
                           "ordered");
    }
    return KILN_OK;
}

/* What the output holds: of an expression where each row is written once; of memory
 * that adds, and of the sum over slots, --beta 1. */
static kiln_status
check_moe_c(struct kn_ctx *c, const kiln_problem *p)
{
    bool named = kn_formula_names(p->expression, "c");

    if (!p->beta)
        return KILN_OK;
    if (named && p->atomic)
        return kn_fail(c, KILN_UNSUPPORTED, "what an output holds changes while rows "
                       "are added to it, so that no expression can name c: --beta 1 "
                       "adds to it, --reduce ordered writes each row once");
    if (p->stage == KILN_MOE_GATE_UP && !named)
        return kn_fail(c, KILN_BAD_INPUT, "--beta adds to acc: gemm1 has an "
                       "expression of gate and up that names c itself");
    if (kn_quantises(p))
        return kn_fail(c, KILN_UNSUPPORTED, "an output of %s holds codes, to which no "
                       "--beta adds and which no c reads", kiln_type_name(p->out));
    return KILN_OK;
}

/* Of gemm1, whose activation it is, or of gemm2, before the routing weight. */
static kiln_status
check_moe_expression(struct kn_ctx *c, const kiln_problem *p)
{
    bool up = p->stage == KILN_MOE_GATE_UP;

    if (!p->expression[0])
        return KILN_OK;
    if (p->stage == KILN_MOE_REDUCE ||
        up != kn_formula_names(p->expression, "gate"))
        return kn_fail(c, KILN_UNSUPPORTED, "an expression of moe is of gate and up "
                       "in gemm1, which a layer's is, and of acc in gemm2: --stage "
                       "gemm2");
    if (p->act)
        return kn_fail(c, KILN_BAD_INPUT, "the expression is the activation: "
                       "no --act beside it");
    return check_moe_arrays(c, p);
}

kiln_status
kn_routed_check(struct kn_ctx *c, const kiln_problem *p)
{
    if (p->stage < KILN_MOE_GATE_UP || p->stage > KILN_MOE_REDUCE)
        return kn_fail(c, KILN_BAD_INPUT, "a moe kernel is --stage gemm1 or "
                       "gemm2; a layer is several");
    if (p->stage == KILN_MOE_REDUCE &&
        (p->a != p->out || p->b != p->a))
        return kn_fail(c, KILN_UNSUPPORTED, "slots are summed in the type "
                       "they have");
    if (p->layout != KILN_NT)
        return kn_fail(c, KILN_UNSUPPORTED, "moe is nt");
    KN_TRY(check_moe_expression(c, p));
    KN_TRY(check_moe_c(c, p));
    if (kn_has_bias(p) && (p->stage == KILN_MOE_REDUCE || kn_quantises(p)))
        return kn_fail(c, KILN_UNSUPPORTED, "moe has no bias where slots are "
                       "summed, nor beside an MX output, whose scales have "
                       "its pointer");
    if (p->groups < 1 || p->groups > 65535)
        return kn_fail(c, KILN_BAD_INPUT, "moe has 1 to 65535 experts");
    if (!kn_power_to(kn_block_rows(p), 256) || p->block_m < 16)
        return kn_fail(c, KILN_BAD_INPUT, "--block-m is 16, 32, 64, 128 or 256");
    if (p->topk < 1 || p->topk > 255 || p->tokens < 0 ||
        p->tokens >= 1 << 24)
        return kn_fail(c, KILN_BAD_INPUT, "moe has 1 to 255 slots a token and "
                       "at most 16777215 tokens (sorted ids have 8 and 24 "
                       "bits)");
    if ((p->scale == KILN_SCALE_ROW || p->out_scale == KILN_OUT_ROW) &&
        4 * p->tokens * p->topk > KN_REACH)
        return kn_fail(c, KILN_UNSUPPORTED, "moe has scales of rows within 2 GiB");
    if (p->atomic && p->invariant)
        return kn_fail(c, KILN_UNSUPPORTED, "atomic accumulation adds in any "
                       "order, which --invariant excludes: --reduce ordered");
    if (p->atomic && (p->stage != KILN_MOE_DOWN || p->out != KILN_BF16 ||
                      p->n % 2))
        return kn_fail(c, KILN_UNSUPPORTED, "atomic accumulation is for gemm2 "
                       "with a bf16 output of even width");
    return KILN_OK;
}
