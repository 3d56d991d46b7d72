/* device_hip.c - an AMD GPU as a device. */
#include "../hip.h"
#include "device.h"

#include <string.h>

struct hip_device {
    struct kn_hip *hip;
    int number;
};

/* Makes the device current, as HIP's own functions expect. A launch does not:
 * it runs on the caller's stream, whose device is current already. */
static kiln_status
use(kiln_device *d, struct kn_ctx *c, struct hip_device **out)
{
    *out = d->state;
    return kn_hip_select((*out)->hip, c, (*out)->number);
}

static void
close_hip(kiln_device *d)
{
    (void)d;                 /* the arena holds all there is */
}

static kiln_status
alloc_hip(kiln_device *d, struct kn_ctx *c, size_t n, void **out)
{
    struct hip_device *h;

    KN_TRY(use(d, c, &h));
    return kn_hip_alloc(h->hip, c, n, out);
}

static kiln_status
free_hip(kiln_device *d, struct kn_ctx *c, void *p)
{
    struct hip_device *h;

    KN_TRY(use(d, c, &h));
    return kn_hip_free(h->hip, c, p);
}

static kiln_status
upload_hip(kiln_device *d, struct kn_ctx *c, void *dst, const void *src,
           size_t n)
{
    struct hip_device *h;

    KN_TRY(use(d, c, &h));
    return kn_hip_upload(h->hip, c, dst, src, n);
}

static kiln_status
download_hip(kiln_device *d, struct kn_ctx *c, void *dst, const void *src,
             size_t n)
{
    struct hip_device *h;

    KN_TRY(use(d, c, &h));
    return kn_hip_download(h->hip, c, dst, src, n);
}

static kiln_status
load_hip(kiln_device *d, struct kn_ctx *c, const kiln_kernel *k,
         struct kn_loaded *out)
{
    struct hip_device *h;
    kiln_status s;

    KN_TRY(use(d, c, &h));
    KN_TRY(kn_hip_load(h->hip, c, k->co, &out->module));
    s = kn_hip_function(h->hip, c, out->module, k->name, &out->function);
    if (s)
        kn_hip_unload(h->hip, c, out->module);
    return s;
}

static void
unload_hip(kiln_device *d, struct kn_loaded *l)
{
    struct hip_device *h;
    struct kn_ctx c;

    kn_ctx_init(&c, NULL, NULL);
    if (!use(d, &c, &h))
        kn_hip_unload(h->hip, &c, l->module);
}

static struct kn_hip_launch
launch_of(const struct kn_start *s)
{
    struct kn_hip_launch l = {
        .function = s->code->function,
        .kernarg = s->kernarg,
        .kernarg_size = s->plan->kernarg_size,
        .stream = s->stream,
    };

    memcpy(l.grid, s->plan->grid, sizeof l.grid);
    memcpy(l.block, s->plan->block, sizeof l.block);
    return l;
}

static kiln_status
launch_hip(kiln_device *d, struct kn_ctx *c, const struct kn_start *s)
{
    struct kn_hip_launch l = launch_of(s);

    return kn_hip_launch(((struct hip_device *)d->state)->hip, c, &l);
}

static kiln_status
copy_hip(kiln_device *d, struct kn_ctx *c, void *dst, const kiln_plan *plan,
         const kiln_arguments *args)
{
    struct kn_hip_copy m = { dst, args->host_offsets,
                             (size_t)plan->offsets_size, args->stream };

    return kn_hip_enqueue_copy(((struct hip_device *)d->state)->hip, c, &m);
}

static kiln_status
sync_hip(kiln_device *d, struct kn_ctx *c, void *stream)
{
    struct hip_device *h;

    KN_TRY(use(d, c, &h));
    return kn_hip_wait(h->hip, c, stream);
}

static kiln_status
time_hip(kiln_device *d, struct kn_ctx *c, const struct kn_start *s,
         kiln_timing *t)
{
    struct kn_hip_launch l = launch_of(s);
    struct hip_device *h;

    KN_TRY(use(d, c, &h));
    return kn_hip_time(h->hip, c, &l, t->runs ? (int)t->runs : 1, &t->us);
}

static const struct kn_backend backend = {
    close_hip, alloc_hip, free_hip, upload_hip, download_hip, load_hip,
    unload_hip, launch_hip, copy_hip, sync_hip, time_hip,
};

kiln_status
kn_device_open_hip(struct kn_ctx *c, kiln_device *d, int number)
{
    struct hip_device *h = KN_NEW(c, struct hip_device, 1);
    struct kn_hip_device facts;

    h->number = number;
    KN_TRY(kn_hip_open(c, d->context->hip_library, &h->hip));
    KN_TRY(kn_hip_use(h->hip, c, number, &facts));
    if (facts.target == KILN_TARGET_NONE)
        return kn_fail(c, KILN_UNSUPPORTED, "hip:%d is %s: kiln has code for "
                       "gfx942 and gfx950 only", number, facts.name);
    d->state = h;
    d->backend = &backend;
    d->info.target = facts.target;
    d->info.cus = (uint32_t)facts.cus;
    memcpy(d->info.name, facts.name, sizeof d->info.name);
    memcpy(d->info.bus, facts.bus, sizeof d->info.bus);
    return KILN_OK;
}
