/* npy.c - NumPy .npy files (numpy.lib.format, versions 1.0 and 2.0). */
#include "file.h"

#include <string.h>

static bool
ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);

    return n >= k && !strcmp(s + n - k, end);
}

const char *
kn_npy_dtype(kiln_type t)
{
    switch (t) {
    case KILN_F64: return "<f8";
    case KILN_F32: return "<f4";
    case KILN_I32: return "<i4";
    case KILN_F16: return "<f2";
    case KILN_BF16: return "<u2";
    case KILN_I8: return "|i1";
    default: return "|u1";
    }
}

/* Bytes of one element of a dtype this reader takes, 0: not taken. */
static uint32_t
dtype_bytes(const char *d)
{
    static const struct {
        char kind;
        const char *sizes;
    } takes[] = { { 'f', "248" }, { 'i', "1248" }, { 'u', "1248" },
                  { 'b', "1" } };

    if (strlen(d) != 3 || (d[0] != '<' && d[0] != '|') ||
        (d[0] == '|' && d[2] != '1'))
        return 0;
    for (size_t i = 0; i < sizeof takes / sizeof *takes; i++)
        if (takes[i].kind == d[1] && strchr(takes[i].sizes, d[2]))
            return (uint32_t)(d[2] - '0');
    return 0;
}

/* Header text: a Python dict literal of known shape. */
struct header {
    struct kn_ctx *c;
    const char *path, *p;
    struct kn_npy *a;
    bool descr, order, shape;
};

static void
skip_space(struct header *h)
{
    while (*h->p == ' ' || *h->p == '\t' || *h->p == '\n' || *h->p == '\r')
        h->p++;
}

static bool
eat(struct header *h, const char *s)
{
    size_t n = strlen(s);

    skip_space(h);
    if (strncmp(h->p, s, n))
        return false;
    h->p += n;
    return true;
}

static kiln_status
bad_header(struct header *h, const char *what)
{
    return kn_fail(h->c, KILN_BAD_INPUT, "%s: .npy header: %s", h->path,
                   what);
}

static kiln_status
parse_quoted(struct header *h, char *out, size_t size)
{
    char q;
    size_t n = 0;

    skip_space(h);
    q = *h->p;
    if (q != '\'' && q != '"')
        return bad_header(h, "a quoted string is missing (structured types "
                             "are not read)");
    for (h->p++; *h->p && *h->p != q; h->p++)
        if (n + 1 < size)
            out[n++] = *h->p;
    out[n] = 0;
    return *h->p++ == q ? KILN_OK : bad_header(h, "unterminated string");
}

static kiln_status
parse_descr(struct header *h)
{
    struct kn_npy *a = h->a;

    h->descr = true;
    KN_TRY(parse_quoted(h, a->dtype, sizeof a->dtype));
    a->elem = dtype_bytes(a->dtype);
    if (!a->elem)
        return kn_fail(h->c, KILN_UNSUPPORTED,
                       "%s: dtype %s is not a little-endian number of 1, 2, "
                       "4 or 8 bytes", h->path, a->dtype);
    return KILN_OK;
}

static kiln_status
parse_order(struct header *h)
{
    h->order = true;
    if (eat(h, "False"))
        return KILN_OK;
    if (eat(h, "True"))
        return kn_fail(h->c, KILN_UNSUPPORTED,
                       "%s: in Fortran order; save "
                       "numpy.ascontiguousarray(x)", h->path);
    return bad_header(h, "fortran_order is neither True nor False");
}

static kiln_status
parse_shape(struct header *h)
{
    struct kn_npy *a = h->a;

    h->shape = true;
    if (!eat(h, "("))
        return bad_header(h, "shape is no tuple");
    while (!eat(h, ")")) {
        unsigned long long v = 0;

        if (*h->p < '0' || *h->p > '9')
            return bad_header(h, "shape is no tuple of numbers");
        for (; *h->p >= '0' && *h->p <= '9'; h->p++)
            if (v < 1ull << 50)
                v = v * 10 + (unsigned)(*h->p - '0');
        if (a->ndim == KN_NPY_MAXDIM || v >= 1ull << 50)
            return bad_header(h, "more than 8 dimensions, or 2^50 in one");
        a->shape[a->ndim++] = (int64_t)v;
        if (!eat(h, ",") && *h->p != ')')
            return bad_header(h, "shape is no tuple of numbers");
    }
    return KILN_OK;
}

static kiln_status
parse_dict(struct header *h)
{
    char key[24];

    if (!eat(h, "{"))
        return bad_header(h, "no dict");
    while (!eat(h, "}")) {
        KN_TRY(parse_quoted(h, key, sizeof key));
        if (!eat(h, ":"))
            return bad_header(h, "no value after a key");
        if (!strcmp(key, "descr") && !h->descr)
            KN_TRY(parse_descr(h));
        else if (!strcmp(key, "fortran_order") && !h->order)
            KN_TRY(parse_order(h));
        else if (!strcmp(key, "shape") && !h->shape)
            KN_TRY(parse_shape(h));
        else
            return bad_header(h, "an unknown or repeated key");
        skip_space(h);
        if (!eat(h, ",") && *h->p != '}')
            return bad_header(h, "neither , nor } after a value");
    }
    if (!h->descr || !h->order || !h->shape)
        return bad_header(h, "descr, fortran_order or shape is missing");
    return KILN_OK;
}

/* Elements of a shape without -1; false when the product overflows. */
static bool
count_elements(const struct kn_npy *a, uint64_t *n)
{
    *n = 1;
    for (uint32_t i = 0; i < a->ndim; i++) {
        uint64_t d = (uint64_t)a->shape[i];

        if (a->shape[i] < 0 || (d && *n > ((uint64_t)1 << 56) / d))
            return false;
        *n *= d;
    }
    return true;
}

static kiln_status
check_bytes(struct header *h, uint64_t have)
{
    struct kn_npy *a = h->a;
    uint64_t n;

    if (!count_elements(a, &n))
        return bad_header(h, "shape of 2^56 elements or more");
    a->bytes = n * a->elem;
    if (a->bytes != have)
        return kn_fail(h->c, KILN_BAD_INPUT,
                       "%s: shape and dtype want %llu bytes of data, the "
                       "file has %llu", h->path,
                       (unsigned long long)a->bytes,
                       (unsigned long long)have);
    return KILN_OK;
}

static kiln_status
parse_npy(struct kn_ctx *c, const char *path, uint8_t *p, size_t size,
          struct kn_npy *a)
{
    struct header h = { .c = c, .path = path, .a = a };
    size_t at, n;

    if (size < 10 || memcmp(p, "\x93NUMPY", 6))
        return kn_fail(c, KILN_BAD_INPUT, "%s: not a .npy file", path);
    if ((p[6] != 1 && p[6] != 2) || p[7])
        return kn_fail(c, KILN_UNSUPPORTED,
                       "%s: .npy format %u.%u, only 1.0 and 2.0 are read",
                       path, p[6], p[7]);
    at = p[6] == 1 ? 10 : 12;
    if (size < at)
        return bad_header(&h, "truncated");
    n = p[8] | (size_t)p[9] << 8;
    if (p[6] == 2)
        n |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (n > size - at)
        return bad_header(&h, "truncated");
    h.p = kn_strndup(c, (const char *)p + at, n);
    KN_TRY(parse_dict(&h));
    a->data = p + at + n;
    return check_bytes(&h, size - at - n);
}

kiln_status
kn_npy_read(struct kn_ctx *c, const char *path, struct kn_npy *out)
{
    uint8_t *p;
    size_t n;

    memset(out, 0, sizeof *out);
    KN_TRY(kn_file_read_data(c, path, &p, &n));
    if (ends_with(path, ".npy"))
        return parse_npy(c, path, p, n, out);
    out->elem = 1;
    out->ndim = 1;
    out->shape[0] = (int64_t)n;
    out->data = p;
    out->bytes = n;
    return KILN_OK;
}

static void
put_shape(struct kn_buf *b, const struct kn_npy *a)
{
    kn_put(b, "(");
    for (uint32_t i = 0; i < a->ndim; i++) {
        if (a->shape[i] < 0)
            kn_putf(b, "%sany", i ? ", " : "");
        else
            kn_putf(b, "%s%lld", i ? ", " : "", (long long)a->shape[i]);
    }
    kn_put(b, a->ndim == 1 ? ",)" : ")");
}

static bool
shape_matches(const struct kn_npy *a, const struct kn_npy *want)
{
    if (a->ndim != want->ndim)
        return false;
    for (uint32_t i = 0; i < a->ndim; i++)
        if (want->shape[i] >= 0 && a->shape[i] != want->shape[i])
            return false;
    return true;
}

static kiln_status
expect_raw(struct kn_ctx *c, const char *path, struct kn_npy *a,
           const struct kn_npy *want)
{
    uint32_t elem = dtype_bytes(want->dtype);
    uint64_t n;

    if (!count_elements(want, &n))
        return kn_fail(c, KILN_BAD_INPUT,
                       "%s: raw bytes have no shape, one is needed here; "
                       "use .npy", path);
    if (n * elem != a->bytes)
        return kn_fail(c, KILN_BAD_INPUT,
                       "%s: %llu bytes, needed are %llu", path,
                       (unsigned long long)a->bytes,
                       (unsigned long long)(n * elem));
    memcpy(a->dtype, want->dtype, sizeof a->dtype);
    memcpy(a->shape, want->shape, sizeof a->shape);
    a->ndim = want->ndim;
    a->elem = elem;
    return KILN_OK;
}

kiln_status
kn_npy_expect(struct kn_ctx *c, const char *path, struct kn_npy *a,
              const struct kn_npy *want)
{
    struct kn_buf is = { .c = c }, should = { .c = c };

    if (!a->dtype[0])
        return expect_raw(c, path, a, want);
    if (strcmp(a->dtype, want->dtype))
        return kn_fail(c, KILN_BAD_INPUT,
                       "%s: dtype is %s, needed is %s", path, a->dtype,
                       want->dtype);
    if (shape_matches(a, want))
        return KILN_OK;
    put_shape(&is, a);
    put_shape(&should, want);
    return kn_fail(c, KILN_BAD_INPUT, "%s: shape is %s, needed is %s", path,
                   is.s, should.s);
}

kiln_status
kn_npy_write(struct kn_ctx *c, const char *path, const struct kn_npy *a)
{
    struct kn_buf b = { .c = c };
    uint8_t *file;
    uint64_t n;

    if (!ends_with(path, ".npy"))
        return kn_file_write(c, path, a->data, a->bytes);
    if (!dtype_bytes(a->dtype) || !count_elements(a, &n))
        return kn_fail(c, KILN_INTERNAL, "%s: no shape or dtype to write",
                       path);
    kn_putf(&b, "%cNUMPY%c%c??", 0x93, 1, 0);
    kn_putf(&b, "{'descr': '%s', 'fortran_order': False, 'shape': ",
            a->dtype);
    put_shape(&b, a);
    kn_put(&b, ", }");
    while ((b.n + 1) % 64)
        kn_put(&b, " ");
    kn_put(&b, "\n");
    b.s[8] = (char)(b.n - 10);
    b.s[9] = (char)((b.n - 10) >> 8);
    n *= dtype_bytes(a->dtype);
    file = kn_alloc(c, b.n + n, 1);
    memcpy(file, b.s, b.n);
    if (n)
        memcpy(file + b.n, a->data, n);
    return kn_file_write(c, path, file, b.n + n);
}
