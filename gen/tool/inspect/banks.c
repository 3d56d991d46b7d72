/* banks.c - LDS bank conflicts from the bytes: the integer arithmetic of the
 * first wave, lane by lane, as far as it depends on the lane number. Where
 * paths meet, a register keeps what all of them agree on. */
#include <string.h>

#include "../../../runtime/sim/timing/timing_impl.h"
#include "inspect.h"

enum { LANES = 64, VGPRS = 256, SGPRS = 128 };

enum known { UNKNOWN, UP_TO_A_SUM, KNOWN }; /* SUM: the same for all lanes */

struct value {
    uint8_t known;
    uint32_t lane[LANES];
};

static const struct value unknown = { UNKNOWN, { 0 } };

/* What the registers hold somewhere; NULL: no path has come by. The lanes of
 * an SGPR are alike. */
struct registers {
    const struct value *v[VGPRS], *s[SGPRS];
};

struct wave {
    const struct kn_program *p;
    struct registers now;
    struct registers **in;   /* of each block, NULL: not reached */
    bool changed;
    struct kn_bank_facts *out;
    struct kn_ctx *c;
    size_t cap;
};

static struct value
read_operand(const struct wave *w, const struct kn_opnd *o)
{
    struct value x = unknown;

    if (o->neg || o->abs || o->sext || o->sel != 6)
        return x;
    if (o->kind == KN_O_VGPR && o->reg < VGPRS)
        return *w->now.v[o->reg];
    if (o->kind == KN_O_SGPR && o->reg < SGPRS) {
        x = *w->now.s[o->reg];
        if (!x.known && o->reg != 126 && o->reg != 127)
            x.known = UP_TO_A_SUM; /* zero plus what nobody knows */
    } else if (o->kind == KN_O_IMM && !o->is_float) {
        x.known = KNOWN;
        for (int l = 0; l < LANES; l++)
            x.lane[l] = (uint32_t)o->imm;
    }
    return x;
}

/* Operations on known lanes. MOV takes o[1] alone. */
enum fold { NONE, MOV, ADD, SUB, RSUB, AND, OR, XOR, SHL, SHR, RSHL, RSHR,
            MUL, FLUSH };

struct step {                /* what an opcode folds its sources with */
    uint16_t op;
    uint8_t first, second;   /* second: with the third source, or NONE */
};

static const struct step steps[] = {
    { KN_I_v_mov_b32, MOV, NONE }, { KN_I_s_mov_b32, MOV, NONE },
    { KN_I_v_add_u32, ADD, NONE }, { KN_I_s_add_i32, ADD, NONE },
    { KN_I_s_add_u32, ADD, NONE }, { KN_I_v_sub_u32, SUB, NONE },
    { KN_I_s_sub_i32, SUB, NONE }, { KN_I_v_subrev_u32, RSUB, NONE },
    { KN_I_v_and_b32, AND, NONE }, { KN_I_s_and_b32, AND, NONE },
    { KN_I_v_or_b32, OR, NONE }, { KN_I_s_or_b32, OR, NONE },
    { KN_I_v_xor_b32, XOR, NONE }, { KN_I_s_xor_b32, XOR, NONE },
    { KN_I_v_lshlrev_b32, RSHL, NONE }, { KN_I_s_lshl_b32, SHL, NONE },
    { KN_I_v_lshrrev_b32, RSHR, NONE }, { KN_I_s_lshr_b32, SHR, NONE },
    { KN_I_v_mul_lo_u32, MUL, NONE }, { KN_I_v_mul_u32_u24, MUL, NONE },
    { KN_I_s_mul_i32, MUL, NONE }, { KN_I_v_lshl_add_u32, SHL, ADD },
    { KN_I_v_lshl_or_b32, SHL, OR }, { KN_I_v_and_or_b32, AND, OR },
    { KN_I_v_or3_b32, OR, OR }, { KN_I_v_add3_u32, ADD, ADD },
    { KN_I_v_add_lshl_u32, ADD, SHL }, { KN_I_v_mad_u32_u24, MUL, ADD },
    { KN_I_v_xad_u32, XOR, ADD },
};

static uint32_t
fold_lane(enum fold f, uint32_t a, uint32_t b)
{
    switch (f) {
    case MOV: return a;
    case ADD: return a + b;
    case SUB: return a - b;
    case RSUB: return b - a;
    case AND: return a & b;
    case OR: return a | b;
    case XOR: return a ^ b;
    case SHL: return a << (b & 31);
    case SHR: return a >> (b & 31);
    case RSHL: return b << (a & 31);
    case RSHR: return b >> (a & 31);
    case MUL: return a * b;
    default: return 0;
    }
}

/* An unknown sum survives addition only. A value that is the same for all
 * lanes is a sum whatever is done to it with others of its kind. */
static uint8_t
fold_known(enum fold f, const struct value *a, const struct value *b)
{
    if (f == MOV || (a->known == KNOWN && b->known == KNOWN))
        return a->known;
    if (!a->known || !b->known)
        return UNKNOWN;
    if (f == ADD || (f == SUB && a->known) || f == RSUB)
        return UP_TO_A_SUM;
    for (int l = 1; l < LANES; l++)
        if (a->lane[l] != a->lane[0] || b->lane[l] != b->lane[0])
            return UNKNOWN;
    return UP_TO_A_SUM;
}

static struct value
fold_values(enum fold f, const struct value *a, const struct value *b)
{
    struct value r = { fold_known(f, a, b), { 0 } };

    for (int l = 0; r.known && l < LANES; l++)
        r.lane[l] = fold_lane(f, a->lane[l], b->lane[l]);
    return r;
}

static struct value
bit_field(const struct value *x, const struct value *at,
          const struct value *width)
{
    struct value r = { KNOWN, { 0 } };

    if (x->known != KNOWN || at->known != KNOWN || width->known != KNOWN)
        r.known = UNKNOWN;
    for (int l = 0; l < LANES; l++)
        r.lane[l] = x->lane[l] >> (at->lane[l] & 31) &
                    ((1u << (width->lane[l] & 31)) - 1);
    return r;
}

/* v_bitop3: bit 4a + 2b + c of the table for bits a, b, c. v_bfi is one. */
static struct value
bit_table(const struct value *a, const struct value *b, const struct value *c,
          uint8_t table)
{
    struct value r = { KNOWN, { 0 } };

    if (a->known != KNOWN || b->known != KNOWN || c->known != KNOWN)
        r.known = UNKNOWN;
    for (int l = 0; l < LANES; l++)
        for (int k = 0; k < 8; k++)
            if (table >> k & 1)
                r.lane[l] |= (k & 4 ? a->lane[l] : ~a->lane[l]) &
                             (k & 2 ? b->lane[l] : ~b->lane[l]) &
                             (k & 1 ? c->lane[l] : ~c->lane[l]);
    return r;
}

static const struct step *
find_step(uint16_t op)
{
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
        if (steps[k].op == op)
            return &steps[k];
    return NULL;
}

static struct value
result_of(const struct wave *w, const struct kn_inst *i)
{
    const struct step *k = find_step(i->op);
    struct value a = read_operand(w, &i->o[1]), none = { UNKNOWN, { 0 } };
    struct value b = i->nopnd > 2 ? read_operand(w, &i->o[2]) : none;
    struct value c = i->nopnd > 3 ? read_operand(w, &i->o[3]) : none;

    if (i->enc >= KN_E_DPP || i->clamp || i->omod || i->op_sel)
        return none;
    if (i->op == KN_I_v_readfirstlane_b32) {
        for (int l = 1; l < LANES; l++)
            a.lane[l] = a.lane[0];
        return a;
    }
    if (i->op == KN_I_v_bfe_u32)
        return bit_field(&a, &b, &c);
    if (i->op == KN_I_v_bfi_b32)
        return bit_table(&a, &b, &c, 0xca);
    if (i->op == KN_I_v_bitop3_b32)
        return bit_table(&a, &b, &c, i->bitop3);
    if (!k)
        return none;
    a = fold_values((enum fold)k->first, &a, &b);
    return k->second ? fold_values((enum fold)k->second, &a, &c) : a;
}

static void
write_results(struct wave *w, const struct kn_inst *i)
{
    const struct value *result = &unknown;
    struct value r, *kept;

    if (!i->ndst)
        return;
    if (i->ndst == 1 && i->nopnd > 1 && i->o[0].width == 1) {
        r = result_of(w, i);
        if (r.known) {
            kept = KN_NEW(w->c, struct value, 1);
            *kept = r;
            result = kept;
        }
    }
    for (int d = 0; d < i->ndst; d++)
        for (int k = 0; k < i->o[d].width; k++) {
            unsigned reg = i->o[d].reg + (unsigned)k;

            if (i->o[d].kind == KN_O_VGPR && reg < VGPRS)
                w->now.v[reg] = result;
            else if (i->o[d].kind == KN_O_SGPR && reg < SGPRS)
                w->now.s[reg] = result;
        }
}

/* ---- where paths meet --------------------------------------------------- */

/* What two values have in common; `a` itself if b says nothing against it. */
static const struct value *
join(struct wave *w, const struct value *a, const struct value *b)
{
    uint32_t apart = b->lane[0] - a->lane[0];
    struct value *sum;

    if (a == b || !a->known)
        return a;
    if (!b->known)
        return &unknown;
    for (int l = 1; l < LANES; l++)
        if (b->lane[l] - a->lane[l] != apart)
            return &unknown;
    if (a->known == UP_TO_A_SUM || (b->known == KNOWN && !apart))
        return a;
    sum = KN_NEW(w->c, struct value, 1);
    *sum = *a;
    sum->known = UP_TO_A_SUM;
    return sum;
}

static void
join_all(struct wave *w, const struct value **into,
         const struct value *const *from, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const struct value *r = join(w, into[k], from[k]);

        w->changed |= r != into[k];
        into[k] = r;
    }
}

static void
flow_to(struct wave *w, int32_t block)
{
    struct registers **in = &w->in[block < 0 ? 0 : block];

    if (block < 0)
        return;
    if (!*in) {
        *in = KN_NEW(w->c, struct registers, 1);
        **in = w->now;
        w->changed = true;
        return;
    }
    join_all(w, (*in)->v, w->now.v, VGPRS);
    join_all(w, (*in)->s, w->now.s, SGPRS);
}

/* A value only ever loses knowledge, so this ends. */
static void
settle(struct wave *w, const struct kn_cfg *g)
{
    do {
        w->changed = false;
        for (uint32_t b = 0; b < g->nblocks; b++) {
            if (!w->in[b])
                continue;
            w->now = *w->in[b];
            for (uint32_t i = g->blocks[b].first; i < g->blocks[b].end; i++)
                write_results(w, &w->p->inst[i]);
            flow_to(w, g->blocks[b].succ[0]);
            flow_to(w, g->blocks[b].succ[1]);
        }
    } while (w->changed);
}

static void
enter(struct wave *w)
{
    struct value *lanes = KN_NEW(w->c, struct value, 1);

    lanes->known = KNOWN;
    for (uint32_t l = 0; l < LANES; l++)
        lanes->lane[l] = l;
    for (int k = 0; k < VGPRS; k++)
        w->now.v[k] = &unknown;
    for (int k = 0; k < SGPRS; k++)
        w->now.s[k] = &unknown;
    w->now.v[0] = lanes;
}

/* ---- accesses ----------------------------------------------------------- */

static void
note_access(struct wave *w, uint32_t n)
{
    const struct kn_inst *i = &w->p->inst[n];
    const struct kn_isa_row *row = &kn_isa[i->op];
    struct kn_mem_opnds m = kn_mem_operands(i);
    struct kn_bank_facts *f = w->out;
    struct kn_sim_access a = { .mask = ~0ull, .bytes = row->bytes,
                               .write = row->store };
    struct value at;
    uint32_t *lanes, spread[LANES];

    if (row->mem != KN_M_DS || !row->bytes)
        return;
    at = m.addr >= 0 ? read_operand(w, &i->o[m.addr])
                     : (struct value){ UNKNOWN, { 0 } };
    if (!at.known) {
        f->undecided++;
        return;
    }
    lanes = KN_NEW(w->c, uint32_t, LANES);
    for (uint32_t l = 0; l < LANES; l++) {
        lanes[l] = at.lane[l] + (row->flags & KN_IF_TWO ? 0
                                                : (uint32_t)i->offset);
        spread[l] = l * row->bytes;
    }
    f->access = kn_grow(w->c, f->access, &w->cap, f->naccess + 1,
                        sizeof *f->access);
    a.lds = lanes;
    f->access[f->naccess] = (struct kn_bank_access){
        n, row->bytes, kn_time_lds_clocks(w->p->target, &a), 0, lanes };
    a.lds = spread;
    f->access[f->naccess++].best = kn_time_lds_clocks(w->p->target, &a);
}

kiln_status
kn_banks_find(struct kn_ctx *c, const struct kn_cfg *g,
              struct kn_bank_facts *out)
{
    struct wave *w = KN_NEW(c, struct wave, 1);

    memset(out, 0, sizeof *out);
    w->p = g->p;
    w->c = c;
    w->out = out;
    w->in = KN_NEW(c, struct registers *, g->nblocks + 1);
    if (!g->nblocks)
        return KILN_OK;
    enter(w);
    flow_to(w, (int32_t)g->block_of[g->p->entry]);
    settle(w, g);
    for (uint32_t b = 0; b < g->nblocks; b++) {
        if (!w->in[b])
            continue;
        w->now = *w->in[b];
        for (uint32_t i = g->blocks[b].first; i < g->blocks[b].end; i++) {
            note_access(w, i);
            write_results(w, &w->p->inst[i]);
        }
    }
    return KILN_OK;
}
