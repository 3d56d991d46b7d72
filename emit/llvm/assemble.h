/* assemble.h - assembly text to an AMDGPU object, through LLVM's assembler. */
#ifndef KN_ASSEMBLE_H
#define KN_ASSEMBLE_H

#include "../../ir/base.h"

/* The target a `.amdgcn_target` line of the text names, NONE without one. */
kiln_target kn_assembly_target(const char *text);

/* Assembles `text` for the target; *out is the ET_REL, in the arena. BAD_INPUT
 * with the assembler's first complaint and its line. */
kiln_status kn_assemble(struct kn_ctx *c, const char *name, const char *text,
                        kiln_target target, struct kn_buf *out);

#endif
