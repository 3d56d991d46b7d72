/* Split-K: every kind of kernel with its K divided, and that the sum does not
 * depend on which workgroup comes last, nor exact sums on the division.
 *
 * usage: split TARGET [full]   full: every kind, not every few */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "../kit/right.h"
#include "../kit/sweep.h"

static struct num_counts counts;
static kiln_target target;
static bool full;

/* ---- every kind --------------------------------------------------------- */

struct kinds {
    uint32_t n, tried;
    char text[900];
};

static const int64_t lens[] = { 96, 0, 640, 33 };
static const int64_t blocks[] = { 96, 0, 640, 32 };

static struct num_job
job_of(const kiln_problem *p, const struct kn_config *g, uint32_t salt)
{
    static const int64_t depth[] = { 64, 544, 700, 1024 };
    struct num_job j = { .mode = KN_DATA_EXACT, .seed = salt,
                         .order = (enum kn_sim_order)(salt % 3),
                         .order_seed = salt };

    j.p.m = salt % 2 ? 17 : 70;
    j.p.n = salt % 3 ? 36 : 129;
    j.p.k = g->domain.ktail ? depth[salt % 4] : 8 * (int64_t)g->bk;
    j.p.alpha = 0.5f;
    j.p.batch = p->family == KILN_BATCHED ? 2 : 0;
    if (p->family == KILN_GROUPED || p->family == KILN_WGRAD) {
        j.p.groups = 4;
        j.lens = num_is_mx(p->a) ? blocks : lens;
    }
    return j;
}

static void
try_kind(void *user, const kiln_problem *kind)
{
    static const uint32_t splits[] = { 2, 4, 8, 3 };
    struct kinds *s = user;
    kiln_problem p = *kind;
    struct num_kernel k;
    struct kn_config g = { .bm = 32, .bn = 64,
                           .split_k = splits[s->n % 4] };

    s->n++;
    if (!full && s->n % (p.family == KILN_GEMM ? 3 : 6))
        return;
    if (!p.out)
        p.out = p.a == KILN_I8 && !p.scale ? KILN_I32 : KILN_BF16;
    g.domain = num_weakest(&p);
    g.domain.ktail = p.family == KILN_WGRAD || s->n % 5 != 0;
    g.cus = s->n % 7 == 3 ? 3 : 0;
    p.bias = p.out != KILN_I32 && p.family != KILN_WGRAD && s->n % 2;
    p.beta = p.out != KILN_I32 && s->n % 3 == 1;
    if (!num_open(&k, &counts, &p, &g)) {
        snprintf(s->text, sizeof s->text, "kind %u: %s", s->n, k.c.err.text);
    } else {
        for (uint32_t i = 0; i < 2; i++) {
            struct num_job j = job_of(&p, &k.g.cfg, s->n + i);

            num_try(&k, &j, s->text);
        }
    }
    num_close(&k);
    s->tried++;
}

static void
family(kiln_family f)
{
    struct kinds s = { 0 };

    num_each_kind(target, f, try_kind, &s);
    print_message("# %u of %u kinds\n", s.tried, s.n);
    assert_true(s.tried > 1);
    if (*s.text)
        fail_msg("%s", s.text);
}

static void
dense(void **state)
{
    (void)state;
    family(KILN_GEMM);
}

static void
batched(void **state)
{
    (void)state;
    family(KILN_BATCHED);
}

static void
grouped(void **state)
{
    (void)state;
    family(KILN_GROUPED);
}

static void
ragged_k(void **state)
{
    (void)state;
    family(KILN_WGRAD);
}

/* ---- the same bits ------------------------------------------------------ */

enum { M = 50, N = 100, K = 1000 };

static void
read_all(struct kn_sim *sim, uint64_t c, void *user)
{
    assert_int_equal(kn_sim_read(sim, c, user, M * N * 4), KILN_OK);
}

static kiln_problem
plain(void)
{
    return (kiln_problem){ .target = target, .a = KILN_BF16, .b = KILN_BF16,
                           .out = KILN_F32, .layout = KILN_NT };
}

static void
output(const struct kn_config *g, const struct num_job *j, uint8_t *bytes)
{
    kiln_problem p = plain();
    struct num_job job = *j;
    struct num_result r;
    struct num_kernel k;

    job.p.m = M, job.p.n = N, job.p.k = K;
    job.meddle = read_all;
    job.user = bytes;
    if (!num_open(&k, &counts, &p, g))
        fail_msg("%s", k.c.err.text);
    if (!num_launch(&k, &job, &r) || !r.ok)
        fail_msg("%s", r.text);
    num_close(&k);
}

/* Sums that round: the order of the workgroups must not show in them. */
static void
any_order_of_workgroups(void **state)
{
    static uint8_t first[M * N * 4], bytes[M * N * 4];
    uint64_t ids[2 * 2 * 4];
    struct kn_config g = { .bm = 32, .bn = 64, .split_k = 4 };
    struct num_job j = { .mode = KN_DATA_RANDOM, .ids = ids, .nids = 16 };

    (void)state;
    for (uint64_t turn = 0; turn < 4; turn++) {
        for (uint64_t i = 0; i < 16; i++)
            ids[i] = turn == 0 ? i : turn == 1 ? 15 - i
                   : (i * (2 * turn + 1) + turn) % 16;
        output(&g, &j, turn ? bytes : first);
        if (turn)
            assert_memory_equal(bytes, first, sizeof first);
    }
}

static void
exact_sums_do_not_depend_on_the_split(void **state)
{
    static const uint32_t splits[] = { 1, 2, 4, 8, 16 };
    static uint8_t first[M * N * 4], bytes[M * N * 4];
    struct num_job j = { .mode = KN_DATA_EXACT };

    (void)state;
    for (int i = 0; i < 5; i++) {
        struct kn_config g = { .bm = 32, .bn = 64, .split_k = splits[i] };

        output(&g, &j, i ? bytes : first);
        if (i)
            assert_memory_equal(bytes, first, sizeof first);
    }
}

/* ---- each share a slice ---- */

static const struct slices {
    const char *name;
    kiln_problem p;
    const char *config;
    int64_t size[3];         /* M, N, K */
    uint32_t groups;         /* workgroups */
} slices[] = {
    { "bf16, blocks by four", { .a = KILN_BF16 },
      "tile=64x64x64 waves=2x2 schedule=simple stages=3 split-k=4 xcd=1",
      { 50, 100, 1000 }, 8 },
    { "bf16, more shares than blocks", { .a = KILN_BF16 },
      "tile=32x64x64 waves=2x2 schedule=simple stages=2 split-k=6 xcd=1",
      { 40, 64, 1000 }, 12 },
    { "bf16 nn, slices that are shorter", { .a = KILN_BF16, .layout = KILN_NN },
      "tile=96x64x64 waves=2x2 schedule=simple stages=2 split-k=5 xcd=1",
      { 90, 60, 2000 }, 5 },
    { "fp8, two shares, rows", { .a = KILN_FP8, .scale = KILN_SCALE_ROW },
      "tile=128x128x128 waves=2x2 stages=2 split-k=2 xcd=1",
      { 130, 70, 1024 }, 4 },
    { "i8, sums of integers", { .a = KILN_I8, .out = KILN_I32 },
      "tile=64x64x128 waves=2x2 schedule=simple stages=2 split-k=3 xcd=1",
      { 64, 65, 1500 }, 6 },
    { "bf16, half as many blocks as shares, other slices in each wave", { .a = KILN_BF16 },
      "tile=64x64x64 waves=2x4 schedule=simple stages=2 split-k=4 xcd=1",
      { 60, 64, 1000 }, 4 },
    { "bf16, two whole rows of blocks, a third more than equal slices, an expression",
      { .a = KILN_BF16, .expression = "gelu(acc)" },
      "tile=128x128x64 waves=2x2 schedule=simple stages=2 split-k=3 xcd=1",
      { 120, 130, 700 }, 6 },
    { "i8, half a row of blocks, factors of rows and columns",
      { .a = KILN_I8, .scale = KILN_SCALE_ROW },
      "tile=128x128x128 waves=2x2 stages=2 split-k=8 xcd=1", { 100, 127, 2000 }, 8 },
    { "f16, half a row of blocks, a bias, at any byte", { .a = KILN_F16, .bias = 1 },
      "tile=64x128x64 waves=2x2 schedule=simple stages=2 split-k=4 xcd=1", { 50, 131, 1000 }, 8 },
    { "fp8, a block a wave, six shares", { .a = KILN_FP8 },
      "tile=32x32x128 waves=2x2 schedule=simple stages=2 split-k=6 xcd=1",
      { 40, 30, 2000 }, 12 },
    { "f16, pairs of gate and up, half as many as shares",
      { .a = KILN_F16, .expression = "silu(gate) * up" },
      "tile=64x128x64 waves=1x2 schedule=simple stages=2 split-k=16 xcd=1",
      { 50, 64, 2048 }, 16 },
    { "f16, six pairs of gate and up, other slices in each wave",
      { .a = KILN_F16, .expression = "silu(gate) * up" },
      "tile=96x64x64 waves=2x1 schedule=simple stages=2 split-k=12 xcd=1",
      { 90, 32, 1600 }, 12 },
    { "batches with a bias, 16 shares", { .a = KILN_F16, .family = KILN_BATCHED,
                                          .batch = 2, .bias = 1 },
      "tile=64x128x32 waves=1x4 schedule=simple stages=2 split-k=16 xcd=1",
      { 33, 128, 1024 }, 32 },
    { "bf16 of AGPRs, 32 blocks by five", { .a = KILN_BF16 },
      "tile=128x256x64 waves=1x4 schedule=4-wave split-k=5 xcd=1 lowering=asm",
      { 100, 256, 640 }, 5 },
    { "fp8 of AGPRs, three shares, more blocks than registers", { .a = KILN_FP8 },
      "tile=128x256x128 waves=1x4 schedule=4-wave split-k=3 xcd=1 lowering=asm",
      { 128, 250, 768 }, 3 },
    { "f16 of AGPRs, seven shares, the last of two blocks", { .a = KILN_F16 },
      "tile=128x256x64 waves=1x4 schedule=4-wave split-k=7 xcd=1 lowering=asm",
      { 100, 256, 896 }, 7 },
    { "bf16 x mxfp8, scales that come in dwords, 7 K tiles of 64 a share",
      { .a = KILN_BF16, .b = KILN_MXFP8, .scale = KILN_SCALE_MX32 },
      "tile=128x256x64 waves=2x4 schedule=4-wave stages=1 split-k=2 xcd=1 lowering=asm",
      { 16, 64, 896 }, 2 },
};

/* One kernel whose waves find all others there, and one where nobody does, have the
 * bits of the last share's sums. */
static void
slices_have_the_bits_of_the_last(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++) {
        const struct slices *s = &slices[i];
        uint64_t digest[3] = { 0 };

        for (int n = 0; n < 3; n++) {
            kiln_problem p = num_sized(&s->p, target, s->size);
            struct num_job j = { .p = p, .seed = 3, .met = n == 2, .nids = s->groups };
            struct kn_config g = { .domain = { .ktail = 1 } };
            struct num_kernel k;

            assert_true(num_configured(&g, &p, s->config));
            g.domain.ktail = 1;
            g.domain.vec = 1;
            g.join = n ? KN_JOIN_ALL : KN_JOIN_LAST;
            if (!num_open(&k, &counts, &p, &g))
                fail_msg("%s: %s", s->name, k.c.err.text);
            digest[n] = num_right(&k, &j).digest;
            num_close(&k);
        }
        if (digest[0] != digest[1] || digest[0] != digest[2])
            fail_msg("%s: %llx, %llx, %llx", s->name, (unsigned long long)digest[0],
                     (unsigned long long)digest[1], (unsigned long long)digest[2]);
    }
}

/* ---- the check itself --------------------------------------------------- */

/* A launch in which one share is missing leaves its tile unwritten and its
 * counter behind. */
static void
missing(enum kn_join join)
{
    static const uint64_t ids[] = { 0, 1, 2 };
    struct kn_config g = { .bm = 64, .bn = 128, .xcd = 1, .split_k = 4, .join = join };
    struct num_job j = { .ids = ids, .nids = 3,
                         .p = { .m = M, .n = N, .k = K } };
    kiln_problem p = plain();
    struct num_result r;
    struct num_kernel k;

    if (!num_open(&k, &counts, &p, &g))
        fail_msg("%s", k.c.err.text);
    assert_false(num_launch(&k, &j, &r));
    /* Of slices it is counted once more by who no longer waits. */
    assert_non_null(strstr(r.text, join == KN_JOIN_ALL ? "counter 0 of the workspace is 4"
                                                       : "counter 0 of the workspace is 3"));
    num_close(&k);
}

static void
missing_share_is_seen(void **state)
{
    (void)state;
    missing(KN_JOIN_LAST);
    missing(KN_JOIN_ALL);
}

/* What a launch that was aborted left in a counter, of as many shares or of
 * more, is there again after every whole launch: it cannot pass unseen. */
static void
dirt(enum kn_join join)
{
    static const uint32_t dirt[] = { 1, 2, 3, 4, 7, 15, 70000 };
    const uint32_t most = join == KN_JOIN_ALL ? 4 : 3;
    struct kn_config g = { .bm = 64, .bn = 128, .xcd = 1, .split_k = 4, .join = join };
    kiln_problem p = plain();
    struct num_result r;
    struct num_kernel k;

    if (!num_open(&k, &counts, &p, &g))
        fail_msg("%s", k.c.err.text);
    for (size_t i = 0; i < sizeof dirt / sizeof *dirt; i++) {
        struct num_job j = { .dirt = dirt[i], .p = { .m = M, .n = N, .k = K } };
        char want[80];

        snprintf(want, sizeof want, "counter 0 of the workspace is %u after",
                 dirt[i] < most ? dirt[i] : most);
        assert_false(num_launch(&k, &j, &r));
        if (!strstr(r.text, want))
            fail_msg("%s, not %s", r.text, want);
    }
    num_close(&k);
}

static void
dirt_stays(void **state)
{
    (void)state;
    dirt(KN_JOIN_LAST);
    dirt(KN_JOIN_ALL);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense),
        cmocka_unit_test(batched),
        cmocka_unit_test(grouped),
        cmocka_unit_test(ragged_k),
        cmocka_unit_test(any_order_of_workgroups),
        cmocka_unit_test(exact_sums_do_not_depend_on_the_split),
        cmocka_unit_test(slices_have_the_bits_of_the_last),
        cmocka_unit_test(missing_share_is_seen),
        cmocka_unit_test(dirt_stays),
    };

    target = argc > 1 && !strcmp(argv[1], "gfx942") ? KILN_GFX942
                                                    : KILN_GFX950;
    full = argc > 2 && !strcmp(argv[2], "full");
    return cmocka_run_group_tests_name("split", tests, NULL, NULL);
}
