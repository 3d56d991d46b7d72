/* bench_mfma - multiplications a second of one core, for each kernel that
 * this CPU can run, on normal-ish data. Usage: bench_mfma [SECONDS] */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../runtime/sim/mfma/mfma.h"
#include "../kit/mfma.h"

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* G multiplications a second; kernel NULL: kn_mfma_run. */
static double
measure(const struct kn_mfma_job *j, kn_mfma_kernel *kernel, double seconds)
{
    kn_vreg_row d[KN_MFMA_MAXD];
    double start = now(), spent;
    unsigned n = 0;

    do {
        for (unsigned i = 0; i < 20; i++, n++)
            if (!kernel)
                kn_mfma_run(j);
            else if (!kernel(j, d))
                return 0;
        spent = now() - start;
    } while (spent < seconds);
    return (double)n * (double)kn_mfma_macs(j->row) / spent * 1e-9;
}

static void
print_row(const char *name, kiln_target target, unsigned format,
          double seconds)
{
    static struct kit t;
    struct kit_rng rng = {1};

    kit_init(&t, target, kn_mfma_find(target, name));
    t.job.cbsz = t.job.blgp = (uint8_t)format;
    kit_fill(&t, &rng, KIT_NEAR);
    printf("%-36s %s format %u: run %6.2f", name,
           target == KILN_GFX942 ? "gfx942" : "gfx950", format,
           measure(&t.job, NULL, seconds));
    for (int isa = KN_MFMA_NISAS - 1; isa >= 0; isa--) {
        kn_mfma_kernel *k = kn_mfma_select((enum kn_mfma_isa)isa);

        if (k && kn_mfma_is_vector(&t.job))
            printf("  %s %6.2f",
                   isa == KN_MFMA_AVX512 ? "avx512"
                   : isa == KN_MFMA_AVX2 ? "avx2"
                                         : "base",
                   measure(&t.job, k, seconds));
    }
    t.job.model = KN_MFMA_FUSED;
    printf("  fused %6.2f  GMAC/s\n", measure(&t.job, NULL, seconds));
}

int
main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 0.1;

    print_row("v_mfma_f32_16x16x16_bf16", KILN_GFX942, 0, seconds);
    print_row("v_mfma_f32_32x32x8_bf16", KILN_GFX942, 0, seconds);
    print_row("v_mfma_f32_32x32x8_f16", KILN_GFX942, 0, seconds);
    print_row("v_mfma_f32_16x16x32_fp8_fp8", KILN_GFX942, 0, seconds);
    print_row("v_mfma_f32_32x32x16_fp8_fp8", KILN_GFX942, 0, seconds);
    print_row("v_mfma_f32_16x16x8_xf32", KILN_GFX942, 0, seconds);
    print_row("v_mfma_f32_16x16x32_bf16", KILN_GFX950, 0, seconds);
    print_row("v_mfma_f32_32x32x16_bf16", KILN_GFX950, 0, seconds);
    print_row("v_mfma_f32_16x16x32_fp8_fp8", KILN_GFX950, 0, seconds);
    for (unsigned f = 0; f < 5; f++)
        print_row("v_mfma_scale_f32_16x16x128_f8f6f4", KILN_GFX950, f,
                  seconds);
    print_row("v_mfma_f32_32x32x64_f8f6f4", KILN_GFX950, 0, seconds);
    print_row("v_mfma_scale_f32_32x32x64_f8f6f4", KILN_GFX950, 4, seconds);
    print_row("v_mfma_i32_16x16x64_i8", KILN_GFX950, 0, seconds);
    print_row("v_mfma_i32_32x32x16_i8", KILN_GFX942, 0, seconds);
    print_row("v_mfma_f32_16x16x4_f32", KILN_GFX950, 0, seconds);
    print_row("v_mfma_f64_16x16x4_f64", KILN_GFX950, 0, seconds);
    print_row("v_smfmac_f32_16x16x64_bf16", KILN_GFX950, 0, seconds);
    print_row("v_mfma_f32_4x4x4_16b_f16", KILN_GFX942, 0, seconds);
    return 0;
}
