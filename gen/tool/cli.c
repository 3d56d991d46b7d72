/* cli.c - the parser of kilnc's command line, driven by flags.def. */
#include "cli.h"

#include <inttypes.h>
#include <string.h>

#include "cmd.h"
#include "../gen.h"
#include "bench/bench.h"

enum {
#define CMD(id, pos, least, most, body, help) bit_##id = 1 << KN_CMD_##id,
#include "commands.def"
#undef CMD
    RUN = bit_run,
    GENERATE = bit_generate,
    TIME = bit_time,
    BENCH = bit_bench,
    MERGE = bit_merge,
    PACK = bit_pack,
    TUNE = bit_tune,
    EXEC = bit_exec,
    CHECK = bit_check,
    INFO = bit_info,
    DIFF = bit_diff,
    PARITY = bit_parity,
    REPORT = bit_report,
    DISASM = bit_disasm,
    MAKES = INFO | PARITY | REPORT | DISASM | CHECK, /* takes a problem for a kernel */
    LIST = bit_list,
    GEN = GENERATE | TIME | BENCH | TUNE | MAKES | LIST,
    COMPARE = bit_compare,
    SELFTEST = bit_selftest,
    CALIBRATE = bit_calibrate
};

const struct kn_flag kn_flags[KN_NFLAGS] = {
#define FLAG(id, name, kind, spec, lo, hi, commands, group, help) \
    { name, spec, help, KN_K_##kind, KN_G_##group, lo, hi, commands },
#include "flags.def"
#undef FLAG
};

static const struct command {
    const char *name, *positionals, *help;
    size_t least, most;
    kiln_status (*body)(struct kn_tool *t);
} commands[KN_NCMDS] = {
#define CMD(id, pos, least, most, body, help) \
    { #id, pos, help, least, most, body },
#include "commands.def"
#undef CMD
};

const char *
kn_command_name(enum kn_command cmd)
{
    return commands[cmd].name;
}

const char *
kn_command_positionals(enum kn_command cmd)
{
    return commands[cmd].positionals;
}

const char *
kn_command_help(enum kn_command cmd)
{
    return commands[cmd].help;
}

bool
kn_command_available(enum kn_command cmd)
{
    return commands[cmd].body != NULL;
}

kiln_status
kn_command_run(struct kn_tool *t)
{
    struct kn_cli cli = *t->cli;
    struct kn_tool own = *t;

    own.cli = &cli;
    KN_TRY(kn_model_expand(t->c, &cli));
    return commands[cli.command].body(&own);
}

static bool
is_flag(const struct kn_flag *f, const char *name, enum kn_command cmd)
{
    return !strcmp(f->name, name) && f->commands & 1u << cmd;
}

/* First row of this name at or after `from`, KN_NFLAGS if none. */
static int
find_flag(const char *name, enum kn_command cmd, int from)
{
    while (from < KN_NFLAGS && !is_flag(&kn_flags[from], name, cmd))
        from++;
    return from;
}

static void
describe_value(struct kn_buf *b, const struct kn_flag *f)
{
    if (f->kind == KN_K_INT)
        kn_putf(b, "an integer in %" PRId64 "..%" PRId64, f->lo, f->hi);
    else if (f->kind == KN_K_REAL)
        kn_put(b, "a finite number");
    else if (f->kind == KN_K_TEXT)
        kn_putf(b, "a %s", f->spec);
    else
        kn_put(b, f->spec);
    if (f->kind == KN_K_SIZES || f->kind == KN_K_DIMS)
        kn_putf(b, " (each %" PRId64 "..%" PRId64 ")", f->lo, f->hi);
}

static kiln_status
refuse_value(struct kn_ctx *c, int id, const char *word, const char *text,
             enum kn_command cmd)
{
    struct kn_buf b = { .c = c };
    const char *near;
    int next = find_flag(kn_flags[id].name, cmd, id + 1);

    describe_value(&b, &kn_flags[id]);
    if (next < KN_NFLAGS) {
        kn_put(&b, " or ");
        describe_value(&b, &kn_flags[next]);
    }
    if (!text)
        return kn_fail(c, KILN_BAD_INPUT, "%s needs a value: %s", word, b.s);
    near = kn_nearest_value(c, cmd, id, text);
    return kn_fail(c, KILN_BAD_INPUT, "%s takes %s, not '%s'%s%s%s", word, b.s,
                   text, near ? "; did you mean '" : "", near ? near : "",
                   near ? "'?" : "");
}

static kiln_status
add_arg(struct kn_ctx *c, struct kn_cli *cli, int id, const char *text)
{
    size_t cap = cli->nargs;
    struct kn_cli_arg *a;
    bool ok;

    cli->args = kn_grow(c, cli->args, &cap, cli->nargs + 1, sizeof *a);
    a = &cli->args[cli->nargs];
    cli->at = text;
    ok = kn_flags[id].kind == KN_K_ARG ? kn_cli_arg_parse(c, text, a)
                                       : kn_cli_ptr_parse(c, text, a);
    cli->nargs += ok;
    cli->v[id].seen = ok;
    return ok ? KILN_OK : KILN_BAD_INPUT;
}

/* An operand of the epilogue's expression. */
static kiln_status
add_named(struct kn_ctx *c, struct kn_cli *cli, int id, const char *text)
{
    size_t cap = cli->nnamed;
    struct kn_cli_named *n;

    cli->named = kn_grow(c, cli->named, &cap, cli->nnamed + 1, sizeof *n);
    n = &cli->named[cli->nnamed];
    *n = (struct kn_cli_named){ .flag = (enum kn_flag_id)id };
    if (!kn_cli_named_parse(c, &kn_flags[id], text, n))
        return refuse_value(c, id, kn_flags[id].name, text, cli->command);
    for (size_t i = 0; i < cli->nnamed; i++)
        if (!strcmp(cli->named[i].name, n->name))
            return kn_fail(c, KILN_BAD_INPUT, "%s and %s name the same operand "
                           "%s", kn_flags[cli->named[i].flag].name,
                           kn_flags[id].name, n->name);
    cli->nnamed++;
    cli->v[id].seen = true;
    return KILN_OK;
}

/* Reads `text` into the first row of this name that accepts it. */
static kiln_status
set_flag(struct kn_ctx *c, struct kn_cli *cli, const char *word, int first,
         const char *text)
{
    const char *name = kn_flags[first].name, *flag = cli->at, *furthest = text;
    int id = first;

    if (kn_flags[id].kind == KN_K_ARG || kn_flags[id].kind == KN_K_PTR) {
        if (add_arg(c, cli, id, text))
            return refuse_value(c, id, word, text, cli->command);
        return KILN_OK;
    }
    if (kn_flag_repeats(&kn_flags[id]))
        return add_named(c, cli, id, text);
    for (; id < KN_NFLAGS; id = find_flag(name, cli->command, id + 1)) {
        struct kn_value v = { 0 };
        if (!kn_value_parse(c, &kn_flags[id], text, &v)) {
            furthest = v.s > furthest ? v.s : furthest;
            continue;
        }
        if (cli->v[id].seen)
            return kn_fail(c, KILN_BAD_INPUT, "%s is given twice", word);
        v.seen = true;
        v.word = flag;
        cli->v[id] = v;
        return KILN_OK;
    }
    cli->at = furthest;
    return refuse_value(c, first, word, text, cli->command);
}

/* Where a flag that this command does not take is one. */
static kiln_status
misplaced_flag(struct kn_ctx *c, const struct kn_cli *cli, const char *word,
               uint32_t others)
{
    struct kn_buf b = { .c = c };

    for (int i = 0; i < KN_NCMDS; i++)
        if (others & 1u << i)
            kn_putf(&b, "%s%s", b.n ? ", " : "", commands[i].name);
    return kn_fail(c, KILN_BAD_INPUT, "'%s' does not take %s (of %s)",
                   kn_command_name(cli->command), word, b.s);
}

static kiln_status
unknown_flag(struct kn_ctx *c, const struct kn_cli *cli, const char *word)
{
    struct kn_nearest x;
    uint32_t others = 0;

    kn_nearest_open(&x, word);
    for (int i = 0; i < KN_NFLAGS; i++) {
        if (!strcmp(kn_flags[i].name, word))
            others |= kn_flags[i].commands;
        if (kn_flags[i].commands & 1u << cli->command)
            kn_nearest_try(&x, kn_flags[i].name, strlen(kn_flags[i].name));
    }
    if (others)
        return misplaced_flag(c, cli, word, others);
    return kn_fail(c, KILN_BAD_INPUT,
                   "there is no flag '%s', see kilnc %s --help%s", word,
                   kn_command_name(cli->command), kn_nearest_text(c, &x));
}

/* The flag at argv[*i], its value if it has one. */
static kiln_status
parse_flag(struct kn_ctx *c, struct kn_cli *cli, char **argv, int *i)
{
    char *word = argv[*i], *text = NULL, *eq = strchr(word, '=');
    int id;

    cli->at = word;
    if (eq && word[1] == '-') {
        word = kn_strndup(c, word, (size_t)(eq - word));
        text = eq + 1;
    }
    id = find_flag(word, cli->command, 0);
    if (id == KN_NFLAGS)
        return unknown_flag(c, cli, word);
    if (kn_flags[id].group == KN_G_LATER)
        return kn_fail(c, KILN_UNSUPPORTED, "%s is not available yet", word);
    if (kn_flags[id].kind == KN_K_NONE) {
        if (text)
            return kn_fail(c, KILN_BAD_INPUT, "%s takes no value", word);
        return set_flag(c, cli, word, id, "");
    }
    if (!text)
        text = argv[*i + 1] ? argv[++*i] : NULL;
    if (!text) {
        cli->at = word + strlen(word);
        return refuse_value(c, id, word, NULL, cli->command);
    }
    return set_flag(c, cli, word, id, text);
}

static kiln_status
check_positionals(struct kn_ctx *c, struct kn_cli *cli)
{
    const struct command *cmd = &commands[cli->command];

    if (cli->npos < cmd->least)
        return kn_fail(c, KILN_BAD_INPUT, "'%s' needs %s", cmd->name,
                       cmd->positionals);
    if (cli->npos > cmd->most)
        cli->at = cli->pos[cmd->most];
    if (cli->npos > cmd->most)
        return kn_fail(c, KILN_BAD_INPUT, "'%s' does not take '%s'",
                       cmd->name, cli->pos[cmd->most]);
    return KILN_OK;
}

static void
collect_config(struct kn_ctx *c, struct kn_cli *cli)
{
    struct kn_buf b = { .c = c };

    kn_put(&b, "");
    for (int i = 0; i < KN_NFLAGS; i++)
        if (cli->v[i].seen && kn_flags[i].group == KN_G_CONFIG)
            kn_putf(&b, "%s%s=%s", b.n ? " " : "", kn_flags[i].name + 2,
                    cli->v[i].s);
    cli->config = b.s;
}

/* --arch of a command that has --device: the simulator of that target. */
static kiln_status
take_arch(struct kn_ctx *c, struct kn_cli *cli)
{
    enum kn_flag_id id = cli->command == KN_CMD_selftest ? KN_FLAG_place
                                                         : KN_FLAG_device;
    struct kn_value *arch = &cli->v[KN_FLAG_run_arch], *v = &cli->v[id];
    int64_t *target = KN_NEW(c, int64_t, 1);
    struct kn_buf b = { .c = c };

    if (!arch->seen)
        return KILN_OK;
    *target = 1 + arch->i;
    cli->at = arch->word;
    if (v->seen && (v->i == KN_DEV_HIP || v->list[0] != *target))
        return kn_fail(c, KILN_BAD_INPUT, "--arch %s is the simulator of that "
                       "target, but --device says %s", arch->s, v->s);
    cli->at = NULL;
    kn_putf(&b, "sim:%s", arch->s);
    *v = (struct kn_value){ .seen = true, .i = KN_DEV_SIM, .s = b.s,
                            .list = target, .n = 1 };
    return KILN_OK;
}

static kiln_status
parse_words(struct kn_ctx *c, int argc, char **argv, struct kn_cli *cli)
{
    cli->pos = KN_NEW(c, const char *, (size_t)argc);
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            cli->help = 1;
            return KILN_OK;
        }
        if (argv[i][0] == '-' && argv[i][1])
            KN_TRY(parse_flag(c, cli, argv, &i));
        else
            cli->pos[cli->npos++] = argv[i];
    }
    cli->at = NULL;
    collect_config(c, cli);
    KN_TRY(take_arch(c, cli));
    return check_positionals(c, cli);
}

enum kn_command
kn_command_find(const char *name)
{
    int cmd = 0;

    while (cmd < KN_NCMDS && strcmp(commands[cmd].name, name))
        cmd++;
    return (enum kn_command)cmd;
}

static kiln_status
unknown_command(struct kn_ctx *c, const char *word)
{
    const char *names[KN_NCMDS];

    for (int i = 0; i < KN_NCMDS; i++)
        names[i] = commands[i].name;
    if (kn_name_index(kn_family_names, KILN_NFAMILIES, word) >= 0)
        return kn_fail(c, KILN_BAD_INPUT, "'%s' is a family, see kilnc --help; "
                       "did you mean 'run %s'?", word, word);
    return kn_fail(c, KILN_BAD_INPUT, "there is no command '%s', see kilnc "
                   "--help%s", word, kn_did_you_mean(c, word, names, KN_NCMDS));
}

kiln_status
kn_cli_parse(struct kn_ctx *c, int argc, char **argv, struct kn_cli *cli)
{
    struct kn_words words = { argc, argv };
    enum kn_command cmd;

    memset(cli, 0, sizeof *cli);
    if (argc < 2)
        return kn_fail(c, KILN_BAD_INPUT,
                       "kilnc needs a command; see kilnc --help");
    cmd = kn_command_find(argv[1]);
    cli->at = argv[1];
    if (cmd == KN_NCMDS)
        return unknown_command(c, argv[1]);
    cli->command = cmd;
    if (!commands[cmd].body)
        return kn_fail(c, KILN_UNSUPPORTED, "'%s' is not available yet",
                       argv[1]);
    if (cmd == KN_CMD_bench)
        KN_TRY(kn_hipblaslt_words(c, &words));
    KN_TRY(parse_words(c, words.argc, words.argv, cli));
    KN_TRY(kn_cli_declare(c, cli));
    return kn_cli_beta(c, cli);
}
