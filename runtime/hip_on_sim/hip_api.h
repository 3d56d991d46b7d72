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
void **__hipRegisterFatBinary(const void *wrapper);
void __hipRegisterFunction(void **binary, const void *host, char *device,
    const char *name, unsigned limit, void *tid, void *bid, void *block, void
    *grid, int *size);
void __hipRegisterVar(void **binary, void *var, char *host, char *device, int
    ext, size_t size, int constant, int global);
void __hipUnregisterFatBinary(void **binary);
int __hipPushCallConfiguration(struct kn_dim3 grid, struct kn_dim3 block,
    size_t lds, void *stream);
int __hipPopCallConfiguration(struct kn_dim3 *grid, struct kn_dim3 *block,
    size_t *lds, void **stream);
int hipLaunchKernel(const void *host, struct kn_dim3 grid, struct kn_dim3
    block, void **args, size_t lds, void *stream);

#endif
