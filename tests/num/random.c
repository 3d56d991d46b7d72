/* Problems and configurations drawn at random from all that a user may ask
 * for. Each is refused with a sentence that blames the request, or its whole
 * output is right.
 *
 * usage: random TARGET FIRST COUNT    seeds FIRST to FIRST + COUNT - 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

/* Beside the edges of tiles more often than elsewhere. */
static int64_t
length(struct draw *d, uint32_t most)
{
    static const uint32_t edge[] = { 16, 32, 64, 128, 192, 256, 512 };
    uint32_t e = edge[below(d, sizeof edge / sizeof *edge)];

    if (one_in(d, 40))
        return 0;
    if (one_in(d, 3))
        return 1 + below(d, 40);
    if (one_in(d, 2))
        return 1 + below(d, most);
    return (int64_t)e * (1 + below(d, 1 + most / e / 2)) + below(d, 5) - 2;
}

static int64_t
round_up(int64_t a, int64_t to)
{
    return (a + to - 1) / to * to;
}

/* 0: dense; else a row and up to 40 elements more, often whole 16 bytes. */
static int64_t
leading(struct draw *d, int64_t row, kiln_type t)
{
    int64_t unit = one_in(d, 3) ? 1 : 128 / kn_ref_type_bits(t);

    if (d->unit)
        unit = d->unit;
    return one_in(d, 2) ? 0 : round_up(row + below(d, 40), unit);
}

static void
draw_groups(struct draw *d, struct num_job *j)
{
    static const uint8_t tables[] = { 0, KILN_GROUP_LENS, KILN_GROUP_ENDS32 };
    kiln_problem *p = &j->p;
    bool tight = one_in(d, 4), wgrad = p->family == KILN_WGRAD;
    int64_t block = tight ? 1 : kn_group_unit(p);

    p->groups = 1 + below(d, one_in(d, 2) ? MAX_GROUPS : 4);
    for (int64_t g = 0; g < p->groups; g++) {
        d->lens[g] = one_in(d, 4) ? 0
                   : round_up(length(d, (uint32_t)(1200 / p->groups)), block);
    }
    j->lens = d->lens;
    j->host = one_in(d, 3);
    j->spare = one_in(d, 2) ? 0 : round_up(below(d, 200), kn_group_unit(p));
    p->group_flags = (uint8_t)(below(d, wgrad || d->plain ? 1 : 2) * KILN_TAIL_ZERO |
                               tight * KILN_GROUP_TIGHT | tables[below(d, 3)]);
    *(wgrad ? &p->k : &p->m) = num_rows_read(p, d->lens) + j->spare;
}

/* Rows of scales padded to 4 or 8 as quantisers pad them, or by any number. */
static int64_t
padded(struct draw *d, int64_t row)
{
    static const int64_t unit[] = { 1, 4, 4, 8, 16 };

    if (one_in(d, 3))
        return 0;
    return round_up(row + (one_in(d, 2) ? 0 : below(d, 20)),
                    unit[below(d, 5)]);
}

static void
draw_scale_layout(struct draw *d, kiln_problem *p)
{
    bool mx = num_is_mx(p->a) && p->target == KILN_GFX950 &&
              p->layout == KILN_NT && p->family != KILN_WGRAD;

    bool down = (p->scale == KILN_SCALE_BLOCK128 && !kn_prequant(p)) || kn_scale_groups(p);

    if (down && one_in(d, 2))
        p->scale_layout = KILN_SCALE_TRANSPOSED;
    if (mx && one_in(d, 3))
        p->scale_layout = KILN_SCALE_SHUFFLED;
}

/* Checkpoints' words of eight K or columns, and of zero points. */
static void
draw_words(struct draw *d, kiln_problem *p)
{
    if (p->b != KILN_I4 || one_in(d, 2))
        return;
    p->b_layout = (uint8_t)(KILN_B_AWQ + below(d, 3));
    p->n = round_up(p->n, 8);
    p->k = round_up(p->k, 8);
    p->ldb = 0;
}

/* B as it is stored in panels of 16 rows. */
static void
draw_panels(struct draw *d, kiln_problem *p)
{
    if (p->layout != KILN_NT || p->family == KILN_WGRAD || p->b_layout ||
        (kn_gated(p) && p->scale > KILN_SCALE_TENSOR && !kn_shuffled(p)) || !one_in(d, 6))
        return;
    p->b_layout = KILN_B_PRESHUFFLED;
    p->n = round_up(p->n, 16);
    p->k = round_up(p->k, 128);
    p->ldb = 0;
    if (p->lda)
        p->lda = round_up(p->k > p->lda ? p->k : p->lda, 16);
}

static void
draw_scale_pitch(struct draw *d, kiln_problem *p)
{
    int64_t row = (p->k + kn_scale_k(p) - 1) / kn_scale_k(p);

    if (p->scale < KILN_SCALE_BLOCK128 || kn_shuffled(p))
        return;
    if (!one_in(d, 3))
        p->ldsb = padded(d, kn_scales_down(p, 'b') ? kn_b_columns(p) : row);
    if (!one_in(d, 3) && num_is_mx(p->a) == num_is_mx(p->b) && !kn_prequant(p) &&
        p->scale < KILN_SCALE_GROUP32)
        p->ldsa = padded(d, kn_scales_down(p, 'a') ? p->m : row);
}

/* Of up to four arrays and two scalars, each joined to what is there. */
static void
draw_declared(struct draw *d, kiln_problem *p)
{
    static const char *const kinds[] = { "row", "col", "tensor" };
    char text[KILN_EXPRESSION] = "acc", more[KILN_EXPRESSION + 16];
    char head[KILN_EXPRESSION] = "";
    uint32_t arrays = 1 + below(d, 4), n = arrays + below(d, 3);

    for (uint32_t i = 0; i < n; i++) {
        char name = (char)('p' + i);
        size_t at = strlen(head);

        snprintf(head + at, sizeof head - at, "%s:%c,",
                 i < arrays ? kinds[below(d, 3)] : "scalar", name);
        switch (below(d, 4)) {
        case 0: snprintf(more, sizeof more, "(%s)+%c", text, name); break;
        case 1: snprintf(more, sizeof more, "%c*(%s)", name, text); break;
        case 2: snprintf(more, sizeof more, "max(%s,%c*2)", text, name); break;
        default: snprintf(more, sizeof more, "(%s)-%c*acc", text, name); break;
        }
        memcpy(text, more, sizeof text);
    }
    p->epilogue = KILN_EPILOGUE_EXPRESSION;
    snprintf(p->expression, sizeof p->expression, "%s%s", head, text);
}

/* One of the field's; wgrad has no bias. */
static void
draw_expression(struct draw *d, kiln_problem *p)
{
    static const char *const texts[] = {
#define E(text, from) text,
#include "epilogues.def"
#undef E
    };
    const char *text = texts[below(d, sizeof texts / sizeof *texts)];

    if (p->family == KILN_WGRAD && (kn_formula_names(text, "bias") ||
                                    kn_formula_names(text, "gate")))
        return;
    if (one_in(d, 3)) {
        draw_declared(d, p);
        return;
    }
    p->epilogue = KILN_EPILOGUE_EXPRESSION;
    snprintf(p->expression, sizeof p->expression, "%s", text);
    if (kn_gated(p) && !kn_formula_names(text, "c"))
        p->beta = 0;         /* nothing is added to either */
}

/* Codes, of which no tensor can be one and to which nothing is added. */
static void
draw_codes(struct draw *d, kiln_problem *p)
{
    static const kiln_type codes[] = { KILN_FP8, KILN_FP8, KILN_BF8, KILN_I8 };

    if (p->out == KILN_I32 || p->beta || strstr(p->expression, "tensor:") ||
        kn_formula_names(p->expression, "c") || !one_in(d, 3))
        return;
    p->out = codes[below(d, 4)];
    p->out_scale = (uint8_t)below(d, KILN_OUT_MX32);
    p->overflow = p->out != KILN_I8 && one_in(d, 3);
    if (p->out_scale == KILN_OUT_BLOCK128 && !kn_scale_groups(p) && one_in(d, 2))
        p->scale_type = KILN_SCALE_TYPE_E8M0;
    if (!kn_targets[p->target].scaled || !one_in(d, 3))
        return;
    p->out = one_in(d, 2) ? KILN_MXFP8 : KILN_MXFP4;
    p->out_scale = KILN_OUT_MX32;
    p->requant = (uint8_t)below(d, 4);
}

/* A second output: of what the expression was, if it goes on from there. */
static void
draw_second(struct draw *d, kiln_problem *p)
{
    static const kiln_type types[] = { KILN_BF16, KILN_F16, KILN_F32 };
    size_t head = (size_t)(kn_formula_declared(p->expression).rest -
                           p->expression);
    char rest[KILN_EXPRESSION];

    p->out2 = (uint8_t)types[below(d, 3)];
    if (kn_wide_sums(p))
        p->out2 = one_in(d, 2) ? KILN_F64 : KILN_F32;
    snprintf(rest, sizeof rest, "%s", p->epilogue ? p->expression + head : "acc");
    if (kn_gated(p) && !head && !kn_formula_names(rest, "c") && !one_in(d, 3))
        snprintf(p->expression, sizeof p->expression, "aux:gate%s,up*2,%s",
                 one_in(d, 2) ? "+gate_bias" : "", one_in(d, 2)
                 ? "swiglu(aux_gate,aux_up)" : "aux_gate*up_bias-aux_up");
    if (kn_gated(p) || !kn_formula_names(rest, "acc") || one_in(d, 3) ||
        head + strlen(rest) + 24 > sizeof p->expression)
        return;
    p->epilogue = KILN_EPILOGUE_EXPRESSION;
    snprintf(p->expression + head, sizeof p->expression - head,
             "aux:%s,%s(aux)+1", rest, kn_wide_sums(p) ? "relu" : "gelu");
}

/* Of all kinds, or of those that a form takes. */
static void
draw_kind(struct draw *d, kiln_problem *p)
{
    d->form = draw_form(d);
    do
        *p = d->s->kind[below(d, (uint32_t)d->s->nkinds)];
    while (d->form && !d->form->takes(p));
}

/* A small device, for which much is chosen as for large problems. */
static void
draw_device(struct draw *d, kiln_problem *p)
{
    if (!one_in(d, 3))
        return;
    p->xcds = (uint16_t)(1 + below(d, 2));
    p->cus = (uint16_t)(p->xcds * (1 + below(d, 6)));
}

/* From one problem to the next, further apart than they are large. */
static int64_t
stride(struct draw *d, int64_t rows, int64_t row, int64_t leading)
{
    return one_in(d, 2) ? 0
         : rows * round_up(leading ? leading : row, 16) + 16 * (int64_t)below(d, 9);
}

static void
draw_strides(struct draw *d, kiln_problem *p)
{
    bool a = kn_along_k(p, 'a'), b = kn_along_k(p, 'b');

    if (p->family != KILN_BATCHED || p->b_layout || kn_shuffled(p) || !one_in(d, 3))
        return;
    p->stride_a = stride(d, a ? p->m : p->k, a ? p->k : p->m, p->lda);
    p->stride_b = stride(d, b ? kn_b_columns(p) : p->k, b ? p->k : kn_b_columns(p), p->ldb);
    p->stride_c = stride(d, p->m, p->n, p->ldc);
}

static void
draw_problem(struct draw *d, struct num_job *j)
{
    static const kiln_type outs[] = { KILN_BF16, KILN_F16, KILN_F32 };
    static const kiln_type quantised[] = { KILN_FP8, KILN_BF8, KILN_I8 };
    kiln_problem *p = &j->p;
    bool wide;

    draw_kind(d, p);
    wide = kn_type_bits[p->a] > 32;
    if (p->a == KILN_BF16 && p->b == KILN_MXFP4 && one_in(d, 2))
        p->quant = (uint8_t)(1 + below(d, 4));
    if (kn_ref_type_bits(p->a) == 16 && p->a == p->b && one_in(d, 12)) {
        p->b = quantised[below(d, 3)];
        p->scale = (uint8_t)(KILN_SCALE_TENSOR + below(d, 3));
    }
    if (d->form && d->form->becomes)
        d->form->becomes(d, p);
    if (p->a == KILN_F32)
        p->math = (uint8_t)(kn_targets[p->target].xf32 ? below(d, KILN_NMATHS)
                                                       : 2 * below(d, 2));
    draw_scale_layout(d, p);
    if (kn_scale_groups(p))
        p->scale_type = (uint8_t)below(d, KILN_SCALE_TYPE_E8M0);
    if (p->scale == KILN_SCALE_BLOCK128 && one_in(d, 2))
        p->scale_type = KILN_SCALE_TYPE_E8M0;
    if (kn_scale_groups(p))
        p->zero_points = (uint8_t)below(d, KILN_NZEROPOINTS);
    p->out = wide ? one_in(d, 3) ? KILN_F32 : KILN_F64 : outs[below(d, 3)];
    if (p->a == KILN_I8 && p->scale == KILN_SCALE_NONE && one_in(d, 2))
        p->out = KILN_I32;
    p->bias = p->out != KILN_I32 && p->family != KILN_WGRAD && one_in(d, 3);
    p->beta = p->out != KILN_I32 && one_in(d, 3);
    p->alpha_set = p->out != KILN_I32 && one_in(d, 3);
    if (p->out != KILN_I32 && one_in(d, 4))
        draw_expression(d, p);
    if (!wide)
        draw_codes(d, p);
    if (p->out != KILN_I32 && one_in(d, 6))
        draw_second(d, p);
    p->alpha = 0.5f;
    for (int i = 0; i < KILN_SCALARS; i++)
        p->scalar[i] = 0.5f + (float)i;
    p->m = length(d, 700);
    p->n = length(d, 700);
    p->k = length(d, 1500);
    if (!one_in(d, 4))
        p->k = round_up(p->k, one_in(d, 2) ? 32 : 256);
    if (!one_in(d, 3))
        p->n = round_up(p->n, 4);
    if (d->form && d->form->sizes)
        d->form->sizes(d, p);
    if (p->out_scale == KILN_OUT_ROW && one_in(d, 2)) /* within a tile */
        p->n %= kn_gated(p) ? 129 : 257;
    if (kn_gated(p) && p->scale == KILN_SCALE_BLOCK128)
        p->n = round_up(p->n, 16);
    if (p->family == KILN_BATCHED)
        p->batch = 1 + below(d, 4);
    if (p->family == KILN_GROUPED || p->family == KILN_WGRAD)
        draw_groups(d, j);
    p->lda = leading(d, kn_along_k(p, 'a') ? p->k : p->m, p->a);
    p->ldb = leading(d, kn_along_k(p, 'b') ? p->k : kn_b_columns(p), p->b);
    draw_words(d, p);
    draw_panels(d, p);
    draw_device(d, p);
    p->invariant = !d->plain && one_in(d, 12);
    p->amax = !d->plain && p->out != KILN_I32 && one_in(d, 6);
    p->ldc = leading(d, p->n, p->out);
    draw_strides(d, p);
    draw_scale_pitch(d, p);
    p->round = !d->plain && kn_ref_type_bits(p->out) < 32 && one_in(d, 5);
    p->round_seed = p->round * kn_mix(d->seed);
}

/* Nothing, or some of what flags can say. */
static struct kn_config
draw_config(struct draw *d, const kiln_problem *p)
{
    static const uint32_t edge[] = { 16, 32, 64, 96, 128, 192, 256 };
    static const uint32_t bk[] = { 0, 0, 32, 64, 128, 256 };
    static const uint32_t wide[] = { 288, 320, 352 };
    static const uint32_t waves[][2] = { { 0, 0 }, { 0, 0 }, { 0, 0 },
        { 1, 1 }, { 1, 2 }, { 2, 2 }, { 1, 4 }, { 4, 1 }, { 2, 4 } };
    struct kn_config g = { 0 };
    uint32_t w = below(d, sizeof waves / sizeof *waves);

    if (d->form && !one_in(d, 3)) {
        d->form->config(d, p, &g);
        g.nt_b = one_in(d, 8);
        return g;
    }
    if (one_in(d, 3))
        return g;
    g.nt_b = one_in(d, 8);
    g.bm = edge[below(d, 7)];
    g.bn = one_in(d, 2) ? g.bm : edge[below(d, 7)];
    g.bk = bk[below(d, 6)];
    g.wm = waves[w][0];
    g.wn = waves[w][1];
    g.schedule = one_in(d, 2) ? KN_SCHED_AUTO
                              : (enum kn_schedule)below(d, KN_NSCHEDULES);
    g.stages = one_in(d, 2) ? 0 : 1 + below(d, one_in(d, 4) ? 8 : 4);
    g.split_k = one_in(d, 5) ? 1 + below(d, one_in(d, 4) ? 16 : 4) : 0;
    g.cus = one_in(d, 4) ? 1 + below(d, 9) : 0;
    g.store = (enum kn_store)(one_in(d, 3) ? below(d, KN_NSTORES) : 0);
    g.copies = (enum kn_copies)(one_in(d, 3) ? below(d, KN_NCOPIES) : 0);
    g.lookup = one_in(d, 3) ? KN_LOOKUP_MANY : KN_LOOKUP_OPEN;
    g.lowering =
        (enum kn_lowering)(one_in(d, 2) ? below(d, KN_NLOWERINGS) : 0);
    if (g.schedule == KN_SCHED_4WAVE && one_in(d, 2)) {
        g.bm = 256;
        g.bn = wide[below(d, 3)];
        g.wm = g.wn = 2;
    }
    if (g.schedule == KN_SCHED_4WAVE && one_in(d, 3)) { /* shares that begin at any K tile */
        g.bk = 64;
        g.split_k = 2 + below(d, 6);
    }
    g.group_m = one_in(d, 2) ? 0 : 1 + below(d, 5);
    g.group_n = one_in(d, 4) ? below(d, 4) : 0;
    g.xcd_run = one_in(d, 4) ? below(d, 9) : 0;
    g.stagger = one_in(d, 4) ? below(d, 6) : 0;
    g.split_after = g.split_k > 1 && one_in(d, 2) ? 1 + below(d, 9) : 0;
    g.join = (enum kn_join)(g.split_k > 1 && one_in(d, 2) ? below(d, KN_NJOINS) : 0);
    return g;
}

static void
describe(const struct num_kernel *k, const struct num_job *j, char text[900])
{
    struct kn_ctx c;
    struct kn_buf b = { .c = &c };
    char job[500];

    kn_ctx_init(&c, NULL, NULL);
    num_describe(k, j, job, sizeof job);
    kn_config_print(&k->g.cfg, &b);
    snprintf(text, 900, "%s\n%s, spare %d", job, b.s, (int)j->spare);
    kn_ctx_free(&c);
}

/* A refusal for a reason of the user's: a tile of theirs may spill or wait for loads
 * for longer than its loop asks, ours not. */
static bool
may_refuse(const struct num_kernel *k, bool given)
{
    const kiln_error *e = &k->c.err;

    return e->status == KILN_BAD_INPUT || e->status == KILN_UNSUPPORTED ||
           (given && e->status == KILN_FINDING &&
            (!strncmp(e->text, "gate spills", 11) || !strncmp(e->text, "gate vm-wait", 12)));
}

/* A kernel for the problem, in one of some configurations or as chosen. */
static bool
draw_kernel(struct draw *d, const struct num_job *j, struct num_kernel *k)
{
    char text[900];

    for (int i = 0; i < TRIES; i++) {
        bool given = i + 1 < TRIES;
        struct kn_config g = { 0 };

        if (given)
            g = draw_config(d, &j->p);
        if (num_open(k, &d->s->counts, &j->p, &g))
            return true;
        k->g.cfg = g;
        describe(k, j, text);
        if (!may_refuse(k, given))
            fail_msg("%s\n%s", text, k->c.err.text);
        print_message("# %s\n", k->c.err.text);
        num_close(k);
    }
    return false;
}

/* Bases no more aligned than the kernel asks; what is stored another way has none. */
static void
draw_skew(struct draw *d, const struct num_kernel *k, struct num_job *j)
{
    const struct kn_domain *g = &k->g.cfg.domain;
    const kiln_problem *p = &k->p;
    bool stored = p->b_layout || kn_shuffled(p);

    if (!one_in(d, 3))
        return;
    j->skew[NUM_A] = g->align_a * below(d, 8);
    j->skew[NUM_C] = g->vec * num_element_bytes(p->out) * below(d, 4);
    if (stored)
        return;
    j->skew[NUM_B] = g->align_b * below(d, 8);
    j->skew[NUM_SA] = (kn_b_in_sa(p) ? 4 : g->align_sa) * below(d, 4);
    j->skew[NUM_SB] = g->align_sb * below(d, 4);
}

static void
run_seed(void **state)
{
    struct draw *d = *state;
    struct num_job j = { .seed = d->seed, .order_seed = d->seed };
    struct num_kernel k;
    struct num_result r;
    char text[900];

    draw_problem(d, &j);
    j.mode = one_in(d, 2) ? KN_DATA_RANDOM : KN_DATA_EXACT;
    j.order = one_in(d, 2) ? KN_ORDER_RANDOM : KN_ORDER_LATEST;
    if (!draw_kernel(d, &j, &k))
        return;
    draw_skew(d, &k, &j);
    if (!num_launch(&k, &j, &r)) {
        describe(&k, &j, text);
        fail_msg("%s\n%s", text, r.text);
    }
    d->s->nran++;
    num_close(&k);
}

/* Most requests are such that there is a kernel. */
static void
test_most_ran(void **state)
{
    const struct suite *s = *state;

    assert_true(4 * s->nran >= 3 * s->nseeds);
    print_message("# %zu of %zu ran, %llu elements, the sums of %llu launches "
                  "in order\n", s->nran, s->nseeds,
                  (unsigned long long)s->counts.elements,
                  (unsigned long long)s->counts.sums);
}

static void
add_kind(void *user, const kiln_problem *p)
{
    struct suite *s = user;

    assert_true(s->nkinds < MAX_KINDS);
    s->kind[s->nkinds++] = *p;
}

int
main(int argc, char **argv)
{
    static struct suite s;
    size_t first = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    size_t n = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    struct draw *draws = calloc(n, sizeof *draws);
    struct CMUnitTest *tests = calloc(n + 1, sizeof *tests);
    int failed;

    if (!draws || !tests || argc < 4)
        return 2;
    s.nseeds = n;
    s.target = !strcmp(argv[1], "gfx942") ? KILN_GFX942 : KILN_GFX950;
    for (int f = KILN_GEMM; f <= KILN_BATCHED; f++)
        num_each_kind(s.target, (kiln_family)f, add_kind, &s);
    for (size_t i = 0; i < n; i++) {
        draws[i] = (struct draw){ .s = &s, .seed = first + i };
        snprintf(draws[i].name, sizeof draws[i].name, "seed %zu", first + i);
        tests[i] = (struct CMUnitTest){ draws[i].name, run_seed, NULL, NULL,
                                        &draws[i] };
    }
    tests[n] = (struct CMUnitTest){ "most ran", test_most_ran, NULL, NULL,
                                    &s };
    failed = _cmocka_run_group_tests("random", tests, n + 1, NULL, NULL);
    free(draws);
    free(tests);
    return failed;
}
