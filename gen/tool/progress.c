#include "progress.h"

#include <inttypes.h>
#include <unistd.h>

#include "../../ir/base.h"

enum { WIDTH = 24 };

void
kn_progress_open(struct kn_progress *p, FILE *f, bool plain)
{
    *p = (struct kn_progress){ .f = f };
    p->live = !plain && isatty(fileno(f));
}

void
kn_progress_stage(struct kn_progress *p, const char *what)
{
    p->what = what;
    p->last = 0;
    p->start = kn_seconds();
    if (!p->live)
        return;
    fprintf(p->f, "\r\033[K%s ...", what);
    fflush(p->f);
    p->shown = true;
}

/* "benching [=====     ] 84/168 50%  1:20 left" */
static void
draw(const struct kn_progress *p, uint64_t done, uint64_t total)
{
    const double part = total && done < total ? (double)done / (double)total
                                              : 1;
    const int full = (int)(part * (double)WIDTH);
    int left = 0;

    if (done)
        left = (int)((kn_seconds() - p->start) * (1 - part) / part);
    fprintf(p->f, "\r\033[K%s [%.*s%*s] %" PRIu64 "/%" PRIu64 " %.0f%%",
            p->what, full, "========================", WIDTH - full, "", done,
            total, part * 100);
    if (left > 0)
        fprintf(p->f, "  %d:%02d left", left / 60, left % 60);
}

static void
tell_once(struct kn_progress *p, double spent, uint64_t done, uint64_t total)
{
    const double left = done ? spent * (double)(total - done) / (double)done
                             : 0;

    if (!p->f || spent < (double)KN_QUIET_SECONDS || left < (double)KN_LONG_SECONDS ||
        done > total)
        return;
    fprintf(p->f, "kilnc: %s takes about %.0f s more%s%s\n", p->what, left,
            p->hint ? "; " : "", p->hint ? p->hint : "");
    fflush(p->f);
    p->told = true;
}

void
kn_progress_update(void *progress, uint64_t done, uint64_t total)
{
    struct kn_progress *p = progress;
    double t;

    if ((!p->live && p->told) || (t = kn_seconds()) - p->last < 0.1)
        return;
    p->last = t;
    if (!p->live) {
        tell_once(p, t - p->start, done, total);
        return;
    }
    draw(p, done, total);
    fflush(p->f);
    p->shown = true;
}

void
kn_progress_end(struct kn_progress *p)
{
    if (p->shown)
        fprintf(p->f, "\r\033[K");
    p->shown = false;
    fflush(p->f);
}
