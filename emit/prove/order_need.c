/* order_need.c - which registers matter where: those that an LDS address, a
 * lane mask at an access or a branch is computed from later on. Everything
 * else is not followed. */
#include <string.h>

#include "order_impl.h"

uint8_t
kn_lds_kind(const struct kn_inst *i)
{
    const struct kn_isa_row *row = &kn_isa[i->op];

    if (i->lds || row->flags & KN_IF_DMA)
        return KN_ACC_DMA;
    if (row->mem != KN_M_DS || !row->bytes || row->flags & KN_IF_XLANE)
        return KN_ACC_NONE;
    return row->store || row->atomic ? KN_ACC_WRITE : KN_ACC_READ;
}

static void
add_operand(struct kn_set *s, const struct kn_opnd *o)
{
    for (unsigned k = 0; k < (o->width ? o->width : 1u); k++)
        if (kn_reg_of(o, k) < KN_NREG)
            kn_put_in(s, kn_reg_of(o, k));
}

static void
add_pair(struct kn_set *s, unsigned r)
{
    kn_put_in(s, r);
    kn_put_in(s, r + 1);
}

void
kn_reads_of(const struct kn_inst *i, struct kn_set *s)
{
    const struct kn_isa_row *row = &kn_isa[i->op];
    bool partial = row->flags & (KN_IF_RMW | KN_IF_PARTIAL) ||
                   (i->enc == KN_E_SDWA && i->dst_sel != 6);

    for (unsigned o = 0; o < i->nopnd; o++)
        if (o >= i->ndst || partial || i->rmw >> o & 1)
            add_operand(s, &i->o[o]);
    if (row->flags & KN_IF_RSCC || i->op == KN_I_s_cbranch_scc0 ||
        i->op == KN_I_s_cbranch_scc1)
        kn_put_in(s, KN_SCC);
    if (row->flags & KN_IF_RVCC || i->op == KN_I_s_cbranch_vccz ||
        i->op == KN_I_s_cbranch_vccnz)
        add_pair(s, KN_VCC);
    if (row->flags & KN_IF_REXEC || i->op == KN_I_s_cbranch_execz ||
        i->op == KN_I_s_cbranch_execnz ||
        (row->unit != KN_U_SALU && row->unit != KN_U_BRANCH &&
         row->unit != KN_U_SMEM && !(row->flags & KN_IF_NOEXEC)))
        add_pair(s, KN_EXEC);
    if (row->flags & KN_IF_RM0)
        kn_put_in(s, KN_M0);
}

void
kn_writes_of(const struct kn_inst *i, struct kn_set *s)
{
    const struct kn_isa_row *row = &kn_isa[i->op];

    for (unsigned o = 0; o < i->ndst; o++)
        add_operand(s, &i->o[o]);
    for (unsigned o = i->ndst; o < i->nopnd; o++)
        if (row->flags & KN_IF_PERMLANE)
            add_operand(s, &i->o[o]);
    if (row->flags & KN_IF_WSCC)
        kn_put_in(s, KN_SCC);
    if (row->flags & KN_IF_WEXEC)
        add_pair(s, KN_EXEC);
    if (row->flags & KN_IF_WM0)
        kn_put_in(s, KN_M0);
}

void
kn_address_of(const struct kn_inst *i, struct kn_set *s)
{
    struct kn_mem_opnds m = kn_mem_operands(i);

    if (kn_lds_kind(i) == KN_ACC_DMA)
        kn_put_in(s, KN_M0);
    else if (m.addr >= 0)
        add_operand(s, &i->o[m.addr]);
    add_pair(s, KN_EXEC);
}

/* ---- where all lanes are active, as far as can be said cheaply ----------- */

static bool
opens_exec(const struct kn_inst *i)
{
    return i->o[0].kind == KN_O_SGPR && i->o[0].reg == 126 &&
           ((i->op == KN_I_s_mov_b64 && i->o[1].kind == KN_O_IMM &&
             i->o[1].imm == -1) || i->op == KN_I_s_or_b64 ||
            i->op == KN_I_s_mov_b64);
}

static bool
writes_exec(const struct kn_inst *i)
{
    struct kn_set s = { { 0 } };

    kn_writes_of(i, &s);
    return kn_has(&s, KN_EXEC) || kn_has(&s, KN_EXEC + 1);
}

static bool
full_after(const struct kn_inst *i, bool full)
{
    return writes_exec(i) ? opens_exec(i) : full;
}

/* By block: 1 all lanes are active at its entry, 0 not, 2 not reached. */
static uint8_t *
find_full(struct kn_ctx *c, const struct kn_cfg *g)
{
    uint8_t *in = KN_NEW(c, uint8_t, g->nblocks + 1);
    bool changed = true;

    memset(in, 2, g->nblocks + 1);
    in[g->block_of[g->p->entry]] = 1;
    while (changed) {
        changed = false;
        for (uint32_t b = 0; b < g->nblocks; b++) {
            bool full = in[b] == 1;

            if (in[b] == 2)
                continue;
            for (uint32_t n = g->blocks[b].first; n < g->blocks[b].end; n++)
                full = full_after(&g->p->inst[n], full);
            for (int e = 0; e < 2; e++) {
                int32_t to = g->blocks[b].succ[e];

                if (to >= 0 && (in[to] == 2 || (in[to] == 1 && !full))) {
                    in[to] = full;
                    changed = true;
                }
            }
        }
    }
    return in;
}

/* ---- backwards ---------------------------------------------------------- */

struct needer {
    const struct kn_cfg *g;
    struct kn_needs *out;
    uint8_t *full;           /* by instruction: a vector result kills */
    struct kn_set now, address;
};

static bool
meets(const struct kn_set *a, const struct kn_set *b)
{
    for (unsigned k = 0; k < KN_SETW; k++)
        if (a->w[k] & b->w[k])
            return true;
    return false;
}

static void
add_set(struct kn_set *a, const struct kn_set *b)
{
    for (unsigned k = 0; k < KN_SETW; k++)
        a->w[k] |= b->w[k];
}

static void
cut_set(struct kn_set *a, const struct kn_set *b)
{
    for (unsigned k = 0; k < KN_SETW; k++)
        a->w[k] &= ~b->w[k];
}

static void
need_step(struct needer *x, uint32_t n)
{
    const struct kn_inst *i = &x->g->p->inst[n];
    const struct kn_isa_row *row = &kn_isa[i->op];
    struct kn_set writes = { { 0 } }, reads = { { 0 } };
    bool wanted, address;

    kn_writes_of(i, &writes);
    wanted = meets(&writes, &x->now);
    address = meets(&writes, &x->address);
    if (wanted && (x->full[n] || row->unit == KN_U_SALU ||
                   row->unit == KN_U_SMEM)) {
        cut_set(&x->now, &writes);
        cut_set(&x->address, &writes);
    }
    x->out->step[n] |= wanted;
    if (wanted || row->flags & KN_IF_BRANCH)
        kn_reads_of(i, &reads);
    add_set(&x->now, &reads);
    if (address)
        add_set(&x->address, &reads);
    if (kn_lds_kind(i)) {
        kn_address_of(i, &x->address);
        add_set(&x->now, &x->address);
    }
}

static bool
need_block(struct needer *x, uint32_t b)
{
    const struct kn_block *k = &x->g->blocks[b];
    struct kn_set *in = &x->out->in[b], *address = &x->out->address[b];
    bool changed;

    memset(&x->now, 0, sizeof x->now);
    memset(&x->address, 0, sizeof x->address);
    for (int e = 0; e < 2; e++)
        if (k->succ[e] >= 0) {
            add_set(&x->now, &x->out->in[k->succ[e]]);
            add_set(&x->address, &x->out->address[k->succ[e]]);
        }
    for (uint32_t n = k->end; n-- > k->first;)
        need_step(x, n);
    changed = memcmp(in, &x->now, sizeof *in) != 0 ||
              memcmp(address, &x->address, sizeof *address) != 0;
    *in = x->now;
    *address = x->address;
    return changed;
}

void
kn_needs_find(struct kn_ctx *c, const struct kn_cfg *g, struct kn_needs *out)
{
    uint8_t *in = find_full(c, g);
    struct needer x = { .g = g, .out = out };
    bool changed = true;

    x.full = KN_NEW(c, uint8_t, g->p->n + 1);
    for (uint32_t b = 0; b < g->nblocks; b++) {
        bool full = in[b] == 1;

        for (uint32_t n = g->blocks[b].first; n < g->blocks[b].end; n++) {
            x.full[n] = full;
            full = full_after(&g->p->inst[n], full);
        }
    }
    out->in = KN_NEW(c, struct kn_set, g->nblocks + 1);
    out->address = KN_NEW(c, struct kn_set, g->nblocks + 1);
    out->step = KN_NEW(c, uint8_t, g->p->n + 1);
    while (changed) {
        changed = false;
        for (uint32_t b = g->nblocks; b-- > 0;)
            changed |= need_block(&x, b);
    }
}
