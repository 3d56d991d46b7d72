/* asm_fill.c - what is done while a wave waits. Waits for memory here are those
 * of the kernel's fences; what LDS and scalar loads need comes later. */
#include "asm.h"

#include <string.h>

static bool
is_wait(const struct kn_asm_op *x)
{
    return x->what == KN_ASM_INST && x->isa == KN_I_s_waitcnt;
}

/* Waits side by side are one, as strong as the strongest: what is filled in later
 * would stand between them. */
static void
join_waits(struct kn_asm *a)
{
    size_t kept = 0;

    for (size_t n = 0; n < a->nop; n++) {
        struct kn_asm_op *x = &a->op[n], *last = kept ? &a->op[kept - 1] : NULL;

        if (last && is_wait(last) && is_wait(x)) {
            last->vm = x->vm < last->vm ? x->vm : last->vm;
            last->lgkm = x->lgkm < last->lgkm ? x->lgkm : last->lgkm;
        } else {
            a->op[kept++] = *x;
        }
    }
    a->nop = kept;
}

/* A wait in front of a barrier goes in front of the matrix instruction before
 * it, beside which the barrier is then reached a slot sooner. */
static void
wait_early(struct kn_asm *a)
{
    for (size_t n = 0; n + 2 < a->nop; n++) {
        struct kn_asm_op x = a->op[n];

        if (!kn_asm_is_matrix(&x) || !is_wait(&a->op[n + 1]) ||
            a->op[n + 2].what != KN_ASM_INST ||
            a->op[n + 2].isa != KN_I_s_barrier)
            continue;
        a->op[n] = a->op[n + 1];
        a->op[n + 1] = x;
    }
}

/* Scalar operations behind a wait and a barrier, such as make the resource of
 * the copies that follow, go in front of both: they need neither. */
static void
prepare_early(struct kn_asm *a)
{
    for (size_t n = 0; n + 1 < a->nop; n++) {
        struct kn_asm_op wait = a->op[n], barrier = a->op[n + 1];
        size_t k = n + 2;

        if (!is_wait(&wait) ||
            barrier.what != KN_ASM_INST || barrier.isa != KN_I_s_barrier)
            continue;
        for (; k < a->nop && a->op[k].what == KN_ASM_INST && a->op[k].ndst &&
               kn_isa[a->op[k].isa].unit == KN_U_SALU; k++)
            a->op[k - 2] = a->op[k];
        a->op[k - 2] = wait;
        a->op[k - 1] = barrier;
        n = k - 1;
    }
}

/* What is brought in front of a wait, from behind it. */
struct filling {
    struct kn_asm *a;
    const bool *loaded;      /* by register: memory is read into it */
    size_t wait;             /* where the wait is */
    size_t n;                /* operations looked at that stay, up to here */
    bool scc;                /* SCC is asked for or set by what stays */
};

enum { STAYING_MOST = 48 };

/* As kn_asm_depends, of whole registers: the write of one dword may begin the
 * life of all. */
static bool
share_register(const struct kn_asm_op *x, const struct kn_asm_op *y)
{
    for (int i = 0; i < x->nopnd; i++)
        for (int k = 0; k < y->nopnd; k++)
            if ((i < x->ndst || k < y->ndst) && x->o[i].kind == KN_ASM_REG &&
                y->o[k].kind == KN_ASM_REG && x->o[i].v == y->o[k].v)
                return true;
    return false;
}

static bool
may_pass_wait(const struct filling *f, size_t k)
{
    const struct kn_asm_op *op = f->a->op, *x = &op[k];
    uint64_t scc = kn_isa[x->isa].flags & (KN_IF_RSCC | KN_IF_WSCC);

    if ((kn_isa[x->isa].unit != KN_U_SALU && kn_isa[x->isa].unit != KN_U_VALU) ||
        !x->ndst || x->o[0].kind == KN_ASM_M0 || (scc && f->scc))
        return false;
    for (int i = 0; i < x->nopnd; i++)
        if (x->o[i].kind == KN_ASM_M0 ||
            (x->o[i].kind == KN_ASM_REG && f->loaded[x->o[i].v]))
            return false;
    for (size_t n = f->wait + 1; n < k; n++)
        if (share_register(&op[n], x))
            return false;
    return true;
}

static void
fill_wait(struct filling *f)
{
    struct kn_asm_op *op = f->a->op;

    for (size_t k = f->wait + 1; k < f->a->nop && !kn_asm_is_edge(&op[k]); k++)
        if (kn_asm_is_matrix(&op[k]))
            return;
    for (size_t k = f->wait + 1; k < f->a->nop && f->n < STAYING_MOST &&
                                 !kn_asm_is_edge(&op[k]); k++) {
        struct kn_asm_op x = op[k];

        if (!may_pass_wait(f, k)) {
            f->scc |= kn_isa[x.isa].flags & (KN_IF_RSCC | KN_IF_WSCC);
            f->n++;
            continue;
        }
        memmove(&op[f->wait + 1], &op[f->wait], (k - f->wait) * sizeof *op);
        op[f->wait++] = x;
    }
}

/* Whether SCC is asked for behind operation n before it is set. */
static bool
scc_lives(const struct kn_asm *a, size_t n)
{
    for (; n < a->nop && a->op[n].what == KN_ASM_INST; n++)
        if (kn_isa[a->op[n].isa].flags & KN_IF_RSCC)
            return true;
        else if (kn_isa[a->op[n].isa].flags & KN_IF_WSCC)
            return false;
    return false;
}

/* Values that need nothing of what a wait is for are computed meanwhile. */
static void
fill_waits(struct kn_asm *a)
{
    bool *loaded = KN_NEW(a->c, bool, a->nreg + 1);

    for (size_t n = 0; n < a->nop; n++)
        for (int k = 0; k < a->op[n].ndst; k++)
            if (a->op[n].what == KN_ASM_INST && a->op[n].o[k].kind == KN_ASM_REG &&
                kn_isa[a->op[n].isa].unit == KN_U_VMEM)
                loaded[a->op[n].o[k].v] = true;
    for (size_t n = 0; n < a->nop; n++)
        if (is_wait(&a->op[n]) && a->op[n].vm < 63) {
            struct filling f = { a, loaded, n, 0, scc_lives(a, n) };

            fill_wait(&f);
            n = f.wait;
        }
}

static bool
joins_shares(const struct kn_fn *f)
{
    for (size_t n = 0; n < f->nins; n++)
        if (f->ins[n].op == KN_OP_arrive)
            return true;
    return false;
}

void
kn_asm_fill(struct kn_asm *a)
{
    join_waits(a);
    wait_early(a);
    if (a->accumulators > a->few)
        return;
    if (a->order || joins_shares(a->f))
        fill_waits(a);
    prepare_early(a);
}
