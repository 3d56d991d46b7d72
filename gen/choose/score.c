/* score.c - from a row of scores.def to the time of a launch: rounds, what
 * workgroups share in L2 and memory, the clock at this load. */
#include "choose.h"

#include <math.h>
#include <string.h>

#include "../forms.h"
#include "../instantiate.h"
#include "../panels.h"

#define CHIP(...)

const struct kn_score kn_scores[] = {
#define SCORE(target, class, layout, schedule, bm, bn, bk, wm, wn, how,      \
              stages, residents, near, far, full, before, after, fixed, mfma) \
    { KILN_##target, KN_CLASS_##class, KILN_##layout, KN_SCHED_##schedule,   \
      bm, bn, bk, wm, wn, (how) == 1, (how) == 2, stages, residents, near,   \
      far, full, before, after, fixed, mfma },
#include "scores.def"
#undef SCORE
#undef CHIP
};
const size_t kn_nscores = sizeof kn_scores / sizeof *kn_scores;

/* ---- the chip (runtime/sim/timing/timing.def) --------------------------- */

#define SCORE(...)

static const struct chip {
    double cus, xcds, fmax, l2_read, l2_write, mall_read, hbm_read,
        hbm_write, mall_latency, hbm_latency, hbm_queue, launch,
        clock_low, clock16_base, clock16_slope, clock8_base,
        clock8_slope, clock4_base, clock4_slope, vmem_stream;
} chips[KILN_NTARGETS] = {
#define CHIP(target, ...) [KILN_##target] = { __VA_ARGS__ },
#include "scores.def"
#undef CHIP
#undef SCORE
};

/* ---- a launch ----------------------------------------------------------- */

struct launch {
    const struct chip *c;
    const struct kn_score *s;
    double tm, tn, many;     /* tiles of a product, products */
    double groups;           /* workgroups */
    double turns;            /* K tiles of each */
    double shares, sum;      /* sum: bytes of one */
    bool slices;             /* each share sums one */
    double strips;           /* waves of a row wider than a tile, with one scale; 0: none */
    bool meet;               /* each makes its own codes */
    double wait;             /* of 1, what tiles wait for those of a later round */
    double read, aligned;    /* bytes of lines of a K tile; if rows began at lines */
    double written, exposed; /* of a tile; what of it no walk hides in its loop */
    double added;            /* of C, that a tile is added to */
    double singly;           /* clocks that storing an element a lane adds */
    double clipped, lookup;  /* clocks that a K tile adds that ends behind K; of a tile's group */
    double bits_a, bits_b;   /* of a row and a column of a tile */
    double all, xcds;        /* compute units and chiplets of the device */
    double cus;              /* busy; those with fewer workgroups in part */
    double l2_miss, hbm;
    double ghz, rate;        /* rate: bytes a clock of a busy CU */
    double slower;           /* K tiles, for where rows begin */
    bool apart;              /* several products of few rows, which share nothing */
    bool ragged;             /* rows of groups, whose tiles dies have in runs */
    bool turned;             /* `4-wave` through registers, which transpose an operand */
    bool alike;              /* workgroups of a compute unit: rows and share of K */
    int width;               /* of the matrix instructions' power: 0 16 bits */
};

static double
least(double a, double b)
{
    return a < b ? a : b;
}

static double
most(double a, double b)
{
    return a > b ? a : b;
}

/* Rows and columns of tiles that `n` workgroups one after the other have:
 * bands of group_m rows, the shares of a tile beside each other. */
static void
spread(const struct launch *l, const struct kn_config *g, double n,
       double *rows, double *cols)
{
    double band = least(g->group_m ? g->group_m : 4, l->tm), per;

    n = ceil(n / l->shares);
    per = l->tm * l->tn;
    *rows = *cols = 0;
    if (n >= per) {
        *rows = floor(n / per) * l->tm;
        *cols = floor(n / per) * l->tn;
        n -= floor(n / per) * per;
    }
    if (n >= band * l->tn) {
        *rows += ceil(n / l->tn);
        *cols += l->tn;
    } else if (n > 0) {
        *rows += least(band, n);
        *cols += ceil(n / band);
    }
}

/* Lines of a chiplet and of the chip over those of the compute units, of the
 * workgroups that run at once. A chiplet has a run of the tiles, of a large
 * launch in other rows than the next. */
static void
find_reuse(struct launch *l, const struct kn_config *g)
{
    double xcds = l->xcds, slots = l->all * l->s->residents;
    double n = least(l->groups, slots), rows, cols;
    double each = l->bits_a + l->bits_b, door, own, all;

    spread(l, g, ceil(n / xcds), &rows, &cols);
    door = ceil(n / xcds / l->shares) * each;
    own = rows * l->bits_a + cols * l->bits_b;
    l->l2_miss = own / door;
    all = least(xcds * rows, l->tm * l->many) * l->bits_a +
          least(xcds * cols, l->tn * l->many) * l->bits_b;
    if (l->groups <= slots) {
        spread(l, g, n, &rows, &cols);
        all = least(all, rows * l->bits_a + cols * l->bits_b);
    } else if (l->many <= 1) {
        cols = most(most(cols, l->tn / 2),
                    n / l->shares / least(xcds * rows, l->tm));
        all = least(all, xcds * rows * l->bits_a + cols * l->bits_b);
    }
    l->hbm = least(1, all / (door * least(xcds, n)));
    l->l2_miss = least(1, most(l->l2_miss, l->hbm));
}

/* The model counts the lines that k workgroups of a compute unit share once when
 * it finds what comes from memory, and loads them for each. */
static double
asked_twice(const struct launch *l, double k)
{
    return l->alike ? k * (l->bits_a + l->bits_b) / (l->bits_a + k * l->bits_b) : 1;
}

/* Of the lines more where rows begin inside them, what a loop waits for (docs/choosing.md), of
 * one that the matrix pipes bound none of it but of `4-wave` whose operands go through registers,
 * transposed (600 launches on gfx942). */
#define INSIDE 0.7
#define INSIDE_TURNED 1.1

#define L1 32768.0          /* bytes */
enum { FEW_ROWS = 64 };     /* of a product */

/* Bytes of a K tile from memory; of products apart LDS gets lines that two K tiles have twice. */
static double
far_lines(const struct launch *l, double k)
{
    bool twice = l->apart && kn_schedules[l->s->schedule].reads != KN_READS_MEMORY;

    return twice && k * l->read > L1 ? l->read : l->aligned;
}

/* Clocks of a K tile of k workgroups on a compute unit. A loop that the matrix
 * pipes bound hides some latency. */
static double
turn(const struct launch *l, double k)
{
    const struct chip *c = l->c;
    const struct kn_score *s = l->s;
    double cus = l->cus, ghz = l->ghz, read = least(64, c->l2_read * l->xcds / cus);
    double near = c->mall_latency, span = c->hbm_latency - near;
    double traffic = l->rate * cus * l->hbm * ghz / 1e3;
    double wait = c->hbm_latency + least(1, traffic / c->hbm_read) * c->hbm_queue;
    double far = (wait * ghz / c->fmax - near) / span;
    double alone = s->near + most(0, s->far - s->near) *
                             (s->near < 1.1 * s->mfma ? far * far : far);
    double shared = s->full * alone / s->far, one, twice = asked_twice(l, k);
    double miss = c->mall_read * 1e3 / ghz / cus / (l->l2_miss * twice);

    read = least(read, c->vmem_stream / (wait * ghz));
    miss = least(miss, c->hbm_read * 1e3 / ghz / cus / (l->hbm * twice));
    one = s->residents > 1 ? alone + (shared - alone) * (k - 1) / (s->residents - 1)
                           : alone;
    if (l->turned || s->near >= 1.1 * s->mfma)
        one += (l->turned ? INSIDE_TURNED : INSIDE) * k * (l->read - l->aligned) / read;
    one = most(one * l->slower, s->mfma * k);
    return most(one, k * most(l->read / read, far_lines(l, k) / miss));
}

/* Clocks before, between and after. */
static double
around(const struct launch *l, double k)
{
    const struct chip *c = l->c;
    const struct kn_score *s = l->s;
    double write = least(64, c->l2_write * l->xcds / l->cus);
    double alone = s->before + s->after, one = alone;

    write = least(write, c->hbm_write * 1e3 / l->ghz / l->cus);
    if (s->residents > 1)
        one = alone + (s->fixed - alone) * (k - 1) / (s->residents - 1);
    if (l->added > 0)
        one += c->hbm_latency * l->ghz +
               k * l->added / least(64, c->hbm_read * 1e3 / l->ghz / l->cus);
    return one + l->lookup + k * (l->written * (1 / write - 1.0 / 64) + l->singly + l->clipped);
}

/* Walks whose stores the next tile waits for: what is around a loop was measured with those of
 * 16 bits in launches that fill the device, of four K tiles, which hid some: unless converted no
 * less than all stores and a K tile. Few tiles that are left are one of a compute unit. */
static double
walk_cycles(struct launch *l, const struct kn_config *g)
{
    const struct kn_score *s = l->s;
    double slots = l->all * s->residents, rounds = floor(l->groups / slots);
    double left = l->groups - rounds * slots, k = s->residents;
    double write = least(l->c->l2_write * l->xcds, l->c->hbm_write * 1e3 / l->ghz) / l->all;
    double more = (l->written - 2.0 * g->bm * g->bn) / write + l->singly + l->clipped, round;

    if (left > l->all)
        rounds++;
    l->rate = k * l->read / turn(l, k);
    round = most(l->turns * turn(l, k) + s->fixed + k * more, k * l->exposed / write + turn(l, 1));
    return s->before + rounds * round +
           (left > 0 && left <= l->all ? l->turns * turn(l, 1) + around(l, 1) : 0);
}

static double
cycles_of(struct launch *l, const struct kn_config *g)
{
    const struct kn_score *s = l->s;
    double cus = l->all, slots = cus * s->residents;
    double full = floor(l->groups / slots);
    double left = ceil((l->groups - full * slots) / cus), sum = 0, k;

    if (s->walks && !kn_targets[s->target].walks)
        return walk_cycles(l, g);
    if (s->walks) {
        k = ceil(l->groups / cus);
        sum = k * l->turns * turn(l, 1) + around(l, 1) +
              (k - 1) * most(s->fixed, around(l, 1) - s->before - s->after - l->clipped);
        l->rate = l->read / turn(l, 1);
        return sum;
    }
    k = full > 0 ? s->residents : left;
    if (left > 0) {
        if (full <= 0 || left < s->residents)
            l->cus = most(1, (l->groups - full * slots) / left);
        sum = l->turns * turn(l, left) + around(l, left);
    }
    if (full > 0) {
        l->cus = cus;
        sum += full * (l->turns * turn(l, k) + around(l, k));
    }
    l->rate = k * l->read / turn(l, k);
    return sum;
}

static double
clock_at(const struct launch *l, double duty)
{
    const struct chip *c = l->c;
    double base[] = { c->clock16_base, c->clock8_base, c->clock4_base };
    double slope[] = { c->clock16_slope, c->clock8_slope, c->clock4_slope };

    return least(c->fmax, most(c->fmax - c->clock_low * duty,
                               base[l->width] - slope[l->width] * duty));
}

/* A share writes its sums, the last one reads and adds them all: by what memory gives all
 * compute units at once, or fewer, each as much as it streams. Of slices all but its own and
 * from all others one, when they have met, which takes instructions for each; eight waves
 * of four blocks, which rows by lines were measured with and others are refined to, sooner (six
 * tiles). Of two and three blocks slices take no longer than the last. */
#define EIGHT_MEET 0.8
#define FOUR_EACH (64 * 128)

static double
joining(const struct launch *l, const struct kn_config *g)
{
    double area = l->sum * g->bm * g->bn, more = l->all / least(l->all, l->groups);
    double read = most(20, l->c->vmem_stream / (l->c->hbm_latency * l->ghz));
    double write = l->c->hbm_write * 1e3 / l->ghz / l->all * more;
    double part = l->s->lines && g->wm * g->wn == 8 && g->bm * g->bn >= FOUR_EACH ? EIGHT_MEET : 1;
    double last = 2500 + area / least(64, 16 * more) + l->shares * area / least(read, 20 * more);

    if (l->shares < 2)
        return 0;
    if (!l->slices)
        return last;
    return least(last, part * (3400 + most(220 * (l->shares - 8), area * (1 - 1 / l->shares) *
                                           (1 / least(64, write) + 1 / read))));
}

/* Codes of rows wider than a tile, beside all other cycles: of waves that meet, or of sums
 * that are written and read, at the end a wave's whole rows, 256 columns at a time. As
 * `kilnc time` predicts them: 1 to 512 strips, 32x32 to 256x256 tiles. */
static double
panels(const struct launch *l, const struct kn_config *g, double cycles)
{
    double area = g->bm * g->bn, rounds = ceil(l->groups / (l->all * l->s->residents));
    double beside = l->strips > (double)KN_FEW_STRIPS ? 0.5 + g->wn / 2.0 : g->wn; /* reads */

    if (l->strips <= 0)
        return 0;
    return l->meet ? cycles * l->wait + rounds * (4800 + g->bm * l->strips / 5.5 * beside)
                   : rounds * (4000 + area) + l->tn * g->bn / 256 * 3000;
}

static double
time_of(struct launch *l, const struct kn_config *g)
{
    double cycles = 0, rounds;

    l->ghz = l->c->fmax;
    l->rate = 20;
    find_reuse(l, g);
    rounds = ceil(l->groups / (l->all * l->s->residents));
    for (int again = 0; again < 3; again++) {
        cycles = cycles_of(l, g) + rounds * joining(l, g);
        cycles += panels(l, g, cycles);
        l->ghz = clock_at(l, l->s->mfma * l->turns * l->groups / l->all /
                             cycles);
    }
    return cycles / l->ghz / 1e3 + l->c->launch;
}

uint32_t
kn_score_beside(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s)
{
    uint64_t cus = kn_cus(p), n = kn_tiles_of(p, g->bm, g->bn);

    n = (n * (g->split_k ? g->split_k : 1) + cus - 1) / cus;
    return n < 1 ? 1 : n < s->residents ? (uint32_t)n : s->residents;
}

/* Whether the tile is stored through LDS where N or C is not aligned, as far as
 * the bytes of the operands tell (choose.c decides). */
static bool
stores_by_lds(const kiln_problem *p, const struct kn_config *g,
              const struct kn_score *s)
{
    uint32_t waves = 16 * g->wm * (4 * g->bn + 64 * g->wn);
    uint32_t slots = kn_filled_stages(p, g, s->stages) * g->bk *
                     (g->bm * kn_type_bits[p->a] + g->bn * kn_type_bits[p->b]) / 8;
    uint32_t scales = kn_mx_scales(p) ? 1024 / (uint32_t)kn_scale_k(p) * (g->bm + g->bn) : 0;

    return g->split_k < 2 && kn_runs_pay(p, g) &&
           kn_score_beside(p, g, s) * (waves + slots + scales) <=
               kn_targets[p->target].lds;
}

/* Clocks that an element a lane adds to the stores of a tile, measured on tiles
 * from 16x64 to 256x256: all lanes of one element, or runs of 64 out of LDS; of four at any
 * byte 0.02 to 0.1, with C that is read so as well 0.06 to 0.35. */
static double
singly(const kiln_problem *p, const struct kn_config *g,
       const struct kn_score *s)
{
    double each = stores_by_lds(p, g, s) ? 0.2
                : kn_type_bits[p->out] > 16 ? 0.55 : 0.43;

    if (!kn_stores_singly(p, g))
        each = p->beta ? 0.13 : 0.02;
    return g->domain.vec == 1 ? each * g->bm * least(kn_tile_columns(p, g), (double)p->n) : 0;
}

/* Whether the workgroups of a compute unit share rows and their part of K: not those of products
 * of few rows and fewer tiles than are between two of them, dealt as choose_map() has it. */
static bool
are_alike(const struct launch *l, const struct kn_config *g)
{
    double each = l->all / l->xcds, run = 8 * (g->group_m ? g->group_m : 4) * l->xcds;
    double tiles = l->tm * l->tn * l->shares;
    bool runs = l->ragged && tiles * l->many >= run;

    return (uint64_t)each % (uint64_t)l->shares == 0 && (!l->apart || tiles > (runs ? run : each));
}

/* tm: rows of tiles of each product. */
static struct launch
launch_of(const kiln_problem *p, const struct kn_config *g,
          const struct kn_score *s, double tm)
{
    int64_t many = p->groups ? p->groups : p->batch > 1 ? p->batch : 1;
    char ragged = kn_family_of(p)->ragged;
    int64_t m = ragged == 'm' ? (p->m + many - 1) / many : p->m;
    int64_t k = ragged == 'k' ? (p->k + many - 1) / many : p->k;
    struct launch l = { .c = &chips[p->target], .s = s };
    double share_k = kn_share_k(p, g), scales;

    l.tm = tm;
    l.tn = ceil((double)p->n / kn_tile_columns(p, g));
    l.many = (double)many;
    l.shares = g->split_k ? g->split_k : 1;
    l.slices = kn_joins_slices(p, g);
    l.strips = kn_panels(p, g) ? kn_panel_strips(p, g) : 0;
    l.meet = g->join == KN_JOIN_ALL;
    l.wait = l.strips > 0 && l.meet ? kn_panels_wait(p, g, s->residents) : 0;
    l.sum = kn_sum_size(p);
    l.groups = ceil(l.tm * l.tn * l.many) * l.shares;
    l.turns = ceil(ceil((double)k / g->bk) / l.shares);
    if (l.shares > 1)
        l.turns = ceil(ceil((double)k / share_k) / l.shares) * share_k / g->bk;
    l.bits_a = least((double)m, g->bm) * kn_type_bits[p->a];
    l.bits_b = least((double)kn_b_columns(p), g->bn) * kn_type_bits[p->b];
    l.written = (double)least((double)m, g->bm) *
                least((double)p->n, kn_tile_columns(p, g)) *
                kn_type_bits[p->out] / 8;
    if (l.slices)
        l.written /= l.shares; /* each stores its own */
    l.exposed = kn_multiplies_blocks(p) ? 0 : l.written;
    l.added = p->beta ? l.written : 0;
    l.singly = singly(p, g, s);
    l.clipped = kn_rows_clipped(p, g, s, 'a') + kn_rows_clipped(p, g, s, 'b');
    l.lookup = s->walks ? 0 : kn_lookup_clocks(p); /* beside the last tile */
    l.all = kn_cus(p);
    l.xcds = kn_xcds(p);
    l.read = (l.bits_a * kn_row_lines(p, 'a', g, s) +
              l.bits_b * kn_row_lines(p, 'b', g, s)) * g->bk / 8;
    l.bits_a *= kn_row_lines(p, 'a', g, NULL);
    l.bits_b *= kn_row_lines(p, 'b', g, NULL);
    l.aligned = (l.bits_a + l.bits_b) * g->bk / 8;
    scales = kn_scale_lines(p, g, s, kn_score_beside(p, g, s));
    l.read += scales;
    l.aligned += scales;
    l.cus = least(l.all, l.groups);
    l.width = kn_class_power(s->class);
    l.slower = kn_rows_slower(p, g, s);
    l.apart = many > 1 && m <= FEW_ROWS && ragged != 'k' && !kn_multiplies_blocks(p) &&
              !kn_blocks(p);
    l.ragged = ragged == 'm';
    l.turned = p->layout != KILN_NT && kn_targets[p->target].dma < 16 &&
               kn_schedules[s->schedule].reads == KN_READS_TILE;
    l.alike = are_alike(&l, g);
    return l;
}

/* Of split_after the whole rounds, and behind them the shares of the others. */
static double
rounds_time(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s, double tm)
{
    struct launch l = launch_of(p, g, s, tm), whole;
    struct kn_config one = *g;

    if (!g->split_after)
        return time_of(&l, g);
    one.split_k = 1;
    whole = launch_of(p, &one, s, tm);
    whole.groups -= (double)kn_last_round(g, (uint64_t)whole.groups);
    l.groups -= whole.groups * l.shares;
    l.cus = least(l.all, l.groups);
    return (whole.groups > 0 ? time_of(&whole, &one) : l.c->launch) +
           (l.groups > 0 ? time_of(&l, g) - l.c->launch : 0);
}

/* With waves of wide rows that meet, or no time, and with codes that are left to the last;
 * no time either where only the former can be. */
static void
panel_times(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s,
            double tm, double us[2])
{
    struct kn_config meet = *g;
    bool always;

    kn_map_panels(p, &meet, s->residents);
    always = meet.join == KN_JOIN_ALL && (p->out_scale != KILN_OUT_ROW ||
                                          kn_panels_wait(p, &meet, s->residents) <= 0);
    us[0] = meet.join == KN_JOIN_ALL ? rounds_time(p, &meet, s, tm) : HUGE_VAL;
    us[1] = always ? HUGE_VAL : rounds_time(p, g, s, tm);
}

static double
least_time(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s,
           double tm)
{
    double us[2];

    if (!kn_panels(p, g))
        return rounds_time(p, g, s, tm);
    panel_times(p, g, s, tm, us);
    return least(us[0], us[1]);
}

/* Tiles that the rows of a product fill; of groups of rows their average. */
static double
tile_rows(const kiln_problem *p, const struct kn_config *g)
{
    int64_t many = kn_family_of(p)->ragged == 'm' && p->groups ? p->groups : 1;

    return (double)p->m / (double)many / g->bm;
}

static double
launch_time(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s)
{
    return least_time(p, g, s, ceil(tile_rows(p, g)));
}

/* With sizes for those that are open, `rows` of a product. */
static kiln_problem
sized(const kiln_problem *p, int64_t rows)
{
    int64_t many = kn_family_of(p)->ragged == 'm' && p->groups ? p->groups : 1;
    kiln_problem known = *p;

    known.n = p->n ? p->n : 4096;
    known.k = p->k ? p->k : 4096;
    known.m = p->m ? p->m : rows * many;
    return known;
}

/* Eight waves that cut the end of K have registers for one workgroup of a compute unit where they
 * quantise an A at any byte in tiles from 64x128 on, or walk 256 rows of 8 bits. */
static bool
lacks_company(const struct kn_config *g, const struct kn_score *s)
{
    bool quantises = s->class == KN_CLASS_UP8 && s->bm * s->bn >= 64 * 128;
    bool walks = s->walks && kn_class_power(s->class) == 1 && s->bm >= 256;

    return (quantises || walks) && g->domain.ktail && s->wm * s->wn == 8;
}

/* With as many workgroups of a compute unit as LDS has room for beside the slots that
 * rows are copied to by lines, which are more than the score was measured with, and registers. */
static struct kn_score
score_by_lines(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s)
{
    uint32_t tile = g->bk * (g->bm * kn_type_bits[p->a] + g->bn * kn_type_bits[p->b]) / 8;
    uint32_t room = g->stages ? kn_targets[p->target].lds / (g->stages * tile) : s->residents;
    bool codes = s->class == KN_CLASS_IR;
    struct kn_score lines = *s;

    if (codes && s->residents > 1 && kn_widens_read(p, g))
        room = kn_room_beside_scales(p, g, s->stages);
    if ((codes || (g->copies == KN_COPIES_LINES && !s->lines)) && room < s->residents)
        lines.residents = room ? room : 1;
    if (lacks_company(g, s))
        lines.residents = 1;
    return lines;
}

double
kn_score_of(const kiln_problem *p, const struct kn_config *g, const struct kn_score *row)
{
    static const int64_t rows[] = { 1024, 16384 };
    const struct kn_score own = score_by_lines(p, g, kn_score_apart(p, g, row)), *s = &own;
    enum { N = sizeof rows / sizeof *rows };
    double sum = 0;

    for (size_t i = 0; i < N; i++) {
        const kiln_problem known = sized(p, rows[i]);

        if (p->m)
            return launch_time(&known, g, s);
        sum += log(launch_time(&known, g, s));
    }
    return exp(sum / (double)N);
}

double
kn_score_uneven(const kiln_problem *p, const struct kn_config *g,
                const struct kn_score *s, bool many)
{
    return least_time(p, g, s, kn_uneven_rows(p, g, many));
}

bool
kn_score_meets(const kiln_problem *p, const struct kn_config *g, const struct kn_score *s)
{
    const kiln_problem known = sized(p, 4096);
    double us[2];

    panel_times(&known, g, s, ceil(tile_rows(&known, g)), us);
    return us[0] < us[1];
}

double
kn_score_known(const kiln_problem *p, const struct kn_config *g)
{
    const struct kn_score *s = kn_score_row(p, g);

    return s ? kn_score_of(p, g, s) : 0;
}
