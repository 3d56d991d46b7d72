/* base.c - arena, error record, text buffer and the public name tables. */
#include "base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

struct kn_chunk {
    struct kn_chunk *prev;
    size_t size, used;       /* bytes of data[], bytes handed out */
    _Alignas(16) unsigned char data[];
};

/* A page of the processor's larger size: what is a multiple of it costs one
 * page fault in the place of 512. */
#define HUGE_PAGE ((size_t)1 << 21)

static void *
libc_realloc(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    (void)old;
    if (!size) {
        free(p);
        return NULL;
    }
    if (p || size % HUGE_PAGE)
        return realloc(p, size);
    p = aligned_alloc(HUGE_PAGE, size);
    if (p)
        madvise(p, size, MADV_HUGEPAGE);     /* advice: works without */
    return p;
}

void
kn_ctx_init(struct kn_ctx *c, kn_realloc_fn fn, void *user)
{
    memset(c, 0, sizeof *c);
    c->realloc = fn ? fn : libc_realloc;
    c->user = user;
}

void
kn_ctx_free(struct kn_ctx *c)
{
    while (c->chunk) {
        struct kn_chunk *prev = c->chunk->prev;
        c->realloc(c->user, c->chunk, sizeof *prev + c->chunk->size, 0);
        c->chunk = prev;
    }
}

static _Noreturn void
out_of_memory(struct kn_ctx *c)
{
    kn_fail(c, KILN_NO_MEMORY, "out of memory");
    if (!c->oom)
        abort();             /* kiln is wrong: no KN_ENTER on this path */
    longjmp(*c->oom, 1);
}

/* Few of them, large ones of whole large pages. */
static size_t
chunk_bytes(const struct kn_chunk *last, size_t need)
{
    size_t size = sizeof *last + (last ? last->size * 4 : 16384);

    if (size > 8 * HUGE_PAGE)
        size = 8 * HUGE_PAGE;
    if (size < sizeof *last + need)
        size = sizeof *last + need;
    if (size > HUGE_PAGE / 4)
        size = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    return size;
}

static struct kn_chunk *
new_chunk(struct kn_ctx *c, size_t need)
{
    size_t bytes = chunk_bytes(c->chunk, need);
    struct kn_chunk *k = c->realloc(c->user, NULL, 0, bytes);

    if (!k)
        out_of_memory(c);
    k->prev = c->chunk;
    k->size = bytes - sizeof *k;
    k->used = 0;
    return c->chunk = k;
}

void *
kn_alloc(struct kn_ctx *c, size_t n, size_t size)
{
    struct kn_chunk *k = c->chunk;
    size_t bytes;
    void *p;

    if (size && n > (SIZE_MAX / 4) / size)
        out_of_memory(c);
    bytes = (n * size + 15) & ~(size_t)15;
    if (!k || k->size - k->used < bytes)
        k = new_chunk(c, bytes);
    p = k->data + k->used;
    k->used += bytes;
    return memset(p, 0, bytes);
}

char *
kn_strndup(struct kn_ctx *c, const char *s, size_t n)
{
    char *p = kn_alloc(c, n + 1, 1);

    memcpy(p, s, n);
    return p;
}

char *
kn_strdup(struct kn_ctx *c, const char *s)
{
    return kn_strndup(c, s, strlen(s));
}

/* Makes the arena's last piece longer where it is. */
static bool
extend(struct kn_ctx *c, const void *old, size_t was, size_t bytes)
{
    struct kn_chunk *k = c->chunk;
    size_t from = (was + 15) & ~(size_t)15, more;

    if ((const unsigned char *)old + from != k->data + k->used ||
        bytes > k->size)
        return false;
    more = ((bytes + 15) & ~(size_t)15) - from;
    if (k->size - k->used < more)
        return false;
    memset(k->data + k->used, 0, more);
    k->used += more;
    return true;
}

void *
kn_grow(struct kn_ctx *c, void *old, size_t *cap, size_t need, size_t size)
{
    size_t n = *cap ? *cap * 2 : 16;
    void *p;

    if (need <= *cap)
        return old;
    if (n < need)
        n = need;
    if (old && n <= SIZE_MAX / 4 / size &&
        extend(c, old, *cap * size, n * size)) {
        *cap = n;
        return old;
    }
    p = kn_alloc(c, n, size);
    if (old)
        memcpy(p, old, *cap * size);
    *cap = n;
    return p;
}

/* The end of a long path: the file's own name is what its reader needs. */
static void
record_file(kiln_error *e, const char *file)
{
    size_t n = strlen(file), room = sizeof e->file - 1;

    if (n <= room)
        snprintf(e->file, sizeof e->file, "%s", file);
    else
        snprintf(e->file, sizeof e->file, "...%s", file + n - (room - 3));
}

/* " (in NAME, called at FILE:LINE; ...)" behind the sentence. */
static void
record_calls(kiln_error *e, const struct kn_via *via)
{
    size_t n = strlen(e->text);

    for (const char *open = " (in"; via && n < sizeof e->text; via = via->at.via) {
        n += (size_t)snprintf(e->text + n, sizeof e->text - n,
                              "%s %s, called at %s:%d%s", open, via->name,
                              via->at.file, via->at.line, via->at.via ? "" : ")");
        open = "; in";
    }
}

static kiln_status
record(struct kn_ctx *c, kiln_status s, struct kn_loc at, const char *fmt,
       va_list ap)
{
    if (c->err.status)
        return c->err.status;
    c->crowded = false;
    c->err.status = s;
    c->err.line = at.line;
    c->err.col = at.col;
    record_file(&c->err, at.file ? at.file : "");
    vsnprintf(c->err.text, sizeof c->err.text, fmt, ap);
    record_calls(&c->err, at.via);
    return s;
}

kiln_status
kn_fail_at(struct kn_ctx *c, kiln_status s, struct kn_loc at, const char *fmt,
           ...)
{
    va_list ap;

    va_start(ap, fmt);
    s = record(c, s, at, fmt, ap);
    va_end(ap);
    return s;
}

kiln_status
kn_fail(struct kn_ctx *c, kiln_status s, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    s = record(c, s, (struct kn_loc){ 0 }, fmt, ap);
    va_end(ap);
    return s;
}

static void
reserve(struct kn_buf *b, size_t extra)
{
    b->s = kn_grow(b->c, b->s, &b->cap, b->n + extra + 1, 1);
}

static void
append(struct kn_buf *b, const char *s, size_t n)
{
    reserve(b, n);
    memcpy(b->s + b->n, s, n);
    b->n += n;
    b->s[b->n] = 0;
}

void
kn_put(struct kn_buf *b, const char *s)
{
    append(b, s, strlen(s));
}

void
kn_put_bytes(struct kn_buf *b, const void *p, size_t n)
{
    append(b, p, n);
}

void
kn_put_number(struct kn_buf *b, const char *s, uint64_t number)
{
    char digits[20], *end = digits + sizeof digits, *p = end;

    do {
        *--p = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    kn_put(b, s);
    append(b, p, (size_t)(end - p));
}

void
kn_putf(struct kn_buf *b, const char *fmt, ...)
{
    enum { USUAL = 120 };
    va_list ap;
    size_t room;
    int n;

    reserve(b, USUAL);
    room = b->cap - b->n;
    va_start(ap, fmt);
    n = vsnprintf(b->s + b->n, room, fmt, ap);
    va_end(ap);
    if (n > 0 && (size_t)n >= room) {
        reserve(b, (size_t)n);
        va_start(ap, fmt);
        vsnprintf(b->s + b->n, (size_t)n + 1, fmt, ap);
        va_end(ap);
    }
    b->n += n > 0 ? (size_t)n : 0;
}

int
kn_name_index(const char *const *names, int n, const char *s)
{
    for (int i = 0; i < n; i++)
        if (names[i] && !strcmp(names[i], s))
            return i;
    return -1;
}

const char *
kiln_status_name(kiln_status s)
{
    switch (s) {
#define X(id, value, text) case KILN_##id: return text;
        KILN_STATUS(X)
#undef X
    }
    return "?";
}

double
kn_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

uint64_t
kn_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t
kn_hash(const void *p, size_t n)
{
    const unsigned char *s = p;
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ s[i]) * 0x100000001b3u;
    return h;
}

#define X(id, text) text,
const char *const kn_family_names[] = { KILN_FAMILIES(X) };
const char *const kn_layout_names[] = { KILN_LAYOUTS(X) };
const char *const kn_scale_names[] = { KILN_SCALES(X) };
const char *const kn_scale_type_names[] = { KILN_SCALE_TYPES(X) };
const char *const kn_zero_point_names[] = { KILN_ZERO_POINTS(X) };
const char *const kn_math_names[] = { KILN_MATHS(X) };
const char *const kn_b_layout_names[] = { KILN_B_LAYOUTS(X) };
const char *const kn_scale_layout_names[] = { KILN_SCALE_LAYOUTS(X) };
const char *const kn_out_scale_names[] = { KILN_OUT_SCALES(X) };
const char *const kn_epilogue_names[] = { KILN_EPILOGUES(X) };
const char *const kn_stage_names[] = { KILN_MOE_STAGES(X) };
#undef X
#define X(id, text, bits, mx) text,
const char *const kn_type_names[] = { KILN_TYPES(X) };
#undef X
#define X(id, text, bits, mx) bits,
const uint8_t kn_type_bits[] = { KILN_TYPES(X) };
#undef X
#define X(id, text, bits, mx) mx,
const uint8_t kn_type_mx[] = { KILN_TYPES(X) };
#undef X

const char *
kiln_type_name(kiln_type t)
{
    return t < KILN_NTYPES ? kn_type_names[t] : "?";
}

const struct kn_target_info kn_targets[KILN_NTARGETS] = {
    { 0 },
#define TARGET(property, gfx942, gfx950) .property = gfx942,
    {
#include "targets.def"
    },
#undef TARGET
#define TARGET(property, gfx942, gfx950) .property = gfx950,
    {
#include "targets.def"
    },
#undef TARGET
};

kiln_target
kn_target_where(uint32_t property, uint32_t value)
{
    for (int t = KILN_TARGET_NONE + 1; t < KILN_NTARGETS; t++) {
        const unsigned char *row = (const unsigned char *)&kn_targets[t];
        uint32_t own;

        memcpy(&own, row + property, sizeof own);
        if (own == value)
            return (kiln_target)t;
    }
    return KILN_TARGET_NONE;
}

const char *
kiln_target_name(kiln_target t)
{
    static const char *const names[] = { "none",
#define X(id, text) text,
        KILN_TARGETS(X)
#undef X
    };

    return t < KILN_NTARGETS ? names[t] : "?";
}
