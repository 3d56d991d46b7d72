/* plan.c - from a problem and a configuration to what a launch needs. The
 * kernarg layout is that of templates/args.tir. */
#include <string.h>

#include "gen.h"

static uint32_t
tiles_along(int64_t n, uint32_t by)
{
    return (uint32_t)((n + by - 1) / by);
}

static bool
narrower(uint8_t have, uint8_t need)
{
    return have < need;
}

static uint32_t
lowest_bit(uint64_t a)
{
    return a ? (uint32_t)(a & -a) & 0xffff : 256;
}

/* The launch's own class must be at least as good as the compiled one's. */
static kiln_status
check_domain(struct kn_ctx *c, const kiln_problem *p,
             const struct kn_config *g, const struct kn_operands *o)
{
    const uint64_t at[] = { o->a, o->b, o->c, o->sa, o->sb };
    struct kn_domain d[5];

    for (int i = 0; i < 5; i++) {
        uint32_t base = lowest_bit(at[i]);

        d[i] = kn_domain_of(p, base ? base : 256, g->bk);
    }
    if (narrower(d[0].align_a, g->domain.align_a) ||
        narrower(d[1].align_b, g->domain.align_b) ||
        narrower(d[2].vec, g->domain.vec) ||
        narrower(d[3].align_sa, g->domain.align_sa) ||
        narrower(d[4].align_sb, g->domain.align_sb))
        return kn_fail(c, KILN_BAD_INPUT, "a base address or row pitch is "
                       "aligned to less than the kernel was compiled for "
                       "(%u, %u, %u, %u bytes, vec %u)", g->domain.align_a,
                       g->domain.align_b, g->domain.align_sa,
                       g->domain.align_sb, g->domain.vec);
    if ((p->k % g->bk || !p->k) && !g->domain.ktail)
        return kn_fail(c, KILN_BAD_INPUT, "the kernel was compiled for a K "
                       "that is a positive multiple of %u, not %lld", g->bk,
                       (long long)p->k);
    return KILN_OK;
}

/* In-tile offsets are 31-bit: rows of one tile times the pitch. */
static kiln_status
check_reach(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    struct kn_pitches t = kn_pitches_of(p);
    int64_t ra = p->layout == KILN_TN ? g->bk : g->bm;
    int64_t rb = p->layout == KILN_NT ? g->bn : g->bk;
    const int64_t most = 0x7fffffff;

    if (ra * t.a > most || rb * t.b > most || g->bm * t.c > most)
        return kn_fail(c, KILN_UNSUPPORTED, "one tile spans over 2 GiB of an "
                       "operand: its row pitch is too large for this tile");
    return KILN_OK;
}

struct kernarg {
    uint8_t *bytes;
    uint32_t n;
};

static void
put(struct kernarg *k, const void *v, uint32_t size)
{
    k->n = (k->n + size - 1) / size * size;
    memcpy(k->bytes + k->n, v, size);
    k->n += size;
}

static void
put_i32(struct kernarg *k, int64_t v)
{
    int32_t x = (int32_t)v;

    put(k, &x, 4);
}

kiln_status
kn_plan_launch(struct kn_ctx *c, const kiln_problem *p,
               const struct kn_config *g, const struct kn_operands *o,
               struct kn_plan *plan)
{
    struct kn_pitches t = kn_pitches_of(p);
    struct kernarg k = { plan->kernarg, 0 };
    const uint64_t pointers[] = { o->a, o->b, o->c, o->sa, o->sb, o->bias };
    uint64_t grid = (uint64_t)tiles_along(p->m, g->bm) * tiles_along(p->n, g->bn);

    KN_TRY(check_domain(c, p, g, o));
    KN_TRY(check_reach(c, p, g));
    if (grid > 0x7fffffff)
        return kn_fail(c, KILN_UNSUPPORTED, "the launch would need %llu "
                       "workgroups", (unsigned long long)grid);
    memset(plan, 0, sizeof *plan);
    plan->grid[0] = (uint32_t)grid;
    plan->block[0] = g->wm * g->wn * 64;
    plan->grid[1] = plan->grid[2] = plan->block[1] = plan->block[2] = 1;
    for (int i = 0; i < 6; i++)
        put(&k, &pointers[i], 8);
    put_i32(&k, p->m);
    put_i32(&k, p->n);
    put_i32(&k, p->k);
    put_i32(&k, t.a);
    put_i32(&k, t.b);
    put_i32(&k, t.c);
    put_i32(&k, t.sa);
    put_i32(&k, t.sb);
    put(&k, &p->alpha, 4);
    plan->kernarg_size = k.n;
    return KILN_OK;
}

/* The tile maps of templates/tilemap_*.tir, computed apart from them. */
struct kn_rect
kn_workgroup_tile(const kiln_problem *p, const struct kn_config *g, uint64_t id)
{
    uint64_t tm = tiles_along(p->m, g->bm), tn = tiles_along(p->n, g->bn);
    uint64_t row = id / tn, col = id % tn;
    struct kn_rect r;

    if (g->xcd > 1 || g->group_m > 1) {
        uint64_t x = id % g->xcd, per = tm * tn / g->xcd;
        uint64_t rem = tm * tn % g->xcd;
        uint64_t t = x * per + (x < rem ? x : rem) + id / g->xcd;
        uint64_t band = t / (tn * g->group_m), i = t % (tn * g->group_m);
        uint64_t h = tm - band * g->group_m;

        h = h < g->group_m ? h : g->group_m;
        row = band * g->group_m + i % h;
        col = i / h;
    }
    r.m0 = (int64_t)row * g->bm;
    r.n0 = (int64_t)col * g->bn;
    r.rows = p->m - r.m0 < g->bm ? p->m - r.m0 : g->bm;
    r.cols = p->n - r.n0 < g->bn ? p->n - r.n0 : g->bn;
    return r;
}
