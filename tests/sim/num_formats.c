/* num.c against exhaustive tables, neighbours and the compiler's own f16. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "../../runtime/sim/num.h"

static const struct kn_rounding rne = {0};

/* Values of the formats as their standards list them. */
struct value {
    enum kn_num f;
    uint32_t code;
    double value;
};

static void
test_listed_values(void **state)
{
    static const struct value list[] = {
        {KN_NUM_E4M3, 0x38, 1.0},       {KN_NUM_E4M3, 0x7e, 448.0},
        {KN_NUM_E4M3, 0x01, 0x1p-9},    {KN_NUM_E4M3, 0x08, 0x1p-6},
        {KN_NUM_E5M2, 0x3c, 1.0},       {KN_NUM_E5M2, 0x7b, 57344.0},
        {KN_NUM_E5M2, 0x01, 0x1p-16},   {KN_NUM_E5M2, 0xfc, -INFINITY},
        {KN_NUM_E4M3Z, 0x40, 1.0},      {KN_NUM_E4M3Z, 0x7f, 240.0},
        {KN_NUM_E4M3Z, 0x01, 0x1p-10},  {KN_NUM_E5M2Z, 0x40, 1.0},
        {KN_NUM_E5M2Z, 0x7f, 57344.0},  {KN_NUM_E5M2Z, 0x01, 0x1p-17},
        {KN_NUM_E2M3, 0x1f, 7.5},       {KN_NUM_E2M3, 0x01, 0.125},
        {KN_NUM_E3M2, 0x1f, 28.0},      {KN_NUM_E3M2, 0x01, 0.0625},
        {KN_NUM_E2M1, 0x7, 6.0},        {KN_NUM_E2M1, 0x1, 0.5},
        {KN_NUM_E2M1, 0xd, -3.0},       {KN_NUM_F16, 0x7bff, 65504.0},
        {KN_NUM_F16, 0x0001, 0x1p-24},  {KN_NUM_BF16, 0x3f80, 1.0},
        {KN_NUM_BF16, 0x0001, 0x1p-133}};

    (void)state;
    for (unsigned i = 0; i < sizeof list / sizeof list[0]; i++) {
        assert_true(kn_num_to_f64(list[i].f, list[i].code) == list[i].value);
        assert_int_equal(kn_num_from_f64(list[i].f, list[i].value, rne),
                         list[i].code);
    }
    assert_true(isnan(kn_num_to_f64(KN_NUM_E4M3, 0x7f)));
    assert_true(isnan(kn_num_to_f64(KN_NUM_E4M3Z, 0x80)));
    assert_true(isnan(kn_num_to_f64(KN_NUM_E5M2Z, 0x80)));
    assert_true(isnan(kn_num_to_f64(KN_NUM_E5M2, 0x7d)));
    assert_true(kn_e8m0_to_f64(0) == 0x1p-127);
    assert_true(kn_e8m0_to_f64(254) == 0x1p127);
    assert_true(isnan(kn_e8m0_to_f64(255)));
}

/* Every code: the value orders as the code does, and encodes to itself. */
static void
test_round_trip(void **state)
{
    (void)state;
    for (unsigned f = 0; f < KN_NNUMS; f++) {
        const struct kn_num_format *n = &kn_num_format[f];
        double last = -1;

        for (uint32_t c = 0; c <= n->max; c++) {
            double v = kn_num_to_f64(f, c);

            assert_true(v > last);
            assert_true((double)kn_num_to_f32(f, c) == v);
            assert_int_equal(kn_num_from_f64(f, v, rne), c);
            if (c)
                assert_int_equal(kn_num_from_f64(f, -v, rne),
                                 c | 1u << (n->bits - 1));
            last = v;
        }
    }
    assert_int_equal(kn_num_from_f64(KN_NUM_E4M3Z, -0.0, rne), 0);
    assert_int_equal(kn_num_from_f64(KN_NUM_E4M3, -0.0, rne), 0x80);
}

/* Between two neighbours: the nearer one, and the even one from the middle. */
static void
check_gap(enum kn_num f, uint32_t c)
{
    double lo = kn_num_to_f64(f, c), hi = kn_num_to_f64(f, c + 1);
    double mid = (lo + hi) / 2;
    struct kn_rounding rtz = {.mode = KN_RTZ};

    assert_int_equal(kn_num_from_f64(f, nextafter(mid, lo), rne), c);
    assert_int_equal(kn_num_from_f64(f, nextafter(mid, hi), rne), c + 1);
    assert_int_equal(kn_num_from_f64(f, mid, rne), c + (c & 1));
    assert_int_equal(kn_num_from_f64(f, nextafter(hi, lo), rtz), c);
    if (f != KN_NUM_E4M3Z && f != KN_NUM_E5M2Z)
        assert_int_equal(kn_num_from_f64(f, -mid, rne),
                         (c + (c & 1)) | 1u << (kn_num_format[f].bits - 1));
}

static void
test_neighbours(void **state)
{
    (void)state;
    for (unsigned f = 0; f < KN_NNUMS; f++)
        for (uint32_t c = 0; c < kn_num_format[f].max; c++)
            check_gap(f, c);
}

static void
test_overflow(void **state)
{
    struct kn_rounding sat = {.saturate = true};

    (void)state;
    for (unsigned f = 0; f < KN_NNUMS; f++) {
        const struct kn_num_format *n = &kn_num_format[f];
        double max = kn_num_to_f64(f, n->max);
        double ulp = max - kn_num_to_f64(f, n->max - 1u);
        double limit = max + ulp / 2; /* rounds to the next power of two */

        assert_int_equal(kn_num_from_f64(f, nextafter(limit, 0), rne), n->max);
        assert_int_equal(kn_num_from_f64(f, nextafter(limit, 1e300), rne),
                         n->over);
        assert_int_equal(kn_num_from_f64(f, 1e300, sat), n->max);
        assert_int_equal(kn_num_from_f64(f, (double)INFINITY, rne), n->over);
        assert_int_equal(kn_num_from_f64(f, (double)INFINITY, sat),
                         n->bits == 8 ? n->max : n->over);
        assert_int_equal(kn_num_from_f64(f, (double)NAN, sat), n->nan);
    }
}

/* Random f32 bits through the compiler's f16 and the usual bf16 formula. */
static void
test_against_host(void **state)
{
    uint32_t x = 1;

    (void)state;
    for (unsigned i = 0; i < 2000000; i++) {
        float v;

        x = x * 1664525 + 1013904223;
        v = kn_bits_f32(x);
        if (isnan(v))
            continue;
        assert_int_equal(kn_num_rne(KN_NUM_BF16, v),
                         (x + 0x7fff + (x >> 16 & 1)) >> 16);
#ifdef __FLT16_MAX__
        {
            __extension__ typedef _Float16 half;
            half h = (half)v;
            uint16_t u;

            memcpy(&u, &h, 2);
            assert_int_equal(kn_num_rne(KN_NUM_F16, v), u);
        }
#endif
    }
}

/* Stochastic: up with the probability of the part cut off. */
static void
test_stochastic(void **state)
{
    struct kn_rounding r = {.mode = KN_SR};
    unsigned up = 0;
    uint32_t x = 7;

    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        x = kn_prng_b32(x);
        r.random = x;
        up += kn_num_from_f64(KN_NUM_E4M3, 1.0 + 0.125 * 0.25, r) == 0x39;
    }
    assert_in_range(up, 24000, 26000);
    r.random = 0;
    assert_int_equal(kn_num_from_f64(KN_NUM_E4M3, 1.12499, r), 0x38);
    r.random = UINT32_MAX;
    assert_int_equal(kn_num_from_f64(KN_NUM_E4M3, 1.0 + 0x1p-30, r), 0x39);
    assert_int_equal(kn_num_from_f64(KN_NUM_E4M3, 1.0, r), 0x38);
    assert_int_equal(kn_num_from_f64(KN_NUM_E4M3, 0, r), 0);
}

static void
test_scaled(void **state)
{
    (void)state;
    assert_int_equal(
        kn_num_from_scaled(KN_NUM_E2M1, 24.0, kn_f32_bits(4.0f), rne), 0x7);
    assert_int_equal(
        kn_num_from_scaled(KN_NUM_E2M1, 24.0, kn_f32_bits(7.9f), rne), 0x7);
    assert_int_equal(
        kn_num_from_scaled(KN_NUM_E4M3, 1.0, 0x7f800000, rne), 0x7f);
    assert_true(kn_num_to_scaled(KN_NUM_E2M1, 0x3, kn_f32_bits(0.5f)) == 0.75);
    assert_true(isnan(kn_num_to_scaled(KN_NUM_E2M1, 0x3, 0x7f800000)));
}

static void
test_extract(void **state)
{
    const uint32_t w[3] = {0x76543210, 0xfedcba98, 0x0f1e2d3c};

    (void)state;
    assert_int_equal(kn_num_extract(w, 9, 4), 0x9);
    assert_int_equal(kn_num_extract(w, 5, 8), 0xba);
    assert_int_equal(kn_num_extract(w, 5, 6), 0x21); /* bits 30..35 */
    assert_int_equal(kn_num_extract(w, 10, 6), 0xf);  /* bits 60..65 */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listed_values),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_against_host),
        cmocka_unit_test(test_stochastic),
        cmocka_unit_test(test_scaled),
        cmocka_unit_test(test_extract),
    };

    return cmocka_run_group_tests_name("num_formats", tests, NULL, NULL);
}
