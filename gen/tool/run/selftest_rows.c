/* selftest_rows.c - the rows of selftest: selftest.csv and selftest.def. */
#include <inttypes.h>
#include <string.h>

#include "../../tuning/tuning.h"
#include "run.h"
#include "moe.h"
#include "probe.h"
#include "selftest.h"

enum { MOST_WORDS = 96 };

extern const struct kn_text kn_selftests[];

static const struct types {
    unsigned targets;
    const char *a, *b, *out, *more;
} types[] = {
#define ROW(targets, a, b, out, more) { targets, a, b, out, more },
#define WHOLE(targets, command)
#include "selftest.def"
#undef WHOLE
#undef ROW
};

static const struct whole {
    unsigned targets;
    const char *command;
} wholes[] = {
#define ROW(targets, a, b, out, more)
#define WHOLE(targets, command) { targets, command },
#include "selftest.def"
#undef WHOLE
#undef ROW
};

struct adding {
    struct kn_ctx *c;
    const struct kn_row_choice *w;
    struct kn_rows *out;
};

/* ---- the class of a configuration --------------------------------------- */

static void
put_class(const kiln_problem *p, const struct kn_config *g, struct kn_buf *b)
{
#define X(id, text) text,
    static const char *const lookups[] = { KN_LOOKUPS(X) };
#undef X
    bool routed = kn_family_of(p)->routed;

    kn_putf(b, "%s %s%s%s %s %s %s %s stages=%u ktail=%u store=%s lookup=%s",
            kiln_target_name(p->target), kn_family_names[p->family],
            routed ? " " : "", routed ? kn_stage_names[p->stage] : "",
            kn_layout_names[p->layout], kn_schedule_names[g->schedule],
            g->lowering == KN_LOWERING_ASM ? "asm" : "llvm",
            g->cus ? "walk" : "once", g->stages, g->domain.ktail,
            g->store == KN_STORE_LDS ? "lds" : g->domain.vec == 1 ? "bytes" : "direct",
            g->lookup ? lookups[g->lookup] : "-");
}

static kiln_status
read_command(struct kn_ctx *c, const char *command, struct kn_cli *cli)
{
    char **argv = KN_NEW(c, char *, MOST_WORDS), *save = NULL;
    char *text = kn_strdup(c, command);
    int n = 0;

    argv[n++] = "kilnc";
    argv[n++] = "run";
    for (char *w = strtok_r(text, " ", &save); w && n < MOST_WORDS;
         w = strtok_r(NULL, " ", &save))
        argv[n++] = w;
    return kn_cli_parse(c, n, argv, cli);
}

static kiln_status
put_class_of(struct kn_ctx *c, kiln_target target, const char *command,
             struct kn_buf *b)
{
    struct kn_cli *cli = KN_NEW(c, struct kn_cli, 1);
    struct kn_config g = { 0 };
    kiln_problem p = { 0 };
    int64_t *offs;

    KN_TRY(read_command(c, command, cli));
    KN_TRY(kn_cli_family(c, cli, &p.family));
    if (kn_family_of(&p)->routed) {
        int stage = (int)cli->v[KN_FLAG_stage].i;

        KN_TRY(kn_moe_problem(c, cli, target,
                              stage ? stage : KILN_MOE_GATE_UP, &p));
    } else {
        KN_TRY(kn_cli_problem(c, cli, target, &p));
        KN_TRY(kn_groups_make(c, cli, &p, &offs));
        KN_TRY(kn_problem_normalise(c, &p));
    }
    KN_TRY(kn_config_parse(c, cli->config, &g));
    KN_TRY(kn_choose(c, &p, &g, NULL));
    put_class(&p, &g, b);
    return KILN_OK;
}

static kiln_status
class_in(struct kn_ctx *own, const struct kn_row *row, struct kn_buf *b)
{
    KN_ENTER(own);
    return put_class_of(own, row->target, row->command, b);
}

/* ---- rows --------------------------------------------------------------- */

static kiln_status
add(struct adding *x, struct kn_row row)
{
    struct kn_buf class = { .c = x->c }, name = { .c = x->c };
    struct kn_ctx own;
    kiln_status s = KILN_OK;

    if (x->w->target && x->w->target != row.target)
        return KILN_OK;
    kn_ctx_init(&own, x->c->realloc, x->c->user);
    if (row.kind == KN_ROW_PROBE)
        kn_putf(&class, "%s probe", kiln_target_name(row.target));
    else
        s = class_in(&own, &row, &class);
    if (s)
        kn_fail(x->c, s, "selftest of '%s' on %s: %s", row.command,
                kiln_target_name(row.target), own.err.text);
    kn_ctx_free(&own);
    KN_TRY(s);
    kn_putf(&name, "%s: %s", class.s, row.command);
    row.class = class.s;
    row.name = name.s;
    if (!x->w->only || strstr(name.s, x->w->only))
        x->out->row[x->out->n++] = row;
    return KILN_OK;
}

static kiln_status
add_types(struct adding *x, kiln_target t, const int64_t size[3],
          enum kn_row_kind kind)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const struct types *r = &types[i];
        struct kn_buf b = { .c = x->c };

        if (!(r->targets & 1u << t))
            continue;
        kn_putf(&b, "gemm --a %s --b %s --out %s -m %" PRId64 " -n %" PRId64
                " -k %" PRId64 "%s%s", r->a, r->b, r->out, size[0], size[1],
                size[2], *r->more ? " " : "", r->more);
        KN_TRY(add(x, (struct kn_row){ .target = t, .kind = kind,
                                       .command = b.s }));
    }
    return KILN_OK;
}

static kiln_status
add_classes(struct adding *x, kiln_target t, const struct kn_csv *table)
{
    for (size_t i = 0; i < table->nrows; i++)
        if (!strcmp(kn_csv_field(table, i, "arch"), kiln_target_name(t)))
            KN_TRY(add(x, (struct kn_row){
                .target = t, .kind = KN_ROW_CLASS,
                .command = kn_csv_field(table, i, "command") }));
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
        if (wholes[i].targets & 1u << t)
            KN_TRY(add(x, (struct kn_row){
                .target = t, .kind = KN_ROW_CLASS,
                .command = wholes[i].command }));
    return KILN_OK;
}

/* Their names are their class. */
static kiln_status
add_probes(struct adding *x, kiln_target t)
{
    struct kn_probes probes;

    KN_TRY(kn_probes_of(x->c, t, &probes));
    for (size_t i = 0; i < probes.n; i++)
        KN_TRY(add(x, (struct kn_row){ .target = t, .kind = KN_ROW_PROBE,
                                       .command = probes.p[i].name }));
    return KILN_OK;
}

kiln_status
kn_selftest_rows(struct kn_ctx *c, const struct kn_row_choice *w,
                 struct kn_rows *out)
{
    static const int64_t small[3] = { 96, 80, 288 };
    struct adding x = { .c = c, .w = w, .out = out };
    struct kn_csv table;

    KN_TRY(kn_csv_parse(c, "selftest.csv", kn_selftests->text, &table));
    out->row = KN_NEW(c, struct kn_row, table.nrows + KILN_NTARGETS *
                      (2 * sizeof types / sizeof *types +
                       sizeof wholes / sizeof *wholes + kn_probes_most()));
    for (int t = KILN_TARGET_NONE + 1; t < KILN_NTARGETS; t++) {
        KN_TRY(add_probes(&x, (kiln_target)t));
        KN_TRY(add_types(&x, (kiln_target)t, small, KN_ROW_TYPES));
        KN_TRY(add_classes(&x, (kiln_target)t, &table));
        if (w->size[0])
            KN_TRY(add_types(&x, (kiln_target)t, w->size, KN_ROW_GRID));
    }
    return KILN_OK;
}
