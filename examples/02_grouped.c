/* 02_grouped.c - a grouped GEMM as a mixture of experts needs it: the rows of
 * A are sorted by expert, group offsets are known to the device only, one
 * expert has no token. C[m,n] = A[m,k] * B[g][n,k]^T.
 *
 * usage: 02_grouped [DEVICE] */
#include <kiln.h>
#include <stdio.h>
#include <stdlib.h>

enum { GROUPS = 4, N = 64, K = 128 };
static const int64_t rows[GROUPS] = { 37, 0, 5, 90 };

static kiln_error error;

static void
must(kiln_status s)
{
    if (!s)
        return;
    fprintf(stderr, "%s\n", error.text);
    exit(1);
}

static void *
put(kiln_device *d, const void *host, size_t bytes)
{
    void *p;

    must(kiln_malloc(d, bytes, &p, &error));
    must(kiln_upload(d, p, host, bytes, &error));
    return p;
}

int
main(int argc, char **argv)
{
    int64_t offsets[GROUPS + 1] = { 0 }, m;
    kiln_problem p = { .size = sizeof p, .family = KILN_GROUPED,
                       .a = KILN_BF16, .out = KILN_F32, .n = N, .k = K,
                       .groups = GROUPS };
    kiln_arguments args = { .size = sizeof args };
    kiln_context *context;
    kiln_device *device;
    uint16_t *a, *b;
    float *c;
    int wrong = 0;

    for (int g = 0; g < GROUPS; g++)
        offsets[g + 1] = offsets[g] + rows[g];
    p.m = m = offsets[GROUPS];
    a = malloc((size_t)m * K * sizeof *a);
    b = malloc(GROUPS * N * K * sizeof *b);
    c = malloc((size_t)m * N * sizeof *c);
    for (int64_t i = 0; i < m * K; i++)
        a[i] = 0x3f80;                          /* 1 */
    for (int i = 0; i < GROUPS * N * K; i++)
        b[i] = i / (N * K) % 2 ? 0x4000 : 0x3f80; /* 2 for odd experts */

    must(kiln_open(NULL, &context, &error));
    must(kiln_open_device(context, argc > 1 ? argv[1] : "sim:gfx950", &device,
                          &error));
    args.a = put(device, a, (size_t)m * K * sizeof *a);
    args.b = put(device, b, GROUPS * N * K * sizeof *b);
    args.offsets = put(device, offsets, sizeof offsets);
    must(kiln_malloc(device, (size_t)m * N * sizeof *c, &args.c, &error));
    must(kiln_run(device, &p, &args, &error));
    must(kiln_sync(device, NULL, &error));
    must(kiln_download(device, c, args.c, (size_t)m * N * sizeof *c, &error));

    for (int g = 0; g < GROUPS; g++)
        for (int64_t i = offsets[g] * N; i < offsets[g + 1] * N; i++)
            wrong += c[i] != (float)(g % 2 ? 2 * K : K);
    printf("%d experts, %d rows, %d wrong\n", GROUPS, (int)m, wrong);
    kiln_close_device(device);
    kiln_close(context);
    free(a);
    free(b);
    free(c);
    return wrong != 0;
}
