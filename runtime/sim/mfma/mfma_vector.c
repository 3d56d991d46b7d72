/* mfma_vector.c - which jobs the vector kernels take, and on which CPU. */
#include "mfma.h"

#include <stdlib.h>

struct kn_mfma_side *
kn_mfma_sides_new(void)
{
    struct kn_mfma_side *s = aligned_alloc(64, KN_MFMA_SIDES * sizeof *s);

    for (unsigned n = 0; s && n < KN_MFMA_SIDES; n++)
        s[n].key = 0;
    return s;
}

kn_mfma_kernel *
kn_mfma_select(enum kn_mfma_isa isa)
{
#if defined(__x86_64__)
    if (isa == KN_MFMA_AVX512)
        return __builtin_cpu_supports("avx512f") &&
                       __builtin_cpu_supports("avx512vl") &&
                       __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512bw")
                   ? kn_mfma_avx512
                   : NULL;
    if (isa == KN_MFMA_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                   ? kn_mfma_avx2
                   : NULL;
#endif
    return isa == KN_MFMA_BASE ? kn_mfma_base : NULL;
}

static kn_mfma_kernel *
widest(void)
{
    for (int isa = KN_MFMA_NISAS - 1; isa > KN_MFMA_BASE; isa--)
        if (kn_mfma_select((enum kn_mfma_isa)isa))
            return kn_mfma_select((enum kn_mfma_isa)isa);
    return kn_mfma_base;
}

bool
kn_mfma_is_vector(const struct kn_mfma_job *j)
{
    const struct kn_mfma *r = j->row;

    if (r->blocks > 1 || r->sparse || r->a == KN_MT_F64)
        return false;
    return r->a != KN_MT_F32 || (j->blgp == 0 && !j->flush);
}

/* An element that the clamp would have changed may be among these. */
static bool
may_overflow(const struct kn_mfma_job *j, const kn_vreg_row *d)
{
    if (!j->clamp)
        return false;
    if (j->row->a == KN_MT_I8)
        return true;
    for (unsigned r = 0; r < kn_mfma_dregs(j->row); r++)
        for (unsigned lane = 0; lane < KN_LANES; lane++)
            if ((d[r][lane] & 0x7f800000) == 0x7f800000)
                return true;
    return false;
}

void
kn_mfma_run(const struct kn_mfma_job *j)
{
    kn_vreg_row d[KN_MFMA_MAXD];

    if (kn_mfma_is_vector(j) && widest()(j, d) &&
        !may_overflow(j, (const kn_vreg_row *)d))
        memcpy(j->d, d, kn_mfma_dregs(j->row) * sizeof d[0]);
    else
        kn_mfma_run_scalar(j);
}
