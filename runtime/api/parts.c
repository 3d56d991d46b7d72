/* parts.c - the two libraries that libkiln opens on first need (context.h). */
#include "context.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The file name beside the library that holds this function, whatever link
 * it was opened by. */
static const char *
beside_us(struct kn_ctx *c, const char *library)
{
    struct kn_buf b = { .c = c };
    void *(*here)(struct kn_ctx *, const char *, const char *) = kn_part_open;
    char real[PATH_MAX];
    void *address;
    Dl_info info;

    memcpy(&address, &here, sizeof address);
    if (!dladdr(address, &info) || !info.dli_fname ||
        !realpath(info.dli_fname, real))
        return NULL;
    *strrchr(real, '/') = '\0';
    kn_putf(&b, "%s/%s", real, library);
    return b.s;
}

/* Never closed: LLVM cannot be unloaded. */
void *
kn_part_open(struct kn_ctx *c, const char *library, const char *entry)
{
    const int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    const char *path = beside_us(c, library), *why;
    void *so = path ? dlopen(path, flags) : NULL;
    void *f;

    if (!so)
        so = dlopen(library, flags);
    if (!so) {
        why = dlerror();
        kn_fail(c, KILN_UNSUPPORTED, "%s cannot be opened: %s", library,
                why ? why : "?");
        return NULL;
    }
    f = dlsym(so, entry);
    if (!f)
        kn_fail(c, KILN_UNSUPPORTED, "%s has no %s", library, entry);
    return f;
}

static kiln_status
same_build(struct kn_ctx *c, const char *library, const char *generator)
{
    if (strcmp(generator, kn_generator_id()) != 0)
        return kn_fail(c, KILN_UNSUPPORTED, "%s is of another build (%s) "
                       "than libkiln (%s)", library, generator,
                       kn_generator_id());
    return KILN_OK;
}

kiln_status
kn_codegen_open(struct kn_ctx *c, const struct kn_codegen **out)
{
    static const char library[] = "libkiln-cg.so." KN_SOVERSION;
    void *f = kn_part_open(c, library, "kiln_cg_interface");
    const struct kn_codegen *(*entry)(void);

    if (!f)
        return c->err.status;
    memcpy(&entry, &f, sizeof entry);
    *out = entry();
    return same_build(c, library, (*out)->generator);
}

kiln_status
kn_simulator_open(struct kn_ctx *c, const struct kn_simulator **out)
{
    static const char library[] = "libkiln-sim.so." KN_SOVERSION;
    void *f = kn_part_open(c, library, "kiln_sim_interface");
    const struct kn_simulator *(*entry)(void);

    if (!f)
        return c->err.status;
    memcpy(&entry, &f, sizeof entry);
    *out = entry();
    return same_build(c, library, (*out)->generator);
}
