/* order_region.c - what lies between a branch and the block where its ways
 * meet again. */
#include <string.h>

#include "order_impl.h"

/* ---- blocks on every way to the end -------------------------------------- */

static bool
in_row(const uint64_t *row, uint32_t b)
{
    return row[b / 64] >> b % 64 & 1;
}

static bool
meet_rows(struct kn_regions *x, uint32_t b, uint64_t *row, uint32_t words)
{
    const struct kn_block *k = &x->g->blocks[b];
    bool changed, first = true;

    memset(row, 0, words * sizeof *row);
    for (int e = 0; e < 2; e++) {
        if (k->succ[e] < 0)
            continue;
        for (uint32_t w = 0; w < words; w++)
            row[w] = first ? x->pdom[k->succ[e]][w]
                           : row[w] & x->pdom[k->succ[e]][w];
        first = false;
    }
    row[b / 64] |= 1ull << b % 64;
    changed = memcmp(row, x->pdom[b], words * sizeof *row) != 0;
    memcpy(x->pdom[b], row, words * sizeof *row);
    return changed;
}

static void
find_pdoms(struct kn_regions *x)
{
    uint32_t n = x->g->nblocks, words = (n + 63) / 64;
    uint64_t *row = KN_NEW(x->c, uint64_t, words);
    bool changed = true;

    x->pdom = KN_NEW(x->c, uint64_t *, n);
    for (uint32_t b = 0; b < n; b++) {
        x->pdom[b] = KN_NEW(x->c, uint64_t, words);
        memset(x->pdom[b], 0xff, words * sizeof *row);
    }
    while (changed) {
        changed = false;
        for (uint32_t b = n; b-- > 0;)
            if (x->g->blocks[b].reached)
                changed |= meet_rows(x, b, row, words);
    }
}

static uint32_t
row_size(const struct kn_regions *x, uint32_t b)
{
    uint32_t n = 0;

    for (uint32_t w = 0; w < (x->g->nblocks + 63) / 64; w++)
        n += (uint32_t)__builtin_popcountll(x->pdom[b][w]);
    return n;
}

/* The first block that every way from b's end comes through; -1: none. */
int32_t
kn_join_of(struct kn_regions *x, uint32_t b)
{
    uint32_t size;

    if (!x->pdom)
        find_pdoms(x);
    size = row_size(x, b);
    for (uint32_t k = 0; k < x->g->nblocks; k++)
        if (k != b && in_row(x->pdom[b], k) && row_size(x, k) == size - 1)
            return (int32_t)k;
    return -1;
}

/* ---- what lies between a branch and its join ----------------------------- */

uint8_t *
kn_reach(struct kn_regions *x, int32_t from, int32_t join)
{
    uint8_t *mark = KN_NEW(x->c, uint8_t, x->g->nblocks + 1);
    uint32_t *stack = KN_NEW(x->c, uint32_t, x->g->nblocks + 1), top = 0;

    if (from < 0 || from == join)
        return mark;
    mark[from] = 1;
    stack[top++] = (uint32_t)from;
    while (top) {
        const struct kn_block *k = &x->g->blocks[stack[--top]];

        for (int e = 0; e < 2; e++)
            if (k->succ[e] >= 0 && k->succ[e] != join && !mark[k->succ[e]]) {
                mark[k->succ[e]] = 1;
                stack[top++] = (uint32_t)k->succ[e];
            }
    }
    return mark;
}

bool
kn_block_has(const struct kn_regions *x, uint32_t b, bool barrier)
{
    for (uint32_t n = x->g->blocks[b].first; n < x->g->blocks[b].end; n++) {
        const struct kn_inst *i = &x->g->p->inst[n];

        if (barrier ? i->op == KN_I_s_barrier : kn_lds_kind(i) != 0)
            return true;
    }
    return false;
}

void
kn_add_written(struct kn_regions *x, const uint8_t *mark, struct kn_set *s)
{
    for (uint32_t b = 0; b < x->g->nblocks; b++)
        for (uint32_t i = x->g->blocks[b].first;
             mark[b] && i < x->g->blocks[b].end; i++)
            kn_writes_of(&x->g->p->inst[i], s);
}

bool
kn_touches(struct kn_regions *x, const uint8_t *mark, bool barrier)
{
    for (uint32_t b = 0; b < x->g->nblocks; b++)
        if (mark[b] && kn_block_has(x, b, barrier))
            return true;
    return false;
}
