/* order_step.c - one instruction on the registers of all waves: the integer
 * operations of order_eval.c lane by lane, lane masks, moves between lanes;
 * anything else makes its results unknown. */
#include <string.h>

#include "order_step.h"

/* ---- scalar instructions ------------------------------------------------ */

void
kn_set_reg(struct kn_machine *m, unsigned r, const struct kn_held *v)
{
    if (r < KN_NREG)
        m->now[r] = v->kind == KN_V_ALIKE
                  ? v : kn_held_select(m, m->active, v, m->now[r]);
}

/* A pair of drafts, low and high dword, for the scalar results. */
static void
put_scalar(struct kn_machine *m, unsigned w, bool known, uint64_t x)
{
    m->draft.known[w] = m->carry.known[w] = known;
    m->draft.x[w] = (uint32_t)x;
    m->carry.x[w] = (uint32_t)(x >> 32);
}

static void
swap_drafts(struct kn_machine *m)
{
    memcpy(&m->draft, &m->carry, sizeof m->draft);
}

static void
set_pair(struct kn_machine *m, const struct kn_opnd *o, bool alike)
{
    const struct kn_held *lo = kn_held_intern(m, 1), *hi = lo;

    if (o->width > 1) {
        swap_drafts(m);
        hi = kn_held_intern(m, 1);
    }
    if (alike && lo->kind == KN_V_UNKNOWN)
        lo = hi = &kn_held_alike;
    kn_set_reg(m, kn_reg_of(o, 0), lo);
    if (o->width > 1)
        kn_set_reg(m, kn_reg_of(o, 1), hi);
}

static void
set_scc(struct kn_machine *m, const uint8_t scc[KN_WAVES], bool alike)
{
    const struct kn_held *v;

    for (unsigned w = 0; w < m->nwaves; w++) {
        m->draft.known[w] = scc[w] < 2;
        m->draft.x[w] = scc[w];
    }
    v = kn_held_intern(m, 1);
    if (alike && v->kind == KN_V_UNKNOWN)
        v = &kn_held_alike;
    kn_set_reg(m, KN_SCC, v);
}

static void
step_scalar(struct kn_machine *m, const struct kn_inst *i)
{
    const struct kn_isa_row *row = &kn_isa[i->op];
    struct kn_sources s;
    uint8_t scc[KN_WAVES];
    bool alike;

    kn_sources_read(m, i, &s);
    alike = kn_sources_alike(m, &s) &&
            (!(row->flags & KN_IF_RSCC) || kn_held_alike_in(m, s.scc)) &&
            (!(row->flags & KN_IF_RMW) || kn_source_alike(m, &s.old));
    for (unsigned w = 0; w < m->nwaves; w++) {
        struct kn_lane x = kn_sources_lane(&s, w, 0);
        unsigned want = kn_eval_wants(i, s.n, &x);
        uint64_t r = 0, flag = 0;
        bool known = (x.known & want) == want &&
                     kn_eval_scalar(i, &x, &r, &flag);

        put_scalar(m, w, known, r);
        scc[w] = known ? flag & 1 : 2;
    }
    if (i->ndst)
        set_pair(m, &i->o[0], alike);
    if (row->flags & KN_IF_WSCC)
        set_scc(m, scc, alike);
}

static bool
exec_of(const struct kn_machine *m, unsigned w, uint64_t *e)
{
    uint32_t lo, hi;

    *e = 0;
    if (!kn_machine_lane(m->now[KN_EXEC], w, 0, &lo) ||
        !kn_machine_lane(m->now[KN_EXEC + 1], w, 0, &hi))
        return false;
    *e = (uint64_t)hi << 32 | lo;
    return true;
}

static void
step_saveexec(struct kn_machine *m, const struct kn_inst *i)
{
    static const struct kn_opnd exec = { .kind = KN_O_SGPR, .width = 2,
                                         .reg = 126 };
    const struct kn_held *lo = m->now[KN_EXEC], *hi = m->now[KN_EXEC + 1];
    uint8_t scc[KN_WAVES];
    struct kn_sources s;

    kn_sources_read(m, i, &s);
    for (unsigned w = 0; w < m->nwaves; w++) {
        uint64_t a, e, r = 0;
        bool known = kn_source_lane(&s.s[0], w, 0, &a) && exec_of(m, w, &e) &&
                     kn_eval_exec(i->op, a, e, &r);

        put_scalar(m, w, known, r);
        scc[w] = known ? r != 0 : 2;
    }
    set_pair(m, &exec, false);
    kn_set_reg(m, kn_reg_of(&i->o[0], 0), lo);
    kn_set_reg(m, kn_reg_of(&i->o[0], 1), hi);
    set_scc(m, scc, false);
}

/* ---- vector instructions ------------------------------------------------ */

/* Lane l of wave w keeps what it holds, gets the result, or either. */
enum fate { KEEPS, GETS, EITHER };
static enum fate
fate_of(const struct kn_machine *m, unsigned w, unsigned l)
{
    uint64_t e;

    if (!(m->active >> w & 1))
        return KEEPS;
    if (!exec_of(m, w, &e))
        return EITHER;
    return e >> l & 1 ? GETS : KEEPS;
}

bool
kn_exec_is_full(const struct kn_machine *m)
{
    uint64_t e;

    for (unsigned w = 0; w < m->nwaves; w++)
        if (m->active >> w & 1 && (!exec_of(m, w, &e) || e != ~0ull))
            return false;
    return true;
}

/* The same lanes are active in all waves. */
bool
kn_exec_is_alike(const struct kn_machine *m)
{
    return kn_held_alike_in(m, m->now[KN_EXEC]) &&
           kn_held_alike_in(m, m->now[KN_EXEC + 1]);
}

/* The draft holds the result of every lane; those that do not get it keep
 * `old`. */
static const struct kn_held *
merge_old(struct kn_machine *m, const struct kn_held *old)
{
    for (unsigned w = 0; w < m->nwaves; w++) {
        enum fate all = fate_of(m, w, 0);
        uint64_t e;

        if (all == GETS && exec_of(m, w, &e) && e == ~0ull)
            continue;
        for (unsigned l = 0; l < KN_LANE; l++) {
            enum fate f = fate_of(m, w, l);
            uint32_t x = 0;
            bool k = kn_machine_lane(old, w, l, &x);
            uint64_t bit = 1ull << l;

            if (f == GETS)
                continue;
            if (f == KEEPS)
                m->draft.x[w * KN_LANE + l] = x;
            if (f == KEEPS && k)
                m->draft.known[w] |= bit;
            else if (f == KEEPS || !k || x != m->draft.x[w * KN_LANE + l])
                m->draft.known[w] &= ~bit;
        }
    }
    return kn_held_intern(m, KN_LANE);
}

static void
set_vector(struct kn_machine *m, unsigned r, bool alike)
{
    const struct kn_held *v;

    if (r >= KN_NREG)
        return;
    alike = alike && kn_exec_is_alike(m) &&
            (kn_exec_is_full(m) || kn_held_alike_in(m, m->now[r]));
    v = merge_old(m, m->now[r]);
    if (v->kind == KN_V_UNKNOWN && alike)
        v = &kn_held_alike;
    m->now[r] = v;
}

/* Results of every lane into draft (low) and carry (high). */
static void
vector_lanes(struct kn_machine *m, const struct kn_inst *i,
             const struct kn_sources *s, struct kn_mask *flags)
{
    for (unsigned w = 0; w < m->nwaves; w++) {
        m->draft.known[w] = m->carry.known[w] = 0;
        flags->bit[w] = flags->known[w] = 0;
        for (unsigned l = 0; l < KN_LANE; l++) {
            struct kn_lane x = kn_sources_lane(s, w, l);
            unsigned want = kn_eval_wants(i, s->n, &x);
            bool carry = false;
            uint64_t r = 0;

            if (s->carry >= 0)
                want |= KN_L_FLAG;
            if ((x.known & want) != want ||
                !(kn_eval_vector(i, &x, l, &r) ||
                  kn_eval_carry(i->op, &x, &r, &carry)))
                continue;
            m->draft.x[w * KN_LANE + l] = (uint32_t)r;
            m->carry.x[w * KN_LANE + l] = (uint32_t)(r >> 32);
            m->draft.known[w] |= 1ull << l;
            m->carry.known[w] |= 1ull << l;
            flags->bit[w] |= (uint64_t)carry << l;
            flags->known[w] |= 1ull << l;
        }
    }
}

/* A lane mask: zero where EXEC is; known where all active lanes are. */
static void
put_mask(struct kn_machine *m, const struct kn_mask *x)
{
    for (unsigned w = 0; w < m->nwaves; w++) {
        uint64_t e = 0;
        bool ok = exec_of(m, w, &e);

        put_scalar(m, w, ok && !(e & ~x->known[w]), x->bit[w] & e);
    }
}

static void
set_mask(struct kn_machine *m, const struct kn_opnd *o, const struct kn_mask *x, bool alike)
{
    put_mask(m, x);
    set_pair(m, o, alike && kn_exec_is_alike(m));
}

const struct kn_held *
kn_step_result(struct kn_machine *m, const struct kn_inst *i, const struct kn_sources *s)
{
    struct kn_mask flags;

    vector_lanes(m, i, s, &flags);
    return merge_old(m, m->now[kn_reg_of(&i->o[0], 0)]);
}

static void
step_vector(struct kn_machine *m, const struct kn_inst *i)
{
    struct kn_mask flags;
    struct kn_sources s;
    bool alike;

    kn_sources_read(m, i, &s);
    if (kn_cases_vector(m, i, &s))
        return;
    alike = kn_sources_alike(m, &s);
    vector_lanes(m, i, &s, &flags);
    set_vector(m, kn_reg_of(&i->o[0], 0), alike);
    if (i->o[0].width > 1) {
        swap_drafts(m);
        set_vector(m, kn_reg_of(&i->o[0], 1), alike);
    }
    if (i->ndst > 1)
        set_mask(m, &i->o[1], &flags, alike);
}

static void
compare_lanes(const struct kn_machine *m, const struct kn_inst *i,
              const struct kn_sources *s, struct kn_mask *out)
{
    memset(out, 0, sizeof *out);
    for (unsigned w = 0; w < m->nwaves; w++)
        for (unsigned l = 0; l < KN_LANE; l++) {
            struct kn_lane x = kn_sources_lane(s, w, l);
            bool r = false;

            if ((x.known & 3) == 3 && kn_eval_compare(i->op, &x, &r))
                out->known[w] |= 1ull << l;
            out->bit[w] |= (uint64_t)r << l;
        }
}

void
kn_step_mask(struct kn_machine *m, const struct kn_inst *i, const struct kn_sources *s,
             const struct kn_held *pair[2])
{
    struct kn_mask x;

    compare_lanes(m, i, s, &x);
    put_mask(m, &x);
    pair[0] = kn_held_intern(m, 1);
    swap_drafts(m);
    pair[1] = kn_held_intern(m, 1);
}

static void
step_compare(struct kn_machine *m, const struct kn_inst *i)
{
    static const struct kn_opnd exec = { .kind = KN_O_SGPR, .width = 2,
                                         .reg = 126 };
    struct kn_sources s;
    struct kn_mask x;

    kn_sources_read(m, i, &s);
    if (kn_cases_compare(m, i, &s))
        return;
    compare_lanes(m, i, &s, &x);
    if (kn_isa[i->op].flags & KN_IF_WEXEC)
        set_mask(m, &exec, &x, false);
    set_mask(m, &i->o[0], &x, kn_sources_alike(m, &s));
}

/* v_readfirstlane and v_readlane: of a lane whose number is known. */
static void
step_readlane(struct kn_machine *m, const struct kn_inst *i)
{
    bool first = i->op == KN_I_v_readfirstlane_b32;
    struct kn_sources s;

    kn_sources_read(m, i, &s);
    for (unsigned w = 0; w < m->nwaves; w++) {
        uint64_t lane = 0, e = 0, x = 0;
        bool ok = first ? exec_of(m, w, &e) && e
                        : kn_source_lane(&s.s[1], w, 0, &lane);

        lane = first && e ? (uint64_t)__builtin_ctzll(e) : lane & 63;
        ok = ok && kn_source_lane(&s.s[0], w, (unsigned)lane, &x);
        put_scalar(m, w, ok, x);
    }
    set_pair(m, &i->o[0], kn_source_alike(m, &s.s[0]));
}

static void
step_writelane(struct kn_machine *m, const struct kn_inst *i)
{
    unsigned r = kn_reg_of(&i->o[0], 0);
    struct kn_sources s;

    if (r >= KN_NREG)
        return;
    kn_sources_read(m, i, &s);
    for (unsigned k = 0; k < m->nwaves * KN_LANE; k++)
        kn_draft_lane(m, KN_LANE, k, m->now[r]);
    for (unsigned w = 0; w < m->nwaves; w++) {
        uint64_t x = 0, lane = 0;
        bool known = kn_source_lane(&s.s[0], w, 0, &x);

        if (!(m->active >> w & 1))
            continue;
        if (!kn_source_lane(&s.s[1], w, 0, &lane)) {
            m->draft.known[w] = 0;
            continue;
        }
        lane &= 63;
        m->draft.x[w * KN_LANE + lane] = (uint32_t)x;
        m->draft.known[w] &= ~(1ull << lane);
        m->draft.known[w] |= (uint64_t)known << lane;
    }
    m->now[r] = kn_held_intern(m, KN_LANE);
}

/* ---- one instruction ---------------------------------------------------- */

static bool
is_plain(const struct kn_inst *i)
{
    if (i->enc == KN_E_SDWA && i->dst_sel != 6)
        return false;
    return i->enc != KN_E_DPP && !i->clamp && !i->omod && !i->op_sel;
}

void
kn_machine_step(struct kn_machine *m, const struct kn_inst *i)
{
    enum kn_step k = kn_eval_step(i->op);

    if (i->op == KN_I_v_readfirstlane_b32 || i->op == KN_I_v_readlane_b32)
        step_readlane(m, i);
    else if (i->op == KN_I_v_writelane_b32)
        step_writelane(m, i);
    else if (k == KN_ST_SCALAR)
        step_scalar(m, i);
    else if (k == KN_ST_SAVEEXEC)
        step_saveexec(m, i);
    else if (k == KN_ST_VECTOR && is_plain(i))
        step_vector(m, i);
    else if (k == KN_ST_COMPARE && is_plain(i))
        step_compare(m, i);
    else
        kn_machine_other(m, i);
}
