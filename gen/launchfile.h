/* launchfile.h - how to launch somebody else's kernel on the operands of a
 * problem, as a text file:
 *
 *   grid X [Y [Z]]        workgroups
 *   block X [Y [Z]]       work-items
 *   lds BYTES             dynamic LDS
 *   kernarg BYTES         size of the segment, zero where nothing is said
 *   ptr OFFSET OPERAND    a b c sa sb bias
 *   i32|i64 OFFSET N      N: a number, or m n k lda ldb ldc of the problem
 *   f32 OFFSET X
 *
 * '#' starts a comment. */
#ifndef KN_LAUNCHFILE_H
#define KN_LAUNCHFILE_H

#include "operands.h"

struct kn_launch_text {
    uint32_t grid[3], block[3], lds;
    uint32_t size;           /* of the kernarg segment */
    uint8_t kernarg[4096];
};

/* Reads the file with the operands' addresses as they are in *s. BAD_INPUT
 * names the line. */
kiln_status kn_launch_read(struct kn_ctx *c, const char *path,
                           const kiln_problem *p,
                           const struct kn_operands_set *s,
                           struct kn_launch_text *out);

#endif
