/* moe_work.c - what a routing makes of a moe launch, for the timing model: the
 * grid has room for any routing, so most of it may have nothing to do. */
#include "cmd_run_moe.h"
#include "../../panels.h"

/* Is the expert of a block of sorted rows here? */
static bool
is_here(const struct moe_run *m, int64_t block)
{
    int32_t e = m->sorted.experts[block];

    return e >= 0 && e < m->r.experts;
}

/* Windows of tokens that a tile goes through: those that some of its rows are
 * in (templates/moe.tir). */
static uint32_t
windows_of(const struct moe_run *m, const kiln_problem *p,
           const struct kn_rect *t)
{
    int64_t last = -1, window = kn_pitches_of(p).window;
    uint32_t n = 0;

    for (int64_t i = 0; i < t->rows; i++) {
        int64_t token = m->sorted.ids[t->m0 + i] & 0xffffff;

        if (token >= m->r.tokens || token / window == last)
            continue;
        last = token / window;
        n++;
    }
    return n;
}

/* A persistent workgroup cannot end at a tile whose expert is not here. */
static uint32_t
turns_of(const struct moe_run *m, const kiln_problem *p,
         const struct kn_config *g, uint64_t tile)
{
    struct kn_rect t = moe_tile_of(m, p, g, tile);
    uint32_t turns = (uint32_t)((p->k + g->bk - 1) / g->bk);

    if (t.rows <= 0)
        return 0;
    if (g->domain.windows)
        return turns * windows_of(m, p, &t);
    return g->cus || is_here(m, t.m0 / m->block_m) ? turns : 0;
}

const uint32_t *
moe_work(const struct moe_run *m, const kiln_problem *p,
         const struct kn_config *g, uint64_t n)
{
    int64_t columns = kn_tile_columns(p, g);
    uint64_t tiles = (uint64_t)((m->sorted.room + g->bm - 1) / g->bm) *
                     (uint64_t)((p->n + columns - 1) / columns);
    uint32_t *work;

    if (p->stage == KILN_MOE_REDUCE)
        return NULL;
    work = KN_NEW(m->c, uint32_t, n);
    for (uint64_t i = 0; i < tiles; i++)
        work[i % n] += turns_of(m, p, g, i);
    return work;
}

kiln_status
moe_select_rows(struct moe_run *m, struct moe_part *s)
{
    struct kn_sim_select *all = &s->job.l.select;
    const struct kn_config *g = &s->g.cfg;
    uint64_t *ids, n = 0;

    if (all->all || !kn_panels(&s->p, g))
        return KILN_OK;
    if (g->cus)
        return kn_fail(m->c, KILN_UNSUPPORTED, "--wg cannot choose whole rows of a "
                       "persistent --out-scale row launch: leave out --cus");
    ids = KN_NEW(m->c, uint64_t, s->job.workgroups + 1);
    for (uint64_t id = 0; id < s->job.workgroups; id++) {
        int64_t m0 = moe_tile_of(m, &s->p, g, id).m0;
        size_t i = 0;

        while (i < all->n && moe_tile_of(m, &s->p, g, all->ids[i]).m0 != m0)
            i++;
        if (i < all->n)
            ids[n++] = id;
    }
    all->ids = ids;
    all->n = n;
    return KILN_OK;
}

/* Bits of what an output's row has for each of its columns: the element, those of
 * tensors that are read there, and of a second output. */
static double
column_bits(const kiln_problem *p)
{
    double bits = kn_type_bits[p->out];

    if (p->out2)
        bits += kn_type_bits[p->out2] << kn_second_pair(p);
    for (uint32_t i = 0; i < KN_FORMULA_ARRAYS; i++)
        if (kn_array_kind(p, i) == KN_FO_TENSOR)
            bits += kn_type_bits[p->out];
    return bits;
}

/* Each token's row (gemm2: slot's) once, the weights of each expert with rows,
 * and the output's rows. */
double
moe_bytes(const struct moe_run *m, const kiln_problem *p)
{
    bool up = p->stage == KILN_MOE_GATE_UP, *used;
    double k = (double)p->k, n = (double)p->n, rows = 0, experts = 0;
    bool *seen = KN_NEW(m->c, bool, (size_t)m->r.tokens + 1);
    double tokens = 0;

    if (p->stage == KILN_MOE_REDUCE)
        return 0;
    used = KN_NEW(m->c, bool, (size_t)m->r.experts + 1);
    for (int64_t i = 0; i < m->r.tokens * m->r.topk; i++) {
        int32_t e = m->r.expert[i];

        if (e < 0 || e >= m->r.experts)
            continue;
        rows++;
        experts += !used[e];
        tokens += !seen[i / m->r.topk];
        used[e] = seen[i / m->r.topk] = true;
    }
    return ((up ? tokens : rows) * k * kn_type_bits[p->a] +
            experts * (up ? 2 : 1) * n * k * kn_type_bits[p->b] +
            (p->atomic ? tokens : rows) * n * column_bits(p)) / 8;
}
