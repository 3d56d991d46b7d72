/* second.c - the rule by which a second output is right. */
#include "expression.h"

kiln_status
kn_ref_second_judge(struct kn_ctx *c, const struct kn_ref_problem *p,
                    const struct kn_ref_result *first,
                    const struct kn_ref_second *second,
                    struct kn_ref_check *check)
{
    size_t n = (size_t)(first->rect.rows * first->rect.cols);
    struct kn_ref_result r = { .target = first->target, .out = second->out,
                               .k = first->k, .got = second->got,
                               .exact = first->exact, .ld = second->ld,
                               .rect = first->rect, .math = first->math,
                               .a = first->a };
    struct kn_ref_problem q = *p;
    struct kn_ref_sums sums = { 0 };
    struct kn_ref_expression x;

    KN_ENTER(c);
    r.value = first->value;
    r.abssum = first->abssum;
    r.both = first->both;
    if (p->epilogue == KILN_EPILOGUE_EXPRESSION)
        KN_TRY(kn_ref_expression_read(c, p->expression, &x));
    if (p->epilogue == KILN_EPILOGUE_EXPRESSION && x.aux) {
        q.aux = true;
        r.value = sums.value = KN_NEW(c, double, n);
        r.abssum = sums.abssum = KN_NEW(c, double, n);
        r.both = sums.both = KN_NEW(c, uint8_t, n);
        KN_TRY(kn_ref_tile(c, &q, &r.rect, &sums));
    }
    kn_ref_compare(&r, check);
    return KILN_OK;
}
