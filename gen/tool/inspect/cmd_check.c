/* cmd_check.c - `kilnc check`: the passes and the fence proof on a kernel
 * written as tile IR, of either level. */
#include <string.h>
#include <unistd.h>

#include "../../../runtime/file.h"
#include "inspect.h"
#include "../run/run.h"

/* What the proof was about, in numbers. */
struct contents {
    uint64_t copies, loads, stores, lds_reads, lds_writes, fences, barriers;
};

static struct contents
count(const struct kn_fn *f)
{
    struct contents n = { 0 };

    for (size_t i = 0; i < f->nins; i++)
        switch (f->ins[i].op) {
        case KN_OP_dma: n.copies++; break;
        case KN_OP_ldg: n.loads++; break;
        case KN_OP_stg: n.stores++; break;
        case KN_OP_lds_ld: n.lds_reads++; break;
        case KN_OP_lds_st: n.lds_writes++; break;
        case KN_OP_fence: n.fences++; break;
        case KN_OP_barrier: case KN_OP_stagger: case KN_OP_rejoin:
            n.barriers++;
            break;
        }
    return n;
}

static void
report_ranges(struct kn_tool *t, struct kn_json *j, const struct kn_fn *f)
{
    struct kn_range_facts r;

    if (kn_prove_ranges(f, &r))
        return;              /* it was proven a moment ago */
    if (r.declared)
        kn_putf(t->text, "ranges    %u offsets and %u record counts hold over "
                "the declared ranges; %u clamps bound what may wrap\n",
                r.offsets, r.records, r.guards);
    else
        kn_put(t->text, "ranges    not proven: no argument declares max=\n");
    kn_json_bool(j, "ranges_declared", r.declared);
    kn_json_uint(j, "offsets", r.offsets);
    kn_json_uint(j, "record_counts", r.records);
    kn_json_uint(j, "guards", r.guards);
    for (size_t i = 0; f->shape.mfma >= 0 && i < f->nlds; i++)
        kn_putf(t->text, "lds       %%%s: %u extra bank cycles a fragment "
                "read\n", f->lds[i].name, kn_conflicts(f, &f->lds[i]));
}

static void
report_kernel(struct kn_tool *t, struct kn_json *j, const struct kn_fn *f)
{
    struct contents n = count(f);

    kn_putf(t->text, "proven    %s for %s: %llu copies to LDS, %llu loads, "
            "%llu stores, %llu LDS reads, %llu LDS writes; %llu fences, %llu "
            "barriers, %llu bytes of LDS\n", f->name,
            kiln_target_name(f->target), (unsigned long long)n.copies,
            (unsigned long long)n.loads, (unsigned long long)n.stores,
            (unsigned long long)n.lds_reads, (unsigned long long)n.lds_writes,
            (unsigned long long)n.fences, (unsigned long long)n.barriers,
            (unsigned long long)kn_lds_bytes(f));
    report_ranges(t, j, f);
    kn_json_str(j, "arch", kiln_target_name(f->target));
    kn_json_open(j, "kernel", '{');
    kn_json_str(j, "name", f->name);
    kn_json_uint(j, "lds", kn_lds_bytes(f));
    kn_json_uint(j, "fences", n.fences);
    kn_json_uint(j, "barriers", n.barriers);
    kn_json_close(j, '}');
}

static void
report_finding(struct kn_tool *t, struct kn_json *j, const kiln_error *e)
{
    kn_putf(t->text, "finding   %s:%d: %s\n", e->file, e->line, e->text);
    kn_json_open(j, NULL, '{');
    kn_json_str(j, "file", e->file);
    kn_json_int(j, "line", e->line);
    kn_json_str(j, "text", e->text);
    kn_json_close(j, '}');
}

/* What describes a problem says nothing about a file. */
static kiln_status
no_problem(struct kn_tool *t)
{
    for (int i = 0; i < KN_NFLAGS; i++)
        if (t->cli->v[i].seen && kn_flags[i].group <= KN_G_CONFIG)
            return kn_fail(t->c, KILN_BAD_INPUT, "%s is of a problem, and '%s' "
                           "is a file", kn_flags[i].name, t->cli->pos[0]);
    return KILN_OK;
}

kiln_status
kn_cmd_check(struct kn_tool *t)
{
    const char *path = t->cli->pos[0];
    struct kn_json j = { .b = { .c = t->c } };
    struct kn_bytes file;
    struct kn_fn *f;
    uint8_t *bytes;
    size_t size;
    kiln_status s;

    if (kn_name_index(kn_family_names, KILN_NFAMILIES, path) >= 0 &&
        access(path, F_OK))
        return kn_check_problem(t, path);
    KN_TRY(kn_file_read_data(t->c, path, &bytes, &size));
    KN_TRY(no_problem(t));
    file = (struct kn_bytes){ bytes, size };
    KN_TRY(kn_code_take(t->c, path, kn_cli_target(t->cli), &file));
    if (file.n >= 4 && !memcmp(file.p, "\177ELF", 4))
        return kn_check_object(t, path, file.p, file.n);
    if (size >= 8 && !memcmp(bytes, "KILNKPK1", 8))
        return kn_check_bundle(t, path);
    KN_TRY(kn_handmade_parse(t->c, path,
                             kn_strndup(t->c, (const char *)bytes, size), &f));
    s = kn_run_passes(&f, NULL, NULL);
    if (s && s != KILN_FINDING)
        return s;
    kn_json_open(&j, NULL, '{');
    if (!s)
        report_kernel(t, &j, f);
    kn_json_open(&j, "findings", '[');
    if (s)
        report_finding(t, &j, &t->c->err);
    kn_json_close(&j, ']');
    kn_json_close(&j, '}');
    memset(&t->c->err, 0, sizeof t->c->err);
    KN_TRY(kn_report_write(t, &j));
    return s;
}
