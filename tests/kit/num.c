#include "num.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../gen/instantiate.h"
#include "../../gen/layout.h"
#include "../../gen/tool/run/run.h"
#include "readers.h"

struct operand {
    bool used;
    struct kn_data d;
    uint32_t skew;
    uint8_t *stored;         /* in panels or shuffled, or NULL: as it is */
    uint64_t size, at;       /* bytes; device address of the first element */
    uint64_t block;          /* address of the allocation */
};

struct run {
    struct num_kernel *k;
    const struct num_job *j;
    struct num_result *r;
    struct kn_ctx c;         /* of this launch */
    kiln_problem p;          /* the kernel's, with the job's sizes */
    int64_t *offs;           /* [groups + 1] */
    uint64_t offs_at, workspace;
    struct operand o[NUM_NOPERANDS];
    struct kn_plan plan;
    uint64_t written;        /* bytes the tiles must have written */
    struct kn_sim_result sim;
};

bool
num_is_mx(kiln_type t)
{
    return t >= KILN_MXFP8;
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
    d.align_b = (uint8_t)num_element_bytes(p->b);
    d.align_sa = d.align_sb = p->scale == KILN_SCALE_MX32 ? 1 : 4;
    return d;
}

static int64_t
div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static bool
fault(struct run *r, const char *what)
{
    snprintf(r->r->text, sizeof r->r->text, "%s%s%s", what,
             r->c.err.status ? ": " : "", r->c.err.text);
    return false;
}

/* ---- operands ----------------------------------------------------------- */

static void
shape(struct run *r, enum num_operand_id id, kiln_type type, int64_t rows,
      int64_t cols)
{
    struct operand *o = &r->o[id];

    o->used = true;
    o->d.type = type;
    o->d.rows = rows;
    o->d.cols = cols;
    o->d.batches = 1;
    o->d.scale = id == NUM_SA || id == NUM_SB;
    o->d.seed = r->j->seed;
    o->d.operand = id;
    o->d.mode = r->j->plain_b && (id == NUM_B || id == NUM_SB) ? KN_DATA_RANDOM
                                                             : r->j->mode;
    o->d.target = r->p.target;
    o->skew = r->j->skew[id];
}

static void
shape_scales(struct run *r)
{
    const kiln_problem *p = &r->p;

    if (p->scale == KILN_SCALE_TENSOR) {
        if (!kn_prequant(p))
            shape(r, NUM_SA, KILN_F32, 1, 1);
        shape(r, NUM_SB, KILN_F32, 1, 1);
    } else if (p->scale == KILN_SCALE_ROW) {
        shape(r, NUM_SA, KILN_F32, 1, p->m);
        shape(r, NUM_SB, KILN_F32, 1, p->n);
    } else if (p->scale == KILN_SCALE_BLOCK128) {
        shape(r, NUM_SA, KILN_F32, p->m, div_up(p->k, 128));
        shape(r, NUM_SB, KILN_F32,
              p->family == KILN_WGRAD ? p->n : div_up(p->n, 128),
              div_up(p->k, 128));
        if (kn_scales_down(p, 'a'))
            shape(r, NUM_SA, KILN_F32, div_up(p->k, 128), p->m);
        if (kn_scales_down(p, 'b'))
            shape(r, NUM_SB, KILN_F32, div_up(p->k, 128), p->n);
    } else if (p->scale == KILN_SCALE_MX32) {
        if (num_is_mx(p->a))
            shape(r, NUM_SA, p->a, p->m, div_up(p->k, 32));
        shape(r, NUM_SB, p->b, p->n, div_up(p->k, 32));
    }
}

/* B, its scales and the bias come once per group or batch; A and its scales
 * once per batch; the output once per batch, or per group of a wgrad. */
static void
repeat(struct run *r)
{
    int64_t batch = r->p.family == KILN_BATCHED ? r->p.batch : 1;
    int64_t b = r->p.family == KILN_GROUPED ? r->p.groups : batch;
    bool one = r->p.scale == KILN_SCALE_TENSOR;

    r->o[NUM_A].d.batches = batch;
    r->o[NUM_B].d.batches = b;
    r->o[NUM_C].d.batches = r->p.family == KILN_WGRAD ? r->p.groups : batch;
    r->o[NUM_SA].d.batches = one ? 1 : batch;
    r->o[NUM_SB].d.batches = one ? 1 : b;
    r->o[NUM_BIAS].d.batches = b;
}

static void
shape_operands(struct run *r)
{
    const kiln_problem *p = &r->p;
    bool tn = p->layout == KILN_TN, nt = p->layout == KILN_NT;

    shape(r, NUM_A, p->a, tn ? p->k : p->m, tn ? p->m : p->k);
    shape(r, NUM_B, p->b, nt ? p->n : p->k, nt ? p->k : p->n);
    shape(r, NUM_C, p->out, p->m, p->n);
    shape_scales(r);
    if (kn_has_bias(p))
        shape(r, NUM_BIAS, KILN_F32, 1, p->n);
    repeat(r);
    kn_data_shape(&r->o[NUM_A].d, p->lda, p->stride_a);
    kn_data_shape(&r->o[NUM_B].d, p->ldb, p->stride_b);
    kn_data_shape(&r->o[NUM_C].d, p->ldc, p->stride_c);
    kn_data_shape(&r->o[NUM_SA].d, p->ldsa, 0);
    kn_data_shape(&r->o[NUM_SB].d, p->ldsb, 0);
    kn_data_shape(&r->o[NUM_BIAS].d, 0, 0);
}

/* The bytes in front of a skewed operand are NaN codes, like those between
 * its rows. */
static void
fill(void *user, uint64_t offset, void *dst, size_t size)
{
    struct operand *o = user;
    size_t front = offset < o->skew ? (size_t)(o->skew - offset) : 0;

    if (o->stored) {
        memcpy(dst, o->stored + offset, size);
        return;
    }
    front = front < size ? front : size;
    memset(dst, 0xff, front);
    if (size > front)
        kn_data_fill(&o->d, offset + front - o->skew, (uint8_t *)dst + front,
                     size - front);
}

/* Kernels read whole units of 2 or 4 bytes where operands are aligned so, and
 * aligned dwords of rows that begin at any byte: no allocation ends inside
 * one. Others must not go past the last element. */
static uint64_t
whole_units(const struct run *r, int id, uint64_t size)
{
    const struct kn_config *g = &r->k->g.cfg;
    const struct kn_domain *d = &g->domain;
    const uint8_t align[NUM_NOPERANDS] = { d->align_a, d->align_b, 1,
                                           d->align_sa, d->align_sb, 4 };
    bool dwords = align[id] >= 4 ||
                  (id == NUM_A && kn_unaligned(&r->p, g, 'a')) ||
                  (id == NUM_B && kn_unaligned(&r->p, g, 'b')) ||
                  (id >= NUM_SA && kn_unaligned_scales(&r->p, g));
    uint32_t to = dwords ? 4 : align[id];

    return (size + to - 1) / to * to;
}

static bool
place_offsets(struct run *r)
{
    int64_t n = r->p.groups, last;
    struct kn_sim *s = r->k->sim;

    if (!r->offs)
        return true;
    if (r->p.group_flags & KILN_GROUP_ENDS32) {
        int32_t *ends = KN_NEW(&r->c, int32_t, (size_t)n);

        for (int64_t g = 0; g < n; g++)
            ends[g] = (int32_t)r->offs[g + 1];
        return !kn_sim_alloc(s, 4 * (uint64_t)n, KN_MEM_READONLY, NULL, NULL,
                             &r->offs_at) &&
               !kn_sim_write(s, r->offs_at, ends, 4 * (size_t)n);
    }
    if (r->p.group_flags & KILN_GROUP_LENS)
        return !kn_sim_alloc(s, 8 * (uint64_t)n, KN_MEM_READONLY, NULL, NULL,
                             &r->offs_at) &&
               !kn_sim_write(s, r->offs_at, r->j->lens, 8 * (size_t)n);
    last = r->offs[n] + r->j->lie;
    return !kn_sim_alloc(s, 8 * (uint64_t)(n + 1), KN_MEM_READONLY, NULL,
                         NULL, &r->offs_at) &&
           !kn_sim_write(s, r->offs_at, r->offs, 8 * (size_t)n) &&
           !kn_sim_write(s, r->offs_at + 8 * (uint64_t)n, &last, 8);
}

/* B in panels, of one problem, scales shuffled (gen/layout.h): no skew. */
static void
store_operand(struct run *r, int id, struct operand *o)
{
    bool scales = id == NUM_SA || id == NUM_SB;
    uint64_t rows = (uint64_t)o->d.rows, row = (uint64_t)o->d.row_bytes;
    uint64_t one = scales ? kn_scale_bytes(rows, row) : rows * row;
    uint64_t n = (uint64_t)o->d.batches;
    uint8_t *plain;

    if (!(scales ? kn_shuffled(&r->p) : id == NUM_B && r->p.b_layout))
        return;
    plain = KN_NEW(&r->c, uint8_t, n * rows * row + 1);
    if (rows && row)
        kn_data_fill(&o->d, 0, plain, n * rows * row);
    o->size = n * one;
    o->stored = KN_NEW(&r->c, uint8_t, o->size + 1);
    for (uint64_t i = 0; i < n; i++)
        (scales ? kn_shuffle_scales : kn_to_panels)(
            o->stored + i * one, plain + i * rows * row, rows, row);
}

static bool
place_operands(struct run *r)
{
    struct kn_sim *s = r->k->sim;

    for (int i = 0; i < NUM_NOPERANDS; i++) {
        struct operand *o = &r->o[i];
        bool read = i != NUM_C || r->p.beta;

        if (!o->used)
            continue;
        o->size = whole_units(r, i, kn_data_bytes(&o->d) + o->skew);
        store_operand(r, i, o);
        if (kn_sim_alloc(s, o->size ? o->size : 1,
                         i == NUM_C ? KN_MEM_OUTPUT : KN_MEM_READONLY,
                         read && o->size ? fill : NULL, o, &o->block))
            return fault(r, "no memory on the device");
        o->at = o->block + o->skew;
    }
    return place_offsets(r);
}

static void
free_operands(struct run *r)
{
    for (int i = 0; i < NUM_NOPERANDS; i++)
        if (r->o[i].block)
            kn_sim_free(r->k->sim, r->o[i].block);
    if (r->offs_at)
        kn_sim_free(r->k->sim, r->offs_at);
    if (r->workspace)
        kn_sim_free(r->k->sim, r->workspace);
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
    if (!r->j->lens)
        return;
    r->offs = KN_NEW(&r->c, int64_t, (size_t)n + 1);
    for (int64_t g = 0; g < n; g++)
        r->offs[g + 1] = r->offs[g] + r->j->lens[g];
    if (p->family == KILN_GROUPED)
        p->m = r->offs[n] + r->j->spare;
    else
        p->k = r->offs[n] + r->j->spare;
}

static kiln_status
alloc_shares(struct run *r)
{
    KN_TRY(kn_sim_alloc(r->k->sim, r->plan.workspace, KN_MEM_OUTPUT, NULL,
                        NULL, &r->workspace));
    return kn_sim_write(r->k->sim, r->workspace,
                        KN_NEW(&r->c, uint8_t, KILN_WORKSPACE_ZEROS),
                        KILN_WORKSPACE_ZEROS);
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
    if (r->r->status)
        return fault(r, "workspace");
    if (j->meddle)
        j->meddle(r->k->sim, r->o[NUM_C].at, j->user);
    return true;
}

static bool
plan(struct run *r)
{
    const struct operand *o = r->o;
    struct kn_operands at = {
        .a = o[NUM_A].at, .b = o[NUM_B].at, .c = o[NUM_C].at,
        .sa = o[NUM_SA].at, .sb = o[NUM_SB].at, .bias = o[NUM_BIAS].at,
        .offs = r->offs_at,
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
    return r->r->status ? fault(r, "no launch") : true;
}

/* ---- check -------------------------------------------------------------- */

static struct kn_ref_tensor
tensor(struct run *r, enum num_operand_id id, uint64_t offset)
{
    struct operand *o = &r->o[id];
    unsigned bits = o->d.scale && o->d.type != KILN_F32
                        ? 8 : kn_ref_type_bits(o->d.type);
    struct kn_ref_tensor t = { .type = o->d.type, .offset = offset };

    if (!o->used)
        return t;
    t.fetch = kn_data_fill;
    t.user = &o->d;
    t.ld = (int64_t)(o->d.row_bytes * 8 / bits);
    return t;
}

/* Where row (or, of a K-contiguous operand, column) `first` of the sum
 * starts. */
static uint64_t
ragged_start(const struct run *r, enum num_operand_id id, int64_t first)
{
    const struct kn_data *d = &r->o[id].d;

    return r->p.layout == KILN_NT
               ? (uint64_t)first * kn_ref_type_bits(d->type) / 8
               : (uint64_t)first * d->row_bytes;
}

/* Bytes in front of group (or batch) g of every operand. */
static void
starts(const struct run *r, int64_t g, uint64_t at[NUM_NOPERANDS])
{
    const struct operand *o = r->o;
    int64_t first = r->offs ? r->offs[g] : 0;

    for (int i = 0; i < NUM_NOPERANDS; i++)
        at[i] = o[i].d.batches > 1 ? (uint64_t)g * o[i].d.batch_bytes : 0;
    if (r->p.family == KILN_GROUPED) {
        at[NUM_A] = (uint64_t)first * o[NUM_A].d.row_bytes;
        at[NUM_C] = (uint64_t)first * o[NUM_C].d.row_bytes;
        at[NUM_SA] = r->p.scale == KILN_SCALE_TENSOR ? 0
                   : r->p.scale == KILN_SCALE_ROW ||
                     kn_scales_down(&r->p, 'a') ? 4 * (uint64_t)first
                   : (uint64_t)first * o[NUM_SA].d.row_bytes;
    } else if (r->p.family == KILN_WGRAD) {
        at[NUM_A] = ragged_start(r, NUM_A, first);
        at[NUM_B] = ragged_start(r, NUM_B, first);
        at[NUM_SA] = at[NUM_SB] =
            r->p.scale == KILN_SCALE_MX32 ? (uint64_t)first / 32
            : r->p.scale == KILN_SCALE_BLOCK128 ? (uint64_t)first / 128 * 4 : 0;
        if (kn_scales_down(&r->p, 'b')) {
            at[NUM_SA] = (uint64_t)first / 128 * o[NUM_SA].d.row_bytes;
            at[NUM_SB] = (uint64_t)first / 128 * o[NUM_SB].d.row_bytes;
        }
    }
}

static void
reference_of(struct run *r, int64_t g, struct kn_ref_problem *q)
{
    int64_t len = r->offs ? r->offs[g + 1] - r->offs[g] : 0;
    uint64_t at[NUM_NOPERANDS];

    starts(r, g, at);
    *q = (struct kn_ref_problem){
        .target = r->p.target, .layout = r->p.layout, .scale = r->p.scale,
        .sb_each = r->p.family == KILN_WGRAD,
        .sa_down = kn_scales_down(&r->p, 'a'),
        .sb_down = kn_scales_down(&r->p, 'b'),
        .quantise = kn_prequant(&r->p) && !r->j->plain_a,
        .quantise_mx = r->j->plain_a ? 0 : r->p.quant,
        .m = r->p.family == KILN_GROUPED ? len : r->p.m,
        .n = r->p.n,
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
    if (r->p.scale == KILN_SCALE_TENSOR || r->p.scale == KILN_SCALE_ROW)
        q->sa.ld = q->sb.ld = 0;
    q->bias.ld = 0;
    if (r->p.beta)
        q->cin = tensor(r, NUM_C, at[NUM_C]);
    q->threads = q->m * q->n * q->k < 4000000 ? 1 : 0;
}

/* Reads the rectangle of group g's output; every byte of it was written. */
static bool
read_rect(struct run *r, const struct kn_rect *t, uint8_t *dst)
{
    const struct operand *o = &r->o[NUM_C];
    uint64_t size = num_element_bytes(r->p.out), at[NUM_NOPERANDS];
    size_t row = (size_t)((uint64_t)t->cols * size);

    starts(r, t->group, at);
    for (int64_t i = 0; i < t->rows; i++) {
        uint64_t from = o->at + at[NUM_C] +
                        (uint64_t)(t->m0 + i) * o->d.row_bytes +
                        (uint64_t)t->n0 * size;

        if (kn_sim_read(r->k->sim, from, dst + (size_t)i * row, row))
            return fault(r, "the output cannot be read");
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
    uint8_t *got = KN_NEW(c, uint8_t, n * num_element_bytes(r->p.out));
    uint8_t *both = KN_NEW(c, uint8_t, n);
    struct kn_ref_problem q;
    struct kn_ref_result res = { .target = r->p.target, .out = r->p.out,
                                 .rect = rect, .value = value, .abssum = sum,
                                 .both = both, .got = got };

    reference_of(r, t->group, &q);
    res.k = q.k;
    res.exact = r->j->mode == KN_DATA_EXACT && !q.quantise &&
                !r->p.expression[0];
    if (kn_ref_tile(c, &q, &rect, &(struct kn_ref_sums){ value, sum, both })) {
        snprintf(r->r->text, sizeof r->r->text, "reference: %s", c->err.text);
        return false;
    }
    if (!read_rect(r, t, got))
        return false;
    r->r->digest = digest(r->r->digest, got,
                          n * num_element_bytes(r->p.out));
    kn_ref_compare(&res, &r->r->check);
    return true;
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

            if (!rect.share && !check_rect(r, &rect))
                return false;
        }
    return true;
}

/* Rows past the last group are zeros to the last column. */
static bool
check_spare(struct run *r)
{
    const struct operand *o = &r->o[NUM_C];
    size_t row = (size_t)r->p.n * num_element_bytes(r->p.out);
    uint8_t *got = KN_NEW(&r->c, uint8_t, row);
    int64_t i = r->offs[r->p.groups];

    for (; row && i < r->p.m; i++) {
        uint64_t from = o->at + (uint64_t)i * o->d.row_bytes;

        if (kn_sim_read(r->k->sim, from, got, row))
            return fault(r, "the output cannot be read");
        for (size_t x = 0; x < row; x++)
            if (got[x])
                return fault(r, "a row past the last group is not zero");
        r->written += row;
    }
    return true;
}

static bool
check(struct run *r)
{
    const struct operand *o = &r->o[NUM_C];
    const struct kn_ref_check *k = &r->r->check;
    uint64_t got;

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
    if (got != r->written) {
        snprintf(r->r->text, sizeof r->r->text, "%" PRIu64 " bytes were "
                 "written, the output has %" PRIu64, got, r->written);
        return false;
    }
    if (r->sim.nfindings) {
        snprintf(r->r->text, sizeof r->r->text, "%" PRIu64 " findings: %s",
                 r->sim.nfindings,
                 r->sim.nkept ? r->sim.findings[0].text : "none kept");
        return false;
    }
    return true;
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
        shape_operands(&r);
        res->ok = place_operands(&r) && plan(&r) && launch(&r) && check(&r);
    }
    free_operands(&r);
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

/* ---- description -------------------------------------------------------- */

static void
describe_sizes(const struct num_kernel *k, const struct num_job *j,
               struct kn_buf *b)
{
    const kiln_problem *q = &j->p;

    if (k->p.family != KILN_GROUPED)
        kn_putf(b, " -m %lld", (long long)q->m);
    kn_putf(b, " -n %lld", (long long)q->n);
    if (k->p.family != KILN_WGRAD)
        kn_putf(b, " -k %lld", (long long)q->k);
    if (q->batch)
        kn_putf(b, " --batch %lld", (long long)q->batch);
    if (k->p.group_flags & KILN_GROUP_LENS)
        kn_put(b, " --group-table lens");
    if (k->p.group_flags & KILN_GROUP_ENDS32)
        kn_put(b, " --group-table ends32");
    if (k->p.group_flags & KILN_TAIL_ZERO)
        kn_putf(b, " --tail zero -m ...");
    for (int64_t g = 0; g < q->groups; g++)
        kn_putf(b, "%s%lld", g ? "," : " --group-lens ",
                (long long)j->lens[g]);
    if (q->lda)
        kn_putf(b, " --lda %lld", (long long)q->lda);
    if (q->ldb)
        kn_putf(b, " --ldb %lld", (long long)q->ldb);
    if (q->ldc)
        kn_putf(b, " --ldc %lld", (long long)q->ldc);
    if (q->ldsa)
        kn_putf(b, " --ldsa %lld", (long long)q->ldsa);
    if (q->ldsb)
        kn_putf(b, " --ldsb %lld", (long long)q->ldsb);
    if (j->mode == KN_DATA_EXACT)
        kn_put(b, " --data exact");
}

static void
describe(const struct num_kernel *k, const struct num_job *j,
         struct kn_buf *b)
{
    const kiln_problem *p = &k->p;
    const struct kn_config *g = &k->g.cfg;

    kn_putf(b, "run %s --device sim:%s --layout %s --a %s --b %s --out %s "
            "--scale %s", kn_family_names[p->family],
            kiln_target_name(p->target), kn_layout_names[p->layout],
            kiln_type_name(p->a), kiln_type_name(p->b),
            kiln_type_name(p->out), kn_scale_names[p->scale]);
    if (p->epilogue)
        kn_putf(b, " --epilogue '%s'", p->expression[0] ? p->expression
                                     : kn_epilogue_names[p->epilogue]);
    if (p->beta)
        kn_put(b, " --beta 1");
    if (p->alpha_set)
        kn_putf(b, " --alpha %g", (double)j->p.alpha);
    if (p->b_layout)
        kn_put(b, " --b-layout preshuffled");
    if (p->scale_layout)
        kn_putf(b, " --scale-layout %s", kn_shuffled(p) ? "shuffled"
                                                       : "transposed");
    describe_sizes(k, j, b);
    kn_putf(b, " --tile %ux%ux%u --waves %ux%u --stages %u", g->bm, g->bn,
            g->bk, g->wm, g->wn, g->stages);
    if (g->cus)
        kn_putf(b, " --cus %u", g->cus);
    kn_putf(b, " # align=%u,%u,%u,%u vec=%u ktail=%u skew=%u,%u,%u",
            g->domain.align_a, g->domain.align_b, g->domain.align_sa,
            g->domain.align_sb, g->domain.vec, g->domain.ktail,
            j->skew[NUM_A], j->skew[NUM_B], j->skew[NUM_C]);
}

void
num_describe(const struct num_kernel *k, const struct num_job *j, char *text,
             size_t size)
{
    struct kn_ctx c;
    struct kn_buf b = { .c = &c };
    jmp_buf oom;

    kn_ctx_init(&c, NULL, NULL);
    c.oom = &oom;
    if (!setjmp(oom)) {
        describe(k, j, &b);
        snprintf(text, size, "%s", b.s);
    }
    kn_ctx_free(&c);
}
