/* fault_hip.c - the fake HIP library on which some kernels go wrong, as
 * FAULT_HIP says: "KERNEL=HOW,KERNEL=HOW,...", how being one of
 *   abort   the process dies as the GPU's runtime ends it
 *   fault   the launch fails
 *   hang    the launch does not end
 *   bit     one bit of what is read after a launch is wrong
 *   beyond  the launch writes behind its output
 *   kill    the process that started this one is killed */
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64, DEVICE_TO_HOST = 2, LAUNCH_FAILURE = 719 };

int hipInit(unsigned flags);
int fault_anchor(void);
int hipMalloc(void **out, size_t n);
int hipMemset(void *dst, int byte, size_t n);
int hipMemcpy(void *dst, const void *src, size_t n, int kind);
int hipModuleGetFunction(void **out, void *module, const char *name);
int hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz,
                          unsigned bx, unsigned by, unsigned bz, unsigned lds,
                          void *stream, void **params, void **extra);

static struct { void *f; char how[16]; } seen[MOST];
static int nseen, flipping;
static char *last_block;
static size_t last_size;

int
fault_anchor(void)
{
    return hipInit(0);
}

/* The library's own function of this name. */
#define NEXT(name)                                                            \
    __typeof__(&name) real;                                                   \
    void *found = dlsym(RTLD_NEXT, #name);                                    \
    int e = (memcpy(&real, &found, sizeof real), 0)

/* What FAULT_HIP says of a kernel; "" for nothing. */
static void
look_up(const char *name, char how[16])
{
    const char *s = getenv("FAULT_HIP");
    size_t n = strlen(name);

    how[0] = '\0';
    for (; s && *s; s = strchr(s, ',') ? strchr(s, ',') + 1 : "")
        if (!strncmp(s, name, n) && s[n] == '=')
            snprintf(how, 16, "%.*s", (int)strcspn(s + n + 1, ","), s + n + 1);
}

int
hipModuleGetFunction(void **out, void *module, const char *name)
{
    NEXT(hipModuleGetFunction);

    e = real(out, module, name);

    if (!e && nseen < MOST) {
        seen[nseen].f = *out;
        look_up(name, seen[nseen++].how);
    }
    return e;
}

int
hipMalloc(void **out, size_t n)
{
    NEXT(hipMalloc);

    e = real(out, n);

    last_block = e ? NULL : *out;
    last_size = n;
    return e;
}

int
hipMemcpy(void *dst, const void *src, size_t n, int kind)
{
    NEXT(hipMemcpy);

    e = real(dst, src, n, kind);

    if (!e && flipping && kind == DEVICE_TO_HOST && n > 100) {
        ((unsigned char *)dst)[100] ^= 1;
        flipping = 0;
    }
    return e;
}

/* Once: a graph under capture takes no memset. */
static void
go_wrong(char *how)
{
    if (!strcmp(how, "abort")) {
        fprintf(stderr, "Memory access fault by GPU node-1\n");
        abort();
    }
    if (!strcmp(how, "kill")) {
        kill(getppid(), SIGKILL);
        _exit(1);
    }
    while (!strcmp(how, "hang"))
        pause();
    if (!strcmp(how, "beyond") && last_block) {
        hipMemset(last_block + last_size - 64, 0, 4);
        *how = '\0';
    }
    flipping = !strcmp(how, "bit");
}

int
hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz,
                      unsigned bx, unsigned by, unsigned bz, unsigned lds,
                      void *stream, void **params, void **extra)
{
    NEXT(hipModuleLaunchKernel);

    e = real(f, gx, gy, gz, bx, by, bz, lds, stream, params, extra);

    for (int i = 0; i < nseen && !e; i++)
        if (seen[i].f == f) {
            go_wrong(seen[i].how);
            e = strcmp(seen[i].how, "fault") ? 0 : LAUNCH_FAILURE;
        }
    return e;
}
