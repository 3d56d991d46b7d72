/* forms.c - asks the rows of forms.def. */
#include "forms.h"

#include <math.h>

#include "choose.h"
#include "instantiate.h"
#include "panels.h"

const struct kn_schedule_facts kn_schedules[KN_NSCHEDULES] = {
#define SCHEDULE(id, reads, batch, asm_only, unrolled, meaning) \
    [KN_SCHED_##id] = { KN_READS_##reads, batch, asm_only, unrolled, meaning },
#include "forms.def"
};

const char *const kn_schedule_names[] = {
#define X(id, text) text,
    KN_SCHEDULES(X)
#undef X
};

static bool
six_bits(const kiln_problem *p)
{
    return kn_type_bits[p->a] == 6 || kn_type_bits[p->b] == 6;
}

static struct kn_frag
fragment(const kiln_problem *p, const struct kn_config *g, int side)
{
    struct kn_fn f = { .target = p->target, .shape = kn_shape_of(p, g) };

    return kn_fragment(&f, side);
}

/* ---- variants of a loop ---- */

bool
kn_direct_to_reg(const struct kn_config *g)
{
    return kn_reads_of(g) == KN_READS_MEMORY;
}

bool
kn_8wave_one_slot(const struct kn_config *g)
{
    return kn_reads_of(g) == KN_READS_HALVES && g->stages == 1;
}

/* Both copy lines of 6-bit types in the tallest tiles. */
static bool
copies_lines(const kiln_problem *p, const struct kn_config *g)
{
    return six_bits(p) && g->bm == 256 && g->wm == 2 && g->bn % (g->wn * 64) == 0 &&
           !g->domain.ktail && !p->b_layout && g->stagger < 2 && !kn_gated(p) &&
           kn_scale_batch(p, g);
}

bool
kn_8wave_packed(const kiln_problem *p, const struct kn_config *g)
{
    return kn_8wave_one_slot(g) && g->bk == 256 && g->wn == 4 && copies_lines(p, g);
}

static int64_t
row_bits(const kiln_problem *p, int side)
{
    return side == 'a' ? p->lda * kn_type_bits[p->a] : p->ldb * kn_type_bits[p->b];
}

/* Rows along K as they are, whole lines a K tile. */
static bool
in_lines(const kiln_problem *p, const struct kn_config *g, int side)
{
    kiln_type t = side == 'a' ? p->a : p->b;

    return kn_along_k(p, (char)side) && g->bk * kn_type_bits[t] % (8 * KN_LINE) == 0 &&
           (side == 'a' || (!p->b_layout && !kn_gated(p)));
}

/* Quarters of a wave's rows that two lines each take in turn. */
static bool
lags_by_quarters(const kiln_problem *p, const struct kn_config *g)
{
    return kn_reads_of(g) == KN_READS_TILE && g->stages == 2 && !g->cus &&
           g->copies == KN_COPIES_LINES && g->wn && g->bn % (g->wn * 64) == 0 &&
           in_lines(p, g, 'a') && in_lines(p, g, 'b');
}

bool
kn_4wave_packed(const kiln_problem *p, const struct kn_config *g)
{
    bool six = g->bk == 128 && g->wn == 2 && copies_lines(p, g) &&
               g->copies != KN_COPIES_LINES;

    return kn_reads_of(g) == KN_READS_TILE && g->stages == 2 && !g->cus &&
           kn_direct(p, g) && (six || (lags_by_quarters(p, g) && kn_may_lag(p, g)));
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

bool
kn_may_lag(const kiln_problem *p, const struct kn_config *g)
{
    enum kn_reads reads = kn_reads_of(g);

    return (reads == KN_READS_STEP || reads == KN_READS_TILE) &&
           kn_direct(p, g) && (in_lines(p, g, 'a') || in_lines(p, g, 'b')) &&
           (!g->stages || g->stages > 2 || lags_by_quarters(p, g)) &&
           g->lowering != KN_LOWERING_LLVM && g->abi != KN_ABI_AITER &&
           g->stagger < 2 && !p->scale_layout &&
           p->scale != KILN_SCALE_BLOCK128 && !kn_family_of(p)->routed &&
           kn_family_of(p)->ragged != 'k' && !kn_wide_sums(p);
}

uint32_t
kn_share_k(const kiln_problem *p, const struct kn_config *g)
{
    return (kn_line_ring(p, g) ? 4 : 1) * g->bk;
}

bool
kn_lags(const kiln_problem *p, const struct kn_config *g, int side)
{
    return g->copies == KN_COPIES_LINES && in_lines(p, g, side) && !kn_line_ring(p, g);
}

bool
kn_straddles(const kiln_problem *p, const struct kn_config *g)
{
    return (in_lines(p, g, 'a') && row_bits(p, 'a') % (8 * KN_LINE)) ||
           (in_lines(p, g, 'b') && row_bits(p, 'b') % (8 * KN_LINE));
}

bool
kn_scale_dwords(const kiln_problem *p, const struct kn_config *g)
{
    return kn_shuffled(p) && kn_reads_of(g) == KN_READS_TILE &&
           !kn_family_of(p)->routed &&
           (g->bk == 256 || (g->bk == 128 && g->split_k < 2 && g->stagger < 2));
}

/* Slots in whose turn batches of scales have their places. */
static bool
batches_slots(const kiln_problem *p, const struct kn_config *g)
{
    if (kn_reads_of(g) == KN_READS_STEP && !kn_direct(p, g))
        return kn_registers_batch(p, g);
    if (kn_reads_of(g) == KN_READS_STEP)
        return g->stages && kn_room_for_batches(p, g);
    if (kn_reads_of(g) == KN_READS_TILE && !kn_direct(p, g) && !kn_dequant(p))
        return true;
    return g->stages == (kn_8wave_one_slot(g) ? 1
                         : g->copies == KN_COPIES_LINES && !lags_by_quarters(p, g) ? 3
                         : 2);
}

uint32_t
kn_scale_batch(const kiln_problem *p, const struct kn_config *g)
{
    if (p->scale != KILN_SCALE_MX32 || !kn_schedules[g->schedule].batch ||
        !batches_slots(p, g) ||
        kn_family_of(p)->routed || p->scale_layout || g->bk > 256 ||
        ((g->domain.align_sa < 4 || g->domain.align_sb < 4) &&
         kn_direct(p, g) && !kn_unaligned_scales(p, g)))
        return 0;
    return kn_scale_batch_k(g) / g->bk;
}

/* One where two leave no registers: beside factors from 288 columns on. */
uint32_t
kn_b_sets(const kiln_problem *p, const struct kn_config *g)
{
    if (kn_reads_of(g) == KN_READS_TILE)
        return fragment(p, g, 'b').ksteps == 1 && !kn_shuffled(p) &&
               g->bn > (p->scale == KILN_SCALE_MX32 ? 256 : 288) ? 1 : 2;
    return kn_scale_batch(p, g) && fragment(p, g, 'b').ksteps == 1 &&
           p->a != KILN_MXFP4 ? 1 : 2;
}

uint32_t
kn_shares(const struct kn_config *g, const struct kn_frag *a)
{
    if (kn_8wave_one_slot(g))
        return 4;
    if (kn_reads_of(g) == KN_READS_HALVES)
        return 4 / (a->ksteps < 4 ? a->ksteps : 4);
    return a->count >= 4 && a->ksteps > 1 ? a->count / 2 : a->count;
}

/* ---- what needs are made of ---- */

/* LDS is filled directly, and reads of it transpose. */
static bool
wide(const kiln_problem *p)
{
    return kn_targets[p->target].lds_tr;
}

static bool
whole_runs(const kiln_problem *p)
{
    struct kn_domain d = kn_domain_of(p, 256, 0);

    return d.align_a >= 4 && d.align_b >= 4 && p->k % kn_gemv_run(p) == 0;
}

/* Rows whose K is whole 16 bytes. */
static bool
tail_runs(const kiln_problem *p)
{
    return p->k * kn_type_bits[p->a] % 128 == 0 &&
           p->k * kn_type_bits[p->b] % 128 == 0;
}

static uint32_t
shares_of(const kiln_problem *p, const struct kn_config *g)
{
    struct kn_frag a = fragment(p, g, 'a');

    return kn_shares(g, &a);
}

/* Bytes of a K tile's row of the wider operand. */
static uint32_t
row_bytes(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t a = kn_type_bits[p->a], b = kn_type_bits[p->b];

    return g->bk * (a > b ? a : b) / 8;
}

/* ---- the rows ---- */

enum need {
#define NEED(id, holds, sentence) NEED_##id,
#include "forms.def"
    NNEEDS
};

static const struct form {
    const char *file;
    enum kn_schedule schedule;
    uint32_t least, most;
    uint64_t needs;
} forms[] = {
#define N(id) (UINT64_C(1) << NEED_##id)
#define FORM(schedule, file, least, most, needs) \
    { file, KN_SCHED_##schedule, least, most, needs },
#include "forms.def"
#undef N
};

enum { NFORMS = sizeof forms / sizeof *forms };

static const char *const sentences[NNEEDS + 1] = {
#define NEED(id, holds, sentence) sentence,
#include "forms.def"
    "is not written for so many --stages"
};

static bool
holds(enum need need, const kiln_problem *p, const struct kn_config *g)
{
    switch (need) {
#define NEED(id, holds, sentence) case NEED_##id: return holds;
#include "forms.def"
    case NNEEDS: break;
    }
    return false;
}

static const struct exclusion {
    enum kn_when when;
    kiln_status status;
    const char *sentence;
} exclusions[] = {
#define EXCLUDED(when, status, applies, sentence) \
    { KN_##when, KILN_##status, sentence },
#include "forms.def"
};

enum { NEXCLUSIONS = sizeof exclusions / sizeof *exclusions };

static bool
applies(int row, const kiln_problem *p, const struct kn_config *g)
{
    int at = 0;

#define EXCLUDED(when, status, applies, sentence) \
    if (row == at++) \
        return applies;
#include "forms.def"
    return false;
}

/* The first need that p and g do not meet, NNEEDS + 1: none; NNEEDS: stages. */
static int
first_unmet(const struct form *f, const kiln_problem *p,
            const struct kn_config *g)
{
    for (int i = 0; i < NNEEDS; i++)
        if (f->needs >> i & 1 && !holds((enum need)i, p, g))
            return i;
    return g->stages && (g->stages < f->least || g->stages > f->most)
           ? NNEEDS : NNEEDS + 1;
}

/* The form that gets furthest, and how far. */
static const struct form *
nearest(const kiln_problem *p, const struct kn_config *g, int *unmet)
{
    const struct form *best = NULL;

    *unmet = -1;
    for (int i = 0; i < NFORMS; i++) {
        int n;

        if (forms[i].schedule != g->schedule)
            continue;
        n = first_unmet(&forms[i], p, g);
        if (n > *unmet) {
            *unmet = n;
            best = &forms[i];
        }
    }
    return best;
}

const char *
kn_form_lacks(const kiln_problem *p, const struct kn_config *g)
{
    int unmet;

    nearest(p, g, &unmet);
    return unmet < 0 || unmet > NNEEDS ? NULL : sentences[unmet];
}

const char *
kn_loop_file(const kiln_problem *p, const struct kn_config *g)
{
    int unmet;
    const struct form *f = nearest(p, g, &unmet);

    return f ? f->file : "";
}

bool
kn_form_wanted(const kiln_problem *p, const struct kn_config *g)
{
#define WANT(schedule_, holds) \
    if (g->schedule == KN_SCHED_##schedule_ && !(holds)) \
        return false;
#include "forms.def"
    return true;
}

bool
kn_form_divides(const struct kn_config *g)
{
    return kn_schedules[g->schedule].asm_only;
}

enum kn_schedule
kn_form_straight(const kiln_problem *p, uint32_t bk)
{
    return p->k <= 2 * (int64_t)bk ? KN_SCHED_UNROLLED : KN_SCHED_DIRECT;
}

bool
kn_form_assembly(const kiln_problem *p, const struct kn_config *g)
{
#define ASSEMBLY(schedule_, holds) \
    if (g->schedule == KN_SCHED_##schedule_) \
        return holds;
#include "forms.def"
    return false;
}

static const struct exclusion *
excluded(const kiln_problem *p, const struct kn_config *g, enum kn_when when)
{
    for (int i = 0; i < NEXCLUSIONS; i++)
        if (exclusions[i].when <= when && applies(i, p, g))
            return &exclusions[i];
    return NULL;
}

bool
kn_form_allows(const kiln_problem *p, const struct kn_config *g)
{
    return !excluded(p, g, KN_DECIDED) && !kn_form_lacks(p, g);
}

kiln_status
kn_form_allowed(struct kn_ctx *c, const kiln_problem *p,
                const struct kn_config *g, enum kn_when when)
{
    const struct exclusion *x = excluded(p, g, when);

    return x ? kn_fail(c, x->status, "%s", x->sentence) : KILN_OK;
}

kiln_status
kn_form_check(struct kn_ctx *c, const kiln_problem *p,
              const struct kn_config *g)
{
    const char *lacks = kn_form_lacks(p, g);

    return lacks ? kn_fail(c, KILN_UNSUPPORTED, "the schedule %s %s",
                           kn_schedule_names[g->schedule], lacks) : KILN_OK;
}

kiln_status
kn_form_serves(struct kn_ctx *c, const kiln_problem *p,
               const struct kn_config *g)
{
    bool itself = kn_direct_to_reg(g) || kn_reads_of(g) == KN_READS_RUNS;
    const char *lacks = itself ? kn_form_lacks(p, g) : NULL;

    return lacks ? kn_fail(c, KILN_BAD_INPUT, "the kernel's main loop %s",
                           lacks) : KILN_OK;
}
