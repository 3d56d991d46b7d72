/* One test by name for each bug of groups that users of other grouped-GEMM
 * libraries met (Primus-Turbo pull requests 284, 384, 408, 419 and issue 397,
 * PyTorch grouped_mm), on every target. full: every number of groups up to 512. */
#include "bugs.h"

static void
test_empty_expert_does_not_shift_weights(void **state)
{
    static const int64_t lens[][6] = { { 20, 0, 0, 30, 5, 0 },
                                       { 0, 0, 0, 0, 0, 9 },
                                       { 0, 1, 0, 1, 0, 1 } };
    struct num_job j = sized(0, 72, 96);

    for (int l = KILN_NT; l <= KILN_NN; l++) {
        kiln_problem p = problem(state, KILN_GROUPED, KILN_BF16,
                                 (kiln_layout)l);
        struct num_kernel k;

        p.bias = 1;
        open_kernel(state, &k, &p, NULL);
        for (int i = 0; i < 3; i++) {
            set_lens(&j, lens[i], 6);
            num_right(&k, &j);
        }
        num_close(&k);
    }
}

static void
test_empty_wgrad_slice_is_zero_or_stays(void **state)
{
    static const int64_t lens[] = { 0, 33, 0, 0, 64, 0 };

    for (int beta = 0; beta < 2; beta++) {
        kiln_problem p = problem(state, KILN_WGRAD, KILN_BF16, KILN_TN);
        struct num_job j = sized(70, 50, 0);
        struct num_kernel k;

        p.beta = (uint8_t)beta;
        open_kernel(state, &k, &p, NULL);
        set_lens(&j, lens, COUNT(lens));
        num_right(&k, &j);
        num_close(&k);
    }
}

/* The offsets are an address of the device, known before their values are:
 * a plan that read them would die here. */
static void
test_plan_does_not_read_group_lengths(void **state)
{
    kiln_problem p = problem(state, KILN_GROUPED, KILN_FP8, KILN_NT);
    struct kn_operands at = { .a = 4096, .b = 8192, .c = 12288,
                              .offs = 16384 };
    struct kn_plan plan;
    struct num_kernel k;

    open_kernel(state, &k, &p, NULL);
    p = k.p;
    p.m = 1000, p.groups = 8;
    p.n = p.ldc = p.k = p.lda = p.ldb = 64;
    assert_int_equal(kn_plan_launch(&k.c, &p, &k.g.cfg, &at, &plan), KILN_OK);
    assert_int_equal(plan.grid[0], 1000 / 64 + 8);
    num_close(&k);
}

static void
test_new_routing_compiles_nothing(void **state)
{
    struct fixture *f = *state;
    kiln_problem p = problem(state, KILN_GROUPED, KILN_BF16, KILN_NT);
    uint64_t before = f->counts.compilations;
    struct num_job j = sized(0, 40, 64);
    struct num_kernel k;
    int64_t lens[12];

    open_kernel(state, &k, &p, NULL);
    for (uint64_t i = 0; i < 40; i++) {
        for (uint64_t g = 0; g < 12; g++)
            lens[g] = kn_mix(i * 12 + g) % 3 ? (int64_t)(kn_mix(i + g) % 40) : 0;
        set_lens(&j, lens, 1 + (int64_t)(i % 12));
        j.p.n = 1 + (int64_t)(kn_mix(i) % 70);
        num_right(&k, &j);
    }
    assert_int_equal(f->counts.compilations - before, 1);
    num_close(&k);
}

/* The grid is an upper bound from sizes: it must hold the worst routing. */
static void
test_grid_holds_the_worst_routing(void **state)
{
    kiln_problem p = problem(state, KILN_GROUPED, KILN_BF16, KILN_NT);
    struct kn_operands at = { .a = 4096, .b = 8192, .c = 12288,
                              .offs = 16384 };
    struct num_kernel k;
    struct kn_plan plan;
    int64_t offs[17] = { 0 };

    open_kernel(state, &k, &p, NULL);
    p = k.p;
    p.n = p.ldc = 100, p.k = p.lda = p.ldb = 64;
    for (p.groups = 1; p.groups <= 16; p.groups++) {
        offs[p.groups] = offs[p.groups - 1] + 64 * (p.groups % 3) + 1;
        p.m = offs[p.groups];
        assert_int_equal(kn_plan_launch(&k.c, &p, &k.g.cfg, &at, &plan),
                         KILN_OK);
        assert_true(plan.grid[0] >= kn_tile_count(&p, &k.g.cfg, offs));
    }
    num_close(&k);
}

/* Lookup of a tile's group works by 64s: every remainder, and beyond; from
 * offsets and from lengths. */
static void
check_group_counts(void **state, uint8_t flags)
{
    const struct fixture *f = *state;
    kiln_problem p = problem(state, KILN_GROUPED, KILN_FP8, KILN_NT);
    struct kn_config g = { .bm = 32, .bn = 32 };
    struct num_job j = sized(0, 33, 32);
    struct num_kernel k;
    int64_t lens[512];

    p.group_flags = flags;
    open_kernel(state, &k, &p, &g);
    for (int64_t n = 1; n <= 512; n++) {
        if (!f->full && n > 8 && n % 64 > 1 && n % 64 != 63 && n != 100)
            continue;
        for (int64_t i = 0; i < n; i++)
            lens[i] = (i * 5 + n) % 4 ? (i + n) % 3 : i == n - 1 ? 35 : 0;
        set_lens(&j, lens, n);
        num_right(&k, &j);
    }
    num_close(&k);
}

static void
test_any_number_of_groups(void **state)
{
    check_group_counts(state, 0);
    check_group_counts(state, KILN_GROUP_LENS);
    check_group_counts(state, KILN_GROUP_ENDS32);
}

/* Rows past the last group keep what they had, and the check sees it if one
 * of them does not. */
static void
test_rows_past_the_last_group_stay(void **state)
{
    static const int64_t lens[] = { 30, 0, 41, 0 };
    kiln_problem p = problem(state, KILN_GROUPED, KILN_BF16, KILN_NT);
    struct num_job j = sized(0, 60, 64);
    struct num_kernel k;
    struct num_result r;

    open_kernel(state, &k, &p, NULL);
    set_lens(&j, lens, COUNT(lens));
    j.spare = 200;
    num_right(&k, &j);
    j.lie = 1;
    assert_false(num_launch(&k, &j, &r));
    assert_non_null(strstr(r.text, "bytes were written"));
    num_close(&k);
}

/* Zeroed when asked: rows past the last group, none of the groups' own. */
static void
test_rows_past_the_last_group_are_zero(void **state)
{
    static const int64_t lens[][4] = { { 30, 0, 41, 0 }, { 0, 0, 0, 0 },
                                       { 64, 64, 0, 1 } };
    struct num_job j = sized(0, 61, 64);

    for (uint32_t i = 0; i < 8; i++) {
        kiln_problem p = problem(state, KILN_GROUPED, KILN_BF16, KILN_NT);
        struct kn_config g = { .bm = 64, .bn = 64, .cus = i & 1 ? 2 : 0,
                               .lookup = i & 2 ? KN_LOOKUP_FEW
                                               : KN_LOOKUP_MANY };
        struct num_kernel k;

        p.group_flags = KILN_TAIL_ZERO | (i & 4 ? KILN_GROUP_LENS : 0);
        p.beta = p.bias = i & 1;
        open_kernel(state, &k, &p, &g);
        for (int n = 0; n < 3; n++) {
            set_lens(&j, lens[n], 4);
            for (j.spare = 0; j.spare < 200; j.spare += 67)
                num_right(&k, &j);
        }
        num_close(&k);
    }
}

/* A kernel that looks at 8 groups refuses more, and does not drop them. */
static void
test_more_groups_than_compiled_for_are_refused(void **state)
{
    static const int64_t lens[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    kiln_problem p = problem(state, KILN_GROUPED, KILN_BF16, KILN_NT);
    struct kn_config g = { .bm = 64, .bn = 64, .lookup = KN_LOOKUP_FEW };
    struct num_job j = sized(0, 64, 64);
    struct num_kernel k;
    struct num_result r;

    open_kernel(state, &k, &p, &g);
    set_lens(&j, lens, 8);
    num_right(&k, &j);
    set_lens(&j, lens, 9);
    assert_false(num_launch(&k, &j, &r));
    assert_int_equal(r.status, KILN_BAD_INPUT);
    num_close(&k);
}

/* A group's B, bias and scales beyond 4 GB: 64-bit steps per group. */
static void
test_weights_beyond_4_gb(void **state)
{
    kiln_problem p = problem(state, KILN_GROUPED, KILN_FP8, KILN_NT);
    struct kn_config g = { .bm = 64, .bn = 128,
                           .domain = { 16, 16, 4, 4, 1, 1, 0, 0 } };
    struct num_job j = sized(0, 16384, 8192);
    struct num_kernel k;
    int64_t lens[40];
    uint64_t ids[4];

    p.bias = 1;
    p.scale = KILN_SCALE_ROW;
    g.xcd = 1;
    for (int64_t i = 0; i < 40; i++)
        lens[i] = 3;
    open_kernel(state, &k, &p, &g);
    set_lens(&j, lens, 40);
    ids[0] = 0;
    ids[1] = 128 * 31 + 127;     /* just below and above 2^32 bytes of B */
    ids[2] = 128 * 32;
    ids[3] = 128 * 40 - 1;
    j.ids = ids;
    j.nids = 4;
    num_right(&k, &j);
    num_close(&k);
}

/* Rows of both operands and slices of the output beyond 2^32 bytes: a group
 * across the border, one above it, an empty slice above it; K whole, and
 * divided among workgroups (with fewer columns: so many tiles it counts). */
static void
test_wgrad_beyond_4_gb(void **state)
{
    enum { GROUPS = 20 };
    int64_t lens[GROUPS] = { 524260, 60, [GROUPS - 1] = 300 };

    for (uint32_t shares = 1; shares <= 2; shares++) {
        kiln_problem p = problem(state, KILN_WGRAD, KILN_FP8, KILN_TN);
        struct kn_config g = { .bm = 128, .bn = 128, .xcd = 1, .group_m = 1,
                               .split_k = shares,
                               .domain = { 16, 16, 4, 4, 4, 1, 0, 0 } };
        struct num_job j = sized(8192, shares == 1 ? 8192 : 256, 0);
        uint64_t many = 64 * (uint64_t)j.p.n / 128, ids[10];
        const uint64_t tiles[] = { many, 2 * many - 1, 18 * many + 7,
                                   19 * many, 20 * many - 1 };
        struct num_kernel k;

        p.out = KILN_F32;
        p.beta = 1;
        open_kernel(state, &k, &p, &g);
        set_lens(&j, lens, GROUPS);
        for (uint32_t i = 0; i < 5 * shares; i++)
            ids[i] = tiles[i / shares] * shares + i % shares;
        j.ids = ids;
        j.nids = 5 * shares;
        num_right(&k, &j);
        num_close(&k);
    }
}

/* What is chosen depends on sizes only; the number of groups may exceed the
 * rows, and there may be no rows at all. */
static void
test_choice_knows_no_routing(void **state)
{
    static const int64_t rows[] = { 0, 1, 511, 512, 100000 };

    for (int f = KILN_GROUPED; f <= KILN_WGRAD; f++)
        for (int i = 0; i < 5; i++) {
            bool wgrad = f == KILN_WGRAD;
            kiln_problem p = problem(state, (kiln_family)f, KILN_BF16,
                                     wgrad ? KILN_TN : KILN_NT);
            struct kn_config g = { 0 };
            struct kn_ctx c;

            p.groups = 512;
            p.n = 256;
            p.m = wgrad ? 256 : rows[i];
            p.k = wgrad ? rows[i] : 256;
            kn_ctx_init(&c, NULL, NULL);
            assert_int_equal(kn_problem_normalise(&c, &p), KILN_OK);
            assert_int_equal(kn_choose(&c, &p, &g, NULL), KILN_OK);
            assert_true(g.bm && g.bn && g.stages);
            kn_ctx_free(&c);
        }
}

/* No slice of memory for each group; with split-K, tiles count, not groups. */
static void
test_workspace_does_not_grow_with_groups(void **state)
{
    struct kn_operands at = { .a = 4096, .b = 8192, .c = 12288,
                              .offs = 16384, .workspace = 1 << 20 };

    for (uint32_t split = 1; split <= 2; split++) {
        kiln_problem p = problem(state, KILN_GROUPED, KILN_BF16, KILN_NT);
        struct kn_config g = { .bm = 64, .bn = 64, .split_k = split };
        uint64_t tiles = 6400 / 64, area = 2 * 64 * 64 * 4;
        struct num_kernel k;
        struct kn_plan plan;

        open_kernel(state, &k, &p, &g);
        p = k.p;
        p.m = 6400, p.n = p.ldc = p.k = p.lda = p.ldb = 64;
        for (p.groups = 1; p.groups <= 512; p.groups *= 2) {
            assert_int_equal(kn_plan_launch(&k.c, &p, &k.g.cfg, &at, &plan),
                             KILN_OK);
            assert_int_equal(plan.workspace, split == 1 ? 0
                             : KILN_WORKSPACE_ZEROS +
                               area * (tiles + (uint64_t)p.groups));
        }
        num_close(&k);
    }
}

/* Groups by their lengths, of packed types, with shares of K: each part of the
 * place of a tile is there by itself. */
static void
test_lengths_packed_shares(void **state)
{
    static const int64_t lens[] = { 96, 0, 32, 288 };
    kiln_problem p = problem(state, KILN_WGRAD, KILN_MXBF6, KILN_NT);
    struct kn_config g = { .bm = 64, .bn = 64, .split_k = 8 };
    struct num_job j = { .p = { .m = 70, .n = 68, .groups = 4 }, .lens = lens };
    struct num_result r;
    struct num_kernel k;

    p.group_flags = KILN_GROUP_LENS;
    open_kernel(state, &k, &p, &g);
    if (!num_launch(&k, &j, &r))
        fail_msg("%s", r.text);
    num_close(&k);
}

int
main(int argc, char **argv)
{
    static struct fixture f;
#define TEST(name) { #name, name, NULL, NULL, &f }
    const struct CMUnitTest tests[] = {
        TEST(test_empty_expert_does_not_shift_weights),
        TEST(test_empty_wgrad_slice_is_zero_or_stays),
        TEST(test_plan_does_not_read_group_lengths),
        TEST(test_new_routing_compiles_nothing),
        TEST(test_grid_holds_the_worst_routing),
        TEST(test_any_number_of_groups),
        TEST(test_rows_past_the_last_group_stay),
        TEST(test_rows_past_the_last_group_are_zero),
        TEST(test_more_groups_than_compiled_for_are_refused),
        TEST(test_weights_beyond_4_gb),
        TEST(test_wgrad_beyond_4_gb),
        TEST(test_choice_knows_no_routing),
        TEST(test_workspace_does_not_grow_with_groups),
        TEST(test_lengths_packed_shares),
    };

    f.target = argc > 1 && !strcmp(argv[1], "gfx942") ? KILN_GFX942
                                                      : KILN_GFX950;
    f.full = argc > 2 && !strcmp(argv[2], "full");
    return cmocka_run_group_tests_name("bugs-groups", tests, NULL, NULL);
}
