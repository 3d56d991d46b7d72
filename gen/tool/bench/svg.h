/* svg.h - a picture of ratios: one bar a row, to the right of 1 is slower. */
#ifndef KN_SVG_H
#define KN_SVG_H

#include "../../../ir/base.h"

struct kn_svg_bar {
    const char *label, *colour;
    double ratio;            /* new / golden; 0: no bar */
};

void kn_svg_ratios(struct kn_buf *b, const char *title,
                   const struct kn_svg_bar *bar, size_t n);

#endif
