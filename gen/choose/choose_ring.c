/* choose_ring.c - the entrance of choosing, kn_choose(), and the choice after a refusal. First
 * asked are rows of 6 bits that begin inside cache lines at multiples of 16 bytes: LDS is
 * filled with them directly, where half of the lines or more come twice; through registers, as
 * rows at any byte go, each line comes once (docs/loops.md). All else is choose.c's. */
#include "choose.h"

#include <string.h>

#include "../forms.h"
#include "../instantiate.h"

/* 256x256 of `4-wave`, which copies them directly, takes 0.8 to 0.94 of the time where compute
 * units have such tiles in more than 3/4 of all rounds, else 1.1 to 1.5 (27 sizes). */
static bool
fills_largest(const kiln_problem *p)
{
    uint64_t tiles = kn_tiles_of(p, 256, 256), cus = kn_cus(p);

    return 4 * tiles > 3 * cus * ((tiles + cus - 1) / cus);
}

static bool
begins_inside(int64_t pitch)
{
    int64_t bytes = pitch * 6 / 8;

    return bytes % 16 == 0 && bytes % KN_LINE != 0;
}

/* Plain products of 6-bit types of which nothing was asked that decides how rows come; of few
 * rows, columns or K tiles smaller tiles than those with rings are sooner (180 drawn). */
static bool
may_ring(const kiln_problem *p, const struct kn_config *g)
{
    enum { LEAST_SIDE = 512, LEAST_K = 12 * 128 };
    const struct kn_family *f = kn_family_of(p);

    return kn_targets[p->target].scaled && kn_mx_scales(p) && !p->scale_layout &&
           kn_type_bits[p->a] == 6 && kn_type_bits[p->b] == 6 && p->layout == KILN_NT &&
           !f->ragged && !f->routed && !kn_gated(p) && !p->b_layout && p->k >= LEAST_K &&
           p->m >= LEAST_SIDE && p->n >= LEAST_SIDE &&
           begins_inside(p->lda) && begins_inside(p->ldb) &&
           !g->bm && !g->schedule && !g->stages && !g->copies && !g->cus && !g->domain.align_a &&
           g->lowering != KN_LOWERING_LLVM && g->abi != KN_ABI_AITER;
}

/* What is chosen for rows at the next multiple of 4 bytes serves these, too. */
static bool
choose_ring(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g)
{
    const bool crowded = c->crowded;
    kiln_problem any = *p;
    struct kn_config ring = *g;

    any.lda += 16;
    any.ldb += 16;
    if (kn_choose_as_it_is(c, &any, &ring, NULL) != KILN_OK || kn_direct(p, &ring) ||
        !kn_line_ring(p, &ring) || kn_form_lacks(p, &ring)) {
        memset(&c->err, 0, sizeof c->err);
        c->crowded = crowded;
        return false;
    }
    *g = ring;
    return true;
}

kiln_status
kn_choose(struct kn_ctx *c, const kiln_problem *p, struct kn_config *g, struct kn_buf *why)
{
    if (may_ring(p, g) && !fills_largest(p) && choose_ring(c, p, g)) {
        if (why)
            kn_put(why, "6-bit rows that begin inside lines: through registers, by lines\n");
        return KILN_OK;
    }
    return kn_choose_as_it_is(c, p, g, why);
}

/* ---- after a refusal ---- */

bool
kn_choose_next(struct kn_ctx *c, const kiln_problem *p,
               const struct kn_config *given, struct kn_config *g)
{
    const kiln_error refusal = c->err;
    struct kn_refused *one = KN_NEW(c, struct kn_refused, 1);
    struct kn_config next = *given;

    if (!c->crowded || kn_was_refused(c, g))
        return false;
    *one = (struct kn_refused){ *g, kn_strdup(c, refusal.text), c->refused };
    c->refused = one;
    memset(&c->err, 0, sizeof c->err);
    if (!kn_choose(c, p, &next, NULL) && !kn_was_refused(c, &next)) {
        *g = next;
        return true;
    }
    if (c->err.status != KILN_UNSUPPORTED)
        c->err = refusal;
    c->crowded = true;
    return false;
}
