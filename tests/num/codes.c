/* Every payload byte and every scale byte of the MX formats, NaN and infinity
 * included, against the reference: as A and as B, each format with itself and
 * with the others; with matrix instructions and without. Every code of integer
 * weights, under every scale of 16 bits, and less every zero point. Every code of
 * nvfp4 under every scale byte, exactly.
 *
 * usage: codes TARGET */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../gen/gen.h"
#include "../../runtime/reference/reference.h"
#include "../../runtime/sim/sim.h"

enum { ROWS = 256, COLS = 16, K = 64, BLOCKS = K / 32, BYTES = 2,
       SCALE_BYTES = 4 };

/* One product, A [ROWS, K] and B [COLS, K], or the other way round. */
struct product {
    uint8_t a[ROWS * K * BYTES], b[ROWS * K * BYTES];
    uint8_t sa[ROWS * BLOCKS * BYTES], sb[ROWS * BLOCKS * SCALE_BYTES];
    float got[ROWS * COLS];
};

struct codes {
    struct kn_ctx c;
    kiln_problem p;
    struct kn_generated g;
    struct kn_sim *sim;
    struct kn_sim_code *code;
    struct product *x;
};

static kiln_target target;

/* ---- the launch --------------------------------------------------------- */

static uint64_t
place(struct codes *k, const void *bytes, size_t n)
{
    uint64_t at;

    assert_int_equal(kn_sim_alloc(k->sim, n, bytes ? 0 : KN_MEM_OUTPUT, NULL,
                                  NULL, &at), KILN_OK);
    if (bytes)
        assert_int_equal(kn_sim_write(k->sim, at, bytes, n), KILN_OK);
    return at;
}

static void
open_kernel(struct codes *k, const kiln_problem *p, int schedule)
{
    struct kn_config g = { .schedule = (uint8_t)schedule };

    memset(k, 0, sizeof *k);
    kn_ctx_init(&k->c, NULL, NULL);
    k->x = KN_NEW(&k->c, struct product, 1);
    k->p = *p;
    k->p.size = sizeof k->p;
    k->p.target = target;
    k->p.out = KILN_F32;
    k->p.k = K;
    if (kn_problem_normalise(&k->c, &k->p) ||
        kn_generate(&k->c, &k->p, &g, NULL, &k->g) ||
        kn_sim_open(&k->c, target, &k->sim) ||
        kn_sim_load(k->sim, k->g.name, k->g.co, k->g.size, &k->code))
        fail_msg("%s x %s: %s", kiln_type_name(p->a), kiln_type_name(p->b),
                 k->c.err.text);
}

static void
open_codes(struct codes *k, kiln_type a, kiln_type b, bool wide_a, int schedule)
{
    kiln_problem p = { .a = a, .b = b, .m = wide_a ? ROWS : COLS,
                       .n = wide_a ? COLS : ROWS };

    open_kernel(k, &p, schedule);
}

static void
close_codes(struct codes *k)
{
    kn_sim_close(k->sim);
    kn_ctx_free(&k->c);
}

static void
launch(struct codes *k)
{
    struct product *x = k->x;
    struct kn_operands o = {
        .a = place(k, x->a, sizeof x->a), .b = place(k, x->b, sizeof x->b),
        .sa = place(k, x->sa, sizeof x->sa),
        .sb = place(k, x->sb, sizeof x->sb),
        .c = place(k, NULL, sizeof x->got),
    };
    struct kn_sim_result r = { 0 };
    struct kn_plan plan;
    struct kn_sim_launch l = { .code = k->code, .kernel = k->g.name,
                               .select = { .all = true } };

    assert_int_equal(kn_plan_launch(&k->c, &k->p, &k->g.cfg, &o, &plan), 0);
    l.kernarg = plan.kernarg;
    l.kernarg_size = plan.kernarg_size;
    memcpy(l.grid, plan.grid, sizeof l.grid);
    memcpy(l.block, plan.block, sizeof l.block);
    assert_int_equal(kn_sim_run(k->sim, &l, &r), KILN_OK);
    assert_int_equal(r.nfindings, 0);
    assert_int_equal(kn_sim_read(k->sim, o.c, x->got, sizeof x->got), KILN_OK);
}

/* E8M0 scales are of their operand's type; those of groups have their own. */
static kiln_type
type_of_scales(const kiln_problem *p)
{
    static const kiln_type types[] = { KILN_F32, KILN_F16, KILN_BF16 };

    return p->b == KILN_I4 ? types[p->scale_type] : p->b;
}

/* Every element as the reference has it: 1 ulp of f32, or the same NaN or
 * infinity. */
static void
compare(struct codes *k, const char *what)
{
    struct product *x = k->x;
    size_t n = ROWS * COLS;
    struct kn_ref_rect rect = { 0, 0, k->p.m, k->p.n };
    struct kn_ref_check check = { 0 };
    double *value = KN_NEW(&k->c, double, n), *sum = KN_NEW(&k->c, double, n);
    bool mx_a = kn_ref_type_bits(k->p.a) < 16;
    struct kn_ref_problem q = {
        .target = target, .scale = k->p.scale,
        .words = kn_in_words(&k->p) ? (kiln_b_layout)k->p.b_layout : KILN_B_PLAIN,
        .m = k->p.m, .n = k->p.n, .k = K,
        .a = { .type = k->p.a, .data = x->a },
        .b = { .type = k->p.b, .data = x->b },
        .sa = { .type = k->p.a, .data = mx_a ? x->sa : NULL },
        .sb = { .type = type_of_scales(&k->p), .data = x->sb }, .alpha = 1,
        .zb = { .type = kn_zero_type(&k->p),
                .data = k->p.zero_points ? x->sa : NULL },
        .factor.data = kn_weight_factor(&k->p) ? x->sa : NULL,
    };
    struct kn_ref_result r = { .target = target, .out = KILN_F32, .k = K,
                               .got = x->got, .rect = rect, .value = value,
                               .abssum = sum };

    launch(k);
    assert_int_equal(kn_ref_tile(&k->c, &q, &rect, &(struct kn_ref_sums){
        value, sum, NULL, false }), KILN_OK);
    kn_ref_compare(&r, &check);
    if (check.bad || check.elements != n)
        fail_msg("%s, %s x %s on %s: %llu of %llu elements are bad, first "
                 "[%lld, %lld] is %g, should be %g", what,
                 kiln_type_name(k->p.a), kiln_type_name(k->p.b),
                 kiln_target_name(target), (unsigned long long)check.bad,
                 (unsigned long long)check.elements, (long long)check.bad_m,
                 (long long)check.bad_n, check.bad_got, check.bad_want);
}

/* ---- data --------------------------------------------------------------- */

static void
put_code(uint8_t *row, unsigned bits, int k, uint32_t code)
{
    for (unsigned b = 0; b < bits; b++) {
        unsigned at = (unsigned)k * bits + b;

        row[at / 8] = (uint8_t)((row[at / 8] & ~(1u << at % 8)) |
                                (code >> b & 1) << at % 8);
    }
}

/* Row i has the code of value(i) in one place, zeros elsewhere: 0 * Inf would
 * hide what is tested. */
static void
one_each(uint8_t *rows, kiln_type t, uint32_t (*code)(kiln_type t, int i))
{
    unsigned bits = kn_ref_type_bits(t), pitch = K * bits / 8;

    memset(rows, 0, (size_t)ROWS * pitch);
    for (int i = 0; i < ROWS; i++)
        put_code(rows + (size_t)i * pitch, bits, i * 5 % K, code(t, i));
}

static void
all(uint8_t *rows, kiln_type t, double value)
{
    unsigned bits = kn_ref_type_bits(t), pitch = K * bits / 8;

    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < K; k++)
            put_code(rows + (size_t)i * pitch, bits, k,
                     (uint32_t)kn_ref_encode(t, target, value));
}

static uint32_t
any(kiln_type t, int i)
{
    return (uint32_t)i & ((1u << kn_ref_type_bits(t)) - 1);
}

static uint32_t
one(kiln_type t, int i)
{
    (void)i;
    return (uint32_t)kn_ref_encode(t, target, 1);
}

static void
payloads(struct codes *k, bool wide_a)
{
    struct product *x = k->x;

    memset(x->sa, 127, sizeof x->sa);
    memset(x->sb, 127, sizeof x->sb);
    one_each(wide_a ? x->a : x->b, wide_a ? k->p.a : k->p.b, any);
    all(wide_a ? x->b : x->a, wide_a ? k->p.b : k->p.a, 1.5);
    compare(k, "payloads");
}

/* Scale byte i in row i, the other side's 127, and then one whose product with
 * it is 1. */
static void
scales(struct codes *k, bool wide_a)
{
    struct product *x = k->x;
    uint8_t *wide = wide_a ? x->sa : x->sb, *other = wide_a ? x->sb : x->sa;

    for (int i = 0; i < ROWS * BLOCKS; i++)
        wide[i] = (uint8_t)(i / BLOCKS);
    memset(other, 127, ROWS * BLOCKS);
    one_each(wide_a ? x->a : x->b, wide_a ? k->p.a : k->p.b, one);
    all(wide_a ? x->b : x->a, wide_a ? k->p.b : k->p.a, 1);
    compare(k, "scales");
    for (int j = 0; j < COLS * BLOCKS; j++)
        other[j] = (uint8_t)(119 + j / BLOCKS);
    for (int i = 0; i < ROWS * BLOCKS; i++)
        wide[i] = (uint8_t)(8 + i / BLOCKS % 240);
    compare(k, "pairs of scales");
}

/* ---- integers with scales of groups ---- */

static const uint8_t scale_types[] = { KILN_SCALE_TYPE_F16,
                                       KILN_SCALE_TYPE_BF16,
                                       KILN_SCALE_TYPE_F32 };

static void
open_integers(struct codes *k, kiln_type a, uint8_t scale_type)
{
    kiln_problem p = { .a = a, .b = KILN_I4, .scale = KILN_SCALE_GROUP32,
                       .scale_type = scale_type, .m = COLS, .n = ROWS };

    open_kernel(k, &p, KN_SCHED_AUTO);
}

/* Scale number i is code first + i of its type; of f32 high halves. */
static void
put_scales(struct codes *k, uint32_t first)
{
    size_t size = k->p.scale_type == KILN_SCALE_TYPE_F32 ? 4 : 2;

    for (uint32_t i = 0; i < ROWS * BLOCKS; i++) {
        uint32_t code = (first + i) << (size == 4 ? 16 : 0);

        memcpy(k->x->sb + size * i, &code, size);
    }
}

static void
every_integer(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct codes k;

        open_integers(&k, i % 2 ? KILN_F16 : KILN_BF16, scale_types[i / 2]);
        put_scales(&k, k.p.scale_type == KILN_SCALE_TYPE_F16 ? 0x3c00
                                                             : 0x3f80);
        one_each(k.x->b, KILN_I4, any);
        all(k.x->a, k.p.a, 1.5);
        compare(&k, "integers");
        close_codes(&k);
    }
}

static void
every_scale_of_integers(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct codes k;

        open_integers(&k, i % 2 ? KILN_F16 : KILN_BF16, scale_types[i]);
        for (uint32_t first = 0; first < 1 << 16; first += ROWS * BLOCKS) {
            put_scales(&k, first);
            one_each(k.x->b, KILN_I4, one);
            all(k.x->a, k.p.a, 1);
            compare(&k, "scales of integers");
        }
        close_codes(&k);
    }
}

/* Column n has zero point first + n in one group, 0 in the other, and row x of A
 * takes integer x of that group. */
static void
put_zeros(struct codes *k, int group, uint32_t first)
{
    unsigned bits = k->p.zero_points == KILN_ZEROS_I4 ? 4 : 16;
    size_t row = ROWS * bits / 8;

    memset(k->x->sa, 0, sizeof k->x->sa);
    memset(k->x->a, 0, sizeof k->x->a);
    for (uint32_t n = 0; n < ROWS; n++)
        put_code(k->x->sa + (size_t)group * row, bits, (int)n,
                 (first + n) & ((1u << bits) - 1));
    for (int x = 0; x < COLS; x++)
        put_code(k->x->a + x * K * 2, 16, 32 * group + x,
                 (uint32_t)kn_ref_encode(k->p.a, target, 1));
}

/* Integer k of each column is k % 16. */
static void
put_integers(struct codes *k)
{
    uint8_t *b = k->x->b;

    for (int i = 0; i < ROWS * K && !kn_in_words(&k->p); i++)
        put_code(b, 4, i, (uint32_t)i % 16);
    for (int i = 0; i < ROWS * K / 2 && k->p.b_layout == KILN_B_AWQ; i++)
        b[i] = (uint8_t)(i / (ROWS / 2) % 16 * 0x11);
    for (int i = 0; i < ROWS * K / 2 && kn_word_k(&k->p) > 1; i++) {
        int first = i / (4 * ROWS) % 2 * 8 + i % 4 * 2;

        b[i] = (uint8_t)(first | (first + 1) << 4);
    }
}

/* Every integer less every zero point, NaN and infinity among those of f16. */
static void
every_zero_of(kiln_type a, uint8_t zeros, kiln_b_layout layout, enum kn_schedule schedule)
{
    bool skinny = schedule == KN_SCHED_SKINNY;
    uint32_t groups = skinny ? 1 : BLOCKS;
    kiln_problem p = { .a = a, .b = KILN_I4,
                       .scale = skinny ? KILN_SCALE_GROUP128 : KILN_SCALE_GROUP32,
                       .zero_points = zeros, .m = COLS, .n = ROWS,
                       .b_layout = (uint8_t)layout };
    uint32_t end = zeros == KILN_ZEROS_I4 ? 2 * ROWS : 1 << 16;
    struct codes k;

    open_kernel(&k, &p, schedule);
    for (int i = 0; i < ROWS * BLOCKS; i++)
        memcpy(k.x->sb + 4 * i, &(float){ 1 }, 4);
    put_integers(&k);
    for (uint32_t first = 0; first < end; first += ROWS) {
        put_zeros(&k, first / ROWS % groups, first);
        compare(&k, "zero points");
    }
    close_codes(&k);
}

static void
every_zero_point(void **state)
{
    (void)state;
    every_zero_of(KILN_BF16, KILN_ZEROS_I4, KILN_B_PLAIN, KN_SCHED_AUTO);
    every_zero_of(KILN_F16, KILN_ZEROS_I4, KILN_B_PLAIN, KN_SCHED_AUTO);
    every_zero_of(KILN_BF16, KILN_ZEROS_F16, KILN_B_PLAIN, KN_SCHED_AUTO);
    every_zero_of(KILN_F16, KILN_ZEROS_F16, KILN_B_PLAIN, KN_SCHED_AUTO);
    every_zero_of(KILN_BF16, KILN_ZEROS_F16, KILN_B_AWQ, KN_SCHED_AUTO);
    every_zero_of(KILN_F16, KILN_ZEROS_F16, KILN_B_GPTQ, KN_SCHED_AUTO);
    for (int a = KILN_F16; a <= KILN_BF16; a++) {
        every_zero_of((kiln_type)a, KILN_ZEROS_I4, KILN_B_PLAIN, KN_SCHED_SKINNY);
        every_zero_of((kiln_type)a, KILN_ZEROS_I4, KILN_B_GPTQ, KN_SCHED_SKINNY);
        every_zero_of((kiln_type)a, KILN_ZEROS_I4, KILN_B_GPTQ2, KN_SCHED_SKINNY);
        every_zero_of((kiln_type)a, KILN_ZEROS_I4, KILN_B_AWQ, KN_SCHED_SKINNY);
    }
}

/* ---- nvfp4 ---- */

/* Output (m, n) is code m times byte n, both from their tables (OCP MX 1.0, OFP8
 * 1.0), to the bit: 16 bits of either type have each product. */
static void
is_product(const struct codes *k, int m, int n)
{
    static const float magnitude[] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6 };
    int e = n >> 3 & 15, f = n & 7;
    float s = e ? ldexpf(1 + (float)f / 8, e - 7) : ldexpf((float)f / 8, -6);
    float want = magnitude[m & 7] * (n & 0x80 ? -s : s);
    float got = k->x->got[m * ROWS + n];

    want = m & 8 ? -want : want;
    if ((n & 0x7f) == 0x7f ? !isnan(got) : !(got == want))
        fail_msg("code %d under scale byte %d is %g, should be %g", m, n,
                 (double)got, (double)want);
}

/* Row i has every code in turn under scale byte i, and row x of A takes code x: an
 * output is one product. */
static void
every_product_of_nvfp4(void **state)
{
    static const float factors[] = { 1, 0.75f, -3.0e-5f };

    (void)state;
    for (int i = 0; i < 12; i++) {
        kiln_problem p = { .a = i % 2 ? KILN_F16 : KILN_BF16, .b = KILN_NVFP4,
                           .m = COLS, .n = ROWS };
        struct codes k;

        open_kernel(&k, &p, i < 6 ? KN_SCHED_AUTO : KN_SCHED_SKINNY);
        memcpy(k.x->sa, &factors[i / 2 % 3], 4);
        for (int r = 0; r < ROWS * K / 16; r++)
            k.x->sb[r] = (uint8_t)(r / (K / 16));
        for (int r = 0; r < ROWS * K; r++)
            put_code(k.x->b, 4, r, (uint32_t)r % 16);
        for (int r = 0; r < COLS; r++)
            put_code(k.x->a + r * K * 2, 16, 16 * (r % 4) + r,
                     (uint32_t)kn_ref_encode(p.a, target, 1));
        compare(&k, "products");
        for (int j = 0; j < ROWS * COLS && !(i / 2 % 3); j++)
            is_product(&k, j / ROWS, j % ROWS);
        close_codes(&k);
    }
}

/* No two runs of a row have the same scale. */
static void
scales_of_nvfp4_in_place(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        kiln_problem p = { .a = i % 2 ? KILN_F16 : KILN_BF16, .b = KILN_NVFP4,
                           .m = COLS, .n = ROWS };
        struct codes k;

        open_kernel(&k, &p, i < 2 ? KN_SCHED_AUTO : KN_SCHED_SKINNY);
        memcpy(k.x->sa, &(float){ 1 }, 4);
        for (int r = 0; r < ROWS * K / 16; r++)
            k.x->sb[r] = (uint8_t)(r * 37 % 126);
        for (int r = 0; r < ROWS * K; r++)
            put_code(k.x->b, 4, r, (uint32_t)r * 7 % 16);
        all(k.x->a, p.a, 1);
        compare(&k, "scales of nvfp4");
        close_codes(&k);
    }
}

static const int schedules[] = { KN_SCHED_AUTO, KN_SCHED_GEMV };

static void
try_pair(kiln_type a, kiln_type b)
{
    for (int i = 0; i < 4; i++) {
        bool wide_a = i & 1;
        struct codes k;

        open_codes(&k, a, b, wide_a, schedules[i / 2]);
        payloads(&k, wide_a);
        scales(&k, wide_a);
        close_codes(&k);
    }
}

static void
every_byte_of_every_format(void **state)
{
    (void)state;
    for (int t = KILN_MXFP8; t <= KILN_MXFP4; t++)
        try_pair((kiln_type)t, (kiln_type)t);
}

static void
every_byte_beside_e5m2(void **state)
{
    (void)state;
    for (int t = KILN_MXFP8; t <= KILN_MXFP4; t++)
        if (t != KILN_MXBF8)
            try_pair((kiln_type)t, KILN_MXBF8);
}

/* A 16-bit A has no scales: B's are tested. */
static void
try_weight(kiln_type a, kiln_type b, int schedule)
{
    struct codes k;

    open_codes(&k, a, b, false, schedule);
    payloads(&k, false);
    scales(&k, false);
    close_codes(&k);
}

static void
every_byte_of_a_weight(void **state)
{
    static const kiln_type wide[] = { KILN_BF16, KILN_F16 };

    (void)state;
    for (int w = 0; w < 4; w++)
        for (int t = KILN_MXFP8; t <= KILN_MXFP4; t++)
            try_weight(wide[w / 2], (kiln_type)t, schedules[w % 2]);
    try_weight(KILN_BF16, KILN_MXFP4, KN_SCHED_SKINNY);
}

/* A wrong bit in any output is seen. */
static void
a_wrong_element_is_seen(void **state)
{
    double value[2] = { (double)NAN, 2 }, sum[2] = { 1, 2 };
    float got[2] = { 1, 2 };
    struct kn_ref_result r = { .target = target, .out = KILN_F32, .k = K,
                               .got = got, .rect = { 0, 0, 1, 2 },
                               .value = value, .abssum = sum };
    struct kn_ref_check check = { 0 };

    (void)state;
    kn_ref_compare(&r, &check);
    assert_int_equal(check.bad, 1);
}

/* Of a written power of two: just below 4 limits have 4 and no other, just above 8; an
 * infinity 255. */
static void
a_wrong_power_is_seen(void **state)
{
    const double limit = kn_ref_max(KILN_FP8, target);
    const double most[] = { 3.99 * limit, 4.01 * limit, (double)INFINITY };
    const uint8_t right[] = { 129, 130, 255 };
    uint8_t byte;
    double value, sum = 0;
    struct kn_ref_result r = { .target = target, .out = KILN_FP8, .k = 1, .exact = true,
                               .rect = { 0, 0, 1, 1 }, .value = &value, .abssum = &sum,
                               .written = KILN_OUT_BLOCK128, .powers = true,
                               .scales = &byte };

    (void)state;
    for (int i = 0; i < 3; i++)
        for (int x = 0; x < 256; x++) {
            value = -most[i];
            byte = (uint8_t)x;
            assert_int_equal(kn_ref_scale_right(&r, 0, 0), x == right[i]);
        }
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_of_every_format),
        cmocka_unit_test(every_byte_beside_e5m2),
        cmocka_unit_test(every_byte_of_a_weight),
        cmocka_unit_test(every_integer),
        cmocka_unit_test(every_scale_of_integers),
        cmocka_unit_test(every_zero_point),
        cmocka_unit_test(every_product_of_nvfp4),
        cmocka_unit_test(scales_of_nvfp4_in_place),
        cmocka_unit_test(a_wrong_element_is_seen),
        cmocka_unit_test(a_wrong_power_is_seen),
    };

    if (argc < 2)
        return 2;
    target = strcmp(argv[1], "gfx942") ? KILN_GFX950 : KILN_GFX942;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
