/* distribute_slices.c - shares of a tile that add up a slice of it each, of which every
 * wave has its own: 16x16 blocks one after the other (acc.share). A wave leaves all
 * slices but its own in memory, counts itself in the counter of each and looks into
 * that of its own until all have come. */
#include "split.h"

enum {
    LOOKS = 64,              /* some 40 us: all shares of a tile run at once or none
                              * of the waits is worth it */
    FEW = 16,                /* blocks of a wave, more have their sums in AGPRs */
    MANY = 12                /* shares */
};

/* A wave's accumulators in `splits` slices of whole units: of gate and up pairs. */
struct slicing {
    uint32_t splits, unit, units;
    uint32_t each;           /* units of a slice, the most of any */
};

/* Counter s of a wave counts the shares that have left slice s in memory, and
 * once more, when it looks no longer, the share whose slice it is. The last of so
 * many to count wraps it to zero and sums the slice: the others will not. */
struct meeting {
    struct area x;
    const struct dist_tile *acc;
    kn_ref share;            /* the slice that is this share's */
    struct dist_counter own; /* of that slice */
    struct slicing by;
    kn_ref met;              /* s.i32: 1 if all have come while this one looked */
};

/* Of many shares half as many units, or fewer: a slice has one or none, and each wave deals
 * them to other shares, so that all have as much to add up. Of fewer shares it takes as long
 * to store the slices that they had not to (predicted). */
static bool
is_dealt(const struct slicing *by)
{
    return 2 * by->units <= by->splits && by->splits >= MANY;
}

/* How many units the first s slices have. */
static uint32_t
units_before(const struct slicing *by, uint32_t s)
{
    uint32_t n = is_dealt(by) ? (s * by->units + by->splits - 1) / by->splits
                              : s * by->each;

    return n < by->units ? n : by->units;
}

static struct slicing
slicing_of(const struct dist_tile *acc, uint32_t splits, bool pairs)
{
    uint32_t unit = pairs ? 2 : 1, units = acc->nreg / unit;

    return (struct slicing){ splits, unit, units, (units + splits - 1) / splits };
}

static struct slicing
even_slicing(struct dist *d, const struct dist_tile *acc, uint32_t splits)
{
    struct slicing by = slicing_of(acc, splits, false);
    uint32_t rows = kn_fragment(d->in, 'a').count;

    by.each = kn_even_slice(rows, acc->nreg / rows, splits);
    return by;
}

static struct dist_span
slice_of(const struct slicing *by, uint32_t s)
{
    return (struct dist_span){ units_before(by, s) * by->unit,
                               units_before(by, s + 1) * by->unit };
}

/* The accumulators of the first n slices, n uniform. */
static kn_ref
before_slice(struct dist *d, const struct slicing *by, kn_ref n)
{
    if (is_dealt(by))
        n = dist_ic(d, KN_OP_udiv, dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, n, by->units),
                                           by->splits - 1), by->splits);
    return dist_ic(d, KN_OP_mul, n, (is_dealt(by) ? 1 : by->each) * by->unit);
}

static kn_ref
slice_of_share(struct dist *d, const struct slicing *by, kn_ref share)
{
    if (!is_dealt(by))
        return share;
    return dist_ic(d, KN_OP_urem, dist_i2(d, KN_OP_add, share, d->wave), by->splits);
}

/* Whether acc.share said of one of the slices from .. to - 1 that it is this wave's. */
static kn_ref
is_mine(struct dist *d, kn_ref mine, uint32_t from, uint32_t to)
{
    return dist_op(d, KN_OP_ne, kn_sb1,
                   dist_ic(d, KN_OP_and, mine, (1 << to) - (1 << from)), dist_int(d, 0));
}

/* Slices from .. to - 1, most often one of all: of more than three halves by turns, since
 * all that is jumped over waits for its instructions. */
static void
each_slice(struct dist *d, const struct dist_sliced *x, uint32_t from, uint32_t to)
{
    struct slicing by = slicing_of(x->acc, x->splits, false);
    uint32_t step = to - from > 3 ? (to - from + 1) / 2 : 1;

    for (uint32_t s = from; s < to; s += step) {
        uint32_t end = s + step < to ? s + step : to;
        kn_ref here;

        if (units_before(&by, s) == units_before(&by, end))
            continue;
        here = is_mine(d, x->mine, s, end);
        dist_add(d, KN_OP_if, 0)->arg[0] = here;
        if (step == 1)
            x->make(d, x->of, slice_of(&by, s));
        else
            each_slice(d, x, s, end);
        dist_add(d, KN_OP_end, 0);
    }
}

void
dist_each_slice(struct dist *d, const struct dist_sliced *x)
{
    each_slice(d, x, 0, x->splits);
}

/* Stores this share's slice, or all others: rows of the rest are not there. */
static void
leave_slices(struct dist *d, const struct meeting *m, bool own)
{
    for (uint32_t s = 0; s < m->by.splits; s++) {
        struct dist_span of = slice_of(&m->by, s);
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
                         .met = dist_temp(d, kn_s32) };
    kn_ref counters = dist_address(d, dist_operand(d, i->arg[2]), d->wave,
                                   dist_int(d, 4 * splits), 0);

    m.by = i->attr[KN_A_turns] ? even_slicing(d, m.acc, splits)
                               : slicing_of(m.acc, splits, i->attr[KN_A_pairs]);
    m.share = slice_of_share(d, &m.by, dist_operand(d, i->arg[3]));
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
    struct kn_ins *rare = dist_add(d, KN_OP_if, 0);

    rare->arg[0] = missed;
    rare->attr[KN_A_likely] = 2;
    leave_slices(d, m, true);
    dist_count_out(d, &m->own, m->met);
    dist_add(d, KN_OP_else, 0);
    reset(d, m);
    dist_add(d, KN_OP_end, 0);
}

/* Bits of the slices that are left to this wave, those of lanes whose counters had what
 * the last to count finds. */
static void
add_left(struct dist *d, const struct meeting *m, kn_ref old, kn_ref mine)
{
    kn_ref left = dist_op(d, KN_OP_eq, kn_vb1, old, dist_int(d, m->by.splits));
    kn_ref bits = dist_op(d, KN_OP_shl, kn_v32, dist_int(d, 1), d->lane), any;
    struct kn_ins *rare;

    any = dist_op(d, KN_OP_ne, kn_sb1, dist_op(d, KN_OP_count, kn_s32, left, 0), dist_int(d, 0));
    rare = dist_add(d, KN_OP_if, 0);
    rare->arg[0] = any;
    rare->attr[KN_A_likely] = 2;
    bits = dist_op3(d, KN_OP_select, kn_v32, (kn_ref[3]){ left, bits, dist_int(d, 0) });
    bits = dist_op(d, KN_OP_scan, kn_v32, bits, 0);
    bits = dist_op(d, KN_OP_readlane, kn_s32, bits, dist_int(d, 63));
    dist_move(d, mine, dist_i2(d, KN_OP_or, mine, bits));
    dist_add(d, KN_OP_end, 0);
}

/* A slice whose number is uniform, and its sums while they are added up. */
struct picked {
    const struct dist_tile *acc;
    kn_ref n;
    struct slicing by;
    struct dist_span of;     /* blocks of the slice, those of a shorter one are not there */
    kn_ref *sum;             /* of each of them */
    bool back, any;          /* any: of a slice that has none whatever there is */
};

static void
move_blocks(struct dist *d, const struct picked *x, uint32_t s)
{
    bool empty = units_before(&x->by, s) == units_before(&x->by, s + 1);
    struct dist_span slice = slice_of(&x->by, x->any && empty ? 0 : s);

    for (uint32_t b = x->of.from; b < x->of.to && slice.from + b < slice.to; b++) {
        kn_ref acc = x->acc->reg[slice.from + b], sum = x->sum[b - x->of.from];

        dist_move(d, x->back ? acc : sum, x->back ? sum : acc);
    }
}

/* Blocks of slice n, of from .. to, from their registers to the sums, or back: halves
 * of the slices by turns, since all that is jumped over waits for its instructions. */
static void
move_picked(struct dist *d, const struct picked *x, uint32_t from, uint32_t to)
{
    uint32_t mid = (from + to + 1) / 2;
    kn_ref below;

    if (to - from < 2) {
        move_blocks(d, x, from);
        return;
    }
    below = dist_op(d, KN_OP_slt, kn_sb1, x->n, dist_int(d, mid));
    dist_add(d, KN_OP_if, 0)->arg[0] = below;
    move_picked(d, x, from, mid);
    dist_add(d, KN_OP_else, 0);
    move_picked(d, x, mid, to);
    dist_add(d, KN_OP_end, 0);
}

/* Of a block whose number is uniform; out of range as block_offset is, and behind
 * the slice's end. */
static kn_ref
offset_of(struct dist *d, const struct area *x, kn_ref n, kn_ref end)
{
    kn_ref down = dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_udiv, n, x->across), 16);
    kn_ref row = dist_i2(d, KN_OP_add, x->row, down), in;
    kn_ref there = dist_op(d, KN_OP_slt, kn_sb1, n, end);
    kn_ref rows = dist_op3(d, KN_OP_select, kn_s32, (kn_ref[3]){
        there, x->rows, dist_int(d, 0) });

    in = dist_op(d, KN_OP_slt, kn_vb1, row, rows);
    return dist_only_if(d, in, dist_i2(d, KN_OP_add, x->lane,
                                       dist_ic(d, KN_OP_mul, n, 256 * x->size)));
}

static uint32_t
loads_of(const struct joined *j)
{
    return j->splits == 2 ? 1 : j->splits;
}

/* Blocks in registers at a time, more where so many sums are AGPRs. */
static uint32_t
blocks_at_a_time(const struct joined *j, uint32_t sums)
{
    return (sums > FEW ? 40 : 20) / (loads_of(j) + 1);
}

static void
join_picked(struct dist *d, const struct joined *j, struct picked *x)
{
    uint32_t loads = loads_of(j), many = x->of.to - x->of.from;
    kn_ref *v = KN_NEW(d->c, kn_ref, (size_t)many * loads);
    kn_ref first = dist_ic(d, KN_OP_add, before_slice(d, &x->by, x->n), x->of.from);
    kn_ref end = !is_dealt(&x->by) ? dist_int(d, x->acc->nreg)
               : before_slice(d, &x->by, dist_ic(d, KN_OP_add, x->n, 1));

    for (uint32_t b = 0; b < many; b++) {
        kn_ref at = offset_of(d, j->x, dist_ic(d, KN_OP_add, first, b), end);

        x->sum[b] = dist_temp(d, kn_val(d->out, x->acc->reg[x->of.from + b])->type);
        dist_move(d, x->sum[b], x->acc->reg[x->of.from + b]);
        for (uint32_t s = 0; s < loads; s++)
            v[b * loads + s] = loads == 1 ? dist_load_block(d, j->x, at)
                                          : dist_any_share(d, j, at, s);
    }
    dist_add(d, KN_OP_sched, 0);
    x->back = false;
    move_picked(d, x, 0, x->by.splits);
    for (uint32_t b = 0; b < many; b++) {
        if (loads == 1)
            dist_move(d, x->sum[b], dist_sum_of(d, x->sum[b], v[b]));
        else
            dist_add_shares(d, j, x->sum[b], v + b * loads);
    }
    x->back = true;
    move_picked(d, x, 0, x->by.splits);
    dist_add(d, KN_OP_sched, 0);
}

/* The least of the slices whose bits are 1; below: of lane l the bits up to l. */
static kn_ref
first_of(struct dist *d, kn_ref bits, kn_ref below)
{
    kn_ref none = dist_op(d, KN_OP_and, kn_v32, below, bits);

    none = dist_op(d, KN_OP_eq, kn_vb1, none, dist_int(d, 0));
    return dist_op(d, KN_OP_count, kn_s32, none, 0);
}

/* The slices that acc.share says are this wave's, one after the other: most often
 * one, so that one text serves all. */
void
dist_join_slices(struct dist *d, const struct joined *j, const struct dist_tile *acc,
            kn_ref mine)
{
    uint32_t batch = blocks_at_a_time(j, acc->nreg);
    kn_ref left = dist_temp(d, kn_s32), below, end, sum[40];
    struct picked x = { .acc = acc, .by = slicing_of(acc, j->splits, j->pairs), .sum = sum };
    uint32_t each = x.by.each * x.by.unit;

    below = dist_op(d, KN_OP_shl, kn_v32, dist_int(d, 2), dist_ic(d, KN_OP_umin, d->lane, 31));
    below = dist_ic(d, KN_OP_add, below, -1);
    dist_move(d, left, mine);
    dist_add(d, KN_OP_loop, 0);
    end = dist_op(d, KN_OP_eq, kn_sb1, left, dist_int(d, 0));
    dist_add(d, KN_OP_break, 0)->arg[0] = end;
    x.n = first_of(d, left, below);
    for (uint32_t b = 0; b < each; b += batch) {
        x.of = (struct dist_span){ b, b + batch < each ? b + batch : each };
        join_picked(d, j, &x);
    }
    dist_move(d, left, dist_i2(d, KN_OP_and, left, dist_ic(d, KN_OP_add, left, -1)));
    dist_add(d, KN_OP_end, 0);
}

/* ---- a slice a turn ---- */

static uint32_t
turn_blocks(const struct dist_turn *t)
{
    return t->rows * t->cols;
}

/* Fewer where each block has a register beside for its place in each of many shares. */
static uint32_t
turn_batch(const struct joined *j, uint32_t sums)
{
    enum { PLACES = 24 };
    uint32_t n = blocks_at_a_time(j, sums), most = PLACES / loads_of(j);

    return n < most ? n : most;
}

/* Where blocks from .. to - 1 of the slice are in each share. */
static void
place_batch(struct dist *d, const struct dist_turn *t, struct dist_span of)
{
    uint32_t loads = loads_of(&t->j);
    kn_ref begin = dist_i2(d, KN_OP_add, t->x.row, t->row);
    kn_ref lane = dist_i2(d, KN_OP_add, t->x.lane,
                          dist_ic(d, KN_OP_mul, t->first, 256 * t->x.size));

    for (uint32_t b = of.from; b < of.to; b++) {
        kn_ref row = dist_ic(d, KN_OP_add, begin, b / t->cols * 16);
        kn_ref in = dist_op(d, KN_OP_slt, kn_vb1, row, t->x.rows);
        kn_ref at = dist_only_if(d, in, dist_ic(d, KN_OP_add, lane, 256 * b * t->x.size));

        if (loads == 1)
            dist_move(d, t->at[b - of.from], at);
        for (uint32_t s = 0; s < loads && loads > 1; s++)
            dist_place_of(d, &t->j, at, s, t->at[(b - of.from) * loads + s]);
    }
}

/* Slice t->n: where it is, and what this share has of it. */
static void
pick_slice(struct dist *d, const struct dist_turn *t, const struct picked *own)
{
    struct picked x = *own;
    uint32_t across = t->x.across, each = turn_blocks(t);

    dist_move(d, t->bit, dist_op(d, KN_OP_shl, kn_s32, dist_int(d, 1), t->n));
    dist_move(d, t->first, before_slice(d, &x.by, t->n));
    dist_move(d, t->row, dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_udiv, t->first, across), 16));
    dist_move(d, t->col, dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_urem, t->first, across), 16));
    place_batch(d, t, (struct dist_span){ 0, t->batch < each ? t->batch : each });
    move_picked(d, &x, 0, x.by.splits);
}

/* A turn's slice of acc, in registers of their own. */
static struct picked
picked_of(const struct dist_turn *t, const struct dist_tile *acc, const struct slicing *by)
{
    return (struct picked){ .acc = acc, .n = t->n, .by = *by,
                            .of = { 0, turn_blocks(t) }, .sum = t->sum, .any = true };
}

enum { MASKS = 8 };          /* shares that have one of lanes each, in scalar registers */

static void
mask_shares(struct dist *d, struct joined *j)
{
    kn_ref own = dist_op(d, KN_OP_mov, kn_v32, j->own, 0);

    if (j->splits > MASKS || j->splits < 3)
        return;
    j->is = KN_NEW(d->c, kn_ref, j->splits);
    for (uint32_t s = 0; s < j->splits; s++)
        j->is[s] = dist_op(d, KN_OP_eq, kn_vb1, own, dist_int(d, s));
}

/* Before the others are waited for: this share's own slice. */
static void
open_turn(struct dist *d, const struct kn_ins *i, const struct meeting *m)
{
    struct dist_turn *t = KN_NEW(d->c, struct dist_turn, 1);
    uint32_t each = m->by.each;
    const kn_ref of[3] = { i->arg[1], i->arg[3], i->arg[4] };
    struct picked own;

    dist_open_joined(d, i, of, &t->x, &t->j);
    mask_shares(d, &t->j);
    t->cols = each < t->x.across ? each : t->x.across;
    t->rows = each / t->cols;
    t->batch = turn_batch(&t->j, m->acc->nreg);
    t->at = KN_NEW(d->c, kn_ref, (size_t)t->batch * loads_of(&t->j));
    t->sum = KN_NEW(d->c, kn_ref, each);
    for (uint32_t n = 0; n < t->batch * loads_of(&t->j); n++)
        t->at[n] = dist_temp(d, kn_v32);
    for (uint32_t b = 0; b < each; b++)
        t->sum[b] = dist_temp(d, kn_val(d->out, m->acc->reg[0])->type);
    t->n = dist_temp(d, kn_s32);
    t->bit = dist_temp(d, kn_s32);
    t->first = dist_temp(d, kn_s32);
    t->row = dist_temp(d, kn_s32);
    t->col = dist_temp(d, kn_s32);
    dist_move(d, t->n, m->share);
    own = picked_of(t, m->acc, &m->by);
    pick_slice(d, t, &own);
    d->turn = t;
}

/* Another slice than this share's own, or one more: those of shares that waited no longer. */
static void
pick_other(struct dist *d, const struct dist_turn *t, const struct dist_tile *acc)
{
    struct slicing by = even_slicing(d, acc, t->j.splits);
    struct picked other = picked_of(t, acc, &by);
    struct kn_ins *rare;
    kn_ref below, changed = dist_op(d, KN_OP_ne, kn_sb1, d->mine, t->bit);

    rare = dist_add(d, KN_OP_if, 0);
    rare->arg[0] = changed;
    rare->attr[KN_A_likely] = 2;
    below = dist_op(d, KN_OP_shl, kn_v32, dist_int(d, 2), dist_ic(d, KN_OP_umin, d->lane, 31));
    dist_move(d, t->n, first_of(d, d->mine, dist_ic(d, KN_OP_add, below, -1)));
    pick_slice(d, t, &other);
    dist_add(d, KN_OP_end, 0);
}

/* Blocks from .. to - 1 of the slice, and where those behind them are while they come. */
static void
add_batch(struct dist *d, const struct dist_turn *t, struct dist_span of)
{
    uint32_t loads = loads_of(&t->j), many = of.to - of.from, each = turn_blocks(t);
    kn_ref *v = KN_NEW(d->c, kn_ref, (size_t)many * loads);

    for (uint32_t n = 0; n < many * loads; n++)
        v[n] = dist_load_block(d, &t->x, t->at[n]);
    dist_add(d, KN_OP_sched, 0);
    if (of.to < each)
        place_batch(d, t, (struct dist_span){ of.to, of.to + t->batch < each
                                                     ? of.to + t->batch : each });
    for (uint32_t b = 0; b < many; b++) {
        kn_ref sum = t->sum[of.from + b];

        if (loads == 1)
            dist_sum_to(d, sum, sum, v[b]);
        else
            dist_add_shares(d, &t->j, sum, v + b * loads);
    }
    dist_add(d, KN_OP_sched, 0);
}

void
dist_join_turn(struct dist *d, struct dist_tile *acc)
{
    const struct dist_turn *t = d->turn;
    uint32_t each = turn_blocks(t);

    pick_other(d, t, acc);
    for (uint32_t b = 0; b < each; b += t->batch)
        add_batch(d, t, (struct dist_span){ b, b + t->batch < each ? b + t->batch : each });
    dist_move(d, d->mine, dist_i2(d, KN_OP_and, d->mine, dist_ic(d, KN_OP_add, d->mine, -1)));
    d->mine = 0;             /* all that follows is of this slice */
    acc->reg = t->sum;
    acc->nreg = each;
}

/* Of a slice that has no blocks no bit is left. */
static void
drop_empty(struct dist *d, const struct slicing *by)
{
    int64_t some = 0;

    for (uint32_t s = 0; s < by->splits; s++)
        some |= (int64_t)(units_before(by, s) < units_before(by, s + 1)) << s;
    if (some != (1 << by->splits) - 1)
        dist_move(d, d->mine, dist_ic(d, KN_OP_and, d->mine, some));
}

/* acc.share: bit s is 1 if this wave sums slice s. */
kiln_status
expand_share(struct dist *d, const struct kn_ins *i)
{
    struct meeting m = open_meeting(d, i);
    kn_ref old;

    if (!m.by.each)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "acc.share turns=1 needs slices of "
                          "whole rows of a wave's blocks, or of an even part of one, few");
    leave_slices(d, &m, false);
    if (i->attr[KN_A_turns])
        open_turn(d, i, &m);
    old = count_all(d, &m);
    dist_look(d, &m.own, dist_int(d, LOOKS), m.met);
    settle(d, &m);
    d->mine = dist_result_of(d, i, kn_s32);
    d->splits = m.by.splits;
    dist_move(d, d->mine, dist_op(d, KN_OP_shl, kn_s32, m.met, m.share));
    add_left(d, &m, old, d->mine);
    if (i->attr[KN_A_turns])
        drop_empty(d, &m.by);
    return KILN_OK;
}
