/* timing_launch.c - from one compute unit to the launch: what L2 and memory
 * give each CU, how long each number of workgroups on it takes, and the clock
 * the chip holds at this load. */
#include "timing_cu.h"
#include "timing_error.h"

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

/* Bytes a clk that the L2 gives each CU. */
static double
l2_share(const struct kn_time_chip *c, double cus, double ghz)
{
    double xcd = cus / c->xcds < 1 ? 1 : cus / c->xcds;

    return least(least(64, c->l2_read / xcd), c->l2_chip * 1e3 / ghz / c->cus);
}

static void
make_env(const struct kn_time_model *m, const struct load *l, double ghz,
         struct kn_time_env *e)
{
    const struct kn_time_chip *c = &m->chip;
    double xcd = l->cus / c->xcds < 1 ? 1 : l->cus / c->xcds;

    e->ghz = ghz;
    e->latency = latency_ns(m, l, ghz) * ghz;
    e->read = l2_share(c, l->cus, ghz);
    if (!l->warm)
        e->read = least(e->read, c->vmem_stream / e->latency);
    if (l->reuse.l2_miss > 0)
        e->read = least(e->read, c->mall_read * 1e3 / ghz / l->cus /
                                     l->reuse.l2_miss);
    if (l->reuse.hbm > 0)
        e->read = least(e->read, c->hbm_read * 1e3 / ghz / l->cus /
                                     l->reuse.hbm);
    e->write = least(least(64, c->l2_write / xcd),
                     c->hbm_write * 1e3 / ghz / l->cus);
    /* Read, then written back, over the one bus of the memory. */
    e->add = 1 / (1 / e->write + ghz * l->cus / (c->hbm_read * 1e3));
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

/* ---- one prediction ----------------------------------------------------- */

struct level {               /* as of the plan */
    struct load load;
    double cycles;           /* of a workgroup; 0: not replayed */
};

struct predict {
    struct kn_time_model m;
    struct kn_time_plan plan;
    struct kn_time_reuse reuse;
    bool warm;
    struct level *level;     /* [plan.resident + 1] */
    struct level *full;      /* the highest */
    struct kn_time_record *record; /* the longest's, then its neighbours' */
    struct kn_time_cast cast;
    struct kn_time_env env;  /* of the full level, with what follows */
    struct kn_time_cu cu;
    double ghz, cycles, duty, us;
};

static kiln_status
replay_level(struct predict *p, uint32_t k, struct kn_time_cu *out)
{
    struct level *l = &p->level[k];

    make_env(&p->m, &l->load, p->ghz, &p->env);
    p->env.resident = k;
    KN_TRY(kn_time_replay(&p->m, &p->cast, &p->env, NULL, out));
    l->cycles = out->cycles;
    if (out->cycles > 0)
        l->load.rate = 0.5 * (l->load.rate + out->read / out->cycles);
    return KILN_OK;
}

/* The levels below the highest that take longest. */
static unsigned
worth_replaying(const struct predict *p, uint32_t *k)
{
    enum { MOST = 2 };
    unsigned n = 0;

    while (n < MOST) {
        uint32_t best = 0;

        for (uint32_t i = 1; i < p->plan.resident; i++)
            if ((!n || i != k[0]) && p->plan.level[i].turns >
                                         p->plan.level[best].turns)
                best = i;
        if (p->plan.level[best].turns <= 0)
            return n;
        k[n++] = best;
    }
    return n;
}

/* Between those that were replayed, on a line; below all as the lowest. */
static double
cycles_of(const struct predict *p, uint32_t k)
{
    uint32_t lo = k, hi = k;
    const struct level *a, *b;

    while (lo && p->level[lo].cycles <= 0)
        lo--;
    while (p->level[hi].cycles <= 0)
        hi++;
    a = &p->level[lo];
    b = &p->level[hi];
    if (!lo || lo == hi)
        return b->cycles;
    return a->cycles + (b->cycles - a->cycles) * (k - lo) / (hi - lo);
}

static kiln_status
launch_cycles(struct predict *p)
{
    uint32_t others[2];
    unsigned n = worth_replaying(p, others);
    struct kn_time_cu cu;

    for (unsigned i = 0; i < n; i++)
        KN_TRY(replay_level(p, others[i], &cu));
    KN_TRY(replay_level(p, p->plan.resident, &p->cu));
    p->cycles = 0;
    for (uint32_t k = 1; k <= p->plan.resident; k++)
        p->cycles += p->plan.level[k].turns * cycles_of(p, k);
    return KILN_OK;
}

/* Clock, duty and latency depend on each other; four turns settle them. */
static kiln_status
settle(struct predict *p)
{
    double mfma = 0;

    for (int k = 0; k < 3; k++)
        mfma += p->record->mfma[k];
    mfma *= p->plan.total / 4 / p->m.chip.cus; /* of a SIMD, mean of the chip */
    p->ghz = p->m.chip.fmax;
    for (int turn = 0; turn < 4; turn++) {
        KN_TRY(launch_cycles(p));
        p->us = p->cycles / p->ghz / 1e3 + p->m.chip.launch;
        p->duty = mfma / (p->us * p->ghz * 1e3);
        p->ghz = clock_at(&p->m, p->record, p->duty);
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
        return p->env.read < 0.9 * l2_share(&p->m.chip, p->full->load.cus,
                                            p->ghz) ? KN_B_HBM : KN_B_VMEM;
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
    if (u->steady <= 0 || span <= 0)
        return;
    out->loop_cycles = span / u->steady;
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
    const double *by = p->record->mfma, clk = by[0] + by[1] + by[2];

    return clk > 0 ? 2 * p->record->macs / clk * 4 * p->m.chip.cus *
                         p->m.chip.fmax * 1e-3
                   : 0;
}

static void
take_result(struct predict *p, struct kn_time_result *out)
{
    double groups = p->plan.total;
    double flops = p->m.q->flops > 0 ? p->m.q->flops
                                     : 2 * p->record->macs * groups;

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
    out->l2_miss = p->reuse.l2_miss;
    out->hbm_share = p->reuse.hbm;
    out->warm = p->warm;
    out->read_bytes = p->cu.read / p->plan.resident * groups;
    out->write_bytes = p->record->written * groups;
    out->hbm_bytes = out->read_bytes * out->hbm_share + out->write_bytes;
    out->hbm_tbs = p->m.chip.hbm_read;
    out->peak_tflops = peak_tflops(p);
    out->ceiling_tflops = out->peak_tflops *
                          clock_at(&p->m, p->record, 1) / p->m.chip.fmax;
    take_loop(p, out);
    find_hot(p, out);
    out->bound = find_bound(p, out);
    kn_time_expect_error(&p->m.program, out);
}

static uint32_t *
last_counters(const struct kn_time_model *m)
{
    enum { N = KILN_WORKSPACE_ZEROS / sizeof(uint32_t) };
    const struct kn_time_shares *s = &m->q->shares;
    uint32_t *last;

    if (s->n < 2 && !s->strips)
        return NULL;
    last = KN_NEW(m->c, uint32_t, N);
    for (uint32_t i = 0; i < N; i++) {
        bool strip = s->strips && i >= s->first;
        bool edge = strip && s->each && (i - s->first) % s->each == s->each - 1;
        uint32_t n = edge ? s->edge : strip ? s->strips : s->n;

        last[i] = n ? n - 1 : 0;
    }
    return last;
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
    KN_TRY(kn_time_chip_with(c, q->constants, &m->chip));
    KN_TRY(kn_decode(c, o, m->kernel, false, &m->program));
    KN_TRY(kn_time_classify(m));
    m->last = last_counters(m);
    m->nwaves = (uint32_t)((items + KN_LANES - 1) / KN_LANES);
    m->blind = KN_NEW(c, bool, m->nwaves ? m->nwaves : 1);
    memset(m->blind, true, m->nwaves);
    m->lds = m->kernel->lds + l->dynamic_lds;
    m->groups = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    if (!items || !m->groups)
        return kn_fail(c, KILN_BAD_INPUT, "a launch without work-items");
    return KILN_OK;
}

/* The longest workgroup and its neighbours on the CU, as far as room for what
 * they do goes. */
static kiln_status
record_groups(struct predict *p)
{
    uint64_t *id = KN_NEW(p->m.c, uint64_t, p->plan.resident), room;
    uint32_t n = kn_time_neighbours(&p->m, &p->plan, id);

    p->record = KN_NEW(p->m.c, struct kn_time_record, n);
    p->cast.group = p->record;
    room = KN_TIME_NEIGHBOURS;
    for (uint32_t k = 0; k < n && (!k || p->record->nevents <= room); k++) {
        KN_TRY(kn_time_record_group(&p->m, id[k], p->plan.resident == 1,
                                    &p->record[k]));
        room -= k ? p->record[k].nevents : 0;
        p->cast.n++;
    }
    return KILN_OK;
}

static void
open_levels(struct predict *p)
{
    p->level = KN_NEW(p->m.c, struct level, p->plan.resident + 1);
    for (uint32_t k = 1; k <= p->plan.resident; k++)
        p->level[k].load = (struct load){ p->plan.level[k].cus, p->reuse,
                                          p->warm, 30 };
    p->full = &p->level[p->plan.resident];
}

static kiln_status
predict(struct predict *p, struct kn_ctx *c, const struct kn_time_query *q)
{
    uint64_t size = kn_sim_size(q->sim); /* of the caller's buffers alone */

    KN_TRY(open_model(&p->m, c, q));
    KN_TRY(kn_time_make_plan(&p->m, &p->plan));
    KN_TRY(record_groups(p));
    kn_time_find_loops(&p->m, p->record);
    KN_TRY(kn_time_find_reuse(&p->m, &p->plan, &p->reuse));
    p->warm = q->warm && (double)size <= p->m.chip.mall_bytes;
    if (p->warm)
        p->reuse.hbm = 0;
    open_levels(p);
    return settle(p);
}

/* What the launch does whatever the model makes of it. */
static kiln_status
check_laws(const struct predict *p, const struct kn_time_result *r)
{
    struct kn_time_work w = { .mfma = p->record->mfma[0] + p->record->mfma[1] +
                                      p->record->mfma[2] };
    kiln_status s;

    for (uint32_t k = 0; k < p->record->nwaves; k++)
        if (p->record->wave[k].seen > w.longest)
            w.longest = p->record->wave[k].seen;
    w.mfma *= p->plan.total;
    w.slots = (double)(p->plan.resident * kn_time_cus_of_xcd(&p->m)) *
              p->m.chip.xcds;
    w.groups = p->plan.total;
    w.bytes = p->m.q->bytes > p->reuse.bytes ? p->m.q->bytes
                                             : p->reuse.bytes;
    w.left_l2 = r->read_bytes * r->l2_miss;
    s = kn_time_check(p->m.c, &p->m.chip, &w, r);
    if (s && p->m.q->constants)          /* not the model's fault */
        s = p->m.c->err.status = KILN_BAD_INPUT;
    return s;
}

static kiln_status
write_trace(struct predict *p, struct kn_buf *out)
{
    struct kn_time_trace t;
    struct kn_time_cu cu;

    kn_trace_open(&t, &p->m, out);
    p->env.resident = p->plan.resident;
    KN_TRY(kn_time_replay(&p->m, &p->cast, &p->env, &t, &cu));
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
    KN_TRY(check_laws(p, out));
    if (q->trace)
        KN_TRY(write_trace(p, q->trace));
    if (q->svg)
        kn_time_draw(out, p->m.kernel->name, q->svg);
    out->seconds = kn_seconds() - start;
    return KILN_OK;
}

static kiln_status
time_on(struct kn_ctx *c, struct kn_sim *shadow, const struct kn_sim_launch *l,
        const struct kn_time_shares *shares, double *us)
{
    struct kn_sim_launch own = *l;
    struct kn_time_query q = { .sim = shadow, .launch = &own,
                               .shares = *shares };
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
    s = time_on(c, shadow, l, shares, us);
    kn_sim_close(shadow);
    return s;
}
