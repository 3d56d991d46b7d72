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
        uint32_t code = (uint32_t)kn_ref_encode(down->p.a, down->p.target, v);

        memcpy(to + i * bytes, &code, bytes);
    }
}

static uint8_t *
codes(struct kn_ctx *c, const struct moe_part *down, size_t n)
{
    return KN_NEW(c, uint8_t, n * kn_ref_type_bits(down->p.a) / 8 + 1);
}

static kiln_status
hand_plain(struct kn_ctx *c, const double *x, size_t n,
               struct moe_part *down)
{
    uint8_t *to = codes(c, down, n);

    encode(down, x, n, 1, to);
    down->a.file = to;
    return KILN_OK;
}

/* Rows of so many numbers, each run of at most `most` with its own scale. */
struct parts {
    size_t rows, cols, most;
};

/* Scale number i, of codes of at most `most`. */
static double
put_scale(const struct moe_part *down, uint8_t *to, size_t i, double amax, double most)
{
    float scale = amax > 0 ? (float)(amax / most) : 1.0f;

    if (kn_powers(&down->p)) {
        to[i] = kn_mx_scale(KN_MX_ROUND_UP, down->p.a, down->p.target, amax);
        return ldexp(1, to[i] - 127);
    }
    memcpy(to + i * sizeof scale, &scale, sizeof scale);
    return (double)scale;
}

static kiln_status
hand_scaled(struct kn_ctx *c, const double *x, struct parts p,
                struct moe_part *down)
{
    size_t bytes = kn_ref_type_bits(down->p.a) / 8, all = p.rows * p.cols;
    double most = kn_ref_max(down->p.a, down->p.target);
    uint8_t *to = codes(c, down, all);
    uint8_t *scales = KN_NEW(c, uint8_t, (all + 1) * sizeof(float));

    down->a.file = to;
    down->sa.file = scales;
    for (size_t at = 0, n, at_scale = 0; at < all; at += n, at_scale++) {
        size_t left = p.cols - at % p.cols;
        double amax = 0;

        n = left < p.most ? left : p.most;
        for (size_t i = 0; i < n; i++)
            amax = fmax(amax, fabs(x[at + i]));
        encode(down, x + at, n, put_scale(down, scales, at_scale, amax, most), to + at * bytes);
    }
    return KILN_OK;
}

static kiln_status
hand_mx(struct kn_ctx *c, const double *x, int64_t rows,
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

static kiln_status
hand_quantised(struct moe_run *m, const struct moe_part *up,
                   struct moe_part *down)
{
    uint64_t n = kn_writes_scales(&up->p) ? kn_output_scales(&up->p)
               : up->out_row ? up->out_size / up->out_row * (uint64_t)(up->p.n / 32)
                             : 0;
    uint8_t *scales = KN_NEW(m->c, uint8_t, n + 1);
    uint8_t *got = KN_NEW(m->c, uint8_t, up->out_size + 1);

    KN_TRY(kn_session_read(m->s, up->out, got, up->out_size));
    KN_TRY(kn_session_read(m->s, up->scales, scales, n));
    down->a.file = got;
    down->sa.file = scales;
    return KILN_OK;
}

/* gemm2 reads what gemm1 wrote, in its own type. MX: quantised by row. 8 bits
 * with scales: by the largest magnitude, of all, of each row or of its blocks. */
kiln_status
moe_hand_over(struct moe_run *m, const struct moe_part *up,
              struct moe_part *down)
{
    int64_t rows = up->p.tokens * up->p.topk, n = up->p.n;
    size_t all = (size_t)(rows * n);
    uint8_t *got = KN_NEW(m->c, uint8_t, up->out_size + 1);
    double *x = KN_NEW(m->c, double, all + 1);
    struct kn_ref_codec codec;

    if (up->scales)
        return hand_quantised(m, up, down);
    KN_TRY(kn_session_read(m->s, up->out, got, up->out_size));
    kn_ref_codec_init(&codec, up->p.out, m->target);
    kn_ref_decode_run(&codec, got, 0, all, x);
    if (kn_ref_type_bits(down->p.a) >= 16)
        return hand_plain(m->c, x, all, down);
    if (down->p.scale == KILN_SCALE_MX32)
        return hand_mx(m->c, x, rows, down);
    return hand_scaled(m->c, x, (struct parts){
        down->p.scale == KILN_SCALE_TENSOR ? 1 : (size_t)rows,
        down->p.scale == KILN_SCALE_TENSOR ? all : (size_t)n,
        down->p.scale == KILN_SCALE_BLOCK128 ? 128 : all }, down);
}

/* The scales of what gemm1 can write for gemm2 to read; of codes no tensor is. */
static kiln_out_scale
written_scales(const struct moe_run *m, const struct moe_part *up,
               const struct moe_part *down)
{
    bool codes = !kn_prequant(&down->p) && !strstr(up->p.expression, "tensor:");

    if (codes && down->p.scale == KILN_SCALE_ROW)
        return KILN_OUT_ROW;
    if (codes && down->p.scale == KILN_SCALE_BLOCK128 && up->p.n % 128 == 0)
        return KILN_OUT_BLOCK128;
    return (down->p.a == KILN_MXFP4 || down->p.a == KILN_MXFP8) &&
                   kn_targets[m->target].scaled && up->p.n % 32 == 0
           ? KILN_OUT_MX32 : KILN_OUT_PLAIN;
}

/* gemm1 writes what gemm2 reads, where its epilogue can. */
kiln_status
moe_requantise(struct moe_run *m, struct moe_part *up,
               const struct moe_part *down)
{
    const struct kn_value *v = &m->t->cli->v[KN_FLAG_requant];
    kiln_out_scale can = written_scales(m, up, down);

    if (v->seen && v->i && can != KILN_OUT_MX32)
        return kn_fail(m->c, KILN_UNSUPPORTED, "gemm1 quantises to mxfp4 and "
                       "mxfp8, on gfx950, with --inter a multiple of 32");
    if (!can || (v->seen && !v->i))
        return KILN_OK;
    up->p.out = down->p.a;
    if (can != KILN_OUT_MX32)
        up->p.out_scale = (uint8_t)can;
    else
        up->p.requant = (uint8_t)(v->seen ? v->i - 1 : KN_MX_EVEN);
    up->p.ldc = 0;
    return kn_problem_normalise(m->c, &up->p);
}
