/* launch.h - how a kernel is launched, as text: launch.def, folded for it, in
 * C's integer arithmetic over the sizes of a launch. A header and a JSON
 * file for programs that know nothing of kiln are made from it.
 *
 * Besides C's operators the expressions use, of non-negative integers,
 *   up(n, d)      n / d rounded up
 *   when(c, v)    v if c holds, else 0
 *   least(x, y), most(x, y) */
#ifndef KN_LAUNCH_H
#define KN_LAUNCH_H

#include "../../gen.h"
#include "../json.h"

enum kn_arg_type { KN_ARG_PTR, KN_ARG_I64, KN_ARG_I32, KN_ARG_F32 };

/* An argument of the kernel, in kernarg order. */
struct kn_launch_arg {
    const char *name;
    enum kn_arg_type type;
    uint32_t offset;
    uint32_t align;          /* PTR: bytes the address is a multiple of; 0: the
                                kernel does not use it */
    int64_t most;            /* I64, I32: the largest value it is proven for */
    const char *value;       /* the expression; PTR: what it points to */
};

/* A name of the shape or of an expression, and its meaning or value. */
struct kn_launch_name {
    const char *name, *text;
};

/* Holds for every launch, or the launch is refused with the sentence. */
struct kn_launch_rule {
    const char *holds, *sentence;
};

enum { KN_LAUNCH_ARGS = 40, KN_LAUNCH_NAMES = 40, KN_LAUNCH_RULES = 48 };

struct kn_launch {
    struct kn_launch_name size[KN_LAUNCH_NAMES]; /* what the caller gives */
    struct kn_launch_name let[KN_LAUNCH_NAMES];  /* in order of use */
    struct kn_launch_rule rule[KN_LAUNCH_RULES];
    struct kn_launch_arg arg[KN_LAUNCH_ARGS];
    uint32_t nsizes, nlets, nrules, nargs;
    const char *grid;        /* workgroups in x; 0: nothing to launch */
    const char *workspace;   /* bytes */
    uint32_t block, kernarg_size;
};

/* p normalised, g complete. */
void kn_launch_describe(struct kn_ctx *c, const kiln_problem *p,
                        const struct kn_config *g, struct kn_launch *out);

/* fold.c - a formula of launch.def as text in which everything that is known
 * of a kernel is computed. */

/* A number, or else the text of what is left and how tightly that binds. */
struct kn_folded {
    bool known;
    int64_t n;
    const char *text;
    int level;
};

enum { KN_FOLD_NAMES = 192 };

/* What names stand for; others for themselves. */
struct kn_fold {
    struct kn_ctx *c;
    struct {
        const char *name;
        struct kn_folded is;
    } name[KN_FOLD_NAMES];
    uint32_t n;
    const char *p;           /* what is left to read */
};

void kn_fold_know(struct kn_fold *f, const char *name, int64_t n);

struct kn_folded kn_fold(struct kn_fold *f, const char *formula);
const char *kn_fold_text(struct kn_fold *f, const char *formula);

/* The text that `name` is a name of; NULL: a number or one word is left, which
 * the name stands for. */
const char *kn_fold_let(struct kn_fold *f, const char *name,
                        const char *formula);

/* launchtext.c - a kernel's launch as a C header, and as JSON. */

/* What the code object says of the kernel. */
struct kn_launch_facts {
    const char *symbol, *target, *config, *versions;
    uint32_t lds;
};

/* A header that needs no other, in C and in C++. `path` is its file, after
 * which everything in it is named: k.h has k_plan() and K_BLOCK. */
void kn_launch_header(struct kn_buf *b, const char *path,
                      const struct kn_launch *l,
                      const struct kn_launch_facts *f);

/* The same as the object `launch` of an open object. */
void kn_launch_json(struct kn_json *j, const struct kn_launch *l,
                    const struct kn_launch_facts *f);

#endif
