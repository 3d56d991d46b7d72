/* terms.h - the functions that formulas of launch.def are made of, for
 * those who compile them. */
#ifndef KN_LAUNCH_TERMS_H
#define KN_LAUNCH_TERMS_H

#include <stdint.h>

#include "../quant.h"
#include "../panels.h"

/* A row of launch.def as a local of its name. */
#define KN_TERM(name, value) \
    const long long name __attribute__((unused)) = (long long)(value);

static inline int64_t
up(int64_t n, int64_t d)
{
    return (n + d - 1) / d;
}

static inline int64_t
when(bool c, int64_t v)
{
    return c ? v : 0;
}

static inline int64_t
least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static inline int64_t
most(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static inline int64_t
run(int64_t bits, int64_t n)
{
    return (n * bits + 7) / 8;
}

static inline int64_t
product(int64_t x, int64_t y)
{
    int64_t r;

    return __builtin_mul_overflow(x, y, &r) ? INT64_MAX : r;
}

#endif
