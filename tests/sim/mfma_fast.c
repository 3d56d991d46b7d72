/* The vector kernels against the scalar model, bit for bit, on every
 * instruction set this CPU has; and the edges of their range. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../runtime/sim/mfma/mfma.h"
#include "../kit/mfma.h"

/* Exponents near each other, with the extremes of the format mixed in, so
 * that truncation, flooring, dropping and rounding all happen. */
static void
disturb(struct kit *t, struct kit_rng *rng)
{
    unsigned n = kn_mfma_aregs(&t->job);

    for (unsigned i = kit_below(rng, 40); i > 0; i--) {
        t->a[kit_below(rng, n)][kit_below(rng, 64)] &=
            (uint32_t)kit_next(rng);
        t->c[kit_below(rng, kn_mfma_dregs(t->job.row))][kit_below(rng, 64)] =
            (uint32_t)kit_next(rng);
    }
}

/* Sums that a group only just keeps or loses: C around the products. */
static void
near_c(struct kit *t, struct kit_rng *rng)
{
    for (unsigned r = 0; r < kn_mfma_dregs(t->job.row); r++)
        for (unsigned lane = 0; lane < 64; lane++) {
            uint32_t e = 127 - 30 + kit_below(rng, 64);

            t->c[r][lane] = (t->c[r][lane] & 0x807fffff) | e << 23;
        }
}

static uint64_t
compare(const struct kit *t, kn_mfma_kernel *kernel, const kn_vreg_row *want)
{
    kn_vreg_row d[KN_MFMA_MAXD];
    size_t size = kn_mfma_dregs(t->job.row) * sizeof d[0];

    if (!kernel(&t->job, d))
        return 0;
    for (unsigned i = 0; i < size / 4; i++)
        if (d[i / 64][i % 64] != want[i / 64][i % 64])
            fail_msg("%s: D register %u lane %u: %#x, scalar %#x",
                     t->job.row->mnemonic, i / 64, i % 64, d[i / 64][i % 64],
                     want[i / 64][i % 64]);
    return size / 4;
}

/* Elements compared over all kernels. */
static uint64_t
compare_all(struct kit *t)
{
    uint64_t compared = 0;

    kn_mfma_run_scalar(&t->job);
    for (int isa = 0; isa < KN_MFMA_NISAS; isa++) {
        kn_mfma_kernel *k = kn_mfma_select((enum kn_mfma_isa)isa);

        if (k)
            compared += compare(t, k, (const kn_vreg_row *)t->d);
    }
    return compared;
}

static uint64_t
one_case(struct kit *t, struct kit_rng *rng, unsigned n)
{
    uint64_t compared;

    kit_fill(t, rng, (enum kit_fill)(n % KIT_NFILLS));
    if (n % 3 == 1)
        disturb(t, rng);
    if (n % 2)
        near_c(t, rng);
    compared = compare_all(t);
    if (t->job.row->a == KN_MT_F8F6F4 && t->job.cbsz < 4) {
        t->job.cbsz ^= 1;    /* the same bytes of A in the other format */
        compared += compare_all(t);
    }
    return compared;
}

static void
run_target(kiln_target target, unsigned rounds)
{
    unsigned bit = target == KILN_GFX942 ? KN_MF_GFX942 : KN_MF_GFX950;
    struct kn_mfma_side *sides = kn_mfma_sides_new();
    static struct kit t;

    assert_non_null(sides);

    for (unsigned i = 0; i < kn_mfma_nrows; i++) {
        struct kit_rng rng = {i * 31 + target};
        uint64_t compared = 0;

        if (!(kn_mfma_rows[i].targets & bit))
            continue;
        kit_init(&t, target, &kn_mfma_rows[i]);
        if (!kn_mfma_is_vector(&t.job))
            continue;
        for (unsigned n = 0; n < rounds; n++) {
            t.job.model = n % 8 == 6   ? KN_MFMA_FUSED
                          : n % 8 == 7 ? KN_MFMA_CHAIN
                                       : KN_MFMA_CDNA3;
            if (t.job.row->a == KN_MT_F8F6F4) {
                t.job.cbsz = (uint8_t)(n % 5);
                t.job.blgp = (uint8_t)(n / 5 % 5);
                t.job.sa_byte = (uint8_t)kit_below(&rng, 4);
                t.job.sb_byte = (uint8_t)kit_below(&rng, 4);
            }
            /* the same registers hold other operands each round */
            t.job.sides = n % 2 ? sides : NULL;
            compared += one_case(&t, &rng, n);
        }
        /* most cases must have reached a kernel */
        assert_true(compared > rounds * 256u / 4);
    }
    free(sides);
}

static void
test_gfx942(void **state)
{
    (void)state;
    run_target(KILN_GFX942, 300);
}

static void
test_gfx950(void **state)
{
    (void)state;
    run_target(KILN_GFX950, 150);
}

/* A and B whose registers are as far apart as kept operands repeat. */
static void
test_both_are_kept(void **state)
{
    static kn_vreg_row file[5 * KN_MFMA_SIDES];
    struct kn_mfma_side *sides = kn_mfma_sides_new();
    static struct kit t;
    uint64_t compared = 0;

    (void)state;
    assert_non_null(sides);
    for (unsigned i = 0; i < kn_mfma_nrows; i++) {
        struct kit_rng rng = {i};

        if (!(kn_mfma_rows[i].targets & KN_MF_GFX942))
            continue;
        kit_init(&t, KILN_GFX942, &kn_mfma_rows[i]);
        if (!kn_mfma_is_vector(&t.job))
            continue;
        t.job.model = KN_MFMA_CDNA3;
        kit_fill(&t, &rng, KIT_NEAR);
        for (unsigned far = 32; far < 4 * KN_MFMA_SIDES; far += 32) {
            memcpy(file, t.a, sizeof t.a);
            memcpy(file + far, t.b, sizeof t.b);
            t.job.a = (const kn_vreg_row *)file;
            t.job.b = (const kn_vreg_row *)(file + far);
            t.job.sides = sides;
            compared += compare_all(&t);
        }
    }
    assert_true(compared > 1000);
    free(sides);
}

static void
set_all(struct kit *t, bool b, uint64_t code)
{
    unsigned bits = kit_bits(t, b);
    unsigned n = (b ? kn_mfma_bregs(&t->job) : kn_mfma_aregs(&t->job)) * 32;

    for (unsigned lane = 0; lane < 64; lane++)
        for (unsigned k = 0; k < n / bits; k++)
            kit_put(b ? t->b : t->a, lane, k, bits, code);
}

/* A kernel says no, and kn_mfma_run is right all the same. */
static void
refused_case(const char *name, uint64_t a, uint64_t b, unsigned scale)
{
    static struct kit t;
    kn_vreg_row d[KN_MFMA_MAXD];

    kit_init(&t, KILN_GFX950, kn_mfma_find(KILN_GFX950, name));
    set_all(&t, false, kit_one(&t, false));
    set_all(&t, true, b);
    for (unsigned lane = 0; lane < 64; lane++)
        t.sa[lane] = t.sb[lane] = scale;
    kit_put(t.a, 5, 1, kit_bits(&t, false), a);
    for (int isa = 0; isa < KN_MFMA_NISAS; isa++) {
        kn_mfma_kernel *k = kn_mfma_select((enum kn_mfma_isa)isa);

        if (k)
            assert_false(k(&t.job, d));
    }
    kn_mfma_run(&t.job);
    for (unsigned i = 0; i < t.job.row->m; i++)
        assert_int_equal(kit_result(&t, 0, i, 3), kit_expect(&t, 0, i, 3));
}

static void
test_out_of_range(void **state)
{
    (void)state;
    refused_case("v_mfma_f32_16x16x32_bf16", 0x7f80, 0x3f80, 0); /* Inf */
    refused_case("v_mfma_f32_16x16x32_bf16", 0x7fc1, 0x3f80, 0); /* NaN */
    refused_case("v_mfma_f32_16x16x32_bf16", 0x7f00, 0x4000, 0); /* 2^128 */
    refused_case("v_mfma_f32_16x16x32_bf16", 0x0001, 0x3f80, 0); /* tiny */
    refused_case("v_mfma_f32_32x32x16_f16", 0x7c00, 0x3c00, 0);
    refused_case("v_mfma_f32_16x16x32_fp8_fp8", 0x7f, 0x38, 0);
    refused_case("v_mfma_scale_f32_16x16x128_f8f6f4", 0x7e, 0x7e, 254);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_gfx942),
        cmocka_unit_test(test_gfx950),
        cmocka_unit_test(test_both_are_kept),
    };

    return cmocka_run_group_tests_name("mfma_fast", tests, NULL, NULL);
}
