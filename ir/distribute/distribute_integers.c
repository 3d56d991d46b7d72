/* distribute_integers.c - weights of 4 bits that LDS has as memory does: each wave widens
 * the fragments of its own columns in registers, less zero points that its lanes load
 * for themselves. */
#include "widen.h"

/* The column of memory that is row t of fragment f of B. */
static kn_ref
column_of(struct dist *d, const struct dist_tile *v, uint32_t f)
{
    return dist_memory_row(d, v, dist_fragment_row(d, &d->in->lds[v->lds], f, d->t), 0);
}

/* fetch.zeros: group by group, a value of each fragment's columns; two 4-bit ones share
 * a byte. */
kiln_status
expand_zeros(struct dist *d, const struct kn_ins *i)
{
    const struct dist_tile *v = dist_tile(d, i->arg[0]);
    struct dist_tile *t = dist_tile(d, i->dst);
    const struct kn_lds *l = &d->in->lds[v->lds];
    uint32_t count = kn_fragment(d->in, 'b').count, bytes = kn_memory_bits(l) > 8 ? 2 : 1;
    kn_ref r = dist_rsrc(d, v->base, v->rem);

    if (t->kind == DT_NONE)
        *t = (struct dist_tile){ .kind = DT_PULLED, .lds = v->lds, .up = v->up,
                                 .reg = KN_NEW(d->c, kn_ref, l->cols * count),
                                 .nreg = l->cols * count };
    for (uint32_t n = 0; n < t->nreg; n++) {
        kn_ref off = column_of(d, v, n % count);
        struct kn_ins *load;

        off = bytes == 2 ? dist_ic(d, KN_OP_shl, off, 1) : dist_ic(d, KN_OP_shr, off, 1);
        if (n >= count)
            off = dist_i2(d, KN_OP_add, off, dist_ic(d, KN_OP_mul, v->pitch, n / count));
        if (!t->reg[n])
            t->reg[n] = dist_named(d, kn_v32, "%s.%u", kn_val(d->in, i->dst)->name, n);
        load = dist_add(d, KN_OP_ldg, t->reg[n]);
        load->arg[0] = r;
        load->arg[1] = off;
        load->attr[KN_A_elem] = bytes == 2 ? KN_T_i16 : KN_T_i8;
    }
    return KILN_OK;
}

/* The zero point of fragment f in K step kk, as dist_convert takes it. */
static kn_ref
zero_of(struct dist *d, const struct dist_tile *z, uint32_t f, uint32_t kk)
{
    const struct kn_lds *l = &d->in->lds[z->lds];
    struct kn_frag b = kn_fragment(d->in, 'b');
    kn_ref v = z->reg[kk * b.k / l->kdiv * b.count + f], at;

    if (l->mem != KN_T_i4)
        return dist_op(d, KN_OP_bits, kn_vf32, dist_scale(d, l->mem, &v, 0), 0);
    at = dist_ic(d, KN_OP_and, column_of(d, z, f), 1);
    v = dist_i2(d, KN_OP_shr, v, dist_ic(d, KN_OP_shl, at, 2));
    return dist_ic(d, KN_OP_xor, dist_ic(d, KN_OP_and, v, 15), 8);
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
        struct dist_words in = { .w = &raw->reg[f], .n = 1, .single = true };
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
