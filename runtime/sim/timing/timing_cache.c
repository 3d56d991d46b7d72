/* timing_cache.c - what the workgroups of a launch share, from what they do:
 * each of the first round runs up to its second loop iteration, and the lines
 * it loads are compared with its neighbours'. Workgroup i goes to chiplet
 * i % 8 (HipKittens, ROCm blog on XCD remapping). The length of workgroups is
 * probed with their first wave alone. */
#include "timing_impl.h"

kiln_status
kn_time_run(struct kn_time_model *m, const struct kn_sim_launch *l)
{
    enum { BYTES = KILN_WORKSPACE_ZEROS };
    struct kn_sim_result result;

    if (m->last)
        KN_TRY(kn_sim_write(m->q->sim, m->q->shares.workspace, m->last, BYTES));
    KN_TRY(kn_sim_run(m->q->sim, l, &result));
    return result.stopped ? kn_fail(m->c, KILN_UNSUPPORTED, "stopped: %s",
                                    result.stopped) : KILN_OK;
}

/* ---- lines -------------------------------------------------------------- */

struct set {                 /* of lines; open addressing, 0 is free */
    uint64_t *slot;
    size_t n, cap;           /* cap: power of two */
};

static bool
set_add(struct kn_ctx *c, struct set *s, uint64_t key)
{
    size_t at;

    key++;
    if (2 * s->n >= s->cap) {
        struct set bigger = { .cap = s->cap ? 4 * s->cap : 1 << 10 };

        bigger.slot = KN_NEW(c, uint64_t, bigger.cap);
        for (size_t k = 0; k < s->cap; k++)
            if (s->slot[k])
                set_add(c, &bigger, s->slot[k] - 1);
        *s = bigger;
    }
    at = (size_t)(key * 0x9e3779b97f4a7c15u >> 20) & (s->cap - 1);
    while (s->slot[at] && s->slot[at] != key)
        at = (at + 1) & (s->cap - 1);
    if (s->slot[at])
        return false;
    s->slot[at] = key;
    s->n++;
    return true;
}

struct probe {
    struct kn_time_model *m;
    uint32_t chip;           /* chiplet of the workgroup */
    uint64_t cu;             /* its compute unit */
    uint64_t *dealt;         /* workgroups of each chiplet so far */
    uint32_t *heads, *steps; /* of each wave */
    struct set *door, *l2, all; /* door: of each CU, whose L1 asks for them */
    uint64_t asked;          /* lines of all doors */
};

static void
begin_group(void *user, uint64_t linear)
{
    struct probe *p = user;

    uint64_t cus = kn_time_cus_of_xcd(p->m);

    p->chip = (uint32_t)(linear % (uint64_t)p->m->chip.xcds);
    p->cu = p->dealt[p->chip]++ % cus + cus * p->chip;
    memset(p->heads, 0, p->m->nwaves * sizeof *p->heads);
    memset(p->steps, 0, p->m->nwaves * sizeof *p->steps);
}

static bool
until_second_head(void *user, uint32_t wave, uint32_t inst)
{
    enum { MOST = 3000 };    /* of a kernel without a loop */
    struct probe *p = user;

    p->heads[wave] += p->m->inst[inst].head;
    return p->heads[wave] < 2 && ++p->steps[wave] < MOST;
}

static void
see_lines(void *user, uint32_t wave, const struct kn_sim_access *a)
{
    struct probe *p = user;
    uint64_t last = UINT64_MAX;

    (void)wave;
    if (!a->mem || a->write)
        return;
    for (uint64_t k = a->mask; k; k &= k - 1) {
        uint64_t line = a->mem[__builtin_ctzll(k)] >> 7;

        if (line == last)
            continue;
        last = line;
        if (!set_add(p->m->c, &p->door[p->cu], line))
            continue;
        p->asked++;
        if (set_add(p->m->c, &p->l2[p->chip], line))
            set_add(p->m->c, &p->all, line);
    }
}

kiln_status
kn_time_find_reuse(struct kn_time_model *m, const struct kn_time_plan *plan,
                   struct kn_time_reuse *out)
{
    enum { MOST = 1024 };
    struct probe p = { .m = m };
    struct kn_sim_tap tap = { .user = &p, .skip_mfma = true,
                              .lean = !m->q->whole,
                              .no_lds = true, .group = begin_group,
                              .inst = until_second_head,
                              .access = see_lines };
    struct kn_sim_launch l = *m->q->launch;
    uint64_t cus = kn_time_cus_of_xcd(m) * (uint64_t)m->chip.xcds,
             n = cus * plan->resident, misses = 0;

    if (n > plan->active)
        n = plan->active;
    if (n > MOST)
        n = MOST;
    p.heads = KN_NEW(m->c, uint32_t, m->nwaves);
    p.steps = KN_NEW(m->c, uint32_t, m->nwaves);
    p.dealt = KN_NEW(m->c, uint64_t, (size_t)m->chip.xcds);
    p.door = KN_NEW(m->c, struct set, cus);
    p.l2 = KN_NEW(m->c, struct set, (size_t)m->chip.xcds);
    l.select = (struct kn_sim_select){ .ids = plan->ids, .n = n };
    l.tap = &tap;
    l.progress = NULL;
    KN_TRY(kn_time_run(m, &l));
    for (unsigned k = 0; k < (unsigned)m->chip.xcds; k++)
        misses += p.l2[k].n;
    out->l2_miss = p.asked ? (double)misses / (double)p.asked : 0;
    out->hbm = p.asked ? (double)p.all.n / (double)p.asked : 0;
    out->bytes = 128.0 * (double)p.all.n;
    return KILN_OK;
}

/* ---- length of workgroups ----------------------------------------------- */

struct count {
    const struct kn_time_model *m;
    uint64_t n, progress;
};

static bool
count_first_wave(void *user, uint32_t wave, uint32_t inst)
{
    struct count *k = user;

    if (wave)
        return false;
    k->n++;
    if (kn_time_works(&k->m->inst[inst]))
        k->progress = k->n;
    return k->n - k->progress < KN_TIME_IDLE;
}

static kiln_status
probe_length(struct kn_time_model *m, uint64_t group, double *length)
{
    struct count k = { .m = m };
    struct kn_sim_tap tap = { .user = &k, .skip_mfma = true,
                              .lean = !m->q->whole, .alone = true,
                              .no_lds = true, .blind = m->blind,
                              .inst = count_first_wave };
    struct kn_sim_launch l = *m->q->launch;

    if (*length > 0)
        return KILN_OK;
    l.select = (struct kn_sim_select){ .ids = &group, .n = 1 };
    l.tap = &tap;
    l.progress = NULL;
    KN_TRY(kn_time_run(m, &l));
    *length = (double)(k.progress ? k.progress : k.n);
    return KILN_OK;
}

static bool
alike(double a, double b)
{
    double d = a > b ? a - b : b - a;

    return d <= 0.01 * (a > b ? a : b);
}

/* Every step-th workgroup from `first` on, one chiplet's: their lengths are a
 * sequence, those of neighbours in the grid need not be. */
struct chain {
    struct kn_time_model *m;
    double *len;
    uint64_t first, step;
    unsigned budget;
};

static double *
link_of(const struct chain *s, uint64_t k)
{
    return &s->len[s->first + k * s->step];
}

static kiln_status
probe_link(const struct chain *s, uint64_t k)
{
    return probe_length(s->m, s->first + k * s->step, link_of(s, k));
}

/* Between two probes of equal length nothing else is expected; where they
 * differ the middle is probed, until the budget is spent. */
static kiln_status
refine(struct chain *s, uint64_t lo, uint64_t hi)
{
    uint64_t mid = lo + (hi - lo) / 2;
    double a = *link_of(s, lo), b = *link_of(s, hi);

    if (hi - lo < 2)
        return KILN_OK;
    if (alike(a, b) || !s->budget) {
        for (uint64_t k = lo + 1; k < hi; k++)
            *link_of(s, k) = k <= mid ? a : b;
        return KILN_OK;
    }
    --s->budget;
    KN_TRY(probe_link(s, mid));
    KN_TRY(refine(s, lo, mid));
    return refine(s, mid, hi);
}

static kiln_status
probe_chain(struct chain *s, uint64_t n)
{
    enum { PARTS = 2 };
    uint64_t last = n - 1;

    for (unsigned k = 0; k <= PARTS; k++)
        KN_TRY(probe_link(s, last * k / PARTS));
    for (unsigned k = 0; k < PARTS; k++)
        KN_TRY(refine(s, last * k / PARTS, last * (k + 1) / PARTS));
    return KILN_OK;
}

/* The launch says how much each has to do: the length is a line through those
 * of the least and the most. */
static kiln_status
known_lengths(struct kn_time_model *m, double *len, bool *uniform)
{
    const uint32_t *work = m->q->work;
    uint64_t least = 0, most = 0, none = m->groups;
    double step = 0, lo, hi;

    for (uint64_t g = 0; g < m->groups; g++) {
        if (!work[g])
            none = g;
        if (work[g] && (!work[least] || work[g] < work[least]))
            least = g;
        if (work[g] > work[most])
            most = g;
    }
    KN_TRY(probe_length(m, least, &len[least]));
    KN_TRY(probe_length(m, most, &len[most]));
    if (none < m->groups)
        KN_TRY(probe_length(m, none, &len[none]));
    lo = len[least];
    hi = len[most];
    if (work[most] > work[least])
        step = (hi - lo) / (work[most] - work[least]);
    for (uint64_t g = 0; g < m->groups; g++)
        len[g] = work[g] ? lo + step * (work[g] - work[least]) : len[none];
    *uniform = none == m->groups && alike(lo, hi);
    return KILN_OK;
}

kiln_status
kn_time_find_lengths(struct kn_time_model *m, double *len, bool *uniform)
{
    enum { BUDGET = 16 };
    uint64_t xcds = (uint64_t)m->chip.xcds;

    if (m->q->work)
        return known_lengths(m, len, uniform);
    for (uint64_t x = 0; x < xcds && x < m->groups; x++) {
        struct chain s = { m, len, x, xcds, BUDGET };

        KN_TRY(probe_chain(&s, (m->groups - x + xcds - 1) / xcds));
    }
    *uniform = true;
    for (uint64_t g = 1; g < m->groups; g++)
        *uniform &= alike(len[0], len[g]);
    return KILN_OK;
}
