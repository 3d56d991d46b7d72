/* distribute_slices.c - shares of a tile that add up a slice of it each, of which every
 * wave has its own: 16x16 blocks one after the other (acc.share). A wave leaves all
 * slices but its own in memory, counts itself in the counter of each and looks into
 * that of its own until all have come. */
#include "split.h"

enum { LOOKS = 64 };         /* some 40 us: all shares of a tile run at once or none
                              * of the waits is worth it */

/* Counter s of a wave counts the shares that have left slice s in memory, and
 * once more, when it looks no longer, the share whose slice it is. The last of so
 * many to count wraps it to zero and sums the slice: the others will not. */
struct meeting {
    struct area x;
    const struct dist_tile *acc;
    kn_ref share;
    struct dist_counter own; /* of this share's slice */
    uint32_t splits;
    kn_ref met;              /* s.i32: 1 if all have come while this one looked */
};

static uint32_t
slice_length(const struct dist_tile *acc, uint32_t splits)
{
    return (acc->nreg + splits - 1) / splits;
}

struct dist_span
dist_slice_of(const struct dist_tile *acc, uint32_t s, uint32_t splits)
{
    uint32_t each = slice_length(acc, splits), from = s * each, to = from + each;

    return (struct dist_span){ from < acc->nreg ? from : acc->nreg,
                               to < acc->nreg ? to : acc->nreg };
}

void
dist_if_mine(struct dist *d, kn_ref mine, uint32_t s)
{
    kn_ref here = dist_op(d, KN_OP_readlane, kn_s32, mine, dist_int(d, s));

    here = dist_op(d, KN_OP_ne, kn_sb1, here, dist_int(d, 0));
    dist_add(d, KN_OP_if, 0)->arg[0] = here;
}

/* Stores this share's slice, or all others: rows of the rest are not there. */
static void
leave_slices(struct dist *d, const struct meeting *m, bool own)
{
    for (uint32_t s = 0; s < m->splits; s++) {
        struct dist_span of = dist_slice_of(m->acc, s, m->splits);
        kn_ref mine = dist_op(d, KN_OP_eq, kn_sb1, m->share, dist_int(d, s));
        kn_ref none = dist_int(d, 0);
        struct area x = m->x;

        x.rows = dist_op3(d, KN_OP_select, kn_s32, (kn_ref[3]){
            mine, own ? x.rows : none, own ? none : x.rows });
        for (uint32_t n = of.from; n < of.to; n++)
            dist_park_block(d, &x, m->acc->reg[n], n);
    }
}

static struct meeting
open_meeting(struct dist *d, const struct kn_ins *i)
{
    uint32_t splits = (uint32_t)i->attr[KN_A_splits];
    struct meeting m = { .x = dist_open_own(d, i), .acc = dist_tile(d, i->arg[0]),
                         .share = dist_operand(d, i->arg[3]), .splits = splits,
                         .met = dist_temp(d, kn_s32) };
    kn_ref counters = dist_address(d, dist_operand(d, i->arg[2]), d->wave,
                                   dist_int(d, 4 * splits), 0);

    m.own.r = dist_range(d, counters, 4 * (int64_t)splits);
    m.own.at = dist_op(d, KN_OP_mov, kn_v32, dist_ic(d, KN_OP_mul, m.share, 4), 0);
    m.own.most = dist_int(d, splits);
    return m;
}

/* In all counters of the wave: what each had before. */
static kn_ref
count_all(struct dist *d, const struct meeting *m)
{
    kn_ref one = dist_op(d, KN_OP_slt, kn_vb1, d->lane, m->own.most);
    kn_ref at = dist_ic(d, KN_OP_mul, d->lane, 4);

    return dist_count_lanes(d, m->own.r, dist_only_if(d, one, at), m->own.most);
}

/* No one else will count there. */
static void
reset(struct dist *d, const struct meeting *m)
{
    kn_ref zero = dist_op(d, KN_OP_mov, kn_v32, dist_int(d, 0), 0);
    kn_ref first = dist_op(d, KN_OP_eq, kn_vb1, d->lane, dist_int(d, 0));

    dist_stg(d, m->own.r, dist_only_if(d, first, m->own.at), zero,
             KN_T_i32)->attr[KN_A_coh] = 2;
}

/* Who has not met all others leaves its slice to them and counts itself in its own
 * counter again; but they may all have come meanwhile. */
static void
settle(struct dist *d, const struct meeting *m)
{
    kn_ref missed = dist_op(d, KN_OP_eq, kn_sb1, m->met, dist_int(d, 0));

    dist_add(d, KN_OP_if, 0)->arg[0] = missed;
    leave_slices(d, m, true);
    dist_count_out(d, &m->own, m->met);
    dist_add(d, KN_OP_else, 0);
    reset(d, m);
    dist_add(d, KN_OP_end, 0);
}

/* acc.share: of lane s 1 if this wave sums slice s. */
kiln_status
expand_share(struct dist *d, const struct kn_ins *i)
{
    struct meeting m = open_meeting(d, i);
    kn_ref old, mine, left, one = dist_int(d, 1), none = dist_int(d, 0);

    leave_slices(d, &m, false);
    old = count_all(d, &m);
    dist_look(d, &m.own, dist_int(d, LOOKS), m.met);
    settle(d, &m);
    left = dist_op(d, KN_OP_eq, kn_vb1, old, dist_int(d, m.splits));
    left = dist_op3(d, KN_OP_select, kn_v32, (kn_ref[3]){ left, one, none });
    mine = dist_op(d, KN_OP_eq, kn_vb1, d->lane, m.share);
    mine = dist_op3(d, KN_OP_select, kn_v32, (kn_ref[3]){ mine, m.met, left });
    dist_move(d, dist_result_of(d, i, kn_v32), mine);
    return KILN_OK;
}

/* Register b of a slice whose number is uniform. */
struct picked {
    const struct dist_tile *acc;
    const kn_ref *is;        /* n == s, by s */
    uint32_t splits, each;
};

static kn_ref
pick(struct dist *d, const struct picked *x, uint32_t b)
{
    kn_ref v = x->acc->reg[b];

    for (uint32_t s = 1; s < x->splits && s * x->each + b < x->acc->nreg; s++)
        v = dist_op3(d, KN_OP_select, kn_val(d->out, v)->type,
                     (kn_ref[3]){ x->is[s], x->acc->reg[s * x->each + b], v });
    return v;
}

static void
put_back(struct dist *d, const struct picked *x, uint32_t b, kn_ref v)
{
    for (uint32_t s = 0; s < x->splits && s * x->each + b < x->acc->nreg; s++) {
        kn_ref acc = x->acc->reg[s * x->each + b];

        dist_move(d, acc, dist_op3(d, KN_OP_select, kn_val(d->out, acc)->type,
                                   (kn_ref[3]){ x->is[s], v, acc }));
    }
}

/* Of a block whose number is uniform; out of range as block_offset is, and behind
 * the last block. */
static kn_ref
offset_of(struct dist *d, const struct area *x, const struct dist_tile *acc, kn_ref n)
{
    kn_ref down = dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_udiv, n, x->across), 16);
    kn_ref row = dist_i2(d, KN_OP_add, x->row, down), in;
    kn_ref there = dist_op(d, KN_OP_slt, kn_sb1, n, dist_int(d, acc->nreg));
    kn_ref rows = dist_op3(d, KN_OP_select, kn_s32, (kn_ref[3]){
        there, x->rows, dist_int(d, 0) });

    in = dist_op(d, KN_OP_slt, kn_vb1, row, rows);
    return dist_only_if(d, in, dist_i2(d, KN_OP_add, x->lane,
                                       dist_ic(d, KN_OP_mul, n, 256 * x->size)));
}

/* Blocks b .. end of slice n. */
static void
join_picked(struct dist *d, const struct joined *j, const struct picked *x, kn_ref n,
            struct dist_span of)
{
    uint32_t loads = j->splits == 2 ? 1 : j->splits;
    kn_ref *v = KN_NEW(d->c, kn_ref, (size_t)(of.to - of.from) * loads);
    kn_ref first = dist_ic(d, KN_OP_mul, n, x->each);

    for (uint32_t b = of.from; b < of.to; b++) {
        kn_ref at = offset_of(d, j->x, x->acc, dist_ic(d, KN_OP_add, first, b));

        for (uint32_t s = 0; s < loads; s++)
            v[(b - of.from) * loads + s] = loads == 1 ? dist_load_block(d, j->x, at)
                                                      : dist_any_share(d, j, at, s);
    }
    dist_add(d, KN_OP_sched, 0);
    for (uint32_t b = of.from; b < of.to; b++) {
        const kn_ref *from = v + (b - of.from) * loads;
        kn_ref own = pick(d, x, b), sum = dist_temp(d, kn_val(d->out, own)->type);

        dist_move(d, sum, own);
        if (loads == 1)
            dist_move(d, sum, dist_sum_of(d, sum, *from));
        else
            dist_add_shares(d, j, sum, from);
        put_back(d, x, b, sum);
    }
    dist_add(d, KN_OP_sched, 0);
}

/* The slices that acc.share says are this wave's, one after the other: most often
 * one, so that one text serves all. */
void
dist_join_slices(struct dist *d, const struct joined *j, const struct dist_tile *acc,
            kn_ref mine)
{
    uint32_t loads = j->splits == 2 ? 1 : j->splits, batch = 16 / loads;
    kn_ref left = dist_temp(d, kn_v32), n, end, is[16];
    struct picked x = { acc, is, j->splits, slice_length(acc, j->splits) };

    dist_move(d, left, mine);
    dist_add(d, KN_OP_loop, 0);
    n = dist_op(d, KN_OP_eq, kn_vb1, dist_op(d, KN_OP_scan, kn_v32, left, 0),
                dist_int(d, 0));
    n = dist_op(d, KN_OP_count, kn_s32, n, 0);
    end = dist_op(d, KN_OP_sge, kn_sb1, n, dist_int(d, j->splits));
    dist_add(d, KN_OP_break, 0)->arg[0] = end;
    for (uint32_t s = 0; s < j->splits; s++)
        is[s] = dist_op(d, KN_OP_eq, kn_sb1, n, dist_int(d, s));
    for (uint32_t b = 0; b < x.each; b += batch)
        join_picked(d, j, &x, n, (struct dist_span){
            b, b + batch < x.each ? b + batch : x.each });
    end = dist_op(d, KN_OP_eq, kn_vb1, d->lane, n);
    dist_move(d, left, dist_op3(d, KN_OP_select, kn_v32, (kn_ref[3]){
        end, dist_int(d, 0), left }));
    dist_add(d, KN_OP_end, 0);
}
