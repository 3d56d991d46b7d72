/* distribute_amax.c - acc.amax: the largest magnitude of what a tile stores.
 * Bits of floats that are not negative are in order as unsigned numbers, those
 * of a NaN the largest: a lane keeps its largest over the parts of a tile, a
 * wave raises memory once, of sums of f64 an f64. */
#include "distribute.h"

/* The accumulators of a part, and what is left of the output from the tile's
 * origin on. */
struct amax {
    struct dist *d;
    const struct dist_tile *t;
    struct dist_epilogue e;
    uint32_t first, end;     /* row blocks */
    kn_ref rows, cols;
    const kn_ref *ids;       /* NULL, or which name the rows */
    struct dist_rows named;
};

static void
raise_by(struct dist *d, kn_ref to, kn_ref v)
{
    struct kn_ins *n = dist_add(d, KN_OP_amax, to);

    n->arg[0] = v;
    n->arg[1] = to;
    n->attr[KN_A_mode] = 1;
}

static void
take_all(const struct amax *a)
{
    for (uint32_t n = a->first * a->e.b.count; n < a->end * a->e.b.count; n++)
        raise_by(a->d, a->d->most, a->t->reg[n]);
}

/* By column block: 1 for each of a lane's columns that is within, else 0. */
static kn_ref *
columns_within(const struct amax *a)
{
    struct dist *d = a->d;
    kn_ref *in = KN_NEW(d->c, kn_ref, a->e.b.count);

    for (uint32_t y = 0; y < a->e.b.count; y++) {
        kn_ref one[4];

        for (int k = 0; k < 4; k++) {
            kn_ref col = dist_ic(d, KN_OP_add, a->e.col0, y * 16 + k);
            kn_ref yes = dist_op(d, KN_OP_slt, kn_vb1, col, a->cols);

            yes = dist_op3(d, KN_OP_select, kn_v32,
                           (kn_ref[3]){ yes, dist_int(d, 0x3f800000),
                                        dist_int(d, 0) });
            one[k] = dist_op(d, KN_OP_bits, kn_vf32, yes, 0);
        }
        in[y] = dist_as_type(d, dist_floats(d, one, 4), kn_val(d->out, d->most)->type.elem);
    }
    return in;
}

static kn_ref
row_within(const struct amax *a, uint32_t x)
{
    struct dist *d = a->d;

    if (a->ids)
        return dist_op(d, KN_OP_ult, kn_vb1,
                       dist_row_offset(d, &a->named, a->ids[x]),
                       dist_int(d, DIST_NEVER));
    return dist_op(d, KN_OP_slt, kn_vb1, dist_ic(d, KN_OP_add, a->e.row0, x * 16),
                   a->rows);
}

/* The most of row block x, zero beyond the output. */
static kn_ref
of_row(const struct amax *a, uint32_t x, kn_ref most)
{
    struct dist *d = a->d;
    struct kn_type t = kn_val(d->out, most)->type;
    kn_ref arg[3] = { 0, most, kn_flt(d->out, 0) };

    if (t.elem == KN_T_f32) {
        arg[1] = dist_op(d, KN_OP_bits, kn_v32, most, 0);
        arg[2] = dist_int(d, 0);
    }
    arg[0] = row_within(a, x);
    most = dist_op3(d, KN_OP_select, kn_val(d->out, arg[1])->type, arg);
    return t.elem == KN_T_f32 ? dist_op(d, KN_OP_bits, kn_vf32, most, 0) : most;
}

/* What is within the output alone: what lies beyond it may be anything. in: of its
 * columns, or NULL, where all are. */
static void
take_within(const struct amax *a, const kn_ref *in)
{
    struct dist *d = a->d;
    struct kn_type four = dist_acc_type(d, a->t->reg[0]);
    kn_ref zero = kn_flt(d->out, 0);

    for (uint32_t x = a->first; x < a->end; x++) {
        kn_ref most = dist_temp(d, dist_vec(four.elem, 1));

        dist_move(d, most, zero);
        for (uint32_t y = 0; y < a->e.b.count; y++) {
            kn_ref acc = a->t->reg[x * a->e.b.count + y];

            if (in)
                acc = dist_above(d, four, (kn_ref[4]){ in[y], zero, acc, zero });
            raise_by(d, most, acc);
        }
        raise_by(d, d->most, of_row(a, x, most));
    }
}

/* Of u, unsigned: rows of 16 lanes side by side, then the four of them. */
static kn_ref
of_wave(struct dist *d, kn_ref u)
{
    kn_ref all = 0;

    u = dist_op(d, KN_OP_nmax, kn_v32, u, 0);
    d->out->ins[d->out->nins - 1].attr[KN_A_parts] = 16;
    for (int k = 0; k < 4; k++) {
        kn_ref one = dist_op(d, KN_OP_readlane, kn_s32, u, dist_int(d, 16 * k));

        all = all ? dist_op(d, KN_OP_umax, kn_s32, all, one) : one;
    }
    return all;
}

/* Of 64 bits the upper halves decide, then the lower ones of those that have the
 * largest. */
static kn_ref
of_wave_wide(struct dist *d)
{
    kn_ref both = dist_op(d, KN_OP_bits, dist_vec(KN_T_i32, 2), d->most, 0);
    kn_ref high = dist_slice(d, both, 1), most[2], is[3];

    is[1] = dist_slice(d, both, 0);
    most[1] = of_wave(d, high);
    is[0] = dist_op(d, KN_OP_eq, kn_vb1, high, most[1]);
    is[2] = dist_int(d, 0);
    most[0] = of_wave(d, dist_op3(d, KN_OP_select, kn_v32, is));
    return dist_op(d, KN_OP_bits, dist_vec(KN_T_i64, 1), dist_cat(d, most, 2), 0);
}

/* One lane of each wave does; the others' places are no memory. */
static void
put_one(struct dist *d, kn_ref p, kn_ref most)
{
    bool wide = kn_val(d->out, most)->type.elem == KN_T_i64;
    kn_ref base = dist_address(d, p, 0, 0, 0), off;
    kn_ref first = dist_op(d, KN_OP_eq, kn_vb1, d->lane, dist_int(d, 0));
    kn_ref r = dist_op(d, KN_OP_rsrc, (struct kn_type){ KN_T_rsrc, 1, 0 }, base,
                       dist_int(d, wide ? 8 : 4));
    struct kn_ins *n;

    off = dist_op3(d, KN_OP_select, kn_v32, (kn_ref[3]){
        first, dist_int(d, 0), dist_int(d, DIST_NEVER) });
    n = dist_add(d, KN_OP_atmax, 0);
    n->arg[0] = r;
    n->arg[1] = off;
    n->arg[2] = most;
    n->attr[KN_A_elem] = wide ? KN_T_i64 : KN_T_i32;
}

static void
put_largest(struct dist *d, kn_ref p)
{
    bool wide = kn_val(d->out, d->most)->type.elem == KN_T_f64;

    put_one(d, p, wide ? of_wave_wide(d)
                       : of_wave(d, dist_op(d, KN_OP_bits, kn_v32, d->most, 0)));
}

/* A lane's own once more keeps it a value of lanes, for which LLVM has all operations. */
kiln_status
expand_wavemax(struct dist *d, const struct kn_ins *i)
{
    dist_move(d, i->dst, dist_i2(d, KN_OP_umax, i->arg[0], of_wave(d, i->arg[0])));
    return KILN_OK;
}

kiln_status
expand_raise(struct dist *d, const struct kn_ins *i)
{
    d->lane = dist_op(d, KN_OP_lane, kn_v32, 0, 0);
    put_one(d, i->arg[0], of_wave(d, i->arg[1]));
    return KILN_OK;
}

static kn_ref
left_of(struct dist *d, kn_ref all, kn_ref from, int64_t most)
{
    kn_ref n = dist_i2(d, KN_OP_sub, dist_operand(d, all),
                       dist_operand(d, from));

    return dist_clamp(d, n, 0, most);
}

kiln_status
expand_accmax(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]);
    struct amax a = { .d = d, .t = t, .e = dist_epilogue(d, t) };
    uint32_t part = (uint32_t)i->attr[KN_A_part];
    uint32_t parts = (uint32_t)i->attr[KN_A_parts];
    int64_t bm = d->in->shape.wm * a.e.a.count * 16;
    int64_t bn = d->in->shape.wn * a.e.b.count * 16;
    kn_ref whole;

    a.first = part * a.e.a.count / parts;
    a.end = (part + 1) * a.e.a.count / parts;
    a.rows = left_of(d, i->arg[4], i->arg[2], bm);
    a.cols = left_of(d, i->arg[5], i->arg[3], bn);
    if (!part) {
        d->most = dist_temp(d, dist_vec(dist_acc_type(d, t->reg[0]).elem, 1));
        dist_move(d, d->most, kn_flt(d->out, 0));
    }
    whole = dist_op(d, KN_OP_band, kn_sb1,
                    dist_op(d, KN_OP_sge, kn_sb1, a.rows, dist_int(d, bm)),
                    dist_op(d, KN_OP_sge, kn_sb1, a.cols, dist_int(d, bn)));
    dist_add(d, KN_OP_if, 0)->arg[0] = whole;
    take_all(&a);
    dist_add(d, KN_OP_else, 0);
    take_within(&a, columns_within(&a));
    dist_add(d, KN_OP_end, 0);
    if (part + 1 == parts)
        put_largest(d, dist_operand(d, i->arg[1]));
    return KILN_OK;
}

/* rows.amax: of rows that ids name, all at once. */
kiln_status
expand_rowamax(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]);
    struct amax a = { .d = d, .t = t, .e = dist_epilogue(d, t),
                      .ids = dist_tile(d, i->arg[2])->reg };
    int64_t bn = d->in->shape.wn * a.e.b.count * 16;
    kn_ref whole;

    a.end = a.e.a.count;
    a.named = (struct dist_rows){ 0, dist_operand(d, i->arg[3]),
                                  dist_operand(d, i->arg[4]), dist_int(d, 1), true,
                                  i->attr[KN_A_plain] != 0 };
    a.cols = dist_clamp(d, dist_operand(d, i->arg[5]), 0, bn);
    d->most = dist_temp(d, kn_vf32);
    dist_move(d, d->most, kn_flt(d->out, 0));
    whole = dist_op(d, KN_OP_sge, kn_sb1, a.cols, dist_int(d, bn));
    dist_add(d, KN_OP_if, 0)->arg[0] = whole;
    take_within(&a, NULL);
    dist_add(d, KN_OP_else, 0);
    take_within(&a, columns_within(&a));
    dist_add(d, KN_OP_end, 0);
    put_largest(d, dist_operand(d, i->arg[1]));
    return KILN_OK;
}
