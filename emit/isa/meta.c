/* meta.c - the NT_AMDGPU_METADATA note: LLVM AMDGPUUsage, "Code Object V3
 * Metadata" and its V4, V5 additions. Unknown keys are passed over. */
#include "elfview.h"

#include <stddef.h>
#include <string.h>

#include "msgpack.h"

/* A map with .name and .symbol takes this many bytes at least: a bound on
 * what a lying array length can make us allocate. */
enum { MIN_KERNEL = 17 };

/* Keys whose value is a number below 2^32, and where it goes. */
struct number_key {
    const char *key;
    size_t offset;
};
#define FIELD(T, key, f) { key, offsetof(struct T, f) }
static const struct number_key kernel_numbers[] = {
    FIELD(kn_object_kernel, ".group_segment_fixed_size", lds),
    FIELD(kn_object_kernel, ".private_segment_fixed_size", scratch),
    FIELD(kn_object_kernel, ".kernarg_segment_size", kernarg_size),
    FIELD(kn_object_kernel, ".kernarg_segment_align", kernarg_align),
    FIELD(kn_object_kernel, ".vgpr_count", vgpr),
    FIELD(kn_object_kernel, ".agpr_count", agpr),
    FIELD(kn_object_kernel, ".sgpr_count", sgpr),
    FIELD(kn_object_kernel, ".vgpr_spill_count", vgpr_spills),
    FIELD(kn_object_kernel, ".sgpr_spill_count", sgpr_spills),
    FIELD(kn_object_kernel, ".max_flat_workgroup_size", max_workgroup),
    FIELD(kn_object_kernel, ".wavefront_size", wavefront),
    { NULL, 0 }
};
static const struct number_key arg_numbers[] = {
    FIELD(kn_kernel_arg, ".offset", offset),
    FIELD(kn_kernel_arg, ".size", size),
    { NULL, 0 }
};

struct reader {
    const struct kn_elf *e;
    struct kn_mp m;
};

static kiln_status
malformed(const struct reader *r, const char *what)
{
    return kn_fail(r->e->c, KILN_BAD_INPUT, "%s: metadata: malformed %s",
                   r->e->name, what);
}

static kiln_status
read_number(struct reader *r, const struct number_key *table,
            const struct kn_mp_item *key, void *out, bool *known)
{
    struct kn_mp_item v;
    uint32_t u;

    *known = false;
    while (table->key && !kn_mp_equal(key, table->key))
        table++;
    if (!table->key)
        return KILN_OK;
    *known = true;
    if (!kn_mp_expect(&r->m, KN_MP_UINT, &v) || v.u > UINT32_MAX)
        return malformed(r, table->key);
    u = (uint32_t)v.u;
    memcpy((char *)out + table->offset, &u, sizeof u);
    return KILN_OK;
}

static kiln_status
read_string(struct reader *r, const char *what, const char **out)
{
    struct kn_mp_item v;

    if (!kn_mp_expect(&r->m, KN_MP_STR, &v) || memchr(v.s, 0, v.n))
        return malformed(r, what);
    *out = kn_strndup(r->e->c, v.s, v.n);
    return KILN_OK;
}

static enum kn_arg_kind
arg_kind(const char *value_kind)
{
    if (!strcmp(value_kind, "by_value"))
        return KN_ARG_BY_VALUE;
    if (!strcmp(value_kind, "global_buffer"))
        return KN_ARG_GLOBAL_BUFFER;
    if (!strcmp(value_kind, "dynamic_shared_pointer"))
        return KN_ARG_DYNAMIC_LDS;
    if (!strncmp(value_kind, "hidden_", 7))
        return KN_ARG_HIDDEN;
    return KN_ARG_OTHER;
}

static kiln_status
read_arg(struct reader *r, struct kn_kernel_arg *a)
{
    struct kn_mp_item map, key;

    a->name = a->value_kind = "";
    if (!kn_mp_expect(&r->m, KN_MP_MAP, &map))
        return malformed(r, "argument");
    for (uint32_t i = 0; i < map.n; i++) {
        bool known;

        if (!kn_mp_expect(&r->m, KN_MP_STR, &key))
            return malformed(r, "argument");
        KN_TRY(read_number(r, arg_numbers, &key, a, &known));
        if (known)
            continue;
        if (kn_mp_equal(&key, ".name"))
            KN_TRY(read_string(r, ".name", &a->name));
        else if (kn_mp_equal(&key, ".value_kind"))
            KN_TRY(read_string(r, ".value_kind", &a->value_kind));
        else if (!kn_mp_skip(&r->m))
            return malformed(r, "argument");
    }
    a->kind = arg_kind(a->value_kind);
    return KILN_OK;
}

static kiln_status
read_args(struct reader *r, struct kn_object_kernel *k)
{
    struct kn_mp_item array;

    if (k->args || !kn_mp_expect(&r->m, KN_MP_ARRAY, &array))
        return malformed(r, ".args");
    k->nargs = array.n;
    k->args = KN_NEW(r->e->c, struct kn_kernel_arg, array.n);
    for (uint32_t i = 0; i < array.n; i++)
        KN_TRY(read_arg(r, &k->args[i]));
    return KILN_OK;
}

static kiln_status
read_kernel_key(struct reader *r, const struct kn_mp_item *key,
                struct kn_meta_kernel *m)
{
    bool known;

    KN_TRY(read_number(r, kernel_numbers, key, &m->k, &known));
    if (known)
        return KILN_OK;
    if (kn_mp_equal(key, ".name"))
        return read_string(r, ".name", &m->k.name);
    if (kn_mp_equal(key, ".symbol"))
        return read_string(r, ".symbol", &m->symbol);
    if (kn_mp_equal(key, ".args"))
        return read_args(r, &m->k);
    return kn_mp_skip(&r->m) ? KILN_OK : malformed(r, "kernel");
}

static kiln_status
read_kernel(struct reader *r, struct kn_meta_kernel *m)
{
    struct kn_mp_item map, key;

    if (!kn_mp_expect(&r->m, KN_MP_MAP, &map))
        return malformed(r, "kernel");
    for (uint32_t i = 0; i < map.n; i++) {
        if (!kn_mp_expect(&r->m, KN_MP_STR, &key))
            return malformed(r, "kernel");
        KN_TRY(read_kernel_key(r, &key, m));
    }
    if (!m->symbol || !m->k.name)
        return kn_fail(r->e->c, KILN_BAD_INPUT,
                       "%s: metadata: a kernel without .name or .symbol",
                       r->e->name);
    return KILN_OK;
}

/* Reads with `read` what the note has under `name`; nothing without a note. */
static kiln_status
read_note(const struct kn_elf *e, const char *name,
          kiln_status (*read)(struct reader *r, void *user), void *user)
{
    struct reader r = { .e = e };
    struct kn_mp_item map, key;
    const uint8_t *p;
    size_t size;

    KN_TRY(kn_elf_metadata(e, &p, &size));
    if (!p)
        return KILN_OK;
    r.m = (struct kn_mp){ p, p + size };
    if (!kn_mp_expect(&r.m, KN_MP_MAP, &map))
        return malformed(&r, "note: not a map");
    for (uint32_t i = 0; i < map.n; i++) {
        if (!kn_mp_expect(&r.m, KN_MP_STR, &key))
            return malformed(&r, "note");
        if (kn_mp_equal(&key, name))
            KN_TRY(read(&r, user));
        else if (!kn_mp_skip(&r.m))
            return malformed(&r, "note");
    }
    return KILN_OK;
}

struct kernels {
    struct kn_meta_kernel *all;
    uint32_t n;
};

static kiln_status
read_kernels(struct reader *r, void *user)
{
    struct kernels *k = user;
    struct kn_mp_item array;

    if (k->n)
        return malformed(r, "amdhsa.kernels: given twice");
    if (!kn_mp_expect(&r->m, KN_MP_ARRAY, &array) ||
        array.n > (size_t)(r->m.end - r->m.p) / MIN_KERNEL)
        return malformed(r, "amdhsa.kernels");
    k->n = array.n;
    k->all = KN_NEW(r->e->c, struct kn_meta_kernel, array.n);
    for (uint32_t i = 0; i < array.n; i++)
        KN_TRY(read_kernel(r, &k->all[i]));
    return KILN_OK;
}

kiln_status
kn_meta_read(const struct kn_elf *e, struct kn_meta_kernel **out, uint32_t *n)
{
    struct kernels k = { 0 };
    kiln_status s = read_note(e, "amdhsa.kernels", read_kernels, &k);

    *out = k.all;
    *n = k.n;
    return s;
}

static kiln_status
read_formats(struct reader *r, void *user)
{
    struct kn_object *o = user;
    struct kn_mp_item array;

    if (o->nformats || !kn_mp_expect(&r->m, KN_MP_ARRAY, &array))
        return malformed(r, "amdhsa.printf");
    o->formats = KN_NEW(r->e->c, const char *, array.n);
    for (; o->nformats < array.n; o->nformats++)
        KN_TRY(read_string(r, "amdhsa.printf", &o->formats[o->nformats]));
    return KILN_OK;
}

kiln_status
kn_meta_formats(const struct kn_elf *e, struct kn_object *o)
{
    return read_note(e, "amdhsa.printf", read_formats, o);
}

static uint32_t
max32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* lds and scratch stay the descriptor's: that is what the command processor
 * gets. .vgpr_count counts both kinds on targets with one register file. */
void
kn_meta_apply(const struct kn_object_kernel *m, struct kn_object_kernel *k)
{
    k->metadata = true;
    k->name = m->name;
    k->kernarg_size = max32(k->kernarg_size, m->kernarg_size);
    if (m->kernarg_align)
        k->kernarg_align = m->kernarg_align;
    if (m->wavefront)
        k->wavefront = m->wavefront;
    k->vgpr = m->vgpr;
    k->agpr = m->agpr;
    k->sgpr = m->sgpr;
    k->arch_vgpr = m->vgpr;
    if (k->accum_offset && m->agpr)
        k->arch_vgpr = m->vgpr > m->agpr ? m->vgpr - m->agpr : 0;
    k->vgpr_spills = m->vgpr_spills;
    k->sgpr_spills = m->sgpr_spills;
    k->max_workgroup = m->max_workgroup;
    k->nargs = m->nargs;
    k->args = m->args;
}
