/* Outputs of 8 bits: in every family that has them, in both lowerings, by every
 * way of storing, saturated or not, of numbers, NaNs and infinities; and what
 * would be wrong is seen.
 *
 * usage: outputs TARGET [some|full]   some: a fifth of the rows; full: each in
 * each form; else by turns */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kit/sweep.h"

enum { NFORMS = 8 };

static kiln_target target;
static bool full;
static struct num_counts counts;

static const int64_t lens[] = { 20, 0, 1, 65, 0 };

struct row {
    const char *name;
    kiln_type out;
    kiln_out_scale scale;
    uint8_t overflow;
    const char *expression;
    uint8_t mode;            /* of E8M0 scales, and RANDOM */
    uint8_t beside;          /* AMAX, and the type of a second output */
};
enum { AMAX = 128, RANDOM = 64 };
static const struct row rows[] = {
    { "bf16, amax", KILN_BF16, KILN_OUT_PLAIN, 0, "", 0, AMAX },
    { "f16, amax of what lies beyond too", KILN_F16, KILN_OUT_PLAIN, 0,
      "rcp(acc) * 0.01", 0, AMAX },
    { "fp8, static, amax", KILN_FP8, KILN_OUT_STATIC, 0, "acc*300", 0, AMAX },
    { "i8, by 128, amax", KILN_I8, KILN_OUT_BLOCK128, 0, "1-acc", 0, AMAX },
    { "mxfp4, amax", KILN_MXFP4, KILN_OUT_MX32, 0, "", 0, AMAX },
    { "fp8, static", KILN_FP8, KILN_OUT_STATIC, 0, "", 0, 0 },
    { "fp8, plain", KILN_FP8, KILN_OUT_PLAIN, 0, "acc*300", 0, 0 },
    { "fp8, not saturated", KILN_FP8, KILN_OUT_STATIC, 1, "acc*300", 0, 0 },
    { "bf8, static", KILN_BF8, KILN_OUT_STATIC, 0, "relu(acc)", 0, 0 },
    { "bf8, not saturated", KILN_BF8, KILN_OUT_PLAIN, 1, "acc*30000", 0, 0 },
    { "i8, static", KILN_I8, KILN_OUT_STATIC, 0, "", 0, 0 },
    { "i8, plain", KILN_I8, KILN_OUT_PLAIN, 0, "row:r,acc*r*50", 0, 0 },
    { "fp8, by row", KILN_FP8, KILN_OUT_ROW, 0, "silu(acc)", 0, 0 },
    { "bf8, by 128", KILN_BF8, KILN_OUT_BLOCK128, 0, "acc+1", 0, 0 },
    { "i8, by 128", KILN_I8, KILN_OUT_BLOCK128, 0, "", 0, 0 },
    { "mxfp8", KILN_MXFP8, KILN_OUT_MX32, 0, "acc+1", 0, 0 },
    { "mxfp8, round-up", KILN_MXFP8, KILN_OUT_MX32, 0, "", 1, 0 },
    { "mxfp8, not saturated", KILN_MXFP8, KILN_OUT_MX32, 1, "", 2, 0 },
    { "mxfp4", KILN_MXFP4, KILN_OUT_MX32, 0, "", 0, 0 },
    { "mxfp4, even", KILN_MXFP4, KILN_OUT_MX32, 0, "relu(acc)", 2, 0 },
    { "mxfp4, ceil", KILN_MXFP4, KILN_OUT_MX32, 0, "", 3, 0 },
    { "bf16 beside f32", KILN_BF16, KILN_OUT_PLAIN, 0, "", 0, KILN_F32 },
    { "bf16 of aux", KILN_BF16, KILN_OUT_PLAIN, 0, "aux:acc+1,gelu(aux)", 0,
      KILN_BF16 },
    { "fp8, static, aux, amax", KILN_FP8, KILN_OUT_STATIC, 0,
      "row:r,col:w,aux:acc*r+w,relu(aux)+r", 0, AMAX | KILN_F16 },
    { "i8, by 128, beside bf16", KILN_I8, KILN_OUT_BLOCK128, 0, "acc*2", 0,
      KILN_BF16 },
    { "mxfp8 of aux", KILN_MXFP8, KILN_OUT_MX32, 0, "aux:acc,silu(aux)", 0,
      KILN_F32 },
    { "bf16 at random", KILN_BF16, KILN_OUT_PLAIN, 0, "", RANDOM, 0 },
    { "f16 at random", KILN_F16, KILN_OUT_PLAIN, 0, "acc*0.00001", RANDOM, 0 },
    { "bf16 at random, beside f16", KILN_BF16, KILN_OUT_PLAIN, 0, "relu(acc)",
      RANDOM, AMAX | KILN_F16 },
    { "fp8 at random, static", KILN_FP8, KILN_OUT_STATIC, 0, "", RANDOM, 0 },
    { "bf8 at random, not saturated", KILN_BF8, KILN_OUT_PLAIN, 1, "acc*30000",
      RANDOM, 0 },
    { "i8 at random", KILN_I8, KILN_OUT_PLAIN, 0, "", RANDOM, 0 },
    { "fp8 at random, by row", KILN_FP8, KILN_OUT_ROW, 0, "silu(acc)", RANDOM, 0 },
    { "i8 at random, by 128", KILN_I8, KILN_OUT_BLOCK128, 0, "", RANDOM, 0 },
    { "mxfp8 at random", KILN_MXFP8, KILN_OUT_MX32, 0, "", RANDOM, 0 },
    { "mxfp8 at random, round-up", KILN_MXFP8, KILN_OUT_MX32, 0, "acc+1",
      RANDOM | 1, 0 },
    { "mxfp4 at random, even", KILN_MXFP4, KILN_OUT_MX32, 0, "", RANDOM | 2, 0 },
};
enum { NROWS = sizeof rows / sizeof *rows };

/* A problem and a configuration for a number. */
static void
form(uint32_t n, kiln_problem *p, struct kn_config *g)
{
    static const kiln_family family[NFORMS] = {
        KILN_GEMM, KILN_GROUPED, KILN_BATCHED, KILN_GEMM,
        KILN_GEMM, KILN_WGRAD, KILN_GEMM, KILN_GEMM };

    p->family = family[n % NFORMS];
    p->a = KILN_BF16;
    *g = (struct kn_config){ .bm = 64, .bn = 64 };
    switch (n % NFORMS) {
    case 1:
        p->a = KILN_FP8;
        p->scale = KILN_SCALE_ROW;
        p->group_flags = KILN_TAIL_ZERO;
        break;
    case 3:
        p->a = KILN_I8;
        p->scale = KILN_SCALE_TENSOR;
        g->lowering = KN_LOWERING_ASM;
        break;
    case 4:
        g->split_k = 2;
        break;
    case 5:
        p->layout = KILN_TN;
        break;
    case 6:
        g->store = KN_STORE_LDS;
        g->lowering = KN_LOWERING_ASM;
        break;
    case 7:                  /* the next tile is copied between stores */
        *g = (struct kn_config){ .bm = 256, .bn = 256, .bk = 64, .wm = 2,
                                 .wn = 2, .schedule = KN_SCHED_4WAVE,
                                 .cus = 1 };
        break;
    default:
        break;
    }
}

static void
run_form(const struct row *row, uint32_t n, enum kn_data_mode mode)
{
    struct num_job j = { .seed = n, .order_seed = n, .mode = mode };
    kiln_problem p = { .size = sizeof p, .target = target, .out = row->out,
                       .out_scale = (uint8_t)row->scale,
                       .overflow = row->overflow, .requant = row->mode & 3,
                       .round = row->mode / RANDOM,
                       .amax = row->beside >> 7,
                       .out2 = row->beside & 127 };
    struct num_result r = { .ok = true };
    struct num_kernel k;
    struct kn_config g;
    bool large = n % NFORMS == 7;

    form(n, &p, &g);
    if (kn_writes_scales(&p)) {
        g.bn = p.out_scale == KILN_OUT_MX32 ? g.bn : large ? 256 : 128;
        g.store = 0;
        p.group_flags = 0;
        if (p.out_scale == KILN_OUT_ROW)
            g.schedule = KN_SCHED_AUTO;
        if (p.out_scale == KILN_OUT_ROW && large)
            g = (struct kn_config){ .bm = 128, .bn = 256,
                                    .cus = kn_targets[target].walks };
    }
    if (mode == KN_DATA_SPECIAL)
        p.a = KILN_F16;      /* whose sums stay within f32 */
    snprintf(p.expression, sizeof p.expression, "%s", row->expression);
    g.domain = num_weakest(&p);
    p.m = 70, p.n = n % 2 ? 100 : 101, p.k = 96;
    if (large)
        p.m = 512, p.n = p.out_scale == KILN_OUT_ROW ? 256 : 512, p.k = 64;
    if (n % 4 == 3)          /* which rows at any address are refused */
        g.domain = kn_domain_of(&p, 16, 64);
    if (!num_open(&k, &counts, &p, &g))
        fail_msg("%s, form %u: no kernel: %s", row->name, n, k.c.err.text);
    j.p = (kiln_problem){ .m = p.m, .n = p.n, .k = p.k,
                          .round_seed = p.round * (n * 0x9e3779b97f4a7c15u + 1) };
    j.p.batch = p.family == KILN_BATCHED ? 3 : 0;
    if (p.family == KILN_GROUPED || p.family == KILN_WGRAD) {
        j.p.groups = 5;
        j.lens = lens;
        j.spare = p.family == KILN_GROUPED ? 70 : 0;
    }
    if (!num_launch(&k, &j, &r))
        fail_msg("%s, form %u: %s", row->name, n, r.text);
    num_close(&k);
}

/* Few rows and a long K, nothing asked for: there is a kernel. */
static void
run_chosen(const struct row *row, int64_t m, int64_t n)
{
    kiln_problem p = { .size = sizeof p, .target = target, .a = KILN_FP8,
                       .out = row->out, .out_scale = (uint8_t)row->scale,
                       .overflow = row->overflow, .requant = row->mode & 3,
                       .round = row->mode / RANDOM,
                       .amax = row->beside >> 7,
                       .out2 = row->beside & 127, .m = m, .n = n, .k = 1024 };
    struct num_job j = { .p = { .m = m, .n = n, .k = 1024 } };
    struct kn_config g = { 0 };
    struct num_result r;
    struct num_kernel k;

    if (!num_open(&k, &counts, &p, &g))
        fail_msg("%s, %d rows: no kernel: %s", row->name, (int)m, k.c.err.text);
    if (!num_launch(&k, &j, &r))
        fail_msg("%s, %d rows: %s", row->name, (int)m, r.text);
    num_close(&k);
}

static void
test_row(void **state)
{
    const struct row *row = *state;
    uint32_t n = (uint32_t)(row - rows);

    for (uint32_t i = 0; i < (full ? NFORMS : 3); i++)
        run_form(row, full ? i : n + 3 * i, i % 2 ? KN_DATA_EXACT
                                                  : KN_DATA_RANDOM);
    run_form(row, 0, KN_DATA_SPECIAL);
    run_chosen(row, n % 2 ? 1 : 33, 256);
    run_chosen(row, n % 2 ? 64 : 16, 128);
    run_chosen(row, 100, 200);
}

/* Of gate and up, whose waves are twice as wide; as chosen, where B is widened
 * too. */
static void
test_pairs(void **state)
{
    static const struct {
        kiln_type out;
        kiln_out_scale scale;
        int64_t n;
    } t[] = { { KILN_I8, KILN_OUT_BLOCK128, 524 }, { KILN_FP8, KILN_OUT_ROW, 128 },
              { KILN_BF8, KILN_OUT_STATIC, 101 }, { KILN_MXFP8, KILN_OUT_MX32, 76 } };

    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        kiln_problem p = { .size = sizeof p, .target = target, .a = KILN_BF16,
                           .b = KILN_MXBF8, .layout = KILN_TT, .out = t[i].out,
                           .out_scale = (uint8_t)t[i].scale,
                           .expression = "swiglu(gate,up)",
                           .m = 6, .n = t[i].n, .k = 96 };
        struct num_job j = { .seed = i, .p = { .m = p.m, .n = p.n, .k = p.k } };
        struct kn_config g = { 0 };
        struct num_result r;
        struct num_kernel k;

        if (kn_quantises(&p) && !kn_targets[target].scaled)
            continue;
        if (!num_open(&k, &counts, &p, &g) || !num_launch(&k, &j, &r))
            fail_msg("output %zu: %s %s", i, k.c.err.text, r.text);
        num_close(&k);
    }
}

/* What aux is of gate and of up, one half behind the other. */
static void
test_aux_of_pairs(void **state)
{
    static const struct {
        kiln_family family;
        kiln_type out, out2;
        uint8_t out_scale, layout;
        const char *expression;
        struct kn_config g;
    } t[] = {
        { KILN_GEMM, KILN_BF16, KILN_BF16, 0, KILN_NT,
          "aux:gate+gate_bias,up+up_bias,swiglu(aux_gate,aux_up)", { .bm = 64, .bn = 64 } },
        { KILN_BATCHED, KILN_FP8, KILN_F32, KILN_OUT_ROW, KILN_NN,
          "row:r,aux:gate*r,up,situ(aux_gate,aux_up)*r", { .bm = 32, .bn = 64 } },
        { KILN_GROUPED, KILN_F32, KILN_F16, 0, KILN_NT,
          "col:w,scalar:k,aux:gate*k,up*w+1,gelu(aux_gate)*aux_up", { .split_k = 2 } },
        { KILN_GEMM, KILN_I8, KILN_BF16, KILN_OUT_BLOCK128, KILN_TN,
          "aux:gate,up,aux_gate*aux_up", { .cus = 2 } },
        { KILN_GEMM, KILN_BF16, KILN_F32, 0, KILN_TT,
          "tensor:x,aux:gate+x,up-x,max(aux_gate,aux_up)", { .bm = 128, .bn = 128,
          .lowering = KN_LOWERING_LLVM } },
    };

    (void)state;
    for (size_t i = 0; i < 2 * sizeof t / sizeof *t; i++) {
        size_t at = i / 2;
        kiln_problem p = { .size = sizeof p, .target = target, .family = t[at].family,
                           .a = KILN_F16, .out = t[at].out, .out2 = (uint8_t)t[at].out2,
                           .out_scale = t[at].out_scale, .layout = t[at].layout,
                           .m = 70, .n = i % 2 ? 101 : 164, .k = 96 };
        struct num_job j = { .seed = i, .p = { .m = p.m, .n = p.n, .k = p.k,
                             .ldc = i % 3 ? 0 : 180 } };
        struct kn_config g = t[at].g;
        struct num_result r = { .ok = false };
        struct num_kernel k;

        snprintf(p.expression, sizeof p.expression, "%s", t[at].expression);
        j.p.batch = p.family == KILN_BATCHED ? 3 : 0;
        if (p.family == KILN_GROUPED) {
            j.p.groups = 5;
            j.lens = lens;
        }
        if (!num_open(&k, &counts, &p, &g) || !num_launch(&k, &j, &r))
            fail_msg("pair %zu: %s %s", i, k.c.err.text, r.text);
        num_close(&k);
    }
}

/* The seed is of 64 bits among arguments of 32: behind any number of them it is
 * in an even pair of registers. */
static void
test_seeds(void **state)
{
    static const char *const expressions[] = {
        "", "tanh(acc+bias)", "scalar:x,acc*x", "row:p,scalar:q,acc*q+p",
        "row:p,scalar:q,scalar:r,acc*q+p-r" };

    (void)state;
    for (size_t i = 0; i < 2 * sizeof expressions / sizeof *expressions; i++) {
        kiln_problem p = { .size = sizeof p, .target = target, .a = KILN_FP8,
                           .layout = i % 2 ? KILN_TT : KILN_NN, .out = KILN_F16,
                           .scale = i % 2 ? KILN_SCALE_TENSOR : KILN_SCALE_ROW,
                           .alpha_set = i % 4 < 2, .round = 1,
                           .m = 38, .n = 4, .k = 192 };
        struct num_job j = { .seed = i,
                             .p = { .m = p.m, .n = p.n, .k = p.k, .alpha = 0.5f,
                                    .round_seed = 0x9e3779b97f4a7c15u } };
        struct kn_config g = { .bm = 32, .bn = 32, .bk = 128, .cus = 2 };
        struct num_result r;
        struct num_kernel k;

        snprintf(p.expression, sizeof p.expression, "%s", expressions[i / 2]);
        if (!num_open(&k, &counts, &p, &g) || !num_launch(&k, &j, &r))
            fail_msg("%s: %s %s", p.expression, k.c.err.text, r.text);
        num_close(&k);
    }
}

/* Rows of group scales have gate's and then up's, which begin at any of two bytes. */
static void
test_scales_of_up(void **state)
{
    static const uint8_t zeros[] = { KILN_ZEROS_NONE, KILN_ZEROS_F16 };

    (void)state;
    for (int64_t n = 1; n < 9; n++) {
        kiln_problem p = { .size = sizeof p, .target = target, .a = KILN_F16,
                           .b = KILN_I4, .out = KILN_F32, .scale = KILN_SCALE_GROUP32,
                           .scale_type = KILN_SCALE_TYPE_F16,
                           .scale_layout = KILN_SCALE_TRANSPOSED,
                           .zero_points = zeros[n / 2 % 2], .expression = "gate * up",
                           .m = 38, .n = n, .k = 96 };
        struct num_job j = { .seed = 3, .p = { .m = p.m, .n = p.n, .k = p.k } };
        struct kn_config g = { .bm = 32, .bn = 64 };
        struct num_result r;
        struct num_kernel k;

        if (!num_open(&k, &counts, &p, &g) || !num_launch(&k, &j, &r))
            fail_msg("n %d: %s %s", (int)n, k.c.err.text, r.text);
        num_close(&k);
    }
}

/* The next code, or exponent, is a wrong one. */
static void
next_code(struct kn_sim *sim, uint64_t c, void *user)
{
    uint8_t v;

    (void)user;
    assert_int_equal(kn_sim_read(sim, c, &v, sizeof v), KILN_OK);
    v++;
    assert_int_equal(kn_sim_write(sim, c, &v, sizeof v), KILN_OK);
}

/* A kernel of one tile of 64x64, for a launch that is meddled with. */
static void
open_tile(struct num_kernel *k, const kiln_problem *p)
{
    struct kn_config g = { .bm = 64, .bn = 64, .domain = num_weakest(p) };

    assert_true(num_open(k, &counts, p, &g));
}

static void
test_wrong(void **state)
{
    kiln_problem p = { .size = sizeof p, .target = target, .a = KILN_BF16,
                       .out = KILN_FP8, .out_scale = KILN_OUT_STATIC };
    struct num_job j = { .p = { .m = 64, .n = 64, .k = 64 },
                         .meddle = next_code };
    struct num_result r;
    struct num_kernel k;

    (void)state;
    open_tile(&k, &p);
    assert_false(num_launch(&k, &j, &r));
    assert_int_equal(r.check.bad, 1);
    num_close(&k);
}

/* All of a row's columns are wrong under a scale that is not theirs. */
static void
test_wrong_scale(void **state)
{
    kiln_problem p = { .size = sizeof p, .target = KILN_GFX950, .a = KILN_BF16,
                       .out = KILN_MXFP8, .out_scale = KILN_OUT_MX32 };
    struct num_job j = { .p = { .m = 64, .n = 64, .k = 64 },
                         .meddle_scales = next_code };
    struct num_result r;
    struct num_kernel k;

    (void)state;
    open_tile(&k, &p);
    assert_false(num_launch(&k, &j, &r));
    assert_int_equal(r.check.bad, 32);
    num_close(&k);
}

/* The next float, or a NaN, is a wrong amax. */
static void
next_float(struct kn_sim *sim, uint64_t at, void *user)
{
    uint32_t *add = user, v;

    assert_int_equal(kn_sim_read(sim, at, &v, sizeof v), KILN_OK);
    v += *add;
    assert_int_equal(kn_sim_write(sim, at, &v, sizeof v), KILN_OK);
}

static void
test_wrong_amax(void **state)
{
    kiln_problem p = { .size = sizeof p, .target = target, .a = KILN_BF16,
                       .amax = 1 };
    static uint32_t add[] = { 1, UINT32_MAX, 0x40000000 };
    struct num_result r;
    struct num_kernel k;

    (void)state;
    open_tile(&k, &p);
    for (size_t i = 0; i < sizeof add / sizeof *add; i++) {
        struct num_job j = { .p = { .m = 64, .n = 64, .k = 64 },
                             .mode = KN_DATA_EXACT,
                             .meddle_amax = next_float, .user = &add[i] };

        assert_false(num_launch(&k, &j, &r));
        assert_non_null(strstr(r.text, "amax"));
    }
    num_close(&k);
}

/* The next number is a wrong one, be it as near. */
static void
test_wrong_random(void **state)
{
    kiln_problem p = { .size = sizeof p, .target = target, .a = KILN_BF16,
                       .round = 1 };
    struct num_job j = { .p = { .m = 64, .n = 64, .k = 64 }, .meddle = next_code };
    struct num_result r;
    struct num_kernel k;

    (void)state;
    open_tile(&k, &p);
    for (j.mode = KN_DATA_RANDOM; j.mode <= KN_DATA_EXACT; j.mode++) {
        assert_false(num_launch(&k, &j, &r));
        assert_int_equal(r.check.bad, 1);
    }
    num_close(&k);
}

/* Of 32 columns, the first of up. */
static void
next_of_up(struct kn_sim *sim, uint64_t at, void *user)
{
    next_float(sim, at + 32 * sizeof(float), user);
}

static void
test_wrong_second(void **state)
{
    static const char *const of[] = { "aux:acc+1,relu(aux)",
                                      "aux:gate,up+1,swiglu(aux_gate,aux_up)" };
    static uint32_t add = 0x800000;

    (void)state;
    for (int pair = 0; pair < 2; pair++) {
        kiln_problem p = { .size = sizeof p, .target = target, .a = KILN_BF16,
                           .out2 = KILN_F32 };
        struct num_job j = { .p = { .m = 64, .n = 32, .k = 64 }, .user = &add,
                             .meddle_second = pair ? next_of_up : next_float };
        struct num_result r;
        struct num_kernel k;

        snprintf(p.expression, sizeof p.expression, "%s", of[pair]);
        open_tile(&k, &p);
        assert_false(num_launch(&k, &j, &r));
        assert_non_null(strstr(r.text, "1 elements of the second output"));
        num_close(&k);
    }
}

int
main(int argc, char **argv)
{
    struct CMUnitTest tests[NROWS + 9];
    size_t n = 0;

    if (argc < 2)
        return 2;
    target = !strcmp(argv[1], "gfx942") ? KILN_GFX942 : KILN_GFX950;
    full = argc > 2 && !strcmp(argv[2], "full");
    for (size_t i = 0; i < NROWS; i++)
        if (rows[i].scale != KILN_OUT_MX32 || kn_targets[target].scaled)
            tests[n++] = (struct CMUnitTest){ rows[i].name, test_row, NULL, NULL,
                                              (void *)(uintptr_t)&rows[i] };
    n = num_thin(tests, n, target, num_every(argc, argv));
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_wrong);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_wrong_scale);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_wrong_amax);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_wrong_second);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_wrong_random);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_pairs);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_aux_of_pairs);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_seeds);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_scales_of_up);
    return _cmocka_run_group_tests("outputs", tests, n, NULL, NULL);
}
