/* asm_sched.c - matrix instructions and everything else side by side.
 *
 * A straight run between edges has matrix instructions, LDS accesses and others,
 * each of which keep their order. One wave a SIMD issues an instruction
 * in 4 clk and a matrix instruction occupies the pipe for 16 or more: the
 * other two are spread evenly into that time. Runs in which a matrix instruction
 * needs another's result stay as they are written.
 *
 * Copies to LDS do not fill the memory queue at once: up to the next wait or
 * barrier they are moved down, so that they are evenly apart. They pass
 * nothing that counts in vmcnt and no read of another slot's data matters to
 * them; what they need stays in front of them. */
#include "asm.h"

#include <string.h>

struct run {
    struct kn_asm *a;
    size_t from, to;
};

bool
kn_asm_is_matrix(const struct kn_asm_op *x)
{
    return x->what == KN_ASM_INST && kn_isa[x->isa].unit == KN_U_MFMA;
}

/* What nothing passes, not even copies. */
static bool
is_hard(const struct kn_asm_op *x)
{
    return x->what == KN_ASM_AT || kn_isa[x->isa].unit == KN_U_BRANCH ||
           (kn_isa[x->isa].unit == KN_U_INTERNAL && x->what == KN_ASM_INST &&
            x->isa != KN_I_s_setprio);
}

bool
kn_asm_is_edge(const struct kn_asm_op *x)
{
    uint8_t unit = kn_isa[x->isa].unit;

    return x->what != KN_ASM_INST || unit == KN_U_INTERNAL ||
           unit == KN_U_BRANCH;
}

static bool
overlap(const struct kn_asm_opnd *x, const struct kn_asm_opnd *y)
{
    return x->kind == KN_ASM_REG && y->kind == KN_ASM_REG && x->v == y->v &&
           x->sub < y->sub + y->n && y->sub < x->sub + x->n;
}

bool
kn_asm_depends(const struct kn_asm_op *x, const struct kn_asm_op *y)
{
    for (int i = 0; i < x->nopnd; i++)
        for (int k = 0; k < y->nopnd; k++)
            if ((i < x->ndst || k < y->ndst) && overlap(&x->o[i], &y->o[k]))
                return true;
    return false;
}

/* The first matrix instruction of the run behind which `other` may stand;
 * SIZE_MAX if one behind it needs it where it is. */
static size_t
earliest(const struct run *r, size_t other)
{
    size_t n = 0, least = 0;

    for (size_t k = r->from; k < r->to; k++) {
        if (!kn_asm_is_matrix(&r->a->op[k]))
            continue;
        n++;
        if (k < other && kn_asm_depends(&r->a->op[k], &r->a->op[other]))
            least = n;
        else if (k > other && kn_asm_depends(&r->a->op[other], &r->a->op[k]))
            return SIZE_MAX;
    }
    return least;
}

/* Time the operation takes of whoever executes it. Two SIMDs share an LDS port
 * that needs 8 clk for a read of 16 bytes a lane; a matrix instruction behind
 * a write of M0 is the wait state before its use. */
static size_t
weight(const struct kn_asm_op *x)
{
    return kn_isa[x->isa].unit == KN_U_LDS ||
           (x->ndst && x->o[0].kind == KN_ASM_M0) ? 4 : 1;
}

/* Operations of a run that are no matrix instructions: LDS reads and writes,
 * and all others. Each kind keeps its order. */
struct stream {
    size_t *op, *least;      /* place; matrix instructions in front of it */
    size_t *other;           /* operations of the other kind in front of it */
    size_t n, done, load, past;
    size_t beside;           /* those that issue beside matrix instructions, others behind */
};

enum { LDS_STREAM, REST_STREAM, STREAMS };

static int
kind_of(const struct kn_asm_op *x)
{
    return kn_isa[x->isa].unit == KN_U_LDS ? LDS_STREAM : REST_STREAM;
}

/* How many operations of the other stream must be in front of operation k. */
static size_t
needed(const struct run *r, const struct stream *other, size_t k)
{
    for (size_t n = other->n; n--;)
        if (kn_asm_depends(&r->a->op[other->op[n]], &r->a->op[k]))
            return n + 1;
    return 0;
}

/* false: a matrix instruction needs an operation where it is. */
static bool
divide(const struct run *r, struct stream s[STREAMS], size_t *matrix)
{
    struct kn_asm *a = r->a;
    size_t n = r->to - r->from;

    for (int k = 0; k < STREAMS; k++)
        s[k] = (struct stream){ .op = KN_NEW(a->c, size_t, n),
                                .least = KN_NEW(a->c, size_t, n),
                                .other = KN_NEW(a->c, size_t, n) };
    for (size_t k = r->from; k < r->to; k++) {
        struct stream *x = &s[kind_of(&a->op[k])];

        if (kn_asm_is_matrix(&a->op[k])) {
            ++*matrix;
            continue;
        }
        x->op[x->n] = k;
        x->load += weight(&a->op[k]);
        x->other[x->n] = needed(r, &s[!kind_of(&a->op[k])], k);
        x->least[x->n] = earliest(r, k);
        x->beside = x->n + 1;
        if (x->least[x->n++] == SIZE_MAX)
            return false;
    }
    return true;
}

static void
put_next(struct kn_asm *a, struct stream *x, struct kn_asm_op *out, size_t *at)
{
    x->past += weight(&a->op[x->op[x->done]]);
    out[(*at)++] = a->op[x->op[x->done++]];
}

/* Instructions that issue while a matrix instruction runs, one in 4 clk; more,
 * if the run has more of them. */
static size_t
room_behind(const struct kn_asm *a, const struct kn_asm_op *x,
            const struct stream s[STREAMS], size_t matrices)
{
    size_t all = s[LDS_STREAM].beside + s[REST_STREAM].beside;
    size_t room = kn_asm_cycles(a, x) / 4;
    size_t need = (all + matrices - 1) / matrices;

    return room > need + 1 ? room - 1 : need;
}

/* What is due behind matrix instruction m[0] of m[1], m[2] at most. */
static void
put_due(struct kn_asm *a, struct stream s[STREAMS], const size_t m[3],
        struct kn_asm_op *out, size_t *at)
{
    size_t from = *at;

    for (int k = 0; k < STREAMS; k++) {
        struct stream *x = &s[k];

        while (x->done < x->beside && x->past * (m[1] - 1) < m[0] * x->load &&
               x->least[x->done] <= m[0] && *at - from < m[2] &&
               x->other[x->done] <= s[!k].done)
            put_next(a, x, out, at);
    }
}

/* LDS reads go in front of the scalar operations before them, which then take
 * their time while the data comes. */
static void
read_first(const struct run *r)
{
    struct kn_asm_op *op = r->a->op;

    for (size_t k = r->from; k < r->to; k++)
        for (size_t n = k; n > r->from && kn_isa[op[n].isa].unit == KN_U_LDS &&
                           kn_isa[op[n - 1].isa].unit == KN_U_SALU &&
                           op[n - 1].o[0].kind != KN_ASM_M0 &&
                           !kn_asm_depends(&op[n - 1], &op[n]); n--) {
            struct kn_asm_op x = op[n];

            op[n] = op[n - 1];
            op[n - 1] = x;
        }
}

static bool
has_matrix(const struct run *r)
{
    for (size_t k = r->from; k < r->to; k++)
        if (kn_asm_is_matrix(&r->a->op[k]))
            return true;
    return false;
}

/* A run without matrix instructions that loads or copies. */
static bool
asks_memory(const struct run *r)
{
    bool asks = false;

    for (size_t k = r->from; k < r->to; k++)
        asks |= kn_isa[r->a->op[k].isa].unit == KN_U_VMEM &&
                !(kn_isa[r->a->op[k].isa].flags & KN_IF_STORE);
    return asks && !has_matrix(r);
}

/* Whether products are made into something else as soon as they are there. */
static bool
takes_products(const struct stream *rest, size_t matrices)
{
    size_t n = 0;

    for (size_t k = 0; k < rest->n; k++)
        n += rest->least[k] > 0;
    return matrices && n >= matrices;
}

/* From the first packed f32 on, which would wait for the end of the matrix run, where
 * enough to issue beside all of it comes before. */
static void
hold_packed(const struct kn_asm *a, struct stream *x, size_t matrices)
{
    size_t n = 0;

    while (n < x->n && !(kn_isa[a->op[x->op[n]].isa].flags & KN_IF_PK32))
        n++;
    if (n < 2 * matrices)
        return;
    for (x->beside = n; n < x->n; n++)
        x->load -= weight(&a->op[x->op[n]]);
}

static void
spread(const struct run *r)
{
    struct kn_asm *a = r->a;
    size_t m[3] = { 0, 0, 0 }, at = 0;
    struct kn_asm_op *out = KN_NEW(a->c, struct kn_asm_op, r->to - r->from);
    struct stream s[STREAMS], *l = &s[LDS_STREAM], *x = &s[REST_STREAM];

    if (a->order && a->accumulators <= a->few && asks_memory(r)) {
        kn_asm_order(a, r->from, r->to, true);
        return;
    }
    if (!divide(r, s, &m[1]) || (a->order && !kn_targets[a->f->target].packed_waits &&
                                 takes_products(x, m[1]))) {
        if (a->order && has_matrix(r))
            kn_asm_order(a, r->from, r->to, false);
        else if (a->accumulators <= a->few)
            read_first(r);
        return;
    }
    if (!m[1] || !(l->n + x->n))
        return;
    if (a->chains && kn_asm_fills_chains(a, r->from, r->to)) {
        kn_asm_order(a, r->from, r->to, false);
        return;
    }
    if (kn_targets[a->f->target].packed_waits && !takes_products(x, m[1]))
        hold_packed(a, x, m[1]);
    for (size_t k = r->from; k < r->to; k++) {
        if (!kn_asm_is_matrix(&a->op[k]))
            continue;
        out[at++] = a->op[k];
        m[0]++;
        m[2] = room_behind(a, &a->op[k], s, m[1]);
        put_due(a, s, m, out, &at);
    }
    while (l->done < l->n || x->done < x->n)
        put_next(a, x->done == x->n || (l->done < l->n &&
                                        l->op[l->done] < x->op[x->done])
                        ? l : x, out, &at);
    memcpy(&a->op[r->from], out, (r->to - r->from) * sizeof *out);
}

/* ---- copies ---- */

/* A copy to LDS with the M0 it takes. */
static bool
is_copy(const struct run *r, size_t n)
{
    const struct kn_asm_op *m = &r->a->op[n];

    return n + 1 < r->to && m->what == KN_ASM_INST && m->ndst == 1 &&
           m->o[0].kind == KN_ASM_M0 && kn_asm_fills_lds(&m[1]);
}

/* A constant put into an accumulator, which is a tile of at least 4 dwords. */
static bool
is_clear(const struct kn_asm *a, const struct kn_asm_op *x)
{
    return x->what == KN_ASM_INST && x->ndst == 1 && !x->dpp &&
           x->o[1].kind == KN_ASM_IMM &&
           (x->isa == KN_I_v_accvgpr_write_b32 ||
            ((x->isa == KN_I_v_mov_b32 || x->isa == KN_I_v_mov_b64) && a->accumulators <= a->few &&
             a->reg[x->o[0].v].n >= 4));
}

/* How many of the operations from `first` on a copy may pass. */
static size_t
reach(const struct run *r, size_t copy, size_t first)
{
    const struct kn_asm_op *op = r->a->op;
    size_t n;

    for (n = first; n < r->to; n++)
        if (!is_copy(r, n) && (n == r->from || !is_copy(r, n - 1)) &&
            (kn_isa[op[n].isa].unit == KN_U_VMEM ||
             kn_asm_depends(&op[copy], &op[n]) || kn_asm_depends(&op[copy + 1], &op[n])))
            break;
    return n;
}

/* Nobody tests SCC from operation n on before it is set again: M0 may be
 * written by an addition there. */
static bool
scc_free(const struct run *r, size_t n)
{
    for (; n < r->to; n++) {
        uint64_t flags = kn_isa[r->a->op[n].isa].flags;

        if (r->a->op[n].what == KN_ASM_INST && !is_copy(r, n)) {
            if (flags & KN_IF_RSCC)
                return false;
            if (flags & KN_IF_WSCC)
                return true;
        }
    }
    return n >= r->a->nop || !(kn_isa[r->a->op[n].isa].flags & KN_IF_RSCC);
}

/* The operation that a copy may not pass: one that needs it, or the one that sets
 * what SCC holds up to a test, be it behind the run. */
static size_t
farthest(const struct run *r, size_t copy)
{
    size_t until = reach(r, copy, copy + 2);

    while (until > copy + 2 && !scc_free(r, until))
        until--;
    return until;
}

struct copies {
    size_t *at, *until;      /* operation; the one it may not pass */
    size_t n, put, matrix;   /* matrix: in the run */
};

/* Copies keep their order: none waits longer than one behind it may. */
static void
find_copies(const struct run *r, struct copies *c)
{
    c->at = KN_NEW(r->a->c, size_t, r->to - r->from);
    c->until = KN_NEW(r->a->c, size_t, r->to - r->from);
    for (size_t n = r->from; n < r->to; n++) {
        c->matrix += kn_asm_is_matrix(&r->a->op[n]);
        if (is_copy(r, n)) {
            c->until[c->n] = farthest(r, n);
            c->at[c->n++] = n;
        }
    }
    for (size_t k = c->n; k-- > 1;)
        if (c->until[k - 1] > c->until[k])
            c->until[k - 1] = c->until[k];
}

/* Part of a run's matrix instructions beside which copies start; the others
 * are their time to arrive before the wait that follows. */
enum { COPY_SHARE = 100 };

static void
delay_copies(const struct run *r)
{
    struct kn_asm *a = r->a;
    struct kn_asm_op *out = KN_NEW(a->c, struct kn_asm_op, r->to - r->from);
    struct copies c = { 0 };
    size_t at = 0, passed = 0;

    find_copies(r, &c);
    if (!c.n || c.matrix < 2 * c.n)
        return;
    for (size_t n = r->from; n < r->to; n++) {
        bool copy = is_copy(r, n);

        while (c.put < c.n && c.at[c.put] < n &&
               (c.until[c.put] <= n ||
                (passed * c.n * 100 >= c.put * c.matrix * COPY_SHARE &&
                 scc_free(r, n)))) {
            out[at++] = a->op[c.at[c.put]];
            out[at++] = a->op[c.at[c.put++] + 1];
        }
        n += copy;
        if (copy)
            continue;
        passed += kn_asm_is_matrix(&a->op[n]);
        out[at++] = a->op[n];
    }
    for (; c.put < c.n; c.put++) {
        out[at++] = a->op[c.at[c.put]];
        out[at++] = a->op[c.at[c.put] + 1];
    }
    memcpy(&a->op[r->from], out, (r->to - r->from) * sizeof *out);
}

/* Instructions in front of the next copy of a run without matrix instructions:
 * the queue takes one of four waves in 64 clk, 16 instructions, and one of fewer
 * waves sooner. */
enum { COPY_PACE = 13, PACED_WAVES = 4 };

static size_t
copy_pace(const struct kn_asm *a)
{
    uint32_t waves = kn_waves(a->f);

    return waves < PACED_WAVES ? 4 * waves - 3 : COPY_PACE;
}

/* Resources, four scalar registers each, of copies in front of operation n that wait. */
enum { WAITING_RESOURCES = 2 };

static bool
is_crowded(const struct run *r, const struct copies *c, size_t n)
{
    const struct kn_asm_op *op = r->a->op;
    uint32_t resources = 0;

    for (size_t k = c->put + 1; k < c->n && c->at[k] < n; k++)
        resources += op[c->at[k] + 1].o[1].v != op[c->at[k - 1] + 1].o[1].v;
    return resources > WAITING_RESOURCES;
}

/* The way into the loop: what the next operand's copies need is computed
 * while those of the last one leave. */
static void
pace_copies(const struct run *r)
{
    struct kn_asm *a = r->a;
    struct kn_asm_op *out = KN_NEW(a->c, struct kn_asm_op, r->to - r->from);
    struct copies c = { 0 };
    size_t at = 0, pace = copy_pace(a), since = pace;

    find_copies(r, &c);
    if (!c.n || c.matrix)
        return;
    for (size_t n = r->from; n < r->to; n++) {
        while (c.put < c.n && c.at[c.put] < n &&
               (c.until[c.put] <= n ||
                ((since >= pace || is_crowded(r, &c, n)) && scc_free(r, n)))) {
            out[at++] = a->op[c.at[c.put]];
            out[at++] = a->op[c.at[c.put++] + 1];
            since = 0;
        }
        if (is_copy(r, n)) {
            n++;
            continue;
        }
        since += !is_clear(a, &a->op[n]);
        out[at++] = a->op[n];
    }
    for (; c.put < c.n; c.put++) {
        out[at++] = a->op[c.at[c.put]];
        out[at++] = a->op[c.at[c.put] + 1];
    }
    memcpy(&a->op[r->from], out, (r->to - r->from) * sizeof *out);
}

/* How many operations each gap behind a copy has; gap[0]: in front of all. */
static size_t
measure_gaps(const struct kn_asm_op *op, size_t n, size_t *gap)
{
    size_t copies = 0;

    for (size_t k = 0; k < n; k++) {
        bool copy = k && op[k].nopnd == 3 && op[k - 1].ndst == 1 &&
                    op[k - 1].o[0].kind == KN_ASM_M0;

        copies += copy;
        gap[copies] += !copy;
    }
    return copies;
}

/* Operations a gap is filled up to, so that `all` more find room. */
static size_t
level_of(const size_t *gap, size_t copies, size_t all)
{
    size_t level = 0, room = 0;

    while (copies && room < all) {
        level++;
        for (size_t k = 1; k <= copies; k++)
            room += gap[k] < level;
    }
    return level;
}

/* From the second on, AGPRs are copies of the first: half the code. */
static void
shorten_clears(struct kn_asm_op *x, size_t n)
{
    for (size_t k = 1; k < n; k++)
        if (x[k].isa == KN_I_v_accvgpr_write_b32 &&
            x[k].o[1].v == x[0].o[1].v) {
            x[k].isa = KN_I_v_accvgpr_mov_b32;
            x[k].o[1] = x[0].o[0];
            x[k].o[1].fresh = 0;
        }
}

/* Whether an operation reads or writes what a clear of the run does: a sum
 * that is stored and cleared in one run. */
static bool
clears_matter(const struct kn_asm_op *late, size_t nlate,
              const struct kn_asm_op *other, size_t rest)
{
    for (size_t k = 0; k < nlate; k++)
        for (size_t n = 0; n < rest; n++)
            if (kn_asm_depends(&late[k], &other[n]))
                return true;
    return false;
}

/* Accumulators are cleared between the first copies, whose queue is full, where
 * least else is; one between M0 and its use, which is the wait state. */
static void
delay_clears(const struct run *r)
{
    struct kn_asm *a = r->a;
    size_t n = r->to - r->from, at = r->from, nlate = 0, rest = 0, copies = 0;
    struct kn_asm_op *late = KN_NEW(a->c, struct kn_asm_op, n);
    struct kn_asm_op *other = KN_NEW(a->c, struct kn_asm_op, n);
    size_t *gap = KN_NEW(a->c, size_t, n + 1), level, have;

    for (size_t k = r->from; k < r->to; k++) {
        if (kn_asm_is_matrix(&a->op[k]) || kn_isa[a->op[k].isa].unit == KN_U_LDS)
            return;
        *(is_clear(a, &a->op[k]) ? &late[nlate++] : &other[rest++]) = a->op[k];
    }
    if (clears_matter(late, nlate, other, rest))
        return;
    shorten_clears(late, nlate);
    level = level_of(gap, measure_gaps(other, rest, gap), nlate);
    for (size_t k = 0, put = 0; k < rest; k++) {
        bool copy = k && other[k].nopnd == 3 && other[k - 1].ndst == 1 &&
                    other[k - 1].o[0].kind == KN_ASM_M0;

        if (copy && copies && put < nlate)
            a->op[at++] = late[put++];
        a->op[at++] = other[k];
        copies += copy;
        have = gap[copies];
        for (; put < nlate && ((copy && have < level) || k + 1 == rest); have++)
            a->op[at++] = late[put++];
    }
}

static void
each_run(struct kn_asm *a, bool edge(const struct kn_asm_op *),
         void work(const struct run *))
{
    size_t from = 0;

    for (size_t n = 0; n <= a->nop; n++) {
        if (n < a->nop && !edge(&a->op[n]))
            continue;
        if (n - from > 1)
            work(&(struct run){ a, from, n });
        from = n + 1;
    }
}

void
kn_asm_schedule(struct kn_asm *a)
{
    each_run(a, is_hard, pace_copies);
    each_run(a, is_hard, delay_clears);
    each_run(a, is_hard, delay_copies);
    each_run(a, kn_asm_is_edge, spread);
    kn_asm_fill(a);
}
