/* distribute_unaligned.c - rows that begin at any byte of memory (unaligned=1),
 * on their way through registers.
 *
 * A lane's chunk of a row begins `low` bytes into a dword. Loads are of whole
 * dwords: those behind the one it begins in, so that the first is the last of
 * the lane before, and for the first lane of a row, of the row's last lane one
 * K tile ago. No dword is loaded twice, and none that has no byte of a row. A
 * step has a multiple of four rows, so `low` is the same in all steps of a
 * lane, but where rows are named, by ids or as a gate's and its up's, or 128 are one.
 *
 * Where a row's first lane has none before it (kn_geom.own) each loads all dwords
 * that its bytes are in, but for the last of five, which the lane behind it has, of the
 * same row and wave. Of rows that are loaded abreast (kn_geom.abreast) a lane more does
 * that alone; of others it is loaded where there is no such lane.
 * A transpose block begins a multiple of four rows and of four bytes from the tile,
 * so `low` is that of its row, of all lanes. */
#include "distribute.h"

void
dist_align_base(struct dist *d, struct dist_tile *v)
{
    kn_ref low = dist_op(d, KN_OP_trunc, kn_s32, v->base, 0);

    v->low = dist_ic(d, KN_OP_and, low, 3);
    dist_move(d, v->base,
              dist_op(d, KN_OP_sub, kn_s64, v->base,
                      dist_op(d, KN_OP_zext, kn_s64, v->low, 0)));
}

/* Of no bytes, none. */
kn_ref
dist_aligned_records(struct dist *d, const struct dist_tile *v, kn_ref bytes)
{
    kn_ref pick[] = { dist_op(d, KN_OP_slt, kn_sb1, bytes, dist_int(d, 1)),
                      dist_int(d, 0), dist_i2(d, KN_OP_add, bytes, v->low) };

    return dist_op3(d, KN_OP_select, kn_s32, pick);
}

/* The dword that a step's chunk at byte `off` of the view begins in. */
kn_ref
dist_aligned(struct dist *d, struct dist_tile *v, kn_ref off, uint32_t step)
{
    enum { NO_SHIFT = 0x03020100, A_BYTE = 0x01010101 };
    bool named = v->up || v->row || d->in->lds[v->lds].shift;

    if (!v->select)
        v->select = KN_NEW(d->c, kn_ref, v->nreg);
    off = dist_i2(d, KN_OP_add, off, v->low);
    v->select[step] = step && !named ? v->select[0]
        : dist_ic(d, KN_OP_add,
                  dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_and, off, 3), A_BYTE),
                  NO_SHIFT);
    return dist_ic(d, KN_OP_and, off, -4);
}

/* Of a row's first lane, whose lane before has another row's. */
static kn_ref
is_first(struct dist *d, uint32_t lanes)
{
    return dist_op(d, KN_OP_eq, kn_vb1, dist_ic(d, KN_OP_urem, d->tid, lanes),
                   dist_int(d, 0));
}

/* Beside the load of the first chunk that it precedes, whose line it is in; from other lanes it
 * would ask for all lines of a row. */
void
dist_first_dword(struct dist *d, struct dist_tile *v, uint32_t step, const char *name)
{
    const struct kn_lds *l = dist_lds(d, v->lds);
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t lanes = kn_pieces_of_row(&g);
    kn_ref at = v->reg[step], r = dist_rsrc(d, v->base, v->rem);
    struct kn_ins *i;

    if (lanes > 1 && l->kdiv == 1)
        at = dist_only_if(d, is_first(d, lanes), at);
    v->before[step] = dist_named(d, kn_v32, "%s.before%u", name, step);
    i = dist_add(d, KN_OP_ldg, v->before[step]);
    i->arg[0] = r;
    i->arg[1] = at;
    i->attr[KN_A_elem] = KN_T_i32;
}

/* What scales have of a row is in a line or two: those come ahead for their chunks as well. */
void
dist_first_dwords(struct dist *d, struct dist_tile *v, const char *name)
{
    v->before = KN_NEW(d->c, kn_ref, v->nreg);
    for (uint32_t s = 0; dist_lds(d, v->lds)->kdiv != 1 && s < v->nreg; s++)
        dist_first_dword(d, v, s, name);
}

/* Where LDS has chunk `id` of the tile. */
static kn_ref
swizzled(struct dist *d, const struct kn_lds *l, uint32_t cpr, kn_ref id)
{
    kn_ref row = dist_ic(d, KN_OP_udiv, id, cpr), chunk;

    if (!(cpr & (cpr - 1)))
        return dist_i2(d, KN_OP_xor, id, dist_swizzle(d, l, row));
    chunk = dist_i2(d, KN_OP_xor, dist_ic(d, KN_OP_urem, id, cpr), dist_swizzle(d, l, row));
    return dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, row, cpr), chunk);
}

/* ---- rows that are loaded abreast ---- */

/* Lanes that are left over do what the last one does. */
static kn_ref
lane_of(struct dist *d, const struct kn_geom *g)
{
    uint32_t last = g->abreast * (g->cpr + 1) - 1;

    return last < 63 ? dist_ic(d, KN_OP_umin, d->lane, last) : d->lane;
}

kn_ref
dist_abreast_row(struct dist *d, const struct kn_geom *g, uint32_t step)
{
    kn_ref row = dist_ic(d, KN_OP_udiv, lane_of(d, g), g->cpr + 1);

    row = dist_i2(d, KN_OP_add, row, dist_ic(d, KN_OP_mul, d->wave, g->abreast));
    return dist_ic(d, KN_OP_add, row, (int64_t)step * kn_abreast_rows(d->in, g));
}

static kn_ref
chunk_of(struct dist *d, const struct kn_geom *g)
{
    return dist_ic(d, KN_OP_urem, lane_of(d, g), g->cpr + 1);
}

/* A row's last lane has the dword behind as the last of its four, so that it reaches no
 * further. */
kn_ref
dist_abreast_offset(struct dist *d, const struct dist_tile *v, const struct kn_geom *g)
{
    kn_ref at = dist_ic(d, KN_OP_mul, chunk_of(d, g), g->chunk);
    kn_ref row = dist_i2(d, KN_OP_mul, dist_abreast_row(d, g, 0), v->pitch);

    at = dist_ic(d, KN_OP_umin, at, g->cpr * g->chunk - (g->chunk - 4));
    return dist_i2(d, KN_OP_add, dist_i2(d, KN_OP_add, row, at), v->low);
}

/* Rows of a step are the pitch of so many rows from the step before: whole dwords, mostly. */
static kn_ref
step_bytes(struct dist *d, const struct dist_tile *t, const struct kn_geom *g, uint32_t step)
{
    return dist_ic(d, KN_OP_mul, t->pitch, (int64_t)step * kn_abreast_rows(d->in, g));
}

kn_ref
dist_abreast_dword(struct dist *d, const struct dist_tile *v, uint32_t step)
{
    struct kn_geom g = kn_geometry(d->in, dist_lds(d, v->lds));
    kn_ref off = v->reg[0], by = step_bytes(d, v, &g, step);

    if (kn_abreast_rows(d->in, &g) % 4 == 0)
        return dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_and, off, -4), by);
    return dist_ic(d, KN_OP_and, dist_i2(d, KN_OP_add, off, by), -4);
}

/* Where what this lane shifts in a step begins. */
static kn_ref
abreast_low(struct dist *d, const struct dist_tile *t, const struct kn_geom *g, uint32_t step)
{
    if (kn_abreast_rows(d->in, g) % 4 == 0)
        return t->own[0];
    return dist_i2(d, KN_OP_add, t->own[0], step_bytes(d, t, g, step));
}

/* A row's last lane writes behind its chunks, where LDS has room for it. */
static struct dist_place
abreast_place(struct dist *d, kn_ref slot, const struct kn_lds *l, uint32_t step)
{
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t period = l->swz_n ? 1u << (l->swz_s + l->swz_n) : 1, as = step;
    uint32_t rows = kn_abreast_rows(d->in, &g);
    kn_ref row, chunk = chunk_of(d, &g), at = chunk;

    for (uint32_t s = step; s-- > 0;)
        if ((step - s) * rows % period == 0)
            as = s;
    row = dist_abreast_row(d, &g, as);
    if (l->swz_n)
        at = dist_pick(d, dist_op(d, KN_OP_ult, kn_vb1, chunk, dist_int(d, g.cpr)),
                       dist_i2(d, KN_OP_xor, chunk, dist_swizzle(d, l, row)), chunk);
    at = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, row, g.pitch),
                 dist_ic(d, KN_OP_mul, at, g.chunk));
    return (struct dist_place){ slot, at, (int64_t)(step - as) * rows * g.pitch };
}

struct dist_place
dist_own_place(struct dist *d, kn_ref slot, int lds, uint32_t step)
{
    const struct kn_lds *l = dist_lds(d, lds);
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t threads = kn_waves(d->in) * 64;
    uint32_t period = 1u << (l->swz_s + l->swz_n);
    bool same = !l->swz_n || (threads % g.cpr == 0 && threads / g.cpr % period == 0);
    kn_ref id = dist_run_id(d, l, same ? 0 : step);

    if (g.abreast)
        return abreast_place(d, slot, l, step);
    if (l->swz_n)
        id = swizzled(d, l, g.cpr, id);
    return (struct dist_place){ slot, dist_ic(d, KN_OP_mul, id, g.chunk),
                                same ? (int64_t)step * threads * g.chunk : 0 };
}

static kn_ref
roll(struct dist *d, kn_ref x, uint32_t lanes)
{
    kn_ref r;

    if (lanes == 16)
        return x;
    r = dist_op(d, KN_OP_roll, kn_v32, x, 0);
    d->out->ins[d->out->nins - 1].attr[KN_A_first] = (int32_t)lanes;
    return r;
}

uint32_t
dist_shifted_dwords(struct dist *d, const struct dist_tile *t, uint32_t step, kn_ref *out)
{
    struct kn_geom g = kn_geometry(d->in, dist_lds(d, t->lds));
    uint32_t n = g.mem / 4, lanes = kn_pieces_of_row(&g);
    kn_ref w[5];

    for (uint32_t i = 0; i < n; i++)
        w[i + 1] = n > 1 ? dist_slice(d, t->reg[step], i) : t->reg[step];
    w[0] = t->before[step];
    if (lanes > 1) {
        kn_ref pick[] = { is_first(d, lanes), w[0], roll(d, w[n], 1) };

        w[0] = dist_op3(d, KN_OP_select, kn_v32, pick);
    }
    for (uint32_t i = 0; i < n; i++) {
        kn_ref arg[] = { w[i + 1], w[i], t->select[step] };

        out[i] = dist_op3(d, KN_OP_perm, kn_v32, arg);
    }
    dist_move(d, t->before[step], roll(d, w[n], 17 - lanes));
    return n;
}

void
dist_put_unaligned(struct dist *d, kn_ref slot, const struct dist_tile *t,
                   uint32_t step)
{
    kn_ref out[4];
    uint32_t n = dist_shifted_dwords(d, t, step, out);

    dist_store_lds(d, dist_own_place(d, slot, t->lds, step), dist_cat(d, out, n), 4 * n);
}

/* ---- all of a lane's dwords ---- */

static kn_ref
row_low(struct dist *d, const struct dist_tile *t, uint32_t k)
{
    return dist_i2(d, KN_OP_add, t->low, dist_ic(d, KN_OP_mul, t->pitch, k));
}

static bool
is_block(const struct dist *d, const struct dist_tile *t)
{
    return kn_geometry(d->in, dist_lds(d, t->lds)).transpose;
}

/* Eight waves with many sums have no registers for where the last lanes load, of A,
 * or with more sums of either where A is K-outer (measured; i8 has fewer fragments). */
static bool
is_tight(const struct dist *d, const struct kn_lds *l)
{
    const struct kn_shape *s = &d->in->shape;
    uint32_t threads = kn_waves(d->in) * 64, sums = s->bm * s->bn / threads;
    bool outer = false;

    for (size_t i = 0; i < d->in->nlds; i++)
        outer |= d->in->lds[i].side == 'a' && d->in->lds[i].kdiv == 1 && !d->in->lds[i].gk;
    return threads > 256 && ((l->side == 'a' && sums >= 80) ||
                             (outer && sums >= 96 && l->elem != KN_T_i8));
}

/* Whether a lane may have what is behind its piece from the next: of rows of several
 * lanes. */
static bool
asks_next(const struct dist *d, const struct kn_lds *l)
{
    struct kn_geom g = kn_geometry(d->in, l);

    return g.own && !g.abreast && !g.transpose && l->kdiv == 1 &&
           kn_pieces_of_row(&g) > 1 && !is_tight(d, l);
}

bool
dist_in_order(const struct dist *d, const struct kn_lds *l)
{
    struct kn_geom g = kn_geometry(d->in, l);

    return l->unaligned && (!g.own || g.abreast || asks_next(d, l));
}

/* Whether a load is of the one dword behind a lane's own. */
static bool
is_behind(const struct dist *d, const struct kn_lds *l, const struct dist_load *x)
{
    return x->bytes == 4 && x->at == kn_geometry(d->in, l).mem && asks_next(d, l);
}

/* Whether the lane behind this one has not what lies behind its piece. */
static kn_ref
has_none_behind(struct dist *d, const struct kn_geom *g, uint32_t step)
{
    uint32_t per = kn_pieces_of_row(g);
    kn_ref last = dist_int(d, per - 1), pick[3];

    pick[0] = dist_op(d, KN_OP_eq, kn_vb1, d->lane, dist_int(d, 63));
    if (per % 64 == 0)
        return pick[0];
    pick[1] = last;
    pick[2] = dist_ic(d, KN_OP_urem, dist_chunk_id(d, step), per);
    if (64 % per)
        pick[2] = dist_op3(d, KN_OP_select, kn_v32, pick);
    return dist_op(d, KN_OP_eq, kn_vb1, pick[2], last);
}

kn_ref
dist_behind_offset(struct dist *d, const struct dist_tile *v, kn_ref off, uint32_t step,
                   const struct dist_load *x)
{
    const struct kn_lds *l = dist_lds(d, v->lds);
    struct kn_geom g = kn_geometry(d->in, l);
    kn_ref pick[] = { 0, off, dist_int(d, DIST_NEVER) };

    if (!is_behind(d, l, x))
        return off;
    pick[0] = has_none_behind(d, &g, step);
    return dist_op3(d, KN_OP_select, kn_v32, pick);
}

kn_ref
dist_own_dword(struct dist *d, const struct dist_tile *t, kn_ref off, uint32_t k)
{
    if (!is_block(d, t))
        return dist_ic(d, KN_OP_and, off, -4);
    return dist_i2(d, KN_OP_add, off,
                   dist_ic(d, KN_OP_and, row_low(d, t, k), -4));
}

static kn_ref
selector(struct dist *d, kn_ref low)
{
    enum { NO_SHIFT = 0x03020100, A_BYTE = 0x01010101 };

    low = dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_and, low, 3), A_BYTE);
    return dist_ic(d, KN_OP_add, low, NO_SHIFT);
}

static kn_ref
next_lane(struct dist *d, kn_ref x)
{
    kn_ref r = dist_op(d, KN_OP_roll, kn_v32, x, 0);

    d->out->ins[d->out->nins - 1].attr[KN_A_first] = 63;
    d->out->ins[d->out->nins - 1].attr[KN_A_span] = 64;
    return r;
}

uint32_t
dist_own_dwords(struct dist *d, const struct dist_tile *t, uint32_t step,
                uint32_t k, kn_ref *out)
{
    const struct kn_lds *l = dist_lds(d, t->lds);
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t per = dist_loads(l, &g), n = 0;
    bool block = g.transpose;
    kn_ref w[DIST_RUN / 4 + 1], arg[3];

    arg[2] = selector(d, block ? row_low(d, t, k % 4)
                         : g.abreast ? abreast_low(d, t, &g, step) : t->own[step]);
    for (uint32_t i = 0; i < per; i++) {
        struct dist_load x = dist_load(l, &g, i);
        kn_ref reg = t->reg[step * per + i];

        for (uint32_t at = 0; x.row == k && at < x.bytes; at += 4)
            w[n++] = x.bytes > 4 ? dist_slice(d, reg, at / 4) : reg;
        if (is_behind(d, l, &x)) {
            kn_ref pick[] = { has_none_behind(d, &g, step), reg, next_lane(d, w[0]) };

            w[n - 1] = dist_op3(d, KN_OP_select, kn_v32, pick);
        }
    }
    if (g.abreast) {
        kn_ref last = dist_op(d, KN_OP_eq, kn_vb1, chunk_of(d, &g),
                              dist_int(d, g.cpr));

        w[n++] = next_lane(d, dist_pick(d, last, w[3], w[0]));
    }
    for (uint32_t i = 0; i + 1 < n; i++) {
        arg[0] = w[i + 1];
        arg[1] = w[i];
        out[i] = dist_op3(d, KN_OP_perm, kn_v32, arg);
    }
    return n - 1;
}
