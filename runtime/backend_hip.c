/* backend_hip.c - an AMD GPU as a device. */
#include "backend.h"
#include "reading.h"

#include <string.h>

enum { CHUNK = 1 << 24 };

struct hip_device {
    struct kn_hip *hip;
    int number;
    struct kn_reader reader;
};

/* Makes the device current, as HIP's own functions expect. A launch does not:
 * it runs on the caller's stream, whose device is current already. */
static kiln_status
use(struct kn_device *d, struct kn_ctx *c, struct hip_device **out)
{
    *out = d->state;
    return kn_hip_select((*out)->hip, c, (*out)->number);
}

static void
close_hip(struct kn_device *d)
{
    (void)d;                 /* the arena holds all there is */
}

static kiln_status
upload_hip(struct kn_device *d, struct kn_ctx *c, void *dst, const void *src,
           size_t n)
{
    struct hip_device *h;

    KN_TRY(use(d, c, &h));
    return kn_hip_upload(h->hip, c, dst, src, n);
}

/* chunk: room for CHUNK bytes of it. */
static kiln_status
fill_hip(struct kn_device *d, struct kn_ctx *c, const struct kn_memory *m,
         char *to, uint8_t *chunk)
{
    for (uint64_t at = 0; at < m->size; at += CHUNK) {
        size_t n = m->size - at < CHUNK ? (size_t)(m->size - at) : CHUNK;

        m->fill(m->user, at, chunk, n);
        KN_TRY(upload_hip(d, c, to + at, chunk, n));
    }
    return KILN_OK;
}

static kiln_status
alloc_hip(struct kn_device *d, struct kn_ctx *c, const struct kn_memory *m,
          void **out)
{
    uint64_t room = m->size < CHUNK ? m->size : CHUNK;
    uint8_t *chunk = m->fill ? KN_NEW(c, uint8_t, room) : NULL;
    struct hip_device *h;
    kiln_status s = KILN_OK;

    KN_TRY(use(d, c, &h));
    KN_TRY(kn_hip_alloc(h->hip, c, (size_t)m->size, out));
    if (m->fill)
        s = fill_hip(d, c, m, *out, chunk);
    else if (m->flags & KN_MEM_OUTPUT)
        s = kn_hip_fill(h->hip, c, *out, 0xff, (size_t)m->size);
    if (s)
        kn_hip_free(h->hip, c, *out);
    return s;
}

static kiln_status
free_hip(struct kn_device *d, struct kn_ctx *c, void *p)
{
    struct hip_device *h;

    KN_TRY(use(d, c, &h));
    return kn_hip_free(h->hip, c, p);
}

static kiln_status
download_hip(struct kn_device *d, struct kn_ctx *c, void *dst, const void *src,
             size_t n)
{
    struct hip_device *h;

    KN_TRY(use(d, c, &h));
    return kn_hip_download(h->hip, c, dst, src, n);
}

static kiln_status
load_hip(struct kn_device *d, struct kn_ctx *c,
         const struct kn_object_bytes *o, struct kn_loaded_code *out)
{
    const struct kn_wanted want = { d->info.target, o->name };
    const struct kn_bytes in = { o->co, o->size };
    struct kn_bytes co;
    struct hip_device *h;
    kiln_status s;

    KN_TRY(use(d, c, &h));
    KN_TRY(kn_reader_select(&h->reader, c, &want, in, &co));
    KN_TRY(kn_hip_load(h->hip, c, co.p, &out->module));
    s = kn_hip_function(h->hip, c, out->module, o->name, &out->function);
    if (s)
        kn_hip_unload(h->hip, c, out->module);
    return s;
}

static void
unload_hip(struct kn_device *d, struct kn_loaded_code *l)
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
        .dynamic_lds = s->l.dynamic_lds,
        .kernarg = s->l.kernarg,
        .kernarg_size = s->l.kernarg_size,
        .stream = s->stream,
        .rotated = s->rotated,
        .nrotated = s->nrotated,
        .first = s->first,
    };

    memcpy(l.grid, s->l.grid, sizeof l.grid);
    memcpy(l.block, s->l.block, sizeof l.block);
    return l;
}

static kiln_status
launch_hip(struct kn_device *d, struct kn_ctx *c, const struct kn_start *s,
           struct kn_sim_result *r)
{
    struct kn_hip_launch l = launch_of(s);

    (void)r;
    return kn_hip_launch(((struct hip_device *)d->state)->hip, c, &l);
}

static kiln_status
copy_hip(struct kn_device *d, struct kn_ctx *c, const struct kn_hip_copy *m)
{
    return kn_hip_enqueue_copy(((struct hip_device *)d->state)->hip, c, m);
}

static kiln_status
sync_hip(struct kn_device *d, struct kn_ctx *c, void *stream)
{
    struct hip_device *h;

    KN_TRY(use(d, c, &h));
    return kn_hip_wait(h->hip, c, stream);
}

static kiln_status
time_hip(struct kn_device *d, struct kn_ctx *c, const struct kn_start *s,
         double *us)
{
    struct kn_hip_launch l = launch_of(s);
    struct hip_device *h;

    KN_TRY(use(d, c, &h));
    return kn_hip_time(h->hip, c, &l, s->runs ? (int)s->runs : 1, us);
}

/* Forwards to the function of hip.h that takes these arguments. */
#define FORWARD(name, to, params, args)                                       \
    static kiln_status name##_hip params                                      \
    {                                                                         \
        struct hip_device *h;                                                 \
                                                                              \
        KN_TRY(use(d, c, &h));                                                \
        return to args;                                                       \
    }
FORWARD(open_stream, kn_hip_open_stream,
        (struct kn_device *d, struct kn_ctx *c, void **out), (h->hip, c, out))
FORWARD(close_stream, kn_hip_close_stream,
        (struct kn_device *d, struct kn_ctx *c, void *stream),
        (h->hip, c, stream))
FORWARD(capture, kn_hip_capture,
        (struct kn_device *d, struct kn_ctx *c, void *stream),
        (h->hip, c, stream))
FORWARD(captured, kn_hip_captured,
        (struct kn_device *d, struct kn_ctx *c, void *stream, void **graph),
        (h->hip, c, stream, graph))
FORWARD(replay, kn_hip_replay,
        (struct kn_device *d, struct kn_ctx *c, void *graph, void *stream),
        (h->hip, c, graph, stream))
FORWARD(drop_graph, kn_hip_drop_graph,
        (struct kn_device *d, struct kn_ctx *c, void *graph),
        (h->hip, c, graph))
#undef FORWARD

static const struct kn_backend backend = {
    close_hip, alloc_hip, free_hip, upload_hip, download_hip, load_hip,
    unload_hip, launch_hip, copy_hip, sync_hip, time_hip, open_stream_hip,
    close_stream_hip, capture_hip, captured_hip, replay_hip, drop_graph_hip,
};

void
kn_device_counts(const kiln_device_info *info, kiln_problem *p)
{
    const struct kn_target_info *chip = &kn_targets[info->target];

    if (p->cus || p->xcds || !info->cus || info->cus > UINT16_MAX ||
        info->xcds > info->cus ||
        (info->cus == chip->cus && info->xcds == chip->xcds))
        return;
    p->cus = (uint16_t)info->cus;
    p->xcds = (uint16_t)info->xcds;
}

/* A HIP before 7 does not tell: those that hold so many compute units, as many
 * on each as on the full chip's. */
static uint32_t
xcds_of(const struct kn_hip_device *facts)
{
    const struct kn_target_info *chip = &kn_targets[facts->target];
    uint32_t each = chip->cus / chip->xcds, cus = (uint32_t)facts->cus;

    return facts->xcds ? (uint32_t)facts->xcds : (cus + each - 1) / each;
}

kiln_status
kn_device_open_hip(struct kn_device *d, const struct kn_gpu_libraries *libs,
                   int number)
{
    struct hip_device *h = KN_NEW(d->arena, struct hip_device, 1);
    struct kn_hip_device *facts = &d->facts;

    h->number = number;
    KN_TRY(kn_hip_open(d->arena, libs->hip, &h->hip));
    KN_TRY(kn_hip_use(h->hip, d->arena, number, facts));
    if (facts->target == KILN_TARGET_NONE)
        return kn_fail(d->arena, KILN_UNSUPPORTED, "hip:%d is %s: kiln has "
                       "code for gfx942 and gfx950 only", number, facts->name);
    KN_TRY(kn_reader_open(d->arena, libs->comgr, &h->reader));
    memcpy(facts->reader, h->reader.name, sizeof facts->reader);
    d->state = h;
    d->backend = &backend;
    d->info.target = facts->target;
    d->info.cus = (uint32_t)facts->cus;
    d->info.xcds = xcds_of(facts);
    memcpy(d->info.name, facts->name, sizeof d->info.name);
    memcpy(d->info.bus, facts->bus, sizeof d->info.bus);
    return KILN_OK;
}
