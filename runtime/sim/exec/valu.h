/* valu.h - the parts of the vector frame that exec_valu.c, exec_vop3p.c and
 * valu_scale.c share. */
#ifndef KN_VALU_H
#define KN_VALU_H

#include "../operand.h"
#include "lanes.h"

struct kn_valu {
    struct kn_lanes x;
    const struct kn_inst *i;
    const char *sig;
    uint64_t write;          /* lanes that get the result */
    unsigned n;              /* sources */
    const struct kn_opnd *opnd[3];
    char letter[3];
    struct kn_opnd acc;      /* the destination as a source */
    bool flush_in32, flush_out32, flush_in64, flush_out64, dx10;
    union {
        uint32_t u32[KN_LANES];
        uint64_t u64[KN_LANES];
    } buf[3], out;
};

/* exec.c: the lane function of a row, NULL if it has none. */
kn_lane_fn *kn_lane_of(unsigned op);

void kn_valu_begin(struct kn_valu *v, const struct kn_wave *w,
                   const struct kn_inst *i);
/* Register of vector source number `index`, moved by s_set_gpr_idx_on. */
unsigned kn_valu_source(const struct kn_wave *w, const struct kn_opnd *o,
                        unsigned index);
/* NULL, or what is not implemented. */
const char *kn_valu_fetch(struct kn_valu *v, const struct kn_wave *w);
const char *kn_valu_call(struct kn_valu *v, const struct kn_wave *w,
                         kn_lane_fn *fn);
void kn_valu_finish_f32(struct kn_valu *v, uint32_t *d);
void kn_valu_finish_f16(struct kn_valu *v, uint32_t *d);
void kn_valu_store32(struct kn_valu *v, struct kn_wave *w);
void kn_valu_store64(struct kn_valu *v, struct kn_wave *w);
void kn_valu_store_rows(struct kn_valu *v, struct kn_wave *w,
                        uint32_t rows[2][KN_LANES]);
bool kn_valu_wide(char letter);
/* A result of this row keeps a part of its register. */
bool kn_valu_has_place(unsigned op);
/* Is the NaN that the host makes of none among the lanes? */
bool kn_any_default_nan(const uint32_t *d);

static inline void
kn_splat(uint32_t *to, uint32_t v)
{
    for (unsigned l = 0; l < KN_LANES; l++)
        to[l] = v;
}

static inline bool
kn_is_vop3p(const struct kn_inst *i)
{
    return i->raw[0] >> 23 == 0x1a7;
}

/* dpp.c - data movement inside a vector operand: DPP lane permutation and
 * SDWA sub-dword selection (CDNA3 ISA 6.6, 6.7, 13.3.8, 13.3.9). */

/* from[l]: the lane that lane l reads; valid: lanes whose source exists and
 * is active. false: a control code the ISA does not have. */
bool kn_dpp_lanes(unsigned ctrl, uint64_t exec, uint8_t from[KN_LANES],
                  uint64_t *valid);

/* Lanes that row_mask and bank_mask let through. */
uint64_t kn_dpp_mask(unsigned row_mask, unsigned bank_mask);

/* Selected byte or word of v, zero- or sign-extended. */
static inline uint32_t
kn_sdwa_select(uint32_t v, unsigned sel, bool sext)
{
    if (sel < 4) {
        v = v >> sel * 8 & 255;
        return sext ? (uint32_t)(int32_t)(int8_t)v : v;
    }
    if (sel < 6) {
        v = v >> (sel - 4) * 16 & 0xffff;
        return sext ? (uint32_t)(int32_t)(int16_t)v : v;
    }
    return v;
}

/* Puts v into the selected place; unused: 0 zero, 1 sign-extend, 2 keep. */
uint32_t kn_sdwa_place(uint32_t old, uint32_t v, unsigned sel,
                       unsigned unused);

#endif
