/* prepare.c - what the run loop needs to know of each instruction, worked out
 * once for each launch: its function, the registers it touches, how undefined
 * inputs reach its outputs, its hazard classes, its memory fields. */
#include "core.h"

static bool
is_vgpr(const struct kn_opnd *o)
{
    return o->kind == KN_O_VGPR || o->kind == KN_O_AGPR;
}

static void
add_v(struct kn_step *st, unsigned reg, unsigned n, unsigned role)
{
    if (!n || reg == KN_NOREG)
        return;
    if (reg + n > KN_NVREG || st->nv == KN_MAXRANGE)
        st->refused = "a register beyond the file";
    else
        st->v[st->nv++] = (struct kn_range){ (uint16_t)reg, (uint8_t)n,
                                             (uint8_t)role };
}

static void
add_s(struct kn_step *st, unsigned reg, unsigned n, unsigned role)
{
    if (!n || reg == KN_NOREG || reg == KN_S_EXEC || reg == KN_S_EXEC + 1)
        return;
    if (reg + n > KN_NSREG || st->ns == KN_MAXRANGE)
        st->refused = "a register beyond the file";
    else
        st->s[st->ns++] = (struct kn_range){ (uint16_t)reg, (uint8_t)n,
                                             (uint8_t)role };
}

static unsigned
role_of(const struct kn_inst *i, const struct kn_isa_row *row, unsigned k)
{
    if (k < i->ndst)
        return KN_R_WRITE;
    return row->unit == KN_U_MFMA && k == 3u ? KN_R_CIN : KN_R_READ;
}

static void
collect_operands(const struct kn_inst *i, const struct kn_isa_row *row,
                 unsigned acc, struct kn_step *st)
{
    for (unsigned k = 0; k < i->nopnd && k < KN_MAXOPND; k++) {
        const struct kn_opnd *o = &i->o[k];
        unsigned n = o->width ? o->width : 1;
        unsigned role = role_of(i, row, k);
        unsigned reg = o->reg + (o->kind == KN_O_AGPR ? acc : 0);

        if (is_vgpr(o))
            add_v(st, reg, n, role);
        else if (o->kind == KN_O_SGPR)
            add_s(st, reg, n, role);
        if (k < i->ndst && row->flags & (KN_IF_RMW | KN_IF_PARTIAL)) {
            if (is_vgpr(o))
                add_v(st, reg, n, KN_R_READ);
            else if (o->kind == KN_O_SGPR)
                add_s(st, reg, n, KN_R_READ);
        }
    }
    if (row->flags & KN_IF_RVCC)
        add_s(st, KN_S_VCC, 2, KN_R_READ);
    if (row->flags & KN_IF_RM0)
        add_s(st, KN_S_M0, 1, KN_R_READ);
    if (row->flags & KN_IF_WM0)
        add_s(st, KN_S_M0, 1, KN_R_WRITE);
}

/* Scalars of a memory instruction: descriptor, base, offset, M0. */
static void
collect_memory_scalars(const struct kn_memop *m, struct kn_step *st)
{
    unsigned base = m->mem == KN_M_BUFFER ? 4 : m->mem == KN_M_SCRATCH ? 1 : 2;

    add_s(st, m->sbase, m->sbase == KN_NOREG ? 0 : base, KN_R_READ);
    add_s(st, m->soffset, m->soffset == KN_NOREG ? 0 : 1, KN_R_READ);
    if (m->kind == KN_MO_DMA)
        add_s(st, KN_S_M0, 1, KN_R_READ);
}

static void
collect_memory(const struct kn_inst *i, struct kn_step *st)
{
    const struct kn_memop *m = &st->mem;
    bool buffer = strstr(kn_isa[i->op].mnemonic, "_buffer_") != NULL;

    collect_memory_scalars(m, st);
    if (m->mem == KN_M_SMEM) {
        if (buffer && st->ns)
            st->s[0].n = 4;
        add_s(st, m->data, m->ndata, KN_R_READ);
        add_s(st, m->dst, m->ndst, KN_R_WRITE);
        return;
    }
    add_v(st, m->addr, m->naddr, KN_R_READ);
    add_v(st, m->data, m->ndata, KN_R_READ);
    add_v(st, m->data1, m->nreg, KN_R_READ);
    add_v(st, m->dst, m->ndst, KN_R_WRITE);
}

/* Bit operations give defined bits from partly defined inputs. */
static bool
is_bitwise(const char *mn)
{
    static const char *const stems[] = {
        "v_and", "v_or", "v_xor", "v_xnor", "v_bfi", "v_bfe", "v_perm",
        "v_alignb", "v_lshl_or", "v_and_or", "v_or3", "v_pack", "v_bitop",
        "s_and", "s_or", "s_nand", "s_nor", "s_xor", "s_xnor", "s_bf",
        "s_pack", "v_cvt_pk", "v_mad_mix", "v_cvt_scalef32_pk", "v_pk_",
        "v_fma_mix", "s_bitset", "v_mul_", "s_mul"
    };

    for (size_t k = 0; k < sizeof stems / sizeof stems[0]; k++)
        if (!strncmp(mn, stems[k], strlen(stems[k])))
            return true;
    return false;
}

/* The rule errs towards "defined": no report where real code is fine. */
static unsigned
undef_rule(const struct kn_inst *i, const struct kn_isa_row *row)
{
    const char *mn = row->mnemonic;

    if (row->unit == KN_U_MFMA)
        return KN_UR_MFMA;
    if (row->flags & KN_IF_LANESEL || i->op == KN_I_v_readfirstlane_b32)
        return KN_UR_LANE;
    if (!strncmp(mn, "v_cndmask", 9))
        return KN_UR_SELECT;
    if (i->enc == KN_E_DPP || i->enc == KN_E_SDWA ||
        row->flags & (KN_IF_XLANE | KN_IF_SDST | KN_IF_PARTIAL | KN_IF_RMW))
        return KN_UR_NONE;
    if (!strncmp(mn, "s_cmp", 5) || !strncmp(mn, "s_bitcmp", 8))
        return KN_UR_SCC;
    if (!i->ndst || !strncmp(mn, "s_cselect", 9))
        return KN_UR_NONE;
    if (row->unit == KN_U_VALU || row->unit == KN_U_SALU)
        return is_bitwise(mn) ? KN_UR_ALL : KN_UR_ANY;
    return KN_UR_NONE;
}

static unsigned
step_flags(const struct kn_isa_row *row)
{
    unsigned f = 0;

    if (row->mem != KN_M_NONE)
        f |= KN_ST_MEM;
    if (row->flags & (KN_IF_NOEXEC | KN_IF_MFMA | KN_IF_LANESEL |
                      KN_IF_XLANE | KN_IF_SMFMAC))
        f |= KN_ST_ALL_LANES;
    if (row->flags & (KN_IF_BRANCH | KN_IF_JUMP))
        f |= KN_ST_BRANCH;
    if (row->flags & KN_IF_WSCC)
        f |= KN_ST_SCC_WRITE;
    if (row->unit == KN_U_MFMA)
        f |= KN_ST_MFMA;
    if (row->unit == KN_U_VALU || row->unit == KN_U_MFMA ||
        (row->mem != KN_M_NONE && row->mem != KN_M_SMEM))
        f |= KN_ST_VECTOR;
    return f;
}

static void
prepare_one(const struct kn_program *p, const struct kn_inst *i,
            struct kn_step *st)
{
    const struct kn_isa_row *row = &kn_isa[i->op];
    unsigned acc = p->kernel->accum_offset;
    const char *what = NULL;

    st->fn = kn_exec_of(i);
    st->flags = (uint8_t)step_flags(row);
    st->undef_rule = (uint8_t)undef_rule(i, row);
    st->waits = 1;
    if (i->op == KN_I_s_nop)
        st->waits = (uint8_t)((i->raw[0] & 15) + 1);
    if (row->mem != KN_M_NONE) {
        if (kn_memop_decode(i, acc, &st->mem, &what))
            collect_memory(i, st);
        else
            st->refused = what;
    } else {
        collect_operands(i, row, acc, st);
    }
    kn_hazard_classify(p->target, i, st);
}

kiln_status
kn_prepare(struct kn_ctx *c, const struct kn_program *p, struct kn_step **out)
{
    *out = KN_NEW(c, struct kn_step, p->n);
    for (uint32_t k = 0; k < p->n; k++)
        prepare_one(p, &p->inst[k], &(*out)[k]);
    return KILN_OK;
}
