/* hip_api.h - the functions of HIP that the shim has, with the parameters of
 * hip_runtime_api.h of ROCm 5.2 to 6.3 in plain C types: handles are void *,
 * enumerators int. */
#ifndef KN_HIP_API_H
#define KN_HIP_API_H

#include <stddef.h>
#include <stdint.h>

struct kn_dim3 {
    uint32_t x, y, z;
};

struct kn_channel {          /* hipChannelFormatDesc */
    int x, y, z, w, kind;
};

struct pitched {             /* hipPitchedPtr */
    char *p;
    size_t pitch, xsize, ysize;
};

struct place {               /* hipPos, hipExtent */
    size_t x, y, z;
};

/* For tests: how often a function was called (NULL: any), and a function that
 * fails with an error until told otherwise (NULL: none). */
unsigned long kilnhip_calls(const char *name);
void kilnhip_fail(const char *name, int error);

const char *hipGetErrorName(int e);
const char *hipGetErrorString(int e);
int hipGetLastError(void);
int hipPeekAtLastError(void);
int hipInit(unsigned flags);
int hipGetDeviceCount(int *n);
int hipSetDevice(int device);
int hipGetDevice(int *device);
int hipDeviceGet(int *device, int ordinal);
int hipDeviceGetAttribute(int *value, int which, int device);
int hipDeviceGetName(char *name, int n, int device);
int hipDeviceGetPCIBusId(char *id, int n, int device);
int hipDeviceTotalMem(size_t *n, int device);
int hipMemGetInfo(size_t *unused, size_t *total);
int hipDeviceSynchronize(void);
int hipDeviceReset(void);
int hipRuntimeGetVersion(int *v);
int hipDriverGetVersion(int *v);
int hipGetDeviceProperties(void *out, int device);
int hipGetDevicePropertiesR0600(void *out, int device);
int hipMalloc(void **p, size_t n);
int hipFree(void *p);
int hipHostMalloc(void **p, size_t n, unsigned flags);
int hipHostFree(void *p);
int hipMemcpy(void *dst, const void *src, size_t n, int kind);
int hipMemcpyHtoD(void *dst, void *src, size_t n);
int hipMemcpyDtoH(void *dst, void *src, size_t n);
int hipMemcpyDtoD(void *dst, void *src, size_t n);
int hipMemcpyAsync(void *dst, const void *src, size_t n, int kind, void
    *stream);
int hipMemset(void *dst, int byte, size_t n);
int hipMemsetAsync(void *dst, int byte, size_t n, void *stream);
int hipStreamCreate(void **out);
int hipStreamCreateWithFlags(void **out, unsigned flags);
int hipStreamDestroy(void *stream);
int hipStreamSynchronize(void *stream);
int hipStreamQuery(void *stream);
int hipStreamWaitEvent(void *stream, void *event, unsigned flags);
int hipStreamBeginCapture(void *stream, int mode);
int hipStreamEndCapture(void *stream, void **graph);
int hipStreamIsCapturing(void *stream, int *status);
int hipGraphInstantiate(void **exec, void *graph, void **node, char *log,
    size_t n);
int hipGraphLaunch(void *exec, void *stream);
int hipGraphDestroy(void *graph);
int hipGraphExecDestroy(void *exec);
int hipEventCreate(void **out);
int hipEventCreateWithFlags(void **out, unsigned flags);
int hipEventRecord(void *event, void *stream);
int hipEventSynchronize(void *event);
int hipEventQuery(void *event);
int hipEventElapsedTime(float *ms, void *start, void *stop);
int hipEventDestroy(void *event);
int hipModuleLoadData(void **out, const void *image);
int hipModuleLoad(void **out, const char *path);
int hipModuleUnload(void *module);
int hipModuleGetFunction(void **out, void *module, const char *name);
int hipModuleGetGlobal(void **out, size_t *n, void *module, const char *name);
int hipFuncGetAttribute(int *value, int which, void *function);
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *function,
    int block, size_t lds);
int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned
    gz, unsigned bx, unsigned by, unsigned bz, unsigned lds, void *stream,
    void **params, void **extra);
int hipExtMallocWithFlags(void **p, size_t n, unsigned flags);
int hipMallocAsync(void **p, size_t n, void *stream);
int hipMallocManaged(void **p, size_t n, unsigned flags);
int hipHostAlloc(void **p, size_t n, unsigned flags);
int hipMallocHost(void **p, size_t n);
int hipMallocPitch(void **p, size_t *pitch, size_t width, size_t height);
int hipFreeAsync(void *p, void *stream);
int hipFreeHost(void *p);
int hipHostRegister(void *p, size_t n, unsigned flags);
int hipHostUnregister(void *p);
int hipHostGetDevicePointer(void **out, void *p, unsigned flags);
int hipHostGetFlags(unsigned *flags, void *p);
int hipPointerGetAttributes(void *out, const void *p);
int hipMemGetAddressRange(void **base, size_t *n, void *p);
int hipMemPrefetchAsync(const void *p, size_t n, int device, void *stream);
int hipMemAdvise(const void *p, size_t n, int advice, int device);
int hipMemcpyWithStream(void *dst, const void *src, size_t n, int kind, void
    *stream);
int hipMemcpyHtoDAsync(void *dst, void *src, size_t n, void *stream);
int hipMemcpyDtoHAsync(void *dst, void *src, size_t n, void *stream);
int hipMemcpyDtoDAsync(void *dst, void *src, size_t n, void *stream);
int hipMemcpyPeer(void *dst, int to, const void *src, int from, size_t n);
int hipMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t n,
    void *stream);
int hipMemcpy3D(const void *params);
int hipMemcpy3DAsync(const void *params, void *stream);
int hipDrvMemcpy3D(const void *params);
int hipDrvMemcpy3DAsync(const void *params, void *stream);
int hipMemcpy3DPeer(const void *params);
int hipMemcpy3DPeerAsync(const void *params, void *stream);
int hipMalloc3D(void *out, struct place extent);
int hipMemset3D(struct pitched p, int value, struct place extent);
int hipMemset3DAsync(struct pitched p, int value, struct place extent, void
    *stream);
int hipMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch,
    size_t width, size_t height, int kind);
int hipMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
    size_t width, size_t height, int kind, void *stream);
int hipMemsetD8(void *dst, unsigned char value, size_t n);
int hipMemsetD8Async(void *dst, unsigned char value, size_t n, void *stream);
int hipMemsetD16(void *dst, unsigned short value, size_t n);
int hipMemsetD16Async(void *dst, unsigned short value, size_t n, void *stream);
int hipMemsetD32(void *dst, int value, size_t n);
int hipMemsetD32Async(void *dst, int value, size_t n, void *stream);
int hipMemset2D(void *dst, size_t pitch, int value, size_t width, size_t
    height);
int hipMemset2DAsync(void *dst, size_t pitch, int value, size_t width, size_t
    height, void *stream);
int hipGetSymbolAddress(void **p, const void *symbol);
int hipGetSymbolSize(size_t *n, const void *symbol);
int hipMemcpyToSymbol(const void *symbol, const void *src, size_t n, size_t
    offset, int kind);
int hipMemcpyToSymbolAsync(const void *symbol, const void *src, size_t n,
    size_t offset, int kind, void *stream);
int hipMemcpyFromSymbol(void *dst, const void *symbol, size_t n, size_t offset,
    int kind);
int hipMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t n, size_t
    offset, int kind, void *stream);
int hipOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *host, int
    block, size_t lds);
int hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void
    *host, int block, size_t lds, unsigned flags);
int hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *host,
    size_t lds, int limit);
int hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, void
    *function, size_t lds, int limit);
int hipFuncGetAttributes(void *out, const void *host);
int hipFuncSetAttribute(const void *host, int which, int value);
int hipFuncSetCacheConfig(const void *host, int config);
int hipFuncSetSharedMemConfig(const void *host, int config);
int hipLaunchCooperativeKernel(const void *host, struct kn_dim3 grid, struct
    kn_dim3 block, void **args, unsigned lds, void *stream);
int hipExtLaunchKernel(const void *host, struct kn_dim3 grid, struct kn_dim3
    block, void **args, size_t lds, void *stream, void *start, void *stop, int
    flags);
int hipGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long
    flags);
int hipGraphCreate(void **out, unsigned flags);
int hipGraphAddEmptyNode(void **out, void *graph, void *const *on, size_t n);
int hipGraphAddHostNode(void **out, void *graph, void *const *on, size_t n,
    const void *params);
int hipGraphAddMemsetNode(void **out, void *graph, void *const *on, size_t n,
    const void *params);
int hipGraphAddMemcpyNode1D(void **out, void *graph, void *const *on, size_t n,
    void *dst, const void *src, size_t bytes, int kind);
int hipGraphAddMemcpyNode(void **out, void *graph, void *const *on, size_t n,
    const void *params);
int hipGraphAddKernelNode(void **out, void *graph, void *const *on, size_t n,
    const void *params);
int hipGraphAddDependencies(void *graph, void *const *from, void *const *to,
    size_t n);
int hipGraphGetNodes(void *graph, void **nodes, size_t *n);
int hipGraphNodeGetType(void *node, int *type);
int hipStreamCreateWithPriority(void **out, unsigned flags, int priority);
int hipDeviceGetStreamPriorityRange(int *least, int *greatest);
int hipStreamGetFlags(void *stream, unsigned *flags);
int hipStreamGetPriority(void *stream, int *priority);
int hipStreamAddCallback(void *stream, void (*call)(void *, int, void *), void
    *user, unsigned flags);
int hipLaunchHostFunc(void *stream, void (*call)(void *), void *user);
int hipDeviceCanAccessPeer(int *can, int device, int peer);
int hipDeviceEnablePeerAccess(int peer, unsigned flags);
int hipDeviceDisablePeerAccess(int peer);
int hipDeviceGetByPCIBusId(int *device, const char *id);
int hipDeviceComputeCapability(int *major, int *minor, int device);
int hipChooseDevice(int *device, const void *wanted);
int hipGetDeviceFlags(unsigned *flags);
int hipSetDeviceFlags(unsigned flags);
int hipDeviceGetCacheConfig(int *config);
int hipDeviceSetCacheConfig(int config);
int hipDeviceGetSharedMemConfig(int *config);
int hipDeviceSetSharedMemConfig(int config);
int hipDeviceGetLimit(size_t *value, int limit);
int hipDeviceSetLimit(int limit, size_t value);
struct kn_channel hipCreateChannelDesc(int x, int y, int z, int w, int kind);
#define TEXTURE(name) int name(void);
#include "textures.def"
#undef TEXTURE
int hipModuleLoadDataEx(void **out, const void *image, unsigned n, int
    *options, void **values);
void **__hipRegisterFatBinary(const void *wrapper);
void __hipRegisterFunction(void **binary, const void *host, char *device,
    const char *name, unsigned limit, void *tid, void *bid, void *block, void
    *grid, int *size);
void __hipRegisterVar(void **binary, void *var, char *host, char *device, int
    ext, size_t size, int constant, int global);
void __hipRegisterManagedVar(void **binary, void **host, void *init, const
    char *name, size_t size, unsigned align);
void __hipUnregisterFatBinary(void **binary);
int __hipPushCallConfiguration(struct kn_dim3 grid, struct kn_dim3 block,
    size_t lds, void *stream);
int __hipPopCallConfiguration(struct kn_dim3 *grid, struct kn_dim3 *block,
    size_t *lds, void **stream);
int hipLaunchKernel(const void *host, struct kn_dim3 grid, struct kn_dim3
    block, void **args, size_t lds, void *stream);

#endif
