/* rounds.c - the tiles of a launch, which of them run at once, and who adds up what they
 * leave: shares of K, rows with one scale that are wider than a tile. */
#include "choose.h"

#include <math.h>

#include "forms.h"
#include "instantiate.h"
#include "panels.h"

uint64_t
kn_tiles_of(const kiln_problem *p, uint32_t bm, uint32_t bn)
{
    int64_t many = p->groups ? p->groups : p->batch > 1 ? p->batch : 1;
    int64_t rows = kn_family_of(p)->ragged == 'm' ? (p->m + many - 1) / many
                                                  : p->m;
    int64_t n = kn_b_columns(p);

    if (kn_family_of(p)->routed) {
        int64_t used = p->tokens * p->topk;

        many = used < p->groups ? used : p->groups;
        rows = many ? (used + many - 1) / many : 0;
        return (uint64_t)(many * ((rows + bm - 1) / bm) *
                          ((n + bn - 1) / bn));
    }
    return (uint64_t)(many * ((rows + bm - 1) / bm) *
                      ((n + bn - 1) / bn));
}

/* ---- rows wider than a tile, with one scale ---- */

enum { SOME = 4 };           /* rounds of rows that are not known yet */

/* A round of a launch: the tiles there are, those along a row, and those that run at
 * once on all compute units or, if a few rows fill it, on a chiplet's. */
struct round {
    uint64_t tiles, along, cus, room;
    bool one;                /* all tiles and their shares run at once */
};

static struct round
round_of(const kiln_problem *p, const struct kn_config *g, uint32_t beside)
{
    uint64_t columns = kn_tile_columns(p, g);
    uint64_t cus = g->cus ? g->cus : (uint64_t)kn_cus(p) * beside, die = cus / kn_xcds(p);
    struct round r = { .tiles = p->m ? kn_tiles_of(p, g->bm, g->bn) : SOME * cus,
                       .along = ((uint64_t)p->n + columns - 1) / columns, .cus = cus };

    r.room = 4 * r.along <= die ? die : cus;
    r.one = !g->cus && r.tiles * (g->split_k ? g->split_k : 1) <= cus;
    return r;
}

/* Rows of tiles that fill the room. What there is room for beside them begins early and
 * waits: little, or there are none. Of ragged groups those of each begin anew, so that
 * the rows of an average one do. */
static uint32_t
rows_of(const kiln_problem *p, const struct kn_config *g, const struct round *r)
{
    uint64_t rows = r->along ? r->room / r->along : 0, many = rows;

    if (g->split_k > 1 || kn_family_of(p)->ragged == 'k' || kn_family_of(p)->routed || !rows)
        return 0;
    if (kn_family_of(p)->ragged) {
        many = (uint64_t)((p->m + p->groups - 1) / p->groups + g->bm - 1) / g->bm;
        rows = rows < many ? rows : many;
        many = r->room / (rows * r->along) * rows;
    }
    return 4 * (r->room - many * r->along) * (r->tiles / r->cus) > r->room ? 0
           : (uint32_t)rows;
}

bool
kn_panels_meet(const kiln_problem *p, const struct kn_config *g, uint32_t beside)
{
    struct round r;

    if (!kn_panels(p, g))
        return false;
    if (p->out_scale != KILN_OUT_ROW)
        return true;         /* tiles beside each other */
    r = round_of(p, g, beside);
    return p->n && (r.one || (!g->group_m && !g->xcd_run && !g->xcd && rows_of(p, g, &r)));
}

double
kn_panels_wait(const kiln_problem *p, const struct kn_config *g, uint32_t beside)
{
    struct round r = round_of(p, g, beside);
    double band = (double)(g->group_m * r.along), room = (double)r.room;
    double early = band > room ? room / 2 : fmod(room, band);

    if (p->out_scale != KILN_OUT_ROW)
        early = 128.0 / kn_tile_columns(p, g) / 2;
    return r.tiles <= r.cus || band <= 0 ? 0
           : early / 2 * ((double)r.tiles / (double)r.cus - 1) / room;
}

void
kn_map_panels(const kiln_problem *p, struct kn_config *g, uint32_t beside)
{
    struct round r;

    if (!kn_panels_meet(p, g, beside) || g->join == KN_JOIN_LAST)
        return;
    g->join = KN_JOIN_ALL;
    r = round_of(p, g, beside);
    if (r.one || p->out_scale != KILN_OUT_ROW)
        return;
    g->group_m = rows_of(p, g, &r);
    g->xcd_run = (uint32_t)(r.room == r.cus ? r.cus / kn_xcds(p) : g->group_m * r.along);
}

/* ---- shares of K ---- */

bool
kn_may_join_all(const kiln_problem *p, const struct kn_config *g)
{
    if (kn_panels(p, g))
        return true;
    return g->split_k > 1 && !g->split_after && !g->cus && g->abi != KN_ABI_AITER &&
           !p->beta && !kn_writes_scales(p) && p->out_scale != KILN_OUT_STATIC && !p->amax &&
           !p->out2 && !p->round && !p->expression[0] && !kn_gated(p) && !kn_wide_sums(p);
}

/* Shares wait for each other, so all of them run at once. A wave with few blocks reads
 * those of all shares as fast as it meets them, one with many has no registers for both
 * (docs/loops.md). */
bool
kn_joins_all(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t blocks = g->wm && g->wn ? g->bm * g->bn / (256 * g->wm * g->wn) : 0;

    if (g->join)
        return g->join == KN_JOIN_ALL;
    return kn_may_join_all(p, g) && !kn_panels(p, g) && !kn_family_of(p)->ragged && p->m && p->n &&
           blocks >= 4 && blocks <= 16 &&
           kn_tiles_of(p, g->bm, g->bn) * g->split_k <= kn_cus(p);
}

bool
kn_joins_slices(const kiln_problem *p, const struct kn_config *g)
{
    return kn_joins_all(p, g) && !kn_panels(p, g);
}
