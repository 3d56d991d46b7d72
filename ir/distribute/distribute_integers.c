/* distribute_integers.c - integers of 4 bits to what is multiplied, less zero points: of runs
 * and blocks on their way to LDS, and of those that LDS has as memory does, whose fragments
 * each wave widens in registers, less zero points that its lanes load for themselves. */
#include <string.h>

#include "widen.h"

/* Less what an integer of f16 has too much: 1024, of which it is the low bits, 8, and
 * the zero point, which has 8 added as well. */
static kn_ref
half_base(struct dist *d, kn_ref zero)
{
    if (!zero)
        return kn_flt(d->out, -1032);
    zero = dist_ic(d, KN_OP_or, zero, 0xe400);
    zero = dist_perm(d, zero, zero, 0x01000100);
    return dist_op(d, KN_OP_bits, dist_vec(KN_T_f16, 2), zero, 0);
}

/* Two of four bytes, each 0 to 15, as the low bits of 1024 + x, less base. */
static kn_ref
half_integers(struct dist *d, kn_ref x, uint32_t h, kn_ref base)
{
    const struct kn_type f16 = dist_vec(KN_T_f16, 2);

    x = dist_perm(d, dist_int(d, 0x64646464), x, h ? 0x04030402 : 0x04010400);
    x = dist_op(d, KN_OP_bits, f16, x, 0);
    x = dist_op(d, KN_OP_fadd, f16, x, base);
    return dist_op(d, KN_OP_bits, kn_v32, x, 0);
}

/* The same of f32: - 8, or - zero as the low bits of - 2^23 - zero. */
static kn_ref
float_base(struct dist *d, kn_ref zero)
{
    if (!zero)
        return kn_flt(d->out, -8);
    zero = dist_ic(d, KN_OP_or, zero, 0xcb000000);
    zero = dist_op(d, KN_OP_bits, kn_vf32, zero, 0);
    zero = dist_op(d, KN_OP_fadd, kn_vf32, zero, kn_flt(d->out, 8388608));
    return dist_op(d, KN_OP_splat, dist_vec(KN_T_f32, 2), zero, 0);
}

/* Bytes of 0 to 15, which as e4m3 are so many times its least number, 2^-9 or FNUZ
 * 2^-10. */
static struct dist_affine
integer_affine(struct dist *d, kn_ref base, bool single)
{
    return (struct dist_affine){
        kn_flt(d->out, kn_targets[d->in->target].fnuz ? 1024 : 512), base, single };
}

static kn_ref
as_type(struct dist *d, uint8_t to, kn_ref x)
{
    x = dist_op(d, KN_OP_cvt, dist_vec(to, 2), x, 0);
    return dist_op(d, KN_OP_bits, kn_v32, x, 0);
}

/* Less a zero point that is no integer, of which `less` is the negative: in f32, then to
 * nearest even. */
static kn_ref
less_number(struct dist *d, uint8_t to, kn_ref x, kn_ref less, bool single)
{
    const struct kn_type f32 = dist_vec(KN_T_f32, 2);
    kn_ref arg[] = { x, kn_flt(d->out, 1), less };

    if (!single)
        return as_type(d, to, dist_op(d, KN_OP_fadd, f32, x, less));
    x = dist_op3(d, KN_OP_fma, f32, arg); /* a sum, as fadd has no such attribute */
    d->out->ins[d->out->nins - 1].attr[KN_A_single] = 1;
    return as_type(d, to, x);
}

static kn_ref
negative(struct dist *d, kn_ref zero)
{
    zero = dist_op(d, KN_OP_fmul, kn_vf32, zero, kn_flt(d->out, -1));
    return dist_op(d, KN_OP_splat, dist_vec(KN_T_f32, 2), zero, 0);
}

/* The even and odd integers of dword i of 4 bits, with 8 added. */
static void
part_integers(struct dist *d, const struct kn_lds *l, struct dist_words in, uint32_t i,
              kn_ref part[2])
{
    if (in.parted)
        memcpy(part, in.w + 2 * i, 2 * sizeof *part);
    else
        dist_part_nibbles(d, l->words ? in.w[i]
                        : dist_ic(d, KN_OP_xor, in.w[i], 0x88888888), part);
}

/* Two of eight such integers, as bytes, less a number: of words, of which no 8 is taken,
 * with one rounding. */
static kn_ref
pair_less(struct dist *d, const struct kn_lds *l, kn_ref x, uint32_t first, struct dist_affine by)
{
    struct dist_affine whole = integer_affine(d, l->words ? by.base : float_base(d, 0), by.single);

    x = dist_affine_pair(d, x, first, whole);
    return l->words ? as_type(d, l->elem, x) : less_number(d, l->elem, x, by.base, by.single);
}

/* Eight integers of 4 bits a dword, less their zero point: an integer with 8
 * added, an f32, or none. Words have 8 added already, which an f32 is of too. */
uint32_t
dist_widen_integers(struct dist *d, const struct kn_lds *l, struct dist_words in,
               kn_ref zero, kn_ref *out)
{
    bool number = zero && kn_val(d->out, zero)->type.elem == KN_T_f32;
    bool half = l->elem == KN_T_f16 && !number;
    kn_ref base = half ? half_base(d, zero) : number ? negative(d, zero) : float_base(d, zero);

    for (uint32_t i = 0; i < in.n; i++, out += 4) {
        kn_ref part[2], byte[2];

        part_integers(d, l, in, i, part);
        if (!half && !number) {
            dist_affine_bf16(d, part, integer_affine(d, base, in.single), out);
            continue;
        }
        dist_order_bytes(d, part, byte);
        for (uint32_t h = 0; h < 4; h++)
            out[h] = half ? half_integers(d, byte[h / 2], h % 2, base)
                   : pair_less(d, l, byte[h / 2], h % 2 * 2,
                               (struct dist_affine){ 0, base, in.single });
    }
    return 4 * in.n;
}

/* The column of memory that is row t of fragment f of B. */
static kn_ref
column_of(struct dist *d, const struct dist_tile *v, uint32_t f)
{
    return dist_memory_row(d, v, dist_fragment_row(d, &d->in->lds[v->lds], f, d->t), 0);
}

/* Where the column's zero point is among 4-bit ones in order: itself, or of AWQ's words
 * its place in one. */
static kn_ref
place_of(struct dist *d, const struct dist_tile *v, uint32_t f)
{
    kn_ref n = column_of(d, v, f), at;

    if (d->in->lds[v->lds].words != KN_WORDS_AWQ)
        return n;
    at = dist_ic(d, KN_OP_shl, dist_ic(d, KN_OP_and, n, 1), 2);
    at = dist_i2(d, KN_OP_or, at, dist_ic(d, KN_OP_and, dist_ic(d, KN_OP_shr, n, 1), 3));
    return dist_i2(d, KN_OP_or, dist_ic(d, KN_OP_and, n, -8), at);
}

/* fetch.zeros: group by group, a value of each fragment's columns; two 4-bit ones share
 * a byte. */
kiln_status
expand_zeros(struct dist *d, const struct kn_ins *i)
{
    const struct dist_tile *v = dist_tile(d, i->arg[0]);
    struct dist_tile *t = dist_tile(d, i->dst);
    const struct kn_lds *l = &d->in->lds[v->lds];
    uint32_t count = kn_fragment(d->in, 'b').count;
    bool half = kn_memory_bits(l) == 16;
    kn_ref r = dist_rsrc(d, v->base, v->rem);

    if (t->kind == DT_NONE)
        *t = (struct dist_tile){ .kind = DT_PULLED, .lds = v->lds, .up = v->up,
                                 .reg = KN_NEW(d->c, kn_ref, l->cols * count),
                                 .nreg = l->cols * count };
    for (uint32_t n = 0; n < t->nreg; n++) {
        kn_ref off = half ? dist_ic(d, KN_OP_shl, column_of(d, v, n % count), 1)
                   : dist_ic(d, KN_OP_shr, place_of(d, v, n % count), 1);
        struct kn_ins *load;

        if (n >= count)
            off = dist_i2(d, KN_OP_add, off, dist_ic(d, KN_OP_mul, v->pitch, n / count));
        if (!t->reg[n])
            t->reg[n] = dist_named(d, kn_v32, "%s.%u", kn_val(d->in, i->dst)->name, n);
        load = dist_add(d, KN_OP_ldg, t->reg[n]);
        load->arg[0] = r;
        load->arg[1] = off;
        load->attr[KN_A_elem] = half ? KN_T_i16 : KN_T_i8;
    }
    return KILN_OK;
}

/* The zero point of fragment f in K step kk, as dist_convert takes it: of words 8 has been
 * added. */
static kn_ref
zero_of(struct dist *d, const struct dist_tile *z, uint32_t f, uint32_t kk)
{
    const struct kn_lds *l = &d->in->lds[z->lds];
    struct kn_frag b = kn_fragment(d->in, 'b');
    kn_ref v = z->reg[kk * b.k / l->kdiv * b.count + f], at;

    if (l->mem != KN_T_i4)
        return dist_op(d, KN_OP_bits, kn_vf32, dist_scale(d, l->mem, &v, 0), 0);
    at = dist_ic(d, KN_OP_and, place_of(d, z, f), 1);
    v = dist_i2(d, KN_OP_shr, v, dist_ic(d, KN_OP_shl, at, 2));
    v = dist_ic(d, KN_OP_and, v, 15);
    return l->words == KN_WORDS_GPTQ ? dist_ic(d, KN_OP_add, v, 1)
         : l->words ? v : dist_ic(d, KN_OP_xor, v, 8);
}

kiln_status
expand_integers(struct dist *d, const struct kn_ins *i)
{
    const struct dist_tile *raw = dist_tile(d, i->arg[0]);
    const struct dist_tile *z = i->arg[1] ? dist_tile(d, i->arg[1]) : NULL;
    struct dist_tile *t = dist_tile(d, i->dst);
    struct kn_lds l = d->in->lds[raw->lds];
    uint32_t kk = (uint32_t)i->attr[KN_A_kk], part = (uint32_t)i->attr[KN_A_part];
    uint32_t parts = (uint32_t)i->attr[KN_A_parts];

    l.mem = l.elem;
    l.elem = d->in->shape.tb;
    if (t->kind == DT_NONE)
        *t = (struct dist_tile){ .kind = DT_FRAG, .lds = raw->lds, .nreg = raw->nreg,
                                 .reg = KN_NEW(d->c, kn_ref, raw->nreg) };
    for (uint32_t f = part * raw->nreg / parts; f < (part + 1) * raw->nreg / parts; f++) {
        struct dist_words in = { .w = &raw->reg[f], .n = 1,
                                 .single = i->attr[KN_A_single] };
        struct dist_factor by = { .v = z ? zero_of(d, z, f, kk) : 0 };
        kn_ref out[4];
        uint32_t n = dist_convert(d, &l, in, by, out);

        if (!t->reg[f])
            t->reg[f] = dist_named(d, dist_vec(KN_T_i32, n), "%s.%u",
                                   kn_val(d->in, i->dst)->name, f);
        dist_cat_to(d, t->reg[f], out, n);
    }
    return KILN_OK;
}
