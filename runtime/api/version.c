/* version.c - what this build is, as part of every key. */
#include "context.h"
#include "generator_id.h"

const char *
kn_generator_id(void)
{
    return KN_GENERATOR_ID;
}

const char *
kn_versions(void)
{
    return "generator " KN_GENERATOR_ID ", LLVM " KN_LLVM_VERSION;
}
