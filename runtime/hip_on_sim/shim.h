/* shim.h - libkilnhip.so: HIP's C interface on top of the simulator, so that
 * an unmodified program (LD_PRELOAD, or as libamdhip64.so) runs without a GPU.
 *
 * HIP has no handle for itself: this is the one library of the project with a
 * process-wide state, and like the library it stands for it serves one call
 * at a time. Work is done when it is enqueued, except in a stream that is
 * being captured. A finding of the simulator is written to standard error (or
 * to KILNC_SHIM_LOG) and fails the launch with hipErrorLaunchFailure. */
#ifndef KN_SHIM_H
#define KN_SHIM_H

#include <pthread.h>

#include "../../emit/isa/object.h"
#include "../api/parts.h"
#include "../sim/sim.h"

/* hipError_t, the same numbers from ROCm 5 to 7. */
#define KN_HIP_ERRORS(X) \
    X(hipSuccess, 0) \
    X(hipErrorInvalidValue, 1) \
    X(hipErrorOutOfMemory, 2) \
    X(hipErrorNotInitialized, 3) \
    X(hipErrorNoDevice, 100) \
    X(hipErrorInvalidDevice, 101) \
    X(hipErrorInvalidImage, 200) \
    X(hipErrorNoBinaryForGpu, 209) \
    X(hipErrorFileNotFound, 301) \
    X(hipErrorInvalidHandle, 400) \
    X(hipErrorNotFound, 500) \
    X(hipErrorIllegalAddress, 700) \
    X(hipErrorLaunchFailure, 719) \
    X(hipErrorNotSupported, 801) \
    X(hipErrorStreamCaptureUnsupported, 900) \
    X(hipErrorStreamCaptureInvalidated, 901) \
    X(hipErrorUnknown, 999)

enum hip_error {
#define X(id, value) KN_##id = value,
    KN_HIP_ERRORS(X)
#undef X
};

enum hip_call {
#define X(name, captured) FN_##name,
#include "calls.def"
#undef X
    FN_COUNT
};

struct module {
    struct module *next;
    uint8_t *bytes;
    size_t size;
    struct kn_ctx c;         /* of object */
    struct kn_object object;
    struct kn_sim_code *code; /* NULL until the first launch */
    struct function *functions;
};

struct function {
    struct function *next;   /* of the module */
    struct module *module;
    const struct kn_object_kernel *kernel;
};

struct launch {
    struct function *f;
    uint32_t grid[3], block[3], lds;
    uint8_t *kernarg;
    size_t kernarg_size;
};

/* A captured operation. */
enum node_kind { NODE_LAUNCH, NODE_COPY, NODE_SET };

struct node {
    struct node *next;
    enum node_kind kind;
    struct launch launch;
    void *dst;
    const void *src;
    size_t n;
    int value;               /* copy kind, or byte */
};

struct graph {
    struct node *first, **last;
};

struct stream {
    bool capturing, broken;
    struct graph *graph;
};

struct block {
    uint64_t addr;
    size_t size;
};

struct shim {
    pthread_mutex_t lock;
    bool started;
    kiln_target target;
    const char *log;         /* NULL: standard error */
    struct kn_ctx c;         /* arena of the simulator */
    const struct kn_simulator *api;
    struct kn_sim *sim;
    struct block *block;     /* device allocations */
    size_t nblocks, cap;
    struct module *modules;
    unsigned capturing;      /* streams under capture */
    bool broken;             /* a call broke the captures under way */
    unsigned long calls[FN_COUNT];
    int fail_call, fail_with; /* kilnhip_fail */
};

/* Locks, counts, judges a capture under way; what is returned is the status
 * so far, and leave() turns the final one into hipError_t. */
int enter(enum hip_call f);
/* The same for a call whose result goes to `out`: not to NULL. */
int enter_for(enum hip_call f, const void *out);
int leave(int e);
struct shim *shim_state(void);

/* The simulator, opened on first need. */
int need_sim(struct shim *s);
/* The simulator's error as a status, told, and its record cleared. */
int sim_error(struct shim *s, const char *what, int fallback);
void tell(struct shim *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* memory.c */
bool on_device(const struct shim *s, const void *p);
int copy_memory(struct shim *s, void *dst, const void *src, size_t n);
int set_memory(struct shim *s, void *dst, int byte, size_t n);

/* module.c */
/* `most`: bytes the image may have; HIP does not know them. */
int load_module(struct shim *s, const void *image, size_t most,
                struct module **out);
struct function *find_function(struct module *m, const char *name);
int make_launch(struct launch *l, void **params, void **extra);
int run_launch(struct shim *s, const struct launch *l);
void free_launch(struct launch *l);
/* Runs it, or records it in a capture; takes over l's memory. */
int enqueue_launch(struct shim *s, struct launch *l, struct stream *q);

/* stream.c */
int record_node(struct stream *q, const struct node *n);

#endif
