/* proof_number.c - the values that the range proof looks at: those that an
 * offset, a record count, the base of a resource or a condition depends on.
 * Data is none of them and is most of a program. */
#include "proof.h"

struct numbers {
    const struct kn_fn *f;
    struct proof_numbers *out;
    uint32_t *list;          /* instructions that may matter */
    size_t n;
};

static bool
is_structure(const struct kn_ins *i)
{
    return kn_op_kind((enum kn_op)i->op) == KN_CTL;
}

/* The operands that are checked or a condition, a bit each. */
static unsigned
asked(enum kn_op op)
{
    switch (op) {
    case KN_OP_break: case KN_OP_if:
        return 1;
    case KN_OP_ldg: case KN_OP_stg: case KN_OP_atom: case KN_OP_atmax:
    case KN_OP_arrive:
        return 2;
    case KN_OP_rsrc: case KN_OP_ldu:
        return 3;
    case KN_OP_dma:
        return 8;
    default:
        return 0;
    }
}

/* The proof counts what they guard. */
static bool
is_clamp(enum kn_op op)
{
    return op == KN_OP_smin || op == KN_OP_smax || op == KN_OP_umin ||
           op == KN_OP_umax;
}

static bool
has_place(const struct numbers *x, kn_ref r)
{
    return proof_is_value(r) && x->out->place[KN_REF_INDEX(r)];
}

/* Arithmetic has at most three operands; of vectors nothing is known. */
static unsigned
needed(const struct numbers *x, const struct kn_ins *i)
{
    bool number = i->dst && has_place(x, i->dst) &&
                  kn_val(x->f, i->dst)->type.n == 1;

    return asked((enum kn_op)i->op) | (number ? 7 : 0);
}

static void
give_place(struct numbers *x, kn_ref r)
{
    if (proof_is_value(r) && !has_place(x, r))
        x->out->place[KN_REF_INDEX(r)] = x->out->nplace++;
}

static void
find_list(struct numbers *x)
{
    const struct kn_fn *f = x->f;

    x->list = KN_NEW(f->c, uint32_t, f->nins + 1);
    for (size_t n = 0; n < f->nins; n++) {
        const struct kn_ins *i = &f->ins[n];

        if (asked((enum kn_op)i->op) || is_structure(i) ||
            (i->dst && kn_val(f, i->dst)->type.n == 1))
            x->list[x->n++] = (uint32_t)n;
    }
}

static void
find_places(struct numbers *x)
{
    uint32_t before;

    do {
        before = x->out->nplace;
        for (size_t k = x->n; k-- > 0;) {
            const struct kn_ins *i = &x->f->ins[x->list[k]];

            if (is_clamp((enum kn_op)i->op))
                give_place(x, i->dst);
            for (unsigned a = 0, set = needed(x, i); set >> a; a++)
                if (set >> a & 1)
                    give_place(x, i->arg[a]);
        }
    } while (x->out->nplace > before);
}

/* A value that is set once and used only behind that, with no structure in
 * between, need not be joined or copied. What is compared is limited at the
 * branch. */
static bool *
find_kept(const struct numbers *x)
{
    const struct kn_fn *f = x->f;
    uint32_t *block = KN_NEW(f->c, uint32_t, f->nval), now = 1;
    bool *kept = KN_NEW(f->c, bool, f->nval);

    for (size_t k = 0; k < x->n; k++) {
        const struct kn_ins *i = &f->ins[x->list[k]];
        bool compared = i->op == KN_OP_slt || i->op == KN_OP_sge ||
                        i->op == KN_OP_ult;

        for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
            if (has_place(x, i->arg[a]) &&
                (compared || block[KN_REF_INDEX(i->arg[a])] != now))
                kept[KN_REF_INDEX(i->arg[a])] = true;
        if (i->dst) {
            kept[KN_REF_INDEX(i->dst)] |= block[KN_REF_INDEX(i->dst)] != 0;
            block[KN_REF_INDEX(i->dst)] = now;
        }
        now += is_structure(i);
    }
    return kept;
}

/* Those that are kept first. */
static void
number_again(struct numbers *x)
{
    const bool *kept = find_kept(x);
    uint32_t *place = x->out->place;

    x->out->nplace = 1;
    for (int round = 0; round < 2; round++) {
        for (size_t v = 1; v < x->f->nval; v++)
            if (place[v] && kept[v] == !round)
                place[v] = x->out->nplace++;
        if (!round)
            x->out->nkept = x->out->nplace;
    }
}

static void
find_next(struct numbers *x)
{
    uint32_t at = 0, *next;

    next = x->out->next = KN_NEW(x->f->c, uint32_t, x->f->nins + 1);
    for (size_t k = 0; k < x->n; k++) {
        const struct kn_ins *i = &x->f->ins[x->list[k]];

        if (asked((enum kn_op)i->op) || is_structure(i) || has_place(x, i->dst))
            while (at <= x->list[k])
                next[at++] = x->list[k];
    }
    while (at <= x->f->nins)
        next[at++] = (uint32_t)x->f->nins;
}

void
proof_numbers(const struct proof *p, struct proof_numbers *out)
{
    struct numbers x = { .f = p->f, .out = out };

    *out = (struct proof_numbers){ .nplace = 1 };
    out->place = KN_NEW(p->c, uint32_t, p->f->nval);
    find_list(&x);
    find_places(&x);
    number_again(&x);
    find_next(&x);
}
