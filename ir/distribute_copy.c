/* distribute_copy.c - global memory to LDS: views, direct copies, copies
 * through registers, and zeroing the K tail of a staged tile.
 *
 * A view is a 64-bit base that walks along K and a 32-bit record count that
 * shrinks with it, so every lane offset stays small and constant and rows or
 * K beyond the operand read as zero by the hardware's range check. */
#include "distribute.h"

static const struct kn_lds *
lds_of(const struct dist *d, int i)
{
    return &d->in->lds[i];
}

kn_ref
dist_swizzle(struct dist *d, const struct kn_lds *l, kn_ref row)
{
    kn_ref x = dist_ic(d, KN_OP_shr, row, l->swz_s);

    x = dist_ic(d, KN_OP_and, x, (1 << l->swz_n) - 1);
    return dist_ic(d, KN_OP_shl, x, l->swz_t);
}

/* kn_block_place on a lane's block. */
static void
block_place(struct dist *d, const struct kn_lds *l, kn_ref id, kn_ref *k,
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

/* Row and source chunk of the LDS chunk `c` (linear). */
static void
chunk_place(struct dist *d, const struct kn_lds *l, kn_ref c, kn_ref *row,
            kn_ref *chunk)
{
    struct kn_geom g = kn_geometry(d->in, l);

    *row = dist_ic(d, KN_OP_udiv, c, g.cpr);
    *chunk = dist_ic(d, KN_OP_urem, c, g.cpr);
    if (l->swz_n)
        *chunk = dist_i2(d, KN_OP_xor, *chunk, dist_swizzle(d, l, *row));
}

kn_ref
dist_chunk_id(struct dist *d, uint32_t step)
{
    return dist_ic(d, KN_OP_add, d->tid, (int64_t)step * kn_waves(d->in) * 64);
}

void
dist_run_place(struct dist *d, const struct kn_lds *l, kn_ref id, kn_ref *row,
               kn_ref *run)
{
    uint32_t per = l->cols / kn_geometry(d->in, l).run;

    *row = dist_ic(d, KN_OP_udiv, id, per);
    *run = dist_ic(d, KN_OP_urem, id, per);
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
        chunk_place(d, l, id, row, bytes);
    *bytes = dist_ic(d, KN_OP_mul, *bytes, l->panel ? 256 : g.mem);
}

enum { NEVER = 0x7fffffff }; /* beyond every record count (design limit) */

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
    arg[2] = dist_int(d, NEVER);
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
    const struct kn_lds *l = lds_of(d, v->lds);
    kn_ref low, pair;

    if (v->up) {             /* 16 gate rows, their 16 up rows, and so on */
        low = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, row, 4), 1);
        pair = dist_ic(d, KN_OP_shl, dist_ic(d, KN_OP_shr, row, 5), 4);
        row = dist_i2(d, KN_OP_add, pair, dist_ic(d, KN_OP_and, row, 15));
        row = dist_i2(d, KN_OP_add, row, dist_i2(d, KN_OP_mul, low, v->up));
        if (!l->shift)
            return row;
    }
    if (l->share) {          /* the rows of a wave, those of the next one */
        uint32_t per = dist_share_rows(d, l);

        low = dist_ic(d, KN_OP_urem, row, per);
        row = dist_ic(d, KN_OP_udiv, row, per);
        row = dist_ic(d, KN_OP_mul, row, (int64_t)per * l->share);
        return dist_i2(d, KN_OP_add, row, low);
    }
    if (!l->shift)           /* shuffled: a row is a block of 32 already */
        return row;
    low = dist_ic(d, KN_OP_and, row0, (1 << l->shift) - 1);
    return dist_ic(d, KN_OP_shr, dist_i2(d, KN_OP_add, row, low), l->shift);
}

static kn_ref
step_offset(struct dist *d, const struct dist_tile *v, uint32_t step,
            kn_ref row0)
{
    const struct kn_lds *l = lds_of(d, v->lds);
    struct kn_geom g = kn_geometry(d->in, l);
    kn_ref id = dist_chunk_id(d, step), in = id, row, chunk, off;

    if (!whole_step(d, &g, step))
        in = dist_ic(d, KN_OP_umin, id, g.nchunks - 1);
    if (g.transpose) {
        block_place(d, l, in, &row, &chunk);
        row = dist_ic(d, KN_OP_mul, row, g.kb);
        off = dist_ic(d, KN_OP_mul, chunk, 4);
    } else {
        memory_place(d, l, in, &row, &off);
        row = dist_memory_row(d, v, row, row0);
        if (l->panel) {
            off = dist_i2(d, KN_OP_add, off,
                          dist_ic(d, KN_OP_shl,
                                  dist_ic(d, KN_OP_and, row, 15), 4));
            row = dist_ic(d, KN_OP_and, row, -16);
        }
    }
    row = v->row ? v->row[step] : dist_i2(d, KN_OP_mul, row, v->pitch);
    if (v->up)               /* 2 n rows are within 31 bits: the launch checks */
        row = dist_assume(d, row, NEVER);
    off = dist_i2(d, KN_OP_add, row, off);
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

/* Elements of a row of the tile's own type that K of the operand are. */
static kn_ref
row_elements(struct dist *d, const struct kn_lds *l, kn_ref k)
{
    if (l->kdiv != 1)
        k = dist_ic(d, KN_OP_udiv, dist_ic(d, KN_OP_add, k, l->kdiv - 1),
                    l->kdiv);
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
    const struct kn_lds *l = lds_of(d, v->lds);
    uint32_t shift = outer_shift(l);
    bool named = v->up || v->row;
    uint32_t reach = l->rows * (l->share ? l->share : 1);
    kn_ref n = dist_clamp(d, dist_i2(d, KN_OP_sub, rows, row0), 0,
                          !named ? reach : shift ? INT32_MAX / 2 : INT32_MAX);

    if (l->panel) {
        k = to_bytes(d, k, kn_elems[l->elem].bits);
        n = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_add, n, -1), -16);
        n = dist_i2(d, KN_OP_mul, n, v->pitch);
        n = dist_i2(d, KN_OP_add, n, dist_ic(d, KN_OP_shl, k, 4));
        dist_move(d, v->rem, dist_clamp(d, n, 0, NEVER));
        return;
    }
    k = row_elements(d, l, k);
    if (named && !shift) {   /* the launch checks that all rows are in reach */
        n = dist_assume(d, dist_i2(d, KN_OP_mul, n, v->pitch), NEVER);
        n = dist_i2(d, KN_OP_sub, n, v->pitch);
    } else {
        n = dist_ic(d, KN_OP_add, n, -1);
        if (shift)
            n = dist_i2(d, KN_OP_add, n,
                        dist_ic(d, KN_OP_and, row0, (1 << shift) - 1));
        n = dist_i2(d, KN_OP_mul, dist_ic(d, KN_OP_sar, n, shift), v->pitch);
        if (named)           /* of blocks of B's rows, which are in reach */
            n = dist_assume(d, n, NEVER);
    }
    n = dist_i2(d, KN_OP_add, n, to_bytes(d, k, kn_memory_bits(l)));
    dist_move(d, v->rem, dist_clamp(d, whole_loads(d, l, n), 0, NEVER));
}

/* K-outer: the records of one staged block of K rows. */
static void
k_outer_records(struct dist *d, struct dist_tile *v)
{
    const struct kn_lds *l = lds_of(d, v->lds);
    kn_ref n = dist_ic(d, KN_OP_smin, v->krem, l->cols);

    n = dist_ic(d, KN_OP_add, n, -1);
    n = dist_i2(d, KN_OP_add, dist_i2(d, KN_OP_mul, n, v->pitch), v->outer);
    dist_move(d, v->rem, dist_ic(d, KN_OP_smax, whole_loads(d, l, n), 0));
}

kiln_status
expand_view(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *v = dist_tile(d, i->dst);
    int lds = (int)KN_REF_LDS(i->arg[0]);
    const struct kn_lds *l = lds_of(d, lds);
    struct kn_geom g = kn_geometry(d->in, l);
    const char *name = kn_val(d->in, i->dst)->name;
    kn_ref p = dist_operand(d, i->arg[1]), row0 = dist_operand(d, i->arg[2]);
    kn_ref rows = dist_operand(d, i->arg[3]), k = dist_operand(d, i->arg[4]);
    uint32_t bits = kn_memory_bits(l);

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
        view_k_inner(d, v, row0, rows, k);
    } else {
        dist_move(d, v->base,
                  dist_address(d, p, 0, 0, to_bytes(d, row0, bits)));
        v->krem = dist_named(d, kn_s32, "%s.krem", name);
        dist_move(d, v->krem, dist_clamp(d, k, 0, INT32_MAX));
        v->outer = dist_clamp(d, dist_i2(d, KN_OP_sub, rows, row0), 0, l->rows);
        v->outer = to_bytes(d, v->outer, bits);
        k_outer_records(d, v);
    }
    v->nreg = l->slots ? g.steps : kn_fragment(d->in, l->side).count;
    v->reg = KN_NEW(d->c, kn_ref, v->nreg);
    if (!l->slots)
        dist_pulled_view(d, v);
    for (uint32_t s = 0; l->slots && s < g.steps; s++)
        v->reg[s] = step_offset(d, v, s, row0);
    return KILN_OK;
}

/* The row offsets of every step: all ids first, so that their loads overlap. */
static void
gather_rows(struct dist *d, struct dist_tile *v, const struct dist_rows *rows)
{
    const struct kn_lds *l = lds_of(d, v->lds);

    for (uint32_t s = 0; s < v->nreg; s++) {
        kn_ref row, bytes;

        memory_place(d, l, dist_chunk_id(d, s), &row, &bytes);
        v->reg[s] = dist_row_id(d, rows, row);
    }
    v->row = KN_NEW(d->c, kn_ref, v->nreg);
    for (uint32_t s = 0; s < v->nreg; s++)
        v->row[s] = dist_row_offset(d, rows, v->reg[s]);
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
    bool pulled = !lds_of(d, lds)->slots;

    if (!lds_of(d, lds)->gk || outer_shift(lds_of(d, lds)) ||
        lds_of(d, lds)->panel)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at,
                          "only K-contiguous rows of their own are gathered");
    *v = (struct dist_tile){ .kind = DT_VIEW, .lds = lds,
                             .pitch = rows.pitch };
    v->nreg = pulled ? kn_fragment(d->in, lds_of(d, lds)->side).count
                     : kn_geometry(d->in, lds_of(d, lds)).steps;
    v->reg = KN_NEW(d->c, kn_ref, v->nreg);
    v->base = dist_named(d, kn_s64, "%s.base", name);
    v->rem = dist_named(d, kn_s32, "%s.rem", name);
    if (pulled)
        dist_pulled_rows(d, v, &rows, i->arg[7]);
    else
        gather_rows(d, v, &rows);
    dist_move(d, v->base, dist_address(d, dist_operand(d, i->arg[1]), 0, 0, 0));
    if (rows.slots)
        n = dist_i2(d, KN_OP_mul, n, rows.topk);
    view_k_inner(d, v, dist_int(d, 0), n, dist_operand(d, i->arg[5]));
    if (pulled)
        dist_pulled_view(d, v);
    for (uint32_t s = 0; !pulled && s < v->nreg; s++)
        v->reg[s] = step_offset(d, v, s, 0);
    return KILN_OK;
}

/* To the next K tile; where the condition does not hold there is none, and
 * copies find no records. */
kiln_status
expand_advance(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *v = dist_tile(d, i->arg[0]);
    const struct kn_lds *l = lds_of(d, v->lds);
    uint32_t bytes = l->line ? KN_LINE : l->cols * kn_memory_bits(l) / 8 *
                                         (l->panel ? 16 : l->shuf ? 32 : 1);
    kn_ref step;

    if (l->gk) {
        step = dist_int(d, bytes);
        dist_move(d, v->rem,
                  dist_ic(d, KN_OP_smax,
                          dist_ic(d, KN_OP_add, v->rem, -(int64_t)bytes), 0));
    } else {
        step = dist_op(d, KN_OP_sext, kn_s64, v->pitch, 0);
        step = dist_op(d, KN_OP_mul, kn_s64, step, dist_int(d, l->cols));
        dist_move(d, v->krem,
                  dist_ic(d, KN_OP_smax,
                          dist_ic(d, KN_OP_add, v->krem, -(int64_t)l->cols),
                          0));
        k_outer_records(d, v);
    }
    if (i->arg[1]) {
        kn_ref pick[] = { dist_operand(d, i->arg[1]), v->rem, dist_int(d, 0) };

        dist_move(d, v->rem, dist_op3(d, KN_OP_select, kn_s32, pick));
    }
    dist_move(d, v->base, dist_op(d, KN_OP_add, kn_s64, v->base, step));
    return KILN_OK;
}

/* The steps of share `part` of `parts`: from .. to - 1. */
struct steps {
    uint32_t from, to;
};

static struct steps
steps_of(const struct kn_ins *i, uint32_t steps)
{
    uint32_t part = (uint32_t)i->attr[KN_A_part];
    uint32_t parts = (uint32_t)i->attr[KN_A_parts];

    return (struct steps){ (part * steps + parts - 1) / parts,
                           ((part + 1) * steps + parts - 1) / parts };
}

/* A share begins that many rows of a wave below the view. */
static kn_ref
copy_rsrc(struct dist *d, const struct dist_tile *v, kn_ref slot)
{
    const struct kn_lds *l = lds_of(d, v->lds);
    uint32_t share = KN_REF_SLOT(slot) >> l->line;
    kn_ref below;

    if (!l->share || !share)
        return dist_rsrc(d, v->base, v->rem);
    below = dist_ic(d, KN_OP_mul, v->pitch,
                    (int64_t)share * dist_share_rows(d, l));
    return dist_rsrc(d, dist_op(d, KN_OP_add, kn_s64, v->base,
                                dist_op(d, KN_OP_sext, kn_s64, below, 0)),
                     dist_ic(d, KN_OP_smax,
                             dist_i2(d, KN_OP_sub, v->rem, below), 0));
}

kiln_status
expand_copy(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *v = dist_tile(d, i->arg[1]);
    struct kn_geom g = kn_geometry(d->in, lds_of(d, v->lds));
    struct steps x = steps_of(i, g.steps);
    kn_ref r = copy_rsrc(d, v, i->arg[0]);
    kn_ref wave = dist_ic(d, KN_OP_mul, d->wave, 64 * g.chunk);

    for (uint32_t s = x.from; s < x.to; s++) {
        uint32_t at = s * kn_waves(d->in) * 64 * g.chunk;
        kn_ref off = dist_ic(d, KN_OP_add, wave, at);
        struct kn_ins *n = dist_add(d, KN_OP_dma, 0);

        n->arg[0] = i->arg[0];
        n->arg[1] = off;
        n->arg[2] = r;
        n->arg[3] = v->reg[s];
        n->attr[KN_A_bytes] = (int32_t)g.chunk;
        n->attr[KN_A_nt] = i->attr[KN_A_nt];
    }
    return KILN_OK;
}

static struct kn_type
load_type(uint32_t bytes)
{
    return dist_vec(KN_T_i32, bytes / 4 ? bytes / 4 : 1);
}

static uint8_t
memory_elem(uint32_t bytes)
{
    return bytes == 1 ? KN_T_i8 : bytes == 2 ? KN_T_i16 : KN_T_i32;
}

/* Loads per step: a transpose block is kb dwords, a chunk is chunk / unit. */
static uint32_t
loads_per_step(const struct kn_lds *l, const struct kn_geom *g)
{
    uint32_t bytes = g->transpose ? 4 : g->mem;
    uint32_t unit = l->unit < bytes ? l->unit : bytes;

    return bytes / unit * (g->transpose ? g->kb : 1);
}

/* fetch: a tile value that is fetched twice (prologue and loop) keeps its
 * registers. A share is one of the loads, of put and await one of the steps. */
kiln_status
expand_fetch(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *v = dist_tile(d, i->arg[0]), *t = dist_tile(d, i->dst);
    const struct kn_lds *l = lds_of(d, v->lds);
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t per = loads_per_step(l, &g), bytes = g.transpose ? 4 : g.mem;
    uint32_t unit = l->unit < bytes ? l->unit : bytes, j = bytes / unit;
    struct steps x = steps_of(i, g.steps * per);
    kn_ref r = dist_rsrc(d, v->base, v->rem);

    if (t->kind == DT_NONE)
        *t = (struct dist_tile){ .kind = DT_STAGE, .lds = v->lds,
                                 .reg = KN_NEW(d->c, kn_ref, g.steps * per),
                                 .nreg = g.steps * per };
    for (uint32_t n = x.from; n < x.to; n++) {
        kn_ref off = v->reg[n / per];
        struct kn_ins *ins;

        if (g.transpose)
            off = dist_i2(d, KN_OP_add, off,
                          dist_ic(d, KN_OP_mul, v->pitch, n % per / j));
        if (!t->reg[n])
            t->reg[n] = dist_named(d, load_type(unit), "%s.%u",
                                   kn_val(d->in, i->dst)->name, n);
        ins = dist_add(d, KN_OP_ldg, t->reg[n]);
        ins->arg[0] = r;
        ins->arg[1] = off;
        ins->attr[KN_A_offset] = (int32_t)(n % j * unit);
        ins->attr[KN_A_elem] = memory_elem(unit);
        ins->attr[KN_A_nt] = i->attr[KN_A_nt];
    }
    return KILN_OK;
}

/* await: slots one by one; of a tile of registers, or a share of it, the newest
 * first, which covers the older ones. */
kiln_status
expand_await(struct dist *d, const struct kn_ins *i)
{
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++) {
        const struct dist_tile *t;
        uint32_t steps, per;

        if (KN_REF_TAG(i->arg[a]) == KN_R_LDS) {
            dist_add(d, KN_OP_landed, 0)->arg[0] = i->arg[a];
            continue;
        }
        t = dist_tile(d, i->arg[a]);
        steps = t->kind == DT_PULLED
              ? 1 : kn_geometry(d->in, lds_of(d, t->lds)).steps;
        per = t->nreg / steps;
        for (uint32_t n = steps_of(i, steps).to * per;
             n-- > steps_of(i, steps).from * per;)
            if (t->reg[n])
                dist_add(d, KN_OP_landed, 0)->arg[0] = t->reg[n];
    }
    return KILN_OK;
}

/* keep: the registers count as used here, so that their loads stay where they
 * were issued even on a path that never reads them. */
kiln_status
expand_keep(struct dist *d, const struct kn_ins *i)
{
    for (int a = 0; a < KN_MAXARG && i->arg[a]; a++) {
        const struct dist_tile *t = dist_tile(d, i->arg[a]);

        for (uint32_t n = t->nreg; n-- > 0;) {
            struct kn_ins *u;

            if (!t->reg[n])
                continue;
            u = dist_add(d, KN_OP_used, 0);
            u->arg[0] = t->reg[n];
            u->attr[KN_A_going] = i->attr[KN_A_going];
        }
    }
    return KILN_OK;
}

/* One dword from loads narrower than a dword. */
static kn_ref
pack_dword(struct dist *d, const kn_ref *part, uint32_t unit)
{
    kn_ref x = part[0];

    for (uint32_t i = 1; i < 4 / unit; i++)
        x = dist_i2(d, KN_OP_or, x,
                    dist_ic(d, KN_OP_shl, part[i], 8 * unit * i));
    return x;
}

kn_ref
dist_slice(struct dist *d, kn_ref v, uint32_t first)
{
    kn_ref x = dist_op(d, KN_OP_slice, kn_v32, v, 0);

    d->out->ins[d->out->nins - 1].attr[KN_A_first] = (int32_t)first;
    return x;
}

kn_ref
dist_cat(struct dist *d, const kn_ref *part, uint32_t n)
{
    kn_ref dst;
    struct kn_ins *i;

    if (n == 1)
        return part[0];
    dst = dist_temp(d, dist_vec(KN_T_i32, n * kn_val(d->out, part[0])->type.n));
    i = dist_add(d, KN_OP_cat, dst);
    for (uint32_t a = 0; a < n; a++)
        i->arg[a] = part[a];
    return dst;
}

/* The chunk a lane holds, as one vector of dwords (or a narrow scalar). */
static kn_ref
pack_chunk(struct dist *d, const kn_ref *reg, uint32_t chunk, uint32_t unit)
{
    kn_ref w[4];

    if (unit >= chunk || chunk < 4)
        return chunk < 4 && unit < chunk
             ? dist_i2(d, KN_OP_or, reg[0], dist_ic(d, KN_OP_shl, reg[1], 8))
             : reg[0];
    for (uint32_t i = 0; i < chunk / 4; i++)
        w[i] = unit >= 4 ? reg[i] : pack_dword(d, reg + i * 4 / unit, unit);
    return dist_cat(d, w, chunk / 4);
}

void
dist_store_lds(struct dist *d, struct dist_place at, kn_ref v, uint32_t bytes)
{
    struct kn_ins *n = dist_add(d, KN_OP_lds_st, 0);

    n->arg[0] = at.slot;
    n->arg[1] = at.addr;
    n->arg[2] = v;
    n->attr[KN_A_offset] = (int32_t)at.offset;
    n->attr[KN_A_elem] = memory_elem(bytes);
}

static void
put_chunks(struct dist *d, kn_ref slot, const struct dist_tile *t,
           struct steps x)
{
    const struct kn_lds *l = lds_of(d, t->lds);
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t per = loads_per_step(l, &g);
    kn_ref addr = dist_ic(d, KN_OP_mul, d->tid, g.chunk);

    for (uint32_t s = x.from; s < x.to; s++)
        dist_store_lds(d, (struct dist_place){ slot, addr,
                      (int64_t)s * kn_waves(d->in) * 64 * g.chunk },
                  pack_chunk(d, t->reg + s * per, g.chunk, l->unit), g.chunk);
}

kn_ref
dist_perm(struct dist *d, kn_ref x, kn_ref y, uint32_t sel)
{
    kn_ref arg[3] = { x, y, dist_int(d, sel) };

    return dist_op3(d, KN_OP_perm, kn_v32, arg);
}

/* Dword `w` (4 bytes along K) of outer index `p` of a transpose block whose
 * K rows are the dwords row[0 .. kb-1]. */
static kn_ref
transposed_dword(struct dist *d, const kn_ref *row, uint32_t bits, uint32_t w,
                 uint32_t p)
{
    kn_ref lo, hi;

    if (bits == 16)
        return dist_perm(d, row[2 * w + 1], row[2 * w],
                    p ? 0x07060302u : 0x05040100u);
    lo = dist_perm(d, row[4 * w + 1], row[4 * w], 0x0c0c0400u + p * 0x101u);
    hi = dist_perm(d, row[4 * w + 3], row[4 * w + 2], 0x0c0c0400u + p * 0x101u);
    return dist_perm(d, hi, lo, 0x05040100u);
}

/* A part of a transpose block: 16 bytes, or a shorter whole run along K. */
struct block_part {
    uint32_t step, p, at;    /* outer index in the block; first byte */
};

/* LDS address of a part; blocks beyond the tile write behind it, into the
 * slot's padding. */
static kn_ref
transposed_address(struct dist *d, const struct kn_lds *l, struct block_part x)
{
    uint32_t step = x.step, p = x.p;
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t run = g.kb * kn_elems[l->elem].bits / 8;
    kn_ref id = dist_chunk_id(d, step), a, arg[3], k, row;

    block_place(d, l, id, &k, &row);
    row = dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, row, g.pb), p);
    a = dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, k, run), x.at);
    if (l->swz_n)
        a = dist_i2(d, KN_OP_xor, a,
                    dist_ic(d, KN_OP_shl, dist_swizzle(d, l, row), 4));
    a = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, row, g.pitch), a);
    if ((step + 1) * kn_waves(d->in) * 64 <= g.nchunks)
        return a;
    arg[0] = dist_op(d, KN_OP_ult, kn_vb1, id, dist_int(d, g.nchunks));
    arg[1] = a;
    arg[2] = dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, id, run * g.pb),
                     p * run + x.at);
    return dist_op3(d, KN_OP_select, kn_v32, arg);
}

/* The K run of outer index x.p of a block, of dwords w as in memory. */
static void
store_block_run(struct dist *d, kn_ref slot, struct block_part x, kn_ref *w)
{
    const struct kn_lds *l = lds_of(d, (int)KN_REF_LDS(slot));
    uint32_t n = kn_geometry(d->in, l).kb * kn_memory_bits(l) / 32, many;
    kn_ref staged[DIST_RUN / 2];

    if (l->mem) {
        n = dist_convert(d, l, w, n, staged);
        w = staged;
    }
    for (uint32_t i = 0; i < n; i += many) {
        many = n - i < 4 ? n - i : 4;
        x.at = 4 * i;
        dist_store_lds(d, (struct dist_place){ slot,
                           transposed_address(d, l, x), 0 },
                       dist_cat(d, w + i, many), 4 * many);
    }
}

static void
put_transposed(struct dist *d, kn_ref slot, const struct dist_tile *t,
               struct steps x)
{
    const struct kn_lds *l = lds_of(d, t->lds);
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t per = loads_per_step(l, &g), j = per / g.kb;
    uint32_t bits = kn_memory_bits(l), run = g.kb * bits / 8;

    for (uint32_t s = x.from; s < x.to; s++) {
        kn_ref row[16];

        for (uint32_t k = 0; k < g.kb; k++)
            row[k] = j == 1 ? t->reg[s * per + k]
                   : pack_dword(d, t->reg + s * per + k * j, l->unit);
        for (uint32_t p = 0; p < g.pb; p++) {
            kn_ref w[4];

            for (uint32_t k = 0; k < run / 4; k++)
                w[k] = transposed_dword(d, row, bits, k, p);
            store_block_run(d, slot, (struct block_part){ s, p, 0 }, w);
        }
    }
}

kiln_status
expand_put(struct dist *d, const struct kn_ins *i)
{
    const struct dist_tile *t = dist_tile(d, i->arg[1]);
    struct kn_geom g = kn_geometry(d->in, lds_of(d, t->lds));
    struct steps x = steps_of(i, g.steps);

    for (uint32_t per = t->nreg / g.steps, n = x.from * per; n < x.to * per;
         n++)
        if (!t->reg[n])
            return kn_fail_at(d->c, KILN_BAD_INPUT, i->at,
                              "this share of the tile was never fetched");
    if (g.transpose)
        put_transposed(d, i->arg[0], t, x);
    else if (!lds_of(d, t->lds)->mem)
        put_chunks(d, i->arg[0], t, x);
    else if (i->attr[KN_A_parts] == 1)
        dist_put_runs(d, i->arg[0], t);
    else
        return kn_fail_at(d->c, KILN_UNSUPPORTED, i->at,
                          "a converted tile is written as a whole");
    return KILN_OK;
}

kn_ref
dist_keep_mask(struct dist *d, kn_ref valid)
{
    kn_ref arg[3], n = dist_ic(d, KN_OP_smin, dist_ic(d, KN_OP_smax, valid, 1),
                               32);

    arg[0] = dist_op(d, KN_OP_slt, kn_vb1, valid, dist_int(d, 1));
    arg[1] = dist_int(d, 0);
    arg[2] = dist_i2(d, KN_OP_shr, dist_int(d, 0xffffffff),
                     dist_i2(d, KN_OP_sub, dist_int(d, 32), n));
    return dist_op3(d, KN_OP_select, kn_v32, arg);
}

static kn_ref
load_lds(struct dist *d, struct dist_place at, uint32_t bytes)
{
    kn_ref dst = dist_temp(d, load_type(bytes));
    struct kn_ins *n = dist_add(d, KN_OP_lds_ld, dst);

    n->arg[0] = at.slot;
    n->arg[1] = at.addr;
    n->attr[KN_A_offset] = (int32_t)at.offset;
    n->attr[KN_A_elem] = memory_elem(bytes);
    n->attr[KN_A_own] = 1;
    return dst;
}

void
dist_clip_piece(struct dist *d, struct dist_place at, kn_ref valid,
                uint32_t bytes)
{
    uint32_t nw = bytes > 4 ? bytes / 4 : 1;
    kn_ref v = load_lds(d, at, bytes), w[4];

    for (uint32_t x = 0; x < nw; x++) {
        w[x] = nw > 1 ? dist_slice(d, v, x) : v;
        w[x] = dist_i2(d, KN_OP_and, w[x],
                       dist_keep_mask(d, dist_ic(d, KN_OP_add, valid,
                                                 -32 * (int64_t)x)));
    }
    dist_store_lds(d, at, dist_cat(d, w, nw), bytes);
}

/* clip: K at and beyond `klen` of a staged K-contiguous tile becomes zero.
 * Every lane rewrites exactly the chunks it copied itself, so its own wait is
 * enough before, and the barrier that publishes the tile is enough after. A
 * K-outer operand needs nothing: its K rows beyond the end were out of range. */
kiln_status
expand_clip(struct dist *d, const struct kn_ins *i)
{
    const struct kn_lds *l = lds_of(d, (int)KN_REF_LDS(i->arg[0]));
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t bits = kn_elems[l->elem].bits;
    kn_ref klen = dist_operand(d, i->arg[1]);
    kn_ref addr = dist_ic(d, KN_OP_mul, d->tid, g.chunk);

    if (!l->gk || l->shuf)   /* shuffled scales are padded in memory */
        return KILN_OK;
    if (l->kdiv != 1)
        klen = dist_ic(d, KN_OP_udiv,
                       dist_ic(d, KN_OP_add, klen, l->kdiv - 1), l->kdiv);
    if (l->mem) {
        dist_clip_runs(d, i->arg[0], klen);
        return KILN_OK;
    }
    klen = dist_ic(d, KN_OP_mul, klen, bits);
    for (uint32_t s = 0; s < g.steps; s++) {
        int64_t at = (int64_t)s * kn_waves(d->in) * 64 * g.chunk;
        kn_ref row, chunk, valid;

        chunk_place(d, l, dist_chunk_id(d, s), &row, &chunk);
        valid = dist_i2(d, KN_OP_sub, klen,
                        dist_ic(d, KN_OP_mul, chunk, 8 * g.chunk));
        dist_clip_piece(d, (struct dist_place){ i->arg[0], addr, at }, valid,
                        g.chunk);
    }
    return KILN_OK;
}
