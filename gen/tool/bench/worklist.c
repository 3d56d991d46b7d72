/* worklist.c - a list of problems from a table: each row as flags, as if typed (bench.h). */
#include "../run/session.h"
#include "bench.h"
#include "results.h"

#include <string.h>

#include "../../../runtime/file.h"
#include "../cli.h"
#include "../progress.h"

/* The cell of a flag that has no value and is there. */
static const char given[] = "1";

/* Whether a column is this flag: dashes and underscores are alike. */
static bool
names_flag(const char *column, const char *flag)
{
    flag += strspn(flag, "-");
    for (; *column && *flag; column++, flag++)
        if (*column != *flag && !(*column == '_' && *flag == '-'))
            return false;
    return !*column && !*flag;
}

/* The flag of a column, KN_NFLAGS if there is none. */
static int
flag_of(const char *column)
{
    for (int i = 0; i < KN_NFLAGS; i++) {
        const struct kn_flag *f = &kn_flags[i];

        if ((f->group == KN_G_PROBLEM || f->group == KN_G_CONFIG ||
             f->group == KN_G_LATER) &&
            f->commands & 1u << KN_CMD_run && names_flag(column, f->name))
            return i;
    }
    return KN_NFLAGS;
}

static kiln_target
target_named(const char *s)
{
    for (int t = 1; t < KILN_NTARGETS; t++)
        if (!strcmp(s, kiln_target_name((kiln_target)t)))
            return (kiln_target)t;
    return KILN_TARGET_NONE;
}

/* ---- one row ------------------------------------------------------------ */

struct source {
    struct kn_tool *t;
    struct kn_csv csv;
    const char *family;      /* of rows that name none */
    kiln_target target, only; /* of rows that name none; --device's or NONE */
    const char *device;      /* a GPU and its name, NULL: simulated */
};

static kiln_status
set_field(struct source *s, size_t row, int col, struct kn_work *w)
{
    const char *name = s->csv.head[col].s;
    const char *text = kn_csv_at(&s->csv, row, col)->s;
    struct kn_buf b = { .c = s->t->c };
    struct kn_value v = { 0 };
    int id;

    if (*name == '_' || !strcmp(name, "us") || !*text)
        return KILN_OK;
    if (!strcmp(name, "family")) {
        w->family = text;
        if (kn_name_index(kn_family_names, KILN_NFAMILIES, text) < 0)
            return kn_csv_fail(s->t->c, &s->csv, row, col,
                               "there is no such family");
        return KILN_OK;
    }
    if (!strcmp(name, "arch")) {
        w->target = target_named(text);
        return w->target ? KILN_OK
                         : kn_csv_fail(s->t->c, &s->csv, row, col,
                                       "there is no such target");
    }
    id = flag_of(name);
    if (id == KN_NFLAGS)
        return kn_csv_fail(s->t->c, &s->csv, row, col, "no flag of a problem "
                           "or configuration has this name");
    if (kn_flag_repeats(&kn_flags[id]))
        return kn_csv_fail(s->t->c, &s->csv, row, col, "what an expression names is declared "
                           "in front of it: 'row:s, acc * s'");
    if (kn_flags[id].kind == KN_K_NONE && !strcmp(text, "0"))
        return KILN_OK;
    if (kn_flags[id].kind == KN_K_NONE ? strcmp(text, given) != 0
        : !kn_value_parse(s->t->c, &kn_flags[id], text, &v)) {
        kn_putf(&b, "%s takes %s, not '%s'", kn_flags[id].name,
                kn_flags[id].kind == KN_K_NONE ? "1 or 0" : kn_flags[id].spec, text);
        return kn_csv_fail(s->t->c, &s->csv, row, col, b.s);
    }
    w->value[id] = text;
    return KILN_OK;
}

static void
add_given(const struct kn_cli *cli, struct kn_work *w)
{
    for (int i = 0; i < KN_NFLAGS; i++)
        if (cli->v[i].seen && !w->value[i] &&
            (kn_flags[i].group == KN_G_PROBLEM ||
             kn_flags[i].group == KN_G_CONFIG))
            w->value[i] = kn_flags[i].kind == KN_K_NONE ? given : cli->v[i].s;
}

static kiln_status
read_row(struct source *s, size_t row, struct kn_work *w)
{
    *w = (struct kn_work){ .row = row, .family = s->family,
                           .target = s->target };
    for (size_t col = 0; col < s->csv.ncols; col++)
        KN_TRY(set_field(s, row, (int)col, w));
    add_given(s->t->cli, w);
    if (!w->family)
        return kn_fail(s->t->c, KILN_BAD_INPUT, "row %zu of '%s' names no "
                       "family, and the command line neither", row + 1,
                       s->csv.name);
    return KILN_OK;
}

/* ---- the list ----------------------------------------------------------- */

static bool
ends_in(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n > m && !strcmp(s + n - m, end);
}

static kiln_status
unknown_list(struct kn_tool *t, const char *name)
{
    struct kn_buf b = { .c = t->c };
    struct kn_nearest x;
    const char *near;

    kn_nearest_open(&x, name);
    for (int i = 0; i < KILN_NFAMILIES; i++)
        kn_nearest_try(&x, kn_family_names[i], strlen(kn_family_names[i]));
    for (const struct kn_text *p = kn_presets; p->name; p++) {
        kn_putf(&b, "%s%s", b.n ? ", " : "", p->name);
        kn_nearest_try(&x, p->name, strlen(p->name));
    }
    near = kn_nearest_text(t->c, &x);
    if (*near)
        return kn_fail(t->c, KILN_BAD_INPUT, "'%s' is no family, no .csv, "
                       ".json, .log or .yaml file and no preset%s", name, near);
    return kn_fail(t->c, KILN_BAD_INPUT, "'%s' is no family, no .csv, .json, .log "
                   "or .yaml file and no preset; presets are %s", name, b.s);
}

static kiln_status
read_list(struct kn_tool *t, const char *name, struct kn_csv *out)
{
    uint8_t *bytes;
    size_t size;

    if (ends_in(name, ".csv"))
        return kn_csv_read(t->c, name, out);
    if (ends_in(name, ".json")) {
        KN_TRY(kn_file_read(t->c, name, &bytes, &size));
        return kn_json_table(t->c, name, (const char *)bytes, out);
    }
    if (ends_in(name, ".log") || ends_in(name, ".yaml")) {
        KN_TRY(kn_file_read(t->c, name, &bytes, &size));
        return kn_hipblaslt_log(t->c, name, (const char *)bytes, out);
    }
    for (const struct kn_text *p = kn_presets; p->name; p++)
        if (!strcmp(p->name, name))
            return kn_csv_parse(t->c, p->name, p->text, out);
    return unknown_list(t, name);
}

/* Without a list: the problems of --import's file. */
static kiln_status
read_imported(struct kn_tool *t, struct kn_csv *out)
{
    const struct kn_value *from = &t->cli->v[KN_FLAG_import];

    if (!from->seen)
        return kn_fail(t->c, KILN_BAD_INPUT, "'bench' needs [FAMILY] [LIST]");
    KN_TRY(kn_table_read(t->c, from->s, out));
    if (kn_csv_find(out, "kernel") >= 0)
        return kn_fail(t->c, KILN_BAD_INPUT, "'%s' names kernels, not problems: "
                       "give the LIST whose kernels it has", from->s);
    return KILN_OK;
}

/* [FAMILY] [LIST]: a family alone is a list of the one problem the flags
 * describe. */
static kiln_status
open_source(struct kn_tool *t, struct source *s)
{
    const struct kn_cli *cli = t->cli;
    size_t i = 0;

    s->t = t;
    s->target = KN_TARGET_DEFAULT;
    if (cli->v[KN_FLAG_device].seen) {
        struct kn_place place = { 0 };

        KN_TRY(kn_tool_place(t, &place));
        s->target = s->only = place.target;
        if (place.gpu) {
            struct kn_buf b = { .c = t->c };

            kn_putf(&b, "hip:%d %s", place.number, place.device.info.name);
            s->device = b.s;
        }
    }
    if (!cli->npos)
        return read_imported(t, &s->csv);
    if (kn_name_index(kn_family_names, KILN_NFAMILIES, cli->pos[0]) >= 0)
        s->family = cli->pos[i++];
    if (i < cli->npos)
        return read_list(t, cli->pos[i], &s->csv);
    s->csv = (struct kn_csv){ .name = "the command line", .nrows = 1 };
    return KILN_OK;
}

kiln_status
kn_shard_read(struct kn_tool *t, size_t *i, size_t *n)
{
    const struct kn_value *v = &t->cli->v[KN_FLAG_shard];

    *i = *n = 1;
    if (!v->seen)
        return KILN_OK;
    *i = (size_t)v->list[0];
    *n = (size_t)v->list[1];
    if (*i > *n)
        return kn_fail(t->c, KILN_BAD_INPUT, "--shard counts from 1: %zu/%zu "
                       "is none of %zu", *i, *n, *n);
    return KILN_OK;
}

kiln_status
kn_worklist_read(struct kn_tool *t, struct kn_worklist *out)
{
    struct source s = { 0 };
    size_t shard, shards;

    KN_TRY(kn_shard_read(t, &shard, &shards));
    KN_TRY(open_source(t, &s));
    *out = (struct kn_worklist){ .name = s.csv.name, .device = s.device };
    out->w = KN_NEW(t->c, struct kn_work, s.csv.nrows + 1);
    for (size_t i = 0; i < s.csv.nrows; i++) {
        struct kn_work *w = &out->w[out->n];

        KN_TRY(read_row(&s, i, w));
        for (int f = 0; f < KN_NFLAGS; f++)
            out->used[f] |= w->value[f] != NULL;
        out->n += i % shards == shard - 1 &&
                  (!s.only || s.only == w->target);
    }
    return KILN_OK;
}

/* ---- commands within a command ------------------------------------------ */

kiln_status
kn_work_cli(struct kn_ctx *c, const struct kn_work *w, enum kn_command cmd,
            const char *const *more, struct kn_cli *out)
{
    const char **argv = KN_NEW(c, const char *, 2 * KN_NFLAGS + 24);
    int n = 0;

    argv[n++] = "kilnc";
    argv[n++] = kn_command_name(cmd);
    argv[n++] = w->family;
    for (int i = 0; i < KN_NFLAGS; i++)
        if (w->value[i]) {
            argv[n++] = kn_flags[i].name;
            if (kn_flags[i].kind != KN_K_NONE)
                argv[n++] = w->value[i];
        }
    for (; *more; more++)
        argv[n++] = *more;
    return kn_cli_parse(c, n, (char **)argv, out);
}

kiln_status
kn_work_run(struct kn_ctx *c, const struct kn_cli *cli, const char **json)
{
    struct kn_progress quiet = { 0 };
    struct kn_buf text = { .c = c };
    struct kn_tool t = { .c = c, .cli = cli, .progress = &quiet,
                         .text = &text };
    kiln_status s = kn_command_run(&t);

    *json = text.s ? text.s : "";
    return s;
}
