/* lower_alu.c - arithmetic, comparisons and selection. */
#include "lower.h"

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
BINARY(fdiv, FDiv)
BINARY(band, And)

/* Division is done in vector registers even for uniform operands. Unless its
 * result is moved back, everything computed from it stays there, up to buffer
 * resources, which then cost a loop over lanes at every access. */
static void
divide(struct lower *l, const struct kn_ins *i, binary_fn *fn)
{
    LLVMValueRef v = fn(l->b, low_get(l, i, 0), low_get(l, i, 1), "");

    if (!kn_val(l->f, i->dst)->type.lane)
        v = low_first_lane(l, v);
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

/* v_rsq_f64 has 2^29 ulp (CDNA3 ISA 12.8): of f64 the root and a quotient, which
 * LLVM refines from it and from v_rcp_f64, each rounded. */
void
lower_rsq(struct lower *l, const struct kn_ins *i)
{
    LLVMTypeRef t = low_result(l, i);
    LLVMValueRef root;

    if (kn_val(l->f, i->dst)->type.elem != KN_T_f64) {
        elementwise(l, i, "llvm.amdgcn.rsq");
        return;
    }
    root = low_intrinsic(l, &(struct low_call){ "llvm.sqrt", { t }, 1,
                                                { low_get(l, i, 0) }, 1 });
    low_set(l, i, LLVMBuildFDiv(l->b, LLVMConstReal(t, 1), root, ""));
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

/* x, but y where it is `beyond` that; a NaN stays one. */
static void
bounded(struct lower *l, const struct kn_ins *i, LLVMValueRef y, LLVMRealPredicate beyond)
{
    LLVMValueRef x = low_get(l, i, 0);

    if (kn_targets[l->f->target].maximum3 &&
        kn_val(l->f, i->dst)->type.elem == KN_T_f32)
        x = low_intrinsic(l, &(struct low_call){
            beyond == LLVMRealOLT ? "llvm.maximum" : "llvm.minimum",
            { LLVMTypeOf(x) }, 1, { x, y }, 2 });
    else
        x = LLVMBuildSelect(l->b, LLVMBuildFCmp(l->b, beyond, x, y, ""), y, x, "");
    low_set(l, i, x);
}

void
lower_fpos(struct lower *l, const struct kn_ins *i)
{
    bounded(l, i, LLVMConstNull(low_result(l, i)), LLVMRealOLT);
}

void
lower_minimum(struct lower *l, const struct kn_ins *i)
{
    bounded(l, i, low_get(l, i, 1), LLVMRealOGT);
}

void
lower_maximum(struct lower *l, const struct kn_ins *i)
{
    bounded(l, i, low_get(l, i, 1), LLVMRealOLT);
}

void
lower_fsel(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef above = LLVMBuildFCmp(l->b, LLVMRealOGT, low_get(l, i, 0),
                                       low_get(l, i, 1), "");

    low_set(l, i, LLVMBuildSelect(l->b, above, low_get(l, i, 2),
                                  low_get(l, i, 3), ""));
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

void
lower_fma(struct lower *l, const struct kn_ins *i)
{
    LLVMTypeRef t = low_result(l, i);

    low_set(l, i, low_intrinsic(l, &(struct low_call){
        "llvm.fma", { t }, 1,
        { low_get(l, i, 0), low_get(l, i, 1), low_get(l, i, 2) }, 3 }));
}

void
lower_ldexp(struct lower *l, const struct kn_ins *i)
{
    LLVMTypeRef t = low_result(l, i);

    low_set(l, i, low_intrinsic(l, &(struct low_call){
        "llvm.ldexp", { t, l->i32 }, 2,
        { low_arg(l, i, 0, t), low_arg(l, i, 1, l->i32) }, 2 }));
}

void
lower_perm(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.perm", { NULL }, 0,
        { low_get(l, i, 0), low_get(l, i, 1), low_get(l, i, 2) }, 3 }));
}

void
lower_lerp(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.lerp", { NULL }, 0,
        { low_arg(l, i, 0, l->i32), low_arg(l, i, 1, l->i32),
          low_arg(l, i, 2, l->i32) }, 3 }));
}

void
lower_bfi(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef mask = low_arg(l, i, 0, l->i32), x = low_arg(l, i, 1, l->i32),
                 y = low_arg(l, i, 2, l->i32);

    x = LLVMBuildAnd(l->b, x, mask, "");
    y = LLVMBuildAnd(l->b, y, LLVMBuildNot(l->b, mask, ""), "");
    low_set(l, i, LLVMBuildOr(l->b, x, y, ""));
}

void
lower_dot4(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.sdot4", { NULL }, 0,
        { low_arg(l, i, 0, l->i32), low_arg(l, i, 1, l->i32),
          low_arg(l, i, 2, l->i32), LLVMConstInt(l->i1, 0, 0) }, 4 }));
}
