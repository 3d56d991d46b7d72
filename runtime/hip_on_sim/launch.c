/* launch.c - kernels are launched: arguments, workgroups, what came of it. */
#include <stdlib.h>
#include <string.h>

#include "hip_api.h"
#include "shim.h"

void
free_launch(struct launch *l)
{
    free(l->kernarg);
    l->kernarg = NULL;
}

/* `extra` is {1, buffer, 2, &size, 3}. */
static int
from_extra(struct launch *l, void **extra)
{
    const void *buffer = NULL;
    size_t n = 0;

    for (int i = 0; extra[i] != (void *)3; i += 2) {
        if (extra[i] == (void *)1)
            buffer = extra[i + 1];
        else if (extra[i] == (void *)2)
            n = *(const size_t *)extra[i + 1];
        else
            return KN_hipErrorInvalidValue;
    }
    if (n && !buffer)
        return KN_hipErrorInvalidValue;
    if (n > l->kernarg_size)
        n = l->kernarg_size;
    if (n)
        memcpy(l->kernarg, buffer, n);
    return 0;
}

static void
from_params(struct launch *l, void **params)
{
    const struct kn_object_kernel *k = l->f->kernel;
    uint32_t n = 0;

    for (uint32_t i = 0; i < k->nargs; i++) {
        const struct kn_kernel_arg *a = &k->args[i];

        if (a->kind == KN_ARG_HIDDEN)
            continue;
        if (a->offset + a->size <= l->kernarg_size)
            memcpy(l->kernarg + a->offset, params[n], a->size);
        n++;
    }
}

int
make_launch(struct launch *l, void **params, void **extra)
{
    const struct kn_object_kernel *k = l->f->kernel;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];

    if (!threads || !l->grid[0] || !l->grid[1] || !l->grid[2])
        return KN_hipErrorInvalidValue;
    if (l->block[0] > k->max_workgroup || l->block[1] > k->max_workgroup ||
        l->block[2] > k->max_workgroup || threads > k->max_workgroup)
        return KN_hipErrorLaunchFailure;
    if (params && extra)
        return KN_hipErrorInvalidValue;
    l->kernarg_size = k->kernarg_size;
    l->kernarg = calloc(1, l->kernarg_size ? l->kernarg_size : 1);
    if (!l->kernarg)
        return KN_hipErrorOutOfMemory;
    if (extra)
        return from_extra(l, extra);
    if (params)
        from_params(l, params);
    return 0;
}

/* Workgroups spread evenly over the grid, the first and the last among them;
 * NULL: all of them. */
static uint64_t *
sample_groups(const struct shim *s, uint64_t total, size_t *n)
{
    uint64_t *id, step, rest;

    if (!s->sample || s->sample >= total || s->sample > UINT32_MAX)
        return NULL;
    *n = (size_t)s->sample;
    step = *n > 1 ? (total - 1) / (*n - 1) : 0;
    rest = *n > 1 ? (total - 1) % (*n - 1) : 0;
    id = malloc(*n * sizeof *id);
    for (size_t k = 0; id && k < *n; k++)
        id[k] = k * step + (k ? k * rest / (*n - 1) : 0);
    return id;
}

static void
add_up(struct record *r, const struct launch *l, const struct kn_sim_result *x)
{
    r->launches++;
    r->groups += (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    r->run += x->workgroups;
    r->instructions += x->instructions;
    r->seconds += x->seconds;
}

static int
judge(struct shim *s, const struct launch *l, const struct kn_sim_result *r)
{
    keep_findings(s, l->f, r);
    if (r->stopped) {
        tell(s, "%s: %s", l->f->kernel->name, r->stopped);
        keep_error(l->f->record, r->stopped);
        return KN_hipErrorLaunchFailure;
    }
    return r->nfindings && !s->go_on ? KN_hipErrorLaunchFailure : 0;
}

static int
simulate(struct shim *s, const struct launch *l)
{
    struct kn_sim_launch sl = {
        .code = l->f->module->code,
        .kernel = l->f->kernel->name,
        .kernarg = l->kernarg,
        .kernarg_size = l->kernarg_size,
        .dynamic_lds = l->lds,
        .stack = s->stack,
        .select = { .all = true },
        .printf_buffer = s->printf_buffer,
    };
    struct kn_sim_result r;
    uint64_t *ids;
    kiln_status st;

    memcpy(sl.grid, l->grid, sizeof sl.grid);
    memcpy(sl.block, l->block, sizeof sl.block);
    ids = sample_groups(s, (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
                        &sl.select.n);
    sl.select.ids = ids;
    sl.select.all = !ids;
    st = s->api->run(s->sim, &sl, &r);
    free(ids);
    if (st) {
        keep_error(l->f->record, s->c.err.text);
        return sim_error(s, l->f->kernel->name, KN_hipErrorLaunchFailure);
    }
    s->sampled += ids != NULL;
    add_up(l->f->record, l, &r);
    return judge(s, l, &r);
}

int
run_launch(struct shim *s, const struct launch *l)
{
    int e = need_code(s, l->f->module), done;

    if (!e)
        e = need_printf(s, l->f);
    if (!e)
        e = share_host(s, true);
    if (!e && !record_of(s, l->f))
        e = KN_hipErrorOutOfMemory;
    if (e)
        return e;
    e = simulate(s, l);
    done = flush_printf(s, l->f->module);
    if (!done)
        done = share_host(s, false);
    return e ? e : done;
}

int
enqueue_launch(struct shim *s, struct launch *l, struct stream *q)
{
    struct node n = { .kind = NODE_LAUNCH, .launch = *l };
    int e;

    if (q && q->capturing) {
        e = record_node(q->graph, &n, NULL);
        if (!e)
            return 0;
    } else {
        e = run_launch(s, l);
    }
    free_launch(l);
    return e;
}

int
hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
                      unsigned bx, unsigned by, unsigned bz, unsigned lds,
                      void *stream, void **params, void **extra)
{
    int e = enter(FN_hipModuleLaunchKernel);
    struct launch l = { .f = function, .grid = { gx, gy, gz },
                        .block = { bx, by, bz }, .lds = lds };

    if (!e && !function)
        e = KN_hipErrorInvalidHandle;
    if (!e) {
        e = make_launch(&l, params, extra);
        if (e)
            free_launch(&l);
        else
            e = enqueue_launch(shim_state(), &l, stream);
    }
    return leave(e);
}

static int
launch_host(enum hip_call f, const void *host, struct launch *l, void **args,
            void *stream)
{
    int e = enter(f);

    if (!e)
        e = registered_function(shim_state(), host, &l->f);
    if (!e) {
        e = make_launch(l, args, NULL);
        if (e)
            free_launch(l);
        else
            e = enqueue_launch(shim_state(), l, stream);
    }
    return leave(e);
}

#define LAUNCH(lds_)                                                          \
    { .grid = { grid.x, grid.y, grid.z },                                     \
      .block = { block.x, block.y, block.z }, .lds = (uint32_t)(lds_) }

int
hipLaunchKernel(const void *host, struct kn_dim3 grid, struct kn_dim3 block,
                void **args, size_t lds, void *stream)
{
    struct launch l = LAUNCH(lds);

    return launch_host(FN_hipLaunchKernel, host, &l, args, stream);
}

/* Workgroups do not run side by side here: one that waits for another is
 * stopped by the simulator and reported. */
int
hipLaunchCooperativeKernel(const void *host, struct kn_dim3 grid,
                           struct kn_dim3 block, void **args, unsigned lds,
                           void *stream)
{
    struct launch l = LAUNCH(lds);

    return launch_host(FN_hipLaunchCooperativeKernel, host, &l, args, stream);
}

int
hipExtLaunchKernel(const void *host, struct kn_dim3 grid,
                   struct kn_dim3 block, void **args, size_t lds,
                   void *stream, void *start, void *stop, int flags)
{
    struct launch l = LAUNCH(lds);
    int e = start ? hipEventRecord(start, stream) : 0;

    (void)flags;
    if (!e)
        e = launch_host(FN_hipExtLaunchKernel, host, &l, args, stream);
    return e || !stop ? e : hipEventRecord(stop, stream);
}
