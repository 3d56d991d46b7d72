/* routed_tiles.c - moe's blocks of sorted rows, and the tiles of routed.def. */
#include "choose.h"
#include "../forms.h"
#include "../instantiate.h"

enum only { ANY, DWORDS, PANELS, LINES, INSIDE, CODES, LONG, FLOATS };

enum { LINE = 128 * 8 };     /* bits */

struct routed {              /* the columns of routed.def */
    kiln_target target;
    enum kn_class class;
    uint32_t bm, bn, bk, wm, wn;
    enum kn_schedule schedule;
    uint32_t stages;
    int64_t least_k;
    uint32_t bits, percent;
    int64_t most_rows;
    enum only only;
};

static const struct routed rows[] = {
#define ROUTED(target, class, bm, bn, bk, wm, wn, schedule, ...) \
    { KILN_##target, KN_CLASS_##class, bm, bn, bk, wm, wn, KN_SCHED_##schedule, \
      __VA_ARGS__ },
#include "routed.def"
};

/* Rows that an expert gets on average. */
static int64_t
load_of(const kiln_problem *p)
{
    int64_t used = p->tokens * p->topk, many = p->groups;

    return many > 0 && many < used ? used / many : 1;
}

/* Slots of more K tiles than there are hold nothing; 0: the rules say how many. */
static uint32_t
slots(const kiln_problem *p, const struct routed *r, const struct kn_config *g)
{
    uint64_t turns = p->k ? ((uint64_t)p->k + r->bk - 1) / r->bk : r->stages;
    uint32_t least = kn_least_stages(p, g);

    if (!r->stages)
        return 0;
    return turns >= r->stages ? r->stages : turns > least ? (uint32_t)turns : least;
}

/* Integers of 4 bits that LDS may have as memory does. */
static bool
has_codes(const kiln_problem *p)
{
    return !p->zero_points && !p->b_layout;
}

/* Floats of 4 bits that it may have so; blocks are chosen ahead of their scale mode and K. */
static bool
has_float_codes(const kiln_problem *p)
{
    bool widened = p->b == KILN_NVFP4 ? kn_type_bits[p->a] == 16
                                      : p->b == KILN_MXFP4 && p->a == KILN_BF16;

    return widened && !p->quant && p->layout == KILN_NT && !p->scale_layout && !p->b_layout;
}

static bool
stands_for(const kiln_problem *p, enum only only)
{
    switch (only) {
    case DWORDS:
        return !p->k || (p->k + 31) / 32 % 4 == 0;
    case PANELS:
        return p->b_layout != KILN_B_PLAIN;
    case LINES:
        return p->k * kn_type_bits[p->a] % LINE == 0 && p->k * kn_type_bits[p->b] % LINE == 0;
    case CODES:
        return has_codes(p);
    case LONG:
        return kn_scale_k(p) >= 64;
    case FLOATS:
        return has_float_codes(p) && p->k * kn_type_bits[p->b] % LINE == 0;
    case INSIDE:
        return p->k * kn_type_bits[p->b] % LINE != 0 && !p->b_layout;
    default:
        return true;
    }
}

/* Groups of i4 have the same rows wherever their scales lie, weights of MX the same of 4 and 8
 * bits. */
static enum kn_class
class_of(const kiln_problem *p)
{
    enum kn_class c = kn_class_of(p);

    return c == KN_CLASS_IT ? KN_CLASS_I4 : c == KN_CLASS_WE ? KN_CLASS_WB : c;
}

/* 4-bit floats that LDS has as memory does have rows of their own, whatever their scales. */
static bool
is_of_class(const kiln_problem *p, const struct routed *r)
{
    return r->only == FLOATS || r->class == class_of(p);
}

/* Whether all waves along N keep the weights' 4 bits in LDS: turned for pairs of gate and up they
 * would widen them on their way (measured: up to 1.7 times as long). */
static bool
keeps_codes(const kiln_problem *p)
{
    return (kn_scale_groups(p) && has_codes(p)) ||
           (has_float_codes(p) && p->k % (4 * kn_scale_k(p)) == 0);
}

/* Tokens to come count as many. */
static bool
serves(const kiln_problem *p, const struct routed *r, uint32_t bm)
{
    return r->target == p->target && is_of_class(p, r) && r->bm == bm &&
           !(kn_gated(p) && r->bn % (r->wn * 32) && keeps_codes(p)) &&
           (!p->k || p->k >= r->least_k) && kn_type_bits[p->b] <= r->bits &&
           (!r->most_rows || load_of(p) <= r->most_rows) &&
           stands_for(p, r->only) &&
           ((kn_family_of(p)->routed && !p->tokens) ||
            100 * kn_tiles_of(p, r->bm, r->bn) >= (uint64_t)r->percent * kn_cus(p));
}

/* The row as a kernel for p, if it is one. */
static bool
take(struct kn_ctx *c, const kiln_problem *p, const struct routed *r, struct kn_config *g)
{
    g->bm = r->bm;
    g->bn = r->bn;
    g->bk = r->bk;
    g->wm = r->wm;
    g->wn = r->wn;
    g->schedule = r->schedule;
    if (kn_schedules[r->schedule].asm_only && !g->lowering)
        g->lowering = KN_LOWERING_ASM;
    g->domain = kn_domain_of(p, 256, r->bk);
    kn_quantising_waves(p, g);
    g->stages = slots(p, r, g);
    if (kn_bk_lacks(c, p, g) || (kn_family_of(p)->routed && kn_moe_lacks(c, p, g)) ||
        !kn_shareable(g) || !kn_tile_fit(c, p, g))
        return false;
    if (g->stages > 2 && !kn_direct(p, g) && !kn_form_assembly(p, g))
        g->stages = 2;       /* of LLVM's lowering, through registers */
    return !kn_form_lacks(p, g) && !kn_was_refused(c, g);
}

static bool
is_open(const struct kn_config *g)
{
    return !g->wm && !g->stages && !g->schedule && !g->cus && !g->copies;
}

/* g as the first row that serves and can be. */
bool
kn_pick_routed(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    for (size_t i = 0; is_open(g) && i < sizeof rows / sizeof *rows; i++) {
        struct kn_config try = *g;

        if (serves(p, &rows[i], kn_block_rows(p)) && take(c, p, &rows[i], &try)) {
            *g = try;
            return true;
        }
    }
    return false;
}

/* ---- blocks ------------------------------------------------------------- */

enum staged {
    AS_STORED, MX_STORED, SIX_LINES, SIX, EIGHT, PANELLED, WIDENED, CONVERTED, INTEGERS,
    LONG_GROUPS, WORDS, WORDS_OF_K, FLOAT_CODES, FOLDED, ROUNDED, WIDE_128, BOTH_128,
    OF_128
};

static const struct blocks {
    kiln_target target;
    enum staged staged;
    int64_t most16, most32, most64;
    uint32_t percent, halves, apart;
} blocks[] = {
#define BLOCKS(target, ...) { KILN_##target, __VA_ARGS__ },
#include "routed.def"
};

/* Both are MX types of 8 bits, or one, multiplied as e4m3; chosen ahead of their scale mode and
 * K, too. */
static bool
is_e4m3_of_mx(const kiln_problem *p)
{
    bool e5m2 = p->a == KILN_MXBF8 || p->b == KILN_MXBF8;
    uint32_t a = kn_type_bits[p->a], b = kn_type_bits[p->b];

    return kn_type_mx[p->a] && kn_type_mx[p->b] && !e5m2 && a != 6 && b != 6 && a + b > 8;
}

/* MX types as they are; of 6 bits whose rows of A begin at lines, the largest tiles copy those. */
static enum staged
as_mx(const kiln_problem *p)
{
    if (kn_type_bits[p->a] != 6 || kn_type_bits[p->b] != 6)
        return MX_STORED;
    return p->k && p->k * 6 % LINE == 0 ? SIX_LINES : SIX;
}

static const struct blocks *
blocks_of(const kiln_problem *p)
{
    bool by_128 = p->out_scale == KILN_OUT_BLOCK128, mx = kn_type_mx[p->a];
    bool panels = p->b_layout && p->scale < KILN_SCALE_BLOCK128 && !mx;
    enum staged staged = kn_prequant(p) || p->quant ? ROUNDED
                       : kn_may_fold(p) && !by_128 ? FOLDED
                       : kn_in_words(p) && !by_128 ? kn_word_k(p) > 1 ? WORDS_OF_K : WORDS
                       : kn_scale_groups(p) && !by_128 && has_codes(p)
                             ? (kn_scale_k(p) < 128 ? INTEGERS : LONG_GROUPS)
                       : !by_128 && has_float_codes(p) ? FLOAT_CODES
                       : kn_dequant(p) && by_128 ? mx ? BOTH_128 : WIDE_128
                       : kn_dequant(p) ? is_e4m3_of_mx(p) ? CONVERTED : WIDENED
                       : panels && !kn_targets[p->target].scaled ? PANELLED
                       : mx && kn_targets[p->target].scaled ? as_mx(p)
                       : kn_blocks(p) ? OF_128
                       : kn_type_bits[p->a] == 8 && !mx ? EIGHT : AS_STORED;
    const struct blocks *b = blocks, *last = blocks + sizeof blocks / sizeof *blocks - 1;

    while (b < last && (b->target != p->target || b->staged != staged))
        b++;
    return b;
}

/* Tiles of one expert's token each, of 128 columns of gate and up, wait for their K alone: those
 * of 16 rows have more slots for it. */
static bool
has_few_tiles(const kiln_problem *p)
{
    int64_t used = p->tokens * p->topk;

    return load_of(p) == 1 && used > 0 && 4 * used * p->n <= 128 * (int64_t)kn_cus(p);
}

/* Tiles of 128 columns, of gate and up or of what gemm2 makes, of so many blocks an expert. */
static int64_t
tiles_of_layer(const kiln_problem *p, int64_t percent)
{
    int64_t wide = 2 * p->n > p->k ? 2 * p->n : p->k;

    return p->tokens * p->topk / load_of(p) * percent * ((wide + 127) / 128) / 100;
}

/* Whether tiles of 128 rows take so many rounds of the compute units at most: few experts, as a
 * device has of many. Several only where experts have three blocks of 64 in place of two of 128,
 * not four (measured). */
static bool
halves_pay(const kiln_problem *p, uint32_t rounds)
{
    enum { THREE = 160 };
    int64_t load = load_of(p), tiles = tiles_of_layer(p, 100 * ((load + 127) / 128));
    int64_t most = rounds > 1 && load > THREE ? 1 : rounds;

    return tiles > 0 && tiles <= most * (int64_t)kn_cus(p);
}

/* Blocks of 32 rows of a hundred experts. Rows of experts that are sent tokens at random lie around
 * the average by one and a half of its root, nearly all of them. */
static int64_t
blocks_of_32(int64_t load)
{
    int64_t spread = 0, percent = 100;

    while (4 * (spread + 1) * (spread + 1) <= 9 * load)
        spread++;
    for (int64_t full = 32; spread && full < load + spread; full += 32)
        percent += full < load - spread ? 100 : 100 * (load + spread - full) / (2 * spread);
    return percent;
}

/* Whether tiles of 32 rows take a round more than one of the compute units, and no more than
 * `apart` of them: most of that round is idle, and those of 64 rows take as long as one. */
static bool
lies_apart(const kiln_problem *p, uint32_t apart)
{
    int64_t tiles = tiles_of_layer(p, blocks_of_32(load_of(p))), cus = (int64_t)kn_cus(p);

    return tiles > cus && tiles <= (int64_t)apart * cus;
}

uint8_t
kn_routed_block(const kiln_problem *given)
{
    int64_t load = load_of(given);
    kiln_problem p = *given; /* before kn_problem_normalise() */
    const struct blocks *b;

    kn_default_types(&p);
    b = blocks_of(&p);
    if (has_few_tiles(&p))
        return 16;
    return load <= b->most16 ? 16 : load <= b->most32 && !lies_apart(&p, b->apart) ? 32
         : load <= b->most64 || halves_pay(&p, b->halves) ? 64 : 128;
}

/* Rounds of tiles of 256 columns over the compute units. Some experts get more rows
 * than the average: `spread`. */
static int64_t
rounds(const kiln_problem *p, int64_t spread, int64_t block)
{
    int64_t many = p->tokens * p->topk / load_of(p), cus = (int64_t)kn_cus(p);
    int64_t each = (load_of(p) + spread + block - 1) / block;

    return (many * each * ((kn_b_columns(p) + 255) / 256) + cus - 1) / cus;
}

/* Ten for what the larger tile has before and behind its loop. */
bool
kn_routed_doubles(struct kn_ctx *c, const kiln_problem *p, const struct kn_config *given)
{
    int64_t load = load_of(p), percent = blocks_of(p)->percent;
    int64_t spread = load < 8 * 48 ? load / 8 : 48;
    kiln_problem q = *p;
    struct kn_config g = *given;

    q.block_m = KILN_BLOCK_256;
    return percent && p->out_scale != KILN_OUT_BLOCK128 &&
           !g.bm && !g.bk && !g.lowering &&
           2 * percent * rounds(p, spread / 2, 256) + 10 <= 100 * rounds(p, spread, 128) &&
           kn_pick_routed(c, &q, &g);
}
