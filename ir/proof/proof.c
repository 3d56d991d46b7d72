/* proof.c - proves that no register or LDS slot is used before what was asked
 * for has arrived, and that no slot is refilled while a wave may still read
 * it; refuses the kernel otherwise, with the place and the counts.
 *
 * Abstract interpretation over loops and branches, to a fixed point. The rules
 * (memory model: CDNA3 ISA 4.4, LLVM AMDGPU usage, memory model GFX942):
 *
 *   - vector-memory operations (copies, loads, stores) complete in order, and
 *     so do LDS operations; scalar loads are never counted on;
 *   - a register loaded from memory is used or overwritten only behind a
 *     fence; one read from LDS is waited for by the back end at its use, which
 *     covers the older LDS operations of this wave;
 *   - moving a register is no use: the back end may rename it;
 *   - what a wave wrote to LDS is seen by others after its own wait and then a
 *     barrier, by itself after its own wait;
 *   - a slot is written again only when every wave's reads of it had completed
 *     at a barrier;
 *   - where one half of the waves runs a barrier behind (`stagger`), each of
 *     the two needs two barriers;
 *   - no copy into LDS is outstanding when the kernel ends;
 *   - a wave's coherent stores have completed before it counts itself in with
 *     `arrive`, and coherent loads wait for that count.
 *
 * Requires: verified wave-level kernel, fences placed. Changes nothing. */
#include "proof.h"

#include <stdio.h>
#include <string.h>

static const char *
tile_name(const struct proof *p, int32_t slot)
{
    return p->f->lds[p->tile[slot]].name;
}

static uint32_t
slot_index(const struct proof *p, int32_t slot)
{
    return (uint32_t)slot - p->first[p->tile[slot]];
}

static kiln_status slot_fail(const struct proof *p, struct kn_loc at, int32_t n,
                             const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static kiln_status
slot_fail(const struct proof *p, struct kn_loc at, int32_t n, const char *fmt,
          ...)
{
    struct kn_buf b = { .c = p->c };
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    kn_putf(&b, "LDS slot %%%s[%u] %s", tile_name(p, n), slot_index(p, n),
            text);
    return PROOF_FAIL(p, at, "%s", b.s);
}



/* ---- registers ---- */

static kiln_status
not_loading(const struct proof *p, const struct proof_state *s,
            const struct kn_ins *i, kn_ref r)
{
    int32_t stamp = s->load[proof_place(p, r)];
    const struct proof_queue *q = &s->q[PROOF_VM];

    if (!proof_pending(s, PROOF_VM, stamp))
        return KILN_OK;
    return PROOF_FAIL(p, i->at, "register %%%s may still be loading: %d "
                      "operations were issued after it, %d may be outstanding",
                      kn_val(p->f, r)->name, q->now - stamp, q->now - q->done);
}

static kiln_status
use_registers(const struct proof *p, struct proof_state *s,
              const struct kn_ins *i)
{
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++) {
        if (!proof_is_value(i->arg[a]))
            continue;
        KN_TRY(not_loading(p, s, i, i->arg[a]));
        proof_wait_for(s, PROOF_LGKM, s->lds[proof_place(p, i->arg[a])]);
    }
    return KILN_OK;
}

static kiln_status
rename_registers(const struct proof *p, struct proof_state *s,
                 const struct kn_ins *i)
{
    int32_t youngest = PROOF_DONE;

    if (i->op == KN_OP_used && i->attr[KN_A_going])
        return KILN_OK;      /* nothing reads it here */
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++) {
        if (!proof_is_value(i->arg[a]))
            continue;
        KN_TRY(not_loading(p, s, i, i->arg[a]));
        if (s->lds[proof_place(p, i->arg[a])] > youngest)
            youngest = s->lds[proof_place(p, i->arg[a])];
    }
    if (i->dst) {
        KN_TRY(not_loading(p, s, i, i->dst));
        s->lds[proof_place(p, i->dst)] = youngest;
    }
    return KILN_OK;
}

/* ---- LDS slots ---- */

/* How many barriers there were, where `left` more are needed. */
static const char *
too_few(const struct proof_state *s, uint8_t left)
{
    if (!s->apart)
        return "no barrier";
    return left == 1 ? "one barrier, where the later half of the waves runs "
                       "one behind,"
                     : "no barrier";
}

static kiln_status
check_free(const struct proof *p, const struct proof_state *s,
           const struct kn_ins *i, int32_t n)
{
    const struct proof_slot *l = &s->slot[n];

    if (!l->busy)
        return KILN_OK;
    if (proof_pending(s, PROOF_LGKM, l->read))
        return slot_fail(p, i->at, n, "is written while its read of line %d "
                         "may still be running: %d LDS operations were issued "
                         "after it, %d may be outstanding", l->read_at.line,
                         s->q[PROOF_LGKM].now - l->read,
                         s->q[PROOF_LGKM].now - s->q[PROOF_LGKM].done);
    return slot_fail(p, i->at, n, "is written while another wave may still "
                     "read it: %s since the read of line %d completed",
                     too_few(s, l->busy), l->read_at.line);
}

/* Two writes to a slot keep their order inside one queue and one wave. */
static kiln_status
check_order(const struct proof *p, const struct proof_state *s,
            const struct kn_ins *i, int32_t n)
{
    const struct proof_slot *l = &s->slot[n];
    int other = i->op == KN_OP_dma ? PROOF_LGKM : PROOF_VM;

    if (proof_pending(s, other, l->fill[other]))
        return slot_fail(p, i->at, n, "is written by a %s while a %s of line "
                         "%d may still write it",
                         i->op == KN_OP_dma ? "copy" : "store",
                         i->op == KN_OP_dma ? "store" : "copy",
                         l->write_at.line);
    if (i->op == KN_OP_dma && proof_pending(s, PROOF_LGKM, l->own))
        return slot_fail(p, i->at, n, "is written by a copy while the read of "
                         "line %d may still be running", l->read_at.line);
    if (l->shared || (l->dirty && !p->access[i - p->f->ins].own))
        return slot_fail(p, i->at, n, "is written while another wave may still "
                         "write it: %s since line %d", too_few(s, l->dirty),
                         l->write_at.line);
    return KILN_OK;
}

static kiln_status
write_slot(const struct proof *p, struct proof_state *s, const struct kn_ins *i,
           int queue)
{
    const struct proof_access *a = &p->access[i - p->f->ins];
    struct proof_slot *l = &s->slot[a->slot];

    KN_TRY(use_registers(p, s, i));
    KN_TRY(check_free(p, s, i, a->slot));
    KN_TRY(check_order(p, s, i, a->slot));
    if (l->consumed)
        memset(&l->filled, 0, sizeof l->filled);
    l->consumed = false;
    l->filled.w[a->id / 64] |= 1ull << (a->id % 64);
    l->fill[queue] = proof_issue(s, queue);
    l->shared |= !a->own;
    if (!l->dirty)
        l->barrier_at = (struct kn_loc){ 0 };
    l->dirty = proof_apart(s);
    l->write_at = i->at;
    return KILN_OK;
}

static const char *
queue_text(int queue, int32_t n)
{
    if (queue == PROOF_VM)
        return n == 1 ? "load" : "loads";
    return n == 1 ? "LDS operation" : "LDS operations";
}

static kiln_status
in_flight(const struct proof *p, const struct proof_state *s,
          const struct kn_ins *i, int32_t n)
{
    const struct proof_slot *l = &s->slot[n];
    int q = proof_pending(s, PROOF_VM, l->fill[PROOF_VM]) ? PROOF_VM
                                                          : PROOF_LGKM;
    int32_t behind = s->q[q].now - l->fill[q];

    if (l->barrier_at.line)
        return slot_fail(p, i->at, n, "may still be in flight: %d %s "
                         "outstanding behind it at the barrier of line %d, "
                         "fence allows %d", l->behind,
                         queue_text(l->queue, l->behind), l->barrier_at.line,
                         l->allowed);
    return slot_fail(p, i->at, n, "may still be in flight: %d %s outstanding "
                     "behind it, fence allows %d", behind,
                     queue_text(q, behind), s->q[q].now - s->q[q].done);
}

static kiln_status
check_arrived(const struct proof *p, const struct proof_state *s,
              const struct kn_ins *i, int32_t n)
{
    const struct proof_slot *l = &s->slot[n];
    bool own = p->access[i - p->f->ins].own;

    if (!l->dirty)
        return KILN_OK;
    if (proof_pending(s, PROOF_VM, l->fill[PROOF_VM]) ||
        (!own && proof_pending(s, PROOF_LGKM, l->fill[PROOF_LGKM])))
        return in_flight(p, s, i, n);
    if (!own && l->barrier_at.line)
        return in_flight(p, s, i, n);
    if (!own && s->apart && l->dirty == 1)
        return slot_fail(p, i->at, n, "is read before a second barrier "
                         "published what the later half of the waves, which "
                         "runs one behind, wrote at line %d",
                         l->write_at.line);
    if (!own || l->shared)
        return slot_fail(p, i->at, n, "is read before a barrier published what "
                         "other waves wrote at line %d", l->write_at.line);
    return KILN_OK;
}

static kiln_status
check_filled(const struct proof *p, const struct proof_state *s,
             const struct kn_ins *i, uint32_t h)
{
    const struct proof_access *a = &p->access[i - p->f->ins];
    int32_t slot = a->slot + (int32_t)h * a->next;
    const struct proof_slot *l = &s->slot[slot];

    for (uint32_t n = 0; n < a->nneed[h]; n++) {
        uint64_t any = 0;

        for (int w = 0; w < PROOF_WRITES / 64; w++)
            any |= a->need[h][n].w[w] & l->filled.w[w];
        if (!any && !l->write_at.line)
            return slot_fail(p, i->at, slot, "is read before anything fills it");
        if (!any)
            return slot_fail(p, i->at, slot, "is read where only part of what "
                             "fills it, up to line %d, has surely run since it "
                             "was last read", l->write_at.line);
    }
    return KILN_OK;
}

static kiln_status
read_slot(const struct proof *p, struct proof_state *s, const struct kn_ins *i)
{
    const struct proof_access *a = &p->access[i - p->f->ins];

    KN_TRY(use_registers(p, s, i));
    for (uint32_t h = 0; h < a->span; h++) {
        KN_TRY(check_arrived(p, s, i, a->slot + (int32_t)h * a->next));
        KN_TRY(check_filled(p, s, i, h));
    }
    KN_TRY(not_loading(p, s, i, i->dst));
    s->lds[proof_place(p, i->dst)] = proof_issue(s, PROOF_LGKM);
    for (uint32_t h = 0; h < a->span; h++) {
        struct proof_slot *l = &s->slot[a->slot + (int32_t)h * a->next];

        l->read_at = i->at;
        if (a->own) {
            l->own = s->q[PROOF_LGKM].now;
            continue;
        }
        l->read = s->q[PROOF_LGKM].now;
        l->busy = proof_apart(s);
        l->consumed = true;
    }
    return KILN_OK;
}

/* ---- other workgroups ---- */

/* What other workgroups read after they see the count was stored, and has
 * completed, before this wave counts itself. */
static kiln_status
arrive(const struct proof *p, struct proof_state *s, const struct kn_ins *i)
{
    const struct proof_queue *q = &s->q[PROOF_VM];

    KN_TRY(use_registers(p, s, i));
    KN_TRY(not_loading(p, s, i, i->dst));
    if (proof_pending(s, PROOF_VM, s->share))
        return PROOF_FAIL(p, i->at, "arrive tells other workgroups of a store "
                          "that may still be running: %d operations were "
                          "issued after it, %d may be outstanding",
                          q->now - s->share, q->now - q->done);
    s->arrival = s->load[proof_place(p, i->dst)] = proof_issue(s, PROOF_VM);
    s->arrived = true;
    return KILN_OK;
}

static kiln_status
check_met(const struct proof *p, const struct proof_state *s,
          const struct kn_ins *i)
{
    if (i->attr[KN_A_coh] == 1 &&
        (!s->arrived || proof_pending(s, PROOF_VM, s->arrival)))
        return PROOF_FAIL(p, i->at, "a coherent load may run before other "
                          "workgroups have stored what it reads: %s",
                          s->arrived ? "the arrive before it may still be "
                                       "outstanding"
                                     : "no arrive comes before it");
    return KILN_OK;
}

/* ---- one operation ---- */

static kiln_status
end_kernel(const struct proof *p, struct proof_state *s, struct kn_loc at)
{
    for (uint32_t n = 0; s->live && n < p->nslots; n++)
        if (proof_pending(s, PROOF_VM, s->slot[n].fill[PROOF_VM]))
            return slot_fail(p, at, (int32_t)n, "may still be in flight when "
                             "the kernel ends: copied at line %d",
                             s->slot[n].write_at.line);
    if (s->live && s->apart)
        return PROOF_FAIL(p, at, "the kernel ends where the later half of the "
                          "waves runs a barrier behind: rejoin is missing");
    s->live = false;
    return KILN_OK;
}

/* ---- halves of the waves, a barrier apart ---- */

static kiln_status
shift_half(const struct proof *p, struct proof_state *s,
           const struct kn_ins *i)
{
    bool apart = i->op == KN_OP_stagger;

    if (s->apart == apart)
        return PROOF_FAIL(p, i->at, apart
                          ? "the waves are a barrier apart already"
                          : "no stagger comes before rejoin");
    if (apart)
        proof_stagger(p, s);
    else
        proof_rejoin(p, s, i->at);
    return KILN_OK;
}

/* Two ways to one place must agree on it. */
static kiln_status
join(const struct proof *p, struct proof_state *a, struct proof_state *b,
     struct kn_loc at, bool *changed)
{
    if (a->live && b->live && a->apart != b->apart)
        return PROOF_FAIL(p, at, "the waves are a barrier apart on one way to "
                          "here and level on another");
    *changed = proof_join(p, a, b);
    return KILN_OK;
}

static kiln_status
compute(const struct proof *p, struct proof_state *s, const struct kn_ins *i)
{
    KN_TRY(use_registers(p, s, i));
    if (!i->dst)
        return KILN_OK;
    if (i->op == KN_OP_ldg) {
        KN_TRY(check_met(p, s, i));
        s->load[proof_place(p, i->dst)] = proof_issue(s, PROOF_VM);
        s->lds[proof_place(p, i->dst)] = PROOF_DONE;
        return KILN_OK;
    }
    KN_TRY(not_loading(p, s, i, i->dst));
    s->load[proof_place(p, i->dst)] = s->lds[proof_place(p, i->dst)] = PROOF_DONE;
    return KILN_OK;
}

static kiln_status
leave_loop(struct proof *p, struct proof_state *s, const struct kn_ins *i)
{
    struct proof_state out;
    bool changed;

    KN_TRY(use_registers(p, s, i));
    out = proof_state_copy(p, s);
    return join(p, &p->exits[p->depth], &out, i->at, &changed);
}

/* Of registers it stays: what uses them stays behind it. */
static kiln_status
landed(const struct proof *p, struct proof_state *s, const struct kn_ins *i)
{
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        if (!proof_is_value(i->arg[a]))
            return PROOF_FAIL(p, i->at, "landed waits for nothing by itself: "
                              "run the fence pass first");
    return rename_registers(p, s, i);
}

static kiln_status
step(struct proof *p, struct proof_state *s, const struct kn_ins *i)
{
    switch (i->op) {
    case KN_OP_fence:        /* the largest count is the encoding of no wait */
        if (i->attr[KN_A_vm] < 63)
            proof_wait(s, PROOF_VM, i->attr[KN_A_vm]);
        if (i->attr[KN_A_lgkm] < 15)
            proof_wait(s, PROOF_LGKM, i->attr[KN_A_lgkm]);
        return KILN_OK;
    case KN_OP_landed:
        return landed(p, s, i);
    case KN_OP_barrier:
        proof_barrier(p, s, i->at);
        return KILN_OK;
    case KN_OP_stagger:
    case KN_OP_rejoin:
        return shift_half(p, s, i);
    case KN_OP_stop:
        return end_kernel(p, s, i->at);
    case KN_OP_dma:
        return write_slot(p, s, i, PROOF_VM);
    case KN_OP_lds_st:
        return write_slot(p, s, i, PROOF_LGKM);
    case KN_OP_lds_ld:
        return read_slot(p, s, i);
    case KN_OP_stg:
    case KN_OP_atom:
    case KN_OP_atmax:
        KN_TRY(use_registers(p, s, i));
        proof_issue(s, PROOF_VM);
        if (i->attr[KN_A_coh] == 1) {
            s->share = s->q[PROOF_VM].now;
            s->arrived = false;
        }
        return KILN_OK;
    case KN_OP_arrive:
        return arrive(p, s, i);
    case KN_OP_break:
        return leave_loop(p, s, i);
    case KN_OP_ldg:
    case KN_OP_ldu:
        return compute(p, s, i);
    }
    if (kn_op_kind((enum kn_op)i->op) == KN_MEM)
        return kn_fail_at(p->c, KILN_INTERNAL, i->at, "the proof does not "
                          "know %s", kn_op_info((enum kn_op)i->op).text);
    return proof_renames((enum kn_op)i->op) ? rename_registers(p, s, i)
                                        : compute(p, s, i);
}

/* ---- the walk ---- */

static kiln_status walk(struct proof *p, size_t *at, struct proof_state *s);

/* *at is behind `loop`; it is left on its `end`. */
static kiln_status
walk_loop(struct proof *p, size_t *at, struct proof_state *s)
{
    struct proof_state head = proof_state_copy(p, s), body;
    size_t from = *at;
    bool changed;

    p->depth++;
    do {
        *at = from;
        body = proof_state_copy(p, &head);
        p->exits[p->depth] = proof_state_new(p);
        KN_TRY(walk(p, at, &body));
        KN_TRY(join(p, &head, &body, p->f->ins[*at].at, &changed));
    } while (changed);
    *s = p->exits[p->depth--];
    return KILN_OK;
}

/* *at is behind `if`; it is left on its `end`. */
static kiln_status
walk_if(struct proof *p, size_t *at, struct proof_state *s)
{
    struct proof_state other = proof_state_copy(p, s);
    bool changed;

    KN_TRY(walk(p, at, s));
    if (p->f->ins[*at].op == KN_OP_else) {
        ++*at;
        KN_TRY(walk(p, at, &other));
    }
    return join(p, s, &other, p->f->ins[*at].at, &changed);
}

/* Walks to the `else` or `end` that closes this level, or the last line. */
static kiln_status
walk(struct proof *p, size_t *at, struct proof_state *s)
{
    for (; *at < p->f->nins; ++*at) {
        const struct kn_ins *i = &p->f->ins[*at];

        if (i->op == KN_OP_end || i->op == KN_OP_else)
            return KILN_OK;
        if (p->visit && s->live)
            p->visit(p->user, p, *at, s);
        if (i->op != KN_OP_loop && s->live)
            KN_TRY(step(p, s, i));
        if (i->op == KN_OP_loop || i->op == KN_OP_if) {
            ++*at;
            KN_TRY(i->op == KN_OP_loop ? walk_loop(p, at, s)
                                       : walk_if(p, at, s));
        }
    }
    return KILN_OK;
}

kiln_status
proof_order(struct proof *p)
{
    const struct kn_fn *f = p->f;
    struct proof_state s = proof_state_new(p);
    size_t at = 0;

    s.live = true;
    KN_TRY(walk(p, &at, &s));
    return end_kernel(p, &s, f->nins ? f->ins[f->nins - 1].at : f->at);
}

kiln_status
proof_onwards(struct proof *p, size_t at, struct proof_state *s)
{
    return walk(p, &at, s);
}

kiln_status
kn_prove(const struct kn_fn *f)
{
    struct kn_range_facts facts;
    struct proof *p;

    KN_TRY(proof_prepare(f, &p));
    KN_TRY(proof_ranges(p, &facts));
    return proof_order(p);
}

kiln_status
kn_prove_ranges(const struct kn_fn *f, struct kn_range_facts *out)
{
    struct proof p = { .c = f->c, .f = f };

    return proof_ranges(&p, out);
}
