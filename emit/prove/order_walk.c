/* order_walk.c - the ways through a kernel: its blocks with what the registers
 * hold that matter, of all waves at once. Waves that a branch parts by their
 * number go on side by side and meet again where both sides end; a branch
 * whose condition is not known goes both ways. */
#include <stdio.h>
#include <string.h>

#include "order_impl.h"

enum {
    MOST_WAYS = 16384, MOST_BLOCKS = 4096, MOST_AGAIN = 24,
    WAYS_HASH = 4096
};

struct arrival {
    uint32_t way, next;
    const struct kn_held **now;
    int8_t lag[KN_WAVES];
};

/* Bytes of values and of ways that are kept. */
#define MOST_KEPT ((uint64_t)1 << 30)

struct walker {
    struct kn_ctx *c;
    struct kn_machine *m;
    const struct kn_cfg *g;
    struct kn_needs need;
    struct kn_feet *feet;
    struct kn_order *out;
    struct kn_ways *w;
    size_t way_cap, edge_cap, site_cap, fork_cap, arrival_cap;
    uint32_t bucket[WAYS_HASH];
    struct arrival *arrival;
    uint32_t narrivals;
    struct kn_seen **seen;   /* by block, by needed register */
    struct kn_set *drop;     /* by block: registers that waves may differ in */
    uint8_t *maybe;          /* by block: its branch parts waves, who knows */
    struct kn_regions r;
    bool again;
    uint64_t kept;           /* bytes of ways, all turns */
    int8_t lag[KN_WAVES];
};

static void
give_up(struct walker *x, uint32_t inst, const char *why)
{
    kn_order_open(x->out, inst, why);
}

/* Regions behind a branch are looked for: blocks, and a row of bits of each. */
static void
spend_on_regions(struct walker *x, uint32_t block)
{
    uint64_t n = x->g->nblocks;

    x->kept += 16 * n;
    kn_order_spend(x->out, x->g->blocks[block].first,
                   n * (8 + n / 64) + 8 * (uint64_t)x->g->p->n);
}

/* ---- branches that part waves, nobody knows which ------------------------ */

/* A branch that waves may take differently, nobody knows which: no barrier
 * may lie between, accesses on one side only, and what is written in between
 * is not known behind it. */
static void
part_maybe(struct walker *x, uint32_t b)
{
    const struct kn_block *k = &x->g->blocks[b];
    int32_t join = kn_join_of(&x->r, b);
    uint8_t *a = kn_reach(&x->r, k->succ[0], join);
    uint8_t *z = kn_reach(&x->r, k->succ[1], join);
    bool only_a = false, only_z = false;

    spend_on_regions(x, b);
    x->maybe[b] = 1;
    for (uint32_t n = 0; n < x->g->nblocks; n++) {
        const struct kn_block *y = &x->g->blocks[n];

        if (!a[n] && !z[n])
            continue;
        if (kn_block_has(&x->r, n, true))
            give_up(x, k->end - 1, "a barrier behind a branch that waves may "
                                   "take differently");
        only_a |= !z[n] && kn_block_has(&x->r, n, false);
        only_z |= !a[n] && kn_block_has(&x->r, n, false);
        for (uint32_t i = y->first; join >= 0 && i < y->end; i++)
            kn_writes_of(&x->g->p->inst[i], &x->drop[join]);
    }
    if (only_a && only_z)
        give_up(x, k->end - 1, "LDS accesses on both sides of a branch that "
                               "waves may take differently");
    x->again = true;
}

/* ---- ways ---------------------------------------------------------------- */

static uint64_t
hash_way(const struct walker *x, uint32_t block, uint16_t waves, int32_t fork)
{
    const struct kn_set *in = &x->need.in[block];
    uint64_t h = kn_mix(block * 65536ull + waves) ^ (uint64_t)(fork + 1);

    for (unsigned r = 0; r < KN_NREG; r++)
        if (kn_has(in, r))
            h = kn_mix(h ^ (uint64_t)(uintptr_t)x->m->now[r]);
    for (unsigned w = 0; w < KN_WAVES; w++)
        h = h * 31 + (uint8_t)x->lag[w];
    return h;
}

static bool
same_way(const struct walker *x, const struct kn_way *y, uint32_t block,
         uint16_t waves, int32_t fork)
{
    unsigned k = 0;

    if (y->block != block || y->waves != waves || y->fork != fork || y->empty ||
        memcmp(y->lag, x->lag, sizeof y->lag) != 0)
        return false;
    for (unsigned r = 0; r < KN_NREG; r++)
        if (kn_has(&x->need.in[block], r) && y->r[k++] != x->m->now[r])
            return false;
    return true;
}

static const struct kn_held **
keep_regs(struct walker *x, uint32_t block)
{
    const struct kn_held **r;
    unsigned n = 0;

    for (unsigned k = 0; k < KN_NREG; k++)
        n += kn_has(&x->need.in[block], k);
    r = KN_NEW(x->c, const struct kn_held *, n + 1);
    x->kept += n * sizeof *r + sizeof(struct kn_way);
    n = 0;
    for (unsigned k = 0; k < KN_NREG; k++)
        if (kn_has(&x->need.in[block], k))
            r[n++] = x->m->now[k];
    return r;
}

static void
load_regs(struct walker *x, uint32_t block, const struct kn_held *const *r)
{
    unsigned n = 0;

    for (unsigned k = 0; k < KN_NREG; k++)
        x->m->now[k] = kn_has(&x->need.in[block], k) ? r[n++]
                                                     : &kn_held_unknown;
}

/* Waves a barrier ahead have none in `lag`, those behind one. */
static bool
level_lag(struct walker *x, struct kn_way *y)
{
    int8_t least = INT8_MAX, most = 0;

    for (unsigned w = 0; w < x->m->nwaves; w++)
        least = x->lag[w] < least ? x->lag[w] : least;
    for (unsigned w = 0; w < x->m->nwaves; w++) {
        x->lag[w] = (int8_t)(x->lag[w] - least);
        most = x->lag[w] > most ? x->lag[w] : most;
        y->behind |= (uint16_t)((x->lag[w] > 0) << w);
    }
    y->apart = most > 0;
    return most <= 1;
}

static uint32_t
new_way(struct walker *x, struct kn_way y)
{
    x->w->way = kn_grow(x->c, x->w->way, &x->way_cap, x->w->n + 1,
                        sizeof *x->w->way);
    y.edge = KN_NO_EDGE;
    x->w->way[x->w->n] = y;
    return x->w->n++;
}

static void
add_edge(struct walker *x, uint32_t from, uint32_t to, bool side)
{
    struct kn_way *y = &x->w->way[from];

    for (uint32_t e = y->edge; e != KN_NO_EDGE; e = x->w->edge[e].next)
        if (x->w->edge[e].to == to)
            return;
    x->w->edge = kn_grow(x->c, x->w->edge, &x->edge_cap, x->w->nedges + 1,
                         sizeof *x->w->edge);
    x->w->edge[x->w->nedges] = (struct kn_edge){ to, side, y->edge };
    y->edge = x->w->nedges++;
}

/* The way that enters a block with the machine's registers. */
static uint32_t
enter_way(struct walker *x, uint32_t block, uint16_t waves, int32_t fork)
{
    struct kn_way y = { .block = block, .waves = waves, .fork = fork,
        .half = fork >= 0 && !x->w->fork[fork].lockstep };
    uint32_t *bucket, n;

    if (!level_lag(x, &y))
        give_up(x, x->g->blocks[block].first,
                "waves run more than one barrier apart");
    x->again |= kn_widen(x->m, &x->need, block, &x->drop[block],
                         &x->seen[block]);
    bucket = &x->bucket[hash_way(x, block, waves, fork) % WAYS_HASH];
    for (n = *bucket; n; n = x->w->way[n - 1].chain)
        if (same_way(x, &x->w->way[n - 1], block, waves, fork))
            return n - 1;
    y.r = keep_regs(x, block);
    memcpy(y.lag, x->lag, sizeof y.lag);
    y.chain = *bucket;
    n = new_way(x, y);
    *bucket = n + 1;
    return n;
}

static void go_to(struct walker *x, uint32_t from, int32_t block,
                  uint16_t waves, int32_t fork);

/* One arrival of each side, as one way behind their join. */
static void
join_two(struct walker *x, int32_t fork, const struct arrival *a,
         const struct arrival *b)
{
    struct kn_fork f = x->w->fork[fork];
    struct kn_way y = { .block = (uint32_t)f.join, .waves = f.waves,
                        .fork = f.outer, .empty = true, .done = true,
        .half = f.outer >= 0 && !x->w->fork[f.outer].lockstep };
    uint32_t from_a = a->way, from_b = b->way, at;

    x->m->active = f.waves;
    for (unsigned r = 0; r < KN_NREG; r++) {
        const struct kn_held *u = a->now[r], *v = b->now[r];

        if (kn_has(&f.written, r) && u->kind != KN_V_KNOWN && u->alike)
            u = &kn_held_unknown;
        if (kn_has(&f.written, r) && v->kind != KN_V_KNOWN && v->alike)
            v = &kn_held_unknown;
        x->m->now[r] = kn_held_select(x->m, f.side[0], u, v);
    }
    for (unsigned w = 0; w < KN_WAVES; w++)
        x->lag[w] = f.side[0] >> w & 1 ? a->lag[w] : b->lag[w];
    if (!level_lag(x, &y))
        give_up(x, x->g->blocks[f.join].first,
                "waves run more than one barrier apart");
    at = new_way(x, y);
    add_edge(x, from_a, at, false);
    add_edge(x, from_b, at, false);
    go_to(x, at, f.join, f.waves, f.outer);
}

static void
arrive(struct walker *x, uint32_t from, int32_t fork, uint16_t waves)
{
    struct kn_fork *f = &x->w->fork[fork];
    unsigned side = waves == f->side[1];
    const struct kn_held **now = KN_NEW(x->c, const struct kn_held *, KN_NREG);
    uint32_t mine = x->narrivals, other;

    x->kept += KN_NREG * sizeof *now;
    memcpy(now, x->m->now, KN_NREG * sizeof *now);
    x->arrival = kn_grow(x->c, x->arrival, &x->arrival_cap, mine + 1,
                         sizeof *x->arrival);
    x->arrival[mine] = (struct arrival){ from, f->arrived[side], now, { 0 } };
    memcpy(x->arrival[mine].lag, x->lag, sizeof x->lag);
    f->arrived[side] = ++x->narrivals;
    if (!side && f->entry[1] != f->way && !f->lockstep)
        add_edge(x, from, f->entry[1], true);
    for (other = f->arrived[!side]; other;) {
        struct arrival a = x->arrival[mine], b = x->arrival[other - 1];

        other = b.next;
        join_two(x, fork, side ? &b : &a, side ? &a : &b);
    }
}

static void
go_to(struct walker *x, uint32_t from, int32_t block, uint16_t waves,
      int32_t fork)
{
    const struct kn_held *keep[KN_NREG];
    int8_t lag[KN_WAVES];
    uint16_t active = x->m->active;
    uint32_t to;

    if (block < 0)
        return;
    memcpy(keep, x->m->now, sizeof keep);
    memcpy(lag, x->lag, sizeof lag);
    x->m->active = waves;
    if (fork >= 0 && x->w->fork[fork].join == block) {
        arrive(x, from, fork, waves);
    } else {
        to = enter_way(x, (uint32_t)block, waves, fork);
        add_edge(x, from, to, false);
    }
    memcpy(x->m->now, keep, sizeof keep);
    memcpy(x->lag, lag, sizeof lag);
    x->m->active = active;
}

/* ---- branches ------------------------------------------------------------ */

/* Register a conditional branch tests, and whether it is taken on zero. */
struct test { uint16_t op, reg; bool pair, zero; };
static const struct test tests[] = {
    { KN_I_s_cbranch_scc0, KN_SCC, false, true },
    { KN_I_s_cbranch_scc1, KN_SCC, false, false },
    { KN_I_s_cbranch_vccz, KN_VCC, true, true },
    { KN_I_s_cbranch_vccnz, KN_VCC, true, false },
    { KN_I_s_cbranch_execz, KN_EXEC, true, true },
    { KN_I_s_cbranch_execnz, KN_EXEC, true, false },
};

static const struct test *
find_test(uint16_t op)
{
    for (size_t k = 0; k < sizeof tests / sizeof *tests; k++)
        if (tests[k].op == op)
            return &tests[k];
    return NULL;
}

/* One side ends without meeting the other again. */
static bool
leaves(struct walker *x, uint32_t from, int32_t fork, const int32_t to[2],
       const uint16_t side[2])
{
    for (int s = 0; s < 2; s++) {
        uint8_t *mark = kn_reach(&x->r, to[s], -1);

        if (kn_touches(&x->r, mark, true) || kn_touches(&x->r, mark, false))
            continue;
        go_to(x, from, to[!s], side[!s], fork);
        return true;
    }
    return false;
}

/* Both barriers and accesses lie on the sides of a branch: the waves go in
 * lockstep. */
static bool
in_lockstep(struct walker *x, const struct kn_fork *f, const int32_t to[2])
{
    const uint8_t *a = kn_reach(&x->r, to[0], f->join);
    const uint8_t *b = kn_reach(&x->r, to[1], f->join);

    return (kn_touches(&x->r, a, true) || kn_touches(&x->r, b, true)) &&
           (kn_touches(&x->r, a, false) || kn_touches(&x->r, b, false));
}

static void
open_fork(struct walker *x, uint32_t from, const struct kn_fork *f)
{
    uint32_t n = x->w->nforks++, b = x->w->way[from].block;
    const struct kn_block *k = &x->g->blocks[b];

    x->w->fork = kn_grow(x->c, x->w->fork, &x->fork_cap, n + 1,
                         sizeof *x->w->fork);
    x->w->fork[n] = *f;
    for (int s = 1; s >= 0; s--) {       /* the side edges lead to side 1 */
        x->w->fork[n].entry[s] = k->succ[s] == f->join ? from : x->w->n;
        go_to(x, from, k->succ[s], f->side[s], (int32_t)n);
    }
}

/* side[e]: the waves that go to successor e. */
static void
part_waves(struct walker *x, uint32_t from, const uint16_t side[2])
{
    const struct kn_way *y = &x->w->way[from];
    const struct kn_block *k = &x->g->blocks[y->block];
    struct kn_fork f = { .outer = y->fork, .join = kn_join_of(&x->r, y->block),
                         .side = { side[0], side[1] }, .waves = y->waves,
                         .way = from };

    spend_on_regions(x, y->block);
    if (f.join < 0 && leaves(x, from, f.outer, k->succ, side))
        return;
    f.lockstep = in_lockstep(x, &f, k->succ);
    for (int e = 0; e < 2; e++)
        kn_add_written(&x->r, kn_reach(&x->r, k->succ[e], f.join), &f.written);
    if (f.join < 0 && !f.lockstep)
        give_up(x, k->end - 1, "waves part and do not meet again");
    else if (f.lockstep && y->apart)
        give_up(x, k->end - 1, "waves that run a barrier apart part");
    else if (f.outer >= 0 && !f.lockstep &&
             kn_touches(&x->r, kn_reach(&x->r, k->succ[0], f.join), true))
        give_up(x, k->end - 1, "waves that have parted run apart");
    else
        open_fork(x, from, &f);
}

static void
branch(struct walker *x, uint32_t from)
{
    const struct kn_way *y = &x->w->way[from];
    const struct kn_block *k = &x->g->blocks[y->block];
    const struct kn_inst *i = &x->g->p->inst[k->end - 1];
    const struct test *t = find_test(i->op);
    uint16_t yes, no, waves = y->waves, side[2];
    int32_t fork = y->fork;

    if (!t) {
        go_to(x, from, k->succ[0], waves, fork);
        go_to(x, from, k->succ[1], waves, fork);
        if (k->succ[0] >= 0 && k->succ[1] >= 0)
            give_up(x, k->end - 1, "an unknown kind of branch");
        return;
    }
    kn_machine_test(x->m, t->reg, t->pair, &yes, &no);
    side[0] = (t->zero ? yes : no) & waves;
    side[1] = (t->zero ? no : yes) & waves;
    if (side[0] == waves || side[1] == waves) {
        go_to(x, from, k->succ[side[1] == waves], waves, fork);
    } else if ((side[0] | side[1]) == waves) {
        part_waves(x, from, side);
    } else {
        if (!x->maybe[y->block] &&
            !(kn_held_alike_in(x->m, x->m->now[t->reg]) &&
              (!t->pair ||
               kn_held_alike_in(x->m, x->m->now[t->reg + 1]))))
            part_maybe(x, y->block);
        go_to(x, from, k->succ[0], waves, fork);
        go_to(x, from, k->succ[1], waves, fork);
    }
}

/* ---- one way ------------------------------------------------------------- */

static void
pass_barrier(struct walker *x, const struct kn_way *y, uint32_t n)
{
    uint8_t *kind = &x->w->barrier[n];

    if (!y->half) {
        *kind = *kind == KN_BAR_SOME ? KN_BAR_SOME : KN_BAR_ALL;
        return;
    }
    *kind = KN_BAR_SOME;
    for (unsigned w = 0; w < x->m->nwaves; w++)
        x->lag[w] = (int8_t)(x->lag[w] + (y->waves >> w & 1));
}

static void
pass_access(struct walker *x, uint32_t n)
{
    const struct kn_inst *i = &x->g->p->inst[n];
    int32_t foot = kn_foot_of(x->feet, x->m, i);

    kn_order_spend(x->out, n, x->m->nwaves * 4ull * KN_LANE + x->feet->n);
    x->w->site = kn_grow(x->c, x->w->site, &x->site_cap, x->w->nsites + 1,
                         sizeof *x->w->site);
    x->w->site[x->w->nsites++] = (struct kn_order_site){
        n, (uint32_t)foot, kn_lds_kind(i) };
}

static void
walk(struct walker *x, uint32_t at)
{
    struct kn_way y = x->w->way[at];
    const struct kn_block *k = &x->g->blocks[y.block];
    bool indexed = false;

    load_regs(x, y.block, y.r);
    x->m->active = y.waves;
    memcpy(x->lag, y.lag, sizeof x->lag);
    x->w->way[at].site = x->w->nsites;
    x->w->way[at].done = true;
    for (uint32_t n = k->first; n < k->end && !x->out->undecided; n++) {
        const struct kn_inst *i = &x->g->p->inst[n];

        if (i->op == KN_I_s_barrier)
            pass_barrier(x, &y, n);
        if (kn_lds_kind(i))
            pass_access(x, n);
        indexed = i->op == KN_I_s_set_gpr_idx_on ||
                  (indexed && i->op != KN_I_s_set_gpr_idx_off);
        if (x->need.step[n])
            kn_order_spend(x->out, n, x->m->nwaves * (uint64_t)KN_LANE);
        if (x->need.step[n] && indexed)
            kn_machine_forget(x->m, i);
        else if (x->need.step[n])
            kn_machine_step(x->m, i);
        if (x->kept + x->m->kept * sizeof *x->m->draft.x > MOST_KEPT)
            give_up(x, n, "more values than are looked at");
    }
    branch(x, at);
}

static void
start_over(struct walker *x)
{
    x->w->n = x->w->nedges = x->w->nsites = 0;
    x->w->nforks = x->narrivals = 0;
    x->again = false;
    memset(x->bucket, 0, sizeof x->bucket);
    memset(x->w->barrier, 0, x->g->p->n);
    memset(x->lag, 0, sizeof x->lag);
    kn_machine_enter(x->m);
    enter_way(x, x->g->block_of[x->g->p->entry], x->m->all, -1);
}

static void
walk_all(struct walker *x)
{
    start_over(x);
    for (uint32_t n = 0; n < x->w->n && !x->out->undecided; n++) {
        if (!x->w->way[n].done)
            walk(x, n);
        if (x->w->n > MOST_WAYS)
            give_up(x, x->g->p->entry, "more ways through it than are looked "
                                       "at");
    }
    for (uint32_t f = 0; f < x->w->nforks && !x->again; f++)
        if (x->w->fork[f].join >= 0 &&
            (!x->w->fork[f].arrived[0] || !x->w->fork[f].arrived[1]))
            give_up(x, x->g->blocks[x->w->way[x->w->fork[f].way].block].end - 1,
                    "waves part and do not meet again");
}

kiln_status
kn_ways_find(struct kn_machine *m, const struct kn_cfg *g,
             struct kn_feet *feet, struct kn_order *out, struct kn_ways *ways)
{
    struct walker *x = KN_NEW(m->c, struct walker, 1);
    unsigned turns = 0;

    x->c = m->c;
    x->m = m;
    x->g = x->r.g = g;
    x->r.c = m->c;
    x->feet = feet;
    x->out = out;
    x->w = ways;
    if (g->nblocks > MOST_BLOCKS) {
        give_up(x, g->p->entry, "more blocks than are looked at");
        return KILN_OK;
    }
    kn_needs_find(m->c, g, &x->need);
    x->seen = KN_NEW(m->c, struct kn_seen *, g->nblocks);
    x->drop = KN_NEW(m->c, struct kn_set, g->nblocks);
    x->maybe = KN_NEW(m->c, uint8_t, g->nblocks);
    ways->barrier = KN_NEW(m->c, uint8_t, g->p->n + 1);
    do
        walk_all(x);
    while (x->again && !out->undecided && ++turns < MOST_AGAIN);
    if (x->again)
        give_up(x, g->p->entry, "its registers' values do not settle");
    return KILN_OK;
}
