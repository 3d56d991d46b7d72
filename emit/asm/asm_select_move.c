/* asm_select_move.c - widths, copies, parts of registers, and which lane, wave
 * and workgroup this is. */
#include "asm_select.h"

/* ---- widths and copies ---- */

void
select_sext(struct select *s)
{
    struct kn_asm_opnd x = kn_asm_arg(s, 0), d = kn_asm_dst(s);

    if (!kn_asm_is_scalar(s, d) || d.n != 2 || x.n != 1) {
        kn_asm_lack(s, "this sign extension");
        return;
    }
    kn_asm_copy(s, kn_begin(kn_part(d, 0, 1)), x);
    s->a->op[s->a->nop - 1].o[0].fresh = 1;
    ADD(s, s_ashr_i32, 1, kn_part(d, 1, 1), x, kn_imm(31));
    s->narrow[KN_REF_INDEX(s->i->dst)] = s->times[KN_REF_INDEX(s->i->dst)] == 1;
}

void
select_zext(struct select *s)
{
    struct kn_asm_opnd x = kn_asm_arg(s, 0), d = kn_asm_dst(s);

    if (!kn_asm_is_scalar(s, d) || d.n != 2 || x.n != 1) {
        kn_asm_lack(s, "this zero extension");
        return;
    }
    ADD(s, s_mov_b32, 1, kn_begin(kn_part(d, 0, 1)), x);
    ADD(s, s_mov_b32, 1, kn_part(d, 1, 1), kn_imm(0));
}

void
select_trunc(struct select *s)
{
    kn_asm_copy(s, kn_asm_dst(s), kn_part(kn_asm_arg(s, 0), 0, 1));
}

void
select_mov(struct select *s)
{
    struct kn_asm_opnd x = kn_asm_arg(s, 0), d = kn_asm_dst(s);

    if (x.kind == KN_ASM_IMM && kn_asm_is_wide(s, s->i->dst)) {
        ADD(s, s_mov_b32, 1, kn_begin(kn_half(d, 0)), kn_half(x, 0));
        ADD(s, s_mov_b32, 1, kn_half(d, 1), kn_half(x, 1));
    } else {
        kn_asm_copy(s, d, x);
    }
}

void
select_assume(struct select *s)
{
    select_mov(s);
}

void
select_uniform(struct select *s)
{
    select_mov(s);
}

/* ---- names of registers ---- */

/* Whether all uses of this result follow in the same straight run, before its
 * operand is assigned again. */
static bool
outlived(const struct select *s)
{
    uint32_t left = s->uses[KN_REF_INDEX(s->i->dst)];

    for (size_t n = s->at + 1; left && n < s->f->nins; n++) {
        const struct kn_ins *i = &s->f->ins[n];

        if (kn_op_info((enum kn_op)i->op).kind == KN_CTL ||
            i->dst == s->i->arg[0])
            return false;
        for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
            left -= i->arg[a] == s->i->dst;
    }
    return !left;
}

/* The same register under another name where neither is assigned again while
 * it is used. */
static bool
share(struct select *s, uint32_t first)
{
    uint32_t d = KN_REF_INDEX(s->i->dst), x = KN_REF_INDEX(s->i->arg[0]);

    if (s->val[d].kind != KN_ASM_NONE)
        return s->val[d].v == s->val[x].v;
    if (KN_REF_TAG(s->i->arg[0]) != KN_R_VAL || s->times[d] != 1 ||
        (s->times[x] > 1 && !outlived(s)) || s->cls[d] != s->cls[x])
        return false;
    s->val[d] = kn_part(s->val[x], first,
                        kn_asm_dwords(*kn_asm_type(s, s->i->dst)));
    return true;
}

/* In the registers of what is turned where nobody else reads that. */
void
select_turn(struct select *s)
{
    struct kn_asm_opnd x = kn_asm_arg(s, 0), d;

    if (s->uses[KN_REF_INDEX(s->i->arg[0])] != 1 || !share(s, 0))
        kn_asm_copy(s, kn_asm_dst(s), x);
    d = s->val[KN_REF_INDEX(s->i->dst)];
    for (uint32_t k = 0; k < 2; k++)
        ADD(s, v_permlane16_swap_b32, 2, kn_part(d, k, 1),
            kn_part(d, k + 2, 1));
}

void
select_bits(struct select *s)
{
    if (!share(s, 0))
        select_mov(s);
}

void
select_addr(struct select *s)
{
    select_bits(s);
}

void
select_slice(struct select *s)
{
    const struct kn_type *t = kn_asm_type(s, s->i->dst);
    uint32_t bit = (uint32_t)s->i->attr[KN_A_first] * kn_elems[t->elem].bits;
    struct kn_asm_opnd x = kn_asm_arg(s, 0), d;

    if (bit % 32 == 0 && (kn_elems[t->elem].bits * t->n) % 32 == 0 &&
        share(s, bit / 32))
        return;
    d = kn_asm_dst(s);
    if (bit % 32)
        VALU(s, v_lshrrev_b32, d, kn_imm((int32_t)(bit % 32)),
             kn_part(x, bit / 32, 1));
    else
        kn_asm_copy(s, d, kn_part(x, bit / 32, d.n));
    if (bit % 32 && d.n > 1)
        kn_asm_lack(s, "slices across registers");
}

void
select_cat(struct select *s)
{
    struct kn_asm_opnd d = kn_asm_dst(s);
    uint32_t at = 0;

    for (int a = 0; a < KN_MAXARG && s->i->arg[a]; a++) {
        struct kn_asm_opnd x = kn_asm_arg(s, a);
        const struct kn_type *t = KN_REF_TAG(s->i->arg[a]) == KN_R_VAL
                                ? kn_asm_type(s, s->i->arg[a]) : NULL;

        if (t && kn_elems[t->elem].bits * t->n % 32)
            kn_asm_lack(s, "joining parts of registers");
        if (x.kind == KN_ASM_REG && x.v == d.v) {
            at += x.n;       /* loaded into place */
            continue;
        }
        for (uint32_t n = 0; n < x.n; n++, at++) {
            struct kn_asm_opnd to = kn_part(d, at, 1);

            kn_asm_copy(s, to, kn_part(x, n, 1));
            s->a->op[s->a->nop - 1].o[0].fresh = !at;
        }
    }
}

/* Whether nothing but arithmetic on pairs reads this result. */
static bool
paired_only(const struct select *s)
{
    uint32_t left = s->uses[KN_REF_INDEX(s->i->dst)];

    for (size_t n = s->at + 1; left && n < s->f->nins; n++) {
        const struct kn_ins *i = &s->f->ins[n];

        if (kn_op_info((enum kn_op)i->op).kind == KN_CTL ||
            i->dst == s->i->arg[0])
            return false;
        for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
            if (i->arg[a] == s->i->dst && i->op != KN_OP_fadd &&
                i->op != KN_OP_fmul && i->op != KN_OP_fma)
                return false;
            else
                left -= i->arg[a] == s->i->dst;
    }
    return !left;
}

/* Packed arithmetic takes a register for both halves, and its neighbour as well,
 * which therefore is nobody's. */
static bool
splat_in_place(struct select *s)
{
    uint32_t d = KN_REF_INDEX(s->i->dst);
    struct kn_asm_opnd x = kn_asm_arg(s, 0);
    struct kn_asm_reg *r = x.kind == KN_ASM_REG ? &s->a->reg[x.v] : NULL;

    if (!r || r->cls != KN_ASM_V || r->at >= 0 || x.sub % 2 || s->times[d] != 1 ||
        s->cls[d] != KN_ASM_V || kn_asm_type(s, s->i->dst)->elem != KN_T_f32 ||
        !paired_only(s))
        return false;
    r->align = 2;
    r->spare = r->n % 2;
    s->val[d] = kn_part(x, 0, 1);
    s->val[d].all = 1;
    return true;
}

void
select_splat(struct select *s)
{
    struct kn_asm_opnd x = kn_asm_arg(s, 0), d;

    if (splat_in_place(s))
        return;
    d = kn_asm_dst(s);

    if (kn_elems[kn_asm_type(s, s->i->dst)->elem].bits != 32)
        kn_asm_lack(s, "vectors of one 16-bit value");
    for (uint32_t n = 0; n < d.n; n++) {
        kn_asm_copy(s, kn_part(d, n, 1), x);
        s->a->op[s->a->nop - 1].o[0].fresh = !n;
    }
}

/* ---- who and where ---- */

void
select_wg(struct select *s)
{
    kn_asm_copy(s, kn_asm_dst(s), s->workgroup[s->i->attr[KN_A_first]]);
}

void
select_wave(struct select *s)
{
    struct kn_asm_opnd v = kn_asm_new(s->a, KN_ASM_V, 1);

    VALU(s, v_lshrrev_b32, v, kn_imm(6), s->workitem);
    ADD(s, v_readfirstlane_b32, 1, kn_asm_dst(s), v);
}

void
select_lane(struct select *s)
{
    VALU(s, v_and_b32, kn_asm_dst(s), kn_imm(63), s->workitem);
}

/* Arguments are loaded once and stay in their registers. */
void
select_args(struct select *s)
{
    (void)s;
}

void
select_ready(struct select *s)
{
    (void)s;
}
