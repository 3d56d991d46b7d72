/* run.h - what the commands that make and execute kernels share besides a
 * session: groups, files of tile IR, split K, reports. */
#ifndef KN_RUN_H
#define KN_RUN_H

#include "../../../runtime/reference/reference.h"
#include "../../gen.h"
#include "../cmd.h"
#include "../json.h"

/* groups.c - the group lengths of a `run`: given one by one, or made by a
 * routing pattern. */

/* Reads --groups, --group-lens, --routing, --tokens into p->groups and the
 * ragged length (m of grouped, k of wgrad), and the exclusive prefix with the
 * total into *offs (NULL for a family without groups).
 *
 *   balanced   every group has --tokens rows
 *   mild       weights 0.2 + 0.8 * uniform, rounded down, the rest to the last
 *   extreme:K  the first K groups share all rows, the others have none
 *
 * --tokens counts rows a group on average. wgrad with MX or block128
 * scales rounds each length up to 32 or 128, where its scale blocks begin. With
 * --tight-table nothing is rounded; behind the prefix are the places where padded
 * groups begin (kn_read_offsets). */
kiln_status kn_groups_make(struct kn_ctx *c, const struct kn_cli *cli,
                           kiln_problem *p, int64_t **offs);

/* The same where rows may be open: --groups alone is a number of groups of any
 * rows, and a family without groups takes what it is given. */
kiln_status kn_groups_known(struct kn_ctx *c, const struct kn_cli *cli,
                            kiln_problem *p);

/* splitmix64 (Steele, Lea, Flood 2014) of x, as a number in [0, 1). */
double kn_uniform(uint64_t x);
/* Of group or expert i, of --routing mild. */
double kn_mild_weight(uint64_t seed, int64_t i);

/* What the device gets of the groups: offs, or with kiln_group_flags the
 * lengths or ends, or two of them. */
struct kn_sums_table kn_groups_table(struct kn_ctx *c, const kiln_problem *p,
                                     const int64_t *offs);

/* tir_file.c - kernels that users write as tile IR. */

/* The program of FILE.tir, whose text is in the template language and may use
 * files beside it (docs/ir.md). */
kiln_status kn_handmade_parse(struct kn_ctx *c, const char *path,
                              const char *text, struct kn_fn **out);

/* The kernel of FILE.tir, with the same passes, proof, gates and certificate
 * as a generated one. Compiled in a child process unless KILNC_ISOLATE is 0:
 * a kernel LLVM dies on is an error of this call. watch->want and link. */
kiln_status kn_handmade(struct kn_ctx *c, const char *path,
                        const struct kn_watch *watch,
                        struct kn_generated *out);

/* The text of a user's file that debug information names. */
kn_source_fn kn_file_source;

/* BAD_INPUT if a flag asks for a problem or a configuration; but --lowering is of any
 * kernel, LLVM's where nobody says. */
kiln_status kn_handmade_flags(struct kn_ctx *c, const struct kn_cli *cli);
enum kn_lowering kn_handmade_lowering(const struct kn_cli *cli);

/* Whether a positional names such a file. */
bool kn_is_handmade(const char *path);

/* split_k.c - split-K launches on the simulator: their workspace, and samples
 * of workgroups that leave no tile half done. */

/* FINDING unless every counter of a workspace is zero again. */
kiln_status kn_shares_check(struct kn_ctx *c,
                            const uint32_t count[KN_COUNTERS]);

/* kn_fill_fn of a workspace where every share is the last to come, the longest
 * way; user is the struct kn_config. */
void kn_fill_last_share(void *user, uint64_t offset, void *dst, size_t size);

/* Adds to the selected workgroups those of the other shares of their tiles.
 * UNSUPPORTED for a persistent launch, whose workgroups have many tiles. */
kiln_status kn_shares_select(struct kn_ctx *c, const kiln_problem *p,
                             const struct kn_config *cfg, const int64_t *offs,
                             struct kn_sim_select *s);

/* report.c - what commands print about kernels and simulated runs, as text
 * and as JSON. */

/* What was asked. */
void kn_report_problem(struct kn_tool *t, struct kn_json *j,
                       const kiln_problem *p);
/* `problem` of moe's whole layer, of gemm1's and gemm2's. */
void kn_report_layer(struct kn_json *j, const kiln_problem *up, const kiln_problem *down);

/* The same and what was decided, as they are after generation. */
void kn_report_choice(struct kn_tool *t, struct kn_json *j,
                      const kiln_problem *p, const struct kn_generated *g);

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
