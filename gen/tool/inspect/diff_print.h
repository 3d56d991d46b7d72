/* diff_print.h - a comparison as text, page or JSON. */
#ifndef KN_DIFF_PRINT_H
#define KN_DIFF_PRINT_H

#include "../../../emit/isa/diff.h"
#include "../json.h"
#include "input.h"

struct kn_diff_view {
    struct kn_ctx *c;
    const struct kn_subject *a, *b;
    const struct kn_diff *d;
    const char **text_a, **text_b; /* kn_subject_listing */
    uint32_t nfacts;         /* differences of the kernels' descriptors */
    struct { const char *what; uint64_t a, b; } fact[8];
    bool colour;
};

/* Fills everything but `colour`. */
kiln_status kn_diff_view(struct kn_ctx *c, const struct kn_subject *a,
                         const struct kn_subject *b, const struct kn_diff *d,
                         struct kn_diff_view *v);

bool kn_diff_view_equal(const struct kn_diff_view *v);

void kn_diff_text(const struct kn_diff_view *v, struct kn_buf *out);
void kn_diff_html(const struct kn_diff_view *v, struct kn_buf *out);
/* As members of the object that is open. */
void kn_diff_json(const struct kn_diff_view *v, struct kn_json *j);

#endif
