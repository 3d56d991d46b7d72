/* num.h - a generated kernel, launched on the simulator, its whole output
 * held against the reference.
 *
 * Places the operands in memory by the rules of kiln.h, apart from the
 * generator's own arithmetic (gen/problem.c, gen/tool/run/operands.c), so that a wrong
 * stride in one of them is a wrong result here. */
#ifndef KN_KIT_NUM_H
#define KN_KIT_NUM_H

#include "../../gen/gen.h"
#include "../../runtime/reference/reference.h"
#include "../../runtime/sim/sim.h"

enum num_operand_id {
    NUM_A, NUM_B, NUM_C, NUM_SA, NUM_SB, NUM_BIAS, NUM_SC,
    NUM_AMAX, NUM_OUT2,
    NUM_ARRAY,               /* those that the expression declares */
    NUM_NOPERANDS = NUM_ARRAY + KN_REF_ARRAYS
};

/* One code object and the device it is loaded on; serves many launches. */
struct num_kernel {
    struct kn_ctx c;
    kiln_problem p;          /* the one it was generated for */
    struct kn_generated g;
    struct kn_sim *sim;
    struct kn_sim_code *code;
    struct num_counts *counts;
};

/* What a test program did in all. */
struct num_counts {
    uint64_t kernels, compilations, launches, sums, elements, macs;
};

/* One launch: sizes, leading dimensions, strides, alpha and scalars are p's; the
 * rest of p comes from the kernel. */
struct num_job {
    kiln_problem p;
    const int64_t *lens;     /* rows of each of p.groups groups; where tables are
                                tight each is read from a multiple of 32 on, or
                                of a scale block */
    bool host;               /* the launch knows the groups */
    int64_t spare;           /* rows past the last group */
    int64_t lie;             /* rows the device believes the last group has
                                too many */
    uint32_t skew[NUM_NOPERANDS]; /* bytes each base is off its alignment */
    bool plain_a;            /* the reference does not quantise A */
    bool plain_b;            /* B and its scales: KN_DATA_RANDOM */
    bool by_bits;            /* `meddle` judges the output: no reference, and any
                                bytes may be written */
    enum kn_data_mode mode;
    uint64_t seed;
    enum kn_sim_order order;
    enum kn_sim_waves waves;
    uint64_t order_seed;
    uint32_t dirt;           /* the first counter of a split-K before it */
    bool met;                /* then each of so many workgroups (nids) once more, as if
                                all others of its tile had come: they write the output */
    const uint64_t *ids;     /* workgroups to run; NULL: all */
    size_t nids;
    /* called between the launch and the check */
    void (*meddle)(struct kn_sim *sim, uint64_t c, void *user);
    void (*meddle_scales)(struct kn_sim *sim, uint64_t sc, void *user);
    void (*meddle_amax)(struct kn_sim *sim, uint64_t amax, void *user);
    void (*meddle_second)(struct kn_sim *sim, uint64_t out2, void *user);
    void *user;
};

struct num_result {
    bool ok;
    kiln_status status;      /* of the launch */
    char text[400];          /* what is wrong, one line */
    uint32_t grid;
    uint64_t elements, nfindings, digest; /* digest: of the written bytes */
    struct kn_ref_check check;
};

/* Generates for p and loads; false: *why is the sentence of the refusal. */
bool num_open(struct num_kernel *k, struct num_counts *counts,
              const kiln_problem *p, const struct kn_config *cfg);
void num_close(struct num_kernel *k);

/* Launches and checks every element, every byte written and not written. */
bool num_launch(struct num_kernel *k, const struct num_job *j,
                struct num_result *r);

/* Rows that the groups have where they are read. */
int64_t num_rows_read(const kiln_problem *p, const int64_t *lens);

/* The job as arguments of `kilnc run`, as far as it can be said that way. */
void num_describe(const struct num_kernel *k, const struct num_job *j,
                  char *text, size_t size);

/* Bytes of one element, at least 1: what a base address must be aligned to. */
uint32_t num_element_bytes(kiln_type t);
bool num_is_mx(kiln_type t);

/* The weakest domain a kernel of p can be compiled for. */
struct kn_domain num_weakest(const kiln_problem *p);

/* Into g, which is zero, the configuration that `text` says, of the domain of p, which
 * is completed. */
bool num_configured(struct kn_config *g, kiln_problem *p, const char *text);

#endif
