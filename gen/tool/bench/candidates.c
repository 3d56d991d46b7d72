/* candidates.c - what `kilnc tune` tries for a problem: every row of scores.def
 * and a grid of tiles, waves, K, slots and loops beside it, each with its shares
 * of K, ordered by score before any is judged. As many are taken as are asked for
 * of those that are kernels: the best, of which up to a quarter are the best of
 * loops that would have none. */
#include "bench.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../choose/choose.h"
#include "../../forms.h"

enum { TRIES = 600 };        /* of kn_choose, a millisecond or two each */
enum { LAST_SHARES = 4 };

struct search {
    struct kn_ctx *c;
    const kiln_problem *p;
    const struct kn_config *given;
    struct kn_candidate *all;
    size_t n, cap;
    const struct kn_score *row; /* of p's operands */
    size_t nrows;
};

/* Rough time in microseconds of what has no score: tiles in rounds over the
 * compute units, each limited by its matrix operations (2048 MACs a clock and CU
 * for 8 bits), by its share of the memory (20 bytes a clock and CU) or by
 * latency. */
static double
estimate(const kiln_problem *p, const struct kn_config *g)
{
    static const double wide[KILN_NMATHS] = { [KILN_MATH_IEEE] = 128,
        [KILN_MATH_XF32] = 512, [KILN_MATH_BF16X3] = 1024.0 / 3 };
    const struct kn_target_info *t = &kn_targets[p->target];
    double many = (double)(p->groups ? p->groups : p->batch > 1 ? p->batch : 1);
    double rows = (double)((kn_tuning_rows(p) + g->bm - 1) / g->bm);
    double tiles = many * rows * (double)((kn_b_columns(p) + g->bn - 1) / g->bn);
    double steps = (double)((p->k + g->bk - 1) / g->bk);
    double bits = g->bm * kn_type_bits[p->a] + g->bn * kn_type_bits[p->b];
    double bytes = bits * g->bk / 8, stages = g->stages ? g->stages : 3;
    double lds = bytes * stages, waves = g->wm * g->wn;
    double split = g->split_k > 1 ? g->split_k : 1;
    double fit = lds > 0 ? (double)t->lds / lds : 8, per = 16 / waves;
    double resident = fit < per ? fit : per;
    double macs = kn_type_bits[p->a] > 16 ? wide[p->math]
                                          : 2048.0 * 8 / kn_type_bits[p->a];
    double pipes = waves < 4 ? waves / 4 : 1;
    double mfma = (double)g->bm * g->bn * g->bk / (macs * pipes);
    double wait = 900.0 / stages, clocks, rounds;

    resident = resident < 1 ? 1 : resident;
    clocks = mfma > bytes / 20 ? mfma : bytes / 20;
    clocks = clocks * resident > wait ? clocks * resident : wait;
    rounds = tiles * split / (kn_cus(p) * resident);
    rounds = rounds < 1 ? 1 : rounds;
    return rounds * (clocks * steps / split + 2500 + 3000 * (split > 1) +
                     (double)g->bm * g->bn / 12) / 2000;
}

/* ---- what there is, unjudged --------------------------------------------- */

static void
add(struct search *s, const struct kn_config *g, double us)
{
    s->all = kn_grow(s->c, s->all, &s->cap, s->n + 1, sizeof *s->all);
    s->all[s->n] = (struct kn_candidate){ .cfg = *g, .estimate = us,
                                          .order = s->n };
    s->n++;
}

/* K is worth dividing into n where tiles leave compute units idle and each
 * share has a few K tiles. */
static bool
may_split(const kiln_problem *p, const struct kn_config *g, uint32_t n)
{
    return n == 1 || (!kn_family_of(p)->routed && p->k >= 2 * (int64_t)n * g->bk &&
                      kn_tiles_of(p, g->bm, g->bn) * n <= 4 * kn_cus(p));
}

/* A configuration with every division of K and its score by the row, times `by`;
 * without a row a rough estimate. */
static void
add_shares(struct search *s, struct kn_config g, const struct kn_score *row,
           double by)
{
    static const uint8_t shares[] = { 1, 2, 3, 4, 6, 8, 12, 16 };

    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        g.split_k = s->given->split_k ? s->given->split_k : shares[i];
        if (i && (s->given->split_k || !may_split(s->p, &g, shares[i])))
            return;
        add(s, &g, by * (row ? kn_score_of(s->p, &g, row) : estimate(s->p, &g)));
    }
}

/* The tiles behind the last whole round of a row's kernel in shares. */
static void
add_last_round(struct search *s, struct kn_config g, const struct kn_score *row)
{
    if (g.cus || g.split_after || s->given->split_k || !kn_form_divides(s->p, &g))
        return;
    g.split_after = kn_cus(s->p) * row->residents;
    for (g.split_k = 2; g.split_k <= LAST_SHARES; g.split_k++)
        if (kn_tiles_of(s->p, g.bm, g.bn) > g.split_after)
            add(s, &g, kn_score_of(s->p, &g, row));
}

/* Whether x has what the user gave. */
static bool
keeps(const struct kn_config *given, const struct kn_config *x)
{
    return (!given->bk || given->bk == x->bk) &&
           (!given->wm || (given->wm == x->wm && given->wn == x->wn)) &&
           (!given->stages || given->stages == x->stages) &&
           (!given->schedule || given->schedule == x->schedule) &&
           (!given->cus || given->cus == x->cus) &&
           (!given->stagger || given->stagger == x->stagger);
}

static void
add_scored(struct search *s)
{
    if (!kn_family_of(s->p)->routed)
        s->nrows = kn_scores_of(s->p, &s->row);
    for (size_t i = 0; i < s->nrows; i++) {
        const struct kn_score *row = &s->row[i];
        struct kn_config g = *s->given;

        g.bm = row->bm;
        g.bn = row->bn;
        g.bk = row->bk;
        g.wm = row->wm;
        g.wn = row->wn;
        g.schedule = row->schedule;
        g.stages = row->stages;
        g.cus = row->walks ? kn_cus(s->p) : s->given->cus;
        g.copies = row->lines ? KN_COPIES_LINES : s->given->copies;
        if (keeps(s->given, &g)) {
            add_shares(s, g, row, 1);
            add_last_round(s, g, row);
        }
    }
}

static const uint16_t sides[] = { 16, 32, 48, 64, 80, 96, 128, 160, 192, 224, 256 };
static const uint8_t waves[][2] = {
    { 1, 1 }, { 1, 2 }, { 2, 1 }, { 2, 2 }, { 1, 4 }, { 4, 1 }, { 2, 4 },
};
enum { COLUMNS = 4, RUN_ROWS = 16 };

#define COUNT(x) (sizeof(x) / sizeof *(x))

/* |log2(a / b)|, in eighths or so. */
static int
octaves(uint32_t a, uint32_t b)
{
    return abs((int)(8 * log2((double)a / b)));
}

/* The row most like g, NULL if there is none. */
static const struct kn_score *
nearest(const struct search *s, const struct kn_config *g)
{
    const struct kn_score *best = NULL;
    int least = INT_MAX;

    for (size_t i = 0; i < s->nrows; i++) {
        const struct kn_score *r = &s->row[i];
        int far = octaves(g->bm, r->bm) + octaves(g->bn, r->bn) +
                  octaves(g->bk, r->bk) + octaves(g->wm * g->wn, r->wm * r->wn) +
                  (g->schedule && g->schedule != r->schedule ? 16 : 0) +
                  (r->walks ? 64 : 0);

        if (far < least) {
            least = far;
            best = r;
        }
    }
    return best;
}

static uint32_t
simds(uint32_t n)
{
    return n < 4 ? n : 4;
}

/* What g's row may be like: a K tile takes as its bytes and products do, the end
 * as its area, and what is fewer waves' takes each longer. */
static struct kn_score
resembling(const struct kn_score *r, const struct kn_config *g)
{
    double area = (double)g->bm * g->bn / ((double)r->bm * r->bn);
    double macs = area * g->bk / r->bk, by = r->wm * r->wn;
    double bytes = (double)(g->bm + g->bn) * g->bk / ((r->bm + r->bn) * r->bk);
    struct kn_score s = *r;

    by = (bytes + macs) / 2 * sqrt(by / (g->wm * g->wn));
    s.near *= by;
    s.far *= by;
    s.full *= by;
    s.mfma *= macs * simds(r->wm * r->wn) / simds(g->wm * g->wn);
    s.residents = bytes > r->residents ? 1 : bytes > 1 ? (uint32_t)(r->residents / bytes)
                                                       : r->residents;
    s.after *= area;
    s.fixed *= (1 + area) / 2;
    return s;
}

/* A loop or slots that the rules would not have for a tile must look better than
 * theirs, and all of them better than what has a score. */
static void
add_loop(struct search *s, const struct kn_config *g)
{
    const struct kn_score *near = nearest(s, g);
    struct kn_score like;

    if (near)
        like = resembling(near, g);
    add_shares(s, *g, near ? &like : NULL,
               1.05 * (g->schedule ? 1.03 : 1) * (g->stages ? 1.03 : 1));
}

/* Loops, waves, K and slots of a tile. */
static void
add_tile(struct search *s, struct kn_config g)
{
    for (int loop = 0; loop < KN_NSCHEDULES; loop++)
        for (size_t i = 0; i < COUNT(waves) * 3 * 4; i++) {
            struct kn_config x = g;

            x.schedule = loop;
            x.wm = waves[i % COUNT(waves)][0];
            x.wn = waves[i % COUNT(waves)][1];
            x.bk = 64u << i / COUNT(waves) % 3;
            x.stages = (uint32_t)(i / COUNT(waves) / 3);
            if (kn_shareable(&x) && keeps(s->given, &x) &&
                kn_reads_of(&x) != KN_READS_RUNS)
                add_loop(s, &x);
        }
}

/* A kernel of a few rows, with about what reading B takes, in us. */
static void
add_few(struct search *s, const struct kn_config *x)
{
    double bytes = (double)kn_b_columns(s->p) * (double)s->p->k * kn_type_bits[s->p->b] / 8;

    if (keeps(s->given, x))
        add(s, x, 2.5 + bytes / 4e6);
}

/* Rows without matrix instructions (docs/smallm.md). */
static void
add_runs(struct search *s)
{
    static const uint8_t of[][2] = { { 4, 1 }, { 2, 2 }, { 1, 4 } };

    for (uint32_t i = 0; i < 3 * 3 && s->p->m <= RUN_ROWS; i++) {
        struct kn_config x = *s->given;

        x.schedule = KN_SCHED_GEMV;
        for (x.bm = 1; x.bm < s->p->m; x.bm *= 2)
            ;
        x.wm = of[i % 3][0];
        x.wn = of[i % 3][1];
        x.bn = x.wm << i / 3;
        add_few(s, &x);
    }
}

/* Weights of 4 bits beside up to 16 rows (docs/smallm.md), AWQ's with the columns there are. */
static void
add_skinny(struct search *s)
{
    static const uint8_t of[][3] = { { 1, 4, 16 }, { 1, 8, 16 }, { 1, 2, 16 }, { 1, 4, 32 },
                                     { 1, 8, 32 }, { 2, 2, 32 }, { 2, 4, 16 } };

    for (size_t i = 0; i < COUNT(of) && s->p->m <= RUN_ROWS; i++) {
        struct kn_config x = *s->given;

        x.schedule = KN_SCHED_SKINNY;
        x.wm = of[i][0];
        x.wn = of[i][1];
        x.bn = (uint32_t)x.wm * of[i][2];
        if (s->p->b_layout == KILN_B_AWQ)
            x.bn = 0;
        if (x.bn || of[i][2] == 16)
            add_few(s, &x);
    }
}

static void
add_grid(struct search *s)
{
    for (size_t i = 0; i < COUNT(sides) * COUNT(sides); i++) {
        struct kn_config g = *s->given;

        g.bm = sides[i % COUNT(sides)];
        g.bn = sides[i / COUNT(sides)];
        if (!kn_family_of(s->p)->routed || g.bm == kn_block_rows(s->p))
            add_tile(s, g);
    }
    if (!kn_family_of(s->p)->routed) {
        add_runs(s);
        add_skinny(s);
    }
}

/* ---- those that are kernels ---------------------------------------------- */

static bool
is_possible(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    struct kn_ctx own;
    bool ok;

    kn_ctx_init(&own, c->realloc, c->user);
    own.oom = c->oom;
    own.tuning = c->tuning;
    ok = kn_choose(&own, p, g, NULL) == KILN_OK;
    kn_ctx_free(&own);
    return ok;
}

/* What was timed and nothing else, whatever the rules become. */
static const char *
row_of(struct kn_ctx *c, const struct kn_config *g)
{
    struct kn_buf b = { .c = c };

    kn_putf(&b, "tile=%ux%ux%u waves=%ux%u stages=%u group-m=%u", g->bm, g->bn,
            g->bk, g->wm, g->wn, g->stages, g->group_m);
    if (g->split_k > 1)
        kn_putf(&b, " split-k=%u", g->split_k);
    if (g->split_after)
        kn_putf(&b, " split-after=%u", g->split_after);
    kn_putf(&b, " schedule=%s", kn_schedule_names[g->schedule]);
    if (g->cus)
        kn_putf(&b, " cus=%u", g->cus);
    if (g->stagger > 1)
        kn_putf(&b, " stagger=%u", g->stagger);
    return b.s;
}

/* x behind the n that there are, if it is a kernel and another. */
static size_t
take(struct search *s, struct kn_candidate x, struct kn_candidate *out, size_t n)
{
    if (!is_possible(s->c, s->p, &x.cfg))
        return n;
    x.text = row_of(s->c, &x.cfg);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(out[i].text, x.text))
            return n;
    out[n] = x;
    return n + 1;
}

/* A quick no, before kn_choose is asked. */
static bool
may_be(const struct search *s, const struct kn_candidate *x)
{
    struct kn_config g = x->cfg;

    if (!g.schedule || kn_reads_of(&g) == KN_READS_RUNS)
        return true;
    g.domain = kn_domain_of(s->p, 256, g.bk);
    return !kn_form_lacks(s->p, &g);
}

static int
by_estimate(const void *a, const void *b)
{
    const struct kn_candidate *x = a, *y = b;

    return x->estimate != y->estimate
           ? (x->estimate > y->estimate) - (x->estimate < y->estimate)
           : (x->order > y->order) - (x->order < y->order);
}

/* The choice of today: of the tables, unless they name another library. */
static size_t
take_default(struct search *s, struct kn_candidate *out)
{
    size_t n = take(s, (struct kn_candidate){ .cfg = *s->given }, out, 0);
    static const struct kn_tuning nothing = { .alone = true };
    const struct kn_tuning *tables = s->c->tuning;

    if (n)
        return n;
    s->c->tuning = &nothing;
    n = take(s, (struct kn_candidate){ .cfg = *s->given }, out, 0);
    s->c->tuning = tables;
    return n;
}

/* Up to `most` of all, best first; of `loops`: only the best of a loop that out
 * has none of, if it looks no worse than half as good as the best. */
static size_t
take_up_to(struct search *s, struct kn_candidate *out, size_t n, size_t most,
           bool loops)
{
    size_t tries = TRIES;

    for (size_t i = 0; i < s->n && n <= most && tries; i++) {
        const struct kn_candidate *x = &s->all[i];
        bool had = !x->cfg.schedule;

        for (size_t k = 0; loops && k < n; k++)
            had |= out[k].cfg.schedule == x->cfg.schedule;
        if (loops && (had || x->estimate > 2 * s->all[0].estimate))
            continue;
        if (may_be(s, x)) {
            n = take(s, *x, out, n);
            tries--;
        }
    }
    return n;
}

size_t
kn_candidates(struct kn_ctx *c, const kiln_problem *p,
              const struct kn_config *given, size_t most,
              struct kn_candidate **out)
{
    struct search s = { .c = c, .p = p, .given = given };
    size_t n;

    *out = KN_NEW(c, struct kn_candidate, most + 1);
    n = take_default(&s, *out);
    if (!n || given->bm)
        return n;
    add_scored(&s);
    add_grid(&s);
    qsort(s.all, s.n, sizeof *s.all, by_estimate);
    n = take_up_to(&s, *out, n, most - most / 4, false);
    n = take_up_to(&s, *out, n, most, true);
    return take_up_to(&s, *out, n, most, false);
}

size_t
kn_candidates_again(struct kn_ctx *c, const kiln_problem *p,
                    const struct kn_config *given, const char *config,
                    struct kn_candidate **out)
{
    struct search s = { .c = c, .p = p, .given = given };
    size_t n;

    *out = KN_NEW(c, struct kn_candidate, 2);
    n = take_default(&s, *out);
    if (n && strcmp(config, out[0]->text))
        (*out)[n++] = (struct kn_candidate){ .text = config };
    return n;
}

size_t
kn_candidates_staggered(struct kn_ctx *c, const kiln_problem *p,
                        const struct kn_config *given,
                        const struct kn_candidate *best,
                        struct kn_candidate **out)
{
    static const uint32_t places[] = { 2, 8, 32 };
    struct search s = { .c = c, .p = p, .given = given };
    size_t n = 1;

    *out = KN_NEW(c, struct kn_candidate, COUNT(places) + 1);
    (*out)[0] = *best;
    for (size_t i = 0; i < COUNT(places) && best->cfg.bm; i++) {
        struct kn_candidate x = { .cfg = best->cfg, .order = i };

        x.cfg.stagger = places[i];
        if (keeps(given, &x.cfg))
            n = take(&s, x, *out, n);
    }
    return n;
}
