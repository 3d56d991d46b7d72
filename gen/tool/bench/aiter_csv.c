/* aiter_csv.c - aiter's tuned tables of few rows and of mixtures of experts,
 * recognised by their columns, as tuning tables and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "../../forms.h"

/* X(name): the columns aiter's tables have, in its order. */
#define FEW(X) \
    X(K) X(N) X(M) X(kernel) X(n_sub) X(k_splits) X(use_hip)
#define MOE(X) \
    X(gfx) X(cu_num) X(token) X(model_dim) X(inter_dim) X(expert) X(topk) \
    X(act_type) X(dtype) X(q_dtype_a) X(q_dtype_w) X(q_type) X(use_g1u1) \
    X(doweight_stage1) X(block_m) X(ksplit) X(us1) X(kernelName1) X(err1) \
    X(us2) X(kernelName2) X(err2) X(us) X(run_1stage) X(xbf16) X(flat) \
    X(tflops) X(bw)
#define OURS(X) \
    X(arch) X(family) X(layout) X(a) X(b) X(out) X(scale) X(batch) X(n) X(k) \
    X(m) X(config)

#define X(id) #id,
static const char *const few_columns[] = { FEW(X) };
static const char *const moe_columns[] = { MOE(X) };
static const char *const our_columns[] = { OURS(X) };
#undef X
enum { NFEW = sizeof few_columns / sizeof *few_columns,
       NMOE = sizeof moe_columns / sizeof *moe_columns,
       NOURS = sizeof our_columns / sizeof *our_columns };

/* Types of kiln and how aiter writes them. */
static const struct {
    const char *type, *scale, *dtype, *q_type;
} moe_types[] = {
    { "mxfp8", "mx32", "torch.float8_e4m3fn", "QuantType.per_1x32" },
    { "mxfp4", "mx32", "torch.float4_e2m1fn_x2", "QuantType.per_1x32" },
    { "fp8", "tensor", "torch.float8_e4m3fn", "QuantType.per_Tensor" },
    { "fp8", "tensor", "torch.float8_e4m3fnuz", "QuantType.per_Tensor" },
    { "bf16", "none", "torch.bfloat16", "QuantType.No" },
};
enum { NMOETYPES = sizeof moe_types / sizeof *moe_types };

bool
kn_aiter_table(const struct kn_csv *t)
{
    return kn_csv_find(t, "config") < 0 &&
           ((kn_csv_find(t, "n_sub") >= 0 && kn_csv_find(t, "k_splits") >= 0) ||
            (kn_csv_find(t, "model_dim") >= 0 &&
             kn_csv_find(t, "kernelName2") >= 0));
}

bool
kn_aiter_table_name(const char *path)
{
    size_t n = strlen(path);

    return n > 4 && !strcmp(path + n - 4, ".csv") &&
           (strstr(path, "tuned_fmoe") || strstr(path, "smallm_mxfp8_tuned"));
}

/* ---- import ------------------------------------------------------------- */

struct import {
    struct kn_ctx *c;
    const struct kn_csv *from;
    struct kn_csv *to;
    struct kn_cell *cell;
    size_t foreign;          /* rows left out */
};

/* A new row; what aiter's has stays in columns of its names behind '_'. */
static struct kn_cell *
add_row(struct import *r, size_t row)
{
    struct kn_cell *x = r->cell + r->to->nrows++ * r->to->ncols;

    for (size_t i = 0; i < NOURS; i++)
        x[i] = (struct kn_cell){ "", kn_csv_at(r->from, row, 0)->line, 1 };
    for (size_t i = 0; i < r->from->ncols; i++)
        x[NOURS + i] = *kn_csv_at(r->from, row, (int)i);
    return x;
}

static void
put_fixed(struct kn_cell *x, const char *const v[NOURS])
{
    for (size_t i = 0; i < NOURS; i++)
        x[i].s = v[i];
}

static kiln_status
read_size(struct import *r, size_t row, const char *name, long least,
          long *out)
{
    const char *s = kn_csv_field(r->from, row, name);
    char *end;

    *out = strtol(s, &end, 10);
    if (!*s || *end || *out < least || *out > 2147483647)
        return kn_csv_fail(r->c, r->from, row, kn_csv_find(r->from, name),
                           "this is no size");
    return KILN_OK;
}

static kiln_status
read_few(struct import *r, size_t row)
{
    const char *kernel = kn_csv_field(r->from, row, "kernel");
    bool gemv = !strcmp(kernel, "gemv");
    struct kn_buf b = { .c = r->c };
    long m, k, sub, splits, bm = 1;

    KN_TRY(read_size(r, row, "M", 1, &m));
    KN_TRY(read_size(r, row, "K", 1, &k));
    KN_TRY(read_size(r, row, "n_sub", 0, &sub));
    KN_TRY(read_size(r, row, "k_splits", 0, &splits));
    if (!gemv && strcmp(kernel, "mfma"))
        return kn_csv_fail(r->c, r->from, row, kn_csv_find(r->from, "kernel"),
                           "a kernel is gemv or mfma");
    while (bm < m && bm < 16)
        bm *= 2;
    if (!strcmp(kn_csv_field(r->from, row, "use_hip"), "0"))
        kn_put(&b, KN_FALLBACK);
    else if (gemv)
        kn_putf(&b, "tile=%ldx4x1024 waves=4x1 schedule=gemv", bm);
    else
        kn_putf(&b, "tile=16x%ldx%d waves=1x2 split-k=%ld",
                32 * (sub ? sub : 1), k % 256 ? 128 : 256, splits ? splits : 1);
    put_fixed(add_row(r, row), (const char *[]){
        "gfx950", "gemm", "nt", "mxfp8", "mxfp8", "bf16", "mx32", "",
        kn_csv_field(r->from, row, "N"), kn_csv_field(r->from, row, "K"),
        kn_csv_field(r->from, row, "M"), b.s });
    return KILN_OK;
}

/* "..._t32x64x256_...": the tile in a kernel's name, "" if there is none. */
static const char *
tile_in(struct kn_ctx *c, const char *name)
{
    for (const char *s = name; (s = strstr(s, "_t")); s += 2) {
        struct kn_buf b = { .c = c };
        unsigned x[3];
        int n = 0;

        if (sscanf(s + 2, "%3ux%3ux%3u%n", &x[0], &x[1], &x[2], &n) != 3 || !n)
            continue;
        kn_putf(&b, "tile=%ux%ux%u", x[0], x[1], x[2]);
        return b.s;
    }
    return "";
}

static const char *
arch_of(const struct kn_csv *t, size_t row)
{
    const char *gfx = kn_csv_field(t, row, "gfx");

    if (*gfx)
        return gfx;
    return strcmp(kn_csv_field(t, row, "cu_num"), "256") ? "gfx942" : "gfx950";
}

static int
moe_type(const struct kn_csv *t, size_t row)
{
    for (int i = 0; i < NMOETYPES; i++)
        if (!strcmp(kn_csv_field(t, row, "q_type"), moe_types[i].q_type) &&
            !strcmp(kn_csv_field(t, row, "q_dtype_a"), moe_types[i].dtype) &&
            !strcmp(kn_csv_field(t, row, "q_dtype_w"), moe_types[i].dtype))
            return i;
    return -1;
}

static kiln_status
read_moe(struct import *r, size_t row)
{
    static const char *const kernel[] = { "kernelName1", "kernelName2" };
    static const char *const stage[] = { "gemm1", "gemm2" };
    const struct kn_csv *t = r->from;
    const char *dim[] = { kn_csv_field(t, row, "inter_dim"),
                          kn_csv_field(t, row, "model_dim") };
    int type = moe_type(t, row);
    long size;

    KN_TRY(read_size(r, row, "token", 1, &size));
    KN_TRY(read_size(r, row, "expert", 1, &size));
    KN_TRY(read_size(r, row, "inter_dim", 1, &size));
    KN_TRY(read_size(r, row, "model_dim", 1, &size));
    for (int s = 0; s < 2; s++) {
        const char *tile = tile_in(r->c, kn_csv_field(t, row, kernel[s]));

        if (type < 0 || !*tile)
            r->foreign++;
        else
            put_fixed(add_row(r, row), (const char *[]){
                arch_of(t, row), "moe", stage[s], moe_types[type].type,
                moe_types[type].type, "", moe_types[type].scale,
                kn_csv_field(t, row, "expert"), dim[s], dim[!s],
                kn_csv_field(t, row, "token"), tile });
    }
    return KILN_OK;
}

kiln_status
kn_aiter_table_read(struct kn_ctx *c, const struct kn_csv *from,
                    struct kn_csv *to, struct kn_buf *notes)
{
    struct import r = { .c = c, .from = from, .to = to };
    struct kn_cell *head = KN_NEW(c, struct kn_cell, NOURS + from->ncols);
    bool few = kn_csv_find(from, "n_sub") >= 0;

    *to = (struct kn_csv){ .name = from->name, .head = head,
                           .ncols = NOURS + from->ncols };
    for (size_t i = 0; i < NOURS; i++)
        head[i].s = our_columns[i];
    for (size_t i = 0; i < from->ncols; i++) {
        struct kn_buf b = { .c = c };

        kn_putf(&b, "_%s", from->head[i].s);
        head[NOURS + i].s = b.s;
    }
    r.cell = KN_NEW(c, struct kn_cell, 2 * from->nrows * to->ncols + 1);
    to->cells = r.cell;
    for (size_t i = 0; i < from->nrows; i++)
        KN_TRY(few ? read_few(&r, i) : read_moe(&r, i));
    if (r.foreign)
        kn_putf(notes, "%s: %zu kernels of types kiln's moe does not have, or "
                "without a tile in their name, are left out\n", from->name,
                r.foreign);
    return KILN_OK;
}

/* ---- export ------------------------------------------------------------- */

struct export {
    struct kn_ctx *c;
    const struct kn_csv *t;
    struct kn_buf *b;
    size_t n;
};

static bool
is(const struct kn_csv *t, size_t row, const char *name, const char *want)
{
    return !strcmp(kn_csv_field(t, row, name), want);
}

static void
put_cells(struct export *x, const char *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        kn_put(x->b, i ? "," : "");
        kn_csv_put(x->b, v[i]);
    }
    kn_put(x->b, "\n");
    x->n++;
}

static const char *
number(struct kn_ctx *c, uint32_t v)
{
    struct kn_buf b = { .c = c };

    kn_putf(&b, "%u", v);
    return b.s;
}

static kiln_status
write_few(struct export *x, size_t row)
{
    const struct kn_csv *t = x->t;
    struct kn_config g = { 0 };
    const char *m = kn_csv_field(t, row, "m");
    bool gemv;

    if (!is(t, row, "family", "gemm") || !is(t, row, "a", "mxfp8") ||
        !is(t, row, "b", "mxfp8") || m[strspn(m, "0123456789")])
        return KILN_OK;
    if (is(t, row, "config", KN_FALLBACK)) {
        const char *kernel = kn_csv_field(t, row, "_kernel");
        const char *sub = kn_csv_field(t, row, "_n_sub");
        const char *splits = kn_csv_field(t, row, "_k_splits");

        put_cells(x, (const char *[]){
            kn_csv_field(t, row, "k"), kn_csv_field(t, row, "n"), m,
            *kernel ? kernel : "mfma", *sub ? sub : "0",
            *splits ? splits : "0", "0" }, NFEW);
        return KILN_OK;
    }
    KN_TRY(kn_config_parse(x->c, kn_csv_field(t, row, "config"), &g));
    gemv = kn_reads_of(&g) == KN_READS_RUNS;
    put_cells(x, (const char *[]){
        kn_csv_field(t, row, "k"), kn_csv_field(t, row, "n"), m,
        gemv ? "gemv" : "mfma", number(x->c, gemv ? 0 : (g.bn + 31) / 32),
        number(x->c, gemv ? 0 : g.split_k ? g.split_k : 1), "1" }, NFEW);
    return KILN_OK;
}

/* The row of the other stage of the same layer, or nrows. */
static size_t
partner(const struct kn_csv *t, size_t row)
{
    static const char *const same[] = { "arch", "a", "b", "batch", "m" };
    size_t i;

    for (i = 0; i < t->nrows; i++) {
        bool ok = is(t, i, "family", "moe") && is(t, i, "layout", "gemm2") &&
                  is(t, i, "n", kn_csv_field(t, row, "k")) &&
                  is(t, i, "k", kn_csv_field(t, row, "n"));

        for (size_t k = 0; ok && k < sizeof same / sizeof *same; k++)
            ok = is(t, i, same[k], kn_csv_field(t, row, same[k]));
        if (ok)
            break;
    }
    return i;
}

static const char *
kernel_name(struct export *x, size_t row, int stage)
{
    struct kn_config g = { 0 };
    struct kn_buf b = { .c = x->c };

    if (row >= x->t->nrows ||
        kn_config_parse(x->c, kn_csv_field(x->t, row, "config"), &g))
        return "";
    kn_putf(&b, "kiln_moe%d_t%ux%ux%u", stage, g.bm, g.bn, g.bk);
    return b.s;
}

/* What the table says where aiter's own field is not kept. */
static const char *
moe_value(struct export *x, size_t row, size_t down, const char *name)
{
    const struct kn_csv *t = x->t;
    int type = 0;

    while (type < NMOETYPES && !is(t, row, "a", moe_types[type].type))
        type++;
    if (!strcmp(name, "gfx"))
        return kn_csv_field(t, row, "arch");
    if (!strcmp(name, "cu_num"))
        return is(t, row, "arch", "gfx950") ? "256" : "304";
    if (!strcmp(name, "token"))
        return kn_csv_field(t, row, "m");
    if (!strcmp(name, "model_dim"))
        return kn_csv_field(t, row, "k");
    if (!strcmp(name, "inter_dim"))
        return kn_csv_field(t, row, "n");
    if (!strcmp(name, "expert"))
        return kn_csv_field(t, row, "batch");
    if (!strncmp(name, "q_dtype", 7) && type < NMOETYPES)
        return moe_types[type].dtype;
    if (!strcmp(name, "q_type") && type < NMOETYPES)
        return moe_types[type].q_type;
    if (!strcmp(name, "dtype"))
        return "torch.bfloat16";
    if (!strncmp(name, "kernelName", 10))
        return name[10] == '1' ? kernel_name(x, row, 1)
                               : kernel_name(x, down, 2);
    return !strcmp(name, "use_g1u1") ? "1" : "0";
}

static void
write_moe(struct export *x, size_t row)
{
    const char *v[NMOE];
    size_t down = partner(x->t, row);

    if (!is(x->t, row, "family", "moe") || !is(x->t, row, "layout", "gemm1"))
        return;
    for (size_t i = 0; i < NMOE; i++) {
        struct kn_buf kept = { .c = x->c };

        kn_putf(&kept, "_%s", moe_columns[i]);
        v[i] = kn_csv_field(x->t, row, kept.s);
        if (!*v[i])
            v[i] = moe_value(x, row, down, moe_columns[i]);
    }
    put_cells(x, v, NMOE);
}

kiln_status
kn_aiter_table_write(struct kn_ctx *c, const char *path,
                     const struct kn_csv *t, struct kn_buf *out)
{
    struct export x = { .c = c, .t = t, .b = out };
    bool moe = strstr(path, "tuned_fmoe") != NULL;

    put_cells(&x, moe ? moe_columns : few_columns, moe ? NMOE : NFEW);
    for (size_t i = 0; i < t->nrows; i++) {
        if (moe)
            write_moe(&x, i);
        else
            KN_TRY(write_few(&x, i));
    }
    return x.n > 1 ? KILN_OK
                   : kn_fail(c, KILN_BAD_INPUT, "no row is for '%s'", path);
}
