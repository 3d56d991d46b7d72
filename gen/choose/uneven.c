/* uneven.c - what groups of rows take that others do not. Nobody knows their rows before a launch:
 * each has between a third and five thirds of their average, any of it alike often (--routing
 * mild), and the last, beside many short ones, half as many rows more as there are groups. */
#include "choose.h"

#include <math.h>

/* The integral of ceil() from 0 to x. */
static double
steps_to(double x)
{
    double n = floor(x);

    return n * (n + 1) / 2 + (n + 1) * (x - n);
}

/* Tiles that a group has on average of rows that fill so many, and of more beside. */
static double
tiles_of(double fill, double more)
{
    double low = fill / 3 + more, high = fill * 5 / 3 + more;

    return (steps_to(high) - steps_to(low)) / (high - low);
}

/* By how much the tiles of all groups vary around their average: what the last tile of each
 * lacks is anything, but for what all rows together say. */
static double
spread_of(double groups, double more)
{
    return fmin(sqrt(fmax(0, groups - 2) / 12), fmax(0, more));
}

double
kn_uneven_rows(const kiln_problem *p, const struct kn_config *g, bool many)
{
    double groups = (double)kn_products(p), fill = (double)p->m / groups / g->bm, all, by;

    if (fill <= 0)
        return 1;
    all = (groups - 1) * tiles_of(fill, 0) + tiles_of(fill, groups / 2 / g->bm);
    by = spread_of(groups, all - groups);
    return fmax(groups, round(many ? all + by : all - by)) / groups;
}

/* Of bf16 and mxfp6 tiles of 8 to 256 groups, over those of as many batches. Below it scores of
 * small tiles say too much already: a K tile alone. */
enum { SHORT_K = 256 };
#define LOOKUP_FEW 1100.0
#define LOOKUP_MANY 1500.0
#define LOOKUP_GROUP 5.0

double
kn_lookup_clocks(const kiln_problem *p)
{
    if (kn_family_of(p)->ragged != 'm' || p->groups < 2 || p->k <= SHORT_K)
        return 0;
    return p->groups <= KN_FEW_GROUPS ? LOOKUP_FEW
                                      : LOOKUP_MANY + LOOKUP_GROUP * fmin((double)p->groups, 256);
}
