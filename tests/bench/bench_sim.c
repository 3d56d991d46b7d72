/* bench_sim - multiplications a second of one core over whole kernels, every
 * check on, by the default model and by `fused`, and the time to decode them.
 * Processor time, or that of the clock on more threads than one; best of the
 * given number of runs.
 * Usage: bench_sim [RUNS [PART OF A LINE BELOW [THREADS]]] */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../kit/kernel.h"

static const char *const kernels[] = {
    "gemm -m 256 -n 256 -k 1024 --a bf16 --tile 256x256x64 "
    "--device sim:gfx950",
    "gemm -m 256 -n 256 -k 1024 --a fp8 --tile 256x256x128 "
    "--device sim:gfx950",
    "gemm -m 256 -n 256 -k 1024 --a bf16 --tile 128x128x64 "
    "--device sim:gfx942",
    "gemm -m 256 -n 256 -k 1024 --a fp8 --tile 128x128x64 "
    "--device sim:gfx942",
    "gemm -m 256 -n 256 -k 1024 --a mxfp8 --tile 256x256x128 "
    "--device sim:gfx950",
    "gemm -m 256 -n 256 -k 1024 --a mxfp4 --tile 256x256x256 "
    "--device sim:gfx950",
    "gemm -m 256 -n 256 -k 1024 --a mxfp4 --tile 128x128x128 "
    "--device sim:gfx942",
    "gemm -m 512 -n 512 -k 1024 --a bf16 --tile 128x128x64 "
    "--device sim:gfx942",
    "gemm -m 256 -n 256 -k 1024 --a mxfp4 --device sim:gfx950",
    "gemm -m 256 -n 256 -k 1024 --a i8 --device sim:gfx950",
};

static int runs = 3;
static unsigned threads = 1;

static double
time_spent(void)
{
    struct timespec t;

    clock_gettime(threads > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double
decode_time(struct own *o)
{
    double best = 1e9;

    for (int k = 0; k < runs; k++) {
        double start = time_spent(), spent;
        struct kn_program p;

        assert_int_equal(kn_decode(&o->c, &o->object, &o->object.kernels[0],
                                   true, &p), KILN_OK);
        spent = time_spent() - start;
        best = spent < best ? spent : best;
    }
    return best;
}

/* The first launch also decodes the kernel and makes the operands: it is not
 * counted. */
static double
launch_time(struct own *o, enum kn_mfma_model model, struct kn_sim_result *r)
{
    double best = 1e9;
    struct own_launch l;

    own_launch_open(o, &l);
    l.l.threads = threads;
    l.l.mfma = model;
    for (int k = 0; k <= runs; k++) {
        double start = time_spent(), spent;

        memset(r, 0, sizeof *r);
        assert_int_equal(kn_sim_run(l.sim, &l.l, r), KILN_OK);
        spent = time_spent() - start;
        assert_int_equal(r->nfindings, 0);
        if (k)
            best = spent < best ? spent : best;
    }
    own_launch_close(&l);
    return best;
}

static void
measure(void **state)
{
    const char *words = *state;
    double best, fused, decode;
    struct kn_sim_result r;
    struct own o;

    own_open(&o, words);
    decode = decode_time(&o);
    fused = launch_time(&o, KN_MFMA_FUSED, &r);
    best = launch_time(&o, KN_MFMA_CDNA3, &r);
    printf("%6.2f GMAC/s  %7.1f ms  fused %6.2f GMAC/s  %8llu instructions  "
           "decode %5.2f ms for %u (%.2f ms for 5000)  %s\n",
           (double)r.macs / best * 1e-9, best * 1e3,
           (double)r.macs / fused * 1e-9, (unsigned long long)r.instructions,
           decode * 1e3, o.program.n, decode * 1e3 * 5000 / o.program.n,
           words);
    own_close(&o);
}

int
main(int argc, char **argv)
{
    enum { N = sizeof kernels / sizeof kernels[0] };
    struct CMUnitTest tests[N];
    size_t n = 0;

    if (argc > 1)
        runs = atoi(argv[1]);
    if (argc > 3)
        threads = (unsigned)atoi(argv[3]);
    for (int k = 0; k < N; k++)
        if (argc < 3 || strstr(kernels[k], argv[2]))
            tests[n++] = (struct CMUnitTest){
                kernels[k], measure, NULL, NULL,
                (void *)(uintptr_t)kernels[k] };
    return _cmocka_run_group_tests("bench_sim", tests, n, NULL, NULL);
}
