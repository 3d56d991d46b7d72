/* diff.c - regions, alignment and classification of two kernels. */
#include "diff.h"

#include <string.h>

#include "diff_impl.h"

const char *
kn_diff_name(enum kn_diff_kind k)
{
    static const char *const names[] = {
#define X(id, text) text,
        KN_DIFFS(X)
#undef X
    };

    return names[k];
}

struct differ {
    struct kn_ctx *c;
    struct kn_diff_side a, b;
    bool *bad;
    uint32_t nregions;
    struct kn_diff *out;
    size_t cap, loop_cap;
};

/* ---- loops ---- */

/* A run of instructions of the same innermost loop. */
struct segment {
    uint32_t first, end;
    int32_t loop;            /* -1: in none */
    uint32_t mfma;
    uint32_t *hist;          /* per row of isa.def; loops only */
};

struct segments {
    struct segment *s;
    uint32_t n;
};

static struct segments
find_segments(struct kn_ctx *c, const struct kn_cfg *g)
{
    struct segment *s = NULL;
    size_t cap = 0, n = 0;

    for (uint32_t i = 0; i < g->p->n; i++) {
        int32_t loop = g->blocks[g->block_of[i]].loop;
        struct segment *last;

        if (!n || s[n - 1].loop != loop) {
            s = kn_grow(c, s, &cap, n + 1, sizeof *s);
            s[n++] = (struct segment){ .first = i, .loop = loop };
            if (loop >= 0)
                s[n - 1].hist = KN_NEW(c, uint32_t, KN_NISA);
        }
        last = &s[n - 1];
        last->end = i + 1;
        last->mfma += kn_isa[g->p->inst[i].op].unit == KN_U_MFMA;
        if (loop >= 0)
            last->hist[g->p->inst[i].op]++;
    }
    return (struct segments){ s, (uint32_t)n };
}

/* How much two loops have in common, 0..1000; matrix instructions count
 * tenfold, and a loop with them never matches one without. */
static uint32_t
likeness(const struct segment *x, const struct segment *y)
{
    uint64_t both = 0, either = 0;

    if (!x->hist || !y->hist || !x->mfma != !y->mfma)
        return 0;
    for (uint32_t r = 0; r < KN_NISA; r++) {
        uint32_t w = kn_isa[r].unit == KN_U_MFMA ? 10 : 1;
        uint32_t p = x->hist[r], q = y->hist[r];

        both += (uint64_t)w * (p < q ? p : q);
        either += (uint64_t)w * (p < q ? q : p);
    }
    both = either ? both * 1000 / either : 0;
    return both < 100 ? 0 : (uint32_t)both * (x->mfma ? 4 : 1);
}

/* Bound on the work, for code made of loops: each pair is looked at. */
enum { MAX_SEGMENT_PAIRS = 1 << 20 };

/* The order-preserving matching of segments that have most in common:
 * match[i] = j or -1. */
static void
match_segments(struct kn_ctx *c, struct segments x, struct segments y,
               int32_t *match)
{
    uint32_t w = y.n + 1, i = x.n, j = y.n;
    uint32_t *best = KN_NEW(c, uint32_t, (size_t)(x.n + 1) * w);

    for (uint32_t p = 1; p <= x.n; p++)
        for (uint32_t q = 1; q <= y.n; q++) {
            uint32_t like = likeness(&x.s[p - 1], &y.s[q - 1]);
            uint32_t v = best[(p - 1) * w + q];

            if (best[p * w + q - 1] > v)
                v = best[p * w + q - 1];
            if (like && best[(p - 1) * w + q - 1] + like > v)
                v = best[(p - 1) * w + q - 1] + like;
            best[p * w + q] = v;
        }
    for (uint32_t p = 0; p < x.n; p++)
        match[p] = -1;
    while (i && j) {
        if (best[i * w + j] == best[(i - 1) * w + j]) {
            i--;
        } else if (best[i * w + j] == best[i * w + j - 1]) {
            j--;
        } else {
            match[--i] = (int32_t)--j;
        }
    }
}

static void
add_loop(struct differ *d, const struct segment *x, const struct segment *y)
{
    struct kn_diff *o = d->out;

    for (uint32_t i = 0; i < o->nloops; i++)
        if (o->loop[i].a == (uint32_t)x->loop &&
            o->loop[i].b == (uint32_t)y->loop) {
            o->loop[i].mfma_a += x->mfma;
            o->loop[i].mfma_b += y->mfma;
            return;
        }
    o->loop = kn_grow(d->c, o->loop, &d->loop_cap, o->nloops + 1,
                      sizeof *o->loop);
    o->loop[o->nloops++] = (struct kn_diff_loop){
        (uint32_t)x->loop, (uint32_t)y->loop, x->mfma, y->mfma };
}

/* ---- alignment ---- */

/* Indices in [first, end) that are still unpaired and selected. */
struct picked {
    uint32_t n;
    uint32_t *at;
    uint64_t *key;
};

enum pick { PICK_ANCHOR, PICK_ALL, PICK_SOFT };

static struct picked
pick(struct kn_ctx *c, const struct kn_diff_side *s, uint32_t first,
     uint32_t end, enum pick how)
{
    struct picked p = { 0, KN_NEW(c, uint32_t, end - first + 1),
                        KN_NEW(c, uint64_t, end - first + 1) };

    for (uint32_t i = first; i < end; i++) {
        const struct kn_inst *x = &s->p->inst[i];

        if (s->pair[i] >= 0 || (how == PICK_ANCHOR && !kn_diff_anchor(x)))
            continue;
        p.at[p.n] = i;
        p.key[p.n++] = how == PICK_SOFT ? kn_diff_key(x, true) : s->key[i];
    }
    return p;
}

static kiln_status
align_picked(struct differ *d, const struct picked *x, const struct picked *y)
{
    int32_t *pair = KN_NEW(d->c, int32_t, x->n + 1);

    if (!x->n || !y->n)
        return KILN_OK;
    KN_TRY(kn_diff_lcs(d->c, (struct kn_diff_keys){ x->n, x->key },
                       (struct kn_diff_keys){ y->n, y->key }, pair));
    for (uint32_t i = 0; i < x->n; i++)
        if (pair[i] >= 0) {
            d->a.pair[x->at[i]] = (int32_t)y->at[pair[i]];
            d->b.pair[y->at[pair[i]]] = (int32_t)x->at[i];
            d->a.mono[x->at[i]] = true;
        }
    return KILN_OK;
}

struct span {
    uint32_t a, a_end, b, b_end;
};

static kiln_status
align_span(struct differ *d, struct span s, enum pick how)
{
    struct picked x = pick(d->c, &d->a, s.a, s.a_end, how);
    struct picked y = pick(d->c, &d->b, s.b, s.b_end, how);

    return align_picked(d, &x, &y);
}

/* Between each two neighbouring ordered pairs of a span. */
static kiln_status
align_gaps(struct differ *d, struct span s, enum pick how)
{
    uint32_t a = s.a, b = s.b;

    for (uint32_t i = s.a; i <= s.a_end; i++) {
        bool end = i == s.a_end;

        if (!end && !(d->a.pair[i] >= 0 && d->a.mono[i]))
            continue;
        struct span gap = { a, i, b, end ? s.b_end : (uint32_t)d->a.pair[i] };

        if (gap.a < gap.a_end && gap.b < gap.b_end)
            KN_TRY(align_span(d, gap, how));
        a = i + 1;
        b = gap.b_end + 1;
    }
    return KILN_OK;
}

static kiln_status
align_region(struct differ *d, struct span s)
{
    for (uint32_t i = s.a; i < s.a_end; i++)
        d->a.region[i] = d->nregions;
    for (uint32_t j = s.b; j < s.b_end; j++)
        d->b.region[j] = d->nregions;
    d->nregions++;
    KN_TRY(align_span(d, s, PICK_ANCHOR));
    return align_gaps(d, s, PICK_ALL);
}

static kiln_status
align_regions(struct differ *d)
{
    struct segments x = find_segments(d->c, d->a.g);
    struct segments y = find_segments(d->c, d->b.g);
    int32_t *match = KN_NEW(d->c, int32_t, x.n + 1);
    uint32_t a = 0, b = 0;

    if ((uint64_t)x.n * y.n > MAX_SEGMENT_PAIRS)
        return kn_fail(d->c, KILN_UNSUPPORTED, "kernels of %u and %u loops "
                       "and stretches between are more than kiln compares",
                       x.n, y.n);
    match_segments(d->c, x, y, match);
    for (uint32_t i = 0; i < x.n; i++) {
        const struct segment *p = &x.s[i], *q;

        if (match[i] < 0)
            continue;
        q = &y.s[match[i]];
        KN_TRY(align_region(d, (struct span){ a, p->first, b, q->first }));
        KN_TRY(align_region(d, (struct span){ p->first, p->end, q->first,
                                              q->end }));
        add_loop(d, p, q);
        a = p->end;
        b = q->end;
    }
    return align_region(d, (struct span){ a, d->a.p->n, b, d->b.p->n });
}

/* Pairs found out of turn are ordinary ones if they fit between the others. */
static void
settle_order(struct differ *d)
{
    int32_t *next = KN_NEW(d->c, int32_t, d->a.p->n + 1);
    int32_t last = -1;

    next[d->a.p->n] = (int32_t)d->b.p->n;
    for (uint32_t i = d->a.p->n; i-- > 0;)
        next[i] = d->a.pair[i] >= 0 && d->a.mono[i] ? d->a.pair[i]
                                                    : next[i + 1];
    for (uint32_t i = 0; i < d->a.p->n; i++) {
        int32_t j = d->a.pair[i];

        if (j < 0)
            continue;
        if (!d->a.mono[i] && j > last && j < next[i])
            d->a.mono[i] = true;
        if (d->a.mono[i])
            last = j;
    }
}

/* ---- classification ---- */

static enum kn_diff_kind
class_wait(const struct kn_inst *x, const struct kn_inst *y)
{
    return y->vm > x->vm || y->lgkm > x->lgkm || y->exp > x->exp
               ? KN_D_WEAKER : KN_D_STRONGER;
}

/* Two versions of an instruction: the first thing in which they differ. */
static enum kn_diff_kind
class_soft(const struct kn_inst *x, const struct kn_inst *y)
{
    if (x->op == KN_I_s_waitcnt)
        return class_wait(x, y);
    if (x->op != y->op && kn_isa[x->op].mem != KN_M_NONE)
        return KN_D_WIDTH;
    if (x->sc0 != y->sc0 || x->sc1 != y->sc1 || x->nt != y->nt ||
        x->glc != y->glc)
        return KN_D_CACHE;
    return KN_D_CONSTANT;
}

static enum kn_diff_kind
class_alone(const struct kn_inst *x, bool in_a)
{
    if (kn_diff_copy(x))
        return KN_D_COPY;
    if (kn_isa[x->op].mem == KN_M_SCRATCH)
        return KN_D_SPILL;
    return in_a ? KN_D_MISSING : KN_D_EXTRA;
}

/* Did it change its order against another one of its own unit? Else it only
 * moved between others. */
static enum kn_diff_kind
class_moved(const struct differ *d, uint32_t i)
{
    uint8_t unit = kn_isa[d->a.p->inst[i].op].unit;

    if (!kn_diff_anchor(&d->a.p->inst[i]) || unit == KN_U_INTERNAL)
        return KN_D_MOVED;
    for (uint32_t n = 0; n < d->a.p->n; n++)
        if (d->a.pair[n] >= 0 && n != i &&
            kn_isa[d->a.p->inst[n].op].unit == unit &&
            (n < i) != (d->a.pair[n] < d->a.pair[i]))
            return KN_D_REORDERED;
    return KN_D_MOVED;
}

/* A branch goes to the same place if its targets are paired. */
static bool
same_target(const struct differ *d, const struct kn_inst *x,
            const struct kn_inst *y)
{
    if (x->target < 0 || y->target < 0)
        return x->target == y->target;
    return d->a.pair[x->target] == y->target ||
           (d->a.pair[x->target] < 0 && d->b.pair[y->target] < 0);
}

static enum kn_diff_kind
class_pair(const struct differ *d, uint32_t i)
{
    const struct kn_inst *x = &d->a.p->inst[i];
    const struct kn_inst *y = &d->b.p->inst[d->a.pair[i]];

    if (d->a.key[i] != d->b.key[d->a.pair[i]])
        return class_soft(x, y);
    if (!same_target(d, x, y))
        return KN_D_TARGET;
    return d->bad[i] ? KN_D_REGISTER : KN_D_SAME;
}

static void
add_row(struct differ *d, struct kn_diff_row r)
{
    struct kn_diff *o = d->out;

    o->row = kn_grow(d->c, o->row, &d->cap, o->n + 1, sizeof *o->row);
    o->row[o->n++] = r;
    if (!(r.a < 0 && r.peer >= 0))
        o->count[r.kind]++;
}

static void
rows_of_a(struct differ *d, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        int32_t j = d->a.pair[i];

        add_row(d, (struct kn_diff_row){
            (int32_t)i, -1, j, (uint8_t)(j >= 0 ? class_moved(d, i)
                : class_alone(&d->a.p->inst[i], true)) });
    }
}

static void
rows_of_b(struct differ *d, uint32_t first, uint32_t end)
{
    for (uint32_t j = first; j < end; j++) {
        int32_t i = d->b.pair[j];

        add_row(d, (struct kn_diff_row){
            -1, (int32_t)j, i, (uint8_t)(i >= 0 ? class_moved(d, (uint32_t)i)
                : class_alone(&d->b.p->inst[j], false)) });
    }
}

static void
make_rows(struct differ *d)
{
    uint32_t a = 0, b = 0;

    for (uint32_t i = 0; i <= d->a.p->n; i++) {
        bool end = i == d->a.p->n;
        uint32_t j;

        if (!end && !(d->a.pair[i] >= 0 && d->a.mono[i]))
            continue;
        j = end ? d->b.p->n : (uint32_t)d->a.pair[i];
        rows_of_a(d, a, i);
        rows_of_b(d, b, j);
        if (end)
            return;
        add_row(d, (struct kn_diff_row){ (int32_t)i, (int32_t)j, -1,
                                         (uint8_t)class_pair(d, i) });
        a = i + 1;
        b = j + 1;
    }
}

static void
conclude(struct differ *d)
{
    struct kn_diff *o = d->out;
    int32_t wrong;

    o->equal = o->count[KN_D_SAME] == o->n;
    if (!o->equal)
        return;
    wrong = kn_diff_exact(d->c, d->a.g, d->b.g);
    if (wrong < 0)
        return;
    o->row[wrong].kind = KN_D_REGISTER;
    o->count[KN_D_REGISTER]++;
    o->count[KN_D_SAME]--;
    o->equal = false;
}

static void
init_side(struct kn_ctx *c, struct kn_diff_side *s, const struct kn_cfg *g)
{
    s->g = g;
    s->p = g->p;
    s->key = KN_NEW(c, uint64_t, g->p->n + 1);
    s->pair = KN_NEW(c, int32_t, g->p->n + 1);
    s->mono = KN_NEW(c, bool, g->p->n + 1);
    s->region = KN_NEW(c, uint32_t, g->p->n + 1);
    for (uint32_t i = 0; i < g->p->n; i++) {
        s->key[i] = kn_diff_key(&g->p->inst[i], false);
        s->pair[i] = -1;
    }
}

kiln_status
kn_diff_take(struct kn_ctx *c, const struct kn_cfg *a, const struct kn_cfg *b,
             struct kn_diff *out)
{
    struct differ *d = KN_NEW(c, struct differ, 1);

    memset(out, 0, sizeof *out);
    d->c = c;
    d->out = out;
    init_side(c, &d->a, a);
    init_side(c, &d->b, b);
    d->bad = KN_NEW(c, bool, a->p->n + 1);
    KN_TRY(align_regions(d));
    KN_TRY(kn_diff_values(c, &d->a, &d->b, d->bad));
    settle_order(d);
    KN_TRY(align_gaps(d, (struct span){ 0, a->p->n, 0, b->p->n }, PICK_SOFT));
    make_rows(d);
    conclude(d);
    return KILN_OK;
}
