/* unscored.c - what the rows of scores.def say nothing of, or too little (docs/choosing.md). */
#include "choose.h"

#include <math.h>

#include "../forms.h"
#include "../instantiate.h"

enum { LARGE = 128 * 128, LARGEST = 192 * 256, LONG_ROWS = 16384 };
enum { SHORT = 8, BRIEF = 4, HALVES = 16, SHORT_GROUPS = 2 }; /* K tiles */
enum { LINE = 128 };         /* bytes */

/* Their rows of one slot with room for several workgroups (tests/timing/scores.c). */
bool
kn_converts_in_one_slot(const kiln_problem *p, uint32_t stages, uint32_t bk)
{
    return kn_multiplies_blocks(p) && stages == 1 && bk == 64;
}

/* Half of it and more has no columns of the output, and it is larger than the
 * choice that has them: one K tile's score is a part of what such launches take. */
static bool
mostly_empty(const kiln_problem *p, const struct kn_score *s,
             const struct kn_config *g)
{
    return s->bn > 2 * ((kn_b_columns(p) + 15) / 16 * 16) && s->bm >= g->bm &&
           s->bn >= g->bn && s->bm * s->bn > g->bm * g->bn;
}

/* `4-wave` tiles of other rows than 128 and 256: of fewer than four K tiles; small ones of
 * many rounds, or of which half and more has no rows of the output, but of groups. */
bool
kn_other_rows_unknown(const kiln_problem *p, const struct kn_score *s)
{
    bool small = s->bm * s->bn < LARGE, groups = kn_family_of(p)->ragged == 'm';

    if (!kn_schedules[s->schedule].asm_only || s->bm % 128 == 0)
        return false;
    return p->k < 4 * (int64_t)s->bk || (s->bm < 128 && !groups && 2 * p->m <= s->bm) ||
           (small && kn_tiles_of(p, s->bm, s->bn) > 4 * (uint64_t)kn_cus(p));
}

/* Batches of MX scales are loaded whole in front of the loop, of a K of hardly a tile too; of
 * 4 bits, whose K tile is long, where rows begin at lines as well, but for tiles so wide
 * that they are one round; of others' K tiles that are as long one alone, or where half of the
 * tile has no rows. */
static bool
loads_ahead(const kiln_problem *p, const struct kn_score *s, const struct kn_config *g)
{
    bool four = kn_type_bits[p->a] == 4 && kn_type_bits[p->b] == 4;
    bool round = s->bn > 256 && kn_tiles_of(p, s->bm, s->bn) <= kn_cus(p);
    bool brief = four && !round && !kn_schedules[g->schedule].asm_only &&
                 3 * p->k < 2 * (int64_t)s->bk;
    bool deep = !four && s->bk > 128 && (p->k <= s->bk || 2 * kn_mean_rows(p) <= s->bm);

    return kn_mx_scales(p) && kn_schedules[s->schedule].asm_only &&
           (brief || deep || (kn_class_is_odd(s->class) && p->k < 2 * (int64_t)s->bk &&
                              !(s->walks && g->cus)));
}

/* Groups whose last tiles, of some rows, are much of what they have, but for weights that a larger
 * tile widens fewer times; or several of more than two K tiles, of which one with most of K would
 * leave most compute units idle. */
static bool
few_tiles(const kiln_problem *p, const struct kn_score *s)
{
    char ragged = kn_family_of(p)->ragged;
    int64_t least = kn_widens_scaled(p) ? 1 : 4;

    return (ragged == 'k' && p->groups > 2 && p->k > SHORT_GROUPS * s->bk * p->groups &&
            2 * kn_tiles_of(p, s->bm, s->bn) < kn_cus(p) * (uint64_t)p->groups) ||
           (ragged == 'm' && p->m < least * s->bm * p->groups);
}

/* Rows so long (bytes) that the L2 does not keep the other half of their lines, in tiles that load
 * much of them for a product. */
static bool
long_rows(const kiln_problem *p, const struct kn_score *s)
{
    return kn_family_of(p)->ragged != 'k' && s->bm * s->bn < LARGEST &&
           p->k * kn_type_bits[p->a] / 8 > LONG_ROWS;
}

/* Operands that are widened as they are read, down K, where rows along K were measured:
 * large tiles of eight waves wait for that. */
static bool
widens_down(const kiln_problem *p, const struct kn_score *s, const struct kn_config *g)
{
    return s->layout != kn_score_layout(p) && s->bm * s->bn > 128 * 128 &&
           kn_elems[kn_shape_of(p, g).ta].bits > kn_type_bits[p->a];
}

/* Tiles of 256 K in one slot that 8-bit operands beside 6-bit ones, with which rows were
 * measured, leave no room for. */
static bool
wider_than_six(const kiln_problem *p, const struct kn_score *s)
{
    return s->class == KN_CLASS_UD66 && s->stages == 1 && s->bk == 256 &&
           s->bm * s->bn > LARGEST && (kn_type_bits[p->a] > 6 || kn_type_bits[p->b] > 6);
}

/* Slots of half a line of converted MX types: of less than a K tile, and of 32x32 tiles where
 * four shares of smaller ones have a compute unit each, which end sooner; from 64x64 on of four
 * K tiles, which one deeper is sooner than, and of many, which crowd. */
static bool
half_lines(const kiln_problem *p, const struct kn_score *s, const struct kn_config *g)
{
    uint32_t area = s->bm * s->bn, bits = kn_elems[kn_shape_of(p, g).ta].bits;
    int64_t turns = (p->k + s->bk - 1) / s->bk;

    return kn_multiplies_blocks(p) && s->bk * bits < 8 * LINE && s->stages > 1 &&
           ((area >= 64 * 64 && (p->k > HALVES * (int64_t)s->bk || turns == 4)) ||
            (area >= 32 * 32 && p->k < s->bk) ||
            (area == 32 * 32 && 4 * kn_tiles_of(p, 16, 16) <= kn_cus(p)));
}

/* Wide tiles of few rows, but beside an A that is quantised: of groups, whose rows differ, or of
 * which half is empty, or a K tile alone; and of weights of 8 bits, where rows were measured
 * with 4. */
static bool
wide_of_few(const kiln_problem *p, const struct kn_score *s)
{
    bool wide = s->bm <= 64 && 2 * s->bn >= 5 * s->bm &&
                (s->wm == 2 || (s->bm == 32 && s->bn > 128));
    bool eight = s->bm == 32 && s->wm * s->wn == 8;
    bool loads = kn_widens_scaled(p) && kn_type_bits[p->b] > 4;

    return (wide || eight) && kn_targets[p->target].scaled && s->layout == KILN_NT &&
           !kn_prequant(p) && s->schedule == KN_SCHED_SIMPLE && !kn_class_is_odd(s->class) &&
           (kn_family_of(p)->ragged || 2 * kn_mean_rows(p) <= s->bm || p->k <= s->bk || loads);
}

/* What scores say nothing of: mostly empty tiles; groups of a short K that are stored an element a
 * lane; a loop straight from memory where K is long; one slot of half a line of groups of few
 * tiles, or of long rows. */
bool
kn_score_unknown(const kiln_problem *p, const struct kn_score *s, const struct kn_config *g)
{
    return mostly_empty(p, s, g) || kn_other_rows_unknown(p, s) || widens_down(p, s, g) ||
           (kn_family_of(p)->ragged == 'k' && kn_stores_singly(p, g) &&
            p->k < 4 * (int64_t)g->bk * p->groups) ||
           (kn_schedules[s->schedule].reads == KN_READS_MEMORY &&
            p->k > SHORT * (int64_t)s->bk) ||
           loads_ahead(p, s, g) || wider_than_six(p, s) || wide_of_few(p, s) ||
           half_lines(p, s, g) ||
           (kn_converts_in_one_slot(p, s->stages, s->bk) &&
            (few_tiles(p, s) || long_rows(p, s)));
}

/* `4-wave` of 4-bit MX types whose K is two thirds of a K tile and less, in no more than two
 * rounds: their scales are loaded whole in front of the loop, which scores say too little of. */
bool
kn_waits_for_scales(const kiln_problem *p, const struct kn_config *g)
{
    return kn_class_of(p) == KN_CLASS_MX44 && !kn_family_of(p)->ragged &&
           kn_schedules[g->schedule].asm_only && 3 * p->k < 2 * (int64_t)g->bk &&
           kn_tiles_of(p, g->bm, g->bn) <= 2 * (uint64_t)kn_cus(p);
}

/* What is taken for its score in the place of a tile that has none: `4-wave` of a whole K tile
 * and more for a large one of another loop, of which a launch takes 0.58 to 1.08 of the time;
 * another loop for `4-wave` that waits for scales; any for the one wave that 16 rows by gate and
 * up have, which of groups of K is as good, and for few rows of which a wave has whole output
 * scales. */
bool
kn_beats_unscored(const kiln_problem *p, const struct kn_score *s, const struct kn_config *g)
{
    int64_t many = kn_family_of(p)->ragged == 'k' && p->groups ? p->groups : 1;
    bool four = kn_schedules[s->schedule].asm_only;

    if (kn_waits_for_scales(p, g))
        return !four;
    if ((kn_gated(p) && g->bm == 16 && !kn_scale_groups(p)) ||
        (kn_writes_scales(p) && g->bm <= 64))
        return true;
    return four && !kn_schedules[g->schedule].asm_only && p->k >= many * s->bk;
}

/* MX types of several products, of which walks are measured as those of one. */
bool
kn_scaled_batch(const kiln_problem *p)
{
    return kn_mx_scales(p) && kn_family_of(p)->batch && kn_targets[p->target].walks;
}

/* Groups of so few K tiles that what is between two tiles counts, and which of them is long does
 * not, though a walk has dealt its tiles before that is known (94 of wgrad drawn); of rows a K of
 * converted MX types that does not hide most of it without (up to 1.09 of the time). */
bool
kn_walk_pays(const kiln_problem *p, const struct kn_config *g)
{
    int64_t turns = kn_multiplies_blocks(p) ? BRIEF : SHORT;

    if (kn_family_of(p)->ragged == 'm' && kn_multiplies_blocks(p))
        return p->k <= 2 * SHORT * (int64_t)g->bk;
    return kn_family_of(p)->ragged != 'k' || p->k <= turns * g->bk * p->groups;
}
