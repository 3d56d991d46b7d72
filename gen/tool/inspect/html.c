#include "inspect.h"

#include <string.h>

void
kn_html_text(struct kn_buf *b, const char *s)
{
    for (; *s; s++)
        switch (*s) {
        case '<': kn_put(b, "&lt;"); break;
        case '>': kn_put(b, "&gt;"); break;
        case '&': kn_put(b, "&amp;"); break;
        case '"': kn_put(b, "&quot;"); break;
        default: kn_putf(b, "%c", (unsigned char)*s < 0x20 ? ' ' : *s);
        }
}

void
kn_html_begin(struct kn_buf *b, const char *title)
{
    kn_put(b, "<!DOCTYPE html>\n<html lang=\"en\"><head>"
              "<meta charset=\"utf-8\">\n<title>");
    kn_html_text(b, title);
    kn_put(b, "</title>\n<style>\n"
        "body{font:14px/1.4 sans-serif;margin:1.5em;color:#222}\n"
        "h1{font-size:1.4em}h2{font-size:1.15em;margin-top:1.6em}\n"
        "table{border-collapse:collapse;font:12px/1.35 monospace}\n"
        "td,th{padding:1px 8px;text-align:left;vertical-align:top}\n"
        "th{border-bottom:1px solid #888}\n"
        "td.n{text-align:right}\n"
        "tr.missing td.a,tr.spill td.a{background:#fdd}\n"
        "tr.extra td.b,tr.spill td.b,tr.copy td{background:#dfd}\n"
        "tr.moved td,tr.reordered td{background:#def}\n"
        "tr.weaker td{background:#fcb}tr.stronger td{background:#ffc}\n"
        "tr.other td{background:#fec}tr.gap td{color:#999}\n"
        "svg{font:11px monospace}\n</style></head><body>\n<h1>");
    kn_html_text(b, title);
    kn_put(b, "</h1>\n");
}

void
kn_html_end(struct kn_buf *b)
{
    kn_put(b, "</body></html>\n");
}

void
kn_html_svg(struct kn_buf *b, const char *class, const char *svg)
{
    kn_putf(b, "<img class=\"%s\" alt=\"\" src=\"data:image/svg+xml,",
            class);
    for (; *svg; svg++)
        if (*svg <= 0x20 || strchr("<>#%\"&", *svg))
            kn_putf(b, "%%%02X", (unsigned char)*svg);
        else
            kn_putf(b, "%c", *svg);
    kn_put(b, "\">\n");
}

void
kn_html_row(struct kn_buf *b, const char *tag, int n, const char *const *cell)
{
    kn_put(b, "<tr>");
    for (int i = 0; i < n; i++) {
        kn_putf(b, "<%s>", tag);
        kn_html_text(b, cell[i]);
        kn_putf(b, "</%s>", tag);
    }
    kn_put(b, "</tr>\n");
}
