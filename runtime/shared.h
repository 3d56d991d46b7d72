/* shared.h - a library that somebody else installed, by dlopen. */
#ifndef KN_SHARED_H
#define KN_SHARED_H

#include <stddef.h>

/* The library at `path`, NULL: the first of n names that there is. NULL: none. It is never
 * unloaded, for what it leaves behind in other libraries and threads. */
void *kn_shared_open(const char *path, const char *const *names, size_t n);

/* A function, and where its pointer goes in a struct. */
struct kn_shared_function {
    const char *name;
    size_t offset;
};

/* Fills n pointers of `out`; the name of the first function that is not there, or NULL. */
const char *kn_shared_functions(void *so, const struct kn_shared_function *f, size_t n, void *out);

#endif
