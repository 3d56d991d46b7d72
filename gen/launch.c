/* launch.c - the formulas of plan.c and problem.c as text, folded for one
 * kernel. tests/gen/launch.py holds both to the same bytes. */
#include "launch.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "forms.h"
#include "gemv.h"
#include "instantiate.h"
#include "layout.h"
#include "limits.h"

struct writer {
    struct kn_ctx *c;
    struct kn_launch *l;
    const kiln_problem *p;
    const struct kn_config *g;
};

static const char *text(struct writer *w, const char *form, ...)
    __attribute__((format(printf, 2, 3)));

static const char *
text(struct writer *w, const char *form, ...)
{
    char room[512];
    va_list ap;

    va_start(ap, form);
    vsnprintf(room, sizeof room, form, ap);
    va_end(ap);
    return kn_strdup(w->c, room);
}

static void
size(struct writer *w, const char *name, const char *meaning)
{
    w->l->size[w->l->nsizes++] = (struct kn_launch_name){ name, meaning };
}

static void
let(struct writer *w, const char *name, const char *value)
{
    w->l->let[w->l->nlets++] = (struct kn_launch_name){ name, value };
}

static void
rule(struct writer *w, const char *holds, const char *sentence)
{
    w->l->rule[w->l->nrules++] = (struct kn_launch_rule){ holds, sentence };
}

/* ---- sizes -------------------------------------------------------------- */

/* Scales lie in rows, at a pitch of their own. */
static bool
has_scale_rows(const kiln_problem *p)
{
    return p->scale >= KILN_SCALE_BLOCK128 && !p->scale_layout;
}

/* Only B has scales. */
static bool
weight_only(const kiln_problem *p)
{
    return p->scale == KILN_SCALE_MX32 &&
           (p->a == KILN_BF16 || p->a == KILN_F16);
}

static void
put_sizes(struct writer *w)
{
    const kiln_problem *p = w->p;
    bool moe = kn_family_of(p)->routed, batched = kn_family_of(p)->batch;
    bool grouped = kn_family_of(p)->ragged == 'm';
    bool wgrad = kn_family_of(p)->ragged == 'k';

    size(w, "m", moe ? "room for sorted rows" : grouped ? "rows in all"
                     : "rows of the output");
    size(w, "n", "columns of the output");
    size(w, "k", wgrad ? "rows of A and B in all" : "length of the sum");
    if (batched)
        size(w, "batch", "problems");
    if (grouped || wgrad || moe)
        size(w, "groups", moe ? "experts" : "groups");
    if (moe) {
        size(w, "tokens", "tokens");
        size(w, "topk", "experts a token goes to");
    }
    size(w, "lda", "elements from row to row of A; 0: dense");
    size(w, "ldb", "the same of B");
    size(w, "ldc", "the same of the output");
    if (has_scale_rows(w->p) && !weight_only(w->p))
        size(w, "ldsa", "scales from row to row of A's; 0: dense");
    if (has_scale_rows(w->p))
        size(w, "ldsb", "the same of B's");
    if (batched)
        size(w, "stride_a", "elements from one A to the next; 0: dense, -1: "
                            "all are one");
    if (batched || grouped)
        size(w, "stride_b", "the same of B");
    if (batched)
        size(w, "stride_c", "elements from one output to the next; 0: dense");
}

/* ---- pitches: kn_pitches_of --------------------------------------------- */

/* Bytes of a run of `n` elements. */
static const char *
run(struct writer *w, kiln_type t, const char *n)
{
    uint32_t bits = kn_type_bits[t];

    return bits % 8 ? text(w, "up(%u * %s, 8)", bits, n)
         : bits == 8 ? n : text(w, "%u * %s", bits / 8, n);
}

/* Scales of a row. */
static const char *
row_scales(const struct writer *w)
{
    return w->p->scale == KILN_SCALE_MX32 ? "up(k, 32)" : "up(k, 128)";
}

static const char *
scale_pitch(struct writer *w, const char *ld)
{
    const char *row = row_scales(w);

    if (w->p->scale_layout)
        return "256 * up(k, 256)";
    if (!has_scale_rows(w->p))
        return "0";
    return text(w, kn_scale_size(w->p) == 1
                ? "(%s + when(%s == 0, %s))" : "4 * (%s + when(%s == 0, %s))",
                ld, ld, row);
}

static const char *
scale_bytes(struct writer *w, const char *rows, const char *pitch)
{
    if (w->p->scale == KILN_SCALE_NONE)
        return "0";
    return w->p->scale_layout
         ? text(w, "up(%s, %d) * %s", rows, KN_SCALE_ROWS, pitch)
         : w->p->scale == KILN_SCALE_TENSOR ? "4"
         : w->p->scale == KILN_SCALE_ROW ? text(w, "4 * %s", rows)
                                         : text(w, "%s * %s", pitch, rows);
}

static void
let_pitches(struct writer *w)
{
    const kiln_problem *p = w->p;
    bool tn = p->layout == KILN_TN, nt = p->layout == KILN_NT;

    let(w, "row_a", text(w, "lda + when(lda == 0, %s)", tn ? "m" : "k"));
    let(w, "row_b", text(w, "ldb + when(ldb == 0, %s)", nt ? "k" : "n"));
    let(w, "row_c", "ldc + when(ldc == 0, n)");
    let(w, "pa", run(w, p->a, "row_a"));
    let(w, "pb", run(w, p->b, "row_b"));
    let(w, "pc", run(w, p->out, "row_c"));
    let(w, "psa", weight_only(p) ? "0" : scale_pitch(w, "ldsa"));
    let(w, "psb", scale_pitch(w, "ldsb"));
}

/* The stride as given, or of dense problems. */
static const char *
stride(struct writer *w, kiln_type t, const char *given, const char *dense)
{
    return given ? text(w, "when(%s > 0, %s) + when(%s == 0, %s)", given,
                        run(w, t, given), given, dense)
                 : dense;
}

static void
let_strides(struct writer *w)
{
    const kiln_problem *p = w->p;
    bool batched = kn_family_of(p)->batch, moe = kn_family_of(p)->routed;
    bool moves = batched || kn_family_of(p)->ragged == 'm';
    bool gate = p->stage == KILN_MOE_GATE_UP;
    const char *rows = p->scale_layout && moe && p->block_m < KN_SCALE_ROWS
                     ? text(w, "(m / %u * %d)", p->block_m, KN_SCALE_ROWS) : "m";
    const char *columns = gate ? "2 * n" : "n", *sa, *sb;

    let(w, "ba", stride(w, p->a, batched ? "stride_a" : NULL,
                        p->layout == KILN_TN ? "pa * k" : "pa * m"));
    let(w, "bb", stride(w, p->b, moves ? "stride_b" : NULL,
                        p->layout != KILN_NT ? "pb * k"
                                             : gate ? "pb * 2 * n" : "pb * n"));
    let(w, "bc", stride(w, p->out, batched ? "stride_c" : NULL, "pc * m"));
    if (p->scale == KILN_SCALE_BLOCK128 && kn_family_of(p)->ragged != 'k')
        columns = text(w, "up(%s, 128)", columns);
    sa = scale_bytes(w, rows, "psa");
    sb = scale_bytes(w, columns, "psb");
    let(w, "bsa", batched ? text(w, "when(stride_a >= 0, %s)", sa) : sa);
    let(w, "bsb", moves ? text(w, "when(stride_b >= 0, %s)", sb) : sb);
}

/* ---- operands ----------------------------------------------------------- */

/* Bytes each address must be aligned to for the kernel's domain. */
uint8_t
kn_operand_align(const kiln_problem *p, const struct kn_domain *d,
                 kiln_operand operand)
{
    bool f32_scale = p->scale != KILN_SCALE_MX32;

    switch (operand) {
    case KILN_ARG_A:
        return d->align_a;
    case KILN_ARG_B:
        return d->align_b;
    case KILN_ARG_C:
        return (uint8_t)(d->vec * kn_type_bits[p->out] / 8);
    case KILN_ARG_SA:
        return f32_scale && d->align_sa < 4 ? 4 : d->align_sa;
    case KILN_ARG_SB:
        return f32_scale && d->align_sb < 4 ? 4 : d->align_sb;
    case KILN_ARG_BIAS:
    case KILN_ARG_EXPERTS:
    case KILN_ARG_PADDED:
    case KILN_ARG_WEIGHTS:
        return 4;
    case KILN_ARG_WORKSPACE:
        return 16;
    case KILN_ARG_OFFSETS:
        return kn_family_of(p)->routed ? 4 : 8;
    case KILN_NOPERANDS:
        break;
    }
    return 1;
}

/* ---- arguments: arguments() and put_arguments() ------------------------- */

static const char *
count(const kiln_problem *p)
{
    return kn_family_of(p)->batch ? "batch"
         : kn_one_product(p) ? "1" : "groups";
}

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
    case KILN_ARG_OFFSETS:
        return e.offs != 0 || kn_family_of(p)->routed;
    case KILN_ARG_WEIGHTS:
        return p->stage == KILN_MOE_DOWN || p->weigh == KILN_WEIGHT_BEFORE;
    case KILN_ARG_A:
    case KILN_ARG_B:
    case KILN_ARG_C:
    case KILN_ARG_EXPERTS:
    case KILN_ARG_PADDED:
    case KILN_ARG_WORKSPACE:
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

static void
put_pointers(struct writer *w)
{
    bool moe = kn_family_of(w->p)->routed;
    bool lens = w->p->group_flags & KILN_GROUP_LENS;

    pointer(w, "a", KILN_ARG_A, "A");
    pointer(w, "b", KILN_ARG_B, "B");
    pointer(w, "c", KILN_ARG_C, "the output");
    pointer(w, "sa", KILN_ARG_SA, "scales of A");
    pointer(w, "sb", KILN_ARG_SB, "scales of B");
    pointer(w, "bias", KILN_ARG_BIAS, moe ? "scales of an MX output, written"
                                          : "f32 bias[n]");
    pointer(w, "offsets", KILN_ARG_OFFSETS,
            moe ? "int32 sorted ids[m]" : lens ? "int64 lengths[groups]"
                : "int64 offsets[groups + 1]");
}

/* Nothing is a stride apart in a launch of one problem. */
static const char *
of_many(struct writer *w, const char *value)
{
    return kn_one_product(w->p)
         ? "0" : text(w, "when(%s > 1, %s)", count(w->p), value);
}

static void
put_wide(struct writer *w)
{
    const kiln_problem *p = w->p;
    bool wgrad = kn_family_of(p)->ragged == 'k', nt = p->layout == KILN_NT;
    bool grouped = kn_family_of(p)->ragged == 'm';
    bool moe = kn_family_of(p)->routed;
    bool tensor = p->scale == KILN_SCALE_TENSOR;
    const char *row = p->scale == KILN_SCALE_ROW ? "4"
                                   : tensor ? "0" : "psa";
    const struct kn_limits most = kn_limits_of(p, w->g);
    const char *ta = of_many(w, "ba"), *tb = of_many(w, "bb");
    const char *tsa = tensor ? "0" : of_many(w, "bsa");
    const char *tsb = tensor && !moe ? "0" : of_many(w, tensor ? "4" : "bsb");

    if (grouped || moe)
        ta = "0";
    if (wgrad) {
        ta = nt ? text(w, "%u", kn_type_bits[p->a]) : "8 * pa";
        tb = nt ? text(w, "%u", kn_type_bits[p->b]) : "8 * pb";
    }
    arg(w, "ta", KN_ARG_I64, ta)->most = most.ta;
    arg(w, "tb", KN_ARG_I64, tb)->most = most.tb;
    arg(w, "tc", KN_ARG_I64, of_many(w, "bc"))->most = most.tc;
    arg(w, "tsa", KN_ARG_I64, grouped ? row : tsa)->most = most.tsa;
    arg(w, "tsb", KN_ARG_I64, tsb)->most = most.tsb;
    arg(w, "tbias", KN_ARG_I64, of_many(w, "4 * n"))->most = most.tbias;
}

static void
put_narrow(struct writer *w)
{
    const struct kn_limits most = kn_limits_of(w->p, w->g);

    arg(w, "m", KN_ARG_I32, "m")->most = most.m;
    arg(w, "n", KN_ARG_I32, "n")->most = most.n;
    arg(w, "k", KN_ARG_I32, "k")->most = most.k;
    arg(w, "G", KN_ARG_I32, count(w->p))->most = most.G;
    arg(w, "pa", KN_ARG_I32, "pa")->most = most.pa;
    arg(w, "pb", KN_ARG_I32, "pb")->most = most.pb;
    arg(w, "pc", KN_ARG_I32, "pc")->most = most.pc;
    arg(w, "psa", KN_ARG_I32, "psa")->most = most.psa;
    arg(w, "psb", KN_ARG_I32, "psb")->most = most.psb;
    arg(w, "alpha", KN_ARG_F32, "alpha");
}

static void
put_args(struct writer *w)
{
    put_pointers(w);
    put_wide(w);
    put_narrow(w);
    if (w->g->split_k > 1)
        pointer(w, "workspace", KILN_ARG_WORKSPACE, "room of the launch's own");
    if (!kn_family_of(w->p)->routed)
        return;
    pointer(w, "experts", KILN_ARG_EXPERTS,
            "int32, the expert of each block of sorted rows");
    pointer(w, "padded", KILN_ARG_PADDED, "int32, how many sorted rows count");
    pointer(w, "weights", KILN_ARG_WEIGHTS, "f32 weight of each sorted row");
    arg(w, "tokens", KN_ARG_I32, "tokens")->most = 16777215;
    arg(w, "topk", KN_ARG_I32, "topk")->most = 255;
    if (w->g->domain.windows)
        arg(w, "window", KN_ARG_I32, "window")->most = 16777215;
}

/* ---- the shape domain: check_domain, check_reach, problem.c ------------- */

static void
rule_multiple(struct writer *w, const char *what, uint32_t by,
              const char *sentence)
{
    if (by > 1 && strcmp(what, "0") != 0)
        rule(w, text(w, "%s %% %u == 0", what, by), sentence);
}

static void
rule_alignment(struct writer *w)
{
    const struct kn_domain *d = &w->g->domain;
    const kiln_problem *p = w->p;
    bool wgrad = kn_family_of(p)->ragged == 'k';
    bool batched = kn_family_of(p)->batch;
    bool moves = batched || kn_family_of(p)->ragged == 'm' ||
                 kn_family_of(p)->routed;
    const char *b = !moves ? "0" : batched ? "when(batch > 1, bb)" : "bb";
    const char *sb = !moves ? "0" : batched ? "when(batch > 1, bsb)" : "bsb";

    rule_multiple(w, "pa", d->align_a, "rows of A are not aligned enough");
    rule_multiple(w, "pb", d->align_b, "rows of B are not aligned enough");
    rule_multiple(w, b, d->align_b, "strides of B are not aligned enough");
    if (batched)
        rule_multiple(w, "when(batch > 1, ba)", d->align_a,
                      "strides of A are not aligned enough");
    if (p->scale >= KILN_SCALE_BLOCK128 && !wgrad) {
        rule_multiple(w, "psa", d->align_sa, "scales of A are not aligned "
                      "enough");
        rule_multiple(w, "psb", d->align_sb, "scales of B are not aligned "
                      "enough");
        rule_multiple(w, sb, d->align_sb, "scales of B are not aligned enough");
        if (batched)
            rule_multiple(w, "when(batch > 1, bsa)", d->align_sa,
                          "scales of A are not aligned enough");
    }
    if (d->vec == 4) {
        uint32_t by = 4 * ((kn_type_bits[p->out] + 7) / 8);

        rule(w, "n % 4 == 0", "n is no multiple of 4");
        rule_multiple(w, "pc", by, "rows of the output are not aligned "
                      "enough");
        if (batched)
            rule_multiple(w, "bc", by, "outputs are not aligned enough");
    }
}

/* check_stride: problems lie behind each other, or side by side in a row. */
struct strided {
    kiln_type type;
    const char *stride, *rows, *cols, *pitch;
};

static void
rule_stride(struct writer *w, struct strided o)
{
    const char *times = count(w->p), *s = o.stride;
    kiln_type t = o.type;

    if (kn_type_bits[t] % 8)
        rule(w, text(w, "%s < 0 || %s * %u %% 8 == 0", s, s, kn_type_bits[t]),
             "a stride is not of whole bytes");
    rule(w, text(w, "%s <= 0 || %s <= 1 || %s == 0 || "
                 "%s >= (%s - 1) * %s + %s || "
                 "(%s >= %s && (%s - 1) * %s <= %s - %s)", s, times, o.rows, s,
                 o.rows, o.pitch, o.cols, s, o.cols, times, s, o.pitch,
                 o.cols),
         text(w, "%s lets problems overlap", s));
}

static void
rule_strides(struct writer *w)
{
    const kiln_problem *p = w->p;
    bool tn = p->layout == KILN_TN, nt = p->layout == KILN_NT;

    if (kn_family_of(p)->batch) {
        rule_stride(w, (struct strided){ p->a, "stride_a", tn ? "k" : "m",
                                         tn ? "m" : "k", "row_a" });
        rule_stride(w, (struct strided){ p->out, "stride_c", "m", "n",
                                         "row_c" });
    }
    if (kn_family_of(p)->batch || kn_family_of(p)->ragged == 'm')
        rule_stride(w, (struct strided){ p->b, "stride_b", nt ? "n" : "k",
                                         nt ? "k" : "n", "row_b" });
}

static void
rule_k(struct writer *w)
{
    const struct kn_config *g = w->g;
    const kiln_problem *p = w->p;
    uint32_t least = g->bk * (g->split_k > 1 ? g->split_k : 1);

    if (!g->domain.ktail)
        rule(w, text(w, "k %% %u == 0 && k >= %u", g->bk, least),
             text(w, "k is no multiple of %u from %u on", g->bk, least));
    if (kn_schedules[g->schedule].whole && !g->domain.ktail)
        rule(w, text(w, "k == %u", g->stages * g->bk), "k is another than the "
             "kernel's");
    if (kn_streams(g) && g->domain.ktail)
        rule(w, text(w, "k * %u %% 128 == 0 && k * %u %% 128 == 0",
                     kn_type_bits[p->a], kn_type_bits[p->b]),
             "rows are not of whole 16 bytes");
    if (kn_streams(g) && g->domain.ktail && has_scale_rows(p) &&
        p->scale == KILN_SCALE_MX32)
        rule(w, "up(k, 32) % 4 == 0", "rows of scales are not of whole dwords");
    if (kn_reads_of(g) == KN_READS_RUNS)
        rule(w, text(w, "pa %% 4 == 0 && pb %% 4 == 0 && k %% %u == 0",
                     kn_gemv_run(p)), "rows are not of whole runs");
    if (kn_reads_of(g) == KN_READS_RUNS && kn_family_of(p)->ragged == 'm')
        rule(w, "bb % 4 == 0", "strides of B are not of whole runs");
    if (kn_reads_of(g) == KN_READS_RUNS && kn_family_of(p)->batch)
        rule(w, "when(batch > 1, ba) % 4 == 0 && when(batch > 1, bb) % 4 == 0",
             "strides are not of whole runs");
}

static void
rule_stored(struct writer *w)
{
    const kiln_problem *p = w->p;

    if (p->b_layout)
        rule(w, text(w, "n %% %d == 0 && row_b == k && %s %% 16 == 0 && "
                     "k * %u %% 8 == 0", KN_PANEL, "pb",
                     kn_type_bits[p->b]),
             "a preshuffled B is dense, with a multiple of 16 rows of a "
             "multiple of 16 bytes");
    if (kn_gate_stored(p))
        rule(w, text(w, "n %% %d == 0", KN_PANEL), "n is no multiple of 16");
}

static void
rule_moe(struct writer *w)
{
    const kiln_problem *p = w->p;

    rule(w, "tokens >= 0 && tokens <= 16777215 && topk >= 1 && topk <= 255",
         "moe has 1 to 255 slots a token and at most 16777215 tokens");
    if (kn_quantises(p) && p->stage == KILN_MOE_GATE_UP)
        rule(w, "n % 32 == 0", "n is no multiple of 32");
    if (p->scale == KILN_SCALE_BLOCK128 && p->stage == KILN_MOE_GATE_UP)
        rule(w, "n % 16 == 0", "n is no multiple of 16");
    if (p->scale == KILN_SCALE_ROW)
        rule(w, text(w, "4 * tokens * topk <= %d", KN_REACH),
             "row scales of A are over 2 GiB");
    if (p->atomic)
        rule(w, "n % 2 == 0", "n is odd");
    if (p->stage == KILN_MOE_REDUCE)
        return;
    let(w, "window", text(w, "%d / most(1, most(%s%s, pc%s))", KN_REACH,
        p->scale_layout ? "pa" : "most(pa, psa)",
        p->stage == KILN_MOE_DOWN ? " * topk" : "",
        p->atomic ? "" : " * topk"));
    if (!w->g->domain.windows)
        rule(w, "tokens <= window", "rows named by ids span over 2 GiB");
    rule(w, text(w, "2 * n * pb <= %d && window >= 1", KN_REACH),
         "the weights of an expert or the rows of a token span over 2 GiB");
}

static void
rule_counts(struct writer *w)
{
    const kiln_problem *p = w->p;
    bool few = w->g->lookup == KN_LOOKUP_FEW;

    rule(w, "m >= 0 && n >= 0 && k >= 0", "a size is negative");
    rule(w, text(w, "row_a >= %s && row_b >= %s && row_c >= n",
                 p->layout == KILN_TN ? "m" : "k",
                 p->layout == KILN_NT ? "k" : "n"),
         "a leading dimension is shorter than a row");
    if (has_scale_rows(p) && !weight_only(p))
        rule(w, text(w, "ldsa == 0 || (ldsa >= %s && ldsa <= %d)",
                     row_scales(w), (int)((1 << 30) / kn_scale_size(p))),
             "the pitch of A's scales is less than a row or over 1 GiB");
    if (has_scale_rows(p))
        rule(w, text(w, "ldsb == 0 || (ldsb >= %s && ldsb <= %d)",
                     row_scales(w), (int)((1 << 30) / kn_scale_size(p))),
             "the pitch of B's scales is less than a row or over 1 GiB");
    if (kn_family_of(p)->batch)
        rule(w, "batch >= 1 && stride_a >= -1 && stride_b >= -1 && "
                "stride_c >= 0", "a batch or a stride is negative");
    else if (!kn_one_product(p))
        rule(w, text(w, "groups >= 1 && groups <= %d",
                     few ? KN_FEW_GROUPS : 65535),
             few ? "the kernel is for 1 to 8 groups"
                 : "there are 1 to 65535 groups");
    if (kn_family_of(p)->ragged == 'm')
        rule(w, "stride_b >= -1", "a stride is negative");
}

/* ---- grid and workspace: most_tiles, kn_plan_launch --------------------- */

static const char *
tile_rows(struct writer *w)
{
    const kiln_problem *p = w->p;
    const struct kn_family *f = kn_family_of(p);
    uint32_t bm = w->g->bm;

    if (p->stage == KILN_MOE_REDUCE)
        return "tokens";
    if (f->ragged == 'm')
        return text(w, "(m / %u + groups + %d)", bm,
                    (p->group_flags & KILN_TAIL_ZERO) != 0);
    return text(w, "up(m, %u)%s", bm, f->ragged ? " * groups"
                                      : f->batch ? " * batch" : "");
}

static void
put_grid(struct writer *w)
{
    const struct kn_config *g = w->g;
    const char *all = "tiles";

    let(w, "tiles", text(w, "%s * up(n, %u)", tile_rows(w),
                         kn_tile_columns(w->p, g)));
    w->l->workspace = "0";
    if (g->split_k > 1) {
        rule(w, text(w, "tiles * %u <= %d", g->wm * g->wn, KN_COUNTERS),
             "split-K counts fewer tiles");
        w->l->workspace = text(w, "%d + tiles * %" PRIu64, 4 * KN_COUNTERS,
                               kn_split_area(g));
        all = text(w, "tiles * %u", g->split_k);
    }
    rule(w, text(w, "%s <= %d", all, KN_TILES), "there are too many tiles");
    if (g->cus)
        all = text(w, "least(%s, %u)", all, g->cus);
    w->l->grid = text(w, "when(m > 0 && n > 0, %s)", all);
    w->l->block = g->wm * g->wn * 64;
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

void
kn_launch_describe(struct kn_ctx *c, const kiln_problem *p,
                   const struct kn_config *g, struct kn_launch *out)
{
    struct writer w = { c, out, p, g };

    *out = (struct kn_launch){ 0 };
    put_sizes(&w);
    let_pitches(&w);
    let_strides(&w);
    rule_counts(&w);
    rule_strides(&w);
    rule_alignment(&w);
    rule_k(&w);
    rule_stored(&w);
    if (kn_family_of(p)->routed)
        rule_moe(&w);
    put_grid(&w);
    put_args(&w);
    drop_unasked(out);
}
