/* bench_sgemm - what one core of this machine does in f32, the limit of a
 * simulated matrix instruction: C += A B by AVX2, packed panels, a tile of 6x16
 * in registers, operands in the first two caches. Prints GMAC/s. */
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { M = 96, N = 96, K = 256, ROWS = 6, COLUMNS = 16, TIMES = 2000 };

static double
cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* a[K][ROWS], b[K][COLUMNS], c[ROWS][N]. */
__attribute__((target("avx2,fma"))) static void
tile(const float *a, const float *b, float *c)
{
    __m256 s[ROWS][2];

#pragma GCC unroll 6
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 2
        for (int h = 0; h < 2; h++)
            s[r][h] = _mm256_loadu_ps(c + r * N + 8 * h);
    for (int k = 0; k < K; k++, a += ROWS, b += COLUMNS) {
        __m256 low = _mm256_loadu_ps(b), high = _mm256_loadu_ps(b + 8);

#pragma GCC unroll 6
        for (int r = 0; r < ROWS; r++) {
            __m256 x = _mm256_broadcast_ss(a + r);

            s[r][0] = _mm256_fmadd_ps(x, low, s[r][0]);
            s[r][1] = _mm256_fmadd_ps(x, high, s[r][1]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 2
        for (int h = 0; h < 2; h++)
            _mm256_storeu_ps(c + r * N + 8 * h, s[r][h]);
}

int
main(void)
{
    static float a[M * K], b[K * N], c[M * N];
    double best = 0;

    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        printf("0\n");
        return 0;
    }
    for (int n = 0; n < M * K; n++)
        a[n] = b[n % (K * N)] = (float)(n % 7 - 3);
    for (int again = 0; again < 5; again++) {
        double start = cpu_seconds(), rate;

        for (int t = 0; t < TIMES / 5; t++)
            for (int i = 0; i < M / ROWS; i++)
                for (int j = 0; j < N / COLUMNS; j++)
                    tile(a + i * ROWS * K, b + j * COLUMNS * K,
                         c + i * ROWS * N + j * COLUMNS);
        rate = (double)(M * N * K * (TIMES / 5)) / (cpu_seconds() - start) / 1e9;
        best = rate > best ? rate : best;
    }
    printf("%.1f\n", best);
    return c[5] > 1e30f;     /* the sums are wanted */
}
