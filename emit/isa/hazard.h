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
    const char *text;
};
enum {
#define RULE(p, c, need, match, target, text) KN_HZ_AT_##p##_##c,
#include "hazard.def"
#undef RULE
    KN_HZ_RULES
};
extern const struct kn_hz_rule kn_hz_rules[KN_HZ_RULES];

#endif
