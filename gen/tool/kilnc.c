/* kilnc.c - the tool: command line in, one command, exit status out. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../runtime/config.h"
#include "cmd.h"
#include "progress.h"
#include "../tuning.h"

/* Help and version: words that are answered before any command. */
static bool
answer_early(struct kn_buf *b, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";

    if (!strcmp(word, "--help") || !strcmp(word, "help"))
        kn_help_tool(b);
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
    KN_TRY(kn_cli_parse(t->c, argc, argv, cli));
    if (cli->help) {
        kn_help_command(t->text, cli->command);
        return KILN_OK;
    }
    KN_TRY(kn_cli_judge(t->c, cli));
    if (env->tuning_file) {
        KN_TRY(kn_tuning_load(t->c, env->tuning_file, &tuning));
        t->c->tuning = &tuning;
    }
    return kn_command_run(t);
}

static void
print_error(const kiln_error *e)
{
    if (e->file[0] && e->line)
        fprintf(stderr, "%s:%d:%d: ", e->file, e->line, e->col);
    else if (e->file[0])
        fprintf(stderr, "kilnc: %s: ", e->file);
    else
        fprintf(stderr, "kilnc: ");
    fprintf(stderr, "%s\n", e->text[0] ? e->text : kiln_status_name(e->status));
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
        print_error(&c.err);
    kn_ctx_free(&c);
    return exit_code(s);
}
