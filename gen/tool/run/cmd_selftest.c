/* cmd_selftest.c - `kilnc selftest`: is the simulator right about this GPU,
 * and the GPU about these kernels? Every kernel of the conformance set runs
 * on both, from the same operands, and their output is compared bit by bit;
 * each is held against the f64 reference as well. Without a GPU (--device sim)
 * the simulator alone is. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "predict.h"
#include "../progress.h"
#include "session.h"

static const struct row {
    unsigned targets;
    const char *a, *b, *out, *more;
} rows[] = {
#define ROW(targets, a, b, out, more) { targets, a, b, out, more },
#include "selftest.def"
#undef ROW
};

/* X(id, text, mode): operands of the launches of a kernel. */
#define DATA(X) \
    X(EXACT, "small integers", KN_DATA_EXACT) \
    X(RANDOM, "normal", KN_DATA_RANDOM) \
    X(BITS, "any finite bits", KN_DATA_BITS)

static const struct data {
    const char *text;
    enum kn_data_mode mode;
} datas[] = {
#define X(id, text, mode) { text, mode },
    DATA(X)
#undef X
};

struct selftest {
    struct kn_tool *t;
    struct kn_place place;
    struct kn_json j;
    int64_t size[3];         /* of the timed launches */
    size_t kernels, refused, wrong, differing;
    double error;            /* sum of |predicted / measured - 1| */
    size_t timed;
};

/* One kernel of the set and what became of it. */
struct kernel {
    struct kn_ctx *c;
    struct selftest *s;
    const struct row *row;
    struct kn_tool tool;     /* whose command line is the problem's */
    kiln_problem p;
    struct kn_operands_set ops;
    struct kn_generated g;
    uint8_t *out[2];         /* of a launch: the simulator's, the GPU's */
    struct kn_job job;       /* the last one */
    const char *instruction, *label;
    uint64_t elements, differ;
    int64_t first;           /* index of the first element that differs */
    uint64_t gpu_bits, sim_bits;
    struct kn_ref_check sim_check, gpu_check;
    double predicted, measured;
};

/* ---- problem and kernel ------------------------------------------------- */

static kiln_status
read_line(struct kernel *k, const int64_t size[3])
{
    const struct row *r = k->row;
    struct kn_buf b = { .c = k->c };
    struct kn_cli *cli = KN_NEW(k->c, struct kn_cli, 1);
    char **argv = KN_NEW(k->c, char *, 48);
    char *save = NULL;
    int n = 0;

    kn_putf(&b, "kilnc run gemm --a %s --b %s --out %s -m %" PRId64 " -n %"
            PRId64 " -k %" PRId64 " %s", r->a, r->b, r->out, size[0], size[1],
            size[2], r->more);
    for (char *w = strtok_r(b.s, " ", &save); w; w = strtok_r(NULL, " ", &save))
        argv[n++] = w;
    KN_TRY(kn_cli_parse(k->c, n, argv, cli));
    k->tool = (struct kn_tool){ .c = k->c, .cli = cli, .text = &b };
    kn_cli_problem(cli, k->s->place.target, &k->p);
    KN_TRY(kn_problem_normalise(k->c, &k->p));
    return kn_operands_make(&k->tool, &k->p, &k->ops);
}

static kiln_status
generate(struct kernel *k)
{
    struct kn_config cfg = { 0 };

    KN_TRY(kn_config_parse(k->c, k->tool.cli->config, &cfg));
    return kn_generate(k->c, &k->p, &cfg, NULL, &k->g);
}

/* The kernel's matrix instruction: kiln never mixes two. */
static kiln_status
name_instruction(struct kernel *k)
{
    const struct kn_object_kernel *f;
    struct kn_program p;
    struct kn_object o;

    KN_TRY(kn_object_read(k->c, k->g.name, k->g.co, k->g.size, &o));
    KN_TRY(kn_object_kernel(k->c, &o, NULL, &f));
    KN_TRY(kn_decode(k->c, &o, f, true, &p));
    k->instruction = "none";
    for (uint32_t i = 0; i < p.n; i++)
        if (kn_isa[p.inst[i].op].unit == KN_U_MFMA)
            k->instruction = kn_isa[p.inst[i].op].mnemonic;
    return KILN_OK;
}

/* ---- launches ----------------------------------------------------------- */

static void
set_data(struct kernel *k, enum kn_data_mode mode)
{
    for (int i = 0; i < KN_NOPERANDS; i++)
        k->ops.o[i].data.mode = k->ops.o[i].data.scale && mode == KN_DATA_BITS
                                ? KN_DATA_RANDOM : mode;
}

/* Executes the kernel where the session is, and reads its output. */
static kiln_status
execute(struct kn_session *s, void *user)
{
    struct kernel *k = user;
    struct kn_job *j = &k->job;
    size_t size = (size_t)k->ops.o[KN_OPND_C].size;

    *j = (struct kn_job){ .p = &k->p, .g = &k->g };
    KN_TRY(kn_session_operands(s, j, &k->ops, NULL));
    KN_TRY(kn_session_plan(s, j));
    KN_TRY(kn_session_load(s, j, &(struct kn_object_bytes){
        k->g.name, k->g.co, k->g.size }));
    KN_TRY(kn_session_run(s, j));
    k->out[s->gpu] = KN_NEW(k->c, uint8_t, size);
    return kn_session_read(s, j->at.c, k->out[s->gpu], size);
}

static kiln_status
measure(struct kn_session *s, void *user)
{
    KN_TRY(execute(s, user));
    return kn_session_time(s, &((struct kernel *)user)->job);
}

static kiln_status
check(struct kernel *k, enum kn_data_mode mode, const uint8_t *got,
      struct kn_ref_check *sum)
{
    struct kn_ref_rect all = { 0, 0, k->p.m, k->p.n };
    struct kn_ref_result r = { .target = k->p.target, .out = k->p.out,
                               .k = k->p.k, .rect = all, .got = got,
                               .exact = mode == KN_DATA_EXACT };
    size_t n = (size_t)(k->p.m * k->p.n);
    struct kn_ref_sums sums = { KN_NEW(k->c, double, n),
                                KN_NEW(k->c, double, n),
                                KN_NEW(k->c, uint8_t, n) };
    struct kn_ref_problem p;

    if (mode == KN_DATA_BITS)
        return KILN_OK;      /* sums overflow or not by their order */
    kn_operands_reference(&k->p, &k->ops, NULL, 0, &p);
    KN_TRY(kn_ref_tile(k->c, &p, &all, &sums));
    r.value = sums.value;
    r.abssum = sums.abssum;
    r.both = sums.both;
    kn_ref_compare(&r, sum);
    return KILN_OK;
}

static uint64_t
bits_at(const uint8_t *p, size_t size, int64_t i)
{
    uint64_t v = 0;

    memcpy(&v, p + (size_t)i * size, size);
    return v;
}

/* Bit by bit; any NaN is as good as another. */
static void
compare(struct kernel *k, const uint8_t *gpu, const uint8_t *sim)
{
    size_t size = kn_ref_type_bits(k->p.out) / 8;

    for (int64_t i = 0; i < k->p.m * k->p.n; i++) {
        uint64_t g = bits_at(gpu, size, i), s = bits_at(sim, size, i);
        double x = kn_ref_decode(k->p.out, k->p.target, (uint32_t)g);
        double y = kn_ref_decode(k->p.out, k->p.target, (uint32_t)s);

        k->elements++;
        if (g == s || (x != x && y != y))
            continue;
        if (!k->differ++) {
            k->first = i;
            k->gpu_bits = g;
            k->sim_bits = s;
        }
    }
}

static kiln_status
launch(struct kernel *k, enum kn_data_mode mode)
{
    const struct kn_place sim = { .target = k->p.target };
    const struct kn_sim_result *r = &k->job.result;

    set_data(k, mode);
    KN_TRY(kn_session_do(k->c, &sim, execute, k));
    k->label = r->mfma_modelled     ? "modelled"
               : r->mfma_unverified ? "unverified" : "exact";
    k->sim_check.bad += r->nfindings;
    KN_TRY(check(k, mode, k->out[false], &k->sim_check));
    if (!k->s->place.gpu)
        return KILN_OK;
    KN_TRY(kn_session_do(k->c, &k->s->place, execute, k));
    KN_TRY(check(k, mode, k->out[true], &k->gpu_check));
    compare(k, k->out[true], k->out[false]);
    return KILN_OK;
}

static kiln_status
time_kernel(struct kernel *k)
{
    struct kn_predict q = { .p = &k->p, .g = &k->g };
    struct kn_time_result r;

    if (!k->s->place.gpu || !k->s->size[0])
        return KILN_OK;
    KN_TRY(read_line(k, k->s->size));
    KN_TRY(generate(k));
    KN_TRY(kn_session_do(k->c, &k->s->place, measure, k));
    KN_TRY(kn_predict_generated(k->c, &q, &r));
    k->measured = k->job.time.us;
    k->predicted = r.us;
    return KILN_OK;
}

static kiln_status
run_kernel(struct kernel *k)
{
    static const int64_t size[3] = { 96, 80, 288 };

    KN_ENTER(k->c);
    KN_TRY(read_line(k, size));
    KN_TRY(generate(k));
    KN_TRY(name_instruction(k));
    for (size_t i = 0; i < sizeof datas / sizeof *datas; i++)
        KN_TRY(launch(k, datas[i].mode));
    return time_kernel(k);
}

/* ---- report ------------------------------------------------------------- */

static void
put_verdict(struct kernel *k)
{
    struct kn_buf *b = k->s->t->text;
    const struct kn_ref_check *s = &k->sim_check, *g = &k->gpu_check;

    kn_putf(b, "%-34s %-10s", k->instruction, k->label);
    if (k->s->place.gpu)
        kn_putf(b, " %" PRIu64 " of %" PRIu64 " elements differ", k->differ,
                k->elements);
    if (k->differ)
        kn_putf(b, " (first [%" PRId64 ", %" PRId64 "]: GPU %#" PRIx64
                ", simulator %#" PRIx64 ")", k->first / k->p.n,
                k->first % k->p.n, k->gpu_bits, k->sim_bits);
    kn_putf(b, "%s simulator %s (%.1f dB)", k->s->place.gpu ? "," : "",
            s->bad ? "WRONG" : "ok", kn_ref_snr(s));
    if (k->s->place.gpu)
        kn_putf(b, ", GPU %s (%.1f dB)", g->bad ? "WRONG" : "ok",
                kn_ref_snr(g));
    kn_putf(b, "  %s x %s -> %s %s\n", k->row->a, k->row->b, k->row->out,
            k->row->more);
    if (k->measured > 0)
        kn_putf(b, "  %.2f us measured, %.2f predicted, %+.1f %%\n",
                k->measured, k->predicted,
                100 * (k->predicted / k->measured - 1));
}

static void
put_json(struct kernel *k)
{
    struct kn_json *j = &k->s->j;

    kn_json_open(j, NULL, '{');
    kn_json_str(j, "a", k->row->a);
    kn_json_str(j, "b", k->row->b);
    kn_json_str(j, "out", k->row->out);
    kn_json_str(j, "flags", k->row->more);
    kn_json_str(j, "arch", kiln_target_name(k->p.target));
    kn_json_str(j, "kernel", k->g.name);
    kn_json_str(j, "instruction", k->instruction);
    kn_json_str(j, "simulated_as", k->label);
    kn_json_uint(j, "simulator_bad", k->sim_check.bad);
    kn_json_real(j, "simulator_snr_db", kn_ref_snr(&k->sim_check));
    kn_json_real(j, "simulator_cosine", kn_ref_cosine(&k->sim_check));
    if (k->s->place.gpu) {
        kn_json_uint(j, "elements", k->elements);
        kn_json_uint(j, "differ", k->differ);
        kn_json_uint(j, "gpu_bad", k->gpu_check.bad);
        kn_json_real(j, "gpu_snr_db", kn_ref_snr(&k->gpu_check));
        kn_json_real(j, "gpu_cosine", kn_ref_cosine(&k->gpu_check));
    }
    if (k->measured > 0) {
        kn_json_real(j, "measured_us", k->measured);
        kn_json_real(j, "predicted_us", k->predicted);
    }
    kn_json_close(j, '}');
}

static void
count(struct kernel *k)
{
    struct selftest *s = k->s;
    double e = k->measured > 0 ? k->predicted / k->measured - 1 : 0;

    s->kernels++;
    s->wrong += k->sim_check.bad || k->gpu_check.bad;
    s->differing += k->differ != 0;
    s->timed += k->measured > 0;
    s->error += e < 0 ? -e : e;
}

static kiln_status
test_row(struct selftest *s, const struct row *row)
{
    struct kn_ctx own;
    struct kernel k = { .c = &own, .s = s, .row = row };
    kiln_status st;

    kn_ctx_init(&own, s->t->c->realloc, s->t->c->user);
    st = run_kernel(&k);
    if (st) {
        kn_fail(s->t->c, st, "selftest of %s x %s -> %s %s: %s", row->a,
                row->b, row->out, row->more, own.err.text);
    } else {
        put_verdict(&k);
        put_json(&k);
        count(&k);
    }
    kn_ctx_free(&own);
    return st;
}

static kiln_status
test_target(struct selftest *s)
{
    size_t n = sizeof rows / sizeof *rows;

    kn_putf(s->t->text, "%s%s%s\n", kiln_target_name(s->place.target),
            s->place.gpu ? " on " : ", the simulator alone",
            s->place.device.info.name);
    for (size_t i = 0; i < n; i++) {
        if (rows[i].targets & 1u << s->place.target)
            KN_TRY(test_row(s, &rows[i]));
        kn_progress_update(s->t->progress, i + 1, n);
    }
    return KILN_OK;
}

static void
put_summary(struct selftest *s)
{
    struct kn_buf *b = s->t->text;

    kn_putf(b, "%zu kernels, %zu wrong", s->kernels, s->wrong);
    if (s->place.gpu)
        kn_putf(b, ", %zu where GPU and simulator differ", s->differing);
    else
        kn_put(b, "; no GPU took part: --device hip:0 compares with one");
    if (s->timed)
        kn_putf(b, "; mean error of the timing model %.1f %%",
                100 * s->error / (double)s->timed);
    kn_put(b, "\n");
}

/* --device sim is both targets. */
static kiln_status
test_all(struct selftest *s)
{
    const struct kn_value *v = &s->t->cli->v[KN_FLAG_place];

    if (v->seen && v->i == KN_DEV_HIP) {
        KN_TRY(kn_place_open(s->t->c, v, &s->place));
        return test_target(s);
    }
    for (int t = KILN_TARGET_NONE + 1; t < KILN_NTARGETS; t++)
        if (!v->seen || !v->list[0] || v->list[0] == t) {
            s->place.target = (kiln_target)t;
            KN_TRY(test_target(s));
        }
    return KILN_OK;
}

/* -m -n -k of the timed launches; -m 0: none. */
static void
read_size(struct selftest *s)
{
    static const enum kn_flag_id flag[3] = { KN_FLAG_m, KN_FLAG_n, KN_FLAG_k };

    for (int i = 0; i < 3; i++) {
        const struct kn_value *v = &s->t->cli->v[flag[i]];

        s->size[i] = v->seen ? v->i : 4096;
    }
}

/* -o: where the report is kept. */
static kiln_status
save(struct selftest *s)
{
    const struct kn_value *o = &s->t->cli->v[KN_FLAG_o];

    if (!o->seen)
        return KILN_OK;
    kn_putf(s->t->text, "report in %s\n", o->s);
    return kn_file_write(s->t->c, o->s, s->j.b.s, s->j.b.n);
}

kiln_status
kn_cmd_selftest(struct kn_tool *t)
{
    struct selftest *s = KN_NEW(t->c, struct selftest, 1);

    s->t = t;
    s->j.b.c = t->c;
    read_size(s);
    kn_progress_stage(t->progress, "testing");
    kn_json_open(&s->j, NULL, '{');
    kn_json_open(&s->j, "kernels", '[');
    KN_TRY(test_all(s));
    kn_json_close(&s->j, ']');
    kn_json_str(&s->j, "device", s->place.gpu ? s->place.device.info.name : "sim");
    kn_json_uint(&s->j, "wrong", s->wrong);
    kn_json_uint(&s->j, "differing", s->differing);
    kn_json_close(&s->j, '}');
    put_summary(s);
    KN_TRY(save(s));
    KN_TRY(kn_report_write(t, &s->j));
    return s->wrong || s->differing ? KILN_FINDING : KILN_OK;
}
