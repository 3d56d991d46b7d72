/* backend.h - a device behind one table of functions: the simulator, or an
 * AMD GPU. The public interface and kilnc launch through it alike. */
#ifndef KN_BACKEND_H
#define KN_BACKEND_H

#include "hip.h"
#include "sim/sim.h"

struct kn_time_shares;

/* What the simulator is to those that do not link it. */
struct kn_simulator {
    const char *generator;
    kiln_status (*open)(struct kn_ctx *c, kiln_target target,
                        struct kn_sim **out);
    void (*close)(struct kn_sim *s);
    kiln_status (*alloc)(struct kn_sim *s, uint64_t size, unsigned flags,
                         kn_fill_fn fill, void *user, uint64_t *addr);
    kiln_status (*free)(struct kn_sim *s, uint64_t addr);
    kiln_status (*write)(struct kn_sim *s, uint64_t addr, const void *src,
                         size_t n);
    kiln_status (*read)(struct kn_sim *s, uint64_t addr, void *dst, size_t n);
    kiln_status (*load)(struct kn_sim *s, const char *name, const void *bytes,
                        size_t size, struct kn_sim_code **out);
    void (*unload)(struct kn_sim *s, struct kn_sim_code *code);
    uint64_t (*base)(const struct kn_sim_code *code);
    kiln_status (*run)(struct kn_sim *s, const struct kn_sim_launch *l,
                       struct kn_sim_result *r);
    kiln_status (*time)(struct kn_ctx *c, struct kn_sim *s,
                        const struct kn_sim_launch *l,
                        const struct kn_time_shares *shares, double *us);
};

/* Memory to allocate. fill: what its bytes are, NULL: nobody has said. A GPU
 * knows of the flags OUTPUT alone: unfilled, it starts as 0xff. */
struct kn_memory {
    uint64_t size;
    unsigned flags;          /* enum kn_mem_flags */
    kn_fill_fn fill;
    void *user;
};

struct kn_object_bytes {
    const char *name;        /* of the kernel */
    const uint8_t *co;
    size_t size;
};

/* A kernel on a device, as its back end knows it. */
struct kn_loaded_code {
    void *module, *function;
};

struct kn_start {
    const struct kn_loaded_code *code;
    struct kn_sim_launch l;  /* a GPU takes grid, block, arguments, LDS */
    void *stream;
    uint32_t shares;         /* of K; 0 or 1: undivided */
    void *workspace;
    uint32_t runs;           /* of `time`: launches back to back; 0: 1 */
    const void *const *rotated; /* of a GPU's `time`: launch i has the
                                arguments rotated[(first + i) % nrotated] */
    uint32_t nrotated, first;   /* 0: all have those of l */
};

struct kn_device;

struct kn_backend {
    void (*close)(struct kn_device *d);
    kiln_status (*alloc)(struct kn_device *d, struct kn_ctx *c,
                         const struct kn_memory *m, void **out);
    kiln_status (*free)(struct kn_device *d, struct kn_ctx *c, void *p);
    kiln_status (*upload)(struct kn_device *d, struct kn_ctx *c, void *dst,
                          const void *src, size_t n);
    kiln_status (*download)(struct kn_device *d, struct kn_ctx *c, void *dst,
                            const void *src, size_t n);
    kiln_status (*load)(struct kn_device *d, struct kn_ctx *c,
                        const struct kn_object_bytes *o,
                        struct kn_loaded_code *out);
    void (*unload)(struct kn_device *d, struct kn_loaded_code *l);
    /* *r: what a simulator saw; a GPU leaves it alone */
    kiln_status (*launch)(struct kn_device *d, struct kn_ctx *c,
                          const struct kn_start *s, struct kn_sim_result *r);
    kiln_status (*copy)(struct kn_device *d, struct kn_ctx *c,
                        const struct kn_hip_copy *m);
    kiln_status (*sync)(struct kn_device *d, struct kn_ctx *c, void *stream);
    /* Microseconds: a GPU measures, the simulator predicts. */
    kiln_status (*time)(struct kn_device *d, struct kn_ctx *c,
                        const struct kn_start *s, double *us);
    /* A GPU's alone. A stream of its own; what is launched on it between
     * capture and captured is a graph. */
    kiln_status (*open_stream)(struct kn_device *d, struct kn_ctx *c,
                               void **out);
    kiln_status (*close_stream)(struct kn_device *d, struct kn_ctx *c,
                                void *stream);
    kiln_status (*capture)(struct kn_device *d, struct kn_ctx *c,
                           void *stream);
    kiln_status (*captured)(struct kn_device *d, struct kn_ctx *c,
                            void *stream, void **graph);
    kiln_status (*replay)(struct kn_device *d, struct kn_ctx *c, void *graph,
                          void *stream);
    kiln_status (*drop_graph)(struct kn_device *d, struct kn_ctx *c,
                              void *graph);
};

struct kn_device {
    const struct kn_backend *backend;
    void *state;             /* the back end's, in the arena */
    struct kn_ctx *arena;    /* lives as long as the device */
    kiln_device_info info;
    struct kn_hip_device facts; /* of a GPU */
};

/* Fill in all but the arena, which the caller has set; NO_DEVICE if there is
 * none. d->backend is set as soon as there is something to close. The simulator
 * serves one thread at a time; calls take turns. */
kiln_status kn_device_open_sim(struct kn_device *d,
                               const struct kn_simulator *api,
                               kiln_target target);
/* Paths of kn_hip_open and kn_comgr_open, NULL: the usual names. */
struct kn_gpu_libraries {
    const char *hip, *comgr;
};
kiln_status kn_device_open_hip(struct kn_device *d,
                               const struct kn_gpu_libraries *libs,
                               int number);
/* Compute units and chiplets of the device, where the problem leaves them open:
 * a full chip's stay open, so that its kernels are found without a device. */
void kn_device_counts(const kiln_device_info *info, kiln_problem *p);

/* The simulator behind a device, NULL: it is a GPU. */
struct kn_sim *kn_device_sim(const struct kn_device *d);

#endif
