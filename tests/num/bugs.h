/* bugs.h - kernels that serve every size, for tests that are named after a bug.
 *
 * usage of their programs: TARGET [full]   full: every size of a loop */
#ifndef KN_TEST_BUGS_H
#define KN_TEST_BUGS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kit/right.h"

struct fixture {
    kiln_target target;
    bool full;
    struct num_counts counts;
};

static inline kiln_problem
problem(void **state, kiln_family family, kiln_type type, kiln_layout layout)
{
    const struct fixture *f = *state;

    return (kiln_problem){ .target = f->target, .family = family, .a = type,
                           .b = type, .layout = layout };
}

/* A kernel of the weakest class, so that every size below runs on it. */
static inline void
open_kernel(void **state, struct num_kernel *k, const kiln_problem *p,
            const struct kn_config *given)
{
    struct fixture *f = *state;
    struct kn_config g = given ? *given
                               : (struct kn_config){ .bm = 64, .bn = 64 };

    if (!g.domain.align_a) {
        kiln_problem q = *p;

        q.scale = num_is_mx(p->a) ? KILN_SCALE_MX32 : p->scale;
        q.out = p->out ? p->out : KILN_BF16;
        g.domain = num_weakest(&q);
    }
    if (!num_open(k, &f->counts, p, &g))
        fail_msg("no kernel: %s", k->c.err.text);
}

static inline void
set_lens(struct num_job *j, const int64_t *lens, int64_t n)
{
    j->lens = lens;
    j->p.groups = n;
}

static inline struct num_job
sized(int64_t m, int64_t n, int64_t k)
{
    struct num_job j = { .mode = KN_DATA_EXACT };

    j.p.m = m, j.p.n = n, j.p.k = k;
    return j;
}

#define COUNT(a) ((int64_t)(sizeof(a) / sizeof *(a)))

#endif
