/* random.h - what the two files of requests drawn at random share. */
#ifndef KN_NUM_RANDOM_H
#define KN_NUM_RANDOM_H

#include "../kit/sweep.h"
#include "../../gen/instantiate.h"

enum { MAX_GROUPS = 20, MAX_KINDS = 2000, TRIES = 8 };

struct suite {
    kiln_target target;
    struct num_counts counts;
    kiln_problem kind[MAX_KINDS];
    size_t nkinds, nseeds, nran;
};

struct draw {
    struct suite *s;
    uint64_t seed, at;
    char name[40];
    int64_t lens[MAX_GROUPS];
    const struct form *form; /* NULL: any */
    bool plain;              /* nothing but a bias */
    uint32_t unit;           /* of pitches, elements; 0: any */
};

/* A number from 0 to n - 1. */
static inline uint32_t
below(struct draw *d, uint32_t n)
{
    return (uint32_t)(kn_mix(d->seed << 16 | d->at++) >> 32) % n;
}

static inline bool
one_in(struct draw *d, uint32_t n)
{
    return !below(d, n);
}

/* A kind of request that is drawn on purpose. */
struct form {
    bool (*takes)(const kiln_problem *kind);
    void (*becomes)(struct draw *d, kiln_problem *p); /* types, before all else */
    void (*sizes)(struct draw *d, kiln_problem *p);
    void (*config)(struct draw *d, const kiln_problem *p, struct kn_config *g);
};

/* NULL: none. */
const struct form *draw_form(struct draw *d);

#endif
