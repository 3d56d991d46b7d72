/* What requests drawn at random seldom meet by themselves: main loops, copies and
 * epilogues that take certain types, sizes and tiles together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random.h"

static uint32_t
bits(const kiln_problem *p, char side)
{
    return (uint32_t)kn_ref_type_bits(side == 'a' ? p->a : p->b);
}

static bool
weighs(const kiln_problem *p)
{
    return bits(p, 'a') == 16 && bits(p, 'b') < 16;
}

static bool
any(const kiln_problem *p)
{
    (void)p;
    return true;
}

static bool
along_k(const kiln_problem *p)
{
    return p->layout == KILN_NT && p->family != KILN_WGRAD;
}

static bool
fast(const kiln_problem *p)
{
    return along_k(p) && p->scale != KILN_SCALE_BLOCK128;
}

static bool
dotted(const kiln_problem *p)
{
    return fast(p) && kn_gemv_types(p);
}

static bool
skinny(const kiln_problem *p)
{
    return fast(p) && kn_skinny_types(p);
}

static bool
widened(const kiln_problem *p)
{
    return along_k(p) && weighs(p);
}

static bool
integers(const kiln_problem *p)
{
    return widened(p) && p->b == KILN_I4;
}

static bool
six(const kiln_problem *p)
{
    return along_k(p) && (bits(p, 'a') == 6 || bits(p, 'b') == 6);
}

static bool
scaled(const kiln_problem *p)
{
    return along_k(p) && num_is_mx(p->a) && num_is_mx(p->b);
}

static bool
prequant(const kiln_problem *p)
{
    return bits(p, 'a') == 16 && p->a == p->b && p->family != KILN_WGRAD &&
           (p->layout == KILN_NT || p->layout == KILN_NN);
}

static bool
requant(const kiln_problem *p)
{
    return widened(p) && p->b == KILN_MXFP4;
}

static void
to_bytes(struct draw *d, kiln_problem *p)
{
    static const kiln_type types[] = { KILN_FP8, KILN_BF8, KILN_I8 };

    p->b = types[below(d, 3)];
    p->scale = (kiln_scale)(KILN_SCALE_TENSOR + below(d, 3));
}

static void
to_quant(struct draw *d, kiln_problem *p)
{
    p->quant = (uint8_t)(1 + below(d, 4));
}

static void
to_shuffled(struct draw *d, kiln_problem *p)
{
    (void)d;
    if (p->target == KILN_GFX950)
        p->scale_layout = KILN_SCALE_SHUFFLED;
}

/* Sums as they are, but for a bias: what loops without an epilogue take. */
static void
plain(struct draw *d, kiln_problem *p)
{
    static const kiln_type outs[] = { KILN_BF16, KILN_F16, KILN_F32 };

    d->plain = true;
    p->expression[0] = 0;
    p->epilogue = p->epilogue != KILN_EPILOGUE_NONE && p->out != KILN_I32;
    p->out_scale = p->overflow = p->requant = p->out2 = 0;
    if (p->scale != KILN_SCALE_BLOCK128 && !kn_scale_groups(p))
        p->scale_type = 0;
    if (kn_ref_type_bits(p->out) < 16)
        p->out = outs[below(d, 3)];
}

static void
few_rows(struct draw *d, kiln_problem *p)
{
    plain(d, p);
    p->m = 1 + below(d, one_in(d, 4) ? 40 : 16);
    p->k = 16 * (1 + below(d, 90));
    d->unit = 16;
}

static void
few_whole(struct draw *d, kiln_problem *p)
{
    few_rows(d, p);
    p->k = 128 * (1 + below(d, 12));
    d->unit = 128;
}

static void
aligned(struct draw *d, kiln_problem *p)
{
    p->k = (one_in(d, 2) ? 128 : 32) * (int64_t)(1 + below(d, 20));
    d->unit = 32;
}

static void
whole_256(struct draw *d, kiln_problem *p)
{
    p->k = 256 * (int64_t)(1 + below(d, 6));
    d->unit = 256;
}

/* Tiles enough that a workgroup has several. */
static void
many_tiles(struct draw *d, kiln_problem *p)
{
    plain(d, p);
    aligned(d, p);
    p->m = 200 + below(d, 500);
    p->n = 4 * (50 + (int64_t)below(d, 120));
}

/* Codes of rows that are wider than a tile. */
static void
wide_rows(struct draw *d, kiln_problem *p)
{
    static const kiln_type codes[] = { KILN_FP8, KILN_BF8, KILN_I8 };

    plain(d, p);
    d->plain = false;
    if (p->out == KILN_I32 || kn_wide_sums(p))
        return;
    p->beta = 0;
    p->out = codes[below(d, 3)];
    p->out_scale = one_in(d, 4) ? KILN_OUT_BLOCK128 : KILN_OUT_ROW;
    p->n = 260 + below(d, 500);
    if (!one_in(d, 3))
        aligned(d, p);
}

static void
short_k(struct draw *d, kiln_problem *p)
{
    p->k = 32 * (int64_t)(1 + below(d, 24));
    d->unit = 32;
}

/* Rows of whole 16 bytes that begin inside cache lines, or at any byte. */
static void
inside_lines(struct draw *d, kiln_problem *p)
{
    static const uint8_t units[] = { 32, 16, 8, 4, 1 };
    uint32_t unit = units[below(d, 5)];

    p->k = unit * (int64_t)(1 + below(d, 1400 / unit));
    d->unit = unit;
}

static const uint32_t ways[][2] = { { 4, 1 }, { 2, 2 }, { 1, 4 } };

static void
by_runs(struct draw *d, const kiln_problem *p, struct kn_config *g)
{
    uint32_t w = below(d, 3);

    (void)p;
    g->schedule = KN_SCHED_GEMV;
    if (one_in(d, 4))
        return;
    g->wm = ways[w][0], g->wn = ways[w][1];
    g->bm = 1u << below(d, 5);
    g->bn = g->wm << below(d, g->bm > 2 ? 3 : 4);
    g->stages = below(d, 5);
}

static void
by_skinny(struct draw *d, const kiln_problem *p, struct kn_config *g)
{
    uint32_t w = below(d, 3);

    g->schedule = KN_SCHED_SKINNY;
    g->split_k = one_in(d, 2) ? 1 + below(d, 5) : 0;
    g->join = (enum kn_join)(g->split_k > 1 ? below(d, KN_NJOINS) : 0);
    if (one_in(d, 4))
        return;
    g->bm = 2u << below(d, 4);
    g->wm = ways[w][0], g->wn = ways[w][1];
    g->bn = g->wm * (p->b_layout == KILN_B_AWQ ? 128 : 16u << below(d, 3));
}

static void
tile(struct draw *d, struct kn_config *g)
{
    static const uint16_t tiles[][4] = {
        { 256, 256, 2, 2 }, { 128, 128, 2, 2 }, { 128, 256, 2, 2 },
        { 256, 128, 2, 2 }, { 64, 128, 1, 4 }, { 128, 64, 2, 2 },
        { 64, 64, 1, 4 }, { 64, 64, 2, 2 }, { 256, 256, 2, 4 },
        { 128, 128, 2, 4 }, { 32, 64, 1, 4 }, { 256, 64, 4, 1 },
        { 192, 256, 2, 2 }, { 256, 192, 2, 2 }, { 128, 256, 1, 8 },
        { 96, 128, 1, 4 }, { 160, 128, 2, 2 }, { 224, 256, 2, 2 },
    };
    const uint16_t *t = tiles[below(d, 18)];

    g->bm = t[0], g->bn = t[1], g->wm = t[2], g->wn = t[3];
    if (one_in(d, 3))
        g->wm = g->wn = 0;
}

static void
shared(struct draw *d, struct kn_config *g)
{
    g->split_k = one_in(d, 2) ? 1 + below(d, 7) : 0;
    g->join = (enum kn_join)(g->split_k > 1 ? below(d, KN_NJOINS) : 0);
    g->split_after = g->split_k > 1 && one_in(d, 3) ? 1 + below(d, 4) : 0;
}

static uint32_t
bytes_k(const kiln_problem *p, uint32_t bytes)
{
    uint32_t most = bits(p, 'a');

    return bytes * 8 / (most == 6 ? 8 : most);
}

static void
by_4wave(struct draw *d, const kiln_problem *p, struct kn_config *g)
{
    tile(d, g);
    shared(d, g);
    g->schedule = KN_SCHED_4WAVE;
    g->bk = one_in(d, 3) ? 0 : bytes_k(p, one_in(d, 3) ? 64 : 128);
    g->stages = below(d, 3);
    g->cus = one_in(d, 4) ? 1 + below(d, 5) : 0;
    g->copies = (enum kn_copies)(one_in(d, 2) ? below(d, KN_NCOPIES) : 0);
}

static void
by_walk(struct draw *d, const kiln_problem *p, struct kn_config *g)
{
    tile(d, g);
    g->schedule = one_in(d, 3) ? KN_SCHED_SIMPLE : KN_SCHED_4WAVE;
    g->bk = bytes_k(p, 128);
    g->cus = 1 + below(d, 4);
    g->stages = below(d, 3);
}

static void
by_panels(struct draw *d, const kiln_problem *p, struct kn_config *g)
{
    (void)p;
    tile(d, g);
    shared(d, g);
    g->join = (enum kn_join)below(d, KN_NJOINS);
}

static void
by_8wave(struct draw *d, const kiln_problem *p, struct kn_config *g)
{
    shared(d, g);
    g->schedule = KN_SCHED_8WAVE;
    g->bm = one_in(d, 2) ? 256 : 128;
    g->bn = one_in(d, 2) ? 256 : 512;
    g->wm = 2, g->wn = 4;
    g->bk = bytes_k(p, one_in(d, 3) ? 64 : 128);
}

static void
by_codes(struct draw *d, const kiln_problem *p, struct kn_config *g)
{
    static const uint16_t tiles[][3] = {
        { 128, 256, 8 }, { 64, 256, 8 }, { 96, 128, 8 }, { 64, 64, 4 },
        { 32, 128, 4 }, { 64, 128, 4 }, { 32, 64, 4 },
    };
    const uint16_t *t = tiles[below(d, 7)];

    (void)p;
    shared(d, g);
    g->schedule = KN_SCHED_INTERLEAVE;
    g->bm = t[0], g->bn = t[1], g->wm = 1, g->wn = t[2];
    g->bk = one_in(d, 2) ? 128 : 64;
    g->stages = below(d, 4);
}

static void
by_memory(struct draw *d, const kiln_problem *p, struct kn_config *g)
{
    static const uint8_t edge[] = { 16, 32, 64, 128 };

    g->schedule = one_in(d, 2) ? KN_SCHED_DIRECT : KN_SCHED_UNROLLED;
    g->bm = edge[below(d, 4)];
    g->bn = edge[below(d, 4)];
    g->bk = bytes_k(p, one_in(d, 2) ? 128 : 64);
    if (g->schedule == KN_SCHED_UNROLLED)
        g->stages = one_in(d, 2) ? 8 : 4;
    else
        shared(d, g);
}

static void
by_lines(struct draw *d, const kiln_problem *p, struct kn_config *g)
{
    static const enum kn_schedule loops[] = { KN_SCHED_AUTO, KN_SCHED_SIMPLE,
                                              KN_SCHED_INTERLEAVE, KN_SCHED_4WAVE };

    tile(d, g);
    shared(d, g);
    g->schedule = loops[below(d, 4)];
    g->copies = one_in(d, 6) ? KN_COPIES_ENDS : KN_COPIES_LINES;
    g->bk = bytes_k(p, one_in(d, 4) ? 256 : 128);
    g->stages = g->schedule == KN_SCHED_4WAVE ? 2 : one_in(d, 2) ? 0 : 2 + below(d, 5);
}

static void
by_turns(struct draw *d, const kiln_problem *p, struct kn_config *g)
{
    tile(d, g);
    shared(d, g);
    g->schedule = one_in(d, 3) ? KN_SCHED_INTERLEAVE : KN_SCHED_SIMPLE;
    g->bk = bytes_k(p, one_in(d, 2) ? 128 : 64);
    g->stages = below(d, 9);
}

static void
open_config(struct draw *d, const kiln_problem *p, struct kn_config *g)
{
    (void)d, (void)p, (void)g;
}

static const struct form forms[] = {
    { any, NULL, NULL, open_config },
    { dotted, NULL, few_rows, by_runs },
    { dotted, NULL, few_rows, open_config },
    { skinny, NULL, few_whole, by_skinny },
    { skinny, NULL, few_whole, open_config },
    { fast, NULL, aligned, by_4wave },
    { widened, NULL, aligned, by_4wave },
    { along_k, NULL, inside_lines, by_4wave },
    { six, NULL, aligned, by_4wave },
    { fast, NULL, aligned, by_8wave },
    { integers, NULL, aligned, by_codes },
    { integers, NULL, aligned, open_config },
    { widened, NULL, aligned, open_config },
    { fast, NULL, short_k, by_memory },
    { along_k, NULL, inside_lines, by_lines },
    { scaled, to_shuffled, whole_256, by_4wave },
    { scaled, to_shuffled, aligned, by_turns },
    { prequant, to_bytes, inside_lines, by_turns },
    { prequant, to_bytes, inside_lines, by_lines },
    { prequant, to_bytes, aligned, open_config },
    { requant, to_quant, aligned, by_turns },
    { requant, to_quant, inside_lines, open_config },
    { widened, NULL, inside_lines, by_turns },
    { any, NULL, NULL, by_turns },
    { fast, NULL, many_tiles, by_walk },
    { six, NULL, many_tiles, by_walk },
    { any, NULL, wide_rows, by_panels },
};

const struct form *
draw_form(struct draw *d)
{
    return one_in(d, 2) ? NULL : &forms[below(d, sizeof forms / sizeof *forms)];
}
