/* hip.h - AMD GPUs through libamdhip64, opened at run time: no header, no
 * link-time dependency. The only file that knows HIP. Having no library or no
 * GPU is a normal answer (NO_DEVICE). Uses only functions whose C interface
 * is the same from ROCm 5.2 to 7; hipGetDeviceProperties, whose struct
 * changed, is not one of them. */
#ifndef KN_HIP_H
#define KN_HIP_H

#include "../ir/base.h"

struct kn_hip;               /* lives in the arena it was opened with */

struct kn_hip_device {
    kiln_target target;      /* NONE: a GPU kiln has no code for */
    int cus;                 /* compute units */
    int xcds;                /* chiplets; 0: this HIP does not tell */
    int clock_khz, memory_khz; /* highest; 0: not told */
    int runtime, driver;     /* versions, as HIP counts them */
    uint64_t memory;         /* bytes */
    char name[64];
    char bus[32];            /* PCI address */
    char reader[32];         /* of code objects (reading.h); not HIP's word */
};

struct kn_hip_launch {
    void *function;          /* of kn_hip_function */
    uint32_t grid[3];        /* workgroups */
    uint32_t block[3];       /* work-items */
    uint32_t dynamic_lds;
    const void *kernarg;     /* copied by HIP */
    size_t kernarg_size;
    void *stream;            /* the caller's; NULL: the default one */
    const void *const *rotated; /* of kn_hip_time: arguments by turns */
    uint32_t nrotated, first;
};

/* `path` NULL: libamdhip64.so.7, .6, .5, then unversioned. */
kiln_status kn_hip_open(struct kn_ctx *c, const char *path,
                        struct kn_hip **out);
int kn_hip_count(const struct kn_hip *h);

/* Makes the device current for the calling thread and tells what it is. */
kiln_status kn_hip_use(struct kn_hip *h, struct kn_ctx *c, int device,
                       struct kn_hip_device *out);

/* Only makes it current. */
kiln_status kn_hip_select(struct kn_hip *h, struct kn_ctx *c, int device);

kiln_status kn_hip_alloc(struct kn_hip *h, struct kn_ctx *c, size_t n,
                         void **out);
kiln_status kn_hip_free(struct kn_hip *h, struct kn_ctx *c, void *p);
kiln_status kn_hip_upload(struct kn_hip *h, struct kn_ctx *c, void *dst,
                          const void *src, size_t n);
kiln_status kn_hip_download(struct kn_hip *h, struct kn_ctx *c, void *dst,
                            const void *src, size_t n);
kiln_status kn_hip_fill(struct kn_hip *h, struct kn_ctx *c, void *dst,
                        int byte, size_t n);

/* A code object on the current device, and a kernel of it. */
kiln_status kn_hip_load(struct kn_hip *h, struct kn_ctx *c, const void *co,
                        void **module);
kiln_status kn_hip_unload(struct kn_hip *h, struct kn_ctx *c, void *module);
kiln_status kn_hip_function(struct kn_hip *h, struct kn_ctx *c, void *module,
                            const char *kernel, void **out);

/* Enqueues and returns: no allocation of ours, no wait, nothing initialised
 * here, so it may run under graph capture. */
kiln_status kn_hip_launch(struct kn_hip *h, struct kn_ctx *c,
                          const struct kn_hip_launch *l);
/* To the device, on the stream; does not wait if src is pinned. */
struct kn_hip_copy {
    void *dst;
    const void *src;
    size_t n;
    void *stream;
};
kiln_status kn_hip_enqueue_copy(struct kn_hip *h, struct kn_ctx *c,
                                const struct kn_hip_copy *m);
kiln_status kn_hip_wait(struct kn_hip *h, struct kn_ctx *c, void *stream);

kiln_status kn_hip_open_stream(struct kn_hip *h, struct kn_ctx *c, void **out);
kiln_status kn_hip_close_stream(struct kn_hip *h, struct kn_ctx *c,
                                void *stream);
/* What is enqueued between the two becomes a graph that can be replayed. */
kiln_status kn_hip_capture(struct kn_hip *h, struct kn_ctx *c, void *stream);
kiln_status kn_hip_captured(struct kn_hip *h, struct kn_ctx *c, void *stream,
                            void **graph);
kiln_status kn_hip_replay(struct kn_hip *h, struct kn_ctx *c, void *graph,
                          void *stream);
kiln_status kn_hip_drop_graph(struct kn_hip *h, struct kn_ctx *c, void *graph);

/* Microseconds of `runs` launches back to back, by events, divided by runs;
 * launch i has the arguments rotated[(first + i) % nrotated], if there are. */
kiln_status kn_hip_time(struct kn_hip *h, struct kn_ctx *c,
                        const struct kn_hip_launch *l, int runs, double *us);

#endif
