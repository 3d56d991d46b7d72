/* sums_lanes.c - values that differ between the lanes of a wave, as far as a
 * launch determines them: tables that lanes read and add up. */
#include "sums.h"

#include <string.h>

/* Element n of lane t of an operand. */
static int64_t
of_lane(struct sums_value x, uint32_t n, uint32_t t)
{
    return x.lane ? x.lane[n * SUMS_LANES + t] : x.v;
}

/* A load of each lane; what lies beyond the resource reads zero. */
static bool
load(const struct sums *o, const struct kn_ins *i, const struct sums_value *x,
     int64_t *out)
{
    uint32_t n = kn_val(o->f, i->dst)->type.n;

    for (uint32_t t = 0; t < SUMS_LANES; t++)
        for (uint32_t e = 0; e < n; e++) {
            int64_t at = of_lane(x[1], 0, t) + i->attr[KN_A_offset] + 4 * e;
            int64_t *to = &out[e * SUMS_LANES + t];

            *to = 0;
            if (at >= 0 && at + 4 <= x[0].records &&
                !sums_load(o, x[0].v + at, 4, to))
                return false;
        }
    return true;
}

/* One element of each lane; false: not known. */
static bool
element(const struct sums *o, const struct kn_ins *i,
        const struct sums_value *x, int64_t *out)
{
    int64_t sum = 0;

    for (uint32_t t = 0; t < SUMS_LANES; t++) {
        int64_t a = of_lane(x[0], 0, t), b = of_lane(x[1], 0, t);
        struct sums_value r = { true, 0, 0, NULL };

        switch (i->op) {
        case KN_OP_lane: r.v = t; break;
        case KN_OP_scan: r.v = sum += a; break;
        case KN_OP_slice:
            r.v = of_lane(x[0], (uint32_t)i->attr[KN_A_first], t);
            break;
        case KN_OP_select: r.v = a & 1 ? b : of_lane(x[2], 0, t); break;
        case KN_OP_mov: case KN_OP_assume: r.v = a; break;
        default: r = sums_arithmetic(o, i, a, b);
        }
        if (!r.known)
            return false;
        out[t] = sums_as_type(o, i, r.v);
    }
    return true;
}

/* One value of all lanes' ones. */
static struct sums_value
together(const struct kn_ins *i, const struct sums_value *x)
{
    struct sums_value r = { true, 0, 0, NULL };

    if (i->op == KN_OP_count)
        for (uint32_t t = 0; t < SUMS_LANES; t++)
            r.v += of_lane(x[0], 0, t) & 1;
    else
        r.v = of_lane(x[0], 0, i->op == KN_OP_readlane
                               ? (uint32_t)x[1].v % SUMS_LANES : 0);
    return r;
}

struct sums_value
sums_of_lanes(const struct sums *o, const struct kn_ins *i)
{
    struct sums_value none = { 0 }, x[3] = { none, none, none };
    int64_t out[SUMS_LANES * 4];
    struct sums_value *to = &o->value[KN_REF_INDEX(i->dst)];
    uint32_t n = kn_val(o->f, i->dst)->type.n;

    for (int a = 0; a < 3 && i->arg[a]; a++) {
        x[a] = sums_read(o, i->arg[a]);
        if (!x[a].known)
            return none;
    }
    if (i->op == KN_OP_count || i->op == KN_OP_readlane ||
        i->op == KN_OP_uniform)
        return together(i, x);
    if (n > 4 || (i->op == KN_OP_ldg ? !load(o, i, x, out)
                                     : n > 1 || !element(o, i, x, out)))
        return none;
    none = (struct sums_value){ .known = true, .lane = to->lane };
    if (!none.lane)
        none.lane = KN_NEW(o->f->c, int64_t, SUMS_LANES * 4);
    memcpy(none.lane, out, n * SUMS_LANES * sizeof *out);
    return none;
}
