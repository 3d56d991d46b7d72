/* cmd_generate.c - `kilnc generate`: a kernel in the form asked for. */
#include <string.h>

#include "../../runtime/api/context.h"
#include "../../runtime/file.h"
#include "inspect/inspect.h"
#include "launch/aiter_table.h"
#include "launch/launch.h"
#include "run/run.h"
#include "../aiter.h"
#include "../facts.h"
#include "run/moe.h"
#include "progress.h"

enum form { FORM_TIR, FORM_LLVM, FORM_ASM, FORM_CO }; /* as --emit lists them */

static enum form
form_of(const struct kn_cli *cli)
{
    const struct kn_value *v = &cli->v[KN_FLAG_emit];

    return v->seen ? (enum form)v->i : FORM_CO;
}

/* The bytes of a form. */
static struct kn_buf
form_bytes(struct kn_tool *t, const struct kn_generated *g)
{
    static const unsigned char nothing[1];
    struct kn_buf b = { .c = t->c };
    const void *p = nothing;
    size_t n = 0;

    switch (form_of(t->cli)) {
    case FORM_TIR:
        kn_print(g->wave, &b);
        return b;
    case FORM_LLVM:
        p = kn_annotate_llvm(t->c, g->llvm, g->wave);
        n = strlen(p);
        break;
    case FORM_ASM:
        p = kn_annotate_assembly(t->c, g->assembly, g->wave);
        n = strlen(p);
        break;
    case FORM_CO:
        p = g->co;
        n = g->size;
        break;
    }
    b.s = kn_strndup(t->c, p, n);
    b.n = n;
    return b;
}

/* A text in a file of its own, where the flag asks for one. */
static kiln_status
write_text(struct kn_tool *t, enum kn_flag_id flag, const struct kn_buf *b)
{
    const struct kn_value *v = &t->cli->v[flag];

    return v->seen ? kn_file_write(t->c, v->s, b->s, b->n) : KILN_OK;
}

/* How the code object is launched: --header, --launch, and in --json. */
static kiln_status
report_launch(struct kn_tool *t, struct kn_json *j, const kiln_problem *p,
              const struct kn_generated *g, uint32_t lds)
{
    struct kn_buf config = { .c = t->c }, header = { .c = t->c };
    struct kn_json own = { .b = { .c = t->c } };
    struct kn_launch_facts f = { g->name, kiln_target_name(p->target), NULL,
                                 kn_versions(), lds };
    struct kn_launch *l = KN_NEW(t->c, struct kn_launch, 1);

    kn_config_print(&g->cfg, &config);
    f.config = config.s;
    kn_launch_describe(t->c, p, &g->cfg, l);
    kn_launch_json(j, l, &f);
    kn_json_open(&own, NULL, '{');
    kn_launch_json(&own, l, &f);
    kn_json_close(&own, '}');
    if (t->cli->v[KN_FLAG_header].seen)
        kn_launch_header(&header, t->cli->v[KN_FLAG_header].s, l, &f);
    KN_TRY(write_text(t, KN_FLAG_launch, &own.b));
    return write_text(t, KN_FLAG_header, &header);
}

/* How aiter finds the object, instead. */
static kiln_status
report_loader(struct kn_tool *t, struct kn_json *j, const kiln_problem *p,
              const struct kn_generated *g)
{
    const struct kn_value *table = &t->cli->v[KN_FLAG_enroll];
    struct kn_aiter_object o = { p, &g->cfg, t->cli->v[KN_FLAG_o].s };
    const char *name = kn_loader_table(p, &g->cfg);
    const char *folder = kn_loader_folder(t->c, p, &g->cfg);
    struct kn_buf row = { .c = t->c };

    kn_aiter_row(t->c, &o, &row);
    row.s[row.n - 1] = 0;
    kn_putf(t->text, "aiter     hsa/%s/%s.csv: %s\n", folder, name, row.s);
    kn_json_open(j, "aiter", '{');
    kn_json_str(j, "folder", folder);
    kn_json_str(j, "table", name);
    kn_json_str(j, "row", row.s);
    kn_json_close(j, '}');
    return table->seen ? kn_aiter_register(t->c, &o, table->s) : KILN_OK;
}

/* p: NULL for a kernel that came as tile IR. */
static kiln_status
report(struct kn_tool *t, const kiln_problem *p, const struct kn_generated *g)
{
    struct kn_json j = { .b = { .c = t->c } };
    struct kn_object o;
    const struct kn_object_kernel *k;

    kn_json_open(&j, NULL, '{');
    if (p)
        kn_report_choice(t, &j, p, g);
    if (g->co) {
        KN_TRY(kn_object_read(t->c, g->name, g->co, g->size, &o));
        KN_TRY(kn_object_kernel(t->c, &o, NULL, &k));
        KN_TRY(kn_report_kernel(t, &j, &o, k));
        if (p)
            KN_TRY(g->cfg.abi == KN_ABI_AITER
                   ? report_loader(t, &j, p, g)
                   : report_launch(t, &j, p, g, k->lds));
    }
    kn_report_generated(t, &j, g);
    kn_json_close(&j, '}');
    return kn_report_write(t, &j);
}

/* Text goes to standard output unless -o says otherwise. */
static const char *
output_path(const struct kn_cli *cli)
{
    const struct kn_value *o = &cli->v[KN_FLAG_o];

    if (o->seen)
        return kn_file_is_stdout(o->s) ? "-" : o->s;
    return form_of(cli) == FORM_CO ? NULL : "-";
}

static kiln_status
check_output(struct kn_tool *t, const char *path)
{
    const struct kn_value *json = &t->cli->v[KN_FLAG_json];

    const struct kn_value *v = t->cli->v;
    bool object = form_of(t->cli) == FORM_CO && !kn_is_handmade(t->cli->pos[0]);
    bool aiter = v[KN_FLAG_abi].seen && !strcmp(v[KN_FLAG_abi].s, "aiter");

    if ((!object || aiter) && (v[KN_FLAG_header].seen || v[KN_FLAG_launch].seen))
        return kn_fail(t->c, KILN_BAD_INPUT, "--header and --launch are "
                       "of a code object made of a problem, with kiln's "
                       "arguments");
    if (v[KN_FLAG_enroll].seen && (!object || !aiter || !v[KN_FLAG_o].seen))
        return kn_fail(t->c, KILN_BAD_INPUT, "--register is for a code object "
                       "of --abi aiter in a file (-o)");
    if (v[KN_FLAG_g].seen && form_of(t->cli) != FORM_CO)
        return kn_fail(t->c, KILN_BAD_INPUT, "-g is of a code object");
    if (!path)
        return kn_fail(t->c, KILN_BAD_INPUT,
                       "'generate' needs -o FILE for a code object");
    if (!strcmp(path, "-") && json->seen && !strcmp(json->s, "-"))
        return kn_fail(t->c, KILN_BAD_INPUT,
                       "the result and --json cannot both go to standard "
                       "output");
    return KILN_OK;
}

/* FILE.co.cert beside FILE.co; `check` looks for it there. It comes first: no
 * code object is ever there without. */
static kiln_status
write_certificate(struct kn_tool *t, const char *path, const char *text)
{
    struct kn_buf name = { .c = t->c };

    if (form_of(t->cli) != FORM_CO)
        return KILN_OK;
    if (!strcmp(path, "-") || !kn_file_is_plain(path)) {
        kn_put(t->text, "          no certificate is written: there is no "
                        "file it could stand beside\n");
        return KILN_OK;
    }
    kn_putf(&name, "%s.cert", path);
    return kn_file_write(t->c, name.s, text, strlen(text));
}

/* The templates that -g's lines name, where a debugger finds them: in a folder
 * beside the object, the same for all objects there. A user's file is there. */
static kiln_status
write_sources(struct kn_tool *t, const char *path, const struct kn_debug *d)
{
    const char *slash = strrchr(path, '/');
    struct kn_buf folder = { .c = t->c };

    if (!d || !d->source->own || !kn_file_is_plain(path))
        return KILN_OK;
    kn_put(&folder, kn_strndup(t->c, path,
                               slash ? (size_t)(slash + 1 - path) : 0));
    kn_put(&folder, KN_SOURCE_FOLDER);
    KN_TRY(kn_file_folder(t->c, folder.s));
    for (uint32_t i = 0; i < d->nsource; i++) {
        const struct kn_debug_file *f = &d->source[i];
        struct kn_buf name = { .c = t->c };

        kn_putf(&name, "%s/%s", folder.s, f->file);
        if (*f->text)
            KN_TRY(kn_file_write(t->c, name.s, f->text, strlen(f->text)));
    }
    return KILN_OK;
}

/* The problem of the command line, and what it gives of a configuration. */
static kiln_status
read_problem(struct kn_tool *t, kiln_problem *p, struct kn_config *cfg)
{
    kiln_target target = kn_cli_target(t->cli);

    if (!target)
        return kn_fail(t->c, KILN_BAD_INPUT, "'generate' needs --arch %s",
                       kn_flags[KN_FLAG_arch].spec);
    KN_TRY(kn_cli_problem(t->c, t->cli, target, p));
    if (kn_family_of(p)->routed)
        KN_TRY(kn_moe_problem(t->c, t->cli, p->target,
                              (int)t->cli->v[KN_FLAG_stage].i, p));
    KN_TRY(kn_groups_known(t->c, t->cli, p));
    KN_TRY(kn_problem_normalise(t->c, p));
    KN_TRY(kn_config_parse(t->c, t->cli->config, cfg));
    if (!t->cli->v[KN_FLAG_k].seen && !p->k && !kn_family_of(p)->routed)
        cfg->domain = kn_domain_of(p, 256, 0); /* any K, hence a tail */
    return KILN_OK;
}

static kiln_status
generate(struct kn_tool *t, const struct kn_watch *watch, kiln_problem *p,
         struct kn_generated *g)
{
    struct kn_config cfg = { 0 };

    KN_TRY(read_problem(t, p, &cfg));
    return kn_generate(t->c, p, &cfg, watch, g);
}

/* --dump facts: what the templates of the kernel that is made were told. */
static kiln_status
dump_facts(struct kn_tool *t)
{
    struct kn_generated g;
    struct kn_facts facts;
    kiln_problem p;

    if (kn_is_handmade(t->cli->pos[0]))
        return kn_fail(t->c, KILN_BAD_INPUT, "'%s' is a kernel already: it has "
                       "no facts", t->cli->pos[0]);
    KN_TRY(generate(t, NULL, &p, &g));
    facts = kn_facts_of(t->c, &p, &g.cfg);
    kn_facts_print(&facts, t->text);
    return KILN_OK;
}

/* FILE.tir has a target of its own. */
static kiln_status
compile_file(struct kn_tool *t, const struct kn_watch *watch,
             struct kn_generated *g)
{
    const char *path = t->cli->pos[0];
    kiln_target asked = kn_cli_target(t->cli);

    KN_TRY(kn_handmade_flags(t->c, t->cli));
    KN_TRY(kn_handmade(t->c, path, watch, g));
    if (asked && asked != g->wave->target)
        return kn_fail(t->c, KILN_BAD_INPUT, "'%s' is for %s, not %s", path,
                       kiln_target_name(g->wave->target),
                       kiln_target_name(asked));
    return KILN_OK;
}

/* --dump: the program after the passes of these letters, OUT.LETTER.tir. */
struct dump {
    struct kn_tool *t;
    const char *letters, *base;
    kiln_status s;
};

static void
on_stage(void *user, char letter, const char *text)
{
    struct dump *d = user;
    struct kn_buf name = { .c = d->t->c };

    if (d->s || !strchr(d->letters, letter))
        return;
    kn_putf(&name, "%s.%c.tir", d->base, letter);
    d->s = kn_file_write(d->t->c, name.s, text, strlen(text));
    if (!d->s)
        kn_putf(d->t->text, "dumped    %s\n", name.s);
}

static kiln_status
start_dump(struct kn_tool *t, const char *path, struct dump *d)
{
    static const char known[] = {
        't',
#define PASS(fn, letter, level) letter,
#include "../../ir/passes.def"
#undef PASS
        0
    };
    const struct kn_value *v = &t->cli->v[KN_FLAG_dump];

    *d = (struct dump){ .t = t, .letters = v->seen ? v->s : "",
                        .base = path };
    if (strspn(d->letters, known) != strlen(d->letters))
        return kn_fail(t->c, KILN_BAD_INPUT, "--dump takes facts, or letters "
                       "of '%s', not '%s'", known, d->letters);
    if (*d->letters && !strcmp(path, "-"))
        return kn_fail(t->c, KILN_BAD_INPUT, "--dump needs -o FILE: its files "
                       "are FILE.LETTER.tir");
    return KILN_OK;
}

kiln_status
kn_cmd_generate(struct kn_tool *t)
{
    static const unsigned want[] = { KN_WANT_TIR, KN_WANT_LLVM, KN_WANT_ASM,
                                     KN_WANT_CO };
    struct dump dump;
    bool file = kn_is_handmade(t->cli->pos[0]);
    kn_source_fn *source = file ? kn_file_source : kn_own_source;
    const struct kn_watch watch = {
        .want = want[form_of(t->cli)], .link = kn_tool_linker(t->cli),
        .source = t->cli->v[KN_FLAG_g].seen ? source : NULL,
        .lowering = file ? kn_handmade_lowering(t->cli) : KN_LOWERING_OPEN,
        .stage = on_stage, .user = &dump };
    const char *path = output_path(t->cli);
    struct kn_generated g = { 0 };
    struct kn_buf bytes;
    kiln_problem p;

    if (t->cli->v[KN_FLAG_dump].seen &&
        !strcmp(t->cli->v[KN_FLAG_dump].s, "facts"))
        return dump_facts(t);
    KN_TRY(check_output(t, path));
    KN_TRY(start_dump(t, path, &dump));
    kn_progress_stage(t->progress, "generating");
    KN_TRY(file ? compile_file(t, &watch, &g) : generate(t, &watch, &p, &g));
    KN_TRY(dump.s);
    bytes = form_bytes(t, &g);
    KN_TRY(write_certificate(t, path, g.certificate));
    KN_TRY(write_sources(t, path, g.debug));
    if (strcmp(path, "-"))
        KN_TRY(kn_file_write(t->c, path, bytes.s, bytes.n));
    KN_TRY(report(t, file ? NULL : &p, &g));
    if (!strcmp(path, "-"))
        *t->text = bytes;
    return KILN_OK;
}
