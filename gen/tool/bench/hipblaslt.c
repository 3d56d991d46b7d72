/* hipblaslt.c - the table hipblaslt.def applied to a command line. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "../../../runtime/kiln.h"

enum role {
    H_M, H_N, H_K, H_LDA, H_LDB, H_LDC, H_LDD, H_STRIDE_A, H_STRIDE_B,
    H_STRIDE_C, H_STRIDE_D, H_BATCH, H_ALPHA, H_BETA, H_TRANS_A, H_TRANS_B,
    H_TYPES, H_TYPE_A, H_TYPE_B, H_TYPE_C, H_TYPE_D, H_SCALE_A, H_SCALE_B,
    H_BIAS, H_ACTIVATION, H_ARG1, H_ARG2, H_FUNCTION, H_SKIP, H_MAYBE, H_OFF
};

static const struct flag {
    const char *name, *other;
    enum role role;
} flags[] = {
#define H(name, other, role) { name, other, H_##role },
#include "hipblaslt.def"
#undef H
};

/* Names both programs have: they alone do not tell whose line this is. */
static const char *const shared[] = { "-m", "-n", "-k", "--lda", "--ldb",
                                      "--ldc", "--alpha", "--beta",
                                      "--batch" };

/* X(hipblaslt-bench, kiln); FNUZ types are gfx942's fp8 and bf8. */
static const char *const types[][2] = {
    { "f32_r", "f32" },     { "s", "f32" },        { "f16_r", "f16" },
    { "h", "f16" },         { "bf16_r", "bf16" },  { "f8_r", "fp8" },
    { "bf8_r", "bf8" },     { "f8_fnuz_r", "fp8" }, { "bf8_fnuz_r", "bf8" },
    { "i8_r", "i8" },       { "i32_r", "i32" },    { "f6_r", "mxfp6" },
    { "bf6_r", "mxbf6" },   { "f4_r", "mxfp4" },
};

/* Values of --scaleA and --scaleB: none, one, a vector, MX blocks of 32. */
static const char *const scales[][2] = {
    { "0", "none" }, { "1", "tensor" }, { "2", "row" }, { "3", "mx32" },
};

/* Activations, with arguments of theirs behind the value; their gelu is the
 * tanh form. */
static const struct {
    const char *name, *formula;
    int args;
} activations[] = {
    { "relu", "relu", 0 },  { "gelu", "gelu_tanh", 0 }, { "swish", "silu", 0 },
    { "silu", "silu", 0 },  { "clamp", "clamp", 2 },
};

struct line {
    struct kn_ctx *c;
    const char *role[H_OFF + 1];
    char **out;
    size_t n, cap;
};

static const struct flag *
find_flag(const char *word)
{
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (!strcmp(flags[i].name, word) ||
            (flags[i].other && !strcmp(flags[i].other, word)))
            return &flags[i];
    return NULL;
}

static bool
is_shared(const char *word)
{
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (!strcmp(shared[i], word))
            return true;
    return false;
}

static bool
is_theirs(const struct kn_words *w)
{
    for (int i = 2; i < w->argc; i++)
        if (find_flag(w->argv[i]) && !is_shared(w->argv[i]))
            return true;
    return false;
}

/* What switches something off, or is not given. */
static bool
is_off(const char *value)
{
    static const char *const off[] = { "0", "false", "none" };

    for (size_t i = 0; value && i < sizeof off / sizeof *off; i++)
        if (!strcmp(value, off[i]))
            return true;
    return !value;
}

bool
kn_hipblaslt_takes(const char *flag)
{
    return find_flag(flag) != NULL;
}

static void
push(struct line *l, const char *word)
{
    l->out = kn_grow(l->c, l->out, &l->cap, l->n + 1, sizeof *l->out);
    l->out[l->n++] = kn_strdup(l->c, word);
}

static void
push_pair(struct line *l, const char *flag, const char *value)
{
    if (value) {
        push(l, flag);
        push(l, value);
    }
}

/* kiln's word for one of hipblaslt-bench's, NULL with the error recorded. */
static const char *
translate(struct line *l, const char *const (*table)[2], size_t n,
          const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(table[i][0], word))
            return table[i][1];
    kn_fail(l->c, KILN_UNSUPPORTED, "kiln has nothing for hipblaslt-bench's "
            "'%s'", word);
    return NULL;
}

static kiln_status
push_type(struct line *l, const char *flag, enum role role, const char *none)
{
    const char *t = l->role[role] ? l->role[role] : l->role[H_TYPES];

    t = t ? t : none;
    t = translate(l, types, sizeof types / sizeof *types, t);
    if (!t)
        return l->c->err.status;
    /* fp8 and bf8 in MX blocks are types of their own. */
    if (l->role[H_SCALE_A] && !strcmp(l->role[H_SCALE_A], "3")) {
        t = !strcmp(t, "fp8") ? "mxfp8" : !strcmp(t, "bf8") ? "mxbf8" : t;
    }
    push_pair(l, flag, t);
    return KILN_OK;
}

/* Ours is the transposed product: their B is our A. */
static void
push_layout(struct line *l)
{
    bool ta = l->role[H_TRANS_A] && strchr("TtCc", *l->role[H_TRANS_A]);
    bool tb = l->role[H_TRANS_B] && strchr("TtCc", *l->role[H_TRANS_B]);

    push_pair(l, "--layout", ta && tb ? "tt" : ta ? "nt" : tb ? "tn" : "nn");
}

static kiln_status
push_scale(struct line *l)
{
    const char *a = l->role[H_SCALE_A], *b = l->role[H_SCALE_B], *s;

    if (!a && !b)
        return KILN_OK;
    if (!a || !b || strcmp(a, b))
        return kn_fail(l->c, KILN_UNSUPPORTED, "--scaleA and --scaleB are of "
                       "one kind in kiln");
    s = translate(l, scales, sizeof scales / sizeof *scales, a);
    if (!s)
        return l->c->err.status;
    push_pair(l, "--scale", s);
    return KILN_OK;
}

static kiln_status
check_roles(struct line *l)
{
    const char *f = l->role[H_FUNCTION];

    if (f && strcmp(f, "matmul"))
        return kn_fail(l->c, KILN_UNSUPPORTED, "--function %s: kiln has "
                       "matmul", f);
    if (l->role[H_LDD] && l->role[H_LDC] &&
        strcmp(l->role[H_LDD], l->role[H_LDC]))
        return kn_fail(l->c, KILN_UNSUPPORTED, "--ldc and --ldd are one in "
                       "kiln: C is read and written in place");
    if (l->role[H_TYPE_C] && l->role[H_TYPE_D] &&
        strcmp(l->role[H_TYPE_C], l->role[H_TYPE_D]))
        return kn_fail(l->c, KILN_UNSUPPORTED, "--c_type and --d_type are one "
                       "in kiln: C is read and written in place");
    return KILN_OK;
}

static bool
is_batched(const struct line *l)
{
    return l->role[H_BATCH] && strcmp(l->role[H_BATCH], "1");
}

static const char *
either(const struct line *l, enum role a, enum role b)
{
    return l->role[a] ? l->role[a] : l->role[b];
}

/* As hipBLASLt logs it: 1.000000. */
static const char *
whole_beta(const char *text)
{
    char *end;
    double v = text ? strtod(text, &end) : 0;

    if (!text || *end)
        return text;
    return v == 0 ? "0" : v == 1 ? "1" : text;
}

/* Logs name the strides of a single product too, as 0. */
static kiln_status
push_strides(struct line *l)
{
    const char *of[3] = { l->role[H_STRIDE_B], l->role[H_STRIDE_A],
                          either(l, H_STRIDE_D, H_STRIDE_C) };

    if (!is_batched(l))
        return KILN_OK;
    for (int i = 0; i < 3; i++)
        if (of[i] && !strcmp(of[i], "0"))
            return kn_fail(l->c, KILN_UNSUPPORTED, "a stride of 0 in a batch: "
                           "kiln's matrices are apart");
    push_pair(l, "--stride-a", of[0]);
    push_pair(l, "--stride-b", of[1]);
    push_pair(l, "--stride-c", of[2]);
    return KILN_OK;
}

static kiln_status
push_epilogue(struct line *l)
{
    const char *act = l->role[H_ACTIVATION];
    bool bias = !is_off(l->role[H_BIAS]);
    size_t n = sizeof activations / sizeof *activations, i = 0;
    struct kn_buf b = { .c = l->c };

    if (is_off(act)) {
        push_pair(l, "--epilogue", bias ? "bias" : NULL);
        return KILN_OK;
    }
    while (i < n && strcmp(activations[i].name, act))
        i++;
    if (i == n || (activations[i].args && !(l->role[H_ARG1] && l->role[H_ARG2])))
        return kn_fail(l->c, KILN_UNSUPPORTED, "kiln has nothing for "
                       "hipblaslt-bench's '--activation_type %s'%s", act,
                       i < n ? " without --activation_arg1 and 2" : "");
    kn_putf(&b, "%s(%s", activations[i].formula, bias ? "acc+bias" : "acc");
    if (activations[i].args)
        kn_putf(&b, ",%s,%s", l->role[H_ARG1], l->role[H_ARG2]);
    kn_put(&b, ")");
    push_pair(l, "--epilogue", b.s);
    return KILN_OK;
}

static kiln_status
push_problem(struct line *l)
{
    enum role out = l->role[H_TYPE_D] ? H_TYPE_D : H_TYPE_C;

    KN_TRY(check_roles(l));
    push_pair(l, "-m", l->role[H_N]);
    push_pair(l, "-n", l->role[H_M]);
    push_pair(l, "-k", l->role[H_K]);
    push_layout(l);
    KN_TRY(push_type(l, "--a", H_TYPE_B, "f16_r"));
    KN_TRY(push_type(l, "--b", H_TYPE_A, "f16_r"));
    KN_TRY(push_type(l, "--out", out, "f16_r"));
    KN_TRY(push_scale(l));
    push_pair(l, "--lda", l->role[H_LDB]);
    push_pair(l, "--ldb", l->role[H_LDA]);
    push_pair(l, "--ldc", either(l, H_LDD, H_LDC));
    KN_TRY(push_strides(l));
    push_pair(l, "--alpha", l->role[H_ALPHA]);
    push_pair(l, "--beta", whole_beta(l->role[H_BETA]));
    return push_epilogue(l);
}

/* Whether a flag is a switch here: `next` is not its value. */
static bool
stands_alone(enum role role, const char *next)
{
    if (role == H_OFF)
        return *next == '-';
    return (role == H_BIAS || role == H_MAYBE) && !is_off(next) &&
           strcmp(next, "1") && strcmp(next, "true");
}

/* Sorts the words: theirs into roles, kiln's own behind the problem. */
static kiln_status
read_words(struct line *l, const struct kn_words *w, struct line *own)
{
    for (int i = 2; i < w->argc; i++) {
        const struct flag *f = find_flag(w->argv[i]);

        if (!f) {
            push(own, w->argv[i]);
            continue;
        }
        if (stands_alone(f->role, i + 1 < w->argc ? w->argv[i + 1] : "-"))
            l->role[f->role] = "1";
        else if (++i == w->argc)
            return kn_fail(l->c, KILN_BAD_INPUT, "%s needs a value", f->name);
        else
            l->role[f->role] = w->argv[i];
        if (f->role == H_OFF && !is_off(l->role[H_OFF]))
            return kn_fail(l->c, KILN_UNSUPPORTED, "kiln has nothing for "
                           "hipblaslt-bench's '%s'", f->name);
    }
    return KILN_OK;
}

kiln_status
kn_hipblaslt_line(struct kn_ctx *c, struct kn_words *w)
{
    struct line l = { .c = c }, own = { .c = c };

    KN_TRY(read_words(&l, w, &own));
    push(&l, w->argv[0]);
    push(&l, w->argv[1]);
    push(&l, is_batched(&l) ? "batched" : "gemm");
    KN_TRY(push_problem(&l));
    if (is_batched(&l))
        push_pair(&l, "--batch", l.role[H_BATCH]);
    for (size_t i = 0; i < own.n; i++)
        push(&l, own.out[i]);
    w->argc = (int)l.n;
    l.out = kn_grow(c, l.out, &l.cap, l.n + 1, sizeof *l.out);
    l.out[l.n] = NULL;
    w->argv = l.out;
    return KILN_OK;
}

kiln_status
kn_hipblaslt_words(struct kn_ctx *c, struct kn_words *w)
{
    return is_theirs(w) ? kn_hipblaslt_line(c, w) : KILN_OK;
}
