/* lower.c - values, types, intrinsics and LDS globals of one module. */
#include "lower.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

LLVMTypeRef
low_type(struct lower *l, struct kn_type t)
{
    LLVMTypeRef e = l->elem[t.elem];

    return t.n > 1 ? LLVMVectorType(e, t.n) : e;
}

LLVMValueRef
low_i32(struct lower *l, int64_t v)
{
    return LLVMConstInt(l->i32, (uint64_t)v, 1);
}

static LLVMValueRef
constant(const struct kn_const *k, LLVMTypeRef t)
{
    LLVMTypeRef e = t;
    LLVMValueRef one, all[32];
    unsigned n;

    if (LLVMGetTypeKind(t) == LLVMVectorTypeKind)
        e = LLVMGetElementType(t);
    one = k->is_float ? LLVMConstReal(e, k->f)
                      : LLVMConstInt(e, (uint64_t)k->i, 1);
    if (e == t)
        return one;
    n = LLVMGetVectorSize(t);
    for (unsigned i = 0; i < n; i++)
        all[i] = one;
    return LLVMConstVector(all, n);
}

LLVMValueRef
low_arg(struct lower *l, const struct kn_ins *i, int a, LLVMTypeRef want)
{
    kn_ref r = i->arg[a];
    uint32_t n = KN_REF_INDEX(r);

    if (KN_REF_TAG(r) == KN_R_CONST)
        return constant(&l->f->konst[n], want);
    assert(KN_REF_TAG(r) == KN_R_VAL && l->val[n]);
    if (l->in_memory[n])
        return LLVMBuildLoad2(l->b, low_type(l, l->f->val[n].type), l->val[n],
                              "");
    return l->val[n];
}

LLVMValueRef
low_get(struct lower *l, const struct kn_ins *i, int a)
{
    struct kn_type t = { KN_T_i32, 1, 0 };

    if (i->dst && kn_val(l->f, i->dst)->type.elem != KN_T_b1)
        t = kn_val(l->f, i->dst)->type;
    for (int x = 0; x < KN_MAXARG && i->arg[x]; x++)
        if (i->dst && kn_val(l->f, i->dst)->type.elem == KN_T_b1 &&
            KN_REF_TAG(i->arg[x]) == KN_R_VAL)
            t = kn_val(l->f, i->arg[x])->type;
    return low_arg(l, i, a, low_type(l, t));
}

void
low_set(struct lower *l, const struct kn_ins *i, LLVMValueRef v)
{
    uint32_t n = KN_REF_INDEX(i->dst);
    LLVMTypeRef t = low_type(l, l->f->val[n].type);

    if (LLVMTypeOf(v) != t)
        v = LLVMBuildBitCast(l->b, v, t, "");
    if (l->in_memory[n]) {
        LLVMBuildStore(l->b, v, l->val[n]);
        return;
    }
    l->val[n] = v;
    if (LLVMIsAInstruction(v) && !*LLVMGetValueName(v))
        LLVMSetValueName2(v, l->f->val[n].name, strlen(l->f->val[n].name));
}

LLVMValueRef
low_intrinsic(struct lower *l, const struct low_call *k)
{
    unsigned id = LLVMLookupIntrinsicID(k->name, strlen(k->name));
    LLVMTypeRef ft, pt[12];
    LLVMValueRef arg[12], fn;
    size_t len = 0;

    /* The look-up accepts a prefix of an overloaded name. */
    assert(id && !strcmp(LLVMIntrinsicGetName(id, &len), k->name));
    fn = LLVMGetIntrinsicDeclaration(l->mod, id, (LLVMTypeRef *)k->ov, k->nov);
    ft = LLVMIntrinsicGetType(l->ctx, id, (LLVMTypeRef *)k->ov, k->nov);
    assert(LLVMCountParamTypes(ft) == k->narg);
    LLVMGetParamTypes(ft, pt);
    for (unsigned a = 0; a < k->narg; a++) {
        arg[a] = k->arg[a];
        if (LLVMTypeOf(arg[a]) != pt[a])
            arg[a] = LLVMBuildBitCast(l->b, arg[a], pt[a], "");
    }
    return LLVMBuildCall2(l->b, ft, fn, arg, k->narg, "");
}

static uint32_t
slot_number(const struct lower *l, kn_ref r)
{
    return l->first_slot[KN_REF_LDS(r)] + KN_REF_SLOT(r);
}

LLVMValueRef
low_slot(struct lower *l, kn_ref r)
{
    return l->slot[slot_number(l, r)];
}

/* The access touches only this slot: scope of its own, noalias with every
 * other slot's, so that LLVM adds a wait only between accesses of one slot. */
void
low_alias(struct lower *l, LLVMValueRef ins, kn_ref r)
{
    uint32_t own = slot_number(l, r), n = 0;
    LLVMMetadataRef *others = KN_NEW(l->c, LLVMMetadataRef, l->nslots + 1);

    for (uint32_t s = 0; s < l->nslots; s++)
        if (s != own)
            others[n++] = l->scope[s];
    LLVMSetMetadata(ins, l->kind_scope, LLVMMetadataAsValue(l->ctx,
                    LLVMMDNodeInContext2(l->ctx, &l->scope[own], 1)));
    LLVMSetMetadata(ins, l->kind_noalias, LLVMMetadataAsValue(l->ctx,
                    LLVMMDNodeInContext2(l->ctx, others, n)));
}

/* ---- arithmetic ---- */

typedef LLVMValueRef binary_fn(LLVMBuilderRef, LLVMValueRef, LLVMValueRef,
                               const char *);

static void
binary(struct lower *l, const struct kn_ins *i, binary_fn *fn)
{
    LLVMValueRef a = low_get(l, i, 0), b = low_get(l, i, 1);

    low_set(l, i, fn(l->b, a, b, ""));
}

#define BINARY(id, Fn)                                                        \
    void lower_##id(struct lower *l, const struct kn_ins *i)                  \
    {                                                                         \
        binary(l, i, LLVMBuild##Fn);                                          \
    }
BINARY(add, Add)
BINARY(sub, Sub)
BINARY(mul, Mul)
BINARY(and, And)
BINARY(or, Or)
BINARY(xor, Xor)
BINARY(shl, Shl)
BINARY(shr, LShr)
BINARY(sar, AShr)
BINARY(fadd, FAdd)
BINARY(fmul, FMul)
BINARY(band, And)

static LLVMValueRef
first_lane(struct lower *l, LLVMValueRef v)
{
    return low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.readfirstlane", { LLVMTypeOf(v) }, 1, { v }, 1 });
}

/* Division is done in vector registers even for uniform operands. Unless its
 * result is moved back, everything computed from it stays there, up to buffer
 * resources, which then cost a loop over lanes at every access. */
static void
divide(struct lower *l, const struct kn_ins *i, binary_fn *fn)
{
    LLVMValueRef v = fn(l->b, low_get(l, i, 0), low_get(l, i, 1), "");

    if (!kn_val(l->f, i->dst)->type.lane)
        v = first_lane(l, v);
    low_set(l, i, v);
}

void
lower_udiv(struct lower *l, const struct kn_ins *i)
{
    divide(l, i, LLVMBuildUDiv);
}

void
lower_urem(struct lower *l, const struct kn_ins *i)
{
    divide(l, i, LLVMBuildURem);
}

static void
overloaded2(struct lower *l, const struct kn_ins *i, const char *name)
{
    LLVMValueRef a = low_get(l, i, 0), b = low_get(l, i, 1);

    low_set(l, i, low_intrinsic(l, &(struct low_call){
        name, { LLVMTypeOf(a) }, 1, { a, b }, 2 }));
}

#define MINMAX(id)                                                            \
    void lower_##id(struct lower *l, const struct kn_ins *i)                  \
    {                                                                         \
        overloaded2(l, i, "llvm." #id);                                       \
    }
MINMAX(smin)
MINMAX(smax)
MINMAX(umin)
MINMAX(umax)

static void
compare(struct lower *l, const struct kn_ins *i, LLVMIntPredicate p)
{
    LLVMValueRef a = low_get(l, i, 0), b = low_get(l, i, 1);

    low_set(l, i, LLVMBuildICmp(l->b, p, a, b, ""));
}

#define COMPARE(id, P)                                                        \
    void lower_##id(struct lower *l, const struct kn_ins *i)                  \
    {                                                                         \
        compare(l, i, LLVMInt##P);                                            \
    }
COMPARE(eq, EQ)
COMPARE(ne, NE)
COMPARE(slt, SLT)
COMPARE(sge, SGE)
COMPARE(ult, ULT)

static void
elementwise(struct lower *l, const struct kn_ins *i, const char *name)
{
    LLVMTypeRef t = low_type(l, kn_val(l->f, i->dst)->type);
    LLVMValueRef x = low_get(l, i, 0), y = LLVMGetPoison(t);
    unsigned n = kn_val(l->f, i->dst)->type.n;

    for (unsigned e = 0; e < n; e++) {
        LLVMValueRef v = n == 1 ? x : LLVMBuildExtractElement(l->b, x,
                                                              low_i32(l, e), "");

        v = low_intrinsic(l, &(struct low_call){ name, { l->f32 }, 1, { v },
                                                 1 });
        y = n == 1 ? v : LLVMBuildInsertElement(l->b, y, v, low_i32(l, e), "");
    }
    low_set(l, i, y);
}

void
lower_exp2(struct lower *l, const struct kn_ins *i)
{
    elementwise(l, i, "llvm.amdgcn.exp2");
}

void
lower_rcp(struct lower *l, const struct kn_ins *i)
{
    elementwise(l, i, "llvm.amdgcn.rcp");
}

void
lower_fmin(struct lower *l, const struct kn_ins *i)
{
    overloaded2(l, i, "llvm.minnum");
}

void
lower_fmax(struct lower *l, const struct kn_ins *i)
{
    overloaded2(l, i, "llvm.maxnum");
}

void
lower_mov(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, low_get(l, i, 0));
}

/* A promise of the launch, for the proof alone. */
void
lower_assume(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, low_get(l, i, 0));
}

void
lower_select(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef c = low_arg(l, i, 0, l->i1);

    low_set(l, i, LLVMBuildSelect(l->b, c, low_get(l, i, 1), low_get(l, i, 2),
                                  ""));
}

static LLVMTypeRef
result_type(struct lower *l, const struct kn_ins *i)
{
    return low_type(l, kn_val(l->f, i->dst)->type);
}

#define CONVERT(id, Fn)                                                       \
    void lower_##id(struct lower *l, const struct kn_ins *i)                  \
    {                                                                         \
        low_set(l, i, LLVMBuild##Fn(l->b, low_arg(l, i, 0, l->i32),           \
                                    result_type(l, i), ""));                  \
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
    LLVMTypeRef t = result_type(l, i);
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

void
lower_fma(struct lower *l, const struct kn_ins *i)
{
    LLVMTypeRef t = result_type(l, i);

    low_set(l, i, low_intrinsic(l, &(struct low_call){
        "llvm.fma", { t }, 1,
        { low_get(l, i, 0), low_get(l, i, 1), low_get(l, i, 2) }, 3 }));
}

void
lower_perm(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.perm", { NULL }, 0,
        { low_get(l, i, 0), low_get(l, i, 1), low_get(l, i, 2) }, 3 }));
}

void
lower_dot4(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.sdot4", { NULL }, 0,
        { low_arg(l, i, 0, l->i32), low_arg(l, i, 1, l->i32),
          low_arg(l, i, 2, l->i32), LLVMConstInt(l->i1, 0, 0) }, 4 }));
}

void
lower_uniform(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, first_lane(l, low_get(l, i, 0)));
}

void
lower_readlane(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef v = low_arg(l, i, 0, l->i32), at = low_arg(l, i, 1, l->i32);

    low_set(l, i, low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.readlane", { l->i32 }, 1, { v, at }, 2 }));
}

void
lower_count(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef mask = low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.ballot", { l->i64 }, 1, { low_arg(l, i, 0, l->i1) }, 1 });
    LLVMValueRef n = low_intrinsic(l, &(struct low_call){
        "llvm.ctpop", { l->i64 }, 1, { mask }, 1 });

    low_set(l, i, LLVMBuildTrunc(l->b, n, l->i32, ""));
}

/* Inclusive sum over the 64 lanes: DPP row shifts by 1, 2, 4, 8, then the
 * last lane of each row (15) and of each half (31) broadcast to what follows
 * (CDNA3 ISA 13.4 DPP). Needs every lane active. */
void
lower_scan(struct lower *l, const struct kn_ins *i)
{
    static const struct {
        uint32_t ctrl, rows;
    } steps[] = { { 0x111, 15 }, { 0x112, 15 }, { 0x114, 15 },
                  { 0x118, 15 }, { 0x142, 10 }, { 0x143, 12 } };
    LLVMValueRef x = low_arg(l, i, 0, l->i32);

    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        LLVMValueRef moved = low_intrinsic(l, &(struct low_call){
            "llvm.amdgcn.update.dpp", { l->i32 }, 1,
            { low_i32(l, 0), x, low_i32(l, steps[s].ctrl),
              low_i32(l, steps[s].rows), low_i32(l, 15),
              LLVMConstInt(l->i1, 0, 0) }, 6 });

        x = LLVMBuildAdd(l->b, x, moved, "");
    }
    low_set(l, i, x);
}

void
lower_ldexp(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, low_intrinsic(l, &(struct low_call){
        "llvm.ldexp", { l->f32, l->i32 }, 2,
        { low_arg(l, i, 0, l->f32), low_arg(l, i, 1, l->i32) }, 2 }));
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

/* 32 elements of 6 bits. */
void
lower_unpack32(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, low_intrinsic(l, &(struct low_call){
        i->attr[KN_A_elem] == KN_T_fp6 ? "llvm.amdgcn.cvt.scalef32.pk32.f32.fp6"
                                       : "llvm.amdgcn.cvt.scalef32.pk32.f32.bf6",
        { NULL }, 0, { low_get(l, i, 0), LLVMConstReal(l->f32, 1) }, 2 }));
}

/* Largest of the lanes l, l ^ 16, l ^ 32, l ^ 48: a swap of a value with
 * itself leaves both of each pair of rows. */
void
lower_qmax(struct lower *l, const struct kn_ins *i)
{
    static const char *const swap[] = { "llvm.amdgcn.permlane16.swap",
                                        "llvm.amdgcn.permlane32.swap" };
    LLVMValueRef x = low_get(l, i, 0), no = LLVMConstInt(l->i1, 0, 0);
    LLVMTypeRef t = LLVMTypeOf(x);

    for (int s = 0; s < 2; s++) {
        LLVMValueRef u = LLVMBuildBitCast(l->b, x, l->i32, ""), a, b, pair;

        pair = low_intrinsic(l, &(struct low_call){ swap[s], { NULL }, 0,
                                                    { u, u, no, no }, 4 });
        a = LLVMBuildExtractValue(l->b, pair, 0, "");
        b = LLVMBuildExtractValue(l->b, pair, 1, "");
        x = low_intrinsic(l, &(struct low_call){
            "llvm.maxnum", { t }, 1, { LLVMBuildBitCast(l->b, a, t, ""),
                                       LLVMBuildBitCast(l->b, b, t, "") }, 2 });
    }
    low_set(l, i, x);
}

/* Largest of 4, 8 or 16 lanes side by side, as unsigned numbers: DPP quad_perm
 * 1,0,3,2 and 2,3,0,1, row_half_mirror, row_mirror (CDNA3 ISA 13.4). */
void
lower_nmax(struct lower *l, const struct kn_ins *i)
{
    static const uint32_t ctrl[] = { 0xb1, 0x4e, 0x141, 0x140 };
    LLVMValueRef x = low_arg(l, i, 0, l->i32);

    for (int s = 0; 1 << s < i->attr[KN_A_parts]; s++) {
        LLVMValueRef moved = low_intrinsic(l, &(struct low_call){
            "llvm.amdgcn.update.dpp", { l->i32 }, 1,
            { low_i32(l, 0), x, low_i32(l, ctrl[s]), low_i32(l, 15),
              low_i32(l, 15), LLVMConstInt(l->i1, 1, 0) }, 6 });

        x = low_intrinsic(l, &(struct low_call){
            "llvm.umax", { l->i32 }, 1, { x, moved }, 2 });
    }
    low_set(l, i, x);
}

/* Four floats to bytes: the type's own conversion, RNE; integers towards 0. */
void
lower_cvt8(struct lower *l, const struct kn_ins *i)
{
    LLVMTypeRef four = LLVMVectorType(LLVMFloatTypeInContext(l->ctx), 4);
    LLVMValueRef x = low_arg(l, i, 0, four), e[4], v = low_i32(l, 0);
    int32_t to = i->attr[KN_A_elem];

    for (int k = 0; k < 4; k++)
        e[k] = LLVMBuildExtractElement(l->b, x, low_i32(l, k), "");
    for (int h = 0; h < 2 && to != KN_T_i8; h++)
        v = low_intrinsic(l, &(struct low_call){
            to == KN_T_fp8 ? "llvm.amdgcn.cvt.pk.fp8.f32"
                           : "llvm.amdgcn.cvt.pk.bf8.f32", { NULL }, 0,
            { e[2 * h], e[2 * h + 1], v, LLVMConstInt(l->i1, (unsigned)h, 0) },
            4 });
    for (int k = 0; k < 4 && to == KN_T_i8; k++) {
        LLVMValueRef n = LLVMBuildFPToSI(l->b, e[k], l->i32, "");

        n = LLVMBuildAnd(l->b, n, low_i32(l, 255), "");
        v = LLVMBuildOr(l->b, v, LLVMBuildShl(l->b, n, low_i32(l, 8 * k), ""),
                        "");
    }
    low_set(l, i, v);
}

/* Pairs of codes into the low and the high part: bytes of fp4, halves of fp8.
 * A partly written register is forwarded one wait state later; LLVM leaves it
 * for the high half (GCNHazardRecognizer, getDstSelForwardingOperand), so fp4
 * is made there. */
void
lower_cvtmx(struct lower *l, const struct kn_ins *i)
{
    static const char *const fp4s[] = {
        [KN_T_f32] = "llvm.amdgcn.cvt.scalef32.pk.fp4.f32",
        [KN_T_bf16] = "llvm.amdgcn.cvt.scalef32.pk.fp4.bf16",
        [KN_T_f16] = "llvm.amdgcn.cvt.scalef32.pk.fp4.f16",
    };
    bool fp4 = i->attr[KN_A_elem] == KN_T_fp4;
    uint8_t from = kn_val(l->f, i->arg[0])->type.elem;
    LLVMTypeRef old = fp4 ? l->i32 : LLVMVectorType(l->i16, 2);
    LLVMValueRef x = low_get(l, i, 0), v = LLVMConstNull(old);
    LLVMValueRef scale = low_arg(l, i, 1, LLVMFloatTypeInContext(l->ctx));

    for (int h = 0; h < 2; h++) {
        LLVMValueRef at[] = { low_i32(l, 2 * h), low_i32(l, 2 * h + 1) };
        LLVMValueRef to = fp4 ? low_i32(l, 2 + h)
                              : LLVMConstInt(l->i1, (unsigned)h, 0);
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
        v = low_intrinsic(l, &call);
    }
    if (fp4)
        v = LLVMBuildLShr(l->b, v, low_i32(l, 16), "");
    low_set(l, i, v);
}

/* ---- vectors ---- */

static LLVMValueRef
insert(struct lower *l, LLVMValueRef to, LLVMValueRef v, unsigned *at)
{
    bool vector = LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
    unsigned n = vector ? LLVMGetVectorSize(LLVMTypeOf(v)) : 1;

    for (unsigned x = 0; x < n; x++) {
        LLVMValueRef e = vector ? LLVMBuildExtractElement(l->b, v,
                                                          low_i32(l, x), "")
                                : v;

        to = LLVMBuildInsertElement(l->b, to, e, low_i32(l, (*at)++), "");
    }
    return to;
}

void
lower_cat(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef v = LLVMGetPoison(result_type(l, i));
    unsigned at = 0;

    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        v = insert(l, v, low_arg(l, i, a, l->i32), &at);
    low_set(l, i, v);
}

void
lower_turn(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef v = low_get(l, i, 0);

    for (int k = 0; k < 2; k++) {
        LLVMValueRef pair = low_intrinsic(l, &(struct low_call){
            "llvm.amdgcn.permlane16.swap", { NULL }, 0,
            { LLVMBuildExtractElement(l->b, v, low_i32(l, k), ""),
              LLVMBuildExtractElement(l->b, v, low_i32(l, k + 2), ""),
              LLVMConstInt(l->i1, 0, 0), LLVMConstInt(l->i1, 0, 0) }, 4 });

        for (unsigned h = 0; h < 2; h++)
            v = LLVMBuildInsertElement(l->b, v,
                    LLVMBuildExtractValue(l->b, pair, h, ""),
                    low_i32(l, k + 2 * (int)h), "");
    }
    low_set(l, i, v);
}

/* The first operand where bit 3 of the lane is `first`, elsewhere the second of
 * the lane 8 away: DPP row_ror:8 into half of the banks of four lanes (CDNA3
 * ISA 13.4). */
void
lower_flip(struct lower *l, const struct kn_ins *i)
{
    enum { ROW_ROR_8 = 0x128, LOW = 3, HIGH = 12 };
    unsigned n = kn_val(l->f, i->dst)->type.n;
    LLVMValueRef x = low_get(l, i, 0), y = low_get(l, i, 1);
    LLVMValueRef all = LLVMGetPoison(LLVMTypeOf(x));

    for (unsigned k = 0; k < n; k++) {
        LLVMValueRef at = low_i32(l, (int)k), one;

        one = low_intrinsic(l, &(struct low_call){
            "llvm.amdgcn.update.dpp", { l->i32 }, 1,
            { n == 1 ? x : LLVMBuildExtractElement(l->b, x, at, ""),
              n == 1 ? y : LLVMBuildExtractElement(l->b, y, at, ""),
              low_i32(l, ROW_ROR_8), low_i32(l, 15),
              low_i32(l, i->attr[KN_A_first] ? LOW : HIGH),
              LLVMConstInt(l->i1, 0, 0) }, 6 });
        all = n == 1 ? one : LLVMBuildInsertElement(l->b, all, one, at, "");
    }
    low_set(l, i, all);
}

void
lower_slice(struct lower *l, const struct kn_ins *i)
{
    struct kn_type t = kn_val(l->f, i->dst)->type;
    LLVMValueRef v = low_get(l, i, 0), all[32];
    int32_t first = i->attr[KN_A_first];

    if (t.n == 1) {
        low_set(l, i, LLVMBuildExtractElement(l->b, v, low_i32(l, first), ""));
        return;
    }
    for (int x = 0; x < t.n; x++)
        all[x] = low_i32(l, first + x);
    low_set(l, i, LLVMBuildShuffleVector(l->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                         LLVMConstVector(all, t.n), ""));
}

/* LLVM's packed arithmetic takes a splat as a register pair of which one half
 * is any register, such as one being loaded, which it then waits for. Where
 * loads wait in registers during a loop, all of a splat is therefore there:
 * opaque. */
void
lower_splat(struct lower *l, const struct kn_ins *i)
{
    struct kn_type t = kn_val(l->f, i->dst)->type;
    LLVMValueRef x = low_arg(l, i, 0, l->elem[t.elem]);
    LLVMValueRef v = LLVMGetPoison(low_type(l, t));

    for (int n = 0; n < t.n; n++)
        v = LLVMBuildInsertElement(l->b, v, x, low_i32(l, n), "");
    if (l->stages && t.elem == KN_T_f32)
        v = low_intrinsic(l, &(struct low_call){
            "llvm.arithmetic.fence", { LLVMTypeOf(v) }, 1, { v }, 1 });
    low_set(l, i, v);
}

/* ---- ids ---- */

static LLVMValueRef
id(struct lower *l, const char *name)
{
    return low_intrinsic(l, &(struct low_call){ name, { NULL }, 0, { NULL }, 0 });
}

void
lower_wg(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, id(l, "llvm.amdgcn.workgroup.id.x"));
}

LLVMValueRef
low_wave(struct lower *l)
{
    LLVMValueRef w = LLVMBuildLShr(l->b, id(l, "llvm.amdgcn.workitem.id.x"),
                                   low_i32(l, 6), "");

    return first_lane(l, w);
}

void
lower_wave(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, low_wave(l));
}

/* By way of the wave number, which LLVM cannot hoist out of a loop; the mask
 * tells it the range. */
void
lower_lane(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef first = LLVMBuildShl(l->b, low_wave(l), low_i32(l, 6), "");
    LLVMValueRef v = LLVMBuildSub(l->b, id(l, "llvm.amdgcn.workitem.id.x"),
                                  first, "");

    low_set(l, i, LLVMBuildAnd(l->b, v, low_i32(l, 63), ""));
}

/* The sum over two lanes of a row, of the first operand where bit `first` of
 * the lane is 0, else of the second: DPP quad_perm 1,0,3,2 and 2,3,0,1,
 * row_half_mirror, row_mirror (CDNA3 ISA 13.4). The mirrors swap lower bits
 * too, so higher bits come first. */
void
lower_fold(struct lower *l, const struct kn_ins *i)
{
    static const uint32_t ctrl[] = { 0xb1, 0x4e, 0x141, 0x140 };
    bool ints = kn_val(l->f, i->dst)->type.elem == KN_T_i32;
    LLVMTypeRef t = ints ? l->i32 : l->f32;
    LLVMValueRef x = low_arg(l, i, 0, t), y = low_arg(l, i, 1, t), moved;
    int32_t bit = i->attr[KN_A_first];

    if (i->arg[0] != i->arg[1]) {
        LLVMValueRef lane = id(l, "llvm.amdgcn.workitem.id.x");
        LLVMValueRef low = LLVMBuildAnd(l->b, lane, low_i32(l, 1 << bit), "");
        LLVMValueRef set = LLVMBuildICmp(l->b, LLVMIntNE, low, low_i32(l, 0), "");
        LLVMValueRef mine = LLVMBuildSelect(l->b, set, y, x, "");
        y = LLVMBuildSelect(l->b, set, x, y, "");
        x = mine;
    }
    moved = low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.update.dpp", { l->i32 }, 1,
        { low_i32(l, 0), LLVMBuildBitCast(l->b, y, l->i32, ""),
          low_i32(l, ctrl[bit]), low_i32(l, 15), low_i32(l, 15),
          LLVMConstInt(l->i1, 1, 0) }, 6 });
    moved = LLVMBuildBitCast(l->b, moved, t, "");
    low_set(l, i, ints ? LLVMBuildAdd(l->b, x, moved, "")
                       : LLVMBuildFAdd(l->b, x, moved, ""));
}

/* ---- control flow ---- */

LLVMBasicBlockRef
low_block(struct lower *l, const char *name)
{
    return LLVMAppendBasicBlockInContext(l->ctx, l->fn, name);
}

void
lower_loop(struct lower *l, const struct kn_ins *i)
{
    LLVMBasicBlockRef head = low_block(l, "loop");

    (void)i;
    LLVMBuildBr(l->b, head);
    LLVMPositionBuilderAtEnd(l->b, head);
    l->open[l->nopen].head = head;
    l->open[l->nopen].next = NULL;
    l->open[l->nopen++].end = l->loop_exit[l->nloops++] = low_block(l, "exit");
}

void
lower_break(struct lower *l, const struct kn_ins *i)
{
    LLVMBasicBlockRef next = low_block(l, "next");

    LLVMBuildCondBr(l->b, low_arg(l, i, 0, l->i1),
                    l->loop_exit[l->nloops - 1], next);
    LLVMPositionBuilderAtEnd(l->b, next);
}

void
lower_if(struct lower *l, const struct kn_ins *i)
{
    LLVMBasicBlockRef then = low_block(l, "then");

    l->open[l->nopen].head = NULL;
    l->open[l->nopen].next = low_block(l, "else");
    l->open[l->nopen].end = NULL;
    LLVMBuildCondBr(l->b, low_arg(l, i, 0, l->i1), then,
                    l->open[l->nopen++].next);
    LLVMPositionBuilderAtEnd(l->b, then);
}

void
lower_else(struct lower *l, const struct kn_ins *i)
{
    LLVMBasicBlockRef other = l->open[l->nopen - 1].next;

    (void)i;
    l->open[l->nopen - 1].end = low_block(l, "endif");
    l->open[l->nopen - 1].next = NULL;
    LLVMBuildBr(l->b, l->open[l->nopen - 1].end);
    LLVMPositionBuilderAtEnd(l->b, other);
}

void
lower_end(struct lower *l, const struct kn_ins *i)
{
    int n = --l->nopen;

    (void)i;
    if (l->open[n].head) {
        LLVMBuildBr(l->b, l->open[n].head);
        l->nloops--;
    } else {
        if (!l->open[n].end)
            l->open[n].end = l->open[n].next;
        LLVMBuildBr(l->b, l->open[n].end);
    }
    LLVMPositionBuilderAtEnd(l->b, l->open[n].end);
}

void
lower_stop(struct lower *l, const struct kn_ins *i)
{
    (void)i;
    LLVMBuildRetVoid(l->b);
    LLVMPositionBuilderAtEnd(l->b, low_block(l, "unreached"));
}
