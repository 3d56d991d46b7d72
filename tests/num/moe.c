/* moe.c - the moe family: every stage, type and block height on the simulator; a
 * sorter that lies is found. */
#include "moe.h"

static const char *const types[] = { "bf16", "fp8", "mxfp8", "mxfp4" };

static void
every_type_and_block(void **state)
{
    static const int blocks[] = { 16, 32, 64, 128, 256 };
    static const char *const stages[] = {
        "gemm1", "gemm2", "gemm2 --reduce atomic", "gemm2 --data exact",
    };
    char line[256];

    (void)state;
    for (size_t t = 0; t < 4; t++)
        for (size_t b = 0; b < 5; b++)
            for (size_t s = 0; s < 4; s++) {
                snprintf(line, sizeof line, "--stage %s --a %s --block-m %d "
                         "--hidden 352 --inter 224 --experts 6 --topk 3 "
                         "--tokens 23 --seed %zu", stages[s], types[t],
                         blocks[b], t + b);
                expect_run(line, KILN_OK);
            }
}

/* gemm1, requantised, gemm2 and the sum; some experts serve no token. */
static void
whole_layers(void **state)
{
    static const char *const reduce[] = { "ordered", "atomic" };
    char line[256];

    (void)state;
    for (size_t t = 0; t < 4; t++)
        for (size_t r = 0; r < 2; r++) {
            snprintf(line, sizeof line, "--a %s --hidden 256 --inter 160 "
                     "--experts 9 --topk 2 --tokens 21 --routing extreme:4 "
                     "--reduce %s --act %s", types[t], reduce[r],
                     t % 2 == r ? "swiglu" : "limited");
            expect_run(line, KILN_OK);
        }
}

/* Biases of gate, up and down: in front of the activation and of the routing
 * weight, but behind a weight of the input. */
static void
biases(void **state)
{
    static const char *const how[] = {
        "--stage gemm1 --a bf16", "--stage gemm2 --a bf16 --reduce atomic",
        "--a fp8 --scale row --act swiglu", "--stage gemm1 --a fp8 --weight before",
        "--a bf16 --b-layout preshuffled --weight before",
        "--stage gemm1 --a mxfp4 --out bf16", "--stage gemm2 --a i8 --out bf16",
        "--stage gemm2 --a bf16 --reduce atomic --device sim:gfx942",
        "--stage gemm1 --a fp8 --copies lines", "--stage gemm2 --a bf16 --copies lines",
    };
    char line[256];

    (void)state;
    for (size_t i = 0; i < sizeof how / sizeof *how; i++)
        for (int n = 16; n <= 128; n *= 2) {
            snprintf(line, sizeof line, "%s --epilogue bias --hidden 352 "
                     "--inter 224 --experts 6 --topk 3 --tokens 23 --block-m %d",
                     how[i], n);
            expect_run(line, KILN_OK);
        }
    expect_run("--a mxfp4 --epilogue bias --hidden 256 --inter 256 --experts 4 "
               "--topk 2 --tokens 9", KILN_UNSUPPORTED);
}

/* Of gate and up, instead of an activation. */
static void
expressions(void **state)
{
    static const char *const how[] = {
        "--stage gemm1 --a bf16 --epilogue swiglu",
        "--stage gemm1 --a fp8 --scale row --epilogue swiglu_oss(gate+gate_bias,up+up_bias)",
        "--a bf16 --epilogue swiglu_oss(gate+gate_bias,up+up_bias)",
        "--stage gemm1 --a fp8 --weight before --epilogue swiglu_limited",
        "--stage gemm1 --b-layout preshuffled --scalar s=2 --epilogue silu(gate*s)*up",
        "--a mxfp4 --epilogue situ",
        "--stage gemm1 --a i8 --out bf16 --epilogue relu(gate)*up --device sim:gfx942",
    };
    char line[300];

    (void)state;
    for (size_t i = 0; i < sizeof how / sizeof *how; i++)
        for (int n = 16; n <= 128; n *= 2) {
            snprintf(line, sizeof line, "%s --hidden 352 --inter 224 --experts "
                     "6 --topk 3 --tokens 23 --block-m %d", how[i], n);
            expect_run(line, KILN_OK);
        }
    expect_run("--stage gemm2 --epilogue swiglu --hidden 256 --inter 256 "
               "--experts 4 --topk 2 --tokens 9", KILN_UNSUPPORTED);
    expect_run("--act swiglu --epilogue swiglu --hidden 256 --inter 256 "
               "--experts 4 --topk 2 --tokens 9", KILN_BAD_INPUT);
}

static void
odd_shapes(void **state)
{
    (void)state;
    expect_run("--stage gemm2 --a mxfp8 --b mxfp4 --hidden 256 --inter 256 "
               "--experts 4 --topk 2 --tokens 9", KILN_OK);
    expect_run("--stage gemm1 --a mxfp8 --hidden 250 --inter 37 --experts 4 "
               "--topk 2 --tokens 9", KILN_OK);
    expect_run("--stage gemm2 --a bf16 --hidden 37 --inter 51 --experts 4 "
               "--topk 2 --tokens 9", KILN_OK);
    expect_run("--stage gemm2 --a bf16 --hidden 352 --inter 224 --experts 6 "
               "--topk 3 --tokens 23 --ldc 360", KILN_OK);
    expect_run("--stage gemm2 --a bf16 --hidden 352 --inter 224 --experts 6 "
               "--topk 3 --tokens 23 --ldc 354 --reduce atomic", KILN_OK);
    expect_run("--stage gemm1 --a fp8 --hidden 352 --inter 221 --experts 6 "
               "--topk 3 --tokens 23 --ldc 250", KILN_OK);
    expect_run("--hidden 128 --inter 128 --experts 1 --topk 1 --tokens 1",
               KILN_OK);
    expect_run("--hidden 256 --inter 128 --experts 4 --topk 2 --tokens 0",
               KILN_OK);
    expect_run("--stage gemm2 --a mxfp4 --hidden 7168 --inter 512 --experts "
               "385 --topk 9 --tokens 16 --wg sample:8", KILN_OK);
}

/* Rows that begin at any byte: of tokens by their ids, of gate and of up each
 * at its own. */
static void
odd_rows(void **state)
{
    static const char *const odd[] = { "bf16", "i8", "fp8", "mxfp8", "mxfp6",
                                       "mxfp4" };
    static const int blocks[] = { 16, 64, 128 };
    char line[256];

    (void)state;
    for (size_t t = 0; t < 6; t++)
        for (size_t b = 0; b < 6; b++) {
            snprintf(line, sizeof line, "--stage gemm%zu --a %s --block-m %d "
                     "--hidden 297 --inter 83 --experts 4 --topk 2 "
                     "--tokens 20 --arch gfx9%s", 1 + b % 2, odd[t],
                     blocks[b / 2], (t + b / 2) % 2 ? "42" : "50");
            expect_run(line, KILN_OK);
        }
}

static void
refusals(void **state)
{
    (void)state;
    expect_run("--stage gemm2 --hidden 128 --inter 128 --experts 4 --topk 5 "
               "--tokens 3", KILN_BAD_INPUT);
    expect_run("--hidden 128 --inter 128 --experts 4 --topk 2 --tokens 3 --ldc "
               "130", KILN_BAD_INPUT);
    expect_run("--stage gemm2 --hidden 128 --inter 128 --experts 4 --topk 2",
               KILN_BAD_INPUT);
    expect_run("--stage gemm2 --hidden 129 --inter 128 --experts 4 --topk 2 "
               "--tokens 3 --reduce atomic", KILN_UNSUPPORTED);
    expect_run("--stage gemm2 --hidden 128 --inter 128 --experts 4 --topk 2 "
               "--tokens 3 --tile 64x128x64 --block-m 32", KILN_BAD_INPUT);
    expect_run("--stage gemm1 --hidden 128 --inter 100 --experts 4 --topk 2 "
               "--tokens 3 --scale block128 --a fp8", KILN_UNSUPPORTED);
}

/* The first three tokens of a layer, and their slots after gemm1: the same bits
 * among 3 to 90 tokens, in blocks of any height. */
static void
rows_are_invariant(void **state)
{
    static const char *const lines[] = {
        "--a bf16", "--a mxfp4", "--a fp8 --stage gemm1", "--a mxfp8 --stage gemm1",
    };
    enum { BYTES = 3 * 160 * 2 };
    uint8_t first[BYTES], now[BYTES];
    char line[256];

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (int n = 0; n < 4; n++) {
            static const int tokens[] = { 3, 17, 90, 41 };
            FILE *f;

            snprintf(line, sizeof line, "%s --hidden 256 --inter 160 --experts "
                     "9 --topk 2 --tokens %d --block-m %d --invariant "
                     "--out-file moe-rows.bin", lines[i], tokens[n], 16 << n);
            expect_run(line, KILN_OK);
            f = fopen("moe-rows.bin", "rb");
            assert_non_null(f);
            assert_int_equal(fread(n ? now : first, 1, BYTES, f), BYTES);
            fclose(f);
            if (n && memcmp(now, first, BYTES))
                fail_msg("%s: other bits", line);
        }
    remove("moe-rows.bin");
    expect_run("--stage gemm2 --hidden 128 --inter 128 --experts 4 --topk 2 "
               "--tokens 3 --reduce atomic --invariant", KILN_UNSUPPORTED);
}

/* gemm1's epilogue quantises, in every mode; a layer does so by itself. */
static void
quantised_outputs(void **state)
{
    static const char *const modes[] = { "floor", "round-up", "even", "ceil" };
    char line[300];

    (void)state;
    for (size_t m = 0; m < 4; m++)
        for (size_t t = 0; t < 2; t++) {
            snprintf(line, sizeof line, "--stage gemm1 --a %s --out %s "
                     "--requant %s --block-m %d --hidden 288 --inter 224 "
                     "--experts 6 --topk 3 --tokens 23 --ids %s",
                     m % 2 ? "bf16" : "mxfp8", t ? "mxfp8" : "mxfp4", modes[m],
                     16 << m, t ? "plain" : "packed");
            expect_run(line, KILN_OK);
        }
    expect_run("--a mxfp4 --hidden 160 --inter 96 --experts 5 --topk 2 "
               "--tokens 9 --requant host --cus 4", KILN_OK);
    expect_run("--a mxfp8 --hidden 160 --inter 96 --experts 5 --topk 2 "
               "--tokens 9 --requant round-up --cus 4", KILN_OK);
    expect_run("--a mxfp8 --hidden 160 --inter 90 --experts 5 --topk 2 "
               "--tokens 9 --requant even", KILN_UNSUPPORTED);
    expect_run("--stage gemm1 --a mxfp8 --out mxfp4 --hidden 160 --inter 80 "
               "--experts 5 --topk 2 --tokens 9", KILN_BAD_INPUT);
    expect_run("--stage gemm1 --a mxfp8 --out mxfp4 --hidden 160 --inter 64 "
               "--experts 5 --topk 2 --tokens 9 --block-m 16 --tile 16x64x128 "
               "--waves 1x1", KILN_UNSUPPORTED);
}

/* One sorted array altered before it is copied: the check has to see it. */
static bool
notices(int what, const char *line)
{
    struct setting s;
    struct moe_run m = { 0 };
    bool seen;

    assert_int_equal(start(&s, line), KILN_OK);
    assert_int_equal(moe_prepare(&s.t, &m), KILN_OK);
    if (what == 1)
        m.sorted.weights[0] *= 2;
    if (what == 2)
        m.sorted.experts[0] ^= 1;
    assert_int_equal(kn_session_do(&s.c, &m.place, moe_run_stages, &m),
                     KILN_OK);
    seen = m.wrong;
    kn_ctx_free(&s.c);
    return seen;
}

static void
a_lying_sorter_is_noticed(void **state)
{
    static const char down[] = "--stage gemm2 --hidden 64 --inter 128 "
        "--experts 4 --topk 2 --tokens 12 --block-m 16";
    static const char up[] = "--stage gemm1 --out mxfp4 --a mxfp8 --hidden 64 "
        "--inter 128 --experts 4 --topk 2 --tokens 12 --block-m 16";
    static const char coded[] = "--stage gemm1 --out fp8 --out-scale block128 "
        "--hidden 64 --inter 128 --experts 4 --topk 2 --tokens 12 --block-m 16";
    static const char narrow[] = "--stage gemm2 --a bf16 --b mxfp4 --hidden 64 "
        "--inter 128 --experts 4 --topk 2 --tokens 12 --block-m 16";

    (void)state;
    assert_false(notices(0, down));
    assert_true(notices(1, down));
    assert_true(notices(2, down));
    assert_false(notices(0, up));
    assert_true(notices(2, up));
    assert_false(notices(0, coded));
    assert_true(notices(2, coded));
    assert_false(notices(0, narrow));
    assert_true(notices(1, narrow));
    assert_true(notices(2, narrow));
}

/* B and scales as peers store them, all types and block heights; K tails. */
static void
stored_layouts(void **state)
{
    static const int blocks[] = { 16, 32, 64, 128 };
    static const char *const stages[] = { "gemm1", "gemm2" };
    char line[256];

    (void)state;
    for (size_t t = 0; t < 4; t++)
        for (size_t b = 0; b < 4; b++) {
            snprintf(line, sizeof line, "--stage %s --a %s --block-m %d "
                     "--hidden 352 --inter 224 --experts 5 --topk 2 --tokens "
                     "23 --b-layout preshuffled --nt-b %zu %s",
                     stages[(t + b) % 2], types[t], blocks[b], b % 2,
                     t > 1 ? "--scale-layout shuffled" : "");
            expect_run(line, KILN_OK);
        }
    expect_run("--a mxfp4 --hidden 256 --inter 256 --experts 5 --topk 2 "
               "--tokens 9 --scale-layout shuffled", KILN_OK);
    expect_run("--stage gemm2 --a bf16 --hidden 250 --inter 64 --experts 4 "
               "--topk 2 --tokens 3 --b-layout preshuffled", KILN_BAD_INPUT);
    expect_run("--stage gemm1 --a bf16 --hidden 256 --inter 64 --experts 4 "
               "--topk 2 --tokens 3 --scale-layout shuffled",
               KILN_UNSUPPORTED);
}

/* Fragments straight from memory: every type, both loops, K tails, gate and
 * up, ids of both kinds, tiles of several waves; and what cannot. */
static void
streams(void **state)
{
    static const char *const how[] = {
        "--stage gemm1 --schedule direct --block-m 32 --tile 32x64x%s "
        "--hidden 768 --inter 96",
        "--stage gemm2 --schedule direct --block-m 16 --tile 16x32x%s --waves "
        "1x1 --hidden 80 --inter 416 --ids plain",
        "--stage gemm2 --schedule unrolled --block-m 32 --tile 32x64x%s --waves "
        "2x2 --hidden 96 --inter 256",
        "--stage gemm2 --schedule unrolled --block-m 64 --tile "
        "64x64x%s --waves 2x2 --hidden 64 --inter 224",
    };
    static const char *const stored[] = { "", "--b-layout preshuffled",
        "--b-layout preshuffled --scale-layout shuffled" };
    char tile[160], line[400];

    (void)state;
    for (size_t t = 0; t < 4; t++)
        for (size_t h = 0; h < 4; h++) {
            bool mx = t > 1;

            /* MX: rows of 13 or 7 scales only where they are padded */
            snprintf(tile, sizeof tile, how[h], mx ? "256" : "128");
            snprintf(line, sizeof line, "%s --a %s --experts 5 --topk 2 "
                     "--tokens 23 %s", tile, types[t],
                     stored[mx ? h % 2 ? 2 : (t + h / 2) % 2 * 2 : h % 2]);
            expect_run(line, KILN_OK);
        }
    /* fewer rows than there is room for: which tile a workgroup has */
    expect_run("--stage gemm2 --a mxfp4 --experts 40 --topk 3 --tokens 8 "
               "--hidden 1024 --inter 256 --block-m 32 --b-layout "
               "preshuffled --scale-layout shuffled --wg sample:6", KILN_OK);
    /* a persistent launch: workgroups take tiles in turn */
    expect_run("--stage gemm1 --schedule direct --cus 3 --tile 16x32x128 "
               "--waves 1x1 --block-m 16 --a fp8 --weight before --experts 3 "
               "--topk 2 --tokens 20 --hidden 384 --inter 64", KILN_OK);
    expect_run("--stage gemm2 --schedule direct --early none --cus 5 --tile "
               "16x32x256 --waves 1x1 --block-m 16 --a mxfp4 --experts 3 "
               "--topk 2 --tokens 20 --hidden 96 --inter 512", KILN_OK);
    expect_run("--stage gemm2 --schedule direct --hidden 64 --inter 250 --a "
               "bf16 --experts 3 --topk 1 --tokens 9", KILN_UNSUPPORTED);
    expect_run("--stage gemm2 --schedule direct --early copy --hidden 64 "
               "--inter 256 --a bf16 --experts 3 --topk 1 --tokens 9",
               KILN_BAD_INPUT);
}

/* A factor a row of A, by token or by slot, and one a column of B, gate and
 * up: every loop, ids of both kinds, layers; and what has none. */
static void
row_scales(void **state)
{
    static const char *const how[] = {
        "--stage gemm1 --a fp8 --b bf8 --weight before --block-m 128",
        "--stage gemm1 --a i8 --ids plain --out f32 --block-m 16",
        "--stage gemm1 --a fp8 --b-layout preshuffled --block-m 32",
        "--stage gemm1 --a bf8 --schedule direct --block-m 16",
        "--stage gemm1 --a fp8 --out mxfp4",
        "--stage gemm2 --a fp8 --early none --block-m 64",
        "--stage gemm2 --a fp8 --b-layout preshuffled --block-m 16",
        "--stage gemm2 --a i8 --ids plain --cus 3",
        "--stage gemm2 --a fp8 --reduce atomic",
        "--stage gemm2 --a i8 --reduce atomic --device sim:gfx942",
        "--stage gemm2 --a fp8 --device sim:gfx942",
        "--stage layer --a fp8",
    };
    char line[256];

    (void)state;
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        snprintf(line, sizeof line, "--scale row --hidden 352 --inter 224 "
                 "--experts 5 --topk 2 --tokens 23 %s", how[i]);
        expect_run(line, KILN_OK);
    }
    expect_run("--stage gemm2 --scale row --a bf16 --hidden 64 --inter 64 "
               "--experts 3 --topk 1 --tokens 9", KILN_UNSUPPORTED);
    expect_run("--stage gemm2 --scale block128 --a i8 --hidden 64 --inter "
               "64 --experts 3 --topk 1 --tokens 9", KILN_UNSUPPORTED);
    expect_run("--stage gemm2 --scale row --a fp8 --hidden 7168 --inter 256 "
               "--experts 64 --topk 8 --tokens 40000", KILN_UNSUPPORTED);
}

/* A factor for 128 K of a row of A and for 128 x 128 of B, blocks that the
 * tiles of gate and up begin in the middle of; tails of K and of columns. */
static void
block_scales(void **state)
{
    static const char *const how[] = {
        "--stage gemm1 --a fp8 --inter 256",
        "--stage gemm1 --a bf8 --inter 176 --weight before --block-m 128",
        "--stage gemm1 --a fp8 --inter 176 --b-layout preshuffled",
        "--stage gemm1 --a fp8 --inter 160 --out mxfp4 --block-m 64",
        "--stage gemm1 --a fp8 --inter 96 --device sim:gfx942",
        "--stage gemm2 --a fp8 --inter 416 --reduce atomic --early both",
        "--stage gemm2 --a fp8 --inter 416 --b-layout preshuffled",
        "--stage gemm2 --a bf8 --inter 256 --ids plain --cus 5",
        "--stage gemm2 --a fp8 --inter 96 --block-m 128 --device sim:gfx942",
        "--stage layer --a fp8 --inter 224",
    };
    char line[256];

    (void)state;
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        snprintf(line, sizeof line, "--scale block128 --hidden 352 --experts "
                 "5 --topk 2 --tokens 23 %s", how[i]);
        expect_run(line, KILN_OK);
    }
    expect_run("--stage gemm2 --a fp8 --scale block128 --hidden 7168 --inter "
               "256 --experts 64 --topk 8 --tokens 40000 --block-m 32 --wg "
               "sample:4", KILN_OK);
}

/* Rows beyond 2 GiB of each other, in windows of tokens; sampled. */
static void
far_rows(void **state)
{
    (void)state;
    expect_run("--stage gemm2 --a mxfp8 --hidden 7168 --inter 256 --experts 64 "
               "--topk 8 --tokens 40000 --block-m 32 --wg sample:4", KILN_OK);
    expect_run("--stage gemm1 --a bf16 --hidden 7168 --inter 64 --experts 64 "
               "--topk 2 --tokens 320000 --block-m 32 --ids plain --wg "
               "sample:4", KILN_OK);
    expect_run("--stage gemm1 --a bf16 --b mxfp4 --hidden 7168 --inter 64 "
               "--experts 64 --topk 2 --tokens 320000 --block-m 32 --wg "
               "sample:4", KILN_OK);
    expect_run("--stage gemm2 --a bf16 --hidden 7168 --inter 64 --experts 64 "
               "--topk 8 --tokens 70000 --cus 4 --wg 0", KILN_UNSUPPORTED);
}

/* What is issued early changes nothing but the order. */
static void
early_and_late(void **state)
{
    static const char *const early[] = { "none", "ids", "copy", "both" };
    static const char *const how[] = {
        "--stage gemm1 --a mxfp4 --block-m 32",
        "--a mxfp4 --block-m 16 --b-layout preshuffled --stage gemm2",
        "--stage gemm2 --a bf16 --block-m 64 --out f32",
        "--stage gemm1 --a fp8 --block-m 128",
    };
    char line[300];

    (void)state;
    for (size_t e = 0; e < 4; e++)
        for (size_t h = 0; h < 4; h++) {
            snprintf(line, sizeof line, "%s --hidden 512 --inter 512 --experts "
                     "7 --topk 2 --tokens 19 --routing extreme:3 --early %s",
                     how[h], early[e]);
            expect_run(line, KILN_OK);
        }
    expect_run("--stage gemm2 --hidden 512 --inter 512 --experts 4 --topk 2 "
               "--tokens 9 --early copy --cus 8", KILN_BAD_INPUT);
}

static void
ids_weights_and_outputs(void **state)
{
    static const char *const how[] = {
        "--ids plain", "--weight before", "--weight none", "--cus 3",
        "--cus 5 --ids plain", "--out f32", "--out f16 --weight before",
    };
    char line[300];

    (void)state;
    for (size_t h = 0; h < sizeof how / sizeof *how; h++)
        for (size_t t = 0; t < 4; t++) {
            snprintf(line, sizeof line, "%s--a %s --hidden 96 --inter 160 "
                     "--experts 500 --topk 3 --tokens 13 %s",
                     t ? "" : "--device sim:gfx942 ", types[t], how[h]);
            expect_run(line, KILN_OK);
        }
}

#define SORTED_FILES "--sorted-ids-file moe_ids.bin --expert-ids-file " \
    "moe_experts.bin --num-padded-file moe_padded.bin --weights-file " \
    "moe_weights.bin"

/* Sorted arrays of one's own: some experts live elsewhere (-1, or beyond),
 * and what lies behind the padded count is garbage. */
static void
sorted_files(void **state)
{
    struct kn_moe_routing r = { .tokens = 30, .topk = 3, .experts = 6 };
    struct kn_moe_sorted s = { 0 };
    struct kn_ctx c;
    int32_t plain[1024];

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    assert_int_equal(kn_moe_route(&c, 5, 6, false, &r), KILN_OK);
    assert_int_equal(kn_moe_sort(&c, &r, 16, &s), KILN_OK);
    assert_true(s.room <= 1024 && s.padded < s.room);
    s.experts[1] = -1;
    s.experts[3] = 6;
    for (int64_t i = s.padded; i < s.room; i++)
        s.ids[i] = 1 << 24;
    for (int64_t i = 0; i < s.room; i++)
        plain[i] = (s.ids[i] & 0xffffff) * 3 + (s.ids[i] >> 24);
    write_file("moe_ids.bin", s.ids, (size_t)s.room * 4);
    write_file("moe_plain.bin", plain, (size_t)s.room * 4);
    write_file("moe_experts.bin", s.experts, (size_t)s.padded / 16 * 4);
    write_file("moe_padded.bin", &s.padded, 4);
    write_file("moe_weights.bin", s.weights, (size_t)s.padded * 4);
#define SIZES " --a bf16 --hidden 128 --inter 64 --experts 6 --topk 3 " \
    "--tokens 30 --block-m 16 "
    expect_run("--stage gemm2" SIZES SORTED_FILES, KILN_OK);
    expect_run("--stage gemm1" SIZES SORTED_FILES " --cus 3", KILN_OK);
    expect_run("--stage gemm2" SIZES "--ids plain --sorted-ids-file "
               "moe_plain.bin --expert-ids-file moe_experts.bin "
               "--num-padded-file moe_padded.bin --weights-file "
               "moe_weights.bin", KILN_OK);
    expect_run("--stage gemm2" SIZES "--sorted-ids-file moe_ids.bin",
               KILN_BAD_INPUT);
    expect_run("--stage gemm2 --a bf16 --hidden 128 --inter 64 --experts 6 "
               "--topk 2 --tokens 30 --block-m 16 " SORTED_FILES,
               KILN_BAD_INPUT);       /* slot 2 of 2 */
    expect_run("--stage gemm2 --a bf16 --hidden 128 --inter 64 --experts 6 "
               "--topk 3 --tokens 30 --block-m 128 " SORTED_FILES,
               KILN_BAD_INPUT);       /* no whole blocks */
    kn_ctx_free(&c);
    remove("moe_ids.bin");
    remove("moe_plain.bin");
    remove("moe_experts.bin");
    remove("moe_padded.bin");
    remove("moe_weights.bin");
}

/* MiniMax-M3, its inner width whole and halved: every expert-parallel share,
 * and 256 experts, whose B is beyond 2 GB. */
static void
published_experts(const char *how)
{
    static const int experts[] = { 128, 64, 32, 256 };
    char line[300];

    for (size_t e = 0; e < 4; e++)
        for (int k = 0; k < 4; k++) {
            snprintf(line, sizeof line, "--stage gemm%d --a mxfp8 --hidden "
                     "6144 --inter %d --experts %d --topk 4 --tokens %d "
                     "--wg sample:4 %s", 1 + k % 2, k < 2 ? 768 : 384,
                     experts[e], e == 3 && k < 2 ? 2048 : 64, how);
            expect_run(line, KILN_OK);
        }
}

/* Published models at full size, sampled; a whole layer of KIMI-K2.5. Exact
 * data: gemm2 equals the correctly rounded reference. */
static void
published_sizes(void **state)
{
    static const int tokens[] = { 4, 8, 16, 32, 64, 128, 256, 16384 };
    char line[300];

    (void)state;
    published_experts("");
    published_experts("--data exact");
    published_experts("--data exact --device sim:gfx942");
    for (size_t m = 0; m < 16; m++) {
        snprintf(line, sizeof line, "--stage gemm2 --a mxfp4 --hidden 7168 "
                 "--inter 512 --experts 385 --topk 9 --tokens %d --block-m %d "
                 "--b-layout preshuffled --scale-layout shuffled --nt-b 1 "
                 "--wg sample:3 %s", tokens[m / 2], m % 4 < 2 ? 32 : 16,
                 m % 2 ? "--data exact" : "");
        expect_run(line, KILN_OK);
    }
    expect_run("--a mxfp4 --hidden 7168 --inter 512 --experts 385 --topk 9 "
               "--tokens 16", KILN_OK);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest shapes[] = { cmocka_unit_test(published_sizes) };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lying_sorter_is_noticed),
        cmocka_unit_test(every_type_and_block),
        cmocka_unit_test(rows_are_invariant),
        cmocka_unit_test(whole_layers),
        cmocka_unit_test(stored_layouts),
        cmocka_unit_test(streams),
        cmocka_unit_test(row_scales),
        cmocka_unit_test(block_scales),
        cmocka_unit_test(far_rows),
        cmocka_unit_test(early_and_late),
        cmocka_unit_test(ids_weights_and_outputs),
        cmocka_unit_test(sorted_files),
        cmocka_unit_test(quantised_outputs),
        cmocka_unit_test(biases),
        cmocka_unit_test(expressions),
        cmocka_unit_test(odd_shapes),
        cmocka_unit_test(odd_rows),
        cmocka_unit_test(refusals),
    };

    if (argc > 1 && !strcmp(argv[1], "shapes"))
        return cmocka_run_group_tests(shapes, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
