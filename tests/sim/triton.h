/* triton.h - launches the code objects of tests/data/triton on operands whose
 * result is exact: small integers (MX: element times power of two), so that
 * every order of summation gives the same f32. */
#ifndef KN_TRITON_H
#define KN_TRITON_H

#include "../../runtime/sim/sim.h"

enum family { GEMM, GROUPED_NT, GROUPED_NN, WGRAD, MX };

struct object {
    const char *name;
    enum family family;
    kiln_target target;
    kiln_type type;
    unsigned bm, bn, bk, waves, lds;
};
extern const struct object triton_objects[];
enum { TRITON_OBJECTS = 18 };

struct matrix {              /* an operand, row-major, K innermost or not */
    uint8_t *bytes;
    float *value;            /* what each element stands for */
    size_t n, size;
    uint64_t addr;
};

struct job {
    struct kn_ctx ctx;
    struct kn_sim *sim;
    struct kn_sim_launch launch;
    const struct object *o;
    struct matrix a, b, sa, sb, c, offs;
    int64_t m, n, k, groups; /* wgrad: m, n are the output's, k the tokens */
    int64_t off[5];
    uint8_t kernarg[96];
    size_t used;
};

/* The bytes of an object file; `folder` is where they are. */
size_t triton_read(const char *folder, const struct object *o, uint8_t *bytes,
                   size_t room);
/* A job on those bytes (perhaps changed), ready to run. */
void triton_open(struct job *j, const struct object *o, const void *bytes,
                 size_t size);
void triton_close(struct job *j);
/* Elements that differ from the f64 reference rounded once to bf16. */
size_t triton_wrong(struct job *j);

#endif
