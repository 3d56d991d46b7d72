/* hazard.c - the table of hazard.def. */
#include "hazard.h"

const struct kn_hz_rule kn_hz_rules[KN_HZ_RULES] = {
#define RULE(p, c, need, match, target, text) \
    { P_##p, C_##c, need, match, target, text },
#include "hazard.def"
#undef RULE
};
