/* asm_select_mfma.c - matrix instructions. */
#include "asm_select.h"

static const struct matrix {
    uint16_t plain, scaled;
} matrices[KN_NMFMA] = {
    [KN_MFMA_f16_16x16x32] = { KN_I_v_mfma_f32_16x16x32_f16, 0 },
    [KN_MFMA_bf16_16x16x32] = { KN_I_v_mfma_f32_16x16x32_bf16, 0 },
    [KN_MFMA_i8_16x16x64] = { KN_I_v_mfma_i32_16x16x64_i8, 0 },
    [KN_MFMA_mx_16x16x128] = { KN_I_v_mfma_f32_16x16x128_f8f6f4,
                               KN_I_v_mfma_scale_f32_16x16x128_f8f6f4 },
    [KN_MFMA_f16_16x16x16] = { KN_I_v_mfma_f32_16x16x16_f16, 0 },
    [KN_MFMA_bf16_16x16x16] = { KN_I_v_mfma_f32_16x16x16_bf16, 0 },
    [KN_MFMA_i8_16x16x32] = { KN_I_v_mfma_i32_16x16x32_i8, 0 },
    [KN_MFMA_ff_16x16x32] = { KN_I_v_mfma_f32_16x16x32_fp8_fp8, 0 },
    [KN_MFMA_fb_16x16x32] = { KN_I_v_mfma_f32_16x16x32_fp8_bf8, 0 },
    [KN_MFMA_bf_16x16x32] = { KN_I_v_mfma_f32_16x16x32_bf8_fp8, 0 },
    [KN_MFMA_bb_16x16x32] = { KN_I_v_mfma_f32_16x16x32_bf8_bf8, 0 },
    [KN_MFMA_f32_16x16x4] = { KN_I_v_mfma_f32_16x16x4_f32, 0 },
    [KN_MFMA_xf32_16x16x8] = { KN_I_v_mfma_f32_16x16x8_xf32, 0 },
};

/* What is not 0: a modifier costs the assembler as much as an operation. */
static const char *
matrix_mods(struct select *s, const struct kn_asm_op *x, bool scaled)
{
    int sa = scaled ? s->i->attr[KN_A_sela] : 0;
    int sb = scaled ? s->i->attr[KN_A_selb] : 0;
    struct kn_buf b = { .c = s->a->c };

    if ((sa | sb) & 1)
        kn_putf(&b, " op_sel:[%d,%d,0]", sa & 1, sb & 1);
    if ((sa | sb) >> 1)
        kn_putf(&b, " op_sel_hi:[%d,%d,0]", sa >> 1, sb >> 1);
    if (x->cbsz)
        kn_put_number(&b, " cbsz:", x->cbsz);
    if (x->blgp)
        kn_put_number(&b, " blgp:", x->blgp);
    return b.s;
}

static void
matrix(struct select *s, bool scaled)
{
    const struct kn_mfma_info *m = &kn_mfmas[s->i->attr[KN_A_shape]];
    const struct matrix *k = &matrices[s->i->attr[KN_A_shape]];
    uint16_t isa = scaled ? k->scaled : k->plain;
    struct kn_asm_opnd o[KN_ASM_MAXOPND];
    struct kn_asm_op *x;
    int n = scaled ? 5 : 3;

    if (!isa)
        kn_asm_lack(s, "this matrix instruction");
    for (int a = 0; a < n; a++)
        o[a + 1] = kn_asm_arg(s, a);
    for (int a = 3; a < n; a++)
        o[a + 1] = kn_asm_vector(s, o[a + 1]);
    o[0] = kn_asm_dst(s);
    x = kn_asm_add(s, isa, 1, o, (size_t)n + 1);
    x->early = o[3].kind != KN_ASM_REG || o[3].v != o[0].v;
    if (m->a != KN_T_b1)
        return;
    x->cbsz = (uint8_t)kn_elems[s->i->attr[KN_A_ta]].mx;
    x->blgp = (uint8_t)kn_elems[s->i->attr[KN_A_tb]].mx;
    x->mods = matrix_mods(s, x, scaled);
}

void
select_mfma(struct select *s)
{
    matrix(s, false);
}

void
select_mfmas(struct select *s)
{
    matrix(s, true);
}
