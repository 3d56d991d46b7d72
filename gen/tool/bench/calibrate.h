/* calibrate.h - what a GPU measured beside what the model predicted, of any
 * number of reports. */
#ifndef KN_CALIBRATE_H
#define KN_CALIBRATE_H

#include <jansson.h>

#include "../cmd.h"

/* A launch with both times, us; low 0: its prediction has no bar. */
struct kn_calib_row {
    const char *arch, *name, *bound, *type;
    double us, predicted, low, high;
    double clock;            /* GHz, predicted; 0: not told */
    bool warm;
};

/* A probe of selftest that says something of a constant (probes.s). */
struct kn_calib_probe {
    const char *arch, *name;
    double shows[8];
    size_t n;
};

struct kn_calib {
    struct kn_ctx *c;
    struct kn_calib_row *row;
    size_t n, cap;
    struct kn_calib_probe *probe;
    size_t nprobes, probe_cap;
    struct kn_buf unfit;     /* matrix instructions that no model or another
                                fits, a line each */
    size_t fitting;          /* those of the model's own sums */
    struct kn_buf from;      /* a line for each report */
};

/* calibrate_read.c: adds a report: what selftest --report keeps, or bench --json
 * of a GPU. BAD_INPUT for another file. */
kiln_status kn_calib_read(struct kn_calib *x, const char *path);

#endif
