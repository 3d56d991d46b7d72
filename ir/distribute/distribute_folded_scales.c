/* distribute_folded_scales.c - e2m1, e2m3 and e3m2 as FNUZ e4m3 that has their scales. FNUZ e4m3
 * holds every value of e2m1 times 2^5 down to 2^-6 (CDNA3 ISA 7.2): a block whose scale is at
 * most a row's base, and at least 2^-11 of it, becomes codes that have what it is less, and
 * products of such blocks are added up like those of fp8; of 6 bits fewer orders do. What is
 * left of a row is one factor, of its base, by which the sums are multiplied in the end. Blocks
 * whose scales are elsewhere keep their codes apart, and a dword that says so: products of
 * their K tile are scaled one by one. */
#include <string.h>

#include "split.h"
#include "widen.h"

/* A type that is folded: orders from its largest value times 2^up down to where its least is
 * 2^-7, the least normal number; how far a row's base is above the scales of its first K
 * tile. Of 6 bits: the fields are those of e4m3, moved up by `left` bits, and 8 for each
 * order that bases are above a block; `first`, that of 2^up. */
static const struct folding {
    uint8_t mem, most, up, above, left, exponent, first;
    uint32_t denormal[2];
} foldings[] = {
    { KN_T_fp4, 11, 5, 3, 0, 0, 0, { 0, 0 } },
    { KN_T_fp6, 9, 5, 3, 0, 0x60, 0x60, { 0xf8f5ee00, 0xfefdfcfb } },
    { KN_T_bf6, 6, 3, 2, 1, 0x70, 0x40, { 0xf5f50000, 0xfdfdfbfb } },
};

/* What a row's base is at least and at most, as E8M0: sums of 2^-114 to 2^107 are then
 * numbers of f32. */
enum { BASE_LEAST = 122, BASE_MOST = 138 };

/* Of the operand that this tile is of, or has the scales of. */
static const struct folding *
folding_of(struct dist *d, const struct dist_tile *t)
{
    const struct folding *f = foldings;
    const struct kn_lds *l = d->in->lds;

    while (!kn_folds(l) || l->side != d->in->lds[t->lds].side)
        l++;
    while (f->mem != l->mem)
        f++;
    return f;
}

/* Dwords of scales that a lane has of a row, of one or more K tiles. */
enum { FOLD_WORDS = 4 };

/* A block's dword: 0 of one that is folded. */
enum { APART_BASE = 8 };
static const uint32_t APART = 0x80000000, SCALE_NAN = 0xff;

/* ---- codes ---- */

void
dist_fp4_values(struct dist *d, uint32_t up, kn_ref out[2])
{
    out[0] = dist_int(d, 0x44403800 + up * 0x08080800);
    out[1] = dist_int(d, 0x54504c48 + up * 0x08080808);
}

/* The even and odd of eight codes of fp4 as bytes of FNUZ by a table of magnitudes,
 * in which 0 has no sign: it has no -0. */
void
dist_part_fp4(struct dist *d, kn_ref x, const kn_ref table[2], kn_ref part[2])
{
    for (uint32_t odd = 0; odd < 2; odd++) {
        kn_ref which = dist_ic(d, KN_OP_and, odd ? dist_ic(d, KN_OP_shr, x, 4) : x, 0x07070707);
        kn_ref mag[] = { table[1], table[0], which };
        kn_ref any[] = { dist_int(d, 0x80808080), dist_int(d, 0x80808000), which };
        kn_ref sign = odd ? x : dist_ic(d, KN_OP_shl, x, 4);

        sign = dist_i2(d, KN_OP_and, sign, dist_op3(d, KN_OP_perm, kn_v32, any));
        part[odd] = dist_i2(d, KN_OP_or, sign, dist_op3(d, KN_OP_perm, kn_v32, mag));
    }
}

/* ---- a row's base ---- */

/* fold.base: of the scales of a K tile that lanes fetched, by step. */
kiln_status
expand_base(struct dist *d, const struct kn_ins *i)
{
    const struct dist_tile *from = dist_tile(d, i->arg[0]);
    const struct kn_lds *l = &d->in->lds[from->lds];
    struct dist_tile *t = dist_tile(d, i->dst);
    uint32_t steps = kn_geometry(d->in, l).steps;

    *t = (struct dist_tile){ .kind = DT_ROWS, .lds = from->lds, .nreg = steps,
                             .reg = KN_NEW(d->c, kn_ref, steps) };
    for (uint32_t s = 0; s < steps; s++) {
        kn_ref w[FOLD_WORDS], most = 0;

        dist_fetched_dwords(d, from, s, w);
        for (uint32_t b = 0; b < l->cols; b++) {
            kn_ref e = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, w[b / 4], 8 * (b % 4)), 0xff);

            most = most ? dist_i2(d, KN_OP_umax, most, e) : e;
        }
        most = dist_ic(d, KN_OP_add, most, folding_of(d, from)->above);
        most = dist_ic(d, KN_OP_umax, most, BASE_LEAST);
        most = dist_ic(d, KN_OP_umin, most, BASE_MOST);
        t->reg[s] = dist_named(d, kn_v32, "%s.%u", kn_val(d->in, i->dst)->name, s);
        dist_move(d, t->reg[s], most);
    }
    return KILN_OK;
}

/* Row and block of this lane's run in step s: all of it, or one of its halves. */
static void
place_block(struct dist *d, const struct dist_tile *t, uint32_t s, kn_ref *row, kn_ref *block)
{
    const struct kn_lds *l = &d->in->lds[t->lds];

    dist_run_place(d, l, dist_chunk_id(d, s), row, block);
    *block = dist_ic(d, KN_OP_udiv, *block, KN_FOLD / l->run);
}

/* Where LDS has the dword of the block of this lane's run in step s. */
static kn_ref
block_address(struct dist *d, kn_ref slot, const struct dist_tile *t, uint32_t s)
{
    struct kn_geom g = kn_geometry(d->in, &d->in->lds[t->lds]);
    uint32_t pitch = kn_geometry(d->in, &d->in->lds[KN_REF_LDS(slot)]).pitch;
    uint32_t bytes = 4 * d->in->lds[t->lds].run / KN_FOLD;
    kn_ref row, block, at;

    place_block(d, t, s, &row, &block);
    at = dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, block, pitch),
                 dist_ic(d, KN_OP_mul, row, 4));
    at = dist_or_behind(d, &g, s, at, (struct dist_piece){ bytes, 0, bytes });
    return bytes < 4 ? dist_ic(d, KN_OP_and, at, -4) : at;
}

/* put.base: 2^(base - 127) of each row, less what codes are above their values. */
kiln_status
expand_putbase(struct dist *d, const struct kn_ins *i)
{
    const struct dist_tile *t = dist_tile(d, i->arg[1]);
    int64_t up = folding_of(d, t)->up;

    for (uint32_t s = 0; s < t->nreg; s++) {
        kn_ref at = block_address(d, i->arg[0], t, s);
        kn_ref f = dist_ic(d, KN_OP_shl, dist_ic(d, KN_OP_add, t->reg[s], -up), 23);

        dist_store_lds(d, (struct dist_place){ i->arg[0], at, 0 }, f, 4);
    }
    return KILN_OK;
}

/* ---- convert ---- */

/* What a step keeps from one of its pieces to the next: the block's dword, a table by codes
 * of magnitudes, of 6 bits what is added to them and codes of the next piece, and what
 * memory has of the block. */
enum { KEEP_DWORD, KEEP_LOW, KEEP_HIGH, KEEP_ADD = KEEP_HIGH, KEEP_NEXT,
       KEEP_CODES = KEEP_NEXT + 2, KEPT = KEEP_CODES + KN_FOLD / 8 };

static kn_ref
keep(struct dist *d, const struct kn_ins *i, uint32_t s, uint32_t what)
{
    struct dist_tile *t = dist_tile(d, i->dst);
    kn_ref *to = &t->fold[KEPT * s + what];

    if (!*to)
        *to = dist_named(d, kn_v32, "%s.%c%u", kn_val(d->in, i->dst)->name, "dlhxy"[what], s);
    return *to;
}

static void
make(struct dist *d, enum kn_op op, kn_ref to, kn_ref x, kn_ref y)
{
    struct kn_ins *n = dist_add(d, op, to);

    n->arg[0] = x;
    n->arg[1] = y;
}

static void
make3(struct dist *d, enum kn_op op, kn_ref to, const kn_ref arg[3])
{
    memcpy(dist_add(d, op, to)->arg, arg, 3 * sizeof *arg);
}

/* The scale of this lane's run in step s, of K tile kk of those that it has. */
static kn_ref
scale_of_run(struct dist *d, const struct dist_tile *t, uint32_t s, uint32_t kk)
{
    uint32_t per = d->in->shape.bk / KN_FOLD, first = kk * per;
    kn_ref w[FOLD_WORDS], row, block, v;

    dist_fetched_dwords(d, t, s, w);
    place_block(d, t, s, &row, &block);
    v = w[first / 4];
    if (per > 4)
        v = dist_pick(d, dist_op(d, KN_OP_ult, kn_vb1, block, dist_int(d, 4)), v,
                      w[first / 4 + 1]);
    block = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_add, block, first % 4), 3);
    return dist_ic(d, KN_OP_and, dist_i2(d, KN_OP_shr, v, dist_ic(d, KN_OP_shl, block, 3)), 0xff);
}

/* By how many orders a block is below its base; 0 where all codes are 0, as are those of
 * rows that are not there, but for a NaN. */
static kn_ref
orders_below(struct dist *d, kn_ref base, kn_ref scale, const kn_ref *w, uint32_t n)
{
    kn_ref less = dist_i2(d, KN_OP_sub, base, scale), nothing, all = 0;

    for (uint32_t k = 0; k < n; k++)
        all = all ? dist_i2(d, KN_OP_or, all, w[k]) : w[k];
    if (n < 4) {             /* half of a block: the lane beside this has the other */
        all = dist_ic(d, KN_OP_umin, all, 1);
        all = dist_op(d, KN_OP_fold, kn_v32, all, all);
    }
    nothing = dist_ic(d, KN_OP_add, scale, 0x100 - SCALE_NAN);
    nothing = dist_ic(d, KN_OP_and, nothing, 0x100);
    all = dist_op(d, KN_OP_eq, kn_vb1, all, dist_int(d, 0));
    return dist_pick(d, all, nothing, less);
}

/* The tables of a block that is less / 8 orders below its base. */
static void
keep_values(struct dist *d, const struct kn_ins *i, const struct folding *f, uint32_t s,
            kn_ref less)
{
    kn_ref all = dist_perm(d, less, less, 0), table[2];

    if (f->first) {          /* 0 and a sign are 0: less what is added, and 1 as of others */
        make(d, KN_OP_add, keep(d, i, s, KEEP_LOW), less,
             dist_int(d, f->denormal[0] + 0xff - f->first));
        make(d, KN_OP_sub, keep(d, i, s, KEEP_ADD), dist_int(d, f->first * 0x01010101u + 1), all);
        return;
    }
    dist_fp4_values(d, f->up, table);
    make(d, KN_OP_sub, keep(d, i, s, KEEP_LOW), table[0], dist_perm(d, less, less, 0x0000000c));
    make(d, KN_OP_sub, keep(d, i, s, KEEP_HIGH), table[1], all);
}

static void
begin_run(struct dist *d, const struct kn_ins *i, const struct dist_put *x, uint32_t s)
{
    const struct folding *f = folding_of(d, x->t);
    kn_ref base = dist_tile(d, i->arg[2])->reg[s], scale = scale_of_run(d, x->scales, s, x->kk);
    kn_ref less, folded, word, none = dist_int(d, 0);
    kn_ref *codes = &dist_tile(d, i->dst)->fold[KEPT * s + KEEP_CODES];
    uint32_t n = dist_fetched_dwords(d, x->t, s, codes);

    less = orders_below(d, base, scale, codes, n);
    folded = dist_op(d, KN_OP_ult, kn_vb1, less, dist_int(d, f->most + 1));
    word = dist_i2(d, KN_OP_or, scale, dist_ic(d, KN_OP_or,
                   dist_ic(d, KN_OP_shl, base, APART_BASE), APART));
    make3(d, KN_OP_select, keep(d, i, s, KEEP_DWORD), (kn_ref[3]){ folded, none, word });
    keep_values(d, i, f, s, dist_pick(d, folded, dist_ic(d, KN_OP_shl, less, 3), none));
}

/* ---- 6 bits ---- */

/* Byte n of each three of three dwords. */
static void
every_third(struct dist *d, kn_ref to, const kn_ref w[3], uint32_t n)
{
    static const uint32_t select[3][2] = { { 0x0c060300, 0x05020100 },
                                           { 0x0c070401, 0x06020100 },
                                           { 0x0c0c0502, 0x07040100 } };

    make3(d, KN_OP_perm, to, (kn_ref[3]){ w[2], dist_perm(d, w[1], w[0], select[n][0]),
                                          dist_int(d, select[n][1]) });
}

/* Sixteen codes in the high bits of bytes, below which others are: codes n and each fourth
 * further on in dword n. */
static void
spread_sixteen(struct dist *d, const kn_ref w[3], const kn_ref x[4])
{
    kn_ref low = dist_temp(d, kn_v32), mid = dist_temp(d, kn_v32);

    every_third(d, low, w, 0);
    every_third(d, mid, w, 1);
    every_third(d, x[3], w, 2);
    make(d, KN_OP_shl, x[0], low, dist_int(d, 2));
    make3(d, KN_OP_bfi, x[1], (kn_ref[3]){ dist_int(d, 0x0c0c0c0c), dist_ic(d, KN_OP_shr, low, 4),
                                           dist_ic(d, KN_OP_shl, mid, 4) });
    make3(d, KN_OP_bfi, x[2], (kn_ref[3]){ dist_int(d, 0x3c3c3c3c), dist_ic(d, KN_OP_shr, mid, 2),
                                           dist_ic(d, KN_OP_shl, x[3], 6) });
}

/* Four codes in the high bits of bytes as FNUZ: their fields and KEEP_ADD. What fields below
 * 8, those of denormal numbers and of the least others, have too much is in the table, less
 * 1; for others a selector above 12 makes -1, so that each byte carries 1 to the next, and
 * KEEP_ADD to the first. Half of a byte and 0x7c has 0x80 where there is a sign and more. */
static kn_ref
fold_six(struct dist *d, const struct kn_ins *i, uint32_t s, kn_ref x)
{
    const struct folding *f = folding_of(d, dist_tile(d, i->dst));
    kn_ref mag = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, x, 2 - f->left),
                         (0x7cu >> (2 - f->left)) * 0x01010101u);
    kn_ref which = dist_i2(d, KN_OP_or, dist_ic(d, KN_OP_and, x, f->exponent * 0x01010101u), mag);
    kn_ref less[] = { dist_int(d, f->denormal[1]), keep(d, i, s, KEEP_LOW), which };
    kn_ref half[] = { x, dist_int(d, 0x7c7c7c7c), dist_int(d, 0) };
    kn_ref sum = dist_i2(d, KN_OP_add, mag, dist_op3(d, KN_OP_perm, kn_v32, less));

    sum = dist_i2(d, KN_OP_add, sum, keep(d, i, s, KEEP_ADD));
    return dist_i2(d, KN_OP_or,
                   dist_ic(d, KN_OP_and, dist_op3(d, KN_OP_lerp, kn_v32, half), 0x80808080), sum);
}

/* Of a run's two pieces the first spreads the codes of both. */
static void
fold_sixes(struct dist *d, const struct kn_ins *i, uint32_t s, uint32_t q, kn_ref out[2])
{
    const kn_ref *w = dist_tile(d, i->dst)->fold + KEPT * s + KEEP_CODES;
    const kn_ref x[4] = { q ? 0 : dist_temp(d, kn_v32), q ? 0 : dist_temp(d, kn_v32),
                          keep(d, i, s, KEEP_NEXT), keep(d, i, s, KEEP_NEXT + 1) };

    if (!q)
        spread_sixteen(d, w, x);
    for (uint32_t n = 0; n < 2; n++)
        out[n] = fold_six(d, i, s, x[2 * q + n]);
}

static void
fold_fours(struct dist *d, const struct kn_ins *i, uint32_t s, uint32_t q, kn_ref out[2])
{
    const kn_ref table[2] = { keep(d, i, s, KEEP_LOW), keep(d, i, s, KEEP_HIGH) };

    dist_part_fp4(d, dist_tile(d, i->dst)->fold[KEPT * s + KEEP_CODES + q], table, out);
}

/* Piece q of a run: eight codes, not in the order of memory. */
static void
fold_piece(struct dist *d, const struct kn_ins *i, uint32_t s, uint32_t q)
{
    struct dist_tile *t = dist_tile(d, i->dst);
    uint32_t n = d->in->lds[t->lds].run / 8 * s + q;
    kn_ref out[2], *to = &t->ready[n];

    if (folding_of(d, t)->first)
        fold_sixes(d, i, s, q, out);
    else
        fold_fours(d, i, s, q, out);
    if (!*to)
        *to = dist_named(d, dist_vec(KN_T_i32, 2), "%s.%u", kn_val(d->in, i->dst)->name, n);
    dist_cat_to(d, *to, out, 2);
}

kiln_status
dist_fold(struct dist *d, const struct kn_ins *i, const struct dist_put *x)
{
    const struct kn_lds *l = &d->in->lds[x->t->lds];
    struct dist_tile *t = dist_tile(d, i->dst);
    uint32_t steps = kn_geometry(d->in, l).steps, per = l->run / 8, pieces = per * steps;
    uint32_t part = (uint32_t)i->attr[KN_A_part], parts = (uint32_t)i->attr[KN_A_parts];

    if (!t->fold)
        t->fold = KN_NEW(d->c, kn_ref, KEPT * steps);
    for (uint32_t n = part * pieces / parts; n < (part + 1) * pieces / parts; n++) {
        if (n % per == 0)
            begin_run(d, i, x, n / per);
        fold_piece(d, i, n / per, n % per);
    }
    return KILN_OK;
}

/* ---- blocks apart ---- */

/* The dword of the block of step s; of one that begins at or beyond K element klen none. */
static kn_ref
block_word(struct dist *d, const struct dist_tile *t, uint32_t s, kn_ref klen)
{
    kn_ref row, block, word = t->fold[KEPT * s + KEEP_DWORD], within;

    if (KN_REF_TAG(klen) == KN_R_CONST)
        return word;
    place_block(d, t, s, &row, &block);
    within = dist_op(d, KN_OP_slt, kn_vb1, dist_ic(d, KN_OP_mul, block, KN_FOLD), klen);
    return dist_pick(d, within, word, dist_int(d, 0));
}

/* put.apart: the dwords of a converted tile's blocks, K-outer. */
kiln_status
expand_putapart(struct dist *d, const struct kn_ins *i)
{
    const struct dist_tile *t = dist_tile(d, i->arg[1]);
    kn_ref klen = dist_operand(d, i->arg[2]);

    for (uint32_t s = 0; s < kn_geometry(d->in, &d->in->lds[t->lds]).steps; s++)
        dist_store_lds(d, (struct dist_place){ i->arg[0], block_address(d, i->arg[0], t, s), 0 },
                       block_word(d, t, s, klen), 4);
    return KILN_OK;
}

static kn_ref
any_word(struct dist *d, const struct dist_tile *t, kn_ref klen, kn_ref all)
{
    for (uint32_t s = 0; s < kn_geometry(d->in, &d->in->lds[t->lds]).steps; s++) {
        kn_ref word = block_word(d, t, s, klen);

        all = all ? dist_i2(d, KN_OP_or, all, word) : word;
    }
    return all;
}

/* put.any: how many lanes of this wave have a block apart, for the others to know. */
kiln_status
expand_putany(struct dist *d, const struct kn_ins *i)
{
    kn_ref klen = dist_operand(d, i->arg[3]), at, n;

    n = any_word(d, dist_tile(d, i->arg[1]), klen, 0);
    n = any_word(d, dist_tile(d, i->arg[2]), klen, n);
    n = dist_op(d, KN_OP_slt, kn_vb1, n, dist_int(d, 0));
    n = dist_op(d, KN_OP_count, kn_s32, n, 0);
    at = dist_ic(d, KN_OP_mul, d->tid, 4);
    dist_store_lds(d, (struct dist_place){ i->arg[0], at, 0 }, dist_op(d, KN_OP_mov, kn_v32, n, 0),
                   4);
    return KILN_OK;
}

/* any.apart: whether any wave has. All waves look at all, and go the same way. */
kiln_status
expand_anyapart(struct dist *d, const struct kn_ins *i)
{
    kn_ref at = dist_ic(d, KN_OP_mul, dist_ic(d, KN_OP_urem, d->lane, kn_waves(d->in)), 256);
    kn_ref n = dist_temp(d, kn_v32);
    struct kn_ins *load = dist_add(d, KN_OP_lds_ld, n);

    load->arg[0] = i->arg[0];
    load->arg[1] = at;
    load->attr[KN_A_elem] = KN_T_i32;
    n = dist_op(d, KN_OP_ne, kn_vb1, n, dist_int(d, 0));
    n = dist_op(d, KN_OP_count, kn_s32, n, 0);
    make(d, KN_OP_ne, dist_result_of(d, i, kn_sb1), n, dist_int(d, 0));
    return KILN_OK;
}

/* What the dword of a block says: by how much its scale is above its row's base, 0 of one
 * that is folded, and what a NaN is added by. */
struct apart {
    kn_ref above, nan;
};

static struct apart
apart_of(struct dist *d, kn_ref word)
{
    kn_ref base = dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, word, APART_BASE), 0xff);
    kn_ref scale = dist_ic(d, KN_OP_and, word, 0xff);
    kn_ref nan = dist_op(d, KN_OP_eq, kn_vb1, scale, dist_int(d, SCALE_NAN));
    struct apart r = { .above = dist_i2(d, KN_OP_sub, scale, base) };

    nan = dist_pick(d, nan, dist_int(d, 0x7fc00000), dist_int(d, 0));
    r.nan = dist_op(d, KN_OP_bits, kn_vf32, nan, 0);
    return r;
}

static kn_ref
as_bits(struct dist *d, kn_ref v)
{
    return dist_op(d, KN_OP_bits, dist_vec(KN_T_i32, kn_val(d->out, v)->type.n), v, 0);
}

/* acc += sum * 2^(what its row and its columns have above their bases). */
static void
add_apart(struct dist *d, kn_ref acc, kn_ref sum, const struct apart *row,
          const struct apart column[4])
{
    struct kn_type four = kn_val(d->out, acc)->type;
    kn_ref one[4], nan[4];

    for (uint32_t k = 0; k < 4; k++) {
        one[k] = dist_op(d, KN_OP_bits, kn_vf32, dist_slice(d, as_bits(d, sum), k), 0);
        one[k] = dist_op(d, KN_OP_ldexp, kn_vf32, one[k],
                         dist_i2(d, KN_OP_add, row->above, column[k].above));
        nan[k] = column[k].nan;
    }
    make(d, KN_OP_fadd, acc, acc, dist_floats(d, one, 4));
    make(d, KN_OP_fadd, acc, acc, dist_floats(d, nan, 4));
    make(d, KN_OP_fadd, acc, acc, dist_op(d, KN_OP_splat, four, row->nan, 0));
}

/* mma.apart: products of one block, each scaled as its row's and column's dwords say. */
kiln_status
expand_mmapart(struct dist *d, const struct kn_ins *i)
{
    uint32_t rows = kn_fragment(d->in, 'a').count, columns = kn_fragment(d->in, 'b').count;
    uint32_t part = (uint32_t)i->attr[KN_A_part], parts = (uint32_t)i->attr[KN_A_parts];
    uint32_t from = part * rows / parts, to = (part + 1) * rows / parts;
    struct apart *row = KN_NEW(d->c, struct apart, rows);

    for (uint32_t x = from; x < to; x++)
        row[x] = apart_of(d, as_bits(d, dist_tile(d, i->arg[4])->reg[x]));
    for (uint32_t y = 0; y < columns; y++) {
        kn_ref words = as_bits(d, dist_tile(d, i->arg[3])->reg[y]);
        struct apart column[4];

        for (uint32_t k = 0; k < 4; k++)
            column[k] = apart_of(d, dist_slice(d, words, k));
        for (uint32_t x = from; x < to; x++) {
            kn_ref sum = dist_temp(d, dist_sum_type(d));

            dist_move(d, sum, kn_flt(d->out, 0));
            dist_multiply(d, sum, i, x, y);
            add_apart(d, dist_tile(d, i->arg[0])->reg[x * columns + y], sum, &row[x], column);
        }
    }
    return KILN_OK;
}

kiln_status
expand_wipe(struct dist *d, const struct kn_ins *i)
{
    const struct dist_tile *t = dist_tile(d, i->arg[0]);
    uint32_t part = (uint32_t)i->attr[KN_A_part], parts = (uint32_t)i->attr[KN_A_parts];

    for (uint32_t n = part * t->nreg / parts; n < (part + 1) * t->nreg / parts; n++)
        dist_move(d, t->reg[n], dist_op(d, KN_OP_splat, kn_val(d->out, t->reg[n])->type,
                                        dist_int(d, 0), 0));
    return KILN_OK;
}

/* acc.unfold: times the factors of columns, arg[1], and of rows. */
kiln_status
expand_unfold(struct dist *d, const struct kn_ins *i)
{
    const struct dist_tile *acc = dist_tile(d, i->arg[0]);
    uint32_t columns = kn_fragment(d->in, 'b').count;

    for (uint32_t n = 0; n < acc->nreg; n++) {
        struct kn_type t = kn_val(d->out, acc->reg[n])->type;
        kn_ref row = dist_op(d, KN_OP_splat, t, dist_tile(d, i->arg[2])->reg[n / columns], 0);
        kn_ref f = dist_op(d, KN_OP_fmul, t, row, dist_tile(d, i->arg[1])->reg[n % columns]);

        make(d, KN_OP_fmul, acc->reg[n], acc->reg[n], f);
    }
    return KILN_OK;
}
