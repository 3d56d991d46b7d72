/* leads.c - what the score of a tile must be better by than the choice's to take its place: as
 * much as scores err where tiles like it were drawn (docs/choosing.md, Leads). */
#include "choose.h"

#include <math.h>

#include "../forms.h"
#include "../instantiate.h"
#include "../panels.h"

enum { SMALL = 16 * 32, MANY = 8, LARGE = 128 * 128 };
enum { LONG = 128 };         /* K tiles */
enum { QUANTISED_LONG = 1024 }; /* K */
enum { FEW_ROWS = 64 };      /* of a product */

/* Several workgroups of a compute unit, or shares of few rows although tiles
 * alone keep most units busy: more wait for the same memory. */
static bool
crowds(const kiln_problem *p, const struct kn_score *s,
       const struct kn_config *g)
{
    uint64_t n = kn_tiles_of(p, g->bm, g->bn), cus = kn_cus(p);

    return (s->residents > 1 && n * g->split_k > cus) ||
           (g->split_k > 1 && p->m <= 64 && 2 * n > cus);
}

/* `4-wave` tiles of other rows than 128 and 256. */
static bool
other_rows(const struct kn_config *g)
{
    return kn_schedules[g->schedule].asm_only && g->bm % 128;
}

bool
kn_same_tile(const struct kn_config *a, const struct kn_config *b)
{
    return a->schedule == b->schedule && a->bm == b->bm && a->bn == b->bn &&
           a->bk == b->bk && a->wm == b->wm && a->wn == b->wn;
}

/* Operands that go through registers, which transpose one: their scores err by 8 %, of few K
 * tiles and at any byte as well. */
static bool
is_turned(const kiln_problem *p)
{
    return p->layout != KILN_NT && kn_targets[p->target].dma < 16 && kn_type_bits[p->a] <= 16;
}

/* Of a loop of fewer than four K tiles, of which scores say least: most of groups, and where a
 * deeper K tile ends behind K, the choice's before it or as well; more of `4-wave` in place of
 * another loop, most of one K tile transposed at any byte; of many rounds, or nn, tn (measured). */
static double
lead_of_few(const kiln_problem *p, const struct kn_config *from, const struct kn_config *g)
{
    bool four = kn_schedules[g->schedule].asm_only && g->schedule != from->schedule;
    bool new = kn_targets[p->target].scaled, deeper = g->bk > from->bk;
    bool empty = (p->k - 1) % g->bk + 1 < g->bk / 2; /* most of the last K tile */
    bool odd = kn_class_is_odd(kn_class_of(p)) || g->domain.vec < 4;

    if (kn_multiplies_blocks(p))
        return 1.05;
    if (is_turned(p))
        return 1.02;
    if (!new && (deeper || empty || kn_type_bits[p->a] > 16))
        return 1.15;
    if (kn_family_of(p)->ragged || (g->domain.ktail && (!from->domain.ktail || deeper)))
        return 1.08;
    if (four)
        return kn_mx_scales(p) ? 1.05
             : odd && p->layout != KILN_NT && p->k <= g->bk ? 1.4
             : g->domain.ktail && !odd ? 1.06 : 1.15;
    if (kn_tiles_of(p, g->bm, g->bn) > 4 * (uint64_t)kn_cus(p))
        return 1.08;
    return p->layout != KILN_NT ? 1.06 : 1.04;
}

/* K of whole K tiles. */
static int64_t
padded(const kiln_problem *p, const struct kn_config *g)
{
    return (p->k + g->bk - 1) / g->bk * g->bk;
}

/* Converted MX types of whose last K tile less is empty than of the choice's, by an eighth of K,
 * take less than their score says: of 15 that are chosen for a score 3 % longer and less 14. */
static bool
fills_tiles(const kiln_problem *p, const struct kn_config *from, const struct kn_config *g)
{
    return kn_multiplies_blocks(p) && 8 * (padded(p, from) - padded(p, g)) >= p->k;
}

static const double other_layout_lead = 1.15; /* of one not measured, by rows of nt */

/* The lead that scores must give g over `from`: a quarter of what the ratio of two scores errs
 * by, half of wgrad, whose groups may be short, and of short loops, whose ends scores know
 * least (docs/choosing.md). Least of two `4-wave` tiles, or of one and its walk. */
double
kn_lead_for(const kiln_problem *p, const struct kn_score *s, const struct kn_config *from,
            const struct kn_config *g)
{
    bool joins = g->split_k > 1 && g->bm * g->bn > LARGE &&
                 p->k < LONG * (int64_t)g->bk * g->split_k;
    bool four = kn_schedules[g->schedule].asm_only;
    bool near = four && g->schedule == from->schedule;
    char ragged = kn_family_of(p)->ragged;

    if (s->layout != kn_score_layout(p))
        return other_layout_lead;
    if (fills_tiles(p, from, g) && !ragged)
        return 0.97;
    if (p->k < 4 * (int64_t)g->bk)
        return lead_of_few(p, from, g);
    if (joins && kn_targets[p->target].scaled)
        return 1.015;
    if (near && kn_same_tile(g, from))
        return g->domain.ktail && ragged != 'k' ? 1.04 : 1.02;
    if (ragged && (g->split_k > 1 || crowds(p, s, g)))
        return ragged == 'k' ? 1.1 : 1.04;
    if (four && !near && kn_class_is_odd(s->class) && p->layout != KILN_NT && !is_turned(p))
        return p->k < 24 * (int64_t)g->bk ? 1.15 : 1.08;
    if (p->m <= 64 && p->k <= 8 * (int64_t)g->bk)
        return 1.05;
    if (ragged == 'k')
        return near || (!g->domain.ktail && p->k >= 8 * (int64_t)g->bk) ? 1.06 : 1.07;
    if (g->domain.ktail || p->k < 8 * (int64_t)g->bk)
        return ragged ? 1.03 : 1.04;
    if (ragged && !near)
        return 1.03;
    return crowds(p, s, g) ? 1.03 : near ? 1.01 : 1.0125;
}

/* What the score of a walk must be better by: of two workgroups of a compute unit that have not
 * drifted apart, never of groups of converted types of two sizes; of them and types that are
 * multiplied as they lie, a K that hides most of its stores without (250 problems drawn); of
 * batches of MX types (3,600). */
static double
walk_lead(const kiln_problem *p, const struct kn_config *g)
{
    bool converted = kn_multiplies_blocks(p);
    bool differ = kn_type_bits[p->a] != kn_type_bits[p->b];

    if (g->cus > kn_cus(p) && converted && kn_family_of(p)->ragged && differ)
        return HUGE_VAL;
    if (g->cus && kn_scaled_batch(p))
        return p->k < 2 * (int64_t)g->bk ? 1.06 : 1.09;
    if (g->cus <= kn_cus(p))
        return 1;
    if (kn_tiles_of(p, g->bm, g->bn) <= 2 * (uint64_t)g->cus)
        return converted ? 1.1 : 1.25;
    return !converted && p->k >= 8 * (int64_t)g->bk ? 1.07 : 1;
}

/* Quantised K tiles of 64, whose rows of codes are a quarter of a line: in long shares they take
 * up to 1.2 of what is said, shares of wide tiles 1.1, which groups fill least (450 drawn). */
static double
quantised_lead(const kiln_problem *p, const struct kn_config *g)
{
    int64_t share = p->k / (g->split_k ? g->split_k : 1);

    if (p->quant && g->bm == 64 && g->bn > 128 && g->bk == 128)
        return kn_family_of(p)->ragged ? HUGE_VAL : g->split_k > 1 ? 1.04 : 1;
    if (!p->quant || g->bk > 64)
        return 1;
    return share > QUANTISED_LONG ? HUGE_VAL : share > QUANTISED_LONG / 2 ? 1.04 : 1;
}

/* Tiles of 256 columns and few rows whose codes of floats LDS has: their eight waves are alone on
 * a compute unit of gfx942, which launches wait longer for than scores say, most of a K tile
 * alone. */
static double
lonely_lead(const kiln_problem *p, const struct kn_config *g)
{
    enum kn_class class = kn_class_of(p);

    if ((class != KN_CLASS_NR && class != KN_CLASS_WR) || g->bm > FEW_ROWS || g->bn <= 128 ||
        g->wn < 8 || kn_targets[p->target].dma == 16)
        return 1;
    return p->k <= g->bk ? HUGE_VAL : 1.12;
}

/* The same of MX types that wait for memory longer than they say: `8-wave` for weights of 4 bits
 * beside few rows, many shares of converted types in large tiles. */
static double
waiting_lead(const kiln_problem *p, const struct kn_config *g)
{
    double quantised = quantised_lead(p, g), lonely = lonely_lead(p, g);

    if (quantised > 1 || lonely > 1)
        return quantised > 1 ? quantised : lonely;
    if (kn_reads_of(g) == KN_READS_HALVES && kn_mx_scales(p) && p->m <= 2 * FEW_ROWS &&
        kn_type_bits[p->b] == 4)
        return 1.1;
    if (kn_multiplies_blocks(p) && g->split_k > 3 && g->bm * g->bn >= 128 * 192)
        return 1.15;
    return 1;
}

/* And of tiles of 32 columns and many rows and of 64 rows and many columns (of transposed
 * 128-blocks, of weights of 8 bits down K beside an A that is quantised), whose products mostly
 * have fewer: what they wait for is bandwidth. The former take longer than they say in shares, of
 * 16 columns, of 128-blocks, of MX groups of K, which begin anywhere, and of a long K on gfx942;
 * the latter of less than a K tile. */
static double
narrow_lead(const kiln_problem *p, const struct kn_config *g)
{
    double waits = waiting_lead(p, g);
    bool tall = g->bn == 32 && g->bm >= 128, old = kn_targets[p->target].dma < 16;
    bool blocks = kn_blocks(p);
    bool down = kn_prequant(p) && p->layout == KILN_NN && !old && !kn_family_of(p)->ragged;
    bool wide = (blocks || down) && g->bm == 64 && g->bn >= 192;

    if (waits > 1)
        return waits;
    if (kn_schedules[g->schedule].asm_only || (!tall && !wide))
        return 1;
    if (wide)
        return p->k < g->bk ? HUGE_VAL : old ? 1.16 : 1.1;
    if (blocks || g->split_k > 1 || kn_b_columns(p) <= 16 ||
        (kn_family_of(p)->ragged == 'k' && kn_mx_scales(p)) ||
        (old && p->layout == KILN_NT && p->k > 2 * (int64_t)g->bk))
        return HUGE_VAL;
    return p->k < 2 * (int64_t)g->bk ? 1.2 : old ? 1.12 : 1.08;
}

/* What is converted beside products in small tiles, 105 drawn. */
static double
early_lead(const kiln_problem *p, const struct kn_config *g)
{
    return kn_converts_early(p, g) && !kn_stays_unfolded(p, g) && g->bm * g->bn <= 64 * 64
           ? 1.04 : 1;
}

/* Tiles of 48, 80, 96, 160, 192 and 224 rows or columns, of `4-wave` small ones and by less
 * those of other rows, and wider or taller ones than 256, of whose many rounds scores say up
 * to 6 % too little, the smallest and above all shares of them, and of `4-wave` where others
 * have as many K tiles on their way, must be better than others, not as good; so must what is
 * widened behind its reads, in small tiles and of short groups by more, in one slot alone in
 * small tiles of the shortest groups and of AWQ's words, and where half has no rows; so must
 * some walks, and small tiles that are converted beside products. Not tiles of which LDS
 * has codes. */
double
kn_better_by(const kiln_problem *p, const struct kn_config *from, const struct kn_config *g)
{
    bool odd = (g->bm & (g->bm - 1)) | (g->bn & (g->bn - 1));
    bool i8 = p->a == KILN_I8 && !is_turned(p);
    bool widens = kn_widens_scaled(p), soon = widens && kn_targets[p->target].scaled;
    int64_t many = kn_family_of(p)->ragged == 'm' && p->groups ? p->groups : 1;
    double walk = walk_lead(p, g), narrow = narrow_lead(p, g), early = early_lead(p, g);

    if (walk > 1 || narrow > 1)
        return walk > 1 ? walk : narrow;
    if (g->split_k > 1 && p->out_scale == KILN_OUT_BLOCK128 && !kn_panels(p, g) &&
        p->k < 8 * (int64_t)g->bk * g->split_k)
        return 1.05; /* waves of whole scales add up later */
    if (kn_widens_scaled(p) && kn_class_is_odd(kn_class_of(p)) && g->bn > 256)
        return 1.12; /* measured at dwords (tests/timing/scores.c) */
    if (g->split_k > 1 && kn_schedules[g->schedule].asm_only && i8 &&
        p->layout == KILN_TN && (g->domain.align_a < 4 || g->domain.align_b < 4))
        return 1.1;
    if (g->split_k > 1 && kn_schedules[g->schedule].asm_only &&
        (kn_direct(p, g) || i8 || (widens && (!soon || g->wm * g->wn < 8))))
        return 1.04;
    if (kn_widens_late(p, g) && g->stages == 1 && 2 * p->m <= g->bm * many)
        return 1.12;
    if (kn_widens_late(p, g) && g->stages == 1 && g->bm * g->bn < LARGE &&
        (kn_scale_k(p) < 64 || p->b_layout == KILN_B_AWQ))
        return 1.06;
    if (kn_schedules[g->schedule].asm_only && g->wm * g->wn == 8 && !soon)
        return !kn_class_is_odd(kn_class_of(p)) || p->layout == KILN_NT || is_turned(p) ? 1.025
             : p->layout == KILN_NN ? 1.1 : 1.06;
    if (kn_widens_late(p, g) && g->stages > 1 && !kn_widens_late(p, from))
        return kn_scale_k(p) < 128 || g->bm * g->bn < LARGE ? 1.06 : 1.02;
    if (kn_prequant(p) && kn_shifts_lines(p, g) &&
        (g->bm * g->bn <= LARGE || !kn_shifts_lines(p, from)))
        return 1.08;
    if (early > 1)
        return early;
    if (odd && (!kn_schedules[g->schedule].asm_only || g->bm * g->bn < LARGE))
        return kn_widens_read(p, g) ? 1 : 1.03;
    if (g->bm > 256 || g->bn > 256)
        return kn_family_of(p)->ragged == 'k' ? 1.01 : 1.04;
    if (other_rows(g))
        return 1.01;
    if (g->split_k > 1 && (g->bm * g->bn <= SMALL || g->split_k > MANY))
        return 1.05;
    return g->bm * g->bn < SMALL ? 1.03 : 1;
}

/* Of waves that lie otherwise than those that were measured, since gate and up leave them no
 * 32 columns each (350 problems drawn). */
double
kn_turned_lead(const kiln_problem *p, const struct kn_score *s, const struct kn_config *g)
{
    return kn_gated(p) && !kn_writes_scales(p) && g->wm != s->wm ? 1.04 : 1;
}
