/* context.h - what the public functions share: the context with its host
 * allocator, kernel store and bundles; kernels; the frame of a call.
 *
 * Locks: `lock` guards the store, the pending list and the bundles. Nothing
 * that may leave by longjmp (kn_alloc) runs while it is held. */
#ifndef KN_CONTEXT_H
#define KN_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>

#include "../../gen/gen.h"
#include "../../gen/tuning/tuning.h"

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
/* The text of the kernel part. */
const char *kn_problem_text(struct kn_ctx *c, const kiln_problem *p);
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

/* ---- launchplan.c ---- */

kiln_status kn_launch_plan(struct kn_ctx *c, const kiln_kernel *k,
                           const kiln_problem *p, kiln_plan *plan);
/* Writes the addresses into a copy of the plan's kernarg. */
kiln_status kn_fill_kernarg(struct kn_ctx *c, const kiln_plan *plan,
                            const kiln_arguments *args,
                            uint8_t kernarg[sizeof plan->kernarg]);
/* The largest power of two, at most 256, all addresses are multiples of. */
uint32_t kn_arguments_align(const kiln_arguments *args);

#endif
