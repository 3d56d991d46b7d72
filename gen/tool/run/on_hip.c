/* on_hip.c - the same kernel, operands and check, on silicon. */
#include "on_hip.h"

#include "../../../runtime/config.h"

#include <string.h>

enum { CHUNK = 1 << 24, TIMED_LAUNCHES = 20 };

kiln_status
kn_tool_place(struct kn_tool *t, struct kn_place *place)
{
    const struct kn_value *v = &t->cli->v[KN_FLAG_device];

    if (!v->seen || v->i != KN_DEV_HIP)
        return kn_tool_device(t, &place->target);
    return kn_place_open(t->c, v, place);
}

kiln_status
kn_place_open(struct kn_ctx *c, const struct kn_value *v,
              struct kn_place *place)
{
    struct kn_env env;

    kn_env_read(&env);
    place->number = (int)v->list[0];
    KN_TRY(kn_hip_open(c, env.hip_library, &place->hip));
    KN_TRY(kn_hip_use(place->hip, c, place->number, &place->facts));
    place->target = place->facts.target;
    if (!place->target)
        return kn_fail(c, KILN_UNSUPPORTED, "hip:%d is %s: kiln has code "
                       "for gfx942 and gfx950 only", place->number,
                       place->facts.name);
    return KILN_OK;
}

kiln_status
kn_place_flags(struct kn_tool *t, const struct kn_place *place)
{
    static const enum kn_flag_id simulated[] = {
        KN_FLAG_wg, KN_FLAG_order, KN_FLAG_wave_order, KN_FLAG_order_seed,
        KN_FLAG_mfma,
    };

    for (size_t i = 0; i < sizeof simulated / sizeof *simulated; i++)
        if (place->hip && t->cli->v[simulated[i]].seen)
            return kn_fail(t->c, KILN_BAD_INPUT, "%s is for the simulator, a "
                           "GPU executes the whole launch",
                           kn_flags[simulated[i]].name);
    return KILN_OK;
}

/* What one execution holds on the device. */
struct held {
    struct kn_ctx *c;
    struct kn_hip *h;
    struct kn_hip_run *r;
    void *buffer[KN_NOPERANDS], *offs, *workspace, *module;
    struct kn_plan plan;
    struct kn_hip_launch launch;
};

static kiln_status
upload_operand(struct held *x, int id, uint8_t *chunk)
{
    struct kn_operand *o = &x->r->ops->o[id];
    bool blank = id == KN_OPND_C && !x->r->p->beta;

    for (uint64_t at = 0; at < o->size; at += CHUNK) {
        size_t n = o->size - at < CHUNK ? (size_t)(o->size - at) : CHUNK;

        if (blank)
            memset(chunk, 0xff, n);
        else
            kn_operand_stored(o, at, chunk, n);
        KN_TRY(kn_hip_upload(x->h, x->c, (char *)x->buffer[id] + at, chunk,
                             n));
    }
    return KILN_OK;
}

static kiln_status
upload_all(struct held *x)
{
    size_t bytes = x->r->offs ? ((size_t)x->r->p->groups + 1) * 8 : 0;
    uint8_t *chunk = KN_NEW(x->c, uint8_t, CHUNK);

    for (int i = 0; i < KN_NOPERANDS; i++) {
        if (!x->r->ops->o[i].used)
            continue;
        /* whole dwords, as kn_operands_alloc */
        KN_TRY(kn_hip_alloc(x->h, x->c, (x->r->ops->o[i].size + 4) / 4 * 4,
                            &x->buffer[i]));
        KN_TRY(upload_operand(x, i, chunk));
    }
    if (!bytes)
        return KILN_OK;
    KN_TRY(kn_hip_alloc(x->h, x->c, bytes, &x->offs));
    return kn_hip_upload(x->h, x->c, x->offs, x->r->offs, bytes);
}

static uint64_t
address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static kiln_status
prepare(struct held *x)
{
    void *const *b = x->buffer;
    struct kn_operands addr = {
        .a = address(b[KN_OPND_A]),   .b = address(b[KN_OPND_B]),
        .c = address(b[KN_OPND_C]),   .sa = address(b[KN_OPND_SA]),
        .sb = address(b[KN_OPND_SB]), .bias = address(b[KN_OPND_BIAS]),
        .offs = address(x->offs),
    };

    KN_TRY(kn_plan_launch(x->c, x->r->p, &x->r->g->cfg, &addr, &x->plan));
    if (x->plan.workspace) { /* counters start at zero, and end there */
        KN_TRY(kn_hip_alloc(x->h, x->c, (size_t)x->plan.workspace,
                            &x->workspace));
        KN_TRY(kn_hip_fill(x->h, x->c, x->workspace, 0,
                           KILN_WORKSPACE_ZEROS));
        addr.workspace = address(x->workspace);
        KN_TRY(kn_plan_launch(x->c, x->r->p, &x->r->g->cfg, &addr, &x->plan));
    }
    KN_TRY(kn_hip_load(x->h, x->c, x->r->g->co, &x->module));
    x->launch.kernarg = x->plan.kernarg;
    x->launch.kernarg_size = x->plan.kernarg_size;
    memcpy(x->launch.grid, x->plan.grid, sizeof x->launch.grid);
    memcpy(x->launch.block, x->plan.block, sizeof x->launch.block);
    return kn_hip_function(x->h, x->c, x->module, x->r->g->name,
                           &x->launch.function);
}

static kiln_status
download(struct held *x)
{
    uint64_t size = x->r->ops->o[KN_OPND_C].size;

    x->r->out = KN_NEW(x->c, uint8_t, size + 1);
    return kn_hip_download(x->h, x->c, x->r->out, x->buffer[KN_OPND_C],
                           (size_t)size);
}

static kiln_status
measure(struct held *x)
{
    struct kn_hip_run *r = x->r;

    do {
        KN_TRY(kn_hip_time(x->h, x->c, &x->launch, TIMED_LAUNCHES,
                           &r->us[r->runs]));
        r->time = kn_stable_time(r->us, ++r->runs);
    } while (r->time.more);
    return KILN_OK;
}

static kiln_status
execute(struct held *x)
{
    kiln_status s;

    KN_ENTER(x->c);
    s = upload_all(x);
    if (!s && x->r->p->m && x->r->p->n)
        s = prepare(x);
    if (!s && x->launch.function)
        s = kn_hip_launch(x->h, x->c, &x->launch);
    if (!s)
        s = kn_hip_wait(x->h, x->c, NULL);
    if (!s)
        s = download(x);
    if (!s && x->r->timed && x->launch.function)
        s = measure(x);
    return s;
}

/* What the device gives back is of no interest any more. */
static void
drop(struct held *x)
{
    struct kn_ctx own;

    kn_ctx_init(&own, x->c->realloc, x->c->user);
    if (x->module)
        kn_hip_unload(x->h, &own, x->module);
    for (int i = 0; i < KN_NOPERANDS; i++)
        if (x->buffer[i])
            kn_hip_free(x->h, &own, x->buffer[i]);
    if (x->offs)
        kn_hip_free(x->h, &own, x->offs);
    if (x->workspace)
        kn_hip_free(x->h, &own, x->workspace);
    kn_ctx_free(&own);
}

kiln_status
kn_hip_execute(struct kn_ctx *c, const struct kn_place *place,
               struct kn_hip_run *r)
{
    struct held *x = KN_NEW(c, struct held, 1);
    kiln_status s;

    *x = (struct held){ .c = c, .h = place->hip, .r = r };
    r->runs = 0;
    s = execute(x);
    drop(x);
    return s;
}
