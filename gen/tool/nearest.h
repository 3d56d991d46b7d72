/* nearest.h - what may have been meant by a word that is none: the nearest of
 * those there are, and the field's other names (aliases.def). */
#ifndef KN_NEAREST_H
#define KN_NEAREST_H

#include "cli.h"

/* The best of the candidates so far; `best` is empty if none is near. */
struct kn_nearest {
    const char *word;
    unsigned cost;
    size_t n;
    const char *best;
};

/* Begins with the names the word has elsewhere. */
void kn_nearest_open(struct kn_nearest *x, const char *word);
void kn_nearest_try(struct kn_nearest *x, const char *candidate, size_t n);

/* "; did you mean 'gemm'?", "" if nothing is near. */
const char *kn_nearest_text(struct kn_ctx *c, const struct kn_nearest *x);

/* The same of one list. */
const char *kn_did_you_mean(struct kn_ctx *c, const char *word,
                            const char *const *names, size_t n);

/* kiln's word for a value, or the word itself; *target is where alone it means
 * that, or NONE. */
const char *kn_alias(const char *word, kiln_target *target);

/* Whether two words are the same but for case, and - for _. */
bool kn_same_word(const char *a, const char *b, size_t n);

/* The value of the flag, or of a later one of its name, that `text` is nearest
 * to, NULL if none is near. */
const char *kn_nearest_value(struct kn_ctx *c, enum kn_command cmd, int id,
                             const char *text);

#endif
