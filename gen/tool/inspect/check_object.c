/* check_object.c - the static checker on a code object: what the bytes tell,
 * and its certificate, if there is one, held against them. */
#include "inspect.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "../../../emit/prove/check.h"
#include "../../../runtime/api/bundle.h"
#include "../../../runtime/file.h"
#include "../run/run.h"

struct certificate {
    bool given;
    uint8_t *text;
    size_t size;
};

static kiln_status
read_certificate(struct kn_ctx *c, const char *path, struct certificate *cert)
{
    struct kn_buf name = { .c = c };

    kn_putf(&name, "%s.cert", path);
    cert->given = access(name.s, F_OK) == 0;
    return cert->given ? kn_file_read(c, name.s, &cert->text, &cert->size)
                       : KILN_OK;
}

static kiln_status
status_of(const struct kn_tool *t, const struct kn_verdict *v)
{
    if (kn_verdict_finds(v))
        return KILN_FINDING;
    if (v->bytes.undecided)
        return KILN_UNSUPPORTED;
    return t->cli->v[KN_FLAG_strict].seen &&
           (v->bytes.nadvice || !kn_order_decided(&v->order))
         ? KILN_FINDING : KILN_OK;
}

static void
put_verdict(struct kn_tool *t, const struct kn_verdict *v)
{
    const struct kn_order *o = &v->order;

    if (kn_verdict_finds(v))
        kn_put(t->text, "FINDING  ");
    else if (v->bytes.undecided)
        kn_put(t->text, "undecided");
    else if (kn_order_decided(o))
        kn_put(t->text, "clean    ");
    else if (o->undecided)
        kn_putf(t->text, "clean but for LDS order (%s)", o->why);
    else
        kn_putf(t->text, "clean but for LDS order (%" PRIu32 " addresses not "
                "derived)", o->nopen);
}

static void
put_findings(struct kn_tool *t, struct kn_json *j, const struct kn_program *p,
             const struct kn_check_finding *f, uint32_t n)
{
    for (uint32_t i = 0; i < n && i < KN_CHECK_KEPT; i++) {
        kn_putf(t->text, "  %sat 0x%" PRIx64 ": %s\n",
                f[i].severity == KN_SEV_ADVICE ? "advice " : "",
                p->inst[f[i].inst].pc, f[i].text);
        kn_json_open(j, NULL, '{');
        kn_json_str(j, "severity", kn_severity_names[f[i].severity]);
        kn_json_uint(j, "at", p->inst[f[i].inst].pc);
        kn_json_str(j, "text", f[i].text);
        kn_json_close(j, '}');
    }
}

static void
report_order(struct kn_tool *t, struct kn_json *j, const struct kn_program *p,
             const struct kn_order *o)
{
    enum { SHOWN = 4 };
    char text[128];

    for (uint32_t i = 0; i < o->nopen && i < SHOWN; i++) {
        kn_inst_text(p->target, &p->inst[o->open[i]], text, sizeof text);
        kn_putf(t->text, "  at 0x%" PRIx64 ": address not derived: %s\n",
                p->inst[o->open[i]].pc, text);
    }
    if (o->nopen > SHOWN)
        kn_putf(t->text, "  and %" PRIu32 " more\n", o->nopen - SHOWN);
    if (o->undecided)
        kn_putf(t->text, "  at 0x%" PRIx64 ": %s\n",
                p->inst[o->why_inst].pc, o->why);
    kn_json_open(j, "lds_order", '{');
    kn_json_bool(j, "decided", kn_order_decided(o));
    if (o->undecided) {
        kn_json_str(j, "why", o->why);
        kn_json_uint(j, "at", p->inst[o->why_inst].pc);
    }
    kn_json_uint(j, "accesses", o->naccesses);
    kn_json_uint(j, "findings", o->nfindings);
    kn_json_open(j, "not_derived", '[');
    for (uint32_t i = 0; i < o->nopen; i++)
        kn_json_uint(j, NULL, p->inst[o->open[i]].pc);
    kn_json_close(j, ']');
    kn_json_close(j, '}');
}

static void
report_facts(struct kn_tool *t, struct kn_json *j, const struct kn_program *p,
             const struct kn_verdict *v)
{
    const struct kn_check_result *r = &v->bytes;

    if (r->undecided)
        kn_putf(t->text, "  %s\n", r->why);
    if (p->kernel->vgpr_spills + p->kernel->sgpr_spills + p->kernel->scratch)
        kn_putf(t->text, "  %u vector and %u scalar registers are spilled, %u "
                "bytes of scratch a lane\n", p->kernel->vgpr_spills,
                p->kernel->sgpr_spills, p->kernel->scratch);
    kn_json_str(j, "kernel", p->kernel->name);
    kn_json_bool(j, "clean", kn_verdict_clean(v));
    kn_json_bool(j, "undecided", r->undecided);
    kn_json_uint(j, "findings",
                 r->nfindings + v->order.nfindings + (v->claim != NULL));
    kn_json_uint(j, "advice", r->nadvice);
    kn_json_uint(j, "wait_states", r->wait_states);
    kn_json_uint(j, "spills", p->kernel->vgpr_spills + p->kernel->sgpr_spills);
    kn_json_uint(j, "lds", p->kernel->lds);
}

static void
report_result(struct kn_tool *t, struct kn_json *j,
              const struct kn_program *p, const struct kn_verdict *v)
{
    const struct kn_check_result *r = &v->bytes;

    put_verdict(t, v);
    kn_putf(t->text, " %s: %" PRIu32 " instructions, %" PRIu32 " waits, %"
            PRIu32 " LDS accesses", p->kernel->name, p->n, r->waits,
            v->order.naccesses);
    if (r->nadvice)
        kn_putf(t->text, ", advice %" PRIu32, r->nadvice);
    kn_put(t->text, "\n");
    if (v->claim)
        kn_putf(t->text, "  %s\n", v->claim);
    kn_json_open(j, NULL, '{');
    kn_json_open(j, "found", '[');
    put_findings(t, j, p, r->finding, r->nkept);
    put_findings(t, j, p, v->order.finding, v->order.nfindings);
    kn_json_close(j, ']');
    if (v->claim)
        kn_json_str(j, "certificate_claims", v->claim);
    report_order(t, j, p, &v->order);
    report_facts(t, j, p, v);
    kn_json_close(j, '}');
}

static kiln_status
check_kernel(struct kn_tool *t, struct kn_json *j, const struct kn_program *p,
             const struct certificate *cert, kiln_status *status)
{
    struct kn_verdict v;

    KN_TRY(kn_verdict_find(t->c, p, cert->given ? (const char *)cert->text
                                                : NULL, cert->size, &v));
    *status = status_of(t, &v);
    report_result(t, j, p, &v);
    if (!cert->given && kn_kernel_is_own(p->kernel))
        kn_put(t->text, "  a kernel of kiln without its certificate: the bytes "
               "alone are judged, not the domain they were proven for\n");
    return KILN_OK;
}

/* Every kernel of an object; the worst verdict so far stays in *worst. */
static kiln_status
check_kernels(struct kn_tool *t, struct kn_json *j, const struct kn_object *o,
              const struct certificate *cert, kiln_status *worst)
{
    for (uint32_t k = 0; k < o->nkernels; k++) {
        struct kn_program p;
        kiln_status s;

        KN_TRY(kn_decode(t->c, o, &o->kernels[k], false, &p));
        KN_TRY(check_kernel(t, j, &p, cert, &s));
        if (s == KILN_FINDING || !*worst)
            *worst = s;
    }
    return KILN_OK;
}

static kiln_status
end_report(struct kn_tool *t, struct kn_json *j, const char *path,
           kiln_status worst)
{
    kn_json_close(j, ']');
    kn_json_close(j, '}');
    KN_TRY(kn_report_write(t, j));
    if (worst == KILN_UNSUPPORTED)
        return kn_fail(t->c, worst, "%s: undecided", path);
    return worst;
}

kiln_status
kn_check_object(struct kn_tool *t, const char *path, const uint8_t *bytes,
                size_t size)
{
    struct kn_json j = { .b = { .c = t->c } };
    struct certificate cert = { 0 };
    struct kn_object o;
    kiln_status worst = KILN_OK;

    KN_TRY(kn_object_read(t->c, path, bytes, size, &o));
    KN_TRY(read_certificate(t->c, path, &cert));
    kn_json_open(&j, NULL, '{');
    kn_json_bool(&j, "certificate", cert.given);
    kn_json_open(&j, "kernels", '[');
    KN_TRY(check_kernels(t, &j, &o, &cert, &worst));
    return end_report(t, &j, path, worst);
}

/* As of a code object with its certificate beside it. */
static kiln_status
check_entry(struct kn_tool *t, struct kn_json *j, const struct kn_bundle *b,
            uint32_t i, kiln_status *worst)
{
    struct certificate cert = { 0 };
    const uint8_t *co;
    const char *text;
    struct kn_object o;
    size_t size;

    KN_TRY(kn_bundle_code(t->c, b, i, &co, &size));
    KN_TRY(kn_object_read(t->c, "the bundle's code object", co, size, &o));
    KN_TRY(kn_bundle_certificate(t->c, b, i, &text, &cert.size));
    cert.given = cert.size > 0;
    cert.text = (uint8_t *)(uintptr_t)text;
    return check_kernels(t, j, &o, &cert, worst);
}

static void
report_certificates(struct kn_tool *t, struct kn_json *j,
                    const struct kn_bundle *b)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->head.nentries; i++)
        n += b->entry[i].cert_size > 0;
    kn_putf(t->text, "          %u with a certificate, replayed below\n", n);
    kn_json_uint(j, "certificates", n);
}

kiln_status
kn_check_bundle(struct kn_tool *t, const char *path)
{
    const struct kn_host host = { t->c->realloc, t->c->user };
    struct kn_json j = { .b = { .c = t->c } };
    kiln_status worst = KILN_OK, s = KILN_OK;
    struct kn_bundle *b = NULL;

    KN_TRY(kn_bundle_open(t->c, &host, path, &b));
    kn_putf(t->text, "bundle    %u kernels, digests of index and code agree\n",
            b->head.nentries);
    kn_json_open(&j, NULL, '{');
    report_certificates(t, &j, b);
    kn_json_open(&j, "kernels", '[');
    for (uint32_t i = 0; i < b->head.nentries && !s; i++)
        s = check_entry(t, &j, b, i, &worst);
    kn_bundle_release(b);
    return s ? s : end_report(t, &j, path, worst);
}
