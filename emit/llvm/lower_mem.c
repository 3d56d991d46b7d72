/* lower_mem.c - memory, matrix and ordering operations. */
#include "lower.h"

#include <string.h>

/* Word 3 of a raw buffer resource (CDNA3 ISA 9.1.8: 32-bit data format). */
enum { SRD_WORD3 = 0x00020000 };

/* Cache policy bits of the buffer intrinsics on gfx942/gfx950 (LLVM
 * AMDGPUUsage): 1 sc0, 2 nt, 16 sc1. */
static LLVMValueRef
policy(struct lower *l, const struct kn_ins *i)
{
    return low_i32(l, (i->attr[KN_A_nt] ? 2 : 0) | (i->attr[KN_A_coh] ? 16 : 0));
}

/* The integer type of `bits` bits a load or store moves. */
static LLVMTypeRef
wire_type(struct lower *l, unsigned bits)
{
    return bits == 8 ? l->i8 : bits == 16 ? l->i16 : bits == 32 ? l->i32
         : LLVMVectorType(l->i32, bits / 32);
}

static unsigned
value_bits(const struct lower *l, kn_ref r)
{
    const struct kn_type *t = &kn_val(l->f, r)->type;

    return kn_elems[t->elem].bits * t->n;
}

/* Bits in memory: a narrow integer element is widened in the register. */
static unsigned
memory_bits(const struct lower *l, const struct kn_ins *i, kn_ref r)
{
    int32_t e = i->attr[KN_A_elem];

    if (kn_val(l->f, r)->type.elem == KN_T_i32 && (e == KN_T_i8 || e == KN_T_i16))
        return kn_elems[e].bits;
    return value_bits(l, r);
}

static void
set_loaded(struct lower *l, const struct kn_ins *i, LLVMValueRef v)
{
    if (memory_bits(l, i, i->dst) < value_bits(l, i->dst))
        v = LLVMBuildZExt(l->b, v, l->i32, "");
    low_set(l, i, v);
}

static LLVMValueRef
stored_value(struct lower *l, const struct kn_ins *i, int a)
{
    unsigned bits = memory_bits(l, i, i->arg[a]);
    LLVMValueRef v = low_get(l, i, a);

    if (bits < value_bits(l, i->arg[a]))
        return LLVMBuildTrunc(l->b, v, wire_type(l, bits), "");
    return LLVMBuildBitCast(l->b, v, wire_type(l, bits), "");
}

static LLVMValueRef
offset(struct lower *l, const struct kn_ins *i, int a)
{
    LLVMValueRef v = low_arg(l, i, a, l->i32);

    if (!i->attr[KN_A_offset])
        return v;
    return LLVMBuildNUWAdd(l->b, v, low_i32(l, i->attr[KN_A_offset]), "");
}

/* The kernarg segment's address by way of readfirstlane, which LLVM cannot
 * hoist: loads from it stay in their loop. */
static LLVMValueRef
kernarg_pointer(struct lower *l)
{
    LLVMTypeRef p4 = LLVMPointerTypeInContext(l->ctx, 4);
    LLVMValueRef p = low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.kernarg.segment.ptr", { NULL }, 0, { NULL }, 0 });

    p = LLVMBuildPtrToInt(l->b, p, l->i64, "");
    p = low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.readfirstlane", { l->i64 }, 1, { p }, 1 });
    return LLVMBuildIntToPtr(l->b, p, p4, "");
}

void
lower_args(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef base = kernarg_pointer(l);
    uint32_t at = 0;

    (void)i;
    for (size_t n = 1; n < l->f->nval; n++) {
        uint32_t size = kn_elems[l->f->val[n].type.elem].bits / 8;
        LLVMValueRef off, p;

        if (!l->f->val[n].arg)
            continue;
        at = (at + size - 1) / size * size;
        off = low_i32(l, at);
        p = LLVMBuildInBoundsGEP2(l->b, l->i8, base, &off, 1, "");
        l->val[n] = LLVMBuildLoad2(l->b, low_type(l, l->f->val[n].type), p, "");
        LLVMSetMetadata(l->val[n], l->kind_invariant,
                        LLVMMetadataAsValue(l->ctx, LLVMMDNodeInContext2(
                            l->ctx, NULL, 0)));
        at += size;
    }
}

/* An empty statement that takes every argument in scalar registers: LLVM, which
 * loads each as late as it can, loads them together before it; those nobody
 * reads too, which lie between. */
void
lower_ready(struct lower *l, const struct kn_ins *i)
{
    const struct kn_fn *f = l->f;
    LLVMValueRef *v = KN_NEW(l->c, LLVMValueRef, f->nval);
    LLVMTypeRef *t = KN_NEW(l->c, LLVMTypeRef, f->nval), type;
    struct kn_buf s = { .c = l->c };
    unsigned n = 0;

    (void)i;
    for (size_t x = 1; x < f->nval; x++) {
        if (!f->val[x].arg)
            continue;
        v[n] = l->val[x];
        t[n] = LLVMTypeOf(v[n]);
        kn_put(&s, n++ ? ",s" : "s");
    }
    type = LLVMFunctionType(l->nothing, t, n, 0);
    LLVMBuildCall2(l->b, type, LLVMGetInlineAsm(type, "", 0, s.s, s.n, 1, 0,
                                                LLVMInlineAsmDialectATT, 0),
                   v, n, "");
}

void
lower_padd(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef at = low_arg(l, i, 1, l->i64);

    low_set(l, i, LLVMBuildGEP2(l->b, l->i8, low_arg(l, i, 0, l->p1), &at, 1,
                                ""));
}

void
lower_addr(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, LLVMBuildPtrToInt(l->b, low_arg(l, i, 0, l->p1), l->i64, ""));
}

void
lower_rsrc(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef base = LLVMBuildIntToPtr(l->b, low_arg(l, i, 0, l->i64),
                                          l->p1, "");
    LLVMValueRef n = LLVMBuildZExt(l->b, low_arg(l, i, 1, l->i32), l->i64, "");

    low_set(l, i, low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.make.buffer.rsrc", { l->p8, l->p1 }, 2,
        { base, LLVMConstInt(l->i16, 0, 0), n, low_i32(l, SRD_WORD3) }, 4 }));
}

void
lower_ldg(struct lower *l, const struct kn_ins *i)
{
    LLVMTypeRef t = wire_type(l, memory_bits(l, i, i->dst));

    set_loaded(l, i, low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.raw.ptr.buffer.load", { t }, 1,
        { low_arg(l, i, 0, l->p8), offset(l, i, 1), low_i32(l, 0),
          policy(l, i) }, 4 }));
}

void
lower_stg(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef v = stored_value(l, i, 2);

    low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.raw.ptr.buffer.store", { LLVMTypeOf(v) }, 1,
        { v, low_arg(l, i, 0, l->p8), offset(l, i, 1), low_i32(l, 0),
          policy(l, i) }, 5 });
}

/* Where no buffer atomic adds bf16: the lanes within the buffer, by its address,
 * which the resource's first words are. */
static void
masked_atomic(struct lower *l, const struct kn_ins *i, LLVMValueRef v)
{
    LLVMTypeRef words = LLVMIntTypeInContext(l->ctx, 128);
    LLVMValueRef r = LLVMBuildPtrToInt(l->b, low_arg(l, i, 0, l->p8), words, "");
    LLVMValueRef n = LLVMBuildTrunc(l->b, LLVMBuildLShr(
        l->b, r, LLVMConstInt(words, 64, 0), ""), l->i32, "");
    LLVMValueRef at = offset(l, i, 1), base, add;
    LLVMBasicBlockRef in = low_block(l, "inside"), on = low_block(l, "on");

    base = LLVMBuildIntToPtr(l->b, LLVMBuildTrunc(l->b, r, l->i64, ""), l->p1,
                             "");
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntULT, at, n, ""), in, on);
    LLVMPositionBuilderAtEnd(l->b, in);
    at = LLVMBuildZExt(l->b, at, l->i64, "");
    add = LLVMBuildAtomicRMW(l->b, LLVMAtomicRMWBinOpFAdd, LLVMBuildGEP2(
        l->b, l->i8, base, &at, 1, ""), v, LLVMAtomicOrderingMonotonic, 0);
    LLVMSetAtomicSyncScopeID(add, LLVMGetSyncScopeID(l->ctx, "agent", 5));
    LLVMSetMetadata(add, LLVMGetMDKindIDInContext(
        l->ctx, "amdgpu.no.fine.grained.memory", 29), LLVMMetadataAsValue(
        l->ctx, LLVMMDNodeInContext2(l->ctx, NULL, 0)));
    LLVMBuildBr(l->b, on);
    LLVMPositionBuilderAtEnd(l->b, on);
}

void
lower_atom(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef v = low_arg(l, i, 2, l->i32);

    if (i->attr[KN_A_elem] == KN_T_bf16 && !kn_targets[l->f->target].atomic_bf16) {
        masked_atomic(l, i, v);
        return;
    }
    low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.raw.ptr.buffer.atomic.fadd", { LLVMTypeOf(v) }, 1,
        { v, low_arg(l, i, 0, l->p8), offset(l, i, 1), low_i32(l, 0),
          low_i32(l, 0) }, 5 });
}

void
lower_atmax(struct lower *l, const struct kn_ins *i)
{
    LLVMTypeRef t = l->elem[i->attr[KN_A_elem]];

    low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.raw.ptr.buffer.atomic.umax", { t }, 1,
        { low_arg(l, i, 2, t), low_arg(l, i, 0, l->p8), offset(l, i, 1),
          low_i32(l, 0), low_i32(l, 0) }, 5 });
}

/* An agent-scope increment that wraps to zero: LLVM gives it no scope bits
 * (AMDGPUUsage, memory model gfx942), for atomics always reach the point where
 * the dies' caches agree. */
void
lower_arrive(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef most = low_arg(l, i, 2, l->i32);

    low_set(l, i, low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.raw.ptr.buffer.atomic.inc", { l->i32 }, 1,
        { most, low_arg(l, i, 0, l->p8), offset(l, i, 1), low_i32(l, 0),
          low_i32(l, 0) }, 5 }));
}

static LLVMValueRef
lds_pointer(struct lower *l, kn_ref slot, LLVMValueRef at, int32_t off)
{
    LLVMValueRef p = LLVMBuildInBoundsGEP2(l->b, l->i8, low_slot(l, slot), &at,
                                           1, "");
    LLVMValueRef k = low_i32(l, off);

    return off ? LLVMBuildInBoundsGEP2(l->b, l->i8, p, &k, 1, "") : p;
}

void
lower_dma(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef to = lds_pointer(l, i->arg[0], low_arg(l, i, 1, l->i32), 0);
    LLVMValueRef call = low_intrinsic(l, &(struct low_call){
        "llvm.amdgcn.raw.ptr.buffer.load.lds", { NULL }, 0,
        { low_arg(l, i, 2, l->p8), to, low_i32(l, i->attr[KN_A_bytes]),
          low_arg(l, i, 3, l->i32), low_i32(l, 0), low_i32(l, 0),
          policy(l, i) }, 7 });

    low_alias(l, call, i->arg[0]);
}

static LLVMValueRef
transposing_read(struct lower *l, const struct kn_ins *i, LLVMValueRef p)
{
    bool wide = i->attr[KN_A_tr] == 16;

    return low_intrinsic(l, &(struct low_call){
        wide ? "llvm.amdgcn.ds.read.tr16.b64" : "llvm.amdgcn.ds.read.tr8.b64",
        { wide ? LLVMVectorType(l->i16, 4) : LLVMVectorType(l->i32, 2) }, 1,
        { p }, 1 });
}

void
lower_lds_ld(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef p = lds_pointer(l, i->arg[0], low_arg(l, i, 1, l->i32),
                                 i->attr[KN_A_offset]);
    unsigned bits = memory_bits(l, i, i->dst);
    LLVMValueRef v;

    if (i->attr[KN_A_tr]) {
        v = transposing_read(l, i, p);
    } else {
        v = LLVMBuildLoad2(l->b, wire_type(l, bits), p, "");
        LLVMSetAlignment(v, bits == 96 ? 4 : bits / 8);
    }
    low_alias(l, v, i->arg[0]);
    set_loaded(l, i, v);
}

void
lower_lds_st(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef p = lds_pointer(l, i->arg[0], low_arg(l, i, 1, l->i32),
                                 i->attr[KN_A_offset]);
    LLVMValueRef v = LLVMBuildStore(l->b, stored_value(l, i, 2), p);

    LLVMSetAlignment(v, memory_bits(l, i, i->arg[2]) / 8);
    low_alias(l, v, i->arg[0]);
}

void
lower_ldu(struct lower *l, const struct kn_ins *i)
{
    LLVMValueRef at = low_arg(l, i, 1, l->i32);
    LLVMTypeRef t = low_type(l, kn_val(l->f, i->dst)->type);
    LLVMValueRef p = LLVMBuildGEP2(l->b, l->i8, low_arg(l, i, 0, l->p1), &at, 1,
                                   "");
    LLVMValueRef v = LLVMBuildLoad2(l->b, t, p, "");

    LLVMSetAlignment(v, value_bits(l, i->dst) / 8);
    LLVMSetMetadata(v, l->kind_invariant, LLVMMetadataAsValue(l->ctx,
                    LLVMMDNodeInContext2(l->ctx, NULL, 0)));
    low_set(l, i, v);
}

/* ---- matrix ---- */

static LLVMValueRef
mx(struct lower *l, const struct kn_ins *i, LLVMValueRef sa, LLVMValueRef sb)
{
    LLVMValueRef a = low_get(l, i, 0), b = low_get(l, i, 1);

    return low_intrinsic(l, &(struct low_call){
        kn_mfmas[i->attr[KN_A_shape]].intrinsic,
        { LLVMTypeOf(a), LLVMTypeOf(b) }, 2,
        { a, b, low_get(l, i, 2), low_i32(l, kn_elems[i->attr[KN_A_ta]].mx),
          low_i32(l, kn_elems[i->attr[KN_A_tb]].mx),
          low_i32(l, i->attr[KN_A_sela]), sa, low_i32(l, i->attr[KN_A_selb]),
          sb }, 9 });
}

void
lower_mfma(struct lower *l, const struct kn_ins *i)
{
    const struct kn_mfma_info *m = &kn_mfmas[i->attr[KN_A_shape]];

    if (m->a == KN_T_b1) {   /* scales of zero select the unscaled form */
        low_set(l, i, mx(l, i, low_i32(l, 0), low_i32(l, 0)));
        return;
    }
    low_set(l, i, low_intrinsic(l, &(struct low_call){
        m->intrinsic, { NULL }, 0,
        { low_get(l, i, 0), low_get(l, i, 1), low_get(l, i, 2), low_i32(l, 0),
          low_i32(l, 0), low_i32(l, 0) }, 6 }));
}

void
lower_mfmas(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, mx(l, i, low_arg(l, i, 3, l->i32), low_arg(l, i, 4, l->i32)));
}

/* ---- order ---- */

static void
call_imm(struct lower *l, const char *name, LLVMTypeRef t, uint64_t imm)
{
    low_intrinsic(l, &(struct low_call){ name, { NULL }, 0,
                                         { LLVMConstInt(t, imm, 0) }, 1 });
}

/* s_waitcnt of gfx9: vmcnt [3:0] and [15:14], expcnt [6:4], lgkmcnt [11:8]. */
void
lower_fence(struct lower *l, const struct kn_ins *i)
{
    uint32_t vm = (uint32_t)i->attr[KN_A_vm], lgkm = (uint32_t)i->attr[KN_A_lgkm];

    if (vm == 63 && lgkm == 15)
        return;
    call_imm(l, "llvm.amdgcn.s.waitcnt", l->i32,
             (vm & 15) | 7u << 4 | lgkm << 8 | (vm >> 4) << 14);
}

/* s_barrier itself orders nothing for LLVM: the single-thread fences keep
 * memory operations on their side and emit no instruction. */
static void
meet(struct lower *l)
{
    low_intrinsic(l, &(struct low_call){ "llvm.amdgcn.s.barrier", { NULL }, 0,
                                         { NULL }, 0 });
}

void
lower_barrier(struct lower *l, const struct kn_ins *i)
{
    (void)i;
    LLVMBuildFence(l->b, LLVMAtomicOrderingRelease, 1, "");
    meet(l);
    LLVMBuildFence(l->b, LLVMAtomicOrderingAcquire, 1, "");
}

/* A barrier of the waves for which `wave predicate waves / 2`: a scalar branch
 * around it for the others. */
static void
meet_half(struct lower *l, LLVMIntPredicate predicate)
{
    LLVMBasicBlockRef half = low_block(l, "half"), all = low_block(l, "all");
    LLVMValueRef c = LLVMBuildICmp(l->b, predicate, low_wave(l),
                                   low_i32(l, kn_waves(l->f) / 2), "");

    LLVMBuildFence(l->b, LLVMAtomicOrderingRelease, 1, "");
    LLVMBuildCondBr(l->b, c, half, all);
    LLVMPositionBuilderAtEnd(l->b, half);
    meet(l);
    LLVMBuildBr(l->b, all);
    LLVMPositionBuilderAtEnd(l->b, all);
    LLVMBuildFence(l->b, LLVMAtomicOrderingAcquire, 1, "");
}

void
lower_stagger(struct lower *l, const struct kn_ins *i)
{
    (void)i;
    meet_half(l, LLVMIntUGE);
}

void
lower_rejoin(struct lower *l, const struct kn_ins *i)
{
    (void)i;
    meet_half(l, LLVMIntULT);
}

void
lower_prio(struct lower *l, const struct kn_ins *i)
{
    call_imm(l, "llvm.amdgcn.s.setprio", l->i16, (uint64_t)i->attr[KN_A_prio]);
}

/* sched.barrier holds machine instructions; the fence holds LLVM IR, which
 * would sink a load past a branch on whose other side it is unused. An empty
 * statement that may write memory holds loads alone, past a branch too. */
void
lower_sched(struct lower *l, const struct kn_ins *i)
{
    LLVMTypeRef none = LLVMFunctionType(l->nothing, NULL, 0, 0);

    LLVMBuildFence(l->b, LLVMAtomicOrderingAcquireRelease, 1, "");
    if (i && i->attr[KN_A_going])
        LLVMBuildCall2(l->b, none, LLVMGetInlineAsm(none, "", 0, "~{memory}", 9, 1, 0,
                                                    LLVMInlineAsmDialectATT, 0), NULL, 0, "");
    else
        call_imm(l, "llvm.amdgcn.sched.barrier", l->i32, 0);
}

/* 24 wait states, that nothing behind them goes before; the longest that a
 * result takes is 20 (kn_mfma_waits). */
void
low_settle(struct lower *l)
{
    for (int n = 0; n < 3; n++)
        call_imm(l, "llvm.amdgcn.s.nop", l->i16, 7);
    lower_sched(l, NULL);
}

/* llvm.fake.use emits no instruction. Without a use on the path that leaves
 * the loop, LLVM sinks the loads of the next tile past its exit branch. */
void
lower_used(struct lower *l, const struct kn_ins *i)
{
    LLVMTypeRef t = LLVMFunctionType(l->nothing, NULL, 0, 1);
    LLVMValueRef fn = LLVMGetNamedFunction(l->mod, "llvm.fake.use");
    LLVMValueRef v = low_get(l, i, 0);

    if (!fn)
        fn = LLVMAddFunction(l->mod, "llvm.fake.use", t);
    LLVMBuildCall2(l->b, t, fn, &v, 1, "");
}

/* An empty assembly statement assigns the register anew behind the fence:
 * arithmetic on what was loaded, which LLVM moves as it likes, with waits of
 * its own, stays behind it. */
static LLVMValueRef
anew(struct lower *l, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v), ft = LLVMFunctionType(t, &t, 1, 0);
    LLVMValueRef here = LLVMGetInlineAsm(ft, "", 0, "=v,0", 4, 1, 0,
                                         LLVMInlineAsmDialectATT, 0);

    return LLVMBuildCall2(l->b, ft, here, &v, 1, "");
}

/* A number has scalar registers else, of which there are few. */
void
lower_held(struct lower *l, const struct kn_ins *i)
{
    low_set(l, i, anew(l, low_get(l, i, 0)));
}

void
lower_landed(struct lower *l, const struct kn_ins *i)
{
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++) {
        uint32_t n = KN_REF_INDEX(i->arg[a]);
        LLVMTypeRef t = low_type(l, l->f->val[n].type);

        LLVMBuildStore(l->b, anew(l, LLVMBuildLoad2(l->b, t, l->val[n], "")),
                       l->val[n]);
    }
}
