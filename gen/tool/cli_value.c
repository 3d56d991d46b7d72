/* cli_value.c - reads the values of flags: one small function per kind, each
 * true only if the whole text is a value of its kind and in range. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* An integer at *s, which moves behind it. Decimal, or 0x hexadecimal. */
static bool
take_int(const char **s, int64_t *out)
{
    const char *digits = *s + (**s == '-');
    int base = digits[0] == '0' && (digits[1] | 32) == 'x' ? 16 : 10;
    char *end;

    if (*digits < '0' || *digits > '9')
        return false;
    errno = 0;
    *out = strtoll(*s, &end, base);
    if (errno || (base == 16 && end == digits + 1))
        return false;
    *s = end;
    return true;
}

static bool
parse_int(struct kn_ctx *c, const struct kn_flag *f, const char *text,
          struct kn_value *v)
{
    (void)c;
    if (!take_int(&text, &v->i) || *text) {
        v->s = text;
        return false;
    }
    return v->i >= f->lo && v->i <= f->hi;
}

static bool
take_real(const char *text, double *out)
{
    char *end;

    if (!*text || !strchr("+-.0123456789", *text))
        return false;
    *out = strtod(text, &end);
    return !*end && isfinite(*out) && fabs(*out) <= 3.4028234663852886e38;
}

static bool
parse_real(struct kn_ctx *c, const struct kn_flag *f, const char *text,
           struct kn_value *v)
{
    (void)c;
    (void)f;
    return take_real(text, &v->f);
}

static bool
parse_none(struct kn_ctx *c, const struct kn_flag *f, const char *text,
           struct kn_value *v)
{
    (void)c;
    (void)f;
    (void)v;
    return !*text;
}

static bool
parse_text(struct kn_ctx *c, const struct kn_flag *f, const char *text,
           struct kn_value *v)
{
    (void)c;
    (void)v;
    return *text && (!f->hi || strlen(text) <= (size_t)f->hi);
}

static bool
take_word(struct kn_ctx *c, const struct kn_flag *f, const char *word,
          struct kn_value *v)
{
    v->i = 0;
    for (const char *s = f->spec; *s; v->i++) {
        size_t n = strcspn(s, "|");

        if (kn_same_word(word, s, n)) {
            v->s = kn_strndup(c, s, n);
            return true;
        }
        s += n + (s[n] != 0);
    }
    return false;
}

/* An alternative, or another word for it. */
static bool
parse_choice(struct kn_ctx *c, const struct kn_flag *f, const char *text,
             struct kn_value *v)
{
    return take_word(c, f, text, v) ||
           take_word(c, f, kn_alias(text, &v->only), v);
}

/* Numbers in [lo, hi] with `sep` between them. */
static bool
take_list(struct kn_ctx *c, const struct kn_flag *f, const char *text,
          char sep, struct kn_value *v)
{
    const char *whole = v->s;
    size_t most = 1;
    int64_t *list;

    for (const char *s = text; *s; s++)
        most += *s == sep;
    v->list = list = KN_NEW(c, int64_t, most < 3 ? 3 : most);
    for (v->n = 0;; text++) {
        int64_t *x = &list[v->n++];

        v->s = text;
        if (!take_int(&text, x) || *x < f->lo || *x > f->hi)
            return false;
        if (*text && *text != sep)
            return false;
        if (!*text) {
            v->s = whole;
            return true;
        }
    }
}

static bool
parse_list(struct kn_ctx *c, const struct kn_flag *f, const char *text,
           struct kn_value *v)
{
    return take_list(c, f, text, ',', v);
}

static bool
parse_sizes(struct kn_ctx *c, const struct kn_flag *f, const char *text,
            struct kn_value *v)
{
    size_t n = 1;

    for (const char *s = f->spec; *s; s++)
        n += *s == 'x';
    return take_list(c, f, text, 'x', v) && v->n == n;
}

static bool
parse_dims(struct kn_ctx *c, const struct kn_flag *f, const char *text,
           struct kn_value *v)
{
    int64_t *list;

    if (!take_list(c, f, text, ',', v) || v->n > 3)
        return false;
    list = (int64_t *)v->list;
    while (v->n < 3)
        list[v->n++] = 1;
    return true;
}

static bool
parse_shard(struct kn_ctx *c, const struct kn_flag *f, const char *text,
            struct kn_value *v)
{
    return take_list(c, f, text, '/', v) && v->n == 2;
}

static bool
parse_wg(struct kn_ctx *c, const struct kn_flag *f, const char *text,
         struct kn_value *v)
{
    struct kn_flag range = *f;

    range.hi = INT64_MAX;
    if (!strcmp(text, "all"))
        return true;
    v->i = KN_WG_LIST;
    if (!strncmp(text, "sample:", 7)) {
        v->i = KN_WG_SAMPLE;
        range.lo = 1;
        return take_list(c, &range, text + 7, ',', v) && v->n == 1;
    }
    return take_list(c, &range, text, ',', v);
}

static bool
parse_device(struct kn_ctx *c, const struct kn_flag *f, const char *text,
             struct kn_value *v)
{
    struct kn_flag range = *f;
    kiln_target only;
    const char *name;
    int64_t *target;

    range.hi = 1023;
    if (!strncmp(text, "hip:", 4)) {
        v->i = KN_DEV_HIP;
        return take_list(c, &range, text + 4, ',', v) && v->n == 1;
    }
    v->list = target = KN_NEW(c, int64_t, 1);
    if (!strncmp(f->spec, "sim|", 4) && !strcmp(text, "sim"))
        return true;         /* every target */
    if (strncmp(text, "sim:", 4))
        return false;
    name = kn_alias(text + 4, &only);
    for (int t = 1; t < KILN_NTARGETS; t++)
        if (!strcmp(name, kiln_target_name((kiln_target)t)))
            *target = t;
    return *target != 0;
}

bool
kn_value_parse(struct kn_ctx *c, const struct kn_flag *f, const char *text,
               struct kn_value *v)
{
    static bool (*const parse[KN_NKINDS])(struct kn_ctx *,
                                          const struct kn_flag *,
                                          const char *, struct kn_value *) = {
        [KN_K_NONE] = parse_none,     [KN_K_INT] = parse_int,
        [KN_K_REAL] = parse_real,     [KN_K_TEXT] = parse_text,
        [KN_K_CHOICE] = parse_choice, [KN_K_LIST] = parse_list,
        [KN_K_SIZES] = parse_sizes,   [KN_K_DIMS] = parse_dims,
        [KN_K_SHARD] = parse_shard,   [KN_K_WG] = parse_wg,
        [KN_K_DEVICE] = parse_device,
    };

    v->s = text;
    return parse[f->kind](c, f, text, v);
}

/* FILE, or FILE:OUTFILE for inout, or FILE:BYTES for out. */
static bool
parse_buffer(struct kn_ctx *c, const char *text, struct kn_cli_arg *a)
{
    const char *colon = strrchr(text, ':');
    int64_t bytes;

    if (a->kind == KN_CA_IN) {
        a->in = text;
        return *text != 0;
    }
    if (a->kind == KN_CA_INOUT) {
        a->in = colon ? kn_strndup(c, text, (size_t)(colon - text)) : text;
        a->out = colon ? colon + 1 : NULL;
        return *a->in && (!a->out || *a->out);
    }
    if (!colon || colon == text)
        return false;
    a->out = kn_strndup(c, text, (size_t)(colon - text));
    colon++;
    if (!take_int(&colon, &bytes) || *colon || bytes < 0)
        return false;
    a->bytes = (uint64_t)bytes;
    return true;
}

static bool
parse_scalar(const char *text, struct kn_cli_arg *a)
{
    double f;
    float narrow;
    uint32_t bits;

    if (a->kind == KN_CA_F32) {
        if (!take_real(text, &f))
            return false;
        narrow = (float)f;
        memcpy(&bits, &narrow, sizeof bits);
        a->i = bits;
        return true;
    }
    if (!take_int(&text, &a->i) || *text)
        return false;
    return a->kind == KN_CA_I64 || (a->i >= INT32_MIN && a->i <= UINT32_MAX);
}

static bool
parse_arg(struct kn_ctx *c, const char *text, enum kn_cli_arg_kind first,
          struct kn_cli_arg *a)
{
    static const char *const prefix[] = {
        [KN_CA_I32] = "i32:", [KN_CA_I64] = "i64:", [KN_CA_F32] = "f32:",
        [KN_CA_NULL] = "null", [KN_CA_IN] = "in:", [KN_CA_OUT] = "out:",
        [KN_CA_INOUT] = "inout:",
    };

    memset(a, 0, sizeof *a);
    for (int k = first; k <= KN_CA_INOUT; k++) {
        size_t n = strlen(prefix[k]);
        if (strncmp(text, prefix[k], n))
            continue;
        a->kind = (enum kn_cli_arg_kind)k;
        if (k == KN_CA_NULL)
            return !text[n];
        return k < KN_CA_NULL ? parse_scalar(text + n, a)
                              : parse_buffer(c, text + n, a);
    }
    return false;
}

bool
kn_cli_named_parse(struct kn_ctx *c, const struct kn_flag *f, const char *text,
                   struct kn_cli_named *n)
{
    const char *eq = strchr(text, '=');

    n->file = NULL;
    n->name = eq ? kn_strndup(c, text, (size_t)(eq - text)) : text;
    if (!*n->name || n->name[kn_formula_word(n->name)] ||
        isdigit((unsigned char)*n->name))
        return false;
    if (f->kind == KN_K_SCALAR)
        return eq && take_real(eq + 1, &n->value);
    n->file = eq ? eq + 1 : NULL;
    return !eq || eq[1];
}

bool
kn_cli_arg_parse(struct kn_ctx *c, const char *text, struct kn_cli_arg *a)
{
    return parse_arg(c, text, KN_CA_I32, a);
}

bool
kn_cli_ptr_parse(struct kn_ctx *c, const char *text, struct kn_cli_arg *a)
{
    int64_t offset;

    if (!take_int(&text, &offset) || *text != '=' || offset < 0)
        return false;
    if (!parse_arg(c, text + 1, KN_CA_IN, a))
        return false;
    a->offset = (uint64_t)offset;
    return true;
}
