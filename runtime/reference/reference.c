/* reference.c - rectangles of the output in f64, and the comparison. */
#include "reference.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A panel is PM x PN outputs over PK of K at a time: both operands of it, in
 * f64, fit in a 1 MB cache. */
enum { PM = 64, PN = 64, PV = 8, PK = 512, BLOCK = 128, MX = 32, MAXTHREADS = 64 };

/* One thread's part of a rectangle, and its panels. */
struct worker {
    const struct kn_ref_problem *p;
    const struct kn_ref_codec *ca, *cb;
    struct kn_ref_rect rect;
    double *value, *abssum;  /* of the rectangle's first element */
    int64_t stride;          /* elements from row to row of them */
    double *a, *b;           /* a[PM][PK], b[PN / PV][PK][PV] */
    double *run;             /* one decoded run */
    uint8_t *bytes;          /* as fetched */
    bool failed;             /* out of memory */
};

static int64_t
ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static bool
present(const struct kn_ref_tensor *t)
{
    return t->data || t->fetch;
}

static void
read_bytes(const struct kn_ref_tensor *t, uint64_t offset, void *dst,
           size_t size)
{
    offset += t->offset;
    if (t->data)
        memcpy(dst, (const uint8_t *)t->data + offset, size);
    else
        t->fetch(t->user, offset, dst, size);
}

static double
read_f32(const struct kn_ref_tensor *t, int64_t index)
{
    float v;

    read_bytes(t, (uint64_t)index * 4, &v, 4);
    return (double)v;
}

/* Elements [first, first+n) of a row whose rows are ld elements apart. */
static void
read_run(struct worker *w, const struct kn_ref_tensor *t,
         const struct kn_ref_codec *c, int64_t row, int64_t ld, int64_t first,
         size_t n)
{
    uint64_t row_bytes = ((uint64_t)ld * c->bits + 7) / 8;
    uint64_t bit = (uint64_t)first * c->bits, byte = bit / 8;
    uint64_t end = (bit + n * c->bits + 7) / 8;

    /* runs start at multiples of 4 elements: whole bytes in every format */
    read_bytes(t, (uint64_t)row * row_bytes + byte, w->bytes,
               (size_t)(end - byte));
    w->bytes[end - byte] = 0; /* an element may look one byte further */
    kn_ref_decode_run(c, w->bytes, 0, n, w->run);
}

static double
e8m0(uint8_t x)
{
    return x == 255 ? (double)NAN : ldexp(1, (int)x - 127);
}

/* Multiplies K elements of row i of an operand by its scales. */
static void
apply_scale(const struct kn_ref_problem *p, bool is_b, int64_t i, int64_t k0,
            size_t n, double *v, size_t step)
{
    const struct kn_ref_tensor *t = is_b ? &p->sb : &p->sa;
    int64_t width = p->scale == KILN_SCALE_MX32 ? MX : BLOCK;
    int64_t ld = t->ld ? t->ld : ceil_div(p->k, width);
    double s = 1;

    if (!present(t) || p->scale == KILN_SCALE_NONE)
        return;
    if (p->scale == KILN_SCALE_TENSOR || p->scale == KILN_SCALE_ROW)
        s = read_f32(t, p->scale == KILN_SCALE_ROW ? i : 0);
    for (size_t x = 0; x < n; x++) {
        int64_t k = k0 + (int64_t)x;

        if (p->scale == KILN_SCALE_MX32 && (x == 0 || k % MX == 0)) {
            uint8_t code;

            read_bytes(t, (uint64_t)(i * ld + k / MX), &code, 1);
            s = e8m0(code);
        } else if (p->scale == KILN_SCALE_BLOCK128 &&
                   (x == 0 || k % BLOCK == 0)) {
            s = read_f32(t, (is_b ? i / BLOCK : i) * ld + k / BLOCK);
        }
        v[x * step] *= s;
    }
}

/* a[r][x] = A(m0 + r, k0 + x). */
static void
load_a(struct worker *w, int64_t m0, int rows, int64_t k0, int n)
{
    const struct kn_ref_problem *p = w->p;
    bool tn = p->layout == KILN_TN;
    int64_t ld = p->a.ld ? p->a.ld : tn ? p->m : p->k;

    for (int r = 0; r < rows && !tn; r++) {
        read_run(w, &p->a, w->ca, m0 + r, ld, k0, (size_t)n);
        memcpy(w->a + r * PK, w->run, (size_t)n * sizeof *w->run);
    }
    for (int x = 0; x < n && tn; x++) {
        read_run(w, &p->a, w->ca, k0 + x, ld, m0, (size_t)rows);
        for (int r = 0; r < rows; r++)
            w->a[r * PK + x] = w->run[r];
    }
    for (int r = 0; r < rows; r++)
        apply_scale(p, false, m0 + r, k0, (size_t)n, w->a + r * PK, 1);
}

/* B(k0 + x, n0 + j) in strips of PV columns, so that the inner loop reads
 * consecutive bytes; columns beyond `cols` are zero. */
static double *
b_at(struct worker *w, int x, int j)
{
    return w->b + (j / PV * PK + x) * PV + j % PV;
}

static void
load_b(struct worker *w, int64_t n0, int cols, int64_t k0, int n)
{
    const struct kn_ref_problem *p = w->p;
    bool nt = p->layout == KILN_NT;
    int64_t ld = p->b.ld ? p->b.ld : nt ? p->k : p->n;

    memset(w->b, 0, sizeof *w->b * PK * PN);
    for (int j = 0; j < cols && nt; j++) {
        read_run(w, &p->b, w->cb, n0 + j, ld, k0, (size_t)n);
        for (int x = 0; x < n; x++)
            *b_at(w, x, j) = w->run[x];
    }
    for (int x = 0; x < n && !nt; x++) {
        read_run(w, &p->b, w->cb, k0 + x, ld, n0, (size_t)cols);
        for (int j = 0; j < cols; j++)
            *b_at(w, x, j) = w->run[j];
    }
    for (int j = 0; j < cols; j++)
        apply_scale(p, true, n0 + j, k0, (size_t)n, b_at(w, 0, j), PV);
}

/* PV columns of one row at a time, so that the sums stay in registers; each
 * sum runs over ascending k whatever the rectangle. */
typedef double vec __attribute__((vector_size(16), aligned(8)));
typedef int64_t mask __attribute__((vector_size(16)));

static inline void
add_pair(double a, const double *b, vec *value, vec *abssum)
{
    vec p = a * *(const vec *)b;

    *value += p;
    *abssum += (vec)((mask)p & INT64_MAX);
}

static void
add_products(const double *a, const double *b, int n, double *value,
             double *abssum)
{
    vec *v = (vec *)value, *s = (vec *)abssum;
    vec v0 = v[0], v1 = v[1], v2 = v[2], v3 = v[3];
    vec s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];

    for (int x = 0; x < n; x++, b += PV) {
        add_pair(a[x], b, &v0, &s0);
        add_pair(a[x], b + 2, &v1, &s1);
        add_pair(a[x], b + 4, &v2, &s2);
        add_pair(a[x], b + 6, &v3, &s3);
    }
    v[0] = v0, v[1] = v1, v[2] = v2, v[3] = v3;
    s[0] = s0, s[1] = s1, s[2] = s2, s[3] = s3;
}

/* alpha, bias and beta * C of the finished sums of a panel row. */
static void
finish_row(struct worker *w, int64_t m, int64_t n0, int cols, double *value,
           double *abssum)
{
    const struct kn_ref_problem *p = w->p;
    int64_t ldc = p->cin.ld ? p->cin.ld : p->n;

    for (int j = 0; j < cols; j++) {
        value[j] *= p->alpha;
        abssum[j] *= fabs(p->alpha);
        if (present(&p->bias))
            value[j] += read_f32(&p->bias, n0 + j);
        if (p->beta != 0) {
            unsigned bits = kn_ref_type_bits(p->cin.type);
            uint32_t code = 0;

            read_bytes(&p->cin,
                       (uint64_t)(m * ldc + n0 + j) * (bits / 8), &code,
                       bits / 8);
            value[j] += p->beta * kn_ref_decode(p->cin.type, p->target, code);
        }
    }
}

static void
run_panel(struct worker *w, int64_t i0, int rows, int64_t j0, int cols)
{
    double value[PM][PN] = {{0}}, abssum[PM][PN] = {{0}};
    int64_t m0 = w->rect.m0 + i0, n0 = w->rect.n0 + j0;

    for (int64_t k0 = 0; k0 < w->p->k; k0 += PK) {
        int n = (int)(w->p->k - k0 < PK ? w->p->k - k0 : PK);

        load_a(w, m0, rows, k0, n);
        load_b(w, n0, cols, k0, n);
        for (int j = 0; j < cols; j += PV)
            for (int i = 0; i < rows; i++)
                add_products(w->a + i * PK, b_at(w, 0, j), n, &value[i][j],
                             &abssum[i][j]);
    }
    for (int i = 0; i < rows; i++) {
        int64_t at = (i0 + i) * w->stride + j0;

        finish_row(w, m0 + i, n0, cols, value[i], abssum[i]);
        memcpy(w->value + at, value[i], (size_t)cols * sizeof(double));
        memcpy(w->abssum + at, abssum[i], (size_t)cols * sizeof(double));
    }
}

static int
below(int64_t rest, int most)
{
    return rest < most ? (int)rest : most;
}

static void *
run_worker(void *arg)
{
    struct worker *w = arg;

    w->a = malloc(sizeof(double) * PM * PK);
    w->b = malloc(sizeof(double) * PN * PK);
    w->run = malloc(sizeof(double) * PK);
    w->bytes = malloc(sizeof(float) * PK + 1);
    w->failed = !w->a || !w->b || !w->run || !w->bytes;
    for (int64_t i = 0; i < w->rect.rows && !w->failed; i += PM)
        for (int64_t j = 0; j < w->rect.cols; j += PN)
            run_panel(w, i, below(w->rect.rows - i, PM), j,
                      below(w->rect.cols - j, PN));
    free(w->a);
    free(w->b);
    free(w->run);
    free(w->bytes);
    return NULL;
}

static kiln_status
check_problem(struct kn_ctx *c, const struct kn_ref_problem *p,
              const struct kn_ref_rect *r)
{
    unsigned a = kn_ref_type_bits(p->a.type), b = kn_ref_type_bits(p->b.type);

    if (!a || !b || !present(&p->a) || !present(&p->b))
        return kn_fail(c, KILN_BAD_INPUT, "the reference needs A and B");
    if (p->layout != KILN_NT && (a < 8 || b < 8))
        return kn_fail(c, KILN_UNSUPPORTED,
                       "6- and 4-bit operands exist in layout nt only");
    if (p->beta != 0 &&
        (!present(&p->cin) || kn_ref_type_bits(p->cin.type) < 8))
        return kn_fail(c, KILN_BAD_INPUT, "beta without an initial C");
    if (r->m0 < 0 || r->n0 < 0 || r->rows < 0 || r->cols < 0 ||
        r->m0 + r->rows > p->m || r->n0 + r->cols > p->n)
        return kn_fail(c, KILN_BAD_INPUT,
                       "rectangle %lldx%lld at %lld,%lld is outside the output",
                       (long long)r->rows, (long long)r->cols,
                       (long long)r->m0, (long long)r->n0);
    return KILN_OK;
}

/* Threads worth starting: a panel row or column each, at least. */
static int64_t
count_workers(const struct kn_ref_problem *p, int64_t panels)
{
    long have = p->threads ? (long)p->threads : sysconf(_SC_NPROCESSORS_ONLN);

    if (have > MAXTHREADS)
        have = MAXTHREADS;
    if (have > panels)
        have = (long)panels;
    return have < 1 ? 1 : have;
}

/* The part of worker i of n: whole panels, of rows when there are more. */
static void
take_part(struct worker *w, const struct kn_ref_rect *r, int64_t i, int64_t n)
{
    bool by_rows = r->rows >= r->cols;
    int64_t all = by_rows ? r->rows : r->cols, panel = by_rows ? PM : PN;
    int64_t panels = ceil_div(all, panel);
    int64_t from = panels * i / n * panel, to = panels * (i + 1) / n * panel;

    to = to < all ? to : all;
    w->rect = *r;
    if (by_rows) {
        w->rect.m0 += from;
        w->rect.rows = to - from;
    } else {
        w->rect.n0 += from;
        w->rect.cols = to - from;
    }
    w->value += by_rows ? from * w->stride : from;
    w->abssum += by_rows ? from * w->stride : from;
}

static kiln_status
run_workers(struct kn_ctx *c, struct worker *first,
            const struct kn_ref_rect *r)
{
    int64_t most = r->rows >= r->cols ? r->rows : r->cols;
    int64_t n = count_workers(first->p, ceil_div(most, PM));
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
            const struct kn_ref_rect *r, double *value, double *abssum)
{
    struct kn_ref_codec ca, cb;
    struct worker first = {.p = p, .ca = &ca, .cb = &cb, .value = value,
                           .abssum = abssum, .stride = r->cols};

    KN_TRY(check_problem(c, p, r));
    if (r->rows == 0 || r->cols == 0)
        return KILN_OK;
    kn_ref_codec_init(&ca, p->a.type, p->target);
    kn_ref_codec_init(&cb, p->b.type, p->target);
    return run_workers(c, &first, r);
}
