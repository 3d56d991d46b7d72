/* distribute_apply.c - acc.apply: the expression of the kernel (../formula.h)
 * on each accumulator, one after the other, so that what lies between lives
 * briefly. */
#include "arith.h"
#include "split.h"

/* The accumulators, one of them, and what its columns and rows have. */
struct apply {
    struct dist *d;
    const struct kn_formula *x;
    uint32_t node0, end;     /* its nodes: what aux: says, or the rest */
    struct dist_epilogue e;
    struct kn_ins out;       /* `store` of the output, for dist_out */
    struct dist_out o;
    uint32_t first, rows;    /* of the row blocks of a wave, this part's */
    uint32_t count;          /* accumulators, or pairs, of these */
    bool sliced;             /* of a slice each: rows of blocks one after the other */
    bool gated;              /* of two sums each, whose first is replaced */
    struct dist_tile *acc;   /* all sums */
    struct dist_tile alike;  /* as many as there are sums, or pairs */
    struct dist_tile *alone; /* sums of a part that is stored at once, or NULL */
    kn_ref *bias[3];         /* by column block: bias, of gate, of up */
    kn_ref *vector[KN_FORMULA_DECLARED]; /* by row or column block */
    kn_ref from[KN_FORMULA_ARRAYS + 1];  /* tensors, with add=1 C behind them */
    uint32_t tensor[KN_FORMULA_ARRAYS + 1], nfrom; /* which of the declared */
    struct dist_old *old;    /* by accumulator and tensor */
    kn_ref *place;           /* of rows that ids name: where a tensor's begins, by row
                              * block, or 0 */
    struct dist_arith v;
};

kiln_status
expand_operand(struct dist *d, const struct kn_ins *i)
{
    if (i->attr[KN_A_slot] < 0 || i->attr[KN_A_slot] >= KN_FORMULA_ARRAYS)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "slot= is 0 to %d",
                          KN_FORMULA_ARRAYS - 1);
    d->array[i->attr[KN_A_slot]] = i->arg[0];
    return KILN_OK;
}

kiln_status
expand_scalar(struct dist *d, const struct kn_ins *i)
{
    if (i->attr[KN_A_slot] < 0 || i->attr[KN_A_slot] >= KN_FORMULA_SCALARS)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "slot= is 0 to %d",
                          KN_FORMULA_SCALARS - 1);
    d->scalar[i->attr[KN_A_slot]] = i->arg[0];
    return KILN_OK;
}

kiln_status
expand_named(struct dist *d, const struct kn_ins *i)
{
    d->ids = dist_tile(d, i->arg[0])->reg;
    d->named = (struct dist_rows){ 0, dist_operand(d, i->arg[1]),
                                   dist_operand(d, i->arg[2]), dist_int(d, 4), true,
                                   i->attr[KN_A_plain] != 0 };
    return KILN_OK;
}

/* A value of f32, of sums of f64 as one. */
static kn_ref
splat(struct apply *a, kn_ref x)
{
    if (KN_REF_TAG(x) == KN_R_VAL)
        x = dist_as_type(a->d, x, a->v.t.elem);
    return dist_op(a->d, KN_OP_splat, a->v.t, x, 0);
}

static bool
uses(const struct apply *a, enum kn_formula_kind name)
{
    return kn_formula_uses(a->x, a->node0, a->end, name);
}

static bool
uses_operand(const struct apply *a, uint32_t k)
{
    for (uint32_t i = a->node0; i < a->end; i++)
        if (a->x->node[i].kind == KN_FX_OPERAND && a->x->node[i].arg[0] == k)
            return true;
    return false;
}

/* A row's value for each row block. */
static kn_ref *
load_rows(struct apply *a, const struct kn_ins *of)
{
    struct dist *d = a->d;
    kn_ref *s = KN_NEW(d->c, kn_ref, a->e.a.count);
    kn_ref r = d->ids ? dist_rows_f32(d, &d->named, dist_operand(d, of->arg[1]))
                      : dist_f32_vector(d, of);

    for (uint32_t x = 0; x < a->e.a.count; x++)
        s[x] = d->ids ? dist_load_at(d, r, dist_row_offset(d, &d->named, d->ids[x]), 1)
                      : dist_load_f32(d, r, dist_ic(d, KN_OP_add, a->e.row0, x * 16), 1);
    for (uint32_t x = 0; x < a->e.a.count; x++)
        s[x] = splat(a, s[x]);
    return s;
}

/* Vector number n by column block, which the parts of an apply share. */
static kn_ref *
columns_of(struct apply *a, uint32_t n, const struct kn_ins *of, bool up)
{
    kn_ref **kept = &a->d->vector[n];

    if (a->first)
        return *kept;
    *kept = dist_load_columns(a->d, &a->e, dist_f32_half(a->d, of, up));
    for (uint32_t y = 0; y < a->e.b.count; y++)
        (*kept)[y] = dist_as_type(a->d, (*kept)[y], a->v.t.elem);
    return *kept;
}

/* The output's places, or another tensor's of its shape. */
static struct dist_out
tensor_of(struct dist *d, const struct kn_ins *of)
{
    struct dist_rows rows = d->named;

    return d->ids ? dist_out_named(d, of, &rows) : dist_out(d, of);
}

/* The declared operand o, of an acc.apply. */
static void
load_operand(struct apply *a, const struct kn_ins *i,
             const struct kn_formula_operand *o)
{
    struct dist *d = a->d;
    bool row = o->kind == KN_FO_ROW;
    kn_ref from = o->kind == KN_FO_SCALAR ? d->scalar[o->slot]
                                          : d->array[o->slot];
    struct kn_ins of = { .arg = { 0, from, i->arg[row ? 3 : 4],
                                  i->arg[row ? 5 : 6] } };
    uint32_t n = (uint32_t)(o - a->x->operands.of);

    if (o->kind == KN_FO_SCALAR) {
        a->v.operand[n] = splat(a, dist_operand(d, from));
    } else if (o->kind == KN_FO_TENSOR) {
        of = a->out;
        of.arg[1] = from;
        a->from[a->nfrom] = tensor_of(d, &of).r;
        a->tensor[a->nfrom++] = n;
    } else if (row) {
        a->vector[n] = d->vector[3 + n] =
            a->first ? d->vector[3 + n] : load_rows(a, &of);
    } else {
        a->vector[n] = columns_of(a, 3 + n, &of, false);
    }
}

static kiln_status
load_operands(struct apply *a, const struct kn_ins *i)
{
    const struct kn_formula_operands *x = &a->x->operands;

    for (uint32_t k = 0; k < x->n; k++) {
        bool scalar = x->of[k].kind == KN_FO_SCALAR;

        if (!uses_operand(a, k))
            continue;
        if (!(scalar ? a->d->scalar : a->d->array)[x->of[k].slot])
            return kn_fail_at(a->d->c, KILN_BAD_INPUT, i->at, "the expression "
                              "names %.*s, which needs %s slot=%u in front",
                              x->of[k].n, x->of[k].name,
                              scalar ? "acc.scalar" : "acc.operand",
                              x->of[k].slot);
        load_operand(a, i, &x->of[k]);
    }
    return KILN_OK;
}

/* Where a tensor's row begins, of row block x. */
static kn_ref
row_place(struct apply *a, uint32_t x)
{
    struct dist *d = a->d;
    struct dist_rows rows = d->named;

    if (!d->ids)
        return dist_i2(d, KN_OP_mul, dist_ic(d, KN_OP_add, a->e.row0, x * 16),
                       a->o.pitch);
    rows.pitch = a->o.pitch;
    if (!a->place[x])
        a->place[x] = dist_row_offset(d, &rows, d->ids[x]);
    return a->place[x];
}

struct place {
    uint32_t row, col;       /* block of the wave */
};

/* Accumulator n: by column block and then row block; of slices as tiles have them. */
static struct place
place_of(const struct apply *a, uint32_t n)
{
    uint32_t across = a->e.b.count;

    return a->sliced ? (struct place){ n / across, n % across }
                     : (struct place){ a->first + n % a->rows, n / a->rows };
}

/* Tensors at accumulators [n, n + many), up to `end`: on their way. */
static void
load_tensors(struct apply *a, uint32_t n, uint32_t many, uint32_t end)
{
    struct dist *d = a->d;

    for (uint32_t k = n; k < n + many && k < end && a->nfrom; k++) {
        struct place of = place_of(a, k);
        kn_ref col = dist_ic(d, KN_OP_add, a->e.col0, of.col * 16);
        struct dist_old at = dist_out_places(d, &a->o, row_place(a, of.row), col);

        for (uint32_t s = 0; s < a->nfrom; s++)
            a->old[k * a->nfrom + s] = dist_out_load(d, &a->o, a->from[s], &at);
    }
}

/* What these loads leave out. */
static void
load_rests(struct apply *a, uint32_t n, uint32_t end)
{
    for (uint32_t k = n; k < end && dist_out_loose(&a->o); k++) {
        struct place of = place_of(a, k);

        for (uint32_t s = 0; s < a->nfrom; s++)
            dist_out_rest(a->d, &a->o, &a->e,
                          &(struct dist_rest){ a->from[s], row_place(a, of.row), of.col,
                                               &a->old[k * a->nfrom + s] });
    }
}

static const uint8_t biases[] = { KN_FX_BIAS, KN_FX_GATE_BIAS, KN_FX_UP_BIAS };

/* Accumulator n; of gate and up, the pair of that number. */
static void
apply(struct apply *a, kn_ref *sums, uint32_t n)
{
    const struct kn_formula_operands *x = &a->x->operands;
    struct place of = place_of(a, n);
    kn_ref acc = sums[0];

    a->v.value[a->gated ? KN_FX_GATE : KN_FX_ACC] = acc;
    a->v.value[KN_FX_AUX] = a->v.value[KN_FX_AUX_GATE] = acc;
    if (a->gated)
        a->v.value[KN_FX_UP] = a->v.value[KN_FX_AUX_UP] = sums[1];
    for (int k = 0; k < 3; k++)
        if (a->bias[k])
            a->v.value[biases[k]] = a->bias[k][of.col];
    for (uint32_t k = 0; k < x->n; k++)
        if (a->vector[k])
            a->v.operand[k] = a->vector[k][x->of[k].kind == KN_FO_ROW ? of.row : of.col];
    for (uint32_t s = 0; s < a->nfrom; s++) {
        kn_ref v = dist_out_old(a->d, &a->o, &a->old[n * a->nfrom + s],
                                a->v.t.elem);

        if (a->tensor[s] < x->n)
            a->v.operand[a->tensor[s]] = v;
        else if (kn_formula_has(a->x, KN_FX_C))
            a->v.value[KN_FX_C] = v;
        else
            dist_apply(a->d, KN_OP_fadd, acc, v, 0);
    }
    if (!a->node0 && a->end == a->x->aux && a->x->aux_up) { /* of either sum its own */
        dist_move(a->d, acc, dist_formula(&a->v, a->x->aux_up - 1));
        acc = sums[1];
    }
    if (a->alone)
        dist_replace(a->d, a->alone, (uint32_t)(sums - a->alone->reg),
                     dist_formula(&a->v, a->end - 1));
    else
        dist_move(a->d, acc, dist_formula(&a->v, a->end - 1));
}

/* Accumulators of a batch: its tensors are loaded while the batch before it is
 * computed, in so many registers. */
static uint32_t
batch_of(const struct apply *a)
{
    enum { REGISTERS = 32 };
    bool single = a->o.vec == 1 && a->o.size < 4 && !dist_out_loose(&a->o);
    uint32_t each = a->nfrom * (single ? 4 : a->o.size);
    uint32_t n = each ? REGISTERS / each : a->rows;

    return n > a->rows ? a->rows : n ? n : 1;
}

/* What an acc.apply needs of its expression. */
static kiln_status
check_apply(struct dist *d, const struct kn_ins *i, const struct kn_formula *x)
{
    bool gated = kn_formula_gated(x);

    if (kn_formula_has(x, KN_FX_C) && !i->attr[KN_A_add])
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "the expression names "
                          "c, which add=1 reads");
    if (i->attr[KN_A_mode] && !x->aux)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "mode=1 is for an "
                          "expression with aux:");
    if (gated && !kn_formula_has(x, KN_FX_C) && i->attr[KN_A_add])
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "nothing is added to "
                          "gate and up");
    if (gated && kn_fragment(d->in, 'b').count % 2)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "gate and up need an "
                          "even number of 16-column blocks in a wave");
    return KILN_OK;
}

/* The accumulators of i; of gate and up, as many pairs. */
static struct apply
begin(struct dist *d, const struct kn_ins *i, const struct kn_formula *x)
{
    struct dist_tile t = *dist_tile(d, i->arg[0]);
    uint32_t part = (uint32_t)i->attr[KN_A_part];
    uint32_t parts = (uint32_t)i->attr[KN_A_parts];
    struct apply a = { .d = d, .x = x, .gated = kn_formula_gated(x),
                       .v = { .d = d, .x = x, .t = dist_acc_type(d, t.reg[0]) },
                       .out = { .at = i->at, .arg = { i->arg[0], i->arg[2],
                                i->arg[3], i->arg[4], i->arg[5], i->arg[6],
                                i->arg[7] } } };

    a.node0 = i->attr[KN_A_mode] ? 0 : x->aux;
    a.end = i->attr[KN_A_mode] ? x->aux : x->n;
    t.nreg /= a.gated ? 2 : 1;
    a.alike = t;
    a.e = dist_epilogue(d, &t);
    a.first = part * a.e.a.count / parts;
    a.rows = (part + 1) * a.e.a.count / parts - a.first;
    a.count = a.rows * a.e.b.count;
    a.out.attr[KN_A_elem] = i->attr[KN_A_elem];
    a.out.attr[KN_A_vec] = i->attr[KN_A_vec];
    a.out.attr[KN_A_any] = i->attr[KN_A_any];
    a.o = tensor_of(d, &a.out);
    a.place = KN_NEW(d->c, kn_ref, a.e.a.count);
    return a;
}

static void
load_biases(struct apply *a, const struct kn_ins *i)
{
    struct kn_ins of = { .arg = { 0, i->arg[1], i->arg[4], i->arg[6] } };

    for (int k = 0; k < 3; k++)
        if (uses(a, (enum kn_formula_kind)biases[k]))
            a->bias[k] = columns_of(a, (uint32_t)k, &of, k == 2);
}

/* C is what the nodes name, or is added where they begin with acc. */
static bool
reads_c(const struct apply *a, const struct kn_ins *i)
{
    return i->attr[KN_A_add] &&
           (kn_formula_has(a->x, KN_FX_C) ? uses(a, KN_FX_C) : !a->node0);
}

/* Accumulators [from, to). */
static void
apply_blocks(struct dist *d, void *of, struct dist_span blocks)
{
    struct apply *a = of;
    uint32_t batch = batch_of(a), to = blocks.to;

    load_tensors(a, blocks.from, batch, to);
    for (uint32_t n = blocks.from; n < to; n += batch) {
        uint32_t end = n + batch < to ? n + batch : to;

        load_tensors(a, n + batch, batch, to);
        load_rests(a, n, end);
        for (uint32_t k = n; k < end; k++) {
            struct place at = place_of(a, k);

            apply(a, &a->acc->reg[(at.row * a->e.b.count + at.col) * (a->gated ? 2 : 1)], k);
        }
        dist_add(d, KN_OP_sched, 0);
    }
}

kiln_status
expand_apply(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]);
    struct kn_formula *x = KN_NEW(d->c, struct kn_formula, 1);
    struct apply a;

    if (!d->in->expr)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "acc.apply needs the "
                          "line `expr` in front");
    KN_TRY(kn_formula_parse(d->c, &i->at, d->in->expr,
                            dist_acc_type(d, t->reg[0]).elem == KN_T_f64, x));
    KN_TRY(check_apply(d, i, x));
    a = begin(d, i, x);
    a.acc = t;
    a.alone = i->attr[KN_A_parts] > 1 && !a.gated ? t : NULL;
    a.sliced = d->mine;
    load_biases(&a, i);
    KN_TRY(load_operands(&a, i));
    if (reads_c(&a, i)) {
        a.tensor[a.nfrom] = KN_FORMULA_DECLARED;
        a.from[a.nfrom++] = a.o.r;
    }
    a.old = KN_NEW(d->c, struct dist_old, a.count * (a.nfrom + 1));
    if (a.sliced)
        dist_each_slice(d, &(struct dist_sliced){ apply_blocks, &a, &a.alike, d->mine, d->splits });
    else
        apply_blocks(d, &a, (struct dist_span){ 0, a.count });
    return KILN_OK;
}
