/* report.h - what commands print about kernels and simulated runs, as text
 * and as JSON. */
#ifndef KN_REPORT_H
#define KN_REPORT_H

#include "../../../runtime/reference/reference.h"
#include "../cmd.h"
#include "../../gen.h"
#include "../json.h"

/* What was asked and what was decided, as they are after generation. */
void kn_report_problem(struct kn_tool *t, struct kn_json *j,
                       const kiln_problem *p);
void kn_report_config(struct kn_tool *t, struct kn_json *j,
                      const struct kn_config *cfg);

/* One kernel of a code object: registers, LDS, spills, instructions. */
kiln_status kn_report_kernel(struct kn_tool *t, struct kn_json *j,
                             const struct kn_object *o,
                             const struct kn_object_kernel *k);

/* All of these about a kernel of the problem. */
kiln_status kn_report_made(struct kn_tool *t, struct kn_json *j,
                           const kiln_problem *p,
                           const struct kn_generated *g);

/* How long generation took, and the gates this variant does not pass. */
void kn_report_generated(struct kn_tool *t, struct kn_json *j,
                         const struct kn_generated *g);

/* The verdict on the output; `placed`: with the first bad element's place. */
void kn_report_check(struct kn_tool *t, struct kn_json *j,
                     const struct kn_ref_check *k, bool placed);

/* What ran, and every kept finding with its place. */
void kn_report_run(struct kn_tool *t, struct kn_json *j,
                   const struct kn_sim_result *r);

/* A launch that met a limit is no answer: UNSUPPORTED with the place where it
 * was, which the report names as well (j may be NULL). */
kiln_status kn_report_stopped(struct kn_tool *t, struct kn_json *j,
                              const struct kn_sim_result *r);

/* Whether a launch has findings; advice is one with --strict. */
bool kn_run_found(const struct kn_tool *t, const struct kn_sim_result *r);

/* Adds a finding of the tool itself to what the simulator found. */
void kn_report_add(struct kn_ctx *c, struct kn_sim_result *r,
                   const struct kn_finding *f);

/* Ends the report: writes `j` where --json says. `-` is standard output and
 * replaces the text for people. */
kiln_status kn_report_write(struct kn_tool *t, struct kn_json *j);

#endif
