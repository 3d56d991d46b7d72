/* exec_valu.c - the frame around a lane function: operands with their
 * modifiers in, result with its modifiers out. */
#include <fenv.h>

#include "valu.h"
#include "exec.h"

/* ---- sources ---- */

unsigned
kn_valu_source(const struct kn_wave *w, const struct kn_opnd *o,
               unsigned index)
{
    unsigned reg = kn_vreg(w, o);

    if (w->gpr_idx >> index & 1)
        reg += w->s[KN_S_M0] & 255;
    return reg % KN_NVREG;
}

/* One dword of an operand as a row of lanes; buf is used if it is scalar. */
static const uint32_t *
row_of(const struct kn_wave *w, const struct kn_opnd *o, unsigned index,
       uint32_t *buf)
{
    if (kn_is_vector(o))
        return w->v[kn_valu_source(w, o, index)];
    kn_splat(buf, kn_read_s32(w, o));
    return buf;
}

static bool
is_half(char letter)
{
    return letter == 'h' || letter == 'y' || letter == 'b';
}

bool
kn_valu_wide(char letter)
{
    return letter == 'd' || letter == 'q' || letter == 's' || letter == 'P';
}

/* DPP: rearranges buf, which holds src0, and narrows the write mask. */
static bool
apply_dpp(struct kn_valu *v, const struct kn_wave *w, const uint32_t *src,
          uint32_t *buf)
{
    const struct kn_inst *i = v->i;
    uint8_t from[KN_LANES];
    uint64_t valid;

    if (!kn_dpp_lanes(i->dpp_ctrl, kn_exec_mask(w), from, &valid))
        return false;
    for (unsigned l = 0; l < KN_LANES; l++)
        buf[l] = valid >> l & 1 ? src[from[l]] : 0;
    v->write &= kn_dpp_mask(i->row_mask, i->bank_mask);
    if (!i->bound_ctrl)
        v->write &= valid;
    return true;
}

/* Halves as op_sel and op_sel_hi say, signs as neg_lo and neg_hi say. */
static void
shuffle_halves(const struct kn_inst *i, unsigned k, const uint32_t *src,
               uint32_t *buf)
{
    unsigned lo = i->op_sel >> k & 1 ? 16 : 0;
    unsigned hi = i->op_sel_hi >> k & 1 ? 16 : 0;
    uint32_t flip = (i->neg_lo >> k & 1 ? 0x8000u : 0) |
                    (i->neg_hi >> k & 1 ? 0x80000000u : 0);

    for (unsigned l = 0; l < KN_LANES; l++)
        buf[l] = ((src[l] >> lo & 0xffff) | src[l] >> hi << 16) ^ flip;
}

static void
apply_signs(const struct kn_opnd *o, uint32_t sign, uint32_t *buf)
{
    uint32_t keep = o->abs ? ~sign : UINT32_MAX, flip = o->neg ? sign : 0;

    for (unsigned l = 0; l < KN_LANES; l++)
        buf[l] = (buf[l] & keep) ^ flip;
}

static void
flush_f32(uint32_t *v)
{
    for (unsigned l = 0; l < KN_LANES; l++)
        v[l] = v[l] & 0x7f800000u ? v[l] : v[l] & 0x80000000u;
}

static void
flush_f16(uint32_t *v)
{
    for (unsigned l = 0; l < KN_LANES; l++)
        v[l] = v[l] & 0x7c00u ? v[l] : v[l] & 0x8000u;
}

static void
flush_f64(uint64_t *v)
{
    for (unsigned l = 0; l < KN_LANES; l++)
        v[l] = v[l] & 0x7ff0000000000000u ? v[l] : v[l] & 1ull << 63;
}

/* Moves into buf what points elsewhere, so that it can be changed. */
static const uint32_t *
own(const uint32_t *src, uint32_t *buf)
{
    if (src != buf)
        memcpy(buf, src, sizeof(uint32_t) * KN_LANES);
    return buf;
}

static const char *
fetch32(struct kn_valu *v, const struct kn_wave *w, unsigned k, char letter)
{
    const struct kn_inst *i = v->i;
    const struct kn_opnd *o = v->opnd[k];
    uint32_t *buf = v->buf[k].u32;
    const uint32_t *src = row_of(w, o, k, buf);
    uint32_t sign = is_half(letter) ? 0x8000u : 0x80000000u;
    unsigned op_sel = kn_is_vop3p(i) ? 0 : i->op_sel;

    if (i->enc == KN_E_DPP && k == 0) {
        if (!apply_dpp(v, w, src, buf))
            return "DPP control";
        src = buf;
    }
    if (i->enc == KN_E_SDWA && (o->sel < 6 || o->sext)) {
        for (unsigned l = 0; l < KN_LANES; l++)
            buf[l] = kn_sdwa_select(src[l], o->sel, o->sext);
        src = buf;
    }
    if (is_half(letter) && op_sel >> k & 1) {
        for (unsigned l = 0; l < KN_LANES; l++)
            buf[l] = src[l] >> 16;
        src = buf;
    }
    if (kn_is_vop3p(i) && (letter == 'p' || letter == 'w' || letter == 'B')) {
        shuffle_halves(i, k, src, buf);
        src = buf;
    } else if (kn_is_vop3p(i) && letter == 'f' && i->neg_lo >> k & 1) {
        src = own(src, buf);
        apply_signs(&(struct kn_opnd){ .neg = 1 }, sign, buf);
    }
    if (o->neg || o->abs) {
        src = own(src, buf);
        apply_signs(o, sign, buf);
    }
    if (letter == 'f' && v->flush_in32) {
        src = own(src, buf);
        flush_f32(buf);
    }
    if (letter == 'h' && v->flush_in64) {
        src = own(src, buf);
        flush_f16(buf);
    }
    v->x.s[k] = src;
    return NULL;
}

static const char *
fetch64(struct kn_valu *v, const struct kn_wave *w, unsigned k, char letter)
{
    const struct kn_opnd *o = v->opnd[k];
    uint64_t *buf = v->buf[k].u64;
    uint64_t flip = o->neg ? 1ull << 63 : 0;
    uint64_t keep = o->abs ? INT64_MAX : UINT64_MAX;
    uint32_t half[2][KN_LANES];

    if (kn_is_vector(o)) {
        unsigned reg = kn_valu_source(w, o, k);

        for (unsigned h = 0; h < 2; h++) {
            const uint32_t *src = w->v[(reg + h) % KN_NVREG];

            if (v->i->enc != KN_E_DPP || k)
                memcpy(half[h], src, sizeof half[h]);
            else if (!apply_dpp(v, w, src, half[h]))
                return "DPP control";
        }
        for (unsigned l = 0; l < KN_LANES; l++)
            buf[l] = half[0][l] | (uint64_t)half[1][l] << 32;
    } else {
        for (unsigned l = 0; l < KN_LANES; l++)
            buf[l] = kn_read_s64(w, o);
    }
    if (letter != 'P' && (o->neg || o->abs))
        for (unsigned l = 0; l < KN_LANES; l++)
            buf[l] = (buf[l] & keep) ^ flip;
    if (letter == 'd' && v->flush_in64)
        flush_f64(buf);
    v->x.s[k] = buf;
    return NULL;
}

/* The sources the signature names, then the destination if it is one. */
const char *
kn_valu_fetch(struct kn_valu *v, const struct kn_wave *w)
{
    const struct kn_inst *i = v->i;
    const char *s = v->sig, *bad = NULL;
    unsigned n = 0;

    while (*s++ != '=')
        ;
    for (unsigned k = i->ndst; k < i->nopnd && *s && !bad; k++, s++) {
        if (*s == 'm') {
            v->x.mask = kn_read_s64(w, &i->o[k]);
            continue;
        }
        if (n == 3)
            return "operands";
        v->opnd[n] = &i->o[k];
        bad = kn_valu_wide(*s) ? fetch64(v, w, n, *s) : fetch32(v, w, n, *s);
        v->letter[n++] = *s;
    }
    if (!bad && i->rmw && n < 3) {
        v->acc = i->o[0];
        v->opnd[n] = &v->acc;
        bad = kn_valu_wide(v->sig[0]) ? fetch64(v, w, n, v->sig[0])
                                      : fetch32(v, w, n, v->sig[0]);
        v->letter[n++] = v->sig[0];
    }
    v->n = n;
    return bad;
}

/* ---- results ---- */

/* The host's default NaN is negative, the GPU's positive; a NaN that came in
 * stays as it is. */
static bool
nan_came_in(const struct kn_valu *v, unsigned l)
{
    for (unsigned k = 0; k < v->n; k++) {
        const uint32_t *p = v->x.s[k];
        const uint64_t *q = v->x.s[k];

        if (v->letter[k] == 'd' && (q[l] & INT64_MAX) > 0x7ff0000000000000u)
            return true;
        if (v->letter[k] == 'f' && (p[l] & 0x7fffffff) > 0x7f800000u)
            return true;
        if (v->letter[k] == 'h' && (p[l] & 0x7fff) > 0x7c00u)
            return true;
    }
    return false;
}

KN_CLONES bool
kn_any_default_nan(const uint32_t *d)
{
    uint32_t odd = 0;

    for (unsigned l = 0; l < KN_LANES; l++)
        odd |= d[l] == 0xffc00000u;
    return odd;
}

void
kn_valu_finish_f32(struct kn_valu *v, uint32_t *d)
{
    static const float omods[] = { 1.0f, 2.0f, 4.0f, 0.5f };
    const struct kn_inst *i = v->i;
    bool odd = kn_any_default_nan(d);

    for (unsigned l = 0; odd && l < KN_LANES; l++)
        if (d[l] == 0xffc00000u && !nan_came_in(v, l))
            d[l] = 0x7fc00000u;
    if (i->omod)
        for (unsigned l = 0; l < KN_LANES; l++)
            d[l] = kn_f32_bits(kn_bits_f32(d[l]) * omods[i->omod]);
    if (v->flush_out32)
        flush_f32(d);
    if (!i->clamp)
        return;
    for (unsigned l = 0; l < KN_LANES; l++) {
        float f = kn_bits_f32(d[l]);

        if (f != f)
            d[l] = v->dx10 ? 0 : d[l];
        else
            d[l] = !(f > 0) ? 0 : f > 1.0f ? 0x3f800000u : d[l];
    }
}

static void
finish_f64(struct kn_valu *v, uint64_t *d)
{
    static const double omods[] = { 1.0, 2.0, 4.0, 0.5 };
    const struct kn_inst *i = v->i;

    for (unsigned l = 0; l < KN_LANES; l++) {
        if (d[l] == 0xfff8000000000000u && !nan_came_in(v, l))
            d[l] = 0x7ff8000000000000u;
        if (i->omod)
            d[l] = kn_f64_bits(kn_bits_f64(d[l]) * omods[i->omod]);
        if (i->clamp) {
            double f = kn_bits_f64(d[l]);

            if (f != f)
                d[l] = v->dx10 ? 0 : d[l];
            else
                d[l] = !(f > 0) ? 0 : f > 1 ? 0x3ff0000000000000u : d[l];
        }
    }
    if (v->flush_out64)
        flush_f64(d);
}

void
kn_valu_finish_f16(struct kn_valu *v, uint32_t *d)
{
    const struct kn_inst *i = v->i;

    for (unsigned l = 0; l < KN_LANES; l++) {
        float f;

        if (d[l] == 0xfe00 && !nan_came_in(v, l))
            d[l] = 0x7e00;
        f = kn_half_to_float(d[l]);
        if (i->omod)
            d[l] = kn_float_to_half(i->omod == 3 ? f * 0.5f
                                                 : f * (float)(2 * i->omod));
        if (i->clamp) {
            f = kn_half_to_float(d[l]);
            if (f != f)
                d[l] = v->dx10 ? 0 : d[l];
            else
                d[l] = !(f > 0) ? 0 : f > 1.0f ? 0x3c00 : d[l];
        }
    }
    if (v->flush_out64)
        flush_f16(d);
}

/* How a result of less than a dword meets the rest of its register. */
enum { P_ALL, P_HALF, P_BYTE };
static const uint8_t places[KN_NISA] = {
#define HALF(id) [KN_I_##id] = P_HALF,
#define BYTE(id) [KN_I_##id] = P_BYTE,
#include "valu_place.def"
#undef HALF
#undef BYTE
};

bool
kn_valu_has_place(unsigned op)
{
    return places[op] != P_ALL;
}

static void
write_dword(struct kn_wave *w, unsigned reg, const uint32_t *d, uint64_t mask)
{
    uint32_t *to = w->v[reg % KN_NVREG];

    if (mask == UINT64_MAX) {
        memcpy(to, d, sizeof(uint32_t) * KN_LANES);
        return;
    }
    for (; mask; mask &= mask - 1) {
        unsigned l = (unsigned)__builtin_ctzll(mask);

        to[l] = d[l];
    }
}

/* Merges d with the old contents by SDWA or op_sel. */
static void
place_result(const struct kn_valu *v, const uint32_t *old, uint32_t *d)
{
    const struct kn_inst *i = v->i;
    unsigned how = places[i->op];

    if (i->enc == KN_E_SDWA) {
        for (unsigned l = 0; l < KN_LANES; l++)
            d[l] = kn_sdwa_place(old[l], d[l], i->dst_sel, i->dst_unused);
        return;
    }
    if (how == P_BYTE) {
        unsigned at = i->op_sel >> 2;

        for (unsigned l = 0; l < KN_LANES; l++)
            d[l] = kn_sdwa_place(old[l], d[l], at, 2);
    } else if (how == P_HALF || (is_half(v->sig[0]) && i->op_sel >> 3)) {
        unsigned at = 4 + (i->op_sel >> 3);

        for (unsigned l = 0; l < KN_LANES; l++)
            d[l] = kn_sdwa_place(old[l], d[l], at, 2);
    }
}

static unsigned
dst_reg(const struct kn_wave *w, const struct kn_opnd *o)
{
    return kn_valu_source(w, o, 3);
}

void
kn_valu_store32(struct kn_valu *v, struct kn_wave *w)
{
    unsigned reg = dst_reg(w, &v->i->o[0]);

    if (v->i->enc == KN_E_SDWA || places[v->i->op] ||
        (!kn_is_vop3p(v->i) && v->i->op_sel >> 3))
        place_result(v, w->v[reg], v->out.u32);
    write_dword(w, reg, v->out.u32, v->write);
}

void
kn_valu_store_rows(struct kn_valu *v, struct kn_wave *w,
                   uint32_t rows[2][KN_LANES])
{
    unsigned reg = dst_reg(w, &v->i->o[0]);

    write_dword(w, reg, rows[0], v->write);
    write_dword(w, reg + 1, rows[1], v->write);
}

void
kn_valu_store64(struct kn_valu *v, struct kn_wave *w)
{
    uint32_t half[2][KN_LANES];

    for (unsigned l = 0; l < KN_LANES; l++) {
        half[0][l] = (uint32_t)v->out.u64[l];
        half[1][l] = (uint32_t)(v->out.u64[l] >> 32);
    }
    kn_valu_store_rows(v, w, half);
}

/* The lane mask result, 0 in inactive lanes. */
static void
store_mask(struct kn_valu *v, struct kn_wave *w)
{
    const struct kn_inst *i = v->i;
    uint64_t m = v->x.out & v->write;

    for (unsigned k = 0; k < i->ndst; k++)
        if (v->sig[k] == 'm')
            kn_write_s64(w, i->o[k].reg, m);
    if (kn_isa[i->op].flags & KN_IF_WEXEC)
        kn_write_exec(w, m);
}

static void
store(struct kn_valu *v, struct kn_wave *w)
{
    switch (v->sig[0]) {
    case 'f': kn_valu_finish_f32(v, v->out.u32); break;
    case 'h': kn_valu_finish_f16(v, v->out.u32); break;
    case 'd': finish_f64(v, v->out.u64); break;
    default: break;
    }
    if (kn_valu_wide(v->sig[0]))
        kn_valu_store64(v, w);
    else if (v->sig[0] != 'm')
        kn_valu_store32(v, w);
    store_mask(v, w);
}

/* ---- the frame ---- */

/* exp, log, rcp, rsq, sin, cos of f32 know no denormals, whatever MODE says
 * (LLVM AMDGPU lowers around it); sqrt does. */
static bool
never_denormal(const struct kn_inst *i)
{
    return kn_isa[i->op].flags & KN_IF_TRANS && i->op != KN_I_v_sqrt_f32;
}

/* The class of a denormal is a denormal. */
static bool
never_flushed(const struct kn_inst *i)
{
    return kn_isa[i->op].sig[0] == 'm' && kn_isa[i->op].sig[3] == 'i' &&
           kn_isa[i->op].sig[2] != 'i';
}

void
kn_valu_begin(struct kn_valu *v, const struct kn_wave *w,
              const struct kn_inst *i)
{
    uint32_t m = w->mode;
    bool tiny = never_denormal(i);

    if (never_flushed(i))
        m |= KN_MODE_DENORM_IN32 | KN_MODE_DENORM_IN64;
    v->i = i;
    v->sig = kn_isa[i->op].sig;
    v->write = kn_exec_mask(w);
    v->n = 0;
    v->flush_in32 = !(m & KN_MODE_DENORM_IN32) || tiny;
    v->flush_out32 = !(m & KN_MODE_DENORM_OUT32) || tiny;
    v->flush_in64 = !(m & KN_MODE_DENORM_IN64);
    v->flush_out64 = !(m & KN_MODE_DENORM_OUT64);
    v->dx10 = m & KN_MODE_DX10_CLAMP;
    v->x.d = &v->out;
    v->x.mask = kn_isa[i->op].flags & KN_IF_RVCC
                    ? w->s[KN_S_VCC] | (uint64_t)w->s[KN_S_VCC + 1] << 32 : 0;
    v->x.out = 0;
    v->x.target = w->group->target;
    v->x.ieee = m & KN_MODE_IEEE;
    v->x.ovfl = m & KN_MODE_FP16_OVFL;
    v->x.clamp = i->clamp;
    v->x.op_sel = i->op_sel;
    v->x.bitop3 = i->bitop3;
}

/* MODE.FP_ROUND of the result's type, as the host's rounding mode; f16
 * results are rounded by our own code, to nearest only. */
const char *
kn_valu_call(struct kn_valu *v, const struct kn_wave *w, kn_lane_fn *fn)
{
    static const int host[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD,
                                FE_TOWARDZERO };
    char c = v->sig[0];
    unsigned at = c == 'f' || (c == 'P' && kn_isa[v->i->op].flags & KN_IF_PK32)
                      ? KN_MODE_ROUND32 : KN_MODE_ROUND64;
    bool nearest = !(w->mode & (15u << KN_MODE_ROUND32));
    unsigned round = !nearest && strchr("fPdhp", c) ? w->mode >> at & 3 : 0;

    if (v->i->op == KN_I_v_cvt_pk_u8_f32 && w->mode >> KN_MODE_ROUND32 & 3)
        return "rounding mode for v_cvt_pk_u8_f32";
    if (!round) {
        fn(&v->x);
        return NULL;
    }
    if (c == 'h' || c == 'p')
        return "rounding mode for f16";
    fesetround(host[round]);
    fn(&v->x);
    fesetround(FE_TONEAREST);
    return NULL;
}

/* Integer results that have a saturating form. */
static bool
clamp_allowed(const struct kn_inst *i)
{
    const char *m = kn_isa[i->op].mnemonic;

    return strchr("fhdpP", kn_isa[i->op].sig[0]) || !strncmp(m, "v_add_", 6) ||
           !strncmp(m, "v_sub", 5) || !strncmp(m, "v_mad_", 6) ||
           !strncmp(m, "v_dot", 5) || !strncmp(m, "v_pk_", 5) ||
           !strncmp(m, "v_cmp", 5);
}

void
kn_exec_valu(struct kn_wave *w, const struct kn_inst *i)
{
    struct kn_valu v;
    const char *bad;

    if (i->clamp && !clamp_allowed(i)) {
        kn_unsupported(w, i, "clamp");
        return;
    }
    kn_valu_begin(&v, w, i);
    bad = kn_valu_fetch(&v, w);
    if (!bad)
        bad = kn_valu_call(&v, w, kn_lane_of(i->op));
    if (bad)
        kn_unsupported(w, i, bad);
    else
        store(&v, w);
}
