/* output.c - outputs of 8 bits or of MX types, and their scales. */
#include "instantiate.h"
#include "panels.h"

#include <string.h>

enum {
    WIDEST = 256             /* tile, in columns */
};

uint32_t
kn_output_block(const kiln_problem *p)
{
    return p->out_scale == KILN_OUT_MX32 ? 32
         : p->out_scale == KILN_OUT_BLOCK128 ? 128
         : p->n > WIDEST ? (uint32_t)p->n : WIDEST;
}

int64_t
kn_output_scale_row(const kiln_problem *p)
{
    int64_t block = kn_output_block(p);

    return p->out_scale == KILN_OUT_ROW ? 4
         : (p->n + block - 1) / block * kn_output_scale_size(p);
}

uint64_t
kn_output_scales(const kiln_problem *p)
{
    const struct kn_family *f = kn_family_of(p);
    int64_t many = f->batch ? p->batch : f->ragged == 'k' ? p->groups : 1;
    int64_t rows = f->routed ? p->tokens * p->topk : p->m;

    if (!kn_writes_scales(p))
        return p->out_scale == KILN_OUT_STATIC ? 4 : 0;
    return (uint64_t)(rows * many * kn_output_scale_row(p));
}

bool
kn_second_pair(const kiln_problem *p)
{
    return p->out2 && kn_gated(p) && kn_formula_aux(p->expression);
}

/* Whether narrow tiles may share scales of 128 columns, which pays where tiles are narrow to
 * be many (docs/epilogues.md). */
static bool
shares_blocks(const kiln_problem *p)
{
    int64_t many = kn_products(p);
    int64_t rows = kn_family_of(p)->ragged == 'm' ? p->m + many * 255 : many * (p->m + 255);

    return !kn_family_of(p)->routed && p->m > 0 && p->n > 0 &&
           rows / 16 * ((p->n + 127) / 128) <= KN_COUNTERS / 4;
}

bool
kn_panels(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t columns = kn_tile_columns(p, g);

    if (kn_family_of(p)->unary)
        return false;
    if (p->out_scale == KILN_OUT_BLOCK128)
        return (g->domain.panels || shares_blocks(p)) && g->join != KN_JOIN_LAST && columns &&
               columns < 128 && 128 % columns == 0;
    return p->out_scale == KILN_OUT_ROW &&
           (g->domain.panels || kn_b_columns(p) > WIDEST || (columns && p->n > columns));
}

uint32_t
kn_panel_strips(const kiln_problem *p, const struct kn_config *g)
{
    int64_t columns = kn_tile_columns(p, g), tiles = (p->n + columns - 1) / columns;
    int64_t most = p->out_scale == KILN_OUT_ROW ? tiles : 128 / columns;

    return (uint32_t)(tiles < most ? tiles : most) * (g->wn ? g->wn : 1);
}

/* Waves along N that have some of a scale's columns each tell each other what they have in
 * LDS, all at once: not shares of K, of which each wave is the last for itself. */
static bool
may_share_rows(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t columns = kn_tile_columns(p, g), wave = g->wn ? columns / g->wn : 0;

    if (kn_family_of(p)->routed || kn_panels(p, g) || g->split_k > 1 || g->wn < 2 || !wave)
        return false;
    return p->out_scale == KILN_OUT_ROW ||
           (p->out_scale == KILN_OUT_BLOCK128 && columns % 128 == 0 && wave < 128 &&
            128 % wave == 0);
}

bool
kn_shares_rows(const kiln_problem *p, const struct kn_config *g)
{
    if (kn_family_of(p)->routed)
        return p->out_scale == KILN_OUT_BLOCK128 && g->wn > 1;
    return kn_panels(p, g) ? g->domain.panels == KN_PANELS_BESIDE && g->join == KN_JOIN_ALL &&
                                 g->split_k < 2 && g->wn > 1
                           : may_share_rows(p, g);
}

/* Of moe's gemm1 the waves along N have a share each of gate's and up's in 128. */
uint32_t
kn_output_columns(const kiln_problem *p, const struct kn_config *g)
{
    if (kn_family_of(p)->routed && p->out_scale == KILN_OUT_BLOCK128)
        return 2 * kn_output_block(p) / (g->wn ? g->wn : 1);
    if (kn_panels(p, g) || may_share_rows(p, g))
        return 16u << kn_gated(p);
    return p->out_scale == KILN_OUT_ROW ? g->bn
         : kn_writes_scales(p) ? kn_output_block(p) << kn_gated(p) : 16;
}

/* moe's gemm1 hands gemm2 rows with a scale each, or one per 128 columns. */
static kiln_status
check_routed(struct kn_ctx *c, const kiln_problem *p)
{
    if (p->stage != KILN_MOE_GATE_UP || !kn_writes_scales(p))
        return kn_fail(c, KILN_UNSUPPORTED, "an output of %s is gemm1's of moe, "
                       "with --out-scale row or block128: what gemm2 makes is summed "
                       "over slots", kiln_type_name(p->out));
    if (p->out_scale == KILN_OUT_ROW)
        return KILN_OK;
    if (kn_shuffled(p) || p->a == KILN_F32)
        return kn_fail(c, KILN_UNSUPPORTED, "an output of gemm1 with scales of "
                       "128 columns is not available for %s yet",
                       p->a == KILN_F32 ? "operands of f32" : "shuffled scales");
    if (p->n % 128)
        return kn_fail(c, KILN_UNSUPPORTED, "an output of gemm1 with scales of "
                       "128 columns has whole ones: --inter is a multiple of "
                       "128");
    return KILN_OK;
}

static kiln_status
check_codes(struct kn_ctx *c, kiln_problem *p)
{
    const struct kn_formula_operands x = kn_formula_declared(p->expression);
    const char *out = kiln_type_name(p->out);

    if (kn_family_of(p)->routed)
        KN_TRY(check_routed(c, p));
    if (p->beta)
        return kn_fail(c, KILN_UNSUPPORTED, "an output of %s holds codes, to "
                       "which no --beta adds and which no c reads: name a "
                       "--tensor", out);
    for (uint32_t i = 0; i < x.n; i++)
        if (x.of[i].kind == KN_FO_TENSOR)
            return kn_fail(c, KILN_UNSUPPORTED, "a tensor has the output's "
                           "type, and that of %s is not available yet", out);
    if (p->out_scale == KILN_OUT_ROW || p->out_scale == KILN_OUT_BLOCK128)
        p->overflow = 0;     /* no code is beyond */
    return KILN_OK;
}

/* mxfp8 and mxfp4 have one kind of scales. */
static kiln_status
check_blocks(struct kn_ctx *c, kiln_problem *p)
{
    if (!p->out_scale)
        p->out_scale = KILN_OUT_MX32;
    if (p->out_scale != KILN_OUT_MX32)
        return kn_fail(c, KILN_BAD_INPUT, "an output of %s has a scale per 32 "
                       "columns (--out-scale mx32)", kiln_type_name(p->out));
    if (!kn_targets[p->target].scaled)
        return kn_fail(c, KILN_UNSUPPORTED, "%s has no conversions to MX types",
                       kiln_target_name(p->target));
    if (p->requant > 3)
        return kn_fail(c, KILN_BAD_INPUT, "there are four scale modes");
    if (p->out == KILN_MXFP4) {
        p->overflow = 0;     /* it has neither NaN nor infinity */
        if (p->group_flags & KILN_TAIL_ZERO)
            return kn_fail(c, KILN_UNSUPPORTED, "rows behind the groups are "
                           "zeroed by bytes, of which mxfp4 has half a one");
    }
    return check_codes(c, p);
}

kiln_status
kn_round_check(struct kn_ctx *c, const kiln_problem *p)
{
    if (p->round_seed && !p->round)
        return kn_fail(c, KILN_BAD_INPUT, "--round-seed is the seed of --round "
                       "stochastic, which is not asked for");
    return KILN_OK;
}

/* What is rounded at random has fewer bits than the sum. */
static kiln_status
check_round(struct kn_ctx *c, const kiln_problem *p)
{
    KN_TRY(kn_round_check(c, p));
    if (p->round && kn_type_bits[p->out] >= 32)
        return kn_fail(c, KILN_BAD_INPUT, "an output of %s is the sum itself, of "
                       "which --round has nothing to round",
                       kiln_type_name(p->out));
    if (p->round && p->atomic)
        return kn_fail(c, KILN_UNSUPPORTED, "what memory adds it rounds to "
                       "nearest: --round is of --reduce ordered");
    return KILN_OK;
}

/* An amax, a second output and stochastic rounding are of what is stored, C's part
 * included: where a store would add that, an expression does. */
static kiln_status
check_beside(struct kn_ctx *c, kiln_problem *p)
{
    const char *what = p->out2 ? "second output" : "amax";

    if (kn_formula_aux(p->expression) && !p->out2)
        return kn_fail(c, KILN_BAD_INPUT, "what an expression says of aux is "
                       "written by --out2, which is not there");
    if (kn_family_of(p)->routed && (p->atomic || p->stage == KILN_MOE_REDUCE) &&
        !p->amax && !p->out2)
        return KILN_OK;      /* who adds C there is no expression */
    if (!p->amax && !p->out2 && !p->round && !(p->beta && kn_family_of(p)->routed))
        return KILN_OK;
    if (p->out2 && !kn_is_plain((kiln_type)p->out2) && !kn_wide_sums(p))
        return kn_fail(c, KILN_BAD_INPUT, "a second output is of bf16, f16 or "
                       "f32, of f64 x f64 of f64 or f32");
    if (kn_family_of(p)->routed && (p->amax || p->out2) &&
        (p->atomic || p->stage == KILN_MOE_REDUCE))
        return kn_fail(c, KILN_UNSUPPORTED, "moe has %s %s of gemm1 and of gemm2 with "
                       "--reduce ordered, not of sums over slots", p->out2 ? "a" : "an",
                       what);
    if (p->out == KILN_I32)
        return kn_fail(c, KILN_UNSUPPORTED, "%s %s is of the f32 of an output of "
                       "floats or codes, not of i32", p->out2 ? "a" : "an", what);
    if (p->beta && p->epilogue != KILN_EPILOGUE_EXPRESSION) {
        strcpy(p->expression, p->epilogue ? "acc+bias" : "acc");
        p->epilogue = KILN_EPILOGUE_EXPRESSION;
    }
    return KILN_OK;
}

kiln_status
kn_output_check(struct kn_ctx *c, kiln_problem *p)
{
    const char *out = kiln_type_name(p->out);

    KN_TRY(check_round(c, p));
    KN_TRY(check_beside(c, p));
    if (p->quant_flags || p->hadamard)
        return kn_fail(c, KILN_BAD_INPUT, "a product has neither quant_flags "
                       "nor a transform");
    if (kn_quantises(p) && !kn_family_of(p)->routed)
        return check_blocks(c, p);
    if (p->out_scale == KILN_OUT_MX32)
        return kn_fail(c, KILN_BAD_INPUT, "--out-scale mx32 is for an output of "
                       "mxfp8 or mxfp4, not of %s", out);
    if (kn_codes(p))
        return check_codes(c, p);
    if (p->out_scale)
        return kn_fail(c, KILN_BAD_INPUT, "--out-scale is for an output of fp8, "
                       "bf8 or i8, not of %s", out);
    if (p->overflow)
        return kn_fail(c, KILN_BAD_INPUT, "--saturate is for an output of fp8 "
                       "or bf8, not of %s", out);
    return KILN_OK;
}

/* A row of what a wave turns around in LDS, and 16 bytes so that rows start in
 * different banks. */
uint32_t
kn_store_row(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t cols = g->bn / g->wn, size = 4;

    if (g->domain.vec == 4 && !p->beta && kn_type_bits[p->out] == 16)
        size = 2;
    return cols * size + 16;
}
