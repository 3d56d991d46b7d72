/* Two K tiles on their way in registers (three stages), or lines of MX types whose K
 * tiles are none, against one (two), where LDS is not filled from memory; and MX tiles
 * that are converted while the ones before them are multiplied against such as are
 * converted behind them, as LLVM's are. The same launch must give the same bytes,
 * right against the reference, without a finding, whatever the order of workgroups and
 * of what memory returns; K of no tile, of one and two, which are fewer than are asked
 * for ahead, and of many. */
#include <stdio.h>
#include <string.h>

#include "../kit/right.h"

struct row {
    kiln_target target;
    const char *name;
    kiln_problem p;          /* what the kernel is generated for; k: of whole K tiles */
    const char *config, *one, *other; /* other ends config in its place */
    int64_t size[5][3];      /* launches: M, N, K; 0, 0, 0 ends */
};

enum { FEW = 5, SPARE = 300 };
static const int64_t few[FEW] = { 70, 0, 1, 128, 17 };

#define SIZES { { 64, 64, 1056 }, { 70, 68, 96 }, { 1, 4, 32 }, { 129, 132, 576 }, \
                { 20, 60, 0 } }
#define OF_16 { { 64, 64, 1056 }, { 80, 80, 96 }, { 16, 16, 32 }, { 144, 144, 576 }, \
                { 32, 64, 0 } }
#define OF_6 { { 64, 64, 1052 }, { 70, 68, 100 }, { 1, 4, 36 }, { 129, 132, 580 }, \
               { 20, 60, 0 } }
#define KERNEL(t, w) "tile=" t " waves=" w " schedule=simple "
#define TILE(t, w) KERNEL(t, w) "lowering=asm", " stages=3", " stages=2"
#define LINES(t, w) KERNEL(t, w) "lowering=asm", " stages=4 copies=lines", " stages=2"
#define EARLY(t, w) KERNEL(t, w) "stages=1", " lowering=asm", " lowering=llvm"
#define LARGE { { 256, 256, 1056 }, { 270, 260, 96 }, { 1, 4, 0 }, { 129, 132, 544 }, \
                { 300, 300, 256 } }

static const struct row rows[] = {
    { KILN_GFX942, "bf16", { .a = KILN_BF16 }, TILE("64x64x64", "2x2"), SIZES },
    { KILN_GFX942, "fp8, nn, rows",
      { .a = KILN_FP8, .layout = KILN_NN, .scale = KILN_SCALE_ROW },
      TILE("32x64x64", "1x4"), OF_16 },
    { KILN_GFX942, "f16, tn, shares of K, beta",
      { .a = KILN_F16, .layout = KILN_TN, .beta = 1 },
      "split-k=2 " TILE("64x64x32", "2x2"), OF_16 },
    { KILN_GFX942, "fp8, 128-blocks", { .a = KILN_FP8, .scale = KILN_SCALE_BLOCK128 },
      TILE("64x64x128", "2x2"), SIZES },
    { KILN_GFX942, "mxfp8, groups",
      { .a = KILN_MXFP8, .family = KILN_GROUPED, .groups = FEW },
      TILE("32x64x128", "1x4"), { { 0, 68, 1056 }, { 0, 60, 96 } } },
    { KILN_GFX942, "mxfp4", { .a = KILN_MXFP4 }, TILE("32x32x128", "2x2"), SIZES },
    { KILN_GFX942, "groups in K, f16",
      { .a = KILN_F16, .layout = KILN_TN, .family = KILN_WGRAD, .groups = FEW },
      TILE("64x64x64", "2x2"), { { 64, 64, 0 }, { 80, 48, 0 } } },
    { KILN_GFX950, "bf16 x mxfp4", { .a = KILN_BF16, .b = KILN_MXFP4 },
      TILE("32x64x128", "1x4"), SIZES },
    { KILN_GFX950, "bf16 x i4", { .a = KILN_BF16, .b = KILN_I4, .scale = KILN_SCALE_GROUP32 },
      TILE("16x64x128", "1x4"), SIZES },
    { KILN_GFX950, "bf16 x i4, widened behind its reads",
      { .a = KILN_BF16, .b = KILN_I4, .scale = KILN_SCALE_GROUP64,
        .zero_points = KILN_ZEROS_I4 },
      "tile=64x128x128 waves=1x4 ", "schedule=simple stages=1 lowering=asm",
      "schedule=interleave stages=2 lowering=asm", SIZES },
    { KILN_GFX950, "f16 x i4, groups, widened behind its reads",
      { .a = KILN_F16, .b = KILN_I4, .scale = KILN_SCALE_GROUP32,
        .family = KILN_GROUPED, .groups = FEW },
      "tile=96x64x128 waves=2x2 ", "schedule=simple stages=1 lowering=asm",
      "schedule=interleave stages=3 lowering=asm", { { 0, 68, 1056 }, { 0, 60, 96 } } },
    { KILN_GFX950, "bf16 x i4, AWQ, widened behind its reads",
      { .a = KILN_BF16, .b = KILN_I4, .scale = KILN_SCALE_GROUP64,
        .b_layout = KILN_B_AWQ, .zero_points = KILN_ZEROS_I4,
        .scale_layout = KILN_SCALE_TRANSPOSED },
      "tile=64x128x128 waves=1x4 ", "schedule=simple stages=1 lowering=asm",
      "schedule=interleave stages=3 lowering=asm",
      { { 64, 64, 1056 }, { 70, 96, 96 }, { 1, 32, 32 } } },
    { KILN_GFX950, "f16 x i4, GPTQ, widened behind its reads",
      { .a = KILN_F16, .b = KILN_I4, .scale = KILN_SCALE_GROUP128,
        .b_layout = KILN_B_GPTQ, .zero_points = KILN_ZEROS_F16,
        .scale_layout = KILN_SCALE_TRANSPOSED },
      "tile=64x64x128 waves=2x2 ", "schedule=simple stages=1 lowering=asm",
      "schedule=interleave stages=2 lowering=asm",
      { { 64, 64, 1056 }, { 70, 96, 96 }, { 1, 32, 32 } } },
    { KILN_GFX942, "bf16 x i4, widened behind its reads",
      { .a = KILN_BF16, .b = KILN_I4, .k = 640, .scale = KILN_SCALE_GROUP64,
        .zero_points = KILN_ZEROS_I4 },
      "tile=64x128x128 waves=1x4 ", "schedule=simple stages=1 lowering=asm",
      "schedule=interleave stages=1 lowering=asm",
      { { 64, 64, 640 }, { 70, 68, 128 }, { 1, 4, 256 }, { 129, 132, 384 } } },
    { KILN_GFX942, "f16 x i4, AWQ, widened behind its reads",
      { .a = KILN_F16, .b = KILN_I4, .k = 640, .scale = KILN_SCALE_GROUP128,
        .b_layout = KILN_B_AWQ, .zero_points = KILN_ZEROS_I4,
        .scale_layout = KILN_SCALE_TRANSPOSED },
      "tile=64x64x128 waves=1x4 ", "schedule=simple stages=1 lowering=asm",
      "schedule=interleave stages=1 lowering=asm",
      { { 64, 64, 640 }, { 70, 96, 128 }, { 1, 32, 256 }, { 300, 160, 384 } } },
    { KILN_GFX950, "bf16 x i4, AWQ",
      { .a = KILN_BF16, .b = KILN_I4, .scale = KILN_SCALE_GROUP32,
        .b_layout = KILN_B_AWQ, .zero_points = KILN_ZEROS_I4,
        .scale_layout = KILN_SCALE_TRANSPOSED },
      TILE("64x64x128", "2x2"),
      { { 64, 64, 1056 }, { 70, 96, 96 }, { 1, 32, 32 } } },
    { KILN_GFX942, "mxfp8, early", { .a = KILN_MXFP8 }, EARLY("256x256x64", "2x4"), LARGE },
    { KILN_GFX942, "mxfp4, early", { .a = KILN_MXFP4 }, EARLY("128x256x128", "2x4"), LARGE },
    { KILN_GFX942, "mxfp6 x mxfp8, early, shares of K",
      { .a = KILN_MXFP6, .b = KILN_MXFP8 }, "split-k=3 " EARLY("256x128x64", "2x4"), LARGE },
    { KILN_GFX942, "mxbf8 x mxfp4, early, groups",
      { .a = KILN_MXBF8, .b = KILN_MXFP4, .family = KILN_GROUPED, .groups = FEW },
      EARLY("128x128x64", "2x4"), { { 0, 132, 1056 }, { 0, 60, 96 } } },
    { KILN_GFX950, "mxfp6, lines", { .a = KILN_MXFP6 }, LINES("64x96x128", "4x2"), OF_6 },
    { KILN_GFX950, "mxbf6 x mxfp8, lines of dwords, shares of K",
      { .a = KILN_MXBF6, .b = KILN_MXFP8 }, "split-k=2 " LINES("128x64x128", "2x2"), SIZES },
    { KILN_GFX950, "mxfp8 x mxfp4, lines, groups",
      { .a = KILN_MXFP8, .b = KILN_MXFP4, .family = KILN_GROUPED, .groups = FEW },
      LINES("64x64x128", "2x4"), { { 0, 68, 1050 }, { 0, 60, 98 } } },
    { KILN_GFX950, "f32", { .a = KILN_F32, .out = KILN_F32, .layout = KILN_NN },
      TILE("32x32x32", "2x2"), OF_16 },
};

static void
open_kernel(struct num_kernel *k, struct num_counts *counts, const struct row *r,
            const char *end)
{
    kiln_problem p = num_sized(&r->p, r->target, r->size[0]);
    struct kn_config g = { 0 };
    char text[200];

    snprintf(text, sizeof text, "%s%s", r->config, end);
    assert_true(num_configured(&g, &p, text));
    g.domain.ktail = !r->p.k;
    if (!num_open(k, counts, &p, &g))
        fail_msg("%s", k->c.err.text);
}

static uint64_t
launched(struct num_kernel *k, const struct row *r, const int64_t size[3], int n)
{
    struct num_job j = { .p = num_sized(&r->p, r->target, size), .seed = 7,
                         .lens = r->p.groups ? few : NULL,
                         .spare = r->p.groups ? SPARE : 0,
                         .order = (enum kn_sim_order)(n % 3), .order_seed = 3 };

    if (r->p.family == KILN_WGRAD)
        j.p.k += j.spare;
    return num_right(k, &j).digest;
}

static void
both_are_one(void **state)
{
    const struct row *r = *state;
    struct num_counts counts = { 0 };
    struct num_kernel one, other;

    open_kernel(&one, &counts, r, r->one);
    open_kernel(&other, &counts, r, r->other);
    for (int n = 0; n < 5 && r->size[n][1]; n++)
        assert_true(launched(&one, r, r->size[n], n) ==
                    launched(&other, r, r->size[n], n));
    num_close(&one);
    num_close(&other);
}

/* LLVM waits for all loads before the first use of any. */
static void
llvm_has_none(void **state)
{
    static const struct row r = { KILN_GFX942, "", { .a = KILN_BF16 }, "", "", "",
                                  { { 64, 64, 512 } } };
    kiln_problem p = num_sized(&r.p, r.target, r.size[0]);
    struct num_counts counts = { 0 };
    struct kn_config g = { .bm = 64, .bn = 64, .bk = 64, .wm = 2, .wn = 2, .stages = 3,
                           .schedule = KN_SCHED_SIMPLE, .lowering = KN_LOWERING_LLVM };
    struct num_kernel k;

    (void)state;
    assert_false(num_open(&k, &counts, &p, &g));
    if (!strstr(k.c.err.text, "stages"))
        fail_msg("%s", k.c.err.text);
    num_close(&k);
}

int
main(void)
{
    enum { N = sizeof rows / sizeof *rows };
    struct CMUnitTest tests[N + 1];

    memset(tests, 0, sizeof tests);
    for (size_t r = 0; r < N; r++)
        tests[r] = (struct CMUnitTest){ .name = rows[r].name,
                                        .test_func = both_are_one,
                                        .initial_state = (void *)&rows[r] };
    tests[N] = (struct CMUnitTest)cmocka_unit_test(llvm_has_none);
    return _cmocka_run_group_tests("ahead", tests, N + 1, NULL, NULL);
}
