/* autotune.h - the fastest kernel for a problem, measured on the device. */
#ifndef KN_AUTOTUNE_H
#define KN_AUTOTUNE_H

#include "device.h"

struct kn_race {
    kiln_device *d;
    const kiln_problem *p;   /* normalised */
    const kiln_arguments *args;
    const kiln_function *standard; /* what the rules chose */
    uint32_t align;          /* of every address */
};

/* *best: the winner, loaded; NULL: `standard` stays. UNSUPPORTED on a device
 * without a clock. */
kiln_status kn_autotune(struct kn_ctx *c, const struct kn_race *race,
                        kiln_function **best);

#endif
