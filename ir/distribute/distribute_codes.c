/* distribute_codes.c - outputs of 8 bits: f32 to codes, and their stores. */
#include "distribute.h"

bool
dist_is_code(uint8_t elem)
{
    return elem == KN_T_fp8 || elem == KN_T_bf8 || elem == KN_T_i8;
}

/* Largest and smallest value of a type (OCP OFP8 1.0; FNUZ: CDNA3 ISA 7.2). */
struct limit {
    double low, high;
};

static struct limit
limit_of(const struct dist *d, uint8_t elem)
{
    double high = elem == KN_T_bf8 ? 57344
                : kn_targets[d->in->target].fnuz ? 240 : 448;

    return elem == KN_T_i8 ? (struct limit){ -128, 127 }
                           : (struct limit){ -high, high };
}

static kn_ref
clamped(struct dist *d, uint8_t elem, kn_ref v)
{
    struct limit l = limit_of(d, elem);
    kn_ref high = kn_flt(d->out, l.high), low = kn_flt(d->out, l.low);
    struct kn_type t = dist_acc_type(d, v);

    v = dist_op(d, KN_OP_minimum, t, v, dist_op(d, KN_OP_splat, t, high, 0));
    return dist_op(d, KN_OP_maximum, t, v, dist_op(d, KN_OP_splat, t, low, 0));
}

/* A whole number, nearest even: behind 1.5 * 2^23 there are no other. */
static kn_ref
whole(struct dist *d, kn_ref v)
{
    struct kn_type t = dist_acc_type(d, v);

    v = dist_op(d, KN_OP_fadd, t, v, kn_flt(d->out, 12582912));
    return dist_op(d, KN_OP_fadd, t, v, kn_flt(d->out, -12582912));
}

double
dist_limit(const struct dist *d, uint8_t elem)
{
    return limit_of(d, elem).high;
}

kn_ref
dist_codes(struct dist *d, uint8_t elem, bool sat, kn_ref v)
{
    if (dist_acc_type(d, v).n == 1)
        v = dist_op(d, KN_OP_splat, dist_vec(KN_T_f32, 4), v, 0);
    if (sat || elem == KN_T_i8)
        v = clamped(d, elem, v);
    return dist_codes_within(d, elem, v);
}

kn_ref
dist_codes_within(struct dist *d, uint8_t elem, kn_ref v)
{
    if (elem == KN_T_i8)
        v = whole(d, v);
    v = dist_op(d, KN_OP_cvt8, kn_v32, v, 0);
    d->out->ins[d->out->nins - 1].attr[KN_A_elem] = elem;
    d->out->ins[d->out->nins - 1].attr[KN_A_parts] = 2;
    return v;
}

void
dist_store_codes(struct dist *d, const struct dist_out *o, kn_ref off, kn_ref v)
{
    dist_stg(d, o->r, off, v, o->vec == 4 ? KN_T_i32 : KN_T_i8);
}
