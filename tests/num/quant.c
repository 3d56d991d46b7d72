/* Requests of family quant drawn at random from all that a user may ask for: the
 * simulator's codes and scales are those of the reference, or the refusal blames
 * the request. And the reference's judge itself.
 *
 * usage: quant TARGET FIRST COUNT    seeds FIRST to FIRST + COUNT - 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../gen/tool/cmd.h"
#include "../../gen/tool/progress.h"
#include "../../gen/tool/run/session.h"
#include "../kit/num.h"

struct suite {
    const char *target;
    uint64_t first, count;
};

struct draw {
    uint64_t seed, at;
    struct kn_buf line;
};

static uint32_t
below(struct draw *d, uint32_t n)
{
    return (uint32_t)(kn_mix(d->seed << 16 | d->at++) >> 32) % n;
}

static const char *
one_of(struct draw *d, const char *const *words, uint32_t n)
{
    return words[below(d, n)];
}

#define ONE_OF(d, ...)                                                        \
    one_of(d, (const char *const[]){ __VA_ARGS__ },                           \
           sizeof(const char *const[]){ __VA_ARGS__ } / sizeof(char *))

/* Beside the edges of waves, blocks and runs. */
static uint32_t
length(struct draw *d, uint32_t most)
{
    static const uint32_t edges[] = { 8, 32, 128, 256, 512, 2048 };
    uint32_t e = edges[below(d, 6)];

    if (!below(d, 40))
        return 0;
    if (!below(d, 3))
        return 1 + below(d, 70);
    e *= 1 + below(d, 4);
    e += below(d, 2) ? 0 : below(d, 9) - 4;
    return e < most ? e : 1 + below(d, most);
}

/* The layout of scales, or pitches that any number of blocks fits into. */
static void
draw_layout(struct draw *d, bool mx, bool blocks, bool dual)
{
    if (mx && !below(d, 3))
        kn_put(&d->line, " --scale-layout shuffled");
    else if (blocks && !below(d, 3))
        kn_put(&d->line, " --scale-layout transposed");
    else if (mx && !below(d, 4))
        kn_putf(&d->line, " --ldsa %u", 300 + below(d, 20));
    if (blocks && below(d, 2))
        kn_put(&d->line, " --scale-type e8m0");
    if (dual && mx && !strstr(d->line.s, "shuffled") && !below(d, 3))
        kn_putf(&d->line, " --ldsa2 %u", 300 + below(d, 20));
}

/* What --dual adds. */
static void
draw_second(struct draw *d, uint32_t m)
{
    kn_put(&d->line, " --dual");
    if (m && !below(d, 3))
        kn_putf(&d->line, " --ldc2 %u", m + below(d, 2) * 8 + below(d, 2) * below(d, 20));
}

static void
draw_request(struct draw *d, const char *target)
{
    const char *out = ONE_OF(d, "fp8", "bf8", "i8", "mxfp8", "mxbf8", "mxfp6",
                             "mxbf6", "mxfp4");
    const char *scale = "mx32";
    bool mx = out[0] == 'm';
    uint32_t out_row = length(d, 9000), rows = length(d, out_row > 2000 ? 6 : 150);
    bool turned = !below(d, 3), dual = !turned && below(d, 2);
    uint32_t k, m;

    if (!mx)
        scale = ONE_OF(d, "row", "block128", "static");
    kn_putf(&d->line, "kilnc run quant --device sim:%s --a %s --out %s "
            "--out-scale %s --seed %u", target, ONE_OF(d, "bf16", "f16", "f32"),
            out, scale, below(d, 100));
    if (!below(d, 3)) {
        uint32_t many = below(d, 2) ? 16 : 32;

        out_row = out_row / many * many;
        rows = dual ? rows / many * many : rows;
        kn_putf(&d->line, " --hadamard %u", many);
    }
    k = turned ? rows : out_row;
    m = turned ? out_row : rows;
    if (turned)
        kn_put(&d->line, " --transpose");
    if (dual)
        draw_second(d, m);
    kn_putf(&d->line, " -m %u -k %u", m, k);
    if (!below(d, 3))
        kn_put(&d->line, " --act silu");
    else if (k && !below(d, 3))
        kn_putf(&d->line, " --lda %u", k + below(d, 20));
    if (out_row && !below(d, 4))
        kn_putf(&d->line, " --ldc %u", out_row + below(d, 20));
    if (mx && below(d, 2))
        kn_putf(&d->line, " --quant %s",
                ONE_OF(d, "floor", "round-up", "even", "ceil"));
    if (!strcmp(scale, "static") && out[1] != '8' && !below(d, 3))
        kn_put(&d->line, " --saturate 0");
    if (!below(d, 3))
        kn_put(&d->line, !strcmp(scale, "static") && below(d, 2) ? " --delayed"
                                                                 : " --amax");
    if (below(d, 2))
        kn_putf(&d->line, " --round stochastic --round-seed %llu",
                (unsigned long long)kn_mix(d->seed) >> below(d, 60) >> 1);
    draw_layout(d, mx, !strcmp(scale, "block128"), dual);
}

static kiln_status
run_line(struct kn_ctx *c, char *line)
{
    struct kn_progress quiet = { 0 };
    struct kn_buf text = { .c = c };
    struct kn_cli cli;
    struct kn_tool t = { .c = c, .cli = &cli, .progress = &quiet,
                         .text = &text };
    char *words[64], *save = NULL;
    int n = 0;

    for (char *w = strtok_r(line, " ", &save); w && n < 63;
         w = strtok_r(NULL, " ", &save))
        words[n++] = w;
    words[n] = NULL;
    KN_TRY(kn_cli_parse(c, n, words, &cli));
    return kn_command_run(&t);
}

static void
test_random(void **state)
{
    const struct suite *s = *state;

    for (uint64_t seed = s->first; seed < s->first + s->count; seed++) {
        struct draw d = { .seed = seed };
        char line[600];
        struct kn_ctx c;
        kiln_status st;

        kn_ctx_init(&c, NULL, NULL);
        d.line.c = &c;
        draw_request(&d, s->target);
        snprintf(line, sizeof line, "%s", d.line.s);
        st = run_line(&c, d.line.s);
        if (st)
            fail_msg("seed %llu: %s: %s", (unsigned long long)seed, line,
                     c.err.text);
        kn_ctx_free(&c);
    }
}

static void
run_all(const struct suite *s, const char *scale, const char *const *all, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct kn_ctx c;
        struct kn_buf line = { .c = &c };

        kn_ctx_init(&c, NULL, NULL);
        kn_putf(&line, "kilnc run quant --device sim:%s --out-scale %s %s", s->target, scale,
                all[i]);
        if (run_line(&c, line.s))
            fail_msg("%s: %s", all[i], c.err.text);
        kn_ctx_free(&c);
    }
}

/* The loads of gate and up from LDS are 64 of their offsets' units apart, which LLVM
 * joined to one of no line: refused. */
static void
test_gate_and_up(void **state)
{
    static const char *const all[] = {
        "--a f32 --out bf8 --hadamard 16 --act silu -m 32 -k 64 --transpose",
        "--a f32 --out bf8 --hadamard 16 --act silu -m 32 -k 64 --dual" };

    run_all(*state, "row", all, 2);
}

/* Workgroups that share columns: some find the others' largest in the workspace, and
 * those that begin first, which run alone here, find all themselves. What they counted
 * is zero afterwards. */
static void
test_shared(void **state)
{
    static const char *const all[] = {
        "--a bf16 --out fp8 -m 4096 -k 64 --transpose",
        "--a bf16 --out fp8 -m 1400 -k 136 --tile 64x256x1 --transpose",
        "--a f16 --out i8 -m 1408 -k 72 --act silu --amax --tile 64x384x1 --transpose",
        "--a f32 --out bf8 -m 1056 -k 72 --hadamard 32 --tile 32x256x1 --transpose",
        "--a bf16 --out bf8 -m 1032 -k 200 --amax --round stochastic --tile 64x256x1 --transpose",
        "--a bf16 --out fp8 -m 1400 -k 136 --tile 64x256x1 --transpose --wg 3,7",
        "--a bf16 --out fp8 -m 1400 -k 136 --tile 64x256x512 --dual",
        "--a bf16 --out fp8 -m 1400 -k 136 --tile 64x256x512 --dual --wg 3,30",
        "--a f32 --out i8 -m 1400 -k 8200 --act silu --amax --tile 32x512x2048 --dual",
        "--a bf16 --out fp8 -m 1408 -k 72 --tile 64x1280x1 --transpose" };

    run_all(*state, "row", all, sizeof all / sizeof *all);
}

/* Such workgroups that keep what they loaded until they know its scales: strips one after
 * another, of which some are not whole, or not there. */
static void
test_kept(void **state)
{
    static const char *const all[] = {
        "--a bf16 --out fp8 -m 1400 -k 328 --tile 192x256x1 --transpose",
        "--a bf16 --out fp8 -m 1400 -k 328 --tile 128x1024x1 --transpose --wg 1,2",
        "--a f16 --out i8 -m 1032 -k 200 --amax --tile 256x384x1 --transpose",
        "--a f32 --out bf8 -m 1056 -k 104 --round stochastic --tile 64x640x1 --transpose",
        "--a f32 --out fp8 -m 904 -k 136 --amax --transpose --split-k 1",
        "--a bf16 --out fp8 -m 1400 -k 328 --act silu --tile 192x256x1 --transpose",
        "--a f16 --out bf8 -m 1408 -k 200 --act silu --hadamard 16 --tile 128x384x1 --transpose",
        "--a f32 --out i8 -m 1408 -k 104 --hadamard 32 --amax --tile 64x640x1 --transpose",
        "--a bf16 --out fp8 -m 1408 -k 328 --hadamard 32 --tile 192x640x1 --transpose --wg 1,2",
        "--a f16 --out fp8 -m 1408 -k 160 --act silu --hadamard 32 --tile 64x256x512 --dual",
        "--a bf16 --out i8 -m 1400 -k 200 --tile 128x256x512 --dual",
        "--a f32 --out fp8 -m 1400 -k 136 --amax --tile 64x896x512 --dual --wg 0,30" };

    run_all(*state, "row", all, sizeof all / sizeof *all);
}

/* Both outputs of one reading, whose workgroups go on at the top of the next strip of columns:
 * of which the last is not whole, nor is the last workgroup. */
static void
test_over_strips(void **state)
{
    static const char *const all[] = {
        "--a bf16 --out mxfp4 --dual --round stochastic -m 1400 -k 328 --tile 64x512x1",
        "--a bf16 --out mxfp4 --dual --round stochastic -m 1400 -k 328 --tile 64x512x1 --wg 2,5",
        "--a bf16 --out mxfp6 --dual --round stochastic -m 1152 -k 320 --tile 64x896x1",
        "--a f16 --out mxfp4 --dual --hadamard 32 --amax -m 1408 -k 160 --tile 64x256x1",
        "--a f32 --out mxbf6 --dual -m 264 -k 520 --tile 64x640x1",
        "--a bf16 --out mxfp6 --dual --act silu -m 136 -k 712 --tile 64x2048x1",
        "--a bf16 --out mxbf6 --dual --ldc2 1440 --ldsa2 60 -m 1400 -k 200 --tile 64x384x1" };

    static const char *const blocks[] = {
        "--a bf16 --out fp8 --dual --act silu --scale-layout transposed -m 1400 -k 328 "
        "--tile 128x512x1",
        "--a f16 --out i8 --dual --hadamard 16 --amax -m 1296 -k 400 --tile 128x384x1",
        "--a bf16 --out fp8 --dual --scale-type e8m0 --scale-layout transposed -m 1400 -k 328 "
        "--tile 128x512x1" };

    run_all(*state, "mx32", all, sizeof all / sizeof *all);
    run_all(*state, "block128", blocks, sizeof blocks / sizeof *blocks);
}

/* Three steps, whose number is a product's third slot of LDS elsewhere. */
static void
test_three_steps(void **state)
{
    static const char *const all[] = {
        "--a bf16 --out fp8 -m 5 -k 1536", "--a f16 --out i8 -m 2 -k 5120",
        "--a f16 --out bf8 -m 24 -k 4104 --dual", "--a bf16 --out fp8 -m 9 -k 5001 --lda 5003" };

    run_all(*state, "row", all, sizeof all / sizeof *all);
}

/* Rows one after another, by as many as have addresses (five were refused). */
static void
test_in_turn(void **state)
{
    static const char *const all[] = {
        "--a bf16 --out fp8 -m 5000 -k 7168 --round stochastic --wg 0,3",
        "--a f16 --out i8 -m 5000 -k 7168 --act silu --amax --wg 0,3",
        "--a bf16 --out fp8 -m 1500 -k 4104 --act silu --wg 0,180" };

    run_all(*state, "row", all, sizeof all / sizeof *all);
}

/* ---- the judge ---- */

static uint64_t
bad_of(kiln_type out, uint8_t code, uint8_t scale)
{
    kiln_problem p = { .family = KILN_QUANT, .target = KILN_GFX950, .out = out,
                       .out_scale = KILN_OUT_MX32 };
    uint8_t codes[32] = { code };
    double value[32] = { 3 };
    struct kn_ref_check k = { 0 };

    kn_quant_check(&(struct kn_quant_row){ &p, 0, 0, 32, value, NULL, codes,
                                           &scale }, &k);
    return k.bad;
}

/* 3 = 1.5 * 2^1: of mxfp8 with the scale 2^(1 - 8) it is 1.5 * 2^8. */
static void
test_judge(void **state)
{
    (void)state;
    assert_int_equal(bad_of(KILN_MXFP8, 0x7c, 127 - 7), 0);
    assert_int_not_equal(bad_of(KILN_MXFP8, 0x7b, 127 - 7), 0);
    assert_int_not_equal(bad_of(KILN_MXFP8, 0xfc, 127 - 7), 0);
    assert_int_not_equal(bad_of(KILN_MXFP8, 0x74, 127 - 6), 0);
    assert_int_equal(bad_of(KILN_MXBF8, 0x7a, 127 - 14), 0);
    assert_int_not_equal(bad_of(KILN_MXBF8, 0x7b, 127 - 14), 0);
}

int
main(int argc, char **argv)
{
    static struct suite s;
    const struct CMUnitTest tests[] = {
        { "what is drawn is right", test_random, NULL, NULL, &s },
        { "gate and up of f32 transposed", test_gate_and_up, NULL, NULL, &s },
        { "columns that workgroups share", test_shared, NULL, NULL, &s },
        { "strips that they keep", test_kept, NULL, NULL, &s },
        { "panels of several strips", test_over_strips, NULL, NULL, &s },
        { "rows of three steps", test_three_steps, NULL, NULL, &s },
        { "rows one after another", test_in_turn, NULL, NULL, &s },
        { "a wrong code and a wrong scale are found", test_judge, NULL, NULL,
          NULL },
    };

    if (argc < 4)
        return 2;
    s.target = argv[1];
    s.first = strtoull(argv[2], NULL, 10);
    s.count = strtoull(argv[3], NULL, 10);
    return _cmocka_run_group_tests("quant", tests, sizeof tests / sizeof *tests,
                                   NULL, NULL);
}
