/* hipblaslt.h - command lines of hipblaslt-bench, for `kilnc bench`. */
#ifndef KN_HIPBLASLT_H
#define KN_HIPBLASLT_H

#include "../../../ir/base.h"

/* A command line: argv[0] the program, argv[1] the command; argv[argc] NULL. */
struct kn_words {
    int argc;
    char **argv;
};

/* Rewrites `kilnc bench` with flags of hipblaslt-bench into kiln's own words;
 * leaves it alone unless one of them is given that kiln does not have
 * (--transA, --a_type, --sizem, -r ...), for only then -m and -n mean
 * hipBLASLt's. Its D[m,n] = op(A) * op(B) is column-major, which is kiln's
 * C[n,m] with A and B exchanged. BAD_INPUT: a value it does not take;
 * UNSUPPORTED: a problem kiln does not have. */
kiln_status kn_hipblaslt_words(struct kn_ctx *c, struct kn_words *w);

#endif
