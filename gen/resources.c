/* resources.c - what a tile of a configuration takes of registers and LDS, and its natural K. */
#include "instantiate.h"

#include "forms.h"

struct kn_fn
kn_tile_fn(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    return (struct kn_fn){ .c = c, .target = p->target,
                           .shape = kn_shape_of(p, g) };
}

uint32_t
kn_step_k(struct kn_ctx *c, const kiln_problem *p, uint32_t bk)
{
    struct kn_config one = { .bm = 32, .bn = 32, .bk = bk, .wm = 1, .wn = 1 };
    struct kn_fn f = kn_tile_fn(c, p, &one);

    return kn_fragment(&f, 'a').k;
}

bool
kn_was_refused(const struct kn_ctx *c, const struct kn_config *g)
{
    for (const struct kn_refused *r = c->refused; r; r = r->before)
        if (r->config.bm == g->bm && r->config.bn == g->bn &&
            r->config.bk == g->bk && r->config.wm == g->wm &&
            r->config.wn == g->wn && r->config.schedule == g->schedule &&
            (r->config.copies != KN_COPIES_LINES || g->copies == KN_COPIES_LINES) &&
            (g->cus || !r->config.cus)) /* a walk takes registers that a tile has alone */
            return true;
    return false;
}

/* What an estimate is made of: fragments of both operands, bits of an element
 * in memory, which of them are shifted (kn_unaligned). */
struct demand {
    const kiln_problem *p;
    const struct kn_config *g;
    struct kn_frag a, b;
    uint32_t bits_a, bits_b, acc;
    bool direct, loose_a, loose_b;
};

static struct demand
demand_of(const kiln_problem *p, const struct kn_config *g)
{
    struct kn_fn f = kn_tile_fn(NULL, p, g);
    struct demand d = { .p = p, .g = g, .a = kn_fragment(&f, 'a'),
                        .b = kn_fragment(&f, 'b'),
                        .bits_a = kn_elems[f.shape.ta].bits,
                        .bits_b = kn_elems[f.shape.tb].bits,
                        .direct = kn_direct(p, g),
                        .loose_a = kn_unaligned(p, g, 'a'),
                        .loose_b = kn_unaligned(p, g, 'b') };

    d.acc = d.a.count * d.b.count * 4 * kn_sum_dwords(&f);
    return d;
}

/* Straight from memory; also shuffled or plain scales, and offsets. */
static uint32_t
streamed(const struct demand *d)
{
    uint32_t sets = (d->g->stages ? d->g->stages : 2) * d->a.ksteps;
    uint32_t fragments = d->a.count + d->b.count;
    uint32_t bytes = d->a.count * d->a.bytes + d->b.count * d->b.bytes;

    return d->acc + sets * bytes / 4 + 2 * fragments + 24 +
           (kn_mx_scales(d->p) ? 2 * fragments : 0);
}

/* The fragments that are there at once. */
static uint32_t
fragments(const struct demand *d)
{
    uint32_t a = d->a.count * d->a.bytes / 4, b = d->b.count * d->b.bytes / 4;
    uint32_t shares = kn_shares(d->g, &d->a);
    bool ahead = d->direct || (d->a.ksteps > 1 && d->g->stages != 2);

    switch (kn_reads_of(d->g)) {
    case KN_READS_TILE:
        if (!ahead)          /* loop_4wave_regs.tir */
            return (a / (kn_lines_crowd(d->p, d->g) ? 4 : 2) + b) * d->a.ksteps;
        if (kn_mx_scales(d->p)) {
            a += d->a.count;
            b += d->b.count;
        }
        return a * d->a.ksteps * 5 / 8 + b * kn_b_sets(d->p, d->g);
    case KN_READS_PARTS:
        return a / shares * 2 + b * kn_b_sets(d->p, d->g);
    case KN_READS_HALVES:
        return a / shares + b * d->a.ksteps;
    default:
        return kn_step_registers(&d->a, &d->b);
    }
}

/* Narrow loads: packing them spills beyond this, in large tiles of 6-bit types
 * and of single bytes of a transposed A sooner, and beside rows that are
 * shifted (measured). */
static bool
too_narrow(const struct demand *d, uint32_t stage)
{
    const struct kn_config *g = d->g;
    const struct kn_domain *x = &g->domain;
    bool six_a = d->bits_a == 6;
    bool tight = six_a || d->bits_b == 6 ||
                 (!kn_along_k(d->p, 'a') && x->align_a == 1 &&
                  g->bm * g->bn > 128 * 128);
    uint32_t most = tight && d->acc >= 64 ? 48 : 64;

    if (g->cus && (d->loose_a || d->loose_b))
        most -= 16;
    else if (d->loose_b && d->acc >= 64 && six_a)
        most -= 8;
    return ((x->align_a < 4 && !d->loose_a) ||
            (x->align_b < 4 && !d->loose_b)) &&
           (stage > 24 + most || d->acc >= 128);
}

/* Rows that are shifted, and what a persistent walk has beside them and beside
 * 6-bit runs with 8-bit fragments: at 256x256 LLVM spills up to 3, and 5 with a
 * walk (measured). */
static uint32_t
shifting(const struct demand *d)
{
    bool six_walk = d->g->cus && !d->direct && d->bits_a == 6 && d->bits_b == 8;

    return (six_walk ? 24 : 0) +
           (!d->loose_a && !d->loose_b ? 0 : d->g->cus ? 16 : 4);
}

/* Operands that are converted: a run's elements as f32, and when A is
 * transposed as well as many more; of f64 registers are pairs, of which LLVM finds
 * fewer (measured). */
static uint32_t
converting(const kiln_problem *p)
{
    bool transposed = kn_dequant(p) && !kn_along_k(p, 'a') &&
                      kn_targets[p->target].lds_tr;

    return (kn_wide_sums(p) ? 12 : p->quant ? 56 : kn_prequant(p) ? 40 : 0) +
           (transposed ? 12 : 0) +
           (kn_prequant(p) ? 0 : kn_blocks(p) || kn_dequant(p) ? 16 : 0);
}

/* Products that wait for their factors, of a share; transposing reads beside
 * other loops' (measured). */
static uint32_t
waiting(const struct demand *d)
{
    if (!kn_blocks(d->p) || kn_prequant(d->p))
        return 0;
    if (kn_reads_of(d->g) == KN_READS_HALVES)
        return d->a.count / kn_shares(d->g, &d->a) * d->b.count * 4;
    return d->p->layout != KILN_NT && kn_targets[d->p->target].lds_tr ? 28 : 0;
}

/* Sums in AGPRs and some more. */
enum { SPARING = 288 };

/* What a K tail, a walk, groups and transposing reads take in VGPRs, which other tiles
 * have to spare and those that have more sums than that in them too have not (measured). */
static uint32_t
beside_sums(const struct demand *d)
{
    const kiln_problem *p = d->p;

    if (d->acc <= SPARING || kn_reads_of(d->g) != KN_READS_TILE)
        return 0;
    return (d->g->domain.ktail ? 16 : 0) + (d->g->cus ? 16 : 0) +
           (kn_family_of(p)->ragged ? 16 : 0) + (p->epilogue || p->beta ? 8 : 0) +
           (p->layout == KILN_NT ? 0 : !kn_along_k(p, 'a') || d->a.ksteps == 1 ? 52 : 16);
}

/* Of groups of several K steps: all of a wave's fragments of B in them, and the sums of
 * one row of its fragments; less what kn_staged_registers counts for weights of 4 bits too much. */
static int64_t
spanning(const struct demand *d)
{
    int64_t steps = kn_adds_groups(d->p) ? kn_scale_k(d->p) / d->a.k : 1;
    uint32_t staged = d->g->bn * d->g->bk / (d->g->wm * d->g->wn * 64) * kn_ahead(d->p, d->g);

    return steps < 2 ? 0
         : (steps - 1) * d->b.count * d->b.bytes / 4 + d->b.count * 4 -
               staged * (d->bits_b - kn_type_bits[d->p->b]) / 32;
}

/* Weights that are widened behind their reads: two K tiles of them, two shares of A and of
 * sums, a K tile's codes and scales, zero points of each slot, and what goes to LDS through
 * registers; of several groups more is on its way (measured). */
static uint32_t
widening(const struct demand *d)
{
    uint32_t groups = d->g->bk / (uint32_t)kn_scale_k(d->p), columns = 4 * d->b.count;
    uint32_t slots = d->direct && d->g->stages ? d->g->stages : 2;
    uint32_t words = kn_in_words(d->p) || !d->direct ? d->g->bn << kn_puts_behind(d->p, d->g) : 0;

    words = (words + (d->direct ? 0 : 4 * d->g->bm)) * d->g->bk / (d->g->wm * d->g->wn * 512);

    return d->acc + 2 * d->b.ksteps * columns + 2 * d->a.ksteps * 4 + (2 + groups) * columns +
           d->b.count * (d->b.ksteps + slots * groups) + words + (groups > 2 ? 32 : 24);
}

uint32_t
kn_tile_registers(struct kn_ctx *c, const kiln_problem *p,
                  const struct kn_config *g)
{
    struct demand d;
    uint32_t stage;

    if (c->refused && kn_was_refused(c, g))
        return KN_TOO_MANY;
    d = demand_of(p, g);
    if (kn_direct_to_reg(g))
        return streamed(&d);
    if (kn_widens_late(p, g))
        return widening(&d);
    stage = kn_staged_registers(p, g);
    if (!d.direct && too_narrow(&d, stage))
        return KN_TOO_NARROW;
    return d.acc + fragments(&d) + stage + shifting(&d) + converting(p) +
           waiting(&d) + (uint32_t)spanning(&d) + beside_sums(&d);
}

uint32_t
kn_register_limit(const struct kn_config *g)
{
    return g->lowering == KN_LOWERING_ASM && g->wm * g->wn <= 4 ? 512 : 256;
}

/* Rows of 128 bytes whatever the K tail, where all goes through registers. */
static bool
unaligned_four(const kiln_problem *p)
{
    struct kn_domain d = kn_domain_of(p, 256, 256);

    return kn_targets[p->target].scaled && p->a == KILN_MXFP4 &&
           p->b == KILN_MXFP4 && !kn_family_of(p)->routed && !p->b_layout &&
           p->k >= 1024 && (d.align_a < 16 || d.align_b < 16 ||
                            d.align_sa < 4 || d.align_sb < 4);
}

uint32_t
kn_natural_bk(struct kn_ctx *c, const kiln_problem *p)
{
    struct kn_config one = { .bm = 32, .bn = 32, .bk = 128, .wm = 1, .wn = 1 };
    struct kn_fn f = kn_tile_fn(c, p, &one);
    uint32_t k = kn_fragment(&f, 'a').k;

    if (kn_shuffled(p) || unaligned_four(p))
        return 256;
    /* Rows of 128 bytes, and fewer copies of scales (docs/loops.md). */
    if (kn_mx_scales(p) && kn_targets[p->target].scaled &&
        !kn_dequant(p) &&
        p->k >= 256 && p->k % 256 == 0 &&
        ((kn_elems[f.shape.ta].bits == 4 && kn_elems[f.shape.tb].bits == 4) ||
         (!kn_family_of(p)->routed && p->m && p->m <= 64)))
        return 256;
    /* Few rows an expert: longer runs of narrow weights pay (docs/moe.md). */
    if (kn_weight_only(p) && kn_family_of(p)->routed && p->block_m == 16)
        return 128;
    if (kn_elems[f.shape.ta].bits > 16)     /* rows of 128 bytes */
        return 1024u / kn_elems[f.shape.ta].bits;
    return p->scale == KILN_SCALE_BLOCK128 ||
           p->scale == KILN_SCALE_GROUP128 || kn_prequant(p) || k >= 128 ||
           (kn_dequant(p) && kn_elems[f.shape.ta].bits == 8) ? 128
         : kn_elems[f.shape.ta].bits == 8 && kn_targets[p->target].long_runs ? 128
                                                                     : 64;
}
