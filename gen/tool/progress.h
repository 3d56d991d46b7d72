/* progress.h - one moving line on a terminal; elsewhere nothing, but of a long
 * run once how long it will take. */
#ifndef KN_PROGRESS_H
#define KN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct kn_progress {
    FILE *f;
    bool live;               /* a terminal that may be moved on */
    bool shown;              /* the line holds text */
    double last;             /* time of the last update, seconds */
    double start;            /* of the stage */
    const char *what;
    const char *hint;        /* how to do less, NULL: not at all */
    bool told;               /* elsewhere: how long it takes */
};

/* Seconds after which, of how many to come, a run without a terminal is told
 * how long it takes. */
enum { KN_QUIET_SECONDS = 5, KN_LONG_SECONDS = 30 };

/* The line moves if f is a terminal and the environment does not object. */
void kn_progress_open(struct kn_progress *p, FILE *f, bool plain);
/* Starts a stage ("simulating"). */
void kn_progress_stage(struct kn_progress *p, const char *what);
/* At most ten times a second; has the signature of kn_sim_launch.progress. */
void kn_progress_update(void *progress, uint64_t done, uint64_t total);
/* Clears the line. */
void kn_progress_end(struct kn_progress *p);

#endif
