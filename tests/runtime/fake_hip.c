/* fake_hip.c - a libamdhip64 of one gfx950 that logs its calls. Device memory
 * is host memory; a launch logs what it was given. FAIL makes allocations
 * fail, NOGPU leaves no device. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define F(name) \
    __attribute__((visibility("default"))) int hip##name

static char log_text[4096];

static void
note(const char *fmt, ...)
{
    size_t n = strlen(log_text);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(log_text + n, sizeof log_text - n, fmt, ap);
    va_end(ap);
}

__attribute__((visibility("default"))) const char *fake_log(void);
const char *
fake_log(void)
{
    return log_text;
}

__attribute__((visibility("default"))) const char *hipGetErrorName(int e);
const char *
hipGetErrorName(int e)
{
    return e == 2 ? "hipErrorOutOfMemory" : e == 100 ? "hipErrorNoDevice"
                                                     : "hipErrorFake";
}

F(Init)(unsigned f);
int hipInit(unsigned f) { return (int)f; }

F(GetDeviceCount)(int *n);
int
hipGetDeviceCount(int *n)
{
#ifdef NOGPU
    *n = 0;
    return 100;
#else
    *n = 1;
    return 0;
#endif
}

F(SetDevice)(int d);
int hipSetDevice(int d) { note("SetDevice %d\n", d); return 0; }

F(DeviceGetAttribute)(int *v, int a, int d);
int
hipDeviceGetAttribute(int *v, int a, int d)
{
    (void)d;
    *v = a == 23 ? 9 : a == 61 ? 5 : a == 63 ? 256 : -1;
    return *v < 0;
}

F(DeviceGetName)(char *s, int n, int d);
int
hipDeviceGetName(char *s, int n, int d)
{
    snprintf(s, (size_t)n, "Fake %d", d);
    return 0;
}

F(DeviceGetPCIBusId)(char *s, int n, int d);
int
hipDeviceGetPCIBusId(char *s, int n, int d)
{
    snprintf(s, (size_t)n, "0000:0%d:00.0", d);
    return 0;
}

F(Malloc)(void **p, size_t n);
int
hipMalloc(void **p, size_t n)
{
#ifdef FAIL
    return 2;
#endif
    return !(*p = malloc(n));
}

F(Free)(void *p);
int hipFree(void *p) { free(p); return 0; }

F(Memcpy)(void *d, const void *s, size_t n, int kind);
int
hipMemcpy(void *d, const void *s, size_t n, int kind)
{
    note("Memcpy %zu kind %d\n", n, kind);
    memcpy(d, s, n);
    return 0;
}

F(MemcpyAsync)(void *d, const void *s, size_t n, int kind, void *stream);
int
hipMemcpyAsync(void *d, const void *s, size_t n, int kind, void *stream)
{
    (void)stream;
    return hipMemcpy(d, s, n, kind);
}

F(Memset)(void *d, int v, size_t n);
int hipMemset(void *d, int v, size_t n) { memset(d, v, n); return 0; }

F(ModuleLoadData)(void **m, const void *co);
int
hipModuleLoadData(void **m, const void *co)
{
    *m = (void *)co;
    return memcmp(co, "\177ELF", 4) ? 200 : 0;
}

F(ModuleUnload)(void *m);
int hipModuleUnload(void *m) { note("Unload\n"); return !m; }

F(ModuleGetFunction)(void **f, void *m, const char *name);
int
hipModuleGetFunction(void **f, void *m, const char *name)
{
    *f = m;
    return strcmp(name, "alpha") ? 500 : 0;
}

/* The signature is HIP's. */
#define LAUNCH_PARAMETERS \
    void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, \
    unsigned bz, unsigned lds, void *stream, void **params, void **extra
F(ModuleLaunchKernel)(LAUNCH_PARAMETERS);
int
hipModuleLaunchKernel(LAUNCH_PARAMETERS)
{
    note("Launch %u %u %u, %u %u %u, lds %u, stream %d", gx, gy, gz, bx, by,
         bz, lds, (int)(intptr_t)stream);
    if (extra && extra[0] == (void *)1 && extra[2] == (void *)2 &&
        extra[4] == (void *)3)
        note(", %zu bytes '%.*s'", *(size_t *)extra[3],
             (int)*(size_t *)extra[3], (char *)extra[1]);
    note("\n");
    return !f || params;
}

F(StreamSynchronize)(void *s);
int
hipStreamSynchronize(void *s)
{
    note("Sync %d\n", (int)(intptr_t)s);
    return 0;
}

/* Streams and graphs are there, and do nothing. */
#define NOTHING(name, ...) \
    F(name)(__VA_ARGS__); \
    F(name)(__VA_ARGS__) { return 0; }
NOTHING(StreamCreateWithFlags, void **s __attribute__((unused)),
        unsigned f __attribute__((unused)))
NOTHING(StreamDestroy, void *s __attribute__((unused)))
NOTHING(StreamBeginCapture, void *s __attribute__((unused)),
        int mode __attribute__((unused)))
NOTHING(StreamEndCapture, void *s __attribute__((unused)),
        void **g __attribute__((unused)))
NOTHING(GraphInstantiate, void **x __attribute__((unused)),
        void *g __attribute__((unused)), void **n __attribute__((unused)),
        char *log __attribute__((unused)), size_t s __attribute__((unused)))
NOTHING(GraphLaunch, void *x __attribute__((unused)),
        void *s __attribute__((unused)))
NOTHING(RuntimeGetVersion, int *v __attribute__((unused)))
NOTHING(DriverGetVersion, int *v __attribute__((unused)))
NOTHING(MemGetInfo, size_t *unused __attribute__((unused)),
        size_t *all __attribute__((unused)))
NOTHING(GraphDestroy, void *g __attribute__((unused)))
NOTHING(GraphExecDestroy, void *x __attribute__((unused)))

F(EventCreateWithFlags)(void **e, unsigned f);
int
hipEventCreateWithFlags(void **e, unsigned f)
{
    note("Event\n");
    *e = malloc(1);
    return (int)f;
}

F(EventRecord)(void *e, void *s);
int
hipEventRecord(void *e, void *s)
{
    note("Record %d\n", (int)(intptr_t)s);
    return !e;
}

F(EventSynchronize)(void *e);
int hipEventSynchronize(void *e) { return !e; }

F(EventElapsedTime)(float *ms, void *a, void *b);
int
hipEventElapsedTime(float *ms, void *a, void *b)
{
    *ms = 1.5f;
    return a == b;
}

F(EventDestroy)(void *e);
int
hipEventDestroy(void *e)
{
    note("Destroy\n");
    free(e);
    return 0;
}
