/* loops.c - work and bound of a loop from its instructions. */
#include <stdlib.h>
#include <string.h>

#include "inspect.h"

/* "v_mfma_f32_16x16x32_bf16", "..._32x32x4_2b_f16": M, N, K, blocks. */
uint64_t
kn_inst_flops(const struct kn_inst *i)
{
    const char *s = kn_isa[i->op].mnemonic;
    uint64_t size[3] = { 0 }, blocks = 1;
    char *end;
    int n = 0;

    if (!(kn_isa[i->op].flags & (KN_IF_MFMA | KN_IF_SMFMAC)))
        return 0;
    for (s = strchr(s + 2, '_'); s && n < 3; s = end) {
        uint64_t v = strtoull(s + 1, &end, 10);

        if (end > s + 1 && (*end == 'x' || n == 2))
            size[n++] = v;
        else
            end = strchr(s + 1, '_');
    }
    if (s && *s == '_') {
        blocks = strtoull(s + 1, &end, 10);
        if (end == s + 1 || *end != 'b')
            blocks = 1;
    }
    return 2 * size[0] * size[1] * size[2] * blocks;
}

/* ---- the bound ---- */

static bool
writes(const struct kn_inst *i, unsigned reg)
{
    for (int k = 0; k < i->ndst; k++)
        if (i->o[k].kind == KN_O_SGPR && reg >= i->o[k].reg &&
            reg < i->o[k].reg + (unsigned)i->o[k].width)
            return true;
    return false;
}

/* The comparison a loop's back edge depends on, -1 if there is none. */
static int32_t
find_compare(const struct kn_cfg *g, uint32_t loop)
{
    const struct kn_loop *l = &g->loops[loop];
    uint32_t last = 0;

    for (uint32_t k = 0; k < l->nblocks; k++) {
        const struct kn_block *b = &g->blocks[l->blocks[k]];

        if (b->succ[0] == (int32_t)l->header ||
            b->succ[1] == (int32_t)l->header)
            last = b->end;
    }
    while (last-- > g->blocks[l->header].first)
        if (kn_isa[g->p->inst[last].op].flags & KN_IF_WSCC &&
            !g->p->inst[last].ndst)
            return (int32_t)last;
    return -1;
}

static bool
step_of(const struct kn_inst *i, int64_t *by)
{
    bool minus = i->op == KN_I_s_sub_i32 || i->op == KN_I_s_sub_u32;

    if (i->op == KN_I_s_addk_i32 && i->o[i->nopnd - 1].kind == KN_O_IMM) {
        *by = (int16_t)i->o[i->nopnd - 1].imm;
        return true;
    }
    if ((i->op != KN_I_s_add_i32 && i->op != KN_I_s_add_u32 && !minus) ||
        i->nopnd != 3 || i->o[2].kind != KN_O_IMM ||
        i->o[1].kind != KN_O_SGPR || i->o[1].reg != i->o[0].reg)
        return false;
    *by = minus ? -(int32_t)i->o[2].imm : (int32_t)i->o[2].imm;
    return true;
}

/* The only step of the counter in the loop and its start before it. */
static bool
find_course(const struct kn_cfg *g, uint32_t loop, unsigned reg,
            int64_t *start, int64_t *by)
{
    uint32_t first = g->blocks[g->loops[loop].header].first, steps = 0;

    for (uint32_t i = 0; i < g->p->n; i++)
        if (kn_loop_contains(g, loop, i) && writes(&g->p->inst[i], reg)) {
            steps++;
            if (!step_of(&g->p->inst[i], by))
                return false;
        }
    if (steps != 1 || !*by)
        return false;
    while (first-- > 0) {
        const struct kn_inst *i = &g->p->inst[first];

        if (!writes(i, reg))
            continue;
        *start = i->o[i->nopnd - 1].imm;
        return (i->op == KN_I_s_mov_b32 || i->op == KN_I_s_movk_i32 ||
                i->op == KN_I_s_mov_b64) &&
               i->o[i->nopnd - 1].kind == KN_O_IMM;
    }
    return false;
}

uint64_t
kn_loop_bound(const struct kn_cfg *g, uint32_t loop, int *end)
{
    int32_t at = find_compare(g, loop);
    const struct kn_inst *i = at >= 0 ? &g->p->inst[at] : NULL;
    int64_t start = 0, by = 0, distance;
    int reg;

    *end = -1;
    if (!i || i->nopnd < 2)
        return 0;
    reg = i->o[0].kind == KN_O_SGPR ? 0 : 1;
    if (i->o[reg].kind != KN_O_SGPR)
        return 0;
    if (i->o[1 - reg].kind != KN_O_IMM ||
        !find_course(g, loop, i->o[reg].reg, &start, &by)) {
        *end = i->o[i->o[1].kind == KN_O_SGPR ? 1 : 0].reg;
        return 0;
    }
    distance = i->o[1 - reg].imm - start;
    return distance / by > 0 ? (uint64_t)((distance + by - (by > 0 ? 1 : -1)) /
                                          by) : 0;
}
