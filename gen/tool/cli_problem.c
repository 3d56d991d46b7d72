/* cli_problem.c - from parsed flags to what the library takes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../gen.h"
#include "cli.h"

static kiln_type
type_of(const struct kn_value *v)
{
    for (int t = 0; v->seen && t < KILN_NTYPES; t++)
        if (!strcmp(kiln_type_name((kiln_type)t), v->s))
            return (kiln_type)t;
    return KILN_TYPE_NONE;
}

/* 0 as typed is one matrix for all; not given, dense. */
static int64_t
stride_of(const struct kn_value *v)
{
    return v->seen && !v->i ? KILN_SHARED : v->i;
}

/* One of the words, else an expression. */
static void
epilogue_of(const struct kn_value *v, kiln_problem *p)
{
    int word = 0;

    if (v->seen)
        word = kn_name_index(kn_epilogue_names, KILN_NEPILOGUES, v->s);
    p->epilogue = word < 0 ? KILN_EPILOGUE_EXPRESSION : (uint8_t)word;
    if (word < 0)
        snprintf(p->expression, sizeof p->expression, "%s", v->s);
}

/* The scalars that the expression declares; 1 where no flag says. */
static void
scalars_of(const struct kn_cli *cli, kiln_problem *p)
{
    const struct kn_formula_operands x = kn_formula_declared(p->expression);

    for (uint32_t i = 0; i < x.n; i++) {
        const struct kn_cli_named *n = kn_cli_named(cli, &x.of[i]);

        if (x.of[i].kind == KN_FO_SCALAR)
            p->scalar[x.of[i].slot] = n ? (float)n->value : 1;
    }
}

/* Of what the kernel quantises: a 16-bit A beside an MX weight, an MX output. */
static void
scale_mode(const struct kn_value *v, kiln_problem *p)
{
    bool out = kn_quantises(p) && !kn_family_of(p)->routed;

    if (v->seen && out)
        p->requant = (uint8_t)v->i;
    if (v->seen && (!out || (kn_type_mx[p->b] && !kn_type_mx[p->a])))
        p->quant = (uint8_t)(v->i + 1);
}

/* Digits that tell a number from its neighbours: 9 of most, and of any f32. */
static int
digits_of(double v)
{
    char text[40];

    snprintf(text, sizeof text, "%.9g", v);
    return strtod(text, NULL) == v ? 9 : 17;
}

kiln_status
kn_cli_beta(struct kn_ctx *c, struct kn_cli *cli)
{
    struct kn_value *v = &cli->v[KN_FLAG_epilogue];
    double beta = cli->v[KN_FLAG_beta].f;
    const char *own = cli->v[KN_FLAG_down_bias_file].seen ? "bias" : "acc";
    const char *s = !v->seen ? own : strcmp(v->s, "none") ? v->s : "acc";
    struct kn_buf b = { .c = c };

    if (beta == 0 || beta == 1)
        return KILN_OK;
    s = kn_formula_text(c, !strcmp(s, "bias") ? "acc+bias" : s);
    if (kn_formula_names(s, "c"))
        return kn_fail(c, KILN_BAD_INPUT, "the epilogue says itself what "
                       "becomes of c: no --beta but 0 and 1");
    for (size_t n; *s; s += n ? n : 1) {
        n = kn_formula_word(s);
        if (n == 3 && !memcmp(s, "acc", n))
            kn_putf(&b, "(acc+%.*g*c)", digits_of(beta), beta);
        else
            kn_putf(&b, "%.*s", n ? (int)n : 1, s);
    }
    if (b.n >= KILN_EXPRESSION)
        return kn_fail(c, KILN_BAD_INPUT, "with --beta %g in it the epilogue "
                       "has more than %d characters", beta,
                       KILN_EXPRESSION - 1);
    v->seen = true;
    v->s = b.s;
    cli->v[KN_FLAG_beta].f = 1;      /* it is read, and lists say so again */
    cli->v[KN_FLAG_beta].s = "1";
    return KILN_OK;
}

kiln_target
kn_cli_target(const struct kn_cli *cli)
{
    const struct kn_value *v = &cli->v[KN_FLAG_arch];

    return v->seen ? (kiln_target)(KILN_TARGET_NONE + 1 + v->i)
                   : KILN_TARGET_NONE;
}

kiln_status
kn_cli_family(struct kn_ctx *c, const struct kn_cli *cli, kiln_family *out)
{
    int i = kn_name_index(kn_family_names, KILN_NFAMILIES, cli->pos[0]);

    if (i < 0)
        return kn_fail(c, KILN_BAD_INPUT,
                       "there is no family '%s', see kilnc list%s",
                       cli->pos[0], kn_did_you_mean(c, cli->pos[0],
                                                    kn_family_names,
                                                    KILN_NFAMILIES));
    *out = (kiln_family)i;
    return KILN_OK;
}

/* Sums over the rows of groups have A and B with those rows outermost, but for
 * types that are packed along K. */
static kiln_layout
layout_of(const struct kn_cli *cli, const kiln_problem *p)
{
    bool packed = kn_type_mx[p->a] || p->scale == KILN_SCALE_MX32;

    if (!cli->v[KN_FLAG_layout].seen && kn_family_of(p)->ragged == 'k' &&
        !packed)
        return KILN_TN;
    return (kiln_layout)cli->v[KN_FLAG_layout].i;
}

/* What is said of rows that are quantised: --quant is the mode of the scales. */
static void
quant_of(const struct kn_cli *cli, kiln_problem *p)
{
    const struct kn_value *v = cli->v;

    p->requant = (uint8_t)v[KN_FLAG_quant].i;
    p->quant = 0;
    p->act = (uint8_t)v[KN_FLAG_act].i;
    if (v[KN_FLAG_hadamard].seen)
        p->hadamard = (uint8_t)(16 << v[KN_FLAG_hadamard].i);
    if (v[KN_FLAG_act].seen)
        p->quant_flags |= KILN_QUANT_GATED;
    if (v[KN_FLAG_delayed].seen) {
        p->amax = 1;
        if (!p->out_scale)
            p->out_scale = KILN_OUT_STATIC;
    }
    if (v[KN_FLAG_transpose].seen)
        p->quant_flags |= KILN_QUANT_TURNED;
    if (v[KN_FLAG_dual].seen)
        p->quant_flags |= KILN_QUANT_DUAL;
    p->ldc2 = v[KN_FLAG_ldc2].i;
    p->ldsa2 = v[KN_FLAG_ldsa2].i;
}

/* Types, scales and layouts of A and B. */
static void
operands_of(const struct kn_cli *cli, kiln_problem *p)
{
    const struct kn_value *v = cli->v;

    p->a = type_of(&v[KN_FLAG_a]);
    p->b = type_of(&v[KN_FLAG_b]);
    p->out = type_of(&v[KN_FLAG_out]);
    p->scale = (kiln_scale)v[KN_FLAG_scale].i;
    p->scale_type = (uint8_t)v[KN_FLAG_scale_type].i;
    p->zero_points = (uint8_t)v[KN_FLAG_zero_points].i;
    p->math = (uint8_t)v[KN_FLAG_math].i;
    p->layout = layout_of(cli, p);
    p->b_layout = (uint8_t)v[KN_FLAG_b_layout].i;
    p->scale_layout = (uint8_t)v[KN_FLAG_scale_layout].i;
}

/* What becomes of the sums. */
static void
output_of(const struct kn_cli *cli, kiln_problem *p)
{
    const struct kn_value *v = cli->v;

    p->out_scale = (uint8_t)v[KN_FLAG_out_scale].i;
    p->out2 = (uint8_t)type_of(&v[KN_FLAG_out2]);
    p->amax = v[KN_FLAG_amax].seen || v[KN_FLAG_amax_file].seen;
    p->overflow = v[KN_FLAG_saturate].seen && !v[KN_FLAG_saturate].i;
    p->round = (uint8_t)v[KN_FLAG_round].i;
    p->round_seed = (uint64_t)v[KN_FLAG_round_seed].i;
    epilogue_of(&v[KN_FLAG_epilogue], p);
    scalars_of(cli, p);
    p->beta = v[KN_FLAG_beta].f != 0;
    p->invariant = v[KN_FLAG_invariant].seen;
    p->alpha_set = v[KN_FLAG_alpha].seen;
    p->alpha = p->alpha_set ? (float)v[KN_FLAG_alpha].f : 1.0f;
}

/* Sizes, and how rows and problems lie. */
static void
sizes_of(const struct kn_cli *cli, kiln_problem *p)
{
    static const uint8_t tables[] = { 0, KILN_GROUP_LENS, KILN_GROUP_ENDS32,
                                      KILN_GROUP_LENS };
    const struct kn_value *v = cli->v;

    p->m = v[KN_FLAG_m].i;
    p->n = v[KN_FLAG_n].i;
    p->k = v[KN_FLAG_k].i;
    p->batch = v[KN_FLAG_batch].i;
    p->groups = v[KN_FLAG_groups].i;
    p->group_flags = tables[v[KN_FLAG_group_table].i];
    if (v[KN_FLAG_tight_table].seen)
        p->group_flags |= KILN_GROUP_TIGHT;
    if (v[KN_FLAG_rows_after].i)
        p->group_flags |= KILN_TAIL_ZERO;
    p->stride_a = stride_of(&v[KN_FLAG_stride_a]);
    p->stride_b = stride_of(&v[KN_FLAG_stride_b]);
    p->stride_c = stride_of(&v[KN_FLAG_stride_c]);
    p->lda = v[KN_FLAG_lda].i;
    p->ldb = v[KN_FLAG_ldb].i;
    p->ldc = v[KN_FLAG_ldc].i;
    p->ldsa = v[KN_FLAG_ldsa].i;
    p->ldsb = v[KN_FLAG_ldsb].i;
}

kiln_status
kn_cli_problem(struct kn_ctx *c, const struct kn_cli *cli, kiln_target target,
               kiln_problem *p)
{
    const struct kn_value *v = cli->v;

    memset(p, 0, sizeof *p);
    p->size = sizeof *p;
    p->target = target;
    p->cus = (uint16_t)v[KN_FLAG_device_cus].i;
    p->xcds = (uint16_t)v[KN_FLAG_device_xcds].i;
    KN_TRY(kn_cli_family(c, cli, &p->family));
    operands_of(cli, p);
    output_of(cli, p);
    sizes_of(cli, p);
    if (kn_family_of(p)->unary)
        quant_of(cli, p);
    if (v[KN_FLAG_delayed].seen && p->out_scale != KILN_OUT_STATIC)
        return kn_fail(c, KILN_BAD_INPUT, "--delayed is of a scale that is given: "
                       "--out-scale static");
    if (!kn_family_of(p)->unary)
        scale_mode(&v[KN_FLAG_quant], p);
    return KILN_OK;
}

/* One workgroup of each of k equal parts, the first and the last always. */
static void
sample(uint64_t *ids, uint64_t k, uint64_t total, uint64_t seed)
{
    for (uint64_t i = 0; i < k; i++) {
        uint64_t lo = i * (total / k) + i * (total % k) / k;
        uint64_t hi = (i + 1) * (total / k) + (i + 1) * (total % k) / k;
        ids[i] = lo + kn_mix(seed + i) % (hi - lo);
    }
    if (k > 1) {
        ids[0] = 0;
        ids[k - 1] = total - 1;
    }
}

static int
compare_ids(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static kiln_status
list_ids(struct kn_ctx *c, const struct kn_value *v, uint64_t total,
         struct kn_sim_select *out)
{
    uint64_t *ids = KN_NEW(c, uint64_t, v->n);

    for (size_t i = 0; i < v->n; i++) {
        if ((uint64_t)v->list[i] >= total)
            return kn_fail(c, KILN_BAD_INPUT,
                           "--wg names workgroup %lld, but the launch has "
                           "only %llu", (long long)v->list[i],
                           (unsigned long long)total);
        ids[i] = (uint64_t)v->list[i];
    }
    qsort(ids, v->n, sizeof *ids, compare_ids);
    for (size_t i = 0; i < v->n; i++)
        if (!i || ids[i] != ids[i - 1])
            ids[out->n++] = ids[i];
    out->ids = ids;
    return KILN_OK;
}

kiln_status
kn_cli_select(struct kn_ctx *c, const struct kn_cli *cli, uint64_t total,
              struct kn_sim_select *out)
{
    const struct kn_value *v = &cli->v[KN_FLAG_wg];
    uint64_t *ids, k;

    *out = (struct kn_sim_select){ .all = true };
    if (!v->seen || v->i == KN_WG_ALL)
        return KILN_OK;
    k = (uint64_t)v->list[0];
    if (v->i == KN_WG_SAMPLE && k >= total)
        return KILN_OK;
    out->all = false;
    if (v->i == KN_WG_LIST)
        return list_ids(c, v, total, out);
    ids = KN_NEW(c, uint64_t, k);
    sample(ids, k, total, (uint64_t)cli->v[KN_FLAG_seed].i);
    out->ids = ids;
    out->n = k;
    return KILN_OK;
}
