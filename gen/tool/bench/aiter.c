/* aiter.c - aiter's JSON of tuned configurations, read into a table and written back (bench.h). */
#include "bench.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "../../../runtime/file.h"
#include "../../gen.h"
#include "../json.h"

/* What a file is for, from its name. */
struct about {
    char arch[16];
    const char *family, *kernel, *a, *b, *scale;
    bool group_k;            /* the K of a tile is the group's, 128 */
    char batch[12], n[12], k[12];
};

/* Kernels kiln has; an empty type fits i8 and fp8 alike, as the file does. */
static const struct {
    const char *name, *a, *b, *scale;
} kernels[] = {
    { "A16W16", "bf16", "bf16", "none" },
    { "A8W8", "", "", "row" },
    { "A8W8_BLOCKSCALE", "fp8", "fp8", "block128" },
    { "AFP4WFP4", "mxfp4", "mxfp4", "mx32" },
    { "A16WFP4", "bf16q", "mxfp4", "mx32" },
    { "A8W8-A_PER_TOKEN_GROUP_PREQUANT_W_PER_BATCHED_TENSOR_QUANT", "bf16", "",
      "tensor" },
};
static const struct {
    const char *text, *family;
} families[] = { { "-BATCHED_GEMM-", "batched" }, { "-GEMM-", "gemm" } };

/* X(aiter's name): supported fields, then those that are only kept. */
static const char *const used[] = {
    "BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "num_warps", "num_stages",
    "GROUP_SIZE_M", "NUM_KSPLIT",
};
static const char *const kept[] = {
    "waves_per_eu", "matrix_instr_nonkdim", "cache_modifier", "kpack",
};
enum {
    U_BM, U_BN, U_BK, U_WARPS, U_STAGES, U_GROUP, U_SPLIT,
    NUSED = sizeof used / sizeof *used, NKEPT = sizeof kept / sizeof *kept
};
static const char *const columns[] = {
    "arch", "family", "layout", "a", "b", "out", "scale", "batch", "n", "k",
    "m", "config",
};
enum { NCOLUMNS = sizeof columns / sizeof *columns, COL_M = 10, COL_CONFIG };

/* ---- the name ----------------------------------------------------------- */

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool
kn_aiter_name(const char *path)
{
    const char *name = base_name(path);
    size_t n = strlen(name);

    return !strncmp(name, "gfx", 3) && strstr(name, "GEMM-") && n > 5 &&
           !strcmp(name + n - 5, ".json");
}

/* "X=123" at *s, up to '-' or '.'. */
static bool
take_size(const char **s, const char *what, char *out, size_t size)
{
    size_t n = strlen(what), len;

    if (strncmp(*s, what, n))
        return true;
    len = strspn(*s + n, "0123456789");
    if (!len || len >= size || ((*s)[n + len] != '-' && (*s)[n + len] != '.'))
        return false;
    memcpy(out, *s + n, len);
    *s += n + len;
    return true;
}

static kiln_status
read_name(struct kn_ctx *c, const char *path, struct about *o)
{
    const char *name = base_name(path), *s = NULL;
    size_t arch = strcspn(name, "-"), len;
    bool ok;

    *o = (struct about){ 0 };
    for (size_t i = 0; i < sizeof families / sizeof *families && !s; i++)
        if (!strncmp(name + arch, families[i].text,
                     strlen(families[i].text))) {
            o->family = families[i].family;
            s = name + arch + strlen(families[i].text);
        }
    if (!s || arch >= sizeof o->arch)
        return kn_fail(c, KILN_BAD_INPUT, "'%s' is not named like a "
                       "configuration file of aiter", name);
    memcpy(o->arch, name, arch);
    for (len = strcspn(s, "-."); s[len] == '-' && strncmp(s + len, "-B=", 3) &&
                                 strncmp(s + len, "-N=", 3);)
        len += 1 + strcspn(s + len + 1, "-.");
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strlen(kernels[i].name) == len && !strncmp(s, kernels[i].name, len)) {
            o->kernel = kernels[i].name;
            o->a = kernels[i].a;
            o->b = kernels[i].b;
            o->group_k = !strcmp(kernels[i].scale, "tensor");
            o->scale = kernels[i].scale;
        }
    if (!o->kernel || (strcmp(o->arch, "gfx942") && strcmp(o->arch, "gfx950")))
        return kn_fail(c, KILN_UNSUPPORTED, "'%s' is for a kernel or target "
                       "kiln does not have", name);
    s += len;
    ok = take_size(&s, "-B=", o->batch, sizeof o->batch) &&
         take_size(&s, "-N=", o->n, sizeof o->n) &&
         take_size(&s, "-K=", o->k, sizeof o->k);
    return ok && !strcmp(s, ".json") && !*o->n == !*o->k
           ? KILN_OK : kn_fail(c, KILN_BAD_INPUT, "the sizes in '%s' are not "
                               "-B=b-N=n-K=k or -N=n-K=k", name);
}

/* ---- import ------------------------------------------------------------- */

struct import {
    struct kn_ctx *c;
    const char *path, *text;
    const struct about *about;
    struct kn_cell *cell;
    struct kn_buf *notes;
    bool noted[NKEPT];
};

/* Complains about a field of a bucket; its line is where its name is. */
static kiln_status
refuse(struct import *r, const char *bucket, const char *field,
       const char *sentence)
{
    struct kn_buf q = { .c = r->c };
    const char *at, *inner;
    struct kn_loc place = { .file = r->path, .line = 1, .col = 1 };

    kn_putf(&q, "\"%s\"", bucket);
    at = strstr(r->text, q.s);
    q.n = 0;
    kn_putf(&q, "\"%s\"", field);
    inner = at ? strstr(at, q.s) : NULL;
    at = inner ? inner : at;
    for (const char *s = r->text; at && s < at; s++) {
        place.line += *s == '\n';
        place.col = *s == '\n' ? 1 : place.col + 1;
    }
    return kn_fail_at(r->c, KILN_BAD_INPUT, place, "bucket '%s', field '%s': "
                      "%s", bucket, field, sentence);
}

static int
index_of(const char *const *names, int n, const char *s)
{
    return kn_name_index(names, n, s);
}

/* The configuration line of a bucket's numbers. */
static const char *
config_of(struct kn_ctx *c, const int64_t *v)
{
    int64_t w = v[U_WARPS];
    struct kn_buf b = { .c = c };

    kn_putf(&b, "tile=%lldx%lldx%lld", (long long)v[U_BM], (long long)v[U_BN],
            (long long)v[U_BK]);
    if (w)
        kn_putf(&b, " waves=%dx%lld", w >= 4 ? 2 : 1,
                (long long)(w >= 4 ? w / 2 : w));
    if (v[U_STAGES])
        kn_putf(&b, " stages=%lld", (long long)v[U_STAGES]);
    if (v[U_GROUP])
        kn_putf(&b, " group-m=%lld", (long long)v[U_GROUP]);
    if (v[U_SPLIT])
        kn_putf(&b, " split-k=%lld", (long long)v[U_SPLIT]);
    return b.s;
}

/* A kept field as text; the modifier may be null. */
static void
keep_field(struct import *r, int i, json_t *v, struct kn_cell *cell)
{
    struct kn_buf b = { .c = r->c };

    if (json_is_string(v))
        kn_put(&b, json_string_value(v));
    else if (json_is_integer(v))
        kn_putf(&b, "%lld", (long long)json_integer_value(v));
    else
        kn_put(&b, "null");
    cell->s = b.s;
    if (!r->noted[i])
        kn_putf(r->notes, "%s: %s is kept, but kiln has no use for it\n",
                r->path, kept[i]);
    r->noted[i] = true;
}

static kiln_status
read_bucket(struct import *r, const char *bucket, json_t *fields,
            struct kn_cell *row)
{
    const struct about *o = r->about;
    const char *fixed[] = { o->arch, o->family, "nt", o->a, o->b, "", o->scale,
                            o->batch, o->n, o->k, bucket };
    int64_t v[NUSED] = { 0 };
    const char *name;
    json_t *x;

    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        row[i].s = kn_strdup(r->c, fixed[i]);
    json_object_foreach(fields, name, x) {
        int i = index_of(used, NUSED, name), k = index_of(kept, NKEPT, name);

        if (k >= 0)
            keep_field(r, k, x, &row[NCOLUMNS + k]);
        else if (i < 0)
            return refuse(r, bucket, name, "aiter has no such field");
        else if (!json_is_integer(x) || json_integer_value(x) < 1 ||
                 json_integer_value(x) > 4096)
            return refuse(r, bucket, name, "this is a number from 1 to 4096");
        else
            v[i] = json_integer_value(x);
    }
    if (o->group_k)
        v[U_BK] = 128;
    for (int i = 0; i <= U_BK; i++)
        if (!v[i])
            return refuse(r, bucket, used[i], "this field is missing");
    row[COL_CONFIG].s = config_of(r->c, v);
    return KILN_OK;
}

static bool
is_bucket(const char *s)
{
    size_t digits;

    if (!strcmp(s, "any"))
        return true;
    if (strncmp(s, "M_LEQ_", 6) && strncmp(s, "M_GEQ_", 6))
        return false;
    digits = strspn(s + 6, "0123456789");
    return digits && digits < 10 && !s[6 + digits];
}

static kiln_status
read_buckets(struct import *r, json_t *root, struct kn_csv *out)
{
    const char *bucket;
    json_t *fields;

    json_object_foreach(root, bucket, fields) {
        struct kn_cell *row = r->cell + out->nrows * out->ncols;

        if (!is_bucket(bucket))
            return refuse(r, bucket, bucket, "a bucket is M_LEQ_size, "
                          "M_GEQ_size or any");
        if (!json_is_object(fields))
            return refuse(r, bucket, bucket, "a bucket is an object");
        for (size_t i = 0; i < out->ncols; i++)
            row[i].s = "";
        KN_TRY(read_bucket(r, bucket, fields, row));
        out->nrows++;
    }
    return KILN_OK;
}

static void
make_head(struct kn_ctx *c, struct kn_csv *out)
{
    struct kn_cell *head = KN_NEW(c, struct kn_cell, NCOLUMNS + NKEPT);

    for (int i = 0; i < NCOLUMNS; i++)
        head[i].s = columns[i];
    for (int i = 0; i < NKEPT; i++) {
        struct kn_buf b = { .c = c };

        kn_putf(&b, "_%s", kept[i]);
        head[NCOLUMNS + i].s = b.s;
    }
    out->head = head;
    out->ncols = NCOLUMNS + NKEPT;
}

kiln_status
kn_aiter_read(struct kn_ctx *c, const char *path, struct kn_csv *out,
              struct kn_buf *notes)
{
    struct about about;
    struct import r = { .c = c, .path = path, .about = &about,
                        .notes = notes };
    json_error_t e;
    uint8_t *bytes;
    json_t *root;
    size_t size;
    kiln_status s;

    *out = (struct kn_csv){ .name = path };
    KN_TRY(read_name(c, path, &about));
    KN_TRY(kn_file_read(c, path, &bytes, &size));
    r.text = (const char *)bytes;
    make_head(c, out);
    root = json_loadb(r.text, size, JSON_REJECT_DUPLICATES, &e);
    if (!root)
        return kn_fail_at(c, KILN_BAD_INPUT,
                          (struct kn_loc){ path, e.line, e.column, NULL }, "%s",
                          e.text);
    r.cell = KN_NEW(c, struct kn_cell, json_object_size(root) * out->ncols + 1);
    out->cells = r.cell;
    s = json_is_object(root)
        ? read_buckets(&r, root, out)
        : kn_fail_at(c, KILN_BAD_INPUT, (struct kn_loc){ path, 1, 1, NULL },
                     "the file is an object of buckets");
    json_decref(root);
    return s;
}

/* ---- export ------------------------------------------------------------- */

static bool
is_type(const char *type, const char *of)
{
    return !strcmp(type, of) ||
           (!*of && (!strcmp(type, "i8") || !strcmp(type, "fp8")));
}

/* Whether the file of this name holds the row. */
static bool
belongs(const struct about *o, const struct kn_csv *t, size_t row)
{
    const char *layout = kn_csv_field(t, row, "layout");
    const char *a = kn_csv_field(t, row, "a");
    const char *m = kn_csv_field(t, row, "m"), *b = kn_csv_field(t, row, "b");

    return !strcmp(kn_csv_field(t, row, "arch"), o->arch) &&
           !strcmp(kn_csv_field(t, row, "family"), o->family) &&
           (!*layout || !strcmp(layout, "nt")) &&
           is_type(a, o->a) && (!*b || is_type(b, o->b)) &&
           !strcmp(kn_csv_field(t, row, "scale"), o->scale) &&
           !strcmp(kn_csv_field(t, row, "batch"), o->batch) &&
           !strcmp(kn_csv_field(t, row, "n"), o->n) &&
           !strcmp(kn_csv_field(t, row, "k"), o->k) && (!*m || is_bucket(m));
}

static kiln_status
put_bucket(struct kn_ctx *c, const struct about *o, const struct kn_csv *t,
           size_t row, struct kn_json *j)
{
    const char *m = kn_csv_field(t, row, "m");
    struct kn_config g = { 0 };

    KN_TRY(kn_config_parse(c, kn_csv_field(t, row, "config"), &g));
    {
        const uint32_t v[NUSED] = { g.bm, g.bn, g.bk, g.wm * g.wn, g.stages,
                                    g.group_m, g.split_k };

        kn_json_open(j, *m ? m : "any", '{');
        for (int i = 0; i < NUSED; i++)
            if (v[i] && !(o->group_k && i == U_BK))
                kn_json_uint(j, used[i], v[i]);
    }
    for (int i = 0; i < NKEPT; i++) {
        struct kn_buf name = { .c = c };
        const char *s;

        kn_putf(&name, "_%s", kept[i]);
        s = kn_csv_field(t, row, name.s);
        if (*s >= '0' && *s <= '9')
            kn_json_int(j, kept[i], strtoll(s, NULL, 10));
        else if (!strcmp(s, "null"))
            kn_json_real(j, kept[i], strtod("nan", NULL));
        else if (*s)
            kn_json_str(j, kept[i], s);
    }
    kn_json_close(j, '}');
    return KILN_OK;
}

kiln_status
kn_aiter_write(struct kn_ctx *c, const char *path, const struct kn_csv *t,
               struct kn_buf *out)
{
    struct kn_json j = { .b = { .c = c } };
    struct about about;
    size_t n = 0;

    KN_TRY(read_name(c, path, &about));
    kn_json_open(&j, NULL, '{');
    for (size_t i = 0; i < t->nrows; i++)
        if (belongs(&about, t, i)) {
            for (size_t k = 0; k < i; k++)
                if (belongs(&about, t, k) &&
                    !strcmp(kn_csv_field(t, k, "m"), kn_csv_field(t, i, "m")))
                    return kn_csv_fail(c, t, i, kn_csv_find(t, "m"),
                                       "the file would have this bucket "
                                       "twice, for i8 and for fp8: give "
                                       "rows of one of them");
            KN_TRY(put_bucket(c, &about, t, i, &j));
            n++;
        }
    kn_json_close(&j, '}');
    *out = j.b;
    return n ? KILN_OK
             : kn_fail(c, KILN_BAD_INPUT, "no row is for '%s'",
                       base_name(path));
}
