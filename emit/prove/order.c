/* order.c - whether a barrier separates the LDS accesses of different waves.
 *
 * One wave's state along every way stands for all: of each access how many
 * later operations of its counter were issued at least, or that a wait covers
 * it since the last barrier. What another wave may be doing in the meantime is
 * what this one does between the same barriers; so an access must not meet, in
 * another wave, any that no wait and barrier have ended. Where some waves run
 * a barrier behind the others, an access of theirs ends one barrier later to
 * those. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "order_impl.h"

enum { VM_MOST = 63, LGKM_MOST = 15 };

/* Bytes of the states of all ways, and of what is kept of pairs of feet. */
#define MOST_STATES ((uint64_t)1 << 28)

/* ---- findings ----------------------------------------------------------- */

struct kn_check_finding *
kn_order_finding(struct kn_orderer *o, uint32_t inst)
{
    struct kn_order *r = o->out;

    if (!o->report)
        return NULL;
    for (uint32_t k = 0; k < r->nfindings && k < KN_CHECK_KEPT; k++)
        if (r->finding[k].inst == inst)
            return NULL;
    if (r->nfindings++ >= KN_CHECK_KEPT)
        return NULL;
    r->finding[r->nfindings - 1].inst = inst;
    return &r->finding[r->nfindings - 1];
}

void
kn_order_tell(struct kn_orderer *o, const struct kn_order_pair *q)
{
    const struct kn_lds_access *x = &o->access[q->x], *y = &o->access[q->y];
    struct kn_check_finding *f = kn_order_finding(o, x->inst);
    char text[80];

    if (!f)
        return;
    kn_inst_text(o->p->target, &o->p->inst[x->inst], text, sizeof text);
    snprintf(f->text, sizeof f->text, "%s: LDS byte %u, %s %s at 0x%llx",
             text, q->at, q->why, kn_isa[o->p->inst[y->inst].op].mnemonic,
             (unsigned long long)o->p->inst[y->inst].pc);
}

/* ---- one access against those that have not ended ------------------------ */

static bool
writes(const struct kn_lds_access *x)
{
    return x->kind != KN_ACC_READ;
}

static const char *
why_cross(const struct kn_lds_access *x, const struct kn_lds_access *y,
          uint8_t state)
{
    if (state < KN_LANDED)
        return writes(y) ? "no wait and barrier publish what another wave "
                           "writes by"
                         : "no wait and barrier end another wave's";
    return writes(y) ? writes(x) ? "no barrier since another wave's write by"
                                 : "no barrier publishes what another wave "
                                   "wrote by"
                     : "no barrier since another wave's";
}

/* x is issued while y is as `state` says. */
static void
against(struct kn_orderer *o, const struct kn_way *w, uint32_t x, uint32_t y,
        uint8_t state)
{
    const struct kn_lds_access *a = &o->access[x], *b = &o->access[y];
    const uint16_t all[2] = { UINT16_MAX, UINT16_MAX };
    const uint16_t apart[2] = { (uint16_t)~w->behind, w->behind };
    const uint32_t feet[2] = { a->foot, b->foot };
    unsigned meet;
    uint32_t at = 0;

    if (!writes(a) && !writes(b))
        return;
    meet = kn_feet_meet(&o->feet, a->foot, b->foot);
    if (meet & KN_MEET_SAME && state < KN_LANDED && x != y &&
        (a->kind == KN_ACC_DMA) != (b->kind == KN_ACC_DMA))
        kn_order_tell(o, &(struct kn_order_pair){
            x, y, o->feet.foot[a->foot].from,
            b->kind == KN_ACC_DMA ? "no vmcnt wait covers"
                                  : "no lgkmcnt wait covers" });
    if (!(meet & KN_MEET_CROSS) || (a->atomic && b->atomic))
        return;
    if (state == KN_LATE &&
        !kn_feet_between(&o->feet, feet, apart, &at))
        return;
    if (state < KN_LATE)
        kn_feet_between(&o->feet, feet, all, &at);
    kn_order_tell(o, &(struct kn_order_pair){
        x, y, at, why_cross(a, b, state) });
}

static void
issue_access(struct kn_orderer *o, const struct kn_way *w, uint32_t x)
{
    for (uint32_t y = 0; y < o->n; y++)
        if (o->now[y] != KN_OVER && y != x)
            against(o, w, x, y, o->now[y]);
    against(o, w, x, x, 0);
    o->now[x] = 0;
}

/* ---- steps -------------------------------------------------------------- */

static void
count(struct kn_orderer *o, bool vm)
{
    for (uint32_t k = 0; k < o->n; k++)
        if ((o->access[k].kind == KN_ACC_DMA) == vm &&
            o->now[k] < (vm ? VM_MOST : LGKM_MOST))
            o->now[k]++;
}

static void
wait(struct kn_orderer *o, bool vm, unsigned left)
{
    if (!vm && o->now[o->n] && left)
        return;              /* scalar loads return out of order */
    for (uint32_t k = 0; k < o->n; k++)
        if ((o->access[k].kind == KN_ACC_DMA) == vm && o->now[k] < KN_LANDED &&
            o->now[k] >= left)
            o->now[k] = KN_LANDED;
    if (!vm && !left)
        o->now[o->n] = 0;
}

/* Waves that are parted here meet a barrier's other waves elsewhere; those
 * that have ended meet it nowhere. */
static void
tell_gone(struct kn_orderer *o, const struct kn_way *w, uint32_t n)
{
    uint16_t side = o->ways.way[0].waves;
    struct kn_check_finding *r;

    if (w->fork >= 0) {
        const struct kn_fork *f = &o->ways.fork[w->fork];

        side = f->side[!(w->waves & f->side[0])];
    }
    if (w->waves == side || !(r = kn_order_finding(o, n)))
        return;
    snprintf(r->text, sizeof r->text, "s_barrier: wave %d has ended and never "
             "reaches it", __builtin_ctz(side & ~w->waves));
}

static void
barrier(struct kn_orderer *o, const struct kn_way *w, uint32_t n)
{
    tell_gone(o, w, n);
    if (w->half)
        return;              /* only some waves: it ends nothing */
    for (uint32_t k = 0; k < o->n; k++)
        if (o->now[k] >= KN_LANDED)
            o->now[k] = o->now[k] == KN_LANDED && w->apart ? KN_LATE : KN_OVER;
}

/* A wave's copies must have landed, and it must have passed as many barriers as
 * those that end with it. */
static void
end_wave(struct kn_orderer *o, const struct kn_way *w, uint32_t n)
{
    struct kn_check_finding *f;
    uint16_t behind = w->behind & w->waves;

    if (behind && behind != w->waves && (f = kn_order_finding(o, n)))
        snprintf(f->text, sizeof f->text, "s_endpgm: waves %d and %d end with "
                 "unlike numbers of barriers",
                 __builtin_ctz(w->waves & ~behind), __builtin_ctz(behind));
    for (uint32_t k = 0; k < o->n; k++)
        if (o->now[k] < KN_LANDED && o->access[k].kind == KN_ACC_DMA) {
            if ((f = kn_order_finding(o, n)))
                snprintf(f->text, sizeof f->text, "s_endpgm: the copy into "
                         "LDS at 0x%llx is still under way",
                         (unsigned long long)
                         o->p->inst[o->access[k].inst].pc);
            return;
        }
}

void
kn_order_step(struct kn_orderer *o, const struct kn_way *w, uint32_t n,
              uint32_t *site)
{
    const struct kn_inst *i = &o->p->inst[n];
    const struct kn_isa_row *row = &kn_isa[i->op];

    if (i->op == KN_I_s_waitcnt || i->op == KN_I_s_barrier || row->counter)
        kn_order_spend(o->out, n, kn_lds_kind(i) ? 8ull * o->n : o->n);
    if (i->op == KN_I_s_waitcnt) {
        if (i->vm < VM_MOST)
            wait(o, true, i->vm);
        if (i->lgkm < LGKM_MOST)
            wait(o, false, i->lgkm);
        return;
    }
    if (i->op == KN_I_s_barrier)
        barrier(o, w, n);
    if (row->flags & KN_IF_END)
        end_wave(o, w, n);
    if (row->counter & KN_C_VM)
        count(o, true);
    if (row->counter & KN_C_LGKM)
        count(o, false);
    if (row->mem == KN_M_SMEM)
        o->now[o->n] = 1;
    if (kn_lds_kind(i)) {
        uint32_t x = o->number[(*site)++];

        if (x != UINT32_MAX)
            issue_access(o, w, x);
    }
}

/* ---- the fixed point ---------------------------------------------------- */

static void
flow_to(struct kn_orderer *o, const struct kn_way *from, uint32_t to)
{
    const struct kn_way *w = &o->ways.way[to];
    bool level = from->apart && !w->apart, part = !from->apart && w->apart;
    bool first = !o->in[to];
    uint8_t *in;

    if (first) {
        o->in[to] = KN_NEW(o->c, uint8_t, o->n + 1);
        memset(o->in[to], KN_OVER, o->n);
        o->work[to] = 1;
    }
    in = o->in[to];
    for (uint32_t k = 0; k < o->n; k++) {
        uint8_t s = level && o->now[k] > KN_LANDED ? KN_OVER
                  : part && o->now[k] == KN_LANDED ? KN_EARLY : o->now[k];

        if (s < in[k]) {
            in[k] = s;
            o->work[to] = 1;
        }
    }
    if (o->now[o->n] > in[o->n])
        in[o->n] = o->work[to] = 1;
}

static void
pass(struct kn_orderer *o, uint32_t at)
{
    const struct kn_way *w = &o->ways.way[at];
    uint32_t site = w->site;

    memcpy(o->now, o->in[at], o->n + 1);
    o->work[at] = 0;
    if (!w->empty) {
        const struct kn_block *b = &o->g.blocks[w->block];

        for (uint32_t n = b->first; n < b->end && !o->out->undecided; n++)
            kn_order_step(o, w, n, &site);
    }
    kn_order_spend(o->out, o->g.blocks[w->block].first, o->n);
    for (uint32_t e = w->edge; e != KN_NO_EDGE; e = o->ways.edge[e].next)
        if (!o->report)
            flow_to(o, w, o->ways.edge[e].to);
}

void
kn_order_open(struct kn_order *out, uint32_t inst, const char *why)
{
    if (out->undecided)
        return;
    out->undecided = true;
    out->why_inst = inst;
    snprintf(out->why, sizeof out->why, "%s", why);
}

bool
kn_order_spend(struct kn_order *out, uint32_t inst, uint64_t work)
{
    out->work += work;
    if (out->work > KN_ORDER_WORK)
        kn_order_open(out, inst, "it takes more work than is spent on it");
    return !out->undecided;
}

static void
settle(struct kn_orderer *o)
{
    bool changed = true;

    if ((uint64_t)o->ways.n * o->n > MOST_STATES ||
        (uint64_t)o->feet.n * o->feet.n > MOST_STATES)
        kn_order_open(o->out, o->p->entry, "more accesses than are looked at");
    if (o->out->undecided)
        return;
    o->in = KN_NEW(o->c, uint8_t *, o->ways.n + 1);
    o->work = KN_NEW(o->c, uint8_t, o->ways.n + 1);
    o->now = KN_NEW(o->c, uint8_t, o->n + 1);
    o->in[0] = KN_NEW(o->c, uint8_t, o->n + 1);
    memset(o->in[0], KN_OVER, o->n);
    o->work[0] = 1;
    while (changed && !o->out->undecided) {
        changed = false;
        for (uint32_t w = 0; w < o->ways.n && !o->out->undecided; w++)
            if (o->work[w]) {
                pass(o, w);
                changed = true;
            }
    }
    o->report = true;
    for (uint32_t w = 0; w < o->ways.n && !o->out->undecided; w++)
        if (o->in[w])
            pass(o, w);
}

/* ---- accesses ----------------------------------------------------------- */

static uint32_t
number_of(struct kn_orderer *o, const struct kn_order_site *s, uint32_t *head,
          uint32_t *chain)
{
    for (uint32_t k = head[s->inst]; k; k = chain[k - 1])
        if (o->access[k - 1].foot == s->foot)
            return k - 1;
    o->access[o->n] = (struct kn_lds_access){ s->inst, s->foot, s->kind,
        kn_isa[o->p->inst[s->inst].op].atomic };
    chain[o->n] = head[s->inst];
    head[s->inst] = o->n + 1;
    return o->n++;
}

static void
number_accesses(struct kn_orderer *o)
{
    uint32_t n = o->ways.nsites;
    uint32_t *head = KN_NEW(o->c, uint32_t, o->p->n + 1);
    uint32_t *chain = KN_NEW(o->c, uint32_t, n + 1);
    uint8_t *open = KN_NEW(o->c, uint8_t, o->p->n + 1);

    o->access = KN_NEW(o->c, struct kn_lds_access, n + 1);
    o->number = KN_NEW(o->c, uint32_t, n + 1);
    o->out->open = KN_NEW(o->c, uint32_t, o->p->n + 1);
    for (uint32_t k = 0; k < n; k++) {
        const struct kn_order_site *s = &o->ways.site[k];

        o->number[k] = UINT32_MAX;
        open[s->inst] |= s->foot == UINT32_MAX;
        if (s->foot < UINT32_MAX - 1)
            o->number[k] = number_of(o, s, head, chain);
    }
    for (uint32_t k = 0; k < o->p->n; k++)
        if (open[k])
            o->out->open[o->out->nopen++] = k;
}

static void
list_sites(struct kn_orderer *o)
{
    o->out->nsites = o->n;
    o->out->site = KN_NEW(o->c, struct kn_order_site, o->n + 1);
    for (uint32_t k = 0; k < o->n; k++)
        o->out->site[k] = (struct kn_order_site){
            o->access[k].inst, o->access[k].foot, o->access[k].kind };
}

static unsigned
meeting(const struct kn_order *o, uint32_t a, uint32_t b)
{
    return kn_feet_meet(&o->inside->feet, o->site[a].foot, o->site[b].foot);
}

bool
kn_order_crosses(const struct kn_order *o, uint32_t a, uint32_t b)
{
    return meeting(o, a, b) & KN_MEET_CROSS;
}

bool
kn_order_meets(const struct kn_order *o, uint32_t a, uint32_t b)
{
    return meeting(o, a, b) & (KN_MEET_CROSS | KN_MEET_SAME);
}

static bool
indexes_registers(uint16_t op)
{
    return op == KN_I_s_set_gpr_idx_idx || op == KN_I_s_set_gpr_idx_mode ||
           op == KN_I_s_movreld_b32 || op == KN_I_s_movreld_b64 ||
           op == KN_I_s_setvskip;
}

/* Source registers named by a number make results unknown (order_walk.c) up to
 * the end of that mode, which must lie in the same block; a destination so
 * named may be any. */
static bool
indexes_for_long(const struct kn_orderer *o, uint32_t n)
{
    enum { DESTINATION = 8 };
    uint32_t end = o->g.blocks[o->g.block_of[n]].end;

    if (o->p->inst[n].op != KN_I_s_set_gpr_idx_on)
        return false;
    if (o->p->inst[n].o[1].imm & DESTINATION)
        return true;
    while (n < end && o->p->inst[n].op != KN_I_s_set_gpr_idx_off)
        n++;
    return n == end;
}

/* Flat accesses may go to LDS; their addresses are not followed. */
static void
look_over(struct kn_orderer *o)
{
    uint32_t flat = o->p->n;

    for (uint32_t n = 0; n < o->p->n; n++) {
        const struct kn_inst *i = &o->p->inst[n];

        if (!o->g.blocks[o->g.block_of[n]].reached)
            continue;
        o->out->naccesses += kn_lds_kind(i) != 0;
        if (indexes_registers(i->op) || indexes_for_long(o, n))
            kn_order_open(o->out, n, "registers are named by a number");
        if (kn_isa[i->op].mem == KN_M_FLAT && flat == o->p->n)
            flat = n;
    }
    if (flat < o->p->n && (o->p->kernel->lds || o->out->naccesses))
        kn_order_open(o->out, flat, "a flat access may go to LDS");
}

static kiln_status
derive(struct kn_orderer *o, unsigned nwaves)
{
    struct kn_machine *m = KN_NEW(o->c, struct kn_machine, 1);

    m->c = o->feet.c = o->c;
    m->p = o->p;
    m->nwaves = nwaves;
    m->all = (uint16_t)((1u << nwaves) - 1);
    KN_TRY(kn_ways_find(m, &o->g, &o->feet, o->out, &o->ways));
    o->out->barrier = o->ways.barrier;
    o->out->contexts = o->ways.n;
    if (o->out->undecided)
        return KILN_OK;
    number_accesses(o);
    list_sites(o);
    settle(o);
    if (!o->out->undecided)
        kn_pairs_check(o);
    return KILN_OK;
}

kiln_status
kn_order_check(struct kn_ctx *c, const struct kn_program *p,
               struct kn_order *out)
{
    struct kn_orderer *o = KN_NEW(c, struct kn_orderer, 1);
    uint32_t items = p->kernel->max_workgroup;

    memset(out, 0, sizeof *out);
    o->c = c;
    o->p = p;
    o->out = out;
    KN_TRY(kn_cfg_build(c, p, &o->g));
    out->inside = o;
    look_over(o);
    if (!out->naccesses || out->undecided)
        return KILN_OK;
    if (!items || items > KN_WAVES * KN_LANE) {
        kn_order_open(out, p->entry, "the kernel does not say how many "
                      "work-items a workgroup has");
        return KILN_OK;
    }
    if (o->g.irreducible || o->g.indirect) {
        kn_order_open(out, p->entry, "a jump's target is not known, or a "
                      "cycle has two entries");
        return KILN_OK;
    }
    return derive(o, (items + KN_LANE - 1) / KN_LANE);
}
