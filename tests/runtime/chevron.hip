// chevron.hip - a HIP program in CUDA's notation, with the few declarations
// that clang's device headers would bring (Debian has no device library).
#include <stdio.h>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))

struct dim3 {
    unsigned x, y, z;
    __host__ __device__ dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1)
        : x(a), y(b), z(c) {}
};
typedef void *hipStream_t;
extern "C" {
int __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds = 0,
                               hipStream_t stream = nullptr);
int __hipPopCallConfiguration(dim3 *, dim3 *, size_t *, hipStream_t *);
int hipLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t);
int hipMalloc(void **, size_t);
int hipMemcpy(void *, const void *, size_t, int);
int hipDeviceSynchronize();
int hipGetLastError();
}

__global__ void
add(const float *a, const float *b, float *c, int n)
{
    int i = __builtin_amdgcn_workgroup_id_x() * 256 +
            __builtin_amdgcn_workitem_id_x();
    if (i < n)
        c[i] = a[i] + b[i];
}

enum { N = 1000 };

int
main()
{
    static float h[N];
    void *a, *b, *c;
    int wrong = 0;

    for (int i = 0; i < N; i++)
        h[i] = float(i);
    if (hipMalloc(&a, sizeof h) || hipMalloc(&b, sizeof h) ||
        hipMalloc(&c, sizeof h) || hipMemcpy(a, h, sizeof h, 1) ||
        hipMemcpy(b, h, sizeof h, 1))
        return 1;
    add<<<4, 256>>>((float *)a, (float *)b, (float *)c, N);
    if (hipGetLastError() || hipDeviceSynchronize() ||
        hipMemcpy(h, c, sizeof h, 2))
        return 2;
    for (int i = 0; i < N; i++)
        wrong += h[i] != 2 * float(i);
    printf("%d sums, %d wrong\n", N, wrong);
    return wrong != 0;
}
