#include "session.h"

#include <elf.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../../emit/isa/object.h"
#include "../../../runtime/api/context.h"
#include "../progress.h"
#include "run.h"
#include "../../panels.h"
#include "../../quant.h"

const struct kn_operand_place kn_operand_places[KN_NPLACES] = {
    { offsetof(struct kn_operands, a), KILN_ARG_A },
    { offsetof(struct kn_operands, b), KILN_ARG_B },
    { offsetof(struct kn_operands, c), KILN_ARG_C },
    { offsetof(struct kn_operands, sa), KILN_ARG_SA },
    { offsetof(struct kn_operands, sb), KILN_ARG_SB },
    { offsetof(struct kn_operands, bias), KILN_ARG_BIAS },
    { offsetof(struct kn_operands, offs), KILN_ARG_OFFSETS },
    { offsetof(struct kn_operands, experts), KILN_ARG_EXPERTS },
    { offsetof(struct kn_operands, padded), KILN_ARG_PADDED },
    { offsetof(struct kn_operands, weights), KILN_ARG_WEIGHTS },
    { offsetof(struct kn_operands, workspace), KILN_ARG_WORKSPACE },
    { offsetof(struct kn_operands, x[0]), KILN_ARG_X0 },
    { offsetof(struct kn_operands, x[1]), KILN_ARG_X1 },
    { offsetof(struct kn_operands, x[2]), KILN_ARG_X2 },
    { offsetof(struct kn_operands, x[3]), KILN_ARG_X3 },
    { offsetof(struct kn_operands, sc), KILN_ARG_SC },
    { offsetof(struct kn_operands, amax), KILN_ARG_AMAX },
    { offsetof(struct kn_operands, out2), KILN_ARG_OUT2 },
    { offsetof(struct kn_operands, sc2), KILN_ARG_SC2 },
    { offsetof(struct kn_operands, tight), KILN_ARG_TIGHT },
};

/* ---- the session -------------------------------------------------------- */

static kiln_status
open_session(struct kn_session *s, const struct kn_place *place)
{
    s->gpu = place->gpu;
    s->trial = place->trial;
    s->warm = place->warm;
    if (s->gpu) {
        s->dev = place->device;
        return KILN_OK;
    }
    s->dev.arena = s->c;
    return kn_device_open_sim(&s->dev, kiln_sim_interface(), place->target);
}

/* The GPU itself is its place's; what it says of memory it takes back is of
 * no interest. */
static void
release(struct kn_session *s)
{
    struct kn_ctx own;

    kn_ctx_init(&own, s->c->realloc, s->c->user);
    for (struct kn_held *h = s->held; h; h = h->next)
        if (h->p)
            s->dev.backend->free(&s->dev, &own, h->base);
        else
            s->dev.backend->unload(&s->dev, &h->code);
    kn_ctx_free(&own);
}

static kiln_status
run_body(struct kn_session *s, const struct kn_place *place,
         kn_session_fn *body, void *user)
{
    KN_ENTER(s->c);
    KN_TRY(open_session(s, place));
    return body(s, user);
}

kiln_status
kn_session_do(struct kn_ctx *c, const struct kn_place *place,
              kn_session_fn *body, void *user)
{
    struct kn_session s = { .c = c };
    kiln_status st = run_body(&s, place, body, user);

    if (s.gpu)
        release(&s);
    else if (s.dev.backend)
        s.dev.backend->close(&s.dev);
    return st;
}

/* ---- memory ------------------------------------------------------------- */

kiln_status
kn_session_put(struct kn_session *s, const struct kn_memory *m, uint64_t *at)
{
    struct kn_held *h = s->gpu || s->trial ? KN_NEW(s->c, struct kn_held, 1)
                                           : NULL;
    struct kn_memory some = *m;
    void *p = NULL;

    some.size += !some.size;
    if (s->trial) {
        KN_TRY(kn_trial_put(s, &some, 0, h));
        p = h->p;
    } else {
        KN_TRY(s->dev.backend->alloc(&s->dev, s->c, &some, &p));
    }
    *at = (uintptr_t)p;
    if (h) {
        *h = (struct kn_held){ .next = s->held, .p = p,
                               .base = s->trial ? h->base : p,
                               .size = some.size,
                               .output = some.flags & KN_MEM_OUTPUT };
        s->held = h;
    }
    return KILN_OK;
}

kiln_status
kn_session_table(struct kn_session *s, const void *data, size_t n,
                 uint64_t *at)
{
    KN_TRY(kn_session_put(s, &(struct kn_memory){ .size = n,
                                                  .flags = KN_MEM_READONLY },
                          at));
    return n ? s->dev.backend->upload(&s->dev, s->c, (void *)(uintptr_t)*at,
                                      data, n)
             : KILN_OK;
}

kiln_status
kn_session_operands(struct kn_session *s, struct kn_job *j,
                    struct kn_operands_set *set, const int64_t *offs)
{
    uint64_t *const at[KN_NOPERANDS] = {
        [KN_OPND_A] = &j->at.a,   [KN_OPND_B] = &j->at.b,
        [KN_OPND_C] = &j->at.c,   [KN_OPND_SA] = &j->at.sa,
        [KN_OPND_SB] = &j->at.sb, [KN_OPND_BIAS] = &j->at.bias,
        [KN_OPND_SC] = &j->at.sc, [KN_OPND_AMAX] = &j->at.amax,
        [KN_OPND_OUT2] = &j->at.out2,
        [KN_OPND_ARRAY] = &j->at.x[0], &j->at.x[1], &j->at.x[2], &j->at.x[3],
    };
    for (int i = 0; i < KN_NOPERANDS; i++) {
        struct kn_memory m = kn_operand_memory(j->p, set, i);

        if (set->o[i].used)
            KN_TRY(kn_session_put(s, &m, at[i]));
    }
    return kn_session_groups(s, j->p, offs, &j->at);
}

kiln_status
kn_session_groups(struct kn_session *s, const kiln_problem *p,
                  const int64_t *offs, struct kn_operands *at)
{
    struct kn_sums_table t;

    if (!offs)
        return KILN_OK;
    t = kn_groups_table(s->c, p, offs);
    if (t.tight)
        KN_TRY(kn_session_table(s, t.tight, t.size, &at->tight));
    return kn_session_table(s, t.data, t.size, &at->offs);
}

struct kn_held *
kn_session_held(const struct kn_session *s, uint64_t at)
{
    for (struct kn_held *h = s->held; h; h = h->next)
        if (h->p && at - (uintptr_t)h->p < h->size)
            return h;
    return NULL;
}

kiln_status
kn_session_read(const struct kn_session *s, uint64_t at, void *to, size_t n)
{
    const struct kn_held *h = kn_session_held(s, at);
    struct kn_device dev = s->dev;

    if (!n)
        return KILN_OK;
    if (!h || !h->copy)
        return dev.backend->download(&dev, s->c, to, (void *)(uintptr_t)at, n);
    memcpy(to, h->copy + (at - (uintptr_t)h->p), n);
    return KILN_OK;
}

/* ---- a launch ----------------------------------------------------------- */

/* Counters start at zero, and end there. */
static kiln_status
put_workspace(struct kn_session *s, struct kn_job *j)
{
    struct kn_memory m = { .size = j->plan.workspace };
    uint64_t *at = &j->at.workspace;

    if (s->predicts) {
        m.fill = kn_fill_last_share;
        m.user = (void *)&j->g->cfg;
        return kn_session_put(s, &m, at);
    }
    m.flags = KN_MEM_OUTPUT;
    KN_TRY(kn_session_put(s, &m, at));
    return s->dev.backend->upload(&s->dev, s->c, (void *)(uintptr_t)*at,
                                  KN_NEW(s->c, uint8_t, KILN_WORKSPACE_ZEROS),
                                  KILN_WORKSPACE_ZEROS);
}

kiln_status
kn_session_plan(struct kn_session *s, struct kn_job *j)
{
    KN_TRY(kn_plan_launch(s->c, j->p, &j->g->cfg, &j->at, &j->plan));
    if (j->plan.workspace) {
        KN_TRY(put_workspace(s, j));
        KN_TRY(kn_plan_launch(s->c, j->p, &j->g->cfg, &j->at, &j->plan));
    }
    if (j->host_offs)
        kn_plan_exactly(j->p, &j->g->cfg, j->host_offs, &j->plan);
    j->workgroups = (uint64_t)j->plan.grid[0] * j->plan.grid[1] *
                    j->plan.grid[2];
    j->l.select.all = true;
    j->l.kernarg = j->plan.kernarg;
    j->l.kernarg_size = j->plan.kernarg_size;
    memcpy(j->l.grid, j->plan.grid, sizeof j->l.grid);
    memcpy(j->l.block, j->plan.block, sizeof j->l.block);
    return KILN_OK;
}

/* A GPU loads no relocatable object, as the simulator does. */
static kiln_status
link_first(struct kn_ctx *c, struct kn_object_bytes *o)
{
    uint8_t *co;

    if (o->size < sizeof(Elf64_Ehdr) ||
        ((const Elf64_Ehdr *)o->co)->e_type != ET_REL)
        return KILN_OK;
    KN_TRY(kn_object_link(c, o->co, o->size, &co, &o->size));
    o->co = co;
    return KILN_OK;
}

kiln_status
kn_session_load(struct kn_session *s, struct kn_job *j,
                const struct kn_object_bytes *o)
{
    struct kn_held *h = s->gpu ? KN_NEW(s->c, struct kn_held, 1) : NULL;
    struct kn_object_bytes object = *o;

    if (s->gpu)
        KN_TRY(link_first(s->c, &object));
    KN_TRY(s->dev.backend->load(&s->dev, s->c, &object, &j->code));
    j->l.code = s->gpu ? NULL : j->code.module;
    if (h) {
        *h = (struct kn_held){ .next = s->held, .code = j->code };
        s->held = h;
    }
    return KILN_OK;
}

/* A GPU's outputs, before a launch that is only timed changes them. */
static kiln_status
keep_outputs(struct kn_session *s)
{
    for (struct kn_held *h = s->held; h; h = h->next) {
        uint8_t *copy;

        if (!h->output || h->copy)
            continue;
        copy = KN_NEW(s->c, uint8_t, h->size);
        KN_TRY(s->dev.backend->download(&s->dev, s->c, copy, h->p,
                                        (size_t)h->size));
        h->copy = copy;
    }
    return KILN_OK;
}

kiln_status
kn_session_run(struct kn_session *s, struct kn_job *j)
{
    struct kn_start start = { .code = &j->code, .l = j->l };

    if (s->trial)
        return kn_trial_run(s, j);
    KN_TRY(s->dev.backend->launch(&s->dev, s->c, &start, &j->result));
    if (!s->gpu)
        return KILN_OK;
    KN_TRY(s->dev.backend->sync(&s->dev, s->c, NULL));
    return keep_outputs(s);
}

kiln_status
kn_session_execute(struct kn_session *s, struct kn_tool *t, struct kn_job *j)
{
    KN_TRY(kn_session_load(s, j, &(struct kn_object_bytes){
        j->g->name, j->g->co, j->g->size }));
    j->l.kernel = j->g->name;
    kn_tool_orders(t, &j->l);
    kn_progress_stage(t->progress, s->gpu ? "executing"
                                          : "simulating workgroups");
    return kn_session_run(s, j);
}

static kiln_status
time_on(struct kn_session *s, struct kn_job *j, const struct kn_rotation *r)
{
    do {
        KN_TRY(kn_rotation_time(s, j, r, j->runs, &j->us[j->runs]));
        j->time = kn_stable_time(j->us, ++j->runs);
    } while (j->time.more);
    j->rotated = r->bytes;
    return KILN_OK;
}

kiln_status
kn_session_time(struct kn_session *s, struct kn_job *j)
{
    struct kn_rotation r = { 0 };
    kiln_status st = KILN_OK;

    if (s->trial && !s->trial->timed)
        return KILN_OK;
    if (!s->warm)
        st = kn_rotation_open(s, j, &r);
    if (!st)
        st = time_on(s, j, &r);
    kn_rotation_close(s, &r);
    return st;
}

/* What makes a wave the last of its rows, of whose scales of 128 columns the last of a row
 * may have fewer. */
static void
count_strips(const struct kn_job *j, struct kn_time_query *q)
{
    const struct kn_config *g = &j->g->cfg;
    int64_t columns = kn_tile_columns(j->p, g), rest = (j->p->n - 1) % 128 + 1;

    q->shares.first = g->split_k > 1 ? KN_COUNTERS / 2 : 0;
    if (j->p->out_scale == KILN_OUT_ROW) {
        q->shares.strips = kn_panel_strips(j->p, g);
        return;
    }
    q->shares.strips = (uint32_t)(128 / columns) * g->wn;
    q->shares.each = (uint32_t)((j->p->n + 127) / 128);
    q->shares.edge = (uint32_t)((rest + columns - 1) / columns) * g->wn;
}

/* Of panels whose waves meet, as the last of them to come and others behind it, and what
 * those wait that come in an earlier round. */
static kiln_status
all_meet(struct kn_ctx *c, const struct kn_job *j, struct kn_time_query *q,
         struct kn_time_result *out)
{
    double longer;

    count_strips(j, q);
    KN_TRY(kn_time_predict(c, q, out));
    longer = 1 + kn_panels_wait(j->p, &j->g->cfg, out->resident);
    out->us *= longer;
    out->tflops /= longer;
    return KILN_OK;
}

/* Of panels that is a launch in which no wave is the last. Where all are, each makes the
 * codes of its rows in so many turns, of which the launch waits for one at its end, or
 * for as many as a wave has to make of all rounds. */
static kiln_status
add_panels(struct kn_ctx *c, const struct kn_job *j, const struct kn_time_query *q,
           struct kn_time_result *out)
{
    const struct kn_config *g = &j->g->cfg;
    struct kn_time_query last = *q;
    uint32_t turns = kn_panel_turns(g->bm / g->wm / 16);
    double strips = kn_panel_strips(j->p, g), more;
    struct kn_time_result all;

    last.trace = last.svg = NULL;
    count_strips(j, &last);
    KN_TRY(kn_time_predict(c, q, out));
    KN_TRY(kn_time_predict(c, &last, &all));
    more = fmax(1, turns * out->rounds / strips) / turns;
    out->epilogue_cycles += more * (all.epilogue_cycles - out->epilogue_cycles);
    out->group_cycles += more * (all.group_cycles - out->group_cycles);
    more *= fmax(0, all.us - out->us) / fmax(1, all.rounds);
    out->tflops *= out->us / (out->us + more);
    out->us += more;
    return KILN_OK;
}

kiln_status
kn_session_predict(struct kn_session *s, const struct kn_job *j,
                   struct kn_time_query *q, struct kn_time_result *out)
{
    if (j->p && !kn_full_chip(j->p))
        return kn_fail(s->c, KILN_UNSUPPORTED, "the timing model knows the full "
                       "chip alone, not %u compute units on %u chiplets",
                       kn_cus(j->p), kn_xcds(j->p));
    q->sim = kn_device_sim(&s->dev);
    q->launch = &j->l;
    if (j->at.workspace)
        q->shares = (struct kn_time_shares){
            .workspace = j->at.workspace,
            .n = j->p ? kn_counted_shares(j->p, &j->g->cfg) : j->g->cfg.split_k };
    if (!j->p || !j->g || !kn_panels(j->p, &j->g->cfg))
        return kn_time_predict(s->c, q, out);
    return j->g->cfg.join == KN_JOIN_ALL ? all_meet(s->c, j, q, out)
                                         : add_panels(s->c, j, q, out);
}

/* ---- verdicts ----------------------------------------------------------- */

kiln_status
kn_session_check_shares(struct kn_session *s, const struct kn_job *j)
{
    uint32_t *count;

    if (!j->at.workspace)
        return KILN_OK;
    count = KN_NEW(s->c, uint32_t, KN_COUNTERS);
    KN_TRY(kn_session_read(s, j->at.workspace, count, KILN_WORKSPACE_ZEROS));
    return kn_shares_check(s->c, count);
}

void
kn_session_check_written(const struct kn_session *s, struct kn_job *j,
                         uint64_t at, uint64_t size, uint64_t want)
{
    struct kn_sim *sim = kn_device_sim(&s->dev);
    uint64_t got = size && sim ? size - kn_sim_unwritten(sim, at) : 0;
    struct kn_finding f = { .kind = KN_F_UNWRITTEN, .address = at,
                            .count = 1 };

    if (got == want || !sim)
        return;
    snprintf(f.text, sizeof f.text,
             "%" PRIu64 " bytes of the output were written, its tiles have %"
             PRIu64, got, want);
    kn_report_add(s->c, &j->result, &f);
}

/* ---- kernels and reports ------------------------------------------------ */

kiln_status
kn_job_make(struct kn_tool *t, struct kn_json *j, const kiln_problem *p,
            struct kn_generated *g)
{
    struct kn_config cfg = { 0 };

    KN_TRY(kn_config_parse(t->c, t->cli->config, &cfg));
    kn_progress_stage(t->progress, "generating");
    KN_TRY(kn_generate(t->c, p, &cfg, &(struct kn_watch){
        .link = kn_tool_linker(t->cli) }, g));
    KN_TRY(kn_report_made(t, j, p, g));
    kn_report_generated(t, j, g);
    return KILN_OK;
}

void
kn_job_measured(struct kn_tool *t, struct kn_json *j,
                const struct kn_place *place, const struct kn_job *job,
                double flops)
{
    const char *device = place->device.info.name;
    double tflops = job->time.us > 0 ? flops / job->time.us / 1e6 : 0;

    kn_putf(t->text, "executed  %" PRIu64 " workgroups on hip:%d, %s\n",
            job->workgroups, place->number, device);
    if (job->runs) {
        kn_putf(t->text, "measured  %.2f us, ", job->time.us);
        if (flops > 0)
            kn_putf(t->text, "%.2f TFLOPS, ", tflops);
        kn_putf(t->text, "%zu runs, %s%s\n", job->runs,
                job->rotated ? "cold" : "warm",
                job->time.stable ? "" : ", not within 5 %");
    }
    kn_json_open(j, "measured", '{');
    kn_json_str(j, "device", device);
    if (job->runs && kn_gpu_clock(t->c, &place->device))
        kn_json_str(j, "clock_now", kn_gpu_clock(t->c, &place->device));
    kn_json_real(j, "us", job->time.us);
    if (flops > 0)
        kn_json_real(j, "tflops", tflops);
    kn_json_uint(j, "runs", job->runs);
    kn_json_bool(j, "warm", !job->rotated);
    kn_json_uint(j, "rotated_bytes", job->rotated);
    kn_json_bool(j, "stable", job->time.stable);
    kn_json_close(j, '}');
}
