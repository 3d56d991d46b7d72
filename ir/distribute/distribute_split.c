/* distribute_split.c - a tile whose K is divided among workgroups: each wave
 * leaves its accumulators in memory and counts itself; the last of its shares
 * to come adds all of them up, in their order, so that the sum has the same
 * bits whoever that is. No wave waits for another.
 *
 * The area of a tile holds, share by share and wave by wave, 16x16 blocks of
 * 4-byte elements, row by row. Rows beyond the output are left out. */
#include "distribute.h"

enum { BLOCK = 1024 };

struct area {
    kn_ref r;                /* resource over all shares */
    kn_ref lane;             /* this lane's byte in block 0 of share 0 */
    kn_ref row, rows;        /* its row in the tile; rows there are */
    uint32_t share;          /* bytes from share to share */
    uint32_t across;         /* blocks of a wave along N */
    struct kn_type type;     /* of a lane's part of a block */
};

static kn_ref
range(struct dist *d, kn_ref base, int64_t bytes)
{
    return dist_op(d, KN_OP_rsrc, (struct kn_type){ KN_T_rsrc, 1, 0 }, base,
                   dist_int(d, bytes));
}

/* `splits` shares from s.i64 address `base` on. */
static struct area
open_area(struct dist *d, const struct dist_tile *acc, kn_ref base,
          kn_ref rows, uint32_t splits)
{
    struct kn_frag a = kn_fragment(d->in, 'a');
    struct area x = { .share = d->in->shape.bm * d->in->shape.bn * 4 };

    x.across = acc->nreg / a.count;
    x.type = kn_val(d->out, acc->reg[0])->type;
    x.rows = rows;
    x.r = range(d, base, (int64_t)x.share * splits);
    x.row = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, d->wave_m, a.count * 16),
                    d->t);
    x.lane = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, d->t, 64),
                     dist_ic(d, KN_OP_mul, d->q, 16));
    x.lane = dist_i2(d, KN_OP_add, x.lane,
                     dist_ic(d, KN_OP_mul, d->wave, acc->nreg * BLOCK));
    return x;
}

/* Of block n in share 0; out of range for a row that is not there. */
static kn_ref
block_offset(struct dist *d, const struct area *x, uint32_t n)
{
    kn_ref row = dist_ic(d, KN_OP_add, x->row, n / x->across * 16), arg[3];

    arg[0] = dist_op(d, KN_OP_slt, kn_vb1, row, x->rows);
    arg[1] = dist_ic(d, KN_OP_add, x->lane, (int64_t)n * BLOCK);
    arg[2] = dist_int(d, DIST_NEVER);
    return dist_op3(d, KN_OP_select, kn_v32, arg);
}

static void
store_block(struct dist *d, const struct area *x, kn_ref acc, uint32_t n)
{
    struct kn_type f = dist_vec(KN_T_f32, 4);
    kn_ref v = acc, at = block_offset(d, x, n);
    struct kn_ins *s;

    if (kn_val(d->out, acc)->type.elem != KN_T_f32)
        v = dist_op(d, KN_OP_bits, f, acc, 0);
    s = dist_add(d, KN_OP_stg, 0);
    s->arg[0] = x->r;
    s->arg[1] = at;
    s->arg[2] = v;
    s->attr[KN_A_elem] = KN_T_f32;
    s->attr[KN_A_coh] = 1;
}

/* One lane of the wave counts: the others' offset is out of range. The count
 * wraps to zero with the last share, so it is ready for the next launch. */
static kn_ref
count_in(struct dist *d, kn_ref counters, uint32_t splits)
{
    kn_ref r = range(d, dist_address(d, counters, 0, 0, 0),
                     4 * (int64_t)kn_waves(d->in));
    kn_ref arg[3], at, old = dist_temp(d, kn_v32);
    struct kn_ins *n;

    arg[0] = dist_op(d, KN_OP_eq, kn_vb1, d->lane, dist_int(d, 0));
    arg[1] = dist_ic(d, KN_OP_mul, d->wave, 4);
    arg[2] = dist_int(d, DIST_NEVER);
    at = dist_op3(d, KN_OP_select, kn_v32, arg);
    dist_add(d, KN_OP_sched, 0);
    dist_add(d, KN_OP_fence, 0)->attr[KN_A_vm] = 0;
    n = dist_add(d, KN_OP_arrive, old);
    n->arg[0] = r;
    n->arg[1] = at;
    n->arg[2] = dist_int(d, splits - 1);
    dist_add(d, KN_OP_sched, 0);
    return dist_op(d, KN_OP_uniform, kn_s32, old, 0);
}

/* acc.park: stores this share and counts it; true for the last to come. */
kiln_status
expand_park(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *acc = dist_tile(d, i->arg[0]), *t = dist_tile(d, i->dst);
    uint32_t splits = (uint32_t)i->attr[KN_A_splits];
    uint32_t share = d->in->shape.bm * d->in->shape.bn * 4;
    kn_ref base = dist_address(d, dist_operand(d, i->arg[1]),
                               dist_operand(d, i->arg[3]),
                               dist_int(d, share), 0), seen;
    struct area x = open_area(d, acc, base, dist_operand(d, i->arg[4]), 1);
    struct kn_ins *last;

    for (uint32_t n = 0; n < acc->nreg; n++)
        store_block(d, &x, acc->reg[n], n);
    seen = count_in(d, dist_operand(d, i->arg[2]), splits);
    if (!t->val) {
        t->kind = DT_SCALAR;
        t->val = dist_named(d, kn_sb1, "%s", kn_val(d->in, i->dst)->name);
    }
    last = dist_add(d, KN_OP_eq, t->val);
    last->arg[0] = seen;
    last->arg[1] = dist_int(d, splits - 1);
    return KILN_OK;
}

static kn_ref
load_block(struct dist *d, const struct area *x, kn_ref at, uint32_t share)
{
    kn_ref v = dist_temp(d, x->type);
    struct kn_ins *l;

    at = dist_ic(d, KN_OP_add, at, (int64_t)share * x->share);
    l = dist_add(d, KN_OP_ldg, v);

    l->arg[0] = x->r;
    l->arg[1] = at;
    l->attr[KN_A_elem] = x->type.elem;
    l->attr[KN_A_coh] = 1;
    return v;
}

/* acc = v[0] + v[1] + ..., from the left. */
static void
add_shares(struct dist *d, kn_ref acc, const kn_ref *v, uint32_t splits)
{
    struct kn_type t = kn_val(d->out, acc)->type;
    kn_ref sum = v[0];

    for (uint32_t s = 1; s < splits; s++)
        sum = dist_op(d, t.elem == KN_T_f32 ? KN_OP_fadd : KN_OP_add, t, sum,
                      v[s]);
    dist_move(d, acc, sum);
}

/* acc.join: as many loads at a time as 64 registers hold. */
kiln_status
expand_join(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *acc = dist_tile(d, i->arg[0]);
    uint32_t splits = (uint32_t)i->attr[KN_A_splits];
    uint32_t batch = splits < 16 ? 16 / splits : 1;
    kn_ref base = dist_address(d, dist_operand(d, i->arg[1]), 0, 0, 0);
    struct area x = open_area(d, acc, base, dist_operand(d, i->arg[2]), splits);
    kn_ref *v = KN_NEW(d->c, kn_ref, (size_t)batch * splits);

    for (uint32_t n = 0; n < acc->nreg; n += batch) {
        uint32_t end = n + batch < acc->nreg ? n + batch : acc->nreg;

        for (uint32_t b = n; b < end; b++) {
            kn_ref at = block_offset(d, &x, b);

            for (uint32_t s = 0; s < splits; s++)
                v[(b - n) * splits + s] = load_block(d, &x, at, s);
        }
        for (uint32_t b = n; b < end; b++)
            add_shares(d, acc->reg[b], v + (size_t)(b - n) * splits, splits);
        dist_add(d, KN_OP_sched, 0);
    }
    return KILN_OK;
}
