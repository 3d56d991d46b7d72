/* plan.c - from a problem and a configuration to what a launch needs. The
 * kernarg layout is that of templates/args.tir. */
#include <string.h>

#include "../aiter.h"
#include "../forms.h"
#include "../instantiate.h"
#include "terms.h"

static uint64_t
tiles_along(int64_t n, uint32_t by)
{
    return (uint64_t)((n + by - 1) / by);
}

/* A tensor's address is aligned as the output's. */
static long long
array_align(const kiln_problem *p, uint32_t i, long long output)
{
    return kn_array_kind(p, i) == KN_FO_TENSOR ? output : 4;
}

uint8_t
kn_operand_align(const kiln_problem *p, const struct kn_domain *d,
                 kiln_operand operand)
{
    uint8_t scale = (uint8_t)kn_scale_size(p);

    switch (operand) {
    case KILN_ARG_A:
        return d->align_a;
    case KILN_ARG_B:
        return d->align_b;
    case KILN_ARG_C:
        if (kn_family_of(p)->unary)
            return kn_quant_align(p, d) == 8 ? 4 : 1;
        return (uint8_t)(d->vec * ((kn_type_bits[p->out] + 7) / 8));
    case KILN_ARG_SA:
        if (kn_weight_factor(p))
            return 4;
        if (p->zero_points)
            return (uint8_t)(kn_zero_load(p) < 4 ? kn_zero_load(p) : 4);
        return d->align_sa < scale ? scale : d->align_sa;
    case KILN_ARG_SB:
        return d->align_sb < scale ? scale : d->align_sb;
    case KILN_ARG_BIAS:
    case KILN_ARG_SC:
    case KILN_ARG_SC2:
    case KILN_ARG_AMAX:
    case KILN_ARG_EXPERTS:
    case KILN_ARG_PADDED:
    case KILN_ARG_WEIGHTS:
        return 4;
    case KILN_ARG_OUT2:
        if (kn_family_of(p)->unary)
            return d->vec == 4 ? 4 : 1;
        return p->out2 ? (uint8_t)(d->vec * kn_type_bits[p->out2] / 8)
                       : kn_operand_align(p, d, KILN_ARG_C);
    case KILN_ARG_X0: case KILN_ARG_X1: case KILN_ARG_X2: case KILN_ARG_X3:
        return (uint8_t)array_align(p, (uint32_t)(operand - KILN_ARG_X0),
                                    kn_operand_align(p, d, KILN_ARG_C));
    case KILN_ARG_WORKSPACE:
        return 16;
    case KILN_ARG_OFFSETS:
    case KILN_ARG_TIGHT:
        return kn_family_of(p)->routed || p->group_flags & KILN_GROUP_ENDS32
             ? 4 : 8;
    case KILN_NOPERANDS:
        break;
    }
    return 1;
}

/* The launch's addresses are aligned as the kernel was compiled for. */
static kiln_status
check_addresses(struct kn_ctx *c, const kiln_problem *p,
                const struct kn_config *g, const struct kn_operands *o)
{
#define KNOWN(name, value) KN_TERM(name, value)
#define K_KNOWN(name, value) KN_TERM(name, value)
#include "launch.def"
    const struct {
        const char *what;
        uint64_t at;
        long long align;
    } all[] = { { "A", o->a, align_a }, { "B", o->b, align_b },
                { "the output", o->c, align_c },
                { "A's scales", o->sa, align_sa },
                { "B's scales", o->sb, align_sb },
                { "x0", o->x[0], array_align(p, 0, align_c) },
                { "x1", o->x[1], array_align(p, 1, align_c) },
                { "x2", o->x[2], array_align(p, 2, align_c) },
                { "x3", o->x[3], array_align(p, 3, align_c) },
                { "the output's scales", o->sc, 4 },
                { "the second output's scales", o->sc2, 4 },
                { "amax", o->amax, (uint8_t)(kn_type_bits[kn_amax_type(p)] / 8) },
                { "the second output", o->out2, p->out2
                  ? kn_operand_align(p, &g->domain, KILN_ARG_OUT2)
                  : dual ? align_c : 1 } };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].at % (uint64_t)all[i].align)
            return kn_fail(c, KILN_BAD_INPUT, "the address of %s is no "
                           "multiple of %lld, which the kernel was compiled "
                           "for", all[i].what, all[i].align);
    return KILN_OK;
}

/* Writes the next `size` bytes of the kernel's arguments. */
static void
put(struct kn_plan *plan, const void *v, uint32_t size)
{
    plan->kernarg_size = (plan->kernarg_size + size - 1) / size * size;
    memcpy(plan->kernarg + plan->kernarg_size, v, size);
    plan->kernarg_size += size;
}

static void
put_number(struct kn_plan *plan, int64_t v, uint32_t size)
{
    put(plan, &v, size);     /* little-endian */
}

static uint64_t
address(const struct kn_operands *o, kiln_operand operand)
{
    const uint64_t at[KILN_NOPERANDS] = {
        [KILN_ARG_A] = o->a, [KILN_ARG_B] = o->b, [KILN_ARG_C] = o->c,
        [KILN_ARG_SA] = o->sa, [KILN_ARG_SB] = o->sb,
        [KILN_ARG_BIAS] = o->bias, [KILN_ARG_OFFSETS] = o->offs,
        [KILN_ARG_EXPERTS] = o->experts, [KILN_ARG_PADDED] = o->padded,
        [KILN_ARG_WEIGHTS] = o->weights, [KILN_ARG_WORKSPACE] = o->workspace,
        [KILN_ARG_X0] = o->x[0], [KILN_ARG_X1] = o->x[1],
        [KILN_ARG_X2] = o->x[2], [KILN_ARG_X3] = o->x[3],
        [KILN_ARG_SC] = o->sc, [KILN_ARG_AMAX] = o->amax,
        [KILN_ARG_OUT2] = o->out2, [KILN_ARG_SC2] = o->sc2,
        [KILN_ARG_TIGHT] = o->tight
    };

    return at[operand];
}

enum { I32 = 4, I64 = 8 };   /* bytes of an argument */

#define RULE_IS(status, applies, holds, ...)                                  \
    if ((applies) && !(holds))                                                \
        return kn_fail(c, status, __VA_ARGS__);

#define ARG_OF(name, type, formula, most)                                     \
    if ((formula) > (most))                                                   \
        return kn_fail(c, KILN_UNSUPPORTED, "the kernel's argument " #name    \
                       " is proven up to %lld, the launch has %lld",          \
                       (long long)(most), (long long)(formula));              \
    put_number(plan, formula, type);

/* Everything of a plan that launch.def says. */
static kiln_status
fill(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g,
     const struct kn_operands *o, struct kn_plan *plan)
{
    const struct kn_limits limit = kn_limits_of(p, g);

#define SIZE(name, has, value, meaning) KN_TERM(name, value)
#define KNOWN(name, value) KN_TERM(name, value)
#define LET(name, formula) KN_TERM(name, formula)
#define RULE(...) RULE_IS(KILN_BAD_INPUT, __VA_ARGS__)
#define K_KNOWN(name, value) KN_TERM(name, value)
#define K_LET(name, formula) KN_TERM(name, formula)
#define K_RULE(...) RULE_IS(KILN_BAD_INPUT, __VA_ARGS__)
#define K_LIMIT(...) RULE_IS(KILN_UNSUPPORTED, __VA_ARGS__)
#define PTR(has, name, operand, what)                                         \
    if (has)                                                                  \
        put_number(plan, (int64_t)address(o, KILN_ARG_##operand), 8);
#define FACTOR(has, name, value)                                              \
    if (has)                                                                  \
        put(plan, &(value), 4);
#define ARG(has, name, type, formula, most)                                   \
    if (has) {                                                                \
        ARG_OF(name, type, formula, most)                                     \
    }
#include "launch.def"
    plan->cus_at = cus ? plan->kernarg_size - 4 : 0;
    plan->workspace = (uint64_t)workspace;
    plan->grid[0] = (uint32_t)grid;
    plan->block[0] = (uint32_t)(64 * waves);
    plan->grid[1] = plan->grid[2] = plan->block[1] = plan->block[2] = 1;
    return KILN_OK;
}

kiln_status
kn_plan_launch(struct kn_ctx *c, const kiln_problem *p,
               const struct kn_config *g, const struct kn_operands *o,
               struct kn_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    KN_TRY(check_addresses(c, p, g, o));
    KN_TRY(kn_form_serves(c, p, g));
    KN_TRY(fill(c, p, g, o, plan));
    return g->abi == KN_ABI_AITER ? kn_aiter_plan(c, p, g, o, plan) : KILN_OK;
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
kn_last_round(const struct kn_config *g, uint64_t tiles)
{
    uint64_t rest = tiles % g->split_after, round = g->split_after;

    return rest * g->split_k <= round * (g->split_k - 1) ? rest : 0;
}

/* Workgroups of a launch: those of undivided tiles, then the shares of the
 * others. */
struct parts {
    uint64_t whole, all;
};

static struct parts
parts_of(const kiln_problem *p, const struct kn_config *g, const int64_t *offs)
{
    struct parts x = { 0 };
    uint64_t n = 0;

    for (int64_t i = 0; i < kn_products(p); i++)
        n += tiles_along(group_rows(p, offs, i), g->bm);
    n *= tiles_along(p->n, kn_tile_columns(p, g));
    x.whole = g->split_after ? n - kn_last_round(g, n) : 0;
    x.all = x.whole + (n - x.whole) * split_of(g);
    return x;
}

uint64_t
kn_tile_count(const kiln_problem *p, const struct kn_config *g,
              const int64_t *offs)
{
    return parts_of(p, g, offs).all;
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

/* The workgroup at place t of the order of `total`. */
static uint64_t
workgroup_at(const struct kn_config *g, uint64_t total, uint64_t t)
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

uint64_t
kn_tile_workgroup(const kiln_problem *p, const struct kn_config *g,
                  const int64_t *offs, uint64_t t)
{
    struct parts x = parts_of(p, g, offs);

    return t < x.whole ? workgroup_at(g, x.whole, t)
                       : x.whole + workgroup_at(g, x.all - x.whole, t - x.whole);
}

/* Where workgroup pid is in the order, and which share it has; *t: its tile. */
static struct kn_rect
share_of(const struct kn_config *g, const struct parts *x, uint64_t pid,
         uint64_t *t)
{
    bool whole = pid < x->whole;
    uint64_t from = whole ? 0 : x->whole, to = whole ? x->whole : x->all;
    uint64_t at = tile_order(g, to - from, pid - from);
    struct kn_rect r = { .shares = whole ? 1 : split_of(g) };

    r.share = (uint32_t)(at % r.shares);
    r.first = from + at - r.share;
    *t = from + at / r.shares;
    return r;
}

/* band() of templates/grid.tir; n0 in tiles. */
static void
place_in_band(const struct kn_config *g, uint64_t tm, uint64_t tn, uint64_t t,
              struct kn_rect *r)
{
    uint64_t wide = g->group_n ? g->group_n : tn;
    uint64_t col0 = t / (tm * wide) * wide, in = t % (tm * wide);
    uint64_t w = tn - col0 < wide ? tn - col0 : wide;
    uint64_t rows = g->group_m < KN_ONE_BAND || tm < g->group_m ? g->group_m : tm;
    uint64_t band = in / (w * rows), i = in % (w * rows);
    uint64_t h = tm - band * rows;

    h = h < rows ? h : rows;
    r->m0 = (int64_t)((band * rows + i % h) * g->bm);
    r->n0 = (int64_t)(col0 + i / h);
}

static struct kn_rect
spare_rect(const kiln_problem *p, const struct kn_config *g,
           const int64_t *offs, uint64_t t)
{
    uint64_t tn = tiles_along(p->n, kn_tile_columns(p, g));
    struct kn_rect r = { .group = p->groups };
    int64_t rows = p->m - offs[p->groups], columns = kn_tile_columns(p, g);

    r.m0 = (int64_t)(t / tn * g->bm);
    r.n0 = (int64_t)(t % tn) * columns;
    r.rows = rows - r.m0 < g->bm ? rows - r.m0 : g->bm;
    r.cols = least(p->n - r.n0, columns);
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
           tiles_along(p->n, kn_tile_columns(p, g));
}

void
kn_plan_exactly(const kiln_problem *p, const struct kn_config *g,
                const int64_t *offs, struct kn_plan *plan)
{
    uint64_t n;

    if (kn_family_of(p)->ragged != 'm' || g->cus)
        return;
    n = kn_tile_count(p, g, offs) + kn_spare_count(p, g, offs);
    plan->grid[0] = n < plan->grid[0] ? (uint32_t)n : plan->grid[0];
}

struct kn_rect
kn_tile_rect(const kiln_problem *p, const struct kn_config *g,
             const int64_t *offs, uint64_t pid)
{
    uint64_t tn = tiles_along(p->n, kn_tile_columns(p, g)), t;
    struct parts x = parts_of(p, g, offs);
    int64_t rows = group_rows(p, offs, 0), columns = kn_tile_columns(p, g);
    struct kn_rect r;

    if (pid >= x.all)
        return spare_rect(p, g, offs, pid - x.all);
    r = share_of(g, &x, pid, &t);
    while (t >= tiles_along(rows, g->bm) * tn) {
        t -= tiles_along(rows, g->bm) * tn;
        rows = group_rows(p, offs, ++r.group);
    }
    place_in_band(g, tiles_along(rows, g->bm), tn, t, &r);
    r.n0 *= columns;
    r.rows = rows - r.m0 < g->bm ? rows - r.m0 : g->bm;
    r.cols = least(p->n - r.n0, columns);
    return r;
}

bool
kn_rect_judged(const kiln_problem *p, const struct kn_config *g, struct kn_rect *r)
{
    if (!kn_panels(p, g))
        return true;
    r->cols = p->n;
    return !r->n0;
}
