/* moe_quant.c - the check of gemm1's quantised output. A scale is right if the
 * exact largest magnitude, moved by the product's error bound, can give it; an
 * element if the exact value, moved so, rounds to it under that scale. */
#include <math.h>
#include <string.h>

#include "cmd_run_moe.h"

static uint32_t
code_at(const uint8_t *row, int64_t i, unsigned bits)
{
    return bits == 4 ? row[i / 2] >> (i % 2 * 4) & 15 : row[i];
}

/* The element x becomes under the scale. */
static double
rounded(const kiln_problem *p, double random, double x, double scale)
{
    double most = kn_ref_max(p->out, p->target);
    double v = fmin(fmax(x / scale, -most), most);

    if (p->round)
        v = kn_ref_at_random(p->out, p->target, random, v);

    return kn_ref_decode(p->out, p->target,
                         kn_ref_encode(p->out, p->target, v)) * scale;
}

static uint8_t
scale_of(const kiln_problem *p, double amax)
{
    uint8_t e = kn_mx_scale((enum kn_mx_mode)p->requant, p->out, p->target,
                            fmax(amax, 0));

    return e ? e : 1;        /* ir/distribute/distribute_quant.c */
}

static void
bad(struct kn_ref_check *k, double got, double want)
{
    if (!k->bad++) {
        k->bad_got = got;
        k->bad_want = want;
    }
}

/* 32 columns of a row; e: their error bounds. */
static void
check_block(const kiln_problem *p, const struct moe_block *b,
            struct kn_ref_check *k)
{
    unsigned bits = kn_ref_type_bits(p->out);
    double lo = 0, hi = 0, scale = ldexp(1, b->scale - 127);

    for (int i = 0; i < 32; i++) {
        lo = fmax(lo, fabs(b->value[i]) - b->error[i]);
        hi = fmax(hi, fabs(b->value[i]) + b->error[i]);
    }
    if (b->scale < scale_of(p, lo) || b->scale > scale_of(p, hi))
        bad(k, scale, ldexp(1, scale_of(p, hi) - 127));
    for (int i = 0; i < 32; i++) {
        double x = b->value[i], e = b->error[i], y;

        y = kn_ref_decode(p->out, p->target, code_at(b->code, i, bits)) * scale;
        k->elements++;
        kn_ref_note(k, y, x);
        if (!(y >= rounded(p, b->random[i], x - e, scale) &&
              y <= rounded(p, b->random[i], x + e, scale)))
            bad(k, y, x);
    }
}

kiln_status
moe_check_quantised(struct moe_run *m, struct moe_part *s,
                    const struct kn_ref_result *want)
{
    const kiln_problem *p = &s->p;
    const struct kn_ref_rect rect = want->rect;
    double unit = kn_ref_unit(p->a, (kiln_math)p->math, p->k);
    uint32_t bytes = kn_ref_type_bits(p->out) * 4;

    for (int64_t i = 0; i < rect.rows; i++)
        for (int64_t j = 0; j < rect.cols; j += 32) {
            int64_t row = want->rows[i];
            uint64_t block = (uint64_t)(rect.n0 + j) / 32;
            struct moe_block b;

            for (int64_t x = 0; x < 32; x++) {
                b.value[x] = want->value[i * rect.cols + j + x];
                b.error[x] = unit * want->abssum[i * rect.cols + j + x] +
                             0x1p-23 * fabs(b.value[x]);
                b.random[x] = kn_ref_random(p->round_seed, row, rect.n0 + j + x);
            }
            KN_TRY(kn_session_read(m->s, s->out + (uint64_t)row * s->out_row +
                               block * bytes, b.code, bytes));
            KN_TRY(kn_session_read(m->s, s->scales + (uint64_t)row *
                               (uint64_t)(p->n / 32) + block, &b.scale, 1));
            check_block(p, &b, &s->check);
        }
    return KILN_OK;
}
