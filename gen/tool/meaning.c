/* meaning.c - refuses flags that are well-formed and say nothing: about the
 * family, about a file, or without another flag. */
#include <string.h>

#include "cli.h"

enum {
    GEMM = 1 << KILN_GEMM,
    GROUPED = 1 << KILN_GROUPED,
    MOE = 1 << KILN_MOE,
    QUANT = 1 << KILN_QUANT,
#define FAMILY(id, batch, ...) | (batch) << KILN_##id
    BATCHED = 0
#include "../families.def"
    ,
#define FAMILY(id, batch, ragged, ...) | ((ragged) != 0) << KILN_##id
    RAGGED = 0
#include "../families.def"
};

static const struct meaning {
    enum kn_flag_id flag;
    unsigned families;
} meanings[] = {
#define MEANS(flag, families) { KN_FLAG_##flag, families },
#include "meaning.def"
#undef MEANS
};

/* Commands that take a file or a problem, for which the flags are. */
enum {
    EITHER = 1u << KN_CMD_info | 1u << KN_CMD_parity | 1u << KN_CMD_report |
             1u << KN_CMD_disasm
};

/* Lists, whose rows may name another family each. */
enum { LISTS = 1u << KN_CMD_bench | 1u << KN_CMD_tune | 1u << KN_CMD_pack };

/* The family all the problem flags are about, -1 if there is none. */
static int
family_of(const struct kn_cli *cli)
{
    const struct kn_value *run = &cli->v[KN_FLAG_run];

    if (run->seen)
        return kn_name_index(kn_family_names, KILN_NFAMILIES, run->s);
    for (size_t i = 0; i < cli->npos; i++) {
        int f = kn_name_index(kn_family_names, KILN_NFAMILIES, cli->pos[i]);

        if (f >= 0)
            return f;
    }
    return -1;
}

static bool
describes_problem(enum kn_flag_id id)
{
    return kn_flags[id].group == KN_G_PROBLEM ||
           kn_flags[id].group == KN_G_CONFIG;
}

static kiln_status
judge_without_family(struct kn_ctx *c, const struct kn_cli *cli,
                     enum kn_flag_id id)
{
    if (cli->command == KN_CMD_list && !cli->npos &&
        (describes_problem(id) || id == KN_FLAG_arch))
        return kn_fail(c, KILN_BAD_INPUT, "'list' takes %s with a family only",
                       kn_flags[id].name);
    if (1u << cli->command & EITHER && describes_problem(id))
        return kn_fail(c, KILN_BAD_INPUT, "%s describes a problem to generate "
                       "for; '%s' is no family", kn_flags[id].name,
                       cli->pos[0]);
    return KILN_OK;
}

/* "grouped and wgrad" */
static const char *
names_of(struct kn_ctx *c, unsigned families)
{
    struct kn_buf b = { .c = c };

    for (int f = 0; f < KILN_NFAMILIES; f++)
        if (families & 1u << f) {
            families &= ~(1u << f);
            kn_putf(&b, "%s%s", !b.n ? "" : families ? ", " : " and ",
                    kn_family_names[f]);
        }
    return b.s;
}

static kiln_status
judge_for_family(struct kn_ctx *c, enum kn_flag_id id, int family)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].flag == id && !(meanings[i].families & 1u << family))
            return kn_fail(c, KILN_BAD_INPUT, "%s says nothing about %s: it "
                           "is for %s", kn_flags[id].name,
                           kn_family_names[family],
                           names_of(c, meanings[i].families));
    return KILN_OK;
}

/* Reports of a prediction that is not asked for. */
static kiln_status
judge_timing(struct kn_ctx *c, struct kn_cli *cli)
{
    static const enum kn_flag_id of_timing[] = { KN_FLAG_warm, KN_FLAG_whole,
                                                 KN_FLAG_trace, KN_FLAG_svg };

    for (size_t i = 0; i < sizeof of_timing / sizeof *of_timing; i++) {
        cli->at = cli->v[of_timing[i]].word;
        if (cli->command == KN_CMD_exec && cli->v[of_timing[i]].seen &&
            !cli->v[KN_FLAG_timing].seen)
            return kn_fail(c, KILN_BAD_INPUT, "%s needs --timing",
                           kn_flags[of_timing[i]].name);
    }
    return KILN_OK;
}

/* The target the command line says, NONE where a GPU has to be asked. */
static kiln_target
target_of(const struct kn_cli *cli)
{
    const struct kn_value *arch = &cli->v[KN_FLAG_arch];
    const struct kn_value *device = &cli->v[KN_FLAG_device];

    if (arch->seen)
        return kn_cli_target(cli);
    if (device->seen)
        return device->i == KN_DEV_SIM ? (kiln_target)device->list[0]
                                       : KILN_TARGET_NONE;
    return KN_TARGET_DEFAULT;
}

/* A word that means one target's numbers, for another target. */
static kiln_status
judge_alias(struct kn_ctx *c, const struct kn_cli *cli, enum kn_flag_id id)
{
    const struct kn_value *v = &cli->v[id];
    kiln_target target = target_of(cli);

    if (!v->only || v->only == target)
        return KILN_OK;
    return kn_fail(c, KILN_BAD_INPUT, "%s: that word is %s's %s, and this is "
                   "for %s; say %s for the target's own", kn_flags[id].name,
                   kiln_target_name(v->only), v->s,
                   target ? kiln_target_name(target) : "a GPU", v->s);
}

bool
kn_flag_means(enum kn_flag_id id, int family)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].flag == id) {
            unsigned of = meanings[i].families;

            return family < 0 ? (of & (of - 1)) != 0 : of >> family & 1;
        }
    return true;
}

kiln_status
kn_cli_judge(struct kn_ctx *c, struct kn_cli *cli)
{
    bool mixed = 1u << cli->command & LISTS && cli->npos > 1;
    int family = family_of(cli);

    for (int id = 0; id < KN_NFLAGS; id++) {
        if (!cli->v[id].seen)
            continue;
        cli->at = cli->v[id].word;
        KN_TRY(judge_alias(c, cli, (enum kn_flag_id)id));
        if (family < 0)
            KN_TRY(judge_without_family(c, cli, (enum kn_flag_id)id));
        else if (!mixed)
            KN_TRY(judge_for_family(c, (enum kn_flag_id)id, family));
    }
    cli->at = cli->v[KN_FLAG_run].word;
    if (cli->v[KN_FLAG_run].seen && family < 0)
        return kn_fail(c, KILN_BAD_INPUT, "--run names no family: '%s'%s",
                       cli->v[KN_FLAG_run].s,
                       kn_did_you_mean(c, cli->v[KN_FLAG_run].s,
                                       kn_family_names, KILN_NFAMILIES));
    KN_TRY(kn_cli_judge_named(c, cli));
    cli->at = cli->v[KN_FLAG_max_seconds].word;
    if (cli->v[KN_FLAG_max_seconds].f < 0)
        return kn_fail(c, KILN_BAD_INPUT, "--max-seconds is at least 0");
    KN_TRY(judge_timing(c, cli));
    cli->at = NULL;
    return KILN_OK;
}
