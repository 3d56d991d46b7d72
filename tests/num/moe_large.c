/* moe_large.c - moe of many rows an expert: blocks of 128 and 256 sorted rows in the loops
 * whose waves have half of such a tile, chosen and asked for; and MX scales of several K
 * tiles at once, of any block. */
#include "moe.h"

/* Four waves' loop: rows of A and their scales by ids, in pieces of a tile, in several
 * blocks of an expert of which the last is short. */
static void
four_waves(void **state)
{
    static const char *const how[] = {
        "--a bf16 --tile 256x256x64 --waves 2x4", "--a f16 --tile 256x128x64 --waves 2x2",
        "--a fp8 --tile 256x256x128 --waves 2x4 --scale row --ids plain",
        "--a i8 --out bf16 --tile 128x256x128 --waves 1x4",
        "--a mxfp8 --tile 256x256x128 --waves 2x2", "--a mxfp8 --tile 128x256x128 --waves 1x4",
        "--a mxfp4 --tile 256x256x256 --waves 2x2", "--a mxfp4 --tile 128x256x256 --waves 1x4",
        "--a mxfp8 --b mxfp4 --tile 256x256x128 --waves 2x2 --early none",
        "--b-layout preshuffled --a bf16 --tile 256x256x64 --waves 2x4",
        "--a bf16 --b mxfp4 --tile 256x256x64 --waves 2x2 --stages 1",
        "--a bf16 --tile 128x128x64 --waves 1x4 --arch gfx942",
        "--a fp8 --tile 128x128x128 --waves 1x4 --arch gfx942 --ids plain",
        "--a bf16 --b mxfp4 --tile 128x256x64 --waves 1x4 --arch gfx942",
    };
    static const char *const stages[] = {
        "gemm1 --epilogue bias --act swiglu --hidden 704", "gemm2 --reduce atomic --hidden 288",
    };
    char line[256];

    (void)state;
    for (size_t i = 0; i < sizeof how / sizeof *how; i++)
        for (size_t s = 0; s < 2; s++) {
            snprintf(line, sizeof line, "%s --schedule 4-wave --stage %s --inter 352 "
                     "--experts 2 --topk 1 --tokens 610", how[i], stages[s]);
            expect_run(line, KILN_OK);
        }
}

/* MX scales of several K tiles at once, in every loop: of rows of whole and of broken dwords,
 * which are shifted in registers, and of 64 bytes a row; and shuffled ones of four waves. */
static void
scales_together(void **state)
{
    static const char *const how[] = {
        "--a mxfp8 --b mxfp4 --tile 64x128x256 --waves 2x2 --schedule simple",
        "--a mxfp8 --tile 16x64x128 --waves 1x2 --schedule simple --block-m 16",
        "--a mxfp6 --tile 64x256x128 --waves 1x4 --schedule simple",
        "--a mxfp8 --b mxfp4 --tile 128x256x256 --waves 1x4 --schedule 4-wave",
        ("--a mxfp8 --b mxfp4 --tile 128x256x128 --waves 1x4 --schedule 4-wave "
         "--scale-layout shuffled --b-layout preshuffled"),
        "--a mxfp4 --tile 256x256x256 --waves 2x2 --schedule 4-wave --scale-layout shuffled",
    };
    static const char *const depths[] = {
        "gemm1 --inter 96 --hidden 2304", "gemm1 --inter 96 --hidden 2976",
        "gemm2 --hidden 288 --inter 1280 --reduce ordered",
    };
    char line[320];

    (void)state;
    for (size_t i = 0; i < sizeof how / sizeof *how; i++)
        for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
            snprintf(line, sizeof line, "%s --stage %s --experts 2 --topk 1 --tokens 150",
                     how[i], depths[d]);
            expect_run(line, KILN_OK);
        }
    /* many exits of the loop before matrix results are read at once */
    expect_run("--a mxfp8 --b mxfp4 --act gelu_tanh --tile 64x64x128 --waves 1x2 --stage gemm1 "
               "--hidden 512 --inter 256 --experts 2 --topk 1 --tokens 60 --block-m 64", KILN_OK);
    expect_run("--a mxfp4 --tile 128x256x256 --waves 2x4 --schedule interleave --stage gemm1 "
               "--inter 96 --hidden 2304 --experts 2 --topk 1 --tokens 150", KILN_OK);
}

/* Blocks of so many rows, of a launch that is right. */
static void
expect_blocks(const char *line, const char *rows)
{
    struct setting s;

    assert_int_equal(start(&s, line), KILN_OK);
    assert_int_equal(kn_run_moe(&s.t), KILN_OK);
    assert_non_null(strstr(s.text.s, rows));
    assert_non_null(strstr(s.text.s, "check     ok"));
    kn_ctx_free(&s.c);
}

/* What is left to the chooser, of a device on which a few tiles are many; the block is
 * what it says, and the loop. */
static void
chosen(void **state)
{
    static const char *const how[] = {
        "--a bf16 --reduce atomic", "--a fp8 --scale row --act swiglu",
        "--a mxfp8 --reduce ordered", "--a mxfp4 --ids plain", "--a bf16 --b mxfp4 --act limited",
    };
    char line[256];

    (void)state;
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        snprintf(line, sizeof line, "%s --hidden 512 --inter 512 --experts 3 --topk 2 "
                 "--tokens 300 --device-cus 2 --device-xcds 1", how[i]);
        expect_blocks(line, "sorted rows in blocks of 256");
    }
}

/* Few rows, or few tiles, are better by smaller blocks; so is what no row of routed.def
 * of 256 serves. */
static void
smaller(void **state)
{
    static const char *const how[] = {
        "--a bf16 --tokens 300", "--a bf16 --tokens 150 --device-cus 2 --device-xcds 1",
        "--a f32 --tokens 300 --device-cus 2 --device-xcds 1",
        "--a bf16 --lowering llvm --tokens 300 --device-cus 2 --device-xcds 1",
        "--a bf16 --tokens 300 --arch gfx942 --device-cus 2 --device-xcds 1",
    };
    char line[256];

    (void)state;
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        snprintf(line, sizeof line, "%s --hidden 512 --inter 512 --experts 3 --topk 2 "
                 "--stage gemm1", how[i]);
        expect_blocks(line, "sorted rows in blocks of 128");
    }
}

/* A window of tokens is a product of its own: LDS is filled anew behind it. */
static void
far_rows(void **state)
{
    (void)state;
    expect_run("--stage gemm2 --a mxfp8 --hidden 7168 --inter 256 --experts 64 --topk 8 "
               "--tokens 40000 --tile 256x256x128 --waves 2x2 --schedule 4-wave "
               "--wg sample:2", KILN_OK);
    expect_run("--stage gemm1 --a bf16 --hidden 7168 --inter 64 --experts 64 --topk 2 "
               "--tokens 320000 --ids plain --tile 128x128x64 --waves 1x4 --schedule 4-wave "
               "--arch gfx942 --wg sample:2", KILN_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_waves),
        cmocka_unit_test(scales_together),
        cmocka_unit_test(chosen),
        cmocka_unit_test(smaller),
        cmocka_unit_test(far_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
