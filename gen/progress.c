#include "progress.h"

#include <inttypes.h>
#include <unistd.h>

#include "../ir/base.h"

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
    if (!p->live)
        return;
    fprintf(p->f, "\r\033[K%s ...", what);
    fflush(p->f);
    p->shown = true;
}

void
kn_progress_update(void *progress, uint64_t done, uint64_t total)
{
    struct kn_progress *p = progress;
    double t;

    if (!p->live || (t = kn_seconds()) - p->last < 0.1)
        return;
    p->last = t;
    fprintf(p->f, "\r\033[K%s %" PRIu64 "/%" PRIu64, p->what, done, total);
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
