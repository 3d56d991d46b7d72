/* cli_help.c - help and docs/cli.md, from the same tables as the parser. */
#include <string.h>

#include "cli.h"

#include "../forms.h"

static const struct example {
    enum kn_command command;
    const char *words;
} examples[] = {
#define EXAMPLE(command, words) { KN_CMD_##command, words },
#include "examples.def"
#undef EXAMPLE
};

static const char *const headings[KN_NFLAGGROUPS] = {
#define X(id, heading) heading,
    KN_FLAG_GROUPS(X)
#undef X
};

static bool
applies(const struct kn_flag *f, enum kn_command cmd, int group)
{
    return (int)f->group == group && f->commands & 1u << cmd;
}

static void
put_flag(struct kn_buf *b, const struct kn_flag *f)
{
    kn_putf(b, "%s%s%s", f->name, *f->spec ? " " : "", f->spec);
}

/* Whether the help of a command for a family (-1: any) lists the flag. */
static bool
is_listed(int i, enum kn_command cmd, int group, int family)
{
    return applies(&kn_flags[i], cmd, group) &&
           kn_flag_means((enum kn_flag_id)i, family);
}

static bool
has_group(enum kn_command cmd, int group, int family)
{
    for (int i = 0; i < KN_NFLAGS; i++)
        if (is_listed(i, cmd, group, family))
            return true;
    return false;
}

static void
put_synopsis(struct kn_buf *b, enum kn_command cmd)
{
    const char *pos = kn_command_positionals(cmd);

    kn_putf(b, "kilnc %s%s%s [flags]", kn_command_name(cmd), *pos ? " " : "",
            pos);
}

/* `text` in words, from column `at`, each line at most 80 columns. */
static void
put_wrapped(struct kn_buf *b, const char *text, size_t at)
{
    size_t col = at;

    while (*text) {
        size_t n = strcspn(text, " ");
        bool first = col == at;
        if (!first && col + 1 + n > 80) {
            kn_putf(b, "\n%*s", (int)at, "");
            col = at;
            first = true;
        }
        kn_putf(b, "%s%.*s", first ? "" : " ", (int)n, text);
        col += n + !first;
        text += n + (text[n] != 0);
    }
    kn_put(b, "\n");
}

static void
put_flag_line(struct kn_buf *b, const struct kn_flag *f)
{
    struct kn_buf left = { .c = b->c };

    put_flag(&left, f);
    if (left.n > 26)
        kn_putf(b, "  %s\n%30s", left.s, "");
    else
        kn_putf(b, "  %-28s", left.s);
    put_wrapped(b, f->help, 30);
}

/* The families that have flags of their own, which are listed on demand. */
static void
put_families(struct kn_buf *b, enum kn_command cmd)
{
    bool own[KILN_NFAMILIES] = { false }, any = false;

    for (int i = 0; i < KN_NFLAGS; i++)
        for (int f = 0; f < KILN_NFAMILIES; f++)
            if (kn_flags[i].commands & 1u << cmd &&
                kn_flag_means((enum kn_flag_id)i, f) &&
                !kn_flag_means((enum kn_flag_id)i, -1))
                own[f] = any = true;
    if (!any)
        return;
    kn_putf(b, "\nFlags of one family: kilnc help %s ", kn_command_name(cmd));
    for (int f = 0, n = 0; f < KILN_NFAMILIES; f++)
        if (own[f])
            kn_putf(b, "%s%s", n++ ? "|" : "", kn_family_names[f]);
    kn_put(b, "\n");
}

static void
put_examples(struct kn_buf *b, enum kn_command cmd)
{
    kn_put(b, "\nExamples:\n");
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        if (examples[i].command == cmd)
            kn_putf(b, "  kilnc %s%s%s\n", kn_command_name(cmd),
                    *examples[i].words ? " " : "", examples[i].words);
}

void
kn_help_command(struct kn_buf *b, enum kn_command cmd, int family)
{
    kn_put(b, "usage: ");
    put_synopsis(b, cmd);
    kn_putf(b, "\n%s\n", kn_command_help(cmd));
    for (int g = 0; g < KN_G_LATER; g++) {
        if (!has_group(cmd, g, family))
            continue;
        kn_putf(b, "\n%s:\n", headings[g]);
        for (int i = 0; i < KN_NFLAGS; i++)
            if (is_listed(i, cmd, g, family))
                put_flag_line(b, &kn_flags[i]);
    }
    if (family < 0)
        put_families(b, cmd);
    put_examples(b, cmd);
}

void
kn_help_tool(struct kn_buf *b)
{
    kn_put(b, "usage: kilnc COMMAND [flags]\n\n");
    for (int i = 0; i < KN_NCMDS; i++)
        if (kn_command_available((enum kn_command)i))
            kn_putf(b, "  %-10s %s\n", kn_command_name((enum kn_command)i),
                    kn_command_help((enum kn_command)i));
    kn_put(b, "\nkilnc COMMAND --help lists the flags of a command, kilnc "
              "help COMMAND FAMILY\nthose for a family.\n"
              "Exit status: 0 fine, 1 wrong result or a finding, 2 bad usage "
              "or bad input,\n3 unsupported.\n");
}

/* A bar ends a table cell in Markdown unless it is escaped. */
static void
put_cell(struct kn_buf *b, const char *s)
{
    for (; *s; s++)
        kn_putf(b, "%s%c", *s == '|' ? "\\" : "", *s);
}

static void
put_markdown_flag(struct kn_buf *b, const struct kn_flag *f)
{
    struct kn_buf left = { .c = b->c };

    put_flag(&left, f);
    kn_put(b, "| `");
    put_cell(b, left.s);
    kn_put(b, "` | ");
    put_cell(b, f->help);
    kn_put(b, " |");
    for (int i = 0; i < KN_NCMDS; i++)
        if (f->commands & 1u << i && kn_command_available((enum kn_command)i))
            kn_putf(b, " %s", kn_command_name((enum kn_command)i));
    kn_put(b, " |\n");
}

static void
put_schedules(struct kn_buf *b)
{
    kn_put(b, "\n## Schedules\n\n| word | the main loop |\n|---|---|\n");
    for (int i = 0; i < KN_NSCHEDULES; i++)
        kn_putf(b, "| `%s` | %s |\n", kn_schedule_names[i],
                kn_schedules[i].meaning);
    kn_put(b, "\nOlder words that are taken too:\n\n");
#define X(then, now) kn_put(b, "- `" then "` for `" now "`\n");
    KN_OLD_SCHEDULES(X)
#undef X
}

void
kn_help_markdown(struct kn_buf *b)
{
    kn_put(b, "# kilnc\n\nMade by `kilnc --help-markdown` from gen/forms.def, "
              "gen/tool/commands.def and\ngen/tool/flags.def; a test compares.\n\n");
    for (int i = 0; i < KN_NCMDS; i++) {
        if (!kn_command_available((enum kn_command)i))
            continue;
        kn_put(b, "- `");
        put_synopsis(b, (enum kn_command)i);
        kn_putf(b, "`: %s\n", kn_command_help((enum kn_command)i));
    }
    kn_put(b, "\nExit status: 0 fine, 1 wrong result or a finding, 2 bad "
              "usage or bad input (one\nsentence), 3 unsupported.\n");
    for (int g = 0; g < KN_G_LATER; g++) {
        kn_putf(b, "\n## %s\n\n| flag | meaning | commands |\n|---|---|---|\n",
                headings[g]);
        for (int i = 0; i < KN_NFLAGS; i++)
            if ((int)kn_flags[i].group == g)
                put_markdown_flag(b, &kn_flags[i]);
    }
    put_schedules(b);
}
