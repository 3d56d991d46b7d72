/* distribute_clip.c - what of a K tile in LDS lies behind K becomes zero (clip). Every lane
 * rewrites the chunks it copied itself, so its own wait is enough before, and the barrier that
 * publishes the tile behind it. */
#include "tail.h"

/* Chunks that were read and not yet written: several wait for LDS together, of clips that
 * follow on each other, too, as many as registers are surely there for. */
struct held {
    struct dist_place at;
    kn_ref valid, v;         /* bits that stay; what it had */
    uint32_t bytes;
};

enum { HELD = 8, REGISTERS = 24, OF_MANY = 8, MANY_SUMS = 96 };

struct holding {
    struct dist *d;
    uint32_t n, dwords, most;
    struct held x[HELD];
};

static uint32_t
dwords_of(uint32_t bytes)
{
    return bytes > 4 ? bytes / 4 : 1;
}

static void
write_back(struct dist *d, const struct held *x)
{
    const struct kn_lds *l = dist_lds(d, (int)KN_REF_LDS(x->at.slot));
    uint32_t n = dwords_of(x->bytes);
    kn_ref w[4];

    for (uint32_t k = 0; k < n; k++) {
        kn_ref left = dist_ic(d, KN_OP_add, x->valid, -32 * (int64_t)k);

        w[k] = dist_clip_dword(d, l, x->v, n > 1 ? (int)k : -1, left);
    }
    dist_store_lds(d, x->at, dist_cat(d, w, n), x->bytes);
}

/* LLVM would join accesses of two tiles that are as far apart as one instruction's may be. */
static void
keep_apart(struct dist *d, kn_ref one, kn_ref other)
{
    if (KN_REF_LDS(one) != KN_REF_LDS(other))
        dist_add(d, KN_OP_sched, 0);
}

static void
let_go(struct holding *h)
{
    for (uint32_t k = 0; k < h->n; k++) {
        if (k)
            keep_apart(h->d, h->x[k - 1].at.slot, h->x[k].at.slot);
        write_back(h->d, &h->x[k]);
    }
    h->n = h->dwords = 0;
}

static void
hold(struct holding *h, struct dist_place at, kn_ref valid, uint32_t bytes)
{
    if (h->n == HELD || h->dwords + dwords_of(bytes) > h->most)
        let_go(h);
    if (h->n)
        keep_apart(h->d, h->x[h->n - 1].at.slot, at.slot);
    h->x[h->n++] = (struct held){ at, valid, dist_load_lds(h->d, at, bytes), bytes };
    h->dwords += dwords_of(bytes);
}

/* Chunks of K, of lines bits, that this lane copied. */
static bool
has_chunks(const struct dist *d, const struct kn_ins *i)
{
    const struct kn_lds *l = d->in->lds + KN_REF_LDS(i->arg[0]);

    return i->op == KN_OP_clip && l->gk && !l->shuf && !l->mem;
}

static kn_ref
scales_of(struct dist *d, const struct kn_lds *l, kn_ref klen)
{
    if (l->kdiv == 1)
        return klen;
    return dist_ic(d, KN_OP_udiv, dist_ic(d, KN_OP_add, klen, l->kdiv - 1), l->kdiv);
}

static void
hold_chunks(struct holding *h, const struct kn_ins *i)
{
    struct dist *d = h->d;
    const struct kn_lds *l = dist_lds(d, (int)KN_REF_LDS(i->arg[0]));
    struct kn_geom g = kn_geometry(d->in, l);
    kn_ref klen = scales_of(d, l, dist_operand(d, i->arg[1])), row, chunk, valid;

    klen = dist_ic(d, KN_OP_mul, klen, l->line ? 1 : kn_elems[l->elem].bits);
    for (uint32_t s = 0; s < g.steps; s++) {
        dist_chunk_place(d, l, dist_run_id(d, l, s), &row, &chunk);
        valid = dist_i2(d, KN_OP_sub, klen, dist_ic(d, KN_OP_mul, chunk, 8 * g.chunk));
        hold(h, dist_written_place(d, i->arg[0], (int)KN_REF_LDS(i->arg[0]), s), valid, g.chunk);
    }
}

/* Of the first of several that follow on each other, for all of them. */
static void
clip_chunks(struct dist *d, const struct kn_ins *i)
{
    const struct kn_ins *end = d->in->ins + d->in->nins;
    uint32_t sums = d->in->shape.bm * d->in->shape.bn / (kn_waves(d->in) * 64);
    struct holding h = { .d = d, .most = sums > MANY_SUMS ? OF_MANY : REGISTERS };

    if (i > d->in->ins && has_chunks(d, i - 1))
        return;
    for (; i < end && has_chunks(d, i); i++)
        hold_chunks(&h, i);
    let_go(&h);
}

/* clip: a K-outer operand whose rows begin at loads needs nothing: its K rows beyond the end
 * read zero. Nor do shuffled scales, which are padded in memory. */
kiln_status
expand_clip(struct dist *d, const struct kn_ins *i)
{
    const struct kn_lds *l = dist_lds(d, (int)KN_REF_LDS(i->arg[0]));

    if (has_chunks(d, i))
        clip_chunks(d, i);
    else if (!l->gk && l->unaligned)
        dist_clip_rows(d, i->arg[0], dist_operand(d, i->arg[1]));
    else if (l->gk && l->mem && !l->shuf)
        dist_clip_runs(d, i->arg[0], scales_of(d, l, dist_operand(d, i->arg[1])));
    return KILN_OK;
}
