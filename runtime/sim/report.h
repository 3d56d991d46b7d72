/* report.h - storage of findings and the first error of a launch. */
#ifndef KN_REPORT_H
#define KN_REPORT_H

#include "machine.h"

struct kn_finding_entry {
    struct kn_finding finding;
    uint32_t inst;           /* index; UINT32_MAX: none */
    uint32_t order;          /* ordinal of discovery in this worker */
    uint64_t group_index;    /* position of the workgroup in the selection */
};

struct kn_findings {
    struct kn_finding_entry *item;
    size_t n, cap;
    uint32_t next_order;
    uint64_t group_index;    /* of the workgroup that is running */
    bool lost;               /* the host ran out of memory */
};

/* Stops the launch; of several the first selected workgroup's error wins. */
void kn_run_fail(struct kn_wave *w, kiln_status s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

void kn_findings_free(struct kn_findings *f);
void kn_findings_merge(struct kn_findings *to, const struct kn_findings *from);
/* Sorts by severity, workgroup and discovery; at most max go to the result. */
void kn_findings_deliver(struct kn_ctx *c, struct kn_findings *f, unsigned max,
                         struct kn_sim_result *r);

#endif
