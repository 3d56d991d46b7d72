/* launch.c - what launch.def says, as text, folded for one kernel. */
#include "launch.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../forms.h"
#include "../../instantiate.h"
#include "../../launch/terms.h"
#include "../../layout.h"

struct writer {
    struct kn_ctx *c;
    struct kn_launch *l;
    const kiln_problem *p;
    const struct kn_config *g;
    struct kn_fold fold;
};

static void
size(struct writer *w, const char *name, bool has, const char *meaning)
{
    if (has)
        w->l->size[w->l->nsizes++] = (struct kn_launch_name){ name, meaning };
    else
        kn_fold_know(&w->fold, name, 0);
}

static void
let(struct writer *w, const char *name, const char *formula)
{
    const char *value = kn_fold_let(&w->fold, name, formula);

    if (value)
        w->l->let[w->l->nlets++] = (struct kn_launch_name){ name, value };
}

/* A rule that always holds is none. */
static void rule(struct writer *w, const char *holds, const char *form, ...)
    __attribute__((format(printf, 3, 4)));

static void
rule(struct writer *w, const char *holds, const char *form, ...)
{
    struct kn_launch_rule r = { kn_fold_text(&w->fold, holds), NULL };
    char sentence[256];
    va_list ap;

    if (!strcmp(r.holds, "1"))
        return;
    va_start(ap, form);
    vsnprintf(sentence, sizeof sentence, form, ap);
    va_end(ap);
    r.sentence = kn_strdup(w->c, sentence);
    w->l->rule[w->l->nrules++] = r;
}

/* ---- arguments ---------------------------------------------------------- */

static struct kn_launch_arg *
arg(struct writer *w, const char *name, enum kn_arg_type type,
    const char *value)
{
    struct kn_launch *l = w->l;
    uint32_t bytes = type == KN_ARG_PTR || type == KN_ARG_I64 ? 8 : 4;
    struct kn_launch_arg *a = &l->arg[l->nargs++];

    l->kernarg_size = (l->kernarg_size + bytes - 1) / bytes * bytes;
    *a = (struct kn_launch_arg){ .name = name, .type = type, .value = value,
                                 .offset = l->kernarg_size };
    l->kernarg_size += bytes;
    return a;
}

/* Whether some launch of the kernel reads or writes an operand. */
static bool
is_used(const kiln_problem *p, kiln_operand operand)
{
    kiln_problem q = *p;
    struct kn_extents e;

    q.m = q.n = q.k = q.lda = q.ldb = q.ldc = 512;
    q.batch = kn_family_of(p)->batch;
    q.groups = kn_family_of(p)->ragged != 0;
    q.stride_a = q.stride_b = q.stride_c = 0;
    e = kn_extents_of(&q);
    switch (operand) {
    case KILN_ARG_SA:
        return e.sa != 0;
    case KILN_ARG_SB:
        return e.sb != 0;
    case KILN_ARG_BIAS:
        return e.bias != 0 || (kn_quantises(p) && kn_family_of(p)->routed);
    case KILN_ARG_SC:
        return e.sc != 0;
    case KILN_ARG_AMAX:
        return p->amax;
    case KILN_ARG_OUT2:
        return p->out2 || e.out2 != 0;
    case KILN_ARG_SC2:
        return e.sc2 != 0;
    case KILN_ARG_OFFSETS:
        return e.offs != 0 || kn_family_of(p)->routed;
    case KILN_ARG_TIGHT:
        return e.tight != 0;
    case KILN_ARG_WEIGHTS:
        return p->stage == KILN_MOE_DOWN || p->weigh == KILN_WEIGHT_BEFORE;
    case KILN_ARG_A:
    case KILN_ARG_B:
    case KILN_ARG_C:
    case KILN_ARG_EXPERTS:
    case KILN_ARG_PADDED:
    case KILN_ARG_WORKSPACE:
    case KILN_ARG_X0: case KILN_ARG_X1: case KILN_ARG_X2: case KILN_ARG_X3:
    case KILN_NOPERANDS:
        break;
    }
    return true;
}

static void
pointer(struct writer *w, const char *name, kiln_operand operand,
        const char *what)
{
    struct kn_launch_arg *a = arg(w, name, KN_ARG_PTR, what);

    if (is_used(w->p, operand))
        a->align = kn_operand_align(w->p, &w->g->domain, operand);
}

/* ---- values that nothing asks for are left out --------------------------- */

static bool
mentions(const char *expression, const char *name)
{
    size_t n = strlen(name);

    for (const char *s = expression; (s = strstr(s, name)) != NULL; s += n) {
        bool starts = s == expression ||
                      (!isalnum((unsigned char)s[-1]) && s[-1] != '_');

        if (starts && !isalnum((unsigned char)s[n]) && s[n] != '_')
            return true;
    }
    return false;
}

static bool
is_asked_for(const struct kn_launch *l, uint32_t let)
{
    const char *name = l->let[let].name;

    for (uint32_t i = 0; i < l->nrules; i++)
        if (mentions(l->rule[i].holds, name))
            return true;
    for (uint32_t i = 0; i < l->nargs; i++)
        if (l->arg[i].type != KN_ARG_PTR && mentions(l->arg[i].value, name))
            return true;
    for (uint32_t i = let + 1; i < l->nlets; i++)
        if (mentions(l->let[i].text, name))
            return true;
    return mentions(l->grid, name) || mentions(l->workspace, name);
}

static void
drop_unasked(struct kn_launch *l)
{
    for (uint32_t i = l->nlets; i-- > 0;)
        if (!is_asked_for(l, i)) {
            l->nlets--;
            memmove(&l->let[i], &l->let[i + 1],
                    (l->nlets - i) * sizeof *l->let);
        }
}

/* The rows of launch.def that apply to w's kernel. */
static void
describe(struct writer *w)
{
    const struct kn_limits limit = kn_limits_of(w->p, w->g);
    const kiln_problem *p = w->p;
    const struct kn_config *g = w->g;

#define SIZE(name, has, value, meaning) size(w, #name, has, meaning);
#define KNOWN(name, value)                                                    \
    KN_TERM(name, value)                                                      \
    kn_fold_know(&w->fold, #name, name);
#define LET(name, formula) let(w, #name, #formula);
#define RULE(applies, holds, ...)                                             \
    if (applies)                                                              \
        rule(w, #holds, __VA_ARGS__);
#define APART(operand, applies, rows, ld, stride, holds)                      \
    if (applies)                                                              \
        rule(w, #holds, "stride_" operand " lets problems overlap");
#define K_KNOWN(name, value)                                                  \
    KN_TERM(name, value)                                                      \
    kn_fold_know(&w->fold, #name, name);
#define K_LET(name, formula) let(w, #name, #formula);
#define K_RULE(applies, holds, ...)                                           \
    if (applies)                                                              \
        rule(w, #holds, __VA_ARGS__);
#define K_LIMIT(applies, holds, ...)                                          \
    if (applies)                                                              \
        rule(w, #holds, __VA_ARGS__);
#define PTR(has, name, operand, what)                                         \
    if (has)                                                                  \
        pointer(w, #name, KILN_ARG_##operand, what);
#define FACTOR(has, name, value)                                              \
    if (has)                                                                  \
        arg(w, #name, KN_ARG_F32, #name);
#define ARG(has, name, type, formula, largest)                                \
    if (has)                                                                  \
        arg(w, #name, KN_ARG_##type, kn_fold_text(&w->fold, #formula))    \
            ->most = largest;
#include "../../launch/launch.def"
    w->l->block = (uint32_t)(64 * waves);
}

void
kn_launch_describe(struct kn_ctx *c, const kiln_problem *p,
                   const struct kn_config *g, struct kn_launch *out)
{
    struct writer w = { .c = c, .l = out, .p = p, .g = g, .fold = { .c = c } };

    *out = (struct kn_launch){ 0 };
    describe(&w);
    out->grid = kn_fold_text(&w.fold, "when(m > 0 && (unary ? k : n) > 0, grid)");
    out->workspace = kn_fold_text(&w.fold, "workspace");
    drop_unasked(out);
}
