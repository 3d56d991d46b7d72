/* geometry.c - sizes that follow from an LDS tile, a shape and a target: who
 * copies what, how long a slot is, what a fragment holds. */
#include "ir.h"

uint32_t
kn_waves(const struct kn_fn *f)
{
    return f->shape.wm * f->shape.wn;
}

static uint32_t
div_up(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

struct kn_geom
kn_geometry(const struct kn_fn *f, const struct kn_lds *l)
{
    uint32_t bits = kn_elems[l->elem].bits, threads = kn_waves(f) * 64;
    struct kn_geom g = { 0 };

    g.lrows = l->lk ? l->rows : l->cols;
    g.pitch = (l->lk ? l->cols : l->rows) * bits / 8;
    if (l->shuf) {           /* a row of LDS is 32 rows of scales */
        g.lrows /= 32;
        g.pitch *= 32;
    }
    g.chunk = g.pitch % 16 == 0 ? 16 : g.pitch % 4 == 0 ? 4
            : g.pitch % 2 == 0 ? 2 : 1;
    g.transpose = !l->gk && l->lk;
    g.cpr = g.pitch / g.chunk;
    g.nchunks = g.lrows * g.cpr;
    if (g.transpose) {
        g.kb = 128 / bits;   /* a 16-byte run along K, or less of it when */
        g.pb = 32 / bits;    /* that leaves threads without a block */
        while (l->rows / g.pb * (l->cols / g.kb) % threads &&
               g.kb * bits > 32)
            g.kb /= 2;
        g.nchunks = l->rows / g.pb * (l->cols / g.kb);
        g.steps = div_up(g.nchunks, threads);
        g.bytes = g.steps * threads * g.kb * bits / 8 * g.pb;
        return g;
    }
    g.steps = div_up(g.nchunks, threads);
    g.bytes = g.steps * threads * g.chunk;
    return g;
}

uint64_t
kn_lds_bytes(const struct kn_fn *f)
{
    uint64_t n = 0;

    for (size_t i = 0; i < f->nlds; i++)
        n += (uint64_t)f->lds[i].slots * kn_geometry(f, &f->lds[i]).bytes;
    return n;
}

struct kn_frag
kn_fragment(const struct kn_fn *f, int side)
{
    const struct kn_shape *s = &f->shape;
    const struct kn_mfma_info *m = &kn_mfmas[s->mfma];
    uint32_t bits = kn_elems[side == 'a' ? s->ta : s->tb].bits;
    struct kn_frag r = { 0 };

    r.count = side == 'a' ? s->bm / s->wm / m->mi : s->bn / s->wn / m->mi;
    if (m->a == KN_T_b1) {
        r.sub = 1;
        r.bytes = m->k * bits / 8 / 4;
    } else {
        r.sub = 4u / m->regs_ab;
        r.bytes = 16;
    }
    r.k = m->k * r.sub;
    r.ksteps = s->bk / r.k;
    return r;
}
