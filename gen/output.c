/* output.c - outputs of 8 bits or of MX types, and their scales. */
#include "panels.h"

#include "choose.h"
#include "forms.h"

#include <math.h>
#include <string.h>

enum {
    WIDEST = 256,            /* tile, in columns */
    FEW_ROWS = 64,
    SOME = 4                 /* rounds of rows that are not known yet */
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
         : (p->n + block - 1) / block * (p->out_scale == KILN_OUT_MX32 ? 1 : 4);
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

/* Whether narrow tiles that share scales of 128 columns pay: of few rows, whose tiles are
 * narrow to be many (docs/epilogues.md). */
static bool
shares_blocks(const kiln_problem *p)
{
    return !kn_family_of(p)->ragged && !kn_family_of(p)->routed && p->m > 0 &&
           p->m <= FEW_ROWS && p->n >= 256 && p->k >= 512;
}

bool
kn_panels(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t columns = kn_tile_columns(p, g);

    if (kn_family_of(p)->unary)
        return false;
    if (p->out_scale == KILN_OUT_BLOCK128)
        return (g->domain.panels || shares_blocks(p)) && columns && columns < 128 &&
               128 % columns == 0;
    return p->out_scale == KILN_OUT_ROW &&
           (g->domain.panels || kn_b_columns(p) > WIDEST || (columns && p->n > columns));
}

/* A round of a launch: the tiles there are, those along a row, and those that run at
 * once on all compute units or, if a few rows fill it, on a chiplet's. */
struct round {
    uint64_t tiles, along, cus, room;
    bool one;                /* all tiles and their shares run at once */
};

/* Workgroups that a compute unit is known to have at once; loops without LDS as many as
 * registers allow, of which codes need more. */
static uint64_t
beside(const kiln_problem *p, const struct kn_config *g)
{
    struct kn_config loop = *g;
    const struct kn_score *s;
    bool straight = kn_direct_to_reg(g);

    if (straight)
        loop.schedule = KN_SCHED_DIRECT;
    s = kn_score_row(p, &loop);
    return !s ? 1 : straight ? (3 * s->residents + 3) / 4 : s->residents;
}

static struct round
round_of(const kiln_problem *p, const struct kn_config *g)
{
    uint64_t columns = kn_tile_columns(p, g);
    uint64_t cus = g->cus ? g->cus : kn_cus(p) * beside(p, g), die = cus / kn_xcds(p);
    struct round r = { .tiles = p->m ? kn_tiles_of(p, g->bm, g->bn) : SOME * cus,
                       .along = ((uint64_t)p->n + columns - 1) / columns, .cus = cus };

    r.room = 4 * r.along <= die ? die : cus;
    r.one = !g->cus && r.tiles * (g->split_k ? g->split_k : 1) <= cus;
    return r;
}

/* Rows of tiles that fill the room. What there is room for beside them begins early and
 * waits: little, or there are none. Of ragged groups those of each begin anew, so that
 * the rows of an average one do. */
static uint32_t
rows_of(const kiln_problem *p, const struct kn_config *g, const struct round *r)
{
    uint64_t rows = r->along ? r->room / r->along : 0, many = rows;

    if (g->split_k > 1 || kn_family_of(p)->ragged == 'k' || kn_family_of(p)->routed || !rows)
        return 0;
    if (kn_family_of(p)->ragged) {
        many = (uint64_t)((p->m + p->groups - 1) / p->groups + g->bm - 1) / g->bm;
        rows = rows < many ? rows : many;
        many = r->room / (rows * r->along) * rows;
    }
    return 4 * (r->room - many * r->along) * (r->tiles / r->cus) > r->room ? 0
           : (uint32_t)rows;
}

uint32_t
kn_panel_strips(const kiln_problem *p, const struct kn_config *g)
{
    int64_t columns = kn_tile_columns(p, g), tiles = (p->n + columns - 1) / columns;
    int64_t most = p->out_scale == KILN_OUT_ROW ? tiles : 128 / columns;

    return (uint32_t)(tiles < most ? tiles : most) * (g->wn ? g->wn : 1);
}

bool
kn_panels_meet(const kiln_problem *p, const struct kn_config *g)
{
    struct round r;

    if (!kn_panels(p, g))
        return false;
    if (p->out_scale != KILN_OUT_ROW)
        return true;         /* tiles beside each other */
    r = round_of(p, g);
    return p->n && (r.one || (!g->group_m && !g->xcd_run && !g->xcd && rows_of(p, g, &r)));
}

double
kn_panels_wait(const kiln_problem *p, const struct kn_config *g)
{
    struct round r = round_of(p, g);
    double band = (double)(g->group_m * r.along), room = (double)r.room;
    double early = band > room ? room / 2 : fmod(room, band);

    if (p->out_scale != KILN_OUT_ROW)
        early = 128.0 / kn_tile_columns(p, g) / 2;
    return r.tiles <= r.cus || band <= 0 ? 0
           : early / 2 * ((double)r.tiles / (double)r.cus - 1) / room;
}

void
kn_map_panels(const kiln_problem *p, struct kn_config *g)
{
    struct round r;

    if (!kn_panels_meet(p, g) || g->join == KN_JOIN_LAST)
        return;
    g->join = KN_JOIN_ALL;
    r = round_of(p, g);
    if (r.one || p->out_scale != KILN_OUT_ROW)
        return;
    g->group_m = rows_of(p, g, &r);
    g->xcd_run = (uint32_t)(r.room == r.cus ? r.cus / kn_xcds(p) : g->group_m * r.along);
}

/* Of moe's gemm1 the waves along N have a share each of gate's and up's in 128. */
uint32_t
kn_output_columns(const kiln_problem *p, const struct kn_config *g)
{
    if (kn_family_of(p)->routed && p->out_scale == KILN_OUT_BLOCK128)
        return 2 * kn_output_block(p) / (g->wn ? g->wn : 1);
    if (kn_panels(p, g))
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
    if (p->out2 && p->out2 != KILN_BF16 && p->out2 != KILN_F16 &&
        p->out2 != KILN_F32 && !kn_wide_sums(p))
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
