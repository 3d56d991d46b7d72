/* cfg.h - control flow of a decoded kernel: basic blocks, dominators, natural
 * loops; and what a set of instructions consists of. Consumers: gates, check,
 * diff, info, timing. */
#ifndef KN_CFG_H
#define KN_CFG_H

#include "isa.h"

struct kn_block {
    uint32_t first, end;     /* instructions [first, end) */
    int32_t succ[2];         /* fallthrough, branch target; -1: none */
    int32_t idom;            /* immediate dominator; -1: entry or unreached */
    int32_t loop;            /* innermost loop; -1: in none */
    bool reached;            /* from the program's entry */
};

/* A natural loop: all back edges to one header. */
struct kn_loop {
    uint32_t header;         /* block */
    int32_t parent;          /* enclosing loop; -1: none */
    uint32_t depth;          /* 1: outermost */
    uint32_t nback;          /* back edges */
    uint32_t in, size;       /* interval of the loop tree: its inner loops' */
    uint32_t nblocks;
    uint32_t *blocks;        /* ascending, those of inner loops included */
};

struct kn_cfg {
    const struct kn_program *p;
    uint32_t nblocks;
    struct kn_block *blocks; /* in address order */
    uint32_t *block_of;      /* per instruction */
    uint32_t norder;
    uint32_t *order;         /* the reached blocks in reverse postorder */
    uint32_t nloops;
    struct kn_loop *loops;   /* outer before inner, then by address */
    bool irreducible;        /* a cycle that is no natural loop */
    bool indirect;           /* a reached jump whose target is not known */
};

kiln_status kn_cfg_build(struct kn_ctx *c, const struct kn_program *p,
                         struct kn_cfg *out);

/* Is instruction i inside this loop (inner loops included)? */
bool kn_loop_contains(const struct kn_cfg *g, uint32_t loop, uint32_t i);

/* The loop whose own blocks (inner loops excluded) have the most matrix
 * instructions, the first of equals; -1 when no loop has any. */
int32_t kn_cfg_main_loop(const struct kn_cfg *g);

/* Equal instructions of a set: same row, same place of the result. */
struct kn_census_op {
    uint16_t op;
    bool lds;                /* a vector memory load to LDS */
    uint32_t n;
};

struct kn_census_wait {
    uint8_t vm, lgkm, exp;   /* 63/15/7: not waited for */
    uint32_t n;
};

struct kn_census {
    uint32_t n, bytes;       /* instructions, code bytes */
    uint32_t unit[KN_NUNITS];
    uint32_t barriers, accvgpr;  /* accvgpr: v_accvgpr_{read,write,mov} */
    uint32_t snops;              /* s_nop */
    uint32_t nops;
    struct kn_census_op *ops;    /* by row of isa.def */
    uint32_t nwaits;
    struct kn_census_wait *waits;  /* by vm, lgkm, exp */
    uint64_t mfma_cycles;    /* of the SIMD, each instruction once */
};

enum { KN_CENSUS_REACHED = -1, KN_CENSUS_ALL = -2 };

/* Every reached instruction, all there are, or those of a loop with its
 * inner loops. */
kiln_status kn_census_take(struct kn_ctx *c, const struct kn_cfg *g,
                           int32_t loop, struct kn_census *out);

#endif
