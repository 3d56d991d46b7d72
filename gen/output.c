/* output.c - outputs of 8 bits and their scales. */
#include "gen.h"

uint64_t
kn_output_scales(const kiln_problem *p)
{
    return p->out_scale == KILN_OUT_STATIC ? 4 : 0;
}

static kiln_status
check_codes(struct kn_ctx *c, const kiln_problem *p)
{
    const struct kn_formula_operands x = kn_formula_declared(p->expression);
    const char *out = kiln_type_name(p->out);

    if (kn_family_of(p)->routed)
        return kn_fail(c, KILN_UNSUPPORTED, "an output of %s is not available "
                       "for moe yet", out);
    if (p->beta)
        return kn_fail(c, KILN_UNSUPPORTED, "an output of %s holds codes, to "
                       "which no --beta adds and which no c reads: name a "
                       "--tensor", out);
    for (uint32_t i = 0; i < x.n; i++)
        if (x.of[i].kind == KN_FO_TENSOR)
            return kn_fail(c, KILN_UNSUPPORTED, "a tensor has the output's "
                           "type, and that of %s is not available yet", out);
    return KILN_OK;
}

kiln_status
kn_output_check(struct kn_ctx *c, const kiln_problem *p)
{
    if (p->out_scale > KILN_OUT_STATIC)
        return kn_fail(c, KILN_UNSUPPORTED, "--out-scale %s is made by quant, "
                       "not by a product", kn_out_scale_names[p->out_scale]);
    if (p->quant_flags || p->hadamard)
        return kn_fail(c, KILN_BAD_INPUT, "a product has neither quant_flags "
                       "nor a transform");
    if (kn_codes(p))
        return check_codes(c, p);
    if (p->out_scale)
        return kn_fail(c, KILN_BAD_INPUT, "--out-scale is for an output of fp8, "
                       "bf8 or i8, not of %s", kiln_type_name(p->out));
    if (p->overflow)
        return kn_fail(c, KILN_BAD_INPUT, "--saturate is for an output of fp8 "
                       "or bf8, not of %s", kiln_type_name(p->out));
    return KILN_OK;
}
