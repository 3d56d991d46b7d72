/* dispatch.c - kiln_run: the kernel of a shape class, chosen once. A class is
 * the kernel part, N, K, counts, alignment, and M up to its power of two; the
 * choice is made for the class, not for the first M that came. Neither
 * streams nor addresses are part of it. */
#include <string.h>

#include "context.h"

struct class {
    kiln_problem problem;    /* M of the class, no pitches, no alpha */
    struct kn_domain domain;
    bool divided;            /* K may be: there is a workspace */
};

struct entry {
    struct class class;
    kiln_function *function; /* NULL: a free slot */
};

/* A function that a faster one replaced: launches may still be using it. */
struct retired {
    struct retired *next;
    kiln_function *function;
};

struct kn_dispatch {
    struct kn_host host;
    pthread_mutex_t lock;
    struct entry *slot;      /* open addressing, at most half full */
    size_t nslots, n;
    struct retired *retired;
};

struct kn_dispatch *
kn_dispatch_new(const struct kn_host *h)
{
    struct kn_dispatch *t = kn_host_alloc(h, sizeof *t);

    if (!t)
        return NULL;
    memset(t, 0, sizeof *t);
    t->host = *h;
    pthread_mutex_init(&t->lock, NULL);
    return t;
}

void
kn_dispatch_free(struct kn_dispatch *t)
{
    struct kn_host h;

    if (!t)
        return;
    for (size_t i = 0; i < t->nslots; i++)
        kiln_unload(t->slot[i].function);
    while (t->retired) {
        struct retired *r = t->retired;

        t->retired = r->next;
        kiln_unload(r->function);
        kn_host_free(&t->host, r, sizeof *r);
    }
    pthread_mutex_destroy(&t->lock);
    h = t->host;
    kn_host_free(&h, t->slot, t->nslots * sizeof *t->slot);
    kn_host_free(&h, t, sizeof *t);
}

/* The struct was zeroed before it was filled in. */
static size_t
hash_of(const struct class *k)
{
    uint64_t h = kn_hash(k, sizeof *k);

    return (size_t)(h ^ h >> 32);
}

static struct entry *
slot_of(struct entry *slot, size_t nslots, const struct class *k)
{
    size_t i = hash_of(k) & (nslots - 1);

    while (slot[i].function && memcmp(&slot[i].class, k, sizeof *k) != 0)
        i = (i + 1) & (nslots - 1);
    return &slot[i];
}

static kiln_function *
find(struct kn_dispatch *t, const struct class *k)
{
    kiln_function *f;

    pthread_mutex_lock(&t->lock);
    f = t->nslots ? slot_of(t->slot, t->nslots, k)->function : NULL;
    pthread_mutex_unlock(&t->lock);
    return f;
}

static bool
grow(struct kn_dispatch *t)
{
    size_t n = t->nslots ? 2 * t->nslots : 32;
    struct entry *slot = kn_host_alloc(&t->host, n * sizeof *slot);

    if (!slot)
        return false;
    memset(slot, 0, n * sizeof *slot);
    for (size_t i = 0; i < t->nslots; i++)
        if (t->slot[i].function)
            *slot_of(slot, n, &t->slot[i].class) = t->slot[i];
    kn_host_free(&t->host, t->slot, t->nslots * sizeof *slot);
    t->slot = slot;
    t->nslots = n;
    return true;
}

/* Another thread may have prepared the class too: the first one stays. */
static kiln_status
remember(struct kn_ctx *c, struct kn_dispatch *t, const struct class *k,
         kiln_function **f)
{
    kiln_function *spare = *f;
    struct entry *e;

    pthread_mutex_lock(&t->lock);
    if (2 * (t->n + 1) > t->nslots && !grow(t)) {
        pthread_mutex_unlock(&t->lock);
        kiln_unload(spare);
        return kn_fail(c, KILN_NO_MEMORY, "out of memory");
    }
    e = slot_of(t->slot, t->nslots, k);
    if (e->function) {
        *f = e->function;
    } else {
        e->class = *k;
        e->function = spare;
        spare = NULL;
        t->n++;
    }
    pthread_mutex_unlock(&t->lock);
    kiln_unload(spare);
    return KILN_OK;
}

/* From now on launches of the class take f. */
static kiln_status
replace(struct kn_ctx *c, struct kn_dispatch *t, const struct class *k,
        kiln_function *f)
{
    struct retired *r = kn_host_alloc(&t->host, sizeof *r);
    struct entry *e;

    if (!r) {
        kiln_unload(f);
        return kn_fail(c, KILN_NO_MEMORY, "out of memory");
    }
    pthread_mutex_lock(&t->lock);
    e = slot_of(t->slot, t->nslots, k);
    *r = (struct retired){ t->retired, e->function };
    t->retired = r;
    e->function = f;
    pthread_mutex_unlock(&t->lock);
    return KILN_OK;
}

static int64_t
bucket_of(int64_t m)
{
    int64_t b = 16;

    while (b < m)
        b *= 2;
    return m ? b : 0;
}

static void
classify(const kiln_problem *p, uint32_t align, struct class *k)
{
    struct kn_domain d = kn_domain_of(p, align, 0);

    memset(k, 0, sizeof *k);
    k->problem.family = p->family;
    k->problem.target = p->target;
    k->problem.cus = p->cus;
    k->problem.xcds = p->xcds;
    k->problem.layout = p->layout;
    k->problem.a = p->a;
    k->problem.b = p->b;
    k->problem.out = p->out;
    k->problem.scale = p->scale;
    k->problem.epilogue = p->epilogue;
    memcpy(k->problem.expression, p->expression, sizeof p->expression);
    k->problem.beta = p->beta;
    k->problem.alpha_set = p->alpha_set;
    k->problem.stage = p->stage;
    k->problem.act = p->act;
    k->problem.atomic = p->atomic;
    k->problem.block_m = p->block_m;
    k->problem.b_layout = p->b_layout;
    k->problem.id_format = p->id_format;
    k->problem.weigh = p->weigh;
    k->problem.requant = p->requant;
    k->problem.quant = p->quant;
    k->problem.scale_layout = p->scale_layout;
    k->problem.invariant = p->invariant;
    k->problem.group_flags = p->group_flags;
    k->problem.out_scale = p->out_scale;
    k->problem.overflow = p->overflow;
    k->problem.scale_type = p->scale_type;
    k->problem.zero_points = p->zero_points;
    k->problem.math = p->math;
    k->problem.quant_flags = p->quant_flags;
    k->problem.hadamard = p->hadamard;
    k->problem.round = p->round;
    k->problem.amax = p->amax;
    k->problem.out2 = p->out2;
    k->problem.m = bucket_of(p->m);
    k->problem.n = p->n;
    k->problem.k = p->k;
    k->problem.batch = p->batch;
    k->problem.groups = p->groups;
    k->problem.topk = p->topk;
    memcpy(&k->domain, &d, sizeof d);
}

/* One call of kiln_run. */
struct run {
    kiln_device *d;
    kiln_problem p;
    kiln_arguments args;     /* complete */
    struct class class;
    uint32_t align;
};

/* The configuration for the largest M of the class, with the domain of the
 * addresses at hand: whether K has a tail depends on the K of a tile, and that
 * on the addresses. */
static kiln_status
choose(struct kn_ctx *c, const struct run *r, struct kn_config *given,
       struct kn_config *g, struct kn_buf *why)
{
    const struct kn_config open = { .split_k = r->class.divided ? 0 : 1 };
    kiln_problem largest = r->p;
    struct kn_config first = open;
    uint32_t bk = 0;

    largest.m = r->class.problem.m;
    KN_TRY(kn_choose(c, &largest, &first, NULL));
    for (int tries = 0; tries < 3 && first.bk != bk; tries++) {
        bk = first.bk;
        first = open;
        first.domain = kn_domain_of(&r->p, r->align, bk);
        KN_TRY(kn_choose(c, &largest, &first, NULL));
    }
    *given = open;
    given->domain = kn_domain_of(&r->p, r->align, first.bk == bk ? bk : 0);
    *g = *given;
    return kn_choose(c, &largest, g, why);
}

static kiln_status
prepare_in(struct kn_ctx *c, const struct run *r, kiln_function **out)
{
    struct kn_buf why = { .c = c };
    struct kn_config given, g;
    struct kn_request q = { .problem = &r->p, .config = &g, .given = &given,
                            .chosen = true, .compile = true };
    kiln_kernel *k;
    kiln_status s;

    KN_ENTER(c);
    KN_TRY(choose(c, r, &given, &g, &why));
    q.why = why.s;
    KN_TRY(kn_find_kernel(r->d->context, c, &q, &k));
    s = kn_device_load(c, r->d, k, out);
    kiln_release(k);
    return s;
}

static kiln_status
take(struct kn_ctx *c, const kiln_problem *given, const kiln_arguments *args,
     struct run *r)
{
    KN_TRY(kn_problem_take(c, given, r->d->dev.info.target, &r->p));
    kn_device_counts(&r->d->dev.info, &r->p);
    KN_TRY(kn_take_arguments(c, args, &r->args));
    r->align = kn_arguments_align(&r->args);
    classify(&r->p, r->align, &r->class);
    r->class.divided = r->args.workspace_bytes != 0;
    return KILN_OK;
}

/* The function of the class, prepared by the first call. */
static kiln_status
prepare(struct kn_ctx *c, const struct run *r, kiln_function **f)
{
    *f = find(r->d->dispatch, &r->class);
    if (*f)
        return KILN_OK;
    KN_TRY(prepare_in(c, r, f));
    return remember(c, r->d->dispatch, &r->class, f);
}

/* The same, undivided if the workspace is too small for the largest M of the
 * class: what is launched depends on the class, not on the M at hand. */
static kiln_status
prepare_within(struct kn_ctx *c, struct run *r, kiln_function **f)
{
    kiln_problem largest = r->p;
    kiln_plan plan;

    KN_TRY(prepare(c, r, f));
    if (kn_counted_shares(&(*f)->kernel->problem, &(*f)->kernel->config) < 2)
        return KILN_OK;
    largest.m = r->class.problem.m;
    KN_TRY(kn_launch_plan(c, (*f)->kernel, &largest, &plan));
    if (plan.workspace <= r->args.workspace_bytes)
        return KILN_OK;
    r->class.divided = false;
    return prepare(c, r, f);
}

static kiln_status
tune(struct kn_ctx *c, const struct run *r, kiln_function **f)
{
    struct kn_race race = { r->d, &r->p, &r->args, *f, r->align };
    kiln_function *best;

    KN_TRY(kn_autotune(c, &race, &best));
    if (!best)
        return KILN_OK;
    *f = best;
    return replace(c, r->d->dispatch, &r->class, best);
}

/* Rows wider than a tile that have a scale each cannot do without one. */
static kiln_status
check_workspace(struct kn_ctx *c, const kiln_function *f, const kiln_plan *plan,
                const kiln_arguments *args)
{
    bool small = args->workspace_bytes && args->workspace_bytes < plan->workspace;

    if (!f->kernel->config.domain.panels || (args->workspace && !small))
        return KILN_OK;
    return kn_fail(c, KILN_BAD_INPUT, "a scale for each row of %lld columns needs a "
                   "workspace of %llu bytes (kiln_plan.workspace), which %s",
                   (long long)f->kernel->problem.n, (unsigned long long)plan->workspace,
                   small ? "workspace_bytes has not" : "is NULL");
}

static kiln_status
run(struct kn_ctx *c, kiln_device *d, const kiln_problem *given,
    const kiln_arguments *args)
{
    struct run r = { .d = d };
    kiln_function *f;
    kiln_plan plan;

    KN_TRY(take(c, given, args, &r));
    if (r.args.used)
        *r.args.used = NULL;
    KN_TRY(prepare_within(c, &r, &f));
    if (r.args.flags & KILN_TUNE)
        KN_TRY(tune(c, &r, &f));
    if (r.args.used) {
        kn_kernel_retain(f->kernel);
        *r.args.used = f->kernel;
    }
    if (r.args.flags & (KILN_PREPARE | KILN_TUNE))
        return KILN_OK;
    KN_TRY(kn_launch_plan(c, f->kernel, &r.p, &plan));
    KN_TRY(check_workspace(c, f, &plan, &r.args));
    return kn_device_launch(c, f, &plan, args);
}

kiln_status
kiln_run(kiln_device *d, const kiln_problem *problem,
         const kiln_arguments *args, kiln_error *error)
{
    struct kn_ctx c;

    KN_NEEDS(error, d, "device");
    KN_NEEDS(error, problem, "problem");
    KN_NEEDS(error, args, "args");
    kn_choice_begin(d->context, &c);
    return kn_call_end(&c, run(&c, d, problem, args), error);
}
