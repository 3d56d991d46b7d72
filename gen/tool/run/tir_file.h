/* tir_file.h - kernels that users write as tile IR. */
#ifndef KN_HANDMADE_H
#define KN_HANDMADE_H

#include "../cmd.h"
#include "../../gen.h"

/* The program of FILE.tir, whose text is in the template language and may use
 * files beside it (docs/ir.md). */
kiln_status kn_handmade_parse(struct kn_ctx *c, const char *path,
                              const char *text, struct kn_fn **out);

/* The kernel of FILE.tir, with the same passes, proof, gates and certificate
 * as a generated one. Compiled in a child process unless KILNC_ISOLATE is 0:
 * a kernel LLVM dies on is an error of this call. watch->want and link. */
kiln_status kn_handmade(struct kn_ctx *c, const char *path,
                        const struct kn_watch *watch,
                        struct kn_generated *out);

/* BAD_INPUT if a flag asks for a problem or a configuration. */
kiln_status kn_handmade_flags(struct kn_ctx *c, const struct kn_cli *cli);

/* Whether a positional names such a file. */
bool kn_is_handmade(const char *path);

#endif
