/* asm_single.c - packed f32 operations as two single ones.
 *
 * Packed f32 waits for the end of a matrix run on its SIMD, whichever wave's
 * (timing.def, mfma_pk_gap); single operations issue beside the run. Of a
 * straight run with matrix instructions as many packed products become single as
 * find room there: factors of sums need no matrix result. */
#include "asm.h"

static const struct single {
    uint16_t packed, one;
} singles[] = {
    { KN_I_v_pk_mul_f32, KN_I_v_mul_f32 },
};

/* Single operations that issue beside the run of a matrix instruction. */
static size_t
room_beside(const struct kn_asm *a, const struct kn_asm_op *x)
{
    return kn_asm_cycles(a, x) / 4 - 1;
}

static const struct single *
single_of(const struct kn_asm_op *x)
{
    for (size_t k = 0; k < sizeof singles / sizeof *singles; k++)
        if (x->what == KN_ASM_INST && x->isa == singles[k].packed)
            return &singles[k];
    return NULL;
}

/* The first of its register's value, so that no other is in front of it; and its first
 * half writes nothing that the second reads. */
static bool
parts_well(const struct kn_asm_op *x)
{
    for (int k = 1; k < x->nopnd; k++)
        if (x->o[k].kind != KN_ASM_REG ||
            (x->o[k].v == x->o[0].v && (x->o[k].all || x->o[k].sub != x->o[0].sub)))
            return false;
    return x->o[0].fresh;
}

static struct kn_asm_op
half_of(const struct kn_asm_op *x, uint16_t isa, uint8_t half)
{
    struct kn_asm_op y = *x;

    y.isa = isa;
    y.mods = NULL;
    for (int k = 0; k < y.nopnd; k++) {
        y.o[k].n = 1;
        if (!y.o[k].all)
            y.o[k].sub = (uint8_t)(y.o[k].sub + half);
    }
    if (half)
        y.o[0].fresh = 0;
    return y;
}

/* A matrix instruction of the run multiplies what is read in it: the wave waits in it. */
static bool
waits_for_reads(const struct kn_asm *a, size_t from, size_t to)
{
    for (size_t n = from; n < to; n++)
        for (size_t k = n + 1; k < to && kn_isa[a->op[n].isa].unit == KN_U_LDS; k++)
            if (kn_asm_is_matrix(&a->op[k]) && kn_asm_depends(&a->op[n], &a->op[k]))
                return true;
    return false;
}

/* How many of the run's packed operations become single, and of how many. */
struct choice {
    size_t take, of;
};

static struct choice
choose(const struct kn_asm *a, size_t from, size_t to)
{
    size_t room = 0, others = 0;
    struct choice c = { 0, 0 };

    for (size_t n = from; n < to; n++) {
        const struct kn_asm_op *x = &a->op[n];

        if (kn_asm_is_matrix(x))
            room += room_beside(a, x);
        else if (single_of(x) && parts_well(x))
            c.of++;
        else if (kn_isa[x->isa].unit == KN_U_VALU &&
                 !(kn_isa[x->isa].flags & KN_IF_PK32))
            others++;
    }
    c.take = room > others ? (room - others) / 2 : 0;
    if (c.take > c.of)
        c.take = c.of;
    if (c.take && waits_for_reads(a, from, to))
        c.take = 0;
    return c;
}

/* Operations from .. to behind those in out[]; those taken evenly among all. */
static size_t
put_run(const struct kn_asm *a, size_t from, size_t to, struct kn_asm_op *out)
{
    struct choice c = choose(a, from, to);
    size_t at = 0, seen = 0;

    for (size_t n = from; n < to; n++) {
        const struct kn_asm_op *x = &a->op[n];
        const struct single *s = single_of(x);
        bool taken = false;

        if (s && parts_well(x)) {
            taken = (seen + 1) * c.take / c.of > seen * c.take / c.of;
            seen++;
        }
        if (taken)
            out[at++] = half_of(x, s->one, 0);
        out[at++] = taken ? half_of(x, s->one, 1) : *x;
    }
    return at;
}

void
kn_asm_part_packed(struct kn_asm *a)
{
    struct kn_asm_op *out = KN_NEW(a->c, struct kn_asm_op, 2 * a->nop);
    size_t from = 0, at = 0;

    for (size_t n = 0; n <= a->nop; n++) {
        if (n < a->nop && !kn_asm_is_edge(&a->op[n]))
            continue;
        at += put_run(a, from, n, out + at);
        if (n < a->nop)
            out[at++] = a->op[n];
        from = n + 1;
    }
    a->op = out;
    a->nop = at;
    a->capop = at;
}
