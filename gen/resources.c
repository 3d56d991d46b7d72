/* resources.c - what a tile of a configuration takes of registers and LDS. */
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
            r->config.wn == g->wn && r->config.schedule == g->schedule)
            return true;
    return false;
}

uint32_t
kn_tile_registers(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    struct kn_fn f = kn_tile_fn(c, p, g);
    struct kn_frag a = kn_fragment(&f, 'a'), b = kn_fragment(&f, 'b');
    uint32_t acc = a.count * b.count * 4;
    uint32_t ra = a.count * a.bytes / 4, rb = b.count * b.bytes / 4;
    uint32_t threads = g->wm * g->wn * 64, stage = 24;

    if (c->refused && kn_was_refused(c, g))
        return KN_TOO_MANY;
    if (kn_streams(g)) {     /* and shuffled or plain scales, offsets */
        uint32_t sets = (g->stages ? g->stages : 2) * a.ksteps;

        return acc + sets * (ra + rb) + 2 * (a.count + b.count) + 24 +
               (p->scale == KILN_SCALE_MX32 ? 2 * (a.count + b.count) : 0);
    }
    if (kn_reads_of(g) == KN_READS_TILE) {
        bool ahead = a.ksteps > 1 || kn_direct(p, g);

        ra = ahead ? ra * a.ksteps : ra / 2;    /* loop_4wave_slots.tir */
        rb *= ahead ? 2 : 1;
    } else if (kn_reads_of(g) == KN_READS_PARTS) {
        ra = ra / kn_shares(g, &a) * 2;
        rb *= kn_b_sets(p, g);
    } else if (kn_reads_of(g) == KN_READS_HALVES) {
        ra /= kn_shares(g, &a);
        rb *= a.ksteps;
    } else if (ra > 32) {
        ra /= 2;
    }
    if (!kn_direct(p, g)) {
        const struct kn_domain *d = &g->domain;
        uint32_t na = g->bm * g->bk * (kn_prequant(p) || p->quant ? 16
                                       : kn_elems[f.shape.ta].bits) / 8;
        uint32_t nb = g->bn * g->bk * kn_elems[f.shape.tb].bits / 8;
        bool loose_a = kn_unaligned(p, g, 'a');
        bool loose_b = kn_unaligned(p, g, 'b');

        /* a dword before each 16 bytes */
        stage += na / (d->align_a >= 4 || loose_a ? 4 : d->align_a) / threads +
                 nb / (d->align_b >= 4 || loose_b ? 4 : d->align_b) / threads +
                 (loose_a ? na / 16 / threads : 0) +
                 (loose_b ? nb / 16 / threads : 0);
        /* Narrow loads: packing them spills beyond this, in large tiles of
         * 6-bit types and of single bytes of a transposed A sooner (measured). */
        bool tight = kn_elems[f.shape.ta].bits == 6 ||
                     kn_elems[f.shape.tb].bits == 6 ||
                     (p->layout == KILN_TN && d->align_a == 1 &&
                      g->bm * g->bn > 128 * 128);
        uint32_t most = tight && acc >= 64 ? 48 : 64;

        /* Beside rows that are shifted (measured). */
        if (g->cus && (loose_a || loose_b))
            most -= 16;
        else if (loose_b && acc >= 64 && kn_elems[f.shape.ta].bits == 6)
            most -= 8;
        if (((d->align_a < 4 && !loose_a) || (d->align_b < 4 && !loose_b)) &&
            (stage > 24 + most || acc >= 128))
            return KN_TOO_NARROW;
    }
    /* Rows that are shifted in registers: at 256x256 LLVM spills up to 3, and 5
     * beside a persistent walk (measured). */
    if (kn_unaligned(p, g, 'a') || kn_unaligned(p, g, 'b'))
        acc += g->cus ? 16 : 4;
    /* A persistent walk beside 6-bit runs and 8-bit fragments (measured). */
    if (g->cus && !kn_direct(p, g) && kn_elems[f.shape.ta].bits == 6 &&
        kn_elems[f.shape.tb].bits == 8)
        acc += 24;
    if (p->scale == KILN_SCALE_BLOCK128 || kn_dequant(p))
        acc += 16;
    if (kn_prequant(p) || p->quant) /* a run's elements as f32 (measured) */
        acc += p->quant ? 56 : 40;
    /* Products that wait for their factors, of a share; transposing reads
     * beside other loops' (measured). */
    if (p->scale == KILN_SCALE_BLOCK128 && kn_reads_of(g) == KN_READS_HALVES)
        acc += a.count / kn_shares(g, &a) * b.count * 4;
    else if (p->scale == KILN_SCALE_BLOCK128 && p->layout != KILN_NT &&
             kn_targets[p->target].lds_tr)
        acc += 28;
    /* A transposed as well as converted: as many more (measured). */
    if (kn_dequant(p) && p->layout == KILN_TN && kn_targets[p->target].lds_tr)
        acc += 12;
    return acc + ra + rb + stage;
}

uint32_t
kn_register_limit(const struct kn_config *g)
{
    return g->lowering == KN_LOWERING_ASM && g->wm * g->wn <= 4 ? 512 : 256;
}
