/* moe_files.c - what the user's files give a `run moe`: routing, sorted
 * arrays, operands; and the output it wants. */
#include <inttypes.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "cmd_run_moe.h"

/* A vector of any length of int32 or f32. */
static kiln_status
read_vector(struct moe_run *m, enum kn_flag_id flag, const char *dtype,
            const void **data, int64_t *n)
{
    struct kn_npy want = { .elem = 4, .ndim = 1, .shape = { -1 } }, got;
    const char *path = m->t->cli->v[flag].s;

    KN_TRY(kn_npy_read(m->c, path, &got));
    memcpy(want.dtype, dtype, 4);
    if (!got.dtype[0])
        want.shape[0] = (int64_t)(got.bytes / 4);
    KN_TRY(kn_npy_expect(m->c, path, &got, &want));
    *data = got.data;
    *n = got.shape[0];
    return KILN_OK;
}

/* [tokens, topk]. */
static kiln_status
read_matrix(struct moe_run *m, enum kn_flag_id flag, const char *dtype,
            void *to)
{
    struct kn_npy want = { .elem = 4, .ndim = 2,
                           .shape = { m->r.tokens, m->r.topk } }, got;
    const char *path = m->t->cli->v[flag].s;

    KN_TRY(kn_npy_read(m->c, path, &got));
    memcpy(want.dtype, dtype, 4);
    KN_TRY(kn_npy_expect(m->c, path, &got, &want));
    memcpy(to, got.data, (size_t)(m->r.tokens * m->r.topk) * 4);
    return KILN_OK;
}

kiln_status
moe_read_routing(struct moe_run *m)
{
    const struct kn_value *v = m->t->cli->v;

    if (v[KN_FLAG_ids_file].seen)
        KN_TRY(read_matrix(m, KN_FLAG_ids_file, "<i4", m->r.expert));
    if (v[KN_FLAG_weights_file].seen)
        KN_TRY(read_matrix(m, KN_FLAG_weights_file, "<f4", m->r.weight));
    return KILN_OK;
}

/* The packed form of an id of the file; padding becomes `tokens`. */
static int32_t
packed_id(const struct moe_run *m, int32_t id)
{
    int64_t token = id & 0xffffff, slot = (int64_t)((uint32_t)id >> 24);

    if (m->id_format == KILN_IDS_PLAIN) {
        token = (uint32_t)id / m->r.topk;
        slot = (uint32_t)id % m->r.topk;
    }
    return token < m->r.tokens ? (int32_t)(token | slot << 24)
                               : (int32_t)m->r.tokens;
}

/* Row i of the sorted arrays says which expert a slot goes to, and weighs. */
static kiln_status
take_row(struct moe_run *m, int64_t i, bool *seen)
{
    struct kn_moe_sorted *s = &m->sorted;
    uint32_t id = (uint32_t)s->ids[i];
    int64_t token = id & 0xffffff, slot = id >> 24;
    int64_t at = token * m->r.topk + slot;

    if (token >= m->r.tokens)
        return KILN_OK;
    if (slot >= m->r.topk || seen[at])
        return kn_fail(m->c, KILN_BAD_INPUT, seen && slot < m->r.topk
                       ? "sorted row %" PRId64 " names slot %" PRId64 " of "
                         "token %" PRId64 " again"
                       : "sorted row %" PRId64 " names slot %" PRId64 " of "
                         "token %" PRId64 ", which has fewer", i, slot, token);
    seen[at] = true;
    m->r.expert[at] = s->experts[i / m->block_m];
    if (m->r.expert[at] >= m->r.experts)
        m->r.expert[at] = -1;
    m->r.weight[at] = s->weights[i];
    return KILN_OK;
}

static kiln_status
check_lengths(struct moe_run *m, int64_t experts, int64_t weights)
{
    const struct kn_moe_sorted *s = &m->sorted;

    if (s->room % m->block_m || s->padded % (int32_t)m->block_m ||
        s->padded < 0 || s->padded > s->room)
        return kn_fail(m->c, KILN_BAD_INPUT, "%" PRId64 " sorted ids, of which "
                       "%d count, are not whole blocks of --block-m %u",
                       s->room, s->padded, m->block_m);
    if (experts < s->padded / (int32_t)m->block_m || weights < s->padded)
        return kn_fail(m->c, KILN_BAD_INPUT, "%d sorted rows need %d experts "
                       "and as many weights as rows, not %" PRId64 " and %"
                       PRId64, s->padded, s->padded / (int32_t)m->block_m,
                       experts, weights);
    return KILN_OK;
}

kiln_status
moe_read_sorted(struct moe_run *m)
{
    struct kn_moe_sorted *s = &m->sorted;
    const void *ids, *experts, *padded, *weights;
    int64_t nexperts, npadded, nweights, all = m->r.tokens * m->r.topk;
    const struct kn_value *v = m->t->cli->v;
    bool *seen = KN_NEW(m->c, bool, (size_t)all + 1);

    if (!v[KN_FLAG_expert_ids_file].seen || !v[KN_FLAG_num_padded_file].seen ||
        !v[KN_FLAG_weights_file].seen)
        return kn_fail(m->c, KILN_BAD_INPUT, "--sorted-ids-file needs "
                       "--expert-ids-file, --num-padded-file and "
                       "--weights-file too");
    KN_TRY(read_vector(m, KN_FLAG_sorted_ids_file, "<i4", &ids, &s->room));
    KN_TRY(read_vector(m, KN_FLAG_expert_ids_file, "<i4", &experts, &nexperts));
    KN_TRY(read_vector(m, KN_FLAG_num_padded_file, "<i4", &padded, &npadded));
    KN_TRY(read_vector(m, KN_FLAG_weights_file, "<f4", &weights, &nweights));
    if (npadded < 1)
        return kn_fail(m->c, KILN_BAD_INPUT, "--num-padded-file is empty");
    s->padded = *(const int32_t *)padded;
    KN_TRY(check_lengths(m, nexperts, nweights));
    s->ids = KN_NEW(m->c, int32_t, (size_t)s->room + 1);
    s->experts = KN_NEW(m->c, int32_t, (size_t)s->room + 1);
    s->weights = KN_NEW(m->c, float, (size_t)s->room + 1);
    memcpy(s->experts, experts, (size_t)(s->padded / (int32_t)m->block_m) * 4);
    memcpy(s->weights, weights, (size_t)s->padded * 4);
    m->raw_ids = ids;
    for (int64_t i = 0; i < all; i++)
        m->r.expert[i] = -1;
    for (int64_t i = 0; i < s->room; i++)
        s->ids[i] = i < s->padded ? packed_id(m, ((const int32_t *)ids)[i])
                                  : (int32_t)m->r.tokens;
    for (int64_t i = 0; i < s->padded; i++)
        KN_TRY(take_row(m, i, seen));
    return KILN_OK;
}

/* Those of arrays that the expression names. */
static kiln_status
read_arrays(struct moe_run *m, struct moe_part *s)
{
    const struct kn_formula_operands x = kn_formula_declared(s->p.expression);

    for (uint32_t i = 0; i < KN_FORMULA_ARRAYS; i++) {
        const struct kn_formula_operand *o = kn_formula_array(&x, i);
        const struct kn_cli_named *n = o ? kn_cli_named(m->t->cli, o) : NULL;

        if (n && n->file)
            KN_TRY(kn_operand_read(m->t, &s->x[i], o->kind == KN_FO_ROW, n->file));
    }
    return KILN_OK;
}

/* One of the files of biases, to columns from `at` on of every expert's row. */
static kiln_status
read_bias(struct moe_run *m, struct moe_part *s, enum kn_flag_id flag, uint8_t *at)
{
    size_t row = (size_t)s->p.n * 4;
    struct kn_npy want = { .dtype = "<f4", .elem = 4, .ndim = 2,
                           .shape = { s->p.groups, s->p.n } }, got;
    const char *path = m->t->cli->v[flag].s;

    if (!m->t->cli->v[flag].seen)
        return KILN_OK;
    KN_TRY(kn_npy_read(m->c, path, &got));
    KN_TRY(kn_npy_expect(m->c, path, &got, &want));
    for (int64_t e = 0; e < s->p.groups; e++)
        memcpy(at + (size_t)e * s->bias.file_row,
               (const uint8_t *)got.data + (size_t)e * row, row);
    return KILN_OK;
}

/* --gate-bias-file, --up-bias-file and --down-bias-file: biases that have none are 0 where
 * others have. */
static kiln_status
read_biases(struct moe_run *m, struct moe_part *s)
{
    static const struct {
        enum kn_flag_id flag;
        uint8_t stage;
        bool second;         /* behind the gate's */
        const char *name;
    } row[] = {
        { KN_FLAG_gate_bias_file, KILN_MOE_GATE_UP, false, "gate_bias" },
        { KN_FLAG_up_bias_file, KILN_MOE_GATE_UP, true, "up_bias" },
        { KN_FLAG_down_bias_file, KILN_MOE_DOWN, false, "bias" },
    };
    const struct kn_value *v = m->t->cli->v;
    uint8_t *made = KN_NEW(m->c, uint8_t, s->bias.size + 1);

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        if (!v[row[i].flag].seen || row[i].stage != s->p.stage)
            continue;
        if (!s->bias.used || (s->p.expression[0] &&
                              !kn_formula_names(s->p.expression, row[i].name)))
            return kn_fail(m->c, KILN_BAD_INPUT, "%s is given, but the epilogue names no %s",
                           kn_flags[row[i].flag].name, row[i].name);
        KN_TRY(read_bias(m, s, row[i].flag,
                         made + (row[i].second ? (size_t)s->p.n * 4 : 0)));
    }
    if (s->bias.used && (kn_moe_bias_given(v, KILN_MOE_GATE_UP) ||
                         kn_moe_bias_given(v, KILN_MOE_DOWN)))
        s->bias.file = made;
    return KILN_OK;
}

kiln_status
moe_read_operands(struct moe_run *m, struct moe_part *s)
{
    const struct {
        struct kn_operand *o;
        enum kn_flag_id flag;
        bool scale;
    } row[] = {
        { &s->a, KN_FLAG_a_file, false }, { &s->b, KN_FLAG_b_file, false },
        { &s->sa, kn_operand_sa_flag(&s->p), true },
        { &s->sb, KN_FLAG_b_scale_file, true },
        { &s->bias, KN_FLAG_bias_file, false }, { &s->c, KN_FLAG_c_file, false },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct kn_value *v = &m->t->cli->v[row[i].flag];

        if (!v->seen)
            continue;
        if (!m->stage || !row[i].o->used || row[i].o->stored || s->b.half)
            return kn_fail(m->c, KILN_BAD_INPUT, "%s is for a --stage that "
                           "reads it, in plain layout",
                           kn_flags[row[i].flag].name);
        KN_TRY(kn_operand_read(m->t, row[i].o, row[i].scale &&
                               kn_operand_is_vector(&s->p, row[i].o == &s->sa
                                                    ? KN_OPND_SA : KN_OPND_SB),
                               v->s));
    }
    KN_TRY(read_biases(m, s));
    return read_arrays(m, s);
}

kiln_status
moe_read_output(struct moe_run *m, const struct moe_part *s, uint8_t *to)
{
    size_t row = (size_t)((uint64_t)s->p.n * kn_ref_type_bits(s->p.out) / 8);
    uint64_t n = s->out_row ? s->out_size / s->out_row : 0;

    for (uint64_t i = 0; i < n; i++)
        KN_TRY(kn_session_read(m->s, s->out + i * s->out_row, to + i * row,
                               row));
    return KILN_OK;
}

/* What gemm1 has written beside its codes. */
static kiln_status
write_scales(struct moe_run *m, const struct moe_part *s)
{
    const struct kn_value *v = &m->t->cli->v[KN_FLAG_out_scale_file];
    int64_t row = kn_output_scale_row(&s->p);
    struct kn_npy a = { .ndim = s->p.out_scale == KILN_OUT_ROW ? 1 : 2,
                        .elem = (uint32_t)kn_output_scale_size(&s->p),
                        .bytes = kn_output_scales(&s->p) };

    if (!v->seen)
        return KILN_OK;
    if (!kn_writes_scales(&s->p))
        return kn_fail(m->c, KILN_BAD_INPUT, "--out-scale-file of moe is for "
                       "gemm1 with --out-scale row or block128");
    a.shape[0] = (int64_t)a.bytes / row;
    a.shape[1] = row / (int64_t)a.elem;
    strncpy(a.dtype, a.elem == 1 ? "|u1" : "<f4", sizeof a.dtype - 1);
    a.data = KN_NEW(m->c, uint8_t, a.bytes + 1);
    KN_TRY(kn_session_read(m->s, s->scales, a.data, a.bytes));
    return kn_npy_write(m->c, v->s, &a);
}

kiln_status
moe_write_output(struct moe_run *m, const struct moe_part *s)
{
    const struct kn_value *v = &m->t->cli->v[KN_FLAG_out_file];
    struct kn_npy a = { .ndim = 2, .shape = { 0, s->p.n } };

    KN_TRY(write_scales(m, s));
    if (!v->seen)
        return KILN_OK;
    if (kn_cli_samples(m->t->cli))
        return kn_fail(m->c, KILN_BAD_INPUT,
                       "--out-file needs the whole output; leave --wg out");
    strncpy(a.dtype, kn_npy_dtype(s->p.out), sizeof a.dtype - 1);
    a.elem = kn_ref_type_bits(s->p.out) / 8;
    a.shape[0] = s->out_row ? (int64_t)(s->out_size / s->out_row) : 0;
    a.bytes = (uint64_t)(a.shape[0] * s->p.n) * kn_ref_type_bits(s->p.out) / 8;
    a.data = KN_NEW(m->c, uint8_t, a.bytes + 1);
    KN_TRY(moe_read_output(m, s, a.data));
    return kn_npy_write(m->c, v->s, &a);
}
