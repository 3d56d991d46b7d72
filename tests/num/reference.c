/* The numeric reference: formats, sums, comparison. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/reference/reference.h"
#include "../../runtime/sim/num.h"
#include "element.h"

/* The simulator's name of a format, to hold the two implementations against
 * each other; -1: it has none. */
static int
sim_format(kiln_type t, kiln_target target)
{
    switch (t) {
    case KILN_F16:
        return KN_NUM_F16;
    case KILN_BF16:
        return KN_NUM_BF16;
    case KILN_FP8:
        return kn_num_fp8(target);
    case KILN_BF8:
        return kn_num_bf8(target);
    case KILN_MXFP8:
        return KN_NUM_E4M3;
    case KILN_MXBF8:
        return KN_NUM_E5M2;
    case KILN_MXFP6:
        return KN_NUM_E2M3;
    case KILN_MXBF6:
        return KN_NUM_E3M2;
    case KILN_MXFP4:
        return KN_NUM_E2M1;
    default:
        return -1;
    }
}

static bool
same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void
test_formats_agree(void **state)
{
    uint64_t x = 3;

    (void)state;
    for (unsigned t = 0; t < KILN_NTYPES; t++)
        for (unsigned target = KILN_GFX942; target <= KILN_GFX950; target++) {
            int f = sim_format((kiln_type)t, (kiln_target)target);
            uint32_t codes = f < 0 ? 0 : 1u << kn_num_format[f].bits;

            for (uint32_t c = 0; c < codes; c++) {
                double v = kn_ref_decode((kiln_type)t, (kiln_target)target, c);

                assert_true(same(v, kn_num_to_f64((enum kn_num)f, c)));
                x = x * 6364136223846793005u + 1442695040888963407u;
                if (isnan(v))
                    continue;
                v = v * (1 + ldexp((double)(x >> 40), -28));
                assert_int_equal(
                    kn_ref_encode((kiln_type)t, (kiln_target)target, v),
                    kn_num_from_f64((enum kn_num)f, v,
                                    (struct kn_rounding){0}));
            }
        }
}

static void
test_format_limits(void **state)
{
    (void)state;
    assert_true(kn_ref_max(KILN_FP8, KILN_GFX942) == 240);
    assert_true(kn_ref_max(KILN_FP8, KILN_GFX950) == 448);
    assert_true(kn_ref_max(KILN_BF8, KILN_GFX942) == 57344);
    assert_true(kn_ref_max(KILN_MXFP6, KILN_GFX950) == 7.5);
    assert_true(kn_ref_max(KILN_F16, KILN_GFX950) == 65504);
    assert_true(kn_ref_ulp(KILN_BF16, KILN_GFX950, 1.0) == 0x1p-7);
    assert_true(kn_ref_ulp(KILN_BF16, KILN_GFX950, -1.99) == 0x1p-7);
    assert_true(kn_ref_ulp(KILN_F32, KILN_GFX950, 0) == 0x1p-149);
    assert_int_equal(kn_ref_encode(KILN_F16, KILN_GFX950, 65520.0), 0x7c00);
    assert_int_equal(kn_ref_encode(KILN_F16, KILN_GFX950, 65519.0), 0x7bff);
    assert_int_equal(kn_ref_encode(KILN_F32, KILN_GFX950, 1.0 + 0x1p-24),
                     0x3f800000);
    assert_int_equal(kn_ref_encode(KILN_I8, KILN_GFX950, 2.5), 2);
    assert_int_equal(kn_ref_encode(KILN_I8, KILN_GFX950, -200), 0x80);
}

static struct kn_ctx ctx;

#define SUMS(value, abssum)                                                   \
    (&(struct kn_ref_sums){ value, abssum, NULL, false })

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

/* 2 x 2 x 3 by hand: A = {1 2 3; 4 5 6}, B rows (columns of the product)
 * {1 0 -1; 2 1 0.5}, sa = {2, 0.5}, sb = {1, 4}. */
static void
test_by_hand(void **state)
{
    const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, -1, 2, 1, 0.5f};
    const float sa[] = {2, 0.5f}, sb[] = {1, 4}, bias[] = {10, 20};
    const float cin[] = {1, 2, 3, 4};
    struct kn_ref_problem p = {
        .target = KILN_GFX950, .layout = KILN_NT, .scale = KILN_SCALE_ROW,
        .m = 2, .n = 2, .k = 3,
        .a = {.type = KILN_F32, .data = a}, .b = {.type = KILN_F32, .data = b},
        .cin = {.type = KILN_F32, .data = cin}, .sa = {.data = sa},
        .sb = {.data = sb}, .epilogue = KILN_EPILOGUE_BIAS,
        .bias = {.data = bias}, .alpha = -1, .beta = 0.5};
    const struct kn_ref_rect all = {0, 0, 2, 2};
    double v[4], s[4];

    (void)state;
    assert_int_equal(kn_ref_tile(&ctx, &p, &all, SUMS(v, s)), KILN_OK);
    /* products: -2, 5.5; -2, 16; scaled -4, 44; -1, 32 */
    assert_true(v[0] == 4 + 10 + 0.5 && v[1] == -44 + 20 + 1);
    assert_true(v[2] == 1 + 10 + 1.5 && v[3] == -32 + 20 + 2);
    assert_true(s[0] == 8 + 10 + 0.5 && s[1] == 44 + 20 + 1);
    assert_true(s[2] == 5 + 10 + 1.5 && s[3] == 32 + 20 + 2);
}

/* A row of 130: 128 K whose largest magnitude is 254 and a group of two,
 * times the columns of the identity that B's rows are. */
static void
test_quantised_by_hand(void **state)
{
    static const struct {
        kiln_type type;
        double most, want[5];    /* of K 0, 1, 2, 128, 129 */
    } rows[] = {
        /* scale 2: 3.9 -> 1, -5.9 -> -2; scale 0.25 / 127: 0.1 -> 50 */
        { KILN_I8, 254, { 254, 2, -4, 0.25, 50 * 0.25 / 127 } },
        /* scale 2: 1.95 -> 2, -2.95 -> -3; 0.1 * 1792 = 179.2 -> 176 */
        { KILN_FP8, 896, { 896, 4, -6, 0.25, 176 / 1792.0 } },
    };
    const uint8_t one[] = { [KILN_I8] = 1, [KILN_FP8] = 0x38 };
    const struct kn_ref_rect all = {0, 0, 1, 5};

    (void)state;
    for (int i = 0; i < 2; i++) {
        float a[130] = {(float)rows[i].most, 3.9f, -5.9f, [128] = 0.25f, 0.1f};
        uint8_t b[5][130] = {{0}};
        struct kn_ref_problem p = {
            .target = KILN_GFX950, .layout = KILN_NT, .quantise = true,
            .scale = KILN_SCALE_TENSOR, .m = 1, .n = 5, .k = 130,
            .a = {.type = KILN_F32, .data = a},
            .b = {.type = rows[i].type, .data = b}, .alpha = 1};
        double v[5], s[5];

        for (int j = 0; j < 5; j++)
            b[j][j < 3 ? j : 125 + j] = one[rows[i].type];
        assert_int_equal(kn_ref_tile(&ctx, &p, &all, SUMS(v, s)), KILN_OK);
        for (int j = 0; j < 5; j++)
            assert_true(fabs(v[j] - rows[i].want[j]) <
                        1e-6 * fabs(rows[i].want[j]));
        a[1] = INFINITY;         /* makes its group NaN, not the next */
        assert_int_equal(kn_ref_tile(&ctx, &p, &all, SUMS(v, s)), KILN_OK);
        assert_true(isnan(v[0]) && isnan(v[2]));
        p.k = 128;
        a[1] = 0;
        assert_int_equal(kn_ref_tile(&ctx, &p, &all, SUMS(v, s)), KILN_OK);
        assert_true(v[0] > 253 && v[1] == 0);
    }
}

/* A row of 34: 32 K whose largest magnitude is 7 and a block of two, times the
 * columns of the identity that B's rows are. fp4 is 0 .5 1 1.5 2 3 4 6. */
static void
test_mx_quantised_by_hand(void **state)
{
    static const double want[4][5] = { /* of K 0, 1, 2, 32, 33 */
        { 6, 1, -2, 0.1875, -0.125 },  /* floor: 1; 2^-5 */
        { 8, 1, -2, 0.1875, -0.125 },  /* round-up: 2; 2^-5 */
        { 8, 1, -2, 0.1875, -0.125 },  /* even: 7 rounds to 8: 2; 2^-5 */
        { 8, 1, -2, 0.1875, -0.125 },  /* ceil: 2; 2^-4 */
    };
    const struct kn_ref_rect all = {0, 0, 1, 5};

    (void)state;
    for (int mode = 0; mode < 4; mode++) {
        float a[34] = {7, 1.25f, -1.75f, [32] = 0.1875f, -0.125f};
        uint8_t b[5][17] = {{0}}, sb[5][2];
        struct kn_ref_problem p = {
            .target = KILN_GFX950, .layout = KILN_NT,
            .quantise_mx = (uint8_t)(1 + mode), .scale = KILN_SCALE_MX32,
            .m = 1, .n = 5, .k = 34, .a = {.type = KILN_F32, .data = a},
            .b = {.type = KILN_MXFP4, .data = b},
            .sb = {.type = KILN_MXFP4, .data = sb}, .alpha = 1};
        double v[5], s[5];

        memset(sb, 127, sizeof sb);
        for (int j = 0; j < 5; j++) {
            int k = j < 3 ? j : 29 + j;

            b[j][k / 2] = (uint8_t)(2 << k % 2 * 4);
        }
        assert_int_equal(kn_ref_tile(&ctx, &p, &all, SUMS(v, s)), KILN_OK);
        for (int j = 0; j < 5; j++)
            if (v[j] != want[mode][j])
                fail_msg("mode %d, column %d: %g", mode, j, v[j]);
        a[1] = NAN;              /* makes its block NaN, not the next */
        assert_int_equal(kn_ref_tile(&ctx, &p, &all, SUMS(v, s)), KILN_OK);
        assert_true(isnan(v[0]) && isnan(v[2]));
        memset(a, 0, sizeof a);
        assert_int_equal(kn_ref_tile(&ctx, &p, &all, SUMS(v, s)), KILN_OK);
        assert_true(v[0] == 0 && v[3] == 0);
    }
}

struct shape {
    kiln_type a, b;
    kiln_layout layout;
    kiln_scale scale;
    int64_t m, n, k, pad;
    bool powers;             /* 128-blocks: scales are E8M0 */
};

/* Operand data of a shape, and the rectangle's problem over them. */
struct setup {
    struct kn_data a, b, sa, sb, bias, cin;
    struct kn_ref_problem p;
};

/* Of gfx950 until told otherwise. */
static struct kn_data
tensor(uint32_t operand, kiln_type type, int64_t rows, int64_t cols,
       int64_t ld)
{
    struct kn_data d = {.seed = 42, .operand = operand, .type = type,
                        .target = KILN_GFX950, .batches = 1, .rows = rows,
                        .cols = cols};

    kn_data_shape(&d, ld, 0);
    return d;
}

static struct kn_ref_tensor
view(struct kn_data *d, int64_t ld)
{
    return (struct kn_ref_tensor){
        .type = d->type, .fetch = kn_data_fill, .user = d, .ld = ld};
}

static void
make(struct setup *u, const struct shape *s, kiln_target target)
{
    bool tn = s->layout == KILN_TN, nt = s->layout == KILN_NT;
    bool mx = s->scale == KILN_SCALE_MX32;
    int64_t w = mx ? 32 : 128, q = (s->k + w - 1) / w;
    bool block = s->scale == KILN_SCALE_BLOCK128;
    bool whole = s->scale == KILN_SCALE_TENSOR;
    kiln_type st = mx || s->powers ? KILN_MXFP8 : KILN_F32;
    int64_t lda = (tn ? s->m : s->k) + s->pad;
    int64_t ldb = (nt ? s->k : s->n) + s->pad;

    u->a = tensor(0, s->a, tn ? s->k : s->m, tn ? s->m : s->k, lda);
    u->b = tensor(1, s->b, nt ? s->n : s->k, nt ? s->k : s->n, ldb);
    u->sa = tensor(2, st, whole ? 1 : s->m, mx || block ? q : 1, 0);
    u->sb = tensor(3, st, whole   ? 1
                   : block ? (s->n + 127) / 128
                           : s->n,
                   mx || block ? q : 1, 0);
    u->a.target = u->b.target = target;
    u->sa.scale = u->sb.scale = true;
    kn_data_shape(&u->sa, 0, 0);
    kn_data_shape(&u->sb, 0, 0);
    u->bias = tensor(4, KILN_F32, 1, s->n, 0);
    u->cin = tensor(5, KILN_BF16, s->m, s->n, s->n + 3);
    u->p = (struct kn_ref_problem){
        .target = target, .layout = s->layout, .scale = s->scale, .powers = s->powers, .m = s->m,
        .n = s->n, .k = s->k, .a = view(&u->a, lda), .b = view(&u->b, ldb),
        .epilogue = KILN_EPILOGUE_BIAS, .bias = view(&u->bias, 0), .cin = view(&u->cin, s->n + 3),
        .alpha = 0.75, .beta = 2};
    if (s->scale != KILN_SCALE_NONE) {
        u->p.sa = view(&u->sa, 0);
        u->p.sb = view(&u->sb, 0);
    }
}

static double
scale_at(const struct setup *u, bool b, int64_t i, int64_t k)
{
    const struct kn_data *d = b ? &u->sb : &u->sa;

    switch (u->p.scale) {
    case KILN_SCALE_TENSOR:
        return element(d, 0, 0);
    case KILN_SCALE_ROW:
        return element(d, i, 0);
    case KILN_SCALE_BLOCK128:
        return element(d, b ? i / 128 : i, k / 128);
    case KILN_SCALE_MX32:
        return element(d, i, k / 32);
    default:
        return 1;
    }
}

/* Straight from the definition, one element. */
static void
brute(const struct setup *u, int64_t m, int64_t n, double *v, double *s)
{
    bool tn = u->p.layout == KILN_TN, nt = u->p.layout == KILN_NT;
    double bias, c;

    *v = *s = 0;
    for (int64_t k = 0; k < u->p.k; k++) {
        double a = tn ? element(&u->a, k, m) : element(&u->a, m, k);
        double b = nt ? element(&u->b, n, k) : element(&u->b, k, n);
        double p = a * scale_at(u, false, m, k) * b * scale_at(u, true, n, k);

        *v += p;
        *s += fabs(p);
    }
    bias = element(&u->bias, 0, n);
    c = u->p.beta * element(&u->cin, m, n);
    *v = *v * u->p.alpha + bias + c;
    *s = *s * fabs(u->p.alpha) + fabs(bias) + fabs(c);
}

static const struct shape shapes[] = {
    {KILN_BF16, KILN_BF16, KILN_NT, KILN_SCALE_NONE, 70, 67, 600, 0, false},
    {KILN_F16, KILN_BF16, KILN_NN, KILN_SCALE_NONE, 9, 131, 33, 5, false},
    {KILN_F16, KILN_F16, KILN_TN, KILN_SCALE_NONE, 33, 20, 517, 3, false},
    {KILN_FP8, KILN_BF8, KILN_NT, KILN_SCALE_ROW, 17, 19, 130, 2, false},
    {KILN_FP8, KILN_FP8, KILN_NN, KILN_SCALE_TENSOR, 17, 19, 130, 2, false},
    {KILN_FP8, KILN_FP8, KILN_NT, KILN_SCALE_BLOCK128, 5, 140, 700, 0, false},
    {KILN_BF8, KILN_FP8, KILN_TN, KILN_SCALE_BLOCK128, 30, 150, 260, 1, false},
    {KILN_FP8, KILN_BF8, KILN_NT, KILN_SCALE_BLOCK128, 5, 140, 700, 0, true},
    {KILN_MXFP8, KILN_MXBF8, KILN_NT, KILN_SCALE_MX32, 11, 12, 530, 0, false},
    {KILN_MXFP8, KILN_MXFP8, KILN_NN, KILN_SCALE_MX32, 11, 12, 70, 0, false},
    {KILN_MXFP6, KILN_MXBF6, KILN_NT, KILN_SCALE_MX32, 11, 12, 545, 0, false},
    {KILN_MXFP4, KILN_MXFP4, KILN_NT, KILN_SCALE_MX32, 11, 12, 531, 7, false},
    {KILN_MXFP4, KILN_MXFP6, KILN_NT, KILN_SCALE_MX32, 3, 70, 33, 5, false},
    {KILN_F32, KILN_F32, KILN_NT, KILN_SCALE_NONE, 8, 8, 40, 1, false},
    {KILN_I8, KILN_I8, KILN_NT, KILN_SCALE_NONE, 8, 8, 1000, 1, false},
    {KILN_BF16, KILN_BF16, KILN_NT, KILN_SCALE_NONE, 3, 3, 0, 0, false},
};

/* The same values and no larger magnitudes. */
static void
check_least(const struct kn_ref_problem *p, const double *v, const double *a)
{
    const struct kn_ref_rect all = {0, 0, p->m, p->n};
    size_t n = (size_t)(p->m * p->n);
    double *x = malloc(2 * n * sizeof *x), *y = x + n;

    assert_int_equal(kn_ref_tile(&ctx, p, &all, &(struct kn_ref_sums){
        x, y, NULL, true }), KILN_OK);
    assert_memory_equal(x, v, n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        assert_true(y[i] <= a[i] && y[i] >= 0);
    free(x);
}

static void
check_shape(const struct shape *s, kiln_target target)
{
    static struct setup u;
    const struct kn_ref_rect all = {0, 0, s->m, s->n};
    size_t count = (size_t)(s->m * s->n);
    double *v = malloc(count * sizeof *v), *a = malloc(count * sizeof *a);

    make(&u, s, target);
    assert_int_equal(kn_ref_tile(&ctx, &u.p, &all, SUMS(v, a)), KILN_OK);
    for (int64_t m = 0; m < s->m; m++)
        for (int64_t n = 0; n < s->n; n++) {
            double want, sum;

            brute(&u, m, n, &want, &sum);
            assert_true(fabs(v[m * s->n + n] - want) <= 1e-14 * (sum + 30));
            assert_true(fabs(a[m * s->n + n] - sum) <= 1e-13 * sum);
        }
    check_least(&u.p, v, a);
    free(v);
    free(a);
}

static void
test_against_definition(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        check_shape(&shapes[i], KILN_GFX942);
        check_shape(&shapes[i], KILN_GFX950);
    }
}

/* Any rectangle and any number of threads: the same bits. */
static void
test_rectangles(void **state)
{
    const struct shape s = {KILN_BF16,       KILN_BF16, KILN_NT,
                            KILN_SCALE_NONE, 200,       170, 1100, 0, false};
    const struct kn_ref_rect all = {0, 0, 200, 170}, part = {61, 33, 90, 75};
    static double v[200 * 170], a[200 * 170], pv[90 * 75], pa[90 * 75];
    static struct setup u;

    (void)state;
    make(&u, &s, KILN_GFX950);
    u.p.threads = 3;
    assert_int_equal(kn_ref_tile(&ctx, &u.p, &all, SUMS(v, a)), KILN_OK);
    u.p.threads = 1;
    assert_int_equal(kn_ref_tile(&ctx, &u.p, &part,
                                 SUMS(pv, pa)), KILN_OK);
    for (int i = 0; i < 90; i++) {
        assert_memory_equal(pv + i * 75, v + (61 + i) * 170 + 33,
                            75 * sizeof *v);
        assert_memory_equal(pa + i * 75, a + (61 + i) * 170 + 33,
                            75 * sizeof *a);
    }
}

/* A context keeps its first error, so each refusal has its own. */
static kiln_status
try_tile(const struct kn_ref_problem *p, const struct kn_ref_rect *r)
{
    double v[256], a[256];
    struct kn_ctx c;
    kiln_status status;

    kn_ctx_init(&c, NULL, NULL);
    status = kn_ref_tile(&c, p, r, SUMS(v, a));
    if (status)
        assert_true(strlen(c.err.text) > 10);
    kn_ctx_free(&c);
    return status;
}

static void
test_refused(void **state)
{
    const struct shape s = {KILN_MXFP4,      KILN_MXFP4, KILN_NT,
                            KILN_SCALE_MX32, 16,         16, 64, 0, false};
    struct kn_ref_rect r = {0, 8, 16, 9};
    static struct setup u;

    (void)state;
    make(&u, &s, KILN_GFX950);
    assert_int_equal(try_tile(&u.p, &r), KILN_BAD_INPUT);
    r.cols = 8;
    assert_int_equal(try_tile(&u.p, &r), KILN_OK);
    u.p.layout = KILN_NN;
    assert_int_equal(try_tile(&u.p, &r), KILN_UNSUPPORTED);
    u.p.layout = KILN_NT;
    u.p.cin.fetch = NULL;
    assert_int_equal(try_tile(&u.p, &r), KILN_BAD_INPUT);
}

/* Results of one rectangle for compare: values, and their encoding. */
static void
encode_all(const struct kn_ref_result *r, void *got)
{
    unsigned bytes = kn_ref_type_bits(r->out) / 8;

    for (int64_t i = 0; i < r->rect.rows * r->rect.cols; i++) {
        uint64_t c = kn_ref_encode(r->out, r->target, r->value[i]);

        memcpy((uint8_t *)got + (size_t)i * bytes, &c, bytes);
    }
}

/* One wrong element in one of ten thousand tiles. */
static void
test_finds_one_tile(void **state)
{
    enum { N = 1600 };
    const struct kn_ref_rect all = {0, 0, N, N};
    double *v = malloc(sizeof *v * N * N), *a = malloc(sizeof *a * N * N);
    uint16_t *got = malloc(sizeof *got * N * N);
    struct kn_ref_result r = {KILN_GFX950, KILN_BF16, 1024, false, got, 0,
                              all,         v,         a,    NULL, 0, false,
                              KILN_OUT_PLAIN, false, 0, NULL, KILN_MATH_IEEE, KILN_BF16,
                              false, 0, 0, NULL};
    struct kn_ref_check good = {0}, bad = {0};

    (void)state;
    for (int i = 0; i < N * N; i++) {
        v[i] = sin(i * 0.37) * 30;
        a[i] = 300;
    }
    encode_all(&r, got);
    kn_ref_compare(&r, &good);
    assert_int_equal(good.elements, N * N);
    assert_int_equal(good.bad, 0);
    assert_true(good.max_tile_rel < 0x1p-8);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            got[(816 + i) * N + 1120 + j] = 0;
    kn_ref_compare(&r, &bad);
    assert_in_range(bad.bad, 200, 256);
    assert_true(bad.max_tile_rel == 1);
    assert_in_range(bad.bad_m, 816, 831);
    assert_in_range(bad.bad_n, 1120, 1135);
    free(v);
    free(a);
    free(got);
}

struct verdict {
    kiln_type out;
    double want, abssum;
    uint32_t got;
    bool right, exact_right;
};

static void
test_rule(void **state)
{
    /* k = 128: (128/8 + 16) * 2^-24 = 2^-19 */
    static const struct verdict list[] = {
        {KILN_F32, 1.0, 0, 0x3f800000, true, true},
        {KILN_F32, 1.0, 0, 0x3f800001, true, false},
        {KILN_F32, 1.0, 0, 0x3f800002, false, false},
        {KILN_F32, 1.0, 0, 0x3f7ffffe, true, false},
        {KILN_F32, 1.0, 0, 0x3f7ffffd, false, false},
        {KILN_F32, 1.0, 1.0, 0x3f800000 + 17, true, false},
        {KILN_F32, 1.0, 1.0, 0x3f800000 + 18, false, false},
        {KILN_BF16, 1.0, 0, 0x3f81, true, false},
        {KILN_BF16, 1.0, 0, 0x3f82, false, false},
        {KILN_BF16, 0, 0, 0x8000, true, false},
        {KILN_F16, 65519, 0, 0x7bff, true, true},
        {KILN_F16, 65519, 0, 0x7c00, true, false},
        {KILN_F16, 65519, 0, 0xfc00, false, false},
        {KILN_F16, 1000, 0, 0x7c00, false, false},
        {KILN_F16, 1e6, 0, 0x7c00, true, true},
        {KILN_F16, 1e6, 0, 0x7bff, false, false},
        {KILN_F32, NAN, 0, 0x7fc00000, true, true},
        {KILN_F32, NAN, 0, 0xffc12345, true, true},
        {KILN_F32, NAN, 0, 0, false, false},
        {KILN_F32, 1, NAN, 0x7fc00000, false, false},
        {KILN_F32, INFINITY, 0, 0x7f800000, true, true},
        {KILN_F32, INFINITY, 0, 0xff800000, false, false},
        {KILN_F32, INFINITY, 0, 0x7f7fffff, false, false},
        {KILN_I32, -5, 100, 0xfffffffb, true, true},
        {KILN_I32, -5, 100, 0xfffffffa, false, false},
        {KILN_I32, 4294967301.0, 100, 5, true, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct kn_ref_result r = {
            KILN_GFX950, list[i].out, 128, false, &list[i].got, 0,
            {0, 0, 1, 1}, &list[i].want, &list[i].abssum, NULL, 0, false,
            KILN_OUT_PLAIN, false, 0, NULL, KILN_MATH_IEEE, KILN_BF16, false, 0, 0, NULL};
        struct kn_ref_check c = {0}, e = {0};

        kn_ref_compare(&r, &c);
        r.exact = true;
        kn_ref_compare(&r, &e);
        if (c.bad != !list[i].right || e.bad != !list[i].exact_right)
            fail_msg("verdict %zu: %d, exact %d", i, !c.bad, !e.bad);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats_agree),
        cmocka_unit_test(test_format_limits),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_quantised_by_hand),
        cmocka_unit_test(test_mx_quantised_by_hand),
        cmocka_unit_test(test_against_definition),
        cmocka_unit_test(test_rectangles),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_finds_one_tile),
        cmocka_unit_test(test_rule),
    };

    return cmocka_run_group_tests_name("reference", tests, open_ctx,
                                       close_ctx);
}
