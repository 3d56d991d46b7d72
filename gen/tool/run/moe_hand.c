/* moe_hand.c - gemm1's output as gemm2's input, requantised on the host. */
#include <math.h>
#include <string.h>

#include "cmd_run_moe.h"

/* Codes of whole bytes, little-endian. */
static void
encode(const struct moe_part *down, const double *x, size_t n, double scale,
       uint8_t *to)
{
    unsigned bytes = kn_ref_type_bits(down->p.a) / 8;
    double most = kn_ref_max(down->p.a, down->p.target);

    for (size_t i = 0; i < n; i++) {
        double v = fmin(fmax(x[i] / scale, -most), most);
        uint32_t code = kn_ref_encode(down->p.a, down->p.target, v);

        memcpy(to + i * bytes, &code, bytes);
    }
}

static uint8_t *
codes(struct kn_ctx *c, const struct moe_part *down, size_t n)
{
    return KN_NEW(c, uint8_t, n * kn_ref_type_bits(down->p.a) / 8 + 1);
}

kiln_status
moe_hand_plain(struct kn_ctx *c, const double *x, size_t n,
               struct moe_part *down)
{
    uint8_t *to = codes(c, down, n);

    encode(down, x, n, 1, to);
    down->a.file = to;
    return KILN_OK;
}

kiln_status
moe_hand_scaled(struct kn_ctx *c, const double *x, struct moe_parts p,
                struct moe_part *down)
{
    size_t bytes = kn_ref_type_bits(down->p.a) / 8, all = p.rows * p.cols;
    double most = kn_ref_max(down->p.a, down->p.target);
    uint8_t *to = codes(c, down, all);
    float *scale = KN_NEW(c, float, all + 1);

    down->a.file = to;
    down->sa.file = (const uint8_t *)scale;
    for (size_t at = 0, n; at < all; at += n, scale++) {
        size_t left = p.cols - at % p.cols;
        double amax = 0;

        n = left < p.most ? left : p.most;
        for (size_t i = 0; i < n; i++)
            amax = fmax(amax, fabs(x[at + i]));
        *scale = amax > 0 ? (float)(amax / most) : 1.0f;
        encode(down, x + at, n, (double)*scale, to + at * bytes);
    }
    return KILN_OK;
}

kiln_status
moe_hand_mx(struct kn_ctx *c, const double *x, int64_t rows,
            struct moe_part *down)
{
    uint64_t a = down->a.file_row, s = down->sa.file_row;
    uint8_t *to = KN_NEW(c, uint8_t, (uint64_t)rows * a + 1);
    uint8_t *scales = KN_NEW(c, uint8_t, (uint64_t)rows * s + 1);

    for (int64_t i = 0; i < rows; i++)
        kn_moe_quantise(&(struct kn_moe_row){ down->p.a, down->p.target,
                                              x + i * down->p.k, down->p.k,
                                              KN_MX_FLOOR },
                        to + (uint64_t)i * a, scales + (uint64_t)i * s);
    down->a.file = to;
    down->sa.file = scales;
    return KILN_OK;
}
