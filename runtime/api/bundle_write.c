/* bundle_write.c - a set of kernels as the bytes of a bundle. */
#include <stdlib.h>
#include <string.h>

#include "bundle.h"
#include "context.h"

enum { ALIGN = 4096 };       /* code objects can be mapped alone */

static int
by_text(const void *a, const void *b)
{
    const struct kn_packed *x = *(const struct kn_packed *const *)a;
    const struct kn_packed *y = *(const struct kn_packed *const *)b;
    int d = strcmp(x->key.problem, y->key.problem);

    return d ? d : strcmp(x->key.config, y->key.config);
}

/* Sorted, each key once. */
static uint32_t
sort_kernels(const struct kn_packed *k, uint32_t n,
             const struct kn_packed **out)
{
    uint32_t m = 0;

    for (uint32_t i = 0; i < n; i++)
        out[i] = &k[i];
    qsort(out, n, sizeof *out, by_text);
    for (uint32_t i = 0; i < n; i++)
        if (!m || by_text(&out[m - 1], &out[i]))
            out[m++] = out[i];
    return m;
}

static uint64_t
round_up(uint64_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static uint32_t
place_of(const struct kn_buf *text, size_t from, const char *part)
{
    return (uint32_t)(strstr(text->s + from, part) - text->s);
}

static kiln_status
describe_entry(struct kn_ctx *c, const struct kn_packed *k,
               struct kn_buf *text, struct kn_bundle_entry *e)
{
    size_t from = text->n;

    KN_TRY(kn_describe(c, &k->key, k->co, k->size, text));
    e->problem_at = place_of(text, from, k->key.problem);
    e->problem_size = (uint32_t)strlen(k->key.problem);
    e->config_at = place_of(text, from, k->key.config);
    e->config_size = (uint32_t)strlen(k->key.config);
    e->co_size = k->size;
    kn_sha256(k->co, k->size, e->co_digest);
    e->cert_size = k->certificate ? strlen(k->certificate) : 0;
    if (e->cert_size)
        kn_sha256(k->certificate, (size_t)e->cert_size, e->cert_digest);
    memcpy(e->key, k->key.digest, sizeof e->key);
    return KILN_OK;
}

static void
fill_header(struct kn_bundle_header *h, uint32_t n, const struct kn_buf *text)
{
    memcpy(h->magic, KN_BUNDLE_MAGIC, sizeof h->magic);
    h->header_size = sizeof *h;
    h->entry_size = sizeof(struct kn_bundle_entry);
    h->nentries = n;
    h->manifest_at = sizeof *h + (uint64_t)n * h->entry_size;
    h->manifest_size = text->n;
    memcpy(h->generator, kn_generator_id(), strlen(kn_generator_id()));
}

kiln_status
kn_bundle_make(struct kn_ctx *c, const struct kn_packed *k, uint32_t n,
               uint8_t **out, size_t *size)
{
    const struct kn_packed **order = KN_NEW(c, const struct kn_packed *, n + 1);
    uint32_t m = sort_kernels(k, n, order);
    struct kn_bundle_entry *e = KN_NEW(c, struct kn_bundle_entry, m + 1);
    struct kn_bundle_header h = { 0 };
    struct kn_buf text = { .c = c };
    uint64_t at;

    kn_put(&text, "[");
    for (uint32_t i = 0; i < m; i++) {
        kn_put(&text, i ? ",\n" : "");
        KN_TRY(describe_entry(c, order[i], &text, &e[i]));
    }
    kn_put(&text, "]\n");
    fill_header(&h, m, &text);
    at = h.manifest_at + h.manifest_size;
    for (uint32_t i = 0; i < m; i++) {
        e[i].co_at = round_up(at);
        at = e[i].co_at + e[i].co_size;
    }
    for (uint32_t i = 0; i < m; i++) {
        e[i].cert_at = at;
        at += e[i].cert_size;
    }
    h.file_size = at;
    *size = (size_t)at;
    *out = KN_NEW(c, uint8_t, *size);
    memcpy(*out + sizeof h, e, m * sizeof *e);
    memcpy(*out + h.manifest_at, text.s, text.n);
    for (uint32_t i = 0; i < m; i++) {
        memcpy(*out + e[i].co_at, order[i]->co, order[i]->size);
        if (e[i].cert_size)
            memcpy(*out + e[i].cert_at, order[i]->certificate,
                   (size_t)e[i].cert_size);
    }
    kn_sha256(*out + sizeof h, m * sizeof *e + text.n, h.digest);
    memcpy(*out, &h, sizeof h);
    return KILN_OK;
}
