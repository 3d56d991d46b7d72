/* device.h - a device behind one table of functions. */
#ifndef KN_DEVICE_H
#define KN_DEVICE_H

#include "context.h"

/* A kernel on the device, as the back end knows it. */
struct kn_loaded {
    void *module, *function;
};

struct kn_start {
    const struct kn_loaded *code;
    const kiln_plan *plan;
    const uint8_t *kernarg;
    void *stream;
    uint32_t shares;         /* of K; 0 or 1: undivided */
    void *workspace;
};

struct kn_backend {
    void (*close)(kiln_device *d);
    kiln_status (*alloc)(kiln_device *d, struct kn_ctx *c, size_t n,
                         void **out);
    kiln_status (*free)(kiln_device *d, struct kn_ctx *c, void *p);
    kiln_status (*upload)(kiln_device *d, struct kn_ctx *c, void *dst,
                          const void *src, size_t n);
    kiln_status (*download)(kiln_device *d, struct kn_ctx *c, void *dst,
                            const void *src, size_t n);
    kiln_status (*load)(kiln_device *d, struct kn_ctx *c,
                        const kiln_kernel *k, struct kn_loaded *out);
    void (*unload)(kiln_device *d, struct kn_loaded *l);
    kiln_status (*launch)(kiln_device *d, struct kn_ctx *c,
                          const struct kn_start *s);
    /* args->host_offsets to where plan and workspace say */
    kiln_status (*copy)(kiln_device *d, struct kn_ctx *c, void *dst,
                        const kiln_plan *plan, const kiln_arguments *args);
    kiln_status (*sync)(kiln_device *d, struct kn_ctx *c, void *stream);
    kiln_status (*time)(kiln_device *d, struct kn_ctx *c,
                        const struct kn_start *s, kiln_timing *t);
};

struct kiln_device {
    const struct kn_backend *backend;
    struct kiln_context *context;
    struct kn_ctx arena;     /* lives as long as the device */
    void *state;             /* the back end's, in the arena */
    kiln_device_info info;
    struct kn_dispatch *dispatch;
};

struct kiln_function {
    kiln_device *device;
    kiln_kernel *kernel;
    struct kn_loaded code;
};

/* Fill in backend, state and info; NO_DEVICE if there is none. */
kiln_status kn_device_open_sim(struct kn_ctx *c, kiln_device *d,
                               kiln_target target);
kiln_status kn_device_open_hip(struct kn_ctx *c, kiln_device *d, int number);

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
