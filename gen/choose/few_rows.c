/* few_rows.c - what is chosen for few rows (docs/smallm.md): runs of whole
 * rows without matrix instructions, or small tiles and a divided K. */
#include "choose.h"

#include <math.h>

#include "../forms.h"
#include "../instantiate.h"
#include "../panels.h"

/* Columns of a workgroup, waves for columns and for K, by rows, for many
 * columns and for few: the best by predicted time (docs/smallm.md). No bn:
 * matrix instructions are faster, of any number of columns. */
struct form {
    uint8_t bn, wm, wn;
};

enum { FORM_ROWS = 4 };      /* 1, 2, 4, 8 */

static const struct forms {
    struct form wide[FORM_ROWS], narrow[FORM_ROWS];
    uint16_t many[FORM_ROWS];  /* columns, by rows */
    bool deep;               /* a long K of few is four waves', of up to 4 columns */
    struct {
        uint8_t rows, quarters[2], columns; /* rows: up to so many */
        uint16_t deep;       /* twice as many of eight from such a K on; 0: never */
    } spread;                /* spread_form() */
    struct price {
        uint8_t least, rows; /* from so many on, up to so many */
        double round, row, column, product, join, whole;
        uint16_t columns[3]; /* up to so many, of up to two rows, four and more; 0: any */
    } price;                 /* priced_form() */
} halves = { { { 8, 4, 1 }, { 4, 2, 2 }, { 8, 2, 2 } },
             { { 4, 4, 1 }, { 4, 4, 1 }, { 2, 2, 2 } },
             { 2048, 2048, 3072, 3072 }, true, { 0 },
             { 1, 8, 86, 56, 61, 16, 1, 0, { 768, 768, 1024 } } },
  dots = { { { 8, 4, 1 }, { 8, 4, 1 }, { 8, 4, 1 }, { 8, 2, 2 } },
           { { 4, 1, 4 }, { 4, 1, 4 }, { 4, 1, 4 }, { 4, 1, 4 } },
           { 12288, 12288, 12288, 4096 }, false, { 0 },
           { 1, 8, 108, 38, 60, 10, 0, 0.26, { 2048, 2048, 2048 } } },
  bytes = { { { 8, 4, 1 }, { 8, 4, 1 }, { 8, 2, 2 } },
            { { 4, 4, 1 }, { 4, 4, 1 }, { 4, 4, 1 } },
            { 2048, 2048, 3072, 3072 }, true, { 0 },
            { 1, 8, 110, 33, 55, 32, 0, 0.28, { 768, 768, 1024 } } },
  scaled = { { { 8, 4, 1 }, { 8, 4, 1 } },
             { { 4, 4, 1 }, { 4, 4, 1 } }, { 2048, 2048, 3072, 3072 }, true, { 0 },
             { 1, 8, 152, 36, 40, 42, 0, 0.26, { 1024, 1536, 768 } } },
  fours = { .spread = { 2, { 10, 10 }, 2, 0 },
            .price = { 1, 8, 425, 48, 92, 28, 20, 0.37, { 2048, 1536, 1024 } } },
  mixed = { .spread = { 2, { 6, 3 }, 8, 0 } },
  unlike = { .spread = { 2, { 6, 6 }, 4, 0 } }, fnuz_mixed = { .spread = { 2, { 6, 6 }, 4, 0 } },
  fnuz8 = { .spread = { 1, { 10, 10 }, 1, 0 },
            .price = { 2, 4, 402, 64, 143, 27, 16, 0.2, { 0 } } },
  fnuz6 = { .price = { 1, 2, 1043, 209, 352, 104, 61, 0.9, { 0 } } },
  fnuz4 = { .spread = { 1, { 10, 10 }, 2, 12288 },
            .price = { 1, 4, 728, 164, 217, 44, 25, 0.6, { 0 } } },
  none;

enum {
    WIDE = 4096,
    HARDLY_WIDE = 3072,
    NARROW = 2048,
    DEEP = 2048,
    MUCH = 1 << 25,          /* elements of B */
    FLOOD = 1 << 26,
    DIVIDED = 1 << 23,
    TURNS = 65,
    TURNS_OF_MORE = 80,      /* of more than two rows, whose waves have 4 columns each */
    FEW_COLUMNS = 256,
    LONG_ROW = 8192,         /* bytes */
    MOST_COLUMNS = 32        /* of a workgroup */
};

bool
kn_few_widened(const kiln_problem *p)
{
    return kn_widens_scaled(p) && kn_targets[p->target].scaled && p->m <= 16 &&
           p->n >= WIDE && p->k >= DEEP;
}

static const struct forms *
forms_of(const kiln_problem *p)
{
    uint32_t a = kn_type_bits[p->a], b = kn_type_bits[p->b];

    if (p->a == KILN_I8)
        return &dots;
    if (kn_mx_scales(p) && kn_targets[p->target].fnuz)
        return a != b ? &fnuz_mixed
             : a == 8 ? &fnuz8 : a == 6 ? &fnuz6 : &fnuz4;
    if (a == 6 || b == 6 || a < b || (kn_few_widened(p) && p->m > mixed.spread.rows))
        return &none;
    if (a != b)
        return a == 16 ? &mixed : &unlike;
    return a == 16 ? &halves : !kn_mx_scales(p) ? &bytes : a == 4 ? &fours : &scaled;
}

static uint32_t
rows_for(int64_t m, uint32_t most)
{
    uint32_t r = 1;

    while (r < m && r < most)
        r *= 2;
    return r;
}

static uint32_t
log2_of(uint32_t x)
{
    return (uint32_t)__builtin_ctz(x);
}

/* Whether K has runs enough for so many waves: more than one of each lane. */
static bool
shares_k(const kiln_problem *p, uint32_t waves, uint32_t turns)
{
    return p->k >= turns * waves * kn_gemv_run(p);
}

/* Columns a compute unit, by rows 1, 2, 4 and 8, up to which gemv is faster than tiles of
 * 16 rows, by predicted time of 2048 to 151936 columns (docs/smallm.md); none: any number.
 * A K tile of 4 bits is as much to copy to LDS for half of the bytes, weights that are
 * widened take gemv longer. What is multiplied as f16 for an e5m2 has no bound. */
struct most {
    uint8_t plain[FORM_ROWS], eights[FORM_ROWS];      /* of MX: 8 bits, */
    uint8_t flat[FORM_ROWS], middle[FORM_ROWS];       /* fewer of a short K, */
    uint8_t narrow[FORM_ROWS];                        /* of three quarters of a turn, of more */
    uint8_t unlike[FORM_ROWS];
    uint8_t widened[FORM_ROWS], widened8[FORM_ROWS];  /* beside 16 bits; from 8 */
};

static const struct most direct = { { 48, 24, 18, 18 }, { 24, 18, 18, 18 }, { 24, 18, 18, 18 },
                                    { 32, 20, 18, 18 }, { 48, 32, 32, 32 }, { 18, 18, 18, 18 },
                                    { 0, 16, 6, 6 }, { 6, 6, 6, 6 } },
                         by_registers = { { 32, 24, 18, 18 }, { 0, 0, 28, 28 }, { 24, 12, 8, 8 },
                                          { 112, 27, 8, 8 }, { 0, 0, 28, 28 }, { 0 },
                                          { 0, 16, 6, 6 }, { 0, 6, 6, 6 } };

static bool
has_too_many_columns(const kiln_problem *p, uint32_t rows)
{
    const struct most *m = kn_targets[p->target].scaled ? &direct : &by_registers;
    uint32_t a = kn_type_bits[p->a];
    const uint8_t *most = a != kn_type_bits[p->b] ? a < 16 ? m->unlike
                        : kn_type_bits[p->b] == 8 ? m->widened8 : m->widened
                        : !kn_mx_scales(p) ? m->plain
                        : a == 8 ? m->eights : p->k > DEEP ? m->narrow
                        : 4 * p->k >= 3 * DEEP ? m->middle : m->flat;

    return kn_class_of(p) != KN_CLASS_E5 && most[log2_of(rows)] &&
           p->n > most[log2_of(rows)] * (int64_t)kn_cus(p);
}

/* Of few rows of scaled types A and its conversion take as much for every wave: a workgroup
 * has as many columns as leave `quarters` of a workgroup for a compute unit, a wave `columns`
 * of them, more of the longest K, and fewer where K is too short for as many waves as that
 * leaves (docs/smallm.md). */
static struct form
spread_form(const kiln_problem *p, uint32_t rows, const struct forms *all)
{
    int64_t least = kn_cus(p) * (int64_t)all->spread.quarters[rows - 1];
    struct form f = { .bn = 1 };
    uint8_t columns;

    while (f.bn < MOST_COLUMNS && 2 * p->n >= least * f.bn)
        f.bn *= 2;
    columns = all->spread.columns;
    if (f.bn == 8 && all->spread.deep && p->k >= all->spread.deep)
        columns *= 2;
    f.wm = f.bn <= columns ? 1 : f.bn / columns;
    f.wm = f.wm < 4 ? f.wm : 4;
    while (f.wm < 4 && f.wm < f.bn && 10 * p->k < 7 * (256 / f.wm) * (int64_t)kn_gemv_run(p))
        f.wm *= 2;
    f.wn = 4 / f.wm;
    return f;
}

static const double bytes_a_ns[KILN_NTARGETS] = { /* hbm_read */
    [KILN_GFX942] = 4730, [KILN_GFX950] = 6400
};

/* Nanoseconds that form f takes, but what all forms do: turns of K by each wave, whose loads
 * others of a compute unit hide, and whose products wait for theirs; what lanes and waves add up;
 * no less than B takes to come. Fitted to 8,000 launches of 230 problems of MX types on gfx942,
 * 2,400 of 370 others. */
static double
price_of(const kiln_problem *p, uint32_t rows, const struct price *by, struct form f)
{
    double columns = (double)f.bn / f.wm, run = 64.0 * kn_gemv_run(p) * f.wn;
    double many = (double)p->n / f.bn / kn_cus(p), turns = ceil((double)p->k / run);
    double beside = fmax(1, by->whole * ceil(many) + (1 - by->whole) * many);
    double turn = by->row * rows + columns * (by->column + by->product * rows);
    double comes = (double)(p->n * p->k) * kn_type_bits[p->b] / 8 / bytes_a_ns[p->target];
    double joins = columns * rows * by->join * (f.wn > 1 ? 2 : 1);
    double work = beside * turns * turn;

    many = fmax(1, many);
    return turns * by->round / many + joins * many + fmax(comes, work) + 0.2 * fmin(comes, work);
}

/* Of few rows, and columns unless they are converted by hand, the form that takes least, whose
 * sums (of 6 bits half as many) have registers. */
static struct form
priced_form(const kiln_problem *p, uint32_t rows, const struct price *by)
{
    uint32_t most = kn_type_bits[p->a] == 6 || rows < 2 ? 8 / rows : rows > 4 ? 4 : 16 / rows;
    struct form best = { 1, 1, 4 };

    for (uint8_t bn = 1; bn <= MOST_COLUMNS; bn *= 2)
        for (uint8_t wm = 1; wm <= 4 && wm <= bn; wm *= 2) {
            struct form f = { bn, wm, 4 / wm };

            if (bn / wm <= most && price_of(p, rows, by, f) < price_of(p, rows, by, best))
                best = f;
        }
    return best;
}

/* Whether matrix instructions end sooner: of more than two rows of MX types that divide a long K,
 * of more than four whose K is a tile or long, but of i8. */
static bool
divides_or_ends(const kiln_problem *p, uint32_t rows)
{
    bool mx = kn_mx_scales(p);
    int64_t row = p->k * kn_type_bits[p->a] / 8, much = p->n * p->k; /* bytes; elements */

    if (rows <= 4 || p->a == KILN_I8)
        return rows > 2 && mx && much > DIVIDED;
    return much > DIVIDED / 2 || row < 1024 || row > (mx ? 4096 : 8192) || (mx && p->k < DEEP);
}

/* Not where B is so much that all wait for it alone. */
static bool
is_priced(const kiln_problem *p, uint32_t rows, const struct forms *all)
{
    uint16_t most = all->price.columns[rows > 4 ? 2 : rows > 2];

    if (most && (p->n > most || divides_or_ends(p, rows)))
        return false;
    return rows >= all->price.least && rows <= all->price.rows &&
           (rows > all->spread.rows || p->n * p->k <= FLOOD);
}

/* Two rows of 6 bits and a long K, which matrix instructions have divided sooner. */
static bool
divides_sooner(const kiln_problem *p, uint32_t rows)
{
    return kn_type_bits[p->a] == 6 && rows > 1 && p->n < WIDE && p->n * p->k > MUCH;
}

static struct form
form_of(const kiln_problem *p, uint32_t rows)
{
    const struct forms *all = forms_of(p);
    uint32_t i = rows < 1 << FORM_ROWS ? log2_of(rows) : FORM_ROWS - 1;
    bool more = rows > 2, wide = p->n >= all->many[i];
    int64_t pairs = more ? 1024 : NARROW; /* columns, in twos */
    struct form f = { 0 };

    if (is_priced(p, rows, all))
        return divides_sooner(p, rows) ? f : priced_form(p, rows, &all->price);
    if (rows <= all->spread.rows)
        return spread_form(p, rows, all);
    if (rows < 1 << FORM_ROWS)
        f = (wide ? all->wide : all->narrow)[i];
    if (f.wn > 1 && !shares_k(p, f.wn, more ? TURNS_OF_MORE : TURNS) &&
        (!more || (all->deep && f.bn == 8 && kn_gemv_run(p) < 32)))
        f = (struct form){ wide ? 8 : 4, 4, 1 };
    if (f.bn && all->deep && !wide && (more || p->n < NARROW) &&
        shares_k(p, more ? 2 : 4, TURNS))
        f = (struct form){ p->n <= FEW_COLUMNS ? 1 : p->n < pairs ? 2 : 4, 1, 4 };
    if (all->deep && wide && p->n < HARDLY_WIDE && !more && shares_k(p, 2, TURNS) &&
        kn_targets[p->target].scaled)
        f = (struct form){ 4, 2, 2 };
    return f;
}

/* Whether it is faster than matrix instructions, by predicted time. */
static bool
gemv_wins(const kiln_problem *p)
{
    uint32_t rows = rows_for(p->m, 8);

    return p->m <= 8 && !has_too_many_columns(p, rows) && form_of(p, rows).bn;
}

/* What is open of columns and waves. */
static void
take_form(const kiln_problem *p, struct kn_config *g)
{
    struct form f = { 0 };

    if (kn_power_to(g->bm, 8) && !g->bn && !g->wm)
        f = form_of(p, g->bm);
    if (!f.bn)
        f = (struct form){ g->bm > 2 ? 8 : 4, 4, 1 };
    if (!g->bn)
        g->bn = f.bn;
    if (!g->wm) {
        g->wm = f.wm;
        g->wn = f.wn;
    }
}

/* Whether the next turn's loads have no registers beside this one's conversion. */
static bool
has_one_slot(const kiln_problem *p, uint32_t rows)
{
    const struct forms *all = forms_of(p);

    return rows <= all->spread.rows || (!all->price.columns[0] && rows <= all->price.rows);
}

const char *
kn_gemv_choose(const kiln_problem *p, struct kn_config *g)
{
    const char *lacks;
    struct kn_domain d;

    g->schedule = KN_SCHED_GEMV;
    lacks = kn_form_lacks(p, g);
    if (lacks)
        return lacks;
    if (!g->bm)              /* 16 rows of 16 or 6 bits in runs of 32 spill */
        g->bm = rows_for(kn_mean_rows(p), kn_type_bits[p->a] > kn_type_bits[p->b] ||
                               kn_type_bits[p->a] == 6 ? 8 : 16);
    take_form(p, g);
    g->bk = 64 * kn_gemv_run(p);
    lacks = kn_form_lacks(p, g);
    if (lacks)
        return lacks;
    if (!g->stages)
        g->stages = g->bm > 2 || has_one_slot(p, g->bm) ? 1 : 2;
    g->split_k = 1;
    d = kn_domain_of(p, 256, 0);
    g->domain = (struct kn_domain){ d.align_a, d.align_b, 1, 1, 1, 1, 0, 0 };
    if (!kn_mx_scales(p))
        g->domain.align_sa = g->domain.align_sb = 4;
    return NULL;
}

const char *
kn_runs_choose(const kiln_problem *p, struct kn_config *g)
{
    return g->schedule == KN_SCHED_SKINNY ? kn_skinny_choose(p, g) : kn_gemv_choose(p, g);
}

/* What is chosen of skinny, if it wins. */
static bool
pick_skinny(const kiln_problem *p, struct kn_config *g, struct kn_buf *why)
{
    struct kn_config skinny = *g;

    if (!kn_skinny_types(p) || !kn_skinny_wins(p) || kn_skinny_choose(p, &skinny))
        return false;
    *g = skinny;
    kn_skinny_explain(g, why);
    return true;
}

/* Few rows: reading B is what takes the time, so many small workgroups, deep
 * K tiles (256 bytes a row) and K divided until there are `want` of them.
 * Sizes by predicted time (docs/smallm.md). */
static const struct {
    uint32_t bm, bn, wm, wn, stages, want;
} small[] = {
    { 16, 64, 1, 4, 0, 256 },          /* kn_few_widened() */
    { 16, 32, 1, 2, 2, 512 },
    { 32, 64, 1, 4, 3, 128 },
    { 64, 64, 2, 2, 3, 128 },
};

enum { SMALL_MOST = 64 };

static uint32_t
shares_for(const kiln_problem *p, const struct kn_config *g, uint32_t want)
{
    uint64_t many = (uint64_t)((p->batch > 1 ? p->batch : 1) *
                               ((p->m + g->bm - 1) / g->bm) *
                               ((kn_b_columns(p) + g->bn - 1) / g->bn));
    uint32_t n = 1;

    while (many * n < want && n < KN_SPLIT_MOST &&
           p->k >= 2 * (int64_t)n * g->bk)
        n *= 2;
    return n;
}

enum { SECOND_TILE = 128 * 64, SECOND_TURNS = 16 };

/* Whether a second workgroup on a compute unit hides what one of them waits for:
 * of small tiles and a long K, but not where elements are transposed, converted
 * or of 6 bits on their way. */
static bool
second_pays(const kiln_problem *p, const struct kn_config *g)
{
    return kn_targets[p->target].scaled && p->layout == KILN_NT &&
           !kn_dequant(p) && kn_type_bits[p->a] != 6 &&
           kn_type_bits[p->b] != 6 && g->bm * g->bn <= SECOND_TILE &&
           p->k >= SECOND_TURNS * (int64_t)g->bk;
}

/* Shares of K where rows of operands are not aligned and scores chose nothing: as many as the
 * device has room for, of four K tiles at least (docs/loops.md), unless a score is against it. */
void
kn_share_unaligned(const kiln_problem *p, const struct kn_config *given,
                   struct kn_config *g)
{
    uint64_t cus = kn_cus(p), many = kn_tiles_of(p, g->bm, g->bn), n = 1;
    struct kn_config one = *g, shared = *g;

    if (g->split_k || !kn_form_open(given) || given->schedule ||
        kn_schedules[g->schedule].asm_only ||
        (g->domain.align_a >= 16 && g->domain.align_b >= 16) ||
        (!kn_one_product(p) && !kn_family_of(p)->batch))
        return;
    while (n < KN_SPLIT_MOST && p->k >= 8 * (int64_t)n * g->bk &&
           (many * 2 * n <= cus ||
            (n == 1 && many <= cus && second_pays(p, g))))
        n *= 2;
    one.split_k = 1;
    shared.split_k = (uint32_t)n;
    *g = kn_score_known(p, &shared) > kn_score_known(p, &one) ? one : shared;
}

/* The same where a wave has all columns of a written output scale: 128 and more
 * in two waves below each other, which took less than one and than four; 256 of
 * MX types, whose scales need registers too, in four. */
static void
widen_for_scales(const kiln_problem *p, struct kn_config *g, uint32_t *want)
{
    uint32_t block = kn_output_block(p);

    if (!kn_writes_scales(p) || kn_panels(p, g))
        return;
    if (block >= 128) {
        g->bn = p->out_scale == KILN_OUT_ROW && kn_b_columns(p) <= 128 ? 128 : block;
        g->wm = g->bn > 128 && kn_mx_scales(p) ? 4 : 2;
        g->bm = 16 * g->wm;
        g->bk = 128;
        g->wn = 1;
        *want = 256;
    }
    kn_quantising_waves(p, g);
}

static bool
pick_matrix(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    uint32_t bits = kn_elems[kn_shape_of(p, g).ta].bits;

    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        struct kn_config try = *g;
        uint32_t want = small[i].want;

        if (p->m > small[i].bm || (!small[i].stages && !kn_few_widened(p)))
            continue;
        try.bm = small[i].bm;
        try.bn = small[i].bn;
        try.bk = p->scale == KILN_SCALE_BLOCK128 || kn_prequant(p) ||
                         (bits == 16 && small[i].stages) ? 128 : bits == 32 ? 64 : 256;
        try.wm = small[i].wm;
        try.wn = small[i].wn;
        if (kn_gated(p) && try.bn % (try.wn * 32))
            try.wn /= 2;
        widen_for_scales(p, &try, &want);
        if (!try.domain.align_a)
            try.domain = kn_domain_of(p, 256, try.bk);
        try.stages = kn_direct(p, &try) && try.bn <= 64 ? small[i].stages : 0;
        if (kn_bk_lacks(c, p, &try) || !kn_tile_fit(c, p, &try) ||
            kn_form_lacks(p, &try))
            return false;
        if (!try.split_k)
            try.split_k = shares_for(p, &try, want);
        *g = try;
        return true;
    }
    return false;
}

/* Batches that gemv serves: so few columns in all, or of so few products, whose forms are for one,
 * that small tiles leave compute units idle; not rows that take it long of a long K (by predicted
 * times of 180 drawn). */
static bool
few_in_all(const kiln_problem *p)
{
    bool old = kn_targets[p->target].dma < 16;
    int64_t products = kn_products(p), columns = p->n * products;
    int64_t row = p->k * kn_type_bits[p->a] / 8; /* bytes */
    bool wide = old && !kn_mx_scales(p) && 4 * p->n > HARDLY_WIDE && p->k >= DEEP &&
                (p->m < 2 || 2 * row <= LONG_ROW);

    if (!kn_family_of(p)->batch || p->m > 4 || (p->m > 2 && row > LONG_ROW))
        return false;
    return columns <= (old ? 1024 : 512) || (products <= (old ? 4 : 2) && columns <= NARROW) ||
           (wide && columns <= WIDE);
}

bool
kn_pick_small(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
              struct kn_buf *why)
{
    bool runs = g->split_k < 2 && !g->schedule && !g->domain.align_a;
    struct kn_config gemv = *g;

    if (!kn_form_open(g))
        return false;
    if (runs && pick_skinny(p, g, why))
        return true;
    if (p->m < 1 || p->m > SMALL_MOST || p->k < 512)
        return false;
    if (p->b_layout || kn_shuffled(p) || (!kn_one_product(p) && !kn_family_of(p)->batch))
        return false;
    if (runs && (kn_one_product(p) || few_in_all(p)) && gemv_wins(p) &&
        !kn_gemv_choose(p, &gemv)) {
        *g = gemv;
        if (why)
            kn_putf(why, "few rows, of whole runs: no matrix instructions, "
                    "columns of %u waves, K of %u\n", gemv.wm, gemv.wn);
        return true;
    }
    if (p->n < (kn_writes_scales(p) ? 64 : FEW_COLUMNS) || !pick_matrix(c, p, g))
        return false;
    if (why)
        kn_putf(why, "at most %d rows: small tiles, K divided among "
                "workgroups until the device is full\n", SMALL_MOST);
    return true;
}
