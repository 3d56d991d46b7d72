/* moe_scaled.c - scales of 128-blocks in moe's gemm1: A's of rows that ids name,
 * stored along K or along the tokens, and those of the output, which it makes. */
#include "moe.h"

/* gemm1's output as codes of 8 bits, under f32 scales of 128 columns that waves
 * share. */
static void
scaled_codes(void **state)
{
    static const char *const how[] = {
        "--a bf16 --out fp8 --block-m 32 --waves 2x2", "--a f16 --out bf8 --waves 4x1 "
        "--block-m 64", "--a i8 --scale row --out i8 --ids plain --cus 3",
        "--a fp8 --scale block128 --b-layout preshuffled --weight before --out fp8",
        "--a fp8 --scale row --out fp8 --epilogue bias --block-m 128", "--a mxfp8 "
        "--out fp8 --act swiglu", "--a fp8 --out fp8 --schedule direct --block-m 16 --cus 2",
    };
    char line[300];

    (void)state;
    for (size_t h = 0; h < 14; h++) {
        snprintf(line, sizeof line, "--stage gemm1 --out-scale block128 --hidden "
                 "352 --inter 256 --experts 6 --topk 3 --tokens 23 --arch gfx9%s %s",
                 h % 2 ? "42" : "50", how[h / 2]);
        expect_run(line, KILN_OK);
    }
    expect_run("--stage gemm2 --out fp8 --out-scale block128 --hidden 96 --inter "
               "256 --experts 4 --topk 2 --tokens 9", KILN_UNSUPPORTED);
    expect_run("--stage gemm1 --out fp8 --out-scale block128 --hidden 96 --inter "
               "256 --experts 4 --topk 2 --tokens 9 --block-m 32 --tile 32x128x64",
               KILN_BAD_INPUT);
}

/* Of what the tile of 256 columns has no registers for. */
static void
no_scaled_codes(void **state)
{
    (void)state;
    expect_run("--stage gemm1 --a mxfp8 --scale-layout shuffled --out fp8 "
               "--out-scale block128 --hidden 256 --inter 256 --experts 4 --topk 2 "
               "--tokens 9", KILN_UNSUPPORTED);
    expect_run("--stage gemm1 --a f32 --out i8 --out-scale block128 --hidden 256 "
               "--inter 256 --experts 4 --topk 2 --tokens 9", KILN_UNSUPPORTED);
}

/* A's, transposed: a token is a column, which ids name. */
static void
transposed_scales(void **state)
{
    static const char *const how[] = {
        "--a fp8", "--a bf8 --b fp8 --weight before --block-m 128 --early ids",
        "--a fp8 --b-layout preshuffled --cus 3 --ids plain", "--a fp8 --block-m 16 "
        "--ldsa 29 --mfma chain", "--a fp8 --b-layout preshuffled-halves --out fp8 "
        "--out-scale block128 --early none",
    };
    char line[300];

    (void)state;
    for (size_t h = 0; h < 10; h++) {
        snprintf(line, sizeof line, "--stage gemm1 --scale block128 --scale-layout "
                 "transposed --hidden %d --inter 256 --experts 6 --topk 3 "
                 "--tokens 23 --arch gfx9%s %s", h % 5 < 4 ? 512 : 400,
                 h % 2 ? "42" : "50", how[h / 2]);
        expect_run(line, KILN_OK);
    }
    expect_run("--stage gemm2 --scale block128 --scale-layout transposed --a fp8 "
               "--hidden 64 --inter 64 --experts 3 --topk 1 --tokens 9",
               KILN_UNSUPPORTED);
    expect_run("--stage gemm1 --scale row --scale-layout transposed --a fp8 "
               "--hidden 64 --inter 64 --experts 3 --topk 1 --tokens 9",
               KILN_UNSUPPORTED);
    expect_run("--stage gemm1 --scale block128 --scale-layout transposed --a fp8 "
               "--hidden 64 --inter 64 --experts 3 --topk 1 --tokens 9 --ldsa 8",
               KILN_BAD_INPUT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scaled_codes),
        cmocka_unit_test(no_scaled_codes),
        cmocka_unit_test(transposed_scales),
    };

    return cmocka_run_group_tests_name("moe-scaled", tests, NULL, NULL);
}
