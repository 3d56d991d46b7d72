/* exec.c - which function executes a row of isa.def. */
#include "exec.h"
#include "valu.h"

/* v_cmpx_* compare like v_cmp_*; the frame writes EXEC too. */
static kn_lane_fn *const lane_fns[KN_NISA] = {
#define V1(id, D, A, value) [KN_I_##id] = kn_lane_##id,
#define V2(id, D, A, B, value) [KN_I_##id] = kn_lane_##id,
#define V3(id, D, A, B, C, value) [KN_I_##id] = kn_lane_##id,
#define VC(id, A, test) [KN_I_##id] = kn_lane_##id,
#define VF(id) [KN_I_##id] = kn_lane_##id,
#include "valu.def"
#undef V1
#undef V2
#undef V3
#undef VC
#undef VF
};

static kn_exec_fn *const exec_fns[KN_NISA] = {
#define EXEC(id, fn) [KN_I_##id] = fn,
#include "exec.def"
#undef EXEC
#define S1(id, D, A, value, set_scc) [KN_I_##id] = kn_exec_##id,
#define S2(id, D, A, B, value, set_scc) [KN_I_##id] = kn_exec_##id,
#define SK(id, value, set_scc) [KN_I_##id] = kn_exec_##id,
#define SC(id, A, set_scc) [KN_I_##id] = kn_exec_##id,
#define SX(id, value, keep) [KN_I_##id] = kn_exec_##id,
#include "salu.def"
#undef S1
#undef S2
#undef SK
#undef SC
#undef SX
};

/* cmpx rows are named like their cmp row, and next to it in isa.def. */
kn_lane_fn *
kn_lane_of(unsigned op)
{
    if (!lane_fns[op] && kn_isa[op].unit == KN_U_VALU &&
        kn_isa[op].flags & KN_IF_WEXEC)
        op--;
    return lane_fns[op];
}

static kn_exec_fn *
memory_function(const struct kn_isa_row *row)
{
    switch (row->mem) {
    case KN_M_SMEM: return kn_exec_smem;
    case KN_M_BUFFER: return kn_exec_buffer;
    case KN_M_DS: return kn_exec_ds;
    case KN_M_GLOBAL:
    case KN_M_SCRATCH:
    case KN_M_FLAT: return kn_exec_flat;
    default: return NULL;
    }
}

kn_exec_fn *
kn_exec_lookup(unsigned op)
{
    const struct kn_isa_row *row = &kn_isa[op];

    if (row->mem != KN_M_NONE)
        return memory_function(row);
    if (row->flags & KN_IF_MFMA)
        return kn_exec_mfma;
    if (exec_fns[op])
        return exec_fns[op];
    if (row->unit != KN_U_VALU)
        return NULL;
    if (kn_scale_known(op))
        return kn_exec_scale;
    if (!kn_lane_of(op))
        return NULL;
    return row->flags & (KN_IF_PK16 | KN_IF_PK32) ? kn_exec_packed
                                                  : kn_exec_valu;
}

kn_exec_fn *
kn_exec_of(const struct kn_inst *i)
{
    kn_exec_fn *fn = kn_exec_lookup(i->op);

    return fn == kn_exec_valu && kn_valu_is_plain(i) ? kn_exec_plain : fn;
}
