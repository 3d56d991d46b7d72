/* distribute_apply.c - acc.apply: the expression of the kernel (../formula.h)
 * on each accumulator, one after the other, so that what lies between lives
 * briefly. */
#include "distribute.h"

/* The accumulators, one of them, and what its columns and rows have. */
struct apply {
    struct dist *d;
    const struct kn_formula *x;
    struct dist_epilogue e;
    struct kn_ins out;       /* `store` of the output, for dist_out */
    struct dist_out o;
    uint32_t first, rows;    /* of the row blocks of a wave, this part's */
    uint32_t count;          /* accumulators, or pairs, of these */
    bool gated;              /* of two sums each, whose first is replaced */
    kn_ref *bias[3];         /* by column block: bias, of gate, of up */
    kn_ref *vector[KN_FORMULA_DECLARED]; /* by row or column block */
    kn_ref from[KN_FORMULA_ARRAYS + 1];  /* tensors, with add=1 C behind them */
    uint32_t tensor[KN_FORMULA_ARRAYS + 1], nfrom; /* which of the declared */
    struct dist_old *old;    /* by accumulator and tensor */
    kn_ref value[KN_FX_OPERAND], operand[KN_FORMULA_DECLARED];
    struct kn_type t;
};

static kn_ref
num(struct apply *a, double v)
{
    return kn_flt(a->d->out, v);
}

static kn_ref
op1(struct apply *a, enum kn_op op, kn_ref x)
{
    return dist_op(a->d, op, a->t, x, 0);
}

static kn_ref
op2(struct apply *a, enum kn_op op, kn_ref x, kn_ref y)
{
    return KN_REF_TAG(x) == KN_R_CONST ? dist_op(a->d, op, a->t, y, x)
                                       : dist_op(a->d, op, a->t, x, y);
}

static kn_ref
mul(struct apply *a, kn_ref x, kn_ref y)
{
    return op2(a, KN_OP_fmul, x, y);
}

static kn_ref
fused(struct apply *a, kn_ref x, kn_ref y, kn_ref z)
{
    kn_ref arg[3] = { x, y, z };

    return dist_op3(a->d, KN_OP_fma, a->t, arg);
}

/* c[0] + c[1] * x + ... */
static kn_ref
polynomial(struct apply *a, kn_ref x, const double *c, int n)
{
    kn_ref y = fused(a, x, num(a, c[n - 1]), num(a, c[n - 2]));

    for (int i = n - 3; i >= 0; i--)
        y = fused(a, y, x, num(a, c[i]));
    return y;
}

/* An odd function that is +-1 beyond `most`: x * p(x^2) / q(x^2). */
struct odd {
    double most, p[7], q[5];
    int np, nq;
};

static kn_ref
odd(struct apply *a, kn_ref x, const struct odd *f)
{
    kn_ref y, t, p, q;

    y = op2(a, KN_OP_fmin, x, num(a, f->most));
    y = op2(a, KN_OP_fmax, y, num(a, -f->most));
    t = mul(a, y, y);
    p = mul(a, polynomial(a, t, f->p, f->np), y);
    q = op1(a, KN_OP_rcp, polynomial(a, t, f->q, f->nq));
    return mul(a, p, q);
}

static kn_ref
expr_max(struct apply *a, const kn_ref *x)
{
    return op2(a, KN_OP_fmax, x[0], x[1]);
}

static kn_ref
expr_min(struct apply *a, const kn_ref *x)
{
    return op2(a, KN_OP_fmin, x[0], x[1]);
}

static kn_ref
expr_fma(struct apply *a, const kn_ref *x)
{
    return fused(a, x[0], x[1], x[2]);
}

static kn_ref
expr_exp2(struct apply *a, const kn_ref *x)
{
    return op1(a, KN_OP_exp2, x[0]);
}

static kn_ref
expr_rcp(struct apply *a, const kn_ref *x)
{
    return op1(a, KN_OP_rcp, x[0]);
}

static kn_ref
expr_rsqrt(struct apply *a, const kn_ref *x)
{
    return op1(a, KN_OP_rsq, x[0]);
}

/* 1 / (1 + exp(-slope * x)) */
static kn_ref
logistic(struct apply *a, kn_ref x, double slope)
{
    kn_ref e = mul(a, x, num(a, -1.4426950408889634 * slope));

    e = op2(a, KN_OP_fadd, op1(a, KN_OP_exp2, e), num(a, 1));
    return op1(a, KN_OP_rcp, e);
}

static kn_ref
expr_sigmoid(struct apply *a, const kn_ref *x)
{
    return logistic(a, x[0], 1);
}

static kn_ref
expr_silu(struct apply *a, const kn_ref *x)
{
    return mul(a, x[0], logistic(a, x[0], 1));
}

static kn_ref
expr_relu(struct apply *a, const kn_ref *x)
{
    return op1(a, KN_OP_fpos, x[0]);
}

/* y where x > 0, else z */
static kn_ref
above(struct apply *a, kn_ref x, kn_ref y, kn_ref z)
{
    return dist_above(a->d, a->t, (kn_ref[4]){ x, num(a, 0), y, z });
}

static kn_ref
expr_select(struct apply *a, const kn_ref *x)
{
    return above(a, x[0], x[1], x[2]);
}

static kn_ref
expr_drelu(struct apply *a, const kn_ref *x)
{
    return above(a, x[0], num(a, 1), num(a, 0));
}

/* Fitted for the least relative error: 1.2e-8, in f32 5 units of the last
 * place. */
static kn_ref
expr_tanh(struct apply *a, const kn_ref *x)
{
    static const struct odd f = { 8.5,
        { 1, 0.134132475, 0.00353402668, 2.12510422e-05, 1.42692267e-08 },
        { 1, 0.467465699, 0.0260227509, 0.000334886456, 8.14512248e-07 }, 5, 5 };

    return odd(a, x[0], &f);
}

/* The same: 4.9e-8, 6 units. */
static kn_ref
expr_erf(struct apply *a, const kn_ref *x)
{
    static const struct odd f = { 3.9,
        { 1.12837911, 0.198179379, 0.0503445491, 0.00363217248, 0.00014059704,
          -1.96321025e-06, 2.01485033e-08 },
        { 1, 0.508963645, 0.11427971, 0.0142076286, 0.000940555939 }, 7, 5 };

    return odd(a, x[0], &f);
}

/* x * (1 + erf(x / sqrt 2)) / 2 */
static kn_ref
expr_gelu(struct apply *a, const kn_ref *x)
{
    kn_ref z = mul(a, x[0], num(a, 0.70710678118654752)), half;

    z = expr_erf(a, &z);
    half = mul(a, x[0], num(a, 0.5));
    return fused(a, half, z, half);
}

/* x * (1 + tanh y) / 2 is x / (1 + exp(-2y)), y = sqrt(2 / pi) * (x +
 * 0.044715 * x^3). */
static kn_ref
expr_gelu_tanh(struct apply *a, const kn_ref *x)
{
    const double root = 0.79788456080286536;
    kn_ref y = mul(a, x[0], x[0]);

    y = fused(a, y, num(a, 0.044715 * root), num(a, root));
    return mul(a, x[0], logistic(a, mul(a, x[0], y), 2));
}

/* What s(f(x)) * x grows by, of slope f'(x): s + x * s * (1 - s) * slope. */
static kn_ref
grown(struct apply *a, kn_ref x, kn_ref s, kn_ref slope)
{
    kn_ref rest = fused(a, mul(a, s, num(a, -1)), s, s);

    rest = mul(a, slope ? mul(a, rest, slope) : rest, x);
    return op2(a, KN_OP_fadd, rest, s);
}

static kn_ref
expr_dsilu(struct apply *a, const kn_ref *x)
{
    return grown(a, x[0], logistic(a, x[0], 1), 0);
}

/* From |x| = 10 on the rest of s is zero; its factor stays finite. */
static kn_ref
expr_dgelu_tanh(struct apply *a, const kn_ref *x)
{
    const double twice = 2 * 0.79788456080286536, cube = 0.044715 * twice;
    kn_ref t = mul(a, x[0], x[0]), y, slope;

    y = mul(a, x[0], fused(a, t, num(a, cube), num(a, twice)));
    slope = op2(a, KN_OP_fmin, t, num(a, 100));
    slope = fused(a, slope, num(a, 3 * cube), num(a, twice));
    return grown(a, x[0], logistic(a, y, 1), slope);
}

/* (1 + erf(x / sqrt 2)) / 2 + x * exp(-x^2 / 2) / sqrt(2 pi) */
static kn_ref
expr_dgelu(struct apply *a, const kn_ref *x)
{
    kn_ref z = mul(a, x[0], num(a, 0.70710678118654752)), e;

    e = mul(a, mul(a, x[0], x[0]), num(a, -0.72134752044448170));
    e = mul(a, op1(a, KN_OP_exp2, e), num(a, 0.39894228040143268));
    e = fused(a, e, x[0], num(a, 0.5));
    return fused(a, expr_erf(a, &z), num(a, 0.5), e);
}

static kn_ref
expr_clamp(struct apply *a, const kn_ref *x)
{
    return op2(a, KN_OP_fmin, op2(a, KN_OP_fmax, x[0], x[1]), x[2]);
}

static kn_ref
expr_swiglu(struct apply *a, const kn_ref *x)
{
    return dist_gated(a->d, KILN_SILU, x[0], x[1]);
}

static kn_ref
expr_swiglu_oss(struct apply *a, const kn_ref *x)
{
    return dist_gated(a->d, KILN_SWIGLU, x[0], x[1]);
}

static kn_ref
expr_swiglu_limited(struct apply *a, const kn_ref *x)
{
    return dist_gated(a->d, KILN_LIMITED, x[0], x[1]);
}

/* most * tanh(x / most) */
static kn_ref
capped(struct apply *a, kn_ref x, double most)
{
    kn_ref y = mul(a, x, num(a, 1 / most));

    return mul(a, expr_tanh(a, &y), num(a, most));
}

static kn_ref
expr_situ(struct apply *a, const kn_ref *x)
{
    kn_ref g = mul(a, capped(a, x[0], 4), logistic(a, x[0], 1));

    return mul(a, g, capped(a, x[1], 25));
}

static kn_ref value(struct apply *a, uint32_t n);

/* A sum; one of a product is rounded once. */
static kn_ref
sum(struct apply *a, const struct kn_formula_node *n, bool minus)
{
    const struct kn_formula_node *l = &a->x->node[n->arg[0]];
    kn_ref y;

    if (l->kind == KN_FX_MUL && !minus)
        return fused(a, value(a, l->arg[0]), value(a, l->arg[1]),
                   value(a, n->arg[1]));
    y = value(a, n->arg[0]);
    return minus ? fused(a, value(a, n->arg[1]), num(a, -1), y)
                 : op2(a, KN_OP_fadd, y, value(a, n->arg[1]));
}

static kn_ref
arithmetic(struct apply *a, const struct kn_formula_node *n)
{
    const struct kn_formula_node *r = &a->x->node[n->arg[1]];
    kn_ref y;

    switch (n->kind) {
    case KN_FX_ADD: case KN_FX_SUB:
        return sum(a, n, n->kind == KN_FX_SUB);
    case KN_FX_NEG:
        return mul(a, value(a, n->arg[0]), num(a, -1));
    case KN_FX_MUL:
        return mul(a, value(a, n->arg[0]), value(a, n->arg[1]));
    default:
        y = r->kind == KN_FX_NUMBER
          ? num(a, 1 / r->value) : op1(a, KN_OP_rcp, value(a, n->arg[1]));
        return mul(a, value(a, n->arg[0]), y);
    }
}

static kn_ref
value(struct apply *a, uint32_t n)
{
    static const struct {
        int nargs;
        kn_ref (*expand)(struct apply *a, const kn_ref *x);
    } row[KN_NFORMULA] = {
#define FN(id, text, nargs, alone) [KN_FX_##id] = { nargs, expr_##id },
#include "../formula.def"
#undef FN
    };
    const struct kn_formula_node *x = &a->x->node[n];
    kn_ref arg[3];

    if (x->kind == KN_FX_NUMBER)
        return num(a, x->value);
    if (x->kind == KN_FX_OPERAND)
        return a->operand[x->arg[0]];
    if (x->kind < KN_FX_OPERAND)
        return a->value[x->kind];
    if (!row[x->kind].expand)
        return arithmetic(a, x);
    for (int i = 0; i < row[x->kind].nargs; i++)
        arg[i] = value(a, x->arg[i]);
    return row[x->kind].expand(a, arg);
}

/* ---- what it is applied to ---- */

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

static kn_ref
splat(struct apply *a, kn_ref x)
{
    return dist_op(a->d, KN_OP_splat, a->t, x, 0);
}

/* A row's value for each row block. */
static kn_ref *
load_rows(struct apply *a, kn_ref r)
{
    kn_ref *s = KN_NEW(a->d->c, kn_ref, a->e.a.count);

    for (uint32_t x = 0; x < a->e.a.count; x++)
        s[x] = dist_load_f32(a->d, r, dist_ic(a->d, KN_OP_add, a->e.row0,
                                              x * 16), 1);
    for (uint32_t x = 0; x < a->e.a.count; x++)
        s[x] = splat(a, s[x]);
    return s;
}

/* Vector number n by column block, which the parts of an apply share. */
static kn_ref *
columns_of(struct apply *a, uint32_t n, const struct kn_ins *of, bool up)
{
    kn_ref **kept = &a->d->vector[n];

    if (!a->first)
        *kept = dist_load_columns(a->d, &a->e, dist_f32_half(a->d, of, up));
    return *kept;
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
        a->operand[n] = splat(a, dist_operand(d, from));
    } else if (o->kind == KN_FO_TENSOR) {
        of = a->out;
        of.arg[1] = from;
        a->from[a->nfrom] = dist_out(d, &of).r;
        a->tensor[a->nfrom++] = n;
    } else if (row) {
        a->vector[n] = d->vector[3 + n] =
            a->first ? d->vector[3 + n] : load_rows(a, dist_f32_vector(d, &of));
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

/* Tensors at accumulators [n, n + many), by column block and then row block:
 * on their way. */
static void
load_tensors(struct apply *a, uint32_t n, uint32_t many)
{
    struct dist *d = a->d;

    for (uint32_t k = n; k < n + many && k < a->count && a->nfrom; k++) {
        kn_ref col = dist_ic(d, KN_OP_add, a->e.col0, k / a->rows * 16);
        kn_ref row = dist_ic(d, KN_OP_add, a->e.row0,
                             (a->first + k % a->rows) * 16);
        struct dist_old at;

        row = dist_i2(d, KN_OP_mul, row, a->o.pitch);
        at = dist_out_places(d, &a->o, row, col);
        for (uint32_t s = 0; s < a->nfrom; s++)
            a->old[k * a->nfrom + s] = dist_out_load(d, &a->o, a->from[s], &at);
    }
}

static const uint8_t biases[] = { KN_FX_BIAS, KN_FX_GATE_BIAS, KN_FX_UP_BIAS };

/* Accumulator n; of gate and up, the pair of that number. */
static void
apply(struct apply *a, const kn_ref *sums, uint32_t n)
{
    const struct kn_formula_operands *x = &a->x->operands;
    uint32_t r = n % a->rows, y = n / a->rows;
    kn_ref acc = sums[0];

    a->value[a->gated ? KN_FX_GATE : KN_FX_ACC] = acc;
    if (a->gated)
        a->value[KN_FX_UP] = sums[1];
    for (int k = 0; k < 3; k++)
        if (a->bias[k])
            a->value[biases[k]] = a->bias[k][y];
    for (uint32_t k = 0; k < x->n; k++)
        if (a->vector[k])
            a->operand[k] = a->vector[k][x->of[k].kind == KN_FO_ROW ? a->first + r
                                                                 : y];
    for (uint32_t s = 0; s < a->nfrom; s++) {
        kn_ref v = dist_out_old(a->d, &a->o, &a->old[n * a->nfrom + s]);

        if (a->tensor[s] < x->n)
            a->operand[a->tensor[s]] = v;
        else if (kn_formula_has(a->x, KN_FX_C))
            a->value[KN_FX_C] = v;
        else
            dist_apply(a->d, KN_OP_fadd, acc, v, 0);
    }
    dist_move(a->d, acc, value(a, a->x->n - 1));
}

/* Accumulators of a batch: its tensors are loaded while the batch before it is
 * computed, in so many registers. */
static uint32_t
batch_of(const struct apply *a)
{
    enum { REGISTERS = 32 };
    uint32_t each = a->nfrom * (a->o.vec == 1 ? 4 : a->o.size);
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
                       .t = dist_acc_type(d, t.reg[0]),
                       .out = { .at = i->at, .arg = { i->arg[0], i->arg[2],
                                i->arg[3], i->arg[4], i->arg[5], i->arg[6],
                                i->arg[7] } } };

    t.nreg /= a.gated ? 2 : 1;
    a.e = dist_epilogue(d, &t);
    a.first = part * a.e.a.count / parts;
    a.rows = (part + 1) * a.e.a.count / parts - a.first;
    a.count = a.rows * a.e.b.count;
    a.out.attr[KN_A_elem] = i->attr[KN_A_elem];
    a.out.attr[KN_A_vec] = i->attr[KN_A_vec];
    a.o = dist_out(d, &a.out);
    return a;
}

static void
load_biases(struct apply *a, const struct kn_ins *i)
{
    struct kn_ins of = { .arg = { 0, i->arg[1], i->arg[4], i->arg[6] } };

    for (int k = 0; k < 3; k++)
        if (kn_formula_has(a->x, (enum kn_formula_kind)biases[k]))
            a->bias[k] = columns_of(a, (uint32_t)k, &of, k == 2);
}

kiln_status
expand_apply(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]);
    struct kn_formula *x = KN_NEW(d->c, struct kn_formula, 1);
    uint32_t batch, each;
    struct apply a;

    if (!d->in->expr)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "acc.apply needs the "
                          "line `expr` in front");
    KN_TRY(kn_formula_parse(d->c, &i->at, d->in->expr, x));
    KN_TRY(check_apply(d, i, x));
    a = begin(d, i, x);
    each = a.gated ? 2 : 1;
    load_biases(&a, i);
    KN_TRY(load_operands(&a, i));
    if (i->attr[KN_A_add]) {
        a.tensor[a.nfrom] = KN_FORMULA_DECLARED;
        a.from[a.nfrom++] = a.o.r;
    }
    batch = batch_of(&a);
    a.old = KN_NEW(d->c, struct dist_old, a.count * (a.nfrom + 1));
    load_tensors(&a, 0, batch);
    for (uint32_t n = 0; n < a.count; n += batch) {
        load_tensors(&a, n + batch, batch);
        for (uint32_t k = n; k < n + batch && k < a.count; k++)
            apply(&a, &t->reg[((a.first + k % a.rows) * a.e.b.count +
                               k / a.rows) * each], k);
        dist_add(d, KN_OP_sched, 0);
    }
    return KILN_OK;
}
