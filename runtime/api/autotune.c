/* autotune.c - a race of kernels, off the launch path. What others got wrong
 * here, each held by tests/runtime/test_tune.c: a candidate whose launch or
 * timing failed has no time; results are compared before times; the choice is
 * for the class of shapes, and neither streams nor addresses are part of it;
 * outputs are the race's own, so that nobody else's launch meets them. */
#include "context.h"

#include <math.h>
#include <string.h>

enum { RUNS = 10, REPEATS = 3, OUTPUTS = 2 };

/* Output tiles that are tried, besides the chosen one. */
static const uint16_t tiles[][2] = {
    { 256, 256 }, { 256, 128 }, { 128, 256 }, { 128, 128 }, { 128, 64 },
    { 64, 128 },  { 64, 64 },   { 32, 128 },  { 32, 64 },   { 16, 64 },
};

struct buffers {
    size_t size;             /* of the output */
    void *device[OUTPUTS];
    void *workspace;         /* of the standard, where it divides K */
    uint8_t *first, *host[OUTPUTS]; /* before, and after */
};

/* ---- outputs ---- */

static size_t
step_of(kiln_type t)
{
    return kn_type_bits[t] > 16 ? kn_type_bits[t] / 8 : 2;
}

static double
value_of(kiln_type t, const uint8_t *p)
{
    uint32_t bits = 0;
    double wide;
    float f;

    if (t == KILN_F64) {
        memcpy(&wide, p, sizeof wide);
        return wide;
    }
    memcpy(&bits, p, step_of(t));
    if (t == KILN_I32)
        return (int32_t)bits;
    if (t == KILN_F16) {
        double m = bits & 0x3ff, e = bits >> 10 & 31;
        double x = e == 31 ? m > 0 ? NAN : INFINITY
                 : e > 0   ? ldexp(1024 + m, (int)e - 25) : ldexp(m, -24);

        return bits & 0x8000 ? -x : x;
    }
    bits <<= t == KILN_BF16 ? 16 : 0;
    memcpy(&f, &bits, 4);
    return (double)f;
}

/* Another order of the same sum: a few units of the output type's last place,
 * measured against the output as a whole. */
static double
tolerance(kiln_type t)
{
    return t == KILN_BF16 ? 0x1p-6 : t == KILN_F16 ? 0x1p-8
         : t == KILN_F32  ? 0x1p-12 : t == KILN_F64 ? 0x1p-41 : 0;
}

static bool
agree(kiln_type t, const uint8_t *x, const uint8_t *y, size_t size)
{
    size_t step = step_of(t);
    double sum = 0, limit;

    for (size_t i = 0; i + step <= size; i += step)
        if (isfinite(value_of(t, x + i)))
            sum += value_of(t, x + i) * value_of(t, x + i);
    limit = tolerance(t) * sqrt(sum / (double)(size / step + 1));
    for (size_t i = 0; i + step <= size; i += step) {
        double a = value_of(t, x + i), b = value_of(t, y + i);

        if (memcmp(x + i, y + i, step) != 0 &&
            !(fabs(a - b) <= limit + tolerance(t) * fabs(a)) &&
            !(isnan(a) && isnan(b)))
            return false;
    }
    return true;
}

/* A launch of the caller's may be using the caller's. */
static kiln_status
make_workspace(struct kn_ctx *c, const struct kn_race *r, struct buffers *b)
{
    struct kn_device *dev = &r->d->dev;
    struct kn_memory m = { 0 };
    kiln_plan plan;

    b->workspace = r->args->workspace;
    if (!kn_counts(&r->standard->kernel->problem, &r->standard->kernel->config))
        return KILN_OK;
    KN_TRY(kn_launch_plan(c, r->standard->kernel, r->p, &plan));
    m.size = plan.workspace;
    KN_TRY(dev->backend->alloc(dev, c, &m, &b->workspace));
    return dev->backend->upload(dev, c, b->workspace,
                                KN_NEW(c, uint8_t, KILN_WORKSPACE_ZEROS),
                                KILN_WORKSPACE_ZEROS);
}

static kiln_status
make_buffers(struct kn_ctx *c, const struct kn_race *r, struct buffers *b)
{
    struct kn_device *dev = &r->d->dev;
    struct kn_memory m = { 0 };

    b->size = (size_t)kn_extents_of(r->p).c;
    m.size = (b->size + 3) / 4 * 4 + 4;
    b->first = KN_NEW(c, uint8_t, b->size);
    memset(b->first, 0xff, b->size);
    if (r->p->beta)
        KN_TRY(dev->backend->download(dev, c, b->first, r->args->c, b->size));
    for (int i = 0; i < OUTPUTS; i++) {
        b->host[i] = KN_NEW(c, uint8_t, b->size);
        KN_TRY(dev->backend->alloc(dev, c, &m, &b->device[i]));
    }
    return make_workspace(c, r, b);
}

/* ---- one kernel ---- */

static kiln_status
measure(struct kn_ctx *c, const struct kn_race *r, const struct kn_start *s,
        double *us)
{
    *us = 0;
    for (int i = 0; i < REPEATS; i++) {
        double t;

        KN_TRY(r->d->dev.backend->time(&r->d->dev, c, s, &t));
        if (!(t > 0))
            return kn_fail(c, KILN_IO, "the device's clock says %g us", t);
        if (*us <= 0 || t < *us)
            *us = t;
    }
    return KILN_OK;
}

/* The caller's arguments but for what a candidate writes: a slot's output, and
 * behind it its amax. */
static kiln_arguments
arguments_of(const struct kn_race *r, const struct buffers *b, int slot)
{
    kiln_arguments args = *r->args;

    args.c = b->device[slot];
    args.amax = (uint8_t *)args.c + (b->size + 7) / 8 * 8;
    args.workspace = b->workspace;
    return args;
}

/* Result first, then time. `slot`: 0 for the kernel that is compared with. */
static kiln_status
try_kernel(struct kn_ctx *c, const struct kn_race *r, const kiln_function *f,
           struct buffers *b, int slot)
{
    struct kn_device *dev = &r->d->dev;
    kiln_arguments args = arguments_of(r, b, slot);
    uint8_t kernarg[sizeof((kiln_plan *)0)->kernarg];
    struct kn_start s;
    kiln_plan plan;

    KN_TRY(kn_launch_plan(c, f->kernel, r->p, &plan));
    KN_TRY(kn_fill_kernarg(c, &plan, &args, kernarg));
    s = kn_device_start(f, &plan, kernarg, r->args->stream);
    KN_TRY(dev->backend->upload(dev, c, args.c, b->first, b->size));
    KN_TRY(kn_device_run(c, r->d, &s));
    KN_TRY(dev->backend->sync(dev, c, args.stream));
    KN_TRY(dev->backend->download(dev, c, b->host[slot], args.c, b->size));
    if (slot && !agree(r->p->out, b->host[0], b->host[slot], b->size))
        return kn_fail(c, KILN_FINDING, "it computes something else");
    return KILN_OK;
}

static kiln_status
time_kernel(struct kn_ctx *c, const struct kn_race *r, const kiln_function *f,
            struct buffers *b, double *us)
{
    kiln_arguments args = arguments_of(r, b, 1);
    uint8_t kernarg[sizeof((kiln_plan *)0)->kernarg];
    struct kn_start s;
    kiln_plan plan;

    KN_TRY(kn_launch_plan(c, f->kernel, r->p, &plan));
    KN_TRY(kn_fill_kernarg(c, &plan, &args, kernarg));
    s = kn_device_start(f, &plan, kernarg, r->args->stream);
    s.runs = RUNS;
    return measure(c, r, &s, us);
}

/* ---- the race ---- */

/* A candidate's configuration; false: impossible, or the chosen one. */
static bool
configure(struct kn_ctx *c, const struct kn_race *r, size_t i,
          struct kn_config *g)
{
    const struct kn_config *own = &r->standard->kernel->config;

    *g = (struct kn_config){ .bm = tiles[i][0], .bn = tiles[i][1],
                             .bk = own->bk, .split_k = 1 };
    g->domain = kn_domain_of(r->p, r->align, g->bk);
    return kn_choose(c, r->p, g, NULL) == KILN_OK &&
           (g->bm != own->bm || g->bn != own->bn);
}

static kiln_status
load_candidate(struct kn_ctx *c, const struct kn_race *r,
               const struct kn_config *g, kiln_function **out)
{
    struct kn_request q = { .problem = r->p, .config = g, .compile = true,
                            .why = "the fastest of those measured here" };
    kiln_kernel *k;
    kiln_status s;

    KN_TRY(kn_find_kernel(r->d->context, c, &q, &k));
    s = kn_device_load(c, r->d, k, out);
    kiln_release(k);
    return s;
}

struct lap {
    size_t tile;
    struct buffers *b;
    kiln_function *f;        /* out; NULL: no candidate */
    double us;
};

static kiln_status
enter_race(struct kn_ctx *c, const struct kn_race *r, struct lap *l)
{
    struct kn_config g;

    KN_ENTER(c);
    if (!configure(c, r, l->tile, &g))
        return KILN_OK;
    KN_TRY(load_candidate(c, r, &g, &l->f));
    KN_TRY(try_kernel(c, r, l->f, l->b, 1));
    return time_kernel(c, r, l->f, l->b, &l->us);
}

static void
race(struct kn_ctx *c, const struct kn_race *r, struct buffers *b,
     double least, kiln_function **best)
{
    double standard = least;

    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        struct lap l = { .tile = i, .b = b };
        struct kn_ctx own;
        kiln_status s;

        kn_ctx_init(&own, c->realloc, c->user);
        s = enter_race(&own, r, &l);
        if (s)
            kn_log(r->d->context, KILN_LOG_WARNING, "a %ux%u tile is out: %s",
                   tiles[i][0], tiles[i][1], own.err.text);
        kn_ctx_free(&own);
        if (!s && l.f && l.us < least) {
            kiln_function *slower = *best;

            least = l.us;
            *best = l.f;
            l.f = slower;
        }
        kiln_unload(l.f);
    }
    kn_log(r->d->context, KILN_LOG_INFO, "tuned %s: %.2f us, was %.2f us",
           r->standard->kernel->name, least, standard);
}

static kiln_status
hold_race(struct kn_ctx *c, const struct kn_race *r, struct buffers *b,
          kiln_function **best)
{
    double us;

    KN_ENTER(c);
    KN_TRY(make_buffers(c, r, b));
    KN_TRY(try_kernel(c, r, r->standard, b, 0));
    KN_TRY(time_kernel(c, r, r->standard, b, &us));
    race(c, r, b, us, best);
    return KILN_OK;
}

kiln_status
kn_autotune(struct kn_ctx *c, const struct kn_race *r, kiln_function **best)
{
    struct buffers b = { 0 };
    struct kn_ctx own;
    kiln_status s;

    *best = NULL;
    if (r->d->dev.info.simulated)
        return kn_fail(c, KILN_UNSUPPORTED, "KILN_TUNE measures, and the "
                       "simulator has no clock; `kilnc tune` goes by "
                       "predictions");
    if (!r->p->m || !r->p->n)
        return KILN_OK;
    kn_call_begin(&r->d->context->host, &own);
    s = hold_race(&own, r, &b, best);
    if (s && !c->err.status)
        c->err = own.err;
    memset(&own.err, 0, sizeof own.err);
    for (int i = 0; i < OUTPUTS; i++)
        if (b.device[i])
            r->d->dev.backend->free(&r->d->dev, &own, b.device[i]);
    if (b.workspace && b.workspace != r->args->workspace)
        r->d->dev.backend->free(&r->d->dev, &own, b.workspace);
    kn_ctx_free(&own);
    return s;
}
