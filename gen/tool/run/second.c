/* second.c - the second output of a launch: checked tile by tile, and written. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "../../../runtime/reference/reference.h"
#include "run.h"
#include "session.h"
#include "../../panels.h"

static size_t
element_bytes(const struct kn_second *x)
{
    return kn_ref_type_bits(x->data->type) / 8;
}

/* Rows and columns of a group's, dense. */
static kiln_status
read_rect(const struct kn_second *x, const struct kn_rect *t, uint8_t *dst)
{
    size_t size = element_bytes(x), row = (size_t)t->cols * size;
    uint64_t base = x->job->at.out2;

    base += kn_family_of(x->job->p)->ragged == 'm'
          ? (uint64_t)x->offs[t->group] * x->data->row_bytes
          : (uint64_t)t->group * x->data->batch_bytes;
    for (int64_t i = 0; i < t->rows && row; i++)
        KN_TRY(kn_session_read(x->s, base + (uint64_t)(t->m0 + i) *
                               x->data->row_bytes + (size_t)t->n0 * size,
                               dst + (size_t)i * row, row));
    return KILN_OK;
}

kiln_status
kn_second_check(struct kn_ctx *c, struct kn_second *x,
                const struct kn_ref_problem *p, const struct kn_rect *t,
                const struct kn_ref_result *first)
{
    size_t n = (size_t)(t->rows * t->cols) * element_bytes(x);
    struct kn_ref_second second = { .out = x->data->type };
    uint8_t *got = KN_NEW(c, uint8_t, n);
    struct kn_rect half = *t;

    second.got = got;
    for (int up = 0; up <= kn_second_pair(x->job->p); up++) {
        half.n0 = t->n0 + up * p->n;
        second.up = up;
        KN_TRY(read_rect(x, &half, got));
        x->written += n;
        KN_TRY(kn_ref_second_judge(c, p, first, &second, &x->check));
    }
    return KILN_OK;
}

void
kn_second_report(struct kn_tool *t, struct kn_json *json, struct kn_second *x)
{
    const struct kn_ref_check *k = &x->check;
    struct kn_finding f = { .kind = KN_F_UNWRITTEN, .count = 1,
                            .address = x->job->at.out2 };

    kn_putf(t->text, "second    %s: %" PRIu64 " elements; max error %.3g "
            "absolute, worst tile %.3g\n", k->bad ? "WRONG" : "ok", k->elements,
            k->max_abs, k->max_tile_rel);
    kn_json_open(json, "second", '{');
    kn_json_bool(json, "ok", !k->bad);
    kn_json_uint(json, "elements", k->elements);
    kn_json_uint(json, "bad", k->bad);
    kn_json_real(json, "max_abs", k->max_abs);
    kn_json_real(json, "max_tile_rel", k->max_tile_rel);
    kn_json_close(json, '}');
    kn_session_check_written(x->s, x->job, x->job->at.out2, x->size, x->written);
    if (!k->bad)
        return;
    snprintf(f.text, sizeof f.text, "%" PRIu64 " elements of the second output "
             "are bad, the first [%" PRId64 ", %" PRId64 "] is %g, should be %g",
             k->bad, k->bad_m, k->bad_n, k->bad_got, k->bad_want);
    kn_report_add(t->c, &x->job->result, &f);
}

kiln_status
kn_second_write(struct kn_tool *t, const struct kn_second *x)
{
    const struct kn_value *v = &t->cli->v[KN_FLAG_out2_file];
    const struct kn_data *d = x->data;
    bool many = d->batches > 1;
    struct kn_npy a = { .ndim = 2 + many, .elem = (unsigned)element_bytes(x) };
    struct kn_rect all = { .rows = d->rows, .cols = d->cols };
    size_t one = (size_t)(d->rows * d->cols) * element_bytes(x);
    uint8_t *bytes;

    if (!v->seen)
        return KILN_OK;
    if (!x->job->p->out2)
        return kn_fail(t->c, KILN_BAD_INPUT, "--out2-file is of --out2, which is "
                       "not there");
    strncpy(a.dtype, kn_npy_dtype(d->type), sizeof a.dtype - 1);
    a.shape[0] = d->batches;
    a.shape[many] = d->rows;
    a.shape[many + 1] = d->cols;
    a.bytes = one * (uint64_t)d->batches;
    bytes = KN_NEW(t->c, uint8_t, a.bytes);
    if (kn_family_of(x->job->p)->ragged == 'm')   /* all rows are one matrix */
        all.m0 = -x->offs[0];
    for (; all.group < d->batches; all.group++)
        KN_TRY(read_rect(x, &all, bytes + (size_t)all.group * one));
    a.data = bytes;
    return kn_npy_write(t->c, v->s, &a);
}
