/* worklist.h - lists of problems, for `bench` and `tune`: from a CSV or JSON
 * file, from a preset, or one problem from the command line.
 *
 * A column is the name of a problem or configuration flag without its dashes
 * (m, n, k, a, scale, group-lens, tile, ...), besides `family` and `arch`; an
 * empty field is a flag that is not given. `us` and columns that begin with
 * '_' are skipped, so that a table of results is a list too. */
#ifndef KN_WORKLIST_H
#define KN_WORKLIST_H

#include "../cmd.h"
#include "../../tuning/csv.h"

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
