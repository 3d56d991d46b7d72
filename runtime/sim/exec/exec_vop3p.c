/* exec_vop3p.c - packed arithmetic: the lane function of one element runs
 * once for the low and once for the high half. */
#include "exec.h"
#include "valu.h"

/* Which half of each source an element takes, and its sign. VOP2 forms
 * (v_pk_fmac_f16) have no op_sel: halves stay where they are. */
struct half {
    unsigned sel, neg;       /* bit k: source k */
};

static struct half
half_of(const struct kn_inst *i, bool high)
{
    if (!kn_is_vop3p(i))
        return (struct half){ high ? 7 : 0, 0 };
    return high ? (struct half){ i->op_sel_hi, i->neg_hi }
                : (struct half){ i->op_sel, i->neg_lo };
}

/* The operands whole, the halves being ours to choose. */
static const char *
fetch_whole(struct kn_valu *v, const struct kn_wave *w)
{
    const struct kn_inst *i = v->i;
    struct kn_inst plain = *i;
    const char *bad;

    plain.op_sel = plain.neg_lo = plain.neg_hi = 0;
    plain.op_sel_hi = 7;
    v->i = &plain;
    bad = kn_valu_fetch(v, w);
    v->i = i;
    return bad;
}

/* ---- two 16-bit elements ---- */

static void
run_half16(struct kn_valu *v, bool high, uint32_t full[3][KN_LANES],
           uint32_t *out)
{
    struct half h = half_of(v->i, high);
    bool is_float = v->sig[0] == 'p';

    for (unsigned k = 0; k < v->n; k++) {
        unsigned shift = h.sel >> k & 1 ? 16 : 0;
        uint32_t flip = h.neg >> k & 1 ? 0x8000u : 0;
        uint32_t *buf = v->buf[k].u32;

        for (unsigned l = 0; l < KN_LANES; l++) {
            uint32_t e = (full[k][l] >> shift & 0xffff) ^ flip;

            if (is_float && v->flush_in64 && !(e & 0x7c00))
                e &= 0x8000;
            buf[l] = e;
        }
        v->x.s[k] = buf;
        v->letter[k] = is_float ? 'h' : 'y';
    }
    v->x.d = out;
    kn_lane_of(v->i->op)(&v->x);
    if (is_float)
        kn_valu_finish_f16(v, out);
}

static const char *
packed16(struct kn_valu *v, struct kn_wave *w)
{
    uint32_t full[3][KN_LANES], lo[KN_LANES], hi[KN_LANES];
    const char *bad = fetch_whole(v, w);

    if (v->sig[0] == 'p' && w->mode >> KN_MODE_ROUND64 & 3)
        return "rounding mode for f16";
    if (bad)
        return bad;
    for (unsigned k = 0; k < v->n; k++)
        memcpy(full[k], v->x.s[k], sizeof full[k]);
    run_half16(v, false, full, lo);
    run_half16(v, true, full, hi);
    for (unsigned l = 0; l < KN_LANES; l++)
        v->out.u32[l] = (lo[l] & 0xffff) | hi[l] << 16;
    kn_valu_store32(v, w);
    return NULL;
}

/* ---- two f32 elements ---- */

/* The dword of source k that a half takes, as a row of lanes. No document
 * says what a constant's upper dword is: only its lower one is accepted,
 * which is what compilers select. */
static const char *
fetch_dword(struct kn_valu *v, const struct kn_wave *w, unsigned k,
            struct half h)
{
    const struct kn_opnd *o = v->opnd[k];
    unsigned upper = h.sel >> k & 1;
    uint32_t flip = h.neg >> k & 1 ? 0x80000000u : 0;
    uint32_t *buf = v->buf[k].u32;
    const uint32_t *row = buf;

    if (o->kind == KN_O_IMM && upper)
        return "upper half of a constant";
    if (kn_is_vector(o)) {
        row = w->v[(kn_valu_source(w, o, k) + upper) % KN_NVREG];
    } else {
        uint32_t e = (uint32_t)(kn_read_s64(w, o) >> upper * 32);

        for (unsigned l = 0; l < KN_LANES; l++)
            buf[l] = e;
    }
    v->x.s[k] = row;
    v->letter[k] = 'f';
    if (!flip && !v->flush_in32)
        return NULL;
    for (unsigned l = 0; l < KN_LANES; l++) {
        uint32_t e = row[l] ^ flip;

        buf[l] = v->flush_in32 && !(e & 0x7f800000u) ? e & 0x80000000u : e;
    }
    v->x.s[k] = buf;
    return NULL;
}

static const char *
run_half32(struct kn_valu *v, const struct kn_wave *w, bool high,
           uint32_t *out)
{
    struct half h = half_of(v->i, high);
    const char *bad = NULL;

    for (unsigned k = 0; k < v->n && !bad; k++)
        bad = fetch_dword(v, w, k, h);
    v->x.d = out;
    if (!bad)
        bad = kn_valu_call(v, w, kn_lane_of(v->i->op));
    if (!bad)
        kn_valu_finish_f32(v, out);
    return bad;
}

static const char *
packed32(struct kn_valu *v, struct kn_wave *w)
{
    uint32_t out[2][KN_LANES];
    const char *bad;

    v->n = v->i->nopnd - 1u;
    for (unsigned k = 0; k < v->n; k++)
        v->opnd[k] = &v->i->o[1 + k];
    bad = run_half32(v, w, false, out[0]);
    if (!bad)
        bad = run_half32(v, w, true, out[1]);
    if (!bad)
        kn_valu_store_rows(v, w, out);
    return bad;
}

void
kn_exec_packed(struct kn_wave *w, const struct kn_inst *i)
{
    struct kn_valu v;
    const char *bad;

    kn_valu_begin(&v, w, i);
    bad = kn_isa[i->op].flags & KN_IF_PK32 ? packed32(&v, w)
                                           : packed16(&v, w);
    if (bad)
        kn_unsupported(w, i, bad);
}

/* D.lo = S0[op_sel[0]], D.hi = S1[op_sel[1]] (CDNA3 ISA 12.9). */
void
kn_exec_pk_mov(struct kn_wave *w, const struct kn_inst *i)
{
    struct kn_valu v;
    const char *bad;

    kn_valu_begin(&v, w, i);
    bad = fetch_whole(&v, w);
    if (bad) {
        kn_unsupported(w, i, bad);
        return;
    }
    for (unsigned l = 0; l < KN_LANES; l++) {
        uint64_t a = ((const uint64_t *)v.x.s[0])[l];
        uint64_t b = ((const uint64_t *)v.x.s[1])[l];

        v.out.u64[l] = (uint32_t)(a >> (i->op_sel & 1 ? 32 : 0)) |
                       (b >> (i->op_sel & 2 ? 32 : 0)) << 32;
    }
    kn_valu_store64(&v, w);
}

/* ---- v_fma_mix: each source f32, or an f16 half ---- */

static float
mix_source(const struct kn_inst *i, unsigned k, uint32_t v)
{
    uint32_t bits = v;

    if (i->op_sel_hi >> k & 1)
        bits = kn_f32_bits(kn_half_to_float(i->op_sel >> k & 1 ? v >> 16
                                                               : v & 0xffff));
    if (i->neg_hi >> k & 1)  /* in this encoding: absolute value */
        bits &= INT32_MAX;
    return kn_bits_f32(bits ^ (i->neg_lo >> k & 1 ? 0x80000000u : 0));
}

/* An f16 source takes an inline constant of f16. The signs are left to
 * neg_lo and neg_hi, which know the width. */
static void
mix_operands(struct kn_inst *i)
{
    for (unsigned k = 0; k < 3; k++) {
        struct kn_opnd *o = &i->o[i->ndst + k];

        o->neg = o->abs = 0;
        if (o->kind == KN_O_IMM && o->is_float && i->op_sel_hi >> k & 1)
            o->imm = kn_float_to_half(kn_bits_f32((uint32_t)o->imm));
    }
}

void
kn_exec_mix(struct kn_wave *w, const struct kn_inst *i)
{
    struct kn_inst fixed = *i;
    uint32_t *d, *old;
    struct kn_valu v;
    const char *bad;

    mix_operands(&fixed);
    kn_valu_begin(&v, w, &fixed);
    bad = kn_valu_fetch(&v, w);
    if (bad || w->mode & 15) {
        kn_unsupported(w, i, bad ? bad : "rounding mode");
        return;
    }
    d = v.out.u32;
    old = w->v[kn_vreg(w, &i->o[0])];
    for (unsigned l = 0; l < KN_LANES; l++) {
        float s[3];

        for (unsigned k = 0; k < 3; k++)
            s[k] = mix_source(i, k, ((const uint32_t *)v.x.s[k])[l]);
        d[l] = kn_f32_bits(fmaf(s[0], s[1], s[2]));
    }
    kn_valu_finish_f32(&v, d);
    for (unsigned l = 0; i->op != KN_I_v_fma_mix_f32 && l < KN_LANES; l++) {
        uint32_t h = kn_float_to_half(kn_bits_f32(d[l]));

        d[l] = i->op == KN_I_v_fma_mixlo_f16 ? (old[l] & 0xffff0000u) | h
                                             : (old[l] & 0xffff) | h << 16;
    }
    kn_valu_store32(&v, w);
}
