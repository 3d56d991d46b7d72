/* resources.c - what a tile of a configuration takes of registers and LDS. */
#include "resources.h"

#include "forms.h"
#include "gemv.h"
#include "instantiate.h"

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

uint32_t
kn_tile_registers(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    struct kn_fn f = kn_tile_fn(c, p, g);
    struct kn_frag a = kn_fragment(&f, 'a'), b = kn_fragment(&f, 'b');
    uint32_t acc = a.count * b.count * 4;
    uint32_t ra = a.count * a.bytes / 4, rb = b.count * b.bytes / 4;
    uint32_t threads = g->wm * g->wn * 64, stage = 24;

    if (kn_streams(g)) {     /* and shuffled or plain scales, offsets */
        uint32_t sets = (g->stages ? g->stages : 2) * a.ksteps;

        return acc + sets * (ra + rb) + 2 * (a.count + b.count) + 24 +
               (p->scale == KILN_SCALE_MX32 ? 2 * (a.count + b.count) : 0);
    }
    if (kn_reads_of(g) == KN_READS_TILE) {
        ra *= a.ksteps;
        rb *= 2;
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

        stage += na / (d->align_a >= 4 ? 4 : d->align_a) / threads +
                 nb / (d->align_b >= 4 ? 4 : d->align_b) / threads;
        /* Narrow loads: packing them spills beyond this, in large tiles of
         * 6-bit types sooner (measured). */
        bool six = kn_elems[f.shape.ta].bits == 6 ||
                   kn_elems[f.shape.tb].bits == 6;
        uint32_t most = six && acc >= 64 ? 48 : 64;

        if ((d->align_a < 4 || d->align_b < 4) &&
            (stage > 24 + most || acc >= 128))
            return KN_TOO_NARROW;
    }
    /* A persistent walk beside 6-bit runs and 8-bit fragments (measured). */
    if (g->cus && !kn_direct(p, g) && kn_elems[f.shape.ta].bits == 6 &&
        kn_elems[f.shape.tb].bits == 8)
        acc += 24;
    if (p->scale == KILN_SCALE_BLOCK128 || kn_dequant(p))
        acc += 16;
    if (kn_prequant(p) || p->quant) /* a run's elements as f32 (measured) */
        acc += p->quant ? 56 : 40;
    /* Transposing reads beside them (measured). */
    if (p->scale == KILN_SCALE_BLOCK128 && p->layout != KILN_NT &&
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

/* LDS the output is turned around in: whole runs of `row` dwords. */
static uint32_t
store_bytes(const kiln_problem *p, const struct kn_config *g, uint32_t row)
{
    return g->store != KN_STORE_LDS ? 0
         : (16 * g->wm * g->wn * kn_store_row(p, g) + row * 4 - 1) /
               (row * 4) * (row * 4);
}

uint32_t
kn_tile_lds(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    struct kn_fn f = kn_tile_fn(c, p, g);
    uint32_t row = g->wm * g->wn * 64 * (p->scale_layout ? 16 : 4), n;
    uint32_t bm = p->scale_layout && g->bm < 32 ? 32 : g->bm;

    if (kn_streams(g))
        return 0;
    n = (g->bm * kn_elems[f.shape.ta].bits + g->bn * kn_elems[f.shape.tb].bits) *
        g->bk / 8;
    if (kn_super(p, g)) {
        uint32_t all = g->wm * g->wn * 64 * 16;

        uint32_t per = kn_super_k(g) / 32;

        if (kn_lines(p, g))
            n = (g->bm + g->bn) * KN_LINE;
        return store_bytes(p, g, row) + n * g->stages +
               2 * ((g->bm * per + all - 1) / all * all +
                    (g->bn * per + all - 1) / all * all);
    }
    if (p->scale >= KILN_SCALE_BLOCK128) {
        uint32_t per = p->scale == KILN_SCALE_MX32 ? g->bk / 32
                                                   : g->bk / 128 * 4;

        if (kn_dequant(p)) { /* a run of factors a thread */
            row *= per < 4 ? per : 4;
            per *= 4;
        }
        n += (bm * per + row - 1) / row * row;
        n += (g->bn * per + row - 1) / row * row;
    }
    if (kn_prequant(p))
        n += (g->bm * 4 + row - 1) / row * row;
    return n * g->stages + store_bytes(p, g, row);
}

/* Threads convert 16 elements at a time, along K or in blocks: of a small
 * operand that is more than there are (kn_geometry). */
static uint32_t
beyond(const struct kn_config *g, uint32_t elements, uint32_t bits)
{
    uint32_t all = g->wm * g->wn * 64 * 16;

    return ((elements + all - 1) / all * all - elements) * bits / 8;
}

uint32_t
kn_tile_lds_taken(struct kn_ctx *c, const kiln_problem *p,
                  const struct kn_config *g)
{
    struct kn_fn f = kn_tile_fn(c, p, g);
    uint32_t a = kn_elems[f.shape.ta].bits, b = kn_elems[f.shape.tb].bits;
    uint32_t more = 0;

    if (kn_dequant(p) && a != kn_type_bits[p->a])
        more += beyond(g, g->bm * g->bk, a);
    if (kn_dequant(p) && b != kn_type_bits[p->b])
        more += beyond(g, g->bn * g->bk, b);
    return kn_tile_lds(c, p, g) + more * g->stages;
}
