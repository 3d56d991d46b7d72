/* cmd_run.c - `kilnc run`: generate, execute the emitted code object, check
 * every output element that was computed. */
#include <inttypes.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "run.h"
#include "moe.h"
#include "../inspect/inspect.h"
#include "session.h"
#include "../progress.h"
#include "../../panels.h"

struct run {
    struct kn_tool *t;
    struct kn_ctx *c;
    kiln_problem p;
    int64_t *offs;           /* group offsets, NULL without groups */
    struct kn_generated g;
    struct kn_operands_set ops;
    struct kn_place place;
    struct kn_session *s;
    struct kn_job job;
    const char *launch;      /* file of --launch: the object is not kiln's */
    struct kn_launch_text text;      /* what it says */
    uint64_t written;        /* output bytes the executed ones must write */
    uint64_t scales_written; /* the same of its scales */
    struct kn_ref_check check;
    struct kn_ref_amax amax;
    struct kn_second second;
    struct kn_ref_cells cells;       /* of an output that is checked whole */
    bool whole;
    struct kn_json j;
};

/* The sizes the family does not get from its groups. */
static kiln_status
check_sizes(const struct run *r)
{
    const struct kn_value *v = r->t->cli->v;
    bool ragged_m = kn_family_of(&r->p)->ragged == 'm';
    bool ragged_k = kn_family_of(&r->p)->ragged == 'k';

    if ((!ragged_m && !v[KN_FLAG_m].seen) || !v[KN_FLAG_n].seen ||
        v[KN_FLAG_k].seen == ragged_k)
        return kn_fail(r->c, KILN_BAD_INPUT, ragged_m
                       ? "grouped needs -n and -k; its rows are the groups'"
                       : ragged_k
                       ? "wgrad needs -m and -n; its K is the groups' rows"
                       : "'run' needs -m, -n and -k");
    return KILN_OK;
}

static kiln_status
read_problem(struct run *r)
{
    const struct kn_cli *cli = r->t->cli;

    r->place.target = KN_TARGET_DEFAULT;
    KN_TRY(kn_tool_place(r->t, &r->place));
    KN_TRY(kn_place_flags(r->t, &r->place));
    KN_TRY(kn_cli_problem(r->c, cli, r->place.target, &r->p));
    kn_place_counts(&r->place, &r->p);
    KN_TRY(kn_groups_make(r->c, cli, &r->p, &r->offs));
    KN_TRY(kn_problem_normalise(r->c, &r->p));
    KN_TRY(check_sizes(r));
    if (cli->v[KN_FLAG_as].seen &&
        (!cli->v[KN_FLAG_object].seen || kn_cli_samples(cli)))
        return kn_fail(r->c, KILN_BAD_INPUT, "--launch is for the whole of an "
                       "--object; leave --wg out");
    if (cli->v[KN_FLAG_out_file].seen && kn_cli_samples(cli))
        return kn_fail(r->c, KILN_BAD_INPUT,
                       "--out-file needs the whole output; leave --wg out");
    return KILN_OK;
}

static kiln_status
plan_launch(struct run *r)
{
    struct kn_job *j = &r->job;

    j->p = &r->p;
    j->g = &r->g;
    j->host_offs = kn_cli_host_groups(r->t->cli) ? r->offs : NULL;
    KN_TRY(kn_session_operands(r->s, j, &r->ops, r->offs));
    if (r->launch)
        return kn_session_foreign(r->s, j, r->launch, &r->text);
    KN_TRY(kn_session_plan(r->s, j));
    KN_TRY(kn_cli_select(r->c, r->t->cli, j->workgroups, &j->l.select));
    return kn_shares_select(r->c, &r->p, &r->g.cfg, r->offs, &j->l.select);
}

static kiln_status
execute(struct run *r)
{
    struct kn_job *j = &r->job;

    if (!j->workgroups || !r->p.m || !r->p.n)
        return KILN_OK;      /* nothing to compute, nothing to launch */
    KN_TRY(kn_session_execute(r->s, r->t, j));
    return r->place.gpu ? kn_session_time(r->s, j) : KILN_OK;
}

/* ---- check -------------------------------------------------------------- */

/* Of so many columns of the output. */
static size_t
row_bytes(const struct run *r, int64_t columns)
{
    return ((size_t)columns * kn_ref_type_bits(r->p.out) + 7) / 8;
}

/* Address of the output of a group (or batch). */
static uint64_t
output_of(const struct run *r, int64_t group)
{
    struct kn_pitches t = kn_pitches_of(&r->p);
    int64_t at = kn_family_of(&r->p)->ragged == 'm'
               ? r->offs[group] * t.c : group * t.tc;

    return r->job.at.c + (uint64_t)at;
}

/* Rows [m0, m0+rows) x columns [n0, n0+cols) of a group's output, dense. */
static kiln_status
read_output(const struct run *r, const struct kn_rect *t, uint8_t *dst)
{
    const struct kn_operand *o = &r->ops.o[KN_OPND_C];
    size_t row = row_bytes(r, t->cols);
    uint64_t base = output_of(r, t->group);

    if (!row)
        return KILN_OK;      /* an address that is nobody's */
    for (int64_t i = 0; i < t->rows; i++)
        KN_TRY(kn_session_read(r->s,
                               base +
                               (uint64_t)(t->m0 + i) * o->data.row_bytes +
                               row_bytes(r, t->n0),
                               dst + (size_t)i * row, row));
    return KILN_OK;
}

/* The written scales of a rectangle, dense. */
static kiln_status
read_scales(struct kn_ctx *c, struct run *r, const struct kn_rect *t,
            struct kn_ref_result *res)
{
    int64_t per = kn_output_scale_row(&r->p), block = kn_output_block(&r->p);
    int64_t size = kn_output_scale_size(&r->p);
    size_t n = (size_t)((t->cols + block - 1) / block * size);
    int64_t first = t->m0 + res->row0;
    uint8_t *all = KN_NEW(c, uint8_t, (size_t)t->rows * n);

    for (int64_t i = 0; i < t->rows; i++)
        KN_TRY(kn_session_read(r->s, r->job.at.sc +
                               (uint64_t)((first + i) * per +
                                          t->n0 / block * size),
                               all + (size_t)i * n, n));
    r->scales_written += (uint64_t)t->rows * n;
    res->scales = all;
    return KILN_OK;
}

/* --data exact promises equal bits, as far as the data are made here; scales
 * that the kernel makes are no powers of two, functions are not exact. */
static bool
is_exact(const struct run *r)
{
    for (int i = 0; i < KN_NOPERANDS; i++)
        if (r->ops.o[i].file && !r->ops.o[i].made)
            return false;
    return r->t->cli->v[KN_FLAG_data].i == KN_DATA_EXACT &&
           !kn_prequant(&r->p) && !r->p.expression[0];
}

/* What the elements of a tile should be. */
static kiln_status
expect_tile(struct kn_ctx *c, struct run *r, const struct kn_ref_problem *p,
            const struct kn_rect *t, const struct kn_ref_sums *sums)
{
    struct kn_ref_rect rect = { t->m0, t->n0, t->rows, t->cols };

    if (!r->whole)
        return kn_ref_tile(c, p, &rect, sums);
    r->cells.p = p;
    r->cells.group = t->group;
    r->cells.least = sums->least;
    return kn_ref_take(c, &r->cells, &rect, sums);
}

/* In a context of its own: the reference allocates per tile. */
static kiln_status
check_tile_in(struct kn_ctx *c, struct run *r, const struct kn_ref_problem *p,
              const struct kn_rect *t)
{
    struct kn_ref_rect rect = { t->m0, t->n0, t->rows, t->cols };
    struct kn_ref_result res = { .target = r->p.target, .out = r->p.out,
                                 .math = p->math, .a = p->a.type, .k = p->k,
                                 .rect = rect };
    size_t n = (size_t)(t->rows * t->cols);
    struct kn_ref_sums sums;
    uint8_t *got;

    KN_ENTER(c);
    res.exact = is_exact(r);
    res.round = r->p.round;
    res.round_seed = r->p.round_seed;
    res.row0 = kn_family_of(&r->p)->ragged == 'm' ? r->offs[t->group]
                                                  : t->group * r->p.m;
    kn_operands_codes(&r->p, &r->ops, &res);
    res.value = sums.value = KN_NEW(c, double, n);
    res.abssum = sums.abssum = KN_NEW(c, double, n);
    res.both = sums.both = KN_NEW(c, uint8_t, n);
    res.got = got = KN_NEW(c, uint8_t, (size_t)t->rows * row_bytes(r, t->cols));
    sums.least = kn_ref_least_serves(p, &res) && !r->p.amax && !r->p.out2;
    KN_TRY(expect_tile(c, r, p, t, &sums));
    KN_TRY(read_output(r, t, got));
    if (res.written)
        KN_TRY(read_scales(c, r, t, &res));
    kn_ref_amax_add(&r->amax, &res);
    if (r->p.out2)
        KN_TRY(kn_second_check(c, &r->second, p, t, &res));
    return kn_ref_judge(c, p, &res, &r->check);
}

static kiln_status
check_tile(struct run *r, const struct kn_ref_problem *p,
           const struct kn_rect *t)
{
    struct kn_ctx own;
    kiln_status s;

    r->written += (uint64_t)t->rows * row_bytes(r, t->cols);
    kn_ctx_init(&own, r->c->realloc, r->c->user);
    s = check_tile_in(&own, r, p, t);
    if (s && own.err.status)
        kn_fail(r->c, s, "%s", own.err.text);
    kn_ctx_free(&own);
    return s;
}

/* A tile past the last group: zeros. */
static kiln_status
check_spare(struct run *r, const struct kn_rect *t)
{
    size_t row = row_bytes(r, t->cols);
    uint8_t *got = KN_NEW(r->c, uint8_t, (size_t)t->rows * row);

    KN_TRY(read_output(r, t, got));
    r->written += (uint64_t)t->rows * row;
    for (size_t i = 0; i < (size_t)t->rows * row; i++) {
        struct kn_finding f = { .kind = KN_F_UNWRITTEN, .count = 1 };

        if (!got[i])
            continue;
        snprintf(f.text, sizeof f.text, "row %" PRId64 " past the last group "
                 "is not zero", t->m0 + (int64_t)(i / row));
        kn_report_add(r->c, &r->job.result, &f);
        break;
    }
    return KILN_OK;
}

/* The same some rows at a time, where they are long: 2^20 elements and a row. */
static kiln_status
check_rows(struct run *r, const struct kn_ref_problem *p, const struct kn_rect *t)
{
    const int64_t most = 1 + (1 << 20) / t->cols, end = t->m0 + t->rows;

    for (struct kn_rect some = *t; some.m0 < end; some.m0 += most) {
        some.rows = end - some.m0 < most ? end - some.m0 : most;
        KN_TRY(check_tile(r, p, &some));
    }
    return KILN_OK;
}

/* The tiles of one workgroup: one, or every workgroups-th of a persistent
 * launch. */
static kiln_status
check_workgroup(struct run *r, uint64_t id, uint64_t tiles)
{
    uint64_t spare = kn_spare_count(&r->p, &r->g.cfg, r->offs);

    for (uint64_t pid = id; pid < tiles + spare; pid += r->job.workgroups) {
        struct kn_rect t = kn_tile_rect(&r->p, &r->g.cfg, r->offs, pid);
        struct kn_ref_problem p;

        if (pid >= tiles) {
            KN_TRY(check_spare(r, &t));
            continue;
        }
        if (t.share || !kn_rect_judged(&r->p, &r->g.cfg, &t))
            continue;
        kn_operands_reference(&r->p, &r->ops, r->offs, t.group, &p);
        if (t.rows > 0 && t.cols > 0)
            KN_TRY(check_rows(r, &p, &t));
    }
    return KILN_OK;
}

/* Whose tiles are not known: the output of each group or batch as one. */
static kiln_status
check_whole(struct run *r)
{
    int64_t many = r->p.groups ? r->p.groups : r->p.batch > 1 ? r->p.batch : 1;

    for (int64_t i = 0; i < many; i++) {
        struct kn_rect t = { .group = i, .rows = r->p.m, .cols = r->p.n };
        struct kn_ref_problem p;

        if (kn_family_of(&r->p)->ragged == 'm')
            t.rows = r->offs[i + 1] - r->offs[i];
        kn_operands_reference(&r->p, &r->ops, r->offs, i, &p);
        if (t.rows > 0 && t.cols > 0)
            KN_TRY(check_tile(r, &p, &t));
    }
    return KILN_OK;
}

static kiln_status
check_output(struct run *r)
{
    const struct kn_sim_select *select = &r->job.l.select;
    uint64_t n = select->all ? r->job.workgroups : select->n;
    uint64_t total = kn_tile_count(&r->p, &r->g.cfg, r->offs);
    kiln_status s = KILN_OK;

    kn_progress_stage(r->t->progress, "checking tiles");
    r->whole = select->all;
    for (uint64_t i = 0; i < n && !s; i++) {
        s = check_workgroup(r, select->all ? i : select->ids[i], total);
        kn_progress_update(r->t->progress, i + 1, n);
    }
    kn_ref_cells_free(&r->cells);
    return s;
}

static kiln_status
write_output(struct run *r)
{
    const struct kn_value *v = &r->t->cli->v[KN_FLAG_out_file];
    int64_t many = r->ops.o[KN_OPND_C].data.batches;
    struct kn_rect all = { .rows = r->p.m, .cols = r->p.n };
    struct kn_npy a = { .ndim = 2, .shape = { r->p.m, r->p.n } };
    size_t row = row_bytes(r, r->p.n);
    uint8_t *bytes;

    if (!v->seen)
        return KILN_OK;
    strncpy(a.dtype, kn_npy_dtype(r->p.out), sizeof a.dtype - 1);
    a.elem = kn_ref_type_bits(r->p.out) / 8;
    if (!a.elem) {           /* codes in pairs */
        a.elem = 1;
        a.shape[1] = (int64_t)row;
    }
    if (many > 1) {
        a.ndim = 3;
        a.shape[2] = a.shape[1];
        a.shape[0] = many;
        a.shape[1] = r->p.m;
    }
    a.bytes = (uint64_t)(many * r->p.m) * row;
    bytes = KN_NEW(r->c, uint8_t, a.bytes);
    for (; all.group < many; all.group++)
        KN_TRY(read_output(r, &all, bytes + (uint64_t)(all.group * r->p.m) *
                                            row));
    a.data = bytes;
    return kn_npy_write(r->c, v->s, &a);
}

/* The scales that the kernel has written: a row of them for each of the
 * output, of --out-scale row one for each. */
static kiln_status
write_scales(struct run *r)
{
    const struct kn_value *v = &r->t->cli->v[KN_FLAG_out_scale_file];
    const struct kn_operand *o = &r->ops.o[KN_OPND_SC];
    struct kn_npy a = { .ndim = r->p.out_scale == KILN_OUT_ROW ? 1 : 2,
                        .shape = { o->data.rows, o->data.cols } };
    uint8_t *bytes;

    if (!v->seen || !kn_writes_scales(&r->p))
        return KILN_OK;
    a.elem = (uint32_t)kn_output_scale_size(&r->p);
    strncpy(a.dtype, a.elem == 1 ? "|u1" : "<f4", sizeof a.dtype - 1);
    a.bytes = o->size;
    bytes = KN_NEW(r->c, uint8_t, a.bytes);
    KN_TRY(kn_session_read(r->s, r->job.at.sc, bytes, a.bytes));
    a.data = bytes;
    return kn_npy_write(r->c, v->s, &a);
}

static void
predict(struct run *r)
{
    struct kn_predict q = { .p = &r->p, .offs = r->offs, .g = &r->g,
                            .host = kn_cli_host_groups(r->t->cli),
                            .warm = r->t->cli->v[KN_FLAG_warm].seen,
                            .launch = r->launch };

    if (r->t->trial && !r->t->trial->timed)
        return;
    if (r->job.workgroups && r->p.m && r->p.n && r->p.k)
        kn_predict_run(r->t, &r->j, &q);
}

static kiln_status
report(struct run *r)
{
    kn_report_check(r->t, &r->j, &r->check, true);
    if (r->place.gpu)
        kn_job_measured(r->t, &r->j, &r->place, &r->job,
                        kn_launch_flops(&r->p, r->offs));
    else
        kn_report_run(r->t, &r->j, &r->job.result);
    predict(r);
    return r->check.bad || kn_run_found(r->t, &r->job.result) ? KILN_FINDING
                                                              : KILN_OK;
}

static kiln_status
run_on_device(struct kn_session *s, void *user)
{
    struct run *r = user;

    r->s = s;
    KN_TRY(plan_launch(r));
    KN_TRY(kn_run_sums(r->t, &r->j, &r->p, r->offs, &r->g));
    KN_TRY(execute(r));
    KN_TRY(kn_report_stopped(r->t, &r->j, &r->job.result));
    KN_TRY(kn_session_check_shares(s, &r->job));
    if (!r->launch)
        KN_TRY(kn_job_places(r->c, &r->job));
    r->second = (struct kn_second){ .s = s, .job = &r->job, .offs = r->offs,
                                    .data = &r->ops.o[KN_OPND_OUT2].data,
                                    .size = r->ops.o[KN_OPND_OUT2].size };
    if (r->p.m && r->p.n && !(r->t->trial && r->t->trial->unchecked)) {
        KN_TRY(r->launch ? check_whole(r) : check_output(r));
        kn_session_check_written(s, &r->job, r->job.at.c,
                                 r->ops.o[KN_OPND_C].size, r->written);
        if (r->scales_written)
            kn_session_check_written(s, &r->job, r->job.at.sc,
                                     r->ops.o[KN_OPND_SC].size,
                                     r->scales_written);
        if (r->p.out2)
            kn_second_report(r->t, &r->j, &r->second);
        if (r->p.amax)
            KN_TRY(kn_amax_check(r->t, &r->j, s, &r->job, &r->amax));
    }
    KN_TRY(write_output(r));
    KN_TRY(write_scales(r));
    KN_TRY(kn_amax_write(r->t, s, &r->job));
    KN_TRY(kn_second_write(r->t, &r->second));
    return report(r);
}

kiln_status
kn_cmd_run(struct kn_tool *t)
{
    struct run *r = KN_NEW(t->c, struct run, 1);
    kiln_status s;

    if (!strcmp(t->cli->pos[0], "moe"))
        return kn_run_moe(t);
    if (!strcmp(t->cli->pos[0], kn_family_names[KILN_QUANT]))
        return kn_run_quant(t);
    r->t = t;
    r->j.b.c = r->c = t->c;
    KN_TRY(read_problem(r));
    KN_TRY(kn_operands_make(t, &r->p, &r->ops));
    kn_json_open(&r->j, NULL, '{');
    r->launch = t->cli->v[KN_FLAG_as].s;
    KN_TRY(kn_kernel_take(t, &r->j, &r->p, &r->g));
    if (r->g.cfg.loader_split > 1)
        return kn_fail(t->c, KILN_UNSUPPORTED, "shares of K that aiter's loader "
                       "adds are rounded to bf16 one by one, in any order, which "
                       "run does not check: no --split-k");
    if (!kn_cli_samples(t->cli))
        kn_operands_gather(t->c, &r->p, &r->ops);
    s = kn_session_do(t->c, &r->place, run_on_device, r);
    kn_json_close(&r->j, '}');
    if (s > KILN_FINDING && !r->job.result.stopped)
        return s;
    KN_TRY(kn_report_write(t, &r->j));
    return s;
}
