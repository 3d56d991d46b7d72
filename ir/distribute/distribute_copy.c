/* distribute_copy.c - global memory to LDS: direct copies, copies through
 * registers, and zeroing the K tail of a staged tile. */
#include <string.h>

#include "tail.h"
#include "widen.h"

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

/* A share begins that many rows of a wave below the view, of gate and up half of them; of rows
 * that are gathered each step knows its own. */
static kn_ref
copy_rsrc(struct dist *d, const struct dist_tile *v, kn_ref slot)
{
    const struct kn_lds *l = dist_lds(d, v->lds);
    uint32_t share = kn_share_of(l, KN_REF_SLOT(slot));
    kn_ref below;

    if (!share || v->row)
        return dist_rsrc(d, v->base, v->rem);
    below = dist_ic(d, KN_OP_mul, v->pitch,
                    (int64_t)share * dist_share_rows(d, l) / (v->up ? 2 : 1));
    return dist_rsrc(d, dist_op(d, KN_OP_add, kn_s64, v->base,
                                dist_op(d, KN_OP_sext, kn_s64, below, 0)),
                     dist_ic(d, KN_OP_smax,
                             dist_i2(d, KN_OP_sub, v->rem, below), 0));
}

kiln_status
expand_copy(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *v = dist_tile(d, i->arg[1]);
    struct kn_geom g = kn_geometry(d->in, dist_lds(d, v->lds));
    struct steps x = steps_of(i, g.steps);
    kn_ref r = copy_rsrc(d, v, i->arg[0]);
    kn_ref wave = dist_ic(d, KN_OP_mul, d->wave, 64 * g.chunk);
    kn_ref left = i->arg[2] ? dist_lag_left(d, v->lds, i->arg[2]) : 0;
    uint32_t own = v->row ? g.steps * kn_share_of(dist_lds(d, v->lds), KN_REF_SLOT(i->arg[0])) : 0;

    for (uint32_t s = x.from; s < x.to; s++) {
        uint32_t at = s * kn_waves(d->in) * 64 * g.chunk;
        kn_ref off = dist_ic(d, KN_OP_add, wave, at);
        kn_ref from = left ? dist_lag_cut(d, v, s, v->reg[own + s], left) : v->reg[own + s];
        struct kn_ins *n = dist_add(d, KN_OP_dma, 0);

        n->arg[0] = i->arg[0];
        n->arg[1] = off;
        n->arg[2] = r;
        n->arg[3] = from;
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

/* Bytes of a row of a step's piece that are loaded: a dword more where they
 * begin at any byte. */
static uint32_t
row_bytes(const struct kn_geom *g)
{
    return g->mem + (g->own && !g->abreast ? 4 : 0);
}

static uint32_t
loads_of_row(const struct kn_lds *l, const struct kn_geom *g)
{
    return (row_bytes(g) + l->unit - 1) / l->unit;
}

/* A transpose block has kb rows, a chunk is one. */
uint32_t
dist_loads(const struct kn_lds *l, const struct kn_geom *g)
{
    return loads_of_row(l, g) * (g->transpose ? g->kb / kn_row_k(l) : 1);
}

struct dist_load
dist_load(const struct kn_lds *l, const struct kn_geom *g, uint32_t n)
{
    uint32_t each = loads_of_row(l, g), at = n % each * l->unit;
    uint32_t left = row_bytes(g) - at;

    return (struct dist_load){ n / each, at, left < l->unit ? left : l->unit };
}

/* Byte offset of a load in the view. */
static kn_ref
load_offset(struct dist *d, const struct dist_tile *v, const struct kn_geom *g,
            uint32_t step, uint32_t row)
{
    kn_ref off = v->reg[step];

    if (g->abreast)
        return dist_abreast_dword(d, v, step);
    if (g->own)
        return dist_own_dword(d, v, off, row);
    if (!g->transpose)
        return off;
    return dist_i2(d, KN_OP_add, off, dist_ic(d, KN_OP_mul, v->pitch, row));
}

/* fetch: a tile value that is fetched twice (prologue and loop) keeps its
 * registers. A share is one of the loads, of put and await one of the steps. */
kiln_status
expand_fetch(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *v = dist_tile(d, i->arg[0]), *t = dist_tile(d, i->dst);
    const struct kn_lds *l = dist_lds(d, v->lds);
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t per = dist_loads(l, &g);
    struct steps x = steps_of(i, g.steps * per);
    kn_ref r = dist_rsrc(d, v->base, v->rem);

    if (t->kind == DT_NONE)
        *t = (struct dist_tile){ .kind = DT_STAGE, .lds = v->lds, .nreg = g.steps * per,
                                 .reg = KN_NEW(d->c, kn_ref, g.steps * per),
                                 .select = v->select, .before = v->before,
                                 .own = g.own ? v->reg : NULL, .low = v->low,
                                 .pitch = v->pitch, .up = v->up, .shift = v->shift };
    for (uint32_t n = x.from; n < x.to; n++) {
        struct dist_load load = dist_load(l, &g, n % per);
        kn_ref off = load_offset(d, v, &g, n / per, load.row);
        struct kn_ins *ins;

        off = dist_behind_offset(d, v, off, n / per, &load);
        if (i->arg[1])
            off = dist_cut_offset(d, v, n / per, &load, (kn_ref[2]){ off, i->arg[1] });
        if (!t->reg[n])
            t->reg[n] = dist_named(d, load_type(load.bytes), "%s.%u",
                                   kn_val(d->in, i->dst)->name, n);
        if (v->before && !v->before[n])
            dist_first_dword(d, v, n, kn_val(d->in, i->arg[0])->name);
        ins = dist_add(d, KN_OP_ldg, t->reg[n]);
        ins->arg[0] = r;
        ins->arg[1] = off;
        ins->attr[KN_A_offset] = (int32_t)(l->panel ? load.at / 16 * 256 + load.at % 16
                                                    : load.at) +
                                 (l->unaligned == 1 && !g.own ? 4 : 0);
        ins->attr[KN_A_elem] = memory_elem(load.bytes);
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
              ? 1 : kn_geometry(d->in, dist_lds(d, t->lds)).steps;
        per = t->nreg / steps;
        for (uint32_t n = steps_of(i, steps).to * per;
             n-- > steps_of(i, steps).from * per;)
            if (t->reg[n])
                dist_add(d, KN_OP_landed, 0)->arg[0] = t->reg[n];
        for (uint32_t n = steps_of(i, steps).to;
             t->before && n-- > steps_of(i, steps).from;)
            dist_add(d, KN_OP_landed, 0)->arg[0] = t->before[n];
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

/* The chunk of a lane that loaded all its dwords. */
static kn_ref
own_chunk(struct dist *d, const struct dist_tile *t, uint32_t step)
{
    kn_ref w[4];
    uint32_t n = dist_own_dwords(d, t, step, 0, w);

    return dist_cat(d, w, n);
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

struct dist_place
dist_written_place(struct dist *d, kn_ref slot, int lds, uint32_t step)
{
    const struct kn_lds *l = dist_lds(d, lds);
    uint32_t chunk = kn_geometry(d->in, l).chunk;

    if (dist_in_order(d, l))
        return dist_own_place(d, slot, lds, step);
    return (struct dist_place){ slot, dist_ic(d, KN_OP_mul, d->tid, chunk),
                                (int64_t)step * kn_waves(d->in) * 64 * chunk };
}

static void
put_chunks(struct dist *d, kn_ref slot, const struct dist_put *x)
{
    const struct dist_tile *t = x->t;
    const struct kn_lds *l = dist_lds(d, t->lds);
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t per = dist_loads(l, &g);
    bool shifted = l->unaligned && !g.own;

    for (uint32_t s = x->from; shifted && s < x->to; s++)
        if (dist_by_lines(l))
            dist_put_lines(d, slot, x, s);
        else
            dist_put_unaligned(d, slot, t, s);
    for (uint32_t s = x->from; !shifted && s < x->to; s++)
        dist_store_lds(d, dist_written_place(d, slot, t->lds, s),
                  g.own ? own_chunk(d, t, s)
                        : pack_chunk(d, t->reg + s * per, g.chunk, l->unit),
                  g.chunk);
}

kn_ref
dist_perm(struct dist *d, kn_ref x, kn_ref y, uint32_t sel)
{
    return dist_perm_by(d, x, y, dist_int(d, sel));
}

/* Dword `w` (4 bytes along K) of outer index `p` of a transpose block whose
 * K rows are the dwords, of f64 four each, row[0 .. kb-1]. */
static kn_ref
transposed_dword(struct dist *d, const kn_ref *row, uint32_t bits, uint32_t w,
                 uint32_t p)
{
    kn_ref lo, hi;

    if (bits == 64)
        return dist_slice(d, row[w / 2], 2 * p + w % 2);
    if (bits == 32)
        return row[w];
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

/* LDS address of a part. */
static kn_ref
transposed_address(struct dist *d, const struct kn_lds *l, struct block_part x)
{
    uint32_t step = x.step, p = x.p;
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t run = g.kb * kn_elems[l->elem].bits / 8;
    kn_ref id = dist_chunk_id(d, step), a, k, row;

    dist_block_place(d, l, id, &k, &row);
    row = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, row, g.pb), dist_column(d, l, row, p));
    a = kn_in_terms(l) ? dist_ic(d, KN_OP_mul, dist_term_place(d, k, x.at / 8), 8)
                       : dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, k, run), x.at);
    if (l->swz_n)
        a = dist_i2(d, KN_OP_xor, a,
                    dist_ic(d, KN_OP_shl, dist_swizzle(d, l, row), 4));
    a = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, row, g.pitch), a);
    return dist_or_behind(d, &g, step, a, (struct dist_piece){
                              run * g.pb, p * run + x.at,
                              run < 16 ? run : kn_term_bytes(l) });
}

/* The K run of outer index x.p of a block, of dwords w as in memory, of 4 bits two each. */
static void
store_block_run(struct dist *d, kn_ref slot, struct block_part x, kn_ref *w,
                kn_ref zero)
{
    const struct kn_lds *l = dist_lds(d, (int)KN_REF_LDS(slot));
    uint32_t n = kn_geometry(d->in, l).kb * kn_memory_bits(l) / 32, many;
    struct dist_words in = { .w = w, .n = n, .parted = kn_column_bits(l) == 4, .cut = l->unaligned,
                             .one_row = !l->unaligned || dist_row_nans(d, l) };
    kn_ref staged[DIST_RUN / 2];

    if (kn_in_terms(l))
        dist_split_run(d, w, 0, staged);
    else if (l->mem)
        n = dist_convert(d, l, in, (struct dist_factor){ .v = zero }, staged);
    if (kn_in_terms(l) || l->mem)
        w = staged;
    for (uint32_t i = 0; i < n; i += many) {
        many = kn_term_bytes(l) / 4;
        many = n - i < many ? n - i : many;
        x.at = 4 * i;
        dist_store_lds(d, (struct dist_place){ slot, transposed_address(d, l, x), 0 },
                       dist_cat(d, w + i, many), 4 * many);
    }
}

static void
clip_block_run(struct dist *d, kn_ref slot, struct block_part x, kn_ref valid)
{
    const struct kn_lds *l = dist_lds(d, (int)KN_REF_LDS(slot));
    uint32_t run = kn_geometry(d->in, l).kb * kn_elems[l->elem].bits / 8;

    for (; x.at < run; x.at += 16)
        dist_clip_piece(d, (struct dist_place){ slot, transposed_address(d, l, x), 0 },
                        dist_ic(d, KN_OP_add, valid, -8 * (int64_t)x.at),
                        run - x.at < 16 ? run - x.at : 16);
}

/* The K rows of a block, a dword each. */
static uint32_t
block_rows(struct dist *d, const struct dist_tile *t, uint32_t step, kn_ref *row)
{
    const struct kn_lds *l = dist_lds(d, t->lds);
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t n = g.kb / kn_row_k(l), per = dist_loads(l, &g), j = per / n;

    for (uint32_t k = 0; k < n; k++)
        if (g.own)
            dist_own_dwords(d, t, step, k, row + k);
        else
            row[k] = j == 1 ? t->reg[step * per + k]
                   : pack_dword(d, t->reg + step * per + k * j, l->unit);
    return n;
}

static void
put_transposed(struct dist *d, kn_ref slot, const struct dist_put *x)
{
    const struct kn_lds *l = dist_lds(d, x->t->lds);
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t bits = kn_column_bits(l), run = g.kb * kn_memory_bits(l) / 8;

    for (uint32_t s = x->from; s < x->to; s++) {
        kn_ref row[DIST_RUN], code[DIST_RUN / 8][16];
        uint32_t n = block_rows(d, x->t, s, row);

        for (uint32_t k = 0; bits == 4 && k < n / 8; k++)
            (l->mem ? dist_turn_codes : dist_turn_words)(d, dist_column_flip(d, l, s),
                                                         row + 8 * k, code[k]);
        for (uint32_t p = 0; p < g.pb; p++) {
            kn_ref w[8], zero = x->scales ? dist_zero_word(d, x, s, p) : 0;

            for (uint32_t k = 0; k < run / 4; k++)
                if (bits != 4)
                    w[k] = transposed_dword(d, row, bits, k, p);
                else if (l->mem)
                    memcpy(w + 2 * k, code[k] + 2 * kn_awq_place(p), 2 * sizeof *w);
                else
                    w[k] = code[k][kn_awq_place(p)];
            store_block_run(d, slot, (struct block_part){ s, p, 0 }, w, zero);
        }
    }
}

/* Scales in rows, which LDS has so too. */
static void
put_scale_rows(struct dist *d, kn_ref slot, const struct dist_put *x)
{
    const struct dist_tile *t = x->t;
    struct kn_geom g = kn_geometry(d->in, dist_lds(d, t->lds));
    kn_ref addr = dist_ic(d, KN_OP_mul, d->tid, 4 * g.run), w[4];

    for (uint32_t s = x->from; s < x->to; s++) {
        for (uint32_t j = 0; j < g.run; j++)
            w[j] = dist_scale(d, dist_lds(d, t->lds)->mem, &t->reg[s], j);
        dist_store_lds(d, (struct dist_place){ slot, addr,
                           (int64_t)s * kn_waves(d->in) * 64 * 4 * g.run },
                       dist_cat(d, w, g.run), 4 * g.run);
    }
}

kiln_status
dist_share_fetched(struct dist *d, const struct kn_ins *i, const kn_ref arg[2],
                   struct dist_put *put)
{
    const struct dist_tile *t = dist_tile(d, arg[0]);
    uint32_t all = kn_geometry(d->in, dist_lds(d, t->lds)).steps, per = t->nreg / all;
    struct steps x = steps_of(i, all);

    *put = (struct dist_put){ t, arg[1] ? dist_tile(d, arg[1]) : NULL, x.from, x.to,
                              (uint32_t)i->attr[KN_A_kk] };
    for (uint32_t n = x.from * per; n < x.to * per; n++)
        if (!t->reg[n])
            return kn_fail_at(d->c, KILN_BAD_INPUT, i->at,
                              "this share of the tile was never fetched");
    return KILN_OK;
}

kiln_status
expand_put(struct dist *d, const struct kn_ins *i)
{
    const struct kn_lds *l;
    struct dist_put put;

    KN_TRY(dist_share_fetched(d, i, &i->arg[1], &put));
    l = dist_lds(d, put.t->lds);
    if (kn_geometry(d->in, l).transpose)
        put_transposed(d, i->arg[0], &put);
    else if (!l->mem)
        put_chunks(d, i->arg[0], &put);
    else if (kn_is_scale_rows(l))
        put_scale_rows(d, i->arg[0], &put);
    else
        dist_put_runs(d, i->arg[0], &put);
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

kn_ref
dist_load_lds(struct dist *d, struct dist_place at, uint32_t bytes)
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

kn_ref
dist_clip_dword(struct dist *d, const struct kn_lds *l, kn_ref v, int k, kn_ref valid)
{
    kn_ref w = dist_i2(d, KN_OP_and, k >= 0 ? dist_slice(d, v, (uint32_t)k) : v,
                       dist_keep_mask(d, valid));

    return dist_row_nans(d, l) ? dist_fnuz_nans(d, w) : w;
}

void
dist_clip_dwords(struct dist *d, struct dist_place at, const kn_ref *valid, uint32_t bytes)
{
    const struct kn_lds *l = dist_lds(d, (int)KN_REF_LDS(at.slot));
    uint32_t nw = bytes > 4 ? bytes / 4 : 1;
    kn_ref v = dist_load_lds(d, at, bytes), w[4];

    for (uint32_t x = 0; x < nw; x++)
        w[x] = dist_clip_dword(d, l, v, nw > 1 ? (int)x : -1, valid[x]);
    dist_store_lds(d, at, dist_cat(d, w, nw), bytes);
}

/* The first dword of a chunk of K row `row`. */
static void
clip_dword(struct dist *d, struct dist_place at, kn_ref row, kn_ref klen)
{
    kn_ref within = dist_op(d, KN_OP_slt, kn_vb1, row, klen), had = dist_load_lds(d, at, 4);

    dist_store_lds(d, at, dist_pick(d, within, had, dist_int(d, 0)), 4);
}

void
dist_clip_rows(struct dist *d, kn_ref slot, kn_ref klen)
{
    const struct kn_lds *l = dist_lds(d, (int)KN_REF_LDS(slot));
    struct kn_geom g = kn_geometry(d->in, l);
    kn_ref k, row, valid;

    for (uint32_t s = 0; !g.transpose && s < g.steps; s++) {
        if (g.abreast)
            row = dist_abreast_row(d, &g, s);
        else
            dist_chunk_place(d, l, dist_chunk_id(d, s), &row, &k);
        clip_dword(d, dist_written_place(d, slot, (int)KN_REF_LDS(slot), s), row, klen);
    }
    for (uint32_t s = 0; g.transpose && s < g.steps; s++) {
        dist_block_place(d, l, dist_chunk_id(d, s), &k, &row);
        valid = dist_i2(d, KN_OP_sub, klen, dist_ic(d, KN_OP_mul, k, g.kb));
        valid = dist_ic(d, KN_OP_mul, valid, kn_elems[l->elem].bits);
        for (uint32_t p = 0; p < g.pb; p++)
            clip_block_run(d, slot, (struct block_part){ s, p, 0 }, valid);
    }
}
