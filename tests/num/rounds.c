/* Split-K of the tiles behind the last whole round alone: as many tiles as four
 * devices have compute units and a part of a round more, in every family that
 * divides K, in any order of the workgroups.
 *
 * usage: rounds TARGET */
#include <stdio.h>
#include <string.h>

#include "../kit/right.h"

enum { BM = 16, BN = 64, COLUMNS = 4, MOST = 4096 };

static struct num_counts counts;
static kiln_target target;

static const struct {
    uint16_t cus, xcds;
} devices[] = { { 32, 4 }, { 80, 8 }, { 256, 8 }, { 304, 8 } };

/* ---- one launch --------------------------------------------------------- */

struct shape {
    kiln_family family;
    kiln_layout layout;
    uint32_t problems;
};

enum which { GEMM, BATCHED, GROUPED, WGRAD };
static const struct shape shapes[] = {
    [GEMM] = { KILN_GEMM, KILN_NT, 1 },
    [BATCHED] = { KILN_BATCHED, KILN_NN, 3 },
    [GROUPED] = { KILN_GROUPED, KILN_NT, 4 },
    [WGRAD] = { KILN_WGRAD, KILN_TN, 3 },
};

static kiln_problem
problem_of(const struct shape *s, size_t device)
{
    return (kiln_problem){ .target = target, .family = s->family,
                           .layout = s->layout, .a = KILN_BF16,
                           .b = KILN_BF16, .out = KILN_F32,
                           .cus = devices[device].cus,
                           .xcds = devices[device].xcds };
}

/* Rows of groups of a grouped product, K of those of a wgrad. */
static void
set_groups(struct num_job *j, const struct shape *s, int64_t rows,
           int64_t lens[4])
{
    const int64_t deep[] = { 200, 0, 130, 0 };

    memcpy(lens, deep, sizeof deep);
    j->p.groups = (uint32_t)s->problems;
    j->lens = lens;
    if (s->family == KILN_WGRAD)
        return;
    lens[0] = rows / 2 * BM + 5;
    lens[1] = 0;
    lens[2] = 3;
    lens[3] = (rows - rows / 2 - 2) * BM;
}

static struct num_job
job_of(const struct shape *s, int64_t tiles, int64_t lens[4])
{
    int64_t rows = (tiles + COLUMNS - 1) / COLUMNS;
    struct num_job j = { .mode = KN_DATA_RANDOM, .order = KN_ORDER_RANDOM };

    j.p.n = COLUMNS * BN - 4;
    j.p.k = 330;
    j.p.m = rows * BM - 3;
    if (s->family == KILN_BATCHED)
        j.p.batch = s->problems;
    if (s->family == KILN_BATCHED || s->family == KILN_WGRAD)
        j.p.m = (rows + s->problems - 1) / s->problems * BM - 3;
    if (s->family == KILN_GROUPED || s->family == KILN_WGRAD)
        set_groups(&j, s, rows, lens);
    return j;
}

/* Backwards, then steps of a prime that divides no grid here. */
static void
order(uint64_t *ids, uint64_t n, int turn)
{
    for (uint64_t i = 0; i < n; i++)
        ids[i] = turn ? (i * 10007 + 3) % n : n - 1 - i;
}

struct output {
    uint8_t *bytes;
    size_t n;
};

static void
read_all(struct kn_sim *sim, uint64_t c, void *user)
{
    struct output *o = user;

    assert_int_equal(kn_sim_read(sim, c, o->bytes, o->n), KILN_OK);
}

/* Every element right; the number of workgroups. */
static uint64_t
launch(struct num_kernel *k, struct num_job *j, struct output *o)
{
    o->bytes = KN_NEW(&k->c, uint8_t, o->n);
    j->meddle = read_all;
    j->user = o;
    return num_right(k, j).grid;
}

static void
open_kernel(struct num_kernel *k, const struct shape *s, size_t device,
            uint32_t shares)
{
    kiln_problem p = problem_of(s, device);
    struct kn_config g = { .bm = BM, .bn = BN, .wm = 1, .wn = 2,
                           .split_k = shares,
                           .split_after = devices[device].cus };

    g.domain = num_weakest(&p);
    g.domain.ktail = 1;
    if (!num_open(k, &counts, &p, &g))
        fail_msg("%s", k->c.err.text);
}

static size_t
bytes_of(const struct num_job *j, const struct shape *s)
{
    int64_t rows = j->p.m * s->problems;

    for (uint32_t i = 0; s->family == KILN_GROUPED && i < s->problems; i++)
        rows = i ? rows + j->lens[i] : j->lens[i];
    return (size_t)(rows * j->p.n) * 4;
}

/* In the order of their numbers, and the same bits in two others. */
static void
any_order(const struct shape *s, size_t device, uint32_t shares, int64_t more)
{
    struct num_kernel k;
    int64_t lens[4];
    struct num_job j = job_of(s, devices[device].cus + more, lens);
    struct output first = { NULL, bytes_of(&j, s) }, other = first;
    static uint64_t ids[MOST];

    open_kernel(&k, s, device, shares);
    j.nids = (size_t)launch(&k, &j, &first);
    assert_true(j.nids <= MOST);
    j.ids = ids;
    for (int turn = 0; turn < 2; turn++) {
        order(ids, j.nids, turn);
        launch(&k, &j, &other);
        assert_memory_equal(other.bytes, first.bytes, first.n);
    }
    num_close(&k);
}

static void
every_device(enum which which)
{
    static const int64_t part[] = { 4, 0, 44, 300, -12 };

    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++)
        any_order(&shapes[which], d, 2 + (uint32_t)(d + which) % 4,
                  part[(d + which) % 5]);
}

static void
dense(void **state)
{
    (void)state;
    every_device(GEMM);
}

static void
batched(void **state)
{
    (void)state;
    every_device(BATCHED);
}

static void
grouped(void **state)
{
    (void)state;
    every_device(GROUPED);
}

static void
ragged_k(void **state)
{
    (void)state;
    every_device(WGRAD);
}

/* ---- every loop --------------------------------------------------------- */

struct loop {
    kiln_target target;
    kiln_type type;
    const char *config;
};

static const struct loop loops[] = {
    { KILN_GFX950, KILN_BF16, "tile=256x256x64 waves=2x4 schedule=8-wave "
      "split-k=3 split-after=4" },
    { KILN_GFX950, KILN_BF16, "tile=256x256x64 waves=2x4 schedule=interleave "
      "split-k=2 split-after=5 cus=2" },
    { KILN_GFX950, KILN_BF16, "tile=256x256x64 waves=2x2 schedule=4-wave "
      "split-k=3 split-after=4 lowering=asm" },
    { KILN_GFX950, KILN_FP8, "tile=128x128x128 waves=1x4 schedule=4-wave "
      "split-k=2 split-after=5 lowering=asm" },
    { KILN_GFX950, KILN_MXFP4, "tile=256x256x256 waves=2x2 schedule=4-wave "
      "split-k=4 split-after=5 cus=3 xcd-run=1 lowering=asm" },
    { KILN_GFX950, KILN_FP8, "tile=256x256x128 waves=2x4 schedule=8-wave "
      "split-k=5 split-after=3" },
    { KILN_GFX942, KILN_FP8, "tile=256x256x128 waves=2x2 schedule=4-wave stages=1 "
      "split-k=3 split-after=4 lowering=asm" },
    { KILN_GFX942, KILN_BF16, "tile=128x128x64 waves=2x2 schedule=simple "
      "split-k=3 split-after=4" },
    { KILN_GFX942, KILN_I8, "tile=64x64x128 waves=2x2 schedule=simple split-k=2 "
      "split-after=7 cus=3 xcd-run=2" },
};

static void
open_loop(struct num_kernel *k, const struct loop *l, kiln_problem p)
{
    struct kn_config g = { 0 };

    assert_true(num_configured(&g, &p, l->config));
    g.domain.ktail = 1;
    if (!num_open(k, &counts, &p, &g))
        fail_msg("%s: %s", l->config, k->c.err.text);
}

static void
run_loop(const struct loop *l, kiln_family family)
{
    static const int64_t lens[] = { 288, 0, 544, 96 };
    struct num_job j = { .p = { .size = sizeof j.p, .target = l->target,
                                .family = family, .a = l->type, .b = l->type,
                                .m = 928, .n = 520, .k = 800 }, .seed = 3 };
    struct num_result r;
    struct num_kernel k;

    if (family == KILN_WGRAD && !num_is_mx(l->type))
        j.p.layout = KILN_TN;
    j.p.batch = family == KILN_BATCHED ? 2 : 0;
    if (family == KILN_GROUPED || family == KILN_WGRAD) {
        j.p.groups = 4;
        j.lens = lens;
    }
    open_loop(&k, l, j.p);
    if (family == KILN_WGRAD)
        j.p.m = 608, j.p.k = 928;
    if (!num_launch(&k, &j, &r))
        fail_msg("%s, family %d: %s", l->config, family, r.text);
    num_close(&k);
}

/* Where operands of a wgrad are turned, 8-bit types have no 4-wave loop. */
static void
every_loop(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        for (int family = KILN_GEMM; family <= KILN_WGRAD; family++)
            if (loops[i].target == target &&
                (family != KILN_WGRAD || loops[i].type != KILN_FP8))
                run_loop(&loops[i], (kiln_family)family);
}

/* ---- what is divided ---------------------------------------------------- */

/* Tiles of whole rounds have no shares: of 38 tiles on 32 compute units six
 * have, which the workspace has room for, and a missing one of them leaves its
 * counter behind. */
static void
only_the_last_round(void **state)
{
    struct num_kernel k;
    kiln_problem p;
    struct num_job j = { .p = { .m = 19 * BM, .n = 2 * BN, .k = 330 } };
    static uint64_t ids[32 + 6 * 3];
    struct num_result r;
    struct kn_plan plan;

    (void)state;
    open_kernel(&k, &shapes[GEMM], 0, 3);
    p = k.p;
    p.m = j.p.m, p.n = j.p.n, p.k = j.p.k;
    assert_int_equal(kn_problem_normalise(&k.c, &p), KILN_OK);
    assert_int_equal(kn_plan_launch(&k.c, &p, &k.g.cfg,
                                    &(struct kn_operands){ 0 }, &plan),
                     KILN_OK);
    assert_int_equal(plan.grid[0], 32 + 6 * 3);
    assert_int_equal(plan.workspace, KILN_WORKSPACE_ZEROS + 6 * 3 * BM * BN * 4);
    for (uint64_t i = 0; i < plan.grid[0]; i++)
        ids[i] = i;
    j.ids = ids;
    j.nids = plan.grid[0] - 1;
    assert_false(num_launch(&k, &j, &r));
    if (!strstr(r.text, "of the workspace is 2 after the launch"))
        fail_msg("%s", r.text);
    num_close(&k);
}

/* Of 52 tiles on 32 compute units 20 are left, whose halves would take two turns of
 * 32: they stay whole. In thirds they take two of three: they are divided. */
static void
nearly_full_rounds(void **state)
{
    static const uint32_t grids[] = { [2] = 52, [3] = 32 + 20 * 3 };

    (void)state;
    for (uint32_t shares = 2; shares <= 3; shares++) {
        struct num_job j = { .p = { .m = 26 * BM, .n = 2 * BN, .k = 330 } };
        struct num_result r;
        struct num_kernel k;

        open_kernel(&k, &shapes[GEMM], 0, shares);
        if (!num_launch(&k, &j, &r))
            fail_msg("%s", r.text);
        assert_int_equal(r.grid, grids[shares]);
        num_close(&k);
    }
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense),
        cmocka_unit_test(batched),
        cmocka_unit_test(grouped),
        cmocka_unit_test(ragged_k),
        cmocka_unit_test(every_loop),
        cmocka_unit_test(only_the_last_round),
        cmocka_unit_test(nearly_full_rounds),
    };

    target = argc > 1 && !strcmp(argv[1], "gfx942") ? KILN_GFX942
                                                    : KILN_GFX950;
    return cmocka_run_group_tests_name("rounds", tests, NULL, NULL);
}
