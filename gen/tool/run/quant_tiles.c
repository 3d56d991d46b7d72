/* quant_tiles.c - which part of the outputs of quant a workgroup has (templates/quant.tir),
 * and which workgroups are run together. */
#include "../../layout.h"
#include "../../quant.h"
#include "session.h"

static int64_t
div_up(int64_t n, int64_t d)
{
    return (n + d - 1) / d;
}

uint32_t
kn_quant_parts(const kiln_problem *p, const struct kn_config *g)
{
    return kn_quant_flat(p, g) ? g->bn / KN_QUANT_PANEL : 1;
}

static uint32_t
part_columns(const kiln_problem *p, const struct kn_config *g)
{
    return g->bn / kn_quant_parts(p, g);
}

/* Parts of a row of tiles. */
static int64_t
across_of(const kiln_problem *p, const struct kn_config *g)
{
    int64_t wide = kn_quant_across(p, g);

    if (p->out_scale == KILN_OUT_ROW && !kn_quant_shared(p, g))
        return 1;
    return div_up(kn_quant_has_turned(p) ? p->m : p->k, wide) * (wide / part_columns(p, g));
}

/* Outputs that have workgroups of their own: of which the first are. */
static int64_t
of_turned(const kiln_problem *p, const struct kn_config *g)
{
    return kn_quant_apart(p) ? div_up(p->k, g->bm) * across_of(p, g) : INT64_MAX;
}

static struct kn_rect
tile_apart(const kiln_problem *p, const struct kn_config *g, bool turned, int64_t id)
{
    int64_t across = across_of(p, g), first = of_turned(p, g);
    uint32_t rows = 4 / kn_quant_row_waves(g);

    if (turned != (id < first))
        return (struct kn_rect){ 0 };
    if (!turned)
        return (struct kn_rect){ .m0 = (id - first) * rows, .rows = rows, .cols = p->k };
    return (struct kn_rect){ .m0 = id / across * g->bm, .rows = id % across ? 0 : g->bm,
                             .cols = p->m };
}

/* Rows that workgroups share are judged whole, with the first of them. */
struct kn_rect
kn_quant_tile(const kiln_problem *p, const struct kn_config *g, bool turned, uint64_t id)
{
    int64_t across = across_of(p, g), at = (int64_t)id;
    uint32_t cols = part_columns(p, g);
    struct kn_rect t = { .m0 = at / across * g->bm, .n0 = at % across * cols,
                         .rows = g->bm, .cols = cols };

    if (kn_quant_apart(p))
        return tile_apart(p, g, turned, at);
    if (p->out_scale == KILN_OUT_ROW)
        t = (struct kn_rect){ .m0 = t.m0, .rows = t.n0 ? 0 : t.rows,
                              .cols = turned ? p->m : p->k };
    if (kn_quant_dual(p) && !turned)
        t = (struct kn_rect){ .m0 = t.n0, .n0 = t.m0, .rows = t.cols, .cols = t.rows };
    return t;
}

static bool
has(const uint64_t *ids, uint64_t n, uint64_t id)
{
    while (n && ids[n - 1] != id)
        n--;
    return n;
}

kiln_status
kn_quant_select(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g,
                struct kn_sim_select *s)
{
    uint64_t across = (uint64_t)across_of(p, g), first = (uint64_t)of_turned(p, g);
    uint64_t n = 0, *ids;

    if (s->all || !kn_quant_shared(p, g))
        return KILN_OK;
    ids = KN_NEW(c, uint64_t, s->n * across);
    for (uint64_t i = 0; i < s->n; i++) {
        bool shared = s->ids[i] < first;
        uint64_t from = shared ? s->ids[i] / across * across : s->ids[i];

        for (uint64_t k = 0; k < (shared ? across : 1); k++)
            if (!has(ids, n, from + k))
                ids[n++] = from + k;
    }
    s->ids = ids;
    s->n = n;
    return KILN_OK;
}
