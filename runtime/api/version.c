/* version.c - what this build is, as part of every key. */
#include "context.h"
#include "generator_id.h"

_Static_assert(KILN_VERSION == KN_PROJECT_VERSION,
               "kiln.h and meson.build name different versions");

int
kiln_version(void)
{
    return KILN_VERSION;
}

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
