/* order_pair.c - waves that a branch has parted for good or for a while, each
 * side with LDS accesses and barriers of its own: barrier by barrier what the
 * one side may be doing against what the other may. The n-th barrier of a side
 * is met by the n-th of the other; ways that cannot end with as many barriers
 * as the other side has are taken by no launch that ends. */
#include <string.h>

#include "order_impl.h"

enum { MOST_PAIRS = 1 << 22, MOST_STEPS = 1 << 18 };

/* From behind one barrier to behind the next: what may be under way. */
struct stretch {
    uint32_t to, next;       /* next: of the same spot, +1 */
    uint64_t *set;           /* of accesses */
};

/* Behind a barrier, or where the side begins; spot 0 is its end. */
struct spot {
    uint32_t way, inst, site;
    uint32_t first;          /* stretch, +1 */
    uint64_t *active;        /* what the barrier did not end */
};

struct side {
    uint32_t nspots, nstretches;
    struct spot *spot;
    struct stretch *stretch;
    size_t spot_cap, stretch_cap;
};

struct pairer {
    struct kn_orderer *o;
    int32_t fork;
    uint32_t words, steps;
    uint64_t *path;          /* accesses on the way */
    uint8_t *on;             /* by way: on the path */
    struct side side[2];
    uint8_t *state;          /* by pair of spots */
};
enum { REACHED = 1, ENDS = 2 };

/* ---- one side ------------------------------------------------------------ */

static void
note_active(struct pairer *x, struct spot *s)
{
    struct kn_orderer *o = x->o;
    const struct kn_way *w = &o->ways.way[s->way];
    uint32_t site = w->site;
    bool report = o->report;

    memcpy(o->now, o->in[s->way], o->n + 1);
    o->report = false;
    for (uint32_t n = o->g.blocks[w->block].first; n < s->inst; n++)
        kn_order_step(o, w, n, &site);
    o->report = report;
    s->site = site;
    for (uint32_t k = 0; k < o->n; k++)
        if (o->now[k] != KN_OVER)
            s->active[k / 64] |= 1ull << k % 64;
}

static uint32_t
spot_at(struct pairer *x, struct side *s, uint32_t way, uint32_t inst)
{
    struct spot y = { .way = way, .inst = inst };

    for (uint32_t k = 1; k < s->nspots; k++)
        if (s->spot[k].way == way && s->spot[k].inst == inst)
            return k;
    y.active = KN_NEW(x->o->c, uint64_t, x->words);
    note_active(x, &y);
    s->spot = kn_grow(x->o->c, s->spot, &s->spot_cap, s->nspots + 1,
                      sizeof *s->spot);
    s->spot[s->nspots] = y;
    return s->nspots++;
}

static void
add_stretch(struct pairer *x, struct side *s, uint32_t from, uint32_t to)
{
    struct stretch *t = NULL;

    for (uint32_t e = s->spot[from].first; e; e = s->stretch[e - 1].next)
        if (s->stretch[e - 1].to == to)
            t = &s->stretch[e - 1];
    if (!t) {
        s->stretch = kn_grow(x->o->c, s->stretch, &s->stretch_cap,
                             s->nstretches + 1, sizeof *s->stretch);
        t = &s->stretch[s->nstretches++];
        *t = (struct stretch){ to, s->spot[from].first,
                               KN_NEW(x->o->c, uint64_t, x->words) };
        s->spot[from].first = s->nstretches;
    }
    for (uint32_t k = 0; k < x->words; k++)
        t->set[k] |= x->path[k] | s->spot[from].active[k];
}

static bool
inside(const struct pairer *x, uint32_t way)
{
    int32_t f = x->o->ways.way[way].fork;

    while (f >= 0 && f != x->fork)
        f = x->o->ways.fork[f].outer;
    return f == x->fork;
}

/* Every way on from an instruction to the barriers it comes to. */
static void
follow(struct pairer *x, struct side *s, uint32_t from, const struct spot *at)
{
    const struct kn_orderer *o = x->o;
    const struct kn_way *w = &o->ways.way[at->way];
    const struct kn_block *b = &o->g.blocks[w->block];
    uint64_t *keep = KN_NEW(o->c, uint64_t, x->words);
    uint32_t site = at->site, n;
    bool ends = true;

    if (x->steps++ > MOST_STEPS)
        return;
    memcpy(keep, x->path, x->words * sizeof *keep);
    for (n = at->inst; !w->empty && n < b->end; n++) {
        if (o->p->inst[n].op == KN_I_s_barrier && !w->half) {
            uint32_t to = spot_at(x, s, at->way, n + 1);

            add_stretch(x, s, from, to);
            break;
        }
        if (kn_lds_kind(&o->p->inst[n])) {
            uint32_t a = o->number[site++];

            if (a != UINT32_MAX)
                x->path[a / 64] |= 1ull << a % 64;
        }
    }
    if (w->empty || n == b->end) {
        for (uint32_t e = w->edge; e != KN_NO_EDGE; e = o->ways.edge[e].next) {
            uint32_t to = o->ways.edge[e].to;
            const struct kn_way *y = &o->ways.way[to];
            struct spot next = { .way = to, .site = y->site,
                                 .inst = o->g.blocks[y->block].first };

            if (o->ways.edge[e].side)
                continue;
            ends = false;
            if (!inside(x, to))
                add_stretch(x, s, from, 0);
            else if (!x->on[to]) {
                x->on[to] = 1;
                follow(x, s, from, &next);
                x->on[to] = 0;
            }
        }
        if (ends)
            add_stretch(x, s, from, 0);
    }
    memcpy(x->path, keep, x->words * sizeof *keep);
}

static void
find_side(struct pairer *x, unsigned which)
{
    const struct kn_fork *f = &x->o->ways.fork[x->fork];
    struct side *s = &x->side[which];
    uint32_t way = f->entry[which];
    const struct kn_way *w = &x->o->ways.way[way];

    memset(s, 0, sizeof *s);
    s->spot = kn_grow(x->o->c, NULL, &s->spot_cap, 8, sizeof *s->spot);
    s->spot[0] = (struct spot){ .way = UINT32_MAX };
    s->spot[1] = (struct spot){ .way = way, .site = w->site,
        .inst = x->o->g.blocks[w->block].first,
        .active = KN_NEW(x->o->c, uint64_t, x->words) };
    s->nspots = 2;
    if (way == f->way) {
        add_stretch(x, s, 1, 0);
        return;
    }
    for (uint32_t k = 1; k < s->nspots; k++) {
        struct spot at = s->spot[k];

        memset(x->path, 0, x->words * sizeof *x->path);
        follow(x, s, k, &at);
    }
}

/* ---- both ---------------------------------------------------------------- */

static uint8_t *
pair_at(struct pairer *x, uint32_t a, uint32_t b)
{
    return &x->state[(size_t)a * x->side[1].nspots + b];
}

/* Calls fn for each pair of stretches that begin at a pair of spots. */
static bool
each_next(struct pairer *x, uint32_t a, uint32_t b,
          bool (*fn)(struct pairer *x, const struct stretch *p,
                     const struct stretch *q))
{
    bool any = false;

    for (uint32_t e = x->side[0].spot[a].first; e;
         e = x->side[0].stretch[e - 1].next)
        for (uint32_t d = x->side[1].spot[b].first; d;
             d = x->side[1].stretch[d - 1].next)
            any |= fn(x, &x->side[0].stretch[e - 1],
                      &x->side[1].stretch[d - 1]);
    return any;
}

static bool
reach_next(struct pairer *x, const struct stretch *p, const struct stretch *q)
{
    uint8_t *s = pair_at(x, p->to, q->to);
    bool is_new = !(*s & REACHED);

    *s |= REACHED;
    return is_new;
}

static bool
ends_next(struct pairer *x, const struct stretch *p, const struct stretch *q)
{
    return *pair_at(x, p->to, q->to) & ENDS;
}

static bool
either_writes(const struct kn_lds_access *a, const struct kn_lds_access *b)
{
    return (a->kind != KN_ACC_READ || b->kind != KN_ACC_READ) &&
           !(a->atomic && b->atomic);
}

static void
against_one(struct pairer *x, uint32_t a, const uint64_t *set)
{
    struct kn_orderer *o = x->o;
    const struct kn_fork *f = &o->ways.fork[x->fork];
    uint32_t at;

    for (uint32_t b = 0; b < o->n; b++) {
        const uint32_t feet[2] = { o->access[a].foot, o->access[b].foot };

        if (set[b / 64] >> b % 64 & 1 &&
            either_writes(&o->access[a], &o->access[b]) &&
            kn_feet_meet(&o->feet, feet[0], feet[1]) & KN_MEET_CROSS &&
            kn_feet_between(&o->feet, feet, f->side, &at))
            kn_order_tell(o, &(struct kn_order_pair){
                a, b, at, "no barrier between it and the other waves'" });
    }
}

static bool
check_next(struct pairer *x, const struct stretch *p, const struct stretch *q)
{
    if (!ends_next(x, p, q))
        return false;
    for (uint32_t a = 0; a < x->o->n; a++)
        if (p->set[a / 64] >> a % 64 & 1)
            against_one(x, a, q->set);
    return true;
}

/* Marks what `fn` says of pairs that are reached until nothing is new. */
static void
spread(struct pairer *x, bool forward)
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (uint32_t a = 1; a < x->side[0].nspots; a++)
            for (uint32_t b = 1; b < x->side[1].nspots; b++) {
                uint8_t *s = pair_at(x, a, b);

                if (!(*s & REACHED) || (!forward && *s & ENDS))
                    continue;
                if (forward) {
                    changed |= each_next(x, a, b, reach_next);
                } else if (each_next(x, a, b, ends_next)) {
                    *s |= ENDS;
                    changed = true;
                }
            }
    }
}

static void
tell_unlike(struct pairer *x)
{
    const struct kn_way *w =
        &x->o->ways.way[x->o->ways.fork[x->fork].way];
    struct kn_check_finding *f = kn_order_finding(
        x->o, x->o->g.blocks[w->block].end - 1);
    static const char why[] = "the waves that part here execute unlike "
                              "numbers of barriers";

    if (f)
        memcpy(f->text, why, sizeof why);
}

static void
check_fork(struct pairer *x)
{
    uint64_t pairs;

    x->steps = 0;
    find_side(x, 0);
    find_side(x, 1);
    pairs = (uint64_t)x->side[0].nspots * x->side[1].nspots;
    if (pairs > MOST_PAIRS || x->steps > MOST_STEPS) {
        kn_order_open(x->o->out, x->o->p->entry,
                      "more ways of parted waves than are looked at");
        return;
    }
    x->state = KN_NEW(x->o->c, uint8_t, pairs);
    *pair_at(x, 1, 1) |= REACHED;
    *pair_at(x, 0, 0) |= ENDS;
    spread(x, true);
    spread(x, false);
    if (!(*pair_at(x, 1, 1) & ENDS)) {
        tell_unlike(x);
        return;
    }
    for (uint32_t a = 1; a < x->side[0].nspots; a++)
        for (uint32_t b = 1; b < x->side[1].nspots; b++)
            if (*pair_at(x, a, b) == (REACHED | ENDS))
                each_next(x, a, b, check_next);
}

void
kn_pairs_check(struct kn_orderer *o)
{
    struct pairer x = { .o = o, .words = o->n / 64 + 1 };

    for (uint32_t f = 0; f < o->ways.nforks; f++) {
        if (!o->ways.fork[f].lockstep)
            continue;
        if (!x.path) {
            x.path = KN_NEW(o->c, uint64_t, x.words);
            x.on = KN_NEW(o->c, uint8_t, o->ways.n + 1);
        }
        x.fork = (int32_t)f;
        check_fork(&x);
    }
}
