/* num_operands.c - the operands of a launch: shapes, contents, places. */
#include "num_run.h"

#include <string.h>

#include "../../gen/instantiate.h"
#include "../../gen/layout.h"
#include "../../gen/panels.h"

int64_t
num_group_read(const kiln_problem *p, const int64_t *lens, int64_t g)
{
    int64_t unit = p->scale == KILN_SCALE_BLOCK128 ? 128 : 32;

    return p->group_flags & KILN_GROUP_TIGHT
         ? num_div_up(lens[g], unit) * unit + unit * (g % 3 == 2) : lens[g];
}

int64_t
num_rows_read(const kiln_problem *p, const int64_t *lens)
{
    int64_t sum = 0;

    for (int64_t g = 0; g < p->groups; g++)
        sum += num_group_read(p, lens, g);
    return sum;
}

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

/* Of an integer weight: along K, in one of three types. */
static void
shape_groups(struct run *r)
{
    static const kiln_type types[] = { KILN_F32, KILN_F16, KILN_BF16 };
    int64_t width = r->p.scale == KILN_SCALE_GROUP32 ? 32
                  : r->p.scale == KILN_SCALE_GROUP64 ? 64 : 128;

    shape(r, NUM_SB, types[r->p.scale_type], kn_b_columns(&r->p),
          num_div_up(r->p.k, width));
    if (r->p.scale_layout)
        shape(r, NUM_SB, types[r->p.scale_type], num_div_up(r->p.k, width),
              kn_b_columns(&r->p));
    if (!r->p.zero_points)
        return;
    shape(r, NUM_SA, r->p.zero_points == KILN_ZEROS_I4 ? KILN_I4 : KILN_F16,
          num_div_up(r->p.k, width), kn_b_columns(&r->p));
    r->o[NUM_SA].d.scale = false;
}

static void
shape_scales(struct run *r)
{
    const kiln_problem *p = &r->p;
    int64_t nb = kn_b_columns(p);
    kiln_type block = p->scale_type == KILN_SCALE_TYPE_E8M0 ? KILN_MXFP8 : KILN_F32;

    if (p->scale == KILN_SCALE_TENSOR) {
        if (!kn_prequant(p))
            shape(r, NUM_SA, KILN_F32, 1, 1);
        shape(r, NUM_SB, KILN_F32, 1, 1);
    } else if (p->scale == KILN_SCALE_ROW) {
        if (!kn_prequant(p))
            shape(r, NUM_SA, KILN_F32, 1, p->m);
        shape(r, NUM_SB, KILN_F32, 1, nb);
    } else if (p->scale == KILN_SCALE_BLOCK128) {
        if (!kn_prequant(p))
            shape(r, NUM_SA, block, p->m, num_div_up(p->k, 128));
        shape(r, NUM_SB, block, p->family == KILN_WGRAD ? nb : num_div_up(nb, 128),
              num_div_up(p->k, 128));
        if (kn_scales_down(p, 'a'))
            shape(r, NUM_SA, block, num_div_up(p->k, 128), p->m);
        if (kn_scales_down(p, 'b'))
            shape(r, NUM_SB, block, num_div_up(p->k, 128), nb);
    } else if (p->scale == KILN_SCALE_MX32) {
        if (num_is_mx(p->a))
            shape(r, NUM_SA, p->a, p->m, num_div_up(p->k, 32));
        shape(r, NUM_SB, p->b, nb, num_div_up(p->k, 32));
    } else if (p->scale == KILN_SCALE_NV16) {
        shape(r, NUM_SA, KILN_F32, 1, 1);
        shape(r, NUM_SB, p->b, nb, num_div_up(p->k, 16));
    } else if (p->scale >= KILN_SCALE_GROUP32) {
        shape_groups(r);
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
    r->o[NUM_SA].d.batches = one ? 1 : kn_b_in_sa(&r->p) ? b : batch;
    r->o[NUM_OUT2].d.batches = r->o[NUM_C].d.batches;
    r->o[NUM_SB].d.batches = one ? 1 : b;
    r->o[NUM_BIAS].d.batches = b;
}

/* What the expression declares: rows as often as the output, columns as often
 * as B or the output. */
static void
shape_arrays(struct run *r)
{
    int64_t c = r->o[NUM_C].d.batches, b = r->o[NUM_BIAS].d.batches;

    if (r->p.expression[0])
        kn_ref_expression_read(&r->c, r->p.expression, r->p.a == KILN_F64, &r->x);
    for (uint32_t i = 0; i < r->x.ndeclared; i++) {
        char kind = r->x.declared[i].kind;
        enum num_operand_id id =
            (enum num_operand_id)(NUM_ARRAY + r->x.declared[i].slot);

        if (kind == 's')
            continue;
        if (kind == 't')
            shape(r, id, r->p.out, r->p.m, r->p.n);
        else
            shape(r, id, KILN_F32, 1, kind == 'r' ? r->p.m : r->p.n);
        r->o[id].d.batches = kind != 'c' ? c : b > c ? b : c;
        kn_data_shape(&r->o[id].d, kind == 't' ? r->p.ldc : 0,
                      kind == 't' ? r->p.stride_c : 0);
    }
}

void
num_shape_operands(struct run *r)
{
    const kiln_problem *p = &r->p;
    bool ka = kn_along_k(p, 'a'), kb = kn_along_k(p, 'b');
    int64_t nb = kn_b_columns(p), halves = kn_second_pair(p) ? 2 : 1;

    shape(r, NUM_A, p->a, ka ? p->m : p->k, ka ? p->k : p->m);
    shape(r, NUM_B, p->b, kb ? nb : p->k, kb ? p->k : nb);
    if (p->b_layout >= KILN_B_GPTQ)      /* eight K of a column, as a dword */
        shape(r, NUM_B, p->b, p->k / 8, 8 * nb);
    shape(r, NUM_C, p->out, p->m, p->n);
    shape_scales(r);
    if (kn_has_bias(p))
        shape(r, NUM_BIAS, KILN_F32, 1, nb);
    if (p->out_scale)
        shape(r, NUM_SC, KILN_F32, 1, (int64_t)(kn_output_scales(p) + 3) / 4);
    r->o[NUM_SC].d.scale = true;
    kn_data_shape(&r->o[NUM_SC].d, 0, 0);
    if (p->amax)
        shape(r, NUM_AMAX, kn_amax_type(p), 1, 1);
    kn_data_shape(&r->o[NUM_AMAX].d, 0, 0);
    if (p->out2)
        shape(r, NUM_OUT2, (kiln_type)p->out2, p->m, halves * p->n);
    repeat(r);
    kn_data_shape(&r->o[NUM_A].d, p->lda, p->stride_a);
    kn_data_shape(&r->o[NUM_B].d, p->ldb, p->stride_b);
    kn_data_shape(&r->o[NUM_C].d, p->ldc, p->stride_c);
    if (p->out2)
        kn_data_shape(&r->o[NUM_OUT2].d, halves * p->ldc, halves * p->stride_c);
    kn_data_shape(&r->o[NUM_SA].d, p->ldsa, 0);
    kn_data_shape(&r->o[NUM_SB].d, p->ldsb, 0);
    kn_data_shape(&r->o[NUM_BIAS].d, 0, 0);
    shape_arrays(r);
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
                                           d->align_sa, d->align_sb, 4, 4, 4,
                                           1, 1, 1, 1, 1 };
    bool dwords = align[id] >= 4 ||
                  (id == NUM_A && kn_unaligned(&r->p, g, 'a')) ||
                  (id == NUM_B && kn_unaligned(&r->p, g, 'b')) ||
                  (id == NUM_SA && kn_unaligned_tile(&r->p, g, 'a')) ||
                  (id == NUM_SB && kn_unaligned_tile(&r->p, g, 'b')) ||
                  (id >= NUM_SA && id < NUM_ARRAY &&
                   kn_unaligned_scales(&r->p, g));
    uint32_t to = dwords ? 4 : align[id];

    if (id == NUM_SA && r->p.zero_points)
        return kn_zero_load(&r->p) >= 4 ? (size + 3) / 4 * 4 : size; /* one by one */
    return (size + to - 1) / to * to;
}

/* A table of groups on the device, of those that begin at offs. */
static bool
place_table(struct run *r, const int64_t *offs, uint64_t *at)
{
    bool ends = r->p.group_flags & KILN_GROUP_ENDS32;
    bool lens = r->p.group_flags & KILN_GROUP_LENS;
    size_t n = (size_t)r->p.groups + !(ends || lens), one = ends ? 4 : 8;
    int64_t *wide = KN_NEW(&r->c, int64_t, n);
    int32_t *narrow = KN_NEW(&r->c, int32_t, n);

    for (size_t g = 0; g < n; g++) {
        wide[g] = lens ? offs[g + 1] - offs[g] : offs[g];
        narrow[g] = ends ? (int32_t)offs[g + 1] : 0;
    }
    if (!lens && !ends)
        wide[n - 1] += r->j->lie;
    return !kn_sim_alloc(r->k->sim, one * n, KN_MEM_READONLY, NULL, NULL, at) &&
           !kn_sim_write(r->k->sim, *at, ends ? (void *)narrow : wide, one * n);
}

static bool
place_offsets(struct run *r)
{
    if (!r->offs)
        return true;
    return place_table(r, r->read, &r->offs_at) &&
           (!(r->p.group_flags & KILN_GROUP_TIGHT) ||
            place_table(r, r->offs, &r->tight_at));
}

/* 16 rows of gate and 16 of up in turn. */
static uint8_t *
pair_rows(struct run *r, const uint8_t *plain, uint64_t rows, uint64_t row)
{
    uint8_t *out = KN_NEW(&r->c, uint8_t, rows * row + 1);

    for (uint64_t i = 0; i < rows; i++)
        memcpy(out + i * row, plain + (i / 32 * 16 + i % 16 +
                                       i / 16 % 2 * rows / 2) * row, row);
    return out;
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

    if (!(scales ? kn_shuffled(&r->p)
                 : id == NUM_B && ((r->p.b_layout && !kn_in_words(&r->p)) ||
                                   kn_gate_stored(&r->p))))
        return;
    plain = KN_NEW(&r->c, uint8_t, n * rows * row + 1);
    if (rows && row)
        kn_data_fill(&o->d, 0, plain, n * rows * row);
    o->size = n * one;
    o->stored = KN_NEW(&r->c, uint8_t, o->size + 1);
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t *from = plain + i * rows * row;

        if (id != NUM_SA && kn_gated(&r->p))
            from = pair_rows(r, from, rows, row);
        if (scales)
            kn_shuffle_scales(o->stored + i * one, from, rows, row);
        else if (r->p.b_layout)
            kn_to_panels(o->stored + i * one, from, rows, row);
        else
            memcpy(o->stored + i * one, from, rows * row);
    }
}

bool
num_place_operands(struct run *r)
{
    struct kn_sim *s = r->k->sim;

    for (int i = 0; i < NUM_NOPERANDS; i++) {
        struct operand *o = &r->o[i];
        bool made = i == NUM_C || i == NUM_AMAX || i == NUM_OUT2 ||
                    (i == NUM_SC && kn_writes_scales(&r->p));
        bool read = !made || (i == NUM_C && r->p.beta);

        if (!o->used)
            continue;
        o->size = whole_units(r, i, kn_data_bytes(&o->d) + o->skew);
        store_operand(r, i, o);
        if (kn_sim_alloc(s, o->size ? o->size : 1,
                         made ? KN_MEM_OUTPUT : KN_MEM_READONLY,
                         i == NUM_AMAX ? kn_sim_zeros
                         : read && o->size ? fill : NULL, o, &o->block))
            return num_fault(r, "no memory on the device");
        o->at = o->block + o->skew;
    }
    return place_offsets(r);
}

void
num_free_operands(struct run *r)
{
    for (int i = 0; i < NUM_NOPERANDS; i++)
        if (r->o[i].block)
            kn_sim_free(r->k->sim, r->o[i].block);
    if (r->offs_at)
        kn_sim_free(r->k->sim, r->offs_at);
    if (r->tight_at)
        kn_sim_free(r->k->sim, r->tight_at);
    if (r->workspace)
        kn_sim_free(r->k->sim, r->workspace);
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

void
num_operand_starts(const struct run *r, int64_t g, uint64_t at[NUM_NOPERANDS])
{
    const struct operand *o = r->o;
    int64_t first = r->offs ? r->offs[g] : 0, read = r->offs ? r->read[g] : 0;

    for (int i = 0; i < NUM_NOPERANDS; i++)
        at[i] = o[i].d.batches > 1 ? (uint64_t)g * o[i].d.batch_bytes : 0;
    if (r->p.family == KILN_GROUPED) {
        at[NUM_A] = (uint64_t)read * o[NUM_A].d.row_bytes;
        at[NUM_C] = (uint64_t)first * o[NUM_C].d.row_bytes;
        at[NUM_SA] = kn_b_in_sa(&r->p) ? at[NUM_SA]
                   : r->p.scale == KILN_SCALE_TENSOR || kn_prequant(&r->p) ? 0
                   : r->p.scale == KILN_SCALE_ROW ||
                     kn_scales_down(&r->p, 'a') ? (uint64_t)(kn_scale_size(&r->p) * read)
                   : (uint64_t)read * o[NUM_SA].d.row_bytes;
        for (uint32_t i = 0; i < r->x.ndeclared; i++) {
            int id = NUM_ARRAY + r->x.declared[i].slot;

            if (r->x.declared[i].kind == 't')
                at[id] = at[NUM_C];
            else if (r->x.declared[i].kind == 'r')
                at[id] = 4 * (uint64_t)first;
        }
    } else if (r->p.family == KILN_WGRAD) {
        at[NUM_A] = ragged_start(r, NUM_A, read);
        at[NUM_B] = ragged_start(r, NUM_B, read);
        at[NUM_SA] = at[NUM_SB] =
            r->p.scale < KILN_SCALE_BLOCK128 ? 0
            : (uint64_t)(read / kn_scale_k(&r->p) * kn_scale_size(&r->p));
        if (kn_scales_down(&r->p, 'b')) {
            at[NUM_SA] = (uint64_t)read / 128 * o[NUM_SA].d.row_bytes;
            at[NUM_SB] = (uint64_t)read / 128 * o[NUM_SB].d.row_bytes;
        }
    }
}
