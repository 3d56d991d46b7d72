/* bench.h - what bench and tune share, and the words of others. */
#ifndef KN_BENCH_H
#define KN_BENCH_H

#include "../../tuning/tuning.h"
#include "../cmd.h"

/* svg.c - a picture of ratios: one bar a row, to the right of 1 is slower. */

struct kn_svg_bar {
    const char *label, *colour;
    double ratio;            /* new / golden; 0: no bar */
};

void kn_svg_ratios(struct kn_buf *b, const char *title,
                   const struct kn_svg_bar *bar, size_t n);

/* contest.c - compare with three tables or more: nobody is judged. */
kiln_status kn_contest(struct kn_tool *t);

/* hipblaslt.c - command lines of hipblaslt-bench, for `kilnc bench`. */

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
/* The same for a line that is hipblaslt-bench's. */
kiln_status kn_hipblaslt_line(struct kn_ctx *c, struct kn_words *w);
/* Whether it has this flag. */
bool kn_hipblaslt_takes(const char *flag);
/* hipblaslt_log.c: the lines of hipblaslt-bench in a log (HIPBLASLT_LOG_MASK=32)
 * or a YAML list of its problems (64), each once, as a list of problems; what it
 * prints as a list with the column us, a problem's shortest. BAD_INPUT and
 * UNSUPPORTED with the line. */
kiln_status kn_hipblaslt_log(struct kn_ctx *c, const char *name,
                             const char *text, struct kn_csv *out);
bool kn_hipblaslt_results(const char *text); /* whether it is what it prints */
/* json_table.c: the number of a column, which is made if it is not there. */
size_t kn_table_column(struct kn_ctx *c, struct kn_csv *t, const char *name);

/* models.c - layers of published models as problems. */

struct kn_model {
    const char *name;
    int64_t experts, inter, hidden, topk;
};

/* A pass of one layer over all experts of a device: the sizes of grouped (n,
 * k) or wgrad (m, n).
 *
 *   gateup   N = 2 inter, K = hidden      down   N = hidden, K = inter
 *   fwd      grouped nt   n = N, k = K    A[rows,K]  B[G,N,K]
 *   dgrad    grouped nn   n = K, k = N    A[rows,N]  B[G,N,K], the same bytes
 *   wgrad    wgrad        m = N, n = K    A[rows,N]  B[rows,K] */
struct kn_layer {
    kiln_family family;
    kiln_layout layout;
    int64_t m, n, k;         /* 0: ragged */
};

/* The model of a name or of its unambiguous beginning; NULL: none. */
const struct kn_model *kn_model_find(const char *name);

/* "gateup.fwd", "down.wgrad", ...; false if there is no such layer or pass. */
bool kn_layer_of(const struct kn_model *m, const char *op,
                 struct kn_layer *out);

/* Replaces --model and --op by the flags they stand for: sizes, layout and,
 * unless they are given, the experts of one of eight devices as groups; for
 * moe --hidden, --inter, --experts and --topk. */
kiln_status kn_model_expand(struct kn_ctx *c, struct kn_cli *cli);

/* aiter.c, aiter_csv.c - aiter's configuration files (aiter/ops/triton/configs/gemm) as
 * tuning tables and back. The name of a file carries what it is for:
 * gfx950-BATCHED_GEMM-A8W8-N=512-K=128.json; inside are buckets of M.
 *
 * BLOCK_SIZE_M/N/K, num_warps, num_stages, GROUP_SIZE_M and NUM_KSPLIT become
 * a configuration line. What kiln has no use for is kept in columns of its
 * name behind '_', so that it survives the way back. */

bool kn_aiter_name(const char *path);    /* "DIR/ARCH-...GEMM-...json" */

/* notes: what was ignored, a line each. UNSUPPORTED for a kernel kiln does not
 * have; BAD_INPUT with file, line and field. */
kiln_status kn_aiter_read(struct kn_ctx *c, const char *path,
                          struct kn_csv *out, struct kn_buf *notes);

/* The rows of a tuning table that a file of this name holds, as its text. */
kiln_status kn_aiter_write(struct kn_ctx *c, const char *path,
                           const struct kn_csv *t, struct kn_buf *out);

/* aiter's tuned tables (CSV), recognised by their columns:
 *   few rows of mxfp8  K,N,M,kernel,n_sub,k_splits,use_hip
 *   moe                token,model_dim,...,kernelName1,...,kernelName2,...
 * A moe line is two rows, gemm1 and gemm2 (in the column layout), of the tiles
 * in the kernels' names; batch is the experts, m the tokens. All of aiter's
 * fields are kept behind '_'. */
bool kn_aiter_table(const struct kn_csv *t);
kiln_status kn_aiter_table_read(struct kn_ctx *c, const struct kn_csv *from,
                                struct kn_csv *to, struct kn_buf *notes);

/* "...tuned_fmoe....csv" and "...smallm_mxfp8_tuned....csv" are written so. */
bool kn_aiter_table_name(const char *path);
kiln_status kn_aiter_table_write(struct kn_ctx *c, const char *path,
                                 const struct kn_csv *t, struct kn_buf *out);

/* candidates.c - the configurations `kilnc tune` tries for a problem. */

struct kn_timing {              /* of a candidate */
    double us;               /* 0: not timed, or failed */
    double error_pct;        /* of a predicted time */
    uint32_t rows;           /* validated objects it comes from; 0: unknown */
};

struct kn_candidate {
    struct kn_config cfg;
    const char *text;        /* "tile=64x64x128 waves=2x2 stages=2" */
    double estimate;         /* score (choose.h) or a rough one of us */
    size_t order;            /* among equal ones */
    struct kn_timing time;
};

/* The default choice with c's tables, then up to `most` others that kn_choose
 * takes, those with the best scores; the parts that `given` names stay as they
 * are. Returns how many. */
size_t kn_candidates(struct kn_ctx *c, const kiln_problem *p,
                     const struct kn_config *given, size_t most,
                     struct kn_candidate **out);
/* A candidate, then the same with K staggered, where its loop can: the timing
 * model, to which it is all one, has no say (docs/bench.md). */
size_t kn_candidates_staggered(struct kn_ctx *c, const kiln_problem *p,
                               const struct kn_config *given,
                               const struct kn_candidate *best,
                               struct kn_candidate **out);
/* The default choice and the configuration of a row there is. */
size_t kn_candidates_again(struct kn_ctx *c, const kiln_problem *p,
                           const struct kn_config *given, const char *config,
                           struct kn_candidate **out);

/* worklist.c, json_table.c - lists of problems, for `bench` and `tune`: from a CSV or JSON
 * file, from a preset, or one problem from the command line.
 *
 * A column is the name of a problem or configuration flag without its dashes
 * (m, n, k, a, scale, group-lens, tile, ...), besides `family` and `arch`; an
 * empty field is a flag that is not given. `us` and columns that begin with
 * '_' are skipped, so that a table of results is a list too. */

struct kn_work {
    size_t row;              /* in the whole list, from 0 */
    const char *family;
    kiln_target target;
    const char *value[KN_NFLAGS]; /* as typed; NULL: not given */
};

struct kn_worklist {
    const char *name;
    const char *device;      /* "hip:0 NAME", NULL: simulated */
    struct kn_work *w;
    size_t n;
    bool used[KN_NFLAGS];    /* by any row of the whole list */
};

/* The list the positionals name; flags of the command line fill in what a row
 * leaves out. Rows for another target than --device's and of other shards are
 * left out. BAD_INPUT with file, line and field. */
kiln_status kn_worklist_read(struct kn_tool *t, struct kn_worklist *out);

/* The command line "COMMAND family flags of w, more..." as parsed. */
kiln_status kn_work_cli(struct kn_ctx *c, const struct kn_work *w,
                        enum kn_command cmd, const char *const *more,
                        struct kn_cli *out);

/* Runs such a command line with a report of its own. *text: its JSON. */
kiln_status kn_work_run(struct kn_ctx *c, const struct kn_cli *cli,
                        const char **json);

/* Rows of a list flagged i/n by --shard: whether this one is ours. */
kiln_status kn_shard_read(struct kn_tool *t, size_t *i, size_t *n);

/* JSON text as a table: an array of objects, or an object with such an array
 * as "rows" (what `bench --json` writes). */
kiln_status kn_json_table(struct kn_ctx *c, const char *name, const char *text,
                          struct kn_csv *out);

#endif
