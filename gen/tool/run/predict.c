/* predict.c - the timing model on generated kernels, and its report. */
#include "session.h"

#include <math.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "run.h"
#include "../inspect/inspect.h"

/* Operands that have sizes but no contents, and the table of the groups. */
static kiln_status
put_operands(struct kn_session *s, const struct kn_predict *q,
             struct kn_operands *at)
{
    struct kn_extents e = kn_extents_of(q->p);
    struct { uint64_t size, *at; } all[] = {
        { e.a, &at->a },   { e.b, &at->b },   { e.c, &at->c },
        { e.sa, &at->sa }, { e.sb, &at->sb }, { e.bias, &at->bias },
        { e.x[0], &at->x[0] }, { e.x[1], &at->x[1] },
        { e.x[2], &at->x[2] }, { e.x[3], &at->x[3] },
        { kn_family_of(q->p)->unary ? e.sc : 0, &at->sc },
        { e.amax, &at->amax }, { e.out2, &at->out2 }, { e.sc2, &at->sc2 },
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (all[k].size)
            KN_TRY(kn_session_put(s, &(struct kn_memory){
                all[k].size, KN_MEM_BLANK, kn_sim_zeros, NULL }, all[k].at));
    return kn_session_groups(s, q->p, q->offs, at);
}

double
kn_launch_flops(const kiln_problem *p, const int64_t *offs)
{
    double columns = (double)kn_b_columns(p);
    double n = 2.0 * (double)p->m * columns * (double)p->k;
    double rows = offs ? (double)offs[p->groups] : 0;

    if (kn_family_of(p)->unary)
        return 0;
    if (kn_family_of(p)->ragged == 'm')
        return 2.0 * rows * columns * (double)p->k;
    if (kn_family_of(p)->ragged == 'k')
        return 2.0 * rows * (double)p->m * (double)p->n;
    return n * (double)(p->batch > 1 ? p->batch : 1);
}

/* Turns of the K loop for a tile of a group; at least one, of zeros. */
static uint32_t
turns_of(const struct kn_predict *q, int64_t group)
{
    const kiln_problem *p = q->p;
    int64_t k = kn_family_of(p)->ragged == 'k'
              ? q->offs[group + 1] - q->offs[group] : p->k;

    k = (k + q->g->cfg.bk - 1) / q->g->cfg.bk;
    return k > 1 ? (uint32_t)k : 1;
}

/* Workgroup i, or i % n of a persistent grid, computes tile i; a share of a
 * divided K has its part of the turns (templates/grid.tir). */
static const uint32_t *
work_of(struct kn_ctx *c, const struct kn_predict *q, uint64_t n)
{
    const kiln_problem *p = q->p;
    const struct kn_config *g = &q->g->cfg;
    uint64_t tiles = kn_tile_count(p, g, q->offs);
    uint64_t spare = q->offs ? kn_spare_count(p, g, q->offs) : 0;
    uint32_t *work = KN_NEW(c, uint32_t, n);
    uint32_t all = q->offs ? 0 : turns_of(q, 0);

    for (uint64_t i = 0; i < tiles; i++) {
        uint32_t turns = all, share = 0, of = 1, part;

        if (!all || g->split_k > 1) {
            struct kn_rect r = kn_tile_rect(p, g, q->offs, i);

            turns = all ? all : turns_of(q, r.group);
            share = r.share;
            of = r.shares;
        }
        part = turns * (share + 1) / of - turns * share / of;
        work[i % n] += part ? part : 1;
    }
    for (uint64_t i = tiles; i < tiles + spare; i++)
        work[i % n]++;
    return work;
}

/* Bytes of the operands that the launch touches, each once. */
static double
bytes_of(const struct kn_predict *q)
{
    const kiln_problem *p = q->p;
    double batch = kn_family_of(p)->batch ? (double)p->batch : 1, used = 0;
    double tensors = 0;      /* read as the output is written */
    double m = (double)p->m, n = (double)p->n, k = (double)p->k, a, b, c;
    bool wgrad = kn_family_of(p)->ragged == 'k';

    if (kn_family_of(p)->unary)
        return kn_quant_bytes(p);
    for (int64_t i = 0; q->offs && i < p->groups; i++)
        used += q->offs[i + 1] > q->offs[i];
    if (kn_family_of(p)->ragged == 'm')
        m = (double)q->offs[p->groups];
    if (wgrad)
        k = (double)q->offs[p->groups];
    a = batch * m * k * kn_type_bits[p->a];
    b = batch * (double)kn_b_columns(p) * k * kn_type_bits[p->b];
    c = batch * m * n * kn_type_bits[p->out];
    for (uint32_t i = 0; i < KN_FORMULA_ARRAYS; i++)
        tensors += kn_array_kind(p, i) == KN_FO_TENSOR;
    c *= 1 + tensors;
    if (kn_family_of(p)->ragged == 'm')
        b *= used;
    if (wgrad)
        c *= (double)p->groups;
    return (a + b + c) / 8;
}

kiln_status
kn_predict_job(struct kn_session *s, struct kn_job *j,
               const struct kn_predict *q, struct kn_time_query t,
               struct kn_time_result *out)
{
    const struct kn_generated *g = q->g;
    struct kn_places from;

    KN_TRY(kn_session_load(s, j, &(struct kn_object_bytes){
        g->name, g->co, g->size }));
    KN_TRY(kn_places_generated(s->c, g, &from));
    j->l.kernel = g->name;
    t.place = from.at;
    t.trace = q->trace;
    t.svg = q->svg;
    t.warm = q->warm;
    t.whole = q->whole;
    t.constants = q->constants;
    return kn_session_predict(s, j, &t, out);
}

struct prediction {
    const struct kn_predict *q;
    struct kn_time_result *out;
};

static kiln_status
predict_on(struct kn_session *s, void *user)
{
    const struct prediction *x = user;
    const struct kn_predict *q = x->q;
    struct kn_job j = { .p = q->p, .g = q->g,
                        .host_offs = q->host ? q->offs : NULL };

    s->predicts = true;
    KN_TRY(put_operands(s, q, &j.at));
    KN_TRY(q->launch ? kn_session_foreign(s, &j, q->launch,
                                          KN_NEW(s->c, struct kn_launch_text, 1))
                     : kn_session_plan(s, &j));
    return kn_predict_job(s, &j, q, (struct kn_time_query){
        .flops = kn_launch_flops(q->p, q->offs), .bytes = bytes_of(q),
        .work = q->launch || kn_family_of(q->p)->unary ? NULL
            : work_of(s->c, q, j.workgroups) }, x->out);
}

kiln_status
kn_predict_generated(struct kn_ctx *c, const struct kn_predict *q,
                     struct kn_time_result *out)
{
    const struct kn_place place = { .target = q->p->target };

    return kn_session_do(c, &place, predict_on,
                         &(struct prediction){ q, out });
}

/* ---- report ------------------------------------------------------------- */

static void
put_stalls(struct kn_buf *b, const struct kn_time_result *r)
{
    bool shown[KN_NSTALLS] = { false }, any = false;

    for (;; any = true) {
        int best = -1;

        for (int k = 0; k < KN_NSTALLS; k++)
            if (!shown[k] && r->stall[k] >= 0.01 &&
                (best < 0 || r->stall[k] > r->stall[best]))
                best = k;
        if (best < 0)
            break;
        shown[best] = true;
        kn_putf(b, "%s  %.0f%% %s", any ? "" : "  waves wait", 100 * r->stall[best],
                kn_stall_name((enum kn_stall)best));
    }
    kn_put(b, any ? "\n" : "");
}

static void
put_hot(struct kn_buf *b, const struct kn_time_result *r,
        const struct kn_program *p)
{
    for (uint32_t k = 0; k < r->nhot && k < 4; k++) {
        const struct kn_time_hot *h = &r->hot[k];
        const struct kn_inst *i = p ? &p->inst[h->inst] : NULL;

        kn_putf(b, "  %4.1f%% at 0x%llx %s%s%s%s: %s\n", 100 * h->share,
                (unsigned long long)h->pc, i ? kn_isa[i->op].mnemonic : "",
                h->place ? " (" : "", h->place ? h->place : "",
                h->place ? ")" : "", kn_stall_name(h->cause));
    }
}

void
kn_put_error(struct kn_buf *b, double percent, uint32_t rows)
{
    if (rows)
        kn_putf(b, "+-%.0f %% (%u rows)", percent, rows);
    else
        kn_put(b, "no validated object of this kind");
}

void
kn_put_bar(struct kn_buf *b, const struct kn_time_result *r)
{
    if (r->validated)
        kn_putf(b, "-%.0f to +%.0f %% (%u rows)", fabs(100 * r->low),
                100 * r->high, r->validated);
    else
        kn_put(b, "no validated object of this kind");
}

static void
put_text(struct kn_buf *b, const struct kn_time_result *r,
         const struct kn_program *p)
{
    kn_putf(b, "predicted %.1f us, ", r->us);
    kn_put_bar(b, r);
    kn_putf(b, ", %.0f TFLOPS, bound by %s (not measured: the timing model)\n",
            r->tflops, kn_bound_name(r->bound));
    if (r->loop_cycles > 0)
        kn_putf(b, "  loop %.0f clk, matrix pipes busy %.1f%%, LDS %.0f%%, "
                "vector memory %.0f%%\n", r->loop_cycles,
                100 * r->mfma_efficiency, 100 * r->busy_lds,
                100 * r->busy_vmem);
    kn_putf(b, "  workgroup %.0f clk (%.0f before the loop, %.0f after), %u "
            "on a CU, %.1f rounds, %.2f GHz\n", r->group_cycles,
            r->prologue_cycles, r->epilogue_cycles, r->resident, r->rounds,
            r->clock_ghz);
    kn_putf(b, "  memory: %.0f%% of the reads leave the L2, %.1f%% reach "
            "HBM%s\n", 100 * r->l2_miss, 100 * r->hbm_share,
            r->warm ? ", buffers in the last-level cache" : "");
    put_stalls(b, r);
    put_hot(b, r, p);
}

static void
json_breakdown(struct kn_json *j, const struct kn_time_result *r,
               const struct kn_program *p)
{
    kn_json_open(j, "stalls", '{');
    for (int k = 0; k < KN_NSTALLS; k++)
        kn_json_real(j, kn_stall_name((enum kn_stall)k), r->stall[k]);
    kn_json_close(j, '}');
    kn_json_open(j, "hot", '[');
    for (uint32_t k = 0; k < r->nhot; k++) {
        const struct kn_time_hot *h = &r->hot[k];

        kn_json_open(j, NULL, '{');
        kn_json_uint(j, "pc", h->pc);
        if (p)
            kn_json_str(j, "op", kn_isa[p->inst[h->inst].op].mnemonic);
        kn_json_str(j, "cause", kn_stall_name(h->cause));
        kn_json_real(j, "share", h->share);
        if (h->place)
            kn_json_str(j, "from", h->place);
        kn_json_close(j, '}');
    }
    kn_json_close(j, ']');
}

static void
json_error(struct kn_json *j, const struct kn_time_result *r)
{
    double none = r->validated ? 0 : (double)NAN;
    double most = r->high > -r->low ? r->high : -r->low;

    kn_json_real(j, "low_us", none + r->us * (1 + r->low));
    kn_json_real(j, "high_us", none + r->us * (1 + r->high));
    kn_json_real(j, "error_pct", none + 100 * most);
    kn_json_uint(j, "validated_rows", r->validated);
}

void
kn_report_predicted(struct kn_tool *t, struct kn_json *j,
                    const struct kn_time_result *r,
                    const struct kn_program *program)
{
    const struct kn_value *with = &t->cli->v[KN_FLAG_constants];

    put_text(t->text, r, program);
    kn_json_open(j, "predicted", '{');
    if (with->seen) {
        kn_putf(t->text, "  with %s in place of the model's own\n", with->s);
        kn_json_str(j, "constants", with->s);
    }
    kn_json_real(j, "us", r->us);
    json_error(j, r);
    kn_json_real(j, "tflops", r->tflops);
    kn_json_str(j, "bound", kn_bound_name(r->bound));
    kn_json_str(j, "type", kn_time_type_name(r->type));
    kn_json_real(j, "loop_cycles", r->loop_cycles);
    kn_json_real(j, "mfma_efficiency", r->mfma_efficiency);
    kn_json_real(j, "mfma_duty", r->mfma_duty);
    kn_json_real(j, "clock_ghz", r->clock_ghz);
    kn_json_real(j, "peak_tflops", r->peak_tflops);
    kn_json_real(j, "ceiling_tflops", r->ceiling_tflops);
    kn_json_real(j, "workgroup_cycles", r->group_cycles);
    kn_json_real(j, "prologue_cycles", r->prologue_cycles);
    kn_json_real(j, "epilogue_cycles", r->epilogue_cycles);
    kn_json_uint(j, "workgroups", r->workgroups);
    kn_json_uint(j, "loop_iterations", r->loop_iterations);
    kn_json_uint(j, "resident", r->resident);
    kn_json_real(j, "rounds", r->rounds);
    kn_json_real(j, "l2_miss", r->l2_miss);
    kn_json_real(j, "hbm_share", r->hbm_share);
    kn_json_bool(j, "warm", r->warm);
    kn_json_real(j, "read_bytes", r->read_bytes);
    kn_json_real(j, "write_bytes", r->write_bytes);
    kn_json_real(j, "busy_lds", r->busy_lds);
    kn_json_real(j, "busy_vmem", r->busy_vmem);
    json_breakdown(j, r, program);
    kn_json_close(j, '}');
}

static kiln_status
predict_in(struct kn_ctx *c, struct kn_tool *t, struct kn_json *j,
           const struct kn_predict *q)
{
    const struct kn_object_kernel *k;
    struct kn_time_result r;
    struct kn_program p;
    struct kn_object o;

    KN_ENTER(c);
    KN_TRY(kn_object_read(c, q->g->name, q->g->co, q->g->size, &o));
    KN_TRY(kn_object_kernel(c, &o, q->g->name, &k));
    KN_TRY(kn_decode(c, &o, k, false, &p));
    KN_TRY(kn_predict_generated(c, q, &r));
    kn_report_predicted(t, j, &r, &p);
    return KILN_OK;
}

/* In a context of its own: its failure is not the command's. */
void
kn_predict_run(struct kn_tool *t, struct kn_json *j, const struct kn_predict *q)
{
    struct kn_ctx own;

    kn_ctx_init(&own, t->c->realloc, t->c->user);
    if (predict_in(&own, t, j, q))
        kn_putf(t->text, "predicted nothing: %s\n", own.err.text);
    kn_ctx_free(&own);
}

kiln_status
kn_write_pictures(struct kn_tool *t, const struct kn_buf *trace,
                  const struct kn_buf *svg)
{
    const struct kn_value *v = t->cli->v;

    if (v[KN_FLAG_trace].seen)
        KN_TRY(kn_file_write(t->c, v[KN_FLAG_trace].s, trace->s, trace->n));
    if (v[KN_FLAG_svg].seen)
        KN_TRY(kn_file_write(t->c, v[KN_FLAG_svg].s, svg->s, svg->n));
    return KILN_OK;
}
