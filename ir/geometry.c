/* geometry.c - sizes that follow from an LDS tile, a shape and a target: who
 * copies what, how long a slot is, what a fragment holds. */
#include "ir.h"

uint32_t
kn_waves(const struct kn_fn *f)
{
    return f->shape.wm * f->shape.wn;
}

bool
kn_counts_along(const struct kn_fn *f, int32_t axis)
{
    for (size_t i = 0; i < f->nins; i++)
        if (f->ins[i].op == KN_OP_wg && f->ins[i].attr[KN_A_first] == axis)
            return true;
    return false;
}

static uint32_t
div_up(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

const struct kn_convert kn_converts[] = {
#define CONVERT(from, to, up) { KN_T_##from, KN_T_##to, up },
#include "convert.def"
#undef CONVERT
};
const size_t kn_nconverts = sizeof kn_converts / sizeof *kn_converts;

uint32_t
kn_memory_bits(const struct kn_lds *l)
{
    return kn_elems[l->mem ? l->mem : l->elem].bits;
}

bool
kn_is_zeros(const struct kn_lds *l)
{
    return l->kdiv != 1 && l->run && !l->gk;
}

bool
kn_scales_codes(const struct kn_fn *f, const struct kn_lds *l)
{
    return l->kdiv != 1 && l->lk && !l->run && kn_elems[l->elem].bits == 8 &&
           f->shape.tb && kn_elems[f->shape.tb].bits == 16;
}

bool
kn_is_scale_rows(const struct kn_lds *l)
{
    return l->kdiv != 1 && l->mem && !l->gk && !l->run;
}

bool
kn_converts_runs(const struct kn_lds *l)
{
    return l->mem && l->gk;
}

uint32_t
kn_row_k(const struct kn_lds *l)
{
    return l->kdiv == 1 && (l->words == KN_WORDS_GPTQ ||
                            l->words == KN_WORDS_GPTQ2) ? 8 : 1;
}

uint32_t
kn_column_bits(const struct kn_lds *l)
{
    return kn_memory_bits(l) * kn_row_k(l);
}

uint32_t
kn_awq_place(uint32_t column)
{
    return column % 2 * 4 + column / 2;
}

bool
kn_flips_columns(const struct kn_fn *f, const struct kn_lds *l)
{
    uint32_t sums = f->shape.bm * f->shape.bn / (kn_waves(f) * 64);

    return l->words == KN_WORDS_AWQ && !l->mem && l->kdiv == 1 && sums < 80;
}

uint32_t
kn_column_flip(uint32_t outer)
{
    return (outer >> 1 & 1) | (outer & 4);
}

bool
kn_quantised(const struct kn_lds *l)
{
    return l->mem && kn_elems[l->mem].bits == 16 && kn_elems[l->elem].bits <= 8;
}

bool
kn_folds(const struct kn_lds *l)
{
    return l->gk && l->kdiv == 1 && l->mem && kn_elems[l->mem].bits < 8 &&
           l->elem == KN_T_fp8 && l->run == (kn_elems[l->mem].bits == 6 ? KN_FOLD / 2 : KN_FOLD);
}

/* Long rows along K whose lanes side by side are so in memory, 16 bytes each, within
 * a row of 16 lanes: a dword is had from the lane before. Of rows that are converted
 * 128 sums a lane of eight waves leave no register for those of the K tile before. */
static bool
from_neighbour(const struct kn_fn *f, const struct kn_lds *l, const struct kn_geom *g)
{
    uint32_t lanes = kn_pieces_of_row(g), threads = kn_waves(f) * 64;
    bool tight = threads > 256 && f->shape.bm * f->shape.bn / threads >= 128;

    return l->gk && l->lk && g->mem == 16 && lanes && 16 % lanes == 0 &&
           (!l->mem || (l->kdiv == 1 && l->unit == 16 && !kn_quantised(l) &&
                        !kn_in_terms(l) && !tight));
}

uint32_t
kn_pieces_of_row(const struct kn_geom *g)
{
    return g->halves ? g->per / 2 : g->run ? g->per : g->cpr;
}

/* A converted tile's lane moves 16 elements at a time, or as many as run=
 * says, of 16 that are quantised 8 from each half of a row, or a short row's
 * scales. With run= those of some K tiles of the row of such a run stay in its
 * registers, or the zero point of the run. */
static struct kn_geom
converted(const struct kn_fn *f, const struct kn_lds *l, struct kn_geom g)
{
    uint32_t threads = kn_waves(f) * 64;
    bool kept = l->kdiv != 1 && l->run;
    uint32_t bits = kn_memory_bits(l);

    g.halves = l->run == 16 && kn_quantised(l);
    g.run = g.halves ? 8 : l->run ? l->run : kn_in_terms(l) ? 4 : l->kdiv == 1 ? 16
          : l->cols % 4 == 0 ? 4 : l->cols % 2 == 0 ? 2 : 1;
    g.mem = (kept ? l->cols : g.run) * bits / 8;
    if (kn_is_zeros(l))      /* one, in whole bytes */
        g.mem = (bits + 7) / 8;
    g.per = (kept ? f->shape.bk : l->cols) / g.run;
    g.nchunks = l->rows * g.per;
    g.steps = div_up(g.nchunks, threads);
    g.bytes = kept ? 0 : g.steps * threads * g.run * kn_elems[l->elem].bits / 8;
    g.own = l->unaligned && !from_neighbour(f, l, &g);
    return g;
}

/* The operand that a tile is, or whose runs it has the factors of (run=), in registers. */
static const struct kn_lds *
operand_of(const struct kn_fn *f, const struct kn_lds *l)
{
    for (size_t i = 0; i < f->nlds && l->kdiv != 1 && l->run; i++)
        if (f->lds[i].side == l->side && f->lds[i].kdiv == 1)
            return &f->lds[i];
    return l;
}

/* Eight lanes write 16 bytes of runs of 64: two of each of four rows. Sixteen write 8 bytes of
 * what becomes 8 bits, halves of chunks that are in each other's place in every other row:
 * those of all chunks of 128 bytes of two rows, of runs of two chunks of four. (Codes that
 * are not folded are fewer a clock; it makes no difference.) */
static struct kn_lane_order
order_of_lanes(const struct kn_lds *x, const struct kn_geom *g)
{
    uint32_t chunks = g->run * kn_elems[x->elem].bits / 128;

    if (!kn_folds(x))
        return (struct kn_lane_order){ .per = g->per, .along = 1, .rows = chunks == 4 ? 2 : 0,
                                       .from = g->pitch == 128 };    /* two rows are all banks */
    return (struct kn_lane_order){ .per = g->per, .along = chunks == 2 ? 2 : 3,
                                   .rows = g->pitch < 256 || chunks > 2 ? 0 : chunks };
}

struct kn_lane_order
kn_run_order(const struct kn_fn *f, const struct kn_lds *l)
{
    const struct kn_lds *x = operand_of(f, l);
    struct kn_geom g = kn_geometry(f, x);
    struct kn_lane_order in_order = { .per = kn_geometry(f, l).per };
    struct kn_lane_order o = order_of_lanes(x, &g);

    return x->kdiv == 1 && kn_converts_runs(x) && x->lk && !kn_quantised(x) && !kn_in_terms(x) &&
           !x->unaligned && o.rows && in_order.per == g.per && g.per > 1 &&
           !(g.per & (g.per - 1)) && g.pitch >= 128 && g.nchunks % (g.per << (o.from + o.rows)) == 0
               ? o : in_order;
}

void
kn_run_place(const struct kn_lane_order *o, uint32_t id, uint32_t *row, uint32_t *run)
{
    uint32_t rest = id >> (o->along + o->rows), left = o->per >> o->along;
    uint32_t mid = id >> o->along & ((1u << o->rows) - 1), low = rest / left;

    *run = (id & ((1u << o->along) - 1)) + (rest % left << o->along);
    *row = (low & ((1u << o->from) - 1)) + (mid << o->from) +
           (low >> o->from << (o->from + o->rows));
}

/* Blocks side by side along K: each is another row in memory, whose lines a load asks for, so
 * few, though more would meet in fewer banks; more where a wave has all rows of the tile. */
static uint32_t
few_blocks(const struct kn_geom *g, uint32_t bytes, uint32_t outers)
{
    uint32_t n = bytes < 8 ? g->pb : 2;

    while (bytes < 16 && 2 * n * outers <= 64 && n < 8 * g->pb / bytes)
        n *= 2;
    return n;
}

/* LDS takes writes of 128 bytes at a time: 16 bytes of eight lanes, 4 of 32. Their rows are pb
 * apart and a swizzle has three bits of the row, so with two blocks along K, of shorter runs some
 * more, they are in different banks, or two by two. Eight columns of a word (AWQ) are all three
 * bits: four lanes are side by side along K (1024x7168x8448, tile 128x128x128 on gfx950, by
 * 1, 2, 4 and 8 of them: 356, 301, 287, 297 us predicted). */
static void
place_blocks(const struct kn_lds *l, uint32_t cols, uint32_t bits,
             struct kn_geom *g)
{
    uint32_t outers = l->rows / g->pb, along = cols / g->kb, bytes = g->kb * bits / 8;
    bool plain = !l->mem && !l->words;
    uint32_t kn = plain ? few_blocks(g, bytes, outers)
                : kn_in_terms(l) ? 2 : g->pb == 8 ? 4 : 1;
    bool apart = kn > 1 && (bytes == 16 || plain) && along % kn == 0 &&
                 outers % (128 / bytes / kn) == 0;

    g->kn = apart ? kn : 1;
    g->pn = apart ? 128 / bytes / kn : outers;
    if (!l->mem && l->words && g->pb == 8 && along % 4 == 0 && outers % 8 == 0) {
        g->kn = 4;           /* dwords of every eighth row */
        g->pn = outers % 16 ? 8 : 16;
    }
}

void
kn_block_place(const struct kn_lds *l, const struct kn_geom *g, uint32_t id,
               uint32_t *k, uint32_t *outer)
{
    uint32_t groups = l->rows / g->pb / g->pn, high = id / g->pn / g->kn;

    *outer = high % groups * g->pn + id % g->pn;
    *k = high / groups * g->kn + id / g->pn % g->kn;
}

/* A lane's block of a K-outer tile of cols K, elements of mem bits: kb K, a 16-byte
 * run of them or less of it when that leaves threads without a block, of a dword of
 * columns, of f64 of 16 bytes. */
static void
turned(const struct kn_fn *f, const struct kn_lds *l, uint32_t cols,
       uint32_t mem, struct kn_geom *g)
{
    uint32_t threads = kn_waves(f) * 64;
    bool column = l->words == KN_WORDS_GPTQ || l->words == KN_WORDS_GPTQ2;

    g->kb = 128 / mem;
    g->pb = column ? 1 : mem > 32 ? 128 / mem : 32 / mem;
    while (l->rows / g->pb * (cols / g->kb) % threads && g->kb * mem > 32 &&
           g->kb > 1 && !kn_in_terms(l))
        g->kb /= 2;
    g->mem = mem > 32 ? 16 : 4;
    g->nchunks = l->rows / g->pb * (cols / g->kb);
    g->steps = div_up(g->nchunks, threads);
}

/* The zero points of each block of the words that they are of: a dword, or f16. */
static struct kn_geom
zero_words(const struct kn_fn *f, const struct kn_lds *l, struct kn_geom g)
{
    turned(f, l, f->shape.bk, kn_elems[KN_T_i4].bits, &g);
    place_blocks(l, f->shape.bk, kn_elems[f->shape.tb].bits, &g);
    g.mem = kn_memory_bits(l) < 8 ? 4 : g.pb * kn_memory_bits(l) / 8;
    g.bytes = 0;
    return g;
}

/* Of a K block the scales of some columns, a dword in memory or one scale. */
static struct kn_geom
scale_rows(const struct kn_fn *f, const struct kn_lds *l, struct kn_geom g)
{
    uint32_t threads = kn_waves(f) * 64, bits = kn_memory_bits(l);

    g.run = l->unit >= 4 ? 32 / bits : 1;
    g.mem = g.run * bits / 8;
    g.per = l->rows / g.run;
    g.nchunks = l->cols * g.per;
    g.steps = div_up(g.nchunks, threads);
    g.bytes = g.steps * threads * g.run * kn_elems[l->elem].bits / 8;
    return g;
}

uint32_t
kn_abreast_rows(const struct kn_fn *f, const struct kn_geom *g)
{
    return g->abreast * kn_waves(f);
}

/* A load of its own for the dword behind a row asks for a line a row, as it does where the
 * row's last lane is asked for it. LDS has room for all rows of the last step, so few rows
 * behind the tile are worth a step of a sixteenth of it, in little more registers than those
 * dwords took (measured). */
static void
lay_abreast(const struct kn_fn *f, const struct kn_lds *l, struct kn_geom *g)
{
    uint32_t waves = kn_waves(f), most = (5 * g->steps + 8) / 4, best = UINT32_MAX;

    if (!g->own || l->gk || l->mem || l->kdiv != 1 || g->chunk != 16)
        return;
    for (uint32_t rows = 64 / (g->cpr + 1); rows; rows--) {
        uint32_t steps = div_up(g->lrows, rows * waves);
        uint32_t cost = steps * (rows * waves + g->lrows / 16);

        if (steps > most || cost >= best)
            continue;
        best = cost;
        g->abreast = rows;
        g->steps = steps;
    }
    if (!g->abreast)
        return;
    g->pitch += g->chunk;
    g->bytes = g->steps * g->abreast * waves * g->pitch;
}

struct kn_geom
kn_geometry(const struct kn_fn *f, const struct kn_lds *l)
{
    uint32_t bits = kn_elems[l->elem].bits, threads = kn_waves(f) * 64;
    struct kn_geom g = { 0 };

    g.lrows = l->lk ? l->rows : l->cols;
    g.pitch = l->line ? KN_LINE : (l->lk ? l->cols : l->rows) * bits / 8;
    if (l->shuf) {           /* a row of LDS is 32 rows of scales */
        g.lrows /= 32;
        g.pitch *= 32;
    }
    g.chunk = g.pitch % 16 == 0 ? 16 : g.pitch % 4 == 0 ? 4
            : g.pitch % 2 == 0 ? 2 : 1;
    if (l->kdiv != 1 && !l->gk && !l->lk)
        g.chunk = bits / 8;  /* scales of rows that start anywhere */
    g.transpose = !l->gk && l->lk;
    g.cpr = g.pitch / g.chunk;
    g.nchunks = g.lrows * g.cpr;
    g.mem = g.chunk;
    g.own = l->unaligned && !from_neighbour(f, l, &g);
    if (kn_is_zeros(l) && l->words)
        return zero_words(f, l, g);
    if ((l->mem && l->gk) || kn_is_zeros(l))
        return converted(f, l, g);
    if (kn_is_scale_rows(l))
        return scale_rows(f, l, g);
    if (g.transpose) {
        turned(f, l, l->cols, kn_memory_bits(l), &g);
        place_blocks(l, l->cols, bits, &g);
        g.bytes = g.steps * threads * g.kb * bits / 8 * g.pb;
        return g;
    }
    g.steps = div_up(g.nchunks, threads);
    g.bytes = g.steps * threads * g.chunk;
    lay_abreast(f, l, &g);
    return g;
}

bool
kn_may_flip(const struct kn_fn *f, const struct kn_lds *l)
{
    return kn_converts_runs(l) && l->kdiv == 1 && l->lk && !kn_in_terms(l) &&
           !kn_quantised(l) && kn_geometry(f, l).chunk == 16;
}

uint64_t
kn_lds_bytes(const struct kn_fn *f)
{
    uint64_t n = 0;

    for (size_t i = 0; i < f->nlds; i++)
        n += (uint64_t)f->lds[i].slots * kn_geometry(f, &f->lds[i]).bytes;
    return n;
}

/* What LDS, and sums that fill half of the 512 registers of a lane, leave of
 * two (hw: LLVM AMDGPUUsage, gfx90a unified register file). */
uint32_t
kn_waves_per_simd(const struct kn_fn *f)
{
    const struct kn_shape *s = &f->shape;
    uint64_t lds = kn_lds_bytes(f);
    uint64_t groups = lds ? kn_targets[f->target].lds / lds : 2;
    uint32_t sums = s->bm * s->bn / (kn_waves(f) * 64) * kn_sum_dwords(f);
    uint32_t own = (kn_waves(f) + 3) / 4; /* of one workgroup */

    if (own < 2 && groups * kn_waves(f) / 4 >= 2 && sums < 256)
        return 2;
    return own;
}

uint32_t
kn_sum_dwords(const struct kn_fn *f)
{
    return f->shape.mfma < 0 ? 1 : kn_elems[kn_mfmas[f->shape.mfma].acc].bits / 32u;
}

uint32_t
kn_fragment_row(const struct kn_fn *f, int side, uint32_t lane)
{
    return side == 'b' && kn_sum_dwords(f) == 2 ? lane % 4 * 4 + lane / 4 : lane;
}

bool
kn_mfma_takes(const struct kn_mfma_info *m, int a, int b)
{
    if (m->a == KN_T_b1)
        return kn_elems[a].mx >= 0 && kn_elems[b].mx >= 0;
    if (a == KN_T_f32 && b == KN_T_f32)
        return m->a == m->b &&
               (m->a == KN_T_f32 || m->a == KN_T_xf32 || m->a == KN_T_bf16);
    if (a == KN_T_bf16s && b == KN_T_bf16s)
        return m->a == KN_T_bf16 && m->b == KN_T_bf16;
    return m->a == a && m->b == b;
}

bool
kn_splits(const struct kn_fn *f)
{
    return f->shape.ta == KN_T_bf16s ||
           (f->shape.ta == KN_T_f32 && kn_mfmas[f->shape.mfma].a == KN_T_bf16);
}

bool
kn_in_terms(const struct kn_lds *l)
{
    return l->elem == KN_T_bf16s;
}

uint32_t
kn_term_bytes(const struct kn_lds *l)
{
    return kn_in_terms(l) ? 8 : 16;
}

struct kn_frag
kn_fragment(const struct kn_fn *f, int side)
{
    const struct kn_shape *s = &f->shape;
    const struct kn_mfma_info *m = &kn_mfmas[s->mfma];
    uint32_t bits = kn_elems[side == 'a' ? s->ta : s->tb].bits;
    struct kn_frag r = { 0 };

    r.count = side == 'a' ? s->bm / s->wm / m->mi : s->bn / s->wn / m->mi;
    if (m->a == KN_T_b1) {
        r.sub = 1;
        r.bytes = m->k * bits / 8 / 4;
    } else {
        r.sub = 4u / m->regs_ab;
        if (s->block && r.sub * m->k > s->block)
            r.sub = s->block / m->k;
        r.bytes = m->k * bits / 8 / 4 * r.sub;
    }
    r.k = m->k * r.sub;
    r.ksteps = s->bk / r.k;
    return r;
}

enum { FEW_SUMS = 16, MOST_OF_FEW = 8, MOST_OF_MANY = 16 };

uint32_t
kn_even_slice(uint32_t rows, uint32_t across, uint32_t slices)
{
    uint32_t all = rows * across, equal = div_up(all, slices);
    uint32_t most = all > FEW_SUMS ? MOST_OF_MANY : MOST_OF_FEW;

    for (uint32_t n = equal; n <= most && 3 * n <= 4 * equal; n++)
        if (all % n == 0 && (n % across == 0 || across % n == 0))
            return n;
    return 0;
}
