/* skinny.c - up to 16 rows beside weights of 4 bits (templates/skinny.tir): which
 * products have it, and the columns and waves of a workgroup. */
#include "choose.h"
#include "../forms.h"
#include "../instantiate.h"

#include <math.h>

enum kind { INTEGERS, WORDS, AWQ, NVFP4, MXFP4, KINDS };

static enum kind
kind_of(const kiln_problem *p)
{
    return p->b == KILN_I4 ? !kn_in_words(p) ? INTEGERS : p->b_layout == KILN_B_AWQ ? AWQ : WORDS
         : p->b == KILN_NVFP4 ? NVFP4 : MXFP4;
}

bool
kn_skinny_types(const kiln_problem *p)
{
    return (p->a == KILN_BF16 || p->a == KILN_F16) &&
           (p->b == KILN_NVFP4 || (p->b == KILN_MXFP4 && p->a == KILN_BF16) ||
            (p->b == KILN_I4 && kn_scale_k(p) == 128)) &&
           (p->b == KILN_I4 || !p->scale_layout) &&
           (!p->b_layout || kn_in_words(p)) &&
           (!p->zero_points || kn_zero_bits(p) == 4);
}

/* K that a wave loads at once, the fewest and the most columns it has, and turns of its loop
 * that shares of K must save, for each is stored, counted and read: mxfp4 is widened fast. A
 * word of AWQ has columns, 128 of which are half a cache line of a row. */
static const struct shape {
    uint16_t step, columns, most, saved;
} shapes[KINDS] = {
    [INTEGERS] = { 256, 16, 64, 2 },
    [WORDS] = { 256, 16, 64, 2 },
    [AWQ] = { 128, 128, 128, 2 },
    [NVFP4] = { 256, 16, 64, 2 },
    [MXFP4] = { 256, 16, 64, 4 },
};

static const struct shape *
shape_of(const kiln_problem *p)
{
    return &shapes[kind_of(p)];
}

/* Rows in memory are of one K. */
static bool
has_rows_of_k(const kiln_problem *p)
{
    return kind_of(p) == AWQ;
}

uint32_t
kn_skinny_step(const kiln_problem *p)
{
    return shape_of(p)->step;
}

/* Columns of a tile, unless there are many. */
static uint32_t
columns(const kiln_problem *p)
{
    return shape_of(p)->columns;
}

/* Up to `rows`, from `least` to `most` columns a compute unit (0: any number), skinny takes
 * less than what else there is, by predicted times of 1,300 products drawn and listed
 * (docs/smallm.md). The first that has the rows counts. `deep`: K in thousands up to which it
 * does undivided with fewer tiles than a quarter of the compute units; `whole`: rows of words
 * are whole cache lines, rows of scales whole dwords, and K is no short one of AWQ, else it
 * does not. */
static const struct reach {
    uint8_t rows, least, most, deep, whole;
} reaches[][KINDS][3] = {
    { [INTEGERS] = { { 4, 0, 0, 4, 0 }, { 8, 0, 0, 2, 0 } },
      [WORDS] = { { 4, 0, 0, 4, 1 }, { 8, 0, 40, 2, 1 } },
      [AWQ] = { { 16, 112, 0, 0, 1 } },
      [NVFP4] = { { 4, 0, 0, 4, 1 }, { 8, 0, 40, 2, 1 } },
      [MXFP4] = { { 1, 14, 0, 4, 1 }, { 4, 2, 48, 4, 1 }, { 8, 1, 17, 2, 1 } } },
    { [INTEGERS] = { { 4, 0, 0, 4, 0 }, { 8, 0, 0, 2, 0 }, { 16, 80, 0, 0, 0 } },
      [WORDS] = { { 4, 0, 0, 4, 0 }, { 8, 0, 0, 2, 0 }, { 16, 80, 0, 0, 0 } },
      [AWQ] = { { 4, 26, 0, 0, 1 }, { 8, 46, 0, 0, 1 }, { 16, 80, 0, 0, 1 } },
      [NVFP4] = { { 4, 0, 0, 2, 0 }, { 8, 0, 0, 1, 0 }, { 16, 80, 0, 0, 0 } },
      [MXFP4] = { { 1, 255, 255, 0, 0 }, { 8, 1, 0, 1, 0 }, { 16, 80, 0, 0, 0 } } },
};

enum {
    FEW = 4,                 /* rows, whose loads of A are as nothing */
    MOST_ROWS = 16,
    MORE = 8,                /* rows, behind which only a long K pays */
    WIDE = 80, WIDE_OF_MORE = 32,             /* columns a compute unit */
    LINE_TILES = 2,          /* of 128 columns of AWQ, 16 of words, are a cache line of these */
    MOST_SHARES = 8, TILES_IN_TURNS = 7,
    ROOM = 1 << 16,          /* bytes of LDS, which eight waves of 16 rows by 128 columns pass */
    LEAST_OF_MANY = 64,
    LEAST_K = 512, SHORTEST_K = 1024, SHORT_K = 2048, MIDDLE_K = 4096, LONG_K = 6144
};

/* Of all products. */
static int64_t
tiles_of(const kiln_problem *p)
{
    return (p->n + columns(p) - 1) / columns(p) * kn_products(p);
}

static bool
is_wide(const kiln_problem *p)
{
    return p->n >= (p->m > FEW ? WIDE_OF_MORE : WIDE) * (int64_t)kn_cus(p);
}

/* Columns and waves of groups and batches: the first that has the tiles of 16 columns a
 * compute unit, the rows and K, 0: any (docs/smallm.md). Of words, 16 of which are half a
 * line, but of few tiles and a long K, and of a long K on gfx950 as of 16 rows. */
static const struct share {
    uint8_t tiles, rows;
    uint16_t k;
    uint8_t bn, wm, wn;
} shares[] = {
    { 1, 16, 2048, 16, 1, 4 }, { 1, 8, 0, 16, 1, 8 },      { 1, 16, 0, 16, 1, 4 },
    { 3, 4, 0, 16, 1, 4 },     { 3, 16, 3072, 16, 1, 2 },  { 3, 16, 0, 16, 1, 4 },
    { 14, 16, 256, 64, 4, 1 }, { 14, 4, 1024, 64, 4, 1 },  { 14, 16, 1024, 32, 1, 2 },
    { 0, 16, 256, 32, 1, 1 },  { 0, 4, 1024, 64, 4, 1 },   { 0, 16, 1024, 32, 1, 1 },
    { 14, 4, 3072, 16, 1, 2 }, { 14, 4, 0, 16, 1, 4 },     { 5, 16, 0, 16, 1, 2 },
    { 0, 16, 0, 32, 1, 2 },
};

static void
spread_many(const kiln_problem *p, struct kn_config *g)
{
    const struct share *s = shares;
    int64_t tiles = tiles_of(p), cus = kn_cus(p);
    bool long_k = kn_targets[p->target].scaled && tiles > 3 * cus && p->k > SHORTEST_K;
    bool words = kind_of(p) == WORDS && (tiles > cus || p->k < MIDDLE_K);
    uint32_t rows = words || long_k ? 16 : g->bm;

    while ((s->tiles && tiles > s->tiles * cus) || rows > s->rows ||
           (s->k && p->k > s->k))
        s++;
    g->wm = s->wm;
    g->wn = s->wn;
    if (!g->bn)
        g->bn = s->bn;
}

/* While tiles are no more than compute units, K has eight waves of one, else four; of many
 * columns a wave has 32, which share its rows of A. */
static void
spread(const kiln_problem *p, struct kn_config *g)
{
    bool room = has_rows_of_k(p) && kn_targets[p->target].lds > ROOM;
    bool alone = tiles_of(p) <= kn_cus(p) &&
                 (room || (g->bm <= MORE && (has_rows_of_k(p) || p->k > SHORTEST_K)));
    bool wide = !has_rows_of_k(p) && is_wide(p);

    if (kn_products(p) > 1 && !has_rows_of_k(p)) {
        spread_many(p, g);
        return;
    }
    g->wm = 1;
    g->wn = alone ? 8 : wide && p->k < SHORT_K ? 2 : 4;
    if (!g->bn)
        g->bn = wide && g->wn == 4 ? 32 : columns(p);
}

/* Shares of K: those that compute units without a tile have room for, if they save enough. */
static uint32_t
shares_of(const kiln_problem *p, const struct kn_config *g)
{
    int64_t tiles = (p->n + g->bn - 1) / g->bn, n = tiles ? kn_cus(p) / tiles : 1;
    int64_t turn = (int64_t)kn_skinny_step(p) * g->wn, turns = (p->k + turn - 1) / turn, each;

    n = n > MOST_SHARES ? MOST_SHARES : n > 1 ? n : 1;
    each = (turns + n - 1) / n;
    if (kn_products(p) > 1 || p->m > MORE || turns - each < shape_of(p)->saved)
        return 1;
    return (uint32_t)((turns + each - 1) / each);
}

/* Whether a few compute units have a workgroup more than the rest. */
static bool
is_uneven(const kiln_problem *p)
{
    struct kn_config g = { .bm = 2 };
    bool scaled = kn_targets[p->target].scaled;
    int64_t cus = kn_cus(p), workgroups;

    spread(p, &g);
    workgroups = (p->n + g.bn - 1) / g.bn;
    return workgroups > cus && 20 * workgroups < (scaled ? 30 : 27) * cus &&
           ((scaled && p->m > FEW) || (kind_of(p) != INTEGERS && p->k > LONG_K));
}

/* Whole cache lines of words, else whole dwords of scales, which a short K does without. */
static bool
is_whole(const kiln_problem *p)
{
    return kind_of(p) == WORDS ? p->n % 32 == 0
         : has_rows_of_k(p) ? p->n % columns(p) == 0 && p->k >= MIDDLE_K
         : p->k < MIDDLE_K || p->k / kn_scale_k(p) % 4 == 0;
}

/* As few tiles as leave compute units without one, or rows whose sums are not worth shares. */
static bool
is_too_deep(const kiln_problem *p, const struct reach *r)
{
    struct kn_config g = { .bm = 2 };
    int64_t tiles = tiles_of(p), cus = kn_cus(p), deep = 1024 * r->deep;

    if (has_rows_of_k(p))
        return false;
    spread(p, &g);
    return (p->m > MORE && p->k < LONG_K) ||
           (shares_of(p, &g) < 2 && ((4 * tiles < cus && p->k > deep) ||
                                     (2 * tiles < cus && p->k > 2 * deep)));
}

/* ---- prices of one product ---- */

struct form {
    uint32_t columns, waves, shares;
};

/* What price_of() adds up, in ns: what a launch takes; a turn of a wave that waits for its loads;
 * of a turn each row and column; a sum of a wave; shares of K, and 256 sums of each of them; how
 * much of a workgroup that only some units have a round takes; what 16 rows take more. Fitted to
 * 4,500 launches of 800 products of 1 to 16 rows, with errors of 8 %, and to 840 of words with
 * 7 and 9 (docs/smallm.md). */
static const struct price {
    double launch, turn, row, column, sum, shared, share, whole, tall;
} prices[][KINDS] = {
    { [INTEGERS] = { 3530, 358, 16.9, 26.1, 0.30, 1212, 127, 0.80, 1 },
      [WORDS] = { 3906, 367, 21.3, 19.0, 0.27, 1366, 117, 0.90, 1.06 },
      [AWQ] = { 3868, 2119, 3.8, 11.3, 0.07, 1187, 107, 1.00, 1 },
      [NVFP4] = { 3427, 0, 24.8, 21.9, 0.22, 1502, 60, 0.87, 1 },
      [MXFP4] = { 3354, 220, 21.2, 17.2, 0.16, 1400, 171, 0.90, 1 } },
    { [INTEGERS] = { 3903, 301, 23.5, 25.3, 0.56, 1501, 55, 0.73, 1 },
      [WORDS] = { 4055, 441, 23.7, 21.0, 0.60, 1634, 135, 1.00, 1.06 },
      [AWQ] = { 4867, 2035, 16.9, 11.6, 0.00, 1582, 124, 1.00, 1 },
      [NVFP4] = { 3684, 340, 13.3, 39.5, 1.06, 1445, 150, 0.79, 1 },
      [MXFP4] = { 3749, 612, 24.4, 31.5, 0.57, 1538, 105, 0.84, 1 } },
};

/* What another form, and skinny in place of what has the best score, takes at most. */
#define LESS 0.92
#define LESS_THAN_SCORED 0.94
#define LESS_OF_MANY 0.83

static const double weights_a_ns[] = { 11900, 8800 }; /* hbm_read, of 4.3 bits */

/* Of what B takes to come, turns that wait and turns that multiply the longest, and parts of the
 * others. */
static double
price_of(const kiln_problem *p, uint32_t rows, const struct form *f)
{
    bool fnuz = kn_targets[p->target].fnuz;
    const struct price *by = &prices[fnuz][kind_of(p)];
    double tiles = ceil((double)p->n / f->columns) * f->shares;
    double turns = ceil((double)p->k / ((double)kn_skinny_step(p) * f->waves * f->shares));
    double many = fmax(1, tiles / kn_cus(p));
    double units = by->whole * ceil(many) + (1 - by->whole) * many;
    double comes = (double)(p->n * p->k) / weights_a_ns[fnuz];
    double waits = turns * by->turn * fmax(1, many * f->waves / 4);
    double works = turns * (by->row * rows + by->column * f->columns) *
                   fmax(1, units * f->waves / 4);
    double sums = (double)f->columns * rows;
    double longest = fmax(comes, fmax(waits, works)), least = fmin(comes, fmin(waits, works));

    double ns = by->launch + by->sum * sums * many * f->waves +
                longest + 0.3 * (comes + waits + works - longest - least) + 0.1 * least;

    if (f->shares > 1)
        ns += by->shared + by->share * f->shares * sums / 256;
    return rows > MORE ? ns * by->tall : ns;
}

/* Shares of K have a turn each, and more of them than two of a compute unit are none. */
static bool
may_have(const kiln_problem *p, uint32_t rows, const struct form *f)
{
    int64_t turn = (int64_t)kn_skinny_step(p) * f->waves;
    int64_t tiles = (p->n + f->columns - 1) / f->columns;
    bool room = kn_targets[p->target].lds > ROOM || rows <= MORE || f->waves <= 4;

    return (has_rows_of_k(p) ? room && f->columns == columns(p) : f->columns <= 2 * columns(p)) &&
           (f->shares == 1 || (p->k >= turn * f->shares && tiles * f->shares <= 2 * kn_cus(p)));
}

/* Other columns, waves and shares of K, where they take less by more than prices err. */
static void
take_cheaper(const kiln_problem *p, struct kn_config *g)
{
    static const uint8_t waves[] = { 8, 4, 2 }, parts[] = { 1, 2, 3, 4, 6, 8 };
    struct form best = { g->bn, g->wn, g->split_k };
    double least = price_of(p, g->bm, &best) * LESS;

    for (uint32_t i = 0; i < 2 * sizeof waves * sizeof parts; i++) {
        struct form f = { columns(p) << i % 2, waves[i / 2 % sizeof waves],
                          parts[i / 2 / sizeof waves] };
        double ns = price_of(p, g->bm, &f);

        if (may_have(p, g->bm, &f) && ns < least) {
            best = f;
            least = ns;
        }
    }
    g->wn = best.waves;
    g->bn = best.columns;
    g->split_k = best.shares;
}

/* ---- prices of several products ---- */

/* As of one product; `tile`: ns of each workgroup of a compute unit besides; `rate`: bytes of 4.3
 * bits an element that a ns brings; `rest`: how much of what is not the longest does not hide
 * behind it. Fitted to 671 launches of 1 to 16 rows, with errors of 5 to 10 % (docs/smallm.md). */
static const struct price_of_many {
    double launch, turn, row, column, sum, tile, rate, rest, whole;
} prices_of_many[][KINDS] = {
    { [INTEGERS] = { 3772, 567, 35.7, 29.3, 0.00, 21, 8.7, 0.00, 0.49 },
      [WORDS] = { 3943, 424, 23.5, 18.6, 0.26, 112, 10.9, 0.10, 0.86 },
      [AWQ] = { 3552, 0, 19.2, 11.7, 0.03, 728, 11.9, 0.34, 0.65 },
      [NVFP4] = { 3824, 221, 20.4, 19.5, 0.37, 32, 12.0, 0.29, 0.56 },
      [MXFP4] = { 3645, 0, 22.9, 22.9, 0.09, 0, 11.9, 0.14, 0.42 } },
    { [INTEGERS] = { 3565, 0, 31.0, 28.0, 0.83, 53, 8.3, 0.40, 0.52 },
      [WORDS] = { 3880, 0, 43.4, 26.4, 0.78, 72, 9.7, 0.30, 0.70 },
      [AWQ] = { 3174, 1736, 96.2, 6.9, 0.16, 708, 7.6, 0.25, 0.99 },
      [NVFP4] = { 3582, 933, 36.2, 42.4, 1.34, 0, 7.0, 0.04, 0.70 },
      [MXFP4] = { 3727, 77, 21.1, 38.9, 1.36, 0, 7.3, 0.18, 0.31 } },
};

static int64_t
workgroups_of(const kiln_problem *p, const struct kn_config *g)
{
    return (p->n + g->bn - 1) / g->bn * kn_products(p);
}

static double
price_of_many(const kiln_problem *p, const struct kn_config *g)
{
    const struct price_of_many *by = &prices_of_many[kn_targets[p->target].fnuz][kind_of(p)];
    double waves = g->wm * g->wn, columns = (double)g->bn / g->wm;
    double turns = ceil((double)p->k / ((double)kn_skinny_step(p) * g->wn));
    double many = (double)workgroups_of(p, g) / kn_cus(p), most = fmax(1, many);
    double units = by->whole * ceil(most) + (1 - by->whole) * most;
    double comes = (double)(p->n * p->k * kn_products(p)) / (1e3 * by->rate);
    double waits = turns * by->turn * fmax(1, many * waves / 4);
    double works = turns * (by->row * g->bm + by->column * columns) * fmax(1, units * waves / 4);
    double longest = fmax(comes, fmax(waits, works));

    return by->launch + units * (by->tile + by->sum * columns * g->bm * waves) +
           longest + by->rest * (comes + waits + works - longest);
}

/* Scores say up to twice too much of a K tile alone that K fills, and of many tiles beside more
 * rows than eight, groups some of which have more than the tile, and more than four of several
 * turns or, on gfx950, of whole K tiles. */
static bool
may_replace_tile(const kiln_problem *p, const struct kn_config *g, const struct kn_config *skinny)
{
    bool more = kn_family_of(p)->ragged && 5 * kn_mean_rows(p) > 3 * (int64_t)skinny->bm;
    bool whole = kn_targets[p->target].scaled && p->k % g->bk == 0;
    bool turns = skinny->bm > FEW && (whole || p->k > kn_skinny_step(p));
    int64_t each = workgroups_of(p, skinny) / kn_cus(p); /* compute unit */

    return g->schedule != KN_SCHED_SKINNY && p->k > LEAST_OF_MANY && p->k != g->bk &&
           (each < 2 || (skinny->bm <= MORE && !more && (each < 8 || !turns)));
}

/* Up to `rows` of a group or of a batch's product skinny takes less than what else there is,
 * by predicted times of 1,200 drawn (docs/smallm.md): from K `least` on, from `from` tiles of
 * 16 columns a compute unit on, of up to `tiles` of them, and of more up to K `brief`. */
enum { ANY_K = 0xffff };

static const struct reach_of_many {
    uint8_t rows, from, tiles;
    uint16_t least, brief;
} reaches_of_many[][KINDS][3] = {
    { [INTEGERS] = { { 4, 0, 3, 512, 4096 }, { 8, 0, 3, 1024, 4096 }, { 16, 5, 0, 1536, 3072 } },
      [WORDS] = { { 4, 0, 10, 256, 3072 }, { 8, 0, 10, 256, 0 }, { 16, 0, 2, 256, 0 } },
      [AWQ] = { { 8, 8, 0, 1536, ANY_K }, { 16, 8, 0, 3072, ANY_K } },
      [NVFP4] = { { 8, 0, 3, 512, 0 } },
      [MXFP4] = { { 4, 0, 3, 512, 1536 }, { 8, 0, 3, 512, 1024 } } },
    { [INTEGERS] = { { 8, 0, 0, 512, ANY_K }, { 16, 5, 0, 1152, ANY_K } },
      [WORDS] = { { 8, 0, 0, 256, ANY_K }, { 16, 0, 2, 256, 0 } },
      [AWQ] = { { 8, 3, 0, 640, ANY_K }, { 16, 6, 0, 2048, ANY_K } },
      [NVFP4] = { { 8, 0, 0, 1088, ANY_K } },
      [MXFP4] = { { 8, 0, 0, 576, ANY_K }, { 16, 5, 0, 3072, ANY_K } } },
};

/* Weights whose codes and scales of several K tiles others have in LDS (scale_turns.c): of
 * many rows, and of many tiles where their rows are whole lines, which takes less. */
static bool
loses_to_turns(const kiln_problem *p)
{
    bool serves = kind_of(p) == INTEGERS && !p->zero_points && !p->scale_layout;
    bool lines = p->k % 256 == 0 && p->k >= SHORTEST_K;

    return serves && (kn_mean_rows(p) > MORE ||
                      (lines && tiles_of(p) > TILES_IN_TURNS * (int64_t)kn_cus(p)));
}

/* Where scales of nvfp4 end inside 256 K others load them for each K tile by itself. */
static bool
wins_of_many(const kiln_problem *p)
{
    const struct reach_of_many *r = reaches_of_many[kn_targets[p->target].fnuz][kind_of(p)];
    int64_t rows = kn_mean_rows(p), tiles = tiles_of(p) * columns(p) / 16, cus = kn_cus(p);
    bool ends = kind_of(p) == NVFP4 && p->k > SHORTEST_K && p->k % 256;
    bool words = kind_of(p) == WORDS && rows <= MORE; /* eight waves, then */
    int64_t deep = words ? LONG_K : MIDDLE_K, lone = words ? MIDDLE_K : SHORT_K;

    for (int i = 0; i < 2 && rows > r->rows; i++)
        r++;
    if (rows < 1 || rows > r->rows || p->k < r->least ||
        tiles < r->from * cus || (2 * tiles <= cus && p->k >= deep) ||
        (16 * tiles < cus && p->k > lone) || loses_to_turns(p))
        return false;
    return ends || tiles <= r->tiles * cus || p->k <= r->brief;
}

bool
kn_skinny_wins(const kiln_problem *p)
{
    const struct reach *r = reaches[kn_targets[p->target].fnuz][kind_of(p)];
    int64_t cus = kn_cus(p);
    int i = 0;

    if (kn_products(p) > 1)
        return wins_of_many(p);
    if (p->k < LEAST_K || p->m < 1)
        return false;
    while (i < 2 && p->m > r[i].rows)
        i++;
    return p->m <= r[i].rows && p->n >= r[i].least * cus &&
           (!r[i].most || p->n < r[i].most * cus) && !is_too_deep(p, &r[i]) &&
           !is_uneven(p) && (!r[i].whole || is_whole(p));
}

static bool
is_tile(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t waves = g->wm * g->wn;

    return kn_power_to(g->bm, 16) && g->bm > 1 && kn_power_to(waves, 16) &&
           kn_power_to(g->wm, 16) && g->bn % (columns(p) * g->wm) == 0 &&
           kn_power_to(g->bn / g->wm, waves > 8 ? 16 : shape_of(p)->most);
}

/* Groups may have more rows than their average; few of them are cheap to have room for. */
static uint32_t
rows_of_tile(const kiln_problem *p)
{
    int64_t rows = kn_mean_rows(p);
    uint32_t bm = 2;

    if (kn_family_of(p)->ragged && rows <= FEW)
        rows += (rows + 1) / 2;
    while (bm < rows && bm < 16)
        bm *= 2;
    return bm;
}

/* Tiles of 16 columns of words: the other half of their lines is the next one's, which the same
 * chiplet has then. */
static bool
halves_lines(const kiln_problem *p, const struct kn_config *g)
{
    return kind_of(p) == WORDS && kn_one_product(p) && g->bn == 16;
}

const char *
kn_skinny_choose(const kiln_problem *p, struct kn_config *g)
{
    struct kn_domain d = kn_domain_of(p, 256, 0);
    bool open = !g->wm && !g->bn && !g->split_k && p->n && p->k;

    g->schedule = KN_SCHED_SKINNY;
    if (!g->bm)
        g->bm = rows_of_tile(p);
    if (!g->wm)
        spread(p, g);
    if (!g->bn)
        g->bn = columns(p) * g->wm;
    g->bk = 256;
    g->stages = 2;
    if (!g->split_k)
        g->split_k = shares_of(p, g);
    if (open && kn_one_product(p))
        take_cheaper(p, g);
    if (!g->xcd && (has_rows_of_k(p) || halves_lines(p, g))) {
        g->xcd = kn_xcds(p);
        g->xcd_run = LINE_TILES;
    }
    g->domain = (struct kn_domain){ d.align_a, d.align_b, d.align_sa, d.align_sb, 1, 1, 0, 0 };
    return is_tile(p, g) ? kn_form_lacks(p, g)
         : "has tiles of 2 to 16 rows by 16, 32 or 64 columns a wave, with 1 to 8 waves, or 16 of "
           "16; of AWQ's words by 128, with 1 to 8";
}

/* Whether it costs less than the tile whose score is known. */
static bool
costs_less(const kiln_problem *p, const struct kn_config *g, const struct kn_config *skinny)
{
    struct form f = { skinny->bn, skinny->wn, skinny->split_k };
    double scored = 1e3 * kn_score_known(p, g);

    return kn_one_product(p)
               ? price_of(p, skinny->bm, &f) < scored * LESS_THAN_SCORED
               : may_replace_tile(p, g, skinny) &&
                     price_of_many(p, skinny) < scored * LESS_OF_MANY;
}

bool
kn_prefer_skinny(const kiln_problem *p, const struct kn_config *asked, struct kn_config *g,
                 struct kn_buf *why)
{
    bool open = kn_form_open(asked) && asked->split_k < 2 && !asked->schedule &&
                !asked->domain.align_a;
    int64_t rows = kn_mean_rows(p), least_k = kn_one_product(p) ? LEAST_K : 1;
    struct kn_config skinny = *asked;

    if (!open || kn_family_of(p)->routed || !kn_skinny_types(p) || p->k < least_k || rows < 1 ||
        rows > MOST_ROWS || p->n < 1 || kn_skinny_choose(p, &skinny) ||
        !costs_less(p, g, &skinny))
        return false;
    *g = skinny;
    kn_skinny_explain(g, why);
    return true;
}

void
kn_skinny_explain(const struct kn_config *g, struct kn_buf *why)
{
    if (why)
        kn_putf(why, "few rows beside weights of 4 bits: %u columns a wave, K of %u waves\n",
                g->bn / g->wm, g->wn);
}
