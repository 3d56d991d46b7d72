/* test_guard.c - words LLVM's disassembler crashes on are refused, legal ones
 * are not, and no guarded word out of many random ones crashes it. */
#include "flow.h"

#include <llvm-c/Disassembler.h>
#include <string.h>

#include "emit/isa/decode.h"

static const char *data_dir, *built_dir;

static void
test_known_crashes(void **state)
{
    static const struct {
        uint32_t w[4];
        const char *why;
    } bad[] = {
        { { 0x000400f9, 0x67762eb1 }, "reserved SDWA source select" },
        { { 0x020404f9, 0x06065f05 }, "reserved SDWA destination select" },
        { { 0xd3f5f487, 0xf82dfffa }, "literal in VOP3" },
        { { 0xd3c40f62, 0x1ad9fe21 }, "literal in VOP3" },
        { { 0xd02822ff, 0x641fcf7f }, "literal as scalar destination" },
        { { 0x7ffe0500, 0 }, "literal as scalar destination" },
        { { 0xe88630f9, 0xff0181a8 }, "literal as buffer offset" },
        { { 0xd3ad82bf, 0x64d98da2 }, "matrix operand in no vector "
                                      "register" },
        { { 0xd3ad0500, 0x04040900 }, "reserved matrix operand format" },
        { { 0xd3ac1ef9, 0x64a2d7f5, 0xd3ae8cbd, 0x8d28ef4f },
          "matrix operand in no vector register" },
        { { 0xd3ace4f9, 0xe8c502f8, 0xd3ae0bb6, 0x05d732f4 },
          "matrix operand in no vector register" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *why = kn_guard_words(bad[i].w);

        if (!why || strcmp(why, bad[i].why))
            fail_msg("%08x %08x: %s", bad[i].w[0], bad[i].w[1],
                     why ? why : "not refused");
    }
}

static void
expect_legal(const char *dir, const char *file)
{
    struct kn_object o;
    struct kn_ctx c;
    struct blob b = slurp(dir, file);

    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_object_read(&c, file, b.p, b.n, &o), KILN_OK);
    for (uint32_t k = 0; k < o.nkernels; k++) {
        struct kn_program p;

        assert_int_equal(kn_decode(&c, &o, &o.kernels[k], true, &p),
                         KILN_OK);
        for (uint32_t i = 0; i < p.n; i++) {
            const char *why = kn_guard_words(p.inst[i].raw);

            if (why)
                fail_msg("%s: %s at 0x%llx", file, why,
                         (unsigned long long)p.inst[i].pc);
        }
    }
    kn_ctx_free(&c);
    free(b.p);
}

static void
test_legal_code_passes(void **state)
{
    (void)state;
    expect_legal(built_dir, "flow.o");
    expect_legal(data_dir, "gfx942_bf16_nt_128x128x64.co");
    expect_legal(data_dir, "gfx942_fp8_nt_128x128x128.co");
    expect_legal(data_dir, "gfx950_fp8_nt_256x256x128.co");
    expect_legal(data_dir, "gfx950_mxfp4_nt_256x256x256.co");
    expect_legal(data_dir, "gfx950_mxfp8_nt_64x128x128_w8.co");
    expect_legal(data_dir, "gfx950_wgrad_fp8_tn_256x256x128.co");
}

/* xorshift64: the same words every time. */
static uint32_t
next(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return (uint32_t)*x;
}

/* Random fields under every encoding's prefix, literals and sub-dword marks
 * more often than chance has them. */
static void
random_words(uint64_t *x, uint32_t w[4])
{
    static const uint32_t prefix[][2] = {
        { 0x00000000, 31 }, { 0x7c000000, 25 }, { 0x7e000000, 25 },
        { 0x80000000, 30 }, { 0xbe800000, 23 }, { 0xbf800000, 23 },
        { 0xc0000000, 26 }, { 0xd0000000, 26 }, { 0xd3800000, 23 },
        { 0xd3ac0000, 16 }, { 0xd3ad0000, 17 }, { 0xd8000000, 26 },
        { 0xdc000000, 26 }, { 0xe0000000, 26 }, { 0xe8000000, 26 },
    };
    static const uint32_t mark[][2] = {
        { 0x1ff, 0xff }, { 0x1ff, 0xf9 }, { 0x1ff, 0xfa },
        { 0x1ff << 9, 0xff << 9 }, { 0x1ff << 18, 0xff << 18 },
        { 0xff000000, 0xff000000 }, { 0, 0 }, { 0, 0 },
    };
    uint32_t k = next(x) % (sizeof prefix / sizeof *prefix);

    for (int i = 0; i < 4; i++) {
        const uint32_t *m = mark[next(x) % 8];

        w[i] = (next(x) & ~m[0]) | m[1];
    }
    w[0] = prefix[k][0] | (w[0] & ((1u << prefix[k][1]) - 1));
    if (prefix[k][0] == 0xd3ac0000)
        w[2] = 0xd3ad0000 + (w[2] & 0x1ffff);
}

static void
sweep(kiln_target target)
{
    void *d = kn_disasm_open(target);
    uint64_t x = 88172645463325252ull;
    unsigned refused = 0, asked = 0;
    char text[256];
    uint32_t w[4];

    assert_non_null(d);
    for (int i = 0; i < 400000; i++) {
        random_words(&x, w);
        if (kn_guard_words(w)) {
            refused++;
            continue;
        }
        LLVMDisasmInstruction(d, (uint8_t *)w, sizeof w, 0, text,
                              sizeof text);
        asked++;
    }
    assert_true(asked > 200000);
    assert_true(refused > 10000);
    kn_disasm_close(d);
}

static void
test_nothing_guarded_crashes(void **state)
{
    (void)state;
    sweep(KILN_GFX942);
    sweep(KILN_GFX950);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_crashes),
        cmocka_unit_test(test_legal_code_passes),
        cmocka_unit_test(test_nothing_guarded_crashes),
    };

    if (argc != 3)
        return 2;
    data_dir = argv[1];
    built_dir = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
