/* distribute_view.c - where a staged tile's parts lie in memory and in LDS.
 *
 * A view is a 64-bit base that walks along K and a 32-bit record count that
 * shrinks with it, so every lane offset stays small and constant and rows or
 * K beyond the operand read as zero by the hardware's range check. */
#include "distribute.h"

kn_ref
dist_swizzle(struct dist *d, const struct kn_lds *l, kn_ref row)
{
    kn_ref x = dist_ic(d, KN_OP_shr, row, l->swz_s);

    x = dist_ic(d, KN_OP_and, x, (1 << l->swz_n) - 1);
    return dist_ic(d, KN_OP_shl, x, l->swz_t);
}

kn_ref
dist_flip(struct dist *d, const struct kn_lds *l, kn_ref row, uint32_t by)
{
    row = dist_ic(d, KN_OP_and, row, l->flip);
    return by < l->flip ? dist_ic(d, KN_OP_udiv, row, l->flip / by)
                        : dist_ic(d, KN_OP_mul, row, by / l->flip);
}

void
dist_block_place(struct dist *d, const struct kn_lds *l, kn_ref id, kn_ref *k,
                 kn_ref *outer)
{
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t groups = l->rows / g.pb / g.pn;
    kn_ref high = dist_ic(d, KN_OP_udiv, id, g.pn * g.kn);

    *outer = dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_urem, high, groups), g.pn);
    *outer = dist_i2(d, KN_OP_add, *outer, dist_ic(d, KN_OP_urem, id, g.pn));
    *k = dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_udiv, high, groups), g.kn);
    *k = dist_i2(d, KN_OP_add, *k,
                 dist_ic(d, KN_OP_urem, dist_ic(d, KN_OP_udiv, id, g.pn),
                         g.kn));
}

void
dist_chunk_place(struct dist *d, const struct kn_lds *l, kn_ref c, kn_ref *row,
                 kn_ref *chunk)
{
    uint32_t cpr = kn_geometry(d->in, l).cpr;

    *row = dist_ic(d, KN_OP_udiv, c, cpr);
    *chunk = dist_ic(d, KN_OP_urem, c, cpr);
    if (l->swz_n && !dist_in_order(d, l))
        *chunk = dist_i2(d, KN_OP_xor, *chunk, dist_swizzle(d, l, *row));
}

kn_ref
dist_chunk_id(struct dist *d, uint32_t step)
{
    return dist_ic(d, KN_OP_add, d->tid, (int64_t)step * kn_waves(d->in) * 64);
}

/* Where a step has runs of eight lanes a row, the next has those of the rows' other
 * halves; every other pair of rows has the second first, so that what eight rows write
 * to LDS is in different banks. */
kn_ref
dist_run_id(struct dist *d, const struct kn_lds *l, uint32_t step)
{
    struct kn_geom g = kn_geometry(d->in, l);
    kn_ref id = dist_chunk_id(d, g.halves ? step / 2 : step), row, half;

    if (dist_by_lines(l))
        return dist_line_chunk(d, l, step);
    if (!g.halves)
        return id;
    row = dist_ic(d, KN_OP_udiv, id, g.per / 2);
    half = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, row, 1), 1);
    if (step % 2)
        half = dist_ic(d, KN_OP_xor, half, 1);
    half = dist_ic(d, KN_OP_mul, half, g.per / 2);
    half = dist_i2(d, KN_OP_add, half, dist_ic(d, KN_OP_urem, id, g.per / 2));
    return dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, row, g.per), half);
}

void
dist_run_place(struct dist *d, const struct kn_lds *l, kn_ref id, kn_ref *row,
               kn_ref *run)
{
    struct kn_lane_order o = kn_run_order(d->in, l);
    kn_ref rest, low, mid;

    if (!o.rows) {
        *row = dist_ic(d, KN_OP_udiv, id, o.per);
        *run = dist_ic(d, KN_OP_urem, id, o.per);
        return;
    }
    rest = dist_ic(d, KN_OP_shr, id, o.along + o.rows);
    low = dist_ic(d, KN_OP_udiv, rest, o.per >> o.along);
    mid = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, id, o.along), (1 << o.rows) - 1);
    *run = dist_ic(d, KN_OP_and, id, (1 << o.along) - 1);
    rest = dist_ic(d, KN_OP_shl, dist_ic(d, KN_OP_urem, rest, o.per >> o.along), o.along);
    *run = dist_i2(d, KN_OP_add, *run, rest);
    *row = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_shl, mid, o.from),
                   dist_ic(d, KN_OP_shl, dist_ic(d, KN_OP_shr, low, o.from), o.from + o.rows));
    if (o.from)
        *row = dist_i2(d, KN_OP_add, *row, dist_ic(d, KN_OP_and, low, (1 << o.from) - 1));
}

/* Row of the tile, and bytes into it, of chunk (or run) `id` in memory. */
static void
memory_place(struct dist *d, const struct kn_lds *l, kn_ref id, kn_ref *row,
             kn_ref *bytes)
{
    struct kn_geom g = kn_geometry(d->in, l);

    if (g.run)
        dist_run_place(d, l, id, row, bytes);
    else
        dist_chunk_place(d, l, id, row, bytes);
    *bytes = l->panel ? dist_panel_bytes(d, g.mem, *bytes)
                      : dist_ic(d, KN_OP_mul, *bytes, l->kdiv != 1 && l->run ? 0 : g.mem);
}

static bool
whole_step(const struct dist *d, const struct kn_geom *g, uint32_t step)
{
    return (step + 1) * kn_waves(d->in) * 64 <= g->nchunks;
}

static kn_ref
guard(struct dist *d, const struct kn_geom *g, uint32_t step, kn_ref id,
      kn_ref off)
{
    kn_ref arg[3];

    if (whole_step(d, g, step))
        return off;
    arg[0] = dist_op(d, KN_OP_ult, kn_vb1, id, dist_int(d, g->nchunks));
    arg[1] = off;
    arg[2] = dist_int(d, DIST_NEVER);
    return dist_op3(d, KN_OP_select, kn_v32, arg);
}

kn_ref
dist_or_behind(struct dist *d, const struct kn_geom *g, uint32_t step, kn_ref a,
               struct dist_piece x)
{
    uint32_t over = (step + 1) * kn_waves(d->in) * 64 - g->nchunks;
    kn_ref id, arg[3];

    if (whole_step(d, g, step))
        return a;
    id = dist_chunk_id(d, step);
    arg[0] = dist_op(d, KN_OP_ult, kn_vb1, id, dist_int(d, g->nchunks));
    arg[1] = a;
    arg[2] = dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, id, x.bytes),
                     (int64_t)g->nchunks * (x.block - x.bytes) + x.at * over);
    return dist_op3(d, KN_OP_select, kn_v32, arg);
}

uint32_t
dist_share_rows(const struct dist *d, const struct kn_lds *l)
{
    const struct kn_shape *s = &d->in->shape;

    return l->rows / (l->side == 'a' ? s->wm : s->wn);
}

kn_ref
dist_memory_row(struct dist *d, const struct dist_tile *v, kn_ref row,
                kn_ref row0)
{
    const struct kn_lds *l = dist_lds(d, v->lds);
    kn_ref low, pair;

    if (l->share) {          /* the rows of a wave, those of the next one */
        uint32_t per = dist_share_rows(d, l);

        low = dist_ic(d, KN_OP_urem, row, per);
        row = dist_ic(d, KN_OP_udiv, row, per);
        row = dist_ic(d, KN_OP_mul, row, (int64_t)per * l->share);
        row = dist_i2(d, KN_OP_add, row, low);
    }
    if (v->up) {             /* 16 gate rows, their 16 up rows, and so on */
        low = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, row, 4), 1);
        pair = dist_ic(d, KN_OP_shl, dist_ic(d, KN_OP_shr, row, 5), 4);
        row = dist_i2(d, KN_OP_add, pair, dist_ic(d, KN_OP_and, row, 15));
        row = dist_i2(d, KN_OP_add, row, dist_i2(d, KN_OP_mul, low, v->up));
    }
    if (!l->shift)           /* shuffled: a row is a block of 32 already */
        return row;
    low = dist_ic(d, KN_OP_and, row0, (1 << l->shift) - 1);
    return dist_ic(d, KN_OP_shr, dist_i2(d, KN_OP_add, row, low), l->shift);
}

/* Of gate and up beside each other in a row, 16 columns of each in turn: bytes
 * into the row of what is `off` bytes into the tile's; no load has of both. */
static kn_ref
pair_offset(struct dist *d, const struct dist_tile *v, kn_ref off)
{
    uint32_t run = 2 * kn_column_bits(dist_lds(d, v->lds));
    kn_ref n = dist_ic(d, KN_OP_udiv, off, run), up;

    up = dist_i2(d, KN_OP_mul, dist_ic(d, KN_OP_and, n, 1), v->up);
    up = run < 16 ? dist_ic(d, KN_OP_shr, up, 1)
                  : dist_ic(d, KN_OP_mul, up, run / 16);
    off = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_urem, off, run),
                  dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_shr, n, 1), run));
    return dist_i2(d, KN_OP_add, off, up);
}

/* Row of zero points, and column, of a run or block of B's elements. */
static void
zero_place(struct dist *d, const struct kn_lds *l, kn_ref id, kn_ref *row,
           kn_ref *column)
{
    struct kn_geom g = kn_geometry(d->in, l);

    if (!l->words) {
        dist_run_place(d, l, id, column, row);
        *row = dist_ic(d, KN_OP_udiv, *row, l->kdiv / l->run);
        return;
    }
    dist_block_place(d, l, id, row, column);
    *row = dist_ic(d, KN_OP_udiv, *row, l->kdiv / g.kb);
    *column = dist_ic(d, KN_OP_mul, *column, g.pb);
}

/* Row of memory and bytes into it where a block to be turned begins. */
static void
block_offset(struct dist *d, const struct dist_tile *v, kn_ref id, kn_ref *row,
             kn_ref *bytes)
{
    const struct kn_lds *l = dist_lds(d, v->lds);
    struct kn_geom g = kn_geometry(d->in, l);

    dist_block_place(d, l, id, row, bytes);
    *row = dist_ic(d, KN_OP_mul, *row, g.kb / kn_row_k(l));
    *bytes = dist_ic(d, KN_OP_mul, *bytes, g.mem);
    if (v->up)
        *bytes = pair_offset(d, v, *bytes);
}

/* Rows of a step along K, of which each lane has a piece. */
static uint32_t
rows_of_step(struct dist *d, const struct kn_lds *l)
{
    struct kn_geom g = kn_geometry(d->in, l);

    return kn_waves(d->in) * 64 / kn_pieces_of_row(&g);
}

/* Beside 168 sums a lane and more, and fragments with scales or transposing reads, of A that is
 * loaded by lines: where B is not, or bytes are not shifted, which is arithmetic enough. */
bool
dist_lacks_registers(const struct dist *d)
{
    const struct kn_shape *x = &d->in->shape;
    uint32_t a = 0, b = 0;
    bool more = false;

    for (size_t i = 0; i < d->in->nlds; i++) {
        const struct kn_lds *l = &d->in->lds[i];

        more |= l->kdiv == 32 || (l->kdiv == 1 && !l->gk);
        if (l->kdiv == 1)
            *(l->side == 'a' ? &a : &b) = l->unaligned;
    }
    return more && x->bm * x->bn >= 168 * 64 * kn_waves(d->in) &&
           (a >= 3 ? b >= 3 || b <= 1 : a == 2 && b <= 1);
}

kn_ref
dist_steps_on(struct dist *d, const struct dist_tile *v, kn_ref off, uint32_t step)
{
    kn_ref by = dist_ic(d, KN_OP_mul, v->pitch,
                        (int64_t)step * rows_of_step(d, dist_lds(d, v->lds)));

    return step ? dist_i2(d, KN_OP_add, off, by) : off;
}

/* A view of B, beside A by lines. */
static bool
has_row_steps(struct dist *d, const struct dist_tile *v, const struct kn_geom *g)
{
    const struct kn_lds *l = dist_lds(d, v->lds);

    return l->unaligned == 1 && l->kdiv == 1 && !g->own && !v->up && !v->row &&
           whole_step(d, g, 0) && dist_lacks_registers(d);
}

/* n: of a gather by shares, those of all shares in turn. */
static kn_ref
step_offset(struct dist *d, struct dist_tile *v, uint32_t n, kn_ref row0)
{
    const struct kn_lds *l = dist_lds(d, v->lds);
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t step = n % g.steps;
    kn_ref id = dist_run_id(d, l, step), in = id, row, chunk, off, gate = 0;

    if (g.abreast)
        return step ? v->reg[0] : dist_abreast_offset(d, v, &g);
    if (step && whole_step(d, &g, step) && has_row_steps(d, v, &g)) {
        v->select[step] = v->select[0];
        return dist_steps_on(d, v, v->reg[0], step);
    }
    if (!whole_step(d, &g, step))
        in = dist_ic(d, KN_OP_umin, id, g.nchunks - 1);
    if (kn_is_zeros(l)) {
        zero_place(d, l, in, &row, &chunk);
        off = dist_memory_row(d, v, chunk, row0);
        off = kn_memory_bits(l) >= 8
                  ? dist_ic(d, KN_OP_mul, off, kn_memory_bits(l) / 8)
            : l->words ? dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, off, 1), -4)
                       : dist_ic(d, KN_OP_shr, off, 1);
    } else if (g.transpose) {
        block_offset(d, v, in, &row, &off);
    } else {
        memory_place(d, l, in, &row, &off);
        if (v->row && !l->gk)
            off = dist_int(d, 0);
        else if (v->up && !l->gk)
            off = pair_offset(d, v, off);
        else {
            if (l->lag && v->up)     /* as its fragment is read: of the gate's rows */
                gate = dist_i2(d, KN_OP_mul, dist_ic(d, KN_OP_and, row, 15), v->pitch);
            row = dist_memory_row(d, v, row, row0);
        }
        if (l->panel) {
            off = dist_i2(d, KN_OP_add, off,
                          dist_ic(d, KN_OP_shl,
                                  dist_ic(d, KN_OP_and, row, 15), 4));
            row = dist_ic(d, KN_OP_and, row, -16);
        }
    }
    row = v->row ? v->row[n] : dist_i2(d, KN_OP_mul, row, v->pitch);
    if (v->up && l->gk)               /* 2 n rows are within 31 bits: the launch checks */
        row = dist_assume(d, row, DIST_NEVER);
    if (l->lag)
        return guard(d, &g, step, id,
                     dist_lag_offset(d, v, (kn_ref[]){ row, off, gate ? gate : row }));
    if (dist_by_lines(l))
        return guard(d, &g, step, id, dist_line_offset(d, v, step, (kn_ref[]){ row, off }));
    off = dist_i2(d, KN_OP_add, row, off);
    if (g.own && !g.transpose)
        off = dist_i2(d, KN_OP_add, off, v->low);
    else if (l->unaligned && !g.own)
        off = dist_aligned(d, v, off, step);
    return guard(d, &g, step, id, off);
}

static kn_ref
to_bytes(struct dist *d, kn_ref elems, uint32_t bits)
{
    if (bits % 8 == 0)
        return dist_ic(d, KN_OP_mul, elems, bits / 8);
    elems = dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, elems, bits), 7);
    return dist_ic(d, KN_OP_shr, elems, 3);
}

/* Record counts are whole loads, of up to a dword: one that begins inside the
 * operand is read whole, its tail is cut by `clip` or never stored. Loads are
 * no wider than what a tile has of a row: so far the next tile is away. */
static kn_ref
whole_loads(struct dist *d, const struct kn_lds *l, kn_ref bytes)
{
    uint32_t to = l->unit < 4 ? l->unit : 4;
    uint32_t run = (l->gk ? l->cols : l->rows) * kn_memory_bits(l) / 8;

    if (!l->shuf && run < to)
        to = run;
    if (to < 2)
        return bytes;
    return dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_add, bytes, to - 1),
                   -(int64_t)to);
}

/* Power of two: outer indices that share a memory row. */
static uint32_t
outer_shift(const struct kn_lds *l)
{
    return l->shuf ? 5 : l->shift;
}

kn_ref
dist_row_elements(struct dist *d, const struct kn_lds *l, kn_ref k)
{
    uint32_t of = l->kdiv * kn_row_k(l);

    if (of != 1)
        k = dist_ic(d, KN_OP_udiv, dist_ic(d, KN_OP_add, k, of - 1), of);
    if (l->shuf)             /* 256 bytes for 32 rows of 8 */
        k = dist_ic(d, KN_OP_shl,
                    dist_ic(d, KN_OP_shr, dist_ic(d, KN_OP_add, k, 7), 3), 8);
    return k;
}

/* K-contiguous: (rows - 1) * pitch + bytes(K) from the tile's first row; of
 * panels of 16 rows, (panels - 1) * 16 * pitch + 16 * bytes(K). */
static void
view_k_inner(struct dist *d, struct dist_tile *v, kn_ref row0, kn_ref rows,
             kn_ref k)
{
    const struct kn_lds *l = dist_lds(d, v->lds);
    uint32_t shift = outer_shift(l);
    bool named = v->up || v->row;
    uint32_t reach = l->rows * (l->share ? l->share : 1);
    kn_ref n = dist_clamp(d, dist_i2(d, KN_OP_sub, rows, row0), 0,
                          !named ? reach : shift ? INT32_MAX / 2 : INT32_MAX);

    if (l->panel) {
        k = to_bytes(d, k, kn_memory_bits(l));
        n = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_add, n, -1), -16);
        n = dist_i2(d, KN_OP_mul, n, v->pitch);
        if (named)           /* all of gate and up is in reach */
            n = dist_assume(d, n, DIST_NEVER);
        n = dist_i2(d, KN_OP_add, n, dist_ic(d, KN_OP_shl, k, 4));
        dist_move(d, v->rem, dist_clamp(d, n, 0, DIST_NEVER));
        return;
    }
    k = dist_row_elements(d, l, k);
    if (named && !shift) {   /* the launch checks that all rows are in reach */
        n = dist_assume(d, dist_i2(d, KN_OP_mul, n, v->pitch), DIST_NEVER);
        n = dist_i2(d, KN_OP_sub, n, v->pitch);
    } else {
        n = dist_ic(d, KN_OP_add, n, -1);
        if (shift)
            n = dist_i2(d, KN_OP_add, n,
                        dist_ic(d, KN_OP_and, row0, (1 << shift) - 1));
        n = dist_i2(d, KN_OP_mul, dist_ic(d, KN_OP_sar, n, shift), v->pitch);
        if (named)           /* of blocks of B's rows, which are in reach */
            n = dist_assume(d, n, DIST_NEVER);
    }
    n = dist_i2(d, KN_OP_add, n, to_bytes(d, k, kn_memory_bits(l)));
    if (dist_by_lines(l))
        n = dist_line_records(d, v, n);
    else if (l->unaligned)
        n = dist_aligned_records(d, v, n);
    if (l->lag)
        n = dist_lag_records(d, v, n);
    dist_move(d, v->rem, dist_clamp(d, whole_loads(d, l, n), 0, DIST_NEVER));
}

void
dist_k_outer_records(struct dist *d, struct dist_tile *v)
{
    const struct kn_lds *l = dist_lds(d, v->lds);
    kn_ref n = dist_ic(d, KN_OP_smin, v->krem, l->cols / kn_row_k(l));

    n = dist_ic(d, KN_OP_add, n, -1);
    n = dist_i2(d, KN_OP_add, dist_i2(d, KN_OP_mul, n, v->pitch), v->outer);
    if (l->unaligned)
        n = dist_aligned_records(d, v, n);
    dist_move(d, v->rem, dist_ic(d, KN_OP_smax, whole_loads(d, l, n), 0));
}

kiln_status
expand_view(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *v = dist_tile(d, i->dst);
    int lds = (int)KN_REF_LDS(i->arg[0]);
    const struct kn_lds *l = dist_lds(d, lds);
    struct kn_geom g = kn_geometry(d->in, l);
    const char *name = kn_val(d->in, i->dst)->name;
    kn_ref p = dist_operand(d, i->arg[1]), row0 = dist_operand(d, i->arg[2]);
    kn_ref rows = dist_operand(d, i->arg[3]), k = dist_operand(d, i->arg[4]);
    uint32_t bits = kn_column_bits(l);

    *v = (struct dist_tile){ .kind = DT_VIEW, .lds = lds };
    v->pitch = dist_operand(d, i->arg[5]);
    v->up = dist_operand(d, i->arg[6]);
    v->base = dist_named(d, kn_s64, "%s.base", name);
    v->rem = dist_named(d, kn_s32, "%s.rem", name);
    if (l->gk) {
        dist_move(d, v->base,
                  dist_address(d, p,
                               dist_ic(d, KN_OP_shr, row0, outer_shift(l)),
                               v->pitch, 0));
        if (dist_by_lines(l))
            dist_line_base(d, v);
        else if (l->unaligned)
            dist_align_base(d, v);
        if (l->lag)
            dist_lag_base(d, v, name);
        view_k_inner(d, v, row0, rows, k);
    } else {
        dist_move(d, v->base,
                  dist_address(d, p, 0, 0, to_bytes(d, row0, bits)));
        if (l->unaligned)
            dist_align_base(d, v);
        v->krem = dist_named(d, kn_s32, "%s.krem", name);
        k = dist_row_elements(d, l, k);
        dist_move(d, v->krem, dist_clamp(d, k, 0, INT32_MAX));
        v->outer = dist_clamp(d, dist_i2(d, KN_OP_sub, rows, row0), 0,
                              v->up ? INT32_MAX / 2 : l->rows);
        v->outer = to_bytes(d, v->outer, bits);
        dist_k_outer_records(d, v);
    }
    v->nreg = l->slots ? g.steps : kn_fragment(d->in, l->side).count;
    v->reg = KN_NEW(d->c, kn_ref, v->nreg);
    if (!l->slots)
        dist_pulled_view(d, v);
    for (uint32_t s = 0; l->slots && s < g.steps; s++)
        v->reg[s] = step_offset(d, v, s, row0);
    if (l->unaligned && !g.own && !dist_by_lines(l))
        dist_first_dwords(d, v, name);
    return KILN_OK;
}

/* The row offsets of every step: all ids first, so that their loads overlap.
 * K-outer, a chunk is the one element of a row. */
static void
gather_rows(struct dist *d, struct dist_tile *v, const struct dist_rows *rows)
{
    const struct kn_lds *l = dist_lds(d, v->lds);
    uint32_t steps = kn_geometry(d->in, l).steps;

    for (uint32_t s = 0; s < v->nreg; s++) {
        kn_ref row = dist_run_id(d, l, s % steps), bytes;

        if (l->gk)
            memory_place(d, l, row, &row, &bytes);
        if (l->share)
            row = dist_ic(d, KN_OP_add, dist_memory_row(d, v, row, 0),
                          s / steps * dist_share_rows(d, l));
        v->reg[s] = dist_row_id(d, rows, row);
    }
    v->row = KN_NEW(d->c, kn_ref, v->nreg);
    for (uint32_t s = 0; s < v->nreg; s++)
        v->row[s] = dist_row_offset(d, rows, v->reg[s]);
}

/* Rows that are gathered are K-contiguous, or have one element in a K tile. */
static bool
gatherable(struct dist *d, const struct kn_lds *l)
{
    struct kn_geom g = kn_geometry(d->in, l);

    return !outer_shift(l) && !l->panel && !l->lag &&
           (l->gk || (l->slots && (!l->mem || l->kdiv != 1) && l->cols == 1 && !l->unaligned &&
                      g.chunk * 8 == kn_elems[l->elem].bits));
}

/* K-outer: elements of n rows side by side. */
static void
gather_k_outer(struct dist *d, struct dist_tile *v, kn_ref n, kn_ref k)
{
    const struct kn_lds *l = dist_lds(d, v->lds);

    v->krem = dist_named(d, kn_s32, "%s.krem", kn_val(d->out, v->base)->name);
    dist_move(d, v->krem, dist_clamp(d, dist_row_elements(d, l, k), 0, INT32_MAX));
    v->outer = to_bytes(d, dist_clamp(d, n, 0, INT32_MAX / 8), kn_memory_bits(l));
    dist_k_outer_records(d, v);
}

kiln_status
expand_gather(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *v = dist_tile(d, i->dst);
    int lds = (int)KN_REF_LDS(i->arg[0]);
    const char *name = kn_val(d->in, i->dst)->name;
    struct dist_rows rows = {
        dist_operand(d, i->arg[2]), dist_operand(d, i->arg[3]),
        dist_operand(d, i->arg[4]), dist_operand(d, i->arg[6]),
        i->attr[KN_A_slots] != 0, i->attr[KN_A_plain] != 0 };
    kn_ref n = rows.tokens;
    struct kn_geom g = kn_geometry(d->in, dist_lds(d, lds));
    bool pulled = !dist_lds(d, lds)->slots;
    uint32_t share = dist_lds(d, lds)->share;

    if (!gatherable(d, dist_lds(d, lds)))
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "only rows of their own "
                          "are gathered, K-contiguous or of one element");
    *v = (struct dist_tile){ .kind = DT_VIEW, .lds = lds,
                             .pitch = rows.pitch };
    if (!dist_lds(d, lds)->gk)
        rows.pitch = dist_int(d, kn_memory_bits(dist_lds(d, lds)) / 8);
    v->nreg = pulled ? kn_fragment(d->in, dist_lds(d, lds)->side).count
                     : g.steps * (share ? share : 1);
    v->reg = KN_NEW(d->c, kn_ref, v->nreg);
    v->base = dist_named(d, kn_s64, "%s.base", name);
    v->rem = dist_named(d, kn_s32, "%s.rem", name);
    if (pulled)
        dist_pulled_rows(d, v, &rows, i->arg[7]);
    else
        gather_rows(d, v, &rows);
    dist_move(d, v->base, dist_address(d, dist_operand(d, i->arg[1]), 0, 0, 0));
    if (dist_lds(d, lds)->unaligned)
        dist_align_base(d, v);
    if (rows.slots)
        n = dist_i2(d, KN_OP_mul, n, rows.topk);
    if (dist_lds(d, lds)->gk)
        view_k_inner(d, v, dist_int(d, 0), n, dist_operand(d, i->arg[5]));
    else
        gather_k_outer(d, v, n, dist_operand(d, i->arg[5]));
    if (pulled)
        dist_pulled_view(d, v);
    for (uint32_t s = 0; !pulled && s < v->nreg; s++)
        v->reg[s] = step_offset(d, v, s, 0);
    if (dist_lds(d, lds)->unaligned && !g.own)
        dist_first_dwords(d, v, name);
    return KILN_OK;
}
