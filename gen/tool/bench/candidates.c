#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "../../forms.h"

/* Rough time in microseconds: tiles in rounds over the compute units, each
 * limited by its matrix operations (2048 MACs a clock and CU for 8 bits), by
 * its share of the memory (20 bytes a clock and CU) or by latency. Orders
 * candidates, decides nothing. */
static double
estimate(const kiln_problem *p, const struct kn_config *g)
{
    const struct kn_target_info *t = &kn_targets[p->target];
    double many = (double)(p->groups ? p->groups : p->batch > 1 ? p->batch : 1);
    double rows = (double)((kn_tuning_rows(p) + g->bm - 1) / g->bm);
    double tiles = many * rows * (double)((p->n + g->bn - 1) / g->bn);
    double steps = (double)((p->k + g->bk - 1) / g->bk);
    double bits = g->bm * kn_type_bits[p->a] + g->bn * kn_type_bits[p->b];
    double bytes = bits * g->bk / 8;
    double lds = bytes * g->stages, waves = g->wm * g->wn;
    double split = g->split_k > 1 ? g->split_k : 1;
    double fit = lds > 0 ? (double)t->lds / lds : 8, per = 16 / waves;
    double resident = fit < per ? fit : per;
    double macs = 2048.0 * 8 / kn_type_bits[p->a];
    double pipes = waves < 4 ? waves / 4 : 1;
    double mfma = (double)g->bm * g->bn * g->bk / (macs * pipes);
    double wait = 900.0 / g->stages, clocks, rounds;

    resident = resident < 1 ? 1 : resident;
    clocks = mfma > bytes / 20 ? mfma : bytes / 20;
    clocks = clocks * resident > wait ? clocks * resident : wait;
    rounds = tiles * split / (kn_cus(p) * resident);
    rounds = rounds < 1 ? 1 : rounds;
    return rounds * (clocks * steps / split + 2500 + 3000 * (split > 1) +
                     (double)g->bm * g->bn / 12) / 2000;
}

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

/* A row has its schedule from the rules, but where the choice has another. */
static void
put_loop(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g,
         struct kn_buf *out)
{
    struct kn_config row = { .bm = g->bm, .bn = g->bn, .bk = g->bk,
                             .wm = g->wm, .wn = g->wn, .stages = g->stages,
                             .split_k = g->split_k, .group_m = g->group_m };

    if (is_possible(c, p, &row) && row.schedule == g->schedule &&
        row.cus == g->cus)
        return;
    kn_putf(out, " schedule=%s", kn_schedule_names[g->schedule]);
    if (g->cus)
        kn_putf(out, " cus=%u", g->cus);
}

static void
add_candidate(struct kn_ctx *c, const kiln_problem *p, struct kn_config g,
              struct kn_candidate *all, size_t *n)
{
    struct kn_buf b = { .c = c };

    if (!is_possible(c, p, &g))
        return;
    kn_putf(&b, "tile=%ux%ux%u waves=%ux%u stages=%u group-m=%u", g.bm, g.bn,
            g.bk, g.wm, g.wn, g.stages, g.group_m);
    if (g.split_k > 1)
        kn_putf(&b, " split-k=%u", g.split_k);
    if (kn_reads_of(&g) == KN_READS_RUNS)
        kn_put(&b, " schedule=gemv");
    else if (!*n && !kn_family_of(p)->routed)
        put_loop(c, p, &g, &b);
    for (size_t i = 0; i < *n; i++)
        if (!strcmp(all[i].text, b.s))
            return;
    all[(*n)++] = (struct kn_candidate){ .cfg = g, .text = b.s,
                                      .estimate = estimate(p, &g) };
}

static int
by_estimate(const void *a, const void *b)
{
    const struct kn_candidate *x = a, *y = b;

    return x->estimate != y->estimate
           ? (x->estimate > y->estimate) - (x->estimate < y->estimate)
           : strcmp(x->text, y->text);
}

static const uint16_t sides[] = { 16, 32, 64, 128, 256 };
static const uint8_t waves[][2] = {
    { 1, 1 }, { 1, 2 }, { 2, 1 }, { 2, 2 }, { 1, 4 }, { 4, 1 }, { 2, 4 },
};
enum {
    NSIDES = sizeof sides / sizeof *sides,
    NWAVES = sizeof waves / sizeof *waves,
    NBK = 3, NSTAGES = 3, NSPLITS = 4,
    MOST = NSIDES * NSIDES * NWAVES * NBK * NSTAGES * NSPLITS + 1
};

/* K is worth dividing into n where tiles leave most compute units idle and
 * each share has a few K tiles. */
static bool
may_split(const kiln_problem *p, const struct kn_config *g, uint32_t n)
{
    int64_t many = p->groups ? p->groups : p->batch > 1 ? p->batch : 1;
    int64_t tiles = many * ((kn_tuning_rows(p) + g->bm - 1) / g->bm) *
                    ((p->n + g->bn - 1) / g->bn);

    return n == 1 || (!kn_family_of(p)->routed &&
                      tiles * n <= 2 * kn_cus(p) &&
                      p->k >= 4 * (int64_t)n * g->bk);
}

/* A configuration and, if the user left that open, its divisions of K. */
static void
add_shares(struct kn_ctx *c, const kiln_problem *p, struct kn_config g,
           struct kn_candidate *all, size_t *n)
{
    const bool open = !g.split_k;

    for (uint32_t s = 1; s < 1u << NSPLITS; s *= 2) {
        struct kn_config x = g;

        x.split_k = open && s > 1 ? s : g.split_k;
        if (s == 1 || (open && may_split(p, &g, s)))
            add_candidate(c, p, x, all, n);
    }
}

size_t
kn_candidates(struct kn_ctx *c, const kiln_problem *p,
              const struct kn_config *given, struct kn_candidate **out)
{
    struct kn_candidate *all = *out = KN_NEW(c, struct kn_candidate, MOST);
    size_t n = 0;

    add_candidate(c, p, *given, all, &n);
    if (!n || given->bm)
        return n;
    for (int i = 0; i < (MOST - 1) / NSPLITS; i++) {
        struct kn_config g = *given;
        const uint8_t *w = waves[i / (NSIDES * NSIDES) % NWAVES];

        g.bm = sides[i % NSIDES];
        g.bn = sides[i / NSIDES % NSIDES];
        if (!g.wm) {
            g.wm = w[0];
            g.wn = w[1];
        }
        g.bk = g.bk ? g.bk
                    : 64u << i / (NSIDES * NSIDES * NWAVES) % NBK;
        g.stages = g.stages ? g.stages
                            : 1u + i / (NSIDES * NSIDES * NWAVES * NBK);
        add_shares(c, p, g, all, &n);
    }
    qsort(all + 1, n - 1, sizeof *all, by_estimate);
    return n;
}

size_t
kn_candidates_again(struct kn_ctx *c, const kiln_problem *p,
                    const struct kn_config *given, const char *config,
                    struct kn_candidate **out)
{
    struct kn_candidate *all = *out = KN_NEW(c, struct kn_candidate, 2);
    size_t n = 0;

    add_candidate(c, p, *given, all, &n);
    if (n && strcmp(config, all[0].text))
        all[n++] = (struct kn_candidate){ .text = config };
    return n;
}
