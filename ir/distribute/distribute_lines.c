/* distribute_lines.c - rows that are copied by whole cache lines: K tiles that are
 * no whole lines, in slots of lines in turn (line=1), and rows that begin inside a
 * line (lag=1).
 *
 * A row that begins `phase` bytes into a line has the 16-byte chunks of a K tile
 * in two runs: those up to the end of its last whole line, and as many bytes as
 * `phase` behind it. A copy that takes both asks for a line more a row, and a
 * wave of 8 rows for 16 lines where 8 hold as many bytes, which is what the
 * memory pipe counts (runtime/sim/timing/timing.def, vmem_line). So the chunks
 * behind the line lag: they are copied with the next K tile, whose line they are
 * in, to their own place in its slot, and are read from there. Which chunks lag
 * depends on address and pitch, known at launch; a lane's fragments are 16 rows
 * apart and whole chunks begin at 16 bytes, so one phase serves all of them.
 *
 * The view begins a K tile before the row: a chunk that does not lag lies a tile
 * further on. */
#include "distribute.h"

static uint32_t
tile_bytes(struct dist *d, int lds)
{
    return kn_geometry(d->in, dist_lds(d, lds)).pitch;
}

static kn_ref
phase(struct dist *d, kn_ref low, kn_ref row_bytes)
{
    return dist_ic(d, KN_OP_and, dist_i2(d, KN_OP_add, row_bytes, low),
                   KN_LINE - 1);
}

/* Whether (op: sge) the chunk `at` bytes into a K tile of a row of this phase lags,
 * or (slt) does not. */
static kn_ref
lags(struct dist *d, enum kn_op op, uint32_t tile, kn_ref of_row, kn_ref at)
{
    return dist_op(d, op, kn_vb1, dist_i2(d, KN_OP_add, of_row, at),
                   dist_int(d, tile));
}

/* Of a place in the slot at hand the same in the one behind it, if the chunk there
 * lags. That slot is further on in LDS, but the first one, behind the last: from
 * there on the place is further if the chunk does not lag. */
static kn_ref
ring_address(struct dist *d, int lds, bool last, const kn_ref x[3])
{
    const struct kn_lds *l = dist_lds(d, lds);
    int64_t slots = last ? (int64_t)kn_ring(l) - 1 : 1;
    kn_ref phase = x[0], at = x[1], addr = x[2];
    kn_ref further = lags(d, last ? KN_OP_slt : KN_OP_sge, tile_bytes(d, lds),
                          phase, at);

    return dist_pick(d, further,
                     dist_ic(d, KN_OP_add, addr, slots * kn_geometry(d->in, l).bytes),
                     addr);
}

static void
read_addresses(struct dist *d, int lds, kn_ref of_lane, const char *name)
{
    const struct kn_lds *l = dist_lds(d, lds);
    struct kn_readplan p = kn_readplan(d->in, l);
    uint32_t n = kn_fragment(d->in, l->side).ksteps * p.parts;
    struct dist_lag *x = &d->lag[lds];

    if (!x->at)
        x->at = KN_NEW(d->c, kn_ref, 2 * n);
    for (uint32_t i = 0; i < 2 * n; i++) {
        uint32_t at = i / 2 / p.parts * p.kstep + p.pstep[i / 2 % p.parts];
        kn_ref in = dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, d->q, p.qstep), at);
        kn_ref addr = dist_read_address(d, lds, &p, at);

        if (!x->at[i])
            x->at[i] = dist_named(d, kn_v32, "%s.at%u", name, i);
        dist_move(d, x->at[i],
                  ring_address(d, lds, i % 2, (kn_ref[]){ of_lane, in, addr }));
    }
}

/* Steps that are a multiple of 16 rows apart have chunks alike. */
static bool
step_alike(const struct dist *d, int lds)
{
    return kn_waves(d->in) * 64 / (kn_geometry(d->in, d->in->lds + lds).pitch / 16) % 16 == 0;
}

/* Whether copies into this tile end where K does. */
static bool
ends_at_k(const struct dist *d, int lds)
{
    for (size_t n = 0; n < d->in->nins; n++)
        if (d->in->ins[n].op == KN_OP_copy && d->in->ins[n].arg[2] &&
            KN_REF_LDS(d->in->ins[n].arg[0]) == (kn_ref)lds)
            return true;
    return false;
}

/* K bytes that must be left where a K tile is copied for this lane to copy its chunk. */
static kn_ref
short_of(struct dist *d, const struct dist_tile *v, uint32_t step)
{
    const struct kn_lds *l = dist_lds(d, v->lds);
    uint32_t tile = tile_bytes(d, v->lds);
    kn_ref row, at, of_row;

    dist_chunk_place(d, l, dist_chunk_id(d, step), &row, &at);
    at = dist_ic(d, KN_OP_mul, at, 16);
    if (l->line || !l->lag)
        return at;
    of_row = phase(d, d->lag[v->lds].low, dist_i2(d, KN_OP_mul, row, v->pitch));
    return dist_pick(d, lags(d, KN_OP_sge, tile, of_row, at),
                     dist_ic(d, KN_OP_add, at, -(int64_t)tile), at);
}

void
dist_lag_base(struct dist *d, struct dist_tile *v, const char *name)
{
    struct dist_lag *x = &d->lag[v->lds];

    x->low = dist_named(d, kn_s32, "%s.low", name);
    dist_move(d, x->low,
              dist_ic(d, KN_OP_and,
                      dist_op(d, KN_OP_trunc, kn_s32, v->base, 0),
                      KN_LINE - 1));
    read_addresses(d, v->lds,
                   phase(d, x->low, dist_i2(d, KN_OP_mul, d->t, v->pitch)), name);
    dist_move(d, v->base,
              dist_op(d, KN_OP_sub, kn_s64, v->base,
                      dist_int(d, tile_bytes(d, v->lds))));
    if (!ends_at_k(d, v->lds) || !step_alike(d, v->lds))
        return;
    if (!x->cut)             /* once for the loop */
        x->cut = dist_named(d, kn_v32, "%s.cut", name);
    dist_move(d, x->cut, short_of(d, v, 0));
}

kn_ref
dist_lag_records(struct dist *d, const struct dist_tile *v, kn_ref bytes)
{
    kn_ref none = dist_op(d, KN_OP_slt, kn_sb1, bytes, dist_int(d, 1));
    kn_ref arg[] = { none, dist_int(d, 0),
                     dist_ic(d, KN_OP_add, bytes, tile_bytes(d, v->lds)) };

    return dist_op3(d, KN_OP_select, kn_s32, arg);
}

kn_ref
dist_lag_offset(struct dist *d, const struct dist_tile *v, const kn_ref x[3])
{
    kn_ref off = dist_i2(d, KN_OP_add, x[0], x[1]);
    uint32_t tile = tile_bytes(d, v->lds);
    kn_ref of_row = phase(d, d->lag[v->lds].low, x[2]);

    return dist_pick(d, lags(d, KN_OP_sge, tile, of_row, x[1]), off,
                     dist_ic(d, KN_OP_add, off, tile));
}

kn_ref
dist_lag_left(struct dist *d, int lds, kn_ref left)
{
    if (dist_lds(d, lds)->line)
        return dist_operand(d, left);
    left = dist_ic(d, KN_OP_mul, dist_operand(d, left),
                   kn_elems[dist_lds(d, lds)->elem].bits);
    return dist_ic(d, KN_OP_sar, left, 3);
}

kn_ref
dist_lag_cut(struct dist *d, const struct dist_tile *v, uint32_t step, kn_ref off, kn_ref left)
{
    kn_ref alike = d->lag[v->lds].cut;
    kn_ref at = alike ? alike : short_of(d, v, step_alike(d, v->lds) ? 0 : step);

    return dist_pick(d, dist_op(d, KN_OP_slt, kn_vb1, at, left), off, dist_int(d, DIST_NEVER));
}

struct kn_ins
dist_lag_read(struct dist *d, kn_ref slot, uint32_t piece)
{
    const struct kn_lds *l = dist_lds(d, (int)KN_REF_LDS(slot));
    uint32_t behind = kn_ring(l) - 1;
    bool last = KN_REF_SLOT(slot) % kn_ring(l) == behind;
    struct kn_ins r = { .arg = { slot } };

    if (last)
        r.arg[0] -= behind;  /* the slot is the reference's low bits */
    r.arg[1] = d->lag[KN_REF_LDS(slot)].at[2 * piece + last];
    r.attr[KN_A_ring] = last ? (int32_t)behind : 1;
    return r;
}

/* ---- line=1 ---- */

static uint32_t
bytes_of(struct dist *d, const struct kn_lds *l)
{
    return kn_geometry(d->in, l).bytes;
}

/* Of bytes 0 to 255 of two lines: so far is the line, if it is the odd one. */
static kn_ref
far_line(struct dist *d, kn_ref col, uint32_t bytes)
{
    kn_ref odd = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, col, 7), 1);

    return dist_ic(d, KN_OP_mul, odd, bytes);
}

struct dist_line
dist_line(struct dist *d, int lds, const struct kn_readplan *p, uint32_t at)
{
    const struct kn_lds *l = &d->in->lds[lds];
    uint32_t ring = kn_ring(l), slot = at / KN_LINE % ring;
    bool one = at % KN_LINE + 3 * p->qstep + p->bytes <= KN_LINE;
    bool last = !one && slot == ring - 1;  /* the other one is the first */
    struct dist_line r = { .odd = last ? 0 : slot, .span = 1 };
    kn_ref wave = l->side == 'a' ? d->wave_m : d->wave_n, row, col;

    col = dist_ic(d, KN_OP_mul, d->q, p->qstep);
    col = dist_ic(d, KN_OP_add, col, at % KN_LINE + (last ? KN_LINE : 0));
    row = dist_i2(d, KN_OP_add,
                  dist_ic(d, KN_OP_mul, wave, dist_share_rows(d, l)), d->t);
    r.addr = dist_ic(d, KN_OP_mul, row, KN_LINE);
    if (!one) {
        r.span = last && ring > 2 ? 1 : 2;
        r.ring = last && ring > 2 ? ring - 1 : 0;
        r.addr = dist_i2(d, KN_OP_add, r.addr,
                         far_line(d, col, (last ? ring - 1 : 1) * bytes_of(d, l)));
        col = dist_ic(d, KN_OP_and, col, KN_LINE - 1);
    }
    if (l->swz_n)
        col = dist_i2(d, KN_OP_xor, col,
                      dist_ic(d, KN_OP_shl, dist_swizzle(d, l, row), 4));
    r.addr = dist_i2(d, KN_OP_add, r.addr, col);
    return r;
}
