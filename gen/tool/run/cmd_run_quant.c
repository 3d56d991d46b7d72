/* cmd_run_quant.c - `kilnc run quant`: rows are quantised by the emitted code
 * object, and every code and scale of the workgroups that ran is checked. */
#include <math.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "../../layout.h"
#include "../../quant.h"
#include "../progress.h"
#include "session.h"

/* One of the two that --dual writes, or the only one. */
struct output {
    bool turned;             /* its rows are columns of A */
    uint64_t c, sc;          /* where its codes and scales are */
    uint64_t size, scale_size; /* their bytes */
    int64_t pitch, scale_pitch;
    int64_t blocks;          /* scales of a row */
    uint64_t codes, scales;  /* bytes of the outputs that must be written */
};

struct run {
    struct kn_tool *t;
    struct kn_ctx *c;
    kiln_problem p;
    struct kn_pitches at;
    struct kn_generated g;
    struct kn_operand a, sc; /* sc: of a static scale */
    struct kn_place place;
    struct kn_session *s;
    struct kn_job job;
    struct kn_ref_codec codec;
    struct output out[2], *o; /* o: that which is looked at */
    struct kn_ref_check check;
    struct kn_ref_amax amax;
    struct kn_json j;
};

/* Rows of the output, and their elements. */
static int64_t
rows_of(const struct run *r)
{
    return r->o->turned ? r->p.k : r->p.m;
}

static int64_t
columns_of(const struct run *r)
{
    return r->o->turned ? r->p.m : r->p.k;
}

static int64_t
div_up(int64_t n, int64_t d)
{
    return (n + d - 1) / d;
}

static int64_t
block_of(const kiln_problem *p)
{
    return p->out_scale == KILN_OUT_MX32 ? 32
         : p->out_scale == KILN_OUT_BLOCK128 ? 128 : 0;
}

double
kn_quant_bytes(const kiln_problem *p)
{
    double n = (double)p->m * (double)p->k, block = (double)block_of(p);
    double rows = kn_quant_apart(p) ? (double)(p->m + p->k) / 2
                : (double)(kn_quant_turned(p) ? p->k : p->m);
    double scales = block > 0 ? n / block : p->out_scale == KILN_OUT_ROW ? rows : 0;

    return n * kn_type_bits[p->a] / 8 * (kn_quant_gated(p) ? 2 : 1) +
           (n * kn_type_bits[p->out] / 8 + scales * (double)kn_scale_size(p)) *
           (kn_quant_dual(p) ? 2 : 1);
}

/* ---- operands ----------------------------------------------------------- */

static kiln_status
make_operand(struct run *r, struct kn_operand *o, enum kn_flag_id flag)
{
    const struct kn_value *v = r->t->cli->v;

    o->used = true;
    o->data.batches = 1;
    o->data.target = r->p.target;
    o->data.seed = (uint64_t)v[KN_FLAG_seed].i;
    o->data.mode = (enum kn_data_mode)v[KN_FLAG_data].i;
    kn_data_shape(&o->data, 0, 0);
    o->file_row = o->data.row_bytes;
    return v[flag].seen ? kn_operand_read(r->t, o, o->data.scale, v[flag].s)
                        : KILN_OK;
}

static kiln_status
make_operands(struct run *r)
{
    const kiln_problem *p = &r->p;
    const struct kn_extents e = kn_extents_of(p);
    bool fixed = p->out_scale == KILN_OUT_STATIC;

    r->a.data.type = p->a;
    r->a.data.operand = KN_OPND_A;
    r->a.data.rows = p->m;
    r->a.data.cols = p->k * (kn_quant_gated(p) ? 2 : 1);
    KN_TRY(make_operand(r, &r->a, KN_FLAG_a_file));
    kn_data_shape(&r->a.data, p->lda, 0);
    r->a.size = e.a;
    r->sc.data = (struct kn_data){ .type = KILN_F32, .scale = true, .rows = 1,
                                   .cols = 1, .operand = KN_OPND_SC };
    r->sc.size = e.sc;
    return fixed ? make_operand(r, &r->sc, KN_FLAG_out_scale_file) : KILN_OK;
}

static kiln_status
put_operands(struct run *r)
{
    const struct kn_extents e = kn_extents_of(&r->p);
    struct kn_operands *at = &r->job.at;
    struct kn_memory sc = { .size = e.sc, .flags = KN_MEM_OUTPUT };

    KN_TRY(kn_session_put(r->s, &(struct kn_memory){
        (e.a + 3) / 4 * 4, KN_MEM_READONLY, e.a ? kn_operand_fill : NULL,
        &r->a }, &at->a));
    KN_TRY(kn_session_put(r->s, &(struct kn_memory){
        .size = e.c, .flags = KN_MEM_OUTPUT }, &at->c));
    KN_TRY(kn_session_put(r->s, &(struct kn_memory){
        .size = e.out2, .flags = KN_MEM_OUTPUT }, &at->out2));
    KN_TRY(kn_session_put(r->s, &(struct kn_memory){
        .size = e.sc2, .flags = KN_MEM_OUTPUT }, &at->sc2));
    if (r->p.amax)
        KN_TRY(kn_session_put(r->s, &(struct kn_memory){
            .size = 4, .flags = KN_MEM_OUTPUT, .fill = kn_sim_zeros }, &at->amax));
    if (r->p.out_scale == KILN_OUT_STATIC)
        sc = (struct kn_memory){ 4, KN_MEM_READONLY, kn_operand_fill, &r->sc };
    return kn_session_put(r->s, &sc, &at->sc);
}

/* ---- check -------------------------------------------------------------- */

/* Elements of a row as numbers, and bounds of their errors. */
struct part {
    int64_t row, first, n;
    double *v, *e;
};

/* Of A, or of its half behind `behind` columns. */
static void
read_values(struct run *r, const struct part *x, int64_t behind, double *v)
{
    uint64_t size = r->codec.bits / 8, each = r->o->turned ? 1 : (uint64_t)x->n;
    uint8_t *bytes = KN_NEW(r->c, uint8_t, (size_t)x->n * size);

    for (uint64_t i = 0; i < (uint64_t)x->n; i += each) {
        uint64_t row = r->o->turned ? (uint64_t)x->first + i : (uint64_t)x->row;
        uint64_t col = (uint64_t)(r->o->turned ? x->row : x->first);

        kn_operand_fill(&r->a, row * (uint64_t)r->at.a +
                               (col + (uint64_t)behind) * size,
                        bytes + i * size, (size_t)(each * size));
    }
    kn_ref_decode_run(&r->codec, bytes, 0, (size_t)x->n, v);
}

/* silu(gate) * up by f32 functions of 1 ulp each. */
static void
gate(struct run *r, const struct part *x)
{
    double *up = KN_NEW(r->c, double, (size_t)x->n);

    read_values(r, x, r->p.k, up);
    for (int64_t i = 0; i < x->n; i++) {
        double g = x->v[i];

        x->v[i] = g / (1 + exp(-g)) * up[i];
        x->e[i] = fabs(x->v[i]) * (16 + fabs(g)) * 0x1p-23 + 0x1p-149;
    }
}

/* H x / sqrt(n) of n elements each, H[i][j] = (-1)^popcount(i & j). */
static void
transform(struct run *r, int64_t n, double *v, double *e)
{
    unsigned many = r->p.hadamard;
    double out[32], off[32];

    for (int64_t at = 0; at < n; at += many) {
        for (unsigned i = 0; i < many; i++) {
            out[i] = off[i] = 0;
            for (unsigned j = 0; j < many; j++) {
                out[i] += __builtin_popcount(i & j) % 2 ? -v[at + j] : v[at + j];
                off[i] += e[at + j] + fabs(v[at + j]) * 0x1p-21;
            }
        }
        for (unsigned i = 0; i < many; i++) {
            v[at + i] = out[i] / sqrt(many);
            e[at + i] = off[i] / sqrt(many);
        }
    }
}

static void
take_amax(struct kn_ref_amax *m, const struct part *x)
{
    for (int64_t i = 0; i < x->n; i++) {
        m->nan |= isnan(x->v[i]);
        m->low = fmax(m->low, fabs(x->v[i]) - x->e[i]);
        m->high = fmax(m->high, fabs(x->v[i]) + x->e[i]);
    }
}

/* Where the scale of a block of a row is. */
static uint64_t
scale_place(const struct run *r, int64_t row, int64_t block)
{
    int64_t size = kn_scale_size(&r->p);

    switch (r->p.scale_layout) {
    case KILN_SCALE_SHUFFLED:
        return kn_scale_place((uint64_t)row, (uint64_t)block,
                              (uint64_t)r->o->blocks);
    case KILN_SCALE_TRANSPOSED:
        return (uint64_t)(block * r->o->scale_pitch + size * row);
    default:
        return (uint64_t)(row * r->o->scale_pitch + block * size);
    }
}

static kiln_status
read_scales(struct run *r, int64_t row, int64_t first, int64_t n, uint8_t *to)
{
    int64_t block = block_of(&r->p), size = kn_scale_size(&r->p);

    if (!block)
        return kn_session_read(r->s, r->o->sc +
                               (r->p.out_scale == KILN_OUT_ROW
                                ? (uint64_t)row * 4 : 0), to, 4);
    for (int64_t b = 0; b < div_up(n, block); b++)
        KN_TRY(kn_session_read(r->s, r->o->sc +
                               scale_place(r, row, first / block + b),
                               to + b * size, (size_t)size));
    return KILN_OK;
}

/* Elements [first, first + n) of a row: whole blocks, or the last one too. */
static kiln_status
check_part(struct run *r, int64_t row, int64_t first, int64_t n)
{
    const kiln_problem *p = &r->p;
    uint64_t bits = kn_type_bits[p->out];
    size_t bytes = ((uint64_t)n * bits + 7) / 8;
    uint8_t *codes = KN_NEW(r->c, uint8_t, bytes);
    uint8_t *scales = KN_NEW(r->c, uint8_t, (size_t)(n / 8 + 8));
    double *v = KN_NEW(r->c, double, (size_t)n);
    double *e = KN_NEW(r->c, double, (size_t)n);
    const struct part x = { row, first, n, v, e };

    read_values(r, &x, 0, v);
    if (kn_quant_gated(p))
        gate(r, &x);
    if (p->hadamard)
        transform(r, n, v, e);
    take_amax(&r->amax, &x);
    KN_TRY(kn_session_read(r->s, r->o->c + (uint64_t)(row * r->o->pitch) +
                           (uint64_t)first * bits / 8, codes, bytes));
    KN_TRY(read_scales(r, row, first, n, scales));
    kn_quant_check(&(struct kn_quant_row){
        p, row, first, n, v, kn_quant_gated(p) || p->hadamard ? e : NULL, codes, scales },
        &r->check);
    r->o->codes += bytes;
    r->o->scales += block_of(p) ? (uint64_t)(div_up(n, block_of(p)) * kn_scale_size(p))
               : p->out_scale == KILN_OUT_ROW ? 4 : 0;
    return KILN_OK;
}

/* Scales of rows and blocks that only fill up shuffled ones. */
static kiln_status
check_padding(struct run *r)
{
    int64_t rows = div_up(rows_of(r), KN_SCALE_ROWS) * KN_SCALE_ROWS;
    int64_t blocks = div_up(r->o->blocks, KN_SCALE_BLOCKS) * KN_SCALE_BLOCKS;
    uint8_t byte;

    for (int64_t row = 0; row < rows; row++)
        for (int64_t b = row < rows_of(r) ? r->o->blocks : 0; b < blocks; b++) {
            KN_TRY(kn_session_read(r->s, r->o->sc + scale_place(r, row, b),
                                   &byte, 1));
            r->o->scales++;
            r->check.bad += byte != 127;
        }
    return KILN_OK;
}

static kiln_status
check_rows(struct run *r, uint64_t id)
{
    const struct kn_rect t = kn_quant_tile(&r->p, &r->g.cfg, r->o->turned, id);
    int64_t left = columns_of(r) - t.n0, n = left < t.cols ? left : t.cols;

    for (int64_t m = t.m0; n > 0 && m < t.m0 + t.rows && m < rows_of(r); m++) {
        struct kn_ctx own, *c = r->c;
        kiln_status s;

        kn_ctx_init(&own, c->realloc, c->user);
        r->c = &own;
        s = check_part(r, m, t.n0, n);
        r->c = c;
        kn_ctx_free(&own);
        KN_TRY(s);
    }
    return KILN_OK;
}

static kiln_status
check_tile(struct run *r, uint64_t id)
{
    uint32_t parts = kn_quant_parts(&r->p, &r->g.cfg);

    for (uint32_t i = 0; i < parts; i++)
        KN_TRY(check_rows(r, id * parts + i));
    return KILN_OK;
}

static kiln_status
check_output(struct run *r)
{
    const struct kn_sim_select *select = &r->job.l.select;
    uint64_t n = select->all ? r->job.workgroups : select->n;

    for (uint64_t i = 0; i < n; i++)
        KN_TRY(check_tile(r, select->all ? i : select->ids[i]));
    kn_session_check_written(r->s, &r->job, r->o->c, r->o->size, r->o->codes);
    if (!select->all || r->p.out_scale == KILN_OUT_STATIC)
        return KILN_OK;
    if (kn_shuffled(&r->p))
        KN_TRY(check_padding(r));
    kn_session_check_written(r->s, &r->job, r->o->sc, r->o->scale_size, r->o->scales);
    return KILN_OK;
}

static kiln_status
check_outputs(struct run *r)
{
    kn_progress_stage(r->t->progress, "checking rows");
    for (r->o = r->out; r->o < r->out + 1 + kn_quant_dual(&r->p); r->o++)
        KN_TRY(check_output(r));
    return KILN_OK;
}

/* ---- files -------------------------------------------------------------- */

static kiln_status
write_codes(struct run *r, const char *path)
{
    int64_t rows = rows_of(r), row = (columns_of(r) * kn_type_bits[r->p.out] + 7) / 8;
    struct kn_npy a = { .ndim = 2, .shape = { rows, row }, .elem = 1 };
    uint8_t *bytes = KN_NEW(r->c, uint8_t, (size_t)(rows * row + 1));

    strncpy(a.dtype, kn_npy_dtype(r->p.out), sizeof a.dtype - 1);
    for (int64_t m = 0; m < rows; m++)
        KN_TRY(kn_session_read(r->s, r->o->c + (uint64_t)(m * r->o->pitch),
                               bytes + m * row, (size_t)row));
    a.data = bytes;
    a.bytes = (uint64_t)(rows * row);
    return kn_npy_write(r->c, path, &a);
}

/* As the device has them, rows at their pitch; as --a-scale-file reads them. */
static kiln_status
write_scales(struct run *r, const char *path)
{
    const kiln_problem *p = &r->p;
    int64_t size = kn_scale_size(p), rows = rows_of(r), row = r->o->scale_pitch / size;
    struct kn_npy a = { .ndim = 2, .elem = (uint32_t)size };
    uint64_t bytes = r->o->scale_size;
    uint8_t *all;

    if (p->out_scale == KILN_OUT_ROW)
        a.ndim = 1;
    else if (kn_shuffled(p)) {
        rows = div_up(rows, KN_SCALE_ROWS) * KN_SCALE_ROWS;
        row = div_up(r->o->blocks, KN_SCALE_BLOCKS) * KN_SCALE_BLOCKS;
    } else if (p->scale_layout == KILN_SCALE_TRANSPOSED)
        rows = r->o->blocks;
    a.shape[0] = rows;
    a.shape[1] = row;
    strncpy(a.dtype, size == 1 ? "|u1" : "<f4", sizeof a.dtype - 1);
    a.bytes = (uint64_t)(rows * row * size);
    if (a.ndim == 1)
        a.bytes = (uint64_t)(rows * 4);
    all = KN_NEW(r->c, uint8_t, (size_t)a.bytes + 1);
    KN_TRY(kn_session_read(r->s, r->o->sc, all,
                           bytes < a.bytes ? bytes : a.bytes));
    a.data = all;
    return kn_npy_write(r->c, path, &a);
}

static kiln_status
write_files(struct run *r)
{
    static const enum kn_flag_id files[][2] = {
        { KN_FLAG_out_file, KN_FLAG_out_scale_file },
        { KN_FLAG_out2_file, KN_FLAG_out2_scale_file }
    };
    const struct kn_value *v = r->t->cli->v;
    bool scales = r->p.out_scale != KILN_OUT_STATIC;

    if (r->p.amax)
        KN_TRY(kn_amax_write(r->t, r->s, &r->job));
    for (int i = 0; i < 1 + kn_quant_dual(&r->p); i++) {
        r->o = &r->out[i];
        if (v[files[i][0]].seen)
            KN_TRY(write_codes(r, v[files[i][0]].s));
        if (v[files[i][1]].seen && scales)
            KN_TRY(write_scales(r, v[files[i][1]].s));
    }
    return KILN_OK;
}

/* ---- the command -------------------------------------------------------- */

static kiln_status
check_files(struct run *r)
{
    const struct kn_value *v = r->t->cli->v;
    bool second = v[KN_FLAG_out2_file].seen || v[KN_FLAG_out2_scale_file].seen;

    if (second && !kn_quant_dual(&r->p))
        return kn_fail(r->c, KILN_BAD_INPUT, "--out2-file and --out2-scale-file are of "
                       "--dual, which is not there");
    if (v[KN_FLAG_out2_scale_file].seen && r->p.out_scale == KILN_OUT_STATIC)
        return kn_fail(r->c, KILN_BAD_INPUT, "a static scale is one of both outputs: "
                       "--out-scale-file");
    if ((second || v[KN_FLAG_out_file].seen || v[KN_FLAG_out_scale_file].seen) &&
        kn_cli_samples(r->t->cli))
        return kn_fail(r->c, KILN_BAD_INPUT, "files need the whole output; "
                       "leave --wg out");
    return KILN_OK;
}

static kiln_status
read_problem(struct run *r)
{
    const struct kn_cli *cli = r->t->cli;
    const struct kn_value *v = cli->v;

    r->place.target = KN_TARGET_DEFAULT;
    KN_TRY(kn_tool_place(r->t, &r->place));
    KN_TRY(kn_place_flags(r->t, &r->place));
    KN_TRY(kn_cli_problem(r->c, cli, r->place.target, &r->p));
    kn_place_counts(&r->place, &r->p);
    if (!v[KN_FLAG_m].seen || !v[KN_FLAG_k].seen || v[KN_FLAG_n].seen)
        return kn_fail(r->c, KILN_BAD_INPUT, "quant needs -m and -k, rows and "
                       "columns of what it reads, and no -n");
    KN_TRY(kn_problem_normalise(r->c, &r->p));
    return check_files(r);
}

static kiln_status
report(struct run *r)
{
    const struct kn_predict q = { .p = &r->p, .g = &r->g,
                                  .warm = r->t->cli->v[KN_FLAG_warm].seen };

    kn_report_check(r->t, &r->j, &r->check, true);
    if (r->place.gpu)
        kn_job_measured(r->t, &r->j, &r->place, &r->job, 0);
    else
        kn_report_run(r->t, &r->j, &r->job.result);
    if (r->job.workgroups && !(r->t->trial && !r->t->trial->timed))
        kn_predict_run(r->t, &r->j, &q);
    return r->check.bad || kn_run_found(r->t, &r->job.result) ? KILN_FINDING
                                                              : KILN_OK;
}

static kiln_status
execute(struct run *r)
{
    struct kn_job *j = &r->job;

    KN_TRY(kn_session_execute(r->s, r->t, j));
    if (r->place.gpu)
        KN_TRY(kn_session_time(r->s, j));
    KN_TRY(kn_report_stopped(r->t, &r->j, &j->result));
    KN_TRY(check_outputs(r));
    KN_TRY(kn_session_check_shares(r->s, j));
    return r->p.amax ? kn_amax_check(r->t, &r->j, r->s, j, &r->amax) : KILN_OK;
}

static void
name_outputs(struct run *r)
{
    const struct kn_extents e = kn_extents_of(&r->p);
    const struct kn_operands *at = &r->job.at;
    int64_t block = block_of(&r->p);

    r->out[0] = (struct output){
        .turned = kn_quant_turned(&r->p), .c = at->c, .sc = at->sc, .size = e.c,
        .scale_size = e.sc, .pitch = r->at.c, .scale_pitch = r->at.sa };
    r->out[1] = (struct output){
        .turned = true, .c = at->out2, .sc = e.sc2 ? at->sc2 : at->sc, .size = e.out2,
        .scale_size = e.sc2, .pitch = r->at.c2, .scale_pitch = r->at.sa2 };
    for (r->o = r->out; r->o < r->out + 2; r->o++)
        r->o->blocks = block ? div_up(columns_of(r), block) : 1;
}

static kiln_status
run_on_device(struct kn_session *s, void *user)
{
    struct run *r = user;
    struct kn_job *j = &r->job;

    r->s = s;
    j->p = &r->p;
    j->g = &r->g;
    KN_TRY(put_operands(r));
    name_outputs(r);
    KN_TRY(kn_session_plan(s, j));
    KN_TRY(kn_cli_select(r->c, r->t->cli, j->workgroups, &j->l.select));
    KN_TRY(kn_quant_select(r->c, &r->p, &r->g.cfg, &j->l.select));
    if (j->workgroups)
        KN_TRY(execute(r));
    KN_TRY(write_files(r));
    return report(r);
}

kiln_status
kn_run_quant(struct kn_tool *t)
{
    struct run *r = KN_NEW(t->c, struct run, 1);
    kiln_status s;

    r->t = t;
    r->j.b.c = r->c = t->c;
    KN_TRY(read_problem(r));
    r->at = kn_pitches_of(&r->p);
    kn_ref_codec_init(&r->codec, r->p.a, r->p.target);
    KN_TRY(make_operands(r));
    kn_json_open(&r->j, NULL, '{');
    KN_TRY(kn_kernel_take(t, &r->j, &r->p, &r->g));
    s = kn_session_do(t->c, &r->place, run_on_device, r);
    kn_json_close(&r->j, '}');
    if (s > KILN_FINDING && !r->job.result.stopped)
        return s;
    KN_TRY(kn_report_write(t, &r->j));
    return s;
}
