/* state.c - the frame of every call, devices, errors. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

#include "../config.h"
#include "hip_api.h"
#include "shim.h"

static struct shim shim = { .lock = PTHREAD_MUTEX_INITIALIZER,
                            .fail_call = -1 };
static _Thread_local int last_error;

static const struct {
    const char *name;
    bool captured;
} calls[FN_COUNT] = {
#define X(name, captured) { #name, captured },
#include "calls.def"
#undef X
};

struct shim *
shim_state(void)
{
    return &shim;
}

static void
start(struct shim *s)
{
    struct kn_env env;

    kn_env_read(&env);
    s->target = KN_TARGET_DEFAULT;
    for (int t = KILN_TARGET_NONE + 1; t < KILN_NTARGETS; t++)
        if (env.shim_target &&
            !strcmp(env.shim_target, kiln_target_name((kiln_target)t)))
            s->target = (kiln_target)t;
    s->log = env.shim_log;
    kn_ctx_init(&s->c, NULL, NULL);
    s->started = true;
}

int
enter(enum hip_call f)
{
    struct shim *s = &shim;

    pthread_mutex_lock(&s->lock);
    if (!s->started)
        start(s);
    s->calls[f]++;
    if (s->fail_call == (int)f)
        return s->fail_with;
    if (s->capturing && !calls[f].captured) {
        s->broken = true;
        return KN_hipErrorStreamCaptureUnsupported;
    }
    return 0;
}

int
enter_for(enum hip_call f, const void *out)
{
    int e = enter(f);

    return e || out ? e : KN_hipErrorInvalidValue;
}

int
leave(int e)
{
    pthread_mutex_unlock(&shim.lock);
    if (e)
        last_error = e;
    return e;
}

void
tell(struct shim *s, const char *fmt, ...)
{
    char text[512] = "kilnhip: ";
    size_t n = strlen(text);
    va_list ap;
    int fd = 2;

    va_start(ap, fmt);
    vsnprintf(text + n, sizeof text - n - 1, fmt, ap);
    va_end(ap);
    strcat(text, "\n");
    if (s->log)
        fd = open(s->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd >= 0 && write(fd, text, strlen(text)) < 0)
        s->log = NULL;       /* nowhere to tell it */
    if (fd > 2)
        close(fd);
}

int
sim_error(struct shim *s, const char *what, int fallback)
{
    int e = s->c.err.status == KILN_NO_MEMORY ? KN_hipErrorOutOfMemory
                                              : fallback;

    tell(s, "%s: %s", what, s->c.err.text);
    memset(&s->c.err, 0, sizeof s->c.err);
    return e;
}

static kiln_status
open_sim(struct shim *s)
{
    KN_ENTER(&s->c);
    KN_TRY(kn_simulator_open(&s->c, &s->api));
    return s->api->open(&s->c, s->target, &s->sim);
}

int
need_sim(struct shim *s)
{
    if (s->sim)
        return 0;
    return open_sim(s) ? sim_error(s, "no simulator", KN_hipErrorNotInitialized)
                       : 0;
}

/* ---- for tests ---------------------------------------------------------- */

static int
call_index(const char *name)
{
    for (int i = 0; i < FN_COUNT; i++)
        if (!strcmp(calls[i].name, name))
            return i;
    return -1;
}

unsigned long
kilnhip_calls(const char *name)
{
    unsigned long n = 0;

    pthread_mutex_lock(&shim.lock);
    for (int i = 0; i < FN_COUNT; i++)
        if (!name || !strcmp(calls[i].name, name))
            n += shim.calls[i];
    pthread_mutex_unlock(&shim.lock);
    return n;
}

void
kilnhip_fail(const char *name, int error)
{
    pthread_mutex_lock(&shim.lock);
    shim.fail_call = name ? call_index(name) : -1;
    shim.fail_with = error;
    pthread_mutex_unlock(&shim.lock);
}

/* ---- errors ------------------------------------------------------------- */

const char *
hipGetErrorName(int e)
{
    switch (e) {
#define X(id, value) case value: return #id;
        KN_HIP_ERRORS(X)
#undef X
    default:
        return "hipErrorUnknown";
    }
}

const char *
hipGetErrorString(int e)
{
    return hipGetErrorName(e);
}

int
hipGetLastError(void)
{
    int e = last_error;

    last_error = 0;
    return e;
}

int
hipPeekAtLastError(void)
{
    return last_error;
}

/* ---- the device --------------------------------------------------------- */

enum { CLOCK_KHZ = 2400000 };
#define DEVICE_MEMORY ((size_t)288 << 30)

int
hipInit(unsigned flags)
{
    int e = enter(FN_hipInit);

    return leave(e ? e : flags ? KN_hipErrorInvalidValue : 0);
}

int
hipGetDeviceCount(int *n)
{
    int e = enter_for(FN_hipGetDeviceCount, n);

    if (n)
        *n = 1;
    return leave(e);
}

int
hipSetDevice(int device)
{
    int e = enter(FN_hipSetDevice);

    return leave(e ? e : device ? KN_hipErrorInvalidDevice : 0);
}

int
hipGetDevice(int *device)
{
    int e = enter_for(FN_hipGetDevice, device);

    if (device)
        *device = 0;
    return leave(e);
}

int
hipDeviceGet(int *device, int ordinal)
{
    int e = enter_for(FN_hipDeviceGet, device);

    if (device)
        *device = 0;
    return leave(e ? e : ordinal ? KN_hipErrorInvalidDevice : 0);
}

/* Numbers of hipDeviceAttribute_t, the same from 5.2 to 6.3. */
static int
attribute(const struct shim *s, int which, int *out)
{
    const struct kn_target_info *chip = &kn_targets[s->target];
    const struct {
        int id, value;
    } table[] = {
        { 5, CLOCK_KHZ },      { 23, 9 },   { 26, 1024 }, { 27, 1024 },
        { 28, 1024 },          { 29, 2147483647 },        { 30, 65536 },
        { 31, 65536 },         { 56, 1024 }, { 61, (int)chip->minor },
        { 63, (int)chip->cus }, { 71, 65536 },
        { 74, (int)chip->lds }, { 87, 64 },
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].id == which) {
            *out = table[i].value;
            return 0;
        }
    *out = 0;
    return 0;
}

int
hipDeviceGetAttribute(int *value, int which, int device)
{
    int e = enter_for(FN_hipDeviceGetAttribute, value);

    if (!e)
        e = device ? KN_hipErrorInvalidDevice
                   : attribute(shim_state(), which, value);
    return leave(e);
}

int
hipDeviceGetName(char *name, int n, int device)
{
    int e = enter_for(FN_hipDeviceGetName, name);

    if (!e && (device || n < 1))
        e = KN_hipErrorInvalidDevice;
    if (!e)
        snprintf(name, (size_t)n, "kiln simulator (%s)",
                 kiln_target_name(shim.target));
    return leave(e);
}

int
hipDeviceGetPCIBusId(char *id, int n, int device)
{
    int e = enter_for(FN_hipDeviceGetPCIBusId, id);

    if (!e && (device || n < 1))
        e = KN_hipErrorInvalidDevice;
    if (!e)
        snprintf(id, (size_t)n, "0000:00:00.0");
    return leave(e);
}

int
hipDeviceTotalMem(size_t *n, int device)
{
    int e = enter_for(FN_hipDeviceTotalMem, n);

    if (n)
        *n = DEVICE_MEMORY;
    return leave(e ? e : device ? KN_hipErrorInvalidDevice : 0);
}

int
hipMemGetInfo(size_t *unused, size_t *total)
{
    int e = enter_for(FN_hipMemGetInfo, unused && total ? total : NULL);

    if (!unused || !total)
        return leave(e);
    *unused = *total = DEVICE_MEMORY;
    for (size_t i = 0; i < shim.nblocks; i++)
        *unused -= shim.block[i].size < *unused ? shim.block[i].size : *unused;
    return leave(e);
}

int
hipDeviceSynchronize(void)
{
    return leave(enter(FN_hipDeviceSynchronize));
}

int
hipDeviceReset(void)
{
    return leave(enter(FN_hipDeviceReset));
}

int
hipRuntimeGetVersion(int *v)
{
    int e = enter_for(FN_hipRuntimeGetVersion, v);

    if (v)
        *v = 60300000;
    return leave(e);
}

int
hipDriverGetVersion(int *v)
{
    int e = enter_for(FN_hipDriverGetVersion, v);

    if (v)
        *v = 60300000;
    return leave(e);
}

/* hipDeviceProp_t grew in ROCm 6; where its fields are in either. */
struct layout {
    size_t size, memory, lds, regs, warp, threads, dim, grid, clock, major,
        minor, cus, arch;
};

static void
put_int(unsigned char *p, size_t at, int v)
{
    memcpy(p + at, &v, sizeof v);
}

static void
fill_properties(const struct shim *s, void *out, const struct layout *l)
{
    const int dim[] = { 1024, 1024, 1024 };
    const int grid[] = { 2147483647, 65536, 65536 };
    const struct kn_target_info *chip = &kn_targets[s->target];
    size_t memory = DEVICE_MEMORY, lds = chip->lds;
    unsigned char *p = out;

    memset(p, 0, l->size);
    snprintf((char *)p, 256, "kiln simulator (%s)",
             kiln_target_name(s->target));
    memcpy(p + l->memory, &memory, sizeof memory);
    memcpy(p + l->lds, &lds, sizeof lds);
    put_int(p, l->regs, 65536);
    put_int(p, l->warp, 64);
    put_int(p, l->threads, 1024);
    memcpy(p + l->dim, dim, sizeof dim);
    memcpy(p + l->grid, grid, sizeof grid);
    put_int(p, l->clock, CLOCK_KHZ);
    put_int(p, l->major, 9);
    put_int(p, l->minor, (int)chip->minor);
    put_int(p, l->cus, (int)chip->cus);
    snprintf((char *)p + l->arch, 64, "%s:sramecc+:xnack-",
             kiln_target_name(s->target));
}

int
hipGetDeviceProperties(void *out, int device)
{
    static const struct layout rocm5 = { 792, 256, 264, 272, 276, 280, 284,
                                         296, 308, 328, 332, 336, 396 };
    int e = enter_for(FN_hipGetDeviceProperties, out);

    if (!e && device)
        e = KN_hipErrorInvalidDevice;
    if (!e)
        fill_properties(&shim, out, &rocm5);
    return leave(e);
}

int
hipGetDevicePropertiesR0600(void *out, int device)
{
    static const struct layout rocm6 = { 1472, 288, 296, 304, 308, 320, 324,
                                         336, 348, 360, 364, 388, 1160 };
    int e = enter_for(FN_hipGetDevicePropertiesR0600, out);

    if (!e && device)
        e = KN_hipErrorInvalidDevice;
    if (!e)
        fill_properties(&shim, out, &rocm6);
    return leave(e);
}
