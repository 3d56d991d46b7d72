/* reference.c - rectangles of the output in f64, those of f64 in long double. */
#include "reference.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "expression.h"
#include "products.h"

/* A block of the output is BM x BN; of B a panel of PN columns at a time. */
enum {
    BM = KN_REF_ROWS, BN = 512, PW = KN_REF_PW, PN = 64, PV = KN_REF_PV,
    PK = KN_REF_DEPTH, PM = KN_REF_PM,
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
    double *value, *abssum;  /* [BM][PW]; gated: of up, behind that of gate;
                                f64: what value leaves, behind each */
    double most;             /* no product is larger */
    struct kn_ref_expression expression;
    bool failed;             /* out of memory */
};

/* Of the output, inside a worker's part. */
struct block {
    int64_t m0, n0;
    int rows, cols;
    double *x, *y;           /* sums [BM][PW] */
};

static bool
is_wide(const struct kn_ref_problem *p)
{
    return p->a.type == KILN_F64;
}

/* Blocks of value and of abssum. */
static size_t
blocks_of(const struct kn_ref_problem *p)
{
    return 1u + p->gated + is_wide(p);
}

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

/* Strip j of PV columns, so that the inner loop reads consecutive bytes. */
static void
load_strip(const double *rows, int n, double *strip)
{
    for (int x = 0; x < n; x++)
        for (int j = 0; j < PV; j++)
            strip[x * PV + j] = rows[j * PK + x];
}

/* `cols` columns of B from n0 on; strips end in what was there before. */
static void
load_b(struct worker *w, int64_t n0, int cols, int64_t k0, int n)
{
    kn_ref_rows(&w->ob, &(struct kn_ref_span){ n0, k0, cols, n }, w->rows);
    for (int j = 0; j < cols; j += PV)
        load_strip(w->rows + j * PK, n, w->b + j * PK);
}

static void
measure(const double *v, int rows, int n, struct kn_ref_span_of *s)
{
    *s = (struct kn_ref_span_of){ 0 };
    for (int i = 0; i < rows; i++)
        kn_ref_measure(v + i * PK, n, s);
}

/* What adds the products of two panels that are measured. */
static kn_ref_add_fn *
choose(struct worker *w, kn_ref_add_fn *add, const struct kn_ref_span_of *a,
       const struct kn_ref_span_of *b)
{
    double x, y;

    memcpy(&x, &a->most, sizeof x);
    memcpy(&y, &b->most, sizeof y);
    if (!(x * y <= w->most))
        w->most = isnan(x * y) ? (double)INFINITY : x * y;
    return add == kn_ref_add_pieces && kn_ref_exact(a, b)
               ? kn_ref_add_pieces_fused : add;
}

/* Adds the products of a panel, whose first column is column j of the block. */
static void
add_panel(const struct worker *w, const struct block *t, int j, int n,
          kn_ref_add_fn *add)
{
    int cols = below(t->cols - j, PN);

    for (int c = 0; c < cols; c += PV)
        for (int i = 0; i < t->rows; i += PM)
            add(w->a + i * PK, w->b + c * PK, n, t->x + i * PW + j + c,
                t->y + i * PW + j + c);
}

/* Sums x and y of a block over all of K. Rows and columns beyond it hold what
 * is never read. */
static void
add_block(struct worker *w, const struct block *t, kn_ref_add_fn *add)
{
    size_t used = sizeof *t->x * PW * (size_t)((t->rows + PM - 1) / PM * PM);
    struct kn_ref_span_of a, b;

    memset(t->x, 0, used);
    memset(t->y, 0, used);
    if (add == kn_ref_add_wide)
        memset(t->x + KN_REF_LOW, 0, used);
    w->most = 0;
    for (int64_t k0 = 0; k0 < w->p->k; k0 += PK) {
        int n = below(w->p->k - k0, PK);

        kn_ref_rows(&w->oa, &(struct kn_ref_span){ t->m0, k0, t->rows, n },
                    w->a);
        measure(w->a, t->rows, n, &a);
        for (int j = 0; j < t->cols; j += PN) {
            int cols = below(t->cols - j, PN);

            load_b(w, t->n0 + j, cols, k0, n);
            measure(w->rows, cols, n, &b);
            add_panel(w, t, j, n, choose(w, add, &a, &b));
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
    uint64_t code = 0;

    kn_ref_bytes(t, (uint64_t)(m * ld + n) * bytes, &code, bytes);
    return kn_ref_decode(t->type, p->target, code);
}

/* beta * C(m, n); where there is none what leaves a zero its sign. */
static double
initial(const struct kn_ref_problem *p, int64_t m, int64_t n)
{
    return p->beta == 0 ? -0.0 : p->beta * element(p, &p->cin, m, n);
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

/* An element: its sums, of gated that of gate and that of up, and beta * C. */
struct sums {
    int64_t m, n;
    double value[2], abssum[2], c;
};

/* How far a sum of these magnitudes may be off. */
static double
unit_of(const struct kn_ref_problem *p)
{
    return kn_ref_unit(p->a.type, p->math, p->k);
}

/* What may be named of the sums, and of what is added to them. */
static void
name_sums(const struct kn_ref_problem *p, const struct sums *s,
          struct kn_ref_inexact *v)
{
    bool bias = kn_ref_present(&p->bias);
    enum kn_ref_name first = p->gated ? KN_REF_GATE : KN_REF_ACC;

    for (int i = 0; i < (p->gated ? 2 : 1); i++)
        v[(int)first + i] = (struct kn_ref_inexact){ s->value[i],
                                          s->abssum[i] * unit_of(p) };
    if (bias && p->gated) {
        v[KN_REF_GATE_BIAS].value = kn_ref_f32(&p->bias, s->n);
        v[KN_REF_UP_BIAS].value = kn_ref_f32(&p->bias, p->n + s->n);
    } else if (bias) {
        v[KN_REF_BIAS].value = kn_ref_f32(&p->bias, s->n);
    }
}

/* The expression's of an element. */
static double
express(const struct kn_ref_problem *p, const struct kn_ref_expression *x,
        const struct sums *s, double *abssum)
{
    struct kn_ref_inexact v[KN_REF_VALUES] = { { 0, 0 } }, y;
    double c = s->c;

    name_sums(p, s, v);
    v[KN_REF_C].value = c;
    for (uint32_t i = 0; i < x->ndeclared; i++)
        v[KN_REF_NAMES + i].value = declared(p, &x->declared[i], s->m, s->n);
    if (!kn_ref_expression_names(x, KN_REF_C)) {
        v[KN_REF_ACC].value += c;
        v[KN_REF_ACC].error += (fabs(c) + fabs(s->value[0] + c)) *
                               (is_wide(p) ? 0x1p-52 : 0x1p-24);
    }
    y = p->aux ? kn_ref_evaluate_aux(x, v, p->aux == 2) : kn_ref_evaluate(x, v);
    *abssum = y.error / unit_of(p);
    return y.value;
}

/* alpha, bias and beta * C of a sum that has a rest, rounded once. */
static double
finish_wide(const struct worker *w, int64_t n, const double *sum, double c)
{
    long double v = *sum;

    if (isfinite(*sum))
        v += sum[KN_REF_LOW];
    v *= w->p->alpha;
    if (w->p->epilogue == KILN_EPILOGUE_BIAS)
        v += kn_ref_f32(&w->p->bias, n);
    return (double)(v + c);
}

/* alpha, epilogue and beta * C of row i of a block. */
static void
finish_row(struct worker *w, const struct block *t, int i)
{
    const struct kn_ref_problem *p = w->p;
    double *value = w->value + i * PW, *abssum = w->abssum + i * PW;
    const double *up = p->gated ? value + BM * PW : NULL;

    for (int j = 0; j < t->cols; j++) {
        double c = initial(p, t->m0 + i, t->n0 + j), v;

        if (p->epilogue == KILN_EPILOGUE_EXPRESSION) {
            value[j] = express(p, &w->expression, &(struct sums){
                t->m0 + i, t->n0 + j,
                { value[j] * p->alpha, up ? up[j] * p->alpha : 0 },
                { abssum[j] * fabs(p->alpha),
                  up ? abssum[up - value + j] * fabs(p->alpha) : 0 }, c },
                               &abssum[j]);
            continue;
        }
        abssum[j] *= fabs(p->alpha);
        v = epilogue(w, t->n0 + j, value[j] * p->alpha, &abssum[j]) + c;
        value[j] = is_wide(p) ? finish_wide(w, t->n0 + j, value + j, c) : v;
        abssum[j] += fabs(c);
    }
}

/* The largest sum that there is. */
static double
largest(const struct kn_ref_problem *p)
{
    return is_wide(p) ? DBL_MAX : (double)FLT_MAX;
}

/* Whether a sum of magnitudes is above what f32 holds, or f64; operands with a scale
 * for the tensor or the row have 8 bits, whose sums stay in f32. */
static bool
may_overflow(const struct worker *w, const struct block *t)
{
    const struct kn_ref_problem *p = w->p;
    bool rare = false, after;

    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < t->cols; j++)
            rare |= !(t->y[i * PW + j] <= largest(p));
    after = p->scale == KILN_SCALE_TENSOR || p->scale == KILN_SCALE_ROW;
    return rare && (!after || p->quantise);
}

/* kn_ref_sums.both of a block, in a pass of its own. */
static void
mark_overflows(struct worker *w, const struct block *t, uint8_t *both)
{
    struct block signs = *t;

    for (int i = 0; i < t->rows; i++)
        memset(both + i * w->stride, 0, (size_t)t->cols);
    if (!may_overflow(w, t))
        return;
    signs.x = malloc(sizeof *signs.x * 2 * BM * PW);
    if (!signs.x) {
        w->failed = true;
        return;
    }
    signs.y = signs.x + BM * PW;
    add_block(w, &signs, kn_ref_add_signs);
    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < t->cols; j++)
            both[i * w->stride + j] =
                signs.x[i * PW + j] > largest(w->p) &&
                signs.y[i * PW + j] < -largest(w->p);
    free(signs.x);
}

/* Those of up too. */
static void
add_overflows(struct worker *w, const struct block *t, uint8_t *both)
{
    uint8_t *own = malloc((size_t)(t->rows * w->stride));

    w->failed |= !own;
    if (!own)
        return;
    mark_overflows(w, t, own);
    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < t->cols; j++)
            both[i * w->stride + j] |= own[i * w->stride + j];
    free(own);
}

/* The sums of magnitudes as they are, or no more than they are: what the
 * pieces add up to, less than K and their number can have rounded it up. Such
 * a sum tells of no overflow, so that none may be possible. */
static void
sum_block(struct worker *w, const struct block *t)
{
    if (w->out.least) {
        add_block(w, t, kn_ref_add_pieces);
        for (int i = 0; i < t->rows; i++)
            for (int j = 0; j < t->cols; j++)
                w->abssum[i * PW + j] *= 1 - 0x1p-16;
        if (w->most * (double)w->p->k <= 0x1p127)
            return;
    }
    add_block(w, t, is_wide(w->p) ? kn_ref_add_wide : kn_ref_add_products);
}

static void
run_block(struct worker *w, const struct block *t)
{
    int64_t at = (t->m0 - w->rect.m0) * w->stride + (t->n0 - w->rect.n0);
    size_t size = (size_t)t->cols * sizeof(double);
    struct block up = { t->m0, t->n0 + w->p->n, t->rows, t->cols,
                        t->x + BM * PW, t->y + BM * PW };

    sum_block(w, t);
    if (w->out.both)
        mark_overflows(w, t, w->out.both + at);
    if (w->p->gated)
        sum_block(w, &up);
    if (w->p->gated && w->out.both)
        add_overflows(w, &up, w->out.both + at);
    for (int i = 0; i < t->rows; i++, at += w->stride) {
        finish_row(w, t, i);
        memcpy(w->out.value + at, w->value + i * PW, size);
        memcpy(w->out.abssum + at, w->abssum + i * PW, size);
    }
}

static void
run_blocks(struct worker *w)
{
    for (int64_t i = 0; i < w->rect.rows; i += BM)
        for (int64_t j = 0; j < w->rect.cols; j += BN)
            run_block(w, &(struct block){
                w->rect.m0 + i, w->rect.n0 + j,
                below(w->rect.rows - i, BM), below(w->rect.cols - j, BN),
                w->value, w->abssum });
}

static void *
run_worker(void *arg)
{
    struct worker *w = arg;

    w->failed = kn_ref_operand_init(&w->oa, w->p, false) ||
                kn_ref_operand_init(&w->ob, w->p, true);
    w->a = calloc(BM * PK, sizeof *w->a);
    w->b = calloc(PN * PK, sizeof *w->b);
    w->rows = calloc(PN * PK, sizeof *w->rows);
    w->value = malloc(sizeof *w->value * BM * PW * blocks_of(w->p));
    w->abssum = malloc(sizeof *w->abssum * BM * PW * blocks_of(w->p));
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
    first.out.least &= p->epilogue != KILN_EPILOGUE_EXPRESSION && !is_wide(p);
    if (p->epilogue == KILN_EPILOGUE_EXPRESSION)
        KN_TRY(kn_ref_expression_read(c, p->expression, is_wide(p),
                                      &first.expression));
    return r->rows && r->cols ? run_workers(c, &first, r) : KILN_OK;
}

kiln_status
kn_ref_apply(struct kn_ctx *c, const struct kn_ref_problem *p,
             const struct kn_ref_rect *r, const struct kn_ref_sums *sums)
{
    struct kn_ref_expression x;
    int64_t n = r->rows * r->cols;

    KN_TRY(kn_ref_expression_read(c, p->expression, is_wide(p), &x));
    for (int64_t i = 0; i < n; i++) {
        int64_t up = p->gated ? n + i : i;
        int64_t row = r->m0 + i / r->cols, col = r->n0 + i % r->cols;

        sums->value[i] = express(p, &x, &(struct sums){
            row, col, { sums->value[i], sums->value[up] },
            { sums->abssum[i], sums->abssum[up] }, initial(p, row, col) },
            &sums->abssum[i]);
        sums->both[i] |= sums->both[up];
    }
    return KILN_OK;
}
