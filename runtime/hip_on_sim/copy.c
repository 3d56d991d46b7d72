/* copy.c - copies and sets, of bytes, of rows, of device variables. */
#include <stdlib.h>
#include <string.h>

#include "hip_api.h"
#include "shim.h"

/* Host memory that kernels see is the host's. */
static void *
host_side(const struct shim *s, const void *p)
{
    const struct block *b = block_of(s, p);

    return b && b->host ? b->host + ((uintptr_t)p - b->addr) : (void *)p;
}

static int
copy_on_device(struct shim *s, uint64_t dst, uint64_t src, size_t n)
{
    uint8_t *p = malloc(n);
    kiln_status st;

    if (!p)
        return KN_hipErrorOutOfMemory;
    st = s->api->read(s->sim, src, p, n);
    if (!st)
        st = s->api->write(s->sim, dst, p, n);
    free(p);
    return st ? sim_error(s, "hipMemcpy", KN_hipErrorInvalidValue) : 0;
}

/* By the addresses, as hipMemcpyDefault: the direction a program names must
 * agree with them anyway. */
int
copy_memory(struct shim *s, void *dst, const void *src, size_t n)
{
    bool to = on_device(s, dst), from = on_device(s, src);
    kiln_status st;

    if (!n)
        return 0;
    if (!dst || !src)
        return KN_hipErrorInvalidValue;
    if (!to && !from) {
        memmove(host_side(s, dst), host_side(s, src), n);
        return 0;
    }
    if (to && from)
        return copy_on_device(s, (uintptr_t)dst, (uintptr_t)src, n);
    st = to ? s->api->write(s->sim, (uintptr_t)dst, host_side(s, src), n)
            : s->api->read(s->sim, (uintptr_t)src, host_side(s, dst), n);
    return st ? sim_error(s, "hipMemcpy", KN_hipErrorInvalidValue) : 0;
}

static size_t
planes(const struct rows *r)
{
    return r->depth ? r->depth : 1;
}

int
copy_rows(struct shim *s, void *dst, const void *src, struct rows r)
{
    int e = 0;

    for (size_t z = 0; z < planes(&r); z++)
        for (size_t k = 0; k < r.height && !e; k++)
            e = copy_memory(
                s, (char *)dst + (z * r.dplane + k) * r.dpitch,
                (const char *)src + (z * r.splane + k) * r.spitch, r.width);
    return e;
}

static int
set_row(struct shim *s, uint8_t *dst, const uint8_t piece[4096], size_t n)
{
    if (!on_device(s, dst)) {
        uint8_t *host = block_of(s, dst) ? host_side(s, dst) : NULL;

        for (size_t k = 0; host && k < n; k += 4096)
            memcpy(host + k, piece, n - k < 4096 ? n - k : 4096);
        return host || !n ? 0 : KN_hipErrorInvalidValue;
    }
    while (n) {
        size_t k = n < 4096 ? n : 4096;

        if (s->api->write(s->sim, (uintptr_t)dst, piece, k))
            return sim_error(s, "hipMemset", KN_hipErrorInvalidValue);
        dst += k;
        n -= k;
    }
    return 0;
}

int
set_rows(struct shim *s, const struct node *n)
{
    uint8_t piece[4096];
    int e = 0;

    for (size_t k = 0; k < sizeof piece; k += n->element)
        memcpy(piece + k, &n->value, n->element);
    for (size_t z = 0; z < planes(&n->rows); z++)
        for (size_t k = 0; k < n->rows.height && !e; k++)
            e = set_row(s, (uint8_t *)n->dst +
                               (z * n->rows.dplane + k) * n->rows.dpitch,
                        piece, n->rows.width);
    return e;
}

/* Host to device is 1, device to host 2, within it 3; 0 and 4 are any. Host
 * memory that kernels see is either. */
static int
check_kind(const struct shim *s, const void *dst, const void *src, int kind)
{
    bool to = on_device(s, dst), from = on_device(s, src);
    bool seen_to = block_of(s, dst), seen_from = block_of(s, src);

    if (kind < 0 || kind > 4 || !dst || !src)
        return KN_hipErrorInvalidValue;
    if ((kind == 1 && (!seen_to || from)) || (kind == 2 && (to || !seen_from)) ||
        (kind == 3 && !(seen_to && seen_from)))
        return KN_hipErrorInvalidValue;
    return 0;
}

int
enqueue(struct shim *s, const struct node *n, struct stream *q)
{
    return q && q->capturing ? record_node(q->graph, n, NULL)
                             : run_node(s, n);
}

bool
fits_pitch(const struct rows *r, size_t pitch, size_t plane)
{
    return ((r->height <= 1 && r->depth <= 1) || pitch >= r->width) &&
           (r->depth <= 1 || plane >= r->height);
}

/* A copy of no rows is none, whatever it names. */
int
enqueue_copy(struct shim *s, const struct node *n, int kind, struct stream *q)
{
    size_t all;
    int e = 0;

    if (__builtin_mul_overflow(n->rows.width, n->rows.height, &all) ||
        __builtin_mul_overflow(all, planes(&n->rows), &all))
        return KN_hipErrorInvalidValue;
    if (all)
        e = check_kind(s, n->dst, n->src, kind);
    if (!e && !(fits_pitch(&n->rows, n->rows.dpitch, n->rows.dplane) &&
                fits_pitch(&n->rows, n->rows.spitch, n->rows.splane)))
        e = KN_hipErrorInvalidValue;
    return e ? e : enqueue(s, n, q);
}

static struct node
bytes_to_copy(void *dst, const void *src, size_t n)
{
    return (struct node){ .kind = NODE_COPY, .dst = dst, .src = src,
                          .rows = { .width = n, .height = 1 } };
}

/* ---- bytes ---------------------------------------------------------------- */

static int
copy_call(enum hip_call f, const struct node *n, int kind, void *stream)
{
    int e = enter(f);

    return leave(e ? e : enqueue_copy(shim_state(), n, kind, stream));
}

#define COPY(name, stream, kind)                                              \
    {                                                                         \
        struct node node = bytes_to_copy(dst, src, n);                        \
                                                                              \
        return copy_call(FN_##name, &node, kind, stream);                     \
    }

int
hipMemcpy(void *dst, const void *src, size_t n, int kind)
COPY(hipMemcpy, NULL, kind)

int
hipMemcpyAsync(void *dst, const void *src, size_t n, int kind, void *stream)
COPY(hipMemcpyAsync, stream, kind)

int
hipMemcpyWithStream(void *dst, const void *src, size_t n, int kind,
                    void *stream)
COPY(hipMemcpyWithStream, stream, kind)

int
hipMemcpyHtoD(void *dst, void *src, size_t n)
COPY(hipMemcpyHtoD, NULL, COPY_ANY)

int
hipMemcpyDtoH(void *dst, void *src, size_t n)
COPY(hipMemcpyDtoH, NULL, COPY_ANY)

int
hipMemcpyDtoD(void *dst, void *src, size_t n)
COPY(hipMemcpyDtoD, NULL, COPY_ANY)

int
hipMemcpyHtoDAsync(void *dst, void *src, size_t n, void *stream)
COPY(hipMemcpyHtoDAsync, stream, COPY_ANY)

int
hipMemcpyDtoHAsync(void *dst, void *src, size_t n, void *stream)
COPY(hipMemcpyDtoHAsync, stream, COPY_ANY)

int
hipMemcpyDtoDAsync(void *dst, void *src, size_t n, void *stream)
COPY(hipMemcpyDtoDAsync, stream, COPY_ANY)

int
hipMemcpyPeer(void *dst, int to, const void *src, int from, size_t n)
{
    struct node node = bytes_to_copy(to ? NULL : dst, from ? NULL : src, n);

    return copy_call(FN_hipMemcpyPeer, &node, COPY_ANY, NULL);
}

/* ---- rows ----------------------------------------------------------------- */

int
hipMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch,
            size_t width, size_t height, int kind)
{
    struct node n = { .kind = NODE_COPY, .dst = dst, .src = src,
                      .rows = { .dpitch = dpitch, .spitch = spitch,
                                .width = width, .height = height } };

    return copy_call(FN_hipMemcpy2D, &n, kind, NULL);
}

int
hipMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                 size_t width, size_t height, int kind, void *stream)
{
    struct node n = { .kind = NODE_COPY, .dst = dst, .src = src,
                      .rows = { .dpitch = dpitch, .spitch = spitch,
                                .width = width, .height = height } };

    return copy_call(FN_hipMemcpy2DAsync, &n, kind, stream);
}

/* ---- sets ----------------------------------------------------------------- */

/* `size` bytes an element, `count` of them a row. */
static int
set_call(enum hip_call f, struct node *n, size_t count, void *stream)
{
    int e = enter(f);

    n->kind = NODE_SET;
    if (!e && __builtin_mul_overflow(count, n->element, &n->rows.width))
        e = KN_hipErrorInvalidValue;
    if (!e && !fits_pitch(&n->rows, n->rows.dpitch, n->rows.dplane))
        e = KN_hipErrorInvalidValue;
    return leave(e ? e : enqueue(shim_state(), n, stream));
}

#define SET(name, size, stream)                                               \
    {                                                                         \
        struct node node = { .dst = dst, .value = (uint32_t)value,            \
                             .element = size, .rows.height = 1 };             \
                                                                              \
        return set_call(FN_##name, &node, n, stream);                         \
    }

int
hipMemset(void *dst, int value, size_t n)
SET(hipMemset, 1, NULL)

int
hipMemsetAsync(void *dst, int value, size_t n, void *stream)
SET(hipMemsetAsync, 1, stream)

int
hipMemsetD8(void *dst, unsigned char value, size_t n)
SET(hipMemsetD8, 1, NULL)

int
hipMemsetD8Async(void *dst, unsigned char value, size_t n, void *stream)
SET(hipMemsetD8Async, 1, stream)

int
hipMemsetD16(void *dst, unsigned short value, size_t n)
SET(hipMemsetD16, 2, NULL)

int
hipMemsetD16Async(void *dst, unsigned short value, size_t n, void *stream)
SET(hipMemsetD16Async, 2, stream)

int
hipMemsetD32(void *dst, int value, size_t n)
SET(hipMemsetD32, 4, NULL)

int
hipMemsetD32Async(void *dst, int value, size_t n, void *stream)
SET(hipMemsetD32Async, 4, stream)

int
hipMemset2D(void *dst, size_t pitch, int value, size_t width, size_t height)
{
    struct node n = { .dst = dst, .value = (uint32_t)value, .element = 1,
                      .rows = { .dpitch = pitch, .height = height } };

    return set_call(FN_hipMemset2D, &n, width, NULL);
}

int
hipMemset2DAsync(void *dst, size_t pitch, int value, size_t width,
                 size_t height, void *stream)
{
    struct node n = { .dst = dst, .value = (uint32_t)value, .element = 1,
                      .rows = { .dpitch = pitch, .height = height } };

    return set_call(FN_hipMemset2DAsync, &n, width, stream);
}
