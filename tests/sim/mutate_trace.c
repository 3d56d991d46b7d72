#include "mutate_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "runtime/sim/core.h"

const char *const reason_text[NREASONS] = {
#define X(id, text) text,
    REASONS(X)
#undef X
};

/* ---- recording ---------------------------------------------------------- */

static void
begin_group(void *user, uint64_t linear)
{
    struct trace *t = user;

    (void)linear;
    if (t->npaths + t->nwaves > t->cap) {
        t->cap = 2 * (t->npaths + t->nwaves);
        t->path = realloc(t->path, t->cap * sizeof *t->path);
        assert_non_null(t->path);
    }
    memset(t->path + t->npaths, 0, t->nwaves * sizeof *t->path);
    t->npaths += t->nwaves;
}

static struct path *
path_of(struct trace *t, uint32_t wave)
{
    return &t->path[t->npaths - t->nwaves + wave];
}

static void *
grow(void *p, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return p;
    *cap = *cap ? 2 * *cap : 1024;
    p = realloc(p, *cap * size);
    assert_non_null(p);
    return p;
}

/* LDS addresses of the instruction that is about to be added. */
static void
add_access(void *user, uint32_t wave, const struct kn_sim_access *a)
{
    struct path *p = path_of(user, wave);
    const uint32_t *at = a->dma ? a->into : a->lds;
    struct bytes *b;

    if (!at)
        return;
    p->lds = grow(p->lds, &p->lds_cap, p->nlds, sizeof *p->lds);
    b = &p->lds[p->nlds++];
    memcpy(b->at, at, sizeof b->at);
    b->each = a->dma && a->bytes < 4 ? 4 : a->bytes;
    b->lanes = a->dma ? ~0ull : a->mask;
}

static bool
add_inst(void *user, uint32_t wave, uint32_t inst)
{
    struct path *p = path_of(user, wave);

    p->done = grow(p->done, &p->cap, p->n, sizeof *p->done);
    p->done[p->n++] = (struct executed){ inst, (uint32_t)p->seen,
                                         (uint32_t)(p->nlds - p->seen) };
    p->seen = p->nlds;
    return true;
}

void
trace_record(struct trace *t, struct kn_ctx *c, struct kn_sim *sim,
             const struct kn_sim_launch *l, const struct kn_program *program)
{
    struct kn_sim_tap tap = { .user = t, .group = begin_group,
                              .inst = add_inst, .access = add_access };
    struct kn_sim_launch watched = *l;
    struct kn_sim_result r;

    *t = (struct trace){ .program = program,
                         .nwaves = (l->block[0] * l->block[1] * l->block[2] +
                                    63) / 64 };
    watched.tap = &tap;
    assert_int_equal(kn_prepare(c, program, &t->step), KILN_OK);
    if (kn_sim_run(sim, &watched, &r))
        fail_msg("%s", c->err.text);
    if (r.nfindings)
        fail_msg("%s", r.findings[0].text);
}

void
trace_free(struct trace *t)
{
    for (size_t k = 0; k < t->npaths; k++) {
        free(t->path[k].done);
        free(t->path[k].lds);
    }
    free(t->path);
}

/* ---- outstanding operations of a wave ----------------------------------- */

enum touch { T_LDS_READ = 1, T_LDS_WRITE = 2, T_DMA = 4 };

struct pending {
    const struct kn_step *by;
    const struct executed *as;
    unsigned touch;          /* of LDS */
    bool smem;               /* may overtake the others */
    bool owed;               /* the removed wait would have retired it */
    uint32_t epoch;          /* barriers passed when it was issued */
};

enum { QUEUE = 64, LDS_DWORDS = 160 * 1024 / 4 };
struct queue {
    struct pending item[QUEUE];
    unsigned n, most;        /* most: what the counter can hold */
};

/* Who may touch a dword of LDS between two barriers, a bit a wave. */
struct users {
    uint32_t readers, writers;
};

struct wave {
    const struct trace *t;
    const struct path *path;
    uint32_t removed;        /* the instruction that is not there */
    struct users *users;     /* of a workgroup, epoch after epoch, or NULL */
    uint32_t epoch, bit;
    struct queue vm, lgkm;
    bool reached, owes, used;
    unsigned landed;         /* touches of LDS that a wait completed */
};

static unsigned
touches(const struct trace *t, uint32_t inst)
{
    const struct kn_memop *m = &t->step[inst].mem;

    if (!(t->step[inst].flags & KN_ST_MEM))
        return 0;
    if (m->kind == KN_MO_DMA)
        return T_DMA | T_LDS_WRITE;
    if (m->mem != KN_M_DS)
        return 0;
    return m->kind == KN_MO_STORE ? T_LDS_WRITE
           : m->kind == KN_MO_ATOMIC ? T_LDS_READ | T_LDS_WRITE
                                     : T_LDS_READ;
}

/* An operation is under way from the epoch of its issue to this one. */
static void
note_users(const struct wave *w, const struct pending *p)
{
    for (unsigned i = 0; i < p->as->n; i++) {
        const struct bytes *b = &w->path->lds[p->as->first + i];

        for (unsigned lane = 0; lane < 64; lane++)
            for (uint32_t at = b->at[lane] / 4; b->lanes >> lane & 1 &&
                 at < (b->at[lane] + b->each + 3) / 4; at++)
                for (uint32_t e = p->epoch; e <= w->epoch; e++) {
                    struct users *u = &w->users[(size_t)e * LDS_DWORDS + at];

                    *(p->touch & T_LDS_WRITE ? &u->writers : &u->readers) |=
                        w->bit;
                }
    }
}

static unsigned
pop(struct wave *w, struct queue *q, unsigned n)
{
    unsigned landed = 0;

    for (unsigned k = 0; k < n; k++) {
        landed |= q->item[k].touch;
        if (w->users && q->item[k].touch)
            note_users(w, &q->item[k]);
    }
    q->n -= n;
    memmove(q->item, q->item + n, q->n * sizeof *q->item);
    return landed;
}

/* How many of the oldest a wait for `limit` is sure to retire. */
static unsigned
retired_by(const struct queue *q, unsigned limit)
{
    bool overtakes = false;

    for (unsigned k = 0; k < q->n; k++)
        overtakes |= q->item[k].smem;
    if (q->n <= limit || (overtakes && limit))
        return 0;
    return q->n - limit;
}

static void
push(struct wave *w, struct queue *q, const struct pending *p)
{
    if (q->n == q->most)     /* the counter is full: issue waits */
        pop(w, q, 1);
    q->item[q->n++] = *p;
}

static void
owe(struct wave *w, struct queue *q, unsigned limit)
{
    unsigned n = retired_by(q, limit);

    for (unsigned k = 0; k < n; k++)
        q->item[k].owed = true;
    w->owes |= n > 0;
}

static bool
overlap(const struct kn_range *a, unsigned na, const struct kn_range *b,
        unsigned nb)
{
    for (unsigned i = 0; i < na; i++)
        for (unsigned k = 0; k < nb; k++)
            if (a[i].role == KN_R_WRITE && a[i].reg < b[k].reg + b[k].n &&
                b[k].reg < a[i].reg + a[i].n)
                return true;
    return false;
}

static bool
meet(const struct bytes *a, const struct bytes *b)
{
    for (unsigned i = 0; i < 64; i++)
        for (unsigned k = 0; a->lanes >> i & 1 && k < 64; k++)
            if (b->lanes >> k & 1 && a->at[i] < b->at[k] + b->each &&
                b->at[k] < a->at[i] + a->each)
                return true;
    return false;
}

/* Do two instructions touch the same byte of LDS? */
static bool
same_bytes(const struct path *p, const struct executed *a,
           const struct executed *b)
{
    for (unsigned i = 0; i < a->n; i++)
        for (unsigned k = 0; k < b->n; k++)
            if (meet(&p->lds[a->first + i], &p->lds[b->first + k]))
                return true;
    return false;
}

/* Does this instruction need an operation that is owed? Before a barrier
 * all that touch LDS count: the others may then use the bytes. */
static void
check_use(struct wave *w, const struct executed *e, const struct queue *q)
{
    const struct kn_step *st = &w->t->step[e->inst];
    unsigned touch = touches(w->t, e->inst);
    bool barrier = w->t->program->inst[e->inst].op == KN_I_s_barrier;

    for (unsigned k = 0; k < q->n; k++) {
        const struct pending *p = &q->item[k];

        if (!p->owed)
            continue;
        if (overlap(p->by->v, p->by->nv, st->v, st->nv) ||
            overlap(p->by->s, p->by->ns, st->s, st->ns))
            w->used = true;
        if (p->touch && barrier)
            w->used = true;
        if (p->touch && touch && (p->touch ^ touch) & T_DMA &&
            same_bytes(w->path, p->as, e))
            w->used = true;
    }
}

static void
wait_for(struct wave *w, const struct kn_inst *i, bool removed)
{
    if (removed) {
        owe(w, &w->vm, i->vm);
        owe(w, &w->lgkm, i->lgkm);
        return;
    }
    w->landed |= pop(w, &w->vm, retired_by(&w->vm, i->vm));
    w->landed |= pop(w, &w->lgkm, retired_by(&w->lgkm, i->lgkm));
}

static void
step(struct wave *w, const struct executed *e)
{
    uint32_t inst = e->inst;
    const struct kn_inst *i = &w->t->program->inst[inst];
    const struct kn_isa_row *row = &kn_isa[i->op];
    struct pending p = { .by = &w->t->step[inst], .as = e,
                         .touch = touches(w->t, inst),
                         .smem = row->unit == KN_U_SMEM, .epoch = w->epoch };

    w->reached |= inst == w->removed;
    w->epoch += i->op == KN_I_s_barrier && inst != w->removed;
    if (i->op == KN_I_s_waitcnt) {
        wait_for(w, i, inst == w->removed);
        return;
    }
    check_use(w, e, &w->vm);
    check_use(w, e, &w->lgkm);
    if (row->counter & KN_C_VM)
        push(w, &w->vm, &p);
    if (row->counter & KN_C_LGKM)
        push(w, &w->lgkm, &p);
}

static void
wave_init(struct wave *w, const struct trace *t, const struct path *path,
          uint32_t removed)
{
    *w = (struct wave){ .t = t, .path = path, .removed = removed };
    w->vm.most = KN_VM_MAX;
    w->lgkm.most = KN_LGKM_MAX;
}

static bool
any_owed(const struct queue *q)
{
    for (unsigned k = 0; k < q->n; k++)
        if (q->item[k].owed)
            return true;
    return false;
}

enum reason
trace_wait(const struct trace *t, uint32_t inst)
{
    bool reached = false, owes = false, used = false, left = false;

    for (size_t k = 0; k < t->npaths; k++) {
        struct wave w;

        wave_init(&w, t, &t->path[k], inst);
        for (size_t i = 0; i < t->path[k].n; i++)
            step(&w, &t->path[k].done[i]);
        reached |= w.reached;
        owes |= w.owes;
        used |= w.used;
        left |= any_owed(&w.vm) || any_owed(&w.lgkm);
    }
    return !reached ? R_UNREACHED
           : !owes  ? R_NOTHING_PENDING
           : used   ? R_MATTERS
           : left   ? R_NEVER_USED
                    : R_WAITED_AGAIN;
}

/* ---- barriers ----------------------------------------------------------- */

/* LDS accesses of one wave before and after each time it passes the barrier,
 * up to its neighbours. A copy to LDS counts where a wait completes it. */
static bool
sides(const struct trace *t, const struct path *p, uint32_t barrier,
      unsigned *before, unsigned *after)
{
    bool reached = false, behind = false;
    unsigned since = 0;
    struct wave w;

    wave_init(&w, t, p, UINT32_MAX);
    for (size_t i = 0; i < p->n; i++) {
        uint32_t inst = p->done[i].inst;
        unsigned touch = touches(t, inst);

        w.landed = 0;
        step(&w, &p->done[i]);
        touch |= w.landed & T_DMA ? T_LDS_WRITE : 0;
        if (t->program->inst[inst].op == KN_I_s_barrier) {
            behind = inst == barrier;
            *before |= behind ? since : 0;
            reached |= behind;
            since = 0;
        }
        since |= touch;
        *after |= behind ? touch : 0;
    }
    return reached;
}

/* Barriers that the waves of a workgroup pass at most. */
static uint32_t
epochs(const struct trace *t, size_t group)
{
    uint32_t most = 0;

    for (size_t k = group; k < group + t->nwaves; k++) {
        uint32_t n = 0;

        for (size_t i = 0; i < t->path[k].n; i++)
            n += t->program->inst[t->path[k].done[i].inst].op ==
                 KN_I_s_barrier;
        most = n > most ? n : most;
    }
    return most + 1;
}

/* Whether the other barriers alone, as many for every wave, keep every write
 * to LDS apart from other waves' accesses to the same dword, from issue to the
 * wait for it. */
static bool
others_suffice(const struct trace *t, size_t group, uint32_t inst)
{
    size_t n = (size_t)epochs(t, group) * LDS_DWORDS;
    struct users *users = calloc(n, sizeof *users);
    uint32_t passed = 0;
    bool apart = true;

    assert_non_null(users);
    assert_true(t->nwaves <= 32);
    for (uint32_t k = 0; k < t->nwaves; k++) {
        struct wave w;

        wave_init(&w, t, &t->path[group + k], inst);
        w.users = users;
        w.bit = 1u << k;
        for (size_t i = 0; i < w.path->n; i++)
            step(&w, &w.path->done[i]);
        pop(&w, &w.vm, w.vm.n);
        pop(&w, &w.lgkm, w.lgkm.n);
        apart = apart && (!k || w.epoch == passed);
        passed = w.epoch;
    }
    for (size_t k = 0; apart && k < n; k++) {
        uint32_t all = users[k].readers | users[k].writers;

        apart = !users[k].writers || !(all & (all - 1));
    }
    free(users);
    return apart;
}

static bool
all_suffice(const struct trace *t, uint32_t inst)
{
    for (size_t g = 0; g < t->npaths; g += t->nwaves)
        if (!others_suffice(t, g, inst))
            return false;
    return true;
}

enum reason
trace_barrier(const struct trace *t, uint32_t inst)
{
    bool reached = false, matters = false, reads = false;

    for (size_t g = 0; g < t->npaths; g += t->nwaves) {
        unsigned before = 0, after = 0;

        for (size_t k = g; k < g + t->nwaves; k++)
            reached |= sides(t, &t->path[k], inst, &before, &after);
        if (!before || !after)
            continue;
        if ((before | after) & T_LDS_WRITE)
            matters = true;
        else
            reads = true;
    }
    return !reached ? R_UNREACHED
           : matters ? all_suffice(t, inst) ? R_OTHERS_SUFFICE : R_MATTERS
           : reads   ? R_READS_ONLY
                     : R_ONE_SIDED;
}
