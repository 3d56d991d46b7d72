/* asm_order.c - the order of a straight run whose matrix instructions need what
 * other operations make, or make what others need; or that asks memory.
 *
 * Issued one after the other, each as soon as it would not stall: of the next
 * few operations whose operands are made the one that may go first; of several
 * what memory waits for, then the foremost. The oldest that is not issued bounds
 * how far others go ahead, and so the registers that wait. */
#include "asm.h"

#include <string.h>

/* Operations looked at where memory is asked. */
enum { FAR_AHEAD = 256 };

/* Clocks from issue to use, of memory as a wave sees it that has the port to
 * itself; what a result of the matrix pipe takes beside its run, and packed f32
 * behind one (timing.def). Memory takes one of a wave in 16 clk for each wave, LDS one
 * of 8 bytes a lane in 2: two SIMDs share a port that needs 8 clk for it, and half of
 * the time is other accesses' (measured: 1 and 3 are slower). */
enum { ISSUE = 4, LDS_LATENCY = 120, MEMORY_LATENCY = 500, SCALAR_LATENCY = 200,
       MATRIX_WAIT = 12, M0_WAIT = 8, PACKED_GAP = 12, WAVE_PACE = 16,
       MOST_PACE = 64, LDS_PACE = 2 };

struct mention {
    uint32_t op, next;       /* next: 1 + of the same register, 0 none */
    uint8_t sub, n;
    bool write, fresh;
};

struct edge {
    uint32_t to, next;       /* next: 1 + of the same operation, 0 none */
    uint32_t latency;
};

struct order {
    struct kn_asm *a;
    const struct kn_asm_op *op;      /* of the run */
    uint32_t n;
    struct mention *said;
    uint32_t *last;          /* by register: 1 + its latest mention */
    struct edge *edge;
    uint32_t *first;         /* by operation: 1 + an edge */
    uint32_t *needs;         /* by operation: operations not issued */
    uint64_t *ready;         /* by operation: clock */
    uint32_t *holds;         /* by operation: readers of the SCC it sets */
    uint32_t held;           /* readers that SCC waits for */
    uint32_t *urgent;        /* by operation: what waits for it asks memory */
    uint32_t ahead;          /* operations looked at */
    uint32_t pace;           /* clocks between two that ask memory */
    uint64_t memory;         /* clock from which memory takes the next */
    uint32_t lds_pace;       /* the same of LDS */
    uint64_t lds;
    size_t nsaid, capsaid, nedge, capedge;
};

static bool
is_memory(const struct kn_asm_op *x)
{
    return kn_isa[x->isa].unit == KN_U_VMEM;
}

static bool
is_lds(const struct kn_asm_op *x)
{
    return kn_isa[x->isa].unit == KN_U_LDS;
}

uint32_t
kn_asm_cycles(const struct kn_asm *a, const struct kn_asm_op *x)
{
    return kn_mfma_cycles(a->f->target, &(struct kn_inst){
               .op = x->isa, .cbsz = x->cbsz, .blgp = x->blgp });
}

static uint32_t
latency_of(const struct order *r, const struct kn_asm_op *x)
{
    switch (kn_isa[x->isa].unit) {
    case KN_U_MFMA:
        return MATRIX_WAIT + kn_asm_cycles(r->a, x);
    case KN_U_LDS:
        return LDS_LATENCY;
    case KN_U_VMEM:
        return MEMORY_LATENCY;
    case KN_U_SMEM:
        return SCALAR_LATENCY;
    default:
        return x->ndst && x->o[0].kind == KN_ASM_M0 ? M0_WAIT : ISSUE;
    }
}

/* A vector operation reads what other lanes made two wait states later, a register of
 * which a byte was written one (hazard.def). */
static uint32_t
latency_to(const struct order *r, const struct kn_asm_op *x, const struct kn_asm_op *y)
{
    uint32_t slots = 0;

    if (kn_isa[x->isa].unit == KN_U_VALU && kn_isa[y->isa].unit == KN_U_VALU)
        slots = y->dpp && r->a->chains ? 2 : x->byte != 0;
    return latency_of(r, x) + slots * ISSUE;
}

static void
add_edge(struct order *r, uint32_t from, uint32_t to, bool result)
{
    r->edge = kn_grow(r->a->c, r->edge, &r->capedge, r->nedge + 1,
                      sizeof *r->edge);
    r->edge[r->nedge] = (struct edge){
        to, r->first[from], result ? latency_to(r, &r->op[from], &r->op[to]) : 0
    };
    r->first[from] = (uint32_t)++r->nedge;
    r->needs[to]++;
}

/* All writes of a register keep their order, and the first of a value with what
 * was asked of the one before. */
static bool
ordered(const struct mention *x, const struct mention *y)
{
    if (x->write && y->write)
        return true;
    return (x->write || y->write) &&
           (x->fresh || y->fresh || (x->sub < y->sub + y->n &&
                                     y->sub < x->sub + x->n));
}

static void
say(struct order *r, uint32_t reg, struct mention m)
{
    for (uint32_t k = r->last[reg]; k; k = r->said[k - 1].next)
        if (r->said[k - 1].op != m.op && ordered(&r->said[k - 1], &m))
            add_edge(r, r->said[k - 1].op, m.op, r->said[k - 1].write && !m.write);
    r->said = kn_grow(r->a->c, r->said, &r->capsaid, r->nsaid + 1,
                      sizeof *r->said);
    m.next = m.write && m.fresh ? 0 : r->last[reg];
    r->said[r->nsaid++] = m;
    r->last[reg] = (uint32_t)r->nsaid;
}

/* What is no register and is ordered like one; memory each kind for itself. */
enum { M0, LDS, MEMORY, SCALAR, OTHERS };

static void
say_other(struct order *r, uint32_t op, uint32_t what, bool write)
{
    say(r, (uint32_t)r->a->nreg + what, (struct mention){ op, 0, 0, 1, write,
                                                          write });
}

static void
say_op(struct order *r, uint32_t n)
{
    const struct kn_asm_op *x = &r->op[n];
    const struct kn_isa_row *row = &kn_isa[x->isa];

    for (int k = x->nopnd; k-- > 0;) {       /* sources first */
        const struct kn_asm_opnd *o = &x->o[k];
        bool write = k < x->ndst;

        if (o->kind == KN_ASM_M0)
            say_other(r, n, M0, write);
        if (o->kind != KN_ASM_REG)
            continue;
        if (write && kn_asm_keeps(x))
            say(r, (uint32_t)o->v, (struct mention){ n, 0, o->sub, o->n, false,
                                                     false });
        say(r, (uint32_t)o->v, (struct mention){
            n, 0, o->sub, o->n, write, write && (o->fresh ||
                (!o->sub && o->n == r->a->reg[o->v].n)) });
    }
    if (kn_asm_fills_lds(x))
        say_other(r, n, M0, false);
    if (row->unit == KN_U_LDS || row->unit == KN_U_VMEM || row->unit == KN_U_SMEM)
        say_other(r, n, row->unit == KN_U_LDS ? LDS
                        : row->unit == KN_U_VMEM ? MEMORY : SCALAR, true);
}

/* ---- SCC ---- */

static bool
has_edge(const struct order *r, uint32_t from, uint32_t to)
{
    for (uint32_t e = r->first[from]; e; e = r->edge[e - 1].next)
        if (r->edge[e - 1].to == to)
            return true;
    return false;
}

/* Operations of from .. to that the last needs and that need the first's SCC, in
 * turn; and what all of them need goes in front of the first, so that nothing
 * else has to be done in between. */
static void
gather(struct order *r, uint32_t from, uint32_t to, bool *within)
{
    for (uint32_t k = from + 1; k <= to; k++)
        within[k] = kn_isa[r->op[k].isa].flags & KN_IF_RSCC;
    for (uint32_t k = to; k-- > from + 1;)
        for (uint32_t n = k + 1; n <= to && !within[k]; n++)
            within[k] = within[n] && has_edge(r, k, n);
    for (uint32_t k = 0; k < from; k++)
        for (uint32_t n = from + 1; n <= to; n++)
            if (within[n] && has_edge(r, k, n)) {
                add_edge(r, k, from, false);
                break;
            }
}

/* What reads SCC does so behind the one that sets it, and no other sets it
 * meanwhile: what it is for is done first, then others. SCC of before the run
 * and for behind it are read and set in front of and behind all others. */
static void
keep_scc(struct order *r)
{
    bool *within = KN_NEW(r->a->c, bool, r->n + 1);
    uint32_t set = UINT32_MAX, read = UINT32_MAX, last = UINT32_MAX;

    for (uint32_t n = 0; n < r->n; n++) {
        uint64_t flags = kn_isa[r->op[n].isa].flags;

        if (flags & KN_IF_RSCC && set == UINT32_MAX) {
            for (uint32_t k = n + 1; k < r->n; k++)
                if (kn_isa[r->op[k].isa].flags & KN_IF_WSCC)
                    add_edge(r, n, k, false);
        } else if (flags & KN_IF_RSCC) {
            add_edge(r, set, n, true);
            r->holds[set]++;
            read = n;
        }
        if (!(flags & KN_IF_WSCC))
            continue;
        if (set != UINT32_MAX && read != UINT32_MAX)
            gather(r, set, read, within);
        set = last = n;
        read = UINT32_MAX;
    }
    if (set != UINT32_MAX && read != UINT32_MAX)
        gather(r, set, read, within);
    for (uint32_t k = 0; last != UINT32_MAX && k < last; k++)
        if (kn_isa[r->op[k].isa].flags & KN_IF_WSCC)
            add_edge(r, k, last, false);
}

/* What memory is asked for, and what that needs; the first of it most. */
static void
find_urgent(struct order *r)
{
    r->urgent = KN_NEW(r->a->c, uint32_t, r->n);
    for (uint32_t n = r->n; n-- > 0;) {
        if (is_memory(&r->op[n]))
            r->urgent[n] = r->n - n;
        for (uint32_t e = r->first[n]; e; e = r->edge[e - 1].next) {
            uint32_t x = r->edge[e - 1].latency ? r->urgent[r->edge[e - 1].to] : 0;

            r->urgent[n] = x > r->urgent[n] ? x : r->urgent[n];
        }
    }
}

/* Whether operation n would set SCC that others ask for. */
static bool
is_held(const struct order *r, uint32_t n)
{
    uint64_t flags = kn_isa[r->op[n].isa].flags;

    return flags & KN_IF_WSCC && r->held > (flags & KN_IF_RSCC ? 1 : 0);
}

/* When operation n can issue, at `now` or later. */
static uint64_t
time_of(const struct order *r, uint32_t n, uint64_t now, uint64_t pipe)
{
    uint64_t t = r->ready[n] > now ? r->ready[n] : now;
    uint64_t memory = is_memory(&r->op[n]) ? r->memory : 0;
    bool packed = kn_isa[r->op[n].isa].flags & KN_IF_PK32;

    if (packed && pipe + PACKED_GAP > t)
        return pipe + PACKED_GAP;
    t = memory > t ? memory : t;
    t = is_lds(&r->op[n]) && r->lds > t ? r->lds : t;
    return kn_asm_is_matrix(&r->op[n]) && pipe > t ? pipe : t;
}

/* False: every operation waits for SCC of another; the run stays as it is. */
static bool
issue(struct order *r, struct kn_asm_op *out)
{
    bool *done = KN_NEW(r->a->c, bool, r->n);
    uint64_t now = 0, pipe = 0;

    for (uint32_t at = 0, least = 0; at < r->n; at++) {
        uint32_t best = UINT32_MAX;
        uint64_t when = UINT64_MAX;

        while (done[least])
            least++;
        for (uint32_t k = least;
             k < r->n && (k < least + r->ahead || best == UINT32_MAX); k++)
            if (!done[k] && !r->needs[k] && !is_held(r, k) &&
                (time_of(r, k, now, pipe) < when ||
                 (time_of(r, k, now, pipe) == when && r->urgent[k] > r->urgent[best]))) {
                when = time_of(r, k, now, pipe);
                best = k;
            }
        if (best == UINT32_MAX)
            return false;
        done[best] = true;
        if (kn_isa[r->op[best].isa].flags & KN_IF_RSCC && r->held)
            r->held--;
        r->held += r->holds[best];
        out[at] = r->op[best];
        now = when + ISSUE;
        if (is_memory(&r->op[best]))
            r->memory = when + r->pace;
        if (is_lds(&r->op[best]))
            r->lds = when + r->lds_pace;
        if (kn_asm_is_matrix(&r->op[best]))
            pipe = when + latency_of(r, &r->op[best]) - MATRIX_WAIT;
        for (uint32_t e = r->first[best]; e; e = r->edge[e - 1].next) {
            struct edge *x = &r->edge[e - 1];

            r->needs[x->to]--;
            if (r->ready[x->to] < when + x->latency)
                r->ready[x->to] = when + x->latency;
        }
    }
    return true;
}

/* ---- values ---- */

static bool
begins(const struct kn_asm *a, const struct kn_asm_op *x)
{
    const struct kn_asm_opnd *o = &x->o[0];

    if (x->ndst != 1 || o->kind != KN_ASM_REG ||
        (!o->fresh && (o->sub || o->n != a->reg[o->v].n)) ||
        kn_asm_keeps(x))
        return false;
    for (int k = 1; k < x->nopnd; k++)
        if (x->o[k].kind == KN_ASM_REG && x->o[k].v == o->v)
            return false;
    return true;
}

/* Registers that every straight run which mentions them begins with a value of
 * its own. */
static bool *
find_own(const struct kn_asm *a)
{
    bool *own = KN_NEW(a->c, bool, a->nreg);
    uint32_t *seen = KN_NEW(a->c, uint32_t, a->nreg), run = 1;

    for (size_t v = 0; v < a->nreg; v++)
        own[v] = a->reg[v].at < 0 && a->reg[v].cls == KN_ASM_V;
    for (size_t n = 0; n < a->nop; n++) {
        run += kn_asm_is_edge(&a->op[n]);
        for (int k = a->op[n].nopnd; k-- > 0;) {
            const struct kn_asm_opnd *o = &a->op[n].o[k];

            if (o->kind != KN_ASM_REG)
                continue;
            if (seen[o->v] != run)
                own[o->v] &= !k && begins(a, &a->op[n]);
            seen[o->v] = run;
        }
    }
    return own;
}

/* A register for each value, so that no order comes from which they shared. */
static void
part_values(struct kn_asm *a, size_t from, size_t to)
{
    bool *own = find_own(a);
    size_t old = a->nreg;
    int32_t *now = KN_NEW(a->c, int32_t, old);

    for (size_t v = 0; v < old; v++)
        now[v] = (int32_t)v;
    for (size_t n = from; n < to; n++) {
        struct kn_asm_op *x = &a->op[n];
        bool new = x->ndst && begins(a, x) && own[x->o[0].v];
        int32_t v = x->o[0].v;

        for (int k = 0; k < x->nopnd; k++)
            if (x->o[k].kind == KN_ASM_REG && (k || !new))
                x->o[k].v = now[x->o[k].v];
        if (!new)
            continue;
        a->reg = kn_grow(a->c, a->reg, &a->capreg, a->nreg + 1, sizeof *a->reg);
        a->reg[a->nreg] = a->reg[v];
        x->o[0].v = now[v] = (int32_t)a->nreg++;
    }
}

/* Masks of lanes hold for what stands behind them. */
static bool
masks_lanes(const struct kn_asm_op *op, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (kn_isa[op[k].isa].flags & KN_IF_WEXEC)
            return true;
    return false;
}

/* Whether copies are under way behind the wait in front of operation n. */
static bool
leaves_copies(const struct kn_asm *a, size_t n)
{
    while (n && !(a->op[n].isa == KN_I_s_waitcnt && a->op[n].vm < 63))
        n--;
    return a->op[n].isa == KN_I_s_waitcnt && a->op[n].vm;
}

/* Copies beside products, each when the queue takes it: the products behind them go
 * ahead. Not of two slots, whose next wait is for them; of sums in AGPRs there are too few
 * registers for what comes of that. */
static bool
has_copies(const struct kn_asm *a, size_t from, size_t to)
{
    for (size_t n = from; n < to && a->accumulators <= a->few; n++)
        if (kn_asm_fills_lds(&a->op[n]))
            return leaves_copies(a, from);
    return false;
}

/* Operations across lanes of what others made across lanes, whose chains leave slots
 * between them. */
static bool
crosses_lanes(const struct kn_asm *a, size_t from, size_t to)
{
    enum { CHAINS = 16 };    /* side by side */
    const struct kn_asm_op *made[CHAINS] = { NULL };
    size_t many = 0;

    for (size_t n = from; n < to; n++) {
        const struct kn_asm_op *x = &a->op[n];

        if (!x->dpp)
            continue;
        for (size_t k = 0; k < CHAINS && made[k]; k++)
            if (x->o[x->ndst].kind == made[k]->o[0].kind && x->o[x->ndst].v == made[k]->o[0].v)
                return true;
        made[many++ % CHAINS] = x;
    }
    return false;
}

/* Whether all that is beside products takes longer than they do, so that they need not go
 * first, and has slots for what stands elsewhere. */
bool
kn_asm_fills_chains(const struct kn_asm *a, size_t from, size_t to)
{
    size_t products = 0, others = 0;

    for (size_t n = from; n < to; n++)
        if (kn_asm_is_matrix(&a->op[n]))
            products += kn_asm_cycles(a, &a->op[n]);
        else
            others += ISSUE;
    return 10 * others > 11 * products && crosses_lanes(a, from, to);
}

void
kn_asm_order(struct kn_asm *a, size_t from, size_t to, bool far)
{
    struct kn_ctx *c = a->c;
    bool paced = far || has_copies(a, from, to);
    struct order r = { .a = a, .op = a->op + from, .n = (uint32_t)(to - from),
                       .ahead = paced ? FAR_AHEAD : a->order };
    struct kn_asm_op *out = KN_NEW(c, struct kn_asm_op, r.n);

    if (a->chains && !paced && kn_asm_fills_chains(a, from, to)) {
        r.ahead *= 2;
        a->filled = true;
    }
    r.pace = paced ? WAVE_PACE * kn_waves(a->f) : ISSUE;
    if (r.pace > MOST_PACE)
        r.pace = MOST_PACE;
    r.lds_pace = far || kn_targets[a->f->target].packed_waits ? ISSUE
                                                              : LDS_PACE * kn_waves(a->f);
    if (masks_lanes(r.op, r.n))
        return;
    part_values(a, from, to);
    r.last = KN_NEW(c, uint32_t, a->nreg + OTHERS);
    r.first = KN_NEW(c, uint32_t, r.n);
    r.holds = KN_NEW(c, uint32_t, r.n);
    r.needs = KN_NEW(c, uint32_t, r.n);
    r.ready = KN_NEW(c, uint64_t, r.n);
    for (uint32_t n = 0; n < r.n; n++)
        say_op(&r, n);
    keep_scc(&r);
    find_urgent(&r);
    if (issue(&r, out))
        memcpy(a->op + from, out, r.n * sizeof *out);
}
