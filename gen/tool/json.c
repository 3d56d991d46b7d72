#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Bytes of the UTF-8 sequence at s, 0 if it is none. Names come from files
 * that may hold anything; JSON may not. */
static int
utf8_length(const unsigned char *s)
{
    int n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3
            : *s < 0xf5 ? 4 : 0;

    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) ||
        (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

static void
put_string(struct kn_buf *b, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    kn_put(b, "\"");
    while (*s) {
        int n = utf8_length(s);
        if (*s == '"' || *s == '\\')
            kn_putf(b, "\\%c", *s);
        else if (*s < 0x20 || !n)
            kn_putf(b, "\\u%04x", *s);
        else
            kn_putf(b, "%.*s", n, (const char *)s);
        s += n ? n : 1;
    }
    kn_put(b, "\"");
}

static void
begin_item(struct kn_json *j, const char *key)
{
    if (j->depth)
        kn_putf(&j->b, "%s\n%*s", j->filled ? "," : "", j->depth * 2, "");
    j->filled = true;
    if (key) {
        put_string(&j->b, key);
        kn_put(&j->b, ": ");
    }
}

void
kn_json_open(struct kn_json *j, const char *key, char open)
{
    begin_item(j, key);
    kn_putf(&j->b, "%c", open);
    j->depth++;
    j->filled = false;
}

void
kn_json_close(struct kn_json *j, char close)
{
    j->depth--;
    if (j->filled)
        kn_putf(&j->b, "\n%*s", j->depth * 2, "");
    kn_putf(&j->b, "%c%s", close, j->depth ? "" : "\n");
    j->filled = true;
}

void
kn_json_str(struct kn_json *j, const char *key, const char *s)
{
    begin_item(j, key);
    put_string(&j->b, s);
}

void
kn_json_int(struct kn_json *j, const char *key, int64_t v)
{
    begin_item(j, key);
    kn_putf(&j->b, "%" PRId64, v);
}

void
kn_json_uint(struct kn_json *j, const char *key, uint64_t v)
{
    begin_item(j, key);
    kn_putf(&j->b, "%" PRIu64, v);
}

void
kn_json_bool(struct kn_json *j, const char *key, bool v)
{
    begin_item(j, key);
    kn_put(&j->b, v ? "true" : "false");
}

void
kn_json_real(struct kn_json *j, const char *key, double v)
{
    begin_item(j, key);
    if (isfinite(v))
        kn_putf(&j->b, "%.9g", v);
    else
        kn_put(&j->b, "null");
}

/* No string has a line end of its own: they are escaped. */
void
kn_json_line(const struct kn_json *j, struct kn_buf *out)
{
    const char *s = j->b.s ? j->b.s : "";

    while (*s) {
        size_t n = strcspn(s, "\n");

        kn_putf(out, "%.*s", (int)n, s);
        s += n;
        s += strspn(s, "\n ");
    }
}
