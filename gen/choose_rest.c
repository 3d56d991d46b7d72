/* choose_rest.c - what is decided once there is a tile: shares of K, early
 * loads, the order of tiles, stores, the lowering. */
#include "choose.h"
#include "forms.h"
#include "instantiate.h"
#include "resources.h"

static kiln_status
check_split(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    if (!g->split_k)
        g->split_k = 1;
    if (g->split_k > KN_SPLIT_MOST)
        return kn_fail(c, KILN_BAD_INPUT, "split-K divides K into at most %u "
                       "shares, not %u", KN_SPLIT_MOST, g->split_k);
    if (g->split_k > 1 && p->family == KILN_MOE)
        return kn_fail(c, KILN_UNSUPPORTED, "moe has no split-K");
    if (g->split_k > 1 && p->k < (int64_t)g->bk * g->split_k)
        g->domain.ktail = 1;
    return KILN_OK;
}

/* Surplus tiles of large blocks would copy too much in vain. */
static kiln_status
choose_early(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    bool far = g->domain.windows;
    bool can = kn_direct(p, g) && !kn_streams(g) && !g->cus && !far;

    if (far && (g->cus || kn_quantises(p) || p->scale == KILN_SCALE_ROW))
        return kn_fail(c, KILN_UNSUPPORTED, "rows of A or of the output beyond "
                       "2 GiB have no --cus, no MX output and no row scales");

    if (kn_streams_ids(g) && (g->early == KN_EARLY_NONE || kn_early_copy(g)))
        return kn_fail(c, KILN_BAD_INPUT, "a schedule that streams loads ids "
                       "first, then B: --early ids");

    if (!g->early)
        g->early = can && g->bm <= 32 ? KN_EARLY_BOTH : KN_EARLY_IDS;
    if (kn_early_copy(g) && !can)
        return kn_fail(c, KILN_BAD_INPUT, "--early copy needs a launch that "
                       "is not persistent, with LDS filled directly and rows "
                       "within 2 GiB");
    return KILN_OK;
}

/* A persistent kernel has no scalar registers to spare for the scalar lookup.
 * Groups of a wgrad differ in work, and one after the other their tiles would
 * be one die's: the dies take runs in turn (4 rows of tiles by 4). Runs of the
 * tiles of ragged groups are those of a die's compute units: the dies share
 * what they read of a group (docs/timing.md). */
static void
choose_map(const kiln_problem *p, struct kn_config *g)
{
    if (p->family == KILN_WGRAD && p->groups > 1 && !g->xcd_run &&
        (!g->cus || kn_schedules[g->schedule].asm_only))
        g->xcd_run = 4 * g->group_m;
    if (p->family == KILN_GROUPED && p->groups > 1 && !g->xcd_run &&
        (!g->cus || kn_schedules[g->schedule].asm_only) && g->xcd > 1 &&
        kn_tiles_of(p, g->bm, g->bn) >= (uint64_t)8 * g->group_m * g->xcd)
        g->xcd_run = 8 * g->group_m;
    if (p->family == KILN_MOE)
        g->group_n = g->xcd_run = 0;
    if (p->family != KILN_GROUPED)
        g->lookup = KN_LOOKUP_OPEN;
    else if (!g->lookup)
        g->lookup = p->groups <= KN_FEW_GROUPS && !g->cus ? KN_LOOKUP_FEW
                                               : KN_LOOKUP_MANY;
}

/* Where N or C is not aligned, runs of rows take fewer stores than columns of
 * accumulators (docs/families.md, Stores), if LDS has room for them beside the
 * slots. A sum with beta 1 waits for C either way. */
static kiln_status
choose_store(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    struct kn_config lds = *g;

    lds.store = KN_STORE_LDS;
    if (!g->store)
        g->store = p->family != KILN_MOE && g->domain.vec == 1 && !p->beta &&
                           !kn_streams(g) &&
                           g->split_k == 1 && !g->cus &&
                           kn_tile_lds(c, p, &lds) <= kn_targets[p->target].lds
                       ? KN_STORE_LDS : KN_STORE_DIRECT;
    if (g->split_k > 1 && g->store == KN_STORE_LDS)
        return kn_fail(c, KILN_UNSUPPORTED, "waves of a split-K store each "
                       "for itself, not through LDS");
    if (p->family == KILN_MOE && g->store == KN_STORE_LDS)
        return kn_fail(c, KILN_UNSUPPORTED, "moe stores rows by id, not "
                       "through LDS");
    return KILN_OK;
}

void
kn_choose_lowering(const kiln_problem *p, struct kn_config *g, struct kn_buf *why)
{
    bool large = g->bm == 256 && g->bn == 256;
    bool open = !g->lowering, four = kn_schedules[g->schedule].asm_only;
    struct kn_config deep = *g;
    const char *lacks;

    deep.wm = deep.wn = 2;
    deep.schedule = KN_SCHED_DEEP;
    deep.stages = 0;
    lacks = large ? kn_form_lacks(p, &deep) : NULL;

    if (open)
        g->lowering = KN_LOWERING_LLVM;
    if (why && four)
        kn_putf(why, "a %ux%u tile: four waves with all registers, as "
                "assembly of our own\n", g->bm, g->bn);
    else if (why && open && large)
        kn_putf(why, "lowered through LLVM: %s%s\n",
                lacks ? "the schedule deep "
                      : "the assembly lowering is for four waves, schedule deep",
                lacks ? lacks : "");
}

kiln_status
kn_choose_rest(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    KN_TRY(check_split(c, p, g));
    if (p->family == KILN_MOE)
        KN_TRY(choose_early(c, p, g));
    else
        g->early = 0;
    if (!g->xcd)
        g->xcd = kn_targets[p->target].xcds;
    if (!g->group_m)
        g->group_m = 4;
    choose_map(p, g);
    return choose_store(c, p, g);
}
