/* kilnc.c - the tool: command line in, one command, exit status out. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../runtime/config.h"
#include "../../runtime/file.h"
#include "cmd.h"
#include "progress.h"
#include "../tuning/tuning.h"

/* Columns of a line that an error shows; the longest file it is looked up in. */
enum { SHOWN = 72, MOST_READ = 1 << 26 };

/* `help`, `help COMMAND`, `help COMMAND FAMILY`. */
static void
answer_help(struct kn_buf *b, int argc, char **argv)
{
    enum kn_command cmd = argc > 2 ? kn_command_find(argv[2]) : KN_NCMDS;
    const char *family = argc > 3 ? argv[3] : "";

    if (cmd < KN_NCMDS)
        kn_help_command(b, cmd, kn_name_index(kn_family_names, KILN_NFAMILIES,
                                              family));
    else if (argc < 3)
        kn_help_tool(b);
}

/* Help and version: words that are answered before any command. */
static bool
answer_early(struct kn_buf *b, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";

    if (!strcmp(word, "--help") || !strcmp(word, "-h"))
        kn_help_tool(b);
    else if (!strcmp(word, "help"))
        answer_help(b, argc, argv);
    else if (!strcmp(word, "--help-markdown"))
        kn_help_markdown(b);
    else if (!strcmp(word, "--help-man"))
        kn_help_man(b, KN_VERSION);
    else if (!strcmp(word, "--help-bash"))
        kn_help_bash(b);
    else if (!strcmp(word, "--help-zsh"))
        kn_help_zsh(b);
    else if (!strcmp(word, "--version"))
        kn_put(b, "kilnc " KN_VERSION "\n");
    return b->n != 0;
}

/* `help COMMAND` is `COMMAND --help`. */
static kiln_status
parse(struct kn_ctx *c, int argc, char **argv, struct kn_cli *cli)
{
    int skip = argc > 2 && !strcmp(argv[1], "help");

    return kn_cli_parse(c, argc - skip, argv + skip, cli);
}

static kiln_status
run_tool(struct kn_tool *t, const struct kn_env *env, int argc, char **argv)
{
    struct kn_tuning tuning;
    struct kn_cli *cli;

    KN_ENTER(t->c);
    if (answer_early(t->text, argc, argv))
        return KILN_OK;
    cli = KN_NEW(t->c, struct kn_cli, 1);
    t->cli = cli;
    KN_TRY(parse(t->c, argc, argv, cli));
    if (cli->help) {
        kn_help_command(t->text, cli->command, kn_name_index(
            kn_family_names, KILN_NFAMILIES, cli->npos ? cli->pos[0] : ""));
        return KILN_OK;
    }
    KN_TRY(kn_cli_judge(t->c, cli));
    if (env->tuning_file) {
        KN_TRY(kn_tuning_load(t->c, env->tuning_file, &tuning));
        t->c->tuning = &tuning;
    }
    return kn_command_run(t);
}

/* A window of a line of text around byte `col`, and a caret under that byte;
 * what no terminal shows is a dot. */
static void
print_line(const char *s, size_t n, const char *line, size_t col)
{
    size_t from = col > SHOWN * 2 / 3 ? col - SHOWN * 2 / 3 : 0;

    fprintf(stderr, "%5s | ", line);
    for (size_t i = from; i < n && i < from + SHOWN; i++)
        fputc(s[i] == '\t' ? ' ' : s[i] < ' ' || s[i] > '~' ? '.' : s[i], stderr);
    fprintf(stderr, "\n      | %*s^\n", (int)(col - from), "");
}

/* The line of an error's place, if that is in a file to read again. */
static kiln_status
print_place(struct kn_ctx *c, const kiln_error *e)
{
    uint8_t *text;
    const char *s, *end;
    char line[16];
    size_t n;

    KN_ENTER(c);
    if (e->col < 1 || kn_file_read_plain(c, e->file, MOST_READ, &text, &n))
        return KILN_OK;
    s = (const char *)text;
    end = s + n;
    for (int k = 1; k < e->line; k++) {
        const char *next = memchr(s, '\n', (size_t)(end - s));

        if (!next)
            return KILN_OK;
        s = next + 1;
    }
    n = strcspn(s, "\n");
    if ((size_t)e->col <= n + 1) {
        snprintf(line, sizeof line, "%d", e->line);
        print_line(s, n, line, (size_t)e->col - 1);
    }
    return KILN_OK;
}

/* Where in the command line an error is: what its parser says, or a place in the
 * epilogue, which the error counts from there; NULL: nowhere. */
static const char *
place_of(const struct kn_cli *cli, const kiln_error *e)
{
    const struct kn_value *epilogue = &cli->v[KN_FLAG_epilogue];

    if (!cli->at && epilogue->seen && e->line == 1)
        return epilogue->s + e->col - 1;
    return cli->at;
}

/* The command line, and where in it `at` is, which is in one of its words; 0: in
 * none. */
static size_t
put_words(struct kn_buf *line, int argc, char **argv, const char *at)
{
    size_t col = 0;

    kn_put(line, "kilnc");
    for (int i = 1; i < argc; i++) {
        size_t n = strlen(argv[i]);
        const char *quote = n && !argv[i][strcspn(argv[i], " '\"()*<>|&;$")]
                            ? "" : "'";

        kn_putf(line, " %s", quote);
        if (at >= argv[i] && at <= argv[i] + n)
            col = line->n + (size_t)(at - argv[i]);
        kn_putf(line, "%s%s", argv[i], quote);
    }
    return col;
}

static kiln_status
print_words(struct kn_ctx *c, int argc, char **argv, const char *at)
{
    struct kn_buf line = { .c = c };
    size_t col;

    KN_ENTER(c);
    col = put_words(&line, argc, argv, at);
    if (col)
        print_line(line.s, line.n, "$", col);
    return KILN_OK;
}

static void
print_error(struct kn_ctx *c, const kiln_error *e)
{
    if (e->file[0] && e->line)
        fprintf(stderr, "%s:%d:%d: ", e->file, e->line, e->col);
    else if (e->file[0])
        fprintf(stderr, "kilnc: %s: ", e->file);
    else
        fprintf(stderr, "kilnc: ");
    fprintf(stderr, "%s\n", e->text[0] ? e->text : kiln_status_name(e->status));
    if (e->file[0] && e->line)
        (void)print_place(c, e);
}

static int
exit_code(kiln_status s)
{
    switch (s) {
    case KILN_OK:
        return 0;
    case KILN_FINDING:
    case KILN_INTERNAL:
        return 1;
    case KILN_UNSUPPORTED:
    case KILN_FALLBACK:
        return 3;
    case KILN_BAD_INPUT:
    case KILN_NO_MEMORY:
    case KILN_IO:
    case KILN_NO_DEVICE:
    case KILN_NOT_FOUND:
        break;
    }
    return 2;
}

int
main(int argc, char **argv)
{
    struct kn_ctx c;
    struct kn_buf text = { .c = &c };
    struct kn_progress progress;
    struct kn_tool t = { .c = &c, .progress = &progress, .text = &text };
    struct kn_env env;
    kiln_status s;
    bool plain;

    kn_ctx_init(&c, NULL, NULL);
    kn_env_read(&env);
    plain = env.no_color || (env.term && !strcmp(env.term, "dumb"));
    kn_progress_open(&progress, stderr, plain);
    t.colour = !plain && isatty(STDOUT_FILENO);
    s = run_tool(&t, &env, argc, argv);
    kn_progress_end(&progress);
    if (text.s && text.n)
        fwrite(text.s, 1, text.n, stdout);
    if (fflush(stdout) || ferror(stdout))
        s = kn_fail(&c, KILN_IO, "cannot write to standard output");
    if (c.err.status)
        print_error(&c, &c.err);
    if (c.err.status && !c.err.file[0] && t.cli && place_of(t.cli, &c.err))
        (void)print_words(&c, argc, argv, place_of(t.cli, &c.err));
    kn_ctx_free(&c);
    return exit_code(s);
}
