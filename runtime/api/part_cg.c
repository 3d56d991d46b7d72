/* part_cg.c - what libkiln-cg.so shows. */
#include "../../emit/emit.h"
#include "generator_id.h"
#include "context.h"

const struct kn_codegen *
kiln_cg_interface(void)
{
    static const struct kn_codegen table = {
        KN_GENERATOR_ID, kn_llvm_version, kn_generate, kn_generate_text,
        kn_verdict_replay,
    };

    return &table;
}
