/* asm_select_int.c - integers and conditions. Uniform values are computed by
 * the scalar unit, except division. */
#include "asm_select.h"

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

/* The high half of a 64-bit operand, or of 32 bits extended with their sign: an
 * address's offset may have either width. */
static struct kn_asm_opnd
high_half(struct select *s, struct kn_asm_opnd o)
{
    struct kn_asm_opnd t;

    if (o.kind == KN_ASM_IMM || o.n > 1)
        return kn_half(o, 1);
    t = kn_asm_new(s->a, KN_ASM_S, 1);
    ADD(s, s_ashr_i32, 1, t, o, kn_imm(31));
    return t;
}

/* Two halves, through a carry if there is one, or a shift of the pair. */
static void
wide(struct select *s, const struct binary *b)
{
    struct kn_asm_opnd x = kn_asm_arg(s, 0), y = kn_asm_arg(s, 1);
    struct kn_asm_opnd d = kn_asm_dst(s);
    struct kn_asm_opnd pair[] = { d, x, y };
    struct kn_asm_opnd lo[] = { kn_part(d, 0, 1), kn_half(x, 0), kn_half(y, 0) };
    struct kn_asm_opnd hi[] = { kn_part(d, 1, 1), kn_half(x, 1), kn_half(y, 1) };

    if (b->hi && s->i->op == KN_OP_padd)
        hi[2] = high_half(s, y);
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

/* Whether 64-bit operand `a` is 32 bits, extended with their sign, as all
 * constants are. */
static bool
is_narrow(const struct select *s, int a)
{
    kn_ref r = s->i->arg[a];

    return KN_REF_TAG(r) == KN_R_CONST ||
           (KN_REF_TAG(r) == KN_R_VAL && s->narrow[KN_REF_INDEX(r)]);
}

/* The low 64 bits of a product. */
static void
wide_product(struct select *s)
{
    struct kn_asm_opnd x = kn_asm_arg(s, 0), y = kn_asm_arg(s, 1);
    struct kn_asm_opnd d = kn_asm_new(s->a, KN_ASM_S, 2);
    struct kn_asm_opnd t = kn_asm_new(s->a, KN_ASM_S, 1);
    struct kn_asm_opnd lo = kn_part(d, 0, 1), hi = kn_part(d, 1, 1);

    ADD(s, s_mul_i32, 1, kn_begin(lo), kn_half(x, 0), kn_half(y, 0));
    if (is_narrow(s, 0) && is_narrow(s, 1)) {
        ADD(s, s_mul_hi_i32, 1, hi, kn_half(x, 0), kn_half(y, 0));
        kn_asm_copy(s, kn_asm_dst(s), d);
        return;
    }
    ADD(s, s_mul_hi_u32, 1, hi, kn_half(x, 0), kn_half(y, 0));
    ADD(s, s_mul_i32, 1, t, kn_half(x, 1), kn_half(y, 0));
    ADD(s, s_add_u32, 1, hi, hi, t);
    ADD(s, s_mul_i32, 1, t, kn_half(x, 0), kn_half(y, 1));
    ADD(s, s_add_u32, 1, hi, hi, t);
    kn_asm_copy(s, kn_asm_dst(s), d);
}

/* Pairs of 16-bit integers: what quantising asks for. */
static void
binary_pair(struct select *s)
{
    struct kn_asm_opnd o[] = { kn_asm_dst(s), kn_asm_vector(s, kn_asm_arg(s, 0)),
                               kn_asm_vector(s, kn_asm_arg(s, 1)) };

    if (s->i->op == KN_OP_umax)
        kn_asm_valu(s, KN_I_v_pk_max_u16, o, 3);
    else
        kn_asm_lack(s, "this operation on 16-bit integers");
}

static void
binary(struct select *s)
{
    const struct binary *b = &binaries[s->i->op];
    struct kn_asm_opnd x, y, d;

    if (kn_asm_in_pair(s))
        return;
    if (kn_asm_is_wide(s, s->i->dst)) {
        if (kn_asm_type(s, s->i->dst)->lane)
            kn_asm_lack(s, "64-bit integers by lane");
        else if (s->i->op == KN_OP_mul)
            wide_product(s);
        else
            wide(s, b);
        return;
    }
    if (kn_asm_type(s, s->i->dst)->elem == KN_T_i16) {
        binary_pair(s);
        return;
    }
    x = kn_asm_arg(s, 0);
    y = kn_asm_arg(s, 1);
    d = kn_asm_dst(s);
    if (kn_asm_is_scalar(s, d)) {
        struct kn_asm_opnd o[] = { d, x, y };

        if (d.n != 1)
            kn_asm_lack(s, "uniform integer vectors");
        kn_asm_add(s, b->scalar, 1, o, 3);
    }
    for (uint32_t n = 0; n < d.n && !kn_asm_is_scalar(s, d); n++) {
        struct kn_asm_opnd o[] = { kn_part(d, n, 1),
                                   kn_part(b->swap ? y : x, n, 1),
                                   kn_part(b->swap ? x : y, n, 1) };

        o[0].fresh = !n && x.v != d.v && y.v != d.v;
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

    if (kn_asm_is_scalar(s, d)) {
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
    if (!kn_asm_is_wide(s, s->i->dst) && power(s) >= 0)
        with_constant(s, KN_I_s_lshl_b32, KN_I_v_lshlrev_b32, power(s));
    else
        binary(s);
}

/* One correction of quotient q and remainder r; last: of what is asked for
 * alone. */
static void
correct(struct select *s, struct kn_asm_opnd q, struct kn_asm_opnd r,
        struct kn_asm_opnd y, const bool want[2])
{
    struct kn_asm_opnd more = kn_asm_new(s->a, KN_ASM_S, 1);
    struct kn_asm_opnd less = kn_asm_new(s->a, KN_ASM_S, 1);

    if (want[0])
        ADD(s, s_add_u32, 1, more, q, kn_imm(1));
    if (want[1])
        ADD(s, s_sub_u32, 1, less, r, y);
    ADD(s, s_cmp_ge_u32, 0, r, y);
    if (want[0])
        ADD(s, s_cselect_b32, 1, q, more, q);
    if (want[1])
        ADD(s, s_cselect_b32, 1, r, less, r);
}

/* An estimate z of 2^32 / y, of a uniform y, by the vector unit's reciprocal and one
 * Newton step: with two corrections LLVM's expansion of a 32-bit division. v, t: room. */
static void
reciprocal(struct select *s, struct kn_asm_opnd y, struct kn_asm_opnd v, struct kn_asm_opnd z,
           struct kn_asm_opnd t)
{
    VALU(s, v_cvt_f32_u32, v, y);
    VALU(s, v_rcp_iflag_f32, v, v);
    VALU(s, v_mul_f32, v, v, kn_imm(0x4f7ffffe));
    VALU(s, v_cvt_u32_f32, v, v);
    ADD(s, v_readfirstlane_b32, 1, z, v);
    ADD(s, s_sub_u32, 1, t, kn_imm(0), y);
    ADD(s, s_mul_i32, 1, t, t, z);
    ADD(s, s_mul_hi_u32, 1, t, z, t);
    ADD(s, s_add_u32, 1, z, z, t);
}

/* Quotient or remainder of uniform numbers. */
static struct kn_asm_opnd
divide(struct select *s, bool remainder)
{
    struct kn_asm_opnd x = kn_asm_scalar(s, kn_asm_arg(s, 0));
    struct kn_asm_opnd y = kn_asm_scalar(s, kn_asm_arg(s, 1));
    struct kn_asm_opnd v = kn_asm_new(s->a, KN_ASM_V, 1);
    struct kn_asm_opnd z = kn_asm_new(s->a, KN_ASM_S, 1);
    struct kn_asm_opnd t = kn_asm_new(s->a, KN_ASM_S, 1);
    struct kn_asm_opnd q = kn_asm_new(s->a, KN_ASM_S, 1);
    struct kn_asm_opnd r = kn_asm_new(s->a, KN_ASM_S, 1);

    reciprocal(s, y, v, z, t);
    ADD(s, s_mul_hi_u32, 1, q, x, z);
    ADD(s, s_mul_i32, 1, t, q, y);
    ADD(s, s_sub_u32, 1, r, x, t);
    correct(s, q, r, y, (bool[]){ !remainder, true });
    correct(s, q, r, y, (bool[]){ !remainder, remainder });
    return remainder ? r : q;
}

/* Of lanes' numbers by a uniform one. */
static void
divide_by_uniform(struct select *s, struct kn_asm_opnd y, bool remainder)
{
    struct kn_asm_opnd x = kn_asm_vector(s, kn_asm_arg(s, 0)), d = kn_asm_dst(s);
    struct kn_asm_opnd z = kn_asm_new(s->a, KN_ASM_S, 1);
    struct kn_asm_opnd t = kn_asm_new(s->a, KN_ASM_S, 1);
    struct kn_asm_opnd q = kn_asm_new(s->a, KN_ASM_V, 1);
    struct kn_asm_opnd r = kn_asm_new(s->a, KN_ASM_V, 1);

    reciprocal(s, y, q, z, t);
    VALU(s, v_mul_hi_u32, q, x, z);
    VALU(s, v_mul_lo_u32, r, q, y);
    VALU(s, v_sub_u32, r, x, r);
    for (int i = 0; i < 2; i++) {
        struct kn_asm_opnd m = kn_asm_new(s->a, KN_ASM_S, 2);
        struct kn_asm_opnd more = kn_asm_new(s->a, KN_ASM_V, 1);
        struct kn_asm_opnd less = kn_asm_new(s->a, KN_ASM_V, 1);

        VALU(s, v_cmp_lt_u32, m, r, y);
        VALU(s, v_add_u32, more, q, kn_imm(1));
        VALU(s, v_sub_u32, less, r, y);
        VALU(s, v_cndmask_b32, i && !remainder ? d : q, more, q, m);
        VALU(s, v_cndmask_b32, i && remainder ? d : r, less, r, m);
    }
}

/* Floor of x m / 2^(32 + k), of an m of 33 bits whose upper one is not in `low`. */
static void
scale_down(struct select *s, const struct kn_asm_opnd xq[2], uint64_t m, int32_t k)
{
    struct kn_asm_opnd x = xq[0], q = xq[1], t;

    if (!(m >> 32)) {
        VALU(s, v_mul_hi_u32, q, x, kn_imm((int32_t)m));
        VALU(s, v_lshrrev_b32, q, kn_imm(k), q);
        return;
    }
    t = kn_asm_new(s->a, KN_ASM_V, 1);
    VALU(s, v_mul_hi_u32, t, x, kn_imm((int32_t)(uint32_t)m));
    VALU(s, v_sub_u32, q, x, t);
    VALU(s, v_lshrrev_b32, q, kn_imm(1), q);
    VALU(s, v_add_u32, q, q, t);
    VALU(s, v_lshrrev_b32, q, kn_imm(k - 1), q);
}

/* Floor(x m / 2^(32 + k)) is x / by for every x below 2^(32 - spare) where m is
 * 2^(32 + k) / by rounded up and m by exceeds 2^(32 + k) by at most 2^(k + spare)
 * (Granlund and Montgomery 1994, theorem 4.2): of 7 and some others m has 33 bits. */
struct magic {
    uint64_t m;              /* 0: none */
    int32_t k;
};

static struct magic
magic_of(struct kn_asm_opnd y, int spare)
{
    uint64_t by = y.kind == KN_ASM_IMM ? (uint32_t)y.v >> spare : 0;
    struct magic x = { 0, 0 };

    for (; by > 2 && x.k < 31; x.k++) {
        x.m = (1ull << (32 + x.k)) / by + 1;
        if (x.m * by - (1ull << (32 + x.k)) <= 1ull << (x.k + spare))
            break;
    }
    if (x.m >> 33)
        x.m = 0;
    return x;
}

static bool
divide_lanes(struct select *s, bool remainder)
{
    struct kn_asm_opnd x = kn_asm_arg(s, 0), y = kn_asm_arg(s, 1), q;
    struct magic by = magic_of(y, 0);

    if (!by.m)
        return false;
    q = remainder ? kn_asm_new(s->a, KN_ASM_V, 1) : kn_asm_dst(s);
    scale_down(s, (struct kn_asm_opnd[]){ x, q }, by.m, by.k);
    if (remainder) {
        VALU(s, v_mul_lo_u32, q, q, y);
        VALU(s, v_sub_u32, kn_asm_dst(s), x, q);
    }
    return true;
}

/* A uniform number by a constant whose m has 32 bits, of an even one with half of both. */
static bool
divide_by_constant(struct select *s, bool remainder)
{
    struct kn_asm_opnd x = kn_asm_scalar(s, kn_asm_arg(s, 0)), y = kn_asm_arg(s, 1);
    struct kn_asm_opnd q = kn_asm_new(s->a, KN_ASM_S, 1);
    int half = magic_of(y, 0).m >> 32 && y.v % 2 == 0;
    struct magic by = magic_of(y, half);

    if (!by.m || by.m >> 32)
        return false;
    if (half)
        ADD(s, s_lshr_b32, 1, q, x, kn_imm(1));
    ADD(s, s_mul_hi_u32, 1, q, half ? q : x, kn_imm((int32_t)(uint32_t)by.m));
    if (by.k)
        ADD(s, s_lshr_b32, 1, q, q, kn_imm(by.k));
    if (remainder) {
        ADD(s, s_mul_i32, 1, q, q, y);
        ADD(s, s_sub_u32, 1, q, x, q);
    }
    kn_asm_copy(s, kn_asm_dst(s), q);
    return true;
}

static void
quotient(struct select *s, bool remainder)
{
    int e = power(s);

    if (kn_asm_is_wide(s, s->i->dst)) {
        kn_asm_lack(s, "division of 64 bits");
    } else if (e >= 0 && remainder) {
        with_constant(s, KN_I_s_and_b32, KN_I_v_and_b32, (int32_t)((1u << e) - 1));
    } else if (e >= 0) {
        with_constant(s, KN_I_s_lshr_b32, KN_I_v_lshrrev_b32, e);
    } else if (kn_asm_type(s, s->i->dst)->lane) {
        struct kn_asm_opnd y = kn_asm_arg(s, 1);

        if (divide_lanes(s, remainder))
            return;
        if (y.kind == KN_ASM_IMM || kn_asm_is_scalar(s, y))
            divide_by_uniform(s, kn_asm_scalar(s, y), remainder);
        else
            kn_asm_lack(s, "division by lane");
    } else if (!divide_by_constant(s, remainder)) {
        kn_asm_copy(s, kn_asm_dst(s), divide(s, remainder));
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
            (n->op == KN_OP_select && !kn_asm_type(s, n->dst)->lane));
}

/* Whether all uses of the condition choose by lane in this straight run. */
static bool
is_mask(const struct select *s)
{
    uint32_t left = s->uses[KN_REF_INDEX(s->i->dst)];

    for (size_t n = s->at + 1; left && n < s->f->nins; n++) {
        const struct kn_ins *i = &s->f->ins[n];

        if (kn_op_info((enum kn_op)i->op).kind == KN_CTL)
            break;
        left -= i->op == KN_OP_select && i->arg[0] == s->i->dst &&
                kn_asm_type(s, i->dst)->lane;
    }
    return !left && s->times[KN_REF_INDEX(s->i->dst)] == 1;
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
        struct kn_asm_opnd v[] = { d, x, y };

        if (x.n != 1 || y.n != 1)
            kn_asm_lack(s, "64-bit comparisons by lane");
        kn_asm_valu(s, k->vector, v, 3);
        return;
    }
    if (!isa)
        kn_asm_lack(s, "this comparison of 64 bits");
    kn_asm_add(s, isa, 0, o, 2);
    if (is_mask(s)) {
        d = s->val[KN_REF_INDEX(s->i->dst)] = kn_asm_new(s->a, KN_ASM_S, 2);
        ADD(s, s_cselect_b64, 1, d, kn_imm(-1), kn_imm(0));
        return;
    }
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

struct kn_asm_opnd
kn_asm_mask(struct select *s, int a)
{
    struct kn_asm_opnd c = kn_asm_arg(s, a), m;
    bool once = KN_REF_TAG(s->i->arg[a]) == KN_R_VAL &&
                s->times[KN_REF_INDEX(s->i->arg[a])] == 1;
    uint32_t n;

    if (c.n == 2)
        return c;
    for (n = 0; once && n < s->nmasks && n < 8; n++)
        if (s->masks[n].value == c.v)
            return s->masks[n].r;
    m = kn_asm_new(s->a, KN_ASM_S, 2);
    ADD(s, s_cmp_lg_u32, 0, c, kn_imm(0));
    ADD(s, s_cselect_b64, 1, m, kn_imm(-1), kn_imm(0));
    if (once)
        s->masks[s->nmasks++ % 8] = (struct kn_asm_held){ c.v, m };
    return m;
}

void
select_band(struct select *s)
{
    struct kn_asm_opnd d = kn_asm_dst(s);

    if (d.n == 2)
        ADD(s, s_and_b64, 1, d, kn_asm_mask(s, 0), kn_asm_mask(s, 1));
    else
        ADD(s, s_and_b32, 1, d, kn_asm_arg(s, 0), kn_asm_arg(s, 1));
}

void
select_select(struct select *s)
{
    struct kn_asm_opnd x = kn_asm_arg(s, 1), y = kn_asm_arg(s, 2);
    struct kn_asm_opnd d = kn_asm_dst(s), m;

    if (kn_asm_is_scalar(s, d)) {
        if (s->scc != s->i->arg[0])
            ADD(s, s_cmp_lg_u32, 0, kn_asm_arg(s, 0), kn_imm(0));
        for (uint32_t n = 0; n < d.n; n++) {
            struct kn_asm_opnd t = kn_part(d, n, 1);

            t.fresh = !n && x.v != d.v && y.v != d.v;
            ADD(s, s_cselect_b32, 1, t, kn_half(x, (int)n), kn_half(y, (int)n));
        }
        return;
    }
    m = kn_asm_mask(s, 0);
    for (uint32_t n = 0; n < d.n; n++) {
        struct kn_asm_opnd t = kn_part(d, n, 1);

        t.fresh = !n && x.v != d.v && y.v != d.v;
        VALU(s, v_cndmask_b32, t, kn_part(y, n, 1),
             kn_asm_held(s, kn_part(x, n, 1)), m);
    }
}
