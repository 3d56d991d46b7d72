/* asm_reads.c - what a reordered kernel reads is what it read before.
 *
 * An operation reads, by dword of a register, M0, SCC and EXEC, what the last write
 * in front of it left, and operations of one kind of memory keep their order. That
 * is noted by operation before the kernel is scheduled and compared behind it, with
 * a second turn of every loop for what comes round. Schedulers are not asked why
 * they moved what they moved. */
#include "asm.h"

/* What is no register and is read like one. */
enum { M0, SCC, EXEC, MEMORY, LDS, SCALAR, OTHERS };

struct reader {
    const struct kn_asm *a;
    uint32_t *base;          /* by register: its first dword in last[] */
    uint32_t *last;          /* by dword: number of the latest write, 0 none */
    uint32_t *other;
    uint64_t *reads;         /* by number of an operation */
};

static uint64_t
fold(uint64_t h, uint32_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

static int
memory_of(const struct kn_asm_op *x)
{
    switch (kn_isa[x->isa].unit) {
    case KN_U_VMEM: return MEMORY;
    case KN_U_LDS: return LDS;
    case KN_U_SMEM: return SCALAR;
    default: return -1;
    }
}

/* A clear of an accumulator, which may become a copy of the first. */
static bool
clears(const struct kn_asm_op *x)
{
    return x->isa == KN_I_v_accvgpr_write_b32 || x->isa == KN_I_v_accvgpr_mov_b32;
}

static uint64_t
read_operand(const struct reader *r, const struct kn_asm_opnd *o, uint64_t h)
{
    uint32_t n = o->kind != KN_ASM_REG ? 0 : o->all ? 1 : o->n;

    if (o->kind == KN_ASM_M0)
        return fold(h, r->other[M0]);
    for (uint32_t d = 0; d < n; d++)
        h = fold(h, r->last[r->base[o->v] + o->sub + d]);
    return h;
}

static uint64_t
read_others(const struct reader *r, const struct kn_asm_op *x, uint64_t h)
{
    const struct kn_isa_row *row = &kn_isa[x->isa];
    int memory = memory_of(x);

    if (row->flags & KN_IF_RSCC)
        h = fold(h, r->other[SCC]);
    if (row->flags & KN_IF_RM0 || kn_asm_fills_lds(x))
        h = fold(h, r->other[M0]);
    if (row->flags & KN_IF_REXEC || row->unit == KN_U_VALU ||
        row->unit == KN_U_VMEM || row->unit == KN_U_LDS)
        h = fold(h, r->other[EXEC]);
    return memory < 0 ? h : fold(h, r->other[memory]);
}

static void
write_all(struct reader *r, const struct kn_asm_op *x)
{
    uint64_t flags = kn_isa[x->isa].flags;
    int memory = memory_of(x);

    for (int k = 0; k < x->ndst; k++) {
        const struct kn_asm_opnd *o = &x->o[k];

        if (o->kind == KN_ASM_M0)
            r->other[M0] = x->number;
        for (uint32_t d = 0; o->kind == KN_ASM_REG && d < o->n; d++)
            r->last[r->base[o->v] + o->sub + d] = x->number;
    }
    if (flags & KN_IF_WSCC)
        r->other[SCC] = x->number;
    if (flags & KN_IF_WEXEC)
        r->other[EXEC] = x->number;
    if (memory >= 0)
        r->other[memory] = x->number;
}

static void
step(struct reader *r, const struct kn_asm_op *x)
{
    bool keeps = kn_asm_keeps(x);
    uint64_t h = r->reads[x->number];

    if (x->what != KN_ASM_INST)
        return;
    for (int k = keeps ? 0 : x->ndst; k < x->nopnd && !clears(x); k++)
        h = read_operand(r, &x->o[k], h);
    r->reads[x->number] = fold(read_others(r, x, h), 1);
    write_all(r, x);
}

/* In the order of the text, each loop twice. */
static void
walk(struct reader *r)
{
    const struct kn_asm *a = r->a;
    uint32_t *at = kn_asm_labels(a);
    bool *turned = KN_NEW(a->c, bool, a->nop + 1), ends;

    for (size_t n = 0; n < a->nop; n++) {
        int64_t to = kn_asm_target(a, n, at, &ends);

        step(r, &a->op[n]);
        if (to < 0 || (size_t)to > n || turned[n])
            continue;
        turned[n] = true;
        n = (size_t)to - 1;
    }
}

static uint64_t *
reads_of(struct kn_asm *a, size_t numbers)
{
    struct reader r = { .a = a, .base = KN_NEW(a->c, uint32_t, a->nreg + 1),
                        .other = KN_NEW(a->c, uint32_t, OTHERS),
                        .reads = KN_NEW(a->c, uint64_t, numbers + 1) };

    for (size_t v = 0; v < a->nreg; v++)
        r.base[v + 1] = r.base[v] + a->reg[v].n;
    r.last = KN_NEW(a->c, uint32_t, r.base[a->nreg] + 1);
    walk(&r);
    return r.reads;
}

struct kn_asm_reads
kn_asm_note_reads(struct kn_asm *a)
{
    for (size_t n = 0; n < a->nop; n++)
        a->op[n].number = (uint32_t)n + 1;
    return (struct kn_asm_reads){ reads_of(a, a->nop), a->nop };
}

kiln_status
kn_asm_same_reads(struct kn_asm *a, const struct kn_asm_reads *before)
{
    uint64_t *now = reads_of(a, before->n);

    for (size_t n = 0; n < a->nop; n++) {
        const struct kn_asm_op *x = &a->op[n];

        if (now[x->number] != before->of[x->number])
            return kn_fail(a->c, KILN_FINDING, "gate order: kernel %s: %s of "
                           "operation %u reads another value where it was moved to",
                           a->f->name, kn_isa[x->isa].mnemonic, (unsigned)x->from);
    }
    return KILN_OK;
}
