/* fold.h - a formula of launch.def as text in which everything that is known
 * of a kernel is computed. */
#ifndef KN_FOLD_H
#define KN_FOLD_H

#include "../../../ir/base.h"

/* A number, or else the text of what is left and how tightly that binds. */
struct kn_folded {
    bool known;
    int64_t n;
    const char *text;
    int level;
};

enum { KN_FOLD_NAMES = 128 };

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

#endif
