/* calibrate_read.c - the reports of selftest and bench, as far as calibrate has
 * a use for them. */
#include "calibrate.h"

#include <string.h>

#include "../../../runtime/file.h"

struct report {
    struct kn_calib *to;
    const char *path;
    const char *device;
    size_t times, probes;
    bool known;              /* it is a report */
};

static const char *
text_of(struct report *r, json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return kn_strdup(r->to->c, s ? s : "");
}

static double
number_of(json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static void
add(struct report *r, const struct kn_calib_row *row)
{
    struct kn_calib *x = r->to;

    if (!(row->us > 0) || !(row->predicted > 0))
        return;
    x->row = kn_grow(x->c, x->row, &x->cap, x->n + 1, sizeof *x->row);
    x->row[x->n++] = *row;
    r->times++;
}

/* ---- selftest ----------------------------------------------------------- */

/* "gfx950 gemm ...": what a row's name begins with. */
static const char *
arch_of(struct report *r, const char *name)
{
    return kn_strndup(r->to->c, name, strcspn(name, " "));
}

static void
add_probe(struct report *r, const char *name, json_t *line)
{
    struct kn_calib *x = r->to;
    json_t *shows = json_object_get(line, "shows");
    const char *colon = strstr(name, ": ");
    struct kn_calib_probe p = { .arch = arch_of(r, name) };

    p.name = kn_strdup(x->c, colon ? colon + 2 : name);
    for (size_t i = 0; i < json_array_size(shows) &&
                       p.n < sizeof p.shows / sizeof *p.shows; i++)
        p.shows[p.n++] = json_number_value(json_array_get(shows, i));
    x->probe = kn_grow(x->c, x->probe, &x->probe_cap, x->nprobes + 1,
                       sizeof *x->probe);
    x->probe[x->nprobes++] = p;
}

/* Which models give a matrix instruction's bits; the first is the model's. */
static void
add_fits(struct report *r, const char *name, json_t *fits)
{
    const char *first = json_string_value(json_array_get(fits, 0));
    struct kn_buf *b = &r->to->unfit;

    if (first && !strcmp(first, "cdna3")) {
        r->to->fitting++;
        return;
    }
    kn_putf(b, "          %s: %s\n", name, first ? first : "no model fits");
}

static void
read_line(struct report *r, json_t *line)
{
    const char *name = text_of(r, line, "row");
    json_t *run, *device = json_object_get(line, "device");
    size_t i;

    if (json_object_get(line, "selftest")) {
        r->known = true;
        r->device = text_of(r, device, "name");
    }
    if (json_object_get(line, "shows"))
        add_probe(r, name, line);
    if (json_object_get(line, "fits"))
        add_fits(r, name, json_object_get(line, "fits"));
    r->probes += json_object_get(line, "says") != NULL;
    json_array_foreach(json_object_get(line, "runs"), i, run)
        add(r, &(struct kn_calib_row){
            .arch = arch_of(r, name), .name = name,
            .bound = text_of(r, run, "bound"), .type = text_of(r, run, "type"),
            .us = number_of(run, "measured_us"),
            .predicted = number_of(run, "predicted_us"),
            .low = number_of(run, "low_us"), .high = number_of(run, "high_us"),
            .clock = number_of(run, "clock_ghz"),
            .warm = json_is_true(json_object_get(run, "warm")),
        });
}

/* A line that was cut off is none. */
static void
read_lines(struct report *r, char *text)
{
    char *save = NULL;

    for (char *l = strtok_r(text, "\n", &save); l;
         l = strtok_r(NULL, "\n", &save)) {
        json_t *o = json_loads(l, 0, NULL);

        read_line(r, o);
        json_decref(o);
    }
}

/* ---- bench -------------------------------------------------------------- */

/* Cells are text there. */
static double
cell(json_t *row, const char *key)
{
    const char *s = json_string_value(json_object_get(row, key));
    json_t *v = s && *s ? json_loads(s, JSON_DECODE_ANY, NULL) : NULL;
    double x = json_number_value(v);

    json_decref(v);
    return x;
}

/* What names the problem: every cell before the time. */
static const char *
name_of(struct report *r, json_t *row)
{
    struct kn_buf b = { .c = r->to->c };
    const char *key;
    json_t *v;

    json_object_foreach(row, key, v) {
        if (!strcmp(key, "us"))
            break;
        kn_putf(&b, "%s%s%s%s", b.n ? " " : "",
                strcmp(key, "family") && strcmp(key, "arch") ? key : "",
                strcmp(key, "family") && strcmp(key, "arch") ? "=" : "",
                json_string_value(v));
    }
    return b.s ? b.s : "";
}

static void
read_bench(struct report *r, json_t *root)
{
    const char *kind = text_of(r, root, "kind");
    json_t *row;
    size_t i;

    r->known = true;
    r->device = text_of(r, root, "device");
    if (strncmp(kind, "measured", strlen("measured")) != 0)
        return;
    json_array_foreach(json_object_get(root, "rows"), i, row)
        add(r, &(struct kn_calib_row){
            .arch = text_of(r, row, "arch"), .name = name_of(r, row),
            .bound = text_of(r, row, "_bound"),
            .type = text_of(r, row, "_type"),
            .us = cell(row, "us"), .predicted = cell(row, "_predicted_us"),
            .low = cell(row, "_low_us"), .high = cell(row, "_high_us"),
            .clock = cell(row, "_clock_ghz"),
            .warm = strstr(kind, "warm") != NULL,
        });
}

kiln_status
kn_calib_read(struct kn_calib *x, const char *path)
{
    struct report r = { .to = x, .path = path, .device = "" };
    uint8_t *bytes;
    json_t *root;
    size_t size;
    char *text;

    KN_TRY(kn_file_read(x->c, path, &bytes, &size));
    text = kn_strndup(x->c, (const char *)bytes, size);
    root = json_loads(text, 0, NULL);
    if (json_is_array(json_object_get(root, "rows")))
        read_bench(&r, root);
    else
        read_lines(&r, text);
    json_decref(root);
    if (!r.known)
        return kn_fail(x->c, KILN_BAD_INPUT, "'%s' is no report: 'selftest "
                       "--report' and 'bench --device hip:N --json' write "
                       "them", path);
    kn_putf(&x->from, "report    %s: %s, %zu times, %zu probes\n", path,
            r.device, r.times, r.probes);
    if (strstr(r.device, "kiln simulator"))
        kn_put(&x->from, "          no GPU: its times are those of the "
               "machine that simulated it\n");
    return KILN_OK;
}
