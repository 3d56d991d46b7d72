/* score_class.c - which rows of scores.def are a problem's, and a configuration's. */
#include "choose.h"
#include "../instantiate.h"

static const struct class {
    const char *text;
    int power;
    enum kn_class odd;
} classes[] = {
#define X(id, text, power, odd) { text, power, KN_CLASS_##odd },
    KN_CLASSES(X)
#undef X
};

const char *
kn_class_name(enum kn_class c)
{
    return classes[c].text;
}

int
kn_class_power(enum kn_class c)
{
    return classes[c].power;
}

enum { SMALL_ROWS = 64, MUCH = 1 << 23, BRIEF = 256, UNFOLDED = 512, UNFOLDED_SIX = 256 };

/* Several products whose weights' codes LDS may have as memory does, scales of several K tiles
 * at once (scale_turns.c). */
static bool
reads_codes(const kiln_problem *p)
{
    struct kn_config tile = { .bm = kn_mean_rows(p) <= 16 ? 16 : SMALL_ROWS, .bn = 64,
                              .bk = 128, .wm = 1, .wn = 4, .schedule = KN_SCHED_SIMPLE,
                              .domain = kn_domain_of(p, 256, 128) };

    kn_settle_codes(p, &tile);
    return !kn_family_of(p)->routed && kn_widens_read(p, &tile) && kn_scales_in_turns(p, &tile);
}

/* The same of floats, whose rows of larger tiles are those of one product. */
static bool
reads_float_codes(const kiln_problem *p)
{
    return kn_mean_rows(p) <= 2 * SMALL_ROWS && reads_codes(p);
}

static enum kn_class
mx_class(const kiln_problem *p)
{
    const struct kn_config none = { .bk = 128 };
    uint32_t a = kn_type_bits[p->a], b = kn_type_bits[p->b];
    bool shuffled = kn_shuffled(p);

    if (p->quant)
        return KN_CLASS_Q4;
    if (kn_elems[kn_shape_of(p, &none).ta].bits == 16)
        return kn_type_mx[p->a] ? KN_CLASS_E5
             : kn_widens_scaled(p) ? b == 6 ? KN_CLASS_WS : b == 8 ? KN_CLASS_WE
                                   : reads_float_codes(p) ? KN_CLASS_WR : KN_CLASS_WB
             : b == 6 && p->m <= SMALL_ROWS ? KN_CLASS_GQ /* as much to convert */
                                            : KN_CLASS_W4;
    if (a == 6 || b == 6)
        return shuffled ? KN_CLASS_S66
             : kn_dequant(p) && !kn_may_fold(p) ? KN_CLASS_N66 : KN_CLASS_MX66;
    if (a != b)
        return shuffled ? KN_CLASS_S84 : KN_CLASS_MX84;
    return shuffled ? a == 8 ? KN_CLASS_S88 : KN_CLASS_S44
                    : a == 8 ? KN_CLASS_MX88 : KN_CLASS_MX44;
}

/* Groups, and batches of few rows, have shorter worst cases by the scores of I4, also where
 * their scales are transposed (250 drawn). */
static enum kn_class
i4_class(const kiln_problem *p)
{
    bool single = kn_one_product(p) || (!kn_family_of(p)->ragged && p->m > SMALL_ROWS);

    return p->b_layout == KILN_B_AWQ ? KN_CLASS_AW
         : kn_in_words(p) ? KN_CLASS_GQ
         : p->scale_layout && single ? KN_CLASS_IT
         : reads_codes(p) ? KN_CLASS_IR : KN_CLASS_I4;
}

static enum kn_class
aligned_class(const kiln_problem *p)
{
    static const uint8_t f32[KILN_NMATHS] = { [KILN_MATH_IEEE] = KN_CLASS_F,
        [KILN_MATH_XF32] = KN_CLASS_X, [KILN_MATH_BF16X3] = KN_CLASS_T };

    if (kn_mx_scales(p))
        return mx_class(p);
    if (kn_blocks(p) && !kn_prequant(p))
        return KN_CLASS_K;
    if (kn_scale_groups(p))
        return i4_class(p);
    if (p->scale == KILN_SCALE_NV16)
        return reads_float_codes(p) ? KN_CLASS_NR : KN_CLASS_NV;
    if (kn_prequant(p))
        return KN_CLASS_P8;
    return kn_wide_sums(p) ? KN_CLASS_D
         : p->a == KILN_F32 ? (enum kn_class)f32[p->math]
         : kn_type_bits[p->a] == 16 ? KN_CLASS_H
         : p->a == KILN_I8 ? KN_CLASS_I8 : KN_CLASS_B8;
}

/* What goes through registers wherever rows begin, its A longer than its B or one that it
 * transposes on gfx942, takes 16 bytes from any dword and shifts others alone (measured). */
static bool
begins_oddly(const kiln_problem *p)
{
    struct kn_domain d = kn_domain_of(p, 256, 256);
    bool turned = p->layout != KILN_NT && kn_targets[p->target].dma < 16;
    uint8_t least = kn_prequant(p) || turned ? 4 : 16;

    return d.align_a < least || d.align_b < least;
}

/* 6 bits whose rows begin at dwords, as those of whole K of 16 and MX blocks of groups do,
 * take 0.7 of what shifted ones do; not of a K of hardly two K tiles, which that made worse. */
static bool
at_dwords(const kiln_problem *p, enum kn_class odd)
{
    struct kn_domain d = kn_domain_of(p, 256, 256);
    int64_t many = kn_family_of(p)->ragged == 'k' && p->groups ? p->groups : 1;

    return odd == KN_CLASS_UM66 && kn_targets[p->target].scaled && d.align_a >= 4 &&
           d.align_b >= 4 && (!p->k || p->k > BRIEF * many);
}

/* 8 bits beside 4, which were measured in nt and where they are not converted. */
static bool
of_two_sizes(const kiln_problem *p, enum kn_class odd)
{
    return odd == KN_CLASS_UM88 && kn_type_bits[p->a] != kn_type_bits[p->b] &&
           p->layout == KILN_NT && kn_targets[p->target].scaled;
}

enum kn_class
kn_class_of(const kiln_problem *p)
{
    enum kn_class c = aligned_class(p), odd = classes[c].odd;

    if (!begins_oddly(p) || odd == KN_CLASS_NONE)
        return c;
    return of_two_sizes(p, odd) ? KN_CLASS_UM84 : at_dwords(p, odd) ? KN_CLASS_UD66 : odd;
}

/* Where tt was not measured A is as tn has it, and B as nt, which few rows are all about;
 * but of much to read f64 that is transposed waits for A where others fill LDS directly, and
 * 128-blocks of more than half as many rows where none do. */
static bool
about_b(const kiln_problem *p)
{
    bool much = p->n * p->k >= MUCH;
    bool wide = kn_wide_sums(p) && kn_targets[p->target].lds_tr;
    bool blocks = kn_blocks(p) && kn_targets[p->target].dma < 16 && 2 * p->m > SMALL_ROWS;

    return p->m <= SMALL_ROWS && !(much && (wide || blocks));
}

static size_t
rows_of(const kiln_problem *p, enum kn_class class, kiln_layout layout,
        const struct kn_score **first)
{
    size_t n = 0;

    for (const struct kn_score *s = kn_scores; s < kn_scores + kn_nscores; s++)
        if (s->target == p->target && s->class == class && s->layout == layout && !n++)
            *first = s;
    return n;
}

/* Of 16 bits and a short K, or a B whose rows begin at lines, the rows of tn choose better
 * (measured). */
static bool
goes_by_tt(const kiln_problem *p)
{
    const struct kn_score *first;

    return rows_of(p, kn_class_of(p), KILN_TT, &first) &&
           (kn_type_bits[p->a] != 16 || kn_targets[p->target].dma < 16 ||
            (p->k > BRIEF && p->ldb * kn_type_bits[p->b] % (8 * KN_LINE)));
}

kiln_layout
kn_score_layout(const kiln_problem *p)
{
    if (p->layout != KILN_TT || goes_by_tt(p))
        return (kiln_layout)p->layout;
    return about_b(p) ? KILN_NT : KILN_TN;
}

/* Where a layout was not measured of rows that begin oddly those of aligned ones count,
 * or of nt. */
size_t
kn_scores_of(const kiln_problem *p, const struct kn_score **first)
{
    bool six = kn_type_bits[p->a] == 6;
    bool apart = kn_may_fold(p) && p->k && p->k <= (six ? UNFOLDED_SIX : UNFOLDED);
    enum kn_class even = !apart ? aligned_class(p) : six ? KN_CLASS_N66 : KN_CLASS_N44;
    enum kn_class class = !apart ? kn_class_of(p)
                        : begins_oddly(p) ? (enum kn_class)classes[even].odd : even;
    kiln_layout layout = kn_score_layout(p);
    size_t n = rows_of(p, class, layout, first);

    if (!n && class != even)
        n = rows_of(p, even, layout, first);
    return n ? n : rows_of(p, class, KILN_NT, first);
}

enum { TILE_K = 128 };       /* of lines that go through registers */

/* 6 bits whose rows begin inside lines and end in a K tile, which nothing copies by lines to LDS
 * directly, go through registers as those at dwords, of which nothing is shifted either. */
size_t
kn_scores_beside(const kiln_problem *p, const struct kn_score **first)
{
    bool ends = p->k % TILE_K && kn_class_of(p) == KN_CLASS_MX66 && !kn_shuffled(p);
    size_t n = ends ? rows_of(p, KN_CLASS_UD66, KILN_NT, first) : 0;

    for (; n && !(*first)->lines; n--)
        ++*first;
    return n;
}

enum likeness { SAME, OTHER_SLOTS, OTHER_WAVES };

/* Waves that have whole output scales stand otherwise, as many of them. */
static bool
is_row(const kiln_problem *p, const struct kn_score *s,
       const struct kn_config *g, enum likeness like)
{
    bool waves = kn_writes_scales(p) || like >= OTHER_WAVES
                     ? s->wm * s->wn == g->wm * g->wn
                     : s->wm == g->wm && s->wn == g->wn;

    return s->schedule == g->schedule && s->bm == g->bm && s->bn == g->bn &&
           s->bk == g->bk && waves && s->walks == (g->cus != 0) &&
           (like >= OTHER_SLOTS || s->stages == g->stages);
}

static const struct kn_score *
row_among(const kiln_problem *p, const struct kn_config *g, bool lines)
{
    const struct kn_score *s, *beside;
    size_t n = kn_scores_of(p, &s), more = lines ? kn_scores_beside(p, &beside) : 0;

    for (int like = SAME; like <= OTHER_WAVES; like++) {
        for (size_t i = 0; i < n; i++)
            if (s[i].lines == lines && is_row(p, &s[i], g, (enum likeness)like))
                return &s[i];
        for (size_t i = 0; i < more; i++)
            if (is_row(p, &beside[i], g, (enum likeness)like))
                return &beside[i];
    }
    return NULL;
}

/* Of 6 bits whose scales are not folded for so few K tiles, which were measured apart. */
const struct kn_score *
kn_score_apart(const kiln_problem *p, const struct kn_config *g, const struct kn_score *row)
{
    enum kn_class apart = row->class == KN_CLASS_MX66 ? KN_CLASS_N66
                        : row->class == KN_CLASS_UM66 ? KN_CLASS_UN66 : KN_CLASS_NONE;
    const struct kn_score *s = NULL;
    size_t n = apart && kn_stays_unfolded(p, g) ? rows_of(p, apart, row->layout, &s) : 0;

    for (size_t i = 0; i < n; i++)
        if (is_row(p, &s[i], g, SAME))
            return &s[i];
    return row;
}

/* Where none was measured by lines what score_rows.c says of those by K tiles holds. */
const struct kn_score *
kn_score_row(const kiln_problem *p, const struct kn_config *g)
{
    const struct kn_score *lines = NULL;

    if (g->copies == KN_COPIES_LINES)
        lines = row_among(p, g, true);
    return lines ? lines : row_among(p, g, false);
}

bool
kn_scored_by_lines(const kiln_problem *p)
{
    const struct kn_score *s;
    size_t n = kn_scores_of(p, &s);

    while (n && !s[n - 1].lines)
        n--;
    return n > 0;
}
