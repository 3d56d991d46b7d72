/* exec_plain.c - vector instructions of whole dwords with nothing around their
 * lanes: no modifier, no rounding or flushing of MODE, every lane active. Most
 * of a kernel's are such; all others, and those whose result holds the host's
 * NaN, go through the frame of exec_valu.c. */
#include "exec.h"
#include "valu.h"

/* Are all letters those of dwords, and as many as there are operands? */
static bool
is_dwords(const struct kn_inst *i)
{
    const char *s = kn_isa[i->op].sig;
    size_t n = strlen(s);

    return n >= 3 && n <= 5 && s[1] == '=' && n == i->nopnd + 1u &&
           strspn(s, "if") == 1 && strspn(s + 2, "if") == n - 2;
}

bool
kn_valu_is_plain(const struct kn_inst *i)
{
    const uint64_t odd = KN_IF_RVCC | KN_IF_WEXEC | KN_IF_TRANS |
                         KN_IF_PARTIAL | KN_IF_PK16 | KN_IF_PK32;

    if (i->enc == KN_E_DPP || i->enc == KN_E_SDWA || kn_is_vop3p(i) ||
        i->omod || i->clamp || i->op_sel || i->rmw || i->ndst != 1)
        return false;
    for (unsigned k = 0; k < i->nopnd; k++)
        if (i->o[k].neg || i->o[k].abs)
            return false;
    return !(kn_isa[i->op].flags & odd) && !kn_valu_has_place(i->op) &&
           is_dwords(i) && kn_is_vector(&i->o[0]) && kn_lane_of(i->op);
}

/* MODE and EXEC ask for nothing either. */
static bool
is_plain_now(const struct kn_wave *w)
{
    const uint32_t kept = KN_MODE_DENORM_IN32 | KN_MODE_DENORM_OUT32;
    const uint32_t round = 15u << KN_MODE_ROUND32;

    return !w->gpr_idx && (w->mode & (kept | round)) == kept &&
           kn_exec_mask(w) == UINT64_MAX;
}

void
kn_exec_plain(struct kn_wave *w, const struct kn_inst *i)
{
    uint32_t buf[3][KN_LANES], out[KN_LANES];
    uint32_t *to = w->v[kn_vreg(w, &i->o[0]) % KN_NVREG];
    struct kn_lanes x = { .d = to, .target = w->group->target,
                          .ieee = w->mode & KN_MODE_IEEE,
                          .ovfl = w->mode & KN_MODE_FP16_OVFL,
                          .bitop3 = i->bitop3 };

    if (!is_plain_now(w)) {
        kn_exec_valu(w, i);
        return;
    }
    for (unsigned k = 0; k + 1u < i->nopnd; k++) {
        const struct kn_opnd *o = &i->o[k + 1];
        const uint32_t *row = buf[k];

        if (kn_is_vector(o))
            row = w->v[kn_vreg(w, o) % KN_NVREG];
        else
            kn_splat(buf[k], kn_read_s32(w, o));
        x.s[k] = row;
        if (row == to)       /* lane functions write beside what they read */
            x.d = out;
    }
    kn_lane_of(i->op)(&x);
    if (kn_isa[i->op].sig[0] == 'f' && kn_any_default_nan(x.d))
        kn_exec_valu(w, i);
    else if (x.d == out)
        memcpy(to, out, sizeof out);
}
