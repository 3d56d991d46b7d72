/* device.c - the flags that `run` and `exec` share: where and in which order
 * a launch executes. */
#include "../cmd.h"
#include "../progress.h"

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
    l->progress_user = t->progress;
}
