/* scores.c - makes gen/choose/scores.def anew with the timing model.
 *
 * usage: scores [TARGET CLASS [LAYOUT]] > rows
 *
 * 16 workgroups of one product have the chip for themselves, so that nothing
 * here waits for bandwidth: gen/choose/score.c adds that. Two lengths give the clocks
 * of a K tile and what is around them, a warm cache what a load's latency has
 * to do with it, a launch that fills the chip what workgroups do to each other
 * that share a compute unit. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gen/choose/choose.h"
#include "gen/instantiate.h"
#include "gen/tool/run/session.h"
#include "gen/tuning/tuning.h"
#include "gen/tool/run/moe.h"
#include "runtime/api/context.h"
#include "runtime/sim/timing/timing_impl.h"
#include "scores_classes.h"
#include "scores_tiles.h"

/* LINE: bytes; of a long K each row of scales has its own. Lines of K tiles that are none
 * have a turn of 24 K tiles, of which there are several. */
enum { LINE = 128, FEW = 8, MANY = 24, MANY_LINES = 72, SIDE = 4, GROUPS = SIDE * SIDE };

/* Tiles of each workgroup of a walk that fills the device, and K tiles of a short one. */
enum { WALKED = 4, SHORT = 4 };

struct bench {
    const struct class *k;
    kiln_target target;
    const char *layout;
    bool dwords;             /* rows of an odd class begin there */
    char rows[256][160];     /* put, so that none comes twice */
    size_t nrows;
};

/* ---- one launch --------------------------------------------------------- */

/* What rows of an odd class have more than whole lines: dwords, or the fewest elements that
 * fill bytes, an odd number of them but of 16 bits. */
static int64_t
elements_more(const struct bench *b, kiln_type t)
{
    uint32_t bits = kn_type_bits[t];

    if (b->dwords)
        return bits == 6 ? 16 : 32 / bits;
    return bits % 8 ? bits == 4 ? 2 : 4 : 1;
}

static kiln_problem
problem_of(const struct bench *b, const struct kn_config *g, uint32_t tm,
           uint32_t tn, uint32_t turns)
{
    kiln_problem p = { .size = sizeof p };

    p.target = b->target;
    p.layout = (kiln_layout)kn_name_index(kn_layout_names, KILN_NLAYOUTS,
                                          b->layout);
    p.a = b->k->a;
    p.b = b->k->b;
    p.scale = b->k->scale;
    if (p.scale == KILN_SCALE_GROUP128 && g->bk % 128)
        p.scale = KILN_SCALE_GROUP64;
    p.quant = (uint8_t)b->k->quant;
    p.math = (uint8_t)b->k->math;
    if (b->k->shuffled) {
        p.b_layout = KILN_B_PRESHUFFLED;
        p.scale_layout = KILN_SCALE_SHUFFLED;
    }
    if (b->k->transposed) {
        p.b_layout = (uint8_t)b->k->words;
        p.zero_points = KILN_ZEROS_I4;
        p.scale_layout = KILN_SCALE_TRANSPOSED;
    }
    if (b->k->b == KILN_I4) {
        p.scale_type = KILN_SCALE_TYPE_F16;
        p.ldsb = b->k->transposed ? 0 : LINE / 2;
    }
    p.alpha = 1;
    p.m = tm * g->bm;
    p.n = tn * g->bn;
    if (b->k->products) {
        p.family = KILN_BATCHED;
        p.batch = b->k->products;
        p.n /= p.batch;
    }
    p.k = turns * g->bk;
    if (b->k->odd) {
        p.lda = (*b->layout == 't' ? p.m : p.k) + elements_more(b, p.a);
        p.ldb = (b->layout[1] == 't' ? p.k : p.n) + elements_more(b, p.b);
        p.ldsb = p.scale == KILN_SCALE_MX32 ? p.k / 32 + 1 : p.ldsb;
        p.ldsa = kn_type_mx[p.a] ? p.ldsb : p.ldsa;
    }
    return p;
}

static kiln_status
predict(struct kn_ctx *c, kiln_problem p, const struct kn_generated *g,
        bool warm, struct kn_time_result *out)
{
    struct kn_predict q = { .p = &p, .g = g, .warm = warm };

    KN_TRY(kn_problem_normalise(c, &p));
    return kn_predict_generated(c, &q, out);
}

/* ---- one row ------------------------------------------------------------ */

struct measured {
    struct kn_time_result few, many, warm, full, brief; /* brief: full, few turns */
    struct kn_time_result walk, longer, once; /* of walks that fill the device */
    uint32_t residents;
    double fixed, turn, short_loop, long_loop; /* K tiles */
};

/* How many of them a compute unit has room for. */
static uint32_t
room_of(struct kn_ctx *c, const struct bench *b, const struct kn_generated *g)
{
    const struct kn_object_kernel *k;
    struct kn_object o;
    uint32_t waves, lds, step = b->target == KILN_GFX950 ? 1280 : 512, n;

    if (kn_object_read(c, g->name, g->co, g->size, &o) ||
        kn_object_kernel(c, &o, NULL, &k))
        return 1;
    waves = 512 / ((k->regs + 7) / 8 * 8);
    n = 4 * (waves > 8 ? 8 : waves) / (g->cfg.wm * g->cfg.wn);
    lds = (k->lds + step - 1) / step * step;
    if (lds && kn_targets[b->target].lds / lds < n)
        n = kn_targets[b->target].lds / lds;
    return n ? n : 1;
}

/* Walks whose tiles wait for each other's stores: so many workgroups of every compute unit
 * with one tile and with several, of few and many K tiles. */
static kiln_status
measure_walk(struct kn_ctx *c, const struct bench *b, const struct kn_config *given,
             uint32_t residents, struct measured *m)
{
    struct kn_config all = *given;
    struct kn_generated g = { 0 };
    kiln_problem p;

    all.cus = residents * kn_targets[b->target].cus;
    p = problem_of(b, given, all.cus / 16, 16, SHORT);
    KN_TRY(kn_generate(c, &p, &all, NULL, &g));
    KN_TRY(predict(c, p, &g, false, &m->once));
    p = problem_of(b, given, all.cus / 16, 16 * WALKED, SHORT);
    KN_TRY(predict(c, p, &g, false, &m->walk));
    p = problem_of(b, given, all.cus / 16, 16 * WALKED, MANY);
    m->residents = residents;
    return predict(c, p, &g, false, &m->longer);
}

/* Short loops have no batches of scales: those of long ones are measured where they pay. */
static uint32_t
times(const struct bench *b, uint32_t turns)
{
    return b->k->scale == KILN_SCALE_MX32 || b->k->scale == KILN_SCALE_BLOCK128 ? 2 * turns : turns;
}

static kiln_status
measure(struct kn_ctx *c, const struct bench *b, const struct kn_config *given,
        struct kn_generated *g, struct measured *m)
{
    uint32_t cus = kn_targets[b->target].cus, few = times(b, FEW);
    uint32_t many = given->stages > 3 ? MANY_LINES : times(b, MANY);
    kiln_problem p = problem_of(b, given, SIDE, SIDE, many); /* short ones may have other loops */

    m->long_loop = many;
    m->short_loop = few;
    KN_TRY(kn_generate(c, &p, given, NULL, g));
    m->residents = given->cus ? 1 : room_of(c, b, g);
    KN_TRY(predict(c, p, g, false, &m->many));
    KN_TRY(predict(c, p, g, true, &m->warm));
    p = problem_of(b, given, SIDE, SIDE, few);
    KN_TRY(predict(c, p, g, false, &m->few));
    m->turn = (m->many.group_cycles - m->few.group_cycles) / (m->long_loop - m->short_loop);
    m->fixed = m->few.group_cycles - m->turn * m->short_loop;
    if (given->cus && b->target == KILN_GFX942)
        return measure_walk(c, b, given, room_of(c, b, g) < 2 ? 1 : 2, m);
    if (given->cus)
        p = problem_of(b, given, SIDE, 2 * SIDE, many);
    else if (m->residents > 1)
        p = problem_of(b, given, cus / 16, 16 * m->residents, many);
    else
        return KILN_OK;
    KN_TRY(predict(c, p, g, false, &m->full));
    p.k = few * given->bk;
    return given->cus ? KILN_OK : predict(c, p, g, false, &m->brief);
}

/* Clocks of a K tile of several workgroups, by what long loops take more (ends hold what some wait
 * for others), and of the rest, of no less than alone: then the middle of long and short ones. */
static void
crowded(const struct measured *m, double *full, double *fixed)
{
    *full = (m->full.group_cycles - m->brief.group_cycles) / (m->long_loop - m->short_loop);
    *fixed = m->brief.group_cycles - *full * m->short_loop;
    if (*fixed >= m->fixed)
        return;
    *fixed = m->fixed;
    *full = sqrt((m->full.group_cycles - *fixed) / m->long_loop *
                 (m->brief.group_cycles - *fixed) / m->short_loop);
}

/* The same of a walk that fills the device; fixed: what a tile takes besides. */
static void
walked(const struct measured *m, double *full, double *fixed)
{
    *full = (m->longer.group_cycles - m->walk.group_cycles) / (double)(WALKED * (MANY - SHORT));
    *fixed = (m->walk.group_cycles - m->once.group_cycles) / (double)(WALKED - 1) -
             *full * (double)SHORT;
}

/* By lines that go through registers. */
static bool
by_registers(const struct kn_config *x)
{
    return x->copies == KN_COPIES_LINES && (x->domain.align_a < 16 || x->domain.align_b < 16);
}

static void
put_row(struct bench *b, const struct kn_generated *g,
        const struct measured *m)
{
    char *row = b->rows[b->nrows];
    static const char *const schedules[] = {
#define X(id, text) #id,
        KN_SCHEDULES(X)
#undef X
    };
    const struct kn_config *x = &g->cfg;
    double before = m->many.prologue_cycles, fixed = m->fixed;
    double full = m->turn, after = fixed > before ? fixed - before : 0;
    double mfma = m->many.mfma_duty * m->many.us * m->many.clock_ghz * 1e3 *
                  kn_targets[b->target].cus / ((double)GROUPS * m->long_loop);

    if (m->walk.us > 0) {
        walked(m, &full, &fixed);
    } else if (m->residents > 1) {
        crowded(m, &full, &fixed);
        if (kn_type_bits[b->k->a] > 16 && full < m->residents * mfma) {
            /* matrix pipes bound it: some begin when others end */
            full = m->residents * mfma;
            fixed = m->full.group_cycles - full * m->long_loop;
        }
    } else if (x->cus) {
        fixed = m->full.group_cycles - 2.0 * m->long_loop * m->turn - m->fixed;
    }
    snprintf(row, sizeof b->rows[0], "SCORE(%s,%s,%c%c,%s,%u,%u,%u,%u,%u,%d,%u,"
           "%u,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f)\n",
           b->target == KILN_GFX950 ? "GFX950" : "GFX942", b->k->name,
           *b->layout - 'a' + 'A', b->layout[1] - 'a' + 'A',
           schedules[x->schedule], x->bm, x->bn, x->bk, x->wm, x->wn,
           x->cus != 0 ? 1 : by_registers(x) ? 2 : 0, x->stages, m->residents,
           (m->warm.group_cycles - m->fixed) / m->long_loop, m->turn, full, before,
           after, fixed, mfma);
    for (size_t i = 0; i < b->nrows; i++)
        if (!strcmp(row, b->rows[i]))
            return;
    fputs(row, stdout);
    fflush(stdout);
    b->nrows += b->nrows + 1 < COUNT(b->rows);
}

/* The slots of what was measured; 0: it could not be. */
static uint32_t
try_config(struct bench *b, const struct kn_config *given)
{
    struct kn_tuning nothing = { .alone = true };
    struct measured m = { 0 };
    struct kn_generated g = { 0 };
    uint32_t stages = 0;
    struct kn_ctx c;

    kn_ctx_init(&c, NULL, NULL);
    c.tuning = &nothing;
    if (!measure(&c, b, given, &g, &m)) {
        put_row(b, &g, &m);
        stages = g.cfg.stages;
    }
    kn_ctx_free(&c);
    return stages;
}

/* `4-wave` of rows at any byte that has no registers to shift them is measured at dwords: not
 * where A is transposed, nor other loops, whose choices that made worse. */
static bool
retries(const struct bench *b, enum kn_schedule schedule)
{
    return b->k->odd && schedule == KN_SCHED_4WAVE && *b->layout != 't' &&
           kn_type_bits[b->k->a] != 6;
}

/* Rows at any byte are by K tiles: what they take of it by lines score_rows.c says. Those
 * that have three slots have two where K is short (gen/choose/fit.c), and are chosen by those. */
static void
try_row(struct bench *b, enum kn_schedule schedule,
        const struct tile *t, uint32_t bk, bool walks)
{
    struct kn_config given = { .bm = t->bm, .bn = t->bn, .bk = bk, .wm = t->wm,
                               .wn = t->wn, .stages = t->stages,
                               .schedule = schedule, .split_k = 1,
                               .unfolded = b->k->unfolded,
                               .scale_turns = turns_of(b->k, t->bm, t->wm > 1 ? 0 : t->bn, bk),
                               .copies = b->k->odd ? KN_COPIES_TILES : KN_COPIES_OPEN };
    uint32_t stages;

    given.cus = walks ? GROUPS : 0;
    b->dwords = b->k->dwords;
    stages = try_config(b, &given);
    if (!stages && retries(b, schedule)) {
        b->dwords = true;
        stages = try_config(b, &given);
    }
    if (stages == 3 && b->k->odd && !given.stages) {
        given.stages = 2;
        try_config(b, &given);
    }
}

/* The constants of the model that score.c has a use for. */
static void
put_chip(kiln_target t)
{
    struct kn_time_chip c;

    kn_time_chip_of(t, &c);
    printf("CHIP(%s", t == KILN_GFX950 ? "GFX950" : "GFX942");
#define X(name) printf(",%g", c.name);
    X(cus) X(xcds) X(fmax) X(l2_read) X(l2_write) X(mall_read) X(hbm_read)
    X(hbm_write) X(mall_latency) X(hbm_latency) X(hbm_queue) X(launch)
    X(clock_low) X(clock16_base) X(clock16_slope) X(clock8_base)
    X(clock8_slope) X(clock4_base) X(clock4_slope) X(vmem_stream)
#undef X
    printf(")\n");
}

/* MX types that are converted on gfx942: one slot of half as much K leaves room for
 * another workgroup, which multiplies while this one converts, or for a tile of
 * which less is converted for a product; small tiles in three, for a short K. */
static void
try_one_slot(struct bench *b)
{
    if (b->target != KILN_GFX942 || b->k->scale != KILN_SCALE_MX32 ||
        !kn_type_mx[b->k->a])
        return;
    for (size_t i = 0; i < COUNT(one_slot); i++)
        try_row(b, KN_SCHED_SIMPLE, &one_slot[i], 64, false);
    for (size_t i = 0; i < COUNT(walked_tiles) - OF_PLAIN; i++)
        try_row(b, KN_SCHED_SIMPLE, &walked_tiles[i], 64, true);
    for (uint32_t bk = 128; bk <= 256; bk *= 2) {
        for (size_t i = 0; folds(b->k) && i < COUNT(early_4); i++)
            try_row(b, KN_SCHED_SIMPLE, &early_4[i], bk, false);
        for (size_t i = 0; (bk < 256 || folds(b->k)) && i < COUNT(early_8); i++)
            try_row(b, KN_SCHED_SIMPLE, &early_8[i], bk, false);
    }
}

/* One operand's rows along K, beside another's along M or N. */
static bool
is_half_turned(const struct bench *b)
{
    return strcmp(b->layout, "nt") && strcmp(b->layout, "tn") && !b->k->scale;
}

/* Rows that go through registers by lines, one operand's alone at dwords: the largest tiles
 * have no registers to shift them. */
static void
try_lines(struct bench *b, enum kn_schedule schedule, const struct tile *t, size_t n)
{
    uint32_t bits = kn_type_bits[b->k->a], bk = bits == 6 || is_mixed(b->k) ? 128 : 1024 / bits;

    for (size_t i = 0; i < n; i++) {
        bool meets = *b->layout == 't' && t[i].bm * bits == 112 * 8;
        struct kn_config given = { .bm = t[i].bm, .bn = t[i].bn, .bk = bk, .wm = t[i].wm,
                                   .wn = t[i].wn, .stages = t[i].stages, .split_k = 1,
                                   .schedule = schedule, .copies = KN_COPIES_LINES };

        b->dwords = b->k->dwords || is_half_turned(b);
        if (meets)           /* a row of 128 bytes with the chunk behind it */
            continue;
        if (try_config(b, &given) || !retries(b, schedule))
            continue;
        b->dwords = true;
        try_config(b, &given);
    }
}

/* By lines: MX types whose K tiles are none, in tiles of their own; not what is widened. */
static void
try_all_lines(struct bench *b)
{
    bool mixed = is_mixed(b->k) || (b->k->scale == KILN_SCALE_MX32 && kn_type_bits[b->k->a] == 6);

    if (b->target != KILN_GFX950 || !b->k->odd || (strcmp(b->layout, "nt") && !is_half_turned(b)))
        return;
    if (mixed) {
        try_lines(b, KN_SCHED_SIMPLE, by_lines, COUNT(by_lines));
    } else if (b->k->a == b->k->b && b->k->scale != KILN_SCALE_BLOCK128) {
        try_lines(b, KN_SCHED_SIMPLE, whole_lines, COUNT(whole_lines) - ALONG * is_half_turned(b));
        try_lines(b, KN_SCHED_4WAVE, four_lines, COUNT(four_lines));
        if (is_half_turned(b))
            try_lines(b, KN_SCHED_4WAVE, turned_lines, COUNT(turned_lines));
    }
}

/* K of a tile: of small ones, converted operands and rows at any byte twice that too; half of it
 * where K is short (4 bits), has a tail (8 bits through registers) or groups are shorter (i4). */
static void
try_simple(struct bench *b, const struct tile *t, uint32_t bk)
{
    uint32_t area = (uint32_t)t->bm * t->bn, bits = kn_type_bits[b->k->a];
    bool plain = !b->k->converted && b->k->scale == KILN_SCALE_NONE;
    bool whole = kn_targets[b->target].slots_4wave == 1 && bits == 8 && plain;

    if (b->k->b == KILN_I4 || b->k->quant)
        try_row(b, KN_SCHED_SIMPLE, t, bk / 2, false);
    if (!t->stages && (whole || (bk == 256 && !b->k->shuffled)))
        try_row(b, KN_SCHED_SIMPLE, t, bk / 2, false);
    try_row(b, KN_SCHED_SIMPLE, t, bk, false);
    if (bk < 256 && (b->k->converted || b->k->odd || area <= 128 * 128))
        try_row(b, KN_SCHED_SIMPLE, t, 2 * bk, false);
}

static void
try_all(struct bench *b, enum kn_schedule schedule, const struct tile *t, size_t n, uint32_t bk)
{
    for (size_t i = 0; i < n; i++)
        try_row(b, schedule, &t[i], bk, false);
}

/* Loops straight from memory: of types that are multiplied as they lie, in `nt`. */
static void
try_direct(struct bench *b, uint32_t bk)
{
    if (b->k->scale != KILN_SCALE_NONE || b->k->odd || strcmp(b->layout, "nt") ||
        kn_type_bits[b->k->a] > 16)
        return;
    try_all(b, KN_SCHED_DIRECT, direct, COUNT(direct), bk);
}

static void
try_codes(struct bench *b, uint32_t bk)
{
    bool slots = b->target == KILN_GFX950, in_words = b->k->words;
    const struct tile *t = !slots ? halves : in_words ? words : codes;
    size_t n = !slots ? COUNT(halves) : in_words ? COUNT(words) : COUNT(codes);

    if (b->k->b == KILN_I4)
        try_all(b, KN_SCHED_INTERLEAVE, t, n, bk);
}

/* 16 bits at any byte along M and N: the largest tiles have registers for K tiles of 32. */
static bool
has_half_rows(const struct bench *b)
{
    return b->target == KILN_GFX950 && b->k->odd && !strcmp(b->layout, "tn") &&
           kn_type_bits[b->k->a] == 16 && b->k->scale == KILN_SCALE_NONE;
}

/* Codes of 4 bits that LDS has as memory does, by K tiles of 128 and 256. */
static void
try_reads(struct bench *b, uint32_t bk)
{
    for (size_t i = 0; b->k->products && i < 2 * COUNT(reads); i++)
        if (i % 2 == 0 || reads[i / 2].wn < 8)
            try_row(b, KN_SCHED_SIMPLE, &reads[i / 2], i % 2 ? 2 * bk : bk, false);
}

static void
try_widened(struct bench *b, uint32_t bk)
{
    kiln_problem p = problem_of(b, &(struct kn_config){ 0 }, 0, 0, 0);
    size_t n = b->target != KILN_GFX942 || !kn_widens_scaled(&p) ? 0
             : b->k->odd ? WIDENED_ODD : COUNT(widened);

    try_all(b, KN_SCHED_4WAVE, widened, n, bk);
}

/* `4-wave` shared by eight waves, which have registers for rows at any byte. */
static void
try_eight(struct bench *b, uint32_t bk)
{
    if (b->target != KILN_GFX942 || b->k->scale || kn_type_bits[b->k->a] > 16)
        return;
    try_all(b, KN_SCHED_4WAVE, four_of_eight, COUNT(four_of_eight), bk);
}

/* Walks of types that are multiplied as they lie, whose stores are half of what a short K takes. */
static void
try_walks(struct bench *b, uint32_t bk)
{
    if (b->target != KILN_GFX942 || b->k->scale || b->k->odd || b->k->quant ||
        kn_type_bits[b->k->a] > 16)
        return;
    for (size_t i = 0; i < 2 * COUNT(walked_tiles); i++)
        try_row(b, KN_SCHED_SIMPLE, &walked_tiles[i / 2], i % 2 ? bk : bk / 2, true);
    for (size_t i = 0; i < COUNT(walked_4wave); i++)
        try_row(b, KN_SCHED_4WAVE, &walked_4wave[i], bk, true);
}

static void
run(struct bench *b)
{
    kiln_problem p = problem_of(b, &(struct kn_config){ 0 }, 0, 0, 0);
    bool gfx950 = b->target == KILN_GFX950;
    bool mx = b->k->scale == KILN_SCALE_MX32;
    bool six = mx && kn_type_bits[b->k->a] == 6 && !b->k->shuffled;
    uint32_t bk = gfx950 || b->k->bk < 256 || b->k->shuffled
                      ? b->k->bk : 128; /* converted */
    uint32_t bk4 = b->k->shuffled && kn_type_bits[b->k->a] != 4 ? 128 : bk;

    for (size_t i = 0; i < COUNT(simple); i++) {
        uint32_t area = (uint32_t)simple[i].bm * simple[i].bn;

        try_simple(b, &simple[i], bk);
        if (area <= 64 * 128 && kn_widens_scaled(&p))
            try_row(b, KN_SCHED_SIMPLE, &simple[i], 4 * bk, false);
        if (gfx950 && !b->k->converted &&
            area >= (mx ? 256 * 256 : 128 * 128))
            try_row(b, KN_SCHED_INTERLEAVE, &simple[i], bk, false);
    }
    for (size_t i = 0; gfx950 && b->k->odd && strcmp(b->layout, "nt") && i < COUNT(turned); i++)
        try_simple(b, &turned[i], bk);
    for (uint32_t x = bk; gfx950 && b->k->wide && !strcmp(b->layout, "nt") && x <= 256; x *= 2)
        try_all(b, KN_SCHED_SIMPLE, wide, COUNT(wide), x);
    try_codes(b, bk);
    try_reads(b, 128);
    try_widened(b, bk);
    try_one_slot(b);
    try_direct(b, bk);
    try_all_lines(b);
    if (gfx950 && (!b->k->converted || b->k->scale == KILN_SCALE_BLOCK128))
        try_all(b, KN_SCHED_8WAVE, eight, COUNT(eight), bk);
    for (size_t i = 0; i < COUNT(four) && !b->k->converted; i++) {
        /* Two of them on a compute unit that convert their weights: launches
         * take 1.2 to 1.5 times what their score says. */
        if (!gfx950 && kn_widens_scaled(&p) && four[i].bm * four[i].bn == 128 * 128)
            continue;
        if (i >= OTHER_ROWS && i < EIGHT &&
            (six || kn_widens_scaled(&p) || (gfx950 && i >= FEW_SLOTS) ||
             (b->k->odd && !gfx950 && *b->layout == 't')))
            continue;
        if (four[i].wm == 4 && (!gfx950 || b->k->odd || b->k->scale || strcmp(b->layout, "nt") ||
                                kn_type_bits[b->k->a] > 16))
            continue;        /* copied by lines, of which 2x2 waves have no quarters */
        if (i >= EIGHT &&
            (!gfx950 || !kn_widens_scaled(&p) || (b->k->odd && i >= TALL)))
            break;
        if (gfx950 && i < LARGEST && kn_walks(&p))
            try_row(b, KN_SCHED_4WAVE, &four[i], bk4, true);
        try_row(b, KN_SCHED_4WAVE, &four[i], bk4, false);
        if (has_half_rows(b))
            try_row(b, KN_SCHED_4WAVE, &four[i], bk4 / 2, false);
        if (gfx950 && deepens(b->k))
            try_row(b, KN_SCHED_4WAVE, &four[i], 256, false);
    }
    if (gfx950 && !six && deepens(b->k))
        try_all(b, KN_SCHED_4WAVE, deep, COUNT(deep), 256);
    if (!b->k->converted)
        try_eight(b, bk);
    try_walks(b, bk);
}

/* tt of gfx950 without scales is chosen as well by the rows of tn (300 drawn). */
static const char *
layouts_of(const struct class *k, int target)
{
    return target == KILN_GFX942 && k->gfx942 ? k->gfx942 : k->layouts;
}

int
main(int argc, char **argv)
{
    for (int t = KILN_GFX950; t >= KILN_GFX942; t--)
        put_chip((kiln_target)t);
    for (int t = KILN_GFX950; t >= KILN_GFX942; t--)
        for (size_t i = 0; i < COUNT(classes); i++)
            for (const char *l = layouts_of(&classes[i], t); *l; l += l[2] ? 3 : 2) {
                struct bench b = { .k = &classes[i], .target = (kiln_target)t };

                b.layout = l[0] == 'n' ? l[1] == 't' ? "nt" : "nn"
                                       : l[1] == 't' ? "tt" : "tn";

                if ((argc < 2 || !strcmp(argv[1], kiln_target_name(b.target))) &&
                    (argc < 3 || !strcmp(argv[2], b.k->name)) &&
                    (argc < 4 || !strcmp(argv[3], b.layout)) &&
                    (t == KILN_GFX950 ? !b.k->unfolded
                                      : !(b.k->dwords || (b.k->odd && is_mixed(b.k)))))
                    run(&b);
            }
    return 0;
}
