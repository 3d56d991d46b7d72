/* timing_launch.c - from one compute unit to the launch: which workgroups
 * share a CU, how many rounds there are, what L2 and memory give each CU, and
 * the clock the chip holds at this load. */
#include "timing_cu.h"


/* ---- occupancy ---------------------------------------------------------- */

static uint64_t
round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* Workgroups a CU has room for: registers, LDS, wave slots. */
static uint32_t
occupancy(const struct kn_time_model *m)
{
    uint32_t regs = m->kernel->regs ? m->kernel->regs : 8;
    uint32_t waves = 512 / regs;         /* a SIMD */
    uint64_t lds = round_up(m->lds, (uint64_t)m->chip.lds_granule), n;

    if (waves > (uint32_t)m->chip.waves_per_simd)
        waves = (uint32_t)m->chip.waves_per_simd;
    n = 4 * waves / m->nwaves;
    if (lds && (uint64_t)m->chip.lds_bytes / lds < n)
        n = (uint64_t)m->chip.lds_bytes / lds;
    return n ? (uint32_t)n : 1;
}

/* ---- the chip around a CU ----------------------------------------------- */

struct load {                /* of the chip while `cus` CUs are busy */
    double cus;
    struct kn_time_reuse reuse;
    bool warm;               /* nothing read reaches HBM */
    double rate;             /* bytes a clk that each of them reads */
};

static double
least(double a, double b)
{
    return a < b ? a : b;
}

/* Workgroups that share lines ask for them at the same time, so each of them
 * waits as long as the first; a queue grows with the traffic of the memory. */
static double
latency_ns(const struct kn_time_model *m, const struct load *l, double ghz)
{
    const struct kn_time_chip *c = &m->chip;
    double traffic = l->rate * l->cus * l->reuse.hbm * ghz / 1e3;

    if (l->warm)
        return c->mall_latency;
    return c->hbm_latency + least(1, traffic / c->hbm_read) * c->hbm_queue;
}

static void
make_env(const struct kn_time_model *m, const struct load *l, double ghz,
         struct kn_time_env *e)
{
    const struct kn_time_chip *c = &m->chip;
    double xcd = l->cus / c->xcds < 1 ? 1 : l->cus / c->xcds;

    e->ghz = ghz;
    e->latency = latency_ns(m, l, ghz) * ghz;
    e->read = least(64, c->l2_read / xcd);
    if (l->reuse.l2_miss > 0)
        e->read = least(e->read, c->mall_read * 1e3 / ghz / l->cus /
                                     l->reuse.l2_miss);
    if (l->reuse.hbm > 0)
        e->read = least(e->read, c->hbm_read * 1e3 / ghz / l->cus /
                                     l->reuse.hbm);
    e->write = least(least(64, c->l2_write / xcd),
                     c->hbm_write * 1e3 / ghz / l->cus);
}

/* Power: the more of the time matrix pipes run, the lower the clock. */
static double
clock_at(const struct kn_time_model *m, const struct kn_time_record *r,
         double duty)
{
    const struct kn_time_chip *c = &m->chip;
    double low = c->fmax - c->clock_low * duty;
    double base[3] = { c->clock16_base, c->clock8_base, c->clock4_base };
    double slope[3] = { c->clock16_slope, c->clock8_slope, c->clock4_slope };
    double all = r->mfma[0] + r->mfma[1] + r->mfma[2], f = 0;

    if (all <= 0)
        return c->fmax;
    for (int k = 0; k < 3; k++)
        f += r->mfma[k] / all * (base[k] - slope[k] * duty);
    return least(c->fmax, f > low ? f : low);
}

/* ---- rounds ------------------------------------------------------------- */

struct plan {
    uint32_t resident;
    double rounds;           /* a started one counts; of unequal workgroups:
                                the busiest slot, in recorded ones */
    uint64_t whole, rest;    /* full rounds; workgroups left over */
    bool uniform;
    double *len;
};

/* The slot at the top of the heap has a later time now. */
static void
sink(double *heap, size_t n)
{
    size_t k = 0;

    for (;;) {
        size_t l = 2 * k + 1, low = k;
        double t;

        if (l < n && heap[l] < heap[low])
            low = l;
        if (l + 1 < n && heap[l + 1] < heap[low])
            low = l + 1;
        if (low == k)
            return;
        t = heap[k];
        heap[k] = heap[low];
        heap[low] = t;
        k = low;
    }
}

/* Workgroups of unequal length go to whichever slot is free first, on the
 * chiplet of their number. */
static double
schedule(struct kn_time_model *m, const struct plan *p, double unit)
{
    unsigned xcds = (unsigned)m->chip.xcds;
    size_t slots = (size_t)(m->chip.cus / m->chip.xcds) * p->resident;
    double *heap = KN_NEW(m->c, double, slots), end = 0;

    for (unsigned x = 0; x < xcds; x++) {
        memset(heap, 0, slots * sizeof *heap);
        for (uint64_t g = x; g < m->groups; g += xcds) {
            heap[0] += p->len[g] / unit;
            end = heap[0] > end ? heap[0] : end;
            sink(heap, slots);
        }
    }
    return end;
}

static kiln_status
plan_rounds(struct kn_time_model *m, struct plan *p)
{
    uint64_t slots;

    p->len = KN_NEW(m->c, double, m->groups);
    KN_TRY(kn_time_find_lengths(m, p->len, &p->uniform));
    p->resident = occupancy(m);
    slots = (uint64_t)m->chip.cus;
    if (m->groups < slots * p->resident)
        p->resident = (uint32_t)((m->groups + slots - 1) / slots);
    slots *= p->resident;
    p->whole = m->groups / slots;
    p->rest = m->groups % slots;
    p->rounds = (double)(p->whole + (p->rest != 0));
    return KILN_OK;
}

/* ---- one prediction ----------------------------------------------------- */

struct predict {
    struct kn_time_model m;
    struct plan plan;
    struct load full, tail;
    struct kn_time_record record;
    struct kn_time_env env;
    struct kn_time_cu cu;
    double ghz, cycles, duty, us;
};

/* The workgroup whose length is nearest the mean of the long ones. */
static uint64_t
representative(const struct predict *p)
{
    uint64_t best = 0;

    for (uint64_t g = 1; !p->plan.uniform && g < p->m.groups; g++)
        if (p->plan.len[g] > p->plan.len[best])
            best = g;
    return best;
}

static kiln_status
replay_at(struct predict *p, struct load *l, uint32_t resident,
          struct kn_time_cu *out)
{
    make_env(&p->m, l, p->ghz, &p->env);
    p->env.resident = resident;
    KN_TRY(kn_time_replay(&p->m, &p->record, &p->env, NULL, out));
    if (out->cycles > 0)
        l->rate = 0.5 * (l->rate + out->read / out->cycles);
    return KILN_OK;
}

static kiln_status
launch_cycles(struct predict *p, double *cycles)
{
    struct kn_time_cu tail;
    uint64_t cus = (uint64_t)p->m.chip.cus;
    uint32_t left = (uint32_t)((p->plan.rest + cus - 1) / cus);

    KN_TRY(replay_at(p, &p->full, p->plan.resident, &p->cu));
    if (!p->plan.uniform) {
        p->plan.rounds = schedule(&p->m, &p->plan,
                                  p->plan.len[representative(p)]);
        *cycles = p->cu.cycles * p->plan.rounds;
        return KILN_OK;
    }
    *cycles = p->cu.cycles * (double)p->plan.whole;
    if (!p->plan.rest)
        return KILN_OK;
    if (!p->plan.whole || left == p->plan.resident) {
        *cycles += p->cu.cycles;
        return KILN_OK;
    }
    KN_TRY(replay_at(p, &p->tail, left, &tail));
    *cycles += tail.cycles;
    return KILN_OK;
}

/* Mean work of a workgroup relative to the recorded one. */
static double
mean_length(const struct predict *p)
{
    double sum = 0;

    if (p->plan.uniform)
        return 1;
    for (uint64_t g = 0; g < p->m.groups; g++)
        sum += p->plan.len[g];
    return sum / (double)p->m.groups / p->plan.len[representative(p)];
}

/* Clock, duty and latency depend on each other; four turns settle them. */
static kiln_status
settle(struct predict *p)
{
    double mfma = 0, groups = (double)p->m.groups * mean_length(p);

    for (int k = 0; k < 3; k++)
        mfma += p->record.mfma[k];
    mfma *= groups / 4 / p->m.chip.cus;  /* clk of a SIMD, mean of the chip */
    p->ghz = p->m.chip.fmax;
    p->full.rate = p->tail.rate = 30;
    for (int turn = 0; turn < 4; turn++) {
        KN_TRY(launch_cycles(p, &p->cycles));
        p->us = p->cycles / p->ghz / 1e3 + p->m.chip.launch;
        p->duty = mfma / (p->us * p->ghz * 1e3);
        p->ghz = clock_at(&p->m, &p->record, p->duty);
        p->us = p->cycles / p->ghz / 1e3 + p->m.chip.launch;
    }
    return KILN_OK;
}

/* ---- result ------------------------------------------------------------- */

/* Of all waves in the main loop, where waits are counted. */
static double
loop_time(const struct kn_time_cu *u)
{
    return (u->left - u->entered) * u->waves;
}

/* Without waits for the pipe that a wave keeps busy itself: those of a good
 * loop. */
static void
find_hot(const struct predict *p, struct kn_time_result *out)
{
    double all = loop_time(&p->cu);
    size_t n = (size_t)p->m.program.n * KN_NSTALLS;

    for (size_t k = KN_W_MFMA; k < n; k += KN_NSTALLS)
        p->cu.inst_wait[k] = 0;
    while (all > 0 && out->nhot < KN_TIME_HOT) {
        size_t best = 0;
        uint32_t inst;

        for (size_t k = 1; k < n; k++)
            if (p->cu.inst_wait[k] > p->cu.inst_wait[best])
                best = k;
        if (p->cu.inst_wait[best] < 0.002 * all)
            return;
        inst = (uint32_t)(best / KN_NSTALLS);
        out->hot[out->nhot++] = (struct kn_time_hot){
            inst, p->m.program.inst[inst].pc,
            (enum kn_stall)(best % KN_NSTALLS), p->cu.inst_wait[best] / all,
            p->m.q->place ? p->m.q->place[inst] : NULL
        };
        p->cu.inst_wait[best] = 0;
    }
}

static enum kn_time_bound
find_bound(const struct predict *p, const struct kn_time_result *r)
{
    double loop = loop_time(&p->cu) / p->cu.waves * p->plan.rounds;
    double memory = p->cu.read * p->plan.resident / p->env.read;

    if (loop < 0.5 * r->us * p->ghz * 1e3)
        return KN_B_LAUNCH;
    if (r->mfma_efficiency > 0.85)
        return KN_B_MFMA;
    if (r->busy_lds > 0.85)
        return KN_B_LDS;
    if (r->busy_vmem > 0.85)
        return KN_B_VMEM;
    if (memory > 0.8 * p->cu.cycles)
        return p->env.read < 0.9 * p->m.chip.l2_read * p->m.chip.xcds /
                                 p->full.cus ? KN_B_HBM : KN_B_VMEM;
    if (r->stall[KN_W_ISSUE] + r->stall[KN_W_NOP] + r->stall[KN_W_VALU] +
            r->stall[KN_W_SHADOW] > 0.3)
        return KN_B_ISSUE;
    return KN_B_LATENCY;
}

static void
take_loop(const struct predict *p, struct kn_time_result *out)
{
    const struct kn_time_cu *u = &p->cu;
    double span = u->span;

    out->loop_iterations = u->heads;
    if (!u->steady || span <= 0)
        return;
    out->loop_cycles = span / (double)u->steady;
    out->mfma_efficiency = u->loop_mfma / span;
    out->busy_lds = least(1, u->loop_lds / span);
    out->busy_vmem = least(1, u->loop_vmem / span);
    for (unsigned k = 0; k < KN_NSTALLS; k++)
        out->stall[k] = least(1, u->waiting[k] / loop_time(u));
}

/* Of the matrix operations that ran, all pipes busy at the boost clock. */
static double
peak_tflops(const struct predict *p)
{
    double clk = p->record.mfma[0] + p->record.mfma[1] + p->record.mfma[2];

    return clk > 0 ? 2 * p->record.macs / clk * 4 * p->m.chip.cus *
                         p->m.chip.fmax * 1e-3
                   : 0;
}

static void
take_result(struct predict *p, struct kn_time_result *out)
{
    double groups = (double)p->m.groups * mean_length(p);
    double flops = p->m.q->flops > 0 ? p->m.q->flops
                                     : 2 * p->record.macs * groups;

    out->us = p->us;
    out->tflops = flops / p->us * 1e-6;
    out->clock_ghz = p->ghz;
    out->mfma_duty = p->duty;
    out->group_cycles = p->cu.cycles;
    out->prologue_cycles = p->cu.entered;
    out->epilogue_cycles = p->cu.heads > 1 ? p->cu.cycles - p->cu.left : 0;
    out->workgroups = p->m.groups;
    out->resident = p->plan.resident;
    out->rounds = p->plan.rounds;
    out->l2_miss = p->full.reuse.l2_miss;
    out->hbm_share = p->full.reuse.hbm;
    out->warm = p->full.warm;
    out->read_bytes = p->cu.read / p->plan.resident * groups;
    out->write_bytes = (double)p->record.written * groups;
    out->hbm_bytes = out->read_bytes * out->hbm_share + out->write_bytes;
    out->hbm_tbs = p->m.chip.hbm_read;
    out->peak_tflops = peak_tflops(p);
    out->ceiling_tflops = out->peak_tflops *
                          clock_at(&p->m, &p->record, 1) / p->m.chip.fmax;
    take_loop(p, out);
    find_hot(p, out);
    out->bound = find_bound(p, out);
}

static kiln_status
open_model(struct kn_time_model *m, struct kn_ctx *c,
           const struct kn_time_query *q)
{
    const struct kn_sim_launch *l = q->launch;
    const struct kn_object *o = kn_sim_object(l->code);
    uint64_t items = (uint64_t)l->block[0] * l->block[1] * l->block[2];

    *m = (struct kn_time_model){ .c = c, .q = q };
    KN_TRY(kn_object_kernel(c, o, l->kernel, &m->kernel));
    kn_time_chip_of(o->target, &m->chip);
    KN_TRY(kn_decode(c, o, m->kernel, false, &m->program));
    KN_TRY(kn_time_classify(m));
    m->nwaves = (uint32_t)((items + KN_LANES - 1) / KN_LANES);
    m->lds = m->kernel->lds + l->dynamic_lds;
    m->groups = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    if (!items || !m->groups)
        return kn_fail(c, KILN_BAD_INPUT, "a launch without work-items");
    return KILN_OK;
}

static kiln_status
predict(struct predict *p, struct kn_ctx *c, const struct kn_time_query *q)
{
    uint64_t size = kn_sim_size(q->sim); /* of the caller's buffers alone */

    KN_TRY(open_model(&p->m, c, q));
    KN_TRY(plan_rounds(&p->m, &p->plan));
    KN_TRY(kn_time_record_group(&p->m, representative(p), &p->record));
    kn_time_find_loops(&p->m, &p->record);
    p->full.cus = least(p->m.chip.cus, (double)p->m.groups);
    KN_TRY(kn_time_find_reuse(&p->m, p->plan.resident, &p->full.reuse));
    p->full.warm = q->warm && (double)size <= p->m.chip.mall_bytes;
    if (p->full.warm)
        p->full.reuse.hbm = 0;
    p->tail = p->full;
    p->tail.cus = least(p->m.chip.cus, (double)p->plan.rest);
    return settle(p);
}

static kiln_status
write_trace(struct predict *p, struct kn_buf *out)
{
    struct kn_time_trace t;
    struct kn_time_cu cu;

    kn_trace_open(&t, &p->m, out);
    p->env.resident = p->plan.resident;
    KN_TRY(kn_time_replay(&p->m, &p->record, &p->env, &t, &cu));
    kn_trace_close(&t);
    return KILN_OK;
}

kiln_status
kn_time_predict(struct kn_ctx *c, const struct kn_time_query *q,
                struct kn_time_result *out)
{
    double start;
    struct predict *p = KN_NEW(c, struct predict, 1);

    *out = (struct kn_time_result){ 0 };
    start = kn_seconds();
    KN_TRY(predict(p, c, q));
    take_result(p, out);
    if (q->trace)
        KN_TRY(write_trace(p, q->trace));
    if (q->svg)
        kn_time_draw(out, p->m.kernel->name, q->svg);
    out->seconds = kn_seconds() - start;
    return KILN_OK;
}

static kiln_status
fill_counters(struct kn_ctx *c, struct kn_sim *shadow,
              const struct kn_time_shares *shares)
{
    enum { N = KILN_WORKSPACE_ZEROS / sizeof(uint32_t) };
    uint32_t *last;

    KN_ENTER(c);
    last = KN_NEW(c, uint32_t, N);
    for (uint32_t i = 0; i < N; i++)
        last[i] = shares->n - 1;
    return kn_sim_write(shadow, shares->workspace, last, N * sizeof *last);
}

static kiln_status
time_on(struct kn_ctx *c, struct kn_sim *shadow, const struct kn_sim_launch *l,
        double *us)
{
    struct kn_sim_launch own = *l;
    struct kn_time_query q = { .sim = shadow, .launch = &own };
    struct kn_time_result r;
    struct kn_sim_code *code;

    KN_TRY(kn_sim_adopt(shadow, l->code, &code));
    own.code = code;
    KN_ENTER(c);
    KN_TRY(kn_time_predict(c, &q, &r));
    *us = r.us;
    return KILN_OK;
}

kiln_status
kn_time_launch(struct kn_ctx *c, struct kn_sim *sim,
               const struct kn_sim_launch *l,
               const struct kn_time_shares *shares, double *us)
{
    struct kn_sim *shadow;
    kiln_status s = kn_sim_shadow(c, sim, &shadow);

    if (s)
        return s;
    if (shares->n > 1)
        s = fill_counters(c, shadow, shares);
    if (!s)
        s = time_on(c, shadow, l, us);
    kn_sim_close(shadow);
    return s;
}
