/* check_object.c - the static checker on a code object: its certificate, if
 * there is one, replayed on the disassembled bytes. */
#include "check_object.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "../emit/cert.h"
#include "../runtime/api/bundle.h"
#include "../runtime/file.h"
#include "report.h"

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

static void
report_result(struct kn_tool *t, struct kn_json *j,
              const struct kn_program *p, const struct kn_check_result *r)
{
    bool clean = !r->nfindings && !r->undecided;

    kn_putf(t->text, "%s %s: %" PRIu32 " instructions, %" PRIu32 " waits, %"
            PRIu32 " LDS accesses attributed\n",
            clean ? "clean    " : r->nfindings ? "FINDING  " : "undecided",
            p->kernel->name, p->n, r->waits, r->accesses);
    for (uint32_t i = 0; i < r->nfindings && i < KN_CHECK_KEPT; i++)
        kn_putf(t->text, "  at 0x%" PRIx64 ": %s\n",
                p->inst[r->finding[i].inst].pc, r->finding[i].text);
    if (r->undecided)
        kn_putf(t->text, "  %s\n", r->why);
    if (p->kernel->vgpr_spills + p->kernel->sgpr_spills + p->kernel->scratch)
        kn_putf(t->text, "  %u vector and %u scalar registers are spilled, %u "
                "bytes of scratch a lane\n", p->kernel->vgpr_spills,
                p->kernel->sgpr_spills, p->kernel->scratch);
    kn_json_open(j, NULL, '{');
    kn_json_str(j, "kernel", p->kernel->name);
    kn_json_bool(j, "clean", clean);
    kn_json_bool(j, "undecided", r->undecided);
    kn_json_uint(j, "findings", r->nfindings);
    kn_json_uint(j, "wait_states", r->wait_states);
    kn_json_uint(j, "spills", p->kernel->vgpr_spills + p->kernel->sgpr_spills);
    kn_json_uint(j, "lds", p->kernel->lds);
    kn_json_close(j, '}');
}

/* A claim of the certificate that the bytes refute is a finding like any. */
static kiln_status
check_kernel(struct kn_tool *t, struct kn_json *j, const struct kn_program *p,
             const struct certificate *cert)
{
    struct kn_check_result r;
    struct kn_slots slots;

    if (cert->given) {
        kiln_status s = kn_cert_read(t->c, (const char *)cert->text,
                                     cert->size, p, &slots);

        if (s == KILN_FINDING) {
            kn_putf(t->text, "FINDING   %s: %s\n", p->kernel->name,
                    t->c->err.text);
            memset(&t->c->err, 0, sizeof t->c->err);
            return KILN_FINDING;
        }
        KN_TRY(s);
    }
    KN_TRY(kn_check_program(t->c, p, cert->given ? &slots : NULL, &r));
    report_result(t, j, p, &r);
    return r.nfindings ? KILN_FINDING : r.undecided ? KILN_BAD_INPUT : KILN_OK;
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
        s = check_kernel(t, j, &p, cert);
        if (s > KILN_BAD_INPUT || (s && t->c->err.status))
            return s;
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
    if (worst == KILN_BAD_INPUT)
        return kn_fail(t->c, KILN_BAD_INPUT, "%s: undecided", path);
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
