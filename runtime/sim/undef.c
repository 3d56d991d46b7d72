/* undef.c - registers that hold no value. Each VGPR has a mask of lanes that
 * nobody wrote, or that hold what was loaded from bytes nobody wrote. The
 * mask follows values, erring towards "defined" so that correct code is never
 * reported:
 *  - moves and arithmetic: a lane of the result is undefined if a source is;
 *    a source of several registers only if all of them are;
 *  - bit operations, packing, multiplication: only if every source is;
 *  - v_cndmask: by the source it selects;
 *  - MFMA of one block: row i of D by row i of A, column j by column j of B,
 *    element by C;
 *  - DPP, SDWA, lane swaps, comparisons: the result counts as defined.
 * It is reported when it reaches memory (address or data), a scalar address
 * or a branch; LDS and scratch only pass it on. */
#include "core.h"

void
kn_set_undef(struct kn_wave *w, unsigned reg, uint64_t mask,
             struct kn_undef u)
{
    struct kn_undef *now = &w->vundef[reg];

    u.lanes &= mask;
    if (!(w->vflag[reg] & KN_VF_UNINIT) && !u.lanes)
        return;
    now->lanes &= ~mask;
    if (u.lanes) {
        u.lanes |= now->lanes;
        *now = u;
    }
    if (now->lanes)
        w->vflag[reg] |= KN_VF_UNINIT;
    else
        w->vflag[reg] &= (uint8_t)~KN_VF_UNINIT;
}

static void
set_scalar(struct kn_wave *w, unsigned reg, bool undef,
           const struct kn_undef *from)
{
    if (undef) {
        w->sflag[reg] |= KN_VF_UNINIT;
        w->sundef[reg] = *from;
    } else {
        w->sflag[reg] &= (uint8_t)~KN_VF_UNINIT;
    }
}

uint64_t
kn_undef_lanes(const struct kn_wave *w, unsigned reg, unsigned n)
{
    uint64_t u = ~(uint64_t)0;

    for (unsigned k = 0; k < n; k++)
        u &= w->vflag[reg + k] & KN_VF_UNINIT ? w->vundef[reg + k].lanes : 0;
    return u;
}

/* ---- propagation -------------------------------------------------------- */

static void
note_origin(struct kn_undef_note *n, const struct kn_undef *u)
{
    if (!n->origin.lanes) {
        n->origin = *u;
        n->origin.lanes = 1;
    }
}

static bool
scalar_range_undef(const struct kn_wave *w, const struct kn_range *r,
                   struct kn_undef_note *n)
{
    for (unsigned k = 0; k < r->n; k++)
        if (!(w->sflag[r->reg + k] & KN_VF_UNINIT))
            return false;
    note_origin(n, &w->sundef[r->reg]);
    return true;
}

/* ANY and ALL over the sources; scalar sources count as all lanes. */
static void
combine(struct kn_wave *w, const struct kn_step *st, bool any,
        struct kn_undef_note *n)
{
    uint64_t u = any ? 0 : ~(uint64_t)0;
    unsigned sources = 0;

    for (unsigned k = 0; k < st->nv; k++) {
        const struct kn_range *r = &st->v[k];
        uint64_t x;

        if (r->role == KN_R_WRITE)
            continue;
        x = kn_undef_lanes(w, r->reg, r->n);
        if (x)
            note_origin(n, &w->vundef[r->reg]);
        u = any ? u | x : u & x;
        sources++;
    }
    for (unsigned k = 0; k < st->ns; k++) {
        if (st->s[k].role == KN_R_WRITE)
            continue;
        bool x = scalar_range_undef(w, &st->s[k], n);
        u = any ? (x ? ~(uint64_t)0 : u) : (x ? u : 0);
        sources++;
    }
    n->lanes[0] = sources ? u : 0;
    n->scalar = sources && u;
}

static uint64_t
operand_undef(struct kn_wave *w, const struct kn_opnd *o,
              struct kn_undef_note *n)
{
    unsigned reg = kn_vreg(w, o);
    uint64_t u;

    if (o->kind != KN_O_VGPR && o->kind != KN_O_AGPR)
        return 0;
    u = kn_undef_lanes(w, reg, 1);
    if (u)
        note_origin(n, &w->vundef[reg]);
    return u;
}

static void
select(struct kn_wave *w, const struct kn_inst *i, struct kn_undef_note *n)
{
    uint64_t m = 0;

    if (i->nopnd < 4)
        return;
    if (i->o[3].kind == KN_O_SGPR)
        m = w->s[i->o[3].reg] | (uint64_t)w->s[i->o[3].reg + 1] << 32;
    n->lanes[0] = (operand_undef(w, &i->o[1], n) & ~m) |
                  (operand_undef(w, &i->o[2], n) & m);
}

/* ---- matrix instructions ------------------------------------------------ */

static uint64_t
any_lane(struct kn_wave *w, const struct kn_opnd *o, struct kn_undef_note *n)
{
    unsigned reg = kn_vreg(w, o);
    uint64_t u = 0;

    if (o->kind != KN_O_VGPR && o->kind != KN_O_AGPR)
        return 0;
    for (unsigned k = 0; k < (o->width ? o->width : 1u); k++)
        if (w->vflag[reg + k] & KN_VF_UNINIT) {
            u |= w->vundef[reg + k].lanes;
            note_origin(n, &w->vundef[reg + k]);
        }
    return u;
}

/* Lanes holding row (or column) r of an operand are r, r + m, r + 2m, ... */
static uint32_t
fold(uint64_t lanes, unsigned m)
{
    uint32_t half = (uint32_t)(lanes | lanes >> 32);

    return m == 32 ? half : (half | half >> 16) & 0xffff;
}

/* Element of lane l, register r of D: CDNA3 ISA 7.1.4. */
static unsigned
d_row(unsigned m, unsigned r, unsigned l)
{
    return m == 32 ? 8 * (r / 4) + 4 * (l / 32) + r % 4 : 4 * (l / 16) + r;
}

static void
matrix(struct kn_wave *w, const struct kn_inst *i, struct kn_undef_note *n)
{
    unsigned nd = i->o[0].width, m = nd == 16 ? 32 : 16;
    bool plain = (nd == 4 || nd == 16) &&
                 !(kn_isa[i->op].flags & (KN_IF_SMFMAC | KN_IF_F64)) &&
                 !strstr(kn_isa[i->op].mnemonic, "b_");
    uint32_t rows = 0, columns = 0;

    n->per_dword = true;
    if (plain) {
        rows = fold(any_lane(w, &i->o[1], n), m);
        columns = fold(any_lane(w, &i->o[2], n), m);
    }
    for (unsigned r = 0; r < nd && r < 32; r++) {
        struct kn_opnd c = i->o[3];
        uint64_t u;

        c.reg = (uint16_t)(c.reg + r);
        u = operand_undef(w, &c, n);
        for (unsigned l = 0; (rows || columns) && l < KN_LANES; l++)
            u |= (uint64_t)(rows >> d_row(m, r, l) & 1 ||
                            columns >> l % m & 1) << l;
        n->lanes[r] = u;
    }
}

static void
read_lane(struct kn_wave *w, const struct kn_inst *i, struct kn_undef_note *n)
{
    uint64_t u = operand_undef(w, &i->o[1], n), exec = kn_exec_mask(w);
    unsigned lane = exec ? (unsigned)__builtin_ctzll(exec) : 0;

    if (i->op != KN_I_v_readfirstlane_b32) {
        const struct kn_opnd *o = &i->o[i->nopnd - 1];
        if (o->kind == KN_O_SGPR)
            lane = w->s[o->reg] & 63;
        else
            lane = (unsigned)o->imm & 63;
    }
    n->scalar = u >> lane & 1;
}

void
kn_undef_before(struct kn_wave *w, const struct kn_inst *i,
                const struct kn_step *st, struct kn_undef_note *n)
{
    n->per_dword = n->scalar = false;
    n->lanes[0] = 0;
    n->origin = (struct kn_undef){ 0 };
    n->mask = st->flags & KN_ST_ALL_LANES ? ~(uint64_t)0 : kn_exec_mask(w);
    switch (st->undef_rule) {
    case KN_UR_ANY: combine(w, st, true, n); break;
    case KN_UR_ALL: combine(w, st, false, n); break;
    case KN_UR_SELECT: select(w, i, n); break;
    case KN_UR_MFMA: matrix(w, i, n); break;
    case KN_UR_LANE: read_lane(w, i, n); break;
    case KN_UR_SCC: combine(w, st, true, n); break;
    default: break;
    }
}

void
kn_undef_after(struct kn_wave *w, const struct kn_step *st,
               const struct kn_undef_note *n)
{
    unsigned shift = w->gpr_idx & 8 ? w->s[KN_S_M0] & 255 : 0;

    for (unsigned k = 0; k < st->nv; k++) {
        const struct kn_range *r = &st->v[k];

        if (r->role != KN_R_WRITE)
            continue;
        for (unsigned d = 0; d < r->n && r->reg + shift + d < KN_NVREG; d++)
            kn_set_undef(w, r->reg + shift + d, n->mask, (struct kn_undef){
                n->lanes[n->per_dword ? d : 0], n->origin.inst,
                n->origin.kind });
    }
    for (unsigned k = 0; k < st->ns; k++)
        if (st->s[k].role == KN_R_WRITE)
            for (unsigned d = 0; d < st->s[k].n; d++)
                set_scalar(w, st->s[k].reg + d, n->scalar, &n->origin);
    if (st->flags & KN_ST_SCC_WRITE)
        w->scc_undef = n->scalar;
}

/* ---- where it matters --------------------------------------------------- */

static const char *
origin_text(const struct kn_wave *w, const struct kn_undef *u, char *buf,
            size_t n)
{
    const struct kn_program *p = w->group->program;

    if (u->inst >= p->n)
        return "never written";
    snprintf(buf, n, "from %s by %s at 0x%llx",
             u->kind == KN_F_UNINIT_LDS ? "unwritten LDS" : "unwritten memory",
             kn_isa[p->inst[u->inst].op].mnemonic,
             (unsigned long long)p->inst[u->inst].pc);
    return buf;
}

static void
report_undef(struct kn_wave *w, const struct kn_inst *i,
             const struct kn_undef *u, struct kn_at at, const char *what)
{
    char buf[80];

    at.other_inst = u->inst;
    at.other_wave = w->id;
    kn_report(w, i, u->kind ? u->kind : KN_F_UNINIT_REG, at, "%s is %s",
              what, origin_text(w, u, buf, sizeof buf));
}

void
kn_require_vgpr(struct kn_wave *w, const struct kn_inst *i,
                struct kn_range r, uint64_t mask, const char *what)
{
    for (unsigned reg = r.reg; reg < (unsigned)r.reg + r.n; reg++) {
        uint64_t u = w->vflag[reg] & KN_VF_UNINIT
                         ? w->vundef[reg].lanes & mask : 0;
        bool acc = reg >= w->accum_offset;
        unsigned number = reg - (acc ? w->accum_offset : 0);
        char text[32];

        if (!u)
            continue;
        snprintf(text, sizeof text, "%s %c%u", what, acc ? 'a' : 'v', number);
        report_undef(w, i, &w->vundef[reg],
                     KN_AT(__builtin_ctzll(u), number), text);
        return;
    }
}

void
kn_require_sgpr(struct kn_wave *w, const struct kn_inst *i, unsigned reg,
                unsigned n, const char *what)
{
    for (unsigned k = reg; k < reg + n; k++)
        if (w->sflag[k] & KN_VF_UNINIT) {
            char text[32];

            snprintf(text, sizeof text, "%s s%u", what, k);
            report_undef(w, i, &w->sundef[k], KN_AT(-1, k), text);
            return;
        }
}

void
kn_undef_branch(struct kn_wave *w, const struct kn_inst *i)
{
    uint64_t flags = kn_isa[i->op].flags;

    if (flags & KN_IF_RSCC && w->scc_undef)
        kn_report(w, i, KN_F_UNINIT_REG, KN_AT(-1, 0),
                  "branches on SCC computed from an uninitialised register");
    if (flags & KN_IF_RVCC)
        kn_require_sgpr(w, i, KN_S_VCC, 2, "branch condition");
}
