/* operand.c - rows of A or B as f64: decoded, quantised, times their scales. */
#include "operand.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 128, MX = 32, NV = 16 };

bool
kn_ref_present(const struct kn_ref_tensor *t)
{
    return t->data || t->fetch;
}

void
kn_ref_bytes(const struct kn_ref_tensor *t, uint64_t offset, void *dst,
             size_t size)
{
    offset += t->offset;
    if (t->data)
        memcpy(dst, (const uint8_t *)t->data + offset, size);
    else
        t->fetch(t->user, offset, dst, size);
}

double
kn_ref_f32(const struct kn_ref_tensor *t, int64_t index)
{
    float v;

    kn_ref_bytes(t, (uint64_t)index * 4, &v, 4);
    return (double)v;
}

/* Of a tensor of f32, f16 or bf16. */
static double
number(const struct kn_ref_tensor *t, kiln_target target, int64_t index)
{
    uint8_t code[4] = { 0 };
    size_t size = kn_ref_type_bits(t->type) / 8;

    kn_ref_bytes(t, (uint64_t)index * size, code, size);
    return kn_ref_decode(t->type, target, (uint32_t)code[0] |
                         (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
                         (uint32_t)code[3] << 24);
}

kiln_status
kn_ref_operand_init(struct kn_ref_operand *o, const struct kn_ref_problem *p,
                    bool is_b)
{
    const struct kn_ref_tensor *t = is_b ? &p->b : &p->a;

    *o = (struct kn_ref_operand){ .p = p, .t = t, .is_b = is_b, .ld = t->ld,
        .along_k = p->layout == KILN_NT ||
                   p->layout == (is_b ? KILN_TT : KILN_NN) };
    kn_ref_codec_init(&o->codec, t->type, p->target);
    if (!o->ld)
        o->ld = o->along_k ? p->k : is_b ? kn_ref_columns(p) : p->m;
    o->run = malloc(sizeof *o->run * KN_REF_ROWS);
    o->bytes = malloc(sizeof(double) * KN_REF_ROWS + 1);
    return o->run && o->bytes ? KILN_OK : KILN_NO_MEMORY;
}

void
kn_ref_operand_free(struct kn_ref_operand *o)
{
    free(o->run);
    free(o->bytes);
}

/* Elements [first, first+n) of a row in memory. */
static void
read_run(struct kn_ref_operand *o, int64_t row, int64_t first, size_t n,
         double *out)
{
    unsigned bits = o->codec.bits;
    uint64_t row_bytes = ((uint64_t)o->ld * bits + 7) / 8;
    uint64_t byte = (uint64_t)first * bits / 8;
    uint64_t end = (((uint64_t)first + n) * bits + 7) / 8;

    /* `first` is a multiple of 4 wherever elements are not whole bytes */
    kn_ref_bytes(o->t, (uint64_t)row * row_bytes + byte, o->bytes,
                 (size_t)(end - byte));
    o->bytes[end - byte] = 0; /* an element may look one byte further */
    kn_ref_decode_run(&o->codec, o->bytes, 0, n, out);
}

/* 2^(x - 127), 255 is NaN. */
static double
e8m0(uint8_t x)
{
    uint64_t bits = ((uint64_t)x + 1023 - 127) << 52;
    double v;

    memcpy(&v, &bits, sizeof v);
    return x == 255 ? (double)NAN : v;
}

static void
multiply(double *v, int n, double s)
{
    for (int x = 0; x < n; x++)
        v[x] *= s;
}

/* K of one scale. */
static int
width_of(const struct kn_ref_problem *p)
{
    switch (p->scale) {
    case KILN_SCALE_MX32: case KILN_SCALE_GROUP32: return MX;
    case KILN_SCALE_GROUP64: return 64;
    case KILN_SCALE_NV16: return NV;
    default: return BLOCK;
    }
}

/* Scales number `first` to `first` + n - 1 of a row of them. */
static void
read_scales(const struct kn_ref_operand *o, int64_t row, int64_t first, int n,
            double *out)
{
    const struct kn_ref_problem *p = o->p;
    const struct kn_ref_tensor *t = o->is_b ? &p->sb : &p->sa;
    bool mx = p->scale == KILN_SCALE_MX32, nv = p->scale == KILN_SCALE_NV16;
    bool groups = p->scale >= KILN_SCALE_GROUP32 && !nv;
    int64_t width = width_of(p);
    bool down = o->is_b ? p->sb_down : p->sa_down;
    int64_t dense = !down ? (p->k + width - 1) / width
                  : o->is_b ? kn_ref_columns(p) : p->m;
    int64_t ld = t->ld ? t->ld : dense;
    uint8_t code[KN_REF_DEPTH / NV];

    if (!mx && !nv && !groups && o->is_b && !p->sb_each)
        row /= BLOCK;
    for (int x = 0; x < n && (mx || nv || p->powers); x++)
        kn_ref_bytes(t, (uint64_t)(down ? (first + x) * ld + row : row * ld + first + x),
                     &code[x], 1);
    for (int x = 0; x < n; x++)
        out[x] = mx || p->powers ? e8m0(code[x])
               : nv ? kn_ref_decode(KILN_MXFP8, p->target, code[x])
               : groups ? number(t, p->target, down ? (first + x) * ld + row
                                                    : row * ld + first + x)
               : kn_ref_f32(t, down ? (first + x) * ld + row
                                    : row * ld + first + x);
}

/* Multiplies the n elements of row i from k on by their scales. */
static void
apply_scale(const struct kn_ref_operand *o, int64_t i, int64_t k, int n,
            double *v)
{
    const struct kn_ref_problem *p = o->p;
    const struct kn_ref_tensor *t = o->is_b ? &p->sb : &p->sa;
    int width = width_of(p);
    double s[KN_REF_DEPTH / NV];

    if (!kn_ref_present(t) || p->scale == KILN_SCALE_NONE)
        return;
    if (p->scale == KILN_SCALE_TENSOR || p->scale == KILN_SCALE_ROW) {
        multiply(v, n, kn_ref_f32(t, p->scale == KILN_SCALE_ROW ? i : 0));
        return;
    }
    read_scales(o, i, k / width, (n + width - 1) / width, s);
    for (int x = 0; x < n; x += width)
        multiply(v + x, n - x < width ? n - x : width, s[x / width]);
}

/* Code number `place` of the eight in dword `index`. */
static int
word_code(const struct kn_ref_tensor *t, int64_t index, int place)
{
    uint8_t byte;

    kn_ref_bytes(t, (uint64_t)index * 4 + (uint64_t)place / 2, &byte, 1);
    return byte >> place % 2 * 4 & 15;
}

/* Where AWQ has column c of eight. */
static int
awq_place(int64_t c)
{
    static const int order[] = { 0, 2, 4, 6, 1, 3, 5, 7 };
    int place = 0;

    while (order[place] != c % 8)
        place++;
    return place;
}

/* What is subtracted from codes of column n in a group. */
static int
zero_word(const struct kn_ref_problem *p, int64_t group, int64_t n)
{
    bool awq = p->words == KILN_B_AWQ;
    int place = awq ? awq_place(n) : (int)(n % 8);

    return word_code(&p->zb, group * (kn_ref_columns(p) / 8) + n / 8, place) +
           (p->words == KILN_B_GPTQ);
}

/* A code of B less 8. */
static double
word(const struct kn_ref_operand *o, int64_t k, int64_t n)
{
    int64_t all = kn_ref_columns(o->p);

    return o->p->words == KILN_B_AWQ
         ? word_code(o->t, k * (all / 8) + n / 8, awq_place(n)) - 8
         : word_code(o->t, k / 8 * all + n, (int)(k % 8)) - 8;
}

/* Less the zero point of each group, of column i of B from element k on. */
static void
apply_zeros(const struct kn_ref_operand *o, int64_t i, int64_t k, int n,
            double *v)
{
    const struct kn_ref_problem *p = o->p;
    const struct kn_ref_tensor *t = &p->zb;
    int64_t width = width_of(p);
    int64_t row = (kn_ref_columns(p) * kn_ref_type_bits(t->type) + 7) / 8;

    for (int x = 0; x < n; x++) {
        uint64_t at = (uint64_t)((k + x) / width * row);
        uint8_t code[2] = { 0 };

        if (p->words && t->type == KILN_I4) {
            v[x] += 8 - (double)zero_word(p, (k + x) / width, i);
            continue;
        }
        if (t->type == KILN_I4) {
            kn_ref_bytes(t, at + (uint64_t)i / 2, code, 1);
            v[x] -= kn_ref_decode(KILN_I4, p->target, code[0] >> i % 2 * 4 & 15);
            continue;
        }
        kn_ref_bytes(t, at + 2 * (uint64_t)i, code, 2);
        v[x] = (double)(float)(v[x] + (p->words ? 8 : 0) - kn_ref_decode(
            KILN_F16, p->target, (uint32_t)code[0] | (uint32_t)code[1] << 8));
        v[x] = kn_ref_decode(p->a.type, p->target,
                             kn_ref_encode(p->a.type, p->target, v[x]));
    }
}

/* One code of an 8-bit type nearest to q, as a number. */
static double
nearest_code(const struct kn_ref_problem *p, float q)
{
    kiln_type t = p->b.type;

    if (t == KILN_I8)
        return (double)truncf(q);
    return kn_ref_decode(t, p->target,
                         kn_ref_encode(t, p->target, (double)q));
}

/* The n elements of one group (reference.h, quantise). */
static void
quantise_group(const struct kn_ref_problem *p, double *v, int n)
{
    double most = p->b.type == KILN_I8 ? 127 : kn_ref_max(p->b.type, p->target);
    float amax = 1e-10f, scale, factor;

    for (int x = 0; x < n; x++)
        if (!(fabs(v[x]) <= (double)amax))
            amax = isnan(v[x]) ? INFINITY : fabsf((float)v[x]);
    scale = amax * (float)(1 / most);
    factor = 1.0f / scale;
    for (int x = 0; x < n; x++)
        v[x] = isinf(amax) ? (double)NAN
             : nearest_code(p, (float)v[x] * factor) * (double)scale;
}

/* The n elements of one block (reference.h, quantise_mx). */
static void
quantise_block(const struct kn_ref_problem *p, double *v, int n)
{
    const double most = kn_ref_max(KILN_MXFP4, p->target); /* 1.5 * 2^2 */
    double amax = 0, x;
    int e;

    for (int i = 0; i < n; i++)
        amax = fabs(v[i]) <= amax ? amax : isfinite(v[i]) ? fabs(v[i])
                                                          : INFINITY;
    x = 2 * frexp(amax, &e);
    e += p->quantise_mx == 2 ? x > 1.5 : p->quantise_mx == 3 ? x >= 1.75
       : p->quantise_mx == 4 ? x > 1 : 0;
    e = amax == 0 || e - 3 < -126 ? -126 : e - 3;
    for (int i = 0; i < n; i++) {
        x = fmin(fmax(ldexp(v[i], -e), -most), most);
        v[i] = isinf(amax) ? (double)NAN
             : ldexp(kn_ref_decode(KILN_MXFP4, p->target,
                                   kn_ref_encode(KILN_MXFP4, p->target, x)), e);
    }
}

/* n elements of a row of A from a multiple of 128 on, as far as the problem
 * says so. */
static void
quantise(const struct kn_ref_problem *p, double *v, int n)
{
    for (int x = 0; x < n && p->quantise; x += BLOCK)
        quantise_group(p, v + x, n - x < BLOCK ? n - x : BLOCK);
    for (int x = 0; x < n && p->quantise_mx; x += MX)
        quantise_block(p, v + x, n - x < MX ? n - x : MX);
}

/* f32 whose bf16 is infinite: what that leaves is no number. */
static void
split(const struct kn_ref_problem *p, double *v, int n)
{
    for (int x = 0; x < n && p->math == KILN_MATH_BF16X3; x++)
        if (fabs(v[x]) >= 0x1.ffp127)
            v[x] = (double)NAN;
}

void
kn_ref_rows(struct kn_ref_operand *o, const struct kn_ref_span *at,
            double *out)
{
    bool words = o->is_b && o->p->words;

    for (int r = 0; r < at->rows && words; r++)
        for (int x = 0; x < at->n; x++)
            out[r * KN_REF_DEPTH + x] = word(o, at->k + x, at->row + r);
    for (int r = 0; r < at->rows && o->along_k && !words; r++)
        read_run(o, at->row + r, at->k, (size_t)at->n,
                 out + r * KN_REF_DEPTH);
    for (int x = 0; x < at->n && !o->along_k; x++) {
        read_run(o, at->k + x, at->row, (size_t)at->rows, o->run);
        for (int r = 0; r < at->rows; r++)
            out[r * KN_REF_DEPTH + x] = o->run[r];
    }
    for (int r = 0; r < at->rows; r++) {
        double *v = out + r * KN_REF_DEPTH;

        split(o->p, v, at->n);
        if (!o->is_b)
            quantise(o->p, v, at->n);
        else if (kn_ref_present(&o->p->zb))
            apply_zeros(o, at->row + r, at->k, at->n, v);
        apply_scale(o, at->row + r, at->k, at->n, v);
        if (o->is_b && kn_ref_present(&o->p->factor))
            multiply(v, at->n, kn_ref_f32(&o->p->factor, 0));
    }
}
