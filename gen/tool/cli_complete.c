/* cli_complete.c - what bash and zsh complete, from the tables of the parser:
 * `kilnc --help-bash` and `kilnc --help-zsh` print it. */
#include <string.h>

#include "cli.h"

static const char *const families[] = {
#define X(id, text) text,
    KILN_FAMILIES(X)
#undef X
};

static bool
takes(const struct kn_flag *f, enum kn_command cmd)
{
    return f->group != KN_G_LATER && f->commands & 1u << cmd;
}

/* The words a value is one of. Other specs stand for what the user knows. */
static bool
has_words(const struct kn_flag *f)
{
    return f->kind == KN_K_CHOICE || f->kind == KN_K_DEVICE;
}

/* A command may have two rows of one name: the first stands for both. */
static bool
is_first(int flag, enum kn_command cmd)
{
    for (int i = 0; i < flag; i++)
        if (takes(&kn_flags[i], cmd) &&
            !strcmp(kn_flags[i].name, kn_flags[flag].name))
            return false;
    return true;
}

static void
put_families(struct kn_buf *b)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        kn_putf(b, "%s%s", i ? " " : "", families[i]);
}

/* `a|b` as `a b`. A colon separates fields in zsh; a number is left to type:
 * hip:N is offered as hip:0. */
static void
put_words(struct kn_buf *b, const char *spec, bool zsh)
{
    for (const char *s = spec; *s; s++) {
        if (*s == '|')
            kn_put(b, " ");
        else if (*s == ':' && zsh)
            kn_put(b, "\\:");
        else
            kn_putf(b, "%c", *s == 'N' ? '0' : *s);
    }
}

static void
put_all_words(struct kn_buf *b, const char *name, enum kn_command cmd, bool zsh)
{
    const char *space = "";

    for (int i = 0; i < KN_NFLAGS; i++)
        if (takes(&kn_flags[i], cmd) && has_words(&kn_flags[i]) &&
            !strcmp(kn_flags[i].name, name)) {
            kn_put(b, space);
            put_words(b, kn_flags[i].spec, zsh);
            space = " ";
        }
}

/* ---- bash --------------------------------------------------------------- */

static void
put_bash_command(struct kn_buf *b, enum kn_command cmd)
{
    kn_putf(b, "    %s)\n        flags='", kn_command_name(cmd));
    for (int i = 0; i < KN_NFLAGS; i++)
        if (takes(&kn_flags[i], cmd) && is_first(i, cmd))
            kn_putf(b, "%s ", kn_flags[i].name);
    kn_put(b, "--help'\n");
    if (strstr(kn_command_positionals(cmd), "FAMILY")) {
        kn_put(b, "        words='");
        put_families(b);
        kn_put(b, "'\n");
    }
    kn_put(b, "        case $before in\n");
    for (int i = 0; i < KN_NFLAGS; i++) {
        if (!takes(&kn_flags[i], cmd) || !is_first(i, cmd) ||
            kn_flags[i].kind == KN_K_NONE)
            continue;
        kn_putf(b, "        %s) flags= words='", kn_flags[i].name);
        put_all_words(b, kn_flags[i].name, cmd, false);
        kn_put(b, "' ;;\n");
    }
    kn_put(b, "        esac ;;\n");
}

void
kn_help_bash(struct kn_buf *b)
{
    kn_put(b, "# bash completion of kilnc, made by `kilnc --help-bash`.\n"
              "_kilnc()\n{\n"
              "    local line=${COMP_LINE:0:COMP_POINT} flags= words=\n"
              "    local typed command before\n"
              "    read -r -a typed <<<\"$line\"\n"
              "    [[ $line != *[[:space:]] ]] || typed+=('')\n"
              "    local n=${#typed[@]} current=${typed[-1]}\n"
              "    command=${typed[1]} before=${typed[n-2]}\n"
              "    COMPREPLY=()\n"
              "    [ \"$n\" -gt 2 ] || command=\n"
              "    case $command in\n    '')\n        words='");
    for (int i = 0; i < KN_NCMDS; i++)
        kn_putf(b, "%s ", kn_command_name((enum kn_command)i));
    kn_put(b, "' flags='--help --version' ;;\n");
    for (int i = 0; i < KN_NCMDS; i++)
        put_bash_command(b, (enum kn_command)i);
    kn_put(b, "    esac\n"
              "    [[ $current != -* ]] || words=\n"
              "    [[ -z $words || $current == -* ]] || flags=\n"
              "    COMPREPLY=($(compgen -W \"$words $flags\" -- \"$current\"))"
              "\n"
              "    # Readline has completed what stands before a colon.\n"
              "    local colon=${current%\"${current##*:}\"}\n"
              "    COMPREPLY=(\"${COMPREPLY[@]#\"$colon\"}\")\n"
              "}\ncomplete -o default -F _kilnc kilnc\n");
}

/* ---- zsh ---------------------------------------------------------------- */

/* Inside '...' of a specification of _arguments or _describe. */
static void
put_quoted(struct kn_buf *b, const char *s)
{
    for (; *s; s++) {
        if (*s == '\'')
            kn_put(b, "'\\''");
        else
            kn_putf(b, "%s%c", strchr("[]:\\", *s) ? "\\" : "", *s);
    }
}

static void
put_zsh_flag(struct kn_buf *b, const struct kn_flag *f, enum kn_command cmd)
{
    bool often = kn_flag_repeats(f);
    struct kn_buf words = { .c = b->c };

    kn_putf(b, "            '%s%s[", often ? "*" : "", f->name);
    put_quoted(b, f->help);
    kn_put(b, "]");
    put_all_words(&words, f->name, cmd, true);
    if (f->kind != KN_K_NONE) {
        kn_put(b, ":");
        put_quoted(b, f->spec);
        if (words.n)
            kn_putf(b, ":(%s)", words.s);
        else
            kn_put(b, strstr(f->spec, "FILE") ? ":_files" : ": ");
    }
    kn_put(b, "' \\\n");
}

static void
put_zsh_command(struct kn_buf *b, enum kn_command cmd)
{
    bool family = strstr(kn_command_positionals(cmd), "FAMILY") != NULL;

    kn_putf(b, "    %s)\n        _arguments \\\n", kn_command_name(cmd));
    for (int i = 0; i < KN_NFLAGS; i++)
        if (takes(&kn_flags[i], cmd) && is_first(i, cmd))
            put_zsh_flag(b, &kn_flags[i], cmd);
    kn_put(b, "            '--help[list these flags]' \\\n"
              "            '*:");
    put_quoted(b, kn_command_positionals(cmd));
    kn_putf(b, ":%s' ;;\n", family ? "_kilnc_kernels" : "_files");
}

void
kn_help_zsh(struct kn_buf *b)
{
    kn_put(b, "#compdef kilnc\n"
              "# zsh completion of kilnc, made by `kilnc --help-zsh`.\n"
              "_kilnc_kernels()\n{\n    compadd ");
    put_families(b);
    kn_put(b, "\n    _files\n}\n\n_kilnc()\n{\n"
              "    local -a commands\n    commands=(\n");
    for (int i = 0; i < KN_NCMDS; i++) {
        kn_putf(b, "        '%s:", kn_command_name((enum kn_command)i));
        put_quoted(b, kn_command_help((enum kn_command)i));
        kn_put(b, "'\n");
    }
    kn_put(b, "    )\n    if ((CURRENT == 2)); then\n"
              "        _describe command commands\n        return\n    fi\n"
              "    local command=$words[2]\n"
              "    shift words\n    ((CURRENT--))\n"
              "    case $command in\n");
    for (int i = 0; i < KN_NCMDS; i++)
        put_zsh_command(b, (enum kn_command)i);
    kn_put(b, "    esac\n}\n\n_kilnc \"$@\"\n");
}
