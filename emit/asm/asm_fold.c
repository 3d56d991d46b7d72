/* asm_fold.c - operations that are part of the one behind them: a sum that begins
 * at zero, two integer operations that are one instruction. */
#include "asm_select.h"

/* The zero, or another value, that a matrix instruction adds to is its operand. */
static bool
is_start(const struct kn_fn *f, const struct kn_ins *i)
{
    const struct kn_const *k;

    if (i->op != KN_OP_mov || !kn_val(f, i->dst)->type.lane || kn_val(f, i->dst)->type.n < 4)
        return false;
    if (KN_REF_TAG(i->arg[0]) == KN_R_VAL)
        return kn_val(f, i->arg[0])->type.n == kn_val(f, i->dst)->type.n;
    k = &f->konst[KN_REF_INDEX(i->arg[0])];
    return KN_REF_TAG(i->arg[0]) == KN_R_CONST && (k->is_float ? k->f == 0 : !k->i);
}

static bool
mentions(const struct kn_ins *i, kn_ref v)
{
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        if (i->arg[a] == v)
            return true;
    return i->dst == v;
}

/* The next operation of the straight run that mentions what n makes, or NULL; NULL
 * too if it or one before it assigns what that is a copy of. */
static struct kn_ins *
next_mention(struct kn_fn *f, size_t n)
{
    for (size_t k = n + 1; k < f->nins; k++) {
        if (kn_op_info((enum kn_op)f->ins[k].op).kind == KN_CTL)
            return NULL;
        if (f->ins[k].dst && f->ins[k].dst == f->ins[n].arg[0])
            return NULL;
        if (mentions(&f->ins[k], f->ins[n].dst))
            return &f->ins[k];
    }
    return NULL;
}

static bool
begin_sum(struct kn_fn *f, size_t n)
{
    const struct kn_ins *i = &f->ins[n];
    struct kn_ins *sum = is_start(f, i) ? next_mention(f, n) : NULL;

    if (!sum || (sum->op != KN_OP_mfma && sum->op != KN_OP_mfmas) ||
        sum->dst != i->dst || sum->arg[2] != i->dst ||
        sum->arg[0] == i->dst || sum->arg[1] == i->dst)
        return false;
    sum->arg[2] = i->arg[0];
    return true;
}

void
kn_asm_begin_sums(struct kn_fn *f, uint32_t *from)
{
    size_t to = 0;

    for (size_t n = 0; n < f->nins; n++) {
        if (begin_sum(f, n))
            continue;
        f->ins[to] = f->ins[n];
        from[to++] = from[n];
    }
    f->nins = to;
}

/* ---- two operations in one instruction ---- */

static const struct pair {
    uint16_t first, then, isa;
} pairs[] = {
    { KN_OP_and, KN_OP_or, KN_I_v_and_or_b32 },
    { KN_OP_shl, KN_OP_or, KN_I_v_lshl_or_b32 },
    { KN_OP_or, KN_OP_or, KN_I_v_or3_b32 },
    { KN_OP_shl, KN_OP_add, KN_I_v_lshl_add_u32 },
    { KN_OP_add, KN_OP_add, KN_I_v_add3_u32 },
};

static const struct pair *
find_pair(uint16_t first, uint16_t then)
{
    for (size_t n = 0; n < sizeof pairs / sizeof *pairs; n++)
        if (pairs[n].first == first && pairs[n].then == then)
            return &pairs[n];
    return NULL;
}

/* One value of 32 bits a lane. */
static bool
is_dword(const struct select *s, kn_ref r)
{
    const struct kn_type *t = kn_asm_type(s, r);

    return t->lane && t->n == 1 && t->elem == KN_T_i32;
}

/* Operands that an instruction takes from a scalar register, where it has one
 * port. */
static int
scalars(const struct select *s, const struct kn_ins *i, kn_ref without)
{
    int n = 0;

    for (int a = 0; a < 2; a++) {
        kn_ref r = i->arg[a];
        int64_t k = KN_REF_TAG(r) == KN_R_CONST
                  ? s->f->konst[KN_REF_INDEX(r)].i : 0;

        n += r != without && (KN_REF_TAG(r) == KN_R_CONST
                                  ? k < -16 || k > 64
                                  : s->cls[KN_REF_INDEX(r)] != KN_ASM_V);
    }
    return n;
}

/* Whether operations between n and `to` leave what n reads as it is. */
static bool
stays(const struct kn_fn *f, size_t n, size_t to)
{
    for (size_t k = n + 1; k < to; k++) {
        const struct kn_ins *i = &f->ins[k];

        if (kn_op_info((enum kn_op)i->op).kind == KN_CTL ||
            (i->dst && (i->dst == f->ins[n].arg[0] || i->dst == f->ins[n].arg[1])))
            return false;
    }
    return true;
}

/* Operand r of operation n is made in it, by operation def. */
static bool
takes(struct select *s, size_t n, kn_ref r, const uint32_t *def)
{
    const struct kn_ins *i = &s->f->ins[n];
    uint32_t v = KN_REF_INDEX(r);
    size_t from = def[v];

    if (KN_REF_TAG(r) != KN_R_VAL || s->times[v] != 1 || s->uses[v] != 1 ||
        !is_dword(s, r) || s->whole[from] || from >= n ||
        !find_pair(s->f->ins[from].op, i->op) ||
        scalars(s, i, r) + scalars(s, &s->f->ins[from], 0) > 1 ||
        !stays(s->f, from, n))
        return false;
    s->part[from] = true;
    s->whole[n] = (uint32_t)from + 1;
    return true;
}

/* Limits of floats: the largest of a value and a constant, of which only this
 * operation asks for the smallest with another. */
static void
take_limits(struct select *s, size_t n)
{
    const struct kn_ins *i = &s->f->ins[n], *x = n ? i - 1 : i;
    const struct kn_const *k = s->f->konst;
    uint32_t v = KN_REF_INDEX(i->arg[0]);

    if (i->op != KN_OP_fmin || x->op != KN_OP_fmax || x->dst != i->arg[0] ||
        s->uses[v] != 1 || s->times[v] != 1 || s->cls[v] != KN_ASM_V ||
        x->dst == i->dst || KN_REF_TAG(x->arg[1]) != KN_R_CONST ||
        KN_REF_TAG(i->arg[1]) != KN_R_CONST ||
        kn_asm_type(s, i->dst)->elem != KN_T_f32 ||
        k[KN_REF_INDEX(x->arg[1])].f > k[KN_REF_INDEX(i->arg[1])].f)
        return;
    s->part[n - 1] = true;
    s->whole[n] = (uint32_t)n;
}

void
kn_asm_pair(struct select *s)
{
    uint32_t *def = KN_NEW(s->a->c, uint32_t, s->f->nval);

    s->part = KN_NEW(s->a->c, bool, s->f->nins);
    s->whole = KN_NEW(s->a->c, uint32_t, s->f->nins);
    for (uint32_t n = 0; n < s->f->nins; n++)
        if (s->f->ins[n].dst)
            def[KN_REF_INDEX(s->f->ins[n].dst)] = n;
    for (size_t n = 0; n < s->f->nins; n++) {
        const struct kn_ins *i = &s->f->ins[n];

        take_limits(s, n);
        if ((i->op == KN_OP_or || i->op == KN_OP_add) && is_dword(s, i->dst) &&
            !takes(s, n, i->arg[0], def))
            takes(s, n, i->arg[1], def);
    }
}

bool
kn_asm_is_part(const struct select *s)
{
    return s->part[s->at];
}

const struct kn_ins *
kn_asm_part_of(const struct select *s)
{
    return s->whole[s->at] ? &s->f->ins[s->whole[s->at] - 1] : NULL;
}

bool
kn_asm_in_pair(struct select *s)
{
    const struct kn_ins *i = s->i, *first = kn_asm_part_of(s);
    kn_ref other;
    struct kn_ins both;

    if (kn_asm_is_part(s) || !first)
        return kn_asm_is_part(s);
    other = i->arg[i->arg[0] == first->dst];
    both = *i;
    both.arg[0] = first->arg[0];
    both.arg[1] = first->arg[1];
    both.arg[2] = other;
    s->i = &both;
    kn_asm_valu(s, find_pair(first->op, i->op)->isa, (struct kn_asm_opnd[]){
        kn_asm_dst(s), kn_asm_arg(s, 0), kn_asm_arg(s, 1), kn_asm_arg(s, 2) }, 4);
    s->i = i;
    return true;
}
