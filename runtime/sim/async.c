/* async.c - operations between issue and s_waitcnt. Memory is accessed when
 * an instruction issues; its result stays in the operation until a wait (or
 * the stall of a full counter, or s_endpgm) guarantees it, then it reaches
 * the destination. Which results count as arrived follows CDNA3 ISA 4.4:
 * vector memory and LDS return in order, scalar memory and FLAT in any order,
 * so those need a wait for zero. */
#include "core.h"

void
kn_async_reset(struct kn_async *a, uint64_t seed)
{
    a->vm_seq = a->vm_done = a->ds_seq = a->ds_done = 0;
    a->vm_barrier = a->ds_barrier = 0;
    a->random = seed | 1;
    a->nloose = 0;
    for (unsigned k = 0; k < KN_OUT_OF_ORDER; k++)
        a->loose[k].need = 0;
    memset(a->vcount, 0, sizeof a->vcount);
    memset(a->scount, 0, sizeof a->scount);
}

/* ---- commit and retire -------------------------------------------------- */

static void
commit_row(uint32_t *row, const uint32_t *data, uint64_t exec, unsigned half)
{
    uint32_t keep = half == KN_HALF_LO ? 0xffff0000u
                    : half == KN_HALF_HI ? 0xffffu : 0;

    if (exec == ~(uint64_t)0 && !half) {
        memcpy(row, data, KN_LANES * sizeof *row);
        return;
    }
    for (unsigned l = 0; l < KN_LANES; l++)
        if (exec >> l & 1)
            row[l] = (row[l] & keep) | (data[l] & ~keep);
}

static void
commit(struct kn_wave *w, struct kn_op *op)
{
    if (op->committed)
        return;
    op->committed = true;
    switch (op->kind) {
    case KN_OP_VGPR:
        for (unsigned k = 0; k < op->nreg; k++)
            commit_row(w->v[op->reg + k], op->data[k], op->exec, op->half);
        break;
    case KN_OP_SGPR:
        memcpy(&w->s[op->reg], op->data[0], op->nreg * sizeof w->s[0]);
        break;
    case KN_OP_DMA:
        kn_lds_commit(w, op);
        break;
    default:
        break;
    }
}

static void
count_pending(struct kn_wave *w, const struct kn_op *op, int by)
{
    uint8_t *count = op->kind == KN_OP_VGPR ? w->async->vcount
                                            : w->async->scount;
    uint8_t *flag = op->kind == KN_OP_VGPR ? w->vflag : w->sflag;

    if (op->kind != KN_OP_VGPR && op->kind != KN_OP_SGPR)
        return;
    for (unsigned k = op->reg; k < op->reg + op->nreg; k++) {
        count[k] = (uint8_t)(count[k] + by);
        if (count[k])
            flag[k] |= KN_VF_PENDING;
        else
            flag[k] &= (uint8_t)~KN_VF_PENDING;
    }
}

static void
retire(struct kn_wave *w, struct kn_op *op)
{
    commit(w, op);
    count_pending(w, op, -1);
}

static void
wait_vm(struct kn_wave *w, unsigned n)
{
    struct kn_async *a = w->async;

    while (a->vm_seq - a->vm_done > n)
        retire(w, &a->vm[++a->vm_done % KN_VM_RING]);
}

static void
wait_ds(struct kn_wave *w, unsigned n)
{
    struct kn_async *a = w->async;

    while (a->ds_seq - a->ds_done > n)
        retire(w, &a->ds[++a->ds_done % KN_DS_RING]);
}

/* A counter that reached zero, for the operations that need it to. */
static void
wait_loose(struct kn_wave *w, unsigned counter)
{
    struct kn_async *a = w->async;

    for (unsigned k = 0; a->nloose && k < KN_OUT_OF_ORDER; k++) {
        struct kn_op *op = &a->loose[k];

        if (!op->need)
            continue;
        op->need &= (uint8_t)~counter;
        if (!op->need) {
            retire(w, op);
            a->nloose--;
        }
    }
}

void
kn_wait(struct kn_wave *w, unsigned vm, unsigned lgkm)
{
    wait_vm(w, vm);
    wait_ds(w, lgkm);
    if (!vm)
        wait_loose(w, KN_C_VM);
    if (!lgkm)
        wait_loose(w, KN_C_LGKM);
    if (w->group->nwaves == 1)
        kn_lds_settle(w);
}

/* ---- issue -------------------------------------------------------------- */

static struct kn_op *
new_loose(struct kn_wave *w)
{
    struct kn_async *a = w->async;

    if (a->nloose == KN_OUT_OF_ORDER)    /* more than the counter holds */
        wait_loose(w, KN_C_VM | KN_C_LGKM);
    for (unsigned k = 0; k < KN_OUT_OF_ORDER; k++)
        if (!a->loose[k].need) {
            a->nloose++;
            return &a->loose[k];
        }
    return &a->loose[0];
}

static void
start(struct kn_op *op, uint32_t seq, uint32_t inst)
{
    op->kind = KN_OP_NONE;
    op->nreg = 0;
    op->half = KN_HALF_NONE;
    op->need = 0;
    op->committed = false;
    op->seq = seq;
    op->inst = inst;
    op->stamp = 0;
    op->exec = 0;
}

struct kn_op *
kn_op_new(struct kn_wave *w, const struct kn_inst *i, unsigned counters,
          bool ordered)
{
    struct kn_async *a = w->async;
    uint32_t inst = kn_inst_index(w, i);
    struct kn_op *op = NULL;

    if (counters & KN_C_VM) {
        wait_vm(w, KN_VM_MAX - 1);
        op = &a->vm[++a->vm_seq % KN_VM_RING];
        start(op, a->vm_seq, inst);
    }
    if (counters & KN_C_LGKM && ordered) {
        wait_ds(w, KN_LGKM_MAX - 1);
        op = &a->ds[++a->ds_seq % KN_DS_RING];
        start(op, a->ds_seq, inst);
    }
    if (!ordered) {
        op = new_loose(w);
        start(op, 0, inst);
        op->need = (uint8_t)counters;
    }
    return op;
}

static bool
commits_now(struct kn_wave *w)
{
    struct kn_async *a = w->async;

    switch (w->group->run->l->order) {
    case KN_ORDER_EARLIEST:
        return true;
    case KN_ORDER_RANDOM:
        a->random ^= a->random << 13;
        a->random ^= a->random >> 7;
        a->random ^= a->random << 17;
        return a->random >> 40 & 1;
    default:
        return false;
    }
}

/* What is before an operation in its queue returns before it does (CDNA3 ISA
 * 4.4): a load may follow one into the same register without a wait. */
static void
commit_in_order(struct kn_wave *w, struct kn_op *op)
{
    struct kn_async *a = w->async;

    if (op == &a->vm[op->seq % KN_VM_RING])
        for (uint32_t s = a->vm_done + 1; s != op->seq; s++)
            commit(w, &a->vm[s % KN_VM_RING]);
    else if (op == &a->ds[op->seq % KN_DS_RING])
        for (uint32_t s = a->ds_done + 1; s != op->seq; s++)
            commit(w, &a->ds[s % KN_DS_RING]);
    commit(w, op);
}

void
kn_op_issue(struct kn_wave *w, struct kn_op *op)
{
    count_pending(w, op, 1);
    if (commits_now(w))
        commit_in_order(w, op);
}

/* ---- uses of what has not arrived --------------------------------------- */

static void
register_name(const struct kn_wave *w, unsigned reg, bool vector, char *buf,
              size_t n)
{
    bool acc = vector && reg >= w->accum_offset;

    snprintf(buf, n, "%c%u", !vector ? 's' : acc ? 'a' : 'v',
             acc ? reg - w->accum_offset : reg);
}

struct use {                 /* an access to registers */
    struct kn_wave *w;
    const struct kn_inst *i;
    const struct kn_range *r;
    uint64_t mask;
    bool vector;
};

static void
poison(const struct use *u, const struct kn_op *op, unsigned reg)
{
    uint64_t lanes = u->mask & op->exec;

    if (op->committed)
        return;
    if (!u->vector) {
        u->w->s[reg] = KN_POISON;
        return;
    }
    for (unsigned l = 0; l < KN_LANES; l++)
        if (lanes >> l & 1)
            u->w->v[reg][l] = KN_POISON;
}

struct wait_note {           /* how far the counter is, for the sentence */
    const char *counter;
    unsigned outstanding, allowed;
};

static void
report_use(const struct use *u, const struct kn_op *op, unsigned reg,
           const struct wait_note *n)
{
    const struct kn_inst *from = &u->w->group->program->inst[op->inst];
    uint64_t lanes = u->vector ? u->mask & op->exec : 0;
    int lane = lanes ? __builtin_ctzll(lanes) : -1;
    char name[16];

    register_name(u->w, reg, u->vector, name, sizeof name);
    kn_report(u->w, u->i, KN_F_USE_BEFORE_WAIT,
              KN_PAIR(lane, reg, op->inst, u->w->id),
              "%s %s while %s at 0x%llx is on its way, %s %u of %u",
              u->r->role == KN_R_WRITE ? "overwrites" : "reads", name,
              kn_isa[from->op].mnemonic, (unsigned long long)from->pc,
              n->counter, n->outstanding, n->allowed);
}

/* Does op write a register of the access that is not there yet? */
static bool
overlaps(const struct use *u, const struct kn_op *op, unsigned *first,
         unsigned *last)
{
    unsigned lo = u->r->reg, hi = lo + u->r->n;

    if (op->kind != (u->vector ? KN_OP_VGPR : KN_OP_SGPR))
        return false;
    if (u->vector && !(op->exec & u->mask))
        return false;
    *first = lo > op->reg ? lo : op->reg;
    *last = hi < op->reg + op->nreg ? hi : op->reg + op->nreg;
    return *first < *last;
}

static void
check_op(const struct use *u, const struct kn_op *op,
         const struct wait_note *n)
{
    unsigned first, last;

    if (!overlaps(u, op, &first, &last))
        return;
    report_use(u, op, first, n);
    if (u->r->role != KN_R_WRITE)
        for (unsigned k = first; k < last; k++)
            poison(u, op, k);
}

static void
check_loose(const struct use *u)
{
    struct kn_async *a = u->w->async;

    for (unsigned k = 0; a->nloose && k < KN_OUT_OF_ORDER; k++) {
        const struct kn_op *op = &a->loose[k];
        bool lgkm = op->need & KN_C_LGKM;

        if (op->need)
            check_op(u, op, &(struct wait_note){
                lgkm ? "lgkmcnt" : "vmcnt", a->nloose, 0 });
    }
}

void
kn_check_vgpr(struct kn_wave *w, const struct kn_inst *i,
              const struct kn_range *r, uint64_t mask, unsigned order)
{
    struct kn_async *a = w->async;
    struct use u = { w, i, r, mask, true };
    bool write = r->role == KN_R_WRITE;

    if (!write || !(order & KN_C_VM))
        for (uint32_t s = a->vm_done + 1; s <= a->vm_seq; s++)
            check_op(&u, &a->vm[s % KN_VM_RING], &(struct wait_note){
                "vmcnt", a->vm_seq - a->vm_done, a->vm_seq - s });
    if (!write || !(order & KN_C_LGKM))
        for (uint32_t s = a->ds_done + 1; s <= a->ds_seq; s++)
            check_op(&u, &a->ds[s % KN_DS_RING], &(struct wait_note){
                "lgkmcnt", a->ds_seq - a->ds_done, a->ds_seq - s });
    check_loose(&u);
}

void
kn_check_sgpr(struct kn_wave *w, const struct kn_inst *i,
              const struct kn_range *r)
{
    struct use u = { w, i, r, ~(uint64_t)0, false };

    check_loose(&u);
}
