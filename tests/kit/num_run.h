/* num_run.h - a launch of num.h under way: shared by num.c and num_operands.c. */
#ifndef KN_TEST_NUM_RUN_H
#define KN_TEST_NUM_RUN_H

#include "../../runtime/reference/expression.h"
#include "num.h"

#include <stdio.h>

struct operand {
    bool used;
    struct kn_data d;
    uint32_t skew;
    uint8_t *stored;         /* in panels or shuffled, or NULL: as it is */
    uint64_t size, at;       /* bytes; device address of the first element */
    uint64_t block;          /* address of the allocation */
};

struct run {
    struct num_kernel *k;
    const struct num_job *j;
    struct num_result *r;
    struct kn_ctx c;         /* of this launch */
    kiln_problem p;          /* the kernel's, with the job's sizes */
    int64_t *offs;           /* [groups + 1] */
    int64_t *read;           /* the same of what is read */
    uint64_t offs_at, tight_at, workspace;
    struct operand o[NUM_NOPERANDS];
    struct kn_plan plan;
    uint64_t written;        /* bytes the tiles must have written */
    struct kn_sim_result sim;
    struct kn_ref_amax amax;
    struct kn_ref_check second;
    uint64_t second_written;
    struct kn_ref_expression x; /* of p, as the reference reads it */
};

static inline int64_t
num_div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Notes the fault; false. */
static inline bool
num_fault(struct run *r, const char *what)
{
    snprintf(r->r->text, sizeof r->r->text, "%s%s%s", what,
             r->c.err.status ? ": " : "", r->c.err.text);
    return false;
}

/* num_beside.c: the rectangle of a second output, of which `first` is the
 * output's; of a launch that is checked, what it is and what the amax is. */
bool num_check_second(struct run *r, struct kn_ctx *c, const struct kn_rect *t,
                      const struct kn_ref_problem *q,
                      const struct kn_ref_result *first);
bool num_check_beside(struct run *r);
/* Behind a launch each workgroup once more, which finds all others of its tile: what
 * they have left in the areas is still there. */
kiln_status num_launch_met(struct run *r, const struct kn_sim_launch *l);

/* Rows of group g where it is read: of tight tables padded, every third by a
 * block more. */
int64_t num_group_read(const kiln_problem *p, const int64_t *lens, int64_t g);

/* num_operands.c: shapes of the job's operands; their memory on the simulator, with
 * what they hold; that memory given back. */
void num_shape_operands(struct run *r);
bool num_place_operands(struct run *r);
void num_free_operands(struct run *r);
/* Bytes in front of group (or batch) g of every operand. */
void num_operand_starts(const struct run *r, int64_t g,
                        uint64_t at[NUM_NOPERANDS]);

#endif
