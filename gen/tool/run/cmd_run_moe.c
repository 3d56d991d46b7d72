/* cmd_run_moe.c - `kilnc run moe`: sort, gemm1, gemm2 and the ordered
 * reduction, each executed and each checked from the bytes it read. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd_run_moe.h"
#include "../inspect/inspect.h"
#include "../../layout.h"
#include "session.h"
#include "../../panels.h"

/* ---- operands ---- */

void
moe_shape_operand(struct moe_run *m, struct kn_operand *o, uint32_t id,
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

/* Rows further apart on the device than in files: elements, 0: they are not. */
static void
set_pitches(struct moe_part *s)
{
    const kiln_problem *p = &s->p;
    struct kn_operand *o[] = { &s->a, &s->b, &s->sa, &s->sb };
    const int64_t ld[] = { p->lda, p->ldb * kn_word_k(p), p->ldsa, p->ldsb };

    for (size_t i = 0; i < sizeof o / sizeof *o; i++) {
        if (!o[i]->used || !ld[i])
            continue;
        kn_data_shape(&o[i]->data, ld[i], 0);
        o[i]->size = kn_data_bytes(&o[i]->data);
    }
}

/* Rows of A, and of B of each expert, that a stage multiplies. */
static int64_t
stage_rows(const kiln_problem *p)
{
    return p->tokens * (p->stage == KILN_MOE_GATE_UP ? 1 : p->topk);
}

static int64_t
stage_columns(const kiln_problem *p)
{
    return p->stage == KILN_MOE_GATE_UP ? 2 * p->n : p->n;
}

static struct kn_data
scales(kiln_type type, int64_t batches, int64_t rows, int64_t cols)
{
    return (struct kn_data){ .type = type, .batches = batches, .rows = rows, .cols = cols,
                             .scale = true };
}

/* Rows and columns of both scales, A's to all experts and B's of each; 0 batches: there are
 * none. */
static void
size_scales(const kiln_problem *p, struct kn_data *a, struct kn_data *b)
{
    int64_t rows = stage_rows(p), n = stage_columns(p), e = p->groups;
    int64_t kb = (p->k + kn_scale_k(p) - 1) / kn_scale_k(p);

    *a = *b = (struct kn_data){ 0 };
    switch (p->scale) {
    case KILN_SCALE_TENSOR:
        *a = scales(KILN_F32, 1, 1, 1);
        *b = scales(KILN_F32, 1, 1, e);
        break;
    case KILN_SCALE_ROW:
        *a = scales(KILN_F32, 1, 1, rows);
        *b = scales(KILN_F32, e, 1, n);
        break;
    case KILN_SCALE_BLOCK128:
        *a = scales(kn_block_scale(p), 1, rows, kb);
        if (kn_scales_down(p, 'a'))
            *a = scales(kn_block_scale(p), 1, kb, rows);
        *b = scales(kn_block_scale(p), e, (n + 127) / 128, kb);
        break;
    case KILN_SCALE_MX32:
        if (kn_type_mx[p->a])
            *a = scales(p->a, 1, rows, kb);
        *b = scales(p->b, e, n, kb);
        break;
    case KILN_SCALE_GROUP32:
    case KILN_SCALE_GROUP64:
    case KILN_SCALE_GROUP128:
        *b = scales(kn_group_scale(p), e, n, kb);
        if (kn_scales_down(p, 'b'))
            *b = scales(kn_group_scale(p), e, kb, n);
        if (p->zero_points)
            *a = (struct kn_data){ .type = kn_zero_type(p), .batches = e, .rows = kb, .cols = n };
        break;
    case KILN_SCALE_NV16:
        *a = scales(KILN_F32, 1, 1, e);
        *b = scales(p->b, e, n, kb);
        break;
    case KILN_SCALE_NONE:
    case KILN_NSCALES:
        break;
    }
}

/* Operands of a stage, from the seed; the numbers tell them apart. */
static void
shape_stage(struct moe_run *m, struct moe_part *s)
{
    const kiln_problem *p = &s->p;
    bool up = p->stage == KILN_MOE_GATE_UP;
    int64_t n = stage_columns(p), word = kn_in_words(p) ? kn_word_k(p) : 0;
    uint32_t id = up ? 0 : 4;
    struct kn_data a, b;

    moe_shape_operand(m, &s->a, id, (struct kn_data){ .type = p->a, .rows = stage_rows(p),
                                                      .cols = p->k });
    moe_shape_operand(m, &s->b, id + 1, (struct kn_data){
        .type = p->b, .batches = p->groups, .rows = word ? p->k / word : n,
        .cols = word ? n * word : p->k });
    if (kn_has_bias(p))
        moe_shape_operand(m, &s->bias, up ? 8 : 9, (struct kn_data){
            .type = KILN_F32, .rows = p->groups, .cols = n });
    moe_shape_arrays(m, s);
    size_scales(p, &a, &b);
    if (a.batches)
        moe_shape_operand(m, &s->sa, id + 2, a);
    if (b.batches)
        moe_shape_operand(m, &s->sb, id + 3, b);
    if (kn_scale_groups(p)) {
        s->b.words = kn_in_words(p);
        s->sa.words = kn_zero_words(p);
    }
    s->sa.used &= !kn_prequant(p);
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
    uint64_t room = (kn_operand_room(o) + 3) / 4 * 4;
    struct kn_memory d = { .size = o->size ? room : 1,
                           .flags = m->timed ? KN_MEM_BLANK
                                             : KN_MEM_READONLY,
                           .fill = kn_operand_stored, .user = o };

    return o->used ? kn_session_put(m->s, &d, &o->addr) : KILN_OK;
}

/* An amax and a second output of so many rows. */
static kiln_status
alloc_beside(struct moe_run *m, struct moe_part *s, int64_t rows)
{
    struct kn_memory amax = { .size = 4, .flags = KN_MEM_OUTPUT, .fill = kn_sim_zeros };
    struct kn_memory out = { .flags = KN_MEM_OUTPUT };
    struct kn_data *d = &s->second_data;
    int64_t halves = kn_second_pair(&s->p) ? 2 : 1;

    if (s->p.amax)
        KN_TRY(kn_session_put(m->s, &amax, &s->job.at.amax));
    *d = (struct kn_data){ .type = (kiln_type)s->p.out2, .batches = 1, .rows = rows,
                           .cols = halves * s->p.n };
    kn_data_shape(d, halves * s->p.ldc, 0);
    s->second = (struct kn_second){ .s = m->s, .job = &s->job, .data = d,
                                    .size = kn_data_bytes(d) };
    out.size = s->second.size + !s->second.size;
    return s->p.out2 ? kn_session_put(m->s, &out, &s->job.at.out2) : KILN_OK;
}

kiln_status
moe_alloc_part(struct moe_run *m, struct moe_part *s)
{
    struct kn_operand *in[] = { &s->a, &s->b, &s->sa, &s->sb, &s->bias,
                                &s->x[0], &s->x[1], &s->x[2], &s->x[3] };
    bool summed = s->p.atomic || s->p.stage == KILN_MOE_REDUCE;
    bool behind = kn_writes_scales(&s->p) && s->g.cfg.abi == KN_ABI_AITER;
    int64_t rows = s->p.tokens * (summed ? 1 : s->p.topk);
    struct kn_memory out = { .flags = KN_MEM_OUTPUT };

    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        KN_TRY(alloc_operand(m, in[i]));
    s->out_row = (uint64_t)s->p.ldc * kn_ref_type_bits(s->p.out) / 8;
    s->out_size = (uint64_t)rows * s->out_row;
    out.size = kn_writes_scales(&s->p) ? kn_output_scales(&s->p)
                                       : (uint64_t)rows * (uint64_t)s->p.n / 32;
    out.size += !out.size;
    if ((kn_quantises(&s->p) || kn_writes_scales(&s->p)) && !behind)
        KN_TRY(kn_session_put(m->s, &out, &s->scales));
    out.size = s->out_size + (behind ? out.size : 0);
    out.fill = s->c.used ? kn_operand_stored : s->p.atomic ? kn_sim_zeros : NULL;
    out.user = &s->c;
    KN_TRY(kn_session_put(m->s, &out, &s->out));
    s->scales = behind ? s->out + s->out_size : s->scales;
    KN_TRY(alloc_beside(m, s, rows));
    s->job.p = &s->p;
    s->job.g = &s->g;
    s->job.at = (struct kn_operands){
        .a = s->a.addr, .b = s->b.addr, .c = s->out, .sa = s->sa.addr,
        .sb = s->sb.addr, .bias = s->bias.used ? s->bias.addr : s->scales,
        .sc = kn_writes_scales(&s->p) ? s->scales : 0,
        .amax = s->job.at.amax, .out2 = s->job.at.out2,
        .offs = m->ids,
        .x = { s->x[0].addr, s->x[1].addr, s->x[2].addr, s->x[3].addr },
        .experts = m->experts, .padded = m->padded, .weights = m->weights,
    };
    return KILN_OK;
}

/* ---- one launch ---- */

static kiln_status
launch(struct moe_run *m, struct moe_part *s)
{
    struct kn_job *j = &s->job;

    KN_TRY(kn_session_plan(m->s, j));
    KN_TRY(kn_cli_select(m->c, m->t->cli, j->workgroups, &j->l.select));
    KN_TRY(moe_select_rows(m, s));
    if (!j->workgroups)
        return KILN_OK;
    KN_TRY(kn_session_execute(m->s, m->t, j));
    KN_TRY(kn_report_stopped(m->t, NULL, &j->result));
    return m->place.gpu ? kn_session_time(m->s, j) : KILN_OK;
}

static kiln_status
run_part(struct moe_run *m, struct moe_part *s)
{
    KN_TRY(kn_kernel_take(m->t, &m->j, &s->p, &s->g));
    KN_TRY(moe_alloc_part(m, s));
    KN_TRY(launch(m, s));
    KN_TRY(moe_check(m, s));
    KN_TRY(kn_session_check_shares(m->s, &s->job));
    if (s->p.out2)
        kn_second_report(m->t, &m->j, &s->second);
    if (s->p.amax)
        KN_TRY(kn_amax_check(m->t, &m->j, m->s, &s->job, &s->amax));
    KN_TRY(kn_amax_write(m->t, m->s, &s->job));
    KN_TRY(kn_second_write(m->t, &s->second));
    KN_TRY(kn_job_places(m->c, &s->job));
    kn_report_check(m->t, &m->j, &s->check, false);
    if (m->place.gpu)
        kn_job_measured(m->t, &m->j, &m->place, &s->job, 0);
    else
        kn_report_run(m->t, &m->j, &s->job.result);
    moe_predict_run(m, s);
    m->wrong |= s->check.bad || kn_run_found(m->t, &s->job.result);
    return KILN_OK;
}

/* ---- the command ---- */

/* --routing, and among how many experts. */
static kiln_status
read_pattern(struct moe_run *m, int64_t *among)
{
    static const char *const words[] = { "", "balanced", "mild", "extreme:1" };
    const struct kn_value *v = &m->t->cli->v[KN_FLAG_routing];
    int word = v->seen ? kn_name_index(words, 3, v->s) : KN_MOE_DRAWN, used = 0;

    *among = m->r.experts;
    m->r.pattern = word < 0 ? KN_MOE_DRAWN : (enum kn_moe_pattern)word;
    if (word > KN_MOE_DRAWN || !v->seen ||
        (sscanf(v->s, "extreme:%" SCNd64 "%n", among, &used) == 1 && !v->s[used] &&
         *among >= 1))
        return KILN_OK;
    return kn_fail(m->c, KILN_BAD_INPUT, "--routing is balanced, mild or extreme:K, K experts "
                   "for all tokens, not '%s'%s", v->s,
                   kn_did_you_mean(m->c, v->s, words + 1, 3));
}

static kiln_status
read_routing(struct moe_run *m)
{
    const struct kn_value *v = m->t->cli->v;
    int64_t among;

    KN_TRY(read_pattern(m, &among));
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

    KN_TRY(kn_session_table(m->s, device_ids(m), (size_t)s->room * 4, &m->ids));
    KN_TRY(kn_session_table(m->s, s->weights, (size_t)s->room * 4, &m->weights));
    KN_TRY(kn_session_table(m->s, s->experts, blocks * 4, &m->experts));
    return kn_session_table(m->s, &s->padded, 4, &m->padded);
}

kiln_status
moe_make_part(struct moe_run *m, int stage, struct moe_part **out)
{
    struct moe_part *s = *out = KN_NEW(m->c, struct moe_part, 1);

    KN_TRY(kn_moe_problem(m->c, m->t->cli, m->target, stage, &s->p));
    kn_place_counts(&m->place, &s->p);
    moe_shape_c(m, s);
    if (stage == KILN_MOE_REDUCE)
        return KILN_OK;
    s->p.m = m->sorted.room;
    shape_stage(m, s);
    set_pitches(s);
    KN_TRY(moe_read_operands(m, s));
    kn_operands_store(&s->p, &s->b, &s->sa, &s->sb);
    if (kn_shuffled(&s->p))
        map_scales(m, s);
    return KILN_OK;
}

/* One of the launches of a layer. */
static kiln_status
run_stage(struct moe_run *m, struct moe_part *s)
{
    kn_json_open(&m->j, NULL, '{');
    KN_TRY(run_part(m, s));
    kn_json_close(&m->j, '}');
    return KILN_OK;
}

kiln_status
moe_make_layer(struct moe_run *m, struct moe_part *out[KN_MOE_LAUNCHES], int *n)
{
    KN_TRY(moe_make_part(m, KILN_MOE_GATE_UP, &out[0]));
    KN_TRY(moe_make_part(m, KILN_MOE_DOWN, &out[1]));
    KN_TRY(moe_requantise(m, out[0], out[1]));
    if (out[0]->p.beta)
        return kn_fail(m->c, KILN_BAD_INPUT, "what gemm1's output held before a layer "
                       "is nothing: an expression names c with --stage");
    *n = out[1]->p.atomic ? 2 : 3;
    return *n == 2 ? KILN_OK : moe_make_part(m, KILN_MOE_REDUCE, &out[2]);
}

void
moe_open_layer(struct moe_run *m, const struct moe_part *up, const struct moe_part *down)
{
    kn_json_str(&m->j, "family", kn_family_names[KILN_MOE]);
    kn_json_str(&m->j, "arch", kiln_target_name(m->target));
    kn_report_layer(&m->j, &up->p, &down->p);
    kn_json_open(&m->j, "stages", '[');
}

/* What all launches are: right, if each is. */
static void
report_layer(struct moe_run *m, uint64_t bad)
{
    kn_json_open(&m->j, "check", '{');
    kn_json_bool(&m->j, "ok", !bad);
    kn_json_uint(&m->j, "bad", bad);
    kn_json_close(&m->j, '}');
    moe_report_sum(m);
}

static kiln_status
run_layer(struct moe_run *m)
{
    struct moe_part *part[KN_MOE_LAUNCHES];
    kiln_problem p;
    uint64_t bad = 0;
    int n;

    KN_TRY(kn_moe_problem(m->c, m->t->cli, m->target, KILN_MOE_GATE_UP, &p));
    if (p.amax || p.out2)
        return kn_fail(m->c, KILN_BAD_INPUT, "an amax and a second output are of one "
                       "launch, not of a layer: name a --stage");
    if (kn_cli_samples(m->t->cli))
        return kn_fail(m->c, KILN_BAD_INPUT, "a layer needs every workgroup "
                       "of its stages: leave --wg out, or name a --stage");
    KN_TRY(moe_make_layer(m, part, &n));
    moe_open_layer(m, part[0], part[1]);
    for (int i = 0; i < n; i++) {
        if (i == 1)
            KN_TRY(moe_hand_over(m, part[0], part[1]));
        if (i == 2)
            part[2]->a.addr = part[1]->out;
        KN_TRY(run_stage(m, part[i]));
        bad += part[i]->check.bad;
    }
    kn_json_close(&m->j, ']');
    report_layer(m, bad);
    return moe_write_output(m, part[n - 1]);
}

kiln_status
moe_run_stages(struct kn_session *session, void *user)
{
    struct moe_run *m = user;
    struct moe_part *s;

    m->s = session;
    KN_TRY(moe_upload(m));
    if (!m->stage)
        return run_layer(m);
    KN_TRY(moe_make_part(m, m->stage, &s));
    KN_TRY(run_part(m, s));
    return moe_write_output(m, s);
}

static kiln_status
prepare(struct moe_run *m)
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
                          m->stage ? m->stage : KILN_MOE_GATE_UP, &p));
    m->block_m = kn_block_rows(&p);
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
    return kn_session_table(m->s, rows, size, addr);
}

kiln_status
moe_prepare(struct kn_tool *t, struct moe_run *m)
{
    m->t = t;
    m->j.b.c = m->c = t->c;
    m->stage = (int)t->cli->v[KN_FLAG_stage].i;
    return prepare(m);
}

kiln_status
moe_place_stage(struct moe_run *m, struct kn_launch_data *out)
{
    struct moe_part *s;

    m->stage = (int)m->t->cli->v[KN_FLAG_stage].i;
    if (m->stage != KILN_MOE_GATE_UP && m->stage != KILN_MOE_DOWN)
        return kn_fail(m->c, KILN_BAD_INPUT, "one kernel of moe: --stage "
                       "gemm1 or gemm2");
    m->timed = m->target;
    KN_TRY(moe_prepare(m->t, m));
    KN_TRY(moe_upload(m));
    KN_TRY(moe_make_part(m, m->stage, &s));
    KN_TRY(moe_alloc_part(m, s));
    *out = (struct kn_launch_data){ .p = &s->p, .o = s->job.at,
                                    .out_size = s->out_size };
    return place_sorted(m, s, &out->a_sorted);
}

kiln_status
kn_run_moe(struct kn_tool *t)
{
    struct moe_run *m = KN_NEW(t->c, struct moe_run, 1);

    KN_TRY(moe_prepare(t, m));
    if (t->cli->v[KN_FLAG_object].seen && !m->stage)
        return kn_fail(t->c, KILN_BAD_INPUT, "an --object is one launch, a layer several: "
                       "name a --stage");
    kn_putf(t->text, "routing   %" PRId64 " tokens x %" PRId64 " of %" PRId64
            " experts: %" PRId32 " sorted rows in blocks of %u\n",
            m->r.tokens, m->r.topk, m->r.experts, m->sorted.padded,
            m->block_m);
    kn_json_open(&m->j, NULL, '{');
    KN_TRY(kn_session_do(t->c, &m->place, moe_run_stages, m));
    kn_json_close(&m->j, '}');
    KN_TRY(kn_report_write(t, &m->j));
    return m->wrong ? KILN_FINDING : KILN_OK;
}
