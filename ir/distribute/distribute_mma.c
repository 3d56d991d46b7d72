/* distribute_mma.c - fragments and matrix instructions.
 *
 * Every instruction computes the transposed product: B's fragment is its
 * first operand, A's the second, so that a lane ends up with four consecutive
 * columns of one output row (CDNA3 ISA 7.1: row 4*(lane/16)+r, column
 * lane%16), which stores as one wide word. Of f64 a lane has rows 4*r + lane/16:
 * lanes read B's rows in the order that makes the same columns of these. */
#include "widen.h"

static kn_ref
reg_of(struct dist *d, kn_ref tile, uint32_t n, struct kn_type t)
{
    struct dist_tile *x = dist_tile(d, tile);

    if (!x->reg[n])
        x->reg[n] = dist_named(d, t, "%s.%u", kn_val(d->in, tile)->name, n);
    return x->reg[n];
}

/* Lane address of (kk, part) of fragment 0, and for a K-outer tile of any
 * fragment, since its XOR reaches into the fragment's bits. */
struct piece {               /* of a fragment */
    uint32_t kk, part, frag;
};

/* kn_fragment_row of this lane. */
static kn_ref
lane_row(struct dist *d, const struct kn_lds *l)
{
    if (kn_fragment_row(d->in, l->side, 1) == 1)
        return d->t;
    return dist_i2(d, KN_OP_add,
                   dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_urem, d->t, 4), 4),
                   dist_ic(d, KN_OP_udiv, d->t, 4));
}

static kn_ref
place_address(struct dist *d, int lds, const struct kn_readplan *p, uint32_t at,
              uint32_t frag)
{
    const struct kn_lds *l = &d->in->lds[lds];
    struct kn_geom g = kn_geometry(d->in, l);
    struct kn_frag fr = kn_fragment(d->in, l->side);
    kn_ref wave = l->side == 'a' ? d->wave_m : d->wave_n;
    uint32_t outer = l->share ? dist_share_rows(d, l) : fr.count * 16;
    kn_ref row, col, chunk;

    wave = dist_ic(d, KN_OP_mul, wave, outer);
    if (l->kdiv != 1 && !l->lk) {    /* the constant last, where it is an offset */
        col = l->side == 'a' ? d->t : dist_ic(d, KN_OP_mul, d->q, 4);
        col = dist_ic(d, KN_OP_mul, dist_i2(d, KN_OP_add, wave, col), 4);
        return dist_ic(d, KN_OP_add, col, (int64_t)(at / l->kdiv) * g.pitch);
    }
    if (p->tr) {
        uint32_t per = p->tr == 16 ? 4 : 2;

        row = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, d->q, p->qstep),
                      dist_ic(d, KN_OP_udiv, d->t, per));
        row = dist_ic(d, KN_OP_add, row, at);
        col = dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_urem, d->t, per), 8);
        wave = dist_ic(d, KN_OP_add, wave, frag * 16);
        col = dist_i2(d, KN_OP_add, col,
                      dist_ic(d, KN_OP_mul, wave, p->tr / 8));
    } else {
        row = dist_i2(d, KN_OP_add, wave, lane_row(d, l));
        col = dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, d->q, p->qstep), at);
    }
    if (l->swz_n) {
        chunk = dist_ic(d, KN_OP_shr, row, l->swz_s);
        chunk = dist_ic(d, KN_OP_and, chunk, (1 << l->swz_n) - 1);
        chunk = dist_ic(d, KN_OP_shl, chunk, l->swz_t + 4);
        col = dist_i2(d, KN_OP_xor, col, chunk);
    }
    if (l->flip)
        col = dist_i2(d, KN_OP_xor, col, dist_flip(d, l, row, 8));
    return dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, row, g.pitch), col);
}

static kn_ref
read_address(struct dist *d, int lds, const struct kn_readplan *p,
             struct piece x)
{
    return place_address(d, lds, p, x.kk * p->kstep + p->pstep[x.part], x.frag);
}

kn_ref
dist_read_address(struct dist *d, int lds, const struct kn_readplan *p,
                  uint32_t at)
{
    return place_address(d, lds, p, at, 0);
}

/* Byte of fragment x.frag's scale in a tile of shuffled scales: K block 4 kk +
 * q of row 16 (wave * count + frag) + t (gen/layout.h). */
static kn_ref
shuffled_address(struct dist *d, int lds, struct piece x)
{
    const struct kn_lds *l = &d->in->lds[lds];
    uint32_t count = kn_fragment(d->in, l->side).count;
    kn_ref g = dist_ic(d, KN_OP_mul, l->side == 'a' ? d->wave_m : d->wave_n,
                       count), a;

    g = dist_ic(d, KN_OP_add, g, x.frag);
    a = dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_shr, g, 1),
                kn_geometry(d->in, l).pitch);
    a = dist_i2(d, KN_OP_add, a, dist_ic(d, KN_OP_and, g, 1));
    a = dist_i2(d, KN_OP_add, a, dist_ic(d, KN_OP_shl, d->lane, 2));
    return dist_ic(d, KN_OP_add, a, x.kk / 2 * 256 + x.kk % 2 * 2);
}

/* pairs=1: the dwords of fragments two and two, whose first is in [from, to): a byte for
 * each of two K steps and two fragments (gen/layout.h). */
static void
read_pairs(struct dist *d, const struct kn_ins *i, uint32_t from, uint32_t to)
{
    int lds = (int)KN_REF_LDS(i->arg[0]);
    kn_ref base = shuffled_address(d, lds, (struct piece){
        (uint32_t)i->attr[KN_A_kk], 0, 0 });
    uint32_t pitch = kn_geometry(d->in, &d->in->lds[lds]).pitch;

    dist_tile(d, i->dst)->pairs = 1;
    for (uint32_t f = from + from % 2; f < to; f += 2) {
        struct kn_ins *n = dist_add(d, KN_OP_lds_ld,
                                    reg_of(d, i->dst, f, kn_v32));

        n->arg[0] = i->arg[0];
        n->arg[1] = base;
        n->attr[KN_A_offset] = (int32_t)(f / 2 * pitch);
        n->attr[KN_A_elem] = KN_T_i32;
    }
}

static void
read_part(struct dist *d, const struct kn_ins *from,
          const struct kn_readplan *p, kn_ref dst)
{
    struct kn_ins *n = dist_add(d, KN_OP_lds_ld, dst);

    n->arg[0] = from->arg[0];
    n->arg[1] = from->arg[1];
    n->attr[KN_A_offset] = from->attr[KN_A_offset];
    n->attr[KN_A_span] = from->attr[KN_A_span];
    n->attr[KN_A_ring] = from->attr[KN_A_ring];
    n->attr[KN_A_tr] = (int32_t)p->tr;
    n->attr[KN_A_elem] = p->bytes == 1 ? KN_T_i8 : KN_T_i32;
}

static void
read_fragment(struct dist *d, const struct kn_ins *i, uint32_t frag,
              const struct kn_ins *piece)
{
    int lds = (int)KN_REF_LDS(i->arg[0]);
    const struct kn_lds *l = &d->in->lds[lds];
    struct kn_readplan p = kn_readplan(d->in, l);
    uint32_t dw = p.bytes > 4 ? p.bytes / 4 : 1;
    uint32_t row = l->lk ? kn_geometry(d->in, l).pitch : 4;
    uint32_t per = l->share ? dist_share_rows(d, l) / 16 : 0;
    uint32_t step = p.tr ? 0 : (per ? frag % per : frag) * 16 * row;
    uint8_t elem = l->elem == KN_T_f32 && l->kdiv != 1 ? KN_T_f32 : KN_T_i32;
    kn_ref dst = reg_of(d, i->dst, frag, dist_vec(elem, dw * p.parts));
    kn_ref part[4];

    dist_tile(d, i->dst)->terms[frag].hi = 0;
    for (uint32_t x = 0; x < p.parts; x++) {
        struct kn_ins from = piece[x];

        from.attr[KN_A_offset] = (int32_t)step;
        from.attr[KN_A_span] = 1;
        if (l->line) {
            struct dist_line at = dist_line(d, lds, &p,
                (uint32_t)i->attr[KN_A_kk] * p.kstep + p.pstep[x]);

            from.arg[0] += at.odd;   /* the slot is the reference's low bits */
            from.arg[1] = at.addr;
            from.attr[KN_A_span] = (int32_t)at.span;
            from.attr[KN_A_ring] = (int32_t)at.ring;
        }
        if (l->shuf) {
            from.attr[KN_A_offset] = 0;
            from.arg[1] = shuffled_address(d, lds, (struct piece){
                (uint32_t)i->attr[KN_A_kk], x, frag });
        }
        if (p.tr)
            from.arg[1] = read_address(d, lds, &p, (struct piece){
                (uint32_t)i->attr[KN_A_kk], x, frag });
        part[x] = p.parts == 1 ? dst
                : dist_temp(d, dist_vec(KN_T_i32, dw));
        read_part(d, &from, &p, part[x]);
    }
    if (p.parts > 1)
        dist_cat_to(d, dst, part, p.parts);
}

/* A factor per column of B: a lane needs those of its four columns. */
static kiln_status
read_columns(struct dist *d, const struct kn_ins *i, uint32_t count)
{
    const struct kn_lds *l = &d->in->lds[KN_REF_LDS(i->arg[0])];
    struct kn_geom g = kn_geometry(d->in, l);
    kn_ref at = dist_ic(d, KN_OP_mul, d->wave_n, count * 16);

    if (g.pitch != 4)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "factors of columns "
                          "are one a column");
    at = dist_i2(d, KN_OP_add, at, dist_ic(d, KN_OP_mul, d->q, 4));
    at = dist_ic(d, KN_OP_mul, at, 4);
    for (uint32_t y = 0; y < count; y++) {
        kn_ref dst = reg_of(d, i->dst, y, dist_vec(KN_T_f32, 4));
        struct kn_ins *n = dist_add(d, KN_OP_lds_ld, dst);

        n->arg[0] = i->arg[0];
        n->arg[1] = at;
        n->attr[KN_A_offset] = (int32_t)(y * 64);
        n->attr[KN_A_elem] = KN_T_f32;
    }
    return KILN_OK;
}

/* The read of piece x of fragment 0. */
static struct kn_ins
piece_read(struct dist *d, const struct kn_ins *i, const struct kn_readplan *p,
           uint32_t x)
{
    int lds = (int)KN_REF_LDS(i->arg[0]);
    uint32_t kk = (uint32_t)i->attr[KN_A_kk];
    const struct kn_lds *l = &d->in->lds[lds];
    struct kn_ins r = { .arg = { i->arg[0] } };

    if (p->tr || l->line)    /* of each fragment another */
        return r;
    if (l->lag)
        return dist_lag_read(d, i->arg[0], kk * p->parts + x);
    r.arg[1] = read_address(d, lds, p, (struct piece){ kk, x, 0 });
    return r;
}

kiln_status
expand_read(struct dist *d, const struct kn_ins *i)
{
    int lds = (int)KN_REF_LDS(i->arg[0]);
    const struct kn_lds *l = &d->in->lds[lds];
    struct kn_readplan p = kn_readplan(d->in, l);
    struct kn_frag fr = kn_fragment(d->in, l->side);
    struct dist_tile *t = dist_tile(d, i->dst);
    uint32_t part = (uint32_t)i->attr[KN_A_part];
    uint32_t parts = (uint32_t)i->attr[KN_A_parts];
    struct kn_ins piece[4];

    if (t->kind == DT_NONE)
        *t = (struct dist_tile){ .kind = DT_FRAG, .lds = lds,
                                 .reg = KN_NEW(d->c, kn_ref, fr.count),
                                 .terms = KN_NEW(d->c, struct dist_terms,
                                                fr.count),
                                 .nreg = fr.count };
    if (l->share &&
        (part * l->share / parts != KN_REF_SLOT(i->arg[0]) >> kn_share_bits(l) ||
         parts % l->share))
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "part %u of %u is not "
                          "in this slot", part, parts);
    if (l->kdiv != 1 && l->elem == KN_T_f32 && l->side == 'b' && !l->shift &&
        l->lk)
        return read_columns(d, i, fr.count);
    if (i->attr[KN_A_pairs]) {
        read_pairs(d, i, part * fr.count / parts, (part + 1) * fr.count / parts);
        return KILN_OK;
    }
    for (uint32_t x = 0; x < p.parts; x++)
        piece[x] = piece_read(d, i, &p, x);
    if (i->attr[KN_A_one]) {
        read_fragment(d, i, 0, piece);
        for (uint32_t f = 1; f < fr.count; f++)
            t->reg[f] = t->reg[0];
        return KILN_OK;
    }
    for (uint32_t f = part * fr.count / parts;
         f < (part + 1) * fr.count / parts; f++)
        read_fragment(d, i, f, piece);
    return KILN_OK;
}

struct kn_type
dist_sum_type(const struct dist *d)
{
    const struct kn_mfma_info *m = &kn_mfmas[d->in->shape.mfma];

    return dist_vec(m->acc, m->regs_c);
}

kiln_status
expand_clear(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->dst);
    uint32_t rows = kn_fragment(d->in, 'a').count, cols = kn_fragment(d->in, 'b').count;
    uint32_t n = rows * cols;
    uint32_t part = (uint32_t)i->attr[KN_A_part];
    uint32_t parts = (uint32_t)i->attr[KN_A_parts];
    struct kn_type type = dist_sum_type(d);
    kn_ref zero;

    if (i->attr[KN_A_elem])
        type.elem = (uint8_t)i->attr[KN_A_elem];
    zero = kn_elems[type.elem].kind == KN_E_FLOAT ? kn_flt(d->out, 0)
                                                  : dist_int(d, 0);

    if (t->kind == DT_NONE)
        *t = (struct dist_tile){ .kind = DT_ACC, .nreg = n, .block = dist_is_block(d, i->dst),
                                 .reg = KN_NEW(d->c, kn_ref, n) };
    if (t->block)
        zero = dist_block_start(d);
    for (uint32_t x = part * rows / parts * cols; x < (part + 1) * rows / parts * cols; x++) {
        if (t->home)
            t->reg[x] = t->home[x];
        dist_move(d, reg_of(d, i->dst, x, type), zero);
    }
    return KILN_OK;
}

/* Dwords [sub * n, sub * n + n) of a fragment. */
static kn_ref
sub_fragment(struct dist *d, kn_ref frag, uint32_t sub, uint32_t nsub)
{
    uint32_t n = kn_val(d->out, frag)->type.n / nsub;
    kn_ref dst;

    if (nsub == 1)
        return frag;
    dst = dist_op(d, KN_OP_slice, dist_vec(KN_T_i32, n), frag, 0);
    d->out->ins[d->out->nins - 1].attr[KN_A_first] = (int32_t)(sub * n);
    return dst;
}

static struct kn_ins *
matrix_op(struct dist *d, enum kn_op op, kn_ref dst, kn_ref b, kn_ref a)
{
    const struct kn_shape *s = &d->in->shape;
    struct kn_ins *n = dist_add(d, op, dst);

    n->arg[0] = b;
    n->arg[1] = a;
    n->attr[KN_A_shape] = s->mfma;
    n->attr[KN_A_ta] = s->tb;
    n->attr[KN_A_tb] = s->ta;
    return n;
}

static kn_ref
fragment(struct dist *d, kn_ref tile, uint32_t n, uint32_t kk)
{
    const struct dist_tile *t = dist_tile(d, tile);

    return t->kind == DT_PULLED ? dist_pulled_fragment(d, t, n, kk)
                                : t->reg[n];
}

static kn_ref
scale(struct dist *d, kn_ref tile, uint32_t n, uint32_t kk, int32_t *sel)
{
    const struct dist_tile *t = dist_tile(d, tile);

    *sel = t->pairs ? (int32_t)(kk % 2 * 2 + n % 2) : 0;
    if (t->pairs)
        return t->reg[n & ~1u];
    return t->kind == DT_PULLED ? dist_pulled_scale(d, t, n, kk, sel)
                                : t->reg[n];
}

/* acc += (A's hi + lo) * (B's hi + lo) but for lo * lo, the small ones first. */
static void
multiply_terms(struct dist *d, kn_ref acc, const struct dist_terms *a,
               const struct dist_terms *b)
{
    const kn_ref pair[3][2] = { { b->hi, a->lo }, { b->lo, a->hi },
                                { b->hi, a->hi } };
    uint32_t nsub = kn_fragment(d->in, 'a').sub;

    for (uint32_t s = 0; s < nsub; s++)
        for (int x = 0; x < 3; x++) {
            struct kn_ins *n = matrix_op(d, KN_OP_mfma, acc,
                sub_fragment(d, pair[x][0], s, nsub),
                sub_fragment(d, pair[x][1], s, nsub));

            n->arg[2] = acc;
            n->attr[KN_A_ta] = n->attr[KN_A_tb] = KN_T_bf16;
        }
}

void
dist_multiply(struct dist *d, kn_ref acc, const struct kn_ins *ins, uint32_t i,
              uint32_t j)
{
    uint32_t nsub = kn_fragment(d->in, 'a').sub;
    uint32_t kk = (uint32_t)ins->attr[KN_A_kk];
    kn_ref a = fragment(d, ins->arg[1], i, kk), xa = 0, xb = 0;
    kn_ref b = fragment(d, ins->arg[2], j, kk);
    int32_t sa, sb;
    bool scaled = ins->op == KN_OP_mma && ins->arg[3];

    if (scaled) {
        xb = scale(d, ins->arg[4], j, kk, &sb);
        xa = scale(d, ins->arg[3], i, kk, &sa);
    }
    for (uint32_t s = 0; s < nsub; s++) {
        kn_ref fa = sub_fragment(d, a, s, nsub), fb = sub_fragment(d, b, s, nsub);
        struct kn_ins *n = matrix_op(d, scaled ? KN_OP_mfmas : KN_OP_mfma, acc,
                                     fb, fa);

        n->arg[2] = acc;
        if (scaled) {
            n->arg[3] = xb;
            n->arg[4] = xa;
            n->attr[KN_A_sela] = sb;
            n->attr[KN_A_selb] = sa;
        }
    }
}

kiln_status
expand_mma(struct dist *d, const struct kn_ins *i)
{
    struct kn_frag a = kn_fragment(d->in, 'a'), b = kn_fragment(d->in, 'b');
    uint32_t part = (uint32_t)i->attr[KN_A_part];
    uint32_t parts = (uint32_t)i->attr[KN_A_parts];
    int32_t half = i->attr[KN_A_half];
    uint32_t from = half == 2 ? b.count / 2 : 0, to = half == 1 ? b.count / 2 : b.count;

    for (uint32_t x = part * a.count / parts;
         x < (part + 1) * a.count / parts; x++)
        for (uint32_t y = from; y < to; y++)
            if (kn_splits(d->in))
                multiply_terms(d, dist_tile(d, i->arg[0])->reg[x * b.count + y],
                               dist_terms(d, i->arg[1], x), dist_terms(d, i->arg[2], y));
            else
                dist_multiply(d, dist_tile(d, i->arg[0])->reg[x * b.count + y], i, x, y);
    return KILN_OK;
}
