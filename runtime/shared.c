/* shared.c - libraries by dlopen, and their functions. */
#include "shared.h"

#include <dlfcn.h>
#include <string.h>

void *
kn_shared_open(const char *path, const char *const *names, size_t n)
{
    const int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    void *so = NULL;

    if (path)
        return dlopen(path, flags);
    for (size_t i = 0; i < n && !so; i++)
        so = dlopen(names[i], flags);
    return so;
}

const char *
kn_shared_functions(void *so, const struct kn_shared_function *f, size_t n, void *out)
{
    for (size_t i = 0; i < n; i++) {
        void *at = dlsym(so, f[i].name);

        if (!at)
            return f[i].name;
        memcpy((char *)out + f[i].offset, &at, sizeof at);
    }
    return NULL;
}
