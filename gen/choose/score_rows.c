/* score_rows.c - what a K tile takes more where rows of operands begin inside lines
 * of 128 bytes, or rows of scales inside dwords. */
#include "choose.h"

#include <math.h>

#include "../forms.h"
#include "../instantiate.h"

enum { LONG_TURNED = 16, LONG_OF_FEW = 16 }; /* K tiles */
enum { LINE = 128 * 8, LONG = 4, FEW_ROWS = 128 }; /* bits; lines of a row */

static int64_t
common(int64_t a, int64_t b)
{
    return b ? common(b, a % b) : a;
}

/* Lines of 128 bytes that a run of `bits` is in, where runs begin at multiples of
 * `step` bits, on average. */
static double
lines(int64_t bits, int64_t step)
{
    int64_t n = 0, at;

    step = common(step, LINE);
    for (at = 0; at < LINE; at += step)
        n += (at + bits + LINE - 1) / LINE;
    return (double)(n * step) / (double)LINE;
}

/* Whether lines are counted: of long rows. Not of panels of B, of groups whose B is
 * K-outer, of 6 bits and of f32, whose choices that made worse; rows at any byte were
 * measured so. */
static bool
counts_lines(const kiln_problem *p, const struct kn_score *s)
{
    int64_t many = kn_family_of(p)->ragged == 'k' && p->groups ? p->groups : 1;

    return !kn_class_is_odd(s->class) && p->k / many * kn_type_bits[p->a] >= LONG * LINE &&
           p->a != KILN_F32 && !p->b_layout && kn_type_bits[p->a] != 6 &&
           kn_type_bits[p->b] != 6 &&
           !(kn_family_of(p)->ragged == 'm' && p->layout == KILN_NN);
}

/* 6 bits of gfx942, whose K tiles of 96 bytes begin and end inside lines: of several products of
 * few rows the next K tile has those from memory again; of weights that are widened, beside the
 * fewest the L1 has room for them, but not for those of 48 bytes. */
static bool
fetched_twice(const kiln_problem *p, const struct kn_config *g)
{
    bool several = !kn_one_product(p) && kn_family_of(p)->ragged != 'k';
    bool widened = kn_widens_scaled(p) && kn_targets[p->target].dma < 16;
    int64_t rows = kn_mean_rows(p);
    bool few = widened ? 2 * rows <= FEW_ROWS && (rows > 8 || g->bk < 128) : rows <= FEW_ROWS;

    return (kn_multiplies_blocks(p) || widened) && several && few && p->k >= 1024;
}

double
kn_row_lines(const kiln_problem *p, char operand, const struct kn_config *g,
             const struct kn_score *s)
{
    bool a = operand == 'a', along = kn_along_k(p, operand);
    int64_t each = kn_type_bits[a ? p->a : p->b];
    int64_t run = each * (along ? g->bk : a ? g->bm : g->bn);
    bool counted = s && !kn_lags(p, g, operand) && counts_lines(p, s);
    int64_t pitch = counted ? each * (a ? p->lda : p->ldb) : 0;
    bool pieces = p->layout == KILN_NT && along && (each != 6 || fetched_twice(p, g));
    double whole = pieces ? (double)run / (double)LINE : lines(run, run);

    return lines(run, common(run, pitch)) / whole;
}

static bool
of_six_bits(const kiln_problem *p, const struct kn_score *s)
{
    return s->class == KN_CLASS_MX66 && !kn_dequant(p);
}

/* What rows take that begin inside lines and are not counted: half of the copies
 * take a line more. Measured on 256x256 tiles of fp8. */
static double
straddling(const kiln_problem *p, const struct kn_config *g,
           const struct kn_score *s)
{
    int64_t a = p->lda * kn_type_bits[p->a], b = p->ldb * kn_type_bits[p->b];

    if (of_six_bits(p, s) || p->layout != KILN_NT || (a % LINE == 0 && b % LINE == 0) ||
        kn_class_is_odd(s->class) || counts_lines(p, s) || g->copies == KN_COPIES_LINES)
        return 1;
    return kn_schedules[s->schedule].reads == KN_READS_HALVES ? 1.04 : 1.12;
}

/* Eight waves that have no registers for batches of scales beside sums and a K tile of
 * rows at any byte, of so many bits an element. */
static bool
is_full(const struct kn_config *g, uint32_t bits_a, uint32_t bits_b)
{
    uint32_t sums = g->bm * g->bn / (8 * 64);
    uint32_t tile = (g->bm * bits_a + g->bn * bits_b) * g->bk / (32 * 8 * 64);

    return g->wm * g->wn == 8 && sums + tile * 5 / 4 >= 150;
}

/* Whether MX scales beside operands that go through registers come in batches: of open
 * stages with those of the row. */
static bool
has_batches(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s)
{
    struct kn_config x = *g;

    x.stages = g->stages ? g->stages : s->stages;
    return kn_scale_batch(p, &x) &&
           ((g->domain.align_a >= 4 && g->domain.align_b >= 4) ||
            !is_full(g, kn_type_bits[p->a], kn_type_bits[p->b]));
}

/* The same by lines, whose K tiles wait for the next one's, too: what is on its way then is
 * two slots less. Measured on 16x32 to 128x192 tiles; of few rows what holds by K tiles
 * chooses better. */
static double
scales_by_lines(const kiln_problem *p, const struct kn_config *g, bool four)
{
    double tile = g->bk * (g->bm * kn_type_bits[p->a] + g->bn * kn_type_bits[p->b]) / 8.0;
    double part = g->stages > 2 ? 16384 / ((g->stages - 2) * tile) : 0, more;
    bool narrow = kn_type_bits[p->b] == 4;

    if (four)
        return g->stages == 3 ? 1.1 : 1.06;
    if (narrow && g->bm * g->bn < 64 * 64)
        return 1.45;
    more = 0.6 * part * part + (narrow ? 0.05 : 0);
    return 1 + (more < 0.08 ? 0.08 : g->stages == 3 && more < 0.5 ? 0.5 : more);
}

/* Scales of converted operands, of K tiles of 64 and an odd pitch, are loaded singly where one
 * of them is transposed or there are several slots, but for eight waves of tiles from 192x128 on,
 * which hide it. Ten tiles of 64x64 to 160x128: 1.28 to 1.63. */
static double
single_scales(const kiln_problem *p, const struct kn_config *g)
{
    struct kn_pitches at = kn_pitches_of(p);
    bool hides = g->wm * g->wn == 8 && g->bm * g->bn > 128 * 160;
    bool turns = p->layout == KILN_NT && g->stages < 2;

    return g->bk <= 64 && !kn_shuffled(p) && !hides && !turns &&
                   kn_family_of(p)->ragged != 'k' && ((at.sa | at.sb) & 1) ? 1.35 : 1;
}

/* MX types of one size in nt, whose rows at any byte were measured beside scales of an odd
 * pitch, in loops that have batches of them. */
static bool
has_odd_scales(const kiln_problem *p, const struct kn_score *s)
{
    return kn_class_is_odd(s->class) && kn_mx_scales(p) && p->layout == KILN_NT &&
           kn_type_bits[p->a] == kn_type_bits[p->b];
}

/* MX scales whose rows are no whole dwords, or end within a K tile: they are
 * clipped, and batches of them shifted on their way through registers, those of
 * each K tile beside rows at any byte loaded singly or in twos: by lines, of `4-wave`
 * by K tiles (nt), of dwords, of an even pitch, of an odd one; beside rows at any byte
 * `4-wave` has what others have, with which it is compared. Measured on 16x32 to 256x256 tiles of
 * mxfp8 and mxfp4; unknown of wgrad, whose groups end there, of a few rows or K
 * tiles, and of 6-bit types. */
static double
odd_scales(const kiln_problem *p, const struct kn_config *g,
           const struct kn_score *s)
{
    static const double whole[] = { 1.08, 1.12, 1.18 }, odd[] = { 1.1, 1.2, 1.35 };
    bool loose = kn_class_is_odd(s->class);
    bool four = kn_schedules[s->schedule].reads == KN_READS_TILE;
    const double *by = loose ? odd : whole;
    const struct kn_domain *d = &g->domain;
    struct kn_pitches at;

    if (kn_multiplies_blocks(p))
        return single_scales(p, g);
    if (!kn_mx_scales(p) || kn_dequant(p) || kn_shuffled(p) ||
        kn_family_of(p)->ragged == 'k' || p->k < 8 * (int64_t)g->bk ||
        kn_type_bits[p->a] == 6 || kn_type_bits[p->b] == 6 || kn_line_ring(p, g) ||
        has_odd_scales(p, s) ||
        !d->align_sa || (d->align_sa >= 4 && d->align_sb >= 4 && !d->ktail))
        return 1;
    if (g->copies == KN_COPIES_LINES && !loose && p->m > FEW_ROWS)
        return scales_by_lines(p, g, four);
    if (four && !loose && p->layout == KILN_NT)
        return d->align_sa >= 4 && d->align_sb >= 4 ? 1.15 : 1.4;
    if (d->align_sa >= 4 && d->align_sb >= 4)
        return by[0];
    at = kn_pitches_of(p);
    return (at.sa | at.sb) & 1 ? by[2] : by[1];
}

/* Rows that begin at dwords, or of fewer bits, have batches of scales where those the
 * scores were measured with have no registers for them, but for 6 bits that were measured at
 * dwords. Measured on 192x256 and 256x256 tiles. */
static double
batched_at_dwords(const kiln_problem *p, const struct kn_config *g,
                  const struct kn_score *s)
{
    uint32_t a = kn_type_bits[p->a], b = kn_type_bits[p->b], bits = a > b ? a : b;

    return kn_class_is_odd(s->class) && !s->lines && s->class != KN_CLASS_UD66 &&
                   is_full(g, bits, bits) &&
                   has_batches(p, g, s) ? 0.78 : 1;
}

/* Shuffled scales of 8-bit types were measured with panels of B, whose copies take
 * longer than those of plain rows from 64x64 tiles on, but for `4-wave`. */
static double
plain_rows(const kiln_problem *p, const struct kn_score *s)
{
    return s->class == KN_CLASS_S88 && !p->b_layout && s->bm * s->bn >= 64 * 64 &&
           kn_schedules[s->schedule].reads == KN_READS_STEP ? 0.8 : 1;
}

/* Lines that copies of an operand ask for, over those of one of 6 bits whose rows begin
 * at lines. Where lines are copied, three quarters of what they take more where rows
 * begin inside them: copies are of whole chunks. What other types ask for less counts in
 * small tiles, which wait for memory. */
static double
lines_more(const kiln_problem *p, const struct kn_config *g, char operand)
{
    bool whole = kn_line_ring(p, g) || kn_4wave_packed(p, g);
    int64_t bits = kn_type_bits[operand == 'a' ? p->a : p->b];
    int64_t pitch = bits * (operand == 'a' ? p->lda : p->ldb);
    int64_t run = whole ? LINE : bits * g->bk, six = whole ? LINE : 6 * g->bk;
    int64_t step = kn_lags(p, g, operand) ? run : common(run, pitch);
    double more = lines(run, step) / lines(six, six);

    if (whole)
        return 1 + 0.75 * (more - 1);
    return bits == 6 || (g->schedule == KN_SCHED_SIMPLE && g->wm * g->wn <= 4)
               ? more : more * lines(six, six) / lines(run, run);
}

/* Of 6-bit types, measured in rows that begin at lines. K tiles of 96 bytes in three
 * slots and more were by lines: without, in two and through registers they take that
 * much longer. So does `4-wave` whose K ends in a K tile. */
static double
broken_lines(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s)
{
    double more = (lines_more(p, g, 'a') + lines_more(p, g, 'b')) / 2;

    if (!of_six_bits(p, s))
        return 1;
    if (kn_schedules[s->schedule].reads == KN_READS_TILE && g->domain.ktail)
        return (kn_4wave_packed(p, g) ? 1.07 : 0.92) * more;
    if (!kn_breaks_lines(p, g) || kn_line_ring(p, g) || s->stages < 3)
        return more;
    return (!kn_direct(p, g) ? 2.2 : g->stages == 2 ? 2.7 : 1.8) * more;
}

/* The same on gfx942 (19 tiles of bf16 and fp8): small tiles wait in a launch of one round, in
 * which nothing else has products. */
static double
shifted_old(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t area = g->bm * g->bn;
    bool dwords = g->domain.align_a >= 4 && g->domain.align_b >= 4;

    if (kn_reads_of(g) == KN_READS_TILE)
        return dwords ? 0.79 : 0.92;
    if (area >= 64 * 96)
        return dwords ? 0.88 : 0.93;
    return (dwords || area < 64 * 64 ? 0.74 : 0.8) + (kn_fills_rounds(p, g) ? 0 : 0.2);
}

/* Rows at any byte that are loaded by lines: what a K tile takes of what it does without,
 * with which the scores were measured, where both operands' rows begin inside lines: of 33
 * tiles and lengths of K drawn. */
static double
shifted(const kiln_problem *p, const struct kn_config *g, bool few)
{
    bool dwords = g->domain.align_a >= 4 && g->domain.align_b >= 4;

    if (kn_targets[p->target].dma < 16)
        return shifted_old(p, g) + (few ? 0.06 : 0);
    if (kn_reads_of(g) == KN_READS_TILE)
        return (dwords ? 0.7 : 0.84) + (few ? 0.14 : 0);
    if (g->bm * g->bn < 64 * 64)
        return g->stages > 3 ? 0.95 : 1.25;
    return (g->stages > 3 || g->bm * g->bn >= 128 * 64 ? 0.76 : 1.1) + (few ? 0.1 : 0);
}

/* Of one operand's rows along K, which were measured at dwords, what shifting takes more: 16
 * tiles of bf16 and fp8. */
static double
half_shifted(const kiln_problem *p, const struct kn_config *g)
{
    bool wide = kn_type_bits[p->a] == 16;

    if (kn_reads_of(g) == KN_READS_TILE)
        return wide ? 1.08 : 1.05;
    return !wide ? 1.03 : g->bm * g->bn > 96 * 128 ? 1.22 : 1.01;
}

/* Of rows that were measured by lines, at odd bytes, what those at dwords take, of which
 * nothing is shifted (six tiles of bf16 and fp8); and what launches of `4-wave` and of
 * small tiles take more and of eight waves in four slots less than their scores say, but for
 * large ones, and of MX types in three (200 drawn). Tiles below 64x64 wait for memory, at
 * dwords as at odd bytes. */
static double
measured_by_lines(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s)
{
    bool dwords = g->domain.align_a >= 4 && g->domain.align_b >= 4;

    if (p->layout != KILN_NT)
        return dwords ? 1 : half_shifted(p, g);
    if (kn_reads_of(g) == KN_READS_TILE)
        return (!dwords ? 1 : kn_shifts(p, g, 'b') ? 0.79 : 0.97) * 1.02;
    if (g->stages < 4)
        return (dwords ? 0.84 : 1) * (kn_mx_scales(p) && !has_odd_scales(p, s) ? 0.9 : 1);
    return (dwords && g->bm * g->bn >= 64 * 64 ? 0.76 : 1) *
           (g->bm * g->bn <= 64 * 64 ? 1.03
            : g->wm * g->wn == 8 && g->bm * g->bn <= 192 * 128 ? 0.93 : 1);
}

/* The same by K tiles, of which less is shifted; whose lines, which are counted for aligned
 * rows alone, `4-wave` waits for in full launches: of MX types, which wait for scales, walks.
 * These take more in small tiles of eight waves, beside those of four (64 launches drawn). */
static double
measured_by_tiles(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s)
{
    bool crowded = has_odd_scales(p, s) && g->wm * g->wn == 8 && g->bm * g->bn <= 96 * 64;
    bool dwords = g->domain.align_a >= 4 && g->domain.align_b >= 4;
    bool waits = kn_reads_of(g) == KN_READS_TILE && (g->cus || !kn_mx_scales(p));

    return (dwords && g->bm * g->bn > 64 * 64 ? 0.96 : 1) * (waits ? 1.1 : 1) *
           (crowded ? 1.05 : 1);
}

/* Both operands' rows along M and N at dwords, in the largest tiles, which have few registers to
 * shift those at odd bytes that scores were measured with (three tiles of bf16 and fp8). */
static double
turned_at_dwords(const kiln_problem *p, const struct kn_config *g)
{
    if (p->layout != KILN_TN || kn_reads_of(g) != KN_READS_TILE || g->bm * g->bn < 256 * 256 ||
        g->domain.align_a < 4 || g->domain.align_b < 4 || kn_targets[p->target].dma < 16)
        return 1;
    return kn_type_bits[p->a] == 16 ? 0.82 : 0.9;
}

static double
by_lines(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s)
{
    bool few = p->k / (g->split_k ? g->split_k : 1) < 12 * (int64_t)g->bk;

    if (!kn_class_is_odd(s->class) || kn_line_ring(p, g))
        return 1;
    if (!kn_shifts_lines(p, g))
        return p->layout == KILN_NT && kn_scored_by_lines(p) ? measured_by_tiles(p, g, s)
                                                             : turned_at_dwords(p, g);
    if (s->lines)
        return measured_by_lines(p, g, s);
    if (kn_lines_apart(p) < 2 || kn_prequant(p) || kn_dequant(p) ||
        (p->layout != KILN_NT && kn_targets[p->target].dma < 16))
        return (1 + shifted(p, g, few)) / 2;
    return shifted(p, g, few);
}

/* Tiles of which rows at any byte have scores in nn, tn and tt for a long K. */
static bool
turned_briefly(const kiln_problem *p, const struct kn_config *g)
{
    return p->layout != KILN_NT && kn_class_is_odd(kn_class_of(p)) && g->wm * g->wn == 8 &&
           g->bm * g->bn == 160 * 192 && p->k < LONG_TURNED * (int64_t)g->bk;
}

/* Whole K tiles by lines: most of a short K and of MX types, whose K tiles twice as deep are
 * sooner than their scores say; one operand's alone not where K is short. Tiles below 64x64 have
 * less on their way than a launch's traffic asks for, which long loops wait for. */
static double
whole_lines_lead(const kiln_problem *p, const struct kn_config *g)
{
    bool more = kn_mx_scales(p) || p->k < 4 * (int64_t)g->bk;
    int64_t share = p->k / (g->split_k ? g->split_k : 1);

    if (p->layout != KILN_NT && share < KN_HALF_LINES * (int64_t)g->bk)
        return HUGE_VAL;
    if (p->layout == KILN_NT && !kn_shifts(p, g, 'b') && p->k < 12 * (int64_t)g->bk)
        return HUGE_VAL;
    if (kn_targets[p->target].dma < 16)
        return 1.03;
    if (g->bm * g->bn < 64 * 64 && share >= LONG_OF_FEW * (int64_t)g->bk)
        return 1.12;
    return 1 + (more ? 600.0 : p->layout != KILN_NT ? 300.0 : 100.0) / (g->bm * g->bn);
}

/* Lines that go through registers one by one: scores say least of small tiles, which end sooner
 * by K tiles, of 6 bits beside others, with which rows were not measured, and where one operand's
 * rows begin at lines; of rows that another class measured. */
double
kn_lines_lead(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t bits = kn_type_bits[p->a] + kn_type_bits[p->b];
    double others = (bits > 12 ? 1.2 : bits < 12 ? 1.1 : 1) *
                    (kn_lines_apart(p) < 2 ? 1.05 : 1) *
                    (kn_class_of(p) == KN_CLASS_MX66 ? 1.15 : 1);

    if (kn_direct(p, g) || !kn_shifts_lines(p, g))
        return turned_briefly(p, g) ? HUGE_VAL : 1;
    return kn_line_ring(p, g) ? others * (1 + 1500.0 / (g->bm * g->bn))
                              : whole_lines_lead(p, g);
}

/* Loops that have no more than a K tile on its way wait longer among the traffic of a launch
 * than those that scores were measured in: the mean of 15,000 launches of 420 problems. So do
 * those that widen weights behind their reads, but where all of a K tile is always on its way
 * to registers, of more waves than two. */
static double
few_slots(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s)
{
    bool waits = kn_schedules[s->schedule].reads == KN_READS_STEP ||
                 (kn_widens_late(p, g) && (kn_direct(p, g) || g->wm * g->wn < 4));

    return waits && s->stages < 3 ? 1.05 : 1;
}

/* Of weights that are widened behind their reads: groups shorter than those that scores were
 * measured with, whose sums are multiplied beside products, take so much more than in other
 * loops, as do their scales, of which a row has several; a little where LDS has codes. */
static double
short_groups(const kiln_problem *p, const struct kn_config *g)
{
    if (kn_class_of(p) == KN_CLASS_IR && kn_widens_read(p, g))
        return kn_scale_k(p) >= 128 ? 1 : kn_scale_k(p) >= 64 ? 1.05 : 1.08;
    if (!kn_widens_late(p, g) || kn_scale_k(p) >= 128)
        return 1;
    return kn_scales_down(p, 'b') ? (kn_scale_k(p) >= 64 ? 1.1 : 1.3)
                                  : (kn_scale_k(p) >= 64 ? 1.17 : 1.5);
}

/* Zero points that are numbers, which are subtracted from each element by itself, of bf16 with
 * a rounding by hand, where waves widen what they multiply in one slot. */
static double
number_zeros(const kiln_problem *p, const struct kn_config *g)
{
    if (!kn_widens_late(p, g) || g->stages != 1 || p->zero_points != KILN_ZEROS_F16)
        return 1;
    return p->a == KILN_F16 ? 1.1 : g->wm * g->wn < 8 ? 1.4 : 1.25;
}

/* `4-wave` of weights that are widened on gfx942, of rows that begin at no 16 bytes: shares of
 * large tiles take less than they were measured with, as do tiles of which a compute unit has
 * two in short loops, in others more (48 problems drawn, ten rows each). */
static double
widened_oddly(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s)
{
    bool odd = kn_widens_scaled(p) && kn_class_is_odd(s->class);

    if (!odd || kn_targets[p->target].scaled || !kn_schedules[s->schedule].asm_only)
        return 1;
    if (g->bm * g->bn <= 128 * 128)
        return p->k < 24 * (int64_t)g->bk ? 0.9 : 1.13;
    return g->bn < 128 || g->split_k < 2 ? 1 : 0.91;
}

/* Rows at 16 bytes by lines: the K tile whose lines reach into the next one's keeps its slot for
 * it, which of three leaves one on its way (five tiles of fp8 and bf16: 1.06 to 1.27; of four
 * slots 1). Of MX types scales_by_lines() says what it takes. */
static double
three_of_lines(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s)
{
    if (g->copies != KN_COPIES_LINES || g->stages != 3 || p->layout != KILN_NT ||
        kn_mx_scales(p) || kn_schedules[s->schedule].reads != KN_READS_STEP ||
        !kn_direct(p, g))
        return 1;
    return g->bm * g->bn >= 128 * 256 ? 1.06 : 1.16;
}

double
kn_rows_slower(const kiln_problem *p, const struct kn_config *g,
               const struct kn_score *s)
{
    return few_slots(p, g, s) * straddling(p, g, s) * odd_scales(p, g, s) * plain_rows(p, s) *
           batched_at_dwords(p, g, s) * short_groups(p, g) * number_zeros(p, g) *
           broken_lines(p, g, s) * by_lines(p, g, s) * widened_oddly(p, g, s) *
           three_of_lines(p, g, s);
}

/* Clocks of a line of 128 bytes of a K tile of which a part is behind K, which a wave masks, twice
 * that of what is widened: of 1,400 launches of 2 to 16 K tiles. Of `4-wave` alone 32, of which
 * launches that fill the device hide some. A K tile alone that goes through registers hides it. */
#define CLIPS_TILE 24.0
#define CLIPS_STEP 18.4

/* What that adds to a workgroup, of rows along K; at any byte gfx942 masks others, too. */
double
kn_rows_clipped(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s,
                char operand)
{
    bool a = operand == 'a', odd = kn_class_is_odd(s->class);
    struct kn_shape shape = kn_shape_of(p, g);
    double bits = kn_elems[a ? shape.ta : shape.tb].bits;
    double each = kn_schedules[s->schedule].reads == KN_READS_TILE ? CLIPS_TILE : CLIPS_STEP;
    bool masks = kn_along_k(p, operand) || (odd && !kn_targets[p->target].scaled);

    if (!g->domain.ktail || !masks || (odd && p->k <= g->bk))
        return 0;
    if (kn_type_bits[a ? p->a : p->b] < bits)
        each *= 2;
    if (p->k <= g->bk)
        each *= 0.6;
    return each * (a ? g->bm : g->bn) * g->bk * bits / 1024 / (g->wm * g->wn);
}
