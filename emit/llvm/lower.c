/* lower.c - values, types, intrinsics and LDS globals of one module, and its
 * control flow. */
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

void
low_lacks(struct lower *l, const char *what, const char *name)
{
    char version[32];

    kn_llvm_version(version, sizeof version);
    kn_fail(l->c, KILN_INTERNAL, "LLVM %s has no %s '%s' as kiln knows it",
            version, what, name);
    longjmp(*l->c->oom, 1);
}

LLVMValueRef
low_intrinsic(struct lower *l, const struct low_call *k)
{
    unsigned id = LLVMLookupIntrinsicID(k->name, strlen(k->name));
    LLVMTypeRef ft, pt[12];
    LLVMValueRef arg[12], fn;
    size_t len = 0;

    /* The look-up accepts a prefix of an overloaded name. */
    if (!id || strcmp(LLVMIntrinsicGetName(id, &len), k->name))
        low_lacks(l, "intrinsic", k->name);
    fn = LLVMGetIntrinsicDeclaration(l->mod, id, (LLVMTypeRef *)k->ov, k->nov);
    ft = LLVMIntrinsicGetType(l->ctx, id, (LLVMTypeRef *)k->ov, k->nov);
    if (LLVMCountParamTypes(ft) != k->narg)
        low_lacks(l, "intrinsic", k->name);
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

LLVMTypeRef
low_result(struct lower *l, const struct kn_ins *i)
{
    return low_type(l, kn_val(l->f, i->dst)->type);
}

LLVMValueRef
low_first_lane(struct lower *l, LLVMValueRef v)
{
    return low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.readfirstlane", { LLVMTypeOf(v) }, 1, { v }, 1 });
}

LLVMValueRef
low_id(struct lower *l, const char *name)
{
    return low_intrinsic(l, &(struct low_call){ name, { NULL }, 0, { NULL }, 0 });
}

LLVMValueRef
low_wave(struct lower *l)
{
    LLVMValueRef w = LLVMBuildLShr(l->b, low_id(l, "llvm.amdgcn.workitem.id.x"),
                                   low_i32(l, 6), "");

    return low_first_lane(l, w);
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

/* LLVM moves what hardly ever runs out of the way of what does. */
static void
weigh(struct lower *l, LLVMValueRef branch, int32_t likely)
{
    const unsigned often = 2000;
    LLVMValueRef weight[2] = { LLVMConstInt(l->i32, likely == 1 ? often : 1, 0),
                               LLVMConstInt(l->i32, likely == 1 ? 1 : often, 0) };
    LLVMMetadataRef node[3] = { LLVMMDStringInContext2(l->ctx, "branch_weights", 14),
                                LLVMValueAsMetadata(weight[0]),
                                LLVMValueAsMetadata(weight[1]) };

    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(l->ctx, "prof", 4),
                    LLVMMetadataAsValue(l->ctx, LLVMMDNodeInContext2(l->ctx, node, 3)));
}

void
lower_if(struct lower *l, const struct kn_ins *i)
{
    LLVMBasicBlockRef then = low_block(l, "then");
    LLVMValueRef branch;

    l->open[l->nopen].head = NULL;
    l->open[l->nopen].next = low_block(l, "else");
    l->open[l->nopen].end = NULL;
    branch = LLVMBuildCondBr(l->b, low_arg(l, i, 0, l->i1), then,
                             l->open[l->nopen++].next);
    if (i->attr[KN_A_likely])
        weigh(l, branch, i->attr[KN_A_likely]);
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
    if (l->open[n].head && l->settled)
        low_settle(l);
}

void
lower_stop(struct lower *l, const struct kn_ins *i)
{
    (void)i;
    LLVMBuildRetVoid(l->b);
    LLVMPositionBuilderAtEnd(l->b, low_block(l, "unreached"));
}
