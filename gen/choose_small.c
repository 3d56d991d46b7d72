/* choose_small.c - what is chosen for few rows (docs/smallm.md). */
#include "choose.h"
#include "gemv.h"
#include "instantiate.h"

/* Few rows: reading B is what takes the time, so many small workgroups, deep
 * K tiles (256 bytes a row) and K divided until there are `want` of them.
 * Sizes by predicted time (docs/smallm.md). */
static const struct {
    uint32_t bm, bn, wm, wn, stages, want;
} small[] = {
    { 16, 32, 1, 2, 2, 512 },
    { 32, 64, 1, 4, 3, 128 },
    { 64, 64, 2, 2, 3, 128 },
};

enum { SMALL_MOST = 64 };

static uint32_t
shares_for(const kiln_problem *p, const struct kn_config *g, uint32_t want)
{
    uint64_t many = (uint64_t)((p->batch > 1 ? p->batch : 1) *
                               ((p->m + g->bm - 1) / g->bm) *
                               ((p->n + g->bn - 1) / g->bn));
    uint32_t n = 1;

    while (many * n < want && n < KN_SPLIT_MOST &&
           p->k >= 2 * (int64_t)n * g->bk)
        n *= 2;
    return n;
}

static bool
pick_matrix(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    uint32_t bits = kn_elems[kn_shape_of(p, g).ta].bits;

    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        struct kn_config try = *g;

        if (p->m > small[i].bm)
            continue;
        try.bm = small[i].bm;
        try.bn = small[i].bn;
        try.bk = p->scale == KILN_SCALE_BLOCK128 || bits == 16 ||
                 kn_prequant(p) ? 128 : 256;
        try.wm = small[i].wm;
        try.wn = small[i].wn;
        if (!try.domain.align_a)
            try.domain = kn_domain_of(p, 256, try.bk);
        try.stages = kn_direct(p, &try) ? small[i].stages : 0;
        if (kn_bk_lacks(c, p, &try) || !kn_tile_fit(c, p, &try))
            return false;
        if (!try.split_k)
            try.split_k = shares_for(p, &try, small[i].want);
        *g = try;
        return true;
    }
    return false;
}

bool
kn_pick_small(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g,
              struct kn_buf *why)
{
    struct kn_config gemv = *g;

    if (p->m < 1 || p->m > SMALL_MOST || !kn_form_open(g) || p->k < 512 ||
        p->n < 256 || (p->family != KILN_GEMM && p->family != KILN_BATCHED) ||
        p->b_layout || p->scale_layout)
        return false;
    if (kn_gemv_wins(p) && g->split_k < 2 && !g->schedule && !g->domain.align_a &&
        !kn_gemv_choose(p, &gemv)) {
        *g = gemv;
        if (why)
            kn_putf(why, "few rows, of whole runs: no matrix instructions, "
                    "columns of %u waves, K of %u\n", gemv.wm, gemv.wn);
        return true;
    }
    if (!pick_matrix(c, p, g))
        return false;
    if (why)
        kn_putf(why, "at most %d rows: small tiles, K divided among "
                "workgroups until the device is full\n", SMALL_MOST);
    return true;
}
