/* page.h - the parts of the page `kilnc report` writes. Each appends a
 * section; what a subject cannot show is said in a sentence. */
#ifndef KN_PAGE_H
#define KN_PAGE_H

#include "code_facts.h"
#include "../run/predict.h"
#include "input.h"

/* The LDS accesses of the kernel that differ: which bank each lane's dwords
 * lie in, banks coloured by how many dwords of one pass share them. */
kiln_status kn_page_lds(struct kn_ctx *c, const struct kn_subject *s,
                        struct kn_buf *out);

/* One iteration of the main loop from a Chrome trace of the timing model. */
kiln_status kn_page_timeline(struct kn_ctx *c, const struct kn_buf *trace,
                             const struct kn_time_result *r,
                             struct kn_buf *out);

/* Each asynchronous instruction and what covers it, from the certificate. */
kiln_status kn_page_fences(struct kn_ctx *c, const struct kn_subject *s,
                           struct kn_buf *out);

#endif
