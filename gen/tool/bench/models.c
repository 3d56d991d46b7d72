/* models.c - layers of published models as problems, from models.def (bench.h). */
#include "bench.h"

#include <string.h>

#include "../../gen.h"
#include "../cli.h"

static const struct kn_model models[] = {
#define MODEL(name, experts, inter, hidden, topk) \
    { name, experts, inter, hidden, topk },
#include "models.def"
#undef MODEL
};

enum { NMODELS = sizeof models / sizeof *models, DEVICES = 8 };

const struct kn_model *
kn_model_find(const char *name)
{
    const struct kn_model *found = NULL;

    for (int i = 0; i < NMODELS; i++)
        if (!strcmp(models[i].name, name))
            return &models[i];
    for (int i = 0; i < NMODELS && *name; i++)
        if (!strncmp(models[i].name, name, strlen(name))) {
            if (found)
                return NULL;
            found = &models[i];
        }
    return found;
}

bool
kn_layer_of(const struct kn_model *m, const char *op, struct kn_layer *out)
{
    static const char *const layers[] = { "gateup.", "down." };
    bool down = !strncmp(op, layers[1], strlen(layers[1]));
    int64_t n = down ? m->hidden : 2 * m->inter;
    int64_t k = down ? m->inter : m->hidden;

    if (!down && strncmp(op, layers[0], strlen(layers[0])))
        return false;
    op += strlen(layers[down]);
    if (!strcmp(op, "fwd"))
        *out = (struct kn_layer){ KILN_GROUPED, KILN_NT, 0, n, k };
    else if (!strcmp(op, "dgrad"))
        *out = (struct kn_layer){ KILN_GROUPED, KILN_NN, 0, k, n };
    else if (!strcmp(op, "wgrad"))
        *out = (struct kn_layer){ KILN_WGRAD, KILN_TN, n, k, 0 };
    else
        return false;
    return true;
}

static kiln_status
refuse_name(struct kn_ctx *c, const char *name)
{
    struct kn_buf b = { .c = c };
    struct kn_nearest x;
    const char *near;

    kn_nearest_open(&x, name);
    for (int i = 0; i < NMODELS; i++) {
        kn_putf(&b, "%s%s", i ? " " : "", models[i].name);
        kn_nearest_try(&x, models[i].name, strlen(models[i].name));
        kn_nearest_try(&x, models[i].name, strcspn(models[i].name, "-"));
        if (x.best == models[i].name)
            x.n = strlen(x.best);
    }
    near = kn_nearest_text(c, &x);
    if (*near)
        return kn_fail(c, KILN_BAD_INPUT, "'%s' does not begin the name of "
                       "exactly one model%s", name, near);
    return kn_fail(c, KILN_BAD_INPUT, "'%s' does not begin the name "
                   "of exactly one model: %s", name, b.s);
}

/* Sets a flag that was left out, as if it had been typed. */
static void
set_number(struct kn_ctx *c, struct kn_cli *cli, enum kn_flag_id id,
           int64_t value)
{
    struct kn_buf b = { .c = c };

    if (cli->v[id].seen)
        return;
    kn_putf(&b, "%lld", (long long)value);
    cli->v[id] = (struct kn_value){ .seen = true, .i = value, .s = b.s };
}

static kiln_status
set_size(struct kn_ctx *c, struct kn_cli *cli, enum kn_flag_id id,
         int64_t value)
{
    if (!value)
        return KILN_OK;
    if (cli->v[id].seen)
        return kn_fail(c, KILN_BAD_INPUT, "%s is given, but --model and --op "
                       "say it", kn_flags[id].name);
    set_number(c, cli, id, value);
    return KILN_OK;
}

/* MX types are packed along K, so their wgrad is nt. */
static void
set_layout(struct kn_cli *cli, kiln_layout layout)
{
    const struct kn_value *a = &cli->v[KN_FLAG_a];

    if (layout == KILN_TN && a->seen && !strncmp(a->s, "mx", 2))
        layout = KILN_NT;
    if (!cli->v[KN_FLAG_layout].seen)
        cli->v[KN_FLAG_layout] = (struct kn_value){ .seen = true, .i = layout,
                                                    .s = kn_layout_names[layout] };
}

static kiln_status
set_layer(struct kn_ctx *c, struct kn_cli *cli, const struct kn_model *m,
          kiln_family family)
{
    const struct kn_value *op = &cli->v[KN_FLAG_op];
    static const char *const ops[] = { "gateup.fwd", "gateup.dgrad",
                                       "gateup.wgrad", "down.fwd",
                                       "down.dgrad", "down.wgrad" };
    struct kn_layer l;

    if (!kn_layer_of(m, op->s, &l))
        return kn_fail(c, KILN_BAD_INPUT, "--op is gateup or down with .fwd, "
                       ".dgrad or .wgrad, such as gateup.fwd, not '%s'%s",
                       op->s, kn_did_you_mean(c, op->s, ops, 6));
    if (l.family != family)
        return kn_fail(c, KILN_BAD_INPUT, "%s is of the family %s", op->s,
                       kn_family_names[l.family]);
    KN_TRY(set_size(c, cli, KN_FLAG_m, l.m));
    KN_TRY(set_size(c, cli, KN_FLAG_n, l.n));
    KN_TRY(set_size(c, cli, KN_FLAG_k, l.k));
    set_layout(cli, l.layout);
    if (!cli->v[KN_FLAG_group_lens].seen)
        set_number(c, cli, KN_FLAG_groups, m->experts / DEVICES);
    return KILN_OK;
}

static void
set_experts(struct kn_ctx *c, struct kn_cli *cli, const struct kn_model *m)
{
    set_number(c, cli, KN_FLAG_hidden, m->hidden);
    set_number(c, cli, KN_FLAG_inter, m->inter);
    set_number(c, cli, KN_FLAG_experts, m->experts);
    set_number(c, cli, KN_FLAG_topk, m->topk);
}

/* A list of problems instead: its rows are expanded one by one. */
static bool
names_family(const struct kn_cli *cli)
{
    return cli->npos && kn_name_index(kn_family_names, KILN_NFAMILIES,
                                      cli->pos[0]) >= 0;
}

kiln_status
kn_model_expand(struct kn_ctx *c, struct kn_cli *cli)
{
    bool model = cli->v[KN_FLAG_model].seen, op = cli->v[KN_FLAG_op].seen;
    bool routed;
    const struct kn_model *m;
    kiln_family family;

    if ((!model && !op) || !names_family(cli))
        return KILN_OK;
    KN_TRY(kn_cli_family(c, cli, &family));
    routed = kn_families[family].routed;
    if (routed ? op : op != model)
        return kn_fail(c, KILN_BAD_INPUT, routed
                       ? "moe takes --model, but no --op; it has --stage"
                       : "--model and --op go together");
    m = kn_model_find(cli->v[KN_FLAG_model].s);
    if (!m)
        return refuse_name(c, cli->v[KN_FLAG_model].s);
    if (routed)
        set_experts(c, cli, m);
    else
        KN_TRY(set_layer(c, cli, m, family));
    cli->v[KN_FLAG_model].seen = cli->v[KN_FLAG_op].seen = false;
    return KILN_OK;
}
