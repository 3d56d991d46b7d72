/* bundle.c - opening a bundle and finding kernels in it. The file may come
 * from anyone: every number is checked before it is used. */
#include "bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static kiln_status
map_file(struct kn_ctx *c, const char *path, struct kn_bundle *b)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *p;

    if (fd < 0 || fstat(fd, &st)) {
        int e = errno;

        if (fd >= 0)
            close(fd);
        return kn_fail(c, KILN_IO, "%s: cannot open: %s", path, strerror(e));
    }
    if (!S_ISREG(st.st_mode) || (size_t)st.st_size < sizeof b->head) {
        close(fd);
        return kn_fail(c, KILN_BAD_INPUT, "%s is no kernel bundle", path);
    }
    b->size = (size_t)st.st_size;
    p = mmap(NULL, b->size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        return kn_fail(c, KILN_IO, "%s: cannot map: %s", path,
                       strerror(errno));
    b->map = p;
    return KILN_OK;
}

static bool
within(uint64_t at, uint64_t n, uint64_t limit)
{
    return at <= limit && n <= limit - at;
}

static bool
sound_entry(const struct kn_bundle *b, const struct kn_bundle_entry *e)
{
    uint64_t m = b->head.manifest_size;

    return within(e->problem_at, e->problem_size, m) &&
           within(e->config_at, e->config_size, m) &&
           within(e->co_at, e->co_size, b->size) && e->co_at % 16 == 0 &&
           within(e->cert_at, e->cert_size, b->size);
}

static const char *
defect_of(const struct kn_bundle *b)
{
    const struct kn_bundle_header *h = &b->head;
    uint64_t index = (uint64_t)h->nentries * sizeof *b->entry;
    uint8_t digest[KN_DIGEST];

    if (memcmp(h->magic, KN_BUNDLE_MAGIC, sizeof h->magic) != 0)
        return "is no kernel bundle";
    if (h->header_size != sizeof *h || h->entry_size != sizeof *b->entry ||
        h->reserved)
        return "is a bundle of another format";
    if (h->file_size != b->size)
        return "is truncated or has bytes too many";
    if (h->manifest_at != sizeof *h + index ||
        !within(h->manifest_at, h->manifest_size, b->size))
        return "has a damaged header";
    kn_sha256(b->map + sizeof *h, (size_t)(index + h->manifest_size), digest);
    if (memcmp(digest, h->digest, sizeof digest) != 0)
        return "has a damaged index";
    for (uint32_t i = 0; i < h->nentries; i++)
        if (!sound_entry(b, &b->entry[i]))
            return "has an index that points outside";
    return NULL;
}

static kiln_status
check_bundle(struct kn_ctx *c, const char *path, const struct kn_bundle *b)
{
    const char *defect = defect_of(b);
    char generator[sizeof b->head.generator + 1] = "";
    char own[sizeof b->head.generator] = "";

    if (defect)
        return kn_fail(c, KILN_BAD_INPUT, "%s %s", path, defect);
    memcpy(generator, b->head.generator, sizeof b->head.generator);
    memcpy(own, kn_generator_id(), strlen(kn_generator_id()));
    if (memcmp(own, generator, sizeof own) != 0)
        return kn_fail(c, KILN_BAD_INPUT, "%s was packed by generator %s, "
                       "this is %s: pack it again", path, generator,
                       kn_generator_id());
    return KILN_OK;
}

static kiln_status
fill_bundle(struct kn_ctx *c, const char *path, struct kn_bundle *b)
{
    KN_TRY(map_file(c, path, b));
    memcpy(&b->head, b->map, sizeof b->head);
    /* The map is page-aligned and the header a multiple of 8 long. */
    b->entry = (const void *)(b->map + sizeof b->head);
    return check_bundle(c, path, b);
}

kiln_status
kn_bundle_open(struct kn_ctx *c, const struct kn_host *h, const char *path,
               struct kn_bundle **out)
{
    struct kn_bundle *b = kn_host_alloc(h, sizeof *b);
    kiln_status s;

    if (!b)
        return kn_fail(c, KILN_NO_MEMORY, "out of memory");
    memset(b, 0, sizeof *b);
    atomic_init(&b->refs, 1);
    b->host = *h;
    s = fill_bundle(c, path, b);
    if (s)
        kn_bundle_release(b);
    else
        *out = b;
    return s;
}

void
kn_bundle_retain(struct kn_bundle *b)
{
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
}

void
kn_bundle_release(struct kn_bundle *b)
{
    struct kn_host h;

    if (atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) > 1)
        return;
    if (b->map)
        munmap((void *)b->map, b->size);
    h = b->host;
    kn_host_free(&h, b, sizeof *b);
}

static const char *
manifest(const struct kn_bundle *b)
{
    return (const char *)b->map + b->head.manifest_at;
}

/* Order of an entry's problem text and the one sought. */
static int
compare_problem(const struct kn_bundle *b, uint32_t i, const char *problem)
{
    const struct kn_bundle_entry *e = &b->entry[i];
    size_t n = strlen(problem);
    size_t least = n < e->problem_size ? n : e->problem_size;
    int d = memcmp(manifest(b) + e->problem_at, problem, least);

    return d ? d : (e->problem_size > n) - (e->problem_size < n);
}

uint32_t
kn_bundle_range(const struct kn_bundle *b, const char *problem,
                uint32_t *first)
{
    uint32_t lo = 0, hi = b->head.nentries, n = 0;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (compare_problem(b, mid, problem) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *first = lo;
    while (lo + n < b->head.nentries && !compare_problem(b, lo + n, problem))
        n++;
    return n;
}

const char *
kn_bundle_config(const struct kn_bundle *b, uint32_t i, size_t *size)
{
    *size = b->entry[i].config_size;
    return manifest(b) + b->entry[i].config_at;
}

/* A part of an entry is as it was when the bundle was written. */
static kiln_status
check_part(struct kn_ctx *c, struct kn_bytes part, const uint8_t want[KN_DIGEST],
           const char *what, uint32_t entry)
{
    uint8_t digest[KN_DIGEST];

    kn_sha256(part.p, part.n, digest);
    return !memcmp(digest, want, sizeof digest) ? KILN_OK
         : kn_fail(c, KILN_IO, "a %s of the bundle is damaged (entry %u)", what, entry);
}

kiln_status
kn_bundle_code(struct kn_ctx *c, const struct kn_bundle *b, uint32_t i,
               const uint8_t **co, size_t *size)
{
    const struct kn_bundle_entry *e = &b->entry[i];

    *co = b->map + e->co_at;
    *size = (size_t)e->co_size;
    return check_part(c, (struct kn_bytes){ *co, *size }, e->co_digest, "code object", i);
}

kiln_status
kn_bundle_certificate(struct kn_ctx *c, const struct kn_bundle *b, uint32_t i,
                      const char **text, size_t *size)
{
    const struct kn_bundle_entry *e = &b->entry[i];
    const uint8_t *at = b->map + e->cert_at;

    *text = (const char *)at;
    *size = (size_t)e->cert_size;
    return !*size ? KILN_OK
         : check_part(c, (struct kn_bytes){ at, *size }, e->cert_digest, "certificate", i);
}

kiln_status
kiln_add_bundle(kiln_context *x, const char *path, kiln_error *error)
{
    struct kn_bundle *b = NULL;
    struct kn_ctx c;
    kiln_status s;

    KN_NEEDS(error, x, "context");
    KN_NEEDS(error, path, "path");
    kn_call_begin(&x->host, &c);
    s = kn_bundle_open(&c, &x->host, path, &b);
    if (!s) {
        pthread_mutex_lock(&x->lock);
        b->next = x->bundles;
        x->bundles = b;
        pthread_mutex_unlock(&x->lock);
    }
    return kn_call_end(&c, s, error);
}
