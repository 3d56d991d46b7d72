/* slice.c - what of a kernel decides where it goes and what it addresses: a
 * backward data flow over its control flow. Instructions whose results reach
 * no address, no branch, no EXEC and no M0 only move data; an observed launch
 * that wants addresses alone leaves their results out (kn_step.data).
 *
 * A write ends a register's life only where EXEC is known to be full. LDS and
 * scratch are one location each. What a launch stores to memory and loads
 * again is data, except through atomics that return something or add
 * integers: those are executed. */
#include "../../emit/isa/cfg.h"
#include "core.h"

enum { SCC = KN_NVREG + KN_NSREG, WORDS = SCC / 64 + 1, PAIRS = KN_NSREG / 2 };

struct regs {                /* vector registers, scalars, SCC */
    uint64_t bit[WORDS];
};

struct masks {               /* what is known of EXEC at a point */
    bool reached, full;
    uint64_t saved;          /* pairs of scalars that hold a full EXEC */
};

struct slice {
    const struct kn_program *p;
    struct kn_step *step;
    struct kn_cfg cfg;
    struct regs *live;       /* at the beginning of each block */
    struct masks *exec;      /* the same */
    bool *full;              /* EXEC before each instruction */
    bool lds, scratch;       /* some address depends on what is there */
};

/* ---- sets --------------------------------------------------------------- */

static void
set_range(struct regs *r, unsigned from, unsigned n)
{
    for (unsigned k = from; k < from + n; k++)
        r->bit[k / 64] |= (uint64_t)1 << k % 64;
}

static bool
meets(const struct regs *r, unsigned from, unsigned n)
{
    uint64_t any = 0;

    for (unsigned k = from; k < from + n; k++)
        any |= r->bit[k / 64] >> k % 64 & 1;
    return any;
}

static void
clear_range(struct regs *r, unsigned from, unsigned n)
{
    for (unsigned k = from; k < from + n; k++)
        r->bit[k / 64] &= ~((uint64_t)1 << k % 64);
}

/* ---- EXEC --------------------------------------------------------------- */

static bool
is_exec(const struct kn_opnd *o)
{
    return o->kind == KN_O_SGPR && o->reg == KN_S_EXEC;
}

static bool
writes_exec(const struct kn_inst *i)
{
    bool any = kn_isa[i->op].flags & KN_IF_WEXEC;

    for (unsigned k = 0; k < i->ndst; k++)
        any |= i->o[k].kind == KN_O_SGPR &&
               (i->o[k].reg == KN_S_EXEC || i->o[k].reg == KN_S_EXEC + 1);
    return any;
}

static uint64_t
pair_of(const struct kn_opnd *o)
{
    bool pair = o->kind == KN_O_SGPR && o->width == 2 && !(o->reg & 1) &&
                o->reg < KN_S_EXEC;

    return pair ? (uint64_t)1 << o->reg / 2 : 0;
}

/* Is operand o all lanes, as far as is known? */
static bool
is_full(const struct masks *m, const struct kn_opnd *o)
{
    if (is_exec(o))
        return m->full;
    if (o->kind == KN_O_SGPR)
        return m->saved & pair_of(o);
    return o->kind == KN_O_IMM && o->imm == -1;
}

/* What i makes EXEC, and which pairs hold a full one afterwards. */
static void
step_masks(const struct kn_inst *i, const struct kn_step *st, struct masks *m)
{
    bool copy = i->op == KN_I_s_mov_b64, or = i->op == KN_I_s_or_b64;
    bool save = strstr(kn_isa[i->op].mnemonic, "_saveexec_b64") != NULL;
    bool full = (copy && is_full(m, &i->o[1])) ||
                (or && (is_full(m, &i->o[1]) || is_full(m, &i->o[2])));
    uint64_t pair = i->ndst ? pair_of(&i->o[0]) : 0;

    for (unsigned k = 0; k < st->ns; k++)
        for (unsigned r = st->s[k].reg; st->s[k].role == KN_R_WRITE &&
                                        r < st->s[k].reg + st->s[k].n + 0u; r++)
            m->saved &= ~((uint64_t)1 << r / 2);
    if (pair && ((save && m->full) || full))
        m->saved |= pair;
    if (writes_exec(i))
        m->full = full && i->ndst && is_exec(&i->o[0]);
}

static bool
join_masks(struct masks *to, const struct masks *from)
{
    struct masks was = *to;

    *to = !was.reached ? *from
                       : (struct masks){ true, was.full && from->full,
                                         was.saved & from->saved };
    return !was.reached || was.full != to->full || was.saved != to->saved;
}

static void
find_full(struct slice *s)
{
    bool changed = true;

    s->exec[s->cfg.block_of[s->p->entry]] = (struct masks){ true, true, 0 };
    while (changed) {
        changed = false;
        for (uint32_t b = 0; b < s->cfg.nblocks; b++) {
            const struct kn_block *k = &s->cfg.blocks[b];
            struct masks m = s->exec[b];

            if (!m.reached)
                continue;
            for (uint32_t n = k->first; n < k->end; n++) {
                s->full[n] = m.full;
                step_masks(&s->p->inst[n], &s->step[n], &m);
            }
            for (unsigned e = 0; e < 2; e++)
                if (k->succ[e] >= 0)
                    changed |= join_masks(&s->exec[k->succ[e]], &m);
        }
    }
}

/* ---- one instruction ---------------------------------------------------- */

static void
read_ranges(struct regs *live, const struct kn_step *st)
{
    for (unsigned k = 0; k < st->nv; k++)
        if (st->v[k].role != KN_R_WRITE)
            set_range(live, st->v[k].reg, st->v[k].n);
    for (unsigned k = 0; k < st->ns; k++)
        if (st->s[k].role != KN_R_WRITE)
            set_range(live, KN_NVREG + st->s[k].reg, st->s[k].n);
}

static bool
writes_live(const struct regs *live, const struct kn_step *st)
{
    bool any = st->flags & KN_ST_SCC_WRITE && meets(live, SCC, 1);

    for (unsigned k = 0; k < st->nv; k++)
        any |= st->v[k].role == KN_R_WRITE &&
               meets(live, st->v[k].reg, st->v[k].n);
    for (unsigned k = 0; k < st->ns; k++)
        any |= st->s[k].role == KN_R_WRITE &&
               meets(live, KN_NVREG + st->s[k].reg, st->s[k].n);
    return any;
}

/* Does it write all of its destinations, in every lane that runs? */
static bool
writes_whole(const struct kn_inst *i, const struct kn_step *st)
{
    return !(kn_isa[i->op].flags & (KN_IF_RMW | KN_IF_PARTIAL)) && !i->rmw &&
           !i->op_sel && i->enc != KN_E_DPP && i->enc != KN_E_SDWA &&
           !(st->flags & KN_ST_MEM && st->mem.half);
}

static void
end_lives(struct regs *live, const struct kn_inst *i, const struct kn_step *st,
          bool full)
{
    if (!writes_whole(i, st))
        return;
    for (unsigned k = 0; k < st->nv && full; k++)
        if (st->v[k].role == KN_R_WRITE)
            clear_range(live, st->v[k].reg, st->v[k].n);
    for (unsigned k = 0; k < st->ns; k++)
        if (st->s[k].role == KN_R_WRITE)
            clear_range(live, KN_NVREG + st->s[k].reg, st->s[k].n);
    if (st->flags & KN_ST_SCC_WRITE)
        clear_range(live, SCC, 1);
}

static bool
adds_floats(const struct kn_memop *m)
{
    return m->atomic == KN_AT_ADD_F32 || m->atomic == KN_AT_ADD_F64 ||
           m->atomic == KN_AT_PK_ADD_F16 || m->atomic == KN_AT_PK_ADD_BF16;
}

/* Is what a memory instruction moves wanted, given what its result is? */
static bool
moves_wanted(const struct slice *s, const struct kn_memop *m, bool result)
{
    bool lds = m->mem == KN_M_DS, flat = m->mem == KN_M_FLAT;

    switch (m->kind) {
    case KN_MO_STORE:
        return ((lds || flat) && s->lds) ||
               ((m->mem == KN_M_SCRATCH || flat) && s->scratch);
    case KN_MO_DMA: return s->lds;
    case KN_MO_ATOMIC:
        return result || (lds ? s->lds : !adds_floats(m));
    case KN_MO_LOAD:
    case KN_MO_TRANSPOSE:
    case KN_MO_SWIZZLE:
    case KN_MO_PERMUTE:
    case KN_MO_BPERMUTE: return result;
    default: return true;
    }
}

/* Addresses are always wanted; data in proportion. */
static void
step_memory(struct slice *s, struct regs *live, uint32_t n)
{
    struct kn_step *st = &s->step[n];
    const struct kn_memop *m = &st->mem;
    bool result = writes_live(live, st), lane = m->kind == KN_MO_SWIZZLE ||
         m->kind == KN_MO_PERMUTE || m->kind == KN_MO_BPERMUTE, wanted;

    wanted = m->mem == KN_M_SMEM || moves_wanted(s, m, result);
    s->lds |= wanted && result && !lane &&
              (m->mem == KN_M_DS || m->mem == KN_M_FLAT);
    s->scratch |= wanted && result && (m->mem == KN_M_SCRATCH ||
                                       m->mem == KN_M_FLAT);
    st->data = !wanted;
    if (wanted) {
        end_lives(live, &s->p->inst[n], st, s->full[n]);
        read_ranges(live, st);
        return;
    }
    for (unsigned k = 0; k < st->ns; k++)
        if (st->s[k].role != KN_R_WRITE)
            set_range(live, KN_NVREG + st->s[k].reg, st->s[k].n);
    if (!lane)
        set_range(live, m->addr == KN_NOREG ? 0 : m->addr,
                  m->addr == KN_NOREG ? 0 : m->naddr);
}

/* Computes something and does nothing else? */
static bool
only_computes(const struct kn_inst *i, const struct kn_step *st)
{
    const struct kn_isa_row *row = &kn_isa[i->op];

    return (row->unit == KN_U_VALU || row->unit == KN_U_SALU) &&
           !(row->flags & (KN_IF_BRANCH | KN_IF_JUMP | KN_IF_END)) &&
           (i->ndst || st->flags & KN_ST_SCC_WRITE) && !writes_exec(i);
}

/* VCCZ, SCC and the like as operands, or the status register. */
static bool
reads_special(const struct kn_inst *i)
{
    bool any = i->op == KN_I_s_getreg_b32;

    for (unsigned k = 0; k < i->nopnd && k < KN_MAXOPND; k++)
        any |= i->o[k].kind == KN_O_SPECIAL;
    return any;
}

static void
step_back(struct slice *s, struct regs *live, uint32_t n)
{
    const struct kn_inst *i = &s->p->inst[n];
    struct kn_step *st = &s->step[n];

    if (st->flags & KN_ST_MFMA) /* observed launches leave it out anyway */
        return;
    if (st->flags & KN_ST_MEM) {
        step_memory(s, live, n);
        return;
    }
    st->data = only_computes(i, st) && !writes_live(live, st);
    if (st->data)
        return;
    end_lives(live, i, st, s->full[n]);
    read_ranges(live, st);
    if (kn_isa[i->op].flags & KN_IF_RSCC || reads_special(i))
        set_range(live, SCC, 1);
    if (reads_special(i))
        set_range(live, KN_NVREG + KN_S_VCC, 2);
}

/* ---- the kernel --------------------------------------------------------- */

static bool
step_block(struct slice *s, uint32_t b)
{
    const struct kn_block *k = &s->cfg.blocks[b];
    struct regs live = { 0 };

    for (unsigned e = 0; e < 2; e++)
        for (unsigned w = 0; w < WORDS && k->succ[e] >= 0; w++)
            live.bit[w] |= s->live[k->succ[e]].bit[w];
    for (uint32_t n = k->end; n > k->first; n--)
        step_back(s, &live, n - 1);
    if (!memcmp(&live, &s->live[b], sizeof live))
        return false;
    s->live[b] = live;
    return true;
}

/* Registers named while it runs, or code nobody can follow. */
static bool
is_opaque(const struct slice *s)
{
    bool any = s->cfg.indirect;

    for (uint32_t n = 0; n < s->p->n; n++) {
        const char *mn = kn_isa[s->p->inst[n].op].mnemonic;

        if (s->cfg.blocks[s->cfg.block_of[n]].reached)
            any |= strstr(mn, "movrel") || strstr(mn, "gpr_idx") ||
                   strstr(mn, "vskip") || s->step[n].refused != NULL;
    }
    return any;
}

kiln_status
kn_slice_mark(struct kn_ctx *c, const struct kn_program *p,
              struct kn_step *step)
{
    struct slice s = { .p = p, .step = step };
    bool changed = true;

    KN_TRY(kn_cfg_build(c, p, &s.cfg));
    if (is_opaque(&s))
        return KILN_OK;
    s.live = KN_NEW(c, struct regs, s.cfg.nblocks);
    s.exec = KN_NEW(c, struct masks, s.cfg.nblocks);
    s.full = KN_NEW(c, bool, p->n);
    find_full(&s);
    while (changed) {
        bool lds = s.lds, scratch = s.scratch;

        changed = false;
        for (uint32_t b = s.cfg.nblocks; b > 0; b--)
            changed |= step_block(&s, b - 1);
        changed |= lds != s.lds || scratch != s.scratch;
    }
    return KILN_OK;
}
