/* cert_read.c - reads certificates and holds them to the program they are of. */
#include "cert.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void
spread(const json_t *places, const json_t *lines, const struct kn_program *p,
       struct kn_ctx *c, const char **out)
{
    size_t k = 0, n = json_array_size(lines);
    const char *now = NULL;

    for (uint32_t i = 0; i < p->n; i++) {
        for (; k + 1 < n && (uint64_t)json_integer_value(
                   json_array_get(lines, k)) <= kn_cert_offset(p, i); k += 2) {
            const char *s = json_string_value(json_array_get(places, (size_t)
                json_integer_value(json_array_get(lines, k + 1))));

            now = s && *s ? kn_strdup(c, s) : NULL;
        }
        out[i] = now;
    }
}

kiln_status
kn_cert_places(struct kn_ctx *c, const char *text, size_t size,
               const struct kn_program *p, const char ***out)
{
    json_error_t err;
    json_t *root = json_loadb(text, size, 0, &err);
    const char *name = json_string_value(json_object_get(root, "kernel"));

    *out = KN_NEW(c, const char *, p->n + 1);
    if (name && !strcmp(name, p->kernel->name))
        spread(json_object_get(root, "places"), json_object_get(root, "lines"),
               p, c, *out);
    json_decref(root);
    return KILN_OK;
}

static kiln_status
bad(struct kn_ctx *c, const char *what)
{
    return kn_fail(c, KILN_BAD_INPUT, "the certificate %s", what);
}

/* The claimed wait must be one; that it covers is for the checker to prove. */
static kiln_status
check_claim(struct kn_ctx *c, const struct kn_program *p, const json_t *e,
            const char *key, uint16_t op)
{
    const json_t *v = json_object_get(e, key);
    int32_t n;

    if (!v)
        return KILN_OK;
    n = kn_program_at(p, p->inst[0].pc + (uint64_t)json_integer_value(v));
    if (n < 0 || p->inst[n].op != op)
        return kn_fail(c, KILN_FINDING, "the certificate's %s at offset %lld "
                       "is not there", key, (long long)json_integer_value(v));
    return KILN_OK;
}

/* What an entry calls an instruction is for the bytes to say. */
static bool
may_be(const struct kn_inst *i, int kind)
{
    if (kind >= KN_ACC_STAGGER)
        return i->op == KN_I_s_barrier;
    if (!kn_isa[i->op].counter)
        return false;
    return kn_lds_kind(i) == (kind > 0 ? kind : KN_ACC_NONE);
}

static kiln_status
read_entry(struct kn_ctx *c, const struct kn_program *p, const json_t *e,
           const struct kn_slots *out)
{
    const char *kind = json_string_value(json_object_get(e, "kind"));
    int64_t at = json_integer_value(json_object_get(e, "at"));
    int64_t slot = json_integer_value(json_object_get(e, "slot"));
    int64_t more = json_integer_value(json_object_get(e, "more"));
    int32_t n = kn_program_at(p, p->inst[0].pc + (uint64_t)at);
    int k = kind ? kn_name_index(kn_cert_kinds, KN_ACC_KINDS, kind) : -1;

    if (!kind || slot < 0 || more < 0 || more > UINT8_MAX ||
        slot + more >= (out->n ? out->n : 1))
        return bad(c, "has an entry without kind or with a wrong slot");
    if (n >= 0 && out->access[n].kind)
        return bad(c, "has two entries of one instruction");
    if (n < 0 || !may_be(&p->inst[n], k))
        return kn_fail(c, KILN_FINDING, "the certificate speaks of an "
                       "asynchronous instruction at offset %lld, which is not "
                       "there", (long long)at);
    if (k > 0)
        out->access[n] = (struct kn_access){
            (uint8_t)k,
            (uint8_t)json_integer_value(json_object_get(e, "own")),
            (uint16_t)slot, (uint8_t)more };
    KN_TRY(check_claim(c, p, e, "wait", KN_I_s_waitcnt));
    return check_claim(c, p, e, "barrier", KN_I_s_barrier);
}

static kiln_status
check_wait(struct kn_ctx *c, const struct kn_program *p, const json_t *w)
{
    int64_t at = json_integer_value(json_array_get(w, 0));
    int32_t n = kn_program_at(p, p->inst[0].pc + (uint64_t)at);
    bool barrier = json_array_size(w) == 1;
    const struct kn_inst *i = n < 0 ? NULL : &p->inst[n];

    if (!i || i->op != (barrier ? KN_I_s_barrier : KN_I_s_waitcnt) ||
        (!barrier &&
         (i->vm != json_integer_value(json_array_get(w, 1)) ||
          i->lgkm != json_integer_value(json_array_get(w, 2)))))
        return kn_fail(c, KILN_FINDING, "the certificate's %s at offset %lld "
                       "is not there", barrier ? "barrier" : "wait",
                       (long long)at);
    return KILN_OK;
}

/* A wait or barrier that the list leaves out would change unnoticed. */
static kiln_status
check_waits(struct kn_ctx *c, const struct kn_program *p, const json_t *waits)
{
    uint64_t last = 0;
    size_t k = 0;

    for (uint32_t n = 0; n < p->n; n++) {
        const json_t *w = json_array_get(waits, k);
        int64_t at = json_integer_value(json_array_get(w, 0));

        if (p->inst[n].op != KN_I_s_waitcnt && p->inst[n].op != KN_I_s_barrier)
            continue;
        if (!w || (uint64_t)at > kn_cert_offset(p, n) ||
            (k && (uint64_t)at <= last))
            return kn_fail(c, KILN_FINDING, "the %s at 0x%llx is not in the "
                           "certificate", kn_isa[p->inst[n].op].mnemonic,
                           (unsigned long long)p->inst[n].pc);
        KN_TRY(check_wait(c, p, w));
        last = (uint64_t)at;
        k++;
    }
    return k == json_array_size(waits) ? KILN_OK
         : check_wait(c, p, json_array_get(waits, k));
}

/* Last, since the others say what changed. */
static kiln_status
check_digest(struct kn_ctx *c, const struct kn_program *p, const json_t *root)
{
    const char *text = json_string_value(json_object_get(root, "code"));

    if (!text)
        return bad(c, "has no digest of the code");
    if (strtoull(text, NULL, 16) == kn_cert_digest(p))
        return KILN_OK;
    return kn_fail(c, KILN_FINDING, "the code is not that of the certificate: "
                   "its digest is %016llx, not %.16s",
                   (unsigned long long)kn_cert_digest(p), text);
}

/* Bytes a certificate has at most, and for each instruction: an entry is 200
 * and two paths long at most. */
enum { OF_HEAD = 1 << 16, OF_INST = 1 << 13, MOST_SLOTS = 4096 };

static kiln_status
read_entries(struct kn_ctx *c, const json_t *root, const struct kn_program *p,
             struct kn_slots *out)
{
    const json_t *list = json_object_get(root, "asynchronous");
    const json_t *waits = json_object_get(root, "waits");
    const char *name = json_string_value(json_object_get(root, "kernel"));

    out->access = KN_NEW(c, struct kn_access, p->n + 1);
    if (json_integer_value(json_object_get(root, "kiln_certificate")) != 1 ||
        !json_is_array(list) || !name)
        return bad(c, "is not one of kiln, version 1");
    if (strcmp(name, p->kernel->name))
        return kn_fail(c, KILN_BAD_INPUT, "the certificate is for kernel %s, "
                       "the object has %s", name, p->kernel->name);
    if (json_array_size(list) > p->n || json_array_size(waits) > p->n ||
        json_array_size(json_object_get(root, "slots")) > MOST_SLOTS ||
        json_array_size(json_object_get(root, "lines")) > 2 * (size_t)p->n ||
        json_array_size(json_object_get(root, "places")) > (size_t)p->n + 1)
        return bad(c, "has more entries than the code has instructions");
    out->n = (uint32_t)json_array_size(json_object_get(root, "slots"));
    for (size_t i = 0; i < json_array_size(list); i++)
        KN_TRY(read_entry(c, p, json_array_get(list, i), out));
    KN_TRY(check_waits(c, p, waits));
    for (uint32_t n = 0; n < p->n; n++)
        if (kn_lds_kind(&p->inst[n]) && !out->access[n].kind)
            return kn_fail(c, KILN_FINDING, "the LDS access at 0x%llx is not "
                           "in the certificate",
                           (unsigned long long)p->inst[n].pc);
    return check_digest(c, p, root);
}

kiln_status
kn_cert_read(struct kn_ctx *c, const char *text, size_t size,
             const struct kn_program *p, struct kn_slots *out)
{
    json_error_t err;
    json_t *root;
    kiln_status s;

    if (size > OF_HEAD + (size_t)p->n * OF_INST)
        return bad(c, "is longer than one of this code can be");
    root = json_loadb(text, size, 0, &err);
    if (!root)
        return kn_fail(c, KILN_BAD_INPUT, "the certificate is no JSON: line "
                       "%d: %s", err.line, err.text);
    s = read_entries(c, root, p, out);
    json_decref(root);
    return s;
}
