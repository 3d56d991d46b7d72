/* assemble.c - assembly text to an object: a module that consists of nothing
 * but module-level assembly, emitted as an object.
 *
 * The assembler reports to the context's handler and the emission still
 * succeeds, so the handler's first error decides. */
#include "../emit.h"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ir/lock.h"
#include "../isa/elfview.h"
#include "../isa/isa.h"

#define TRIPLE "amdgcn-amd-amdhsa"

struct complaint {
    bool failed;
    char text[200];
};

static void
on_diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
    struct complaint *d = user;
    char *text;

    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || d->failed)
        return;
    text = LLVMGetDiagInfoDescription(info);
    snprintf(d->text, sizeof d->text, "%.*s", (int)strcspn(text, "\n"), text);
    d->failed = true;
    LLVMDisposeMessage(text);
}

kiln_target
kn_assembly_target(const char *text)
{
    const char *at = strstr(text, ".amdgcn_target");
    size_t n = at ? strcspn(at, "\n") : 0;

    for (int t = KILN_TARGET_NONE + 1; at && t < KILN_NTARGETS; t++) {
        const char *name = kiln_target_name((kiln_target)t);
        const char *hit = strstr(at, name);

        if (hit && hit < at + n)
            return (kiln_target)t;
    }
    return KILN_TARGET_NONE;
}

/* LLVM takes the code object version from the module, not from the text. */
static void
set_version(LLVMModuleRef m, LLVMContextRef ctx, const char *text)
{
    static const char key[] = "amdhsa_code_object_version";
    const char *at = strstr(text, ".amdhsa_code_object_version ");
    int v = at ? atoi(at + sizeof key) : 0;

    if (v < 4 || v > 6)
        return;
    LLVMAddModuleFlag(m, LLVMModuleFlagBehaviorError, key, sizeof key - 1,
        LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(ctx),
                                         (unsigned)v * 100, 0)));
}

/* "<inline asm>:3:2: text": the line is the file's own. */
static kiln_status
refuse(struct kn_ctx *c, const char *name, const char *text)
{
    const char *at = strchr(text, '>');

    if (at && at[1] == ':')
        return kn_fail(c, KILN_BAD_INPUT, "%s%s", name, at + 1);
    return kn_fail(c, KILN_BAD_INPUT, "%s: %s", name, text);
}

static bool
emit_object(LLVMTargetMachineRef tm, LLVMModuleRef m, struct complaint *d,
            LLVMMemoryBufferRef *out)
{
    char *text = NULL;

    if (!LLVMTargetMachineEmitToMemoryBuffer(tm, m, LLVMObjectFile, &text,
                                             out))
        return !d->failed;
    if (!d->failed)
        snprintf(d->text, sizeof d->text, "%s", text);
    LLVMDisposeMessage(text);
    return false;
}

/* The note behind `end`, up to the end of its section, is metadata as well. */
static bool
ends_in_metadata(const uint8_t *end, uint64_t left)
{
    Elf64_Nhdr h;

    if (left < sizeof h)
        return false;
    memcpy(&h, end, sizeof h);
    return h.n_type == KN_NT_AMDGPU_METADATA &&
           sizeof h + ((h.n_namesz + 3) & ~3u) + ((h.n_descsz + 3) & ~3u) ==
           left;
}

/* LLVM ends an object with a note about the kernels it compiled itself, which
 * are none: behind the text's own note it is cut off. */
static kiln_status
drop_empty_note(struct kn_ctx *c, const char *name, struct kn_buf *obj)
{
    const uint8_t *note, *end, *start;
    struct kn_elf e;
    size_t n;

    KN_TRY(kn_elf_open(c, name, obj->s, obj->n, &e));
    KN_TRY(kn_elf_metadata(&e, &note, &n));
    for (uint32_t i = 0; note && i < e.nsh; i++) {
        uint64_t size = e.sh[i].sh_size;
        size_t field = e.eh.e_shoff + i * sizeof *e.sh +
                       offsetof(Elf64_Shdr, sh_size);

        start = e.p + e.sh[i].sh_offset;
        end = note + ((n + 3) & ~(size_t)3);
        if (e.sh[i].sh_type != SHT_NOTE || note < start ||
            end > start + size ||
            !ends_in_metadata(end, (uint64_t)(start + size - end)))
            continue;
        size = (uint64_t)(end - start);
        memcpy(obj->s + field, &size, sizeof size);
    }
    return KILN_OK;
}

kiln_status
kn_assemble(struct kn_ctx *c, const char *name, const char *text,
            kiln_target target, struct kn_buf *out)
{
    struct complaint d = { 0 };
    LLVMMemoryBufferRef obj = NULL;
    LLVMTargetMachineRef tm;
    LLVMContextRef ctx;
    LLVMModuleRef m;
    LLVMTargetRef t;
    char *err = NULL;
    bool ok;

    kn_llvm_init();
    if (LLVMGetTargetFromTriple(TRIPLE, &t, &err)) {
        LLVMDisposeMessage(err);
        return kn_fail(c, KILN_UNSUPPORTED, "this LLVM has no AMDGPU target");
    }
    tm = LLVMCreateTargetMachine(t, TRIPLE, kiln_target_name(target), "",
                                 LLVMCodeGenLevelNone, LLVMRelocPIC,
                                 LLVMCodeModelDefault);
    ctx = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(ctx, on_diagnostic, &d);
    m = LLVMModuleCreateWithNameInContext("assembly", ctx);
    LLVMSetTarget(m, TRIPLE);
    set_version(m, ctx, text);
    LLVMSetModuleInlineAsm2(m, text, strlen(text));
    ok = emit_object(tm, m, &d, &obj);
    if (ok) {
        out->n = LLVMGetBufferSize(obj);
        out->s = kn_strndup(c, LLVMGetBufferStart(obj), out->n);
    }
    if (obj)
        LLVMDisposeMemoryBuffer(obj);
    LLVMDisposeModule(m);
    LLVMContextDispose(ctx);
    LLVMDisposeTargetMachine(tm);
    return ok ? drop_empty_note(c, name, out) : refuse(c, name, d.text);
}

kiln_status
kn_assemble_own(struct kn_ctx *c, const char *name, const char *text,
                kiln_target target, struct kn_buf *out)
{
    kiln_status st;

    kn_llvm_enter();
    st = kn_assemble(c, name, text, target, out);
    kn_llvm_leave();
    return st == KILN_BAD_INPUT ? c->err.status = KILN_INTERNAL : st;
}
