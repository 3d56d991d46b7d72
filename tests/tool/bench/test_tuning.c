/* test_tuning.c - which row of the tuning tables fits, and that the tables
 * kiln ships are whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gen/tuning/tuning.h"

#define HEAD "arch,family,layout,a,b,out,scale,batch,n,k,m,config,_us\n"

static struct kn_ctx ctx;
static struct kn_csv table;
static struct kn_tuning tuning = { .t = &table, .n = 1 };

static int
setup(void **state)
{
    (void)state;
    kn_ctx_init(&ctx, NULL, NULL);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    kn_ctx_free(&ctx);
    return 0;
}

static kiln_status
load(const char *text)
{
    ctx.err = (kiln_error){ 0 };
    ctx.tuning = &tuning;
    if (kn_csv_parse(&ctx, "t", text, &table))
        return KILN_BAD_INPUT;
    return kn_tuning_check(&ctx, &table);
}

static kiln_problem
problem(int64_t m, int64_t n, int64_t k, int64_t batch)
{
    kiln_problem p = { .size = sizeof p, .family = KILN_BATCHED,
                       .target = KILN_GFX942, .a = KILN_F16, .m = m, .n = n,
                       .k = k, .batch = batch };

    assert_int_equal(kn_problem_normalise(&ctx, &p), KILN_OK);
    return p;
}

/* The tile M of the rows that fit, best first: "32 64 16". */
static const char *
order(int64_t m, int64_t n, int64_t k, int64_t batch)
{
    kiln_problem p = problem(m, n, k, batch);
    struct kn_buf b = { .c = &ctx };
    struct kn_tuned *row;
    size_t count;

    kn_put(&b, "");
    assert_int_equal(kn_tuning_find(&ctx, &p, &row, &count), KILN_OK);
    for (size_t i = 0; i < count; i++) {
        struct kn_config g = { 0 };

        assert_int_equal(kn_config_parse(&ctx, row[i].config, &g), KILN_OK);
        kn_putf(&b, "%s%u", i ? " " : "", g.bm);
    }
    return b.s;
}

static void
test_order(void **state)
{
    (void)state;
    assert_int_equal(load(HEAD
        "gfx942,batched,,,,,,,,,any,tile=1x1x1,\n"
        "gfx942,batched,,,,,,,,,M_GEQ_64,tile=2x1x1,\n"
        "gfx942,batched,,,,,,,,,M_GEQ_100,tile=3x1x1,\n"
        "gfx942,batched,,,,,,,,,M_LEQ_32,tile=4x1x1,\n"
        "gfx942,batched,,,,,,,,,M_LEQ_16,tile=5x1x1,\n"
        "gfx942,batched,,,,,,,,,16,tile=6x1x1,\n"
        "gfx942,batched,,,,,,,512,128,any,tile=7x1x1,\n"
        "gfx942,batched,,,,,,4,512,128,any,tile=8x1x1,\n"
        "gfx942,batched,,,,,,4,512,128,M_LEQ_16,tile=9x1x1,\n"
        "gfx942,batched,,,,,,4,,,17,tile=10x1x1,\n"
        "gfx950,batched,,,,,,,,,any,tile=11x1x1,\n"
        "gfx942,gemm,,,,,,,,,any,tile=12x1x1,\n"
        "gfx942,batched,tn,,,,,,,,any,tile=13x1x1,\n"
        "gfx942,batched,nt,f16,f16,bf16,none,,,,M_LEQ_5,tile=14x1x1,\n"
        "gfx942,batched,,bf16,,,,,,,any,tile=15x1x1,\n"
        "gfx942,batched,,,,f32,,,,,any,tile=16x1x1,\n"
        "gfx942,batched,,,,,row,,,,any,tile=17x1x1,\n"), KILN_OK);
    assert_string_equal(order(16, 64, 64, 4), "6 5 4 1");
    assert_string_equal(order(17, 64, 64, 4), "10 4 1");
    assert_string_equal(order(33, 64, 64, 4), "1");
    assert_string_equal(order(64, 64, 64, 4), "2 1");
    assert_string_equal(order(100, 64, 64, 4), "3 2 1");
    assert_string_equal(order(16, 512, 128, 4), "9 8 7 6 5 4 1");
    assert_string_equal(order(16, 512, 128, 5), "7 6 5 4 1");
    assert_string_equal(order(16, 512, 64, 5), "6 5 4 1");
    assert_string_equal(order(5, 1, 1, 1), "14 5 4 1");
}

static void
test_bad_tables(void **state)
{
    static const struct { const char *text, *field; int line; } bad[] = {
        { HEAD "gfx9,batched,,,,,,,,,any,tile=1x1x1,\n", "arch", 2 },
        { HEAD "gfx942,bat,,,,,,,,,any,tile=1x1x1,\n", "family", 2 },
        { HEAD ",,t,,,,,,,,any,tile=1x1x1,\n", "layout", 2 },
        { HEAD ",,,none,,,,,,,any,tile=1x1x1,\n", "a", 2 },
        { HEAD ",,,,fp9,,,,,,any,tile=1x1x1,\n", "b", 2 },
        { HEAD ",,,,,u8,,,,,any,tile=1x1x1,\n", "out", 2 },
        { HEAD ",,,,,,rows,,,,any,tile=1x1x1,\n", "scale", 2 },
        { HEAD ",,,,,,,-1,,,any,tile=1x1x1,\n", "batch", 2 },
        { HEAD ",,,,,,,,5x,,any,tile=1x1x1,\n", "n", 2 },
        { HEAD ",,,,,,,,,4294967296,any,tile=1x1x1,\n", "k", 2 },
        { HEAD "\n,,,,,,,,,,M_LEQ_,tile=1x1x1,\n", "m", 3 },
        { HEAD ",,,,,,,,,,M_LT_4,tile=1x1x1,\n", "m", 2 },
        { HEAD ",,,,,,,,,,any,tile=1x1,\n", "config", 2 },
        { HEAD ",,,,,,,,,,any,waves=2x2,\n", "config", 2 },
        { HEAD ",,,,,,,,,,any,,\n", "config", 2 },
        { HEAD ",,,,,,,,,,any,tile=1x1x1 depth=3,\n", "config", 2 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char want[32];

        snprintf(want, sizeof want, "field '%s':", bad[i].field);
        assert_int_equal(load(bad[i].text), KILN_BAD_INPUT);
        if (strncmp(ctx.err.text, want, strlen(want)) ||
            ctx.err.line != bad[i].line || strcmp(ctx.err.file, "t"))
            fail_msg("%zu: %s:%d: %s", i, ctx.err.file, ctx.err.line,
                     ctx.err.text);
    }
    assert_int_equal(load("arch,family\n"), KILN_BAD_INPUT);
    assert_int_equal(load("speed," HEAD), KILN_BAD_INPUT);
    assert_int_equal(load("_speed," HEAD), KILN_OK);
}

static bool
fails_in(struct kn_ctx *c, const struct kn_csv *t)
{
    KN_ENTER(c);
    return kn_tuning_check(c, t) != KILN_OK;
}

/* The text of a configuration row by row is what kn_choose takes. */
static void
test_shipped(void **state)
{
    (void)state;
    for (const struct kn_text *x = kn_tuned_tables; x->name; x++) {
        struct kn_csv t;

        assert_int_equal(kn_csv_parse(&ctx, x->name, x->text, &t), KILN_OK);
        if (fails_in(&ctx, &t))
            fail_msg("%s:%d: %s", x->name, ctx.err.line, ctx.err.text);
        /* The name is how a table is found. */
        for (size_t i = 0; i < t.nrows; i++) {
            char name[64];

            snprintf(name, sizeof name, "%s-%s",
                     kn_csv_at(&t, i, kn_csv_find(&t, "arch"))->s,
                     kn_csv_at(&t, i, kn_csv_find(&t, "family"))->s);
            assert_string_equal(name, x->name);
            if (atof(kn_csv_at(&t, i, kn_csv_find(&t, "_us"))->s) >
                atof(kn_csv_at(&t, i, kn_csv_find(&t, "_default_us"))->s))
                fail_msg("%s, row %zu: slower than the rules", x->name, i + 1);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_tables, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shipped, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
