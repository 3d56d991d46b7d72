/* exec_lane.c - moves between lanes and to scalar registers. */
#include <stdlib.h>

#include "exec.h"
#include "valu.h"

/* One lane of a vector source, or the scalar. */
static uint32_t
lane_value(const struct kn_wave *w, const struct kn_opnd *o, unsigned lane)
{
    return kn_is_vector(o) ? w->v[kn_vreg(w, o)][lane & 63]
                           : kn_read_s32(w, o);
}

void
kn_exec_readlane(struct kn_wave *w, const struct kn_inst *i)
{
    unsigned lane = kn_read_s32(w, &i->o[2]) & 63;

    kn_write_s32(w, i->o[0].reg, lane_value(w, &i->o[1], lane));
}

/* Lane 0 when no lane is active. */
void
kn_exec_readfirstlane(struct kn_wave *w, const struct kn_inst *i)
{
    uint64_t exec = kn_exec_mask(w);
    unsigned lane = exec ? (unsigned)__builtin_ctzll(exec) : 0;

    kn_write_s32(w, i->o[0].reg, lane_value(w, &i->o[1], lane));
}

void
kn_exec_writelane(struct kn_wave *w, const struct kn_inst *i)
{
    unsigned lane = kn_read_s32(w, &i->o[2]) & 63;

    w->v[kn_vreg(w, &i->o[0])][lane] = kn_read_s32(w, &i->o[1]);
}

void
kn_exec_swap(struct kn_wave *w, const struct kn_inst *i)
{
    uint32_t *a = w->v[kn_vreg(w, &i->o[0])];
    uint32_t *b = w->v[kn_vreg(w, &i->o[1])];

    for (uint64_t m = kn_exec_mask(w); m; m &= m - 1) {
        unsigned l = (unsigned)__builtin_ctzll(m);
        uint32_t t = a[l];

        a[l] = b[l];
        b[l] = t;
    }
}

/* v_permlane32_swap: lanes 32..63 of D change places with lanes 0..31 of S;
 * v_permlane16_swap: odd rows of 16 of D with even rows of S (CDNA4 ISA
 * 12.7). Inactive lanes are read, but not written. */
void
kn_exec_permlane(struct kn_wave *w, const struct kn_inst *i)
{
    unsigned step = i->op == KN_I_v_permlane16_swap_b32 ? 16 : 32;
    uint64_t exec = kn_exec_mask(w);
    uint32_t *d = w->v[kn_vreg(w, &i->o[0])];
    uint32_t *s = w->v[kn_vreg(w, &i->o[1])];

    for (unsigned lo = 0; lo < KN_LANES; lo++) {
        unsigned hi = lo + step;
        uint32_t t = s[lo];

        if (lo & step)
            continue;
        if (exec >> lo & 1)
            s[lo] = d[hi];
        if (exec >> hi & 1)
            d[hi] = t;
    }
}

/* Four sums of masked byte distances, one for each byte offset of S0. */
void
kn_exec_mqsad(struct kn_wave *w, const struct kn_inst *i)
{
    struct kn_valu v;
    uint32_t r[4][KN_LANES];

    if (!kn_is_vector(&i->o[1]) || !kn_is_vector(&i->o[3]) || w->gpr_idx) {
        kn_unsupported(w, i, "operands");
        return;
    }
    kn_valu_begin(&v, w, i);
    for (unsigned l = 0; l < KN_LANES; l++) {
        unsigned a = kn_vreg(w, &i->o[1]), c = kn_vreg(w, &i->o[3]);
        uint64_t s = w->v[a][l] | (uint64_t)w->v[a + 1][l] << 32;
        uint32_t b = lane_value(w, &i->o[2], l);

        for (unsigned k = 0; k < 4; k++) {
            r[k][l] = w->v[c + k][l];
            for (unsigned n = 0; n < 32; n += 8) {
                int x = (int)(s >> (k * 8 + n) & 255), y = (int)(b >> n & 255);

                r[k][l] += y ? (uint32_t)abs(x - y) : 0;
            }
        }
    }
    for (unsigned k = 0; k < 4; k++)
        for (unsigned l = 0; l < KN_LANES; l++)
            if (v.write >> l & 1)
                w->v[kn_vreg(w, &i->o[0]) + k][l] = r[k][l];
}
