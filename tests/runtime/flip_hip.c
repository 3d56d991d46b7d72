/* flip_hip.c - the fake HIP library with one bit of every download wrong. */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

enum { DEVICE_TO_HOST = 2 };

int hipMemcpy(void *dst, const void *src, size_t n, int kind);
int hipInit(unsigned flags);
int hipFlipped(void);

/* Everything else is the other library's: this keeps it needed. */
int
hipFlipped(void)
{
    return hipInit(0);
}

int
hipMemcpy(void *dst, const void *src, size_t n, int kind)
{
    int (*next)(void *, const void *, size_t, int);
    void *f = dlsym(RTLD_NEXT, "hipMemcpy");
    int e;

    memcpy(&next, &f, sizeof next);
    e = next(dst, src, n, kind);
    if (!e && kind == DEVICE_TO_HOST && n > 100)
        ((unsigned char *)dst)[100] ^= 1;
    return e;
}
