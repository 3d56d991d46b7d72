/* device_sim.c - the simulator as a device. It serves one thread at a time,
 * so calls take turns; a launch has run when it returns. */
#include <string.h>

#include "../sim/timing/timing.h"
#include "device.h"
#include "parts.h"

struct sim_device {
    const struct kn_simulator *api;
    struct kn_sim *sim;
    struct kn_ctx *c;        /* the device's arena: the simulator's as well */
    pthread_mutex_t lock;
};

/* The simulator's error becomes the call's, its record starts afresh. */
static kiln_status
leave(struct sim_device *s, struct kn_ctx *c, kiln_status st)
{
    if (st && !c->err.status)
        c->err = s->c->err;
    memset(&s->c->err, 0, sizeof s->c->err);
    pthread_mutex_unlock(&s->lock);
    return st;
}

static struct sim_device *
enter(kiln_device *d)
{
    struct sim_device *s = d->state;

    pthread_mutex_lock(&s->lock);
    return s;
}

static void
close_sim(kiln_device *d)
{
    struct sim_device *s = d->state;

    if (s->sim)
        s->api->close(s->sim);
    pthread_mutex_destroy(&s->lock);
}

static kiln_status
alloc_sim(kiln_device *d, struct kn_ctx *c, size_t n, void **out)
{
    struct sim_device *s = enter(d);
    uint64_t at = 0;
    kiln_status st = s->api->alloc(s->sim, n, 0, NULL, NULL, &at);

    *out = (void *)(uintptr_t)at;
    return leave(s, c, st);
}

static kiln_status
free_sim(kiln_device *d, struct kn_ctx *c, void *p)
{
    struct sim_device *s = enter(d);

    return leave(s, c, s->api->free(s->sim, (uintptr_t)p));
}

static kiln_status
upload_sim(kiln_device *d, struct kn_ctx *c, void *dst, const void *src,
           size_t n)
{
    struct sim_device *s = enter(d);

    return leave(s, c, s->api->write(s->sim, (uintptr_t)dst, src, n));
}

static kiln_status
download_sim(kiln_device *d, struct kn_ctx *c, void *dst, const void *src,
             size_t n)
{
    struct sim_device *s = enter(d);

    return leave(s, c, s->api->read(s->sim, (uintptr_t)src, dst, n));
}

static kiln_status
load_sim(kiln_device *d, struct kn_ctx *c, const kiln_kernel *k,
         struct kn_loaded *out)
{
    struct sim_device *s = enter(d);
    struct kn_sim_code *code = NULL;
    kiln_status st = s->api->load(s->sim, k->name, k->co, k->co_size, &code);

    out->module = code;
    return leave(s, c, st);
}

static void
unload_sim(kiln_device *d, struct kn_loaded *l)
{
    struct sim_device *s = enter(d);

    s->api->unload(s->sim, l->module);
    pthread_mutex_unlock(&s->lock);
}

static kiln_status
judge(kiln_device *d, struct kn_ctx *c, const struct kn_sim_result *r)
{
    for (unsigned i = 0; i < r->nkept; i++)
        kn_log(d->context, KILN_LOG_WARNING, "%s", r->findings[i].text);
    if (!r->nfindings)
        return KILN_OK;
    return kn_fail(c, KILN_FINDING, "%s (%llu findings)",
                   r->nkept ? r->findings[0].text : "a finding",
                   (unsigned long long)r->nfindings);
}

static struct kn_sim_launch
launch_of(const kiln_device *d, const struct kn_start *start)
{
    struct kn_sim_launch l = {
        .max_steps = d->context->max_steps,
        .max_seconds = d->context->max_seconds,
        .code = start->code->module,
        .kernarg = start->kernarg,
        .kernarg_size = start->plan->kernarg_size,
        .select = { .all = true },
        .own = true,
    };

    memcpy(l.grid, start->plan->grid, sizeof l.grid);
    memcpy(l.block, start->plan->block, sizeof l.block);
    return l;
}

static kiln_status
launch_sim(kiln_device *d, struct kn_ctx *c, const struct kn_start *start)
{
    struct sim_device *s = enter(d);
    struct kn_sim_launch l = launch_of(d, start);
    struct kn_sim_result r;
    kiln_status st = s->api->run(s->sim, &l, &r);

    if (!st && r.stopped)
        st = kn_fail(c, KILN_UNSUPPORTED, "stopped: %s", r.stopped);
    if (!st)
        st = judge(d, c, &r);
    return leave(s, c, st);
}

static kiln_status
copy_sim(kiln_device *d, struct kn_ctx *c, void *dst, const kiln_plan *plan,
         const kiln_arguments *args)
{
    return upload_sim(d, c, dst, args->host_offsets,
                      (size_t)plan->offsets_size);
}

static kiln_status
sync_sim(kiln_device *d, struct kn_ctx *c, void *stream)
{
    (void)d;
    (void)c;
    (void)stream;
    return KILN_OK;
}

/* Predicted, on memory of its own: nothing is run, and `runs` says nothing. */
static kiln_status
time_sim(kiln_device *d, struct kn_ctx *c, const struct kn_start *start,
         kiln_timing *t)
{
    struct sim_device *s = enter(d);
    struct kn_sim_launch l = launch_of(d, start);
    struct kn_time_shares shares = { (uintptr_t)start->workspace,
                                     start->shares };
    kiln_status st;

    t->us = 0;
    st = start->plan->grid[0] ? s->api->time(c, s->sim, &l, &shares, &t->us)
                              : KILN_OK;
    return leave(s, c, st);
}

static const struct kn_backend backend = {
    close_sim, alloc_sim, free_sim, upload_sim, download_sim, load_sim,
    unload_sim, launch_sim, copy_sim, sync_sim, time_sim,
};

kiln_status
kn_device_open_sim(struct kn_ctx *c, kiln_device *d, kiln_target target)
{
    struct sim_device *s = KN_NEW(c, struct sim_device, 1);

    s->c = c;
    pthread_mutex_init(&s->lock, NULL);
    d->state = s;
    d->backend = &backend;
    KN_TRY(kn_simulator_open(c, &s->api));
    KN_TRY(s->api->open(c, target, &s->sim));
    d->info.target = target;
    d->info.cus = kn_targets[target].cus;
    d->info.simulated = 1;
    strncpy(d->info.name, "kiln simulator", sizeof d->info.name - 1);
    return KILN_OK;
}
