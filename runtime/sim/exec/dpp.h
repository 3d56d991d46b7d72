/* dpp.h - data movement inside a vector operand: DPP lane permutation and
 * SDWA sub-dword selection (CDNA3 ISA 6.6, 6.7, 13.3.8, 13.3.9). */
#ifndef KN_DPP_H
#define KN_DPP_H

#include "../machine.h"

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
