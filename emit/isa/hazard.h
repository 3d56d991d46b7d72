/* hazard.h - wait states between dependent instructions: one table for the
 * simulator, which reports what is missing, and the assembly lowering, which
 * inserts s_nop. */
#ifndef KN_HAZARD_H
#define KN_HAZARD_H

#include "isa.h"

enum kn_hz_match {
    VGPR_READ,               /* its VGPR result is read */
    SGPR_READ,               /* its SGPR result is read */
    DATA_OVERWRITE,          /* its store data is overwritten */
    LANE_SELECT,             /* its SGPR result selects a lane */
    VCC_READ, M0_READ, ALWAYS, SAME_HWREG
};

enum kn_hz_producer {
    P_VALU_VGPR, P_VALU_SGPR, P_VALU_EXEC, P_TRANS, P_PARTIAL, P_STORE,
    P_SALU_M0, P_SETREG, P_COUNT
};

enum kn_hz_consumer {
    C_VALU, C_NOT_TRANS, C_VMEM, C_DMA, C_MFMA, C_DPP, C_READLANE, C_LANESEL,
    C_DIV_FMAS, C_PERMLANE, C_GETREG, C_COUNT
};

struct kn_hz_rule {
    uint8_t produce, consume, need, match, target;
    enum kn_severity severity;
    const char *text;
};
enum {
#define RULE(p, c, need, match, target, severity, text) KN_HZ_AT_##p##_##c,
#define MATRIX(id, number, most, verb)
#include "hazard.def"
#undef MATRIX
#undef RULE
    KN_HZ_RULES
};
extern const struct kn_hz_rule kn_hz_rules[KN_HZ_RULES];

/* What an instruction does to the operands of a matrix instruction. */
enum kn_hz_matrix {
    KN_HM_NONE,
#define RULE(p, c, need, match, target, severity, text)
#define MATRIX(id, number, most, verb) KN_HM_##id,
#include "hazard.def"
#undef MATRIX
#undef RULE
    KN_NHZ_MATRIX
};
struct kn_hz_matrix_rule {
    uint8_t advice;          /* most wait states whose lack is advice */
    const char *verb;
};
extern const struct kn_hz_matrix_rule kn_hz_matrix[KN_NHZ_MATRIX];

/* Wait states that must lie between; 0 for KN_HM_NONE. */
unsigned kn_hz_need(const struct kn_mfma_waits *w, enum kn_hz_matrix what);

/* Severity of lacking some of `need` wait states, in an object not of kiln. */
enum kn_severity kn_hz_matrix_severity(enum kn_hz_matrix what, unsigned need);

/* Severity of a broken rule in an object that is kiln's own or not. */
enum kn_severity kn_hz_severity(enum kn_severity rule, bool own);

#endif
