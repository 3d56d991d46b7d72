/* hazard.c - reports wait states that are missing between dependent
 * instructions (emit/isa/hazard.def). A violation silently reads or keeps
 * stale data.
 *
 * Two mechanisms: matrix results stay unsafe for many steps, so recent matrix
 * instructions are kept in a ring with their own numbers; everything else
 * needs at most five, so a rule is looked at only while a producer of its
 * kind is that near. */
#include "../../emit/isa/hazard.h"
#include "core.h"

_Static_assert((int)KN_HZ_RULES <= 16, "kn_step.rules has a bit for each rule");

/* ---- classification ----------------------------------------------------- */

static bool
writes(const struct kn_range *r, unsigned n, unsigned lo, unsigned hi)
{
    for (unsigned k = 0; k < n; k++)
        if (r[k].role == KN_R_WRITE && r[k].reg < hi && r[k].reg + r[k].n > lo)
            return true;
    return false;
}

/* Destination forms that leave a part of the register to be forwarded. */
static bool
partial_destination(const struct kn_inst *i)
{
    const uint64_t flags = kn_isa[i->op].flags;

    if (i->enc == KN_E_SDWA)
        return i->dst_sel != 6 && i->ndst && i->o[0].kind == KN_O_VGPR;
    if (flags & KN_IF_LANESEL)
        return false;        /* the lanes it writes are whole */
    return flags & KN_IF_PARTIAL || (i->op_sel & 8 && !(flags & KN_IF_PK16));
}

static unsigned
valu_produces(const struct kn_inst *i, const struct kn_step *st)
{
    const struct kn_isa_row *row = &kn_isa[i->op];
    unsigned p = 0;

    if (writes(st->v, st->nv, 0, KN_NVREG))
        p |= 1u << P_VALU_VGPR;
    if (writes(st->s, st->ns, 0, KN_NSREG))
        p |= 1u << P_VALU_SGPR;
    if (row->flags & KN_IF_WEXEC)
        p |= 1u << P_VALU_EXEC;
    if (row->flags & KN_IF_TRANS)
        p |= 1u << P_TRANS;
    if (partial_destination(i))
        p |= 1u << P_PARTIAL;
    return p;
}

static bool
wide_store(const struct kn_memop *m)
{
    if (m->mem == KN_M_BUFFER && m->soffset != KN_NOREG)
        return false;
    return m->mem != KN_M_DS && m->mem != KN_M_SMEM && m->ndata > 2;
}

static unsigned
produces(const struct kn_inst *i, const struct kn_step *st)
{
    const struct kn_isa_row *row = &kn_isa[i->op];

    if (row->unit == KN_U_VALU)
        return valu_produces(i, st);
    if (row->unit == KN_U_VMEM)
        return wide_store(&st->mem) ? 1u << P_STORE : 0;
    if (i->op == KN_I_s_setreg_b32 || i->op == KN_I_s_setreg_imm32_b32)
        return 1u << P_SETREG;
    if (row->unit == KN_U_SALU &&
        writes(st->s, st->ns, KN_S_M0, KN_S_M0 + 1))
        return 1u << P_SALU_M0;
    return 0;
}

static unsigned
valu_classes(const struct kn_inst *i)
{
    const struct kn_isa_row *row = &kn_isa[i->op];
    unsigned c = 1u << C_VALU;

    if (!(row->flags & KN_IF_TRANS))
        c |= 1u << C_NOT_TRANS;
    if (i->enc == KN_E_DPP)
        c |= 1u << C_DPP;
    if (row->flags & KN_IF_LANESEL)
        c |= 1u << C_LANESEL;
    if (i->op == KN_I_v_readlane_b32 || i->op == KN_I_v_readfirstlane_b32)
        c |= 1u << C_READLANE;
    if (row->flags & KN_IF_RVCC)
        c |= 1u << C_DIV_FMAS;
    if (row->flags & KN_IF_PERMLANE)
        c |= 1u << C_PERMLANE;
    return c;
}

static unsigned
consumer_classes(const struct kn_inst *i, const struct kn_step *st)
{
    switch (kn_isa[i->op].unit) {
    case KN_U_VALU:
        return valu_classes(i);
    case KN_U_MFMA:
        return 1u << C_MFMA | 1u << C_VALU | 1u << C_NOT_TRANS;
    case KN_U_VMEM:
        return 1u << C_VMEM |
               (st->mem.kind == KN_MO_DMA ? 1u << C_DMA : 0);
    default:
        return i->op == KN_I_s_getreg_b32 ? 1u << C_GETREG : 0;
    }
}

void
kn_hazard_classify(kiln_target t, const struct kn_inst *i,
                   struct kn_step *st)
{
    unsigned c = consumer_classes(i, st);

    st->produces = (uint8_t)produces(i, st);
    if (st->flags & KN_ST_MFMA)
        st->after = kn_mfma_waits(t, i);
    for (unsigned k = 0; k < KN_HZ_RULES; k++)
        if (c >> kn_hz_rules[k].consume & 1 &&
            (!kn_hz_rules[k].target || kn_hz_rules[k].target == t))
            st->rules |= (uint16_t)(1u << k);
}

/* ---- short hazards ------------------------------------------------------ */

struct ranges {
    const struct kn_range *r;
    unsigned n;
};

/* Does something the first writes overlap what the second reads? */
static bool
write_meets_read(struct ranges a, struct ranges b)
{
    for (unsigned x = 0; x < a.n; x++) {
        if (a.r[x].role != KN_R_WRITE)
            continue;
        for (unsigned y = 0; y < b.n; y++)
            if (b.r[y].role != KN_R_WRITE &&
                a.r[x].reg < b.r[y].reg + b.r[y].n &&
                b.r[y].reg < a.r[x].reg + a.r[x].n)
                return true;
    }
    return false;
}

static bool
selects_lane(const struct kn_step *from, const struct kn_inst *i)
{
    const struct kn_opnd *o = &i->o[i->nopnd - 1];

    return o->kind == KN_O_SGPR &&
           writes(from->s, from->ns, o->reg, o->reg + 1u);
}

static bool
rule_applies(const struct kn_wave *w, const struct kn_hz_rule *r, uint32_t from_inst,
             const struct kn_inst *i, const struct kn_step *st)
{
    const struct kn_step *from = &w->group->run->step[from_inst];
    const struct kn_inst *fi = &w->group->program->inst[from_inst];

    switch (r->match) {
    case VGPR_READ:
        return write_meets_read((struct ranges){ from->v, from->nv },
                                (struct ranges){ st->v, st->nv });
    case SGPR_READ:
        return write_meets_read((struct ranges){ from->s, from->ns },
                                (struct ranges){ st->s, st->ns });
    case DATA_OVERWRITE:
        return writes(st->v, st->nv, from->mem.data,
                      from->mem.data + from->mem.ndata);
    case LANE_SELECT:
        return selects_lane(from, i);
    case VCC_READ:
        return writes(from->s, from->ns, KN_S_VCC, KN_S_VCC + 2);
    case SAME_HWREG:
        return !((fi->raw[0] ^ i->raw[0]) & 63);
    default:
        return true;
    }
}

static void
check_rule(struct kn_wave *w, const struct kn_inst *i,
           const struct kn_step *st, const struct kn_hz_rule *r)
{
    const struct kn_hazard *h = w->hazard;

    for (unsigned k = 0; k < KN_HZ_RING; k++) {
        uint64_t between = w->steps - h->recent[k].at;

        if (!h->recent[k].at || between >= r->need)
            continue;
        if (!(h->recent[k].produces >> r->produce & 1))
            continue;
        if (rule_applies(w, r, h->recent[k].inst, i, st))
            kn_report_states(w, i, r->severity,
                             KN_PAIR(-1, 0, h->recent[k].inst, w->id),
                             "%s after %u wait states, needs %u", r->text,
                             (unsigned)between, r->need);
    }
}

/* ---- matrix results ----------------------------------------------------- */

/* Registers whose use may matter until h->until. */
static void
widen_watch(struct kn_hazard *h, unsigned reg, unsigned n)
{
    if (!n)
        return;
    h->lo = reg < h->lo ? reg : h->lo;
    h->hi = reg + n > h->hi ? reg + n : h->hi;
}

static void
record_mfma(struct kn_wave *w, const struct kn_inst *i,
            const struct kn_step *st)
{
    struct kn_hazard *h = w->hazard;
    struct kn_hazard_mfma *m = &h->mfma[h->head++ % KN_HZ_MFMA];
    unsigned longest = st->after.mem > st->after.read ? st->after.mem
                                                      : st->after.read;

    *m = (struct kn_hazard_mfma){ .at = w->steps + 1, .st = st, .op = i->op,
                                  .inst = kn_inst_index(w, i) };
    for (unsigned k = 0; k < st->nv; k++) {
        if (st->v[k].role == KN_R_WRITE) {
            m->d = st->v[k].reg;
            m->nd = st->v[k].n;
        } else if (st->v[k].role == KN_R_CIN) {
            m->c = st->v[k].reg;
            m->nc = st->v[k].n;
        }
    }
    m->until = m->at + longest;
    if (h->until <= w->steps) {
        h->lo = KN_NVREG;
        h->hi = 0;
    }
    widen_watch(h, m->d, m->nd);
    widen_watch(h, m->c, m->nc);
    if (h->until < m->until)
        h->until = m->until;
}

static enum kn_hz_matrix
relation(const struct kn_hazard_mfma *m, const struct kn_range *r,
         const struct kn_inst *i, const struct kn_step *st)
{
    bool mfma = st->flags & KN_ST_MFMA;
    bool d = r->reg < m->d + m->nd && m->d < r->reg + r->n;
    bool c = r->reg < m->c + m->nc && m->c < r->reg + r->n;

    if (r->role == KN_R_WRITE) {
        if (mfma)
            return KN_HM_NONE;   /* the matrix unit keeps its own order */
        return d ? KN_HM_OVERWRITE : c ? KN_HM_OVERWRITE_C : KN_HM_NONE;
    }
    if (!d)
        return KN_HM_NONE;
    if (r->role == KN_R_CIN) {
        if (r->reg == m->d && r->n == m->nd && m->op == i->op)
            return KN_HM_SAME;
        return KN_HM_ACCUMULATE;
    }
    return st->flags & KN_ST_MEM ? KN_HM_MEM_READ
         : kn_isa[i->op].unit == KN_U_VALU ? KN_HM_VALU_READ : KN_HM_MFMA_READ;
}

/* Is C of a matrix instruction a result that may not be there yet? */
static bool
takes_early(const struct kn_wave *w, const struct kn_inst *i,
            const struct kn_range *r)
{
    const struct kn_hazard *h = w->hazard;

    for (uint32_t k = 1; k <= KN_HZ_MFMA; k++) {
        const struct kn_hazard_mfma *m = &h->mfma[(h->head - k) % KN_HZ_MFMA];
        uint64_t between = w->steps - m->at;
        bool same = r->reg == m->d && r->n == m->nd && m->op == i->op;

        if (m->at + KN_HZ_FAR <= w->steps)
            return false;
        if (r->reg < m->d + m->nd && m->d < r->reg + r->n &&
            between < (same ? m->st->after.same : m->st->after.cin))
            return true;
    }
    return false;
}

/* May check_mfma have something to say? Main loops are long runs of matrix
 * instructions on registers of their own, each of which would be compared with
 * all that are near. */
static bool
meets_matrix(const struct kn_wave *w, const struct kn_inst *i,
             const struct kn_step *st)
{
    const struct kn_hazard *h = w->hazard;
    bool mfma = st->flags & KN_ST_MFMA;

    for (unsigned k = 0; k < st->nv; k++) {
        const struct kn_range *r = &st->v[k];

        if (r->reg >= h->hi || r->reg + r->n <= h->lo ||
            (mfma && r->role == KN_R_WRITE))
            continue;
        if (r->role != KN_R_CIN || takes_early(w, i, r))
            return true;
    }
    return false;
}

static void
check_mfma(struct kn_wave *w, const struct kn_inst *i,
           const struct kn_step *st, const struct kn_hazard_mfma *m)
{
    uint64_t between = w->steps - m->at;

    for (unsigned k = 0; k < st->nv; k++) {
        enum kn_hz_matrix what = relation(m, &st->v[k], i, st);
        unsigned need = kn_hz_need(&m->st->after, what);

        if (between < need)
            kn_report_states(w, i, kn_hz_matrix_severity(what, need),
                             KN_PAIR(-1, st->v[k].reg, m->inst, w->id),
                             "%s MFMA result after %u wait states, needs %u",
                             kn_hz_matrix[what].verb, (unsigned)between,
                             need);
    }
}

/* ---- run loop ----------------------------------------------------------- */

/* Nearly every vector instruction makes a VGPR, nearly none reads it by a rule:
 * the rules of that, and steps after which no other producer matters. */
enum {
#define RULE(p, c, need, match, target, severity, text) \
    | (P_##p == P_VALU_VGPR ? 1 << KN_HZ_AT_##p##_##c : 0)
#define MATRIX(id, number, most, verb)
    VGPR_RULES = 0
#include "../../emit/isa/hazard.def"
#undef RULE
#define RULE(p, c, need, match, target, severity, text) | (need)
    , REACH = 0
#include "../../emit/isa/hazard.def"
#undef MATRIX
#undef RULE
};

void
kn_hazard_reset(struct kn_hazard *h)
{
    memset(h, 0, sizeof *h);
}

void
kn_hazard_check(struct kn_wave *w, const struct kn_inst *i,
                const struct kn_step *st)
{
    struct kn_hazard *h = w->hazard;

    unsigned rules = w->steps < h->rare_until ? st->rules
                                              : st->rules & VGPR_RULES;

    for (unsigned m = rules; m; m &= m - 1) {
        const struct kn_hz_rule *r = &kn_hz_rules[__builtin_ctz(m)];

        if (w->steps - h->last[r->produce] < r->need)
            check_rule(w, i, st, r);
    }
    if (w->steps < h->until && meets_matrix(w, i, st))
        for (uint32_t k = 1; k <= KN_HZ_MFMA; k++) { /* the newest first */
            const struct kn_hazard_mfma *m =
                &h->mfma[(h->head - k) % KN_HZ_MFMA];

            if (m->at + KN_HZ_FAR <= w->steps)
                break;
            if (w->steps < m->until)
                check_mfma(w, i, st, m);
        }
}

void
kn_hazard_record(struct kn_wave *w, const struct kn_inst *i,
                 const struct kn_step *st)
{
    struct kn_hazard *h = w->hazard;
    unsigned slot;

    if (st->flags & KN_ST_MFMA)
        record_mfma(w, i, st);
    if (!st->produces)
        return;
    if (st->produces & ~(1u << P_VALU_VGPR))
        h->rare_until = w->steps + 1 + REACH;
    slot = h->nrecent++ % KN_HZ_RING;
    h->recent[slot].at = w->steps + 1;
    h->recent[slot].inst = kn_inst_index(w, i);
    h->recent[slot].produces = st->produces;
    for (unsigned m = st->produces; m; m &= m - 1)
        h->last[__builtin_ctz(m)] = w->steps + 1;
}
