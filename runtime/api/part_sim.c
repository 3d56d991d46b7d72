/* part_sim.c - what libkiln-sim.so shows. */
#include "../sim/timing/timing.h"
#include "generator_id.h"
#include "context.h"

const struct kn_simulator *
kiln_sim_interface(void)
{
    static const struct kn_simulator table = {
        KN_GENERATOR_ID, kn_sim_open, kn_sim_close, kn_sim_alloc,
        kn_sim_free, kn_sim_write, kn_sim_read, kn_sim_load, kn_sim_unload,
        kn_sim_base, kn_sim_run, kn_time_launch,
    };

    return &table;
}
