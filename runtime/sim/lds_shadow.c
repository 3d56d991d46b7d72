/* lds_shadow.c - the shadow of a workgroup's LDS (lds.c) from reset to barrier,
 * and which bytes an access touches. */
#include "core.h"

void
kn_lds_reset(struct kn_group *g)
{
    static const uint32_t poison = KN_POISON;
    struct kn_lds_shadow *s = g->shadow;

    for (uint32_t k = 0; k + 4 <= g->lds_size; k += 4)
        memcpy(g->lds + k, &poison, 4);
    s->shift = 2;
    s->n = (g->lds_size + 3) / 4;
    s->stamp = s->safe = 0;
    s->narrow = false;
    if (s->n) {
        memset(s->writer, 0, s->n * sizeof *s->writer);
        memset(s->reader, 0, (size_t)g->nwaves * s->n * sizeof *s->reader);
    }
    memset(s->read_base, 0, g->nwaves * sizeof *s->read_base);
    memset(s->last_read, 0, g->nwaves * sizeof *s->last_read);
}

void
kn_lds_narrow(struct kn_group *g)
{
    struct kn_lds_shadow *s = g->shadow;
    size_t n = (size_t)g->nwaves * s->n;

    memcpy(s->wide, s->reader, n * sizeof *s->wide);
    memset(s->part, 0, 4 * n * sizeof *s->part);
    s->narrow = true;
}

/* The arrays have room for it. */
void
kn_lds_refine(struct kn_group *g)
{
    struct kn_lds_shadow *s = g->shadow;
    uint32_t n = s->n;

    for (uint32_t k = n; k-- > 0;) {
        uint32_t w = s->writer[k], four[4] = { w, w, w, w };

        memcpy(s->writer + (size_t)k * 4, four, sizeof four);
    }
    for (size_t k = (size_t)g->nwaves * n; k-- > 0;) {
        uint64_t four = s->reader[k] * (uint64_t)0x0001000100010001;

        memcpy(s->reader + k * 4, &four, sizeof four);
    }
    for (size_t k = 0; s->narrow && k < (size_t)g->nwaves * n * 4; k++)
        s->reader[k] = s->part[k] > s->wide[k / 4] ? s->part[k]
                                                   : s->wide[k / 4];
    s->narrow = false;
    s->shift = 0;
    s->n = n * 4;
}

static void
forget(uint16_t *mark, uint32_t n, uint32_t by)
{
    for (uint32_t k = 0; k < n; k++)
        mark[k] = mark[k] > by ? (uint16_t)(mark[k] - by) : 0;
}

/* Reader entries count from read_base in 16 bits. Past that the oldest half
 * is forgotten: a read that many LDS instructions ago counts as ordered. */
uint16_t
kn_lds_reader_mark(struct kn_wave *w)
{
    struct kn_lds_shadow *s = w->group->shadow;
    uint32_t seq = w->async->ds_seq, id = w->id;
    uint16_t *r = s->reader + (size_t)id * s->n;

    if (seq - s->read_base[id] > UINT16_MAX) {
        uint32_t by = seq - s->read_base[id] - UINT16_MAX / 2;

        forget(r, s->n, by);
        if (s->narrow) {
            forget(s->wide + (size_t)id * s->n, s->n, by);
            forget(s->part + (size_t)id * s->n * 4, s->n * 4, by);
        }
        s->read_base[id] += by;
    }
    s->last_read[id] = seq;
    s->read_inst[(size_t)id * KN_LDS_READS + seq % KN_LDS_READS] =
        w->async->ds[seq % KN_DS_RING].inst;
    return (uint16_t)(seq - s->read_base[id]);
}

static uint32_t
oldest_stamp(const struct kn_async *a)
{
    uint32_t min = UINT32_MAX;

    for (uint32_t q = a->vm_done + 1; q <= a->vm_seq; q++) {
        uint32_t stamp = a->vm[q % KN_VM_RING].stamp;
        if (stamp && stamp < min)
            min = stamp;
    }
    for (uint32_t q = a->ds_done + 1; q <= a->ds_seq; q++) {
        uint32_t stamp = a->ds[q % KN_DS_RING].stamp;
        if (stamp && stamp < min)
            min = stamp;
    }
    return min;
}

/* What a wave alone has waited for needs no barrier to be in order. */
void
kn_lds_settle(struct kn_wave *w)
{
    struct kn_lds_shadow *s = w->group->shadow;
    uint32_t oldest = oldest_stamp(w->async);

    s->safe = oldest == UINT32_MAX ? s->stamp : oldest - 1;
}

void
kn_lds_barrier(struct kn_group *g)
{
    uint32_t oldest = UINT32_MAX;

    for (uint32_t k = 0; k < g->nwaves; k++) {
        struct kn_async *a = g->wave[k].async;
        uint32_t stamp = oldest_stamp(a);

        a->vm_barrier = a->vm_done;
        a->ds_barrier = a->ds_done;
        if (stamp < oldest)
            oldest = stamp;
    }
    g->shadow->safe = oldest == UINT32_MAX ? g->shadow->stamp : oldest - 1;
    g->epoch++;
}

void
kn_lds_tap(struct kn_wave *w, const struct kn_lds_access *x, bool write)
{
    const struct kn_sim_tap *tap = w->group->run->l->tap;
    struct kn_sim_access a = { .mask = x->mask, .bytes = x->bytes,
                               .write = write, .lds = x->addr };

    if (tap && tap->access)
        tap->access(tap->user, w->id, &a);
}

/* ---- the lanes of an access --------------------------------------------- */

/* No lane is outside the allocation or cuts a dword, whatever the mask. */
static bool
all_near(const struct kn_group *g, const struct kn_lds_access *x)
{
    uint32_t low = x->bytes, most = g->lds_size - x->bytes, over = 0;

    for (unsigned l = 0; l < KN_LANES; l++) {
        low |= x->addr[l];
        over |= x->addr[l] > most;
    }
    return x->bytes <= g->lds_size && !over &&
           (!(low & 3) || !g->shadow->shift);
}

/* Drops lanes outside the allocation; refines if a granule is cut. */
void
kn_lds_range(struct kn_wave *w, const struct kn_inst *i,
             struct kn_lds_access *x)
{
    struct kn_group *g = w->group;
    uint32_t cut = x->bytes & 3;
    uint64_t bad = 0;

    if (all_near(g, x))
        return;
    for (unsigned l = 0; l < KN_LANES; l++) {
        if (!(x->mask >> l & 1))
            continue;
        cut |= x->addr[l] & 3;
        bad |= (uint64_t)((uint64_t)x->addr[l] + x->bytes > g->lds_size) << l;
    }
    if (bad) {
        int lane = __builtin_ctzll(bad);
        kn_report(w, i, KN_F_LDS_RANGE, KN_AT(lane, x->addr[lane]),
                  "%u bytes at LDS address 0x%x, the workgroup has 0x%x",
                  x->bytes, x->addr[lane], g->lds_size);
        x->mask &= ~bad;
    }
    if (cut && g->shadow->shift && x->mask)
        kn_lds_refine(g);
}

void
kn_lds_touch(struct kn_wave *w, const struct kn_inst *i,
             struct kn_lds_access *x, bool write)
{
    kn_lds_range(w, i, x);
    kn_lds_tap(w, x, write);
}
