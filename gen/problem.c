/* problem.c - what the user asked, made complete and checked. */
#include <string.h>

#include "gen.h"
#include "launch/terms.h"
#include "layout.h"
#include "instantiate.h"
#include "quant.h"

const struct kn_family kn_families[KILN_NFAMILIES] = {
#define FAMILY(id, ...) [KILN_##id] = { __VA_ARGS__ },
#include "families.def"
};

/* Bytes of n elements packed along a row. */
static int64_t
run_bytes(kiln_type t, int64_t n)
{
    return run(kn_type_bits[t], n);
}

/* A 16-bit A times a B with scales along K: only B has scales. */
static bool
weight_only(const kiln_problem *p)
{
    return kn_type_mx[p->b] && kn_type_bits[p->a] == 16;
}

/* What wider sums have, and what they have not. */
static kiln_status
check_wide(struct kn_ctx *c, const kiln_problem *p)
{
    if (kn_family_of(p)->routed)
        return kn_fail(c, KILN_UNSUPPORTED, "f64 is for gemm, batched, grouped "
                       "and wgrad");
    if (p->out != KILN_F64 && p->out != KILN_F32)
        return kn_fail(c, KILN_UNSUPPORTED, "the output of f64 x f64 is f64 or "
                       "f32, not %s", kiln_type_name(p->out));
    if (p->out2 && p->out2 != KILN_F64 && p->out2 != KILN_F32)
        return kn_fail(c, KILN_UNSUPPORTED, "the second output of f64 x f64 is f64 "
                       "or f32, not %s", kiln_type_name((kiln_type)p->out2));
    return KILN_OK;
}

/* Which types are multiplied with which. */
static kiln_status
check_pair(struct kn_ctx *c, const kiln_problem *p)
{
    const char *a = kiln_type_name(p->a), *b = kiln_type_name(p->b);
    bool f8 = kn_is_byte(p->a) && kn_is_byte(p->b) && p->a != KILN_I8 && p->b != KILN_I8;

    if (weight_only(p)) {
        if (!kn_family_of(p)->mixed)
            return kn_fail(c, KILN_UNSUPPORTED, "the narrow weight of a 16-bit "
                           "A is not for wgrad");
    } else if (kn_prequant(p)) {
        if (!kn_family_of(p)->mixed || !kn_along_k(p, 'a'))
            return kn_fail(c, KILN_UNSUPPORTED, "a 16-bit A is quantised along "
                           "its rows, in nt and nn of gemm, batched and "
                           "grouped, and in moe");
    } else if (kn_type_mx[p->a] > 1 || kn_type_mx[p->b] > 1) {
        return kn_fail(c, KILN_UNSUPPORTED, "%s x %s: i4 and nvfp4 are types of "
                       "a weight B, which a bf16 or f16 A is multiplied by", a, b);
    } else if (kn_type_mx[p->a] != kn_type_mx[p->b] ||
               (!kn_type_mx[p->a] && !f8 && p->a != p->b)) {
        return kn_fail(c, KILN_UNSUPPORTED, "%s cannot be multiplied by %s: "
                       "mix fp8 with bf8, MX types with each other, or bf16 "
                       "and f16 with an MX or 8-bit weight", a, b);
    }
    return KILN_OK;
}

/* What sums of A and B may become. */
static kiln_status
check_result(struct kn_ctx *c, const kiln_problem *p)
{
    if (kn_quantises(p) && p->stage == KILN_MOE_GATE_UP &&
        kn_targets[p->target].scaled) {
        if (p->n % 32 || p->requant > 3)
            return kn_fail(c, KILN_BAD_INPUT, "an MX output has whole blocks "
                           "of 32: --inter is a multiple of 32");
        return KILN_OK;
    }
    if (kn_wide_sums(p))
        return check_wide(c, p);
    if (kn_codes(p) || (kn_quantises(p) && !kn_family_of(p)->routed))
        return KILN_OK;
    if (p->out == KILN_I32 ? p->a != KILN_I8 : !kn_is_plain(p->out))
        return kn_fail(c, KILN_UNSUPPORTED, "the output of %s x %s cannot be %s",
                       kiln_type_name(p->a), kiln_type_name(p->b), kiln_type_name(p->out));
    return KILN_OK;
}

static kiln_status
check_types(struct kn_ctx *c, const kiln_problem *p)
{
    if (p->stage == KILN_MOE_REDUCE)
        return kn_is_plain(p->a) ? KILN_OK
             : kn_fail(c, KILN_UNSUPPORTED, "slots are summed in bf16, f16 or f32");
    if (p->quant && (!weight_only(p) || p->b != KILN_MXFP4 || p->b_layout))
        return kn_fail(c, KILN_UNSUPPORTED, "--quant is for a 16-bit A with a "
                       "plain mxfp4 weight");
    if (p->quant > 4)
        return kn_fail(c, KILN_BAD_INPUT, "there are four scale modes");
    KN_TRY(check_pair(c, p));
    if (p->a == KILN_I32)
        return kn_fail(c, KILN_UNSUPPORTED, "%s is no operand type, only an "
                       "output type", kiln_type_name(p->a));
    if (p->layout != KILN_NT && (kn_type_bits[p->a] < 8 || kn_type_bits[p->b] < 8))
        return kn_fail(c, KILN_UNSUPPORTED, "4- and 6-bit types are packed "
                       "along K, so their layout is nt");
    return check_result(c, p);
}

/* 16 columns have one scale of a block. */
static kiln_status
check_pair_blocks(struct kn_ctx *c, const kiln_problem *p)
{
    return p->scale != KILN_SCALE_BLOCK128 || !kn_gated(p) || p->n % 16 == 0
         ? KILN_OK
         : kn_fail(c, KILN_UNSUPPORTED, "gate and up with scales of blocks "
                   "need N (--inter) a multiple of 16");
}

static kiln_status
check_math(struct kn_ctx *c, const kiln_problem *p)
{
    if (!p->math)
        return KILN_OK;
    if (p->a != KILN_F32 || p->stage == KILN_MOE_REDUCE)
        return kn_fail(c, KILN_BAD_INPUT, "--math is how f32 operands are "
                       "multiplied");
    if (p->math == KILN_MATH_XF32 && !kn_targets[p->target].xf32)
        return kn_fail(c, KILN_UNSUPPORTED, "%s has no matrix instruction of "
                       "xf32: --math bf16x3 is nearer to f32",
                       kiln_target_name(p->target));
    return KILN_OK;
}

static kiln_status
check_scale(struct kn_ctx *c, kiln_problem *p)
{
    bool mx = kn_type_mx[p->b] == 1, groups = kn_type_mx[p->b] == 2;
    bool nv = kn_type_mx[p->b] == 3;
    bool small = kn_type_bits[p->a] == 8 && !mx;

    if (kn_prequant(p) && p->scale == KILN_SCALE_NONE)
        p->scale = KILN_SCALE_TENSOR;
    if (kn_prequant(p) && p->scale > KILN_SCALE_BLOCK128)
        return kn_fail(c, KILN_UNSUPPORTED, "A is quantised in the kernel, and B has one scale "
                       "(--scale tensor), one a column (row) or 128-blocks (block128)");
    if (groups != kn_scale_groups(p))
        return kn_fail(c, KILN_BAD_INPUT, "an i4 weight has scales of groups "
                       "along K (--scale group32, group64 or group128), and "
                       "only it does");
    if (p->scale_type == KILN_SCALE_TYPE_E8M0
        ? groups || (!kn_powers(p) && !kn_writes_powers(p)) : p->scale_type && !groups)
        return kn_fail(c, KILN_BAD_INPUT, "--scale-type is of scales of groups, f32, f16 or "
                       "bf16, and of 128-blocks, f32 or e8m0");
    if (p->zero_points && !groups)
        return kn_fail(c, KILN_BAD_INPUT, "--zero-points are those of an i4 "
                       "weight's groups");
    if (nv && p->scale == KILN_SCALE_NONE)
        p->scale = KILN_SCALE_NV16;
    if (nv != (p->scale == KILN_SCALE_NV16))
        return kn_fail(c, KILN_BAD_INPUT, "an nvfp4 weight has one scale per 16 "
                       "elements (--scale nv16), and only it does");
    if (groups || nv)
        return KILN_OK;
    if (mx && p->scale == KILN_SCALE_NONE)
        p->scale = KILN_SCALE_MX32;
    if (mx != (p->scale == KILN_SCALE_MX32))
        return kn_fail(c, KILN_BAD_INPUT, "MX types have one scale per 32 "
                       "elements (--scale mx32), and only they do");
    if (!small && !kn_prequant(p) && (p->scale == KILN_SCALE_TENSOR || p->scale == KILN_SCALE_ROW))
        return kn_fail(c, KILN_UNSUPPORTED, "--scale tensor and row are for "
                       "fp8, bf8 and i8");
    if (p->scale == KILN_SCALE_BLOCK128 && !kn_prequant(p) && (!small || p->a == KILN_I8))
        return kn_fail(c, KILN_UNSUPPORTED, "--scale block128 is for fp8 and "
                       "bf8");
    if (p->out == KILN_I32 &&
        (p->scale || p->epilogue || p->beta || p->alpha_set || kn_gated(p)))
        return kn_fail(c, KILN_UNSUPPORTED, "an i32 output is the plain sum: "
                       "no scale, bias, activation, alpha or beta");
    return KILN_OK;
}

/* Words hold eight K of a column, or eight columns; so do those of i4 zero points. */
static kiln_status
check_words(struct kn_ctx *c, const kiln_problem *p)
{
    bool k = kn_word_k(p) > 1;

    if (p->b != KILN_I4 || kn_shuffled(p) || p->stage == KILN_MOE_REDUCE)
        return kn_fail(c, KILN_UNSUPPORTED, "words of AWQ and GPTQ are of an i4 "
                       "weight with scales of groups");
    if (p->ldb && p->ldb != kn_b_columns(p))
        return kn_fail(c, KILN_BAD_INPUT, "rows of words are dense");
    if (p->n % 8 && (!k || kn_zero_words(p)))
        return kn_fail(c, KILN_BAD_INPUT, "a word has eight columns, so N is a "
                       "multiple of 8");
    if (k && p->k % 8)
        return kn_fail(c, KILN_BAD_INPUT, "a word has eight K, so K is a "
                       "multiple of 8");
    return KILN_OK;
}

/* What is stored in panels has whole ones; shuffled scales are MX'. */
static kiln_status
check_stored(struct kn_ctx *c, const kiln_problem *p)
{
    if (p->scale_layout == KILN_SCALE_TRANSPOSED && !kn_scale_groups(p) &&
        (p->scale != KILN_SCALE_BLOCK128 || kn_prequant(p) ||
         (kn_family_of(p)->routed && p->stage != KILN_MOE_GATE_UP)))
        return kn_fail(c, KILN_UNSUPPORTED, "transposed scales are those of "
                       "groups and of --scale block128, of moe those of gemm1");
    if (kn_in_words(p))
        return check_words(c, p);
    if (!p->b_layout && !kn_shuffled(p))
        return KILN_OK;
    if (p->b_layout == KILN_B_HALVES &&
        (!kn_family_of(p)->routed || kn_shuffled(p)))
        return kn_fail(c, KILN_UNSUPPORTED, "preshuffled halves are moe's gate "
                       "and up rows, without shuffled scales");
    if (p->layout != KILN_NT || !kn_family_of(p)->stored ||
        p->stage == KILN_MOE_REDUCE)
        return kn_fail(c, KILN_UNSUPPORTED, "stored layouts are for an nt "
                       "product whose B is a weight");
    if (p->b_layout && (p->n % KN_PANEL || run_bytes(p->b, p->k) % 16 ||
                        p->k * kn_type_bits[p->b] % 8 ||
                        (p->ldb && p->ldb != p->k)))
        return kn_fail(c, KILN_BAD_INPUT, "a preshuffled B is dense, with a "
                       "multiple of 16 rows of a multiple of 16 bytes");
    if (kn_gated(p) && p->n % KN_PANEL)
        return kn_fail(c, KILN_BAD_INPUT, "gate and up rows are stored 16 by "
                       "16, so N (--inter) is a multiple of 16");
    if (p->b_layout && kn_type_bits[p->b] == 6 &&
        (weight_only(p) || !kn_targets[p->target].scaled))
        return kn_fail(c, KILN_UNSUPPORTED, "preshuffled 6-bit codes that are converted have "
                       "no whole ones in 16 bytes");
    if (p->b_layout == KILN_B_PRESHUFFLED && kn_gated(p) && kn_scale_groups(p) &&
        (kn_scales_down(p, 'b') || (p->zero_points && kn_family_of(p)->routed)))
        return kn_fail(c, KILN_UNSUPPORTED, "zero points and transposed scales of gate rows come "
                       "before those of up rows: moe has B so by --b-layout preshuffled-halves");
    if (kn_shuffled(p) && (!kn_type_mx[p->a] ||
                           !kn_targets[p->target].scaled))
        return kn_fail(c, KILN_UNSUPPORTED, "shuffled scales are for MX types "
                       "on gfx950");
    if (kn_shuffled(p) && !kn_family_of(p)->shuffled)
        return kn_fail(c, KILN_UNSUPPORTED, "wgrad has no shuffled scales");
    return KILN_OK;
}

static kiln_status
check_leading(struct kn_ctx *c, const char *what, int64_t *ld, int64_t row,
              kiln_type t)
{
    if (*ld == 0)
        *ld = row;
    if (*ld < row)
        return kn_fail(c, KILN_BAD_INPUT, "--ld%s is %lld, but a row has %lld "
                       "elements", what, (long long)*ld, (long long)row);
    if (run_bytes(t, *ld) > (int64_t)1 << 30)
        return kn_fail(c, KILN_UNSUPPORTED, "a row of %s is over 1 GiB", what);
    return KILN_OK;
}

/* Scales of blocks lie in rows, at a pitch of their own. */
static kiln_status
check_scale_pitch(struct kn_ctx *c, const kiln_problem *p, char what,
                  int64_t ld)
{
    int64_t row = up(p->k, kn_scale_k(p));

    if (kn_scales_down(p, what))
        row = what != 'a' ? kn_b_columns(p) : kn_family_of(p)->routed ? p->tokens : p->m;
    if (!ld)
        return KILN_OK;
    if (p->scale < KILN_SCALE_BLOCK128 || kn_shuffled(p) ||
        (what == 'a' && (weight_only(p) || kn_prequant(p))))
        return kn_fail(c, KILN_BAD_INPUT, "--lds%c is the pitch of rows of "
                       "scales (block128, mx32, nv16, groups), which %s has not", what,
                       what == 'a' ? "A" : "B");
    if (ld < row)
        return kn_fail(c, KILN_BAD_INPUT, "--lds%c is %lld, but a row has %lld "
                       "scales", what, (long long)ld, (long long)row);
    if (ld > (1 << 30) / kn_scale_size(p))
        return kn_fail(c, KILN_UNSUPPORTED, "a row of scales is over 1 GiB");
    return KILN_OK;
}

static kiln_status
check_stride(struct kn_ctx *c, const char *what, int64_t stride, kiln_type t)
{
    if (!stride || (stride == KILN_SHARED && *what != 'c'))
        return KILN_OK;
    if (stride == KILN_SHARED)
        return kn_fail(c, KILN_BAD_INPUT, "--stride-c 0 would write every "
                       "problem's output to the same place");
    if (stride < 0 || stride > INT64_MAX / 32 || stride * kn_type_bits[t] % 8)
        return kn_fail(c, KILN_BAD_INPUT, "--stride-%s is %lld elements of "
                       "%s: not a positive number of whole bytes", what,
                       (long long)stride, kiln_type_name(t));
    return KILN_OK;
}

static kiln_status
check_apart(struct kn_ctx *c, const kiln_problem *p)
{
#define SIZE(name, has, value, meaning) KN_TERM(name, value)
#define KNOWN(name, value) KN_TERM(name, value)
#define LET(name, formula) KN_TERM(name, formula)
#define APART(what, applies, rows, ld, stride, holds)                         \
    if ((applies) && !(holds))                                                \
        return kn_fail(c, KILN_BAD_INPUT, "--stride-" what " is %lld, which " \
                       "lets problems of %lld rows of %lld overlap",          \
                       (long long)(stride), (long long)(rows), (long long)(ld));
#include "launch/launch.def"
    return KILN_OK;
}

static kiln_status
check_strides(struct kn_ctx *c, const kiln_problem *p)
{
    const struct kn_family *f = kn_family_of(p);

    if (!f->batch && f->ragged != 'm')
        return KILN_OK;
    if (f->batch) {
        KN_TRY(check_stride(c, "a", p->stride_a, p->a));
        KN_TRY(check_stride(c, "c", p->stride_c, p->out));
    }
    KN_TRY(check_stride(c, "b", p->stride_b, p->b));
    return check_apart(c, p);
}

/* Layouts and counts of the family: grouped has m rows in all, wgrad k. */
static kiln_status
check_family(struct kn_ctx *c, kiln_problem *p)
{
    const struct kn_family *f = kn_family_of(p);
    bool groups = f->ragged, wgrad = f->ragged == 'k';

    if (f->batch ? p->batch < 1 : p->batch && p->batch != 1)
        return kn_fail(c, KILN_BAD_INPUT, f->batch
                       ? "batched needs --batch of at least 1"
                       : "--batch is for batched");
    if (p->group_flags && !groups)
        return kn_fail(c, KILN_BAD_INPUT, "tables of groups are for grouped and "
                       "wgrad");
    if (f->routed)
        return kn_routed_check(c, p);
    if (groups ? p->groups < 1 || p->groups > 65535 : p->groups != 0)
        return kn_fail(c, KILN_BAD_INPUT, groups
                       ? "the number of groups is from 1 to 65535"
                       : "groups are for grouped and wgrad");
    if (p->group_flags & KILN_GROUP_LENS && p->group_flags & KILN_GROUP_ENDS32)
        return kn_fail(c, KILN_BAD_INPUT, "a table has lengths or ends of "
                       "groups, not both");
    if (p->group_flags & KILN_TAIL_ZERO && wgrad)
        return kn_fail(c, KILN_BAD_INPUT, "wgrad has no rows past the last "
                       "group in its output");
    if (f->ragged == 'm' && !kn_along_k(p, 'a'))
        return kn_fail(c, KILN_UNSUPPORTED, "grouped is nt (forward) or nn "
                       "(dgrad); its tn is the family wgrad");
    if (wgrad && p->layout != (kn_type_mx[p->a] ? KILN_NT : KILN_TN))
        return kn_fail(c, KILN_UNSUPPORTED, "wgrad is tn; with MX types, "
                       "which are packed along K, it is nt");
    if (wgrad && (kn_has_bias(p) || kn_gated(p)))
        return kn_fail(c, KILN_UNSUPPORTED, "wgrad has no bias, no gate and no "
                       "up");
    return KILN_OK;
}

/* The expression without spaces, `gelu` in full; one that names c reads C. */
static kiln_status
check_expression(struct kn_ctx *c, kiln_problem *p)
{
    struct kn_formula *x;
    const char *text;

    if (!p->expression[0] && p->epilogue != KILN_EPILOGUE_EXPRESSION)
        return KILN_OK;
    if (p->epilogue && p->epilogue != KILN_EPILOGUE_EXPRESSION)
        return kn_fail(c, KILN_BAD_INPUT, "an expression says the whole "
                       "epilogue: name bias in it");
    x = KN_NEW(c, struct kn_formula, 1);
    KN_TRY(kn_formula_parse(c, NULL, p->expression, kn_wide_sums(p), x));
    text = kn_formula_text(c, p->expression);
    if (strlen(text) >= sizeof p->expression)
        return kn_fail(c, KILN_BAD_INPUT, "an expression has at most %zu "
                       "characters", sizeof p->expression - 1);
    memset(p->expression, 0, sizeof p->expression);
    memcpy(p->expression, text, strlen(text));
    p->epilogue = KILN_EPILOGUE_EXPRESSION;
    if (p->beta && kn_formula_gated(x) && !kn_formula_has(x, KN_FX_C))
        return kn_fail(c, KILN_BAD_INPUT, "--beta adds to acc: an expression "
                       "of gate and up names c itself");
    p->beta |= kn_formula_has(x, KN_FX_C);
    return KILN_OK;
}

/* What is stored of a grid of compute units has 16 bits, of a map of chiplets
 * seven. */
static kiln_status
check_device(struct kn_ctx *c, const kiln_problem *p)
{
    if (p->cus <= KN_CUS_MOST && p->xcds <= KN_XCDS_MOST &&
        kn_xcds(p) <= kn_cus(p))
        return KILN_OK;
    return kn_fail(c, KILN_BAD_INPUT, "a device has 1 to %d compute units on 1 "
                   "to %d chiplets, none without, not %u on %u", KN_CUS_MOST,
                   KN_XCDS_MOST, kn_cus(p), kn_xcds(p));
}

/* What moe alone has. */
static kiln_status
check_routing(struct kn_ctx *c, const kiln_problem *p)
{
    if (kn_family_of(p)->routed || !(p->stage || p->act || p->atomic || p->block_m ||
                                     p->id_format || p->weigh))
        return KILN_OK;
    return kn_fail(c, KILN_BAD_INPUT, "stage, act, atomic, block_m, id_format and "
                   "weigh are moe's");
}

void
kn_default_types(kiln_problem *p)
{
    if (!p->a)
        p->a = KILN_BF16;
    if (!p->b)
        p->b = p->a;
}

kiln_status
kn_problem_normalise(struct kn_ctx *c, kiln_problem *p)
{
    const int64_t most = (int64_t)1 << 31;

    if (!kn_is_target(p->target))
        return kn_fail(c, KILN_BAD_INPUT, "name a target: gfx942 or gfx950");
    kn_default_types(p);
    if (!p->out)
        p->out = p->a == KILN_F64 ? KILN_F64 : KILN_BF16;
    if (!p->alpha_set)
        p->alpha = 1;
    KN_TRY(check_device(c, p));
    KN_TRY(check_routing(c, p));
    if (kn_family_of(p)->unary)
        return kn_quant_normalise(c, p);
    KN_TRY(check_expression(c, p));
    KN_TRY(check_family(c, p));
    KN_TRY(check_types(c, p));
    KN_TRY(check_math(c, p));
    KN_TRY(kn_output_check(c, p));
    KN_TRY(check_scale(c, p));
    if (p->m < 0 || p->n < 0 || p->k < 0 || p->m >= most || p->n >= most ||
        p->k >= most)
        return kn_fail(c, KILN_BAD_INPUT,
                       "m, n and k are from 0 to 2147483647");
    KN_TRY(check_pair_blocks(c, p));
    KN_TRY(check_stored(c, p));
    KN_TRY(check_leading(c, "a", &p->lda, kn_along_k(p, 'a') ? p->k : p->m,
                         p->a));
    KN_TRY(check_leading(c, "b", &p->ldb,
                         kn_along_k(p, 'b') ? p->k : kn_b_columns(p), p->b));
    KN_TRY(check_leading(c, "c", &p->ldc, p->n, p->out));
    KN_TRY(check_scale_pitch(c, p, 'a', p->ldsa));
    KN_TRY(check_scale_pitch(c, p, 'b', p->ldsb));
    return check_strides(c, p);
}

/* The widest class both a pitch and a base alignment allow. */
static uint8_t
align_class(int64_t pitch, uint32_t base)
{
    static const uint8_t classes[] = { 16, 4, 2, 1 };

    for (int i = 0; i < 3; i++)
        if (pitch % classes[i] == 0 && base % classes[i] == 0)
            return classes[i];
    return 1;
}

static bool
moves_b(const kiln_problem *p)
{
    return p->batch > 1 || kn_family_of(p)->ragged == 'm' ||
           kn_family_of(p)->routed;
}

/* Bytes from gate to up in a row that has both. */
static int64_t
up_begins(const kiln_problem *p)
{
    return kn_gated(p) && !kn_along_k(p, 'b') ? run_bytes(p->b, p->n) : 0;
}

/* The same in a row of scales. */
static int64_t
up_scales(const kiln_problem *p)
{
    return kn_gated(p) && kn_scale_groups(p) && p->scale_layout == KILN_SCALE_TRANSPOSED
         ? p->n * kn_scale_size(p) : 0;
}

/* Groups of a K-contiguous wgrad start at any multiple of 32 along K. */
static void
along_k(const kiln_problem *p, struct kn_domain *d)
{
    uint8_t a = align_class(kn_type_bits[p->a] * 4, 16);
    uint8_t b = align_class(kn_type_bits[p->b] * 4, 16);

    d->align_a = a < d->align_a ? a : d->align_a;
    d->align_b = b < d->align_b ? b : d->align_b;
    d->align_sa = d->align_sb = 1;
}

/* Rows of scales that come for several K tiles at once; these do beside operands along K, or
 * such that are copied as they are. */
bool
kn_mx_scales(const kiln_problem *p)
{
    struct kn_domain d;

    if (p->scale == KILN_SCALE_MX32)
        return true;
    if (!kn_powers(p) || kn_prequant(p) || !kn_targets[p->target].scaled || p->scale_layout)
        return false;
    if (p->layout == KILN_NT || kn_family_of(p)->routed)
        return true;
    d = kn_domain_of(p, 16, 1);
    return d.align_a == 16 && d.align_b == 16;
}

struct kn_domain
kn_domain_of(const kiln_problem *p, uint32_t base, uint32_t bk)
{
    const struct kn_family *f = kn_family_of(p);
    struct kn_pitches t = kn_pitches_of(p);
    struct kn_domain d = { .vec = 1 };
    int64_t size = (kn_type_bits[p->out] + 7) / 8;
    int64_t wide = size > 4 || p->out2 == KILN_F64 ? 2 : 4;

    if (f->unary)
        return kn_quant_domain(p, base);

    d.align_a = align_class(t.a | (p->batch > 1 ? t.ta : 0), base);
    d.align_b = align_class(t.b | (moves_b(p) ? t.tb : 0) | up_begins(p), base);
    d.align_sa = d.align_sb = 16;
    if (p->scale >= KILN_SCALE_BLOCK128) {
        d.align_sa = align_class(t.sa | (p->batch > 1 ? t.tsa : 0), base);
        d.align_sb = align_class(t.sb | (moves_b(p) ? t.tsb : 0) | up_scales(p), base);
    }
    if (kn_b_in_sa(p))
        d.align_sa = 16;     /* loaded one by one */
    if ((kn_in_words(p) || kn_wide_sums(p)) && d.align_b < 4)
        d.align_b = 4;       /* or the launch is refused */
    if (kn_wide_sums(p) && d.align_a < 4)
        d.align_a = 4;       /* the same */
    if (kn_scales_down(p, 'a'))
        d.align_sa = (uint8_t)kn_scale_size(p);  /* rows start at any scale */
    if (f->routed)
        t.tc = 0;
    if (p->n % wide == 0 && (t.c | t.tc) % (wide * size) == 0 &&
        base % (wide * size) == 0)
        d.vec = (uint8_t)wide;
    if (f->ragged == 'k' && p->layout == KILN_NT)
        along_k(p, &d);
    if (f->ragged == 'k' && p->scale == KILN_SCALE_BLOCK128)
        d.align_sa = d.align_sb = (uint8_t)kn_scale_size(p);    /* groups start at any scale */
    d.windows = f->routed && p->stage != KILN_MOE_REDUCE &&
                p->tokens > t.window;
    d.ktail = f->ragged == 'k' || bk == 0 || p->k % bk != 0 || p->k == 0;
    return d;
}
