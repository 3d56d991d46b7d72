/* sweep.h - the variants of a sweep: what is compiled, and on which shapes
 * each code object runs. */
#ifndef KN_KIT_SWEEP_H
#define KN_KIT_SWEEP_H

#include "num.h"

/* X(id, text, tile, align): classes of the shape domain.
 *   WEAK     element alignment of every base and pitch, every N, every K
 *   DWORD    4-byte alignment: 16-byte loads through registers
 *   STRONG   16-byte alignment: direct to LDS where the target has it
 *   WHOLE    STRONG, and K is a multiple of the tile's: no tail code */
#define NUM_CLASSES(X) \
    X(WEAK, "weak", 64, 0) \
    X(DWORD, "dword", 128, 4) \
    X(STRONG, "strong", 256, 16) \
    X(WHOLE, "whole", 64, 16)

enum num_class {
#define X(id, text, tile, align) NUM_##id,
    NUM_CLASSES(X)
#undef X
    NUM_NCLASSES
};

struct num_variant {
    kiln_problem p;          /* kernel part */
    enum num_class domain;
    uint32_t number;         /* rotates shapes, data and base addresses */
    struct num_counts *counts;
    bool full;               /* every shape of the product */
    uint32_t cus;            /* persistent with so many workgroups */
    char name[160];
};

struct num_variants {
    struct num_variant *v;
    size_t n, cap;
    kiln_target target;
    bool full;
    unsigned every;          /* variants to one that runs, num_every() */
    struct num_counts *counts;
};

/* Appends p in a class; output type and epilogue rotate unless p has one. */
void num_add(struct num_variants *s, kiln_problem p, enum num_class domain);

/* Every pair of types, layout and scale that the family has on the target;
 * `each` is called with the kernel part. */
void num_each_kind(kiln_target target, kiln_family family,
                   void (*each)(void *user, const kiln_problem *p),
                   void *user);

/* The configuration a variant is compiled with. */
struct kn_config num_config(const struct num_variant *v);

/* Leading dimensions and base addresses of the class; `salt` varies them. */
void num_align(const struct num_variant *v, uint32_t salt, struct num_job *j);

/* K that the class can have: scales of MX types are aligned too. */
int64_t num_class_k(const struct num_variant *v, int64_t k);
int64_t num_class_n(const struct num_variant *v, int64_t n);

/* How many tests there are to one that runs: 1, or of a program whose second
 * argument is `some` 5, which no number of classes or forms divides. */
unsigned num_every(int argc, char **argv);

/* Keeps each `every`-th of n tests, others of each target; returns how many. */
struct CMUnitTest;
size_t num_thin(struct CMUnitTest *tests, size_t n, kiln_target target, unsigned every);

/* Runs the tests of `s`, each `every`-th, and one that counts the compilations. */
int num_run_variants(struct num_variants *s, const char *name,
                     void (*run)(void **state));

/* Runs a job and, if it fails, adds it to *text (of 900 bytes). */
void num_try(struct num_kernel *k, const struct num_job *j, char *text);

#endif
