/* test_compare.c - the decimal rule, the stability rule, the table reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "gen/tool/bench/compare.h"
#include "gen/tuning/tuning.h"

static kn_decimal
dec(const char *s)
{
    kn_decimal d = -1;

    assert_true(kn_decimal_read(s, &d));
    return d;
}

static void
test_decimals(void **state)
{
    static const char *const bad[] = {
        "", ".", "-1", "+1", "1.2.3", "1e", "e3", "1 ", " 1", "0x10", "nan",
        "inf", "1000000000", "1e9", "1e400", "1,5",
    };
    kn_decimal d;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (kn_decimal_read(bad[i], &d))
            fail_msg("'%s' was accepted", bad[i]);
    assert_true(dec("1.5e3") == dec("1500"));
    assert_true(dec("0.0015E+6") == dec("1500.000"));
    assert_true(dec("15000e-1") == dec("1500"));
    assert_true(dec("0") == 0 && dec("1e-400") == 0);
    assert_true(dec("999999999.999999999999") == dec("1e8") * 10 - 1);
    assert_true(dec("0.00000000000000000000000000000000000001") == 0);
    assert_true(dec("12.345678901234567890123456789012345678") ==
                dec("12.345678901234"));
}

static enum kn_comparison
judge(const char *golden, const char *now)
{
    struct kn_rule r = { dec("1.005"), dec("0.5"), dec("4") };

    return kn_rule_judge(&r, dec(golden), dec(now));
}

static void
test_borders(void **state)
{
    (void)state;
    assert_int_equal(judge("3.999999999999", "100"), KN_V_IGNORED);
    assert_int_equal(judge("4", "4.52"), KN_V_OK);
    assert_int_equal(judge("4", "4.520000000001"), KN_V_REGRESSION);
    assert_int_equal(judge("4.52", "4"), KN_V_OK);
    assert_int_equal(judge("4.520000000001", "4"), KN_V_IMPROVED);
    assert_int_equal(judge("4", "0"), KN_V_IMPROVED);
    /* Golden times whose limit binary arithmetic gets wrong. */
    assert_int_equal(judge("100", "101"), KN_V_OK);
    assert_int_equal(judge("200", "201.5"), KN_V_OK);
    assert_int_equal(judge("200", "201.500000000001"), KN_V_REGRESSION);
    assert_int_equal(judge("999999998", "0.5"), KN_V_IMPROVED);
}

static struct kn_stable
stable(size_t n, double a, double b, double c, double d)
{
    double us[] = { a, b, c, d };

    return kn_stable_time(us, n);
}

static void
expect(struct kn_stable s, double us, bool is_stable)
{
    assert_false(s.more);
    assert_true(s.stable == is_stable && s.us > us - 1e-9 &&
                s.us < us + 1e-9);
}

static void
test_stability(void **state)
{
    double five[] = { 200, 10, 100, 50, 400 };
    double late[] = { 10, 20, 40, 80, 83 };

    (void)state;
    assert_true(stable(1, 10, 0, 0, 0).more);
    assert_true(stable(2, 10, 10, 0, 0).more);
    expect(stable(3, 100, 105, 102, 0), 307.0 / 3, true);
    /* Not all within 5 %: the closest pair, wherever it is. */
    expect(stable(3, 100, 105.1, 102, 0), 101, true);
    expect(stable(3, 200, 300, 204, 0), 202, true);
    assert_true(stable(3, 10, 20, 30, 0).more);
    expect(stable(4, 10, 20, 30, 10.4), 10.2, true);
    assert_true(stable(4, 10, 20, 30, 40).more);
    expect(kn_stable_time(late, 5), 81.5, true);
    expect(kn_stable_time(five, 5), 100, false);
}

static void
test_table(void **state)
{
    static const char text[] = "\xef\xbb\xbf# note\r\n\r\na,\"b \"\"x\"\"\",c\r\n"
                               "1,\"two\nlines, one field\",3\r\n,,\n#,1\nx,y,";
    struct kn_ctx c;
    struct kn_csv t;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_csv_parse(&c, "t", text, &t), KILN_OK);
    assert_int_equal(t.ncols, 3);
    assert_int_equal(t.nrows, 3);
    assert_int_equal(kn_csv_find(&t, "b \"x\""), 1);
    assert_int_equal(kn_csv_find(&t, "d"), -1);
    assert_string_equal(kn_csv_at(&t, 0, 1)->s, "two\nlines, one field");
    assert_int_equal(kn_csv_at(&t, 1, 0)->line, 6);
    assert_string_equal(kn_csv_at(&t, 2, 2)->s, "");
    assert_int_equal(kn_csv_at(&t, 2, 1)->col, 3);
    kn_ctx_free(&c);
}

static void
test_quoting(void **state)
{
    static const char *const cells[] = { "", "a", "a,b", "\"", "#", "a\nb" };
    struct kn_ctx c;
    struct kn_csv t;

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        struct kn_buf b = { .c = &c };

        kn_put(&b, "h,i\n");
        kn_csv_put(&b, cells[i]);
        kn_put(&b, ",end\n");
        assert_int_equal(kn_csv_parse(&c, "t", b.s, &t), KILN_OK);
        assert_int_equal(t.nrows, 1);
        assert_string_equal(kn_csv_at(&t, 0, 0)->s, cells[i]);
    }
    kn_ctx_free(&c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decimals), cmocka_unit_test(test_borders),
        cmocka_unit_test(test_stability), cmocka_unit_test(test_table),
        cmocka_unit_test(test_quoting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
