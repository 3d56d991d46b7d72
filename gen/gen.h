/* gen.h - problem -> configuration -> tile IR -> code object.
 *
 *   kn_problem_normalise   defaults filled in, impossible ones refused
 *   kn_domain_of           alignment and tail classes of a launch
 *   kn_choose              configuration where the user left it open
 *   kn_instantiate         the text of its templates and facts, as tile IR
 *   kn_generate            all of it, passes, LLVM, gates: the pipeline
 *   kn_plan_*              what a launch needs: grid, kernarg bytes */
#ifndef KN_GEN_H
#define KN_GEN_H

#include "../emit/emit.h"
#include "../emit/isa/object.h"
#include "config.h"
#include "launch/plan.h"
#include "problem.h"

/* Decides what cfg leaves open. UNSUPPORTED/BAD_INPUT with the reason when a
 * given part is impossible. `why`, if set, receives the reasons. */
kiln_status kn_choose(struct kn_ctx *c, const kiln_problem *p,
                      struct kn_config *cfg, struct kn_buf *why);

/* A configuration that did not get along with the registers there are, although
 * the rules thought so; choices in a context that lists it take others. */
struct kn_refused {
    struct kn_config config;
    const char *text;        /* of the refusal */
    const struct kn_refused *before;
};

/* After a refusal of g, chosen from `given`, for want of registers (c->crowded):
 * the next best choice, and no error; g is listed. False: it is another error,
 * or there is no other choice; the error stays, or says UNSUPPORTED why. */
bool kn_choose_next(struct kn_ctx *c, const kiln_problem *p,
                    const struct kn_config *given, struct kn_config *g);

kiln_status kn_instantiate(struct kn_ctx *c, const kiln_problem *p,
                           const struct kn_config *cfg, struct kn_fn **out);

/* identity.c - the kernel part as a line, without trailing newline. */
const char *kn_problem_text(struct kn_ctx *c, const kiln_problem *p);
/* Symbol: what the kernel computes, its tile, and a digest of the kernel part and
 * the whole configuration, such as
 * kiln_gemm_nt_mxfp8_mxfp8_bf16_256x256x128_0123456789; for aiter mangled, as a
 * name in its namespace. */
const char *kn_kernel_name(struct kn_ctx *c, const kiln_problem *p,
                           const struct kn_config *g);
/* What a code object says of itself (kn_object_stamp). */
struct kn_stamp {
    const char *by, *problem, *config;
};
const char *kn_stamp_write(struct kn_ctx *c, const kiln_problem *p,
                           const struct kn_config *g);
bool kn_stamp_read(struct kn_ctx *c, const char *text, struct kn_stamp *out);

/* debug.c - debug information of a generated kernel. */

struct kn_generated;

/* The text of a file that places name. */
typedef kiln_status kn_source_fn(struct kn_ctx *c, const char *file,
                                 struct kn_debug_file *out);

/* A template of this project; a text it made itself has none. */
kn_source_fn kn_own_source;

/* The lines of g, whose lines, tile and wave are there. */
kiln_status kn_debug_of(struct kn_ctx *c, const struct kn_generated *g,
                        kn_source_fn *find, const struct kn_debug **out);

/* What a caller wants besides the code object: texts (KN_WANT_*), and to see
 * the program after each pass as complete text. */
struct kn_watch {
    unsigned want;
    void (*stage)(void *user, char letter, const char *text);
    void *user;
    /* instead of kn_object_link, its contract; NULL: that */
    kiln_status (*link)(struct kn_ctx *c, const void *rel, size_t n,
                        uint8_t **out, size_t *size);
    enum kn_lowering lowering;       /* of a program that is there */
    kn_source_fn *source;    /* debug information, with these texts; NULL: none */
};

struct kn_generated {
    struct kn_config cfg;
    const char *name;        /* kernel symbol */
    const char *stamp;       /* for the code object, NULL: none */
    struct kn_fn *tile, *wave;
    struct kn_line_map lines;        /* code offset -> operation of wave */
    const struct kn_debug *debug;    /* what co has of it, NULL: nothing */
    const char *llvm, *assembly;     /* only if asked for */
    const uint8_t *co;
    size_t size;
    const char *certificate; /* emit/prove/cert.h */
    const char *const *waived;       /* gates this variant does not pass */
    uint32_t nwaived;
    const struct kn_refused *refused; /* choices before cfg, the last one first */
    uint32_t early;          /* reads of matrix results that LLVM let through */
    double ms;               /* wall time of the whole call */
    double emit_ms, prove_ms; /* of it: LLVM; linking, gates and checks */
    uint64_t compilations;   /* 1, or 0 when served from a cache */
};

enum kn_want { KN_WANT_CO = 0, KN_WANT_LLVM = 1, KN_WANT_ASM = 2, KN_WANT_TIR = 4 };

/* p normalised or not; cfg may be partly decided; watch may be NULL. want
 * KN_WANT_TIR alone stops after the passes. */
kiln_status kn_generate(struct kn_ctx *c, const kiln_problem *p,
                        const struct kn_config *cfg,
                        const struct kn_watch *watch,
                        struct kn_generated *out);

/* The same for a program that is there: of either level, not verified yet. */
kiln_status kn_generate_program(struct kn_ctx *c, struct kn_fn *f,
                                const struct kn_watch *watch,
                                struct kn_generated *out);

/* The same for the text of one. */
kiln_status kn_generate_text(struct kn_ctx *c, const char *text,
                             struct kn_generated *out);

#endif
