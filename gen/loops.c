/* loops.c - what a main loop is for a problem and a configuration beyond its name: how
 * it copies rows, how many of B's fragments it has, when scales come together. Whether it
 * can be at all forms.c says. */
#include "forms.h"

#include "instantiate.h"

static bool
six_bits(const kiln_problem *p)
{
    return kn_type_bits[p->a] == 6 || kn_type_bits[p->b] == 6;
}

struct kn_frag
kn_fragment_of(const kiln_problem *p, const struct kn_config *g, int side)
{
    struct kn_fn f = { .target = p->target, .shape = kn_shape_of(p, g) };

    return kn_fragment(&f, side);
}

bool
kn_direct_to_reg(const struct kn_config *g)
{
    return kn_reads_of(g) == KN_READS_MEMORY;
}

/* Of a wave's rows of B, 16 and 16 in turn of gate and up. */
static bool
has_quarters(const kiln_problem *p, const struct kn_config *g)
{
    return g->bn % (g->wn * 64u << kn_gated(p)) == 0;
}

static int64_t
row_bits(const kiln_problem *p, int side)
{
    return side == 'a' ? p->lda * kn_type_bits[p->a] : p->ldb * kn_type_bits[p->b];
}

/* Rows of A that are gathered have places in lines of their own, but where they begin there. */
static bool
gathers_lines(const kiln_problem *p)
{
    return p->k && row_bits(p, 'a') % (8 * KN_LINE) == 0;
}

/* Both copy lines of 6-bit types in the tallest tiles. */
static bool
copies_lines(const kiln_problem *p, const struct kn_config *g)
{
    return six_bits(p) && g->bm == 256 && g->wm == 2 && has_quarters(p, g) &&
           (!g->domain.ktail || p->k) && !p->b_layout && g->stagger < 2 &&
           (!kn_family_of(p)->routed || gathers_lines(p)) && kn_scale_batch(p, g);
}

/* Quarters of a wave's rows that two lines each take in turn. */
static bool
lags_by_quarters(const kiln_problem *p, const struct kn_config *g)
{
    return kn_reads_of(g) == KN_READS_TILE && g->stages == 2 &&
           g->copies == KN_COPIES_LINES && g->wn && g->bm % (g->wm * 64) == 0 &&
           !kn_family_of(p)->routed &&
           has_quarters(p, g) && kn_in_lines(p, g, 'a') && kn_in_lines(p, g, 'b');
}

bool
kn_4wave_packed(const kiln_problem *p, const struct kn_config *g)
{
    bool six = g->bk == 128 && g->wn == 2 && copies_lines(p, g) &&
               g->copies != KN_COPIES_LINES;

    return kn_reads_of(g) == KN_READS_TILE && g->stages == 2 &&
           kn_direct(p, g) && (six || (lags_by_quarters(p, g) && kn_may_lag(p, g)));
}

bool
kn_may_lag(const kiln_problem *p, const struct kn_config *g)
{
    enum kn_reads reads = kn_reads_of(g);

    return (reads == KN_READS_STEP || reads == KN_READS_TILE) &&
           kn_direct(p, g) &&
           ((!kn_family_of(p)->routed && kn_in_lines(p, g, 'a')) || kn_in_lines(p, g, 'b')) &&
           (!g->stages || g->stages > 2 || lags_by_quarters(p, g)) &&
           g->lowering != KN_LOWERING_LLVM && g->abi != KN_ABI_AITER &&
           g->stagger < 2 && !p->scale_layout &&
           !kn_blocks(p) &&
           kn_family_of(p)->ragged != 'k' && !kn_wide_sums(p);
}

/* Scales of a byte come in dwords, of which a share begins with a whole one: behind a part of
 * one its last would reach beyond the row, where the last row's are read as zero. */
uint32_t
kn_share_k(const kiln_problem *p, const struct kn_config *g)
{
    bool bytes = kn_mx_scales(p) || p->scale == KILN_SCALE_NV16;
    uint32_t dword = kn_mx_blocks(p) ? 4 * 128 : bytes ? 4 * (uint32_t)kn_scale_k(p) : 0;
    uint32_t share = (kn_line_ring(p, g) ? 4 : 1) * g->bk;

    return share < dword ? dword : share;
}

bool
kn_lags(const kiln_problem *p, const struct kn_config *g, int side)
{
    return g->copies == KN_COPIES_LINES && kn_in_lines(p, g, side) && !kn_line_ring(p, g) &&
           (side == 'b' || (!kn_prequant(p) && !kn_family_of(p)->routed));
}

uint32_t
kn_lines_apart(const kiln_problem *p)
{
    return (row_bits(p, 'a') % (8 * KN_LINE) != 0) + (row_bits(p, 'b') % (8 * KN_LINE) != 0);
}

bool
kn_straddles(const kiln_problem *p, const struct kn_config *g)
{
    return (!kn_prequant(p) && kn_in_lines(p, g, 'a') && row_bits(p, 'a') % (8 * KN_LINE)) ||
           (kn_in_lines(p, g, 'b') && row_bits(p, 'b') % (8 * KN_LINE));
}

bool
kn_scale_dwords(const kiln_problem *p, const struct kn_config *g)
{
    return kn_shuffled(p) && kn_reads_of(g) == KN_READS_TILE &&
           (g->bk == 256 || (g->bk == 128 && g->split_k < 2 && g->stagger < 2));
}

/* ---- scales of several K tiles at once ---- */

/* Of eight waves, whose registers are half as many (measured on the largest); lanes
 * that shift rows of 6 bits have no more. */
static bool
has_room(const kiln_problem *p, const struct kn_config *g, uint32_t batch)
{
    struct kn_fn f = { .target = p->target, .shape = kn_shape_of(p, g) };
    struct kn_frag a = kn_fragment(&f, 'a'), b = kn_fragment(&f, 'b');
    uint32_t threads = g->wm * g->wn * 64;
    uint32_t acc = a.count * b.count * 4 * kn_sum_dwords(&f);
    bool six = (kn_unaligned(p, g, 'a') && kn_elems[f.shape.ta].bits == 6) ||
               (kn_unaligned(p, g, 'b') && kn_elems[f.shape.tb].bits == 6);

    return threads <= 256 ||
           ((kn_ahead(p, g) == 1 || !kn_family_of(p)->routed) && !six &&
            (acc < 128 || a.ksteps > 1) &&
            acc + kn_step_registers(&a, &b) + kn_staged_registers(p, g) +
                    kn_run_registers(batch, 4, true, threads) <= 256);
}

/* Each K tile alone asks for a line a row; of fewer K tiles the first batch comes late (258
 * problems drawn, of experts none). */
static bool
batches_repay(const kiln_problem *p, const struct kn_config *g)
{
    int64_t share = p->k / (g->split_k ? g->split_k : 1);
    bool four = kn_type_bits[p->a] == 4, routed = kn_family_of(p)->routed;
    int64_t least = routed ? 8 : g->bm * g->bn < 64 * (four ? 128u : 64u) ? 10 : four ? 6 : 5;

    return (g->bm * g->bn >= 80 * 128 || (p->k && !routed)) &&
           (!p->k || share >= least * g->bk);
}

/* Through registers beside operands that do, in one place of LDS: of tiles whose loads
 * fill the memory queue, in a loop of some batches, as assembly (docs/loops.md). */
static bool
batches_in_registers(const kiln_problem *p, const struct kn_config *g)
{
    bool ring = kn_line_ring(p, g);
    uint32_t slots = ring ? KN_RING_LINES : g->stages > 1 ? 2 : 1;
    uint32_t cols = kn_scale_batch_k(p, g) / (uint32_t)kn_scale_k(p);
    uint32_t a = ring ? 8 * KN_LINE : g->bk * kn_type_bits[p->a];
    uint32_t b = ring ? 8 * KN_LINE : g->bk * kn_type_bits[p->b];

    return kn_targets[p->target].scaled && !kn_dequant(p) && !p->quant && p->layout == KILN_NT &&
           g->lowering != KN_LOWERING_LLVM && g->stages && g->wm && g->stagger < 2 &&
           kn_family_of(p)->ragged != 'k' &&
           (ring || kn_mx_blocks(p) || batches_repay(p, g)) &&
           slots * kn_copied(g, a, b) +
               kn_copied(g, 8 * cols, 8 * cols) <= kn_targets[p->target].lds &&
           (ring || has_room(p, g, cols * (g->bm + g->bn)));
}

/* Slots in whose turn batches of scales have their places. */
static bool
batches_slots(const kiln_problem *p, const struct kn_config *g)
{
    if (kn_reads_of(g) == KN_READS_STEP && !kn_direct(p, g))
        return batches_in_registers(p, g);
    if (kn_reads_of(g) == KN_READS_STEP)
        return g->stages && kn_room_for_batches(p, g);
    if (kn_reads_of(g) == KN_READS_TILE && !kn_direct(p, g) && !kn_dequant(p))
        return true;
    if (g->copies == KN_COPIES_LINES && !lags_by_quarters(p, g))
        return g->stages == 3 || g->stages == 4;
    return g->stages == 2;
}

/* f32 of 128-blocks: 16 bytes of a row for four K tiles, of which each would ask for the
 * row's line again; where LDS has room beside slots that are filled directly. Of few rows
 * a long K alone pays for a loop of two batches (measured). */
enum { BLOCKS_TOGETHER = 4 };

static bool
batches_blocks(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t bits = 32 * BLOCKS_TOGETHER;
    uint32_t tile = kn_copied(g, g->bk * kn_type_bits[p->a], g->bk * kn_type_bits[p->b]);
    int64_t share = p->k / (g->split_k ? g->split_k : 1);
    int64_t least = g->bm >= 48 ? 2 : g->bm * g->bn >= 32 * 64 ? 8 : 20;

    return kn_blocks(p) && !kn_powers(p) && kn_reads_of(g) == KN_READS_STEP &&
           g->stages > 1 && kn_direct(p, g) && !p->scale_layout && g->bk == 128 &&
           (!p->k || share > least * g->bk) &&
           kn_family_of(p)->ragged != 'k' && !kn_family_of(p)->routed &&
           g->stages * tile + kn_scale_slots(g) * kn_copied(g, bits, bits) <=
               kn_targets[p->target].lds;
}

uint32_t
kn_scale_batch(const kiln_problem *p, const struct kn_config *g)
{
    if (batches_blocks(p, g))
        return BLOCKS_TOGETHER;
    if (!kn_mx_scales(p) || kn_widens_scaled(p) ||
        !kn_schedules[g->schedule].batch || !batches_slots(p, g) ||
        p->scale_layout || g->bk > 256 ||
        ((g->domain.align_sa < 4 || g->domain.align_sb < 4) &&
         kn_direct(p, g) && !kn_unaligned_scales(p, g)))
        return 0;
    return kn_scale_batch_k(p, g) / g->bk;
}

/* One where two leave no registers: beside factors from 288 columns on, and where these are
 * of a B whose reads transpose. */
uint32_t
kn_b_sets(const kiln_problem *p, const struct kn_config *g)
{
    bool mx = kn_mx_scales(p);

    if (kn_reads_of(g) == KN_READS_TILE)
        return kn_fragment_of(p, g, 'b').ksteps == 1 && !kn_shuffled(p) &&
               (g->bn > (mx ? 256 : 288) || (mx && !kn_along_k(p, 'b'))) ? 1 : 2;
    return kn_scale_batch(p, g) && kn_fragment_of(p, g, 'b').ksteps == 1 &&
           p->a != KILN_MXFP4 ? 1 : 2;
}

uint32_t
kn_shares(const struct kn_config *g, const struct kn_frag *a)
{
    if (kn_reads_of(g) == KN_READS_TILE)
        return 8 / (a->ksteps < 8 ? a->ksteps : 8);
    if (kn_reads_of(g) == KN_READS_HALVES)
        return 4 / (a->ksteps < 4 ? a->ksteps : 4);
    return a->count >= 4 && a->ksteps > 1 ? a->count / 2 : a->count;
}

/* Codes that go to LDS through registers, in the place of those that all waves have read a K tile
 * ago: where the next one has a place of its own, they may come till then. Tiles of more sums
 * a thread multiply for as long as they take, and have no registers for them. */
bool
kn_puts_behind(const kiln_problem *p, const struct kn_config *g)
{
    return kn_widens_late(p, g) && kn_in_words(p) && kn_direct(p, g) && g->stages > 2 &&
           g->bm * g->bn <= 2048 * g->wm * g->wn;
}

/* Dwords of large tiles' words, which at once fill the memory queue in front of waves that
 * multiply: beside the first shares, of which as many are left as memory takes to answer
 * (measured). */
uint32_t
kn_code_asks(const kiln_problem *p, const struct kn_config *g)
{
    if (!kn_widens_late(p, g) || !kn_in_words(p) || !kn_direct(p, g) || g->wm > 1 || g->wn < 8 ||
        g->bm * g->bn < 96 * 256)
        return 1;
    return g->bm < 128 ? 3 : 4;
}
