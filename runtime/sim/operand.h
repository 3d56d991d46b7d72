/* operand.h - scalar operands of an instruction, for every exec file. */
#ifndef KN_OPERAND_H
#define KN_OPERAND_H

#include "machine.h"

/* MODE (hardware register 1), CDNA3 ISA 3.3. */
enum {
    KN_MODE_ROUND32 = 0,     /* bits 1:0; 3:2 for f16 and f64 */
    KN_MODE_ROUND64 = 2,
    KN_MODE_DENORM_IN32 = 1 << 4, KN_MODE_DENORM_OUT32 = 1 << 5,
    KN_MODE_DENORM_IN64 = 1 << 6, KN_MODE_DENORM_OUT64 = 1 << 7,
    KN_MODE_DX10_CLAMP = 1 << 8,
    KN_MODE_IEEE = 1 << 9,
    KN_MODE_FP16_OVFL = 1 << 23
};

static inline bool
kn_is_vector(const struct kn_opnd *o)
{
    return o->kind == KN_O_VGPR || o->kind == KN_O_AGPR;
}

/* Operand numbers 235.. and 251.. that are no registers. */
static inline uint64_t
kn_special_value(const struct kn_wave *w, unsigned number)
{
    switch (number) {
    case 235: return (uint64_t)KN_SHARED_BASE_HI << 32;
    case 236: return (uint64_t)KN_SHARED_BASE_HI << 32 | 0xffffffffu;
    case 237: return (uint64_t)KN_PRIVATE_BASE_HI << 32;
    case 238: return (uint64_t)KN_PRIVATE_BASE_HI << 32 | 0xffffffffu;
    case 251: return !(w->s[KN_S_VCC] | w->s[KN_S_VCC + 1]);
    case 252: return !kn_exec_mask(w);
    default: return w->scc;
    }
}

/* A scalar source: SGPR, constant or special. */
static inline uint64_t
kn_read_s64(const struct kn_wave *w, const struct kn_opnd *o)
{
    if (o->kind == KN_O_SGPR)
        return w->s[o->reg] |
               (uint64_t)w->s[(o->reg + 1) & (KN_NSREG - 1)] << 32;
    if (o->kind == KN_O_SPECIAL)
        return kn_special_value(w, o->reg);
    return (uint64_t)o->imm;
}

static inline uint32_t
kn_read_s32(const struct kn_wave *w, const struct kn_opnd *o)
{
    if (o->kind == KN_O_SGPR)
        return w->s[o->reg];
    if (o->kind == KN_O_SPECIAL) /* the apertures: their high half */
        return (uint32_t)(kn_special_value(w, o->reg) >>
                          (o->reg < 240 ? 32 : 0));
    return (uint32_t)o->imm;
}

static inline void
kn_write_s32(struct kn_wave *w, unsigned reg, uint32_t v)
{
    w->s[reg & (KN_NSREG - 1)] = v;
}

static inline void
kn_write_s64(struct kn_wave *w, unsigned reg, uint64_t v)
{
    kn_write_s32(w, reg, (uint32_t)v);
    kn_write_s32(w, reg + 1, (uint32_t)(v >> 32));
}

static inline void
kn_write_exec(struct kn_wave *w, uint64_t v)
{
    kn_write_s64(w, KN_S_EXEC, v);
}

#endif
