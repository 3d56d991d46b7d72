/* split_k.c - launches whose workgroups join in a workspace, on the simulator. */
#include "run.h"
#include "../../panels.h"

#include <stdlib.h>

kiln_status
kn_shares_check(struct kn_ctx *c, const uint32_t count[KN_COUNTERS])
{
    for (uint32_t i = 0; i < KN_COUNTERS; i++)
        if (count[i])
            return kn_fail(c, KILN_FINDING, "counter %u of the workspace is "
                           "%u after the launch, not 0", i, count[i]);
    return KILN_OK;
}

void
kn_fill_last_share(void *user, uint64_t offset, void *dst, size_t size)
{
    const struct kn_config *g = user;
    uint32_t last = g->split_k - 1;

    for (size_t k = 0; k < size; k++)
        ((uint8_t *)dst)[k] = (uint8_t)(last >> (offset + k) % 4 * 8);
}

static int
ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Sorted, each once. */
static void
set_of(struct kn_sim_select *s, uint64_t *ids, size_t n)
{
    size_t kept = 0;

    qsort(ids, n, sizeof *ids, ascending);
    for (size_t i = 0; i < n; i++)
        if (!i || ids[i] != ids[i - 1])
            ids[kept++] = ids[i];
    s->ids = ids;
    s->n = kept;
}

/* All workgroups whose tiles are of a panel that a selected one is of. */
static void
select_panels(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g,
              const int64_t *offs, struct kn_sim_select *s)
{
    uint64_t total = kn_tile_count(p, g, offs), *ids = KN_NEW(c, uint64_t, total + s->n);
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->ids[i] >= total)
            ids[n++] = s->ids[i];
    for (uint64_t id = 0; id < total; id++) {
        struct kn_rect t = kn_tile_rect(p, g, offs, id);

        for (size_t i = 0; i < s->n; i++) {
            struct kn_rect one;

            if (s->ids[i] >= total)
                continue;
            one = kn_tile_rect(p, g, offs, s->ids[i]);
            if (one.group == t.group && one.m0 == t.m0) {
                ids[n++] = id;
                break;
            }
        }
    }
    set_of(s, ids, n);
}

static void
select_shares(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g,
              const int64_t *offs, struct kn_sim_select *s)
{
    uint64_t total = kn_tile_count(p, g, offs);
    uint64_t *ids = KN_NEW(c, uint64_t, s->n * g->split_k);
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        struct kn_rect t;

        if (s->ids[i] >= total) {
            ids[n++] = s->ids[i];
            continue;
        }
        t = kn_tile_rect(p, g, offs, s->ids[i]);
        for (uint32_t k = 0; k < t.shares; k++)
            ids[n++] = kn_tile_workgroup(p, g, offs, t.first + k);
    }
    set_of(s, ids, n);
}

kiln_status
kn_shares_select(struct kn_ctx *c, const kiln_problem *p,
                 const struct kn_config *g, const int64_t *offs,
                 struct kn_sim_select *s)
{
    bool panels = kn_panels(p, g);

    if (s->all || (g->split_k < 2 && !panels))
        return KILN_OK;
    if (g->cus)
        return kn_fail(c, KILN_UNSUPPORTED, "--wg cannot choose %s of a persistent %s "
                       "launch: leave out --cus", panels ? "whole rows" : "shares",
                       panels ? "--out-scale row" : "split-K");
    if (panels)
        select_panels(c, p, g, offs, s);
    else
        select_shares(c, p, g, offs, s);
    return KILN_OK;
}
