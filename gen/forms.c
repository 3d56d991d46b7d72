/* forms.c - asks the rows of forms.def. */
#include "forms.h"

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

/* ---- what needs are made of ---- */

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

bool
kn_may_end(const kiln_problem *p, const struct kn_config *g)
{
    return kn_reads_of(g) == KN_READS_TILE && kn_direct(p, g) && g->stages == 2 &&
           !kn_4wave_packed(p, g) && g->domain.ktail && p->k && tail_runs(p) &&
           (kn_along_k(p, 'a') || kn_along_k(p, 'b')) && g->stagger < 2 &&
           g->abi != KN_ABI_AITER && !kn_family_of(p)->routed &&
           kn_family_of(p)->ragged != 'k';
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
kn_own_lds(const kiln_problem *p, const struct kn_config *g)
{
    int unmet;
    const struct form *f = nearest(p, g, &unmet);

    return kn_direct_to_reg(g) || (f && f->needs >> NEED_PACKED_4WAVE & 1);
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
kn_form_divides(const kiln_problem *p, const struct kn_config *g)
{
    enum kn_reads reads = kn_reads_of(g);
    bool full = kn_multiplies_blocks(p) && g->bm * g->bn >= 256 * 256;

    return kn_schedules[g->schedule].asm_only ||
           (kn_family_of(p)->ragged == 'm' && p->groups > 1 && !full &&
            (reads == KN_READS_STEP || reads == KN_READS_HALVES));
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
