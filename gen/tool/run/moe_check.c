/* moe_check.c - the reference of a moe stage: for each sorted row the dense
 * product of its token with its expert in f64, the expert taken from the
 * routing itself and not from what was sorted. */
#include <math.h>

#include "moe.h"

/* Rows of an operand picked one by one, as one dense tensor. */
struct picked {
    struct kn_operand *from;
    const int32_t *ids;
    int64_t topk;            /* 0: row token, else token * topk + slot */
    uint64_t row;            /* bytes */
};

static void
pick_rows(void *user, uint64_t offset, void *dst, size_t size)
{
    const struct picked *k = user;
    uint8_t *to = dst;

    while (size) {
        uint64_t at = offset % k->row, n = k->row - at;
        uint32_t id = (uint32_t)k->ids[offset / k->row];
        int64_t row = id & 0xffffff;

        if (k->topk)
            row = row * k->topk + (int64_t)(id >> 24);
        n = n < size ? n : size;
        kn_operand_fill(k->from, (uint64_t)row * k->row + at, to, n);
        offset += n;
        to += n;
        size -= n;
    }
}

static struct kn_ref_tensor
picked_tensor(struct picked *k)
{
    struct kn_ref_tensor t = { .type = k->from->data.type, .fetch = pick_rows,
                               .user = k };

    return t;
}

static struct kn_ref_tensor
expert_tensor(struct kn_operand *o, uint64_t offset)
{
    struct kn_ref_tensor t = { .type = o->data.type, .offset = offset,
                               .fetch = kn_operand_fill, .user = o };

    return t;
}

static bool
has(const struct kn_operand *o)
{
    return o && o->used;
}

/* d(act)/dg of both activations is at most 1.1. */
static void
gate(const struct kn_moe_stage *s, double *g, double *gsum, double u,
     double usum)
{
    bool clamped = s->p->act == KILN_SWIGLU;
    double tol = ((double)s->p->k / 8 + 16) * 0x1p-24;
    double x = *g, y, out;

    if (clamped) {
        x = fmin(x, 7);
        u = fmax(fmin(u, 7), -7) + 1;
    }
    y = x / (1 + exp(clamped ? -1.702 * x : -x));
    out = y * u;
    *gsum = 1.1 * *gsum * (fabs(u) + tol * usum) + fabs(y) * usum +
            (1 + fabs(x)) * fabs(out) + fabs(y);
    *g = out;
}

static void
finish(const struct kn_moe_stage *s, struct kn_ref_rect rect,
       const struct kn_ref_sums *out)
{
    double *value = out->value, *abssum = out->abssum;
    int64_t n = rect.rows * rect.cols;
    bool up = s->p->stage == KILN_MOE_GATE_UP;
    int64_t all = up ? 2 * n : n;

    for (int64_t i = 0; i < all; i++) {
        uint32_t id = (uint32_t)s->ids[i % n / rect.cols];
        double w = (double)s->r->weight[(int64_t)(id & 0xffffff) * s->r->topk +
                                        (int64_t)(id >> 24)];

        if (s->p->weigh != (up ? KILN_WEIGHT_BEFORE : KILN_WEIGHT_AFTER))
            break;
        value[i] *= w;
        abssum[i] *= fabs(w);
    }
    for (int64_t i = 0; i < n && up; i++) {
        gate(s, &value[i], &abssum[i], value[n + i], abssum[n + i]);
        out->both[i] |= out->both[n + i];
    }
}

kiln_status
kn_moe_reference(struct kn_ctx *c, const struct kn_moe_stage *s,
                 struct kn_ref_rect rect, const struct kn_ref_sums *out)
{
    const kiln_problem *p = s->p;
    const int32_t *ids = s->ids;
    struct kn_pitches t = kn_pitches_of(p);
    bool up = p->stage == KILN_MOE_GATE_UP, mx = p->scale == KILN_SCALE_MX32;
    bool each = mx || p->scale == KILN_SCALE_ROW ||
                p->scale == KILN_SCALE_BLOCK128;
    int64_t topk = up ? 0 : p->topk;
    uint32_t id = (uint32_t)ids[0];
    uint64_t e = (uint64_t)s->r->expert[(int64_t)(id & 0xffffff) *
                                        s->r->topk + (int64_t)(id >> 24)];
    uint64_t kb = (uint64_t)(p->k + 31) / 32;
    struct picked a = { s->a, ids, topk, (uint64_t)t.a };
    struct picked sa = { s->sa, ids, topk, mx ? kb : t.sa ? (uint64_t)t.sa : 4 };
    struct kn_ref_problem q = {
        .target = p->target, .layout = KILN_NT, .scale = p->scale,
        .m = rect.rows, .n = up ? 2 * p->n : p->n, .k = p->k,
        .a = picked_tensor(&a),
        .b = expert_tensor(s->b, e * (uint64_t)t.tb),
        .alpha = (double)p->alpha,
    };

    if (has(s->sa))
        q.sa = each ? picked_tensor(&sa) : expert_tensor(s->sa, 0);
    if (has(s->sb))
        q.sb = expert_tensor(s->sb, e * (each ? s->sb->data.batch_bytes
                                                   : 4));
    rect.m0 = 0;
    KN_TRY(kn_ref_tile(c, &q, &rect, out));
    if (up) {
        struct kn_ref_rect other = rect;
        int64_t n = rect.rows * rect.cols;

        other.n0 += p->n;
        KN_TRY(kn_ref_tile(c, &q, &other, &(struct kn_ref_sums){
            out->value + n, out->abssum + n, out->both + n }));
    }
    finish(s, rect, out);
    return KILN_OK;
}
