#include "num_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../gen/instantiate.h"
#include "../../gen/layout.h"
#include "../../gen/tool/run/run.h"
#include "readers.h"
#include "../../gen/panels.h"

bool
num_is_mx(kiln_type t)
{
    return t >= KILN_MXFP8 && t <= KILN_MXFP4;
}

uint32_t
num_element_bytes(kiln_type t)
{
    return kn_ref_type_bits(t) < 8 ? 1 : kn_ref_type_bits(t) / 8;
}

struct kn_domain
num_weakest(const kiln_problem *p)
{
    struct kn_domain d = { .vec = 1, .ktail = 1 };

    d.align_a = (uint8_t)num_element_bytes(p->a);
    d.align_b = kn_in_words(p) ? 4 : (uint8_t)num_element_bytes(p->b);
    d.align_sa = d.align_sb = p->scale == KILN_SCALE_MX32 ||
                              p->scale == KILN_SCALE_NV16 ||
                              p->scale_type == KILN_SCALE_TYPE_E8M0 ? 1
                            : p->scale_type ? 2 : 4;
    return d;
}

bool
num_configured(struct kn_config *g, kiln_problem *p, const char *text)
{
    struct kn_ctx c;
    bool ok;

    kn_ctx_init(&c, NULL, NULL);
    ok = kn_config_parse(&c, text, g) == KILN_OK &&
         kn_problem_normalise(&c, p) == KILN_OK;
    kn_ctx_free(&c);
    g->domain = kn_domain_of(p, 256, g->bk);
    return ok;
}

/* ---- launch ------------------------------------------------------------- */

/* The kernel's problem with the sizes of the job. */
static void
make_problem(struct run *r)
{
    const kiln_problem *q = &r->j->p;
    kiln_problem *p = &r->p;
    int64_t n = q->groups;

    *p = r->k->p;
    p->m = q->m, p->n = q->n, p->k = q->k;
    p->batch = q->batch, p->groups = n;
    p->lda = q->lda, p->ldb = q->ldb, p->ldc = q->ldc;
    p->ldsa = q->ldsa, p->ldsb = q->ldsb;
    p->stride_a = q->stride_a;
    p->stride_b = q->stride_b;
    p->stride_c = q->stride_c;
    p->alpha = q->alpha;
    p->round_seed = q->round_seed;
    memcpy(p->scalar, q->scalar, sizeof p->scalar);
    if (!r->j->lens)
        return;
    r->offs = KN_NEW(&r->c, int64_t, (size_t)n + 1);
    r->read = KN_NEW(&r->c, int64_t, (size_t)n + 1);
    for (int64_t g = 0; g < n; g++) {
        r->offs[g + 1] = r->offs[g] + r->j->lens[g];
        r->read[g + 1] = r->read[g] + num_group_read(p, r->j->lens, g);
    }
    if (p->family == KILN_GROUPED)
        p->m = r->read[n] + r->j->spare;
    else
        p->k = r->read[n] + r->j->spare;
}

static kiln_status
alloc_shares(struct run *r)
{
    uint32_t *count = KN_NEW(&r->c, uint32_t, KN_COUNTERS);

    *count = r->j->dirt;
    KN_TRY(kn_sim_alloc(r->k->sim, r->plan.workspace, KN_MEM_OUTPUT, NULL,
                        NULL, &r->workspace));
    return kn_sim_write(r->k->sim, r->workspace, count, KILN_WORKSPACE_ZEROS);
}

static kiln_status
check_shares(struct run *r)
{
    uint32_t *count = KN_NEW(&r->c, uint32_t, KN_COUNTERS);

    if (!r->workspace)
        return KILN_OK;
    KN_TRY(kn_sim_read(r->k->sim, r->workspace, count, KILN_WORKSPACE_ZEROS));
    return kn_shares_check(&r->c, count);
}

static bool
launch(struct run *r)
{
    const struct num_job *j = r->j;
    struct kn_sim_launch l = {
        .code = r->k->code,
        .kernel = r->k->g.name,
        .kernarg = r->plan.kernarg,
        .kernarg_size = r->plan.kernarg_size,
        .select = { j->ids == NULL, j->ids, j->nids },
        .order = j->order,
        .waves = j->waves,
        .seed = j->order_seed,
    };

    r->r->grid = r->plan.grid[0];
    memcpy(l.grid, r->plan.grid, sizeof l.grid);
    memcpy(l.block, r->plan.block, sizeof l.block);
    if (!r->plan.grid[0])
        return true;
    r->r->status = kn_sim_run(r->k->sim, &l, &r->sim);
    if (r->r->status) {
        snprintf(r->r->text, sizeof r->r->text, "launch: %s",
                 r->k->c.err.text);
        return false;
    }
    r->k->counts->launches++;
    r->k->counts->macs += r->sim.macs;
    r->r->nfindings = r->sim.nfindings;
    r->r->status = check_shares(r);
    if (!r->r->status && j->met)
        r->r->status = num_launch_met(r, &l);
    if (r->r->status)
        return num_fault(r, "workspace");
    if (j->meddle)
        j->meddle(r->k->sim, r->o[NUM_C].at, j->user);
    if (j->meddle_scales)
        j->meddle_scales(r->k->sim, r->o[NUM_SC].at, j->user);
    if (j->meddle_amax)
        j->meddle_amax(r->k->sim, r->o[NUM_AMAX].at, j->user);
    if (j->meddle_second)
        j->meddle_second(r->k->sim, r->o[NUM_OUT2].at, j->user);
    return true;
}

static bool
plan(struct run *r)
{
    const struct operand *o = r->o;
    struct kn_operands at = {
        .a = o[NUM_A].at, .b = o[NUM_B].at, .c = o[NUM_C].at,
        .sa = o[NUM_SA].at, .sb = o[NUM_SB].at, .bias = o[NUM_BIAS].at,
        .offs = r->offs_at, .tight = r->tight_at, .sc = o[NUM_SC].at,
        .amax = o[NUM_AMAX].at, .out2 = o[NUM_OUT2].at,
        .x = { o[NUM_ARRAY].at, o[NUM_ARRAY + 1].at, o[NUM_ARRAY + 2].at,
               o[NUM_ARRAY + 3].at },
    };
    kiln_problem p = r->p;

    r->r->status = kn_problem_normalise(&r->c, &p);
    if (!r->r->status)
        r->r->status = kn_plan_launch(&r->c, &p, &r->k->g.cfg, &at, &r->plan);
    if (!r->r->status && r->plan.workspace) {
        r->r->status = alloc_shares(r);
        at.workspace = r->workspace;
        kn_plan_launch(&r->c, &p, &r->k->g.cfg, &at, &r->plan);
    }
    if (!r->r->status && r->j->host && r->offs)
        kn_plan_exactly(&p, &r->k->g.cfg, r->offs, &r->plan);
    return r->r->status ? num_fault(r, "no launch") : true;
}

/* A kernel without MFMAs has no such order, and of some launches it depends on
 * what they do not say. */
static bool
prove_sums(struct run *r)
{
    size_t size = r->offs_at ? (size_t)kn_group_table(&r->p) : 0;
    void *table = KN_NEW(&r->c, uint8_t, size + 1);
    void *tight = KN_NEW(&r->c, uint8_t, size + 1);
    struct kn_sums_facts facts;
    struct kn_ctx c;
    kiln_status s;

    if (size && kn_sim_read(r->k->sim, r->offs_at, table, size))
        return num_fault(r, "table of groups");
    if (r->tight_at && kn_sim_read(r->k->sim, r->tight_at, tight, size))
        return num_fault(r, "table of the rows that are written");
    kn_ctx_init(&c, NULL, NULL);
    s = kn_launch_sums(&c, r->k->g.tile, &r->plan, &(struct kn_sums_table){
        table, tight, size, r->k->g.cfg.stagger > 1 }, &facts);
    r->k->counts->sums += s == KILN_OK;
    if (s == KILN_FINDING) {
        r->r->status = s;
        snprintf(r->r->text, sizeof r->r->text, "order of sums: %s",
                 c.err.text);
    }
    kn_ctx_free(&c);
    return s != KILN_FINDING;
}

/* ---- check -------------------------------------------------------------- */

static struct kn_ref_tensor
tensor(struct run *r, enum num_operand_id id, uint64_t offset)
{
    struct operand *o = &r->o[id];
    unsigned bits = kn_ref_type_bits(o->d.type);
    struct kn_ref_tensor t = { .type = o->d.type, .offset = offset };

    if (!o->used)
        return t;
    t.fetch = kn_data_fill;
    t.user = &o->d;
    t.ld = (int64_t)(o->d.row_bytes * 8 / (o->d.scale && bits < 8 ? 8 : bits));
    return t;
}

static void
reference_of(struct run *r, int64_t g, struct kn_ref_problem *q)
{
    int64_t len = r->offs ? r->offs[g + 1] - r->offs[g] : 0;
    uint64_t at[NUM_NOPERANDS];

    num_operand_starts(r, g, at);
    *q = (struct kn_ref_problem){
        .target = r->p.target, .layout = r->p.layout, .scale = r->p.scale,
        .math = (kiln_math)r->p.math,
        .words = kn_in_words(&r->p) ? (kiln_b_layout)r->p.b_layout : KILN_B_PLAIN,
        .powers = kn_powers(&r->p),
        .sb_each = r->p.family == KILN_WGRAD,
        .sa_down = kn_scales_down(&r->p, 'a'),
        .sb_down = kn_scales_down(&r->p, 'b'),
        .quantise = kn_prequant(&r->p) && !r->j->plain_a,
        .quantise_mx = r->j->plain_a ? 0 : r->p.quant,
        .m = r->p.family == KILN_GROUPED ? len : r->p.m,
        .n = r->p.n,
        .gated = kn_gated(&r->p),
        .k = r->p.family == KILN_WGRAD ? len : r->p.k,
        .a = tensor(r, NUM_A, at[NUM_A]),
        .b = tensor(r, NUM_B, at[NUM_B]),
        .sa = tensor(r, NUM_SA, at[NUM_SA]),
        .sb = tensor(r, NUM_SB, at[NUM_SB]),
        .bias = tensor(r, NUM_BIAS, at[NUM_BIAS]),
        .alpha = r->p.alpha_set ? (double)r->p.alpha : 1,
        .epilogue = (kiln_epilogue)r->p.epilogue,
        .expression = r->p.expression,
        .beta = r->p.beta,
    };
    if (kn_b_in_sa(&r->p)) {
        *(r->p.zero_points ? &q->zb : &q->factor) = q->sa;
        q->sa = (struct kn_ref_tensor){ 0 };
    }
    if (r->p.scale == KILN_SCALE_TENSOR || r->p.scale == KILN_SCALE_ROW)
        q->sa.ld = q->sb.ld = 0;
    q->bias.ld = 0;
    for (int i = 0; i < KN_REF_ARRAYS; i++)
        q->array[i] = tensor(r, NUM_ARRAY + i, at[NUM_ARRAY + i]);
    for (int i = 0; i < KN_REF_SCALARS; i++)
        q->scalar[i] = (double)r->p.scalar[i];
    if (r->p.beta)
        q->cin = tensor(r, NUM_C, at[NUM_C]);
    q->threads = q->m * q->n * q->k < 4000000 ? 1 : 0;
}

/* Of so many columns of the output. */
static size_t
row_bytes(const struct run *r, int64_t columns)
{
    return ((size_t)columns * kn_ref_type_bits(r->p.out) + 7) / 8;
}

/* Reads the rectangle of group g's output; every byte of it was written. */
static bool
read_rect(struct run *r, const struct kn_rect *t, uint8_t *dst)
{
    const struct operand *o = &r->o[NUM_C];
    uint64_t at[NUM_NOPERANDS];
    size_t row = row_bytes(r, t->cols);

    num_operand_starts(r, t->group, at);
    for (int64_t i = 0; i < t->rows; i++) {
        uint64_t from = o->at + at[NUM_C] +
                        (uint64_t)(t->m0 + i) * o->d.row_bytes +
                        row_bytes(r, t->n0);

        if (kn_sim_read(r->k->sim, from, dst + (size_t)i * row, row))
            return num_fault(r, "the output cannot be read");
        if (!kn_sim_written(r->k->sim, from, row)) {
            snprintf(r->r->text, sizeof r->r->text, "row %lld of group %lld "
                     "has bytes that were never written",
                     (long long)(t->m0 + i), (long long)t->group);
            return false;
        }
    }
    r->written += (uint64_t)t->rows * row;
    return true;
}

/* The output's row that is row 0 of the rectangle's problem. */
static int64_t
row_before(const struct run *r, const struct kn_rect *t)
{
    return r->p.family == KILN_GROUPED ? r->offs[t->group] : t->group * r->p.m;
}

/* The written scales of the rectangle, dense; NULL: there are not all. */
static const uint8_t *
read_scales(struct run *r, struct kn_ctx *c, const struct kn_rect *t)
{
    int64_t per = kn_output_scale_row(&r->p), block = kn_output_block(&r->p);
    int64_t size = kn_output_scale_size(&r->p);
    int64_t n = (t->cols + block - 1) / block * size;
    int64_t before = row_before(r, t);
    uint8_t *all = KN_NEW(c, uint8_t, (size_t)(t->rows * n));

    for (int64_t i = 0; i < t->rows; i++) {
        uint64_t from = r->o[NUM_SC].at + (uint64_t)((before + t->m0 + i) * per +
                                                     t->n0 / block * size);

        if (kn_sim_read(r->k->sim, from, all + i * n, (size_t)n) ||
            !kn_sim_written(r->k->sim, from, (uint64_t)n))
            return NULL;
    }
    return all;
}

/* FNV-1a. */
static uint64_t
digest(uint64_t h, const uint8_t *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ s[i]) * 0x100000001b3u;
    return h;
}

static bool
check_rect_in(struct run *r, struct kn_ctx *c, const struct kn_rect *t)
{
    struct kn_ref_rect rect = { t->m0, t->n0, t->rows, t->cols };
    size_t n = (size_t)(t->rows * t->cols);
    double *value = KN_NEW(c, double, n), *sum = KN_NEW(c, double, n);
    size_t size = (size_t)t->rows * row_bytes(r, t->cols);
    uint8_t *got = KN_NEW(c, uint8_t, size);
    uint8_t *both = KN_NEW(c, uint8_t, n);
    struct kn_ref_problem q;
    struct kn_ref_result res = { .target = r->p.target, .out = r->p.out,
                                 .rect = rect, .value = value, .abssum = sum,
                                 .both = both, .got = got };

    reference_of(r, t->group, &q);
    res.k = q.k;
    res.math = q.math;
    res.a = q.a.type;
    res.round = r->p.round;
    res.round_seed = r->p.round_seed;
    res.row0 = row_before(r, t);
    res.exact = r->j->mode == KN_DATA_EXACT && !q.quantise &&
                !r->p.expression[0];
    if (kn_writes_scales(&r->p)) {
        res.written = (kiln_out_scale)r->p.out_scale;
        res.powers = kn_writes_powers(&r->p);
        res.mode = r->p.requant;
        res.saturate = !r->p.overflow;
        res.scales = read_scales(r, c, t);
        if (!res.scales)
            return num_fault(r, "the scales cannot be read");
    } else if (kn_codes(&r->p)) {
        float scale = 1;

        if (r->p.out_scale)
            kn_data_fill(&r->o[NUM_SC].d, 0, &scale, sizeof scale);
        res.scale = (double)scale;
        res.saturate = !r->p.overflow;
    }
    if (kn_ref_tile(c, &q, &rect, &(struct kn_ref_sums){
            value, sum, both,
            kn_ref_least_serves(&q, &res) && !r->p.amax && !r->p.out2 })) {
        snprintf(r->r->text, sizeof r->r->text, "reference: %s", c->err.text);
        return false;
    }
    if (!read_rect(r, t, got))
        return false;
    r->r->digest = digest(r->r->digest, got, size);
    kn_ref_amax_add(&r->amax, &res);
    if (r->p.out2 && !num_check_second(r, c, t, &q, &res))
        return false;
    return !kn_ref_judge(c, &q, &res, &r->r->check);
}

static bool
check_rect(struct run *r, const struct kn_rect *t)
{
    struct kn_ctx c;
    bool ok;

    if (!t->rows || !t->cols)
        return true;
    kn_ctx_init(&c, NULL, NULL);
    ok = check_rect_in(r, &c, t);
    kn_ctx_free(&c);
    return ok;
}

/* Every group's output as one rectangle: needs no map of tiles. */
static bool
check_all(struct run *r)
{
    int64_t many = r->p.family == KILN_BATCHED ? r->p.batch
                 : r->p.groups ? r->p.groups : 1;

    for (int64_t g = 0; g < many; g++) {
        bool ragged = r->p.family == KILN_GROUPED;
        struct kn_rect t = {
            .group = g, .cols = r->p.n,
            .rows = ragged ? r->offs[g + 1] - r->offs[g] : r->p.m,
        };

        if (!check_rect(r, &t))
            return false;
    }
    return true;
}

static bool
check_selected(struct run *r)
{
    uint64_t total = kn_tile_count(&r->p, &r->k->g.cfg, r->offs);

    for (size_t i = 0; i < r->j->nids; i++)
        for (uint64_t t = r->j->ids[i]; t < total; t += r->plan.grid[0]) {
            struct kn_rect rect = kn_tile_rect(&r->p, &r->k->g.cfg, r->offs,
                                               t);

            if (!rect.share && kn_rect_judged(&r->p, &r->k->g.cfg, &rect) &&
                !check_rect(r, &rect))
                return false;
        }
    return true;
}

/* Rows past the last group are zeros to the last column. */
static bool
check_spare(struct run *r)
{
    const struct operand *o = &r->o[NUM_C];
    size_t row = row_bytes(r, r->p.n);
    uint8_t *got = KN_NEW(&r->c, uint8_t, row);
    int64_t i = r->offs[r->p.groups];

    for (; row && i < r->p.m; i++) {
        uint64_t from = o->at + (uint64_t)i * o->d.row_bytes;

        if (kn_sim_read(r->k->sim, from, got, row))
            return num_fault(r, "the output cannot be read");
        for (size_t x = 0; x < row; x++)
            if (got[x])
                return num_fault(r, "a row past the last group is not zero");
        r->written += row;
    }
    return true;
}

static bool
check_findings(struct run *r)
{
    if (!r->sim.nfindings)
        return true;
    snprintf(r->r->text, sizeof r->r->text, "%" PRIu64 " findings: %s",
             r->sim.nfindings,
             r->sim.nkept ? r->sim.findings[0].text : "none kept");
    return false;
}

static bool
check(struct run *r)
{
    const struct operand *o = &r->o[NUM_C];
    const struct kn_ref_check *k = &r->r->check;
    uint64_t got;

    if (r->j->by_bits)
        return check_findings(r);

    r->r->digest = 0xcbf29ce484222325u;
    if (!(r->j->ids ? check_selected(r) : check_all(r)))
        return false;
    if (r->p.group_flags & KILN_TAIL_ZERO && !check_spare(r))
        return false;
    r->r->elements = k->elements;
    r->k->counts->elements += k->elements;
    got = o->size ? o->size - kn_sim_unwritten(r->k->sim, o->block) : 0;
    if (k->bad) {
        snprintf(r->r->text, sizeof r->r->text, "%" PRIu64 " of %" PRIu64
                 " elements are bad, first [%" PRId64 ", %" PRId64 "] is %g, "
                 "should be %g; worst tile %.3g", k->bad, k->elements,
                 k->bad_m, k->bad_n, k->bad_got, k->bad_want,
                 k->max_tile_rel);
        return false;
    }
    if (!num_check_beside(r))
        return false;
    if (got != r->written) {
        snprintf(r->r->text, sizeof r->r->text, "%" PRIu64 " bytes were "
                 "written, the output has %" PRIu64, got, r->written);
        return false;
    }
    return check_findings(r);
}

bool
num_launch(struct num_kernel *k, const struct num_job *j,
           struct num_result *res)
{
    struct run r = { .k = k, .j = j, .r = res };
    jmp_buf oom;

    memset(res, 0, sizeof *res);
    kn_ctx_init(&r.c, NULL, NULL);
    r.c.oom = &oom;
    if (!setjmp(oom)) {
        make_problem(&r);
        num_shape_operands(&r);
        res->ok = num_place_operands(&r) && plan(&r) && prove_sums(&r) &&
                      launch(&r) && check(&r);
    }
    num_free_operands(&r);
    kn_ctx_free(&r.c);
    return res->ok;
}

bool
num_open(struct num_kernel *k, struct num_counts *counts,
         const kiln_problem *p, const struct kn_config *cfg)
{
    jmp_buf oom;
    bool ok = false;

    memset(k, 0, sizeof *k);
    kn_ctx_init(&k->c, NULL, NULL);
    k->c.oom = &oom;
    k->p = *p;
    k->p.size = sizeof k->p;
    if (p->family == KILN_BATCHED && !p->batch)
        k->p.batch = 2;
    if ((p->family == KILN_GROUPED || p->family == KILN_WGRAD) && !p->groups)
        k->p.groups = KN_FEW_GROUPS + 1;   /* serves any number */
    k->counts = counts;
    if (setjmp(oom))
        return false;
    ok = !kn_problem_normalise(&k->c, &k->p) &&
         !kn_generate(&k->c, &k->p, cfg, NULL, &k->g) &&
         !kn_sim_open(&k->c, k->p.target, &k->sim) &&
         !kit_readers_agree(&k->c, k->g.co, k->g.size) &&
         !kn_sim_load(k->sim, k->g.name, k->g.co, k->g.size, &k->code);
    if (ok) {
        counts->kernels++;
        counts->compilations += k->g.compilations;
    }
    return ok;
}

void
num_close(struct num_kernel *k)
{
    if (k->sim)
        kn_sim_close(k->sim);
    kn_ctx_free(&k->c);
}
