/* panels.c - rows wider than a tile, with one scale, whose launch takes several rounds: in
 * which order tiles are taken so that all waves of a row run at once, and what they wait. */
#include "panels.h"

#include <math.h>

#include "forms.h"
#include "instantiate.h"

enum {
    SOME = 4,                /* rounds of rows that are not known yet */
    MANY = 64                /* rounds as which more are counted */
};

/* A launch in rounds: its tiles, those of a product and those along a row, and those that
 * run at once on all compute units or, if a few rows fill it, on a chiplet's. */
struct round {
    uint64_t tiles, product, along, cus, die;
    bool one;                /* all tiles and their shares run at once */
};

static struct round
round_of(const kiln_problem *p, const struct kn_config *g, uint32_t beside)
{
    uint64_t columns = kn_tile_columns(p, g), many = p->groups ? p->groups : p->batch;
    uint64_t cus = g->cus ? g->cus : (uint64_t)kn_cus(p) * beside;
    struct round r = { .tiles = p->m ? kn_tiles_of(p, g->bm, g->bn) : SOME * cus,
                       .along = ((uint64_t)p->n + columns - 1) / columns, .cus = cus,
                       .die = cus / kn_xcds(p) };

    r.product = many > 1 && p->m && !kn_family_of(p)->routed ? r.tiles / many : r.tiles;
    r.one = !g->cus && r.tiles * (g->split_k ? g->split_k : 1) <= cus;
    return r;
}

/* Where bands of so many rows run: on a chiplet, if some fill it and none goes on on the
 * next. */
static uint64_t
room_of(const struct round *r, uint64_t rows)
{
    bool whole = r->product == r->tiles || r->product % (rows * r->along) == 0;

    return whole && 4 * r->along <= r->die ? r->die : r->cus;
}

/* Turns, of a tile's time, that a launch takes by such bands. Tiles of a band that goes on
 * in the next turn wait for the others and have their places in it, too. */
static double
turns_of(const struct round *r, uint64_t rows)
{
    uint64_t room = room_of(r, rows), band = rows * r->along, dies = r->cus / room, at = 0;
    uint64_t tiles = (r->tiles + dies - 1) / dies;
    uint64_t counted = tiles < MANY * room ? tiles : MANY * room;
    double turns = 0;

    if (!band || band > room)
        return HUGE_VAL;
    for (; at < counted; turns++)
        at += room - at % r->product % band;
    return turns * (double)tiles / (double)counted;
}

/* Rounds, if nobody waits. */
static double
rounds_of(const struct round *r, uint64_t rows)
{
    uint64_t room = room_of(r, rows), dies = r->cus / room;

    return ceil(ceil((double)r->tiles / (double)dies) / (double)room);
}

/* Rows of a band: as many as there is room for, or of a product, fewer for fewer turns. */
static uint32_t
rows_of(const struct round *r)
{
    uint64_t most = 4 * r->along <= r->die ? r->die : r->cus, rows, best = 1;

    rows = r->along ? most / r->along : 0;
    if (rows * r->along > r->product)
        rows = (r->product + r->along - 1) / r->along;
    for (best = rows; rows; rows--)
        if (turns_of(r, rows) < turns_of(r, best))
            best = rows;
    return (uint32_t)best;
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
    if (!p->n || r.one)
        return p->n != 0;
    return g->split_k < 2 && !kn_family_of(p)->routed && !g->group_m && !g->xcd_run &&
           !g->xcd && rows_of(&r);
}

double
kn_panels_wait(const kiln_problem *p, const struct kn_config *g, uint32_t beside)
{
    struct round r = round_of(p, g, beside);
    double early = 128.0 / kn_tile_columns(p, g) / 2, rounds;
    uint32_t rows;

    if (r.tiles <= r.cus)
        return 0;
    if (p->out_scale != KILN_OUT_ROW)
        return early / 2 * ((double)r.tiles / (double)r.cus - 1) / (double)r.cus;
    rows = g->group_m ? g->group_m : rows_of(&r);
    rounds = rounds_of(&r, rows);
    return fmin(turns_of(&r, rows), 2 * rounds) / rounds - 1;
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
    g->group_m = rows_of(&r);
    g->xcd_run = (uint32_t)(room_of(&r, g->group_m) == r.cus ? r.cus / kn_xcds(p)
                                                             : g->group_m * r.along);
}

void
kn_meet_beside(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g, uint32_t beside)
{
    struct kn_config lds = *g;
    uint32_t have = kn_targets[p->target].lds, bytes;

    lds.domain.panels = KN_PANELS_BESIDE;
    if (!g->domain.panels || kn_panel_strips(p, g) <= KN_FEW_STRIPS || !kn_shares_rows(p, &lds))
        return;
    bytes = kn_tile_lds(c, p, &lds);
    if (bytes <= have && (kn_direct_to_reg(g) || have / bytes >= beside))
        g->domain.panels = lds.domain.panels;
}
