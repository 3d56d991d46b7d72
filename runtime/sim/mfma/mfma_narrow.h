/* mfma_narrow.h - the CDNA3 product sum for operands near 1, where it needs
 * neither f64 nor exponents wider than a byte. Included by mfma_kernel.h.
 *
 * Every operand is zero or has an exponent within NEAR, and so have their
 * products; every C is zero or within it. Then, with E the group's largest
 * exponent and S the sum of the products in units of 2^(E-24):
 *  - S is below 2^30, an exponent sum fits in a byte, and no intermediate f32
 *    is denormal or overflows;
 *  - C in the same units is floored by the conversion that floors; if it is
 *    below 2^30 there, S + C is exact in 32 bits and its conversion to f32 is
 *    the one rounding. (C above 2^E has no bits to floor.)
 *  - otherwise the unit becomes 2^-29 of C: S gives up what the model floors
 *    away, and the two bits below the unit only decide a rounding, so that
 *    they may be gathered in the last bit. */

enum {
    NEAR = 60,
    NO_PRODUCT = -67,        /* E of a group of zeros: below all of NEAR */
    ZERO_E = -127            /* exponent byte of a zero */
};

struct near_operands {
    const struct kn_mfma_side *a, *b;
    struct scales sa, sb;
    bool scaled;
};

/* bf16: the code is the upper half of the f32. */
static ALWAYS void
near_bf16(vi u, struct kn_mfma_side *s, unsigned at, struct seen *seen)
{
    vi f = vi_sll(u, 16), mag = vi_and(f, vi_set(INT32_MAX));
    vi e = vi_sub(vi_srl(mag, 23), vi_set(127));
    vi zero = vi_eq(mag, vi_set(0));

    seen->least = vi_min(seen->least, vi_select(zero, vi_set(0x7fff), e));
    seen->most = vi_max(seen->most, e);
    vf_store(s->f + at, vi_float(f));
    vi_store_bytes(s->e + at, e);
}

static ALWAYS void
near_codes(const struct decoder *d, vi u, struct kn_mfma_side *s, unsigned at,
           struct seen *seen)
{
    struct decoded x = decode(d, u, seen);

    vi_store_bytes(s->e + at, vi_select(x.zero, vi_set(ZERO_E), x.e));
    vf_store(s->f + at, x.f);
}

/* What each code of four bits is. */
struct nibbles {
    float f[16] __attribute__((aligned(64)));
    int32_t e[16] __attribute__((aligned(64)));
};

static void
load_nibbles(const struct decoder *d, struct nibbles *n, struct seen *seen)
{
    static const int32_t code[16] = { 0, 1, 2,  3,  4,  5,  6,  7,
                                      8, 9, 10, 11, 12, 13, 14, 15 };

    for (unsigned at = 0; at < 16; at += VL) {
        struct decoded x = decode(d, vi_load(code + at), seen);

        vf_store(n->f + at, x.f);
        vi_store(n->e + at, vi_select(x.zero, vi_set(ZERO_E), x.e));
    }
}

/* An operand of four bits; its range is taken for that of all codes. */
static void
load_near4(const struct decoder *d, const kn_vreg_row *regs,
           struct kn_mfma_layout l, struct kn_mfma_side *s)
{
    struct seen seen = {vi_set(-1000), vi_set(0x7fff), vi_set(0)};
    struct nibbles n;
    unsigned shift = l.rows == 16 ? 4 : 5;

    load_nibbles(d, &n, &seen);
    s->rows = l.rows;
    for (unsigned t = 0; t < l.kl; t++)
        for (unsigned lane = 0; lane < 64; lane += VL) {
            unsigned at = ((lane >> shift) * l.kl + t) * l.rows +
                          (lane & (l.rows - 1u));
            vi u = codes(regs, lane, t, 4);

            vf_store(s->f + at, vf_pick(n.f, u));
            vi_store_bytes(s->e + at, vi_pick(n.e, u));
        }
    s->max_e = vi_highest(seen.most);
    s->min_e = vi_lowest(seen.least);
    s->near = !vi_any(seen.bad);
}

static void
load_near(const struct kn_mfma_job *j, bool b, struct kn_mfma_side *s)
{
    struct decoder d = make_decoder(j, b);
    struct kn_mfma_layout l = b ? kn_mfma_layout_b(j) : kn_mfma_layout_a(j);
    const kn_vreg_row *regs = b ? j->b : j->a;
    bool bf16 = j->row->a == KN_MT_BF16;
    struct seen seen = {vi_set(-1000), vi_set(0x7fff), vi_set(0)};
    unsigned count = l.half ? l.kl * 2u : l.kl, shift = l.rows == 16 ? 4 : 5;

    if (d.bits == 4) {
        load_near4(&d, regs, l, s);
        return;
    }
    s->rows = l.rows;
    for (unsigned t = 0; t < count; t++)
        for (unsigned lane = 0; lane < 64; lane += VL) {
            unsigned in = t < l.kl ? t : t - l.kl + l.half;
            unsigned k = (lane >> shift) * l.kl + in;
            unsigned at = k * l.rows + (lane & (l.rows - 1u));
            vi u = codes(regs, lane, t, d.bits);

            if (bf16)
                near_bf16(u, s, at, &seen);
            else
                near_codes(&d, u, s, at, &seen);
        }
    s->max_e = vi_highest(seen.most);
    s->min_e = vi_lowest(seen.least);
    s->near = !vi_any(seen.bad) && s->max_e <= NEAR && s->min_e >= -NEAR;
}

/* All that the decoded elements depend on beside the registers. */
static uint64_t
key_of(const struct kn_mfma_job *j, bool b)
{
    struct kn_mfma_layout l = b ? kn_mfma_layout_b(j) : kn_mfma_layout_a(j);
    uint64_t format = j->row->a == KN_MT_XF32 ? 255 : kn_mfma_format(j, b);

    return (uint64_t)1 << 32 | format << 24 | (uint64_t)l.rows << 16 |
           (uint64_t)l.kl << 8 | l.half;
}

/* The operand as decoded before, if its registers still hold the same. */
static const struct kn_mfma_side *
find_near(const struct kn_mfma_job *j, bool b, struct kn_mfma_side *own)
{
    const kn_vreg_row *regs = b ? j->b : j->a;
    size_t size = sizeof *regs * (b ? kn_mfma_bregs(j) : kn_mfma_aregs(j));
    const uintptr_t half = KN_MFMA_SIDES / 2;
    uint64_t key = key_of(j, b);
    struct kn_mfma_side *s = own;

    if (j->sides)            /* A's and B's apart: both are wanted at once */
        s = j->sides + (b ? half : 0) +
            (uintptr_t)regs / (2 * sizeof *regs) % half;
    if (j->sides && s->key == key && !memcmp(s->raw, regs, size))
        return s;
    s->key = key;
    if (j->sides)
        memcpy(s->raw, regs, size);
    load_near(j, b, s);
    return s;
}

/* Loads all of it; the products are near, scaled or not. */
static bool
load_near_operands(const struct kn_mfma_job *j, struct kn_mfma_side own[2],
                   struct near_operands *o)
{
    int most, least;

    o->scaled = j->sa != NULL;
    o->a = find_near(j, false, &own[0]);
    o->b = find_near(j, true, &own[1]);
    if (!o->a->near || !o->b->near)
        return false;
    most = o->a->max_e + o->b->max_e;
    least = o->a->min_e + o->b->min_e;
    if (most > NEAR || least < -NEAR)
        return false;
    if (!o->scaled)
        return true;
    load_scales(j, false, &o->sa);
    load_scales(j, true, &o->sb);
    return most + o->sa.max_e + o->sb.max_e <= NEAR &&
           least + o->sa.min_e + o->sb.min_e >= -NEAR;
}

/* Rows i .. i+3 of D, columns j .. j+VL-1; A has as many rows as B columns,
 * which is a constant where this is inlined. */
struct quad {
    const struct near_operands *o;
    unsigned i, j, rows;
};

/* Partial sums s * 2^(e-24), a row each. */
struct quad_part {
    vi s[4], e[4];
};

static ALWAYS vf
near_unit(vi e)
{
    return vi_float(vi_sll(vi_sub(vi_set(24 + 127), e), 23));
}

/* n products k, k+step, ... */
static ALWAYS struct quad_part
add_quad(const struct quad *q, unsigned k, unsigned n, unsigned step)
{
    const struct kn_mfma_side *a = q->o->a, *b = q->o->b;
    struct quad_part p;
    vf unit[4];
    vb top = vb_set(NO_PRODUCT);

#pragma GCC unroll 8
    for (unsigned x = 0; x < n; x++) {
        unsigned at = k + x * step;

        top = vb_max(top, vb_adds(vb_columns(b->e + at * q->rows + q->j),
                                  vb_rows(a->e + at * q->rows + q->i)));
    }
#pragma GCC unroll 4
    for (unsigned r = 0; r < 4; r++) {
        p.e[r] = vb_row(top, r);
        unit[r] = near_unit(p.e[r]);
        p.s[r] = vi_set(0);
    }
#pragma GCC unroll 8
    for (unsigned x = 0; x < n; x++) {
        unsigned at = k + x * step;
        const float *row = a->f + at * q->rows + q->i;
        vf column = vf_load(b->f + at * q->rows + q->j);

#pragma GCC unroll 4
        for (unsigned r = 0; r < 4; r++)
            p.s[r] = vi_add(p.s[r], vf_trunc(vf_mul(
                vf_mul(column, vf_set(row[r])), unit[r])));
    }
    return p;
}

static ALWAYS struct quad_part
add_quad_split(const struct quad *q, unsigned k)
{
    struct quad_part x = add_quad(q, k, 8, 2), y = add_quad(q, k + 1, 8, 2);

#pragma GCC unroll 4
    for (unsigned r = 0; r < 4; r++) {
        vi e = vi_max(x.e[r], y.e[r]);

        x.s[r] = vi_add(vi_sra(x.s[r], vi_sub(e, x.e[r])),
                        vi_sra(y.s[r], vi_sub(e, y.e[r])));
        x.e[r] = e;
    }
    return x;
}

/* Units that C fits. */
static ALWAYS struct part
widen_unit(struct part p, vf c)
{
    vi ec = vi_sub(vi_srl(vi_and(vf_bits(c), vi_set(INT32_MAX)), 23),
                   vi_set(127));
    vi e = vi_max(p.e, vi_sub(ec, vi_set(5))), by = vi_sub(e, p.e);
    vi two = vi_min(by, vi_set(2));
    vi s = vi_sra(p.s, vi_sub(by, two));
    vi last = vi_or(s, vi_sra(s, vi_srl(two, 1)));

    return (struct part){vi_or(vi_sra(s, two), vi_and(last, vi_set(1))), e};
}

/* Apart, so that the common case keeps its registers. */
static void __attribute__((noinline))
widen_units(struct part *p, const vf *c)
{
    for (unsigned r = 0; r < 4; r++)
        p[r] = widen_unit(p[r], c[r]);
}

static ALWAYS vi
magnitude(vf x)
{
    return vi_and(vf_bits(x), vi_set(INT32_MAX));
}

/* The groups' sums and C: one rounding. */
static ALWAYS void
finish_near(const struct quad_part *q, vf *c, bool split)
{
    /* C and S below 2^31: 2^30 and 2^30, or 1.5 * 2^30 and (8 products) 2^29 */
    const vi limit = vi_set(split ? 0x4e7fffff : 0x4ebfffff);
    struct part p[4];
    vi most = vi_set(0);

#pragma GCC unroll 4
    for (unsigned r = 0; r < 4; r++) {
        p[r] = (struct part){q->s[r], q->e[r]};
        most = vi_max(most, magnitude(vf_mul(c[r], near_unit(p[r].e))));
    }
    if (vi_any_gt(most, limit)) {
        struct part t[4] = {p[0], p[1], p[2], p[3]};
        const vf old[4] = {c[0], c[1], c[2], c[3]};

        widen_units(t, old);
#pragma GCC unroll 4
        for (unsigned r = 0; r < 4; r++)
            p[r] = t[r];
    }
#pragma GCC unroll 4
    for (unsigned r = 0; r < 4; r++) {
        vf unit = near_unit(p[r].e), y = vf_mul(c[r], unit);
        vi floor = vf_floor(y);

        if (split) /* an accumulator below half a unit is dropped */
            floor = vi_drop_below(floor, magnitude(y), vi_set(0x3f000000));
        unit = vi_float(vi_sub(vi_set(254 << 23), vf_bits(unit)));
        c[r] = vf_mul(vi_value(vi_add(p[r].s, floor)), unit);
    }
}

static ALWAYS vi
quad_scale(const struct quad *q, unsigned k, unsigned r)
{
    const struct near_operands *o = q->o;

    return vi_add(vi_load(o->sb.e + k / 32 * q->rows + q->j),
                  vi_set(o->sa.e[k / 32 * q->rows + q->i + r]));
}

static ALWAYS void
run_quad(const struct quad *q, unsigned k, unsigned g, vf *c)
{
    for (unsigned at = 0; at < k; at += g) {
        struct quad_part p = g == 16 ? add_quad_split(q, at)
                                     : add_quad(q, at, g, 1);

        if (q->o->scaled)
#pragma GCC unroll 4
            for (unsigned r = 0; r < 4; r++)
                p.e[r] = vi_select(vi_gt(p.e[r], vi_set(NO_PRODUCT)),
                                   vi_add(p.e[r], quad_scale(q, at, r)),
                                   p.e[r]);
        finish_near(&p, c, g == 16);
    }
}

/* All of the four rows zero or near 1? */
static ALWAYS bool
near_c(const vf *c)
{
    const vi lo = vi_set((127 - NEAR) << 23), hi = vi_set((127 + NEAR) << 23);
    vi most = lo, least = lo;

#pragma GCC unroll 4
    for (unsigned r = 0; r < 4; r++) {
        vi mag = magnitude(c[r]);

        mag = vi_select(vi_eq(mag, vi_set(0)), lo, mag);
        most = vi_max(most, mag);
        least = vi_min(least, mag);
    }
    return !vi_any(vi_or(vi_gt(lo, least), vi_gt(most, hi)));
}

static ALWAYS vi
near_result(const struct quad *q, unsigned r, vf c)
{
    const struct near_operands *o = q->o;
    vi nan;

    if (!o->scaled)
        return vf_bits(c);
    nan = vi_or(vi_load(o->sb.nan + q->j), vi_set(o->sa.nan[q->i + r]));
    return vi_select(nan, vi_set(0x7fc00000), vf_bits(c));
}

/* false: some C is not near. */
static ALWAYS bool
run_quads(const struct near_operands *o, const struct kn_mfma_job *job,
          unsigned g, unsigned rows, kn_vreg_row *d)
{
    for (unsigned i = 0; i < rows; i += 4)
        for (unsigned j = 0; j < rows; j += VL) {
            const struct quad q = {o, i, j, rows};
            struct kn_mfma_at at = place_d(rows, i, j);
            vf c[4];

#pragma GCC unroll 4
            for (unsigned r = 0; r < 4; r++) {
                struct kn_mfma_at here = {at.lane, (uint8_t)(at.element + r)};

                c[r] = vi_float(load_c(job, here));
            }
            if (!near_c(c))
                return false;
            run_quad(&q, job->row->k, g, c);
#pragma GCC unroll 4
            for (unsigned r = 0; r < 4; r++)
                vi_store((int32_t *)&d[at.element + r][at.lane],
                         near_result(&q, r, c[r]));
        }
    return true;
}

/* Each group of products and each size its own copy of the loops. */
static bool
run_groups_of(const struct near_operands *o, const struct kn_mfma_job *j,
              kn_vreg_row *d)
{
    bool small = j->row->m == 16;

    if (j->row->a >= KN_MT_FP8)
        return small ? run_quads(o, j, GROUP16, 16, d)
                     : run_quads(o, j, GROUP16, 32, d);
    if (j->row->a == KN_MT_XF32)
        return small ? run_quads(o, j, GROUP4, 16, d)
                     : run_quads(o, j, GROUP4, 32, d);
    return small ? run_quads(o, j, GROUP8, 16, d)
                 : run_quads(o, j, GROUP8, 32, d);
}

/* The whole instruction, or false, d then holding anything. */
static bool
run_near(const struct kn_mfma_job *j, kn_vreg_row *d)
{
    struct kn_mfma_side own[2];
    struct near_operands o;

    if (j->model != KN_MFMA_CDNA3 || !load_near_operands(j, own, &o))
        return false;
    return run_groups_of(&o, j, d);
}
