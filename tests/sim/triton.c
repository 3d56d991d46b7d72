/* triton.c - see triton.h. */
#include "triton.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../runtime/sim/num.h"

const struct object triton_objects[] = {
    { "gfx942_bf16_nt_128x128x64", GEMM, KILN_GFX942, KILN_BF16, 128, 128, 64,
      4, 32768 },
    { "gfx942_fp8_nt_128x128x128", GEMM, KILN_GFX942, KILN_FP8, 128, 128, 128,
      4, 32768 },
    { "gfx950_bf16_nt_128x128x64", GEMM, KILN_GFX950, KILN_BF16, 128, 128, 64,
      4, 32768 },
    { "gfx950_bf16_nt_256x256x64", GEMM, KILN_GFX950, KILN_BF16, 256, 256, 64,
      8, 65536 },
    { "gfx950_fp8_nt_128x128x128", GEMM, KILN_GFX950, KILN_FP8, 128, 128, 128,
      4, 32768 },
    { "gfx950_fp8_nt_256x256x128", GEMM, KILN_GFX950, KILN_FP8, 256, 256, 128,
      8, 65536 },
    { "gfx950_grouped_bf16_nn_256x256x64", GROUPED_NN, KILN_GFX950, KILN_BF16,
      256, 256, 64, 8, 65536 },
    { "gfx950_grouped_bf16_nt_256x256x64", GROUPED_NT, KILN_GFX950, KILN_BF16,
      256, 256, 64, 8, 65536 },
    { "gfx950_grouped_fp8_nn_256x256x128", GROUPED_NN, KILN_GFX950, KILN_FP8,
      256, 256, 128, 8, 65536 },
    { "gfx950_grouped_fp8_nt_256x256x128", GROUPED_NT, KILN_GFX950, KILN_FP8,
      256, 256, 128, 8, 65536 },
    { "gfx950_wgrad_bf16_tn_128x128x64", WGRAD, KILN_GFX950, KILN_BF16, 128,
      128, 64, 4, 32768 },
    { "gfx950_wgrad_bf16_tn_256x256x64", WGRAD, KILN_GFX950, KILN_BF16, 256,
      256, 64, 8, 65536 },
    { "gfx950_wgrad_fp8_tn_128x128x128", WGRAD, KILN_GFX950, KILN_FP8, 128,
      128, 128, 4, 32768 },
    { "gfx950_wgrad_fp8_tn_256x256x128", WGRAD, KILN_GFX950, KILN_FP8, 256,
      256, 128, 8, 65536 },
    { "gfx950_mxfp4_nt_256x256x256", MX, KILN_GFX950, KILN_MXFP4, 256, 256,
      256, 8, 69632 },
    { "gfx950_mxfp4_nt_32x128x256_w4", MX, KILN_GFX950, KILN_MXFP4, 32, 128,
      256, 4, 21760 },
    { "gfx950_mxfp8_nt_256x256x128", MX, KILN_GFX950, KILN_MXFP8, 256, 256,
      128, 8, 67584 },
    { "gfx950_mxfp8_nt_64x128x128_w8", MX, KILN_GFX950, KILN_MXFP8, 64, 128,
      128, 8, 25088 },
};
_Static_assert(sizeof triton_objects / sizeof triton_objects[0] ==
               TRITON_OBJECTS, "triton.h says how many there are");

/* ---- operands ----------------------------------------------------------- */

static uint64_t
hash(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

static void
put_element(const struct object *o, struct matrix *x, size_t k, uint64_t h)
{
    enum kn_num f = o->type == KILN_BF16 ? KN_NUM_BF16 : kn_num_fp8(o->target);
    uint32_t code;

    if (o->type == KILN_MXFP4) {
        code = h & 15;
        x->bytes[k / 2] |= (uint8_t)(code << k % 2 * 4);
        x->value[k] = kn_num_to_f32(KN_NUM_E2M1, code);
        return;
    }
    x->value[k] = (float)((int)(h % 9) - 4);
    code = kn_num_rne(f, x->value[k]);
    if (o->type == KILN_BF16)
        memcpy(x->bytes + 2 * k, &code, 2);
    else
        x->bytes[k] = (uint8_t)code;
}

static void
make_device(struct job *j, struct matrix *x, unsigned flags)
{
    assert_int_equal(kn_sim_alloc(j->sim, x->size, flags, NULL, NULL,
                                  &x->addr), KILN_OK);
    if (x->bytes)
        assert_int_equal(kn_sim_write(j->sim, x->addr, x->bytes, x->size),
                         KILN_OK);
}

static void
make_operand(struct job *j, struct matrix *x, size_t n, uint64_t seed)
{
    x->n = n;
    x->size = j->o->type == KILN_BF16 ? 2 * n
              : j->o->type == KILN_MXFP4 ? n / 2 : n;
    x->bytes = calloc(x->size, 1);
    x->value = calloc(n, sizeof *x->value);
    for (size_t k = 0; k < n; k++)
        put_element(j->o, x, k, hash(seed * 0x10001 + k));
    make_device(j, x, KN_MEM_READONLY);
}

static void
make_scale(struct job *j, struct matrix *x, size_t n, uint64_t seed)
{
    x->n = x->size = n;
    x->bytes = calloc(n, 1);
    x->value = calloc(n, sizeof *x->value);
    for (size_t k = 0; k < n; k++) {
        int e = (int)(hash(seed * 0x10001 + k) % 5) - 2;
        x->bytes[k] = (uint8_t)(127 + e);
        x->value[k] = e < 0 ? 1.0f / (float)(1 << -e) : (float)(1 << e);
    }
    make_device(j, x, KN_MEM_READONLY);
}

/* ---- kernel arguments --------------------------------------------------- */

static void
arg(struct job *j, uint64_t v, size_t size)
{
    j->used = (j->used + size - 1) & ~(size - 1);
    memcpy(j->kernarg + j->used, &v, size);
    j->used += size;
}

static void
arg_pointers(struct job *j)
{
    arg(j, j->a.addr, 8);
    arg(j, j->b.addr, 8);
    arg(j, j->c.addr, 8);
}

static void
args_i32(struct job *j, const int64_t *v, int n)
{
    for (int k = 0; k < n; k++)
        arg(j, (uint64_t)v[k], 4);
}

static void
make_output(struct job *j, size_t n)
{
    j->c.n = n;
    j->c.size = 2 * n;
    make_device(j, &j->c, KN_MEM_OUTPUT);
}

static unsigned
tiles(int64_t n, unsigned b)
{
    return (unsigned)((n + b - 1) / b);
}

static void
prepare_gemm(struct job *j)
{
    bool mx = j->o->family == MX;

    j->m = j->o->bm + j->o->bm / 2 + 7;      /* odd, two row tiles */
    j->n = j->o->bn + 48;
    j->k = mx ? 1024 : 3 * j->o->bk; /* scale rows of 16 bytes or more */
    make_operand(j, &j->a, (size_t)(j->m * j->k), 1);
    make_operand(j, &j->b, (size_t)(j->n * j->k), 2);
    make_output(j, (size_t)(j->m * j->n));
    arg_pointers(j);
    if (mx) {
        make_scale(j, &j->sa, (size_t)(j->m * j->k / 32), 3);
        make_scale(j, &j->sb, (size_t)(j->n * j->k / 32), 4);
        arg(j, j->sa.addr, 8);
        arg(j, j->sb.addr, 8);
    }
    int64_t row = j->o->type == KILN_MXFP4 ? j->k / 2 : j->k;
    args_i32(j, (int64_t[]){ j->m, j->n, j->k, row, row, j->n }, 6);
    if (mx)
        args_i32(j, (int64_t[]){ j->k / 32, j->k / 32 }, 2);
    j->launch.grid[0] = tiles(j->m, j->o->bm) * tiles(j->n, j->o->bn);
}

static void
make_offsets(struct job *j, const int64_t *len, int n)
{
    for (int k = 0; k < n; k++)
        j->off[k + 1] = j->off[k] + len[k];
    j->groups = n;
    j->offs.n = (size_t)n + 1;
    j->offs.size = j->offs.n * sizeof j->off[0];
    j->offs.bytes = malloc(j->offs.size);
    memcpy(j->offs.bytes, j->off, j->offs.size);
    make_device(j, &j->offs, KN_MEM_READONLY);
    arg(j, j->offs.addr, 8);
}

/* An empty group, a short one, one of more than a tile. */
static void
prepare_grouped(struct job *j)
{
    bool nn = j->o->family == GROUPED_NN;

    j->n = j->o->bn + 32;
    j->k = 2 * j->o->bk;
    j->m = 5 + 0 + 301;
    make_operand(j, &j->a, (size_t)(j->m * j->k), 1);
    make_operand(j, &j->b, (size_t)(3 * j->n * j->k), 2);
    make_output(j, (size_t)(j->m * j->n));
    arg_pointers(j);
    make_offsets(j, (int64_t[]){ 5, 0, 301 }, 3);
    args_i32(j, (int64_t[]){ 3, j->n, j->k, j->k }, 4);
    arg(j, (uint64_t)(j->n * j->k), 8);
    args_i32(j, (int64_t[]){ nn ? j->n : j->k, j->n }, 2);
    j->launch.grid[0] = 256;
}

static void
prepare_wgrad(struct job *j)
{
    j->m = j->o->bm + 32;
    j->n = j->o->bn + 16;
    j->k = 3 + 0 + 150;
    make_operand(j, &j->a, (size_t)(j->k * j->m), 1);
    make_operand(j, &j->b, (size_t)(j->k * j->n), 2);
    make_output(j, (size_t)(3 * j->m * j->n));
    arg_pointers(j);
    make_offsets(j, (int64_t[]){ 3, 0, 150 }, 3);
    args_i32(j, (int64_t[]){ j->m, j->n, j->m, j->n }, 4);
    arg(j, (uint64_t)(j->m * j->n), 8);
    args_i32(j, (int64_t[]){ j->n }, 1);
    j->launch.grid[0] = tiles(j->m, j->o->bm) * tiles(j->n, j->o->bn);
    j->launch.grid[1] = 3;
}

/* ---- reference ---------------------------------------------------------- */

/* Scale of A's row and B's column at k: 1 without scales. */
static double
scale(const struct job *j, int64_t row, int64_t column, int64_t k)
{
    if (j->o->family != MX)
        return 1;
    return (double)j->sa.value[row * (j->k / 32) + k / 32] *
           j->sb.value[column * (j->k / 32) + k / 32];
}

static int64_t
group_of(const struct job *j, int64_t row)
{
    int64_t g = 0;

    while (g + 1 < j->groups && row >= j->off[g + 1])
        g++;
    return g;
}

/* Output element [z][row][column]; z is the group of wgrad. */
static double
reference(const struct job *j, int64_t z, int64_t row, int64_t column)
{
    int64_t lo = 0, hi = j->k, g = group_of(j, row);
    double sum = 0;

    if (j->o->family == WGRAD) {
        lo = j->off[z];
        hi = j->off[z + 1];
    }
    for (int64_t k = lo; k < hi; k++) {
        size_t a = (size_t)(row * j->k + k), b = (size_t)(column * j->k + k);

        if (j->o->family == WGRAD) {
            a = (size_t)(k * j->m + row);
            b = (size_t)(k * j->n + column);
        } else if (j->o->family == GROUPED_NT) {
            b += (size_t)(g * j->n * j->k);
        } else if (j->o->family == GROUPED_NN) {
            b = (size_t)(g * j->n * j->k + k * j->n + column);
        }
        sum += (double)j->a.value[a] * j->b.value[b] *
               scale(j, row, column, k);
    }
    return sum;
}

size_t
triton_wrong(struct job *j)
{
    uint16_t *c = malloc(j->c.size);
    size_t wrong = 0, at = 0;
    int64_t planes = j->o->family == WGRAD ? j->groups : 1;

    assert_int_equal(kn_sim_read(j->sim, j->c.addr, c, j->c.size), KILN_OK);
    for (int64_t z = 0; z < planes; z++)
        for (int64_t row = 0; row < j->m; row++)
            for (int64_t column = 0; column < j->n; column++, at++)
                wrong += c[at] != kn_num_from_f64(
                    KN_NUM_BF16, reference(j, z, row, column),
                    (struct kn_rounding){ 0 });
    free(c);
    return wrong;
}

/* ---- jobs --------------------------------------------------------------- */

size_t
triton_read(const char *folder, const struct object *o, uint8_t *bytes,
            size_t room)
{
    char path[512];
    size_t n;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s.co", folder, o->name);
    f = fopen(path, "rb");
    assert_non_null(f);
    n = fread(bytes, 1, room, f);
    fclose(f);
    assert_true(n && n < room);
    return n;
}

static void
describe_launch(struct job *j, struct kn_sim_code *code)
{
    struct kn_sim_launch *l = &j->launch;

    l->code = code;
    l->grid[0] = l->grid[1] = l->grid[2] = 1;
    l->block[0] = 64 * j->o->waves;
    l->block[1] = l->block[2] = 1;
    l->dynamic_lds = j->o->lds;
    l->select.all = true;
    switch (j->o->family) {
    case GEMM:
    case MX: prepare_gemm(j); break;
    case WGRAD: prepare_wgrad(j); break;
    default: prepare_grouped(j); break;
    }
    arg(j, 0, 8);            /* Triton's own scratch pointers: not used */
    arg(j, 0, 8);
    l->kernarg = j->kernarg;
    l->kernarg_size = j->used;
}

void
triton_open(struct job *j, const struct object *o, const void *bytes,
            size_t size)
{
    struct kn_sim_code *code;

    memset(j, 0, sizeof *j);
    j->o = o;
    kn_ctx_init(&j->ctx, NULL, NULL);
    assert_int_equal(kn_sim_open(&j->ctx, o->target, &j->sim), KILN_OK);
    if (kn_sim_load(j->sim, o->name, bytes, size, &code))
        fail_msg("%s", j->ctx.err.text);
    describe_launch(j, code);
}

void
triton_close(struct job *j)
{
    struct matrix *all[] = { &j->a, &j->b, &j->sa, &j->sb, &j->offs };

    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        free(all[k]->bytes);
        free(all[k]->value);
    }
    kn_sim_close(j->sim);
    kn_ctx_free(&j->ctx);
}
