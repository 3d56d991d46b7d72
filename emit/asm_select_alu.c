/* asm_select_alu.c - arithmetic, conversions and matrix instructions. Uniform
 * values are computed by the scalar unit, except floats and division. */
#include "asm_select.h"

#include <string.h>

static const struct kn_type *
type_of(const struct select *s, kn_ref r)
{
    return &kn_val(s->f, r)->type;
}

static bool
is_scalar(const struct select *s, struct kn_asm_opnd dst)
{
    return kn_asm_cls(s, dst) == KN_ASM_S;
}

/* Half h of a 64-bit operand; constants are sign-extended. */
static struct kn_asm_opnd
half(struct kn_asm_opnd o, int h)
{
    if (o.kind == KN_ASM_IMM)
        return kn_imm(h ? o.v >> 31 : o.v);
    return kn_part(o, (uint32_t)h, 1);
}

static bool
is_wide(const struct select *s, kn_ref dst)
{
    uint8_t e = type_of(s, dst)->elem;

    return e == KN_T_i64 || e == KN_T_ptr;
}

/* ---- integers ---- */

/* A row's scalar and vector instruction; swap: the vector one takes the
 * second operand first. */
struct binary {
    uint16_t scalar, vector, lo, hi; /* lo, hi: of 64 bits, or wide alone */
    uint8_t swap;
};

static const struct binary binaries[KN_NOP] = {
    [KN_OP_add] = { KN_I_s_add_u32, KN_I_v_add_u32, KN_I_s_add_u32,
                    KN_I_s_addc_u32, 0 },
    [KN_OP_padd] = { 0, 0, KN_I_s_add_u32, KN_I_s_addc_u32, 0 },
    [KN_OP_sub] = { KN_I_s_sub_u32, KN_I_v_sub_u32, KN_I_s_sub_u32,
                    KN_I_s_subb_u32, 0 },
    [KN_OP_and] = { KN_I_s_and_b32, KN_I_v_and_b32, KN_I_s_and_b32,
                    KN_I_s_and_b32, 0 },
    [KN_OP_or] = { KN_I_s_or_b32, KN_I_v_or_b32, KN_I_s_or_b32,
                   KN_I_s_or_b32, 0 },
    [KN_OP_xor] = { KN_I_s_xor_b32, KN_I_v_xor_b32, KN_I_s_xor_b32,
                    KN_I_s_xor_b32, 0 },
    [KN_OP_shl] = { KN_I_s_lshl_b32, KN_I_v_lshlrev_b32, KN_I_s_lshl_b64, 0,
                    1 },
    [KN_OP_shr] = { KN_I_s_lshr_b32, KN_I_v_lshrrev_b32, KN_I_s_lshr_b64, 0,
                    1 },
    [KN_OP_sar] = { KN_I_s_ashr_i32, KN_I_v_ashrrev_i32, KN_I_s_ashr_i64, 0,
                    1 },
    [KN_OP_mul] = { KN_I_s_mul_i32, KN_I_v_mul_lo_u32, 0, 0, 0 },
    [KN_OP_smin] = { KN_I_s_min_i32, KN_I_v_min_i32, 0, 0, 0 },
    [KN_OP_smax] = { KN_I_s_max_i32, KN_I_v_max_i32, 0, 0, 0 },
    [KN_OP_umin] = { KN_I_s_min_u32, KN_I_v_min_u32, 0, 0, 0 },
    [KN_OP_umax] = { KN_I_s_max_u32, KN_I_v_max_u32, 0, 0, 0 },
};

/* Two halves, through a carry if there is one, or a shift of the pair. */
static void
wide(struct select *s, const struct binary *b)
{
    struct kn_asm_opnd x = kn_asm_arg(s, 0), y = kn_asm_arg(s, 1);
    struct kn_asm_opnd d = kn_asm_dst(s);
    struct kn_asm_opnd pair[] = { d, x, y };
    struct kn_asm_opnd lo[] = { kn_part(d, 0, 1), half(x, 0), half(y, 0) };
    struct kn_asm_opnd hi[] = { kn_part(d, 1, 1), half(x, 1), half(y, 1) };

    if (!b->lo) {
        kn_asm_lack(s, "this operation on 64 bits");
        return;
    }
    if (!b->hi) {
        kn_asm_add(s, b->lo, 1, pair, 3);
        return;
    }
    /* a result that is also a source keeps its high half meanwhile */
    lo[0].fresh = (x.kind != KN_ASM_REG || x.v != d.v) &&
                  (y.kind != KN_ASM_REG || y.v != d.v);
    kn_asm_add(s, b->lo, 1, lo, 3);
    kn_asm_add(s, b->hi, 1, hi, 3);
}

/* Whether 64-bit operand `a` is 32 bits, extended with their sign. */
static bool
is_narrow(const struct select *s, int a)
{
    kn_ref r = s->i->arg[a];

    return KN_REF_TAG(r) == KN_R_VAL && s->narrow[KN_REF_INDEX(r)];
}

/* The low 64 bits of a product. */
static void
wide_product(struct select *s)
{
    struct kn_asm_opnd x = kn_asm_arg(s, 0), y = kn_asm_arg(s, 1);
    struct kn_asm_opnd d = kn_asm_new(s->a, KN_ASM_S, 2);
    struct kn_asm_opnd t = kn_asm_new(s->a, KN_ASM_S, 1);
    struct kn_asm_opnd lo = kn_part(d, 0, 1), hi = kn_part(d, 1, 1);

    ADD(s, s_mul_i32, 1, kn_begin(lo), half(x, 0), half(y, 0));
    if (is_narrow(s, 0) && is_narrow(s, 1)) {
        ADD(s, s_mul_hi_i32, 1, hi, half(x, 0), half(y, 0));
        kn_asm_copy(s, kn_asm_dst(s), d);
        return;
    }
    ADD(s, s_mul_hi_u32, 1, hi, half(x, 0), half(y, 0));
    ADD(s, s_mul_i32, 1, t, half(x, 1), half(y, 0));
    ADD(s, s_add_u32, 1, hi, hi, t);
    ADD(s, s_mul_i32, 1, t, half(x, 0), half(y, 1));
    ADD(s, s_add_u32, 1, hi, hi, t);
    kn_asm_copy(s, kn_asm_dst(s), d);
}

static void
binary(struct select *s)
{
    const struct binary *b = &binaries[s->i->op];
    struct kn_asm_opnd x, y, d;

    if (is_wide(s, s->i->dst)) {
        if (type_of(s, s->i->dst)->lane)
            kn_asm_lack(s, "64-bit integers by lane");
        else if (s->i->op == KN_OP_mul)
            wide_product(s);
        else
            wide(s, b);
        return;
    }
    x = kn_asm_arg(s, 0);
    y = kn_asm_arg(s, 1);
    d = kn_asm_dst(s);
    if (d.n != 1)
        kn_asm_lack(s, "integer vectors");
    if (is_scalar(s, d)) {
        struct kn_asm_opnd o[] = { d, x, y };

        kn_asm_add(s, b->scalar, 1, o, 3);
    } else {
        struct kn_asm_opnd o[] = { d, b->swap ? y : x, b->swap ? x : y };

        kn_asm_valu(s, b->vector, o, 3);
    }
}

#define BINARY(id) void select_##id(struct select *s) { binary(s); }
BINARY(add)
BINARY(sub)
BINARY(and)
BINARY(or)
BINARY(xor)
BINARY(shl)
BINARY(shr)
BINARY(sar)
BINARY(smin)
BINARY(smax)
BINARY(umin)
BINARY(umax)
BINARY(padd)

/* The exponent of a power of two, -1 for other operands. */
static int
power(const struct select *s)
{
    kn_ref r = s->i->arg[1];
    int64_t v = KN_REF_TAG(r) == KN_R_CONST ? s->f->konst[KN_REF_INDEX(r)].i
                                            : 0;

    return v > 0 && !(v & (v - 1)) ? __builtin_ctzll((uint64_t)v) : -1;
}

static void
with_constant(struct select *s, uint16_t scalar, uint16_t vector, int32_t v)
{
    struct kn_asm_opnd x = kn_asm_arg(s, 0), d = kn_asm_dst(s);

    if (is_scalar(s, d)) {
        struct kn_asm_opnd o[] = { d, x, kn_imm(v) };

        kn_asm_add(s, scalar, 1, o, 3);
    } else {
        struct kn_asm_opnd o[] = { d, kn_imm(v), x };

        kn_asm_valu(s, vector, o, 3);
    }
}

void
select_mul(struct select *s)
{
    if (!is_wide(s, s->i->dst) && power(s) >= 0)
        with_constant(s, KN_I_s_lshl_b32, KN_I_v_lshlrev_b32, power(s));
    else
        binary(s);
}

/* Quotient and remainder of uniform numbers: an estimate of 2^32 / y by the
 * vector unit's reciprocal, one Newton step and two corrections, as LLVM
 * expands a 32-bit division. */
static void
divide(struct select *s, struct kn_asm_opnd *q, struct kn_asm_opnd *r)
{
    struct kn_asm_opnd x = kn_asm_scalar(s, kn_asm_arg(s, 0));
    struct kn_asm_opnd y = kn_asm_scalar(s, kn_asm_arg(s, 1));
    struct kn_asm_opnd v = kn_asm_new(s->a, KN_ASM_V, 1);
    struct kn_asm_opnd z = kn_asm_new(s->a, KN_ASM_S, 1);
    struct kn_asm_opnd t = kn_asm_new(s->a, KN_ASM_S, 1);

    *q = kn_asm_new(s->a, KN_ASM_S, 1);
    *r = kn_asm_new(s->a, KN_ASM_S, 1);
    VALU(s, v_cvt_f32_u32, v, y);
    VALU(s, v_rcp_iflag_f32, v, v);
    VALU(s, v_mul_f32, v, v, kn_imm(0x4f7ffffe));
    VALU(s, v_cvt_u32_f32, v, v);
    ADD(s, v_readfirstlane_b32, 1, z, v);
    ADD(s, s_sub_u32, 1, t, kn_imm(0), y);
    ADD(s, s_mul_i32, 1, t, t, z);
    ADD(s, s_mul_hi_u32, 1, t, z, t);
    ADD(s, s_add_u32, 1, z, z, t);
    ADD(s, s_mul_hi_u32, 1, *q, x, z);
    ADD(s, s_mul_i32, 1, t, *q, y);
    ADD(s, s_sub_u32, 1, *r, x, t);
    for (int k = 0; k < 2; k++) {
        ADD(s, s_add_u32, 1, z, *q, kn_imm(1));
        ADD(s, s_sub_u32, 1, t, *r, y);
        ADD(s, s_cmp_ge_u32, 0, *r, y);
        ADD(s, s_cselect_b32, 1, *q, z, *q);
        ADD(s, s_cselect_b32, 1, *r, t, *r);
    }
}

/* By a constant: floor(x m / 2^(32 + k)) is x / y for every x where m is
 * 2^(32 + k) / y rounded up and m y exceeds 2^(32 + k) by at most 2^k
 * (Granlund and Montgomery 1994, theorem 4.2). */
static bool
divide_lanes(struct select *s, bool remainder)
{
    struct kn_asm_opnd x = kn_asm_arg(s, 0), y = kn_asm_arg(s, 1), q;
    uint64_t by = y.kind == KN_ASM_IMM ? (uint32_t)y.v : 0, m = 0;
    int32_t k = 0;

    for (; by > 2 && k < 31; k++) {
        m = (1ull << (32 + k)) / by + 1;
        if (m >> 32 || m * by - (1ull << (32 + k)) <= 1ull << k)
            break;
    }
    if (!m || m >> 32)
        return false;
    q = remainder ? kn_asm_new(s->a, KN_ASM_V, 1) : kn_asm_dst(s);
    VALU(s, v_mul_hi_u32, q, x, kn_imm((int32_t)m));
    VALU(s, v_lshrrev_b32, q, kn_imm(k), q);
    if (remainder) {
        VALU(s, v_mul_lo_u32, q, q, y);
        VALU(s, v_sub_u32, kn_asm_dst(s), x, q);
    }
    return true;
}

static void
quotient(struct select *s, bool remainder)
{
    struct kn_asm_opnd q, r;
    int e = power(s);

    if (is_wide(s, s->i->dst)) {
        kn_asm_lack(s, "division of 64 bits");
    } else if (e >= 0 && remainder) {
        with_constant(s, KN_I_s_and_b32, KN_I_v_and_b32, (int32_t)((1u << e) - 1));
    } else if (e >= 0) {
        with_constant(s, KN_I_s_lshr_b32, KN_I_v_lshrrev_b32, e);
    } else if (type_of(s, s->i->dst)->lane) {
        if (!divide_lanes(s, remainder))
            kn_asm_lack(s, "division by lane");
    } else {
        divide(s, &q, &r);
        kn_asm_copy(s, kn_asm_dst(s), remainder ? r : q);
    }
}

void
select_udiv(struct select *s)
{
    quotient(s, false);
}

void
select_urem(struct select *s)
{
    quotient(s, true);
}

/* ---- conditions ---- */

static bool
consumed_next(const struct select *s)
{
    const struct kn_ins *n = s->i + 1;

    return s->at + 1 < s->f->nins && n->arg[0] == s->i->dst &&
           s->uses[KN_REF_INDEX(s->i->dst)] == 1 &&
           (n->op == KN_OP_break || n->op == KN_OP_if ||
            (n->op == KN_OP_select && !type_of(s, n->dst)->lane));
}

static const struct compare {
    uint16_t scalar, wide, vector;
} compares[KN_NOP] = {
    [KN_OP_eq] = { KN_I_s_cmp_eq_u32, KN_I_s_cmp_eq_u64, KN_I_v_cmp_eq_u32 },
    [KN_OP_ne] = { KN_I_s_cmp_lg_u32, KN_I_s_cmp_lg_u64, KN_I_v_cmp_ne_u32 },
    [KN_OP_slt] = { KN_I_s_cmp_lt_i32, 0, KN_I_v_cmp_lt_i32 },
    [KN_OP_sge] = { KN_I_s_cmp_ge_i32, 0, KN_I_v_cmp_ge_i32 },
    [KN_OP_ult] = { KN_I_s_cmp_lt_u32, 0, KN_I_v_cmp_lt_u32 },
};

static void
compare(struct select *s)
{
    const struct compare *k = &compares[s->i->op];
    struct kn_asm_opnd x = kn_asm_arg(s, 0), y = kn_asm_arg(s, 1);
    uint32_t n = x.kind == KN_ASM_REG ? x.n : y.n;
    uint16_t isa = n == 2 ? k->wide : k->scalar;
    struct kn_asm_opnd d = kn_asm_dst(s), o[] = { x, y };

    if (d.n == 2) {
        struct kn_asm_opnd v[] = { d, x, kn_asm_vector(s, y) };

        if (x.n != 1 || y.n != 1)
            kn_asm_lack(s, "64-bit comparisons by lane");
        kn_asm_valu(s, k->vector, v, 3);
        return;
    }
    if (!isa)
        kn_asm_lack(s, "this comparison of 64 bits");
    kn_asm_add(s, isa, 0, o, 2);
    if (consumed_next(s)) {
        s->scc = s->i->dst;
        return;
    }
    ADD(s, s_cselect_b32, 1, d, kn_imm(1), kn_imm(0));
}

#define COMPARE(id) void select_##id(struct select *s) { compare(s); }
COMPARE(eq)
COMPARE(ne)
COMPARE(slt)
COMPARE(sge)
COMPARE(ult)

/* A condition as a mask of lanes. */
static struct kn_asm_opnd
mask(struct select *s, int a)
{
    struct kn_asm_opnd c = kn_asm_arg(s, a), m;

    if (c.n == 2)
        return c;
    m = kn_asm_new(s->a, KN_ASM_S, 2);
    ADD(s, s_cmp_lg_u32, 0, c, kn_imm(0));
    ADD(s, s_cselect_b64, 1, m, kn_imm(-1), kn_imm(0));
    return m;
}

void
select_band(struct select *s)
{
    struct kn_asm_opnd d = kn_asm_dst(s);

    if (d.n == 2)
        ADD(s, s_and_b64, 1, d, mask(s, 0), mask(s, 1));
    else
        ADD(s, s_and_b32, 1, d, kn_asm_arg(s, 0), kn_asm_arg(s, 1));
}

void
select_select(struct select *s)
{
    struct kn_asm_opnd x = kn_asm_arg(s, 1), y = kn_asm_arg(s, 2);
    struct kn_asm_opnd d = kn_asm_dst(s), m;

    if (is_scalar(s, d)) {
        if (s->scc != s->i->arg[0])
            ADD(s, s_cmp_lg_u32, 0, kn_asm_arg(s, 0), kn_imm(0));
        for (uint32_t n = 0; n < d.n; n++) {
            struct kn_asm_opnd t = kn_part(d, n, 1);

            t.fresh = !n && x.v != d.v && y.v != d.v;
            ADD(s, s_cselect_b32, 1, t, half(x, (int)n), half(y, (int)n));
        }
        return;
    }
    m = mask(s, 0);
    for (uint32_t n = 0; n < d.n; n++) {
        struct kn_asm_opnd t = kn_part(d, n, 1);

        t.fresh = !n && x.v != d.v && y.v != d.v;
        VALU(s, v_cndmask_b32, t, kn_part(y, n, 1),
             kn_asm_vector(s, kn_part(x, n, 1)), m);
    }
}

/* ---- widths and copies ---- */

void
select_sext(struct select *s)
{
    struct kn_asm_opnd x = kn_asm_arg(s, 0), d = kn_asm_dst(s);

    if (!is_scalar(s, d) || d.n != 2 || x.n != 1) {
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

    if (!is_scalar(s, d) || d.n != 2 || x.n != 1) {
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

    if (x.kind == KN_ASM_IMM && is_wide(s, s->i->dst)) {
        ADD(s, s_mov_b32, 1, kn_begin(half(d, 0)), half(x, 0));
        ADD(s, s_mov_b32, 1, half(d, 1), half(x, 1));
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

/* ---- across lanes ---- */

/* Inclusive sum over the lanes, in place: shifts within a row of 16 by 1, 2,
 * 4, 8, then the last lane of rows and of the lower half added to what follows
 * (CDNA3 ISA 13.4 DPP; a lane without a source keeps its value). */
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
    for (size_t n = 0; n < sizeof steps / sizeof *steps; n++) {
        struct kn_asm_op *x = kn_asm_add(s, KN_I_v_add_u32, 1, o, 3);

        x->mods = steps[n];
        x->dpp = 1;
    }
}

void
select_count(struct select *s)
{
    ADD(s, s_bcnt1_i32_b64, 1, kn_asm_dst(s), mask(s, 0));
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

    if (KN_REF_TAG(s->i->arg[0]) != KN_R_VAL || s->times[d] != 1 ||
        (s->times[x] > 1 && !outlived(s)) || s->cls[d] != s->cls[x])
        return false;
    s->val[d] = kn_part(s->val[x], first,
                        kn_asm_dwords(*type_of(s, s->i->dst)));
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
    const struct kn_type *t = type_of(s, s->i->dst);
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
                                ? type_of(s, s->i->arg[a]) : NULL;

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

void
select_splat(struct select *s)
{
    struct kn_asm_opnd x = kn_asm_arg(s, 0), d = kn_asm_dst(s);

    if (kn_elems[type_of(s, s->i->dst)->elem].bits != 32)
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
    kn_asm_copy(s, kn_asm_dst(s), s->workgroup);
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

/* ---- floats ---- */

/* By element, in vector registers; a uniform result is moved back. */
static void
floats(struct select *s, uint16_t isa, int nargs)
{
    struct kn_asm_opnd d = kn_asm_dst(s), x[3], to = d;

    if (kn_elems[type_of(s, s->i->dst)->elem].bits != 32)
        kn_asm_lack(s, "arithmetic on 16 bits");
    for (int a = 0; a < nargs; a++)
        x[a] = kn_asm_arg(s, a);
    if (is_scalar(s, d))
        to = kn_asm_new(s->a, KN_ASM_V, d.n);
    for (uint32_t n = 0; n < d.n; n++) {
        struct kn_asm_opnd o[4] = { kn_part(to, n, 1) };

        o[0].fresh = !n;
        for (int a = 0; a < nargs; a++) {
            o[a + 1] = kn_part(x[a], n, 1);
            if (x[a].kind == KN_ASM_REG && x[a].v == to.v)
                o[0].fresh = 0;
        }
        kn_asm_valu(s, isa, o, (size_t)nargs + 1);
    }
    if (is_scalar(s, d))
        kn_asm_copy(s, d, to);
}

void
select_fadd(struct select *s)
{
    floats(s, KN_I_v_add_f32, 2);
}

void
select_fmul(struct select *s)
{
    floats(s, KN_I_v_mul_f32, 2);
}

void
select_fma(struct select *s)
{
    floats(s, KN_I_v_fma_f32, 3);
}

/* Sums of integers become floats where they are, in AGPRs, if nobody reads
 * them as integers again: there is no room for both. */
static void
keep_place(struct select *s)
{
    uint32_t d = KN_REF_INDEX(s->i->dst), x = KN_REF_INDEX(s->i->arg[0]);

    if (KN_REF_TAG(s->i->arg[0]) != KN_R_VAL || s->cls[x] != KN_ASM_A ||
        s->val[d].kind != KN_ASM_NONE || s->nopen)
        return;
    for (size_t n = s->at + 1; n < s->f->nins; n++)
        for (int a = 0; a < KN_MAXARG && s->f->ins[n].arg[a]; a++)
            if (s->f->ins[n].arg[a] == s->i->arg[0])
                return;
    s->cls[d] = KN_ASM_A;
    s->val[d] = s->val[x];
}

void
select_i2f(struct select *s)
{
    keep_place(s);
    floats(s, KN_I_v_cvt_f32_i32, 1);
}

void
select_perm(struct select *s)
{
    VALU(s, v_perm_b32, kn_asm_dst(s), kn_asm_arg(s, 0), kn_asm_arg(s, 1),
         kn_asm_arg(s, 2));
}

/* bf16 of a float without an instruction for it: half of the last place is
 * added, ties to even; a NaN keeps its sign and payload bits and is quiet. */
static void
round_bf16(struct select *s, struct kn_asm_opnd to, struct kn_asm_opnd x)
{
    struct kn_asm_opnd odd = kn_asm_new(s->a, KN_ASM_V, 1);
    struct kn_asm_opnd up = kn_asm_new(s->a, KN_ASM_V, 1);
    struct kn_asm_opnd nan = kn_asm_new(s->a, KN_ASM_V, 1);
    struct kn_asm_opnd m = kn_asm_new(s->a, KN_ASM_S, 2);

    VALU(s, v_bfe_u32, odd, x, kn_imm(16), kn_imm(1));
    VALU(s, v_add3_u32, up, x, odd, kn_imm(0x7fff));
    VALU(s, v_or_b32, nan, kn_imm(0x400000), x);
    VALU(s, v_cmp_u_f32, m, x, x);
    VALU(s, v_cndmask_b32, to, up, nan, m);
}

static void
pair(struct select *s, uint8_t elem, struct kn_asm_opnd to,
     const struct kn_asm_opnd x[2])
{
    struct kn_asm_opnd a = kn_asm_new(s->a, KN_ASM_V, 1);
    struct kn_asm_opnd b = kn_asm_new(s->a, KN_ASM_V, 1);

    if (elem == KN_T_f16) {
        VALU(s, v_cvt_f16_f32, a, x[0]);
        VALU(s, v_cvt_f16_f32, b, x[1]);
        VALU(s, v_pack_b32_f16, to, a, b);
    } else if (s->f->target == KILN_GFX950) {
        VALU(s, v_cvt_pk_bf16_f32, to, x[0], x[1]);
    } else {
        round_bf16(s, a, x[0]);
        round_bf16(s, b, x[1]);
        VALU(s, v_perm_b32, to, b, a, kn_imm(0x07060302));
    }
}

/* 16-bit floats to f32: bf16 is its upper half. */
static void
widen(struct select *s, uint8_t elem, struct kn_asm_opnd d,
      struct kn_asm_opnd x)
{
    for (uint32_t n = 0; n < d.n; n++) {
        struct kn_asm_opnd t = kn_part(d, n, 1), from = kn_part(x, n / 2, 1);
        struct kn_asm_opnd high = kn_asm_new(s->a, KN_ASM_V, 1);

        t.fresh = !n;
        if (elem == KN_T_bf16 && n % 2) {
            VALU(s, v_and_b32, t, kn_imm((int32_t)0xffff0000u), from);
        } else if (elem == KN_T_bf16) {
            VALU(s, v_lshlrev_b32, t, kn_imm(16), from);
        } else if (n % 2) {
            VALU(s, v_lshrrev_b32, high, kn_imm(16), from);
            VALU(s, v_cvt_f32_f16, t, high);
        } else {
            VALU(s, v_cvt_f32_f16, t, from);
        }
    }
}

void
select_cvt(struct select *s)
{
    struct kn_type to = *type_of(s, s->i->dst);
    struct kn_type from = *type_of(s, s->i->arg[0]);
    struct kn_asm_opnd x = kn_asm_arg(s, 0), d = kn_asm_dst(s);

    if (to.elem == KN_T_f32 && kn_elems[from.elem].bits == 16 && to.lane) {
        widen(s, from.elem, d, kn_asm_vector(s, x));
        return;
    }
    if (from.elem != KN_T_f32 || kn_elems[to.elem].bits != 16 || !to.lane) {
        kn_asm_lack(s, "this conversion");
        return;
    }
    x = kn_asm_vector(s, x);
    for (uint32_t n = 0; n < d.n; n++) {
        struct kn_asm_opnd t = kn_part(d, n, 1), two[2];

        t.fresh = !n;
        two[0] = kn_part(x, 2 * n, 1);
        two[1] = 2 * n + 1 < to.n ? kn_part(x, 2 * n + 1, 1) : kn_imm(0);
        pair(s, to.elem, t, two);
    }
}

/* ---- matrix ---- */

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
};

static void
matrix(struct select *s, bool scaled)
{
    const struct kn_mfma_info *m = &kn_mfmas[s->i->attr[KN_A_shape]];
    const struct matrix *k = &matrices[s->i->attr[KN_A_shape]];
    uint16_t isa = scaled ? k->scaled : k->plain;
    struct kn_asm_opnd o[KN_ASM_MAXOPND];
    struct kn_asm_op *x;
    int n = scaled ? 5 : 3, sa, sb;

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
    if (!scaled) {
        x->mods = kn_asm_mods(s, " cbsz:%u blgp:%u", x->cbsz, x->blgp);
        return;
    }
    sa = s->i->attr[KN_A_sela];
    sb = s->i->attr[KN_A_selb];
    x->mods = kn_asm_mods(s, " op_sel:[%d,%d,0] op_sel_hi:[%d,%d,0] "
                          "cbsz:%u blgp:%u", sa & 1, sb & 1, sa >> 1, sb >> 1,
                          x->cbsz, x->blgp);
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
