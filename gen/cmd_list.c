/* cmd_list.c - `kilnc list`: what there is, from the tables. */
#include "json.h"
#include "report.h"

static const char *const targets[] = {
#define X(id, text) text,
    KILN_TARGETS(X)
#undef X
};

static const struct table {
    const char *name;
    const char *const *row;
    int first, n;
} tables[] = {
    { "families", kn_family_names, 0, KILN_NFAMILIES },
    { "types", kn_type_names, KILN_TYPE_NONE + 1, KILN_NTYPES },
    { "layouts", kn_layout_names, 0, KILN_NLAYOUTS },
    { "scales", kn_scale_names, 0, KILN_NSCALES },
    { "targets", targets, 0, KILN_NTARGETS - 1 },
};

kiln_status
kn_cmd_list(struct kn_tool *t)
{
    struct kn_json j = { .b = { .c = t->c } };

    kn_json_open(&j, NULL, '{');
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        kn_putf(t->text, "%-9s", tables[i].name);
        kn_json_open(&j, tables[i].name, '[');
        for (int r = tables[i].first; r < tables[i].n; r++) {
            kn_putf(t->text, " %s", tables[i].row[r]);
            kn_json_str(&j, NULL, tables[i].row[r]);
        }
        kn_put(t->text, "\n");
        kn_json_close(&j, ']');
    }
    kn_json_close(&j, '}');
    return kn_report_write(t, &j);
}
