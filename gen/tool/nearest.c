/* nearest.c - nearness is the number of letters to insert, drop, exchange or
 * swap; a word that begins another is near to it. */
#include "cli.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 32, FAR = 1000 };

static const struct alias {
    const char *said, *meant;
    kiln_target target;
} aliases[] = {
#define ALIAS(said, meant, target) { said, meant, KILN_##target },
#define KILN_NONE KILN_TARGET_NONE
#define MEANT(said, meant)
#include "aliases.def"
#undef ALIAS
#undef MEANT
}, meant[] = {
#define ALIAS(said, meant, target)
#define MEANT(said, meant) { said, meant, KILN_TARGET_NONE },
#include "aliases.def"
#undef ALIAS
#undef MEANT
};

enum {
    NALIASES = sizeof aliases / sizeof *aliases,
    NMEANT = sizeof meant / sizeof *meant
};

static int
fold(char c)
{
    return c == '_' ? '-' : tolower((unsigned char)c);
}

bool
kn_same_word(const char *a, const char *b, size_t n)
{
    size_t i = 0;

    while (i < n && a[i] && fold(a[i]) == fold(b[i]))
        i++;
    return i == n && !a[i];
}

const char *
kn_alias(const char *word, kiln_target *target)
{
    *target = KILN_TARGET_NONE;
    for (int i = 0; i < NALIASES; i++)
        if (kn_same_word(word, aliases[i].said, strlen(aliases[i].said))) {
            *target = aliases[i].target;
            return aliases[i].meant;
        }
    return word;
}

static unsigned
least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, exchanges and swaps of neighbours. */
static unsigned
distance(const char *a, size_t na, const char *b, size_t nb)
{
    unsigned d[LONGEST + 1][LONGEST + 1];

    for (size_t i = 0; i <= na; i++)
        d[i][0] = (unsigned)i;
    for (size_t j = 0; j <= nb; j++)
        d[0][j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++)
        for (size_t j = 1; j <= nb; j++) {
            bool same = fold(a[i - 1]) == fold(b[j - 1]);

            d[i][j] = least(d[i - 1][j - 1] + !same,
                            least(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
                fold(a[i - 2]) == fold(b[j - 1]))
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[na][nb];
}

static bool
begins(const char *a, size_t na, const char *b, size_t nb)
{
    size_t i = 0;

    while (i < na && i < nb && fold(a[i]) == fold(b[i]))
        i++;
    return i == na && na >= 2;
}

static unsigned
cost_of(const char *a, size_t na, const char *b, size_t nb)
{
    size_t dashes = strspn(a, "-"), others = strspn(b, "-");
    unsigned d;

    a += dashes, na -= dashes;
    b += others, nb -= others;
    if (na > LONGEST || nb > LONGEST || !na || !nb)
        return FAR;
    d = distance(a, na, b, nb);
    if (begins(a, na, b, nb) || begins(b, nb, a, na))
        return least(d, 1);
    return d <= (na < 3 ? na - 1 : na / 3 + 1) ? d : FAR;
}

void
kn_nearest_open(struct kn_nearest *x, const char *word)
{
    *x = (struct kn_nearest){ .word = word, .cost = FAR };
}

void
kn_nearest_try(struct kn_nearest *x, const char *candidate, size_t n)
{
    unsigned cost = cost_of(x->word, strlen(x->word), candidate, n);

    for (int i = 0; i < NMEANT; i++)
        if (kn_same_word(x->word, meant[i].said, strlen(meant[i].said)) &&
            kn_same_word(meant[i].meant, candidate, n))
            cost = 0;
    if (cost >= x->cost)
        return;
    x->cost = cost;
    x->best = candidate;
    x->n = n;
}

const char *
kn_nearest_text(struct kn_ctx *c, const struct kn_nearest *x)
{
    struct kn_buf b = { .c = c };

    if (!x->best)
        return "";
    kn_putf(&b, "; did you mean '%.*s'?", (int)x->n, x->best);
    return b.s;
}

const char *
kn_did_you_mean(struct kn_ctx *c, const char *word, const char *const *names,
                size_t n)
{
    struct kn_nearest x;

    kn_nearest_open(&x, word);
    for (size_t i = 0; i < n; i++)
        kn_nearest_try(&x, names[i], strlen(names[i]));
    return kn_nearest_text(c, &x);
}

/* ---- values ---- */

static bool
is_value(struct kn_ctx *c, enum kn_command cmd, int id, const char *text)
{
    for (int i = id; i < KN_NFLAGS; i++) {
        struct kn_value v = { 0 };

        if (kn_flag_repeats(&kn_flags[i]))
            return false;
        if (!strcmp(kn_flags[i].name, kn_flags[id].name) &&
            kn_flags[i].commands & 1u << cmd &&
            kn_value_parse(c, &kn_flags[i], text, &v))
            return true;
    }
    return false;
}

/* Rewritings that make a value of a near miss: each is tried, and kept if the
 * flag takes it. `n`: which of several. NULL: no more. */
typedef const char *rewrite(struct kn_ctx *c, const struct kn_flag *f,
                            const char *text, unsigned n);

/* One mark between the parts instead of another. */
static const char *
other_marks(struct kn_ctx *c, const struct kn_flag *f, const char *text,
            unsigned n)
{
    static const char own[] = "x,/:";
    char *s;

    (void)f;
    if (n >= sizeof own - 1)
        return NULL;
    s = kn_strdup(c, text);
    for (char *p = s; *p; p++)
        if (strchr("xX*,;:/| -=", *p))
            *p = own[n];
    return s;
}

/* Parts that are missing. */
static const char *
longer(struct kn_ctx *c, const struct kn_flag *f, const char *text, unsigned n)
{
    static const char *const ends[] = { "x64", "x2", "x1", "/1", ":4", ":0" };
    struct kn_buf b = { .c = c };

    (void)f;
    if (n >= sizeof ends / sizeof *ends)
        return NULL;
    kn_putf(&b, "%s%s", text, ends[n]);
    return b.s;
}

/* A device's name for its target alone. */
static const char *
as_device(struct kn_ctx *c, const struct kn_flag *f, const char *text,
          unsigned n)
{
    static const char *const kinds[] = { "sim:", "hip:" };
    const char *colon = strrchr(text, ':');
    struct kn_buf b = { .c = c };

    if (n >= 2 || f->kind != KN_K_DEVICE)
        return NULL;
    kn_putf(&b, "%s%s", kinds[n], colon ? colon + 1 : text);
    return b.s;
}

/* The nearest number of the flag's range; 8k is 8192. */
static const char *
as_number(struct kn_ctx *c, const struct kn_flag *f, const char *text,
          unsigned n)
{
    struct kn_buf b = { .c = c };
    char *end;
    double x = strtod(text, &end);

    if (n || end == text || !isfinite(x) || f->kind != KN_K_INT)
        return NULL;
    x = nearbyint(x * (fold(*end) == 'k' ? 1024 : fold(*end) == 'm' ? 1048576
                                                                    : 1));
    x = x < (double)f->lo ? (double)f->lo : x;
    kn_putf(&b, "%" PRId64, x < (double)f->hi ? (int64_t)x : f->hi);
    return b.s;
}

/* The alternative nearest to a number; NULL if they, or the text, are none. */
static const char *
nearest_number(struct kn_ctx *c, const struct kn_flag *f, const char *text)
{
    const char *best = NULL;
    char *end;
    double x = strtod(text, &end), least = HUGE_VAL;

    if (end == text || *end)
        return NULL;
    for (const char *s = f->spec; *s; s = end + (*end == '|')) {
        double y = strtod(s, &end);

        if (end == s || (*end && *end != '|'))
            return NULL;
        if (fabs(x - y) >= least)
            continue;
        least = fabs(x - y);
        best = kn_strndup(c, s, (size_t)(end - s));
    }
    return best;
}

/* The nearest alternative, or what the nearest alias means. */
static const char *
nearest_word(struct kn_ctx *c, const struct kn_flag *f, const char *text)
{
    struct kn_nearest x;
    kiln_target any;
    const char *s = f->spec;

    kn_nearest_open(&x, text);
    while (*s) {
        size_t n = strcspn(s, "|");

        kn_nearest_try(&x, s, n);
        s += n + (s[n] != 0);
    }
    for (int i = 0; i < NALIASES; i++)
        if (strstr(f->spec, aliases[i].meant))
            kn_nearest_try(&x, aliases[i].said, strlen(aliases[i].said));
    return x.best ? kn_alias(kn_strndup(c, x.best, x.n), &any) : NULL;
}

const char *
kn_nearest_value(struct kn_ctx *c, enum kn_command cmd, int id,
                 const char *text)
{
    static rewrite *const all[] = { as_number, other_marks, longer, as_device };
    const struct kn_flag *f = &kn_flags[id];
    const char *near;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (unsigned n = 0; (near = all[i](c, f, text, n)); n++)
            if (is_value(c, cmd, id, near))
                return near;
    near = nearest_number(c, f, text);
    if (!near)
        near = nearest_word(c, f, text);
    return near && is_value(c, cmd, id, near) ? near : NULL;
}
