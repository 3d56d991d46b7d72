/* lower_convert.c - from one element type to another. */
#include "lower.h"

#include <stdio.h>
#include <string.h>

#define CONVERT(id, Fn)                                                       \
    void lower_##id(struct lower *l, const struct kn_ins *i)                  \
    {                                                                         \
        low_set(l, i, LLVMBuild##Fn(l->b, low_arg(l, i, 0, l->i32),           \
                                    low_result(l, i), ""));                  \
    }
CONVERT(sext, SExt)
CONVERT(zext, ZExt)
CONVERT(trunc, Trunc)
CONVERT(i2f, SIToFP)

/* Floats are opaque to LLVM: it would look through a plain cast and split the
 * vectors they come from into scalars. */
void
lower_bits(struct lower *l, const struct kn_ins *i)
{
    LLVMTypeRef t = low_result(l, i);
    LLVMValueRef v = LLVMBuildBitCast(l->b, low_get(l, i, 0), t, "");

    if (kn_elems[kn_val(l->f, i->dst)->type.elem].kind == KN_E_INT)
        low_set(l, i, v);
    else
        low_set(l, i, low_intrinsic(l, &(struct low_call){
            "llvm.arithmetic.fence", { t }, 1, { v }, 1 }));
}

void
lower_cvt(struct lower *l, const struct kn_ins *i)
{
    struct kn_type from = kn_val(l->f, i->arg[0])->type;
    struct kn_type to = kn_val(l->f, i->dst)->type;
    LLVMValueRef v = low_get(l, i, 0);

    low_set(l, i, kn_elems[to.elem].bits > kn_elems[from.elem].bits
                ? LLVMBuildFPExt(l->b, v, low_type(l, to), "")
                : LLVMBuildFPTrunc(l->b, v, low_type(l, to), ""));
}

/* Two elements of a dword, from element `first` on. */
void
lower_unpack(struct lower *l, const struct kn_ins *i)
{
    int32_t e = i->attr[KN_A_elem], first = i->attr[KN_A_first];
    LLVMValueRef x = low_arg(l, i, 0, l->i32);

    if (e == KN_T_fp4)
        low_set(l, i, low_intrinsic(l, &(struct low_call){
            "llvm.amdgcn.cvt.scalef32.pk.f32.fp4", { NULL }, 0,
            { x, LLVMConstReal(l->f32, 1), low_i32(l, first / 2) }, 3 }));
    else
        low_set(l, i, low_intrinsic(l, &(struct low_call){
            e == KN_T_fp8 ? "llvm.amdgcn.cvt.pk.f32.fp8"
                          : "llvm.amdgcn.cvt.pk.f32.bf8", { NULL }, 0,
            { x, LLVMConstInt(l->i1, first != 0, 0) }, 2 }));
}

/* Two elements of a dword times a power of two, as bf16. */
void
lower_widen(struct lower *l, const struct kn_ins *i)
{
    int32_t e = i->attr[KN_A_elem], first = i->attr[KN_A_first];
    LLVMValueRef x = low_intrinsic(l, &(struct low_call){
        e == KN_T_fp4   ? "llvm.amdgcn.cvt.scalef32.pk.bf16.fp4"
        : e == KN_T_fp8 ? "llvm.amdgcn.cvt.scalef32.pk.bf16.fp8"
                        : "llvm.amdgcn.cvt.scalef32.pk.bf16.bf8", { NULL }, 0,
        { low_arg(l, i, 0, l->i32),
          low_arg(l, i, 1, LLVMFloatTypeInContext(l->ctx)),
          e == KN_T_fp4 ? low_i32(l, first / 2)
                        : LLVMConstInt(l->i1, first != 0, 0) }, 3 });

    low_set(l, i, LLVMBuildBitCast(l->b, x, l->i32, ""));
}

/* 32 elements of 6 bits. */
void
lower_unpack32(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, low_intrinsic(l, &(struct low_call){
        i->attr[KN_A_elem] == KN_T_fp6 ? "llvm.amdgcn.cvt.scalef32.pk32.f32.fp6"
                                       : "llvm.amdgcn.cvt.scalef32.pk32.f32.bf6",
        { NULL }, 0, { low_get(l, i, 0), LLVMConstReal(l->f32, 1) }, 2 }));
}

/* Two codes in a half of `old`. */
static LLVMValueRef
half_of(struct lower *l, int32_t to, const LLVMValueRef e[2],
        LLVMValueRef old, bool high)
{
    return low_intrinsic(l, &(struct low_call){
        to == KN_T_fp8 ? "llvm.amdgcn.cvt.pk.fp8.f32"
                       : "llvm.amdgcn.cvt.pk.bf8.f32", { NULL }, 0,
        { e[0], e[1], old, LLVMConstInt(l->i1, high, 0) }, 4 });
}

/* The high halves of two registers. */
static LLVMValueRef
high_halves(struct lower *l, LLVMValueRef low, LLVMValueRef high)
{
    return low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.perm", { NULL }, 0,
        { LLVMBuildBitCast(l->b, high, l->i32, ""),
          LLVMBuildBitCast(l->b, low, l->i32, ""), low_i32(l, 0x07060302) }, 3 });
}

static LLVMValueRef
integer_bytes(struct lower *l, const LLVMValueRef e[4])
{
    LLVMValueRef v = low_i32(l, 0);

    for (int k = 0; k < 4; k++) {
        LLVMValueRef n = LLVMBuildFPToSI(l->b, e[k], l->i32, "");

        n = LLVMBuildAnd(l->b, n, low_i32(l, 255), "");
        v = LLVMBuildOr(l->b, v, LLVMBuildShl(l->b, n, low_i32(l, 8 * k), ""),
                        "");
    }
    return v;
}

/* Four floats to bytes: the type's own conversion, RNE; integers towards 0.
 * parts=2: both in the high half, behind which LLVM leaves the wait state that
 * lower_cvtmx speaks of; parts=3: each in a register that a float was in. */
void
lower_cvt8(struct lower *l, const struct kn_ins *i)
{
    LLVMTypeRef four = LLVMVectorType(LLVMFloatTypeInContext(l->ctx), 4);
    LLVMValueRef x = low_arg(l, i, 0, four), e[4], v = low_i32(l, 0), half[2];
    int32_t to = i->attr[KN_A_elem], parts = i->attr[KN_A_parts];

    for (int k = 0; k < 4; k++)
        e[k] = LLVMBuildExtractElement(l->b, x, low_i32(l, k), "");
    if (to == KN_T_i8) {
        low_set(l, i, integer_bytes(l, e));
        return;
    }
    for (int h = 0; h < 2; h++) {
        LLVMValueRef old = parts == 3 ? LLVMBuildBitCast(l->b, e[2 * h], l->i32, "")
                         : parts == 2 ? low_i32(l, 0) : v;

        v = half[h] = half_of(l, to, e + 2 * h, old, parts > 1 || h);
    }
    if (parts == 2)
        v = LLVMBuildOr(l->b, half[1], LLVMBuildLShr(l->b, half[0],
                                                     low_i32(l, 16), ""), "");
    low_set(l, i, parts == 3 ? high_halves(l, half[0], half[1]) : v);
}

/* What codes come of: two of the elements of x, as the instruction wants them, and
 * the register they are in. */
struct pair {
    LLVMValueRef arg[2], bits;
    int n;
};

static struct pair
pair_of(struct lower *l, LLVMValueRef x, uint8_t from, int at)
{
    LLVMValueRef both[] = { low_i32(l, at), low_i32(l, at + 1) };
    struct pair p = { .n = 1 };

    p.arg[0] = LLVMBuildShuffleVector(l->b, x, LLVMGetPoison(LLVMTypeOf(x)),
                                      LLVMConstVector(both, 2), "");
    if (from == KN_T_f32) {
        p.n = 2;
        p.arg[0] = LLVMBuildExtractElement(l->b, x, both[0], "");
        p.arg[1] = LLVMBuildExtractElement(l->b, x, both[1], "");
    }
    p.bits = LLVMBuildBitCast(l->b, p.arg[0], l->i32, "");
    return p;
}

/* parts=3: the codes of four elements, or of fp4 of eight, in a register that they
 * were in. */
static LLVMValueRef
codes_in_place(struct lower *l, const struct kn_ins *i)
{
    static const char *const names[][3] = {
        { "llvm.amdgcn.cvt.scalef32.pk.fp4.f32", "llvm.amdgcn.cvt.scalef32.pk.fp4.bf16",
          "llvm.amdgcn.cvt.scalef32.pk.fp4.f16" },
        { "llvm.amdgcn.cvt.scalef32.pk.fp8.f32", "llvm.amdgcn.cvt.scalef32.pk.fp8.bf16",
          "llvm.amdgcn.cvt.scalef32.pk.fp8.f16" },
        { "llvm.amdgcn.cvt.scalef32.pk.bf8.f32", "llvm.amdgcn.cvt.scalef32.pk.bf8.bf16",
          "llvm.amdgcn.cvt.scalef32.pk.bf8.f16" },
    };
    uint8_t from = kn_val(l->f, i->arg[0])->type.elem;
    int32_t to = i->attr[KN_A_elem], fp4 = to == KN_T_fp4;
    const char *name = names[fp4 ? 0 : to == KN_T_fp8 ? 1 : 2]
                            [from == KN_T_f32 ? 0 : from == KN_T_bf16 ? 1 : 2];
    LLVMValueRef scale = low_arg(l, i, 1, LLVMFloatTypeInContext(l->ctx)), half[2];
    LLVMTypeRef old = fp4 ? l->i32 : LLVMVectorType(l->i16, 2);

    for (int h = 0; h < 2; h++)
        for (int k = 0; k < 1 + fp4; k++) {
            struct pair p = pair_of(l, low_get(l, i, 0), from, (1 + fp4) * 2 * h + 2 * k);
            struct low_call call = { name, { NULL }, 0, { NULL }, 0 };

            call.arg[call.narg++] = k ? half[h] : LLVMBuildBitCast(l->b, p.bits, old, "");
            for (int n = 0; n < p.n; n++)
                call.arg[call.narg++] = p.arg[n];
            call.arg[call.narg++] = scale;
            call.arg[call.narg++] = fp4 ? low_i32(l, 2 + k) : LLVMConstInt(l->i1, 1, 0);
            half[h] = low_intrinsic(l, &call);
        }
    return high_halves(l, half[0], half[1]);
}

static void
sixes_of_halves(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef scale = low_arg(l, i, 1, LLVMFloatTypeInContext(l->ctx));

    low_set(l, i, low_intrinsic(l, &(struct low_call){
        i->attr[KN_A_elem] == KN_T_fp6 ? "llvm.amdgcn.cvt.scalef32.pk32.fp6.f16"
                                       : "llvm.amdgcn.cvt.scalef32.pk32.bf6.f16",
        { NULL }, 0, { low_get(l, i, 0), scale }, 2 }));
}

/* Even elements are of one vector, those between of another. */
void
lower_cvt6(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef x = low_get(l, i, 0), at[2][16], half[2];

    if (i->arg[1]) {
        sixes_of_halves(l, i);
        return;
    }
    for (int e = 0; e < 32; e++)
        at[e % 2][e / 2] = low_i32(l, e);
    for (int h = 0; h < 2; h++)
        half[h] = LLVMBuildShuffleVector(l->b, x, LLVMGetPoison(LLVMTypeOf(x)),
                                         LLVMConstVector(at[h], 16), "");
    low_set(l, i, low_intrinsic(l, &(struct low_call){
        i->attr[KN_A_elem] == KN_T_fp6 ? "llvm.amdgcn.cvt.scalef32.2xpk16.fp6.f32"
                                       : "llvm.amdgcn.cvt.scalef32.2xpk16.bf6.f32",
        { NULL }, 0,
        { half[0], half[1], LLVMConstReal(l->f32, 1) }, 3 }));
}

struct sr_codes {            /* of even and of odd elements, n a register */
    LLVMValueRef in[2], scale;
    int n;
};

/* Codes of the pair x into byte n of both registers, each up by one of the bytes: the
 * uppermost of a word that the conversion adds to what is below a code. Below it is half a
 * 512th of a step, so that v is rounded to these, from bits of the scale that are no exponent.
 * The first of a pair is rounded by the word as it is, the second by another. A statement,
 * since LLVM 22's intrinsic loses the register that is partly written; this is forwarded
 * one wait state later, behind what is done for the other. */
static void
two_codes(struct lower *l, LLVMValueRef x, LLVMValueRef bytes, struct sr_codes *c)
{
    static const char constraints[] = "=&v,=&v,=&v,=&v,v,v,v,s,s,0,1";
    static const char *const places[] = { "", " op_sel:[0,0,1,0]", " op_sel:[0,0,0,1]",
                                          " op_sel:[0,0,1,1]" };
    int64_t first = (c->n % 2) << 25 | 0x050404;
    LLVMTypeRef to[] = { l->i32, l->i32, l->i32, l->i32 }, from[7], t;
    LLVMValueRef arg[] = { x, bytes, c->scale, low_i32(l, first), low_i32(l, first | 1 << 24),
                           c->in[0], c->in[1] }, call;
    char text[256];

    for (unsigned k = 0; k < 7; k++)
        from[k] = l->i32;
    t = LLVMFunctionType(LLVMStructTypeInContext(l->ctx, to, 4, 0), from, 7, 0);
    snprintf(text, sizeof text, "v_perm_b32 $2, $6, $5, $7\n"
             "v_cvt_scalef32_sr_pk_fp4_bf16 $0, $4, $2, $6%s\n"
             "v_perm_b32 $2, $6, $5, $8\nv_lshrrev_b32 $3, 16, $4\n"
             "v_cvt_scalef32_sr_pk_fp4_bf16 $1, $3, $2, $6%s%s", places[c->n], places[c->n],
             c->n == 3 ? "\ns_nop 0" : "");
    call = LLVMGetInlineAsm(t, text, strlen(text), constraints, sizeof constraints - 1, 0, 0,
                            LLVMInlineAsmDialectATT, 0);
    call = LLVMBuildCall2(l->b, t, call, arg, 7, "");
    for (unsigned r = 0; r < 2; r++)
        c->in[r] = LLVMBuildExtractValue(l->b, call, r, "");
    c->n++;
}

/* Every second code begins a byte of one register, those between of another; what their
 * bytes have above is of no number. */
void
lower_cvtsr(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef x = LLVMBuildBitCast(l->b, low_get(l, i, 0), LLVMVectorType(l->i32, 4), "");
    LLVMValueRef scale = LLVMBuildBitCast(l->b, low_get(l, i, 1), l->i32, "");
    struct sr_codes c = { { LLVMGetUndef(l->i32), LLVMGetUndef(l->i32) }, NULL, 0 };

    c.scale = LLVMBuildOr(l->b, scale, low_i32(l, 0x4000), "");
    for (int h = 0; h < 4; h++)
        two_codes(l, LLVMBuildExtractElement(l->b, x, low_i32(l, h), ""),
                  LLVMBuildExtractElement(l->b, low_get(l, i, 2), low_i32(l, h / 2), ""), &c);
    c.in[0] = LLVMBuildAnd(l->b, c.in[0], low_i32(l, 0x0f0f0f0f), "");
    c.in[1] = LLVMBuildShl(l->b, c.in[1], low_i32(l, 4), "");
    c.in[1] = LLVMBuildAnd(l->b, c.in[1], low_i32(l, (int64_t)0xf0f0f0f0), "");
    low_set(l, i, LLVMBuildOr(l->b, c.in[0], c.in[1], ""));
}

/* Pairs of codes into the low and the high part: bytes of fp4, halves of fp8.
 * A partly written register is forwarded one wait state later; LLVM leaves it
 * for the high half (GCNHazardRecognizer, getDstSelForwardingOperand), so fp4
 * is made there, and with parts=2 all. */
void
lower_cvtmx(struct lower *l, const struct kn_ins *i)
{
    static const char *const fp4s[] = {
        [KN_T_f32] = "llvm.amdgcn.cvt.scalef32.pk.fp4.f32",
        [KN_T_bf16] = "llvm.amdgcn.cvt.scalef32.pk.fp4.bf16",
        [KN_T_f16] = "llvm.amdgcn.cvt.scalef32.pk.fp4.f16",
    };
    bool fp4 = i->attr[KN_A_elem] == KN_T_fp4;
    bool apart = !fp4 && i->attr[KN_A_parts] == 2;
    uint8_t from = kn_val(l->f, i->arg[0])->type.elem;
    LLVMTypeRef old = fp4 ? l->i32 : LLVMVectorType(l->i16, 2);
    LLVMValueRef x = low_get(l, i, 0), v = LLVMConstNull(old), part[2];
    LLVMValueRef scale = low_arg(l, i, 1, LLVMFloatTypeInContext(l->ctx));

    if (i->attr[KN_A_parts] == 3) {
        low_set(l, i, codes_in_place(l, i));
        return;
    }
    for (int h = 0; h < 2; h++) {
        LLVMValueRef at[] = { low_i32(l, 2 * h), low_i32(l, 2 * h + 1) };
        LLVMValueRef to = fp4 ? low_i32(l, 2 + h)
                              : LLVMConstInt(l->i1, apart || h, 0);
        LLVMValueRef pair = LLVMBuildShuffleVector(
            l->b, x, LLVMGetPoison(LLVMTypeOf(x)), LLVMConstVector(at, 2), "");
        struct low_call call = { fp4 ? fp4s[from]
                                     : "llvm.amdgcn.cvt.scalef32.pk.fp8.f32",
                                 { NULL }, 0, { v, pair, scale, to }, 4 };

        if (from == KN_T_f32) {
            call.arg[1] = LLVMBuildExtractElement(l->b, x, at[0], "");
            call.arg[2] = LLVMBuildExtractElement(l->b, x, at[1], "");
            call.arg[3] = scale;
            call.arg[4] = to;
            call.narg = 5;
        }
        part[h] = low_intrinsic(l, &call);
        v = apart ? v : part[h];
    }
    if (apart)
        v = LLVMBuildOr(l->b, LLVMBuildBitCast(l->b, part[1], l->i32, ""),
                        LLVMBuildLShr(l->b, LLVMBuildBitCast(l->b, part[0],
                                                             l->i32, ""),
                                      low_i32(l, 16), ""), "");
    if (fp4)
        v = LLVMBuildLShr(l->b, v, low_i32(l, 16), "");
    low_set(l, i, v);
}
