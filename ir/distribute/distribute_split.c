/* distribute_split.c - a tile whose K is divided among workgroups: each wave
 * leaves its accumulators in memory and counts itself. The last of its shares
 * to come adds all of them up (acc.park), or each share a slice of the blocks
 * (acc.share), in the order of the shares, so that the sum has the same bits
 * whoever does it. No wave depends on one that has not begun, except where a
 * caller's one counter a tile leaves shares no memory but the output (count.wait).
 *
 * The area of a tile holds, share by share and wave by wave, 16x16 blocks of
 * sums of 4 or 8 bytes, row by row. Rows beyond the output are left out. */
#include "split.h"

kn_ref
dist_range(struct dist *d, kn_ref base, int64_t bytes)
{
    return dist_op(d, KN_OP_rsrc, (struct kn_type){ KN_T_rsrc, 1, 0 }, base,
                   dist_int(d, bytes));
}

static uint32_t
sum_size(const struct dist *d)
{
    return 4 * kn_sum_dwords(d->in);
}

static uint32_t
share_bytes(const struct dist *d)
{
    return d->in->shape.bm * d->in->shape.bn * sum_size(d);
}

/* `splits` shares from s.i64 address `base` on. */
static struct area
open_area(struct dist *d, const struct dist_tile *acc, kn_ref base,
          kn_ref rows, uint32_t splits)
{
    struct kn_frag a = kn_fragment(d->in, 'a');
    struct area x = { .share = share_bytes(d), .size = sum_size(d) };

    x.across = acc->nreg / a.count;
    x.type = kn_val(d->out, acc->reg[0])->type;
    x.rows = rows;
    x.r = dist_range(d, base, (int64_t)x.share * splits);
    x.row = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, d->wave_m, a.count * 16),
                    d->t);
    x.lane = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, d->t, 16 * x.size),
                     dist_ic(d, KN_OP_mul, d->q, 4 * x.size));
    x.lane = dist_i2(d, KN_OP_add, x.lane,
                     dist_ic(d, KN_OP_mul, d->wave, acc->nreg * 256 * x.size));
    return x;
}

/* Of block n in share 0; out of range for a row that is not there. */
static kn_ref
block_offset(struct dist *d, const struct area *x, uint32_t n)
{
    kn_ref row = dist_ic(d, KN_OP_add, x->row, n / x->across * 16);
    kn_ref in = dist_op(d, KN_OP_slt, kn_vb1, row, x->rows);

    return dist_only_if(d, in, dist_ic(d, KN_OP_add, x->lane, (int64_t)n * 256 * x->size));
}

void
dist_park_block(struct dist *d, const struct area *x, kn_ref acc, uint32_t n)
{
    uint8_t elem = x->size == 8 ? KN_T_f64 : KN_T_f32;
    uint32_t each = 16 / x->size;
    kn_ref v = dist_as_type(d, acc, elem), at = block_offset(d, x, n);

    for (uint32_t k = 0; k < 4; k += each) {
        kn_ref part = each == 4 ? v
                    : dist_op(d, KN_OP_slice, dist_vec(elem, each), v, 0);
        struct kn_ins *s;

        if (each < 4)
            d->out->ins[d->out->nins - 1].attr[KN_A_first] = (int32_t)k;
        s = dist_stg(d, x->r, at, part, elem);
        s->attr[KN_A_offset] = (int32_t)(k * x->size);
        s->attr[KN_A_coh] = 1;
    }
}

kn_ref
dist_arrive(struct dist *d, kn_ref r, kn_ref at, kn_ref most)
{
    kn_ref old = dist_temp(d, kn_v32);
    struct kn_ins *n = dist_add(d, KN_OP_arrive, old);

    n->arg[0] = r;
    n->arg[1] = at;
    n->arg[2] = most;
    return old;
}

kn_ref
dist_count_lanes(struct dist *d, kn_ref r, kn_ref at, kn_ref most)
{
    kn_ref old;

    dist_add(d, KN_OP_sched, 0);
    dist_add(d, KN_OP_fence, 0)->attr[KN_A_vm] = 0;
    old = dist_arrive(d, r, at, most);
    dist_add(d, KN_OP_sched, 0);
    return old;
}

kn_ref
dist_count_at(struct dist *d, kn_ref r, kn_ref at, kn_ref most)
{
    kn_ref first = dist_op(d, KN_OP_eq, kn_vb1, d->lane, dist_int(d, 0));

    return dist_count_lanes(d, r, dist_only_if(d, first, at), most);
}

/* The count wraps to zero with the last share, so it is ready for the next
 * launch. */
static kn_ref
count_in(struct dist *d, kn_ref counters, uint32_t splits)
{
    kn_ref r = dist_range(d, dist_address(d, counters, 0, 0, 0),
                     4 * (int64_t)kn_waves(d->in));
    kn_ref at = dist_ic(d, KN_OP_mul, d->wave, 4);

    return dist_op(d, KN_OP_uniform, kn_s32,
                   dist_count_at(d, r, at, dist_int(d, splits - 1)), 0);
}

/* count.in: every wave of every workgroup has one counter. */
kiln_status
expand_countin(struct dist *d, const struct kn_ins *i)
{
    kn_ref r = dist_range(d, dist_address(d, dist_operand(d, i->arg[0]), 0, 0, 0), 4);

    dist_count_at(d, r, dist_int(d, 0), dist_operand(d, i->arg[1]));
    return KILN_OK;
}

kn_ref
dist_count_seen(struct dist *d, kn_ref r, kn_ref at, kn_ref most)
{
    kn_ref seen = dist_temp(d, kn_v32);
    struct kn_ins *l = dist_add(d, KN_OP_ldg, seen);

    l->arg[0] = r;
    l->arg[1] = at;
    l->attr[KN_A_elem] = KN_T_i32;
    l->attr[KN_A_coh] = 2;
    dist_add(d, KN_OP_fence, 0)->attr[KN_A_vm] = 0;
    return dist_op(d, KN_OP_sge, kn_sb1, dist_op(d, KN_OP_uniform, kn_s32, seen, 0),
                   most);
}

/* count.wait: for as many counts as a workgroup has waves. */
kiln_status
expand_countwait(struct dist *d, const struct kn_ins *i)
{
    kn_ref r = dist_range(d, dist_address(d, dist_operand(d, i->arg[0]), 0, 0, 0), 4);
    kn_ref at = dist_op(d, KN_OP_mov, kn_v32, dist_int(d, 0), 0), enough;

    dist_add(d, KN_OP_loop, 0);
    enough = dist_count_seen(d, r, at, dist_int(d, kn_waves(d->in)));
    dist_add(d, KN_OP_break, 0)->arg[0] = enough;
    dist_add(d, KN_OP_end, 0);
    return KILN_OK;
}

kn_ref
dist_result_of(struct dist *d, const struct kn_ins *i, struct kn_type type)
{
    struct dist_tile *t = dist_tile(d, i->dst);

    if (!t->val) {
        t->kind = DT_SCALAR;
        t->val = dist_named(d, type, "%s", kn_val(d->in, i->dst)->name);
    }
    return t->val;
}

struct area
dist_open_own(struct dist *d, const struct kn_ins *i)
{
    kn_ref base = dist_address(d, dist_operand(d, i->arg[1]),
                               dist_operand(d, i->arg[3]),
                               dist_int(d, share_bytes(d)), 0);

    return open_area(d, dist_tile(d, i->arg[0]), base, dist_operand(d, i->arg[4]), 1);
}

/* acc.park: stores this share and counts it; true for the last to come. */
kiln_status
expand_park(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *acc = dist_tile(d, i->arg[0]);
    uint32_t splits = (uint32_t)i->attr[KN_A_splits];
    struct area x = dist_open_own(d, i);
    struct kn_ins *last;
    kn_ref seen;

    for (uint32_t n = 0; n < acc->nreg; n++)
        dist_park_block(d, &x, acc->reg[n], n);
    seen = count_in(d, dist_operand(d, i->arg[2]), splits);
    last = dist_add(d, KN_OP_sge, dist_result_of(d, i, kn_sb1));
    last->arg[0] = seen;
    last->arg[1] = dist_int(d, splits - 1);
    return KILN_OK;
}

kn_ref
dist_load_block(struct dist *d, const struct area *x, kn_ref at)
{
    uint32_t each = 16 / x->size;
    kn_ref part[2], v;

    for (uint32_t k = 0; k < 4 / each; k++) {
        struct kn_ins *l;

        part[k] = dist_temp(d, dist_vec(x->type.elem, each));
        l = dist_add(d, KN_OP_ldg, part[k]);
        l->arg[0] = x->r;
        l->arg[1] = at;
        l->attr[KN_A_offset] = (int32_t)(16 * k);
        l->attr[KN_A_elem] = x->type.elem;
        l->attr[KN_A_coh] = 1;
    }
    if (each == 4)
        return part[0];
    v = dist_temp(d, x->type);
    dist_cat_to(d, v, part, 2);
    return v;
}

static kn_ref
is_own(struct dist *d, const struct joined *j, uint32_t share)
{
    if (j->is)
        return j->is[share];
    return dist_op(d, KN_OP_eq, kn_sb1, j->own, dist_int(d, share));
}

void
dist_place_of(struct dist *d, const struct joined *j, kn_ref at, uint32_t share, kn_ref to)
{
    kn_ref own = is_own(d, j, share);
    struct kn_ins *n;

    at = dist_ic(d, KN_OP_add, at, (int64_t)share * j->x->share);
    n = dist_add(d, KN_OP_select, to);
    n->arg[0] = own;
    n->arg[1] = dist_int(d, DIST_NEVER);
    n->arg[2] = at;
}

kn_ref
dist_any_share(struct dist *d, const struct joined *j, kn_ref at, uint32_t share)
{
    kn_ref arg[3] = { 0, dist_int(d, DIST_NEVER), 0 };

    arg[2] = dist_ic(d, KN_OP_add, at, (int64_t)share * j->x->share);
    if (!j->own)
        return dist_load_block(d, j->x, arg[2]);
    arg[0] = is_own(d, j, share);
    return dist_load_block(d, j->x, dist_op3(d, KN_OP_select, kn_v32, arg));
}

static enum kn_op
sum_op(const struct dist *d, kn_ref a)
{
    bool real = kn_elems[kn_val(d->out, a)->type.elem].kind == KN_E_FLOAT;

    return real ? KN_OP_fadd : KN_OP_add;
}

void
dist_sum_to(struct dist *d, kn_ref to, kn_ref a, kn_ref b)
{
    struct kn_ins *n = dist_add(d, sum_op(d, a), to);

    n->arg[0] = a;
    n->arg[1] = b;
}

kn_ref
dist_sum_of(struct dist *d, kn_ref a, kn_ref b)
{
    return dist_op(d, sum_op(d, a), kn_val(d->out, a)->type, a, b);
}

void
dist_add_shares(struct dist *d, const struct joined *j, kn_ref acc, const kn_ref *v)
{
    kn_ref sum = 0;

    for (uint32_t s = 0; s < j->splits; s++) {
        kn_ref arg[3] = { 0, acc, v[s] }, x = v[s];

        if (j->own) {
            arg[0] = is_own(d, j, s);
            x = dist_op3(d, KN_OP_select, kn_val(d->out, acc)->type, arg);
        }
        if (s == j->splits - 1 && d->turn)
            dist_sum_to(d, acc, sum, x);
        else
            sum = s ? dist_sum_of(d, sum, x) : x;
    }
    if (!d->turn)
        dist_move(d, acc, sum);
}

/* Blocks n .. end: loads[] of all, then their sums. */
static void
join_blocks(struct dist *d, const struct joined *j, const kn_ref *acc,
            uint32_t n, uint32_t end)
{
    uint32_t loads = j->splits == 2 ? 1 : j->splits;
    kn_ref *v = KN_NEW(d->c, kn_ref, (size_t)(end - n) * loads);

    for (uint32_t b = n; b < end; b++) {
        kn_ref at = block_offset(d, j->x, b), *to = v + (size_t)(b - n) * loads;

        if (loads == 1)
            *to = dist_load_block(d, j->x, at);
        for (uint32_t s = 0; loads > 1 && s < loads; s++)
            to[s] = dist_any_share(d, j, at, s);
    }
    dist_add(d, KN_OP_sched, 0);
    for (uint32_t b = n; b < end; b++) {
        const kn_ref *of = v + (size_t)(b - n) * loads;

        if (loads == 1)
            dist_move(d, acc[b], dist_sum_of(d, acc[b], *of));
        else
            dist_add_shares(d, j, acc[b], of);
    }
    dist_add(d, KN_OP_sched, 0);
}

/* Blocks from .. to, as many loads at a time as 64 registers hold; 128 beside 16
 * blocks, whose loop had more, or of f64. */
static void
join_span(struct dist *d, const struct joined *j, const struct dist_tile *acc,
          struct dist_span of)
{
    uint32_t room = acc->nreg == 16 ? 32 : 16, splits = j->splits;
    uint32_t batch = splits < 3 ? 16 : splits < room ? room / splits : 1;

    for (uint32_t n = of.from; n < of.to; n += batch)
        join_blocks(d, j, acc->reg, n, n + batch < of.to ? n + batch : of.to);
}

void
dist_open_joined(struct dist *d, const struct kn_ins *i, const kn_ref of[3],
                 struct area *x, struct joined *j)
{
    const struct dist_tile *acc = dist_tile(d, i->arg[0]);
    uint32_t splits = (uint32_t)i->attr[KN_A_splits];
    kn_ref area = dist_operand(d, of[0]), own = dist_operand(d, of[1]);
    kn_ref rest = splits == 2 ? dist_i2(d, KN_OP_sub, dist_int(d, 1), own) : 0;
    kn_ref share = rest ? dist_int(d, share_bytes(d)) : 0;
    kn_ref base = dist_address(d, area, rest, share, 0);

    *x = open_area(d, acc, base, dist_operand(d, of[2]), rest ? 1 : splits);
    *j = (struct joined){ x, own, splits, i->attr[KN_A_pairs] != 0, NULL };
}

/* acc.join */
kiln_status
expand_join(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *acc = dist_tile(d, i->arg[0]);
    struct area x;
    struct joined j;

    if (i->attr[KN_A_turns]) {
        dist_join_turn(d, acc);
        return KILN_OK;
    }
    dist_open_joined(d, i, i->arg + 1, &x, &j);
    if (acc->nreg <= 2 && !i->arg[4])
        j.own = 0;
    if (i->arg[4])
        dist_join_slices(d, &j, acc, dist_operand(d, i->arg[4]));
    else
        join_span(d, &j, acc, (struct dist_span){ 0, acc->nreg });
    return KILN_OK;
}
