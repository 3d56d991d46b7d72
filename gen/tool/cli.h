/* cli.h - the command line of kilnc as data. flags.def and commands.def are
 * the only lists of what exists; parser, help and docs/cli.md come from
 * them. */
#ifndef KN_CLI_H
#define KN_CLI_H

#include "../../ir/formula.h"
#include "../../runtime/sim/sim.h"

enum kn_command {
#define CMD(id, pos, least, most, body, help) KN_CMD_##id,
#include "commands.def"
#undef CMD
    KN_NCMDS
};

enum kn_flag_id {
#define FLAG(id, name, kind, spec, lo, hi, commands, group, help) KN_FLAG_##id,
#include "flags.def"
#undef FLAG
    KN_NFLAGS
};

/* X(id, heading): groups of flags, in the order of the help. */
#define KN_FLAG_GROUPS(X) \
    X(PROBLEM, "Problem") \
    X(CONFIG, "Configuration (omitted: chosen, and printed)") \
    X(OUTPUT, "Output") \
    X(DATA, "Data") \
    X(LAUNCH, "Launch") \
    X(DEVICE, "Device") \
    X(REPORT, "Report") \
    X(LATER, "")

enum kn_flag_group {
#define X(id, heading) KN_G_##id,
    KN_FLAG_GROUPS(X)
#undef X
    KN_NFLAGGROUPS
};

enum kn_flag_kind {
    KN_K_NONE,               /* no value */
    KN_K_INT,                /* i */
    KN_K_REAL,               /* f */
    KN_K_TEXT,               /* s */
    KN_K_CHOICE,             /* i: index in spec, s: the word */
    KN_K_LIST,               /* list[n]: N,N,... */
    KN_K_SIZES,              /* list[n]: as many as spec has, 'x' between */
    KN_K_DIMS,               /* list[3]: missing ones are 1 */
    KN_K_SHARD,              /* list[2]: "i/n", both from 1 */
    KN_K_WG,                 /* i: enum kn_wg; list[n], or list[0] = K */
    KN_K_DEVICE,             /* i: enum kn_device_kind; list[0]: target or number */
    KN_K_ARG,                /* repeatable: cli->args */
    KN_K_PTR,                /* repeatable: cli->args with an offset */
    KN_K_ARRAY,              /* repeatable: cli->named, NAME or NAME=FILE */
    KN_K_SCALAR,             /* repeatable: cli->named, NAME=V */
    KN_NKINDS
};

enum kn_wg { KN_WG_ALL, KN_WG_LIST, KN_WG_SAMPLE };
enum kn_device_kind { KN_DEV_SIM, KN_DEV_HIP };

struct kn_flag {
    const char *name, *spec, *help;
    enum kn_flag_kind kind;
    enum kn_flag_group group;
    int64_t lo, hi;
    uint32_t commands;       /* bit set of enum kn_command */
};
extern const struct kn_flag kn_flags[KN_NFLAGS];

struct kn_value {
    bool seen;
    const char *word;        /* of the command line: the flag */
    kiln_target only;        /* the one that an alias has a meaning on, or NONE */
    int64_t i;
    double f;
    const char *s;
    const int64_t *list;
    size_t n;
};

enum kn_cli_arg_kind {
    KN_CA_I32, KN_CA_I64, KN_CA_F32, KN_CA_NULL,
    KN_CA_IN, KN_CA_OUT, KN_CA_INOUT
};

struct kn_cli_arg {
    enum kn_cli_arg_kind kind;
    int64_t i;               /* I32, I64; F32: its bits */
    const char *in, *out;    /* files; INOUT without one writes nothing */
    uint64_t bytes;          /* OUT */
    uint64_t offset;         /* --ptr: where the address goes */
};

/* An operand of the epilogue's expression. */
struct kn_cli_named {
    enum kn_flag_id flag;
    const char *name, *file; /* file: NULL, none is given */
    double value;            /* SCALAR */
};

struct kn_cli {
    enum kn_command command;
    int help;                /* print help instead of running */
    size_t npos;
    const char **pos;
    struct kn_value v[KN_NFLAGS];
    size_t nargs;
    struct kn_cli_arg *args;
    size_t nnamed;
    struct kn_cli_named *named;
    const char *config;      /* "tile=256x256x128 waves=2x4", "" if none */
    const char *at;          /* what a refusal is about, in a word of the command
                                line or at the end of one; NULL: of no word */
};

/* Parses argv[1..]. BAD_INPUT with one sentence for an unknown, ill-typed,
 * out-of-range, duplicate or misplaced flag; UNSUPPORTED for a command or
 * flag that is not available yet. */
kiln_status kn_cli_parse(struct kn_ctx *c, int argc, char **argv,
                         struct kn_cli *cli);

/* BAD_INPUT with one sentence for a flag that says nothing about the family,
 * the file or the command it is given with. */
kiln_status kn_cli_judge(struct kn_ctx *c, struct kn_cli *cli);

/* Reads the text of a flag's value; false if it is not of its kind: v->s is
 * then where in the text. */
bool kn_value_parse(struct kn_ctx *c, const struct kn_flag *f,
                    const char *text, struct kn_value *v);
bool kn_cli_arg_parse(struct kn_ctx *c, const char *text,
                      struct kn_cli_arg *a);
bool kn_cli_ptr_parse(struct kn_ctx *c, const char *text,
                      struct kn_cli_arg *a);

/* Whether a flag may be given several times. */
static inline bool
kn_flag_repeats(const struct kn_flag *f)
{
    return f->kind == KN_K_ARG || f->kind == KN_K_PTR ||
           f->kind == KN_K_ARRAY || f->kind == KN_K_SCALAR;
}

bool kn_cli_named_parse(struct kn_ctx *c, const struct kn_flag *f,
                        const char *text, struct kn_cli_named *n);

/* cli_named.c - what --row, --col, --tensor and --scalar name is declared in
 * front of the epilogue's expression, unless that declares it itself. */
kiln_status kn_cli_declare(struct kn_ctx *c, struct kn_cli *cli);
/* BAD_INPUT for a flag without an expression, and for `run` a scalar without
 * a value. */
kiln_status kn_cli_judge_named(struct kn_ctx *c, const struct kn_cli *cli);
/* The flag that names an operand, NULL: none does. */
const struct kn_cli_named *kn_cli_named(const struct kn_cli *cli,
                                        const struct kn_formula_operand *o);

/* A --beta that is neither 0 nor 1 becomes part of the epilogue's expression:
 * acc + F * c for each acc. */
kiln_status kn_cli_beta(struct kn_ctx *c, struct kn_cli *cli);

/* The target of --arch, NONE without it. */
kiln_target kn_cli_target(const struct kn_cli *cli);

/* The family the first positional names. */
/* --group-table host: lengths, which the launch knows. */
static inline bool
kn_cli_host_groups(const struct kn_cli *cli)
{
    return cli->v[KN_FLAG_group_table].i == 3;
}

kiln_status kn_cli_family(struct kn_ctx *c, const struct kn_cli *cli,
                          kiln_family *out);

/* The problem as the user wrote it, with its family; what he left out is zero,
 * but for a layout that is the family's only one. */
kiln_status kn_cli_problem(struct kn_ctx *c, const struct kn_cli *cli,
                           kiln_target target, kiln_problem *p);

/* Whether --wg names some of the workgroups, not all. */
static inline bool
kn_cli_samples(const struct kn_cli *cli)
{
    return cli->v[KN_FLAG_wg].seen && cli->v[KN_FLAG_wg].i != KN_WG_ALL;
}

/* The --wg choice for a launch of `total` workgroups. */
kiln_status kn_cli_select(struct kn_ctx *c, const struct kn_cli *cli,
                          uint64_t total, struct kn_sim_select *out);

/* The command of this name, KN_NCMDS if there is none. */
enum kn_command kn_command_find(const char *name);

/* Whether the flag says something about the family; -1: about any but what is
 * of one family alone. */
bool kn_flag_means(enum kn_flag_id id, int family);

/* Help of one command, for a family or (-1) any, of the tool, and
 * docs/cli.md. */
void kn_help_command(struct kn_buf *b, enum kn_command cmd, int family);
void kn_help_tool(struct kn_buf *b);
void kn_help_markdown(struct kn_buf *b);

/* The manual page, and the completions of bash and zsh. */
void kn_help_man(struct kn_buf *b, const char *version);
void kn_help_bash(struct kn_buf *b);
void kn_help_zsh(struct kn_buf *b);

const char *kn_command_name(enum kn_command cmd);
const char *kn_command_positionals(enum kn_command cmd);
const char *kn_command_help(enum kn_command cmd);
bool kn_command_available(enum kn_command cmd);

/* nearest.c - what may have been meant by a word that is none: the nearest of
 * those there are, and the field's other names (aliases.def). */

/* The best of the candidates so far; `best` is empty if none is near. */
struct kn_nearest {
    const char *word;
    unsigned cost;
    size_t n;
    const char *best;
};

/* Begins with the names the word has elsewhere. */
void kn_nearest_open(struct kn_nearest *x, const char *word);
void kn_nearest_try(struct kn_nearest *x, const char *candidate, size_t n);

/* "; did you mean 'gemm'?", "" if nothing is near. */
const char *kn_nearest_text(struct kn_ctx *c, const struct kn_nearest *x);

/* The same of one list. */
const char *kn_did_you_mean(struct kn_ctx *c, const char *word,
                            const char *const *names, size_t n);

/* kiln's word for a value, or the word itself; *target is where alone it means
 * that, or NONE. */
const char *kn_alias(const char *word, kiln_target *target);

/* Whether two words are the same but for case, and - for _. */
bool kn_same_word(const char *a, const char *b, size_t n);

/* The value of the flag, or of a later one of its name, that `text` is nearest
 * to, NULL if none is near. */
const char *kn_nearest_value(struct kn_ctx *c, enum kn_command cmd, int id,
                             const char *text);

#endif
