/* timing_cu.c - one compute unit, clock by clock: replays the recorded waves
 * of the workgroups that share it.
 *
 * Every unit is a queue whose state says when it could take the next
 * instruction, so an instruction's completion is known when it issues, and a
 * wave that cannot issue sleeps until the time its obstacle names. Each SIMD
 * gets every fourth clock; in its slot each of its waves may issue one
 * instruction, one for each port, by priority and then age. */
#include "timing_cu.h"

/* ---- vector and matrix pipes -------------------------------------------- */

static uint64_t
vector_earliest(const struct cu *u, const struct wave *w,
                const struct kn_time_inst *i, enum kn_stall *why)
{
    const struct simd *s = &u->simd[w->simd];
    uint64_t t = s->valu;

    *why = KN_W_VALU;
    if (i->cls == KN_TC_MFMA) {
        if (s->xdl > t) {
            t = s->xdl;
            *why = KN_W_MFMA;
        }
        return t;
    }
    if (s->shadow > t) {
        t = s->shadow;
        *why = KN_W_SHADOW;
    }
    if (i->cls == KN_TC_PACKED && s->run &&
        s->xdl + (uint64_t)u->chip->mfma_pk_gap > t) {
        t = s->xdl + (uint64_t)u->chip->mfma_pk_gap;
        *why = KN_W_SHADOW;
    }
    return t;
}

static void
issue_vector(struct cu *u, struct wave *w, const struct kn_time_inst *i)
{
    struct simd *s = &u->simd[w->simd];

    if (i->cls == KN_TC_MFMA) {
        s->xdl = u->now + i->busy;
        s->valu = u->now + (uint64_t)u->chip->slot;
        s->shadow = u->now + (uint64_t)u->chip->mfma_valu_gap;
        s->run = true;
        s->mfma += i->busy * u->weight;
        kn_trace_span(u->trace, KN_TR_MFMA, w->simd, NULL,
                      &(struct kn_span){ u->now, s->xdl, inst_of(w) });
    } else {
        s->valu = u->now + i->busy;
    }
}

/* ---- waits -------------------------------------------------------------- */

static uint64_t
wait_earliest(const struct wave *w, const struct kn_time_inst *i,
              enum kn_stall *why)
{
    uint64_t t = done_below(&w->vm, i->vm), d;

    *why = KN_W_VM_DATA;
    if (i->lgkm < 15) {
        d = done_below(&w->ds, i->lgkm);
        if (d > t) {
            t = d;
            *why = KN_W_LDS_DATA;
        }
        if (w->smem > t) {   /* out of order: only zero is sure */
            t = w->smem;
            *why = KN_W_SMEM;
        }
    }
    return t;
}

static void
arrive(struct cu *u, struct wave *w)
{
    struct group *g = &u->group[w->group];

    g->arrived++;
    w->blocked = true;
    w->ready = u->now;
    if (g->arrived < g->alive)
        return;
    g->arrived = 0;
    for (uint32_t k = 0; k < u->nwaves; k++) {
        struct wave *o = &u->wave[k];

        if (o->group != w->group || !o->blocked)
            continue;
        o->blocked = false;
        note_wait(u, o, KN_W_BARRIER,
                  u->now + (uint64_t)u->chip->barrier - o->ready);
        kn_trace_span(u->trace, KN_TR_WAVE, k, "s_barrier",
                      &(struct kn_span){ o->ready, u->now, inst_of(o) });
        o->ready = u->now + (uint64_t)u->chip->barrier;
        o->at++;
    }
}

static void
end_wave(struct cu *u, struct wave *w)
{
    struct group *g = &u->group[w->group];
    uint64_t t = later(u->now, w->stored);

    w->done = true;
    u->end = later(u->end, t);
    g->alive--;
    if (g->alive && g->arrived == g->alive) { /* the others wait for nobody */
        for (uint32_t k = 0; k < u->nwaves; k++) {
            struct wave *o = &u->wave[k];

            if (o->group == w->group && o->blocked) {
                o->blocked = false;
                o->ready = u->now + (uint64_t)u->chip->barrier;
                o->at++;
            }
        }
        g->arrived = 0;
    }
}

/* ---- instruction fetch -------------------------------------------------- */

/* When the line of an instruction is there; asks for it if nobody did. */
static uint64_t
fetched(struct cu *u, uint32_t line)
{
    struct fetch *f = &u->fetch[line % u->nfetch];
    const struct fetch *before = &u->fetch[(line + u->nfetch - 1) % u->nfetch];
    uint64_t t = u->now + (uint64_t)u->chip->icache_miss;

    if (f->line == line + 1)
        return f->at;
    if (before->line == line) { /* streaming: the next line is on its way */
        t = later(before->at, u->now) + (uint64_t)u->chip->icache_stream;
        if (before->at + 2 * (uint64_t)u->chip->icache_miss < u->now)
            t = u->now + (uint64_t)u->chip->icache_stream;
    }
    f->line = line + 1;
    f->at = t;
    return t;
}

/* ---- issue -------------------------------------------------------------- */

static uint64_t
earliest(struct cu *u, const struct wave *w, const struct kn_time_inst *i,
         enum kn_stall *why)
{
    uint64_t t = fetched(u, i->line), x = 0;
    enum kn_stall w2 = KN_W_FETCH;

    *why = KN_W_FETCH;
    switch (i->cls) {
    case KN_TC_VALU:
    case KN_TC_PACKED:
    case KN_TC_MFMA: x = vector_earliest(u, w, i, &w2); break;
    case KN_TC_LDS:
        x = kn_time_lds_earliest(u, w, &w2);
        x = later(x, done_below(&w->ds, KN_LGKM_OUT - 1));
        break;
    case KN_TC_VMEM:
        x = kn_time_vmem_earliest(u, &w2);
        x = later(x, done_below(&w->vm, KN_VM_OUT - 1));
        break;
    case KN_TC_WAIT: x = wait_earliest(w, i, &w2); break;
    default: break;
    }
    if (x > t) {
        t = x;
        *why = w2;
    }
    return t;
}

static void
note_head(struct cu *u, const struct wave *w)
{
    struct head h = { u->now, 0, u->lds_busy, u->vmem_busy, u->weight,
                      u->inside };

    if (w != &u->wave[0])
        return;
    for (unsigned k = 0; k < 4; k++)
        h.mfma += u->simd[k].mfma / 4;
    u->head = kn_grow(u->c, u->head, &u->headcap, u->nhead + 1,
                      sizeof *u->head);
    u->head[u->nhead++] = h;
    u->inside = true;
}

/* The first wave comes to turns that stand for others, or leaves them. */
static void
pass_window(struct cu *u, const struct wave *w)
{
    const struct kn_time_window *k = &u->periods->window[u->windows];

    if (u->windows == u->periods->n)
        return;
    if (w->at == k->from) {
        u->weight = 1 + k->more;
        u->opened = u->now;
    } else if (w->at == k->to) {
        u->weight = 1;
        u->left_out += (double)(u->now - u->opened) * k->more;
        u->windows++;
    }
}

static bool
branched(const struct wave *w, uint32_t inst, const struct kn_program *p)
{
    return w->at + 1 < w->n &&
           (int32_t)w->event[w->at + 1].inst != p->inst[inst].next;
}

static void
issue(struct cu *u, struct wave *w, const struct kn_time_inst *i)
{
    const struct kn_time_event *e = &w->event[w->at];

    w->ready = u->now + i->next;
    if (w == &u->wave[0] && u->periods)
        pass_window(u, w);
    if (i->head)
        note_head(u, w);
    if (w == &u->wave[0] && i->in_loop)
        u->left = w->ready;
    else if (w == &u->wave[0])
        u->inside = false;
    switch (i->cls) {
    case KN_TC_VALU:
    case KN_TC_PACKED:
    case KN_TC_MFMA: issue_vector(u, w, i); break;
    case KN_TC_LDS: kn_time_issue_lds(u, w, i, e->fact); break;
    case KN_TC_VMEM: kn_time_issue_vmem(u, w, i, e->fact); break;
    case KN_TC_SMEM: kn_time_issue_smem(u, w, i); break;
    case KN_TC_PRIO: w->prio = i->arg; break;
    case KN_TC_BARRIER: arrive(u, w); return;
    case KN_TC_END: end_wave(u, w); return;
    case KN_TC_NOP:
        note_wait(u, w, KN_W_NOP, i->next - (uint64_t)u->chip->slot);
        break;
    case KN_TC_BRANCH:
        if (branched(w, e->inst, u->program)) {
            w->ready = u->now + (uint64_t)u->chip->branch_taken;
            note_wait(u, w, KN_W_BRANCH,
                      w->ready - u->now - (uint64_t)u->chip->slot);
        }
        break;
    default: break;
    }
    if (++w->at == w->n) {   /* cut short: counts as its end */
        w->at--;
        end_wave(u, w);
    }
}

static uint64_t
align(uint64_t t, unsigned simd)
{
    return t + (simd + 4 - t % 4) % 4;
}

static void
defer(struct cu *u, struct wave *w, uint64_t t, enum kn_stall why)
{
    uint64_t to = align(later(t, u->now + 1), w->simd);

    note_wait(u, w, why, to - later(w->ready, u->now));
    kn_trace_span(u->trace, KN_TR_WAVE, (unsigned)(w - u->wave),
                  kn_stall_name(why), &(struct kn_span){ u->now, to, inst_of(w) });
    w->ready = to;
}

/* A queue takes waves in the order in which it stopped them. */
static bool
is_next(struct cu *u, struct wave *w)
{
    for (uint32_t k = 0; k < u->nwaves; k++) {
        const struct wave *o = &u->wave[k];

        if (o != w && o->ticket && o->queue == w->queue &&
            (!w->ticket || o->ticket < w->ticket))
            return false;
    }
    return true;
}

/* May w enter its queue now? If not, it is in the list of those who wait. */
static bool
enters_queue(struct cu *u, struct wave *w, const struct kn_time_inst *i,
             bool room)
{
    if (i->cls != KN_TC_LDS && i->cls != KN_TC_VMEM)
        return true;
    w->queue = i->cls == KN_TC_LDS ? w->simd / 2 : KN_Q_VMEM;
    if (room && is_next(u, w)) {
        w->ticket = 0;
        return true;
    }
    if (!w->ticket)
        w->ticket = ++u->tickets;
    return false;
}

static void
try_wave(struct cu *u, struct wave *w, uint32_t *ports)
{
    uint32_t inst = w->event[w->at].inst;
    const struct kn_time_inst *i = &u->inst[inst];
    enum kn_stall why = KN_W_ISSUE;
    uint64_t t;

    if (i->port != KN_U_INTERNAL && *ports >> i->port & 1) {
        defer(u, w, u->now + 4, KN_W_ISSUE);
        return;
    }
    t = earliest(u, w, i, &why);
    if (t > u->now) {
        if (why == KN_W_LDS_QUEUE || why == KN_W_VM_QUEUE)
            enters_queue(u, w, i, false);
        defer(u, w, t, why);
        return;
    }
    if (!enters_queue(u, w, i, true)) {
        defer(u, w, u->now + 1, i->cls == KN_TC_LDS ? KN_W_LDS_QUEUE
                                                    : KN_W_VM_QUEUE);
        return;
    }
    if (i->port != KN_U_INTERNAL)
        *ports |= 1u << i->port;
    kn_trace_span(u->trace, KN_TR_WAVE, (unsigned)(w - u->wave),
                  NULL, &(struct kn_span){ u->now, u->now + 4, inst_of(w) });
    issue(u, w, i);
}

/* Waves of a SIMD by priority, the older first. */
static void
run_slot(struct cu *u, unsigned simd)
{
    uint32_t ports = 0;

    for (int prio = 3; prio >= 0; prio--)
        for (uint32_t k = simd; k < u->nwaves; k += 4) {
            struct wave *w = &u->wave[k];

            if (!w->done && !w->blocked && w->prio == prio &&
                w->ready <= u->now && w->turn != u->now + 1) {
                w->turn = u->now + 1;
                try_wave(u, w, &ports);
            }
        }
}

static bool
next_slot(const struct cu *u, uint64_t *t, unsigned *simd)
{
    bool any = false;

    for (uint32_t k = 0; k < u->nwaves; k++) {
        const struct wave *w = &u->wave[k];
        uint64_t at = align(w->ready, w->simd);

        if (w->done || w->blocked || (any && at >= *t))
            continue;
        *t = at;
        *simd = w->simd;
        any = true;
    }
    return any;
}

/* ---- set up and result -------------------------------------------------- */

/* The waves of each workgroup go round the SIMDs; the second workgroup
 * continues where the first one ended. */
static void
place_waves(struct cu *u, const struct kn_time_cast *who, uint32_t resident)
{
    uint32_t each = who->group->nwaves;

    u->nwaves = each * resident;
    u->wave = KN_NEW(u->c, struct wave, u->nwaves);
    u->group = KN_NEW(u->c, struct group, resident);
    for (uint32_t k = 0; k < u->nwaves; k++) {
        const struct kn_time_record *r = &who->group[k / each % who->n];
        struct wave *w = &u->wave[k];

        w->event = r->wave[k % each].event;
        w->n = r->wave[k % each].n;
        w->line = r->line;
        w->own = (uint64_t)(k / each / who->n) << 48;
        w->group = k / each;
        w->simd = k % 4;
        w->done = !w->n;
        u->group[w->group].alive += w->n != 0;
    }
}

static void
open_cu(struct cu *u, struct kn_time_model *m, const struct kn_time_env *env)
{
    *u = (struct cu){ .c = m->c, .chip = &m->chip, .env = env,
                      .inst = m->inst, .program = &m->program,
                      .weight = 1 };
    u->nfetch = (uint32_t)(m->chip.icache_bytes / 64);
    u->fetch = KN_NEW(m->c, struct fetch, u->nfetch);
    u->inst_wait = KN_NEW(m->c, double, (size_t)m->program.n * KN_NSTALLS);
    memset(u->l1, 0xff, sizeof u->l1);
}

/* The steady part: without the first two turns where there are enough, and
 * without what a persistent workgroup does between its tiles. */
static void
take_heads(const struct cu *u, struct kn_time_cu *out)
{
    size_t skip = u->nhead > 8 ? 2 : u->nhead > 2 ? 1 : 0;
    double heads = 0;
    bool any = false;

    for (size_t k = 0; k < u->nhead; k++)
        heads += u->head[k].weight;
    out->heads = (uint64_t)(heads + 0.5);
    if (u->nhead < 2)
        return;
    out->entered = (double)u->head[0].at;
    out->left = (double)u->left + u->left_out;
    for (size_t k = skip + 1; k < u->nhead; k++)
        any |= u->head[k].again;
    for (size_t k = skip + 1; k < u->nhead; k++) {
        const struct head *a = &u->head[k - 1], *b = &u->head[k];

        if (any && !b->again) /* no turn at all: from tile to tile */
            continue;
        out->steady += b->weight;
        out->span += (double)(b->at - a->at) * b->weight;
        out->loop_mfma += b->mfma - a->mfma;
        out->loop_lds += b->lds - a->lds;
        out->loop_vmem += b->vmem - a->vmem;
    }
}

kiln_status
kn_time_replay(struct kn_time_model *m, const struct kn_time_cast *who,
               const struct kn_time_env *env, struct kn_time_trace *trace,
               struct kn_time_cu *out)
{
    struct cu *u = KN_NEW(m->c, struct cu, 1);
    unsigned simd = 0;

    open_cu(u, m, env);
    u->trace = trace;
    place_waves(u, who, env->resident);
    if (who->group->periods.n)
        u->periods = &who->group->periods;
    while (next_slot(u, &u->now, &simd))
        run_slot(u, simd);
    *out = (struct kn_time_cu){ .cycles = (double)u->end + u->left_out,
                                .waves = u->nwaves,
                                .read = u->read_lines * 128,
                                .inst_wait = u->inst_wait };
    memcpy(out->waiting, u->waiting, sizeof out->waiting);
    for (unsigned k = 0; k < 4; k++)
        out->mfma += u->simd[k].mfma / 4;
    take_heads(u, out);
    return KILN_OK;
}
