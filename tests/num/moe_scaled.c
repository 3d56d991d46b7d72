/* moe_scaled.c - scales of 128-blocks in moe's gemm1: A's of rows that ids name,
 * stored along K or along the tokens, and those of the output, which it makes, as well
 * as one scale a row of it; and of groups of i4 weights. */
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

/* One scale a row: of a tile as wide as the rows, and of wider rows, whose tiles leave
 * their sums in the workspace. */
static void
codes_by_row(void **state)
{
    static const char *const how[] = {
        "--a bf16 --out fp8 --inter 300", "--a f16 --out bf8 --inter 128 --block-m 64",
        "--a i8 --scale row --out i8 --ids plain --cus 3 --inter 333 --amax",
        "--a fp8 --scale block128 --b-layout preshuffled --weight before --out fp8 "
        "--inter 160", "--a fp8 --scale row --out fp8 --epilogue bias --block-m 128 "
        "--inter 70", "--a bf16 --b mxfp4 --out fp8 --act swiglu --inter 192 --out2 f32",
        "--a fp8 --out fp8 --schedule direct --block-m 16 --cus 2 --inter 500",
        "--a f32 --out i8 --inter 1 --ldc 12", "--a bf16 --out i8 --inter 259 --ldc 272 "
        "--round stochastic --row r --col w --epilogue gelu(gate*r)*up*w+up_bias",
        "--a mxfp4 --out bf8 --inter 200 --tile 32x64x128 --block-m 32 --wg 1,4",
    };
    char line[400];

    (void)state;
    for (size_t h = 0; h < 20; h++) {
        snprintf(line, sizeof line, "--stage gemm1 --out-scale row --hidden 352 --experts "
                 "6 --topk 3 --tokens 23 --arch gfx9%s %s", h % 2 ? "42" : "50",
                 how[h / 2]);
        expect_run(line, KILN_OK);
    }
    expect_run("--stage gemm1 --a mxfp8 --scale-layout shuffled --out fp8 --out-scale row "
               "--hidden 256 --inter 256 --experts 4 --topk 2 --tokens 9", KILN_OK);
    expect_run("--stage gemm2 --out fp8 --out-scale row --hidden 96 --inter 256 --experts 4 "
               "--topk 2 --tokens 9", KILN_UNSUPPORTED);
    expect_run("--stage gemm1 --out fp8 --out-scale row --hidden 96 --inter 256 --experts 4 "
               "--topk 2 --tokens 9 --early copy", KILN_UNSUPPORTED);
    expect_run("--stage gemm1 --out fp8 --out-scale row --hidden 96 --inter 256 --experts 4 "
               "--topk 2 --tokens 9 --cus 3 --wg 1", KILN_UNSUPPORTED);
}

/* Whatever the tile, blocks of rows, lowering and grid, rounded at random too. */
static void
bits_are_those_of_a_wide_tile(void **state)
{
    enum { N = 112, ROWS = 37 * 3 };
    static const char *const how[] = {
        "--block-m 32 --tile 32x256x64 --waves 2x1", "--block-m 16 --tile 16x64x64",
        "--block-m 64 --tile 64x32x64 --waves 2x1 --cus 5", "--block-m 128 --tile "
        "128x128x64 --waves 2x2 --lowering llvm", "--block-m 128 --tile 128x64x64 --waves "
        "1x2 --ids plain", "--block-m 32 --tile 32x128x64 --schedule direct",
    };
    const uint8_t *codes[6], *scales[6];
    struct kn_ctx c;
    char line[400];

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    for (int gfx942 = 0; gfx942 < 2; gfx942++)
        for (int i = 0; i < 6; i++) {
            snprintf(line, sizeof line, "--stage gemm1 --a bf16 --out fp8 --out-scale row "
                     "--hidden 192 --inter 112 --experts 5 --topk 3 --tokens 37 --round "
                     "stochastic --round-seed 7 --out-file row_codes.bin --out-scale-file "
                     "row_scales.bin --arch gfx9%s %s", gfx942 ? "42" : "50", how[i]);
            expect_run(line, KILN_OK);
            codes[i] = read_file(&c, "row_codes.bin", ROWS * N);
            scales[i] = read_file(&c, "row_scales.bin", ROWS * 4);
            assert_memory_equal(codes[i], codes[0], ROWS * N);
            assert_memory_equal(scales[i], scales[0], ROWS * 4);
        }
    kn_ctx_free(&c);
}

/* gemm2 reads what gemm1 wrote, or codes that the host made of 16 bits. */
static void
layers_by_row(void **state)
{
    static const char *const how[] = {
        "--a fp8", "--a i8 --reduce atomic", "--a bf8 --b fp8 --round stochastic",
        "--a fp8 --requant host", "--a i8 --tensor x --epilogue gate*up+x",
    };
    char line[300];

    (void)state;
    for (size_t h = 0; h < 10; h++) {
        snprintf(line, sizeof line, "--scale row --hidden 96 --inter %d --experts 6 --topk "
                 "3 --tokens 23 --arch gfx9%s %s", h % 3 ? 100 : 300, h % 2 ? "42" : "50",
                 how[h / 2]);
        expect_run(line, KILN_OK);
    }
    expect_run("--scale row --a fp8 --requant even --hidden 96 --inter 96 --experts 6 --topk "
               "3 --tokens 23", KILN_UNSUPPORTED);
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

/* Weights of 4 bits: scales along K, several K tiles' at once where the device is small, and
 * along N; zero points; words. */
static void
groups_of_i4(void **state)
{
    static const char *const how[] = {
        "--scale group32 --device-cus 8", "--scale group64 --scale-type f16",
        "--scale group128 --scale-type bf16 --device-cus 8 --epilogue bias",
        "--scale group32 --scale-layout transposed --device-cus 8",
        "--scale group128 --scale-layout transposed --scale-type f16",
        "--scale group64 --zero-points i4",
        "--scale group128 --zero-points i4 --scale-layout transposed --b-layout awq",
    };
    char line[300];

    (void)state;
    for (size_t h = 0; h < 28; h++) {
        snprintf(line, sizeof line, "--stage gemm%d --hidden 544 --inter %d --experts 5 --topk "
                 "2 --tokens %d --a %s --b i4 --arch gfx9%s %s", 1 + (int)(h / 14),
                 h % 4 < 2 ? 1056 : 288, h % 3 ? 9 : 70, h % 5 ? "bf16" : "f16",
                 h % 2 ? "42" : "50", how[h / 2 % 7]);
        expect_run(line, KILN_OK);
    }
    expect_run("--stage gemm1 --hidden 256 --inter 64 --experts 2 --topk 2 --tokens 140 --a bf16 "
               "--b i4 --arch gfx942 --scale group128 --zero-points i4 --b-layout awq", KILN_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scaled_codes),
        cmocka_unit_test(no_scaled_codes),
        cmocka_unit_test(codes_by_row),
        cmocka_unit_test(bits_are_those_of_a_wide_tile),
        cmocka_unit_test(layers_by_row),
        cmocka_unit_test(transposed_scales),
        cmocka_unit_test(groups_of_i4),
    };

    return cmocka_run_group_tests_name("moe-scaled", tests, NULL, NULL);
}
