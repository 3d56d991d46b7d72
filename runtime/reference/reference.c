/* reference.c - rectangles of the output in f64, and the comparison. */
#include "reference.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A panel is PM x PN outputs over PK of K at a time: both operands of it, in
 * f64, fit in a 1 MB cache. */
enum {
    PM = 64, PN = 64, PV = 8, PK = 512, BLOCK = 128, MX = 32,
    MAXTHREADS = 64,
    STRIP = 16,              /* rows or columns that a thread takes at least */
    WORTH = 1 << 20          /* products that are worth a second thread */
};

/* An operand as rows of packed elements, `ld` apart. */
struct source {
    const struct kn_ref_tensor *t;
    struct kn_ref_codec codec;
    int64_t ld;
};

/* One thread's part of a rectangle, and its panels. */
struct worker {
    const struct kn_ref_problem *p;
    const struct source *sa, *sb;
    struct kn_ref_rect rect;
    struct kn_ref_sums out;  /* of the rectangle's first element */
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

/* Elements [first, first+n) of a row, to w->run. */
static void
read_run(struct worker *w, const struct source *s, int64_t row, int64_t first,
         size_t n)
{
    unsigned bits = s->codec.bits;
    uint64_t row_bytes = ((uint64_t)s->ld * bits + 7) / 8;
    uint64_t byte = (uint64_t)first * bits / 8;
    uint64_t end = (((uint64_t)first + n) * bits + 7) / 8;

    /* `first` is a multiple of 4 wherever elements are not whole bytes */
    read_bytes(s->t, (uint64_t)row * row_bytes + byte, w->bytes,
               (size_t)(end - byte));
    w->bytes[end - byte] = 0; /* an element may look one byte further */
    kn_ref_decode_run(&s->codec, w->bytes, 0, n, w->run);
}

static double
e8m0(uint8_t x)
{
    return x == 255 ? (double)NAN : ldexp(1, (int)x - 127);
}

/* n elements v[0], v[step], ... from k on of row i of an operand. */
struct run {
    int64_t i, k;
    int n, step;
    double *v;
};

/* Multiplies a run by its scales. */
static void
apply_scale(const struct kn_ref_problem *p, bool is_b, const struct run *r)
{
    const struct kn_ref_tensor *t = is_b ? &p->sb : &p->sa;
    int64_t width = p->scale == KILN_SCALE_MX32 ? MX : BLOCK;
    int64_t ld = t->ld ? t->ld : ceil_div(p->k, width);
    double s = 1;

    if (!present(t) || p->scale == KILN_SCALE_NONE)
        return;
    if (p->scale == KILN_SCALE_TENSOR || p->scale == KILN_SCALE_ROW)
        s = read_f32(t, p->scale == KILN_SCALE_ROW ? r->i : 0);
    for (int x = 0; x < r->n; x++) {
        int64_t k = r->k + x;
        bool first = x == 0 || k % width == 0;

        if (p->scale == KILN_SCALE_MX32 && first) {
            uint8_t code;

            read_bytes(t, (uint64_t)(r->i * ld + k / MX), &code, 1);
            s = e8m0(code);
        } else if (p->scale == KILN_SCALE_BLOCK128 && first) {
            s = read_f32(t, (is_b && !p->sb_each ? r->i / BLOCK : r->i) * ld + k / BLOCK);
        }
        r->v[x * r->step] *= s;
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

/* a[r][x] = A(m0 + r, k0 + x). */
static void
load_a(struct worker *w, int64_t m0, int rows, int64_t k0, int n)
{
    const struct kn_ref_problem *p = w->p;
    bool tn = p->layout == KILN_TN;

    for (int r = 0; r < rows && !tn; r++) {
        read_run(w, w->sa, m0 + r, k0, (size_t)n);
        memcpy(w->a + r * PK, w->run, (size_t)n * sizeof *w->run);
    }
    for (int x = 0; x < n && tn; x++) {
        read_run(w, w->sa, k0 + x, m0, (size_t)rows);
        for (int r = 0; r < rows; r++)
            w->a[r * PK + x] = w->run[r];
    }
    for (int r = 0; r < rows && p->quantise; r++)
        for (int x = 0; x < n; x += BLOCK)
            quantise_group(p, w->a + r * PK + x, n - x < BLOCK ? n - x : BLOCK);
    for (int r = 0; r < rows && p->quantise_mx; r++)
        for (int x = 0; x < n; x += MX)
            quantise_block(p, w->a + r * PK + x, n - x < MX ? n - x : MX);
    for (int r = 0; r < rows; r++)
        apply_scale(p, false, &(struct run){m0 + r, k0, n, 1, w->a + r * PK});
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

    memset(w->b, 0, sizeof *w->b * PK * PN);
    for (int j = 0; j < cols && nt; j++) {
        read_run(w, w->sb, n0 + j, k0, (size_t)n);
        for (int x = 0; x < n; x++)
            *b_at(w, x, j) = w->run[x];
    }
    for (int x = 0; x < n && !nt; x++) {
        read_run(w, w->sb, k0 + x, n0, (size_t)cols);
        for (int j = 0; j < cols; j++)
            *b_at(w, x, j) = w->run[j];
    }
    for (int j = 0; j < cols; j++)
        apply_scale(p, true, &(struct run){n0 + j, k0, n, PV, b_at(w, 0, j)});
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

/* Finished sums of a panel, at (m0, n0) of the output. */
struct panel {
    int64_t m0, n0;
    int rows, cols;
    double value[PM][PN], abssum[PM][PN];
    uint8_t both[PM][PN];
};

/* beta * C(m, n). */
static double
initial(const struct kn_ref_problem *p, int64_t m, int64_t n)
{
    int64_t ld = p->cin.ld ? p->cin.ld : p->n;
    unsigned bytes = kn_ref_type_bits(p->cin.type) / 8;
    uint32_t code = 0;

    if (p->beta == 0)
        return 0;
    read_bytes(&p->cin, (uint64_t)(m * ld + n) * bytes, &code, bytes);
    return p->beta * kn_ref_decode(p->cin.type, p->target, code);
}

/* The epilogue's value of x, which belongs to column n; *abssum takes the
 * magnitude of what is added. */
static double
epilogue(const struct kn_ref_problem *p, int64_t n, double x, double *abssum)
{
    double bias;

    switch (p->epilogue) {
    case KILN_EPILOGUE_BIAS:
        bias = read_f32(&p->bias, n);
        *abssum += fabs(bias);
        return x + bias;
    default:
        return x;
    }
}

/* alpha, epilogue and beta * C of row i of a panel. */
static void
finish_row(const struct kn_ref_problem *p, struct panel *t, int i)
{
    for (int j = 0; j < t->cols; j++) {
        double c = initial(p, t->m0 + i, t->n0 + j);

        t->abssum[i][j] *= fabs(p->alpha);
        t->value[i][j] = epilogue(p, t->n0 + j, t->value[i][j] * p->alpha,
                                  &t->abssum[i][j]) + c;
        t->abssum[i][j] += fabs(c);
    }
}

static void
add_panel(struct worker *w, struct panel *t)
{
    for (int64_t k0 = 0; k0 < w->p->k; k0 += PK) {
        int n = (int)(w->p->k - k0 < PK ? w->p->k - k0 : PK);

        load_a(w, t->m0, t->rows, k0, n);
        load_b(w, t->n0, t->cols, k0, n);
        for (int j = 0; j < t->cols; j += PV)
            for (int i = 0; i < t->rows; i++)
                add_products(w->a + i * PK, b_at(w, 0, j), n, &t->value[i][j],
                             &t->abssum[i][j]);
    }
}

/* Products of each sign alone, summed. */
struct signs {
    double above[PM][PN], below[PM][PN];
};

static void
add_signs(struct worker *w, const struct panel *t, int n, struct signs *s)
{
    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < t->cols; j++)
            for (int x = 0; x < n; x++) {
                double p = w->a[i * PK + x] * *b_at(w, x, j);

                s->above[i][j] += p > 0 ? p : 0;
                s->below[i][j] += p < 0 ? p : 0;
            }
}

/* t->both, in a pass of its own: sums that large are rare. Operands with a
 * scale for the tensor or the row have 8 bits, whose sums stay in f32. */
static void
mark_overflows(struct worker *w, struct panel *t)
{
    const struct kn_ref_problem *p = w->p;
    struct signs s = {.above = {{0}}};
    bool rare = false, after;

    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < t->cols; j++)
            rare |= !(t->abssum[i][j] <= (double)FLT_MAX);
    after = p->scale == KILN_SCALE_TENSOR || p->scale == KILN_SCALE_ROW;
    if (!rare || (after && !p->quantise))
        return;
    for (int64_t k0 = 0; k0 < p->k; k0 += PK) {
        int n = (int)(p->k - k0 < PK ? p->k - k0 : PK);

        load_a(w, t->m0, t->rows, k0, n);
        load_b(w, t->n0, t->cols, k0, n);
        add_signs(w, t, n, &s);
    }
    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < t->cols; j++)
            t->both[i][j] = s.above[i][j] > (double)FLT_MAX &&
                            s.below[i][j] < -(double)FLT_MAX;
}

static void
run_panel(struct worker *w, struct panel *t)
{
    memset(t->value, 0, sizeof t->value);
    memset(t->abssum, 0, sizeof t->abssum);
    memset(t->both, 0, sizeof t->both);
    add_panel(w, t);
    if (w->out.both)
        mark_overflows(w, t);
    for (int i = 0; i < t->rows; i++) {
        int64_t at = (t->m0 - w->rect.m0 + i) * w->stride +
                     (t->n0 - w->rect.n0);
        size_t size = (size_t)t->cols * sizeof(double);

        finish_row(w->p, t, i);
        memcpy(w->out.value + at, t->value[i], size);
        memcpy(w->out.abssum + at, t->abssum[i], size);
        if (w->out.both)
            memcpy(w->out.both + at, t->both[i], (size_t)t->cols);
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
        for (int64_t j = 0; j < w->rect.cols; j += PN) {
            struct panel t = {.m0 = w->rect.m0 + i, .n0 = w->rect.n0 + j};

            t.rows = below(w->rect.rows - i, PM);
            t.cols = below(w->rect.cols - j, PN);
            run_panel(w, &t);
        }
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

static struct source
make_source(const struct kn_ref_problem *p, bool is_b)
{
    const struct kn_ref_tensor *t = is_b ? &p->b : &p->a;
    struct source s = {.t = t, .ld = t->ld};

    kn_ref_codec_init(&s.codec, t->type, p->target);
    if (!s.ld && is_b)
        s.ld = p->layout == KILN_NT ? p->k : p->n;
    else if (!s.ld)
        s.ld = p->layout == KILN_TN ? p->m : p->k;
    return s;
}

kiln_status
kn_ref_tile(struct kn_ctx *c, const struct kn_ref_problem *p,
            const struct kn_ref_rect *r, const struct kn_ref_sums *out)
{
    struct source sa, sb;
    struct worker first = {.p = p, .sa = &sa, .sb = &sb, .out = *out,
                           .stride = r->cols};

    KN_TRY(check_problem(c, p, r));
    if (r->rows == 0 || r->cols == 0)
        return KILN_OK;
    sa = make_source(p, false);
    sb = make_source(p, true);
    return run_workers(c, &first, r);
}
