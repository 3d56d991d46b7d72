/* sums_tiles.c - which K a slot, a tile or a sum has, as each operation leaves
 * it. Shares of a slot are of rows and those of a fragment too, though not of the
 * same: a read wants all of its slot to hold one K. */
#include "sums.h"

struct cells {
    uint32_t from, to;
};

static struct cells
cells_of(const struct kn_ins *i)
{
    uint32_t part = (uint32_t)i->attr[KN_A_part];
    uint32_t parts = (uint32_t)i->attr[KN_A_parts];

    return (struct cells){ part * SUMS_CELLS / parts,
                           (part + 1) * SUMS_CELLS / parts };
}

static const struct kn_lds *
lds_of(const struct sums *o, int lds)
{
    return &o->f->lds[lds];
}

static struct sums_tile *
slot_of(struct sums *o, kn_ref r)
{
    return o->slot[o->first_slot[KN_REF_LDS(r)] + KN_REF_SLOT(r)];
}

static struct sums_tile *
tile_of(struct sums *o, kn_ref r)
{
    return r ? o->tile[KN_REF_INDEX(r)] : NULL;
}

static int64_t
unit(int64_t k)
{
    return k * SUMS_UNIT;
}

/* In 48ths of an element along the rows of this LDS tile. */
static int64_t
of_bits(const struct kn_lds *l, int64_t bits)
{
    return unit(bits) / kn_elems[l->elem].bits * l->kdiv;
}

#define WRONG(o, i, ...)                                                      \
    kn_fail_at((o)->f->c, KILN_FINDING, (i)->at, __VA_ARGS__)

/* A number of K elements for a sentence. */
static long long
elements(int64_t at)
{
    return (long long)(at / SUMS_UNIT);
}

static kiln_status
make_view(struct sums *o, const struct kn_ins *i)
{
    struct sums_value k = sums_read(o, i->arg[i->op == KN_OP_gather ? 5 : 4]);
    struct sums_tile *t = tile_of(o, i->dst);

    if (!k.known)
        return kn_fail_at(o->f->c, KILN_UNSUPPORTED, i->at, "the length of K "
                          "depends on what the launch does not say");
    t->lds = (int)KN_REF_LDS(i->arg[0]);
    t->cell[0] = (struct sums_place){ .filled = true, .k = unit(k.v) };
    return KILN_OK;
}

static kiln_status
rotate(struct sums *o, const struct kn_ins *i)
{
    struct sums_place *p = &tile_of(o, i->arg[0])->cell[0];
    const struct kn_lds *l = lds_of(o, tile_of(o, i->arg[0])->lds);
    struct sums_value first = sums_read(o, i->arg[1]);
    struct sums_value k = sums_read(o, i->arg[2]);

    if (!first.known || !k.known)
        return kn_fail_at(o->f->c, KILN_UNSUPPORTED, i->at, "where K begins "
                          "depends on what the launch does not say");
    if (p->at || unit(k.v) != p->k || first.v < 0 ||
        (first.v && first.v >= k.v) ||
        first.v % ((int64_t)l->cols * l->kdiv))
        return WRONG(o, i, "a view of K %lld cannot begin at K %lld of %lld",
                     elements(p->k), (long long)first.v, (long long)k.v);
    p->at = unit(first.v);
    p->turns = true;
    return KILN_OK;
}

static kiln_status
advance(struct sums *o, const struct kn_ins *i)
{
    struct sums_tile *t = tile_of(o, i->arg[0]);
    const struct kn_lds *l = lds_of(o, t->lds);
    struct sums_value there = sums_read(o, i->arg[1]);

    if (i->arg[1] && !there.known)
        return kn_fail_at(o->f->c, KILN_UNSUPPORTED, i->at, "whether there is "
                          "more K depends on what the launch does not say");
    t->cell[0].at += l->line ? of_bits(l, 8 * KN_LINE)
                             : unit((int64_t)l->cols * l->kdiv);
    if (t->cell[0].turns && t->cell[0].at >= t->cell[0].k)
        t->cell[0].at = 0;
    if (t->cell[0].turns || (i->arg[1] && !there.v))
        t->cell[0].nowhere = i->arg[1] && !there.v;
    return KILN_OK;
}

static void
fill(struct sums_tile *t, struct cells x, const struct sums_place *from,
     uint32_t stride)
{
    for (uint32_t n = x.from; n < x.to; n++)
        t->cell[n] = from[n * stride];
}

/* A tile of rows that are loaded by lines takes the rest of its lines from the next. */
static kiln_status
join_tiles(struct sums *o, const struct kn_ins *i, struct sums_tile *to, const kn_ref arg[2])
{
    const struct sums_tile *from = tile_of(o, arg[0]), *next = tile_of(o, arg[1]);
    const struct kn_lds *l = lds_of(o, to->lds);
    int64_t row = l->line ? of_bits(l, 8 * KN_LINE) : unit((int64_t)l->cols);
    struct cells x = cells_of(i);

    fill(to, x, from->cell, 1);
    for (uint32_t n = x.from; n < x.to; n++) {
        to->cell[n].nowhere |= next->cell[n].nowhere;
        if (!next->cell[n].filled || next->cell[n].at != from->cell[n].at + row)
            return WRONG(o, i, "K %lld of %%%s is joined with lines that are not of the K "
                         "behind it", elements(from->cell[n].at), l->name);
    }
    return KILN_OK;
}

/* A tile's cells to `to`; elements that are widened on the way with the scales of a
 * tile of registers, number kk= of the K tiles that those are of. */
static kiln_status
convert_tile(struct sums *o, const struct kn_ins *i, struct sums_tile *to,
             const kn_ref arg[2])
{
    const struct sums_tile *from = tile_of(o, arg[0]), *scales = tile_of(o, arg[1]);
    int64_t step = unit((int64_t)lds_of(o, to->lds)->cols);
    struct cells x = cells_of(i);

    for (uint32_t n = x.from; scales && n < x.to; n++)
        if (scales->cell[n].at + i->attr[KN_A_kk] * step != from->cell[n].at)
            return WRONG(o, i, "K %lld of %%%s is widened with the scales of "
                         "another K", elements(from->cell[n].at),
                         lds_of(o, to->lds)->name);
    fill(to, x, from->cell, 1);
    return KILN_OK;
}

/* Fragments of K step kk= of the K tile that their zero points are of. */
static kiln_status
widen_integers(struct sums *o, const struct kn_ins *i)
{
    const struct sums_tile *from = tile_of(o, i->arg[0]), *zeros = tile_of(o, i->arg[1]);
    struct sums_tile *t = tile_of(o, i->dst);
    int64_t step = unit((int64_t)i->attr[KN_A_kk] * kn_fragment(o->f, 'b').k);
    struct cells x = cells_of(i);

    for (uint32_t n = x.from; zeros && n < x.to; n++)
        if (!zeros->cell[n].filled || zeros->cell[n].at + step != from->cell[n].at)
            return WRONG(o, i, "K %lld of %%%s has the zero points of another K",
                         elements(from->cell[n].at), lds_of(o, from->lds)->name);
    t->lds = from->lds;
    fill(t, x, from->cell, 1);
    return KILN_OK;
}

/* Fragments of K step kk= of the four that the scales are of. */
static kiln_status
scale_codes(struct sums *o, const struct kn_ins *i)
{
    const struct sums_tile *from = tile_of(o, i->arg[0]), *scales = tile_of(o, i->arg[1]);
    struct sums_tile *t = tile_of(o, i->dst);
    int64_t step = unit((int64_t)i->attr[KN_A_kk] * kn_fragment(o->f, 'b').k);

    for (uint32_t n = 0; n < SUMS_CELLS; n++)
        if (!scales->cell[n].filled || scales->cell[n].at + step != from->cell[n].at)
            return WRONG(o, i, "K %lld of %%%s is multiplied by the scales of another K",
                         elements(from->cell[n].at), lds_of(o, from->lds)->name);
    t->lds = from->lds;
    fill(t, (struct cells){ 0, SUMS_CELLS }, from->cell, 1);
    return KILN_OK;
}

static bool
same_place(const struct sums_place *x, const struct sums_place *y)
{
    return x->filled && y->filled && x->at == y->at && x->k == y->k;
}

/* The one K that all of a slot holds. */
static kiln_status
whole(struct sums *o, const struct kn_ins *i, const struct sums_tile *s,
      struct sums_place *out)
{
    for (uint32_t n = 0; n < SUMS_CELLS; n++)
        if (!same_place(&s->cell[n], &s->cell[0]))
            return WRONG(o, i, "%%%s is read where a part of it holds other K "
                         "than the rest", lds_of(o, s->lds)->name);
    *out = s->cell[0];
    return KILN_OK;
}

/* Rows that are stored by lines: the fragment begins in one of their slots and may
 * reach into the next. */
static kiln_status
read_line(struct sums *o, const struct kn_ins *i, struct sums_place *out)
{
    const struct kn_lds *l = lds_of(o, (int)KN_REF_LDS(i->arg[0]));
    int64_t bits = kn_fragment(o->f, l->side).k * kn_elems[l->elem].bits;
    int64_t line = 8 * KN_LINE, at = i->attr[KN_A_kk] * bits, n = at / line;
    kn_ref ring = kn_ring(l), slot = i->arg[0] + (kn_ref)n % ring;
    struct sums_place next;

    KN_TRY(whole(o, i, slot_of(o, slot), out));
    if (at % line + bits > line) {
        slot = i->arg[0] + (kn_ref)(n + 1) % ring;
        KN_TRY(whole(o, i, slot_of(o, slot), &next));
        if (next.at != out->at + of_bits(l, line))
            return WRONG(o, i, "a fragment of %%%s begins in a line of K %lld "
                         "and ends in one of K %lld", l->name,
                         elements(out->at), elements(next.at));
    }
    out->at += of_bits(l, at % line);
    return KILN_OK;
}

/* Rows that lag: what is not in the slot is in the one behind it. */
static kiln_status
whole_ring(struct sums *o, const struct kn_ins *i, struct sums_place *out)
{
    const struct kn_lds *l = lds_of(o, (int)KN_REF_LDS(i->arg[0]));
    kn_ref slot = i->arg[0];
    struct sums_place next;

    KN_TRY(whole(o, i, slot_of(o, slot), out));
    slot = (KN_REF_SLOT(slot) + 1) % kn_ring(l) ? slot + 1 : slot - (kn_ring(l) - 1);
    KN_TRY(whole(o, i, slot_of(o, slot), &next));
    if (!next.filled || next.at != out->at + unit((int64_t)l->cols))
        return WRONG(o, i, "%%%s is read with K %lld behind K %lld", l->name,
                     elements(next.at), elements(out->at));
    return KILN_OK;
}

static kiln_status
read_slot(struct sums *o, const struct kn_ins *i)
{
    struct sums_tile *t = tile_of(o, i->dst);
    struct cells x = cells_of(i);
    struct sums_place p;

    t->lds = (int)KN_REF_LDS(i->arg[0]);
    t->steps = i->attr[KN_A_pairs];
    if (lds_of(o, t->lds)->line) {
        KN_TRY(read_line(o, i, &p));
    } else {
        KN_TRY(lds_of(o, t->lds)->lag
                   ? whole_ring(o, i, &p)
                   : whole(o, i, slot_of(o, i->arg[0]), &p));
        p.at += unit((int64_t)i->attr[KN_A_kk] *
                     kn_fragment(o->f, lds_of(o, t->lds)->side).k);
    }
    for (uint32_t n = x.from; n < x.to; n++)
        t->cell[n] = p;
    return KILN_OK;
}

/* K at which share n of an operand begins in this product. */
static struct sums_place
taken(const struct sums *o, const struct kn_ins *i, const struct sums_tile *t,
      uint32_t n)
{
    struct sums_place p = t->cell[n];

    if (t->steps)
        p.at += unit((int64_t)i->attr[KN_A_kk] * kn_fragment(o->f, 'a').k);
    return p;
}

static kiln_status
agree(struct sums *o, const struct kn_ins *i, const struct sums_place *a,
      const struct sums_tile *t, uint32_t n)
{
    struct sums_place p = taken(o, i, t, n);

    if (!p.filled)
        return WRONG(o, i, "%%%s is multiplied, which nothing has been read "
                     "to", lds_of(o, t->lds)->name);
    if (p.at / unit(lds_of(o, t->lds)->kdiv) !=
        a->at / unit(lds_of(o, t->lds)->kdiv))
        return WRONG(o, i, "K %lld of A is multiplied with K %lld of %%%s",
                     elements(a->at), elements(p.at),
                     lds_of(o, t->lds)->name);
    return KILN_OK;
}

/* The halves of B's columns that a product is of, and B's shares of one. */
static struct cells
halves_of(const struct kn_ins *i)
{
    uint32_t half = (uint32_t)i->attr[KN_A_half];

    return half ? (struct cells){ half - 1, half } : (struct cells){ 0, SUMS_HALVES };
}

static struct cells
columns_of(struct cells h)
{
    return (struct cells){ h.from * SUMS_CELLS / SUMS_HALVES,
                           h.to * SUMS_CELLS / SUMS_HALVES };
}

/* Scales s of a product are of the K that the share of their side has. */
static kiln_status
scales_agree(struct sums *o, const struct kn_ins *i, const struct sums_place *p,
             const struct cells side[2])
{
    for (int s = 3; s <= 4 && i->arg[s]; s++) {
        const struct sums_tile *t = tile_of(o, i->arg[s]);
        const struct cells *x = &side[lds_of(o, t->lds)->side == 'b'];

        for (uint32_t n = x->from; n < x->to; n++)
            KN_TRY(agree(o, i, p, t, n));
    }
    return KILN_OK;
}

/* A's shares times B's, with the scales of both: the K it is of. */
static kiln_status
product(struct sums *o, const struct kn_ins *i, struct cells x,
        struct sums_place *out)
{
    const struct sums_tile *a = tile_of(o, i->arg[1]);
    const struct sums_tile *b = tile_of(o, i->arg[2]);
    const struct cells side[2] = { x, columns_of(halves_of(i)) };

    *out = taken(o, i, a, x.from);
    for (uint32_t n = side[1].from; n < side[1].to; n++)
        KN_TRY(agree(o, i, out, b, n));
    for (uint32_t n = x.from; n < x.to; n++)
        if (!same_place(&a->cell[n], &a->cell[x.from]))
            return WRONG(o, i, "shares of A are multiplied that are of other K "
                         "than each other");
    KN_TRY(scales_agree(o, i, out, side));
    if (out->nowhere && out->at < out->k)
        return WRONG(o, i, "K %lld is not copied", elements(out->at));
    return KILN_OK;
}

/* A staggered sum that has come to the end of K goes on at its beginning. */
static bool
begins_anew(const struct sums *o, const struct sums_sum *s,
            const struct sums_sum *more)
{
    return o->launch->staggered && !s->around && s->from && s->next >= s->k &&
           !more->from;
}

static kiln_status
append(struct sums *o, const struct kn_ins *i, struct sums_sum *s,
       const struct sums_sum *more)
{
    if (!s->begun) {
        *s = *more;
        return KILN_OK;
    }
    if (begins_anew(o, s, more)) {
        s->around = o->facts->rotated = true;
        s->next = 0;
    }
    if (s->next != more->from)
        return WRONG(o, i, "K %lld is added where K %lld is next",
                     elements(more->from), elements(s->next));
    s->next = more->next;
    if (s->around && s->next > s->from)
        return WRONG(o, i, "K %lld is added a second time", elements(s->from));
    return KILN_OK;
}

static kiln_status
multiply(struct sums *o, const struct kn_ins *i)
{
    int64_t step = kn_fragment(o->f, 'a').k;
    struct sums_tile *acc = tile_of(o, i->arg[0]);
    struct cells x = cells_of(i), h = halves_of(i);
    struct sums_place p;
    struct sums_sum more;

    if (i->op == KN_OP_mmab)
        o->facts->scaled = step;
    KN_TRY(product(o, i, x, &p));
    if (p.nothing)
        return KILN_OK;
    more = (struct sums_sum){ true, false, p.at, p.at + unit(step), p.k };
    for (uint32_t y = h.from; y < h.to; y++)
        for (uint32_t n = x.from; n < x.to; n++)
            KN_TRY(append(o, i, &acc->sum[y][n], &more));
    return KILN_OK;
}

/* Sum n of half y of one scale's K, times that scale. */
static kiln_status
add_one(struct sums *o, const struct kn_ins *i, uint32_t y, uint32_t n)
{
    const struct sums_sum *s = &tile_of(o, i->arg[1])->sum[y][n];
    struct sums_place p = { .filled = s->begun, .at = s->from, .k = s->k };

    if (!s->begun)
        return WRONG(o, i, "no product has been added to what is scaled");
    for (int k = 2; k <= 3 && i->arg[k]; k++)
        KN_TRY(agree(o, i, &p, tile_of(o, i->arg[k]), n));
    o->facts->scaled = (s->next - s->from) / SUMS_UNIT;
    return append(o, i, &tile_of(o, i->arg[0])->sum[y][n], s);
}

static kiln_status
finished_one(struct sums *o, const struct kn_ins *i, uint32_t y, uint32_t n)
{
    const struct sums_sum *s = &tile_of(o, i->arg[0])->sum[y][n];

    if (!s->begun)
        return WRONG(o, i, "a sum leaves that nothing was added to");
    if (s->around && s->next != s->from)
        return WRONG(o, i, "a sum of K %lld leaves without K %lld to %lld",
                     elements(s->k), elements(s->next), elements(s->from));
    if (!s->around && (s->from || s->next < s->k))
        return WRONG(o, i, "a sum of K %lld leaves with K %lld to %lld",
                     elements(s->k), elements(s->from), elements(s->next));
    if (s->k > o->facts->k)
        o->facts->k = s->k;
    return KILN_OK;
}

/* One of these for each sum of the operation's share. */
static kiln_status
each_sum(struct sums *o, const struct kn_ins *i,
         kiln_status (*one)(struct sums *o, const struct kn_ins *i, uint32_t y,
                            uint32_t n))
{
    struct cells x = cells_of(i);

    for (uint32_t y = 0; y < SUMS_HALVES; y++)
        for (uint32_t n = x.from; n < x.to; n++)
            KN_TRY(one(o, i, y, n));
    return KILN_OK;
}

static void
clear(struct sums_tile *t, struct cells x)
{
    for (uint32_t y = 0; y < SUMS_HALVES; y++)
        for (uint32_t n = x.from; n < x.to; n++)
            t->sum[y][n] = (struct sums_sum){ 0 };
}

kiln_status
sums_of_tiles(struct sums *o, const struct kn_ins *i)
{
    struct sums_tile *dst = tile_of(o, i->dst), *from;
    struct cells x = cells_of(i);

    switch (i->op) {
    case KN_OP_view: case KN_OP_gather: return make_view(o, i);
    case KN_OP_advance: return advance(o, i);
    case KN_OP_rotate: return rotate(o, i);
    case KN_OP_copy:
        fill(slot_of(o, i->arg[0]), x, tile_of(o, i->arg[1])->cell, 0);
        break;
    case KN_OP_fetch: case KN_OP_pull: case KN_OP_zeros:
        from = tile_of(o, i->arg[0]);
        dst->lds = from->lds;
        dst->steps = i->op == KN_OP_pull;
        fill(dst, x, from->cell, 0);
        break;
    case KN_OP_convert:
        dst->lds = tile_of(o, i->arg[0])->lds;
        return convert_tile(o, i, dst, &i->arg[0]);
    case KN_OP_integers: return widen_integers(o, i);
    case KN_OP_scaled: return scale_codes(o, i);
    case KN_OP_put:
        return (lds_of(o, (int)KN_REF_LDS(i->arg[0]))->unaligned > 1
                    ? join_tiles : convert_tile)(o, i, slot_of(o, i->arg[0]), &i->arg[1]);
    case KN_OP_putq:
        fill(slot_of(o, i->arg[0]), x, tile_of(o, i->arg[2])->cell, 1);
        fill(slot_of(o, i->arg[1]), x, tile_of(o, i->arg[2])->cell, 1);
        break;
    case KN_OP_base: case KN_OP_factors:
        dst->lds = tile_of(o, i->arg[0])->lds;
        fill(dst, x, tile_of(o, i->arg[0])->cell, 1);
        break;
    case KN_OP_putapart: case KN_OP_putbase:
        fill(slot_of(o, i->arg[0]), x, tile_of(o, i->arg[1])->cell, 1);
        break;
    case KN_OP_wipe:
        for (uint32_t n = x.from; n < x.to; n++)
            tile_of(o, i->arg[0])->cell[n].nothing = true;
        break;
    case KN_OP_read: return read_slot(o, i);
    case KN_OP_clear: clear(dst, x); break;
    case KN_OP_mma: case KN_OP_mmab: case KN_OP_mmapart: return multiply(o, i);
    case KN_OP_addblock: return each_sum(o, i, add_one);
    case KN_OP_gate: case KN_OP_tofloat:
        *dst = *tile_of(o, i->arg[0]);
        break;
    case KN_OP_park: case KN_OP_share: case KN_OP_store: case KN_OP_scatter:
    case KN_OP_storemx: case KN_OP_storeq: case KN_OP_storepanel:
        o->facts->sums++;
        return each_sum(o, i, finished_one);
    }
    return KILN_OK;
}
