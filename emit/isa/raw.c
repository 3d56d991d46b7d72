/* raw.c - the fields of the instruction word that the text abbreviates, and
 * the cross-check of text against word for the encodings where a mistake
 * would be silent: matrix, LDS, buffer and flat (CDNA3 ISA chapter 13). */
#include "decode.h"

static uint32_t
bits(uint32_t w, int lo, int n)
{
    return w >> lo & ((1u << n) - 1);
}

static int32_t
sign_extend(uint32_t v, int n)
{
    return (int32_t)(v << (32 - n)) >> (32 - n);
}

/* A vector register field against operand k; acc: it names an AGPR. */
static bool
same_vector(const struct kn_inst *i, int k, uint32_t reg, uint32_t acc)
{
    if (k < 0 || i->o[k].kind == KN_O_NONE)
        return true;
    return i->o[k].reg == reg &&
           i->o[k].kind == (acc ? KN_O_AGPR : KN_O_VGPR);
}

/* A 9-bit source: below 128 an SGPR, from 256 a VGPR, else a constant. */
static bool
same_source(const struct kn_opnd *o, uint32_t src, uint32_t acc)
{
    if (src >= 256)
        return o->kind == (acc ? KN_O_AGPR : KN_O_VGPR) &&
               o->reg == src - 256;
    if (src < 128)
        return o->kind == KN_O_SGPR && o->reg == src;
    return o->kind == KN_O_IMM || o->kind == KN_O_SPECIAL;
}

/* VOP3P-MAI, and the second half of the scaled 16-byte form. */
static const char *
apply_mfma(struct kn_inst *i)
{
    bool scaled = kn_isa[i->op].flags & KN_IF_SCALED;
    const uint32_t *w = i->raw + (scaled ? 2 : 0);
    uint32_t src[3] = { bits(w[1], 0, 9), bits(w[1], 9, 9),
                        bits(w[1], 18, 9) };
    uint32_t cd = bits(w[0], 15, 1);
    uint32_t acc[3] = { bits(w[1], 27, 1), bits(w[1], 28, 1), cd };
    bool f64 = kn_isa[i->op].flags & KN_IF_F64;

    if (!same_vector(i, 0, w[0] & 255, cd))
        return "matrix destination differs from the word";
    for (int k = 0; k < 3; k++) {
        if (kn_isa[i->op].flags & KN_IF_SMFMAC && k == 2)
            acc[k] = 0;      /* the index is never an AGPR */
        if (!same_source(&i->o[1 + k], src[k], acc[k]))
            return "matrix operand differs from the word";
    }
    i->cbsz = (uint8_t)bits(w[0], 8, 3);
    i->abid = scaled ? 0 : (uint8_t)bits(w[0], 11, 4);
    i->blgp = (uint8_t)bits(w[1], 29, 3);
    i->op_sel = i->op_sel_hi = 0;
    if (f64) {
        i->neg_lo = i->blgp; /* f64: the field negates A, B, C */
        i->blgp = 0;
    }
    if (!scaled)
        return NULL;
    i->op_sel = (uint8_t)bits(i->raw[0], 11, 2);
    i->op_sel_hi = (uint8_t)bits(i->raw[1], 27, 2);
    if (!same_source(&i->o[4], bits(i->raw[1], 0, 9), 0) ||
        !same_source(&i->o[5], bits(i->raw[1], 9, 9), 0))
        return "scale operand differs from the word";
    return NULL;
}

static const char *
apply_ds(struct kn_inst *i)
{
    const struct kn_isa_row *row = &kn_isa[i->op];
    uint32_t w0 = i->raw[0], w1 = i->raw[1], acc = bits(w0, 25, 1);
    struct kn_mem_opnds m = kn_mem_operands(i);
    bool load = i->ndst && m.data == 0;

    i->offset = (int32_t)bits(w0, 0, row->flags & KN_IF_TWO ? 8 : 16);
    i->offset1 = row->flags & KN_IF_TWO ? (int32_t)bits(w0, 8, 8) : 0;
    if (!same_vector(i, m.addr, w1 & 255, 0) ||
        !same_vector(i, load ? -1 : m.data, bits(w1, 8, 8), acc) ||
        !same_vector(i, m.data1, bits(w1, 16, 8), acc) ||
        !same_vector(i, i->ndst ? 0 : -1, bits(w1, 24, 8), acc))
        return "LDS operand differs from the word";
    return NULL;
}

static const char *
apply_buffer(struct kn_inst *i)
{
    uint32_t w0 = i->raw[0], w1 = i->raw[1];
    struct kn_mem_opnds m = kn_mem_operands(i);

    if (w0 >> 26 == 0x3a)
        i->fmt = (uint8_t)bits(w0, 19, 7);
    if (m.base < 0)
        return NULL;         /* buffer_inv, buffer_wbl2 */
    i->offset = (int32_t)bits(w0, 0, 12);
    if (!same_vector(i, m.addr, w1 & 255, 0) ||
        !same_vector(i, m.data, bits(w1, 8, 8), bits(w1, 23, 1)) ||
        i->o[m.base].reg != bits(w1, 16, 5) * 4 ||
        !same_source(&i->o[m.soffset], bits(w1, 24, 8), 0))
        return "buffer operand differs from the word";
    return NULL;
}

static const char *
apply_flat(struct kn_inst *i)
{
    const struct kn_isa_row *row = &kn_isa[i->op];
    uint32_t w0 = i->raw[0], w1 = i->raw[1], acc = bits(w1, 23, 1);
    struct kn_mem_opnds m = kn_mem_operands(i);
    bool load = i->ndst && !row->atomic;
    bool off = m.base < 0 || i->o[m.base].kind == KN_O_NONE;

    i->offset = row->mem == KN_M_FLAT ? (int32_t)bits(w0, 0, 12)
                                      : sign_extend(w0, 13);
    if (!same_vector(i, m.addr, w1 & 255, 0) ||
        !same_vector(i, load ? -1 : m.data, bits(w1, 8, 8), acc) ||
        !same_vector(i, i->ndst ? 0 : -1, bits(w1, 24, 8), acc) ||
        (!off && i->o[m.base].reg != bits(w1, 16, 7)))
        return "flat operand differs from the word";
    return NULL;
}

/* soffset is an SGPR or nothing; the constant goes to `offset`. */
static const char *
apply_smem(struct kn_inst *i)
{
    struct kn_mem_opnds m = kn_mem_operands(i);
    bool imm = bits(i->raw[0], 17, 1);

    if (m.soffset < 0)
        return NULL;
    i->offset = imm ? sign_extend(i->raw[1], 21) : 0;
    if (i->o[m.soffset].kind == KN_O_IMM)
        i->o[m.soffset] = (struct kn_opnd){ .kind = KN_O_NONE, .sel = 6 };
    if (i->o[m.base].reg != bits(i->raw[0], 0, 6) * 2)
        return "scalar base differs from the word";
    return NULL;
}

static const char *
apply_dpp(struct kn_inst *i)
{
    uint32_t w = i->raw[1];

    i->dpp_ctrl = (uint16_t)bits(w, 8, 9);
    i->bound_ctrl = (uint8_t)bits(w, 19, 1);
    i->bank_mask = (uint8_t)bits(w, 24, 4);
    i->row_mask = (uint8_t)bits(w, 28, 4);
    return NULL;
}

/* VOPC uses the place of dst_sel for its scalar destination. */
static const char *
apply_sdwa(struct kn_inst *i)
{
    uint32_t w = i->raw[1];
    bool cmp = i->raw[0] >> 25 == 0x3e;

    i->dst_sel = cmp ? 6 : (uint8_t)bits(w, 8, 3);
    i->dst_unused = cmp ? 0 : (uint8_t)bits(w, 11, 2);
    if (i->ndst < i->nopnd)
        i->o[i->ndst].sel = (uint8_t)bits(w, 16, 3);
    if (i->ndst + 1 < i->nopnd)
        i->o[i->ndst + 1].sel = (uint8_t)bits(w, 24, 3);
    return NULL;
}

static const char *
apply_vop3(struct kn_inst *i)
{
    uint32_t w0 = i->raw[0], w1 = i->raw[1];

    if (w0 >> 23 == 0x1a7) { /* VOP3P */
        i->op_sel = (uint8_t)bits(w0, 11, 3);
        i->op_sel_hi = (uint8_t)(bits(w1, 27, 2) | bits(w0, 14, 1) << 2);
        i->neg_lo = (uint8_t)bits(w1, 29, 3);
        i->neg_hi = (uint8_t)bits(w0, 8, 3);
    } else if (i->op_sel) {  /* the text names it */
        i->op_sel = (uint8_t)bits(w0, 11, 4);
    }
    return NULL;
}

static const char *
apply_sopp(struct kn_inst *i)
{
    uint32_t v = i->raw[0] & 0xffff;

    if (i->op == KN_I_s_waitcnt) {
        i->vm = (uint8_t)(bits(v, 0, 4) | bits(v, 14, 2) << 4);
        i->exp = (uint8_t)bits(v, 4, 3);
        i->lgkm = (uint8_t)bits(v, 8, 4);
    }
    if (i->nopnd == 1) {
        i->o[0].imm = v;
        i->o[0].width = 1;   /* named or not */
    }
    return NULL;
}

static const char *
apply_branch(struct kn_inst *i)
{
    struct kn_opnd *o = i->nopnd ? &i->o[i->nopnd - 1] : NULL;

    if (!o || o->kind != KN_O_IMM)
        return NULL;         /* setpc, swappc */
    o->kind = KN_O_TARGET;
    o->imm = (int64_t)(i->pc + 4) + (int16_t)(i->raw[0] & 0xffff) * 4;
    return NULL;
}

/* The simm16 of SOPK, sign-extended except as a hwreg number. */
static void
apply_sopk(struct kn_inst *i)
{
    bool hwreg = i->op == KN_I_s_getreg_b32 || i->op == KN_I_s_setreg_b32 ||
                 i->op == KN_I_s_setreg_imm32_b32;
    int k = i->op == KN_I_s_setreg_b32 || i->op == KN_I_s_setreg_imm32_b32
                ? 0 : 1;

    i->o[k].imm = i->raw[0] & 0xffff;
    i->o[k].width = 1;       /* named or not */
    if (!hwreg)
        i->o[k].imm = sign_extend(i->raw[0] & 0xffff, 16);
}

const char *
kn_raw_apply(struct kn_inst *i)
{
    const struct kn_isa_row *row = &kn_isa[i->op];
    uint32_t w = i->raw[0];

    i->vm = 63;
    i->exp = 7;
    i->lgkm = 15;
    switch (row->mem) {
    case KN_M_DS: return apply_ds(i);
    case KN_M_BUFFER: return apply_buffer(i);
    case KN_M_GLOBAL:
    case KN_M_SCRATCH:
    case KN_M_FLAT: return apply_flat(i);
    case KN_M_SMEM: return apply_smem(i);
    default: break;
    }
    if (row->flags & KN_IF_MFMA)
        return apply_mfma(i);
    if (row->unit == KN_U_BRANCH)
        return apply_branch(i);
    if (w >> 23 == 0x17f)
        return apply_sopp(i);
    if (w >> 28 == 0xb && w >> 23 != 0x17d && w >> 23 != 0x17e)
        apply_sopk(i);
    if (i->op == KN_I_s_set_gpr_idx_on)
        i->o[1].imm = (int64_t)bits(w, 8, 8);
    if (i->enc == KN_E_DPP)
        return apply_dpp(i);
    if (i->enc == KN_E_SDWA)
        return apply_sdwa(i);
    if (w >> 26 == 0x34)
        return apply_vop3(i);
    return NULL;
}
