/* program.c - see program.h. Assembles through LLVM's module inline asm, so
 * that no other process is needed. */
#include "program.h"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char prologue[] =
    "s_load_dwordx4 s[4:7], s[0:1], 0x0\n"
    "v_and_b32_e32 v0, 0x3ff, v0\n"
    "v_lshlrev_b32_e32 v1, 2, v0\n"
    "s_waitcnt lgkmcnt(0)\n";

static const char frame[] =
    ".amdgcn_target \"amdgcn-amd-amdhsa--%s\"\n"
    ".amdhsa_code_object_version 5\n"
    ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n%s%s"
    ".Lend:\n.size k, .Lend-k\n"
    ".rodata\n.p2align 6\n.amdhsa_kernel k\n"
    ".amdhsa_next_free_vgpr 384\n.amdhsa_accum_offset 256\n"
    ".amdhsa_next_free_sgpr 96\n"
    ".amdhsa_group_segment_fixed_size %u\n"
    ".amdhsa_private_segment_fixed_size %u\n"
    ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
    ".amdhsa_user_sgpr_kernarg_preload_length %u\n"
    ".amdhsa_user_sgpr_kernarg_preload_offset 0\n"
    ".amdhsa_kernarg_size 64\n"
    ".amdhsa_system_sgpr_workgroup_id_x 1\n"
    ".amdhsa_system_vgpr_workitem_id 0\n"
    ".end_amdhsa_kernel\n";

static void
on_diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
    char *s = LLVMGetDiagInfoDescription(info);

    if (LLVMGetDiagInfoSeverity(info) == LLVMDSError) {
        print_message("%s\n", s);
        *(int *)user = 1;
    }
    LLVMDisposeMessage(s);
}

static LLVMTargetMachineRef
machine(const char *cpu)
{
    LLVMTargetRef t;
    char *err = NULL;

    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
    LLVMInitializeAMDGPUAsmPrinter();
    if (LLVMGetTargetFromTriple("amdgcn-amd-amdhsa", &t, &err))
        fail_msg("%s", err);
    return LLVMCreateTargetMachine(t, "amdgcn-amd-amdhsa", cpu, "",
                                   LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                   LLVMCodeModelDefault);
}

static LLVMMemoryBufferRef
assemble(const char *cpu, const char *text)
{
    LLVMContextRef c = LLVMContextCreate();
    LLVMModuleRef m = LLVMModuleCreateWithNameInContext("t", c);
    LLVMTargetMachineRef tm = machine(cpu);
    LLVMMemoryBufferRef out = NULL;
    char *err = NULL;
    int bad = 0;

    LLVMContextSetDiagnosticHandler(c, on_diagnostic, &bad);
    LLVMSetTarget(m, "amdgcn-amd-amdhsa");
    LLVMSetModuleInlineAsm2(m, text, strlen(text));
    if (LLVMTargetMachineEmitToMemoryBuffer(tm, m, LLVMObjectFile, &err,
                                            &out) || bad)
        fail_msg("assembling failed: %s\n%s", err ? err : "", text);
    LLVMDisposeTargetMachine(tm);
    LLVMDisposeModule(m);
    LLVMContextDispose(c);
    return out;
}

static void
fill_index(void *user, uint64_t offset, void *dst, size_t size)
{
    (void)user;
    for (size_t k = 0; k + 4 <= size; k += 4) {
        uint32_t v = (uint32_t)((offset + k) / 4);
        memcpy((char *)dst + k, &v, 4);
    }
}

static const struct program_facts no_facts;

static void
open_device(struct program *p, kiln_target t, const void *bytes, size_t size)
{
    kn_ctx_init(&p->ctx, NULL, NULL);
    assert_int_equal(kn_sim_open(&p->ctx, t, &p->sim), KILN_OK);
    if (kn_sim_load(p->sim, "k", bytes, size, &p->code))
        fail_msg("%s", p->ctx.err.text);
    assert_int_equal(kn_sim_alloc(p->sim, PROGRAM_BYTES, KN_MEM_READONLY,
                                  fill_index, NULL, &p->in), KILN_OK);
    assert_int_equal(kn_sim_alloc(p->sim, PROGRAM_BYTES, KN_MEM_OUTPUT, NULL,
                                  NULL, &p->out), KILN_OK);
}

static kiln_target
target_of(const struct program_facts *f)
{
    return f->target ? f->target : KILN_GFX950;
}

void
program_open_object(struct program *p, const struct program_facts *f,
                    const void *bytes, size_t size)
{
    f = f ? f : &no_facts;
    memset(p, 0, sizeof *p);
    open_device(p, target_of(f), bytes, size);
    p->args[0] = p->in;
    p->args[1] = p->out;
    p->launch = (struct kn_sim_launch){
        .code = p->code,
        .grid = { f->groups ? f->groups : 1, 1, 1 },
        .block = { 64 * (f->waves ? f->waves : 1), 1, 1 },
        .kernarg = p->args,
        .kernarg_size = sizeof p->args,
        .select = { .all = true },
        .threads = 1,
        .own = true,         /* every rule is a finding */
    };
}

static LLVMMemoryBufferRef
build(const struct program_facts *f, const char *before, const char *text)
{
    const char *cpu = kiln_target_name(target_of(f));
    LLVMMemoryBufferRef object;
    char *source;

    assert_true(asprintf(&source, frame, cpu, before, text, f->lds, f->scratch,
                         f->preload) > 0);
    object = assemble(cpu, source);
    free(source);
    return object;
}

static void
open_text(struct program *p, const struct program_facts *f,
          const char *before, const char *text)
{
    LLVMMemoryBufferRef object = build(f ? f : &no_facts, before, text);

    program_open_object(p, f, LLVMGetBufferStart(object),
                        LLVMGetBufferSize(object));
    LLVMDisposeMemoryBuffer(object);
}

void *
program_object(const struct program_facts *f, const char *text, size_t *size)
{
    LLVMMemoryBufferRef object = build(f ? f : &no_facts, prologue, text);
    void *copy;

    *size = LLVMGetBufferSize(object);
    copy = malloc(*size);
    assert_non_null(copy);
    memcpy(copy, LLVMGetBufferStart(object), *size);
    LLVMDisposeMemoryBuffer(object);
    return copy;
}

void
program_open(struct program *p, const struct program_facts *f,
             const char *text)
{
    open_text(p, f, prologue, text);
}

void
program_open_bare(struct program *p, const struct program_facts *f,
                  const char *text)
{
    open_text(p, f, "", text);
}

void
program_close(struct program *p)
{
    kn_sim_close(p->sim);
    kn_ctx_free(&p->ctx);
}

void
program_run(struct program *p)
{
    p->status = kn_sim_run(p->sim, &p->launch, &p->result);
}

static unsigned
count(const struct program *p, enum kn_finding_kind kind)
{
    unsigned n = 0;

    for (unsigned k = 0; k < p->result.nkept; k++)
        n += kind == KN_NFINDINGS || p->result.findings[k].kind == kind;
    return n;
}

static void
run_text(struct program *p, const struct program_facts *f, const char *text)
{
    program_open(p, f, text);
    program_run(p);
    if (p->status)
        fail_msg("%s", p->ctx.err.text);
}

unsigned
program_findings(const struct program_facts *f, const char *text,
                 enum kn_finding_kind kind)
{
    struct program p;
    unsigned n;

    run_text(&p, f, text);
    n = count(&p, kind);
    program_close(&p);
    return n;
}

static void
print_findings(const struct program *p)
{
    for (unsigned k = 0; k < p->result.nkept; k++)
        print_message("[%d] wave %u lane %d: %s\n",
                      p->result.findings[k].kind, p->result.findings[k].wave,
                      (int)p->result.findings[k].lane,
                      p->result.findings[k].text);
}

void
program_fires(const struct program_facts *f, const char *text,
              enum kn_finding_kind kind)
{
    struct program p;
    unsigned n, all;

    run_text(&p, f, text);
    n = count(&p, kind);
    all = count(&p, KN_NFINDINGS);
    if (!n || n != all)
        print_findings(&p);
    program_close(&p);
    assert_true(n > 0);
    assert_int_equal(n, all);
}

void
program_clean(const struct program_facts *f, const char *text)
{
    struct program p;
    unsigned all;

    run_text(&p, f, text);
    all = count(&p, KN_NFINDINGS);
    if (all)
        print_findings(&p);
    program_close(&p);
    assert_int_equal(all, 0);
}

uint32_t
program_out(struct program *p, unsigned dword)
{
    uint32_t v = 0;

    assert_int_equal(kn_sim_read(p->sim, p->out + 4u * dword, &v, 4),
                     KILN_OK);
    return v;
}

const struct kn_finding *
program_find(const struct program *p, enum kn_finding_kind kind)
{
    for (unsigned k = 0; k < p->result.nkept; k++)
        if (p->result.findings[k].kind == kind)
            return &p->result.findings[k];
    return NULL;
}
