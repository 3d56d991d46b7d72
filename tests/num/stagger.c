/* K begun at other places by the tile's number: every loop that can, whole K, K
 * tails, ends inside a batch of scales, no K at all, shares of K and persistent
 * grids, against the reference; and of numbers whose sums are exact the same bits
 * as without.
 *
 * usage: stagger TARGET */
#include <string.h>

#include "../kit/right.h"

struct row {
    kiln_target target;
    kiln_problem p;
    const char *config;
    int64_t size[5][3];      /* M, N, K; 0, 0, 0 ends */
};

enum { GROUPS = 4 };
static const int64_t lens[GROUPS] = { 288, 0, 545, 96 };
static const int64_t blocks[GROUPS] = { 288, 0, 544, 96 };

static const struct row rows[] = {
    { KILN_GFX950, { .a = KILN_BF16 },
      "tile=256x256x64 waves=2x2 schedule=4-wave stagger=3",
      { { 600, 516, 200 }, { 260, 260, 1032 }, { 260, 516, 64 }, { 600, 260, 0 } } },
    { KILN_GFX950, { .a = KILN_BF16 },
      "tile=256x256x64 waves=2x2 schedule=4-wave cus=2 stagger=4",
      { { 600, 516, 200 }, { 260, 516, 520 } } },
    { KILN_GFX950, { .a = KILN_BF16, .layout = KILN_NN },
      "tile=256x256x64 waves=2x2 schedule=4-wave stagger=5",
      { { 300, 520, 328 }, { 260, 264, 1024 } } },
    { KILN_GFX950, { .a = KILN_MXFP4 },
      "tile=256x256x256 waves=2x2 schedule=4-wave stagger=3",
      { { 260, 516, 2048 }, { 260, 516, 2560 }, { 260, 516, 3072 },
        { 260, 260, 512 } } },
    { KILN_GFX950, { .a = KILN_MXFP8 },
      "tile=256x256x128 waves=2x2 schedule=4-wave cus=2 stagger=3",
      { { 260, 516, 2048 }, { 260, 516, 1536 } } },
    { KILN_GFX950, { .a = KILN_MXFP6 },
      "tile=128x256x128 waves=2x4 schedule=8-wave stagger=2",
      { { 260, 260, 3072 }, { 100, 260, 1536 } } },
    { KILN_GFX950, { .a = KILN_MXFP4, .scale_layout = KILN_SCALE_SHUFFLED },
      "tile=256x256x256 waves=2x2 schedule=4-wave stagger=3",
      { { 260, 516, 1024 } } },
    { KILN_GFX950, { .a = KILN_FP8, .scale = KILN_SCALE_BLOCK128 },
      "tile=256x256x128 waves=2x4 schedule=8-wave stagger=3",
      { { 260, 516, 1024 }, { 260, 260, 512 } } },
    { KILN_GFX950, { .a = KILN_BF16, .b = KILN_MXFP4, .out = KILN_BF16 },
      "tile=64x64x128 waves=2x2 schedule=simple stagger=7",
      { { 100, 132, 1024 }, { 64, 68, 512 } } },
    { KILN_GFX950, { .a = KILN_F16, .b = KILN_FP8, .scale = KILN_SCALE_TENSOR },
      "tile=64x64x128 waves=2x2 schedule=simple stagger=3",
      { { 128, 132, 256 }, { 65, 68, 208 } } },
    { KILN_GFX950, { .a = KILN_FP8 },
      "tile=128x128x128 waves=2x2 schedule=interleave split-k=3 stagger=2",
      { { 260, 260, 2064 }, { 130, 132, 144 } } },
    { KILN_GFX950, { .a = KILN_BF16, .family = KILN_GROUPED },
      "tile=256x256x64 waves=2x2 schedule=4-wave cus=3 stagger=3",
      { { 929, 516, 264 } } },
    { KILN_GFX950, { .a = KILN_MXFP8, .family = KILN_GROUPED },
      "tile=256x256x128 waves=2x2 schedule=4-wave cus=2 stagger=2",
      { { 928, 260, 2048 } } },
    { KILN_GFX950, { .a = KILN_BF16, .family = KILN_WGRAD, .layout = KILN_TN },
      "tile=256x256x64 waves=2x2 schedule=4-wave cus=3 stagger=4",
      { { 264, 520, 929 } } },
    { KILN_GFX942, { .a = KILN_BF16 },
      "tile=128x128x64 waves=2x2 schedule=simple stagger=3",
      { { 300, 260, 200 }, { 130, 260, 1024 } } },
    { KILN_GFX942, { .a = KILN_MXFP4 },
      "tile=64x64x128 waves=2x2 schedule=simple stagger=3",
      { { 100, 132, 512 } } },
    { KILN_GFX942, { .a = KILN_FP8, .layout = KILN_NN },
      "tile=64x64x64 waves=2x2 schedule=simple split-k=3 stagger=4",
      { { 100, 68, 1008 }, { 64, 132, 4096 } } },
    { KILN_GFX942, { .a = KILN_BF16, .family = KILN_WGRAD, .layout = KILN_TN },
      "tile=64x64x64 waves=2x2 schedule=simple cus=3 stagger=4",
      { { 68, 132, 929 } } },
};

static kiln_problem
problem_of(const struct row *r, const int64_t size[3])
{
    kiln_problem p = num_sized(&r->p, r->target, size);

    p.groups = p.family == KILN_GROUPED || p.family == KILN_WGRAD ? GROUPS : 0;
    return p;
}

/* The row's kernel; plain: as it is without stagger. */
static void
open_row(struct num_kernel *k, struct num_counts *counts, const struct row *r,
         bool plain)
{
    kiln_problem p = problem_of(r, r->size[0]);
    struct kn_config g = { 0 };

    assert_true(num_configured(&g, &p, r->config));
    for (int n = 0; n < 5 && r->size[n][1]; n++)
        g.domain.ktail |= r->p.family == KILN_WGRAD || r->size[n][2] % g.bk ||
                          r->size[n][2] < (int64_t)g.bk * g.split_k;
    assert_true(g.stagger > 1);
    if (plain)
        g.stagger = 0;
    if (!num_open(k, counts, &p, &g))
        fail_msg("%s: %s", r->config, k->c.err.text);
}

static uint64_t
launch(struct num_kernel *k, const struct row *r, const int64_t size[3],
       enum kn_data_mode mode)
{
    struct num_job j = { .p = problem_of(r, size), .seed = 5, .mode = mode };

    if (j.p.groups)
        j.lens = num_is_mx(r->p.a) ? blocks : lens;
    return num_right(k, &j).digest;
}

/* Products are scaled by what a K tile's A was quantised with: sums round,
 * whatever the numbers. */
static bool
rounds(const struct row *r)
{
    return kn_type_bits[r->p.a] == 16 && r->p.scale == KILN_SCALE_TENSOR;
}

static void
right_wherever_k_begins(const struct row *r)
{
    struct num_counts counts = { 0 };
    struct num_kernel ours, plain;

    open_row(&ours, &counts, r, false);
    open_row(&plain, &counts, r, true);
    for (int n = 0; n < 5 && r->size[n][1]; n++) {
        launch(&ours, r, r->size[n], KN_DATA_RANDOM);
        if (launch(&ours, r, r->size[n], KN_DATA_EXACT) !=
                launch(&plain, r, r->size[n], KN_DATA_EXACT) && !rounds(r))
            fail_msg("%s: other bits than without", r->config);
    }
    num_close(&ours);
    num_close(&plain);
}

/* Of numbers whose sums round, some tile's bits differ: K did begin elsewhere. */
static void
order_is_another(const struct row *r)
{
    struct num_counts counts = { 0 };
    struct num_kernel ours, plain;

    open_row(&ours, &counts, r, false);
    open_row(&plain, &counts, r, true);
    assert_true(launch(&ours, r, r->size[0], KN_DATA_RANDOM) !=
                launch(&plain, r, r->size[0], KN_DATA_RANDOM));
    num_close(&ours);
    num_close(&plain);
}

static kiln_target target;

static void
every_loop(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].target == target)
            right_wherever_k_begins(&rows[i]);
}

static void
k_begins_elsewhere(void **state)
{
    static const struct row deep[] = {
        { KILN_GFX950, { .a = KILN_BF16, .out = KILN_F32 },
          "tile=64x64x64 waves=2x2 schedule=simple stagger=4",
          { { 128, 132, 1024 } } },
        { KILN_GFX950, { .a = KILN_MXFP4, .out = KILN_F32 },
          "tile=256x256x256 waves=2x2 schedule=4-wave stagger=2",
          { { 260, 260, 2048 } } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++)
        if (deep[i].target == target)
            order_is_another(&deep[i]);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_loop),
        cmocka_unit_test(k_begins_elsewhere),
    };

    target = argc > 1 && !strcmp(argv[1], "gfx942") ? KILN_GFX942 : KILN_GFX950;
    return cmocka_run_group_tests_name("stagger", tests, NULL, NULL);
}
