/* moe_beside.c - what a moe stage has beside its product: arrays of an expression, what
 * the output holds before, a second output and what that should be. */
#include "cmd_run_moe.h"
#include "../../panels.h"

/* Columns of an expert each, a row's f32 by slot, tensors as the output lies. */
void
moe_shape_arrays(struct moe_run *m, struct moe_part *s)
{
    const kiln_problem *p = &s->p;
    int64_t slots = p->tokens * p->topk;

    for (uint32_t i = 0; i < KN_FORMULA_ARRAYS; i++) {
        enum kn_formula_operand_kind kind = kn_array_kind(p, i);
        struct kn_data d = { .type = KILN_F32, .rows = p->groups, .cols = p->n };

        if (kind == KN_NFO)
            return;
        if (kind == KN_FO_ROW)
            d = (struct kn_data){ .type = KILN_F32, .rows = 1, .cols = slots };
        if (kind == KN_FO_TENSOR)
            d = (struct kn_data){ .type = p->out, .rows = slots, .cols = p->n };
        moe_shape_operand(m, &s->x[i], 10 + i, d);
        if (kind == KN_FO_TENSOR) {
            kn_data_shape(&s->x[i].data, p->ldc, 0);
            s->x[i].size = kn_data_bytes(&s->x[i].data);
        }
    }
}

/* What the output holds: a row a slot, or where slots are summed a token. */
void
moe_shape_c(struct moe_run *m, struct moe_part *s)
{
    const kiln_problem *p = &s->p;
    bool summed = p->atomic || p->stage == KILN_MOE_REDUCE;

    if (!p->beta)
        return;
    moe_shape_operand(m, &s->c, 14, (struct kn_data){
        .type = p->out, .rows = p->tokens * (summed ? 1 : p->topk), .cols = p->n });
    kn_data_shape(&s->c.data, p->ldc, 0);
    s->c.size = kn_data_bytes(&s->c.data);
}

/* The rows of a second output, from column `from` on, held to those of `first`. */
static kiln_status
check_second(struct kn_ctx *c, struct moe_part *s, const struct kn_ref_result *first,
             int64_t from)
{
    const struct kn_ref_problem plain = { .target = first->target };
    const struct kn_data *d = &s->second_data;
    struct kn_ref_second second = { .out = d->type };
    size_t size = kn_ref_type_bits(d->type) / 8, row = (size_t)first->rect.cols * size;
    uint8_t *got = KN_NEW(c, uint8_t, (size_t)first->rect.rows * row);

    for (int64_t i = 0; i < first->rect.rows; i++)
        KN_TRY(kn_session_read(s->second.s, s->job.at.out2 + (uint64_t)first->rows[i] *
                               d->row_bytes + (size_t)(from + first->rect.n0) * size,
                               got + (size_t)i * row, row));
    s->second.written += (size_t)first->rect.rows * row;
    second.got = got;
    return kn_ref_second_judge(c, &plain, first, &second, &s->second.check);
}

kiln_status
moe_check_beside(struct kn_ctx *c, struct moe_part *s, const struct kn_moe_stage *st,
                 const struct kn_ref_result *first)
{
    size_t n = (size_t)(first->rect.rows * first->rect.cols);
    struct kn_ref_sums sums = { .least = false };
    struct kn_moe_stage aux = *st;
    struct kn_ref_result res = *first;

    if (!kn_formula_aux(s->p.expression))
        return check_second(c, s, first, 0);
    res.value = sums.value = KN_NEW(c, double, 2 * n);
    res.abssum = sums.abssum = KN_NEW(c, double, 2 * n);
    res.both = sums.both = KN_NEW(c, uint8_t, 2 * n);
    for (aux.aux = 1; aux.aux <= 1 + kn_second_pair(&s->p); aux.aux++) {
        KN_TRY(kn_moe_reference(c, &aux, first->rect, &sums));
        KN_TRY(check_second(c, s, &res, aux.aux > 1 ? s->p.n : 0));
    }
    return KILN_OK;
}
