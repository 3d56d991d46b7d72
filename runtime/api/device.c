/* device.c - the public device functions over a back end. */
#include "context.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of the offsets of the most groups there may be. */
#define KN_OFFSETS_MOST (2 * 8u * 65536u)

static kiln_status
open_sim(struct kn_ctx *c, kiln_device *d, kiln_target target)
{
    const struct kn_simulator *api;

    KN_TRY(kn_simulator_open(c, &api));
    return kn_device_open_sim(&d->dev, api, target);
}

static kiln_status
open_named(struct kn_ctx *c, kiln_device *d, const char *name)
{
    const struct kn_gpu_libraries libs = { d->context->hip_library,
                                           d->context->comgr_library };
    char *end;
    long n;

    KN_ENTER(c);
    for (int t = KILN_TARGET_NONE + 1; t < KILN_NTARGETS; t++)
        if (!strncmp(name, "sim:", 4) &&
            !strcmp(name + 4, kiln_target_name((kiln_target)t)))
            return open_sim(c, d, (kiln_target)t);
    if (!strncmp(name, "hip:", 4)) {
        n = strtol(name + 4, &end, 10);
        if (end != name + 4 && !*end && n >= 0 && n < 1024)
            return kn_device_open_hip(&d->dev, &libs, (int)n);
    }
    return kn_fail(c, KILN_BAD_INPUT, "there is no device '%s': "
                   "sim:gfx942, sim:gfx950 or hip:N", name);
}

static kiln_status
open_device(struct kn_ctx *c, kiln_context *x, const char *name,
            kiln_device **out)
{
    kiln_device *d = kn_host_alloc(&x->host, sizeof *d);
    kiln_status s;

    if (!d)
        return kn_fail(c, KILN_NO_MEMORY, "out of memory");
    memset(d, 0, sizeof *d);
    d->context = x;
    d->dev.info.size = sizeof d->dev.info;
    d->dev.arena = &d->arena;
    kn_ctx_init(&d->arena, x->host.realloc, x->host.user);
    d->dispatch = kn_dispatch_new(&x->host);
    s = d->dispatch ? open_named(&d->arena, d, name)
                    : kn_fail(c, KILN_NO_MEMORY, "out of memory");
    if (s && !c->err.status)
        c->err = d->arena.err;
    memset(&d->arena.err, 0, sizeof d->arena.err);
    if (s)
        kiln_close_device(d);
    else
        *out = d;
    return s;
}

kiln_status
kiln_open_device(kiln_context *x, const char *name, kiln_device **out,
                 kiln_error *error)
{
    struct kn_ctx c;

    KN_NEEDS(error, out, "out");
    *out = NULL;
    KN_NEEDS(error, x, "context");
    KN_NEEDS(error, name, "name");
    kn_call_begin(&x->host, &c);
    return kn_call_end(&c, open_device(&c, x, name, out), error);
}

void
kiln_close_device(kiln_device *d)
{
    struct kn_host h;

    if (!d)
        return;
    h = d->context->host;
    kn_dispatch_free(d->dispatch);
    if (d->dev.backend)
        d->dev.backend->close(&d->dev);
    kn_ctx_free(&d->arena);
    kn_host_free(&h, d, sizeof *d);
}

void
kiln_get_device(const kiln_device *d, kiln_device_info *info)
{
    uint32_t size = info ? info->size : 0;

    if (!d || !info)
        return;
    memcpy(info, &d->dev.info, size < sizeof *info ? size : sizeof *info);
    info->size = size;
}

kiln_status
kiln_malloc(kiln_device *d, size_t bytes, void **out, kiln_error *error)
{
    /* Rows that begin at any byte are read by aligned dwords. */
    struct kn_memory m = { .size = bytes ? bytes + (-bytes & 3) : 4 };
    struct kn_ctx c;

    KN_NEEDS(error, out, "out");
    *out = NULL;
    KN_NEEDS(error, d, "device");
    kn_call_begin(&d->context->host, &c);
    return kn_call_end(&c, d->dev.backend->alloc(&d->dev, &c, &m, out),
                       error);
}

kiln_status
kiln_free(kiln_device *d, void *p, kiln_error *error)
{
    struct kn_ctx c;

    KN_NEEDS(error, d, "device");
    kn_call_begin(&d->context->host, &c);
    return kn_call_end(&c, p ? d->dev.backend->free(&d->dev, &c, p) : KILN_OK,
                       error);
}

kiln_status
kiln_upload(kiln_device *d, void *dst, const void *src, size_t bytes,
            kiln_error *error)
{
    struct kn_ctx c;

    KN_NEEDS(error, d, "device");
    KN_NEEDS(error, dst || !bytes, "dst");
    KN_NEEDS(error, src || !bytes, "src");
    kn_call_begin(&d->context->host, &c);
    return kn_call_end(&c, bytes ? d->dev.backend->upload(&d->dev, &c, dst, src,
                                                         bytes)
                                 : KILN_OK, error);
}

kiln_status
kiln_download(kiln_device *d, void *dst, const void *src, size_t bytes,
              kiln_error *error)
{
    struct kn_ctx c;

    KN_NEEDS(error, d, "device");
    KN_NEEDS(error, dst || !bytes, "dst");
    KN_NEEDS(error, src || !bytes, "src");
    kn_call_begin(&d->context->host, &c);
    return kn_call_end(&c, bytes ? d->dev.backend->download(&d->dev, &c, dst, src,
                                                         bytes)
                                 : KILN_OK, error);
}

kiln_status
kn_device_load(struct kn_ctx *c, kiln_device *d, kiln_kernel *k,
               kiln_function **out)
{
    struct kn_object_bytes bytes = { k->name, k->co, k->co_size };
    struct kn_host h = d->context->host;
    kiln_function *f;
    kiln_status s;

    if (k->problem.target != d->dev.info.target)
        return kn_fail(c, KILN_BAD_INPUT, "the kernel is for %s, the device "
                       "is %s", kiln_target_name(k->problem.target),
                       kiln_target_name(d->dev.info.target));
    f = kn_host_alloc(&h, sizeof *f);
    if (!f)
        return kn_fail(c, KILN_NO_MEMORY, "out of memory");
    *f = (kiln_function){ .device = d, .kernel = k };
    s = d->dev.backend->load(&d->dev, c, &bytes, &f->code);
    if (s) {
        kn_host_free(&h, f, sizeof *f);
        return s;
    }
    kn_kernel_retain(k);
    *out = f;
    return KILN_OK;
}

kiln_status
kiln_load(kiln_device *d, kiln_kernel *k, kiln_function **out,
          kiln_error *error)
{
    struct kn_ctx c;

    KN_NEEDS(error, out, "out");
    *out = NULL;
    KN_NEEDS(error, d, "device");
    KN_NEEDS(error, k, "kernel");
    kn_call_begin(&d->context->host, &c);
    return kn_call_end(&c, kn_device_load(&c, d, k, out), error);
}

void
kiln_unload(kiln_function *f)
{
    struct kn_host h;

    if (!f)
        return;
    h = f->device->context->host;
    f->device->dev.backend->unload(&f->device->dev, &f->code);
    kiln_release(f->kernel);
    kn_host_free(&h, f, sizeof *f);
}

kiln_status
kn_take_arguments(struct kn_ctx *c, const kiln_arguments *given,
                  kiln_arguments *out)
{
    memset(out, 0, sizeof *out);
    if (given->size < offsetof(kiln_arguments, a) ||
        given->size > sizeof *out)
        return kn_fail(c, KILN_BAD_INPUT, "kiln_arguments.size is %u, this "
                       "library knows %zu bytes", given->size, sizeof *out);
    memcpy(out, given, given->size);
    if (out->reserved)
        return kn_fail(c, KILN_BAD_INPUT, "the reserved field of "
                       "kiln_arguments must be zero");
    if (out->flags & ~(uint32_t)(KILN_PREPARE | KILN_TUNE | KILN_CHECKED |
                                 KILN_EXACT))
        return kn_fail(c, KILN_BAD_INPUT, "kiln_arguments.flags is %u, which "
                       "has bits that mean nothing", out->flags);
    return KILN_OK;
}

static bool
is_pointer(const kiln_plan *plan, const kiln_pointer *q)
{
    return q->operand < KILN_NOPERANDS && q->align &&
           !(q->align & (q->align - 1)) && plan->kernarg_size >= 8 &&
           q->offset <= plan->kernarg_size - 8;
}

/* A persistent grid has its size in the arguments too. */
static bool
has_grid(const kiln_plan *plan)
{
    uint32_t n = 0;

    if (!plan->cus_at)
        return true;
    if (plan->kernarg_size < 4 || plan->kernarg_size > sizeof plan->kernarg ||
        plan->cus_at > plan->kernarg_size - 4)
        return false;
    memcpy(&n, plan->kernarg + plan->cus_at, 4);
    return n == plan->grid[0] || !plan->grid[0];
}

/* A plan is data of the caller's: nothing in it is believed. */
static kiln_status
check_plan(struct kn_ctx *c, const kiln_function *f, const kiln_plan *plan)
{
    bool sound = plan->size == sizeof *plan && plan->npointers <= 16 &&
                 plan->kernarg_size <= sizeof plan->kernarg &&
                 plan->kernarg_size == f->kernel->facts.kernarg_size &&
                 plan->offsets_size <= KN_OFFSETS_MOST &&
                 has_grid(plan) &&
                 plan->offsets_at <= plan->workspace &&
                 plan->offsets_size <= plan->workspace - plan->offsets_at;

    for (int i = 0; sound && i < 3; i++)
        sound = plan->block[i] && (plan->grid[i] || !plan->grid[0]);
    for (uint32_t i = 0; sound && i < plan->npointers; i++)
        sound = is_pointer(plan, &plan->pointer[i]);
    return sound ? KILN_OK
                 : kn_fail(c, KILN_BAD_INPUT, "this is no plan that "
                           "kiln_make_plan made for %s", f->kernel->name);
}

/* Offsets that are on the host travel through the workspace. */
static kiln_status
send_offsets(struct kn_ctx *c, const kiln_function *f, const kiln_plan *plan,
             kiln_arguments *args)
{
    kiln_device *d = f->device;
    struct kn_hip_copy m = { .src = args->host_offsets,
                             .n = (size_t)plan->offsets_size,
                             .stream = args->stream };
    char *at = args->workspace;

    if (!args->host_offsets || args->offsets || !plan->offsets_size)
        return KILN_OK;
    if (!at)
        return kn_fail(c, KILN_BAD_INPUT, "'host_offsets' go through the "
                       "workspace, whose address is NULL");
    args->offsets = m.dst = at + plan->offsets_at;
    if (f->kernel->problem.group_flags & KILN_GROUP_TIGHT)
        args->tight = at + plan->offsets_at + plan->offsets_size / 2;
    return d->dev.backend->copy(&d->dev, c, &m);
}

/* Rows of group g in a table on the host. */
static int64_t
host_rows(const void *table, uint8_t flags, size_t g)
{
    const int64_t *wide = table;
    const int32_t *ends = table;

    return flags & KILN_GROUP_ENDS32 ? ends[g] - (g ? ends[g - 1] : 0)
         : flags & KILN_GROUP_LENS ? wide[g] : wide[g + 1] - wide[g];
}

/* KILN_EXACT: the tiles of the groups that the host has, in *grid. */
static kiln_status
count_tiles(struct kn_ctx *c, const kiln_function *f, const kiln_plan *plan,
            const kiln_arguments *args, uint32_t *grid)
{
    uint8_t flags = f->kernel->problem.group_flags;
    size_t tables = flags & KILN_GROUP_TIGHT ? 2 : 1;
    size_t one = (size_t)plan->offsets_size / tables;
    size_t n = flags & KILN_GROUP_ENDS32 ? one / 4
             : one / 8 - !(flags & KILN_GROUP_LENS);
    const char *table = (const char *)args->host_offsets + (tables - 1) * one;
    uint64_t rows = 0;

    if (!plan->tile_row || !args->host_offsets || one < 8)
        return kn_fail(c, KILN_BAD_INPUT, "a grid is exact of grouped with "
                       "'host_offsets', without zeros behind the last group, "
                       "no persistent one");
    for (size_t g = 0; g < n; g++) {
        int64_t m = host_rows(table, flags, g);

        if (m < 0)
            return kn_fail(c, KILN_BAD_INPUT, "group %zu has %lld rows", g,
                           (long long)m);
        rows += ((uint64_t)m + f->kernel->config.bm - 1) / f->kernel->config.bm;
        if (rows * plan->tile_row > plan->grid[0])
            return kn_fail(c, KILN_BAD_INPUT, "the groups to number %zu have "
                           "more rows than the plan's problem", g);
    }
    *grid = (uint32_t)rows * plan->tile_row;
    return KILN_OK;
}

/* Workgroups of the launch. */
static kiln_status
take_grid(struct kn_ctx *c, const kiln_function *f, const kiln_plan *plan,
          const kiln_arguments *args, struct kn_start *s)
{
    return args->flags & KILN_EXACT
         ? count_tiles(c, f, plan, args, &s->l.grid[0]) : KILN_OK;
}

struct kn_start
kn_device_start(const kiln_function *f, const kiln_plan *plan,
                const uint8_t *kernarg, void *stream)
{
    struct kn_start s = {
        .code = &f->code,
        .l = { .max_steps = f->device->context->max_steps,
               .max_seconds = f->device->context->max_seconds,
               .kernarg = kernarg,
               .kernarg_size = plan->kernarg_size,
               .select = { .all = true },
               .own = true },
        .stream = stream,
    };

    memcpy(s.l.grid, plan->grid, sizeof s.l.grid);
    if (plan->cus_at)        /* as many as its arguments say */
        memcpy(s.l.grid, kernarg + plan->cus_at, 4);
    memcpy(s.l.block, plan->block, sizeof s.l.block);
    return s;
}

static kiln_status
judge(kiln_device *d, struct kn_ctx *c, const struct kn_sim_result *r)
{
    if (r->stopped)
        return kn_fail(c, KILN_UNSUPPORTED, "stopped: %s", r->stopped);
    for (unsigned i = 0; i < r->nkept; i++)
        kn_log(d->context, KILN_LOG_WARNING, "%s", r->findings[i].text);
    if (!r->nfindings)
        return KILN_OK;
    return kn_fail(c, KILN_FINDING, "%s (%llu findings)",
                   r->nkept ? r->findings[0].text : "a finding",
                   (unsigned long long)r->nfindings);
}

kiln_status
kn_device_run(struct kn_ctx *c, kiln_device *d, const struct kn_start *s)
{
    struct kn_sim_result r = { 0 };

    KN_TRY(d->dev.backend->launch(&d->dev, c, s, &r));
    return judge(d, c, &r);
}

/* KILN_CHECKED: are the counters of the workspace zero? */
static kiln_status
check_counters(struct kn_ctx *c, const kiln_function *f,
               const kiln_arguments *args, kiln_status wrong)
{
    struct kn_device *d = &f->device->dev;
    const size_t n = KILN_WORKSPACE_ZEROS / sizeof(uint32_t);
    uint32_t *count;

    if (!(args->flags & KILN_CHECKED) || !kn_counts(&f->kernel->problem, &f->kernel->config))
        return KILN_OK;
    count = KN_NEW(c, uint32_t, n);
    KN_TRY(d->backend->sync(d, c, args->stream));
    KN_TRY(d->backend->download(d, c, count, args->workspace,
                                KILN_WORKSPACE_ZEROS));
    for (size_t i = 0; i < n; i++)
        if (count[i])
            return kn_fail(c, wrong, "counter %zu of the workspace is %u %s "
                           "the launch: its first %d bytes have to be zero, "
                           "clear them", i, count[i],
                           wrong == KILN_FINDING ? "after" : "before",
                           KILN_WORKSPACE_ZEROS);
    return KILN_OK;
}

kiln_status
kn_device_launch(struct kn_ctx *c, const kiln_function *f,
                 const kiln_plan *plan, const kiln_arguments *given)
{
    uint8_t kernarg[sizeof plan->kernarg];
    struct kn_start s;
    kiln_arguments args;

    KN_TRY(check_plan(c, f, plan));
    KN_TRY(kn_take_arguments(c, given, &args));
    if (!plan->grid[0])
        return KILN_OK;
    KN_TRY(send_offsets(c, f, plan, &args));
    KN_TRY(kn_fill_kernarg(c, plan, &args, kernarg));
    KN_TRY(check_counters(c, f, &args, KILN_BAD_INPUT));
    s = kn_device_start(f, plan, kernarg, args.stream);
    KN_TRY(take_grid(c, f, plan, given, &s));
    if (!s.l.grid[0])
        return KILN_OK;
    KN_TRY(kn_device_run(c, f->device, &s));
    return check_counters(c, f, &args, KILN_FINDING);
}

kiln_status
kiln_launch(kiln_function *f, const kiln_plan *plan,
            const kiln_arguments *args, kiln_error *error)
{
    struct kn_ctx c;

    KN_NEEDS(error, f, "function");
    KN_NEEDS(error, plan, "plan");
    KN_NEEDS(error, args, "args");
    kn_call_begin(&f->device->context->host, &c);
    return kn_call_end(&c, kn_device_launch(&c, f, plan, args), error);
}

kiln_status
kiln_sync(kiln_device *d, void *stream, kiln_error *error)
{
    struct kn_ctx c;

    KN_NEEDS(error, d, "device");
    kn_call_begin(&d->context->host, &c);
    return kn_call_end(&c, d->dev.backend->sync(&d->dev, &c, stream), error);
}

static kiln_status
time_runs(struct kn_ctx *c, kiln_function *f, const kiln_plan *plan,
          const kiln_arguments *given, kiln_timing *t)
{
    uint8_t kernarg[sizeof plan->kernarg];
    struct kn_start s;
    kiln_arguments args;

    if (t->size < sizeof *t)
        return kn_fail(c, KILN_BAD_INPUT, "kiln_timing.size is %u, not %zu",
                       t->size, sizeof *t);
    KN_TRY(check_plan(c, f, plan));
    KN_TRY(kn_take_arguments(c, given, &args));
    KN_TRY(send_offsets(c, f, plan, &args));
    KN_TRY(kn_fill_kernarg(c, plan, &args, kernarg));
    s = kn_device_start(f, plan, kernarg, args.stream);
    KN_TRY(take_grid(c, f, plan, given, &s));
    s.shares = kn_counted_shares(&f->kernel->problem, &f->kernel->config);
    s.workspace = args.workspace;
    s.runs = t->runs;
    return f->device->dev.backend->time(&f->device->dev, c, &s, &t->us);
}

kiln_status
kiln_time(kiln_function *f, const kiln_plan *plan, const kiln_arguments *args,
          kiln_timing *timing, kiln_error *error)
{
    struct kn_ctx c;

    KN_NEEDS(error, f, "function");
    KN_NEEDS(error, plan, "plan");
    KN_NEEDS(error, args, "args");
    KN_NEEDS(error, timing, "timing");
    kn_call_begin(&f->device->context->host, &c);
    return kn_call_end(&c, time_runs(&c, f, plan, args, timing), error);
}
