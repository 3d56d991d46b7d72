/* kn_exec_mfma: operand banks, register positions, scales, constants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../kit/mfma.h"

enum { ACCUM = 128, POISON = 0x5a5a5a5a };

static unsigned unsupported; /* calls of the hook below */

void
kn_unsupported(struct kn_wave *w, const struct kn_inst *i, const char *what)
{
    (void)w;
    (void)i;
    assert_non_null(what);
    unsupported++;
}

struct bench {
    struct kn_wave w;
    struct kn_group g;
    kn_vreg_row v[KN_NVREG];
    struct kn_inst i;
    struct kit t;
};

static unsigned
op_of(const char *mnemonic)
{
#define X(name, ...) \
    if (!strcmp(mnemonic, #name)) \
        return KN_I_##name;
#include "../../runtime/sim/mfma/mfma.def"
#undef X
    return 0;
}

static struct kn_opnd
reg(unsigned kind, unsigned n, unsigned width)
{
    return (struct kn_opnd){
        .kind = (uint8_t)kind, .reg = (uint16_t)n, .width = (uint8_t)width};
}

/* D at 66, A at 0, B at 16, C at 32, scales and index at 100.., each in the
 * bank that its bit of `agprs` says. */
static void
start(struct bench *b, kiln_target target, const struct kn_mfma *row,
      unsigned agprs)
{
    memset(b, 0, sizeof *b);
    for (unsigned n = 0; n < KN_NVREG; n++)
        for (unsigned lane = 0; lane < 64; lane++)
            b->v[n][lane] = POISON;
    kit_init(&b->t, target, row);
    b->g.target = target;
    b->w.group = &b->g;
    b->w.v = b->v;
    b->w.accum_offset = ACCUM;
    b->w.mode = 0xf0;
    b->i.op = (uint16_t)op_of(row->mnemonic);
    b->i.ndst = 1;
    b->i.nopnd = 4;
    b->i.o[0] = reg(agprs & 4 ? KN_O_AGPR : KN_O_VGPR, 66, 0);
    b->i.o[1] = reg(agprs & 1 ? KN_O_AGPR : KN_O_VGPR, 0, 0);
    b->i.o[2] = reg(agprs & 2 ? KN_O_AGPR : KN_O_VGPR, 16, 0);
    b->i.o[3] = reg(agprs & 4 ? KN_O_AGPR : KN_O_VGPR, 32, 0);
    if (row->sparse)
        b->i.o[3] = reg(KN_O_VGPR, 100, 1);
    if (b->t.job.sa) {
        b->i.nopnd = 6;
        b->i.o[4] = reg(KN_O_VGPR, 101, 1);
        b->i.o[5] = reg(KN_O_VGPR, 102, 1);
    }
}

static kn_vreg_row *
bank(struct bench *b, unsigned operand)
{
    return b->v + kn_vreg(&b->w, &b->i.o[operand]);
}

/* Runs the kit's operands through the wave; the result comes back in t.d. */
static void
execute(struct bench *b)
{
    const struct kn_mfma *r = b->t.job.row;
    size_t regs = kn_mfma_dregs(r) * sizeof b->v[0];

    memcpy(bank(b, 1), b->t.a, kn_mfma_aregs(&b->t.job) * sizeof b->v[0]);
    memcpy(bank(b, 2), b->t.b, kn_mfma_bregs(&b->t.job) * sizeof b->v[0]);
    memcpy(bank(b, r->sparse ? 0 : 3), b->t.c, regs);
    memcpy(b->v[100], b->t.index, sizeof b->v[0] * (r->sparse ? 1 : 0));
    if (b->t.job.sa) {
        memcpy(b->v[101], b->t.sa, sizeof b->v[0]);
        memcpy(b->v[102], b->t.sb, sizeof b->v[0]);
    }
    b->i.cbsz = b->t.job.cbsz;
    b->i.abid = b->t.job.abid;
    b->i.blgp = b->t.job.blgp;
    kn_exec_mfma(&b->w, &b->i);
    memcpy(b->t.d, bank(b, 0), regs);
}

static void
expect_untouched(const struct bench *b)
{
    unsigned first = kn_vreg(&b->w, &b->i.o[0]);
    unsigned n = kn_mfma_dregs(b->t.job.row);

    for (unsigned lane = 0; lane < 64; lane++) {
        assert_int_equal(b->v[first - 1][lane], POISON);
        assert_int_equal(b->v[first + n][lane], POISON);
    }
}

/* Sparse index words that choose elements 0 and 1 of every four. */
static void
choose_first_two(struct kit *t)
{
    for (unsigned lane = 0; lane < 64; lane++)
        t->index[lane] = 0x44444444;
}

/* Code of the value 1 in the accumulator. */
static uint64_t
unit(const struct kn_mfma *r)
{
    return r->a == KN_MT_F64 ? 0x3ff0000000000000u
           : r->a == KN_MT_I8 ? 1
                              : 0x3f800000;
}

/* One 1 in A(i, k) and one in B(k, col): one 1 in D, at (i, col). */
static void
one_hot(struct bench *b, unsigned block, unsigned i, unsigned k, unsigned col)
{
    struct kit *t = &b->t;
    const struct kn_mfma *r = t->job.row;
    unsigned stored = r->sparse ? k / 4 * 2 + k % 2 : k;
    unsigned bits = r->a == KN_MT_F64 ? 64 : 32;
    struct kit_at at = kit_where(t, false, block, i, stored);

    memset(t->a, 0, sizeof t->a);
    memset(t->b, 0, sizeof t->b);
    choose_first_two(t);
    kit_put(t->a, at.lane, at.element, kit_bits(t, false), kit_one(t, false));
    at = kit_where(t, true, block, col, k);
    kit_put(t->b, at.lane, at.element, kit_bits(t, true), kit_one(t, true));
    execute(b);
    at = kit_where_d(t, block, i, col);
    for (unsigned l = 0; l < 64; l++)
        for (unsigned e = 0; e < kn_mfma_dregs(r) * 32 / bits; e++)
            assert_int_equal(
                kit_get((const kn_vreg_row *)t->d, l, e, bits),
                l == at.lane && e == at.element ? unit(r) : 0);
    expect_untouched(b);
}

static void
one_hot_row(kiln_target target, const struct kn_mfma *row)
{
    static struct bench b;
    struct kit_rng rng = {(uint64_t)(row - kn_mfma_rows) + 99};

    for (unsigned n = 0; n < 40; n++) {
        unsigned k = kit_below(&rng, row->k);

        start(&b, target, row, n % 8);
        if (row->sparse)
            k = k / 4 * 4 + k % 2;
        if (row->a == KN_MT_F8F6F4) {
            b.t.job.cbsz = (uint8_t)(n % 5);
            b.t.job.blgp = (uint8_t)(n / 5 % 5);
        }
        for (unsigned lane = 0; lane < 64; lane++)
            b.t.sa[lane] = b.t.sb[lane] = 127;
        one_hot(&b, kit_below(&rng, row->blocks), kit_below(&rng, row->m), k,
                kit_below(&rng, row->n));
        assert_int_equal(b.w.macs, kn_mfma_macs(row));
    }
}

static void
test_one_hot(void **state)
{
    (void)state;
    unsupported = 0;
    for (unsigned i = 0; i < kn_mfma_nrows; i++) {
        if (kn_mfma_rows[i].targets & KN_MF_GFX942)
            one_hot_row(KILN_GFX942, &kn_mfma_rows[i]);
        if (kn_mfma_rows[i].targets & KN_MF_GFX950)
            one_hot_row(KILN_GFX950, &kn_mfma_rows[i]);
    }
    assert_int_equal(unsupported, 0);
}

/* Positions as amd_matrix_instruction_calculator prints them for CDNA3. */
struct point {
    const char *mnemonic;
    char matrix;
    uint8_t row, k, block, lane, element; /* D: k is the column */
};

static void
test_published_positions(void **state)
{
    static const struct point points[] = {
        {"v_mfma_f64_4x4x4_4b_f64", 'A', 1, 2, 3, 45, 0},
        {"v_mfma_f64_4x4x4_4b_f64", 'B', 1, 2, 3, 45, 0},
        {"v_mfma_f64_4x4x4_4b_f64", 'D', 1, 2, 3, 30, 0},
        {"v_mfma_f64_16x16x4_f64", 'A', 1, 2, 0, 33, 0},
        {"v_mfma_f64_16x16x4_f64", 'D', 6, 2, 0, 34, 1},
        {"v_mfma_f32_4x4x4_16b_f16", 'A', 1, 2, 13, 53, 2},
        {"v_mfma_f32_4x4x4_16b_f16", 'D', 1, 2, 13, 54, 1},
        {"v_mfma_f32_16x16x4_4b_f16", 'A', 6, 3, 3, 54, 3},
        {"v_mfma_f32_16x16x4_4b_f16", 'D', 6, 2, 3, 18, 14},
        {"v_mfma_f32_32x32x4_2b_f16", 'D', 13, 2, 1, 34, 21},
        {"v_mfma_f32_32x32x1_2b_f32", 'A', 13, 0, 1, 45, 0},
        {"v_smfmac_f32_16x16x32_f16", 'B', 2, 12, 0, 18, 4},
        {"v_smfmac_f32_32x32x16_f16", 'B', 2, 9, 0, 34, 1},
        {"v_smfmac_f32_16x16x64_fp8_fp8", 'B', 2, 31, 0, 18, 15},
        {"v_smfmac_f32_16x16x64_fp8_fp8", 'A', 2, 10, 0, 18, 2},
    };
    struct kn_mfma_job j = {.target = KILN_GFX942};

    (void)state;
    for (unsigned n = 0; n < sizeof points / sizeof points[0]; n++) {
        const struct point *p = &points[n];
        struct kn_mfma_layout l;
        struct kn_mfma_at at;

        j.row = kn_mfma_find(j.target, p->mnemonic);
        l = p->matrix == 'A' ? kn_mfma_layout_a(&j) : kn_mfma_layout_b(&j);
        at = p->matrix == 'D' ? kn_mfma_locate_d(j.row, p->row, p->k, p->block)
                              : kn_mfma_locate(&l, p->row, p->k, p->block);
        if (at.lane != p->lane || at.element != p->element)
            fail_msg("%s %c: lane %u element %u", p->mnemonic, p->matrix,
                     at.lane, at.element);
    }
}

/* A one in A(i, k), ones in all of B: row i of D is the product of the two
 * scale bytes that belong to (i, k/32) and (col, k/32). */
static void
scale_case(struct bench *b, struct kit_rng *rng)
{
    struct kit *t = &b->t;
    const struct kn_mfma *r = t->job.row;
    unsigned i = kit_below(rng, r->m), k = kit_below(rng, r->k);
    unsigned byte_a = kit_below(rng, 4), byte_b = kit_below(rng, 4);
    struct kit_at at = kit_where(t, false, 0, i, k);

    kit_put(t->a, at.lane, at.element, kit_bits(t, false), kit_one(t, false));
    for (unsigned col = 0; col < r->n; col++)
        for (unsigned n = 0; n < r->k; n++) {
            at = kit_where(t, true, 0, col, n);
            kit_put(t->b, at.lane, at.element, kit_bits(t, true),
                    kit_one(t, true));
        }
    for (unsigned lane = 0; lane < 64; lane++)
        for (unsigned byte = 0; byte < 4; byte++) {
            t->sa[lane] |= (97 + (lane * 5 + byte * 17) % 61) << 8 * byte;
            t->sb[lane] |= (97 + (lane * 7 + byte * 23) % 59) << 8 * byte;
        }
    b->i.op_sel = (uint8_t)((byte_a & 1) | (byte_b & 1) << 1);
    b->i.op_sel_hi = (uint8_t)(byte_a >> 1 | (byte_b >> 1) << 1);
    execute(b);
    for (unsigned col = 0; col < r->n; col++) {
        unsigned la = i + r->m * (k / 32), lb = col + r->n * (k / 32);
        unsigned e = 97 + (la * 5 + byte_a * 17) % 61 + 97 +
                     (lb * 7 + byte_b * 23) % 59 - 127;

        assert_int_equal(kit_result(t, 0, i, col), (uint64_t)e << 23);
        assert_int_equal(kit_result(t, 0, (i + 1) % r->m, col), 0);
    }
}

static void
test_scales(void **state)
{
    static const char *const names[] = {"v_mfma_scale_f32_16x16x128_f8f6f4",
                                        "v_mfma_scale_f32_32x32x64_f8f6f4"};
    static struct bench b;
    struct kit_rng rng = {4};

    (void)state;
    unsupported = 0;
    for (unsigned n = 0; n < 2 * 25 * 8; n++) {
        start(&b, KILN_GFX950, kn_mfma_find(KILN_GFX950, names[n % 2]), 0);
        b.t.job.cbsz = (uint8_t)(n / 2 % 5);
        b.t.job.blgp = (uint8_t)(n / 10 % 5);
        scale_case(&b, &rng);
    }
    assert_int_equal(unsupported, 0);
}

/* E8M0 0xff makes its row (column) NaN, also where the data are zero. */
static void
test_scale_nan(void **state)
{
    static struct bench b;

    (void)state;
    start(&b, KILN_GFX950,
          kn_mfma_find(KILN_GFX950, "v_mfma_scale_f32_16x16x128_f8f6f4"), 0);
    for (unsigned lane = 0; lane < 64; lane++)
        b.t.sa[lane] = b.t.sb[lane] = 0x7f7f7f7f;
    b.t.sa[3 + 16 * 2] = 0xff;
    b.t.sb[7 + 16 * 1] = 0xff;
    execute(&b);
    for (unsigned i = 0; i < 16; i++)
        for (unsigned j = 0; j < 16; j++)
            assert_int_equal(kit_result(&b.t, 0, i, j),
                             i == 3 || j == 7 ? 0x7fc00000 : 0);
}

static void
constant_case(const char *name, int64_t imm, bool is_float, uint64_t want)
{
    static struct bench b;

    start(&b, KILN_GFX950, kn_mfma_find(KILN_GFX950, name), 0);
    b.i.o[3] = (struct kn_opnd){
        .kind = KN_O_IMM, .imm = imm, .is_float = is_float};
    memset(b.t.a, 0, sizeof b.t.a);
    execute(&b);
    for (unsigned i = 0; i < b.t.job.row->m; i++)
        assert_int_equal(kit_result(&b.t, 0, i, i), want);
}

static void
test_constants(void **state)
{
    (void)state;
    unsupported = 0;
    constant_case("v_mfma_f32_16x16x32_bf16", 0x3f800000, true, 0x3f800000);
    constant_case("v_mfma_f32_16x16x32_bf16", 0, false, 0);
    constant_case("v_mfma_i32_16x16x64_i8", -16, false, 0xfffffff0);
    constant_case("v_mfma_f64_16x16x4_f64", 0x3ff0000000000000, true,
                  0x3ff0000000000000);
    assert_int_equal(unsupported, 0);
}

static void
mode_case(const char *name, uint32_t mode, uint32_t c, uint32_t want)
{
    static struct bench b;
    uint32_t one;

    start(&b, KILN_GFX950, kn_mfma_find(KILN_GFX950, name), 0);
    b.w.mode = mode;
    one = b.t.job.row->a == KN_MT_I8 ? 1 : 0x00400000; /* f32: a denormal */
    kit_put(b.t.a, 0, 0, kit_bits(&b.t, false), one);
    kit_put(b.t.b, 0, 0, kit_bits(&b.t, true), kit_one(&b.t, true));
    b.t.c[0][0] = c;
    execute(&b);
    assert_int_equal(b.t.d[0][0], want);
}

/* MODE: f32 operand denormals, and saturation by FP16_OVFL. */
static void
test_mode(void **state)
{
    const uint32_t ovfl = 1u << 23;

    (void)state;
    mode_case("v_mfma_f32_16x16x4_f32", 0xf0, 0, 0x00400000);
    mode_case("v_mfma_f32_16x16x4_f32", 0xe0, 0, 0);
    mode_case("v_mfma_i32_16x16x64_i8", 0xf0, INT32_MAX, 0x80000000);
    mode_case("v_mfma_i32_16x16x64_i8", 0xf0 | ovfl, INT32_MAX, INT32_MAX);
}

static void
test_unsupported(void **state)
{
    static struct bench b;

    (void)state;
    unsupported = 0;
    start(&b, KILN_GFX950, kn_mfma_find(KILN_GFX950, "v_mfma_f32_16x16x4_f32"),
          0);
    b.t.job.cbsz = 1; /* one block: nothing to broadcast */
    execute(&b);
    assert_int_equal(unsupported, 1);
    assert_int_equal(b.t.d[0][0], POISON);
    b.t.job.cbsz = 0;
    b.i.o[3] = reg(KN_O_SGPR, 4, 1);
    execute(&b);
    assert_int_equal(unsupported, 2);
    b.g.target = KILN_GFX942;
    b.i.op = KN_I_v_mfma_f32_16x16x32_bf16;
    execute(&b);
    assert_int_equal(unsupported, 3);
}

static enum kn_quality
quality(kiln_target t, enum kn_mfma_model model, unsigned op)
{
    return kn_mfma_quality(t, model, &(struct kn_inst){.op = (uint16_t)op});
}

static void
test_quality(void **state)
{
    enum { OLD = KN_I_v_mfma_f32_16x16x16_bf16,
           NEW = KN_I_v_mfma_f32_16x16x32_bf16,
           F32 = KN_I_v_mfma_f32_16x16x4_f32,
           I8 = KN_I_v_mfma_i32_16x16x64_i8 };

    (void)state;
    assert_int_equal(quality(KILN_GFX942, KN_MFMA_CDNA3, OLD), KN_Q_EXACT);
    assert_int_equal(quality(KILN_GFX942, KN_MFMA_FUSED, OLD), KN_Q_MODELLED);
    assert_int_equal(quality(KILN_GFX942, KN_MFMA_CHAIN, F32), KN_Q_EXACT);
    assert_int_equal(quality(KILN_GFX950, KN_MFMA_CDNA3, OLD), KN_Q_MODELLED);
    assert_int_equal(quality(KILN_GFX950, KN_MFMA_CDNA3, NEW),
                     KN_Q_UNVERIFIED);
    assert_int_equal(quality(KILN_GFX950, KN_MFMA_CHAIN, I8), KN_Q_EXACT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_hot),
        cmocka_unit_test(test_published_positions),
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_scale_nan),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_mode),
        cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_quality),
    };

    return cmocka_run_group_tests_name("mfma_exec", tests, NULL, NULL);
}
