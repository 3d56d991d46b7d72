/* Outputs with scales of more columns than a wave has, of rows or of 128 columns: the
 * bits of a tile as wide as they are, whoever comes last, in every family; and what a
 * launch that was not whole leaves behind is seen.
 *
 * usage: panels TARGET */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "../kit/sweep.h"

static kiln_target target;
static struct num_counts counts;

static const int64_t lens[] = { 20, 0, 1, 65, 0 };

static kiln_problem
problem(kiln_family family, kiln_type out, bool random)
{
    kiln_problem p = { .size = sizeof p, .target = target, .family = family,
                       .a = KILN_BF16, .out = out, .out_scale = KILN_OUT_ROW,
                       .layout = family == KILN_WGRAD ? KILN_TN : KILN_NT,
                       .round = random, .m = 70, .n = 200, .k = 96 };

    snprintf(p.expression, sizeof p.expression, "%s", random ? "" : "silu(acc)");
    return p;
}

static struct num_job
job(const kiln_problem *p)
{
    struct num_job j = { .p = { .m = p->m, .n = p->n, .k = p->k,
                                .round_seed = p->round * 0x123456789abcdefu } };

    j.p.batch = p->family == KILN_BATCHED ? 3 : 0;
    if (p->family == KILN_GROUPED || p->family == KILN_WGRAD) {
        j.p.groups = 5;
        j.lens = lens;
    }
    return j;
}

static struct num_result
launched(const kiln_problem *p, const struct kn_config *g, const struct num_job *j)
{
    struct num_result r = { .ok = false };
    struct num_kernel k;

    if (!num_open(&k, &counts, p, g))
        fail_msg("no kernel: %s", k.c.err.text);
    if (!num_launch(&k, j, &r))
        fail_msg("%s: %s", k.g.name, r.text);
    num_close(&k);
    return r;
}

/* K in one piece and 64 at a time in all of them. */
static const struct kn_config narrow[] = {
    { .bm = 32, .bn = 64, .bk = 64, .wm = 1, .wn = 2 },
    { .bm = 64, .bn = 64, .bk = 64, .wm = 2, .wn = 2, .lowering = KN_LOWERING_LLVM },
    { .bm = 64, .bn = 48, .bk = 64, .wm = 4, .wn = 1, .cus = 3 },
    { .bm = 128, .bn = 128, .bk = 64, .wm = 2, .wn = 2, .group_m = 1 },
};

static void
bits_are_those_of_a_wide_tile(void **state)
{
    static const kiln_family family[] = { KILN_GEMM, KILN_BATCHED, KILN_GROUPED,
                                          KILN_WGRAD };
    static const kiln_type out[] = { KILN_FP8, KILN_I8, KILN_BF8 };
    const struct kn_config wide = { .bm = 32, .bn = 256, .bk = 64, .wm = 2, .wn = 1 };

    (void)state;
    for (uint32_t n = 0; n < 12; n++) {
        kiln_problem p = problem(family[n % 4], out[n % 3], n % 2 != n / 4 % 2);
        struct num_job j = job(&p);
        struct num_result one = launched(&p, &wide, &j);

        for (size_t i = 0; i < 2 * (sizeof narrow / sizeof *narrow); i++) {
            struct kn_config g = narrow[i / 2];

            g.join = i % 2 ? KN_JOIN_ALL : KN_JOIN_LAST;
            assert_int_equal(launched(&p, &g, &j).digest, one.digest);
        }
    }
}

/* The same of scales of 128 columns: of tiles that have a part of one. */
static const struct kn_config part[] = {
    { .bm = 32, .bn = 64, .bk = 64, .wm = 1, .wn = 2 },
    { .bm = 64, .bn = 64, .bk = 64, .wm = 2, .wn = 2, .lowering = KN_LOWERING_LLVM },
    { .bm = 64, .bn = 32, .bk = 64, .wm = 4, .wn = 1, .cus = 3 },
    { .bm = 16, .bn = 16, .bk = 64, .wm = 1, .wn = 1, .group_m = 1 },
};

static kiln_problem
blocks(kiln_family family, kiln_type out, bool random)
{
    kiln_problem p = problem(family, out, random);

    p.out_scale = KILN_OUT_BLOCK128;
    p.n = 300;
    return p;
}

static void
parts_of_a_scale_are_those_of_a_whole_one(void **state)
{
    static const kiln_family family[] = { KILN_GEMM, KILN_BATCHED, KILN_GROUPED,
                                          KILN_WGRAD };
    const struct kn_config wide = { .bm = 32, .bn = 128, .bk = 64, .wm = 2, .wn = 1 };

    (void)state;
    for (uint32_t n = 0; n < 8; n++) {
        kiln_problem p = blocks(family[n % 4], n % 3 ? KILN_FP8 : KILN_I8, n > 3);
        struct num_job j = job(&p);
        struct num_result one = launched(&p, &wide, &j);

        for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
            struct kn_config g = part[i];

            g.domain = num_weakest(&p);
            g.domain.panels = 1;
            assert_int_equal(launched(&p, &g, &j).digest, one.digest);
        }
    }
}

/* Each workgroup alone, when those of the same rows have been there: what all write is
 * what the last of them wrote for all. */
static void
waves_that_meet_write_their_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        for (int n = 0; n < 4; n++) {
            kiln_problem p = n / 2 ? blocks(KILN_GEMM, KILN_FP8, n % 2)
                                   : problem(KILN_GEMM, KILN_FP8, n % 2);
            struct kn_config g = n / 2 ? part[i] : narrow[i];
            struct num_job j;
            uint64_t digest;

            g.domain = num_weakest(&p);
            g.domain.panels = 1;
            g.cus = 0;
            p.n = n / 2 ? 256 : p.n; /* counters that are set alike */
            j = job(&p);
            g.join = KN_JOIN_ALL;
            digest = launched(&p, &g, &j).digest;
            j.met = true;
            j.nids = (uint64_t)((p.m + g.bm - 1) / g.bm * ((p.n + g.bn - 1) / g.bn));
            assert_int_equal(launched(&p, &g, &j).digest, digest);
        }
}

/* Of shares of K too: they are joined in their order before. Waves of one workgroup meet
 * or do not, as they advance. */
static void
bits_are_those_of_any_order(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 8; n++) {
        uint32_t split = 1 + n % 2;
        kiln_problem p = problem(split > 1 ? KILN_GROUPED : KILN_GEMM, KILN_FP8, true);
        struct kn_config g = { .bm = 64, .bn = 64, .bk = 32, .split_k = split,
                               .join = n & 2 ? KN_JOIN_ALL : KN_JOIN_LAST };
        struct num_job j;
        uint64_t digest;

        p.n = n & 4 ? 500 : 60;
        g.domain = num_weakest(&p);
        g.domain.panels = 1;
        j = job(&p);
        digest = launched(&p, &g, &j).digest;
        for (uint32_t k = 0; k < 6; k++) {
            j.order = (enum kn_sim_order)(k % 3);
            j.waves = (enum kn_sim_waves)(2 - k % 3);
            j.order_seed = k;
            assert_int_equal(launched(&p, &g, &j).digest, digest);
        }
    }
}

/* NaNs, infinities, and magnitudes whose scales underflow; a kernel that is chosen,
 * and rows of one column more than the widest tile. */
static void
edges(void **state)
{
    static const int64_t size[][3] = { { 1, 257, 1 }, { 16, 1025, 64 }, { 257, 300, 33 },
                                       { 3, 2000, 0 } };

    (void)state;
    for (size_t n = 0; n < sizeof size / sizeof *size; n++)
        for (int mode = KN_DATA_RANDOM; mode <= KN_DATA_SPECIAL; mode++) {
            kiln_problem p = problem(KILN_GEMM, n % 2 ? KILN_I8 : KILN_FP8, n == 2);
            struct kn_config g = { .domain = { 0 } };
            struct num_job j;

            p.a = KILN_F16;
            p.m = size[n][0], p.n = size[n][1], p.k = size[n][2];
            j = job(&p);
            j.mode = (enum kn_data_mode)mode;
            launched(&p, &g, &j);
        }
}

/* A launch in which a tile is missing writes no code of its rows, and its counters
 * stay. */
static void
missing_tile_is_seen(void **state)
{
    static const uint64_t ids[] = { 0, 1, 2 };
    struct kn_config g = { .bm = 64, .bn = 64, .xcd = 1, .join = KN_JOIN_LAST };
    kiln_problem p = problem(KILN_GEMM, KILN_FP8, false);
    struct num_job j;
    struct num_result r;
    struct num_kernel k;

    (void)state;
    p.m = 64, p.n = 256;
    g.domain = num_weakest(&p);
    g.domain.panels = 1;
    j = job(&p);
    j.ids = ids;
    j.nids = 3;
    assert_true(num_open(&k, &counts, &p, &g));
    assert_false(num_launch(&k, &j, &r));
    assert_non_null(strstr(r.text, "counter 0 of the workspace is 6"));
    num_close(&k);
    g.join = KN_JOIN_ALL;
    assert_true(num_open(&k, &counts, &p, &g));
    assert_false(num_launch(&k, &j, &r));
    assert_non_null(strstr(r.text, "counter 0 of the workspace is 6"));
    num_close(&k);
}

/* What an aborted launch has left is seen, or does no harm: a count that the first wave
 * to come wraps begins anew. */
static void
dirt_stays(void **state)
{
    uint32_t told = 0;
    struct kn_config g = { .bm = 64, .bn = 64, .xcd = 1 };
    kiln_problem p = problem(KILN_GEMM, KILN_FP8, false);
    struct num_result r;
    struct num_kernel k;

    (void)state;
    p.n = 300;
    assert_true(num_open(&k, &counts, &p, &g));
    for (uint32_t dirt = 1; dirt < 20; dirt++) {
        struct num_job j = job(&p);

        j.dirt = dirt;
        if (!num_launch(&k, &j, &r) && !strstr(r.text, "counter 0 of the workspace is "))
            fail_msg("%u: %s", dirt, r.text);
        told += strstr(r.text, "counter 0") != NULL;
    }
    assert_int_equal(told, 18);
    num_close(&k);
}

/* A scale that is not its row's. */
static void
next_float(struct kn_sim *sim, uint64_t at, void *user)
{
    uint32_t v;

    (void)user;
    assert_int_equal(kn_sim_read(sim, at, &v, sizeof v), KILN_OK);
    v += 1 << 12;
    assert_int_equal(kn_sim_write(sim, at, &v, sizeof v), KILN_OK);
}

static void
wrong_scale_is_seen(void **state)
{
    struct kn_config g = { .bm = 64, .bn = 64 };
    kiln_problem p = problem(KILN_GEMM, KILN_FP8, false);
    struct num_job j;
    struct num_result r;
    struct num_kernel k;

    (void)state;
    p.n = 300;
    j = job(&p);
    j.meddle_scales = next_float;
    assert_true(num_open(&k, &counts, &p, &g));
    assert_false(num_launch(&k, &j, &r));
    assert_true(r.check.bad >= 32);
    num_close(&k);
}

/* More rows than there are counters, more sums than the workspace has room for. */
static void
what_is_too_much_is_said(void **state)
{
    static const struct {
        int64_t m, n;
        const char *text;
    } t[] = { { 1 << 21, 300, "counted by 16 rows, 65536 times at most" },
              { 1 << 19, 1 << 17, "need the sums of all rows in the workspace" } };

    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        kiln_problem p = problem(KILN_GEMM, KILN_FP8, false);
        struct kn_operands at = { 0 };
        struct num_kernel k;
        struct kn_plan plan;
        kiln_problem q;

        p.n = 300;
        assert_true(num_open(&k, &counts, &p, &(struct kn_config){ .bm = 64 , .bn = 64 }));
        q = p;
        q.m = t[i].m, q.n = t[i].n;
        assert_int_equal(kn_problem_normalise(&k.c, &q), KILN_OK);
        assert_int_equal(kn_plan_launch(&k.c, &q, &k.g.cfg, &at, &plan),
                         KILN_UNSUPPORTED);
        if (!strstr(k.c.err.text, t[i].text))
            fail_msg("%s", k.c.err.text);
        num_close(&k);
    }
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_those_of_a_wide_tile),
        cmocka_unit_test(parts_of_a_scale_are_those_of_a_whole_one),
        cmocka_unit_test(waves_that_meet_write_their_own),
        cmocka_unit_test(bits_are_those_of_any_order),
        cmocka_unit_test(edges),
        cmocka_unit_test(missing_tile_is_seen),
        cmocka_unit_test(dirt_stays),
        cmocka_unit_test(wrong_scale_is_seen),
        cmocka_unit_test(what_is_too_much_is_said),
    };

    target = argc > 1 && !strcmp(argv[1], "gfx942") ? KILN_GFX942 : KILN_GFX950;
    return cmocka_run_group_tests_name("panels", tests, NULL, NULL);
}
