/* svg.c - a picture of ratios, one bar a row (bench.h). */
#include "bench.h"

#include <math.h>
#include <stdio.h>

#include "../inspect/inspect.h"

enum { ROW = 16, TOP = 48, LABEL = 520, HALF = 240, WIDTH = 2 * HALF };

static void
put_text(struct kn_buf *b, double x, double y, const char *s)
{
    kn_putf(b, "<text x=\"%.1f\" y=\"%.1f\">", x, y);
    kn_xml_text(b, s);
    kn_put(b, "</text>\n");
}

/* Place of a ratio: linear about 1, so that one percent is seen, logarithmic
 * beyond; a factor of two is half the width. */
static double
place(double ratio)
{
    const double left = LABEL, half = HALF, linear = 1.0 / 64;
    double l = log2(ratio);

    l = l < -1 ? -1 : l > 1 ? 1 : l;
    return left + half + half * asinh(l / linear) / asinh(1 / linear);
}

static void
put_bar(struct kn_buf *b, const struct kn_svg_bar *r, double y)
{
    double x = place(r->ratio), mid = place(1);
    char text[32];

    kn_putf(b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"10\" "
            "fill=\"%s\"/>\n", x < mid ? x : mid, y + 3,
            fabs(x - mid) < 1 ? 1 : fabs(x - mid), r->colour);
    snprintf(text, sizeof text, "%.3f", r->ratio);
    put_text(b, LABEL + WIDTH + 8, y + 12, text);
}

void
kn_svg_ratios(struct kn_buf *b, const char *title,
              const struct kn_svg_bar *bar, size_t n)
{
    static const struct { double ratio; const char *text; } ticks[] = {
        { 0.5, "0.5" }, { 0.8, "0.8" }, { 0.9, "0.9" }, { 0.95, ".95" },
        { 0.99, ".99" }, { 1, "1" }, { 1.01, "1.01" }, { 1.05, "1.05" },
        { 1.1, "1.1" }, { 1.25, "1.25" }, { 2, "2" },
    };
    int height = TOP + ROW * (int)n + 8;

    kn_putf(b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" font-family=\"monospace\" font-size=\"11\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            LABEL + WIDTH + 70, height);
    put_text(b, 8, 16, title);
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
        double x = place(ticks[i].ratio);

        kn_putf(b, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" "
                "stroke=\"#ccc\"/>\n", x, x, TOP - 6, height - 4);
        put_text(b, x - 8, TOP - 10, ticks[i].text);
    }
    for (size_t i = 0; i < n; i++) {
        double y = TOP + ROW * (int)i;

        put_text(b, 8, y + 12, bar[i].label);
        if (bar[i].ratio > 0)
            put_bar(b, &bar[i], y);
    }
    kn_put(b, "</svg>\n");
}
