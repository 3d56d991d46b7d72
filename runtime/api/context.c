/* context.c - opening and closing a context, the frame of a public call. */
#include "context.h"

#include <stdio.h>
#include <string.h>

#include "../config.h"
#include "bundle.h"

void *
kn_host_alloc(const struct kn_host *h, size_t n)
{
    return h->realloc(h->user, NULL, 0, n);
}

void
kn_host_free(const struct kn_host *h, void *p, size_t n)
{
    if (p)
        h->realloc(h->user, p, n, 0);
}

void
kn_call_begin(const struct kn_host *h, struct kn_ctx *c)
{
    kn_ctx_init(c, h->realloc, h->user);
}

kiln_status
kn_call_end(struct kn_ctx *c, kiln_status s, kiln_error *error)
{
    if (error) {
        *error = c->err;
        error->status = s;
        if (s && !error->text[0])
            snprintf(error->text, sizeof error->text, "%s",
                     kiln_status_name(s));
    }
    kn_ctx_free(c);
    return s;
}

kiln_status
kn_refuse_null(const char *what, kiln_error *error)
{
    struct kn_ctx c;

    kn_ctx_init(&c, NULL, NULL);
    return kn_call_end(&c, kn_fail(&c, KILN_BAD_INPUT, "'%s' is NULL", what),
                       error);
}

void
kn_log(struct kiln_context *x, kiln_log_level level, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    if (!x->log)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    x->log(x->log_user, level, text);
}

void
kn_choice_begin(const struct kiln_context *x, struct kn_ctx *c)
{
    kn_call_begin(&x->host, c);
    c->tuning = x->tuning;
}

/* A copy that lives as long as the context; NULL stays NULL. */
static kiln_status
keep_text(struct kn_ctx *c, const struct kn_host *h, const char *s, char **out)
{
    size_t n = s ? strlen(s) + 1 : 0;

    *out = n ? kn_host_alloc(h, n) : NULL;
    if (n && !*out)
        return kn_fail(c, KILN_NO_MEMORY, "out of memory");
    if (n)
        memcpy(*out, s, n);
    return KILN_OK;
}

static bool
is_set(const char *v)
{
    return v && v[0] && strcmp(v, "0") != 0;
}

static const char *
cache_dir_of(struct kn_ctx *c, const kiln_options *o)
{
    if (o->flags & KILN_NO_DISK)
        return NULL;
    return o->cache_dir && o->cache_dir[0] ? o->cache_dir : kn_cache_dir(c);
}

static kiln_status
take_options(struct kn_ctx *c, const kiln_options *given, kiln_options *o)
{
    memset(o, 0, sizeof *o);
    if (!given)
        return KILN_OK;
    if (given->size < sizeof given->size || given->size > sizeof *o)
        return kn_fail(c, KILN_BAD_INPUT, "kiln_options.size is %u, this "
                       "library knows %zu bytes", given->size, sizeof *o);
    memcpy(o, given, given->size);
    if (o->flags & ~(uint32_t)(KILN_RUN_ONLY | KILN_STRICT | KILN_NO_DISK |
                               KILN_ISOLATE))
        return kn_fail(c, KILN_BAD_INPUT, "kiln_options.flags is %u, which "
                       "has bits that mean nothing", o->flags);
    if (!(o->max_seconds >= 0))
        return kn_fail(c, KILN_BAD_INPUT, "kiln_options.max_seconds is %g",
                       o->max_seconds);
    return KILN_OK;
}

static kiln_status
read_tables(struct kn_ctx *c, const char *files, struct kn_tuning **out)
{
    KN_ENTER(c);
    *out = KN_NEW(c, struct kn_tuning, 1);
    return kn_tuning_load(c, files, *out);
}

/* Read once: a later change of a file is not seen. */
static kiln_status
load_tuning(struct kn_ctx *c, kiln_context *x, const char *files)
{
    struct kn_tuning *t;
    kiln_status s = files ? read_tables(&x->arena, files, &t) : KILN_OK;

    if (s)
        c->err = x->arena.err;
    else if (files)
        x->tuning = t;
    return s;
}

static kiln_status
fill_context(struct kn_ctx *c, kiln_context *x, const kiln_options *o)
{
    struct kn_env env;

    KN_ENTER(c);
    kn_env_read(&env);
    x->flags = o->flags | (is_set(env.run_only) ? KILN_RUN_ONLY : 0) |
               (is_set(env.isolate) ? KILN_ISOLATE : 0);
    KN_TRY(load_tuning(c, x, env.tuning_file));
    KN_TRY(keep_text(c, &x->host, cache_dir_of(c, o), &x->cache_dir));
    KN_TRY(keep_text(c, &x->host, env.comgr_library, &x->comgr_library));
    return keep_text(c, &x->host, o->hip_library ? o->hip_library
                                                 : env.hip_library,
                     &x->hip_library);
}

static kiln_status
new_context(struct kn_ctx *c, const kiln_options *o, kiln_context **out)
{
    struct kn_host h = { c->realloc, c->user };
    kiln_context *x = kn_host_alloc(&h, sizeof *x);
    kiln_status s;

    if (!x)
        return kn_fail(c, KILN_NO_MEMORY, "out of memory");
    memset(x, 0, sizeof *x);
    x->host = h;
    kn_ctx_init(&x->arena, h.realloc, h.user);
    x->max_steps = o->max_steps;
    x->max_seconds = o->max_seconds;
    x->log = o->log;
    x->log_user = o->log_user;
    pthread_mutex_init(&x->lock, NULL);
    pthread_cond_init(&x->changed, NULL);
    s = fill_context(c, x, o);
    if (s)
        kiln_close(x);
    else
        *out = x;
    return s;
}

kiln_status
kiln_open(const kiln_options *given, kiln_context **out, kiln_error *error)
{
    struct kn_ctx c;
    kiln_options o;
    kiln_status s;

    KN_NEEDS(error, out, "out");
    *out = NULL;
    kn_ctx_init(&c, NULL, NULL);
    s = take_options(&c, given, &o);
    if (!s) {
        kn_ctx_init(&c, o.realloc, o.realloc_user);
        s = new_context(&c, &o, out);
    }
    return kn_call_end(&c, s, error);
}

static void
free_text(const struct kn_host *h, char *s)
{
    kn_host_free(h, s, s ? strlen(s) + 1 : 0);
}

void
kiln_close(kiln_context *x)
{
    struct kn_host h;

    if (!x)
        return;
    h = x->host;
    kn_store_free(x);
    while (x->bundles) {
        struct kn_bundle *b = x->bundles;

        x->bundles = b->next;
        kn_bundle_release(b);
    }
    kn_ctx_free(&x->arena);
    free_text(&h, x->cache_dir);
    free_text(&h, x->hip_library);
    free_text(&h, x->comgr_library);
    pthread_cond_destroy(&x->changed);
    pthread_mutex_destroy(&x->lock);
    kn_host_free(&h, x, sizeof *x);
}
