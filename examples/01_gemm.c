/* 01_gemm.c - C[M,N] = A[M,K] * B[N,K]^T in bf16, compiled and launched.
 * On "sim:gfx950" unless a device is named: 01_gemm hip:0 */
#include <kiln.h>
#include <stdio.h>

enum { M = 96, N = 128, K = 64 };

int
main(int argc, char **argv)
{
    static uint16_t a[M * K], b[N * K];
    static float c[M * N];
    kiln_error e = { 0 };
    kiln_context *context;
    kiln_device *device;
    kiln_problem p = { .size = sizeof p, .a = KILN_BF16, .out = KILN_F32,
                       .m = M, .n = N, .k = K };
    kiln_arguments args = { .size = sizeof args };
    void *da, *db, *dc;

    for (int i = 0; i < M * K; i++)
        a[i] = i % 3 ? 0x3f80 : 0x4000; /* 1 or 2 */
    for (int i = 0; i < N * K; i++)
        b[i] = i % 5 ? 0x3f80 : 0xbf80; /* 1 or -1 */
    if (kiln_open(NULL, &context, &e) ||
        kiln_open_device(context, argc > 1 ? argv[1] : "sim:gfx950", &device, &e) ||
        kiln_malloc(device, sizeof a, &da, &e) || kiln_malloc(device, sizeof b, &db, &e) ||
        kiln_malloc(device, sizeof c, &dc, &e) || kiln_upload(device, da, a, sizeof a, &e) ||
        kiln_upload(device, db, b, sizeof b, &e))
        return fprintf(stderr, "%s\n", e.text), 1;
    args.a = da, args.b = db, args.c = dc;
    if (kiln_run(device, &p, &args, &e) || kiln_sync(device, NULL, &e) ||
        kiln_download(device, c, dc, sizeof c, &e))
        return fprintf(stderr, "%s\n", e.text), 1;
    printf("C[0][0] = %g, C[%d][%d] = %g\n", c[0], M - 1, N - 1, c[M * N - 1]);
    kiln_close_device(device);
    kiln_close(context);
    return 0;
}
