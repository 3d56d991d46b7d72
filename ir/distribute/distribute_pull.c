/* distribute_pull.c - fragments straight from memory into registers: views of
 * tiles that LDS never holds (slots=0), and `pull`.
 *
 * Each lane loads its own pieces of a row (kn_readplan); in panels of 16 rows
 * the pieces of a wave follow each other. Nothing is staged, so the K tail is
 * cut by the offset: pieces at or beyond K lie beyond every record.
 *
 * A load of 64 bytes of each of 16 rows touches 16 lines of 128 bytes, which
 * the memory pipe takes in twice the time of 8 (runtime/sim/timing/timing.def,
 * vmem_line). So two such pieces are loaded as whole lines: half 0 has the 8
 * lower rows, half 1 the 8 upper ones, each in lanes t < 8 their bytes 0..63
 * and in lanes t >= 8 bytes 64..127. Piece 0 is half 0 where t < 8 and, where t
 * >= 8, half 1 of lane l ^ 8; piece 1 the rest (rows.flip). */
#include "distribute.h"

/* Where piece `x` of a fragment of K step kk begins: bytes along the row. */
static uint32_t
piece_at(const struct kn_readplan *p, uint32_t kk, uint32_t x)
{
    return kk * p->kstep + p->pstep[x];
}

/* Whether pieces are loaded two at a time: those of K steps kk and kk + 1, or
 * the two parts of a K step. */
static bool
by_lines(struct dist *d, const struct kn_lds *l)
{
    struct kn_readplan p = kn_readplan(d->in, l);
    bool even = kn_fragment(d->in, l->side).ksteps % 2 == 0;

    return l->kdiv == 1 && !l->panel && p.bytes == 16 && p.qstep == 16 &&
           (p.parts == 2 || (p.parts == 1 && even));
}

/* x where bit 3 of the lane is `first`, elsewhere y of lane l ^ 8. */
static kn_ref
flip(struct dist *d, kn_ref x, kn_ref y, uint32_t first)
{
    kn_ref r = dist_op(d, KN_OP_flip, kn_val(d->out, x)->type, x, y);

    d->out->ins[d->out->nins - 1].attr[KN_A_first] = (int32_t)first;
    return r;
}

/* Where this lane's piece begins: bytes from that of lane 0. */
static kn_ref
lane_column(struct dist *d, const struct kn_lds *l)
{
    kn_ref q = dist_ic(d, KN_OP_mul, d->q, kn_readplan(d->in, l).qstep), up;

    if (!by_lines(d, l))
        return q;
    up = dist_ic(d, KN_OP_shl, dist_ic(d, KN_OP_shr, d->t, 3), 6);
    return dist_i2(d, KN_OP_add, q, up);
}

kn_ref
dist_fragment_row(struct dist *d, const struct kn_lds *l, uint32_t f, kn_ref t)
{
    uint32_t count = kn_fragment(d->in, l->side).count;
    kn_ref wave = l->side == 'a' ? d->wave_m : d->wave_n;

    wave = dist_ic(d, KN_OP_mul, wave, count * 16);
    wave = dist_ic(d, KN_OP_add, wave, f * 16);
    return dist_i2(d, KN_OP_add, t, wave);
}

/* Shuffled scales: block of 32 rows, a dword a lane. */
static kn_ref
shuffled_offset(struct dist *d, const struct dist_tile *v, uint32_t f)
{
    const struct kn_lds *l = &d->in->lds[v->lds];
    uint32_t count = kn_fragment(d->in, l->side).count;
    kn_ref g = dist_ic(d, KN_OP_mul,
                       l->side == 'a' ? d->wave_m : d->wave_n, count);

    g = dist_ic(d, KN_OP_shr, dist_ic(d, KN_OP_add, g, f), 1);
    g = dist_i2(d, KN_OP_mul, g, v->pitch);
    return dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_shl, d->lane, 2), g);
}

/* Of row t of fragment f, the lane's own or one it loads instead. */
static kn_ref
row_offset(struct dist *d, const struct dist_tile *v, uint32_t f, kn_ref t)
{
    kn_ref row = dist_fragment_row(d, &d->in->lds[v->lds], f, t);

    if (d->in->lds[v->lds].panel)
        row = dist_ic(d, KN_OP_and, row, -16);
    return dist_i2(d, KN_OP_mul, dist_memory_row(d, v, row, 0), v->pitch);
}

/* The same for one of the rows of a half (by_lines). */
static kn_ref
half_offset(struct dist *d, const struct dist_tile *v, uint32_t f,
            uint32_t half)
{
    kn_ref row = dist_ic(d, KN_OP_and, d->t, 7);

    if (v->row)
        return flip(d, v->row[f], v->row[f], half);
    return row_offset(d, v, f, dist_ic(d, KN_OP_add, row, 8 * half));
}

static kn_ref
pulled_offset(struct dist *d, const struct dist_tile *v, uint32_t f,
              uint32_t half)
{
    const struct kn_lds *l = &d->in->lds[v->lds];
    struct kn_readplan p = kn_readplan(d->in, l);
    kn_ref row, at = 0;

    if (l->shuf)
        return shuffled_offset(d, v, f);
    if (l->panel)            /* 16 rows of a fragment are a panel */
        at = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, d->q, p.qstep * 16),
                     dist_ic(d, KN_OP_shl, d->t, 4));
    else if (l->kdiv == 1)
        at = lane_column(d, l);
    row = by_lines(d, l) ? half_offset(d, v, f, half)
        : v->row ? v->row[f] : row_offset(d, v, f, d->t);
    if (v->up)               /* 2 n rows are within 31 bits: the launch checks */
        row = dist_assume(d, row, DIST_NEVER);
    return at ? dist_i2(d, KN_OP_add, row, at) : row;
}

void
dist_pulled_rows(struct dist *d, struct dist_tile *v,
                 const struct dist_rows *rows, kn_ref ids)
{
    const struct kn_lds *l = &d->in->lds[v->lds];

    for (uint32_t f = 0; f < v->nreg; f++)
        v->reg[f] = ids ? dist_tile(d, ids)->reg[f]
                  : dist_row_id(d, rows, dist_fragment_row(d, l, f, d->t));
    v->row = KN_NEW(d->c, kn_ref, v->nreg);
    for (uint32_t f = 0; f < v->nreg; f++)
        v->row[f] = dist_row_offset(d, rows, v->reg[f]);
}

void
dist_pulled_view(struct dist *d, struct dist_tile *v)
{
    uint32_t halves = by_lines(d, &d->in->lds[v->lds]) ? 2 : 1;

    v->nreg *= halves;
    v->reg = KN_NEW(d->c, kn_ref, v->nreg);
    for (uint32_t n = 0; n < v->nreg; n++)
        v->reg[n] = pulled_offset(d, v, n / halves, n % halves);
}

static void
load(struct dist *d, const struct kn_ins *i, kn_ref dst, kn_ref r, kn_ref off)
{
    struct kn_ins *n;

    dist_add(d, KN_OP_sched, 0); /* loads in the order of use, so the waits */
    n = dist_add(d, KN_OP_ldg, dst);
    n->arg[0] = r;
    n->arg[1] = off;
    n->attr[KN_A_elem] = KN_T_i32;
    n->attr[KN_A_nt] = i->attr[KN_A_nt];
}

/* Nothing is read of a tile beyond K. */
static kn_ref
records(struct dist *d, kn_ref rem, kn_ref left)
{
    kn_ref arg[3] = { dist_op(d, KN_OP_slt, kn_sb1, left, dist_int(d, 1)),
                      dist_int(d, 0), rem };

    return dist_op3(d, KN_OP_select, kn_s32, arg);
}

/* The register of piece or scale n, the same wherever the tile is pulled. */
static kn_ref
pulled_reg(struct dist *d, const struct kn_ins *i, uint32_t n, uint32_t dwords)
{
    struct dist_tile *t = dist_tile(d, i->dst);

    if (!t->reg[n])
        t->reg[n] = dist_named(d, dist_vec(KN_T_i32, dwords), "%s.%u",
                               kn_val(d->in, i->dst)->name, n);
    return t->reg[n];
}

/* off, or beyond all records for a lane whose piece from byte `at` on is at
 * or beyond `left` bytes of K. */
static kn_ref
within(struct dist *d, kn_ref off, kn_ref at, kn_ref left)
{
    kn_ref arg[3];

    arg[0] = dist_op(d, KN_OP_slt, kn_vb1, at, left);
    arg[1] = off;
    arg[2] = dist_int(d, DIST_NEVER);
    return dist_op3(d, KN_OP_select, kn_v32, arg);
}

/* A piece of a K tile: its fragment, K step and part, and the register that
 * has its row and column. */
struct piece {
    uint32_t f, kk, x, half;
};

/* The n-th that is loaded: K step by K step, or two at a time. */
static struct piece
nth_piece(struct dist *d, const struct kn_lds *l, uint32_t n)
{
    uint32_t parts = kn_readplan(d->in, l).parts;
    uint32_t count = kn_fragment(d->in, l->side).count;
    uint32_t two = by_lines(d, l) && parts == 1 ? 2 : 1, group = parts * two;
    struct piece y = { n / group % count, n / group / count * two, n % parts,
                       by_lines(d, l) ? n % 2 : 0 };

    y.kk += two == 2 ? y.half : 0;
    return y;
}

/* Bytes along the row from the lane's column. */
static uint32_t
piece_from(struct dist *d, const struct kn_lds *l, struct piece y)
{
    struct kn_readplan p = kn_readplan(d->in, l);

    return piece_at(&p, y.kk, y.x) - 64 * y.half;
}

/* Bytes of n elements; without the sum in bits where an element has whole ones. */
static kn_ref
bytes_of(struct dist *d, kn_ref n, uint32_t bits)
{
    if (bits % 8 == 0)
        return dist_ic(d, KN_OP_mul, n, bits / 8);
    return dist_ic(d, KN_OP_sar, dist_ic(d, KN_OP_mul, n, bits), 3);
}

/* Pieces of all K steps in the order of use. */
static void
pull_pieces(struct dist *d, const struct kn_ins *i, kn_ref r, kn_ref left)
{
    const struct dist_tile *v = dist_tile(d, i->arg[0]);
    const struct kn_lds *l = &d->in->lds[v->lds];
    struct kn_frag fr = kn_fragment(d->in, l->side);
    struct kn_readplan p = kn_readplan(d->in, l);
    uint32_t all = fr.ksteps * fr.count * p.parts, halves = by_lines(d, l) + 1;

    if (left)
        left = bytes_of(d, left, kn_elems[l->elem].bits);
    dist_tile(d, i->dst)->nreg = all;
    for (uint32_t n = 0; n < all; n++) {
        struct piece y = nth_piece(d, l, n);
        uint32_t at = piece_from(d, l, y), bytes = l->panel ? at * 16 : at;
        kn_ref off = v->reg[y.f * halves + y.half];
        kn_ref dst = pulled_reg(d, i, (y.kk * fr.count + y.f) * p.parts + y.x,
                                p.bytes / 4);

        if (bytes > 4095)
            off = dist_ic(d, KN_OP_add, off, bytes & ~4095u);
        if (left)
            off = within(d, off, dist_ic(d, KN_OP_add,
                         lane_column(d, l), at), left);
        load(d, i, dst, r, off);
        d->out->ins[d->out->nins - 1].attr[KN_A_offset] =
            (int32_t)(bytes & 4095);
    }
}

/* Scales of the whole K tile: of plain rows their bytes, of shuffled ones a
 * dword of a fragment pair and 256 K (a fragment of its own where the wave's
 * are odd). */
static void
pull_scales(struct dist *d, const struct kn_ins *i, kn_ref r)
{
    const struct dist_tile *v = dist_tile(d, i->arg[0]);
    const struct kn_lds *l = &d->in->lds[v->lds];
    uint32_t count = kn_fragment(d->in, l->side).count, n = 0;
    uint32_t each = l->shuf && count % 2 == 0 ? 2 : 1;

    for (uint32_t f = 0; f < count; f += each) {
        load(d, i, pulled_reg(d, i, n++, l->shuf ? l->cols / 8 : l->cols / 4),
             r, v->reg[f]);
    }
    dist_tile(d, i->dst)->nreg = n;
}

kiln_status
expand_pull(struct dist *d, const struct kn_ins *i)
{
    const struct dist_tile *v = dist_tile(d, i->arg[0]);
    struct dist_tile *t = dist_tile(d, i->dst);
    const struct kn_lds *l = &d->in->lds[v->lds];
    struct kn_frag fr = kn_fragment(d->in, l->side);
    kn_ref left = dist_operand(d, i->arg[1]), r;
    uint32_t n = fr.count * fr.ksteps * kn_readplan(d->in, l).parts;

    if (t->kind == DT_NONE)
        *t = (struct dist_tile){ .kind = DT_PULLED, .lds = v->lds,
                                 .reg = KN_NEW(d->c, kn_ref, n) };
    r = dist_rsrc(d, v->base, left ? records(d, v->rem, left) : v->rem);
    if (!i->attr[KN_A_tail])
        left = 0;
    if (left && !t->left)
        t->left = dist_named(d, kn_s32, "%s.left",
                             kn_val(d->in, i->dst)->name);
    if (left)
        dist_move(d, t->left, left);
    if (l->kdiv == 1)
        pull_pieces(d, i, r, left);
    else
        pull_scales(d, i, r);
    return KILN_OK;
}

kn_ref
dist_pulled_fragment(struct dist *d, const struct dist_tile *t, uint32_t f,
                     uint32_t kk)
{
    const struct kn_lds *l = &d->in->lds[t->lds];
    uint32_t parts = kn_readplan(d->in, l).parts;
    uint32_t step = kn_fragment(d->in, l->side).count * parts;
    uint32_t n = kk * step + f * parts;
    kn_ref part[2];

    if (!by_lines(d, l))
        return parts == 1 ? t->reg[n] : dist_cat(d, t->reg + n, parts);
    if (parts == 1) {
        uint32_t other = kk % 2 ? n - step : n + step;

        return flip(d, t->reg[n], t->reg[other], kk % 2);
    }
    part[0] = flip(d, t->reg[n], t->reg[n + 1], 0);
    part[1] = flip(d, t->reg[n + 1], t->reg[n], 1);
    return dist_cat(d, part, 2);
}

/* The scale of this lane's block of K step kk: a byte of the row's, 0 beyond
 * K, where there may be anything. */
static kn_ref
plain_scale(struct dist *d, const struct dist_tile *t, kn_ref x, uint32_t kk)
{
    uint32_t kdiv = d->in->lds[t->lds].kdiv;
    kn_ref arg[3], at;

    x = dist_i2(d, KN_OP_shr, x, dist_ic(d, KN_OP_shl, d->q, 3));
    if (!t->left)
        return x;
    at = dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, d->q, kdiv),
                 4 * kk * kdiv);
    arg[0] = dist_op(d, KN_OP_slt, kn_vb1, at, t->left);
    arg[1] = x;
    arg[2] = dist_int(d, 0);
    return dist_op3(d, KN_OP_select, kn_v32, arg);
}

kn_ref
dist_pulled_scale(struct dist *d, const struct dist_tile *t, uint32_t f,
                  uint32_t kk, int32_t *sel)
{
    const struct kn_lds *l = &d->in->lds[t->lds];
    uint32_t count = kn_fragment(d->in, l->side).count;
    bool pair = l->shuf && count % 2 == 0;
    uint32_t dword = l->shuf ? kk / 2 : kk;
    kn_ref x = t->reg[pair ? f / 2 : f], odd;

    if (kn_val(d->out, x)->type.n > 1)
        x = dist_slice(d, x, dword);
    *sel = l->shuf ? (int32_t)(kk % 2 * 2) : 0;
    if (pair) {
        *sel += (int32_t)(f % 2);
        return x;
    }
    if (!l->shuf)
        return plain_scale(d, t, x, kk);
    odd = dist_ic(d, KN_OP_mul, l->side == 'a' ? d->wave_m : d->wave_n, count);
    odd = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_add, odd, f), 1);
    return dist_i2(d, KN_OP_shr, x, dist_ic(d, KN_OP_shl, odd, 3));
}
