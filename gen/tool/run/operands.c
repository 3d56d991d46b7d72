#include "operands.h"

#include <string.h>

#include "../../../runtime/file.h"
#include "../../layout.h"

static const struct row {
    const char *name;
    enum kn_flag_id flag;
} rows[KN_OPND_AMAX] = {
#define X(id, text, flag) { text, KN_FLAG_##flag },
    KN_OPERANDS(X)
#undef X
};

/* What the operand in the place of A's scales is. */
enum { SA_SCALES, SA_ZEROS, SA_FACTOR };

static int
sa_of(const kiln_problem *p)
{
    return p->zero_points ? SA_ZEROS : kn_weight_factor(p) ? SA_FACTOR : SA_SCALES;
}

static const struct row sa_rows[] = {
    [SA_SCALES] = { "scales of A", KN_FLAG_a_scale_file },
    [SA_ZEROS] = { "zero points of B", KN_FLAG_b_zero_file },
    [SA_FACTOR] = { "factor of B", KN_FLAG_b_tensor_scale_file },
};

enum kn_flag_id
kn_operand_sa_flag(const kiln_problem *p)
{
    return sa_rows[sa_of(p)].flag;
}

static int64_t
div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static void
set_shape(struct kn_operand *o, kiln_type type, int64_t nrows, int64_t cols)
{
    o->used = true;
    o->data.type = type;
    o->data.batches = 1;
    o->data.rows = nrows;
    o->data.cols = cols;
}

/* Rows and columns of both scales; kiln.h says which kind has which. */
static void
shape_scales(const kiln_problem *p, struct kn_operand *o)
{
    int64_t kb = div_up(p->k, kn_scale_k(p)), nb = kn_b_columns(p);
    bool wgrad = kn_family_of(p)->ragged == 'k';

    switch (p->scale) {
    case KILN_SCALE_TENSOR:
        set_shape(&o[KN_OPND_SA], KILN_F32, 1, 1);
        set_shape(&o[KN_OPND_SB], KILN_F32, 1, 1);
        break;
    case KILN_SCALE_ROW:
        set_shape(&o[KN_OPND_SA], KILN_F32, 1, p->m);
        set_shape(&o[KN_OPND_SB], KILN_F32, 1, nb);
        break;
    case KILN_SCALE_BLOCK128:
        set_shape(&o[KN_OPND_SA], kn_block_scale(p), p->m, kb);
        set_shape(&o[KN_OPND_SB], kn_block_scale(p), wgrad ? nb : div_up(nb, 128), kb);
        if (kn_scales_down(p, 'a'))
            set_shape(&o[KN_OPND_SA], kn_block_scale(p), kb, p->m);
        if (kn_scales_down(p, 'b'))
            set_shape(&o[KN_OPND_SB], kn_block_scale(p), kb, nb);
        break;
    case KILN_SCALE_MX32:
        if (kn_ref_type_bits(p->a) < 16)
            set_shape(&o[KN_OPND_SA], p->a, p->m, kb);
        set_shape(&o[KN_OPND_SB], p->b, nb, kb);
        break;
    case KILN_SCALE_GROUP32:
    case KILN_SCALE_GROUP64:
    case KILN_SCALE_GROUP128:
        set_shape(&o[KN_OPND_SB], kn_group_scale(p), nb, kb);
        if (kn_scales_down(p, 'b'))
            set_shape(&o[KN_OPND_SB], kn_group_scale(p), kb, nb);
        if (p->zero_points)
            set_shape(&o[KN_OPND_SA], kn_zero_type(p), kb, nb);
        break;
    case KILN_SCALE_NV16:
        set_shape(&o[KN_OPND_SA], KILN_F32, 1, 1);
        set_shape(&o[KN_OPND_SB], p->b, nb, kb);
        break;
    case KILN_SCALE_NONE:
    case KILN_NSCALES:
        break;
    }
    o[KN_OPND_SA].used &= !kn_prequant(p);
    o[KN_OPND_SA].data.scale = !p->zero_points;
    o[KN_OPND_SB].data.scale = true;
}

/* How often each operand repeats: per batch, or per group. */
static void
shape_batches(const kiln_problem *p, struct kn_operand *o)
{
    int64_t all = kn_family_of(p)->batch ? p->batch : 1;
    int64_t b = kn_family_of(p)->ragged == 'm' ? p->groups : all;
    int64_t c = kn_family_of(p)->ragged == 'k' ? p->groups : all;
    int64_t scale = p->scale == KILN_SCALE_TENSOR ? 0 : 1;

    o[KN_OPND_A].data.batches = p->stride_a == KILN_SHARED ? 1 : all;
    o[KN_OPND_B].data.batches = p->stride_b == KILN_SHARED ? 1 : b;
    o[KN_OPND_C].data.batches = o[KN_OPND_OUT2].data.batches = c;
    o[KN_OPND_SA].data.batches =
        scale ? o[p->zero_points ? KN_OPND_B : KN_OPND_A].data.batches : 1;
    o[KN_OPND_SB].data.batches = scale ? o[KN_OPND_B].data.batches : 1;
    o[KN_OPND_BIAS].data.batches = b;
    if (kn_weight_factor(p)) { /* a vector of them */
        o[KN_OPND_SA].data.cols = o[KN_OPND_B].data.batches;
        o[KN_OPND_SA].data.batches = 1;
    }
}

/* Of operands: an array of the output's shape. */
static bool
is_tensor(const kiln_problem *p, uint32_t id)
{
    return id >= KN_OPND_ARRAY &&
           kn_array_kind(p, id - KN_OPND_ARRAY) == KN_FO_TENSOR;
}

/* Of the arrays that the expression declares, in order. */
static void
shape_arrays(const kiln_problem *p, struct kn_operand *o)
{
    int64_t c = o[KN_OPND_C].data.batches;
    int64_t b = kn_family_of(p)->ragged ? p->groups : c;

    for (uint32_t i = 0; i < KN_FORMULA_ARRAYS; i++) {
        struct kn_operand *a = &o[KN_OPND_ARRAY + i];
        enum kn_formula_operand_kind kind = kn_array_kind(p, i);

        if (kind == KN_NFO)
            return;
        if (kind == KN_FO_TENSOR)
            set_shape(a, p->out, p->m, p->n);
        else
            set_shape(a, KILN_F32, 1, kind == KN_FO_ROW ? p->m : p->n);
        a->data.batches = kind == KN_FO_COL ? b : c;
    }
}

static void
shape_out_scales(const kiln_problem *p, struct kn_operand *o)
{
    int64_t size = kn_output_scale_size(p), row = kn_output_scale_row(p) / size;

    if (kn_writes_scales(p))
        set_shape(o, size == 1 ? KILN_MXFP8 : KILN_F32,
                  (int64_t)kn_output_scales(p) / kn_output_scale_row(p), row);
    else
        set_shape(o, KILN_F32, 1, 1);
}

static void
shape_all(const struct kn_cli *cli, const kiln_problem *p,
          struct kn_operand *o)
{
    const struct kn_extents e = kn_extents_of(p);
    const uint64_t sizes[KN_NOPERANDS] = { e.a, e.b, e.c, e.sa, e.sb, e.bias,
                                           e.sc, e.amax, e.out2, e.x[0],
                                           e.x[1], e.x[2], e.x[3] };
    int64_t ld[KN_NOPERANDS] = { p->lda, p->ldb * kn_word_k(p), p->ldc, p->ldsa, p->ldsb };
    int64_t stride[KN_NOPERANDS] = { p->stride_a, p->stride_b, p->stride_c };
    bool ka = kn_along_k(p, 'a'), kb = kn_along_k(p, 'b');
    int64_t nb = kn_b_columns(p), halves = kn_second_pair(p) ? 2 : 1;

    set_shape(&o[KN_OPND_A], p->a, ka ? p->m : p->k, ka ? p->k : p->m);
    set_shape(&o[KN_OPND_B], p->b, kb ? nb : p->k / kn_word_k(p),
              kb ? p->k : nb * kn_word_k(p));
    set_shape(&o[KN_OPND_C], p->out, p->m, p->n);
    shape_scales(p, o);
    if (kn_has_bias(p))
        set_shape(&o[KN_OPND_BIAS], KILN_F32, 1, nb);
    if (p->out_scale) {
        shape_out_scales(p, &o[KN_OPND_SC]);
        o[KN_OPND_SC].data.scale = true;
    }
    if (p->amax)
        set_shape(&o[KN_OPND_AMAX], kn_amax_type(p), 1, 1);
    if (p->out2)
        set_shape(&o[KN_OPND_OUT2], (kiln_type)p->out2, p->m, halves * p->n);
    shape_batches(p, o);
    shape_arrays(p, o);
    for (uint32_t i = KN_OPND_OUT2; i < KN_NOPERANDS; i++)
        if (i == KN_OPND_OUT2 || is_tensor(p, i)) {
            ld[i] = p->ldc * (i == KN_OPND_OUT2 ? halves : 1);
            stride[i] = p->stride_c * (i == KN_OPND_OUT2 ? halves : 1);
        }
    for (uint32_t i = 0; i < KN_NOPERANDS; i++) {
        struct kn_data *d = &o[i].data;
        if (!o[i].used)
            continue;
        d->seed = (uint64_t)cli->v[KN_FLAG_seed].i;
        d->operand = i;
        d->mode = (enum kn_data_mode)cli->v[KN_FLAG_data].i;
        if (d->scale && d->mode == KN_DATA_BITS)
            d->mode = KN_DATA_RANDOM;
        d->target = p->target;
        kn_data_shape(d, 0, 0);
        o[i].file_row = d->row_bytes;
        kn_data_shape(d, ld[i], stride[i] > 0 ? stride[i] : 0);
        o[i].size = sizes[i];
    }
}

/* What a file of this operand must be. Vectors have one dimension; packed
 * types count bytes along K, E8M0 scales are bytes. */
static struct kn_npy
file_shape(const struct kn_operand *o, bool vector)
{
    const struct kn_data *d = &o->data;
    kiln_type type = d->scale && kn_ref_type_bits(d->type) <= 8 ? KILN_FP8
                                                                : d->type;
    bool many = d->batches > 1;
    struct kn_npy want = { .ndim = (vector ? 1 : 2) + many };
    int64_t cols = kn_ref_type_bits(type) < 8 ? (int64_t)o->file_row : d->cols;

    strncpy(want.dtype, kn_npy_dtype(type), sizeof want.dtype - 1);
    want.elem = kn_ref_type_bits(type) / 8;
    want.elem += !want.elem;
    if (many)
        want.shape[0] = d->batches;
    want.shape[many] = vector ? cols : d->rows;
    if (o->words) {          /* eight codes each */
        strcpy(want.dtype, "<i4");
        want.elem = 4;
        cols = (int64_t)o->file_row / 4;
    }
    if (o->stored == KN_STORED_SCALES) {
        want.shape[many] = div_up(d->rows, KN_SCALE_ROWS) * KN_SCALE_ROWS;
        cols = div_up(cols, KN_SCALE_BLOCKS) * KN_SCALE_BLOCKS;
    }
    if (!vector)
        want.shape[many + 1] = cols;
    return want;
}

/* Scales whose rows have the pitch of --ldsa or --ldsb in the file, as
 * quantisers write them. */
static bool
is_padded(const struct kn_operand *o, const struct kn_npy *got)
{
    uint64_t all = (uint64_t)(o->data.batches * o->data.rows) *
                   o->data.row_bytes;

    return o->data.scale && o->data.row_bytes > o->file_row &&
           got->bytes == all;
}

kiln_status
kn_operand_read(struct kn_tool *t, struct kn_operand *o, bool vector,
                const char *path)
{
    struct kn_npy want = file_shape(o, vector), got;

    KN_TRY(kn_npy_read(t->c, path, &got));
    if (is_padded(o, &got)) {
        o->file_row = o->data.row_bytes;
        want.shape[want.ndim - 1] = (int64_t)(o->file_row / want.elem);
    }
    KN_TRY(kn_npy_expect(t->c, path, &got, &want));
    o->file = kn_operand_plain(t->c, o, got.data);
    return KILN_OK;
}

bool
kn_operand_is_vector(const kiln_problem *p, int id)
{
    return id == KN_OPND_BIAS || id == KN_OPND_SC ||
           (id == KN_OPND_SA && kn_weight_factor(p)) ||
           ((id == KN_OPND_SA || id == KN_OPND_SB) &&
            (p->scale == KILN_SCALE_TENSOR || p->scale == KILN_SCALE_ROW));
}

/* What an operand's file is said with, and what it is called. */
static struct row
row_of(const kiln_problem *p, int id)
{
    return id == KN_OPND_SA ? sa_rows[sa_of(p)] : rows[id];
}

/* Of A's scales, B's zero points and its factor there is one operand. */
static kiln_status
check_sa_files(struct kn_tool *t, const kiln_problem *p)
{
    for (size_t i = 0; i < sizeof sa_rows / sizeof *sa_rows; i++)
        if (t->cli->v[sa_rows[i].flag].seen && i != (size_t)sa_of(p))
            return kn_fail(t->c, KILN_BAD_INPUT,
                           "%s is given, but this problem reads no %s",
                           kn_flags[sa_rows[i].flag].name, sa_rows[i].name);
    return KILN_OK;
}

/* Files of --row, --col and --tensor. */
static kiln_status
read_arrays(struct kn_tool *t, const kiln_problem *p, struct kn_operands_set *s)
{
    const struct kn_formula_operands x = kn_formula_declared(p->expression);

    for (uint32_t i = 0; i < KN_FORMULA_ARRAYS; i++) {
        const struct kn_formula_operand *o = kn_formula_array(&x, i);
        const struct kn_cli_named *n = o ? kn_cli_named(t->cli, o) : NULL;
        uint32_t id = KN_OPND_ARRAY + i;

        if (n && n->file)
            KN_TRY(kn_operand_read(t, &s->o[id], !is_tensor(p, id), n->file));
    }
    return KILN_OK;
}

kiln_status
kn_operands_make(struct kn_tool *t, const kiln_problem *p,
                 struct kn_operands_set *s)
{
    memset(s, 0, sizeof *s);
    shape_all(t->cli, p, s->o);
    s->o[KN_OPND_B].words = kn_in_words(p);
    s->o[KN_OPND_SA].words = kn_zero_words(p);
    kn_operands_store(p, &s->o[KN_OPND_B], &s->o[KN_OPND_SA],
                      &s->o[KN_OPND_SB]);
    KN_TRY(check_sa_files(t, p));
    for (int i = 0; i < KN_OPND_AMAX; i++) {
        const struct row row = row_of(p, i);
        const struct kn_value *v = &t->cli->v[row.flag];

        if (!v->seen || (i == KN_OPND_SC && kn_writes_scales(p)))
            continue;
        if (!s->o[i].used || (i == KN_OPND_C && !p->beta))
            return kn_fail(t->c, KILN_BAD_INPUT,
                           "%s is given, but this problem reads no %s",
                           kn_flags[row.flag].name, row.name);
        KN_TRY(kn_operand_read(t, &s->o[i], kn_operand_is_vector(p, i), v->s));
    }
    return read_arrays(t, p, s);
}

/* Rows of a file at the pitches of the device, 0xff between them. */
static void
fill_rows(const struct kn_operand *o, uint64_t offset, uint8_t *dst,
          size_t size)
{
    uint64_t pitch = o->data.row_bytes, nrows = (uint64_t)o->data.rows;
    uint64_t batch = o->data.batch_bytes ? o->data.batch_bytes : ~(uint64_t)0;

    while (size) {
        uint64_t in = offset % batch, row = in / pitch, at = in % pitch;
        uint64_t n = pitch - at < size ? pitch - at : size, have = 0;
        const uint8_t *from = o->file + o->file_row *
                              (offset / batch * nrows + row);

        n = batch - in < n ? batch - in : n;
        if (at < o->file_row && row < nrows &&
            offset / batch < (uint64_t)o->data.batches) {
            have = n < o->file_row - at ? n : o->file_row - at;
            memcpy(dst, from + at, have);
        }
        memset(dst + have, 0xff, n - have);
        offset += n;
        dst += n;
        size -= n;
    }
}

void
kn_operand_fill(void *user, uint64_t offset, void *dst, size_t size)
{
    struct kn_operand *o = user;

    if (o->file)
        fill_rows(o, offset, dst, size);
    else
        kn_data_fill(&o->data, offset, dst, size);
}

/* What the kernel writes. */
static bool
is_made(const kiln_problem *p, int id)
{
    return id == KN_OPND_C || id == KN_OPND_AMAX || id == KN_OPND_OUT2 ||
           (id == KN_OPND_SC && kn_writes_scales(p));
}

/* Kernels of dword-aligned operands read whole dwords, of which no device
 * allocation has parts; what a file or the data leave over reads 0xff. */
static uint64_t
allocated(const kiln_problem *p, const struct kn_operand *o, int id)
{
    uint64_t size = o->size ? o->size : 1;

    return is_made(p, id) ? size : (size + 3) / 4 * 4;
}

/* C without beta has no contents: a kernel that reads it is wrong. */
static bool
has_contents(const struct kn_operands_set *s, int id, const kiln_problem *p)
{
    return s->o[id].size &&
           (!is_made(p, id) || (id == KN_OPND_C && p->beta));
}

struct kn_memory
kn_operand_memory(const kiln_problem *p, struct kn_operands_set *s, int id)
{
    return (struct kn_memory){
        .size = allocated(p, &s->o[id], id),
        .flags = is_made(p, id) ? KN_MEM_OUTPUT : KN_MEM_READONLY,
        .fill = id == KN_OPND_AMAX ? kn_sim_zeros
              : has_contents(s, id, p) ? kn_operand_stored : NULL,
        .user = &s->o[id],
    };
}

static void
gather(struct kn_ctx *c, struct kn_operand *o, uint64_t bytes)
{
    struct kn_data dense = o->data;
    uint8_t *all = KN_NEW(c, uint8_t, bytes);

    kn_data_shape(&dense, 0, 0);
    kn_data_fill(&dense, 0, all, bytes);
    o->file = all;
    o->made = true;
}

void
kn_operands_gather(struct kn_ctx *c, const kiln_problem *p,
                   struct kn_operands_set *s)
{
    uint64_t left = (uint64_t)1 << 30;

    for (int i = 0; i < KN_NOPERANDS; i++) {
        struct kn_operand *o = &s->o[i];
        uint64_t n = (uint64_t)o->data.rows * (uint64_t)o->data.batches;

        if (!o->used || o->file || !has_contents(s, i, p) || !n ||
            !o->file_row || o->file_row > left / n)
            continue;
        gather(c, o, n * o->file_row);
        left -= n * o->file_row;
    }
}

static struct kn_ref_tensor
tensor(struct kn_operand *o, int64_t ld, int64_t offset)
{
    struct kn_ref_tensor r = { .type = o->data.type, .ld = ld,
                               .offset = (uint64_t)offset };

    if (o->used) {
        r.fetch = kn_operand_fill;
        r.user = o;
    }
    return r;
}

/* Of the i-th array, group g, whose output begins at byte c. */
static int64_t
array_offset(const kiln_problem *p, uint32_t i, int64_t g, int64_t row0,
             int64_t c)
{
    switch (kn_array_kind(p, i)) {
    case KN_FO_ROW: return 4 * (kn_family_of(p)->ragged == 'm' ? row0 : g * p->m);
    case KN_FO_COL: return 4 * g * p->n;
    case KN_FO_TENSOR: return c;
    default: return 0;
    }
}

/* Bytes in front of group g's part of each operand. */
static void
group_offsets(const kiln_problem *p, const int64_t *offs, int64_t g,
              int64_t at[KN_NOPERANDS])
{
    struct kn_pitches t = kn_pitches_of(p);
    int64_t scales = p->scale == KILN_SCALE_TENSOR ? 0 : 1;
    int64_t row0 = offs ? offs[g] : 0, bits = kn_ref_type_bits(p->a);
    int64_t rowa = offs ? kn_read_offsets(p, offs)[g] : 0;

    at[KN_OPND_B] = g * t.tb;
    if (kn_shuffled(p)) {    /* the reference reads plain rows */
        t.sa = t.sb = div_up(p->k, 32);
        t.tsa = t.tsa ? t.sa * p->m : 0;
        t.tsb = t.tsb ? t.sb * kn_b_columns(p) : 0;
    }
    at[KN_OPND_SB] = scales * g * t.tsb;
    at[KN_OPND_BIAS] = g * t.tbias;
    if (kn_family_of(p)->ragged == 'm') {
        at[KN_OPND_A] = rowa * t.a;
        at[KN_OPND_C] = row0 * t.c;
        at[KN_OPND_SA] = p->scale == KILN_SCALE_ROW || kn_scales_down(p, 'a')
                       ? kn_scale_size(p) * rowa : rowa * t.sa;
    } else if (kn_family_of(p)->ragged == 'k') {
        bool tn = p->layout == KILN_TN;

        at[KN_OPND_A] = tn ? rowa * t.a : rowa * bits / 8;
        at[KN_OPND_B] = tn ? rowa * t.b
                           : rowa * kn_ref_type_bits(p->b) / 8;
        at[KN_OPND_C] = g * t.tc;
        at[KN_OPND_SA] = at[KN_OPND_SB] =
            p->scale < KILN_SCALE_BLOCK128 ? 0 : rowa / kn_scale_k(p) * kn_scale_size(p);
        if (kn_scales_down(p, 'b')) {
            at[KN_OPND_SA] = rowa / 128 * t.sa;
            at[KN_OPND_SB] = rowa / 128 * t.sb;
        }
        at[KN_OPND_BIAS] = 0;
    } else {
        at[KN_OPND_A] = g * t.ta;
        at[KN_OPND_C] = g * t.tc;
        at[KN_OPND_SA] = scales * g * t.tsa;
    }
    if (kn_b_in_sa(p))
        at[KN_OPND_SA] = g * t.tsa;
    for (uint32_t i = 0; i < KN_FORMULA_ARRAYS; i++)
        at[KN_OPND_ARRAY + i] = array_offset(p, i, g, row0, at[KN_OPND_C]);
}

void
kn_operands_reference(const kiln_problem *p, struct kn_operands_set *s,
                      const int64_t *offs, int64_t g,
                      struct kn_ref_problem *out)
{
    int64_t at[KN_NOPERANDS] = { 0 };
    struct kn_pitches t = kn_pitches_of(p);
    int64_t size = p->scale < KILN_SCALE_BLOCK128 ? 1 : kn_scale_size(p);
    int64_t plain = kn_shuffled(p) ? div_up(p->k, 32) : 0;

    group_offsets(p, offs, g, at);
    *out = (struct kn_ref_problem){
        .target = p->target,
        .layout = p->layout,
        .scale = p->scale,
        .math = (kiln_math)p->math,
        .powers = kn_powers(p),
        .sb_each = kn_family_of(p)->ragged == 'k',
        .sa_down = kn_scales_down(p, 'a'),
        .sb_down = kn_scales_down(p, 'b'),
        .words = kn_in_words(p) ? (kiln_b_layout)p->b_layout : KILN_B_PLAIN,
        .quantise = kn_prequant(p),
        .quantise_mx = p->quant,
        .m = kn_family_of(p)->ragged == 'm' ? offs[g + 1] - offs[g] : p->m,
        .n = p->n,
        .gated = kn_gated(p),
        .k = kn_family_of(p)->ragged == 'k' ? offs[g + 1] - offs[g] : p->k,
        .a = tensor(&s->o[KN_OPND_A], p->lda, at[KN_OPND_A]),
        .b = tensor(&s->o[KN_OPND_B], p->ldb, at[KN_OPND_B]),
        .sa = tensor(&s->o[KN_OPND_SA], plain ? plain : t.sa / size,
                     at[KN_OPND_SA]),
        .sb = tensor(&s->o[KN_OPND_SB], plain ? plain : t.sb / size,
                     at[KN_OPND_SB]),
        .bias = tensor(&s->o[KN_OPND_BIAS], 0, at[KN_OPND_BIAS]),
        .alpha = (double)p->alpha,
        .epilogue = (kiln_epilogue)p->epilogue,
        .expression = p->expression,
        .beta = p->beta,
    };
    if (kn_b_in_sa(p)) {
        *(p->zero_points ? &out->zb : &out->factor) =
            tensor(&s->o[KN_OPND_SA], 0, at[KN_OPND_SA]);
        out->sa = (struct kn_ref_tensor){ 0 };
    }
    for (uint32_t i = KN_OPND_ARRAY; i < KN_NOPERANDS; i++)
        out->array[i - KN_OPND_ARRAY] =
            tensor(&s->o[i], is_tensor(p, i) ? p->ldc : 0, at[i]);
    for (uint32_t i = 0; i < KILN_SCALARS; i++)
        out->scalar[i] = (double)p->scalar[i];
    if (p->beta)
        out->cin = tensor(&s->o[KN_OPND_C], p->ldc, at[KN_OPND_C]);
}

void
kn_operands_codes(const kiln_problem *p, struct kn_operands_set *s,
                  struct kn_ref_result *out)
{
    float scale = 1;

    out->mode = p->requant;
    out->saturate = !p->overflow;
    if (kn_writes_scales(p)) {
        out->written = (kiln_out_scale)p->out_scale;
        out->powers = kn_writes_powers(p);
        return;
    }
    if (p->out_scale)
        kn_operand_fill(&s->o[KN_OPND_SC], 0, &scale, sizeof scale);
    out->scale = kn_codes(p) ? (double)scale : 0;
}
