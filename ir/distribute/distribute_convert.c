/* distribute_convert.c - tiles that are staged as another type than memory
 * has: every lane converts what it fetched on its way to LDS, so an element is
 * converted once a workgroup (distribute_widen.c).
 *
 * A lane moves `run` elements of a row at a time, as pieces of 16 bytes, or of
 * one element for scales, which lie K-outer in LDS. */
#include <string.h>

#include "widen.h"
#include "tail.h"

/* E8M0 byte b of a dword as f32: 2^(x - 127), 0xff is NaN (OCP MX 1.0, 5.4). */
static kn_ref
to_factor(struct dist *d, kn_ref x, uint32_t b)
{
    kn_ref arg[3];

    x = b < 3 ? dist_ic(d, KN_OP_shl, x, 23 - 8 * b)
              : dist_ic(d, KN_OP_shr, x, 1);
    x = dist_ic(d, KN_OP_and, x, 0x7f800000);
    arg[0] = dist_op(d, KN_OP_eq, kn_vb1, x, dist_int(d, 0x7f800000));
    arg[1] = dist_int(d, 0x7fc00000);
    arg[2] = dist_ic(d, KN_OP_umax, x, 0x00400000);
    return dist_op3(d, KN_OP_select, kn_v32, arg);
}

/* Element h of a dword of f16 as an f32. */
static kn_ref
half_float(struct dist *d, kn_ref x, uint32_t h)
{
    x = dist_op(d, KN_OP_bits, dist_vec(KN_T_f16, 2), x, 0);
    x = dist_op(d, KN_OP_slice, dist_vec(KN_T_f16, 1), x, 0);
    d->out->ins[d->out->nins - 1].attr[KN_A_first] = (int32_t)h;
    return dist_op(d, KN_OP_cvt, kn_vf32, x, 0);
}

/* Element h of a dword of bf16 or f16 as the bits of an f32. */
static kn_ref
half_bits(struct dist *d, uint8_t from, kn_ref x, uint32_t h)
{
    if (from == KN_T_bf16)
        return h ? dist_ic(d, KN_OP_and, x, 0xffff0000) : dist_ic(d, KN_OP_shl, x, 16);
    return dist_op(d, KN_OP_bits, kn_v32, half_float(d, x, h), 0);
}

kn_ref
dist_scale(struct dist *d, uint8_t from, const kn_ref *w, uint32_t j)
{
    if (from == KN_T_f32)
        return w[j];
    return from == KN_T_e8m0 ? to_factor(d, w[j / 4], j % 4)
                             : half_bits(d, from, w[j / 2], j % 2);
}

/* ---- runs of a K-contiguous tile ---- */

/* Bytes of a piece, and how many a run is. */
static uint32_t
piece_bytes(const struct dist *d, const struct kn_lds *l)
{
    uint32_t bits = kn_elems[l->elem].bits;
    uint32_t all = kn_geometry(d->in, l).run * bits / 8;

    return l->kdiv != 1 ? bits / 8 : all < 16 ? all
         : l->flip || kn_folds(l) ? 8 : kn_term_bytes(l);
}

static uint32_t
pieces(const struct dist *d, const struct kn_lds *l)
{
    return kn_geometry(d->in, l).run * kn_elems[l->elem].bits / 8 /
           piece_bytes(d, l);
}

/* K of the first element of piece j of this lane's run in a step. */
kn_ref
dist_run_k(struct dist *d, const struct kn_lds *l, uint32_t step, uint32_t j)
{
    struct kn_geom g = kn_geometry(d->in, l);
    kn_ref row, run;

    dist_run_place(d, l, dist_run_id(d, l, step), &row, &run);
    return dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, run, g.run),
                   kn_in_terms(l) ? 0 : j * g.run / pieces(d, l));
}

/* LDS address of a piece. */
static kn_ref
piece_address(struct dist *d, const struct kn_lds *l, uint32_t step, uint32_t j)
{
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t n = pieces(d, l), bytes = piece_bytes(d, l);
    kn_ref row, run, a;

    dist_run_place(d, l, dist_run_id(d, l, step), &row, &run);
    if (l->kdiv == 1) {
        a = kn_in_terms(l) ? dist_term_place(d, run, j)
                           : dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, run, n), j);
        if (l->swz_n)
            a = dist_i2(d, KN_OP_xor, a, dist_ic(d, KN_OP_mul,
                                                 dist_swizzle(d, l, row),
                                                 16 / bytes));
        if (l->flip)
            a = dist_i2(d, KN_OP_xor, a, dist_flip(d, l, row, 1));
        return dist_i2(d, KN_OP_add, dist_ic(d, KN_OP_mul, row, g.pitch),
                       dist_ic(d, KN_OP_mul, a, bytes));
    }
    a = dist_ic(d, KN_OP_mul, dist_run_k(d, l, step, j), g.pitch);
    a = dist_i2(d, KN_OP_add, a, dist_ic(d, KN_OP_mul, row, bytes));
    return dist_or_behind(d, &g, step, a,
                          (struct dist_piece){ n * bytes, j * bytes, bytes });
}

/* The dwords of a run as they were in memory. */
static uint32_t
memory_dwords(struct dist *d, const struct kn_lds *l, const kn_ref *reg,
              kn_ref *w)
{
    uint32_t mem = kn_geometry(d->in, l).mem, n = 0;
    uint32_t unit = l->unit < mem ? l->unit : mem;

    for (uint32_t at = 0; at < mem && unit >= 4; at += unit, reg++)
        for (uint32_t x = 0; x < unit / 4 && at + 4 * x < mem; x++)
            w[n++] = unit == 4 ? *reg : dist_slice(d, *reg, x);
    for (uint32_t at = 0; at < mem && unit < 4; at += unit, reg++) {
        if (at % 4 == 0)
            w[n++] = *reg;
        else
            w[n - 1] = dist_i2(d, KN_OP_or, w[n - 1], dist_ic(d, KN_OP_shl, *reg,
                                                    8 * (at % 4)));
    }
    return n;
}

/* The same of this lane's run in step s; of rows at any byte as they are shifted. */
uint32_t
dist_fetched_dwords(struct dist *d, const struct dist_tile *t, uint32_t s, kn_ref *w)
{
    const struct kn_lds *l = &d->in->lds[t->lds];
    struct kn_geom g = kn_geometry(d->in, l);

    if (t->before)
        return dist_shifted_dwords(d, t, s, w);
    return g.own ? dist_own_dwords(d, t, s, 0, w)
                 : memory_dwords(d, l, t->reg + s * (t->nreg / g.steps), w);
}

/* The factor of part p of this lane's run in step s: the byte of its K block among
 * those of its row, of which a K tile has `per`. */
static kn_ref
factor_of_run(struct dist *d, const struct dist_put *x, uint32_t s, uint32_t p)
{
    const struct kn_lds *l = &d->in->lds[x->scales->lds];
    uint32_t per = d->in->shape.bk / l->kdiv, first = x->kk * per;
    kn_ref w[DIST_RUN / 4], arg[3], v, row, block;

    dist_fetched_dwords(d, x->scales, s, w);
    dist_run_place(d, l, dist_chunk_id(d, s), &row, &block);
    block = l->kdiv >= l->run
          ? dist_ic(d, KN_OP_udiv, block, l->kdiv / l->run)
          : dist_ic(d, KN_OP_add, dist_ic(d, KN_OP_mul, block, l->run / l->kdiv), p);
    v = w[(first + per - 1) / 4];
    for (uint32_t n = per > 4 ? per / 4 - 1 : 0; n-- > 0;) {
        arg[0] = dist_op(d, KN_OP_ult, kn_vb1, block, dist_int(d, 4 * n + 4));
        arg[1] = w[first / 4 + n];
        arg[2] = v;
        v = dist_op3(d, KN_OP_select, kn_v32, arg);
    }
    if (per > 4)
        block = dist_ic(d, KN_OP_and, block, 3);
    if (per > 1)
        v = dist_i2(d, KN_OP_shr, v, dist_ic(d, KN_OP_shl, block, 3));
    if (l->mem == KN_T_e4m3)
        return dist_e4m3(d, v, first % 4);
    return dist_op(d, KN_OP_bits, kn_vf32, to_factor(d, v, first % 4), 0);
}

/* The zero point of this lane's run in step s: of integers, 0 to 15, of which
 * 8 is none. */
static kn_ref
zero_of_run(struct dist *d, const struct dist_put *x, uint32_t s)
{
    const struct kn_lds *l = &d->in->lds[x->scales->lds];
    kn_ref v = x->scales->reg[s], row, block, at;

    if (l->mem != KN_T_i4)
        return dist_op(d, KN_OP_bits, kn_vf32, half_bits(d, l->mem, v, 0), 0);
    dist_run_place(d, l, dist_chunk_id(d, s), &row, &block);
    at = dist_ic(d, KN_OP_and, dist_memory_row(d, x->scales, row, 0), 1);
    v = dist_i2(d, KN_OP_shr, v, dist_ic(d, KN_OP_shl, at, 2));
    return dist_ic(d, KN_OP_xor, dist_ic(d, KN_OP_and, v, 15), 8);
}

kn_ref
dist_zero_word(struct dist *d, const struct dist_put *x, uint32_t s, uint32_t p)
{
    const struct kn_lds *l = &d->in->lds[x->scales->lds];
    kn_ref v = x->scales->reg[s], k, column;

    if (l->mem == KN_T_f16) {
        if (l->words == KN_WORDS_AWQ)
            v = dist_slice(d, v, p / 2);
        return dist_op(d, KN_OP_bits, kn_vf32, half_bits(d, l->mem, v, p % 2), 0);
    }
    if (l->words == KN_WORDS_AWQ)
        return dist_ic(d, KN_OP_and,
                       dist_ic(d, KN_OP_shr, v, 4 * kn_awq_place(p)), 15);
    dist_block_place(d, l, dist_chunk_id(d, s), &k, &column);
    column = dist_ic(d, KN_OP_and, dist_memory_row(d, x->scales, column, 0), 7);
    v = dist_i2(d, KN_OP_shr, v, dist_ic(d, KN_OP_shl, column, 2));
    v = dist_ic(d, KN_OP_and, v, 15);
    return l->words == KN_WORDS_GPTQ ? dist_ic(d, KN_OP_add, v, 1) : v;
}

/* A run's elements, each part of it by its own factor. */
static uint32_t
convert_run(struct dist *d, const struct dist_put *x, uint32_t s,
            struct dist_words in, kn_ref *out)
{
    const struct kn_lds *l = &d->in->lds[x->t->lds];
    const struct kn_lds *scales = x->scales ? &d->in->lds[x->scales->lds] : NULL;
    struct dist_factor by = { .e4m3 = scales && scales->mem == KN_T_e4m3 };
    uint32_t parts = by.e4m3 && scales->run > scales->kdiv
                         ? scales->run / scales->kdiv : 1, many = 0;

    in.n /= parts;
    for (uint32_t p = 0; p < parts; p++, in.w += in.n) {
        if (scales)
            by.v = l->mem == KN_T_i4 ? zero_of_run(d, x, s)
                                     : factor_of_run(d, x, s, p);
        many += dist_convert(d, l, in, by, out + many);
    }
    return many;
}

/* How what lies beyond K is zeroed in this tile; NULL: it is not. A NaN there may be anything. */
static const struct kn_ins *
clip_of(const struct dist *d, const struct kn_lds *l)
{
    for (size_t n = 0; n < d->in->nins; n++)
        if (d->in->ins[n].op == KN_OP_clip &&
            d->in->lds + KN_REF_LDS(d->in->ins[n].arg[0]) == l)
            return &d->in->ins[n];
    return NULL;
}

bool
dist_row_nans(const struct dist *d, const struct kn_lds *l)
{
    const struct kn_ins *clip = clip_of(d, l);

    return clip && clip->attr[KN_A_runs] && l->mem == KN_T_e4m3 && l->elem == KN_T_fp8;
}

/* The dwords of this lane's run in step s, as LDS has them; returns how many. */
static uint32_t
run_words(struct dist *d, const struct dist_put *x, uint32_t s, kn_ref *out)
{
    const struct dist_tile *t = x->t;
    const struct kn_lds *l = &d->in->lds[t->lds];
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t n = pieces(d, l), many;
    bool cut = clip_of(d, l) != NULL;
    kn_ref in[DIST_RUN / 4];

    many = dist_fetched_dwords(d, t, s, in);
    if (kn_in_terms(l)) {
        dist_split_run(d, in, l->unit == 16 ? t->reg[s * (t->nreg / g.steps)] : 0, out);
        return many;
    }
    if (l->kdiv == 1)
        return convert_run(d, x, s, (struct dist_words){ .w = in, .n = many,
                                                   .one_row = !cut || dist_row_nans(d, l),
                                                   .cut = cut }, out);
    for (uint32_t j = 0; j < n; j++)
        out[j] = dist_scale(d, l->mem, in, j);
    return n;
}

void
dist_put_runs(struct dist *d, kn_ref slot, const struct dist_put *x)
{
    const struct kn_lds *l = &d->in->lds[x->t->lds];
    uint32_t n = pieces(d, l);

    for (uint32_t s = x->from; s < x->to; s++) {
        kn_ref word[DIST_RUN / 2];
        uint32_t each = x->t->ready ? 1 : run_words(d, x, s, word) / n;

        for (uint32_t j = 0; j < n; j++)
            dist_store_lds(d, (struct dist_place){ slot, piece_address(d, l, s, j), 0 },
                           x->t->ready ? x->t->ready[s * n + j]
                                       : dist_cat(d, word + j * each, each),
                           piece_bytes(d, l));
    }
}

/* convert: the tile's registers are the fetched one's, beside what they become, in
 * the same registers wherever that is done. */
kiln_status
expand_convert(struct dist *d, const struct kn_ins *i)
{
    struct dist_tile *t = dist_tile(d, i->dst);
    struct dist_put put;
    uint32_t n;

    KN_TRY(dist_share_fetched(d, i, &i->arg[0], &put));
    n = pieces(d, &d->in->lds[put.t->lds]);
    if (!t->ready) {
        *t = *put.t;
        t->ready = KN_NEW(d->c, kn_ref,
                          kn_geometry(d->in, &d->in->lds[t->lds]).steps * n);
    }
    if (put.scales && kn_folds(&d->in->lds[t->lds]))
        return dist_fold(d, i, &put);
    for (uint32_t s = put.from; s < put.to; s++) {
        kn_ref word[DIST_RUN / 2];
        uint32_t each = run_words(d, &put, s, word) / n;

        for (uint32_t j = 0; j < n; j++) {
            kn_ref *to = &t->ready[s * n + j];

            if (!*to)
                *to = dist_named(d, dist_vec(KN_T_i32, each), "%s.%u",
                                 kn_val(d->in, i->dst)->name, s * n + j);
            dist_cat_to(d, *to, word + j * each, each);
        }
    }
    return KILN_OK;
}

/* ---- rows quantised with a scale for each 128 K ---- */

/* Largest finite value of an 8-bit type. */
static double
largest_of(const struct dist *d, uint8_t elem)
{
    if (elem == KN_T_i8)
        return 127;
    return elem == KN_T_bf8 ? 57344 : kn_targets[d->in->target].fnuz ? 240 : 448;
}

kn_ref
dist_element(struct dist *d, const struct dist_run *r, uint32_t x)
{
    return half_bits(d, r->from, r->word[x / 2], x % 2);
}

/* Of lanes side by side, as integers. */
static kn_ref
largest_near(struct dist *d, kn_ref m, uint32_t lanes)
{
    m = dist_op(d, KN_OP_nmax, kn_v32, m, 0);
    d->out->ins[d->out->nins - 1].attr[KN_A_parts] = (int32_t)lanes;
    return m;
}

/* Magnitudes of 16 bits are compared as integers, two at a time. */
kn_ref
dist_largest(struct dist *d, const struct dist_run *r, uint32_t lanes)
{
    const struct kn_type two = dist_vec(KN_T_i16, 2);
    kn_ref m = 0;

    for (uint32_t i = 0; i < r->n / 2; i++) {
        kn_ref x = dist_ic(d, KN_OP_and, r->word[i], 0x7fff7fff);

        x = dist_op(d, KN_OP_bits, two, x, 0);
        m = m ? dist_op(d, KN_OP_umax, two, m, x) : x;
    }
    m = dist_op(d, KN_OP_bits, kn_v32, m, 0);
    m = dist_i2(d, KN_OP_umax, dist_ic(d, KN_OP_shr, m, 16),
                dist_ic(d, KN_OP_and, m, 0xffff));
    return half_bits(d, r->from, largest_near(d, m, lanes), 0);
}

/* The same of elements that are f32 already, where an instruction has the largest of
 * three and keeps a NaN. */
static kn_ref
largest_of_floats(struct dist *d, const struct dist_run *r, const kn_ref *four)
{
    kn_ref m = kn_flt(d->out, 0);

    if (!kn_targets[d->in->target].maximum3)
        return dist_largest(d, r, 128 / r->n);
    for (uint32_t x = 0; x < r->n / 4; x++) {
        m = dist_op(d, KN_OP_amax, kn_vf32, four[x], m);
        d->out->ins[d->out->nins - 1].attr[KN_A_mode] = 1;
    }
    return largest_near(d, dist_op(d, KN_OP_bits, kn_v32, m, 0), 128 / r->n);
}

/* Can the largest quotient, rounded twice on its way, be beyond the largest
 * code? Of the mantissas of f16 up to 3 of 1024 come out one unit in the last
 * place above, of those of bf16 none; an integer is cut. */
static bool
may_exceed(const struct dist_run *r, uint8_t elem)
{
    return r->from == KN_T_f16 && elem != KN_T_i8;
}

/* Nothing says that a conversion judges overflow after it has rounded, so none
 * is given more than its type has. */
static kn_ref
clamp(struct dist *d, uint8_t elem, kn_ref v)
{
    const struct kn_type t = dist_vec(KN_T_f32, 4);
    double most = largest_of(d, elem);

    v = dist_op(d, KN_OP_fmax, t, v, kn_flt(d->out, -most));
    return dist_op(d, KN_OP_fmin, t, v, kn_flt(d->out, most));
}

/* The scale of the lanes that share 128 K of a row, max(|x|, 1e-10) times
 * 1 / the largest code, and what elements are multiplied by: 1 / scale, which
 * one Newton step rounds correctly. Magnitudes are compared as integers, so a
 * NaN is the largest and makes the scale a NaN. */
static void
group_scale(struct dist *d, uint8_t elem, kn_ref amax, kn_ref out[2])
{
    float most = (float)(1 / largest_of(d, elem));
    kn_ref arg[3], r, e;

    amax = dist_ic(d, KN_OP_umax, amax, 0x2edbe6ff); /* 1e-10f */
    amax = dist_op(d, KN_OP_bits, kn_vf32, amax, 0);
    out[0] = dist_op(d, KN_OP_fmul, kn_vf32, amax, kn_flt(d->out, (double)most));
    r = dist_op(d, KN_OP_rcp, kn_vf32, out[0], 0);
    arg[0] = dist_op(d, KN_OP_fmul, kn_vf32, out[0], kn_flt(d->out, -1));
    arg[1] = r;
    arg[2] = kn_flt(d->out, 1);
    e = dist_op3(d, KN_OP_fma, kn_vf32, arg);
    arg[0] = e;
    arg[2] = r;
    out[1] = dist_op3(d, KN_OP_fma, kn_vf32, arg);
}

/* A clamped NaN is a number. 1 / infinity came out as NaN: 0 times it makes
 * the scale of infinity a NaN. */
static kn_ref
spoil(struct dist *d, kn_ref scale, kn_ref inverse)
{
    kn_ref arg[3] = { inverse, kn_flt(d->out, 0), scale };

    return dist_op3(d, KN_OP_fma, kn_vf32, arg);
}

/* Codes of four elements; the largest quotient rounds to the largest code. */
static kn_ref
four_codes(struct dist *d, const struct dist_run *r, uint8_t elem, kn_ref v,
           kn_ref factor)
{
    const struct kn_type t = dist_vec(KN_T_f32, 4);

    factor = dist_op(d, KN_OP_splat, t, factor, 0);
    v = dist_op(d, KN_OP_fmul, t, v, factor);
    if (may_exceed(r, elem))
        v = clamp(d, elem, v);
    v = dist_op(d, KN_OP_cvt8, kn_v32, v, 0);
    d->out->ins[d->out->nins - 1].attr[KN_A_elem] = elem;
    d->out->ins[d->out->nins - 1].attr[KN_A_parts] = 2;
    return v;
}

/* Elements 4x .. 4x + 3 of a run; joined as they are made, of bf16 by bits. */
static kn_ref
four_floats(struct dist *d, const struct dist_run *r, uint32_t x)
{
    kn_ref one[4];

    for (uint32_t k = 0; k < 4; k++)
        one[k] = r->from == KN_T_bf16 ? dist_element(d, r, 4 * x + k)
                                      : half_float(d, r->word[2 * x + k / 2], k % 2);
    if (r->from == KN_T_bf16)
        return dist_as(d, KN_T_f32, 4, dist_cat(d, one, 4));
    return dist_floats(d, one, 4);
}

/* A run: lanes side by side hold a row's 128. */
static void
put_group(struct dist *d, const struct kn_ins *i, const struct dist_run *r)
{
    uint8_t elem = d->in->lds[KN_REF_LDS(i->arg[0])].elem;
    kn_ref four[DIST_QUANT / 2], code[DIST_QUANT / 2], f[2];

    for (uint32_t x = 0; x < r->n / 4; x++)
        four[x] = four_floats(d, r, x);
    group_scale(d, elem, largest_of_floats(d, r, four), f);
    for (uint32_t x = 0; x < r->n / 4; x++)
        code[x] = four_codes(d, r, elem, four[x], f[1]);
    if (may_exceed(r, elem))
        f[0] = spoil(d, f[0], f[1]);
    for (uint32_t x = 0; x < r->n / 8; x++)
        dist_store_lds(d, (struct dist_place){ i->arg[0], r->at[x], 0 },
                       dist_cat(d, code + 2 * x, 2), 8);
    dist_store_lds(d, (struct dist_place){
        i->arg[1], dist_ic(d, KN_OP_mul, r->row, 4), 0 }, f[0], 4);
}

/* put.quant: the fetched tile's rows to codes in one slot and scales in the
 * other. What lies at and beyond K element arg[3] counts as zero. */
kiln_status
expand_putq(struct dist *d, const struct kn_ins *i)
{
    const struct dist_tile *t = dist_tile(d, i->arg[2]);
    const struct kn_lds *l = &d->in->lds[t->lds];
    struct kn_geom g = kn_geometry(d->in, l);
    uint32_t runs = g.halves ? 2 : 1;
    struct dist_put put;

    KN_TRY(dist_share_fetched(d, i, (kn_ref[2]){ i->arg[2], 0 }, &put));
    if (put.from % runs || put.to % runs)
        return kn_fail_at(d->c, KILN_BAD_INPUT, i->at, "a share has both halves of its rows");
    dist_cut_tail(d, &put, dist_operand(d, i->arg[3]), false);
    for (uint32_t s = put.from; s < put.to; s += runs) {
        struct dist_run r = { .step = s, .from = l->mem };

        for (uint32_t x = 0; x < runs; x++) {
            r.n += 2 * dist_fetched_dwords(d, t, s + x, r.word + r.n / 2);
            r.at[x] = piece_address(d, l, s + x, 0);
        }
        dist_run_place(d, l, dist_run_id(d, l, s), &r.row, &r.run);
        if (d->in->lds[KN_REF_LDS(i->arg[1])].kdiv == 32)
            dist_put_block(d, i, &r);
        else
            put_group(d, i, &r);
    }
    return KILN_OK;
}

void
dist_clip_piece(struct dist *d, struct dist_place at, kn_ref valid, uint32_t bytes)
{
    kn_ref each[4];

    for (uint32_t x = 0; x < 4; x++)
        each[x] = dist_ic(d, KN_OP_add, valid, -32 * (int64_t)x);
    dist_clip_dwords(d, at, each, bytes);
}

/* As dist_clip_runs, of a folded tile, whose dwords take codes in turn
 * (distribute_folded_scales.c). */
static void
clip_folded(struct dist *d, kn_ref slot, kn_ref klen)
{
    const struct kn_lds *l = &d->in->lds[KN_REF_LDS(slot)];
    uint32_t six = kn_elems[l->mem].bits == 6, n = pieces(d, l);

    for (uint32_t x = 0; x < kn_geometry(d->in, l).steps * n; x++) {
        struct dist_place at = { slot, piece_address(d, l, x / n, x % n), 0 };
        uint32_t j = x % n, first = six ? j % 2 : 0;
        kn_ref valid = dist_i2(d, KN_OP_sub, klen, dist_run_k(d, l, x / n, j - first)), each[2];

        for (uint32_t w = 0; w < 2; w++) {
            each[w] = dist_ic(d, KN_OP_add, valid, (six ? 3 : 1) - (int64_t)(2 * first + w));
            each[w] = dist_ic(d, KN_OP_shl, dist_ic(d, KN_OP_sar, each[w], 1 + six), 3);
        }
        dist_clip_dwords(d, at, each, 8);
    }
}

/* Zeroes what lies at and beyond K element `klen` of the pieces this lane
 * wrote itself. */
void
dist_clip_runs(struct dist *d, kn_ref slot, kn_ref klen)
{
    const struct kn_lds *l = &d->in->lds[KN_REF_LDS(slot)];
    uint32_t bits = kn_in_terms(l) ? 16 : kn_elems[l->elem].bits, n = pieces(d, l);
    struct kn_geom g = kn_geometry(d->in, l);

    if (kn_folds(l)) {
        clip_folded(d, slot, klen);
        return;
    }
    for (uint32_t x = 0; x < g.steps * n; x++) {
        struct dist_place at = { slot, piece_address(d, l, x / n, x % n), 0 };
        kn_ref valid = dist_i2(d, KN_OP_sub, klen, dist_run_k(d, l, x / n, x % n));

        dist_clip_piece(d, at, dist_ic(d, KN_OP_mul, valid, bits),
                        piece_bytes(d, l));
    }
}
