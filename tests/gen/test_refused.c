/* test_refused.c - choices after refusals for want of registers: others, each
 * complete, until there is none; and none after another refusal. Also the words
 * that configurations were printed in before, and a loop that has shuffled scales. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gen/gen.h"

enum { MOST = 200 };

static const kiln_problem problems[] = {
    { .family = KILN_GEMM, .target = KILN_GFX950, .a = KILN_BF16,
      .b = KILN_BF16, .m = 4096, .n = 4096, .k = 4096 },
    { .family = KILN_GEMM, .target = KILN_GFX942, .a = KILN_FP8,
      .b = KILN_FP8, .m = 1000, .n = 2048, .k = 512, .layout = KILN_TN },
    { .family = KILN_GROUPED, .target = KILN_GFX950, .a = KILN_MXFP4,
      .b = KILN_MXFP4, .m = 4096, .n = 2048, .k = 2048, .groups = 8 },
    { .family = KILN_WGRAD, .target = KILN_GFX942, .a = KILN_BF16,
      .b = KILN_BF16, .m = 512, .n = 512, .k = 4096, .groups = 4,
      .layout = KILN_TN },
};

static bool
same_tile(const struct kn_config *a, const struct kn_config *b)
{
    return a->bm == b->bm && a->bn == b->bn && a->bk == b->bk &&
           a->wm == b->wm && a->wn == b->wn && a->schedule == b->schedule &&
           !a->cus == !b->cus;
}

static size_t
count_in(struct kn_ctx *c, kiln_problem p, const struct kn_config *given,
         bool crowded)
{
    static const char refusal[] = "gate spills: k: 5";
    struct kn_config seen[MOST], g = *given;
    size_t n = 0;

    assert_int_equal(kn_problem_normalise(c, &p), KILN_OK);
    assert_int_equal(kn_choose(c, &p, &g, NULL), KILN_OK);
    do {
        for (size_t i = 0; i < n; i++)
            assert_false(same_tile(&seen[i], &g));
        assert_true(n < MOST);
        assert_true(g.bm && g.bn && g.stages && g.split_k);
        seen[n++] = g;
        kn_fail(c, KILN_FINDING, "%s", refusal);
        if (crowded)
            kn_crowded(c, KILN_FINDING);
    } while (kn_choose_next(c, &p, given, &g));
    if (crowded && !given->bm) {
        assert_int_equal(c->err.status, KILN_UNSUPPORTED);
        assert_non_null(strstr(c->err.text, "no tile of this family fits"));
    } else {
        assert_int_equal(c->err.status, KILN_FINDING);
        assert_string_equal(c->err.text, refusal);
    }
    return n;
}

/* Choices from `given` while each is refused, for want of registers or not. */
static size_t
count_choices(kiln_problem p, const struct kn_config *given, bool crowded)
{
    struct kn_ctx c;
    jmp_buf oom;
    size_t n;

    kn_ctx_init(&c, NULL, NULL);
    c.oom = &oom;
    if (setjmp(oom))
        fail_msg("out of memory");
    n = count_in(&c, p, given, crowded);
    kn_ctx_free(&c);
    return n;
}

static void
another_is_chosen(void **state)
{
    const struct kn_config open = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        assert_true(count_choices(problems[i], &open, true) > 2);
}

static void
what_was_given_stays(void **state)
{
    const struct kn_config tile = { .bm = 128, .bn = 128, .bk = 64, .wm = 2,
                                    .wn = 2, .schedule = KN_SCHED_SIMPLE };
    const struct kn_config open = { 0 };

    (void)state;
    assert_int_equal(count_choices(problems[0], &tile, true), 1);
    assert_int_equal(count_choices(problems[0], &open, false), 1);
}

static void
older_words_are_read(void **state)
{
    static const char now[] = "tile=256x256x64 waves=2x2 schedule=4-wave "
        "stages=2 split-k=1 group-m=4 xcd=8 cus=0 align=16,16,16,16 vec=4 "
        "ktail=1 lowering=asm";
    static const char then[] = "tile=256x256x64 waves=2x2 schedule=deep "
        "stages=2 split-k=1 group-m=4 xcd=8 cus=0 align=16,16,16,16 vec=4 "
        "ktail=1 lowering=asm";
    static const char *const unknown[] = { "schedule=deeper", "schedule=dee",
                                           "schedule=" };
    struct kn_ctx c;
    struct kn_config g, h;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_config_take(&c, now, &g), KILN_OK);
    assert_int_equal(kn_config_take(&c, then, &h), KILN_OK);
    assert_memory_equal(&g, &h, sizeof g);
    assert_int_equal(kn_config_parse(&c, "schedule=stream", &h), KILN_OK);
    assert_int_equal(h.schedule, KN_SCHED_DIRECT);
    for (int i = 0; i < 3; i++)
        assert_int_equal(kn_config_parse(&c, unknown[i], &h), KILN_BAD_INPUT);
    kn_ctx_free(&c);
}

/* What is left open of g for p. */
static void
choose(kiln_problem *p, struct kn_config *g)
{
    struct kn_ctx c;
    jmp_buf oom;

    kn_ctx_init(&c, NULL, NULL);
    c.oom = &oom;
    if (setjmp(oom))
        fail_msg("out of memory");
    assert_int_equal(kn_problem_normalise(&c, p), KILN_OK);
    assert_int_equal(kn_choose(&c, p, g, NULL), KILN_OK);
    kn_ctx_free(&c);
}

/* Rows at no 16 bytes go through registers, beside which `4-wave` copies such scales. */
static void
shuffled_scales_take_rows_at_any_byte(void **state)
{
    kiln_problem p = { .family = KILN_GEMM, .target = KILN_GFX950, .a = KILN_MXFP8,
                       .b = KILN_MXFP8, .scale_layout = KILN_SCALE_SHUFFLED,
                       .m = 8192, .n = 1536, .k = 1000 };
    struct kn_config four = { .bm = 256, .bn = 192, .bk = 128, .schedule = KN_SCHED_4WAVE };

    (void)state;
    choose(&p, &four);
    assert_int_equal(four.schedule, KN_SCHED_4WAVE);
}

/* Columns of an odd N are stored one by one by LLVM's shares alone, which these are not. */
static void
an_odd_n_divides_k(void **state)
{
    kiln_problem p = { .family = KILN_GEMM, .target = KILN_GFX950, .a = KILN_FP8,
                       .b = KILN_FP8, .scale = KILN_SCALE_TENSOR, .m = 2880, .n = 257,
                       .k = 7268 };
    struct kn_config g = { 0 };

    (void)state;
    choose(&p, &g);
    assert_true(g.split_k > 1);
    assert_int_equal(g.lowering, KN_LOWERING_ASM);
}

/* Copies end with a K of whole 16 bytes: 544 of 4 bits, not 545 of 8. */
static void
copies_end_at_16_bytes(void **state)
{
    kiln_problem whole = { .family = KILN_GEMM, .target = KILN_GFX950, .a = KILN_MXFP4,
                           .b = KILN_MXFP4, .m = 7168, .n = 8192, .k = 544 };
    kiln_problem other = { .family = KILN_GEMM, .target = KILN_GFX950, .a = KILN_FP8,
                           .b = KILN_FP8, .m = 7168, .n = 8192, .k = 545, .lda = 640,
                           .ldb = 640 };
    struct kn_config ends = { 0 }, four = { .schedule = KN_SCHED_4WAVE };

    (void)state;
    choose(&whole, &ends);
    assert_int_equal(ends.copies, KN_COPIES_ENDS);
    choose(&other, &four);
    assert_int_not_equal(four.copies, KN_COPIES_ENDS);
}

/* gfx942 loads rows at no 16 bytes by lines, of 128-blocks and at 16 bytes K tiles. */
static void
gfx942_loads_lines(void **state)
{
    static const struct { int64_t k; kiln_scale scale; enum kn_copies copies; } rows[] = {
        { 2884, KILN_SCALE_NONE, KN_COPIES_LINES },
        { 2896, KILN_SCALE_NONE, KN_COPIES_OPEN },
        { 2884, KILN_SCALE_BLOCK128, KN_COPIES_OPEN },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kiln_problem p = { .family = KILN_GEMM, .target = KILN_GFX942, .a = KILN_FP8,
                           .b = KILN_FP8, .scale = rows[i].scale, .m = 512, .n = 8192,
                           .k = rows[i].k };
        struct kn_config g = { 0 };

        choose(&p, &g);
        assert_int_equal(g.copies, rows[i].copies);
    }
}

/* Rows of 6 bits that begin inside lines go through registers, as at any byte, but where
 * compute units have tiles of 256x256, or rows whole lines. */
static void
six_bits_have_rings(void **state)
{
    static const struct { int64_t m, k; bool ring; } rows[] = {
        { 1024, 2688, true }, { 1024, 2560, false }, { 256, 2688, false }, { 8192, 2688, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kiln_problem p = { .family = KILN_GEMM, .target = KILN_GFX950, .a = KILN_MXFP6,
                           .b = KILN_MXFP6, .m = rows[i].m, .n = 7168, .k = rows[i].k };
        struct kn_config g = { 0 };

        choose(&p, &g);
        assert_int_equal(g.domain.align_a < 16, rows[i].ring);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_is_chosen),
        cmocka_unit_test(what_was_given_stays),
        cmocka_unit_test(older_words_are_read),
        cmocka_unit_test(shuffled_scales_take_rows_at_any_byte),
        cmocka_unit_test(an_odd_n_divides_k),
        cmocka_unit_test(copies_end_at_16_bytes),
        cmocka_unit_test(gfx942_loads_lines),
        cmocka_unit_test(six_bits_have_rings),
    };

    return cmocka_run_group_tests_name("gen-refused", tests, NULL, NULL);
}
