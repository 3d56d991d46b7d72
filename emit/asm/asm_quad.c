/* asm_quad.c - a buffer whose address and size advance stands where its
 * descriptor is.
 *
 * Select copies both to a descriptor for each use. Where an address is in no
 * descriptor but with its size, and nothing is written while one is used, all of
 * them are the same four registers: what remains is the upper half's mask, which
 * stays, since an address has 48 bits and sums of it are asked for no more. */
#include "asm.h"

/* Operations of a descriptor, one behind the other. */
enum { LOW, HIGH, SIZE, KIND, PARTS };

struct quads {
    struct kn_asm *a;
    uint32_t *mentions;      /* by register, all of them */
    int32_t *size;           /* by register of an address: its size's; -1 none */
    int32_t *address;        /* by register of a size: its address's; -1 none */
    bool *apart;             /* by register: not only in one descriptor */
    int32_t *quad;           /* by register: the descriptor's it is in; -1 none */
    bool *gone;              /* by operation */
};

static bool
is_reg(const struct kn_asm *a, const struct kn_asm_opnd *o, uint8_t n)
{
    return o->kind == KN_ASM_REG && a->reg[o->v].cls == KN_ASM_S &&
           a->reg[o->v].n == n && a->reg[o->v].at < 0;
}

static bool
is_descriptor(const struct kn_asm *a, size_t n)
{
    const struct kn_asm_op *x = &a->op[n];

    return n + PARTS <= a->nop && x[LOW].isa == KN_I_s_mov_b32 &&
           x[HIGH].isa == KN_I_s_and_b32 && x[SIZE].isa == KN_I_s_mov_b32 &&
           x[KIND].isa == KN_I_s_mov_b32 && is_reg(a, &x[LOW].o[0], 4) &&
           is_reg(a, &x[LOW].o[1], 2) && is_reg(a, &x[SIZE].o[1], 1) &&
           x[HIGH].o[0].v == x[LOW].o[0].v && x[HIGH].o[1].v == x[LOW].o[1].v &&
           x[SIZE].o[0].v == x[LOW].o[0].v && x[KIND].o[0].v == x[LOW].o[0].v &&
           x[KIND].o[1].kind == KN_ASM_IMM;
}

/* Whether the descriptor is read in its straight run alone, before its address
 * and size are written again. */
static bool
stays(const struct quads *q, size_t n)
{
    const struct kn_asm_op *d = &q->a->op[n];
    uint32_t left = q->mentions[d[LOW].o[0].v] - PARTS;
    bool over = false;

    for (size_t k = n + PARTS; left && k < q->a->nop; k++) {
        const struct kn_asm_op *x = &q->a->op[k];

        if (x->what == KN_ASM_AT || kn_isa[x->isa].unit == KN_U_BRANCH)
            return false;
        for (int m = x->nopnd; m-- > 0;) {
            if (x->o[m].kind != KN_ASM_REG)
                continue;
            if (x->o[m].v == d[LOW].o[0].v && (m < x->ndst || over))
                return false;
            left -= x->o[m].v == d[LOW].o[0].v;
            over |= m < x->ndst && (x->o[m].v == d[LOW].o[1].v ||
                                    x->o[m].v == d[SIZE].o[1].v);
        }
    }
    return !left;
}

static void
note(struct quads *q, size_t n)
{
    const struct kn_asm_op *x = &q->a->op[n];
    int32_t base = x[LOW].o[1].v, size = x[SIZE].o[1].v;

    if (!stays(q, n) || (q->size[base] >= 0 && q->size[base] != size) ||
        (q->address[size] >= 0 && q->address[size] != base)) {
        q->apart[base] = q->apart[size] = true;
        if (q->size[base] >= 0)
            q->apart[q->size[base]] = true;
        if (q->address[size] >= 0)
            q->apart[q->address[size]] = true;
    }
    q->size[base] = size;
    q->address[size] = base;
}

/* The registers of a descriptor become parts of one. */
static void
join(struct quads *q, size_t n)
{
    const struct kn_asm_op *x = &q->a->op[n];
    int32_t base = x[LOW].o[1].v, size = x[SIZE].o[1].v;
    struct kn_asm_reg quad = { KN_ASM_S, 4, 4, 0, 0, -1 };

    if (q->apart[base] || q->apart[size])
        return;
    if (q->quad[base] < 0) {
        q->a->reg = kn_grow(q->a->c, q->a->reg, &q->a->capreg, q->a->nreg + 1,
                            sizeof *q->a->reg);
        q->quad[base] = q->quad[size] = (int32_t)q->a->nreg;
        q->a->reg[q->a->nreg++] = quad;
    }
    q->quad[x[LOW].o[0].v] = q->quad[base];
    q->gone[n + LOW] = q->gone[n + SIZE] = true;
}

/* The first write begins the four where nothing jumps in front of it. */
static void
rename_all(struct quads *q, size_t old)
{
    struct kn_asm *a = q->a;
    bool *begun = KN_NEW(a->c, bool, a->nreg), labels = false;
    size_t to = 0;

    for (size_t n = 0; n < a->nop; n++) {
        struct kn_asm_op *x = &a->op[n];

        labels |= x->what == KN_ASM_AT;
        for (int k = x->nopnd; k-- > 0;) {
            int32_t v = x->o[k].v, quad;

            if (x->o[k].kind != KN_ASM_REG || (size_t)v >= old || q->quad[v] < 0)
                continue;
            quad = q->quad[v];
            x->o[k].sub = (uint8_t)(x->o[k].sub + (a->reg[v].n == 1 ? SIZE : 0));
            x->o[k].v = quad;
            x->o[k].fresh = k < x->ndst && !begun[quad] && !labels;
            begun[quad] = true;
        }
        if (!q->gone[n])
            a->op[to++] = *x;
    }
    a->nop = to;
}

void
kn_asm_quads(struct kn_asm *a)
{
    size_t old = a->nreg;
    struct quads q = { a, KN_NEW(a->c, uint32_t, old), KN_NEW(a->c, int32_t, old),
                       KN_NEW(a->c, int32_t, old), KN_NEW(a->c, bool, old),
                       KN_NEW(a->c, int32_t, old), KN_NEW(a->c, bool, a->nop) };

    for (size_t v = 0; v < old; v++)
        q.size[v] = q.address[v] = q.quad[v] = -1;
    for (size_t n = 0; n < a->nop; n++)
        for (int k = 0; k < a->op[n].nopnd; k++)
            if (a->op[n].o[k].kind == KN_ASM_REG)
                q.mentions[a->op[n].o[k].v]++;
    for (size_t n = 0; n < a->nop; n++)
        if (is_descriptor(a, n))
            note(&q, n);
    for (size_t n = 0; n < a->nop; n++)
        if (is_descriptor(a, n))
            join(&q, n);
    rename_all(&q, old);
}
