/* asm_select_lane.c - what passes between lanes: sums, largest values and
 * halves of rows. Moves are DPP's (CDNA3 ISA 13.4) or swaps of whole rows. */
#include "asm_select.h"

/* The other lane of a pair that differs in bit 0, 1, 2 or 3; the mirrors swap
 * lower bits too. */
static const char *const pairs[] = {
    " quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
    " quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf",
    " row_half_mirror row_mask:0xf bank_mask:0xf",
    " row_mirror row_mask:0xf bank_mask:0xf",
};

/* One instruction whose first source comes from other lanes. */
static void
from_lanes(struct select *s, uint16_t isa, const struct kn_asm_opnd *o,
           size_t n, const char *how)
{
    struct kn_asm_op *x = kn_asm_add(s, isa, 1, o, n);

    x->mods = how;
    x->dpp = 1;
}

/* Inclusive sum over the lanes, in place: shifts within a row of 16 by 1, 2,
 * 4, 8, then the last lane of rows and of the lower half added to what follows
 * (a lane without a source keeps its value). */
void
select_scan(struct select *s)
{
    static const char *const steps[] = {
        " row_shr:1 row_mask:0xf bank_mask:0xf",
        " row_shr:2 row_mask:0xf bank_mask:0xf",
        " row_shr:4 row_mask:0xf bank_mask:0xf",
        " row_shr:8 row_mask:0xf bank_mask:0xf",
        " row_bcast:15 row_mask:0xa bank_mask:0xf",
        " row_bcast:31 row_mask:0xc bank_mask:0xf",
    };
    struct kn_asm_opnd d = kn_asm_dst(s), o[] = { d, d, d };

    kn_asm_copy(s, d, kn_asm_vector(s, kn_asm_arg(s, 0)));
    for (size_t n = 0; n < sizeof steps / sizeof *steps; n++)
        from_lanes(s, KN_I_v_add_u32, o, 3, steps[n]);
}

void
select_count(struct select *s)
{
    ADD(s, s_bcnt1_i32_b64, 1, kn_asm_dst(s), kn_asm_mask(s, 0));
}

void
select_readlane(struct select *s)
{
    struct kn_asm_opnd at = kn_asm_arg(s, 1);

    if (at.kind == KN_ASM_REG)
        at = kn_asm_scalar(s, at);
    ADD(s, v_readlane_b32, 1, kn_asm_dst(s),
        kn_asm_vector(s, kn_asm_arg(s, 0)), at);
}

/* The values of the lanes l + by, or l ^ by. */
static struct kn_asm_opnd
lanes_at(struct select *s, struct kn_asm_opnd x, int32_t by, bool plus)
{
    struct kn_asm_opnd at = kn_asm_new(s->a, KN_ASM_V, 1);
    struct kn_asm_opnd o[] = { kn_asm_new(s->a, KN_ASM_V, 1), at, x };

    VALU(s, v_mbcnt_lo_u32_b32, at, kn_imm(-1), kn_imm(0));
    at.fresh = 0;
    VALU(s, v_mbcnt_hi_u32_b32, at, kn_imm(-1), at);
    if (plus)
        VALU(s, v_add_u32, at, kn_imm(by), at);
    else
        VALU(s, v_xor_b32, at, kn_imm(by), at);
    VALU(s, v_lshlrev_b32, at, kn_imm(2), at);
    o[0].fresh = 1;
    kn_asm_add(s, KN_I_ds_bpermute_b32, 1, o, 3);
    return o[0];
}

void
select_roll(struct select *s)
{
    struct kn_asm_opnd o[] = { kn_asm_dst(s),
                               kn_asm_vector(s, kn_asm_arg(s, 0)) };

    if (s->i->attr[KN_A_span] == 16) {
        kn_asm_copy(s, o[0], lanes_at(s, o[1], 64 - 16 * s->i->attr[KN_A_first], true));
        return;
    }
    if (s->i->attr[KN_A_span] == 64) {
        from_lanes(s, KN_I_v_mov_b32, o, 2, " wave_rol:1 row_mask:0xf bank_mask:0xf");
        return;
    }
    from_lanes(s, KN_I_v_mov_b32, o, 2,
               kn_asm_mods(s, " row_ror:%d row_mask:0xf bank_mask:0xf",
                           s->i->attr[KN_A_first]));
}

/* The lanes whose number has this bit, 0 to 3; once in a run. */
static struct kn_asm_opnd
lanes_with(struct select *s, int32_t bit)
{
    struct kn_asm_opnd *m = &s->lanes[bit];
    struct kn_asm_opnd v;

    if (m->kind != KN_ASM_NONE)
        return *m;
    *m = kn_asm_new(s->a, KN_ASM_S, 2);
    v = kn_asm_new(s->a, KN_ASM_V, 1);
    VALU(s, v_and_b32, v, kn_imm(1 << bit), s->workitem);
    VALU(s, v_cmp_ne_u32, *m, v, kn_imm(0));
    return *m;
}

/* The sum over two lanes of a row, of the first operand where bit `first` of
 * the lane is 0, else of the second; swap: of the other's first and the second. */
void
select_fold(struct select *s)
{
    bool ints = kn_asm_type(s, s->i->dst)->elem == KN_T_i32;
    int32_t bit = s->i->attr[KN_A_first], swap = s->i->attr[KN_A_swap] != 0;
    struct kn_asm_opnd x = kn_asm_vector(s, kn_asm_arg(s, swap));
    struct kn_asm_opnd y = kn_asm_vector(s, kn_asm_arg(s, !swap));

    if (!swap && s->i->arg[0] != s->i->arg[1]) {
        struct kn_asm_opnd mine = kn_asm_new(s->a, KN_ASM_V, 1);
        struct kn_asm_opnd other = kn_asm_new(s->a, KN_ASM_V, 1);
        struct kn_asm_opnd m = lanes_with(s, bit);

        VALU(s, v_cndmask_b32, mine, x, y, m);
        VALU(s, v_cndmask_b32, other, y, x, m);
        x = mine;
        y = other;
    }
    struct kn_asm_opnd o[] = { kn_asm_dst(s), y, x };

    from_lanes(s, ints ? KN_I_v_add_u32 : KN_I_v_add_f32, o, 3, pairs[bit]);
}

/* The first operand where bit 3 of the lane is `first`, elsewhere the second of
 * the lane 8 away, which goes into half of the banks of four lanes. */
void
select_flip(struct select *s)
{
    struct kn_asm_opnd x = kn_asm_vector(s, kn_asm_arg(s, 0));
    struct kn_asm_opnd y = kn_asm_vector(s, kn_asm_arg(s, 1));
    struct kn_asm_opnd d = kn_asm_new(s->a, KN_ASM_V, x.n);

    kn_asm_copy(s, d, x);
    for (uint32_t n = 0; n < d.n; n++) {
        struct kn_asm_opnd o[] = { kn_part(d, n, 1), kn_part(y, n, 1) };

        o[0].fresh = 0;
        from_lanes(s, KN_I_v_mov_b32, o, 2,
                   s->i->attr[KN_A_first]
                       ? " row_ror:8 row_mask:0xf bank_mask:0x3"
                       : " row_ror:8 row_mask:0xf bank_mask:0xc");
    }
    kn_asm_copy(s, kn_asm_dst(s), d);
}

/* Largest of the lanes l, l ^ 16, l ^ 32, l ^ 48: a swap of a value with a copy
 * leaves both of each pair of rows. Where there is none, the values of other
 * lanes come by LDS's crossbar. */
void
select_qmax(struct select *s)
{
    static const uint16_t swap[] = { KN_I_v_permlane16_swap_b32,
                                     KN_I_v_permlane32_swap_b32 };
    struct kn_asm_opnd x = kn_asm_vector(s, kn_asm_arg(s, 0));

    for (int k = 0; k < 2; k++) {
        struct kn_asm_opnd o[] = { kn_asm_new(s->a, KN_ASM_V, 1),
                                   kn_asm_new(s->a, KN_ASM_V, 1) };

        if (kn_targets[s->f->target].swaps) {
            kn_asm_copy(s, o[0], x);
            kn_asm_copy(s, o[1], x);
            o[0].fresh = o[1].fresh = 0;
            kn_asm_add(s, swap[k], 2, o, 2);
        } else {
            o[0] = x;
            o[1] = lanes_at(s, x, 16 << k, false);
        }
        x = k ? kn_asm_dst(s) : kn_asm_new(s->a, KN_ASM_V, 1);
        VALU(s, v_max_f32, x, o[0], o[1]);
    }
}

/* Largest of 4, 8 or 16 lanes side by side, or of four that are 16 apart, as unsigned
 * numbers. */
void
select_nmax(struct select *s)
{
    struct kn_asm_opnd x = kn_asm_vector(s, kn_asm_arg(s, 0));
    bool apart = s->i->attr[KN_A_span] == 16;

    for (int k = 0; 1 << k < s->i->attr[KN_A_parts]; k++) {
        bool last = 2 << k == s->i->attr[KN_A_parts];
        struct kn_asm_opnd o[] = { last ? kn_asm_dst(s) : kn_asm_new(s->a, KN_ASM_V, 1),
                                   x, x };

        if (apart)
            VALU(s, v_max_u32, o[0], x, lanes_at(s, x, 16 << k, false));
        else
            from_lanes(s, KN_I_v_max_u32, o, 3, pairs[k]);
        x = o[0];
    }
}
