/* distribute_panel.c - store.panel: codes under one scale a row where a row has more
 * columns than a tile. A panel is a row of tiles, a strip the columns of one wave, a
 * slab 16 rows of all strips.
 *
 * Each wave leaves its sums in the slab's area, block by block of 16x16 f32 and row by
 * row, and behind all strips the largest of its rows, four strips side by side; then it
 * counts itself in each of its slabs. The last of a slab's strips to come makes the scales
 * and the codes of all columns. So nobody waits, and the bits are the same whoever is the
 * last: the largest of a row does not depend on the order. Strips begin with different
 * slabs, which gives the last work of a panel to several waves.
 *
 * With own=1 a wave makes its own codes where all of them come in time
 * (distribute_panel_meet.c).
 *
 * Sums and their loads are coherent between the dies, as those of acc.park. */
#include "panel.h"

enum {
    COLUMNS = 1 << 25,       /* the launch has fewer (gen/limits.c) */
    SLABS = 1 << 16,         /* and of these (gen/launch/launch.def) */
    AT_ONCE = 2,             /* loads of the largest, of 16 strips each */
    LOADS = 16,              /* of blocks at once: their latency is what codes take */
    TURNS = 8                /* in which a wave counts itself, at most */
};

/* acc.panel: areas and counters of all slabs, the number of this panel, and the K of a
 * tile. */
kiln_status
expand_panel(struct dist *d, const struct kn_ins *i)
{
    d->area = dist_operand(d, i->arg[0]);
    d->counters = dist_operand(d, i->arg[1]);
    d->panel = dist_operand(d, i->arg[2]);
    d->panel_k = dist_operand(d, i->arg[3]);
    return KILN_OK;
}

/* 0 .. most, in a scalar register. */
static kn_ref
bounded(struct dist *d, kn_ref x, int64_t most)
{
    if (KN_REF_TAG(x) == KN_R_CONST)
        return x;
    return dist_assume(d, dist_op(d, KN_OP_uniform, kn_s32, x, 0), most);
}

static uint32_t
strip_bytes(const struct panel *x)
{
    return x->blocks * PANEL_BLOCK;
}

/* Tiles of `columns` along a scale, and this one's place among them. */
static void
share_scales(struct dist *d, const struct kn_ins *i, struct panel *x, uint32_t columns)
{
    uint32_t cols = (uint32_t)i->attr[KN_A_cols], wn = d->in->shape.wn;
    kn_ref n = dist_operand(d, i->arg[5]), tile, tiles;

    tiles = dist_ic(d, KN_OP_add, n, columns - 1);
    tiles = dist_ic(d, KN_OP_udiv, tiles, columns);
    tile = dist_ic(d, KN_OP_udiv, dist_operand(d, i->arg[3]), columns);
    x->column = dist_int(d, 0);
    if (cols) {
        kn_ref before;

        x->scale = bounded(d, dist_ic(d, KN_OP_udiv, tile, cols / columns), COLUMNS / 128);
        x->scales = dist_ic(d, KN_OP_udiv, dist_ic(d, KN_OP_add, n, cols - 1), cols);
        x->scales = bounded(d, x->scales, COLUMNS / 128);
        x->column = dist_ic(d, KN_OP_mul, x->scale, cols);
        before = dist_ic(d, KN_OP_mul, x->scale, cols / columns);
        tile = dist_i2(d, KN_OP_sub, tile, before);
        tiles = dist_clamp(d, dist_i2(d, KN_OP_sub, tiles, before), 1, cols / columns);
    }
    x->strips = bounded(d, dist_ic(d, KN_OP_mul, tiles, wn), COLUMNS / 16);
    x->counts = x->beside < wn ? x->strips : bounded(d, tiles, COLUMNS / 16);
    x->strip = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, tile, wn), d->wave_n);
    x->strip = bounded(d, x->strip, COLUMNS / 16);
}

kn_ref
dist_panel_slab(struct dist *d, const struct panel *x, kn_ref n)
{
    kn_ref slab = dist_i2(d, KN_OP_add, x->first, n);

    if (!x->scales)
        return slab;
    slab = dist_i2(d, KN_OP_add, dist_i2(d, KN_OP_mul, slab, x->scales), x->scale);
    return bounded(d, slab, SLABS);
}

static struct panel
open_panel(struct dist *d, const struct kn_ins *i, const struct dist_tile *t)
{
    struct panel x = { .s = dist_scaled(d, i, t, true),
                       .slabs = kn_fragment(d->in, 'a').count,
                       .beside = i->attr[KN_A_own] && d->beside ? d->in->shape.wn : 1 };
    uint32_t wn = d->in->shape.wn, columns;

    x.blocks = t->nreg / x.slabs;
    x.together = LOADS / x.blocks;
    columns = x.blocks * 16 * wn;
    share_scales(d, i, &x, columns);
    x.first = dist_ic(d, KN_OP_mul, d->panel, d->in->shape.bm / 16);
    x.first = dist_i2(d, KN_OP_add, x.first,
                      dist_ic(d, KN_OP_mul, d->wave_m, x.slabs));
    x.bytes = dist_ic(d, KN_OP_mul, x.scales
                      ? dist_int(d, i->attr[KN_A_cols] / (columns / wn)) : x.strips,
                      strip_bytes(&x) + PANEL_MOST + (i->attr[KN_A_own] ? PANEL_LEFT : 0));
    x.bytes = dist_ic(d, KN_OP_add, x.bytes, PANEL_SPARE);
    x.bytes = bounded(d, x.bytes, DIST_NEVER);
    x.lane = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, d->t, 64),
                     dist_ic(d, KN_OP_mul, d->q, 16));
    return x;
}

static kn_ref
resource(struct dist *d, kn_ref base, kn_ref records)
{
    return dist_op(d, KN_OP_rsrc, (struct kn_type){ KN_T_rsrc, 1, 0 }, base,
                   bounded(d, records, DIST_NEVER));
}

kn_ref
dist_panel_part(struct dist *d, const struct panel *x, kn_ref slab, kn_ref from,
             kn_ref records)
{
    return resource(d, dist_address(d, d->area, slab, x->bytes, from), records);
}

static kn_ref
largest_at(struct dist *d, const struct panel *x)
{
    return dist_ic(d, KN_OP_mul, x->strips, strip_bytes(x));
}

kn_ref
dist_panel_words_at(struct dist *d, const struct panel *x)
{
    return dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, x->strips, strip_bytes(x) + PANEL_MOST),
                   PANEL_SPARE);
}

/* Over the largest of all strips of a slab. */
static kn_ref
largest_of(struct dist *d, const struct panel *x, kn_ref slab)
{
    kn_ref fours = dist_ic(d, KN_OP_udiv, dist_ic(d, KN_OP_add, x->counts, 3), 4);

    return dist_panel_part(d, x, slab, largest_at(d, x),
                           dist_ic(d, KN_OP_mul, fours, 4 * PANEL_MOST));
}

void
dist_panel_store(struct dist *d, kn_ref r, kn_ref at, int32_t offset, kn_ref v)
{
    struct kn_ins *s = dist_stg(d, r, at, v, KN_T_f32);

    s->attr[KN_A_offset] = offset;
    s->attr[KN_A_coh] = 1;
}

/* The byte of block y of a strip, and what of it an instruction's offset is. */
static kn_ref
block_at(struct dist *d, const struct panel *x, kn_ref from, uint32_t y,
         int32_t *offset)
{
    *offset = (int32_t)(y % 4 * PANEL_BLOCK);
    from = from ? dist_i2(d, KN_OP_add, from, x->lane) : x->lane;
    return dist_ic(d, KN_OP_add, from, (int64_t)(y / 4) * 4 * PANEL_BLOCK);
}

void
dist_panel_park(struct dist *d, const struct panel *x, const kn_ref *acc, uint32_t n)
{
    kn_ref slab = dist_panel_slab(d, x, dist_int(d, n));
    kn_ref from = dist_ic(d, KN_OP_mul, x->strip, strip_bytes(x)), r, at;
    int32_t offset;

    r = dist_panel_part(d, x, slab, from, dist_int(d, strip_bytes(x)));
    for (uint32_t y = 0; y < x->blocks; y++) {
        at = block_at(d, x, 0, y, &offset);
        dist_panel_store(d, r, at, offset, acc[y]);
    }
}

/* The byte of the strip's largest among those of all, and how many of its four strips it
 * stands for: the last for those that there are not, too. */
static kn_ref
place_of(struct dist *d, const struct panel *x, kn_ref *same)
{
    kn_ref strip = x->beside > 1 ? dist_ic(d, KN_OP_udiv, x->strip, x->beside) : x->strip;
    kn_ref of = dist_ic(d, KN_OP_and, strip, 3), at;
    kn_ref last = dist_op(d, KN_OP_eq, kn_sb1, strip, dist_ic(d, KN_OP_add, x->counts, -1));

    *same = dist_op3(d, KN_OP_select, kn_s32, (kn_ref[3]){
        last, dist_i2(d, KN_OP_sub, dist_int(d, 4), of), dist_int(d, 1) });
    if (x->beside > 1)
        *same = dist_op3(d, KN_OP_select, kn_s32, (kn_ref[3]){
            dist_op(d, KN_OP_eq, kn_sb1, d->wave_n, dist_int(d, 0)), *same, dist_int(d, 0) });
    at = dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_udiv, strip, 4), 4 * PANEL_MOST);
    return dist_i2(d, KN_OP_add, at, dist_ic(d, KN_OP_mul, of, 4));
}

kn_ref
dist_panel_largest(struct dist *d, const struct panel *x, const kn_ref *acc)
{
    kn_ref most = kn_flt(d->out, 0);

    for (uint32_t y = 0; y < x->blocks; y++)
        most = dist_op(d, KN_OP_amax, kn_vf32, acc[y], most);
    return dist_op(d, KN_OP_qmax, kn_vf32, most, 0);
}

void
dist_panel_park_largest(struct dist *d, const struct panel *x, kn_ref most, uint32_t n)
{
    kn_ref slab = dist_panel_slab(d, x, dist_int(d, n)), at, same;

    at = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, d->t, 16), dist_ic(d, KN_OP_mul, d->q, 4));
    at = dist_i2(d, KN_OP_add, at, place_of(d, x, &same));
    at = dist_only_if(d, dist_op(d, KN_OP_slt, kn_vb1, d->q, same), at);
    dist_panel_store(d, largest_of(d, x, slab), at, 0, most);
}

kn_ref
dist_panel_load(struct dist *d, kn_ref r, kn_ref at, int32_t offset, struct kn_type t)
{
    kn_ref v = dist_temp(d, t);
    struct kn_ins *l = dist_add(d, KN_OP_ldg, v);

    l->arg[0] = r;
    l->arg[1] = at;
    l->attr[KN_A_offset] = offset;
    l->attr[KN_A_elem] = KN_T_f32;
    l->attr[KN_A_coh] = 1;
    return v;
}

kn_ref
dist_begin_count(struct dist *d, const char *name, int64_t most)
{
    kn_ref i = dist_named(d, kn_s32, "%s%u", name, d->ntemp++);

    dist_move(d, i, dist_int(d, 0));
    dist_add(d, KN_OP_loop, 0);
    dist_move(d, i, dist_assume(d, i, most));
    return i;
}

void
dist_end_count(struct dist *d, kn_ref i, int64_t step, kn_ref end)
{
    kn_ref over;

    dist_move(d, i, dist_ic(d, KN_OP_add, i, step));
    over = dist_op(d, KN_OP_sge, kn_sb1, i, end);
    dist_add(d, KN_OP_break, 0)->arg[0] = over;
    dist_add(d, KN_OP_end, 0);
}

void
dist_panel_load_largest(struct dist *d, const struct panel *x, kn_ref slab, kn_ref c,
                        struct panel_largest *l)
{
    kn_ref r = largest_of(d, x, slab), at = dist_ic(d, KN_OP_mul, c, PANEL_MOST);

    at = dist_i2(d, KN_OP_add, at, dist_ic(d, KN_OP_mul, d->q, 4 * PANEL_MOST));
    at = dist_i2(d, KN_OP_add, at, dist_ic(d, KN_OP_mul, d->t, 16));
    for (uint32_t k = 0; k < l->loads; k++)
        l->v[k] = dist_panel_load(d, r, dist_ic(d, KN_OP_add, at, k / 4 * 64 * PANEL_MOST),
                                  (int32_t)(k % 4 * 16 * PANEL_MOST), dist_vec(KN_T_f32, 4));
}

void
dist_panel_take_largest(struct dist *d, const struct panel_largest *l, kn_ref most)
{
    for (uint32_t k = 0; k < l->loads; k++)
        for (uint32_t e = 0; e < 4; e++)
            dist_apply(d, KN_OP_fmax, most, dist_float(d, l->v[k], e), 0);
}

/* The largest of the lane's row of a slab, each lane of a row of some strips. */
static kn_ref
largest_of_slab(struct dist *d, const struct panel *x, kn_ref slab)
{
    kn_ref most = dist_temp(d, kn_vf32), c;
    struct panel_largest l = { .loads = AT_ONCE };

    dist_move(d, most, kn_flt(d->out, 0));
    c = dist_begin_count(d, "_strip", COLUMNS / 16);
    dist_panel_load_largest(d, x, slab, c, &l);
    dist_panel_take_largest(d, &l, most);
    dist_end_count(d, c, 16 * AT_ONCE, x->counts);
    return most;
}

/* Codes of `many` blocks from column at[1] of a scale on, of the rows from at[0] on. Columns that
 * there are not are read as zeros, and stored nowhere. */
static void
codes_of_blocks(struct dist *d, struct panel *x, kn_ref r, const kn_ref at[3],
                uint32_t many)
{
    kn_ref row = at[0], by = at[2], *v = KN_NEW(d->c, kn_ref, many);
    kn_ref from = dist_ic(d, KN_OP_mul, at[1], PANEL_BLOCK / 16), col;
    int32_t offset;

    for (uint32_t y = 0; y < many; y++) {
        kn_ref place = block_at(d, x, from, y, &offset);

        v[y] = dist_panel_load(d, r, place, offset, dist_vec(KN_T_f32, 4));
    }
    col = dist_i2(d, KN_OP_add, at[1], dist_ic(d, KN_OP_mul, d->q, 4));
    col = dist_i2(d, KN_OP_add, col, x->column);
    dist_dice_column(d, &x->s.dice, col);
    dist_put_codes(d, &x->s, &(struct dist_sums){ v, 0, many, by }, (kn_ref[]){ row, col });
}

/* The id of the lane's row of the wave's slab number n, 0: ids name none. */
static kn_ref
id_of(struct dist *d, const struct panel *x, kn_ref n)
{
    const kn_ref *ids = x->s.ids;
    kn_ref id = ids ? ids[0] : 0;

    for (uint32_t k = 1; ids && k < x->slabs; k++)
        id = dist_op3(d, KN_OP_select, kn_v32, (kn_ref[3]){
            dist_op(d, KN_OP_eq, kn_sb1, n, dist_int(d, k)), ids[k], id });
    return id;
}

/* Of the wave's slab number n. */
static void
finish_slab(struct dist *d, struct panel *x, kn_ref n, kn_ref strip)
{
    kn_ref slab = dist_panel_slab(d, x, n), at[2], r, col;
    uint32_t many = strip ? x->blocks : x->together * x->blocks;
    struct dist_made_scale made;

    made = dist_plain_scale(d, &x->s, largest_of_slab(d, x, slab));
    dist_scaled_row(d, &x->s, dist_ic(d, KN_OP_mul, n, 16), id_of(d, x, n), at);
    if (!strip)
        dist_stg(d, x->s.scales, dist_only_if(d, x->s.quad0, at[1]), made.written,
                 x->s.size == 1 ? KN_T_i8 : KN_T_f32);
    r = dist_panel_part(d, x, slab, dist_int(d, 0),
                        dist_ic(d, KN_OP_mul, x->strips, strip_bytes(x)));
    col = strip ? dist_ic(d, KN_OP_mul, strip, 16 * x->blocks)
                : dist_begin_count(d, "_column", COLUMNS);
    codes_of_blocks(d, x, r, (kn_ref[3]){ at[0], col, made.by }, many);
    if (!strip)
        dist_end_count(d, col, many * 16, x->s.ncols);
}

uint32_t
kn_panel_turns(uint32_t slabs)
{
    uint32_t n = slabs < TURNS ? slabs : TURNS;

    while (slabs % n)
        n--;
    return n;
}

/* Slabs that are counted together: few turns take little time, several give the work
 * of a panel to several waves. */
static uint32_t
counted_together(const struct panel *x)
{
    return x->slabs / kn_panel_turns(x->slabs);
}

void
dist_panel_finish(struct dist *d, struct panel *x, kn_ref n, uint32_t many, kn_ref strip)
{
    kn_ref k = 0;

    if (many > 1) {
        k = dist_begin_count(d, "_slab", many - 1);
        n = dist_i2(d, KN_OP_add, n, k);
    }
    finish_slab(d, x, n, strip);
    if (many > 1)
        dist_end_count(d, k, 1, dist_int(d, many));
}

kn_ref
dist_panel_counters(struct dist *d, const struct panel *x)
{
    return resource(d, dist_address(d, d->counters, dist_panel_slab(d, x, dist_int(d, 0)),
                                    dist_int(d, 4), 0),
                    dist_int(d, x->scales ? 4 : 4 * x->slabs));
}

/* The wave's slabs in turns, from another one in each strip. */
static void
count_slabs(struct dist *d, struct panel *x)
{
    uint32_t many = counted_together(x), turns = x->slabs / many;
    kn_ref last = dist_ic(d, KN_OP_add, x->strips, -1), is_last;
    kn_ref turn = dist_int(d, 0), n, r, seen;

    r = dist_panel_counters(d, x);
    if (turns > 1)
        turn = dist_begin_count(d, "_turn", turns - 1);
    n = dist_ic(d, KN_OP_urem, dist_i2(d, KN_OP_add, x->strip, turn), turns);
    n = dist_ic(d, KN_OP_mul, bounded(d, n, turns - 1), many);
    seen = dist_count_at(d, r, dist_ic(d, KN_OP_mul, n, 4), last);
    seen = dist_op(d, KN_OP_uniform, kn_s32, seen, 0);
    is_last = dist_op(d, KN_OP_eq, kn_sb1, seen, last);
    dist_add(d, KN_OP_if, 0)->arg[0] = is_last;
    dist_panel_finish(d, x, n, many, 0);
    dist_add(d, KN_OP_end, 0);
    if (turns > 1)
        dist_end_count(d, turn, 1, dist_int(d, turns));
}

kiln_status
expand_storepanel(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->arg[0]);
    struct dist_scaled own = dist_scaled(d, i, t, false);
    struct panel x;

    if (i->attr[KN_A_cols] && !i->attr[KN_A_own])
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "store.panel of several scales "
                          "a row has own=1");
    if (!d->area)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "store.panel needs acc.panel "
                          "in front");
    x = open_panel(d, i, t);
    KN_TRY(dist_dice(d, i, &x.s.dice));
    dist_clear_beyond(d, &own, t);
    if (i->attr[KN_A_own]) {
        own.dice = x.s.dice;
        dist_panel_meet(d, &x, &own, t);
        return KILN_OK;
    }
    for (uint32_t n = 0; n < x.slabs; n++) {
        dist_panel_park(d, &x, t->reg + n * x.blocks, n);
        dist_panel_park_largest(d, &x, dist_panel_largest(d, &x, t->reg + n * x.blocks), n);
    }
    count_slabs(d, &x);
    return KILN_OK;
}
