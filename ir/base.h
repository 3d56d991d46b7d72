/* base.h - what every folder stands on: per-call arena, error record, text
 * buffer, name tables. No mutable global state, no output, no exit. */
#ifndef KN_BASE_H
#define KN_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../runtime/kiln.h"

/* Host allocator: realloc semantics, size 0 frees. NULL means failure. */
typedef void *(*kn_realloc_fn)(void *user, void *p, size_t old, size_t size);

/* One call's context: arena, first error, out-of-memory exit. Not shared
 * between threads. Set up with kn_ctx_init, dropped whole with kn_ctx_free. */
struct kn_tuning;

struct kn_ctx {
    kn_realloc_fn realloc;
    void *user;
    struct kn_chunk *chunk;  /* newest arena chunk */
    kiln_error err;          /* first error wins */
    bool crowded;            /* another choice may do: registers lack */
    jmp_buf *oom;            /* where kn_alloc leaves on exhaustion */
    const struct kn_tuning *tuning; /* the user's, gen/tuning/tuning.h; NULL */
    const struct kn_refused *refused; /* of the problem at hand, gen/gen.h; NULL */
};

void kn_ctx_init(struct kn_ctx *c, kn_realloc_fn fn, void *user);
void kn_ctx_free(struct kn_ctx *c);

/* Zeroed, 16-byte aligned, never NULL: on exhaustion records NO_MEMORY and
 * longjmps to c->oom. Never call with LLVM or other foreign objects alive
 * that the jump would leak; allocate first. */
void *kn_alloc(struct kn_ctx *c, size_t n, size_t size);
char *kn_strdup(struct kn_ctx *c, const char *s);
char *kn_strndup(struct kn_ctx *c, const char *s, size_t n);
#define KN_NEW(c, T, n) ((T *)kn_alloc((c), (n), sizeof(T)))

/* Grow an arena array to hold `need` items; *cap is updated. The old array
 * stays in the arena until the call ends. */
void *kn_grow(struct kn_ctx *c, void *old, size_t *cap, size_t need, size_t size);

/* Where kn_alloc left to before a call, put back when the call's frame ends:
 * a jump into a frame that is gone would be the end of the process. */
struct kn_exit {
    struct kn_ctx *c;
    jmp_buf *outer;
};

static inline void
kn_leave(struct kn_exit *e)
{
    e->c->oom = e->outer;
}

/* Opens a call, possibly within another of the same context: KN_ENTER(c);
 * allocation failure returns NO_MEMORY. *c must outlive the call. */
#define KN_ENTER(c)                                                           \
    jmp_buf kn_jb_;                                                           \
    __attribute__((cleanup(kn_leave))) struct kn_exit kn_exit_ = {            \
        (c), (c)->oom                                                         \
    };                                                                        \
    (void)kn_exit_;                                                           \
    (c)->oom = &kn_jb_;                                                       \
    if (setjmp(kn_jb_))                                                       \
    return KILN_NO_MEMORY

/* What a GPU has; all 0 of KILN_TARGET_NONE. */
struct kn_target_info {
#define TARGET(property, gfx942, gfx950) uint32_t property;
#include "targets.def"
#undef TARGET
};
extern const struct kn_target_info kn_targets[KILN_NTARGETS];

/* What is meant where nobody names a target. */
#define KN_TARGET_DEFAULT KILN_GFX950

static inline bool
kn_is_target(kiln_target t)
{
    return t > KILN_TARGET_NONE && t < KILN_NTARGETS;
}

/* The target whose property (offsetof in kn_target_info) has a value. */
kiln_target kn_target_where(uint32_t property, uint32_t value);

/* A place in the user's text. file is an interned string, may be NULL; via: the
 * calls of definitions that led there (gen/template/template.h), NULL outside of them. */
struct kn_loc {
    const char *file;
    int line, col;
    const struct kn_via *via;
};

/* The call of a definition. */
struct kn_via {
    struct kn_loc at;
    const char *name;
};

#define KN_TRY(e)                                                             \
    do {                                                                      \
        kiln_status kn_s_ = (e);                                              \
        if (kn_s_)                                                            \
            return kn_s_;                                                     \
    } while (0)

/* Records the first error of the context and returns its status. The text is
 * one sentence about the user's input. */
kiln_status kn_fail(struct kn_ctx *c, kiln_status s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
kiln_status kn_fail_at(struct kn_ctx *c, kiln_status s, struct kn_loc at,
                       const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* A refusal just recorded is for want of registers, or of what else another
 * choice may have: that may do. */
static inline kiln_status
kn_crowded(struct kn_ctx *c, kiln_status s)
{
    c->crowded = true;
    return s;
}

/* Growable text in the arena, always NUL-terminated. */
struct kn_buf {
    struct kn_ctx *c;
    char *s;
    size_t n, cap;
};
void kn_put(struct kn_buf *b, const char *s);
void kn_put_bytes(struct kn_buf *b, const void *p, size_t n);
/* The text and behind it the number, as "%s%u" has them. */
void kn_put_number(struct kn_buf *b, const char *s, uint64_t number);
void kn_putf(struct kn_buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Index of `s` in a table of n names, -1 if absent. */
int kn_name_index(const char *const *names, int n, const char *s);

/* A clock that only moves forward, in seconds from some moment. */
double kn_seconds(void);

/* A number's 64 bits scattered: splitmix64 (Steele, Lea, Flood 2014). */
uint64_t kn_mix(uint64_t x);

/* FNV-1a of n bytes. */
uint64_t kn_hash(const void *p, size_t n);

/* The vocabulary of kiln.h as users write it, and bits of one element. */
extern const char *const kn_family_names[KILN_NFAMILIES];
extern const char *const kn_layout_names[KILN_NLAYOUTS];
extern const char *const kn_scale_names[KILN_NSCALES];
extern const char *const kn_scale_type_names[KILN_NSCALETYPES];
extern const char *const kn_zero_point_names[KILN_NZEROPOINTS];
extern const char *const kn_math_names[KILN_NMATHS];
extern const char *const kn_b_layout_names[KILN_NBLAYOUTS];
extern const char *const kn_scale_layout_names[KILN_NSCALELAYOUTS];
extern const char *const kn_out_scale_names[KILN_NOUTSCALES];
extern const char *const kn_epilogue_names[KILN_NEPILOGUES];
extern const char *const kn_stage_names[KILN_NMOESTAGES];
extern const char *const kn_type_names[KILN_NTYPES];
extern const uint8_t kn_type_bits[KILN_NTYPES];
extern const uint8_t kn_type_mx[KILN_NTYPES]; /* scales along K are its part: 1
                              * E8M0 per 32, 2 of groups */

/* a piece of memory somebody else owns. */

struct kn_bytes {
    const uint8_t *p;
    size_t n;
};

#endif
