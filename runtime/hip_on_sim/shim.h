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
#include "../api/context.h"
#include "../sim/sim.h"
#include "hip_api.h"

/* hipError_t, the same numbers from ROCm 5 to 7. */
#define KN_HIP_ERRORS(X) \
    X(hipSuccess, 0) \
    X(hipErrorInvalidValue, 1) \
    X(hipErrorOutOfMemory, 2) \
    X(hipErrorNotInitialized, 3) \
    X(hipErrorInvalidConfiguration, 9) \
    X(hipErrorInvalidSymbol, 13) \
    X(hipErrorInvalidMemcpyDirection, 21) \
    X(hipErrorInvalidDeviceFunction, 98) \
    X(hipErrorNoDevice, 100) \
    X(hipErrorInvalidDevice, 101) \
    X(hipErrorInvalidImage, 200) \
    X(hipErrorNoBinaryForGpu, 209) \
    X(hipErrorFileNotFound, 301) \
    X(hipErrorInvalidHandle, 400) \
    X(hipErrorNotFound, 500) \
    X(hipErrorNotReady, 600) \
    X(hipErrorIllegalAddress, 700) \
    X(hipErrorPeerAccessNotEnabled, 705) \
    X(hipErrorHostMemoryAlreadyRegistered, 712) \
    X(hipErrorHostMemoryNotRegistered, 713) \
    X(hipErrorLaunchFailure, 719) \
    X(hipErrorCooperativeLaunchTooLarge, 720) \
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
    struct kn_ctx c;         /* of object and lines */
    struct kn_object object;
    struct kn_dwarf *lines;  /* NULL: not read, or no debug information */
    struct kn_sim_code *code; /* NULL until the first launch */
    struct function *functions;
};

struct function {
    struct function *next;   /* of the module */
    struct module *module;
    const struct kn_object_kernel *kernel;
    struct record *record;   /* NULL: not launched */
};

struct launch {
    struct function *f;
    uint32_t grid[3], block[3], lds;
    uint8_t *kernarg;
    size_t kernarg_size;
};

/* Rows of a copy or a set, in `depth` planes (0: one) of dplane and splane
 * rows; of one row the pitches do not count, of one plane its rows. */
struct rows {
    size_t dpitch, spitch, width, height, dplane, splane, depth;
};

/* hipMemcpy3DParms; arrays are textures'. */
struct copy3d {
    void *src_array;
    struct place src_at;
    struct pitched src;
    void *dst_array;
    struct place dst_at;
    struct pitched dst;
    struct place extent;
    int kind;
};
enum { COPY_ANY = 4 };       /* hipMemcpyDefault */

/* An operation that a capture or a graph holds. */
enum node_kind {             /* hipGraphNodeType */
    NODE_LAUNCH = 1, NODE_COPY, NODE_SET, NODE_CALL, NODE_EMPTY = 6
};

struct node {
    struct node *next;
    enum node_kind kind;
    struct launch launch;
    void *dst;
    const void *src;
    struct rows rows;
    uint32_t value;          /* to set: of `element` bytes */
    unsigned element;
    void (*call)(void *user);
    void *user;
    struct node **after;     /* it needs these first */
    size_t nafter;
    struct node *copy;       /* while a graph is instantiated */
};

struct graph {
    struct node *first, **last;
};

struct stream {
    struct stream *next;     /* of the shim */
    bool capturing, began;   /* began: it owns the graph */
    uint64_t capture;        /* number of the capture it is or was in */
    struct graph *graph;
    unsigned flags;
    int priority;
};

/* Whose memory it is: the device's; host memory that kernels see at the same
 * address (pinned, managed) or at another (registered); a variable's. */
enum owner { OF_DEVICE, OF_HOST, OF_BOTH, OF_CALLER, OF_CODE };

struct block {
    uint64_t addr;
    size_t size;
    enum owner owner;
    uint8_t *host;           /* NULL: the device's */
};

/* What the launches of one kernel came to. */
struct record {
    struct record *next;
    char *kernel;
    uint64_t launches, groups, run, instructions;
    double seconds;
    char *error;             /* why a launch was no answer, or NULL */
    struct found *found, **last;
};

struct found {
    struct found *next;
    struct kn_finding f;
    char source[256];        /* file:line, "" if nothing tells */
};

struct shim {
    pthread_mutex_t lock;
    bool started;
    kiln_target target;
    uint32_t cus, xcds;      /* compute units and chiplets it shows */
    const char *log;         /* NULL: standard error */
    const char *json, *junit; /* files to write at the end, or NULL */
    uint64_t sample;         /* most workgroups of a launch, 0: all */
    int exit_status;         /* of a process with findings that returns 0 */
    bool go_on;              /* a launch with findings succeeds */
    struct kn_ctx c;         /* arena of the simulator */
    const struct kn_simulator *api;
    struct kn_sim *sim;
    struct block *block;     /* device allocations */
    size_t nblocks, cap;
    struct module *modules;
    struct record *records, **last_record;
    uint64_t nfindings, nadvice, sampled;
    uint32_t stack;          /* hipLimitStackSize; 0: as it is by default */
    uint64_t printf_buffer;  /* device address, 0: none yet */
    struct stream *streams;
    uint64_t captures;       /* begun so far */
    unsigned capturing;      /* captures under way */
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
struct block *block_of(const struct shim *s, const void *p);
/* A variable of a code object, as memory to copy from and to. */
int know_variable(struct shim *s, const struct block *b);
int allocate(struct shim *s, void **p, size_t n, enum owner owner);
/* Host memory that kernels see: to the device before a launch, back after. */
int share_host(struct shim *s, bool to_device);

/* copy.c */
int copy_rows(struct shim *s, void *dst, const void *src, struct rows r);
int set_rows(struct shim *s, const struct node *n);
int copy_memory(struct shim *s, void *dst, const void *src, size_t n);
/* Do the rows fit this pitch, the planes this many rows? */
bool fits_pitch(const struct rows *r, size_t pitch, size_t plane);
/* Does it, or records it in a capture. */
int enqueue(struct shim *s, const struct node *n, struct stream *q);
int enqueue_copy(struct shim *s, const struct node *n, int kind,
                 struct stream *q);

/* volume.c */
int volume_node(const struct copy3d *p, struct node *out);

/* fatbin.c */
int registered_function(struct shim *s, const void *host,
                        struct function **out);
/* The target of the program's own code, or KILN_TARGET_NONE. */
kiln_target registered_target(void);

/* module.c */
/* `most`: bytes the image may have; HIP does not know them. */
int load_module(struct shim *s, const void *image, size_t most,
                struct module **out);
int need_code(struct shim *s, struct module *m);
struct function *find_function(struct module *m, const char *name);
int find_variable(struct shim *s, struct module *m, const char *name,
                  struct block *out);

/* launch.c */
int make_launch(struct launch *l, void **params, void **extra);
int run_launch(struct shim *s, const struct launch *l);
void free_launch(struct launch *l);
/* Runs it, or records it in a capture; takes over l's memory. */
int enqueue_launch(struct shim *s, struct launch *l, struct stream *q);

/* printf.c */
int need_printf(struct shim *s, const struct function *f);
int flush_printf(struct shim *s, struct module *m);

/* outcome.c */
void watch_exit(void);
struct record *record_of(struct shim *s, struct function *f);
void keep_findings(struct shim *s, struct function *f,
                   const struct kn_sim_result *r);
void keep_error(struct record *r, const char *text);

/* findings.c */
void write_json(struct kn_buf *b, const struct shim *s);
void write_junit(struct kn_buf *b, const struct shim *s);

/* graph.c */
struct graph *new_graph(void);
void free_graph(struct graph *g);
int record_node(struct graph *g, const struct node *n, struct node **out);
int run_node(struct shim *s, const struct node *n);

#endif
