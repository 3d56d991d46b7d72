/* plan.c - from a problem and a configuration to what a launch needs. The
 * kernarg layout is that of templates/args.tir. */
#include <string.h>

#include "forms.h"
#include "instantiate.h"
#include "limits.h"

static uint64_t
tiles_along(int64_t n, uint32_t by)
{
    return (uint64_t)((n + by - 1) / by);
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
    if ((p->k % g->bk || p->k < (int64_t)g->bk * g->split_k) &&
        !g->domain.ktail)
        return kn_fail(c, KILN_BAD_INPUT, "the kernel was compiled for a K "
                       "that is a positive multiple of %u%s, not %lld", g->bk,
                       g->split_k > 1 ? " with a tile for every share" : "",
                       (long long)p->k);
    if (kn_schedules[g->schedule].whole && !g->domain.ktail &&
        p->k != (int64_t)g->stages * g->bk)
        return kn_fail(c, KILN_BAD_INPUT, "the kernel was compiled for a K of "
                       "%u, not %lld", g->stages * g->bk, (long long)p->k);
    KN_TRY(kn_form_serves(c, p, g));
    if (g->lookup == KN_LOOKUP_FEW && p->groups > KN_FEW_GROUPS)
        return kn_fail(c, KILN_BAD_INPUT, "the kernel was compiled for at most "
                       "%d groups (lookup=few), not %lld", KN_FEW_GROUPS,
                       (long long)p->groups);
    return KILN_OK;
}

/* Bytes of A's scales from one row to the next (groups.tir). */
static int64_t
row_scale(const kiln_problem *p, int64_t pitch)
{
    return p->scale == KILN_SCALE_ROW ? 4
         : p->scale == KILN_SCALE_TENSOR ? 0 : pitch;
}

static int64_t
group_count(const kiln_problem *p)
{
    return p->groups ? p->groups : p->batch > 1 ? p->batch : 1;
}

/* The integer arguments of a launch. */
static struct kn_limits
arguments(const kiln_problem *p)
{
    struct kn_pitches t = kn_pitches_of(p);
    const struct kn_family *f = kn_family_of(p);
    bool wgrad = f->ragged == 'k', nt = p->layout == KILN_NT;
    bool grouped = f->ragged == 'm', moe = f->routed;
    bool tensor = p->scale == KILN_SCALE_TENSOR, many = group_count(p) > 1;
    struct kn_limits v = { .m = p->m, .n = p->n, .k = p->k,
                           .G = group_count(p), .pa = t.a, .pb = t.b,
                           .pc = t.c, .psa = t.sa, .psb = t.sb };

    if (many) {              /* else nothing is a stride apart */
        v.ta = t.ta;
        v.tb = t.tb;
        v.tc = t.tc;
        v.tsa = tensor ? 0 : t.tsa;
        v.tsb = !tensor ? t.tsb : moe ? 4 : 0;
        v.tbias = t.tbias;
    }
    if (grouped)
        v.tsa = row_scale(p, t.sa);
    if (grouped || moe)      /* rows of A are found by their number */
        v.ta = 0;
    if (wgrad) {             /* bits from one K to the next (dense.tir) */
        v.ta = nt ? kn_type_bits[p->a] : 8 * t.a;
        v.tb = nt ? kn_type_bits[p->b] : 8 * t.b;
    }
    return v;
}

/* Rows named by ids are within 31 bits of the first of all, or of its window
 * (`assume` in the tile IR). */
static kiln_status
check_gathered(struct kn_ctx *c, const kiln_problem *p,
               const struct kn_config *g)
{
    struct kn_pitches t = kn_pitches_of(p);

    if (p->stage == KILN_MOE_REDUCE)
        return KILN_OK;
    if (p->tokens > kn_moe_window(p) && !g->domain.windows)
        return kn_fail(c, KILN_BAD_INPUT, "rows named by ids span over 2 GiB, "
                       "the kernel was compiled for less (windows=0)");
    if (2 * p->n * t.b > KN_REACH || kn_moe_window(p) < 1)
        return kn_fail(c, KILN_UNSUPPORTED, "the weights of an expert or the "
                       "rows of a token span over 2 GiB");
    return KILN_OK;
}

/* The launch is within the kernel's declared shape domain. */
static kiln_status
check_reach(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    struct kn_limits most = kn_limits_of(p, g), v = arguments(p);

    if (v.pa > most.pa || v.pb > most.pb || v.pc > most.pc ||
        v.psa > most.psa || v.psb > most.psb)
        return kn_fail(c, KILN_UNSUPPORTED, "one tile spans over 2 GiB of an "
                       "operand: its row pitch is too large for this tile");
#define X(name)                                                               \
    if (v.name > most.name)                                                   \
        return kn_fail(c, KILN_UNSUPPORTED, "the kernel's argument " #name    \
                       " is proven up to %lld, the launch has %lld",          \
                       (long long)most.name, (long long)v.name);
    KN_LIMITED(X)
#undef X
    return kn_family_of(p)->routed ? check_gathered(c, p, g) : KILN_OK;
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

/* Upper bound of the tiles: each group may have one partly filled tile row,
 * and so may the rows past the last. */
static uint64_t
most_tiles(const kiln_problem *p, const struct kn_config *g)
{
    const struct kn_family *f = kn_family_of(p);
    uint64_t rows = tiles_along(p->m, g->bm);

    if (f->ragged == 'm')
        rows = (uint64_t)p->m / g->bm + (uint64_t)p->groups +
               ((p->group_flags & KILN_TAIL_ZERO) != 0);
    else if (f->ragged)
        rows *= (uint64_t)p->groups;
    else if (f->batch)
        rows *= (uint64_t)p->batch;
    else if (p->stage == KILN_MOE_REDUCE)
        rows = (uint64_t)p->tokens;
    return rows * tiles_along(p->n, kn_tile_columns(p, g));
}

static void
put_arguments(struct kernarg *k, const kiln_problem *p,
              const struct kn_config *g, const struct kn_operands *o)
{
    const uint64_t pointers[] = { o->a, o->b, o->c, o->sa, o->sb, o->bias,
                                  o->offs };
    const struct kn_limits v = arguments(p);
    const int64_t wide[] = { v.ta, v.tb, v.tc, v.tsa, v.tsb, v.tbias };
    const int64_t narrow[] = { v.m, v.n, v.k, v.G, v.pa, v.pb, v.pc, v.psa,
                               v.psb };

    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++)
        put(k, &pointers[i], 8);
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        put(k, &wide[i], 8);
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        put_i32(k, narrow[i]);
    put(k, &p->alpha, 4);
    if (g->split_k > 1)
        put(k, &o->workspace, 8);
    if (!kn_family_of(p)->routed)
        return;
    put(k, &o->experts, 8);
    put(k, &o->padded, 8);
    put(k, &o->weights, 8);
    put_i32(k, p->tokens);
    put_i32(k, p->topk);
    if (g->domain.windows)
        put_i32(k, kn_moe_window(p));
}

kiln_status
kn_plan_launch(struct kn_ctx *c, const kiln_problem *p,
               const struct kn_config *g, const struct kn_operands *o,
               struct kn_plan *plan)
{
    struct kernarg k = { plan->kernarg, 0 };
    uint64_t grid = most_tiles(p, g);

    KN_TRY(check_domain(c, p, g, o));
    KN_TRY(check_reach(c, p, g));
    memset(plan, 0, sizeof *plan);
    if (g->split_k > 1) {
        if (grid * g->wm * g->wn > KN_COUNTERS)
            return kn_fail(c, KILN_UNSUPPORTED, "split-K counts at most %u "
                           "waves of tiles, this launch has %llu",
                           KN_COUNTERS,
                           (unsigned long long)(grid * g->wm * g->wn));
        plan->workspace = 4ull * KN_COUNTERS + grid * kn_split_area(g);
        grid *= g->split_k;
    }
    if (grid > KN_TILES)
        return kn_fail(c, KILN_UNSUPPORTED, "the launch would need %llu "
                       "workgroups", (unsigned long long)grid);
    if (g->cus && grid > g->cus)
        grid = g->cus;
    plan->grid[0] = (uint32_t)grid;
    plan->block[0] = g->wm * g->wn * 64;
    plan->grid[1] = plan->grid[2] = plan->block[1] = plan->block[2] = 1;
    put_arguments(&k, p, g, o);
    plan->kernarg_size = k.n;
    return KILN_OK;
}

static uint32_t
split_of(const struct kn_config *g)
{
    return g->split_k ? g->split_k : 1;
}

/* Rows of group g's output. */
static int64_t
group_rows(const kiln_problem *p, const int64_t *offs, int64_t g)
{
    return kn_family_of(p)->ragged == 'm' ? offs[g + 1] - offs[g] : p->m;
}

uint64_t
kn_tile_count(const kiln_problem *p, const struct kn_config *g,
              const int64_t *offs)
{
    uint64_t n = 0;

    for (int64_t i = 0; i < group_count(p); i++)
        n += tiles_along(group_rows(p, offs, i), g->bm);
    return n * tiles_along(p->n, g->bn) * split_of(g);
}

/* Tiles that the dies take in turn. */
static uint64_t
in_turn(const struct kn_config *g, uint64_t total)
{
    uint64_t round = (uint64_t)g->xcd * g->xcd_run;

    return total / round * round;
}

/* order() of templates/grid.tir, xcd_run. */
static uint64_t
cyclic_order(const struct kn_config *g, uint64_t total, uint64_t pid)
{
    uint64_t x = pid % g->xcd, l = pid / g->xcd, r = l / g->xcd_run;

    if (pid >= in_turn(g, total))
        return pid;
    return (r * g->xcd + x) * g->xcd_run + l % g->xcd_run;
}

/* order() of templates/grid.tir. */
static uint64_t
tile_order(const struct kn_config *g, uint64_t total, uint64_t pid)
{
    uint64_t x = pid % g->xcd, rem = total % g->xcd;

    if (g->xcd < 2)
        return pid;
    if (g->xcd_run)
        return cyclic_order(g, total, pid);
    return x * (total / g->xcd) + (x < rem ? x : rem) + pid / g->xcd;
}

uint64_t
kn_tile_workgroup(const struct kn_config *g, uint64_t total, uint64_t t)
{
    uint64_t per, rem, x = 0, first = 0;

    if (g->xcd < 2)
        return t;
    if (g->xcd_run) {
        uint64_t run = t / g->xcd_run;

        if (t >= in_turn(g, total))
            return t;
        return (run / g->xcd * g->xcd_run + t % g->xcd_run) * g->xcd +
               run % g->xcd;
    }
    per = total / g->xcd;
    rem = total % g->xcd;
    while (t >= first + per + (x < rem))
        first += per + (x++ < rem);
    return (t - first) * g->xcd + x;
}

/* band() of templates/grid.tir. */
static void
place_in_band(const struct kn_config *g, uint64_t tm, uint64_t tn, uint64_t t,
              struct kn_rect *r)
{
    uint64_t wide = g->group_n ? g->group_n : tn;
    uint64_t col0 = t / (tm * wide) * wide, in = t % (tm * wide);
    uint64_t w = tn - col0 < wide ? tn - col0 : wide;
    uint64_t band = in / (w * g->group_m), i = in % (w * g->group_m);
    uint64_t h = tm - band * g->group_m;

    h = h < g->group_m ? h : g->group_m;
    r->m0 = (int64_t)((band * g->group_m + i % h) * g->bm);
    r->n0 = (int64_t)((col0 + i / h) * g->bn);
}

static struct kn_rect
spare_rect(const kiln_problem *p, const struct kn_config *g,
           const int64_t *offs, uint64_t t)
{
    uint64_t tn = tiles_along(p->n, g->bn);
    struct kn_rect r = { .group = p->groups };
    int64_t rows = p->m - offs[p->groups];

    r.m0 = (int64_t)(t / tn * g->bm);
    r.n0 = (int64_t)(t % tn * g->bn);
    r.rows = rows - r.m0 < g->bm ? rows - r.m0 : g->bm;
    r.cols = p->n - r.n0 < g->bn ? p->n - r.n0 : g->bn;
    return r;
}

uint64_t
kn_spare_count(const kiln_problem *p, const struct kn_config *g,
               const int64_t *offs)
{
    if (kn_family_of(p)->ragged != 'm' ||
        !(p->group_flags & KILN_TAIL_ZERO))
        return 0;
    return tiles_along(p->m - offs[p->groups], g->bm) *
           tiles_along(p->n, g->bn);
}

struct kn_rect
kn_tile_rect(const kiln_problem *p, const struct kn_config *g,
             const int64_t *offs, uint64_t pid)
{
    uint64_t tn = tiles_along(p->n, g->bn);
    uint64_t t = tile_order(g, kn_tile_count(p, g, offs), pid);
    struct kn_rect r = { 0 };
    int64_t rows = group_rows(p, offs, 0);

    if (pid >= kn_tile_count(p, g, offs))
        return spare_rect(p, g, offs, pid - kn_tile_count(p, g, offs));
    r.share = (uint32_t)(t % split_of(g));
    r.first = t - r.share;
    t /= split_of(g);
    while (t >= tiles_along(rows, g->bm) * tn) {
        t -= tiles_along(rows, g->bm) * tn;
        rows = group_rows(p, offs, ++r.group);
    }
    place_in_band(g, tiles_along(rows, g->bm), tn, t, &r);
    r.rows = rows - r.m0 < g->bm ? rows - r.m0 : g->bm;
    r.cols = p->n - r.n0 < g->bn ? p->n - r.n0 : g->bn;
    return r;
}
