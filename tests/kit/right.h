/* right.h - a launch that has to be right, and a row of a test's table as a problem. */
#ifndef KN_TESTS_RIGHT_H
#define KN_TESTS_RIGHT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "num.h"

/* Fails the test with the job as a command line unless it is, without a finding. */
static inline struct num_result
num_right(struct num_kernel *k, const struct num_job *j)
{
    struct num_result r;
    char text[600];

    if (num_launch(k, j, &r) && !r.nfindings)
        return r;
    num_describe(k, j, text, sizeof text);
    fail_msg("%s\n%s", text, r.text);
    return r;
}

/* p on a target, size: M, N, K. */
static inline kiln_problem
num_sized(const kiln_problem *p, kiln_target target, const int64_t size[3])
{
    kiln_problem q = *p;

    q.size = sizeof q;
    q.target = target;
    q.b = q.b ? q.b : q.a;
    q.m = size[0];
    q.n = size[1];
    q.k = size[2];
    return q;
}

#endif
