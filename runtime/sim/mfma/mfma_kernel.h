/* mfma_kernel.h - the CDNA3 product sum, VL output columns at a time. Included
 * once for each instruction set by mfma_vec_*.c, which provide the vector
 * types vf (VL f32), vi (VL i32), vd (VL/2 f64) and their operations.
 *
 * The same bits as mfma_model.c without its 64-bit integers:
 *  - a product of two operands below 32 bits is exact in f32, and so is its
 *    multiple by 2^(24 - E): the conversion to integer cuts it toward zero
 *    exactly where the model does, and 8 of them (below 2^26) add in 32 bits;
 *  - next to the accumulator the sum has at most 37 bits: f64 holds it, floor
 *    is the model's floor, and the conversion to f32 is the one rounding.
 * What leaves those ranges is left to the scalar code: see is_fast. */

/* A decoded operand: value and exponent of element (k, row) at k * rows +
 * row. A zero has the exponent -126, a denormal its format's least. */
struct side {
    unsigned rows;
    int max_e, min_e;        /* of all; of those that are not zero */
    bool special;            /* NaN or Inf somewhere */
    float f[KN_MFMA_MAXK * 16] __attribute__((aligned(64)));
    int32_t e[KN_MFMA_MAXK * 16] __attribute__((aligned(64)));
};

/* What decoding a format needs, each a vector operand. */
struct decoder {
    unsigned bits;
    int mbits, bias;
    uint32_t mag, special, keep; /* special: codes from here are NaN or Inf */
    float least;             /* 2^(1 - bias), the least normal number */
    bool fnuz;
};

static struct decoder
make_decoder(const struct kn_mfma_job *j, bool b)
{
    struct decoder d = {32, 23, 127, INT32_MAX, 0x7f800000, ~0x1fffu, 0x1p-126f,
                        false};
    const struct kn_num_format *n;

    if (j->row->a == KN_MT_XF32)
        return d;
    n = &kn_num_format[kn_mfma_format(j, b)];
    d.bits = n->bits;
    d.mbits = n->mbits;
    d.bias = n->bias;
    d.mag = (1u << (n->bits - 1)) - 1;
    d.special = n->max + 1u;
    d.keep = ~0u;
    d.least = kn_bits_f32((uint32_t)(128 - n->bias) << 23);
    d.fnuz = n->nan == 0x80;
    return d;
}

/* Extremes of what was decoded, lane by lane. */
struct seen {
    vi most, least, bad;
};

struct decoded {
    vf f;
    vi e, zero;              /* e of a zero: that of a denormal */
};

/* The f32 of a code without its sign. A denormal is taken for a normal number of
 * the least exponent, less that number's leading bit: as an f32 it would be a
 * denormal too, which costs a CPU over a hundred cycles a multiplication. */
static ALWAYS vi
decode_magnitude(const struct decoder *d, vi mag)
{
    const vi one = vi_set(1 << 23);
    vi f = vi_add(vi_sll(mag, 23 - d->mbits), vi_set((127 - d->bias) * (1 << 23)));
    vi small = vi_gt(vi_set(1 << d->mbits), mag);
    vf less = vf_sub(vi_float(vi_add(f, one)), vf_set(d->least));

    return vi_select(small, vf_bits(less), f);
}

/* Codes in the low bits of u (the rest is any). */
static ALWAYS struct decoded
decode(const struct decoder *d, vi u, struct seen *seen)
{
    struct decoded r;
    vi mag, x;

    u = vi_and(u, vi_set((int32_t)d->keep));
    mag = vi_and(u, vi_set((int32_t)d->mag));
    r.zero = vi_eq(mag, vi_set(0));
    x = vi_max(vi_srl(mag, d->mbits), vi_set(1));
    r.e = vi_sub(x, vi_set(d->bias));
    seen->least = vi_min(seen->least,
                         vi_select(r.zero, vi_set(0x7fff), r.e));
    seen->most = vi_max(seen->most,
                        vi_select(r.zero, vi_set(-126), r.e));
    if (d->fnuz)
        x = vi_eq(vi_and(u, vi_set(0xff)), vi_set(0x80));
    else
        x = vi_gt(mag, vi_set((int32_t)d->special - 1));
    seen->bad = vi_or(seen->bad, x);
    x = decode_magnitude(d, mag);
    u = vi_and(vi_sll(u, 32 - (int)d->bits), vi_set(INT32_MIN));
    r.f = vi_float(vi_or(x, u));
    return r;
}

/* To s->f[at..], s->e[at..]. */
static ALWAYS void
decode_codes(const struct decoder *d, vi u, struct side *s, unsigned at,
             struct seen *seen)
{
    struct decoded x = decode(d, u, seen);

    vi_store(s->e + at, vi_select(x.zero, vi_set(-126), x.e));
    vf_store(s->f + at, x.f);
}

/* VL codes of element t, from lane `lane` on. */
static ALWAYS vi
codes(const kn_vreg_row *regs, unsigned lane, unsigned t, unsigned bits)
{
    unsigned at = t * bits;
    vi u = vi_srl(vi_load((const int32_t *)&regs[at / 32][lane]), at % 32);

    if (at % 32 + bits > 32)
        u = vi_or(u, vi_sll(vi_load((const int32_t *)&regs[at / 32 + 1][lane]),
                            32 - at % 32));
    return u;
}

static void
load_side(const struct kn_mfma_job *j, bool b, struct side *s)
{
    struct decoder d = make_decoder(j, b);
    struct kn_mfma_layout l = b ? kn_mfma_layout_b(j) : kn_mfma_layout_a(j);
    const kn_vreg_row *regs = b ? j->b : j->a;
    unsigned count = l.half ? l.kl * 2u : l.kl;
    struct seen seen = {vi_set(-1000), vi_set(0x7fff), vi_set(0)};

    s->rows = l.rows;
    for (unsigned t = 0; t < count; t++)
        for (unsigned lane = 0; lane < 64; lane += VL) {
            unsigned in = t < l.kl ? t : t - l.kl + l.half;
            unsigned k = lane / l.rows * l.kl + in;
            unsigned at = k * l.rows + lane % l.rows;

            decode_codes(&d, codes(regs, lane, t, d.bits), s, at, &seen);
        }
    s->max_e = vi_highest(seen.most);
    s->min_e = vi_lowest(seen.least);
    s->special = vi_any(seen.bad);
}

/* Scale exponents of the K blocks of 32, 0 where the scale is NaN. */
struct scales {
    int32_t e[4 * 32];       /* block * rows + row */
    int32_t nan[32];         /* -1: a block of the row is NaN */
    int max_e, min_e;
};

static void
load_scales(const struct kn_mfma_job *j, bool b, struct scales *s)
{
    unsigned rows = b ? j->row->n : j->row->m, blocks = j->row->k / 32u;
    const uint32_t *words = b ? j->sb : j->sa;
    int shift = 8 * (b ? j->sb_byte : j->sa_byte);
    vi most = vi_set(-1000), least = vi_set(1000);

    memset(s->nan, 0, sizeof s->nan);
    for (unsigned at = 0; at < blocks * rows; at += VL) {
        vi x = vi_srl(vi_load((const int32_t *)words + at), shift);
        vi nan = vi_eq(vi_and(x, vi_set(255)), vi_set(255));
        vi e = vi_select(nan, vi_set(0),
                         vi_sub(vi_and(x, vi_set(255)), vi_set(127)));
        int32_t *row = s->nan + at % rows;

        vi_store(row, vi_or(vi_load(row), nan));
        vi_store(s->e + at, e);
        most = vi_max(most, e);
        least = vi_min(least, e);
    }
    s->max_e = vi_highest(most);
    s->min_e = vi_lowest(least);
}

struct operands {
    struct side a, b;
    struct scales scale[2];  /* of A and B */
    bool scaled;
};

/* Every product below 2^127 and above what f32 holds exactly. */
static bool
is_fast(const struct operands *o)
{
    int max_e = o->a.max_e + o->b.max_e;

    if (o->scaled)
        max_e += o->scale[0].max_e + o->scale[1].max_e;
    return !o->a.special && !o->b.special && max_e <= 125 &&
           o->a.max_e + o->b.max_e <= 125 && o->a.min_e + o->b.min_e >= -100;
}

/* Row i of D, columns j .. j+VL-1. */
struct strip {
    const struct operands *o;
    unsigned i, j;
};

static ALWAYS vf
strip_product(const struct strip *s, unsigned k)
{
    const struct side *a = &s->o->a, *b = &s->o->b;

    return vf_mul(vf_load(b->f + k * b->rows + s->j),
                  vf_set(a->f[k * a->rows + s->i]));
}

static ALWAYS vi
strip_exponent(const struct strip *s, unsigned k)
{
    const struct side *a = &s->o->a, *b = &s->o->b;

    return vi_add(vi_load(b->e + k * b->rows + s->j),
                  vi_set(a->e[k * a->rows + s->i]));
}

static ALWAYS vi
strip_scale(const struct strip *s, unsigned k)
{
    const struct operands *o = s->o;

    return vi_add(vi_load(o->scale[1].e + k / 32 * o->b.rows + s->j),
                  vi_set(o->scale[0].e[k / 32 * o->a.rows + s->i]));
}

/* A partial sum: s * 2^(e-24). */
struct part {
    vi s, e;
};

/* n products k, k+step, ... */
static ALWAYS struct part
add_part(const struct strip *s, unsigned k, unsigned n, unsigned step)
{
    struct part p = {vi_set(0), vi_set(-1000)};
    vf unit;

#pragma GCC unroll 8
    for (unsigned x = 0; x < n; x++)
        p.e = vi_max(p.e, strip_exponent(s, k + x * step));
    /* below -100 every product of the part is zero */
    unit = vi_float(vi_sll(vi_sub(vi_set(24 + 127),
                                  vi_max(p.e, vi_set(-100))), 23));
#pragma GCC unroll 8
    for (unsigned x = 0; x < n; x++)
        p.s = vi_add(p.s,
                     vf_trunc(vf_mul(strip_product(s, k + x * step), unit)));
    return p;
}

/* Even and odd k of 16 apart, then together. */
static ALWAYS struct part
add_split(const struct strip *s, unsigned k)
{
    struct part x = add_part(s, k, 8, 2), y = add_part(s, k + 1, 8, 2);
    vi e = vi_max(x.e, y.e);

    return (struct part){vi_add(vi_sra(x.s, vi_sub(e, x.e)),
                                vi_sra(y.s, vi_sub(e, y.e))), e};
}

static ALWAYS vd
finish_half(struct part p, vi m, vf c, bool high)
{
    vd x = vi_double(p.s, high), y = vf_double(c, high);

    x = vd_mul(x, vi_pow2(vi_sub(vi_add(p.e, vi_set(7)), m), high));
    y = vd_mul(y, vi_pow2(vi_sub(vi_set(24), m), high));
    x = vd_add(vd_floor(x), vd_mul(vd_floor(y), vd_set(128)));
    return vd_mul(x, vi_pow2(vi_sub(m, vi_set(31)), high));
}

/* The sum S * 2^(E-24) and the accumulator: one rounding. An accumulator
 * that is NaN or Inf stays. */
static ALWAYS vf
finish(struct part p, vf c, bool split)
{
    vi field = vi_and(vi_srl(vf_bits(c), 23), vi_set(0xff));
    vi ec = vi_sub(vi_max(field, vi_set(1)), vi_set(127));
    vi m = vi_max(p.e, ec), keep = vf_bits(c);
    vf r;

    if (split) /* an accumulator below 2^(m-25) is dropped */
        keep = vi_select(vi_gt(vi_sub(m, vi_set(25)), ec), vi_set(0), keep);
    r = vd_float(finish_half(p, m, vi_float(keep), false),
                 finish_half(p, m, vi_float(keep), true));
    return vi_float(vi_select(vi_eq(field, vi_set(0xff)), vf_bits(c),
                              vf_bits(r)));
}

/* The model that rounds to f32 after each k. */
static ALWAYS vf
run_chain(const struct strip *s, unsigned k, vf c)
{
    for (unsigned at = 0; at < k; at++) {
        vf p = strip_product(s, at);
        vd x = vf_double(p, false), y = vf_double(p, true);

        if (s->o->scaled) {
            vi e = strip_scale(s, at);

            x = vd_mul(x, vi_pow2(e, false));
            y = vd_mul(y, vi_pow2(e, true));
        }
        c = vd_float(vd_add(vf_double(c, false), x),
                     vd_add(vf_double(c, true), y));
    }
    return c;
}

/* The CDNA3 model in groups of g. */
static ALWAYS vf
run_groups(const struct strip *s, unsigned k, unsigned g, vf c)
{
    for (unsigned at = 0; at < k; at += g) {
        struct part p = g == 16 ? add_split(s, at) : add_part(s, at, g, 1);

        if (s->o->scaled)
            p.e = vi_add(p.e, strip_scale(s, at));
        c = finish(p, c, g == 16);
    }
    return c;
}

/* What a strip is computed by. */
enum how { GROUP4 = 4, GROUP8 = 8, GROUP16 = 16, CHAIN, FMA };

static ALWAYS vf
run_fma(const struct strip *s, unsigned k, vf c)
{
    const struct side *a = &s->o->a, *b = &s->o->b;

    for (unsigned at = 0; at < k; at++)
        c = vf_fma(vf_load(b->f + at * b->rows + s->j),
                   vf_set(a->f[at * a->rows + s->i]), c);
    return c;
}

/* NaN in its one form, and where a scale is NaN. */
static ALWAYS vi
finish_bits(const struct strip *s, vf c)
{
    const struct operands *o = s->o;
    vi nan = vi_gt(vi_and(vf_bits(c), vi_set(INT32_MAX)), vi_set(0x7f800000));

    if (o->scaled)
        nan = vi_or(nan, vi_or(vi_load(o->scale[1].nan + s->j),
                               vi_set(o->scale[0].nan[s->i])));
    return vi_select(nan, vi_set(0x7fc00000), vf_bits(c));
}

static ALWAYS vi
load_c(const struct kn_mfma_job *job, struct kn_mfma_at at)
{
    return job->c ? vi_load((const int32_t *)&job->c[at.element][at.lane])
                  : vi_set((int32_t)job->c_const);
}

/* kn_mfma_locate_d of one block of rows * rows, rows a constant. */
static ALWAYS struct kn_mfma_at
place_d(unsigned rows, unsigned i, unsigned j)
{
    unsigned lanes = 64 / rows; /* that hold a column, four rows each */

    return (struct kn_mfma_at){ (uint8_t)(j + rows * (i / 4 % lanes)),
                                (uint8_t)(i % 4 + i / (4 * lanes) * 4) };
}

static ALWAYS void
run_rows(const struct operands *o, const struct kn_mfma_job *job, enum how how,
         kn_vreg_row *d)
{
    const struct kn_mfma *r = job->row;

    for (unsigned i = 0; i < r->m; i++)
        for (unsigned j = 0; j < r->n; j += VL) {
            struct kn_mfma_at at = kn_mfma_locate_d(r, i, j, 0);
            const struct strip s = {o, i, j};
            vf c = vi_float(load_c(job, at));

            if (how == FMA)
                c = run_fma(&s, r->k, c);
            else if (how == CHAIN)
                c = run_chain(&s, r->k, c);
            else
                c = run_groups(&s, r->k, how, c);
            vi_store((int32_t *)&d[at.element][at.lane],
                     finish_bits(&s, c));
        }
}

#include "mfma_narrow.h"
#include "mfma_fused.h"

/* Each way its own copy of the loops, so that they are unrolled. */
static void
dispatch(const struct operands *o, const struct kn_mfma_job *j, kn_vreg_row *d)
{
    unsigned type = j->row->a;

    if (type == KN_MT_F32)
        run_rows(o, j, FMA, d);
    else if (j->model == KN_MFMA_FUSED)
        run_widened(j, o->a.f, o->b.f, o->scaled ? o->scale : NULL, d);
    else if (j->model == KN_MFMA_CHAIN)
        run_rows(o, j, CHAIN, d);
    else if (type >= KN_MT_FP8)
        run_rows(o, j, GROUP16, d);
    else if (type == KN_MT_XF32)
        run_rows(o, j, GROUP4, d);
    else
        run_rows(o, j, GROUP8, d);
}

/* Two k of int8 in one i32, as two i16: the operand of vi_madd. */
static void
load_pairs(const struct kn_mfma_job *j, bool b, int32_t *pairs)
{
    struct kn_mfma_layout l = b ? kn_mfma_layout_b(j) : kn_mfma_layout_a(j);
    const kn_vreg_row *regs = b ? j->b : j->a;

    for (unsigned t = 0; t < l.kl; t += 2)
        for (unsigned lane = 0; lane < 64; lane += VL) {
            unsigned k = lane / l.rows * l.kl + t;
            vi u = vi_srl(vi_load((const int32_t *)&regs[t / 4][lane]),
                          t % 4 * 8);
            vi even = vi_sra(vi_sll(u, 24), vi_set(24));
            vi odd = vi_sra(vi_sll(u, 16), vi_set(24));

            vi_store(pairs + k / 2 * l.rows + lane % l.rows,
                     vi_or(vi_and(even, vi_set(0xffff)), vi_sll(odd, 16)));
        }
}

static void
run_i8(const struct kn_mfma_job *job, kn_vreg_row *d)
{
    const struct kn_mfma *r = job->row;
    int32_t a[1024] __attribute__((aligned(64)));
    int32_t b[1024] __attribute__((aligned(64)));

    load_pairs(job, false, a);
    load_pairs(job, true, b);
    for (unsigned i = 0; i < r->m; i++)
        for (unsigned j = 0; j < r->n; j += VL) {
            struct kn_mfma_at at = kn_mfma_locate_d(r, i, j, 0);
            vi c = load_c(job, at);

            for (unsigned k = 0; k < r->k / 2u; k++)
                c = vi_add(c, vi_madd(vi_load(b + k * r->n + j),
                                      vi_set(a[k * r->m + i])));
            vi_store((int32_t *)&d[at.element][at.lane], c);
        }
}

/* f32 operands need no decoding: lane l is element (l / rows, l % rows). */
static void
load_f32(const struct kn_mfma_job *j, struct operands *o)
{
    o->a.rows = j->row->m;
    o->b.rows = j->row->n;
    memcpy(o->a.f, j->a[0], sizeof j->a[0]);
    memcpy(o->b.f, j->b[0], sizeof j->b[0]);
}


bool
KERNEL(const struct kn_mfma_job *j, kn_vreg_row *d)
{
    struct operands o;

    if (j->row->a == KN_MT_I8) {
        run_i8(j, d);
        return true;
    }
    o.scaled = j->sa != NULL;
    if (j->row->a == KN_MT_F32) {
        load_f32(j, &o);
        dispatch(&o, j, d);
        return true;
    }
    if (run_near(j, d) || run_fused(j, d))
        return true;
    load_side(j, false, &o.a);
    load_side(j, true, &o.b);
    if (o.scaled) {
        load_scales(j, false, &o.scale[0]);
        load_scales(j, true, &o.scale[1]);
    }
    if (!is_fast(&o))
        return false;
    dispatch(&o, j, d);
    return true;
}
