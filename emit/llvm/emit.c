/* emit.c - one kernel to one object: the LLVM module around the lowered
 * operations, the pipeline, the diagnostics.
 *
 * LLVM reports errors to the context's handler and still returns success, so
 * the handler's first error decides. It runs under LLVM's frames: it only
 * writes a fixed buffer. */
#include "../emit.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <string.h>

#include "../../ir/lock.h"
#include "../isa/isa.h"
#include "lower.h"

#define TRIPLE "amdgcn-amd-amdhsa"

struct diagnosis {
    bool failed;
    char text[200];
};

static void
on_diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
    struct diagnosis *d = user;
    char *text;

    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || d->failed)
        return;
    text = LLVMGetDiagInfoDescription(info);
    snprintf(d->text, sizeof d->text, "%s", text);
    d->failed = true;
    LLVMDisposeMessage(text);
}

/* Level Aggressive makes the same loops and spends a twentieth more, on two
 * runs of GVN in place of EarlyCSE. */
static LLVMTargetMachineRef
new_machine(kiln_target t)
{
    LLVMTargetRef target;
    char *err = NULL;

    kn_llvm_init();
    if (LLVMGetTargetFromTriple(TRIPLE, &target, &err)) {
        LLVMDisposeMessage(err);
        return NULL;
    }
    return LLVMCreateTargetMachine(target, TRIPLE, kiln_target_name(t), "",
                                   LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                   LLVMCodeModelDefault);
}

/* ---- the module around the kernel ---- */

static void
init_types(struct lower *l)
{
    l->i1 = LLVMInt1TypeInContext(l->ctx);
    l->i8 = LLVMInt8TypeInContext(l->ctx);
    l->i16 = LLVMInt16TypeInContext(l->ctx);
    l->i32 = LLVMInt32TypeInContext(l->ctx);
    l->i64 = LLVMInt64TypeInContext(l->ctx);
    l->f32 = LLVMFloatTypeInContext(l->ctx);
    l->p1 = LLVMPointerTypeInContext(l->ctx, 1);
    l->p3 = LLVMPointerTypeInContext(l->ctx, 3);
    l->p5 = LLVMPointerTypeInContext(l->ctx, 5);
    l->p8 = LLVMPointerTypeInContext(l->ctx, 8);
    l->nothing = LLVMVoidTypeInContext(l->ctx);
    l->elem[KN_T_b1] = l->i1;
    l->elem[KN_T_i8] = l->i8;
    l->elem[KN_T_i16] = l->i16;
    l->elem[KN_T_i32] = l->i32;
    l->elem[KN_T_i64] = l->i64;
    l->elem[KN_T_f32] = l->f32;
    l->elem[KN_T_f64] = LLVMDoubleTypeInContext(l->ctx);
    l->elem[KN_T_f16] = LLVMHalfTypeInContext(l->ctx);
    l->elem[KN_T_bf16] = LLVMBFloatTypeInContext(l->ctx);
    l->elem[KN_T_ptr] = l->p1;
    l->elem[KN_T_rsrc] = l->p8;
    l->kind_scope = LLVMGetMDKindIDInContext(l->ctx, "alias.scope", 11);
    l->kind_noalias = LLVMGetMDKindIDInContext(l->ctx, "noalias", 7);
    l->kind_invariant = LLVMGetMDKindIDInContext(l->ctx, "invariant.load", 14);
}

static void
string_attr(struct lower *l, const char *key, const char *value)
{
    LLVMAddAttributeAtIndex(l->fn, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(l->ctx, key, (unsigned)strlen(key), value,
                                  (unsigned)strlen(value)));
}

static void
enum_attr(struct lower *l, unsigned index, const char *key, uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(key, strlen(key));

    if (!kind)
        low_lacks(l, "attribute", key);
    LLVMAddAttributeAtIndex(l->fn, index,
                            LLVMCreateEnumAttribute(l->ctx, kind, value));
}

/* Nothing hidden is read: no implicit arguments, no queue, no dispatch id. */
static const char *const absent[] = {
    "amdgpu-no-dispatch-ptr", "amdgpu-no-queue-ptr",
    "amdgpu-no-implicitarg-ptr", "amdgpu-no-dispatch-id",
    "amdgpu-no-cluster-id-x", "amdgpu-no-workitem-id-y",
    "amdgpu-no-workitem-id-z", "amdgpu-no-lds-kernel-id",
    "amdgpu-no-hostcall-ptr", "amdgpu-no-heap-ptr",
    "amdgpu-no-multigrid-sync-arg", "amdgpu-no-default-queue",
    "amdgpu-no-completion-action", "amdgpu-no-flat-scratch-init",
};

/* Unless the kernel asks for its place along y or z. */
static const char *const along[][2] = {
    { "amdgpu-no-workgroup-id-y", "amdgpu-no-cluster-id-y" },
    { "amdgpu-no-workgroup-id-z", "amdgpu-no-cluster-id-z" },
};

/* A fragment of 6-bit types is read in three runs of 8 bytes. Joined with those
 * of another fragment they would be moved apart again, a VALU operation a
 * dword (SILoadStoreOptimizer). */
static bool
six_bits(const struct kn_fn *f)
{
    for (size_t i = 0; i < f->nlds; i++)
        if (kn_elems[f->lds[i].elem].bits == 6)
            return true;
    return false;
}

/* Sums of one half of the waves beside matrix products of the other, the end of
 * which packed ones would wait for. */
static bool
sums_beside(const struct kn_fn *f)
{
    bool halves = false, sums = false;

    for (size_t i = 0; i < f->nins; i++) {
        halves |= f->ins[i].op == KN_OP_stagger;
        sums |= f->ins[i].op == KN_OP_fma && kn_val(f, f->ins[i].dst)->type.n > 1;
    }
    return kn_targets[f->target].packed_waits && halves && sums;
}

static void
kernel_attributes(struct lower *l)
{
    char size[32], simd[16];
    unsigned index = 1;
    uint32_t threads = kn_waves(l->f) * 64;

    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        string_attr(l, absent[i], "");
    for (int axis = 1; axis < 3; axis++)
        for (int i = 0; i < 2 && !kn_counts_along(l->f, axis); i++)
            string_attr(l, along[axis - 1][i], "");
    snprintf(size, sizeof size, "%u,%u", threads, threads);
    string_attr(l, "amdgpu-flat-work-group-size", size);
    string_attr(l, "uniform-work-group-size", "true");
    /* At least two waves a SIMD: 256 registers each, none of them AGPRs. */
    snprintf(simd, sizeof simd, "%u", l->f->shape.simd ? l->f->shape.simd : 2);
    string_attr(l, "amdgpu-waves-per-eu", simd);
    string_attr(l, "amdgpu-agpr-alloc", "0,0");
    if (six_bits(l->f))
        string_attr(l, "target-features", "-load-store-opt");
    else if (sums_beside(l->f))
        string_attr(l, "target-features", "-packed-fp32-ops");
    enum_attr(l, LLVMAttributeFunctionIndex, "nounwind", 0);
    enum_attr(l, LLVMAttributeFunctionIndex, "norecurse", 0);
    for (size_t i = 1; i < l->f->nval; i++)
        if (l->f->val[i].arg)
            enum_attr(l, index++, "noundef", 0);
}

static void
declare_kernel(struct lower *l)
{
    LLVMTypeRef *types = KN_NEW(l->c, LLVMTypeRef, l->f->nval);
    unsigned n = 0;

    for (size_t i = 1; i < l->f->nval; i++)
        if (l->f->val[i].arg)
            types[n++] = low_type(l, l->f->val[i].type);
    l->fn = LLVMAddFunction(l->mod, l->f->name,
                            LLVMFunctionType(l->nothing, types, n, 0));
    LLVMSetFunctionCallConv(l->fn, 91);  /* amdgpu_kernel */
    LLVMSetVisibility(l->fn, LLVMProtectedVisibility);
    n = 0;
    for (size_t i = 1; i < l->f->nval; i++)
        if (l->f->val[i].arg) {
            l->val[i] = LLVMGetParam(l->fn, n++);
            LLVMSetValueName2(l->val[i], l->f->val[i].name,
                              strlen(l->f->val[i].name));
        }
    kernel_attributes(l);
}

static void
declare_lds(struct lower *l)
{
    LLVMMetadataRef name = LLVMMDStringInContext2(l->ctx, "kiln.lds", 8);
    LLVMMetadataRef domain = LLVMMDNodeInContext2(l->ctx, &name, 1);
    char text[96];

    l->first_slot = KN_NEW(l->c, uint32_t, l->f->nlds + 1);
    for (size_t i = 0; i < l->f->nlds; i++) {
        l->first_slot[i] = l->nslots;
        l->nslots += l->f->lds[i].slots;
    }
    l->slot = KN_NEW(l->c, LLVMValueRef, l->nslots + 1);
    l->scope = KN_NEW(l->c, LLVMMetadataRef, l->nslots + 1);
    for (size_t i = 0; i < l->f->nlds; i++)
        for (uint32_t s = 0; s < l->f->lds[i].slots; s++) {
            uint32_t n = l->first_slot[i] + s;
            LLVMTypeRef t = LLVMArrayType2(l->i8,
                kn_geometry(l->f, &l->f->lds[i]).bytes);
            LLVMMetadataRef node[2];

            snprintf(text, sizeof text, "%s.%u", l->f->lds[i].name, s);
            l->slot[n] = LLVMAddGlobalInAddressSpace(l->mod, t, text, 3);
            LLVMSetInitializer(l->slot[n], LLVMGetUndef(t));
            LLVMSetLinkage(l->slot[n], LLVMInternalLinkage);
            LLVMSetAlignment(l->slot[n], 16);
            node[0] = LLVMMDStringInContext2(l->ctx, text, strlen(text));
            node[1] = domain;
            l->scope[n] = LLVMMDNodeInContext2(l->ctx, node, 2);
        }
}

/* A value assigned more than once, `landed` counts, lives in memory until
 * LLVM's SROA. */
static void
declare_values(struct lower *l)
{
    uint32_t *times = KN_NEW(l->c, uint32_t, l->f->nval);

    for (size_t i = 0; i < l->f->nins; i++) {
        const struct kn_ins *x = &l->f->ins[i];

        times[KN_REF_INDEX(x->dst)]++;
        l->stages |= x->op == KN_OP_landed;
        for (int a = 0; x->op == KN_OP_landed && a < KN_MAXARG && x->arg[a];
             a++)
            times[KN_REF_INDEX(x->arg[a])]++;
    }
    for (size_t i = 1; i < l->f->nval; i++)
        if (times[i] > 1) {
            l->in_memory[i] = true;
            l->val[i] = LLVMBuildAlloca(l->b,
                low_type(l, l->f->val[i].type), l->f->val[i].name);
        }
}

static void
module_flag(struct lower *l, const char *name, uint32_t value)
{
    LLVMAddModuleFlag(l->mod, LLVMModuleFlagBehaviorWarning, name,
                      strlen(name), LLVMValueAsMetadata(low_i32(l, value)));
}

/* Line tables only; "line" n + 1 is operation n (emit.h). */
static LLVMMetadataRef
declare_lines(struct lower *l, LLVMDIBuilderRef di)
{
    size_t n = strlen(l->f->name);
    LLVMMetadataRef file = LLVMDIBuilderCreateFile(di, "wave.tir", 8, "", 0);
    LLVMMetadataRef type, fn;

    module_flag(l, "Dwarf Version", 4);
    module_flag(l, "Debug Info Version", LLVMDebugMetadataVersion());
    LLVMDIBuilderCreateCompileUnit(di, LLVMDWARFSourceLanguageC99, file,
        "kiln", 4, 1, "", 0, 0, "", 0, LLVMDWARFEmissionLineTablesOnly, 0, 0,
        0, "", 0, "", 0);
    type = LLVMDIBuilderCreateSubroutineType(di, file, NULL, 0,
                                             LLVMDIFlagZero);
    fn = LLVMDIBuilderCreateFunction(di, file, l->f->name, n, "", 0, file, 1,
                                     type, 0, 1, 1, LLVMDIFlagZero, 1);
    LLVMSetSubprogram(l->fn, fn);
    return fn;
}

/* LLVM merges neighbouring accesses, and drops the line where theirs differ:
 * operations of one template line on one slot share the first one's. */
static size_t
representative(const struct kn_fn *f, size_t ins)
{
    const struct kn_ins *i = &f->ins[ins];
    size_t first = ins;

    if (KN_REF_TAG(i->arg[0]) != KN_R_LDS)
        return ins;
    for (size_t n = ins, left = 512; n-- > 0 && left--;) {
        const struct kn_ins *x = &f->ins[n];

        if (x->op == i->op && x->arg[0] == i->arg[0] &&
            x->attr[KN_A_own] == i->attr[KN_A_own] &&
            x->at.file == i->at.file && x->at.line == i->at.line) {
            first = n;
            left = 512;      /* from each of them on: all have the same first */
        }
    }
    return first;
}

static void
set_line(struct lower *l, LLVMMetadataRef fn, size_t ins)
{
    LLVMSetCurrentDebugLocation2(l->b, LLVMDIBuilderCreateDebugLocation(
        l->ctx, (unsigned)representative(l->f, ins) + 1, 0, fn, NULL));
}

typedef void lower_fn(struct lower *, const struct kn_ins *);

#define KN_ROW_TILE(id) NULL
#define KN_ROW_WAVE(id) lower_##id
#define KN_ROW_BOTH(id) lower_##id
#define KN_ROW_SHORT(id) NULL
static lower_fn *const lower_table[KN_NOP] = {
#define OP(id, text, level, ...) [KN_OP_##id] = KN_ROW_##level(id),
#include "../../ir/ops.def"
#undef OP
};

static void
build_module(struct lower *l)
{
    const char *cov = "amdhsa_code_object_version";
    LLVMMetadataRef fn;

    init_types(l);
    LLVMAddModuleFlag(l->mod, LLVMModuleFlagBehaviorError, cov, strlen(cov),
                      LLVMValueAsMetadata(low_i32(l, 500)));
    l->val = KN_NEW(l->c, LLVMValueRef, l->f->nval);
    l->in_memory = KN_NEW(l->c, bool, l->f->nval);
    declare_kernel(l);
    declare_lds(l);
    LLVMPositionBuilderAtEnd(l->b,
        LLVMAppendBasicBlockInContext(l->ctx, l->fn, "entry"));
    declare_values(l);
    l->di = LLVMCreateDIBuilder(l->mod);
    fn = declare_lines(l, l->di);
    for (size_t i = 0; i < l->f->nins; i++) {
        set_line(l, fn, i);
        lower_table[l->f->ins[i].op](l, &l->f->ins[i]);
    }
    LLVMBuildRetVoid(l->b);
    LLVMDIBuilderFinalize(l->di);
}

/* ---- running LLVM ---- */

static kiln_status
check_module(struct lower *l)
{
    char *text = NULL;
    kiln_status s = KILN_OK;

    if (LLVMVerifyModule(l->mod, LLVMReturnStatusAction, &text))
        s = kn_fail(l->c, KILN_INTERNAL, "LLVM refuses the module: %.180s",
                    text);
    LLVMDisposeMessage(text);
    return s;
}

/* LLVM's default<O1> without what finds nothing in one function without calls
 * and allocations (inliner, interprocedural passes, vectorisers, unrolling)
 * and with two of its six runs of InstCombine: 40 % less time, and the same
 * main loops, instruction for instruction or but for their order. */
#define COMBINE "instcombine<max-iterations=1;no-verify-fixpoint>"
#define TIDY(late) "simplifycfg<" late ";switch-range-to-icmp;" \
    "speculate-blocks;simplify-cond-branch;no-speculate-unpredictables>"
static const char pipeline[] =
    "function<eager-inv>(sroa<modify-cfg>,early-cse<memssa>," COMBINE ","
    TIDY("keep-loops") ",reassociate,loop-mssa(licm<no-allowspeculation>,"
    "loop-rotate<header-duplication;no-prepare-for-lto>,"
    "licm<allowspeculation>)," TIDY("keep-loops")
    ",loop(indvars,loop-deletion),sccp,bdce,adce,infer-alignment,"
    TIDY("no-keep-loops;forward-switch-cond;hoist-common-insts;"
         "sink-common-insts")
    ",vector-combine," COMBINE ",loop-mssa(licm<allowspeculation>),"
    TIDY("keep-loops") "),amdgpu-attributor";

static kiln_status
optimise(struct lower *l, LLVMTargetMachineRef tm)
{
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMErrorRef e = LLVMRunPasses(l->mod, pipeline, tm, o);
    char *text;

    LLVMDisposePassBuilderOptions(o);
    if (!e)
        return KILN_OK;
    text = LLVMGetErrorMessage(e);
    kn_fail(l->c, KILN_INTERNAL, "LLVM's passes failed: %.180s", text);
    LLVMDisposeErrorMessage(text);
    return KILN_INTERNAL;
}

/* Code generation consumes the module. */
static kiln_status
emit_file(struct lower *l, LLVMTargetMachineRef tm, LLVMCodeGenFileType type,
          LLVMMemoryBufferRef *out)
{
    char *text = NULL;
    kiln_status s = KILN_OK;

    if (LLVMTargetMachineEmitToMemoryBuffer(tm, l->mod, type, &text, out)) {
        s = kn_fail(l->c, KILN_INTERNAL, "LLVM cannot emit: %.180s", text);
        LLVMDisposeMessage(text);
    }
    return s;
}

/* The text is of a copy: what is emitted second is not the same. */
static kiln_status
emit_assembly(struct lower *l, LLVMTargetMachineRef tm,
              LLVMMemoryBufferRef *out)
{
    LLVMModuleRef own = l->mod;
    kiln_status s;

    l->mod = LLVMCloneModule(own);
    s = emit_file(l, tm, LLVMAssemblyFile, out);
    LLVMDisposeModule(l->mod);
    l->mod = own;
    return s;
}

/* The objects of one call that are LLVM's: dropped whatever happens. */
struct session {
    struct lower l;
    struct diagnosis d;
    LLVMTargetMachineRef tm;
    LLVMMemoryBufferRef object, assembly;
    char *llvm;
};

static kiln_status
open_session(struct kn_ctx *c, const struct kn_fn *f, struct session *s)
{
    LLVMTargetDataRef layout;

    s->tm = new_machine(f->target);
    if (!s->tm)
        return kn_fail(c, KILN_INTERNAL, "this LLVM has no AMDGPU target");
    s->l = (struct lower){ .c = c, .f = f, .ctx = LLVMContextCreate() };
    LLVMContextSetDiagnosticHandler(s->l.ctx, on_diagnostic, &s->d);
    s->l.mod = LLVMModuleCreateWithNameInContext(f->name, s->l.ctx);
    s->l.b = LLVMCreateBuilderInContext(s->l.ctx);
    layout = LLVMCreateTargetDataLayout(s->tm);
    LLVMSetTarget(s->l.mod, TRIPLE);
    LLVMSetModuleDataLayout(s->l.mod, layout);
    LLVMDisposeTargetData(layout);
    return KILN_OK;
}

static void
close_session(struct session *s)
{
    if (s->llvm)
        LLVMDisposeMessage(s->llvm);
    if (s->object)
        LLVMDisposeMemoryBuffer(s->object);
    if (s->assembly)
        LLVMDisposeMemoryBuffer(s->assembly);
    if (s->l.di)
        LLVMDisposeDIBuilder(s->l.di);
    if (s->l.b)
        LLVMDisposeBuilder(s->l.b);
    if (s->l.mod)
        LLVMDisposeModule(s->l.mod);
    if (s->l.ctx)
        LLVMContextDispose(s->l.ctx);
    if (s->tm)
        LLVMDisposeTargetMachine(s->tm);
}

static kiln_status
run(struct session *s, unsigned want)
{
    struct lower *l = &s->l;

    build_module(l);
    KN_TRY(check_module(l));
    KN_TRY(optimise(l, s->tm));
    if (want & KN_EMIT_LLVM)
        s->llvm = LLVMPrintModuleToString(l->mod);
    if (want & KN_EMIT_ASM)
        KN_TRY(emit_assembly(l, s->tm, &s->assembly));
    KN_TRY(emit_file(l, s->tm, LLVMObjectFile, &s->object));
    if (s->d.failed)
        return kn_fail(l->c, KILN_INTERNAL, "LLVM: %s", s->d.text);
    return KILN_OK;
}

/* Copies into the arena what outlives the LLVM objects. */
static void
keep(struct kn_ctx *c, const struct session *s, struct kn_emitted *out)
{
    out->rel_size = LLVMGetBufferSize(s->object);
    out->rel = (uint8_t *)kn_strndup(c, LLVMGetBufferStart(s->object),
                                     out->rel_size);
    out->llvm = s->llvm ? kn_strdup(c, s->llvm) : NULL;
    if (s->assembly)
        out->assembly = kn_strndup(c, LLVMGetBufferStart(s->assembly),
                                   LLVMGetBufferSize(s->assembly));
}

static kiln_status
emit_in(struct kn_ctx *c, const struct kn_fn *f, unsigned want,
        struct session *s, struct kn_emitted *out)
{
    for (size_t n = 0; n < f->nins; n++)
        if (f->ins[n].attr[KN_A_span] == 2)
            return kn_fail_at(c, KILN_UNSUPPORTED, f->ins[n].at, "only the "
                              "assembly lowering reads two LDS slots at once");
    KN_TRY(open_session(c, f, s));
    s->l.settled = want & KN_EMIT_SETTLED;
    KN_TRY(run(s, want));
    keep(c, s, out);
    return KILN_OK;
}

kiln_status
kn_emit(struct kn_ctx *c, const struct kn_fn *f, unsigned want,
        struct kn_emitted *out)
{
    struct session *s = KN_NEW(c, struct session, 1);
    jmp_buf *outer = c->oom, here;
    kiln_status st = KILN_NO_MEMORY;

    kn_llvm_enter();
    c->oom = &here;
    if (!setjmp(here))
        st = emit_in(c, f, want, s, out);
    c->oom = outer;
    close_session(s);
    kn_llvm_leave();
    return c->err.status ? c->err.status : st;
}

void
kn_llvm_version(char *buf, size_t n)
{
    unsigned major, minor, patch;

    LLVMGetVersion(&major, &minor, &patch);
    snprintf(buf, n, "%u.%u.%u", major, minor, patch);
}
