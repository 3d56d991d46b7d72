/* cmd_exec.c - `kilnc exec`: any code object, the user's own buffers. */
#include <inttypes.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "run.h"
#include "../inspect/inspect.h"
#include "session.h"
#include "../progress.h"

/* A pointer argument and what stands behind it. */
struct buffer {
    const struct kn_cli_arg *arg;
    const uint8_t *data;     /* initial bytes; NULL for an output */
    uint64_t size, addr;
};

struct exec {
    struct kn_tool *t;
    struct kn_ctx *c;
    const struct kn_cli *cli;
    const uint8_t *bytes;    /* of the code object */
    size_t size;
    const char *cert;        /* of the object, NULL: none */
    struct kn_places from;
    struct kn_place place;
    struct kn_session *s;
    struct kn_job job;
    const struct kn_object_kernel *kernel;
    uint8_t *kernarg;
    size_t kernarg_size;
    size_t nbuffers;
    struct buffer *buffers;
    struct kn_json j;
};

static void
fill_from_file(void *user, uint64_t offset, void *dst, size_t size)
{
    const struct buffer *b = user;
    uint64_t left = offset < b->size ? b->size - offset : 0;

    if (left < size)
        memset(dst, 0, size);
    memcpy(dst, b->data + (left ? offset : 0), left < size ? left : size);
}

static kiln_status
make_buffer(struct exec *e, const struct kn_cli_arg *a, uint64_t *addr)
{
    struct buffer *b = &e->buffers[e->nbuffers++];
    unsigned flags = a->kind == KN_CA_IN ? KN_MEM_READONLY : 0;
    uint8_t *data;
    size_t n;

    b->arg = a;
    b->size = a->bytes;
    if (a->kind == KN_CA_OUT) {
        flags = !b->size ? 0 : e->s->predicts ? KN_MEM_BLANK : KN_MEM_OUTPUT;
    } else {
        KN_TRY(kn_file_read_data(e->c, a->in, &data, &n));
        b->data = data;
        b->size = n;
    }
    KN_TRY(kn_session_put(e->s, &(struct kn_memory){
        b->size, flags, b->data ? fill_from_file : NULL, b }, &b->addr));
    *addr = b->addr;
    return KILN_OK;
}

static const char *
arg_name(const struct kn_cli_arg *a)
{
    static const char *const names[] = { "i32",    "i64",      "f32",
                                         "null",   "a buffer", "a buffer",
                                         "a buffer" };

    return names[a->kind];
}

/* Bytes of a scalar; 0 for null and buffers. */
static uint32_t
scalar_size(const struct kn_cli_arg *a)
{
    return a->kind == KN_CA_I64 ? 8 : a->kind < KN_CA_NULL ? 4 : 0;
}

static kiln_status
place_arg(struct exec *e, const struct kn_kernel_arg *m,
          const struct kn_cli_arg *a, size_t number)
{
    bool pointer = m->kind == KN_ARG_GLOBAL_BUFFER;
    uint32_t size = scalar_size(a);
    uint64_t value = (uint64_t)a->i;

    if (pointer != !size || (size && size != m->size))
        return kn_fail(e->c, KILN_BAD_INPUT,
                       "argument %zu %s of kernel '%s' is %s of %" PRIu32
                       " bytes, not %s", number, m->name, e->kernel->name,
                       pointer ? "a pointer" : "a value", m->size,
                       arg_name(a));
    if (m->size > 8 || m->offset > e->kernarg_size - m->size)
        return kn_fail(e->c, KILN_BAD_INPUT,
                       "the metadata of kernel '%s' places argument %zu "
                       "outside the kernarg segment; use --kernarg",
                       e->kernel->name, number);
    if (a->kind >= KN_CA_IN)
        KN_TRY(make_buffer(e, a, &value));
    memcpy(e->kernarg + m->offset, &value, m->size);
    return KILN_OK;
}

static bool
is_explicit(const struct kn_kernel_arg *m)
{
    return m->kind != KN_ARG_HIDDEN && m->kind != KN_ARG_DYNAMIC_LDS;
}

static kiln_status
args_from_metadata(struct exec *e)
{
    const struct kn_object_kernel *k = e->kernel;
    size_t need = 0, used = 0;

    for (uint32_t i = 0; i < k->nargs; i++)
        need += is_explicit(&k->args[i]);
    if (need != e->cli->nargs)
        return kn_fail(e->c, KILN_BAD_INPUT,
                       "kernel '%s' takes %zu arguments, %zu --arg are given",
                       k->name, need, e->cli->nargs);
    e->kernarg_size = k->kernarg_size;
    e->kernarg = KN_NEW(e->c, uint8_t, e->kernarg_size + 8);
    for (uint32_t i = 0; i < k->nargs; i++)
        if (is_explicit(&k->args[i])) {
            KN_TRY(place_arg(e, &k->args[i], &e->cli->args[used], used + 1));
            used++;
        }
    return KILN_OK;
}

static kiln_status
args_from_file(struct exec *e, const char *path)
{
    uint64_t addr;

    KN_TRY(kn_file_read(e->c, path, &e->kernarg, &e->kernarg_size));
    for (size_t i = 0; i < e->cli->nargs; i++) {
        const struct kn_cli_arg *a = &e->cli->args[i];
        if (e->kernarg_size < 8 || a->offset > e->kernarg_size - 8)
            return kn_fail(e->c, KILN_BAD_INPUT,
                           "--ptr %" PRIu64 " does not fit into the %zu bytes "
                           "of '%s'", a->offset, e->kernarg_size, path);
        KN_TRY(make_buffer(e, a, &addr));
        memcpy(e->kernarg + a->offset, &addr, sizeof addr);
    }
    return KILN_OK;
}

static kiln_status
make_args(struct exec *e)
{
    const struct kn_value *v = e->cli->v;

    e->buffers = KN_NEW(e->c, struct buffer, e->cli->nargs);
    if (v[KN_FLAG_arg].seen && v[KN_FLAG_kernarg].seen)
        return kn_fail(e->c, KILN_BAD_INPUT,
                       "--arg and --kernarg exclude each other");
    if (v[KN_FLAG_ptr].seen && !v[KN_FLAG_kernarg].seen)
        return kn_fail(e->c, KILN_BAD_INPUT, "--ptr needs --kernarg");
    if (v[KN_FLAG_kernarg].seen)
        return args_from_file(e, v[KN_FLAG_kernarg].s);
    return args_from_metadata(e);
}

static kiln_status
read_dims(struct kn_ctx *c, const struct kn_value *v, const char *flag,
          uint32_t out[3])
{
    if (!v->seen)
        return kn_fail(c, KILN_BAD_INPUT, "'exec' needs %s X[,Y[,Z]]", flag);
    for (int i = 0; i < 3; i++)
        out[i] = (uint32_t)v->list[i];
    return KILN_OK;
}

static kiln_status
make_launch(struct exec *e)
{
    const struct kn_value *v = e->cli->v;
    struct kn_sim_launch *l = &e->job.l;
    uint64_t total;

    e->job = (struct kn_job){ 0 };
    KN_TRY(kn_session_load(e->s, &e->job, &(struct kn_object_bytes){
        e->s->gpu ? e->kernel->name : e->cli->pos[0], e->bytes, e->size }));
    KN_TRY(make_args(e));
    KN_TRY(read_dims(e->c, &v[KN_FLAG_grid], "--grid", l->grid));
    KN_TRY(read_dims(e->c, &v[KN_FLAG_block], "--block", l->block));
    total = (uint64_t)l->grid[0] * l->grid[1];
    if (total > UINT64_MAX / l->grid[2])
        return kn_fail(e->c, KILN_BAD_INPUT, "--grid is too large");
    e->job.workgroups = total * l->grid[2];
    KN_TRY(kn_cli_select(e->c, e->cli, e->job.workgroups, &l->select));
    l->own = e->cert;
    l->kernel = e->kernel->name;
    l->kernarg = e->kernarg;
    l->kernarg_size = e->kernarg_size;
    l->dynamic_lds = (uint32_t)v[KN_FLAG_lds].i;
    kn_tool_orders(e->t, l);
    return KILN_OK;
}

/* Every byte of an output that no workgroup wrote is a finding, unless only
 * some workgroups ran. */
static void
find_unwritten(struct exec *e, struct kn_sim_result *r)
{
    for (size_t i = 0; i < e->nbuffers; i++) {
        const struct buffer *b = &e->buffers[i];
        struct kn_finding f;

        if (b->arg->kind == KN_CA_OUT && b->size &&
            kn_sim_find_unwritten(kn_device_sim(&e->s->dev), b->addr,
                                   b->arg->out, &f))
            kn_report_add(e->c, r, &f);
    }
}

/* An output on its way to its file, part after part. */
struct output {
    const struct exec *e;
    const struct buffer *b;
    uint8_t *part;
};

static kiln_status
part_of_output(void *user, uint64_t at, size_t n, const uint8_t **bytes)
{
    const struct output *o = user;

    *bytes = o->part;
    return kn_session_read(o->e->s, o->b->addr + at, o->part, n);
}

static kiln_status
write_outputs(struct exec *e)
{
    struct output o = { .e = e, .part = KN_NEW(e->c, uint8_t, KN_PART_MAX) };

    for (size_t i = 0; i < e->nbuffers; i++) {
        o.b = &e->buffers[i];
        if (o.b->arg->out)
            KN_TRY(kn_file_write_parts(e->c, o.b->arg->out,
                                       &(struct kn_source){
                part_of_output, &o, o.b->size }));
    }
    return KILN_OK;
}

/* The same launch on a device with the buffers as they were at first. */
static kiln_status
predict_on(struct kn_session *s, void *user)
{
    struct exec *e = user;
    struct kn_buf trace = { .c = e->c }, svg = { .c = e->c };
    const struct kn_value *v = e->cli->v;
    struct kn_time_query q = {
        .trace = v[KN_FLAG_trace].seen ? &trace : NULL,
        .svg = v[KN_FLAG_svg].seen ? &svg : NULL,
        .place = e->from.at,
        .warm = v[KN_FLAG_warm].seen || e->place.gpu,
        .whole = v[KN_FLAG_whole].seen,
        .constants = v[KN_FLAG_constants].s,
    };
    struct kn_time_result r;

    e->s = s;
    e->s->predicts = true;
    e->nbuffers = 0;
    KN_TRY(make_launch(e));
    KN_TRY(kn_session_predict(s, &e->job, &q, &r));
    kn_report_predicted(e->t, &e->j, &r, &e->from.p);
    return kn_write_pictures(e->t, &trace, &svg);
}

/* A GPU says nothing but its time, which --timing asks for: of launches on the
 * same buffers, for what is in the arguments is not known. What is written is
 * what the first launch left. */
static kiln_status
run_on_gpu(struct exec *e)
{
    kn_progress_stage(e->t->progress, "executing");
    KN_TRY(kn_session_run(e->s, &e->job));
    KN_TRY(write_outputs(e));
    if (e->cli->v[KN_FLAG_timing].seen)
        KN_TRY(kn_session_time(e->s, &e->job));
    kn_job_measured(e->t, &e->j, &e->place, &e->job, 0);
    return KILN_OK;
}

static kiln_status
run_on(struct kn_session *s, void *user)
{
    struct exec *e = user;
    struct kn_sim_result *r = &e->job.result;

    e->s = s;
    KN_TRY(make_launch(e));
    if (s->gpu)
        return run_on_gpu(e);
    kn_progress_stage(e->t->progress, "simulating workgroups");
    KN_TRY(kn_session_run(e->s, &e->job));
    kn_places_put(&e->from, r);
    KN_TRY(kn_report_stopped(e->t, &e->j, r));
    if (e->job.l.select.all)
        find_unwritten(e, r);
    KN_TRY(write_outputs(e));
    kn_places_put(&e->from, r);
    kn_report_run(e->t, &e->j, r);
    return KILN_OK;
}

/* The simulated device of --device, or of the object's own target. */
static kiln_status
choose_device(struct exec *e, kiln_target target)
{
    if (!e->place.target)
        e->place.target = target;
    if (e->place.target != target)
        return kn_fail(e->c, KILN_BAD_INPUT,
                       "'%s' is for %s, the device is %s", e->cli->pos[0],
                       kiln_target_name(target),
                       kiln_target_name(e->place.target));
    return KILN_OK;
}

/* The file's bytes, or those of the kernel that is written in it. */
static kiln_status
read_object(struct exec *e)
{
    const struct kn_watch watch = { .want = KN_WANT_CO,
                                    .lowering = kn_handmade_lowering(e->cli) };
    const char *path = e->cli->pos[0];
    struct kn_generated g;
    struct kn_bytes file;

    if (kn_is_handmade(path)) {
        KN_TRY(kn_handmade(e->c, path, &watch, &g));
        e->bytes = g.co;
        e->size = g.size;
        e->cert = g.certificate;
        return KILN_OK;
    }
    if (watch.lowering)
        return kn_fail(e->c, KILN_BAD_INPUT, "--lowering is of tile IR; '%s' is code "
                       "already", path);
    KN_TRY(kn_code_read(e->c, path, e->place.target, &file));
    e->bytes = file.p;
    e->size = file.n;
    return kn_cert_beside(e->c, path, &e->cert);
}

kiln_status
kn_cmd_exec(struct kn_tool *t)
{
    struct exec *e = KN_NEW(t->c, struct exec, 1);
    const struct kn_value *v = t->cli->v;
    struct kn_sim_result r;
    struct kn_object o;
    kiln_status s;

    e->t = t;
    e->j.b.c = e->c = t->c;
    e->cli = t->cli;
    KN_TRY(kn_tool_place(t, &e->place));
    KN_TRY(kn_place_flags(t, &e->place));
    KN_TRY(read_object(e));
    KN_TRY(kn_object_read(t->c, t->cli->pos[0], e->bytes, e->size, &o));
    KN_TRY(choose_device(e, o.target));
    kn_json_open(&e->j, NULL, '{');
    KN_TRY(kn_object_kernel(t->c, &o, v[KN_FLAG_kernel].s, &e->kernel));
    kn_json_str(&e->j, "arch", kiln_target_name(o.target));
    KN_TRY(kn_places_find(t->c, &o, e->kernel, e->cert, &e->from));
    KN_TRY(kn_report_kernel(t, &e->j, &o, e->kernel));
    s = kn_session_do(t->c, &e->place, run_on, e);
    r = e->job.result;
    if (!s && v[KN_FLAG_timing].seen) {
        kn_progress_stage(t->progress, "predicting");
        s = kn_session_do(t->c, &(struct kn_place){ .target = o.target },
                          predict_on, e);
    }
    kn_json_close(&e->j, '}');
    if (s && !r.stopped)
        return s;
    KN_TRY(kn_report_write(t, &e->j));
    return s ? s : kn_run_found(t, &r) ? KILN_FINDING : KILN_OK;
}
