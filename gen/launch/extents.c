/* extents.c - how operands lie: the pitch of each and how many bytes it has. */
#include "../instantiate.h"
#include "terms.h"

/* Bytes of n elements packed along a row. */
static int64_t
run_bytes(kiln_type t, int64_t n)
{
    return run(kn_type_bits[t], n);
}

struct kn_pitches
kn_pitches_of(const kiln_problem *p)
{
#define SIZE(name, has, value, meaning) KN_TERM(name, value)
#define KNOWN(name, value) KN_TERM(name, value)
#define LET(name, formula) KN_TERM(name, formula)
#include "launch.def"
    return (struct kn_pitches){
        .a = pa, .b = pb, .c = pc, .sa = psa, .sb = psb, .ta = ba, .tb = bb,
        .tc = bc, .tsa = bsa, .tsb = bsb, .tbias = 4 * outputs, .one_sa = one_sa,
        .one_sb = one_sb, .window = window, .c2 = pc2, .sa2 = psa2, .one_sa2 = one_sa2
    };
}

static uint64_t
extent(int64_t rows, int64_t pitch, int64_t row)
{
    return rows > 0 ? (uint64_t)((rows - 1) * pitch + row) : 0;
}

/* How often an operand repeats: per batch, per group. */
static uint64_t
repeat(uint64_t one, int64_t times, int64_t stride)
{
    return one && times > 0 ? (uint64_t)(times - 1) * (uint64_t)stride + one : 0;
}

enum kn_formula_operand_kind
kn_array_kind(const kiln_problem *p, uint32_t i)
{
    const struct kn_formula_operands x = kn_formula_declared(p->expression);
    const struct kn_formula_operand *o = kn_formula_array(&x, i);

    return o ? (enum kn_formula_operand_kind)o->kind : KN_NFO;
}

const char *
kn_array_text(const kiln_problem *p, uint32_t i)
{
    static const char *const texts[KN_NFO + 1] = {
        [KN_FO_ROW] = "f32, one for each row of the output",
        [KN_FO_COL] = "f32, one for each column of the output",
        [KN_FO_TENSOR] = "of the output's shape, type and pitch",
        [KN_FO_SCALAR] = "", [KN_NFO] = ""
    };

    return texts[kn_array_kind(p, i)];
}

/* Bytes of the arrays that the expression declares: the output is `nc`
 * matrices, of moe a row a slot; columns come `nb` times. */
static void
array_extents(const kiln_problem *p, int64_t nb, int64_t nc,
              struct kn_extents *e)
{
    const struct kn_formula_operands x = kn_formula_declared(p->expression);
    int64_t rows = kn_family_of(p)->routed ? p->tokens * p->topk : p->m * nc;

    for (uint32_t i = 0; i < x.n; i++)
        if (x.of[i].kind != KN_FO_SCALAR)
            e->x[x.of[i].slot] = x.of[i].kind == KN_FO_TENSOR ? e->c
                : x.of[i].kind == KN_FO_ROW ? (uint64_t)(4 * rows)
                                            : (uint64_t)(4 * p->n * nb);
}

struct kn_extents
kn_extents_of(const kiln_problem *p)
{
    struct kn_pitches t = kn_pitches_of(p);
    bool ka = kn_along_k(p, 'a'), kb = kn_along_k(p, 'b');
    const struct kn_family *f = kn_family_of(p);
    bool batched = f->batch;
    int64_t na = batched ? p->batch : 1;
    int64_t nb = f->ragged == 'm' ? p->groups : na;
    int64_t nc = f->ragged == 'k' ? p->groups : na;
    bool gated = kn_quant_gated(p);
    struct kn_extents e = { 0 };

    e.a = repeat(extent(ka ? p->m : p->k, t.a,
                        run_bytes(p->a, (ka ? p->k : p->m) << gated)), na, t.ta);
    e.b = repeat(extent(kb ? kn_b_columns(p) : p->k / kn_word_k(p), t.b,
                        run_bytes(p->b, kb ? p->k : kn_b_columns(p) * kn_word_k(p))),
                 nb, t.tb);
    e.c = repeat(extent(p->m, t.c, run_bytes(p->out, p->n)), nc, t.tc);
    if (p->scale == KILN_SCALE_TENSOR) {
        e.sa = kn_prequant(p) ? 0 : 4;
        e.sb = 4;
    } else {
        e.sa = repeat((uint64_t)t.one_sa, kn_b_in_sa(p) ? nb : na, t.tsa);
        e.sb = repeat((uint64_t)t.one_sb, nb, t.tsb);
    }
    e.sc = kn_output_scales(p);
    if (f->unary) {
        bool turned = kn_quant_turned(p);

        e.c = extent(turned ? p->k : p->m, t.c,
                     run_bytes(p->out, turned ? p->m : p->k));
        e.b = e.sa = e.sb = 0;
        e.sc = !p->m || !p->k ? 0
             : p->out_scale == KILN_OUT_STATIC ? 4 : (uint64_t)t.one_sa;
    }
    if (kn_quant_dual(p)) {
        e.out2 = extent(p->k, t.c2, run_bytes(p->out, p->m));
        e.sc2 = e.sc && p->out_scale != KILN_OUT_STATIC ? (uint64_t)t.one_sa2 : 0;
    }
    e.amax = p->amax ? (uint64_t)kn_type_bits[kn_amax_type(p)] / 8 : 0;
    if (p->out2) {
        int64_t many = kn_second_pair(p) ? 2 : 1;
        int64_t row = many * run_bytes((kiln_type)p->out2, p->ldc ? p->ldc : p->n);

        e.out2 = repeat(extent(p->m, row, run_bytes((kiln_type)p->out2, many * p->n)), nc,
                        p->stride_c ? many * run_bytes((kiln_type)p->out2, p->stride_c)
                                    : row * p->m);
    }
    e.bias = kn_has_bias(p) ? (uint64_t)(nb * t.tbias) : 0;
    e.offs = kn_group_table(p);
    e.tight = p->group_flags & KILN_GROUP_TIGHT ? e.offs : 0;
    array_extents(p, f->ragged || f->routed ? p->groups : na, nc, &e);
    return e;
}
