/* mfma_fused.h - the model that adds in f64 and rounds once (KN_MFMA_FUSED).
 * Included by mfma_kernel.h.
 *
 * Operands, their scales and the product of two of them are exact in f64, so
 * that a multiply-add rounds where the sum of the exact product does, whether
 * it is fused or not. Each output adds its products k ascending, whose order
 * is the result's; the sums of WIDE_ROWS rows go on side by side, so that none
 * waits for its own last addition. */

enum { WIDE_ROWS = 4 };

struct wide_operands {
    double a[KN_MFMA_MAXK * 16] __attribute__((aligned(64)));
    double b[KN_MFMA_MAXK * 16] __attribute__((aligned(64)));
    const struct scales *sa, *sb; /* NULL: none */
};

/* f: element (k, row) at k * rows + row, as in struct side. */
static void
widen_side(const float *f, const struct scales *s, unsigned rows, unsigned k,
           double *to)
{
    for (unsigned q = 0; q < k; q++)
        for (unsigned row = 0; row < rows; row += VL) {
            unsigned at = q * rows + row;
            vf x = vf_load(f + at);
            vd lo = vf_double(x, false), hi = vf_double(x, true);

            if (s) {
                vi e = vi_load(s->e + q / 32 * rows + row);

                lo = vd_mul(lo, vi_pow2(e, false));
                hi = vd_mul(hi, vi_pow2(e, true));
            }
            vd_store(to + at, lo);
            vd_store(to + at + VL / 2, hi);
        }
}

struct wide {                /* WIDE_ROWS rows of A, VL columns of B */
    const double *a, *b;
    unsigned rows, k;        /* rows: of A, columns of B */
};

/* Adds k products to each of the sums c. */
static ALWAYS void
add_wide(struct wide w, vf *c)
{
    vd lo[WIDE_ROWS], hi[WIDE_ROWS];

#pragma GCC unroll 4
    for (unsigned x = 0; x < WIDE_ROWS; x++) {
        lo[x] = vf_double(c[x], false);
        hi[x] = vf_double(c[x], true);
    }
    for (unsigned k = 0; k < w.k; k++, w.a += w.rows, w.b += w.rows) {
        vd left = vd_load(w.b), right = vd_load(w.b + VL / 2);

#pragma GCC unroll 4
        for (unsigned x = 0; x < WIDE_ROWS; x++) {
            vd row = vd_set(w.a[x]);

            lo[x] = vd_fma(left, row, lo[x]);
            hi[x] = vd_fma(right, row, hi[x]);
        }
    }
#pragma GCC unroll 4
    for (unsigned x = 0; x < WIDE_ROWS; x++)
        c[x] = vd_float(lo[x], hi[x]);
}

static ALWAYS vi
wide_result(const struct wide_operands *o, unsigned i, unsigned j, vf c)
{
    vi nan = vi_gt(vi_and(vf_bits(c), vi_set(INT32_MAX)), vi_set(0x7f800000));

    if (o->sa)
        nan = vi_or(nan, vi_or(vi_load(o->sb->nan + j),
                               vi_set(o->sa->nan[i])));
    return vi_select(nan, vi_set(0x7fc00000), vf_bits(c));
}

static ALWAYS void
run_wide(const struct wide_operands *o, const struct kn_mfma_job *job,
         unsigned rows, kn_vreg_row *d)
{
    for (unsigned i = 0; i < rows; i += WIDE_ROWS)
        for (unsigned j = 0; j < rows; j += VL) {
            struct wide w = { o->a + i, o->b + j, rows, job->row->k };
            struct kn_mfma_at at = place_d(rows, i, j);
            vf c[WIDE_ROWS];

#pragma GCC unroll 4
            for (unsigned x = 0; x < WIDE_ROWS; x++)
                c[x] = vi_float(load_c(job, (struct kn_mfma_at){
                    at.lane, (uint8_t)(at.element + x) }));
            add_wide(w, c);
#pragma GCC unroll 4
            for (unsigned x = 0; x < WIDE_ROWS; x++)
                vi_store((int32_t *)&d[at.element + x][at.lane],
                         wide_result(o, i + x, j, c[x]));
        }
}

/* Operands that are decoded already. */
static void
run_widened(const struct kn_mfma_job *j, const float *a, const float *b,
            const struct scales *s, kn_vreg_row *d)
{
    struct wide_operands o;

    o.sa = s;
    o.sb = s ? s + 1 : NULL;
    widen_side(a, o.sa, j->row->m, j->row->k, o.a);
    widen_side(b, o.sb, j->row->n, j->row->k, o.b);
    if (j->row->m == 16)
        run_wide(&o, j, 16, d);
    else
        run_wide(&o, j, 32, d);
}

/* Of operands near 1, which are kept decoded. */
static bool
run_fused(const struct kn_mfma_job *j, kn_vreg_row *d)
{
    struct kn_mfma_side own[2];
    const struct kn_mfma_side *a, *b;
    struct scales s[2];

    if (j->model != KN_MFMA_FUSED)
        return false;
    a = find_near(j, false, &own[0]);
    b = find_near(j, true, &own[1]);
    if (!a->near || !b->near)
        return false;
    if (j->sa) {
        load_scales(j, false, &s[0]);
        load_scales(j, true, &s[1]);
    }
    run_widened(j, a->f, b->f, j->sa ? s : NULL, d);
    return true;
}
