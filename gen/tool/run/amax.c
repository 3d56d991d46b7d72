/* amax.c - the largest magnitude of the output that a launch has written. */
#include <stdio.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "../../../runtime/reference/reference.h"
#include "run.h"
#include "session.h"

/* The kernel's bits: the sign of a zero and a NaN are those in memory. */
static kiln_status
read_amax(const struct kn_session *s, const struct kn_job *j, uint64_t *out)
{
    *out = 0;
    return kn_session_read(s, j->at.amax, out,
                           kn_ref_type_bits(kn_amax_type(j->p)) / 8);
}

kiln_status
kn_amax_check(struct kn_tool *t, struct kn_json *json,
              const struct kn_session *s, struct kn_job *j,
              const struct kn_ref_amax *want)
{
    struct kn_finding f = { .kind = KN_F_UNWRITTEN, .address = j->at.amax,
                            .count = 1 };
    int digits = kn_wide_sums(j->p) ? 17 : 9;
    uint64_t code;
    double got;
    bool right;

    KN_TRY(read_amax(s, j, &code));
    got = kn_ref_decode(kn_amax_type(j->p), j->p->target, code);
    right = kn_ref_amax_right(want, got);
    kn_putf(t->text, "amax      %.*g, %s\n", digits, got,
            right ? "as the reference has it" : "WRONG");
    kn_json_open(json, "amax", '{');
    kn_json_real(json, "value", got);
    kn_json_real(json, "low", want->low);
    kn_json_real(json, "high", want->high);
    kn_json_bool(json, "nan", want->nan);
    kn_json_bool(json, "ok", right);
    kn_json_close(json, '}');
    if (right)
        return KILN_OK;
    snprintf(f.text, sizeof f.text, "the amax is %.9g, the output's largest "
             "magnitude %.9g to %.9g%s", got, want->low, want->high,
             want->nan ? ", with a NaN" : "");
    kn_report_add(t->c, &j->result, &f);
    return KILN_OK;
}

kiln_status
kn_amax_write(struct kn_tool *t, const struct kn_session *s,
              const struct kn_job *j)
{
    const struct kn_value *v = &t->cli->v[KN_FLAG_amax_file];
    uint32_t bytes = kn_ref_type_bits(kn_amax_type(j->p)) / 8;
    struct kn_npy a = { .ndim = 1, .shape = { 1 }, .elem = bytes, .bytes = bytes };
    uint64_t got;

    if (!v->seen)
        return KILN_OK;
    KN_TRY(read_amax(s, j, &got));
    strcpy(a.dtype, kn_npy_dtype(kn_amax_type(j->p)));
    a.data = (uint8_t *)&got;
    return kn_npy_write(t->c, v->s, &a);
}
