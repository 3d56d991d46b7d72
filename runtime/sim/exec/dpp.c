/* dpp.c - DPP lane permutation, SDWA placement. */
#include "valu.h"

/* Source lane of lane l, -1 if there is none; -2: no such control. */
static int
source_lane(unsigned ctrl, int l)
{
    int row = l & ~15, at = l & 15, n = (int)(ctrl & 15);

    if (ctrl < 0x100)        /* quad_perm */
        return (l & ~3) + (int)(ctrl >> (l & 3) * 2 & 3);
    switch (ctrl >> 4) {
    case 0x10: return at + n < 16 ? l + n : -1;      /* row_shl */
    case 0x11: return at - n >= 0 ? l - n : -1;      /* row_shr */
    case 0x12: return row + ((at - n) & 15);         /* row_ror */
    case 0x15: return row + n;                       /* row_newbcast */
    }
    switch (ctrl) {
    case 0x130: return l < 63 ? l + 1 : -1;          /* wave_shl */
    case 0x134: return (l + 1) & 63;                 /* wave_rol */
    case 0x138: return l > 0 ? l - 1 : -1;           /* wave_shr */
    case 0x13c: return (l - 1) & 63;                 /* wave_ror */
    case 0x140: return row + 15 - at;                /* row_mirror */
    case 0x141: return (l & ~7) + 7 - (l & 7);       /* row_half_mirror */
    case 0x142: return row ? row - 1 : -1;           /* row_bcast:15 */
    case 0x143: return l >= 32 ? 31 : -1;            /* row_bcast:31 */
    default: return -2;
    }
}

/* Controls that do the same in each row of 16 lanes. */
static bool
same_in_rows(unsigned ctrl)
{
    return ctrl < 0x130 || ctrl == 0x140 || ctrl == 0x141 ||
           ctrl >> 4 == 0x15;
}

/* Lanes of exec as seen by the readers. */
static uint64_t
active_sources(uint64_t exec, const uint8_t from[KN_LANES])
{
    uint64_t m = 0;

    if (exec == UINT64_MAX)
        return exec;
    for (unsigned l = 0; l < KN_LANES; l++)
        m |= (exec >> from[l] & 1) << l;
    return m;
}

bool
kn_dpp_lanes(unsigned ctrl, uint64_t exec, uint8_t from[KN_LANES],
             uint64_t *valid)
{
    unsigned n = same_in_rows(ctrl) ? 16 : KN_LANES;

    *valid = 0;
    for (unsigned l = 0; l < n; l++) {
        int s = source_lane(ctrl, (int)l);

        if (s == -2 || ctrl == 0x100 || ctrl == 0x110 || ctrl == 0x120)
            return false;
        from[l] = (uint8_t)(s < 0 ? (int)l : s);
        *valid |= (uint64_t)(s >= 0) << l;
    }
    if (n == 16) {
        for (unsigned l = 16; l < KN_LANES; l++)
            from[l] = (uint8_t)(from[l - 16] + 16);
        *valid |= *valid << 16;
        *valid |= *valid << 32;
    }
    *valid &= active_sources(exec, from);
    return true;
}

uint64_t
kn_dpp_mask(unsigned row_mask, unsigned bank_mask)
{
    uint64_t m = 0;

    if (row_mask == 15 && bank_mask == 15)
        return UINT64_MAX;
    for (unsigned l = 0; l < KN_LANES; l++)
        if (row_mask >> (l >> 4) & 1 && bank_mask >> (l >> 2 & 3) & 1)
            m |= 1ull << l;
    return m;
}

uint32_t
kn_sdwa_place(uint32_t old, uint32_t v, unsigned sel, unsigned unused)
{
    unsigned n = sel < 4 ? 8 : 16, at = sel < 4 ? sel * 8 : (sel & 1) * 16;
    uint32_t field = ((1u << n) - 1) << at, r = v << at & field;

    if (sel > 5)
        return v;
    if (unused == 2)
        return r | (old & ~field);
    if (unused == 1 && v >> (n - 1) & 1)
        r |= ~(field | ((1u << at) - 1));
    return r;
}
