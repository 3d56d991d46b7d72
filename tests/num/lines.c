/* Copies by cache lines (--copies lines), and those that end with K, against copies of
 * K tiles: rows that begin anywhere in a line, at 16 bytes, by their pitch and by the
 * operand's address. The same launch must give the same bytes, right against the
 * reference, without a finding, whatever the order of workgroups and of what memory
 * returns. */
#include <stdio.h>
#include <string.h>

#include "gen/forms.h"
#include "../kit/right.h"

struct row {
    const char *name;
    kiln_problem p;          /* what the kernel is generated for */
    const char *config;      /* without its copies */
    int64_t size[5][3];      /* launches: M, N, K; 0, 0, 0 ends */
};

enum { FEW = 5, SPARE = 300 };
static const int64_t few[FEW] = { 70, 0, 1, 128, 17 };

/* K of whole 16 bytes: less than a K tile, one and 16 bytes, lines and some. */
#define OF_8 { { 64, 64, 2880 }, { 70, 68, 144 }, { 1, 4, 16 }, { 129, 132, 1040 }, \
               { 20, 60, 0 } }
#define OF_16 { { 64, 64, 1448 }, { 70, 68, 72 }, { 1, 4, 8 }, { 129, 132, 520 }, \
                { 20, 60, 0 } }
#define OF_4 { { 64, 64, 2880 }, { 70, 68, 288 }, { 3, 4, 32 }, { 129, 132, 2080 }, \
               { 20, 60, 0 } }

#define OF_6 { { 64, 64, 3072 }, { 70, 68, 128 }, { 1, 4, 256 }, { 129, 132, 1152 } }

static const struct row rows[] = {
    { "simple, fp8", { .a = KILN_FP8 },
      "tile=64x64x128 waves=2x2 schedule=simple stages=4", OF_8 },
    { "simple, bf16, two lines a row", { .a = KILN_BF16 },
      "tile=32x64x128 waves=1x4 schedule=simple stages=3", OF_16 },
    { "simple, i8, one wave", { .a = KILN_I8, .out = KILN_I32 },
      "tile=16x32x128 waves=1x1 schedule=simple stages=6", OF_8 },
    { "simple, f16, shares of K", { .a = KILN_F16 },
      "tile=64x64x64 waves=2x2 schedule=simple stages=5 split-k=3", OF_16 },
    { "simple, mxfp8", { .a = KILN_MXFP8 },
      "tile=64x64x128 waves=2x2 schedule=simple stages=3", OF_8 },
    { "simple, mxfp4", { .a = KILN_MXFP4 },
      "tile=32x64x256 waves=1x4 schedule=simple stages=4", OF_4 },
    { "simple, mxfp8 x mxfp4", { .a = KILN_MXFP8, .b = KILN_MXFP4 },
      "tile=32x64x256 waves=1x4 schedule=simple stages=3", OF_4 },
    { "simple, A alone: nn", { .a = KILN_BF8, .b = KILN_FP8, .layout = KILN_NN },
      "tile=64x64x128 waves=2x2 schedule=simple stages=3",
      { { 64, 64, 2880 }, { 70, 64, 144 }, { 1, 16, 16 }, { 129, 144, 1040 } } },
    { "simple, B alone: tt", { .a = KILN_F16, .layout = KILN_TT },
      "tile=64x64x64 waves=2x2 schedule=simple stages=3",
      { { 64, 64, 1448 }, { 72, 68, 72 }, { 8, 4, 8 }, { 136, 132, 520 } } },
    { "simple, batches", { .a = KILN_FP8, .family = KILN_BATCHED, .batch = 3 },
      "tile=64x64x128 waves=2x2 schedule=simple stages=4", OF_8 },
    { "simple, groups", { .a = KILN_MXFP8, .family = KILN_GROUPED, .groups = FEW },
      "tile=64x64x128 waves=2x2 schedule=simple stages=3",
      { { 0, 68, 2880 }, { 0, 60, 144 } } },
    { "simple, few workgroups", { .a = KILN_FP8 },
      "tile=32x32x128 waves=2x2 schedule=simple stages=3 cus=3", OF_8 },
    { "lines in turn, mxfp6", { .a = KILN_MXFP6 },
      "tile=64x64x128 waves=2x2 schedule=simple stages=3", OF_6 },
    { "lines in turn, mxbf6 x mxfp8", { .a = KILN_MXBF6, .b = KILN_MXFP8 },
      "tile=128x32x128 waves=2x1 schedule=simple stages=4", OF_6 },
    { "lines in turn, mxfp4 x mxfp6, shares of K", { .a = KILN_MXFP4, .b = KILN_MXFP6 },
      "tile=32x64x128 waves=1x4 schedule=simple stages=4 split-k=3",
      { { 64, 64, 2944 }, { 70, 68, 1536 }, { 1, 4, 1664 } } },
    { "lines in turn, groups, few workgroups",
      { .a = KILN_MXFP6, .family = KILN_GROUPED, .groups = FEW },
      "tile=48x64x128 waves=1x4 schedule=simple stages=3 cus=3",
      { { 0, 68, 1024 }, { 0, 60, 128 } } },
    { "4-wave, fp8", { .a = KILN_FP8 },
      "tile=256x160x128 waves=2x2 schedule=4-wave stages=3", OF_8 },
    { "4-wave, bf16, rows and beta", { .a = KILN_BF16, .beta = 1 },
      "tile=128x128x64 waves=1x4 schedule=4-wave stages=3", OF_16 },
    { "4-wave, mxfp4", { .a = KILN_MXFP4 },
      "tile=256x128x256 waves=2x2 schedule=4-wave stages=3", OF_4 },
    { "4-wave, mxfp8, shares of K", { .a = KILN_MXFP8 },
      "tile=256x128x128 waves=2x2 schedule=4-wave stages=3 split-k=2", OF_8 },
    { "4-wave, groups", { .a = KILN_FP8, .family = KILN_GROUPED, .groups = FEW },
      "tile=128x64x128 waves=1x4 schedule=4-wave stages=3",
      { { 0, 68, 2880 }, { 0, 60, 144 } } },
    { "quarters, fp8, rows", { .a = KILN_FP8, .scale = KILN_SCALE_ROW },
      "tile=256x256x128 waves=2x2 schedule=4-wave stages=2", OF_8 },
    { "quarters, bf16", { .a = KILN_BF16 },
      "tile=128x256x64 waves=1x4 schedule=4-wave stages=2", OF_16 },
    { "quarters, mxfp8", { .a = KILN_MXFP8 },
      "tile=256x256x128 waves=2x2 schedule=4-wave stages=2", OF_8 },
    { "quarters, mxfp4", { .a = KILN_MXFP4 },
      "tile=256x256x256 waves=2x2 schedule=4-wave stages=2", OF_4 },
    { "quarters, groups", { .a = KILN_MXFP4, .family = KILN_GROUPED, .groups = FEW },
      "tile=128x256x256 waves=1x4 schedule=4-wave stages=2",
      { { 0, 68, 2880 }, { 0, 60, 288 } } },
    { "quarters, bf16, walk", { .a = KILN_BF16 },
      "tile=256x256x64 waves=2x2 schedule=4-wave stages=2 cus=2",
      { { 600, 516, 1448 }, { 70, 520, 72 }, { 1, 4, 8 }, { 300, 260, 136 }, { 20, 60, 0 } } },
    { "quarters, mxfp4, walk", { .a = KILN_MXFP4 },
      "tile=256x256x256 waves=2x2 schedule=4-wave stages=2 cus=3",
      { { 600, 516, 2880 }, { 70, 520, 288 }, { 3, 4, 32 }, { 300, 260, 2080 } } },
    { "quarters, groups, walk", { .a = KILN_MXFP4, .family = KILN_GROUPED, .groups = FEW },
      "tile=256x256x256 waves=2x2 schedule=4-wave stages=2 cus=2",
      { { 0, 520, 2880 }, { 0, 60, 288 } } },
};

/* Lines of 6-bit types are of whole K tiles, whose scales are dwords. */
static bool
in_turn(const struct row *r)
{
    return kn_ref_type_bits(r->p.a) == 6 || (r->p.b && kn_ref_type_bits(r->p.b) == 6);
}

static void
open_kernel(struct num_kernel *k, struct num_counts *counts, const struct row *r,
            enum kn_copies copies)
{
    kiln_problem p = num_sized(&r->p, KILN_GFX950, r->size[0]);
    struct kn_config g = { 0 };

    assert_true(num_configured(&g, &p, r->config));
    g.domain.ktail = !in_turn(r);
    g.domain.align_a = g.domain.align_b = 16;
    if (p.scale == KILN_SCALE_MX32)
        g.domain.align_sa = g.domain.align_sb = in_turn(r) ? 4 : 1;
    g.lowering = KN_LOWERING_ASM;
    g.copies = copies;
    if (copies != KN_COPIES_LINES && g.schedule == KN_SCHED_4WAVE)
        g.stages = 2;
    assert_true(num_open(k, counts, &p, &g));
    assert_int_equal(k->g.cfg.copies == KN_COPIES_LINES, copies == KN_COPIES_LINES);
}

/* Elements that are 16 bytes, of 6 bits 48. */
static int64_t
whole_chunks(kiln_type t)
{
    return kn_ref_type_bits(t) == 6 ? 64 : 128 / kn_ref_type_bits(t);
}

/* A launch whose rows are `pad` times 16 bytes apart more, from as many on. */
static uint64_t
launched(struct num_kernel *k, const struct row *r, const int64_t size[3], int pad)
{
    struct num_job j = { .p = num_sized(&r->p, KILN_GFX950, size),
                         .seed = 7 + (uint64_t)pad,
                         .lens = r->p.groups ? few : NULL,
                         .spare = r->p.groups ? SPARE : 0,
                         .order = (enum kn_sim_order)(pad % 3),
                         .order_seed = 3 };
    bool along_a = r->p.layout == KILN_NT || r->p.layout == KILN_NN;
    bool along_b = r->p.layout == KILN_NT || r->p.layout == KILN_TT;

    if (along_a)
        j.p.lda = j.p.k + pad * whole_chunks(j.p.a);
    if (along_b)
        j.p.ldb = j.p.k + 2 * pad * whole_chunks(j.p.b);
    j.skew[NUM_A] = (uint32_t)pad * 16;
    j.skew[NUM_B] = (uint32_t)pad * 48;
    return num_right(k, &j).digest;
}

static void
lines_are_tiles(void **state)
{
    static const int pads[] = { 0, 1, 3, 6, 8 };
    const struct row *r = *state;
    struct num_counts counts = { 0 };
    struct num_kernel lines, tiles, ends;
    bool end;

    open_kernel(&lines, &counts, r, KN_COPIES_LINES);
    open_kernel(&tiles, &counts, r, KN_COPIES_TILES);
    end = kn_may_end(&tiles.p, &tiles.g.cfg);
    if (end)
        open_kernel(&ends, &counts, r, KN_COPIES_ENDS);
    for (int n = 0; n < 5 && r->size[n][1]; n++)
        for (size_t i = 0; i < (n ? 2 : sizeof pads / sizeof *pads); i++) {
            int pad = pads[(i + (size_t)n) % (sizeof pads / sizeof *pads)];
            uint64_t digest = launched(&tiles, r, r->size[n], pad);

            assert_true(launched(&lines, r, r->size[n], pad) == digest);
            assert_true(!end || launched(&ends, r, r->size[n], pad) == digest);
        }
    if (end)
        num_close(&ends);
    num_close(&lines);
    num_close(&tiles);
}

static void
none(const struct row *r, const struct kn_config *given)
{
    kiln_problem p = num_sized(&r->p, KILN_GFX950, r->size[0]);
    struct num_counts counts = { 0 };
    struct kn_config g = *given;
    struct num_kernel k;

    g.copies = KN_COPIES_LINES;
    assert_false(num_open(&k, &counts, &p, &g));
    if (!strstr(k.c.err.text, "by lines"))
        fail_msg("%s", k.c.err.text);
    num_close(&k);
}

/* Groups in K end anywhere, and copies at 16 bytes. */
static void
groups_in_k_have_none(void **state)
{
    static const struct row r = { "", { .a = KILN_MXFP8, .family = KILN_WGRAD,
                                        .groups = FEW }, "", { { 64, 64, 510 } } };

    (void)state;
    none(&r, &(struct kn_config){ .bm = 64, .bn = 64, .bk = 128, .wm = 2, .wn = 2,
                                  .stages = 3, .schedule = KN_SCHED_SIMPLE });
}

/* Lines in turn come with batches of scales, for which LDS has no room here; that rows
 * of the other operand may lag makes it no better. */
static void
full_tiles_have_none(void **state)
{
    static const struct row r = { "", { .a = KILN_MXFP6, .b = KILN_MXBF8 }, "",
                                  { { 512, 272, 512 } } };

    (void)state;
    none(&r, &(struct kn_config){ .bm = 256, .bn = 128, .bk = 128, .wm = 2, .wn = 4,
                                  .stages = 3, .schedule = KN_SCHED_SIMPLE });
}

int
main(void)
{
    enum { N = sizeof rows / sizeof *rows };
    struct CMUnitTest tests[N + 2];

    memset(tests, 0, sizeof tests);
    for (size_t r = 0; r < N; r++)
        tests[r] = (struct CMUnitTest){ .name = rows[r].name,
                                        .test_func = lines_are_tiles,
                                        .initial_state = (void *)&rows[r] };
    tests[N] = (struct CMUnitTest)cmocka_unit_test(groups_in_k_have_none);
    tests[N + 1] = (struct CMUnitTest)cmocka_unit_test(full_tiles_have_none);
    return _cmocka_run_group_tests("lines", tests, N + 2, NULL, NULL);
}
