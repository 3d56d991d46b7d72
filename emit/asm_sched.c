/* asm_sched.c - matrix instructions and everything else side by side.
 *
 * A straight run between edges has matrix instructions, which keep their
 * order, and others, which keep theirs. One wave a SIMD issues an instruction
 * in 4 clk and a matrix instruction occupies the pipe for 16 or more: the
 * others are spread evenly into that time. Runs in which a matrix instruction
 * needs another's result stay as they are written. */
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

void
kn_asm_schedule(struct kn_asm *a)
{
    size_t from = 0;

    for (size_t n = 0; n <= a->nop; n++) {
        if (n < a->nop && !is_edge(&a->op[n]))
            continue;
        if (n - from > 1)
            spread(&(struct run){ a, from, n });
        from = n + 1;
    }
}
