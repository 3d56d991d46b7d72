/* Every matrix instruction against the independent statement of mfma_kit.c,
 * bit for bit: both targets, every operand format, every modifier. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../kit/mfma.h"

static void
check_all(const struct kit *t)
{
    const struct kn_mfma *r = t->job.row;

    for (unsigned b = 0; b < r->blocks; b++)
        for (unsigned i = 0; i < r->m; i++)
            for (unsigned j = 0; j < r->n; j++) {
                uint64_t want = kit_expect(t, b, i, j);
                uint64_t got = kit_result(t, b, i, j);

                if (want != got)
                    fail_msg("%s %s block %u D[%u][%u]: %#llx, expected %#llx",
                             r->mnemonic,
                             t->job.target == KILN_GFX942 ? "gfx942" : "gfx950",
                             b, i, j, (unsigned long long)got,
                             (unsigned long long)want);
            }
}

/* Modifiers an instruction has, drawn at random. */
static void
draw_modifiers(struct kit *t, struct kit_rng *rng)
{
    struct kn_mfma_job *j = &t->job;
    const struct kn_mfma *r = j->row;
    unsigned log2 = 0;

    while (1u << (log2 + 1) <= r->blocks)
        log2++;
    j->cbsz = j->abid = j->blgp = j->neg = 0;
    if (r->a == KN_MT_F64) {
        j->neg = (uint8_t)kit_below(rng, 8);
    } else if (r->sparse) {
        j->cbsz = (uint8_t)kit_below(rng, 5);
        j->abid = (uint8_t)kit_below(rng, 16);
    } else if (r->blocks > 1) {
        j->cbsz = (uint8_t)kit_below(rng, log2 + 1);
        j->abid = (uint8_t)kit_below(rng, 1u << j->cbsz);
        j->blgp = (uint8_t)kit_below(rng, 8);
    } else if (r->a == KN_MT_F32) {
        j->blgp = (uint8_t)kit_below(rng, 8);
    }
    j->clamp = kit_below(rng, 2);
    j->flush = r->a == KN_MT_F32 && kit_below(rng, 2);
    j->sa_byte = (uint8_t)kit_below(rng, 4);
    j->sb_byte = (uint8_t)kit_below(rng, 4);
}

static void
run_row(kiln_target target, const struct kn_mfma *row, unsigned rounds)
{
    static struct kit t;
    struct kit_rng rng = {(uint64_t)(row - kn_mfma_rows) * 7919 + target};

    for (unsigned n = 0; n < rounds; n++) {
        kit_init(&t, target, row);
        draw_modifiers(&t, &rng);
        if (row->a == KN_MT_F8F6F4) {
            t.job.cbsz = (uint8_t)(n % 5);
            t.job.blgp = (uint8_t)(n / 5 % 5);
        }
        kit_fill(&t, &rng, (enum kit_fill)(n % KIT_NFILLS));
        if (n % 7 == 3) {
            t.job.c = NULL;
            t.job.c_const = kit_next(&rng) & (kit_next(&rng) | 0x3f000000);
            if (row->a != KN_MT_F64)
                t.job.c_const = (uint32_t)t.job.c_const;
        }
        assert_null(kn_mfma_check(&t.job));
        kn_mfma_run_scalar(&t.job);
        check_all(&t);
        memset(t.d, 0, sizeof t.d);
        kn_mfma_run(&t.job);
        check_all(&t);
    }
}

static void
run_target(kiln_target target)
{
    unsigned bit = target == KILN_GFX942 ? KN_MF_GFX942 : KN_MF_GFX950;

    for (unsigned i = 0; i < kn_mfma_nrows; i++)
        if (kn_mfma_rows[i].targets & bit)
            run_row(target, &kn_mfma_rows[i],
                    kn_mfma_rows[i].a == KN_MT_F8F6F4 ? 50 : 24);
}

static void
test_gfx942(void **state)
{
    (void)state;
    run_target(KILN_GFX942);
}

static void
test_gfx950(void **state)
{
    (void)state;
    run_target(KILN_GFX950);
}

/* D may lie on A, B or C. */
static void
test_overlap(void **state)
{
    const struct kn_mfma *row =
        kn_mfma_find(KILN_GFX950, "v_mfma_f32_32x32x16_bf16");
    static struct kit t, u;
    struct kit_rng rng = {5};

    (void)state;
    kit_init(&t, KILN_GFX950, row);
    kit_fill(&t, &rng, KIT_NEAR);
    u = t;
    kn_mfma_run(&t.job);
    u.job.a = (const kn_vreg_row *)u.c;
    u.job.b = (const kn_vreg_row *)u.c + 4;
    u.job.c = (const kn_vreg_row *)u.c;
    u.job.d = u.c;
    memcpy(u.c, t.a, 4 * sizeof u.c[0]);
    memcpy(u.c + 4, t.b, 4 * sizeof u.c[0]);
    memcpy(t.c, u.c, sizeof t.c);
    t.job.c = (const kn_vreg_row *)t.c;
    kn_mfma_run(&t.job);
    kn_mfma_run(&u.job);
    assert_memory_equal(t.d, u.c, 16 * sizeof t.d[0]);
}

/* The check has teeth: one flipped bit anywhere in D is a difference. */
static void
test_detects(void **state)
{
    static struct kit t;
    struct kit_rng rng = {11};
    unsigned same = 0;

    (void)state;
    kit_init(&t, KILN_GFX942,
             kn_mfma_find(KILN_GFX942, "v_mfma_f32_16x16x16_bf16"));
    kit_fill(&t, &rng, KIT_NEAR);
    kn_mfma_run(&t.job);
    for (unsigned reg = 0; reg < 4; reg++)
        for (unsigned lane = 0; lane < 64; lane++) {
            t.d[reg][lane] ^= 1;
            for (unsigned i = 0; i < 16; i++)
                for (unsigned j = 0; j < 16; j++)
                    same += kit_expect(&t, 0, i, j) == kit_result(&t, 0, i, j);
            t.d[reg][lane] ^= 1;
        }
    assert_int_equal(same, 256 * 255);
}

/* Hand-worked cases of the CDNA3 rules, one output element each. */
struct hand {
    const char *name;
    uint16_t a[8], b[8];
    uint32_t c, want;
};

static void
test_by_hand(void **state)
{
    static const struct hand cases[] = {
        {"a tiny negative C pulls the sum down a step", {0x3f80}, {0x3f80},
         0xa0000000, 0x3f7fffff},
        {"a tiny positive C vanishes", {0x3f80}, {0x3f80}, 0x20000000,
         0x3f800000},
        {"a product below 2^-24 of the largest is cut", {0x3f80, 0x3300},
         {0x3f80, 0x3f80}, 0, 0x3f800000},
        {"toward zero for a negative one too", {0x3f80, 0xb300},
         {0x3f80, 0x3f80}, 0, 0x3f800000},
        {"cancellation is exact", {0x4f80, 0xcf80, 0x3f80},
         {0x3f80, 0x3f80, 0x3f80}, 0, 0},
        {"a product of 2^128 is infinite", {0x7f00}, {0x4000}, 0, 0x7f800000},
        {"both signs of it are NaN", {0x7f00, 0xff00}, {0x4000, 0x4000}, 0,
         0x7fc00000},
        {"0 * Inf", {0x7f80}, {0x0000}, 0, 0x7fc00000},
    };
    static struct kit t;

    (void)state;
    for (unsigned n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        kit_init(&t, KILN_GFX942,
                 kn_mfma_find(KILN_GFX942, "v_mfma_f32_32x32x8_bf16"));
        for (unsigned k = 0; k < 8; k++) {
            kit_put(t.a, 32 * (k / 4), k % 4, 16, cases[n].a[k]);
            kit_put(t.b, 32 * (k / 4), k % 4, 16, cases[n].b[k]);
        }
        t.c[0][0] = cases[n].c;
        kn_mfma_run(&t.job);
        if (t.d[0][0] != cases[n].want)
            fail_msg("%s: %#x, expected %#x", cases[n].name, t.d[0][0],
                     cases[n].want);
    }
}

/* The other models: one rounding, and one rounding for each k. */
static void
test_models(void **state)
{
    static struct kit t;

    (void)state;
    kit_init(&t, KILN_GFX950,
             kn_mfma_find(KILN_GFX950, "v_mfma_f32_32x32x16_bf16"));
    for (unsigned k = 0; k < 3; k++) {
        kit_put(t.a, 0, k, 16, 0x3f80);
        kit_put(t.b, 0, k, 16, k == 0 ? 0x3f80 : 0x3380); /* 1, 2^-24 twice */
    }
    t.job.model = KN_MFMA_FUSED;
    kn_mfma_run(&t.job);
    assert_int_equal(t.d[0][0], 0x3f800001);
    t.job.model = KN_MFMA_CHAIN;
    kn_mfma_run(&t.job);
    assert_int_equal(t.d[0][0], 0x3f800000);
}

static void
test_refused(void **state)
{
    static struct kit t;

    (void)state;
    kit_init(&t, KILN_GFX950,
             kn_mfma_find(KILN_GFX950, "v_mfma_f32_16x16x128_f8f6f4"));
    t.job.cbsz = 5;
    assert_non_null(kn_mfma_check(&t.job));
    kit_init(&t, KILN_GFX950,
             kn_mfma_find(KILN_GFX950, "v_mfma_f32_16x16x32_bf16"));
    t.job.cbsz = 1;
    assert_non_null(kn_mfma_check(&t.job));
    kit_init(&t, KILN_GFX950,
             kn_mfma_find(KILN_GFX950, "v_smfmac_f32_16x16x64_bf16"));
    t.job.index = NULL;
    assert_non_null(kn_mfma_check(&t.job));
    assert_null(kn_mfma_find(KILN_GFX942, "v_mfma_f32_16x16x32_bf16"));
    assert_null(kn_mfma_find(KILN_GFX950, "v_mfma_f32_16x16x8_xf32"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),  cmocka_unit_test(test_gfx942),
        cmocka_unit_test(test_gfx950),   cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_detects),  cmocka_unit_test(test_models),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests_name("mfma_exact", tests, NULL, NULL);
}
