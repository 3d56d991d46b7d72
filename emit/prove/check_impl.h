/* check_impl.h - the state of a wave between the instructions of check.c. */
#ifndef KN_CHECK_IMPL_H
#define KN_CHECK_IMPL_H

#include "check.h"

enum {
    FREE = 64,               /* nothing outstanding */
    NVREG = 512,             /* v0-v255, a0-a255 */
    NSREG = 128
};

/* Contents of a slot: what this wave wrote into it ... */
enum { W_PENDING_MAX = 63, W_APART = 64, W_LANDED = 65, W_VISIBLE = 66 };
/* ... and its reads from it. Where one half of the waves runs a barrier behind
 * the other, a wait leaves a slot two barriers from the last state: *_APART. */
enum { R_PENDING_MAX = 15, R_APART = 16, R_DONE = 17, R_NONE = 18 };

struct kn_slot_state {
    uint8_t write;           /* operations since, or W_* */
    uint8_t by_lds;          /* written by ds_write: counts in lgkmcnt */
    uint8_t read;            /* operations since, or R_* */
};

struct kn_wave_state {
    bool live;
    bool apart;              /* half of the waves runs a barrier behind */
    bool smem;               /* a scalar load may be outstanding */
    uint8_t vm[NVREG], ds[NVREG];
    uint8_t scalar[NSREG];   /* 1: pending scalar load */
    uint8_t known[NSREG];    /* K_*: what is known of a scalar register */
    struct kn_slot_state *slot;
};

/* A dword of a lane mask: LLVM keeps loop exits in masks of all zeros or all
 * ones and tests them against EXEC, which is never empty where it matters. */
enum { K_UNKNOWN, K_ZERO, K_ONES, K_NONZERO };

/* What every instruction is held to. */
struct kn_stepper {
    const struct kn_program *p;
    const struct kn_access *access;  /* NULL: no certificate */
    uint32_t nslots;
    struct kn_check_result *out;
    bool report;             /* false: a state on its way to its fixed point */
};

/* Instruction n; a becomes what a and b have in common: did it change? */
void kn_check_step(struct kn_stepper *k, struct kn_wave_state *s, uint32_t n);
bool kn_states_meet(const struct kn_stepper *k, struct kn_wave_state *a,
                    const struct kn_wave_state *b);

#endif
