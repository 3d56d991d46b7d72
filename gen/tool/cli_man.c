/* cli_man.c - the manual page, from the tables of the parser and of the
 * environment: `kilnc --help-man` prints it. */
#include "cli.h"

static const char *const headings[KN_NFLAGGROUPS] = {
#define X(id, heading) heading,
    KN_FLAG_GROUPS(X)
#undef X
};

static const struct variable {
    const char *name, *meaning;
} variables[] = {
#define ENV(id, name, meaning) { name, meaning },
#include "../../runtime/env.def"
#undef ENV
};

/* A text that troff would read a request or an escape in. */
static void
put_text(struct kn_buf *b, const char *s)
{
    if (*s == '.' || *s == '\'')
        kn_put(b, "\\&");
    for (; *s; s++) {
        if (*s == '\\')
            kn_put(b, "\\e");
        else
            kn_putf(b, "%s%c", *s == '-' ? "\\" : "", *s);
    }
}

static void
put_item(struct kn_buf *b, const char *name, const char *value,
         const char *meaning)
{
    kn_put(b, ".TP\n\\fB");
    put_text(b, name);
    kn_put(b, "\\fR");
    if (*value) {
        kn_put(b, " \\fI");
        put_text(b, value);
        kn_put(b, "\\fR");
    }
    kn_put(b, "\n");
    put_text(b, meaning);
    kn_put(b, "\n");
}

static void
put_flag(struct kn_buf *b, const struct kn_flag *f)
{
    const char *comma = "";

    put_item(b, f->name, f->spec, f->help);
    kn_put(b, "(");
    for (int i = 0; i < KN_NCMDS; i++)
        if (f->commands & 1u << i) {
            kn_putf(b, "%s%s", comma, kn_command_name((enum kn_command)i));
            comma = ", ";
        }
    kn_put(b, ")\n");
}

static void
put_flags(struct kn_buf *b)
{
    for (int g = 0; g < KN_G_LATER; g++) {
        kn_putf(b, ".SS %s\n", headings[g]);
        for (int i = 0; i < KN_NFLAGS; i++)
            if ((int)kn_flags[i].group == g)
                put_flag(b, &kn_flags[i]);
    }
}

static void
put_rest(struct kn_buf *b)
{
    kn_put(b, ".SH EXIT STATUS\n"
              "0 fine, 1 wrong result or a finding, 2 bad usage or bad input, "
              "3 unsupported.\n.SH ENVIRONMENT\n");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        put_item(b, variables[i].name, "", variables[i].meaning);
    kn_put(b, ".SH EXAMPLES\n"
              "A kernel is generated, executed on the simulator and checked:\n"
              ".PP\n.nf\n"
              "kilnc run gemm \\-\\-a mxfp8 \\-\\-b mxfp8 \\-m 512 \\-n 512 "
              "\\-k 1024 \\-\\-device sim:gfx950\n.fi\n.PP\n"
              "A code object, made without a GPU:\n.PP\n.nf\n"
              "kilnc generate gemm \\-\\-a bf16 \\-\\-arch gfx942 \\-o k.co\n"
              ".fi\n");
}

void
kn_help_man(struct kn_buf *b, const char *version)
{
    kn_putf(b, ".\\\" made by kilnc --help-man\n"
               ".TH KILNC 1 \"\" \"kiln %s\" \"User Commands\"\n"
               ".SH NAME\n"
               "kilnc \\- generate, run and inspect GEMM kernels for AMD "
               "gfx942 and gfx950\n.SH SYNOPSIS\n"
               "\\fBkilnc\\fR \\fICOMMAND\\fR [\\fIflags\\fR]\n.PP\n"
               "\\fBkilnc\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR\n"
               ".SH DESCRIPTION\n"
               "kilnc makes code objects of matrix products from one "
               "parameterized generator, proves their waits, executes them on "
               "a simulator of the instruction set, predicts their time and "
               "compares them with other kernels.\nNo GPU is needed.\n"
               ".SH COMMANDS\n", version);
    for (int i = 0; i < KN_NCMDS; i++)
        put_item(b, kn_command_name((enum kn_command)i),
                 kn_command_positionals((enum kn_command)i),
                 kn_command_help((enum kn_command)i));
    kn_put(b, ".SH OPTIONS\n"
              "The commands that take a flag stand behind its meaning.\n");
    put_flags(b);
    put_rest(b);
}
