/* distribute_unaligned_lines.c - rows that begin at any byte, loaded by whole cache lines on
 * their way through registers (unaligned=2; 3: rows at dwords, 4: at 16 bytes).
 *
 * A load of what a K tile has of a row asks for two lines wherever the row begins inside
 * one. Here it asks for whole lines: a lane has 16 bytes of memory at 16, in which its chunk
 * of the K tile begins. What lies behind the row's last line lags: it is loaded with the next
 * K tile, of whose line it is, in the same lane. So a K tile is put together of two that were
 * fetched, its own and the next. Dwords go to LDS one by one, of rows at 16 bytes all four, each
 * where it belongs, so that lanes shift nothing but bytes: a dword of LDS is of one loaded and the
 * one before, which the row's first dword of 16 bytes has from the lane before. A row's first lane
 * has dwords that are the K tile before's: they are of the next fetch, whose they end.
 *
 * A step has a multiple of 16 rows, so all steps of a lane have their dwords alike. The view
 * begins a K tile before the row's line: a chunk that does not lag lies a tile further on. */
#include "distribute.h"

enum { CHUNK = 16, DWORDS = CHUNK / 4 };

bool
dist_by_lines(const struct kn_lds *l)
{
    return l->unaligned > 1;
}

static uint32_t
tile_bytes(struct dist *d, const struct dist_tile *v)
{
    return kn_geometry(d->in, dist_lds(d, v->lds)).pitch;
}

void
dist_line_base(struct dist *d, struct dist_tile *v)
{
    kn_ref low = dist_op(d, KN_OP_trunc, kn_s32, v->base, 0), back;

    v->low = dist_ic(d, KN_OP_and, low, KN_LINE - 1);
    back = dist_ic(d, KN_OP_add, v->low, tile_bytes(d, v));
    dist_move(d, v->base, dist_op(d, KN_OP_sub, kn_s64, v->base,
                                  dist_op(d, KN_OP_zext, kn_s64, back, 0)));
}

kn_ref
dist_line_records(struct dist *d, const struct dist_tile *v, kn_ref bytes)
{
    kn_ref all = dist_i2(d, KN_OP_add, bytes, v->low);
    kn_ref pick[] = { dist_op(d, KN_OP_slt, kn_sb1, bytes, dist_int(d, 1)), dist_int(d, 0),
                      dist_ic(d, KN_OP_add, all, tile_bytes(d, v)) };

    return dist_op3(d, KN_OP_select, kn_s32, pick);
}

/* Lanes in their order but for rows: of 32 that write a dword each at once four rows' dwords
 * are at four places of 16 bytes, hence in other banks. Of odd pitches four rows on begin a
 * dword on; 16-bit elements' two rows on, whose writes meet two at a time and wait for nobody. */
kn_ref
dist_line_chunk(struct dist *d, const struct kn_lds *l, uint32_t step)
{
    uint32_t cpr = kn_geometry(d->in, l).cpr;
    kn_ref row = dist_ic(d, KN_OP_udiv, d->tid, cpr), id = d->tid, low, high;

    if (l->unaligned == 2 && kn_elems[l->elem].bits < 16) {
        low = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, row, 2), 3);
        high = dist_ic(d, KN_OP_shl, dist_ic(d, KN_OP_and, row, 3), 2);
        row = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_and, row, -16),
                      dist_i2(d, KN_OP_add, high, low));
        id = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, row, cpr),
                     dist_ic(d, KN_OP_urem, id, cpr));
    }
    return dist_ic(d, KN_OP_add, id, (int64_t)step * kn_waves(d->in) * 64);
}

/* Dwords of a lane that are side by side in a K tile, too. */
static uint32_t
together(const struct kn_lds *l)
{
    return l->unaligned == 4 ? DWORDS : 1;
}

/* Steps from one to the next that lags alike. */
static uint32_t
lag_period(struct dist *d, const struct kn_lds *l)
{
    uint32_t by = kn_waves(d->in) * 64 / kn_geometry(d->in, l).cpr, n = 1;

    by *= l->unaligned > 2 ? 4 * together(l) : 1;
    while (n * by % KN_LINE)
        n *= 2;
    return n;
}

/* Of x: where a lane's row is from a line on, and its chunk of the row. Where what is made
 * of dword i is in a K tile: below zero, in the one before. */
static kn_ref
dword_place(struct dist *d, const struct kn_lds *l, const kn_ref x[2], uint32_t i)
{
    int64_t at = 4 * (int64_t)i - (l->unaligned == 2 ? 4 : 0);
    kn_ref begin = dist_ic(d, KN_OP_and, x[0], CHUNK - 4);

    return dist_ic(d, KN_OP_add, together(l) > 1 ? x[1] : dist_i2(d, KN_OP_sub, x[1], begin), at);
}

static kn_ref
is_before(struct dist *d, const struct kn_lds *l, const kn_ref x[2], uint32_t i)
{
    return dist_op(d, KN_OP_slt, kn_vb1, dword_place(d, l, x, i), dist_int(d, 0));
}

/* The line of a lane's chunk, as bytes from the one that the row begins in. */
static kn_ref
in_lines(struct dist *d, const kn_ref x[2])
{
    return dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_and, x[0], KN_LINE - CHUNK), x[1]);
}

static kn_ref
lags(struct dist *d, uint32_t tile, kn_ref at)
{
    return dist_op(d, KN_OP_sge, kn_vb1, at, dist_int(d, tile));
}

static kn_ref
dword_address(struct dist *d, const struct kn_lds *l, const kn_ref x[2], uint32_t i)
{
    struct kn_geom g = kn_geometry(d->in, l);
    kn_ref row = dist_ic(d, KN_OP_udiv, dist_line_chunk(d, l, 0), g.cpr);
    kn_ref to = dword_place(d, l, x, i), id;

    to = dist_pick(d, is_before(d, l, x, i), dist_ic(d, KN_OP_add, to, g.pitch), to);
    id = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, row, g.cpr),
                 dist_ic(d, KN_OP_shr, to, 4));
    if (l->swz_n)
        id = dist_i2(d, KN_OP_xor, id, dist_swizzle(d, l, row));
    return dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, id, CHUNK),
                   dist_ic(d, KN_OP_and, to, CHUNK - 4));
}

/* What is alike in all steps, where a row begins at `at`; of lanes that have none too,
 * which write behind the tile's rows. */
static void
first_shift(struct dist *d, struct dist_tile *v, kn_ref at)
{
    const struct kn_lds *l = dist_lds(d, v->lds);
    kn_ref in_row = dist_ic(d, KN_OP_urem, d->tid, kn_geometry(d->in, l).cpr);
    kn_ref x[] = { at, dist_ic(d, KN_OP_mul, in_row, CHUNK) };
    enum { NO_SHIFT = 0x03020100, A_BYTE = 0x01010101 };
    struct dist_shift *s = v->shift = KN_NEW(d->c, struct dist_shift, 1);
    kn_ref low = dist_ic(d, KN_OP_and, x[0], 3);

    s->late = KN_NEW(d->c, kn_ref, v->nreg);
    s->each = KN_NEW(d->c, kn_ref, v->nreg * DWORDS);
    s->from = KN_NEW(d->c, kn_ref, v->nreg);
    s->select = dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, low, A_BYTE), NO_SHIFT);
    s->first = dist_op(d, KN_OP_eq, kn_vb1, x[1], dist_int(d, 0));
    for (uint32_t i = 0; i < DWORDS; i += together(l)) {
        s->before[i] = is_before(d, l, x, i);
        s->place[i] = dword_address(d, l, x, i);
    }
}

/* Whether the next fetch has what belongs to this K tile: of the chunk, to be picked beside those
 * before it, and of each dword, where scalar registers have room for those of all steps. */
static void
note_late(struct dist *d, struct dist_tile *v, uint32_t step, const kn_ref x[2])
{
    const struct kn_lds *l = dist_lds(d, v->lds);
    uint32_t period = lag_period(d, l), tile = tile_bytes(d, v);
    struct dist_shift *s = v->shift;
    kn_ref at = in_lines(d, x);

    if (l->unaligned == 2)
        s->late[step] = step >= period ? s->late[step - period] : lags(d, tile, at);
    for (uint32_t i = 0; (l->unaligned > 2 || period < 3) && i < DWORDS; i += together(l))
        s->each[step * DWORDS + i] = step >= period ? s->each[(step - period) * DWORDS + i]
            : lags(d, tile, dist_pick(d, is_before(d, l, x, i), dist_int(d, tile), at));
}

/* Rows of a step are a multiple of 16 from those of the first. */
static kn_ref
stepped_offset(struct dist *d, struct dist_tile *v, uint32_t step, const kn_ref at[2])
{
    uint32_t tile = tile_bytes(d, v), period = lag_period(d, dist_lds(d, v->lds));
    struct dist_shift *s = v->shift;

    if (!step)
        s->begin = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_and, at[0], -CHUNK), at[1]);
    if (step < period)
        s->from[step] = dist_pick(d, lags(d, tile, in_lines(d, at)), s->begin,
                                  dist_ic(d, KN_OP_add, s->begin, tile));
    return dist_steps_on(d, v, s->from[step % period], step);
}

kn_ref
dist_line_offset(struct dist *d, struct dist_tile *v, uint32_t step, const kn_ref x[2])
{
    uint32_t tile = tile_bytes(d, v);
    kn_ref at[] = { dist_i2(d, KN_OP_add, x[0], v->low), x[1] }, off;

    if (!v->shift)
        first_shift(d, v, at[0]);
    note_late(d, v, step, at);
    if (dist_lacks_registers(d))
        return stepped_offset(d, v, step, at);
    off = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_and, at[0], -CHUNK), x[1]);
    return dist_pick(d, lags(d, tile, in_lines(d, at)), off, dist_ic(d, KN_OP_add, off, tile));
}

/* Of the lane before in a ring of the 8 or 16 that have a row. */
static kn_ref
lane_before(struct dist *d, const struct dist_tile *t, kn_ref x)
{
    uint32_t cpr = kn_geometry(d->in, dist_lds(d, t->lds)).cpr;
    kn_ref one = dist_op(d, KN_OP_roll, kn_v32, x, 0), ring;

    d->out->ins[d->out->nins - 1].attr[KN_A_first] = 1;
    if (cpr == 16)
        return one;
    ring = dist_op(d, KN_OP_roll, kn_v32, x, 0);
    d->out->ins[d->out->nins - 1].attr[KN_A_first] = (int32_t)(17 - cpr);
    return dist_pick(d, t->shift->first, ring, one);
}

static void
pick_dwords(struct dist *d, const struct dist_put *x, uint32_t step, kn_ref *out)
{
    const struct dist_tile *t = x->t;
    uint32_t n = together(dist_lds(d, t->lds));

    for (uint32_t i = 0; i < DWORDS; i++)
        out[i] = dist_pick(d, t->shift->each[step * DWORDS + i / n * n],
                           dist_slice(d, x->scales->reg[step], i),
                           dist_slice(d, t->reg[step], i));
}

/* Dword i of one of the two that were fetched, of the one that has dword `to` of the K tile. */
static kn_ref
fetched(struct dist *d, const struct dist_put *x, uint32_t step, uint32_t i, uint32_t to)
{
    const struct dist_shift *s = x->t->shift;
    kn_ref next = dist_slice(d, x->scales->reg[step], i), each = s->each[step * DWORDS + to];
    kn_ref own = dist_slice(d, x->t->reg[step], i);

    if (each)
        return dist_pick(d, each, next, own);
    return dist_pick(d, s->before[to], next, dist_pick(d, s->late[step], next, own));
}

static void
shift_dwords(struct dist *d, const struct dist_put *x, uint32_t step, kn_ref *out)
{
    const struct dist_shift *s = x->t->shift;
    kn_ref last = dist_pick(d, s->late[step], dist_slice(d, x->scales->reg[step], DWORDS - 1),
                            dist_slice(d, x->t->reg[step], DWORDS - 1));

    for (uint32_t i = 0; i < DWORDS; i++) {
        kn_ref own = fetched(d, x, step, i, i);
        kn_ref low = i ? fetched(d, x, step, i - 1, i) : lane_before(d, x->t, last);

        out[i] = dist_op3(d, KN_OP_perm, kn_v32, (kn_ref[]){ own, low, s->select });
    }
}

void
dist_put_lines(struct dist *d, kn_ref slot, const struct dist_put *x, uint32_t step)
{
    const struct kn_lds *l = dist_lds(d, x->t->lds);
    int64_t at = (int64_t)step * kn_waves(d->in) * 64 * CHUNK;
    uint32_t n = together(l);
    kn_ref out[DWORDS];

    if (l->unaligned > 2)
        pick_dwords(d, x, step, out);
    else
        shift_dwords(d, x, step, out);
    for (uint32_t i = 0; i < DWORDS; i += n)
        dist_store_lds(d, (struct dist_place){ slot, x->t->shift->place[i], at },
                       dist_cat(d, out + i, n), 4 * n);
}
