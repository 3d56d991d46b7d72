/* valu_scale.c - v_cvt_scalef32_*: between a wide and a small float format,
 * with a power-of-two scale. Lanes are gathered one by one: the operands are
 * 1 to 32 registers wide. */
#include "exec.h"
#include "valu.h"

enum fmt { NONE, F32, F16, BF16, FP8, BF8, FP6, BF6, FP4 };

static const struct conversion {
    uint8_t from, to, n;
} conversions[KN_NISA] = {
#define SCALE(id, from, to, n) [KN_I_##id] = { from, to, n },
#include "valu_scale.def"
#undef SCALE
};

bool
kn_scale_known(unsigned op)
{
    return conversions[op].n;
}

static enum kn_num
number(kiln_target t, unsigned f)
{
    switch (f) {
    case F16: return KN_NUM_F16;
    case BF16: return KN_NUM_BF16;
    case FP8: return kn_num_fp8(t);
    case BF8: return kn_num_bf8(t);
    case FP6: return KN_NUM_E2M3;
    case BF6: return KN_NUM_E3M2;
    default: return KN_NUM_E2M1;
    }
}

static unsigned
bits_of(unsigned f)
{
    static const uint8_t bits[] = { 0, 32, 16, 16, 8, 8, 6, 6, 4 };

    return bits[f];
}

struct job {
    const struct kn_inst *i;
    struct conversion c;
    kiln_target target;
    unsigned nsrc;           /* data operands, elements interleaved */
    unsigned at;             /* bit where the elements start */
    bool random, saturate;
};

/* Words of operand k in one lane. */
static void
gather(const struct kn_wave *w, const struct kn_opnd *o, unsigned lane,
       uint32_t *to)
{
    unsigned n = kn_is_vector(o) ? o->width : 1;

    if (!kn_is_vector(o))
        to[0] = kn_read_s32(w, o);
    for (unsigned k = 0; kn_is_vector(o) && k < n; k++)
        to[k] = w->v[(kn_vreg(w, o) + k) % KN_NVREG][lane];
    to[n] = 0;               /* kn_num_extract reads one word on */
}

static uint32_t
element(const struct job *j, uint32_t words[2][33], unsigned e)
{
    unsigned bits = bits_of(j->c.from);
    const struct kn_opnd *o = &j->i->o[1 + e % j->nsrc];
    const uint32_t *p = words[e % j->nsrc];
    uint32_t v;

    e /= j->nsrc;
    if (bits < 32)
        return kn_num_extract(p, e + j->at / bits, bits);
    v = o->abs ? p[e] & INT32_MAX : p[e];
    return o->neg ? v ^ 0x80000000u : v;
}

static uint32_t
convert(const struct job *j, uint32_t v, uint32_t scale, uint32_t random)
{
    struct kn_rounding r = { j->random ? KN_SR : KN_RNE, j->saturate, random };
    enum kn_num from = number(j->target, j->c.from);
    enum kn_num to = number(j->target, j->c.to);
    double x;
    float f;

    if (j->c.from <= BF16) { /* to a small format */
        x = j->c.from == F32 ? (double)kn_bits_f32(v)
                             : kn_num_to_f64(from, v);
        return kn_num_from_scaled(to, x, scale, r);
    }
    /* A few bits times a power of two: exact in f32, or far below f16. */
    f = (float)kn_num_to_scaled(from, v, scale);
    return j->c.to == F32    ? kn_f32_bits(f)
           : j->c.to == F16 ? kn_float_to_half(f)
                            : kn_float_to_bf16(f);
}

static void
run_lane(const struct job *j, const struct kn_wave *w, unsigned lane,
         uint32_t *out)
{
    const struct kn_inst *i = j->i;
    unsigned bits = bits_of(j->c.to), last = i->nopnd - 1u;
    uint32_t words[2][33], scale[2], random[2] = { 0 };

    for (unsigned k = 0; k < j->nsrc; k++)
        gather(w, &i->o[1 + k], lane, words[k]);
    gather(w, &i->o[last], lane, scale);
    if (j->random)
        gather(w, &i->o[last - 1], lane, random);
    memset(out, 0, (j->c.n * bits / 32 + 1) * sizeof *out);
    for (unsigned e = 0; e < j->c.n; e++) {
        uint64_t v = convert(j, element(j, words, e), scale[0], random[0]);
        unsigned at = e * bits;

        v <<= at % 32;
        out[at / 32] |= (uint32_t)v;
        out[at / 32 + 1] |= (uint32_t)(v >> 32);
        random[0] = kn_prng_b32(random[0]);
    }
}

/* op_sel chooses the byte, or for two 8-bit elements the word, of a narrow
 * source that fills less than a register. */
static unsigned
source_bit(const struct kn_inst *i, struct conversion c)
{
    unsigned size = bits_of(c.from) * c.n;

    if (c.from <= BF16 || size > 16)
        return 0;
    return size == 16 ? (i->op_sel & 1u) * 16 : (i->op_sel & 3u) * 8;
}

/* The seed is the operand before the scale in the rows that have one. */
static bool
has_seed(const struct kn_inst *i)
{
    return !strncmp(kn_isa[i->op].mnemonic, "v_cvt_scalef32_sr_", 18);
}

void
kn_exec_scale(struct kn_wave *w, const struct kn_inst *i)
{
    struct job j = { .i = i, .c = conversions[i->op],
                     .target = w->group->target,
                     .random = has_seed(i),
                     .saturate = i->clamp || w->mode & KN_MODE_FP16_OVFL };
    unsigned total = bits_of(j.c.to) * j.c.n;
    uint32_t out[33], rows[32][KN_LANES];
    struct kn_valu v;

    if (w->gpr_idx || i->omod) {
        kn_unsupported(w, i, "modifier");
        return;
    }
    kn_valu_begin(&v, w, i);
    j.nsrc = i->nopnd - 2u - j.random;
    j.at = source_bit(i, j.c);
    for (unsigned l = 0; l < KN_LANES; l++) {
        run_lane(&j, w, l, out);
        v.out.u32[l] = out[0];
        for (unsigned k = 0; k < total / 32; k++)
            rows[k][l] = out[k];
    }
    if (total <= 32) {
        kn_valu_store32(&v, w);
        return;
    }
    for (unsigned k = 0; k < total / 32; k++)
        for (uint64_t m = v.write; m; m &= m - 1) {
            unsigned l = (unsigned)__builtin_ctzll(m);

            w->v[(kn_vreg(w, &i->o[0]) + k) % KN_NVREG][l] = rows[k][l];
        }
}
