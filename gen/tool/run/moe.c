/* moe.c - routing, sort and align, quantisation. */
#include "moe.h"
#include "run.h"

#include <math.h>
#include <string.h>

#include "../../choose/choose.h"

int64_t
kn_moe_room(int64_t tokens, int64_t topk, int64_t experts, uint32_t block_m)
{
    int64_t n = tokens * topk, used = n < experts ? n : experts;

    n += used * ((int64_t)block_m - 1);
    return (n + block_m - 1) / block_m * block_m;
}

/* at[e]: first row of expert e, at[experts]: all rows. */
static kiln_status
place_experts(struct kn_ctx *c, const struct kn_moe_routing *r,
              uint32_t block_m, int64_t *at)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < r->tokens * r->topk; i++) {
        if (r->expert[i] < 0 || r->expert[i] >= r->experts)
            return kn_fail(c, KILN_BAD_INPUT, "slot %lld of the routing names "
                           "expert %d of %lld", (long long)i, r->expert[i],
                           (long long)r->experts);
        at[r->expert[i]]++;
    }
    for (int64_t e = 0; e <= r->experts; e++) {
        int64_t rows = e < r->experts ? at[e] : 0;

        at[e] = sum;
        sum += (rows + block_m - 1) / block_m * block_m;
    }
    return KILN_OK;
}

kiln_status
kn_moe_sort(struct kn_ctx *c, const struct kn_moe_routing *r, uint32_t block_m,
            struct kn_moe_sorted *s)
{
    int64_t *at = KN_NEW(c, int64_t, (size_t)r->experts + 1);

    s->room = kn_moe_room(r->tokens, r->topk, r->experts, block_m);
    s->ids = KN_NEW(c, int32_t, (size_t)s->room + 1);
    s->weights = KN_NEW(c, float, (size_t)s->room + 1);
    s->experts = KN_NEW(c, int32_t, (size_t)(s->room / block_m) + 1);
    KN_TRY(place_experts(c, r, block_m, at));
    s->padded = (int32_t)at[r->experts];
    for (int64_t i = 0; i < s->room; i++)
        s->ids[i] = (int32_t)r->tokens;
    for (int64_t e = 0; e < r->experts; e++)
        for (int64_t b = at[e] / block_m; b < at[e + 1] / block_m; b++)
            s->experts[b] = (int32_t)e;
    for (int64_t i = 0; i < r->tokens * r->topk; i++) {
        int64_t row = at[r->expert[i]]++;

        s->ids[row] = (int32_t)((uint32_t)(i / r->topk) |
                                (uint32_t)(i % r->topk) << 24);
        s->weights[row] = r->weight[i];
    }
    return KILN_OK;
}

/* The slots of a token. */
struct kn_moe_slots {
    int32_t *expert;
    int64_t n;
};

/* The first of a shuffle of 0 .. among - 1 (Fisher and Yates). */
static void
draw(uint64_t seed, int64_t among, int32_t *deck, struct kn_moe_slots to)
{
    for (int64_t s = 0; s < to.n; s++) {
        int64_t at = s + (int64_t)(kn_mix(seed + (uint64_t)s) %
                                   (uint64_t)(among - s));
        int32_t x = deck[at];

        deck[at] = deck[s];
        deck[s] = to.expert[s] = x;
    }
}

/* topk of the experts by their weights, without those that were drawn before. */
static void
draw_weighted(uint64_t seed, double *weight, int64_t among, struct kn_moe_slots to)
{
    double all = 0;

    for (int64_t e = 0; e < among; e++)
        all += weight[e];
    for (int64_t s = 0; s < to.n; s++) {
        double at = kn_uniform(seed + (uint64_t)s) * all;
        int64_t e = 0, last = 0;

        for (; e < among && (weight[e] <= 0 || at >= weight[e]); e++) {
            last = weight[e] > 0 ? e : last;
            at -= weight[e] > 0 ? weight[e] : 0;
        }
        e = e < among ? e : last;    /* rounding went past the end */
        to.expert[s] = (int32_t)e;
        all -= weight[e];
        weight[e] = -weight[e];
    }
    for (int64_t s = 0; s < to.n; s++)
        weight[to.expert[s]] *= -1;
}

kiln_status
kn_moe_route(struct kn_ctx *c, uint64_t seed, int64_t among, bool exact,
             struct kn_moe_routing *r)
{
    int32_t *deck = KN_NEW(c, int32_t, (size_t)among + 1);
    double *weight = KN_NEW(c, double, (size_t)among + 1);

    if (r->topk > among || among > r->experts)
        return kn_fail(c, KILN_BAD_INPUT, "%lld of %lld experts cannot serve "
                       "%lld different slots of a token", (long long)among,
                       (long long)r->experts, (long long)r->topk);
    r->expert = KN_NEW(c, int32_t, (size_t)(r->tokens * r->topk) + 1);
    r->weight = KN_NEW(c, float, (size_t)(r->tokens * r->topk) + 1);
    for (int64_t e = 0; e < among; e++) {
        deck[e] = (int32_t)e;
        weight[e] = kn_mild_weight(seed, e);
    }
    for (int64_t t = 0; t < r->tokens; t++) {
        struct kn_moe_slots to = { r->expert + t * r->topk, r->topk };
        uint64_t first = (uint64_t)(t * r->topk);

        if (r->pattern == KN_MOE_DRAWN)
            draw(kn_mix(seed ^ 0x6d6f65u) + first, among, deck, to);
        else if (r->pattern == KN_MOE_MILD)
            draw_weighted(kn_mix(seed ^ 0x6d6f65u) + first, weight, among, to);
        for (int64_t s = 0; r->pattern == KN_MOE_BALANCED && s < to.n; s++)
            to.expert[s] = (int32_t)((int64_t)(first + (uint64_t)s) % among);
    }
    for (int64_t i = 0; i < r->tokens * r->topk; i++) {
        uint64_t at = ~seed + (uint64_t)i;

        r->weight[i] = exact ? (float)(1u << kn_mix(at) % 3) / 2 : (float)kn_uniform(at);
    }
    return KILN_OK;
}

static void
put_code(uint8_t *run, uint64_t bit, unsigned bits, uint32_t code)
{
    for (unsigned b = 0; b < bits; b++)
        if (code >> b & 1)
            run[(bit + b) / 8] |= (uint8_t)(1u << (bit + b) % 8);
}

/* Mantissa bits of the elements. */
static int
mantissa_bits(kiln_type t)
{
    switch (t) {
    case KILN_MXFP4: return 1;
    case KILN_MXFP6: return 3;
    case KILN_MXBF6: return 2;
    case KILN_MXBF8: return 2;
    default: return 3;       /* mxfp8 */
    }
}

uint8_t
kn_mx_scale(enum kn_mx_mode mode, kiln_type t, kiln_target target, double amax)
{
    double most = kn_ref_max(t, target), x;
    int top = ilogb(most), e;

    if (!(amax > 0))
        return 0;
    x = 2 * frexp(amax, &e); /* [1, 2) * 2^(e - 1) */
    e -= 1 + top;
    if (mode == KN_MX_ROUND_UP)
        e += x > ldexp(most, -top);
    else if (mode == KN_MX_EVEN)
        e += x >= 2 - ldexp(1, -mantissa_bits(t) - 1);
    else if (mode == KN_MX_CEIL)
        e += x > 1;
    return (uint8_t)((e < -127 ? -127 : e > 127 ? 127 : e) + 127);
}

void
kn_moe_quantise(const struct kn_moe_row *r, uint8_t *payload, uint8_t *scales)
{
    kiln_type t = r->type;
    kiln_target target = r->target;
    const double *row = r->value;
    int64_t n = r->n;
    unsigned bits = kn_ref_type_bits(t);
    double most = kn_ref_max(t, target);

    memset(payload, 0, ((size_t)n * bits + 7) / 8);
    for (int64_t b = 0; b < n; b += 32) {
        int64_t end = b + 32 < n ? b + 32 : n;
        double amax = 0;
        int e;

        for (int64_t i = b; i < end; i++)
            amax = fmax(amax, fabs(row[i]));
        scales[b / 32] = kn_mx_scale(r->mode, t, target, amax);
        e = scales[b / 32] - 127;
        for (int64_t i = b; i < end; i++) {
            double x = fmin(fmax(ldexp(row[i], -e), -most), most);

            put_code(payload, (uint64_t)i * bits, bits,
                     (uint32_t)kn_ref_encode(t, target, x));
        }
    }
}

/* ---- problems ---- */

static kiln_status
check_flags(struct kn_ctx *c, const struct kn_value *v)
{
    static const enum kn_flag_id needed[] = {
        KN_FLAG_hidden, KN_FLAG_inter, KN_FLAG_experts, KN_FLAG_topk,
        KN_FLAG_tokens,
    };

    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!v[needed[i]].seen)
            return kn_fail(c, KILN_BAD_INPUT, "moe needs %s",
                           kn_flags[needed[i]].name);
    if (v[KN_FLAG_m].seen || v[KN_FLAG_n].seen || v[KN_FLAG_k].seen)
        return kn_fail(c, KILN_BAD_INPUT, "the sizes of moe are --hidden, "
                       "--inter, --experts, --topk and --tokens");
    if (v[KN_FLAG_ldc].seen && !v[KN_FLAG_stage].i)
        return kn_fail(c, KILN_BAD_INPUT, "--ldc of moe is for a --stage: what "
                       "a layer hands over is dense");
    if (v[KN_FLAG_abi].seen && v[KN_FLAG_abi].i && !v[KN_FLAG_stage].i)
        return kn_fail(c, KILN_UNSUPPORTED, "aiter's loader fmoe launches a "
                       "layer as one kernel, gate, up and down in each "
                       "workgroup; kiln's layer is several: --stage gemm1 for "
                       "the loader fmoe_2stages, gemm2 with kiln's own "
                       "arguments");
    if (v[KN_FLAG_topk].i > 255 || v[KN_FLAG_tokens].i >= 1 << 24)
        return kn_fail(c, KILN_BAD_INPUT, "moe has at most 255 slots a token "
                       "and 16777215 tokens");
    return KILN_OK;
}

/* Of a layer it is gemm1's; where that has biases, gemm2 has one, or where one is given. */
static void
without_expression(const struct kn_value *v, kiln_problem *p)
{
    bool given = kn_moe_bias_given(v, KILN_MOE_GATE_UP) || kn_moe_bias_given(v, KILN_MOE_DOWN);
    bool biased = p->stage == KILN_MOE_DOWN &&
                  (given ? kn_moe_bias_given(v, KILN_MOE_DOWN) : kn_has_bias(p));

    if (v[KN_FLAG_stage].i || !p->expression[0])
        return;
    memset(p->expression, 0, sizeof p->expression);
    p->epilogue = biased ? KILN_EPILOGUE_BIAS : KILN_EPILOGUE_NONE;
}

bool
kn_moe_bias_given(const struct kn_value *v, int stage)
{
    return stage == KILN_MOE_GATE_UP
        ? v[KN_FLAG_gate_bias_file].seen || v[KN_FLAG_up_bias_file].seen
        : stage == KILN_MOE_DOWN && v[KN_FLAG_down_bias_file].seen;
}

/* Files of biases say that there are some, where nothing is said of the epilogue. */
static kiln_status
bias_of(struct kn_ctx *c, const struct kn_value *v, kiln_problem *p)
{
    bool up = kn_moe_bias_given(v, KILN_MOE_GATE_UP);
    bool down = kn_moe_bias_given(v, KILN_MOE_DOWN);

    if ((up || down) && v[KN_FLAG_bias_file].seen)
        return kn_fail(c, KILN_BAD_INPUT, "--bias-file is the bias of a stage, gate's and "
                       "then up's: not beside a file of each");
    if (v[KN_FLAG_stage].i == KILN_MOE_DOWN && up)
        return kn_fail(c, KILN_BAD_INPUT, "gemm2 has the bias of --down-bias-file; those of "
                       "gate and up are gemm1's or a layer's");
    if (v[KN_FLAG_stage].i == KILN_MOE_GATE_UP && down)
        return kn_fail(c, KILN_BAD_INPUT, "gemm1 has the biases of --gate-bias-file and "
                       "--up-bias-file; --down-bias-file is gemm2's or a layer's");
    if (!v[KN_FLAG_epilogue].seen && kn_moe_bias_given(v, p->stage))
        p->epilogue = KILN_EPILOGUE_BIAS;
    return KILN_OK;
}

/* What is asked for, else the rows of the tile that is; 0: neither. */
static uint8_t
asked_block(const struct kn_value *v)
{
    static const uint8_t blocks[] = { 16, 32, 64, 128, KILN_BLOCK_256 };

    if (v[KN_FLAG_block_m].seen)
        return blocks[v[KN_FLAG_block_m].i];
    for (size_t i = 0; v[KN_FLAG_tile].seen && i < sizeof blocks; i++)
        if (kn_rows_of_block(blocks[i]) == v[KN_FLAG_tile].list[0])
            return blocks[i];
    return 0;
}

/* block 0: by load, before the stage has types of its own, since all stages of a layer
 * share the blocks. */
struct stage_of {
    kiln_target target;
    int stage;
    uint8_t block;
};

static kiln_status
make_stage(struct kn_ctx *c, const struct kn_cli *cli, struct stage_of of, kiln_problem *p)
{
    const struct kn_value *v = cli->v;
    const char *word = kn_family_names[KILN_MOE];
    struct kn_cli own = *cli;
    bool small, atomic;
    int stage = of.stage;

    KN_TRY(check_flags(c, v));
    own.pos = &word;         /* cli's may name an object */
    KN_TRY(kn_cli_problem(c, &own, of.target, p));
    p->stage = (uint8_t)stage;
    KN_TRY(bias_of(c, v, p));
    p->act = (uint8_t)v[KN_FLAG_act].i;
    p->id_format = (uint8_t)v[KN_FLAG_ids].i;
    p->weigh = (uint8_t)v[KN_FLAG_weight].i;
    if (stage == KILN_MOE_GATE_UP && kn_quantises(p))
        p->requant = (uint8_t)(v[KN_FLAG_requant].i ? v[KN_FLAG_requant].i - 1
                                                    : KN_MX_EVEN);
    p->tokens = v[KN_FLAG_tokens].i;
    p->topk = v[KN_FLAG_topk].i;
    p->groups = v[KN_FLAG_experts].i;
    p->n = v[KN_FLAG_inter].i; /* of gate and up, whichever the stage */
    p->k = v[KN_FLAG_hidden].i;
    p->block_m = of.block ? of.block : kn_routed_block(p);
    atomic = v[KN_FLAG_reduce].seen && !strcmp(v[KN_FLAG_reduce].s, "atomic");
    p->atomic = stage == KILN_MOE_DOWN && atomic;
    if (stage == KILN_MOE_REDUCE) {
        p->a = p->b = p->out ? p->out : KILN_BF16;
        p->scale = KILN_SCALE_NONE;
        p->scale_type = p->zero_points = p->math = 0;
        p->b_layout = p->scale_layout = p->epilogue = 0;
        p->ldsa = p->ldsb = 0;
    }
    if (!v[KN_FLAG_stage].i && stage != (atomic ? KILN_MOE_DOWN : KILN_MOE_REDUCE))
        p->beta = 0;         /* it is the last launch's */
    if (stage != KILN_MOE_GATE_UP)
        without_expression(v, p);
    p->n = v[stage == KILN_MOE_GATE_UP ? KN_FLAG_inter : KN_FLAG_hidden].i;
    p->k = v[stage == KILN_MOE_GATE_UP ? KN_FLAG_hidden : KN_FLAG_inter].i;
    if (stage == KILN_MOE_REDUCE)
        p->k = p->lda = p->n;
    p->m = kn_moe_room(p->tokens, p->topk, p->groups, kn_block_rows(p));
    small = kn_is_byte(p->a);
    if (small && !v[KN_FLAG_scale].seen)
        p->scale = KILN_SCALE_TENSOR;
    return kn_problem_normalise(c, p);
}

/* Whether the stage, or both of a layer, are better by blocks of 256 than of 128. */
static bool
doubles(struct kn_ctx *c, const struct kn_cli *cli, kiln_target target)
{
    int only = (int)cli->v[KN_FLAG_stage].i;
    struct kn_config given;

    if (kn_config_parse(c, cli->config, &given) || only == KILN_MOE_REDUCE)
        return false;
    for (int s = KILN_MOE_GATE_UP; s <= KILN_MOE_DOWN; s++) {
        kiln_problem p;

        if (!only || only == s)
            if (make_stage(c, cli, (struct stage_of){ target, s, 128 }, &p) ||
                !kn_routed_doubles(c, &p, &given))
                return false;
    }
    return true;
}

kiln_status
kn_moe_problem(struct kn_ctx *c, const struct kn_cli *cli, kiln_target target,
               int stage, kiln_problem *p)
{
    struct stage_of of = { target, stage, asked_block(cli->v) };

    KN_TRY(make_stage(c, cli, of, p));
    if (of.block || p->block_m != 128 || !doubles(c, cli, target))
        return KILN_OK;
    of.block = KILN_BLOCK_256;
    return make_stage(c, cli, of, p);
}
