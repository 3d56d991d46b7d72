/* asm_sched.c - matrix instructions and everything else side by side.
 *
 * A straight run between edges has matrix instructions, which keep their
 * order, and others, which keep theirs. One wave a SIMD issues an instruction
 * in 4 clk and a matrix instruction occupies the pipe for 16 or more: the
 * others are spread evenly into that time. Runs in which a matrix instruction
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

static bool
is_matrix(const struct kn_asm_op *x)
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

/* What ends a run. */
static bool
is_edge(const struct kn_asm_op *x)
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

/* Must x, written before y, stay before it? */
static bool
depends(const struct kn_asm_op *x, const struct kn_asm_op *y)
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
        if (!is_matrix(&r->a->op[k]))
            continue;
        n++;
        if (k < other && depends(&r->a->op[k], &r->a->op[other]))
            least = n;
        else if (k > other && depends(&r->a->op[other], &r->a->op[k]))
            return SIZE_MAX;
    }
    return least;
}

static void
spread(const struct run *r)
{
    struct kn_asm *a = r->a;
    size_t n = r->to - r->from, others = 0, matrix = 0, at = 0, done = 0;
    size_t *least = KN_NEW(a->c, size_t, n + 1);
    struct kn_asm_op *out = KN_NEW(a->c, struct kn_asm_op, n + 1);
    size_t next = r->from;

    for (size_t k = r->from; k < r->to; k++)
        if (is_matrix(&a->op[k]))
            matrix++;
        else if ((least[others++] = earliest(r, k)) == SIZE_MAX)
            return;
    if (!matrix || !others)
        return;
    for (size_t k = r->from, m = 0; k < r->to; k++) {
        if (!is_matrix(&a->op[k]))
            continue;
        out[at++] = a->op[k];
        m++;
        for (; done < others && done * matrix < m * others && least[done] <= m;
             done++) {
            while (is_matrix(&a->op[next]))
                next++;
            out[at++] = a->op[next++];
        }
    }
    for (; next < r->to; next++)
        if (!is_matrix(&a->op[next]))
            out[at++] = a->op[next];
    memcpy(&a->op[r->from], out, n * sizeof *out);
}

/* ---- copies ---- */

/* A copy to LDS with the M0 it takes. */
static bool
is_copy(const struct run *r, size_t n)
{
    const struct kn_asm_op *m = &r->a->op[n];

    return n + 1 < r->to && m->what == KN_ASM_INST && m->ndst == 1 &&
           m->o[0].kind == KN_ASM_M0 &&
           kn_isa[m[1].isa].unit == KN_U_VMEM && m[1].nopnd == 3;
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
             depends(&op[copy], &op[n]) || depends(&op[copy + 1], &op[n])))
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

struct copies {
    size_t *at, *until;      /* operation; the one it may not pass */
    size_t n, put, matrix;   /* matrix: in the run */
};

static void
find_copies(const struct run *r, struct copies *c)
{
    c->at = KN_NEW(r->a->c, size_t, r->to - r->from);
    c->until = KN_NEW(r->a->c, size_t, r->to - r->from);
    for (size_t n = r->from; n < r->to; n++) {
        c->matrix += is_matrix(&r->a->op[n]);
        if (is_copy(r, n)) {
            c->until[c->n] = reach(r, n, n + 2);
            c->at[c->n++] = n;
        }
    }
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
        passed += is_matrix(&a->op[n]);
        out[at++] = a->op[n];
    }
    for (; c.put < c.n; c.put++) {
        out[at++] = a->op[c.at[c.put]];
        out[at++] = a->op[c.at[c.put] + 1];
    }
    memcpy(&a->op[r->from], out, (r->to - r->from) * sizeof *out);
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
    each_run(a, is_hard, delay_copies);
    each_run(a, is_edge, spread);
}
