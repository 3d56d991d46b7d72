/* timing_plan.c - which workgroups of a launch run together: how many a
 * compute unit holds, who they are, and for how long it holds so many.
 *
 * The dispatcher deals workgroup i to chiplet i % 8, there to the next compute
 * unit in turn, and fills a slot that becomes free with the next. Workgroups
 * that end at once (of a grid made for the most any routing could need) take
 * their turn but share nothing. */
#include <stdlib.h>

#include "timing_impl.h"

/* ---- occupancy ---------------------------------------------------------- */

static uint64_t
round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* Workgroups a CU has room for: registers, LDS, wave slots. */
static uint32_t
occupancy(const struct kn_time_model *m)
{
    uint32_t regs = m->kernel->regs ? m->kernel->regs : 8;
    uint32_t waves = 512 / regs;         /* a SIMD */
    uint64_t lds = round_up(m->lds, (uint64_t)m->chip.lds_granule), n;

    if (waves > (uint32_t)m->chip.waves_per_simd)
        waves = (uint32_t)m->chip.waves_per_simd;
    n = 4 * waves / m->nwaves;
    if (lds && (uint64_t)m->chip.lds_bytes / lds < n)
        n = (uint64_t)m->chip.lds_bytes / lds;
    return n ? (uint32_t)n : 1;
}

uint64_t
kn_time_cus_of_xcd(const struct kn_time_model *m)
{
    double n = m->chip.free_cus / m->chip.xcds;

    return n < 1 ? 1 : (uint64_t)n;
}

/* ---- who has work ------------------------------------------------------- */

/* Shorter than this share of the longest: it ends at once. */
static const double short_of_work = 0.05;

static void
find_active(const struct kn_time_model *m, struct kn_time_plan *p)
{
    p->ids = KN_NEW(m->c, uint64_t, m->groups);
    for (uint64_t g = 1; g < m->groups && !p->uniform; g++)
        if (p->len[g] > p->len[p->longest])
            p->longest = g;
    for (uint64_t g = 0; g < m->groups; g++) {
        double share = p->uniform ? 1 : p->len[g] / p->len[p->longest];

        p->total += share;
        if (share > short_of_work)
            p->ids[p->active++] = g;
    }
}

/* As many as a CU of the chiplet with most of them gets, if it has room. */
static uint32_t
residents(const struct kn_time_model *m, const struct kn_time_plan *p)
{
    unsigned xcds = (unsigned)m->chip.xcds;
    uint64_t cus = kn_time_cus_of_xcd(m), most = 0;
    uint64_t *of = KN_NEW(m->c, uint64_t, xcds);
    uint32_t room = occupancy(m);

    for (uint64_t k = 0; k < p->active; k++) {
        uint64_t n = ++of[p->ids[k] % xcds];

        most = n > most ? n : most;
    }
    most = (most + cus - 1) / cus;
    return most < room ? (uint32_t)(most ? most : 1) : room;
}

/* ---- slots -------------------------------------------------------------- */

/* The slot at the top of the heap has a later time now. */
static void
sink(double *heap, size_t n)
{
    size_t k = 0;

    for (;;) {
        size_t l = 2 * k + 1, low = k;
        double t;

        if (l < n && heap[l] < heap[low])
            low = l;
        if (l + 1 < n && heap[l + 1] < heap[low])
            low = l + 1;
        if (low == k)
            return;
        t = heap[k];
        heap[k] = heap[low];
        heap[low] = t;
        k = low;
    }
}

static int
falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? 1 : x > y ? -1 : 0;
}

/* Busy time of each slot of a chiplet, the busiest first, in workgroups as
 * long as the longest. */
static double *
slots_of_xcd(const struct kn_time_model *m, const struct kn_time_plan *p,
             unsigned xcd)
{
    unsigned xcds = (unsigned)m->chip.xcds;
    size_t n = (size_t)kn_time_cus_of_xcd(m) * p->resident;
    double *heap = KN_NEW(m->c, double, n);

    for (uint64_t g = xcd; g < m->groups; g += xcds) {
        heap[0] += p->uniform ? 1 : p->len[g] / p->len[p->longest];
        sink(heap, n);
    }
    qsort(heap, n, sizeof *heap, falling);
    return heap;
}

static double
clamp(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* Slots of a chiplet that hold a workgroup, on average between two times. */
static double
busy_slots(const double *slot, size_t n, double from, double to)
{
    double sum = 0;

    for (size_t s = 0; s < n; s++)
        sum += clamp(slot[s], from, to) - from;
    return sum / (to - from);
}

/* Level k: while a CU of some chiplet holds k workgroups or more, and less of
 * each level above. Its CUs: what is in flight, hence the share of bandwidth,
 * goes with the workgroups of a CU (GL docs/memory_bandwidth_model.md), so those
 * that hold fewer than k count in part. In its first half, since workgroups
 * only grow fewer. */
static void
find_levels(const struct kn_time_model *m, struct kn_time_plan *p)
{
    unsigned xcds = (unsigned)m->chip.xcds;
    size_t cus = (size_t)kn_time_cus_of_xcd(m);
    double **slot = KN_NEW(m->c, double *, xcds), from, half, busy;
    double *end = KN_NEW(m->c, double, p->resident + 1);

    p->level = KN_NEW(m->c, struct kn_time_level, p->resident + 1);
    for (unsigned x = 0; x < xcds; x++) {
        slot[x] = slots_of_xcd(m, p, x);
        for (uint32_t k = 0; k < p->resident; k++)
            end[k] = slot[x][k * cus] > end[k] ? slot[x][k * cus] : end[k];
    }
    for (uint32_t k = 1; k <= p->resident; k++) {
        from = end[k];
        half = 0.5 * (from + end[k - 1]);
        busy = 0;
        for (unsigned x = 0; x < xcds && half > from; x++)
            busy += busy_slots(slot[x], k * cus, from, half) / k;
        p->level[k].turns = end[k - 1] - from;
        p->level[k].cus = busy > 1 ? busy : 1;
    }
    p->rounds = end[0];
}

kiln_status
kn_time_make_plan(struct kn_time_model *m, struct kn_time_plan *p)
{
    p->len = KN_NEW(m->c, double, m->groups);
    KN_TRY(kn_time_find_lengths(m, p->len, &p->uniform));
    find_active(m, p);
    p->resident = residents(m, p);
    find_levels(m, p);
    m->length = p->len[p->longest];
    return KILN_OK;
}

/* ---- neighbours --------------------------------------------------------- */

/* Those of the recorded one's chiplet that are as long, in order. */
static uint64_t
peers(const struct kn_time_model *m, const struct kn_time_plan *p,
      uint64_t *out)
{
    uint64_t xcds = (uint64_t)m->chip.xcds, n = 0;

    for (uint64_t k = 0; k < p->active; k++) {
        uint64_t g = p->ids[k];

        if (g % xcds == p->longest % xcds &&
            (p->uniform || p->len[g] >= 0.99 * p->len[p->longest]))
            out[n++] = g;
    }
    return n;
}

uint32_t
kn_time_neighbours(const struct kn_time_model *m, const struct kn_time_plan *p,
                   uint64_t *id)
{
    uint64_t *peer = KN_NEW(m->c, uint64_t, p->active), at = 0, n;
    uint64_t cus = kn_time_cus_of_xcd(m);
    uint32_t found = 0;

    n = peers(m, p, peer);
    while (peer[at] != p->longest)
        at++;
    while (found < p->resident && found < n) {
        uint64_t g = peer[(at + found * cus) % n];

        for (uint32_t k = 0; k < found; k++)
            if (id[k] == g)
                return found;
        id[found++] = g;
    }
    return found;
}
