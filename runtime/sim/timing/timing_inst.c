/* timing_inst.c - static costs of instructions, and the constants. */
#include <math.h>
#include <stdlib.h>

#include "../mfma/mfma.h"
#include "timing_impl.h"

void
kn_time_chip_of(kiln_target t, struct kn_time_chip *out)
{
    static const struct kn_time_chip chips[KILN_NTARGETS] = {
        { 0 },
#define X(name, gfx942, gfx950, unit, source) .name = gfx942,
        {
#include "timing.def"
        },
#undef X
#define X(name, gfx942, gfx950, unit, source) .name = gfx950,
        {
#include "timing.def"
        },
#undef X
    };

    *out = chips[t];
}

/* ---- other constants for one prediction ---------------------------------- */

static double *
find_constant(struct kn_time_chip *chip, const char *name, size_t n)
{
    struct { const char *name; double *at; } all[] = {
#define X(name, gfx942, gfx950, unit, source) { #name, &chip->name },
#include "timing.def"
#undef X
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strlen(all[i].name) == n && !memcmp(all[i].name, name, n))
            return all[i].at;
    return NULL;
}

static double
most_of(double usual)
{
    return usual * (double)KN_CONSTANT_REACH;
}

/* Clocks and counts are whole numbers somewhere: from 1. */
static double
least_of(double usual)
{
    double v = usual / (double)KN_CONSTANT_REACH;

    return usual >= 1 && v < 1 ? 1 : v;
}

kiln_status
kn_time_chip_with(struct kn_ctx *c, const char *constants,
                  struct kn_time_chip *chip)
{
    const struct kn_time_chip own = *chip;

    for (const char *s = constants; s && *s;) {
        size_t n = strcspn(s, "=,"), all = strcspn(s, ",");
        double *at = find_constant(chip, s, n), usual, v;
        char *end;

        if (!at)
            return kn_fail(c, KILN_BAD_INPUT, "'%.*s' is no constant of the "
                           "timing model (runtime/sim/timing/timing.def)",
                           (int)n, s);
        usual = *(const double *)((const char *)&own +
                                  ((const char *)at - (const char *)chip));
        v = n < all ? strtod(s + n + 1, &end) : NAN;
        if (n == all || end != s + all ||
            !(v >= least_of(usual) && v <= most_of(usual)))
            return kn_fail(c, KILN_BAD_INPUT, "'%.*s': %.*s is a number from %g "
                           "to %g, %g of its own", (int)all, s, (int)n, s,
                           least_of(usual), most_of(usual), usual);
        *at = v;
        s += all + (s[all] == ',');
    }
    return KILN_OK;
}

const char *
kn_stall_name(enum kn_stall s)
{
    static const char *const names[] = {
#define X(id, text) text,
        KN_STALLS(X)
#undef X
    };

    return names[s];
}

const char *
kn_bound_name(enum kn_time_bound b)
{
    static const char *const names[] = {
#define X(id, text) text,
        KN_BOUNDS(X)
#undef X
    };

    return names[b];
}

/* ---- matrix instructions ------------------------------------------------ */

static unsigned
type_bits(enum kn_mfma_type t, unsigned format)
{
    switch (t) {
    case KN_MT_FP8:
    case KN_MT_BF8:
    case KN_MT_I8: return 8;
    case KN_MT_F8F6F4: return format < 2 ? 8 : 4;
    default: return 16;
    }
}

/* f6 runs at the rate of f4 and counts as it. */
static unsigned
mfma_width(kiln_target t, const struct kn_inst *i)
{
    const struct kn_mfma *r = kn_mfma_of(t, i->op);
    unsigned a, b;

    if (!r)
        return 16;
    a = type_bits(r->a, i->cbsz);
    b = type_bits(r->b, i->blgp);
    return a > b ? a : b;
}

/* ---- classes ------------------------------------------------------------ */

static unsigned
internal_class(const struct kn_inst *i, unsigned op)
{
    switch (op) {
    case KN_I_s_waitcnt: return KN_TC_WAIT;
    case KN_I_s_barrier: return KN_TC_BARRIER;
    case KN_I_s_nop: return KN_TC_NOP;
    case KN_I_s_setprio: return KN_TC_PRIO;
    default:
        return kn_isa[i->op].flags & KN_IF_END ? KN_TC_END : KN_TC_INTERNAL;
    }
}

static unsigned
class_of(const struct kn_inst *i)
{
    const struct kn_isa_row *row = &kn_isa[i->op];

    switch (row->unit) {
    case KN_U_SALU: return KN_TC_SALU;
    case KN_U_VALU:
        return row->flags & KN_IF_PK32 ? KN_TC_PACKED : KN_TC_VALU;
    case KN_U_MFMA: return KN_TC_MFMA;
    case KN_U_VMEM: return KN_TC_VMEM;
    case KN_U_SMEM: return KN_TC_SMEM;
    case KN_U_LDS: return KN_TC_LDS;
    case KN_U_BRANCH: return KN_TC_BRANCH;
    default: return internal_class(i, i->op);
    }
}

/* Scalar memory shares the slot of the SALU, matrix ops that of the VALU. */
static unsigned
port_of(unsigned unit)
{
    return unit == KN_U_SMEM ? KN_U_SALU : unit == KN_U_MFMA ? KN_U_VALU : unit;
}

static void
vector_cost(const struct kn_time_model *m, const struct kn_inst *i,
            struct kn_time_inst *t)
{
    const struct kn_isa_row *row = &kn_isa[i->op];
    const char *mn = row->mnemonic;
    double clk = m->chip.valu;

    if (row->flags & KN_IF_TRANS)
        clk = m->chip.valu_trans;
    else if (strstr(mn, "_f64"))
        clk = m->chip.valu_f64;
    t->busy = t->next = (uint16_t)clk;
}

static void
memory_cost(const struct kn_time_model *m, const struct kn_inst *i,
            struct kn_time_inst *t)
{
    const struct kn_isa_row *row = &kn_isa[i->op];

    t->store = row->store || (row->atomic && !i->sc0 && !i->glc);
    t->dma = i->lds || row->flags & KN_IF_DMA;
    t->shared = row->atomic || (t->cls == KN_TC_SMEM && i->glc && !row->store);
    t->counters = row->counter;
    t->busy = (uint16_t)(row->bytes > 4 ? m->chip.vmem_wide
                                        : m->chip.vmem_narrow);
}

static void
classify(const struct kn_time_model *m, uint32_t k, struct kn_time_inst *t)
{
    const struct kn_inst *i = &m->program.inst[k];

    t->cls = (uint8_t)class_of(i);
    t->port = (uint8_t)port_of(kn_isa[i->op].unit);
    t->vm = i->vm;
    t->lgkm = i->lgkm;
    t->next = (uint16_t)m->chip.slot;
    t->line = (uint32_t)((i->pc - m->program.inst[0].pc) / 64);
    if (t->cls == KN_TC_MFMA) {
        t->busy = (uint16_t)kn_mfma_cycles(m->program.target, i);
        t->width = (uint8_t)mfma_width(m->program.target, i);
    } else if (t->cls == KN_TC_VALU || t->cls == KN_TC_PACKED) {
        vector_cost(m, i, t);
    } else if (kn_isa[i->op].mem != KN_M_NONE) {
        memory_cost(m, i, t);
    } else if (t->cls == KN_TC_NOP) {
        t->next = (uint16_t)(((i->raw[0] & 15) + 1) * m->chip.slot);
    } else if (t->cls == KN_TC_PRIO) {
        t->arg = i->raw[0] & 3;
    }
}

kiln_status
kn_time_classify(struct kn_time_model *m)
{
    KN_TRY(kn_cfg_build(m->c, &m->program, &m->cfg));
    m->inst = KN_NEW(m->c, struct kn_time_inst, m->program.n);
    for (uint32_t k = 0; k < m->program.n; k++)
        classify(m, k, &m->inst[k]);
    return KILN_OK;
}

/* ---- main loop ---------------------------------------------------------- */

/* Matrix clocks a wave spent in each loop's own blocks; without any matrix
 * operation in a loop, its instructions. */
static void
weigh_loops(const struct kn_time_model *m, const struct kn_time_wave *w,
            double *weight)
{
    const struct kn_cfg *g = &m->cfg;

    for (size_t k = 0; k < w->n; k++) {
        uint32_t inst = w->event[k].inst;
        int32_t loop = g->blocks[g->block_of[inst]].loop;

        if (loop < 0)
            continue;
        weight[loop] += m->inst[inst].cls == KN_TC_MFMA
                            ? 1e3 * m->inst[inst].busy : 1e-3;
    }
}

static int32_t
heaviest(const double *weight, uint32_t n)
{
    int32_t best = -1;

    for (uint32_t k = 0; k < n; k++)
        if (weight[k] > 0 && (best < 0 || weight[k] > weight[best]))
            best = (int32_t)k;
    return best;
}

/* Waves may run copies of the loop (half a phase apart): the heaviest loop of
 * each wave counts as main loop. */
void
kn_time_find_loops(struct kn_time_model *m, const struct kn_time_record *r)
{
    const struct kn_cfg *g = &m->cfg;
    double *weight = KN_NEW(m->c, double, g->nloops + 1);

    for (uint32_t w = 0; w < r->nwaves; w++) {
        int32_t loop;

        memset(weight, 0, g->nloops * sizeof *weight);
        weigh_loops(m, &r->wave[w], weight);
        loop = heaviest(weight, g->nloops);
        if (loop < 0)
            continue;
        m->inst[g->blocks[g->loops[loop].header].first].head = true;
        for (uint32_t k = 0; k < m->program.n; k++)
            m->inst[k].in_loop |= kn_loop_contains(g, (uint32_t)loop, k);
    }
}
