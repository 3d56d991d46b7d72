/* hazard.c - the tables of hazard.def. */
#include "hazard.h"

const struct kn_hz_rule kn_hz_rules[KN_HZ_RULES] = {
#define RULE(p, c, need, match, target, severity, text) \
    { P_##p, C_##c, need, match, target, KN_SEV_##severity, text },
#define MATRIX(id, number, most, verb)
#include "hazard.def"
#undef MATRIX
#undef RULE
};

const struct kn_hz_matrix_rule kn_hz_matrix[KN_NHZ_MATRIX] = {
#define RULE(p, c, need, match, target, severity, text)
#define MATRIX(id, number, most, verb) \
    [KN_HM_##id] = { most, verb },
#include "hazard.def"
#undef MATRIX
#undef RULE
};

unsigned
kn_hz_need(const struct kn_mfma_waits *w, enum kn_hz_matrix what)
{
    switch (what) {
#define RULE(p, c, need, match, target, severity, text)
#define MATRIX(id, number, most, verb) \
    case KN_HM_##id: return w->number;
#include "hazard.def"
#undef MATRIX
#undef RULE
    default:
        return 0;
    }
}

enum kn_severity
kn_hz_matrix_severity(enum kn_hz_matrix what, unsigned need)
{
    return need <= kn_hz_matrix[what].advice ? KN_SEV_ADVICE : KN_SEV_FINDING;
}

enum kn_severity
kn_hz_severity(enum kn_severity rule, bool own)
{
    return own ? KN_SEV_FINDING : rule;
}
