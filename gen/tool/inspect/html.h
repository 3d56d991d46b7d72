/* html.h - self-contained pages: no script from elsewhere, no network. */
#ifndef KN_HTML_H
#define KN_HTML_H

#include "../../../ir/base.h"

/* Text with the characters HTML and SVG give a meaning replaced. */
void kn_html_text(struct kn_buf *b, const char *s);

/* Everything up to the first line of the body, and what closes it. */
void kn_html_begin(struct kn_buf *b, const char *title);
void kn_html_end(struct kn_buf *b);

/* A picture of its own, whose styles stay inside. */
void kn_html_svg(struct kn_buf *b, const char *class, const char *svg);

/* A row of cells of a table; tag is "th" or "td". */
void kn_html_row(struct kn_buf *b, const char *tag, int n,
                 const char *const *cell);

#endif
