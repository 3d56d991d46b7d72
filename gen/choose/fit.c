/* fit.c - whether a tile can be: shared by its waves, of this K, within registers and
 * LDS; and what follows of it that is open, schedule and slots. Nothing here
 * fails: a question is answered by a reason or by no. */
#include "choose.h"
#include "../forms.h"
#include "../instantiate.h"
#include "../panels.h"

bool
kn_shareable(const struct kn_config *g)
{
    uint32_t most = kn_reads_of(g) == KN_READS_TILE ? KN_WIDEST : 256;

    return g->wm && g->wn && g->wm * g->wn <= 16 && g->bm <= most && g->bn <= most &&
           g->bm % (g->wm * 16) == 0 && g->bn % (g->wn * 16) == 0;
}

/* Columns of an output of which a wave had better have a multiple: in a tile of several
 * scales' columns all of one, whose codes are whole lines of memory, of as many waves; not of
 * MX types that are converted, to f16 apart, of whose loops others take up to twice as long. */
static uint32_t
wave_columns(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t whole = kn_output_block(p) << kn_gated(p);
    uint32_t wn = g->bn / whole, waves = g->wm * g->wn;
    bool converted = kn_dequant(p) && kn_type_mx[p->a] &&
                     kn_elems[kn_shape_of(p, g).ta].bits < 16;
    bool several = p->out_scale == KILN_OUT_BLOCK128 && !kn_family_of(p)->routed &&
                   g->bn % whole == 0 && wn > 1 && waves % wn == 0 &&
                   g->bm % (waves / wn * 16) == 0 &&
                   !converted &&
                   (kn_reads_of(g) != KN_READS_TILE || g->bm / (waves / wn) >= 64);

    return several ? whole : kn_output_columns(p, g);
}

void
kn_quantising_waves(const kiln_problem *p, struct kn_config *g)
{
    if (kn_family_of(p)->routed && kn_quantises(p) && g->bn >= 64 &&
        g->bn % (g->wn * 64)) {
        g->wn = g->bn / 64;
        g->wm = g->bm >= 128 ? 2 : 1;
    }
    if (kn_gated(p) && g->wn > 1 && g->bn % (g->wn * 32) && g->bn % (g->wn * 16) == 0 &&
        g->bm % (g->wm * 32) == 0) {
        g->wn /= 2;          /* 16 columns of gate and 16 of up a wave */
        g->wm *= 2;
    }
    if (kn_writes_scales(p) && g->wm && g->bn && g->bn % (g->wn * wave_columns(p, g))) {
        uint32_t waves = g->wm * g->wn, wn = g->bn / wave_columns(p, g);

        g->wn = wn && wn <= waves ? wn : g->wn;
        g->wm = waves / g->wn;
        while (g->wm > 1 && g->bm % (g->wm * 16))
            g->wm /= 2;
    }
}

void
kn_default_waves(const kiln_problem *p, struct kn_config *g)
{
    if (!g->wm && kn_reads_of(g) == KN_READS_TILE) {
        g->wm = g->bm % 256 == 0 || g->bn % 64 ? 2 : 1;
        g->wn = 4 / g->wm;
    } else if (!g->wm) {
        g->wm = 2;
        g->wn = g->bm * g->bn >= 256 * 128 ? 4 : 2;
        kn_quantising_waves(p, g);
    }
}

const char *
kn_bk_lacks(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    uint32_t k = kn_step_k(c, p, g->bk);
    struct kn_buf b = { .c = c };

    if (kn_blocks(p) && g->bk != 128)
        return "128-blocks need a tile K of 128";
    if (kn_scale_groups(p) && g->bk % kn_scale_k(p))
        return "the K of a tile is a multiple of a group's";
    if (kn_prequant(p) && g->bk != 128)
        return "A is quantised by 128 K, so the K of a tile is 128";
    if (kn_shuffled(p) && g->bk != 256 && !kn_scale_dwords(p, g))
        return "shuffled scales need a tile K of 256, or 128 with the schedule 4-wave";
    if (g->bk && g->bk % k == 0 && g->bk <= 256)
        return NULL;
    kn_putf(&b, "the K of a tile must be a multiple of %u up to 256 for these "
            "types, not %u", k, g->bk);
    return b.s;
}

/* gemm1: a wave holds gate and up columns, 16 and 16. */
const char *
kn_moe_lacks(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    struct kn_buf b = { .c = c };

    if (g->bm && g->bm != kn_block_rows(p)) {
        kn_putf(&b, "the rows of a moe tile are the sorter's --block-m %u, "
                "not %u", kn_block_rows(p), g->bm);
        return b.s;
    }
    if (g->bm && !g->wm) {
        g->wm = g->bm >= 128 ? 2 : 1;
        g->wn = g->bn % 128 ? 2 : 4;
        kn_quantising_waves(p, g);
    }
    if (g->bm && kn_quantises(p) && g->bn % (g->wn * 64))
        return "a wave that quantises needs a multiple of 64 columns of gate "
               "and up";
    if (g->bm && p->out_scale == KILN_OUT_BLOCK128 && g->bn != 2 * kn_output_block(p))
        return "scales of 128 columns of gemm1's output need a tile of 256, of "
               "gate and of up";
    if (g->wm && p->stage == KILN_MOE_GATE_UP && g->bn % (g->wn * 32))
        return "a wave of gemm1 needs a multiple of 32 columns: its 16 of "
               "gate and 16 of up in turn";
    return NULL;
}

bool
kn_has_registers(struct kn_ctx *c, const kiln_problem *p,
                 const struct kn_config *g)
{
    return kn_form_wanted(p, g) &&
           kn_tile_registers(c, p, g) <= kn_register_limit(g);
}

/* Halves of the waves a barrier apart keep the matrix pipes busiest in 256x256
 * tiles. Interleaving pays where a wave has enough matrix work to hide its LDS
 * reads (docs/loops.md); of weights that it widens scores say where. */
static void
settle_schedule(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    struct kn_config two = *g;

    if (g->schedule)
        return;
    two.stages = g->stages ? g->stages : 2;
    g->schedule = two.schedule = KN_SCHED_8WAVE;
    if (g->bm * g->bn == 256 * 256 && kn_has_registers(c, p, &two) &&
        !kn_form_lacks(p, &two) && kn_tile_registers(c, p, &two) <= 256)
        return;
    g->schedule = two.schedule = KN_SCHED_INTERLEAVE;
    if (kn_form_lacks(p, &two) || !kn_has_registers(c, p, &two) || kn_widens_late(p, &two) ||
        g->bm * g->bn < (kn_mx_scales(p) ? 256 * 256 : 128 * 128))
        g->schedule = KN_SCHED_SIMPLE;
}

/* Of tiles of `one` bytes whose scales come in batches, 40 KB on their way, and no
 * more than LDS has room for with them (docs/loops.md). */
static uint32_t
batched_stages(const kiln_problem *p, const struct kn_config *g, uint32_t one,
               uint32_t most)
{
    struct kn_config try = *g;
    uint32_t want = 1 + (40 * 1024 - 1 + one) / one;

    for (try.stages = want < most ? want : most;
         try.stages > 2 && !kn_scale_batch(p, &try); try.stages--)
        ;
    return try.stages;
}

/* Of a loop whose slots are filled anew halfway through a tile; by lines two slots more
 * than by quarters, with less room for them one. */
static uint32_t
two_or_four(const kiln_problem *p, const struct kn_config *g)
{
    struct kn_config two = *g;

    two.stages = 2;
    return g->copies == KN_COPIES_LINES && kn_form_lacks(p, &two) ? 4 : 2;
}

/* Of moe: more where few workgroups share a compute unit, since each waits for memory, of
 * blocks of more than 32 rows up to 64 KB on their way, and a third of K at most; and beside
 * batches of scales that go through registers (docs/moe.md). Of tokens to come as of many. */
static uint32_t
routed_stages(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g, uint32_t one)
{
    uint64_t n = kn_tiles_of(p, g->bm, g->bn), cus = kn_cus(p);
    struct kn_config more = *g;

    if (!n || kn_reads_of(g) != KN_READS_STEP || g->copies == KN_COPIES_LINES)
        return two_or_four(p, g);
    more.stages = n <= cus || (g->bm <= 64 && kn_unaligned_scales(p, g)) ? 4 : n <= 2 * cus ? 3 : 2;
    while (more.stages > 2 &&
           (kn_form_lacks(p, &more) ||
            kn_tile_lds(c, p, &more) * (n <= cus ? 1 : 2) > kn_targets[p->target].lds ||
            (p->block_m > 32 && ((more.stages - 2) * one >= 64 * 1024 ||
                                 (p->k && p->k < 3 * (int64_t)more.stages * g->bk)))))
        more.stages--;
    return more.stages;
}

bool
kn_third_slot_fits(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    struct kn_config three = *g;

    three.stages = 3;
    return g->bm * g->bn <= 128 * 128 &&
           (g->lowering == KN_LOWERING_ASM || kn_form_assembly(p, g)) && !g->cus &&
           !kn_form_lacks(p, &three) &&
           kn_tile_registers(c, p, &three) <= kn_register_limit(&three);
}

/* Whether a K tile more is worth having in registers: of small tiles, which wait for
 * memory, of the assembly lowering (docs/loops.md); of large ones beside an A that is quantised
 * if all three are whole. */
static bool
three_pay(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    bool quantises = kn_prequant(p) && g->bm * g->bn >= 64 * 128;

    return p->k >= (quantises ? 3 : 2) * (int64_t)g->bk + !quantises &&
           kn_third_slot_fits(c, p, g);
}

/* A K that one tile has all of needs no slot for another. Of the assembly lowering: between
 * products of one slot whose registers overlap in part, LLVM leaves fewer wait states than
 * the check of the machine code asks for. */
static bool
one_tile(const kiln_problem *p, const struct kn_config *g)
{
    struct kn_config one = *g;

    one.stages = 1;
    return p->k && p->k <= g->bk && kn_least_stages(p, g) < 2 &&
           (g->lowering == KN_LOWERING_ASM || (!g->lowering && kn_form_assembly(p, &one)));
}

/* Operands are copied beside batches of scales whose rows are no whole dwords; those of one K tile
 * had better go through registers as the scales do, of which nothing waits twice; not where
 * scales come in batches alone, and such a slot has none. */
bool
kn_one_slot(const kiln_problem *p, const struct kn_config *g)
{
    struct kn_config one = *g;

    one.stages = 1;
    return kn_reads_of(g) == KN_READS_STEP && kn_unaligned_scales(p, g) &&
           !kn_family_of(p)->routed && !kn_direct(p, &one) && one_tile(p, &one) &&
           (!kn_mx_blocks(p) || kn_scale_batch(p, &one));
}

/* Of the 4-wave loop through registers, which reads fragments later with two slots than
 * with one: 256x256 sums and more leave no registers for one beside transposing reads and
 * rows at any byte, nor does LDS that has room for another workgroup, whose waves would
 * take half of them (kn_waves_per_simd). */
uint32_t
kn_register_slots(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    struct kn_config one = *g;
    uint32_t lds = kn_targets[p->target].lds, sums = g->bm * g->bn, bytes;
    int turned = !kn_along_k(p, 'a') + !kn_along_k(p, 'b');
    int more = turned + kn_unaligned(p, g, 'a') + kn_unaligned(p, g, 'b');

    one.stages = 1;
    bytes = kn_tile_lds(c, p, &one);
    if (kn_form_lacks(p, &one))
        return 2;
    return kn_targets[p->target].slots_4wave > 1 &&
           ((sums > 256 * 256 && more) || (sums == 256 * 256 && turned && more > 2) ||
            (g->wm * g->wn == 4 && sums < 256 * 256 && 2 * bytes <= lds && 4 * bytes > lds))
               ? 2 : 1;
}

/* Groups and batches of 128-blocks, which LLVM has no scalars for: as assembly where no
 * workgroup shares a compute unit, which in two slots several do. */
static bool
alone(const kiln_problem *p, const struct kn_config *g)
{
    uint64_t n = kn_tiles_of(p, g->bm, g->bn) * (g->split_k ? g->split_k : 1);

    return kn_blocks(p) && g->lowering != KN_LOWERING_LLVM && !g->cus &&
           kn_form_assembly(p, g) && n && n <= kn_cus(p);
}

/* Groups and batches with shuffled scales, as assembly, whose slots hold no registers: as
 * many slots as leave room for the workgroups that two do, four of one that is alone. */
static uint32_t
shuffled_stages(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *g)
{
    uint64_t n = kn_tiles_of(p, g->bm, g->bn), cus = kn_cus(p);
    uint32_t lds = kn_targets[p->target].lds, beside;
    struct kn_config try = *g;

    try.stages = 2;
    beside = n && n <= cus ? 1 : lds / kn_tile_lds(c, p, &try);
    for (try.stages = 4; try.stages > 2; try.stages--)
        if (kn_tile_lds(c, p, &try) * beside <= lds && !kn_form_lacks(p, &try) &&
            (!p->k || p->k > (try.stages - 1) * (int64_t)g->bk))
            break;
    return try.stages;
}

/* Slots worth having: with direct copies about 64 KB on their way to a
 * compute unit cover the latency of memory (docs/loops.md). Each copy of
 * each slot holds a scalar register for its M0, so tiles with scales, and
 * kernels that walk groups, get fewer. */
static uint32_t
natural_stages(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    bool ragged = g->cus || kn_family_of(p)->ragged || kn_family_of(p)->batch;
    uint32_t most = p->scale < KILN_SCALE_BLOCK128 ? ragged ? 5 : 6
                  : ragged && !alone(p, g) ? 2 : 4;
    uint32_t one, want;

    if (kn_direct_to_reg(g))
        return !kn_schedules[g->schedule].unrolled || p->k <= 2 * (int64_t)g->bk
             ? 2 : (uint32_t)((p->k + g->bk - 1) / g->bk);
    if (kn_direct(p, g) && kn_reads_of(g) == KN_READS_TILE)
        return two_or_four(p, g);
    if (kn_reads_of(g) == KN_READS_TILE)
        return kn_register_slots(c, p, g);
    g->stages = 1;
    one = kn_tile_lds(c, p, g);
    g->stages = 2;
    if (kn_one_slot(p, g))
        return 1;
    if (kn_direct(p, g) && kn_family_of(p)->routed)
        return routed_stages(c, p, g, one);
    want = 1 + (65535 + one) / one;
    if (kn_shuffled(p) && ragged && !g->cus && kn_direct(p, g) &&
        kn_reads_of(g) == KN_READS_STEP && kn_form_assembly(p, g) &&
        g->lowering != KN_LOWERING_LLVM)
        return shuffled_stages(c, p, g);
    if (kn_direct(p, g) && kn_mx_scales(p) && kn_scale_batch(p, g))
        return kn_reads_of(g) == KN_READS_STEP
                   ? kn_filled_stages(p, g, batched_stages(p, g, one, most)) : 2;
    /* A second slot behind a persistent walk spills what is staged. */
    if (g->cus && kn_mx_scales(p) && !kn_direct(p, g) &&
        !kn_dequant(p) && g->bm * g->bn == 256 * 256)
        return 1;
    g->stages = 4;
    if (!kn_direct(p, g) && kn_line_ring(p, g))
        return 4;
    if (kn_widens_late(p, g) && (kn_in_words(p) || !kn_direct(p, g)))
        return kn_direct(p, g) ? 2 : 1; /* words wait in registers for a slot */
    if (!kn_direct(p, g))
        return one_tile(p, g) ? 1 : three_pay(c, p, g) ? 3 : 2;
    return kn_filled_stages(p, g, want < 2 ? 2 : want > most ? most : want);
}

uint32_t
kn_filled_stages(const kiln_problem *p, const struct kn_config *g, uint32_t n)
{
    int64_t most = p->k ? (p->k + g->bk - 1) / g->bk + 1 : n;

    return n > 2 && most < n ? (uint32_t)(most < 2 ? 2 : most) : n;
}

uint32_t
kn_least_stages(const kiln_problem *p, const struct kn_config *g)
{
    return g->copies == KN_COPIES_LINES && kn_reads_of(g) != KN_READS_TILE ? 3
         : kn_direct(p, g) ? 2 : 1;
}

bool
kn_tile_fit(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    uint32_t least, asked = g->stages;

    least = kn_least_stages(p, g);
    settle_schedule(c, p, g);
    kn_settle_codes(p, g);
    if (kn_direct_to_reg(g)) {
        g->stages = asked ? asked : natural_stages(c, p, g);
        if (kn_schedules[g->schedule].unrolled &&
            p->k != (int64_t)g->stages * g->bk)
            g->domain.ktail = 1;
        if (kn_form_lacks(p, g) ||
            kn_tile_registers(c, p, g) > kn_register_limit(g)) {
            g->stages = asked;
            return false;
        }
        return true;
    }
    if (kn_reads_of(g) == KN_READS_TILE && !asked)
        g->stages = natural_stages(c, p, g);
    if (kn_tile_registers(c, p, g) > kn_register_limit(g)) {
        g->stages = asked;
        return false;
    }
    g->stages = asked ? asked : natural_stages(c, p, g);
    if (g->stages < least && !asked)
        least = g->stages;   /* kn_one_slot() */
    for (; g->stages >= least; g->stages--) {
        if (kn_tile_lds(c, p, g) <= kn_targets[p->target].lds)
            return true;
        if (asked)
            break;
    }
    g->stages = asked;
    return false;
}

/* A given tile whose natural K does not fit is staged less K at a time. */
void
kn_shorten_bk(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    uint32_t step = kn_step_k(c, p, g->bk);

    for (uint32_t bk = g->bk; bk >= step && bk % step == 0; bk /= 2) {
        struct kn_config try = *g;

        try.bk = bk;
        kn_default_waves(p, &try);
        if (!try.domain.align_a)
            try.domain = kn_domain_of(p, 256, bk);
        if (kn_bk_lacks(c, p, &try))
            return;
        if (!kn_shareable(&try) || kn_tile_fit(c, p, &try)) {
            g->bk = bk;
            return;
        }
    }
}

bool
kn_widens_soon(const kiln_problem *p)
{
    return kn_mx_scales(p) && kn_type_bits[p->b] != 6;
}

/* The same beside weights that are widened: not of rows at half lines, of which every second begins
 * at one, but of 8 bits; of 6 bits and nvfp4, whose widening takes longer, of four waves. */
static bool
widened_pay(const kiln_problem *p, const struct kn_config *g)
{
    bool half = p->lda * kn_type_bits[p->a] % (4 * KN_LINE) == 0;

    return kn_type_bits[p->b] == 8 || (!half && (kn_widens_soon(p) || g->wm * g->wn == 4));
}

/* On gfx942: K tiles of a share from which lines pay that go through registers. Tiles below
 * 64x96 have a way into the loop that is a K tile longer, but of several rounds other workgroups
 * have products meanwhile; what shifts bytes is of a larger share of the time than on gfx950, so
 * some tiles at odd bytes take as long without (5 to 30 K tiles of 19 tiles in bf16 and fp8). */
static int64_t
least_of_old(const kiln_problem *p, const struct kn_config *g)
{
    enum { SOON = 5, LATER = 9, LATE = 20, NEVER = INT32_MAX };
    uint32_t area = g->bm * g->bn;
    bool dwords = g->domain.align_a >= 4 && g->domain.align_b >= 4;

    if (area >= 96 * 128 || kn_reads_of(g) != KN_READS_STEP)
        return SOON;
    if (area >= 64 * 96)
        return dwords ? SOON : NEVER;
    if (g->stages < 4)
        return NEVER;
    if (g->bk * kn_type_bits[p->a] > 8 * KN_LINE)
        return dwords && area < 64 * 64 ? LATER : NEVER;
    if (kn_fills_rounds(p, g))
        return SOON;
    return dwords && area > 32 * 32 ? LATER : LATE;
}

/* gfx942's, of plain rows along K, of which a lane loads 16 bytes at places that are no multiples
 * of them: at multiples as many lines come at once as do by lines. Beside scales of 128-blocks the
 * assembly waits for more than is asked for. */
static bool
loads_dwords(const kiln_problem *p, const struct kn_config *g)
{
    return !kn_prequant(p) && !kn_dequant(p) && !kn_blocks(p) &&
           ((kn_along_k(p, 'a') && g->domain.align_a < 16) ||
            (kn_along_k(p, 'b') && g->domain.align_b < 16));
}

/* Rows that are loaded by lines on their way through registers: of two lines a K tile of large
 * tiles as much is in flight without; in small tiles the way into the loop, which is a K tile
 * longer, counts (measured on gfx950). Beside an A that is quantised, rows that begin at 16 bytes
 * are as fast by tiles, and larger tiles lose a slot's registers. */
static bool
shifts_pay(const kiln_problem *p, const struct kn_config *g)
{
    int64_t tiles = p->k / (g->split_k ? g->split_k : 1) / g->bk;
    bool small = g->bm * g->bn < 96 * 128 || kn_lines_apart(p) < 2;
    bool half = kn_shifts_lines(p, g) && !kn_shifts(p, g, 'b');
    bool turned = p->layout != KILN_NT, old = kn_targets[p->target].dma < 16;
    kiln_type by_lines = kn_prequant(p) ? p->b : p->a;

    if (kn_dequant(p) && !widened_pay(p, g))
        return false;
    if (kn_prequant(p) && (g->bm * g->bn > 128 * 256 || g->domain.align_b >= 16))
        return false;
    if (old && !loads_dwords(p, g))
        return false;
    if (old && !turned && kn_lines_apart(p) == 2)
        return tiles >= least_of_old(p, g);
    return g->bm * g->bn >= 64 * 96 && g->bk * kn_type_bits[by_lines] <= 8 * KN_LINE &&
           tiles >= (turned ? KN_HALF_LINES : small || half ? 12 : 4);
}

/* Beside an A that is quantised a slot more than three gains nothing in tiles of many sums
 * and takes their registers. */
static uint32_t
most_slots(const kiln_problem *p, const struct kn_config *g)
{
    bool step = kn_reads_of(g) == KN_READS_STEP;

    if (kn_prequant(p) && g->bm * g->bn >= 96 * 128)
        return 3;
    return step && kn_direct(p, g) ? g->stages > 1 ? g->stages + 1 : 3 : 4;
}

/* Of moe B alone is copied so, which pays where a compute unit has K tiles enough for a way into
 * the loop that is one longer: in three slots where they leave a second workgroup its place, in
 * more where that has none before, or in large tiles (measured on gfx950). */
static bool
routed_lines_pay(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *tiles,
                 const struct kn_config *lines)
{
    uint32_t lds = kn_targets[p->target].lds;
    uint32_t before = lds / kn_tile_lds(c, p, tiles), now = lds / kn_tile_lds(c, p, lines);
    int64_t turns = (int64_t)kn_tiles_of(p, lines->bm, lines->bn) * (p->k / lines->bk);

    return (!p->tokens || turns >= 20 * (int64_t)kn_cus(p)) &&
           (now > 1 || (before < 2 && (lines->stages > 3 || lines->bm * lines->bn >= 64 * 256)));
}

/* A slot more than of tiles, since the next one's must be there too; of 4-wave four, or
 * what there is room for, two by quarters (docs/loops.md). */
static bool
lines_in(struct kn_ctx *c, const kiln_problem *p, struct kn_config *try)
{
    uint32_t batch = kn_widens_scaled(p) ? 0 : kn_scale_batch(p, try);

    try->copies = KN_COPIES_LINES;
    if (!kn_direct(p, try) && (kn_line_ring(p, try) || !shifts_pay(p, try)))
        return false;        /* a ring has scores of its own */
    return (kn_straddles(p, try) || kn_line_ring(p, try)) &&
           kn_form_assembly(p, try) && !kn_form_lacks(p, try) &&
           (!batch || kn_scale_batch(p, try)) && kn_has_registers(c, p, try) &&
           kn_tile_fit(c, p, try);
}

/* K tiles for which lines are worth a slot: of 6 bits, whose lines in rows that begin
 * inside them are in two, more. */
static int64_t
least_tiles(const kiln_problem *p, const struct kn_config *g)
{
    return kn_breaks_lines(p, g) && p->k % (4 * (int64_t)g->bk) ? 16 : 4;
}

bool
kn_prefer_lines(struct kn_ctx *c, const kiln_problem *p,
                const struct kn_config *given, struct kn_config *g)
{
    bool direct = kn_direct(p, g);
    uint32_t least = kn_reads_of(g) == KN_READS_STEP ? 3 : 2, most = most_slots(p, g);
    int64_t share = p->k / (g->split_k ? g->split_k : 1);

    if (given->copies || !(kn_straddles(p, g) || kn_breaks_lines(p, g)) ||
        share < least_tiles(p, g) * (int64_t)g->bk)
        return false;
    for (uint32_t slots = most < KN_MAX_STAGES ? most : KN_MAX_STAGES; slots >= least; slots--) {
        struct kn_config try = *g;

        try.cus = given->cus;
        try.stages = given->stages ? given->stages : slots;
        if (kn_direct(p, &try) == direct && lines_in(c, p, &try) &&
            (!kn_family_of(p)->routed || routed_lines_pay(c, p, g, &try))) {
            *g = try;
            return true;
        }
    }
    return false;
}
