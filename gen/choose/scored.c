/* scored.c - the tile that the rules chose against the rows of scores.def with
 * every share of K: another is taken where its score is better by more than
 * scores err (docs/choosing.md). */
#include "choose.h"

#include <math.h>

#include "../forms.h"
#include "../instantiate.h"
#include "../panels.h"

enum { LARGEST = 192 * 256 };

/* Scores are of sizes that are known, and choose where nothing of a form was asked
 * for; of few rows by a B of 6 bits, whose rows are of another type, the rules do. */
static bool
may_score(const kiln_problem *p, const struct kn_config *given)
{
    return kn_form_open(given) && !given->schedule && !given->lowering &&
           given->store != KN_STORE_LDS && !kn_family_of(p)->routed && p->m &&
           p->n && p->k &&
           !(kn_few_widened(p) && kn_type_bits[p->b] == 6);
}

/* Of types that are multiplied as they lie walks are of many stores: of products with half a
 * tile's rows, and K with more than half a K tile or of the shallowest (rows of 64 bytes), in
 * `4-wave` a whole one. */
static bool
hides_stores(const kiln_problem *p, const struct kn_score *s, const struct kn_config *g)
{
    bool four = kn_schedules[s->schedule].asm_only;
    bool fills = four ? p->k >= g->bk : 2 * p->k > g->bk || g->bk * kn_type_bits[p->a] <= 512;

    return kn_multiplies_blocks(p) || (fills && 2 * kn_mean_rows(p) >= g->bm);
}

/* Each workgroup has several tiles. Of stores of an element a lane, beside another workgroup's,
 * some launches have no prediction: 128x192 tiles of 16219 x 6238 of mxfp4. */
static bool
may_walk(const kiln_problem *p, const struct kn_score *s, const struct kn_config *g)
{
    bool room = g->domain.ktail || !kn_scaled_batch(p); /* scalar registers */

    return (kn_walks(p) && room && !kn_deals_unevenly(p, g)) ||
           (kn_walks_stored(p) && kn_walk_pays(p, g) && g->split_k < 2 &&
            kn_tiles_of(p, g->bm, g->bn) > g->cus && hides_stores(p, s, g) &&
            (s->residents < 2 || !kn_stores_singly(p, g)));
}

/* The row as a kernel for p, if it is one, by lines of more than two K tiles, of whole ones
 * and a half. Where LDS is not filled directly the slots are others. */
static bool
take_score(const kiln_problem *p, const struct kn_score *s, struct kn_config *g)
{
    bool asm_only = kn_schedules[s->schedule].asm_only, lines = s->lines;
    bool straight = kn_schedules[s->schedule].reads == KN_READS_MEMORY;

    g->bm = s->bm;
    g->bn = s->bn;
    g->bk = s->bk;
    g->wm = s->wm;
    g->wn = s->wn;
    g->schedule = straight ? kn_form_straight(p, g->bk) : s->schedule;
    kn_quantising_waves(p, g);
    if (g->wm * g->wn != s->wm * s->wn)
        return false;
    if (!g->domain.align_a)
        g->domain = kn_domain_of(p, 256, g->bk);
    else if (p->k % g->bk && !g->domain.ktail)
        return false;
    g->stages = kn_direct(p, g) || asm_only || s->stages == 1 || lines ? s->stages : 0;
    g->copies = lines && !g->copies ? KN_COPIES_LINES : g->copies;
    if (!asm_only && !straight && !lines)
        g->stages = kn_one_slot(p, g) ? 1 : kn_filled_stages(p, g, g->stages);
    g->cus = s->walks ? kn_cus(p) * s->residents : 0;
    g->lowering = asm_only ? KN_LOWERING_ASM : g->lowering;
    if (lines && p->layout != KILN_NT && !kn_straddles(p, g))
        return false;
    return kn_shareable(g) && (!asm_only || g->split_k < 2 || kn_widens_scaled(p)) &&
           (!g->cus || may_walk(p, s, g)) &&
           2 * p->k > (!lines ? 0 : kn_line_ring(p, g) ? 4 : 5) * (int64_t)g->bk &&
           (!kn_shuffled(p) || (g->bm % 32 == 0 && g->bn % 32 == 0));
}

/* Whether it is one, which takes longer to say than its score. `4-wave` was
 * measured with 6-bit types that are copied by whole lines. */
static bool
is_kernel(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    bool six = !kn_widens_scaled(p) &&
               (kn_type_bits[p->a] == 6 || kn_type_bits[p->b] == 6);

    return !kn_bk_lacks(c, p, g) &&
           (!six || !kn_schedules[g->schedule].asm_only || kn_shuffled(p) ||
            g->bk == 256 || kn_4wave_packed(p, g)) &&
           kn_has_registers(c, p, g) &&
           kn_tile_fit(c, p, g) && !kn_form_lacks(p, g);
}

/* Whether it has the slots that the row was measured with: rows at any byte have rows
 * of two for a K that has no three K tiles (fit.c), whose clocks are of another loop. */
static bool
as_measured(const struct kn_score *s, const struct kn_config *g)
{
    return !kn_class_is_odd(s->class) || s->stages == g->stages || g->stages < 2 ||
           g->copies == KN_COPIES_LINES;
}

/* `4-wave` adds shares up later than eight waves, but where each of them has its slice. */
static bool
adds_up_soon(const kiln_problem *p, const struct kn_config *g, uint32_t n)
{
    struct kn_config shared = *g;

    shared.split_k = (uint8_t)n;
    return !kn_schedules[g->schedule].asm_only || kn_widens_scaled(p) ||
           kn_joins_slices(p, &shared);
}

/* Shares of K that are worth a try: some K tiles each. Ragged groups have up to a row
 * of tiles more each, and their counters too. */
static bool
may_share(const kiln_problem *p, const struct kn_config *g, uint32_t n)
{
    char ragged = kn_family_of(p)->ragged;
    uint64_t many = kn_tiles_of(p, g->bm, g->bn), most = many;
    int64_t k = ragged == 'k' ? p->k / p->groups : p->k;

    if (ragged == 'm')
        most += ((uint64_t)p->groups + 1) * ((kn_b_columns(p) + g->bn - 1) / g->bn);
    return n < 2 || (adds_up_soon(p, g, n) &&
                     (g->bm * g->bn < LARGEST || !kn_converts_in_one_slot(p, g->stages, g->bk)) &&
                     k >= 2 * (int64_t)n * g->bk && k >= (int64_t)n * kn_share_k(p, g) &&
                     many * n <= 4 * kn_cus(p) &&
                     most * g->wm * g->wn <= KN_COUNTERS);
}

struct best {
    const struct kn_config *from; /* the choice so far */
    struct kn_config g;
    double us;               /* of that choice */
    double uneven_us[2];     /* the same where groups differ */
    double rank;             /* 0: not better than that by the lead it takes */
};

static const double unknown_us = 1e12;

/* Whether rows of groups are known on the device alone. */
static bool
differ(const kiln_problem *p)
{
    return kn_family_of(p)->ragged == 'm' && p->groups > 1;
}

/* What others are compared with: of a tile that was not measured no time is short. */
static struct best
best_of(const kiln_problem *p, const struct kn_score *row,
        const struct kn_config *from, double rank)
{
    struct best b = { .from = from, .rank = rank, .us = unknown_us,
                      .uneven_us = { unknown_us, unknown_us } };

    if (!row)
        return b;
    b.us = kn_score_of(p, from, row);
    for (int i = 0; differ(p) && i < 2; i++)
        b.uneven_us[i] = kn_score_uneven(p, from, row, i);
    return b;
}

/* Whether lines are copied by parts in the place of whole: of the same tile no gain, of a walk
 * one that scores say. */
static bool
leaves_lines(const struct kn_config *from, const struct kn_config *g)
{
    return from->copies == KN_COPIES_LINES && g->copies != KN_COPIES_LINES;
}

/* The same for the same tile, whose loops wait for the same lines: as if rows began
 * at lines, so that what is around the loops counts. */
static double
of_lines(const kiln_problem *p, const struct kn_score *s,
         const struct kn_config *g, const struct best *b)
{
    kiln_problem even = *p;

    even.lda = even.ldb = 0;
    return kn_score_known(&even, b->from) / kn_score_of(&even, g, s);
}

/* How many times shorter than the rules' choice; of groups, whose rows are not known, between that
 * of equal ones and of ones that differ. */
static double
gain(const kiln_problem *p, const struct kn_score *s, const struct kn_config *g,
     const struct best *b)
{
    double even = b->us / kn_score_of(p, g, s), uneven = 1;
    struct kn_config from = *b->from;

    if (g->split_k > 1 && kn_shares_rows(p, &from)) { /* shares have other waves */
        from.wm = g->wm;
        from.wn = g->wn;
    }
    if (kn_same_tile(g, &from) && !g->split_after && !(g->cus && leaves_lines(&from, g)))
        return leaves_lines(&from, g) ? 0 : of_lines(p, s, g, b);
    if (!differ(p))
        return even;
    for (int i = 0; i < 2; i++)
        uneven *= b->uneven_us[i] / kn_score_uneven(p, g, s, i);
    return sqrt(even * sqrt(uneven));
}

/* Five and seven shares must be better than others, of MX types that are converted and seven
 * more: by less they took up to 1.12 times as long (190 launches that they changed). */
static double
odd_shares(const kiln_problem *p, const struct kn_config *g)
{
    if (g->split_k != 5 && g->split_k != 7)
        return 1;
    return g->split_k == 7 || kn_multiplies_blocks(p) ? 1.08 : 1.045;
}

/* The shares of K of try that beat the best so far, or none. */
static bool
is_ahead(const kiln_problem *p, const struct kn_score *s, struct kn_config *try,
         struct best *b)
{
    static const uint8_t shares[] = { 1, 2, 3, 4, 5, 6, 7, 8, 12, 16 };
    struct kn_config one = *try;
    bool open = !try->split_k, found = false;

    for (size_t i = 0; i < (open ? sizeof shares : 1); i++) {
        double lead, by, slack;

        if (open)
            one.split_k = shares[i];
        if (open && shares[i] == 2)
            kn_quantising_waves(p, &one); /* those of shares have whole scales */
        if (one.wm * one.wn != s->wm * s->wn)
            break;
        if ((open && !may_share(p, &one, shares[i])) || kn_form_lacks(p, &one))
            break;
        lead = kn_lead_for(p, s, b->from, &one);
        by = gain(p, s, &one, b) / kn_better_by(p, b->from, &one) / kn_lines_lead(p, &one) /
             odd_shares(p, &one) / kn_turned_lead(p, s, &one);
        slack = p->k < 4 * (int64_t)one.bk ? 1.04 : lead;
        if (by > lead && by / sqrt(slack) > b->rank) {
            b->rank = by / sqrt(slack);
            *try = one;
            found = true;
        }
    }
    return found;
}

static void
compare(struct kn_ctx *c, const kiln_problem *p, const struct kn_score *s,
        struct kn_config try, struct best *b)
{
    struct best next = *b;

    if (is_ahead(p, s, &try, &next) && is_kernel(c, p, &try) && as_measured(s, &try)) {
        next.g = try;
        *b = next;
    }
}

/* By lines, if the class has no rows for that, of a walk its tile alone; and as it is. */
static void
compare_copies(struct kn_ctx *c, const kiln_problem *p, const struct kn_score *s,
               const struct kn_config *tries[2], struct best *b)
{
    struct kn_config lines = *tries[1];

    if (!lines.copies && !kn_scored_by_lines(p) && (!kn_dequant(p) || kn_widens_soon(p)) &&
        kn_prefer_lines(c, p, tries[0], &lines)) {
        const struct kn_score *row = s->walks ? kn_score_row(p, &lines) : s;

        if (row)
            compare(c, p, row, lines, b);
    }
    compare(c, p, s, *tries[1], b);
}

/* ---- the last round ---- */

/* What the score of a launch whose last round is divided must be better by,
 * `4-wave` against `4-wave`, of the same tile or a walk whose tiles differ in K,
 * which it does not even out; and of another (docs/families.md, The last round). */
static const double least_lead = 1.025, other_tile_lead = 1.04;

/* Shares of tiles of groups, of which a last round may have any number. */
enum { SHARES_OF_ANY = 4, TURNS_OF_SHARE = 12 };

static double
lead_of_last(const kiln_problem *p, const struct kn_config *from,
             const struct kn_config *g)
{
    bool uneven = from->cus && kn_family_of(p)->ragged == 'k' && p->groups > 1;

    if (kn_widens_scaled(p)) /* of eight waves, too, and rows that begin at no 16 bytes */
        return kn_class_is_odd(kn_class_of(p)) ? fmax(kn_better_by(p, from, g), least_lead) : 1.01;
    return uneven || kn_same_tile(g, from) ? least_lead : other_tile_lead;
}

/* Whether n shares of the last round's tiles are worth a try: of some K tiles
 * each, and no more than two rounds of them. */
static bool
may_divide(const kiln_problem *p, const struct kn_config *g, uint32_t n)
{
    double rows = differ(p) ? kn_uneven_rows(p, g, true) * (double)p->groups : 0;
    uint64_t columns = (uint64_t)((kn_b_columns(p) + g->bn - 1) / g->bn), round = g->split_after;
    uint64_t tiles = differ(p) ? (uint64_t)rows * columns : kn_tiles_of(p, g->bm, g->bn);
    int64_t k = kn_family_of(p)->ragged == 'k' ? p->k / p->groups : p->k;

    return tiles > round && n <= KN_SPLIT_MOST &&
           k >= TURNS_OF_SHARE * (int64_t)n * g->bk &&
           (differ(p) ? n <= SHARES_OF_ANY
                      : tiles % round && n * (tiles % round) <= 2 * round);
}

/* Tiles behind the last whole round of one row's kernel, in shares. */
static void
divide_last(struct kn_ctx *c, const kiln_problem *p, const struct kn_score *s,
            struct kn_config try, struct best *b)
{
    if (s->walks || kn_other_rows_unknown(p, s) || !take_score(p, s, &try) ||
        !kn_form_divides(p, &try) ||
        (!kn_schedules[s->schedule].asm_only && kn_score_unknown(p, s, b->from)))
        return;
    try.split_after = kn_cus(p) * s->residents;
    for (try.split_k = 2; may_divide(p, &try, try.split_k); try.split_k++) {
        double lead = gain(p, s, &try, b) / lead_of_last(p, b->from, &try);

        if (!kn_schedules[s->schedule].asm_only)
            lead /= kn_better_by(p, b->from, &try);

        if (lead > b->rank && is_kernel(c, p, &try)) {
            b->rank = lead;
            b->g = try;
        }
    }
}

/* Whether the tiles of g's last round, or of another tile's, are better divided. */
static bool
prefer_divided(struct kn_ctx *c, const kiln_problem *p,
               const struct kn_config *given, struct kn_config *g)
{
    const struct kn_score *s = NULL, *row = kn_score_row(p, g);
    size_t n = kn_scores_of(p, &s);
    const struct kn_config from = *g;
    struct best b;

    if (!row || given->split_k || given->cus || !kn_form_divides(p, g))
        return false;
    b = best_of(p, row, &from, 1);
    for (; n--; s++)
        divide_last(c, p, s, *given, &b);
    if (b.rank > 1)
        *g = b.g;
    return b.rank > 1;
}

static void
compare_rows(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *given,
             bool beside, struct best *b)
{
    const struct kn_score *s = NULL;
    size_t n = beside ? kn_scores_beside(p, &s) : kn_scores_of(p, &s);

    for (; n--; s++) {
        struct kn_config try = *given;

        if ((b->us < unknown_us || kn_beats_unscored(p, s, b->from)) &&
            !kn_score_unknown(p, s, b->from) && take_score(p, s, &try))
            compare_copies(c, p, s, (const struct kn_config *[]){ given, &try }, b);
    }
}

/* The rules' own tile with as many slots as its score knows: groups and batches, and few rows of
 * 128-blocks, have fewer by rules. Not wgrad but of MX types (up to 1.09 of the time). */
static bool
takes_slots(struct kn_ctx *c, const kiln_problem *p, const struct kn_score *row,
            const struct kn_config *given, struct kn_config *g)
{
    struct kn_config try = *given;

    if (!row || row->walks || row->stages <= g->stages || g->stages < 2 || g->split_k > 1 ||
        (kn_family_of(p)->ragged == 'k' && !kn_mx_scales(p)) || !kn_direct(p, g) ||
        !take_score(p, row, &try) || !kn_same_tile(&try, g) || try.stages <= g->stages)
        return false;
    try.split_k = g->split_k;
    if (kn_score_known(p, &try) > kn_score_known(p, g) || !is_kernel(c, p, &try))
        return false;
    *g = try;
    return true;
}

bool
kn_prefer_scored(struct kn_ctx *c, const kiln_problem *p,
                 const struct kn_config *given, struct kn_config *g)
{
    const struct kn_score *s = NULL, *row;
    const struct kn_config from = *g;
    size_t n = kn_scores_of(p, &s);
    struct best b;
    bool found;

    if (!may_score(p, given))
        return false;
    row = kn_waits_for_scales(p, g) ? NULL : kn_score_row(p, g);
    if (!n || (!row && s->layout != kn_score_layout(p)))
        return false;
    b = best_of(p, row, &from, 0);
    compare_rows(c, p, given, false, &b);
    compare_rows(c, p, given, true, &b);
    found = b.rank > 0;
    if (found)
        *g = b.g;
    else
        found = takes_slots(c, p, row, given, g);
    return prefer_divided(c, p, given, g) || found;
}
