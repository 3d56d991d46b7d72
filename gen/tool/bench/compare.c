#include "compare.h"

#include <string.h>

enum { DIGITS = 12 };

static bool
is_digit(char ch)
{
    return ch >= '0' && ch <= '9';
}

/* "e+3" at *s; false if it is no exponent. */
static bool
read_exponent(const char **s, int *out)
{
    int sign = 1, e = 0;

    if (**s != 'e' && **s != 'E')
        return true;
    ++*s;
    if (**s == '+' || **s == '-')
        sign = *(*s)++ == '-' ? -1 : 1;
    if (!is_digit(**s))
        return false;
    for (; is_digit(**s); ++*s)
        e = e < 1000 ? e * 10 + (**s - '0') : e;
    *out += sign * e;
    return true;
}

bool
kn_decimal_read(const char *s, kn_decimal *out)
{
    const kn_decimal most = (kn_decimal)1000000000 * 1000000000000;
    kn_decimal v = 0;
    int shift = DIGITS, kept = 0, seen = 0;
    bool point = false;

    for (; is_digit(*s) || (*s == '.' && !point); s++) {
        if (*s == '.') {
            point = true;
            continue;
        }
        seen++;
        if (kept < 30) {
            v = v * 10 + (*s - '0');
            kept += v != 0;
            shift -= point;
        } else {
            shift += !point;
        }
    }
    if (!seen || !read_exponent(&s, &shift) || *s)
        return false;
    for (; shift < 0 && v; shift++)
        v /= 10;
    for (; shift > 0 && v && v < most; shift--)
        v *= 10;
    *out = v;
    return v < most;
}

double
kn_decimal_real(kn_decimal d)
{
    return (double)d / 1e12;
}

/* x > factor * y + slack. Times are below 10^9 us and the factor below 10^3
 * in practice: 10^(9+12) * 10^(3+6) stays far inside 127 bits once the
 * factor is cut to six digits. */
static bool
exceeds(const struct kn_rule *r, kn_decimal x, kn_decimal y)
{
    const kn_decimal million = 1000000;

    return x * million > r->factor / million * y + r->slack * million;
}

enum kn_comparison
kn_rule_judge(const struct kn_rule *r, kn_decimal golden, kn_decimal now)
{
    if (golden < r->floor)
        return KN_V_IGNORED;
    if (exceeds(r, now, golden))
        return KN_V_REGRESSION;
    return exceeds(r, golden, now) ? KN_V_IMPROVED : KN_V_OK;
}

bool
kn_within_percent(kn_decimal a, kn_decimal b, kn_decimal percent)
{
    const kn_decimal one = (kn_decimal)1000000 * 1000000;
    struct kn_rule r = { .factor = one + percent / 100 };

    return !exceeds(&r, a, b) && !exceeds(&r, b, a);
}

static bool
within(double lo, double hi)
{
    return hi <= 1.05 * lo;
}

struct kn_stable
kn_stable_time(const double *us, size_t n)
{
    double s[KN_STABLE_MOST], gap = 0;
    size_t best = 0;

    if (n < KN_STABLE_LEAST)
        return (struct kn_stable){ .more = true };
    for (size_t i = 0; i < n; i++) {
        size_t k = i;

        for (; k && s[k - 1] > us[i]; k--)
            s[k] = s[k - 1];
        s[k] = us[i];
    }
    if (n == KN_STABLE_LEAST && within(s[0], s[2]))
        return (struct kn_stable){ (s[0] + s[1] + s[2]) / 3, true, false };
    for (size_t i = 1; i < n; i++)
        if (within(s[i - 1], s[i]) && (!best || s[i] - s[i - 1] < gap)) {
            best = i;
            gap = s[i] - s[i - 1];
        }
    if (best)
        return (struct kn_stable){ (s[best - 1] + s[best]) / 2, true, false };
    if (n < KN_STABLE_MOST)
        return (struct kn_stable){ .more = true };
    return (struct kn_stable){ s[n / 2], false, false };
}
