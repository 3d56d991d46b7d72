/* moe_check.c - the reference of a moe stage: for each sorted row the dense
 * product of its token with its expert in f64, the expert taken from the
 * routing itself and not from what was sorted; and the output held to it. */
#include <math.h>

#include "cmd_run_moe.h"
#include "../../../runtime/reference/operand.h"
#include "../../panels.h"

/* Rows of an operand picked one by one, as one tensor of the same pitch. */
struct picked {
    struct kn_operand *from;
    const int32_t *ids;
    int64_t topk;            /* 0: row token, else token * topk + slot */
    uint64_t row;            /* bytes from one to the next */
    uint64_t down;           /* bytes of each, of scales that are stored K-outer, or 0 */
};

static void
pick(const struct picked *k, uint64_t row, uint64_t at, void *to, uint64_t n)
{
    if (!k->down)
        kn_operand_fill(k->from, row * k->row + at, to, n);
    for (uint64_t i = 0; k->down && i < n; i += k->down)
        kn_operand_fill(k->from, (at + i) / k->down * k->from->data.row_bytes + k->down * row,
                        (uint8_t *)to + i, k->down);
}

static void
pick_rows(void *user, uint64_t offset, void *dst, size_t size)
{
    const struct picked *k = user;
    uint8_t *to = dst;

    while (size) {
        uint64_t at = offset % k->row, n = k->row - at;
        uint32_t id = (uint32_t)k->ids[offset / k->row];
        int64_t row = id & 0xffffff;

        if (k->topk)
            row = row * k->topk + (int64_t)(id >> 24);
        n = n < size ? n : size;
        pick(k, (uint64_t)row, at, to, n);
        offset += n;
        to += n;
        size -= n;
    }
}

static struct kn_ref_tensor
picked_tensor(struct picked *k, int64_t ld)
{
    struct kn_ref_tensor t = { .type = k->from->data.type, .fetch = pick_rows,
                               .user = k, .ld = ld };

    return t;
}

static struct kn_ref_tensor
expert_tensor(struct kn_operand *o, uint64_t offset, int64_t ld)
{
    struct kn_ref_tensor t = { .type = o->data.type, .offset = offset, .ld = ld,
                               .fetch = kn_operand_fill, .user = o };

    return t;
}

static bool
has(const struct kn_operand *o)
{
    return o && o->used;
}

/* d(act)/dg of a swish is at most 1.1, of gelu 1.13. */
static void
gate(const struct kn_moe_stage *s, double *g, double *gsum, double u,
     double usum)
{
    bool clamped = s->p->act == KILN_SWIGLU;
    bool gelu = s->p->act == KILN_GELU_TANH;
    double most = clamped ? 7 : s->p->act == KILN_LIMITED ? 10 : INFINITY;
    double tol = kn_ref_unit(s->p->a, (kiln_math)s->p->math, s->p->k);
    double x = *g, rise = clamped ? 1.702 : 1, y, out;

    if (isfinite(most)) {
        x = fmin(x, most);
        u = fmax(fmin(u, most), -most) + (clamped ? 1 : 0);
    }
    if (gelu)
        rise = 2 * sqrt(2 / acos(-1)) * (1 + 0.044715 * x * x);
    y = x / (1 + exp(-rise * x));
    out = y * u;
    *gsum = (gelu ? 1.13 : 1.1) * *gsum * (fabs(u) + tol * usum) +
            fabs(y) * usum + (1 + fabs(gelu ? rise * x : x)) * fabs(out) +
            fabs(y);
    *g = out;
}

/* The bias of the rectangle's expert e; up: that of gate, then of up. */
static void
add_bias(const struct kn_moe_stage *s, struct kn_ref_rect rect, uint64_t e,
         const struct kn_ref_sums *out)
{
    int64_t n = rect.rows * rect.cols;
    bool up = s->p->stage == KILN_MOE_GATE_UP;
    struct kn_ref_tensor t;

    if (!has(s->bias) || s->p->expression[0])
        return;
    t = expert_tensor(s->bias, e * s->bias->data.row_bytes, 0);
    for (int64_t i = 0; i < (up ? 2 * n : n); i++) {
        double v = kn_ref_f32(&t, rect.n0 + i % rect.cols +
                                  (i >= n ? s->p->n : 0));

        out->value[i] += v;
        out->abssum[i] += fabs(v);
    }
}

static void
weigh(const struct kn_moe_stage *s, struct kn_ref_rect rect,
      const struct kn_ref_sums *out)
{
    double *value = out->value, *abssum = out->abssum;
    int64_t n = rect.rows * rect.cols;
    bool up = s->p->stage == KILN_MOE_GATE_UP;
    int64_t all = up ? 2 * n : n;

    for (int64_t i = 0; i < all; i++) {
        uint32_t id = (uint32_t)s->ids[i % n / rect.cols];
        double w = (double)s->r->weight[(int64_t)(id & 0xffffff) * s->r->topk +
                                        (int64_t)(id >> 24)];

        if (s->p->weigh != (up ? KILN_WEIGHT_BEFORE : KILN_WEIGHT_AFTER))
            break;
        value[i] *= w;
        abssum[i] *= fabs(w);
    }
}

/* Array number i of the expression: of expert e, or of the rows that ids name. */
static struct kn_ref_tensor
array_tensor(const struct kn_moe_stage *s, uint32_t i, uint64_t e, struct picked *k)
{
    struct kn_operand *o = &s->x[i];
    enum kn_formula_operand_kind kind = kn_array_kind(s->p, i);

    if (kind == KN_FO_COL)
        return expert_tensor(o, e * o->data.row_bytes, 0);
    *k = (struct picked){ o, s->ids, s->p->topk,
                          kind == KN_FO_ROW ? 4 : o->data.row_bytes, false };
    return picked_tensor(k, s->p->ldc);
}

/* The expression's values of the sums, of expert e. */
static kiln_status
express(struct kn_ctx *c, const struct kn_moe_stage *s, struct kn_ref_rect rect,
        uint64_t e, const struct kn_ref_sums *out)
{
    const kiln_problem *p = s->p;
    struct picked picked[KN_FORMULA_ARRAYS], old;
    struct kn_ref_problem q = {
        .target = p->target, .math = (kiln_math)p->math,
        .m = rect.rows, .n = p->n, .k = p->k,
        .gated = kn_gated(p), .epilogue = KILN_EPILOGUE_EXPRESSION,
        .expression = p->expression, .aux = s->aux
    };

    if (has(s->c) && !p->atomic) {
        old = (struct picked){ s->c, s->ids, p->topk, s->c->data.row_bytes, false };
        q.cin = picked_tensor(&old, p->ldc);
        q.beta = 1;
    }
    if (has(s->bias))
        q.bias = expert_tensor(s->bias, e * s->bias->data.row_bytes, 0);
    for (uint32_t i = 0; i < KN_FORMULA_ARRAYS; i++)
        if (s->x && s->x[i].used)
            q.array[i] = array_tensor(s, i, e, &picked[i]);
    for (int i = 0; i < KILN_SCALARS; i++)
        q.scalar[i] = (double)p->scalar[i];
    return kn_ref_apply(c, &q, &rect, out);
}

static void
activate(const struct kn_moe_stage *s, struct kn_ref_rect rect,
         const struct kn_ref_sums *out)
{
    int64_t n = rect.rows * rect.cols;

    for (int64_t i = 0; i < n; i++) {
        gate(s, &out->value[i], &out->abssum[i], out->value[n + i],
             out->abssum[n + i]);
        out->both[i] |= out->both[n + i];
    }
}

/* From the sums of expert e to what is stored: of gate and up the weight is the
 * input's, and no bias' or expression's. */
static kiln_status
finish(struct kn_ctx *c, const struct kn_moe_stage *s, struct kn_ref_rect rect,
       uint64_t e, const struct kn_ref_sums *out)
{
    bool up = s->p->stage == KILN_MOE_GATE_UP;

    if (up)
        weigh(s, rect, out);
    add_bias(s, rect, e, out);
    if (s->p->expression[0])
        KN_TRY(express(c, s, rect, e, out));
    else if (up)
        activate(s, rect, out);
    if (!up && !s->aux)
        weigh(s, rect, out);
    return KILN_OK;
}

kiln_status
kn_moe_reference(struct kn_ctx *c, const struct kn_moe_stage *s,
                 struct kn_ref_rect rect, const struct kn_ref_sums *out)
{
    const kiln_problem *p = s->p;
    const int32_t *ids = s->ids;
    struct kn_pitches t = kn_pitches_of(p);
    bool up = p->stage == KILN_MOE_GATE_UP;
    bool rows = has(s->sa) && p->scale >= KILN_SCALE_BLOCK128;
    bool each = p->scale >= KILN_SCALE_ROW;
    int64_t topk = up ? 0 : p->topk;
    uint32_t id = (uint32_t)ids[0];
    uint64_t e = (uint64_t)s->r->expert[(int64_t)(id & 0xffffff) *
                                        s->r->topk + (int64_t)(id >> 24)];
    uint64_t down = kn_scales_down(p, 'a') ? (uint64_t)kn_scale_size(p) : 0;
    struct picked a = { s->a, ids, topk, (uint64_t)t.a, 0 };
    struct picked sa = { s->sa, ids, topk,
                         down ? ((uint64_t)p->k + 127) / 128 * down
                         : rows ? s->sa->data.row_bytes : 4, down };
    struct kn_ref_problem q = {
        .target = p->target, .layout = KILN_NT, .scale = p->scale,
        .math = (kiln_math)p->math,
        .words = kn_in_words(p) ? (kiln_b_layout)p->b_layout : KILN_B_PLAIN,
        .powers = kn_powers(p), .sb_down = kn_scales_down(p, 'b'),
        .quantise = kn_prequant(p), .quantise_mx = p->quant,
        .m = rect.rows, .n = up ? 2 * p->n : p->n, .k = p->k,
        .a = picked_tensor(&a, p->lda),
        .b = expert_tensor(s->b, e * (uint64_t)t.tb, p->ldb),
        .alpha = (double)p->alpha,
    };

    if (p->zero_points)
        q.zb = expert_tensor(s->sa, e * s->sa->data.batch_bytes, 0);
    else if (kn_weight_factor(p))
        q.factor = expert_tensor(s->sa, 4 * e, 0);
    else if (has(s->sa))
        q.sa = each ? picked_tensor(&sa, down ? 0 : p->ldsa) : expert_tensor(s->sa, 0, 0);
    if (has(s->sb))
        q.sb = expert_tensor(s->sb, e * (each ? s->sb->data.batch_bytes : 4),
                             p->ldsb);
    rect.m0 = 0;
    KN_TRY(kn_ref_tile(c, &q, &rect, out));
    if (up) {
        struct kn_ref_rect other = rect;
        int64_t n = rect.rows * rect.cols;

        other.n0 += p->n;
        KN_TRY(kn_ref_tile(c, &q, &other, &(struct kn_ref_sums){
            out->value + n, out->abssum + n, out->both + n, false }));
    }
    return finish(c, s, rect, e, out);
}

/* ---- the output --------------------------------------------------------- */

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
    p.expression[0] = 0;
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
        KN_TRY(kn_session_read(m->s, s->out + (uint64_t)rect.n0 * size +
                           (uint64_t)output_row(m, s, ids[i]) * s->out_row,
                           got + (size_t)i * row, row));
    return KILN_OK;
}

/* Of whole scales. */
static kiln_status
read_scales(const struct moe_run *m, const struct moe_part *s,
            const int32_t *ids, struct kn_ref_result *res)
{
    int64_t block = kn_output_block(&s->p);
    size_t row = (size_t)kn_output_scale_row(&s->p);
    size_t size = (size_t)kn_output_scale_size(&s->p);
    size_t first = size * (size_t)(res->rect.n0 / block);
    size_t some = size * (size_t)((res->rect.cols + block - 1) / block);
    uint8_t *to = KN_NEW(m->c, uint8_t, (size_t)res->rect.rows * some + 1);

    for (int64_t i = 0; i < res->rect.rows; i++)
        KN_TRY(kn_session_read(m->s, s->scales + first +
                               row * (uint64_t)output_row(m, s, ids[i]),
                               to + (size_t)i * some, some));
    res->written = (kiln_out_scale)s->p.out_scale;
    res->powers = kn_writes_powers(&s->p);
    res->saturate = true;
    res->scales = to;
    return KILN_OK;
}

static const int64_t *
output_rows(const struct moe_run *m, const struct moe_part *s, const int32_t *ids,
            int64_t n)
{
    int64_t *row = KN_NEW(m->c, int64_t, (size_t)n + 1);

    for (int64_t i = 0; i < n; i++)
        row[i] = output_row(m, s, ids[i]);
    return row;
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
                               NULL, &s->bias, s->x, &s->c, false };
    struct kn_ref_sums sums = { 0 };
    int32_t *ids;
    uint8_t *got;
    struct kn_ref_result res = { .target = s->p.target, .out = s->p.out,
                                 .math = (kiln_math)s->p.math, .k = s->p.k,
                                 .round = s->p.round,
                                 .round_seed = s->p.round_seed };

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
    res.rows = output_rows(m, s, ids, res.rect.rows);
    res.exact = m->exact && s->p.stage == KILN_MOE_DOWN && !s->a.file &&
                !kn_prequant(&s->p) && !s->p.quant && !s->p.expression[0];
    kn_ref_amax_add(&s->amax, &res);
    if (s->p.out2)
        KN_TRY(moe_check_beside(c, s, &st, &res));
    if (kn_quantises(&s->p))
        return moe_check_quantised(m, s, &res);
    KN_TRY(read_rows(m, s, ids, res.rect, got));
    if (kn_writes_scales(&s->p))
        KN_TRY(read_scales(m, s, ids, &res));
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
    double unit = kn_ref_unit(s->p.a, (kiln_math)s->p.math, s->p.k);
    struct kn_ref_result res = {
        .target = s->p.target, .out = s->p.out, .math = (kiln_math)s->p.math,
        .k = s->p.k,
        .rect = { 0, 0, s->p.tokens, s->p.n }, .value = s->sums.value,
        .abssum = s->sums.abssum, .both = s->sums.both,
    };
    uint8_t *got = KN_NEW(m->c, uint8_t, (size_t)(2 * n) + 1);

    for (int64_t i = 0; i < n; i++)
        s->sums.abssum[i] += (s->adds[i] + 1) * 0x1.02p-9 * s->rounded[i] /
                             unit;
    KN_TRY(moe_read_output(m, s, got));
    res.got = got;
    kn_ref_compare(&res, &s->check);
    return KILN_OK;
}

/* What the output holds, dense, comes before all that is added. */
static void
begin_sums(struct kn_ctx *c, struct moe_part *s)
{
    size_t n = (size_t)s->p.n, row = n * kn_ref_type_bits(s->p.out) / 8;
    uint8_t *old = KN_NEW(c, uint8_t, row + 1);
    struct kn_ref_codec codec;

    kn_ref_codec_init(&codec, s->p.out, s->p.target);
    for (int64_t t = 0; s->c.used && t < s->p.tokens; t++) {
        double *v = s->sums.value + (size_t)t * n;

        kn_operand_fill(&s->c, (uint64_t)t * s->c.data.row_bytes, old, row);
        kn_ref_decode_run(&codec, old, 0, n, v);
        for (size_t i = 0; i < n; i++)
            s->sums.abssum[(size_t)t * n + i] = s->rounded[(size_t)t * n + i] =
                fabs(v[i]);
    }
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
    begin_sums(m->c, s);
    return KILN_OK;
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
        .target = s->p.target, .out = s->p.out, .k = topk + 1, .got = got,
        .round = s->p.round, .round_seed = s->p.round_seed,
        .rect = { 0, 0, s->p.tokens, s->p.n }, .value = value,
        .abssum = abssum,
    };

    KN_TRY(kn_session_read(m->s, s->a.addr, in, s->out_size * (uint64_t)topk));
    KN_TRY(kn_session_read(m->s, s->out, got, s->out_size));
    kn_ref_codec_init(&codec, s->p.out, m->target);
    kn_ref_decode_run(&codec, in, 0, (size_t)(n * topk), x);
    s->sums = (struct kn_ref_sums){ .value = value, .abssum = abssum };
    s->rounded = abssum;
    begin_sums(m->c, s);
    for (int64_t i = 0; i < n * topk; i++) {
        int64_t at = i / (topk * s->p.n) * s->p.n + i % s->p.n;

        value[at] += x[i];
        abssum[at] += fabs(x[i]);
    }
    kn_ref_compare(&res, &s->check);
    s->written = s->out_size;
    return KILN_OK;
}

/* A persistent workgroup has every n-th tile of a grid of n. */
static kiln_status
check_workgroup(struct moe_run *m, struct moe_part *s, uint64_t id)
{
    uint64_t tn = ((uint64_t)s->p.n + kn_tile_columns(&s->p, &s->g.cfg) - 1) /
                  kn_tile_columns(&s->p, &s->g.cfg);
    uint64_t most = (uint64_t)m->sorted.room / s->g.cfg.bm * tn;

    for (; id < most; id += s->job.workgroups) {
        struct kn_rect t = moe_tile_of(m, &s->p, &s->g.cfg, id);

        if (t.rows && t.cols && kn_rect_judged(&s->p, &s->g.cfg, &t))
            KN_TRY(check_tile(m, s, &t));
        if (!s->g.cfg.cus)
            break;
    }
    return KILN_OK;
}

static kiln_status
check_tiles(struct moe_run *m, struct moe_part *s)
{
    const struct kn_sim_select *select = &s->job.l.select;
    uint64_t n = select->all ? s->job.workgroups : select->n;

    kn_progress_stage(m->t->progress, "checking tiles");
    KN_TRY(alloc_sums(m, s));
    for (uint64_t i = 0; i < n; i++) {
        KN_TRY(check_workgroup(m, s, select->all ? i : select->ids[i]));
        kn_progress_update(m->t->progress, i + 1, n);
    }
    return s->p.atomic ? check_atomic(m, s) : KILN_OK;
}

kiln_status
moe_check(struct moe_run *m, struct moe_part *s)
{
    KN_TRY(s->p.stage == KILN_MOE_REDUCE ? check_reduce(m, s)
                                         : check_tiles(m, s));
    if (!s->p.atomic)        /* whose zeros somebody wrote before */
        kn_session_check_written(m->s, &s->job, s->out, s->out_size,
                                 s->written);
    return KILN_OK;
}
