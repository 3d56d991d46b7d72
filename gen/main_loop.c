/* main_loop.c - the main loops: which a configuration takes, what they ask of it,
 * and the parameters of their unrolling. */
#include "instantiate.h"

/* Main loops by schedule, direct-to-LDS or through registers, and stages. */
static const char *const loops[KN_NSCHEDULES][2][KN_MAX_STAGES + 1] = {
#define DIRECT(name) { NULL, NULL, name, name, name, name, name, name, name }
    [KN_SCHED_SIMPLE] = { { NULL, "loop_regs1", "loop_regs2" },
                          DIRECT("loop_direct") },
    [KN_SCHED_INTERLEAVE] = { { NULL }, DIRECT("loop_interleave") },
    [KN_SCHED_PINGPONG] = { { NULL }, DIRECT("loop_pingpong") },
    [KN_SCHED_DEEP] = { { NULL, "loop_deep1" }, { NULL, NULL, "loop_deep" } },
    [KN_SCHED_STREAM] = { { NULL, NULL, "loop_stream" },
                          { NULL, NULL, "loop_stream" } },
    [KN_SCHED_WHOLE] = { DIRECT("loop_whole"), DIRECT("loop_whole") },
#undef DIRECT
};

bool
kn_fold_lines(const kiln_problem *p, const struct kn_config *g)
{
    bool six = kn_type_bits[p->a] == 6 || kn_type_bits[p->b] == 6;

    return six && g->schedule == KN_SCHED_PINGPONG && g->stages == 1 &&
           g->bk == 256 && g->bm == 256 && g->bn == 256 && g->wm == 2 &&
           g->wn == 4 && !g->domain.ktail && !p->b_layout && kn_super(p, g);
}

bool
kn_lines(const kiln_problem *p, const struct kn_config *g)
{
    bool six = kn_type_bits[p->a] == 6 || kn_type_bits[p->b] == 6;

    return six && g->schedule == KN_SCHED_DEEP && g->stages == 2 &&
           g->bk == 128 && g->bm == 256 && g->bn == 256 && g->wm == 2 &&
           g->wn == 2 && !g->domain.ktail && !p->b_layout && !g->cus &&
           kn_direct(p, g) && kn_super(p, g);
}

/* Each SIMD has a wave of each half if there are eight; four turns of a K tile
 * of 128 bytes a row of the wider type, of 6-bit types 96; copies in halves. */
static bool
pingpong(const kiln_problem *p, const struct kn_config *g)
{
    uint32_t a = kn_type_bits[p->a], b = kn_type_bits[p->b];
    uint32_t row = g->bk * (a > b ? a : b) / 8;

    return kn_direct(p, g) && g->wm * g->wn == 8 && g->bm / g->wm >= 64 && g->bn / g->wn >= 64 &&
           (((row == 128 || row == 96) && g->stages == 2) || kn_fold_lines(p, g)) &&
           p->family != KILN_MOE &&
           (p->scale != KILN_SCALE_MX32 || kn_super(p, g));
}

/* Through registers: rows of 128 bytes, so that a tile is two K steps. */
static bool
deep_regs(const kiln_problem *p, const struct kn_config *g)
{
    return p->scale < KILN_SCALE_BLOCK128 && !kn_prequant(p) &&
           p->family != KILN_MOE && g->bk * kn_type_bits[p->a] == 1024;
}

const char *
kn_stream_lacks(const kiln_problem *p, const struct kn_config *g)
{
    const struct kn_domain *d = &g->domain;
    bool mx = p->scale == KILN_SCALE_MX32;
    int a = kn_type_bits[p->a], b = kn_type_bits[p->b];

    if (p->layout != KILN_NT || kn_dequant(p) || kn_prequant(p) || p->quant ||
        p->scale == KILN_SCALE_BLOCK128)
        return "takes operands as they are stored, along K, without 128-block "
               "scales";
    if (b == 6 && p->b_layout)
        return "takes 6-bit weights in plain rows";
    if (d->align_a < 4 || d->align_b < 4 ||
        (mx && (d->align_sa < 4 || d->align_sb < 4 || g->bk % 128)))
        return "needs rows aligned to dwords, scales too, and with these a "
               "tile K of whole 128";
    if (d->ktail && (p->k * a % 128 || p->k * b % 128))
        return "needs a K of whole 16 bytes";
    if (g->lowering == KN_LOWERING_ASM || g->store == KN_STORE_LDS)
        return "has neither the assembly lowering nor stores through LDS";
    if (d->windows)
        return "reaches rows of up to 2 GiB";
    if (g->schedule == KN_SCHED_WHOLE && g->split_k > 1)
        return "and takes K whole does not divide it";
    if (g->schedule == KN_SCHED_WHOLE && g->stages &&
        p->k > (int64_t)g->stages * g->bk)
        return "and takes K whole needs a stage for each tile of it";
    return NULL;
}

const char *
kn_loop_of(const kiln_problem *p, const struct kn_config *g)
{
    if (g->stages > KN_MAX_STAGES ||
        (g->schedule != KN_SCHED_SIMPLE &&
         p->scale == KILN_SCALE_BLOCK128))
        return NULL;
    if (g->schedule == KN_SCHED_PINGPONG && !pingpong(p, g))
        return NULL;
    if (kn_streams(g) && kn_stream_lacks(p, g))
        return NULL;
    if (g->schedule == KN_SCHED_DEEP && !kn_direct(p, g) && !deep_regs(p, g))
        return NULL;
    if (kn_fold_lines(p, g))
        return "loop_fold";
    if (kn_lines(p, g))
        return "loop_line";
    if (g->schedule == KN_SCHED_PINGPONG && p->scale < KILN_SCALE_BLOCK128 &&
        (uint32_t)kn_mfmas[kn_pick_mfma(p)].k == g->bk)
        return "loop_eager";
    return loops[g->schedule][kn_direct(p, g)][g->stages];
}

/* File of a configuration's main loop. */
const char *
kn_loop_file(const kiln_problem *p, const struct kn_config *g)
{
    static const char *const files[KN_NSCHEDULES] = {
        [KN_SCHED_SIMPLE] = "loop_simple",
        [KN_SCHED_INTERLEAVE] = "loop_interleave",
        [KN_SCHED_PINGPONG] = "loop_8wave",
        [KN_SCHED_DEEP] = "loop_4wave",
        [KN_SCHED_STREAM] = "loop_direct",
        [KN_SCHED_WHOLE] = "loop_direct",
    };

    if (kn_fold_lines(p, g))
        return "loop_8wave_packed";
    if (kn_lines(p, g))
        return "loop_4wave_packed";
    if (g->schedule == KN_SCHED_DEEP && !kn_direct(p, g))
        return "loop_4wave_regs";
    return files[g->schedule] ? files[g->schedule] : "";
}

uint32_t
kn_b_sets(const kiln_problem *p, const struct kn_config *g)
{
    return kn_super(p, g) && p->a != KILN_MXFP4 ? 1 : 2;
}

bool
kn_pairs(const kiln_problem *p, const struct kn_config *g)
{
    return p->scale_layout && g->schedule == KN_SCHED_DEEP && g->bk == 256 &&
           p->family != KILN_MOE;
}

uint32_t
kn_super(const kiln_problem *p, const struct kn_config *g)
{
    if (p->scale != KILN_SCALE_MX32 ||
        (g->schedule != KN_SCHED_INTERLEAVE &&
         g->schedule != KN_SCHED_PINGPONG && g->schedule != KN_SCHED_DEEP) ||
        g->stages != (kn_folds(g) ? 1 : 2) ||
        p->family == KILN_MOE || p->scale_layout ||
        g->domain.align_sa < 4 || g->domain.align_sb < 4 || g->bk > 256)
        return 0;
    return kn_super_k(g) / g->bk;
}

uint32_t
kn_shares(const struct kn_config *g, const struct kn_frag *a)
{
    if (kn_folds(g))
        return 4;
    if (g->schedule == KN_SCHED_PINGPONG)
        return 4 / (a->ksteps < 4 ? a->ksteps : 4);
    return a->count >= 4 && a->ksteps > 1 ? a->count / 2 : a->count;
}
