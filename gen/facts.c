/* facts.c - the facts of a problem and a configuration. */
#include "facts.h"

#include <math.h>
#include <string.h>

#include "aiter.h"
#include "forms.h"
#include "instantiate.h"
#include "layout.h"
#include "quant.h"
#include "panels.h"

/* What facts.def's values are made of besides p and g. */
struct given {
    const kiln_problem *p;
    const struct kn_config *g;
    const char *name, *mfma, *out_vector, *limit, *lowest, *largest, *drawn;
    enum kn_elem staged_a, staged_b, stored_a, stored_b, out;
    int64_t unscale;
    int mfma_k;
    struct kn_frag a, b;
    struct kn_limits most;
    struct kn_formula_operands operands;
};

/* Bytes per global load: a dword-aligned run can be loaded 16 bytes at a time
 * (buffer loads need dword alignment); below that, one element. */
static int64_t
unit(uint8_t align, bool transpose, uint32_t bits)
{
    int64_t u = align >= 4 ? 16 : align;

    if (transpose && u > 4 && bits <= 32)
        u = 4;
    return u * 8 < bits ? bits / 8 : u;
}

/* f32 scales are aligned to themselves whatever the class says. What goes through
 * registers is loaded as operands are. */
static int64_t
scale_unit(const struct given *x, uint8_t align)
{
    int64_t size = kn_scale_size(x->p), own = size > align ? size : align;

    return own >= 4 && !kn_direct(x->p, x->g) ? 16 : own;
}

/* Where rows of scales begin: of a share of K, where a K tile does. */
static uint8_t
scale_align(const struct kn_config *g, const struct kn_facts *f, uint8_t align)
{
    uint32_t tile = g->bk / 32;
    bool shares = f->converts_early && (g->split_k > 1 || g->loader_split > 1);

    return shares && tile < align ? (uint8_t)tile : align;
}

/* Rows of M or N are turned on their way to LDS: where LDS reads do not
 * transpose elements of this size, and where elements are converted. */
static bool
turned(const struct given *x, enum kn_elem stored, enum kn_elem staged)
{
    return !kn_targets[x->p->target].lds_tr || kn_elems[staged].bits > 16 ||
           stored != staged;
}

static int64_t
log2_of(int64_t x)
{
    return x > 0 ? __builtin_ctzll((unsigned long long)x) : 0;
}

enum { SCALES_NONE, SCALES_TILE, SCALES_BATCH, SCALES_SHUFFLED, SCALES_OF_A,
       SCALES_OF_B };

static int
scales_of(const kiln_problem *p, const struct kn_config *g)
{
    return !kn_direct_to_reg(g) && kn_scale_dwords(p, g) ? SCALES_SHUFFLED
         : kn_prequant(p) ? kn_blocks(p) ? SCALES_TILE : SCALES_OF_A
         : p->scale < KILN_SCALE_BLOCK128 || kn_widens_scaled(p) ? SCALES_NONE
         : kn_folds_scales(p, g) ? SCALES_TILE
         : kn_scale_batch(p, g) || kn_converts_early(p, g) ? SCALES_BATCH
         : kn_weight_only(p) ? SCALES_OF_B : SCALES_TILE;
}

enum { FACTORS_NONE, FACTORS_ROW, FACTORS_COLUMN, FACTORS_TENSOR, FACTORS_TENSOR_B,
       FACTORS_WEIGHT };

static int
factors_of(const kiln_problem *p)
{
    return kn_weight_factor(p) ? FACTORS_WEIGHT
         : p->scale == KILN_SCALE_TENSOR ? kn_prequant(p) ? FACTORS_TENSOR_B : FACTORS_TENSOR
         : p->scale != KILN_SCALE_ROW ? FACTORS_NONE
         : kn_prequant(p) ? FACTORS_COLUMN : FACTORS_ROW;
}

/* A jump there and back waits for two lines of instructions, as jumps over it do in each K
 * tile that is the first to run its code: worth it where there are more, or each group's. */
static int64_t
rare(const kiln_problem *p, const struct kn_config *g)
{
    enum { FEW = 2 };        /* K tiles */
    int64_t share = p->k / (g->split_k ? g->split_k : 1);

    return !p->k || kn_family_of(p)->ragged == 'k' || share > FEW * (int64_t)g->bk ? 2 : 0;
}

/* A's rows are read and multiplied share by share. */
static bool
shared(const struct kn_config *g)
{
    enum kn_reads r = kn_reads_of(g);

    return r == KN_READS_PARTS || r == KN_READS_HALVES || r == KN_READS_TILE;
}

/* Tiles whose loads fill the memory queue. */
static bool
many_loads(const struct kn_config *g)
{
    return g->bm * g->bn >= 80 * 128;
}

/* Rows that are shifted as they are put, which is arithmetic to hide products behind. */
static bool
lines_beside(const struct kn_config *g, const struct kn_facts *f)
{
    return f->by_lines && !f->line_ring && !f->quantise_k && kn_reads_of(g) == KN_READS_STEP &&
           g->bm * g->bn >= (g->wm * g->wn == 8 ? 96 * 128 : 128 * 128);
}

/* Of 128-blocks one, as in loops that have registers for no more: what --invariant
 * says holds in all of them. */
static int64_t
span_of(const struct given *x, const struct kn_facts *f)
{
    int64_t k = kn_prequant(x->p) ? f->quantise_k
              : kn_adds_groups(x->p) ? kn_scale_k(x->p) : 0;

    return k && f->scaled_by_hand ? k * f->KSTEPS / x->g->bk : 1;
}

static int64_t
fold_chunks(const struct kn_config *g, uint32_t rows, const struct kn_facts *f)
{
    int64_t each = g->wm * g->wn * 64 * f->FOLD_RUN;

    return (rows * g->bk + each - 1) / each;
}

/* Of four products each. */
static int64_t
shares_of_four(const struct given *x)
{
    uint32_t rows = x->b.count < 4 ? 4 / x->b.count : 1;

    return x->a.count % rows ? 1 : x->a.count / rows;
}

/* Two where one K step alone would have no place for late loads, too. */
static int64_t
parts_of(const struct given *x, const struct kn_facts *f)
{
    bool one = kn_prequant(x->p) && many_loads(x->g) && x->a.ksteps == 1 && x->a.count > 1;

    if (f->widens_late)
        return x->a.count;
    if (f->SPAN > 1)
        return kn_prequant(x->p) && x->a.count > 2 && x->g->bn <= 64 * x->g->wn
                   ? (x->a.count + 1) / 2 : x->a.count;
    if (lines_beside(x->g, f))
        return x->a.count * x->a.ksteps <= 4 ? x->a.count : x->a.ksteps < 4 ? 4 / x->a.ksteps : 1;
    if (f->converts_early)
        return f->scaled_by_hand ? shares_of_four(x) : x->a.count > 1 ? 2 : 1;
    return shared(x->g) ? kn_shares(x->g, &x->a)
                        : one || x->a.count * x->a.bytes > 128 ? 2 : 1;
}

/* Blocks of 16x16 of a wave beside which two shares of converted types may wait: two workgroups
 * of four waves, rows at no dword, of 6 bits at no 16 bytes, take registers, and so do scales by
 * pieces, K tails and shares. */
static uint32_t
most_held(const kiln_problem *p, const struct kn_config *g)
{
    const struct kn_domain *d = &g->domain;
    bool whole = d->align_sa >= 16 && d->align_sb >= 16 && !d->ktail && g->split_k < 2;

    if (g->wm * g->wn < 8 || d->align_a < (kn_type_bits[p->a] == 6 ? 16 : 4) ||
        d->align_b < (kn_type_bits[p->b] == 6 ? 16 : 4))
        return 18;
    return whole ? 32 : 28;
}

/* As many as hide what LDS takes, but two if the others would convert more each. */
static int64_t
folded_held(const struct kn_facts *f, int64_t most)
{
    int64_t pieces = 4 * (f->CHUNKSA + f->CHUNKSB), n = f->PARTS < most ? f->PARTS : most;

    while (n > 2 && (pieces - 1) / (f->SHARES - n) > (pieces - 1) / (f->SHARES - 2))
        n--;
    return n;
}

/* Two where registers are left, three of up to 160x256; B's fragments are those of two K steps
 * at most. */
static int64_t
held(const struct given *x, const struct kn_facts *f)
{
    uint32_t blocks = x->a.count * x->b.count;

    if (!f->scaled_by_hand)
        return 0;
    if (f->folds)
        return folded_held(f, kn_type_bits[x->p->a] == 6 ? 4 : 3);
    if (f->PARTS < 2 || f->KSTEPS % 2 || blocks > most_held(x->p, x->g))
        return 1;
    return f->PARTS > 2 && blocks <= 20 ? 3 : 2;
}

/* As many as memory takes, and more where registers are left. */
static int64_t
fetched(const struct kn_config *g, const struct kn_facts *f)
{
    int64_t most = g->bm * g->bn > 128 * 192 ? 6 : 10;

    return f->SHARES < most ? f->SHARES : most;
}

/* Products that are scaled before they are added: LLVM has registers for one share, and so
 * has who keeps sums in AGPRs; of two K tiles, whose reads nothing hides, the first share
 * is sooner there alone. */
static bool
share_apart(const struct given *x, const struct kn_facts *f)
{
    enum { FEW_SUMS = 16 };  /* of 16x16 */
    bool shortest = x->p->k && x->p->k <= 2 * (int64_t)x->g->bk;

    return f->scaled_by_hand &&
           (!f->direct || x->g->lowering != KN_LOWERING_ASM || shortest ||
            x->a.count * x->b.count > FEW_SUMS);
}

/* Of A that is quantised, whose arithmetic takes as long as the products of large tiles;
 * LLVM waits for more than a share's loads. A share has loads of its own, and both runs
 * of a row that has two. */
static int64_t
beside(const struct kn_config *g, const struct kn_facts *f)
{
    bool even = f->RUNA != 16 || g->bm * 8 / (g->wm * g->wn * 64) % 2 == 0;
    bool own = f->UNITA == 16 && f->UNITB == 16 && f->GKB;

    if (lines_beside(g, f))
        return f->SHARES > 1 ? f->SHARES < 4 ? f->SHARES : 4 : 0;
    return f->quantise_k != 128 || g->stages < 2 || f->PARTS < 2 || !own ||
           g->lowering != KN_LOWERING_ASM ? 0 : even ? 2 : 1;
}

/* Not of the largest tiles whose A becomes codes soonest, bf16 to floats: products take longer. */
static bool
hides_reads(const kiln_problem *p, const struct kn_config *g, const struct kn_facts *f)
{
    return f->overlaps &&
           (p->a != KILN_BF16 || g->bm * g->bn < 128 * 256);
}

/* Products behind which loads come later than the next tile wants them: of small
 * tiles, and of two slots where products take no factors between them. */
static bool
late_loads(const struct kn_config *g, const struct kn_facts *f)
{
    return f->converts_early ||
           (!f->direct && !f->beside && many_loads(g) && (g->stages == 1 || f->scaled_by_hand) &&
            f->KSTEPS * f->PARTS > 1);
}

static int64_t
common_turn(int64_t a, int64_t b)
{
    int64_t turn = a;

    while (turn % b)
        turn += a;
    return turn;
}

/* B's fragments alternate, so an odd number of K steps takes two turns; slots and
 * places of common scales repeat together. */
static int64_t
steps_of(const struct given *x, const struct kn_facts *f)
{
    enum kn_reads reads = kn_reads_of(x->g);
    int64_t batches = f->SCALE_SLOTS * f->SCALE_TILES, slots = f->SLOTS;
    int64_t whole = f->line_ring ? 4 * slots : slots; /* lines, of any type */
    int64_t turn = f->scales == SCALES_SHUFFLED ? 2 * f->BLOCK_TILES
                 : batches ? common_turn(whole, batches) : whole;
    bool odd = reads != KN_READS_HALVES && turn * f->KSTEPS % 2;

    if (f->folds)
        return f->FOLD_TILES;
    if (f->widens_late)
        return common_turn(f->SLOTS, 2);
    if (f->widens_scaled || f->turns_sb)
        return common_turn(f->by_lines ? f->WAITING : reads == KN_READS_TILE ? 1 : turn,
                           f->SB_TILES);
    if (f->by_lines && !f->line_ring)
        return common_turn(turn, f->WAITING);
    return odd && reads != KN_READS_STEP ? 2 * turn : turn;
}

/* Each is copied behind a share, of which few are awaited soon: of the 4-wave loop one
 * more where a share of the largest tiles is long, and one less through registers. */
static int64_t
pieces_of(const struct given *x)
{
    uint32_t shares = kn_shares(x->g, &x->a);

    if (kn_reads_of(x->g) == KN_READS_TILE)
        return kn_direct(x->p, x->g) && (x->a.ksteps > 1 || x->a.count * x->b.count < 64)
                   ? 5 : 7 - (int64_t)x->a.ksteps - !kn_direct(x->p, x->g);
    if (kn_widens_late(x->p, x->g) && !kn_direct(x->p, x->g))
        return kn_row_loads(x->g) / 2;
    if (kn_widens_late(x->p, x->g))
        return x->a.count < 4 ? 2 : x->a.count / 2 + 1;
    return shares > 4 ? 4 : (int64_t)shares;
}

static bool
eager(const kiln_problem *p, const struct kn_config *g)
{
    return kn_reads_of(g) == KN_READS_HALVES &&
           p->scale < KILN_SCALE_BLOCK128 &&
           kn_pick_mfma(p) >= 0 &&
           (uint32_t)kn_mfmas[kn_pick_mfma(p)].k == g->bk;
}

/* Scalar registers of a walk ahead have room for where rotated views end. */
static bool
few_scalars(const kiln_problem *p)
{
    return p->scale < KILN_SCALE_BLOCK128 && kn_family_of(p)->ragged != 'k';
}

/* A persistent launch that loads its next tile while it stores this one; scalar
 * registers have no room for what an expression declares for two tiles. */
static bool
walks_ahead(const kiln_problem *p, const struct kn_config *g)
{
    return g->cus && g->split_k < 2 && kn_reads_of(g) == KN_READS_TILE &&
           kn_direct(p, g) &&
           (p->scale < KILN_SCALE_BLOCK128 || kn_scale_batch(p, g)) &&
           (g->copies != KN_COPIES_LINES || kn_4wave_packed(p, g)) &&
           (g->stagger < 2 || few_scalars(p)) &&
           !kn_formula_declared(p->expression).n &&
           !kn_writes_scales(p) && !p->out2 && !p->round &&
           !kn_gated(p) && !kn_family_of(p)->routed &&
           !(p->group_flags & KILN_TAIL_ZERO);
}

enum { FIRST_NONE, FIRST_A, FIRST_ALL };

static int
first_copies(const kiln_problem *p, const struct kn_config *g)
{
    if (kn_family_of(p)->routed)
        return kn_early_copy(g) ? FIRST_A : FIRST_NONE;
    return kn_reads_of(g) == KN_READS_TILE && kn_direct(p, g) && !g->cus &&
           !kn_4wave_packed(p, g) ? FIRST_ALL : FIRST_NONE;
}

/* Powers of two that conversion takes from a number of the type. */
static int
shift_of(enum kn_elem from, enum kn_elem to)
{
    for (size_t i = 0; i < kn_nconverts; i++)
        if (kn_converts[i].from == from && kn_converts[i].to == to)
            return kn_converts[i].up;
    return 0;
}

/* Its kind, as a word. */
static int
array_of(const struct given *x, uint32_t i)
{
    const struct kn_formula_operand *o = kn_formula_array(&x->operands, i);

    return o ? 1 + o->kind : 0;
}

static bool
names_rows(const struct given *x)
{
    bool any = x->p->beta || x->p->out_scale == KILN_OUT_ROW;

    for (uint32_t i = 0; i < x->operands.n; i++)
        any |= x->operands.of[i].kind == KN_FO_ROW ||
               x->operands.of[i].kind == KN_FO_TENSOR;
    return any && kn_family_of(x->p)->routed;
}

/* Bias and C are an expression's operands: C is loaded for many rows at a time, and a
 * part of the tile stored while the next is made. Not of runs of rows, of moe, of
 * aiter's arguments and of f64, nor where sums leave LLVM no registers for those
 * rows. */
static bool
applies(const struct given *x)
{
    const kiln_problem *p = x->p;
    const struct kn_config *g = x->g;
    uint32_t sums = g->bm * g->bn / (64 * g->wm * g->wn);

    return p->epilogue == KILN_EPILOGUE_EXPRESSION ||
           ((p->beta || p->epilogue) && !kn_wide_sums(p) &&
            kn_reads_of(g) != KN_READS_RUNS &&
            (sums < 128 || g->lowering == KN_LOWERING_ASM) &&
            !kn_family_of(p)->routed && !kn_loader_of(p, g));
}

enum { WALK_PARTS = 8 };     /* stores of a tile, with the next one's copies between */

/* Rows of blocks, where nothing is loaded for each element and nothing but copies is
 * between the expression and the store. */
static int64_t
apply_parts(const struct given *x)
{
    const kiln_problem *p = x->p;
    bool changed = applies(x) || factors_of(p) || p->alpha_set || x->unscale != 1 ||
                   (p->a == KILN_I8 && p->out != KILN_I32) ||
                   p->out_scale == KILN_OUT_STATIC || p->amax || p->out2 || p->round;
    bool alone = changed && !p->beta && !kn_loader_of(p, x->g) &&
                 !kn_writes_scales(p) && !kn_family_of(p)->routed &&
                 !kn_family_of(p)->unary && x->g->join != KN_JOIN_ALL &&
                 (!walks_ahead(p, x->g) || x->a.count == WALK_PARTS);

    for (uint32_t i = 0; i < x->operands.n; i++)
        alone &= x->operands.of[i].kind != KN_FO_TENSOR;
    return alone && x->a.count ? x->a.count : 1;
}

static struct given
given(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    struct given x = { .p = p, .g = g, .name = kn_kernel_name(c, p, g),
                       .mfma = "", .most = kn_limits_of(p, g),
                       .operands = kn_formula_declared(p->expression) };
    struct kn_fn shape = { .c = c, .shape = kn_shape_of(p, g) };
    struct kn_buf vector = { .c = c }, limit = { .c = c };
    struct kn_buf lowest = { .c = c }, inverse = { .c = c };
    double most;

    x.staged_a = shape.shape.ta;
    x.staged_b = shape.shape.tb;
    x.stored_a = kn_stored(p, p->a);
    x.stored_b = kn_stored(p, p->b);
    x.out = kn_payload(p->out);
    x.unscale = kn_widens_scaled(p) || kn_folds_scales(p, g) ? 1
              : 1LL << (shift_of(x.stored_a, x.staged_a) +
                        shift_of(x.stored_b, x.staged_b));
    if (shape.shape.mfma >= 0) {
        x.mfma = kn_mfmas[shape.shape.mfma].text;
        x.mfma_k = kn_mfmas[shape.shape.mfma].k;
        x.a = kn_fragment(&shape, 'a');
        x.b = kn_fragment(&shape, 'b');
    }
    kn_putf(&vector, g->domain.vec > 1 ? "%sx%u" : "%s", kn_elems[x.out].text,
            g->domain.vec);
    x.out_vector = kn_codes(p) || kn_writes_scales(p) ? "i32" : vector.s;
    most = ldexp(kn_narrow_limit(p),
                 p->out == KILN_MXFP4 ? 0 : -kn_narrow_fold(p));
    kn_putf(&limit, "%.9f", most);
    kn_putf(&lowest, "%.9f", p->out == KILN_I8 ? 128.0 : most);
    kn_putf(&inverse, "%.17g", (double)(float)(1 / kn_narrow_limit(p)));
    x.limit = limit.s;
    x.lowest = lowest.s;
    x.largest = inverse.s;
    x.drawn = kn_quant_drawn(p) ? kn_elems[kn_narrow_of(p->out)->drawn].text : "none";
    return x;
}

static void
fill(const struct given *x, struct kn_facts *f)
{
    const kiln_problem *p = x->p;
    const struct kn_config *g = x->g;

#define N(name, value, text) f->name = (int64_t)(value);
#define T(name, value, text) f->name = (value);
#define W(name, value, words, text) f->name = (int)(value);
#include "facts.def"
#undef N
#undef T
#undef W
}

struct kn_facts
kn_facts_of(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    struct given x = given(c, p, g);
    struct kn_facts f;

    fill(&x, &f);
    return f;
}

/* ---- by name ---- */

enum kind { NUMBER, TEXT, WORD };

static const struct {
    const char *name, *words, *text;
    enum kind kind;
    size_t at;
} facts[] = {
#define AT(name) offsetof(struct kn_facts, name)
#define N(name, value, text) \
    { #name, NULL, text, NUMBER, AT(name) },
#define T(name, value, text) \
    { #name, NULL, text, TEXT, AT(name) },
#define W(name, value, words, text) \
    { #name, words, text, WORD, AT(name) },
#include "facts.def"
#undef N
#undef T
#undef W
#undef AT
};

enum { NFACTS = sizeof facts / sizeof *facts };

/* The k-th of some words. */
static const char *
word_at(struct kn_ctx *c, const char *words, int k)
{
    while (k-- > 0)
        words += strcspn(words, " ") + 1;
    return kn_strndup(c, words, strcspn(words, " "));
}

/* Whether `name` is one of some words. */
static bool
is_word(const char *words, const char *name)
{
    size_t n = strlen(name);

    for (const char *w = words; w; w = strchr(w, ' ')) {
        w += *w == ' ';
        if (!strncmp(w, name, n) && (w[n] == ' ' || !w[n]))
            return true;
    }
    return false;
}

static struct kn_fact_value
value_of(struct kn_ctx *c, const struct kn_facts *f, int i)
{
    const char *at = (const char *)f + facts[i].at;

    switch (facts[i].kind) {
    case NUMBER: return (struct kn_fact_value){ NULL, *(const int64_t *)(const void *)at };
    case TEXT: return (struct kn_fact_value){ *(const char *const *)(const void *)at, 0 };
    default: break;
    }
    return (struct kn_fact_value){ word_at(c, facts[i].words,
                                      *(const int *)(const void *)at), 0 };
}

bool
kn_fact(struct kn_ctx *c, const void *user, const char *name,
        struct kn_fact_value *out)
{
    for (int i = 0; i < NFACTS; i++)
        if (!strcmp(facts[i].name, name)) {
            *out = value_of(c, user, i);
            return true;
        }
    for (int i = 0; i < NFACTS; i++)
        if (facts[i].words && is_word(facts[i].words, name)) {
            *out = (struct kn_fact_value){ kn_strdup(c, name), 0 };
            return true;
        }
    return false;
}

void
kn_facts_print(const struct kn_facts *f, struct kn_buf *out)
{
    for (int i = 0; i < NFACTS; i++) {
        struct kn_fact_value v = value_of(out->c, f, i);
        struct kn_buf line = { .c = out->c };

        if (v.word)
            kn_putf(&line, "%s = %s", facts[i].name, v.word);
        else
            kn_putf(&line, "%s = %lld", facts[i].name, (long long)v.n);
        kn_putf(out, "%-28s ; %s\n", line.s, facts[i].text);
    }
}
