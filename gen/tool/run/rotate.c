/* rotate.c - operands that no cache has: the buffers of a timed launch many
 * times over, so that each launch takes the next copy and the first comes
 * again when ROTATED bytes have passed, twice what the last-level cache of
 * these chips holds (256 MB). What the model calls cold (docs/timing.md). */
#include "session.h"

#include <string.h>

#define ROTATED ((uint64_t)512 << 20)

/* MOST: 128 KB a launch, which the launch itself outweighs. */
enum { MOST = 4096, ALIGN = 256, TIMED_LAUNCHES = 20 };

struct copied {
    uint64_t stride, size;
    const uint8_t *bytes;
};

/* Copy after copy, a stride apart. */
static void
fill_copies(void *user, uint64_t at, void *dst, size_t n)
{
    const struct copied *x = user;
    uint8_t *to = dst;

    for (size_t done = 0; done < n;) {
        uint64_t in = (at + done) % x->stride;
        size_t most = (size_t)(x->stride - in), have;

        if (most > n - done)
            most = n - done;
        have = in < x->size ? (size_t)(x->size - in) : 0;
        if (have > most)
            have = most;
        memcpy(to + done, x->bytes + (have ? in : 0), have);
        memset(to + done + have, 0, most - have);
        done += most;
    }
}

static uint64_t *
place_at(const struct kn_operands *at, int i)
{
    return (uint64_t *)((char *)at + kn_operand_places[i].at);
}

static uint64_t
stride_of(const struct kn_held *h)
{
    return (h->size + ALIGN - 1) / ALIGN * ALIGN;
}

/* Bytes of one launch's buffers. */
static uint64_t
bytes_of(const struct kn_session *s, const struct kn_job *j)
{
    uint64_t n = 0;

    for (int i = 0; i < KN_NPLACES; i++) {
        uint64_t at = *place_at(&j->at, i);
        const struct kn_held *h = at ? kn_session_held(s, at) : NULL;

        n += h ? stride_of(h) : 0;
    }
    return n;
}

/* A buffer's copies, filled with what it holds now. */
static kiln_status
copy_buffer(struct kn_session *s, const struct kn_held *h, uint32_t times,
            void **slab)
{
    uint8_t *bytes = KN_NEW(s->c, uint8_t, h->size);
    struct copied x = { stride_of(h), h->size, bytes };

    KN_TRY(s->dev.backend->download(&s->dev, s->c, bytes, h->p,
                                    (size_t)h->size));
    return s->dev.backend->alloc(&s->dev, s->c, &(struct kn_memory){
        .size = x.stride * times, .fill = fill_copies, .user = &x }, slab);
}

static kiln_status
copy_buffers(struct kn_session *s, const struct kn_job *j,
             struct kn_rotation *r)
{
    for (int i = 0; i < KN_NPLACES; i++) {
        uint64_t at = *place_at(&j->at, i);
        const struct kn_held *h = at ? kn_session_held(s, at) : NULL;

        if (h)
            KN_TRY(copy_buffer(s, h, r->n, &r->slab[i]));
    }
    return KILN_OK;
}

/* The arguments of launch k: each address in its k-th copy. */
static kiln_status
plan(struct kn_session *s, const struct kn_job *j, struct kn_rotation *r,
     uint32_t k)
{
    struct kn_operands at = j->at;
    struct kn_plan plan;
    uint8_t *kernarg;

    for (int i = 0; i < KN_NPLACES; i++) {
        uint64_t *to = place_at(&at, i);
        const struct kn_held *h = *to ? kn_session_held(s, *to) : NULL;

        if (h)
            *to = (uintptr_t)r->slab[i] + k * stride_of(h) +
                  (*to - (uintptr_t)h->p);
    }
    if (j->arguments)
        return j->arguments(j->arguments_of, &at, &r->kernarg[k]);
    KN_TRY(kn_plan_launch(s->c, j->p, &j->g->cfg, &at, &plan));
    kernarg = KN_NEW(s->c, uint8_t, plan.kernarg_size);
    memcpy(kernarg, plan.kernarg, plan.kernarg_size);
    r->kernarg[k] = kernarg;
    return KILN_OK;
}

kiln_status
kn_rotation_open(struct kn_session *s, const struct kn_job *j,
                 struct kn_rotation *r)
{
    uint64_t one = (j->g && j->p) || j->arguments ? bytes_of(s, j) : 0;

    *r = (struct kn_rotation){ 0 };
    if (!one || one >= ROTATED)
        return KILN_OK;
    r->n = ROTATED / one < MOST ? (uint32_t)(ROTATED / one) + 1 : MOST;
    r->bytes = one * r->n;
    r->kernarg = KN_NEW(s->c, const void *, r->n);
    KN_TRY(copy_buffers(s, j, r));
    for (uint32_t k = 0; k < r->n; k++)
        KN_TRY(plan(s, j, r, k));
    return KILN_OK;
}

kiln_status
kn_rotation_time(struct kn_session *s, const struct kn_job *j,
                 const struct kn_rotation *r, size_t round, double *us)
{
    struct kn_start start = { .code = &j->code, .l = j->l,
                              .runs = TIMED_LAUNCHES,
                              .rotated = r->kernarg, .nrotated = r->n };

    if (r->n)
        start.first = (uint32_t)(round * TIMED_LAUNCHES % r->n);
    return s->dev.backend->time(&s->dev, s->c, &start, us);
}

void
kn_rotation_close(struct kn_session *s, struct kn_rotation *r)
{
    struct kn_ctx own;

    kn_ctx_init(&own, s->c->realloc, s->c->user);
    for (int i = 0; i < KN_NPLACES; i++)
        if (r->slab[i])
            s->dev.backend->free(&s->dev, &own, r->slab[i]);
    kn_ctx_free(&own);
}
