/* kernel.h - one of our own kernels, generated in the process from a
 * `kilnc run` command line, launched as it is or changed. */
#ifndef KN_KIT_KERNEL_H
#define KN_KIT_KERNEL_H

#include "gen/tool/run/run.h"
#include "gen/tool/run/operands.h"
#include "gen/tool/progress.h"

struct own {
    struct kn_ctx c;
    struct kn_cli *cli;
    struct kn_progress progress;
    struct kn_buf text;
    struct kn_tool tool;
    kiln_problem p;
    int64_t *offs;           /* group offsets, NULL without groups */
    struct kn_generated g;
    uint8_t *co;             /* a copy of g.co that may be changed */
    struct kn_object object; /* of co */
    struct kn_program program;
};

/* words: "gemm -m 64 ... --device sim:gfx950". Fails the test on an error. */
void own_open(struct own *o, const char *words);
void own_close(struct own *o);

/* Where the bytes of an instruction are. */
uint8_t *own_code(struct own *o, uint64_t pc);

/* Launches co on operands of its own; l is ready but for what the caller
 * wants to watch or order. */
struct own_launch {
    struct kn_operands_set ops;
    uint64_t offs_addr;
    struct kn_plan plan;
    struct kn_sim *sim;
    struct kn_sim_launch l;
};
void own_launch_open(struct own *o, struct own_launch *x);
void own_launch_close(struct own_launch *x);
/* The whole output; `bytes` holds o->p's extent of C. */
void own_output(struct own_launch *x, uint8_t *bytes);
uint64_t own_output_size(const struct own_launch *x);

#endif
