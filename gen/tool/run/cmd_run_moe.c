/* cmd_run_moe.c - `kilnc run moe`: sort, gemm1, gemm2 and the ordered
 * reduction, each executed and each checked from the bytes it read. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd_run_moe.h"
#include "../inspect/launchfile.h"
#include "../../layout.h"
#include "../inspect/source_map.h"
#include "predict.h"

/* ---- operands ---- */

static void
shape_operand(struct moe_run *m, struct kn_operand *o, uint32_t id,
              struct kn_data d)
{
    *o = (struct kn_operand){ .used = true, .data = d };
    o->data.seed = (uint64_t)m->t->cli->v[KN_FLAG_seed].i;
    o->data.mode = (enum kn_data_mode)m->t->cli->v[KN_FLAG_data].i;
    o->data.operand = id;
    o->data.target = m->target;
    o->data.batches += !o->data.batches;
    kn_data_shape(&o->data, 0, 0);
    o->file_row = o->data.row_bytes;
    o->size = kn_data_bytes(&o->data);
}

/* Operands of a stage, from the seed; the numbers tell them apart. */
static void
shape_stage(struct moe_run *m, struct moe_part *s)
{
    const kiln_problem *p = &s->p;
    bool up = p->stage == KILN_MOE_GATE_UP;
    int64_t rows = p->tokens * (up ? 1 : p->topk), n = up ? 2 * p->n : p->n;
    int64_t kb = (p->k + 31) / 32;
    uint32_t id = up ? 0 : 4;

    shape_operand(m, &s->a, id, (struct kn_data){ .type = p->a, .rows = rows,
                                                  .cols = p->k });
    shape_operand(m, &s->b, id + 1, (struct kn_data){
        .type = p->b, .batches = p->groups, .rows = n, .cols = p->k });
    if (p->scale == KILN_SCALE_MX32) {
        shape_operand(m, &s->sa, id + 2, (struct kn_data){
            .type = p->a, .rows = rows, .cols = kb, .scale = true });
        shape_operand(m, &s->sb, id + 3, (struct kn_data){
            .type = p->b, .batches = p->groups, .rows = n, .cols = kb,
            .scale = true });
    } else if (p->scale == KILN_SCALE_TENSOR) {
        shape_operand(m, &s->sa, id + 2, (struct kn_data){
            .type = KILN_F32, .rows = 1, .cols = 1, .scale = true });
        shape_operand(m, &s->sb, id + 3, (struct kn_data){
            .type = KILN_F32, .rows = 1, .cols = p->groups, .scale = true });
    } else if (p->scale == KILN_SCALE_BLOCK128) {
        kb = (p->k + 127) / 128;
        shape_operand(m, &s->sa, id + 2, (struct kn_data){
            .type = KILN_F32, .rows = rows, .cols = kb, .scale = true });
        shape_operand(m, &s->sb, id + 3, (struct kn_data){
            .type = KILN_F32, .batches = p->groups, .rows = (n + 127) / 128,
            .cols = kb, .scale = true });
    } else if (p->scale == KILN_SCALE_ROW) {
        shape_operand(m, &s->sa, id + 2, (struct kn_data){
            .type = KILN_F32, .rows = 1, .cols = rows, .scale = true });
        shape_operand(m, &s->sb, id + 3, (struct kn_data){
            .type = KILN_F32, .batches = p->groups, .rows = 1, .cols = n,
            .scale = true });
    }
}

/* Shuffled scales of A are stored by sorted row, blocks of 16 padded to 32. */
static void
map_scales(struct moe_run *m, struct moe_part *s)
{
    uint32_t bm = m->block_m, per = bm < KN_SCALE_ROWS ? KN_SCALE_ROWS : bm;
    uint64_t n = (uint64_t)(m->sorted.room / bm) * per;
    int64_t *map = KN_NEW(m->c, int64_t, n + 1);
    int64_t topk = s->p.stage == KILN_MOE_DOWN ? s->p.topk : 0;

    for (uint64_t i = 0; i < n; i++)
        map[i] = -1;
    for (int64_t i = 0; i < m->sorted.room; i++) {
        uint32_t id = (uint32_t)m->sorted.ids[i];
        int64_t token = id & 0xffffff;

        if (token < m->r.tokens)
            map[i / bm * per + i % bm] = topk ? token * topk + (id >> 24)
                                              : token;
    }
    s->sa.rowmap = map;
    s->sa.mapped = n;
}

static kiln_status
alloc_operand(struct moe_run *m, struct kn_operand *o)
{
    if (!o->used)
        return KILN_OK;
    return kn_sim_alloc(m->sim, o->size ? kn_operand_room(o) : 1,
                        KN_MEM_READONLY, kn_operand_stored, o, &o->addr);
}

static kiln_status
upload(struct moe_run *m, const void *data, size_t size, uint64_t *addr)
{
    KN_TRY(kn_sim_alloc(m->sim, size ? size : 1, KN_MEM_READONLY, NULL, NULL,
                        addr));
    return kn_sim_write(m->sim, *addr, data, size);
}

static kiln_status
alloc_part(struct moe_run *m, struct moe_part *s)
{
    struct kn_operand *in[] = { &s->a, &s->b, &s->sa, &s->sb };
    bool summed = s->p.atomic || s->p.stage == KILN_MOE_REDUCE;
    int64_t rows = s->p.tokens * (summed ? 1 : s->p.topk);

    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        KN_TRY(alloc_operand(m, in[i]));
    if (kn_quantises(&s->p))
        KN_TRY(kn_sim_alloc(m->sim, (uint64_t)rows * (uint64_t)s->p.n / 32 + 1,
                            KN_MEM_OUTPUT, NULL, NULL, &s->scales));
    s->out_row = (uint64_t)s->p.n * kn_ref_type_bits(s->p.out) / 8;
    s->out_size = (uint64_t)rows * s->out_row;
    return kn_sim_alloc(m->sim, s->out_size ? s->out_size : 1, KN_MEM_OUTPUT,
                        s->p.atomic ? kn_sim_zeros : NULL, NULL, &s->out);
}

/* ---- one launch ---- */

static kiln_status
make_kernel(struct moe_run *m, struct moe_part *s, struct kn_json *j)
{
    const struct kn_object_kernel *k;
    struct kn_config cfg = { 0 };
    struct kn_object o;

    KN_TRY(kn_config_parse(m->c, m->t->cli->config, &cfg));
    kn_progress_stage(m->t->progress, "generating");
    KN_TRY(kn_generate(m->c, &s->p, &cfg, NULL, &s->g));
    KN_TRY(kn_object_read(m->c, s->g.name, s->g.co, s->g.size, &o));
    KN_TRY(kn_object_kernel(m->c, &o, NULL, &k));
    kn_report_problem(m->t, j, &s->p);
    kn_report_config(m->t, j, &s->g.cfg);
    KN_TRY(kn_report_kernel(m->t, j, &o, k));
    kn_report_generated(m->t, j, &s->g);
    return KILN_OK;
}

static struct kn_operands
operands_of(const struct moe_run *m, const struct moe_part *s)
{
    return (struct kn_operands){
        .a = s->a.addr, .b = s->b.addr, .c = s->out, .sa = s->sa.addr,
        .sb = s->sb.addr, .bias = s->scales, .offs = m->ids,
        .experts = m->experts, .padded = m->padded, .weights = m->weights,
    };
}

static kiln_status
launch(struct moe_run *m, struct moe_part *s)
{
    struct kn_operands o = operands_of(m, s);
    struct kn_sim_launch l = { .kernel = s->g.name };
    struct kn_sim_code *code;
    uint64_t total;

    KN_TRY(kn_plan_launch(m->c, &s->p, &s->g.cfg, &o, &s->plan));
    total = s->plan.grid[0];
    KN_TRY(kn_cli_select(m->c, m->t->cli, total, &s->select));
    if (!total)
        return KILN_OK;
    if (m->place.hip)
        return moe_launch_hip(m, s, &o);
    KN_TRY(kn_sim_load(m->sim, s->g.name, s->g.co, s->g.size, &code));
    l.code = code;
    l.kernarg = s->plan.kernarg;
    l.kernarg_size = s->plan.kernarg_size;
    l.select = s->select;
    memcpy(l.grid, s->plan.grid, sizeof l.grid);
    memcpy(l.block, s->plan.block, sizeof l.block);
    kn_tool_orders(m->t, &l);
    kn_progress_stage(m->t->progress, "simulating workgroups");
    KN_TRY(kn_sim_run(m->sim, &l, &s->result));
    return kn_report_stopped(m->t, NULL, &s->result);
}

/* ---- check ---- */

/* Tile number `id`: templates/moe.tir and grid.tir. */
struct kn_rect
moe_tile_of(const struct moe_run *m, const kiln_problem *of,
            const struct kn_config *cfg, uint64_t id)
{
    kiln_problem p = *of;
    struct kn_config g = *cfg;
    struct kn_rect r = { 0 };

    p.family = KILN_GEMM;
    p.groups = 0;
    p.m = kn_places_room(&g) ? m->sorted.room : m->sorted.padded;
    g.bn = kn_tile_columns(of, cfg);
    p.stage = KILN_MOE_NONE;
    if (id < kn_tile_count(&p, &g, NULL))
        r = kn_tile_rect(&p, &g, NULL, id);
    if (r.m0 >= m->sorted.padded)
        r.rows = 0;
    return r;
}

/* The ids of a tile that are no padding and whose expert is here. */
static int64_t
tile_ids(const struct moe_run *m, const struct kn_rect *t, int32_t *ids)
{
    int64_t n = 0;

    for (int64_t i = 0; i < t->rows; i++) {
        uint32_t id = (uint32_t)m->sorted.ids[t->m0 + i];
        int64_t token = id & 0xffffff;

        if (token < m->r.tokens &&
            m->r.expert[token * m->r.topk + (id >> 24)] >= 0)
            ids[n++] = (int32_t)id;
    }
    return n;
}

static int64_t
output_row(const struct moe_run *m, const struct moe_part *s, int32_t id)
{
    int64_t token = id & 0xffffff;

    return s->p.atomic ? token : token * m->r.topk + ((uint32_t)id >> 24);
}

static kiln_status
read_rows(const struct moe_run *m, const struct moe_part *s,
          const int32_t *ids, struct kn_ref_rect rect, uint8_t *got)
{
    uint64_t size = kn_ref_type_bits(s->p.out) / 8;
    size_t row = (size_t)((uint64_t)rect.cols * size);

    for (int64_t i = 0; i < rect.rows; i++)
        KN_TRY(kn_sim_read(m->sim, s->out + (uint64_t)rect.n0 * size +
                           (uint64_t)output_row(m, s, ids[i]) * s->out_row,
                           got + (size_t)i * row, row));
    return KILN_OK;
}

/* Sums of an atomic output, by token and column, over the executed tiles. */
static void
add_atomic(struct moe_part *s, const int32_t *ids, struct kn_ref_rect rect,
           const struct kn_ref_sums *of)
{
    for (int64_t i = 0; i < rect.rows * rect.cols; i++) {
        int64_t at = (ids[i / rect.cols] & 0xffffff) * s->p.n + rect.n0 +
                     i % rect.cols;

        s->sums.value[at] += of->value[i];
        s->sums.abssum[at] += of->abssum[i];
        s->sums.both[at] |= of->both[i];
        s->rounded[at] += fabs(of->value[i]);
        s->adds[at]++;
    }
}

static kiln_status
check_tile_in(struct kn_ctx *c, struct moe_run *m, struct moe_part *s,
              const struct kn_rect *t)
{
    struct kn_moe_stage st = { &s->p, &m->r, &s->a, &s->b, &s->sa, &s->sb,
                               NULL };
    struct kn_ref_sums sums;
    int32_t *ids;
    uint8_t *got;
    struct kn_ref_result res = { .target = s->p.target, .out = s->p.out,
                                 .k = s->p.k };

    KN_ENTER(c);
    st.ids = ids = KN_NEW(c, int32_t, (size_t)t->rows);
    res.rect = (struct kn_ref_rect){ 0, t->n0, tile_ids(m, t, ids), t->cols };
    sums.value = KN_NEW(c, double, (size_t)(2 * t->rows * t->cols));
    sums.abssum = KN_NEW(c, double, (size_t)(2 * t->rows * t->cols));
    sums.both = KN_NEW(c, uint8_t, (size_t)(2 * t->rows * t->cols));
    got = KN_NEW(c, uint8_t, (size_t)(t->rows * t->cols) * 8);
    if (!res.rect.rows)
        return KILN_OK;
    KN_TRY(kn_moe_reference(c, &st, res.rect, &sums));
    s->written += (uint64_t)(res.rect.rows * t->cols) *
                  kn_ref_type_bits(s->p.out) / 8;
    if (s->p.atomic) {
        add_atomic(s, ids, res.rect, &sums);
        return KILN_OK;
    }
    res.value = sums.value;
    res.abssum = sums.abssum;
    res.both = sums.both;
    if (kn_quantises(&s->p))
        return moe_check_quantised(m, s, ids, &res);
    KN_TRY(read_rows(m, s, ids, res.rect, got));
    res.exact = m->exact && s->p.stage == KILN_MOE_DOWN && !s->a.file;
    res.got = got;
    kn_ref_compare(&res, &s->check);
    return KILN_OK;
}

static kiln_status
check_tile(struct moe_run *m, struct moe_part *s, const struct kn_rect *t)
{
    struct kn_ctx own;
    kiln_status st;

    kn_ctx_init(&own, m->c->realloc, m->c->user);
    st = check_tile_in(&own, m, s, t);
    if (st && own.err.status)
        kn_fail(m->c, st, "%s", own.err.text);
    kn_ctx_free(&own);
    return st;
}

/* Every addition rounds to bf16 once, and so did what is added. */
static kiln_status
check_atomic(struct moe_run *m, struct moe_part *s)
{
    int64_t n = s->p.tokens * s->p.n;
    double unit = ((double)s->p.k / 8 + 16) * 0x1p-24;
    struct kn_ref_result res = {
        .target = s->p.target, .out = s->p.out, .k = s->p.k,
        .rect = { 0, 0, s->p.tokens, s->p.n }, .value = s->sums.value,
        .abssum = s->sums.abssum, .both = s->sums.both,
    };
    uint8_t *got = KN_NEW(m->c, uint8_t, (size_t)(2 * n) + 1);

    for (int64_t i = 0; i < n; i++)
        s->sums.abssum[i] += (s->adds[i] + 1) * 0x1.02p-9 * s->rounded[i] /
                             unit;
    KN_TRY(kn_sim_read(m->sim, s->out, got, (size_t)(2 * n)));
    res.got = got;
    kn_ref_compare(&res, &s->check);
    return KILN_OK;
}

static kiln_status
alloc_sums(struct moe_run *m, struct moe_part *s)
{
    size_t n = (size_t)(s->p.tokens * s->p.n) + 1;

    if (!s->p.atomic)
        return KILN_OK;
    if (n > (size_t)1 << 26)
        return kn_fail(m->c, KILN_UNSUPPORTED, "an atomic output of over 2^26 "
                       "elements cannot be checked: take --reduce ordered");
    s->sums.value = KN_NEW(m->c, double, n);
    s->sums.abssum = KN_NEW(m->c, double, n);
    s->sums.both = KN_NEW(m->c, uint8_t, n);
    s->rounded = KN_NEW(m->c, double, n);
    s->adds = KN_NEW(m->c, int32_t, n);
    return KILN_OK;
}

static void
check_written(struct moe_run *m, struct moe_part *s)
{
    uint64_t got = s->out_size - kn_sim_unwritten(m->sim, s->out);
    struct kn_finding f = { .kind = KN_F_UNWRITTEN, .address = s->out,
                            .count = 1 };

    if (got == s->written || !s->out_size || m->place.hip)
        return;
    snprintf(f.text, sizeof f.text, "%" PRIu64 " bytes of the output were "
             "written, its tiles have %" PRIu64, got, s->written);
    kn_report_add(m->c, &s->result, &f);
}

/* The sum of the rows the kernel itself read. */
static kiln_status
check_reduce(struct moe_run *m, struct moe_part *s)
{
    int64_t n = s->p.tokens * s->p.n, topk = s->p.topk;
    double *value = KN_NEW(m->c, double, (size_t)n + 1);
    double *abssum = KN_NEW(m->c, double, (size_t)n + 1);
    uint8_t *got = KN_NEW(m->c, uint8_t, s->out_size + 1);
    uint8_t *in = KN_NEW(m->c, uint8_t, s->out_size * (uint64_t)topk + 1);
    double *x = KN_NEW(m->c, double, (size_t)(n * topk) + 1);
    struct kn_ref_codec codec;
    struct kn_ref_result res = {
        .target = s->p.target, .out = s->p.out, .k = topk, .got = got,
        .rect = { 0, 0, s->p.tokens, s->p.n }, .value = value,
        .abssum = abssum,
    };

    KN_TRY(kn_sim_read(m->sim, s->a.addr, in, s->out_size * (uint64_t)topk));
    KN_TRY(kn_sim_read(m->sim, s->out, got, s->out_size));
    kn_ref_codec_init(&codec, s->p.out, m->target);
    kn_ref_decode_run(&codec, in, 0, (size_t)(n * topk), x);
    for (int64_t i = 0; i < n * topk; i++) {
        int64_t at = i / (topk * s->p.n) * s->p.n + i % s->p.n;

        value[at] += x[i];
        abssum[at] += fabs(x[i]);
    }
    kn_ref_compare(&res, &s->check);
    s->written = s->out_size;
    check_written(m, s);
    return KILN_OK;
}

/* A persistent workgroup has every cus-th tile. */
static kiln_status
check_workgroup(struct moe_run *m, struct moe_part *s, uint64_t id)
{
    uint64_t tn = ((uint64_t)s->p.n + kn_tile_columns(&s->p, &s->g.cfg) - 1) /
                  kn_tile_columns(&s->p, &s->g.cfg);
    uint64_t most = (uint64_t)m->sorted.room / s->g.cfg.bm * tn;

    for (; id < most; id += s->g.cfg.cus) {
        struct kn_rect t = moe_tile_of(m, &s->p, &s->g.cfg, id);

        if (t.rows && t.cols)
            KN_TRY(check_tile(m, s, &t));
        if (!s->g.cfg.cus)
            break;
    }
    return KILN_OK;
}

static kiln_status
check_part(struct moe_run *m, struct moe_part *s)
{
    uint64_t n = s->select.all ? s->plan.grid[0] : s->select.n;

    if (s->p.stage == KILN_MOE_REDUCE)
        return check_reduce(m, s);
    kn_progress_stage(m->t->progress, "checking tiles");
    KN_TRY(alloc_sums(m, s));
    for (uint64_t i = 0; i < n; i++) {
        KN_TRY(check_workgroup(m, s, s->select.all ? i : s->select.ids[i]));
        kn_progress_update(m->t->progress, i + 1, n);
    }
    if (s->p.atomic)
        return check_atomic(m, s);
    check_written(m, s);
    return KILN_OK;
}

/* ---- report ---- */

kiln_status
moe_run_part(struct moe_run *m, struct moe_part *s, struct kn_json *j)
{
    struct kn_places from;

    KN_TRY(make_kernel(m, s, j));
    KN_TRY(alloc_part(m, s));
    KN_TRY(launch(m, s));
    KN_TRY(check_part(m, s));
    if (s->result.nkept) {
        KN_TRY(kn_places_generated(m->c, &s->g, &from));
        kn_places_put(&from, &s->result);
    }
    kn_report_check(m->t, j, &s->check, false);
    if (m->place.hip)
        moe_report_measured(m, s, j);
    else
        kn_report_run(m->t, j, &s->result);
    m->wrong |= s->check.bad || kn_run_found(m->t, &s->result);
    return KILN_OK;
}

/* ---- the command ---- */

static kiln_status
read_routing(struct moe_run *m)
{
    const struct kn_value *v = m->t->cli->v;
    int64_t among = m->r.experts;
    int used = 0;

    if (v[KN_FLAG_routing].seen &&
        (sscanf(v[KN_FLAG_routing].s, "extreme:%" SCNd64 "%n", &among,
                &used) != 1 || v[KN_FLAG_routing].s[used] || among < 1))
        return kn_fail(m->c, KILN_BAD_INPUT, "--routing of moe is extreme:K, "
                       "K experts for all tokens, not '%s'",
                       v[KN_FLAG_routing].s);
    KN_TRY(kn_moe_route(m->c, (uint64_t)v[KN_FLAG_seed].i, among, m->exact,
                        &m->r));
    return v[KN_FLAG_sorted_ids_file].seen ? moe_read_sorted(m)
                                           : moe_read_routing(m);
}

/* Sorted ids as the kernel reads them. */
static const int32_t *
device_ids(const struct moe_run *m)
{
    const struct kn_moe_sorted *s = &m->sorted;
    int32_t *ids;

    if (m->raw_ids)
        return m->raw_ids;
    if (m->id_format == KILN_IDS_PACKED)
        return s->ids;
    ids = KN_NEW(m->c, int32_t, (size_t)s->room + 1);
    for (int64_t i = 0; i < s->room; i++) {
        uint32_t id = (uint32_t)s->ids[i];

        ids[i] = (int32_t)((id & 0xffffff) * m->r.topk + (id >> 24));
    }
    return ids;
}

kiln_status
moe_upload(struct moe_run *m)
{
    const struct kn_moe_sorted *s = &m->sorted;
    size_t blocks = (size_t)(s->room / m->block_m);

    KN_TRY(upload(m, device_ids(m), (size_t)s->room * 4, &m->ids));
    KN_TRY(upload(m, s->weights, (size_t)s->room * 4, &m->weights));
    KN_TRY(upload(m, s->experts, blocks * 4, &m->experts));
    return upload(m, &s->padded, 4, &m->padded);
}

static kiln_status
make_part(struct moe_run *m, int stage, struct moe_part **out)
{
    struct moe_part *s = *out = KN_NEW(m->c, struct moe_part, 1);

    KN_TRY(kn_moe_problem(m->c, m->t->cli, m->target, stage, &s->p));
    if (stage == KILN_MOE_REDUCE)
        return KILN_OK;
    s->p.m = m->sorted.room;
    shape_stage(m, s);
    KN_TRY(moe_read_operands(m, s));
    kn_operands_store(&s->p, &s->b, &s->sa, &s->sb);
    if (s->p.scale_layout)
        map_scales(m, s);
    return KILN_OK;
}

/* gemm2 reads what gemm1 wrote, in its own type. MX: quantised by row. 8 bits
 * with scales: by the largest magnitude, of all, of each row or of its blocks. */
static kiln_status
hand_over(struct moe_run *m, const struct moe_part *up, struct moe_part *down)
{
    int64_t rows = up->p.tokens * up->p.topk, n = up->p.n;
    size_t all = (size_t)(rows * n);
    uint8_t *got = KN_NEW(m->c, uint8_t, up->out_size + 1);
    double *x = KN_NEW(m->c, double, all + 1);
    struct kn_ref_codec codec;

    KN_TRY(kn_sim_read(m->sim, up->out, got, up->out_size));
    kn_ref_codec_init(&codec, up->p.out, m->target);
    kn_ref_decode_run(&codec, got, 0, all, x);
    if (down->p.scale == KILN_SCALE_NONE)
        return moe_hand_plain(m->c, x, all, down);
    if (down->p.scale == KILN_SCALE_MX32)
        return moe_hand_mx(m->c, x, rows, down);
    return moe_hand_scaled(m->c, x, (struct moe_parts){
        down->p.scale == KILN_SCALE_TENSOR ? 1 : (size_t)rows,
        down->p.scale == KILN_SCALE_TENSOR ? all : (size_t)n,
        down->p.scale == KILN_SCALE_BLOCK128 ? 128 : all }, down);
}

/* gemm1 writes what gemm2 reads, where its epilogue can. */
static kiln_status
requantise_up(struct moe_run *m, struct moe_part *up,
              const struct moe_part *down)
{
    const struct kn_value *v = &m->t->cli->v[KN_FLAG_requant];
    bool can = (down->p.a == KILN_MXFP4 || down->p.a == KILN_MXFP8) &&
               kn_targets[m->target].scaled && up->p.n % 32 == 0;

    if (v->seen && v->i && !can)
        return kn_fail(m->c, KILN_UNSUPPORTED, "gemm1 quantises to mxfp4 and "
                       "mxfp8, on gfx950, with --inter a multiple of 32");
    if (!can || (v->seen && !v->i))
        return KILN_OK;
    up->p.out = down->p.a;
    up->p.requant = (uint8_t)(v->seen ? v->i - 1 : KN_MX_EVEN);
    up->p.ldc = 0;
    return kn_problem_normalise(m->c, &up->p);
}

static kiln_status
run_layer(struct moe_run *m, struct kn_json *j)
{
    struct moe_part *up, *down, *sum = NULL;

    if (m->t->cli->v[KN_FLAG_wg].seen)
        return kn_fail(m->c, KILN_BAD_INPUT, "a layer needs every workgroup "
                       "of its stages: leave --wg out, or name a --stage");
    KN_TRY(make_part(m, KILN_MOE_GATE_UP, &up));
    KN_TRY(make_part(m, KILN_MOE_DOWN, &down));
    KN_TRY(requantise_up(m, up, down));
    kn_json_open(j, "stages", '[');
    kn_json_open(j, NULL, '{');
    KN_TRY(moe_run_part(m, up, j));
    kn_json_close(j, '}');
    KN_TRY(up->scales ? moe_hand_quantised(m, up, down)
                      : hand_over(m, up, down));
    kn_json_open(j, NULL, '{');
    KN_TRY(moe_run_part(m, down, j));
    kn_json_close(j, '}');
    if (!down->p.atomic) {
        KN_TRY(make_part(m, KILN_MOE_REDUCE, &sum));
        sum->a.addr = down->out;
        kn_json_open(j, NULL, '{');
        KN_TRY(moe_run_part(m, sum, j));
        kn_json_close(j, '}');
    }
    kn_json_close(j, ']');
    return moe_write_output(m, down->p.atomic ? down : sum);
}

kiln_status
moe_run_stages(struct moe_run *m, int stage, struct kn_json *j)
{
    struct moe_part *s;

    if (stage == KILN_MOE_NONE)
        return run_layer(m, j);
    m->single = true;
    KN_TRY(make_part(m, stage, &s));
    KN_TRY(moe_run_part(m, s, j));
    return moe_write_output(m, s);
}

kiln_status
moe_prepare(struct moe_run *m, int stage)
{
    const struct kn_value *v = m->t->cli->v;
    kiln_problem p;

    m->target = KN_TARGET_DEFAULT;
    m->exact = v[KN_FLAG_data].i == KN_DATA_EXACT;
    m->place.target = m->target;
    if (m->timed)
        m->place.target = m->timed;
    else
        KN_TRY(kn_tool_place(m->t, &m->place));
    m->target = m->place.target;
    KN_TRY(kn_place_flags(m->t, &m->place));
    KN_TRY(kn_moe_problem(m->c, m->t->cli, m->target,
                          stage ? stage : KILN_MOE_GATE_UP, &p));
    m->block_m = p.block_m;
    m->id_format = p.id_format;
    m->r = (struct kn_moe_routing){ .tokens = p.tokens, .topk = p.topk,
                                    .experts = p.groups };
    KN_TRY(read_routing(m));
    if (v[KN_FLAG_sorted_ids_file].seen)
        return KILN_OK;
    return kn_moe_sort(m->c, &m->r, m->block_m, &m->sorted);
}

/* The rows of A as the sorted ids name them, one after the other. */
static kiln_status
place_sorted(struct moe_run *m, struct moe_part *s, uint64_t *addr)
{
    uint64_t row = s->a.data.row_bytes;
    uint64_t size = (uint64_t)m->sorted.room * row;
    uint8_t *rows = KN_NEW(m->c, uint8_t, size + 1);
    int64_t topk = s->p.stage == KILN_MOE_DOWN ? s->p.topk : 0;

    for (int64_t i = 0; i < m->sorted.room; i++) {
        uint32_t id = (uint32_t)m->sorted.ids[i];
        int64_t token = id & 0xffffff;

        if (token < m->r.tokens)
            kn_operand_fill(&s->a, row * (uint64_t)(
                topk ? token * topk + (id >> 24) : token),
                rows + (uint64_t)i * row, row);
    }
    return upload(m, rows, size, addr);
}

kiln_status
moe_place_stage(struct moe_run *m, struct kn_launch_data *out)
{
    int stage = (int)m->t->cli->v[KN_FLAG_stage].i;
    struct moe_part *s;

    if (stage != KILN_MOE_GATE_UP && stage != KILN_MOE_DOWN)
        return kn_fail(m->c, KILN_BAD_INPUT, "one kernel of moe: --stage "
                       "gemm1 or gemm2");
    m->timed = m->target;
    m->single = true;
    KN_TRY(moe_prepare(m, stage));
    KN_TRY(moe_upload(m));
    KN_TRY(make_part(m, stage, &s));
    KN_TRY(alloc_part(m, s));
    *out = (struct kn_launch_data){ .p = &s->p, .o = operands_of(m, s),
                                    .out_size = s->out_size };
    return place_sorted(m, s, &out->a_sorted);
}

kiln_status
kn_run_moe(struct kn_tool *t)
{
    struct moe_run *m = KN_NEW(t->c, struct moe_run, 1);
    struct kn_json j = { .b = { .c = t->c } };
    int stage = (int)t->cli->v[KN_FLAG_stage].i;
    kiln_status s;

    m->t = t;
    m->c = t->c;
    KN_TRY(moe_prepare(m, stage));
    kn_putf(t->text, "routing   %" PRId64 " tokens x %" PRId64 " of %" PRId64
            " experts: %" PRId32 " sorted rows in blocks of %u\n",
            m->r.tokens, m->r.topk, m->r.experts, m->sorted.padded,
            m->block_m);
    KN_TRY(kn_sim_open(t->c, m->target, &m->sim));
    kn_json_open(&j, NULL, '{');
    s = moe_upload(m);
    if (!s)
        s = moe_run_stages(m, stage, &j);
    kn_sim_close(m->sim);
    kn_json_close(&j, '}');
    if (s)
        return s;
    KN_TRY(kn_report_write(t, &j));
    return m->wrong ? KILN_FINDING : KILN_OK;
}

/* ---- kilnc time ---- */

static kiln_status
predict_kernel(struct moe_run *m, const struct kn_predict *k,
               const struct kn_operands *o, struct kn_time_result *r)
{
    const kiln_problem *p = k->p;
    struct kn_sim_launch l = { .kernel = k->g->name };
    struct kn_time_query q = { .sim = m->sim, .launch = &l,
                               .trace = k->trace, .svg = k->svg,
                               .warm = k->warm };
    int64_t n = p->stage == KILN_MOE_GATE_UP ? 2 * p->n : p->n;
    struct kn_sim_code *code;
    struct kn_places from;
    struct kn_plan plan;

    KN_TRY(kn_plan_launch(m->c, p, &k->g->cfg, o, &plan));
    KN_TRY(kn_sim_load(m->sim, k->g->name, k->g->co, k->g->size, &code));
    l.code = code;
    l.kernarg = plan.kernarg;
    l.kernarg_size = plan.kernarg_size;
    memcpy(l.grid, plan.grid, sizeof l.grid);
    memcpy(l.block, plan.block, sizeof l.block);
    q.work = moe_work(m, p, &k->g->cfg, plan.grid[0]);
    q.bytes = moe_bytes(m, p);
    q.flops = 2.0 * (double)(m->r.tokens * m->r.topk) * (double)n *
              (double)p->k;
    KN_TRY(kn_places_generated(m->c, k->g, &from));
    q.place = from.at;
    return kn_time_predict(m->c, &q, r);
}

static kiln_status
predict_part(struct moe_run *m, struct moe_part *s, struct kn_json *j)
{
    struct kn_operands o = operands_of(m, s);
    struct kn_buf trace = { .c = m->c }, svg = { .c = m->c };
    const struct kn_value *v = m->t->cli->v;
    struct kn_predict q = { .p = &s->p, .g = &s->g,
                            .trace = v[KN_FLAG_trace].seen ? &trace : NULL,
                            .svg = v[KN_FLAG_svg].seen ? &svg : NULL,
                            .warm = v[KN_FLAG_warm].seen };
    struct kn_time_result r;
    struct kn_places from;

    KN_TRY(predict_kernel(m, &q, &o, &r));
    KN_TRY(kn_places_generated(m->c, &s->g, &from));
    kn_report_predicted(m->t, j, &r, &from.p);
    return kn_write_pictures(m->t, &trace, &svg);
}

kiln_status
moe_predict(struct moe_run *m, struct kn_predict *q, struct kn_time_result *r)
{
    struct kn_launch_data on;
    kiln_status s;

    KN_TRY(kn_sim_open(m->c, m->target, &m->sim));
    s = moe_place_stage(m, &on);
    q->p = on.p;
    if (!s)
        s = predict_kernel(m, q, &on.o, r);
    kn_sim_close(m->sim);
    return s;
}

static kiln_status
time_stage(struct moe_run *m, int stage, struct kn_json *j)
{
    struct moe_part *s;

    m->single = true;
    KN_TRY(moe_upload(m));
    KN_TRY(make_part(m, stage, &s));
    KN_TRY(make_kernel(m, s, j));
    KN_TRY(alloc_part(m, s));
    return predict_part(m, s, j);
}

kiln_status
kn_time_moe(struct kn_tool *t, kiln_target target)
{
    struct moe_run *m = KN_NEW(t->c, struct moe_run, 1);
    struct kn_json j = { .b = { .c = t->c } };
    int stage = (int)t->cli->v[KN_FLAG_stage].i;
    kiln_status s;

    if (!stage)
        return kn_fail(t->c, KILN_BAD_INPUT, "'time' takes one kernel of moe: "
                       "--stage gemm1 or gemm2");
    m->t = t;
    m->c = t->c;
    m->timed = target;
    KN_TRY(moe_prepare(m, stage));
    KN_TRY(kn_sim_open(t->c, m->target, &m->sim));
    kn_json_open(&j, NULL, '{');
    s = time_stage(m, stage, &j);
    kn_sim_close(m->sim);
    kn_json_close(&j, '}');
    KN_TRY(s);
    return kn_report_write(t, &j);
}
