// triton.cpp - a kernel that Triton made, launched by a program of HIP:
// C[m][n] of A[m][k] times B[n][k], bf16, sizes that fill no tile (multiples
// of 16 in n and k, as the object was made for).
// usage: triton FILE.co TILE LDS
#include <hip/hip_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static uint16_t
bf16(float v)
{
    uint32_t u;

    memcpy(&u, &v, 4);
    return uint16_t(u >> 16); // small integers: exact
}

int
main(int argc, char **argv)
{
    int m = 200, n = 144, k = 192, tile = argc > 3 ? atoi(argv[2]) : 0;
    std::vector<uint16_t> a(m * k), b(n * k), c(m * n);
    void *da, *db, *dc, *none = nullptr;
    hipModule_t module;
    hipFunction_t f;
    int wrong = 0;

    for (int i = 0; i < m * k; i++)
        a[i] = bf16(float(i * 7 % 5 - 2));
    for (int i = 0; i < n * k; i++)
        b[i] = bf16(float(i * 3 % 7 - 3));
    if (!tile || hipModuleLoad(&module, argv[1]) ||
        hipModuleGetFunction(&f, module, "gemm_nt") ||
        hipMalloc(&da, a.size() * 2) || hipMalloc(&db, b.size() * 2) ||
        hipMalloc(&dc, c.size() * 2) ||
        hipMemcpyHtoD(da, a.data(), a.size() * 2) ||
        hipMemcpyHtoD(db, b.data(), b.size() * 2))
        return 2;
    void *args[] = { &da, &db, &dc, &m, &n, &k, &k, &k, &n, &none, &none };
    unsigned grid = unsigned((m + tile - 1) / tile * ((n + tile - 1) / tile));
    if (hipModuleLaunchKernel(f, grid, 1, 1, 256, 1, 1, unsigned(atoi(argv[3])),
                              nullptr, args, nullptr) ||
        hipMemcpyDtoH(c.data(), dc, c.size() * 2))
        return 3;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;

            for (int x = 0; x < k; x++)
                sum += float((i * k + x) * 7 % 5 - 2) *
                       float((j * k + x) * 3 % 7 - 3);
            uint32_t u;
            memcpy(&u, &sum, 4);
            u += 0x7fff + (u >> 16 & 1);
            wrong += c[i * n + j] != uint16_t(u >> 16);
        }
    printf("%d of %d wrong\n", wrong, m * n);
    return wrong != 0;
}
