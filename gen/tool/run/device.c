/* device.c - flags that commands share: where and in which order a launch
 * executes, and who links. */
#include "../../../runtime/comgr.h"
#include "../../../runtime/config.h"
#include "../progress.h"
#include "session.h"

/* Nobody vouches for what `exec` is given. */
#define EXEC_SECONDS 30

kiln_status
kn_tool_device(struct kn_tool *t, kiln_target *target)
{
    const struct kn_value *v = &t->cli->v[KN_FLAG_device];

    if (!v->seen)
        return KILN_OK;
    if (v->i == KN_DEV_HIP)
        return kn_fail(t->c, KILN_UNSUPPORTED, "%s is not available yet",
                       v->s);
    *target = (kiln_target)v->list[0];
    return KILN_OK;
}

void
kn_tool_orders(struct kn_tool *t, struct kn_sim_launch *l)
{
    const struct kn_value *v = t->cli->v;

    l->order = (enum kn_sim_order)v[KN_FLAG_order].i;
    l->waves = (enum kn_sim_waves)v[KN_FLAG_wave_order].i;
    l->mfma = (enum kn_mfma_model)v[KN_FLAG_mfma].i;
    l->seed = (uint64_t)v[KN_FLAG_order_seed].i;
    l->max_steps = (uint64_t)v[KN_FLAG_max_steps].i;
    l->max_seconds = v[KN_FLAG_max_seconds].seen ? v[KN_FLAG_max_seconds].f
                   : t->cli->command == KN_CMD_exec ? EXEC_SECONDS : 0;
    l->progress = kn_progress_update;
    t->progress->hint = "--wg sample:8 executes eight workgroups of the launch";
    l->progress_user = t->progress;
}

kiln_status
kn_tool_place(struct kn_tool *t, struct kn_place *place)
{
    const struct kn_value *v = &t->cli->v[KN_FLAG_device];

    place->trial = t->trial;
    place->warm = t->cli->v[KN_FLAG_warm].seen;
    if (!v->seen || v->i != KN_DEV_HIP)
        return kn_tool_device(t, &place->target);
    return kn_place_open(t->c, v, place);
}

kiln_status
kn_place_open(struct kn_ctx *c, const struct kn_value *v,
              struct kn_place *place)
{
    struct kn_gpu_libraries libs;
    struct kn_env env;

    kn_env_read(&env);
    libs = (struct kn_gpu_libraries){ env.hip_library, env.comgr_library };
    place->number = (int)v->list[0];
    place->gpu = true;
    place->device.arena = c;
    KN_TRY(kn_device_open_hip(&place->device, &libs, place->number));
    place->target = place->device.info.target;
    return KILN_OK;
}

void
kn_place_counts(const struct kn_place *place, kiln_problem *p)
{
    if (place->gpu)
        kn_device_counts(&place->device.info, p);
}

kiln_status
kn_place_flags(struct kn_tool *t, const struct kn_place *place)
{
    static const enum kn_flag_id simulated[] = {
        KN_FLAG_wg, KN_FLAG_order, KN_FLAG_wave_order, KN_FLAG_order_seed,
        KN_FLAG_mfma, KN_FLAG_max_steps, KN_FLAG_max_seconds,
    };

    for (size_t i = 0; i < sizeof simulated / sizeof *simulated; i++)
        if (place->gpu && t->cli->v[simulated[i]].seen)
            return kn_fail(t->c, KILN_BAD_INPUT, "%s is for the simulator, a "
                           "GPU executes the whole launch",
                           kn_flags[simulated[i]].name);
    return KILN_OK;
}

/* The relocatable's own target: comgr wants to be told. */
static kiln_status
link_comgr(struct kn_ctx *c, const void *rel, size_t n, uint8_t **out,
           size_t *size)
{
    struct kn_bytes in = { rel, n }, linked;
    struct kn_comgr *g;
    struct kn_object o;
    struct kn_env env;

    kn_env_read(&env);
    KN_TRY(kn_comgr_open(c, env.comgr_library, &g));
    KN_TRY(kn_object_read(c, "the object", rel, n, &o));
    KN_TRY(kn_comgr_link(g, c, o.target, in, &linked));
    *out = (uint8_t *)linked.p;
    *size = linked.n;
    return KILN_OK;
}

kn_link_fn *
kn_tool_linker(const struct kn_cli *cli)
{
    static kn_link_fn *const linker[] = { NULL, link_comgr };
    const struct kn_value *v = &cli->v[KN_FLAG_linker];

    return v->seen ? linker[v->i] : NULL;
}
