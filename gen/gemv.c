/* gemv.c - a few rows without matrix instructions: each wave has whole columns
 * of B and adds over its lanes. */
#include "instantiate.h"

/* How elements become f32 (templates/gemv_operands.tir), and the power of two
 * that takes from them. */
struct kind {
    uint8_t widen, up;       /* KN_WIDEN_NONE: not this type */
};

static const struct kind kinds[KILN_NTYPES] = {
    [KILN_F16] = { KN_WIDEN_AS_16, 0 },  [KILN_BF16] = { KN_WIDEN_AS_16, 0 },
    [KILN_FP8] = { KN_WIDEN_AS_8, 0 },   [KILN_BF8] = { KN_WIDEN_AS_8, 0 },
    [KILN_I8] = { KN_WIDEN_AS_8, 0 },    [KILN_MXFP8] = { KN_WIDEN_AS_8, 0 },
    [KILN_MXBF8] = { KN_WIDEN_AS_8, 0 }, [KILN_MXFP6] = { KN_WIDEN_AS_6, 0 },
    [KILN_MXBF6] = { KN_WIDEN_AS_6, 0 }, [KILN_MXFP4] = { KN_WIDEN_AS_4, 0 },
    [KILN_NVFP4] = { KN_WIDEN_AS_4, 0 }, [KILN_I4] = { KN_WIDEN_INT_4, 0 },
},
/* Where 8-bit floats are FNUZ and nothing converts narrower ones. */
  fnuz_kinds[KILN_NTYPES] = {
    [KILN_MXFP8] = { KN_WIDEN_OCP_8, 1 }, [KILN_MXBF8] = { KN_WIDEN_OCP_5, 0 },
    [KILN_MXFP6] = { KN_WIDEN_OCP_6, 7 }, [KILN_MXBF6] = { KN_WIDEN_OCP_6, 5 },
    [KILN_MXFP4] = { KN_WIDEN_OCP_4, 0 }, [KILN_NVFP4] = { KN_WIDEN_OCP_4, 0 },
};

static const struct kind *
kind_of(const kiln_problem *p, kiln_type t)
{
    return kn_targets[p->target].fnuz && fnuz_kinds[t].widen ? &fnuz_kinds[t]
                                                             : &kinds[t];
}

enum kn_widen
kn_gemv_widen(const kiln_problem *p, kiln_type t)
{
    return kind_of(p, t)->widen;
}

/* Elements of a run: 16 bytes, where both operands have as many and whole
 * ones, else a block of 32. */
uint32_t
kn_gemv_run(const kiln_problem *p)
{
    uint32_t a = kn_type_bits[p->a], b = kn_type_bits[p->b];

    return a == b && a != 6 ? 128 / a : 32;
}

int
kn_gemv_exponent_bias(const kiln_problem *p)
{
    return (kn_gemv_a_scaled(p) ? 254 : 127) - kind_of(p, p->a)->up -
           kind_of(p, p->b)->up;
}

bool
kn_gemv_types(const kiln_problem *p)
{
    return kinds[p->a].widen && kinds[p->b].widen && !kn_prequant(p) &&
           kinds[p->b].widen != KN_WIDEN_INT_4 && p->b != KILN_NVFP4;
}
