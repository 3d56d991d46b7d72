/* 06_hip.c - a plain HIP program that knows nothing of kiln: module API, a
 * stream, events. Without a GPU:
 *
 *   clang-22 -target amdgcn-amd-amdhsa -mcpu=gfx950 -nogpulib -O2 -x cl \
 *       -o saxpy.co 06_saxpy.cl
 *   cc -D__HIP_PLATFORM_AMD__ 06_hip.c -o 06_hip -lamdhip64
 *   LD_PRELOAD=libkilnhip.so ./06_hip saxpy.co
 */
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) \
    do { \
        hipError_t e_ = (call); \
        if (e_ != hipSuccess) { \
            fprintf(stderr, #call ": %s\n", hipGetErrorString(e_)); \
            exit(1); \
        } \
    } while (0)

enum { N = 10000, BLOCK = 256 };

int
main(int argc, char **argv)
{
    static float x[N], y[N];
    size_t bytes = sizeof x;
    float a = 2.5f, *dx, *dy, ms;
    int n = N, wrong = 0;
    void *args[] = { &a, &dx, &dy, &n };
    hipDeviceProp_t props;
    hipFunction_t f;
    hipStream_t stream;
    hipEvent_t start, stop;
    hipModule_t module;

    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    CHECK(hipGetDeviceProperties(&props, 0));
    printf("%s, %d compute units\n", props.name, props.multiProcessorCount);
    CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    CHECK(hipEventCreate(&start));
    CHECK(hipEventCreate(&stop));
    CHECK(hipMalloc((void **)&dx, bytes));
    CHECK(hipMalloc((void **)&dy, bytes));
    CHECK(hipMemcpyAsync(dx, x, bytes, hipMemcpyHostToDevice, stream));
    CHECK(hipMemcpyAsync(dy, y, bytes, hipMemcpyHostToDevice, stream));
    CHECK(hipModuleLoad(&module, argc > 1 ? argv[1] : "saxpy.co"));
    CHECK(hipModuleGetFunction(&f, module, "saxpy"));
    CHECK(hipEventRecord(start, stream));
    CHECK(hipModuleLaunchKernel(f, (N + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1,
                                0, stream, args, NULL));
    CHECK(hipEventRecord(stop, stream));
    CHECK(hipMemcpyAsync(y, dy, bytes, hipMemcpyDeviceToHost, stream));
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipEventElapsedTime(&ms, start, stop));
    for (int i = 0; i < N; i++)
        wrong += y[i] != a * (float)i + 1;
    printf("saxpy of %d: %d wrong\n", N, wrong);
    CHECK(hipModuleUnload(module));
    CHECK(hipFree(dx));
    CHECK(hipFree(dy));
    CHECK(hipStreamDestroy(stream));
    return wrong != 0;
}
