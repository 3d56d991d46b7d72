// 10_sum.hip - a HIP program that knows nothing of kiln. Without a GPU:
//
//   kiln-hipcc -g -O2 10_sum.hip -o sum && ./sum
//
// With -DNO_BARRIER it lacks what most GPUs forgive most of the time.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call) \
    do { \
        hipError_t e_ = (call); \
        if (e_ != hipSuccess) { \
            fprintf(stderr, #call ": %s\n", hipGetErrorString(e_)); \
            exit(1); \
        } \
    } while (0)

constexpr unsigned BLOCK = 256;

__global__ void
sum(const int *in, int *out, int n)
{
    __shared__ int part[BLOCK];
    int total = 0;

    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n;
         i += gridDim.x * BLOCK)
        total += in[i];
    part[threadIdx.x] = total;
    for (unsigned half = BLOCK / 2; half; half /= 2) {
#ifndef NO_BARRIER
        __syncthreads();
#endif
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        atomicAdd(out, part[0]);
}

int
main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 100000;
    std::vector<int> in(n);
    int *din, *dout, out, want = 0;

    for (int i = 0; i < n; i++)
        want += in[i] = i % 7;
    CHECK(hipMalloc(&din, n * sizeof(int)));
    CHECK(hipMalloc(&dout, sizeof(int)));
    CHECK(hipMemcpy(din, in.data(), n * sizeof(int), hipMemcpyHostToDevice));
    CHECK(hipMemset(dout, 0, sizeof(int)));
    sum<<<16, BLOCK>>>(din, dout, n);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(&out, dout, sizeof(int), hipMemcpyDeviceToHost));
    printf("sum of %d: %d, expected %d\n", n, out, want);
    CHECK(hipFree(din));
    CHECK(hipFree(dout));
    return out != want;
}
