/* mutate.h - mutants of seeds, a function of one number. */
#ifndef KN_MUTATE_H
#define KN_MUTATE_H

#include <stddef.h>
#include <stdint.h>

enum { MUTANT_MOST = 1 << 18 };

struct seed {
    const uint8_t *p;
    size_t n;
};

struct corpus {
    struct seed *seed;
    size_t n;
};

/* The bytes stay the caller's. */
void corpus_add(struct corpus *k, const uint8_t *p, size_t n);

/* A mutant of one of the seeds into out[MUTANT_MOST]; its size. */
size_t mutate(const struct corpus *k, uint64_t number, uint8_t *out);

#endif
