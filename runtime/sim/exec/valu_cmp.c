/* valu_cmp.c - lane functions of valu_cmp.def. */
#include "lanes.h"

#define VALU_PART
#define VC KN_DEF_VC
#define VF(id)
#include "valu_cmp.def"

/* Which bit of the class mask a number is (CDNA3 ISA 12.10 V_CMP_CLASS):
 * 0 signalling NaN, 1 quiet NaN, 2 -Inf, 3 -normal, 4 -denormal, 5 -0, and
 * 6..9 the positive ones in the opposite order. mbits: of the mantissa. */
static unsigned
class_of(uint64_t v, unsigned ebits, unsigned mbits)
{
    uint64_t m = v & ((1ull << mbits) - 1);
    uint64_t e = v >> mbits & ((1ull << ebits) - 1);
    bool neg = v >> (ebits + mbits) & 1;
    unsigned c = !e && !m ? 5 : !e ? 4 : 3;

    if (e == (1ull << ebits) - 1) {
        if (m)
            return m >> (mbits - 1) & 1;
        c = 2;
    }
    return neg ? c : 11 - c;
}

#define CLASS(id, storage, ebits, mbits)                                      \
    void kn_lane_##id(struct kn_lanes *x)                                     \
    {                                                                         \
        const storage *a = x->s[0];                                           \
        const uint32_t *b = x->s[1];                                          \
        x->out = 0;                                                           \
        for (unsigned l = 0; l < KN_LANES; l++)                               \
            x->out |= (uint64_t)(b[l] >> class_of(a[l], ebits, mbits) & 1)    \
                      << l;                                                   \
    }
CLASS(v_cmp_class_f16, uint32_t, 5, 10)
CLASS(v_cmp_class_f32, uint32_t, 8, 23)
CLASS(v_cmp_class_f64, uint64_t, 11, 52)
