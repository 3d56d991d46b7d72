/* asm_tidy.c - common values once, invariant values outside every loop.
 *
 * A value that is assigned once from such values, constants and arguments is
 * the same wherever it is computed: it is computed at its first mention, in
 * front of the outermost loop or branch around it, but for the walk over tiles
 * of a persistent kernel: what its tiles have in common would occupy registers
 * all through each of them. Other values are shared
 * within a straight run, while what they are made of is not assigned. */
#include "asm.h"

#include <string.h>

struct known {               /* a computed value */
    struct kn_ins key;       /* what computes it */
    uint32_t run;            /* straight run it holds in; 0: everywhere */
    uint32_t tile;           /* pass of the walk it holds in */
    uint32_t version[KN_MAXARG];
};

struct list {
    struct kn_ins *ins;
    uint32_t *from;
    size_t n, cap, capfrom;
};

struct tidy {
    struct kn_ctx *c;
    const struct kn_fn *f;
    struct kn_fn *out;
    uint8_t *times;          /* by value: assignments, at most 2 */
    bool *stable;
    kn_ref *alias;
    uint32_t *version;
    const struct kn_ins **def;       /* of a stable value */
    struct list top, inner;          /* inner: of the open outermost block */
    uint32_t depth, run;
    uint32_t tile;           /* changes where a walk over tiles begins or ends */
    struct known *known;
    size_t nknown, capknown;
    uint32_t *table;         /* hash table: 1 + what is known, or 0 */
    size_t size;
};

static void
append(struct tidy *t, struct list *l, const struct kn_ins *i, uint32_t from)
{
    l->ins = kn_grow(t->c, l->ins, &l->cap, l->n + 1, sizeof *l->ins);
    l->from = kn_grow(t->c, l->from, &l->capfrom, l->n + 1, sizeof *l->from);
    l->ins[l->n] = *i;
    l->from[l->n++] = from;
}

static bool
is_stable(const struct tidy *t, kn_ref r)
{
    return KN_REF_TAG(r) != KN_R_VAL || t->stable[KN_REF_INDEX(r)];
}

static bool
all_stable(const struct tidy *t, const struct kn_ins *i)
{
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        if (!is_stable(t, i->arg[a]))
            return false;
    return true;
}

static bool
is_once(const struct tidy *t, kn_ref dst)
{
    return dst && t->times[KN_REF_INDEX(dst)] == 1;
}

static const struct kn_const *
constant(const struct tidy *t, kn_ref r)
{
    return KN_REF_TAG(r) == KN_R_CONST ? &t->out->konst[KN_REF_INDEX(r)] : NULL;
}

/* Whether the first operand is a value that is by lane where the result is. */
static bool
same_kind(const struct tidy *t, const struct kn_ins *i)
{
    return KN_REF_TAG(i->arg[0]) == KN_R_VAL &&
           kn_val(t->out, i->arg[0])->type.lane ==
           kn_val(t->out, i->dst)->type.lane;
}

/* Operations that are their operand under another name. */
static bool
is_copy(const struct tidy *t, const struct kn_ins *i)
{
    const struct kn_const *k;

    switch (i->op) {
    case KN_OP_mov:
        return constant(t, i->arg[0]) == NULL;
    case KN_OP_assume:
        return true;
    case KN_OP_uniform:
        return KN_REF_TAG(i->arg[0]) == KN_R_VAL &&
               !kn_val(t->out, i->arg[0])->type.lane;
    case KN_OP_padd:
    case KN_OP_add:
    case KN_OP_sub:
    case KN_OP_shl:
    case KN_OP_shr:
        k = constant(t, i->arg[1]);
        return k && !k->is_float && !k->i && same_kind(t, i);
    case KN_OP_mul:
    case KN_OP_udiv:
        k = constant(t, i->arg[1]);
        return k && !k->is_float && k->i == 1 && same_kind(t, i);
    default:
        return false;
    }
}

static size_t
hash(const struct kn_ins *i, struct kn_type t)
{
    uint64_t h = i->op * 0x9e3779b97f4a7c15u + t.elem * 31u + t.n * 7u + t.lane;

    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        h = (h ^ i->arg[a]) * 0x100000001b3u;
    for (int a = 0; a < KN_NATTR; a++)
        h = (h ^ (uint32_t)i->attr[a]) * 0x100000001b3u;
    return (size_t)(h ^ h >> 29);
}

static bool
same_value(const struct tidy *t, const struct kn_ins *i,
           const struct known *e)
{
    const struct kn_ins *k = &e->key;

    if (k->op != i->op || memcmp(k->arg, i->arg, sizeof i->arg) ||
        memcmp(k->attr, i->attr, sizeof i->attr) ||
        memcmp(&kn_val(t->out, k->dst)->type, &kn_val(t->out, i->dst)->type,
               sizeof(struct kn_type)) ||
        (e->run && e->run != t->run) || e->tile != t->tile)
        return false;
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        if (KN_REF_TAG(i->arg[a]) == KN_R_VAL &&
            t->version[KN_REF_INDEX(i->arg[a])] != e->version[a])
            return false;
    return true;
}

/* The value computed before, or 0 after noting this one. */
static kn_ref
look_up(struct tidy *t, const struct kn_ins *i, bool everywhere)
{
    size_t row = hash(i, kn_val(t->out, i->dst)->type) & (t->size - 1);
    struct known *e;

    for (; t->table[row]; row = (row + 1) & (t->size - 1))
        if (same_value(t, i, &t->known[t->table[row] - 1]))
            return t->known[t->table[row] - 1].key.dst;
    t->known = kn_grow(t->c, t->known, &t->capknown, t->nknown + 1,
                       sizeof *t->known);
    e = &t->known[t->nknown++];
    t->table[row] = (uint32_t)t->nknown;
    e->key = *i;
    e->run = everywhere ? 0 : t->run;
    e->tile = t->tile;
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
        if (KN_REF_TAG(i->arg[a]) == KN_R_VAL)
            e->version[a] = t->version[KN_REF_INDEX(i->arg[a])];
    return 0;
}

/* A positive constant added to an LDS address goes into the operation. */
static void
fold_address(struct tidy *t, struct kn_ins *i)
{
    int a = i->op == KN_OP_dma || i->op == KN_OP_lds_ld ||
            i->op == KN_OP_lds_st ? 1 : 0;
    const struct kn_ins *d;
    const struct kn_const *k;

    if (!a || KN_REF_TAG(i->arg[a]) != KN_R_VAL)
        return;
    d = t->def[KN_REF_INDEX(i->arg[a])];
    if (!d || d->op != KN_OP_add || KN_REF_TAG(d->arg[0]) != KN_R_VAL)
        return;
    k = constant(t, d->arg[1]);
    if (!k || k->i <= 0 || kn_val(t->out, d->arg[0])->type.lane !=
                           kn_val(t->out, i->arg[a])->type.lane)
        return;
    i->attr[KN_A_offset] += (int32_t)k->i;
    i->arg[a] = d->arg[0];
}

static void place_stable(struct tidy *t, const struct kn_ins *given,
                         uint32_t from);

/* The sum where it is wanted, or an earlier one of this straight run. */
static kn_ref
place_here(struct tidy *t, const struct kn_ins *add, uint32_t from)
{
    kn_ref same = look_up(t, add, false);

    if (!same)
        append(t, t->depth ? &t->inner : &t->top, add, from);
    return same ? same : add->dst;
}

/* What the offset field of an LDS instruction cannot hold is added to the
 * address, outside loops if the address is from there. */
static void
bring_near(struct tidy *t, struct kn_ins *i, uint32_t from)
{
    uint32_t all, high;
    struct kn_ins add = { .op = KN_OP_add, .at = i->at };

    if ((i->op != KN_OP_lds_ld && i->op != KN_OP_lds_st) ||
        KN_REF_TAG(i->arg[1]) != KN_R_VAL)
        return;
    all = kn_asm_slot(t->f, i->arg[0]) + (uint32_t)i->attr[KN_A_offset];
    high = all & ~0xffffu;
    if (!high)
        return;
    kn_default_attrs(&add);
    add.dst = kn_new_val(t->out, "far", kn_val(t->out, i->arg[1])->type);
    add.arg[0] = i->arg[1];
    add.arg[1] = kn_int(t->out, high);
    if (!is_stable(t, i->arg[1])) {
        i->arg[1] = place_here(t, &add, from);
    } else {
        place_stable(t, &add, from);
        i->arg[1] = t->alias[KN_REF_INDEX(add.dst)]
                  ? t->alias[KN_REF_INDEX(add.dst)] : add.dst;
    }
    i->attr[KN_A_offset] -= (int32_t)high;
}

static const struct kn_ins *
definition(const struct tidy *t, kn_ref r)
{
    return KN_REF_TAG(r) == KN_R_VAL ? t->def[KN_REF_INDEX(r)] : NULL;
}

/* A load in a loop adds the uniform part of its offset itself: rows of a K-outer
 * operand differ by multiples of the pitch, and would take a register each. */
static void
add_near(struct tidy *t, struct kn_ins *i, uint32_t from)
{
    const struct kn_ins *d = i->op == KN_OP_ldg && t->depth
                           ? definition(t, i->arg[1]) : NULL;
    struct kn_ins add;

    if (!d || d->op != KN_OP_add || KN_REF_TAG(d->arg[0]) != KN_R_VAL ||
        KN_REF_TAG(d->arg[1]) != KN_R_VAL ||
        kn_val(t->out, d->arg[0])->type.lane ==
        kn_val(t->out, d->arg[1])->type.lane)
        return;
    add = *d;
    add.dst = kn_new_val(t->out, "near", kn_val(t->out, d->dst)->type);
    append(t, &t->inner, &add, from);
    i->arg[1] = add.dst;
}

static bool
is_pure(const struct kn_ins *i)
{
    return i->dst && i->op != KN_OP_mfma && i->op != KN_OP_mfmas &&
           kn_op_info((enum kn_op)i->op).kind == KN_ALU;
}

/* x + c of lanes, of which the constant can be told apart. */
static const struct kn_ins *
offset_sum(const struct tidy *t, kn_ref r)
{
    const struct kn_ins *d = definition(t, r);

    return d && d->op == KN_OP_add && constant(t, d->arg[1]) &&
           KN_REF_TAG(d->arg[0]) == KN_R_VAL &&
           kn_val(t->out, d->dst)->type.elem == KN_T_i32 &&
           kn_val(t->out, d->dst)->type.lane ? d : NULL;
}

/* A value made of `like` with other operation and operands. */
static kn_ref
place_value(struct tidy *t, const struct kn_ins *like, enum kn_op op,
            const kn_ref arg[2], uint32_t from)
{
    struct kn_ins x = *like;
    struct kn_type type = kn_val(t->out, like->dst)->type;
    kn_ref same;

    x.op = (uint16_t)op;
    x.arg[0] = arg[0];
    x.arg[1] = arg[1];
    type.lane = false;
    for (int a = 0; a < 2; a++)
        type.lane |= KN_REF_TAG(arg[a]) == KN_R_VAL &&
                     kn_val(t->out, arg[a])->type.lane;
    x.dst = kn_new_val(t->out, "part", type);
    place_stable(t, &x, from);
    same = t->alias[KN_REF_INDEX(x.dst)];
    return same ? same : x.dst;
}

/* No thread's number or what is made of it is larger; UINT32_MAX: unknown. */
static uint64_t
most_of(const struct tidy *t, kn_ref r)
{
    const struct kn_const *k = constant(t, r);
    const struct kn_ins *d = definition(t, r);
    uint64_t x, y;

    if (k)
        return k->is_float || k->i < 0 || k->i > INT32_MAX ? UINT32_MAX
                                                           : (uint64_t)k->i;
    if (!d || d->op == KN_OP_lane || d->op == KN_OP_wave)
        return !d ? UINT32_MAX : d->op == KN_OP_lane ? 63 : 15;
    if (d->op != KN_OP_add && d->op != KN_OP_shl && d->op != KN_OP_shr &&
        d->op != KN_OP_and)
        return UINT32_MAX;
    x = most_of(t, d->arg[0]);
    y = most_of(t, d->arg[1]);
    if (d->op == KN_OP_and)
        return x < y ? x : y;
    if (x >= UINT32_MAX || y >= UINT32_MAX || (d->op != KN_OP_add && y > 31))
        return UINT32_MAX;
    x = d->op == KN_OP_add ? x + y : d->op == KN_OP_shl ? x << y
      : constant(t, d->arg[1]) ? x >> y : x;
    return x < UINT32_MAX ? x : UINT32_MAX;
}

/* (x + c) * y, of which d is the sum, as x * y and c times y. */
static void
multiply_out(struct tidy *t, struct kn_ins *i, const struct kn_ins *d,
             uint32_t from)
{
    kn_ref far = place_value(t, i, KN_OP_mul,
                             (kn_ref[]){ i->arg[1], d->arg[1] }, from);

    i->arg[0] = place_value(t, i, KN_OP_mul,
                            (kn_ref[]){ d->arg[0], i->arg[1] }, from);
    i->arg[1] = far;
    i->op = KN_OP_add;
}

/* (x + c) & m, (x + c) >> n and (x + c) * y without c where it has no part in
 * the result, or with it outside. */
static void
split_offset(struct tidy *t, struct kn_ins *i, uint32_t from)
{
    const struct kn_ins *d = offset_sum(t, i->arg[0]);
    const struct kn_const *k = d ? constant(t, i->arg[1]) : NULL;
    int64_t c = d ? constant(t, d->arg[1])->i : 0;

    if (!d || kn_val(t->out, i->dst)->type.elem != KN_T_i32)
        return;
    if (i->op == KN_OP_and && k && !(k->i & (k->i + 1)) && !(c & k->i))
        i->arg[0] = d->arg[0];
    if (i->op == KN_OP_shr && k && k->i >= 0 && k->i < 31 && c > 0 &&
        !(c & ((1 << k->i) - 1)) &&
        most_of(t, d->arg[0]) + (uint64_t)c <= INT32_MAX) {
        i->arg[0] = place_value(t, i, KN_OP_shr,
                                (kn_ref[]){ d->arg[0], i->arg[1] }, from);
        i->op = KN_OP_add;
        i->arg[1] = kn_int(t->out, c >> k->i);
    }
    if (i->op == KN_OP_mul && !k && KN_REF_TAG(i->arg[1]) == KN_R_VAL &&
        !kn_val(t->out, i->arg[1])->type.lane)
        multiply_out(t, i, d, from);
}

/* What is added last: a constant, or a scalar's multiple. */
static bool
goes_last(const struct tidy *t, kn_ref r)
{
    const struct kn_ins *d = definition(t, r);

    return constant(t, r) ||
           (d && d->op == KN_OP_mul && !kn_val(t->out, r)->type.lane &&
            constant(t, d->arg[1]));
}

/* (x + c) + y becomes (x + y) + c, so that addresses that differ by a constant
 * share a register and the constant goes into the operation. */
static void
lift_constant(struct tidy *t, struct kn_ins *i, uint32_t from)
{
    kn_ref sum[2] = { i->arg[0], i->arg[1] };

    if (i->op != KN_OP_add || goes_last(t, i->arg[1]) ||
        kn_val(t->out, i->dst)->type.elem != KN_T_i32 ||
        !kn_val(t->out, i->dst)->type.lane)
        return;
    for (int a = 0; a < 2; a++) {
        const struct kn_ins *d = definition(t, i->arg[a]);

        if (!d || d->op != KN_OP_add || !goes_last(t, d->arg[1]) ||
            KN_REF_TAG(d->arg[0]) != KN_R_VAL ||
            (!constant(t, d->arg[1]) &&
             !kn_val(t->out, d->arg[0])->type.lane))
            continue;
        sum[a] = d->arg[0];
        i->arg[0] = place_value(t, i, KN_OP_add, sum, from);
        i->arg[1] = d->arg[1];
        return;
    }
}

/* (x + c) * y of 64 bits is x * y and c times y: rows that follow each other
 * share the product. */
static void
split_product(struct tidy *t, struct kn_ins *i, uint32_t from)
{
    const struct kn_ins *d = definition(t, i->arg[0]);

    if (i->op == KN_OP_mul && kn_val(t->out, i->dst)->type.elem == KN_T_i64 &&
        d && d->op == KN_OP_add && constant(t, d->arg[1]) &&
        KN_REF_TAG(d->arg[0]) == KN_R_VAL && KN_REF_TAG(i->arg[1]) == KN_R_VAL)
        multiply_out(t, i, d, from);
}

/* A value of stable operands: known already, or computed at the top. */
static void
place_stable(struct tidy *t, const struct kn_ins *given, uint32_t from)
{
    struct kn_ins copy = *given, *i = &copy;
    uint32_t n = KN_REF_INDEX(i->dst);
    kn_ref same;

    split_offset(t, i, from);
    split_product(t, i, from);
    lift_constant(t, i, from);
    if (is_copy(t, i)) {
        t->alias[n] = i->arg[0];
        return;
    }
    same = look_up(t, i, true);
    if (same) {
        t->alias[n] = same;
        return;
    }
    t->stable[n] = true;
    append(t, &t->top, i, from);
    t->def[n] = memcpy(KN_NEW(t->c, struct kn_ins, 1), i, sizeof *i);
}

/* Is this the loop over tiles of a persistent kernel? `args` says so. */
static bool
is_walk(const struct tidy *t, uint32_t n)
{
    for (uint32_t depth = 0; ++n < t->f->nins;) {
        uint16_t op = t->f->ins[n].op;

        if (op == KN_OP_args && !depth)
            return true;
        if (op == KN_OP_end && !depth)
            return false;
        depth += (op == KN_OP_loop || op == KN_OP_if) - (op == KN_OP_end);
    }
    return false;
}

static void
track_blocks(struct tidy *t, const struct kn_ins *i, uint32_t n)
{
    if (kn_op_info((enum kn_op)i->op).kind != KN_CTL)
        return;
    t->run++;
    if (i->op == KN_OP_loop && !t->depth && is_walk(t, n))
        t->tile++;
    else if (i->op == KN_OP_loop || i->op == KN_OP_if)
        t->depth++;
}

static void
close_block(struct tidy *t, const struct kn_ins *i)
{
    if (i->op == KN_OP_end && !t->depth) {
        t->tile++;
        return;
    }
    if (i->op != KN_OP_end || --t->depth)
        return;
    for (size_t n = 0; n < t->inner.n; n++)
        append(t, &t->top, &t->inner.ins[n], t->inner.from[n]);
    t->inner.n = 0;
}

/* A scalar made twice as wide is two registers more all through a walk, which has few. */
static bool
stays_here(const struct tidy *t, const struct kn_ins *i)
{
    return t->tile % 2 && i->op == KN_OP_sext && !kn_val(t->out, i->dst)->type.lane;
}

static void
take(struct tidy *t, uint32_t n)
{
    struct kn_ins i = t->f->ins[n];
    kn_ref same;

    for (int a = 0; a < KN_MAXARG && i.arg[a]; a++)
        if (KN_REF_TAG(i.arg[a]) == KN_R_VAL && t->alias[KN_REF_INDEX(i.arg[a])])
            i.arg[a] = t->alias[KN_REF_INDEX(i.arg[a])];
    fold_address(t, &i);
    bring_near(t, &i, n);
    add_near(t, &i, n);
    track_blocks(t, &i, n);
    if (is_pure(&i) && is_once(t, i.dst) && !stays_here(t, &i)) {
        if (all_stable(t, &i)) {
            place_stable(t, &i, n);
            return;
        }
        same = i.op == KN_OP_mov ? 0 : look_up(t, &i, false);
        if (same) {
            t->alias[KN_REF_INDEX(i.dst)] = same;
            return;
        }
    }
    if (i.dst)
        t->version[KN_REF_INDEX(i.dst)]++;
    if (i.op != KN_OP_args)
        append(t, t->depth ? &t->inner : &t->top, &i, n);
    close_block(t, &i);
}

/* Removes pure operations whose result nobody else reads, last ones first. */
static void
drop_dead(struct tidy *t)
{
    uint32_t *uses = KN_NEW(t->c, uint32_t, t->out->nval);
    struct list *l = &t->top;
    size_t to = l->n;

    for (size_t n = 0; n < l->n; n++)
        for (int a = 0; a < KN_MAXARG && l->ins[n].arg[a]; a++)
            if (KN_REF_TAG(l->ins[n].arg[a]) == KN_R_VAL &&
                l->ins[n].arg[a] != l->ins[n].dst)
                uses[KN_REF_INDEX(l->ins[n].arg[a])]++;
    for (size_t n = l->n; n-- > 0;) {
        struct kn_ins *i = &l->ins[n];

        if (is_pure(i) && !uses[KN_REF_INDEX(i->dst)]) {
            for (int a = 0; a < KN_MAXARG && i->arg[a]; a++)
                if (KN_REF_TAG(i->arg[a]) == KN_R_VAL && i->arg[a] != i->dst)
                    uses[KN_REF_INDEX(i->arg[a])]--;
            continue;
        }
        l->ins[--to] = *i;
        l->from[to] = l->from[n];
    }
    l->ins += to;
    l->from += to;
    l->n -= to;
}

struct kn_fn *
kn_asm_tidy(struct kn_ctx *c, const struct kn_fn *f, uint32_t **from)
{
    struct tidy t = { .c = c, .f = f, .out = KN_NEW(c, struct kn_fn, 1),
                      .run = 1, .size = 16 };
    size_t room = f->nval + 6 * f->nins; /* what an operation is split into */

    while (t.size < 4 * f->nins + 2)
        t.size *= 2;
    *t.out = *f;
    t.times = KN_NEW(c, uint8_t, room);
    t.stable = KN_NEW(c, bool, room);
    t.alias = KN_NEW(c, kn_ref, room);
    t.version = KN_NEW(c, uint32_t, room);
    t.def = KN_NEW(c, const struct kn_ins *, room);
    t.table = KN_NEW(c, uint32_t, t.size);
    for (size_t n = 0; n < f->nins; n++)
        if (f->ins[n].dst && t.times[KN_REF_INDEX(f->ins[n].dst)] < 2)
            t.times[KN_REF_INDEX(f->ins[n].dst)]++;
    for (size_t n = 1; n < f->nval; n++)
        t.stable[n] = f->val[n].arg;
    for (uint32_t n = 0; n < f->nins; n++)
        take(&t, n);
    drop_dead(&t);
    t.out->ins = t.top.ins;
    t.out->nins = t.out->capins = t.top.n;
    *from = t.top.from;
    return t.out;
}
