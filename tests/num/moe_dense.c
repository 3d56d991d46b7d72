/* moe_dense.c - layers of the moe family against every expert on every token,
 * weighed: a definition that knows nothing of sorting. */
#include "moe.h"

enum { TOKENS = 24, TOPK = 3, EXPERTS = 6, HIDDEN = 64, INTER = 96 };

struct dense {
    double x[TOKENS][HIDDEN], w1[EXPERTS][2 * INTER][HIDDEN];
    double w2[EXPERTS][HIDDEN][INTER];
    double gate[TOKENS][EXPERTS];   /* sum of the weights of its slots */
    double y[TOKENS][HIDDEN];
};

/* Numbers of an operand, from its definition in reference.h. */
static void
operand_numbers(kiln_type t, uint32_t id, int64_t rows, int64_t cols,
                double *to)
{
    struct kn_data d = { .type = t, .rows = rows, .cols = cols, .batches = 1,
                         .operand = id, .target = KILN_GFX950 };
    struct kn_data s = { .type = t, .rows = rows, .cols = (cols + 31) / 32,
                         .batches = 1, .operand = id < 2 ? id + 2 : id + 2,
                         .target = KILN_GFX950, .scale = true };
    bool mx = t >= KILN_MXFP8;

    kn_data_shape(&d, 0, 0);
    kn_data_shape(&s, 0, 0);
    for (int64_t i = 0; i < rows * cols; i++) {
        uint64_t at = (uint64_t)(i / cols * s.cols + i % cols / 32);

        to[i] = kn_ref_decode(t, KILN_GFX950, kn_data_code(&d, (uint64_t)i));
        if (mx)
            to[i] *= ldexp(1, (int)kn_data_code(&s, at) - 127);
    }
}

/* Every expert on every token, then weighed: knows nothing of sorting. */
static void
dense_layer(struct dense *d)
{
    memset(d->y, 0, sizeof d->y);
    for (int t = 0; t < TOKENS; t++)
        for (int e = 0; e < EXPERTS; e++) {
            double h[INTER];

            for (int i = 0; i < INTER; i++) {
                double g = 0, u = 0;

                for (int k = 0; k < HIDDEN; k++) {
                    g += d->x[t][k] * d->w1[e][i][k];
                    u += d->x[t][k] * d->w1[e][INTER + i][k];
                }
                h[i] = g / (1 + exp(-g)) * u;
            }
            for (int n = 0; n < HIDDEN; n++) {
                double sum = 0;

                for (int i = 0; i < INTER; i++)
                    sum += h[i] * d->w2[e][n][i];
                d->y[t][n] += d->gate[t][e] * sum;
            }
        }
}

/* Experts 1 and 4 get no token; tokens may name an expert twice. */
static void
dense_routing(struct dense *d, int32_t *ids, float *weights)
{
    static const int32_t serving[] = { 0, 2, 3, 5 };

    memset(d->gate, 0, sizeof d->gate);
    for (int i = 0; i < TOKENS * TOPK; i++) {
        uint32_t h = (uint32_t)i * 2654435761u;

        ids[i] = serving[h >> 30];
        weights[i] = (float)(1 + (h >> 20 & 7)) / 8;
        d->gate[i / TOPK][ids[i]] += (double)weights[i];
    }
}

static double
distance(const struct dense *d, const float *got)
{
    double err = 0, all = 0;

    for (int i = 0; i < TOKENS * HIDDEN; i++) {
        double y = (&d->y[0][0])[i];

        err += ((double)got[i] - y) * ((double)got[i] - y);
        all += y * y;
    }
    return sqrt(err / all);
}

/* Bounds: of bf16 its two roundings on the way; of MX the quantisation of
 * gemm1's output, at most half a code of 3 or 1 mantissa bits and what floor
 * saturates. */
static void
layers_are_dense(void **state)
{
    static const struct {
        kiln_type a, b;
        double most;
    } row[] = { { KILN_BF16, KILN_BF16, 0.006 },
                { KILN_BF16, KILN_MXFP4, 0.006 },
                { KILN_F16, KILN_MXFP8, 0.006 },
                { KILN_MXFP8, KILN_MXFP8, 0.05 },
                { KILN_MXFP4, KILN_MXFP4, 0.2 } };
    struct dense *d = calloc(1, sizeof *d);
    int32_t ids[TOKENS * TOPK];
    float weights[TOKENS * TOPK];
    struct kn_ctx c;
    char line[400];

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    dense_routing(d, ids, weights);
    write_file("dense_ids.bin", ids, sizeof ids);
    write_file("dense_weights.bin", weights, sizeof weights);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *a = kiln_type_name(row[i].a), *b = kiln_type_name(row[i].b);
        double far;

        operand_numbers(row[i].a, 0, TOKENS, HIDDEN, &d->x[0][0]);
        operand_numbers(row[i].b, 1, EXPERTS * 2 * INTER, HIDDEN,
                        &d->w1[0][0][0]);
        operand_numbers(row[i].b, 5, EXPERTS * HIDDEN, INTER,
                        &d->w2[0][0][0]);
        dense_layer(d);
        snprintf(line, sizeof line, "--a %s --b %s --out f32 --hidden %d --inter %d "
                 "--experts %d --topk %d --tokens %d --ids-file dense_ids.bin "
                 "--weights-file dense_weights.bin --out-file dense_out.bin",
                 a, b, HIDDEN, INTER, EXPERTS, TOPK, TOKENS);
        expect_run(line, KILN_OK);
        far = distance(d, read_file(&c, "dense_out.bin",
                                    sizeof(float) * TOKENS * HIDDEN));
        if (!(far < row[i].most) || far == 0)
            fail_msg("a layer of %s x %s is %g from the dense one", a, b, far);
        kn_ctx_free(&c);
        kn_ctx_init(&c, NULL, NULL);
    }
    free(d);
    remove("dense_ids.bin");
    remove("dense_weights.bin");
    kn_ctx_free(&c);
}

/* Sums that bf16 holds exactly: atomic additions in any order, and the slots'
 * rows added here, have the same bits. */
static void
atomic_is_ordered(void **state)
{
    enum { T = 40, K = 4, N = 64 };
    struct kn_ctx c;
    const uint16_t *each, *sum;
#define EXACT "--stage gemm2 --a bf16 --data exact --hidden 64 --inter 16 " \
    "--experts 5 --topk 4 --tokens 40 --out-file "

    (void)state;
    kn_ctx_init(&c, NULL, NULL);
    expect_run(EXACT "each.bin --block-m 16", KILN_OK);
    expect_run(EXACT "sum.bin --reduce atomic --block-m 32 --device sim:gfx942",
               KILN_OK);
    expect_run(EXACT "sum.bin --reduce atomic --block-m 64", KILN_OK);
    each = read_file(&c, "each.bin", 2 * T * K * N);
    sum = read_file(&c, "sum.bin", 2 * T * N);
    for (int i = 0; i < T * N; i++) {
        double want = 0;

        for (int k = 0; k < K; k++)
            want += kn_ref_decode(KILN_BF16, KILN_GFX950,
                                  each[(i / N * K + k) * N + i % N]);
        assert_true(want == kn_ref_decode(KILN_BF16, KILN_GFX950, sum[i]));
    }
    kn_ctx_free(&c);
}

/* Weights that are converted on their way, in panels of 16 rows: of MX types, with an A of
 * 16 bits and on gfx942, i4 with and without zero points, nvfp4. */
static void
panels_are_converted(void **state)
{
    static const char *const types[] = {
        "--a bf16 --b mxfp4", "--a f16 --b mxfp8", "--a mxfp8", "--a mxfp6 --b mxfp4",
        "--a bf16 --b i4 --scale group32", "--a f16 --b i4 --scale group128 --zero-points i4",
        "--a bf16 --b nvfp4", "--a bf16 --b mxbf8",
    };
    static const char *const stages[] = {
        "--stage gemm1 --b-layout preshuffled", "--stage gemm2 --b-layout preshuffled",
        "--stage gemm1 --b-layout preshuffled-halves", "--b-layout preshuffled-halves",
    };
    char line[300];

    (void)state;
    for (size_t t = 0; t < 8; t++)
        for (size_t s = t == 5 ? 1 : 0; s < 4; s++) {
            snprintf(line, sizeof line, "%s %s --hidden 352 --inter 224 --experts 5 --topk 2 "
                     "--tokens 37 --block-m %d --device sim:gfx9%s", types[t], stages[s],
                     16 << (t + s) % 4, t == 2 || t == 3 || (t + s) % 2 ? "42" : "50");
            expect_run(line, KILN_OK);
        }
}

/* A of 16 bits by narrower weights: MX, whose products have B's scales; the
 * same with A quantised on its way, and fp8, bf8 and i8 with a factor an
 * expert. */
static void
narrow_weights(void **state)
{
    static const char *const weights[] = {
        "mxfp4", "mxfp8", "mxbf8", "mxfp6", "mxbf6", "mxfp4 --quant even",
        "mxfp4 --quant floor", "fp8", "bf8", "i8",
    };
    static const char *const how[] = {
        "--stage gemm1 --hidden 352 --inter 224",
        "--stage gemm2 --hidden 352 --inter 224 --epilogue bias --data exact",
        "--stage gemm1 --hidden 297 --inter 83 --act swiglu --epilogue bias",
        "--stage gemm2 --hidden 83 --inter 297 --ids plain --cus 5",
        "--hidden 256 --inter 160 --act swiglu --routing extreme:3",
    };
    char line[300];

    (void)state;
    for (size_t w = 0; w < 10; w++)
        for (size_t h = 0; h < 5; h++) {
            snprintf(line, sizeof line, "--a %s --b %s %s --experts 6 --topk 3 "
                     "--tokens 23 --block-m %d --arch gfx9%s",
                     (w + h) % 3 ? "bf16" : "f16", weights[w], how[h],
                     16 << (w + h) % 4, (w + h / 2) % 2 ? "42" : "50");
            expect_run(line, KILN_OK);
        }
    expect_run("--stage gemm2 --a f16 --b i8 --hidden 83 --inter 300 --cus 5 "
               "--experts 6 --topk 3 --tokens 23 --block-m 16", KILN_OK);
    for (size_t w = 7; w < 10; w++)
        for (size_t h = 0; h < 4; h++) {
            snprintf(line, sizeof line, "--a %s --b %s --b-layout preshuffled%s --stage %s "
                     "--hidden 352 --inter 208 --epilogue bias --experts 6 --topk 3 --tokens 23 "
                     "--block-m %d --arch gfx9%s",
                     (w + h) % 2 ? "bf16" : "f16", weights[w], h == 2 ? "-halves" : "",
                     h % 2 ? "gemm2" : "gemm1", 16 << h, (w + h / 2) % 2 ? "42" : "50");
            expect_run(line, KILN_OK);
        }
    expect_run("--a bf16 --b mxfp6 --b-layout preshuffled --hidden 256 --inter "
               "256 --experts 4 --topk 2 --tokens 9", KILN_UNSUPPORTED);
    expect_run("--a bf16 --b i4 --scale group64 --zero-points i4 --b-layout preshuffled "
               "--stage gemm1 --hidden 256 --inter 256 --experts 4 --topk 2 --tokens 9",
               KILN_UNSUPPORTED);
    expect_run("--a bf16 --b mxfp4 --schedule direct --stage gemm2 --hidden 256 "
               "--inter 256 --experts 4 --topk 2 --tokens 9", KILN_UNSUPPORTED);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_dense),
        cmocka_unit_test(atomic_is_ordered),
        cmocka_unit_test(narrow_weights),
        cmocka_unit_test(panels_are_converted),
    };

    return cmocka_run_group_tests_name("moe-dense", tests, NULL, NULL);
}
