/* device.h - the public device over a back end. */
#ifndef KN_DEVICE_H
#define KN_DEVICE_H

#include "../backend.h"
#include "context.h"

struct kiln_device {
    struct kn_device dev;
    struct kiln_context *context;
    struct kn_ctx arena;     /* lives as long as the device */
    struct kn_dispatch *dispatch;
};

struct kiln_function {
    kiln_device *device;
    kiln_kernel *kernel;
    struct kn_loaded_code code;
};

/* A launch of the plan with these arguments, within the context's limits. */
struct kn_start kn_device_start(const kiln_function *f, const kiln_plan *plan,
                                const uint8_t *kernarg, void *stream);
/* Runs it; a finding of the simulator is an error. */
kiln_status kn_device_run(struct kn_ctx *c, kiln_device *d,
                          const struct kn_start *s);

kiln_status kn_device_load(struct kn_ctx *c, kiln_device *d, kiln_kernel *k,
                           kiln_function **out);
/* Older callers have shorter structs: what they do not know is zero. */
kiln_status kn_take_arguments(struct kn_ctx *c, const kiln_arguments *given,
                              kiln_arguments *out);
/* Nothing in here allocates, waits or prepares. */
kiln_status kn_device_launch(struct kn_ctx *c, const kiln_function *f,
                             const kiln_plan *plan,
                             const kiln_arguments *args);

/* dispatch.c */
struct kn_dispatch *kn_dispatch_new(const struct kn_host *h);
void kn_dispatch_free(struct kn_dispatch *t);

#endif
