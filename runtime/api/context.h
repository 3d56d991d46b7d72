/* context.h - what the public functions share: the context with its host
 * allocator, kernel store and bundles; kernels; the frame of a call.
 *
 * Locks: `lock` guards the store, the pending list and the bundles. Nothing
 * that may leave by longjmp (kn_alloc) runs while it is held. */
#ifndef KN_CONTEXT_H
#define KN_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>

#include "../../gen/tuning/tuning.h"
#include "../backend.h"

enum { KN_DIGEST = 32, KN_HEX = 2 * KN_DIGEST + 1 };

/* Memory that outlives a call. */
struct kn_host {
    kn_realloc_fn realloc;
    void *user;
};
void *kn_host_alloc(const struct kn_host *h, size_t n);
void kn_host_free(const struct kn_host *h, void *p, size_t n);

/* What a kernel is made from; the digest names it everywhere. */
struct kn_key {
    const char *problem;     /* the kernel part as text */
    const char *config;      /* complete, with the domain */
    const char *text;        /* what is hashed */
    uint8_t digest[KN_DIGEST];
    char hex[KN_HEX];
};

struct kiln_kernel {
    atomic_uint refs;
    struct kn_host host;
    size_t bytes;            /* of this block, text included */
    kiln_problem problem;    /* kernel part only */
    struct kn_config config;
    uint8_t digest[KN_DIGEST];
    char hex[KN_HEX];
    const char *name, *config_text, *why;
    const uint8_t *co;
    size_t co_size;
    struct kn_bundle *bundle; /* whose bytes co points into, or NULL */
    struct {
        uint32_t vgpr, agpr, sgpr, lds, scratch, kernarg_size;
    } facts;
    kiln_source source;
    double compile_ms;
};

/* A kernel that some thread is finding or compiling. */
struct kn_pending {
    struct kn_pending *next;
    const uint8_t *digest;
};

struct kiln_context {
    struct kn_host host;
    uint32_t flags;
    void (*log)(void *user, kiln_log_level level, const char *text);
    void *log_user;
    uint64_t max_steps;      /* of simulated launches; 0: the default */
    double max_seconds;      /* 0: none */
    char *cache_dir;         /* NULL: none */
    char *hip_library, *comgr_library; /* NULL: by the usual names */
    struct kn_ctx arena;     /* of the tuning tables */
    const struct kn_tuning *tuning; /* of KILNC_TUNING_FILE, NULL: none */
    pthread_mutex_t lock;
    pthread_cond_t changed;  /* a kernel left `pending` */
    struct kn_pending *pending;
    struct kiln_kernel **slot; /* open addressing by digest */
    size_t nslots, nkernels;
    struct kn_bundle *bundles;
    const struct kn_codegen *codegen; /* NULL until the first miss */
    bool warned_cache;       /* an unusable directory is told once */
};

/* Opens a public call: an arena of the context's allocator. */
void kn_call_begin(const struct kn_host *h, struct kn_ctx *c);
/* The same for a call that chooses: with the user's tuning tables. */
void kn_choice_begin(const struct kiln_context *x, struct kn_ctx *c);
/* Copies the error out, drops the arena. */
kiln_status kn_call_end(struct kn_ctx *c, kiln_status s, kiln_error *error);

/* BAD_INPUT that names the argument of a public function that is NULL. */
kiln_status kn_refuse_null(const char *what, kiln_error *error);
#define KN_NEEDS(error, pointer, name)                                        \
    do {                                                                      \
        if (!(pointer))                                                       \
            return kn_refuse_null(name, error);                               \
    } while (0)

void kn_log(struct kiln_context *x, kiln_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- key.c ---- */

/* The caller's struct, whatever its size, complete and checked; `target`
 * instead of its own unless NONE. */
kiln_status kn_problem_take(struct kn_ctx *c, const kiln_problem *given,
                            kiln_target target, kiln_problem *out);
bool kn_same_kernel_part(const kiln_problem *a, const kiln_problem *b);
void kn_make_key(struct kn_ctx *c, const kiln_problem *p,
                 const struct kn_config *g, struct kn_key *out);
void kn_sha256(const void *p, size_t n, uint8_t out[KN_DIGEST]);
void kn_hex(const uint8_t digest[KN_DIGEST], char out[KN_HEX]);
/* "generator 0123456789abcdef, LLVM 22.1.8" of this build. */
const char *kn_versions(void);
const char *kn_generator_id(void);

/* ---- kernel.c ---- */

/* A code object, what it was made for and where it comes from. */
struct kn_origin {
    const kiln_problem *problem;
    const struct kn_config *config;
    const uint8_t *co;
    size_t size;
    struct kn_bundle *bundle; /* co stays there; NULL: copied */
    kiln_source source;
    double compile_ms;
    const char *why;
};

/* Reads the code object's facts. The kernel has one reference. */
kiln_status kn_kernel_new(struct kn_ctx *c, const struct kn_host *h,
                          const struct kn_origin *o, kiln_kernel **out);
void kn_kernel_retain(kiln_kernel *k);

/* ---- store.c: kernels in memory; all called with the lock held ---- */

kiln_kernel *kn_store_find(struct kiln_context *x, const uint8_t *digest);
bool kn_store_add(struct kiln_context *x, kiln_kernel *k);
void kn_store_free(struct kiln_context *x);

/* ---- find.c ---- */

struct kn_request {
    const kiln_problem *problem; /* normalised */
    const struct kn_config *config; /* complete */
    const struct kn_config *given; /* what it was chosen from; NULL: itself */
    const char *why;
    const char *text;        /* tile IR instead of the two, NULL: none */
    bool chosen;             /* by kiln: another one will do as well */
    bool compile;
};

/* A reference to the kernel: memory, bundles, directory, compiler. */
kiln_status kn_find_kernel(struct kiln_context *x, struct kn_ctx *c,
                           const struct kn_request *r, kiln_kernel **out);

/* The kernel of a text of tile IR: directory, compiler. With KILN_STRICT always
 * the compiler, which proves it. */
kiln_status kn_find_text(struct kiln_context *x, struct kn_ctx *c,
                         const char *text, kiln_kernel **out);

/* ---- launchplan.c ---- */

kiln_status kn_launch_plan(struct kn_ctx *c, const kiln_kernel *k,
                           const kiln_problem *p, kiln_plan *plan);
/* Writes the addresses into a copy of the plan's kernarg. */
kiln_status kn_fill_kernarg(struct kn_ctx *c, const kiln_plan *plan,
                            const kiln_arguments *args,
                            uint8_t kernarg[sizeof plan->kernarg]);
/* The largest power of two, at most 256, all addresses are multiples of. */
uint32_t kn_arguments_align(const kiln_arguments *args);

/* cache.c - the cache directory: KEY.co and, beside it, KEY.json, which is a
 * function of the key and the code object, so that reading checks both by
 * making it again. The .json is written last: without it there is nothing. */

/* KILNC_CACHE_DIR, else $XDG_CACHE_HOME/kilnc, else ~/.cache/kilnc; NULL
 * where there is no home. */
const char *kn_cache_dir(struct kn_ctx *c);

/* The description of a kernel, one JSON object. */
kiln_status kn_describe(struct kn_ctx *c, const struct kn_key *key,
                        const uint8_t *co, size_t size, struct kn_buf *out);

struct kn_cached {
    uint8_t *co;             /* NULL: not there, or damaged */
    size_t size;
    const char *damage;      /* a sentence, NULL: none */
};

kiln_status kn_cache_read(struct kn_ctx *c, const char *dir,
                          const struct kn_key *key, struct kn_cached *out);
kiln_status kn_cache_write(struct kn_ctx *c, const char *dir,
                           const struct kn_key *key, const uint8_t *co,
                           size_t size);

/* KEY.cert, the certificate of an entry, for those who pack: not part of it.
 * Reading gives NULL where there is none. */
kiln_status kn_cache_read_certificate(struct kn_ctx *c, const char *dir,
                                      const struct kn_key *key,
                                      const char **text);
kiln_status kn_cache_write_certificate(struct kn_ctx *c, const char *dir,
                                       const struct kn_key *key,
                                       const char *text);

/* compile.c - a cache miss: the code generator in this process or, with
 * KILN_ISOLATE, in a child of it. */

struct kn_code;              /* emit/emit.h */

struct kn_compiled {
    const uint8_t *co;
    size_t size;
    const char *name;
    double ms;
    bool own_llvm;           /* the LLVM this library was built with */
};

/* All in c's arena. */
kiln_status kn_compile(struct kn_ctx *c, struct kiln_context *x,
                       const struct kn_request *r, struct kn_compiled *out);

/* The proof once more on bytes that are there (emit/prove/check.h); loads
 * libkiln-cg. */
kiln_status kn_replay(struct kn_ctx *c, struct kiln_context *x,
                      const struct kn_code *code);

/* parts.c - the two libraries that libkiln opens on first need. Each shows
 * one function that returns a table; both sides must be of one build. */

struct kn_code;              /* emit/emit.h */

struct kn_codegen {
    const char *generator;   /* of its build */
    void (*llvm_version)(char *buf, size_t n);
    kiln_status (*generate)(struct kn_ctx *c, const kiln_problem *problem,
                            const struct kn_config *cfg,
                            const struct kn_watch *watch,
                            struct kn_generated *out);
    kiln_status (*program)(struct kn_ctx *c, const char *text,
                           struct kn_generated *out);
    kiln_status (*replay)(struct kn_ctx *c, const struct kn_code *code);
};
const struct kn_codegen *kiln_cg_interface(void);

const struct kn_simulator *kiln_sim_interface(void);

/* Beside the library this code is in, else where the loader looks. `entry`
 * is one of the two functions above; NULL with an error. */
void *kn_part_open(struct kn_ctx *c, const char *library, const char *entry);

kiln_status kn_codegen_open(struct kn_ctx *c, const struct kn_codegen **out);
kiln_status kn_simulator_open(struct kn_ctx *c,
                              const struct kn_simulator **out);

/* device.c - the public device over a back end. */

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

/* autotune.c - the fastest kernel for a problem, measured on the device. */

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
