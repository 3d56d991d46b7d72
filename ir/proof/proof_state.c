/* proof_state.c - the abstract state of the fence proof: what is outstanding
 * and what each LDS slot is in, weakest over all paths to a place.
 *
 * Stamps are positions in a queue, meaningful relative to its `now`. For slots
 * and loaded registers the youngest stamp of all paths is kept, for registers
 * that hold an LDS read the oldest, so that "waiting for this register covers
 * that slot" holds on every path. */
#include "proof.h"

#include <string.h>

/* Older operations than this are told apart no more. Beyond both counters'
 * reach and any distance between a read and its use that matters. */
enum { HORIZON = 256 };

static struct proof_state
allocate(const struct proof *p)
{
    struct proof_state s = { 0 };

    s.slot = KN_NEW(p->c, struct proof_slot, p->nslots + 1);
    s.load = KN_NEW(p->c, int32_t, 2 * p->nplace);
    s.lds = s.load + p->nplace;
    return s;
}

struct proof_state
proof_state_new(const struct proof *p)
{
    struct proof_state s = allocate(p);

    for (uint32_t i = 0; i < p->nslots; i++) {
        struct proof_slot *l = &s.slot[i];

        l->fill[PROOF_VM] = l->fill[PROOF_LGKM] = PROOF_DONE;
        l->read = l->own = PROOF_DONE;
    }
    for (uint32_t i = 0; i < 2 * p->nplace; i++)
        s.load[i] = PROOF_DONE;
    s.share = s.arrival = PROOF_DONE;
    return s;
}

struct proof_state
proof_state_copy(const struct proof *p, const struct proof_state *from)
{
    struct proof_state s = allocate(p), places = s;

    s = *from;
    s.slot = places.slot;
    s.load = places.load;
    s.lds = places.lds;
    memcpy(s.slot, from->slot, p->nslots * sizeof *s.slot);
    memcpy(s.load, from->load, 2 * p->nplace * sizeof *s.load);
    return s;
}

bool
proof_pending(const struct proof_state *s, int queue, int32_t stamp)
{
    return stamp != PROOF_DONE && stamp > s->q[queue].done;
}

int32_t
proof_issue(struct proof_state *s, int queue)
{
    return ++s->q[queue].now;
}

void
proof_wait_for(struct proof_state *s, int queue, int32_t stamp)
{
    if (stamp > s->q[queue].done)
        s->q[queue].done = stamp;
}

void
proof_wait(struct proof_state *s, int queue, int32_t left)
{
    proof_wait_for(s, queue, s->q[queue].now - left);
}

static bool
filling(const struct proof_state *s, const struct proof_slot *l)
{
    return proof_pending(s, PROOF_VM, l->fill[PROOF_VM]) ||
           proof_pending(s, PROOF_LGKM, l->fill[PROOF_LGKM]);
}

static void
publish(struct proof_state *s, struct proof_slot *l, struct kn_loc at)
{
    if (!filling(s, l)) {
        l->dirty = l->dirty ? l->dirty - 1 : 0;
        l->shared &= l->dirty > 0;
        l->barrier_at = (struct kn_loc){ 0 };
        return;
    }
    l->dirty = proof_apart(s);
    if (l->barrier_at.line)
        return;
    l->barrier_at = at;
    for (int q = 0; q < PROOF_QUEUES; q++)
        if (proof_pending(s, q, l->fill[q])) {
            l->queue = q;
            l->behind = s->q[q].now - l->fill[q];
            l->allowed = s->q[q].now - s->q[q].done;
        }
}

void
proof_barrier(const struct proof *p, struct proof_state *s, struct kn_loc at)
{
    for (uint32_t i = 0; i < p->nslots; i++) {
        struct proof_slot *l = &s->slot[i];

        publish(s, l, at);
        if (proof_pending(s, PROOF_LGKM, l->read))
            l->busy = proof_apart(s);
        else
            l->busy = l->busy ? l->busy - 1 : 0;
    }
}

/* What has completed needs one barrier as before: the later half's extra one
 * lies between it and all that half does next. */
void
proof_stagger(const struct proof *p, struct proof_state *s)
{
    s->apart = true;
    for (uint32_t i = 0; i < p->nslots; i++) {
        struct proof_slot *l = &s->slot[i];

        if (filling(s, l))
            l->dirty = 2;
        if (proof_pending(s, PROOF_LGKM, l->read))
            l->busy = 2;
    }
}

void
proof_rejoin(const struct proof *p, struct proof_state *s, struct kn_loc at)
{
    s->apart = false;
    proof_barrier(p, s, at);
}

/* ---- joins ---- */

/* A stamp relative to `now`: completed ones all look the same, old ones are
 * as old as the horizon (younger than they are: the safe side). */
static int32_t
relative(const struct proof_state *s, int queue, int32_t stamp)
{
    if (!proof_pending(s, queue, stamp))
        return PROOF_DONE;
    stamp -= s->q[queue].now;
    return stamp < -HORIZON ? -HORIZON : stamp;
}

/* The same of all registers, without a branch: no queue's `done` is as old as
 * PROOF_DONE. */
static void
relative_all(const struct proof_state *s, int queue, int32_t *stamp, size_t n)
{
    int32_t now = s->q[queue].now, done = s->q[queue].done;

    for (size_t i = 1; i < n; i++) {
        int32_t old = stamp[i], age = old - now;

        age = age < -HORIZON ? -HORIZON : age;
        stamp[i] = old > done ? age : PROOF_DONE;
    }
}

/* Makes every stamp relative, so that states compare and join by fields. */
static void
normalise(const struct proof *p, struct proof_state *s)
{
    for (uint32_t i = 0; i < p->nslots; i++) {
        struct proof_slot *l = &s->slot[i];

        for (int q = 0; q < PROOF_QUEUES; q++)
            l->fill[q] = relative(s, q, l->fill[q]);
        l->read = relative(s, PROOF_LGKM, l->read);
        l->own = relative(s, PROOF_LGKM, l->own);
    }
    relative_all(s, PROOF_VM, s->load, p->nplace);
    relative_all(s, PROOF_LGKM, s->lds, p->nplace);
    /* Waiting for a read beyond the horizon promises nothing. */
    for (size_t i = 1; i < p->nplace; i++)
        s->lds[i] = s->lds[i] == -HORIZON ? PROOF_DONE : s->lds[i];
    s->share = relative(s, PROOF_VM, s->share);
    s->arrival = relative(s, PROOF_VM, s->arrival);
    for (int q = 0; q < PROOF_QUEUES; q++) {
        struct proof_queue *x = &s->q[q];

        x->done -= x->now;
        x->now = 0;
        if (x->done < -HORIZON - 1)
            x->done = -HORIZON - 1;
    }
}

static bool
to_max(int32_t *a, int32_t b)
{
    if (b <= *a)
        return false;
    *a = b;
    return true;
}

static bool
to_min(int32_t *a, int32_t b)
{
    if (b >= *a)
        return false;
    *a = b;
    return true;
}

static bool
to_more(uint8_t *a, uint8_t b)
{
    if (b <= *a)
        return false;
    *a = b;
    return true;
}

static bool
to_true(bool *a, bool b)
{
    if (*a || !b)
        return false;
    return *a = true;
}

static bool
join_slot(struct proof_slot *a, const struct proof_slot *b)
{
    bool changed = to_max(&a->fill[PROOF_VM], b->fill[PROOF_VM]);

    changed |= to_max(&a->fill[PROOF_LGKM], b->fill[PROOF_LGKM]);
    if (to_max(&a->read, b->read) || b->busy > a->busy) {
        a->read_at = b->read_at;
        changed = true;
    }
    changed |= to_max(&a->own, b->own);
    if (to_more(&a->dirty, b->dirty)) {
        a->write_at = b->write_at;
        changed = true;
    }
    if (b->barrier_at.line && !a->barrier_at.line) {
        a->barrier_at = b->barrier_at;
        a->queue = b->queue;
        a->behind = b->behind;
        a->allowed = b->allowed;
    }
    changed |= to_true(&a->shared, b->shared);
    changed |= to_more(&a->busy, b->busy);
    changed |= to_true(&a->consumed, b->consumed);
    for (int i = 0; i < PROOF_WRITES / 64; i++) {
        changed |= (a->filled.w[i] & ~b->filled.w[i]) != 0;
        a->filled.w[i] &= b->filled.w[i];
    }
    return changed;
}

bool
proof_join(const struct proof *p, struct proof_state *a, struct proof_state *b)
{
    bool changed = false;

    if (!b->live)
        return false;
    normalise(p, b);
    if (!a->live) {
        *a = proof_state_copy(p, b);
        return true;
    }
    normalise(p, a);
    for (int q = 0; q < PROOF_QUEUES; q++)
        changed |= to_min(&a->q[q].done, b->q[q].done);
    for (uint32_t i = 0; i < p->nslots; i++)
        changed |= join_slot(&a->slot[i], &b->slot[i]);
    for (size_t i = 1; i < p->nplace; i++) {
        changed |= to_max(&a->load[i], b->load[i]);
        changed |= to_min(&a->lds[i], b->lds[i]);
    }
    changed |= to_max(&a->share, b->share);
    changed |= to_max(&a->arrival, b->arrival);
    if (a->arrived && !b->arrived) {
        a->arrived = false;
        changed = true;
    }
    return changed;
}
