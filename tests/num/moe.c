/* moe.c - the moe family: sort and align against their definition, the MX
 * quantiser against a search, and every stage, type and block height on the
 * simulator; a sorter that lies is found. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../gen/tool/run/cmd_run_moe.h"
#include "../../gen/layout.h"

/* ---- runs ---- */

struct setting {
    struct kn_ctx c;
    struct kn_cli cli;
    struct kn_progress progress;
    struct kn_buf text;
    struct kn_tool t;
};

static kiln_status
start(struct setting *s, const char *line)
{
    char *argv[64], words[512];
    int argc = 0;

    memset(s, 0, sizeof *s);
    kn_ctx_init(&s->c, NULL, NULL);
    s->text.c = &s->c;
    s->t = (struct kn_tool){ .c = &s->c, .cli = &s->cli,
                             .progress = &s->progress, .text = &s->text };
    snprintf(words, sizeof words, "kilnc run moe %s", line);
    for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
        argv[argc++] = kn_strdup(&s->c, w);
    return kn_cli_parse(&s->c, argc, argv, &s->cli);
}

static void
expect_run(const char *line, kiln_status want)
{
    struct setting s;
    kiln_status got = start(&s, line);

    if (!got)
        got = kn_run_moe(&s.t);
    if (got != want || (!got && !strstr(s.text.s, "check     ok")))
        fail_msg("run moe %s: status %d, %s\n%s", line, got, s.c.err.text,
                 s.text.s ? s.text.s : "");
    kn_ctx_free(&s.c);
}

static const char *const types[] = { "bf16", "fp8", "mxfp8", "mxfp4" };

static void
every_type_and_block(void **state)
{
    static const int blocks[] = { 16, 32, 64, 128 };
    static const char *const stages[] = {
        "gemm1", "gemm2", "gemm2 --reduce atomic", "gemm2 --data exact",
    };
    char line[256];

    (void)state;
    for (size_t t = 0; t < 4; t++)
        for (size_t b = 0; b < 4; b++)
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
                     "--reduce %s --act swiglu", types[t], reduce[r]);
            expect_run(line, KILN_OK);
        }
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
    expect_run("--hidden 128 --inter 128 --experts 1 --topk 1 --tokens 1",
               KILN_OK);
    expect_run("--hidden 256 --inter 128 --experts 4 --topk 2 --tokens 0",
               KILN_OK);
    expect_run("--stage gemm2 --a mxfp4 --hidden 7168 --inter 512 --experts "
               "385 --topk 9 --tokens 16 --wg sample:8", KILN_OK);
}

static void
refusals(void **state)
{
    (void)state;
    expect_run("--stage gemm2 --hidden 128 --inter 128 --experts 4 --topk 5 "
               "--tokens 3", KILN_BAD_INPUT);
    expect_run("--stage gemm2 --hidden 128 --inter 128 --experts 4 --topk 2",
               KILN_BAD_INPUT);
    expect_run("--stage gemm2 --hidden 129 --inter 128 --experts 4 --topk 2 "
               "--tokens 3 --reduce atomic", KILN_UNSUPPORTED);
    expect_run("--stage gemm2 --hidden 128 --inter 128 --experts 4 --topk 2 "
               "--tokens 3 --tile 64x128x64 --block-m 32", KILN_BAD_INPUT);
    expect_run("--stage gemm1 --hidden 128 --inter 100 --experts 4 --topk 2 "
               "--tokens 3 --scale block128 --a fp8", KILN_UNSUPPORTED);
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
               "--waves 1x1", KILN_BAD_INPUT);
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

    (void)state;
    assert_false(notices(0, down));
    assert_true(notices(1, down));
    assert_true(notices(2, down));
    assert_false(notices(0, up));
    assert_true(notices(2, up));
}

/* ---- host ---- */

static void
check_sorted(const struct kn_moe_routing *r, const struct kn_moe_sorted *s,
             uint32_t block_m)
{
    int64_t seen = 0, last = -1;

    assert_true(s->padded <= s->room && s->padded % block_m == 0);
    for (int32_t i = 0; i < s->padded; i++) {
        uint32_t id = (uint32_t)s->ids[i];
        int64_t at = (int64_t)(id & 0xffffff) * r->topk + (id >> 24);

        if (i % (int32_t)block_m == 0)
            last = -1;
        if (id == (uint32_t)r->tokens) {
            assert_true(s->weights[i] == 0);
            continue;
        }
        assert_true(at > last);
        assert_int_equal(r->expert[at], s->experts[i / (int32_t)block_m]);
        assert_true(s->weights[i] == r->weight[at]);
        last = at;
        seen++;
    }
    assert_int_equal(seen, r->tokens * r->topk);
}

static void
sort_is_its_definition(void **state)
{
    static const uint32_t blocks[] = { 16, 32, 64, 128 };

    (void)state;
    for (int64_t n = 0; n < 60; n++) {
        struct kn_moe_routing r = { .tokens = n * 3, .topk = 1 + n % 5,
                                    .experts = 5 + n };
        struct kn_moe_sorted s = { 0 };
        struct kn_ctx c;

        kn_ctx_init(&c, NULL, NULL);
        assert_int_equal(kn_moe_route(&c, (uint64_t)n, 5 + n / 2, false, &r),
                         KILN_OK);
        if (n % 7 == 3)      /* slots of a token that share an expert */
            for (int64_t i = 0; i < r.tokens * r.topk; i++)
                r.expert[i] = (int32_t)(i % 2);
        assert_int_equal(kn_moe_sort(&c, &r, blocks[n % 4], &s), KILN_OK);
        check_sorted(&r, &s, blocks[n % 4]);
        if (r.tokens) {
            r.expert[0] = (int32_t)r.experts;
            assert_int_equal(kn_moe_sort(&c, &r, 16, &s), KILN_BAD_INPUT);
        }
        kn_ctx_free(&c);
    }
}

/* No code of the type is nearer to the number than the one chosen. */
static void
quantised_is_nearest(void **state)
{
    uint8_t payload[48], scale[2];
    double row[48], v, amax = 0;

    (void)state;
    for (int i = 0; i < 48; i++)
        row[i] = sin(i * 1.7) * ldexp(1, i % 11 - 5);
    kn_moe_quantise(&(struct kn_moe_row){ KILN_MXFP4, KILN_GFX950, row, 48,
                                          KN_MX_FLOOR },
                    payload, scale);
    for (int i = 0; i < 48; i++) {
        uint32_t code = payload[i / 2] >> (i % 2 * 4) & 15;
        double unit = ldexp(1, scale[i / 32] - 127), best = INFINITY;

        v = kn_ref_decode(KILN_MXFP4, KILN_GFX950, code) * unit;
        for (uint32_t x = 0; x < 16; x++)
            best = fmin(best, fabs(kn_ref_decode(KILN_MXFP4, KILN_GFX950, x) *
                                   unit - row[i]));
        assert_true(fabs(v - row[i]) == best);
    }
    for (int i = 0; i < 32; i++)
        amax = fmax(amax, fabs(row[i]));
    assert_int_equal(scale[0], 127 + ilogb(amax) - 2);
}

/* dst = src viewed as dim[0..n) and permuted, as numpy and torch define it. */
static void
permute(uint8_t *dst, const uint8_t *src, const int *dim, const int *order,
        int n)
{
    int at[8] = { 0 }, stride[8], total = 1;

    for (int i = n; i-- > 0; total *= dim[i])
        stride[i] = total;
    for (int k = 0; k < total; k++) {
        int from = 0;

        for (int i = 0; i < n; i++)
            from += at[i] * stride[order[i]];
        dst[k] = src[from];
        for (int i = n; i-- > 0 && ++at[i] == dim[order[i]];)
            at[i] = 0;
    }
}

enum { ROWS = 96, BYTES = 160, BLOCKS = 24 };

static void
panels_are_aiters(void **state)
{
    static const int order[] = { 0, 2, 3, 1, 4 };
    const int dim[] = { ROWS / 16, 16, BYTES / 32, 2, 16 };
    static uint8_t src[ROWS * BYTES], want[ROWS * BYTES], got[ROWS * BYTES],
        back[ROWS * BYTES];

    (void)state;
    for (int i = 0; i < ROWS * BYTES; i++)
        src[i] = (uint8_t)(i * 2654435761u >> 24);
    permute(want, src, dim, order, 5);
    kn_to_panels(got, src, ROWS, BYTES);
    assert_memory_equal(got, want, sizeof got);
    kn_from_panels(back, got, ROWS, BYTES);
    assert_memory_equal(back, src, sizeof src);
    for (uint64_t i = 0; i < sizeof src; i++) {
        uint64_t row, at;

        kn_panel_source(i, BYTES, &row, &at);
        assert_int_equal(kn_panel_place(row, at, BYTES), i);
    }
}

static void
scales_are_aiters(void **state)
{
    static const int order[] = { 0, 3, 5, 2, 4, 1 };
    const int dim[] = { ROWS / 32, 2, 16, BLOCKS / 8, 2, 4 };
    static uint8_t src[ROWS * BLOCKS], want[ROWS * BLOCKS], got[ROWS * BLOCKS];

    (void)state;
    for (int i = 0; i < ROWS * BLOCKS; i++)
        src[i] = (uint8_t)(i * 2654435761u >> 24);
    permute(want, src, dim, order, 6);
    assert_int_equal(kn_scale_bytes(ROWS, BLOCKS), sizeof got);
    kn_shuffle_scales(got, src, ROWS, BLOCKS);
    assert_memory_equal(got, want, sizeof got);
}

/* Padding is 127 and nothing is lost, whatever the size. */
static void
scales_are_padded(void **state)
{
    (void)state;
    for (uint64_t rows = 1; rows < 70; rows += 7)
        for (uint64_t blocks = 1; blocks < 20; blocks += 3) {
            uint8_t src[70 * 20], back[70 * 20], to[96 * 24];
            uint64_t all = kn_scale_bytes(rows, blocks), pads = 0;

            for (uint64_t i = 0; i < rows * blocks; i++)
                src[i] = (uint8_t)(i % 100);
            kn_shuffle_scales(to, src, rows, blocks);
            kn_unshuffle_scales(back, to, rows, blocks);
            assert_memory_equal(back, src, rows * blocks);
            for (uint64_t i = 0; i < all; i++) {
                uint64_t row, block;

                kn_scale_source(i, blocks, &row, &block);
                assert_int_equal(kn_scale_place(row, block, blocks), i);
                if (row >= rows || block >= blocks)
                    pads += to[i] == KN_SCALE_PAD;
            }
            assert_int_equal(pads, all - rows * blocks);
        }
    for (uint64_t r = 0; r < 96; r++)
        assert_int_equal(kn_gate_source(kn_gate_place(r, 48), 48), r);
    assert_int_equal(kn_gate_place(48, 48), 16);
}

/* Each mode by its definition, over the powers of two around it. */
static void
scale_modes(void **state)
{
    static const struct {
        kiln_type t;
        double most;
        int top, m;
    } ts[] = { { KILN_MXFP4, 6, 2, 1 }, { KILN_MXFP8, 448, 8, 3 },
               { KILN_MXFP6, 7.5, 2, 3 }, { KILN_MXBF8, 57344, 15, 2 } };

    (void)state;
    for (size_t t = 0; t < 4; t++)
        for (int i = 0; i < 4000; i++) {
            double amax = (1 + (double)(i % 64) / 64) * ldexp(1, i / 64 - 30);
            float r = (float)amax;
            uint32_t u;
            int want[KN_NMXMODES] = { -200, -200, -200, -200 };

            memcpy(&u, &r, 4);
            u += 1u << (23 - ts[t].m - 1);
            want[KN_MX_EVEN] = (int)(u >> 23) - 127 - ts[t].top;
            for (int e = -60; e < 60; e++) {
                if (ldexp(1, e + ts[t].top) <= amax)
                    want[KN_MX_FLOOR] = e;
                if (want[KN_MX_ROUND_UP] == -200 &&
                    amax <= ldexp(ts[t].most, e))
                    want[KN_MX_ROUND_UP] = e;
                if (want[KN_MX_CEIL] == -200 &&
                    amax <= ldexp(1, e + ts[t].top))
                    want[KN_MX_CEIL] = e;
            }
            for (int m = 0; m < KN_NMXMODES; m++)
                assert_int_equal(kn_mx_scale((enum kn_mx_mode)m, ts[t].t,
                                             KILN_GFX950, amax) - 127,
                                 want[m]);
        }
    assert_int_equal(kn_mx_scale(KN_MX_EVEN, KILN_MXFP4, KILN_GFX950, 0), 0);
    assert_int_equal(kn_mx_scale(KN_MX_CEIL, KILN_MXFP4, KILN_GFX950, 1e300),
                     254);
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
        "--stage gemm1 --schedule stream --block-m 32 --tile 32x64x%s "
        "--hidden 768 --inter 96",
        "--stage gemm2 --schedule stream --block-m 16 --tile 16x32x%s --waves "
        "1x1 --hidden 80 --inter 416 --ids plain",
        "--stage gemm2 --schedule whole --block-m 32 --tile 32x64x%s --waves "
        "2x2 --hidden 96 --inter 256",
        "--stage gemm2 --schedule whole --block-m 64 --tile "
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
    expect_run("--stage gemm1 --schedule stream --cus 3 --tile 16x32x128 "
               "--waves 1x1 --block-m 16 --a fp8 --weight before --experts 3 "
               "--topk 2 --tokens 20 --hidden 384 --inter 64", KILN_OK);
    expect_run("--stage gemm2 --schedule stream --early none --cus 5 --tile "
               "16x32x256 --waves 1x1 --block-m 16 --a mxfp4 --experts 3 "
               "--topk 2 --tokens 20 --hidden 96 --inter 512", KILN_OK);
    expect_run("--stage gemm2 --schedule stream --hidden 64 --inter 250 --a "
               "bf16 --experts 3 --topk 1 --tokens 9", KILN_UNSUPPORTED);
    expect_run("--stage gemm2 --schedule stream --early copy --hidden 64 "
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
        "--stage gemm1 --a bf8 --schedule stream --block-m 16",
        "--stage gemm1 --a fp8 --out mxfp4",
        "--stage gemm2 --a fp8 --early none --block-m 64",
        "--stage gemm2 --a fp8 --b-layout preshuffled --block-m 16",
        "--stage gemm2 --a i8 --ids plain --cus 3",
        "--stage gemm2 --a fp8 --reduce atomic",
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

/* ---- files ---- */

static void
write_file(const char *name, const void *data, size_t size)
{
    FILE *f = fopen(name, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
}

static void *
read_file(struct kn_ctx *c, const char *name, size_t size)
{
    FILE *f = fopen(name, "rb");
    void *p = KN_NEW(c, uint8_t, size + 1);

    assert_non_null(f);
    assert_int_equal(fread(p, 1, size + 1, f), size);
    fclose(f);
    remove(name);
    return p;
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

/* ---- against a dense layer ---- */

enum { TOKENS = 24, TOPK = 3, EXPERTS = 6, HIDDEN = 64, INTER = 96 };

struct dense {
    double x[TOKENS][HIDDEN], w1[EXPERTS][2 * INTER][HIDDEN];
    double w2[EXPERTS][HIDDEN][INTER];
    double gate[TOKENS][EXPERTS];   /* sum of the weights of its slots */
    double y[TOKENS][HIDDEN];
};

/* Numbers of an operand, from its definition in reference.h. */
static void
operand_numbers(kiln_type t, uint32_t id, int64_t rows, int64_t cols,
                double *to)
{
    struct kn_data d = { .type = t, .rows = rows, .cols = cols, .batches = 1,
                         .operand = id, .target = KILN_GFX950 };
    struct kn_data s = { .type = t, .rows = rows, .cols = (cols + 31) / 32,
                         .batches = 1, .operand = id < 2 ? id + 2 : id + 2,
                         .target = KILN_GFX950, .scale = true };
    bool mx = t >= KILN_MXFP8;

    kn_data_shape(&d, 0, 0);
    kn_data_shape(&s, 0, 0);
    for (int64_t i = 0; i < rows * cols; i++) {
        uint64_t at = (uint64_t)(i / cols * s.cols + i % cols / 32);

        to[i] = kn_ref_decode(t, KILN_GFX950, kn_data_code(&d, (uint64_t)i));
        if (mx)
            to[i] *= ldexp(1, (int)kn_data_code(&s, at) - 127);
    }
}

/* Every expert on every token, then weighed: knows nothing of sorting. */
static void
dense_layer(struct dense *d)
{
    memset(d->y, 0, sizeof d->y);
    for (int t = 0; t < TOKENS; t++)
        for (int e = 0; e < EXPERTS; e++) {
            double h[INTER];

            for (int i = 0; i < INTER; i++) {
                double g = 0, u = 0;

                for (int k = 0; k < HIDDEN; k++) {
                    g += d->x[t][k] * d->w1[e][i][k];
                    u += d->x[t][k] * d->w1[e][INTER + i][k];
                }
                h[i] = g / (1 + exp(-g)) * u;
            }
            for (int n = 0; n < HIDDEN; n++) {
                double sum = 0;

                for (int i = 0; i < INTER; i++)
                    sum += h[i] * d->w2[e][n][i];
                d->y[t][n] += d->gate[t][e] * sum;
            }
        }
}

/* Experts 1 and 4 get no token; tokens may name an expert twice. */
static void
dense_routing(struct dense *d, int32_t *ids, float *weights)
{
    static const int32_t serving[] = { 0, 2, 3, 5 };

    memset(d->gate, 0, sizeof d->gate);
    for (int i = 0; i < TOKENS * TOPK; i++) {
        uint32_t h = (uint32_t)i * 2654435761u;

        ids[i] = serving[h >> 30];
        weights[i] = (float)(1 + (h >> 20 & 7)) / 8;
        d->gate[i / TOPK][ids[i]] += (double)weights[i];
    }
}

static double
distance(const struct dense *d, const float *got)
{
    double err = 0, all = 0;

    for (int i = 0; i < TOKENS * HIDDEN; i++) {
        double y = (&d->y[0][0])[i];

        err += ((double)got[i] - y) * ((double)got[i] - y);
        all += y * y;
    }
    return sqrt(err / all);
}

/* Bounds: of bf16 its two roundings on the way; of MX the quantisation of
 * gemm1's output, at most half a code of 3 or 1 mantissa bits and what floor
 * saturates. */
static void
layers_are_dense(void **state)
{
    static const struct {
        kiln_type type;
        double most;
    } row[] = { { KILN_BF16, 0.006 }, { KILN_MXFP8, 0.05 },
                { KILN_MXFP4, 0.2 } };
    struct dense *d = calloc(1, sizeof *d);
    int32_t ids[TOKENS * TOPK];
    float weights[TOKENS * TOPK];
    struct kn_ctx c;
    char line[400];

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    dense_routing(d, ids, weights);
    write_file("dense_ids.bin", ids, sizeof ids);
    write_file("dense_weights.bin", weights, sizeof weights);
    for (size_t i = 0; i < 3; i++) {
        const char *type = kiln_type_name(row[i].type);
        double far;

        operand_numbers(row[i].type, 0, TOKENS, HIDDEN, &d->x[0][0]);
        operand_numbers(row[i].type, 1, EXPERTS * 2 * INTER, HIDDEN,
                        &d->w1[0][0][0]);
        operand_numbers(row[i].type, 5, EXPERTS * HIDDEN, INTER,
                        &d->w2[0][0][0]);
        dense_layer(d);
        snprintf(line, sizeof line, "--a %s --out f32 --hidden %d --inter %d "
                 "--experts %d --topk %d --tokens %d --ids-file dense_ids.bin "
                 "--weights-file dense_weights.bin --out-file dense_out.bin",
                 type, HIDDEN, INTER, EXPERTS, TOPK, TOKENS);
        expect_run(line, KILN_OK);
        far = distance(d, read_file(&c, "dense_out.bin",
                                    sizeof(float) * TOKENS * HIDDEN));
        if (!(far < row[i].most) || far == 0)
            fail_msg("a layer of %s is %g from the dense one", type, far);
        kn_ctx_free(&c);
        kn_ctx_init(&c, NULL, NULL);
    }
    free(d);
    remove("dense_ids.bin");
    remove("dense_weights.bin");
    kn_ctx_free(&c);
}

/* Sums that bf16 holds exactly: atomic additions in any order, and the slots'
 * rows added here, have the same bits. */
static void
atomic_is_ordered(void **state)
{
    enum { T = 40, K = 4, N = 64 };
    struct kn_ctx c;
    const uint16_t *each, *sum;
#define EXACT "--stage gemm2 --a bf16 --data exact --hidden 64 --inter 16 " \
    "--experts 5 --topk 4 --tokens 40 --out-file "

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    expect_run(EXACT "each.bin --block-m 16", KILN_OK);
    expect_run(EXACT "sum.bin --reduce atomic --block-m 64", KILN_OK);
    each = read_file(&c, "each.bin", 2 * T * K * N);
    sum = read_file(&c, "sum.bin", 2 * T * N);
    for (int i = 0; i < T * N; i++) {
        double want = 0;

        for (int k = 0; k < K; k++)
            want += kn_ref_decode(KILN_BF16, KILN_GFX950,
                                  each[(i / N * K + k) * N + i % N]);
        assert_true(want == kn_ref_decode(KILN_BF16, KILN_GFX950, sum[i]));
    }
    kn_ctx_free(&c);
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
        cmocka_unit_test(sort_is_its_definition),
        cmocka_unit_test(quantised_is_nearest),
        cmocka_unit_test(panels_are_aiters),
        cmocka_unit_test(scales_are_aiters),
        cmocka_unit_test(scales_are_padded),
        cmocka_unit_test(scale_modes),
        cmocka_unit_test(a_lying_sorter_is_noticed),
        cmocka_unit_test(every_type_and_block),
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
        cmocka_unit_test(layers_are_dense),
        cmocka_unit_test(atomic_is_ordered),
        cmocka_unit_test(odd_shapes),
        cmocka_unit_test(refusals),
    };

    if (argc > 1 && !strcmp(argv[1], "shapes"))
        return cmocka_run_group_tests(shapes, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
