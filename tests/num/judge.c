/* What the check of results calls right and wrong near the edges of its rule:
 * the terms of bias and beta * C, sums that overflow f32, and the figures
 * printed beside the verdict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "../../runtime/reference/reference.h"

enum { K = 128 };

static struct kn_ctx ctx;

static uint64_t
draw(void)
{
    static uint64_t x = 88172645463325252u;

    x ^= x << 13;
    x ^= x >> 7;
    return x ^= x << 17;
}

/* -most..most */
static float
draw_float(float most)
{
    return most * ((float)(draw() % 2001) - 1000) / 1000;
}

/* ---- bias and beta * C -------------------------------------------------- */

/* One f32 output of K products. */
struct one {
    float a[K], b[K], bias, c;
    struct kn_ref_problem p;
    double want, abssum;
    double least;            /* of abssum */
};

static void
take_reference(struct one *x, double alpha, double beta)
{
    double want;

    x->p = (struct kn_ref_problem){
        .target = KILN_GFX950, .layout = KILN_NT, .m = 1, .n = 1, .k = K,
        .a = { .type = KILN_F32, .data = x->a },
        .b = { .type = KILN_F32, .data = x->b },
        .epilogue = KILN_EPILOGUE_BIAS, .bias = { .data = &x->bias },
        .cin = { .type = KILN_F32, .data = &x->c },
        .alpha = alpha, .beta = beta,
    };

    assert_int_equal(kn_ref_tile(&ctx, &x->p,
                                 &(struct kn_ref_rect){ 0, 0, 1, 1 },
                                 &(struct kn_ref_sums){ &x->want, &x->abssum,
                                                        NULL, false }),
                     KILN_OK);
    assert_int_equal(kn_ref_tile(&ctx, &x->p,
                                 &(struct kn_ref_rect){ 0, 0, 1, 1 },
                                 &(struct kn_ref_sums){ &want, &x->least, NULL,
                                                        true }), KILN_OK);
    assert_memory_equal(&want, &x->want, sizeof want);
    assert_true(x->least <= x->abssum);
}

static bool
is_bad(const struct one *x, float got)
{
    struct kn_ref_check check = { 0 }, later = { 0 };
    struct kn_ref_result r = {
        .target = KILN_GFX950, .out = KILN_F32, .k = K, .got = &got,
        .rect = { 0, 0, 1, 1 }, .value = &x->want, .abssum = &x->abssum,
        .math = x->p.math,
        .a = x->p.a.type,
    };

    kn_ref_compare(&r, &check);
    r.abssum = &x->least;
    assert_int_equal(kn_ref_judge(&ctx, &x->p, &r, &later), KILN_OK);
    assert_memory_equal(&later, &check, sizeof check);
    return check.bad;
}

/* Products that cancel: what is known of the magnitudes at first says wrong. */
static void
sums_that_cancel(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct one x = { .bias = 0 };
        struct kn_ref_check check = { 0 };
        struct kn_ref_result r = { .target = KILN_GFX950, .out = KILN_F32,
            .k = K, .rect = { 0, 0, 1, 1 }, .value = &x.want,
            .abssum = &x.least };
        double tol;
        float got;

        for (int k = 0; k < K; k++) {
            x.a[k] = k % 2 ? -x.a[k - 1] : 1 + draw_float(1) / 2;
            x.b[k] = k % 2 ? x.b[k - 1] : 1 + draw_float(1) / 2;
        }
        x.a[0] += 0.125f;
        take_reference(&x, 1, 0);
        tol = kn_ref_ulp(KILN_F32, KILN_GFX950, x.want) +
              (K / 8 + 16) * 0x1p-24 * x.abssum;
        got = (float)(x.want + 0.99 * tol);
        r.got = &got;
        kn_ref_compare(&r, &check);
        assert_int_equal(check.bad, 1);
        assert_false(is_bad(&x, got));
        assert_true(is_bad(&x, (float)(x.want + 1.01 * tol)));
    }
}

/* Products of less than f32 may be off by more, and by no more than that. */
static void
maths_have_bounds(void **state)
{
    static const struct {
        kiln_math math;
        double unit;
    } row[] = { { KILN_MATH_IEEE, (K / 8 + 16) * 0x1p-24 },
                { KILN_MATH_XF32, (K / 4 + 16) * 0x1p-24 + 0x1p-9 },
                { KILN_MATH_BF16X3, (3 * K / 8 + 16) * 0x1p-24 + 0x1p-15 } };

    (void)state;
    for (int i = 0; i < 90; i++) {
        struct one x = { .bias = 0 };
        double tol;

        for (int k = 0; k < K; k++) {
            x.a[k] = draw_float(1);
            x.b[k] = draw_float(1);
        }
        take_reference(&x, 1, 0);
        x.p.math = row[i % 3].math;
        tol = kn_ref_ulp(KILN_F32, KILN_GFX950, x.want) +
              row[i % 3].unit * x.abssum;
        assert_false(is_bad(&x, (float)(x.want + 0.99 * tol)));
        assert_true(is_bad(&x, (float)(x.want + 1.01 * tol)));
        assert_true(is_bad(&x, (float)(x.want - 1.01 * tol)));
    }
}

/* The sum of K products of f64 as two doubles that do not overlap. */
static double
sum_exactly(const double *a, const double *b, double *rest)
{
    double s = 0, low = 0;

    for (int k = 0; k < K; k++) {
        double p = a[k] * b[k], t = s + p, back = t - s;

        low += fma(a[k], b[k], -p) + ((s - (t - back)) + (p - back));
        s = t;
    }
    *rest = low;
    return s;
}

/* Of products that cancel but for their last bits: the reference knows more than
 * f64 sums do, and holds results of f64 to f64's units. */
static void
f64_has_units_of_its_own(void **state)
{
    unsigned lost = 0;

    (void)state;
    for (int i = 0; i < 30; i++) {
        double a[K], b[K], plain, low, want, abssum, tol, got;
        struct kn_ref_problem p = { .target = KILN_GFX950, .m = 1, .n = 1, .k = K,
            .a = { .type = KILN_F64, .data = a }, .alpha = 1,
            .b = { .type = KILN_F64, .data = b } };
        struct kn_ref_result r = { .target = KILN_GFX950, .out = KILN_F64, .k = K,
            .got = &got, .rect = { 0, 0, 1, 1 }, .value = &want,
            .abssum = &abssum, .a = KILN_F64 };
        struct kn_ref_check near = { 0 }, far = { 0 };

        for (int k = 0; k < K; k++) {
            a[k] = k % 2 ? -a[k - 1] : 1 + (double)(draw() >> 12) * 0x1p-52;
            b[k] = k % 2 ? b[k - 1] * (1 + (double)(draw() % 9) * 0x1p-52)
                         : 1 + (double)(draw() >> 12) * 0x1p-52;
        }
        assert_int_equal(kn_ref_tile(&ctx, &p, &(struct kn_ref_rect){ 0, 0, 1, 1 },
                                     &(struct kn_ref_sums){ &want, &abssum, NULL,
                                                            true }), KILN_OK);
        plain = sum_exactly(a, b, &low);
        lost += fabs(plain - want) > 0x1p-51;
        assert_true(fabs(plain + low - want) <= 0x1p-63 * abssum);
        tol = kn_ref_ulp(KILN_F64, KILN_GFX950, want) +
              (K / 8 + 16) * 0x1p-53 * abssum;
        got = want + 0.99 * tol;
        kn_ref_compare(&r, &near);
        got = want - 1.01 * tol;
        kn_ref_compare(&r, &far);
        assert_int_equal(near.bad, 0);
        assert_int_equal(far.bad, 1);
    }
    assert_in_range(lost, 15, 30);
}

/* The products are small beside bias and C, which nearly cancel: what is right
 * is decided by their terms. */
static void
bias_and_beta_count(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        double alpha = 0.25 * (double)(1 + draw() % 8);
        double beta = draw() % 2 ? 1 : 0.5, sum = 0, tol;
        struct one x = { .bias = draw_float(1000) };

        x.c = (float)((double)-x.bias / beta) + draw_float(1);
        for (int k = 0; k < K; k++) {
            x.a[k] = draw_float(0.01f);
            x.b[k] = draw_float(0.01f);
            sum += fabs((double)x.a[k] * (double)x.b[k]);
        }
        take_reference(&x, alpha, beta);
        sum = alpha * sum + fabs((double)x.bias) + beta * fabs((double)x.c);
        tol = kn_ref_ulp(KILN_F32, KILN_GFX950, x.want) +
              (K / 8 + 16) * 0x1p-24 * sum;
        assert_false(is_bad(&x, (float)(x.want + 0.99 * tol)));
        assert_false(is_bad(&x, (float)(x.want - 0.99 * tol)));
        assert_true(is_bad(&x, (float)(x.want + 1.01 * tol)));
        assert_true(is_bad(&x, (float)(x.want - 1.01 * tol)));
    }
}

/* ---- squares ------------------------------------------------------------ */

/* Squares of an output, taken in parts that cross them, and more of them than
 * are kept; then all of one, which goes. */
static void
squares_are_the_whole(void **state)
{
    enum { M = 1100, N = 26000, D = 3 };
    static float a[M][D], b[N][D];
    struct kn_ref_problem p = {
        .target = KILN_GFX950, .layout = KILN_NT, .m = M, .n = N, .k = D,
        .a = { .type = KILN_F32, .data = a },
        .b = { .type = KILN_F32, .data = b }, .alpha = 1,
    };
    struct kn_ref_cells cells = { .p = &p, .least = true };
    struct kn_ref_rect r = { 500, 0, 20, 12 };
    double v[240], sum[240], value[240], least[240];
    uint8_t both[240];

    (void)state;
    for (int i = 0; i < N * D; i++) {
        b[i / D][i % D] = draw_float(1);
        a[i / D % M][i % D] = draw_float(1);
    }
    for (int i = 0; i < 160; i++) {
        r.n0 = (i * 509 + 505) % (N - 12);
        assert_int_equal(kn_ref_tile(&ctx, &p, &r, &(struct kn_ref_sums){
            v, sum, NULL, false }), KILN_OK);
        assert_int_equal(kn_ref_take(&ctx, &cells, &r, &(struct kn_ref_sums){
            value, least, both, true }), KILN_OK);
        assert_memory_equal(value, v, sizeof v);
        for (int k = 0; k < 240; k++)
            assert_true(least[k] <= sum[k]);
    }
    assert_non_null(cells.first);
    kn_ref_cells_free(&cells);
    for (r = (struct kn_ref_rect){ 0, 0, 16, 8 }; r.n0 < 512; r.n0 += 8)
        for (r.m0 = 0; r.m0 < 512; r.m0 += 16)
            assert_int_equal(kn_ref_take(&ctx, &cells, &r,
                                         &(struct kn_ref_sums){
                value, least, both, true }), KILN_OK);
    assert_null(cells.first);
}

/* ---- overflow ----------------------------------------------------------- */

/* Two products of four numbers, each code * 2^e; the first and the last of K,
 * and of a block. */
struct pair {
    float a[2];
    int e[2];                /* of A's scale, the other's is 2^127 */
    bool both;
};

static uint8_t
fp8(float x)
{
    return (uint8_t)kn_ref_encode(KILN_MXFP8, KILN_GFX950, (double)x);
}

/* Where x stands in a tile of 70 columns x 3 rows: beyond one panel. */
static void
take_overflow(const struct pair *x, double *want, double *abssum,
              uint8_t *both)
{
    enum { ROWS = 3, COLS = 70, BLOCKS = K / 32 };
    static uint8_t a[ROWS][K], b[COLS][K], sa[ROWS][BLOCKS], sb[COLS][BLOCKS];
    static double v[ROWS * COLS], s[ROWS * COLS];
    static uint8_t f[ROWS * COLS], again[ROWS * COLS];
    const struct kn_ref_rect all = { 0, 0, ROWS, COLS };
    struct kn_ref_problem p = {
        .target = KILN_GFX950, .layout = KILN_NT, .scale = KILN_SCALE_MX32,
        .m = ROWS, .n = COLS, .k = K, .alpha = 0.5,
        .a = { .type = KILN_MXFP8, .data = a },
        .b = { .type = KILN_MXFP8, .data = b },
        .sa = { .data = sa }, .sb = { .data = sb },
    };

    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    memset(sa, 127, sizeof sa);
    memset(sb, 254, sizeof sb);
    a[1][0] = fp8(x->a[0]);
    a[1][K - 1] = fp8(x->a[1]);
    b[67][0] = b[67][K - 1] = fp8(1);
    sa[1][0] = (uint8_t)(127 + x->e[0]);
    sa[1][BLOCKS - 1] = (uint8_t)(127 + x->e[1]);
    assert_int_equal(kn_ref_tile(&ctx, &p, &all, &(struct kn_ref_sums){
        v, s, again, true }), KILN_OK);
    assert_int_equal(kn_ref_tile(&ctx, &p, &all, &(struct kn_ref_sums){
        v, s, f, false }), KILN_OK);
    assert_memory_equal(again, f, sizeof f);
    for (int i = 0; i < ROWS * COLS; i++)
        if (i != COLS + 67)
            assert_int_equal(f[i], 0);
    *want = v[COLS + 67];
    *abssum = s[COLS + 67];
    *both = f[COLS + 67];
}

static struct kn_ref_check
judge(double want, double abssum, uint8_t both, float got)
{
    struct kn_ref_check check = { 0 };
    struct kn_ref_result r = {
        .target = KILN_GFX950, .out = KILN_F32, .k = K, .got = &got,
        .rect = { 0, 0, 1, 1 }, .value = &want, .abssum = &abssum,
        .both = &both,
    };

    kn_ref_compare(&r, &check);
    return check;
}

/* The largest f32 is just below 2 * 2^127. */
static const struct pair pairs[] = {
    { { 448, -448 }, { 127, 127 }, true },   /* E8M0 254 on both sides */
    { { 448, -256 }, { 0, 0 }, true },
    { { -2, 2 }, { 0, 0 }, true },
    { { 2, -1.875f }, { 0, 0 }, false },     /* below f32's largest */
    { { -2, 1.875f }, { 0, 0 }, false },
    { { 448, 448 }, { 127, 127 }, false },   /* of one sign */
    { { -448, 448 }, { 127, -127 }, false }, /* beside it, f64 loses one */
    { { 448, -1 }, { 127, -120 }, false },
    { { 1, -1 }, { 0, 0 }, false },
};

static void
nan_needs_overflow_of_both_signs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct kn_ref_check k;
        double want, abssum;
        uint8_t both;

        take_overflow(&pairs[i], &want, &abssum, &both);
        if (both != pairs[i].both)
            fail_msg("pair %zu", i);
        k = judge(want, abssum, both, NAN);
        assert_int_equal(k.overflowed, both);
        assert_int_equal(k.bad, !both);
    }
}

/* The rule is about NaN alone, and leaves nothing else out. */
static void
overflow_excuses_nothing_else(void **state)
{
    double big = 0x1p200, sum = 0x1p201;

    (void)state;
    assert_int_equal(judge(big, sum, 1, INFINITY).bad, 0);
    assert_int_equal(judge(big, sum, 1, INFINITY).overflowed, 0);
    assert_int_equal(judge(big, sum, 1, -INFINITY).bad, 1);
    assert_int_equal(judge(big, sum, 1, 1).bad, 1);
    assert_int_equal(judge(big, sum, 0, NAN).bad, 1);
    assert_int_equal(judge(INFINITY, INFINITY, 0, NAN).bad, 1);
    assert_int_equal(judge((double)NAN, sum, 1, INFINITY).bad, 1);
    assert_int_equal(judge((double)NAN, sum, 1, NAN).overflowed, 0);
}

/* A sum that cancels under a scale which that made tiny may be beyond either end of a type
 * that has NaN there, and any code in between; beyond one end it is NaN alone. */
static void
a_code_between_two_ends(void **state)
{
    const struct kn_ref_result r = {
        .target = KILN_GFX950, .out = KILN_FP8, .k = K, .scale = 0x1p-126 };
    const struct kn_ref_want zero = { 0, 3514, 0 }, beyond = { 1, 3514, 0 };

    (void)state;
    for (uint32_t code = 0; code < 256; code++)
        assert_true(kn_ref_code_right(&r, code, &zero));
    for (uint32_t code = 0; code < 256; code++)
        assert_int_equal(kn_ref_code_right(&r, code, &beyond),
                         (code & 0x7f) == 0x7f);
}

/* ---- figures ------------------------------------------------------------ */

static struct kn_ref_check
compare(const double *want, const float *got, int64_t n)
{
    static const double abssum[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    static const uint8_t both[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    struct kn_ref_check check = { 0 };
    struct kn_ref_result r = {
        .target = KILN_GFX950, .out = KILN_F32, .k = K, .got = got,
        .rect = { 0, 0, 1, n }, .value = want, .abssum = abssum,
        .both = both,
    };

    kn_ref_compare(&r, &check);
    return check;
}

static void
figures_by_hand(void **state)
{
    const double want[4] = { 3, 4, 0, 0 };
    const float off[4] = { 3, 4, 0.5f, 0 }, turned[4] = { 4, -3, 0, 0 };
    const float same[4] = { 3, 4, 0, 0 }, lost[4] = { 3, NAN, 0, 0 };
    const float endless[4] = { 3, INFINITY, 0, 0 };
    const double over[4] = { 3, 4, 0x1p200, 0x1p200 };
    const float right[4] = { 3, 4, INFINITY, NAN };
    struct kn_ref_check k = compare(want, off, 4);

    (void)state;
    assert_true(fabs(kn_ref_snr(&k) - 20) < 1e-12);  /* 25 / 0.25 */
    assert_true(fabs(kn_ref_cosine(&k) - 5 / sqrt(25.25)) < 1e-12);
    k = compare(want, turned, 4);
    assert_true(fabs(kn_ref_cosine(&k)) < 1e-12);
    k = compare(want, same, 4);
    assert_true(isinf(kn_ref_snr(&k)) && kn_ref_snr(&k) > 0);
    assert_true(fabs(kn_ref_cosine(&k) - 1) < 1e-12);
    k = compare(want + 2, same + 2, 2);
    assert_true(kn_ref_cosine(&k) == 1);
    k = compare(over, right, 4);
    assert_true(!k.bad && k.overflowed == 1 && isinf(kn_ref_snr(&k)));
    assert_true(fabs(kn_ref_cosine(&k) - 1) < 1e-12);
    k = compare(want, endless, 4);
    assert_true(k.bad == 1 && kn_ref_snr(&k) < 0 && isinf(kn_ref_snr(&k)));
    k = compare(&(const double){ (double)NAN }, &(const float){ 1 }, 1);
    assert_true(k.bad == 1 && isnan(kn_ref_snr(&k)));
    k = compare(want, lost, 4);
    assert_true(k.overflowed == 1);
}

/* Integers that wrap are no error. */
static void
wrapped_integers(void **state)
{
    const double want[2] = { 4294967301.0, -7 }, abssum[2] = { 1, 1 };
    const int32_t right[2] = { 5, -7 }, wrong[2] = { 5, -5 };
    struct kn_ref_check k = { 0 };
    struct kn_ref_result r = {
        .target = KILN_GFX950, .out = KILN_I32, .k = K, .got = right,
        .rect = { 0, 0, 1, 2 }, .value = want, .abssum = abssum,
    };

    (void)state;
    kn_ref_compare(&r, &k);
    assert_true(!k.bad && k.max_abs == 0 && k.max_tile_rel == 0);
    r.got = wrong;
    kn_ref_compare(&r, &k);
    assert_true(k.bad == 1 && k.max_abs == 2);
}

static int
open_ctx(void **state)
{
    (void)state;
    kn_ctx_init(&ctx, NULL, NULL);
    return 0;
}

static int
close_ctx(void **state)
{
    (void)state;
    kn_ctx_free(&ctx);
    return 0;
}

/* Nothing is added to a sum without C: a zero times a negative alpha stays one. */
static void
a_zero_has_a_sign(void **state)
{
    const float a = 0, b = 1;
    const double wide_a = 0, wide_b = 1;

    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        kiln_type t = wide ? KILN_F64 : KILN_F32;
        struct kn_ref_problem p = {
            .target = KILN_GFX950, .m = 1, .n = 1, .k = 1, .alpha = -1,
            .a = { .type = t, .data = wide ? (const void *)&wide_a : &a },
            .b = { .type = t, .data = wide ? (const void *)&wide_b : &b } };
        const struct kn_ref_rect all = { 0, 0, 1, 1 };
        double value, abssum;

        assert_int_equal(kn_ref_tile(&ctx, &p, &all, &(struct kn_ref_sums){
            .value = &value, .abssum = &abssum }), KILN_OK);
        assert_true(value == 0 && signbit(value));
    }
}

/* Of more K than are added at once: it stays, with either sign, until the other comes. */
static void
an_infinite_f64_stays(void **state)
{
    enum { MANY = 2000, LATE = 1700 };
    static double a[3][MANY], b[MANY];
    struct kn_ref_problem p = {
        .target = KILN_GFX950, .layout = KILN_NT, .m = 3, .n = 1, .k = MANY, .alpha = 1,
        .a = { .type = KILN_F64, .data = a }, .b = { .type = KILN_F64, .data = b } };
    const struct kn_ref_rect all = { 0, 0, 3, 1 };
    double v[3], s[3];

    (void)state;
    for (int k = 0; k < MANY; k++)
        a[0][k] = a[1][k] = a[2][k] = b[k] = 1;
    a[0][3] = a[2][3] = INFINITY;
    a[1][3] = a[2][LATE] = -INFINITY;
    assert_int_equal(kn_ref_tile(&ctx, &p, &all, &(struct kn_ref_sums){
        .value = v, .abssum = s }), KILN_OK);
    assert_true(v[0] > DBL_MAX && v[1] < -DBL_MAX && isnan(v[2]));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bias_and_beta_count),
        cmocka_unit_test(sums_that_cancel),
        cmocka_unit_test(maths_have_bounds),
        cmocka_unit_test(f64_has_units_of_its_own),
        cmocka_unit_test(an_infinite_f64_stays),
        cmocka_unit_test(squares_are_the_whole),
        cmocka_unit_test(nan_needs_overflow_of_both_signs),
        cmocka_unit_test(overflow_excuses_nothing_else),
        cmocka_unit_test(a_code_between_two_ends),
        cmocka_unit_test(figures_by_hand),
        cmocka_unit_test(wrapped_integers),
        cmocka_unit_test(a_zero_has_a_sign),
    };

    return cmocka_run_group_tests_name("judge", tests, open_ctx, close_ctx);
}
