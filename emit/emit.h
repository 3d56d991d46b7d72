/* emit.h - wave-level tile IR to an AMDGPU object, through the LLVM C API.
 * The only folder that includes llvm-c/. */
#ifndef KN_EMIT_H
#define KN_EMIT_H

#include "../ir/ir.h"

struct kn_emitted {
    uint8_t *rel;            /* ET_REL bytes, in the arena */
    size_t rel_size;
    const char *llvm;        /* module text after optimisation, if asked */
    const char *assembly;    /* if asked */
};

/* Texts to keep; and SETTLED: behind every loop as many wait states as any
 * matrix result takes (kn_emit alone; the other lowering counts its own). */
enum { KN_EMIT_LLVM = 1, KN_EMIT_ASM = 2, KN_EMIT_SETTLED = 4 };

/* Requires: verified wave-level kernel. The same kernel gives the same bytes.
 * INTERNAL with LLVM's own sentence if it objects to what we built. */
kiln_status kn_emit(struct kn_ctx *c, const struct kn_fn *f, unsigned want,
                    struct kn_emitted *out);

/* The same by the second lowering (asm.h): registers, waits and wait states of
 * our own, LLVM only assembles. UNSUPPORTED for what it does not do, and for a
 * kernel that needs more registers than there are. */
kiln_status kn_emit_asm(struct kn_ctx *c, const struct kn_fn *f, unsigned want,
                        struct kn_emitted *out);

/* A code object and its certificate, if it has one. */
struct kn_code {
    const char *name;        /* of the file, for sentences */
    const uint8_t *co;
    size_t size;
    const char *cert;
    size_t cert_size;
};

/* Holds every kernel of a code object to a whole verdict (prove/check.h):
 * FINDING with the first reason why it is not clean, LDS order and advice
 * included. cert: NULL or empty: the bytes alone. */
kiln_status kn_verdict_replay(struct kn_ctx *c, const struct kn_code *code);

/* LLVM's version as "22.1.8", part of the kernel key. */
void kn_llvm_version(char *buf, size_t n);

/* assemble.c - assembly text to an AMDGPU object, through LLVM's assembler. */

/* The target a `.amdgcn_target` line of the text names, NONE without one. */
kiln_target kn_assembly_target(const char *text);

/* Assembles `text` for the target; *out is the ET_REL, in the arena. BAD_INPUT
 * with the assembler's first complaint and its line. */
kiln_status kn_assemble(struct kn_ctx *c, const char *name, const char *text,
                        kiln_target target, struct kn_buf *out);

/* The same of kiln's own text, one thread at a time: what the assembler
 * complains of is INTERNAL. */
kiln_status kn_assemble_own(struct kn_ctx *c, const char *name,
                            const char *text, kiln_target target,
                            struct kn_buf *out);

/* lines.c - which wave-level operation each emitted instruction came from.
 *
 * The module carries line-table debug information in which "line" is the
 * index of the operation plus one; the linker drops it, the map stays. */

struct kn_line_row {
    uint32_t offset;         /* bytes from the kernel's first instruction */
    uint32_t ins;            /* index into kn_fn.ins; UINT32_MAX: unknown */
};

struct kn_line_map {
    size_t n;
    struct kn_line_row *row; /* ascending offsets, each up to the next */
};

/* Reads .debug_line (DWARF 4) of an ET_REL with one kernel at the start of
 * .text. BAD_INPUT if the table is damaged; no table gives an empty map. */
kiln_status kn_lines_read(struct kn_ctx *c, const void *rel, size_t size,
                          struct kn_line_map *out);

/* Operation at a byte offset, UINT32_MAX if unknown. */
uint32_t kn_lines_find(const struct kn_line_map *m, uint64_t offset);

/* The same where offsets ascend from call to call; *row starts at 0. */
uint32_t kn_lines_next(const struct kn_line_map *m, uint64_t offset,
                       size_t *row);

#endif
