/* gpu.c - what the device says of itself. */
#include <stdio.h>
#include <string.h>

#include "hip_api.h"
#include "shim.h"

enum { CLOCK_KHZ = 2400000, MEMORY_KHZ = 2000000, L2_BYTES = 4 << 20 };
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

/* Numbers of hipDeviceAttribute_t, the same from 5.2 to 6.3. What a compute
 * unit holds: CDNA3 ISA, 3; caches and memory: chips' data sheets. */
static int
attribute(const struct shim *s, int which, int *out)
{
    const struct kn_target_info *chip = &kn_targets[s->target];
    const struct {
        int id, value;
    } table[] = {
        { 2, 8 },              { 3, 1 },    { 5, CLOCK_KHZ }, { 8, 1 },
        { 10, 1 },             { 19, L2_BYTES },              { 23, 9 },
        { 24, 1 },             { 26, 1024 }, { 27, 1024 },    { 28, 1024 },
        { 29, 2147483647 },    { 30, 65536 }, { 31, 65536 },  { 56, 1024 },
        { 57, 2048 },          { 58, 2147483647 },            { 59, 8192 },
        { 60, (int)MEMORY_KHZ }, { 61, (int)chip->minor },
        { 63, (int)s->cus }, { 71, 65536 }, { 72, 65536 },
        { 74, (int)chip->lds }, { 76, (int)chip->lds },
        { 78, 1 },             { 83, 2147483647 },            { 85, 1 },
        { 87, 64 },            { 10000, 100000 },
        { 10002, (int)chip->lds }, { 10018, (int)s->xcds },
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
                 kiln_target_name(shim_state()->target));
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
    const struct shim *s = shim_state();

    if (!unused || !total)
        return leave(e);
    *unused = *total = DEVICE_MEMORY;
    for (size_t i = 0; i < s->nblocks; i++)
        *unused -= s->block[i].size < *unused ? s->block[i].size : *unused;
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
        minor, cus, arch, constant, l2, resident, memory_clock, memory_bus,
        concurrent, lds_cu, map_host, cooperative, managed;
};

static void
put_int(unsigned char *p, size_t at, int v)
{
    memcpy(p + at, &v, sizeof v);
}

static void
put_size(unsigned char *p, size_t at, size_t v)
{
    memcpy(p + at, &v, sizeof v);
}

static void
fill_properties(const struct shim *s, void *out, const struct layout *l)
{
    const int dim[] = { 1024, 1024, 1024 };
    const int grid[] = { 2147483647, 65536, 65536 };
    const struct kn_target_info *chip = &kn_targets[s->target];
    unsigned char *p = out;

    memset(p, 0, l->size);
    snprintf((char *)p, 256, "kiln simulator (%s)",
             kiln_target_name(s->target));
    put_size(p, l->memory, DEVICE_MEMORY);
    put_size(p, l->lds, chip->lds);
    put_size(p, l->lds_cu, chip->lds);
    put_size(p, l->constant, 2147483647);
    put_int(p, l->regs, 65536);
    put_int(p, l->warp, 64);
    put_int(p, l->threads, 1024);
    memcpy(p + l->dim, dim, sizeof dim);
    memcpy(p + l->grid, grid, sizeof grid);
    put_int(p, l->clock, CLOCK_KHZ);
    put_int(p, l->memory_clock, MEMORY_KHZ);
    put_int(p, l->memory_bus, 8192);
    put_int(p, l->l2, L2_BYTES);
    put_int(p, l->resident, 2048);
    put_int(p, l->concurrent, 1);
    put_int(p, l->map_host, 1);
    put_int(p, l->cooperative, 1);
    put_int(p, l->managed, 1);
    put_int(p, l->major, 9);
    put_int(p, l->minor, (int)chip->minor);
    put_int(p, l->cus, (int)s->cus);
    snprintf((char *)p + l->arch, 64, "%s:sramecc+:xnack-",
             kiln_target_name(s->target));
}

static int
properties(enum hip_call f, void *out, int device, const struct layout *l)
{
    int e = enter_for(f, out);

    if (!e && device)
        e = KN_hipErrorInvalidDevice;
    if (!e)
        fill_properties(shim_state(), out, l);
    return leave(e);
}

int
hipGetDeviceProperties(void *out, int device)
{
    static const struct layout rocm5 = {
        792, 256, 264, 272, 276, 280, 284, 296, 308, 328, 332, 336, 396,
        320, 340, 344, 312, 316, 360, 376, 388, 656, 772 };

    return properties(FN_hipGetDeviceProperties, out, device, &rocm5);
}

int
hipGetDevicePropertiesR0600(void *out, int device)
{
    static const struct layout rocm6 = {
        1472, 288, 296, 304, 308, 320, 324, 336, 348, 360, 364, 388, 1160,
        352, 616, 624, 608, 612, 576, 640, 400, 688, 652 };

    return properties(FN_hipGetDevicePropertiesR0600, out, device, &rocm6);
}

static size_t
stack_bytes(const struct shim *s)
{
    return s->stack ? s->stack : 1024;
}

/* ---- one device has no peers; caches and limits are as they are ---------- */

int
hipDeviceCanAccessPeer(int *can, int device, int peer)
{
    int e = enter_for(FN_hipDeviceCanAccessPeer, can);

    if (can)
        *can = 0;
    return leave(e ? e : device || peer ? KN_hipErrorInvalidDevice : 0);
}

int
hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)peer;
    (void)flags;
    enter(FN_hipDeviceEnablePeerAccess);
    return leave(KN_hipErrorInvalidDevice);
}

int
hipDeviceDisablePeerAccess(int peer)
{
    (void)peer;
    enter(FN_hipDeviceDisablePeerAccess);
    return leave(KN_hipErrorPeerAccessNotEnabled);
}

int
hipDeviceGetByPCIBusId(int *device, const char *id)
{
    int e = enter_for(FN_hipDeviceGetByPCIBusId, id ? device : NULL);

    if (!e && strcmp(id, "0000:00:00.0") != 0)
        e = KN_hipErrorInvalidDevice;
    if (!e)
        *device = 0;
    return leave(e);
}

int
hipDeviceComputeCapability(int *major, int *minor, int device)
{
    int e = enter_for(FN_hipDeviceComputeCapability, major ? minor : NULL);

    if (!e && device)
        e = KN_hipErrorInvalidDevice;
    if (!e) {
        *major = 9;
        *minor = (int)kn_targets[shim_state()->target].minor;
    }
    return leave(e);
}

int
hipChooseDevice(int *device, const void *wanted)
{
    int e = enter_for(FN_hipChooseDevice, wanted ? device : NULL);

    if (!e)
        *device = 0;
    return leave(e);
}

int
hipGetDeviceFlags(unsigned *flags)
{
    int e = enter_for(FN_hipGetDeviceFlags, flags);

    if (!e)
        *flags = 0;
    return leave(e);
}

int
hipSetDeviceFlags(unsigned flags)
{
    (void)flags;
    return leave(enter(FN_hipSetDeviceFlags));
}

int
hipDeviceGetCacheConfig(int *config)
{
    int e = enter_for(FN_hipDeviceGetCacheConfig, config);

    if (!e)
        *config = 0;
    return leave(e);
}

int
hipDeviceSetCacheConfig(int config)
{
    (void)config;
    return leave(enter(FN_hipDeviceSetCacheConfig));
}

int
hipDeviceGetSharedMemConfig(int *config)
{
    int e = enter_for(FN_hipDeviceGetSharedMemConfig, config);

    if (!e)
        *config = 0;
    return leave(e);
}

int
hipDeviceSetSharedMemConfig(int config)
{
    (void)config;
    return leave(enter(FN_hipDeviceSetSharedMemConfig));
}

/* hipLimit_t; the size of a stack is of the kernels that need to be told. */
enum { LIMIT_STACK, LIMIT_PRINTF, LIMIT_HEAP };

int
hipDeviceGetLimit(size_t *value, int limit)
{
    int e = enter_for(FN_hipDeviceGetLimit, value);

    if (!e && (limit < LIMIT_STACK || limit > LIMIT_HEAP))
        e = KN_hipErrorInvalidValue;
    if (!e)
        *value = limit == LIMIT_PRINTF ? (size_t)1 << 20
                 : limit == LIMIT_STACK ? stack_bytes(shim_state()) : 0;
    return leave(e);
}

int
hipDeviceSetLimit(int limit, size_t value)
{
    int e = enter(FN_hipDeviceSetLimit);

    if (!e && limit != LIMIT_STACK)
        e = KN_hipErrorNotSupported;
    if (!e && (!value || value > (size_t)1 << 18))
        e = KN_hipErrorInvalidValue;
    if (!e)
        shim_state()->stack = (uint32_t)value;
    return leave(e);
}
