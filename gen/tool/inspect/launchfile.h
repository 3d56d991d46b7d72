/* launchfile.h - how to launch somebody else's kernel on the operands of a
 * problem, as a text file:
 *
 *   grid X [Y [Z]]        workgroups
 *   block X [Y [Z]]       work-items
 *   lds BYTES             dynamic LDS
 *   kernarg BYTES         size of the segment, zero where nothing is said
 *   ptr OFFSET OPERAND    a b c sa sb bias; offs of the groups; of moe ids
 *                         experts padded weights, and a-sorted: the rows of A
 *                         in the order of the ids, zeros where an id is none
 *   i32|i64 OFFSET N      N: a number, or of the problem m n k lda ldb ldc
 *                         ldsa ldsb batch groups tokens topk
 *   f32 OFFSET X
 *
 * '#' starts a comment. */
#ifndef KN_LAUNCHFILE_H
#define KN_LAUNCHFILE_H

#include "../run/operands.h"

struct kn_launch_data {      /* device addresses, 0: the problem has none */
    const kiln_problem *p;
    struct kn_operands o;
    uint64_t a_sorted;
    uint64_t out_size;       /* bytes of o.c */
};

struct kn_launch_text {
    uint32_t grid[3], block[3], lds;
    uint32_t size;           /* of the kernarg segment */
    uint8_t kernarg[4096];
};

/* BAD_INPUT names the line. */
kiln_status kn_launch_read(struct kn_ctx *c, const char *path,
                           const struct kn_launch_data *d,
                           struct kn_launch_text *out);

#endif
