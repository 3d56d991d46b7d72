/* sums_value.c - scalars, as far as a launch determines them. */
#include "sums.h"

/* A pointer: the argument's value it comes from, and bytes from there. */
enum { POINTER_SHIFT = 44 };

static struct sums_value
known(int64_t v)
{
    return (struct sums_value){ .known = true, .v = v };
}

struct sums_value
sums_read(const struct sums *o, kn_ref r)
{
    if (!r || KN_REF_TAG(r) == KN_R_LDS)
        return (struct sums_value){ 0 };
    if (KN_REF_TAG(r) == KN_R_CONST)
        return known(o->f->konst[KN_REF_INDEX(r)].i);
    return o->value[KN_REF_INDEX(r)];
}

int64_t
sums_as_type(const struct sums *o, const struct kn_ins *i, int64_t v)
{
    switch (kn_val(o->f, i->dst)->type.elem) {
    case KN_T_b1: return v & 1;
    case KN_T_i32: return (int32_t)v;
    default: return v;
    }
}

/* The bits of v as an unsigned number of the first operand's width. */
static uint64_t
bits_of(const struct sums *o, const struct kn_ins *i, int64_t v)
{
    bool wide = kn_val(o->f, i->dst)->type.elem == KN_T_i64 ||
                (KN_REF_TAG(i->arg[0]) == KN_R_VAL &&
                 kn_val(o->f, i->arg[0])->type.elem == KN_T_i64);

    return wide ? (uint64_t)v : (uint32_t)v;
}

bool
sums_load(const struct sums *o, int64_t pointer, uint32_t bytes, int64_t *out)
{
    const struct kn_sums_launch *l = o->launch;
    uint32_t n = (uint32_t)(pointer >> POINTER_SHIFT);
    int64_t at = pointer & (((int64_t)1 << POINTER_SHIFT) - 1);

    return l->load && n < o->f->nval && o->f->val[n].arg &&
           l->load(l->user, o->f->val[n].name, at, bytes, out);
}

static struct sums_value
load(const struct sums *o, const struct kn_ins *i)
{
    struct sums_value p = sums_read(o, i->arg[0]), at = sums_read(o, i->arg[1]);
    uint32_t bytes = kn_elems[kn_val(o->f, i->dst)->type.elem].bits / 8;
    struct sums_value r = { 0 };

    r.known = p.known && at.known && sums_load(o, p.v + at.v, bytes, &r.v);
    return r;
}

struct sums_value
sums_argument(const struct sums *o, uint32_t n)
{
    const struct kn_val *v = &o->f->val[n];
    struct sums_value r = { 0 };

    if (v->type.elem == KN_T_ptr)
        return known((int64_t)n << POINTER_SHIFT);
    r.known = o->launch->argument(o->launch->user, v->name, &r.v);
    return r;
}

struct sums_value
sums_arithmetic(const struct sums *o, const struct kn_ins *i, int64_t x,
                int64_t y)
{
    uint64_t ux = bits_of(o, i, x), uy = bits_of(o, i, y);

    switch (i->op) {
    case KN_OP_add: case KN_OP_padd:
        return known((int64_t)((uint64_t)x + (uint64_t)y));
    case KN_OP_sub: return known((int64_t)((uint64_t)x - (uint64_t)y));
    case KN_OP_mul: return known((int64_t)((uint64_t)x * (uint64_t)y));
    case KN_OP_udiv: return known(uy ? (int64_t)(ux / uy) : 0);
    case KN_OP_urem: return known(uy ? (int64_t)(ux % uy) : 0);
    case KN_OP_and: case KN_OP_band: return known(x & y);
    case KN_OP_or: return known(x | y);
    case KN_OP_xor: return known(x ^ y);
    case KN_OP_shl: return known((int64_t)(ux << (uy & 63)));
    case KN_OP_shr: return known((int64_t)(ux >> (uy & 63)));
    case KN_OP_sar: return known(x >> (uy & 63));
    case KN_OP_smin: return known(x < y ? x : y);
    case KN_OP_smax: return known(x > y ? x : y);
    case KN_OP_umin: return known((int64_t)(ux < uy ? ux : uy));
    case KN_OP_umax: return known((int64_t)(ux > uy ? ux : uy));
    case KN_OP_eq: return known(x == y);
    case KN_OP_ne: return known(x != y);
    case KN_OP_slt: return known(x < y);
    case KN_OP_sge: return known(x >= y);
    case KN_OP_ult: return known(ux < uy);
    default: return (struct sums_value){ 0 };
    }
}

struct sums_value
sums_compute(const struct sums *o, const struct kn_ins *i)
{
    struct sums_value x = sums_read(o, i->arg[0]);
    struct sums_value y = sums_read(o, i->arg[1]), r = { 0 };

    if (x.lane || y.lane || i->op == KN_OP_lane || i->op == KN_OP_ldg ||
        sums_read(o, i->arg[2]).lane)
        return sums_of_lanes(o, i);
    switch (i->op) {
    case KN_OP_rsrc:
        x.known = x.known && y.known;
        x.records = y.v;
        return x;
    case KN_OP_wg:
        return known(i->attr[KN_A_first] ? o->launch->wg_y : o->launch->wg);
    case KN_OP_wave: return known(o->launch->wave);
    case KN_OP_park: case KN_OP_share: return known(1);  /* the last share goes on */
    case KN_OP_anyapart: return known(o->launch->apart);
    case KN_OP_ldu: r = load(o, i); break;
    case KN_OP_select:
        if (x.known)
            r = sums_read(o, i->arg[x.v & 1 ? 1 : 2]);
        break;
    case KN_OP_zext: x.v = (int64_t)(uint32_t)x.v; r = x; break;
    case KN_OP_mov: case KN_OP_sext: case KN_OP_trunc: case KN_OP_uniform:
    case KN_OP_assume: case KN_OP_addr: case KN_OP_readlane:
        r = x;
        break;
    default:
        if (x.known && y.known)
            r = sums_arithmetic(o, i, x.v, y.v);
    }
    r.v = r.known ? sums_as_type(o, i, r.v) : 0;
    return r;
}
