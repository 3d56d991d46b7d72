/* decode.c - a kernel's bytes -> struct kn_program, through LLVM. */
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "decode.h"

enum { TEXT_MAX = 256, MAX_INST = 16 };

static void
init_llvm(void)
{
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
    LLVMInitializeAMDGPUDisassembler();
}

void
kn_llvm_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, init_llvm);
}

void *
kn_disasm_open(kiln_target t)
{
    LLVMDisasmContextRef d;

    kn_llvm_init();
    d = LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", kiln_target_name(t),
                                    "", NULL, 0, NULL, NULL);
    return d;
}

void
kn_disasm_close(void *d)
{
    if (d)
        LLVMDisasmDispose(d);
}

void
kn_disasm_text(void *d, const struct kn_inst *i, char *buf, size_t n)
{
    uint8_t bytes[MAX_INST * 2] = { 0 };
    const char *s;
    char *end;

    memcpy(bytes, i->raw, sizeof i->raw);
    if (!n)
        return;
    buf[0] = 0;
    if (!d || kn_guard_words(i->raw) ||
        !LLVMDisasmInstruction(d, bytes, sizeof bytes, i->pc, buf, n)) {
        snprintf(buf, n, ".long 0x%08x", i->raw[0]);
        return;
    }
    s = buf + strspn(buf, "\t ");
    memmove(buf, s, strlen(s) + 1);
    for (end = buf + strlen(buf); end > buf && end[-1] == ' '; end--)
        end[-1] = 0;
}

void
kn_inst_text(kiln_target t, const struct kn_inst *i, char *buf, size_t n)
{
    void *d = kn_disasm_open(t);

    kn_disasm_text(d, i, buf, n);
    kn_disasm_close(d);
}

/* ---- decoding ---- */

struct decoder {
    struct kn_ctx *c;
    struct kn_forms forms;
    LLVMDisasmContextRef llvm;
    struct kn_isa_index index;
    kiln_target target;
    const char *kernel;
    bool strict;
    uint64_t at;             /* address of the first instruction */
};

/* The bytes of the segment that holds [addr, addr + *size), cut to it. */
static const uint8_t *
find_code(const struct kn_object *o, uint64_t addr, uint64_t *size)
{
    for (uint32_t k = 0; k < o->nsegments; k++) {
        const struct kn_segment *s = &o->segments[k];
        uint64_t at = addr - s->addr;

        if (!s->exec || addr < s->addr || at >= s->filesz)
            continue;
        if (*size > s->filesz - at)
            *size = s->filesz - at;
        return s->data + at;
    }
    return NULL;
}

static kiln_status
bad_inst(struct decoder *d, struct kn_inst *i, const char *what,
         const char *token, const char *text)
{
    uint64_t pc = i->pc;

    while (*text == '\t' || *text == ' ')
        text++;
    if (d->strict)
        return kn_fail(d->c, KILN_UNSUPPORTED,
                       "%s: %s '%s' at 0x%llx: %.100s", d->kernel, what,
                       token, (unsigned long long)pc, text);
    i->op = KN_I_unknown;
    i->nopnd = i->ndst = 0;
    return KILN_OK;
}

/* LLVM's text of one instruction, parsed; why: what is wrong with it. */
static bool
read_text(struct decoder *d, const uint32_t w[4], struct kn_inst *i,
          struct kn_text_error *e, char text[TEXT_MAX])
{
    size_t n;

    i->size = 4;
    e->what = kn_guard_words(w);
    if (e->what)
        return false;
    n = LLVMDisasmInstruction(d->llvm, (uint8_t *)w, MAX_INST, i->pc, text,
                              TEXT_MAX);
    if (!n) {
        e->what = "unknown instruction word";
        return false;
    }
    i->size = (uint8_t)n;
    return kn_text_parse(&d->index, text, i, e);
}

static bool
read_form(void *user, const uint32_t w[4], struct kn_inst *i)
{
    struct kn_text_error e = { 0 };
    char text[TEXT_MAX] = "";

    return read_text(user, w, i, &e, text);
}

static kiln_status
apply_raw(const struct decoder *d, struct kn_inst *i)
{
    const char *why = kn_raw_apply(i);
    char text[TEXT_MAX];

    if (!why)
        return KILN_OK;
    kn_disasm_text(d->llvm, i, text, sizeof text);
    return kn_fail(d->c, KILN_INTERNAL, "%s at 0x%llx: %s", why,
                   (unsigned long long)i->pc, text);
}

static void
set_raw(struct kn_inst *i, const uint32_t w[4])
{
    memset(i->raw, 0, sizeof i->raw);
    memcpy(i->raw, w, i->size);
}

/* left: readable bytes at p. LLVM wants to look ahead. */
static kiln_status
decode_one(struct decoder *d, const uint8_t *p, uint64_t left,
           struct kn_inst *i)
{
    struct kn_text_error e = { 0 };
    char text[TEXT_MAX] = "";
    uint32_t w[4] = { 0 };
    uint64_t pc = i->pc;

    memcpy(w, p, left < sizeof w ? left : sizeof w);
    if (kn_forms_fill(&d->forms, w, i) && i->size <= left) {
        i->pc = pc;
        set_raw(i, w);
        return apply_raw(d, i);
    }
    *i = (struct kn_inst){ .pc = pc };
    if (!read_text(d, w, i, &e, text) || i->size > left) {
        if (i->size > left) {
            i->size = 4;
            e.what = "unknown instruction word";
        }
        set_raw(i, w);
        return bad_inst(d, i, e.what, e.token, text);
    }
    kn_forms_add(&d->forms, w, i);
    set_raw(i, w);
    return apply_raw(d, i);
}

int32_t
kn_program_at(const struct kn_program *p, uint64_t pc)
{
    uint32_t lo = 0, hi = p->n;

    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (p->inst[mid].pc < pc)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < p->n && p->inst[lo].pc == pc ? (int32_t)lo : -1;
}

static void
resolve_targets(struct kn_program *p)
{
    for (uint32_t k = 0; k < p->n; k++) {
        struct kn_inst *i = &p->inst[k];
        const struct kn_opnd *last = i->nopnd ? &i->o[i->nopnd - 1] : NULL;
        uint64_t flow = kn_isa[i->op].flags;

        i->next = k + 1 < p->n ? (int32_t)k + 1 : -1;
        if (flow & KN_IF_END)
            i->next = -1;
        i->target = -1;
        if (last && last->kind == KN_O_TARGET)
            i->target = kn_program_at(p, (uint64_t)last->imm);
    }
}

static size_t
count_instructions(const uint8_t *code, uint64_t size)
{
    size_t n = 0;

    for (uint64_t at = 0; at + 4 <= size; n++) {
        uint32_t w[4] = { 0 };

        memcpy(w, code + at, sizeof w[0]);
        at += kn_form_size(w);
    }
    return n;
}

static kiln_status
decode_all(struct decoder *d, const uint8_t *code, uint64_t size,
           struct kn_program *out)
{
    size_t cap = 0, n = 0;
    struct kn_inst *inst = kn_grow(d->c, NULL, &cap,
                                   count_instructions(code, size) + 1,
                                   sizeof *inst);

    for (uint64_t at = 0; at + 4 <= size; at += inst[n++].size) {
        inst = kn_grow(d->c, inst, &cap, n + 1, sizeof *inst);
        inst[n].pc = d->at + at;
        KN_TRY(decode_one(d, code + at, size - at, &inst[n]));
    }
    out->inst = inst;
    out->n = (uint32_t)n;
    return KILN_OK;
}

/* Hardware that preloads kernel arguments starts 256 bytes in; before that
 * is the prologue for firmware that does not (LLVM AMDGPUUsage). */
static kiln_status
find_entry(struct decoder *d, struct kn_program *p)
{
    uint64_t pc = p->kernel->entry + (p->kernel->preload_length ? 256 : 0);
    int32_t at = kn_program_at(p, pc);

    if (at < 0)
        return kn_fail(d->c, KILN_BAD_INPUT,
                       "%s: no instruction starts at the entry 0x%llx",
                       d->kernel, (unsigned long long)pc);
    p->entry = (uint32_t)at;
    return KILN_OK;
}

static kiln_status
open_decoder(struct decoder *d, struct kn_ctx *c, const struct kn_object *o,
             const struct kn_object_kernel *k)
{
    if (!kn_is_target(o->target))
        return kn_fail(c, KILN_UNSUPPORTED,
                       "%s: only gfx942 and gfx950 code can be decoded",
                       k->name);
    d->c = c;
    d->forms = (struct kn_forms){ .c = c, .read = read_form, .user = d };
    d->target = o->target;
    d->kernel = k->name;
    kn_isa_index_init(&d->index);
    d->llvm = kn_disasm_open(o->target);
    return d->llvm ? KILN_OK
                   : kn_fail(c, KILN_UNSUPPORTED,
                             "this LLVM has no AMDGPU disassembler");
}

/* The disassembler must not leak. */
static kiln_status
decode_guarded(struct decoder *d, const uint8_t *code, uint64_t size,
               struct kn_program *out)
{
    struct kn_ctx *c = d->c;
    jmp_buf oom, *outer = c->oom;
    kiln_status s;

    c->oom = &oom;
    s = setjmp(oom) ? KILN_NO_MEMORY : decode_all(d, code, size, out);
    c->oom = outer;
    kn_disasm_close(d->llvm);
    return s;
}

/* The `size` bytes from `at` on, as far as there is code. */
static kiln_status
decode_range(struct decoder *d, const struct kn_object *o, uint64_t at,
             uint64_t size, struct kn_program *out)
{
    const uint8_t *code = find_code(o, at, &size);

    d->at = at;
    if (!code) {
        kn_disasm_close(d->llvm);
        return kn_fail(d->c, KILN_BAD_INPUT,
                       "%s: the entry 0x%llx is outside the code", d->kernel,
                       (unsigned long long)out->kernel->entry);
    }
    KN_TRY(decode_guarded(d, code, size, out));
    resolve_targets(out);
    return find_entry(d, out);
}

kiln_status
kn_decode(struct kn_ctx *c, const struct kn_object *o,
          const struct kn_object_kernel *k, bool strict,
          struct kn_program *out)
{
    struct decoder *d = KN_NEW(c, struct decoder, 1);

    *out = (struct kn_program){ .kernel = k, .target = o->target };
    d->strict = strict;
    KN_TRY(open_decoder(d, c, o, k));
    return decode_range(d, o, k->entry, k->code_size, out);
}

bool
kn_program_calls(const struct kn_program *p)
{
    for (uint32_t k = 0; k < p->n; k++)
        if (kn_isa[p->inst[k].op].flags & KN_IF_JUMP && p->inst[k].target < 0)
            return true;
    return false;
}

kiln_status
kn_decode_callees(struct kn_ctx *c, const struct kn_object *o,
                  struct kn_program *p)
{
    struct decoder *d = KN_NEW(c, struct decoder, 1);
    const struct kn_segment *s = o->segments;

    while (!s->exec || p->kernel->entry - s->addr >= s->filesz)
        s++;
    KN_TRY(open_decoder(d, c, o, p->kernel));
    return decode_range(d, o, s->addr, s->filesz, p);
}
