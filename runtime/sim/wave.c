/* wave.c - the run loop of a wave and the order in which the waves of a
 * workgroup run. */
#include <stdlib.h>

#include "core.h"
#include "mfma/mfma.h"

/* Instructions a wave may run before another gets its turn. Without a barrier
 * the adversarial order would never leave a wave that spins on LDS. */
enum { SLICE_LONG = 1 << 18, SLICE_RR = 8, SLICE_RANDOM = 64 };

void
kn_jump_inst(struct kn_wave *w, const struct kn_inst *i)
{
    if (i->target < 0)
        kn_run_fail(w, KILN_BAD_INPUT,
                    "the branch at 0x%llx leaves the kernel",
                    (unsigned long long)i->pc);
    else
        w->pc = (uint32_t)i->target;
}

void
kn_jump_addr(struct kn_wave *w, const struct kn_inst *i, uint64_t addr)
{
    int32_t at = kn_program_at(w->group->program,
                               addr - w->group->code_base);

    if (at < 0)
        kn_run_fail(w, KILN_BAD_INPUT,
                    "the jump at 0x%llx to 0x%llx leaves the kernel",
                    (unsigned long long)i->pc, (unsigned long long)addr);
    else
        w->pc = (uint32_t)at;
}

/* ---- one instruction ---------------------------------------------------- */

static inline uint64_t
or_bytes(const uint8_t *p, unsigned n)
{
    uint64_t acc = 0, x;

    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&x, p, 8);
        acc |= x;
    }
    if (n) {
        memcpy(&x, p, 8);
        acc |= x & (((uint64_t)1 << 8 * n) - 1);
    }
    return acc;
}

static inline bool
any_flag(const struct kn_wave *w, const struct kn_step *st)
{
    uint64_t acc = 0;

    for (unsigned k = 0; k < st->nv; k++)
        acc |= or_bytes(w->vflag + st->v[k].reg, st->v[k].n);
    for (unsigned k = 0; k < st->ns; k++)
        acc |= or_bytes(w->sflag + st->s[k].reg, st->s[k].n);
    return acc;
}

/* The counter in whose order a load writes its destination. */
static unsigned
queue_of(const struct kn_step *st)
{
    if (!(st->flags & KN_ST_MEM) || st->mem.mem == KN_M_FLAT ||
        st->mem.mem == KN_M_SMEM)
        return 0;
    return st->mem.mem == KN_M_DS ? KN_C_LGKM : KN_C_VM;
}

static void
check_pending(struct kn_wave *w, const struct kn_inst *i,
              const struct kn_step *st)
{
    uint64_t mask = st->flags & KN_ST_ALL_LANES ? ~(uint64_t)0
                                                : kn_exec_mask(w);

    for (unsigned k = 0; k < st->nv; k++)
        if (or_bytes(w->vflag + st->v[k].reg, st->v[k].n) &
            0x0101010101010101u * KN_VF_PENDING)
            kn_check_vgpr(w, i, &st->v[k], mask, queue_of(st));
    for (unsigned k = 0; k < st->ns; k++)
        if (or_bytes(w->sflag + st->s[k].reg, st->s[k].n) &
            0x0101010101010101u * KN_VF_PENDING)
            kn_check_sgpr(w, i, &st->s[k]);
}

/* Addresses must be defined; data is checked where it is stored. */
static void
check_memory_undef(struct kn_wave *w, const struct kn_inst *i,
                   const struct kn_step *st)
{
    const struct kn_memop *m = &st->mem;

    if (m->naddr && m->kind != KN_MO_PERMUTE && m->kind != KN_MO_BPERMUTE)
        kn_require_vgpr(w, i, (struct kn_range){ m->addr, m->naddr, 0 },
                        kn_exec_mask(w), "address");
    for (unsigned k = 0; k < st->ns; k++)
        if (st->s[k].role == KN_R_READ)
            kn_require_sgpr(w, i, st->s[k].reg, st->s[k].n, "address");
}

/* Some operand is flagged, or SCC is undefined, or registers are indexed. */
static void
execute_flagged(struct kn_wave *w, const struct kn_inst *i,
                const struct kn_step *st)
{
    struct kn_undef_note note;

    check_pending(w, i, st);
    if (st->flags & KN_ST_MEM) {
        check_memory_undef(w, i, st);
        st->fn(w, i);
        return;
    }
    if (st->flags & KN_ST_BRANCH)
        kn_undef_branch(w, i);
    kn_undef_before(w, i, st, &note);
    st->fn(w, i);
    kn_undef_after(w, st, &note);
}

/* A memory instruction of which neither address nor data is wanted. */
static void
pass_memory(struct kn_wave *w, const struct kn_inst *i,
            const struct kn_step *st)
{
    bool flat = st->mem.mem == KN_M_FLAT;
    unsigned counters = flat ? KN_C_VM | KN_C_LGKM
                        : st->mem.mem == KN_M_DS ? KN_C_LGKM : KN_C_VM;

    kn_op_issue(w, kn_op_new(w, i, counters, !flat));
}

/* For an observer that wants addresses alone, where registers are named by
 * the code. */
static void
execute_lean(struct kn_wave *w, const struct kn_inst *i,
             const struct kn_step *st)
{
    const struct kn_sim_tap *tap = w->group->run->l->tap;

    if (!st->data)
        st->fn(w, i);
    else if (st->flags & KN_ST_MEM && tap->blind && tap->blind[w->id])
        pass_memory(w, i, st);
    else if (st->flags & KN_ST_MEM)
        st->fn(w, i);
}

/* The same for an observed launch; afterwards the observer sees it. */
static void
execute_tapped(struct kn_wave *w, const struct kn_inst *i,
               const struct kn_step *st)
{
    const struct kn_sim_tap *tap = w->group->run->l->tap;

    if (tap->skip_mfma && st->flags & KN_ST_MFMA)
        w->macs += kn_mfma_macs(kn_mfma_of(w->group->target, i->op));
    else if (tap->lean && !w->gpr_idx)
        execute_lean(w, i, st);
    else if (any_flag(w, st) || w->scc_undef || w->gpr_idx)
        execute_flagged(w, i, st);
    else
        st->fn(w, i);
    if (tap->alone && w->at_barrier)
        w->at_barrier = w->stop = false;
    if (!tap->inst(tap->user, w->id, kn_inst_index(w, i)))
        w->done = w->stop = true;
}

static void
run_inst(struct kn_wave *w, const struct kn_inst *i, const struct kn_step *st)
{
    const struct kn_sim_tap *tap = w->group->run->l->tap;

    if (tap && tap->lean) {
        execute_tapped(w, i, st);
        w->steps += st->waits;
        return;
    }
    kn_hazard_check(w, i, st);
    if (tap)
        execute_tapped(w, i, st);
    else if (any_flag(w, st) || w->scc_undef || w->gpr_idx)
        execute_flagged(w, i, st);
    else
        st->fn(w, i);
    kn_hazard_record(w, i, st);
    w->steps += st->waits;
}

static void
run_wave(struct kn_wave *w, uint64_t budget)
{
    const struct kn_run *r = w->group->run;

    while (!w->stop && budget--) {
        uint32_t pc = w->pc;
        const struct kn_inst *i = &r->program->inst[pc];
        const struct kn_step *st = &r->step[pc];

        if (st->refused || !st->fn) {
            kn_unsupported(w, i, st->refused);
            return;
        }
        if (!__atomic_load_n(&r->executed[pc], __ATOMIC_RELAXED))
            __atomic_store_n(&r->executed[pc], 1, __ATOMIC_RELAXED);
        w->pc = (uint32_t)i->next;
        if (!w->vskip || !(st->flags & KN_ST_VECTOR))
            run_inst(w, i, st);
        w->instructions++;
        if (w->pc >= r->program->n && !w->stop)
            kn_run_fail(w, KILN_BAD_INPUT,
                        "the kernel runs past its last instruction");
    }
}

/* ---- the waves of a workgroup ------------------------------------------- */

static bool
runnable(const struct kn_wave *w)
{
    return !w->done && !w->at_barrier && !w->status;
}

/* A barrier waits for the waves that are left, CDNA3 ISA 4.7: the hardware
 * goes on, but code that lets a wave leave early is rarely meant. */
static void
release_barrier(struct kn_group *g)
{
    struct kn_wave *waiting = NULL;
    uint32_t gone = g->nwaves;

    for (uint32_t k = 0; k < g->nwaves; k++) {
        if (g->wave[k].done)
            gone = k;
        else if (!waiting)
            waiting = &g->wave[k];
    }
    if (gone < g->nwaves)
        kn_report(waiting, &g->program->inst[waiting->barrier_inst],
                  KN_F_BARRIER, KN_PAIR(-1, 0, g->wave[gone].pc, gone),
                  "wave %u ended and never reaches this barrier", gone);
    kn_lds_barrier(g);
    for (uint32_t k = 0; k < g->nwaves; k++)
        if (g->wave[k].at_barrier)
            g->wave[k].at_barrier = g->wave[k].stop = false;
}

static uint64_t
next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x >> 11;
}

struct turn {
    uint32_t wave;
    uint64_t budget;
};

/* Who runs next. Adversarial: each wave as far as it gets, the direction
 * reversed at every barrier, so that each pair of waves runs in both orders.
 */
static bool
next_turn(struct kn_group *g, uint64_t *random, uint32_t *last,
          struct turn *t)
{
    enum kn_sim_waves order = g->run->l->waves;
    uint32_t n = g->nwaves, first = 0;

    if (order == KN_WAVES_RANDOM)
        first = (uint32_t)(next_random(random) % n);
    else if (order == KN_WAVES_RR)
        first = (*last + 1) % n;
    else if (g->stalled)
        first = *last + 1;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t id = (first + k) % n;

        if (order == KN_WAVES_ADVERSARIAL && g->epoch & 1)
            id = n - 1 - id;
        if (!runnable(&g->wave[id]))
            continue;
        *last = order == KN_WAVES_ADVERSARIAL ? (first + k) % n : id;
        t->wave = id;
        t->budget = order == KN_WAVES_RR ? SLICE_RR
                    : order == KN_WAVES_RANDOM
                        ? 1 + next_random(random) % SLICE_RANDOM
                        : SLICE_LONG;
        return true;
    }
    return false;
}

static bool
all_done(const struct kn_group *g)
{
    for (uint32_t k = 0; k < g->nwaves; k++)
        if (!g->wave[k].done)
            return false;
    return true;
}

/* The launch ends where the first workgroup that met a limit was. */
static void
stop_launch(struct kn_wave *w, const char *limit)
{
    const struct kn_inst *i = &w->group->program->inst[w->pc];
    struct kn_run *r = w->group->run;
    uint64_t index = w->group->worker->findings->group_index;

    kn_report(w, i, KN_F_RUNAWAY, KN_AT(-1, 0), "wave still runs after %s",
              limit);
    pthread_mutex_lock(&r->lock);
    if (!*r->stopped || index < r->stopped_group) {
        r->stopped_group = index;
        snprintf(r->stopped, sizeof r->stopped, "wave %u of workgroup %llu "
                 "was at 0x%llx (%s) after %s", w->id,
                 (unsigned long long)w->group->linear,
                 (unsigned long long)i->pc, kn_isa[i->op].mnemonic, limit);
    }
    if (index < atomic_load(&r->stop_at))
        atomic_store(&r->stop_at, index);
    pthread_mutex_unlock(&r->lock);
}

static bool
stop_at_limit(struct kn_wave *w)
{
    const struct kn_run *r = w->group->run;
    char limit[48];

    if (w->instructions >= r->max_steps)
        snprintf(limit, sizeof limit, "%llu instructions",
                 (unsigned long long)r->max_steps);
    else if (r->deadline > 0 && kn_seconds() >= r->deadline)
        snprintf(limit, sizeof limit, "%g s", r->l->max_seconds);
    else
        return false;
    stop_launch(w, limit);
    return true;
}

void
kn_group_run(struct kn_group *g)
{
    uint64_t random = (g->run->l->seed * 0x9e3779b97f4a7c15u) ^
                      (g->linear * 0xbf58476d1ce4e5b9u) ^ 0x94d049bb133111ebu;
    uint32_t last = 0;
    struct turn t;

    random |= 1;
    for (;;) {
        struct kn_wave *w;
        uint64_t left;

        if (!next_turn(g, &random, &last, &t)) {
            if (all_done(g))
                return;
            release_barrier(g);
            g->stalled = false;
            continue;
        }
        w = &g->wave[t.wave];
        left = g->run->max_steps - w->instructions;
        run_wave(w, t.budget < left ? t.budget : left);
        g->stalled = !w->stop;
        if (w->status || (!w->done && stop_at_limit(w)))
            return;
    }
}

/* ---- storage ------------------------------------------------------------ */

static void *
zeroed(struct kn_group_store *s, size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);

    if (!p)
        s->failed = true;
    return p;
}

static void
new_shadow(struct kn_run *r, struct kn_group_store *s)
{
    struct kn_lds_shadow *h = &s->shadow;

    h->writer = zeroed(s, r->lds_size + 4, sizeof *h->writer);
    h->reader = zeroed(s, ((size_t)r->lds_size + 4) * r->nwaves,
                       sizeof *h->reader);
    h->part = zeroed(s, ((size_t)r->lds_size + 4) * r->nwaves,
                     sizeof *h->part);
    h->wide = zeroed(s, ((size_t)r->lds_size / 4 + 1) * r->nwaves,
                     sizeof *h->wide);
    h->read_base = zeroed(s, r->nwaves, sizeof *h->read_base);
    h->last_read = zeroed(s, r->nwaves, sizeof *h->last_read);
    h->read_inst = zeroed(s, (size_t)r->nwaves * KN_LDS_READS,
                          sizeof *h->read_inst);
    h->op = zeroed(s, KN_LDS_OPS, sizeof *h->op);
}

static void
store_free(struct kn_group_store *s)
{
    if (!s)
        return;
    free(s->wave);
    free(s->lds);
    free(s->scratch);
    free(s->async);
    free(s->hazard);
    free(s->v);
    free(s->sides);
    free(s->shadow.writer);
    free(s->shadow.reader);
    free(s->shadow.part);
    free(s->shadow.wide);
    free(s->shadow.read_base);
    free(s->shadow.last_read);
    free(s->shadow.read_inst);
    free(s->shadow.op);
    free(s);
}

static struct kn_group_store *
store_new(struct kn_run *r)
{
    struct kn_group_store *s = calloc(1, sizeof *s);
    size_t scratch = (size_t)KN_LANES * r->scratch_size;

    if (!s)
        return NULL;
    s->nwaves = r->nwaves;
    s->lds_size = r->lds_size;
    s->scratch_size = r->scratch_size;
    s->wave = zeroed(s, r->nwaves, sizeof *s->wave);
    s->lds = zeroed(s, r->lds_size + 16, 1);
    s->scratch = zeroed(s, r->nwaves, 2 * scratch);
    s->async = zeroed(s, r->nwaves, sizeof *s->async);
    s->hazard = zeroed(s, r->nwaves, sizeof *s->hazard);
    s->v = aligned_alloc(64, (size_t)r->nwaves * KN_NVREG * sizeof *s->v);
    s->sides = kn_mfma_sides_new();
    s->failed |= !s->v || !s->sides;
    new_shadow(r, s);
    if (s->failed) {
        store_free(s);
        return NULL;
    }
    for (uint32_t k = 0; k < r->nwaves; k++) {
        struct kn_wave *w = &s->wave[k];

        w->v = s->v + (size_t)k * KN_NVREG;
        w->async = &s->async[k];
        w->hazard = &s->hazard[k];
        w->scratch = s->scratch + 2 * scratch * k;
        w->scratch_init = w->scratch + scratch;
    }
    return s;
}

/* Megabytes each, and their pages cost a short launch a tenth of its time. */
enum { IDLE_STORES = 4 };

struct kn_group_store *
kn_store_take(struct kn_run *r)
{
    struct kn_group_store *s = r->sim->idle;

    if (s && s->nwaves == r->nwaves && s->lds_size == r->lds_size &&
        s->scratch_size == r->scratch_size) {
        r->sim->idle = s->next;
        return s;
    }
    kn_store_free_idle(r->sim);
    return store_new(r);
}

void
kn_store_put(struct kn_sim *sim, struct kn_group_store *s)
{
    unsigned n = 0;

    for (struct kn_group_store *i = sim->idle; i; i = i->next)
        n++;
    if (!s || n == IDLE_STORES) {
        store_free(s);
        return;
    }
    s->next = sim->idle;
    sim->idle = s;
}

void
kn_store_free_idle(struct kn_sim *sim)
{
    while (sim->idle) {
        struct kn_group_store *s = sim->idle;

        sim->idle = s->next;
        store_free(s);
    }
}
