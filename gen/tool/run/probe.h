/* probe.h - questions to a GPU before the first kernel: a few instructions
 * each, and what the simulator assumes of them (probes.s, matrix probes). */
#ifndef KN_PROBE_H
#define KN_PROBE_H

#include "../../../ir/base.h"

struct kn_mfma_job;

enum { KN_PROBE_WANTS = 8, KN_PROBE_IN = 4096 };

/* Word first + i of the output is base + i * step. */
struct kn_probe_want {
    uint32_t first, count, base, step;
};

struct kn_probe {
    kiln_target target;
    const char *name, *says;
    const char *body;        /* instructions; NULL: a matrix instruction */
    uint32_t lds, groups, out; /* bytes, workgroups, words */
    uint32_t fill;           /* what each byte of the output is before */
    uint32_t shows;          /* words that are told; 0: all are compared */
    const char *what;        /* they are */
    uint32_t nwant;
    struct kn_probe_want want[KN_PROBE_WANTS];
    uint32_t *word;          /* of the output one by one, where told[] is; or NULL */
    bool *told;
    uint32_t nin;            /* words of the input, repeated; 0: their number */
    uint32_t *in;
    const struct kn_mfma_job *matrix; /* its row and formats, or NULL */
};

struct kn_probes {
    struct kn_probe *p;
    size_t n;
};

size_t kn_probes_most(void);
/* All of a target, probes.s first. */
kiln_status kn_probes_of(struct kn_ctx *c, kiln_target t,
                         struct kn_probes *out);
/* The instructions of a probe as a code object, whose kernel is *kernel:
 * arguments are the addresses of input and output and the bytes of each. */
kiln_status kn_probe_build(struct kn_ctx *c, const struct kn_probe *p,
                           const char **kernel, struct kn_bytes *co);
/* Words of its input. */
void kn_probe_input(const struct kn_probe *p, uint32_t word[KN_PROBE_IN]);

/* What a run of it gave, in words; false with the first that is not as `want`
 * says. */
bool kn_probe_is_wanted(const struct kn_probe *p, const uint32_t *word,
                        uint32_t *first);

/* probe_matrix.c - one matrix instruction on registers of the input. */

/* Appended, at most so many. */
size_t kn_probe_matrices_most(void);
void kn_probe_matrices(struct kn_ctx *c, kiln_target t, struct kn_probes *out);
void kn_probe_matrix_text(const struct kn_probe *p, struct kn_buf *b);
/* exact: small integers, whose sums every model has right; else operands of
 * many exponents, whose sums tell the models apart. */
void kn_probe_matrix_input(struct kn_ctx *c, struct kn_probe *p, bool exact);

#endif
