/* timing_periods.c - which part of a workgroup repeats itself: the tiles of a
 * persistent one, the turns of a very long loop. It runs once beforehand; turns
 * of its outermost loop in which every wave executes the same instructions
 * for as many lanes need not be recorded and replayed one by one. */
#include "timing_impl.h"

/* Workgroups of fewer instructions are recorded whole. */
static const double worth_a_look = 1 << 20;

/* Turns of a run of equal ones that are recorded: while it settles, as what
 * stands for the rest, and behind them. The first run of a workgroup has the
 * way into it in front, and sets in slowly. */
struct scheme {
    size_t settle, window, behind;
};

static const struct scheme long_run = { 8, 8, 1 }, short_run = { 3, 4, 1 };

struct mark {                /* a wave meets the header of an outermost loop */
    uint64_t at, sum;        /* instructions before; what they did, hashed */
    int32_t root;
};

struct walk {                /* of a wave */
    struct mark *mark;
    size_t n, cap;
    uint64_t seen, sum, progress;
    double *spent;           /* by loop */
};

struct scan {
    const struct kn_time_model *m;
    int32_t *root;           /* outermost loop of each instruction, or -1 */
    bool *head;              /* the first of a root's header */
    struct walk *wave;
    bool idle;               /* some wave only waits: no end in sight */
};

static uint64_t
mix(uint64_t x)
{
    x = (x + 1) * 0x9e3779b97f4a7c15u;
    return (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
}

static bool
count_inst(void *user, uint32_t wave, uint32_t inst)
{
    struct scan *s = user;
    struct walk *w = &s->wave[wave];

    if (s->head[inst]) {
        w->mark = kn_grow(s->m->c, w->mark, &w->cap, w->n + 1,
                          sizeof *w->mark);
        w->mark[w->n++] = (struct mark){ w->seen, w->sum, s->root[inst] };
    }
    if (s->root[inst] >= 0)
        w->spent[s->root[inst]]++;
    w->sum += mix(inst);
    w->seen++;
    if (kn_time_works(&s->m->inst[inst]))
        w->progress = w->seen;
    s->idle |= w->seen - w->progress >= KN_TIME_IDLE;
    return !s->idle;
}

/* Tiles at an edge access less. */
static void
count_lanes(void *user, uint32_t wave, const struct kn_sim_access *a)
{
    struct scan *s = user;

    s->wave[wave].sum += (uint64_t)__builtin_popcountll(a->mask) * a->bytes;
}

static void
find_roots(struct scan *s)
{
    const struct kn_cfg *g = &s->m->cfg;

    s->root = KN_NEW(s->m->c, int32_t, s->m->program.n);
    s->head = KN_NEW(s->m->c, bool, s->m->program.n);
    for (uint32_t k = 0; k < s->m->program.n; k++) {
        int32_t l = g->blocks[g->block_of[k]].loop;

        while (l >= 0 && g->loops[l].parent >= 0)
            l = g->loops[l].parent;
        s->root[k] = l;
        s->head[k] = l >= 0 && g->blocks[g->loops[l].header].first == k;
    }
}

/* Keeps the marks of the loop the wave spends most of its instructions in. */
static void
keep_heaviest(const struct scan *s, struct walk *w)
{
    uint32_t best = 0;
    size_t n = 0;

    for (uint32_t k = 0; k < s->m->cfg.nloops; k++)
        if (w->spent[k] > w->spent[best])
            best = k;
    for (size_t k = 0; k < w->n; k++)
        if (w->mark[k].root == (int32_t)best)
            w->mark[n++] = w->mark[k];
    w->n = n;
}

static bool
same_turn(const struct walk *w, size_t a, size_t b)
{
    const struct mark *x = &w->mark[a], *y = &w->mark[b];

    return x[1].at - x[0].at == y[1].at - y[0].at &&
           x[1].sum - x[0].sum == y[1].sum - y[0].sum;
}

/* A turn of the kind most turns are of, if there is one. */
static size_t
find_usual(const struct walk *w)
{
    size_t usual = 0, votes = 0;

    for (size_t k = 0; k + 1 < w->n; k++) {
        if (!votes)
            usual = k;
        votes = same_turn(w, usual, k) ? votes + 1 : votes - 1;
    }
    return usual;
}

/* Which turns are alike in every wave; NULL: the waves turn differently. */
static bool *
find_plain(const struct scan *s)
{
    size_t n = s->wave[0].n, usual = find_usual(&s->wave[0]);
    bool *plain = KN_NEW(s->m->c, bool, n + 1);

    for (size_t k = 0; k + 1 < n; k++)
        plain[k] = true;
    for (uint32_t w = 0; w < s->m->nwaves; w++) {
        if (s->wave[w].n != n)
            return NULL;
        for (size_t k = 0; k + 1 < n; k++)
            plain[k] &= same_turn(&s->wave[w], usual, k);
    }
    return plain;
}

struct choice {              /* a gap, in turns */
    size_t window, gap, end;
};

/* Of the equal turns [from, to). */
static bool
choose_in(size_t from, size_t to, struct choice *out)
{
    const struct scheme *h = to - from >= 40 ? &long_run : &short_run;

    out->window = from + h->settle;
    out->gap = out->window + h->window;
    out->end = to - h->behind;
    return out->gap + 1 < out->end;
}

/* Up to one gap in every run of plain turns. */
static uint32_t
choose(const struct scan *s, struct choice **out)
{
    const bool *plain = s->idle || !s->wave[0].n ? NULL : find_plain(s);
    size_t n = plain ? s->wave[0].n : 0, from = 0;
    uint32_t found = 0;

    *out = KN_NEW(s->m->c, struct choice, n + 1);
    for (size_t k = 0; k < n; k++) {
        if (plain[k])
            continue;
        found += k > from && choose_in(from, k, &(*out)[found]);
        from = k + 1;
    }
    return found;
}

static void
take_gaps(struct kn_ctx *c, const struct mark *m, const struct choice *ch,
          uint32_t n, struct kn_time_gaps *out)
{
    out->gap = KN_NEW(c, struct kn_time_gap, n + 1);
    for (uint32_t k = 0; k < n; k++)
        out->gap[k] = (struct kn_time_gap){ m[ch[k].window].at,
                                            m[ch[k].gap].at, m[ch[k].end].at };
}

/* A second run is the same only if nothing of the first comes back. */
static bool
may_run_twice(const struct kn_program *p)
{
    bool returns = false;

    for (uint32_t k = 0; k < p->n; k++)
        returns |= kn_isa[p->inst[k].op].atomic && p->inst[k].ndst;
    return !returns;
}

static kiln_status
run_scan(struct kn_time_model *m, uint64_t group, struct scan *s)
{
    struct kn_sim_tap tap = { .user = s, .skip_mfma = true,
                              .lean = !m->q->whole,
                              .no_lds = true, .inst = count_inst,
                              .access = count_lanes };
    struct kn_sim_launch l = *m->q->launch;

    s->wave = KN_NEW(m->c, struct walk, m->nwaves);
    for (uint32_t k = 0; k < m->nwaves; k++)
        s->wave[k].spent = KN_NEW(m->c, double, m->cfg.nloops + 1);
    l.select = (struct kn_sim_select){ .ids = &group, .n = 1 };
    l.tap = &tap;
    l.progress = NULL;
    return kn_time_run(m, &l);
}

kiln_status
kn_time_find_periods(struct kn_time_model *m, uint64_t group,
                     struct kn_time_periods *out, struct kn_time_gaps **gaps)
{
    struct scan s = { .m = m };
    struct choice *ch;
    uint32_t n;

    *gaps = NULL;
    *out = (struct kn_time_periods){ 0 };
    if (m->q->whole || m->length * m->nwaves < worth_a_look ||
        !m->cfg.nloops || !may_run_twice(&m->program))
        return KILN_OK;
    find_roots(&s);
    KN_TRY(run_scan(m, group, &s));
    for (uint32_t k = 0; k < m->nwaves; k++)
        keep_heaviest(&s, &s.wave[k]);
    n = choose(&s, &ch);
    if (!n)
        return KILN_OK;
    out->n = n;
    out->window = KN_NEW(m->c, struct kn_time_window, n);
    for (uint32_t k = 0; k < n; k++)
        out->window[k].more = (double)(ch[k].end - ch[k].gap) /
                              (double)(ch[k].gap - ch[k].window);
    *gaps = KN_NEW(m->c, struct kn_time_gaps, m->nwaves);
    for (uint32_t k = 0; k < m->nwaves; k++)
        take_gaps(m->c, s.wave[k].mark, ch, n, &(*gaps)[k]);
    return KILN_OK;
}
