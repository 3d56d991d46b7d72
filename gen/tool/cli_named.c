/* cli_named.c - operands of the epilogue's expression that flags name. */
#include <string.h>

#include "../gen.h"
#include "cli.h"

/* The kinds of formula.h by flag. */
static const struct {
    enum kn_flag_id flag;
    enum kn_formula_operand_kind kind;
} kinds[] = {
    { KN_FLAG_row, KN_FO_ROW }, { KN_FLAG_col, KN_FO_COL },
    { KN_FLAG_tensor, KN_FO_TENSOR }, { KN_FLAG_scalar, KN_FO_SCALAR },
};

static enum kn_formula_operand_kind
kind_of(const struct kn_cli_named *n)
{
    size_t i = 0;

    while (kinds[i].flag != n->flag)
        i++;
    return kinds[i].kind;
}

static bool
is_named(const struct kn_formula_operand *o, const char *name)
{
    return strlen(name) == o->n && !memcmp(name, o->name, o->n);
}

/* The expression, NULL: the epilogue is none or one of the words. */
static const char *
expression_of(const struct kn_cli *cli)
{
    const struct kn_value *v = &cli->v[KN_FLAG_epilogue];

    return v->seen && kn_name_index(kn_epilogue_names, KILN_NEPILOGUES,
                                    v->s) < 0 ? v->s : NULL;
}

const struct kn_cli_named *
kn_cli_named(const struct kn_cli *cli, const struct kn_formula_operand *o)
{
    for (size_t i = 0; i < cli->nnamed; i++)
        if (is_named(o, cli->named[i].name))
            return &cli->named[i];
    return NULL;
}

static kiln_status
declare(struct kn_ctx *c, const struct kn_cli_named *n,
        const struct kn_formula_operands *there, struct kn_buf *b)
{
    enum kn_formula_operand_kind kind = kind_of(n);

    for (uint32_t i = 0; i < there->n; i++) {
        if (!is_named(&there->of[i], n->name))
            continue;
        if (there->of[i].kind == kind)
            return KILN_OK;
        return kn_fail(c, KILN_BAD_INPUT, "%s names %s, which the expression "
                       "declares as a %s", kn_flags[n->flag].name, n->name,
                       kn_formula_operand_names[there->of[i].kind]);
    }
    kn_putf(b, "%s:%s,", kn_formula_operand_names[kind], n->name);
    return KILN_OK;
}

kiln_status
kn_cli_declare(struct kn_ctx *c, struct kn_cli *cli)
{
    const char *text = expression_of(cli);
    struct kn_buf b = { .c = c };
    struct kn_formula_operands there;

    if (!text || !cli->nnamed)
        return KILN_OK;
    there = kn_formula_declared(text);
    for (size_t i = 0; i < cli->nnamed; i++)
        KN_TRY(declare(c, &cli->named[i], &there, &b));
    kn_put(&b, text);
    if (b.n >= KILN_EXPRESSION)
        return kn_fail(c, KILN_BAD_INPUT, "with its operands declared the "
                       "epilogue has more than %d characters",
                       KILN_EXPRESSION - 1);
    cli->v[KN_FLAG_epilogue].s = b.s;
    return KILN_OK;
}

kiln_status
kn_cli_judge_named(struct kn_ctx *c, const struct kn_cli *cli)
{
    const char *text = expression_of(cli);
    struct kn_formula_operands x;

    if (!text && cli->nnamed)
        return kn_fail(c, KILN_BAD_INPUT, "%s %s is for an epilogue that names "
                       "it (--epilogue \"acc * %s\")",
                       kn_flags[cli->named[0].flag].name, cli->named[0].name,
                       cli->named[0].name);
    if (!text || cli->command != KN_CMD_run)
        return KILN_OK;
    x = kn_formula_declared(text);
    for (uint32_t i = 0; i < x.n; i++)
        if (x.of[i].kind == KN_FO_SCALAR && !kn_cli_named(cli, &x.of[i]))
            return kn_fail(c, KILN_BAD_INPUT, "the scalar %.*s has no value: "
                           "--scalar %.*s=V", x.of[i].n, x.of[i].name,
                           x.of[i].n, x.of[i].name);
    return KILN_OK;
}
