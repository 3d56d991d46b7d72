/* exec_sync.c - waits, barrier, end, and instructions without effect. */
#include "../core.h"

void
kn_exec_waitcnt(struct kn_wave *w, const struct kn_inst *i)
{
    kn_wait(w, i->vm, i->lgkm);
}

void
kn_exec_barrier(struct kn_wave *w, const struct kn_inst *i)
{
    w->barrier_inst = kn_inst_index(w, i);
    w->at_barrier = w->stop = true;
}

/* The wave slot is freed only when everything has returned. */
void
kn_exec_endpgm(struct kn_wave *w, const struct kn_inst *i)
{
    (void)i;
    kn_wait(w, 0, 0);
    w->pc = kn_inst_index(w, i);
    w->done = w->stop = true;
}

void
kn_exec_nop(struct kn_wave *w, const struct kn_inst *i)
{
    if (i->op == KN_I_s_setprio)
        w->prio = i->raw[0] & 3;
}

/* s_trap, s_sethalt: the program asks to be stopped. */
void
kn_exec_trap(struct kn_wave *w, const struct kn_inst *i)
{
    kn_run_fail(w, KILN_FINDING, "%s %u at 0x%llx in workgroup %llu, wave %u",
                kn_isa[i->op].mnemonic, i->raw[0] & 0xffff,
                (unsigned long long)i->pc,
                (unsigned long long)w->group->linear, w->id);
}
