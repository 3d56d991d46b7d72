/* mfma_scalar.c - one element of D at a time, straight from the layouts. */
#include "mfma.h"

#include <math.h>

/* One block of one instruction; sparse B is gathered for each row. */
struct block {
    const struct kn_mfma_job *j;
    struct kn_mfma_layout la, lb;
    unsigned number, depth;  /* depth: stored k of A */
    bool small;              /* below 32 bits, or xf32: the fused sum */
    struct kn_mfma_el a[KN_MFMA_MAXM][KN_MFMA_MAXK];
    struct kn_mfma_el b[KN_MFMA_MAXM][KN_MFMA_MAXK];
};

/* Lane whose B a lane reads: blgp of the multi-block and f32 forms. */
static unsigned
pattern_lane(unsigned blgp, unsigned lane)
{
    switch (blgp) {
    case 0:
        return lane;
    case 1:
        return lane % 32;
    case 2:
        return lane % 32 + 32;
    case 3:
        return (lane + 16) % 64;
    default:
        return lane % 16 + 16 * (blgp - 4);
    }
}

static uint64_t
fetch(const kn_vreg_row *regs, struct kn_mfma_at at, unsigned bits)
{
    unsigned bit = at.element * bits, reg = bit / 32;
    uint64_t w = regs[reg][at.lane];

    if (bit % 32 + bits > 32)
        w |= (uint64_t)regs[reg + 1][at.lane] << 32;
    w >>= bit % 32;
    return bits == 64 ? w : w & ((UINT64_C(1) << bits) - 1);
}

static uint64_t
fetch_a(const struct block *b, unsigned i, unsigned k)
{
    const struct kn_mfma_job *j = b->j;
    unsigned from = b->number;

    if (j->row->blocks > 1 && j->row->a != KN_MT_F64)
        from = (from >> j->cbsz << j->cbsz) + j->abid;
    return fetch(j->a, kn_mfma_locate(&b->la, i, k, from),
                 kn_mfma_bits(j, false));
}

static uint64_t
fetch_b(const struct block *b, unsigned col, unsigned k)
{
    const struct kn_mfma_job *j = b->j;
    struct kn_mfma_at at = kn_mfma_locate(&b->lb, col, k, b->number);

    if (j->row->b != KN_MT_F8F6F4 && j->row->b != KN_MT_F64)
        at.lane = (uint8_t)pattern_lane(j->blgp, at.lane);
    return fetch(j->b, at, kn_mfma_bits(j, true));
}

static struct kn_mfma_el
decode_small(enum kn_num f, uint32_t code)
{
    const struct kn_num_format *n = &kn_num_format[f];
    uint32_t mag = code & ((1u << (n->bits - 1)) - 1);
    uint32_t field = mag >> n->mbits, frac = mag & ((1u << n->mbits) - 1);
    bool neg = code >> (n->bits - 1) & 1;
    double v = kn_num_to_f64(f, code);
    struct kn_mfma_el x = {0, -126, KN_MK_FINITE};

    if (isnan(v)) {
        x.kind = KN_MK_NAN;
    } else if (isinf(v)) {
        x.kind = KN_MK_INF;
        x.sig = 1;
    } else if (mag) {
        x.e = (int16_t)((field ? field : 1) - n->bias);
        x.sig = (int32_t)(frac | (field ? 1u << n->mbits : 0));
    }
    if (neg)
        x.sig = -x.sig;
    return x;
}

/* 10 of the 23 mantissa bits of an f32 count. */
static struct kn_mfma_el
decode_xf32(uint32_t u)
{
    uint32_t field = u >> 23 & 0xff, frac = u >> 13 & 0x3ff;
    struct kn_mfma_el x = {0, -126, KN_MK_FINITE};

    if (field == 0xff) {
        x.kind = frac ? KN_MK_NAN : KN_MK_INF;
        x.sig = 1;
    } else if (field || frac) {
        x.e = (int16_t)((field ? field : 1) - 127);
        x.sig = (int32_t)(frac | (field ? 0x400u : 0));
    }
    if (u >> 31)
        x.sig = -x.sig;
    return x;
}

static struct kn_mfma_el
decode(const struct block *b, bool is_b, uint64_t code)
{
    if ((is_b ? b->j->row->b : b->j->row->a) == KN_MT_XF32)
        return decode_xf32((uint32_t)code);
    return decode_small(kn_mfma_format(b->j, is_b), (uint32_t)code);
}

static void
load_block(struct block *b)
{
    const struct kn_mfma *r = b->j->row;

    b->la = kn_mfma_layout_a(b->j);
    b->lb = kn_mfma_layout_b(b->j);
    b->depth = r->sparse ? r->k / 2u : r->k;
    b->small = r->a >= KN_MT_XF32 && r->a != KN_MT_I8;
    if (!b->small)
        return;
    for (unsigned i = 0; i < r->m; i++)
        for (unsigned k = 0; k < b->depth; k++)
            b->a[i][k] = decode(b, false, fetch_a(b, i, k));
    for (unsigned i = 0; i < r->n; i++)
        for (unsigned k = 0; k < r->k; k++)
            b->b[i][k] = decode(b, true, fetch_b(b, i, k));
}

/* Dense k of stored element k of sparse row i: two bits of the index lane
 * that holds the row's elements. */
static unsigned
dense_k(const struct block *b, unsigned i, unsigned k)
{
    const struct kn_mfma_job *j = b->j;
    struct kn_mfma_at at;
    unsigned set;

    if (!j->row->sparse)
        return k;
    at = kn_mfma_locate(&b->la, i, k, 0);
    /* a set has two bits for each element of a lane; cbsz: the first one */
    set = j->cbsz & 3 ? 0 : j->abid * 2u * b->la.kl % 32;
    return k / 2 * 4 + (j->index[at.lane] >> (set + 2 * at.element) & 3);
}

static double
element_value(const struct kn_mfma_el *x, unsigned frac)
{
    if (x->kind == KN_MK_FINITE)
        return ldexp(x->sig, x->e - (int)frac);
    if (x->kind == KN_MK_INF)
        return x->sig < 0 ? -INFINITY : INFINITY;
    return NAN;
}

static unsigned
frac_bits(const struct block *b, bool is_b)
{
    if (b->j->row->a == KN_MT_XF32)
        return 10;
    return kn_num_format[kn_mfma_format(b->j, is_b)].mbits;
}

static unsigned
group_size(const struct block *b)
{
    unsigned type = b->j->row->a;
    unsigned g = type == KN_MT_XF32 ? 4 : type <= KN_MT_BF16 ? 8 : 16;

    return g < b->depth ? g : b->depth;
}

static float
round_f32(double x, bool clamp)
{
    float r = (float)x;

    return isinf(r) && isfinite(x) ? kn_mfma_overflow(clamp, x < 0) : r;
}

/* Sum of one element by the models that are not CDNA3's. */
static float
sum_f64(const struct block *b, const struct kn_mfma_sum *s, float c)
{
    unsigned fa = frac_bits(b, false), fb = frac_bits(b, true);
    double acc = (double)c;

    for (unsigned k = 0; k < s->n; k++) {
        double p = element_value(&s->a[k], fa) * element_value(&s->b[k], fb);

        acc += ldexp(p, s->scale ? s->scale[k] : 0);
        if (b->j->model == KN_MFMA_CHAIN)
            acc = (double)round_f32(acc, b->j->clamp);
    }
    return round_f32(acc, b->j->clamp);
}

/* Scale exponents of each k of element (i, col); false: one of them is NaN. */
static bool
load_scales(const struct block *b, unsigned i, unsigned col, int16_t *scale)
{
    for (unsigned k = 0; k < b->depth; k++) {
        unsigned sa = kn_mfma_scale(b->j, false, i, k / 32);
        unsigned sb = kn_mfma_scale(b->j, true, col, k / 32);

        if (sa == 255 || sb == 255)
            return false;
        scale[k] = (int16_t)(sa + sb - 254);
    }
    return true;
}

static uint32_t
small_element(const struct block *b, unsigned i, unsigned col, float c)
{
    struct kn_mfma_el gather[KN_MFMA_MAXK];
    int16_t scale[KN_MFMA_MAXK];
    struct kn_mfma_sum s = {
        b->depth, group_size(b), frac_bits(b, false) + frac_bits(b, true),
        b->j->row->a >= KN_MT_FP8, b->j->clamp, b->a[i], b->b[col], NULL};
    float d;

    if (b->j->row->sparse) {
        for (unsigned k = 0; k < b->depth; k++)
            gather[k] = b->b[col][dense_k(b, i, k)];
        s.b = gather;
    }
    if (b->j->sa) {
        if (!load_scales(b, i, col, scale))
            return 0x7fc00000;
        s.scale = scale;
    }
    d = b->j->model == KN_MFMA_CDNA3 ? kn_mfma_sum_cdna3(&s, c)
                                     : sum_f64(b, &s, c);
    return isnan(d) ? 0x7fc00000 : kn_f32_bits(d);
}

static float
f32_operand(const struct block *b, uint32_t bits)
{
    if (b->j->flush && !(bits & 0x7f800000))
        bits &= 0x80000000;
    return kn_bits_f32(bits);
}

static uint32_t
f32_element(const struct block *b, unsigned i, unsigned col, float c)
{
    for (unsigned k = 0; k < b->depth; k++) {
        float x = f32_operand(b, (uint32_t)fetch_a(b, i, k));
        float y = f32_operand(b, (uint32_t)fetch_b(b, col, k));
        bool finite = isfinite(x) && isfinite(y) && isfinite(c);

        c = fmaf(x, y, c);
        if (isinf(c) && finite)
            c = kn_mfma_overflow(b->j->clamp, c < 0);
    }
    return isnan(c) ? 0x7fc00000 : kn_f32_bits(c);
}

static uint64_t
f64_element(const struct block *b, unsigned i, unsigned col, double c)
{
    if (b->j->neg & 4)
        c = -c;
    for (unsigned k = 0; k < b->depth; k++) {
        double x = kn_bits_f64(fetch_a(b, i, k));
        double y = kn_bits_f64(fetch_b(b, col, k));

        c = fma(b->j->neg & 1 ? -x : x, b->j->neg & 2 ? -y : y, c);
    }
    return isnan(c) ? 0x7ff8000000000000u : kn_f64_bits(c);
}

static uint32_t
i8_element(const struct block *b, unsigned i, unsigned col, uint32_t c)
{
    int64_t sum = (int32_t)c;

    for (unsigned k = 0; k < b->depth; k++)
        sum += (int8_t)fetch_a(b, i, k) *
               (int8_t)fetch_b(b, col, dense_k(b, i, k));
    if (b->j->clamp && sum > INT32_MAX)
        sum = INT32_MAX;
    if (b->j->clamp && sum < INT32_MIN)
        sum = INT32_MIN;
    return (uint32_t)sum;
}

static uint64_t
one_element(const struct block *b, unsigned i, unsigned col, uint64_t c)
{
    switch (b->j->row->a) {
    case KN_MT_F64:
        return f64_element(b, i, col, kn_bits_f64(c));
    case KN_MT_F32:
        return f32_element(b, i, col, kn_bits_f32((uint32_t)c));
    case KN_MT_I8:
        return i8_element(b, i, col, (uint32_t)c);
    default:
        return small_element(b, i, col, kn_bits_f32((uint32_t)c));
    }
}

static void
run_block(const struct block *b, kn_vreg_row *d)
{
    const struct kn_mfma *r = b->j->row;
    unsigned bits = r->a == KN_MT_F64 ? 64 : 32;

    for (unsigned i = 0; i < r->m; i++)
        for (unsigned col = 0; col < r->n; col++) {
            struct kn_mfma_at at = kn_mfma_locate_d(r, i, col, b->number);
            uint64_t x = b->j->c ? fetch(b->j->c, at, bits) : b->j->c_const;

            x = one_element(b, i, col, x);
            d[at.element * (bits / 32)][at.lane] = (uint32_t)x;
            if (bits == 64)
                d[at.element * 2 + 1][at.lane] = (uint32_t)(x >> 32);
        }
}

void
kn_mfma_run_scalar(const struct kn_mfma_job *j)
{
    kn_vreg_row d[KN_MFMA_MAXD];
    struct block b;

    b.j = j;
    for (b.number = 0; b.number < j->row->blocks; b.number++) {
        load_block(&b);
        run_block(&b, d);
    }
    memcpy(j->d, d, kn_mfma_dregs(j->row) * sizeof d[0]);
}
