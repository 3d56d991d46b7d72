/* diff_align.c - keys of instructions and their longest common subsequence.
 *
 * The subsequence is the bit-parallel one (Hyyro, "Bit-parallel LCS-length
 * computation revisited", 2004), all rows kept for the way back. */
#include <stdlib.h>
#include <string.h>

#include "diff_impl.h"

static uint64_t
mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

int
kn_diff_register(const struct kn_opnd *o)
{
    switch (o->kind) {
    case KN_O_VGPR: return o->reg;
    case KN_O_AGPR: return KN_DIFF_AGPR + o->reg;
    case KN_O_SGPR: return KN_DIFF_SGPR + o->reg;
    default: return -1;
    }
}

/* M0, EXEC and what is no register are themselves. */
static uint64_t
operand_key(uint64_t h, const struct kn_opnd *o, bool soft)
{
    h = mix(h, o->kind | (uint64_t)o->neg << 8 | (uint64_t)o->abs << 9 |
               (uint64_t)o->sext << 10 | (uint64_t)o->sel << 11);
    if (!soft)
        h = mix(h, o->width);
    if (o->kind == KN_O_SPECIAL || (o->kind == KN_O_SGPR && o->reg >= 124))
        h = mix(h, o->reg);
    if (o->kind == KN_O_IMM && !soft)
        h = mix(h, (uint64_t)o->imm);
    return h;
}

static uint64_t
modifier_key(uint64_t h, const struct kn_inst *i)
{
    h = mix(h, (uint64_t)(uint32_t)i->offset | (uint64_t)i->offset1 << 32);
    h = mix(h, (uint64_t)i->sc0 | (uint64_t)i->sc1 << 1 |
               (uint64_t)i->nt << 2 | (uint64_t)i->gds << 3 |
               (uint64_t)i->tfe << 4 | (uint64_t)i->glc << 5 |
               (uint64_t)i->clamp << 6 | (uint64_t)i->omod << 7 |
               (uint64_t)i->fmt << 10 | (uint64_t)i->vm << 18 |
               (uint64_t)i->lgkm << 26 | (uint64_t)i->exp << 34 |
               (uint64_t)i->abid << 42 | (uint64_t)i->bitop3 << 50);
    h = mix(h, (uint64_t)i->op_sel | (uint64_t)i->op_sel_hi << 8 |
               (uint64_t)i->neg_lo << 16 | (uint64_t)i->neg_hi << 24 |
               (uint64_t)i->dpp_ctrl << 32 | (uint64_t)i->row_mask << 48);
    return mix(h, (uint64_t)i->bank_mask | (uint64_t)i->bound_ctrl << 8 |
                  (uint64_t)i->dst_sel << 16 | (uint64_t)i->dst_unused << 24);
}

/* Memory operations of any width are one family. */
static uint64_t
soft_op(const struct kn_inst *i)
{
    const struct kn_isa_row *r = &kn_isa[i->op];
    uint64_t flags = KN_IF_DMA | KN_IF_STORE | KN_IF_ATOMIC | KN_IF_TR |
                     KN_IF_FORMAT;

    if (r->mem == KN_M_NONE)
        return i->op;
    return mix(r->mem, (r->flags & flags) | i->lds);
}

uint64_t
kn_diff_key(const struct kn_inst *i, bool soft)
{
    uint64_t h = soft ? soft_op(i) : i->op;
    bool memory = kn_isa[i->op].mem != KN_M_NONE;

    if (i->op == KN_I_unknown)
        h = mix(h, i->raw[0] | (uint64_t)i->raw[1] << 32);
    h = mix(h, (uint64_t)i->enc >= KN_E_DPP ? i->enc : 0);
    h = mix(h, i->offen | (uint64_t)i->idxen << 1 | (uint64_t)i->lds << 2);
    h = mix(h, i->cbsz | (uint64_t)i->blgp << 8);
    if (soft && i->op == KN_I_s_waitcnt)
        return h;
    if (!soft)
        h = modifier_key(h, i);
    if (!(soft && memory))
        h = mix(h, i->nopnd);
    for (int k = 0; k < i->nopnd && !(soft && memory); k++)
        if (i->op != KN_I_s_waitcnt)
            h = operand_key(h, &i->o[k], soft);
    return h;
}

bool
kn_diff_anchor(const struct kn_inst *i)
{
    uint8_t u = kn_isa[i->op].unit;

    return u == KN_U_MFMA || u == KN_U_VMEM || u == KN_U_LDS ||
           u == KN_U_SMEM || i->op == KN_I_s_barrier;
}

bool
kn_diff_copy(const struct kn_inst *i)
{
    switch (i->op) {
    case KN_I_v_mov_b32:
    case KN_I_v_mov_b64:
    case KN_I_v_accvgpr_mov_b32:
    case KN_I_v_accvgpr_read_b32:
    case KN_I_v_accvgpr_write_b32:
    case KN_I_s_mov_b32:
    case KN_I_s_mov_b64:
        return i->enc < KN_E_DPP && i->nopnd == 2 &&
               kn_diff_register(&i->o[0]) >= 0 &&
               kn_diff_register(&i->o[1]) >= 0;
    default:
        return false;
    }
}

/* ---- the longest common subsequence ---- */

struct symbol {
    uint64_t key;
    uint32_t at;
};

static int
order_symbols(const void *x, const void *y)
{
    const struct symbol *a = x, *b = y;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

struct lcs {
    uint32_t n, m, words;
    struct symbol *sorted;   /* of b */
    uint64_t *row;           /* n rows of `words` */
    uint64_t *mask;
};

/* Positions of key in b as a bit mask. */
static void
set_mask(struct lcs *l, uint64_t key)
{
    uint32_t lo = 0, hi = l->m;

    memset(l->mask, 0, l->words * sizeof *l->mask);
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (l->sorted[mid].key < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < l->m && l->sorted[lo].key == key; lo++)
        l->mask[l->sorted[lo].at / 64] |= 1ull << l->sorted[lo].at % 64;
}

static void
fill_row(struct lcs *l, const uint64_t *before, uint64_t *now)
{
    uint64_t carry = 0;

    for (uint32_t w = 0; w < l->words; w++) {
        uint64_t v = before ? before[w] : ~0ull, u = v & l->mask[w];
        uint64_t sum = v + u, next = sum < v;

        next += sum + carry < sum;
        now[w] = (sum + carry) | (v - u);
        carry = next;
    }
}

static bool
bit(const struct lcs *l, uint32_t row, uint32_t col)
{
    return l->row[(size_t)row * l->words + col / 64] >> col % 64 & 1;
}

static void
walk_back(const struct lcs *l, int32_t *pair)
{
    uint32_t row = l->n, col = l->m;

    while (row && col) {
        if (bit(l, row - 1, col - 1)) {
            col--;
            continue;
        }
        row--;
        if (row && !bit(l, row - 1, col - 1))
            continue;
        pair[row] = (int32_t)--col;
    }
}

static kiln_status
middle(struct kn_ctx *c, const uint64_t *a, const uint64_t *b, struct lcs *l,
       int32_t *pair)
{
    if (!l->n || !l->m)
        return KILN_OK;
    if ((uint64_t)l->n * l->m >> 31)
        return kn_fail(c, KILN_UNSUPPORTED,
                       "two parts of %u and %u instructions are too large to "
                       "compare", l->n, l->m);
    l->words = (l->m + 63) / 64;
    l->sorted = KN_NEW(c, struct symbol, l->m);
    l->row = KN_NEW(c, uint64_t, (size_t)l->n * l->words);
    l->mask = KN_NEW(c, uint64_t, l->words);
    for (uint32_t j = 0; j < l->m; j++)
        l->sorted[j] = (struct symbol){ b[j], j };
    qsort(l->sorted, l->m, sizeof *l->sorted, order_symbols);
    for (uint32_t i = 0; i < l->n; i++) {
        uint64_t *now = l->row + (size_t)i * l->words;

        set_mask(l, a[i]);
        fill_row(l, i ? now - l->words : NULL, now);
    }
    walk_back(l, pair);
    return KILN_OK;
}

kiln_status
kn_diff_lcs(struct kn_ctx *c, struct kn_diff_keys a, struct kn_diff_keys b,
            int32_t *pair)
{
    struct lcs l = { 0 };
    uint32_t first = 0;

    for (uint32_t i = 0; i < a.n; i++)
        pair[i] = -1;
    while (first < a.n && first < b.n && a.key[first] == b.key[first]) {
        pair[first] = (int32_t)first;
        first++;
    }
    while (a.n > first && b.n > first && a.key[a.n - 1] == b.key[b.n - 1])
        pair[--a.n] = (int32_t)--b.n;
    l.n = a.n - first;
    l.m = b.n - first;
    KN_TRY(middle(c, a.key + first, b.key + first, &l, pair + first));
    for (uint32_t i = first; i < a.n; i++)
        if (pair[i] >= 0)
            pair[i] += (int32_t)first;
    return KILN_OK;
}
