/* diff_values.c - do paired instructions work on the same values?
 *
 * Values are numbered in address order: a register names the value of its
 * last definition above. Constants are equal everywhere, and an unpaired copy
 * passes its value on, so neither costs more than its own line. */
#include <stdlib.h>
#include <string.h>

#include "diff_impl.h"

#define VALUE_CONST 0x80000000u

enum { WINDOW = 96 };

struct matcher {
    struct kn_diff_side *a, *b;
    bool *fixed;             /* of b: its pair is settled */
    bool *bad;               /* of a: settled with other registers */
};

/* ---- numbering ---- */

static uint32_t
constant(const struct kn_inst *i, int part)
{
    int64_t v = i->o[1].imm;
    uint32_t bits = part ? (uint32_t)((uint64_t)v >> 32) : (uint32_t)v;

    return VALUE_CONST | ((bits * 2654435761u) >> 1);
}

static bool
sets_constant(const struct kn_inst *i)
{
    switch (i->op) {
    case KN_I_v_mov_b32:
    case KN_I_v_mov_b64:
    case KN_I_s_mov_b32:
    case KN_I_s_mov_b64:
    case KN_I_v_accvgpr_write_b32:
        return i->enc < KN_E_DPP && i->nopnd == 2 &&
               i->o[1].kind == KN_O_IMM;
    default:
        return false;
    }
}

static bool
is_source(const struct kn_inst *i, int k)
{
    return k >= i->ndst || i->rmw >> k & 1 ||
           kn_isa[i->op].flags & (KN_IF_PARTIAL | KN_IF_RMW);
}

static uint32_t
count_sources(const struct kn_inst *i)
{
    uint32_t n = 0;

    for (int k = 0; k < i->nopnd; k++)
        if (is_source(i, k) && kn_diff_register(&i->o[k]) >= 0)
            n += i->o[k].width ? i->o[k].width : 1u;
    return n;
}

static void
number_sources(const struct kn_inst *i, const uint32_t *now, uint32_t *out)
{
    for (int k = 0; k < i->nopnd; k++) {
        int r = kn_diff_register(&i->o[k]);

        if (!is_source(i, k) || r < 0)
            continue;
        for (int w = 0; w < (i->o[k].width ? i->o[k].width : 1); w++)
            *out++ = r + w < KN_DIFF_REGS ? now[r + w] : 0;
    }
}

static void
number_results(struct kn_diff_side *s, uint32_t n, uint32_t *now)
{
    const struct kn_inst *i = &s->p->inst[n];
    bool copy = s->pair[n] < 0 && kn_diff_copy(i);

    for (int k = 0; k < i->ndst; k++) {
        int r = kn_diff_register(&i->o[k]), w = 0;

        for (; r >= 0 && w < (i->o[k].width ? i->o[k].width : 1); w++) {
            uint32_t id = s->nvalues++;

            if (r + w >= KN_DIFF_REGS)
                continue;
            if (sets_constant(i))
                id = constant(i, w);
            else if (copy)
                id = s->value[s->src[n] + (uint32_t)w];
            now[r + w] = id;
        }
    }
}

/* What the hardware puts into registers before the first instruction: user
 * and system SGPRs, the work-item ids in v0 (LLVM AMDGPUUsage). */
static bool
is_preset(const struct kn_diff_side *s, uint32_t r)
{
    uint32_t rsrc2 = s->p->kernel->rsrc2;
    uint32_t n = (rsrc2 >> 1 & 31) + (rsrc2 & 1);

    for (int bit = 7; bit <= 10; bit++)
        n += rsrc2 >> bit & 1;
    return r == 0 || (r >= KN_DIFF_SGPR && r < KN_DIFF_SGPR + n) ||
           r >= KN_DIFF_SGPR + 124;
}

static void
number(struct kn_ctx *c, struct kn_diff_side *s)
{
    uint32_t now[KN_DIFF_REGS], total = 0;

    s->src = KN_NEW(c, uint32_t, s->p->n);
    s->nsrc = KN_NEW(c, uint32_t, s->p->n);
    s->dst = KN_NEW(c, uint32_t, s->p->n);
    for (uint32_t i = 0; i < s->p->n; i++) {
        s->src[i] = total;
        s->nsrc[i] = count_sources(&s->p->inst[i]);
        total += s->nsrc[i];
    }
    s->value = KN_NEW(c, uint32_t, total + 1);
    for (uint32_t r = 0; r < KN_DIFF_REGS; r++)
        now[r] = r;
    s->nvalues = KN_DIFF_REGS;
    for (uint32_t i = 0; i < s->p->n; i++) {
        number_sources(&s->p->inst[i], now, s->value + s->src[i]);
        s->dst[i] = s->nvalues;
        number_results(s, i, now);
    }
    s->map = KN_NEW(c, uint32_t, s->nvalues);
    for (uint32_t r = 0; r < KN_DIFF_REGS; r++)
        if (is_preset(s, r))
            s->map[r] = r + 1;
}

/* ---- pairing ---- */

/* 0: the values contradict; else 1 + how many are known to agree. */
static int
agree(const struct matcher *m, uint32_t i, uint32_t j)
{
    const uint32_t *x = m->a->value + m->a->src[i];
    const uint32_t *y = m->b->value + m->b->src[j];
    int known = 1;

    if (m->a->nsrc[i] != m->b->nsrc[j])
        return 0;
    for (uint32_t k = 0; k < m->a->nsrc[i]; k++) {
        bool constant = (x[k] | y[k]) & VALUE_CONST;

        if (constant ? x[k] != y[k] : m->a->map[x[k]] != 0
                ? m->a->map[x[k]] != y[k] + 1 : m->b->map[y[k]] != 0)
            return 0;
        known += constant || m->a->map[x[k]];
    }
    return known;
}

static void
bind(struct matcher *m, uint32_t x, uint32_t y)
{
    if ((x | y) & VALUE_CONST)
        return;
    m->a->map[x] = y + 1;
    m->b->map[y] = x + 1;
}

static void
settle(struct matcher *m, uint32_t i, uint32_t j)
{
    uint32_t end_a = i + 1 < m->a->p->n ? m->a->dst[i + 1] : m->a->nvalues;
    uint32_t end_b = j + 1 < m->b->p->n ? m->b->dst[j + 1] : m->b->nvalues;
    uint32_t n = end_a - m->a->dst[i];

    for (uint32_t k = 0; k < m->a->nsrc[i] && k < m->b->nsrc[j]; k++)
        bind(m, m->a->value[m->a->src[i] + k], m->b->value[m->b->src[j] + k]);
    if (end_b - m->b->dst[j] < n)
        n = end_b - m->b->dst[j];
    for (uint32_t k = 0; k < n; k++)
        bind(m, m->a->dst[i] + k, m->b->dst[j] + k);
    m->fixed[j] = true;
}

/* An instruction of b near `at` that i may as well be paired with. */
static int32_t
find_other(const struct matcher *m, uint32_t i, uint32_t at, bool loose)
{
    int32_t best = -1;
    int most = 0;

    for (uint32_t d = 0; d < 2 * WINDOW; d++) {
        uint32_t j = d & 1 ? at - (d + 1) / 2 : at + d / 2;
        int known;

        if (j >= m->b->p->n || m->fixed[j] || m->b->key[j] != m->a->key[i] ||
            m->b->region[j] != m->a->region[i] ||
            (loose && m->b->pair[j] >= 0))
            continue;
        known = agree(m, i, j);
        if (known > most && (known > 1 || !m->a->nsrc[i])) {
            most = known;
            best = (int32_t)j;
        }
    }
    return best;
}

static void
pair_with(struct matcher *m, uint32_t i, int32_t j)
{
    int32_t old_a = m->b->pair[j], old_b = m->a->pair[i];

    if (old_a >= 0)
        m->a->pair[old_a] = -1;
    if (old_b >= 0)
        m->b->pair[old_b] = -1;
    m->a->pair[i] = j;
    m->b->pair[j] = (int32_t)i;
    m->a->mono[i] = false;
    settle(m, i, (uint32_t)j);
}

static void
settle_one(struct matcher *m, uint32_t i, uint32_t *at)
{
    int32_t j = m->a->pair[i], other;

    if (j >= 0 && agree(m, i, (uint32_t)j)) {
        settle(m, i, (uint32_t)j);
        *at = (uint32_t)j + 1;
        return;
    }
    other = find_other(m, i, j >= 0 ? (uint32_t)j : *at, j < 0);
    if (other >= 0) {
        pair_with(m, i, other);
    } else if (j < 0) {
        m->bad[i] = m->a->nsrc[i] > 0;
    } else {
        m->bad[i] = true;
        settle(m, i, (uint32_t)j);
        *at = (uint32_t)j + 1;
    }
}

kiln_status
kn_diff_values(struct kn_ctx *c, struct kn_diff_side *a,
               struct kn_diff_side *b, bool *bad)
{
    struct matcher m = { a, b, KN_NEW(c, bool, b->p->n + 1), bad };
    uint32_t at = 0;

    number(c, a);
    number(c, b);
    for (uint32_t i = 0; i < a->p->n; i++)
        settle_one(&m, i, &at);
    return KILN_OK;
}

/* ---- the exact check of equal programs ---- */

enum { NEVER = 0xffff };     /* the register was not written yet */

struct flow {
    uint16_t *in;            /* per block: register of b + 1; 0: none */
    bool *seen;
    uint16_t now[KN_DIFF_REGS];
};

static bool
sources_match(const struct flow *f, const struct kn_inst *x,
              const struct kn_inst *y)
{
    for (int k = 0; k < x->nopnd; k++) {
        int r = kn_diff_register(&x->o[k]), s = kn_diff_register(&y->o[k]);

        if (!is_source(x, k) || r < 0)
            continue;
        for (int w = 0; w < (x->o[k].width ? x->o[k].width : 1); w++)
            if (r + w < KN_DIFF_REGS && f->now[r + w] != NEVER &&
                f->now[r + w] != s + w + 1)
                return false;
    }
    return true;
}

static void
define(struct flow *f, const struct kn_inst *x, const struct kn_inst *y)
{
    for (int k = 0; k < x->ndst; k++) {
        int r = kn_diff_register(&x->o[k]), s = kn_diff_register(&y->o[k]);

        for (int w = 0; r >= 0 && w < (x->o[k].width ? x->o[k].width : 1);
             w++) {
            for (int q = 0; q < KN_DIFF_REGS; q++)
                if (f->now[q] == s + w + 1)
                    f->now[q] = 0;
            if (r + w < KN_DIFF_REGS)
                f->now[r + w] = (uint16_t)(s + w + 1);
        }
    }
}

/* Joins `now` into a block's entry; true if that changed. */
static bool
join(struct flow *f, uint32_t block)
{
    uint16_t *in = f->in + (size_t)block * KN_DIFF_REGS;
    bool changed = !f->seen[block];

    if (changed) {
        memcpy(in, f->now, sizeof f->now);
        f->seen[block] = true;
        return true;
    }
    for (int r = 0; r < KN_DIFF_REGS; r++) {
        uint16_t v = in[r] == NEVER ? f->now[r] : f->now[r] == NEVER ? in[r]
                   : in[r] == f->now[r] ? in[r] : 0;

        changed |= v != in[r];
        in[r] = v;
    }
    return changed;
}

/* The block's effect on `now`; the first mismatch, or -1. */
static int32_t
run_block(struct flow *f, const struct kn_cfg *a, const struct kn_cfg *b,
          uint32_t block)
{
    const struct kn_block *k = &a->blocks[block];
    int32_t wrong = -1;

    memcpy(f->now, f->in + (size_t)block * KN_DIFF_REGS, sizeof f->now);
    for (uint32_t i = k->first; i < k->end; i++) {
        if (wrong < 0 && !sources_match(f, &a->p->inst[i], &b->p->inst[i]))
            wrong = (int32_t)i;
        define(f, &a->p->inst[i], &b->p->inst[i]);
    }
    return wrong;
}

int32_t
kn_diff_exact(struct kn_ctx *c, const struct kn_cfg *a, const struct kn_cfg *b)
{
    struct kn_diff_side side = { .p = a->p };
    struct flow *f = KN_NEW(c, struct flow, 1);
    bool again = true;
    int32_t wrong = -1;

    f->in = KN_NEW(c, uint16_t, (size_t)a->nblocks * KN_DIFF_REGS);
    f->seen = KN_NEW(c, bool, a->nblocks);
    for (uint32_t r = 0; r < KN_DIFF_REGS; r++)
        f->now[r] = is_preset(&side, r) ? (uint16_t)(r + 1) : NEVER;
    join(f, a->block_of[a->p->entry]);
    while (again) {
        again = false;
        for (uint32_t n = 0; n < a->nblocks; n++) {
            if (!f->seen[n])
                continue;
            run_block(f, a, b, n);
            for (int e = 0; e < 2; e++)
                if (a->blocks[n].succ[e] >= 0)
                    again |= join(f, (uint32_t)a->blocks[n].succ[e]);
        }
    }
    for (uint32_t n = 0; n < a->nblocks && wrong < 0; n++)
        if (f->seen[n])
            wrong = run_block(f, a, b, n);
    return wrong;
}
