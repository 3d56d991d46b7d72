/* trial.c - launches of a row of selftest, over and over (session.h says in which ways). */
#include "session.h"

#include <string.h>

#include "../../../runtime/sim/machine.h"

/* Bytes before and behind each buffer; what they are: NaN round an operand of
 * any float type, so that a read beyond it shows. */
enum { GUARD = 4096, AROUND_INPUT = 0xff, AROUND_OUTPUT = 0xc7 };

enum { SETS = 2, MOST_BUFFERS = 16 };

/* A buffer of the job in both sets. */
struct buffer {
    bool output, workspace;
    struct kn_held set[SETS];
    uint8_t *before;         /* its bytes, before the first launch */
    uint8_t *after;          /* an output's, after it */
};

struct series {
    struct kn_session *s;
    struct kn_trial *t;
    struct kn_job *j;
    struct buffer b[MOST_BUFFERS];
    size_t n;
    struct kn_sim_launch l[SETS];
    uint8_t kernarg[sizeof ((struct kn_plan *)0)->kernarg];
    void *stream[SETS];
};

void
kn_trial_init(struct kn_trial *t, struct kn_ctx *c)
{
    *t = (struct kn_trial){ .c = c, .wanted = 1 };
    t->last = &t->first;
}

bool
kn_trial_fine(const struct kn_trial *t)
{
    return !t->unequal && !t->overwritten && !t->changed && !t->dirty;
}

/* ---- guarded memory ----------------------------------------------------- */

struct guarded {
    const struct kn_memory *m;
    uint64_t from;           /* where its own bytes begin */
    uint8_t around;
};

/* What nobody has written reads as on the simulator. */
static void
fill_unwritten(uint64_t at, uint8_t *dst, size_t n)
{
    static const uint32_t word = KN_POISON;

    for (size_t i = 0; i < n; i++)
        dst[i] = (uint8_t)(word >> 8 * ((at + i) % sizeof word));
}

static void
fill_guarded(void *user, uint64_t at, void *dst, size_t n)
{
    const struct guarded *g = user;
    uint64_t lo = at > g->from ? at : g->from;
    uint64_t hi = g->from + g->m->size;

    if (hi > at + n)
        hi = at + n;
    memset(dst, g->around, n);
    if (lo >= hi)
        return;
    if (g->m->fill)
        g->m->fill(g->m->user, lo - g->from, (uint8_t *)dst + (lo - at),
                   (size_t)(hi - lo));
    else
        fill_unwritten(lo - g->from, (uint8_t *)dst + (lo - at),
                       (size_t)(hi - lo));
}

kiln_status
kn_trial_put(struct kn_session *s, const struct kn_memory *m, uint32_t shift,
             struct kn_held *h)
{
    bool output = m->flags & KN_MEM_OUTPUT;
    struct guarded g = { m, GUARD + shift,
                         output ? AROUND_OUTPUT : AROUND_INPUT };
    struct kn_memory all = { .size = m->size + 2 * GUARD + shift,
                             .flags = m->flags, .fill = fill_guarded,
                             .user = &g };
    uint64_t from = s->gpu ? g.from : 0;

    KN_TRY(s->dev.backend->alloc(&s->dev, s->c, s->gpu ? &all : m, &h->base));
    h->p = (char *)h->base + from;
    h->size = m->size;
    h->output = output;
    return KILN_OK;
}

static kiln_status
get(struct kn_session *s, const void *from, uint64_t n, uint8_t **out)
{
    *out = KN_NEW(s->c, uint8_t, n + 1);
    return s->dev.backend->download(&s->dev, s->c, *out, from, (size_t)n);
}

static bool
all_bytes(const uint8_t *p, size_t n, uint8_t byte)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != byte)
            return false;
    return true;
}

static kiln_status
check_guards(struct series *x, const struct kn_held *h)
{
    uint8_t around = h->output ? AROUND_OUTPUT : AROUND_INPUT;
    size_t front = (size_t)((char *)h->p - (char *)h->base);
    uint8_t *before, *behind;

    KN_TRY(get(x->s, h->base, front, &before));
    KN_TRY(get(x->s, (char *)h->p + h->size, GUARD, &behind));
    x->t->overwritten += !all_bytes(before, front, around) ||
                         !all_bytes(behind, GUARD, around);
    return KILN_OK;
}

/* ---- the buffers of a job ----------------------------------------------- */

static void
fill_copy(void *user, uint64_t at, void *dst, size_t n)
{
    memcpy(dst, (uint8_t *)user + at, n);
}

/* The twin of a buffer, for the second set. */
static kiln_status
make_twin(struct series *x, struct buffer *b, kiln_operand operand)
{
    const struct kn_job *j = x->j;
    struct kn_memory m = { .size = b->set[0].size, .fill = fill_copy,
                           .user = b->before,
                           .flags = b->output ? KN_MEM_OUTPUT : 0 };
    uint32_t align = kn_operand_align(j->p, &j->g->cfg.domain, operand);
    struct kn_held *keep = KN_NEW(x->s->c, struct kn_held, 1);

    KN_TRY(kn_trial_put(x->s, &m, align, keep));
    keep->next = x->s->held;
    x->s->held = keep;
    b->set[1] = *keep;
    return KILN_OK;
}

/* Every buffer the job has an address in, and the address of its twin. */
static kiln_status
find_buffers(struct series *x, struct kn_operands *twin)
{
    for (size_t i = 0; i < KN_NPLACES; i++) {
        uint64_t *at = (uint64_t *)((char *)&x->j->at + kn_operand_places[i].at);
        uint64_t *to = (uint64_t *)((char *)twin + kn_operand_places[i].at);
        const struct kn_held *h = *at ? kn_session_held(x->s, *at) : NULL;
        struct buffer *b = &x->b[x->n];

        if (!h)
            continue;
        b->set[0] = *h;
        b->output = h->output;
        b->workspace = kn_operand_places[i].operand == KILN_ARG_WORKSPACE;
        KN_TRY(get(x->s, h->p, h->size, &b->before));
        KN_TRY(make_twin(x, b, kn_operand_places[i].operand));
        *to = (uintptr_t)b->set[1].p + (*at - (uintptr_t)h->p);
        x->n++;
    }
    return KILN_OK;
}

static bool
compared(const struct buffer *b)
{
    return b->output && !b->workspace;
}

static void
record(struct kn_trial *t, const struct kn_job *j, uint64_t size,
       const uint8_t *bytes)
{
    struct kn_output *o = KN_NEW(t->c, struct kn_output, 1);

    o->type = j->p->out;
    o->size = size;
    o->bytes = KN_NEW(t->c, uint8_t, size + 1);
    memcpy(o->bytes, bytes, size);
    *t->last = o;
    t->last = &o->next;
}

/* ---- launches ----------------------------------------------------------- */

static kiln_status
plan_sets(struct series *x, const struct kn_operands *twin)
{
    struct kn_plan plan;

    KN_TRY(kn_plan_launch(x->s->c, x->j->p, &x->j->g->cfg, twin, &plan));
    memcpy(x->kernarg, plan.kernarg, sizeof x->kernarg);
    x->l[0] = x->l[1] = x->j->l;
    x->l[1].kernarg = x->kernarg;
    return KILN_OK;
}

static kiln_status
start(struct series *x, int set)
{
    struct kn_start l = { .code = &x->j->code, .l = x->l[set],
                          .stream = x->stream[set] };

    return x->s->dev.backend->launch(&x->s->dev, x->s->c, &l, NULL);
}

static kiln_status
reset(struct series *x, int set)
{
    for (size_t i = 0; i < x->n; i++)
        if (compared(&x->b[i]))
            KN_TRY(x->s->dev.backend->upload(
                &x->s->dev, x->s->c, x->b[i].set[set].p, x->b[i].before,
                (size_t)x->b[i].set[set].size));
    return KILN_OK;
}

static kiln_status
check_zeros(struct series *x, const struct kn_held *h)
{
    uint8_t *count;

    KN_TRY(get(x->s, h->p, KILN_WORKSPACE_ZEROS, &count));
    x->t->dirty += !all_bytes(count, KILN_WORKSPACE_ZEROS, 0);
    return KILN_OK;
}

/* A launch on a set has run: its outputs against the first one's. */
static kiln_status
judge(struct series *x, int set)
{
    bool same = true;

    for (size_t i = 0; i < x->n; i++) {
        const struct buffer *b = &x->b[i];
        const struct kn_held *h = &b->set[set];
        uint8_t *got;

        if (b->workspace)
            KN_TRY(check_zeros(x, h));
        if (!compared(b))
            continue;
        KN_TRY(get(x->s, h->p, h->size, &got));
        same &= !memcmp(got, b->after, (size_t)h->size);
    }
    x->t->launches++;
    x->t->unequal += !same;
    return KILN_OK;
}

static kiln_status
judge_in(struct kn_ctx *own, struct series *x, int set)
{
    KN_ENTER(own);
    return judge(x, set);
}

/* What is downloaded goes with the verdict. */
static kiln_status
judge_apart(struct series *x, int set)
{
    struct kn_ctx *outer = x->s->c, own;
    kiln_status st;

    kn_ctx_init(&own, outer->realloc, outer->user);
    x->s->c = &own;
    st = judge_in(&own, x, set);
    x->s->c = outer;
    if (st)
        kn_fail(outer, st, "%s", own.err.text);
    kn_ctx_free(&own);
    return st;
}

/* Both sets at once, each on its stream. */
static kiln_status
run_both(struct series *x)
{
    const struct kn_backend *d = x->s->dev.backend;

    for (int i = 0; i < SETS; i++)
        KN_TRY(reset(x, i));
    for (int i = 0; i < SETS; i++)
        KN_TRY(start(x, i));
    for (int i = 0; i < SETS; i++)
        KN_TRY(d->sync(&x->s->dev, x->s->c, x->stream[i]));
    for (int i = 0; i < SETS; i++)
        KN_TRY(judge_apart(x, i));
    return KILN_OK;
}

static kiln_status
replay(struct series *x, int set)
{
    const struct kn_backend *d = x->s->dev.backend;
    void *graph;
    kiln_status st;

    KN_TRY(d->capture(&x->s->dev, x->s->c, x->stream[set]));
    KN_TRY(start(x, set));
    KN_TRY(d->captured(&x->s->dev, x->s->c, x->stream[set], &graph));
    st = reset(x, set);
    if (!st)
        st = d->replay(&x->s->dev, x->s->c, graph, x->stream[set]);
    if (!st)
        st = d->sync(&x->s->dev, x->s->c, x->stream[set]);
    KN_TRY(d->drop_graph(&x->s->dev, x->s->c, graph));
    KN_TRY(st);
    x->t->replays++;
    return judge_apart(x, set);
}

static kiln_status
check_around(struct series *x)
{
    for (size_t i = 0; i < x->n; i++)
        for (int k = 0; k < SETS; k++) {
            const struct kn_held *h = &x->b[i].set[k];
            uint8_t *now;

            KN_TRY(check_guards(x, h));
            if (h->output)
                continue;
            KN_TRY(get(x->s, h->p, h->size, &now));
            x->t->changed += memcmp(now, x->b[i].before, (size_t)h->size) != 0;
        }
    return KILN_OK;
}

static kiln_status
run_series(struct series *x)
{
    while (x->t->launches + SETS <= x->t->wanted)
        KN_TRY(run_both(x));
    for (int i = 0; i < SETS; i++)
        KN_TRY(replay(x, i));
    return check_around(x);
}

/* The first launch and what it left. */
static kiln_status
run_first(struct series *x)
{
    const struct kn_backend *d = x->s->dev.backend;

    KN_TRY(start(x, 0));
    KN_TRY(d->sync(&x->s->dev, x->s->c, x->stream[0]));
    for (size_t i = 0; i < x->n; i++) {
        struct buffer *b = &x->b[i];

        if (!b->output)
            continue;
        KN_TRY(get(x->s, b->set[0].p, b->set[0].size, &b->after));
        kn_session_held(x->s, (uintptr_t)b->set[0].p)->copy = b->after;
        if (compared(b))
            record(x->t, x->j, b->set[0].size, b->after);
    }
    return judge_apart(x, 0);
}

static kiln_status
run_on_gpu(struct series *x)
{
    const struct kn_backend *d = x->s->dev.backend;
    struct kn_operands twin = x->j->at;
    kiln_status st = KILN_OK;

    KN_TRY(find_buffers(x, &twin));
    KN_TRY(plan_sets(x, &twin));
    for (int i = 0; i < SETS && !st; i++)
        st = d->open_stream(&x->s->dev, x->s->c, &x->stream[i]);
    if (!st)
        st = run_first(x);
    if (!st && x->t->wanted > 1)
        st = run_series(x);
    for (int i = 0; i < SETS; i++)
        if (x->stream[i])
            d->close_stream(&x->s->dev, x->s->c, x->stream[i]);
    return st;
}

/* Outputs of a simulated launch, in the order of `places` as on a GPU. */
static kiln_status
run_simulated(struct kn_session *s, struct kn_job *j)
{
    struct kn_start l = { .code = &j->code, .l = j->l };

    KN_TRY(s->dev.backend->launch(&s->dev, s->c, &l, &j->result));
    s->trial->launches++;
    for (size_t i = 0; i < KN_NPLACES; i++) {
        uint64_t at = *(uint64_t *)((char *)&j->at + kn_operand_places[i].at);
        const struct kn_held *h = at ? kn_session_held(s, at) : NULL;
        uint8_t *bytes;

        if (!h || !h->output || kn_operand_places[i].operand == KILN_ARG_WORKSPACE)
            continue;
        KN_TRY(get(s, h->p, h->size, &bytes));
        record(s->trial, j, h->size, bytes);
    }
    return KILN_OK;
}

kiln_status
kn_trial_run(struct kn_session *s, struct kn_job *j)
{
    struct series *x;

    if (!s->gpu)
        return run_simulated(s, j);
    x = KN_NEW(s->c, struct series, 1);
    x->s = s;
    x->t = s->trial;
    x->j = j;
    return run_on_gpu(x);
}
