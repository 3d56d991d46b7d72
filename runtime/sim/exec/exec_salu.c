/* exec_salu.c - scalar arithmetic, branches, hardware registers. */
#include "exec.h"
#include "../operand.h"

/* ---- functions salu.def names ---- */

/* Bits [at, at+n) of v, n at most `width`; the signed form extends them. */
static uint64_t
field_u64(uint64_t v, unsigned at, unsigned n, unsigned width)
{
    v >>= at;
    return n >= width ? v : v & ((1ull << n) - 1);
}

static int64_t
field_i64(uint64_t v, unsigned at, unsigned n, unsigned width)
{
    int64_t s = width == 32 ? (int64_t)(int32_t)(uint32_t)v : (int64_t)v;

    s >>= at;
    if (!n)
        return 0;
    return n >= width ? s : (int64_t)((uint64_t)s << (64 - n)) >> (64 - n);
}

static uint64_t
quad_mask(uint64_t v)
{
    uint64_t r = 0;

    for (unsigned q = 0; q < 16; q++)
        r |= (uint64_t)((v >> q * 4 & 15) != 0) << q;
    return r;
}

static uint64_t
whole_quads(uint64_t v)
{
    uint64_t r = 0;

    for (unsigned q = 0; q < 16; q++)
        if (v >> q * 4 & 15)
            r |= 15ull << q * 4;
    return r;
}

static uint64_t
reverse_bits(uint64_t v)
{
    uint64_t r = 0;

    for (unsigned b = 0; b < 64; b++)
        r |= (v >> b & 1) << (63 - b);
    return r;
}

static uint64_t
replicate_bits(uint32_t v)
{
    uint64_t r = 0;

    for (unsigned b = 0; b < 32; b++)
        if (v >> b & 1)
            r |= 3ull << b * 2;
    return r;
}

/* Position from the top of the first bit unlike the sign; the value is in
 * the upper `width` bits. */
static int32_t
first_change(uint64_t v, unsigned width)
{
    for (unsigned b = 1; b < width; b++)
        if ((v >> (63 - b) & 1) != v >> 63)
            return (int32_t)b;
    return -1;
}

static uint32_t
dst32(const struct kn_wave *w, const struct kn_inst *i)
{
    return w->s[i->o[0].reg];
}

static uint64_t
dst64(const struct kn_wave *w, const struct kn_inst *i)
{
    return kn_read_s64(w, &i->o[0]);
}

#define read_u32(k) kn_read_s32(w, &i->o[k])
#define read_i32(k) (int32_t)kn_read_s32(w, &i->o[k])
#define read_u64(k) kn_read_s64(w, &i->o[k])
#define read_i64(k) (int64_t)kn_read_s64(w, &i->o[k])
#define write_u32(v) kn_write_s32(w, i->o[0].reg, v)
#define write_i32(v) kn_write_s32(w, i->o[0].reg, (uint32_t)(v))
#define write_u64(v) kn_write_s64(w, i->o[0].reg, v)
#define write_i64(v) kn_write_s64(w, i->o[0].reg, (uint64_t)(v))
#define u32 uint32_t
#define i32 int32_t
#define u64 uint64_t
#define i64 int64_t
#define NZ (r != 0)
#define KEEP w->scc

#define S1(id, D, A, value, set_scc)                                          \
    void kn_exec_##id(struct kn_wave *w, const struct kn_inst *i)             \
    {                                                                         \
        A a = read_##A(1);                                                    \
        D r = value;                                                          \
        w->scc = set_scc;                                                     \
        write_##D(r);                                                         \
    }
#define S2(id, D, A, B, value, set_scc)                                       \
    void kn_exec_##id(struct kn_wave *w, const struct kn_inst *i)             \
    {                                                                         \
        A a = read_##A(1);                                                    \
        B b = read_##B(2);                                                    \
        D r = value;                                                          \
        w->scc = set_scc;                                                     \
        write_##D(r);                                                         \
    }
#define SK(id, value, set_scc)                                                \
    void kn_exec_##id(struct kn_wave *w, const struct kn_inst *i)             \
    {                                                                         \
        uint32_t d = dst32(w, i), k = (uint32_t)i->o[1].imm, r;               \
        (void)d;                                                              \
        r = value;                                                            \
        w->scc = set_scc;                                                     \
        write_u32(r);                                                         \
    }
#define SC(id, A, set_scc)                                                    \
    void kn_exec_##id(struct kn_wave *w, const struct kn_inst *i)             \
    {                                                                         \
        A a = read_##A(0), b = read_##A(1);                                   \
        w->scc = set_scc;                                                     \
    }
#define SX(id, value, keep)                                                   \
    void kn_exec_##id(struct kn_wave *w, const struct kn_inst *i)             \
    {                                                                         \
        uint64_t a = read_u64(1), e = kn_exec_mask(w), r = value;             \
        kn_write_exec(w, r);                                                  \
        write_u64((keep) ? e : r);                                            \
        w->scc = r != 0;                                                      \
    }
#include "salu.def"
#undef S1
#undef S2
#undef SK
#undef SC
#undef SX
#undef u32
#undef i32
#undef u64
#undef i64
#undef NZ
#undef KEEP

/* ---- branches ---- */

void
kn_exec_branch(struct kn_wave *w, const struct kn_inst *i)
{
    bool vcc = w->s[KN_S_VCC] | w->s[KN_S_VCC + 1];
    bool take = true;

    switch (i->op) {
    case KN_I_s_cbranch_scc0: take = !w->scc; break;
    case KN_I_s_cbranch_scc1: take = w->scc; break;
    case KN_I_s_cbranch_vccz: take = !vcc; break;
    case KN_I_s_cbranch_vccnz: take = vcc; break;
    case KN_I_s_cbranch_execz: take = !kn_exec_mask(w); break;
    case KN_I_s_cbranch_execnz: take = kn_exec_mask(w); break;
    default: break;
    }
    if (take)
        kn_jump_inst(w, i);
}

/* Device address of the instruction after i. */
static uint64_t
next_address(const struct kn_wave *w, const struct kn_inst *i)
{
    return w->group->code_base + i->pc + i->size;
}

void
kn_exec_getpc(struct kn_wave *w, const struct kn_inst *i)
{
    kn_write_s64(w, i->o[0].reg, next_address(w, i));
}

void
kn_exec_setpc(struct kn_wave *w, const struct kn_inst *i)
{
    kn_jump_addr(w, i, kn_read_s64(w, &i->o[0]));
}

void
kn_exec_swappc(struct kn_wave *w, const struct kn_inst *i)
{
    uint64_t to = kn_read_s64(w, &i->o[1]);

    kn_write_s64(w, i->o[0].reg, next_address(w, i));
    kn_jump_addr(w, i, to);
}

void
kn_exec_call(struct kn_wave *w, const struct kn_inst *i)
{
    kn_write_s64(w, i->o[0].reg, next_address(w, i));
    kn_jump_inst(w, i);
}

/* ---- hardware registers ---- */

enum { HW_MODE = 1, HW_STATUS = 2, HW_HW_ID = 4, HW_XCC_ID = 20 };

struct hwreg {
    unsigned id, at, n;
};

static struct hwreg
hwreg_of(int64_t simm)
{
    uint32_t v = (uint32_t)simm;

    return (struct hwreg){ v & 63, v >> 6 & 31, (v >> 11 & 31) + 1 };
}

static uint32_t
low_mask(unsigned n)
{
    return n >= 32 ? UINT32_MAX : (1u << n) - 1;
}

/* Where a wave runs (HW_ID, XCC_ID) is 0: one of the places hardware could
 * choose. */
void
kn_exec_getreg(struct kn_wave *w, const struct kn_inst *i)
{
    struct hwreg h = hwreg_of(i->o[1].imm);
    uint32_t v = 0;

    if (h.id == HW_MODE)
        v = w->mode;
    else if (h.id == HW_STATUS)
        v = w->scc;
    else if (h.id != HW_HW_ID && h.id != HW_XCC_ID)
        kn_unsupported(w, i, "hardware register");
    kn_write_s32(w, i->o[0].reg, v >> h.at & low_mask(h.n));
}

void
kn_exec_setreg(struct kn_wave *w, const struct kn_inst *i)
{
    struct hwreg h = hwreg_of(i->o[0].imm);
    uint32_t mask = low_mask(h.n) << h.at;
    uint32_t v = kn_read_s32(w, &i->o[1]) << h.at;

    if (h.id == HW_MODE)
        w->mode = (w->mode & ~mask) | (v & mask);
    else
        kn_unsupported(w, i, "hardware register");
}

/* VSKIP = bit b of a. While it is set, VALU, MFMA and vector and LDS memory
 * instructions are not issued and count nowhere (CDNA3 ISA 12.2). */
void
kn_exec_setvskip(struct kn_wave *w, const struct kn_inst *i)
{
    uint32_t a = kn_read_s32(w, &i->o[0]);
    uint32_t b = kn_read_s32(w, &i->o[1]) & 31;

    w->vskip = a >> b & 1;
}

/* ---- relative addressing ---- */

/* M0[15:12]: which operands are relative, M0[7:0]: the distance. */
static void
set_index(struct kn_wave *w, uint32_t mask, uint32_t value)
{
    w->s[KN_S_M0] = (w->s[KN_S_M0] & ~mask) | (value & mask);
}

void
kn_exec_set_gpr_idx_on(struct kn_wave *w, const struct kn_inst *i)
{
    uint32_t mode = (uint32_t)i->o[1].imm & 15;

    set_index(w, 0xf0ff, (kn_read_s32(w, &i->o[0]) & 255) | mode << 12);
    w->gpr_idx = mode;
}

void
kn_exec_set_gpr_idx_off(struct kn_wave *w, const struct kn_inst *i)
{
    (void)i;
    w->gpr_idx = 0;
}

void
kn_exec_set_gpr_idx_mode(struct kn_wave *w, const struct kn_inst *i)
{
    w->gpr_idx = (uint32_t)i->o[0].imm & 15;
    set_index(w, 0xf000, w->gpr_idx << 12);
}

void
kn_exec_set_gpr_idx_idx(struct kn_wave *w, const struct kn_inst *i)
{
    set_index(w, 0xff, kn_read_s32(w, &i->o[0]));
}

/* The register a movrel reaches, or a refusal. */
static bool
relative(struct kn_wave *w, const struct kn_inst *i, unsigned reg,
         unsigned *out)
{
    uint64_t r = (uint64_t)reg + w->s[KN_S_M0];

    if (r > 101) {
        kn_unsupported(w, i, "s_movrel outside the scalar registers");
        return false;
    }
    *out = (unsigned)r;
    return true;
}

void
kn_exec_movrels(struct kn_wave *w, const struct kn_inst *i)
{
    struct kn_opnd o = i->o[1];
    unsigned reg;

    if (!relative(w, i, o.reg, &reg))
        return;
    o.reg = (uint16_t)reg;
    if (i->op == KN_I_s_movrels_b64)
        kn_write_s64(w, i->o[0].reg, kn_read_s64(w, &o));
    else
        kn_write_s32(w, i->o[0].reg, kn_read_s32(w, &o));
}

void
kn_exec_movreld(struct kn_wave *w, const struct kn_inst *i)
{
    unsigned reg;

    if (!relative(w, i, i->o[0].reg, &reg))
        return;
    if (i->op == KN_I_s_movreld_b64)
        kn_write_s64(w, reg, kn_read_s64(w, &i->o[1]));
    else
        kn_write_s32(w, reg, kn_read_s32(w, &i->o[1]));
}
