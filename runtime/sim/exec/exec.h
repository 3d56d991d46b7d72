/* exec.h - declarations of the functions that exec.def and the lane tables
 * bind to rows of isa.def. Internal to the exec files. */
#ifndef KN_EXEC_H
#define KN_EXEC_H

#include "../machine.h"
#include "../mfma/mfma.h"

#define EXEC(id, fn) kn_exec_fn fn;
#include "exec.def"
#undef EXEC

#define S1(id, D, A, value, set_scc) kn_exec_fn kn_exec_##id;
#define S2(id, D, A, B, value, set_scc) kn_exec_fn kn_exec_##id;
#define SK(id, value, set_scc) kn_exec_fn kn_exec_##id;
#define SC(id, A, set_scc) kn_exec_fn kn_exec_##id;
#define SX(id, value, keep) kn_exec_fn kn_exec_##id;
#include "salu.def"
#undef S1
#undef S2
#undef SK
#undef SC
#undef SX

kn_exec_fn kn_exec_valu;     /* the frame of lane functions */
kn_exec_fn kn_exec_plain;    /* of what kn_valu_is_plain, exec_plain.c */
bool kn_valu_is_plain(const struct kn_inst *i);
kn_exec_fn kn_exec_packed;
kn_exec_fn kn_exec_scale;    /* v_cvt_scalef32_* */
bool kn_scale_known(unsigned op);

#endif
