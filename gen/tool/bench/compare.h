/* compare.h - whether a time is a regression, decided on decimals: the rule's
 * borders are not representable in binary (1.005 * 100 + 0.5 is not 101). */
#ifndef KN_COMPARE_H
#define KN_COMPARE_H

#include "../../../ir/base.h"

/* A decimal number in steps of 10^-12; more digits are cut off. */
__extension__ typedef __int128 kn_decimal;

/* Only a whole non-negative number below 10^9, like "12", "0.5", "1.5e3". */
bool kn_decimal_read(const char *s, kn_decimal *out);
double kn_decimal_real(kn_decimal d);

/* X(id, text, colour) */
#define KN_VERDICTS(X) \
    X(OK, "ok", "#7a9") \
    X(IGNORED, "ignored", "#bbb") \
    X(REGRESSION, "REGRESSION", "#c33") \
    X(IMPROVED, "improved", "#38c") \
    X(WITHIN, "within error", "#7a9") \
    X(MISSING, "missing", "#bbb") \
    X(EXTRA, "extra", "#bbb")

enum kn_comparison {
#define X(id, text, colour) KN_V_##id,
    KN_VERDICTS(X)
#undef X
    KN_NVERDICTS
};

/* new > factor * golden + slack is a regression, golden > factor * new +
 * slack an improvement; golden < floor is too short to tell. */
struct kn_rule {
    kn_decimal factor, slack, floor;
};
enum kn_comparison kn_rule_judge(const struct kn_rule *r, kn_decimal golden,
                              kn_decimal now);

/* Whether two times differ by at most `percent` of the lower one. */
bool kn_within_percent(kn_decimal a, kn_decimal b, kn_decimal percent);

/* Times of repeated runs of one thing. The first three, if the fastest is
 * within 5 % of the slowest; else the closest two within 5 % of what is
 * there; else one more run, up to five; then the median, not stable. */
enum { KN_STABLE_LEAST = 3, KN_STABLE_MOST = 5 };

struct kn_stable {
    double us;
    bool stable;
    bool more;               /* us is not known yet: run once more */
};
struct kn_stable kn_stable_time(const double *us, size_t n);

#endif
