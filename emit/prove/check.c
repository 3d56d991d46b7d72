/* check.c - abstract interpretation of the outstanding operations of one wave
 * over the control flow of the final ISA.
 *
 * Vector-memory operations retire in issue order, so do LDS operations; scalar
 * loads do not (CDNA3 ISA 4.4). Per register and per slot the state keeps how
 * many later operations of its counter were issued at least, on any path;
 * `s_waitcnt` with a count not above that makes it safe. All waves run the
 * same code, so one wave's state and the barriers stand for the others. */
#include "check.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    FREE = 64,               /* nothing outstanding */
    NVREG = 512,             /* v0-v255, a0-a255 */
    NSREG = 128
};

/* Contents of a slot: what this wave wrote into it ... */
enum { W_PENDING_MAX = 63, W_APART = 64, W_LANDED = 65, W_VISIBLE = 66 };
/* ... and its reads from it. Where one half of the waves runs a barrier behind
 * the other, a wait leaves a slot two barriers from the last state: *_APART. */
enum { R_PENDING_MAX = 15, R_APART = 16, R_DONE = 17, R_NONE = 18 };

struct slot {
    uint8_t write;           /* operations since, or W_* */
    uint8_t by_lds;          /* written by ds_write: counts in lgkmcnt */
    uint8_t read;            /* operations since, or R_* */
};

struct state {
    bool live;
    bool apart;              /* half of the waves runs a barrier behind */
    bool smem;               /* a scalar load may be outstanding */
    uint8_t vm[NVREG], ds[NVREG];
    uint8_t scalar[NSREG];   /* 1: pending scalar load */
    uint8_t known[NSREG];    /* K_*: what is known of a scalar register */
    struct slot *slot;
};

/* A dword of a lane mask: LLVM keeps loop exits in masks of all zeros or all
 * ones and tests them against EXEC, which is never empty where it matters. */
enum { K_UNKNOWN, K_ZERO, K_ONES, K_NONZERO };

struct checker {
    struct kn_ctx *c;
    const struct kn_program *p;
    const struct kn_access *access;
    uint32_t nslots;
    struct kn_check_result *out;
    bool report;
    bool full_exec;          /* nothing writes EXEC */
    struct kn_cfg g;
    struct state *in;        /* by block: what holds on every way in */
    struct slot *spare[6];   /* states of blocks being passed through */
    unsigned fuel;           /* blocks that may yet be passed through */
    uint8_t *through;        /* by block: worth_passing */
    uint32_t *rank;          /* block -> place in g.order */
    uint32_t *todo, ntodo;   /* heap of the ranks whose `in` changed */
    uint8_t *queued;         /* by block */
};

/* What a finding is about: register `name``number`, or a slot's number. */
struct subject {
    const char *what, *name;
    unsigned number, since;
};

static void
finding(struct checker *k, uint32_t inst, const struct subject *s)
{
    struct kn_check_finding *f;
    char text[128];

    if (!k->report)
        return;
    f = kn_check_add(k->out, inst, KN_SEV_FINDING);
    if (!f)
        return;
    kn_inst_text(k->p->target, &k->p->inst[inst], text, sizeof text);
    snprintf(f->text, sizeof f->text, "%s: %s %s%u, %u operations issued "
             "since", text, s->what, s->name, s->number, s->since);
}

/* ---- lattice ---- */

static uint8_t
least(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

/* Without branches, as the loops over all registers below: they are most of
 * the work, and compilers make vectors of them. */
static bool
meet_registers(uint8_t a[NVREG], const uint8_t b[NVREG])
{
    uint8_t changed = 0;

    for (size_t i = 0; i < NVREG; i++) {
        changed |= b[i] < a[i];
        a[i] = b[i] < a[i] ? b[i] : a[i];
    }
    return changed;
}

static bool
meet(const struct checker *k, struct state *a, const struct state *b)
{
    bool changed = !a->live;

    if (!b->live)
        return false;
    if (!a->live) {
        struct slot *keep = a->slot;

        *a = *b;
        a->slot = keep;
        memcpy(a->slot, b->slot, k->nslots * sizeof *a->slot);
        return true;
    }
    changed |= meet_registers(a->vm, b->vm);
    changed |= meet_registers(a->ds, b->ds);
    for (int i = 0; i < NSREG; i++) {
        if (b->scalar[i] > a->scalar[i])
            a->scalar[i] = changed = true;
        if (a->known[i] != b->known[i] && a->known[i]) {
            a->known[i] = K_UNKNOWN;
            changed = true;
        }
    }
    if (b->apart && !a->apart)
        a->apart = changed = true;
    if (b->smem && !a->smem)
        a->smem = changed = true;
    for (uint32_t s = 0; s < k->nslots; s++) {
        struct slot *x = &a->slot[s];
        const struct slot *y = &b->slot[s];

        if (y->write < x->write || y->read < x->read || y->by_lds > x->by_lds)
            changed = true;
        x->write = least(x->write, y->write);
        x->read = least(x->read, y->read);
        x->by_lds |= y->by_lds;
    }
    return changed;
}

/* ---- registers ---- */

static unsigned
vector_index(const struct kn_opnd *o)
{
    return o->reg + (o->kind == KN_O_AGPR ? 256u : 0u);
}

static bool
is_vector(const struct kn_opnd *o)
{
    return o->kind == KN_O_VGPR || o->kind == KN_O_AGPR;
}

/* A load may overwrite the pending result of an earlier one of its counter:
 * they return in order. */
static void
use_operand(struct checker *k, struct state *s, uint32_t n,
            const struct kn_opnd *o, unsigned loads)
{
    unsigned width = o->width ? o->width : 1;

    for (unsigned i = 0; i < width; i++) {
        if (is_vector(o)) {
            unsigned r = vector_index(o) + i;

            if (r >= NVREG)
                return;
            if (s->vm[r] < FREE && !(loads & KN_C_VM)) {
                finding(k, n, &(struct subject){
                    "no vmcnt wait covers the load into", r < 256 ? "v" : "a",
                    r % 256, s->vm[r] });
                s->vm[r] = FREE;
            }
            if (s->ds[r] < FREE && !(loads & KN_C_LGKM)) {
                finding(k, n, &(struct subject){
                    "no lgkmcnt wait covers the LDS read into",
                    r < 256 ? "v" : "a", r % 256, s->ds[r] });
                s->ds[r] = FREE;
            }
        } else if (o->kind == KN_O_SGPR && o->reg + i < NSREG &&
                   s->scalar[o->reg + i]) {
            finding(k, n, &(struct subject){
                "no lgkmcnt(0) covers the scalar load into", "s", o->reg + i,
                0 });
            s->scalar[o->reg + i] = 0;
        }
    }
}

static void
use_registers(struct checker *k, struct state *s, uint32_t n)
{
    const struct kn_inst *i = &k->p->inst[n];
    const struct kn_isa_row *row = &kn_isa[i->op];
    unsigned loads = !row->store && !row->atomic ? row->counter : 0;

    for (unsigned o = 0; o < i->nopnd; o++)
        use_operand(k, s, n, &i->o[o], o < i->ndst ? loads : 0);
}

static void
set_pending(uint8_t *table, const struct kn_inst *i)
{
    for (unsigned o = 0; o < i->ndst; o++)
        for (unsigned w = 0; is_vector(&i->o[o]) && w < i->o[o].width; w++)
            if (vector_index(&i->o[o]) + w < NVREG)
                table[vector_index(&i->o[o]) + w] = 0;
}

/* ---- counters ---- */

static void
count_up(uint8_t t[NVREG], uint8_t most)
{
    for (size_t i = 0; i < NVREG; i++)
        t[i] = (uint8_t)(t[i] + (t[i] < most));
}

static void
set_free(uint8_t t[NVREG], uint8_t from)
{
    for (size_t i = 0; i < NVREG; i++)
        t[i] = t[i] >= from ? FREE : t[i];
}

static void
issue_vm(struct checker *k, struct state *s)
{
    count_up(s->vm, 63);
    for (uint32_t i = 0; i < k->nslots; i++)
        if (!s->slot[i].by_lds && s->slot[i].write < W_PENDING_MAX)
            s->slot[i].write++;
}

static void
issue_lgkm(struct checker *k, struct state *s)
{
    count_up(s->ds, 15);
    for (uint32_t i = 0; i < k->nslots; i++) {
        if (s->slot[i].by_lds && s->slot[i].write < R_PENDING_MAX)
            s->slot[i].write++;
        if (s->slot[i].read < R_PENDING_MAX)
            s->slot[i].read++;
    }
}

static void
barrier(struct checker *k, struct state *s)
{
    for (uint32_t i = 0; i < k->nslots; i++) {
        if (s->slot[i].write == W_APART || s->slot[i].write == W_LANDED)
            s->slot[i].write++;
        if (s->slot[i].read == R_APART || s->slot[i].read == R_DONE)
            s->slot[i].read++;
    }
}

/* A workgroup of one wave: what it waited for is there for everybody, and
 * LLVM leaves its barriers out. */
static bool
is_alone(const struct checker *k)
{
    uint32_t most = k->p->kernel->max_workgroup;

    return most && most <= 64;
}

static void
wait_vm(struct checker *k, struct state *s, unsigned n)
{
    set_free(s->vm, (uint8_t)n);
    for (uint32_t i = 0; i < k->nslots; i++)
        if (!s->slot[i].by_lds && s->slot[i].write < W_APART &&
            s->slot[i].write >= n)
            s->slot[i].write = s->apart ? W_APART : W_LANDED;
    if (is_alone(k))
        barrier(k, s);
}

/* With scalar loads outstanding only a wait for zero says anything. */
static void
wait_lgkm(struct checker *k, struct state *s, unsigned n)
{
    if (s->smem && n)
        return;
    set_free(s->ds, (uint8_t)n);
    for (uint32_t i = 0; i < k->nslots; i++) {
        struct slot *x = &s->slot[i];

        if (x->by_lds && x->write < W_APART && x->write >= n)
            x->write = s->apart ? W_APART : W_LANDED;
        if (x->read < R_APART && x->read >= n)
            x->read = s->apart ? R_APART : R_DONE;
    }
    if (is_alone(k))
        barrier(k, s);
    if (!n) {
        memset(s->scalar, 0, sizeof s->scalar);
        s->smem = false;
    }
}

/* ---- LDS slots ---- */

static void
read_slot(struct checker *k, struct state *s, uint32_t n,
          const struct kn_access *a, uint16_t slot)
{
    struct slot *x = &s->slot[slot];
    /* A lane's own ds_write and ds_read of one address keep their order. */
    unsigned need = !a->own ? W_VISIBLE : x->by_lds ? 0 : W_APART;

    if (x->write < need)
        finding(k, n, &(struct subject){
            x->write < W_APART ? "no wait covers the writes into LDS slot"
            : s->apart ? "too few barriers publish LDS slot"
                       : "no barrier publishes LDS slot",
            "", slot, x->write < W_APART ? x->write : 0 });
    if (!a->own)
        x->read = 0;
}

static void
write_slot(struct checker *k, struct state *s, uint32_t n,
           const struct kn_access *a)
{
    struct slot *x = &s->slot[a->slot];

    if (x->read != R_NONE)
        finding(k, n, &(struct subject){
            x->read < R_APART ? "reads are outstanding of LDS slot"
            : s->apart ? "too few barriers separate another wave's reads from "
                         "the refill of LDS slot"
                       : "no barrier separates another wave's reads from the "
                         "refill of LDS slot",
            "", a->slot, x->read < R_APART ? x->read : 0 });
    x->by_lds = a->kind == KN_ACC_WRITE;
    x->write = 0;
}

/* ---- one instruction ---- */

static void
issue(struct checker *k, struct state *s, uint32_t n)
{
    const struct kn_inst *i = &k->p->inst[n];
    const struct kn_isa_row *row = &kn_isa[i->op];
    const struct kn_access *a = k->access ? &k->access[n] : NULL;

    if (row->counter & KN_C_VM)
        issue_vm(k, s);
    if (row->counter & KN_C_LGKM)
        issue_lgkm(k, s);
    if (row->mem == KN_M_SMEM) {
        s->smem = true;
        for (unsigned o = 0; o < i->ndst; o++)
            for (unsigned w = 0; w < i->o[o].width; w++)
                if (i->o[o].kind == KN_O_SGPR && i->o[o].reg + w < NSREG)
                    s->scalar[i->o[o].reg + w] = 1;
    } else if (row->counter & KN_C_VM) {
        set_pending(s->vm, i);
    } else if (row->mem == KN_M_DS) {
        set_pending(s->ds, i);
    }
    if (row->mem == KN_M_FLAT)
        set_pending(s->ds, i);
    if (a && a->kind == KN_ACC_READ)
        for (uint16_t h = 0; h <= a->more; h++)
            read_slot(k, s, n, a, (uint16_t)(a->slot + h));
    else if (a && a->kind != KN_ACC_NONE)
        write_slot(k, s, n, a);
}

/* What a mask operand is known to hold. */
static uint8_t
mask_of(const struct state *s, const struct kn_opnd *o)
{
    if (o->kind == KN_O_IMM)
        return o->imm == 0 ? K_ZERO : o->imm == -1 ? K_ONES : K_UNKNOWN;
    if (o->kind == KN_O_SGPR && o->reg == 126)
        return K_NONZERO;    /* exec */
    return o->kind == KN_O_SGPR && o->reg < NSREG ? s->known[o->reg] : K_UNKNOWN;
}

static uint8_t
mask_result(const struct state *s, const struct kn_inst *i)
{
    uint8_t a, b;

    if (i->op == KN_I_s_mov_b64 || i->op == KN_I_s_mov_b32)
        return mask_of(s, &i->o[1]);
    if (i->op != KN_I_s_and_b64 && i->op != KN_I_s_andn2_b64)
        return K_UNKNOWN;
    a = mask_of(s, &i->o[1]);
    b = mask_of(s, &i->o[2]);
    if (i->op == KN_I_s_andn2_b64)
        b = b == K_ZERO ? K_ONES : b == K_ONES ? K_ZERO : K_UNKNOWN;
    if (a == K_ZERO || b == K_ZERO)
        return K_ZERO;
    return a == K_ONES ? b : b == K_ONES ? a : K_UNKNOWN;
}

static void
track_masks(struct state *s, const struct kn_inst *i)
{
    uint8_t v = i->nopnd > 1 ? mask_result(s, i) : K_UNKNOWN;

    for (unsigned o = 0; o < i->ndst; o++)
        for (unsigned w = 0; w < i->o[o].width; w++)
            if (i->o[o].kind == KN_O_SGPR && i->o[o].reg + w < NSREG)
                s->known[i->o[o].reg + w] = v;
}

/* A barrier of all waves, or of the half that the certificate says. */
static void
meet_waves(struct checker *k, struct state *s, uint32_t n)
{
    uint8_t kind = k->access ? k->access[n].kind : KN_ACC_NONE;

    s->apart = kind == KN_ACC_STAGGER || (s->apart && kind != KN_ACC_REJOIN);
    if (kind != KN_ACC_STAGGER)
        barrier(k, s);
}

/* LDS is another workgroup's when the wave has ended. */
static void
end_wave(struct checker *k, struct state *s, uint32_t n)
{
    for (uint32_t i = 0; i < k->nslots; i++)
        if (!s->slot[i].by_lds && s->slot[i].write < W_APART)
            finding(k, n, &(struct subject){
                "copies are still under way into LDS slot", "", i,
                s->slot[i].write });
}

static void
step(struct checker *k, struct state *s, uint32_t n)
{
    const struct kn_inst *i = &k->p->inst[n];

    if (i->op == KN_I_s_waitcnt) {
        if (i->vm < 63)
            wait_vm(k, s, i->vm);
        if (i->lgkm < 15)
            wait_lgkm(k, s, i->lgkm);
        return;
    }
    use_registers(k, s, n);
    track_masks(s, i);
    if (i->op == KN_I_s_barrier)
        meet_waves(k, s, n);
    else if (kn_isa[i->op].flags & KN_IF_END)
        end_wave(k, s, n);
    else if (kn_isa[i->op].counter)
        issue(k, s, n);
}

/* ---- the fixed point ---- */

static void
init_state(const struct checker *k, struct state *s)
{
    memset(s->vm, FREE, sizeof s->vm);
    memset(s->ds, FREE, sizeof s->ds);
    s->slot = KN_NEW(k->c, struct slot, k->nslots + 1);
    for (uint32_t i = 0; i < k->nslots; i++)
        s->slot[i] = (struct slot){ W_VISIBLE, 0, R_NONE };
}

static void
copy_state(const struct checker *k, struct state *to, const struct state *from)
{
    struct slot *keep = to->slot;

    *to = *from;
    to->slot = keep;
    memcpy(to->slot, from->slot, k->nslots * sizeof *to->slot);
}

/* Whether a block holds the barrier of one half of the waves and goes on to
 * `next`. Passing it stands for the other half too, which goes around: the
 * slots change for both. */
static bool
is_half_barrier(const struct checker *k, int32_t block, int32_t next)
{
    const struct kn_block *b;

    if (block < 0 || !k->access)
        return false;
    b = &k->g.blocks[block];
    for (uint32_t n = b->first; n < b->end; n++)
        if (k->access[n].kind >= KN_ACC_STAGGER)
            return b->succ[0] == next || b->succ[1] == next;
    return false;
}

/* Whether the branch that ends a block can go to its successor e. */
static bool
feasible(const struct checker *k, const struct kn_block *b,
         const struct state *s, int e)
{
    const struct kn_inst *i = &k->p->inst[b->end - 1];
    uint8_t vcc = s->known[106];
    bool zero;

    if (is_half_barrier(k, b->succ[!e], b->succ[e]))
        return false;
    if (k->full_exec && (i->op == KN_I_s_cbranch_execz ||
                         i->op == KN_I_s_cbranch_execnz))
        return (e == 1) == (i->op == KN_I_s_cbranch_execnz);
    if ((i->op != KN_I_s_cbranch_vccz && i->op != KN_I_s_cbranch_vccnz) ||
        vcc == K_UNKNOWN)
        return true;
    zero = vcc == K_ZERO;
    return (e == 1) == (zero == (i->op == KN_I_s_cbranch_vccz));
}

/* A block that only computes where to go: it is walked once per way in, so
 * that a mask set on the way decides its branch. */
static bool
passes_through(const struct checker *k, const struct kn_block *b)
{
    for (uint32_t n = b->first; n < b->end; n++) {
        const struct kn_inst *i = &k->p->inst[n];

        if (kn_isa[i->op].counter || i->op == KN_I_s_waitcnt ||
            i->op == KN_I_s_barrier)
            return false;
    }
    return b->end - b->first <= 24;
}

enum { MAX_THREAD = 6, FUEL = 16 };

static bool
tests_vcc(const struct kn_inst *i)
{
    return i->op == KN_I_s_cbranch_vccz || i->op == KN_I_s_cbranch_vccnz;
}

/* Walking a block apart for each way in pays where a mask decides a branch, of
 * its own or of a block soon behind it. */
static void
find_worth_passing(struct checker *k)
{
    const struct kn_cfg *g = &k->g;

    k->through = KN_NEW(k->c, uint8_t, g->nblocks);
    for (uint32_t b = 0; b < g->nblocks; b++)
        k->through[b] = tests_vcc(&k->p->inst[g->blocks[b].end - 1]) &&
                        passes_through(k, &g->blocks[b]);
    for (int turn = 1; turn < MAX_THREAD; turn++)
        for (uint32_t b = 0; b < g->nblocks; b++)
            for (int e = 0; e < 2; e++)
                if (g->blocks[b].succ[e] >= 0 && !k->through[b] &&
                    k->through[g->blocks[b].succ[e]])
                    k->through[b] = passes_through(k, &g->blocks[b]);
}

/* Block b is to be looked at again; those in front of it come first. */
static void
queue_block(struct checker *k, uint32_t b)
{
    uint32_t at = k->ntodo, rank = k->rank[b];

    if (k->queued[b])
        return;
    k->queued[b] = true;
    k->ntodo++;
    for (; at && k->todo[(at - 1) / 2] > rank; at = (at - 1) / 2)
        k->todo[at] = k->todo[(at - 1) / 2];
    k->todo[at] = rank;
}

static uint32_t
take_block(struct checker *k)
{
    uint32_t first = k->g.order[k->todo[0]], last = k->todo[--k->ntodo];
    uint32_t at = 0, next;

    for (; (next = 2 * at + 1) < k->ntodo; at = next) {
        next += next + 1 < k->ntodo && k->todo[next + 1] < k->todo[next];
        if (k->todo[next] >= last)
            break;
        k->todo[at] = k->todo[next];
    }
    k->todo[at] = last;
    k->queued[first] = false;
    return first;
}

static void
run_block(struct checker *k, struct state *s, const struct kn_block *x)
{
    for (uint32_t n = x->first; n < x->end; n++)
        step(k, s, n);
    k->out->work += x->end - x->first;
}

static void
enter_block(struct checker *k, uint32_t b, const struct state *s, int depth)
{
    const struct kn_block *x = &k->g.blocks[b];
    struct state now = { 0 };

    if (depth == MAX_THREAD || !k->fuel || !k->through[b]) {
        if (meet(k, &k->in[b], s))
            queue_block(k, b);
        return;
    }
    k->fuel--;
    now.slot = k->spare[depth];
    copy_state(k, &now, s);
    run_block(k, &now, x);
    for (int e = 0; e < 2; e++)
        if (x->succ[e] >= 0 && feasible(k, x, &now, e))
            enter_block(k, (uint32_t)x->succ[e], &now, depth + 1);
}

static void
pass_block(struct checker *k, uint32_t b, struct state *now)
{
    const struct kn_block *x = &k->g.blocks[b];

    copy_state(k, now, &k->in[b]);
    run_block(k, now, x);
    for (int e = 0; e < 2; e++) {
        k->fuel = FUEL;
        if (x->succ[e] >= 0 && feasible(k, x, now, e))
            enter_block(k, (uint32_t)x->succ[e], now, 0);
    }
}

/* To the fixed point, then once more to report. */
static void
settle(struct checker *k)
{
    struct state now = { 0 };
    uint32_t n = k->g.nblocks, entry = k->g.block_of[k->p->entry];

    k->in = KN_NEW(k->c, struct state, n);
    k->rank = KN_NEW(k->c, uint32_t, n);
    k->todo = KN_NEW(k->c, uint32_t, n);
    k->queued = KN_NEW(k->c, uint8_t, n);
    for (uint32_t i = 0; i < k->g.norder; i++)
        k->rank[k->g.order[i]] = i;
    for (uint32_t b = 0; b < n; b++)
        init_state(k, &k->in[b]);
    init_state(k, &now);
    for (int i = 0; i < MAX_THREAD; i++)
        k->spare[i] = KN_NEW(k->c, struct slot, k->nslots + 1);
    find_worth_passing(k);
    k->in[entry].live = true;
    queue_block(k, entry);
    while (k->ntodo)
        pass_block(k, take_block(k), &now);
    k->report = true;
    for (uint32_t b = 0; b < n; b++)
        if (k->in[b].live)
            pass_block(k, b, &now);
}

static bool
writes_exec(const struct kn_program *p)
{
    for (uint32_t n = 0; n < p->n; n++) {
        const struct kn_inst *i = &p->inst[n];

        if (kn_isa[i->op].flags & KN_IF_WEXEC)
            return true;
        for (unsigned o = 0; o < i->ndst; o++)
            if (i->o[o].kind == KN_O_SGPR &&
                i->o[o].reg + i->o[o].width > 126 && i->o[o].reg <= 127)
                return true;
    }
    return false;
}

static void
undecided(struct kn_check_result *out, const char *why)
{
    out->undecided = true;
    snprintf(out->why, sizeof out->why, "%s", why);
}

/* Code that is not there is not known to be right. */
static bool
runs_past_the_end(const struct checker *k)
{
    for (uint32_t b = 0; b < k->g.nblocks; b++) {
        const struct kn_block *x = &k->g.blocks[b];
        const struct kn_inst *i = &k->p->inst[x->end - 1];

        if (x->reached && i->next < 0 &&
            !(kn_isa[i->op].flags & (KN_IF_END | KN_IF_JUMP)))
            return true;
    }
    return false;
}

kiln_status
kn_check_program(struct kn_ctx *c, const struct kn_program *p,
                 const struct kn_slots *slots, struct kn_check_result *out)
{
    struct checker k = { .c = c, .p = p, .out = out,
                         .access = slots ? slots->access : NULL,
                         .nslots = slots ? slots->n : 0,
                         .full_exec = !writes_exec(p) };

    memset(out, 0, sizeof *out);
    out->own = slots || kn_kernel_is_own(p->kernel);
    KN_TRY(kn_cfg_build(c, p, &k.g));
    if (k.g.irreducible || k.g.indirect)
        undecided(out, "a jump's target is not known, or a cycle has two "
                       "entries");
    if (runs_past_the_end(&k))
        undecided(out, "the code ends without s_endpgm");
    settle(&k);
    KN_TRY(kn_check_mfma(c, p, out));
    KN_TRY(kn_check_facts(p, out));
    for (uint32_t n = 0; n < p->n; n++) {
        if (p->inst[n].op == KN_I_unknown)
            undecided(out, "an instruction is unknown");
        out->waits += p->inst[n].op == KN_I_s_waitcnt;
        out->accesses += k.access && k.access[n].kind != KN_ACC_NONE &&
                         k.access[n].kind < KN_ACC_STAGGER;
    }
    return KILN_OK;
}
