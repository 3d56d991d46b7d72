/* import.c - times that others measured: the kernel trace of rocprofv3, and
 * what hipblaslt-bench prints, as tables of kiln's. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "bench.h"
#include "results.h"

/* ---- a trace ------------------------------------------------------------ */

/* Columns of rocprofv3's kernel_trace.csv; the sizes count work-items. */
enum { T_KERNEL, T_START, T_END, T_GRID, T_BLOCK = T_GRID + 3, NTRACE = T_BLOCK + 3 };
static const char *const trace_columns[NTRACE] = {
    "Kernel_Name", "Start_Timestamp", "End_Timestamp",
    "Grid_Size_X", "Grid_Size_Y", "Grid_Size_Z",
    "Workgroup_Size_X", "Workgroup_Size_Y", "Workgroup_Size_Z",
};
enum { O_KERNEL, O_GRID, O_BLOCK, O_US, O_LOW, O_HIGH, O_RUNS, O_KIND, NOUT };
static const struct kn_cell out_head[NOUT] = {
    { "kernel", 1, 1 },   { "grid", 1, 1 },     { "block", 1, 1 },
    { "us", 1, 1 },       { "_low_us", 1, 1 },  { "_high_us", 1, 1 },
    { "_runs", 1, 1 },    { "_kind", 1, 1 },
};

struct dispatch {
    const char *kernel, *grid, *block;
    uint64_t ns;
    size_t row;
};

bool
kn_trace_is(const struct kn_csv *t)
{
    for (int i = 0; i < T_GRID; i++)
        if (kn_csv_find(t, trace_columns[i]) < 0)
            return false;
    return true;
}

static kiln_status
read_number(struct kn_ctx *c, const struct kn_csv *t, size_t row, int column,
            uint64_t *out)
{
    int col = kn_csv_find(t, trace_columns[column]);
    const char *s = kn_csv_at(t, row, col)->s;
    char *end;

    *out = strtoull(s, &end, 10);
    if (!isdigit((unsigned char)*s) || *end)
        return kn_csv_fail(c, t, row, col, "this is no whole number");
    return KILN_OK;
}

/* "64x8x1", "" of a trace without sizes. by_block: in workgroups. */
static kiln_status
read_sizes(struct kn_ctx *c, const struct kn_csv *t, size_t row, bool by_block,
           const char **out)
{
    struct kn_buf b = { .c = c };

    *out = "";
    for (int i = 0; i < 3; i++) {
        uint64_t block, size;

        if (kn_csv_find(t, trace_columns[T_GRID + i]) < 0 ||
            kn_csv_find(t, trace_columns[T_BLOCK + i]) < 0)
            return KILN_OK;
        KN_TRY(read_number(c, t, row, T_BLOCK + i, &block));
        size = block;
        if (by_block)
            KN_TRY(read_number(c, t, row, T_GRID + i, &size));
        if (by_block && block)
            size = (size + block - 1) / block;
        kn_putf(&b, "%s%llu", i ? "x" : "", (unsigned long long)size);
    }
    *out = b.s;
    return KILN_OK;
}

/* Without the descriptor's ending. */
static const char *
kernel_of(struct kn_ctx *c, const char *name)
{
    static const char *const ends[] = { " [clone .kd]", ".kd" };
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t m = strlen(ends[i]);

        if (n > m && !strcmp(name + n - m, ends[i]))
            n -= m;
    }
    return kn_strndup(c, name, n);
}

static kiln_status
read_dispatch(struct kn_ctx *c, const struct kn_csv *t, size_t row,
              struct dispatch *d)
{
    uint64_t start, end;

    KN_TRY(read_number(c, t, row, T_START, &start));
    KN_TRY(read_number(c, t, row, T_END, &end));
    if (end <= start)
        return kn_csv_fail(c, t, row, kn_csv_find(t, trace_columns[T_END]),
                           "this launch ends before it starts");
    *d = (struct dispatch){ .ns = end - start, .row = row,
        .kernel = kernel_of(c, kn_csv_field(t, row, trace_columns[T_KERNEL])) };
    KN_TRY(read_sizes(c, t, row, true, &d->grid));
    return read_sizes(c, t, row, false, &d->block);
}

static int
by_kernel(const struct dispatch *x, const struct dispatch *y)
{
    int order = strcmp(x->kernel, y->kernel);

    order = order ? order : strcmp(x->grid, y->grid);
    return order ? order : strcmp(x->block, y->block);
}

static int
by_time(const void *a, const void *b)
{
    const struct dispatch *x = a, *y = b;
    int order = by_kernel(x, y);

    return order ? order : (x->ns > y->ns) - (x->ns < y->ns);
}

static const char *
us_of(struct kn_ctx *c, double ns)
{
    struct kn_buf b = { .c = c };

    kn_putf(&b, "%.4f", ns / 1000);
    return b.s;
}

/* A row of n launches, the shortest first. */
static void
put_row(struct kn_ctx *c, const struct dispatch *d, size_t n,
        struct kn_cell *row)
{
    double middle = ((double)d[(n - 1) / 2].ns + (double)d[n / 2].ns) / 2;
    struct kn_buf runs = { .c = c };

    kn_putf(&runs, "%zu", n);
    row[O_KERNEL].s = d->kernel;
    row[O_GRID].s = d->grid;
    row[O_BLOCK].s = d->block;
    row[O_US].s = us_of(c, middle);
    row[O_LOW].s = us_of(c, (double)d->ns);
    row[O_HIGH].s = us_of(c, (double)d[n - 1].ns);
    row[O_RUNS].s = runs.s;
    row[O_KIND].s = "measured";
}

static kiln_status
read_trace(struct kn_ctx *c, const struct kn_csv *t, struct kn_csv *out)
{
    struct dispatch *d = KN_NEW(c, struct dispatch, t->nrows + 1);
    struct kn_cell *cells = KN_NEW(c, struct kn_cell, t->nrows * NOUT + 1);

    if (kn_csv_find(t, "Counter_Name") >= 0)
        return kn_fail(c, KILN_BAD_INPUT, "'%s' counts events; times are in the "
                       "kernel trace (rocprofv3 --kernel-trace)", t->name);
    *out = (struct kn_csv){ .name = t->name, .ncols = NOUT, .head = out_head,
                            .cells = cells };
    for (size_t i = 0; i < t->nrows; i++)
        KN_TRY(read_dispatch(c, t, i, &d[i]));
    if (t->nrows)
        qsort(d, t->nrows, sizeof *d, by_time);
    for (size_t i = 0, n; i < t->nrows; i += n) {
        for (n = 1; i + n < t->nrows && !by_kernel(&d[i], &d[i + n]);)
            n++;
        put_row(c, &d[i], n, cells + NOUT * out->nrows++);
    }
    return KILN_OK;
}

static bool
is_json(const char *text)
{
    text += strspn(text, " \t\r\n");
    return *text == '{' || *text == '[';
}

kiln_status
kn_table_read(struct kn_ctx *c, const char *path, struct kn_csv *out)
{
    struct kn_csv theirs;
    uint8_t *bytes;
    size_t size;

    KN_TRY(kn_file_read(c, path, &bytes, &size));
    if (kn_hipblaslt_results((const char *)bytes))
        return kn_hipblaslt_log(c, path, (const char *)bytes, out);
    if (is_json((const char *)bytes))
        return kn_json_table(c, path, (const char *)bytes, out);
    KN_TRY(kn_csv_parse(c, path, (const char *)bytes, &theirs));
    if (kn_trace_is(&theirs))
        return read_trace(c, &theirs, out);
    *out = theirs;
    return KILN_OK;
}

/* ---- rows of a list ------------------------------------------------------ */

static uint64_t
workgroups_of(const char *grid)
{
    uint64_t n = *grid ? 1 : 0;

    for (char *end; *grid; grid = *end == 'x' ? end + 1 : end)
        n *= strtoull(grid, &end, 10);
    return n;
}

/* Whether a name of the trace, mangled or not, is the kernel's. */
static bool
is_kernel(struct kn_ctx *c, const char *name, const char *kernel)
{
    const char *core = strstr(kernel, "kiln_");
    size_t n = core ? strlen(core) : 0;

    if (!core)
        return !strcmp(name, kernel);
    n -= kernel[0] == '_' && n && core[n - 1] == 'E';
    return strstr(name, kn_strndup(c, core, n)) != NULL;
}

static bool
is_problem(const struct kn_csv *t, size_t row, const struct kn_results *r,
           const char *const *key)
{
    for (size_t i = 0; i < r->nkey; i++) {
        int col = kn_csv_find(t, r->head[i]);

        if (col >= 0 && strcmp(kn_csv_at(t, row, col)->s, key[i]) != 0)
            return false;
    }
    return true;
}

kiln_status
kn_import_row(struct kn_ctx *c, const struct kn_csv *t,
              const struct kn_imported *of, size_t *at)
{
    bool trace = kn_csv_find(t, "kernel") >= 0;
    size_t found = 0;

    for (size_t i = 0; i < t->nrows; i++) {
        if (trace ? !is_kernel(c, kn_csv_field(t, i, "kernel"), of->kernel) ||
                    workgroups_of(kn_csv_field(t, i, "grid")) != of->workgroups
                  : !is_problem(t, i, of->table, of->key))
            continue;
        *at = i;
        found++;
    }
    if (found == 1)
        return KILN_OK;
    if (trace)
        return kn_fail(c, KILN_BAD_INPUT, "'%s' has %s of %s with %llu "
                       "workgroups", t->name, found ? "several grids"
                       : "no launch", of->kernel,
                       (unsigned long long)of->workgroups);
    return kn_fail(c, KILN_BAD_INPUT, "'%s' has %s of this problem", t->name,
                   found ? "several times" : "no time");
}
