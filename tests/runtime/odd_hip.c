/* odd_hip.c - the fake HIP library with kernels that fail, and a clock by
 * which every kernel is faster than those launched before it. */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

enum { MOST = 64, LAUNCH_FAILURE = 719 };

/* What happens to launches of all functions but the first. */
enum { FINE, FAIL, DROP };

int hipInit(unsigned flags);
int odd_anchor(void);
void odd_mode(int mode);
int hipEventRecord(void *event, void *stream);
int hipEventElapsedTime(float *ms, void *start, void *stop);
int hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz,
                          unsigned bx, unsigned by, unsigned bz, unsigned lds,
                          void *stream, void **params, void **extra);

static int mode, timing, nseen, last;
static void *seen[MOST];

int
odd_anchor(void)
{
    return hipInit(0);
}

void
odd_mode(int m)
{
    mode = m;
    nseen = timing = 0;
}

static void *
next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* Between two events launches are for the clock, not for their results. */
int
hipEventRecord(void *event, void *stream)
{
    int (*real)(void *, void *);
    void *f = next("hipEventRecord");

    memcpy(&real, &f, sizeof real);
    timing = !timing;
    return real(event, stream);
}

int
hipEventElapsedTime(float *ms, void *start, void *stop)
{
    (void)start;
    (void)stop;
    *ms = 100.0f / (float)(1 + last);
    return 0;
}

static int
number_of(void *f)
{
    for (int i = 0; i < nseen; i++)
        if (seen[i] == f)
            return i;
    if (nseen < MOST)
        seen[nseen++] = f;
    return nseen - 1;
}

int
hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz,
                      unsigned bx, unsigned by, unsigned bz, unsigned lds,
                      void *stream, void **params, void **extra)
{
    int (*real)(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                unsigned, unsigned, void *, void **, void **);
    void *r = next("hipModuleLaunchKernel");

    last = number_of(f);
    if (last && mode == FAIL)
        return LAUNCH_FAILURE;
    if (timing || (last && mode == DROP))
        return 0;
    memcpy(&real, &r, sizeof real);
    return real(f, gx, gy, gz, bx, by, bz, lds, stream, params, extra);
}
