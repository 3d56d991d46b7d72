#include "mfma.h"

#include <math.h>

uint64_t
kit_next(struct kit_rng *r)
{
    uint64_t z = r->s += 0x9e3779b97f4a7c15u; /* splitmix64 */

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

unsigned
kit_below(struct kit_rng *r, unsigned n)
{
    return (unsigned)(kit_next(r) >> 33) % n;
}

/* Formats again, from their own standards: exponent bits, mantissa bits,
 * bias, and what the all-ones exponent means. */
enum special { IEEE, FN, FNUZ, NONE };
struct fmt {
    int ebits, mbits, bias;
    enum special special;
};

static struct fmt
format_of(const struct kit *t, bool b)
{
    static const struct fmt f8f6f4[5] = {
        {4, 3, 7, FN}, {5, 2, 15, IEEE}, {2, 3, 1, NONE}, {3, 2, 3, NONE},
        {2, 1, 1, NONE}};
    bool old = t->job.target == KILN_GFX942;

    switch (b ? t->job.row->b : t->job.row->a) {
    case KN_MT_F64:
        return (struct fmt){11, 52, 1023, IEEE};
    case KN_MT_F32:
        return (struct fmt){8, 23, 127, IEEE};
    case KN_MT_XF32:
        return (struct fmt){8, 23, 127, IEEE};
    case KN_MT_F16:
        return (struct fmt){5, 10, 15, IEEE};
    case KN_MT_BF16:
        return (struct fmt){8, 7, 127, IEEE};
    case KN_MT_FP8:
        return old ? (struct fmt){4, 3, 8, FNUZ} : (struct fmt){4, 3, 7, FN};
    case KN_MT_BF8:
        return old ? (struct fmt){5, 2, 16, FNUZ}
                   : (struct fmt){5, 2, 15, IEEE};
    case KN_MT_I8:
        return (struct fmt){0, 7, 0, NONE};
    default:
        return f8f6f4[b ? t->job.blgp : t->job.cbsz];
    }
}

unsigned
kit_bits(const struct kit *t, bool b)
{
    struct fmt f = format_of(t, b);

    return (unsigned)(1 + f.ebits + f.mbits);
}

uint64_t
kit_one(const struct kit *t, bool b)
{
    struct fmt f = format_of(t, b);

    return f.ebits ? (uint64_t)f.bias << f.mbits : 1;
}

static double
value_of(struct fmt f, uint64_t code)
{
    uint64_t frac = code & ((UINT64_C(1) << f.mbits) - 1);
    int field = (int)(code >> f.mbits & ((1u << f.ebits) - 1));
    bool neg = code >> (f.mbits + f.ebits) & 1;
    uint64_t all = (UINT64_C(1) << f.mbits) - 1;
    int ones = (1 << f.ebits) - 1;
    double v;

    if (f.special == FNUZ && neg && !field && !frac)
        return NAN;
    if (f.special == IEEE && field == ones)
        v = frac ? (double)NAN : (double)INFINITY;
    else if (f.special == FN && field == ones && frac == all)
        v = (double)NAN;
    else if (field)
        v = ldexp(1 + ldexp((double)frac, -f.mbits), field - f.bias);
    else
        v = ldexp((double)frac, 1 - f.bias - f.mbits);
    return neg ? -v : v;
}

/* Significand and exponent as the published model extracts them. */
static void
extract(double x, int emin, double *s, int *e)
{
    *s = frexp(x, e) * 2;
    *e -= 1;
    if (*e < emin) {
        *s = ldexp(*s, *e - emin);
        *e = emin;
    }
    if (x == 0) {
        *s = 0;
        *e = -126;
    }
}

struct term {
    double value, s;         /* value: of the product, exact */
    int e;
};

static double
fused_sum(const struct term *p, unsigned n, unsigned step, int *e)
{
    double sum = 0;

    *e = p[0].e;
    for (unsigned k = step; k < n; k += step)
        *e = p[k].e > *e ? p[k].e : *e;
    for (unsigned k = 0; k < n; k += step)
        sum += ldexp(trunc(ldexp(p[k].s, 24 + p[k].e - *e)), -24);
    return sum;
}

static double
floor_to(double s, int bits)
{
    return ldexp(floor(ldexp(s, bits)), -bits);
}

static double
add_accumulator(double s, int e, float c, bool fp8)
{
    double sc;
    int ec, m;

    extract((double)c, -126, &sc, &ec);
    m = e > ec ? e : ec;
    s = ldexp(floor(ldexp(s, 31 + e - m)), -31);
    if (fp8 && ec < m - 25)
        sc = 0;
    else
        sc = ldexp(floor(ldexp(sc, 24 + ec - m)), -24);
    return ldexp(s + sc, m);
}

static float
group_sum(const struct term *p, unsigned n, float c, const struct kit *t)
{
    bool pinf = false, ninf = false, fp8 = t->job.row->a >= KN_MT_FP8;
    float over = t->job.clamp ? 0x1.fffffep127f : INFINITY;
    double ieee = (double)c, s;
    int e;

    for (unsigned k = 0; k < n; k++)
        ieee += p[k].value;
    if (!isfinite(ieee))
        return (float)ieee;
    for (unsigned k = 0; k < n; k++) {
        pinf |= p[k].value >= 0x1p128;
        ninf |= p[k].value <= -0x1p128;
    }
    if (pinf || ninf)
        return pinf && ninf ? NAN : pinf ? over : -over;
    if (fp8) {
        int e0, e1;
        double s0 = fused_sum(p, n, 2, &e0);
        double s1 = fused_sum(p + 1, n - 1, 2, &e1);

        e = e0 > e1 ? e0 : e1;
        s = ldexp(floor(ldexp(s0, 24 + e0 - e)), -24) +
            ldexp(floor(ldexp(s1, 24 + e1 - e)), -24);
    } else {
        s = fused_sum(p, n, 1, &e);
    }
    c = (float)add_accumulator(floor_to(s, 60), e, c, fp8);
    return isinf(c) ? copysignf(over, c) : c;
}

/* Layouts of the single-block forms: lane = row + M * group, a group being
 * kl consecutive k; of the multi-block forms: blocks side by side. */
struct kit_at
kit_where(const struct kit *t, bool b, unsigned block, unsigned row,
          unsigned k)
{
    const struct kn_mfma *r = t->job.row;
    unsigned depth = r->sparse && !b ? r->k / 2u : r->k, kl, in;
    bool eight = r->a == KN_MT_F8F6F4 && kit_bits(t, b) == 8;
    bool halves = eight || (r->sparse && b && r->targets == KN_MF_GFX950);

    if (r->a == KN_MT_F64)
        return (struct kit_at){
            r->m == 4 ? row + 4 * block + 16 * k : row + 16 * k, 0};
    if (r->blocks > 1) /* all k in one lane */
        return (struct kit_at){row + r->m * block, k};
    kl = depth * r->m / 64;
    if (!halves)
        return (struct kit_at){row + r->m * (k / kl), k % kl};
    /* first half of the registers: first half of k */
    in = k % (depth / 2);
    return (struct kit_at){row + r->m * (in / (kl / 2)),
                           in % (kl / 2) + (k >= depth / 2 ? kl / 2 : 0)};
}

struct kit_at
kit_where_d(const struct kit *t, unsigned block, unsigned i, unsigned col)
{
    const struct kn_mfma *r = t->job.row;

    if (r->a == KN_MT_F64 && r->m == 4)
        return (struct kit_at){col + 4 * block + 16 * i, 0};
    if (r->a == KN_MT_F64)
        return (struct kit_at){col + 16 * (i % 4), i / 4};
    if (r->m == 4)
        return (struct kit_at){col + 4 * block, i};
    if (r->m == 16)
        return (struct kit_at){col + 16 * (i / 4), i % 4 + 4 * block};
    return (struct kit_at){col + 32 * (i / 4 % 2),
                           i % 4 + 4 * (i / 8) + 16 * block};
}

void
kit_put(kn_vreg_row *regs, unsigned lane, unsigned element, unsigned bits,
        uint64_t x)
{
    for (unsigned n = 0; n < bits; n++) {
        unsigned at = element * bits + n;
        uint32_t bit = 1u << at % 32;

        regs[at / 32][lane] &= ~bit;
        regs[at / 32][lane] |= x >> n & 1 ? bit : 0;
    }
}

uint64_t
kit_get(const kn_vreg_row *regs, unsigned lane, unsigned element,
        unsigned bits)
{
    unsigned first = element * bits, last = first + bits - 1;
    uint64_t x = regs[first / 32][lane];

    if (last / 32 != first / 32)
        x |= (uint64_t)regs[last / 32][lane] << 32;
    x >>= first % 32;
    return bits == 64 ? x : x & ((UINT64_C(1) << bits) - 1);
}

static unsigned
lane_pattern(unsigned blgp, unsigned lane)
{
    static const uint8_t row_of[8][4] = { /* 16-lane row that each row reads */
        {0, 1, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}, {1, 2, 3, 0},
        {0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}};

    return row_of[blgp][lane / 16] * 16u + lane % 16;
}

static uint64_t
code_a(const struct kit *t, unsigned block, unsigned i, unsigned k)
{
    const struct kn_mfma_job *j = &t->job;
    unsigned size = 1u << j->cbsz;
    struct kit_at at;

    if (j->row->blocks > 1)
        block = block / size * size + j->abid;
    at = kit_where(t, false, block, i, k);
    return kit_get(j->a, at.lane, at.element, kit_bits(t, false));
}

static uint64_t
code_b(const struct kit *t, unsigned block, unsigned k, unsigned col)
{
    const struct kn_mfma_job *j = &t->job;
    struct kit_at at = kit_where(t, true, block, col, k);

    if (j->row->a != KN_MT_F8F6F4)
        at.lane = lane_pattern(j->blgp, at.lane);
    return kit_get(j->b, at.lane, at.element, kit_bits(t, true));
}

/* Dense k of the stored sparse element k of row i. */
static unsigned
chosen_k(const struct kit *t, unsigned i, unsigned k)
{
    const struct kn_mfma *r = t->job.row;
    unsigned depth = r->k / 2u * r->m / 64, set;
    struct kit_at at;

    if (!r->sparse)
        return k;
    set = t->job.cbsz % 4 ? 0 : t->job.abid % (16 / depth);
    at = kit_where(t, false, 0, i, k);
    return 4 * (k / 2) +
           (t->index[at.lane] >> (2 * depth * set + 2 * at.element) & 3);
}

static struct term
make_term(const struct kit *t, unsigned block, unsigned i, unsigned k,
          unsigned col)
{
    struct fmt fa = format_of(t, false), fb = format_of(t, true);
    uint64_t ca = code_a(t, block, i, k);
    uint64_t cb = code_b(t, block, chosen_k(t, i, k), col);
    double sa, sb, va, vb;
    int ea, eb;

    if (t->job.row->a == KN_MT_XF32) {
        ca &= ~0x1fffu;
        cb &= ~0x1fffu;
    }
    va = value_of(fa, ca);
    vb = value_of(fb, cb);
    extract(va, 1 - fa.bias, &sa, &ea);
    extract(vb, 1 - fb.bias, &sb, &eb);
    return (struct term){va * vb, sa * sb, ea + eb};
}

/* K blocks of 32 along the logical k: lane row + M * block holds the byte. */
static bool
add_scale(const struct kit *t, unsigned i, unsigned k, unsigned col,
          struct term *p)
{
    const struct kn_mfma *r = t->job.row;
    unsigned xa = t->sa[i + r->m * (k / 32)] >> 8 * t->job.sa_byte & 0xff;
    unsigned xb = t->sb[col + r->n * (k / 32)] >> 8 * t->job.sb_byte & 0xff;

    if (xa == 255 || xb == 255)
        return false;
    p->e += (int)(xa + xb) - 254;
    p->value = ldexp(p->value, (int)(xa + xb) - 254);
    return true;
}

static float
small_sum(const struct kit *t, unsigned block, unsigned i, unsigned col,
          float c)
{
    const struct kn_mfma *r = t->job.row;
    unsigned depth = r->sparse ? r->k / 2u : r->k;
    bool fp8 = r->a == KN_MT_FP8 || r->a == KN_MT_BF8 || r->a == KN_MT_F8F6F4;
    unsigned g = fp8 ? 16 : r->a == KN_MT_XF32 ? 4 : depth < 8 ? depth : 8;
    struct term p[KN_MFMA_MAXK];

    for (unsigned k = 0; k < depth; k++) {
        p[k] = make_term(t, block, i, k, col);
        if (t->job.sa && !add_scale(t, i, k, col, &p[k]))
            return NAN;
    }
    for (unsigned k = 0; k < depth; k += g)
        c = group_sum(p + k, g, c, t);
    return c;
}

static double
wide_sum(const struct kit *t, unsigned block, unsigned i, unsigned col,
         double c)
{
    bool f64 = t->job.row->a == KN_MT_F64;
    struct fmt f = format_of(t, false);

    c = t->job.neg & 4 ? -c : c;
    for (unsigned k = 0; k < t->job.row->k; k++) {
        double x = value_of(f, code_a(t, block, i, k));
        double y = value_of(f, code_b(t, block, k, col));
        bool finite;

        x = t->job.neg & 1 ? -x : x;
        y = t->job.neg & 2 ? -y : y;
        if (t->job.flush) {
            x = fabs(x) < 0x1p-126 ? copysign(0, x) : x;
            y = fabs(y) < 0x1p-126 ? copysign(0, y) : y;
        }
        finite = isfinite(x) && isfinite(y) && isfinite(c);
        c = f64 ? fma(x, y, c)
                : (double)fmaf((float)x, (float)y, (float)c);
        if (t->job.clamp && !f64 && finite && isinf(c))
            c = copysign(0x1.fffffep127, c);
    }
    return c;
}

static uint32_t
int_sum(const struct kit *t, unsigned block, unsigned i, unsigned col,
        uint32_t c)
{
    const struct kn_mfma *r = t->job.row;
    unsigned depth = r->sparse ? r->k / 2u : r->k;
    int64_t sum = (int32_t)c;

    for (unsigned k = 0; k < depth; k++)
        sum += (int8_t)code_a(t, block, i, k) *
               (int8_t)code_b(t, block, chosen_k(t, i, k), col);
    if (t->job.clamp)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (uint32_t)sum;
}

static uint64_t
accumulator(const struct kit *t, const kn_vreg_row *regs, unsigned block,
            unsigned i, unsigned col)
{
    struct kit_at at = kit_where_d(t, block, i, col);

    return kit_get(regs, at.lane, at.element,
                   t->job.row->a == KN_MT_F64 ? 64 : 32);
}

uint64_t
kit_expect(const struct kit *t, unsigned block, unsigned i, unsigned col)
{
    uint64_t c = t->job.c ? accumulator(t, t->job.c, block, i, col)
                          : t->job.c_const;
    float f;

    if (t->job.row->a == KN_MT_I8)
        return int_sum(t, block, i, col, (uint32_t)c);
    if (t->job.row->a == KN_MT_F64) {
        double d = wide_sum(t, block, i, col, kn_bits_f64(c));

        return isnan(d) ? 0x7ff8000000000000u : kn_f64_bits(d);
    }
    if (t->job.row->a == KN_MT_F32)
        f = (float)wide_sum(t, block, i, col,
                            (double)kn_bits_f32((uint32_t)c));
    else
        f = small_sum(t, block, i, col, kn_bits_f32((uint32_t)c));
    return isnan(f) ? 0x7fc00000 : kn_f32_bits(f);
}

uint64_t
kit_result(const struct kit *t, unsigned block, unsigned i, unsigned col)
{
    return accumulator(t, (const kn_vreg_row *)t->d, block, i, col);
}

void
kit_init(struct kit *t, kiln_target target, const struct kn_mfma *row)
{
    memset(t, 0, sizeof *t);
    t->job.row = row;
    t->job.target = target;
    t->job.a = (const kn_vreg_row *)t->a;
    t->job.b = (const kn_vreg_row *)t->b;
    t->job.c = (const kn_vreg_row *)t->c;
    t->job.d = t->d;
    if (row->sparse)
        t->job.index = t->index;
    if (strstr(row->mnemonic, "scale")) {
        t->job.sa = t->sa;
        t->job.sb = t->sb;
    }
}

static uint64_t
draw(struct kit_rng *r, struct fmt f, enum kit_fill how)
{
    uint64_t x = kit_next(r);
    int width = 1 + f.ebits + f.mbits;
    uint64_t all = width == 64 ? ~UINT64_C(0) : (UINT64_C(1) << width) - 1;
    uint64_t frac = x & ((UINT64_C(1) << f.mbits) - 1), field;

    if (how == KIT_BITS || !f.ebits)
        return x & all;
    if (how == KIT_NEAR)
        field = (uint64_t)f.bias + (x >> 58) % 4 - 1;
    else if (how == KIT_INTS) {
        frac = x >> 40 & 1 ? UINT64_C(1) << (f.mbits - 1) : 0; /* 1.0, 1.5 */
        field = (uint64_t)f.bias + (x >> 58) % 2;
    } else if ((x >> 56 & 7) == 0) {
        return x >> 55 & 1 && f.special != FNUZ
                   ? UINT64_C(1) << (width - 1)
                   : 0;
    } else {
        field = (x >> 40) % ((1u << f.ebits) - 1); /* no NaN, no Inf */
    }
    x = (x >> 39 & 1) << (width - 1) | field << f.mbits | frac;
    return f.special == FNUZ && x == 0x80 ? 0 : x;
}

static void
fill_operand(struct kit *t, struct kit_rng *r, enum kit_fill how, bool b)
{
    struct fmt f = format_of(t, b);
    unsigned bits = kit_bits(t, b);
    unsigned n = (b ? kn_mfma_bregs(&t->job) : kn_mfma_aregs(&t->job)) * 32;

    for (unsigned lane = 0; lane < 64; lane++)
        for (unsigned k = 0; k < n / bits; k++)
            kit_put(b ? t->b : t->a, lane, k, bits, draw(r, f, how));
}

static void
fill_accumulator(struct kit *t, struct kit_rng *r, enum kit_fill how)
{
    unsigned type = t->job.row->a;
    struct fmt f = type == KN_MT_F64 ? (struct fmt){11, 52, 1023, IEEE}
                                     : (struct fmt){8, 23, 127, IEEE};
    unsigned n = kn_mfma_dregs(t->job.row) / (type == KN_MT_F64 ? 2 : 1);

    if (type == KN_MT_I8)
        f = (struct fmt){0, 31, 0, NONE};
    for (unsigned lane = 0; lane < 64; lane++)
        for (unsigned k = 0; k < n; k++)
            kit_put(t->c, lane, k, type == KN_MT_F64 ? 64 : 32,
                    draw(r, f, how));
}

void
kit_fill(struct kit *t, struct kit_rng *r, enum kit_fill how)
{
    fill_operand(t, r, how, false);
    fill_operand(t, r, how, true);
    fill_accumulator(t, r, how);
    for (unsigned lane = 0; lane < 64; lane++) {
        uint64_t x = kit_next(r), y = kit_next(r);

        t->index[lane] = (uint32_t)x;
        if (how != KIT_BITS) { /* 2^-3 .. 2^4 */
            x = (x & 0x07070707u) + 0x7c7c7c7cu;
            y = (y & 0x07070707u) + 0x7c7c7c7cu;
        }
        t->sa[lane] = (uint32_t)x;
        t->sb[lane] = (uint32_t)y;
    }
}
