/* order_step.c - one instruction on the registers of all waves: the integer
 * operations of order_eval.c lane by lane, lane masks, moves between lanes;
 * anything else makes its results unknown. */
#include <string.h>

#include "order_impl.h"

/* ---- operands ----------------------------------------------------------- */

enum { MAX_SRC = 4 };

/* Sources of an instruction: low and high dword, a constant, or a register
 * that one dword is taken of. */
struct source {
    const struct kn_held *lo, *hi;
    uint64_t imm;
    bool is_imm, wide, mask;
    uint8_t sel;             /* SDWA */
};

struct sources {
    unsigned n;
    struct source s[MAX_SRC], old;
    int carry;               /* index of the lane mask that is read; -1 */
    const struct kn_held *scc;
};

static const struct kn_held *
reg_val(const struct kn_machine *m, const struct kn_opnd *o, unsigned k)
{
    unsigned r = kn_reg_of(o, k);

    return r < KN_NREG ? m->now[r] : &kn_held_unknown;
}

/* The operand with its signature letter; false: nothing is known of it. */
static bool
read_source(const struct kn_machine *m, const struct kn_opnd *o, char letter,
            struct source *s)
{
    memset(s, 0, sizeof *s);
    s->wide = letter == 'q' || letter == 's' || letter == 'P';
    s->mask = letter == 'm';
    s->sel = 6;
    s->lo = s->hi = &kn_held_unknown;
    if (o->neg || o->abs || o->sext)
        return true;
    s->sel = o->sel;
    if (o->kind == KN_O_IMM && !o->is_float) {
        s->is_imm = true;
        s->imm = letter == 'k' ? (uint32_t)(int16_t)o->imm
               : s->wide ? (uint64_t)o->imm : (uint32_t)o->imm;
    } else if (o->kind == KN_O_IMM && !s->wide) {
        s->is_imm = true;
        s->imm = (uint32_t)o->imm;
    } else {
        s->lo = reg_val(m, o, 0);
        s->hi = s->wide || s->mask ? reg_val(m, o, 1) : s->lo;
    }
    return true;
}

static void
read_sources(const struct kn_machine *m, const struct kn_inst *i,
             struct sources *s)
{
    const char *sig = strchr(kn_isa[i->op].sig, '=');

    memset(s, 0, sizeof *s);
    s->carry = -1;
    s->scc = m->now[KN_SCC];
    read_source(m, &i->o[0], kn_isa[i->op].sig[0], &s->old);
    for (sig = sig ? sig + 1 : ""; *sig && s->n < MAX_SRC &&
         i->ndst + s->n < i->nopnd; sig++, s->n++) {
        if (*sig == 'm')
            s->carry = (int)s->n;
        read_source(m, &i->o[i->ndst + s->n], *sig, &s->s[s->n]);
    }
}

static bool
source_lane(const struct source *s, unsigned w, unsigned l, uint64_t *x)
{
    uint32_t lo, hi = 0;

    *x = s->imm;
    if (s->is_imm)
        return true;
    if (s->mask)             /* one bit of a pair of scalars */
        l = 0 * l;
    if (!kn_machine_lane(s->lo, w, l, &lo) ||
        ((s->wide || s->mask) && !kn_machine_lane(s->hi, w, l, &hi)))
        return false;
    *x = (uint64_t)hi << 32 | lo;
    if (s->sel < 4)
        *x = lo >> s->sel * 8 & 0xff;
    else if (s->sel < 6)
        *x = lo >> (s->sel - 4) * 16 & 0xffff;
    return true;
}

static bool
source_alike(const struct kn_machine *m, const struct source *s)
{
    return s->is_imm || (kn_held_alike_in(m, s->lo) &&
                         (!(s->wide || s->mask) ||
                          kn_held_alike_in(m, s->hi)));
}

static bool
all_alike(const struct kn_machine *m, const struct sources *s)
{
    for (unsigned k = 0; k < s->n; k++)
        if (!source_alike(m, &s->s[k]))
            return false;
    return true;
}

/* ---- scalar instructions ------------------------------------------------ */

static void
set_reg(struct kn_machine *m, unsigned r, const struct kn_held *v)
{
    if (r < KN_NREG)
        m->now[r] = v->kind == KN_V_ALIKE
                  ? v : kn_held_select(m, m->active, v, m->now[r]);
}

static struct kn_lane
gather(const struct sources *s, unsigned w, unsigned l)
{
    struct kn_lane x = { 0 };
    uint64_t *at[MAX_SRC] = { &x.a, &x.b, &x.c, &x.d };
    uint64_t mask;
    uint32_t scc;

    for (unsigned k = 0; k < s->n && k < 3; k++)
        if ((int)k != s->carry && source_lane(&s->s[k], w, l, at[k]))
            x.known |= 1u << k;
    if (s->carry >= 0) {
        x.known |= 1u << s->carry;
        if (source_lane(&s->s[s->carry], w, 0, &mask)) {
            x.s = mask >> l & 1;
            x.known |= KN_L_FLAG;
        }
    } else if (kn_machine_lane(s->scc, w, 0, &scc)) {
        x.s = scc;
        x.known |= KN_L_FLAG;
    }
    if (source_lane(&s->old, w, l, &x.d))
        x.known |= KN_L_OLD;
    return x;
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
    set_reg(m, kn_reg_of(o, 0), lo);
    if (o->width > 1)
        set_reg(m, kn_reg_of(o, 1), hi);
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
    set_reg(m, KN_SCC, v);
}

static void
step_scalar(struct kn_machine *m, const struct kn_inst *i)
{
    const struct kn_isa_row *row = &kn_isa[i->op];
    struct sources s;
    uint8_t scc[KN_WAVES];
    bool alike;

    read_sources(m, i, &s);
    alike = all_alike(m, &s) &&
            (!(row->flags & KN_IF_RSCC) || kn_held_alike_in(m, s.scc)) &&
            (!(row->flags & KN_IF_RMW) || source_alike(m, &s.old));
    for (unsigned w = 0; w < m->nwaves; w++) {
        struct kn_lane x = gather(&s, w, 0);
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
    struct sources s;

    read_sources(m, i, &s);
    for (unsigned w = 0; w < m->nwaves; w++) {
        uint64_t a, e, r = 0;
        bool known = source_lane(&s.s[0], w, 0, &a) && exec_of(m, w, &e) &&
                     kn_eval_exec(i->op, a, e, &r);

        put_scalar(m, w, known, r);
        scc[w] = known ? r != 0 : 2;
    }
    set_pair(m, &exec, false);
    set_reg(m, kn_reg_of(&i->o[0], 0), lo);
    set_reg(m, kn_reg_of(&i->o[0], 1), hi);
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
static bool
exec_is_alike(const struct kn_machine *m)
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
    alike = alike && exec_is_alike(m) &&
            (kn_exec_is_full(m) || kn_held_alike_in(m, m->now[r]));
    v = merge_old(m, m->now[r]);
    if (v->kind == KN_V_UNKNOWN && alike)
        v = &kn_held_alike;
    m->now[r] = v;
}

/* Results of every lane into draft (low) and carry (high). */
static void
vector_lanes(struct kn_machine *m, const struct kn_inst *i,
             const struct sources *s, uint64_t *flags, uint64_t *flags_known)
{
    for (unsigned w = 0; w < m->nwaves; w++) {
        m->draft.known[w] = m->carry.known[w] = 0;
        flags[w] = flags_known[w] = 0;
        for (unsigned l = 0; l < KN_LANE; l++) {
            struct kn_lane x = gather(s, w, l);
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
            flags[w] |= (uint64_t)carry << l;
            flags_known[w] |= 1ull << l;
        }
    }
}

/* A lane mask: zero where EXEC is; known where all active lanes are. */
static void
set_mask(struct kn_machine *m, const struct kn_opnd *o, const uint64_t *mask,
         const uint64_t *known, bool alike)
{
    for (unsigned w = 0; w < m->nwaves; w++) {
        uint64_t e = 0;
        bool ok = exec_of(m, w, &e);

        put_scalar(m, w, ok && !(e & ~known[w]), mask[w] & e);
    }
    set_pair(m, o, alike && exec_is_alike(m));
}

/* What the sources give, merged with what lanes that are not active hold. */
static const struct kn_held *
vector_result(struct kn_machine *m, const struct kn_inst *i,
              const struct sources *s)
{
    uint64_t flags[KN_WAVES], known[KN_WAVES];

    vector_lanes(m, i, s, flags, known);
    return merge_old(m, m->now[kn_reg_of(&i->o[0], 0)]);
}

/* Of a source that is either of two the k-th; of a lane mask that is not known none
 * of the lanes, or all. */
static bool
take_either(const struct source *from, unsigned k, struct source *to)
{
    bool mask = from->mask && !from->is_imm &&
                (from->lo->kind != KN_V_KNOWN || from->hi->kind != KN_V_KNOWN);

    *to = *from;
    if (mask) {
        to->is_imm = true;
        to->imm = k ? ~0ull : 0;
    } else if (from->lo->kind == KN_V_EITHER && !from->is_imm) {
        to->lo = to->hi = from->lo->of[k];
    } else {
        return false;
    }
    return true;
}

/* An operation on one that may be either of two values gives either of two. */
static bool
step_either(struct kn_machine *m, const struct kn_inst *i,
            const struct sources *s)
{
    unsigned r = kn_reg_of(&i->o[0], 0);
    const struct kn_held *v[2], *x;

    if (r >= KN_NREG || i->o[0].width > 1 || i->ndst > 1 ||
        (s->carry >= 0 && i->op != KN_I_v_cndmask_b32))
        return false;
    for (unsigned k = 0; k < 2; k++) {
        struct sources one = *s;
        unsigned n = 0;

        for (unsigned a = 0; a < s->n; a++)
            n += take_either(&s->s[a], k, &one.s[a]);
        if (n != 1)
            return false;
        v[k] = vector_result(m, i, &one);
    }
    x = kn_held_either(m, v, all_alike(m, s) && exec_is_alike(m));
    if (x->kind == KN_V_UNKNOWN)
        return false;
    m->now[r] = x;
    return true;
}

static void
step_vector(struct kn_machine *m, const struct kn_inst *i)
{
    uint64_t flags[KN_WAVES], known[KN_WAVES];
    struct sources s;
    bool alike;

    read_sources(m, i, &s);
    if (step_either(m, i, &s))
        return;
    alike = all_alike(m, &s);
    vector_lanes(m, i, &s, flags, known);
    set_vector(m, kn_reg_of(&i->o[0], 0), alike);
    if (i->o[0].width > 1) {
        swap_drafts(m);
        set_vector(m, kn_reg_of(&i->o[0], 1), alike);
    }
    if (i->ndst > 1)
        set_mask(m, &i->o[1], flags, known, alike);
}

static void
step_compare(struct kn_machine *m, const struct kn_inst *i)
{
    static const struct kn_opnd exec = { .kind = KN_O_SGPR, .width = 2,
                                         .reg = 126 };
    uint64_t mask[KN_WAVES] = { 0 }, known[KN_WAVES] = { 0 };
    struct sources s;

    read_sources(m, i, &s);
    for (unsigned w = 0; w < m->nwaves; w++)
        for (unsigned l = 0; l < KN_LANE; l++) {
            struct kn_lane x = gather(&s, w, l);
            bool r = false;

            if ((x.known & 3) == 3 && kn_eval_compare(i->op, &x, &r))
                known[w] |= 1ull << l;
            mask[w] |= (uint64_t)r << l;
        }
    if (kn_isa[i->op].flags & KN_IF_WEXEC)
        set_mask(m, &exec, mask, known, false);
    set_mask(m, &i->o[0], mask, known, all_alike(m, &s));
}

/* v_readfirstlane and v_readlane: of a lane whose number is known. */
static void
step_readlane(struct kn_machine *m, const struct kn_inst *i)
{
    bool first = i->op == KN_I_v_readfirstlane_b32;
    struct sources s;

    read_sources(m, i, &s);
    for (unsigned w = 0; w < m->nwaves; w++) {
        uint64_t lane = 0, e = 0, x = 0;
        bool ok = first ? exec_of(m, w, &e) && e
                        : source_lane(&s.s[1], w, 0, &lane);

        lane = first && e ? (uint64_t)__builtin_ctzll(e) : lane & 63;
        ok = ok && source_lane(&s.s[0], w, (unsigned)lane, &x);
        put_scalar(m, w, ok, x);
    }
    set_pair(m, &i->o[0], source_alike(m, &s.s[0]));
}

static void
step_writelane(struct kn_machine *m, const struct kn_inst *i)
{
    unsigned r = kn_reg_of(&i->o[0], 0);
    struct sources s;

    if (r >= KN_NREG)
        return;
    read_sources(m, i, &s);
    for (unsigned k = 0; k < m->nwaves * KN_LANE; k++)
        kn_draft_lane(m, KN_LANE, k, m->now[r]);
    for (unsigned w = 0; w < m->nwaves; w++) {
        uint64_t x = 0, lane = 0;
        bool known = source_lane(&s.s[0], w, 0, &x);

        if (!(m->active >> w & 1))
            continue;
        if (!source_lane(&s.s[1], w, 0, &lane)) {
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
