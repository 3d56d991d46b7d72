/* asm_select_float.c - floats and conversions, which the vector unit alone has. */
#include "asm_select.h"

enum { ONE = 0x3f800000 };   /* 1.0f */

/* ---- floats ---- */

/* Whether elements n and n + 1 of the operand are a pair of vector registers, or
 * both its one. */
static bool
is_pair(const struct select *s, struct kn_asm_opnd o, uint32_t n)
{
    return o.all || (kn_asm_cls(s, o) == KN_ASM_V && (o.sub + n) % 2 == 0 &&
                     n + 1 < o.n);
}

/* Elements n .. n + step - 1. */
static struct kn_asm_opnd
elements(struct kn_asm_opnd o, uint32_t n, uint32_t step)
{
    return o.all ? kn_part(o, 0, step) : kn_part(o, n, step);
}

/* Both halves of a packed operation read the low register of such operands. */
static const char *
packed_mods(struct select *s, const struct kn_asm_opnd *x, int nargs)
{
    if (!x[0].all && !x[1].all && (nargs < 3 || !x[2].all))
        return NULL;
    return nargs < 3 ? kn_asm_mods(s, " op_sel_hi:[%d,%d]", !x[0].all, !x[1].all)
                     : kn_asm_mods(s, " op_sel_hi:[%d,%d,%d]", !x[0].all,
                                   !x[1].all, !x[2].all);
}

/* A constant or scalar in a vector register, for both halves of each pair. */
static struct kn_asm_opnd
one_for_all(struct select *s, struct kn_asm_opnd o)
{
    if (o.kind != KN_ASM_IMM && (kn_asm_cls(s, o) != KN_ASM_S || o.n != 1))
        return o;
    o = kn_asm_held(s, o);
    s->a->reg[o.v].align = 2;
    s->a->reg[o.v].spare = 1;
    o.all = 1;
    return o;
}

struct kn_asm_opnd
kn_asm_halves(struct select *s, int32_t bits, uint32_t n)
{
    uint32_t x = (uint32_t)bits, exponent = (x >> 23 & 255) - 112, half;

    if (exponent - 1 > 29 || x & 0x1fff)
        kn_asm_lack(s, "this constant of 16 bits");
    half = (x >> 16 & 0x8000) | exponent << 10 | (x >> 13 & 0x3ff);
    return kn_imm((int32_t)(n > 1 ? half << 16 | half : half));
}

/* Two f16 of a register: what integer weights ask for. */
static void
half_pair(struct select *s)
{
    struct kn_type t = *kn_asm_type(s, s->i->dst);

    if (s->i->op != KN_OP_fadd || t.elem != KN_T_f16 || t.n != 2)
        kn_asm_lack(s, "this arithmetic on 16 bits");
    else
        VALU(s, v_pk_add_f16, kn_asm_dst(s), kn_asm_held(s, kn_asm_arg(s, 0)),
             kn_asm_held(s, kn_asm_arg(s, 1)));
}

/* Whether the operation that is selected now finds value x as operation `at` did. */
static bool
stays_from(const struct select *s, size_t at, kn_ref x)
{
    while (at < s->at && s->f->ins[at].dst != x)
        at++;
    return at == s->at;
}

/* Argument a, of accumulators in vector registers, where all that it is an argument of in this
 * run finds it. */
static struct kn_asm_opnd
read_once(struct select *s, int a)
{
    struct kn_asm_opnd o = kn_asm_arg(s, a);
    kn_ref x = s->i->arg[a];

    if (o.kind != KN_ASM_REG || kn_asm_cls(s, o) != KN_ASM_A)
        return o;
    if (s->copy.of != x || !stays_from(s, s->copy.at, x)) {
        s->copy.of = x;
        s->copy.r = kn_asm_vector(s, o);
    }
    s->copy.at = s->at;
    return s->copy.r;
}

/* By element, or by two, in vector registers; a uniform result, or an accumulator's, is moved
 * back. */
static void
floats(struct select *s, uint16_t isa, uint16_t two, int nargs)
{
    struct kn_asm_opnd d = kn_asm_dst(s), x[3], to = d;
    uint32_t step;

    if (kn_elems[kn_asm_type(s, s->i->dst)->elem].bits != 32) {
        half_pair(s);
        return;
    }
    for (int a = 0; a < nargs; a++)
        x[a] = read_once(s, a);
    if (kn_asm_is_scalar(s, d) || (two && kn_asm_cls(s, d) == KN_ASM_A))
        to = kn_asm_new(s->a, KN_ASM_V, d.n);
    for (int a = 0; a < nargs && two && is_pair(s, to, 0); a++)
        x[a] = one_for_all(s, x[a]);
    for (uint32_t n = 0; n < d.n; n += step) {
        struct kn_asm_opnd o[4];
        bool pair = two && is_pair(s, to, n);

        for (int a = 0; a < nargs; a++)
            pair &= is_pair(s, x[a], n);
        step = pair ? 2 : 1;
        o[0] = kn_part(to, n, step);
        o[0].fresh = !n;
        for (int a = 0; a < nargs; a++) {
            o[a + 1] = elements(x[a], n, step);
            if (x[a].kind == KN_ASM_REG && x[a].v == to.v)
                o[0].fresh = 0;
        }
        kn_asm_valu(s, pair ? two : isa, o, (size_t)nargs + 1);
        if (pair)
            s->a->op[s->a->nop - 1].mods = packed_mods(s, x, nargs);
    }
    if (to.v != d.v)
        kn_asm_copy(s, d, to);
}

/* A machine instruction for each element, of so many values; one for two of
 * them, or 0. */
#define FLOATS(op, isa, two, nargs)                                           \
    void select_##op(struct select *s)                                        \
    {                                                                         \
        floats(s, KN_I_##isa, two, nargs);                                    \
    }
FLOATS(fadd, v_add_f32, KN_I_v_pk_add_f32, 2)
FLOATS(fmul, v_mul_f32, KN_I_v_pk_mul_f32, 2)
FLOATS(exp2, v_exp_f32, 0, 1)
FLOATS(rcp, v_rcp_f32, 0, 1)
FLOATS(rsq, v_rsq_f32, 0, 1)
#undef FLOATS

void
select_fma(struct select *s)
{
    floats(s, KN_I_v_fma_f32, s->i->attr[KN_A_single] ? 0 : KN_I_v_pk_fma_f32, 3);
}

void
select_fmax(struct select *s)
{
    if (!kn_asm_is_part(s))
        floats(s, KN_I_v_max_f32, 0, 2);
}

/* Within two limits: a NaN becomes the lower one either way. */
void
select_fmin(struct select *s)
{
    const struct kn_ins *i = s->i, *first = kn_asm_part_of(s);
    struct kn_asm_opnd d, x, low, high;

    if (!first) {
        floats(s, KN_I_v_min_f32, 0, 2);
        return;
    }
    high = kn_asm_arg(s, 1);
    d = kn_asm_dst(s);
    s->i = first;
    x = kn_asm_arg(s, 0);
    low = kn_asm_arg(s, 1);
    s->i = i;
    for (uint32_t n = 0; n < d.n; n++) {
        struct kn_asm_opnd to = kn_part(d, n, 1);

        to.fresh = !n;
        VALU(s, v_med3_f32, to, kn_part(x, n, 1), low, high);
    }
}

/* Element n of each value; in order, the operation's operands. */
struct element {
    struct kn_asm_opnd to, x[4];
};

static struct element
element(struct select *s, uint32_t n, int nargs)
{
    struct kn_asm_opnd d = kn_asm_dst(s);
    struct element e = { .to = kn_part(d, n, 1) };

    e.to.fresh = !n;
    for (int a = 0; a < nargs; a++) {
        struct kn_asm_opnd x = kn_asm_arg(s, a);

        e.x[a] = kn_part(x, n, 1);
        if (x.kind == KN_ASM_REG && x.v == d.v)
            e.to.fresh = 0;
    }
    return e;
}

/* y where x is beyond it; a NaN is not. */
static void
bound(struct select *s, uint16_t three, uint16_t beyond)
{
    for (uint32_t n = 0; n < kn_asm_dst(s).n; n++) {
        struct element e = element(s, n, 2);
        struct kn_asm_opnd m, y = kn_asm_vector(s, e.x[1]);

        if (kn_targets[s->f->target].maximum3) {
            kn_asm_valu(s, three, (struct kn_asm_opnd[]){ e.to, e.x[0], y, y }, 4);
            continue;
        }
        m = kn_asm_new(s->a, KN_ASM_S, 2);
        kn_asm_valu(s, beyond, (struct kn_asm_opnd[]){ m, e.x[0], y }, 3);
        VALU(s, v_cndmask_b32, e.to, e.x[0], y, m);
    }
}

void
select_minimum(struct select *s)
{
    bound(s, KN_I_v_minimum3_f32, KN_I_v_cmp_gt_f32);
}

void
select_maximum(struct select *s)
{
    bound(s, KN_I_v_maximum3_f32, KN_I_v_cmp_lt_f32);
}

/* A NaN is not below zero. */
void
select_fpos(struct select *s)
{
    for (uint32_t n = 0; n < kn_asm_dst(s).n; n++) {
        struct element e = element(s, n, 1);
        struct kn_asm_opnd zero = kn_imm(0), m;

        if (kn_targets[s->f->target].maximum3) {
            VALU(s, v_maximum3_f32, e.to, e.x[0], zero, zero);
            continue;
        }
        m = kn_asm_new(s->a, KN_ASM_S, 2);
        VALU(s, v_cmp_lt_f32, m, e.x[0], zero);
        VALU(s, v_cndmask_b32, e.to, e.x[0], zero, m);
    }
}

void
select_fsel(struct select *s)
{
    for (uint32_t n = 0; n < kn_asm_dst(s).n; n++) {
        struct element e = element(s, n, 4);
        struct kn_asm_opnd m = kn_asm_new(s->a, KN_ASM_S, 2);

        VALU(s, v_cmp_gt_f32, m, e.x[0], e.x[1]);
        VALU(s, v_cndmask_b32, e.to, e.x[3], kn_asm_vector(s, e.x[2]), m);
    }
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
    floats(s, KN_I_v_cvt_f32_i32, 0, 1);
}

void
select_perm(struct select *s)
{
    VALU(s, v_perm_b32, kn_asm_dst(s), kn_asm_arg(s, 0), kn_asm_arg(s, 1),
         kn_asm_arg(s, 2));
}

void
select_lerp(struct select *s)
{
    VALU(s, v_lerp_u8, kn_asm_dst(s), kn_asm_arg(s, 0), kn_asm_arg(s, 1),
         kn_asm_arg(s, 2));
}

void
select_bfi(struct select *s)
{
    VALU(s, v_bfi_b32, kn_asm_dst(s), kn_asm_arg(s, 0), kn_asm_arg(s, 1), kn_asm_arg(s, 2));
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
    } else if (kn_targets[s->f->target].cvt_bf16) {
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

        t.fresh = !t.sub;    /* d may be a part that is joined in place */
        if (elem == KN_T_bf16 && n % 2) {
            VALU(s, v_and_b32, t, kn_imm((int32_t)0xffff0000u), from);
        } else if (elem == KN_T_bf16) {
            VALU(s, v_lshlrev_b32, t, kn_imm(16), from);
        } else {
            ADD(s, v_cvt_f32_f16, 1, t, from)->mods =
                n % 2 ? " src0_sel:WORD_1" : NULL;
        }
    }
}

void
select_cvt(struct select *s)
{
    struct kn_type to = *kn_asm_type(s, s->i->dst);
    struct kn_type from = *kn_asm_type(s, s->i->arg[0]);
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

        t.fresh = !t.sub;
        two[0] = kn_part(x, 2 * n, 1);
        two[1] = 2 * n + 1 < to.n ? kn_part(x, 2 * n + 1, 1) : kn_imm(0);
        pair(s, to.elem, t, two);
    }
}

void
select_ldexp(struct select *s)
{
    if (kn_elems[kn_asm_type(s, s->i->dst)->elem].bits != 32)
        kn_asm_lack(s, "arithmetic on 64 bits");
    VALU(s, v_ldexp_f32, kn_asm_dst(s), kn_asm_arg(s, 0), kn_asm_arg(s, 1));
}

void
select_dot4(struct select *s)
{
    VALU(s, v_dot4_i32_i8, kn_asm_dst(s), kn_asm_arg(s, 0), kn_asm_arg(s, 1),
         kn_asm_arg(s, 2));
}

/* Two elements of a dword, from element `first` on. */
void
select_unpack(struct select *s)
{
    int32_t e = s->i->attr[KN_A_elem], first = s->i->attr[KN_A_first];
    struct kn_asm_opnd d = kn_asm_dst(s);
    struct kn_asm_opnd x = kn_asm_vector(s, kn_asm_arg(s, 0));

    if (e == KN_T_fp4)
        ADD(s, v_cvt_scalef32_pk_f32_fp4, 1, d, x, kn_imm(ONE))->mods =
            kn_asm_mods(s, " op_sel:[%d,%d,0]", first / 2 & 1, first / 4);
    else
        kn_asm_add(s, e == KN_T_fp8 ? KN_I_v_cvt_pk_f32_fp8
                                    : KN_I_v_cvt_pk_f32_bf8, 1,
                   (struct kn_asm_opnd[]){ d, x }, 2)->mods =
            first ? " src0_sel:WORD_1" : NULL;
}

/* Two elements of a dword times a power of two, as bf16. */
void
select_widen(struct select *s)
{
    int32_t e = s->i->attr[KN_A_elem], first = s->i->attr[KN_A_first];
    struct kn_asm_opnd o[] = { kn_asm_dst(s),
                               kn_asm_vector(s, kn_asm_arg(s, 0)),
                               kn_asm_vector(s, kn_asm_arg(s, 1)) };

    kn_asm_add(s, e == KN_T_fp4   ? KN_I_v_cvt_scalef32_pk_bf16_fp4
                  : e == KN_T_fp8 ? KN_I_v_cvt_scalef32_pk_bf16_fp8
                                  : KN_I_v_cvt_scalef32_pk_bf16_bf8, 1, o, 3)
        ->mods = e == KN_T_fp4
                     ? kn_asm_mods(s, " op_sel:[%d,%d,0]", first / 2 & 1,
                                   first / 4)
                     : first ? " op_sel:[1,0,0]" : NULL;
}

/* 32 elements of 6 bits. */
void
select_unpack32(struct select *s)
{
    struct kn_asm_opnd o[] = { kn_asm_dst(s),
                               kn_asm_vector(s, kn_asm_arg(s, 0)),
                               kn_imm(ONE) };

    kn_asm_add(s, s->i->attr[KN_A_elem] == KN_T_fp6
                      ? KN_I_v_cvt_scalef32_pk32_f32_fp6
                      : KN_I_v_cvt_scalef32_pk32_f32_bf6, 1, o, 3)->early = 1;
}

/* Each float's integer to its byte: the first whole, the others over what it has
 * there (SDWA, CDNA3 ISA 6.6). */
static void
integer_bytes(struct select *s, struct kn_asm_opnd d, struct kn_asm_opnd x)
{
    for (uint8_t k = 0; k < 4; k++) {
        struct kn_asm_opnd o[] = { d, kn_part(x, k, 1) };
        struct kn_asm_op *y;

        o[0].fresh = !k;
        y = kn_asm_add(s, KN_I_v_cvt_i32_f32, 1, o, 2);
        y->byte = k;
        y->mods = k ? kn_asm_mods(s, " dst_sel:BYTE_%d dst_unused:UNUSED_PRESERVE "
                                  "src0_sel:DWORD", k) : NULL;
    }
}

/* Four floats to bytes: the type's own conversion, RNE; integers towards 0. */
void
select_cvt8(struct select *s)
{
    int32_t to = s->i->attr[KN_A_elem];
    struct kn_asm_opnd d = kn_asm_dst(s);
    struct kn_asm_opnd x = kn_asm_vector(s, kn_asm_arg(s, 0));

    if (to == KN_T_i8) {
        integer_bytes(s, d, x);
        return;
    }
    for (uint32_t h = 0; h < 2; h++) {
        struct kn_asm_opnd o[] = { d, kn_part(x, 2 * h, 1),
                                   kn_part(x, 2 * h + 1, 1) };

        o[0].fresh = !h;
        kn_asm_add(s, to == KN_T_fp8 ? KN_I_v_cvt_pk_fp8_f32
                                     : KN_I_v_cvt_pk_bf8_f32, 1, o, 3)->mods =
            h ? " op_sel:[0,0,1]" : NULL;
    }
}

/* Four floats to codes under a scale, in halves or bytes of a register. */
void
select_cvtmx(struct select *s)
{
    static const char *const bytes[] = { NULL, " op_sel:[0,0,1,0]" };
    bool fp4 = s->i->attr[KN_A_elem] == KN_T_fp4;
    struct kn_asm_opnd d = kn_asm_dst(s);
    struct kn_asm_opnd x = kn_asm_vector(s, kn_asm_arg(s, 0));
    struct kn_asm_opnd scale = kn_asm_vector(s, kn_asm_arg(s, 1));

    if (kn_asm_type(s, s->i->arg[0])->elem != KN_T_f32 || s->i->attr[KN_A_parts] == 3) {
        kn_asm_lack(s, "codes of 16-bit floats, or of eight, under a scale");
        return;
    }
    VALU(s, v_mov_b32, kn_begin(d), kn_imm(0));
    for (uint32_t h = 0; h < 2; h++) {
        struct kn_asm_opnd o[] = { d, kn_part(x, 2 * h, 1),
                                   kn_part(x, 2 * h + 1, 1), scale };

        o[0].fresh = 0;
        kn_asm_add(s, fp4 ? KN_I_v_cvt_scalef32_pk_fp4_f32
                          : KN_I_v_cvt_scalef32_pk_fp8_f32, 1, o, 4)->mods =
            fp4 ? bytes[h] : h ? " op_sel:[0,0,0,1]" : NULL;
    }
}

/* Magnitudes as unsigned numbers, of which a NaN's is the largest. */
static void
magnitudes(struct select *s)
{
    struct kn_asm_opnd x = kn_asm_vector(s, kn_asm_arg(s, 0));
    struct kn_asm_opnd d = kn_asm_dst(s), most = kn_asm_arg(s, 1), to;

    for (uint32_t n = 0; n < x.n; n += 2) {
        struct kn_asm_opnd y[2];

        for (uint32_t k = 0; k < 2; k++) {
            y[k] = kn_asm_new(s->a, KN_ASM_V, 1);
            VALU(s, v_and_b32, y[k], kn_imm(0x7fffffff),
                 kn_part(x, n + k < x.n ? n + k : n, 1));
            y[k].fresh = 0;
        }
        to = n + 2 < x.n ? kn_asm_new(s->a, KN_ASM_V, 1) : d;
        to.fresh = 1;
        VALU(s, v_max3_u32, to, y[0], y[1], most);
        most = to;
        most.fresh = 0;
    }
}

/* Three at a time. */
void
select_amax(struct select *s)
{
    if (s->i->attr[KN_A_mode] && !kn_targets[s->f->target].maximum3) {
        magnitudes(s);
        return;
    }

    uint16_t isa = s->i->attr[KN_A_mode] ? KN_I_v_maximum3_f32 : KN_I_v_max3_f32;
    struct kn_asm_opnd x = kn_asm_vector(s, kn_asm_arg(s, 0));
    struct kn_asm_opnd d = kn_asm_dst(s), most = kn_asm_arg(s, 1);

    for (uint32_t n = 0; n < x.n; n += 2) {
        struct kn_asm_opnd o[] = { n + 2 < x.n ? kn_asm_new(s->a, KN_ASM_V, 1)
                                               : d, kn_part(x, n, 1),
                                   kn_part(x, n + 1 < x.n ? n + 1 : n, 1),
                                   most };

        o[1].abs = o[2].abs = 1;
        o[0].fresh = 1;
        kn_asm_valu(s, isa, o, 4);
        most = o[0];
        most.fresh = 0;
    }
}
