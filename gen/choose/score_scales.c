/* score_scales.c - what scales beside operands ask of memory: of a row a few bytes a K
 * tile, in a line that L1 holds until all of it was used or that is asked for again. */
#include "choose.h"

#include "../instantiate.h"

/* The L1 of the timing model: 32 KB of lines of 128 bytes in sets of four. */
enum { LINE = 128, SETS = 64, WAYS = 4 };

struct lines {
    uint32_t n, in[SETS];    /* in: of each set */
};

/* Lines that rows of `bytes` begin in and reach, `pitch` bytes apart. */
static void
add_rows(struct lines *l, int64_t rows, int64_t pitch, int64_t bytes)
{
    int64_t next = 0;

    for (int64_t r = 0; r < rows; r++)
        for (int64_t at = r * pitch / LINE; at <= (r * pitch + bytes - 1) / LINE; at++)
            if (at >= next) {
                l->in[at % SETS]++;
                l->n++;
                next = at + 1;
            }
}

/* Rows of a tile that there are and that have scales. */
static int64_t
rows_of(const kiln_problem *p, const struct kn_config *g, char operand, bool scales)
{
    int64_t side = operand == 'a' ? g->bm : g->bn;
    int64_t rows = operand == 'a' ? p->m : kn_b_columns(p);
    bool blocks = p->scale == KILN_SCALE_BLOCK128 && operand == 'a';

    if (scales && !blocks && !kn_type_mx[operand == 'a' ? p->a : p->b])
        return 0;
    return rows < side ? rows : side;
}

/* Bytes of a row's scales in a K tile. */
static int64_t
scale_bytes(const kiln_problem *p, const struct kn_config *g)
{
    return kn_mx_scales(p) ? g->bk / kn_scale_k(p)
         : kn_blocks(p) && !p->scale_layout ? g->bk / kn_scale_k(p) * kn_scale_size(p) : 0;
}

/* K tiles whose scales come together, of open slots with those of the row. */
static int64_t
together(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s)
{
    struct kn_config x = *g;
    uint32_t n;

    x.stages = g->stages ? g->stages : s->stages;
    n = kn_widens_scaled(p) ? kn_b_scale_tiles(p, &x)
      : kn_dequant(p) && kn_converts_early(p, &x) ? 256 / g->bk : kn_scale_batch(p, &x);
    return n ? n : 1;
}

double
kn_scale_lines(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s,
               uint32_t beside)
{
    int64_t a = rows_of(p, g, 'a', true), b = rows_of(p, g, 'b', true);
    int64_t each = scale_bytes(p, g), tiles = together(p, g, s);
    struct kn_pitches at = kn_pitches_of(p);
    struct lines own = { 0 }, all;
    double again = 0;

    if (kn_shuffled(p) || !each)
        return (double)(each * (g->bm + g->bn));
    add_rows(&own, a, at.sa, each * tiles);
    add_rows(&own, b, at.sb, each * tiles);
    all = own;
    add_rows(&all, rows_of(p, g, 'a', false), at.a, tiles * g->bk * kn_type_bits[p->a] / 8);
    add_rows(&all, rows_of(p, g, 'b', false), at.b, tiles * g->bk * kn_type_bits[p->b] / 8);
    for (uint32_t i = 0; i < SETS; i++)
        again += all.in[i] * beside > WAYS ? own.in[i] : 0;
    return again * (double)LINE / (double)tiles + (1 - again / own.n) * (double)(each * (a + b));
}
