/* backend_sim.c - the simulator as a device. It serves one thread at a time,
 * so calls take turns; a launch has run when it returns. */
#include <pthread.h>
#include <string.h>

#include "backend.h"
#include "sim/timing/timing.h"

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
    if (c != s->c)
        memset(&s->c->err, 0, sizeof s->c->err);
    pthread_mutex_unlock(&s->lock);
    return st;
}

static struct sim_device *
enter(struct kn_device *d)
{
    struct sim_device *s = d->state;

    pthread_mutex_lock(&s->lock);
    return s;
}

static void
close_sim(struct kn_device *d)
{
    struct sim_device *s = d->state;

    if (s->sim)
        s->api->close(s->sim);
    pthread_mutex_destroy(&s->lock);
}

static kiln_status
alloc_sim(struct kn_device *d, struct kn_ctx *c, const struct kn_memory *m,
          void **out)
{
    struct sim_device *s = enter(d);
    uint64_t at = 0;
    kiln_status st = s->api->alloc(s->sim, m->size, m->flags, m->fill, m->user,
                                    &at);

    *out = (void *)(uintptr_t)at;
    return leave(s, c, st);
}

static kiln_status
free_sim(struct kn_device *d, struct kn_ctx *c, void *p)
{
    struct sim_device *s = enter(d);

    return leave(s, c, s->api->free(s->sim, (uintptr_t)p));
}

static kiln_status
upload_sim(struct kn_device *d, struct kn_ctx *c, void *dst, const void *src,
           size_t n)
{
    struct sim_device *s = enter(d);

    return leave(s, c, s->api->write(s->sim, (uintptr_t)dst, src, n));
}

static kiln_status
download_sim(struct kn_device *d, struct kn_ctx *c, void *dst, const void *src,
             size_t n)
{
    struct sim_device *s = enter(d);

    return leave(s, c, s->api->read(s->sim, (uintptr_t)src, dst, n));
}

static kiln_status
load_sim(struct kn_device *d, struct kn_ctx *c,
         const struct kn_object_bytes *o, struct kn_loaded_code *out)
{
    struct sim_device *s = enter(d);
    struct kn_sim_code *code = NULL;
    kiln_status st = s->api->load(s->sim, o->name, o->co, o->size, &code);

    out->module = code;
    return leave(s, c, st);
}

static void
unload_sim(struct kn_device *d, struct kn_loaded_code *l)
{
    struct sim_device *s = enter(d);

    s->api->unload(s->sim, l->module);
    pthread_mutex_unlock(&s->lock);
}

static kiln_status
launch_sim(struct kn_device *d, struct kn_ctx *c, const struct kn_start *start,
           struct kn_sim_result *r)
{
    struct sim_device *s = enter(d);
    struct kn_sim_launch l = start->l;

    l.code = start->code->module;
    return leave(s, c, s->api->run(s->sim, &l, r));
}

static kiln_status
copy_sim(struct kn_device *d, struct kn_ctx *c, const struct kn_hip_copy *m)
{
    return upload_sim(d, c, m->dst, m->src, m->n);
}

static kiln_status
sync_sim(struct kn_device *d, struct kn_ctx *c, void *stream)
{
    (void)d;
    (void)c;
    (void)stream;
    return KILN_OK;
}

/* Predicted, on memory of its own: nothing is run, and `runs` says nothing. */
static kiln_status
time_sim(struct kn_device *d, struct kn_ctx *c, const struct kn_start *start,
         double *us)
{
    struct sim_device *s = enter(d);
    struct kn_sim_launch l = start->l;
    struct kn_time_shares shares = { .workspace = (uintptr_t)start->workspace,
                                     .n = start->shares };
    kiln_status st;

    *us = 0;
    l.code = start->code->module;
    st = l.grid[0] ? s->api->time(c, s->sim, &l, &shares, us) : KILN_OK;
    return leave(s, c, st);
}

static const struct kn_backend backend = {
    close_sim, alloc_sim, free_sim, upload_sim, download_sim, load_sim,
    unload_sim, launch_sim, copy_sim, sync_sim, time_sim,
    NULL, NULL, NULL, NULL, NULL, NULL, /* of a GPU */
};

struct kn_sim *
kn_device_sim(const struct kn_device *d)
{
    const struct sim_device *s = d->state;

    return d->backend == &backend ? s->sim : NULL;
}

kiln_status
kn_device_open_sim(struct kn_device *d, const struct kn_simulator *api,
                   kiln_target target)
{
    struct sim_device *s = KN_NEW(d->arena, struct sim_device, 1);

    s->c = d->arena;
    s->api = api;
    pthread_mutex_init(&s->lock, NULL);
    d->state = s;
    d->backend = &backend;
    KN_TRY(api->open(d->arena, target, &s->sim));
    d->info.target = target;
    d->info.simulated = 1;
    d->info.cus = kn_targets[target].cus;
    d->info.xcds = kn_targets[target].xcds;
    strncpy(d->info.name, "kiln simulator", sizeof d->info.name - 1);
    return KILN_OK;
}
