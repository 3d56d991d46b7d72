/* staging.c - what an operand is on its way: its type in memory, in LDS and as
 * the matrix instruction takes it, and whether LDS is filled directly. */
#include "instantiate.h"

#include "forms.h"

/* Payload of an operand in the IR. */
enum kn_elem
kn_payload(kiln_type t)
{
    static const uint8_t map[KILN_NTYPES] = {
        [KILN_F32] = KN_T_f32,   [KILN_I32] = KN_T_i32,
        [KILN_F64] = KN_T_f64,
        [KILN_F16] = KN_T_f16,   [KILN_BF16] = KN_T_bf16,
        [KILN_FP8] = KN_T_fp8,   [KILN_BF8] = KN_T_bf8,
        [KILN_I8] = KN_T_i8,     [KILN_MXFP8] = KN_T_fp8,
        [KILN_MXBF8] = KN_T_bf8, [KILN_MXFP6] = KN_T_fp6,
        [KILN_MXBF6] = KN_T_bf6, [KILN_MXFP4] = KN_T_fp4,
        [KILN_I4] = KN_T_i4,     [KILN_NVFP4] = KN_T_fp4,
    };

    return (enum kn_elem)map[t];
}

/* A 16-bit A times a B with scales along K: only B has scales. */
bool
kn_weight_only(const kiln_problem *p)
{
    return kn_type_mx[p->b] && !kn_type_mx[p->a] && !p->quant;
}

/* What A is when it is multiplied: quantised on its way, B's type. */
static kiln_type
multiplied_a(const kiln_problem *p)
{
    return p->quant ? p->b : p->a;
}

/* bf16 has the exponents of E8M0, and both types the products of e2m1 and E4M3; of a
 * B in plain rows along K, whose runs of elements have a scale each. */
bool
kn_widens_scaled(const kiln_problem *p)
{
    return kn_weight_only(p) && p->layout == KILN_NT &&
           (p->scale == KILN_SCALE_NV16 ||
            (kn_mx_scales(p) && p->a == KILN_BF16 &&
             !p->b_layout && !p->scale_layout));
}

bool
kn_dequant(const kiln_problem *p)
{
    kiln_type a = multiplied_a(p);

    return (kn_type_mx[a] || kn_type_mx[p->b]) &&
           (!kn_targets[p->target].scaled || !kn_type_mx[a] || !kn_type_mx[p->b]);
}

/* The type an operand is multiplied as. FNUZ bytes hold every finite value of
 * the MX formats but e5m2's largest, and have no infinity; f16 has e5m2 as its
 * high byte. */
static enum kn_elem
staged(const kiln_problem *p, kiln_type t)
{
    if (kn_prequant(p))
        return kn_payload(p->b);
    if (t == p->a)
        t = multiplied_a(p);
    if (!kn_dequant(p) || !kn_type_mx[t])
        return kn_payload(t);
    if (!kn_type_mx[multiplied_a(p)] || !kn_type_mx[p->b])
        return kn_payload(kn_type_mx[p->a] ? p->b : p->a);
    return p->a == KILN_MXBF8 || p->b == KILN_MXBF8 ? KN_T_f16 : KN_T_fp8;
}

/* The type an operand has in memory. */
enum kn_elem
kn_stored(const kiln_problem *p, kiln_type t)
{
    if (!kn_dequant(p) || !kn_type_mx[t])
        return kn_payload(t);
    return t == KILN_MXFP8 ? KN_T_e4m3 : t == KILN_MXBF8 ? KN_T_e5m2
                                                         : kn_payload(t);
}

struct kn_shape
kn_shape_of(const kiln_problem *p, const struct kn_config *g)
{
    bool split = kn_splits_early(p, g);

    return (struct kn_shape){ .bm = g->bm, .bn = g->bn, .bk = g->bk,
                              .wm = g->wm, .wn = g->wn,
                              .mfma = kn_pick_mfma(p),
                              .block = kn_dequant(p) && !kn_widens_scaled(p)
                                           ? 32 : 0,
                              .ta = (uint8_t)(split ? KN_T_bf16s : staged(p, p->a)),
                              .tb = (uint8_t)(split ? KN_T_bf16s : staged(p, p->b)) };
}

/* What elements are multiplied as. */
static enum kn_elem
multiplied(const kiln_problem *p, enum kn_elem staged)
{
    static const uint8_t as[KILN_NMATHS] = { [KILN_MATH_IEEE] = KN_T_f32,
        [KILN_MATH_XF32] = KN_T_xf32, [KILN_MATH_BF16X3] = KN_T_bf16 };

    return staged == KN_T_f32 ? (enum kn_elem)as[p->math] : staged;
}

int
kn_pick_mfma(const kiln_problem *p)
{
    enum kn_elem a = multiplied(p, staged(p, p->a));
    enum kn_elem b = multiplied(p, staged(p, p->b));

    /* Operands are swapped: B is the instruction's first (ir/distribute_mma). */
    for (int m = 0; m < KN_NMFMA; m++) {
        const struct kn_mfma_info *i = &kn_mfmas[m];

        if (i->targets >> p->target & 1 &&
            kn_mfma_takes(i, b, a) &&
            (i->a == KN_T_b1 || (i->a == b && i->b == a)))
            return m;
    }
    return -1;
}

/* Whether an operand's rows are turned where LDS reads do not transpose
 * elements of its size. */
static bool
wide_turned(const kiln_problem *p, char side)
{
    return !kn_along_k(p, side) && kn_type_bits[side == 'a' ? p->a : p->b] > 16;
}

/* A wave that has all columns of a block's output scale has no registers for more. */
bool
kn_adds_groups(const kiln_problem *p)
{
    return kn_scale_groups(p) && p->out_scale != KILN_OUT_BLOCK128;
}

bool
kn_widens_late(const kiln_problem *p, const struct kn_config *g)
{
    return p->b == KILN_I4 && kn_reads_of(g) == KN_READS_PARTS && p->layout == KILN_NT &&
           (kn_in_words(p) || (!p->b_layout && g->domain.align_b == 16)) && kn_adds_groups(p) &&
           g->domain.align_a == 16;
}

/* Of 16 bytes of 16-bit elements. */
uint32_t
kn_row_loads(const struct kn_config *g)
{
    return g->bm * g->bk / (8 * 64 * g->wm * g->wn);
}

/* A thread's loads are of rows that follow each other, of which a wave along N has all, and
 * so some of them make whole shares of its rows. */
bool
kn_in_halves(const kiln_problem *p, const struct kn_config *g)
{
    if (kn_direct(p, g))
        return g->stages != 1;
    return g->stages < 2 && !g->domain.ktail &&
           (!g->wm || (g->wm == 1 && g->bm % 32 == 0 && g->bm * g->bk % (1024 * g->wn) == 0));
}

/* Direct-to-LDS copies move whole 16-byte (scales: 4-byte) chunks and need
 * the target to have them; everything else goes through registers. f32 that is
 * multiplied as two bf16 does in loops that read a whole K tile's fragments ahead. */
bool
kn_direct(const kiln_problem *p, const struct kn_config *g)
{
    bool wide = kn_targets[p->target].dma == 16;
    bool split = p->math == KILN_MATH_BF16X3 && kn_reads_of(g) == KN_READS_TILE;
    uint32_t scale = g->bk / 32 % 16 == 0 ? 16 : 4;

    if (p->scale == KILN_SCALE_BLOCK128)
        scale = 4;
    if (kn_shuffled(p))
        scale = 16;
    if (kn_widens_late(p, g))
        return wide;
    return wide && !split && !kn_dequant(p) && !kn_prequant(p) && !p->quant &&
           !wide_turned(p, 'a') && !wide_turned(p, 'b') &&
           g->domain.align_a == 16 && g->domain.align_b == 16 &&
           ((g->domain.align_sa >= scale && g->domain.align_sb >= scale) ||
            kn_unaligned_scales(p, g));
}

uint32_t
kn_ahead(const kiln_problem *p, const struct kn_config *g)
{
    bool lines = g->copies == KN_COPIES_LINES;
    bool more = g->stages == 3 || (g->stages > 3 && lines);

    if (kn_reads_of(g) == KN_READS_TILE && g->stages == 2 && lines && !kn_direct(p, g))
        return 2;
    return kn_reads_of(g) == KN_READS_STEP && more && !kn_direct(p, g) &&
           !kn_family_of(p)->unary ? g->stages - 1 : 1;
}

/* Rows that begin at any byte: dwords are loaded, and shifted on their way to
 * LDS (ir/distribute/distribute_unaligned.c). A walk over tiles that divides K
 * has no scalar registers for it beside converted operands (measured). Of rows
 * that have gate and up, up begins at another byte of a dword than gate. */
bool
kn_unaligned(const kiln_problem *p, const struct kn_config *g, int side)
{
    kiln_type t = side == 'a' ? p->a : p->b;
    uint8_t align = side == 'a' ? g->domain.align_a : g->domain.align_b;

    return (align < 4 || (side == 'b' && kn_along_k(p, 'b') && kn_shifts_lines(p, g) &&
                          !kn_shifts(p, g, side))) &&
           !(kn_dequant(p) && g->cus && g->split_k > 1) &&
           (side == 'a' || !p->b_layout) &&
           (side == 'a' || kn_along_k(p, 'b') || !kn_gated(p)) &&
           kn_reads_of(g) != KN_READS_MEMORY &&
           kn_reads_of(g) != KN_READS_RUNS &&
           g->bk * kn_type_bits[t] / 8 % 4 == 0;
}

bool
kn_in_lines(const kiln_problem *p, const struct kn_config *g, int side)
{
    kiln_type t = side == 'a' ? p->a : p->b;

    return kn_along_k(p, (char)side) && g->bk * kn_type_bits[t] % (8 * KN_LINE) == 0 &&
           (side == 'a' || !p->b_layout);
}

bool
kn_breaks_lines(const kiln_problem *p, const struct kn_config *g)
{
    return (kn_type_bits[p->a] == 6 || kn_type_bits[p->b] == 6) &&
           kn_reads_of(g) == KN_READS_STEP && g->bk == 128;
}

/* By lines rows along K of LDS's own type, of all K of a product. */
static bool
plain_lines(const kiln_problem *p, const struct kn_config *g)
{
    return g->copies == KN_COPIES_LINES && p->layout == KILN_NT && !p->b_layout &&
           !kn_gated(p) && g->lowering != KN_LOWERING_LLVM && g->abi != KN_ABI_AITER &&
           g->stagger < 2 && !p->scale_layout && !kn_family_of(p)->routed &&
           kn_family_of(p)->ragged != 'k';
}

/* Of MX types, whose K tiles are no lines or of each operand another number of them: lines
 * go through registers one by one. Three wait there, as many as a turn's are a multiple of. */
static bool
streams_lines(const kiln_problem *p, const struct kn_config *g)
{
    return kn_mx_scales(p) && !kn_dequant(p) && !p->quant && g->stages == 4 &&
           kn_reads_of(g) == KN_READS_STEP && g->bk == 128 && !kn_direct(p, g) &&
           (kn_breaks_lines(p, g) || kn_type_bits[p->a] != kn_type_bits[p->b]) &&
           plain_lines(p, g) && !g->cus;
}

/* Rows along K of 8 or 16 lanes, of which a step has a multiple of 16, that LDS has as
 * memory does. */
static bool
in_rings(const kiln_problem *p, const struct kn_config *g, int side)
{
    kiln_type t = side == 'a' ? p->a : p->b;
    bool line = streams_lines(p, g);
    uint32_t lanes = line ? KN_LINE / 16 : g->bk * kn_type_bits[t] / 128;
    uint32_t threads = g->wm * g->wn * 64;

    return (line || kn_in_lines(p, g, side)) && (lanes == 8 || lanes == 16) &&
           (side == 'a' || !kn_gated(p) || kn_family_of(p)->routed) &&
           threads / lanes % 16 == 0 && kn_stored(p, t) == staged(p, t);
}

/* Of operands along K both, beside an A that is quantised on its way B alone, beside weights that
 * are widened A; one alone beside one whose rows are along M or N. */
static bool
any_in_rings(const kiln_problem *p, const struct kn_config *g)
{
    bool a = in_rings(p, g, 'a'), b = in_rings(p, g, 'b');

    if (p->layout != KILN_NT)
        return (a || b) && !kn_mx_scales(p);
    if (kn_dequant(p))
        return a && !b && kn_reads_of(g) == KN_READS_TILE;
    return b && (kn_prequant(p) ||
                 (a && (kn_type_bits[p->a] == kn_type_bits[p->b] || streams_lines(p, g))));
}

/* Beside sums of the largest tiles of MX types registers have room for two K tiles of A and
 * one of B, whose rows are loaded by K tiles. */
static bool
half_by_lines(const kiln_problem *p, const struct kn_config *g)
{
    return kn_mx_scales(p) && kn_reads_of(g) == KN_READS_TILE &&
           g->bm * g->bn > 256 * (kn_type_bits[p->a] == 8 ? 192u : 160u);
}

/* So has 256x256 of 4 bits where no bytes are shifted, or scales do not wait in registers. */
static bool
half_fits(const kiln_problem *p, const struct kn_config *g)
{
    return g->bm * g->bn < 256 * 256 ||
           (g->bm * g->bn == 256 * 256 &&
            (kn_type_bits[p->a] == 8 || kn_shuffled(p) ||
             (g->domain.align_a >= 4 && g->domain.align_b >= 4)));
}

bool
kn_shifts(const kiln_problem *p, const struct kn_config *g, int side)
{
    return kn_shifts_lines(p, g) && in_rings(p, g, side) &&
           (side == 'a' || !half_by_lines(p, g));
}

/* Beside scales of 128-blocks the assembly waits for more of 80 and 112 rows than is asked for. */
bool
kn_shifts_lines(const kiln_problem *p, const struct kn_config *g)
{
    return g->copies == KN_COPIES_LINES && !kn_direct(p, g) && kn_ahead(p, g) > 1 &&
           any_in_rings(p, g) &&
           (half_fits(p, g) || !half_by_lines(p, g)) &&
           (!kn_blocks(p) ||
            (g->stages <= 3 && (g->bm <= 64 || g->bm % 32 == 0))) &&
           !p->quant && p->math != KILN_MATH_BF16X3 && g->lowering != KN_LOWERING_LLVM &&
           g->abi != KN_ABI_AITER && g->stagger < 2 && !g->cus && !kn_family_of(p)->routed &&
           kn_family_of(p)->ragged != 'k' && !kn_wide_sums(p);
}

/* Beside B by lines, sums of the largest tiles leave no registers to cut A's K tail elsewhere
 * than where a share is quantised. */
bool
kn_crowded_lines(const kiln_problem *p, const struct kn_config *g)
{
    return kn_shifts_lines(p, g) && g->bm * g->bn >= 128 * 256;
}

uint32_t
kn_run_registers(uint32_t bytes, uint32_t align, bool loose, uint32_t threads)
{
    return bytes / (align >= 4 || loose ? 4 : align) / threads +
           (loose ? bytes / 16 / threads : 0);
}

uint32_t
kn_staged_registers(const kiln_problem *p, const struct kn_config *g)
{
    struct kn_shape s = kn_shape_of(p, g);
    uint32_t a = kn_prequant(p) || p->quant ? 16 : kn_elems[s.ta].bits;
    uint32_t b = kn_elems[s.tb].bits, threads = g->wm * g->wn * 64;
    bool lines = kn_shifts_lines(p, g), four = kn_reads_of(g) == KN_READS_TILE;

    if (kn_line_ring(p, g) && !kn_direct(p, g))
        return 24 + kn_ahead(p, g) * (g->bm + g->bn) * KN_LINE / (threads * 4);
    if (lines && four && !kn_shifts(p, g, 'a'))
        return 16 + (g->bm * a + 2 * g->bn * b) * g->bk / (threads * 32);
    if (lines && four && !kn_shifts(p, g, 'b'))
        return 16 + (2 * g->bm * a + g->bn * b) * g->bk / (threads * 32);
    if (lines)
        return 24 + kn_ahead(p, g) * (g->bm * a + g->bn * b) * g->bk / (threads * 32);
    return kn_direct(p, g) ? 24
         : 24 + kn_ahead(p, g) *
                (kn_run_registers(g->bm * g->bk * a / 8, g->domain.align_a,
                                  kn_unaligned(p, g, 'a'), threads) +
                 kn_run_registers(g->bn * g->bk * b / 8, g->domain.align_b,
                                  kn_unaligned(p, g, 'b'), threads));
}

uint32_t
kn_copied(const struct kn_config *g, uint32_t bits_a, uint32_t bits_b)
{
    uint32_t all = g->wm * g->wn * 64 * 16;
    uint32_t a = g->bm * bits_a / 8, b = g->bn * bits_b / 8;

    return all ? (a + all - 1) / all * all + (b + all - 1) / all * all : a + b;
}

/* Of moe, whose experts' scales are read once: half as many lines where LDS has room, and
 * registers no rows to shift. */
static bool
doubles_batch(const kiln_problem *p, const struct kn_config *g)
{
    return kn_family_of(p)->routed && kn_reads_of(g) == KN_READS_TILE && kn_direct(p, g) &&
           (!p->k || p->k > 1024) && g->stages == 2 && g->domain.align_sa >= 4 &&
           g->domain.align_sb >= 4 && kn_type_bits[p->a] != 6 &&
           2 * kn_copied(g, g->bk * kn_type_bits[p->a], g->bk * kn_type_bits[p->b]) +
                   kn_copied(g, 2048 / 32 * 8, 2048 / 32 * 8) <= kn_targets[p->target].lds;
}

bool
kn_lines_crowd(const kiln_problem *p, const struct kn_config *g)
{
    if (!kn_shifts_lines(p, g) || kn_reads_of(g) != KN_READS_TILE)
        return false;
    if (p->layout != KILN_NT)
        return g->bm * g->bn > 256 * 256;
    return kn_mx_scales(p) && g->bm * g->bn >= 224 * 192 &&
           (!kn_shifts(p, g, 'b') || (g->domain.align_a >= 4 && g->domain.align_b >= 4));
}

/* A row's scales are a line more each time that they come. Where bytes are shifted beside
 * large sums, or a group's rows or what is added to are known beside the largest, there are no
 * registers for those of eight K tiles; of a short K more come at first than are saved. */
static bool
eight_lines(const kiln_problem *p, const struct kn_config *g)
{
    bool full = g->bm * g->bn >= 256 * 256 && (kn_family_of(p)->ragged || p->beta);
    int64_t k = p->k / (g->split_k ? g->split_k : 1);

    return !full && (!p->k || k > 18 * (int64_t)g->bk) &&
           kn_reads_of(g) == KN_READS_TILE && kn_type_bits[p->a] == 8 &&
           kn_shifts_lines(p, g) &&
           (g->bm * g->bn <= 160 * 256 || kn_lines_crowd(p, g));
}

uint32_t
kn_scale_batch_k(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t k = kn_schedules[g->schedule].batch << doubles_batch(p, g);
    bool step = kn_reads_of(g) == KN_READS_STEP;
    bool copied = g->domain.align_a >= 16 && g->domain.align_b >= 16;
    uint32_t most = step && (copied || streams_lines(p, g) || !kn_family_of(p)->routed) ? 8
                  : eight_lines(p, g) ? 8
                  : step || !copied || (g->copies == KN_COPIES_LINES && g->stages == 3) ? 4 : 32;

    if (k > most * g->bk)
        return most * g->bk;
    return k ? k : 1024;
}

/* The 4-wave loop has registers for the next batch; three places and three slots
 * repeat sooner than two and three. */
uint32_t
kn_scale_slots(const struct kn_config *g)
{
    return kn_reads_of(g) == KN_READS_TILE ? 1
         : kn_reads_of(g) == KN_READS_STEP && g->stages == 3 ? 3 : 2;
}

/* A line_ring, once it is known that operands are copied, for which scales count. */
static bool
asks_for_ring(const kiln_problem *p, const struct kn_config *g)
{
    return kn_breaks_lines(p, g) && plain_lines(p, g) &&
           (!g->stages || g->stages == 3 || g->stages == 4) && !g->domain.ktail;
}

bool
kn_line_ring(const kiln_problem *p, const struct kn_config *g)
{
    return kn_direct(p, g) ? asks_for_ring(p, g) : streams_lines(p, g);
}

/* Of moe: beyond two K tiles; beyond nine where another workgroup would have the place of
 * batches, or operands go through registers without them (docs/moe.md). */
static bool
batches_pay(const kiln_problem *p, const struct kn_config *g, uint32_t tiles, uint32_t all)
{
    uint32_t lds = kn_targets[p->target].lds;
    uint32_t without = tiles + (g->stages ? g->stages : 2) * (g->bm + g->bn) * g->bk / 32;
    bool alone = all > lds / 2 && without <= lds / 2;
    bool shifted = g->domain.align_sa < 4 || g->domain.align_sb < 4;

    return !kn_family_of(p)->routed || !p->k || kn_mx_blocks(p) ||
           p->k > (alone || shifted ? 9 : 2) * (int64_t)g->bk;
}

bool
kn_room_for_batches(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t scales = kn_scale_batch_k(p, g) / (uint32_t)kn_scale_k(p) * 8;
    uint32_t slots = g->stages ? g->stages : 2;
    bool ring = asks_for_ring(p, g);
    uint32_t a = ring ? 8 * KN_LINE : g->bk * kn_type_bits[p->a];
    uint32_t b = ring ? 8 * KN_LINE : g->bk * kn_type_bits[p->b];
    uint32_t tiles = slots * kn_copied(g, a, b);
    uint32_t all = tiles + kn_scale_slots(g) * kn_copied(g, scales, scales);

    return kn_reads_of(g) == KN_READS_STEP && slots >= 2 &&
           (slots <= 4 || slots == KN_MAX_STAGES || ring) && g->bk <= 256 &&
           all <= kn_targets[p->target].lds && batches_pay(p, g, tiles, all);
}

/* Of 6 bits where they pay (docs/loops.md): in large tiles that need no LDS for
 * stores of single columns. */
static bool
six_batches(const kiln_problem *p, const struct kn_config *g)
{
    return (kn_type_bits[p->a] != 6 && kn_type_bits[p->b] != 6) ||
           kn_reads_of(g) == KN_READS_TILE ||
           (kn_reads_of(g) == KN_READS_STEP && g->bm * g->bn >= 256 * 128 &&
            !kn_stores_singly(p, g));
}

/* Batches of MX scales whose rows are no whole dwords go through registers the
 * same way, beside operands that are copied: LLVM would wait for those as for the
 * scales. */
bool
kn_unaligned_scales(const kiln_problem *p, const struct kn_config *g)
{
    return kn_mx_scales(p) && !p->scale_layout && !kn_dequant(p) &&
           (kn_reads_of(g) == KN_READS_TILE ||
            (g->lowering != KN_LOWERING_LLVM && kn_room_for_batches(p, g))) &&
           six_batches(p, g) &&
           (g->domain.align_sa < 4 || g->domain.align_sb < 4);
}

/* So may the MX scales of each K tile, where nothing is copied to LDS: of a B that is
 * widened where as many as come together are whole dwords. Loops that have a tile in
 * registers have none for those of others (measured). */
bool
kn_unaligned_tile(const kiln_problem *p, const struct kn_config *g, int side)
{
    uint8_t align = side == 'a' ? g->domain.align_sa : g->domain.align_sb;
    enum kn_reads reads = kn_reads_of(g);
    bool own = kn_widens_scaled(p), tiles = reads == KN_READS_TILE;

    return align < 4 && (own || kn_mx_scales(p)) && !p->scale_layout &&
           !kn_direct(p, g) && (own || !tiles) &&
           (g->bk % 128 == 0 || (own && tiles) || kn_converts_early(p, g)) &&
           reads != KN_READS_MEMORY && reads != KN_READS_RUNS;
}

/* Batches that wait for memory: of 6 bits these took up to 1.2 times as long folded (40 drawn). */
static bool
streams(const kiln_problem *p)
{
    enum { FEW = 256 };      /* products of an element that is read */

    return p->batch > 1 && p->m && p->n && p->m * p->n < FEW * (p->m + p->n);
}

bool
kn_may_fold(const kiln_problem *p)
{
    return kn_dequant(p) && !p->quant && !p->invariant && kn_type_mx[p->a] && kn_type_mx[p->b] &&
           kn_type_bits[p->a] < 8 && kn_type_bits[p->a] == kn_type_bits[p->b] &&
           !(kn_type_bits[p->a] == 6 && streams(p));
}

/* Four waves of half a line, of scales that else come one by one, and of 8-bit
 * elements, beside which registers suffice (docs/loops.md). */
static bool
four_early(const kiln_problem *p, const struct kn_config *g)
{
    if (g->wm * g->wn == 4 && kn_may_fold(p) && !g->unfolded)
        return g->bk == 64 ? g->bm * g->bn <= 192 * 128
                           : g->bk > 64 && (g->bm + g->bn) * g->bk <= 32768;
    return g->wm * g->wn == 4 && g->bk == 64 && g->bm * g->bn <= 192 * 128 &&
           kn_elems[staged(p, p->a)].bits == 8 &&
           (g->domain.align_sa < 2 || g->domain.align_sb < 2);
}

bool
kn_splits_early(const kiln_problem *p, const struct kn_config *g)
{
    return p->math == KILN_MATH_BF16X3 && !kn_direct(p, g) &&
           kn_reads_of(g) != KN_READS_MEMORY && kn_reads_of(g) != KN_READS_RUNS;
}

bool
kn_converts_early(const kiln_problem *p, const struct kn_config *g)
{
    bool both = kn_dequant(p) && kn_type_mx[p->a] && kn_type_mx[p->b];

    return (both || kn_splits_early(p, g)) && kn_reads_of(g) == KN_READS_STEP &&
           g->stages == 1 && (g->wm * g->wn == 8 || four_early(p, g)) &&
           (kn_may_fold(p) && !g->unfolded ? 256 : 128) % g->bk == 0 &&
           g->lowering != KN_LOWERING_LLVM && kn_along_k(p, 'a') && kn_along_k(p, 'b') &&
           !kn_scales_down(p, 'a') && !kn_scales_down(p, 'b') && !kn_shuffled(p);
}

bool
kn_folds_scales(const kiln_problem *p, const struct kn_config *g)
{
    return kn_may_fold(p) && !g->unfolded && kn_converts_early(p, g) && g->bk >= 2 * KN_FOLD;
}

bool
kn_any_behind(const kiln_problem *p, const struct kn_config *g, char operand)
{
    bool a = kn_type_bits[p->a] == 8, b = kn_type_bits[p->b] == 8;
    bool cut_a = a || (!b && g->bm <= g->bn);

    return kn_dequant(p) && !p->quant && kn_type_mx[p->a] && kn_type_mx[p->b] &&
           (operand == 'a' ? !cut_a : !b && cut_a);
}

bool
kn_clips_runs(const kiln_problem *p, const struct kn_config *g)
{
    int64_t shares = g->split_k > 1 ? g->split_k : 1;

    return kn_dequant(p) && g->stages < 2 && kn_type_bits[p->a] != 6 && kn_type_bits[p->b] != 6 &&
           (!p->k || p->k > (g->wm * g->wn == 8 ? 2 : 8) * shares * g->bk);
}
