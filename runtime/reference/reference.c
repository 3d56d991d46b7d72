/* reference.c - rectangles of the output in f64. */
#include "reference.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../ir/clones.h"
#include "expression.h"
#include "operand.h"

/* A block of the output is BM x BN, its sums and a slice of both operands fit
 * in a cache of 2 MB: A's rows and a panel of PN columns of B. */
enum {
    BM = KN_REF_ROWS, BN = 256, PN = 64, PV = 8, PK = KN_REF_DEPTH,
    MAXTHREADS = 64,
    STRIP = 16,              /* rows or columns that a thread takes at least */
    WORTH = 1 << 20          /* products that are worth a second thread */
};

/* One thread's part of a rectangle, and its block. */
struct worker {
    const struct kn_ref_problem *p;
    struct kn_ref_operand oa, ob;
    struct kn_ref_rect rect;
    struct kn_ref_sums out;  /* of the rectangle's first element */
    int64_t stride;          /* elements from row to row of them */
    double *a, *b;           /* a[BM][PK], b[PN / PV][PK][PV] */
    double *rows;            /* PN columns of B as rows */
    double *value, *abssum;  /* [BM][BN] */
    struct kn_ref_expression expression;
    bool failed;             /* out of memory */
};

/* Of the output, inside a worker's part. */
struct block {
    int64_t m0, n0;
    int rows, cols;
};

static int64_t
ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int
below(int64_t rest, int most)
{
    return rest < most ? (int)rest : most;
}

/* Columns from n0 on of B in strips of PV, so that the inner loop reads
 * consecutive bytes; those beyond `cols` are left as they were. */
static void
load_b(struct worker *w, int64_t n0, int cols, int64_t k0, int n)
{
    kn_ref_rows(&w->ob, &(struct kn_ref_span){ n0, k0, cols, n }, w->rows);
    for (int j = 0; j < cols; j++) {
        const double *row = w->rows + j * PK;
        double *strip = w->b + (j / PV * PK) * PV + j % PV;

        for (int x = 0; x < n; x++)
            strip[x * PV] = row[x];
    }
}

/* PV columns of two rows at a time, so that the sums stay in registers; each
 * sum runs over ascending k whatever the rectangle. */
typedef double vec __attribute__((vector_size(8 * PV), aligned(8)));
typedef int64_t mask __attribute__((vector_size(8 * PV)));

/* Sums of PV columns of two rows, [2][BN] each. */
typedef void add_fn(const double *a, const double *b, int n, double *sum[2]);

KN_WIDE_CLONES static void
add_products(const double *a, const double *b, int n, double *sum[2])
{
    vec *v = (vec *)sum[0], *s = (vec *)sum[1];
    vec v0 = v[0], v1 = v[BN / PV], s0 = s[0], s1 = s[BN / PV];

    for (int x = 0; x < n; x++) {
        vec strip = ((const vec *)b)[x];
        vec p0 = a[x] * strip, p1 = a[PK + x] * strip;

        v0 += p0;
        v1 += p1;
        s0 += (vec)((mask)p0 & INT64_MAX);
        s1 += (vec)((mask)p1 & INT64_MAX);
    }
    v[0] = v0, v[BN / PV] = v1;
    s[0] = s0, s[BN / PV] = s1;
}

/* Products of each sign alone. */
static void
add_signs(const double *a, const double *b, int n, double *sum[2])
{
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < PV; j++)
            for (int x = 0; x < n; x++) {
                double p = a[i * PK + x] * b[x * PV + j];

                sum[0][i * BN + j] += p > 0 ? p : 0;
                sum[1][i * BN + j] += p < 0 ? p : 0;
            }
}

/* Sums [BM][BN] of a block over all of K. Rows and columns beyond it hold what
 * is never read. */
static void
add_block(struct worker *w, const struct block *t, add_fn *add, double *x,
          double *y)
{
    size_t used = sizeof *x * BN * (size_t)((t->rows + 1) / 2 * 2);

    memset(x, 0, used);
    memset(y, 0, used);
    for (int64_t k0 = 0; k0 < w->p->k; k0 += PK) {
        int n = below(w->p->k - k0, PK);

        kn_ref_rows(&w->oa, &(struct kn_ref_span){ t->m0, k0, t->rows, n },
                    w->a);
        for (int j = 0; j < t->cols; j += PV) {
            const double *strip = w->b + j % PN * PK;

            if (j % PN == 0)
                load_b(w, t->n0 + j, below(t->cols - j, PN), k0, n);
            for (int i = 0; i < t->rows; i += 2)
                add(w->a + i * PK, strip, n,
                    (double *[2]){ x + i * BN + j, y + i * BN + j });
        }
    }
}

/* Element (m, n) of a tensor of the output's shape. */
static double
element(const struct kn_ref_problem *p, const struct kn_ref_tensor *t,
        int64_t m, int64_t n)
{
    int64_t ld = t->ld ? t->ld : p->n;
    unsigned bytes = kn_ref_type_bits(t->type) / 8;
    uint32_t code = 0;

    kn_ref_bytes(t, (uint64_t)(m * ld + n) * bytes, &code, bytes);
    return kn_ref_decode(t->type, p->target, code);
}

/* beta * C(m, n). */
static double
initial(const struct kn_ref_problem *p, int64_t m, int64_t n)
{
    return p->beta == 0 ? 0 : p->beta * element(p, &p->cin, m, n);
}

/* A declared operand at (m, n). */
static double
declared(const struct kn_ref_problem *p, const struct kn_ref_declared *d,
         int64_t m, int64_t n)
{
    const struct kn_ref_tensor *t = &p->array[d->slot];

    return d->kind == 's' ? p->scalar[d->slot]
         : d->kind == 't' ? element(p, t, m, n)
                          : kn_ref_f32(t, d->kind == 'r' ? m : n);
}

/* The epilogue's value of x, which belongs to column n; *abssum takes the
 * magnitude of what is added. */
static double
epilogue(const struct worker *w, int64_t n, double x, double *abssum)
{
    const struct kn_ref_problem *p = w->p;
    double bias;

    switch (p->epilogue) {
    case KILN_EPILOGUE_BIAS:
        bias = kn_ref_f32(&p->bias, n);
        *abssum += fabs(bias);
        return x + bias;
    default:
        return x;
    }
}

/* The expression's at (m, n), of the sum x and beta * C. */
static double
express(const struct worker *w, const int64_t at[2], double x, double c,
        double *abssum)
{
    const struct kn_ref_problem *p = w->p;
    double unit = ((double)p->k / 8 + 16) * 0x1p-24;
    struct kn_ref_inexact v[KN_REF_VALUES] = { { x, *abssum * unit },
                                               { 0, 0 }, { c, 0 } }, y;

    if (kn_ref_present(&p->bias))
        v[KN_REF_BIAS].value = kn_ref_f32(&p->bias, at[1]);
    for (uint32_t i = 0; i < w->expression.ndeclared; i++)
        v[KN_REF_NAMES + i].value = declared(p, &w->expression.declared[i],
                                             at[0], at[1]);
    if (!kn_ref_expression_names(&w->expression, KN_REF_C)) {
        v[KN_REF_ACC].value += c;
        v[KN_REF_ACC].error += fabs(c) * 0x1p-24 + fabs(x + c) * 0x1p-24;
    }
    y = kn_ref_evaluate(&w->expression, v);
    *abssum = y.error / unit;
    return y.value;
}

/* alpha, epilogue and beta * C of row i of a block. */
static void
finish_row(struct worker *w, const struct block *t, int i)
{
    const struct kn_ref_problem *p = w->p;
    double *value = w->value + i * BN, *abssum = w->abssum + i * BN;

    for (int j = 0; j < t->cols; j++) {
        double c = initial(p, t->m0 + i, t->n0 + j);

        abssum[j] *= fabs(p->alpha);
        if (p->epilogue == KILN_EPILOGUE_EXPRESSION) {
            value[j] = express(w, (int64_t[2]){ t->m0 + i, t->n0 + j },
                               value[j] * p->alpha, c, &abssum[j]);
            continue;
        }
        value[j] = epilogue(w, t->n0 + j, value[j] * p->alpha, &abssum[j]) + c;
        abssum[j] += fabs(c);
    }
}

/* Whether a sum is that large; operands with a scale for the tensor or the row
 * have 8 bits, whose sums stay in f32. */
static bool
may_overflow(const struct worker *w, const struct block *t)
{
    const struct kn_ref_problem *p = w->p;
    bool rare = false, after;

    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < t->cols; j++)
            rare |= !(w->abssum[i * BN + j] <= (double)FLT_MAX);
    after = p->scale == KILN_SCALE_TENSOR || p->scale == KILN_SCALE_ROW;
    return rare && (!after || p->quantise);
}

/* kn_ref_sums.both of a block, in a pass of its own. */
static void
mark_overflows(struct worker *w, const struct block *t, uint8_t *both)
{
    double *above, *under;

    for (int i = 0; i < t->rows; i++)
        memset(both + i * w->stride, 0, (size_t)t->cols);
    if (!may_overflow(w, t))
        return;
    above = malloc(sizeof *above * 2 * BM * BN);
    if (!above) {
        w->failed = true;
        return;
    }
    under = above + BM * BN;
    add_block(w, t, add_signs, above, under);
    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < t->cols; j++)
            both[i * w->stride + j] =
                above[i * BN + j] > (double)FLT_MAX &&
                under[i * BN + j] < -(double)FLT_MAX;
    free(above);
}

static void
run_block(struct worker *w, const struct block *t)
{
    int64_t at = (t->m0 - w->rect.m0) * w->stride + (t->n0 - w->rect.n0);
    size_t size = (size_t)t->cols * sizeof(double);

    add_block(w, t, add_products, w->value, w->abssum);
    if (w->out.both)
        mark_overflows(w, t, w->out.both + at);
    for (int i = 0; i < t->rows; i++, at += w->stride) {
        finish_row(w, t, i);
        memcpy(w->out.value + at, w->value + i * BN, size);
        memcpy(w->out.abssum + at, w->abssum + i * BN, size);
    }
}

static void
run_blocks(struct worker *w)
{
    for (int64_t i = 0; i < w->rect.rows; i += BM)
        for (int64_t j = 0; j < w->rect.cols; j += BN)
            run_block(w, &(struct block){
                w->rect.m0 + i, w->rect.n0 + j,
                below(w->rect.rows - i, BM), below(w->rect.cols - j, BN) });
}

static void *
run_worker(void *arg)
{
    struct worker *w = arg;

    w->failed = kn_ref_operand_init(&w->oa, w->p, false) ||
                kn_ref_operand_init(&w->ob, w->p, true);
    w->a = calloc(BM * PK, sizeof *w->a);
    w->b = calloc(PN * PK, sizeof *w->b);
    w->rows = malloc(sizeof *w->rows * PN * PK);
    w->value = malloc(sizeof *w->value * BM * BN);
    w->abssum = malloc(sizeof *w->abssum * BM * BN);
    w->failed |= !w->a || !w->b || !w->rows || !w->value || !w->abssum;
    if (!w->failed)
        run_blocks(w);
    kn_ref_operand_free(&w->oa);
    kn_ref_operand_free(&w->ob);
    free(w->a);
    free(w->b);
    free(w->rows);
    free(w->value);
    free(w->abssum);
    return NULL;
}

static kiln_status
check_problem(struct kn_ctx *c, const struct kn_ref_problem *p,
              const struct kn_ref_rect *r)
{
    unsigned a = kn_ref_type_bits(p->a.type), b = kn_ref_type_bits(p->b.type);

    if (!a || !b || !kn_ref_present(&p->a) || !kn_ref_present(&p->b))
        return kn_fail(c, KILN_BAD_INPUT, "the reference needs A and B");
    if (p->layout != KILN_NT && (a < 8 || b < 8))
        return kn_fail(c, KILN_UNSUPPORTED,
                       "6- and 4-bit operands exist in layout nt only");
    if (p->beta != 0 &&
        (!kn_ref_present(&p->cin) || kn_ref_type_bits(p->cin.type) < 8))
        return kn_fail(c, KILN_BAD_INPUT, "beta without an initial C");
    if (r->m0 < 0 || r->n0 < 0 || r->rows < 0 || r->cols < 0 ||
        r->m0 + r->rows > p->m || r->n0 + r->cols > p->n)
        return kn_fail(c, KILN_BAD_INPUT,
                       "rectangle %lldx%lld at %lld,%lld is outside the output",
                       (long long)r->rows, (long long)r->cols,
                       (long long)r->m0, (long long)r->n0);
    return KILN_OK;
}

/* Threads worth starting. */
static int64_t
count_workers(const struct kn_ref_problem *p, const struct kn_ref_rect *r)
{
    int64_t most = r->rows >= r->cols ? r->rows : r->cols;
    long have = p->threads ? (long)p->threads : sysconf(_SC_NPROCESSORS_ONLN);

    if (have > MAXTHREADS)
        have = MAXTHREADS;
    if (have > ceil_div(most, STRIP))
        have = (long)ceil_div(most, STRIP);
    if (r->rows * r->cols * p->k < WORTH)
        have = 1;
    return have < 1 ? 1 : have;
}

/* The part of worker i of n: strips of rows, or of columns when there are
 * more of those. */
static void
take_part(struct worker *w, const struct kn_ref_rect *r, int64_t i, int64_t n)
{
    bool by_rows = r->rows >= r->cols;
    int64_t all = by_rows ? r->rows : r->cols;
    int64_t strips = ceil_div(all, STRIP), at;
    int64_t from = strips * i / n * STRIP, to = strips * (i + 1) / n * STRIP;

    to = to < all ? to : all;
    w->rect = *r;
    if (by_rows) {
        w->rect.m0 += from;
        w->rect.rows = to - from;
    } else {
        w->rect.n0 += from;
        w->rect.cols = to - from;
    }
    at = by_rows ? from * w->stride : from;
    w->out.value += at;
    w->out.abssum += at;
    w->out.both += w->out.both ? at : 0;
}

static kiln_status
run_workers(struct kn_ctx *c, struct worker *first,
            const struct kn_ref_rect *r)
{
    int64_t n = count_workers(first->p, r);
    struct worker w[MAXTHREADS];
    pthread_t thread[MAXTHREADS];
    bool started[MAXTHREADS] = {false}, failed = false;

    for (int64_t i = 0; i < n; i++) {
        w[i] = *first;
        take_part(&w[i], r, i, n);
        started[i] = i && !pthread_create(&thread[i], NULL, run_worker, &w[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        if (started[i])
            pthread_join(thread[i], NULL);
        else
            run_worker(&w[i]);
        failed |= w[i].failed;
    }
    return failed ? kn_fail(c, KILN_NO_MEMORY, "no memory for the reference")
                  : KILN_OK;
}

kiln_status
kn_ref_tile(struct kn_ctx *c, const struct kn_ref_problem *p,
            const struct kn_ref_rect *r, const struct kn_ref_sums *out)
{
    struct worker first = { .p = p, .out = *out, .stride = r->cols };

    KN_TRY(check_problem(c, p, r));
    if (p->epilogue == KILN_EPILOGUE_EXPRESSION)
        KN_TRY(kn_ref_expression_read(c, p->expression, &first.expression));
    return r->rows && r->cols ? run_workers(c, &first, r) : KILN_OK;
}
