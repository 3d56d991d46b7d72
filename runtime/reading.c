/* reading.c - a code object as comgr and as kiln itself reads it. */
#include "reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../emit/isa/object.h"

/* ---- comgr: its lines "amdhsa.kernels[0].name = gemm" -------------------- */

static const struct {
    const char *key;
    size_t at;
} numbers[] = {
#define NAME(field, key) { key, offsetof(struct kn_read_kernel, field) },
    KN_READ_NUMBERS(NAME)
#undef NAME
};
enum { NNUMBERS = sizeof numbers / sizeof *numbers };

static const char kernels[] = "amdhsa.kernels[";

/* A line of the metadata of one kernel. */
struct line {
    size_t kernel;
    char *key, *value;
};

/* Cuts the line into its parts; false: it is about something else. */
static bool
cut_line(char *s, struct line *out)
{
    char *dot, *is = strstr(s, " = ");

    if (strncmp(s, kernels, sizeof kernels - 1) || !is)
        return false;
    out->kernel = strtoul(s + sizeof kernels - 1, &dot, 10);
    if (strncmp(dot, "].", 2) || dot > is)
        return false;
    *is = 0;
    out->key = dot + 2;
    out->value = is + 3;
    return true;
}

static uint32_t *
number_of(struct kn_read_kernel *k, const char *key)
{
    for (size_t i = 0; i < NNUMBERS; i++)
        if (!strcmp(key, numbers[i].key))
            return (uint32_t *)((char *)k + numbers[i].at);
    return NULL;
}

/* An argument's end, whose offset comes before its size in comgr's order. */
static void
take_argument(struct kn_read_kernel *k, const char *key, uint32_t value,
              uint32_t *offset)
{
    const char *field = strrchr(key, '.');

    if (field && !strcmp(field, ".offset"))
        *offset = value;
    if (field && !strcmp(field, ".size") && *offset + value > k->kernarg)
        k->kernarg = *offset + value;
}

static void
take_line(struct kn_ctx *c, const struct line *l, struct kn_read_kernel *k,
          uint32_t *offset)
{
    uint32_t value = (uint32_t)strtoul(l->value, NULL, 10);
    uint32_t *number = number_of(k, l->key);

    if (number)
        *number = value;
    else if (!strcmp(l->key, "name"))
        k->name = kn_strdup(c, l->value);
    else if (!strncmp(l->key, "args[", 5))
        take_argument(k, l->key, value, offset);
    else if (!strcmp(l->key, "kernarg_segment_size") && value > k->kernarg)
        k->kernarg = value;
}

static void
take_text(struct kn_ctx *c, char *text, struct kn_reading *out)
{
    uint32_t offset = 0;
    size_t lines = 0;
    struct line l;
    char *next;

    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    out->kernels = KN_NEW(c, struct kn_read_kernel, lines + 1);
    for (char *s = text; s && *s; s = next) {
        next = strchr(s, '\n');
        if (next)
            *next++ = 0;
        if (!cut_line(s, &l) || l.kernel >= lines)
            continue;
        take_line(c, &l, &out->kernels[l.kernel], &offset);
        if (l.kernel >= out->n)
            out->n = (uint32_t)l.kernel + 1;
    }
}

static kiln_status
take_descriptors(struct kn_ctx *c, const struct kn_comgr_symbols *y,
                 struct kn_reading *out)
{
    for (uint32_t i = 0; i < out->n; i++) {
        struct kn_read_kernel *k = &out->kernels[i];
        size_t n = k->name ? strlen(k->name) : 0, j = 0;

        while (j < y->n && (!n || strncmp(y->sym[j].name, k->name, n) ||
                            strcmp(y->sym[j].name + n, ".kd")))
            j++;
        if (j == y->n)
            return kn_fail(c, KILN_BAD_INPUT, "%s reads kernel %s in the "
                           "metadata and finds no descriptor of it", out->by,
                           n ? k->name : "(without a name)");
        k->kd = y->sym[j].value;
    }
    return KILN_OK;
}

static const char *
name_of(struct kn_ctx *c, const struct kn_comgr *g)
{
    struct kn_comgr_version v = kn_comgr_version(g);
    struct kn_buf b = { .c = c };

    kn_putf(&b, "comgr %u.%u", v.major, v.minor);
    return b.s;
}

static kiln_status
read_by_comgr(struct kn_ctx *c, struct kn_comgr *g, struct kn_bytes co,
              struct kn_reading *out)
{
    struct kn_comgr_symbols y;
    struct kn_comgr_isa isa;
    struct kn_buf text = { .c = c };

    out->by = name_of(c, g);
    KN_TRY(kn_comgr_isa_name(g, c, co, &isa));
    out->isa = isa.name;
    out->isa_by = isa.by_flags ? "ELF flags" : out->by;
    KN_TRY(kn_comgr_metadata(g, c, co, &text));
    KN_TRY(kn_comgr_symbols(g, c, co, &y));
    take_text(c, text.s ? text.s : kn_strdup(c, ""), out);
    return take_descriptors(c, &y, out);
}

/* ---- kiln ---------------------------------------------------------------- */

static kiln_status
read_ourselves(struct kn_ctx *c, struct kn_bytes co, struct kn_reading *out)
{
    struct kn_buf isa = { .c = c };
    struct kn_object o;

    KN_TRY(kn_object_read(c, "the code object", co.p, co.n, &o));
    kn_putf(&isa, "%s%s", o.target ? "amdgcn-amd-amdhsa--" : "",
            o.target ? kiln_target_name(o.target) : "");
    *out = (struct kn_reading){ "kiln", isa.s, "ELF flags", 0, NULL };
    out->kernels = KN_NEW(c, struct kn_read_kernel, o.nkernels + 1);
    for (uint32_t i = 0; i < o.nkernels; i++) {
        const struct kn_object_kernel *k = &o.kernels[i];

        out->kernels[out->n++] = (struct kn_read_kernel){
            .name = k->name,
            .kd = k->kd_addr,
            .kernarg = k->kernarg_size,
#define NAME(field, key) .field = k->field,
            KN_READ_NUMBERS(NAME)
#undef NAME
        };
    }
    return KILN_OK;
}

kiln_status
kn_reading_take(struct kn_ctx *c, struct kn_comgr *g, struct kn_bytes co,
                struct kn_reading *out)
{
    *out = (struct kn_reading){ 0 };
    return g ? read_by_comgr(c, g, co, out) : read_ourselves(c, co, out);
}

/* ---- the two side by side ------------------------------------------------ */

static const struct kn_read_kernel *
find_kernel(const struct kn_reading *r, const char *name)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (!strcmp(r->kernels[i].name, name))
            return &r->kernels[i];
    return NULL;
}

static kiln_status
differ(struct kn_ctx *c, const struct kn_reading *theirs,
       const struct kn_read_kernel *k, const char *what)
{
    return kn_fail(c, KILN_BAD_INPUT, "%s and kiln read '%s' of kernel %s "
                   "differently: it is not loaded", theirs->by, what, k->name);
}

/* kiln counts the descriptor's word on the arguments too, which may be more. */
static kiln_status
compare_kernel(struct kn_ctx *c, const struct kn_reading *theirs,
               struct kn_read_kernel *k, const struct kn_read_kernel *o)
{
    struct kn_read_kernel own = *o;

    if (k->kd != own.kd)
        return differ(c, theirs, k, "kd");
    if (k->kernarg > own.kernarg)
        return differ(c, theirs, k, "kernarg_segment_size");
    for (size_t i = 0; i < NNUMBERS; i++)
        if (*number_of(k, numbers[i].key) != *number_of(&own, numbers[i].key))
            return differ(c, theirs, k, numbers[i].key);
    return KILN_OK;
}

/* By target: comgr may add features, and may leave the name to the flags. */
static bool
same_isa(const char *a, const char *b)
{
    size_t n = strcspn(a, ":");

    return n == strcspn(b, ":") && !strncmp(a, b, n);
}

kiln_status
kn_reading_compare(struct kn_ctx *c, const struct kn_reading *theirs,
                   const struct kn_reading *own)
{
    if (*own->isa && !same_isa(theirs->isa, own->isa))
        return kn_fail(c, KILN_BAD_INPUT, "%s calls the code object's ISA %s, "
                       "kiln %s: it is not loaded", theirs->isa_by,
                       theirs->isa, own->isa);
    for (uint32_t i = 0; i < theirs->n; i++) {
        struct kn_read_kernel *k = &theirs->kernels[i];
        const struct kn_read_kernel *o = find_kernel(own, k->name);

        if (!o)
            return differ(c, theirs, k, "name");
        KN_TRY(compare_kernel(c, theirs, k, o));
    }
    return KILN_OK;
}

/* ---- a device's ---------------------------------------------------------- */

kiln_status
kn_reader_open(struct kn_ctx *c, const char *library, struct kn_reader *out)
{
    const kiln_error before = c->err;
    struct kn_comgr_version v = { 0 };

    memset(out, 0, sizeof *out);
    if (kn_comgr_open(c, library, &out->comgr)) {
        out->comgr = NULL;
        c->err = before;
    } else {
        v = kn_comgr_version(out->comgr);
    }
    snprintf(out->name, sizeof out->name, out->comgr ? "comgr %u.%u" : "kiln",
             v.major, v.minor);
    return KILN_OK;
}

/* kiln's own search where comgr is absent or does not know the target. */
static kiln_status
pick(struct kn_reader *r, struct kn_ctx *c, kiln_target t, struct kn_bytes in,
     struct kn_bytes *out)
{
    if (r->comgr && kn_comgr_picks(r->comgr, t))
        KN_TRY(kn_comgr_pick(r->comgr, c, t, in, out));
    else
        out->p = kn_offload_find(t, in.p, in.n, &out->n);
    if (out->p)
        return KILN_OK;
    return kn_fail(c, KILN_BAD_INPUT, "the offload bundle has no code for %s",
                   kiln_target_name(t));
}

/* The device's ISA, as comgr spells it if it knows it. */
static const char *
isa_of(struct kn_reader *r, struct kn_ctx *c, kiln_target t)
{
    const char *isa = r->comgr ? kn_comgr_target(r->comgr, t) : NULL;
    struct kn_buf b = { .c = c };

    if (isa)
        return isa;
    kn_putf(&b, "amdgcn-amd-amdhsa--%s", kiln_target_name(t));
    return b.s;
}

kiln_status
kn_reader_select(struct kn_reader *r, struct kn_ctx *c,
                 const struct kn_wanted *want, struct kn_bytes in,
                 struct kn_bytes *out)
{
    struct kn_reading own, theirs;
    const char *isa;

    KN_ENTER(c);
    isa = isa_of(r, c, want->target);
    *out = in;
    if (kn_is_offload(in.p, in.n))
        KN_TRY(pick(r, c, want->target, in, out));
    KN_TRY(kn_reading_take(c, NULL, *out, &own));
    theirs = own;
    if (r->comgr) {
        KN_TRY(kn_reading_take(c, r->comgr, *out, &theirs));
        KN_TRY(kn_reading_compare(c, &theirs, &own));
    }
    if (!same_isa(theirs.isa, isa))
        return kn_fail(c, KILN_BAD_INPUT, "the code object is for %s (%s), "
                       "the device is %s", theirs.isa, theirs.isa_by, isa);
    return find_kernel(&own, want->kernel)
               ? KILN_OK
               : kn_fail(c, KILN_BAD_INPUT, "the code object has no kernel "
                         "%s", want->kernel);
}
