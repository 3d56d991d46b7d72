/* findings.c - the records of all kernels as JSON and as JUnit. */
#define _GNU_SOURCE          /* program_invocation_short_name */
#include <errno.h>
#include <string.h>

#include "shim.h"

static const char *const kind_text[] = {
#define X(id, text) text,
    KN_FINDINGS(X)
#undef X
};

static void
put_escaped(struct kn_buf *b, const char *text, bool xml)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (xml && strchr("<>&\"", c))
            kn_putf(b, "&#%u;", c);
        else if (c < 0x20)
            kn_put(b, xml ? " " : "\\u0020");
        else if (!xml && (c == '"' || c == '\\'))
            kn_putf(b, "\\%c", c);
        else
            kn_putf(b, "%c", c);
    }
}

static void
json_text(struct kn_buf *b, const char *key, const char *value)
{
    kn_putf(b, "\"%s\": \"", key);
    put_escaped(b, value, false);
    kn_put(b, "\"");
}

static void
json_finding(struct kn_buf *b, const struct found *x)
{
    kn_put(b, "\n        {");
    json_text(b, "kind", kind_text[x->f.kind]);
    kn_putf(b, ", \"severity\": \"%s\", ",
            x->f.severity == KN_SEV_FINDING ? "finding" : "advice");
    json_text(b, "source", x->source);
    kn_putf(b, ", \"pc\": %llu, \"workgroup\": %llu, \"wave\": %u, "
            "\"lane\": %lld, \"address\": %llu, \"times\": %u, ",
            (unsigned long long)x->f.pc, (unsigned long long)x->f.workgroup,
            x->f.wave,
            x->f.lane == UINT32_MAX ? -1 : (long long)x->f.lane,
            (unsigned long long)x->f.address, x->f.count);
    json_text(b, "what", x->f.text);
    kn_put(b, "}");
}

static void
json_record(struct kn_buf *b, const struct record *r)
{
    kn_put(b, "\n    {");
    json_text(b, "kernel", r->kernel);
    kn_putf(b, ", \"launches\": %llu, \"workgroups\": %llu, "
            "\"simulated_workgroups\": %llu, \"instructions\": %llu, "
            "\"seconds\": %.3f, ",
            (unsigned long long)r->launches, (unsigned long long)r->groups,
            (unsigned long long)r->run, (unsigned long long)r->instructions,
            r->seconds);
    json_text(b, "error", r->error ? r->error : "");
    kn_put(b, ",\n      \"findings\": [");
    for (const struct found *x = r->found; x; x = x->next) {
        json_finding(b, x);
        kn_put(b, x->next ? "," : "");
    }
    kn_put(b, "]}");
}

void
write_json(struct kn_buf *b, const struct shim *s)
{
    kn_put(b, "{\n  ");
    json_text(b, "program", program_invocation_short_name);
    kn_putf(b, ", \"target\": \"%s\", \"findings\": %llu, \"advice\": %llu, "
            "\"sampled_launches\": %llu,\n  \"kernels\": [",
            kiln_target_name(s->target), (unsigned long long)s->nfindings,
            (unsigned long long)s->nadvice, (unsigned long long)s->sampled);
    for (const struct record *r = s->records; r; r = r->next) {
        json_record(b, r);
        kn_put(b, r->next ? "," : "");
    }
    kn_put(b, "\n  ]\n}\n");
}

static unsigned
failures(const struct record *r)
{
    unsigned n = r->error != NULL;

    for (const struct found *x = r->found; x; x = x->next)
        n += x->f.severity == KN_SEV_FINDING;
    return n;
}

/* A test case is a kernel; it has one failure at most, all findings in it. */
static void
junit_record(struct kn_buf *b, const struct record *r)
{
    kn_put(b, "    <testcase classname=\"");
    put_escaped(b, program_invocation_short_name, true);
    kn_put(b, "\" name=\"");
    put_escaped(b, r->kernel, true);
    kn_putf(b, "\" time=\"%.3f\">\n", r->seconds);
    if (failures(r)) {
        kn_putf(b, "      <failure message=\"%u findings\">\n", failures(r));
        if (r->error)
            put_escaped(b, r->error, true);
        if (r->error)
            kn_put(b, "\n");
        for (const struct found *x = r->found; x; x = x->next) {
            put_escaped(b, x->source, true);
            kn_putf(b, "%s%s: ", *x->source ? ": " : "",
                    kind_text[x->f.kind]);
            put_escaped(b, x->f.text, true);
            kn_put(b, "\n");
        }
        kn_put(b, "      </failure>\n");
    }
    kn_put(b, "    </testcase>\n");
}

void
write_junit(struct kn_buf *b, const struct shim *s)
{
    unsigned n = 0, failed = 0;

    for (const struct record *r = s->records; r; r = r->next) {
        n++;
        failed += failures(r) > 0;
    }
    kn_putf(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
            "  <testsuite name=\"");
    put_escaped(b, program_invocation_short_name, true);
    kn_putf(b, " on %s\" tests=\"%u\" failures=\"%u\">\n",
            kiln_target_name(s->target), n, failed);
    for (const struct record *r = s->records; r; r = r->next)
        junit_record(b, r);
    kn_put(b, "  </testsuite>\n</testsuites>\n");
}
