/* check.c - abstract interpretation of the outstanding operations of one wave
 * over the control flow of the final ISA.
 *
 * Vector-memory operations retire in issue order, so do LDS operations; scalar
 * loads do not (CDNA3 ISA 4.4). Per register and per slot the state keeps how
 * many later operations of its counter were issued at least, on any path;
 * `s_waitcnt` with a count not above that makes it safe. All waves run the
 * same code, so one wave's state and the barriers stand for the others. */
#include "check_impl.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct checker {
    struct kn_ctx *c;
    struct kn_stepper x;
    uint8_t *masked;         /* by block: EXEC is written in it or before it */
    struct kn_cfg g;
    struct kn_wave_state *in;        /* by block: what holds on every way in */
    struct kn_slot_state *spare[6];  /* states of blocks being passed through */
    unsigned fuel;           /* blocks that may yet be passed through */
    uint8_t *through;        /* by block: worth_passing */
    uint32_t *rank;          /* block -> place in g.order */
    uint32_t *todo, ntodo;   /* heap of the ranks whose `in` changed */
    uint8_t *queued;         /* by block */
};

static void
init_state(const struct checker *k, struct kn_wave_state *s)
{
    memset(s->vm, FREE, sizeof s->vm);
    memset(s->ds, FREE, sizeof s->ds);
    s->slot = KN_NEW(k->c, struct kn_slot_state, k->x.nslots + 1);
    for (uint32_t i = 0; i < k->x.nslots; i++)
        s->slot[i] = (struct kn_slot_state){ W_VISIBLE, 0, R_NONE };
}

static void
copy_state(const struct checker *k, struct kn_wave_state *to,
           const struct kn_wave_state *from)
{
    struct kn_slot_state *keep = to->slot;

    *to = *from;
    to->slot = keep;
    memcpy(to->slot, from->slot, k->x.nslots * sizeof *to->slot);
}

/* Whether a block holds the barrier of one half of the waves and goes on to
 * `next`. Passing it stands for the other half too, which goes around: the
 * slots change for both. */
static bool
is_half_barrier(const struct checker *k, int32_t block, int32_t next)
{
    const struct kn_block *b;

    if (block < 0 || !k->x.access)
        return false;
    b = &k->g.blocks[block];
    for (uint32_t n = b->first; n < b->end; n++)
        if (k->x.access[n].kind >= KN_ACC_STAGGER)
            return b->succ[0] == next || b->succ[1] == next;
    return false;
}

/* Whether the branch that ends a block can go to its successor e. */
static bool
feasible(const struct checker *k, const struct kn_block *b,
         const struct kn_wave_state *s, int e)
{
    const struct kn_inst *i = &k->x.p->inst[b->end - 1];
    uint8_t vcc = s->known[106];
    bool zero;

    if (is_half_barrier(k, b->succ[!e], b->succ[e]))
        return false;
    if (!k->masked[b - k->g.blocks] && (i->op == KN_I_s_cbranch_execz ||
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
        const struct kn_inst *i = &k->x.p->inst[n];

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
        k->through[b] = tests_vcc(&k->x.p->inst[g->blocks[b].end - 1]) &&
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
run_block(struct checker *k, struct kn_wave_state *s, const struct kn_block *x)
{
    for (uint32_t n = x->first; n < x->end; n++)
        kn_check_step(&k->x, s, n);
    k->x.out->work += x->end - x->first;
}

static void
enter_block(struct checker *k, uint32_t b, const struct kn_wave_state *s,
            int depth)
{
    const struct kn_block *x = &k->g.blocks[b];
    struct kn_wave_state now = { 0 };

    if (depth == MAX_THREAD || !k->fuel || !k->through[b]) {
        if (kn_states_meet(&k->x, &k->in[b], s))
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
pass_block(struct checker *k, uint32_t b, struct kn_wave_state *now)
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
    struct kn_wave_state now = { 0 };
    uint32_t n = k->g.nblocks, entry = k->g.block_of[k->x.p->entry];

    k->in = KN_NEW(k->c, struct kn_wave_state, n);
    k->rank = KN_NEW(k->c, uint32_t, n);
    k->todo = KN_NEW(k->c, uint32_t, n);
    k->queued = KN_NEW(k->c, uint8_t, n);
    for (uint32_t i = 0; i < k->g.norder; i++)
        k->rank[k->g.order[i]] = i;
    for (uint32_t b = 0; b < n; b++)
        init_state(k, &k->in[b]);
    init_state(k, &now);
    for (int i = 0; i < MAX_THREAD; i++)
        k->spare[i] = KN_NEW(k->c, struct kn_slot_state, k->x.nslots + 1);
    find_worth_passing(k);
    k->in[entry].live = true;
    queue_block(k, entry);
    while (k->ntodo)
        pass_block(k, take_block(k), &now);
    k->x.report = true;
    for (uint32_t b = 0; b < n; b++)
        if (k->in[b].live)
            pass_block(k, b, &now);
}

static bool
writes_exec(const struct kn_inst *i)
{
    if (kn_isa[i->op].flags & KN_IF_WEXEC)
        return true;
    for (unsigned o = 0; o < i->ndst; o++)
        if (i->o[o].kind == KN_O_SGPR &&
            i->o[o].reg + i->o[o].width > 126 && i->o[o].reg <= 127)
            return true;
    return false;
}

/* Where lanes may be switched off: in blocks that write EXEC, and in all that
 * they lead to. */
static void
find_masked(struct checker *k)
{
    const struct kn_cfg *g = &k->g;
    bool more = true;

    k->masked = KN_NEW(k->c, uint8_t, g->nblocks);
    for (uint32_t b = 0; b < g->nblocks; b++)
        for (uint32_t n = g->blocks[b].first; n < g->blocks[b].end; n++)
            k->masked[b] |= writes_exec(&k->x.p->inst[n]);
    while (more) {
        more = false;
        for (uint32_t b = 0; b < g->nblocks; b++)
            for (int e = 0; k->masked[b] && e < 2; e++) {
                int32_t to = g->blocks[b].succ[e];

                if (to >= 0 && !k->masked[to])
                    more = (k->masked[to] = true);
            }
    }
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
        const struct kn_inst *i = &k->x.p->inst[x->end - 1];

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
    struct checker k = { .c = c,
                         .x = { .p = p, .out = out,
                                .access = slots ? slots->access : NULL,
                                .nslots = slots ? slots->n : 0 } };

    memset(out, 0, sizeof *out);
    out->own = slots || kn_kernel_is_own(p->kernel);
    KN_TRY(kn_cfg_build(c, p, &k.g));
    find_masked(&k);
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
        out->accesses += k.x.access && k.x.access[n].kind != KN_ACC_NONE &&
                         k.x.access[n].kind < KN_ACC_STAGGER;
    }
    return KILN_OK;
}
