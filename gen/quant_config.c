/* quant_config.c - how many rows, panels and strips the workgroups of quant have: as
 * many as divide among compute units and leave memory busy. */
#include "quant.h"

#include <string.h>

#include "instantiate.h"

/* Columns of a wave's step: as few lanes as possible have none. */
static uint32_t
columns_of(const kiln_problem *p)
{
    return p->k <= 128 && !kn_shuffled(p) ? 128 : p->k <= 256 ? 256 : 512;
}

/* The busiest compute unit's share of a launch of so many workgroups of n parts each:
 * what does not fit beside each other follows in another round; what a workgroup begins
 * and ends with is as long as a part, and few of them wait for memory. */
static int64_t
share_of(const kiln_problem *p, int64_t workgroups, uint32_t fit, uint32_t n)
{
    int64_t own = (workgroups + kn_cus(p) - 1) / kn_cus(p), few = fit < 4 ? fit : 4;

    if (own > fit)
        own = (own + fit - 1) / fit * fit;
    return (own < few ? few : own) * n + own;
}

/* Most of the data sheet's memory is counted on, of which `time` refuses to promise more. */
static bool
near_peak(const kiln_problem *p)
{
    return kn_targets[p->target].memory_spare < 20;
}

/* After silu and transforms: as few as there is work. */
static uint32_t
ahead_of_work(const kiln_problem *p)
{
    uint32_t bits = kn_type_bits[p->out], most = bits == 8 ? 5 : 4;
    uint32_t work = 2 * kn_quant_gated(p) + p->hadamard / 16;
    uint32_t near = bits == 8 && near_peak(p);
    bool light = p->out == KILN_I8 || p->a == KILN_F32;

    if (bits == 4 || p->round)
        return 1 + near * ((light ? kn_quant_gated(p) ? 2 : 4 : 1) + p->round);
    return (work + 2 < most ? most - work : 2) + near;
}

uint32_t
kn_quant_ahead(const kiln_problem *p)
{
    uint32_t bits = kn_type_bits[p->out], spare = kn_targets[p->target].vector_per_byte / 3 - 1;

    if (kn_quant_gated(p) || p->hadamard)
        return ahead_of_work(p);
    if (p->round)
        return bits == 4 ? 2 : bits == 6 ? spare + near_peak(p) : 2 + spare;
    return bits == 4 ? 3 : 5;
}

enum { ROW_STEPS = 8, OPEN_STEPS = 4 };
enum { ROUND_WORK = 6 }; /* lane operations a byte, about */

/* Waves have a step of several rows, as many as leave all compute units work, and more
 * where they have more vector work than time; shuffled scales come in blocks of 32 rows. */
static uint32_t
steps_of(const kiln_problem *p, uint32_t columns)
{
    uint32_t rows = 4 * 512 / columns, least = kn_shuffled(p) && rows < 32 ? 32 / rows : 1;
    bool slow = p->round && kn_type_bits[p->out] < 8 &&
                kn_targets[p->target].vector_per_byte <= ROUND_WORK;
    uint32_t best = least, most = slow ? 2 * ROW_STEPS : ROW_STEPS;
    int64_t across = (p->k + columns - 1) / columns, lowest = INT64_MAX, share;

    if (!p->m)
        return ROW_STEPS > least ? ROW_STEPS : least;
    for (uint32_t s = most - most % least; s; s -= least) {
        share = share_of(p, (p->m + rows * s - 1) / (rows * s) * across, 8, s);
        if (share < lowest) {
            lowest = share;
            best = s;
        }
    }
    return best;
}

/* Rows that a workgroup has one after another, where each is loaded while the one
 * before becomes codes: after silu, and where memory has time to spare. Lines of f32 change
 * lanes in LDS meanwhile, and long rows that begin anywhere have no registers. More of silu
 * would come nearer to the data sheet's memory than is counted on where little of that is
 * spare (ahead_of_work). */
static uint32_t
rows_of(const kiln_problem *p, const struct kn_config *g)
{
    int64_t lowest = INT64_MAX, share;
    uint32_t best = 1, most = near_peak(p) ? 1 : 2;

    if (p->a == KILN_F32 || g->wn > 4 || kn_quant_apart(p) ||
        (g->domain.vec == 1 && p->k > OPEN_STEPS * g->bk))
        return 1;
    if (kn_quant_gated(p) && g->wn == 4)
        most = kn_targets[p->target].memory_spare < 25 ? 2 : ROW_STEPS;
    for (uint32_t s = most; s; s /= 2) {
        share = share_of(p, (p->m + g->wm * s - 1) / (g->wm * s), 32 / (g->wm * g->wn), s);
        if (share < lowest) {
            lowest = share;
            best = s;
        }
    }
    return p->m || most < 2 ? best : 2;
}

/* A row is in the registers of one wave, of 4 or of 16: 512 elements a wave and
 * step. Rows of several steps that are few have four, since compute units are spare
 * (bf16 20x4096 predicted 0.82 times as long). */
static void
row_config(const kiln_problem *p, struct kn_config *g)
{
    bool few = kn_quant_gated(p) && p->a != KILN_F32 && !p->round && !kn_quant_apart(p);
    int64_t most = few ? 6 : 8;
    bool spare = p->k > 2 * 512 && p->m && p->m < 2 * kn_cus(p);

    g->bn = 512;
    g->wn = p->k <= most * 512 && !spare ? 1 : p->k <= most * 2048 ? 4 : 16;
    g->wm = g->wn == 1 ? 4 : 1;
    g->bk = 512 * g->wn;
    g->bm = g->wm * rows_of(p, g);
    g->stages = (uint32_t)(p->k / g->bk + (p->k % g->bk != 0));
    g->stages += !g->stages;
}

/* Both outputs are rounded at random, so that two hashes have registers: 95 to 113, and
 * 162 beside panels of 128 columns. */
static bool
hashes_twice(const kiln_problem *p)
{
    return p->round && kn_quant_dual(p);
}

/* Codes are made of f32 without a conversion, which takes longer than memory. */
static bool
by_hand(const kiln_problem *p)
{
    return kn_targets[p->target].fnuz && p->out == KILN_MXFP4 && !kn_quant_direct(p);
}

/* So are panels of several strips where vector work takes longer than memory: others would be
 * promised more than its peak. Blocks of shuffled scales are whole; registers lack where rows
 * begin and end anywhere, for f32 that silu makes, and for codes of 6 bits at random without a
 * conversion. */
static bool
over_strips(const kiln_problem *p, const struct kn_config *g)
{
    bool few_bits = kn_type_bits[p->out] < 8, near = near_peak(p);
    bool heavy = p->hadamard || (near ? by_hand(p) : kn_quant_gated(p));
    bool slow = near ? few_bits && (p->round || (heavy && p->a != KILN_F32))
                     : few_bits || (heavy && p->out_scale == KILN_OUT_BLOCK128);
    bool crowded = g->domain.vec == 1 || (p->a == KILN_F32 && kn_quant_gated(p)) ||
                   (p->round && kn_type_bits[p->out] == 6 && !kn_targets[p->target].scaled);

    return kn_quant_dual(p) && p->out_scale != KILN_OUT_ROW && slow && !crowded &&
           !kn_shuffled(p);
}

bool
kn_quant_flat(const kiln_problem *p, const struct kn_config *g)
{
    return over_strips(p, g) && g->bn > KN_QUANT_PANEL;
}

/* As share_of, twice, of panels of which each workgroup has n: one alone has no other to wait
 * beside, and what begins in another round waits for memory. */
static int64_t
share_of_flat(const kiln_problem *p, int64_t panels, int64_t fit, int64_t n)
{
    int64_t own = ((panels + n - 1) / n + kn_cus(p) - 1) / kn_cus(p);

    return 2 * (own < 2 ? 2 : own) * n + (own > fit ? own - fit : 0);
}

/* As share_of, where two workgroups keep the memory of a compute unit busy: a last round
 * of so many takes no longer than they do. What is bound by vector work needs fewer; of panels
 * of which LDS has two, one has as many bytes under way as two of others. */
static int64_t
share_of_panels(const kiln_problem *p, int64_t workgroups, uint32_t fit, uint32_t n)
{
    int64_t few = hashes_twice(p) ? 3 : by_hand(p) ? 2 : 4;
    int64_t own = (workgroups + kn_cus(p) - 1) / kn_cus(p), busy = own;

    if (few > fit)
        few = fit;
    if (own > fit && own % fit == 1 && fit > 2)
        busy++;
    return (busy < few ? few : busy) * n + own;
}

enum { PANELS_MOST = 16, OPEN_PANELS = 4 };

/* Fewer where vector work is little: then memory is busy without, and the more the
 * less vector work the target has time for; and one fewer where memory is so near its data
 * sheet's peak that what streams would be promised more. */
static uint32_t
panels_most(const kiln_problem *p)
{
    uint32_t bits = kn_type_bits[p->out];
    uint32_t work = bits == 6 ? 30 : p->out_scale == KILN_OUT_STATIC ? 18 : 24;
    bool streams;

    if (bits == 4)
        work = kn_quant_direct(p) && !kn_targets[p->target].scaled ? 36 : 54;
    if (p->round)
        work += work / (kn_quant_dual(p) ? 3 : 2);
    if (kn_quant_dual(p))
        work += work / (p->a == KILN_F32 ? 4 : 2);
    if (kn_quant_gated(p) && kn_quant_dual(p) && kn_targets[p->target].memory_spare >= 25)
        work += work / 3;
    work /= kn_targets[p->target].vector_per_byte;
    streams = near_peak(p) && !kn_quant_gated(p) && !p->hadamard;
    if (streams && (kn_quant_dual(p) ? work == 5 : p->round && work == (bits == 8 ? 4 : 5)))
        work--;
    return work < PANELS_MOST ? work : PANELS_MOST;
}

/* All that can be done with f32 at once has the registers of one panel, and so have shuffled
 * scales, or all largest magnitudes of what is drawn or of blocks, or blocks of f32 at
 * random, of rows that begin and end anywhere. */
static bool
has_one_panel(const kiln_problem *p, const struct kn_config *g)
{
    bool drawn = p->a == KILN_F32 && p->round, all = drawn && kn_quant_gated(p) && p->hadamard;
    bool blocks = (drawn || p->amax) && p->out_scale == KILN_OUT_BLOCK128;

    return kn_quant_dual(p) &&
           (all || (g->domain.vec == 1 && (kn_shuffled(p) || blocks || (p->amax && p->round))));
}

static uint32_t
panels_over_strips(const kiln_problem *p, int64_t panels, int64_t fit)
{
    uint32_t best = 1;

    for (uint32_t n = 2; n <= PANELS_MOST; n++)
        if (share_of_flat(p, panels, fit, n) < share_of_flat(p, panels, fit, best))
            best = n;
    return best;
}

/* Panels that a workgroup has one after another. */
static uint32_t
panels_of(const kiln_problem *p, const struct kn_config *g)
{
    int64_t panels = (p->m + KN_QUANT_PANEL - 1) / KN_QUANT_PANEL, down, lowest = INT64_MAX, share;
    uint32_t lds = g->bm * KN_QUANT_PANEL * (kn_quant_gated(p) ? 4 : kn_type_bits[p->a] / 8);
    uint32_t fit = kn_targets[p->target].lds / lds, step = 1 + kn_shuffled(p), best = 1, most;

    down = (p->k + g->bm - 1) / g->bm;
    if (has_one_panel(p, g))
        return 1;
    if (!p->m)
        return OPEN_PANELS;
    most = kn_quant_sixes(p, g) ? 4 : !hashes_twice(p) ? 6 : g->bm > 64 ? 3 : 4;
    fit = fit > most ? most : fit;
    if (over_strips(p, g))
        return panels_over_strips(p, panels * down, fit < 4 ? fit : 4);
    for (uint32_t s = panels_most(p); s; s = s > step ? s - step : s == 1 ? 0 : 1) {
        share = share_of_panels(p, (panels + s - 1) / s * down, fit, s);
        if (share < lowest) {
            lowest = share;
            best = s;
        }
    }
    return best;
}

enum { SHARES_MOST = 32, STRIPS_MOST = 16, MEETING = 3 };
enum { KEPT_MEETING = 3400, KEPT_START = 2500 }; /* ns */

/* As share_of, of workgroups that have n panels twice and meet others in between, which
 * takes as long as so many; two on a compute unit keep its memory busy. All at once need
 * not wait for any that has not begun. */
static int64_t
share_of_both(const kiln_problem *p, int64_t workgroups, uint32_t fit, int64_t n)
{
    int64_t own = (workgroups + kn_cus(p) - 1) / kn_cus(p);

    if (own > fit)
        own = (own + fit - 1) / fit * fit;
    return (own < 2 ? 2 : own) * (2 * n + MEETING);
}

/* Panels that workgroups which share columns of A have each, where the number of rows is
 * known; one: nobody shares. */
static uint32_t
shares_of(const kiln_problem *p, const struct kn_config *g)
{
    int64_t panels = (p->m + KN_QUANT_PANEL - 1) / KN_QUANT_PANEL;
    int64_t down = (p->k + g->bm - 1) / g->bm, lowest, share;
    uint32_t fit = kn_targets[p->target].lds / (KN_QUANT_PANEL * 128), best = 1;

    if (down * (g->bm + 2) > KN_COUNTERS)
        return 1;
    fit = fit > 8 ? 8 : fit;
    lowest = share_of_both(p, down, fit, panels);
    for (uint32_t n = SHARES_MOST; n > 1; n--) {
        share = share_of_both(p, (panels + n - 1) / n * down, fit, n);
        if (n < panels && share < lowest) {
            lowest = share;
            best = n;
        }
    }
    return best;
}

/* Workgroups with n panels and so many more registers on a compute unit; rows that begin
 * inside dwords are shifted while the next strip's come. */
static int64_t
fit_of_kept(const kiln_problem *p, const struct kn_config *g, uint32_t n, uint32_t strips)
{
    bool shifted = g->domain.vec == 1 && p->a != KILN_F32 && strips > 1;
    uint32_t by_lds = kn_targets[p->target].lds / (KN_QUANT_PANEL * 128 * (1 + kn_quant_gated(p)));
    uint32_t work = (strips > 1 ? 96 : 64) + 44 * kn_quant_gated(p) + (p->hadamard ? 16 : 0);
    uint32_t fit = 512 / (work + kn_quant_panel_registers(p) * (n << shifted));

    return fit < by_lds ? fit : by_lds;
}

/* What so many workgroups take that are beside each other, in ns about (2 to 3 % of what
 * `time` says, of 1,419 of bf16): each reads t strips of n panels, and meets others for
 * each; the strips of all share memory, and what is not hidden on a compute unit is of the
 * workgroups there: of f32 less, which is half as many elements, with random bits more; a
 * transform is longer where it is not hidden. What would come too near to the data sheet's
 * memory is -1. */
static int64_t
round_of_kept(const kiln_problem *p, int64_t workgroups, uint32_t n, uint32_t t)
{
    int64_t busy = 64 * workgroups / kn_cus(p), on = (workgroups + kn_cus(p) - 1) / kn_cus(p);
    int64_t bits = kn_type_bits[p->a], bytes = kn_targets[p->target].vector_per_byte;
    int64_t own = 133 * on + 62 * t - 50, shared = busy * t / 2, took;
    int64_t least = (near_peak(p) ? 21 : 19) * bytes * busy * n * t * (bits + 8);

    if (p->a == KILN_F32)
        own -= own / 4;
    if (p->round) {
        own += 20 * on * t;
        shared -= shared / 4;
    }
    took = bytes * n * (shared + own) + KEPT_MEETING * t + KEPT_START;
    if (p->hadamard && bytes <= ROUND_WORK)
        took += took / 8;
    return 12 * took * bits < least ? -1 : took;
}

static int64_t
share_of_kept(const kiln_problem *p, const struct kn_config *g, uint32_t n, uint32_t t)
{
    int64_t panels = (p->m + KN_QUANT_PANEL - 1) / KN_QUANT_PANEL;
    int64_t strips = (p->k + g->bm - 1) / g->bm;
    int64_t workgroups = (panels + n - 1) / n * ((strips + t - 1) / t);
    int64_t beside = kn_cus(p) * fit_of_kept(p, g, n, t), rest = workgroups % beside;
    int64_t each = workgroups < beside ? 0 : round_of_kept(p, beside, n, t);
    int64_t last = rest ? round_of_kept(p, rest, n, t) : 0;

    return each < 0 || last < 0 ? INT64_MAX : workgroups / beside * each + last;
}

/* The next strip of rows that begin or end anywhere has no registers beside so many panels. */
static bool
alone(const kiln_problem *p, const struct kn_config *g, uint32_t n)
{
    bool gated = kn_quant_gated(p);

    return g->domain.vec < 4 && n << gated > 4u - (p->round && (gated || p->amax));
}

/* As shares_of, of columns that are read once; and strips, of which each workgroup has
 * as many, but one beside workgroups of the other output, of whose time the timing model
 * knows little. */
static void
kept_config(const kiln_problem *p, struct kn_config *g)
{
    int64_t panels = (p->m + KN_QUANT_PANEL - 1) / KN_QUANT_PANEL, lowest = INT64_MAX, share;
    int64_t strips = (p->k + g->bm - 1) / g->bm, most = kn_quant_apart(p) ? 1 : STRIPS_MOST;
    struct kn_config best = *g;

    for (uint32_t n = 2; n <= kn_quant_kept_most(p, g) && n < panels; n++)
        for (uint32_t t = 1; t <= (alone(p, g, n) ? 1 : most) && t <= strips; t++) {
            share = share_of_kept(p, g, n, t);
            if (share < lowest) {
                lowest = share;
                best.bn = KN_QUANT_PANEL * n;
                best.bm = g->bm * t;
            }
        }
    *g = best;
}

enum { ALL_MET = 1 << 30 };

uint32_t
kn_counted_shares(const kiln_problem *p, const struct kn_config *g)
{
    return kn_quant_shared(p, g) ? ALL_MET : g->split_k;
}

/* Rows of 128 bytes of A, 32 dwords of which a step takes one or both halves. */
static void
turned_config(const kiln_problem *p, struct kn_config *g)
{
    g->stages = p->a == KILN_F32 ? 2 : 4;
    g->bm = 16 * g->stages;
    g->bn = KN_QUANT_PANEL;
    g->bn *= p->out_scale == KILN_OUT_ROW ? shares_of(p, g) : panels_of(p, g);
    if (kn_quant_shared(p, g))
        kept_config(p, g);
}

/* Tiles of the output that is transposed, and rows of the other. */
static void
apart_config(const kiln_problem *p, struct kn_config *g)
{
    struct kn_config row = *g;

    row_config(p, &row);
    turned_config(p, g);
    g->bk = row.bk;
    g->stages = row.stages;
}

/* As many columns of A as the widest block. */
static void
dual_config(const kiln_problem *p, struct kn_config *g)
{
    g->bm = p->out_scale == KILN_OUT_BLOCK128 ? 128 : 64;
    g->stages = g->bm * KN_QUANT_PANEL / 8 / 256;
    g->bn = KN_QUANT_PANEL * panels_of(p, g);
}

struct kn_config
kn_quant_config(const kiln_problem *p)
{
    struct kn_config g = { .bk = 1, .wm = 4, .wn = 1, .stages = 1, .split_k = 1,
                           .group_m = 1, .xcd = 1,
                           .schedule = KN_SCHED_SIMPLE,
                           .domain = kn_quant_domain(p, 256) };

    if (kn_quant_turned(p)) {
        turned_config(p, &g);
        return g;
    }
    if (kn_quant_apart(p)) {
        apart_config(p, &g);
        return g;
    }
    if (p->out_scale == KILN_OUT_ROW) {
        row_config(p, &g);
        return g;
    }
    if (kn_quant_dual(p)) {
        dual_config(p, &g);
        return g;
    }
    g.bn = columns_of(p);
    g.stages = steps_of(p, g.bn);
    g.bm = 4 * 512 / g.bn * g.stages;
    return g;
}

/* How many panels a workgroup has one after another may be asked for. */
static bool
takes_panels(const kiln_problem *p, uint32_t bn)
{
    uint32_t n = bn / KN_QUANT_PANEL;
    uint32_t most = p->out_scale == KILN_OUT_ROW ? SHARES_MOST : PANELS_MOST;

    return kn_quant_has_turned(p) && bn % KN_QUANT_PANEL == 0 && n <= most && n &&
           (n == 1 || n % 2 == 0 || !kn_shuffled(p));
}

/* So may how many strips of columns, where they are kept in registers. */
static bool
takes_strips(const kiln_problem *p, const struct kn_config *made, uint32_t bm)
{
    uint32_t strip = kn_quant_strip(p, made);

    return kn_quant_kept(p, made) && bm && bm % strip == 0 && bm / strip <= STRIPS_MOST;
}

kiln_status
kn_quant_choose(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    struct kn_config made = kn_quant_config(p), over = made;
    struct kn_buf own = { .c = c }, asked = { .c = c };

    if (g->split_k == 1 && kn_quant_shared(p, &made))
        made.bn = KN_QUANT_PANEL; /* nobody gives a workspace */
    if (takes_panels(p, g->bn))
        made.bn = g->bn;
    if (!kn_quant_kept(p, &made))
        made.bm = kn_quant_strip(p, &made);
    if (takes_strips(p, &made, g->bm))
        made.bm = g->bm;
    over = made;
    kn_config_over(&over, g);
    if (g->bm) {
        over.bm = g->bm;
        over.bn = g->bn;
        over.bk = g->bk;
    }
    if (g->wm) {
        over.wm = g->wm;
        over.wn = g->wn;
    }
    kn_config_print(&made, &own);
    kn_config_print(&over, &asked);
    if (strcmp(own.s, asked.s))
        return kn_fail(c, KILN_BAD_INPUT, "quant has one configuration for a "
                       "problem: %s", own.s);
    *g = made;
    return KILN_OK;
}

struct kn_limits
kn_quant_limits(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t behind = g->wm + kn_quant_gated(p), reach = g->bm > g->wm ? g->bm + behind : g->bm;
    int64_t pitch = KN_REACH / (kn_quant_has_turned(p) ? KN_QUANT_PANEL : reach);
    int64_t row = (int64_t)1 << 30;
    int64_t bytes = kn_type_bits[p->a] / 8;
    struct kn_limits l = { .m = INT32_MAX - 4096, .n = INT32_MAX, .G = 1 };

    l.pa = l.pc = l.psa = pitch < row ? pitch : row;
    if (p->scale_layout == KILN_SCALE_TRANSPOSED)
        l.psa = row / 4;
    l.pb = l.psb = row;
    l.ta = l.tb = l.tc = l.tsa = l.tsb = l.tsc = l.tbias = (int64_t)1 << 38;
    l.k = l.pa / bytes / (kn_quant_gated(p) ? 2 : 1);
    if (kn_quant_has_turned(p))
        l.m = l.pc;
    if (p->out_scale == KILN_OUT_ROW && !kn_quant_turned(p) && (int64_t)g->stages * g->bk < l.k)
        l.k = (int64_t)g->stages * g->bk;
    return l;
}
