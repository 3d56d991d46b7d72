/* timing_svg.c - a prediction as a picture: where the launch is under the
 * roofline, and what the waves do in the main loop. */
#include <math.h>
#include <stdio.h>

#include "timing_impl.h"

enum { WIDTH = 800, LEFT = 70, RIGHT = 380, TOP = 70, BOTTOM = 310,
       NAMES = 420, BARS = 615, BAR = 130 };

struct axes {                /* both logarithmic */
    double x0, x1, y0, y1;
};

static double
place(double v, double lo, double hi, double from, double to)
{
    double at = (log10(v) - log10(lo)) / (log10(hi) - log10(lo));

    return from + (to - from) * (at < 0 ? 0 : at > 1 ? 1 : at);
}

static double
px(const struct axes *a, double x)
{
    return place(x, a->x0, a->x1, LEFT, RIGHT);
}

static double
py(const struct axes *a, double y)
{
    return place(y, a->y0, a->y1, BOTTOM, TOP);
}

static void
put_text(struct kn_buf *b, double x, double y, const char *text)
{
    kn_putf(b, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", x, y, text);
}

static void
put_grid(struct kn_buf *b, const struct axes *a)
{
    char label[32];

    for (double v = a->x0; v <= a->x1 * 1.001; v *= 10) {
        kn_putf(b, "<line class=\"g\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" "
                "y2=\"%d\"/>\n", px(a, v), TOP, px(a, v), BOTTOM);
        snprintf(label, sizeof label, "%g", v);
        put_text(b, px(a, v) - 8, BOTTOM + 16, label);
    }
    for (double v = a->y0; v <= a->y1 * 1.001; v *= 10) {
        kn_putf(b, "<line class=\"g\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" "
                "y2=\"%.1f\"/>\n", LEFT, py(a, v), RIGHT, py(a, v));
        snprintf(label, sizeof label, "%g", v);
        put_text(b, LEFT - 46, py(a, v) + 4, label);
    }
    put_text(b, LEFT, TOP - 12, "TFLOPS by flops / byte of HBM");
}

static void
put_roofline(struct kn_buf *b, const struct kn_time_result *r)
{
    struct axes a = { 1, 1e4, 1, 1e4 };
    double ridge, ai = r->hbm_bytes > 0
                           ? r->tflops * r->us * 1e6 / r->hbm_bytes : 0;
    char text[96];

    if (r->peak_tflops <= 0 || ai <= 0 || r->tflops <= 0)
        return;
    put_grid(b, &a);
    ridge = r->peak_tflops / r->hbm_tbs;
    kn_putf(b, "<polyline class=\"r\" points=\"%.1f,%.1f %.1f,%.1f "
            "%.1f,%.1f\"/>\n", px(&a, a.x0), py(&a, r->hbm_tbs * a.x0),
            px(&a, ridge), py(&a, r->peak_tflops), px(&a, a.x1),
            py(&a, r->peak_tflops));
    kn_putf(b, "<polyline class=\"r\" stroke-dasharray=\"4\" "
            "points=\"%.1f,%.1f %.1f,%.1f\"/>\n",
            px(&a, r->ceiling_tflops / r->hbm_tbs), py(&a, r->ceiling_tflops),
            px(&a, a.x1), py(&a, r->ceiling_tflops));
    kn_putf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>\n", px(&a, ai),
            py(&a, r->tflops));
    snprintf(text, sizeof text, "%.0f TFLOPS of %.0f, full pipes %.0f",
             r->tflops, r->peak_tflops, r->ceiling_tflops);
    put_text(b, RIGHT - 205, BOTTOM - 10, text);
}

static void
put_bar(struct kn_buf *b, int line, const char *name, double share)
{
    double y = (int)TOP + 22.0 * line, wide = (int)BAR * share;
    char text[32];

    kn_putf(b, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"14\"/>\n",
            BARS, y, wide);
    put_text(b, NAMES, y + 11, name);
    snprintf(text, sizeof text, "%.1f %%", 100 * share);
    put_text(b, BARS + 5 + wide, y + 11, text);
}

static void
put_bars(struct kn_buf *b, const struct kn_time_result *r)
{
    int line = 0;

    put_text(b, NAMES, TOP - 12, "share of the main loop");
    put_bar(b, line++, "matrix pipes at work", r->mfma_efficiency);
    put_text(b, NAMES, TOP + 22 * ++line - 8, "what its waves wait for");
    for (unsigned k = 0; k < KN_NSTALLS; k++)
        if (r->stall[k] >= 0.005)
            put_bar(b, line++, kn_stall_name((enum kn_stall)k), r->stall[k]);
}

void
kn_time_draw(const struct kn_time_result *r, const char *kernel,
             struct kn_buf *b)
{
    char text[128];

    kn_putf(b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"360\" font-family=\"sans-serif\" font-size=\"11\">\n"
            "<style>.g{stroke:#ddd}.r{stroke:#06c;fill:none;stroke-width:2}"
            "rect{fill:#69c}circle{fill:#c30}</style>\n", WIDTH);
    snprintf(text, sizeof text, "predicted %.1f us, %.0f TFLOPS, bound by %s",
             r->us, r->tflops, kn_bound_name(r->bound));
    put_text(b, 20, 20, kernel);
    put_text(b, 20, 36, text);
    put_roofline(b, r);
    put_bars(b, r);
    kn_put(b, "</svg>\n");
}
